"""Exercise 13.generate: the loop that makes one row a step, and shows each row to the model once."""

from __future__ import annotations

from typing import Any

import torch

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.attention.generate.inputs import Interrupted, Model, model_of, prompt_of, right

generate = Exercise(
    "13.generate",
    "One row a step",
    objective="Write the loop that generates with a cache: each row goes through the model once.",
    minutes=15,
    difficulty="medium",
    hints=[
        "The model remembers in its caches what it has seen. So the first call gets the prompt, and each later one only the "
        "row that the call before it made. Of what a call returns, which row is new?",
        "The last row that is made is never shown. So n calls make n rows, and T + n - 1 rows are in the caches at the end.",
        "`model.eval()` turns off every module inside, and one flag cannot bring a mix back: note for each of "
        "`model.modules()` how it was, and put that back in a `finally`.",
        "`rows = [prompt.detach()]`; under `torch.no_grad()`, n times: `rows.append(model(rows[-1], caches)[:, -1:])`; "
        "`torch.cat(rows, dim=1)` is new memory, with n = 0, too. Around it: `training = [m for m in model.modules() if "
        "m.training]`, `model.eval()`, `try`, and `finally: for m in training: m.training = True`.",
    ],
)

RETURNS = "A new tensor of shape (B, T + n, F), dtype of prompt, that does not require grad: the prompt, then what was made."
ONCE = "The model sees each row once: first the whole prompt, then each row that was made, alone."
N_CALLS = "The last one it need not see, so there are n calls; with n = 0 there is none."
CACHES = "The caches are made anew in each call of generate, once, with room for T + n - 1 rows."
RUNS = "While it runs, the model is in eval mode and no graph is made."
AFTERWARDS = (
    "Afterwards each module of the model is in the mode in which it was, and gradients are on or off as they were, also if "
    "the model or its `caches` raises."
)
STAY = "The arguments stay as they were."


@generate.property(
    "the prompt, then the rows that the model makes of all before",
    asks=(
        "The prompt and n rows behind it, each made by the model from all rows before it.",
        RETURNS,
    ),
)
def continues(answer: Any, trial: Trial) -> None:
    for length, n in ((4, 3), (2, 1)):
        model, prompt = model_of(trial, frozen=True), prompt_of(trial, 2, length, 3)
        trial.given(f"a model in eval mode without gradients, a prompt of shape (2, {length}, 3), n = {n}")
        right(trial, trial.call(answer, model, prompt, n), model, prompt, n)


@generate.property("the model sees the prompt, then each new row alone", asks=ONCE)
def sees_each_once(answer: Any, trial: Trial) -> None:
    model, prompt = model_of(trial, frozen=True), prompt_of(trial, 2, 4, 3)
    trial.given("a model in eval mode, a prompt of shape (2, 4, 3), n = 5; what the model is given is noted")
    got = answer(model, prompt, 5)
    sizes = model.notes.sizes()
    trial.true(
        sizes[:5] == [4, 1, 1, 1, 1],
        f"The model was given {_listed(sizes)} rows, call by call. With caches it needs 4, then 1 each time.",
        expected="4, 1, 1, 1 and 1 rows",
        got=f"{_listed(sizes)} rows",
        observed=sizes,
    )
    shown = torch.cat([each.rows for each in model.notes.calls[:5]], dim=1)
    trial.equal(shown, got.detach()[:, :8], "The rows that the model was given", rtol=0, atol=0)


@generate.property("n calls of the model for n rows, none for n = 0", asks=N_CALLS)
def calls_it_n_times(answer: Any, trial: Trial) -> None:
    for n in (3, 1, 0):
        model, prompt = model_of(trial, frozen=True), prompt_of(trial, 2, 4, 3)
        trial.given(
            f"a model in eval mode, a prompt of shape (2, 4, 3), n = {n}; calls of the model are counted"
        )
        got = trial.call(answer, model, prompt, n)
        calls = len(model.notes.calls)
        trial.true(
            calls == n,
            f"For n = {n}, the model was {f'called {_times(calls)}' if calls else 'not called'}.",
            expected=_calls(n),
            got=_calls(calls),
            observed=(n, calls),
        )
        right(trial, got, model, prompt, n)


