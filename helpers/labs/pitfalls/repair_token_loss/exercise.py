"""Exercise 10.repair_token_loss: which axis holds the classes, and which targets count."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.pitfalls.shared.repairs import drawn, has_graph, keeps_dtype, same_dtype

repair_token_loss = Exercise(
    "10.repair_token_loss",
    "Repair: a loss for each token",
    objective="Repair a loss over padded sequences: a view that scrambles, a mean that counts padding, and 0 / 0.",
    minutes=8,
    difficulty="medium",
    core=False,
    hints=[
        "cross_entropy wants the classes in dim 1. `view(B, C, T)` has that shape; are the numbers where they belong?",
        "With reduction='none' an ignored target gives 0, and mean() counts it. The default reduction divides by the "
        "targets that count, and gives NaN if there are none.",
        "Flatten the positions: `logits.flatten(0, 1)`, `target.flatten()`; with reduction='sum' divide by "
        "`(target != pad).sum().clamp(min=1)`.",
    ],
)


MEAN = "The mean cross entropy over the tokens that count."
ZERO = "0 if nothing counts."
GRADIENT = "The gradient reaches the logits of the tokens that count, and no others."
SHOWN = "A NaN among the logits of a token that counts is not hidden."


def wanted(logits: Tensor, target: Tensor, pad: int) -> Tensor:
    """Token by token."""
    kept = target != pad
    log_probs = logits.log_softmax(-1)[kept]
    return (-log_probs.gather(1, target[kept].unsqueeze(1))).sum() / kept.sum().clamp(min=1)


def _case(
    trial: Trial,
    kept: tuple[int, ...],
    length: int,
    pad: int,
    dtype: torch.dtype = torch.float64,
    classes: int = 4,
) -> tuple[Tensor, Tensor]:
    """Logits (B, T, classes), and targets (B, T): so many a sequence are no padding; of -100 it stands at the end."""
    target = torch.randint(classes, (len(kept), length), generator=trial.generator)
    target[target == pad] = (pad + 1) % classes
    if pad != 0:
        target[0, 0] = 0  # also class 0 counts
    for row, count in zip(target, kept, strict=True):
        row[count:] = pad
        if pad != -100:
            row[:] = row[torch.randperm(length, generator=trial.generator)]
    return 2 * drawn(trial, len(kept), length, classes, dtype=dtype), target


def _compared(
    answer: Any, trial: Trial, kept: tuple[int, ...], length: int, pad: int, classes: int = 4
) -> None:
    logits, target = _case(trial, kept, length, pad, classes=classes)
    trial.given(f"logits of shape {tuple(logits.shape)}, target = {target.tolist()}, pad = {pad}")
    got, want = trial.call(answer, logits, target, pad), wanted(logits, target, pad)
    same_dtype(trial, got, want, "The loss")
    trial.equal(got, want, "The loss", rtol=1e-6)


@repair_token_loss.property(
    "sequences without padding: the mean over all tokens", asks=(MEAN, "Returns a tensor of no dimensions")
)
def full(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, (3, 3), 3, -100)


@repair_token_loss.property("sequences of one token: the mean over the batch", asks=MEAN)
def one_token(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, (1, 1, 1), 1, -100)


@repair_token_loss.property("a token that costs nothing counts, too", asks=MEAN, after=(full,))
def free_token(answer: Any, trial: Trial) -> None:
    logits, target = _case(trial, (2, 2), 2, -100, torch.float32)
    logits[0, 1] = 0.0
    logits[0, 1, target[0, 1]] = 200.0
    trial.given(
        "logits of shape (2, 2, 4), float32; one token of four has 200 for its target and 0 elsewhere"
    )
    got, want = trial.call(answer, logits, target, -100), wanted(logits, target, -100)
    same_dtype(trial, got, want, "The loss")
    trial.equal(got, want, "The loss", rtol=1e-5, atol=1e-6)


@repair_token_loss.property("padding with -100: the mean over the tokens that count", asks=MEAN)
def padded(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, (5, 1, 2), 5, -100)


@repair_token_loss.property(
    "padding with a different index, which is that of a class, at any place", asks=MEAN
)
def own_pad(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, (5, 2, 3), 5, 0)
    _compared(answer, trial, (1, 4), 5, 3)
    _compared(answer, trial, (0, 1), 3, 2)


@repair_token_loss.property("padding with an index that no class has", asks=MEAN, after=(padded, own_pad))
def pad_of_no_class(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, (2, 3), 4, -1)
    _compared(answer, trial, (3, 2), 4, 50)


@repair_token_loss.property(
    "with a single class each token that counts costs 0, and padding is left out",
    asks=MEAN,
    after=(padded, own_pad),
)
def one_class(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, (2, 1), 3, -100, classes=1)
    _compared(answer, trial, (1, 3), 3, 1, classes=1)


@repair_token_loss.property(
    "0 where nothing counts",
    asks=(ZERO, "Returns a tensor of no dimensions"),
    after=(
        one_token,
        full,
        padded,
        own_pad,
    ),
)
def nothing_counts(answer: Any, trial: Trial) -> None:
    logits, target = _case(trial, (0, 0), 3, 0)
    trial.given("logits of shape (2, 3, 4), pad = 0, and all targets are pad")
    got = trial.call(answer, logits, target, 0)
    if isinstance(got, Tensor):
        got = got.detach()  # a zero that asks for a gradient of its own does no harm
    trial.equal(got, logits.new_zeros(()), "The loss")


@repair_token_loss.property(
    "the gradient reaches the logits of the tokens that count",
    asks=GRADIENT,
    after=(
        one_token,
        full,
        padded,
        own_pad,
    ),
)
def gradient(answer: Any, trial: Trial) -> None:
    logits, target = _case(trial, (3, 1, 0), 3, 0)
    leaf, own, c = logits.clone().requires_grad_(), logits.clone().requires_grad_(), drawn(trial, 1)[0]
    trial.given(
        f"logits of shape (3, 3, 4) that require grad, target = {target.tolist()}, pad = 0; a random number comes in"
    )
    got = trial.call(answer, leaf, target, 0)
    has_graph(trial, got, "The logits")
    (grad,) = torch.autograd.grad(got, leaf, c)
    (want,) = torch.autograd.grad(wanted(own, target, 0), own, c)
    trial.equal(grad, want, "The gradient of the logits", rtol=1e-6)


@repair_token_loss.property(
    "a NaN among the logits of a token that counts is not hidden",
    asks=SHOWN,
    after=(one_token, full, padded, own_pad),
)
def nan_shown(answer: Any, trial: Trial) -> None:
    logits, target = _case(trial, (3, 1), 3, 0)
    logits[1][target[1] != 0] = float("nan")
    trial.given(
        f"logits of shape (2, 3, 4), target = {target.tolist()}, pad = 0; the logits of the one token of sequence 1 "
        "that counts are NaN"
    )
    got = trial.call(answer, logits, target, 0)
    trial.true(
        bool(got.isnan()),
        "The loss hides a NaN among the logits that count. Training goes on with a model that is broken.",
        expected="NaN",
        got=got,
        observed="0" if got == 0 else "left out",
    )


@repair_token_loss.property("the dtype of the logits is kept", asks="of the dtype of the logits")
def dtype_kept(answer: Any, trial: Trial) -> None:
    for kept in ((3, 1), (0, 0)):
        logits, target = _case(trial, kept, 3, 0, torch.float32)
        trial.given(f"logits of shape (2, 3, 4), float32, target = {target.tolist()}, pad = 0")
        keeps_dtype(trial, trial.call(answer, logits, target, 0), torch.float32, "the loss")
