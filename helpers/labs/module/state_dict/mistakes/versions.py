"""What people write for 05.state_dict: versions and extra states that are lost."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from torch import nn

from helpers.check.spec import returned
from helpers.labs.module.state_dict.exercise import state_dict
from helpers.labs.module.state_dict.right import (
    Keys,
    Load,
    Save,
    has_own,
    load,
    loading,
    loads,
    save,
    saves,
    saving,
)

built = state_dict.bank(returned)


@saves.mistake()
def plain_dict(module: nn.Module) -> dict[str, Any]:
    """The result is no OrderedDict. A plain dict has no room for the attribute _metadata, in which torch keeps the versions."""
    return dict(save(module))


@saves.mistake()
class VersionsLost(Save):  # the root's only
    """The state dict has a _metadata which does not tell the right version of every module. A module that has changed since
    (its _version is higher) cannot tell an old file from a new one.
    """

    def __call__(self, module: nn.Module) -> Any:
        sd = Save.__call__(self, module)
        sd._metadata = OrderedDict({"": {"version": module._version}})
        return sd


@saves.variant(VersionsLost)
class _(Save):
    """One number for all."""

    def about(self, prefix: str, module: nn.Module) -> tuple[str, Any]:
        return prefix[:-1], {"version": 1}


@saves.variant(VersionsLost)
class _(Save):
    """Empty."""

    def __call__(self, module: nn.Module) -> Any:
        sd = Save.__call__(self, module)
        sd._metadata = OrderedDict()
        return sd


@saves.mistake()
class VersionsByPrefix(Save):
    """In _metadata a module stands under its prefix, with the last dot. It belongs under the module's name:
    `conv2`.
    """

    def about(self, prefix: str, module: nn.Module) -> tuple[str, Any]:
        return prefix, {"version": module._version}


@saves.variant(VersionsLost)
class _(Save):
    """The number itself."""

    def about(self, prefix: str, module: nn.Module) -> tuple[str, Any]:
        return prefix[:-1], module._version


@saves.variant(VersionsLost)
class _(Save):
    """That of the class."""

    def about(self, prefix: str, module: nn.Module) -> tuple[str, Any]:
        return prefix[:-1], {"version": type(module)._version}


class Bare(Save):
    """No extra state on the way out."""

    def extra(self, module: nn.Module) -> Iterator[Any]:
        yield from ()


class Deaf(Load):
    """No extra state on the way in."""

    def extra(self, module: nn.Module, key: str, sd: Any) -> None:
        pass


@built.mistake()
def extra_state_forgotten():
    """Extra states are not in the dict, or were not handed to set_extra_state: all of them, or those that are empty, None or
    of a class that inherits the methods. Such a state is no tensor, and whatever it is it belongs under _extra_state.
    """
    return (saving(Bare), loading(Deaf))


state_dict.variant(extra_state_forgotten)((saving(Bare), load))
state_dict.variant(extra_state_forgotten)((save, loading(Deaf)))


class FalsyLeftOut(Save):
    """What is falsy is left out."""

    def extra(self, module: nn.Module) -> Iterator[Any]:
        return (extra for extra in Save.extra(self, module) if extra)


class NoneLeftOut(Save):
    """None is left out."""

    def extra(self, module: nn.Module) -> Iterator[Any]:
        return (extra for extra in Save.extra(self, module) if extra is not None)


class OwnOnly(Save):
    """Of the class itself only."""

    def extra(self, module: nn.Module) -> Iterator[Any]:
        if "get_extra_state" in vars(type(module)):
            yield module.get_extra_state()


for _kind in (FalsyLeftOut, NoneLeftOut, OwnOnly):
    state_dict.variant(extra_state_forgotten)((saving(_kind), load))


@loads.variant(extra_state_forgotten)
class _(Load):
    """What is falsy is not set."""

    def extra(self, module: nn.Module, key: str, sd: Any) -> None:
        if key in sd and not sd[key]:
            self.known.add(key)
        else:
            Load.extra(self, module, key, sd)


@loads.variant(extra_state_forgotten)
class _(Load):
    """None is not set."""

    def extra(self, module: nn.Module, key: str, sd: Any) -> None:
        if key in sd and sd[key] is None:
            self.known.add(key)
        else:
            Load.extra(self, module, key, sd)


@loads.variant(extra_state_forgotten)
class _(Load):
    """Of the class itself only."""

    def has_extra(self, module: nn.Module) -> bool:
        return "set_extra_state" in vars(type(module))


@loads.variant(extra_state_forgotten)
class _(Load):
    """Expected, and never set."""

    def extra(self, module: nn.Module, key: str, sd: Any) -> None:
        if self.has_extra(module):
            self.known.add(key)
            if key not in sd:
                self.lacks(key)


@loads.mistake(breaks="only there is the key expected.")
class ExtraSetAndUnexpected(Load):
    """Extra states were handed to set_extra_state, and their keys were called unexpected all the same. Where a module takes its
    extra state, the key is expected: perhaps only names of parameters and buffers are known.
    """

    def unexpected(self, module: nn.Module, sd: Any) -> list[str]:
        return [key for key in sd if key not in self.known or key.endswith("_extra_state")]


@loads.mistake()
class FalsyExtraTakenForMissing(Load):
    """Extra states that are in the file were called missing: those that are None, or empty. Perhaps get(key) was asked for
    truth; ask `key in sd`.
    """

    def extra(self, module: nn.Module, key: str, sd: Any) -> None:
        Load.extra(self, module, key, sd if sd.get(key) else {})


@loads.variant(FalsyExtraTakenForMissing)
class _(Load):
    def extra(self, module: nn.Module, key: str, sd: Any) -> None:
        Load.extra(self, module, key, sd if sd.get(key) is not None else {})


@saves.mistake()
class ExtraAskedOfAll(Save):
    """get_extra_state was called on a module whose class has none of its own. nn.Module has one, which raises: that the
    attribute is there says nothing.
    """

    def extra(self, module: nn.Module) -> Iterator[Any]:
        if hasattr(module, "get_extra_state"):
            yield module.get_extra_state()


@loads.mistake()
class ExtraExpectedOfAll(Load):
    """An extra state was expected of every module. Only those have one whose class has, or inherits, the methods; that the
    attribute is there says nothing, as nn.Module has it too.
    """

    def has_extra(self, module: nn.Module) -> bool:
        return hasattr(module, "set_extra_state")


@loads.mistake()
class ExtraKeysAllExpected(Load):
    """An extra state that no module takes was passed over. Its key is unexpected as any other."""

    def unexpected(self, module: nn.Module, sd: Any) -> list[str]:
        return [key for key in Load.unexpected(self, module, sd) if not key.endswith("_extra_state")]


@loads.mistake()
class ExtraNotMissed(Load):
    """A module's extra state that the file lacks is not among the missing keys."""

    def lacks(self, key: str) -> None:
        if not key.endswith("_extra_state"):
            Load.lacks(self, key)


