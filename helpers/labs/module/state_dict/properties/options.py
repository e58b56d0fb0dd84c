"""The last properties of 05.state_dict: assign, extra state out and in, and random trees with damaged files."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor, nn

from helpers.check.calls import calls_to
from helpers.check.trial import Trial
from helpers.labs.module.shared.states import (
    State,
    copied,
    file_of,
    holders,
    model,
    same,
    state_of,
    with_extra,
)
from helpers.labs.module.shared.trees import forest, outline
from helpers.labs.module.state_dict.exercise import SAVED, has_keys, metadata, saved, seeded, state_dict
from helpers.labs.module.state_dict.properties.loads import apart, arrives, loaded, names_of, no_fault, stay
from helpers.labs.module.state_dict.properties.misfits import not_strict, raised, shapes, strict, together

LOADED = (arrives, stay, apart, no_fault, not_strict, strict, shapes, together)


@state_dict.property(
    "load with assign=True: the file's tensors become the entries, Parameters with the old requires_grad",
    after=(
        *SAVED,
        *LOADED,
    ),
)
def assigned(answer: Any, trial: Trial) -> None:
    module, sd = model(trial.generator), file_of(model(seeded(trial)), torch.float64)
    trial.given(
        "a float32 model with the frozen parameter conv2.b, and a file of float64 values; assign=True"
    )
    before = holders(module)
    got = loaded(answer, trial, module, sd, assign=True)
    trial.equal(got, ([], []), "What was returned", observed=got)
    now = holders(module)
    lost = [
        key
        for key in before
        if key not in now or isinstance(before[key], nn.Parameter) != isinstance(now[key], nn.Parameter)
    ]
    trial.true(not lost, f"{names_of(lost)} no longer stand where they stood.", observed=("lost", lost))
    for word, off in (
        ("dtype and values", [key for key in sd if not same(now[key], sd[key])]),
        ("memory", [key for key in sd if now[key].data_ptr() != sd[key].data_ptr()]),
    ):
        trial.true(
            not off,
            f"{names_of(off)} have not the {word} of the file's tensors.",
            observed=("assign", word, len(off)),
        )
    off = [key for key in before if now[key].requires_grad != before[key].requires_grad]
    trial.true(
        not off,
        f"requires_grad of {names_of(off)} is not what it was in the module.",
        observed=("requires_grad", off),
    )
    sd["conv.w"] = torch.randn(5, generator=trial.generator)
    trial.given("a tensor of another shape; assign=True")
    raised(answer, trial, model(trial.generator), sd, "for another shape", assign=True)


# What is small is asked last: it is often forgotten together with something larger, which then keeps its name.
BEFORE_EXTRA = (*SAVED, metadata, *LOADED, assigned)


@state_dict.property("a module's extra state is saved under _extra_state", after=BEFORE_EXTRA)
def extra_saved(answer: Any, trial: Trial) -> None:
    module = with_extra(trial.generator, 7)
    got = saved(answer, trial, module)
    has_keys(trial, got, tuple(state_of(module)))
    trial.true(
        got["counted._extra_state"] == module.counted.log,
        "The extra state is not what get_extra_state() gave.",
        got=str(got["counted._extra_state"]),
    )


@state_dict.property(
    "load: a module's extra state is set, and is missing or unexpected as any other key", after=BEFORE_EXTRA
)
def extra_loaded(answer: Any, trial: Trial) -> None:
    module, other = with_extra(trial.generator, 1), with_extra(seeded(trial), 9)
    trial.given("a file with a module's extra state, {'steps': 9, ...}, as counted._extra_state")
    sd = file_of(other)
    got = loaded(answer, trial, module, sd, strict=False)
    trial.equal(got, ([], []), "What was returned", observed=("extra", got))
    trial.true(
        module.counted.set_with == [other.counted.log],
        "set_extra_state was not called once with the file's extra state.",
        expected=str([other.counted.log]),
        got=str(module.counted.set_with),
        observed=("set", len(module.counted.set_with)),
    )
    trial.given(
        "a file without it, and with plain._extra_state of a module that has no such state; strict=False"
    )
    sd["plain._extra_state"] = sd.pop("counted._extra_state")
    want = (["counted._extra_state"], ["plain._extra_state"])
    trial.equal(loaded(answer, trial, module, sd, strict=False), want, "(missing, unexpected)")


@state_dict.property("load: the work is done here, and not by torch's own methods")
def loaded_here(answer: Any, trial: Trial) -> None:
    module, sd = model(trial.generator), file_of(model(seeded(trial)))
    with calls_to(nn.Module.load_state_dict, nn.Module._load_from_state_dict) as seen, suppress(RuntimeError):
        answer[1](module, sd)  # an error is told above
    trial.true(
        not seen,
        f"The answer calls {' and '.join(sorted(set(seen)))}, which the exercise builds again.",
        expected="entries found and filled by the answer",
        observed="torch's own",
    )


def damaged(trial: Trial, sd: State) -> State:
    """The file with some names gone, some added, some tensors of another shape."""
    made = OrderedDict()
    for key, value in sd.items():
        if (luck := trial.random.random()) < 0.85:
            made[key] = value if luck < 0.75 else torch.randn(7, 2, generator=trial.generator)
        if luck > 0.9:
            made[key + "_2"] = torch.randn(2, generator=trial.generator)
    return made


def outcome(load: Any, module: nn.Module, sd: State, strict: bool) -> Any:
    """What a load came to: the names, sorted, or that it raised."""
    try:
        missing, unexpected = load(module, sd, strict=strict)
    except RuntimeError:
        return "RuntimeError"
    return sorted(missing), sorted(unexpected)


@state_dict.property(
    "load: on random trees and damaged files all comes to the same as in torch", after=LOADED
)
def random_loaded(answer: Any, trial: Trial) -> None:
    for theirs, ours, other in forest(trial.random, 2, 3):
        with torch.no_grad():
            for value in holders(other).values():
                value.add_(1)
        for sd in (file_of(other), damaged(trial, file_of(other))):
            for option in (True, False):
                trial.given(f"strict={option}, m = Node({outline(ours)}), file with {names_of(list(sd))}...")
                want = outcome(nn.Module.load_state_dict, theirs, sd, option)
                got = outcome(answer[1], ours, sd, option)
                trial.equal(got, want, "What the load came to", observed=got)
                now = copied(ours)
                off = [key for key, value in copied(theirs).items() if not same(now[key], value)]
                trial.true(not off, f"{names_of(off)} hold other values than in torch.", observed=off)
                kept = all(isinstance(value, Tensor) for value in sd.values())
                trial.true(kept, "The file was changed.")
