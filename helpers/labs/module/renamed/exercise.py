"""Exercise 05.renamed: a module that loads the files of its own older versions."""

from __future__ import annotations

import copy
import itertools
from collections import OrderedDict
from typing import Any

import torch
from torch import nn

from helpers.check.compare import shown
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.module.renamed.inputs import (
    MOVED,
    RNG,
    TODAY,
    built,
    expected,
    file_of,
    filled,
    in_file,
    joined,
    load,
    numbers,
    require,
)

renamed = Exercise(
    "05.renamed",
    "The files of last year",
    objective="Load what older versions of a module have saved: a buffer that was not there, a key with a different name, "
    "a key that has moved to another module.",
    minutes=25,
    difficulty="medium",
    core=False,
    version=2,
    kind="class",
    names=("Renamed",),
    hints=[
        "load_state_dict walks through the modules and calls _load_from_state_dict of each, the parent first. The dict "
        "that arrives is torch's own copy, so you may edit it; then hand over to super(). Which keys would today's "
        "module look for, and what are they called in the file?",
        "The file's version is local_metadata.get('version'), None where it was lost. With None the file can be of any "
        "version, so look whether an old key is there before you move it. A file that says a version has the old names of "
        "that version only. Each key begins with prefix.",
        "A child is handed those keys only that begin with its own prefix: `conv_offset.weight` never reaches the "
        "module `conv`. So the parent moves it, before the children are loaded.",
        "Each step has a version of its own. If version is None or below 2 (gamma) or 4 (the offset): `if prefix + old in "
        "state_dict: state_dict[prefix + new] = state_dict.pop(prefix + old)`. If it is None or below 3: "
        "`state_dict.setdefault(prefix + 'count', torch.zeros_like(self.count))`. Last, super()._load_from_state_dict with "
        "all arguments.",
    ],
)

HISTORY = {
    1: "gamma, conv_offset.weight, no count",
    2: "weight, conv_offset.weight, no count",
    3: "weight, conv_offset.weight, count",
    4: "the keys of today",
}


def started(answer: Any, trial: Trial) -> tuple[nn.Module, dict, dict]:
    """A module that has been in use, what it holds, and what the file is to hold."""
    width = trial.random.randint(2, 5)
    module = built(answer, trial, width)
    before, today = numbers(trial, width), numbers(trial, width)
    filled(module, before)
    return module, before, today


@renamed.property(
    "a new module has the keys of today, and its files say version 4",
    asks=(
        "It has no forward.",
        "A new module has the keys of today, which is version 4: `weight` (width,), the buffer `count` (int64, 0-d), "
        "`conv.mix.weight` and `conv.offset.weight` (width, width).",
        "By the class attribute _version that number stands in the _metadata of its state dicts.",
    ),
    changes=RNG,
)
def is_of_today(answer: Any, trial: Trial) -> None:
    module = built(answer, trial, 3)
    trial.given("Renamed(3).state_dict()")
    state = module.state_dict()
    version = getattr(state, "_metadata", {}).get("", {}).get("version")
    trial.true(
        version == TODAY,
        f"state_dict()._metadata says version {version!r}: a later load cannot tell the file from an old one.",
        expected="version 4, from the class attribute _version",
        got=repr(version),
        observed=("version", repr(version)),
    )


CHANGED = {
    1: "Version 1 had `gamma` and no `weight`, no `count`, and `conv_offset.weight` beside `conv.`.",
    2: "Version 2 called gamma `weight`.",
    3: "Version 3 added `count`.",
    4: "Version 4 moved `conv_offset.weight` to `conv.offset.weight`.",
}
NOT_COUNTED = "An older file has counted nothing: count becomes 0."
STRICT = "A module that loads the files of its own older versions, with strict=True."
LOST = "A file may have lost its version, because dict(sd) drops _metadata: then it can be of any version, today's too."


def _loads(version: int, is_named: bool) -> None:
    """Adds the property that a file of this version loads. is_named: the file still tells its version."""

    def loads(answer: Any, trial: Trial) -> None:
        module, before, today = started(answer, trial)
        file: Any = file_of(version, today)
        trial.given(
            f"a file of version {version} ({HISTORY[version]})"
            + ("" if is_named else ", as dict(file): its _metadata, and so its version, is lost")
        )
        load(trial, module, file if is_named else dict(file))
        require(trial, module, expected(version, today), before)

    known = "says so" if is_named else "has lost its version"
    asks = (STRICT, CHANGED[version], *([NOT_COUNTED] if version < 3 else [])) if is_named else LOST
    renamed.property(
        f"a file of version {version} that {known} loads with strict=True", asks=asks, changes=RNG
    )(loads)


for _version in (4, 1, 2, 3):
    _loads(_version, True)
for _version in (1, 2, 3, 4):
    _loads(_version, False)


