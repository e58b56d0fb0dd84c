"""What people write for 10.repair_layer_list, and why it is wrong."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.labs.pitfalls.repair_layer_list.exercise import (
    APART,
    DRAWN,
    KNOWN,
    LINEARS,
    MODULE,
    ORDER,
    SCALE,
    repair_layer_list,
)
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
            "The module knows none of its layers: they run, and parameters(), state_dict(), to() and train() pass them "
            "by. Perhaps they stand in a list or dict, into which a module does not look: nn.ModuleList.",
            LINEARS,
        ),
        "one_layer_many_times": (
            "The module knows one layer, whatever depth is. Perhaps by `[layer] * n`, which writes one object down n "
            "times. Make a new layer in each round of a comprehension.",
            LINEARS,
        ),
        "parameter_times_number": (
            "The scale is no Parameter, though one was made: a product with it has a graph and can be no Parameter. "
            "Perhaps nn.Parameter(...) is multiplied by a number. Compute first, and wrap the result.",
            SCALE,
        ),
    },
)


@repair_layer_list.variant("python_list")
def _(width: int, depth: int) -> nn.Module:
    return Stack({str(place): layer for place, layer in enumerate(linears(width, depth))}, tenth(width))


@repair_layer_list.mistake(breaks=SCALE)
def plain_tensor(width: int, depth: int) -> nn.Module:
    """The module has no Parameter beside its layers: nothing else is saved, moved or trained. Perhaps the scale is a
    tensor that was assigned: an ordinary attribute.
    """
    return Stack(nn.ModuleList(linears(width, depth)), torch.full((width,), 0.1))


@repair_layer_list.variant(plain_tensor)
def _(width: int, depth: int) -> nn.Module:
    return Stack(nn.ModuleList(linears(width, depth)), tenth(width).data)


@repair_layer_list.mistake(breaks=SCALE)
def tensor_that_requires_grad(width: int, depth: int) -> nn.Module:
    """The scale gets a gradient and is no Parameter: no optimizer is told of it, and .double() passes it by. Perhaps
    it is a tensor with requires_grad=True.
    """
    return Stack(nn.ModuleList(linears(width, depth)), torch.full((width,), 0.1, requires_grad=True))


class WithBuffer(Stack):
    def __init__(self, layers: Any, scale: Tensor) -> None:
        super().__init__(layers, 1)
        del self.scale
        self.register_buffer("scale", scale)


@repair_layer_list.mistake(breaks=SCALE)
def buffer(width: int, depth: int) -> nn.Module:
    """The scale is a buffer: saved and moved with the module, and not trained. What should be learned is a Parameter."""
    return WithBuffer(nn.ModuleList(linears(width, depth)), torch.full((width,), 0.1))


@repair_layer_list.mistake(breaks=DRAWN)
def copies_of_one(width: int, depth: int) -> nn.Module:
    """All layers begin with the same weights. Perhaps they are deepcopies of one, as in nn.TransformerEncoder,
    or a seed is set in front of each: draw each layer anew.
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


@repair_layer_list.mistake(breaks=LINEARS)
def made_in_forward(width: int, depth: int) -> nn.Module:
    """The module knows no layers, and two calls give different results. Perhaps the layers are made in forward, new
    in each call, and what an optimizer learned is gone. Make them in __init__.
    """
    return MadeInForward(width, depth)


@repair_layer_list.mistake(breaks=SCALE)
def one_number(width: int, depth: int) -> nn.Module:
    """The scale has the shape (): one number for all features. One for each feature was asked for."""
    return Stack(nn.ModuleList(linears(width, depth)), nn.Parameter(torch.tensor(0.1)))


@repair_layer_list.mistake(breaks=SCALE)
def scale_of_ones(width: int, depth: int) -> nn.Module:
    """The scale begins with ones. Perhaps the factor is applied later: the 0.1 belongs in the Parameter."""
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


@repair_layer_list.mistake(breaks=ORDER)
def no_relu(width: int, depth: int) -> nn.Module:
    """There is no relu at all: without one between them, any number of Linear layers is one Linear layer."""
    return Linear(nn.ModuleList(linears(width, depth)), tenth(width))


@repair_layer_list.mistake(breaks=ORDER)
def last_without_relu(width: int, depth: int) -> nn.Module:
    """The last layer has no relu behind it, as in classifiers. Here each layer is followed by one."""
    return LastLinear(nn.ModuleList(linears(width, depth)), tenth(width))


@repair_layer_list.mistake(breaks=ORDER)
def scale_not_used(width: int, depth: int) -> nn.Module:
    """The result is that without the scale. Perhaps it is registered, and forward does not use it: its gradient
    stays None.
    """
    return Unscaled(nn.ModuleList(linears(width, depth)), tenth(width))


