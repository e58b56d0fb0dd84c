"""What people write for 03.conv2d with stride and padding, and why it is wrong."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from helpers.labs.autograd.conv2d.exercise import conv2d
from helpers.labs.autograd.conv2d.mistakes.gradients import built, by_w, by_x


def unreached(x: Tensor, w: Tensor, stride: int, padding: int) -> list[int]:
    """Rows and columns at the end of x that no window reaches."""
    return [(n + 2 * padding - k) % stride for n, k in zip(x.shape[2:], w.shape[2:], strict=True)]


def strided_x(grad_out: Tensor, x: Tensor, w: Tensor, stride: int, padding: int) -> Tensor:
    spare = unreached(x, w, stride, padding)
    return F.conv_transpose2d(grad_out, w, stride=stride, padding=padding, output_padding=spare)


def slid(grad_out: Tensor, x: Tensor, padding: int, dilation: int) -> Tensor:
    flat = F.conv2d(x.transpose(0, 1), grad_out.transpose(0, 1), dilation=dilation, padding=padding)
    return flat.transpose(0, 1)


def strided_w(grad_out: Tensor, x: Tensor, w: Tensor, stride: int, padding: int) -> Tensor:
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
    return stepped(strided_x, lambda g, x, w, stride, padding: slid(g, x, padding, stride))


@built.mistake()
def cropped_at_the_wrong_end():
    """The surplus of the gradient of w stands at the end, where x has rows that no window reached: keep the
    first kH rows, not the last.
    """
    return stepped(strided_x, _cropped_at_the_wrong_end)


@built.mistake()
def output_padding_forgotten():
    """Several sizes of x give one size of y. conv_transpose2d assumes the smallest; output_padding says how
    many rows and columns are missing.
    """
    return stepped(
        lambda g, x, w, stride, padding: F.conv_transpose2d(g, w, stride=stride, padding=padding), strided_w
    )


@built.mistake()
def zeros_at_the_wrong_end():
    """The rows that no window reached are the last ones of x: the zeros belong at the bottom and on the
    right.
    """
    return stepped(_padded_at_the_wrong_end, strided_w)


@built.mistake()
def stride_for_dilation():
    """In the gradient of w, grad_out is the kernel, and its entries stand `stride` apart over x: that is
    dilation, not stride.
    """
    return stepped(
        strided_x,
        lambda g, x, w, stride, padding: F.conv2d(
            x.transpose(0, 1), g.transpose(0, 1), stride=stride, padding=padding
        ).transpose(0, 1)[:, :, : w.shape[2], : w.shape[3]],
    )


@built.mistake()
def padding_forgotten_in_backward():
    """In backward a kernel was larger than what it slides over. Perhaps x is not padded there: forward pads x
    with zeros, and backward must see the same padded x.
    """
    return stepped(
        strided_x,
        lambda g, x, w, stride, padding: slid(g, x, 0, stride)[:, :, : w.shape[2], : w.shape[3]],
    )


@built.mistake()
def two_gradients_too_few():
    """forward takes four arguments, so backward returns four values: None for stride and padding."""
    return stepped(strided_x, strided_w, gradients=2)


conv2d.variant(two_gradients_too_few)(stepped(strided_x, strided_w, gradients=3))


def transposed(grad_out: Tensor, w: Tensor, **keywords: Any) -> Tensor:
    return F.conv_transpose2d(grad_out, w, **keywords)


@built.mistake(breaks="values and gradients are those of `F.conv2d` with both")
def stride_forgotten_in_backward():
    """With a stride the gradient of x has not the shape of x: perhaps it is made by the formula for stride 1. Backward
    needs the stride of forward, too.
    """
    return stepped(lambda g, x, w, stride, padding: by_x(g, w), lambda g, x, w, stride, padding: by_w(g, x))


@built.variant(stride_forgotten_in_backward)
def _():
    return stepped(lambda g, x, w, stride, padding: by_x(g, w), strided_w)


@built.variant(stride_forgotten_in_backward)
def _():
    return stepped(lambda g, x, w, stride, padding: transposed(g, w, padding=padding), strided_w)


@built.mistake(breaks="values and gradients are those of `F.conv2d` with both")
def padding_forgotten_in_x():
    """With padding the gradient of x comes out too large: it is that of the padded x. Cut off what forward has added,
    as `padding=` of conv_transpose2d does.
    """
    return stepped(
        lambda g, x, w, stride, padding: transposed(
            g, w, stride=stride, output_padding=unreached(x, w, stride, 0)
        ),
        lambda g, x, w, stride, padding: slid(g, x, 0, stride)[:, :, : w.shape[2], : w.shape[3]],
    )


@built.variant(padding_forgotten_in_x)
def _():
    return stepped(
        lambda g, x, w, stride, padding: transposed(
            g, w, stride=stride, output_padding=unreached(x, w, stride, padding)
        ),
        strided_w,
    )


@built.mistake(breaks="values and gradients are those of `F.conv2d` with both")
def dilation_forgotten():
    """With a stride the gradient of w is that of windows which lie side by side: perhaps `dilation=stride` is missing.
    The entries of grad_out stand `stride` apart over x.
    """
    return stepped(
        strided_x,
        lambda g, x, w, stride, padding: slid(g, x, padding, 1)[:, :, : w.shape[2], : w.shape[3]],
    )


@built.variant(dilation_forgotten)
def _():
    return stepped(strided_x, lambda g, x, w, stride, padding: slid(g, x, padding, 1))


@built.mistake(breaks="values and gradients are those of `F.conv2d` with both")
def one_rest_for_all():
    """The gradient of x has not the shape of x where height and width leave different rests: perhaps one number stands
    for both output paddings, the height's or stride - 1. Each side has its own, (n + 2 * padding - k) % stride.
    """
    return stepped(
        lambda g, x, w, stride, padding: transposed(
            g, w, stride=stride, padding=padding, output_padding=stride - 1
        ),
        strided_w,
    )


@built.variant(one_rest_for_all)
def _():
    return stepped(
        lambda g, x, w, stride, padding: transposed(
            g, w, stride=stride, padding=padding, output_padding=unreached(x, w, stride, padding)[0]
        ),
        strided_w,
    )


@built.variant(one_rest_for_all)
def _():
    return stepped(
        lambda g, x, w, stride, padding: transposed(
            g, w, stride=stride, padding=padding, output_padding=unreached(x, w, stride, padding)[1]
        ),
        strided_w,
    )


@built.mistake(breaks="x and w get the gradients of `F.conv2d`")
def cropped_by_minus_zero():
    """Without padding the gradient of x has no entries: perhaps it is cut as `[p:-p]`, which for p = 0 is `[0:0]` and
    empty. Cut from p to p + n.
    """

    def slope_x(g: Tensor, x: Tensor, w: Tensor, stride: int, p: int) -> Tensor:
        rest = unreached(x, w, stride, p)
        return transposed(g, w, stride=stride, output_padding=rest)[:, :, p:-p, p:-p]

    return stepped(slope_x, strided_w)


@built.mistake(breaks="x and w get the gradients of `F.conv2d`")
def cropped_to_a_square():
    """The gradient of w comes out with as many columns as rows: perhaps it is cut by the height of the kernel both ways.
    Rows by w.shape[2], columns by w.shape[3].
    """
    return stepped(
        strided_x,
        lambda g, x, w, stride, padding: slid(g, x, padding, stride)[:, :, : w.shape[2], : w.shape[2]],
    )


@conv2d.mistake(breaks="`F.conv2d(x, w)` with a backward of your own: `Conv2d.apply(x, w)`.")
class WithoutDefaults(Function):
    """`Conv2d.apply(x, w)` raises, since forward asks for more: stride and padding have the defaults of F.conv2d, 1 and
    0.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, stride: int, padding: int) -> Tensor:
        ctx.save_for_backward(x, w)
        ctx.steps = stride, padding
        return F.conv2d(x, w, stride=stride, padding=padding)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Any, ...]:
        x, w = ctx.saved_tensors
        return strided_x(grad_out, x, w, *ctx.steps), strided_w(grad_out, x, w, *ctx.steps), None, None


