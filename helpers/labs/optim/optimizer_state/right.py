"""A right answer to 04.optimizer_state in parts, of which each mistake replaces one."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import chain
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

State = dict[str, Any]


def options(group: State) -> State:
    """All of a group but its parameters, copied."""
    return {key: copy.deepcopy(value) for key, value in group.items() if key != "params"}


def places(opt: Optimizer) -> dict[Tensor, int]:
    """Each parameter's place."""
    return {
        param: place for place, param in enumerate(chain.from_iterable(g["params"] for g in opt.param_groups))
    }


def save(opt: Optimizer) -> State:
    """Right, so that a mistake in loading stands alone."""
    place = places(opt)
    return {
        "state": {place[param]: copy.deepcopy(values) for param, values in opt.state.items()},
        "param_groups": [options(g) | {"params": [place[p] for p in g["params"]]} for g in opt.param_groups],
    }


def cast(key: str, value: Any, param: Tensor) -> Any:
    """A copy in the parameter's dtype."""
    if not isinstance(value, Tensor):
        return copy.deepcopy(value)
    return value.clone() if key == "step" else value.to(param, copy=True)


def refuse(opt: Optimizer, sd: State) -> None:
    """Raises ValueError if the groups do not fit."""
    if [len(g["params"]) for g in opt.param_groups] != [len(g["params"]) for g in sd["param_groups"]]:
        raise ValueError("groups of other sizes")


def load(opt: Optimizer, sd: State, value_of: Callable[[str, Any, Tensor], Any] = cast) -> None:
    """Right, so that a mistake in saving stands alone."""
    refuse(opt, sd)
    params = list(places(opt))
    for group, saved in zip(opt.param_groups, sd["param_groups"], strict=True):
        group.update(options(saved))
    opt.state.clear()
    for place, values in sd["state"].items():
        opt.state[params[place]].update(
            {key: value_of(key, value, params[place]) for key, value in values.items()}
        )
