"""What people write for 05.mini_module: lookups and errors that are not as nn.Module has them."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from helpers.labs.module.mini_module.exercise import mini_module
from helpers.labs.module.mini_module.right import DICTS, Right


@mini_module.mistake(breaks="to read a missing name is then an AttributeError.")
class LookupNeverEnds(Right):
    """To read a missing name before __init__ never ended. Perhaps __getattr__ reads self._parameters: where
    there is no such dict yet (a forgotten super().__init__(), deepcopy, pickle), that calls __getattr__
    again.
    """

    def __getattr__(self, name: str) -> Any:
        for entries in (self._parameters, self._buffers, self._modules):
            if name in entries:
                return entries[name]
        raise AttributeError(f"{type(self).__name__} has no {name}")


@mini_module.variant(LookupNeverEnds)
class _(Right):
    def __getattr__(self, name: str) -> Any:
        if hasattr(self, "_parameters"):
            for place in DICTS:
                if name in vars(self)[place]:
                    return vars(self)[place][name]
        raise AttributeError(f"{type(self).__name__} has no {name}")


@mini_module.mistake(
    breaks="To assign a Parameter or a MiniModule, to register, and to read a missing name is then an AttributeError."
)
class BeforeInitAccepted(Right):
    """A Parameter or a module was accepted before super().__init__() had run. In nn.Module __init__ makes new
    dicts, and what was assigned before would be lost: torch tells that at once.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if "_parameters" not in vars(self):
            object.__setattr__(self, name, value)
        else:
            Right.__setattr__(self, name, value)


@mini_module.variant(BeforeInitAccepted)
class _(Right):
    def __setattr__(self, name: str, value: Any) -> None:
        if "_parameters" not in vars(self) and isinstance(value, nn.Parameter | Right):
            Right.__init__(self)
        Right.__setattr__(self, name, value)

    def register(self, place: str, name: str, value: Any) -> None:
        if "_parameters" not in vars(self):
            Right.__init__(self)
        Right.register(self, place, name, value)