@loads.mistake()
class ExtraSetFromNothing(Load):
    """set_extra_state was called though the file has nothing for the module, with None, or with something else in its place.
    The module then forgets what it knew: call it where the key is in the file.
    """

    def extra(self, module: nn.Module, key: str, sd: Any) -> None:
        if self.has_extra(module):
            self.known.add(key)
            module.set_extra_state(sd.get(key))
            if key not in sd:
                self.lacks(key)


@loads.variant(ExtraSetFromNothing)
class _(Load):
    """Its own state again."""

    def extra(self, module: nn.Module, key: str, sd: Any) -> None:
        if self.has_extra(module):
            self.known.add(key)
            module.set_extra_state(sd[key] if key in sd else module.get_extra_state())
            if key not in sd:
                self.lacks(key)


@loads.variant(ExtraSetFromNothing)
class _(Load):
    """An empty dict."""

    def extra(self, module: nn.Module, key: str, sd: Any) -> None:
        if self.has_extra(module):
            self.known.add(key)
            module.set_extra_state(sd.get(key, {}))
            if key not in sd:
                self.lacks(key)


@loads.mistake()
class ExtraSetTwice(Load):
    """set_extra_state was called more than once in a module. What it does may add up, as counting does: one load, one call."""

    def extra(self, module: nn.Module, key: str, sd: Any) -> None:
        if self.has_extra(module) and key in sd:
            module.set_extra_state(sd[key])
        Load.extra(self, module, key, sd)


@loads.mistake()
class ExtraNotNamed(Load):
    """The error does not name an extra state that is missing or unexpected. Perhaps keys that end in _extra_state were left out
    of the faults: whether it is a tensor or not, a missing or unexpected key is one.
    """

    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        Load.complain(self, missing, [key for key in unexpected if not key.endswith("_extra_state")], strict)


@loads.variant(ExtraNotNamed)
class _(Load):
    """Missing ones."""

    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        Load.complain(self, [key for key in missing if not key.endswith("_extra_state")], unexpected, strict)


class Nameless(Save):
    """Extra states without the name of the module."""

    def __call__(self, module: nn.Module) -> Any:
        sd = Save.__call__(self, module)
        for key in [key for key in sd if key.endswith("._extra_state")]:
            sd["_extra_state"] = sd.pop(key)
        return sd


@built.mistake(breaks='what it gives stands under "_extra_state" after the module\'s name and a dot,')
def extra_without_the_name():
    """Extra states stand under "_extra_state" without the name of the module, so that one overwrites the other."""
    return (saving(Nameless), load)


