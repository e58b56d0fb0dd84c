"""What people write for 10.alias_groups, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import combinations, groupby
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.check.spec import returned
from helpers.labs.pitfalls.alias_groups.exercise import (
    ALONE,
    ARRAYS,
    COPIES,
    LEFT,
    META,
    RETURNED,
    SHARED,
    VIEWS,
    Array,
    alias_groups,
)

built = alias_groups.bank(returned)

Groups = list[set[int]]


def as_tensor(value: Array) -> Tensor:
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


def start_of_storage(value: Array) -> int:
    return as_tensor(value).untyped_storage().data_ptr()


def right_key(value: Array, index: int) -> Hashable:
    return start_of_storage(value) or ("no memory", index)


def grouped(key: Callable[[Array, int], Hashable]) -> Callable[..., Groups]:
    """An answer that groups by key(value, index)."""

    def answer(tensors: Sequence[Array]) -> Groups:
        groups: dict[Hashable, set[int]] = {}
        for index, value in enumerate(tensors):
            groups.setdefault(key(value, index), set()).add(index)
        return list(groups.values())

    return answer


def paired(related: Callable[[Any, Any], bool]) -> Callable[..., Groups]:
    """An answer that joins whatever is related, over any number of steps."""

    def answer(tensors: Sequence[Array]) -> Groups:
        groups: Groups = []
        for index, value in enumerate(tensors):
            near = [group for group in groups if any(related(value, tensors[other]) for other in group)]
            groups = [group for group in groups if group not in near]
            groups.append({index}.union(*near))
        return groups

    return answer


@built.mistake(breaks=VIEWS)
def same_object():
    """x and a view of it are apart: each view is a new object over the old memory. Perhaps the Python objects are
    compared, by `is` or id.
    """
    return grouped(lambda value, index: id(value))


alias_groups.variant(same_object)(paired(lambda a, b: a is b))

alias_groups.variant(same_object)(
    grouped(lambda value, index: value if isinstance(value, Tensor) else id(value))
)


def equal(a: Array, b: Array) -> bool:
    a, b = as_tensor(a), as_tensor(b)
    return a.shape == b.shape and bool((a == b).all())


@built.mistake(breaks=COPIES)
def equal_values():
    """x and its clone are in one set: a clone has the same values, and memory of its own. Perhaps the values are
    compared.
    """
    return paired(equal)


alias_groups.variant(equal_values)(paired(lambda a, b: a is b or equal(a, b)))

alias_groups.variant(equal_values)(
    paired(lambda a, b: equal(a, b) or start_of_storage(a) == start_of_storage(b) != 0)
)


@built.mistake(breaks=VIEWS)
def start_of_the_window():
    """x and x[1:] are apart. Perhaps tensor.data_ptr() is compared, which is the address of the tensor's first entry;
    the storage begins at tensor.untyped_storage().data_ptr().
    """
    return grouped(lambda value, index: as_tensor(value).data_ptr() or ("no memory", index))


alias_groups.variant(start_of_the_window)(grouped(lambda value, index: as_tensor(value).data_ptr()))

alias_groups.variant(start_of_the_window)(grouped(lambda value, index: value.data_ptr()))

alias_groups.variant(start_of_the_window)(
    paired(lambda a, b: as_tensor(a).data_ptr() == as_tensor(b).data_ptr())
)


def base(value: Any) -> Any:
    """What it is a view of, by torch's or NumPy's own account."""
    if isinstance(value, np.ndarray):
        return value if value.base is None else value.base
    return value if value._base is None else value._base


@built.mistake(breaks=VIEWS)
def by_base():
    """x and what detach or .data gives are apart, though they share the storage. Perhaps _base is asked: it is
    autograd's memory of a view, and these have none.
    """
    return grouped(lambda value, index: id(base(value)))


alias_groups.variant(by_base)(paired(lambda a, b: base(a) is base(b)))

alias_groups.variant(by_base)(
    grouped(lambda value, index: id(value) if value._base is None else id(value._base))
)

alias_groups.variant(by_base)(
    paired(
        lambda a, b: a is b or a._base is b or b._base is a or (a._base is not None and a._base is b._base)
    )
)


def start_of_the_base(value: Array) -> int:
    """Where what it is a view of begins, by torch's account."""
    tensor = as_tensor(value)
    return (tensor if tensor._base is None else tensor._base).data_ptr()


