"""What people write for 05.state_dict: versions and extra states that are lost."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from torch import nn

from helpers.check.spec import returned
from helpers.labs.module.state_dict.exercise import state_dict
from helpers.labs.module.state_dict.right import Load, Save, load, loading, save, saves, saving

built = state_dict.bank(returned)


@saves.mistake()
def plain_dict(module: nn.Module) -> dict[str, Any]:
    """The result is a plain dict. It has no room for the attribute _metadata, in which torch keeps the
    versions.
    """
    return dict(save(module))


@saves.mistake()
class VersionsLost(Save):  # the root's only
    """The state dict has a _metadata without the version of every module. A module that has changed since
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
    """A module can have a state that is no tensor: where its class writes get_extra_state and
    set_extra_state, their value belongs under _extra_state.
    """
    return (saving(Bare), loading(Deaf))


state_dict.variant(extra_state_forgotten)((saving(Bare), load))
state_dict.variant(extra_state_forgotten)((save, loading(Deaf)))