def with_defaults(stride: int, padding: int) -> type[Function]:
    """A right answer, but for its defaults."""
    right = stepped(strided_x, strided_w)

    class Answer(right):
        @staticmethod
        def forward(ctx: Any, x: Tensor, w: Tensor, stride: int = stride, padding: int = padding) -> Tensor:
            return right.forward(ctx, x, w, stride, padding)

    return Answer


@built.mistake(breaks="and so are the defaults")
def other_defaults():
    """Without stride and padding the result is not that of F.conv2d: perhaps the defaults are different ones. They are 1
    and 0.
    """
    return with_defaults(1, 1)


@built.variant(other_defaults)
def _():
    return with_defaults(2, 0)


@built.mistake(breaks="An x or w that is edited before backward raises RuntimeError")
def padded_copy_saved():
    """With padding an edit of x was not noticed: perhaps the padded copy of x was saved. Save x itself, and pad it once
    more in backward.
    """

    class Answer(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, w: Tensor, stride: int = 1, padding: int = 0) -> Tensor:
            wide = F.pad(x, (padding,) * 4) if padding else x
            ctx.save_for_backward(wide, w)
            ctx.steps = stride, padding
            return F.conv2d(wide, w, stride=stride)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, grad_out: Tensor) -> tuple[Any, ...]:
            (wide, w), (stride, padding) = ctx.saved_tensors, ctx.steps
            grad_x = grad_w = None
            if ctx.needs_input_grad[0]:
                grad_x = strided_x(grad_out, wide, w, stride, 0)
                grad_x = grad_x[
                    :, :, padding : grad_x.shape[2] - padding, padding : grad_x.shape[3] - padding
                ]
            if ctx.needs_input_grad[1]:
                grad_w = strided_w(grad_out, wide, w, stride, 0)
            return grad_x, grad_w, None, None

    return Answer


