"""What people write for 03.straight_through_round, and why it is wrong."""

from __future__ import annotations

from typing import Any

import numpy
import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from helpers.labs.autograd.straight_through_round.exercise import straight_through_round


class Right(Function):
    """The right answer; the wrong ones change one method."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.round(x)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return grad_out


@straight_through_round.mistake()
class ZeroKept(Right):
    """The gradient is that of round itself, 0 everywhere: what stands before the rounding never learns. The
    point of the exercise is to lie here.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return torch.zeros_like(grad_out)


@straight_through_round.mistake()
class GradOutIgnored(Right):
    """Straight through means that the gradient passes, not that it becomes 1: ones are right for y.sum()
    alone.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return torch.ones_like(grad_out)


@straight_through_round.mistake()
class Clamped(Right):
    """The gradient is stopped where |x| > 1. That belongs to the estimator for sign(x), a hard tanh; a
    rounding has no end of its range.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.round(x)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out * (x.abs() <= 1)


@straight_through_round.variant(Clamped)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.inside = (x >= -1) & (x <= 1)
        return torch.round(x)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return torch.where(ctx.inside, grad_out, torch.zeros_like(grad_out))


@straight_through_round.mistake(
    breaks="A new tensor, shape and dtype of x, with the numbers of torch.round: halves go to the even neighbour."
)
class NotRounded(Right):
    """The forward gives x back, or nearly: gradients go through, and what should be rounded is not."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x


@straight_through_round.mistake(
    breaks="A new tensor, shape and dtype of x, with the numbers of torch.round: halves go to the even neighbour."
)
class HalfUp(Right):
    """Halves were not rounded to the even neighbour: they all go up, down or away from 0. Perhaps a
    half was added or subtracted before floor or ceil, as in floor(x + 0.5). torch.round goes to the even neighbour, so
    that halves do not drift on average.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.floor(x + 0.5)


@straight_through_round.mistake(
    breaks="A new tensor, shape and dtype of x, with the numbers of torch.round: halves go to the even neighbour."
)
class CutOff(Right):
    """Numbers were rounded down, up or towards 0, and not to the nearest whole one. Perhaps by `.int()`,
    `.long()` or `trunc`, by `floor` or `ceil`.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.trunc(x)


@straight_through_round.variant(CutOff)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.long().to(x.dtype)


@straight_through_round.mistake(breaks="x is not edited.")
class InputRounded(Right):
    """The caller's x was written over: `round_`, with its underscore, works in place."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.round_()


@straight_through_round.variant(InputRounded)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.mark_dirty(x)
        return x.round_()


@straight_through_round.mistake()
class NoNodeOfItsOwn(Right):
    """The result's node is one of torch's own. Perhaps `apply` was replaced, by the trick
    x + (round(x) - x).detach() or by more steps: the Function's own `apply` makes the one node.
    """

    @staticmethod
    def apply(x: Tensor) -> Tensor:
        return torch.round(x)


@straight_through_round.variant(NoNodeOfItsOwn)
class _(Right):
    @staticmethod
    def apply(x: Tensor) -> Tensor:
        return x + (x.round() - x).detach()


@straight_through_round.variant(NoNodeOfItsOwn)
class _(Right):
    @staticmethod
    def apply(x: Tensor) -> Tensor:
        return x.round().detach() + x - x.detach()


@straight_through_round.mistake()
class KeptForNothing(Right):
    """x is held in memory, which backward does not need. Perhaps by `save_for_backward` out of habit, or as
    an attribute of ctx or of the class.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.round(x)


@straight_through_round.variant(KeptForNothing)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.x = x
        return torch.round(x)


@straight_through_round.mistake()
class GradOutDetached(Right):
    """The gradient's own history is cut, perhaps by `grad_out.detach()`, `.data` or `no_grad`: a loss that is
    differentiated twice stops here.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out.detach()


@straight_through_round.variant(GradOutDetached)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        with torch.no_grad():
            return grad_out.clone()


@straight_through_round.mistake()
class OnceOnly(Right):
    """There is nothing in this backward that could not be differentiated again: `once_differentiable` forbids
    what works.
    """

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out


@straight_through_round.variant(HalfUp)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.sign() * torch.floor(x.abs() + 0.5)


@straight_through_round.variant(CutOff)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.floor()


@straight_through_round.variant(CutOff)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.ceil()


@straight_through_round.variant(KeptForNothing)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = torch.round(x)
        ctx.save_for_backward(x, y)
        return y


@straight_through_round.mistake()
class ResultKept(Right):
    """The result is held in memory, also when the caller has dropped it: perhaps it was saved out of habit, and
    backward needs nothing.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = torch.round(x)
        ctx.save_for_backward(y)
        return y


@straight_through_round.mistake()
class MemoryKept(Right):
    """A tensor is kept for backward that is neither x nor the result, perhaps a mask or a copy. backward needs
    nothing.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x.clone())
        return torch.round(x)


@straight_through_round.mistake(
    breaks="A new tensor, shape and dtype of x, with the numbers of torch.round: halves go to the even neighbour."
)
class ByTheDifference(Right):
    """The value is nan where x is infinite: perhaps it was made as x + (round(x) - x). In a Function forward is
    not recorded, and `torch.round(x)` is enough.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x + (x.round() - x)


@straight_through_round.mistake(
    breaks="A new tensor, shape and dtype of x, with the numbers of torch.round: halves go to the even neighbour."
)
class ThroughIntegers(Right):
    """Infinite or nan do not stay what they are: perhaps the numbers went through an integer type, where they have no
    place, or through `nan_to_num`.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.round().long().to(x.dtype)


