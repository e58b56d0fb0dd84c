"""What the notebook of lab 01 shows and uses, beside its exercises."""

from helpers.labs.reproducibility.shown.in_order import train_in_order
from helpers.labs.reproducibility.shown.run import Run, Step, new_run

__all__ = ["Run", "Step", "new_run", "train_in_order"]
