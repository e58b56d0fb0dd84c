"""Lab 08: why does the ring win?"""

from helpers.labs.allreduce import cost_formula_mistakes as cost_formula_mistakes
from helpers.labs.allreduce import cost_mistakes as cost_mistakes
from helpers.labs.allreduce import crossover_mistakes as crossover_mistakes
from helpers.labs.allreduce import fit_mistakes as fit_mistakes
from helpers.labs.allreduce.cost import cost as cost
from helpers.labs.allreduce.crossover import crossover as crossover
from helpers.labs.allreduce.fit import fit_alpha_beta as fit_alpha_beta
from helpers.labs.allreduce.predictions import after_phase_one as after_phase_one
from helpers.labs.allreduce.predictions import bits_of_ranks as bits_of_ranks
from helpers.labs.allreduce.predictions import column_of_a_matrix as column_of_a_matrix
from helpers.labs.allreduce.predictions import loss_then_backward as loss_then_backward
from helpers.labs.allreduce.predictions import overwritten_buffer as overwritten_buffer
from helpers.labs.allreduce.predictions import ratio_at_eight as ratio_at_eight
from helpers.labs.allreduce.predictions import recall_accumulate as recall_accumulate
from helpers.labs.allreduce.predictions import recall_order as recall_order
from helpers.labs.allreduce.predictions import returned_value as returned_value
from helpers.labs.allreduce.predictions import small_on_many as small_on_many
from helpers.labs.allreduce.predictions import small_sends as small_sends
from helpers.labs.allreduce.predictions import total_traffic as total_traffic
from helpers.labs.allreduce.steps import moments as moments
from helpers.labs.allreduce.steps import watched as watched