@built.mistake(breaks=VIEWS)
def start_of_the_base_only():
    """x and x[1:] are together, and the same view is apart as soon as it is detached. Perhaps data_ptr() of _base is
    compared: a detached view has no _base, and begins elsewhere. The storage is known to all: untyped_storage().
    """
    return grouped(lambda value, index: start_of_the_base(value) or ("no memory", index))


def span(value: Array) -> tuple[int, int]:
    """The first address of a window, and the one behind its last."""
    tensor = as_tensor(value)
    if not tensor.numel() or tensor.is_meta:
        return 0, 0
    steps = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.data_ptr(), tensor.data_ptr() + (steps + 1) * tensor.element_size()


def spans_overlap(a: Array, b: Array) -> bool:
    (first, end), (other, other_end) = span(a), span(b)
    return first < other_end and other < end


def entries_overlap(a: Array, b: Array) -> bool:
    a, b = as_tensor(a), as_tensor(b)
    if a.is_meta or b.is_meta:
        return a is b
    return np.shares_memory(a.detach().numpy(), b.detach().numpy())


@built.mistake(breaks=VIEWS)
def only_if_they_overlap():
    """Two halves of one storage are apart, as they have no entry in common. They are kept alive, saved and moved
    together all the same. Perhaps addresses that overlap were looked for.
    """
    return paired(entries_overlap)


alias_groups.variant(only_if_they_overlap)(paired(spans_overlap))


def whole(value: Array) -> tuple[int, int]:
    """The first address of a storage, and the one behind its last."""
    storage = as_tensor(value).untyped_storage()
    return storage.data_ptr(), storage.data_ptr() + (storage.nbytes() if storage.data_ptr() else 0)


def whole_touch(a: Array, b: Array) -> bool:
    (first, end), (other, other_end) = whole(a), whole(b)
    return a is b or bool(first and other) and first <= other_end and other <= end


@built.mistake(breaks=SHARED)
def neighbours_in_memory():
    """Two storages are in one set because one begins where the other ends. Perhaps the addresses are compared by <=: the
    end of a storage is the first address that no longer belongs to it.
    """
    return paired(whole_touch)


def _without_arrays(value: Array, index: int) -> Hashable:
    return value.untyped_storage().data_ptr() or ("no memory", index)


@built.mistake(breaks=ARRAYS)
def no_arrays():
    """A NumPy array among the tensors ends the call with an error: it has no untyped_storage. Make a tensor over its
    memory first: torch.from_numpy.
    """
    return grouped(_without_arrays)


alias_groups.variant(no_arrays)(grouped(lambda value, index: value.untyped_storage().data_ptr()))


@built.mistake(breaks=ARRAYS)
def only_plain_arrays():
    """An array of a class derived from np.ndarray, as np.memmap, ends the call with an error, or is apart from its
    tensor. Perhaps type(value) is np.ndarray is asked: isinstance takes derived classes, too.
    """
    return grouped(
        lambda value, index: _without_arrays(
            torch.from_numpy(value) if type(value) is np.ndarray else value, index
        )
    )


alias_groups.variant(only_plain_arrays)(
    grouped(
        lambda value, index: (
            right_key(value, index) if type(value) is np.ndarray or torch.is_tensor(value) else id(value)
        )
    )
)


def _by_copy(tensors: Sequence[Array]) -> Groups:
    kept = [torch.tensor(value) if isinstance(value, np.ndarray) else value for value in tensors]
    return grouped(right_key)(kept)


