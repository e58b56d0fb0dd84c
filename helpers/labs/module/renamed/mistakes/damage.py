"""What a load changes beside the entries, and damaged files (exercise 05.renamed)."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from helpers.labs.module.renamed.exercise import renamed
from helpers.labs.module.renamed.mistakes.versions import AtTheRoot, LoadStateDictOverridden
from helpers.labs.module.renamed.right import MOVED, UNTIL, Base, Right


@renamed.mistake()
class CallersDictEdited(AtTheRoot):
    """The dict that was given has different keys after the load. Perhaps load_state_dict was overridden and
    moves them there. torch makes its copy only later: what reaches _load_from_state_dict may be edited, what
    reaches load_state_dict may not.
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


@renamed.mistake(breaks="A module that loads the files of its own older versions, with strict=True.")
class StrictFalse(Base):
    """Nothing was refused, and the weights under old names were not read. Perhaps strict=False was given: it
    makes no file load, but says nothing about the keys that found no place, and so a damaged file loads as
    quietly.
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


@renamed.mistake(breaks="An older file has counted nothing: count becomes 0.")
class CountKept(Right):
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


@renamed.variant(CountKept)
class _(Right):
    """As torch's BatchNorm does today: it keeps its own num_batches_tracked."""

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        self.move(state_dict, prefix, version)
        if version < 3:
            state_dict.setdefault(prefix + "count", self.count)


@renamed.mistake(breaks="An older file has counted nothing: count becomes 0.")
class CountNotZero(Right):
    """After an old file count is neither 0 nor what the module held. Perhaps a number of its own was put into the file: who has
    counted nothing has counted 0.
    """

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        self.move(state_dict, prefix, version)
        if version < 3:
            state_dict.setdefault(prefix + "count", torch.ones_like(self.count))


@renamed.variant(CountNotZero)
class _(Right):
    """As if unknown."""

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        self.move(state_dict, prefix, version)
        if version < 3:
            state_dict.setdefault(prefix + "count", torch.tensor(-1))


@renamed.mistake()
class CountMadeUp(Right):
    """A file without count was loaded though it says version 3 or 4: it is damaged. Perhaps the version was not asked before a
    count was added, or was compared with the wrong number.
    """

    def version(self, state_dict: dict, local_metadata: dict) -> int:
        return 1


@renamed.variant(CountMadeUp)
class _(Right):
    """Of version 3 only: older than today."""

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        self.move(state_dict, prefix, version)
        if version < 4:
            state_dict.setdefault(prefix + "count", torch.zeros_like(self.count))


@renamed.mistake()
class MissingKeyMade(Right):
    """A damaged file was loaded: a weight was missing in it. Perhaps it was made up, from what the module holds or from zeros;
    or the complaint was taken back. Only a count may be missing, and only in files that are older than version 3.
    """

    made = ("weight", "conv.offset.weight")

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        super().migrate(state_dict, prefix, version)
        for key in self.made:
            state_dict.setdefault(prefix + key, self.get_parameter(key).detach())


@renamed.variant(MissingKeyMade)
class _(Right):
    def _load_from_state_dict(
        self, state_dict: dict, prefix: str, local_metadata: dict, strict: bool, missing: list, *args: Any
    ) -> None:
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing, *args)
        missing.clear()


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
class OldNamesOfAnyVersion(Right):
    """A file was loaded that holds an older name than the version that it says has: it is damaged. Perhaps the keys were asked
    and the version was not, one version stood before both steps, or it was compared with a wrong number.
    """

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        super().move(state_dict, prefix, 1)


@renamed.variant(OldNamesOfAnyVersion)
class _(Right):
    """In every file that is older than today."""

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        super().move(state_dict, prefix, 1 if version < 4 else 4)


@renamed.variant(OldNamesOfAnyVersion)
class _(Right):
    """One too many."""

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        super().move(state_dict, prefix, version - 1)


@renamed.variant(OldNamesOfAnyVersion)
class _(Right):
    """The new name is not written over, and the old one goes."""

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        for old, new in MOVED.items():
            if prefix + old in state_dict:
                state_dict.setdefault(prefix + new, state_dict.pop(prefix + old))


@renamed.variant(OldNamesOfAnyVersion)
class _(Right):
    """Only where the new name is not there."""

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        for old, new in MOVED.items():
            if prefix + old in state_dict and prefix + new not in state_dict:
                state_dict[prefix + new] = state_dict.pop(prefix + old)


