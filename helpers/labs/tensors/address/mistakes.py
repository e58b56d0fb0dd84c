"""What people write for 11.address, and why it is wrong."""

from __future__ import annotations

from functools import cache
from itertools import accumulate
from math import prod
from typing import Any

import torch
from torch import Tensor

from helpers.labs.tensors.address.exercise import BEGINS, BYTES, COMPUTED, FROM_THE_END, REFUSED, address
from helpers.labs.tensors.address.right import (
    Index,
    answer,
    by_begin,
    by_bytes,
    by_count,
    by_place,
    by_steps,
    bytes_of,
    counted,
    placed,
)

begins, sizes, steps = address.bank(by_begin), address.bank(by_bytes), address.bank(by_steps)
counts, places = address.bank(by_count), address.bank(by_place)

right = answer()


# Bytes and elements.


@sizes.mistake(breaks=BYTES)
def elements_as_bytes(t: Tensor) -> int:
    """The fourth element was looked for 3 bytes behind the first one: strides count elements. How many bytes an element has,
    `t.element_size()` tells.
    """
    return 1


@sizes.mistake(breaks=BYTES)
def eight_bytes(t: Tensor) -> int:
    """The fourth element was looked for 24 bytes behind the first one, as if each had 8. One of float32 has 4: `t.element_size()`
    tells it.
    """
    return 8


@sizes.mistake(breaks="of any dtype; perhaps a view")
def four_bytes(t: Tensor) -> int:
    """With float32 it is right, and with float64 each step is only half as long as it must be. `t.element_size()` tells how many
    bytes an element has; 4 is the number for float32.
    """
    return 4


@sizes.variant(four_bytes)
def _(t: Tensor) -> int:
    return torch.finfo(torch.get_default_dtype()).bits // 8


@sizes.mistake(breaks="of any dtype; perhaps a view")
def floating_dtypes_only(t: Tensor) -> int:
    """With a dtype that is not floating there is an error. Perhaps `torch.finfo` was asked, which knows only floating dtypes; `t.element_size()`
    knows all.
    """
    return torch.finfo(t.dtype).bits // 8


@sizes.mistake(breaks="of any dtype; perhaps a view")
def not_of_complex_ones(t: Tensor) -> int:
    """With float64 it is right, and with complex64 there is an error. Perhaps `torch.finfo` was asked for some dtypes, and
    `torch.iinfo` for all others: it knows whole numbers only. `t.element_size()` knows all.
    """
    info = torch.finfo(t.dtype) if t.dtype.is_floating_point else torch.iinfo(t.dtype)
    return info.bits // 8


@sizes.variant(not_of_complex_ones)
def _(t: Tensor) -> int:
    try:
        return torch.iinfo(t.dtype).bits // 8
    except TypeError:
        if not t.is_floating_point():
            raise
        return torch.finfo(t.dtype).bits // 8


@sizes.mistake(breaks="of any dtype; perhaps a view")
def half_of_a_complex_one(t: Tensor) -> int:
    """With float64 it is right, and with complex64 each step is only half as long as it must be: such an element is two numbers,
    and both count. `t.element_size()` has both in it.
    """
    return t.element_size() // (2 if t.is_complex() else 1)


@sizes.mistake(breaks="perhaps a view, perhaps without dimensions")
def memory_by_numel(t: Tensor) -> int:
    """With a whole tensor it is right, and where t is a part of a larger memory each step is too long. Perhaps the bytes of the
    memory were divided by the number of elements of t.
    """
    return t.untyped_storage().nbytes() // max(1, t.numel())


# Where it begins.


@begins.mistake(breaks=BEGINS)
def from_zero(t: Tensor) -> int:
    """The answer is how far the element is from the first one. An address is counted from the beginning of all memory: add
    `t.data_ptr()`.
    """
    return 0


@begins.variant(from_zero)
def _(t: Tensor) -> int:
    return t.storage_offset() * t.element_size()


@address.mistake(breaks=BYTES)
def counted_in_elements(t: Tensor, index: Index) -> int:
    """The answer for the fourth element is 3: how many elements it is from the first one. An address counts bytes, from the beginning
    of all memory: each element has `t.element_size()` of them, and the first one begins at `t.data_ptr()`.
    """
    return (right(t, index) - t.data_ptr()) // t.element_size()


