"""What people write for 11.slim: who belongs together."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from helpers.check.spec import returned
from helpers.labs.tensors.slim.exercise import (
    ALONE,
    BELONG,
    RANGE,
    TOGETHER,
    slim,
)
from helpers.labs.tensors.slim.right import (
    Answer,
    Group,
    State,
    alone,
    bounds,
    by_bounds,
    grouped,
    placed,
    saves,
    slimmer,
    span,
    storage,
)

parts = slim.bank(returned)


# Who belongs together.


def by_their_storage(state: State, names: list[str]) -> list[Group]:
    all_bounds = [bounds(state[name]) for name in names]
    if not names:
        return []
    return [(min(first for first, _ in all_bounds), max(stop for _, stop in all_bounds), names)]


@parts.mistake(breaks=BELONG)
def all_of_one_storage() -> Answer:
    """Tensors of one storage have one memory though their ranges do not overlap: all between them is kept."""
    return slimmer(groups=by_their_storage)


def in_one_memory(state: State, empty: Callable[[Tensor, Tensor], Tensor]) -> State:
    result, by_memory = dict(state), {}
    for name, t in state.items():
        by_memory.setdefault(storage(t), []).append(name)
    for names in by_memory.values():
        [(first, stop, who)] = by_their_storage(state, [n for n in names if state[n].numel()]) or [(0, 0, [])]
        memory = span(state[names[0]].detach(), first, stop)
        new = {name: placed(memory, state[name], first) for name in who}
        new |= {name: empty(memory, state[name]) for name in names if name not in new}
        if saves(state[names[0]], new):
            result.update(new)
    return result


@slim.mistake(breaks=ALONE)
def one_for_each_storage(state: State) -> State:
    """Gaps are kept. Perhaps each old memory became one new one, from the first to the last element of all of its tensors: one that is alone may be smaller side by side, and those whose ranges do not overlap have a memory each."""
    return in_one_memory(state, empty=lambda memory, t: t.detach().clone())


@slim.variant(one_for_each_storage)
def _(state: State) -> State:
    return in_one_memory(state, empty=lambda memory, t: memory.as_strided(t.shape, t.stride(), 0))


def touching(state: State, names: list[str]) -> list[Group]:
    groups: list[Group] = []
    for name in sorted(names, key=lambda name: bounds(state[name])):
        first, stop = bounds(state[name])
        if groups and first <= groups[-1][1]:
            start, end, who = groups.pop()
            groups.append((start, max(end, stop), [*who, name]))
        else:
            groups.append((first, stop, [name]))
    return groups


@parts.mistake(breaks=BELONG)
def touching_ones_joined() -> Answer:
    """Ranges that touch are joined. They have no cell in common. With ends behind the last elements it is `first < end`, without `=`."""
    return slimmer(groups=touching)


def joined(state: State, names: list[str], pairs: list[tuple[str, str]]) -> list[Group]:
    """The groups that these pairs make, each pair from an earlier name to a later."""
    home = {name: name for name in names}
    for one, other in pairs:
        old, new = home[other], home[one]
        home = {name: new if it == old else it for name, it in home.items()}
    groups = []
    for root in dict.fromkeys(home.values()):
        who = [name for name in names if home[name] == root]
        groups.append((*by_their_storage(state, who)[0][:2], who))
    return groups


@parts.mistake(breaks=BELONG)
def with_the_one_before() -> Answer:
    """A long range covers several short ones, and only the first of them is joined. What counts is the furthest end so far, and not the end of the one before."""

    def groups(state: State, names: list[str]) -> list[Group]:
        names = sorted(names, key=lambda name: bounds(state[name]))
        pairs = [
            (one, other)
            for one, other in zip(names, names[1:], strict=False)
            if bounds(state[other])[0] < bounds(state[one])[1]
        ]
        return joined(state, names, pairs)

    return slimmer(groups=groups)


@parts.mistake(breaks=BELONG)
def with_the_first_of_the_group() -> Answer:
    """A chain breaks: the third tensor overlaps with the second, and was compared with the first only. The end of the group moves with each that joins."""

    def groups(state: State, names: list[str]) -> list[Group]:
        found: list[list[str]] = []
        for name in sorted(names, key=lambda name: bounds(state[name])):
            if found and bounds(state[name])[0] < bounds(state[found[-1][0]])[1]:
                found[-1].append(name)
            else:
                found.append([name])
        return [by_their_storage(state, who)[0] for who in found]

    return slimmer(groups=groups)


@parts.mistake(breaks=BELONG)
def no_bridges() -> Answer:
    """Two groups stay apart though a later tensor overlaps with both. It joins them, or sort by where the ranges begin."""

    def groups(state: State, names: list[str]) -> list[Group]:
        found: list[list[str]] = []
        for name in names:
            first, stop = bounds(state[name])
            for who in found:
                if any(first < bounds(state[one])[1] and bounds(state[one])[0] < stop for one in who):
                    who.append(name)
                    break
            else:
                found.append([name])
        return [by_their_storage(state, who)[0] for who in found]

    return slimmer(groups=groups)


@parts.variant(no_bridges)
def _() -> Answer:
    def groups(state: State, names: list[str]) -> list[Group]:
        found: list[Group] = []
        for name in sorted(names, key=lambda name: bounds(state[name])[1]):
            first, stop = bounds(state[name])
            if found and first < found[-1][1]:
                start, end, who = found.pop()
                found.append((min(start, first), max(end, stop), [*who, name]))
            else:
                found.append((first, stop, [name]))
        return found

    return slimmer(groups=groups)


@parts.mistake(breaks=BELONG)
def in_the_order_of_the_names() -> Answer:
    """Who belongs together depends on the order of the names. Perhaps each range was compared with the last group only, and the ranges were not sorted."""

    def groups(state: State, names: list[str]) -> list[Group]:
        found: list[Group] = []
        for name in names:
            first, stop = bounds(state[name])
            if found and first < found[-1][1] and found[-1][0] < stop:
                start, end, who = found.pop()
                found.append((min(start, first), max(end, stop), [*who, name]))
            else:
                found.append((first, stop, [name]))
        return found

    return slimmer(groups=groups)


@parts.mistake(breaks=RANGE)
def common_elements() -> Answer:
    """Two columns side by side were parted, perhaps as they have no element in common. What counts are ranges, and these overlap."""

    def cells(t: Tensor) -> set[int]:
        found = {t.storage_offset()}
        for n, s in zip(t.shape, t.stride(), strict=True):
            found = {at + i * s for at in found for i in range(n)}
        return found

    def groups(state: State, names: list[str]) -> list[Group]:
        pairs = [
            (one, other)
            for at, one in enumerate(names)
            for other in names[at + 1 :]
            if cells(state[one]) & cells(state[other])
        ]
        return joined(state, names, pairs)

    return slimmer(groups=groups)


@parts.mistake(breaks=RANGE)
def as_long_as_they_have_elements() -> Answer:
    """A range was taken as long as the tensor has elements. A column's goes from row to row, `(n - 1) * stride`, and overlaps with all that lies there."""
    by_count = by_bounds(lambda t: (t.storage_offset(), t.storage_offset() + t.numel()))

    def groups(state: State, names: list[str]) -> list[Group]:
        return [by_their_storage(state, who)[0] for _, _, who in by_count(state, names)]

    return slimmer(groups=groups)


