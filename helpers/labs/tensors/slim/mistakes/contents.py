"""What people write for 11.slim: the dict, its tensors, all or nothing, and empty ones."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn

from helpers.check.spec import returned
from helpers.labs.tensors.slim.exercise import (
    ALONE,
    EACH,
    EMPTY,
    NEW_DICT,
    STAYS,
    TOGETHER,
    slim,
)
from helpers.labs.tensors.slim.right import (
    Answer,
    State,
    alone,
    bounds,
    by_bounds,
    packed,
    slimmer,
    storage,
    together,
)

parts = slim.bank(returned)
right = slimmer()


# The dict and what is in it.


@slim.mistake(breaks=NEW_DICT)
def edits_the_dict(state: State) -> State:
    """The entries of `state` are not what they were. Who else has this dict sees that, too: put the new tensors into a new one."""
    state.update(right(state))
    return state


@slim.mistake(breaks=NEW_DICT)
def the_dict_itself(state: State) -> State:
    """The very dict came back that was given. Asked is a new one, also where nothing is to be done."""
    return state


@slim.mistake(breaks=NEW_DICT)
def by_memory_in_order(state: State) -> State:
    """The names stand in another order. Perhaps the result was filled memory by memory; `dict(state)` at the start keeps the order."""
    new = right(state)
    first = {storage(t): at for at, t in reversed(list(enumerate(state.values())))}
    return {name: new[name] for name in sorted(state, key=lambda name: first[storage(state[name])])}


@slim.variant(by_memory_in_order)
def _(state: State) -> State:
    return dict(sorted(right(state).items()))


@slim.mistake(breaks=NEW_DICT)
def only_the_new_ones(state: State) -> State:
    """A tensor that has a memory of its own is missing. Perhaps only what was copied came into the result: what stays as it is belongs there, too."""
    return {name: new for name, new in right(state).items() if new is not state[name]}


@slim.mistake(breaks=EACH)
def all_float32(state: State) -> State:
    """Something has a different dtype than in `state`. Perhaps the new memory was made without `dtype=`."""
    new = right(state)
    return {name: t if t is state[name] else t.float() for name, t in new.items()}


@parts.mistake(breaks=EACH)
def shape_lost() -> Answer:
    """Something has a different shape than in `state`. Perhaps the memory came back, which is flat, and not the tensor in it."""
    return slimmer(alone=lambda t, first, stop: packed(t).flatten())


@parts.mistake(breaks=EACH)
def keeps_the_graph() -> Answer:
    """A new tensor requires grad. Perhaps the copy was recorded: take it of `t.detach()`, or under `torch.no_grad()`. Or it was made like the old one: a new one needs none."""
    return slimmer(detached=lambda t: t)


@slim.variant(keeps_the_graph)
def _(state: State) -> State:
    new = right(state)
    return {
        name: new[name] if new[name] is t else new[name].requires_grad_(t.requires_grad)
        for name, t in state.items()
    }


@slim.variant(keeps_the_graph)
def _(state: State) -> State:
    return {
        name: nn.Parameter(new) if new is not state[name] and isinstance(state[name], nn.Parameter) else new
        for name, new in right(state).items()
    }


def partly_recorded(*kinds: str) -> Answer:
    """Copies of these kinds are made without `detach()`: of an empty tensor, of one whose elements are put "side by side",
    of the "range" of one, of a "group".
    """

    def kept(kind: str, t: Tensor) -> Tensor:
        return t if kind in kinds else t.detach()

    return slimmer(
        detached=lambda t: t,
        empty=lambda t: kept("empty", t).clone(),
        alone=lambda t, first, stop: alone(
            kept("side by side" if t.numel() < stop - first else "range", t), first, stop
        ),
        together=lambda state, group: together({n: kept("group", t) for n, t in state.items()}, group),
    )


@parts.variant(keeps_the_graph)
def _() -> Answer:
    return partly_recorded("side by side")


@parts.variant(keeps_the_graph)
def _() -> Answer:
    return partly_recorded("side by side", "empty")


@parts.variant(keeps_the_graph)
def _() -> Answer:
    return partly_recorded("side by side", "range")


@parts.variant(keeps_the_graph)
def _() -> Answer:
    return partly_recorded("side by side", "range", "empty")


@parts.variant(keeps_the_graph)
def _() -> Answer:
    return partly_recorded("empty")


@parts.variant(keeps_the_graph)
def _() -> Answer:
    return partly_recorded("group")


@parts.variant(keeps_the_graph)
def _() -> Answer:
    return partly_recorded("group", "range")


@slim.mistake(breaks=STAYS)
def turns_gradients_off(state: State) -> State:
    """A tensor in `state` is not what it was. Perhaps `requires_grad_(False)`: it turns the tensor itself, the model's parameter, too."""
    for t in state.values():
        if t.is_leaf:
            t.requires_grad_(False)
    return right(state)


@slim.mistake(breaks=EACH)
def by_numpy(state: State) -> State:
    """A tensor that requires grad raises. Perhaps `numpy()`, which wants a `detach()` before it."""
    for t in state.values():
        t.numpy()
    return right(state)


@slim.mistake(breaks=STAYS)
def moves_the_tensors(state: State) -> State:
    """A tensor in `state` is not what it was. Perhaps it was given the new memory itself, by `t.data =` or `t.set_`: leave it, and return new ones."""
    for name, new in right(state).items():
        if new is not state[name]:
            state[name].data = new
    return dict(state)


# All or nothing.