@address.mistake(breaks=BYTES)
def base_times_size(t: Tensor, index: Index) -> int:
    """The answer is far from the memory of t. Perhaps `t.data_ptr()` itself was multiplied by the size of an element, too: it is in
    bytes already.
    """
    flat = sum(
        placed(at, n) * step for at, n, step in zip(counted(t, index), t.shape, t.stride(), strict=True)
    )
    return (t.data_ptr() + flat) * t.element_size()


@address.variant(base_times_size)
def _(t: Tensor, index: Index) -> int:
    return id(t) + right(t, index) - t.data_ptr()


@begins.mistake(breaks=BEGINS)
def offset_twice(t: Tensor) -> int:
    """Where t begins further on in its memory, the answer is too far by the offset once more: `t.data_ptr()` has it in it already."""
    return t.data_ptr() + t.storage_offset() * t.element_size()


@begins.mistake(breaks=BEGINS)
def offset_forgotten(t: Tensor) -> int:
    """Where t begins further on in its memory, the answer is counted from the beginning of the memory. That is what
    `t.untyped_storage().data_ptr()` tells; the first element of t is `storage_offset()` elements behind it.
    """
    return t.untyped_storage().data_ptr()


@begins.mistake(breaks=BEGINS)
def offset_in_bytes(t: Tensor) -> int:
    """Where t begins further on in its memory, the offset was counted in bytes: it counts elements, as the strides do."""
    return t.untyped_storage().data_ptr() + t.storage_offset()


@begins.mistake(breaks=BEGINS)
def offset_twice_in_bytes(t: Tensor) -> int:
    """Where t begins further on in its memory, as many bytes were added as the offset has elements. `t.data_ptr()` has all of the
    offset in it already.
    """
    return t.data_ptr() + t.storage_offset()


# Steps.


@steps.mistake(breaks="perhaps a view, perhaps without dimensions")
def row_major(t: Tensor) -> tuple[int, ...]:
    """In a contiguous tensor it is right, and in a transposed one the answer is the address of a different element. Perhaps the steps
    were computed from the size: `t.stride()` tells how far apart the elements of a view are.
    """
    return tuple(accumulate((1, *reversed(t.shape[1:])), lambda a, b: a * b))[::-1]


@steps.variant(row_major)
def _(t: Tensor) -> tuple[int, ...]:
    return tuple(prod(t.shape[d + 1 :]) for d in range(t.dim()))


@steps.mistake(breaks=BEGINS)
def column_major(t: Tensor) -> tuple[int, ...]:
    """A step in the last dimension of a contiguous tensor was as long as one in the first is to be. Perhaps indices and strides were
    paired from different ends, or the first dimension was taken for the one whose elements lie side by side: it is the last.
    """
    return t.stride()[::-1]


@steps.mistake(breaks=BEGINS)
def shape_as_steps(t: Tensor) -> tuple[int, ...]:
    """A step in the last dimension of a contiguous tensor was as long as that dimension has elements. Perhaps the size was taken for the stride:
    `t.stride()` tells how long a step is.
    """
    return tuple(t.shape)


# Without computing.


@address.mistake(breaks=COMPUTED)
def asked_of_torch(t: Tensor, index: Index) -> int:
    """The numbers are right, and an operation of torch made a tensor of t to find them, one for each index perhaps. Your function says
    where it lies by computing only.
    """
    counted(t, index)
    return t[index].data_ptr()


@address.variant(asked_of_torch)
def _(t: Tensor, index: Index) -> int:
    return t[index].data_ptr()


@address.variant(asked_of_torch)
def _(t: Tensor, index: Index) -> int:
    for at, n in zip(counted(t, index), t.shape, strict=True):
        t = t.select(0, placed(at, n))
    return t.data_ptr()


@address.variant(asked_of_torch)
def _(t: Tensor, index: Index) -> int:
    counted(t, index)
    return (
        t.detach()
        .numpy()[tuple(slice(placed(at, n), None) for at, n in zip(index, t.shape, strict=True))]
        .ctypes.data
    )


@address.mistake(breaks=COMPUTED)
def tensors_of_numbers(t: Tensor, index: Index) -> int:
    """The number is right, and operations of torch computed it from a few numbers that were made a tensor. Python's own numbers are
    enough, and much faster.
    """
    spots = [placed(at, n) for at, n in zip(counted(t, index), t.shape, strict=True)]
    steps = (torch.tensor(spots, dtype=torch.int64) * torch.tensor(t.stride(), dtype=torch.int64)).sum()
    return t.data_ptr() + int(steps) * t.element_size()


