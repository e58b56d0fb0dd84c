"""What people write for 05.mini_module: values that go to the wrong place, or to two places."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.module.mini_module.exercise import mini_module
from helpers.labs.module.mini_module.right import DICTS, Right


@mini_module.mistake()
class TensorsBecomeBuffers(Right):
    """A tensor under a new name became a buffer. So each mask or cached activation would be saved and moved
    with the model: in torch only what is registered already is a buffer.
    """

    def set_plain(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor):
            self.clear(name, "_buffers")
            self._buffers[name] = value
        else:
            object.__setattr__(self, name, value)


@mini_module.variant(TensorsBecomeBuffers)
class _(Right):
    def set_plain(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor):
            self.register_buffer(name, value)
        else:
            object.__setattr__(self, name, value)


@mini_module.variant(TensorsBecomeBuffers)
class _(Right):
    def set_plain(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor):
            self._buffers[name] = value
        else:
            object.__setattr__(self, name, value)


@mini_module.mistake(breaks="No name stands in two of the dicts, nor in a dict and in __dict__.")
class OldEntryLeft(Right):
    """What stood under the name is still there, or the new value was refused as the name is taken. Take the
    old one out first: no name stands in two places.
    """

    def clear(self, name: str, place: str) -> None:
        pass

    def is_free(self, name: str, place: str) -> bool:
        return not hasattr(type(self), name)


@mini_module.variant(OldEntryLeft)
class _(Right):
    def clear(self, name: str, place: str) -> None:
        for other in DICTS:
            if other != place:
                vars(self)[other].pop(name, None)

    def is_free(self, name: str, place: str) -> bool:
        return not hasattr(type(self), name)


@mini_module.variant(OldEntryLeft)
class _(Right):
    def clear(self, name: str, place: str) -> None:
        vars(self).pop(name, None)

    def is_free(self, name: str, place: str) -> bool:
        return not hasattr(type(self), name)


@mini_module.variant(OldEntryLeft)
class _(Right):
    def clear(self, name: str, place: str) -> None:
        vars(self).pop(name, None)


@mini_module.variant(OldEntryLeft)
class _(Right):
    def clear(self, name: str, place: str) -> None:
        for other in DICTS:
            if other != place:
                vars(self)[other].pop(name, None)


@mini_module.variant(OldEntryLeft)
class _(Right):
    """The same, in a class whose register methods look at nothing."""

    def clear(self, name: str, place: str) -> None:
        pass

    def is_free(self, name: str, place: str) -> bool:
        return True


@mini_module.variant(OldEntryLeft)
class _(Right):
    def clear(self, name: str, place: str) -> None:
        pass


@mini_module.variant(OldEntryLeft)
class _(Right):
    """Only what a module replaces is left."""

    def add_module_entry(self, name: str, value: Any) -> None:
        self._modules[name] = value


@mini_module.variant(OldEntryLeft)
class _(Right):
    """Only what stood in _buffers is left."""

    def clear(self, name: str, place: str) -> None:
        for entries in (
            vars(self),
            *(vars(self)[other] for other in DICTS if other not in (place, "_buffers")),
        ):
            entries.pop(name, None)


@mini_module.variant(OldEntryLeft)
class _(Right):
    """The same, past the check of the name."""

    def clear(self, name: str, place: str) -> None:
        for entries in (
            vars(self),
            *(vars(self)[other] for other in DICTS if other not in (place, "_buffers")),
        ):
            entries.pop(name, None)

    def is_free(self, name: str, place: str) -> bool:
        return not hasattr(type(self), name)


@mini_module.mistake(breaks="A Parameter becomes an entry of _parameters, by the rules of register_parameter")
class KeptInTwoPlaces(Right):
    """Beside the entry the value stands in __dict__, as a plain attribute. Python finds that one first, also
    when the entry has become something else. Perhaps super().__setattr__ was called for it, too.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        Right.__setattr__(self, name, value)
        object.__setattr__(self, name, value)


@mini_module.variant(KeptInTwoPlaces)
class _(Right):
    def store(self, place: str, name: str, value: Any) -> None:
        vars(self)[place][name] = value
        vars(self)[name] = value


@mini_module.variant(KeptInTwoPlaces)
class _(Right):
    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if isinstance(value, nn.Parameter):
            self._parameters[name] = value
        elif isinstance(value, Right):
            self._modules[name] = value


