"""What people write for 05.renamed, and why it is wrong."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch
from torch import nn

from helpers.labs.module.renamed.exercise import renamed

MOVED = {"gamma": "weight", "conv_offset.weight": "conv.offset.weight"}


class Base(nn.Module):
    """All but the load."""

    _version = 4

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.register_buffer("count", torch.tensor(0))
        self.conv = self.parts(width)

    def parts(self, width: int) -> nn.Module:
        return nn.ModuleDict({name: nn.Linear(width, width, bias=False) for name in ("mix", "offset")})


class Right(Base):
    """The right answer; the wrong ones change one method."""

    def _load_from_state_dict(self, state_dict: dict, prefix: str, local_metadata: dict, *args: Any) -> None:
        self.migrate(state_dict, prefix, self.version(state_dict, local_metadata))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)

    def version(self, state_dict: dict, local_metadata: dict) -> int:
        version = local_metadata.get("version")
        return 1 if version is None else version

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        self.move(state_dict, prefix, version)
        if version < 3:
            state_dict.setdefault(prefix + "count", torch.zeros_like(self.count))

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        for old, new in MOVED.items():
            if prefix + old in state_dict:
                state_dict[prefix + new] = state_dict.pop(prefix + old)


@renamed.mistake()
class LostVersionTakenAsNew(Right):
    """A file without a version was taken for one of today. The version lives in an attribute of the dict, and
    dict(sd), a comprehension, or a file older than versions has none: None means that nobody knows.
    """

    def version(self, state_dict: dict, local_metadata: dict) -> int:
        return local_metadata.get("version", 4)

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        if version < 4:
            super().move(state_dict, prefix, version)


@renamed.mistake()
class LostVersionCompared(Right):
    """A file may have lost its version: local_metadata['version'] is a KeyError then, .get gives None, and
    None < 4 is a TypeError. Either ends the load.
    """

    def version(self, state_dict: dict, local_metadata: dict) -> int:
        return local_metadata.get("version")

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        if version < 4:
            super().migrate(state_dict, prefix, version)


@renamed.variant(LostVersionCompared)
class _(Right):
    def version(self, state_dict: dict, local_metadata: dict) -> int:
        return local_metadata["version"]


@renamed.mistake()
class MovesWithoutALook(Right):
    """The old keys are popped from each file, also from one that never had them or has them under the new
    name already. Ask the version, and look whether the old key is there.
    """

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        for old, new in MOVED.items():
            state_dict[prefix + new] = state_dict.pop(prefix + old)


@renamed.mistake()
class LostVersionTakenAsTheOldest(Right):
    """A file that had lost its version was treated as one of version 1, without a look at its keys. It can be
    of any version: where the old key is not there, there is nothing to move.
    """

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        for (old, new), until in zip(MOVED.items(), (2, 4), strict=True):
            if version < until:
                state_dict[prefix + new] = state_dict.pop(prefix + old)


@renamed.mistake()
class EveryStepForEveryOldFile(Right):
    """Every file older than today went through every step. A file of version 2 has its `weight` already: each
    step has a version of its own.
    """

    def version(self, state_dict: dict, local_metadata: dict) -> int:
        return local_metadata.get("version") or 1

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        if version < 4:
            for old, new in MOVED.items():
                state_dict[prefix + new] = state_dict.pop(prefix + old)


@renamed.variant(EveryStepForEveryOldFile)
class _(Right):
    def version(self, state_dict: dict, local_metadata: dict) -> int:
        return local_metadata.get("version", 4)

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        if version < 4:
            for old, new in MOVED.items():
                state_dict[prefix + new] = state_dict.pop(prefix + old)


@renamed.mistake()
class OneStepOnly(Right):
    """The steps exclude each other (elif): a file of version 1 was led to version 2 and left there. It must
    go through all later steps as well, so each step has an `if` of its own.
    """

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        if version < 2 and prefix + "gamma" in state_dict:
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "gamma")
        elif version < 3 and prefix + "count" not in state_dict:
            state_dict[prefix + "count"] = torch.zeros_like(self.count)
        elif version < 4 and prefix + "conv_offset.weight" in state_dict:
            state_dict[prefix + "conv.offset.weight"] = state_dict.pop(prefix + "conv_offset.weight")


@renamed.variant(OneStepOnly)
class _(Right):
    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        keys = dict(zip(("gamma", "conv_offset.weight"), (2, 4), strict=True))
        if version == 1 and prefix + "gamma" in state_dict:
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "gamma")
        elif version <= 2 and prefix + "count" not in state_dict:
            state_dict[prefix + "count"] = torch.tensor(0)
        elif version < keys["conv_offset.weight"] and prefix + "conv_offset.weight" in state_dict:
            super().move(state_dict, prefix, version)


@renamed.variant(OneStepOnly)
class _(Right):
    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        if version == 1:
            if prefix + "gamma" in state_dict:
                state_dict[prefix + "weight"] = state_dict.pop(prefix + "gamma")
        elif version == 2:
            state_dict.setdefault(prefix + "count", torch.tensor(0))
        elif version == 3 and prefix + "conv_offset.weight" in state_dict:
            state_dict[prefix + "conv.offset.weight"] = state_dict.pop(prefix + "conv_offset.weight")


@renamed.mistake()
class ReplacedInTheWholeKey(Right):
    """The old name was replaced wherever it stands in a key, also in the name that a parent gave to the
    module. Only prefix + name is yours.
    """

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        for key in list(state_dict):
            new = key.replace("gamma", "weight").replace("conv_offset", "conv.offset")
            if new != key:
                state_dict[new] = state_dict.pop(key)


@renamed.mistake()
class PrefixForgotten(Right):
    """The keys were looked up without prefix. At the root it is empty; as a part of a model the module's keys
    begin with its path.
    """

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        super().migrate(state_dict, "", version)


@renamed.variant(PrefixForgotten)
class _(Right):
    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        super().move(state_dict, "", version)


@renamed.mistake()
class MovedInTheChild(Right):
    """The child `conv` moves the key. On torch of today a child is handed only the keys under its own prefix,
    so it never sees `conv_offset.weight`, which stands beside it. In old releases it did: the parent must do
    it now.
    """

    def parts(self, width: int) -> nn.Module:
        return Conv({name: nn.Linear(width, width, bias=False) for name in ("mix", "offset")})

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        if prefix + "gamma" in state_dict:
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "gamma")


class Conv(nn.ModuleDict):
    """The old trick: from the prefix `conv.` to the key beside it."""

    def _load_from_state_dict(self, state_dict: dict, prefix: str, *args: Any) -> None:
        if (old := prefix[:-1] + "_offset.weight") in state_dict:
            state_dict[prefix + "offset.weight"] = state_dict.pop(old)
        super()._load_from_state_dict(state_dict, prefix, *args)


@renamed.variant(MovedInTheChild)
class _(Right):
    """The same in a hook of the child."""

    def parts(self, width: int) -> nn.Module:
        conv = super().parts(width)
        conv.register_load_state_dict_pre_hook(
            lambda module, state_dict, prefix, *args: Right.move(self, state_dict, prefix[: -len("conv.")], 1)
        )
        return conv

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        if prefix + "gamma" in state_dict:
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "gamma")


@renamed.mistake()
class MovedKeyForgotten(Right):
    """The key inside the own prefix was renamed; the one that has moved to another module,
    conv_offset.weight, still stands in the dict when super() looks at it.
    """

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        if prefix + "gamma" in state_dict:
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "gamma")


# The load itself is changed, or the file.


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
    """What is missing or too much under the module's own prefix is not told: damaged files load in silence. Perhaps super()
    was told not to be strict, or a list of keys was cleared. Give the old files their keys instead.
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
    """After an old file count is what the module held before the load. Perhaps `count` was only taken off the list of missing
    keys, or the module's own count was put into the file. An older file has counted nothing: 0.
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
    """A file without count was loaded though it says version 3 or 4. Such a file is damaged, and only the version tells it
    from an old one: below 3 a count is added.
    """

    def version(self, state_dict: dict, local_metadata: dict) -> int:
        return 1


@renamed.variant(VersionNeverAsked)
class _(Right):
    """Of version 3 only: older than today."""

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        self.move(state_dict, prefix, version)
        if version < 4:
            state_dict.setdefault(prefix + "count", torch.zeros_like(self.count))


@renamed.mistake()
class MissingKeyMade(Right):
    """A damaged file was loaded: a missing weight was made up, perhaps from what the module holds, or from zeros. Only a
    count may be missing, and only in files that are older than version 3.
    """

    made = ("weight", "conv.offset.weight")

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        super().migrate(state_dict, prefix, version)
        for key in self.made:
            state_dict.setdefault(prefix + key, self.get_parameter(key).detach())


@renamed.variant(MissingKeyMade)
class _(MissingKeyMade):
    made = ("weight",)


@renamed.variant(MissingKeyMade)
class _(MissingKeyMade):
    made = ("conv.offset.weight",)


@renamed.variant(MissingKeyMade)
class _(MissingKeyMade):
    made = ("weight", "conv.offset.weight", "conv.mix.weight")


@renamed.variant(MissingKeyMade)
class _(MissingKeyMade):
    """Where the version is lost, zeros."""

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        Right.migrate(self, state_dict, prefix, version)
        if version == 1:
            state_dict.setdefault(prefix + "conv.offset.weight", torch.zeros_like(self.conv["offset"].weight))


@renamed.variant(MissingKeyMade)
class _(Right):
    """The complaints of the module's own entries are taken back, for older files."""

    def _load_from_state_dict(
        self, state_dict: dict, prefix: str, local_metadata: dict, strict: bool, missing: list, *args: Any
    ) -> None:
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing, *args)
        if self.version(state_dict, local_metadata) < 4:
            missing.clear()