@address.mistake(breaks=BYTES)
def as_text(t: Tensor, index: Index) -> Any:
    """The address is a text. It is to be an int: one can compute with it."""
    return hex(right(t, index))


# Dimensions.


@address.mistake(breaks="perhaps a view, perhaps without dimensions")
def no_number(t: Tensor, index: Index) -> int:
    """Without dimensions, IndexError was raised for the empty index. It is the right one there: as many ints as dimensions, none.
    Perhaps it was refused, or something was looked up in an empty tuple.
    """
    if not index:
        raise IndexError("an index is needed")
    return right(t, index)


@address.variant(no_number)
def _(t: Tensor, index: Index) -> int:
    counted(t, index)
    flat = placed(index[-1], t.shape[-1]) * t.stride()[-1]
    for at, n, step in zip(index[:-1], t.shape, t.stride(), strict=False):
        flat += placed(at, n) * step
    return t.data_ptr() + flat * bytes_of(t)


KEPT: dict[tuple[Tensor, Index], int] = {}


@address.mistake(breaks=BEGINS)
def kept_by_tensor(t: Tensor, index: Index) -> int:
    """A tensor was transposed in place, and the answer is still what it was before. Perhaps answers are kept: the strides of a tensor
    can change, and its offset and memory, too.
    """
    if (t, index) not in KEPT:
        KEPT[t, index] = right(t, index)
    return KEPT[t, index]


@address.variant(kept_by_tensor)
@cache
def _(t: Tensor, index: Index) -> int:
    return right(t, index)


@address.mistake(breaks="perhaps a view, perhaps without dimensions")
def three_dimensions(t: Tensor, index: Index) -> int:
    """With a number of dimensions other than three there is an error. It is to be a loop over all that there are, perhaps none."""
    i, j, k = index
    a, b, c = t.stride()
    first, second, third = t.shape
    return (
        t.data_ptr()
        + (placed(i, first) * a + placed(j, second) * b + placed(k, third) * c) * t.element_size()
    )


# From the end, and out of range.


@places.mistake(breaks=FROM_THE_END)
def negative_not_counted(at: int, n: int) -> int:
    """A negative int led to a place before the others. It counts from the end of its dimension: add the size to it."""
    if not -n <= at < n:
        raise IndexError
    return at


@places.mistake(breaks=FROM_THE_END)
def negative_refused(at: int, n: int) -> int:
    """IndexError was raised for -1, and it is the last element of its dimension. From -size on negative ints are in range."""
    if not 0 <= at < n:
        raise IndexError
    return at


@places.mistake(breaks=FROM_THE_END)
def minus_one_is_the_last_but_one(at: int, n: int) -> int:
    """-1 led to the last element but one. The last one is at `size - 1`, and -1 is to be that one: add the size, and nothing else."""
    if not -n <= at < n:
        raise IndexError
    return at if at >= 0 else at + max(n, 2) - 1


@address.mistake(breaks=FROM_THE_END)
def from_the_end_of_all(t: Tensor, index: Index) -> int:
    """-1 in one dimension led to the end of the whole tensor, or before it. Each int counts from the end of its own dimension."""
    for at, n in zip(counted(t, index), t.shape, strict=True):
        placed(at, n)
    flat = sum(at * step for at, step in zip(index, t.stride(), strict=True))
    return t.data_ptr() + (flat if flat >= 0 else flat + t.numel()) * t.element_size()


@places.mistake(breaks=FROM_THE_END)
def first_is_out_of_range(at: int, n: int) -> int:
    """-size was refused. It is the first element of its dimension, and in range; -size - 1 is not."""
    if not -n < at < n:
        raise IndexError
    return at % n


@places.mistake(breaks=REFUSED)
def one_past_the_end(at: int, n: int) -> int:
    """An int as large as the size of its dimension was taken: the last one is size - 1. Perhaps `<=` stands where `<` should."""
    if not -n <= at <= n:
        raise IndexError
    return at if at >= 0 else at + n


@places.mistake(breaks=REFUSED)
def one_before_the_first(at: int, n: int) -> int:
    """A negative int that reaches back one element beyond the first was taken. The limit is -size, which is in range."""
    if not -n - 1 <= at < n:
        raise IndexError
    return at if at >= 0 else at + n


