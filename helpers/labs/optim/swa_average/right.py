"""A right average in parts, of which each mistake of 04.swa_average replaces one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Tensor

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
