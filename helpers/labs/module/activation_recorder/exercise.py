"""Exercise 05.activation_recorder: look into a model while it runs, and leave no trace."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import Tensor, nn

from helpers.check.compare import shown
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.module.activation_recorder.inputs import Net, recorded, setting, switches
from helpers.labs.module.shared.models import Scale

activation_recorder = Exercise(
    "05.activation_recorder",
    "Look inside, leave no trace",
    objective="Record what every module of a model returns, with hooks that are gone afterwards, and keep neither its "
    "memory nor its graph alive.",
    minutes=25,
    difficulty="medium",
    version=2,
    kind="class",
    names=("ActivationRecorder",),
    hints=[
        "A forward hook is called with (module, args, output), and what it returns replaces the output unless it is "
        "None. Which names does model.named_modules() give, and how does a hook know under which one it runs?",
        "output.detach() shares its memory with the output, and the next layer may write into it. A clone does not. "
        "Both together keep neither memory nor graph.",
        "register_forward_hook returns a handle; keep them all, and remove each in __exit__, which is called after an "
        "error, too. If __exit__ returns something true, the error is swallowed.",
        "In __enter__: RuntimeError if there are handles; for each `name, module` of named_modules() a hook made by a method "
        "`self.hook(name)`, so that each has a name of its own; `return self`. The hook: `if isinstance(output, Tensor): "
        "self.activations.setdefault(name, []).append(output.detach().clone())`.",
    ],
)

NET = "a model with stem.0 -> ReLU(inplace=True) -> stem.2.0, `twice`, which it calls two times, an empty Sequential, and head"


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
    """A model, an input and a new recorder; a different recorder has been used before."""
    layer, x = setting(trial, Scale)
    used = entered(answer(layer), trial)
    with used:
        layer(x)
    model, x = setting(trial, kind)
    recorder = entered(answer(model), trial)
    found = getattr(recorder, "activations", None) or {}
    trial.true(
        not (isinstance(found, dict) and any(len(items) for items in found.values())),
        "ActivationRecorder(model) holds records before it is used: those of a different recorder.",
        expected="a dict of its own for each recorder",
        got=sorted(map(str, found)),
        observed="not new",
    )
    return model, x, recorder


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
        kinds = sorted({type(item).__name__ for item in items}) if isinstance(items, (list, tuple)) else None
        is_list = isinstance(items, list) and all(isinstance(item, Tensor) for item in items)
        trial.true(
            isinstance(name, str) and is_list,
            f"activations[{name!r}] is no list of tensors.",
            expected="a list with one tensor for each call of the module",
            got=f"{type(items).__name__} of {kinds}" if kinds else type(items).__name__,
            observed=("no list", type(items).__name__ if kinds is None else "list", kinds),
        )
    return {name: items for name, items in found.items() if items}


def row(value: Tensor) -> str:
    """A tensor in a report: its dtype and shape, and the numbers of its first row."""
    value = value.detach()
    return (
        f"{shown(value)}, first row {shown(value[0])}" if value.ndim > 1 and len(value) > 1 else shown(value)
    )


def heads(recorder: Any, trial: Trial) -> list[Tensor]:
    return kept(recorder, trial).get("head", [])


@activation_recorder.property(
    "a new recorder holds no records",
    asks="Several recorders on one model do not disturb each other, whichever ends first.",
)
def new(answer: Any, trial: Trial) -> None:
    trial.given("two recorders for two models; the first has recorded a call")
    made(answer, trial)


@activation_recorder.property(
    "`with ActivationRecorder(model) as recorder` gives the recorder",
    asks=(
        "with ActivationRecorder(model) as recorder: model(x)",
        "`with ActivationRecorder(model) as recorder` gives the recorder itself.",
    ),
)
def gives_itself(answer: Any, trial: Trial) -> None:
    _, _, recorder = made(answer, trial)
    trial.given("with ActivationRecorder(model) as recorder")
    with recorder as got:
        trial.true(
            got is recorder,
            "__enter__ does not return the recorder.",
            expected="self",
            got=type(got).__name__,
            observed=type(got).__name__,
        )


@activation_recorder.property(
    "every module is recorded under its name in named_modules()",
    asks=(
        "Records what the modules of a model return, inside a with.",
        "`activations` is a dict from names to lists of tensors, to be read inside the `with` and after it.",
        'The names are those of `model.named_modules()`: every module, not only the leaves, the model itself under "".',
    ),
)
def names(answer: Any, trial: Trial) -> None:
    for kind, what in ((Net, NET), (Scale, "a model that is one layer, without children")):
        model, x, recorder = made(answer, trial, kind)
        want = list(recorded(model, x))
        trial.given(f"{what}; one call of it in the with")
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
            observed=(missing, len(extra)),  # what a wrong name looks like tells nothing
        )


@activation_recorder.property(
    "only what runs inside the with is recorded, and it can be read afterwards",
    asks=(
        "Calls outside of the `with` are not recorded.",
        "`activations` is a dict from names to lists of tensors, to be read inside the `with` and after it.",
    ),
)
def only_inside(answer: Any, trial: Trial) -> None:
    model, x, recorder = made(answer, trial)
    counts = []
    trial.given("the model is called once before the with, once inside, once after it")
    for _ in range(2):
        with contextlib.nullcontext() if not counts else recorder:
            model(x)
        is_there = counts or hasattr(recorder, "activations")  # before the first with it may be missing
        counts.append(len(heads(recorder, trial)) if is_there else 0)
    with torch.no_grad():
        model(x)
    counts.append(len(heads(recorder, trial)))
    trial.true(
        counts == [0, 1, 1],
        f"After these three calls activations['head'] has {counts[0]}, {counts[1]} and {counts[2]} entries.",
        expected="0, 1, 1",
        got=", ".join(map(str, counts)),
        observed=counts,
    )


@activation_recorder.property(
    "one entry for each call",
    asks=(
        "Each call of a module adds one tensor to its list, in the order in which the calls end.",
        'recorder.activations["encoder.0"]  # a list, one tensor for each call of that module',
    ),
)
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
    model, x, recorder = made(answer, trial)
    trial.given(f"{NET}; in the with model.head and model.stem are called, and not the model itself")
    with recorder:
        model.head(x)
        model.stem(x.clone())
        found = {name: len(items) for name, items in kept(recorder, trial).items()}
    want = {name: 1 for name in ("head", "stem", "stem.0", "stem.1", "stem.2", "stem.2.0")}
    trial.true(
        found == want,
        "A part of the model was called by itself, and its calls are not those that were recorded.",
        expected=want,
        got=found,
        observed=("a part", sorted(found.items())),
    )


SAME = "The model computes as without a recorder: the same outputs and gradients, in the same modes, once a call."


@activation_recorder.property("no switch is turned: gradients, modes, what is frozen", asks=SAME)
def same_switches(answer: Any, trial: Trial) -> None:
    model, x, recorder = made(answer, trial)
    model.head.weight.requires_grad_(False)
    before = switches(model)
    trial.given(NET + "; stem.2 is in eval mode, head.weight is frozen, everything else trains")
    with recorder:
        model(x)
    moments = {f"run {at} of forward": seen for at, seen in enumerate(model.runs, 1)}
    for moment, seen in (moments | {"after the with": switches(model)}).items():
        torch.set_grad_enabled(True)
        off = sorted(what for what in before if before[what] != seen[what])
        trial.true(
            not off,
            f"In {moment}, {' and '.join(off)} is not as before."
            if "run" in moment
            else f"After the with, {' and '.join(off)} is not as before.",
            expected="; ".join(f"{what}: {before[what]}" for what in off),
            got="; ".join(f"{what}: {seen[what]}" for what in off),
            observed=(moment, off),
        )
    trial.true(
        len(model.runs) == 1,
        f"The model was called once, and its forward ran {len(model.runs)} times.",
        expected="1",
        observed=("runs", len(model.runs)),
    )


@activation_recorder.property(
    "the model computes the same, with the same gradients, while it is recorded", asks=SAME
)
def same_output(answer: Any, trial: Trial) -> None:
    model, x, recorder = made(answer, trial)
    x.requires_grad_()
    given: list[Any] = []
    model.head.register_forward_hook(lambda module, args, out: given.append(out))
    weights = torch.randn(x.shape, generator=trial.generator, dtype=x.dtype)
    results = []
    trial.given(NET + "; output and gradients, without and with the recorder")
    for context in (contextlib.nullcontext(), recorder):
        with context:
            out = model(x)
        is_the_same = out is given[-1]
        trial.true(
            out.requires_grad,
            "The model's output does not require grad while it is recorded: it cannot be trained meanwhile.",
            expected="the output of the model, with its graph",
            got="a tensor that is put in its place"
            if not is_the_same
            else "the output, cut off from its graph",
            observed=("no grad", is_the_same),
        )
        (out * weights).sum().backward()
        results.append((out.detach(), [param.grad for param in (x, *model.parameters())]))
        model.zero_grad()
        x.grad = None
    trial.true(
        torch.equal(results[0][0], results[1][0]),
        "The model's output is a different one while it is recorded.",
        expected=row(results[0][0]),
        got=row(results[1][0]),
        observed="output",
    )
    same = [
        have is not None and torch.equal(have, need)
        for need, have in zip(results[0][1], results[1][1], strict=True)
    ]
    names = ["x", *(name for name, _ in model.named_parameters())]
    off = [name for name, ok in zip(names, same, strict=True) if not ok]
    trial.true(
        not off,
        f"While the model is recorded, the gradients of {', '.join(off)} are different ones.",
        expected="a recorder that only looks: what a hook returns replaces the output",
        got=next(
            (
                "None" if have is None else have
                for have, ok in zip(results[1][1], same, strict=True)
                if not ok
            ),
            None,
        ),
        observed=("gradients", off),
    )
    trial.true(
        is_the_same,
        "The caller gets an object that head did not return.",
        expected="the very tensor that forward returned",
        observed="object",
    )
