"""What a run does when nothing interrupts it, and how a resumed one goes on unlike it (exercise 01.save_run)."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from helpers.check.trial import Trial
from helpers.labs.reproducibility.save_run.state import (
    NO_SPARE,
    Before,
    after_skipping,
    differences,
    order,
    standing,
)
from helpers.labs.reproducibility.shared.forks import hidden_gpu
from helpers.labs.reproducibility.shown.run import Run, Step, new_run

EPOCH = 3  # batches
STEPS = 3 * EPOCH  # the uninterrupted run


@functools.cache
def wrap_step() -> None:
    """Make the first SGD: it wraps SGD.step, and no answer is to blame for that. It also takes a second, for imports."""
    torch.optim.SGD([torch.zeros(1)], lr=0.1)


@contextmanager
def a_file() -> Iterator[Path]:
    """A path in a new, empty folder; what runs inside can be repeated in a fork.

    That is: no GPU. (And one thread, which every check has: a fork may use one only, and with two even this small
    model gets other bits.)
    """
    with hidden_gpu(), tempfile.TemporaryDirectory(prefix="labbook-") as folder:
        (Path(folder) / "checkpoints").mkdir()
        yield Path(folder) / "checkpoints" / "run.pt"


class Uninterrupted:
    """What a run does when nothing interrupts it. steps[k]: its batch k; at[k]: where it stood before that."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        run = new_run(seed)
        self.at, self.steps, self.moved = [standing(run)], [], [after_skipping(run)]
        for _ in range(STEPS):
            self.steps.append(run.step())
            self.at.append(standing(run))
            self.moved.append(after_skipping(run))

    def run_to(self, steps: int) -> Run:
        """A run of the same seed, `steps` batches later."""
        run = new_run(self.seed)
        for _ in range(steps):
            run.step()
        return run

    def fresh(self, seed: int, done: int) -> tuple[Run, Before]:
        """A run of another seed, to be resumed at a place after `done` batches, and what it is like before that."""
        run = new_run(seed)
        return run, Before(run, sum(len(step.samples) for step in self.steps[done - done % EPOCH : done]))

    def fault(self, run: Run, done: int, before: Before | None = None) -> list[str]:
        """How `run`, resumed after `done` batches, goes on unlike the uninterrupted one; [] if it does not."""
        parts = differences(standing(run), self.at[done], self.moved[done], before)
        messages = [f"{part}: {how}" for part, how in parts.items()]
        steps: list[Step] = []
        raised = ""
        try:
            for _ in range(done, STEPS):
                steps.append(run.step())
            ends_alike = not differences(standing(run), self.at[STEPS], self.moved[STEPS])
            # A spare normal number that is nearly right shows in float32 now and then only.
            if steps == self.steps[done:] and ends_alike and NO_SPARE not in parts.values():
                return []
        except Exception as error:
            raised = f"then run.step() raised {type(error).__name__}"
        samples = self._order(steps[0], done) if steps else ""
        return [text for text in (*messages, samples, raised) if text] or ["the losses that follow differ"]

    def _order(self, first: Step, done: int) -> str:
        epoch, batch = divmod(done, EPOCH)
        same = self.steps[epoch * EPOCH : (epoch + 1) * EPOCH]
        return order(first, [step.samples for step in same], batch)


@functools.lru_cache(maxsize=8)
def uninterrupted(seed: int) -> Uninterrupted:
    """Kept, since all known mistakes are tried with the seeds of the answer."""
    return Uninterrupted(seed)


def some_seed(trial: Trial) -> int:
    return trial.random.randrange(1, 2**31)


def place(done: int) -> str:
    """How far a run is after `done` batches, in words."""
    epoch, batch = divmod(done, EPOCH)
    return f"in epoch {epoch}, after {batch} of {EPOCH} batches" if batch else f"between epochs, {epoch} done"
