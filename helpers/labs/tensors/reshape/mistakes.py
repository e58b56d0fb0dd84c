"""What people write for 11.reshape, and why it is wrong."""

from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np
import torch
from torch import Tensor

from helpers.labs.tensors.reshape.exercise import (
    COPY,
    ERROR,
    EXACT,
    GRADIENT,
    OWN,
    STAYS,
    VALUES,
    VIEW,
    reshape,
)
from helpers.labs.tensors.reshape.right import Shape, answer, by_copy, by_possible, by_view, copied, has_view

whole = reshape.bank()
possible = reshape.bank(by_possible)
view = reshape.bank(by_view)
copy = reshape.bank(by_copy)


def inferred(t: Tensor, shape: Shape) -> Shape:
    """The shape without -1; RuntimeError where it is wrong."""
    return tuple(torch.empty(t.shape, device="meta").view(shape).shape)


# Shape and values.


@whole.mistake(breaks=VALUES)
def view_only(t: Tensor, shape: Shape) -> Tensor:
    """Where there is no view, the error of `view` came out. There a copy is asked for."""
    return t.view(shape)


@whole.mistake(breaks=VALUES)
def cloned_with_its_layout(t: Tensor, shape: Shape) -> Tensor:
    """Where there is no view of t, `view` raised again after a copy was made. Perhaps the copy is
    a `clone()`: of a transposed tensor it has the transposed layout, too.
    """
    return answer(copy=lambda t, shape: t.clone().view(shape))(t, shape)


@whole.mistake(breaks=VALUES)
def minus_one_as_a_size(t: Tensor, shape: Shape) -> Tensor:
    """A -1 in the shape was refused. It stands for the size that makes the numbers of elements
    equal.
    """
    if prod(shape) != t.numel():
        raise RuntimeError(f"shape {shape} is invalid for {t.numel()} elements")
    return answer()(t, shape)