@straight_through_round.variant(ThroughIntegers)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.round().int().to(x.dtype)


@straight_through_round.variant(ThroughIntegers)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.nan_to_num(x).round()


@straight_through_round.mistake(breaks="A new tensor, shape and dtype of x")
class DtypeChanged(Right):
    """The values are right, and the dtype is not that of x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.round().float()


@straight_through_round.variant(DtypeChanged)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.round().double()


@straight_through_round.mistake(breaks="A new tensor, shape and dtype of x")
class IntegersReturned(Right):
    """The result has an integer type. Integers take no gradient; the result has the dtype of x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.round().long()


@straight_through_round.variant(IntegersReturned)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.round().int()


@straight_through_round.mistake(
    breaks="A new tensor, shape and dtype of x, with the numbers of torch.round: halves go to the even neighbour."
)
class ThroughNumpy(Right):
    """x went through NumPy, which has no bfloat16, and makes a number of a 0-d array."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.as_tensor(x.detach().numpy().round())


@straight_through_round.variant(ThroughNumpy)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.from_numpy(x.detach().numpy().round())


@straight_through_round.variant(ThroughNumpy)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.from_numpy(numpy.round(x.detach().numpy()))


@straight_through_round.mistake(breaks="A new tensor")
class ShortCutForWhole(Right):
    """For some x the result lies in the memory of x, perhaps where x is whole already: who edits one edits the
    other.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        whole = x.round()
        return x if torch.equal(whole, x) else whole


@straight_through_round.mistake(breaks="A new tensor, shape and dtype of x")
class NothingReturned(Right):
    """forward returned None. Perhaps the line `return ...` is missing."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        torch.round(x)


@straight_through_round.mistake()
class NoGradientReturned(Right):
    """backward returned None for x. That is no error: it says that x has no gradient, and x never learns. (Is a
    `return` missing?)
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        grad_out.clone()


@straight_through_round.mistake()
class GradientRounded(Right):
    """The gradient was rounded, too. Only the value is: the gradient passes as it came."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out.round()


@straight_through_round.mistake()
class GradientTimesX(Right):
    """The gradient was multiplied by x, or by the rounded x. Straight through means that the factor is 1."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.round(x)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out * x


@straight_through_round.variant(GradientTimesX)
class _(GradientTimesX):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out * x.round()


@straight_through_round.mistake()
class GradientClipped(Right):
    """The gradient was cut to the range from -1 to 1. It passes as it came, whatever its size."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out.clamp(-1, 1)


@straight_through_round.mistake()
class GradOutEdited(Right):
    """The gradient that came in was written over. Other nodes may be given the same tensor."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out.clamp_(-1, 1)


@straight_through_round.mistake()
class TwoGradients(Right):
    """backward returned two gradients, and forward has one argument: one value for each argument, in order."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        return grad_out, grad_out


@straight_through_round.mistake(breaks="x is not edited.")
class RequiresGradTurnedOn(Right):
    """forward changed `requires_grad` of the caller's x. Whether x needs a gradient is for the caller to say."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.round(x.requires_grad_())


@straight_through_round.mistake(breaks="as one node of the graph: `StraightThroughRound.apply(x)`.")
class NoFunction:
    """The class is no `torch.autograd.Function`: torch makes a node only for those."""

    @staticmethod
    def apply(x: Tensor) -> Tensor:
        return x + (x.round() - x).detach()


@straight_through_round.mistake()
class NoBackward(Function):
    """The Function has no method `backward`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.round(x)


@straight_through_round.mistake()
class OffTheGraph(Right):
    """The result does not require grad although x does: perhaps `mark_non_differentiable`, which says that there
    is no gradient.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = torch.round(x)
        ctx.mark_non_differentiable(y)
        return y


@straight_through_round.variant(ThroughIntegers)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.tensor([round(number) for number in x.flatten().tolist()], dtype=x.dtype).reshape(
            x.shape
        )


@straight_through_round.variant(HalfUp)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.ceil(x - 0.5)


@straight_through_round.mistake()
class GradientReduced(Right):
    """backward gave one number for all of x. Each entry of x has a gradient of its own."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out.sum()


@straight_through_round.mistake()
class GradientTurned(Right):
    """The gradient goes out with its sign turned: descent would walk uphill. It passes as it came."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return -grad_out


@straight_through_round.mistake()
class PrecisionLost(Right):
    """The gradient of a float64 x is right in its first digits only. Perhaps it was a float32 on its way."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out.float()


@straight_through_round.mistake(
    breaks="A new tensor, shape and dtype of x, with the numbers of torch.round: halves go to the even neighbour."
)
class ValuePrecisionLost(Right):
    """In float64, numbers just beside a half are rounded to the wrong neighbour. Perhaps x was a float32 on
    its way.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.float().round().to(x.dtype)


@straight_through_round.mistake(
    breaks="A new tensor, shape and dtype of x, with the numbers of torch.round: halves go to the even neighbour."
)
class RoundedBefore(Right):
    """Halves, numbers near one, or large numbers are rounded to the wrong neighbour. Perhaps x was shifted
    before, by a half or a small number, or rounded to some digits.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.round(torch.round(x, decimals=6))


@straight_through_round.variant(RoundedBefore)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.round(x - 1e-7 * x.sign())


@straight_through_round.mistake()
class GradientCleaned(Right):
    """An infinite or nan gradient did not go on: perhaps `nan_to_num`. A gradient scaler looks for them."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return torch.nan_to_num(grad_out)


@straight_through_round.mistake()
class LargeGradientClipped(Right):
    """A large gradient came out changed: perhaps it was clipped. It passes as it came, whatever its size."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out.clamp(-100, 100)
