"""What people write for 03.conv2d with stride and padding."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from helpers.exercise import returned
from helpers.labs.autograd.conv2d import conv2d

built = conv2d.bank(returned)


def unreached(x: Tensor, w: Tensor, stride: int, padding: int) -> list[int]:
    """Rows and columns at the end of x that no window reaches."""
    return [(n + 2 * padding - k) % stride for n, k in zip(x.shape[2:], w.shape[2:], strict=True)]


def right_x(grad_out: Tensor, x: Tensor, w: Tensor, stride: int, padding: int) -> Tensor:
    spare = unreached(x, w, stride, padding)
    return F.conv_transpose2d(grad_out, w, stride=stride, padding=padding, output_padding=spare)


def slid(grad_out: Tensor, x: Tensor, padding: int, dilation: int) -> Tensor:
    flat = F.conv2d(x.transpose(0, 1), grad_out.transpose(0, 1), dilation=dilation, padding=padding)
    return flat.transpose(0, 1)


def right_w(grad_out: Tensor, x: Tensor, w: Tensor, stride: int, padding: int) -> Tensor:
    return slid(grad_out, x, padding, stride)[:, :, : w.shape[2], : w.shape[3]]


def stepped(slope_x: Any, slope_w: Any, gradients: int = 4) -> type[Function]:
    """An answer with these two gradients, each made of (grad_out, x, w, stride, padding)."""

    class Answer(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, w: Tensor, stride: int = 1, padding: int = 0) -> Tensor:
            ctx.save_for_backward(x, w)
            ctx.steps = stride, padding
            return F.conv2d(x, w, stride=stride, padding=padding)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, grad_out: Tensor) -> tuple[Any, ...]:
            x, w = ctx.saved_tensors
            needs_x, needs_w = ctx.needs_input_grad[:2]
            grad_x = slope_x(grad_out, x, w, *ctx.steps) if needs_x else None
            grad_w = slope_w(grad_out, x, w, *ctx.steps) if needs_w else None
            return (grad_x, grad_w, None, None)[:gradients]

    return Answer


def _cropped_at_the_wrong_end(grad_out: Tensor, x: Tensor, w: Tensor, stride: int, padding: int) -> Tensor:
    return slid(grad_out, x, padding, stride)[:, :, -w.shape[2] :, -w.shape[3] :]


def _padded_at_the_wrong_end(grad_out: Tensor, x: Tensor, w: Tensor, stride: int, padding: int) -> Tensor:
    bottom, right = unreached(x, w, stride, padding)
    return F.pad(F.conv_transpose2d(grad_out, w, stride=stride, padding=padding), (right, 0, bottom, 0))


@built.mistake()
def crop_forgotten():
    """The rows of x that no window reached still slide under grad_out, so the gradient of w comes out larger
    than w: crop it to the kernel.
    """
    return stepped(right_x, lambda g, x, w, stride, padding: slid(g, x, padding, stride))


@built.mistake()
def cropped_at_the_wrong_end():
    """The surplus of the gradient of w stands at the end, where x has rows that no window reached: keep the
    first kH rows, not the last.
    """
    return stepped(right_x, _cropped_at_the_wrong_end)


@built.mistake()
def output_padding_forgotten():
    """Several sizes of x give one size of y. conv_transpose2d assumes the smallest; output_padding says how
    many rows and columns are missing.
    """
    return stepped(
        lambda g, x, w, stride, padding: F.conv_transpose2d(g, w, stride=stride, padding=padding), right_w
    )


@built.mistake()
def zeros_at_the_wrong_end():
    """The rows that no window reached are the last ones of x: the zeros belong at the bottom and on the
    right.
    """
    return stepped(_padded_at_the_wrong_end, right_w)


@built.mistake()
def stride_for_dilation():
    """In the gradient of w, grad_out is the kernel, and its entries stand `stride` apart over x: that is
    dilation, not stride.
    """
    return stepped(
        right_x,
        lambda g, x, w, stride, padding: F.conv2d(
            x.transpose(0, 1), g.transpose(0, 1), stride=stride, padding=padding
        ).transpose(0, 1)[:, :, : w.shape[2], : w.shape[3]],
    )


@built.mistake()
def padding_forgotten_in_backward():
    """forward pads x with zeros; backward must see the same padded x, or every window is displaced."""
    return stepped(
        right_x,
        lambda g, x, w, stride, padding: slid(g, x, 0, stride)[:, :, : w.shape[2], : w.shape[3]],
    )


@built.mistake()
def two_gradients_too_few():
    """forward takes four arguments, so backward returns four values: None for stride and padding."""
    return stepped(right_x, right_w, gradients=2)


conv2d.variant(two_gradients_too_few)(stepped(right_x, right_w, gradients=3))
