"""Lab 08: why does the ring win?"""

from helpers.labs.allreduce import cost_formula_mistakes as cost_formula_mistakes
from helpers.labs.allreduce import cost_mistakes as cost_mistakes
from helpers.labs.allreduce import crossover_mistakes as crossover_mistakes
from helpers.labs.allreduce import fit_mistakes as fit_mistakes
from helpers.labs.allreduce import fit_step_mistakes as fit_step_mistakes
from helpers.labs.allreduce import naive_message_mistakes as naive_message_mistakes
from helpers.labs.allreduce import naive_mistakes as naive_mistakes
from helpers.labs.allreduce import pipelined_mistakes as pipelined_mistakes
from helpers.labs.allreduce import pipelined_result_mistakes as pipelined_result_mistakes
from helpers.labs.allreduce import ring_all_gather_mistakes as ring_all_gather_mistakes
from helpers.labs.allreduce import ring_all_gather_size_mistakes as ring_all_gather_size_mistakes
from helpers.labs.allreduce import ring_allreduce_cut_mistakes as ring_allreduce_cut_mistakes
from helpers.labs.allreduce import ring_allreduce_index_mistakes as ring_allreduce_index_mistakes
from helpers.labs.allreduce import ring_allreduce_mistakes as ring_allreduce_mistakes
from helpers.labs.allreduce import ring_allreduce_size_mistakes as ring_allreduce_size_mistakes
from helpers.labs.allreduce import ring_reduce_scatter_mistakes as ring_reduce_scatter_mistakes
from helpers.labs.allreduce import ring_reduce_scatter_size_mistakes as ring_reduce_scatter_size_mistakes
from helpers.labs.allreduce import (
    ring_reduce_scatter_waiting_mistakes as ring_reduce_scatter_waiting_mistakes,
)
from helpers.labs.allreduce import tree_mistakes as tree_mistakes
from helpers.labs.allreduce import tree_traffic_mistakes as tree_traffic_mistakes
from helpers.labs.allreduce.cost import cost as cost
from helpers.labs.allreduce.crossover import crossover as crossover
from helpers.labs.allreduce.fit import fit_alpha_beta as fit_alpha_beta
from helpers.labs.allreduce.later_predictions import bits_of_ranks as bits_of_ranks
from helpers.labs.allreduce.later_predictions import loss_then_backward as loss_then_backward
from helpers.labs.allreduce.later_predictions import ratio_at_eight as ratio_at_eight
from helpers.labs.allreduce.later_predictions import recall_accumulate as recall_accumulate
from helpers.labs.allreduce.later_predictions import recall_order as recall_order
from helpers.labs.allreduce.later_predictions import small_on_many as small_on_many
from helpers.labs.allreduce.link_times import kept_times as kept_times
from helpers.labs.allreduce.naive import naive_allreduce as naive_allreduce
from helpers.labs.allreduce.pipelined import pipelined_allreduce as pipelined_allreduce
from helpers.labs.allreduce.predictions import after_phase_one as after_phase_one
from helpers.labs.allreduce.predictions import column_of_a_matrix as column_of_a_matrix
from helpers.labs.allreduce.predictions import overwritten_buffer as overwritten_buffer
from helpers.labs.allreduce.predictions import returned_value as returned_value
from helpers.labs.allreduce.predictions import small_sends as small_sends
from helpers.labs.allreduce.predictions import total_traffic as total_traffic
from helpers.labs.allreduce.ring_all_gather import ring_all_gather as ring_all_gather
from helpers.labs.allreduce.ring_allreduce import ring_allreduce as ring_allreduce
from helpers.labs.allreduce.ring_reduce_scatter import ring_reduce_scatter as ring_reduce_scatter
from helpers.labs.allreduce.steps import moments as moments
from helpers.labs.allreduce.steps import watched as watched
from helpers.labs.allreduce.tree import tree_allreduce as tree_allreduce
