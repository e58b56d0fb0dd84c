"""The properties of 05.state_dict that look at a load of a file that fits; the files are torch's own."""

from __future__ import annotations

import re
from collections import OrderedDict
from contextlib import suppress
from typing import Any

import torch
from torch import nn

from helpers.check.calls import calls_to
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
    trial.arguments_stay(LEFT)
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
        f"load_state_dict gave {'None' if got is None else f'an object of type {type(got).__name__}'}.",
        expected="(missing, unexpected), two lists of names",
        got=shown(got),
        observed=("kind", type(got).__name__),
    )
    missing, unexpected = (sorted(map(str, part)) for part in got)
    return missing, unexpected


def names_told(trial: Trial, got: Keys, want: Keys, observed: Any) -> None:
    """Wrong unless these are the names that are missing and those that are unexpected."""
    words = []
    for which, have, need in zip(("missing", "unexpected"), got, want, strict=True):
        words += [f"{which} lacks {names_of([key for key in need if key not in have])}"] * bool(
            {*need} - {*have}
        )
        words += [f"{which} holds {names_of([key for key in have if key not in need])}"] * bool(
            {*have} - {*need}
        )
    trial.true(
        got == want,
        f"Of what was returned, {'; '.join(words) or 'a list holds a name twice'}.",
        expected=f"missing: {shown(want[0])}; unexpected: {shown(want[1])}",
        got=f"missing: {shown(got[0])}; unexpected: {shown(got[1])}",
        observed=("returned", observed),
    )


def off_values(module: nn.Module, want: State) -> list[str]:
    """The names under which the module does not hold these values."""
    now = state_of(module)
    return [key for key, value in want.items() if not same(now[key], value)]


def first_off(module: nn.Module, want: State, off: list[str]) -> dict[str, str]:
    """Expected and got, of the first of these names."""
    if not off:
        return {}
    have = holders(module).get(off[0])
    return {"expected": f"{off[0]}: {shown(want[off[0]], 150)}", "got": f"{off[0]}: {shown(have, 150)}"}


def names_of(keys: list[str]) -> str:
    return ", ".join(map(repr, keys[:6])) or "none"


BACK = "(missing, unexpected), two lists of names in any order: what the module has and `sd` lacks, and what only `sd` has."
EXPECTED = (
    "The names of state_dict(module) are expected and no others: a key for an entry that is None, below a child that is "
    "None, or for a buffer that is not persistent, is unexpected, and nothing is put there."
)
COPIED = (
    "assign=False: values are copied into the tensors of the module, which stay the same objects, in the same memory, with "
    "their dtype, requires_grad and grad."
)
LEFT = "`sd`, its tensors and its _metadata stay as they are."


@state_dict.property(
    "load: the work is done here, and not by torch's own methods",
    asks="The methods of Module for state dicts are not called.",
)
def loaded_here(answer: Any, trial: Trial) -> None:
    """Asked first: what torch's own load does differently from what is asked is not the fault then."""
    module, sd = model(trial.generator), file_of(model(seeded(trial)))
    trial.given("any model and a file that fits; calls are watched")
    with calls_to(nn.Module.load_state_dict, nn.Module._load_from_state_dict) as seen, suppress(Exception):
        answer[1](module, sd)  # an error is told below
    trial.true(
        not seen,
        f"The answer calls {' and '.join(sorted(set(seen)))}, which the exercise builds again.",
        expected="entries found and filled by the answer",
        observed="torch's own",
    )


@state_dict.property(
    "load: each value goes where its name says, whatever the order of the file",
    asks=("Brings the values of `sd` into the module by their names, as Module.load_state_dict does.", BACK),
)
def arrives(answer: Any, trial: Trial) -> None:
    for description, turn in (("in order", list), ("in reverse order", reversed), ("of Parameters", list)):
        module, sd = model(trial.generator), file_of(model(seeded(trial)))
        sd = OrderedDict((key, sd[key]) for key in turn(list(sd)))
        if description == "of Parameters":  # as dict(model.named_parameters()) has them
            sd = OrderedDict(
                (key, nn.Parameter(value, value.is_floating_point())) for key, value in sd.items()
            )
        trial.given(
            f"load_state_dict(m, sd) of m = Node({outline(module)}), sd with all names, {description}"
        )
        got = loaded(answer, trial, module, sd)
        off = off_values(module, sd)
        trial.true(
            not off,
            f"After loading, {names_of(off)} {'have' if len(off) > 1 else 'has'} not the file's values.",
            **first_off(module, sd, off),
            observed=("values", description, off),
        )
        names_told(trial, got, ([], []), observed=got)


