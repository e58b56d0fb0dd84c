"""The properties of 05.state_dict that look at a load of a file that does not fit."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from helpers.check.compare import shown
from helpers.check.trial import Trial
from helpers.labs.module.shared.states import KEYS, State, copied, file_of, model
from helpers.labs.module.state_dict.exercise import seeded, state_dict
from helpers.labs.module.state_dict.properties.loads import loaded, names_of, off_values


def faulty(trial: Trial) -> tuple[State, list[str], list[str]]:
    """A file with names missing and others that nobody expects; those two."""
    sd = file_of(model(seeded(trial)))
    missing = ["conv.b", "conv2.0.w", "conv2.mean"]
    for key in missing:
        del sd[key]
    unexpected = ["conv.w2", "conv2.0.bias", "convert.w", "old_head.weight"]
    for key in unexpected:
        sd[key] = torch.randn(2, generator=trial.generator)
    return sd, missing, unexpected


@state_dict.property(
    "load with strict=False: missing and unexpected names are returned, and what fits is loaded"
)
def not_strict(answer: Any, trial: Trial) -> None:
    module, (sd, missing, unexpected) = model(trial.generator), faulty(trial)
    trial.given(f"a file without {names_of(missing)}, but with {names_of(unexpected)}; strict=False")
    before = copied(module)
    got = loaded(answer, trial, module, sd, strict=False)
    trial.equal(got, (missing, unexpected), "(missing, unexpected)", observed=got)
    want = {key: before[key] if key in missing else sd[key] for key in KEYS}
    off = off_values(module, want)
    trial.true(not off, f"{names_of(off)} hold other values than they should.", observed=("values", off))


def raised(answer: Any, trial: Trial, module: nn.Module, sd: State, when: str, **options: Any) -> str:
    """The text of the RuntimeError."""
    return str(trial.raises(RuntimeError, lambda: trial.call(answer[1], module, sd, **options), when))


@state_dict.property(
    "load with strict=True: one RuntimeError that names every missing and every unexpected key"
)
def strict(answer: Any, trial: Trial) -> None:
    module, (sd, missing, unexpected) = model(trial.generator), faulty(trial)
    trial.given(f"a file without {names_of(missing)}, but with {names_of(unexpected)}; strict=True")
    text = raised(answer, trial, module, sd, "for missing and unexpected keys")
    unnamed = [key for key in (*missing, *unexpected) if key not in text]
    trial.true(
        not unnamed,
        f"The error does not name {names_of(unnamed)}.",
        expected="all keys in one error: whoever mends one at a time runs the program many times",
        got=shown(text, 400),
        observed=("unnamed", unnamed),
    )
    less, more = file_of(model(seeded(trial))), file_of(model(seeded(trial)))
    del less["conv2.mean"]
    more["conv.w2"] = more["conv.w"]
    for description, sd in (("a missing", less), ("an unexpected", more)):
        trial.given(f"a file with {description} key only; strict=True")
        raised(answer, trial, model(trial.generator), sd, f"for {description} key")


def misshapen(trial: Trial) -> tuple[State, list[str]]:
    """A file with three tensors of another shape, two of which broadcast to that of the model."""
    sd = file_of(model(seeded(trial)))
    for key, shape in (("conv.w", (1, 3)), ("conv2.w", (2,)), ("conv2.mean", ())):
        sd[key] = torch.randn(shape, generator=trial.generator)
    return sd, ["conv.w", "conv2.w", "conv2.mean"]


@state_dict.property("load: every tensor of another shape is named in one RuntimeError, whatever strict is")
def shapes(answer: Any, trial: Trial) -> None:
    for option in (True, False):
        module, (sd, keys) = model(trial.generator), misshapen(trial)
        trial.given(
            "a file with shapes (1, 3) for conv.w of (2, 3), (2,) for conv2.w of (3,), () for conv2.mean of (3,); "
            f"strict={option}"
        )
        before = copied(module)
        text = raised(answer, trial, module, sd, f"for other shapes, strict={option}", strict=option)
        unnamed = [key for key in keys if key not in text]
        trial.true(
            not unnamed,
            f"The error does not name {names_of(unnamed)}.",
            expected="all three in one error",
            got=shown(text, 400),
            observed=("unnamed", option, unnamed),
        )
        changed = off_values(module, {key: before[key] for key in keys})
        trial.true(not changed, f"{names_of(changed)} changed all the same.", observed=("changed", changed))


@state_dict.property("load: all faults in one error, and what fits has been loaded when it comes")
def together(answer: Any, trial: Trial) -> None:
    module, (sd, missing, unexpected) = model(trial.generator), faulty(trial)
    sd["conv.w"] = torch.randn(5, generator=trial.generator)
    trial.given(
        f"a file without {names_of(missing)}, with {names_of(unexpected)}, and shape (5,) for conv.w of (2, 3)"
    )
    before = copied(module)
    text = raised(answer, trial, module, sd, "for missing, unexpected and misshapen keys")
    unnamed = [key for key in (*missing, *unexpected) if key not in text]
    if "conv.w" not in text.replace("conv.w2", ""):
        unnamed.append("conv.w")
    trial.true(
        not unnamed,
        f"The error does not name {names_of(unnamed)}.",
        expected="missing, unexpected and misshapen keys in one error",
        got=shown(text, 400),
        observed=("unnamed", unnamed),
    )
    kept = [key for key in KEYS if key in missing or key == "conv.w"]
    off = off_values(module, {key: before[key] if key in kept else sd[key] for key in KEYS})
    trial.true(
        not off,
        f"After the error {names_of(off)} hold the old values, or wrong ones. torch loads what fits, and complains then.",
        expected="the file's values, but for what is missing or of another shape",
        observed=("values", off),
    )
