"""Exercise 06.mini_grad_scaler: gradients that float16 can hold, steps without inf, a scale that finds its size.

Here: how losses are scaled and gradients unscaled. The rest: _skips, _update, _small, _state, _exact, in this order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.streams.mini_grad_scaler.inputs import (
    Answer,
    Noting,
    Scaler,
    described,
    gradients,
    optimizer_of,
    parameters,
    powers,
    require_tensor,
    scaled_gradients,
    some_scale,
    torchs_own,
)

mini_grad_scaler = Exercise(
    "06.mini_grad_scaler",
    "A gradient scaler",
    objective="Scale a loss so that float16 holds its gradients, skip steps with inf, and let the scale find its size: "
    "bit for bit as torch does.",
    minutes=60,
    difficulty="hard",
    core=False,
    kind="class",
    names=("MiniGradScaler",),
    hints=[
        "What has to be known of each optimizer between unscale_ and update? Two things: how far it is in this "
        "iteration, and whether a gradient of it was inf or NaN. update() uses the second one and forgets both.",
        "unscale_ does all the work: it looks at the gradients as they are (isfinite knows inf, -inf and NaN), then "
        "multiplies each by the inverse in place. step() calls it if nobody did, reads one bool, and steps or does not. "
        "update() makes the scale smaller if any optimizer found an inf, else it counts.",
        "found = torch.stack([~grad.isfinite().all() for grad in grads]).any(); "
        "torch._foreach_mul_(grads, scale.double().reciprocal().float()). In update: good_steps + 1 against "
        "growth_interval; (scale.double() * factor).float(), kept only if it is finite; 0 good steps after an inf and "
        "after growth. Under torch.no_grad().",
    ],
)

LIKE_TORCH = "Scales losses so that float16 holds their gradients: torch.amp.GradScaler, bit for bit."
EXAMPLE = """scaler.scale(loss).backward()
        scaler.unscale_(optimizer)                          # only to clip or to look at gradients
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)                              # for each optimizer
        scaler.update()                                     # once"""
FLOAT32 = "The scale is a float32 number."
OFF = (
    "enabled: with False, scale returns the very loss that it is given, unscale_ and update do nothing, and step always "
    "calls optimizer.step."
)
OPTIMIZERS = "There may be several optimizers"
GROUPS = "each with several groups"
NONE = "and parameters whose .grad is None."
BY_HAND = "torch's scaler and its parts (torch._amp_...) must not be used."
SCALED = "The loss times the scale, with its graph."
MULTIPLIES = "Multiplies the gradients of this optimizer by the inverse of the scale, in place."
INVERSE = "The inverse is taken once, in double, and rounded to float32."
LOOKS = "Before the product each entry is looked at: what was found of inf and NaN holds until update()."
BESIDE = "Beside an inf or NaN the gradients are multiplied, too."
NO_LOSS = "AssertionError: no loss was scaled yet."
TWICE = "RuntimeError: this optimizer was unscaled since the last update(), also if by step."
HALF = "ValueError: a gradient is float16."
STEP = "optimizer.step(*args, **kwargs) and its result; or no step and None, after an inf or NaN."
FIRST = "Unscales first, unless the caller did."
STAY = "Gradients stay for the caller to clear."
AS_UNSCALE = "Raises: as unscale_."
MOVES = "Moves the scale, once for all optimizers, and begins the next iteration."
SMALLER = "After an inf or NaN in any of them: scale times backoff_factor, and the count of good iterations is 0 again."
LARGER = (
    "Else one good iteration more; the growth_interval-th in a row: scale times growth_factor, unless that is inf, and in "
    "both cases the count is 0 again."
)
PRODUCT = "A product is taken in double and rounded to float32."
GET = "The scale as a Python number, init_scale before the first loss."
STATE = "A dict of plain numbers, which does not change later."
ENTRIES = (
    '"scale", "growth_factor", "backoff_factor" (float), "growth_interval" (int) and "_growth_tracker" (int), the count '
    "of good iterations."
)
LOAD = "Goes on from such a dict: all five entries are taken over, by a new scaler or by one in use."
LEFT = "The dict is left as it is."


@mini_grad_scaler.property("the scaler is written by hand: torch's own works nowhere inside", asks=BY_HAND)
def by_hand(answer: Answer, trial: Trial) -> None:
    trial.given("an iteration with one optimizer; calls are watched")
    seen = torchs_own(answer, trial)
    trial.true(
        not seen,
        "The answer calls torch's own scaler, which is what this exercise builds.",
        expected="operations on tensors",
        got=", ".join(seen),
        observed="torch's scaler",
    )


