"""Right answers to 05.mini_module, in different shapes."""

from __future__ import annotations

from collections import ChainMap
from typing import Any

from torch import Tensor, nn


class Plain:
    """The solution of the notebook, without its texts."""

    def __init__(self) -> None:
        for entries in ("_parameters", "_buffers", "_modules"):
            object.__setattr__(self, entries, {})

    def _check_name(self, name: str, entries: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError("a name is a str")
        if not name or "." in name:
            raise KeyError(f"{name!r} is no name for an entry")
        if hasattr(self, name) and name not in entries:
            raise KeyError(f"attribute {name!r} already exists")

    def register_parameter(self, name: str, param: nn.Parameter | None) -> None:
        self._check_name(name, self._parameters)
        if not isinstance(param, nn.Parameter | None):
            raise TypeError(f"{name} takes an nn.Parameter or None, not {type(param).__name__}")
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None) -> None:
        self._check_name(name, self._buffers)
        if not isinstance(tensor, Tensor | None):
            raise TypeError(f"{name} takes a Tensor or None, not {type(tensor).__name__}")
        self._buffers[name] = tensor

    def register_module(self, name: str, module: Plain | None) -> None:
        self._check_name(name, self._modules)
        if not isinstance(module, Plain | None):
            raise TypeError(f"{name} takes a MiniModule or None, not {type(module).__name__}")
        self._modules[name] = module

    def __setattr__(self, name: str, value: Any) -> None:
        parameters = self.__dict__.get("_parameters")
        if parameters is None:
            if isinstance(value, nn.Parameter | Plain):
                raise AttributeError(f"cannot assign {name} before MiniModule.__init__()")
            object.__setattr__(self, name, value)
        elif isinstance(value, nn.Parameter):
            for entries in (self.__dict__, self._buffers, self._modules):
                entries.pop(name, None)
            self.register_parameter(name, value)
        elif name in parameters:
            self.register_parameter(name, value)
        elif isinstance(value, Plain):
            for entries in (self.__dict__, self._buffers):
                entries.pop(name, None)
            self._modules[name] = value
        elif name in self._modules:
            self.register_module(name, value)
        elif name in self._buffers:
            self.register_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        for kind in ("_parameters", "_buffers", "_modules"):
            entries = self.__dict__.get(kind, {})
            if name in entries:
                return entries[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __delattr__(self, name: str) -> None:
        for entries in (self._parameters, self._buffers, self._modules):
            if name in entries:
                del entries[name]
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {*object.__dir__(self), *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[0].isdigit())


class ByTable:
    """One table of kinds; all rules are loops over it. As strict for modules as for parameters."""

    def __init__(self) -> None:
        self._parameters, self._buffers, self._modules = {}, {}, {}

    @classmethod
    def _table(cls) -> dict[str, type]:
        return {"_parameters": nn.Parameter, "_modules": ByTable, "_buffers": Tensor}

    def _put(self, place: str, name: str, value: Any) -> None:
        if place not in self.__dict__:
            raise AttributeError("call super().__init__() first")
        entries, others = self.__dict__[place], [at for at in self._table() if at != place]
        if type(name) is not str:
            raise TypeError(name)
        if name == "" or name.count("."):
            raise KeyError(name)
        if name not in entries:
            taken = name in self.__dict__ or any(name in self.__dict__[at] for at in others)
            if taken or any(name in vars(base) for base in type(self).__mro__):
                raise KeyError(name)
        if not (value is None or isinstance(value, self._table()[place])):
            raise TypeError(type(value))
        entries[name] = value

    def register_parameter(self, name: str, param: Any) -> None:
        self._put("_parameters", name, param)

    def register_buffer(self, name: str, tensor: Any) -> None:
        self._put("_buffers", name, tensor)

    def register_module(self, name: str, module: Any) -> None:
        self._put("_modules", name, module)

    def __setattr__(self, name: str, value: Any) -> None:
        for place, kind in self._table().items():
            if place != "_buffers" and isinstance(value, kind):
                if name in self.__dict__.get("_parameters", ()) and place == "_modules":
                    raise TypeError(f"{name} is a parameter")
                for old in (self.__dict__, *map(self.__dict__.get, self._table())):
                    if old is not None and old is not self.__dict__.get(place) and name in old:
                        del old[name]
                self._put(place, name, value)
                return
            if name in self.__dict__.get(place, ()):
                self._put(place, name, value)
                return
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        inside = super().__getattribute__("__dict__")
        found = ChainMap(*(inside[place] for place in ByTable._table() if place in inside))
        try:
            return found[name]
        except KeyError:
            raise AttributeError(name) from None

    def __delattr__(self, name: str) -> None:
        for place in self._table():
            if self.__dict__.get(place, {}).pop(name, self) is not self:
                return
        super().__delattr__(name)

    def __dir__(self) -> Any:
        yield from (name for name in super().__dir__())
        for place in self._table():
            yield from (name for name in self.__dict__[place] if name.isidentifier())


class FromTheEntry:
    """First where the name stands now, then what may follow."""

    def __init__(self) -> None:
        super().__setattr__("_parameters", {})
        super().__setattr__("_buffers", {})
        super().__setattr__("_modules", {})

    def register_parameter(self, name: str, param: Any) -> None:
        place = self._free(name, "_parameters")
        if param is not None and not isinstance(param, nn.Parameter):
            raise TypeError("a Parameter, please")
        place[name] = param

    def register_buffer(self, name: str, tensor: Any) -> None:
        place = self._free(name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError("a Tensor, please")
        place[name] = tensor

    def register_module(self, name: str, module: Any) -> None:
        place = self._free(name, "_modules")
        if module is not None and not isinstance(module, FromTheEntry):
            raise TypeError("a module, please")
        place[name] = module

    def _free(self, name: str, kind: str) -> dict[str, Any]:
        try:
            place = vars(self)[kind]
        except KeyError:
            raise AttributeError("before __init__") from None
        if not hasattr(name, "isidentifier"):
            raise TypeError("a name is a text")
        if name in place:
            return place
        if not name or set(name) & {"."} or name in dir(type(self)) or self._place(name):
            raise KeyError(f"no entry can be called {name!r}")
        return place

    def _place(self, name: str) -> str:
        """Where a name stands: the name of a dict, "__dict__", or nothing."""
        for kind in ("_parameters", "_buffers", "_modules"):
            if name in vars(self).get(kind, ()):
                return kind
        return "__dict__" if name in vars(self) else ""

    def __setattr__(self, name: str, value: Any) -> None:
        match value:
            case nn.Parameter():
                kind = "_parameters"
            case FromTheEntry():
                kind = "_modules"
            case _:
                kind = ""
        place = self._place(name)
        if kind and "_modules" not in vars(self):
            raise AttributeError(f"{name}: before __init__")
        if place == "_parameters" and kind != "_parameters" and value is not None:
            raise TypeError(f"{name} holds a Parameter")
        if place == "_modules" and not kind and value is not None:
            raise TypeError(f"{name} holds a module")
        if place == "_buffers" and not kind and not isinstance(value, Tensor | None):
            raise TypeError(f"{name} holds a buffer")
        if not kind:
            (vars(self)[place] if place and place != "__dict__" else vars(self))[name] = value
            return
        if kind == "_parameters" and place != kind and (name in dir(type(self)) or "." in name or not name):
            raise KeyError(name)
        if place not in ("", kind):
            (vars(self) if place == "__dict__" else vars(self)[place]).pop(name)
        vars(self)[kind][name] = value

    def __getattr__(self, name: str) -> Any:
        place = FromTheEntry._place(self, name)
        return vars(self)[place][name] if place else self.__getattribute__(name)

    def __delattr__(self, name: str) -> None:
        place = self._place(name)
        if place in ("", "__dict__"):
            object.__delattr__(self, name)
        else:
            vars(self)[place].pop(name)

    def __dir__(self) -> list[str]:
        entries = [*self._parameters, *self._buffers, *self._modules]
        return [*vars(self), *dir(type(self)), *entries]  # digits, too


RIGHT = [Plain, ByTable, FromTheEntry]
