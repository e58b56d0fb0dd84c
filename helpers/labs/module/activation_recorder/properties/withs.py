"""When a recorder records: inside its with, entered again, beside a second one; and which outputs, at the end."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.labs.module.activation_recorder.exercise import (
    activation_recorder,
    entered,
    heads,
    kept,
    made,
    row,
)
from helpers.labs.module.activation_recorder.inputs import (
    NO_TENSORS,
    TENSORS,
    Boom,
    Kinds,
    changed,
    hooks_on,
    some_input,
)
from helpers.labs.module.activation_recorder.properties.records import same


@activation_recorder.property(
    "entered a second time, after its with, it records again",
    once_right=True,
    asks="After its `with` it can be entered again, and goes on or begins anew.",
)
def entered_again(answer: Any, trial: Trial) -> None:
    model, x, recorder = made(answer, trial)
    before = hooks_on(model)
    trial.given("one recorder, entered three times in a row, with one call of the model each time")
    counts = []
    for inputs in (x, -x, x * 2):
        with recorder:
            out = model(inputs)
        found = heads(recorder, trial)
        counts.append(len(found))
        trial.true(
            bool(found) and torch.equal(found[-1].detach(), out.detach()),
            f"The call in with number {len(counts)} has not been recorded.",
            expected=f"the last entry of activations['head'] is {row(out)}",
            got=row(found[-1]) if found else "no entry",
            observed=("not recorded", len(counts)),
        )
    trial.true(
        counts in ([1, 1, 1], [1, 2, 3]),  # begun anew, or gone on
        f"activations['head'] has {counts[0]}, {counts[1]} and {counts[2]} entries after the three withs.",
        expected="one for each call: 1, 1, 1 or 1, 2, 3",
        got=", ".join(map(str, counts)),
        observed=("in a row", counts),
    )
    _no_more_hooks(trial, model, before)


@activation_recorder.property(
    "entered again after an error, it records again",
    once_right=True,
    asks=(
        "The same after an error, which comes out; what was recorded before it is kept.",
        "After its `with` it can be entered again, and goes on or begins anew.",
    ),
)
def entered_after_an_error(answer: Any, trial: Trial) -> None:
    model, x, recorder = made(answer, trial)
    before = hooks_on(model)
    trial.given("one recorder: a with in which forward raises, then a with and one call")
    model.raises = Boom
    with contextlib.suppress(Boom), recorder:
        model(x)
    model.raises = None
    try:
        with recorder:
            out = model(x)
    except Exception as error:
        trial.fail(
            f"Entered again, after a with that an error had ended, it raised {type(error).__name__}: {error}",
            expected="a recorder that records again",
            got=type(error).__name__,
            observed="raised",
        )
    found = heads(recorder, trial)
    trial.true(
        len(found) == 1 and torch.equal(found[0].detach(), out.detach()),
        "The call after an error, in a new with, has not been recorded once.",
        expected=f"the one entry of activations['head'] is {row(out)}",
        got=f"{len(found)} entries",
        observed=("entries", len(found)),
    )
    _no_more_hooks(trial, model, before)


def _no_more_hooks(trial: Trial, model: Any, before: dict[str, list]) -> None:
    more, _ = changed(before, hooks_on(model))
    trial.true(
        not more,
        f"After the withs hooks are left on {len(more)} modules.",
        expected="no hook of the recorder",
        got=f"hooks on {', '.join(more)}",
        observed=("left", more),
    )


@activation_recorder.property(
    "entered inside its own with, it records each call once, until the outer with ends",
    once_right=True,
    asks="Inside its own `with` it raises RuntimeError, or records each call once until the outer `with` ends.",
)
def entered_inside(answer: Any, trial: Trial) -> None:
    model, x, recorder = made(answer, trial)
    before = hooks_on(model)
    trial.given(
        "one recorder, entered inside its own with; the model is called before, inside and after the inner with"
    )
    refused, counts = False, []
    with recorder:
        model(x)
        counts.append(len(heads(recorder, trial)))
        try:
            with recorder:
                model(x)
                counts.append(len(heads(recorder, trial)))
        except RuntimeError:
            refused = True
        model(x)
        counts.append(len(heads(recorder, trial)))
    want = [1, 2] if refused and len(counts) == 2 else [1, 2, 3]
    moments = ("before the inner with", *(["inside it"] if len(counts) == 3 else []), "after it")
    trial.true(
        counts == want,
        f"activations['head'] has {', '.join(f'{count} entries {at}' for count, at in zip(counts, moments, strict=True))}"
        + ("; the inner with raised RuntimeError." if refused else "."),
        expected=", ".join(map(str, want)),
        got=", ".join(map(str, counts)),
        observed=(refused, counts),
    )
    _no_more_hooks(trial, model, before)


@activation_recorder.property(
    "two recorders on one model do not disturb each other",
    once_right=True,
    asks="Several recorders on one model do not disturb each other, whichever ends first.",
)
def two_at_once(answer: Any, trial: Trial) -> None:
    for order in ("the inner one ends first", "the outer one ends first"):
        model, x, first = made(answer, trial)
        before = hooks_on(model)
        second = entered(answer(model), trial)
        trial.given(f"two recorders on one model; the model is called in both, then in what is left; {order}")
        with contextlib.ExitStack() as last:
            first.__enter__()
            second.__enter__()
            ends, stays = (second, first) if order.startswith("the inner") else (first, second)
            last.callback(stays.__exit__, None, None, None)
            model(x)
            ends.__exit__(None, None, None)
            model(x)
        counts = [len(heads(recorder, trial)) for recorder in (stays, ends)]
        trial.true(
            counts == [2, 1],
            f"The recorder that goes on has {counts[0]} entries for head, the one that has ended {counts[1]}.",
            expected="2 and 1",
            got=f"{counts[0]} and {counts[1]}",
            observed=(order, counts),
        )
        _no_more_hooks(trial, model, before)


def _of(items: list[Tensor], output: Any) -> str:
    """In words, what was recorded of an output that is no tensor."""
    if isinstance(output, dict):
        output = list(output.values())
    parts = [part for part in output if isinstance(part, Tensor)] if isinstance(output, (tuple, list)) else []
    if parts and len(items) == len(parts) > 1:
        return "each of its tensors"
    if parts and len(items) == 1 and same(items[0], parts[0]):
        return "its first tensor"
    return f"{len(items)} tensors"


@activation_recorder.property(
    "a module whose output is no tensor is left out, and does not stop the model",
    once_right=True,
    asks="An output that is no tensor is left out (an LSTM returns a tuple, many models a dict).",
)
def no_tensors(answer: Any, trial: Trial) -> None:
    x = some_input(trial, 3).requires_grad_()
    for name, make in (NO_TENSORS | {"last": lambda x: x * 2}).items():
        model = Kinds({"first": torch.tanh, name: make})
        recorder = entered(answer(model), trial)
        trial.given(
            f"a model whose child {name!r} returns {_described(make(x))}; the model itself returns a dict"
        )
        try:
            with recorder:
                outputs = model(x)
        except Exception as error:
            trial.fail(
                f"While it was recorded, the model raised {type(error).__name__}: {error}",
                expected="a model that runs as it does without the recorder",
                got=type(error).__name__,
                observed=("stopped", name),
            )
        found = kept(recorder, trial)
        extra = {key: _of(found[key], outputs.get(key, outputs)) for key in found if key in ("", name)}
        if name == "last":
            extra.pop("last", None)
        trial.true(
            not extra,
            f"Of {_described(outputs.get(next(iter(extra), ''), outputs))}, {next(iter(extra.values()), '')} was recorded.",
            expected="no entry: the output is no tensor",
            got=f"under {next(iter(extra), '')!r} {row(found[next(iter(extra))][0])}" if extra else None,
            observed=extra.get(name, extra.get("")),
        )
        want = ["first", "last"] if name == "last" else ["first"]
        trial.true(
            sorted(found) == want,
            "The modules that return a tensor are not recorded beside one that does not.",
            expected=", ".join(want),
            got=", ".join(sorted(found)) or "nothing",
            observed=("missing", name, sorted(found)),
        )


def _described(output: Any) -> str:
    kind = type(output).__name__
    return {"NoneType": "None", "tuple": "a tuple", "list": "a list", "dict": "a dict"}.get(kind, f"a {kind}")


@activation_recorder.property(
    "tensors of every dtype and shape are recorded",
    once_right=True,
    asks="Tensors of every dtype and shape are recorded, Parameters too.",
)
def all_tensors(answer: Any, trial: Trial) -> None:
    model = Kinds(TENSORS)  # type: ignore[arg-type]
    x = some_input(trial, 3).requires_grad_()
    recorder = entered(answer(model), trial)
    trial.given(f"a model with a child for each kind of tensor, named after it: {', '.join(TENSORS)}")
    with recorder:
        outputs = model(x)
    found = kept(recorder, trial)
    off = {}
    for name, output in outputs.items():
        items = found.get(name, [])
        if len(items) != 1:
            off[name] = f"{len(items)} entries"
        elif not same(items[0], output.detach()):
            item = items[0]
            off[name] = (
                f"{item.dtype} in place of {output.dtype}"
                if item.dtype != output.dtype
                else f"shape {tuple(item.shape)} in place of {tuple(output.shape)}"
                if item.shape != output.shape
                else "other values"
            )
        elif items[0].requires_grad:
            off[name] = "requires grad"
    trial.true(
        not off,
        "Not recorded as they are: " + "; ".join(f"{name} ({what})" for name, what in off.items()) + ".",
        expected=f"one entry for {next(iter(off), '')!r}: " + row(outputs[next(iter(off), "zeros")]),
        got=row(found[next(iter(off))][0]) if off and found.get(next(iter(off))) else "no entry",
        observed=sorted(off.items()),
    )
