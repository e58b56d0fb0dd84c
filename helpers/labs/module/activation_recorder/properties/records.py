"""Which values a recorder records, and of which modules."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.labs.module.activation_recorder.exercise import NET, activation_recorder, kept, made, row
from helpers.labs.module.activation_recorder.inputs import Calls, Shared, recorded, some_input
from helpers.labs.module.shared.models import Scale


def off_by(found: dict[str, list[Tensor]], want: dict[str, list[Tensor]], x: Tensor) -> dict[str, str]:
    """By name and number of the call, in words, what was recorded in place of what the module returned."""
    off = {}
    for name, items in found.items():
        for at, (item, need) in enumerate(zip(items, want.get(name, []), strict=False)):
            if not same(item, need):
                off[f"{name!r}, call {at + 1}"] = _kind(item, need, [*want.get(name, ()), x], at)
    return off


def same(item: Tensor, need: Tensor) -> bool:
    return (
        item.shape == need.shape
        and item.dtype == need.dtype
        and torch.allclose(item.detach(), need, rtol=0, atol=0, equal_nan=True)
    )


def _kind(item: Tensor, need: Tensor, others: list[Tensor], at: int) -> str:
    if item.shape != need.shape:
        return f"shape {tuple(item.shape)}; expected {tuple(need.shape)}"
    if item.dtype != need.dtype:
        return f"{item.dtype}; expected {need.dtype}"
    *calls, x = others
    for description, later in (
        ("after the in-place relu", need.clamp(min=0)),
        ("halved afterwards", need * 0.5),
        ("multiplied by 3 after the call", need * 3),
        ("the input of the model", x),
        *((f"the result of call {n + 1}", other) for n, other in enumerate(calls) if n != at),
    ):
        if same(item, later):
            return description
    return "other values"


@activation_recorder.property(
    "the values of the moment, also when they are overwritten in place later",
    asks="It is a copy of what the caller gets, as it is then: what is written into the output later does not change it.",
)
def values(answer: Any, trial: Trial) -> None:
    model, x, recorder = made(answer, trial)
    want = recorded(model, x)
    trial.given(NET + "; it halves the second result of `twice` in place")
    with recorder:
        out = model(x)
        with torch.no_grad():
            out.mul_(3)
    off = off_by(kept(recorder, trial), want, x)
    place = next(iter(off), None)
    name = place and place.split("'")[1]
    at = int(place.split()[-1]) - 1 if place else 0
    trial.true(
        not off,
        "These are not the values that the modules returned: "
        + "; ".join(f"{place} ({kind})" for place, kind in [*off.items()][:3])
        + (f"; and {len(off) - 3} more." if len(off) > 3 else "."),
        expected=f"{place}: {row(want[name][at])}, as it was when the module returned it" if off else "",
        got=row(kept(recorder, trial)[name][at]) if off else None,
        observed=sorted(off.items()),
    )


@activation_recorder.property(
    "the same is recorded when no gradients are asked for",
    once_right=True,
    asks="The same is recorded under `no_grad` and in eval mode.",
)
def without_gradients(answer: Any, trial: Trial) -> None:
    for context in (torch.no_grad, torch.inference_mode, contextlib.nullcontext):
        model, x, recorder = made(answer, trial)
        if context is contextlib.nullcontext:
            model.requires_grad_(False).eval()
        with torch.no_grad():
            want = recorded(model, x)
        before = (
            "a frozen model in eval mode"
            if context is contextlib.nullcontext
            else f"torch.{context.__name__}()"
        )
        trial.given(f"{NET}; {before}")
        with recorder, context():
            out = model(x)
        found = kept(recorder, trial)
        missing = sorted(name for name in want if len(found.get(name, [])) != len(want[name]))
        trial.true(
            not missing,
            f"With {before}, not every call has been recorded: {', '.join(map(repr, missing[:4]))}"
            + (" and others." if len(missing) > 4 else "."),
            expected={name: len(items) for name, items in want.items()},
            got={name: len(items) for name, items in found.items()},
            observed=("missing", before, missing),
        )
        off = off_by(found, want, x)
        trial.true(
            not off and not out.requires_grad,
            f"With {before}, the model computed or was recorded in a different way.",
            expected="the values that the model gives without a recorder, and no graph",
            got="; ".join(f"{place} ({kind})" for place, kind in off.items())
            or "an output that requires grad",
            observed=("different", before, sorted(off.items()), out.requires_grad),
        )


@activation_recorder.property(
    "what is recorded is cut off from the graph",
    asks="It has no graph: it does not require grad.",
)
def detached(answer: Any, trial: Trial) -> None:
    model, x, recorder = made(answer, trial)
    trial.given(NET)
    with recorder:
        model(x)
    found = kept(recorder, trial)
    linked = sorted(name for name, items in found.items() if any(item.requires_grad for item in items))
    trial.true(
        not linked,
        f"{len(linked)} of the recorded lists hold tensors that require grad.",
        expected="tensors that do not require grad, without a grad_fn",
        got=", ".join(map(repr, linked)),
        observed=(linked, [name for name in linked if any(item.is_leaf for item in found[name])]),
    )


@activation_recorder.property(
    "a module under two names is recorded once a call, under its first name",
    once_right=True,
    asks="A module that stands under two names is recorded under the first.",
)
def shared(answer: Any, trial: Trial) -> None:
    model, x, recorder = made(answer, trial, Shared)
    trial.given("a model with model.outer is model.inner, called under both names")
    with recorder:
        model(x)
    counts = {name: len(items) for name, items in kept(recorder, trial).items() if name}
    trial.true(
        counts == {"inner": 2},
        f"The one layer, called twice, has these entries: {counts}.",
        expected={"inner": 2},
        got=counts,
        observed=sorted(counts.items()),
    )


@activation_recorder.property(
    "calls inside calls are recorded, and those of other modules are not",
    once_right=True,
    asks=(
        "Each call of a module adds one tensor to its list, in the order in which the calls end.",
        "Calls of modules that `named_modules()` does not give are not recorded.",
    ),
)
def only_its_own(answer: Any, trial: Trial) -> None:
    model, x, recorder = made(answer, trial, Calls)
    want = recorded(model, x)
    other = Scale(trial, x.shape[1])
    trial.given(
        "a model whose forward calls a child, a module that is no child (it is kept in a list), and then the model itself "
        "once more; beside it a foreign module is called"
    )
    with recorder:
        other(x)
        model(x)
        other(some_input(trial, x.shape[1]))
    found = kept(recorder, trial)
    counts, need = ({name: len(items) for name, items in part.items()} for part in (found, want))
    trial.true(
        counts == need,
        "The numbers of entries are not those of the calls.",
        expected=need,
        got=counts,
        observed=sorted(counts.items()),
    )
    off = off_by(found, want, x)
    trial.true(
        not off,
        "The entries are in a different order: "
        + "; ".join(f"{at} ({kind})" for at, kind in off.items())
        + ".",
        expected=f"for the model itself first the inner call's {row(want[''][0])}",
        got=row(found[""][0]),
        observed=sorted(off),
    )


@activation_recorder.property(
    "what a hook of the user puts in place of the output is what is recorded",
    once_right=True,
    asks="A hook that was there before the `with` may replace the output: the caller gets, and you record, what it returned.",
)
def after_hooks(answer: Any, trial: Trial) -> None:
    model, x, recorder = made(answer, trial)
    model.twice.register_forward_hook(lambda module, args, out: out.tanh())
    model.stem[0].register_forward_pre_hook(lambda module, args: args[0] * 2)
    model.register_forward_hook(lambda module, args, out: -out)
    trial.given(
        NET
        + "; before the with, hooks were registered that replace the outputs of `twice` and of the model, and the "
        "input of stem.0"
    )
    want = recorded(model, x)
    with recorder:
        out = model(x)
    trial.true(
        torch.equal(out, want[""][0]),
        "The hooks of the user have a different effect while the model is recorded.",
        expected=row(want[""][0]),
        got=row(out),
        observed="output",
    )
    found = kept(recorder, trial)
    off = sorted(
        name
        for name, items in want.items()
        if len(found.get(name, [])) != len(items) or not all(map(same, found[name], items))
    )
    trial.true(
        not off,
        f"For {', '.join(map(repr, off))} the record is not what the caller got.",
        expected=f"for {off[0]!r} {row(want[off[0]][0])}, what the last hook returned" if off else "",
        got=row(found[off[0]][0]) if off and found.get(off[0]) else "nothing",
        observed=off,
    )
