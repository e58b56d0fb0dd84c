"""Dicts that are not a module's own, and names that change their place against the rules (exercise 05.mini_module)."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from helpers.labs.module.mini_module.exercise import mini_module
from helpers.labs.module.mini_module.right import DICTS, Right


@mini_module.mistake(breaks="a plain class with three dicts of its own.")
class SharedDicts(Right):
    """Two modules have one dict: what is an entry of one is an entry of the other, too. Perhaps the dicts stand in the class,
    or in a default argument. Each __init__ makes three.
    """

    _parameters: dict[str, Any] = {}
    _buffers: dict[str, Any] = {}
    _modules: dict[str, Any] = {}

    def __init__(self) -> None:
        for place in DICTS:
            getattr(SharedDicts, place).clear()
            object.__setattr__(self, place, getattr(SharedDicts, place))


@mini_module.mistake(breaks="else AttributeError that tells the name.")
class KeyErrorForWhatIsMissing(Right):
    """A name that is nowhere raised KeyError, as a dict does. hasattr, getattr with a default and copy.deepcopy wait for an
    AttributeError.
    """

    def __getattr__(self, name: str) -> Any:
        if "_parameters" not in vars(self):
            raise AttributeError(name)
        for place in DICTS[:2]:
            if name in vars(self)[place]:
                return vars(self)[place][name]
        return vars(self)["_modules"][name]

    def is_free(self, name: str, place: str) -> bool:
        taken = name in vars(self) or name in dir(type(self))
        return not taken and all(name not in vars(self)[other] for other in DICTS if other != place)


@mini_module.mistake(breaks="A Parameter becomes an entry of _parameters")
class BufferAskedFirst(Right):
    """A Parameter that was assigned to the name of a buffer stayed among the buffers: perhaps `is the name a buffer?` is asked
    before `is the value a Parameter?`. The first rule that fits is the Parameter's.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor) and name in vars(self).get("_buffers", ()):
            self._buffers[name] = value
        else:
            Right.__setattr__(self, name, value)


@mini_module.mistake(breaks="is taken: by the class, a plain attribute, an entry of a different dict.")
class RegisterTakesOver(Right):
    """register_... went through under a name that stands elsewhere, and that is gone now: an assignment takes a name over, to
    register one that is taken is KeyError.
    """

    def is_free(self, name: str, place: str) -> bool:
        self.clear(name, place)
        return not hasattr(type(self), name)


@mini_module.variant(RegisterTakesOver)
class _(Right):
    """Entries only."""

    def is_free(self, name: str, place: str) -> bool:
        for other in DICTS:
            if other != place:
                vars(self)[other].pop(name, None)
        return Right.is_free(self, name, place)