@places.mistake(breaks=REFUSED)
def no_lower_limit(at: int, n: int) -> int:
    """An int that is too large is refused, and a negative one that reaches back beyond the first element is not. From -size on it is
    in range.
    """
    if at >= n:
        raise IndexError
    return at if at >= 0 else at + n


@places.variant(no_lower_limit)
def _(at: int, n: int) -> int:
    if at >= n:
        raise IndexError
    return at % n if n else 0


@places.mistake(breaks=REFUSED)
def no_limits(at: int, n: int) -> int:
    """Nothing is raised for an int that is too large. Perhaps no limit is looked at. Such an address belongs to a different element, or
    lies outside of the memory.
    """
    return at if at >= 0 else at + n


@places.variant(no_limits)
def _(at: int, n: int) -> int:
    return at % n if n else 0


@places.mistake(breaks=REFUSED)
def asserted(at: int, n: int) -> int:
    """An int that is out of range raised AssertionError. It is to be IndexError; and an `assert` is gone where Python runs with -O."""
    assert -n <= at < n
    return at % n


@places.mistake(breaks=REFUSED)
def value_error(at: int, n: int) -> int:
    """An int that is out of range raised ValueError. Asked is IndexError, as indexing a list or a tensor raises it."""
    if not -n <= at < n:
        raise ValueError
    return at % n


@places.mistake(breaks=REFUSED)
def nothing_in_an_empty_one(at: int, n: int) -> int:
    """In a dimension without elements there is no IndexError, but a different error. Perhaps a remainder was taken, and the size is 0."""
    at_front = at % n
    if not -n <= at < n:
        raise IndexError
    return at_front


@address.mistake(breaks=REFUSED)
def limit_of_the_memory(t: Tensor, index: Index) -> int:
    """An int was taken that is too large for its dimension, since there is memory of t at that place: of a different element. Each
    dimension has its own limit.
    """
    spots = [at if at >= 0 else at + n for at, n in zip(counted(t, index), t.shape, strict=True)]
    flat = sum(at * step for at, step in zip(spots, t.stride(), strict=True))
    if not 0 <= flat + t.storage_offset() < t.untyped_storage().nbytes() // t.element_size():
        raise IndexError
    return t.data_ptr() + flat * t.element_size()


@counts.mistake(breaks=REFUSED)
def too_few_taken(t: Tensor, index: Index) -> Index:
    """Fewer ints than t has dimensions were taken, as if the missing ones were 0. `t[index]` takes them, too, but for a whole row; an
    element has one int for each dimension.
    """
    if len(index) > t.dim():
        raise IndexError
    return index


@counts.mistake(breaks=REFUSED)
def empty_index_taken(t: Tensor, index: Index) -> Index:
    """An empty index was taken for a tensor of three dimensions, and one or two ints were not. Perhaps it is taken for the first
    element: only a tensor without dimensions has an element with no ints.
    """
    return counted(t, index) if index else index


@counts.mistake(breaks=REFUSED)
def too_many_taken(t: Tensor, index: Index) -> Index:
    """More ints than t has dimensions were taken, and perhaps some not looked at."""
    if len(index) < t.dim():
        raise IndexError
    return index


@counts.mistake(breaks=REFUSED)
def count_by_zip(t: Tensor, index: Index) -> Index:
    """ValueError was raised where there is not one int for each dimension. Perhaps it comes from `zip(..., strict=True)`. Asked is
    IndexError.
    """
    if len(index) != t.dim():
        raise ValueError("zip() argument 2 is longer than argument 1")
    return index


@counts.mistake(breaks=REFUSED)
def count_asserted(t: Tensor, index: Index) -> Index:
    """AssertionError was raised where there is not one int for each dimension. Asked is IndexError; and an `assert` is gone where
    Python runs with -O.
    """
    assert len(index) == t.dim()
    return index


@counts.variant(count_by_zip)
def _(t: Tensor, index: Index) -> Index:
    return tuple(at for at, _ in zip(index, t.shape, strict=True))


@counts.mistake(breaks=REFUSED)
def any_count(t: Tensor, index: Index) -> Index:
    """Not one int for each dimension, and nothing was raised: too few were taken, and too many as well. `zip` alone ends with the
    shortest, without a word.
    """
    return index