@mini_module.mistake(breaks="To assign anything else works: it is a plain attribute.")
class NothingBeforeInit(Right):
    """A plain attribute before super().__init__() was an error. Only entries need the dicts: self.size = 3
    has always been allowed there.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if "_parameters" not in vars(self):
            raise AttributeError(f"cannot assign {name} before __init__")
        Right.__setattr__(self, name, value)


@mini_module.mistake(
    breaks="To assign a Parameter or a MiniModule, to register, and to read a missing name is then an AttributeError."
)
class RegisteredBeforeInit(Right):
    """A register method went through before super().__init__() had run. Perhaps it makes the dicts that are missing: __init__
    makes new ones, and what was registered before is lost.
    """

    made = DICTS

    def register(self, place: str, name: str, value: Any) -> None:
        for missing in self.made or (place,):
            vars(self).setdefault(missing, {})
        Right.register(self, place, name, value)


@mini_module.variant(RegisteredBeforeInit)
class _(RegisteredBeforeInit):
    """Its own only."""

    made = ()


@mini_module.mistake()
class TensorOverAParameter(Right):
    """A tensor over a Parameter was accepted. torch raises TypeError: self.w = self.w * 0.5 in forward is a
    slip, by which an optimizer and forward no longer have the same weight.
    """

    def over_parameter(self, name: str, value: Any) -> None:
        if value is None:
            self.register_parameter(name, None)
        else:
            del self._parameters[name]
            setattr(self, name, value)


@mini_module.variant(TensorOverAParameter)
class _(Right):
    def over_parameter(self, name: str, value: Any) -> None:
        if value is None:
            self.register_parameter(name, None)
        else:
            object.__setattr__(self, name, value)


@mini_module.variant(TensorOverAParameter)
class _(Right):
    def over_parameter(self, name: str, value: Any) -> None:
        self._parameters[name] = value


@mini_module.mistake(breaks="Where the name is an entry of _buffers, a Tensor or None is stored there,")
class BufferBecomesPlain(Right):
    """A tensor over a buffer became a plain attribute: it is not saved with the model, nor moved. It is stored in _buffers,
    where the name stands.
    """

    def over_buffer(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor):
            object.__setattr__(self, name, value)
        else:
            self.register_buffer(name, value)


@mini_module.variant(BufferBecomesPlain)
class _(Right):
    """Modules and parameters, too, can be overwritten by anything."""

    def over_parameter(self, name: str, value: Any) -> None:
        for place in DICTS:
            if value is not None and name in vars(self)[place]:
                del vars(self)[place][name]
                setattr(self, name, value)
                return
        self.register_parameter(name, value)

    over_module = over_buffer = over_parameter


@mini_module.mistake()
class AnythingOverABuffer(Right):
    """Under the name of a buffer something was accepted that is neither a tensor nor None. Among the buffers .to() and
    state_dict() expect one of these, and an assignment does not make a plain attribute of a buffer.
    """

    def over_buffer(self, name: str, value: Any) -> None:
        self._buffers[name] = value


@mini_module.variant(AnythingOverABuffer)
class _(Right):
    def over_buffer(self, name: str, value: Any) -> None:
        if value is None or hasattr(value, "shape"):
            self._buffers[name] = value
        else:
            del self._buffers[name]
            object.__setattr__(self, name, value)


@mini_module.mistake()
class AnythingOverAModule(Right):
    """Over a child something was accepted that is neither a module, a Parameter nor None. torch raises
    TypeError, and the child stays.
    """

    def over_module(self, name: str, value: Any) -> None:
        if value is None:
            self.register_module(name, None)
        else:
            del self._modules[name]
            object.__setattr__(self, name, value)


@mini_module.variant(AnythingOverAModule)
class _(Right):
    def over_module(self, name: str, value: Any) -> None:
        self._modules[name] = value


@mini_module.mistake(breaks="Where the name is an entry of _modules, None is stored there,")
class NoneBesideTheEntry(Right):
    """None over an entry became a plain attribute, and the entry is still there: what is trained and saved is not what
    forward finds. None is stored in the dict, where the name stands.
    """

    def over_module(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)


@mini_module.variant(NoneBesideTheEntry)
class _(Right):
    def __setattr__(self, name: str, value: Any) -> None:
        if value is None:
            object.__setattr__(self, name, value)
        else:
            Right.__setattr__(self, name, value)


@mini_module.variant(NoneBesideTheEntry)
class _(Right):
    """Of the buffers only."""

    def over_buffer(self, name: str, value: Any) -> None:
        if value is None:
            object.__setattr__(self, name, value)
        else:
            self.register_buffer(name, value)


@mini_module.mistake()
class WhatIsCalledIsAModule(Right):
    """Something that can be called, or that is an nn.Module, was taken for a MiniModule. Ask isinstance(value, MiniModule)."""

    def is_module(self, value: Any) -> bool:
        return callable(value)

    def register_module(self, name: str, value: Any) -> None:
        if self.is_module(value):
            self.register(name=name, place="_modules", value=None)
            self._modules[name] = value
        else:
            self.register("_modules", name, value)


@mini_module.variant(WhatIsCalledIsAModule)
class _(WhatIsCalledIsAModule):
    def is_module(self, value: Any) -> bool:
        return isinstance(value, nn.Module)


@mini_module.mistake()
class ModuleOverAParameter(Right):
    """A module over a Parameter was accepted: only a Parameter or None may follow a Parameter. "Is the name a
    parameter?" is asked before "is the value a module?".
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Right) and "_parameters" in vars(self):
            self.add_module_entry(name, value)
        else:
            Right.__setattr__(self, name, value)


@mini_module.variant(ModuleOverAParameter)
class _(Right):
    """The parameter's entry stays beside it."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Right) and "_parameters" in vars(self):
            for entries in (vars(self), self._buffers):
                entries.pop(name, None)
            self._modules[name] = value
        else:
            Right.__setattr__(self, name, value)


@mini_module.mistake(breaks="what stood under the name in __dict__, _buffers or _modules goes.")
class ParameterCannotReplaceAModule(Right):
    """A Parameter over a module (or a buffer) was refused. The rule is not symmetric: nothing replaces a
    Parameter, but a Parameter replaces anything.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, nn.Parameter):
            if name in vars(self).get("_modules", ()):
                raise TypeError(f"{name} is a module")
        Right.__setattr__(self, name, value)


@mini_module.variant(ParameterCannotReplaceAModule)
class _(Right):
    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, nn.Parameter):
            if any(name in vars(self).get(place, ()) for place in DICTS[1:]):
                raise TypeError(f"{name} is taken")
        Right.__setattr__(self, name, value)


