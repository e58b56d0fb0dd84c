"""What the notebook of lab 07 shows and uses, beside its exercises."""

from helpers.labs.ddp.shown.timeline import Timeline, laid_out, measured, watch
from helpers.labs.ddp.shown.training_job import Job

__all__ = ["Job", "Timeline", "laid_out", "measured", "watch"]
