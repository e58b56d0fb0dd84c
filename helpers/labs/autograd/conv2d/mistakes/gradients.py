"""What people write for 03.conv2d with stride 1 and no padding, and why it is wrong."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from helpers.check.spec import returned
from helpers.labs.autograd.conv2d.exercise import conv2d

built = conv2d.bank(returned)

Pair = tuple[Tensor, Tensor]


def by_x(grad_out: Tensor, w: Tensor) -> Tensor:
    """The gradient of x, stride 1."""
    return F.conv_transpose2d(grad_out, w)


def by_w(grad_out: Tensor, x: Tensor) -> Tensor:
    """The gradient of w, stride 1."""
    return F.conv2d(x.transpose(0, 1), grad_out.transpose(0, 1)).transpose(0, 1)


def plain(slope_x: Any, slope_w: Any) -> type[Function]:
    """An answer for stride 1 with these two gradients, each made of (grad_out, x, w) where it is needed."""

    class Answer(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, w: Tensor) -> Tensor:
            ctx.save_for_backward(x, w)
            return F.conv2d(x, w)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, grad_out: Tensor) -> tuple[Any, Any]:
            x, w = ctx.saved_tensors
            needs_x, needs_w = ctx.needs_input_grad
            return (
                slope_x(grad_out, x, w) if needs_x else None,
                slope_w(grad_out, x, w) if needs_w else None,
            )

    return Answer


def right_x(grad_out: Tensor, x: Tensor, w: Tensor) -> Tensor:
    return by_x(grad_out, w)


def right_w(grad_out: Tensor, x: Tensor, w: Tensor) -> Tensor:
    return by_w(grad_out, x)


def padded(grad_out: Tensor, w: Tensor) -> Tensor:
    """grad_out with zeros around, so that a kernel in any place touches it."""
    up, left = w.shape[2] - 1, w.shape[3] - 1
    return F.pad(grad_out, (left, left, up, up))


@built.mistake()
def kernel_not_flipped():
    """In the gradient of x the kernel stands the wrong way round. A convolution over grad_out needs it flipped in both
    directions; conv_transpose2d turns it by itself, and takes w as it is.
    """
    return plain(lambda g, x, w: F.conv2d(padded(g, w), w.transpose(0, 1)), right_w)


@built.mistake()
def flipped_in_one_direction():
    """`flip(-1)` mirrors left and right only. The kernel is turned by half a turn: both directions are
    flipped.
    """
    return plain(lambda g, x, w: F.conv2d(padded(g, w), w.transpose(0, 1).flip(-1)), right_w)


@built.mistake()
def padded_for_a_square_kernel():
    """With a kernel that is not square the gradient of x has not the shape of x. Perhaps one number pads both ways, or the
    two changed places: F.pad begins with the last dimension, (left, right, up, down).
    """
    return plain(
        lambda g, x, w: F.conv2d(
            F.pad(g, (w.shape[2] - 1,) * 2 + (w.shape[3] - 1,) * 2), w.transpose(0, 1).flip(2, 3)
        ),
        right_w,
    )


@conv2d.variant(padded_for_a_square_kernel)
class _(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(x, w)
        return F.conv2d(x, w)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        x, w = ctx.saved_tensors
        k = w.shape[-1]
        slope_x = slope_w = None
        if ctx.needs_input_grad[0]:
            slope_x = F.conv2d(grad_out, w.flip([2, 3]).transpose(0, 1), padding=k - 1)
        if ctx.needs_input_grad[1]:
            slope_w = by_w(grad_out, x)
        return slope_x, slope_w


@built.variant(padded_for_a_square_kernel)
def _():
    return plain(
        lambda g, x, w: F.conv2d(F.pad(g, (w.shape[2] - 1,) * 4), w.transpose(0, 1).flip(2, 3)), right_w
    )


@built.variant(padded_for_a_square_kernel)
def _():
    return plain(
        lambda g, x, w: F.conv2d(F.pad(g, (w.shape[3] - 1,) * 4), w.transpose(0, 1).flip(2, 3)), right_w
    )


@built.mistake()
def channels_left_swapped():
    """The gradient of w has its first two dimensions exchanged. Perhaps batch and channels change places for
    it, and do not change back at the end. Equal numbers of channels hide it.
    """
    return plain(right_x, lambda g, x, w: F.conv2d(x.transpose(0, 1), g.transpose(0, 1)))


@built.mistake()
def gradients_in_the_wrong_order():
    """The gradients of x and w changed places. backward returns one gradient for each argument of forward, in
    the order of the arguments.
    """
    return plain(right_w, right_x)


class _ReturnedInTheWrongOrder(Function):
    """Each is computed where it is needed, and returned in the place of the other."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(x, w)
        return F.conv2d(x, w)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, Tensor | None]:
        (x, w), (needs_x, needs_w) = ctx.saved_tensors, ctx.needs_input_grad
        return by_w(grad_out, x) if needs_w else None, by_x(grad_out, w) if needs_x else None


