"""What people write for 06.mini_grad_scaler: errors left out, a host that waits, last digits that differ."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from helpers.labs.streams.mini_grad_scaler.exercise import (
    FLOAT32,
    HALF,
    INVERSE,
    NO_LOSS,
    PRODUCT,
    TWICE,
    mini_grad_scaler,
)
from helpers.labs.streams.mini_grad_scaler.right import Pieces


@mini_grad_scaler.mistake(breaks=TWICE)
class SecondCallPasses(Pieces):
    """unscale_ a second time before update() is not refused. torch raises: if gradients were added in between, they
    are scaled, and their sum with the unscaled ones is worthless.
    """

    def unscale_(self, optimizer: Optimizer) -> None:
        if id(optimizer) not in self.stage:
            super().unscale_(optimizer)

    def step_again(self, optimizer: Optimizer) -> Any:
        return None


@mini_grad_scaler.variant(SecondCallPasses)
class _UnscaleTwice(Pieces):
    """Only the second unscale_ is not refused, and divides again."""

    def require_fresh(self, optimizer: Optimizer) -> None:
        pass


@mini_grad_scaler.mistake(breaks=NO_LOSS)
class WorksWithoutALoss(Pieces):
    """A loss that was never scaled has gradients that are divided all the same: scale(loss).backward() was
    forgotten, and only an error tells.
    """

    def require_used(self) -> None:
        pass


@mini_grad_scaler.mistake(breaks=HALF)
class Float16GradientsTaken(Pieces):
    """float16 gradients are not refused. They are unscaled: the small ones underflow again as they are divided. Parameters
    stay in float32, and autocast makes float16 of them where it is needed.
    """

    def require_wide(self, grads: list[Tensor]) -> None:
        pass


@mini_grad_scaler.mistake(breaks=PRODUCT)
class ProductInFloat32(Pieces):
    """A float32 tensor times 1.7 is computed with the float32 next to 1.7: rounded twice, and off in the last
    digit.
    """

    def times(self, factor: float) -> Tensor:
        return self.now * factor


@mini_grad_scaler.mistake(breaks=FLOAT32)
class ScaleInDouble(Pieces):
    """The scale is a number that no float32 holds, and a different one than torch's. Perhaps it is kept in double, and
    never rounded to float32.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.now = self.now.double()

    def times(self, factor: float) -> Tensor:
        return self.now * factor

    def scaled(self, loss: Tensor) -> Tensor:
        return loss * self.now.float()

    def grow(self) -> None:
        larger = self.times(self.growth)
        self.now = larger if larger.float().isfinite() else self.now


@mini_grad_scaler.mistake(breaks=FLOAT32)
class InitScaleNotRounded(Pieces):
    """After the first loss the scale is init_scale as it was given, and no float32 number: get_scale() tells a different
    number than torch's. Perhaps only a product is rounded, or nothing at all.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.now = torch.tensor(args[0] if args else kwargs.get("init_scale", 2.0**16), dtype=torch.float64)

    def scaled(self, loss: Tensor) -> Tensor:
        return loss * self.now.float()


@mini_grad_scaler.mistake(breaks=INVERSE)
class DividesByTheScale(Pieces):
    """A division rounds once, the inverse and a product round twice: the results differ in the last bit where
    the scale is no power of two. torch takes the second way, since a division costs more.
    """

    def divide(self, optimizer: Optimizer, grads: list[Tensor]) -> None:
        for grad in grads:
            grad.div_(self.now)


@mini_grad_scaler.mistake(breaks=INVERSE)
class InverseNotRounded(Pieces):
    """float64 gradients are multiplied by the inverse in double, which no float32 holds: they differ from torch's in
    half of their digits. Perhaps it is a Python number, and never rounded. Beside a float32 gradient nothing is seen of
    it, since torch makes float32 of it there.
    """

    def divide(self, optimizer: Optimizer, grads: list[Tensor]) -> None:
        inverse = 1.0 / self.now.item()
        for grad in grads:
            grad.mul_(inverse)


@mini_grad_scaler.mistake(breaks=INVERSE)
class InverseOfTheGradientsType(Pieces):
    """bfloat16 gradients are off by more than their rounding. Perhaps the inverse is made bfloat16 first, which keeps 8 bits of
    it: a number of no dimensions need not have the gradient's dtype.
    """

    def divide(self, optimizer: Optimizer, grads: list[Tensor]) -> None:
        for grad in grads:
            grad.mul_(self.inverse().to(grad.dtype))
