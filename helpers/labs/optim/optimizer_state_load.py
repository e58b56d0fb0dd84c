"""The properties of 04.optimizer_state that look at load_optimizer_state; its files are torch's own."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.labs.optim.optimizer_state import is_same_object, off_places, optimizer_state
from helpers.labs.optim.optimizer_state_stage import (
    KINDS,
    WITHOUT_STATE,
    copied,
    file_of,
    in_mid_run,
    newly_built,
    params_of,
    same,
    step,
)
from helpers.trial import Trial


@optimizer_state.property("the options, the learning rate too, are those of the file")
def _(answer: Any, trial: Trial) -> None:
    for kind in KINDS:
        trial.given(
            f"{kind}: a file with lr 0.1 and others, loaded into an optimizer that was built with lr 0.7"
        )
        opt, sd = newly_built(trial, kind), file_of(in_mid_run(trial, kind))
        trial.call(answer[1], opt, sd)
        off = [
            sorted(
                key
                for key in theirs
                if key != "params" and not (key in mine and same(mine[key], theirs[key]))
            )
            for mine, theirs in zip(opt.param_groups, sd["param_groups"], strict=False)
        ]
        trial.true(
            len(opt.param_groups) == len(sd["param_groups"]) and not any(off),
            f"After loading, these options are not the file's: "
            f"{', '.join(sorted({name for names in off for name in names})[:6])}.",
            expected=f"lr {[group['lr'] for group in sd['param_groups']]} for the three groups, and so on",
            got=f"lr {[group.get('lr') for group in opt.param_groups]}",
            observed=(kind, off),
        )


@optimizer_state.property("loading moves no parameter: the groups hold the optimizer's own")
def _(answer: Any, trial: Trial) -> None:
    opt, sd = newly_built(trial, "SGD with momentum"), file_of(in_mid_run(trial, "SGD with momentum"))
    trial.given("SGD with momentum, groups of 2, 1 and 2 parameters")
    params, weights = params_of(opt), copied(params_of(opt))
    trial.call(answer[1], opt, sd)
    now = params_of(opt)
    trial.true(
        len(now) == len(params) and all(map(is_same_object, now, params)),
        "After loading, the groups no longer hold the optimizer's parameters, so step() moves nothing of the model.",
        expected="the same Parameter objects in the same groups",
        got=[type(item).__name__ for item in now],
        observed=[type(item).__name__ for item in now],
    )
    trial.true(same(copied(now), weights), "Loading changed the values of the parameters.")


@optimizer_state.property("each parameter has the state that the file holds for its place, and nothing else")
def _(answer: Any, trial: Trial) -> None:
    for kind in KINDS:
        opt, sd = newly_built(trial, kind), file_of(in_mid_run(trial, kind))
        trial.given(f"{kind}: an optimizer that has taken a step, and a file without a state for parameter 4")
        params = params_of(opt)
        trial.call(answer[1], opt, sd)
        foreign = [type(key).__name__ for key in opt.state if not any(key is param for param in params)]
        trial.true(
            not foreign,
            "opt.state has keys that are none of the optimizer's parameters: step() will not find them.",
            expected="the parameters of opt as keys",
            got=foreign,
            observed=("keys", foreign),
        )
        off = off_places(
            {place: opt.state[param] for place, param in enumerate(params) if param in opt.state}, sd["state"]
        )
        trial.true(
            not off,
            "The states do not stand where they belong: "
            + "; ".join(f"{n}: {said}" for n, said in off[:3])
            + ".",
            observed=(kind, off),
        )
        last = params[WITHOUT_STATE]
        trial.true(
            last not in opt.state or not opt.state[last],
            f"Parameter {WITHOUT_STATE} has no state in the file, and still has one: that of an older run.",
            expected="no state",
            got=sorted(opt.state[last]) if last in opt.state else None,
            observed="stale",
        )


@optimizer_state.property("states take the dtype of their parameter; step, which counts, keeps its own")
def _(answer: Any, trial: Trial) -> None:
    for kind in ("AdamW", "SGD with momentum"):
        sd = file_of(in_mid_run(trial, kind))
        for dtype in (torch.float64, torch.bfloat16):
            trial.given(f"{kind}: a file of float32 parameters, loaded for parameters of {dtype}")
            opt = newly_built(trial, kind, dtype)
            trial.call(answer[1], opt, sd)
            for param in params_of(opt)[:WITHOUT_STATE]:
                found = {
                    key: value.dtype for key, value in opt.state[param].items() if isinstance(value, Tensor)
                }
                off = sorted(key for key, have in found.items() if (key != "step") and have != dtype)
                trial.true(
                    not off,
                    f"{', '.join(off)}: expected {dtype}, got {found[off[0]] if off else ''}.",
                    expected=str(dtype),
                    observed=("kept", kind),
                )
                trial.true(
                    found.get("step", torch.float32) == torch.float32,
                    f"step has become {found.get('step')}: in bfloat16 a count goes no further than 256.",
                    expected="torch.float32",
                    observed="step",
                )


@optimizer_state.property("loading leaves the file as it is, and shares nothing with it")
def _(answer: Any, trial: Trial) -> None:
    for kind in KINDS:
        opt, sd = newly_built(trial, kind), file_of(in_mid_run(trial, kind))
        before = copied(sd)
        trial.given(f"{kind}: one dict, loaded into an optimizer, which then trains on")
        trial.call(answer[1], opt, sd)
        trial.true(
            same(sd, before),
            "load_optimizer_state changed the dict that it was given.",
            expected="a dict that can be loaded once more",
            observed="the file changed",
        )
        for group in opt.param_groups:
            group["lr"] = 0.3
        if all(isinstance(param, Tensor) for param in params_of(opt)):
            step(opt, trial.generator)
        moved = [part for part in ("state", "param_groups") if not same(sd[part], before[part])]
        trial.true(
            not moved,
            f"Training on changed the dict that was loaded, under {' and '.join(map(repr, moved))}: "
            "two optimizers that load it would move one and the same momentum.",
            expected="copies",
            observed=("shared", moved),
        )


@optimizer_state.property("a parameter that the file knows nothing of can still be trained")
def _(answer: Any, trial: Trial) -> None:
    for kind in KINDS:
        opt, sd = newly_built(trial, kind), file_of(in_mid_run(trial, kind))
        trial.given(
            f"{kind}: loaded, then one step in which parameter {WITHOUT_STATE} has its first gradient"
        )
        trial.call(answer[1], opt, sd)
        try:
            step(opt, trial.generator)
        except Exception as error:
            trial.fail(
                f"opt.step() raised {type(error).__name__} after the load.",
                expected="opt.state that makes a missing entry: a defaultdict(dict), as torch's",
                observed=type(error).__name__,
            )
