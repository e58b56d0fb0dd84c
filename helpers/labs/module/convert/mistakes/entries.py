"""What people write for 05.convert, and why it is wrong: which entries are converted, and what becomes of the module."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.module.convert.right import Convert, Fn, conversions


@conversions.mistake()
class BuffersForgotten(Convert):
    """Buffers kept their old dtype: perhaps they were left out, or fn's numbers were copied into the old tensors, which casts
    them back. The next forward of a BatchNorm mixes two dtypes, or two devices.
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
    """A second call did not convert everything again: perhaps what was seen is noted in a default argument, in a global set or
    on the module, which outlives the call.
    """

    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        if not getattr(param, "seen", False):
            param.seen = True
            Convert.parameter(self, part, name, param)


@conversions.variant(SeenForEver)
class _(Convert):
    """Of whole modules."""

    def parts(self, module: nn.Module) -> Any:
        if "converted_before" not in vars(module):
            module.converted_before = True
            yield from Convert.parts(self, module)


@conversions.variant(SeenForEver)
class _(Convert):
    """The gradients are converted each time."""

    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        if not getattr(param, "seen", False):
            param.seen = True
            Convert.parameter(self, part, name, param)
        else:
            self.gradient(param)


@conversions.variant(SeenForEver)
class _(Convert):
    """Of buffers."""

    def buffer(self, part: nn.Module, name: str, value: Tensor) -> None:
        seen = vars(part).setdefault("seen", set())
        if name not in seen:
            seen.add(name)
            Convert.buffer(self, part, name, value)


@conversions.variant(SeenForEver)
class _(SeenForEver):
    """Of parameters and buffers."""

    def buffer(self, part: nn.Module, name: str, value: Tensor) -> None:
        seen = vars(part).setdefault("seen", set())
        if name not in seen:
            seen.add(name)
            Convert.buffer(self, part, name, value)


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


@conversions.mistake(breaks="Buffers become what `fn` gives")
class BuffersOfTheRootOnly(Convert):
    """Buffers of deeper modules were not converted. Parameters of all depths were, and the root's buffers. Perhaps only the
    root's _buffers were gone through: each module has its own.
    """

    def buffer(self, part: nn.Module, name: str, value: Tensor) -> None:
        if part is self.root:
            Convert.buffer(self, part, name, value)

    def whole(self, module: nn.Module) -> None:
        self.root = module
        Convert.whole(self, module)


@conversions.mistake(breaks="Buffers become what `fn` gives")
class PathsForNames(Convert):
    """Buffers of deeper modules were not converted, and a module has new entries with dots in their names. Perhaps
    named_buffers() gave paths, and all were stored in the root's dict: a buffer stands in the dict of its own module.
    """

    def buffer(self, part: nn.Module, name: str, value: Tensor) -> None:
        pass

    def whole(self, module: nn.Module) -> None:
        Convert.whole(self, module)
        for path, value in list(module.named_buffers()):
            module._buffers[path] = self.fn(value)


@conversions.mistake(breaks="`fn` is asked about every tensor")
class NumbersSkipped(Convert):
    """A buffer of floats without dimensions did not become what fn gives, and all other buffers of floats did. Perhaps what has
    no dimension was left out: fn decides about it, too.
    """

    def buffer(self, part: nn.Module, name: str, value: Tensor) -> None:
        if value.dim() > 0:
            Convert.buffer(self, part, name, value)


@conversions.mistake(breaks="`fn` on every parameter, gradient and buffer of the tree.")
class LeavesOnly(Convert):
    """Parameters of a module that has children were not converted, and those of a module without children were. Perhaps what
    has children was passed over: a module may have both, children and tensors of its own.
    """

    def parts(self, module: nn.Module) -> Any:
        yield from (part for part in module.modules() if not part._modules)


@conversions.variant(LeavesOnly)
class _(Convert):
    """And the root's own."""

    def parts(self, module: nn.Module) -> Any:
        yield from (part for part in module.modules() if part is module or not part._modules)


@conversions.mistake(breaks="Entries that are None are skipped, and stay.")
class NoneEntered(Convert):
    """An entry that is None was taken for a module: AttributeError. A child may be None, as `downsample` in many models; skip
    it.
    """

    kinds: tuple[str, ...] = ("_parameters", "_buffers", "_modules")

    def parts(self, module: nn.Module) -> Any:
        for kind in self.kinds:
            getattr(module, kind)
        yield module
        for child in module._modules.values():
            yield from self.parts(child)


for kinds in (("_modules",), ("_buffers",), ("parameters",), ("children",), ("named_children",)):
    conversions.variant(NoneEntered)(type("_", (NoneEntered,), {"kinds": kinds}))


@conversions.mistake()
class NoneConverted(Convert):
    """An entry that is None was taken for a tensor: AttributeError. A layer with bias=False has an entry of
    that kind; skip it.
    """

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


@conversions.variant(NoneConverted)
class _(Convert):
    """The gradient is asked for first."""

    def whole(self, module: nn.Module) -> None:
        for part in self.parts(module):
            for param in part._parameters.values():
                if param.grad is not None:
                    param.grad.data = self.fn(param.grad.data)
                param.data = self.fn(param.data)
            for name, value in part._buffers.items():
                if value is not None:
                    part._buffers[name] = self.fn(value)


