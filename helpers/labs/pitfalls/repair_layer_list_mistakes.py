"""What people write for 10.repair_layer_list."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.pitfalls.repair_layer_list import repair_layer_list
from helpers.labs.pitfalls.repair_parts import add_pitfalls


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
            "The layers run, and parameters(), state_dict(), to() and train() do not know them: nn.ModuleList.",
            "does not look into lists and dicts",
        ),
        "one_layer_many_times": (
            "`[layer] * n` writes one object down n times: the stack shares one set of weights. Make a new layer in each "
            "round of a comprehension.",
            "writes one object down n times",
        ),
        "parameter_times_number": (
            "nn.Parameter(...) times a number is the result of an operation: a plain Tensor with a graph behind it. What "
            "was registered is thrown away: compute first, and wrap the result.",
            "is the result of an operation",
        ),
    },
)


@repair_layer_list.another_form("python_list")
def _(width: int, depth: int) -> nn.Module:
    return Stack({str(place): layer for place, layer in enumerate(linears(width, depth))}, tenth(width))


@repair_layer_list.wrong_answer(
    "plain_tensor",
    why="A tensor that is assigned to a module is an ordinary attribute: no Parameter, not saved, not moved, not trained.",
    seen="is an ordinary attribute",
)
def _(width: int, depth: int) -> nn.Module:
    return Stack(nn.ModuleList(linears(width, depth)), torch.full((width,), 0.1))


@repair_layer_list.another_form("plain_tensor")
def _(width: int, depth: int) -> nn.Module:
    return Stack(nn.ModuleList(linears(width, depth)), tenth(width).data)


@repair_layer_list.wrong_answer(
    "tensor_that_requires_grad",
    why="requires_grad=True makes a leaf that gets a gradient, and no Parameter: no optimizer is told of it, and .double() "
    "passes it by.",
    seen="no optimizer is told of it",
)
def _(width: int, depth: int) -> nn.Module:
    return Stack(nn.ModuleList(linears(width, depth)), torch.full((width,), 0.1, requires_grad=True))


class WithBuffer(Stack):
    def __init__(self, layers: Any, scale: Tensor) -> None:
        super().__init__(layers, 1)
        del self.scale
        self.register_buffer("scale", scale)


@repair_layer_list.wrong_answer(
    "buffer",
    why="A buffer is saved and moved with the module, and not trained. What should be learned is a Parameter.",
    seen="saved and moved with the module, and not trained",
)
def _(width: int, depth: int) -> nn.Module:
    return WithBuffer(nn.ModuleList(linears(width, depth)), torch.full((width,), 0.1))


@repair_layer_list.wrong_answer(
    "copies_of_one",
    why="deepcopy makes separate layers that begin with the same weights. nn.TransformerEncoder does so, too: draw each "
    "layer anew.",
    seen="begin with the same weights",
)
def _(width: int, depth: int) -> nn.Module:
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


@repair_layer_list.wrong_answer(
    "made_in_forward",
    why="Layers that are made in forward are new in each call, with new random weights, and what an optimizer learned is "
    "gone. Make them in __init__.",
    seen="are new in each call",
)
def _(width: int, depth: int) -> nn.Module:
    return MadeInForward(width, depth)


@repair_layer_list.wrong_answer(
    "one_number",
    why="A scale of shape () is one number for all features; one for each feature was asked for.",
    seen="one number for all features",
)
def _(width: int, depth: int) -> nn.Module:
    return Stack(nn.ModuleList(linears(width, depth)), nn.Parameter(torch.tensor(0.1)))


@repair_layer_list.wrong_answer(
    "scale_of_ones",
    why="Wrapping first and scaling later left ones behind: the 0.1 belongs into the Parameter.",
    seen="left ones behind",
)
def _(width: int, depth: int) -> nn.Module:
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


@repair_layer_list.wrong_answer(
    "no_relu",
    why="Without relu between them, any number of Linear layers is one Linear layer.",
    seen="is one Linear layer",
)
def _(width: int, depth: int) -> nn.Module:
    return Linear(nn.ModuleList(linears(width, depth)), tenth(width))


@repair_layer_list.wrong_answer(
    "last_without_relu",
    why="A last layer without relu is the habit of classifiers. Here each layer is followed by one.",
    seen="the habit of classifiers",
)
def _(width: int, depth: int) -> nn.Module:
    return LastLinear(nn.ModuleList(linears(width, depth)), tenth(width))


@repair_layer_list.wrong_answer(
    "scale_not_used",
    why="The scale is registered and forward does not use it: its gradient stays None.",
    seen="its gradient stays None",
)
def _(width: int, depth: int) -> nn.Module:
    return Unscaled(nn.ModuleList(linears(width, depth)), tenth(width))