@repair_layer_list.mistake(breaks=LINEARS)
def no_bias(width: int, depth: int) -> nn.Module:
    """A layer has no bias, and Linear(width, width) has one. Perhaps bias=False, the habit before a norm."""
    return Stack(nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(depth)), tenth(width))


class ScaledFirst(Unscaled):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x * self.scale)


@repair_layer_list.mistake(breaks=ORDER)
def scaled_first(width: int, depth: int) -> nn.Module:
    """x is multiplied by the scale before the layers, and not behind them: that is a different module. At the end times
    scale was asked for.
    """
    return ScaledFirst(nn.ModuleList(linears(width, depth)), tenth(width))


class ScaledEachTime(Stack):
    def forward(self, x: Tensor) -> Tensor:
        for layer in self.each():
            x = layer(x).relu() * self.scale
        return x


@repair_layer_list.mistake(breaks=ORDER)
def scaled_in_each_round(width: int, depth: int) -> nn.Module:
    """The scale is multiplied behind each layer, and once at the end was asked for. Perhaps the product stands inside
    the loop.
    """
    return ScaledEachTime(nn.ModuleList(linears(width, depth)), tenth(width))


class OneLayer(Stack):
    def forward(self, x: Tensor) -> Tensor:
        for _ in self.layers:
            x = self.layers[0](x).relu()
        return x * self.scale


@repair_layer_list.mistake(breaks=ORDER)
def first_layer_each_time(width: int, depth: int) -> nn.Module:
    """The first layer runs in each round, and the others never. Perhaps the loop asks for self.layers[0], whatever the
    round is.
    """
    return OneLayer(nn.ModuleList(linears(width, depth)), tenth(width))


class KeptScale(Unscaled):
    def __init__(self, layers: Any, scale: Tensor) -> None:
        super().__init__(layers, scale)
        self.times = scale.detach().clone()

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) * self.times.to(x.dtype)


@repair_layer_list.mistake(breaks=ORDER)
def scale_of_the_beginning(width: int, depth: int) -> nn.Module:
    """After training the module still multiplies by 0.1, where the scale began. Perhaps a copy of it was made in
    __init__, or the number is written down in forward: use the Parameter itself.
    """
    return KeptScale(nn.ModuleList(linears(width, depth)), tenth(width))


class WithoutItsGradient(Stack):
    def forward(self, x: Tensor) -> Tensor:
        for layer in self.each():
            x = layer(x).relu()
        return x * self.scale.data


@repair_layer_list.mistake(breaks=KNOWN)
def scale_by_data(width: int, depth: int) -> nn.Module:
    """The values are right, and a parameter gets no gradient: no step moves it. Perhaps forward uses its .data, or
    detaches it.
    """
    return WithoutItsGradient(nn.ModuleList(linears(width, depth)), tenth(width))


class InFloat32(Stack):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.float())


@repair_layer_list.mistake(breaks=KNOWN)
def float32_written_down(width: int, depth: int) -> nn.Module:
    """After .double() the module does not compute in float64. Perhaps forward converts x to float32, or makes a
    float32 tensor: take the dtype from x or from a weight.
    """
    return InFloat32(nn.ModuleList(linears(width, depth)), tenth(width))


class WithShift(Stack):
    def __init__(self, layers: Any, scale: Any, shift: Tensor) -> None:
        super().__init__(layers, scale)
        self.shift = shift

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x + self.shift)


@repair_layer_list.mistake(breaks=KNOWN)
def a_leaf_beside(width: int, depth: int) -> nn.Module:
    """Frozen, the module still leaves a graph: it computes with something that learns and is no Parameter. Perhaps a
    tensor with requires_grad=True stands beside the Parameters.
    """
    return WithShift(
        nn.ModuleList(linears(width, depth)), tenth(width), torch.zeros(width, requires_grad=True)
    )


class KeepsProduct(Stack):
    def __init__(self, layers: Any, scale: Any) -> None:
        super().__init__(layers, scale)
        self.first = scale * 1.0


@repair_layer_list.mistake(breaks=KNOWN)
def product_kept(width: int, depth: int) -> nn.Module:
    """The module cannot be copied: it holds the result of an operation, with its graph. Perhaps a product with a
    Parameter was kept beside it, in __init__.
    """
    return KeepsProduct(nn.ModuleList(linears(width, depth)), tenth(width))


# Weak: what a check did to one module is not found in the next.
_modules: weakref.WeakValueDictionary[tuple[int, int], nn.Module] = weakref.WeakValueDictionary()
_layers: weakref.WeakValueDictionary[tuple[int, int], nn.ModuleList] = weakref.WeakValueDictionary()


@repair_layer_list.mistake(breaks=APART)
def layers_shared_by_all(width: int, depth: int) -> nn.Module:
    """Two modules share their layers: training one trains the other. Perhaps the layers are made once, for the class
    or as a default argument.
    """
    kept = _layers.setdefault((width, depth), nn.ModuleList(linears(width, depth)))
    return Stack(kept, tenth(width))