@slim.mistake(breaks=ALONE)
def nothing_done(state: State) -> State:
    """A row came back as it was, with all of the memory that it was cut from. Perhaps nothing was copied, or by `contiguous()`, which gives a contiguous tensor itself."""
    return dict(state)


@slim.variant(nothing_done)
def _(state: State) -> State:
    return {name: t if t.is_contiguous() else t.detach().contiguous() for name, t in state.items()}


@slim.mistake(breaks=ALONE)
def detached_only(state: State) -> State:
    """`detach()`, or a view, is a new tensor with the old memory. A file of it is as large as before."""
    return {name: t.detach() for name, t in state.items()}


@slim.mistake(breaks=ALONE)
def deep_copy(state: State) -> State:
    """The memory was copied whole. Perhaps `deepcopy`, or a file that was written and read: both keep the ties, and all that nobody names."""
    copies = copy.deepcopy({name: t.detach() for name, t in state.items()})
    return dict(copies)


@slim.mistake(breaks=TOGETHER)
def clones_all(state: State) -> State:
    """Tensors that overlap have a memory each: the tie between them is lost, and what is written to one is not seen in the other."""
    return {name: t.detach().clone() for name, t in state.items()}


@slim.mistake(breaks=TOGETHER)
def clones_where_it_saves(state: State) -> State:
    """Two tensors over the same cells have a memory each: their tie is lost. Each view was copied on its own, though only where it is smaller than its memory."""
    return {
        name: t.detach().clone() if t.nbytes < t.untyped_storage().nbytes() else t
        for name, t in state.items()
    }


@slim.mistake(breaks=TOGETHER)
def ties_of_objects(state: State) -> State:
    """Only the same object stays tied to itself. Two views of the same cells are two objects, and belong together, too."""
    new = {id(t): packed(t.detach()) for t in state.values()}
    return {name: new[id(t)] for name, t in state.items()}


@slim.mistake(breaks=TOGETHER)
def ties_of_twins(state: State) -> State:
    """Tensors with the same cells stay tied, and those that overlap in part do not."""
    new = {(t.data_ptr(), t.shape, t.stride()): packed(t.detach()) for t in state.values()}
    return {name: new[t.data_ptr(), t.shape, t.stride()] for name, t in state.items()}


# Empty ones.


@parts.mistake(breaks=ALONE)
def empty_ones_as_they_are() -> Answer:
    """A tensor without elements still keeps its old memory, all of it, to show nothing."""
    return slimmer(empty=lambda t: t)


@slim.variant(empty_ones_as_they_are)
def _(state: State) -> State:
    return {name: new if state[name].numel() else state[name] for name, new in right(state).items()}


@slim.variant(empty_ones_as_they_are)
def _(state: State) -> State:
    new = right(state)
    return {name: new[name] if t.numel() or new[name] is t else t.detach() for name, t in state.items()}


def with_ranges_of_empty_ones(ranges: Callable[[Tensor], tuple[int, int]]) -> Answer:
    def renewed_all(state: State, names: list[str]) -> State:
        new: State = {}
        for group in by_bounds(lambda t: bounds(t) if t.numel() else ranges(t))(state, names):
            first, stop, who = group
            new.update(
                together(state, group) if len(who) > 1 else {who[0]: alone(state[who[0]], first, stop)}
            )
        return new

    return slimmer(renewed=renewed_all)


@parts.mistake(breaks=EMPTY)
def empty_ones_join() -> Answer:
    """A tensor without elements was joined to others. It has no range: (n - 1) * stride means nothing where n is 0."""

    return with_ranges_of_empty_ones(lambda t: (t.storage_offset(),) * 2)


@parts.variant(empty_ones_join)
def _() -> Answer:
    def at_least_one(t: Tensor) -> tuple[int, int]:
        first = t.storage_offset()
        return first, first + 1 + sum(max(n - 1, 0) * s for n, s in zip(t.shape, t.stride(), strict=True))

    return with_ranges_of_empty_ones(at_least_one)


@parts.variant(empty_ones_join)
def _() -> Answer:
    return with_ranges_of_empty_ones(lambda t: (t.storage_offset(), t.storage_offset() + 1))


@parts.variant(empty_ones_join)
def _() -> Answer:
    return with_ranges_of_empty_ones(bounds)


@slim.mistake(breaks=NEW_DICT)
def empty_ones_lost(state: State) -> State:
    """Tensors without elements are missing in the result."""
    new = right(state)
    return {name: t for name, t in new.items() if t.numel() or t is state[name]}


@parts.mistake(breaks=EACH)
def empty_ones_of_one_dimension() -> Answer:
    """A tensor without elements lost its shape. No row of five columns is (0, 5), and not (0,)."""
    return slimmer(empty=lambda t: t.new_empty(0))


@parts.variant(empty_ones_of_one_dimension)
def _() -> Answer:
    return slimmer(empty=lambda t: torch.empty(0))


@parts.mistake(breaks=EACH)
def empty_ones_float32() -> Answer:
    """A tensor without elements has lost its dtype. Perhaps it was made new, by its shape alone."""
    return slimmer(empty=lambda t: torch.empty(t.shape))


@parts.mistake(breaks=EMPTY)
def empty_ones_raise() -> Answer:
    """A tensor without elements raises. Perhaps its range was computed, and is negative."""

    def fail(t: Tensor) -> Tensor:
        return t.as_strided((-1,), (1,))

    return slimmer(empty=fail)


@slim.mistake(breaks=NEW_DICT)
def a_state_needs_a_tensor(state: State) -> State:
    """A state without tensors raises. The result is an empty dict."""
    next(iter(state.values()))
    return right(state)
