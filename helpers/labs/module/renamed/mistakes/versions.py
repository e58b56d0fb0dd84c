"""Which version a file has, and what follows from it (exercise 05.renamed)."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch
from torch import nn

from helpers.labs.module.renamed.exercise import renamed
from helpers.labs.module.renamed.right import MOVED, UNTIL, Base, Conv, Right


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


@renamed.mistake(breaks="A module that loads the files of its own older versions, with strict=True.")
class MovesWithoutALook(Right):
    """An old key was taken out of a file that does not have it. Perhaps the old keys are popped from each
    file: ask the version, and look whether the old key is there.
    """

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        for old, new in MOVED.items():
            state_dict[prefix + new] = state_dict.pop(prefix + old)


@renamed.mistake()
class LostVersionGuessed(Right):
    """A file that has lost its version was refused: it was taken for a newer one than it is. Perhaps the version was guessed
    from one key. It can be of any version, so each step looks for its own old key.
    """

    def version(self, state_dict: dict, local_metadata: dict) -> int:
        known = local_metadata.get("version")
        return known or (4 if any(key.endswith("count") for key in state_dict) else 1)


@renamed.variant(LostVersionGuessed)
class _(Right):
    def version(self, state_dict: dict, local_metadata: dict) -> int:
        old = any(key.endswith("gamma") for key in state_dict)
        return local_metadata.get("version") or (1 if old else 4)


@renamed.variant(LostVersionGuessed)
class _(Right):
    def version(self, state_dict: dict, local_metadata: dict) -> int:
        old = any(key.endswith("gamma") for key in state_dict)
        return local_metadata.get("version") or (1 if old else 3)


@renamed.mistake()
class LostVersionRefused(Right):
    """A file that has lost its version was refused by an error of the answer's own. The keys tell enough: dict(sd) is common,
    and such a file is to be loaded.
    """

    def version(self, state_dict: dict, local_metadata: dict) -> int:
        if local_metadata.get("version") is None:
            raise RuntimeError("a file without a version")
        return local_metadata["version"]


@renamed.mistake(breaks="A module that loads the files of its own older versions, with strict=True.")
class StepEndsTooEarly(Right):
    """A file that says its version and holds an older name was refused, since that name was not moved. Perhaps the version was
    compared with the wrong number: version 4 moved the offset, so a file of version 3 still has it in the old place.
    """

    until = 3

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        for old, new in MOVED.items():
            if version < min(UNTIL[old], self.until) and prefix + old in state_dict:
                state_dict[prefix + new] = state_dict.pop(prefix + old)


@renamed.variant(StepEndsTooEarly)
class _(StepEndsTooEarly):
    until = 2


@renamed.mistake()
class LostVersionTakenAsTheOldest(Right):
    """A file of version 2 that has lost its version has no gamma, and its load ended in an error or without its weight. Perhaps
    every file without a version is treated as one of version 1, as BatchNorm does it. It can be of any version: where the old
    key is not there, there is nothing to move.
    """

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        for (old, new), until in zip(MOVED.items(), (2, 4), strict=True):
            if version < until:
                state_dict[prefix + new] = state_dict.pop(prefix + old)


@renamed.variant(LostVersionTakenAsTheOldest)
class _(Right):
    """weight is dropped where gamma should stand."""

    def version(self, state_dict: dict, local_metadata: dict) -> int:
        return local_metadata.get("version", 1)

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        if version == 1:
            state_dict.pop(prefix + "weight", None)
        super().move(state_dict, prefix, version)


@renamed.mistake(breaks="Version 2 called gamma `weight`.")
class EveryStepForEveryOldFile(Right):
    """`gamma` was looked for in a file of version 2, which has its `weight` already. Perhaps every file older
    than today goes through every step: each step has a version of its own.
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