def needing(whether: Any) -> type[Function]:
    """A right answer for any stride and padding, but for what it makes of needs_input_grad."""

    class Answer(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, w: Tensor, stride: int = 1, padding: int = 0) -> Tensor:
            ctx.save_for_backward(x, w)
            ctx.steps = stride, padding
            return F.conv2d(x, w, stride=stride, padding=padding)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, grad_out: Tensor) -> tuple[Any, ...]:
            (x, w), (needs_x, needs_w) = ctx.saved_tensors, whether(*ctx.needs_input_grad[:2])
            grad_x = strided_x(grad_out, x, w, *ctx.steps) if needs_x else None
            grad_w = strided_w(grad_out, x, w, *ctx.steps) if needs_w else None
            return grad_x, grad_w, None, None

    return Answer


conv2d.variant("needs_exchanged")(needing(lambda x, w: (w, x)))
conv2d.variant("needs_exchanged")(needing(lambda x, w: (x and w, w)))
conv2d.variant("nothing_where_x_is_frozen")(needing(lambda x, w: (x, x and w)))
conv2d.variant("none_for_x")(needing(lambda x, w: (False, w)))
conv2d.variant("none_for_w")(needing(lambda x, w: (x, False)))
conv2d.variant("both_computed_always")(needing(lambda x, w: (True, True)))


@built.mistake(breaks="values and gradients are those of `F.conv2d` with both")
def padding_past_the_kernel():
    """With a padding of the kernel's size or more the gradient of x has not the shape of x: perhaps grad_out is padded
    by k - 1 - padding, which is negative there and must cut off. F.pad takes negative numbers.
    """

    def slope_x(g: Tensor, x: Tensor, w: Tensor, stride: int, padding: int) -> Tensor:
        places = [n + 2 * padding - k + 1 for n, k in zip(x.shape[2:], w.shape[2:], strict=True)]
        wide = g.new_zeros(*g.shape[:2], *places)
        wide[:, :, ::stride, ::stride] = g
        up, left = (max(0, k - 1 - padding) for k in w.shape[2:])
        return F.conv2d(F.pad(wide, (left, left, up, up)), w.flip(2, 3).transpose(0, 1))

    return stepped(slope_x, strided_w)


