"""What people write for 05.convert, and why it is wrong."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.module.convert.exercise import convert

Fn = Callable[[Tensor], Tensor]


class Convert:
    """A right conversion, of which the mistakes change one step."""

    def __call__(self, module: nn.Module, fn: Fn) -> Any:
        self.fn = fn
        self.whole(module)
        return module

    def whole(self, module: nn.Module) -> None:
        for part in self.parts(module):
            for name, param in part._parameters.items():
                if param is not None:
                    self.parameter(part, name, param)
            for name, value in list(part._buffers.items()):
                if value is not None:
                    self.buffer(part, name, value)

    def parts(self, module: nn.Module) -> Any:
        """Each module as often as it stands in the tree."""
        yield module
        for child in module._modules.values():
            if child is not None:
                yield from self.parts(child)

    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        param.data = self.fn(param.data)
        self.gradient(param)

    def gradient(self, param: nn.Parameter) -> None:
        if param.grad is not None:
            param.grad.data = self.fn(param.grad.data)

    def buffer(self, part: nn.Module, name: str, value: Tensor) -> None:
        part._buffers[name] = self.fn(value)


def of(kind: type[Convert]) -> Any:
    return lambda module, fn: kind()(module, fn)


# A class of Convert, or a function.
conversions = convert.bank(lambda written: of(written) if isinstance(written, type) else written)


@conversions.mistake()
class BuffersForgotten(Convert):
    """Buffers were left out: BatchNorm's running statistics stay in the old dtype, on the old device, and the
    next forward mixes the two.
    """

    def buffer(self, part: nn.Module, name: str, value: Tensor) -> None:
        pass


@conversions.variant(BuffersForgotten)
class _(Convert):
    """The parameters' data, and nothing else."""

    def buffer(self, part: nn.Module, name: str, value: Tensor) -> None:
        pass

    def gradient(self, param: nn.Parameter) -> None:
        pass


@conversions.mistake()
class UnsavedBuffersForgotten(Convert):
    """Buffers that are not persistent kept their dtype. They are not saved, but they are used: a mask belongs on
    the model's device.
    """

    def buffer(self, part: nn.Module, name: str, value: Tensor) -> None:
        if name not in part._non_persistent_buffers_set:
            part._buffers[name] = self.fn(value)


@conversions.mistake()
class IntegersCast(Convert):
    """Integers were cast with the rest. A step counter in float16 stops counting at 2,048; .double()
    leaves integers alone because its fn does.
    """

    def buffer(self, part: nn.Module, name: str, value: Tensor) -> None:
        made = self.fn(value)
        part._buffers[name] = made if made.is_floating_point() else made.to(self.fn(torch.zeros(1)).dtype)


@conversions.variant(IntegersCast)
class _(Convert):
    def buffer(self, part: nn.Module, name: str, value: Tensor) -> None:
        part._buffers[name] = self.fn(value if value.is_floating_point() else value.float())


@conversions.mistake()
class IntegersSkipped(Convert):
    """Integers did not become what fn gives: perhaps it was asked about floats only. The same walk serves .cuda(), which must
    move integers, too: whether to touch them is fn's business.
    """

    def buffer(self, part: nn.Module, name: str, value: Tensor) -> None:
        if value.is_floating_point():
            part._buffers[name] = self.fn(value)


@conversions.variant(IntegersSkipped)
class _(Convert):
    """The parameters only."""

    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        if param.is_floating_point():
            Convert.parameter(self, part, name, param)


@conversions.variant(IntegersSkipped)
class _(Convert):
    """Both."""

    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        if param.is_floating_point():
            Convert.parameter(self, part, name, param)

    def buffer(self, part: nn.Module, name: str, value: Tensor) -> None:
        if value.is_floating_point():
            part._buffers[name] = self.fn(value)


@conversions.mistake()
class FalsyChildPassedOver(Convert):
    """A list of modules without a module in it was passed over, with the weight of its own: perhaps by `if child:`, which
    asks for its length. Ask `is not None`.
    """

    def parts(self, module: nn.Module) -> Any:
        yield module
        for child in module._modules.values():
            if child:
                yield from self.parts(child)


@conversions.mistake()
class SeenForEver(Convert):
    """A second call did not convert everything again: perhaps what was seen is noted in a default argument or on the module,
    which outlives the call.
    """

    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        if not getattr(param, "seen", False):
            param.seen = True
            Convert.parameter(self, part, name, param)


@conversions.variant(SeenForEver)
class _(Convert):
    """Of whole modules."""

    def parts(self, module: nn.Module) -> Any:
        for part in Convert.parts(self, module):
            if "converted_before" not in vars(part):
                part.converted_before = True
                yield part


