"""What people write for 05.convert, and why it is wrong: what becomes of the Parameters and their gradients."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.module.convert.right import Convert, Fn, conversions


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
    """What has floats requires grad."""

    def new(self, param: nn.Parameter) -> nn.Parameter:
        made = nn.Parameter(self.fn(param.data), requires_grad=param.is_floating_point())
        if param.grad is not None:
            made.grad = self.fn(param.grad)
        return made


@conversions.variant(ParametersReplaced)
class _(ParametersReplaced):
    """The gradients are lost on the way."""

    def new(self, param: nn.Parameter) -> nn.Parameter:
        return nn.Parameter(self.fn(param.data), requires_grad=param.requires_grad)


@conversions.mistake()
class Thawed(Convert):
    """A frozen parameter requires grad afterwards. Perhaps new Parameters were swapped into the old objects, or requires_grad
    was turned on for all that have floats: it must be as it was.
    """

    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        Convert.parameter(self, part, name, param)
        param.requires_grad_(param.is_floating_point())


@conversions.variant(Thawed)
class _(Convert):
    """A new Parameter in the old object."""

    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        grad, param.grad = param.grad, None
        made = self.fn(param.data)
        torch.utils.swap_tensors(param, nn.Parameter(made, requires_grad=made.is_floating_point()))
        if grad is not None:
            param.grad = self.fn(grad)


@conversions.mistake()
class AllFrozen(Convert):
    """Parameters that required grad no longer do: an optimizer has nothing to move from now on. Perhaps requires_grad_(False)
    was to keep autograd out, and was not taken back; torch.no_grad() or .data does that without a trace.
    """

    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        param.requires_grad_(False)
        Convert.parameter(self, part, name, param)


@conversions.variant(AllFrozen)
class _(Convert):
    """A plain tensor in the old object."""

    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        grad, param.grad = param.grad, None
        torch.utils.swap_tensors(param, nn.Parameter(self.fn(param.data), requires_grad=False))
        if grad is not None:
            param.grad = self.fn(grad)


@conversions.mistake()
class IntegerMadeToRequireGrad(Convert):
    """RuntimeError: an integer parameter was made to require grad, which only floats can. Perhaps a new nn.Parameter was made
    of it: its default is requires_grad=True, and the old one had False.
    """

    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        grad, param.grad = param.grad, None
        torch.utils.swap_tensors(param, nn.Parameter(self.fn(param.data)))
        if grad is not None:
            param.grad = self.fn(grad)


@conversions.variant(IntegerMadeToRequireGrad)
class _(Convert):
    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        Convert.parameter(self, part, name, param)
        param.requires_grad_(True)


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
        return nn.Parameter(self.fn(param.data), requires_grad=param.is_floating_point())


@conversions.variant(IntegerMadeToRequireGrad)
class _(TiesSplit):
    """In place of the old one."""

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


@conversions.mistake(breaks="Weights that are tied stay tied.")
class TiedGotACopy(Convert):
    """The Parameters that were met first are the same objects, and a second name of one holds a different one. Perhaps what had
    been seen got a copy: the two train apart from now on, and the copy is in no optimizer.
    """

    def whole(self, module: nn.Module) -> None:
        seen: set[nn.Parameter] = set()
        for part in list(module.modules()):
            for name, param in part._parameters.items():
                if param is not None and param not in seen:
                    seen.add(param)
                    self.parameter(part, name, param)
                elif param is not None:
                    part._parameters[name] = nn.Parameter(param.data.clone(), param.requires_grad)
        for part in self.parts(module):
            for name, value in list(part._buffers.items()):
                if value is not None:
                    self.buffer(part, name, value)


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


@conversions.variant(PlainTensorsStored)
class _(Convert):
    """All of them, with the old requires_grad."""

    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        part._parameters[name] = self.fn(param.data).requires_grad_(param.requires_grad)


@conversions.mistake()
class CopiedBack(Convert):
    """With fn = double no parameter changed its dtype. Perhaps copy_ wrote fn's numbers into the old tensors: it casts to the
    dtype of where it writes. Or fn was asked, and its result was dropped.
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
    """What fn gives did not reach the module. Perhaps it went to a variable of a loop, which is only a name; or to the values
    of state_dict(), which are different tensor objects that share memory with the module: new data changes the dict alone.
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
class GradientsOfOtherNumbers(Convert):
    """The gradients have the right dtype, and other numbers than fn gives: perhaps they were only cast to the dtype of the
    parameter, or made anew. fn may do anything, and is asked about them, too.
    """

    def gradient(self, param: nn.Parameter) -> None:
        if param.grad is not None:
            param.grad.data = param.grad.data.to(param.dtype)


@conversions.variant(GradientsOfOtherNumbers)
class _(Convert):
    """Zeros."""

    def gradient(self, param: nn.Parameter) -> None:
        if param.grad is not None:
            param.grad.data = torch.zeros_like(param.data)


@conversions.variant(GradientsOfOtherNumbers)
class _(Convert):
    """By fn twice."""

    def gradient(self, param: nn.Parameter) -> None:
        if param.grad is not None:
            param.grad.data = self.fn(self.fn(param.grad.data))


@conversions.mistake()
class ThawedByItsGradient(Convert):
    """Where there are gradients, a Parameter has not the requires_grad that it had. Perhaps who has a
    gradient was taken for one that learns: a gradient may be left from before it was frozen.
    """

    def gradient(self, param: nn.Parameter) -> None:
        Convert.gradient(self, param)
        if param.grad is not None:
            param.requires_grad_(True)


@conversions.mistake()
class SomeParametersLeft(Convert):
    """Some parameters are not what fn makes of them, and others are: perhaps the frozen ones were left out, those of a
    different dtype, those without dimensions, or those that have the wanted one already. fn is asked about every tensor, and decides.
    """

    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        if param.requires_grad or not param.is_floating_point():
            Convert.parameter(self, part, name, param)


@conversions.variant(SomeParametersLeft)
class _(Convert):
    """Those without dimensions."""

    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        if param.dim():
            Convert.parameter(self, part, name, param)


@conversions.variant(SomeParametersLeft)
class _(Convert):
    """Half ones."""

    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        if param.dtype == torch.float32 or not param.is_floating_point():
            Convert.parameter(self, part, name, param)


@conversions.variant(SomeParametersLeft)
class _(Convert):
    """Those that learn, and are float32."""

    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        if param.dtype == torch.float32 and param.requires_grad:
            Convert.parameter(self, part, name, param)


@conversions.variant(SomeParametersLeft)
class _(Convert):
    """Those that have the dtype which fn gives to a float."""

    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        if param.dtype != self.fn(torch.zeros(1)).dtype:
            Convert.parameter(self, part, name, param)


@conversions.mistake()
class GradientsDropped(Convert):
    """Gradients were thrown away, all of them or those of frozen parameters. Between backward() and step() that loses a step."""

    def gradient(self, param: nn.Parameter) -> None:
        param.grad = None


@conversions.variant(GradientsDropped)
class _(Convert):
    """Of what is frozen."""

    def gradient(self, param: nn.Parameter) -> None:
        if param.requires_grad:
            Convert.gradient(self, param)
        else:
            param.grad = None


@conversions.mistake()
class NoneGradientsMade(Convert):
    """A parameter without a gradient has one now, perhaps of zeros. To an optimizer None means: leave this
    one alone; zeros still let momentum and weight decay move it.
    """

    def gradient(self, param: nn.Parameter) -> None:
        param.grad = self.fn(torch.zeros_like(param) if param.grad is None else param.grad.to(param.dtype))