@generate.property(
    "caches with room for T + n - 1 rows, once, and anew in each call",
    asks=(CACHES, "With n = 0 there may be none."),
)
def makes_caches(answer: Any, trial: Trial) -> None:
    model = model_of(trial, frozen=True)
    for batch, length, n in ((2, 4, 5), (2, 4, 5), (2, 3, 1), (5, 4, 2)):
        before = len(model.notes.made)
        prompt = prompt_of(trial, batch, length, 3)
        trial.given(
            f"a model that has {f'generated {_times(before)}' if before else 'not generated'} before, a prompt of shape "
            f"({batch}, {length}, 3), n = {n}"
        )
        got = trial.call(answer, model, prompt, n)
        made = model.notes.made[before:]
        trial.true(
            len(made) == 1,
            f"model.caches was {f'called {_times(len(made))}' if made else 'not called'}.",
            expected=f"one call, model.caches({batch}, {length + n - 1})",
            got=_times(len(made)) if made else "no call",
            observed=("times", len(made), before),
        )
        trial.true(
            made == [(batch, length + n - 1)],
            f"model.caches was called with {made[0]}.",
            expected=f"({batch}, {length + n - 1}): the batch, and T + n - 1 rows",
            got=f"{made[0]}",
            observed=("made", list(made[0]), before),
        )
        right(trial, got, model, prompt, n)


@generate.property(
    "every module is in eval mode while the model runs", asks="While it runs, the model is in eval mode"
)
def runs_in_eval(answer: Any, trial: Trial) -> None:
    for part, words in (
        (None, "in training mode"),
        ("noise", "in eval mode, with one part in training mode"),
    ):
        model, prompt = model_of(trial).requires_grad_(False), prompt_of(trial, 2, 4, 3)
        if part:
            model.eval().get_submodule(part).train()
        trial.given(f"a model {words}, a prompt of shape (2, 4, 3), n = 3")
        got = answer(model, prompt, 3)
        _every_call(
            trial,
            [each.training for each in model.notes.calls],
            "found modules in training mode",
            "eval mode in all of them: `model.eval()`",
        )
        right(trial, got, model, prompt, 3)


@generate.property("no graph is made while the model runs", asks=(RUNS, AFTERWARDS))
def makes_no_graph(answer: Any, trial: Trial) -> None:
    model, prompt = model_of(trial), prompt_of(trial, 2, 4, 3)
    trial.given("a model whose weights require grad, a prompt of shape (2, 4, 3), n = 3")
    got = trial.call(answer, model, prompt, 3)
    _every_call(
        trial,
        [["a graph"] if each.graph else [] for each in model.notes.calls],
        "made a graph",
        "no graph: `torch.no_grad()` around all calls",
    )
    right(trial, got, model, prompt, 3)
    trial.given(
        "a model whose weights require grad, a prompt of shape (2, 4, 3), n = 3; the caller has gradients off"
    )
    with torch.no_grad():
        got = answer(model, prompt, 3)
        _gradients_are(trial, False, "the call")
    right(trial, got, model, prompt, 3)


def _gradients_are(trial: Trial, on: bool, behind: str) -> None:
    """Wrong unless gradients are on or off, as they were; the caller puts them back."""
    trial.true(
        torch.is_grad_enabled() == on,
        f"Gradients are {'off' if on else 'on'} after {behind}, and were {'on' if on else 'off'} before.",
        expected=f"gradients {'on' if on else 'off'}, as they were",
        got=f"gradients {'off' if on else 'on'}",
        observed=("gradients", on, behind),
    )


