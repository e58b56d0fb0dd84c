"""What people write for 04.swa_average: the mean, its dtype, its memory."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim.swa_utils import get_swa_avg_fn, get_swa_multi_avg_fn

from helpers.check.spec import returned
from helpers.labs.optim.swa_average.exercise import swa_average
from helpers.labs.optim.swa_average.right import State, average, read, wide


@swa_average.mistake()
def halved_at_each_state(states: Iterable[State]) -> State:
    """The last state has half of all weight, the one before a quarter: an exponential average, and no equal one.
    Perhaps it is (average + state) / 2 at each state.
    """
    return average(states, add=lambda total, value, _: (total + value) / 2, mean=lambda total, _: total)


@swa_average.mistake(breaks="The equal average of several state dicts, tensor by tensor.")
def fixed_momentum(states: Iterable[State]) -> State:
    """Each state has one and the same weight against all before it: an exponential average, and no equal one. Perhaps the
    momentum is a fixed number such as 0.9; with the weight 1 / count each state counts the same.
    """
    return average(
        states, add=lambda mean, value, _: mean.lerp(value.to(mean), 0.1), mean=lambda mean, _: mean
    )


@swa_average.variant(fixed_momentum)
def _(states: Iterable[State]) -> State:
    return average(
        states, add=lambda mean, value, _: mean.lerp(value.to(mean), 0.9), mean=lambda mean, _: mean
    )


@swa_average.variant(fixed_momentum)
def _(states: Iterable[State]) -> State:
    """It begins with zeros."""
    return average(
        states,
        widen=lambda value: 0.1 * wide(value),
        add=lambda mean, value, _: mean.lerp(value.to(mean), 0.1),
        mean=lambda mean, _: mean,
    )


@swa_average.mistake(breaks="The equal average of several state dicts, tensor by tensor.")
def tied_weights_added_twice(states: Any) -> State:
    """Where two weights are tied, the result is not the mean. Perhaps the sum is kept in a deep copy of a state: two tensors
    with one memory share one in the copy, too, and each `+=` adds to both. Make each sum a tensor of its own.
    """
    total = copy.deepcopy(states[0])
    floats = [name for name, value in total.items() if value.is_floating_point()]
    for state in states[1:]:
        for name in floats:
            total[name] += state[name]
    return total | {name: total[name] / len(states) for name in floats}


@swa_average.mistake(breaks="The equal average of several state dicts, tensor by tensor.")
def matched_by_place(states: Any) -> State:
    """Where a state has its keys in a different order, the result is not the mean. Perhaps values are matched by their place,
    as by zip: ask each state for the key.
    """
    columns = zip(*(state.values() for state in states), strict=True)
    return {
        name: sum(map(wide, values)).div(len(values)).to(values[-1].dtype)
        if values[-1].is_floating_point()
        else values[-1].clone()
        for name, values in zip(states[-1], columns, strict=True)
    }


@swa_average.mistake(breaks="The mean has that dtype")
def dtype_of_the_first_tensor(states: Any) -> State:
    """Where tensors of a state have different dtypes, some of the result have the wrong one. Perhaps one dtype, that of the first
    tensor, was taken for all.
    """
    mean, dtype = average(states), next(iter(states[-1].values())).dtype
    return {name: value.to(dtype) if value.is_floating_point() else value for name, value in mean.items()}


@swa_average.mistake()
def first_state_left_out(states: Iterable[State]) -> State:
    """The first state has no part in the average: it is the mean of the others. Perhaps states[1:] was averaged; or a running
    mean is divided by the number of states before this one, so that the second wipes out the first: with n states, this one
    included, it is mean += (state - mean) / n.
    """
    step = lambda mean, value, count: mean + (value - mean) / (count - 1)  # noqa: E731
    return average(states, add=step, mean=lambda total, _: total)


@swa_average.mistake()
def one_state_too_many(states: Iterable[State]) -> State:
    """The sum is divided by one more than the number of states, as if there were a state of zeros. Perhaps a count
    starts at 1 and goes up once for each state.
    """
    return average(states, mean=lambda total, count: total / (count + 1))


@swa_average.mistake()
def never_divided(states: Iterable[State]) -> State:
    """The result is the sum of the states, and not their mean. Perhaps the division by their number is missing."""
    return average(states, mean=lambda total, _: total)


@swa_average.mistake()
def last_state(states: Iterable[State]) -> State:
    """Every tensor is the last state's, and no mean. Perhaps the loop overwrites where it should add."""
    return average(states, add=lambda _, value, __: wide(value), mean=lambda total, _: total)


@swa_average.mistake()
def first_state_edited(states: Iterable[State]) -> State:
    """The first state holds other numbers than before. Perhaps the sum starts with that state's own tensors (a shallow
    copy of the dict holds the same) and is added up in place, or the mean was written into them.
    """
    same = lambda value: value.detach() if value.dtype in (torch.float32, torch.float64) else wide(value)  # noqa: E731
    return average(states, widen=same)