@built.mistake(breaks=ARRAYS)
def arrays_alone():
    """An array and the tensor made of it are apart. Perhaps arrays were copied, or kept from the tensors: what
    torch.from_numpy(a) and x.numpy() give looks into the memory of a and x.
    """
    return grouped(
        lambda value, index: id(value) if isinstance(value, np.ndarray) else right_key(value, index)
    )


alias_groups.variant(arrays_alone)(
    grouped(
        lambda value, index: ("array", index) if isinstance(value, np.ndarray) else right_key(value, index)
    )
)


def _by_storage_object(tensors: Sequence[Array]) -> Groups:
    kept = [as_tensor(value) for value in tensors]
    return grouped(lambda value, index: value.untyped_storage()._cdata)(kept)


@built.mistake(breaks=ARRAYS)
def storage_object():
    """An array and the tensor made of it are apart, though the arrays were made tensors. Perhaps storages are
    compared as objects, not by where they begin: each from_numpy makes a new one over the same memory.
    """
    return _by_storage_object


@built.mistake(breaks=ALONE)
def nothing_at_0():
    """All empty tensors are in one set. A tensor without memory has the address 0, and so has every other one: give
    each a key of its own.
    """
    return grouped(lambda value, index: start_of_storage(value))


alias_groups.variant(nothing_at_0)(paired(lambda a, b: start_of_storage(a) == start_of_storage(b)))


@built.mistake(breaks=META)
def meta_at_0():
    """Tensors of the meta device are in one set, and empty ones are not. They have sizes, no memory, and the address
    0: ask the address, not the number of entries.
    """
    return grouped(
        lambda value, index: start_of_storage(value) if as_tensor(value).numel() else ("no memory", index)
    )


@built.mistake(breaks=VIEWS)
def same_size_and_start():
    """x and a view of a different shape or other strides are apart: a storage is one, however it is looked at. Perhaps the
    key holds shape or strides.
    """
    return grouped(lambda value, index: (right_key(value, index), as_tensor(value).shape))


alias_groups.variant(same_size_and_start)(
    grouped(lambda value, index: (right_key(value, index), as_tensor(value).stride()))
)


@built.mistake(breaks=VIEWS)
def dtypes_apart():
    """x and x.view(torch.int32), which reads the same bytes as other numbers, are apart. Perhaps the key holds the
    dtype, or all are converted to one dtype first: a conversion copies.
    """
    return grouped(lambda value, index: (right_key(value, index), as_tensor(value).dtype))


@alias_groups.mistake(breaks=RETURNED)
def singles_left_out(tensors):
    """Those that share with nobody are in no set. Each index is in one, if need be alone."""
    return [group for group in grouped(right_key)(tensors) if len(group) > 1]


alias_groups.variant(singles_left_out)(
    lambda tensors: [
        group
        for group in grouped(lambda value, index: value.untyped_storage().data_ptr())(tensors)
        if len(group) > 1
    ]
)


@alias_groups.mistake(breaks=RETURNED)
def counted_from_1(tensors):
    """The indices are counted from 1: 0 is in no set, and the last one belongs to no tensor. Perhaps by enumerate with a
    start of 1.
    """
    return [{index + 1 for index in group} for group in grouped(right_key)(tensors)]


@alias_groups.mistake(breaks=RETURNED)
def a_set_for_each_pair(tensors):
    """Indices are in more than one set. Perhaps each pair that shares a storage made a set of its own: three that share
    one belong in one set.
    """
    groups = grouped(right_key)(tensors)
    pairs = [set(pair) for group in groups for pair in combinations(sorted(group), 2)]
    return pairs + [group for group in groups if len(group) == 1]


@alias_groups.mistake(breaks=RETURNED)
def values_of_a_dict(tensors):
    """What came back is the dict_values of a dict, not a list: list(...) makes one of it."""
    return dict(enumerate(grouped(right_key)(tensors))).values()


@built.mistake(breaks=VIEWS)
def neighbours_only():
    """x and a view of it are apart, where a different tensor stands between them. Perhaps by itertools.groupby, which
    joins neighbours only.
    """

    def answer(tensors: Sequence[Array]) -> Groups:
        keys = [right_key(value, index) for index, value in enumerate(tensors)]
        return [set(group) for _, group in groupby(range(len(keys)), key=lambda index: keys[index])]

    return answer