@parts.mistake(breaks=RANGE)
def room_for_their_elements() -> Answer:
    """Two views of a column raise: perhaps their new memory has room for as many cells as they have elements, and a column goes from row to row."""
    return slimmer(
        groups=by_bounds(lambda t: (t.storage_offset(), t.storage_offset() + t.numel())),
        alone=lambda t, first, stop: alone(t, *bounds(t)),
    )


@parts.mistake(breaks=TOGETHER)
def end_of_the_last_one() -> Answer:
    """A tensor and a piece in its middle raise: perhaps the new memory ends with the one that begins last. It ends with the furthest end of all."""

    def groups(state: State, names: list[str]) -> list[Group]:
        found: list[Group] = []
        for name in sorted(names, key=lambda name: bounds(state[name])):
            first, stop = bounds(state[name])
            if found and first < found[-1][1]:
                start, _, who = found.pop()
                found.append((start, stop, [*who, name]))
            else:
                found.append((first, stop, [name]))
        return found

    return slimmer(groups=groups)


@parts.mistake(breaks=BELONG)
def one_short() -> Answer:
    """Two ranges with one cell in common were not joined. With last elements it is `first <= last`; with ends behind them it is `first < last + 1`."""
    short = by_bounds(lambda t: (bounds(t)[0], bounds(t)[1] - 1))

    def groups(state: State, names: list[str]) -> list[Group]:
        return [by_their_storage(state, who)[0] for _, _, who in short(state, names)]

    return slimmer(groups=groups)