@swa_average.variant(first_state_edited)
def _(states: Iterable[State]) -> State:
    same = lambda value: value.detach() if value.dtype in (torch.float32, torch.float64) else wide(value)  # noqa: E731
    return average(states, widen=same, mean=lambda total, count: total.div_(count))


@swa_average.mistake(breaks="The mean has that dtype, and is as exact as it")
def float64_narrowed(states: Iterable[State]) -> State:
    """States in float64 come back as float64, with the digits of float32. Perhaps float() was applied to everything."""
    return average(states, widen=lambda value: value.detach().float().clone())


@swa_average.mistake(breaks="a sum of many in float16 or bfloat16 is not.")
def summed_in_half(states: Iterable[State]) -> State:
    """The mean of large float16 numbers is not finite, though it is no larger than they are. Perhaps the sum was kept in
    float16, which ends at 65504: sum in float32, at least.
    """
    return average(states, widen=lambda value: value.detach().clone())


@swa_average.mistake(breaks="The mean has that dtype")
def dtype_of_the_sum(states: Iterable[State]) -> State:
    """The mean of half-precision states comes back in float32: twice the file, and a different dtype than the model's. Perhaps
    it stayed in the dtype of the sum.
    """
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


def of_lists(mean: Callable[[list[Tensor]], Tensor]) -> Callable[[Any], State]:
    """The result for each tensor with a point is made of the list of all its values."""

    def answer(states: Any) -> State:
        each = {name: [state[name] for state in states] for name in states[-1]}
        return {
            name: mean(values) if values[0].is_floating_point() else values[-1].clone()
            for name, values in each.items()
        }

    return answer


in_lists = swa_average.bank(returned)


@in_lists.mistake(breaks="The equal average of several state dicts, tensor by tensor.")
def last_left_out():
    """The last state has no part in the average. Perhaps the loop ends one state too early."""
    return of_lists(lambda values: torch.stack(values[:-1] or values).mean(0))


@in_lists.mistake(breaks="The equal average of several state dicts, tensor by tensor.")
def divided_by_one_less():
    """The sum is divided by one less than the number of states, so that every number is too far from 0. Perhaps the first
    state, with which the sum starts, is not counted; or n - 1 is that of a variance.
    """
    return of_lists(lambda values: torch.stack(values).sum(0) / max(len(values) - 1, 1))


@in_lists.mistake(breaks="The equal average of several state dicts, tensor by tensor.")
def middle_taken():
    """The result is the median of the states: outliers then count for nothing. The average is the mean."""
    return of_lists(lambda values: torch.stack(values).median(0).values)


@swa_average.variant(middle_taken)
def _(states: Any) -> State:
    """Between the two in the middle."""
    return of_lists(lambda values: torch.stack(values).double().quantile(0.5, dim=0).to(values[-1].dtype))(
        states
    )


@in_lists.mistake(breaks="The equal average of several state dicts, tensor by tensor.")
def first_state_twice():
    """The first state counts twice, and the sum is divided by one more than the number of states. Perhaps the sum starts with the
    first state, and the loop adds it again.
    """
    return of_lists(lambda values: (values[0] + torch.stack(values).sum(0)) / (len(values) + 1))


@in_lists.mistake(breaks="The equal average of several state dicts, tensor by tensor.")
def mean_of_all_numbers():
    """All numbers of a tensor are one and the same: their mean. Perhaps mean() was called without dim=0, so that it goes over the
    numbers of a tensor, too, and not over the states alone.
    """
    return of_lists(lambda values: torch.stack(values).mean().expand_as(values[-1]).clone())


@in_lists.mistake(breaks="The equal average of several state dicts, tensor by tensor.")
def first_and_last():
    """Only the first and the last state are in the average; those between have no part in it."""
    return of_lists(lambda values: (values[0] + values[-1]) / 2)


@in_lists.mistake(breaks="New tensors; the states are left as they are, and share no memory with the result.")
def one_state_not_copied():
    """With one state the result's numbers lie in that state's memory: when that model trains on, the average moves.
    Perhaps one state is a case of its own, or `.to(dtype)` is taken for a copy: where the dtype is right it copies nothing.
    """
    return of_lists(lambda values: values[0] if len(values) == 1 else torch.stack(values).mean(0))


@in_lists.mistake(breaks="The mean has that dtype, and is as exact as it")
def rounded_at_each_state():
    """The mean of many states in bfloat16 is off, though it has its dtype. Perhaps the sum, a running mean or each state's
    share is rounded to bfloat16 at each state, and what is small beside the mean gets lost: go on in float32, and round once.
    """

    def mean(values: list[Tensor]) -> Tensor:
        result = values[0].clone()
        for count, value in enumerate(values[1:], 2):
            result += (value - result) / count
        return result

    return of_lists(mean)