def _every_call(trial: Trial, found: list[list[str]], what: str, expected: str) -> None:
    """Wrong if a call of the model found anything. what: "made a graph", say."""
    bad = [place for place, each in enumerate(found) if each]
    first = found[bad[0]] if bad else []
    trial.true(
        not bad,
        f"Of {len(found)} calls of the model, {_listed([place + 1 for place in bad])} {what}.",
        expected=expected,
        got=", ".join(first),
        observed=(what, found),
    )


MIXES: dict[str, tuple[tuple[str, bool], ...]] = {
    "a model in training mode": (("", True),),
    "a model in eval mode": (("", False),),
    "a model in training mode, with one part in eval mode": (("", True), ("noise", False)),
    "a model in eval mode, with one part in training mode": (("", False), ("noise.1", True)),
    "a model in training mode as such, with all parts in eval mode": (
        ("", True),
        ("noise", False),
        ("other", False),
    ),
}


def _modes(model: Model) -> list[bool]:
    return [module.training for module in model.modules()]


def _mixed(model: Model, mix: tuple[tuple[str, bool], ...]) -> list[bool]:
    """Sets modes, and returns what they are."""
    for name, mode in mix:
        model.get_submodule(name).train(mode)
    return _modes(model)


def _same_modes(trial: Trial, model: Model, before: list[bool], case: str) -> None:
    after = _modes(model)
    names = [name or "the model itself" for name, _ in model.named_modules()]
    changed = [names[at] for at in range(len(names)) if after[at] != before[at]]
    trial.true(
        not changed,
        f"Afterwards the mode of {', '.join(changed)} is not what it was.",
        expected="each module in the mode in which it was",
        got=f"training: {sum(after)} of {len(after)} modules, before: {sum(before)}",
        observed=(case, after),
    )


@generate.property(
    "afterwards each module is in the mode in which it was",
    asks=(AFTERWARDS, "A module may stand in several places."),
)
def restores_modes(answer: Any, trial: Trial) -> None:
    for case, mix in MIXES.items():
        for n in (2, 0):
            model = model_of(trial)
            before = _mixed(model, mix)
            trial.given(f"{case}, a prompt of shape (2, 4, 3), n = {n}")
            answer(model, prompt_of(trial, 2, 4, 3), n)
            _same_modes(trial, model, before, f"{case}, {n}")
    for mode in (True, False):
        model = model_of(trial, shared=True)
        before = _mixed(model, (("", True), ("again", not mode), ("noise", mode)))
        case = f"noise in {_mode(mode)}, again in {_mode(not mode)}, and noise.0 stands in both, in {_mode(mode)}"
        trial.given(f"a model with a part in two places: {case}; a prompt of shape (2, 4, 3), n = 2")
        answer(model, prompt_of(trial, 2, 4, 3), 2)
        _same_modes(trial, model, before, case)


def _mode(training: bool) -> str:
    return f"{'training' if training else 'eval'} mode"


@generate.property("also when the model or its caches raise", asks=AFTERWARDS)
def restores_after_an_error(answer: Any, trial: Trial) -> None:
    errors: tuple[tuple[int, type[BaseException]], ...] = (
        (0, ArithmeticError),
        (2, ArithmeticError),
        (1, Interrupted),
        (-1, ArithmeticError),
    )
    for call, error in errors:
        for case, mix in MIXES.items():
            model = model_of(trial, raises_at=call, error=error)
            before = _mixed(model, mix)
            name = error.__name__ if issubclass(error, Exception) else "an error that is no Exception"
            where = f"call {call + 1} of it" if call >= 0 else "model.caches"
            gradients = case != "a model in eval mode"
            trial.given(
                f"{case}; {where} raises {name}; a prompt of shape (2, 4, 3), n = 4"
                + ("" if gradients else "; the caller has gradients off")
            )
            with torch.set_grad_enabled(gradients):
                try:
                    answer(model, prompt_of(trial, 2, 4, 3), 4)
                    raised = "nothing"
                except NotImplementedError:
                    raise
                except (Exception, Interrupted) as found:
                    raised = name if type(found) is error else type(found).__name__
                finally:
                    after = torch.is_grad_enabled()
            _same_modes(trial, model, before, f"{case}, call {call}")
            trial.true(
                raised == name,
                f"The model raised {name}, and {raised} comes out of generate.",
                expected="the error of the model",
                got=raised,
                observed=("comes out", name, raised),
            )
            with torch.set_grad_enabled(after):
                _gradients_are(trial, gradients, "the error")


