"""What people write for 05.convert: what becomes of the parameters and their gradients."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.module.convert_mistakes import Convert, Fn, conversions


@conversions.mistake()
class ParametersReplaced(Convert):  # new Parameters; what is tied stays tied
    """New Parameters were made. An optimizer that was built before holds the old ones and trains them; the
    model stands still from then on, without an error.
    """

    def __call__(self, module: nn.Module, fn: Fn) -> Any:
        self.made: dict[nn.Parameter, nn.Parameter] = {}
        return Convert.__call__(self, module, fn)

    def new(self, param: nn.Parameter) -> nn.Parameter:
        made = nn.Parameter(self.fn(param.data), requires_grad=param.requires_grad)
        if param.grad is not None:
            made.grad = self.fn(param.grad)
        return made

    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        if not any(param is made for made in self.made.values()):
            if param not in self.made:
                self.made[param] = self.new(param)
            part._parameters[name] = self.made[param]


@conversions.variant(ParametersReplaced)
class _(ParametersReplaced):
    """With a new Parameter's default requires_grad."""

    def new(self, param: nn.Parameter) -> nn.Parameter:
        made = nn.Parameter(self.fn(param.data))
        if param.grad is not None:
            made.grad = self.fn(param.grad)
        return made


@conversions.variant(ParametersReplaced)
class _(ParametersReplaced):
    """The gradients are lost on the way."""

    def new(self, param: nn.Parameter) -> nn.Parameter:
        return nn.Parameter(self.fn(param.data), requires_grad=param.requires_grad)


@conversions.mistake()
class TiesSplit(ParametersReplaced):
    """New Parameters were made, one for each name. No optimizer knows them; and weights that were tied are
    two from now on, and train apart.
    """

    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        setattr(part, name, self.new(param))


@conversions.variant(TiesSplit)
class _(TiesSplit):
    def new(self, param: nn.Parameter) -> nn.Parameter:
        return nn.Parameter(self.fn(param.data))


@conversions.variant(TiesSplit)
class _(TiesSplit):
    def new(self, param: nn.Parameter) -> nn.Parameter:
        return nn.Parameter(self.fn(param.data), requires_grad=param.requires_grad)


@conversions.variant(TiesSplit)
def _(module: nn.Module, fn: Fn) -> nn.Module:
    module.load_state_dict({name: fn(value) for name, value in module.state_dict().items()}, assign=True)
    return module


@conversions.mistake()
class PlainTensorsStored(Convert):
    """What fn gives was stored among the parameters as it is: a plain tensor, which optimizers and nn.Module
    refuse. It goes into the data of the Parameter.
    """

    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        part._parameters[name] = self.fn(param)


@conversions.variant(PlainTensorsStored)
class _(Convert):
    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        setattr(part, name, self.fn(param))


@conversions.mistake()
class CopiedBack(Convert):
    """What fn gives was copied into the old tensors: copy_ casts to the dtype of where it writes, so that
    nothing has changed in the end.
    """

    @torch.no_grad()
    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        param.copy_(self.fn(param))
        if param.grad is not None:
            param.grad.copy_(self.fn(param.grad))

    def buffer(self, part: nn.Module, name: str, value: Tensor) -> None:
        value.copy_(self.fn(value))


@conversions.variant(CopiedBack)
def _(module: nn.Module, fn: Fn) -> nn.Module:
    module.load_state_dict({name: fn(value) for name, value in module.state_dict().items()})
    return module


@conversions.variant(CopiedBack)
class _(Convert):
    """Parameters only."""

    @torch.no_grad()
    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        param.copy_(self.fn(param))
        self.gradient(param)


@conversions.mistake()
def result_not_stored(module: nn.Module, fn: Fn) -> nn.Module:
    """What fn gives never reaches the module. A variable of a loop is only a name; and the values of
    state_dict() are other tensor objects, which share memory with the module: new data for them changes the
    dict alone.
    """
    for value in module.state_dict().values():
        value.data = fn(value)
    return module


@conversions.variant(result_not_stored)
def _(module: nn.Module, fn: Fn) -> nn.Module:
    for param in module.parameters():
        param = fn(param)  # noqa: PLW2901  the mistake
    return module


@conversions.mistake()
class GradientsLeft(Convert):
    """The gradients kept their old dtype. The next step of an optimizer then mixes float32 and float64, or
    fails.
    """

    def gradient(self, param: nn.Parameter) -> None:
        pass


@conversions.mistake()
class GradientsDropped(Convert):
    """The gradients were thrown away. Between backward() and step() that loses a step."""

    def gradient(self, param: nn.Parameter) -> None:
        param.grad = None


@conversions.mistake()
class NoneGradientsMade(Convert):
    """A parameter without a gradient has one of zeros now. To an optimizer None means: leave this one alone;
    zeros still let momentum and weight decay move it.
    """

    def gradient(self, param: nn.Parameter) -> None:
        param.grad = self.fn(torch.zeros_like(param) if param.grad is None else param.grad.to(param.dtype))
