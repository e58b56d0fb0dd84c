"""Exercise 04.ema_update: a model that follows a different one slowly."""

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
from helpers.labs.optim.ema_update.inputs import Model, WithNone, tensors
from helpers.labs.optim.shared.torch_calls import Ops

ema_update = Exercise(
    "04.ema_update",
    "A model that follows slowly",
    objective="Keep an exponential moving average of a whole model: in place, without a graph, buffers included.",
    minutes=20,
    difficulty="medium",
    hints=[
        "What is in a module besides its trainable parameters? List it for a BatchNorm layer and for a frozen layer.",
        "Go through parameters() and buffers() of both models side by side. Averages make sense for "
        "floating-point numbers; a counter is copied.",
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


DIFFERENT = "different numbers"


def two_models(trial: Trial) -> tuple[Model, Model]:
    """The EMA, which needs no gradients, and the model, which has some."""
    ema, model = Model(trial.generator), Model(trial.generator)
    ema.mask.copy_(~model.mask)
    ema.position.copy_(model.position + torch.tensor([7, -7]))  # neither model has the larger ones
    ema.norm.num_batches_tracked.copy_(model.norm.num_batches_tracked + 13)
    for param in model.parameters():
        if param.requires_grad:
            param.grad = torch.randn(param.shape, generator=trial.generator, dtype=param.dtype)
    return ema.requires_grad_(False), model


def some_decay(trial: Trial) -> float:
    return trial.random.randrange(70, 95) / 100


def how_moved(now: Tensor, before: Tensor, theirs: Tensor, decay: float) -> Any:
    """In words, what an update did to a tensor: "moved" is right for floating-point numbers, "copied" for others."""
    dtype = now.dtype
    near = TOLERANCE[dtype][0] if dtype.is_floating_point else 1e-5
    now, wide, goal = now.detach().double(), before.detach().double(), theirs.detach().double()
    between = decay * wide + (1 - decay) * goal
    words = {
        "moved": between,
        "copied": goal,
        "kept": wide,
        "moved, with decay and 1 - decay swapped": (1 - decay) * wide + decay * goal,
        "moved twice": decay**2 * wide + (1 - decay**2) * goal,
        "not multiplied by decay before the model's share is added": wide + (1 - decay) * goal,
        "given all of the model's numbers, without 1 - decay": decay * wide + goal,
        "moved, and cut to an integer": between.trunc(),
        "moved, and rounded to an integer": between.round(),
        "the larger of the two": torch.maximum(wide, goal),
        "one more than before": wide + 1,
    }
    if decay == 1 and not before.is_floating_point():
        del words["moved"]  # kept
    for word, value in words.items():
        if now.shape == value.shape and torch.allclose(now, value, rtol=near, atol=near):
            return word
    if dtype is torch.float64 and torch.allclose(now, between, rtol=1e-6, atol=1e-6):
        return "moved, and only as exact as float32"
    share = (now - goal) / (wide - goal)
    if (
        dtype in (torch.float32, torch.float64)
        and len(share.flatten()) > 1
        and torch.allclose(share, share.mean(), rtol=0, atol=1000 * near)
    ):
        return "moved, with a different decay"
    return DIFFERENT, [round(number, 6) for number in now.flatten().tolist()]


def _after(off: list[tuple[str, str]]) -> str:
    """What is wrong after the update, as a sentence."""
    said = [f"{name} {'has' if word == DIFFERENT else 'is'} {word}" for name, word in off]
    return f"After the update: {'; '.join(said[:8])}{', and more' if len(said) > 8 else ''}."


def wanted(tensor: Tensor) -> str:
    """What should become of a tensor."""
    return "moved" if tensor.is_floating_point() else "copied"


def _few(tensor: Tensor) -> str:
    """The first numbers of a tensor, and how exact it is."""
    if tensor.numel() > 6:
        return f"{shown(tensor.detach().flatten()[:4])}, and more"
    if tensor.dtype is torch.float64:
        return f"{[round(number, 10) for number in tensor.flatten().tolist()]}, float64"
    return shown(tensor)


def moved(before: Tensor, theirs: Tensor, decay: float) -> Tensor:
    """Where a tensor of the EMA should be after an update."""
    if not before.is_floating_point():
        return theirs.detach()
    return decay * before.detach() + (1 - decay) * theirs.detach()


def updated(
    answer: Any,
    trial: Trial,
    names: tuple[str, ...],
    decay: float,
    shared_buffer: bool = False,
    words_only: bool = False,
) -> None:
    """Wrong unless the tensors of these names were moved, or copied, as is right.

    words_only: what became of those that are wrong is observed, and not which they are.
    """
    ema, model = two_models(trial)
    if shared_buffer:
        for each in (ema, model):
            each.again.register_buffer("table", each.table)
    before, theirs = copy.deepcopy(dict(tensors(ema))), dict(tensors(model))
    was = copy.deepcopy(theirs)
    ran: list[str] = []

    def watched(*given: Any) -> Any:
        with Ops() as ops:
            result = answer(*given)
        ran.extend(ops.names)
        return result

    got = trial.call(watched, ema, model, decay)
    trial.true(
        got is None or got is ema,
        f"ema_update gave an object of type {type(got).__name__}; it works in place and returns None.",
        observed=("kind", type(got).__name__),
    )
    now = dict(tensors(ema))
    found = [(name, how_moved(now[name], before[name], was[name], decay)) for name in names]
    off = [
        (name, word if isinstance(word, str) else word[0])
        for name, word in found
        if word != wanted(now[name])
    ]
    moving = [name for name in names if wanted(now[name]) == "moved"]
    still = [name for name in names if wanted(now[name]) != "moved"]
    trial.true(
        not off,
        _after(off),
        expected="; ".join(
            [
                *([f"{', '.join(moving)}: decay * ema + (1 - decay) * model"] if moving else []),
                *([f"{', '.join(still)}: the model's, copied"] if still else []),
                *(f"{name} then is {_few(moved(before[name], was[name], decay))}" for name, _ in off[:1]),
            ]
        ),
        got=f"{off[0][0]}: {_few(now[off[0][0]])}" if off else None,
        observed=sorted({word for _, word in off})
        if words_only
        else [
            *found,
            *(["the model moved"] if any(not torch.equal(was[name], theirs[name]) for name in was) else []),
            *(["no operation ran"] if not ran else []),
            *(
                ["gain is not moved in this call"]
                if how_moved(now["gain"], before["gain"], was["gain"], decay) != "moved"
                else []
            ),
        ],
    )


@ema_update.property(
    "a trainable parameter moves by 1 - decay of the way",
    asks="Moves each number of `ema` towards `model`, in place: ema = decay * ema + (1 - decay) * model.",
)
def _(answer: Any, trial: Trial) -> None:
    decay = some_decay(trial)
    trial.given(f"two modules with different numbers; no parameter of ema requires grad; decay = {decay}")
    updated(answer, trial, ("inside.bias", "norm.weight", "gain"), decay)


@ema_update.property(
    "so does a frozen one",
    asks="Every parameter moves, frozen or not, and every floating-point buffer, also one that `state_dict` leaves out.",
)
def _(answer: Any, trial: Trial) -> None:
    decay = some_decay(trial)
    trial.given(f"scale is frozen; decay = {decay}")
    updated(answer, trial, ("scale",), decay)


@ema_update.property(
    "a floating-point buffer moves as well",
    asks="Every parameter moves, frozen or not, and every floating-point buffer, also one that `state_dict` leaves out.",
)
def _(answer: Any, trial: Trial) -> None:
    decay = some_decay(trial)
    trial.given(f"BatchNorm statistics, and a buffer table; decay = {decay}")
    updated(answer, trial, ("norm.running_mean", "norm.running_var", "table"), decay)


@ema_update.property(
    "so do tensors of every floating dtype",
    asks="Every parameter moves, frozen or not, and every floating-point buffer, also one that `state_dict` leaves out.",
)
def _(answer: Any, trial: Trial) -> None:
    decay = some_decay(trial)
    trial.given(f"parameters and buffers of float64, float16 and bfloat16; decay = {decay}")
    names = ("exact", "small", "brain", "fine", "short", "coarse")
    updated(answer, trial, names, decay, words_only=True)


@ema_update.property(
    "so does a buffer that no state_dict holds",
    asks="Every parameter moves, frozen or not, and every floating-point buffer, also one that `state_dict` leaves out.",
)
def _(answer: Any, trial: Trial) -> None:
    decay = some_decay(trial)
    trial.given(f"the buffer cache, with persistent=False; decay = {decay}")
    updated(answer, trial, ("cache",), decay)


@ema_update.property(
    "so do a parameter and a buffer without dimensions",
    asks="Every parameter moves, frozen or not, and every floating-point buffer, also one that `state_dict` leaves out.",
)
def _(answer: Any, trial: Trial) -> None:
    decay = some_decay(trial)
    trial.given(
        f"a parameter factor and a buffer temperature, each one float32 number, shape (); decay = {decay}"
    )
    updated(answer, trial, ("factor", "temperature"), decay)


@ema_update.property(
    "what stands in a module inside a module inside a module moves, too",
    asks=(
        "Every parameter moves, frozen or not, and every floating-point buffer, also one that `state_dict` leaves out.",
        "Buffers of integers or bools (counters, masks) are copied, not averaged.",
    ),
)
def _(answer: Any, trial: Trial) -> None:
    decay = some_decay(trial)
    names = ("outer.inner.inner.weight", "outer.inner.inner.level", "outer.inner.inner.seen")
    trial.given(
        f"outer.inner.inner holds a parameter weight, a float32 buffer level, an int64 buffer seen; decay = {decay}"
    )
    updated(answer, trial, names, decay)


@ema_update.property(
    "a parameter or a buffer that stands under two names moves once",
    asks="A tensor that stands there under two names (a tied weight) moves once.",
)
def _(answer: Any, trial: Trial) -> None:
    decay = some_decay(trial)
    trial.given(f"again.weight is inside.weight; decay = {decay}")
    updated(answer, trial, ("inside.weight",), decay)
    trial.given(f"the buffer again.table is table; decay = {decay}")
    updated(answer, trial, ("table",), decay, shared_buffer=True)


@ema_update.property(
    "integers and bools are copied",
    asks="Buffers of integers or bools (counters, masks) are copied, not averaged.",
)
def _(answer: Any, trial: Trial) -> None:
    decay = some_decay(trial)
    trial.given(f"num_batches_tracked, position (int64) and mask (bool); decay = {decay}")
    updated(answer, trial, ("norm.num_batches_tracked", "position", "mask"), decay)


@ema_update.property(
    "integers of every width are copied",
    asks="Buffers of integers or bools (counters, masks) are copied, not averaged.",
)
def _(answer: Any, trial: Trial) -> None:
    decay = some_decay(trial)
    trial.given(f"ids (int32) and bits (uint8); decay = {decay}")
    updated(answer, trial, ("ids", "bits"), decay)


@ema_update.property(
    "where a module holds None in place of a tensor, the others move all the same",
    asks=(
        "Every parameter moves, frozen or not, and every floating-point buffer, also one that `state_dict` leaves out.",
        "Buffers of integers or bools (counters, masks) are copied, not averaged.",
    ),
)
def _(answer: Any, trial: Trial) -> None:
    ema, model, decay = WithNone(trial.generator), WithNone(trial.generator), some_decay(trial)
    trial.given(
        "layers with None for a bias, a norm with affine=False, one without statistics, a buffer and a module that "
        f"are None; decay = {decay}"
    )
    before, theirs = copy.deepcopy(dict(tensors(ema))), copy.deepcopy(dict(tensors(model)))
    try:
        trial.call(answer, ema.requires_grad_(False), model, decay)
    except NotImplementedError:
        raise
    except Exception as error:
        trial.fail(
            f"The update raised {type(error).__name__}. This is the first model in which a module holds None in place "
            "of a tensor.",
            expected="the tensors that are there moved, and no error",
            got=f"{type(error).__name__}: {error}",
            observed="raised",
        )
    off = []
    for name, now in tensors(ema):
        found = how_moved(now, before[name], theirs[name], decay)
        if found != wanted(now):
            off.append((name, found if isinstance(found, str) else found[0]))
    trial.true(
        not off,
        _after(off),
        expected="parameters and floating-point buffers moved, integers copied",
        got=dict(tensors(ema))[off[0][0]] if off else None,
        observed=off,
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
    trial.call(answer, ema, model, 0.9)
    now, own = dict(tensors(ema)), {tensor.data_ptr() for _, tensor in tensors(model)}
    objects = sorted(name for name in before if now.get(name) is not before[name])
    memory = sorted(name for name in before if name in now and now[name].data_ptr() != lay[name].data_ptr())
    off = objects or memory
    kinds = sorted({_kind(name, ema) for name in off if name in now})
    kinds = ["parameter"] if "parameter" in kinds else kinds
    models = any(name in now and now[name].data_ptr() in own for name in off)
    trial.true(
        not off,
        f"The update put different {'tensors' if objects else 'memory'} in place of {', '.join(off[:3])}"
        + (" (the model's own)" if models else "")
        + ": who holds the EMA's tensors (a view, a captured graph) sees no change.",
        expected="the same tensors with the same memory",
        got=f"{len(off)} of {len(before)} were replaced",
        observed=("replaced", models, kinds),
    )


@ema_update.property(
    "in training mode and in eval mode the update is the same",
    asks="Moves each number of `ema` towards `model`, in place: ema = decay * ema + (1 - decay) * model.",
)
def _(answer: Any, trial: Trial) -> None:
    for modes in ((False, True), (True, False), (False, False)):
        ema, model = two_models(trial)
        model.train(modes[0]), ema.train(modes[1])
        decay = some_decay(trial)
        trial.given(f"model.training is {modes[0]}, ema.training is {modes[1]}; decay = {decay}")
        before, theirs = copy.deepcopy(dict(tensors(ema))), copy.deepcopy(dict(tensors(model)))
        trial.call(answer, ema, model, decay)
        now = dict(tensors(ema))
        found = [
            (name, how_moved(now[name], before[name], theirs[name], decay))
            for name in ("gain", "table", "position")
        ]
        off = [
            (name, word if isinstance(word, str) else word[0])
            for name, word in found
            if word != wanted(before[name])
        ]
        name = off[0][0] if off else "gain"
        trial.true(
            not off,
            _after(off),
            expected=f"{name}: {_few(moved(before[name], theirs[name], decay))}, as in every mode",
            got=_few(now[name]),
            observed=(modes, off),
        )


@ema_update.property(
    "each update does the same to every tensor, with any decay from 0 to 1",
    asks=("ema = decay * ema + (1 - decay) * model", "decay: from 0 to 1."),
)
def _(answer: Any, trial: Trial) -> None:
    ema, model = two_models(trial)
    for count, decay in enumerate((some_decay(trial), 0.5, 1.0, 0.0, 0.9), 1):
        trial.given(f"update {count} of one EMA, decay = {decay}")
        before, theirs = (
            copy.deepcopy(dict(tensors(ema))),
            copy.deepcopy(dict(tensors(model.filled(trial.generator)))),
        )
        trial.call(answer, ema, model, decay)
        off = []
        for name, now in tensors(ema):
            found = how_moved(now, before[name], theirs[name], decay)
            want = moved(before[name], theirs[name], decay)
            if found != how_moved(want, before[name], theirs[name], decay):
                off.append((name, _kind(name, ema), found if isinstance(found, str) else found[0], want, now))
        kinds = sorted({(kind, word) for _, kind, word, _, _ in off})
        numbers = [(name, now.tolist()) for name, _, word, _, now in off if word == DIFFERENT]
        for name, _, word, want, now in off[:1]:
            trial.fail(
                f"At update {count}, with decay {decay:g}: {name} {'has' if word == DIFFERENT else 'is'} {word}; right is "
                + ("decay * ema + (1 - decay) * model." if now.is_floating_point() else "a copy."),
                expected=_few(want),
                got=_few(now),
                observed=(
                    f"decay {decay:g}" if decay in (0, 1) else "decay between",
                    min(count, 2),
                    kinds,
                    numbers if 0 < decay < 1 else [],
                ),
            )


def _kind(name: str, model: Model) -> str:
    tensor = dict(tensors(model))[name]
    if isinstance(tensor, torch.nn.Parameter):
        return "parameter"
    return "floating-point buffer" if tensor.is_floating_point() else "integers or bools"


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


@ema_update.property(
    "mode and requires_grad of the EMA stay",
    asks="`ema` keeps its mode and its `requires_grad`.",
)
def _(answer: Any, trial: Trial) -> None:
    for training, needs in ((True, False), (False, True)):
        ema, model = two_models(trial)
        ema.requires_grad_(needs).train(training)
        ema.norm.train(not training)
        trial.given(f"an EMA with training={training} (its norm {not training}) and requires_grad={needs}")
        modes = _modes(ema)
        trial.call(answer, ema, model, 0.9)
        changed = [
            f"training of {name or 'ema'}" for name, flag in _modes(ema).items() if flag != modes[name]
        ]
        trial.true(
            not changed,
            f"The mode of the EMA was changed: {', '.join(changed[:3])}.",
            expected="each module in the mode that it was in",
            observed="mode",
        )
        changed = [name for name, param in ema.named_parameters() if param.requires_grad != needs]
        trial.true(
            not changed,
            "requires_grad of the EMA was changed.",
            expected=f"requires_grad={needs}",
            got=f"{not needs}: {', '.join(changed[:3])}",
            observed="requires_grad",
        )


def _modes(model: torch.nn.Module) -> dict[str, bool]:
    return {name: module.training for name, module in model.named_modules()}


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
    model.norm.eval()
    before, modes = copy.deepcopy(dict(tensors(model))), _modes(model)
    needs = [param.requires_grad for param in model.parameters()]
    grads = [None if param.grad is None else param.grad.clone() for param in model.parameters()]
    trial.call(answer, ema, model, 0.9)
    off = [name for name, tensor in tensors(model) if not torch.equal(tensor, before[name])]
    trial.true(
        not off,
        f"The update changed numbers of the model: {', '.join(off[:3])}.",
        expected="a model that knows nothing of its EMA",
        observed="model changed",
    )
    trial.true(
        needs == [param.requires_grad for param in model.parameters()],
        "The update changed requires_grad of the model.",
        expected="requires_grad as before",
        observed="requires_grad of the model",
    )
    off = [f"training of {name or 'model'}" for name, flag in _modes(model).items() if flag != modes[name]]
    trial.true(
        not off,
        f"The update changed the mode of the model: {', '.join(off[:3])}.",
        expected="each module in the mode that it was in",
        observed="mode of the model",
    )
    for param, grad in zip(model.parameters(), grads, strict=True):
        kept = (
            param.grad is None if grad is None else param.grad is not None and torch.equal(param.grad, grad)
        )
        trial.true(
            kept,
            "The update changed .grad of the model.",
            expected=grad,
            got="None" if param.grad is None else param.grad,
            observed="grad",
        )
    held = copy.deepcopy(dict(tensors(ema)))
    model.filled(trial.generator)
    tied = [name for name, tensor in tensors(ema) if not torch.equal(tensor, held[name])]
    trial.true(
        not tied,
        f"When the model trains on, {', '.join(tied[:3])} of the EMA moves with it: both hold one tensor.",
        expected="copies",
        observed=("shared", sorted({_kind(name, ema) for name in tied})),
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
