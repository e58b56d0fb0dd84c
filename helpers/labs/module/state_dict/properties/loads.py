"""The properties of 05.state_dict that look at a load of a file that fits; the files are torch's own."""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import Any

import torch
from torch import nn

from helpers.check.compare import shown
from helpers.check.trial import Trial
from helpers.labs.module.shared.states import (
    State,
    copied,
    file_of,
    holders,
    model,
    same,
    state_of,
    with_gaps,
    with_ties,
)
from helpers.labs.module.shared.trees import outline
from helpers.labs.module.state_dict.exercise import seeded, state_dict

Keys = tuple[list[str], list[str]]


def entries_of(module: nn.Module) -> set[str]:
    """The names of all entries, of those that are None or not saved, too, and of extra states."""
    return {
        f"{path}.{name}".lstrip(".")
        for path, part in module.named_modules(remove_duplicate=False)
        for name in (*part._parameters, *part._buffers, "_extra_state")
    }


def given_back(answer: Any, trial: Trial, module: nn.Module, sd: State, **options: Any) -> Any:
    """What load_state_dict gives. If it refuses the file, the keys that it names tell mistakes apart, not its words."""
    try:
        return trial.call(answer[1], module, sd, **options)
    except NotImplementedError:
        raise
    except RuntimeError as error:
        words = {word.strip(".") for word in re.findall(r"[\w.]+", str(error))}
        named = sorted(words & {*entries_of(module), *sd})
        if not named:
            raise
        trial.fail(
            f"load_state_dict raised RuntimeError: {shown(str(error), 300)}",
            expected="no error: the file fits, or strict is False and all shapes are right",
            observed=("refused", named),
        )


def loaded(answer: Any, trial: Trial, module: nn.Module, sd: State, **options: Any) -> Keys:
    """(missing, unexpected), sorted, if load_state_dict gives the two lists."""
    got = given_back(answer, trial, module, sd, **options)
    right = (
        isinstance(got, tuple) and len(got) == 2 and all(isinstance(part, list | tuple | set) for part in got)
    )
    trial.true(
        right,
        "load_state_dict gave no pair of lists.",
        expected="(missing, unexpected), two lists of names",
        got=shown(got),
        observed=("kind", type(got).__name__),
    )
    missing, unexpected = (sorted(map(str, part)) for part in got)
    return missing, unexpected


def off_values(module: nn.Module, want: State) -> list[str]:
    """The names under which the module does not hold these values."""
    now = state_of(module)
    return [key for key, value in want.items() if not same(now[key], value)]


def names_of(keys: list[str]) -> str:
    return ", ".join(map(repr, keys[:6])) or "none"


@state_dict.property("load: each value goes where its name says, whatever the order of the file")
def arrives(answer: Any, trial: Trial) -> None:
    for description, turn in (("in order", list), ("in reverse order", reversed)):
        module, sd = model(trial.generator), file_of(model(seeded(trial)))
        sd = OrderedDict((key, sd[key]) for key in turn(list(sd)))
        trial.given(
            f"load_state_dict(m, sd) of m = Node({outline(module)}), sd with all names, {description}"
        )
        got = loaded(answer, trial, module, sd)
        off = off_values(module, sd)
        trial.true(
            not off,
            f"After loading, {names_of(off)} {'have' if len(off) > 1 else 'has'} not the file's values.",
            observed=("values", description, off),
        )
        trial.equal(got, ([], []), "What was returned", observed=got)


@state_dict.property("load: parameters and buffers stay the same objects, in the same memory, as they were")
def stay(answer: Any, trial: Trial) -> None:
    module, sd = model(trial.generator), file_of(model(seeded(trial)), torch.float64)
    trial.given("a float32 model with a frozen parameter, and a file of float64 values")
    module.conv.w.grad = torch.randn(2, 3, generator=trial.generator)
    before = holders(module)
    lay = {
        key: value.detach() for key, value in before.items()
    }  # kept: memory that is freed may be given out again
    about = {key: (lay[key].data_ptr(), value.dtype, value.requires_grad) for key, value in before.items()}
    given_back(answer, trial, module, sd)
    now = holders(module)
    replaced = [key for key in before if now.get(key) is not before[key]]
    trial.true(
        not replaced,
        f"{names_of(replaced)} {'are' if len(replaced) > 1 else 'is'} another object now: what "
        "holds the old ones, an optimizer above all, is left with them.",
        expected="the same Parameters and buffers, with other values in them",
        observed=("replaced", replaced),
    )
    for place, word in enumerate(("memory", "dtype", "requires_grad")):
        off = [
            key
            for key in before
            if (now[key].data_ptr(), now[key].dtype, now[key].requires_grad)[place] != about[key][place]
        ]
        trial.true(
            not off,
            f"Loading changed the {word} of {names_of(off)}.",
            expected=f"the {word} that they had",
            observed=(word, off),
        )
    trial.true(
        module.conv.w.grad is not None and all(value.grad_fn is None for value in now.values()),
        "Loading changed a gradient, or was recorded by autograd.",
        observed="autograd",
    )


@state_dict.property("load: the file is left as it is, and shares nothing with the module afterwards")
def apart(answer: Any, trial: Trial) -> None:
    module, sd = model(trial.generator), file_of(model(seeded(trial)))
    trial.given("a file that is loaded; then all parameters and buffers are set to 0")
    before = {key: value.clone() for key, value in sd.items()}
    given_back(answer, trial, module, sd)
    with torch.no_grad():
        for value in holders(module).values():
            value.zero_()
    moved = [key for key in before if not same(sd[key], before[key])]
    trial.true(
        not moved,
        f"Training on changes the dict that was loaded: {names_of(moved)}.",
        expected="values that are copied into the module",
        observed=("moved", moved),
    )


@state_dict.property("load: what is None, not persistent or tied is no fault")
def no_fault(answer: Any, trial: Trial) -> None:
    for description, build in (
        ("None entries and unsaved buffers", with_gaps),
        ("tied weights, a shared module", with_ties),
    ):
        module, other = build(trial.generator), build(seeded(trial))
        trial.given(f"a model with {description}: Node({outline(module)}), and the file of its twin")
        sd, unsaved = (
            file_of(other),
            {key: value for key, value in copied(module).items() if key not in state_of(module)},
        )
        for strict in (False, True):
            got = loaded(answer, trial, module, sd, strict=strict)
            trial.equal(got, ([], []), "What was returned", observed=(description, strict, got))
        off = off_values(module, sd)
        off += [key for key, value in unsaved.items() if not same(holders(module)[key], value)]
        trial.true(
            not off, f"{names_of(off)} hold other values than they should.", observed=(description, off)
        )