@renamed.variant(OldNamesOfAnyVersion)
class _(Right):
    """gamma only."""

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        super().move(state_dict, prefix, version)
        if prefix + "gamma" in state_dict:
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "gamma")


@renamed.variant(OldNamesOfAnyVersion)
class _(Right):
    """The offset only."""

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        super().move(state_dict, prefix, version)
        if prefix + "conv_offset.weight" in state_dict:
            state_dict[prefix + "conv.offset.weight"] = state_dict.pop(prefix + "conv_offset.weight")


@renamed.variant(OldNamesOfAnyVersion)
class _(Right):
    """In every file that is older than today, and the new name not written over."""

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        for old, new in MOVED.items():
            if version < 4 and prefix + old in state_dict and prefix + new not in state_dict:
                state_dict[prefix + new] = state_dict.pop(prefix + old)


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
    """A damaged file raised an error that is no RuntimeError: perhaps a pop of an old key that is not there, or an error of the
    answer's own. Look whether a key is there before it is moved, and let super() say what is missing.
    """

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        if "gamma" not in "".join(state_dict) and version == 1:  # lost, perhaps
            version = 3 if prefix + "conv.offset.weight" not in state_dict else 4
        for (old, new), until in zip(MOVED.items(), (2, 4), strict=True):
            if version < until:
                state_dict[prefix + new] = state_dict.pop(prefix + old)


@renamed.mistake(
    breaks="By the class attribute _version that number stands in the _metadata of its state dicts."
)
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


@renamed.mistake(breaks="A module that loads the files of its own older versions, with strict=True.")
class SuperForgotten(Right):
    """The module's own weight and count keep what they held, without an error. _load_from_state_dict of the
    class above is what reads the values: perhaps it was not called.
    """

    def _load_from_state_dict(self, state_dict: dict, prefix: str, local_metadata: dict, *args: Any) -> None:
        self.migrate(state_dict, prefix, self.version(state_dict, local_metadata))


@renamed.mistake(
    breaks="Version 1 had `gamma` and no `weight`, no `count`, and `conv_offset.weight` beside `conv.`."
)
class MovedAfterTheLoad(Right):
    """The module itself met old keys, and its child the key of today. Perhaps super() was called first: it
    reads the values and writes down what is missing, and keys that are moved after that come too late.
    """

    def _load_from_state_dict(self, state_dict: dict, prefix: str, local_metadata: dict, *args: Any) -> None:
        Base._load_from_state_dict(self, state_dict, prefix, local_metadata, *args)
        self.migrate(state_dict, prefix, self.version(state_dict, local_metadata))


@renamed.mistake(breaks="A module that loads the files of its own older versions, with strict=True.")
class OldKeyLeft(Right):
    """The value was copied to the new key, and the old key stayed in the dict, where strict=True finds it.
    Move it: pop.
    """

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        for old, new in (("gamma", "weight"), ("conv_offset.weight", "conv.offset.weight")):
            if prefix + old in state_dict:
                state_dict[prefix + new] = state_dict[prefix + old]


@renamed.variant(OldKeyLeft)
class _(Right):
    """gamma."""

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        super().move(state_dict, prefix, version)
        if version < 2 and prefix + "gamma" not in state_dict and prefix + "weight" in state_dict:
            state_dict[prefix + "gamma"] = state_dict[prefix + "weight"]


@renamed.variant(OldKeyLeft)
class _(Right):
    """The offset."""

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        if version < 2 and prefix + "gamma" in state_dict:
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "gamma")
        if version < 4 and prefix + "conv_offset.weight" in state_dict:
            state_dict[prefix + "conv.offset.weight"] = state_dict[prefix + "conv_offset.weight"]


@renamed.mistake(breaks="Version 3 added `count`.")
class CountLost(Right):
    """count became 0 for a file that has counted: perhaps it is set for every file, or for every one that is older than today
    or has lost its version. Set it only where the file has none.
    """

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        self.move(state_dict, prefix, version)
        state_dict[prefix + "count"] = torch.zeros_like(self.count)


@renamed.variant(CountLost)
class _(Right):
    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        self.move(state_dict, prefix, version)
        if version < 4:
            state_dict[prefix + "count"] = torch.zeros_like(self.count)