class Dotless(Save):
    """Without the dot."""

    def __call__(self, module: nn.Module) -> Any:
        sd = Save.__call__(self, module)
        for key in [key for key in sd if key.endswith("._extra_state")]:
            sd[key.removesuffix("._extra_state") + "_extra_state"] = sd.pop(key)
        return sd


@built.mistake(breaks='what it gives stands under "_extra_state" after the module\'s name and a dot,')
def extra_without_the_dot():
    """Extra states stand under the module's name and "_extra_state" without a dot between them. Perhaps the dot was cut off the
    names on the way, as for _metadata, where there is none at the end.
    """
    return (saving(Dotless), load)


class DottedRoot(Save):
    """That of the root after a dot."""

    def __call__(self, module: nn.Module) -> Any:
        sd = Save.__call__(self, module)
        if "_extra_state" in sd:
            sd["._extra_state"] = sd.pop("_extra_state")
        return sd


@built.mistake(breaks="for the root without the dot.")
def root_after_a_dot():
    """The extra state of the root stands under "._extra_state", or is looked for there. The root's name is empty, and no dot
    comes before "_extra_state".
    """
    return (saving(DottedRoot), load)


@loads.variant(root_after_a_dot)
class _(Load):
    def extra(self, module: nn.Module, key: str, sd: Any) -> None:
        Load.extra(self, module, "._extra_state" if key == "_extra_state" else key, sd)


class BothAsked(Save):
    """Extra states of modules that have both methods."""

    def extra(self, module: nn.Module) -> Iterator[Any]:
        if has_own(module, "get_extra_state") and has_own(module, "set_extra_state"):
            yield module.get_extra_state()


@built.mistake(breaks="Where a module's class has, or inherits, a get_extra_state that is not nn.Module's,")
def extra_by_the_other_method():
    """Of a module whose class has one of get_extra_state and set_extra_state, the extra state was saved, expected or set as the
    other one would have it. For saving get_extra_state counts, for loading set_extra_state.
    """
    return (saving(BothAsked), load)


@loads.variant(extra_by_the_other_method)
class _(Load):
    """The first is asked for."""

    def has_extra(self, module: nn.Module) -> bool:
        return has_own(module, "get_extra_state")


@loads.variant(extra_by_the_other_method)
class _(Load):
    """Both are."""

    def has_extra(self, module: nn.Module) -> bool:
        return has_own(module, "get_extra_state") and has_own(module, "set_extra_state")


@loads.variant(extra_by_the_other_method)
class _(Load):
    """One of them."""

    def has_extra(self, module: nn.Module) -> bool:
        return has_own(module, "get_extra_state") or has_own(module, "set_extra_state")


@loads.variant(extra_by_the_other_method)
class _(Load):
    """The first is asked for, and what can be set is set."""

    def extra(self, module: nn.Module, key: str, sd: Any) -> None:
        if has_own(module, "get_extra_state"):
            self.known.add(key)
            if key not in sd:
                self.lacks(key)
            elif has_own(module, "set_extra_state"):
                module.set_extra_state(sd[key])


@loads.variant(extra_by_the_other_method)
class _(Load):
    """One of them, and set_extra_state only where there is one."""

    def extra(self, module: nn.Module, key: str, sd: Any) -> None:
        if has_own(module, "get_extra_state") and not self.has_extra(module):
            self.known.add(key)
            if key not in sd:
                self.lacks(key)
        else:
            Load.extra(self, module, key, sd)


@loads.mistake(breaks="All faults come in one RuntimeError at the end, when all that fits has been loaded.")
class ExtraSetAfterTheFaults(Load):
    """When the error came, the extra states of the file had not been set. They fit: all that fits is loaded first. Perhaps
    set_extra_state is called at the very end.
    """

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        self.later: list[tuple[nn.Module, Any]] = []
        found = Load.__call__(self, module, sd, strict, assign)
        for part, state in self.later:
            part.set_extra_state(state)
        return found

    def extra(self, module: nn.Module, key: str, sd: Any) -> None:
        if self.has_extra(module):
            self.known.add(key)
            if key in sd:
                self.later.append((module, sd[key]))
            else:
                self.lacks(key)


@loads.mistake(breaks="(missing, unexpected), two lists of names in any order:")
class SetsReturned(Load):
    """The names came as sets, not as lists. torch gives lists."""

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Any:
        missing, unexpected = Load.__call__(self, module, sd, strict, assign)
        return set(missing), set(unexpected)


@loads.variant(SetsReturned)
class _(Load):
    """The unexpected ones."""

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Any:
        missing, unexpected = Load.__call__(self, module, sd, strict, assign)
        return missing, set(unexpected)
