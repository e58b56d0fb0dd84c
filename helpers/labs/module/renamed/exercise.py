"""Exercise 05.renamed: a module that loads the files of its own older versions."""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

import torch
from torch import nn

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.module.renamed.inputs import (
    RNG,
    TODAY,
    built,
    expected,
    file_of,
    filled,
    joined,
    load,
    numbers,
    require,
)

renamed = Exercise(
    "05.renamed",
    "The files of last year",
    objective="Load what older versions of a module have saved: a buffer that was not there, a key with another name, "
    "a key that has moved to another module.",
    minutes=25,
    difficulty="medium",
    kind="class",
    names=("Renamed",),
    hints=[
        "load_state_dict walks through the modules and calls _load_from_state_dict of each, the parent first. The dict "
        "that arrives is torch's own copy, so you may edit it; then hand over to super(). Which keys would today's "
        "module look for, and what are they called in the file?",
        "The file's version is local_metadata.get('version'), None where it was lost. With None the file can be of any "
        "version, so look whether an old key is there before you move it. Each key begins with prefix.",
        "A child is handed those keys only that begin with its own prefix: `conv_offset.weight` never reaches the "
        "module `conv`. So the parent moves it, before the children are loaded.",
        "For both old names: `if prefix + old in state_dict: state_dict[prefix + new] = state_dict.pop(prefix + old)`. "
        "If version is None or below 3: `state_dict.setdefault(prefix + 'count', torch.zeros_like(self.count))`. Last, "
        "super()._load_from_state_dict with all arguments.",
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


@renamed.property("a new module has the keys of today, and its files say version 4", changes=RNG)
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
    renamed.property(f"a file of version {version} that {known} loads with strict=True", changes=RNG)(loads)


for _version in (4, 1, 2, 3):
    _loads(_version, True)
for _version in (1, 2, 3, 4):
    _loads(_version, False)


@renamed.property("the dict of the caller stays as it is, and loads a second time", changes=RNG)
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
        all(file[key] is kept[key] and torch.equal(file[key], values[key]) for key in kept),
        "The tensors in the dict of the caller have changed.",
        observed="tensors",
    )
    trial.true(
        file._metadata == metadata,
        "The _metadata of the file has changed. local_metadata is the caller's own dict, not a copy: at the next load "
        "the same file says that it is of another version.",
        expected=dict(metadata),
        got=dict(file._metadata),
        observed="metadata",
    )


@renamed.property("nested twice, beside another one of another version, under any name", changes=RNG)
def nested(answer: Any, trial: Trial) -> None:
    places, versions = ("stage.gamma.", "stage.conv_offset."), (1, 4)
    width = trial.random.randint(2, 5)
    for lost in (False, True):
        stage = nn.ModuleDict({place.split(".")[1]: built(answer, trial, width) for place in places})
        root = nn.ModuleDict({"stage": stage})
        before, today = ({place: numbers(trial, width) for place in places} for _ in range(2))
        for place in places:
            filled(root, before[place], place)
        file: Any = joined(
            *(file_of(version, today[place], place) for place, version in zip(places, versions, strict=True))
        )
        trial.given(
            f"a Renamed as root.stage.gamma with keys of version {versions[0]}, one as root.stage.conv_offset "
            f"with keys of version {versions[1]}" + (", version lost" if lost else "")
        )
        load(trial, root, dict(file) if lost else file)
        for place, version in zip(places, versions, strict=True):
            require(trial, root, expected(version, today[place]), before[place], place)


WHOLE_FILES = tuple(prop.check for prop in renamed.properties)


@renamed.property("a damaged file raises RuntimeError, as ever", changes=RNG, after=WHOLE_FILES)
def strict(answer: Any, trial: Trial) -> None:
    accepted = []
    for description, version, lost, extra, place in (
        ("a file of version 4 without count", 4, "count", None, ""),
        ("a file of version 4 without weight", 4, "weight", None, ""),
        ("a file of version 2 without conv.mix.weight", 2, "conv.mix.weight", None, ""),
        ("a file of version 1 with the key `beta`, which no version had", 1, None, "beta", ""),
        ("a file of version 4 without count, for a module nested as root.body", 4, "count", None, "body."),
    ):
        module, _, today = started(answer, trial)
        file = file_of(version, today, place)
        if lost:
            del file[place + lost]
        if extra:
            file[place + extra] = torch.zeros(2)
        trial.given(description)
        try:
            (nn.ModuleDict({"body": module}) if place else module).load_state_dict(file)
            accepted.append(description)
        except NotImplementedError:
            raise
        except RuntimeError:
            continue
    trial.given("; ".join(accepted))
    trial.true(
        not accepted,
        f"This was loaded without a word: {accepted[0] if accepted else ''}.",
        expected="RuntimeError that names the missing or unexpected key",
        got="no error",
        observed=accepted,
    )


@renamed.property("the parameters stay the same objects, and share no memory with the file", changes=RNG)
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
        f"After the load {', '.join(new)} is another object: an optimizer that was built before moves the old one.",
        expected="values written into the Parameters that are there",
        observed=("new objects", new),
    )
    memory = {value.data_ptr() for value in file.values()}
    shared = sorted(key for key, value in module.state_dict().items() if value.data_ptr() in memory)
    trial.true(
        not shared,
        f"{', '.join(shared)} shares its memory with the file: training writes into the dict of the caller.",
        expected="a copy",
        observed=("shared", shared),
    )