@repair_layer_list.mistake(breaks=APART)
def one_module_for_all_calls(width: int, depth: int) -> nn.Module:
    """Two calls share all parameters, the scale, too. Perhaps the module is kept and given once more, by functools.cache,
    say: each call has to build its own.
    """
    return _modules.setdefault((width, depth), Stack(nn.ModuleList(linears(width, depth)), tenth(width)))


@repair_layer_list.mistake(breaks=MODULE)
def class_for_module(width: int, depth: int) -> Any:
    """A class came back, not a module: nothing is made yet. Call it."""
    return Stack


class Dropping(Stack):
    def forward(self, x: Tensor) -> Tensor:
        for layer in self.each():
            x = F.dropout(layer(x).relu(), 0.3)
        return x * self.scale


@repair_layer_list.mistake(breaks=ORDER)
def something_drawn(width: int, depth: int) -> nn.Module:
    """Two calls with the same input give different numbers. Perhaps something is drawn in forward: a dropout, or
    noise, which nobody asked for.
    """
    return Dropping(nn.ModuleList(linears(width, depth)), tenth(width))


@repair_layer_list.variant(copies_of_one)
def _(width: int, depth: int) -> nn.Module:
    first = nn.Linear(width, width)
    layers = linears(width, depth)
    for layer in layers:
        layer.load_state_dict(first.state_dict())
    return Stack(nn.ModuleList(layers), tenth(width))


@repair_layer_list.mistake(breaks=DRAWN)
def one_weight_in_all(width: int, depth: int) -> nn.Module:
    """Several layers have one and the same Parameter as weight: training moves it for all of them, and they stay alike.
    Perhaps the weight of one was assigned to the others.
    """
    layers = linears(width, depth)
    for layer in layers:
        layer.weight = layers[0].weight
    return Stack(nn.ModuleList(layers), tenth(width))


class Adding(Stack):
    def forward(self, x: Tensor) -> Tensor:
        for layer in self.each():
            x = x + layer(x).relu()
        return x * self.scale


@repair_layer_list.mistake(breaks=ORDER)
def residual(width: int, depth: int) -> nn.Module:
    """What goes into a layer is added to what comes out. Perhaps by the habit of residual networks: here each layer
    takes the place of its input.
    """
    return Adding(nn.ModuleList(linears(width, depth)), tenth(width))


class ReluFirst(Stack):
    def forward(self, x: Tensor) -> Tensor:
        for layer in self.each():
            x = layer(x.relu())
        return x * self.scale


@repair_layer_list.mistake(breaks=ORDER)
def relu_in_front(width: int, depth: int) -> nn.Module:
    """The relu stands in front of each layer, and belongs behind it: the result has no relu. Perhaps the parts stand
    in the wrong order in a Sequential.
    """
    return ReluFirst(nn.ModuleList(linears(width, depth)), tenth(width))


class ScaledInside(Stack):
    def forward(self, x: Tensor) -> Tensor:
        *first, last = self.each()
        for layer in first:
            x = layer(x).relu()
        return (last(x) * self.scale).relu()


@repair_layer_list.mistake(breaks=ORDER)
def scaled_before_the_last_relu(width: int, depth: int) -> nn.Module:
    """The scale is inside of the last relu: where it learns to be below 0 the result changes. It comes at the end."""
    return ScaledInside(nn.ModuleList(linears(width, depth)), tenth(width))


class Detaching(Stack):
    def forward(self, x: Tensor) -> Tensor:
        for layer in self.each():
            x = layer(x.detach()).relu()
        return x * self.scale


@repair_layer_list.mistake(breaks=KNOWN)
def detached_between(width: int, depth: int) -> nn.Module:
    """Of all layers only the last one gets gradients: no step moves the others. Perhaps x is detached between them."""
    return Detaching(nn.ModuleList(linears(width, depth)), tenth(width))


@repair_layer_list.mistake(breaks=SCALE)
def scale_frozen(width: int, depth: int) -> nn.Module:
    """The scale is a Parameter that does not require grad: it is saved, and never learned. Perhaps by
    requires_grad=False.
    """
    return Stack(
        nn.ModuleList(linears(width, depth)),
        nn.Parameter(torch.full((width,), 0.1), requires_grad=False),
    )


class WithOutput(Stack):
    def __init__(self, layers: Any, scale: Any, width: int) -> None:
        super().__init__(layers, scale)
        self.output = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.output(super().forward(x) / self.scale) * self.scale


@repair_layer_list.mistake(breaks=LINEARS)
def one_layer_more(width: int, depth: int) -> nn.Module:
    """The module knows depth + 1 Linear. Perhaps an output layer stands behind the hidden ones: here depth counts all."""
    return WithOutput(nn.ModuleList(linears(width, depth)), tenth(width), width)