class KindsInSetattr(Right):
    """Assignments ask for the kind themselves, and not by a register method."""

    def refuse(self, name: str, value: Any) -> None:
        if value is not None:
            raise TypeError(f"cannot assign {type(value).__name__} to {name}")
        next(vars(self)[place] for place in DICTS if name in vars(self)[place])[name] = None

    def over_buffer(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor):
            self._buffers[name] = value
        else:
            self.refuse(name, value)

    over_parameter = over_module = refuse


@mini_module.mistake(breaks="TypeError unless a Parameter or None.")
class AnyKindRegistered(KindsInSetattr):
    """register_parameter took what is no Parameter, as a plain tensor. Then parameters() holds what nobody expects there, and the
    error comes far away from this line. Perhaps nothing asks isinstance.
    """

    places = DICTS

    def kind(self, place: str) -> Any:
        return object if place in self.places else Right.kind(self, place)


@mini_module.variant(AnyKindRegistered)
class _(AnyKindRegistered):
    places = ("_parameters",)


@mini_module.mistake(breaks="TypeError unless a Tensor or None.")
class AnyKindOfBuffer(AnyKindRegistered):
    """register_buffer took what is no Tensor, as a number. Then buffers() holds what has no dtype, and the error comes far away
    from this line. Perhaps it asks no isinstance.
    """

    places = ("_buffers",)


@mini_module.variant(AnyKindOfBuffer)
class _(AnyKindRegistered):
    places = ("_buffers", "_modules")


@mini_module.mistake(breaks="TypeError unless a MiniModule or None.")
class AnyKindOfModule(AnyKindRegistered):
    """register_module took what is no MiniModule, as a function. Then modules() holds what nobody expects there, and the error
    comes far away from this line. Perhaps it asks no isinstance, or callable().
    """

    places = ("_modules",)


@mini_module.mistake(breaks="a MiniModule in _modules")
class OwnModulesRefused(KindsInSetattr):
    """register_module refused a MiniModule. Perhaps isinstance(module, nn.Module) was asked: a MiniModule is none, its class is
    plain.
    """

    def kind(self, place: str) -> Any:
        return nn.Module if place == "_modules" else Right.kind(self, place)


@mini_module.mistake()
class AnNnModule(nn.Module):
    """The class inherits from nn.Module, or borrows its methods, and so builds nothing of it."""