@renamed.mistake(breaks="A module that loads the files of its own older versions, with strict=True.")
class OneStepOnly(Right):
    """A file of version 1 was led to version 2 and left there. It must go through all later steps as well, so
    each step has an `if` of its own: perhaps they exclude each other (elif).
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
    """In a different model even a key is missing whose name has never changed: perhaps the old name was replaced wherever it
    stands, also in the name that a parent gave to the module. Only prefix + name is yours.
    """

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        for key in list(state_dict):
            new = key.replace("gamma", "weight").replace("conv_offset", "conv.offset")
            if new != key:
                state_dict[new] = state_dict.pop(key)


@renamed.variant(ReplacedInTheWholeKey)
class _(Right):
    """By version."""

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        for (old, new), until in zip(
            {"gamma": "weight", "conv_offset": "conv.offset"}.items(), (2, 4), strict=True
        ):
            for key in [key for key in state_dict if version < until and old in key]:
                state_dict[key.replace(old, new)] = state_dict.pop(key)


@renamed.variant(ReplacedInTheWholeKey)
class _(Right):
    """The offset only."""

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        for key in [key for key in state_dict if version < 4 and "conv_offset" in key]:
            state_dict[key.replace("conv_offset", "conv.offset")] = state_dict.pop(key)
        super().move(state_dict, prefix, version)


@renamed.mistake()
class NewKeyAtAWrongPlace(Right):
    """In a different model a key is gone, and none of today's name stands under the module's own prefix. Perhaps the new key was
    written without prefix, the old name was replaced in the whole key, or a parent's name was taken for an old key.
    """

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        for old, new in MOVED.items():
            if version < UNTIL[old] and prefix + old in state_dict:
                state_dict[new] = state_dict.pop(prefix + old)


@renamed.variant(NewKeyAtAWrongPlace)
class _(Right):
    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        for old, new in MOVED.items():
            if version < UNTIL[old] and prefix + old in state_dict:
                state_dict[(prefix + old).replace(old, new)] = state_dict.pop(prefix + old)


@renamed.variant(NewKeyAtAWrongPlace)
class _(Right):
    """Keys that end as the old name does, and the old name replaced in all of the key."""

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        super().move(state_dict, prefix, min(version, 1) if version < 2 else 4)
        for key in [key for key in state_dict if version < 4 and key.endswith("conv_offset.weight")]:
            state_dict[key.replace("conv_offset", "conv.offset")] = state_dict.pop(key)


@renamed.mistake()
class PrefixForgotten(Right):
    """As a part of a model the module does not find its old keys. Perhaps they were looked up without prefix:
    at the root it is empty, and in a model the module's keys begin with its path.
    """

    def migrate(self, state_dict: dict, prefix: str, version: int) -> None:
        super().migrate(state_dict, "", version)


@renamed.variant(PrefixForgotten)
class _(Right):
    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        super().move(state_dict, "", version)


@renamed.mistake(
    breaks="Version 1 had `gamma` and no `weight`, no `count`, and `conv_offset.weight` beside `conv.`."
)
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


@renamed.mistake(
    breaks="Version 1 had `gamma` and no `weight`, no `count`, and `conv_offset.weight` beside `conv.`."
)
class MovedKeyForgotten(Right):
    """The key inside the own prefix was renamed; the one that has moved to another module,
    conv_offset.weight, still stands in the dict when super() looks at it.
    """

    def move(self, state_dict: dict, prefix: str, version: int) -> None:
        if prefix + "gamma" in state_dict:
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "gamma")


@renamed.mistake(
    breaks="Version 1 had `gamma` and no `weight`, no `count`, and `conv_offset.weight` beside `conv.`."
)
class MovedInACopy(Right):
    """`conv` does not find its offset, though the old key is no longer there when the module itself looks. Perhaps the keys were
    moved in a copy of the dict: the children are handed the keys of the one that arrived. It is torch's own copy, so edit it.
    """

    def _load_from_state_dict(self, state_dict: dict, *args: Any) -> None:
        super()._load_from_state_dict(OrderedDict(state_dict), *args)


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
