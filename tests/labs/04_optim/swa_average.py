"""Right answers to 04.swa_average, in different shapes."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

State = dict[str, torch.Tensor]


def average_of_sums(states: Iterable[State]) -> State:
    """The solution of the notebook."""
    total: State = {}
    count = 0
    for count, state in enumerate(states, 1):
        if count == 1:
            dtypes = {name: value.dtype for name, value in state.items()}
        if state.keys() != dtypes.keys():
            raise ValueError("states with different keys")
        for name, value in state.items():
            value = value.detach()
            if not value.is_floating_point() or count == 1:
                total[name] = value.to(torch.promote_types(value.dtype, torch.float32), copy=True)
                if not value.is_floating_point():
                    total[name] = value.clone()
            else:
                total[name] += value
    if not count:
        raise ValueError("no state to average")
    return {name: (v / count).to(dtypes[name]) if v.is_floating_point() else v for name, v in total.items()}


@torch.no_grad()
def running_average(states: Iterable[State]) -> State:
    """A running mean in float64."""
    states = iter(states)
    try:
        first = next(states)
    except StopIteration:
        raise ValueError("nothing to average") from None
    mean = {
        name: value.double() if value.is_floating_point() else value.clone() for name, value in first.items()
    }
    kinds = {name: value.dtype for name, value in first.items()}
    for count, state in enumerate(states, 2):
        if set(state) ^ set(mean):
            raise ValueError(f"keys differ: {set(state) ^ set(mean)}")
        for name in mean:
            if kinds[name].is_floating_point:
                mean[name] = mean[name] + (state[name].double() - mean[name]) / count
            else:
                mean[name] = state[name].clone()
    return {name: value.to(kinds[name], copy=True) for name, value in mean.items()}


def average_by_numpy(states: Iterable[State]) -> OrderedDict[str, torch.Tensor]:
    """Sums in NumPy's longdouble; integers through a deep copy of the last state."""
    sums: dict[str, Any] = {}
    last, names, count = None, None, 0
    for state in states:
        names = names or tuple(state)
        if sorted(names) != sorted(state):
            raise ValueError("keys")
        for name in names:
            if state[name].dtype.is_floating_point:
                sums[name] = sums.get(name, 0) + state[name].detach().double().numpy().astype(np.longdouble)
        last, count = copy.deepcopy({name: value.detach() for name, value in state.items()}), count + 1
    if last is None:
        raise ValueError("empty")
    return OrderedDict(
        (
            name,
            torch.as_tensor(np.float64(sums[name] / count)).to(value.dtype)
            if name in sums
            else value.clone(),
        )
        for name, value in last.items()
    )


RIGHT = [average_of_sums, running_average, average_by_numpy]
