"""06.mini_grad_scaler: small demands on a scaler that works: gradients that are None, what a step is given and leaves."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.labs.streams.mini_grad_scaler.exercise import (
    BESIDE,
    GET,
    LOOKS,
    MULTIPLIES,
    NONE,
    STAY,
    STEP,
    mini_grad_scaler,
)
from helpers.labs.streams.mini_grad_scaler.inputs import (
    LOSS,
    Answer,
    backward,
    gradients,
    optimizer_of,
    parameters,
    require_unscaled,
    scale_of,
    some_scale,
)
from helpers.labs.streams.mini_grad_scaler.properties.update import ESSENTIAL


@mini_grad_scaler.property("parameters without a gradient are passed over", asks=NONE, after=ESSENTIAL)
def passes_over_none(answer: Answer, trial: Trial) -> None:
    start = some_scale(trial)
    scaler, optimizer = answer(start, 2.0, 0.5, 9), optimizer_of(trial, (3,), (2, 2), (4,))
    trial.given(
        "three parameters in two groups, the .grad of the first and the last is None: scale, backward, step"
    )
    (true,) = backward(scaler, optimizer, trial=trial)
    parameters(optimizer)[0].grad = parameters(optimizer)[2].grad = None
    try:
        scaler.step(optimizer)
    except (AttributeError, TypeError) as error:
        trial.fail(
            f"{type(error).__name__}: {error}. A gradient of None was used like a tensor.",
            expected="one step, which sees the gradient of the second parameter alone",
            observed=("none", "used"),
        )
    seen = optimizer.seen[0] if optimizer.seen else []
    trial.true(
        len(optimizer.seen) == 1 and seen[0] is seen[2] is None,
        "The step was not taken, or a parameter that had no gradient has one now.",
        expected="one step, which sees the gradient of the second parameter alone",
        got=f"{len(optimizer.seen)} steps, {sum(grad is not None for grad in seen)} gradients",
        observed=("none", len(optimizer.seen), [grad is None for grad in seen]),
    )
    require_unscaled(trial, seen[1:2], true[1:2], start, "The gradients that the optimizer's step saw")


@mini_grad_scaler.property(
    "step hands its arguments on, returns what optimizer.step returns (None where it is skipped), and leaves the caller the "
    "gradients, unscaled where they are",
    asks=(STEP, STAY, MULTIPLIES),
    after=ESSENTIAL,
)
def stands_between(answer: Answer, trial: Trial) -> None:
    scaler, optimizer = answer(some_scale(trial), 2.0, 0.5, 9), optimizer_of(trial, (3,), (2, 2))
    trial.given("two parameters: scale, backward, step(optimizer, 7, note='seven'), update")
    backward(scaler, optimizer, trial=trial)
    held: list[Tensor] = [param.grad for param in parameters(optimizer)]  # type: ignore[misc]
    lay = [grad.detach() for grad in held]  # kept: memory that is freed may be given out again
    try:
        result = scaler.step(optimizer, 7, note="seven")
    except TypeError as error:
        trial.fail(
            f"step(optimizer, 7, note='seven') cannot be called, or its arguments are lost: {error}.",
            expected="optimizer.step(7, note='seven') is called",
            observed=("given", "refused"),
        )
    scaler.update()
    trial.true(
        optimizer.given == [((7,), {"note": "seven"})],
        "optimizer.step was not called with what scaler.step was given after the optimizer.",
        expected="(7,), {'note': 'seven'}",
        got=", ".join(map(str, optimizer.given)) or "no call",
        observed=("given", [str(given) for given in optimizer.given]),
    )
    trial.equal(result, "the result of step 1", "What step returns")
    require_not_gone(trial, [param.grad for param in parameters(optimizer)], "After step and update")
    now = [param.grad for param in parameters(optimizer)]
    trial.true(
        all(new is old for new, old in zip(now, held, strict=True))
        and [grad.data_ptr() for grad in held] == [old.data_ptr() for old in lay],
        "A gradient is another tensor, or lies in other memory. Whoever holds the old one (a bucket of "
        "DistributedDataParallel, say) has the scaled values.",
        expected="the same tensors, edited in place",
        observed="replaced",
    )
    trial.given("the same scaler in an iteration with an inf in the first gradient: scale, backward, step")
    backward(scaler, optimizer, trial=trial)
    parameters(optimizer)[0].grad[0] = math.inf
    trial.equal(scaler.step(optimizer), None, "What a skipped step returns")
    require_not_gone(trial, gradients(optimizer), "After a skipped step")


def require_not_gone(trial: Trial, grads: list[Tensor | None], when: str) -> None:
    gone = [grad is None or not bool(grad.any()) for grad in grads]
    trial.true(
        not any(gone),
        f"{when} a gradient is None or 0. To clear gradients is up to the caller, who may want to log them.",
        expected="the gradients",
        observed=("gone", when, gone),
    )


@mini_grad_scaler.property("get_scale() gives init_scale before the first loss", asks=GET, after=ESSENTIAL)
def tells(answer: Answer, trial: Trial) -> None:
    start = some_scale(trial)
    trial.given(f"a new scaler, init_scale {start:g}: get_scale()")
    got = scale_of(trial, answer(start, 2.0, 0.5, 9))
    trial.true(
        got == start,
        "Before the first loss get_scale() does not give init_scale.",
        expected=f"{start:g}",
        got=f"{got:g}",
        observed="first",
    )


@mini_grad_scaler.property(
    "unscale_ multiplies all gradients, also those beside an inf",
    asks=BESIDE,
    after=(*ESSENTIAL, stands_between),
)
def multiplies_beside_inf(answer: Answer, trial: Trial) -> None:
    start = some_scale(trial)
    scaler, optimizer = answer(start, 2.0, 0.5, 9), optimizer_of(trial, (3,), (2, 2), (5,))
    trial.given(
        f"init_scale {start:g}; all scaled gradients are {start:g}, one entry of the second is inf: unscale_"
    )
    scaler.scale(LOSS)
    for param in parameters(optimizer):
        param.grad = torch.full_like(param, start)
    parameters(optimizer)[1].grad[0, 1] = math.inf
    scaler.unscale_(optimizer)
    found = [sorted(set(grad.flatten().tolist())) for grad in gradients(optimizer) if grad is not None]
    want = [[1.0], [1.0, math.inf], [1.0]]
    trial.true(
        found == want,
        "Beside an inf the gradients are not all multiplied by the inverse of the scale.",
        expected=f"entries of {want}",
        got=f"entries of {found}",
        observed=("beside", [start in row for row in found], [1.0 in row for row in found]),
    )


@mini_grad_scaler.property(
    "entries are looked at before the product, not behind it",
    asks=LOOKS,
    after=(*ESSENTIAL, passes_over_none, stands_between),
)
def looks_before(answer: Answer, trial: Trial) -> None:
    scaler, optimizer = answer(2.0**-10, 2.0, 0.5, 9), optimizer_of(trial, (3,), (2, 2))
    trial.given(
        "init_scale 2**-10; all scaled gradients are 1e38, which is finite; times 2**10 it is inf: step"
    )
    scaler.scale(LOSS)
    for param in parameters(optimizer):
        param.grad = torch.full_like(param, 1e38)
    scaler.step(optimizer)
    trial.true(
        len(optimizer.seen) == 1,
        "All scaled gradients are finite, and the step was skipped: only behind the product is there an inf.",
        expected="one call of optimizer.step: torch looks at the scaled gradients",
        got=f"{len(optimizer.seen)} calls",
        observed=("before", len(optimizer.seen)),
    )
