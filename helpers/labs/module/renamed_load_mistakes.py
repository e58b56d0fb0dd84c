"""What people write for 05.renamed: the load itself is changed, or the file."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch
from torch import nn

from helpers.labs.module.renamed import renamed
from helpers.labs.module.renamed_mistakes import Base, Right


class AtTheRoot(Base):
    """load_state_dict overridden: it runs for the root only."""

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        version = getattr(state_dict, "_metadata", {}).get("", {}).get("version") or 1
        file = self.own(state_dict)
        Right.migrate(self, file, "", version)
        return super().load_state_dict(file, self.strict(strict), assign)

    def own(self, state_dict: Any) -> Any:
        file = OrderedDict(state_dict)
        file._metadata = getattr(state_dict, "_metadata", {})
        return file

    def strict(self, strict: bool) -> bool:
        return strict

    move = Right.move


@renamed.mistake()
class LoadStateDictOverridden(AtTheRoot):
    """load_state_dict runs for the module on which it is called, the root. Inside a model only
    _load_from_state_dict is called, for each module.
    """


@renamed.mistake()
class CallersDictEdited(AtTheRoot):
    """load_state_dict was overridden and moves the keys in the very dict that it was given. torch makes its
    copy only later: what reaches _load_from_state_dict may be edited, what reaches load_state_dict may not.
    """

    def own(self, state_dict: Any) -> Any:
        return state_dict


@renamed.variant(CallersDictEdited)
class _(Base):
    """Without a look at the version."""

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        for old, new in (("gamma", "weight"), ("conv_offset.weight", "conv.offset.weight")):
            if old in state_dict:
                state_dict[new] = state_dict.pop(old)
        state_dict.setdefault("count", torch.tensor(0))
        return super().load_state_dict(state_dict, strict, assign)


@renamed.mistake()
class StrictFalse(Base):
    """strict=False makes no file load. It only says nothing about the keys that found no place, and so a
    damaged file loads as quietly as an old one, and the weights of the moved keys are never read.
    """

    def load_state_dict(self, state_dict: Any, strict: bool = False, assign: bool = False) -> Any:
        return super().load_state_dict(state_dict, False, assign)


@renamed.variant(LoadStateDictOverridden)
class _(AtTheRoot):
    """Without a complaint."""

    def strict(self, strict: bool) -> bool:
        return False


@renamed.mistake()
class ComplaintsHushed(Right):
    """The module tells super() not to be strict, so what is missing or too much under its own prefix is never
    told: a damaged file of today loads in silence. Give the old files their keys instead.
    """

    def _load_from_state_dict(
        self, state_dict: dict, prefix: str, local_metadata: dict, strict: bool, *args: Any
    ) -> None:
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *args)


@renamed.variant(ComplaintsHushed)
class _(Right):
    def _load_from_state_dict(
        self, state_dict: dict, prefix: str, local_metadata: dict, strict: bool, missing: list, *args: Any
    ) -> None:
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing, *args)
        missing.clear()


@renamed.mistake()
class MissingCountForgiven(Right):
    """`count` was only taken off the list of missing keys. An old file then leaves in the module whatever
    count it held before the load.
    """

    def _load_from_state_dict(
        self, state_dict: dict, prefix: str, local_metadata: dict, strict: bool, missing: list, *args: Any
    ) -> None:
        version = self.version(state_dict, local_metadata)
        self.move(state_dict, prefix, version)
        nn.Module._load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing, *args)
        if version < 3 and prefix + "count" in missing:
            missing.remove(prefix + "count")


@renamed.variant(MissingCountForgiven)
class _(Right):
    """As torch's BatchNorm does today: it keeps its own num_batches_tracked."""

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        self.move(state_dict, prefix, version)
        if version < 3:
            state_dict.setdefault(prefix + "count", self.count)


@renamed.mistake()
class VersionNeverAsked(Right):
    """count is added to every file that lacks it, whatever its version. A file of today without count is
    damaged, and only the version tells it from an old one.
    """

    def version(self, state_dict: dict, local_metadata: dict) -> int:
        return 1


@renamed.mistake()
class VersionNotRaised(Right):
    """_version stayed 1, the default. The files that this class writes say that they are of version 1, and a
    later load takes them for old ones.
    """

    _version = 1


@renamed.mistake()
class VersionOfTheRoot(Right):
    """The version was read at the root: state_dict._metadata[''] is the entry of the outermost module, and
    what a child is handed has no _metadata at all. The module's own entry comes as local_metadata.
    """

    def version(self, state_dict: dict, local_metadata: dict) -> int:
        return getattr(state_dict, "_metadata", {}).get("", {}).get("version") or 1


@renamed.mistake()
class SuperForgotten(Right):
    """_load_from_state_dict of the class above is what reads the values, and it was not called: the module's
    own weight and count keep what they held, without an error.
    """

    def _load_from_state_dict(self, state_dict: dict, prefix: str, local_metadata: dict, *args: Any) -> None:
        self.migrate(state_dict, prefix, self.version(state_dict, local_metadata))


@renamed.mistake()
class MovedAfterTheLoad(Right):
    """super() was called first. It reads the values and writes down what is missing; keys that are moved
    after that come too late.
    """

    def _load_from_state_dict(self, state_dict: dict, prefix: str, local_metadata: dict, *args: Any) -> None:
        Base._load_from_state_dict(self, state_dict, prefix, local_metadata, *args)
        self.migrate(state_dict, prefix, self.version(state_dict, local_metadata))


@renamed.mistake()
class OldKeyLeft(Right):
    """The value was copied to the new key, and the old key stayed in the dict, where strict=True finds it.
    Move it: pop.
    """

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        for old, new in (("gamma", "weight"), ("conv_offset.weight", "conv.offset.weight")):
            if prefix + old in state_dict:
                state_dict[prefix + new] = state_dict[prefix + old]


@renamed.mistake()
class CountAlwaysZero(Right):
    """count was set to 0 for every file, also for one that has counted."""

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        self.move(state_dict, prefix, version)
        state_dict[prefix + "count"] = torch.zeros_like(self.count)


@renamed.variant(CountAlwaysZero)
class _(Right):
    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        self.move(state_dict, prefix, version)
        if version < 4:
            state_dict[prefix + "count"] = torch.zeros_like(self.count)


@renamed.variant(CountAlwaysZero)
class _(Right):
    """Only where the version is old, or lost."""

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        self.move(state_dict, prefix, version)
        if version < 3:
            state_dict[prefix + "count"] = torch.zeros_like(self.count)


@renamed.mistake()
class CountForgotten(Right):
    """The keys were moved, and the buffer that version 3 added was forgotten: an older file has no count to
    give.
    """

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        self.move(state_dict, prefix, version)


@renamed.mistake()
class FileMarkedAsMigrated(Right):
    """The version was written into local_metadata after the move. That dict belongs to the caller's file, not
    to torch's copy: the second load of the same file finds old keys under today's version.
    """

    def _load_from_state_dict(self, state_dict: dict, prefix: str, local_metadata: dict, *args: Any) -> None:
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)
        local_metadata["version"] = self._version


@renamed.mistake()
class ParameterReplaced(Right):
    """self.weight became a new Parameter, made from the tensor of the file. The optimizer still holds the old
    one: hand the value to super(), which writes it into the Parameter that is there.
    """

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        if prefix + "gamma" in state_dict:
            self.weight = nn.Parameter(state_dict[prefix + "gamma"])
        super().move(state_dict, prefix, version)
