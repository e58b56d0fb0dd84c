"""What the schema of an operation says of it, and ways through its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from helpers.streams.tensor import SimTensor

aten = torch.ops.aten


@dataclass(frozen=True)
class Kind:
    """written: positions and names of the arguments that it changes. draws: it takes random numbers.

    host_needs_it: the host cannot go on without the result: a number of Python, or a shape.
    layout_only: it changes the shape of its argument, not the values (`t_`, `resize_`).
    """

    name: str
    written: tuple[tuple[int, str], ...]
    draws: bool
    host_needs_it: bool
    layout_only: bool


@cache
def kind_of(func: Any) -> Kind:
    """The kind of an overload such as `torch.ops.aten.add_.Tensor`."""
    written = tuple(
        (place, argument.name)
        for place, argument in enumerate(func._schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    )
    tags = set(func.tags)
    needed = tags & {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
    needed = (needed and func is not aten.index.Tensor) or func is aten.equal.default
    name = func._schema.name.split("::")[1]
    draws, layout_only = torch.Tag.nondeterministic_seeded in tags, torch.Tag.inplace_view in tags
    return Kind(name, written, draws, bool(needed), layout_only)


def written_by(func: Any, args: Any, kwargs: Any) -> list[SimTensor]:
    """The tensors among the arguments that the operation changes."""
    values = [args[place] if place < len(args) else kwargs.get(name) for place, name in kind_of(func).written]
    return tensors_in(values)


def leaves(value: Any) -> Iterator[Any]:
    """What lies in nested lists, tuples and dicts."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        yield value
        return
    for item in value:
        yield from leaves(item)


def replaced(value: Any, swap: Callable[[torch.Tensor], Any]) -> Any:
    """The same nest with every tensor swapped."""
    if isinstance(value, torch.Tensor):
        return swap(value)
    if isinstance(value, list | tuple):
        return (
            [replaced(item, swap) for item in value]
            if type(value) is list
            else tuple(replaced(item, swap) for item in value)
        )
    if isinstance(value, dict):
        return {key: replaced(item, swap) for key, item in value.items()}
    return value


def tensors_in(value: Any) -> list[SimTensor]:
    """The tensors of the device in a nest of arguments."""
    return [leaf for leaf in leaves(value) if isinstance(leaf, SimTensor)]


def raw_of(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.raw if isinstance(tensor, SimTensor) else tensor


def shadow_of(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.shadow if isinstance(tensor, SimTensor) else tensor
