"""What people write for 11.output_strides, and why it is wrong."""

from __future__ import annotations

from functools import reduce
from math import prod

import torch
from torch import Tensor
from torch._prims_common import (
    compute_elementwise_output_logical_to_physical_perm,
    compute_elementwise_output_strides,
)
from torch._subclasses.fake_tensor import FakeTensorMode

from helpers.labs.tensors.output_strides.exercise import (
    DENSE,
    FIRST,
    FOLLOW,
    MEMORY,
    NONE,
    ONE,
    OWN,
    SHAPE,
    TUPLE,
    output_strides,
)
from helpers.labs.tensors.output_strides.right import (
    Ints,
    Strides,
    answer,
    broadcast,
    by_order,
    by_pack,
    by_spread,
    ordered,
    packed,
)

whole = output_strides.bank()
order = output_strides.bank(by_order)
spread = output_strides.bank(by_spread)
pack = output_strides.bank(by_pack)


def row_major(size: Ints) -> Ints:
    return packed(size, list(range(len(size)))[::-1])


def by_key(size: Ints, key: object) -> Ints:
    """The dimensions sorted by a key, of equal ones the last in the shape first."""
    dims = [d for d in reversed(range(len(size))) if size[d] > 1]
    return packed(size, sorted(dims, key=key))  # type: ignore[arg-type]


# What comes back.


@whole.mistake(breaks=TUPLE)
def as_a_list(*tensors: Tensor) -> object:
    """A list came back, and a tuple is asked for."""
    return list(answer()(*tensors))


@whole.mistake(breaks=TUPLE)
def in_bytes(*tensors: Tensor) -> Ints:
    """The strides are counted in bytes. torch counts elements; NumPy counts bytes."""
    return tuple(step * tensors[0].element_size() for step in answer()(*tensors))


@whole.mistake(breaks=TUPLE)
def number_refused(*tensors: Tensor) -> Ints:
    """An error came for a tensor without dimensions. Its result has no dimensions either, and so
    the empty tuple as its strides.
    """
    size, strides = broadcast(tensors)
    dims = [d for d, n in enumerate(size)]
    rank = {d: sum(ordered(strides, d, e) < 0 for e in dims) for d in dims}
    inner_first = sorted(dims, key=lambda d: -rank[d])
    found = [0] * len(size)
    found[inner_first[0]] = 1
    for inner, outer in zip(inner_first, inner_first[1:], strict=False):
        found[outer] = found[inner] * size[inner]
    return tuple(found)


@whole.variant(number_refused)
def _(*tensors: Tensor) -> Ints:
    assert max(max(t.shape) for t in tensors if t.dim() or len(tensors) < 2) >= 0
    return answer()(*tensors)


@pack.mistake(breaks=FOLLOW)
def outermost_first(size: Ints, inner_first: list[int]) -> Ints:
    """The stride 1 is at the outermost dimension: the running product began at the wrong end."""
    return packed(size, inner_first[::-1])


@pack.mistake(breaks=FOLLOW)
def product_too_early(size: Ints, inner_first: list[int]) -> Ints:
    """Each stride has the size of its own dimension in it, and even the innermost is not 1. The
    product is that of the dimensions further inside.
    """
    found, step = [1] * len(size), 1
    for d in inner_first:
        step *= size[d]
        found[d] = step
    return tuple(found)


@pack.mistake(breaks=FOLLOW)
def in_the_order_of_memory(size: Ints, inner_first: list[int]) -> Ints:
    """The strides are right, and stand in the order of memory, the largest first. They are to
    stand in the order of the shape.
    """
    return tuple(sorted(packed(size, inner_first), reverse=True))


@pack.mistake(breaks=FOLLOW)
def permuted_back(size: Ints, inner_first: list[int]) -> Ints:
    """Of three dimensions or more some strides are at the wrong dimension. Perhaps a permutation
    was taken for its inverse: the d-th place in the order, and the place of d in the order, are
    two things.
    """
    if len(inner_first) < len(size):
        return packed(size, inner_first)
    outer_first = inner_first[::-1]
    dense = row_major(tuple(size[d] for d in outer_first))
    return tuple(dense[d] for d in outer_first)


