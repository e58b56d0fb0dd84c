"""The properties of 05.activation_recorder that look at what a recorder leaves behind, and at several withs."""

from __future__ import annotations

import contextlib
import gc
from typing import Any

import torch

from helpers.labs.module.activation_recorder import NET, activation_recorder, entered, kept, made
from helpers.labs.module.recorder_models import Boom, Shared, WithPair, changed, hooks_on, setting, storages
from helpers.trial import Trial


@activation_recorder.property("the model's own results die while the recorder lives")
def memory(answer: Any, trial: Trial) -> None:
    model, x, recorder = made(answer, trial)
    found, off = storages(model)
    trial.given(NET + "; its output is deleted, the recorder is kept")
    with recorder:
        out = model(x)
    off()
    del out
    if not all(memory.expired() for memory in found.values()):
        gc.collect(1)  # what only a cycle holds
    living = sorted(name for name, memory in found.items() if not memory.expired())
    trial.true(
        not living,
        f"The memory of {len(living)} results of modules is still held, though the model's output is gone.",
        expected="copies in the recorder, and nothing else",
        got="alive: " + ", ".join(map(repr, living)),
        observed=living,
    )


@activation_recorder.property("after the with no hook of the recorder is left, and all others are")
def no_hooks(answer: Any, trial: Trial) -> None:
    model, x = setting(trial)
    model.head.register_forward_hook(lambda *_: None)
    model.stem.register_forward_pre_hook(lambda *_: None)
    before = hooks_on(model)
    trial.given(NET + "; head and stem have a hook of the user")
    with entered(answer(model), trial):
        model(x)
    _require_as_before(trial, before, hooks_on(model))


@activation_recorder.property("after an error in forward no hook is left either, and the error comes out")
def after_an_error(answer: Any, trial: Trial) -> None:
    model, x, recorder = made(answer, trial)
    model.fails = True
    before = hooks_on(model)
    trial.given(NET + "; its forward raises before head")
    came_out = False
    try:
        with recorder:
            model(x)
    except Boom:
        came_out = True
    trial.true(
        came_out,
        "The error of forward was swallowed: the code after the with goes on as if nothing had happened.",
        expected="the error comes out of the with block",
        observed="swallowed",
    )
    _require_as_before(trial, before, hooks_on(model))


def _require_as_before(trial: Trial, before: dict[str, list], after: dict[str, list]) -> None:
    more, less = changed(before, after)
    trial.true(
        not more,
        f"Hooks are left on {len(more)} modules: {', '.join(more[:4])}{' and others' if len(more) > 4 else ''}.",
        expected="the hooks that were there before the with",
        observed=("left", more),
    )
    trial.true(
        not less,
        f"Hooks of the user are gone from {', '.join(less)}.",
        expected="the hooks that were there before the with",
        observed=("gone", less),
    )


@activation_recorder.property("only what runs inside the with is recorded, and it can be read afterwards")
def only_inside(answer: Any, trial: Trial) -> None:
    model, x, recorder = made(answer, trial)
    counts = []
    for _ in range(2):
        with contextlib.nullcontext() if not counts else recorder:
            model(x)
        is_there = counts or hasattr(recorder, "activations")  # before the first with it may be missing
        counts.append(len(kept(recorder, trial).get("head", [])) if is_there else 0)
    with torch.no_grad():
        model(x)
    counts.append(len(kept(recorder, trial).get("head", [])))
    trial.given("the model is called once before the with, once inside, once after it")
    trial.true(
        counts == [0, 1, 1],
        f"After these three calls activations['head'] has {counts[0]}, {counts[1]} and {counts[2]} entries.",
        expected="0, 1, 1",
        got=", ".join(map(str, counts)),
        observed=counts,
    )


@activation_recorder.property("entered a second time, it does not record twice")
def entered_again(answer: Any, trial: Trial) -> None:
    model, x, recorder = made(answer, trial)
    before = hooks_on(model)
    trial.given("one recorder, entered twice in a row, with one call of the model each time")
    counts = []
    for inputs in (x, -x):
        with recorder:
            out = model(inputs)
        heads = kept(recorder, trial).get("head", [])
        counts.append(len(heads))
        trial.true(
            bool(heads) and torch.equal(heads[-1].detach(), out.detach()),
            f"The call in the {('first', 'second')[len(counts) - 1]} with has not been recorded.",
            expected="each with records",
            got=f"{counts[-1]} entries for head, the last one of another call",
            observed=("not recorded", len(counts)),
        )
    trial.true(
        counts in ([1, 1], [1, 2]),  # begun anew, or gone on
        f"activations['head'] has {counts[0]} entries after the first with, {counts[1]} after the second.",
        expected="one for each call",
        observed=("in a row", counts),
    )
    recorder = answer(model)
    trial.given("one recorder, entered again inside its own with, and one call of the model")
    with contextlib.suppress(RuntimeError), recorder, recorder:  # to refuse is fine, too
        model(x)
        count = len(kept(recorder, trial).get("head", []))
        trial.true(
            count == 1,
            f"One call of the model made {count} entries for head.",
            expected="1",
            observed=("inside itself", count),
        )
    more, _ = changed(before, hooks_on(model))
    trial.true(
        not more, f"After both with blocks hooks are left on {len(more)} modules.", observed=("left", more)
    )


@activation_recorder.property("two recorders on one model do not disturb each other")
def two_at_once(answer: Any, trial: Trial) -> None:
    model, x, outer = made(answer, trial)
    inner = answer(model)
    trial.given(
        "a second recorder inside the with of the first; the model is called in both, then in the outer one"
    )
    with outer:
        with inner:
            model(x)
        model(x)
    counts = [len(kept(recorder, trial).get("head", [])) for recorder in (outer, inner)]
    trial.true(
        counts == [2, 1],
        f"The outer recorder has {counts[0]} entries for head, the inner one {counts[1]}.",
        expected="2 and 1",
        observed=counts,
    )


@activation_recorder.property("a module under two names is recorded once a call, under its first name")
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
    "a module whose result is no tensor is left out, and does not stop the model", once_right=True
)
def no_tensors(answer: Any, trial: Trial) -> None:
    model, x, recorder = made(answer, trial, WithPair)
    trial.given(
        "a model with a module that returns a tuple, as nn.LSTM does; the model itself returns a dict"
    )
    with recorder:
        model(x)
    found = kept(recorder, trial)
    trial.true(
        {"first", "last"} <= set(found),
        "The modules that return a tensor are not recorded beside one that does not.",
        expected="'first' and 'last'",
        got=sorted(found),
        observed=sorted(found),
    )
