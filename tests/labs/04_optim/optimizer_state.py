"""Right answers to 04.optimizer_state, in different shapes."""

from __future__ import annotations

import copy
import io
import itertools
from collections import defaultdict
from typing import Any

import torch
from torch.optim import Optimizer


def save_by_index(opt: Optimizer) -> dict[str, Any]:
    """The solution of the notebook."""
    params = [param for group in opt.param_groups for param in group["params"]]
    index = {param: place for place, param in enumerate(params)}
    groups = []
    for group in opt.param_groups:
        options = {key: copy.deepcopy(value) for key, value in group.items() if key != "params"}
        groups.append(options | {"params": [index[param] for param in group["params"]]})
    state = {index[param]: copy.deepcopy(values) for param, values in opt.state.items()}
    return {"state": state, "param_groups": groups}


def load_by_index(opt: Optimizer, sd: dict[str, Any]) -> None:
    sizes = [len(group["params"]) for group in opt.param_groups]
    if sizes != (saved := [len(group["params"]) for group in sd["param_groups"]]):
        raise ValueError(f"the optimizer has groups of {sizes} parameters, the file of {saved}")
    params = {}
    for group, saved_group in zip(opt.param_groups, sd["param_groups"], strict=True):
        params |= dict(zip(saved_group["params"], group["params"], strict=True))
        group.update({key: copy.deepcopy(value) for key, value in saved_group.items() if key != "params"})
    opt.state.clear()
    for place, values in sd["state"].items():
        for key, value in copy.deepcopy(values).items():
            if isinstance(value, torch.Tensor) and key != "step":
                value = value.to(params[place])
            opt.state[params[place]][key] = value


def save_in_one_pass(opt: Optimizer) -> dict[str, Any]:
    """One loop, a counter, one deep copy at the end."""
    state, groups, numbers = {}, [], itertools.count()
    for group in opt.param_groups:
        packed = dict(group, params=[])
        for param in group["params"]:
            packed["params"].append(number := next(numbers))
            if values := opt.state.get(param):
                state[number] = values
        groups.append(packed)
    return copy.deepcopy({"state": state, "param_groups": groups})


def load_anew(opt: Optimizer, sd: dict[str, Any]) -> None:
    """New dicts and lists, handed over in one go as torch does; until then zip refuses what does not fit."""
    sd, state, groups = copy.deepcopy(sd), defaultdict(dict), []
    for own, saved in zip(opt.param_groups, sd["param_groups"], strict=True):
        for place, param in zip(saved["params"], own["params"], strict=True):
            for key, value in sd["state"].get(place, {}).items():
                fits = key == "step" or not torch.is_tensor(value)
                state[param][key] = value if fits else value.to(device=param.device, dtype=param.dtype)
        groups.append({**saved, "params": own["params"]})
    opt.__setstate__({"state": state, "param_groups": groups})


def save_through_bytes(opt: Optimizer) -> dict[str, Any]:
    """The way through a file is the copy."""
    flat = list(itertools.chain.from_iterable(group["params"] for group in opt.param_groups))
    place = {id(param): number for number, param in enumerate(flat)}
    memory = io.BytesIO()
    torch.save(
        {
            "state": {place[id(param)]: dict(values) for param, values in opt.state.items()},
            "param_groups": [
                {
                    name: [place[id(p)] for p in value] if name == "params" else value
                    for name, value in group.items()
                }
                for group in opt.param_groups
            ],
        },
        memory,
    )
    memory.seek(0)
    return torch.load(memory, weights_only=True)


class Cupboard:
    """Both as methods; the state of each parameter is replaced, one by one, and never the dict."""

    def put(self, opt: Optimizer, /) -> dict[str, Any]:
        return save_in_one_pass(opt)

    def take(self, opt: Optimizer, sd: dict[str, Any], /) -> None:
        pairs = list(itertools.zip_longest(opt.param_groups, sd["param_groups"], fillvalue={"params": []}))
        if any(len(own["params"]) != len(saved["params"]) for own, saved in pairs):
            raise ValueError("the groups differ")
        numbers = itertools.count()
        for own, saved in pairs:
            for key in saved.keys() - {"params"}:
                own[key] = copy.deepcopy(saved[key])
            for param in own["params"]:
                opt.state.pop(param, None)
                for key, value in sd["state"].get(next(numbers), {}).items():
                    self.one(opt, param, key, value)

    def one(self, opt: Optimizer, param: torch.Tensor, key: str, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            value = value.clone() if key == "step" else value.to(param.dtype, copy=True).to(param.device)
        opt.state[param][key] = value


RIGHT = [
    (save_by_index, load_by_index),
    (save_in_one_pass, load_anew),
    (save_through_bytes, load_by_index),
    (Cupboard().put, Cupboard().take),
]
