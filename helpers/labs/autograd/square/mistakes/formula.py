"""Wrong values and wrong gradients of 03.square, and why it is wrong."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.labs.autograd.square.exercise import square
from helpers.labs.autograd.square.right import Right


@square.mistake()
class GradOutIgnored(Right):
    """backward returns the derivative alone. It must multiply by the gradient that comes in; y.sum() hides
    this, because there it is 1.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x


@square.variant(GradOutIgnored)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.x = x  # not watched, either
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return 2 * ctx.x


@square.mistake()
class TwoForgotten(Right):
    """The gradient is half of what it should be. The derivative of x * x is 2 * x: x stands there twice, and
    each place gives a share.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out * x


@square.mistake()
class SignLost(Right):
    """The gradient has |x| where x belongs, right for positive x only. Perhaps it was made of the result, which does
    not know the sign of x, or abs() was taken.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x * x
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return grad_out * 2 * y.sqrt()


@square.mistake(breaks="A new tensor, shape and dtype of x.")
class NothingReturned(Right):
    """forward returned None. Perhaps the line `return ...` is missing."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        x * x  # noqa: B018


@square.mistake()
class NoGradientReturned(Right):
    """backward returned None for x. That is no error: it says that x has no gradient, and x never learns. (Is a
    `return` missing?)
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        grad_out * 2 * ctx.saved_tensors[0]


@square.mistake()
class TwoGradients(Right):
    """backward returned two gradients, and forward has one argument: one value for each argument, in order."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return grad_out * 2 * x, grad_out


@square.mistake()
class GradientReduced(Right):
    """backward gave one number for all of x. Each entry of x has a gradient of its own: no sum, no mean, no
    product of matrices.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return (grad_out * 2 * x).sum()


@square.mistake()
class GradOutReduced(Right):
    """The gradient that comes in was made one number, its sum or mean. Each entry of it belongs to one entry of
    x.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out.sum() * 2 * x


@square.variant(GradOutReduced)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out.mean() * 2 * x


@square.mistake()
class XForgotten(Right):
    """The gradient does not depend on x. That of x * x is 2 * x times what comes in."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return 2 * grad_out


@square.variant(XForgotten)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        return grad_out


@square.mistake()
class ValueForTheDerivative(Right):
    """The gradient holds x * x, the value, where x alone belongs. (Was the result saved?)"""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out * x * x


@square.variant(ValueForTheDerivative)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x * x
        ctx.save_for_backward(y)
        return y


@square.mistake()
class AddedToGradOut(Right):
    """The derivative was added to the gradient that comes in. By the chain rule the two are multiplied."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_out + 2 * x


@square.mistake()
class SignTurned(Right):
    """Every gradient has the wrong sign: descent would walk uphill."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return -2 * x * grad_out


@square.mistake()
class PrecisionLost(Right):
    """The gradient of a float64 x is right in its first digits only. Perhaps it was a float32 on its way."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return (grad_out * 2 * x).float()


@square.mistake(breaks="A new tensor, shape and dtype of x.")
class DtypeChanged(Right):
    """The values are right, and the dtype is not that of x: perhaps `.float()` or `.double()`, or
    `torch.tensor(...)` of Python's numbers.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.float() ** 2


@square.mistake(breaks="A new tensor, shape and dtype of x.")
class ThroughNumpy(Right):
    """x went through NumPy, which has no bfloat16, and makes a number of a 0-d array."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.as_tensor(x.detach().numpy() ** 2)


@square.mistake(breaks="x * x, as one node of the graph: `Square.apply(x)`.")
class DerivativeAsValue(Right):
    """forward gives 2 * x, the derivative, where the value x * x belongs."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return 2 * x


@square.mistake(breaks="A new tensor, shape and dtype of x.")
class SummedForward(Right):
    """forward gives one number, the sum or mean of the squares. x * x squares each entry."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return (x * x).sum()


@square.variant(SummedForward)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return (x * x).mean()


@square.mistake(breaks="x * x, as one node of the graph: `Square.apply(x)`.")
class MatrixProduct(Right):
    """`@`, `mm` and `matmul` multiply matrices. x * x multiplies entry by entry."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x @ x


@square.variant(MatrixProduct)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x @ x if x.dim() == 2 and x.shape[0] == x.shape[1] else x * x


@square.mistake()
class ContiguousAssumed(Right):
    """`view` needs numbers that lie in order; x and grad_out may have any strides. `reshape` copies if it must."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return (grad_out.view(-1) * 2 * x.reshape(-1)).view(x.shape)


@square.variant(ContiguousAssumed)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return (x.view(-1) ** 2).view(x.shape)


@square.mistake()
class MadeOfTheResult(Right):
    """The gradient is wrong for a tiny x or for a very large one. Perhaps it is made of the result, as 2 * y
    / x or of sqrt(y), and y is 0 or infinite there; x itself is enough.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x * x
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        x, y = ctx.saved_tensors
        return grad_out * 2 * y / x


@square.variant(MadeOfTheResult)
class _(MadeOfTheResult):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        x, y = ctx.saved_tensors
        return grad_out * 2 * y.sqrt() * x.sign()


@square.variant(ThroughNumpy)
class _(Right):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.from_numpy(x.detach().numpy() ** 2)


@square.mistake()
class GradOutCleaned(Right):
    """The infinite and the nan that came in did not go on: perhaps `nan_to_num`, or a clamp. A gradient scaler looks
    for them, to skip the step.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return torch.nan_to_num(grad_out) * 2 * x


@square.variant(GradOutCleaned)
class _(Right):
    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return torch.nan_to_num(grad_out * 2 * x)


@square.mistake()
class SmallGradientDropped(Right):
    """A small gradient that came in did not go on. Perhaps a mask with a limit such as 1e-6 made it 0. There
    is no such limit.
    """

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return torch.where(grad_out.abs() < 1e-6, 0.0, grad_out) * 2 * x


@square.mistake()
class LargeGradientClipped(Right):
    """The gradient is wrong for a very large x, and right for a tiny one. Perhaps it was clipped: it may have any size."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return (grad_out * 2 * x).clamp(-100, 100)


@square.variant(LargeGradientClipped)
class _(Right):
    """With a higher limit."""

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return (grad_out * 2 * x).clamp(-1e6, 1e6)
