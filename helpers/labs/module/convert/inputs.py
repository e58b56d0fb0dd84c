"""What 05.convert is tried on: one model of known names, and two functions to convert it with."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from helpers.labs.module.shared.states import copied, holders, same
from helpers.labs.module.shared.trees import Node, buffer, counter, node, parameter

Fn = Callable[[Tensor], Tensor]


def to_double(t: Tensor) -> Tensor:
    """What .double() asks for: floats only."""
    return t.double() if t.is_floating_point() else t


def doubled(t: Tensor) -> Tensor:
    """All values times two, in new memory; the dtype stays."""
    return t * 2


def integers(g: torch.Generator) -> Tensor:
    """Two large ones: with and without a dimension, entries differ in their kind alone."""
    return torch.stack([counter(g), counter(g)])


def model(g: torch.Generator, *, gradients: bool = True) -> Node:
    """Nested; a frozen parameter, integers and floats with and without dimensions, half and double ones, buffers that are not saved, gradients on some."""
    leaf = node({"w": parameter(2, 1, generator=g)}, unsaved={"cache": buffer(2, generator=g)})
    block = node(
        {
            "w": parameter(3, generator=g),
            "frozen": parameter(1, 3, generator=g, requires_grad=False),
            "index": nn.Parameter(integers(g), requires_grad=False),
            "gain": parameter(generator=g),
            "short": nn.Parameter(torch.randn(2, generator=g).half()),
        },
        {
            "mean": buffer(3, generator=g),
            "num_batches_tracked": counter(g),
            "table": integers(g),
            "level": buffer(generator=g),
            "wide": buffer(2, generator=g).double(),
        },
        {"mask": buffer(2, generator=g)},
        {"leaf": leaf},
    )
    root = node(
        {"scale": parameter(4, generator=g)}, {"seen": buffer(1, generator=g)}, children={"block": block}
    )
    if gradients:
        for param in (root.scale, block.frozen, leaf.w):
            param.grad = torch.randn(param.shape, generator=g)
    return root


def wanted(module: nn.Module, fn: Fn) -> dict[str, Tensor]:
    """What fn makes of each entry, by its name."""
    return {name: fn(value) for name, value in copied(module).items()}


def off_entries(module: nn.Module, want: dict[str, Tensor]) -> list[str]:
    """The names under which the module does not hold these values in this dtype."""
    now = holders(module)
    return [name for name, value in want.items() if name not in now or not same(now[name], value)]