@whole.mistake(breaks=FOLLOW)
def row_major_always(*tensors: Tensor) -> Ints:
    """A permuted tensor gave contiguous strides. That is what `contiguous()` gives; an elementwise
    operation keeps the order.
    """
    return row_major(broadcast(tensors)[0])


@whole.variant(row_major_always)
def _(*tensors: Tensor) -> Ints:
    return torch.empty(broadcast(tensors)[0], device="meta").stride()


# Dense.


@whole.mistake(breaks=DENSE)
def gaps_kept(*tensors: Tensor) -> Ints:
    """The strides of a tensor with gaps were given to the result. It has a new memory, of just its
    elements.
    """
    size, strides = broadcast(tensors)
    for t, each in zip(tensors, strides, strict=True):
        if t.shape == torch.Size(size) and 0 not in each:
            return t.stride()
    return answer()(*tensors)


@whole.mistake(breaks=DENSE)
def contiguous_where_there_are_gaps(*tensors: Tensor) -> Ints:
    """A tensor with gaps gave contiguous strides, though it is permuted. Its order stays all the
    same: it is `clone()` that asks whether a tensor is dense.
    """
    size, strides = broadcast(tensors)
    if packed(size, _inner_first(size, strides)) != strides[0] and tensors[0].shape == torch.Size(size):
        return row_major(size)
    return answer()(*tensors)


def _inner_first(size: Ints, strides: Strides) -> list[int]:
    return sorted((d for d, n in enumerate(size) if n > 1), key=lambda d: strides[0][d])


# Who decides.


@whole.mistake(breaks=FIRST)
def last_decides(*tensors: Tensor) -> Ints:
    """Of tensors that differ the last decided. The first does."""
    return answer()(*tensors[::-1])


@whole.mistake(breaks=FIRST)
def contiguous_wins(*tensors: Tensor) -> Ints:
    """Where one of the tensors is contiguous the result was, too. It is not the order of the shape
    that wins, but the first tensor.
    """
    size, _ = broadcast(tensors)
    if any(t.shape == torch.Size(size) and t.is_contiguous() for t in tensors):
        return row_major(size)
    return answer()(*tensors)


@whole.mistake(breaks=FIRST)
def contiguous_where_they_differ(*tensors: Tensor) -> Ints:
    """Tensors that differ in their order gave contiguous strides. The first decides, and the
    others do not matter then.
    """
    size, _ = broadcast(tensors)
    each = {answer()(t) for t in tensors if t.shape == torch.Size(size)}
    return row_major(size) if len(each) > 1 else answer()(*tensors)


@whole.mistake(breaks=FIRST)
def larger_strides_win(*tensors: Tensor) -> Ints:
    """Where the tensors differ, the order is not that of the first one. It decides, however small its strides are. Perhaps strides
    of different tensors were added up, or the largest was taken; or all were asked, and none counted where they differ.
    """
    size, strides = broadcast(tensors)
    return by_key(size, lambda d: sum(each[d] for each in strides))


@whole.variant(larger_strides_win)
def _(*tensors: Tensor) -> Ints:
    size, strides = broadcast(tensors)
    return by_key(size, lambda d: max(each[d] for each in strides))


@whole.mistake(breaks=FIRST)
def first_alone(*tensors: Tensor) -> Ints:
    """Only the first tensor was asked: where it is broadcast, and says nothing, the next one has
    to be.
    """
    size, strides = broadcast(tensors)
    return answer(spread=lambda _: (size, strides[:1]))(*tensors)


