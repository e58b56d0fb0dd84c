"""What people write for 06.mini_grad_scaler: what is handed on, returned, left alone and forgotten."""

from __future__ import annotations

from typing import Any

from torch.optim import Optimizer

from helpers.labs.streams.mini_grad_scaler.exercise import MOVES, STAY, STEP, mini_grad_scaler
from helpers.labs.streams.mini_grad_scaler.right import Pieces


@mini_grad_scaler.mistake(breaks=STEP)
class ArgumentsLost(Pieces):
    """optimizer.step() is called without what the caller gave for it."""

    def take(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        return optimizer.step()


@mini_grad_scaler.variant(ArgumentsLost)
class _NoParameters(Pieces):
    """step(self, optimizer), and nothing beside it."""

    def step(self, optimizer: Optimizer) -> Any:  # type: ignore[override]
        return super().step(optimizer)


@mini_grad_scaler.mistake(breaks=STEP)
class ResultLost(Pieces):
    """What optimizer.step returns is not returned."""

    def take(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        super().take(optimizer, *args, **kwargs)


@mini_grad_scaler.variant(ResultLost)
class _SaysWhether(Pieces):
    """True for a step that was taken."""

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if not self.enabled:
            return super().step(optimizer, *args, **kwargs)
        super().step(optimizer, *args, **kwargs)
        return not self.skips(optimizer)


@mini_grad_scaler.mistake(breaks=STAY)
class ZeroesGradients(Pieces):
    """step clears the gradients. The caller does that, when it wants to: whoever looks at them after the step
    sees 0 or None.
    """

    def take(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        result = super().take(optimizer, *args, **kwargs)
        optimizer.zero_grad()
        return result


@mini_grad_scaler.variant(ZeroesGradients)
class _ZeroesSkipped(Pieces):
    """Only those of a skipped step."""

    def skips(self, optimizer: Optimizer) -> bool:
        skipped = super().skips(optimizer)
        if skipped:
            optimizer.zero_grad()
        return skipped


@mini_grad_scaler.mistake(breaks=MOVES)
class FoundNotCleared(Pieces):
    """What was found in an optimizer is kept until it is looked at again: if it rests in the next iteration,
    its old inf makes the scale smaller once more. The networks of a GAN take turns.
    """

    def clear(self) -> None:
        self.found, self.stage = getattr(self, "found", {}), {}
