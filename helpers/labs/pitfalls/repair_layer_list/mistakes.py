"""What people write for 10.repair_layer_list, and why it is wrong."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.pitfalls.repair_layer_list.exercise import repair_layer_list
from helpers.labs.pitfalls.shared.repairs import add_pitfalls


class Stack(nn.Module):
    """Whatever layers and scale it is given, and however they are kept."""

    def __init__(self, layers: Any, scale: Any) -> None:
        super().__init__()
        self.layers, self.scale = layers, scale

    def each(self) -> Iterable[nn.Module]:
        return self.layers.values() if isinstance(self.layers, dict) else self.layers

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.each():
            x = layer(x).relu()
        return x * self.scale


def linears(width: int, depth: int) -> list[nn.Linear]:
    return [nn.Linear(width, width) for _ in range(depth)]


def tenth(width: int) -> nn.Parameter:
    return nn.Parameter(torch.full((width,), 0.1))


def broken(have: set[str]) -> Callable[[int, int], nn.Module]:
    """The text's code with some of its pitfalls."""

    def stack(width: int, depth: int) -> nn.Module:
        one = "one_layer_many_times" in have
        parts = [nn.Linear(width, width)] * depth if one else linears(width, depth)
        scale = nn.Parameter(torch.ones(width)) * 0.1 if "parameter_times_number" in have else tenth(width)
        return Stack(parts if "python_list" in have else nn.ModuleList(parts), scale)

    return stack


add_pitfalls(
    repair_layer_list,
    broken,
    {
        "python_list": (
            "A module registers modules and parameters that are assigned to it, and does not look into lists and dicts. "
            "The layers run, and parameters(), state_dict(), to() and train() do not know them: nn.ModuleList."
        ),
        "one_layer_many_times": (
            "`[layer] * n` writes one object down n times: the stack shares one set of weights. Make a new layer in each "
            "round of a comprehension."
        ),
        "parameter_times_number": (
            "nn.Parameter(...) times a number is the result of an operation: a plain Tensor with a graph behind it. What "
            "was registered is thrown away: compute first, and wrap the result."
        ),
    },
)


@repair_layer_list.variant("python_list")
def _(width: int, depth: int) -> nn.Module:
    return Stack({str(place): layer for place, layer in enumerate(linears(width, depth))}, tenth(width))


@repair_layer_list.mistake()
def plain_tensor(width: int, depth: int) -> nn.Module:
    """A tensor that is assigned to a module is an ordinary attribute: no Parameter, not saved, not moved, not
    trained.
    """
    return Stack(nn.ModuleList(linears(width, depth)), torch.full((width,), 0.1))


@repair_layer_list.variant(plain_tensor)
def _(width: int, depth: int) -> nn.Module:
    return Stack(nn.ModuleList(linears(width, depth)), tenth(width).data)


@repair_layer_list.mistake()
def tensor_that_requires_grad(width: int, depth: int) -> nn.Module:
    """requires_grad=True makes a leaf that gets a gradient, and no Parameter: no optimizer is told of it, and
    .double() passes it by.
    """
    return Stack(nn.ModuleList(linears(width, depth)), torch.full((width,), 0.1, requires_grad=True))


class WithBuffer(Stack):
    def __init__(self, layers: Any, scale: Tensor) -> None:
        super().__init__(layers, 1)
        del self.scale
        self.register_buffer("scale", scale)


@repair_layer_list.mistake()
def buffer(width: int, depth: int) -> nn.Module:
    """A buffer is saved and moved with the module, and not trained. What should be learned is a Parameter."""
    return WithBuffer(nn.ModuleList(linears(width, depth)), torch.full((width,), 0.1))


@repair_layer_list.mistake()
def copies_of_one(width: int, depth: int) -> nn.Module:
    """deepcopy makes separate layers that begin with the same weights. nn.TransformerEncoder does so, too:
    draw each layer anew.
    """
    first = nn.Linear(width, width)
    return Stack(nn.ModuleList(copy.deepcopy(first) for _ in range(depth)), tenth(width))


class MadeInForward(nn.Module):
    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.width, self.depth, self.scale = width, depth, tenth(width)

    def forward(self, x: Tensor) -> Tensor:
        for layer in linears(self.width, self.depth):
            x = layer(x).relu()
        return x * self.scale


@repair_layer_list.mistake()
def made_in_forward(width: int, depth: int) -> nn.Module:
    """Layers that are made in forward are new in each call, with new random weights, and what an optimizer
    learned is gone. Make them in __init__.
    """
    return MadeInForward(width, depth)


@repair_layer_list.mistake()
def one_number(width: int, depth: int) -> nn.Module:
    """A scale of shape () is one number for all features; one for each feature was asked for."""
    return Stack(nn.ModuleList(linears(width, depth)), nn.Parameter(torch.tensor(0.1)))


@repair_layer_list.mistake()
def scale_of_ones(width: int, depth: int) -> nn.Module:
    """Wrapping first and scaling later left ones behind: the 0.1 belongs into the Parameter."""
    return Stack(nn.ModuleList(linears(width, depth)), nn.Parameter(torch.ones(width)))


class Linear(Stack):
    def forward(self, x: Tensor) -> Tensor:
        for layer in self.each():
            x = layer(x)
        return x * self.scale


class LastLinear(Stack):
    def forward(self, x: Tensor) -> Tensor:
        *hidden, last = self.each()
        for layer in hidden:
            x = layer(x).relu()
        return last(x) * self.scale


class Unscaled(Stack):
    def forward(self, x: Tensor) -> Tensor:
        for layer in self.each():
            x = layer(x).relu()
        return x


@repair_layer_list.mistake()
def no_relu(width: int, depth: int) -> nn.Module:
    """Without relu between them, any number of Linear layers is one Linear layer."""
    return Linear(nn.ModuleList(linears(width, depth)), tenth(width))


@repair_layer_list.mistake()
def last_without_relu(width: int, depth: int) -> nn.Module:
    """A last layer without relu is the habit of classifiers. Here each layer is followed by one."""
    return LastLinear(nn.ModuleList(linears(width, depth)), tenth(width))


@repair_layer_list.mistake()
def scale_not_used(width: int, depth: int) -> nn.Module:
    """The scale is registered and forward does not use it: its gradient stays None."""
    return Unscaled(nn.ModuleList(linears(width, depth)), tenth(width))
