"""What people write for 05.mini_module: names that are taken, that are none, that stay, or that dir() does not list."""

from __future__ import annotations

from typing import Any

from torch import nn

from helpers.labs.module.mini_module import mini_module
from helpers.labs.module.mini_module_right import DICTS, Right


@mini_module.wrong_answer(
    "taken_name_accepted",
    why="A name that the class has already was accepted. Python finds the class's attribute before it calls __getattr__, "
    "so the entry can never be read.",
    seen="so the entry can never be read",
)
class _(Right):
    def is_free(self, name: str, place: str) -> bool:
        return True


@mini_module.another_form("taken_name_accepted")
class _(Right):
    def is_free(self, name: str, place: str) -> bool:
        return name not in vars(self) and all(name not in vars(self)[at] for at in DICTS if at != place)


@mini_module.another_form("taken_name_accepted")
class _(Right):
    """Registering moves the name, as assignment does."""

    def is_free(self, name: str, place: str) -> bool:
        self.clear(name, place)
        return True


@mini_module.wrong_answer(
    "any_name_accepted",
    why="The names '' and 'a.b' were accepted. A state dict joins names with dots: 'a.b' would be read as b inside of a.",
    seen="A state dict joins names with dots",
)
class _(Right):
    def is_a_name(self, name: str) -> bool:
        return True


@mini_module.another_form("any_name_accepted")
class _(Right):
    def is_a_name(self, name: str) -> bool:
        return "." not in name


@mini_module.another_form("any_name_accepted")
class _(Right):
    def is_a_name(self, name: str) -> bool:
        return bool(name)


@mini_module.wrong_answer(
    "entries_cannot_be_deleted",
    why="`del m.weight` looked into __dict__ only, where no entry stands.",
    seen="looked into __dict__ only",
)
class _(Right):
    __delattr__ = object.__delattr__


@mini_module.wrong_answer(
    "deleted_leaves_none",
    why="`del` set the entry to None. The name is still taken, and is still in parameters' dict: a plain tensor cannot be "
    "put there.",
    seen="The name is still taken",
)
class _(Right):
    def __delattr__(self, name: str) -> None:
        for place in DICTS:
            if name in vars(self)[place]:
                vars(self)[place][name] = None
                return
        object.__delattr__(self, name)


@mini_module.wrong_answer(
    "entries_not_in_dir",
    why="dir() shows only what is in __dict__ and the class. Entries are in neither, and Tab in a notebook offers none.",
    seen="Tab in a notebook offers none",
)
class _(Right):
    __dir__ = object.__dir__


@mini_module.another_form("entries_not_in_dir")
class _(Right):
    def __dir__(self) -> list[str]:
        return [name for place in DICTS for name in vars(self)[place]]


@mini_module.wrong_answer(
    "assigned_without_a_check",
    why="Assignment put the Parameter into _parameters past register_parameter, whose rules for names hold there, too: "
    "self.forward = nn.Parameter(...) is a KeyError.",
    seen="past register_parameter",
)
class _(Right):
    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, nn.Parameter) and "_parameters" in vars(self):
            self.clear(name, "_parameters")
            self._parameters[name] = value
        else:
            Right.__setattr__(self, name, value)
