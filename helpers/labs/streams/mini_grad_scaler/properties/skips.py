"""06.mini_grad_scaler: which steps are not taken."""

from __future__ import annotations

import math

import torch

from helpers.check.trial import Trial
from helpers.labs.streams.mini_grad_scaler.exercise import LOOKS, STEP, mini_grad_scaler, unscales
from helpers.labs.streams.mini_grad_scaler.inputs import (
    LOSS,
    Answer,
    Noting,
    optimizer_of,
    parameters,
    some_scale,
)

# What is bad, and where: in one entry of a gradient of three, in each of one, or in the loss and so in all of them.
PLACES = {
    "the gradient of parameter 0": 0,
    "the gradient of parameter 1": 1,
    "the gradient of parameter 2": 2,
    "each entry of the gradient of parameter 1": 1,
    "the loss": 0,
}
BAD = [("-inf", list(PLACES)[0]), ("NaN", list(PLACES)[0]), *(("inf", place) for place in PLACES)]


def step_with(answer: Answer, optimizer: Noting, start: float, bad: str, place: str) -> str:
    """ "" for no step; else what the optimizer's step saw."""
    scaler = answer(start, 2.0, 0.5, 9)
    scaler.scale(LOSS * math.inf if place == "the loss" else LOSS)
    for param in parameters(optimizer):
        param.grad = torch.full_like(param, math.nan if place == "the loss" else 1.0)
    grad = parameters(optimizer)[PLACES[place]].grad.flatten()
    grad[0 if place.startswith("each") else -1 :] = float(bad)
    optimizer.seen.clear()
    scaler.step(optimizer)
    if not optimizer.seen:
        return ""
    finite = all(bool(grad.isfinite().all()) for grad in optimizer.seen[0] if grad is not None)
    return "finite numbers in its place" if finite else f"the {bad}, and that parameter is lost for good"


@mini_grad_scaler.property(
    "inf, -inf or NaN in a gradient of any parameter: no step", asks=(STEP, LOOKS), after=(unscales,)
)
def skips(answer: Answer, trial: Trial) -> None:
    start, optimizer = some_scale(trial), optimizer_of(trial, (3,), (2, 2), (4,))
    stepped = []
    trial.given("three parameters in two groups; one entry of one gradient is inf, -inf or NaN: scale, step")
    for bad, place in BAD:
        seen = step_with(answer, optimizer, start, bad, place)
        if seen:
            stepped.append((bad, place, seen))
    if stepped:
        bad, place, seen = stepped[0]
        trial.given(f"three parameters in two groups; {bad} in {place}: scale, backward, step")
    trial.true(
        not stepped,
        "A gradient holds a number that is not finite, and the step was taken.",
        expected="no call of optimizer.step, parameters as they were",
        got="; ".join(f"{bad} in {place}: a step with {seen}" for bad, place, seen in stepped),
        observed=("stepped", stepped),
    )


@mini_grad_scaler.property(
    "each entry is looked at, when unscale_ is called: not their norm, and not what the caller makes of them",
    asks=LOOKS,
    after=(unscales, skips),
)
def looks_at_entries(answer: Answer, trial: Trial) -> None:
    start, optimizer = some_scale(trial), optimizer_of(trial, (3,), (2, 2))
    scaler = answer(start, 2.0, 0.5, 9)
    trial.given("one entry is inf: scale, backward, unscale_, clip_grad_value_ (inf becomes 1), step")
    scaler.scale(LOSS)
    for param in parameters(optimizer):
        param.grad = torch.ones_like(param)
    parameters(optimizer)[0].grad[0] = math.inf
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_value_(parameters(optimizer), 1.0)
    scaler.step(optimizer)
    trial.true(
        not optimizer.seen,
        "unscale_ saw an inf, and the step was taken after all. What unscale_ finds counts until update().",
        expected="no call of optimizer.step",
        got="one call",
        observed="stepped",
    )
    trial.given("a new scaler, and all gradients are 1: step")
    scaler = answer(start, 2.0, 0.5, 9)
    scaler.scale(LOSS)
    for param in parameters(optimizer):
        param.grad = torch.ones_like(param)
    scaler.step(optimizer)
    trial.true(
        len(optimizer.seen) == 1,
        "A scaler that has seen no inf skipped a step. Another scaler of the class had seen one before.",
        expected="one call of optimizer.step",
        got=f"{len(optimizer.seen)} calls",
        observed=("new", len(optimizer.seen)),
    )
    optimizer.seen.clear()
    trial.given("all entries of the scaled gradients are 3e38, which float32 holds: step")
    scaler = answer(start, 2.0, 0.5, 9)
    scaler.scale(LOSS)
    for param in parameters(optimizer):
        param.grad = torch.full_like(param, 3e38)
    scaler.step(optimizer)
    trial.true(
        len(optimizer.seen) == 1,
        "Every entry is finite and large, and the step was skipped.",
        expected="one call of optimizer.step",
        got=f"{len(optimizer.seen)} calls",
        observed=("steps", len(optimizer.seen)),
    )