@mini_module.mistake(breaks="A Parameter becomes an entry of _parameters, by the rules of register_parameter")
class TheVeryClass(Right):
    """A value of a class below nn.Parameter or Tensor was refused, or became no entry: it counts as well.
    Perhaps type(value) was compared; ask isinstance.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if (
            isinstance(value, nn.Parameter)
            and type(value) is not nn.Parameter
            and "_parameters" in vars(self)
        ):
            if name in self._parameters:
                raise TypeError(f"{name} is a parameter")
            object.__setattr__(self, name, value)
        else:
            Right.__setattr__(self, name, value)


@mini_module.variant(TheVeryClass)
class _(Right):
    def register(self, place: str, name: str, value: Any) -> None:
        if value is not None and place != "_modules" and type(value) not in (nn.Parameter, Tensor):
            raise TypeError(f"{name} cannot be {type(value).__name__}")
        Right.register(self, place, name, value)


@mini_module.mistake(
    breaks='KeyError if `name` is "", holds a dot, or is taken: by the class, a plain attribute, an entry of a different dict.'
)
class NamesRefusedDifferently(Right):
    """A name that is taken, empty or with a dot was refused with an error of a different type. nn.Module
    raises KeyError.
    """

    error: Any = ValueError

    def register(self, place: str, name: str, value: Any) -> None:
        try:
            Right.register(self, place, name, value)
        except KeyError:
            raise self.error(name) from None


for other in (AttributeError, NameError, RuntimeError, TypeError):
    mini_module.variant(NamesRefusedDifferently)(type("_", (NamesRefusedDifferently,), {"error": other}))


@mini_module.mistake()
class KindsRefusedDifferently(Right):
    """A value of the wrong kind was refused with an error of a different type. nn.Module raises TypeError."""

    error: Any = ValueError

    def register(self, place: str, name: str, value: Any) -> None:
        if value is not None and not isinstance(value, self.kind(place)):
            raise self.error(name)
        Right.register(self, place, name, value)


for other in (AttributeError, KeyError, RuntimeError):
    mini_module.variant(KindsRefusedDifferently)(type("_", (KindsRefusedDifferently,), {"error": other}))


class KindRefused(KindsInSetattr):
    """A register method of one kind."""

    error: Any = ValueError
    places = DICTS

    def register(self, place: str, name: str, value: Any) -> None:
        if place in self.places and value is not None and not isinstance(value, self.kind(place)):
            raise self.error(name)
        Right.register(self, place, name, value)


for other in (ValueError, AttributeError, RuntimeError, KeyError, AssertionError):
    for at in (("_parameters",), ("_buffers",), ("_modules",), DICTS):
        mini_module.variant(KindsRefusedDifferently)(
            type("_", (KindRefused,), {"error": other, "places": at})
        )


@mini_module.variant(NamesRefusedDifferently)
class _(Right):
    """Only what is no name."""

    def register(self, place: str, name: str, value: Any) -> None:
        if isinstance(name, str) and not self.is_a_name(name):
            raise ValueError(name)
        Right.register(self, place, name, value)


@mini_module.variant(AnyKindOfModule)
class _(Right):
    """register_module only."""

    def register_module(self, name: str, value: Any) -> None:
        self.register("_modules", name, None)
        self._modules[name] = value

    def over_module(self, name: str, value: Any) -> None:
        self.register("_modules", name, value)


@mini_module.mistake(breaks="TypeError unless a Parameter or None.")
class MadeAParameter(Right):
    """register_parameter made a Parameter of a plain tensor. nn.Module raises TypeError: whether a tensor is trained is for the
    caller to say.
    """

    def register_parameter(self, name: str, value: Any) -> None:
        plain = isinstance(value, Tensor) and not isinstance(value, nn.Parameter)
        self.register("_parameters", name, nn.Parameter(value) if plain else value)

    def over_parameter(self, name: str, value: Any) -> None:
        self.register("_parameters", name, value)


@mini_module.variant(TheVeryClass)
class _(Right):
    """register_buffer only."""

    def register_buffer(self, name: str, value: Any) -> None:
        if value is not None and type(value) is not Tensor:
            raise TypeError(f"{name} is no tensor")
        self.register("_buffers", name, value)


@mini_module.variant(TheVeryClass)
class _(Right):
    """register_buffer takes a Tensor or a Parameter, of these very classes."""

    def register_buffer(self, name: str, value: Any) -> None:
        if value is not None and type(value) not in (Tensor, nn.Parameter):
            raise TypeError(f"{name} is no tensor")
        self.register("_buffers", name, value)


@mini_module.variant(BeforeInitAccepted)
class _(Right):
    """Modules only."""

    def __setattr__(self, name: str, value: Any) -> None:
        if "_parameters" not in vars(self) and isinstance(value, Right):
            object.__setattr__(self, name, value)
        else:
            Right.__setattr__(self, name, value)


@mini_module.variant(BeforeInitAccepted)
class _(Right):
    """The dicts are made when they are needed."""

    def __setattr__(self, name: str, value: Any) -> None:
        if "_parameters" not in vars(self):
            Right.__init__(self)
        Right.__setattr__(self, name, value)


@mini_module.mistake(
    breaks="To assign a Parameter or a MiniModule, to register, and to read a missing name is then an AttributeError."
)
class BeforeInitRefusedDifferently(Right):
    """An entry before super().__init__() was refused with an error of a different type. nn.Module raises AttributeError."""

    error: Any = KeyError

    def __setattr__(self, name: str, value: Any) -> None:
        if "_parameters" not in vars(self) and isinstance(value, nn.Parameter | Right):
            raise self.error(name)
        Right.__setattr__(self, name, value)


for other in (RuntimeError, TypeError):
    mini_module.variant(BeforeInitRefusedDifferently)(
        type("_", (BeforeInitRefusedDifferently,), {"error": other})
    )


@mini_module.mistake(breaks="to read a missing name is then an AttributeError.")
class MissingBeforeInitDifferently(Right):
    """Reading a missing name before __init__ raised KeyError, or an error that is no AttributeError. Perhaps
    self.__dict__["_parameters"] was asked while there is no such dict: deepcopy and hasattr() know AttributeError only.
    """

    def __getattr__(self, name: str) -> Any:
        for place in DICTS:
            if name in vars(self)[place]:
                return vars(self)[place][name]
        raise AttributeError(f"{type(self).__name__} has no {name}")
