"""What people write for 04.swa_average: integers and bools."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from helpers.labs.optim.swa_average.exercise import swa_average
from helpers.labs.optim.swa_average.right import State, average, wide


@swa_average.mistake(breaks="take all of them from one state, as the last.")
def mask_inverted(states: Any) -> State:
    """A mask is the opposite of the last state's. Perhaps `~` or a comparison with False turned it."""
    return average(
        states, integer=lambda values: ~values[-1] if values[-1].dtype is torch.bool else values[-1].clone()
    )


@swa_average.mistake()
def integers_become_floats(states: Iterable[State]) -> State:
    """Integers are means now, and in a floating dtype: load_state_dict takes them without a word, and cuts them
    off. They are taken from one state. Perhaps nothing asks whether a tensor is_floating_point().
    """
    return average(states, integer=lambda values: torch.stack(values).float().mean(0))


@swa_average.mistake()
def integers_averaged(states: Iterable[State]) -> State:
    """Integers were averaged, and made integers again. num_batches_tracked says how much data the statistics have
    seen, and positions have no mean at all: take all of them from one state.
    """
    return average(states, integer=lambda values: torch.stack(values).float().mean(0).to(values[0].dtype))


@swa_average.variant(integers_averaged)
def _(states: Iterable[State]) -> State:
    def mean(values: list[Tensor]) -> Tensor:
        return torch.div(sum(value.long() for value in values), len(values), rounding_mode="floor").to(
            values[0].dtype
        )

    return average(states, integer=mean)


@swa_average.variant(integers_averaged)
def _(states: Iterable[State]) -> State:
    """Rounded; bools are a state's."""

    def rounded(values: list[Tensor]) -> Tensor:
        mean = torch.stack(values).double().mean(0).round()
        return values[-1].clone() if values[0].dtype is torch.bool else mean.to(values[0].dtype)

    return average(states, integer=rounded)


@swa_average.mistake(breaks="take all of them from one state, as the last.")
def integers_begin_anew(states: Iterable[State]) -> State:
    """Integers are zeros, and no state's. Perhaps counters were to begin anew: num_batches_tracked says how much data the
    statistics have seen, so take all of them from one state.
    """
    return average(states, integer=lambda values: torch.zeros_like(values[-1]))


@swa_average.variant(integers_begin_anew)
def _(states: Iterable[State]) -> State:
    """Masks are a state's."""
    return average(
        states,
        integer=lambda values: (
            values[-1].clone() if values[-1].dtype is torch.bool else torch.zeros_like(values[-1])
        ),
    )


@swa_average.mistake()
def mean_of_integers(states: Iterable[State]) -> State:
    """mean() was asked of integers, and refuses them; every BatchNorm layer has one, num_batches_tracked. They are taken
    from one state, and only what is_floating_point() is averaged.
    """
    return average(states, integer=lambda values: torch.stack(values).mean(0))


@swa_average.variant(integers_averaged)
def _(states: Any) -> State:
    total = {
        name: wide(value) if value.is_floating_point() else value.clone() for name, value in states[0].items()
    }
    for state in states[1:]:
        for name, value in state.items():
            total[name] = total[name] + value.detach()
    return {
        name: (v / len(states)).to(states[0][name].dtype) if v.is_floating_point() else v // len(states)
        for name, v in total.items()
    }


@swa_average.variant(integers_become_floats)
def _(states: Any) -> State:
    total = copy.deepcopy(states[0])
    for state in states[1:]:
        for name in total:
            total[name] += state[name]
    for name in total:
        total[name] = total[name] / len(states)
    return total


@swa_average.mistake()
def integers_shared(states: Iterable[State]) -> State:
    """Integers or bools of the result lie in the memory of a state: if that model trains on, they move in the average as
    well. Perhaps clone() is missing.
    """
    return average(states, integer=lambda values: values[-1])


@swa_average.mistake()
def integers_of_many_states(states: Iterable[State]) -> State:
    """Each integer is the largest of all states', and a mask True where that of any state is: together no state ever had
    these. They belong together: take all from one state.
    """
    return average(states, integer=lambda values: torch.stack(values).amax(0))


@swa_average.mistake(
    breaks="Integers and bools (counters, masks) have no mean: take all of them from one state, as the last."
)
def masks_joined(states: Iterable[State]) -> State:
    """A mask is True where that of any state is, and integers are a state's. Perhaps bools were joined by any() or `|`, or
    added or averaged, and what is not 0 is True. Take all of them from one state.
    """
    any_of = lambda values: (  # noqa: E731
        torch.stack(values).any(0) if values[0].dtype is torch.bool else values[-1].clone()
    )
    return average(states, integer=any_of)


@swa_average.mistake(breaks="The equal average of several state dicts, tensor by tensor.")
def integers_left_out(states: Iterable[State]) -> State:
    """The result lacks the integers and bools of the states: load_state_dict refuses it, since keys are missing."""
    states = list(states)
    return {name: value for name, value in average(states).items() if states[0][name].is_floating_point()}


@swa_average.mistake(
    breaks="Integers and bools (counters, masks) have no mean: take all of them from one state, as the last."
)
def of_different_states(states: Iterable[State]) -> State:
    """Each integer and each mask is some state's, but not all are of the same one: the counter of one model stands
    beside the mask of another.
    """
    first = lambda values: (values[0] if values[0].dtype is torch.bool else values[-1]).clone()  # noqa: E731
    return average(states, integer=first)


@swa_average.mistake(
    breaks="Integers and bools (counters, masks) have no mean: take all of them from one state, as the last."
)
def integers_summed(states: Iterable[State]) -> State:
    """Integers are the sums of all states': a counter of data that no model has seen. Take those of one state."""
    one = lambda values: values[-1].clone() if values[0].dtype is torch.bool else sum(values)  # noqa: E731
    return average(states, integer=one)


@swa_average.mistake(
    breaks="Integers and bools (counters, masks) have no mean: take all of them from one state, as the last."
)
def masks_voted(states: Iterable[State]) -> State:
    """An integer is the smallest or the median of all states', or a mask is True only where most or all are: perhaps no state
    ever had that. Take all of them from one state.
    """
    vote = lambda values: (  # noqa: E731
        torch.stack(values).double().mean(0) > 0.5 if values[0].dtype is torch.bool else values[-1].clone()
    )
    return average(states, integer=vote)


@swa_average.variant(masks_voted)
def _(states: Iterable[State]) -> State:
    middle = lambda values: (  # noqa: E731
        torch.stack(values).median(0).values if values[0].dtype is not torch.bool else values[-1].clone()
    )
    return average(states, integer=middle)


@swa_average.mistake(
    breaks="Integers and bools (counters, masks) have no mean: take all of them from one state, as the last."
)
def integers_through_floats(states: Iterable[State]) -> State:
    """A large integer is near a state's, and rounded. Perhaps it went through a floating dtype: float32 has 24 bits for
    it, float64 53, int64 has 63. Copy it as it is.
    """
    return average(states, integer=lambda values: values[-1].double().to(values[-1].dtype))


@swa_average.variant(integers_through_floats)
def _(states: Iterable[State]) -> State:
    return average(states, integer=lambda values: values[-1].float().to(values[-1].dtype))


@swa_average.mistake(
    breaks="Integers and bools (counters, masks) have no mean: take all of them from one state, as the last."
)
def integers_in_floats(states: Iterable[State]) -> State:
    """Integers and masks are one state's, and come back in a floating dtype: a model that loads them cuts them off, and
    large ones are rounded.
    """
    return average(states, integer=lambda values: values[-1].float())