@renamed.mistake()
class UnknownKeysDropped(Right):
    """A key that no version had was passed over: perhaps the file was cut down to what the module knows. A file of a different
    class then loads without a word.
    """

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        super().migrate(state_dict, prefix, version)
        for key in list(state_dict):
            if key.startswith(prefix) and key[len(prefix) :] not in self.state_dict():
                del state_dict[key]


@renamed.variant(UnknownKeysDropped)
class _(Right):
    """At the top of the module only."""

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        super().migrate(state_dict, prefix, version)
        for key in list(state_dict):
            if key.startswith(prefix) and key[len(prefix) :].split(".")[0] not in ("weight", "count", "conv"):
                del state_dict[key]


@renamed.variant(UnknownKeysDropped)
class _(Right):
    """Of old files only."""

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        super().migrate(state_dict, prefix, version)
        for key in list(state_dict):
            if version < 4 and key.startswith(prefix) and key[len(prefix) :] not in self.state_dict():
                del state_dict[key]


@renamed.variant(UnknownKeysDropped)
class _(Right):
    """All that begins with an old name."""

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        super().move(state_dict, prefix, version)
        for key in [key for key in state_dict if key.startswith(prefix + "conv_offset.")]:
            del state_dict[key]


@renamed.mistake()
class DamagedEndsInKeyError(Right):
    """A damaged file raised an error that is no RuntimeError: perhaps pop of an old key that is not there. Look whether it is
    there before it is moved, and let super() say what is missing.
    """

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        if "gamma" not in "".join(state_dict) and version == 1:  # lost, perhaps
            version = 3 if prefix + "conv.offset.weight" not in state_dict else 4
        for (old, new), until in zip(MOVED.items(), (2, 4), strict=True):
            if version < until:
                state_dict[prefix + new] = state_dict.pop(prefix + old)


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
    """count became 0 for a file that has counted: perhaps it is set for every file, or for every one that is older than today
    or has lost its version. Set it only where the file has none.
    """

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
