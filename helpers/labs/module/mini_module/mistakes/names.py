"""What people write for 05.mini_module: names that are taken, that are none, that stay, or that dir() does not list."""

from __future__ import annotations

from typing import Any

from torch import nn

from helpers.labs.module.mini_module.exercise import mini_module
from helpers.labs.module.mini_module.right import DICTS, Right


@mini_module.mistake(
    breaks='KeyError if `name` is "", holds a dot, or is taken: by the class, a plain attribute, an entry of a different dict.'
)
class TakenNameAccepted(Right):
    """A name that the class has already was accepted. Python finds the class's attribute before it calls
    __getattr__, so the entry can never be read.
    """

    def is_free(self, name: str, place: str) -> bool:
        return True


@mini_module.variant(TakenNameAccepted)
class _(Right):
    def is_free(self, name: str, place: str) -> bool:
        return name not in vars(self) and all(name not in vars(self)[at] for at in DICTS if at != place)


@mini_module.variant(TakenNameAccepted)
class _(Right):
    """Registering moves the name, as assignment does."""

    def is_free(self, name: str, place: str) -> bool:
        self.clear(name, place)
        return True


@mini_module.mistake()
class AnyNameAccepted(Right):
    """'' or 'a.b' was accepted as a name. A state dict joins names with dots: 'a.b' would be read as b inside of a."""

    def is_a_name(self, name: str) -> bool:
        return True


@mini_module.variant(AnyNameAccepted)
class _(Right):
    def is_a_name(self, name: str) -> bool:
        return "." not in name


@mini_module.variant(AnyNameAccepted)
class _(Right):
    def is_a_name(self, name: str) -> bool:
        return bool(name)


@mini_module.mistake()
class EntriesCannotBeDeleted(Right):
    """`del` of an entry was an AttributeError. Perhaps not all three dicts were looked into: no entry stands
    in __dict__.
    """

    __delattr__ = object.__delattr__


@mini_module.mistake(breaks="`del self.name`: an entry, or else a plain attribute;")
class PlainCannotBeDeleted(Right):
    """`del` of a plain attribute was an error, and of an entry it went through. Perhaps only the three dicts were looked
    into: what is in none of them goes to object.__delattr__.
    """

    def __delattr__(self, name: str) -> None:
        for place in DICTS:
            if name in vars(self)[place]:
                del vars(self)[place][name]
                return
        raise AttributeError(name)


@mini_module.mistake(breaks="TypeError if `name` is no str.")
class NameMadeAText(Right):
    """A name that is no str was accepted. Perhaps str(name) made one of it, or nothing asks isinstance(name, str): None would
    become an entry called 'None'.
    """

    def register(self, place: str, name: Any, value: Any) -> None:
        Right.register(self, place, str(name), value)


@mini_module.mistake()
class DeletedLeavesNone(Right):
    """`del` set the entry to None. The name is still taken, and is still in parameters' dict: a plain tensor
    cannot be put there.
    """

    def __delattr__(self, name: str) -> None:
        for place in DICTS:
            if name in vars(self)[place]:
                vars(self)[place][name] = None
                return
        object.__delattr__(self, name)


@mini_module.mistake()
class EntriesNotInDir(Right):
    """dir() lists no entry: they stand neither in __dict__ nor in the class, and Tab in a notebook offers
    none.
    """

    __dir__ = object.__dir__


for places in (("_parameters", "_buffers"), ("_parameters", "_modules"), ("_buffers", "_modules")):
    # `del` forgets one of the dicts

    def _delete(self: Any, name: str, places: tuple[str, ...] = places) -> None:
        for place in places:
            if name in vars(self)[place]:
                del vars(self)[place][name]
                return
        object.__delattr__(self, name)

    mini_module.variant(EntriesCannotBeDeleted)(type("_", (Right,), {"__delattr__": _delete}))


@mini_module.mistake(breaks="`del self.name`: an entry, or else a plain attribute;")
class NoneCannotBeDeleted(Right):
    """`del` of an entry that is None was an AttributeError, or left it there. None makes an entry as well: ask `name in
    entries`.
    """

    asked: Any = DICTS

    def __delattr__(self, name: str) -> None:
        for place in DICTS:
            if name in vars(self)[place] and not (place in self.asked and vars(self)[place][name] is None):
                del vars(self)[place][name]
                return
        object.__delattr__(self, name)


for place in DICTS[1:]:
    mini_module.variant(NoneCannotBeDeleted)(type("_", (NoneCannotBeDeleted,), {"asked": (place,)}))


@mini_module.variant(NoneCannotBeDeleted)
class _(Right):
    """Without an error."""

    def __delattr__(self, name: str) -> None:
        if getattr(self, name) is not None:
            Right.__delattr__(self, name)