@conversions.mistake()
class BuffersInADifferentOrder(Convert):
    """The buffers stand in a different order now: perhaps each was deleted and registered anew, behind one that is None.
    state_dict() writes them in that order.
    """

    def buffer(self, part: nn.Module, name: str, value: Tensor) -> None:
        del part._buffers[name]
        part.register_buffer(name, self.fn(value), persistent=name not in part._non_persistent_buffers_set)


@conversions.variant(BuffersInADifferentOrder)
class _(Convert):
    def buffer(self, part: nn.Module, name: str, value: Tensor) -> None:
        persistent = name not in part._non_persistent_buffers_set
        delattr(part, name)
        part.register_buffer(name, self.fn(value), persistent=persistent)


@conversions.mistake()
class GradientsOfFrozenLeft(Convert):
    """The gradient of a frozen parameter kept its dtype. Whether it requires grad now says nothing about the gradient that it
    has.
    """

    def gradient(self, param: nn.Parameter) -> None:
        if param.requires_grad:
            Convert.gradient(self, param)


@conversions.mistake()
class OwnEntriesOnly(Convert):
    """Entries of deeper modules were not converted: only the root's own, perhaps its children's. The walk must go on in each
    child, for parameters and buffers.
    """

    def parts(self, module: nn.Module) -> Any:
        yield module


@conversions.variant(OwnEntriesOnly)
class _(Convert):
    """And the children's."""

    def parts(self, module: nn.Module) -> Any:
        yield from (module, *module.children())


@conversions.variant(OwnEntriesOnly)
class _(Convert):
    """All parameters of the tree, but the root's buffers."""

    def buffer(self, part: nn.Module, name: str, value: Tensor) -> None:
        if part is self.root:
            Convert.buffer(self, part, name, value)

    def whole(self, module: nn.Module) -> None:
        self.root = module
        Convert.whole(self, module)


@conversions.mistake()
class NoneConverted(Convert):
    """fn was called with None. A layer with bias=False has an entry of that kind; skip it."""

    def whole(self, module: nn.Module) -> None:
        for part in self.parts(module):
            for param in part._parameters.values():
                param.data = self.fn(param.data)
                self.gradient(param)
            for name, value in part._buffers.items():
                part._buffers[name] = self.fn(value)


@conversions.variant(NoneConverted)
class _(Convert):
    """fn gets the Parameter itself."""

    def whole(self, module: nn.Module) -> None:
        for part in self.parts(module):
            for param in part._parameters.values():
                made = self.fn(param)
                param.data = made
                self.gradient(param)
            for name, value in part._buffers.items():
                part._buffers[name] = self.fn(value)


@conversions.variant(NoneConverted)
class _(Convert):
    """Of the buffers only."""

    def whole(self, module: nn.Module) -> None:
        for part in self.parts(module):
            for name, param in part._parameters.items():
                if param is not None:
                    self.parameter(part, name, param)
            for name, value in part._buffers.items():
                part._buffers[name] = self.fn(value)


@conversions.mistake()
class AllPersistent(Convert):
    """A buffer that was not to be saved is in every checkpoint from now on. Perhaps register_buffer(name, ...) registered it
    anew: persistent is True unless said otherwise.
    """

    def buffer(self, part: nn.Module, name: str, value: Tensor) -> None:
        part.register_buffer(name, self.fn(value))


@conversions.mistake()
class PlainTensorsConverted(Convert):
    """Plain tensor attributes were converted, too. torch knows registered entries only; a tensor that should
    follow the module is a buffer.
    """

    def whole(self, module: nn.Module) -> None:
        Convert.whole(self, module)
        for part in module.modules():
            for name, value in list(vars(part).items()):
                if isinstance(value, Tensor):
                    setattr(part, name, self.fn(value))


@conversions.mistake()
def a_copy_converted(module: nn.Module, fn: Fn) -> nn.Module:
    """A deep copy was converted and given back. .to() changes the module itself, and everything that holds
    it, an optimizer or a parent, expects that.
    """
    return Convert()(copy.deepcopy(module), fn)


@conversions.mistake()
def nothing_returned(module: nn.Module, fn: Fn) -> None:
    """The module was converted and not given back: model = convert(model, fn) leaves None. .to() returns
    self.
    """
    Convert()(module, fn)


@conversions.mistake()
def torchs_apply(module: nn.Module, fn: Fn) -> nn.Module:
    """The answer calls module._apply(fn): that is the method which is to be built."""
    return module._apply(fn)


@conversions.variant(torchs_apply)
def _(module: nn.Module, fn: Fn) -> nn.Module:
    for part in module.modules():
        part._apply(fn, recurse=False)
    return module


# What becomes of the parameters and their gradients.


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
    """With fn = double the dtype did not change, though fn's numbers arrive: perhaps copy_ wrote them into the old tensors. It
    casts to the dtype of where it writes.
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