@parts.mistake(breaks=RANGE)
def n_times_stride() -> Answer:
    """A tensor with gaps was joined to one that begins right behind its last element. Perhaps its range was taken as `n * stride`: it is `(n - 1) * stride + 1`."""

    def further(t: Tensor) -> tuple[int, int]:
        first = t.storage_offset()
        last = first + max((n * s for n, s in zip(t.shape, t.stride(), strict=True)), default=1)
        return first, max(last, bounds(t)[1])

    def groups(state: State, names: list[str]) -> list[Group]:
        return [by_their_storage(state, who)[0] for _, _, who in grouped(state, names, further)]

    return slimmer(groups=groups)


@parts.mistake(breaks=RANGE)
def sum_of_n_times_stride() -> Answer:
    """Of tensors that overlap the new memory is too large. Perhaps a range was taken as the sum of `n * stride`: it is the sum of `(n - 1) * stride`, and 1."""

    def too_far(t: Tensor) -> tuple[int, int]:
        first = t.storage_offset()
        return first, first + max(1, sum(n * s for n, s in zip(t.shape, t.stride(), strict=True)))

    return slimmer(groups=by_bounds(too_far))


@parts.variant(sum_of_n_times_stride)
def _() -> Answer:
    def too_far(t: Tensor) -> tuple[int, int]:
        first = t.storage_offset()
        return first, first + 1 + sum(n * s for n, s in zip(t.shape, t.stride(), strict=True))

    return slimmer(groups=by_bounds(too_far))


@parts.mistake(breaks=BELONG)
def cells_of_any_storage() -> Answer:
    """Tensors of different memories were mixed: perhaps as they begin at the same cell, each of its own memory. Cells are compared within one storage only."""
    return slimmer(memory=lambda t: t.dtype)


@parts.mistake(breaks=BELONG)
def by_where_they_begin() -> Answer:
    """Tensors that begin at different addresses were parted though they overlap. `t.data_ptr()` is where a tensor begins, and not its storage."""
    return slimmer(memory=lambda t: t.data_ptr() if t.numel() else storage(t))


@parts.mistake(breaks=BELONG)
def by_their_base() -> Answer:
    """A parameter that was cut from a memory, and a tensor in it, were parted. Perhaps `_base` was asked, which a parameter and a `detach()` do not have; the storage tells."""
    return slimmer(memory=lambda t: id(t if t._base is None else t._base))


@parts.mistake(breaks=ALONE)
def only_what_has_a_base() -> Answer:
    """A piece that came by way of `detach()` kept its old memory. Perhaps `_base` was asked, which is None there; the storage tells."""

    def with_base(old: Tensor, new: State) -> bool:
        return old._base is not None and saves(old, new)

    return slimmer(saves=with_base)