@whole.mistake(breaks=ERROR)
def minus_one_divides_by_zero(t: Tensor, shape: Shape) -> Tensor:
    """A shape with a 0 and a -1 in it gave ZeroDivisionError. Perhaps the -1 is found by dividing
    by the other sizes, and one of them is 0.
    """
    if -1 in shape:
        rest = prod(n for n in shape if n != -1)
        if t.numel() % rest:
            raise RuntimeError("no such size")
        shape = tuple(t.numel() // rest if n == -1 else n for n in shape)
    return answer()(t, shape)


@whole.variant(minus_one_divides_by_zero)
def _(t: Tensor, shape: Shape) -> Tensor:
    if -1 in shape:
        found = t.numel() // -prod(shape)
        shape = tuple(found if n == -1 else n for n in shape)
    return answer()(t, shape)


@whole.mistake(breaks=VALUES)
def empty_refused(t: Tensor, shape: Shape) -> Tensor:
    """A tensor without elements was refused. It has shapes as any other: all those with a 0."""
    if not t.numel():
        raise RuntimeError("nothing to reshape")
    return answer()(t, shape)


@whole.mistake(breaks=VALUES)
def empty_made_of_the_shape(t: Tensor, shape: Shape) -> Tensor:
    """A -1 was refused where t has no elements. Perhaps a new tensor is made of the shape as it
    stands: what -1 stands for is to be found here, too, and there is a view.
    """
    return t.new_empty(shape) if t.numel() == 0 else answer()(t, shape)


@whole.mistake(breaks=VIEW)
def empty_made_anew(t: Tensor, shape: Shape) -> Tensor:
    """A tensor without elements has got a new tensor as its result. There is a view, as of every
    contiguous one.
    """
    return t.new_empty(inferred(t, shape)) if t.numel() == 0 else answer()(t, shape)


@whole.mistake(breaks=VALUES)
def minus_one_only_where_it_counts(t: Tensor, shape: Shape) -> Tensor:
    """A -1 that stands for 1 was refused. It may stand for any size that fits, for 1, too."""
    if -1 in shape and prod(n for n in shape if n != -1) == t.numel():
        raise RuntimeError("nothing is left for -1")
    return answer()(t, shape)


@copy.mistake(breaks=VALUES)
def in_the_order_of_memory(t: Tensor, shape: Shape) -> Tensor:
    """The values are in the order in which they lie in memory. They are to come in the order of
    their indices: the last index runs fastest.
    """
    order = sorted(range(t.dim()), key=lambda d: -t.stride(d))
    return t.permute(order).contiguous().view(shape)


@whole.mistake(breaks=VALUES)
def strides_of_a_contiguous_one(t: Tensor, shape: Shape) -> Tensor:
    """The strides of a contiguous tensor were put onto the memory of t. Of a transposed t the
    values are in the order of memory, and of a slice they are partly its neighbours'.
    """
    shape = inferred(t, shape)
    return t.as_strided(shape, torch.empty(shape, device="meta").stride())


@whole.mistake(breaks=VALUES)
def from_the_start_of_the_storage(t: Tensor, shape: Shape) -> Tensor:
    """Views begin at the start of the storage, and not where t begins."""
    shape = inferred(t, shape)
    if not has_view(t, shape):
        return copied(t, shape)
    return t.as_strided(shape, t.detach().view(shape).stride(), 0)


@copy.variant(in_the_order_of_memory)
def _(t: Tensor, shape: Shape) -> Tensor:
    expected = 1
    for step, n in sorted((step, n) for step, n in zip(t.stride(), t.shape, strict=True) if n > 1):
        if step != expected:
            return copied(t, shape)
        expected *= n
    return t.as_strided((t.numel(),), (1,)).view(shape)


@copy.mistake(breaks=VALUES)
def permuted_instead(t: Tensor, shape: Shape) -> Tensor:
    """Where there is no view, the dimensions were turned round before the copy. The shape is
    right, and the values are in a different order.
    """
    return t.permute(*reversed(range(t.dim()))).contiguous().view(shape)


@copy.mistake(breaks=VALUES)
def storage_copied_whole(t: Tensor, shape: Shape) -> Tensor:
    """Where there is no view, the memory was copied as it lies, with all that is in it, and not
    the elements by their indices.
    """
    flat = torch.empty(0, dtype=t.dtype).set_(t.detach().untyped_storage().clone())
    shape = inferred(t, shape)
    return flat.as_strided(shape, torch.empty(shape, device="meta").stride())


@copy.mistake(breaks=VALUES)
def through_numpy(t: Tensor, shape: Shape) -> Tensor:
    """A copy of bfloat16 raised TypeError: NumPy has no such dtype. Perhaps the copy is made by
    NumPy; its arrays have no gradients either.
    """
    return torch.from_numpy(np.ascontiguousarray(t.detach().numpy())).view(shape)


@copy.variant(through_numpy)
def _(t: Tensor, shape: Shape) -> Tensor:
    return torch.from_numpy(t.detach().numpy().reshape(shape))


@copy.variant(through_numpy)
def _(t: Tensor, shape: Shape) -> Tensor:
    return torch.from_numpy(t.detach().numpy().copy(order="C")).view(shape)


@copy.mistake(breaks=VALUES)
def through_a_list(t: Tensor, shape: Shape) -> Tensor:
    """A copy of float64 came back as float32. Perhaps its elements went through Python:
    `torch.tensor` makes the default dtype of floats.
    """
    return torch.tensor(t.tolist()).view(shape)


@copy.mistake(breaks=VALUES)
def dtype_forgotten(t: Tensor, shape: Shape) -> Tensor:
    """A copy of int64 came back as float32. Perhaps it was written into a tensor that was made
    without `dtype=`: `torch.empty(t.shape)` has the default dtype.
    """
    return torch.empty(t.shape).copy_(t).view(shape)


@copy.variant(dtype_forgotten)
def _(t: Tensor, shape: Shape) -> Tensor:
    return torch.zeros(inferred(t, shape)).view(t.shape).copy_(t).view(shape)


# A view, where there is one.


@whole.mistake(breaks=VIEW)
def always_copies(t: Tensor, shape: Shape) -> Tensor:
    """A contiguous tensor was copied. There is a view of it in each shape with as many elements."""
    return t.clone(memory_format=torch.contiguous_format).view(shape)


@whole.variant(always_copies)
def _(t: Tensor, shape: Shape) -> Tensor:
    return torch.empty(t.shape, dtype=t.dtype).copy_(t).view(shape)


@possible.mistake(breaks=VIEW)
def view_of_contiguous_only(t: Tensor, shape: Shape) -> bool:
    """A tensor that is not contiguous was copied, though there is a view. `is_contiguous()` is not
    the question: rows of every second column, cut further, are a view.
    """
    return t.is_contiguous()


@whole.variant(view_of_contiguous_only)
def _(t: Tensor, shape: Shape) -> Tensor:
    return t.contiguous().view(shape)


@possible.mistake(breaks=VIEW)
def expanded_is_copied(t: Tensor, shape: Shape) -> bool:
    """Of an expanded tensor a copy was made, though there is a view. A stride of 0 is a stride
    like others.
    """
    return has_view(t, shape) and not any(
        step == 0 and n > 1 for step, n in zip(t.stride(), t.shape, strict=True)
    )


@possible.mistake(breaks=VIEW)
def permuted_is_copied(t: Tensor, shape: Shape) -> bool:
    """Of a tensor whose strides do not fall from left to right a copy was made, though there is a
    view. It is the dimensions that are joined which must follow each other; the others may lie as
    they like.
    """
    steps = [step for step, n in zip(t.stride(), t.shape, strict=True) if n > 1]
    return has_view(t, shape) and steps == sorted(steps, reverse=True)


@possible.mistake(breaks=VIEW)
def view_where_dimensions_stay(t: Tensor, shape: Shape) -> bool:
    """Of every second column in one long row a copy was made, though there is a view. Rows with
    gaps can be joined, if the gaps are all alike.
    """
    return t.is_contiguous() or has_view(t, shape) and len(inferred(t, shape)) >= t.dim()


@whole.mistake(breaks=VIEW)
def copied_in_case(t: Tensor, shape: Shape) -> Tensor:
    """The result is a view, and a copy of t was made on the way, for nothing. Perhaps it was made
    before it was known whether it is needed.
    """
    dense = t.clone(memory_format=torch.contiguous_format)
    return t.view(shape) if has_view(t, shape) else dense.view(shape)


@whole.mistake(breaks=VIEW)
def through_a_new_tensor(t: Tensor, shape: Shape) -> Tensor:
    """To find out whether there is a view, a tensor was made as large as t. Size and stride are
    enough: `view_strides` needs no tensor.
    """
    try:
        torch.empty_strided(t.shape, t.stride(), dtype=t.dtype).view(shape)
    except RuntimeError:
        return copied(t, shape)
    return t.view(shape)


# A copy, where there is none.


@whole.mistake(breaks=COPY)
def put_back_with_its_strides(t: Tensor, shape: Shape) -> Tensor:
    """The copy is not contiguous. Perhaps it was filled in a layout like that of t."""
    if has_view(t, shape):
        return t.view(shape)
    shape = inferred(t, shape)
    backwards = torch.empty(shape[::-1], dtype=t.dtype).permute(*reversed(range(len(shape))))
    return backwards.copy_(t.contiguous().view(shape))


@copy.mistake(breaks=EXACT)
def a_part_of_a_larger_memory(t: Tensor, shape: Shape) -> Tensor:
    """The copy stands in a memory that is larger than it. Perhaps the whole memory of t was
    copied, or room was left.
    """
    room = torch.empty(t.numel() + t.untyped_storage().nbytes() // t.element_size(), dtype=t.dtype)
    return room[: t.numel()].view(t.shape).copy_(t).view(shape)


@copy.mistake(breaks=EXACT)
def copied_twice(t: Tensor, shape: Shape) -> Tensor:
    """Two copies were made, and one of them is thrown away. Perhaps both `clone()` and
    `contiguous()` are called: one of them is enough, and `clone()` asks for a memory format then.
    """
    return t.clone().clone(memory_format=torch.contiguous_format).view(shape)


@copy.variant(copied_twice)
def _(t: Tensor, shape: Shape) -> Tensor:
    return t.contiguous().clone().view(shape)


@copy.mistake(breaks=EXACT)
def gathered_by_indices(t: Tensor, shape: Shape) -> Tensor:
    """The elements were gathered by a list of indices, which is a memory of its own, larger than
    the copy.
    """
    return torch.take(t, torch.arange(t.numel())).view(shape)


@copy.mistake(breaks=EXACT)
def element_by_element(t: Tensor, shape: Shape) -> Tensor:
    """A memory was made for each part of t, and one more to put them together."""
    parts: list[Tensor] = [t]
    for _ in range(t.dim()):
        parts = [part for each in parts for part in each.unbind()]
    return torch.cat([part.clone().view(1) for part in parts]).view(shape)


# Errors.


@whole.mistake(breaks=ERROR)
def value_error(t: Tensor, shape: Shape) -> Tensor:
    """ValueError was raised where the number of elements is wrong. It is an error that others
    would expect; torch raises RuntimeError.
    """
    try:
        return answer()(t, shape)
    except RuntimeError as error:
        raise ValueError(str(error)) from None


@whole.variant(value_error)
def _(t: Tensor, shape: Shape) -> Tensor:
    if -1 not in shape and prod(shape) != t.numel():
        raise ValueError(f"{t.numel()} elements in the shape {shape}")
    return answer()(t, shape)


@whole.mistake(breaks=ERROR)
def asserted(t: Tensor, shape: Shape) -> Tensor:
    """AssertionError was raised for a wrong number of elements, and RuntimeError is asked for."""
    assert shape.count(-1) or prod(shape) == t.numel()
    return answer()(t, shape)


@whole.mistake(breaks=ERROR)
def wrong_count_cut(t: Tensor, shape: Shape) -> Tensor:
    """A shape with fewer elements than t raised nothing: the rest was left out. Perhaps every
    error of `view` is taken for "no view".
    """
    if -1 in shape or has_view(t, shape) or prod(shape) > t.numel():
        return answer()(t, shape)
    steps = torch.empty(shape, device="meta").stride()
    return t.contiguous().as_strided(shape, steps)


@whole.mistake(breaks=ERROR)
def any_number_of_elements_for_no_dimensions(t: Tensor, shape: Shape) -> Tensor:
    """The shape () raised nothing for more than one element. Perhaps `squeeze()` is called for it:
    that takes out the dimensions of size 1, and leaves the others.
    """
    return t.squeeze() if shape == () else answer()(t, shape)


@whole.mistake(breaks=ERROR)
def resized(t: Tensor, shape: Shape) -> Tensor:
    """A shape with more or fewer elements than t raised nothing: the copy was resized, and what is
    new in it holds anything.
    """
    try:
        return answer()(t, shape)
    except RuntimeError:
        if -1 in shape:
            raise
        return t.detach().clone(memory_format=torch.contiguous_format).resize_(shape)


@whole.mistake(breaks=ERROR)
def none_for_wrong_shapes(t: Tensor, shape: Shape) -> Tensor | None:
    """For a wrong shape None came back, and nothing was raised."""
    try:
        return answer()(t, shape)
    except RuntimeError:
        return None


@whole.mistake(breaks=ERROR)
def t_for_wrong_shapes(t: Tensor, shape: Shape) -> Tensor:
    """For a wrong shape t itself came back, and nothing was raised. Perhaps the error was caught
    and forgotten.
    """
    try:
        return answer()(t, shape)
    except RuntimeError:
        return t


@whole.mistake(breaks=ERROR)
def every_minus_one_is_the_rest(t: Tensor, shape: Shape) -> Tensor:
    """Two -1 raised nothing where one of them can be 1. torch refuses two of them, whatever fits."""
    if shape.count(-1) > 1:
        at = shape.index(-1)
        shape = tuple(1 if n == -1 and place != at else n for place, n in enumerate(shape))
    return answer()(t, shape)


@whole.mistake(breaks=ERROR)
def minus_one_of_nothing_is_zero(t: Tensor, shape: Shape) -> Tensor:
    """A -1 beside a 0 raised nothing in a tensor without elements. Any size would fit there, and
    torch does not choose one.
    """
    if shape.count(-1) == 1 and 0 in shape and t.numel() == 0:
        shape = tuple(0 if n == -1 else n for n in shape)
    return answer()(t, shape)


@whole.mistake(breaks=ERROR)
def rounded_minus_one(t: Tensor, shape: Shape) -> Tensor:
    """Nothing was raised for a -1 that no size fits: what is left over in the division was
    dropped.
    """
    if shape.count(-1) == 1 and (rest := prod(n for n in shape if n != -1)):
        shape = tuple(t.numel() // rest if n == -1 else n for n in shape)
        if prod(shape) != t.numel():
            return t.contiguous().view(-1)[: prod(shape)].view(shape)
    return answer()(t, shape)


# t stays.


@whole.mistake(breaks=STAYS)
def transposed_in_place(t: Tensor, shape: Shape) -> Tensor:
    """t has other strides afterwards. Perhaps an operation with an underscore at its end was
    called on t: `t_()` and `transpose_()` change t itself, not a view of it.
    """
    made = answer()(t, shape)
    if t.dim() == 2 and not t.requires_grad:
        t.t_()
    return made


@whole.mistake(breaks=STAYS)
def squeezed_in_place(t: Tensor, shape: Shape) -> Tensor:
    """t has lost its dimensions of size 1. `squeeze_()` changes t itself; `squeeze()` makes a
    view.
    """
    made = answer()(t, shape)
    if not t.requires_grad:
        t.squeeze_()
    return made


@whole.mistake(breaks=STAYS)
def made_contiguous(t: Tensor, shape: Shape) -> Tensor:
    """Where a copy was needed, t has a new memory, too. Perhaps the copy was given to `t.data`:
    then t no longer shares what it shared.
    """
    if not has_view(t, shape):
        t.data = t.detach().contiguous()
    return t.view(shape)


@whole.mistake(breaks=STAYS)
def reshaped_in_place(t: Tensor, shape: Shape) -> Tensor:
    """t has the new shape itself. Perhaps `t.data = ...` or `as_strided_` was meant for the
    result.
    """
    made = answer()(t, shape)
    if has_view(t, shape):
        t.data = t.data.view(shape)
    return made


@whole.mistake(breaks=STAYS)
def grad_turned_off(t: Tensor, shape: Shape) -> Tensor:
    """t does not require grad any more. `detach()` gives a tensor without a graph;
    `requires_grad_(False)` and `detach_()` change t.
    """
    made = answer()(t, shape)
    if t.is_leaf:
        t.requires_grad_(False)
    return made


# Gradients.


@whole.mistake(breaks=GRADIENT)
def detached(t: Tensor, shape: Shape) -> Tensor:
    """The result has no grad_fn: nothing goes back to t, be it a view or a copy. Perhaps
    `detach()`, `.data` or `torch.no_grad()` stands in the way.
    """
    return answer()(t.detach(), shape)


@whole.variant(detached)
def _(t: Tensor, shape: Shape) -> Tensor:
    with torch.no_grad():
        return answer()(t, shape)


@copy.mistake(breaks=GRADIENT)
def copy_detached(t: Tensor, shape: Shape) -> Tensor:
    """Views have a grad_fn, and copies have none. A copy is an operation as well, and its gradient
    goes back to what was copied.
    """
    return torch.empty(t.shape, dtype=t.dtype).copy_(t.detach()).view(shape)


@copy.variant(copy_detached)
def _(t: Tensor, shape: Shape) -> Tensor:
    with torch.no_grad():
        return t.contiguous().view(shape)


@view.mistake(breaks=GRADIENT)
def view_detached(t: Tensor, shape: Shape) -> Tensor:
    """Views have no grad_fn, and copies have one."""
    return t.data.view(shape)


# torch's own.


@whole.mistake(breaks=OWN)
def torchs_own(t: Tensor, shape: Shape) -> Tensor:
    """torch's own `reshape` was called. It is right, and it is what this exercise builds."""
    return t.reshape(shape)


@whole.variant(torchs_own)
def _(t: Tensor, shape: Shape) -> Tensor:
    return torch.reshape(t, shape)


@whole.variant(torchs_own)
def _(t: Tensor, shape: Shape) -> Tensor:
    return torch.ops.aten.reshape.default(t, shape)


@copy.mistake(breaks=OWN)
def flattened(t: Tensor, shape: Shape) -> Tensor:
    """torch's own `flatten` was called to make the copy. It looks for a view and copies where
    there is none: this exercise.
    """
    return t.flatten().view(shape)


@copy.mistake(breaks=OWN)
def raveled(t: Tensor, shape: Shape) -> Tensor:
    """torch's own `ravel` was called to make the copy. It is a `reshape(-1)`."""
    return torch.ravel(t).view(shape)


@whole.mistake(breaks=OWN)
def reshaped_as(t: Tensor, shape: Shape) -> Tensor:
    """torch's own `reshape_as` was called. It is `reshape`, with the shape of a different tensor."""
    return t.reshape_as(torch.empty(inferred(t, shape), device="meta"))


# What is kept.


@lru_cache(maxsize=4)
def _kept(t: Tensor, shape: Shape) -> Tensor:
    return answer()(t, shape)


@whole.mistake(breaks=VALUES)
def kept_by_the_tensor(t: Tensor, shape: Shape) -> Tensor:
    """The result is that of an earlier call with the same tensor, which has changed since. Perhaps results are kept, by `lru_cache`
    or in a dict: then two calls give one copy, too.
    """
    return _kept(t, tuple(shape))