conv2d.variant(gradients_in_the_wrong_order)(_ReturnedInTheWrongOrder)


@built.mistake()
def averaged_over_the_batch():
    """The gradient of w is divided by the number of samples. w meets every sample, so it is the sum over the batch; a mean
    belongs to the loss, if anywhere.
    """
    return plain(right_x, lambda g, x, w: by_w(g, x) / x.shape[0])


@built.mistake(breaks="x and w get the gradients of `F.conv2d`")
def divided_by_the_batch():
    """The gradient of x is divided by the number of samples. Perhaps grad_out was: a mean belongs to the loss, whose own
    backward has put it into grad_out.
    """
    return plain(lambda g, x, w: by_x(g, w) / x.shape[0], lambda g, x, w: by_w(g, x) / x.shape[0])


@built.mistake()
def first_sample_only():
    """The gradient of w is made from the first sample alone: with a batch of 1 nobody sees it."""
    return plain(right_x, lambda g, x, w: by_w(g[:1], x[:1]))


@built.mistake()
def grad_out_ignored():
    """The gradient that comes in is replaced by ones: right for y.sum() and for no other loss."""
    return plain(
        lambda g, x, w: by_x(torch.ones_like(g), w),
        lambda g, x, w: by_w(torch.ones_like(g), x),
    )


@built.mistake()
def none_for_w():
    """w gets None, whether x needs a gradient or not. None says that there is nothing to learn here: the weight of this layer stays
    as it was initialised.
    """
    return plain(right_x, lambda g, x, w: None)


@built.mistake()
def torch_does_it():
    """torch's convolution_backward ran, which is the whole task. Perhaps it was called itself, or by `torch.nn.grad`, or by
    autograd on a convolution that is computed again.
    """
    return plain(
        lambda g, x, w: torch.nn.grad.conv2d_input(x.shape, w, g),
        lambda g, x, w: torch.nn.grad.conv2d_weight(x, w.shape, g),
    )


def _from_autograd(which: int) -> Any:
    def slope(grad_out: Tensor, x: Tensor, w: Tensor) -> Tensor:
        with torch.enable_grad():
            inputs = [x.detach().requires_grad_(), w.detach().requires_grad_()]
            return torch.autograd.grad(F.conv2d(*inputs), inputs[which], grad_out)[0]

    return slope


conv2d.variant(torch_does_it)(plain(_from_autograd(0), _from_autograd(1)))


@conv2d.mistake()
class BothComputedAlways(Function):
    """A gradient that nobody needs was computed. That is half of a backward's work where a layer is frozen,
    and always for the first layer, whose input needs no gradient: ask `ctx.needs_input_grad`.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(x, w)
        return F.conv2d(x, w)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Pair:
        x, w = ctx.saved_tensors
        return by_x(grad_out, w), by_w(grad_out, x)


@conv2d.mistake()
class KeptOnCtx(Function):
    """After an edit of x or w backward used the new numbers without a word: perhaps the tensor stands on ctx as an
    attribute, or was saved through .data. Torch watches a tensor only where
    save_for_backward was given the tensor itself.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor) -> Tensor:
        ctx.x, ctx.w = x, w
        return F.conv2d(x, w)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        needs_x, needs_w = ctx.needs_input_grad
        return by_x(grad_out, ctx.w) if needs_x else None, by_w(grad_out, ctx.x) if needs_w else None


def saved_as(kept: Any) -> type[Function]:
    """An answer that saves kept(x), kept(w)."""

    class Answer(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, w: Tensor) -> Tensor:
            ctx.save_for_backward(*kept(x, w))
            return F.conv2d(x, w)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, Tensor | None]:
            x, w = ctx.saved_tensors
            return (
                by_x(grad_out, w) if ctx.needs_input_grad[0] else None,
                by_w(grad_out, x) if ctx.needs_input_grad[1] else None,
            )

    return Answer


@built.variant(KeptOnCtx)
def _():
    return saved_as(lambda x, w: (x.data, w.data))


@built.variant(KeptOnCtx)
def _():
    return saved_as(lambda x, w: (x, w.data))


@built.mistake(breaks="An x or w that is edited before backward raises RuntimeError")
def copies_saved():
    """A copy of x or w was saved: it costs the memory once more, and hides from who edits in between that backward
    still needs the tensor. Save the tensor itself.
    """
    return saved_as(lambda x, w: (x.clone(), w.clone()))