@whole.mistake(breaks=FIRST)
def first_of_the_full_shape(*tensors: Tensor) -> Ints:
    """One tensor, the first of the full shape, was asked about all dimensions. One that is
    broadcast decides, too, on the dimensions that it has.
    """
    size, strides = broadcast(tensors)
    full = [each for t, each in zip(tensors, strides, strict=True) if t.shape == torch.Size(size)]
    return answer(spread=lambda _: (size, (full or strides)[:1]))(*tensors)


@whole.mistake(breaks=FIRST)
def broadcast_left_out(*tensors: Tensor) -> Ints:
    """A tensor that is broadcast was not asked, or not in its turn. It says nothing about the
    dimensions in which its stride is 0, and decides on the others as any tensor does.
    """
    size, strides = broadcast(tensors)
    return answer(spread=lambda _: (size, [each for each in strides if 0 not in each]))(*tensors)


@whole.variant(broadcast_left_out)
def _(*tensors: Tensor) -> Ints:
    size, strides = broadcast(tensors)
    full = [each for t, each in zip(tensors, strides, strict=True) if t.shape == torch.Size(size)]
    return answer(spread=lambda _: (size, full))(*tensors)


@whole.mistake(breaks=FIRST)
def one_stride_each(*tensors: Tensor) -> Ints:
    """Strides of different tensors were compared. Perhaps each dimension has got one stride, of
    the first tensor that has one there, and the dimensions were sorted by these: it is within one
    tensor that two strides say what is outside.
    """
    size, strides = broadcast(tensors)
    return by_key(size, lambda d: next((each[d] for each in strides if each[d]), 0))


@whole.mistake(breaks=FIRST)
def first_made_dense(*tensors: Tensor) -> Ints:
    """The first tensor decided on a dimension in which its stride is 0. Perhaps its result was
    found alone, and then that of it and the next: a result has strides of its own, where the
    tensor had 0.
    """
    held = answer()(tensors[0])
    size: Ints = tuple(tensors[0].shape)
    for t in tensors[1:]:
        first = _as(t, size, held)
        size, held = broadcast((first, t))[0], answer()(first, t)
    return held


@whole.variant(first_made_dense)
def _(*tensors: Tensor) -> Ints:
    return reduce(torch.add, tensors[1:], tensors[0] + 0).stride()


@whole.variant(first_made_dense)
def _(*tensors: Tensor) -> Ints:
    size, _ = broadcast(tensors)
    first = tensors[0].expand(size)
    return answer()(_as(first, tuple(size), answer()(first)), *tensors[1:])


@whole.mistake(breaks=FIRST)
def two_tensors_only(*tensors: Tensor) -> Ints:
    """The third tensor was not asked."""
    size, strides = broadcast(tensors)
    return answer(spread=lambda _: (size, strides[:2]))(*tensors)


@order.mistake(breaks=FIRST)
def zero_takes_part(strides: Strides, a: int, b: int) -> int:
    """A stride of 0 was compared like others, and so a broadcast dimension became the innermost.
    It says nothing about the order.
    """
    for each in strides:
        if each[a] != each[b]:
            return each[a] - each[b]
    return b - a


@whole.variant(zero_takes_part)
def _(*tensors: Tensor) -> Ints:
    size, strides = broadcast(tensors)
    return by_key(size, lambda d: tuple(each[d] for each in strides))


@order.mistake(breaks=FIRST)
def zero_is_outermost(strides: Strides, a: int, b: int) -> int:
    """A dimension with stride 0 was made the outer one. It decides nothing, and the next tensor is
    to be asked.
    """
    for each in strides:
        if each[a] != each[b]:
            return 1 if each[a] == 0 else -1 if each[b] == 0 else each[a] - each[b]
    return b - a


@order.mistake(breaks=FIRST)
def zero_ends_the_search(strides: Strides, a: int, b: int) -> int:
    """With a stride of 0 in the first tensor the order of the shape was taken at once. The other
    tensors are asked before.
    """
    for each in strides:
        if not each[a] or not each[b]:
            return b - a
        if each[a] != each[b]:
            return each[a] - each[b]
    return b - a


