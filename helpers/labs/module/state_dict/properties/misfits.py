"""The properties of 05.state_dict that look at a load of a file that does not fit."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import Tensor, nn

from helpers.check.compare import shown
from helpers.check.trial import Trial
from helpers.labs.module.shared.states import KEYS, State, copied, file_of, model
from helpers.labs.module.state_dict.exercise import seeded, state_dict
from helpers.labs.module.state_dict.properties.loads import (
    BACK,
    first_off,
    given_back,
    loaded,
    names_of,
    names_told,
    off_values,
)

ONE_ERROR = (
    "All faults come in one RuntimeError at the end, when all that fits has been loaded.",
    "It names every key whose value is no tensor or has a different shape, whatever `strict` is, and if `strict` every "
    "missing and every unexpected key.",
)


def faulty(trial: Trial) -> tuple[State, list[str], list[str]]:
    """A file with names missing and others that nobody expects; those two."""
    sd = file_of(model(seeded(trial)))
    missing = ["conv.b", "conv2.0.w", "conv2.mean"]
    for key in missing:
        del sd[key]
    # The last but one is what a file of DistributedDataParallel calls what is missing here.
    unexpected = ["conv", "conv.w.x", "conv.w2", "conv2.0.bias", "convert.w", "module.conv.b", "nothing"]
    for key in unexpected:
        sd[key] = None if key == "nothing" else torch.randn(2, generator=trial.generator)
    return sd, missing, unexpected


def is_named(key: str, text: str) -> bool:
    """Whether the text holds this key, and not only a longer one."""
    return re.search(rf"(?<![\w.]){re.escape(key)}(?!\w|\.\w)", text) is not None


def some(count: int, of: int) -> str:
    """In words, so that the order of a walk does not matter."""
    return "all" if count == of else "none" if not count else "one" if count == 1 else "some"


def told(trial: Trial, text: str, kinds: dict[str, list[str]], module: nn.Module, want: State) -> None:
    """Wrong if the error does not name all of these keys; also seen: whether what fits has been loaded."""
    unnamed = [key for keys in kinds.values() for key in keys if not is_named(key, text)]
    off = off_values(module, want)
    named = [
        (kind, some(sum(is_named(key, text) for key in keys), len(keys))) for kind, keys in kinds.items()
    ]
    trial.true(
        not unnamed,
        f"The error does not name {names_of(unnamed)}."
        + (
            f" And {names_of(off)} {'have' if len(off) > 1 else 'has'} not been loaded by then."
            if off
            else ""
        ),
        expected="all in one error: "
        + "; ".join(f"{kind} {', '.join(keys)}" for kind, keys in kinds.items()),
        got=shown(text, 400),
        observed=("unnamed", named, "not all loaded" if off else "all loaded"),
    )


@state_dict.property(
    "load with strict=False: missing and unexpected names are returned, and what fits is loaded", asks=BACK
)
def not_strict(answer: Any, trial: Trial) -> None:
    module, (sd, missing, unexpected) = model(trial.generator), faulty(trial)
    trial.given(
        f"a file without {names_of(missing)}, but with {', '.join(map(repr, unexpected))}; strict=False"
    )
    before = copied(module)
    got = loaded(answer, trial, module, sd, strict=False)
    names_told(trial, got, (missing, unexpected), observed=got)
    want = {key: before[key] if key in missing else sd[key] for key in KEYS}
    off = off_values(module, want)
    trial.true(
        not off,
        f"{names_of(off)} hold other values than they should.",
        **first_off(module, want, off),
        observed=("values", off),
    )
    trial.given("an empty file; strict=False")
    got = loaded(answer, trial, model(trial.generator), {}, strict=False)
    names_told(trial, got, (sorted(KEYS), []), observed=("empty file", got))
    kinds = [
        type(part).__name__ for part in given_back(answer, trial, model(trial.generator), {}, strict=False)
    ]
    trial.true(
        kinds == ["list", "list"],
        f"missing is of type {kinds[0]}, unexpected of type {kinds[1]}.",
        expected="two lists of names",
        observed=("no lists", sorted({*kinds} - {"list"})),
    )


def raised(answer: Any, trial: Trial, module: nn.Module, sd: State, when: str, **options: Any) -> str:
    """The text of the RuntimeError."""
    return str(trial.raises(RuntimeError, lambda: trial.call(answer[1], module, sd, **options), when))


@state_dict.property(
    "load with strict=True: one RuntimeError that names every missing and every unexpected key",
    asks=ONE_ERROR,
)
def strict(answer: Any, trial: Trial) -> None:
    module, (sd, missing, unexpected) = model(trial.generator), faulty(trial)
    trial.given(
        f"a file without {names_of(missing)}, but with {', '.join(map(repr, unexpected))}; strict is not given"
    )
    text = raised(answer, trial, module, sd, "for missing and unexpected keys")
    fitting = {key: sd[key] for key in KEYS if key not in missing}
    told(trial, text, {"missing": missing, "unexpected": unexpected}, module, fitting)
    less, more = file_of(model(seeded(trial))), file_of(model(seeded(trial)))
    del less["conv2.mean"]
    more["conv.w2"] = more["conv.w"]
    for description, sd in (("a missing", less), ("an unexpected", more), ("no", {})):
        trial.given(
            f"a file with {description} key only; strict is not given"
            if sd
            else "an empty file; strict is not given"
        )
        raised(answer, trial, model(trial.generator), sd, f"for {description} key")


SHAPES = {"conv.w": (3, 2), "conv2.w": (1,), "conv2.b": (3,), "conv2.mean": (), "scale": (4, 1)}


@state_dict.property(
    "load: every tensor of a different shape is named in one RuntimeError, whatever strict is", asks=ONE_ERROR
)
def shapes(answer: Any, trial: Trial) -> None:
    for option in (True, False):
        module, sd = model(trial.generator), file_of(model(seeded(trial)))
        was = {key: tuple(sd[key].shape) for key in SHAPES}
        for key, shape in SHAPES.items():
            sd[key] = torch.randn(shape, generator=trial.generator)
        pairs = ", ".join(f"{SHAPES[key]} for {key} of {was[key]}" for key in SHAPES)
        trial.given(f"a file with shapes {pairs}; strict={option}")
        before = copied(module)
        text = raised(answer, trial, module, sd, f"for different shapes, strict={option}", strict=option)
        fitting = {key: value for key, value in sd.items() if key not in SHAPES}
        changed = off_values(module, {key: before[key] for key in SHAPES})
        trial.true(
            not changed,
            f"{names_of(changed)} changed, though the shape in the file is a different one.",
            **first_off(module, before, changed),
            observed=("changed", changed),
        )
        told(trial, text, {"different shapes": list(SHAPES)}, module, fitting)


@state_dict.property(
    "load: a value that is no tensor is a fault as a different shape is, whatever strict is", asks=ONE_ERROR
)
def no_tensors(answer: Any, trial: Trial) -> None:
    values = {"scale": None, "conv.w": [[1.0] * 3] * 2, "conv2.count": 7, "conv2.0.w": "weights"}
    for option in (True, False):
        module, sd = model(trial.generator), file_of(model(seeded(trial)))
        sd |= values
        trial.given(
            f"a file with {', '.join(f'{value!r} for {key}' for key, value in values.items())}; strict={option}"
        )
        before = copied(module)
        text = raised(answer, trial, module, sd, "for values that are no tensors", strict=option)
        fitting = {key: value for key, value in sd.items() if isinstance(value, Tensor)}
        changed = off_values(module, {key: before[key] for key in values})
        trial.true(
            not changed,
            f"{names_of(changed)} changed, though what stands in the file is no tensor.",
            **first_off(module, before, changed),
            observed=("changed", changed),
        )
        told(trial, text, {"no tensors": list(values)}, module, fitting)


@state_dict.property(
    "load: all faults in one error, and what fits has been loaded when it comes", asks=ONE_ERROR
)
def together(answer: Any, trial: Trial) -> None:
    module, (sd, missing, unexpected) = model(trial.generator), faulty(trial)
    sd["conv.w"] = torch.randn(5, generator=trial.generator)
    trial.given(
        f"a file without {names_of(missing)}, with {', '.join(map(repr, unexpected))}, and shape (5,) for conv.w of (2, 3)"
    )
    text = raised(answer, trial, module, sd, "for missing, unexpected and misshapen keys")
    fitting = {key: sd[key] for key in KEYS if key not in missing and key != "conv.w"}
    told(
        trial,
        text,
        {"missing": missing, "unexpected": unexpected, "different shapes": ["conv.w"]},
        module,
        fitting,
    )
    off = off_values(module, fitting)
    trial.true(
        not off,
        f"After the error {names_of(off)} {'have' if len(off) > 1 else 'has'} not the file's values. torch loads what fits, and "
        "complains then.",
        **first_off(module, fitting, off),
        observed=("not loaded", len(off)),
    )