@mini_grad_scaler.property(
    "scale(loss) is the loss times the scale, and backward goes through it", asks=SCALED
)
def scales_the_loss(answer: Answer, trial: Trial) -> None:
    start = some_scale(trial)
    trial.given(f"init_scale {start:g}, a loss of no dimensions")
    loss = torch.randn((), generator=trial.generator).requires_grad_()
    got = trial.call(answer(start, 2.0, 0.5, 9).scale, loss)
    require_tensor(trial, got, "What scale(loss) returns")
    trial.equal(got.detach(), loss.detach() * start, "The scaled loss")
    trial.true(
        got.requires_grad,
        "What scale(loss) returns has no graph, so backward cannot start from it.",
        expected="a tensor that requires grad",
        observed="no graph",
    )
    got.backward()
    trial.true(
        loss.grad is not None,
        "What scale(loss) returns requires grad, and its backward does not reach the loss.",
        expected=f"loss.grad of {start:g}",
        got="loss.grad is None",
        observed="not reached",
    )
    trial.equal(loss.grad, torch.tensor(start), "The gradient of the scaled loss by the loss")


class Seen(NamedTuple):
    """What an iteration did, in powers of the scale: 0 for a true gradient, 1 for one that is scaled still."""

    refused: str
    steps: int
    at_clipping: list[Any]
    at_step: list[Any]
    norm: float


def iteration(scaler: Scaler, optimizer: Noting, trial: Trial, scale: float, clips: bool) -> Seen:
    true = scaled_gradients(scaler, optimizer, trial)
    optimizer.seen.clear()
    at_clipping, norm = [], 0.0
    if clips:
        scaler.unscale_(optimizer)
        at_clipping = powers(gradients(optimizer), true, scale)
        norm = float(torch.nn.utils.clip_grad_norm_(parameters(optimizer), 0.1))
        by = 0.1 / float(torch.cat([each.flatten() for each in true]).norm())
        true = [grad * by for grad in true]
    scaler.step(optimizer)
    scaler.update()
    at_step = powers(optimizer.seen[0], true, scale) if optimizer.seen else []
    return Seen("", len(optimizer.seen), at_clipping, at_step, norm)


CALLS = (
    "scale, backward, step, update",
    "scale, backward, unscale_, clipping to a norm of 0.1, step, update",
)


@mini_grad_scaler.property(
    "gradients are unscaled once in each iteration: by unscale_, before they are clipped, or else by step",
    asks=(EXAMPLE, MULTIPLIES, FIRST, GROUPS),
)
def unscales(answer: Answer, trial: Trial) -> None:
    start = some_scale(trial)
    scaler, optimizer = answer(start, 2.0, 0.5, 1), optimizer_of(trial, (2,), (1, 2), (3,))
    messages, seen = [], []
    for number, clips in enumerate((False, True, False)):
        messages.append(
            f"init_scale {start:g}, growth_interval 1, iteration {number + 1} of 3: {CALLS[clips]}"
        )
        trial.given(messages[-1])
        try:
            seen.append(iteration(scaler, optimizer, trial, start * 2**number, clips))
        except (RuntimeError, AssertionError) as error:
            if number == 0 or isinstance(error, NotImplementedError):
                raise
            seen.append(Seen(f"{type(error).__name__}: {error}", 0, [], [], 0.0))
            break
    observed = [(each.refused[:12], *each[1:4]) for each in seen]
    for given, each in zip(messages, seen, strict=True):
        trial.given(given)
        require_unscaled_once(trial, each, observed)


def require_unscaled_once(trial: Trial, seen: Seen, observed: list[Any]) -> None:
    """observed: what is known of all iterations."""
    trial.true(
        not seen.refused,
        "An error in an iteration that does all as it should. update() ends an iteration: what is known of the "
        "optimizers is forgotten.",
        expected="no error",
        got=seen.refused,
        observed=observed,
    )
    trial.true(
        seen.steps == 1,
        "All gradients are finite, and the optimizer has not stepped as often as scaler.step was called.",
        expected="1 call of optimizer.step",
        got=f"{seen.steps}",
        observed=observed,
    )
    trial.true(
        not any(seen.at_clipping),
        "After unscale_ the gradients are not those of the loss, so clipping measures the wrong ones: "
        f"their norm is {seen.norm:.4g}.",
        expected="the true gradients when they are clipped",
        got=f"when clipped: {described(seen.at_clipping)}; at the step, against the right clipped ones: {described(seen.at_step)}",
        observed=observed,
    )
    trial.true(
        not any(seen.at_step),
        "The gradients were unscaled and clipped by the caller, and the optimizer's step saw others."
        if seen.at_clipping
        else "The gradients that the optimizer's step saw are not the gradients of the loss.",
        expected="the clipped gradients"
        if seen.at_clipping
        else "the true gradients: those of scale(loss) divided by the scale, once",
        got=described(seen.at_step),
        observed=observed,
    )