@order.mistake(breaks=FIRST)
def equal_ends_the_search(strides: Strides, a: int, b: int) -> int:
    """With equal strides of equal sizes in one tensor the order of the shape was taken at once. The
    other tensors are asked before.
    """
    for each in strides:
        if each[a] and each[b]:
            return each[a] - each[b] or b - a
    return b - a


@order.mistake(breaks=FIRST)
def smaller_is_outer(strides: Strides, a: int, b: int) -> int:
    """The dimension with the smaller stride was made the outer one. The innermost is that of the
    smallest step.
    """
    for each in strides:
        if each[a] and each[b] and each[a] != each[b]:
            return each[b] - each[a]
    return b - a


@order.mistake(breaks=NONE)
def last_is_outer(strides: Strides, a: int, b: int) -> int:
    """Where no tensor decides, the dimension that comes last in the shape was made the outer one.
    Then the result has its columns in a row; it is to be contiguous.
    """
    for each in strides:
        if each[a] and each[b] and each[a] != each[b]:
            return each[a] - each[b]
    return a - b


@whole.mistake(breaks=NONE)
def undecided_in_the_order_of_sorting(*tensors: Tensor) -> Ints:
    """Where no tensor decides, the order is that in which the dimensions were given to `sorted`,
    which keeps what is equal as it stands.
    """
    size, strides = broadcast(tensors)
    stride = next(
        (
            each
            for t, each in zip(tensors, strides, strict=True)
            if 0 not in each and len(set(each)) == len(each)
        ),
        None,
    )
    if stride is not None:
        return answer()(*tensors)
    return packed(size, [d for d, n in enumerate(size) if n > 1])


# Broadcasting.


@whole.mistake(breaks=SHAPE)
def shape_of_the_first(*tensors: Tensor) -> Ints:
    """The strides are those of a result with the shape of the first tensor. It is broadcast with
    the others.
    """
    return answer()(tensors[0])


@spread.mistake(breaks=SHAPE)
def aligned_on_the_left(tensors: tuple[Tensor, ...]) -> tuple[Ints, Strides]:
    """Of a tensor with fewer dimensions the strides were given to the first ones of the result.
    Shapes are aligned at their end.
    """
    size, _ = broadcast(tensors)
    strides = []
    for t in tensors:
        own = [step if n > 1 else 0 for n, step in zip(t.shape, t.stride(), strict=True)]
        strides.append(tuple(own + [0] * (len(size) - len(own))))
    return size, strides


@spread.mistake(breaks=FIRST)
def strides_before_broadcasting(tensors: tuple[Tensor, ...]) -> tuple[Ints, Strides]:
    """A dimension of size 1 that is broadcast took part with the stride that it had before. After
    broadcasting it has stride 0.
    """
    size, _ = broadcast(tensors)
    return size, [(0,) * (len(size) - t.dim()) + t.stride() for t in tensors]


@whole.mistake(breaks=SHAPE)
def nothing_broadcast(*tensors: Tensor) -> Ints:
    """Tensors of different shapes were taken as if they had one shape: an error came, or wrong
    strides.
    """
    size = tuple(max(n) for n in zip(*(t.shape for t in tensors), strict=True))
    return answer(spread=lambda _: (size, [t.stride() for t in tensors]))(*tensors)


@whole.mistake(breaks=SHAPE)
def two_at_a_time(*tensors: Tensor) -> Ints:
    """Right for one tensor and for two, and wrong for some three. Perhaps they were taken two at a
    time: the result of the first two has strides that no tensor had, and these decide then.
    """

    def merged(a: Tensor, b: Tensor) -> Tensor:
        size = torch.broadcast_shapes(a.shape, b.shape)
        return a.new_empty(()).expand(size) if not prod(size) else _as(a, tuple(size), answer()(a, b))

    return answer()(reduce(merged, tensors))


def _as(t: Tensor, size: Ints, stride: Ints) -> Tensor:
    reach = 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    return torch.empty(reach, device="meta").as_strided(size, stride)