@renamed.property(
    "the dict of the caller stays as it is, and loads a second time",
    asks="The caller's dict, its tensors and its _metadata stay as they are, and it loads a second time.",
    changes=RNG,
)
def caller(answer: Any, trial: Trial) -> None:
    module, before, today = started(answer, trial)
    file = file_of(1, today)
    kept, metadata = OrderedDict(file), copy.deepcopy(file._metadata)
    values = {key: value.clone() for key, value in file.items()}
    trial.given("a file of version 1, looked at after the load")
    load(trial, module, file)
    trial.true(
        list(file) == list(kept),
        "load_state_dict changed the dict that it was given.",
        expected=list(kept),
        got=list(file),
        observed="keys",
    )
    trial.true(
        all(file[key] is kept[key] for key in kept),
        "The dict of the caller holds different tensors than before.",
        observed=("tensors", "replaced"),
    )
    trial.true(
        not (edited := [key for key in kept if not torch.equal(file[key], values[key])]),
        f"The load wrote into tensors of the caller: {', '.join(edited)}.",
        expected=values[edited[0]] if edited else None,
        got=file[edited[0]] if edited else None,
        observed=("tensors", "written into"),
    )
    trial.true(
        file._metadata == metadata,
        "The _metadata of the file has changed. local_metadata is the caller's own dict, not a copy: at the next load "
        "the same file says that it is of a different version.",
        expected=dict(metadata),
        got=dict(file._metadata),
        observed="metadata",
    )
    for which, again in (
        ("a different Renamed", built(answer, trial, len(today["weight"]))),
        ("the same one", module),
    ):
        trial.given(f"the same file of version 1, loaded a second time, into {which}")
        filled(again, before)
        shared = [key for key in kept if not torch.equal(file[key], values[key])]
        trial.true(
            not shared,
            f"The module was filled with new numbers, and they stand in the file, too: the module and "
            f"{', '.join(shared)} of the file share their memory.",
            expected="a copy of the file's numbers in the module's own tensors",
            got=f"{shared[0] if shared else ''} in the file: {shown(file[shared[0]]) if shared else ''}",
            observed=("shared", shared),
        )
        load(trial, again, file)
        require(trial, again, expected(1, today), before)


# What two that stand side by side are called, and their versions: a name holds an old key, or ends as one does.
SIDE_BY_SIDE = (
    (("gamma", 1), ("conv_offset", 4)),
    (("conv_offset", 3), ("my_conv_offset", 1)),
    (("conv", 2), ("old_gamma", 1)),
)


@renamed.property(
    "nested twice, beside a different one of a different version, under any name",
    asks="The module may be the root, or stand inside a different model, under any name.",
    changes=RNG,
)
def nested(answer: Any, trial: Trial) -> None:
    width = trial.random.randint(2, 5)
    for side_by_side, lost in itertools.product(SIDE_BY_SIDE, (False, True)):
        names, versions = zip(*side_by_side, strict=True)
        places = [f"stage.{name}." for name in names]
        stage = nn.ModuleDict({name: built(answer, trial, width) for name in names})
        root = nn.ModuleDict({"stage": stage})
        before, today = ({place: numbers(trial, width) for place in places} for _ in range(2))
        for place in places:
            filled(root, before[place], place)
        file: Any = joined(
            *(file_of(version, today[place], place) for place, version in zip(places, versions, strict=True))
        )
        trial.given(
            f"a Renamed as root.stage.{names[0]} with keys of version {versions[0]}, one as root.stage.{names[1]} "
            f"with keys of version {versions[1]}" + (", version lost" if lost else "")
        )
        load(trial, root, dict(file) if lost else file, nested=True)
        for place, version in zip(places, versions, strict=True):
            require(trial, root, expected(version, today[place]), before[place], place)


WHOLE_FILES = tuple(prop.check for prop in renamed.properties)


DAMAGED = (
    "A damaged file raises RuntimeError: one that holds a key which no version had, or lacks a key which all files of its "
    "version have."
)


OLD = {old: today for today, (old, _) in MOVED.items()}


