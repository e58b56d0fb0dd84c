"""What people write for 05.mini_module: None that is no entry, names that are nowhere."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from helpers.labs.module.mini_module.exercise import mini_module
from helpers.labs.module.mini_module.right import DICTS, Right


@mini_module.mistake(breaks="None is stored there,")
class NoneDeletesTheEntry(Right):
    """None took the entry away. In torch a name with None is an entry that is switched off, as the bias of
    Linear(bias=False): forward can ask for it, and it is kept free for a value of its kind.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        for place in DICTS:
            if value is None and name in vars(self).get(place, ()):
                del vars(self)[place][name]
                return
        Right.__setattr__(self, name, value)


@mini_module.variant(NoneDeletesTheEntry)
class _(Right):
    def __setattr__(self, name: str, value: Any) -> None:
        for place in DICTS:
            if value is None and name in vars(self).get(place, ()):
                del vars(self)[place][name]
        Right.__setattr__(self, name, value)


@mini_module.variant(NoneDeletesTheEntry)
class _(Right):
    def over_parameter(self, name: str, value: Any) -> None:
        if value is None:
            del self._parameters[name]
        else:
            self.register_parameter(name, value)


@mini_module.variant(NoneDeletesTheEntry)
class _(Right):
    def over_parameter(self, name: str, value: Any) -> None:
        if value is None:
            del self._parameters[name]
            object.__setattr__(self, name, None)
        else:
            self.register_parameter(name, value)


@mini_module.variant(NoneDeletesTheEntry)
class _(Right):
    """Of the buffers only."""

    def over_buffer(self, name: str, value: Any) -> None:
        if value is None:
            del self._buffers[name]
            object.__setattr__(self, name, None)
        else:
            self.register_buffer(name, value)


@mini_module.variant(NoneDeletesTheEntry)
class _(Right):
    """All that is no entry takes the name over, as a plain attribute."""

    def __setattr__(self, name: str, value: Any) -> None:
        if "_parameters" in vars(self) and not isinstance(value, nn.Parameter | Right):
            if not (name in self._buffers and isinstance(value, Tensor | None)):
                self.clear(name, "__dict__")
                object.__setattr__(self, name, value)
                return
        Right.__setattr__(self, name, value)


@mini_module.mistake(breaks="None is stored there,")
class NoneIsRefused(Right):
    """None over an entry was an error. It is the way to switch an entry off: m.bias = None."""

    def __setattr__(self, name: str, value: Any) -> None:
        if value is None and any(name in vars(self).get(place, ()) for place in DICTS):
            raise TypeError(f"cannot assign None to {name}")
        Right.__setattr__(self, name, value)


@mini_module.variant(NoneIsRefused)
class _(Right):
    def over_parameter(self, name: str, value: Any) -> None:
        raise TypeError(f"cannot assign {type(value).__name__} to {name}")


@mini_module.mistake(
    breaks="An entry is a name in one of the dicts: an nn.Parameter in _parameters, a Tensor in _buffers, a MiniModule in _modules, or None in any of them."
)
class NoneReadsAsMissing(Right):
    """To read an entry that is None was an AttributeError. Perhaps get(name) was asked, which gives None for
    what is missing, too. Ask `name in entries`, else `self.bias is None` in forward fails for the layer
    without a bias.
    """

    def __getattr__(self, name: str) -> Any:
        for place in DICTS:
            value = vars(self).get(place, {}).get(name)
            if value is not None:
                return value
        raise AttributeError(f"{type(self).__name__} has no {name}")


@mini_module.mistake(breaks="else AttributeError that tells the name.")
class MissingReadsAsNone(Right):
    """A name that is nowhere gave None. hasattr() is then always true, and a misspelt name fails far away
    from its line.
    """

    def __getattr__(self, name: str) -> Any:
        for place in DICTS:
            if name in vars(self).get(place, ()):
                return vars(self)[place][name]


@mini_module.mistake(breaks="else AttributeError that tells the name.")
class MissingIsKeyError(Right):
    """To read a name that is nowhere raised KeyError. hasattr() and getattr() with a default know
    AttributeError only.
    """

    def __getattr__(self, name: str) -> Any:
        for place in DICTS[:2]:
            if name in vars(self).get(place, ()):
                return vars(self)[place][name]
        return vars(self).get("_modules", {})[name]


@mini_module.mistake(breaks="all else is TypeError.")
class NoneAssignedOver(Right):
    """Over an entry that is None a tensor or a number was accepted, and went elsewhere: it is a plain
    attribute now, or an entry of a different dict. Ask `name in entries`: only what fits the dict, or None,
    may follow.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        plain = not isinstance(value, nn.Parameter | Right)
        for place in self.asked:
            if plain and name in vars(self).get(place, ()) and vars(self)[place][name] is None:
                object.__setattr__(self, name, value)
                return
        Right.__setattr__(self, name, value)

    asked = DICTS


for asked in (DICTS[:1], DICTS[1:2], DICTS[2:], (DICTS[0], DICTS[2])):
    mini_module.variant(NoneAssignedOver)(type("_", (NoneAssignedOver,), {"asked": asked}))


@mini_module.mistake(
    breaks='KeyError if `name` is "", holds a dot, or is taken: by the class, a plain attribute, an entry of a different dict.'
)
class NoneIsFree(Right):
    """A register method accepted a name under which None stands, as a plain attribute or an entry of a different dict. It is
    taken all the same.
    """

    def is_free(self, name: str, place: str) -> bool:
        there = getattr(self, name, None)
        return there is None or name in vars(self)[place]


@mini_module.mistake(
    breaks="An entry is a name in one of the dicts: an nn.Parameter in _parameters, a Tensor in _buffers, a MiniModule in _modules, or None in any of them."
)
class NoneNotRegistered(Right):
    """A register method refused None. None makes an entry that is switched off, as Linear(bias=False) has one."""

    refusing: Any = ("register_parameter", "register_buffer", "register_module")

    def register_parameter(self, name: str, value: Any) -> None:
        self.register_some("_parameters", name, value)

    def register_buffer(self, name: str, value: Any) -> None:
        self.register_some("_buffers", name, value)

    def register_module(self, name: str, value: Any) -> None:
        self.register_some("_modules", name, value)

    def register_some(self, place: str, name: str, value: Any) -> None:
        if value is None and f"register{place[:-1]}" in self.refusing:
            raise TypeError(f"{name} cannot be None")
        self.register(place, name, value)


for one in NoneNotRegistered.refusing:
    mini_module.variant(NoneNotRegistered)(type("_", (NoneNotRegistered,), {"refusing": (one,)}))
