"""What 05.state_dict is tried on: one model of known names, its files, and how two states are compared."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.module.shared.trees import Node, buffer, counter, node, parameter

State = dict[str, Any]


class Leafless(nn.ModuleList):
    """A list of modules that holds none, and so is false where Python asks for truth; it has a weight of its own."""

    def __init__(self, w: nn.Parameter) -> None:
        super().__init__()
        self.w = w


class Counted(nn.Module):
    """A module with an extra state: whatever `log` is; no tensor."""

    def __init__(self, w: nn.Parameter, log: Any) -> None:
        super().__init__()
        self.w = w
        self.log = log
        self.set_with: list[Any] = []

    def get_extra_state(self) -> Any:
        return self.log

    def set_extra_state(self, state: Any) -> None:
        self.log = state
        self.set_with.append(state)


class Giving(nn.Module):
    """Has an extra state to be saved, and none to be set."""

    def get_extra_state(self) -> Any:
        return {"given": 1}


class Taking(nn.Module):
    """Takes an extra state, and gives none."""

    def __init__(self) -> None:
        super().__init__()
        self.set_with: list[Any] = []

    def set_extra_state(self, state: Any) -> None:
        self.set_with.append(state)


class Inheriting(Counted):
    """Has its extra state from the class above."""


def model(g: torch.Generator) -> Node:
    """Nested, without None, ties or anything unsaved; one frozen parameter, one integer buffer, a transposed weight, a plain tensor beside them."""
    leaf = node({"w": parameter(2, 1, generator=g)})
    transposed = nn.Parameter(torch.randn(3, 2, generator=g).t())
    conv = node({"w": transposed, "b": parameter(generator=g)})
    conv2 = node(
        {"w": parameter(3, generator=g), "b": parameter(1, 3, generator=g, requires_grad=False)},
        {"mean": buffer(3, generator=g), "count": counter(g)},
        children={"0": leaf},
    )
    root = node(
        {"scale": parameter(4, generator=g)},
        {"seen": buffer(1, generator=g)},
        children={"conv": conv, "conv2": conv2},
    )
    for part in (root, conv2):
        part.rate = torch.tensor([0.5])  # a plain tensor: no entry of the module
    return root


PLAIN = "m.rate and m.conv2.rate are plain tensors, neither parameters nor buffers"


KEYS = ("scale", "seen", "conv.w", "conv.b", "conv2.w", "conv2.b", "conv2.mean", "conv2.count", "conv2.0.w")


def with_gaps(g: torch.Generator) -> Node:
    """None entries, a None child, buffers that are not saved, a list of modules without one."""
    block = node(
        {"bias": None, "w": parameter(2, generator=g)},
        {"mean": None, "var": buffer(2, generator=g)},
        {"cache": buffer(3, generator=g)},
    )
    return node(
        {"off": None, "w": parameter(3, 2, generator=g)},
        unsaved={"mask": buffer(2, generator=g)},
        children={"down": None, "empty": Leafless(parameter(2, generator=g)), "block": block},
    )


def with_ties(g: torch.Generator) -> Node:
    """A weight in three places and a module in two."""
    weight = parameter(3, 2, generator=g)
    shared = node({"s": parameter(2, generator=g)}, {"m": buffer(2, generator=g)})
    decoder = node({"w": weight, "b": parameter(1, generator=g)}, children={"again": shared})
    children = {"encoder": node({"w": weight}), "a": shared, "b": shared, "decoder": decoder}
    return node({"first": weight}, children=children)


def with_extra(g: torch.Generator, *logs: Any) -> Node:
    """Modules with these extra states, the last one by a class that inherits the methods; and one without."""
    kinds = [Counted] * (len(logs) - 1) + [Inheriting]
    counted = {
        f"counted{place}": kind(parameter(2, generator=g), log)
        for place, (kind, log) in enumerate(zip(kinds, logs, strict=True))
    }
    return node({"w": parameter(2, generator=g)}, children={**counted, "plain": node()})


def one_way(g: torch.Generator) -> Node:
    """A module of each of the two classes that have one of the methods only."""
    return node({"w": parameter(2, generator=g)}, children={"giving": Giving(), "taking": Taking()})


ONE_WAY = (
    "m.giving, whose class has a get_extra_state and no set_extra_state, and m.taking, the other way round"
)


def state_of(module: nn.Module) -> State:
    """What torch's state_dict holds, sharing memory with the module."""
    return nn.Module.state_dict(module)


def file_of(module: nn.Module, dtype: torch.dtype | None = None) -> OrderedDict[str, Any]:
    """The same in memory of its own, as a file read from disk; floats cast to `dtype`."""
    made: OrderedDict[str, Any] = OrderedDict()
    for key, value in state_of(module).items():
        if isinstance(value, Tensor):
            value = value.clone()
            value = value.to(dtype) if dtype is not None and value.is_floating_point() else value
        made[key] = value
    return made


def copied(module: nn.Module) -> State:
    """The values of all entries now, those that are not saved, too."""
    entries = [
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(remove_duplicate=False),
    ]
    return {name: value.detach().clone() for name, value in entries}


def same(one: Tensor, other: Tensor) -> bool:
    """To the bit and the dtype."""
    return one.dtype == other.dtype and torch.equal(one.detach(), other.detach())


def holders(module: nn.Module) -> dict[str, Tensor]:
    """The Parameters and buffers themselves, by all their names."""
    entries = [
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(remove_duplicate=False),
    ]
    return dict(entries)