swa_average.variant(rounded_at_each_state)(of_lists(lambda values: sum(v / len(values) for v in values)))


@in_lists.mistake(breaks="The equal average of several state dicts, tensor by tensor.")
def weighted_by_place():
    """Later states count more: the second has twice the weight of the first, the third three times. All count the same."""

    def mean(values: list[Tensor]) -> Tensor:
        return sum(value * place for place, value in enumerate(values, 1)) / sum(range(len(values) + 1))

    return of_lists(mean)


@in_lists.mistake(breaks="The mean has that dtype, and is as exact as it")
def left_in_float64():
    """The mean is right, and comes in float64, though the states are in float32. Perhaps it was computed in float64 and not
    brought back: to(dtype) of the states.
    """
    return of_lists(lambda values: torch.stack([value.double() for value in values]).mean(0))


@swa_average.variant(one_state_not_copied)
def _(states: Any) -> State:
    return states[0] if len(states) == 1 else average(states)


@in_lists.mistake(breaks="The mean has that dtype, and is as exact as it")
def always_float32():
    """Whatever the dtype of the states, the mean comes back in float32: float64 loses half of its digits, and half
    precision takes twice the memory.
    """
    return of_lists(lambda values: torch.stack([value.float() for value in values]).mean(0))


@swa_average.mistake(breaks="The equal average of several state dicts, tensor by tensor.")
def statistics_not_averaged(states: Iterable[State]) -> State:
    """Some floating-point tensors are the last state's, others are right. Perhaps statistics such as running_mean are picked
    out by their name, or tensors without dimensions are taken for counters: all of floating dtype are averaged.
    """
    states = list(states)
    return average(states) | {
        name: value.clone() for name, value in states[-1].items() if "running" in name or "num" in name
    }


@swa_average.mistake(breaks="Tensors of a floating dtype are averaged.")
def some_floats_left_out(states: Iterable[State]) -> State:
    """The result lacks some tensors of floating dtype that the states have: load_state_dict refuses it. Perhaps keys were chosen
    by how they end; a model may call its parameters and buffers anything.
    """
    ends = ("weight", "bias", "running_mean", "running_var")
    return {
        name: value
        for name, value in average(states).items()
        if name.endswith(ends) or not value.is_floating_point()
    }


@swa_average.variant(some_floats_left_out)
def _(states: Iterable[State]) -> State:
    """Parameters only."""
    return {name: value for name, value in average(states).items() if name.endswith(("weight", "bias"))}


@swa_average.mistake(
    breaks="New tensors; the states are left as they are, and share no memory with the result."
)
def last_state_rewritten(states: Any) -> State:
    """The last state's dict holds other tensors than before. Perhaps the averages were put into that dict, which is the
    caller's: make a new one.
    """
    mean = average(list(states))
    states[-1].update(mean)
    return states[-1]


@swa_average.mistake(
    breaks="New tensors; the states are left as they are, and share no memory with the result."
)
def first_state_rewritten(states: Any) -> State:
    """The first state's dict holds other tensors than before. Perhaps the sum or the averages were put into that dict, which
    is the caller's: make a new one.
    """
    mean = average(list(states))
    states[0].update(mean)
    return mean


@swa_average.variant(first_state_rewritten)
def _(states: Any) -> State:
    """A sum in its tensors, integers put into its dict."""
    for state in states[1:]:
        for name, value in state.items():
            if value.is_floating_point():
                states[0][name] += value
            else:
                states[0][name] = value.clone()
    return {
        name: value / len(states) if value.is_floating_point() else value.clone()
        for name, value in states[0].items()
    }


@swa_average.mistake(
    breaks="New tensors; the states are left as they are, and share no memory with the result."
)
def list_emptied(states: Any) -> State:
    """The list of states holds other entries after the call than before. Perhaps pop() takes the states out of it, to save
    memory: the list is the caller's.
    """
    return average([states.pop(0) for _ in range(len(states))])


@swa_average.variant(list_emptied)
def _(states: Any) -> State:
    first = states.pop(0)
    return average([first, *states])


@in_lists.mistake(breaks="Tensors of a floating dtype are averaged.")
def one_dtype_averaged():
    """In some floating dtypes the result is the last state's, and no mean. Perhaps one dtype was asked for, as by
    dtype == torch.float32: is_floating_point() asks for all.
    """
    return of_lists(lambda values: mean_if(values, torch.float32))


def mean_if(values: list[Tensor], *dtypes: torch.dtype) -> Tensor:
    """The mean in these dtypes, the last value in others."""
    return torch.stack(values).mean(0) if values[0].dtype in dtypes else values[-1].clone()


swa_average.variant(one_dtype_averaged)(
    of_lists(lambda values: mean_if(values, torch.float32, torch.float64))
)


@swa_average.mistake()
def torchs_own(states: Iterable[State]) -> State:
    """Functions of torch.optim.swa_utils ran. They are what the exercise builds again."""
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
