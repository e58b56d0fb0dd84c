"""Right answers to 04.param_groups, in different shapes."""

from __future__ import annotations

from typing import Any

from torch import nn


def groups_plain(model: nn.Module, weight_decay: float) -> list[dict]:
    """Two comprehensions over one list."""
    params = [param for param in model.parameters() if param.requires_grad]
    return [
        {"params": [param for param in params if param.ndim >= 2], "weight_decay": weight_decay},
        {"params": [param for param in params if param.ndim < 2], "weight_decay": 0.0},
    ]


def groups_by_a_loop(model: nn.Module, weight_decay: float) -> list[dict]:
    """Appends while it walks; names each group; an integer 0."""
    decay: dict[str, Any] = {"params": [], "weight_decay": weight_decay, "name": "decay"}
    rest: dict[str, Any] = {"params": [], "weight_decay": 0, "name": "no decay"}
    for _, param in model.named_parameters():
        if param.requires_grad:
            (rest if param.dim() <= 1 else decay)["params"].append(param)
    return [decay, rest]


def groups_by_modules(model: nn.Module, weight_decay: float) -> list[dict]:
    """Every module's own dict, with a set of ids; the groups are tuples."""
    seen: set[int] = set()
    found: tuple[list, list] = ([], [])
    for module in model.modules():
        for param in module._parameters.values():
            if param is not None and param.requires_grad and id(param) not in seen:
                seen.add(id(param))
                found[len(param.shape) < 2].append(param)
    return [
        {"params": tuple(params), "weight_decay": value}
        for params, value in zip(found, (weight_decay, 0.0), strict=True)
    ]


def groups_by_filters(model: nn.Module, weight_decay: float) -> list[dict]:
    """Filters made into lists at once."""
    named = dict(filter(lambda pair: pair[1].requires_grad, model.named_parameters()))
    spared = {name for name, param in named.items() if len(param.size()) in (0, 1)}
    return [
        dict(params=[named[name] for name in named if name not in spared], weight_decay=weight_decay),
        dict(params=[named[name] for name in named if name in spared], weight_decay=0.0),
    ]


RIGHT = [groups_plain, groups_by_a_loop, groups_by_modules, groups_by_filters]
