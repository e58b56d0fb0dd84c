"""What a recorder leaves behind on a model: memory, hooks, anything else."""

from __future__ import annotations

import contextlib
import gc
from typing import Any

from torch import nn

from helpers.check.trial import Trial
from helpers.labs.module.activation_recorder.exercise import NET, activation_recorder, entered, kept, made
from helpers.labs.module.activation_recorder.inputs import (
    Boom,
    changed,
    differing,
    hooks_on,
    kinds_of,
    recorded,
    replaced_on,
    setting,
    storages,
)


@activation_recorder.property(
    "the model's own results die while the recorder lives",
    asks="The recorder keeps neither the memory of outputs nor their graph alive: inside the `with`, after it, after an error.",
)
def memory(answer: Any, trial: Trial) -> None:
    for when in ("after the with", "inside the with", "after an error"):
        model, x, recorder = made(answer, trial)
        found, off = storages(model)
        trial.given(f"{NET}; its output is deleted, the recorder is kept; {when}")
        if when == "after an error":
            model.raises = Boom
            with contextlib.suppress(Boom), recorder:
                model(x)
            living = still_held(found)
        else:
            with recorder:
                out = model(x)
                if when == "inside the with":
                    del out
                    living = still_held(found)
            if when == "after the with":
                del out
                living = still_held(found)
        off()
        trial.true(
            not living,
            f"{when.capitalize()} the memory of {len(living)} results of modules is still held, though the model's output "
            "is gone.",
            expected="copies in the recorder, and nothing else",
            got="alive: " + ", ".join(map(repr, living)),
            observed=living if when == "after the with" else (when, living),
        )


def still_held(found: dict[str, Any]) -> list[str]:
    """The modules whose results' memory is in use."""
    if not all(memory.expired() for memory in found.values()):
        gc.collect(1)  # what only a cycle holds
    return sorted(name for name, memory in found.items() if not memory.expired())


@activation_recorder.property(
    "after the with no hook of the recorder is left, and all others are",
    asks="After the `with` the model is as before: no hook of the recorder is left, all others are, nothing else has changed.",
)
def no_hooks(answer: Any, trial: Trial) -> None:
    model, x = setting(trial)
    model.head.register_forward_hook(lambda *_: None)
    model.stem.register_forward_pre_hook(lambda *_: None)
    model.twice.forward = model.twice.forward  # an instance's own
    model(x).sum().backward()
    before, others = hooks_on(model), replaced_on(model)
    trial.given(
        NET
        + "; head and stem have a hook of the user, twice a forward of its own, the parameters have gradients"
    )
    with entered(answer(model), trial):
        model(x)
    _require_as_before(trial, model, before, others)
    trial.given(NET + "; inside the with, the user registers a hook on each module")
    with entered(answer(model), trial):
        for module in model.modules():
            module.register_forward_hook(user_hook)
        model(x)
    want = {
        name: sum(value is user_hook for _, _, value in hooks if not isinstance(value, str))
        for name, hooks in hooks_on(model).items()
        if name != "all modules"
    }
    trial.true(
        all(count == 1 for count in want.values()),
        "Hooks that the user registered inside the with are gone after it.",
        expected="no hook removed but the recorder's own",
        got=f"gone from {', '.join(name for name, count in want.items() if not count)}",
        observed=("gone, registered inside", sorted(name for name, count in want.items() if not count)),
    )
    for module in model.modules():
        for id, hook in list(module._forward_hooks.items()):
            if hook is user_hook:
                del module._forward_hooks[id]
    _require_as_before(trial, model, before, others)


def user_hook(module: nn.Module, args: Any, output: Any) -> None:
    """Registered by the user inside a with."""


@activation_recorder.property(
    "after an error in forward no hook is left either, and the error comes out",
    asks="The same after an error, which comes out; what was recorded before it is kept.",
)
def after_an_error(answer: Any, trial: Trial) -> None:
    for error in (Boom, KeyboardInterrupt):
        model, x, recorder = made(answer, trial)
        want = {name: items for name, items in recorded(model, x).items() if name not in ("", "head")}
        model.raises = error
        before, others = hooks_on(model), replaced_on(model)
        trial.given(
            f"{NET}; its forward raises {'an error' if error is Boom else error.__name__} before head is called"
        )
        came_out = False
        try:
            with recorder:
                model(x)
        except error:
            came_out = True
        trial.true(
            came_out,
            "The error of forward was swallowed: the code after the with goes on as if nothing had happened.",
            expected="the error comes out of the with block",
            got="no error",
            observed=("swallowed", error.__name__),
        )
        _require_as_before(
            trial, model, before, others, "after an error" if error is Boom else error.__name__
        )
        counts, need = (
            {name: len(items) for name, items in part.items()} for part in (kept(recorder, trial), want)
        )
        trial.true(
            counts == need,
            "What was recorded before the error is not what the modules had returned.",
            expected=need,
            got=counts,
            observed=("records", sorted(counts.items())),
        )


def _require_as_before(
    trial: Trial, model: nn.Module, before: dict[str, list], others: dict[str, dict[str, Any]], when: str = ""
) -> None:
    after = hooks_on(model)
    (more, less), kinds = changed(before, after), kinds_of(before, after)
    trial.true(
        not more,
        f"Hooks, or their ids, are left on {len(more)} modules: {', '.join(more[:4])}{' and others' if len(more) > 4 else ''}.",
        expected="in the hook dicts what was there before the with",
        got=f"more in {', '.join(kinds)} of {', '.join(more)}",
        observed=("left", when, more),
    )
    trial.true(
        not less,
        f"Hooks of the user are gone from {', '.join(less)}.",
        expected="the hooks that were there before the with",
        got=f"fewer hooks on {', '.join(less)}",
        observed=("gone", when, less),
    )
    off = differing(others, replaced_on(model))
    trial.true(
        not off,
        "Something else than the hooks has changed: "
        + "; ".join(f"{', '.join(keys)} of {name}" for name, keys in list(off.items())[:3])
        + (" and so on." if len(off) > 3 else "."),
        expected="each attribute the object that it was before the with",
        got="; ".join(f"{', '.join(keys)} of {name}" for name, keys in list(off.items())[:6]),
        observed=(
            "changed",
            when,
            len(off),
            "forward"
            if any("forward" in keys for keys in off.values())
            else "gradients"
            if "the parameters" in off
            else "else",
        ),
    )