@mini_module.mistake(
    breaks='KeyError if `name` is "", holds a dot, or is taken: by the class, a plain attribute, an entry of a different dict.'
)
class AssignedWithoutACheck(Right):
    """A Parameter was accepted under a name that the class has: self.forward = nn.Parameter(...) is a
    KeyError. Perhaps assignment goes past register_parameter, whose rules for names hold there, too.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, nn.Parameter) and "_parameters" in vars(self):
            self.clear(name, "_parameters")
            self._parameters[name] = value
        else:
            Right.__setattr__(self, name, value)


@mini_module.mistake()
class NamesOfAnyType(Right):
    """A name that is no str was not refused as such: nn.Module raises TypeError before it asks anything else."""

    def is_text(self, name: Any) -> bool:
        return True

    def is_a_name(self, name: Any) -> bool:
        return bool(name) and "." not in str(name)


@mini_module.variant(NamesOfAnyType)
class _(Right):
    def is_text(self, name: Any) -> bool:
        return True


@mini_module.mistake()
class SomeNotInDir(Right):
    """dir() leaves out some of the entries. It lists those of all three dicts, whatever their names."""

    def __dir__(self) -> list[str]:
        return [name for name in Right.__dir__(self) if not any(letter.isdigit() for letter in name)]


@mini_module.mistake()
class PlainNotInDir(Right):
    """dir() leaves out plain attributes, or what stands in the class, or both. It lists all that can be asked
    for.
    """

    def __dir__(self) -> list[str]:
        return [*dir(type(self)), *(name for place in DICTS for name in vars(self)[place])]


@mini_module.variant(PlainNotInDir)
class _(Right):
    def __dir__(self) -> list[str]:
        return [*vars(self), *(name for place in DICTS for name in vars(self)[place])]


@mini_module.variant(PlainNotInDir)
class _(Right):
    """Nothing but entries."""

    def __dir__(self) -> list[str]:
        return [name for place in DICTS for name in vars(self)[place]]


for place in DICTS:
    # one of the dicts is left out

    def _listed(self: Any, place: str = place) -> list[str]:
        return [name for name in Right.__dir__(self) if name not in vars(self)[place]]

    mini_module.variant(SomeNotInDir)(type("_", (Right,), {"__dir__": _listed}))

    # one of the dicts is listed, and the other two are not

    def _listed_alone(self: Any, place: str = place) -> list[str]:
        return [*object.__dir__(self), *vars(self)[place]]

    mini_module.variant(SomeNotInDir)(type("_", (Right,), {"__dir__": _listed_alone}))


@mini_module.variant(AnyNameAccepted)
class _(Right):
    """For modules only."""

    def register_module(self, name: str, value: Any) -> None:
        if isinstance(name, str) and "." in name:
            self._modules[name] = value
        else:
            self.register("_modules", name, value)


@mini_module.mistake(
    breaks='KeyError if `name` is "", holds a dot, or is taken: by the class, a plain attribute, an entry of a different dict.'
)
class TakenElsewhereAccepted(Right):
    """A register method accepted a name that a plain attribute, or an entry of a different dict, has already. Then one name
    stands in two places: one of the two is never found.
    """

    def is_free(self, name: str, place: str) -> bool:
        others = any(name in vars(self)[other] for other in DICTS if other != place)
        return others or Right.is_free(self, name, place)


@mini_module.variant(TakenElsewhereAccepted)
class _(Right):
    """Plain attributes only."""

    def is_free(self, name: str, place: str) -> bool:
        return name in vars(self) or Right.is_free(self, name, place)


@mini_module.variant(TakenElsewhereAccepted)
class _(Right):
    """Both: only the class is asked."""

    def is_free(self, name: str, place: str) -> bool:
        return not hasattr(type(self), name)


@mini_module.mistake(breaks="new or in its old place")
class RegisteredOnceOnly(Right):
    """A name was refused that its own dict has already. It may be registered again there: the new value takes the old place."""

    def register_new(self, place: str, name: str, value: Any) -> None:
        if place in vars(self) and name in vars(self)[place]:
            raise KeyError(name)
        self.register(place, name, value)

    def register_parameter(self, name: str, value: Any) -> None:
        self.register_new("_parameters", name, value)

    def register_buffer(self, name: str, value: Any) -> None:
        self.register_new("_buffers", name, value)

    def register_module(self, name: str, value: Any) -> None:
        self.register_new("_modules", name, value)

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


@mini_module.mistake()
class DelRefusesWhatTheClassHas(Right):
    """`del` refused a plain attribute because the class has one of that name, too. It takes away what the instance has;
    then the one of the class is seen again.
    """

    def __delattr__(self, name: str) -> None:
        if hasattr(type(self), name):
            raise AttributeError(name)
        Right.__delattr__(self, name)


@mini_module.mistake(breaks="AttributeError if there is neither.")
class MissingDeletedOtherwise(Right):
    """`del` of a name that is nowhere raised no AttributeError, but something else or nothing."""

    def missing(self, name: str) -> None:
        raise KeyError(name)

    def __delattr__(self, name: str) -> None:
        if name not in vars(self) and not any(name in vars(self)[place] for place in DICTS):
            self.missing(name)
        else:
            Right.__delattr__(self, name)


@mini_module.variant(MissingDeletedOtherwise)
class _(MissingDeletedOtherwise):
    def missing(self, name: str) -> None:
        pass


@mini_module.mistake(breaks="else AttributeError that tells the name.")
class ErrorWithoutTheName(Right):
    """The AttributeError does not say which name is missing. Who reads it sees only that something is."""

    def __getattr__(self, name: str) -> Any:
        try:
            return Right.__getattr__(self, name)
        except AttributeError:
            raise AttributeError("no such attribute") from None


@mini_module.variant(ErrorWithoutTheName)
class _(Right):
    def __getattr__(self, name: str) -> Any:
        try:
            return Right.__getattr__(self, name)
        except AttributeError:
            raise AttributeError from None
