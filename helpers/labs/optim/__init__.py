"""Lab 04: what exactly changes when `step()` is called?"""

from helpers.labs.optim import adamw_step_memory_mistakes as adamw_step_memory_mistakes
from helpers.labs.optim import adamw_step_mistakes as adamw_step_mistakes
from helpers.labs.optim import sgd_step_memory_mistakes as sgd_step_memory_mistakes
from helpers.labs.optim import sgd_step_mistakes as sgd_step_mistakes
from helpers.labs.optim.adamw_step import adamw_step as adamw_step
from helpers.labs.optim.predictions import average_of_three as average_of_three
from helpers.labs.optim.predictions import clip_infinity as clip_infinity
from helpers.labs.optim.predictions import decay_alone as decay_alone
from helpers.labs.optim.predictions import frozen_layer as frozen_layer
from helpers.labs.optim.predictions import loss_times_1000 as loss_times_1000
from helpers.labs.optim.predictions import mean_of_means as mean_of_means
from helpers.labs.optim.predictions import plateau as plateau
from helpers.labs.optim.predictions import recall_resume as recall_resume
from helpers.labs.optim.predictions import recall_version as recall_version
from helpers.labs.optim.predictions import skipped_rate as skipped_rate
from helpers.labs.optim.predictions import swapped_order as swapped_order
from helpers.labs.optim.sgd_step import sgd_step as sgd_step
from helpers.labs.optim.schedulers import schedulers as schedulers
