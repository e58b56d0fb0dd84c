"""What the notebook of lab 08 shows and uses, beside its exercises."""

from helpers.labs.allreduce.shown.link_times import kept_times
from helpers.labs.allreduce.shown.steps import moments, watched

__all__ = ["kept_times", "moments", "watched"]