@renamed.variant(CountLost)
class _(Right):
    """Only where the version is old, or lost."""

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        self.move(state_dict, prefix, version)
        if version < 3:
            state_dict[prefix + "count"] = torch.zeros_like(self.count)


@renamed.mistake(breaks="An older file has counted nothing: count becomes 0.")
class CountForgotten(Right):
    """The keys were moved, and count was missing all the same: an older file has none to give. Perhaps the buffer that version 3
    added was forgotten, or self.count was set: it is the dict in which super() looks.
    """

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        self.move(state_dict, prefix, version)


@renamed.mistake()
class FileMarkedAsMigrated(Right):
    """The _metadata of the file was changed: perhaps the version was written into local_metadata after the
    move. That dict belongs to the caller's file, not to torch's copy: the second load of the same file finds
    old keys under a different version.
    """

    def _load_from_state_dict(self, state_dict: dict, prefix: str, local_metadata: dict, *args: Any) -> None:
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)
        local_metadata["version"] = self._version


@renamed.mistake(breaks="The caller's dict, its tensors and its _metadata stay as they are")
class MemorySharedWithTheFile(Right):
    """After the load the module's weight shares its memory with the gamma of the file: writing into one writes into the other.
    Perhaps self.weight became a new Parameter, made from the tensor of the file, or its .data was set. Hand the value to super(),
    which writes it into the Parameter that is there.
    """

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        if prefix + "gamma" in state_dict:
            self.weight = nn.Parameter(state_dict[prefix + "gamma"])
        super().move(state_dict, prefix, version)


@renamed.variant(MemorySharedWithTheFile)
class _(Right):
    """The data only."""

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        if prefix + "gamma" in state_dict:
            self.weight.data = state_dict[prefix + "gamma"]
        super().move(state_dict, prefix, version)


@renamed.mistake(breaks="The module keeps its Parameter objects, and shares no memory with the file.")
class ParameterReplaced(Right):
    """After the load the module holds a new Parameter: an optimizer that was built before goes on moving the old one. Perhaps
    nn.Parameter(...) was assigned. Hand the value to super(), which writes it into the Parameter that is there.
    """

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        if prefix + "conv_offset.weight" in state_dict:
            self.conv["offset"].weight = nn.Parameter(state_dict[prefix + "conv_offset.weight"].clone())
        super().move(state_dict, prefix, version)


@renamed.variant(ParameterReplaced)
class _(Right):
    """weight."""

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        if prefix + "gamma" in state_dict:
            self.weight = nn.Parameter(state_dict[prefix + "gamma"].clone())
        super().move(state_dict, prefix, version)


@renamed.mistake(
    breaks="The caller's dict, its tensors and its _metadata stay as they are, and it loads a second time."
)
class MigratedOnce(Right):
    """Loaded a second time, the same file was refused: its old names were not moved this time. Perhaps the module notes that it
    has moved them once. Each load brings a file of its own, so ask that file.
    """

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        if not getattr(self, "migrated", False):
            super().move(state_dict, prefix, version)
        self.migrated = True


@renamed.variant(MigratedOnce)
class _(Right):
    """count, too."""

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        if not getattr(self, "migrated", False):
            super().migrate(state_dict, prefix, version)
        self.migrated = True


@renamed.mistake(breaks="The caller's dict, its tensors and its _metadata stay as they are")
class CallersTensorsEdited(Right):
    """After the load a tensor of the caller's dict holds different numbers. Perhaps it was written into in place: the dict that
    arrives is torch's copy, the tensors in it are the caller's.
    """

    def _load_from_state_dict(self, state_dict: dict, prefix: str, *args: Any) -> None:
        super()._load_from_state_dict(state_dict, prefix, *args)
        if prefix + "weight" in state_dict:
            state_dict[prefix + "weight"].zero_()


@renamed.mistake(breaks="A damaged file raises RuntimeError")
class NamesThatEndAlike(Right):
    """A key of a damaged file was taken for an old name that it only resembles, and loaded. Perhaps endswith() or `in` looked for the
    old names: `old_gamma` is no `gamma`. Compare whole keys: prefix + "gamma".
    """

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        for key in [key for key in state_dict if key.startswith(prefix) and key.endswith("_gamma")]:
            if version < UNTIL["gamma"]:
                state_dict[prefix + "weight"] = state_dict.pop(key)
        super().move(state_dict, prefix, version)