# Size 1.


@whole.mistake(breaks=ONE)
def ones_counted(*tensors: Tensor) -> Ints:
    """A dimension of size 1 shifted the others: behind it the strides are too large."""
    size, strides = broadcast(tensors)
    longer = tuple(n + 1 if n == 1 else n for n in size)
    return answer(spread=lambda _: (longer, strides))(*tensors)


# The order of more than two.


@whole.mistake(breaks=FIRST)
def neighbours_compared_once(*tensors: Tensor) -> Ints:
    """Right for two dimensions, and wrong for some orders of three. Perhaps each was compared with
    its neighbour once: to sort them takes more.
    """
    size, strides = broadcast(tensors)
    dims = [d for d in reversed(range(len(size))) if size[d] > 1]
    for at in range(len(dims) - 1):
        if ordered(strides, dims[at], dims[at + 1]) > 0:
            dims[at : at + 2] = dims[at : at + 2][::-1]
    return packed(size, dims)


@whole.mistake(breaks=FOLLOW)
def channels_last_or_contiguous(*tensors: Tensor) -> Ints:
    """Only two orders came out, contiguous and channels last. There is one for each way to order
    the dimensions.
    """
    size, _ = broadcast(tensors)
    if len(size) == 4 and any(
        t.dim() == 4 and t.is_contiguous(memory_format=torch.channels_last) for t in tensors[:1]
    ):
        return packed(size, [1, 3, 2, 0])
    return row_major(size)


# Memory.


@whole.mistake(breaks=MEMORY)
def computed(*tensors: Tensor) -> Ints:
    """The operation itself was run, to look at the strides. They are right, and all the memory of
    a result was made for them.
    """
    return sum_of(list(tensors)).stride()


@whole.variant(computed)
def _(*tensors: Tensor) -> Ints:
    found = sum_of(list(tensors))
    return tuple(found.stride(d) for d in range(found.dim()))


def sum_of(tensors: list[Tensor]) -> Tensor:
    return {1: torch.neg, 2: torch.mul}.get(len(tensors), torch.addcmul)(*tensors)


@whole.mistake(breaks=MEMORY)
def filled_with_zeros(*tensors: Tensor) -> Ints:
    """A tensor of the result's size was made, to look at its strides."""
    found = answer()(*tensors)
    return torch.empty_strided(broadcast(tensors)[0], found).stride()


@whole.mistake(breaks=MEMORY)
def expanded_and_copied(*tensors: Tensor) -> Ints:
    """The tensors were made contiguous, or copied, on the way. `expand` and `stride` make no
    memory.
    """
    size, _ = broadcast(tensors)
    [t.expand(size).clone() for t in tensors]
    return answer()(*tensors)


@whole.mistake(breaks=MEMORY)
def computed_without_memory(*tensors: Tensor) -> Ints:
    """torch was asked: the sum was computed on the meta device, or with fake tensors. It makes no
    memory, and it is what this exercise builds.
    """
    return sum_of([torch.empty_strided(t.shape, t.stride(), device="meta") for t in tensors]).stride()


@whole.variant(computed_without_memory)
def _(*tensors: Tensor) -> Ints:
    with FakeTensorMode() as mode:
        return sum_of([mode.from_tensor(t) for t in tensors]).stride()


@whole.mistake(breaks=OWN)
def torchs_own_rule(*tensors: Tensor) -> Ints:
    """torch's own rule was called, from `torch._prims_common`. It is right, and it is what this
    exercise builds.
    """
    size, _ = broadcast(tensors)
    outer_first, _ = compute_elementwise_output_logical_to_physical_perm(*[t.expand(size) for t in tensors])
    return packed(size, outer_first[::-1])


@whole.variant(torchs_own_rule)
def _(*tensors: Tensor) -> Ints:
    size, _ = broadcast(tensors)
    if len(tensors) == 1:
        return answer()(*tensors)
    return compute_elementwise_output_strides(*[t.expand(size) for t in tensors])
