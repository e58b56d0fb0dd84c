"""What people write for 11.windows, and why it is wrong: shapes, strides, copies."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from helpers.labs.tensors.windows.exercise import FIT, GRADIENT, ONE, PLACE, SHAPE, STEP, VIEW, windows
from helpers.labs.tensors.windows.right import (
    Ints,
    Pair,
    answer,
    by_count,
    by_make,
    by_shape,
    by_strides,
    checked,
    sizes,
    strides,
)

whole = windows.bank()
count = windows.bank(by_count)
shape = windows.bank(by_shape)
stride = windows.bank(by_strides)
make = windows.bank(by_make)


# The shape.


@count.mistake(breaks=FIT)
def one_too_few(have: int, want: int, pace: int) -> int:
    """One window a dimension is missing, the last. (H - h) // step[0] counts the steps between
    windows: there is one window more than steps.
    """
    return (have - want) // pace


@count.mistake(breaks=FIT)
def size_forgotten_in_the_count(have: int, want: int, pace: int) -> int:
    """As many windows are counted as there are places for their upper left element. The last ones
    reach beyond x, into memory that is not theirs, or into none.
    """
    return (have - 1) // pace + 1


@count.mistake(breaks=FIT)
def rounded_up(have: int, want: int, pace: int) -> int:
    """Where the last step is not a full one, there is one window too many: it reaches beyond x.
    Perhaps the division was rounded up.
    """
    return -(-(have - want) // pace) + 1


@count.mistake(breaks=FIT)
def as_if_the_step_were_the_size(have: int, want: int, pace: int) -> int:
    """The number of windows is that of windows side by side, have // size. With a different step
    there are more of them, or fewer.
    """
    return have // want


@count.mistake(breaks=FIT)
def as_if_the_step_were_one(have: int, want: int, pace: int) -> int:
    """The number of windows is that for a step of 1: larger steps have not been counted."""
    return have - want + 1


@count.mistake(breaks=FIT)
def divided_too_early(have: int, want: int, pace: int) -> int:
    """Too many or too few windows for some sizes. Perhaps the size of x was divided by the step
    before the window was taken off: (H - h) is to be divided, not H.
    """
    return have // pace - want + 1


@whole.mistake(breaks=FIT)
def size_and_step_swapped(x: Tensor, size: Pair, step: Pair) -> Tensor:
    """`size` and `step` have changed places: each window is as large as a step, and the windows
    are a size apart.
    """
    return answer()(x, step, size)


@whole.mistake(breaks=STEP)
def step_right_and_down(x: Tensor, size: Pair, step: Pair) -> Tensor:
    """There are as many rows and columns of windows as for the two numbers of `step` in the other
    order. Perhaps it was unpacked as (right, down): it is (down, right).
    """
    return answer()(x, size, step[::-1])


@shape.mistake(breaks=SHAPE)
def windows_before_places(x: Tensor, size: Pair, step: Pair) -> Ints:
    """The shape is (..., h, w, rows, columns). Which window comes first, and then where in the
    window.
    """
    return (*x.shape[:-2], *size, *sizes(x, size, step)[-4:-2])


@whole.variant(windows_before_places)
def _(x: Tensor, size: Pair, step: Pair) -> Tensor:
    return answer()(x, size, step).movedim((-2, -1), (-4, -3))


@shape.mistake(breaks=SHAPE)
def columns_before_rows(x: Tensor, size: Pair, step: Pair) -> Ints:
    """The numbers of rows and columns of windows have changed places."""
    *leading, rows, columns, h, w = sizes(x, size, step)
    return (*leading, columns, rows, h, w)


@shape.mistake(breaks=SHAPE)
def windows_turned(x: Tensor, size: Pair, step: Pair) -> Ints:
    """Each window has the shape (w, h), and (h, w) is asked for."""
    *leading, rows, columns, h, w = sizes(x, size, step)
    return (*leading, rows, columns, w, h)


@whole.mistake(breaks=SHAPE)
def rows_and_windows_interleaved(x: Tensor, size: Pair, step: Pair) -> Tensor:
    """The shape is (..., rows, h, columns, w). Each dimension got its windows, and the four were
    not brought into the order that is asked for.
    """
    return answer()(x, size, step).transpose(-3, -2)


@whole.mistake(breaks=SHAPE)
def windows_in_one_row(x: Tensor, size: Pair, step: Pair) -> Tensor:
    """All windows stand in one dimension, rows * columns long. There are to be two, so that [i, j]
    is a place.
    """
    return answer()(x, size, step).flatten(-4, -3)


@whole.mistake(breaks=SHAPE)
def leading_dimensions_joined(x: Tensor, size: Pair, step: Pair) -> Tensor:
    """The leading dimensions have been made one, or one was put in where there are none. They are
    to come back as they were.
    """
    return answer()(x.reshape(-1, *x.shape[-2:]), size, step)


@whole.mistake(breaks=SHAPE)
def leading_dimensions_lost(x: Tensor, size: Pair, step: Pair) -> Tensor:
    """The leading dimensions are gone: only the windows of one picture came back."""
    checked(x, size, step)
    return x.as_strided(sizes(x, size, step)[-4:], strides(x, step)[-4:])


# Where each window stands.


@stride.mistake(breaks=PLACE)
def step_in_the_window(x: Tensor, step: Pair) -> Ints:
    """The elements inside a window are `step` apart, and the windows themselves 1. It is the
    windows that are `step` apart: inside of them every element follows.
    """
    *leading, row, column = x.stride()
    return (*leading, row, column, row * step[0], column * step[1])


@stride.mistake(breaks=PLACE)
def steps_swapped(x: Tensor, step: Pair) -> Ints:
    """The windows are step[1] rows and step[0] columns apart: the first is how far it is to the
    window below.
    """
    return strides(x, step[::-1])


@stride.mistake(breaks=PLACE)
def step_without_a_stride(x: Tensor, step: Pair) -> Ints:
    """From window to window the memory is stepped by `step` alone. It is so many rows or columns
    of x, and one of them is a stride long.
    """
    return (*x.stride()[:-2], *step, *x.stride()[-2:])


@stride.mistake(breaks=PLACE)
def step_forgotten(x: Tensor, step: Pair) -> Ints:
    """The windows are 1 apart, whatever `step` says. Their number is right."""
    return strides(x, (1, 1))


@stride.mistake(breaks=PLACE)
def step_in_both(x: Tensor, step: Pair) -> Ints:
    """The windows are `step` apart, and the elements inside of them are, too. Inside of a window
    every element follows.
    """
    *leading, row, column = x.stride()
    return (*leading, *[row * step[0], column * step[1]] * 2)


@stride.mistake(breaks=PLACE)
def rows_for_columns(x: Tensor, step: Pair) -> Ints:
    """Rows and columns of x have changed places in the strides: a step down leads to the right."""
    *leading, row, column = x.stride()
    return (*leading, column * step[0], row * step[1], column, row)


@stride.mistake(breaks=PLACE)
def as_if_contiguous(x: Tensor, step: Pair) -> Ints:
    """Right for a contiguous x, and wrong for a view whose rows or columns lie elsewhere. Perhaps
    the strides were computed from the shape: `x.stride()` says them.
    """
    return strides(torch.empty(x.shape, device="meta"), step)


@stride.variant(as_if_contiguous)
def _(x: Tensor, step: Pair) -> Ints:
    found = [1]
    for n in reversed(x.shape[1:]):
        found.insert(0, found[0] * n)
    *leading, row, column = found
    return (*leading, row * step[0], column * step[1], row, column)


@stride.mistake(breaks=PLACE)
def columns_side_by_side(x: Tensor, step: Pair) -> Ints:
    """Right as long as the columns of x lie side by side in memory. Perhaps their stride was taken
    to be 1: in a slice of every second column it is 2.
    """
    *leading, row, _ = x.stride()
    return (*leading, row * step[0], step[1], row, 1)


@stride.mistake(breaks=PLACE)
def rows_as_long_as_their_columns(x: Tensor, step: Pair) -> Ints:
    """Wrong as soon as a row of x lies further from the next than it is wide. Perhaps the width
    stands where the stride belongs.
    """
    *leading, _, column = x.stride()
    row = x.shape[-1] * column
    return (*leading, row * step[0], column * step[1], row, column)


@make.mistake(breaks=PLACE)
def from_the_start_of_the_storage(x: Tensor, size: Ints, stride: Ints) -> Tensor:
    """Right as long as x begins where its storage begins. Perhaps an offset of 0 was given to
    `as_strided`: it counts from the start of the storage, not of x.
    """
    return x.as_strided(size, stride, 0)


@make.mistake(breaks=PLACE)
def offset_in_bytes(x: Tensor, size: Ints, stride: Ints) -> Tensor:
    """Wrong, or out of the storage, where x begins later than its storage. Perhaps the offset was
    counted in bytes, or added twice.
    """
    return x.as_strided(size, stride, x.storage_offset() * x.element_size())


@make.variant(offset_in_bytes)
def _(x: Tensor, size: Ints, stride: Ints) -> Tensor:
    return x.as_strided(size, stride, x.storage_offset() * 2)


# The dtype.


@whole.mistake(breaks=SHAPE)
def always_float(x: Tensor, size: Pair, step: Pair) -> Tensor:
    """x of a different dtype came back as floats. Strides do not ask what the elements are."""
    return answer()(x.float(), size, step)


@whole.mistake(breaks=SHAPE)
def im2col(x: Tensor, size: Pair, step: Pair) -> Tensor:
    """The windows are those of `F.unfold`: floats only, and a copy of each element for each window
    that it is in. It makes the matrix for a matrix product, and no view.
    """
    checked(x, size, step)
    *leading, rows, columns, h, w = sizes(x, size, step)
    found = F.unfold(x.reshape(-1, 1, *x.shape[-2:]), size, stride=step)
    return found.transpose(1, 2).reshape(*leading, rows, columns, h, w)


# A view.


@whole.mistake(breaks=VIEW)
def copied_first(x: Tensor, size: Pair, step: Pair) -> Tensor:
    """The values are right, and they stand in a memory of their own, also of a contiguous x: what
    is written to the one is not seen in the other.
    """
    return answer()(x.clone(), size, step)


@whole.variant(copied_first)
def _(x: Tensor, size: Pair, step: Pair) -> Tensor:
    return answer()(x, size, step).clone()


@whole.variant(copied_first)
def _(x: Tensor, size: Pair, step: Pair) -> Tensor:
    return answer()(x, size, step).contiguous()


@whole.variant(copied_first)
def _(x: Tensor, size: Pair, step: Pair) -> Tensor:
    checked(x, size, step)
    rows, columns = sizes(x, size, step)[-4:-2]
    (h, w), (down, right) = size, step
    lines = [
        torch.stack(
            [x[..., i * down : i * down + h, j * right : j * right + w] for j in range(columns)], dim=-3
        )
        for i in range(rows)
    ]
    return torch.stack(lines, dim=-4)


@whole.mistake(breaks=VIEW)
def contiguous_first(x: Tensor, size: Pair, step: Pair) -> Tensor:
    """A view of x if x is contiguous, and a copy if it is not. Perhaps `contiguous()` stands
    before: strides of any layout will do.
    """
    return answer()(x.contiguous(), size, step)


@whole.variant(contiguous_first)
def _(x: Tensor, size: Pair, step: Pair) -> Tensor:
    return answer()(x.reshape(-1).view(x.shape), size, step)


@whole.mistake(breaks=VIEW)
def contiguous_if_expanded(x: Tensor, size: Pair, step: Pair) -> Tensor:
    """An expanded x was copied, and a sliced or transposed one was not. Perhaps `contiguous()` is
    called where a stride is 0: it is a stride as others.
    """
    return answer()(x.contiguous() if 0 in x.stride() else x, size, step)


# One operation.


@whole.mistake(breaks=ONE)
def unfolded(x: Tensor, size: Pair, step: Pair) -> Tensor:
    """torch's `unfold` ran, once for each dimension. It is the same view: the point here is to
    find its strides yourself.
    """
    checked(x, size, step)
    return x.unfold(-2, size[0], step[0]).unfold(-2, size[1], step[1])


@whole.variant(unfolded)
def _(x: Tensor, size: Pair, step: Pair) -> Tensor:
    checked(x, size, step)
    return x.unfold(-1, size[1], step[1]).unfold(-3, size[0], step[0]).transpose(-1, -2)


@whole.mistake(breaks=ONE)
def one_dimension_at_a_time(x: Tensor, size: Pair, step: Pair) -> Tensor:
    """`as_strided` ran twice. One call takes all dimensions."""
    checked(x, size, step)
    shape, stride = sizes(x, size, step), strides(x, step)
    down = x.as_strided((*x.shape[:-2], shape[-4], size[0], x.shape[-1]), (*stride[:-3], *x.stride()[-2:]))
    return down.as_strided(shape, stride)


@whole.mistake(breaks=ONE)
def cut_out_first(x: Tensor, size: Pair, step: Pair) -> Tensor:
    """x was sliced before `as_strided` ran. The slices cost two operations and change nothing:
    what is left over at the ends is in no window anyway.
    """
    checked(x, size, step)
    shape = sizes(x, size, step)
    height, width = ((shape[at - 2] - 1) * step[at] + size[at] for at in (-2, -1))
    return x[..., :height, :width].as_strided(shape, strides(x, step))


@whole.mistake(breaks=ONE)
def windows_and_then_turned(x: Tensor, size: Pair, step: Pair) -> Tensor:
    """After `as_strided` the dimensions were brought into order by one more operation. Give
    `as_strided` its numbers in the order that is asked for.
    """
    checked(x, size, step)
    *leading, rows, columns, h, w = sizes(x, size, step)
    *before, down, right, row, column = strides(x, step)
    view = x.as_strided((*leading, rows, h, columns, w), (*before, down, row, right, column))
    return view.transpose(-3, -2)


@whole.mistake(breaks=GRADIENT)
def detached(x: Tensor, size: Pair, step: Pair) -> Tensor:
    """`detach` ran before `as_strided`. The memory is that of x, and the way back for gradients is
    gone. (`x.data` is a `detach`, too.)
    """
    return answer()(x.detach(), size, step)


@whole.variant(detached)
def _(x: Tensor, size: Pair, step: Pair) -> Tensor:
    return answer()(x.data, size, step)


@make.mistake(breaks=ONE)
def set_into_an_empty_one(x: Tensor, size: Ints, stride: Ints) -> Tensor:
    """An empty tensor was made and set onto the storage of x. The memory is that of x; torch does
    not know that it is a view, and no gradient finds its way back.
    """
    return torch.empty(0, dtype=x.dtype).set_(x.untyped_storage(), x.storage_offset(), size, stride)


# Gradients.


@whole.mistake(breaks=GRADIENT)
@torch.no_grad()
def without_a_graph(x: Tensor, size: Pair, step: Pair) -> Tensor:
    """x requires grad, and the result has no grad_fn. Perhaps `torch.no_grad()` stands around it."""
    return answer()(x, size, step)


class _LastWins(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, size: Pair, step: Pair) -> Tensor:
        ctx.shape, ctx.size, ctx.step = x.shape, size, step
        return answer()(x, size, step)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> Any:
        gradient = upstream[0].new_zeros(ctx.shape)
        rows, columns = upstream[0].shape[-4:-2]
        for i in range(rows):
            for j in range(columns):
                down, right = i * ctx.step[0], j * ctx.step[1]
                h, w = ctx.size
                gradient[..., down : down + h, right : right + w] = upstream[0][..., i, j, :, :]
        return gradient, None, None


@whole.mistake(breaks=GRADIENT)
def last_window_wins(x: Tensor, size: Pair, step: Pair) -> Tensor:
    """The gradient is wrong where windows overlap. Perhaps each window writes its own over the one
    before: they are to be added.
    """
    return _LastWins.apply(x, size, step)
