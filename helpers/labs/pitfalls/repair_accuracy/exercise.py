"""Exercise 10.repair_accuracy: a metric over batches, where nothing warns."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise

repair_accuracy = Exercise(
    "10.repair_accuracy",
    "Repair: the share of right predictions",
    objective="Repair a metric that compares all pairs, cuts logits at 0.5, and averages averages.",
    minutes=8,
    difficulty="easy",
    core=False,
    hints=[
        "What is the shape of `predicted == target` for (4, 1) and (4,)? No loss function is there to warn.",
        "sigmoid(0) is 0.5: a logit predicts class 1 when it is above 0.",
        "Count the right ones and the samples of all batches, and divide once, at the end: the last batch is smaller.",
        "`hits += ((logits.squeeze(1) > 0) == (target == 1)).sum().item()`, `count += len(target)`, `return hits / count`.",
    ],
)

Batch = tuple[Tensor, Tensor]


def batch(trial: Trial, predicted: str, target: str, low: float, high: float) -> Batch:
    """Logits (B, 1) between low and high in absolute value, with the signs of `predicted`; both in a random order."""
    order = torch.randperm(len(target), generator=trial.generator)
    sizes = low + (high - low) * torch.rand(len(target), generator=trial.generator)
    signs = torch.tensor([1.0 if digit == "1" else -1.0 for digit in predicted])
    return (sizes * signs)[order].unsqueeze(1), torch.tensor([int(digit) for digit in target])[order]


def _compared(answer: Any, trial: Trial, batches: list[Batch], about: str) -> None:
    sizes = [len(target) for _, target in batches]
    trial.given(f"batches of {sizes} samples, {about}")
    hits = sum(int(((logits[:, 0] > 0).long() == target).sum()) for logits, target in batches)
    got = trial.call(answer, batches)
    if isinstance(got, float) or (isinstance(got, Tensor) and got.numel() == 1):
        got = round(float(got), 6)  # a different property asks for the type; float32 on the way is fine
    trial.equal(got, round(hits / sum(sizes), 6), "The accuracy", rtol=1e-6, atol=2e-6)


SHARE = "The share of samples, of all batches together, whose class was predicted."
BORDER = "A logit above 0 predicts class 1, any other one class 0."
EACH = "Each sample counts as much as any other, whatever the size of its batch."
FAR = "logits far from 0"


@repair_accuracy.property("one batch: the share of samples that are right", asks=SHARE)
def one_batch(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, [batch(trial, "1" * 6 + "0" * 7, "1111101100000", 2, 4)], FAR)


@repair_accuracy.property("batches of one size", asks=SHARE)
def even(answer: Any, trial: Trial) -> None:
    batches = [
        batch(trial, "1110", "1100", 2, 4),
        batch(trial, "0010", "0110", 2, 4),
        batch(trial, "1011", "0100", 2, 4),
    ]
    _compared(answer, trial, batches, FAR)


@repair_accuracy.property("a last batch that is smaller, down to one sample", asks=(SHARE, EACH))
def ragged(answer: Any, trial: Trial) -> None:
    batches = [
        batch(trial, "11100", "11000", 2, 4),
        batch(trial, "00100", "11100", 2, 4),
        batch(trial, "1", "1", 2, 4),
    ]
    _compared(answer, trial, batches, FAR)


@repair_accuracy.property("logits between 0 and 0.5 predict class 1", asks=BORDER)
def small_logits(answer: Any, trial: Trial) -> None:
    logits, target = batch(trial, "1110000", "1101000", 0.1, 0.4)
    logits = torch.where(logits < 0, 10 * logits, logits)
    _compared(answer, trial, [(logits, target)], "logits between 0 and 0.4, and below -1")


@repair_accuracy.property("logits between -0.5 and 0 predict class 0", asks=BORDER)
def negative_logits(answer: Any, trial: Trial) -> None:
    _compared(answer, trial, [batch(trial, "00000", "10000", 0.1, 0.4)], "logits between -0.4 and 0")


@repair_accuracy.property("a logit of exactly 0 predicts class 0", asks=BORDER)
def zero_logits(answer: Any, trial: Trial) -> None:
    logits, target = batch(trial, "1110000", "1100010", 2, 4)
    logits[target == 1], logits[target == 0] = logits[target == 1].abs(), 0.0
    logits[(target == 1).nonzero()[0]] = 0.0  # a zero of class 1 too: who is right with neither is told apart
    _compared(answer, trial, [(logits, target)], "logits of exactly 0 and logits above 1")


@repair_accuracy.property("a logit that is NaN predicts class 0", asks=BORDER)
def nan_logits(answer: Any, trial: Trial) -> None:
    logits, target = batch(trial, "1110000", "1100010", 2, 4)
    logits[(target == 0).nonzero()[:2]] = float("nan")
    logits[(target == 1).nonzero()[0]] = float("nan")
    _compared(answer, trial, [(logits, target)], FAR + ", three of them NaN")


@repair_accuracy.property(
    "many hits are counted exactly, also in bfloat16",
    asks="Hits are counted exactly, also those of bfloat16 logits.",
)
def many_in_bfloat16(answer: Any, trial: Trial) -> None:
    batches = [
        batch(trial, "1" * 401 + "0" * 200, "1" * 389 + "0" * 212, 2, 4),
        batch(trial, "1" * 11, "1" * 8 + "0" * 3, 2, 4),
    ]
    batches = [(logits.bfloat16(), target) for logits, target in batches]
    _compared(answer, trial, batches, FAR + ", bfloat16")


@repair_accuracy.property("a Python float comes back", asks="Returns a Python float from 0 to 1.")
def kind(answer: Any, trial: Trial) -> None:
    trial.given("a batch of 4 samples")
    got = trial.call(answer, [batch(trial, "1110", "1100", 2, 4)])
    trial.true(
        isinstance(got, float),  # numpy's float64 is one
        f"The answer gave {'a 0-d tensor' if isinstance(got, Tensor) else f'an object of type {type(got).__name__}'}.",
        expected="a float",
        got=got,
        observed=type(got).__name__,
    )
