"""Right answers to 04.swa_average, in different shapes."""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

import numpy as np
import torch

State = dict[str, torch.Tensor]


def average_of_sums(states: list[State]) -> State:
    """Sums that are added up one state at a time; integers of the last state."""
    total: State = {}
    for count, state in enumerate(states, 1):
        for name, value in state.items():
            if not value.is_floating_point():
                total[name] = value.clone()
            elif count == 1:
                total[name] = value.to(torch.promote_types(value.dtype, torch.float32), copy=True)
            else:
                total[name] += value
    return {
        name: (value / count).to(state[name].dtype) if value.is_floating_point() else value
        for name, value in total.items()
    }


@torch.no_grad()
def running_average(states: list[State]) -> State:
    """A running mean in float64; integers of the first state."""
    first, *rest = states
    mean = {name: value.double() for name, value in first.items() if value.is_floating_point()}
    for count, state in enumerate(rest, 2):
        for name in mean:
            mean[name] = mean[name] + (state[name] - mean[name]) / count
    return {name: mean.get(name, value).to(value.dtype, copy=True) for name, value in first.items()}


def average_by_numpy(states: list[State]) -> OrderedDict[str, torch.Tensor]:
    """Sums in NumPy's longdouble; integers through a deep copy of the last state."""
    sums: dict[str, Any] = {}
    for state in states:
        for name, value in state.items():
            if value.dtype.is_floating_point:
                sums[name] = sums.get(name, 0) + value.double().numpy().astype(np.longdouble)
    return OrderedDict(
        (
            name,
            torch.as_tensor(np.float64(sums[name] / len(states))).to(value.dtype) if name in sums else value,
        )
        for name, value in copy.deepcopy(states[-1]).items()
    )


RIGHT = [average_of_sums, running_average, average_by_numpy]
