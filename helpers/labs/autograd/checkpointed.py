"""Exercise 03.checkpointed: intermediates are computed once more in the backward instead of kept."""

from __future__ import annotations

import torch

from helpers.exercise import Exercise
from helpers.labs.autograd.checkpointed_parts import (
    RNG,
    Checkpointed,
    Setting,
    forward,
    judged_grads,
    reference,
    saved_bytes,
    young_garbage,
)
from helpers.trial import Trial

checkpointed = Exercise(
    "03.checkpointed",
    "Compute it twice, keep nothing",
    objective="Run a function without keeping its intermediates, and compute them again when the backward needs them.",
    minutes=35,
    difficulty="hard",
    seconds=15,  # the first call of torch.utils.checkpoint, which some answers make, imports for seconds
    hints=[
        "In a Function's forward nothing is recorded, so fn's intermediates die at once. What must be kept so that the "
        "backward can run fn again and get the very same numbers, dropout included?",
        "In the backward: detached copies of the inputs that require grad as the originals did, enable_grad, fn once "
        "more, then torch.autograd.backward(out, grad_out). That fills .grad of the copies, and of fn's parameters.",
        "The second run must draw what the first one drew: torch.get_rng_state() before the first, and in the backward "
        "`with torch.random.fork_rng():` around torch.set_rng_state(...) and fn.",
        "Autocast is read by torch.is_autocast_enabled('cpu') and torch.get_autocast_dtype('cpu'), and set again by "
        "torch.autocast('cpu', enabled=..., dtype=...). The Function returns None for fn, one gradient for each "
        "argument after it, None for those that are no tensors.",
    ],
)


@checkpointed.property("the result is fn's own", changes=RNG)
def result(answer: Checkpointed, trial: Trial) -> None:
    trial.given(
        "fn(x, bias), six layers; x of shape (8, 4), float64, comes from a layer before; bias is a leaf"
    )
    setting = Setting(trial.seed)
    out = forward(answer, trial, setting)
    trial.equal(out.detach(), reference(trial.seed)[0], "The result", observed="value")


@checkpointed.property(
    "the gradients of the inputs and of fn's parameters are those without checkpointing", changes=RNG
)
def gradients(answer: Checkpointed, trial: Trial) -> None:
    trial.given("out = checkpointed(fn, x, bias); out.backward(grad_out), without dropout")
    setting, want = Setting(trial.seed), reference(trial.seed)[1]
    ones = reference(trial.seed, torch.ones(8, 4, dtype=torch.float64))[1]
    setting.backward(forward(answer, trial, setting))
    wrong = judged_grads(trial, setting, want, ones)
    trial.true(
        not wrong,
        " ".join(f"The gradient of {name} is {kind}." for name, kind in wrong.items()),
        expected="the gradients of fn(x, bias) without checkpointing",
        observed=sorted(wrong.items()),
    )


@checkpointed.property("fn is called once in the forward and once in the backward", changes=RNG)
def calls(answer: Checkpointed, trial: Trial) -> None:
    trial.given("fn counts its calls")
    setting = Setting(trial.seed)
    out = forward(answer, trial, setting)
    first, is_custom = setting.fn.calls, isinstance(out.grad_fn, torch.autograd.function.BackwardCFunction)
    setting.backward(out)
    second = setting.fn.calls - first
    trial.true(
        (first, second) == (1, 1),
        f"fn was called {first} times in the forward, {second} times in the backward.",
        expected="once and once: each further call costs a whole forward",
        observed=(min(first, 2), min(second, 3), "a Function" if is_custom else "no Function"),
    )


@checkpointed.property(
    "after the forward fn's intermediates are gone, and hardly a byte is saved", changes=RNG
)
def memory(answer: Checkpointed, trial: Trial) -> None:
    trial.given(
        "six layers on x of shape (40, 6), with a look at what autograd saves and which memory lives on"
    )
    plain, setting = (Setting(trial.seed, rows=40, width=6) for _ in range(2))
    with saved_bytes(plain.x, plain.bias, *plain.fn.weights) as without:
        kept = plain.fn(plain.x, plain.bias)
    with young_garbage():
        with saved_bytes(setting.x, setting.bias, *setting.fn.weights) as within:
            out = forward(answer, trial, setting)
        living, saved, usual = setting.fn.living(), sum(within.values()), sum(without.values())
        is_much = saved > usual / 4
        said = [
            f"Autograd saved {saved:,} bytes besides inputs and parameters, {usual:,} without checkpointing."
        ]
        said = said if is_much else []
        said += (
            [f"{living} of 6 intermediates of fn are still in memory after the forward."] if living else []
        )
        trial.true(
            not said,
            " ".join(said),
            expected="only what is needed to run fn again: its arguments and the state of the generator",
            observed=("much saved" if is_much else "little saved", "alive" if living else "gone"),
        )
        setting.backward(out)
        del out, kept
        living = setting.fn.living()
    trial.true(
        not living,
        f"{living} intermediates of fn are still in memory after the backward, when the result is gone, too.",
        expected="nothing is left",
        observed="alive after the backward",
    )
