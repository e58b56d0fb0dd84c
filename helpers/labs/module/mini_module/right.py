"""A right MiniModule, of which the mistakes of 05.mini_module change one method."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

DICTS = ("_parameters", "_buffers", "_modules")


class Right:
    """One method registers for all three kinds; one says whose turn it is."""

    def __init__(self) -> None:
        for place in DICTS:
            object.__setattr__(self, place, {})

    def is_free(self, name: str, place: str) -> bool:
        return not hasattr(self, name) or name in vars(self)[place]

    def is_text(self, name: Any) -> bool:
        return isinstance(name, str)

    def is_a_name(self, name: str) -> bool:
        return bool(name) and "." not in name

    def kind(self, place: str) -> Any:
        return {"_parameters": nn.Parameter, "_buffers": Tensor, "_modules": Right}[place]

    def register(self, place: str, name: str, value: Any) -> None:
        if place not in vars(self):
            raise AttributeError("before __init__")
        if not self.is_text(name):
            raise TypeError("a name is a str")
        if not self.is_a_name(name) or not self.is_free(name, place):
            raise KeyError(name)
        if value is not None and not isinstance(value, self.kind(place)):
            raise TypeError(f"{name} cannot be {type(value).__name__}")
        self.store(place, name, value)

    def store(self, place: str, name: str, value: Any) -> None:
        vars(self)[place][name] = value

    def register_parameter(self, name: str, value: Any) -> None:
        self.register("_parameters", name, value)

    def register_buffer(self, name: str, value: Any) -> None:
        self.register("_buffers", name, value)

    def register_module(self, name: str, value: Any) -> None:
        self.register("_modules", name, value)

    def clear(self, name: str, place: str) -> None:
        """Takes a name from all places but one."""
        for entries in (vars(self), *(vars(self)[other] for other in DICTS if other != place)):
            entries.pop(name, None)

    def add_module_entry(self, name: str, value: Any) -> None:
        self.clear(name, "_modules")
        self.store("_modules", name, value)

    def set_plain(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if "_parameters" not in vars(self):
            if isinstance(value, nn.Parameter | Right):
                raise AttributeError("before __init__")
            object.__setattr__(self, name, value)
        elif isinstance(value, nn.Parameter):
            self.clear(name, "_parameters")
            self.register_parameter(name, value)
        elif name in self._parameters:
            self.over_parameter(name, value)
        elif isinstance(value, Right):
            self.add_module_entry(name, value)
        elif name in self._modules:
            self.over_module(name, value)
        elif name in self._buffers:
            self.over_buffer(name, value)
        else:
            self.set_plain(name, value)

    def over_parameter(self, name: str, value: Any) -> None:
        self.register_parameter(name, value)

    def over_module(self, name: str, value: Any) -> None:
        self.register_module(name, value)

    def over_buffer(self, name: str, value: Any) -> None:
        self.register_buffer(name, value)

    def __getattr__(self, name: str) -> Any:
        for place in DICTS:
            if name in vars(self).get(place, ()):
                return vars(self)[place][name]
        raise AttributeError(f"{type(self).__name__} has no {name}")

    def __delattr__(self, name: str) -> None:
        for place in DICTS:
            if name in vars(self)[place]:
                del vars(self)[place][name]
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = [*object.__dir__(self), *(name for place in DICTS for name in vars(self)[place])]
        return [name for name in names if not name[0].isdigit()]