def kept_for_all(*names: str) -> type[Function]:
    """A right answer, but for what it puts into one place for all its calls: x and w, the steps, or the shapes."""
    place: dict[str, Any] = {}

    class Answer(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, w: Tensor, stride: int = 1, padding: int = 0) -> Tensor:
            ctx.save_for_backward(x, w)
            ctx.own = {"steps": (stride, padding), "shapes": (x.shape, w.shape)}
            everything = ctx.own | {"tensors": (x, w)}
            place.update({name: everything[name] for name in names})
            return F.conv2d(x, w, stride=stride, padding=padding)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, grad_out: Tensor) -> tuple[Any, ...]:
            known = ctx.own | place
            (x, w), steps = known.get("tensors", ctx.saved_tensors), known["steps"]
            of_x, of_w = (torch.empty(shape) for shape in known["shapes"])
            grad_x = strided_x(grad_out, of_x, w, *steps) if ctx.needs_input_grad[0] else None
            grad_w = strided_w(grad_out, x, of_w, *steps) if ctx.needs_input_grad[1] else None
            return grad_x, grad_w, None, None

    return Answer


@built.mistake(breaks="Each call has an x, a w, a stride and a padding of its own.")
def one_place_for_all_calls():
    """With two calls pending, a backward is wrong that is right alone. Perhaps something that it needs stands on the class,
    or in a global, where the second call puts its own: ctx is there for each call anew.
    """
    return kept_for_all("tensors")


conv2d.variant(one_place_for_all_calls)(kept_for_all("steps"))
conv2d.variant(one_place_for_all_calls)(kept_for_all("shapes"))
conv2d.variant(one_place_for_all_calls)(kept_for_all("tensors", "steps", "shapes"))


def _read_in_the_wrong_order(grad_out: Tensor, x: Tensor, w: Tensor, stride: int, padding: int) -> Tensor:
    slope = slid(grad_out, x, padding, stride).transpose(0, 1)[:, :, : w.shape[2], : w.shape[3]]
    return slope.reshape(w.shape)


@built.mistake(breaks="x and w get the gradients of `F.conv2d`")
def channels_reshaped():
    """The gradient of w has the right numbers in a different order. Perhaps batch and channels changed places for it, and were
    brought into the shape of w by reshape or view: transpose(0, 1) changes them back.
    """
    return stepped(strided_x, _read_in_the_wrong_order)


def _padded_at_the_end(grad_out: Tensor, x: Tensor, w: Tensor, stride: int, padding: int) -> Tensor:
    return strided_w(grad_out, F.pad(x, (0, 2 * padding, 0, 2 * padding)), w, stride, 0)


@built.mistake(breaks="values and gradients are those of `F.conv2d` with both")
def padded_at_the_end():
    """With padding the gradient of w is that of an x whose zeros all stand at the bottom and on the right. Each side gets
    `padding` of them, as in forward.
    """
    return stepped(strided_x, _padded_at_the_end)


@built.mistake(breaks="values and gradients are those of `F.conv2d` with both")
def cut_at_the_far_end_only():
    """With padding the gradient of x is that of the first rows and columns of the padded x. Perhaps it was cut as `[:H, :W]`:
    the padded x begins with `padding` rows and columns of zeros, so x stands from `padding` to `padding + H`.
    """

    def slope_x(g: Tensor, x: Tensor, w: Tensor, stride: int, padding: int) -> Tensor:
        rest = unreached(x, w, stride, padding)
        return transposed(g, w, stride=stride, output_padding=rest)[:, :, : x.shape[2], : x.shape[3]]

    return stepped(slope_x, strided_w)


@built.mistake(breaks="values and gradients are those of `F.conv2d` with both")
def padding_not_used():
    """With padding the result is that of F.conv2d without it. Perhaps forward takes `padding` and does not hand it on."""
    right = stepped(strided_x, strided_w)

    class Answer(right):
        @staticmethod
        def forward(ctx: Any, x: Tensor, w: Tensor, stride: int = 1, padding: int = 0) -> Tensor:
            return right.forward(ctx, x, w, stride, 0)

    return Answer