@mini_module.mistake(breaks="A Parameter becomes an entry of _parameters, by the rules of register_parameter")
class ParametersBecomeBuffers(Right):
    """A Parameter that was assigned stands among the buffers, where no optimizer sees it. Perhaps
    isinstance(value, Tensor) is asked first: a Parameter is a Tensor, too.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor) and "_buffers" in vars(self):
            self.clear(name, "_buffers")
            self._buffers[name] = value
        else:
            Right.__setattr__(self, name, value)


@mini_module.variant(ParametersBecomeBuffers)
class _(Right):
    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, nn.Parameter) and "_buffers" in vars(self):
            self.clear(name, "_buffers")
            self._buffers[name] = value
        else:
            Right.__setattr__(self, name, value)


@mini_module.mistake()
class ModulesStayPlain(Right):
    """A module that was assigned became a plain attribute: the call in forward works, and parameters(),
    state_dict() and .to() of the whole never reach the child.
    """

    def add_module_entry(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)


@mini_module.mistake(breaks="A Parameter becomes an entry of _parameters, by the rules of register_parameter")
class RequiresGradMakesAParameter(Right):
    """A frozen Parameter became no entry. It is the type nn.Parameter that counts. Perhaps requires_grad was
    asked: the result of a computation has it, too, and is no Parameter.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        frozen = isinstance(value, nn.Parameter) and not value.requires_grad
        trained = isinstance(value, Tensor) and value.requires_grad
        if frozen or (trained and not isinstance(value, nn.Parameter)):
            place = vars(self) if frozen else self._parameters
            place[name] = value
        else:
            Right.__setattr__(self, name, value)


@mini_module.mistake(breaks="An entry that is assigned again keeps its place in the order of its dict.")
class AssignedGoesLast(Right):
    """What was assigned again stands at the end of its dict: perhaps the old entry is taken out first. In nn.Module it
    keeps its place, and of parameters the place is all that an optimizer's file knows.
    """

    def store(self, place: str, name: str, value: Any) -> None:
        vars(self)[place].pop(name, None)
        vars(self)[place][name] = value


@mini_module.variant(AssignedGoesLast)
class _(Right):
    def clear(self, name: str, place: str) -> None:
        for entries in (vars(self), *(vars(self)[other] for other in DICTS)):
            entries.pop(name, None)


@mini_module.mistake()
class WrittenThrough(Right):
    """A tensor over a Parameter was accepted, and a Parameter stands there still. Perhaps the tensor was
    copied into it, or a new Parameter made of it. That hides a slip, such as self.w = self.w * 2 in forward;
    torch refuses it, and asks for copy_ where copying is meant.
    """

    def over_parameter(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor):
            with torch.no_grad():
                self._parameters[name].copy_(value)
        else:
            self.register_parameter(name, value)


@mini_module.variant(WrittenThrough)
class _(Right):
    def over_parameter(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor):
            self._parameters[name].data = value
        else:
            self.register_parameter(name, value)


@mini_module.variant(WrittenThrough)
class _(Right):
    def over_parameter(self, name: str, value: Any) -> None:
        self.register_parameter(name, nn.Parameter(value) if isinstance(value, Tensor) else value)


@mini_module.mistake(breaks="new or in its old place")
class RegisteredAgainGoesLast(Right):
    """What was registered again stands at the end of its dict: perhaps the register method takes the old entry out first.
    In nn.Module it keeps its place.
    """

    def register_again(self, place: str, name: str, value: Any) -> None:
        self.register(place, name, None)
        vars(self)[place].pop(name)
        self.register(place, name, value)

    def register_parameter(self, name: str, value: Any) -> None:
        self.register_again("_parameters", name, value)

    def register_buffer(self, name: str, value: Any) -> None:
        self.register_again("_buffers", name, value)

    def register_module(self, name: str, value: Any) -> None:
        self.register_again("_modules", name, value)

    def over_parameter(self, name: str, value: Any) -> None:
        self.register("_parameters", name, value)

    def over_module(self, name: str, value: Any) -> None:
        self.register("_modules", name, value)

    def over_buffer(self, name: str, value: Any) -> None:
        self.register("_buffers", name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, nn.Parameter) and "_parameters" in vars(self):
            self.clear(name, "_parameters")
            self.register("_parameters", name, value)
        else:
            Right.__setattr__(self, name, value)