@alias_groups.mistake(breaks=VIEWS)
def sharing_or_not(tensors):
    """All that share with somebody are in one set, whichever storage it is. Each storage has a set of its own."""
    groups = grouped(right_key)(tensors)
    shared = set().union(*(group for group in groups if len(group) > 1))
    return [shared] * bool(shared) + [group for group in groups if len(group) == 1]


@alias_groups.mistake(breaks=RETURNED)
def tensors_for_indices(tensors):
    """The sets hold something other than indices. Perhaps the tensors themselves: a tensor in a set is found by id."""
    return [
        {tensors[index] if isinstance(tensors[index], Tensor) else str(index) for index in group}
        for group in grouped(right_key)(tensors)
    ]


@alias_groups.mistake(breaks=RETURNED)
def lists_for_sets(tensors):
    """The groups are no sets. Perhaps they are lists, sorted to be read."""
    return [sorted(group) for group in grouped(right_key)(tensors)]


@alias_groups.mistake(breaks=RETURNED)
def a_dict(tensors):
    """A dict came back, not a list. Perhaps from the address to the indices: addresses mean nothing outside. Give its
    values, in a list.
    """
    return dict(enumerate(grouped(right_key)(tensors)))


@built.mistake(breaks=SHARED)
def all_together():
    """Tensors with storages of their own are in one set. Perhaps the key is something that many storages have in
    common, as a dtype, a device or a size: what a storage has for itself is its address.
    """
    return grouped(lambda value, index: str(as_tensor(value).device))


alias_groups.variant(all_together)(
    grouped(lambda value, index: (str(as_tensor(value).device), str(as_tensor(value).dtype)))
)


@alias_groups.mistake(breaks=RETURNED)
def none_for_nothing(tensors):
    """For an empty list something other than an empty list came back, or an error. Perhaps the first tensor is
    taken without asking whether there is one.
    """
    first, *_ = tensors
    return grouped(right_key)([first, *tensors[1:]])


@alias_groups.mistake(breaks=LEFT)
def tried_by_writing(tensors):
    """A tensor holds other numbers after the call. Perhaps a number was written to see who sees it: that tells
    which windows have this cell in common, not which share a storage.
    """
    groups = grouped(right_key)(tensors)
    for value in tensors:
        if isinstance(value, Tensor) and value.numel() and not value.is_meta:
            value.data.fill_(0)
    return groups


@alias_groups.mistake(breaks=RETURNED)
def lists_only(tensors):
    """A tuple of tensors is taken for something else, or ends the call with an error. Perhaps the argument is
    asked whether it is a list, or extended: any sequence may come.
    """
    return grouped(right_key)(tensors + [])


@built.mistake(breaks=VIEWS)
def made_contiguous():
    """A transpose is apart from its tensor, and a view of the same order is not. Perhaps contiguous() or reshape comes
    first: it copies what does not lie in order, and the copy has a storage of its own.
    """
    return lambda tensors: _of_copies([as_tensor(value).contiguous() for value in tensors])


def _of_copies(tensors: Sequence[Tensor]) -> Groups:
    """The right groups of tensors that live until all are asked."""
    return grouped(right_key)(tensors)


@alias_groups.mistake(breaks=ARRAYS)
def arrays_skipped(tensors):
    """NumPy arrays are in no set. Perhaps only what is a Tensor is looked at: each index is in one set."""
    groups = grouped(right_key)(tensors)
    kept = [{index for index in group if isinstance(tensors[index], Tensor)} for group in groups]
    return [group for group in kept if group]


@alias_groups.mistake(breaks=ALONE)
def empty_skipped(tensors):
    """Empty tensors are in no set. Perhaps what has no memory is passed over: each of them is in a set of its own."""
    return [
        group
        for group in grouped(right_key)(tensors)
        if all(start_of_storage(tensors[index]) for index in group)
    ]
