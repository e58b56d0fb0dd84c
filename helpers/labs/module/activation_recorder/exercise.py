"""Exercise 05.activation_recorder: look into a model while it runs, and leave no trace."""

from __future__ import annotations

import contextlib
import gc
from typing import Any

import torch
from torch import Tensor, nn

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.module.shared.models import (
    Boom,
    Net,
    Shared,
    WithPair,
    changed,
    hooks_on,
    recorded,
    setting,
    storages,
)

activation_recorder = Exercise(
    "05.activation_recorder",
    "Look inside, leave no trace",
    objective="Record what every module of a model returns, with hooks that are gone afterwards, and keep neither its "
    "memory nor its graph alive.",
    minutes=25,
    difficulty="medium",
    kind="class",
    names=("ActivationRecorder",),
    hints=[
        "A forward hook is called with (module, args, output), and what it returns replaces the output unless it is "
        "None. Which names does model.named_modules() give, and how does a hook know under which one it runs?",
        "output.detach() shares its memory with the output, and the next layer may write into it. A clone does not. "
        "Both together keep neither memory nor graph.",
        "register_forward_hook returns a handle; keep them all, and remove each in __exit__, which is called after an "
        "error, too. If __exit__ returns something true, the error is swallowed.",
        "In __enter__: `if not self.handles:` for each `name, module` of named_modules() a hook made by a method "
        "`self.hook(name)`, so that each has a name of its own; `return self`. The hook: `if isinstance(output, Tensor): "
        "self.activations.setdefault(name, []).append(output.detach().clone())`.",
    ],
)

NET = "a model with stem.0 -> ReLU(inplace=True) -> stem.2.0, `twice`, which it calls two times, and head"


def entered(recorder: Any, trial: Trial) -> Any:
    """The recorder, ready for `with`; wrong if it is no context manager."""
    for name in ("__enter__", "__exit__"):
        trial.true(
            hasattr(type(recorder), name),
            f"ActivationRecorder(model) is no context manager: it has no {name}.",
            expected="a class with __enter__ and __exit__",
            observed=("no context manager", name),
        )
    return recorder


def made(answer: Any, trial: Trial, kind: Any = Net) -> tuple[nn.Module, Tensor, Any]:
    model, x = setting(trial, kind)
    return model, x, entered(answer(model), trial)


def kept(recorder: Any, trial: Trial) -> dict[str, list[Tensor]]:
    """The recorder's activations without empty lists; wrong if they are no dict of lists of tensors."""
    found = getattr(recorder, "activations", None)
    trial.true(
        isinstance(found, dict),
        "recorder.activations is no dict.",
        expected="dict[str, list[Tensor]]",
        got=type(found).__name__,
        observed=("no dict", type(found).__name__),
    )
    for name, items in found.items():
        is_list = isinstance(items, list) and all(isinstance(item, Tensor) for item in items)
        trial.true(
            isinstance(name, str) and is_list,
            f"activations[{name!r}] is no list of tensors.",
            expected="a list with one tensor for each call of the module",
            got=f"{type(items).__name__} of {sorted({type(item).__name__ for item in items})}"
            if isinstance(items, (list, tuple))
            else type(items).__name__,
            observed=("no list", type(items).__name__),
        )
    return {name: items for name, items in found.items() if items}


@activation_recorder.property("`with ActivationRecorder(model) as recorder` gives the recorder")
def gives_itself(answer: Any, trial: Trial) -> None:
    model, _, recorder = made(answer, trial)
    trial.given("with ActivationRecorder(model) as recorder")
    with recorder as got:
        trial.true(
            got is recorder,
            "__enter__ does not return the recorder.",
            expected="self",
            got=type(got).__name__,
            observed=type(got).__name__,
        )


@activation_recorder.property("every module is recorded under its name in named_modules()")
def names(answer: Any, trial: Trial) -> None:
    model, x, recorder = made(answer, trial)
    want = list(recorded(model, x))
    trial.given(NET)
    with recorder:
        model(x)
        found = kept(recorder, trial)
    missing, extra = sorted(set(want) - set(found)), sorted(set(found) - set(want))
    trial.true(
        not missing and not extra,
        "The names are not those of named_modules()."
        + (f" Missing: {', '.join(map(repr, missing))}." if missing else "")
        + (f" Not expected: {', '.join(map(repr, extra))}." if extra else ""),
        expected=sorted(want),
        got=sorted(found),
        observed=(missing, extra),
    )