@generate.property(
    "a new tensor that does not require grad, also with n = 0",
    asks=(RETURNS, STAY),
)
def returns_a_new_one(answer: Any, trial: Trial) -> None:
    for n in (3, 0):
        for requires_grad in (False, True):
            model, prompt = model_of(trial), prompt_of(trial, 2, 3, 4).transpose(1, 2).detach()
            prompt.requires_grad_(requires_grad)
            trial.given(
                f"a prompt of shape (2, 4, 3), not contiguous{', that requires grad' if requires_grad else ''}; n = {n}"
            )
            got = trial.call(answer, model, prompt, n)
            right(trial, got, model, prompt, n)
            trial.true(
                got.untyped_storage().data_ptr() != prompt.untyped_storage().data_ptr(),
                "The result lies in the memory of the prompt: who edits one edits the other.",
                expected="a new tensor",
                got="the prompt, or a view of it",
                observed=("same memory", n),
            )


@generate.property(
    "any dtype, a batch of one, a prompt of one row",
    asks=(RETURNS, "The prompt and n rows behind it, each made by the model from all rows before it."),
)
def any_shape(answer: Any, trial: Trial) -> None:
    for shape, n, dtype in (
        ((2, 3, 4), 2, torch.float64),
        ((1, 3, 2), 4, torch.float32),
        ((3, 1, 2), 3, torch.float32),
        ((1, 1, 1), 2, torch.float32),
        ((2, 2, 3), 2, torch.bfloat16),
    ):
        model = model_of(trial, shape[-1], dtype=dtype, frozen=True)
        prompt = prompt_of(trial, *shape, dtype=dtype)
        trial.given(f"a prompt of shape {shape} and a model of {dtype}, n = {n}")
        right(trial, trial.call(answer, model, prompt, n), model, prompt, n)


@generate.property("the model has what it had", asks=STAY)
def leaves_the_model(answer: Any, trial: Trial) -> None:
    model, prompt = model_of(trial), prompt_of(trial, 2, 4, 3)
    model.other.register_buffer("scale", torch.ones(2))
    state, had = {name: each.clone() for name, each in model.state_dict().items()}, _attributes(model)
    trial.given("a model whose weights require grad, a prompt of shape (2, 4, 3), n = 3")
    answer(model, prompt, 3)
    trial.true(
        model.weight.requires_grad,
        "The weights of the model do not require grad any more: the next training step would change nothing.",
        expected="requires_grad=True, as before",
        got="requires_grad=False",
        observed="requires_grad",
    )
    trial.true(
        model.weight.grad is None
        and all(torch.equal(each, state[name]) for name, each in model.state_dict().items() if name in state),
        "The weights or buffers of the model, or their gradients, have changed.",
        expected="the model as it was",
        observed="weights",
    )
    more = sorted(_attributes(model) ^ had)
    trial.true(
        not more,
        f"The model has a different set of attributes than before: {', '.join(more)}.",
        expected="the model as it was",
        got=", ".join(more),
        observed=("attributes", len(more)),
    )


def _attributes(model: Model) -> set[str]:
    """The names of all that the modules have."""
    return {
        f"{name}.{key}".lstrip(".")
        for name, module in model.named_modules()
        for key in (*vars(module), *module._parameters, *module._buffers, *module._modules)
    } | {
        f"{name} has a hook"
        for name, module in model.named_modules()
        if module._forward_hooks or module._forward_pre_hooks
    }


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _calls(number: int) -> str:
    return {0: "no call", 1: "one call"}.get(number, f"{number} calls")


def _listed(numbers: list[int]) -> str:
    *others, last = map(str, numbers or [0])
    return f"{', '.join(others)} and {last}" if others else last
