"""Lab 01: when are two training runs the same, bit for bit?"""

from helpers.labs.reproducibility import deterministic_mistakes as deterministic_mistakes
from helpers.labs.reproducibility import preserve_rng_forms as preserve_rng_forms
from helpers.labs.reproducibility import preserve_rng_mistakes as preserve_rng_mistakes
from helpers.labs.reproducibility import sample_generator_mistakes as sample_generator_mistakes
from helpers.labs.reproducibility import seed_everything_mistakes as seed_everything_mistakes
from helpers.labs.reproducibility import seed_worker_mistakes as seed_worker_mistakes

# After those above: the exercises keep their order.
# isort: split
from helpers.labs.reproducibility import save_run_file_mistakes as save_run_file_mistakes
from helpers.labs.reproducibility.deterministic import deterministic as deterministic
from helpers.labs.reproducibility.in_order import train_in_order as train_in_order
from helpers.labs.reproducibility.predictions import eval_pass as eval_pass
from helpers.labs.reproducibility.predictions import gpu_bits as gpu_bits
from helpers.labs.reproducibility.predictions import number_of_workers as number_of_workers
from helpers.labs.reproducibility.predictions import one_ulp as one_ulp
from helpers.labs.reproducibility.predictions import stable_sums as stable_sums
from helpers.labs.reproducibility.predictions import worker_noise as worker_noise
from helpers.labs.reproducibility.preserve_rng import preserve_rng as preserve_rng
from helpers.labs.reproducibility.run import Run as Run
from helpers.labs.reproducibility.run import Step as Step
from helpers.labs.reproducibility.run import new_run as new_run
from helpers.labs.reproducibility.sample_generator import sample_generator as sample_generator
from helpers.labs.reproducibility.save_run import save_run as save_run
from helpers.labs.reproducibility.seed_everything import seed_everything as seed_everything
from helpers.labs.reproducibility.seed_worker import seed_worker as seed_worker
from helpers.labs.reproducibility.stable_sum import stable_sum as stable_sum
