"""Exercise 04.ema_update: a model that follows another one slowly."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor
from torch.optim import swa_utils

from helpers.check.calls import calls_to
from helpers.check.compare import TOLERANCE, shown
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.optim.ema_update.inputs import Model, tensors

ema_update = Exercise(
    "04.ema_update",
    "A model that follows slowly",
    objective="Keep an exponential moving average of a whole model: in place, without a graph, buffers included.",
    minutes=20,
    difficulty="medium",
    hints=[
        "What is in a module besides its trainable parameters? List it for a BatchNorm layer and for a frozen layer.",
        "Go through parameters() and buffers() of both models side by side. Averages make sense for numbers "
        "with a point; a counter is copied.",
        "mine.lerp_(theirs, 1 - decay) moves a tensor where it lies. Under torch.no_grad() no graph is recorded, and copy_ copies without tying the two together.",
    ],
)

TORCHS = [
    swa_utils.AveragedModel,
    swa_utils.get_ema_multi_avg_fn,
    swa_utils.get_ema_avg_fn,
    swa_utils.get_ema_multi_avg_fn(
        0.5
    ),  # one code for all decays, so a function that was made earlier is seen, too
    swa_utils.get_ema_avg_fn(0.5),
]


def two_models(trial: Trial) -> tuple[Model, Model]:
    """The EMA, which needs no gradients, and the model, which has some."""
    ema, model = Model(trial.generator), Model(trial.generator)
    ema.mask.copy_(~model.mask)
    for param in model.parameters():
        if param.requires_grad:
            param.grad = torch.randn(param.shape, generator=trial.generator, dtype=param.dtype)
    return ema.requires_grad_(False), model


def some_decay(trial: Trial) -> float:
    return trial.random.randrange(70, 95) / 100


def how_moved(now: Tensor, before: Tensor, theirs: Tensor, decay: float) -> Any:
    """In words, what an update did to a tensor: "moved" is right for numbers with a point, "copied" for others."""
    near = TOLERANCE[now.dtype][0] if now.is_floating_point() else 1e-5
    now, wide, goal = now.detach().double(), before.detach().double(), theirs.detach().double()
    words = {
        "moved": decay * wide + (1 - decay) * goal,
        "copied": goal,
        "kept": wide,
        "the other way round": (1 - decay) * wide + decay * goal,
        "moved twice": decay**2 * wide + (1 - decay**2) * goal,
        "moved, and cut to an integer": (decay * wide + (1 - decay) * goal).trunc(),
    }
    for word, value in words.items():
        if now.shape == value.shape and torch.allclose(now, value, rtol=near, atol=near):
            return word
    return "other", [round(number, 6) for number in now.flatten().tolist()]


def moved(before: Tensor, theirs: Tensor, decay: float) -> Tensor:
    """Where a tensor of the EMA should be after an update."""
    if not before.is_floating_point():
        return theirs.detach()
    return decay * before.detach() + (1 - decay) * theirs.detach()


def updated(answer: Any, trial: Trial, names: tuple[str, ...], right: str, decay: float) -> None:
    """Wrong unless the tensors of these names were moved as is right."""
    ema, model = two_models(trial)
    before, theirs = copy.deepcopy(dict(tensors(ema))), dict(tensors(model))
    was = copy.deepcopy(theirs)
    got = trial.call(answer, ema, model, decay)
    trial.true(
        got is None or got is ema,
        f"ema_update gave an object of type {type(got).__name__}; it works in place and returns None.",
        observed=("kind", type(got).__name__),
    )
    now = dict(tensors(ema))
    found = [(name, how_moved(now[name], before[name], theirs[name], decay)) for name in names]
    off = [
        (name, word if isinstance(word, str) else "other numbers") for name, word in found if word != right
    ]
    trial.true(
        not off,
        "After the update: " + "; ".join(f"{name} {word}" for name, word in off) + ".",
        expected=f"{', '.join(names)}: "
        + ("decay * ema + (1 - decay) * model" if right == "moved" else "the model's, copied"),
        got=now[off[0][0]] if off else None,
        observed=found
        if all(torch.equal(was[name], theirs[name]) for name in was)
        else [*found, "the model moved"],
    )


@ema_update.property(
    "a trainable parameter moves by 1 - decay of the way",
    asks="Moves each number of `ema` towards `model`, in place: ema = decay * ema + (1 - decay) * model.",
)
def _(answer: Any, trial: Trial) -> None:
    decay = some_decay(trial)
    trial.given(f"two modules with other numbers, decay = {decay}")
    updated(answer, trial, ("inside.bias", "norm.weight"), "moved", decay)


@ema_update.property(
    "so does a frozen one",
    asks="Every parameter moves, frozen or not, and every floating-point buffer, also one that `state_dict` leaves out.",
)
def _(answer: Any, trial: Trial) -> None:
    decay = some_decay(trial)
    trial.given(f"scale is frozen; decay = {decay}")
    updated(answer, trial, ("scale",), "moved", decay)


@ema_update.property(
    "a buffer of numbers with a point moves as well",
    asks="Every parameter moves, frozen or not, and every floating-point buffer, also one that `state_dict` leaves out.",
)
def _(answer: Any, trial: Trial) -> None:
    decay = some_decay(trial)
    trial.given(f"BatchNorm statistics, and a buffer table; decay = {decay}")
    updated(answer, trial, ("norm.running_mean", "norm.running_var", "table"), "moved", decay)


@ema_update.property(
    "so do tensors of every floating dtype, also one that no state_dict holds",
    asks="Every parameter moves, frozen or not, and every floating-point buffer, also one that `state_dict` leaves out.",
)
def _(answer: Any, trial: Trial) -> None:
    decay = some_decay(trial)
    trial.given(
        f"a float64 parameter, buffers of float16 and bfloat16, and one that is not persistent; decay = {decay}"
    )
    updated(answer, trial, ("exact", "short", "coarse", "cache"), "moved", decay)


@ema_update.property(
    "a parameter that stands under two names moves once",
    asks="A tensor that stands there under two names (a tied weight) moves once.",
)
def _(answer: Any, trial: Trial) -> None:
    decay = some_decay(trial)
    trial.given(f"again.weight is inside.weight; decay = {decay}")
    updated(answer, trial, ("inside.weight",), "moved", decay)


@ema_update.property(
    "integers and bools are copied",
    asks="Buffers of integers or bools (counters, masks) are copied, not averaged.",
)
def _(answer: Any, trial: Trial) -> None:
    decay = some_decay(trial)
    trial.given(f"num_batches_tracked, position (int64) and mask (bool); decay = {decay}")
    updated(answer, trial, ("norm.num_batches_tracked", "position", "mask"), "copied", decay)


@ema_update.property(
    "each update does the same to every tensor, with any decay from 0 to 1",
    asks=("ema = decay * ema + (1 - decay) * model", "decay: from 0 to 1."),
)
def _(answer: Any, trial: Trial) -> None:
    ema, model = two_models(trial)
    for count, decay in enumerate((some_decay(trial), 0.5, 1.0, 0.0, 0.9), 1):
        trial.given(f"update {count} of one EMA, decay = {decay}")
        before, theirs = copy.deepcopy(dict(tensors(ema))), dict(tensors(model.filled(trial.generator)))
        trial.call(answer, ema, model, decay)
        for name, now in tensors(ema):
            found = how_moved(now, before[name], theirs[name], decay)
            want = moved(before[name], theirs[name], decay)
            trial.true(
                found == how_moved(want, before[name], theirs[name], decay),
                f"At update {count}, {name} was not "
                + ("moved by 1 - decay of the way." if now.is_floating_point() else "copied."),
                expected=shown(want),
                got=now,
                observed=(count, name, found),
            )


@ema_update.property(
    "the EMA's own tensors hold the result, where they lay before",
    asks="The same tensors with the same memory hold the new values; none is shared with `model`.",
)
def _(answer: Any, trial: Trial) -> None:
    ema, model = two_models(trial)
    trial.given("an EMA that others hold references to")
    before = dict(tensors(ema))
    lay = {
        name: tensor.detach() for name, tensor in before.items()
    }  # kept: memory that is freed may be given out again
    flags = [module.training for module in ema.modules()]
    trial.call(answer, ema, model, 0.9)
    now = dict(tensors(ema))
    objects = sorted(name for name in before if now.get(name) is not before[name])
    moved = sorted(name for name in before if name in now and now[name].data_ptr() != lay[name].data_ptr())
    trial.true(
        not objects and not moved,
        f"The update put other {'tensors' if objects else 'memory'} in place of {', '.join((objects or moved)[:3])}: who "
        "holds the EMA's tensors (a view, a captured graph) sees no change.",
        expected="the same tensors with the same memory",
        observed=("tensors" if objects else "memory", any("weight" in name for name in objects or moved)),
    )
    trial.true([module.training for module in ema.modules()] == flags, "The mode of the EMA was changed.")


@ema_update.property(
    "no graph is recorded, whatever the two require",
    asks="No graph is recorded, whatever `requires_grad` of the two says.",
)
def _(answer: Any, trial: Trial) -> None:
    for needs in (False, True):
        ema, model = two_models(trial)
        ema.requires_grad_(needs)
        trial.given(f"an EMA with requires_grad={needs}, a model with requires_grad=True")
        trial.call(answer, ema, model, 0.9)
        off = [name for name, tensor in tensors(ema) if tensor.grad_fn is not None]
        trial.true(
            not off,
            f"{off[0] if off else ''} of the EMA has a grad_fn: each update makes the graph longer, and all models of the "
            "past are kept in it.",
            expected="no grad_fn",
            observed="graph",
        )
        changed = [name for name, param in ema.named_parameters() if param.requires_grad != needs]
        trial.true(
            not changed, "requires_grad of the EMA was changed.", got=changed, observed="requires_grad"
        )


@ema_update.property(
    "the model is left as it is, and shares nothing with the EMA",
    asks=(
        "The same tensors with the same memory hold the new values; none is shared with `model`.",
        "`model` is left as it is.",
    ),
)
def _(answer: Any, trial: Trial) -> None:
    ema, model = two_models(trial)
    trial.given("one update, and then the model trains on in place")
    before = copy.deepcopy(dict(tensors(model)))
    needs = [param.requires_grad for param in model.parameters()]
    grads = [None if param.grad is None else param.grad.clone() for param in model.parameters()]
    trial.call(answer, ema, model, 0.9)
    same = all(torch.equal(tensor, before[name]) for name, tensor in tensors(model))
    trial.true(
        same and needs == [param.requires_grad for param in model.parameters()],
        "The update changed the model.",
        expected="a model that knows nothing of its EMA",
        observed="model changed",
    )
    for param, grad in zip(model.parameters(), grads, strict=True):
        kept = (
            param.grad is None if grad is None else param.grad is not None and torch.equal(param.grad, grad)
        )
        trial.true(kept, "The update changed .grad of the model.", observed="grad")
    held = copy.deepcopy(dict(tensors(ema)))
    model.filled(trial.generator)
    tied = [name for name, tensor in tensors(ema) if not torch.equal(tensor, held[name])]
    trial.true(
        not tied,
        f"When the model trains on, {', '.join(tied[:3])} of the EMA moves with it: both hold one tensor.",
        expected="copies",
        observed=("shared", sorted(tied)),
    )


@ema_update.property(
    "the averaging is done here, and not by torch.optim.swa_utils",
    asks="Nothing of torch.optim.swa_utils is called.",
)
def _(answer: Any, trial: Trial) -> None:
    ema, model = two_models(trial)
    trial.given("any two modules")
    with calls_to(*TORCHS) as seen:
        trial.call(answer, ema, model, 0.9)
    trial.true(
        not seen,
        "The answer uses torch.optim.swa_utils, which the exercise builds again.",
        expected="arithmetic on the tensors",
        got=sorted({name.partition(".")[0] for name in seen}),
        observed="torch's own",
    )
