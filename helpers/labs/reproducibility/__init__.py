"""Lab 01: when are two training runs the same, bit for bit?"""

from helpers.labs.reproducibility import preserve_rng_mistakes as preserve_rng_mistakes
from helpers.labs.reproducibility import seed_everything_mistakes as seed_everything_mistakes
from helpers.labs.reproducibility.preserve_rng import preserve_rng as preserve_rng
from helpers.labs.reproducibility.run import Run as Run
from helpers.labs.reproducibility.run import Step as Step
from helpers.labs.reproducibility.run import new_run as new_run
from helpers.labs.reproducibility.save_run import save_run as save_run
from helpers.labs.reproducibility.seed_everything import seed_everything as seed_everything
