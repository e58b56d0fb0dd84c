"""What people write for 11.slim: the new memories, and when there are none."""

from __future__ import annotations

from math import prod

import torch
from torch import Tensor

from helpers.check.spec import returned
from helpers.labs.tensors.slim.exercise import (
    ALONE,
    EACH,
    NOTHING_SAVED,
    TOGETHER,
    slim,
)
from helpers.labs.tensors.slim.right import (
    Answer,
    Group,
    State,
    alone,
    grouped,
    packed,
    placed,
    size_of,
    slimmer,
    span,
    together,
)

parts = slim.bank(returned)
right = slimmer()


# The new memories.


@parts.mistake(breaks=TOGETHER)
def from_the_start() -> Answer:
    """The new memory is too large: perhaps it begins where the old one did, and not with the first element of the group."""
    return slimmer(
        together=lambda state, group: together(state, (0, *group[1:])),
        alone=lambda t, first, stop: alone(t, 0, stop),
    )


@parts.mistake(breaks=TOGETHER)
def to_the_end() -> Answer:
    """The new memory is too large: perhaps it goes on to the end of the old one, and not to the last element of the group."""

    def end(t: Tensor) -> int:
        return t.untyped_storage().nbytes() // t.element_size()

    return slimmer(
        together=lambda state, group: together(state, (group[0], end(state[group[2][0]]), group[2])),
        alone=lambda t, first, stop: alone(t, first, end(t)),
    )


@parts.mistake(breaks=TOGETHER)
def offset_forgotten() -> Answer:
    """Of tensors that overlap some have other values than before. Perhaps all of them begin at the start of the new memory: each has its offset there."""

    def put(state: State, group: Group) -> State:
        first, stop, names = group
        memory = span(state[names[0]], first, stop)
        return {name: memory.as_strided(state[name].shape, state[name].stride()) for name in names}

    return slimmer(together=put)


def _at_old_offsets(state: State, group: Group) -> State:
    first, stop, names = group
    memory = span(state[names[0]], first, stop)
    return {name: placed(memory, state[name], 0) for name in names}


def _short(state: State, names: list[str]) -> list[Group]:
    return [(first, stop - 1, who) for first, stop, who in grouped(state, names)]


@parts.mistake(breaks=TOGETHER)
def not_in_its_new_memory() -> Answer:
    """A row raises: it does not fit into its new memory. Perhaps the memory ends with the last element, and not behind it, or the old offset was used in it, where the row begins at 0."""
    return slimmer(groups=_short)


@parts.variant(not_in_its_new_memory)
def _() -> Answer:
    return slimmer(groups=_short, alone=lambda t, first, stop: placed(span(t, first, stop), t, first))


@parts.variant(not_in_its_new_memory)
def _() -> Answer:
    return slimmer(together=_at_old_offsets, alone=lambda t, first, stop: placed(span(t, first, stop), t, 0))


@parts.variant(not_in_its_new_memory)
def _() -> Answer:
    return slimmer(
        together=_at_old_offsets,
        alone=lambda t, first, stop: (
            packed(t) if t.numel() < stop - first else placed(span(t, first, stop), t, 0)
        ),
    )


@parts.mistake(breaks=TOGETHER)
def old_offsets() -> Answer:
    """Tensors that overlap raise. Perhaps the offset of the old memory was used in the new one, which is smaller: there, it is less by the first cell of the group."""
    return slimmer(together=_at_old_offsets)