@state_dict.property(
    "load: parameters and buffers stay the same objects, in the same memory, as they were", asks=COPIED
)
def stay(answer: Any, trial: Trial) -> None:
    module, sd = model(trial.generator), file_of(model(seeded(trial)), torch.float64)
    trial.given("a float32 model with a frozen parameter, and a file of float64 values")
    grad = torch.randn(2, 3, generator=trial.generator)
    module.conv.w.grad = grad.clone()
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
        have = {key: (now[key].data_ptr(), now[key].dtype, now[key].requires_grad)[place] for key in before}
        off = [key for key in before if have[key] != about[key][place]]
        trial.true(
            not off,
            f"Loading changed the {word} of {names_of(off)}.",
            expected=f"the {word} that they had"
            + ("" if not off or not place else f": {about[off[0]][place]}"),
            got=f"{off[0]}: {have[off[0]]}" if off and place else "",
            observed=(word, off),
        )
    recorded = [key for key, value in now.items() if value.grad_fn is not None]
    trial.true(
        not recorded,
        f"The load was recorded by autograd: {names_of(recorded)} has a grad_fn.",
        observed="recorded",
    )
    have = module.conv.w.grad
    trial.true(
        have is not None and torch.equal(have, grad),
        "The gradient of conv.w was changed by the load.",
        expected=shown(grad),
        got=shown(have),
        observed="grad",
    )
    off = off_values(module, {key: value.to(before[key].dtype) for key, value in sd.items()})
    trial.true(
        not off,
        f"After loading float64 values, {names_of(off)} {'have' if len(off) > 1 else 'has'} not the file's, cast to the dtype "
        "that was there.",
        **first_off(module, sd, off),
        observed=("values", off),
    )


@state_dict.property(
    "load: the file is left as it is, and shares nothing with the module afterwards", asks=(LEFT, COPIED)
)
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


@state_dict.property("load: what is None, not persistent or tied is no fault", asks=EXPECTED)
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
            names_told(trial, got, ([], []), observed=(description, strict, got))
        off = off_values(module, sd)
        off += [key for key, value in unsaved.items() if not same(holders(module)[key], value)]
        trial.true(
            not off, f"{names_of(off)} hold other values than they should.", observed=(description, off)
        )


@state_dict.property(
    "load: a key for what is None or not saved is unexpected, and puts nothing there", asks=EXPECTED
)
def nothing_put(answer: Any, trial: Trial) -> None:
    module, sd = with_gaps(trial.generator), file_of(with_gaps(seeded(trial)))
    extra = {
        "off": (3,),
        "mask": (2,),
        "down.w": (2,),
        "block.bias": (2,),
        "block.mean": (2,),
        "block.cache": (3,),
    }
    for key, shape in extra.items():
        sd[key] = torch.randn(shape, generator=trial.generator)
    before, shape = copied(module), outline(module)
    trial.given(
        f"m = Node({shape}), where mask and block.cache are not persistent; a file with all names; strict=False"
    )
    missing, unexpected = loaded(answer, trial, module, sd, strict=False)
    filled = [
        key
        for key, value in copied(module).items()
        if key in extra and not same(value, before.get(key, sd[key][:0]))
    ]
    silent = sorted({*extra} - {*unexpected})
    words = [f"{names_of(filled)} got the file's values"] if filled else []
    words += [f"{names_of(silent)} {'are' if len(silent) > 1 else 'is'} not in unexpected"] if silent else []
    trial.true(
        not words and outline(module) == shape,
        "; ".join(words or ["The module has other entries now"]) + ".",
        expected=f"unexpected: {sorted(extra)}, and what is None stays None",
        got=f"unexpected: {unexpected}; missing: {missing}; m = Node({outline(module)})",
        observed=("gaps", filled, silent, missing),
    )
    trial.equal(missing, [], "missing")