for place in DICTS:
    # of one kind only

    def _register(self: Any, name: str, value: Any, place: str = place) -> None:
        self.register_again(place, name, value)

    _kind = {"_parameters": "parameter", "_buffers": "buffer", "_modules": "module"}[place]
    _rest = {
        f"register_{kind}": getattr(Right, f"register_{kind}")
        for kind in ("parameter", "buffer", "module")
        if kind != _kind
    }
    mini_module.variant(RegisteredAgainGoesLast)(type("_", (RegisteredAgainGoesLast,), _rest))


@mini_module.mistake()
class OfItsOwnClassOnly(Right):
    """A module of a different class than the one that it is assigned to became no entry: a model and its layers are of
    different classes. Perhaps type(self) was asked for; ask isinstance(value, MiniModule).
    """

    def is_mine(self, value: Any) -> bool:
        return type(value) is type(self)

    def register(self, place: str, name: str, value: Any) -> None:
        if place == "_modules" and value is not None and not self.is_mine(value):
            raise TypeError(f"{name} takes a module")
        Right.register(self, place, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Right) and "_parameters" in vars(self) and not self.is_mine(value):
            if name in self._parameters:
                self.over_parameter(name, value)
            elif name in self._modules:
                self.over_module(name, value)
            elif name in self._buffers:
                self.over_buffer(name, value)
            else:
                object.__setattr__(self, name, value)
        else:
            Right.__setattr__(self, name, value)


@mini_module.variant(OfItsOwnClassOnly)
class _(OfItsOwnClassOnly):
    """Only by assignment."""

    register = Right.register

    def is_mine(self, value: Any) -> bool:
        return isinstance(value, type(self))


@mini_module.mistake(
    breaks="An entry is a name in one of the dicts: an nn.Parameter in _parameters, a Tensor in _buffers, a MiniModule in _modules, or None in any of them."
)
class ParameterIsNoBuffer(Right):
    """register_buffer, given a Parameter, refused it or stored a different object. A Parameter is a Tensor, and nn.Module
    stores what it is given.
    """

    def register_buffer(self, name: str, value: Any) -> None:
        if isinstance(value, nn.Parameter):
            raise TypeError(f"{name} is a parameter")
        self.register("_buffers", name, value)


@mini_module.variant(ParameterIsNoBuffer)
class _(Right):
    def register_buffer(self, name: str, value: Any) -> None:
        self.register("_buffers", name, value.data if isinstance(value, nn.Parameter) else value)


@mini_module.mistake(breaks="a Tensor or None is stored there,")
class BufferWrittenThrough(Right):
    """A tensor over a buffer did not become the entry itself: the old one is still there, or it was an error.
    Perhaps the numbers were copied into the old one. Its shape may differ, and who holds the old one keeps
    the old numbers.
    """

    def over_buffer(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor) and self._buffers[name] is not None:
            with torch.no_grad():
                self._buffers[name].copy_(value)
        else:
            self.register_buffer(name, value)


@mini_module.variant(BufferWrittenThrough)
class _(Right):
    def over_buffer(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor) and self._buffers[name] is not None:
            self._buffers[name].data = value
        else:
            self.register_buffer(name, value)


@mini_module.variant(BufferWrittenThrough)
class _(Right):
    """Without a look at whether there is one."""

    def over_buffer(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor):
            self._buffers[name].copy_(value)
        else:
            self.register_buffer(name, value)


@mini_module.variant(OldEntryLeft)
class _(Right):
    """A module leaves the buffer of its name."""

    def add_module_entry(self, name: str, value: Any) -> None:
        vars(self).pop(name, None)
        self._modules[name] = value


@mini_module.variant(OldEntryLeft)
class _(Right):
    """A Parameter leaves the module of its name, past the check of the name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, nn.Parameter) and name in vars(self).get("_modules", ()):
            self._parameters[name] = value
        else:
            Right.__setattr__(self, name, value)


@mini_module.variant(OldEntryLeft)
class _(Right):
    """The same, with the check of the name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, nn.Parameter) and name in vars(self).get("_modules", ()):
            self.register_parameter(name, value)
        else:
            Right.__setattr__(self, name, value)
