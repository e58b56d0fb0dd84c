"""Trees of modules on which this lab's functions are tried: written out, and random ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

Choose = Callable[[int], int]  # choose(count): a number from 0 to count - 1

SHAPES = ((3, 2), (4,), (), (2, 1, 3), (0,), (1,), (5, 2))
PARAMETERS = ("weight", "bias", "w")
BUFFERS = ("mean", "count", "mask")
CHILDREN = ("conv", "conv2", "0", "head")  # one name begins another one


class Node(nn.Module):
    """A module that is nothing but its entries."""


def node(
    parameters: Mapping[str, Tensor | None] | None = None,
    buffers: Mapping[str, Tensor | None] | None = None,
    unsaved: Mapping[str, Tensor | None] | None = None,
    children: Mapping[str, nn.Module | None] | None = None,
) -> Node:
    """A module with these entries; `unsaved` are the buffers that no state dict holds."""
    made = Node()
    for name, value in (parameters or {}).items():
        made.register_parameter(name, value)
    for name, value in (buffers or {}).items():
        made.register_buffer(name, value)
    for name, value in (unsaved or {}).items():
        made.register_buffer(name, value, persistent=False)
    for name, value in (children or {}).items():
        made.register_module(name, value)
    return made


def parameter(*shape: int, generator: torch.Generator, requires_grad: bool = True) -> nn.Parameter:
    return nn.Parameter(torch.randn(shape, generator=generator), requires_grad=requires_grad)


def buffer(*shape: int, generator: torch.Generator) -> Tensor:
    return torch.randn(shape, generator=generator)


def counter(generator: torch.Generator) -> Tensor:
    """An integer buffer, as BatchNorm's num_batches_tracked; its number is above that of all float32 integers."""
    return torch.randint(2**40, 2**41, (), generator=generator) | 1


class _Growth:
    """One random tree; what has been made may be used again under a different name."""

    def __init__(self, choose: Choose, generator: torch.Generator, ties: bool) -> None:
        self.choose, self.generator, self.ties = choose, generator, ties
        self.made: dict[str, list[Any]] = {"parameter": [], "buffer": [], "module": []}

    def entry(self, kind: str, new: Callable[[], Any]) -> Any:
        """None, one that there is, or a new one; mostly a new one."""
        found = self.choose(6)
        if found == 0:
            return None
        if found == 1 and self.ties and self.made[kind]:
            return self.made[kind][self.choose(len(self.made[kind]))]
        self.made[kind].append(value := new())
        return value

    def parameter(self) -> nn.Parameter:
        shape = SHAPES[self.choose(len(SHAPES))]
        made = parameter(*shape, generator=self.generator, requires_grad=self.choose(4) > 0)
        if self.choose(2):
            made.grad = torch.randn(shape, generator=self.generator)
        return made

    def buffer(self) -> Tensor:
        if self.choose(3) == 0:
            return counter(self.generator)
        return buffer(*SHAPES[self.choose(len(SHAPES))], generator=self.generator)

    def node(self, depth: int) -> Node:
        made = Node()
        for name in PARAMETERS[: self.choose(4)]:
            made.register_parameter(name, self.entry("parameter", self.parameter))
        for name in BUFFERS[: self.choose(4)]:
            made.register_buffer(name, self.entry("buffer", self.buffer), persistent=self.choose(3) > 0)
        if depth:
            for name in CHILDREN[: self.choose(5)]:
                made.register_module(name, self.entry("module", lambda: self.node(depth - 1)))
        return made


def grown(choose: Choose, generator: torch.Generator, *, depth: int = 3, ties: bool = True) -> Node:
    """A random tree: None entries, frozen parameters, gradients, integers, buffers that are not saved, and, with
    `ties`, tensors and modules that stand in several places."""
    return _Growth(choose, generator, ties).node(depth)


def twins(seed: int, count: int, *, depth: int = 3, ties: bool = True) -> list[Node]:
    """Equal trees with memory of their own."""
    return [
        grown(random.Random(seed).randrange, torch.Generator().manual_seed(seed), depth=depth, ties=ties)
        for _ in range(count)
    ]


def forest(rng: random.Random, trees: int, count: int = 1, *, ties: bool = True) -> list[list[Node]]:
    """`trees` times `count` equal trees; each tree has two entries or more and is small enough for a quick check."""
    found: list[list[Node]] = []
    while len(found) < trees:
        seed = rng.randrange(2**31)
        (tried,) = twins(seed, 1, ties=ties)
        if 2 <= len(tried.state_dict()) and len(list(tried.modules())) <= 15:
            found.append(twins(seed, count, ties=ties))
    return found


def outline(module: nn.Module) -> str:
    """The tree in one line, for a report: its names, with `=None` where an entry is none, and `=encoder.w` where it is the
    object that stood there first.
    """
    return _outlined(module, "", {})


def _outlined(module: nn.Module, prefix: str, first: dict[int, str]) -> str:
    parts = []
    for name, value in [*module._parameters.items(), *module._buffers.items(), *module._modules.items()]:
        path = prefix + name
        if value is None:
            parts.append(f"{name}=None")
        elif first.setdefault(id(value), path) != path:
            parts.append(f"{name}={first[id(value)]}")
        elif isinstance(value, nn.Module):
            parts.append(f"{name}({_outlined(value, path + '.', first)})")
        else:
            parts.append(name)
    return ", ".join(parts)