@built.variant(copies_saved)
def _():
    return saved_as(lambda x, w: (x, w.clone()))


@built.variant(copies_saved)
def _():
    return saved_as(lambda x, w: (x.clone(), w))


@built.mistake(breaks="with a backward of your own")
def none_for_x():
    """x gets None, whether w needs a gradient or not. None says that there is nothing to learn here: no layer before this one gets
    a gradient.
    """
    return plain(lambda g, x, w: None, right_w)


@conv2d.mistake(breaks="One that nobody needs is not computed")
class NeedsExchanged(Function):
    """Where w needs no gradient, x got none either (None); where both need one, it gets it. Perhaps the two entries of
    needs_input_grad changed places, [0] is x, [1] is w; or both had to be set.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(x, w)
        return F.conv2d(x, w)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x, w = ctx.saved_tensors
        return (
            by_x(grad_out, w) if ctx.needs_input_grad[1] else None,
            by_w(grad_out, x) if ctx.needs_input_grad[0] else None,
        )


@conv2d.variant(BothComputedAlways)
class _(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(x, w)
        return F.conv2d(x, w)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x, w = ctx.saved_tensors
        return by_x(grad_out, w) if ctx.needs_input_grad[0] else None, by_w(grad_out, x)


@conv2d.variant(BothComputedAlways)
class _(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(x, w)
        return F.conv2d(x, w)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x, w = ctx.saved_tensors
        return by_x(grad_out, w), by_w(grad_out, x) if ctx.needs_input_grad[1] else None


@conv2d.mistake()
class SilentSecondDerivative(Function):
    """The second derivative is lost or wrong, and nothing says so: a gradient penalty would be. Perhaps backward ran under
    `no_grad`, with tensors that were detached, or with one that forward made, such as a padded x: it counts as a constant.
    `@once_differentiable` computes the same and raises.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(x, w)
        return F.conv2d(x, w)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        x, w = ctx.saved_tensors
        needs_x, needs_w = ctx.needs_input_grad
        with torch.no_grad():
            return by_x(grad_out, w) if needs_x else None, by_w(grad_out, x) if needs_w else None


@conv2d.variant(SilentSecondDerivative)
class _(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(x, w)
        return F.conv2d(x, w)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        x, w = (tensor.data for tensor in ctx.saved_tensors)
        needs_x, needs_w = ctx.needs_input_grad
        return by_x(grad_out, w) if needs_x else None, by_w(grad_out, x) if needs_w else None


@built.mistake(breaks="x and w get the gradients of `F.conv2d`")
def in_float32():
    """The gradient of float64 tensors is right in its first digits only: perhaps it went through float32."""
    return plain(right_x, lambda g, x, w: by_w(g.float(), x.float()).to(w.dtype))


@built.variant(in_float32)
def _():
    return plain(lambda g, x, w: by_x(g.float(), w.float()).to(x.dtype), right_w)


@built.mistake(breaks="x: of shape (N, C_in, H, W), floating, with any strides.")
def viewed():
    """A tensor that is not contiguous, and `.view` raises: perhaps x, w or the gradient that came in is reshaped by it.
    `.reshape` and `.flatten` copy where they must.
    """
    return plain(
        right_x,
        lambda g, x, w: torch.einsum("nol,nkl->ok", g.view(*g.shape[:2], -1), F.unfold(x, w.shape[2:])).view(
            w.shape
        ),
    )


@built.variant(viewed)
def _():
    return plain(
        lambda g, x, w: F.fold(
            torch.einsum("ok,nol->nkl", w.view(w.shape[0], -1), g.flatten(2)), x.shape[2:], w.shape[2:]
        ),
        right_w,
    )


@built.variant(viewed)
def _():
    return plain(
        lambda g, x, w: F.fold(
            torch.einsum("ok,nol->nkl", w.flatten(1), g.view(*g.shape[:2], -1)), x.shape[2:], w.shape[2:]
        ),
        right_w,
    )


@built.mistake(breaks="x and w get the gradients of `F.conv2d`")
def nothing_where_x_is_frozen():
    """Where x needs no gradient, w got none either; where both need one, it gets it. Perhaps backward returns early:
    `ctx.needs_input_grad` is asked for each of the two.
    """

    class Answer(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, w: Tensor) -> Tensor:
            ctx.save_for_backward(x, w)
            return F.conv2d(x, w)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, grad_out: Tensor) -> tuple[Any, ...]:
            x, w = ctx.saved_tensors
            if not ctx.needs_input_grad[0]:
                return None, None
            return by_x(grad_out, w), by_w(grad_out, x) if ctx.needs_input_grad[1] else None

    return Answer
