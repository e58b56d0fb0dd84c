"""What people write for 04.swa_average, and why it is wrong."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.optim.swa_utils import get_swa_avg_fn, get_swa_multi_avg_fn

from helpers.labs.optim.swa_average.exercise import swa_average

State = dict[str, Tensor]


def wide(value: Tensor) -> Tensor:
    return value.detach().to(torch.promote_types(value.dtype, torch.float32), copy=True)


def read(states: Iterable[State]) -> tuple[State, Iterator[State]]:
    """The first state, and an iterator over the others."""
    rest = iter(states)
    return next(rest), rest


def average(
    states: Iterable[State],
    *,
    widen: Callable[[Tensor], Tensor] = wide,
    add: Callable[[Tensor, Tensor, int], Tensor] = lambda total, value, count: total.add_(value),
    mean: Callable[[Tensor, int], Tensor] = lambda total, count: total / count,
    integer: Callable[[list[Tensor]], Tensor] = lambda values: values[-1].clone(),
) -> State:
    """Right as it stands; a mistake replaces one part."""
    first, rest = read(states)
    floats = [name for name, value in first.items() if value.is_floating_point()]
    total = {name: widen(first[name]) for name in floats}
    integers = {name: [value] for name, value in first.items() if name not in total}
    count = 1
    for state in rest:
        count += 1
        for name in floats:
            total[name] = add(total[name], state[name].detach(), count)
        for name, values in integers.items():
            values.append(state[name])
    result = {name: mean(value, count).to(first[name].dtype) for name, value in total.items()}
    return result | {name: integer(values) for name, values in integers.items()}


@swa_average.mistake()
def halved_at_each_state(states: Iterable[State]) -> State:
    """(average + state) / 2 at each state gives the last one half of all weight, the one before a quarter: an
    exponential average and no equal one.
    """
    return average(states, add=lambda total, value, _: (total + value) / 2, mean=lambda total, _: total)


@swa_average.mistake()
def count_off_by_one(states: Iterable[State]) -> State:
    """The running mean was divided by the number of states before this one: the second state wipes out the
    first. With n states so far, this one included, it is mean += (state - mean) / n.
    """
    step = lambda mean, value, count: mean + (value - mean) / (count - 1)  # noqa: E731
    return average(states, add=step, mean=lambda total, _: total)


@swa_average.mistake()
def one_state_too_many(states: Iterable[State]) -> State:
    """The running mean was divided by the number of states plus one, as if there were one more of zeros at
    the start.
    """
    return average(states, mean=lambda total, count: total / (count + 1))


@swa_average.mistake()
def never_divided(states: Iterable[State]) -> State:
    """The states were added up and the sum was not divided by their number."""
    return average(states, mean=lambda total, _: total)


@swa_average.mistake()
def last_state(states: Iterable[State]) -> State:
    """What comes back is the last state: the loop overwrites and does not add."""
    return average(states, add=lambda _, value, __: wide(value), mean=lambda total, _: total)


@swa_average.mistake()
def integers_become_floats(states: Iterable[State]) -> State:
    """A counter was averaged and is a float now: load_state_dict takes it without a word, and cuts it off."""
    return average(states, integer=lambda values: torch.stack(values).float().mean(0))


@swa_average.mistake()
def integers_averaged(states: Iterable[State]) -> State:
    """Counters were averaged and rounded. num_batches_tracked says how much data the statistics have seen,
    and positions and masks have no mean at all: take the last state's.
    """
    return average(states, integer=lambda values: torch.stack(values).float().mean(0).to(values[0].dtype))


@swa_average.variant(integers_averaged)
def _(states: Iterable[State]) -> State:
    def mean(values: list[Tensor]) -> Tensor:
        return torch.div(sum(value.long() for value in values), len(values), rounding_mode="floor").to(
            values[0].dtype
        )

    return average(states, integer=mean)


@swa_average.mistake()
def mean_of_integers(states: Iterable[State]) -> State:
    """mean() refuses integers, and every BatchNorm layer has one: num_batches_tracked."""
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
    """The integers of the result are the last state's own tensors. If that model trains on, its counters move
    in the average as well.
    """
    return average(states, integer=lambda values: values[-1])


@swa_average.mistake()
def first_state_edited(states: Iterable[State]) -> State:
    """The sum was started with the first state itself, and adding in place edits that checkpoint."""
    same = lambda value: value.detach() if value.dtype in (torch.float32, torch.float64) else wide(value)  # noqa: E731
    return average(states, widen=same)


@swa_average.variant(first_state_edited)
def _(states: Iterable[State]) -> State:
    same = lambda value: value.detach() if value.dtype in (torch.float32, torch.float64) else wide(value)  # noqa: E731
    return average(states, widen=same, mean=lambda total, count: total.div_(count))


@swa_average.mistake()
def float64_narrowed(states: Iterable[State]) -> State:
    """float() was applied to everything: a model in float64 loses half of its digits."""
    return average(states, widen=lambda value: value.detach().float().clone())


@swa_average.mistake()
def summed_in_half(states: Iterable[State]) -> State:
    """The sum was kept in the tensors' own dtype. float16 ends at 65504: the sum of a few large numbers is inf, though
    their mean is not. Sum in float32, at least.
    """
    return average(states, widen=lambda value: value.detach().clone())


@swa_average.mistake()
def integers_of_many_states(states: Iterable[State]) -> State:
    """The largest of each integer was taken: a counter of the last state, and a mask that is True wherever one of them
    was. They belong together: take all from one state.
    """
    return average(states, integer=lambda values: torch.stack(values).amax(0))


@swa_average.mistake()
def dtype_of_the_sum(states: Iterable[State]) -> State:
    """The result stayed in the dtype of the sum: twice the file, and another dtype than the model's."""
    first, rest = read(states)
    count, total = (
        1,
        {name: wide(value) if value.is_floating_point() else value.clone() for name, value in first.items()},
    )
    for state in rest:
        count += 1
        for name, value in state.items():
            total[name] = total[name] + value.detach() if value.is_floating_point() else value.clone()
    return {name: value / count if value.is_floating_point() else value for name, value in total.items()}


@swa_average.mistake()
def torchs_own(states: Iterable[State]) -> State:
    """The functions of torch.optim.swa_utils are what the exercise builds again."""
    own = get_swa_avg_fn()
    return average(
        states, add=lambda mean, value, count: own(mean, value, count - 1), mean=lambda total, _: total
    )


@swa_average.variant(torchs_own)
def _(states: Iterable[State]) -> State:
    own = get_swa_multi_avg_fn()

    def add(mean: Tensor, value: Tensor, count: int) -> Tensor:
        own([mean], [value.to(mean)], count - 1)
        return mean

    return average(states, add=add, mean=lambda total, _: total)