def refuses(
    answer: Any, trial: Trial, cases: list[tuple[str, int, bool, str, str]], which: bool = False
) -> None:
    """Wrong if one of the cases loads all the same. A case: its kind, a version, whether it says so, the key left out, and
    the place of the module; a key with a "+" before it is added, an old name with a "=" stands in place of the new one.
    which: whether it tells mistakes apart which of the files were loaded.
    """
    accepted = []
    for kind, version, is_named, key, place in cases:
        module, _, today = started(answer, trial)
        file: Any = file_of(version, today, place)
        words = f"a file of version {version}{'' if is_named else ' that has lost its version'} "
        if (name := key[1:]) in OLD:
            new = in_file(version, OLD[name])
            file[place + name] = file[place + new].clone()
            words += f"with the key {place}{name}, which that version had no longer, "
            words += f"beside {new}" if key[0] == "+" else f"in place of {new}"
            if key[0] == "=":
                del file[place + new]
        elif key.startswith("+"):
            file[place + name] = torch.zeros(2)
            words += f"with the key {place}{name}, which no version had"
        else:
            del file[place + (in_file(version, key) or key)]
            words += f"without {place}{in_file(version, key) or key}"
        words += f", for a module nested as {place[:-1]}" if place else ""
        trial.given(words)
        root = nn.ModuleDict({"body": module}) if place else module
        try:
            root.load_state_dict(file if is_named else dict(file))
            accepted.append((kind, words))
        except NotImplementedError:
            raise
        except RuntimeError:
            continue
        except Exception as error:
            trial.fail(
                f"{type(error).__name__} was raised for a damaged file.",
                expected="RuntimeError that names the missing or unexpected key",
                got=f"{type(error).__name__}: {shown(str(error))}",
                observed=("raised", type(error).__name__),
            )
    kinds = sorted({kind for kind, _ in accepted})
    trial.given("; ".join(words for _, words in accepted[:3]))
    trial.true(
        not accepted,
        f"{len(accepted)} of {len(cases)} damaged files were loaded without an error.",
        expected="RuntimeError that names the missing or unexpected key",
        got="no error",
        observed=("accepted", kinds if which else "some"),
    )


def says(is_named: bool) -> str:
    return "says its version" if is_named else "has lost it"


@renamed.property(
    "a file with a key that no version had raises RuntimeError", asks=DAMAGED, changes=RNG, after=WHOLE_FILES
)
def unknown(answer: Any, trial: Trial) -> None:
    refuses(
        answer,
        trial,
        [
            (f"{key} {says(is_named)}", version, is_named, f"+{key}", place)
            for key, version, is_named, place in (
                ("beta", 1, True, ""),
                ("beta", 2, False, ""),
                ("beta", 4, True, "body."),
                ("conv.beta", 3, True, ""),
                ("conv_offset.bias", 1, True, "body."),
                ("conv.offset.bias", 4, True, ""),
                ("old_gamma", 1, True, ""),
                ("gamma2", 1, False, "body."),
                ("my_conv_offset.weight", 2, True, ""),
            )
        ],
        which=True,
    )


@renamed.property(
    "a file without weight, conv.mix.weight or conv.offset.weight under its name of then raises RuntimeError",
    asks=DAMAGED,
    changes=RNG,
    after=WHOLE_FILES,
)
def incomplete(answer: Any, trial: Trial) -> None:
    keys = ("weight", "conv.mix.weight", "conv.offset.weight")
    refuses(
        answer,
        trial,
        [
            (f"{key} {says(is_named)}", version, is_named, key, "body." if version == 2 else "")
            for is_named in (True, False)
            for version in HISTORY
            for key in keys
        ],
    )


@renamed.property(
    "a file of version 3 or 4 without count raises RuntimeError",
    asks="So does a file without count that says version 3 or 4.",
    changes=RNG,
    after=WHOLE_FILES,
)
def uncounted(answer: Any, trial: Trial) -> None:
    refuses(
        answer,
        trial,
        [
            ("nested" if place else "as the root", version, True, "count", place)
            for version in (3, 4)
            for place in ("", "body.")
        ],
        which=True,
    )


@renamed.property(
    "a file that says its version and holds an older name raises RuntimeError",
    asks="What a file says decides: `gamma` in a file that says version 2, 3 or 4 damages it, and so "
    "does `conv_offset.weight` in one that says 4.",
    changes=RNG,
    after=WHOLE_FILES,
)
def outdated(answer: Any, trial: Trial) -> None:
    refuses(
        answer,
        trial,
        [
            (f"{old} {version} {how}", version, True, f"{sign}{old}", "body." if version == 3 else "")
            for old, version in (("gamma", 2), ("gamma", 3), ("gamma", 4), ("conv_offset.weight", 4))
            for how, sign in (("in place of today's", "="), ("beside today's", "+"))
        ],
    )


@renamed.property(
    "the parameters stay the same objects, and share no memory with the file",
    asks="The module keeps its Parameter objects, and shares no memory with the file.",
    changes=RNG,
)
def objects(answer: Any, trial: Trial) -> None:
    module, _, today = started(answer, trial)
    params = dict(module.named_parameters())
    file = file_of(1, today)
    trial.given("a file of version 1; an optimizer holds the parameters")
    load(trial, module, file)
    now = dict(module.named_parameters())
    new = sorted(key for key in params if now.get(key) is not params[key])
    trial.true(
        not new,
        f"After the load {', '.join(new)} is a different object: an optimizer that was built before moves the old one.",
        expected="values written into the Parameters that are there",
        observed="new objects",
    )
    memory = {value.data_ptr() for value in file.values()}
    shared = sorted(key for key, value in module.state_dict().items() if value.data_ptr() in memory)
    trial.true(
        not shared,
        f"{', '.join(shared)} shares its memory with the file: training writes into the dict of the caller.",
        expected="a copy",
        observed=("shared", shared),
    )
