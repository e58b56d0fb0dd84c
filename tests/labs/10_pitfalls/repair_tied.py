"""Right answers to 10.repair_tied, in different shapes."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn


def restored(model: Any, state: dict[str, Tensor]) -> list[nn.Parameter]:
    model.load_state_dict(state, assign=True)
    model.head.weight = model.embedding.weight
    return list(model.parameters())


def restored_by_copy(model, state):
    model.embedding.weight = model.head.weight
    params = [model.head.weight, model.head.bias]
    model.load_state_dict(state)
    return params


def restored_by_hand(model, state):
    shared = nn.Parameter(state["embedding.weight"].clone())
    model.embedding.weight = model.head.weight = shared
    model.head.bias = nn.Parameter(state["head.bias"].clone())
    return [*model.head.parameters()]


def restored_and_named_once(model, state):
    model.load_state_dict(state, assign=True, strict=True)
    model.embedding.register_parameter("weight", model.head.weight)
    both = [*model.embedding.parameters(), *model.head.parameters()]
    return list({id(param): param for param in both}.values())


RIGHT = [restored, restored_by_copy, restored_by_hand, restored_and_named_once]