@parts.mistake(breaks=TOGETHER)
def offset_added_twice() -> Answer:
    """Tensors that overlap have other values than before. Perhaps what was copied begins too late: the offset of `as_strided` counts from the start of the storage, also on a view that begins later."""

    def late(state: State, group: Group) -> State:
        first, stop, names = group
        t = state[names[0]]
        flat = t.as_strided((t.untyped_storage().nbytes() // t.element_size(),), (1,), 0)
        memory = flat[(first + torch.arange(first, stop)) % len(flat)]
        return {name: placed(memory, state[name], first) for name in names}

    return slimmer(together=late)


@parts.mistake(breaks=TOGETHER)
def row_major_in_groups() -> Answer:
    """In a shared memory some tensors that are not contiguous have other values. Perhaps they got the strides of contiguous ones: to overlap as before, they need those that they had."""

    def put(state: State, group: Group) -> State:
        first, stop, names = group
        memory = span(state[names[0]], first, stop)
        new = {}
        for name in names:
            t = state[name]
            strides = [prod(t.shape[at + 1 :]) for at in range(t.dim())]
            cells = (t.storage_offset() - first) % max(1, stop - first - t.numel() + 1)
            new[name] = memory.as_strided(t.shape, strides, cells) if t.numel() <= len(memory) else packed(t)
        return new

    return slimmer(together=put)


@parts.variant(row_major_in_groups)
def _() -> Answer:
    def put(state: State, group: Group) -> State:
        first, stop, names = group
        memory = span(state[names[0]], first, stop)
        return {name: cut(memory, state[name], first) for name in names}

    def cut(memory: Tensor, t: Tensor, first: int) -> Tensor:
        start = t.storage_offset() - first
        return memory[start : start + t.numel()].view(t.shape)

    return slimmer(together=put)


@parts.mistake(breaks=TOGETHER)
def a_piece_of_the_old_storage() -> Answer:
    """The new memory is a piece of the old one: slices of a storage, and arrays that share it, copy nothing. While they live, all of it lives."""

    def piece(t: Tensor, first: int, stop: int) -> Tensor:
        cut = t.untyped_storage()[first * t.element_size() : stop * t.element_size()]
        return torch.empty(0, dtype=t.dtype).set_(cut)

    def put(state: State, group: Group) -> State:
        first, stop, names = group
        memory = piece(state[names[0]], first, stop)
        return {name: placed(memory, state[name], first) for name in names}

    return slimmer(
        together=put,
        alone=lambda t, first, stop: (
            packed(t) if t.numel() < stop - first else placed(piece(t, first, stop), t, first)
        ),
    )


@parts.mistake(breaks=ALONE)
def alone_always_its_range() -> Answer:
    """A column that is alone kept all that lies between its elements. Side by side they are smaller."""
    return slimmer(alone=lambda t, first, stop: placed(span(t, first, stop), t, first))


@parts.mistake(breaks=ALONE)
def alone_always_side_by_side() -> Answer:
    """An expanded tensor, or windows, became larger than it was: its elements side by side are more than the cells of its range."""
    return slimmer(alone=lambda t, first, stop: packed(t))


@slim.variant(alone_always_side_by_side)
def _(state: State) -> State:
    return slimmer(alone=lambda t, first, stop: t.clone())(state)


@parts.variant(alone_always_side_by_side)
def _() -> Answer:
    return slimmer(
        alone=lambda t, first, stop: (
            packed(t) if t.nbytes < t.untyped_storage().nbytes() else placed(span(t, first, stop), t, first)
        )
    )


@parts.mistake(breaks=ALONE)
def expanded_always_its_range() -> Answer:
    """A tensor with a stride of 0 kept all that lies between its elements. Whether its range or its elements are smaller: compare the two numbers."""
    return slimmer(
        alone=lambda t, first, stop: (
            placed(span(t, first, stop), t, first) if 0 in t.stride() else alone(t, first, stop)
        )
    )


@parts.mistake(breaks=ALONE)
def side_by_side_in_groups() -> Answer:
    """Tensors that share cells were packed side by side, one by one. Only one that is alone may leave its range."""

    def put(state: State, group: Group) -> State:
        first, stop, names = group
        if all(state[name].numel() < stop - first for name in names):
            return {name: packed(state[name]) for name in names}
        return together(state, group)

    return slimmer(together=put)


# Where nothing is saved.


@parts.mistake(breaks=NOTHING_SAVED)
def always_copied() -> Answer:
    """Nothing was saved, and it was copied all the same. Perhaps the sizes were not compared, or by `<=`."""
    return slimmer(saves=lambda old, new: True)


@slim.mistake(breaks=NOTHING_SAVED)
def never_the_same_object(state: State) -> State:
    """Where nothing is saved a new object came back, a view with the same memory. Asked is the tensor itself."""
    return right({name: t.detach() for name, t in state.items()})


@slim.mistake(breaks=NOTHING_SAVED)
def only_whole_ones_stay(state: State) -> State:
    """Tensors that together need all of their memory were copied. Perhaps each was compared with it alone."""
    new = slimmer(saves=lambda old, new: True)(state)
    return {name: t if t.nbytes == t.untyped_storage().nbytes() else new[name] for name, t in state.items()}


@slim.mistake(breaks=NOTHING_SAVED)
def each_memory_alone(state: State) -> State:
    """Tensors that together need all of their memory were copied. Perhaps each new memory was compared with the old one, and not their sum."""
    new = slimmer(saves=lambda old, new: True)(state)
    return {
        name: new[name] if new[name].untyped_storage().nbytes() < t.untyped_storage().nbytes() else t
        for name, t in state.items()
    }


@slim.mistake(breaks=NOTHING_SAVED)
def all_memories_at_once(state: State) -> State:
    """One memory can be made smaller, and a different one, where nothing is saved, was copied, too. Each old memory is asked on its own."""
    new = slimmer(saves=lambda old, new: True)(state)
    return new if size_of(*new.values()) < size_of(*state.values()) else dict(state)


@slim.mistake(breaks=ALONE)
def all_or_none(state: State) -> State:
    """One memory cannot be made smaller, and so a different one, which can, was left as it is. Each old memory is asked on its own."""
    new = right(state)
    return dict(state) if any(new[name] is t and t.numel() for name, t in state.items()) else new


@parts.mistake(breaks=NOTHING_SAVED)
def elements_against_bytes() -> Answer:
    """Nothing was saved, and yet float32 were copied, and uint8 were not: perhaps elements were compared with bytes."""

    def fewer(old: Tensor, new: State) -> bool:
        return size_of(*new.values()) // old.element_size() < old.untyped_storage().nbytes()

    return slimmer(saves=fewer)


@parts.mistake(breaks=NOTHING_SAVED)
def what_they_show() -> Answer:
    """Tensors that overlap were left in their memory, though a new one would be smaller. Perhaps compared was what they show, and not what a memory holds: cells that two of them show count twice so."""
    return slimmer(
        saves=lambda old, new: sum(t.nbytes for t in new.values()) < old.untyped_storage().nbytes()
    )


@parts.mistake(breaks=TOGETHER)
def counted_for_each_tensor() -> Answer:
    """Tensors that overlap were left in their memory, though a new one would be smaller. Perhaps it was counted once for each of them, and not once."""
    return slimmer(
        saves=lambda old, new: (
            sum(t.untyped_storage().nbytes() for t in new.values()) < old.untyped_storage().nbytes()
        )
    )


_kept: dict[tuple[tuple[str, int], ...], tuple[State, State]] = {}


@slim.mistake(breaks=EACH)
def kept_by_the_tensors(state: State) -> State:
    """The result is that of an earlier call with the same tensors, whose values have changed since. Perhaps results are kept, by the
    tensors or by where they lie.
    """
    key = tuple((name, id(t)) for name, t in state.items())
    if key not in _kept:
        _kept[key] = (
            dict(state),
            right(state),
        )  # the tensors, too: so that none of them gets the id of a different one
    return _kept[key][1]