@conversions.variant(NoneConverted)
class _(Convert):
    """Whether it learns is asked for first."""

    def whole(self, module: nn.Module) -> None:
        for part in self.parts(module):
            for param in part._parameters.values():
                learns = param.requires_grad
                self.parameter(part, "", param)
                param.requires_grad_(learns)
            for name, value in part._buffers.items():
                if value is not None:
                    part._buffers[name] = self.fn(value)


@conversions.mistake(breaks="Entries that are None are skipped, and stay.")
class NoneEntriesGone(Convert):
    """Entries that were None are gone. Perhaps they were deleted, or the dict was made anew without them: what asks for
    self.bias finds no attribute from now on.
    """

    kinds: tuple[str, ...] = ("_parameters", "_buffers")

    def whole(self, module: nn.Module) -> None:
        Convert.whole(self, module)
        for part in list(self.parts(module)):
            for kind in self.kinds:
                entries = getattr(part, kind)
                for name in [name for name, value in entries.items() if value is None]:
                    del entries[name]


for kinds in (("_parameters",), ("_buffers",), ("_modules",), ("_parameters", "_buffers", "_modules")):
    conversions.variant(NoneEntriesGone)(type("_", (NoneEntriesGone,), {"kinds": kinds}))


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


@conversions.variant(PlainTensorsConverted)
class _(PlainTensorsConverted):
    """And modules in lists."""

    def whole(self, module: nn.Module) -> None:
        super().whole(module)
        listed_too(self, module)


def listed_too(self: Convert, module: nn.Module) -> None:
    """The modules in Python lists."""
    for part in list(module.modules()):
        for value in vars(part).values():
            for other in value if isinstance(value, list) else ():
                if isinstance(other, nn.Module):
                    Convert.whole(self, other)


@conversions.mistake(
    breaks="What is no entry is left alone: a plain tensor attribute, a list of modules, the mode."
)
class ListedModulesConverted(Convert):
    """A module in a Python list was converted, too. torch does not look into lists: it knows children only, and a list of
    children is an nn.ModuleList.
    """

    def whole(self, module: nn.Module) -> None:
        Convert.whole(self, module)
        listed_too(self, module)


@conversions.mistake(breaks="The module itself.")
def a_copy_converted(module: nn.Module, fn: Fn) -> nn.Module:
    """The module that was given is not the one that was converted. Perhaps a deep copy was, and given back:
    .to() changes the module itself, and everything that holds it, an optimizer or a parent, expects that.
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
    """The answer calls module._apply(fn), or a method that is built on it: that is what is to be built."""
    return module._apply(fn)


@conversions.variant(torchs_apply)
def _(module: nn.Module, fn: Fn) -> nn.Module:
    for part in module.modules():
        part._apply(fn, recurse=False)
    return module


@conversions.mistake(breaks="Buffers become what `fn` gives")
class SharedBufferOnce(Convert):
    """A buffer with two names was converted under one of them. Perhaps named_buffers() was gone through, which gives it once,
    or a set tells what was met. Each name is an entry of its own: store what fn gives under both.
    """

    def whole(self, module: nn.Module) -> None:
        for part in self.parts(module):
            for name, param in part._parameters.items():
                if param is not None:
                    self.parameter(part, name, param)
        for path, value in list(module.named_buffers()):
            where, _, name = path.rpartition(".")
            self.buffer(module.get_submodule(where), name, value)


@conversions.mistake(breaks="`fn` on every parameter, gradient and buffer of the tree.")
class OneAddressOnce(Convert):
    """Of two parameters at one address only one was converted. Perhaps data_ptr() told them apart: a view, and everything empty, has
    the address of a different tensor. Compare objects.
    """

    def __call__(self, module: nn.Module, fn: Fn) -> Any:
        self.seen: set[int] = set()
        return super().__call__(module, fn)

    def parameter(self, part: nn.Module, name: str, param: nn.Parameter) -> None:
        if param.data_ptr() not in self.seen:
            self.seen.add(param.data_ptr())
            self.kept = getattr(self, "kept", []) + [param.data]  # so that no address is used again
            super().parameter(part, name, param)


@conversions.variant(SharedBufferOnce)
class _(Convert):
    """Within one module only."""

    def whole(self, module: nn.Module) -> None:
        for part in self.parts(module):
            for name, param in part._parameters.items():
                if param is not None:
                    self.parameter(part, name, param)
            for name, value in list(part.named_buffers(recurse=False)):
                self.buffer(part, name, value)


@conversions.mistake(
    breaks="What is no entry is left alone: a plain tensor attribute, a list of modules, the mode."
)
class ModeChanged(Convert):
    """The mode of a module is not what it was. Perhaps eval() or train() was called: no dtype depends on it, and who goes on
    training does not notice.
    """

    def whole(self, module: nn.Module) -> None:
        Convert.whole(self, module.eval())


@conversions.variant(ModeChanged)
class _(Convert):
    def whole(self, module: nn.Module) -> None:
        Convert.whole(self, module.train())
