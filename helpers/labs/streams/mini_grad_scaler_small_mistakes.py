"""What people write for 06.mini_grad_scaler: what is handed on, returned, left alone and forgotten."""

from __future__ import annotations

from typing import Any

from torch.optim import Optimizer

from helpers.labs.streams.mini_grad_scaler import mini_grad_scaler
from helpers.labs.streams.mini_grad_scaler_parts import Pieces


@mini_grad_scaler.wrong_answer(
    "arguments_lost",
    why="optimizer.step() is called without what the caller gave for it.",
    seen="optimizer.step() is called without",
)
class _ArgumentsLost(Pieces):
    def take(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        return optimizer.step()


@mini_grad_scaler.another_form("arguments_lost")
class _NoParameters(Pieces):
    """step(self, optimizer), and nothing beside it."""

    def step(self, optimizer: Optimizer) -> Any:  # type: ignore[override]
        return super().step(optimizer)


@mini_grad_scaler.wrong_answer(
    "result_lost",
    why="What optimizer.step returns is not returned.",
    seen="What optimizer.step returns is not returned",
)
class _ResultLost(Pieces):
    def take(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        super().take(optimizer, *args, **kwargs)


@mini_grad_scaler.another_form("result_lost")
class _SaysWhether(Pieces):
    """True for a step that was taken."""

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if not self.enabled:
            return super().step(optimizer, *args, **kwargs)
        super().step(optimizer, *args, **kwargs)
        return not self.skips(optimizer)


@mini_grad_scaler.wrong_answer(
    "zeroes_gradients",
    why="step clears the gradients. The caller does that, when it wants to: whoever looks at them after the step sees 0 or "
    "None.",
    seen="step clears the gradients",
)
class _Zeroes(Pieces):
    def take(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        result = super().take(optimizer, *args, **kwargs)
        optimizer.zero_grad()
        return result


@mini_grad_scaler.another_form("zeroes_gradients")
class _ZeroesSkipped(Pieces):
    """Only those of a skipped step."""

    def skips(self, optimizer: Optimizer) -> bool:
        skipped = super().skips(optimizer)
        if skipped:
            optimizer.zero_grad()
        return skipped


@mini_grad_scaler.wrong_answer(
    "found_not_cleared",
    why="What was found in an optimizer is kept until it is looked at again: if it rests in the next iteration, its old inf "
    "makes the scale smaller once more. The networks of a GAN take turns.",
    seen="The networks of a GAN take turns",
)
class _FoundKept(Pieces):
    def clear(self) -> None:
        self.found, self.stage = getattr(self, "found", {}), {}