@activation_recorder.property("one entry for each call")
def entries(answer: Any, trial: Trial) -> None:
    for calls in (1, 2):
        model, x, recorder = made(answer, trial)
        want = {name: len(items) for name, items in recorded(model, *[x] * calls).items()}
        trial.given(f"{NET}; the model is called {'once' if calls == 1 else 'twice'}")
        with recorder:
            for _ in range(calls):
                model(x)
        found = {name: len(items) for name, items in kept(recorder, trial).items()}
        off = {name: (want[name], found[name]) for name in want if found.get(name, want[name]) != want[name]}
        trial.true(
            not off,
            "The number of entries is not the number of calls: "
            + ", ".join(f"{name!r} has {have} for {n}" for name, (n, have) in list(off.items())[:3])
            + (" and so on." if len(off) > 3 else "."),
            expected=want,
            got=found,
            observed=sorted(off.items()),
        )


@activation_recorder.property("the values of the moment, also when they are overwritten in place later")
def values(answer: Any, trial: Trial) -> None:
    model, x, recorder = made(answer, trial)
    want = recorded(model, x)
    trial.given(NET + "; it halves the second result of `twice` in place")
    with recorder:
        out = model(x)
        with torch.no_grad():
            out.mul_(3)
    off = {}
    for name, items in kept(recorder, trial).items():
        for at, (item, need) in enumerate(zip(items, want.get(name, []), strict=False)):
            if item.shape != need.shape or item.dtype != need.dtype or not torch.equal(item.detach(), need):
                off[f"{name!r}, call {at + 1}"] = _kind(item, need, x)
    trial.true(
        not off,
        "These are not the values that the modules returned: "
        + "; ".join(f"{place} ({kind})" for place, kind in off.items())
        + ".",
        expected="what the module returned, as it was when the module returned it",
        observed=sorted(off.items()),
    )


def _kind(item: Tensor, need: Tensor, x: Tensor) -> str:
    if item.shape != need.shape or item.dtype != need.dtype:
        return f"shape {tuple(item.shape)}, {item.dtype}; expected {tuple(need.shape)}, {need.dtype}"
    for description, later in (
        ("after the in-place relu", need.clamp(min=0)),
        ("halved afterwards", need * 0.5),
        ("multiplied by 3 after the call", need * 3),
        ("the input of the model", x),
    ):
        if torch.equal(item.detach(), later):
            return description
    return "other values"


@activation_recorder.property("what is recorded is cut off from the graph")
def detached(answer: Any, trial: Trial) -> None:
    model, x, recorder = made(answer, trial)
    trial.given(NET)
    with recorder:
        model(x)
    linked = sorted(
        name for name, items in kept(recorder, trial).items() if any(item.requires_grad for item in items)
    )
    trial.true(
        not linked,
        f"{len(linked)} of the recorded lists hold tensors that require grad.",
        expected="tensors without a grad_fn",
        got=", ".join(map(repr, linked)),
        observed=linked,
    )


@activation_recorder.property("the model computes the same, with the same gradients, while it is recorded")
def same_output(answer: Any, trial: Trial) -> None:
    model, x, recorder = made(answer, trial)
    weights = torch.randn(x.shape, generator=trial.generator, dtype=x.dtype)
    results = []
    for context in (contextlib.nullcontext(), recorder):
        with context:
            out = model(x)
        trial.true(
            out.requires_grad,
            "The model's output does not require grad while it is recorded: it cannot be trained meanwhile.",
            expected="the output of the model, with its graph",
            observed="no grad",
        )
        (out * weights).sum().backward()
        results.append((out.detach(), [param.grad for param in model.parameters()]))
        model.zero_grad()
    trial.given(NET + "; output and gradients without and with the recorder")
    trial.true(
        torch.equal(results[0][0], results[1][0]),
        "The model's output is another one while it is recorded.",
        observed="output",
    )
    same = [
        have is not None and torch.equal(have, need)
        for need, have in zip(results[0][1], results[1][1], strict=True)
    ]
    trial.true(
        all(same),
        "The model's gradients are other ones while it is recorded.",
        expected="a recorder that only looks: what a hook returns replaces the output",
        observed=("gradients", same),
    )


# What a recorder leaves behind, and several withs.


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
