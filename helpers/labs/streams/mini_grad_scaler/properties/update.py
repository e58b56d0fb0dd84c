"""06.mini_grad_scaler: how the scale moves, with one optimizer and with two."""

from __future__ import annotations

from typing import Any

from helpers.check.trial import Trial
from helpers.labs.streams.mini_grad_scaler.exercise import (
    LARGER,
    MOVES,
    OPTIMIZERS,
    SMALLER,
    mini_grad_scaler,
    unscales,
)
from helpers.labs.streams.mini_grad_scaler.inputs import (
    Answer,
    counting,
    optimizer_of,
    play,
    power_of,
    require_script,
    require_unscaled,
    scaled_gradients,
    shown_powers,
    some_scale,
)
from helpers.labs.streams.mini_grad_scaler.properties.skips import skips


@mini_grad_scaler.property(
    "the scale: times backoff_factor after an inf, times growth_factor after growth_interval good iterations in a row",
    asks=(MOVES, SMALLER, LARGER),
    after=(unscales,),
)
def moves(answer: Answer, trial: Trial) -> None:
    require_script(answer, trial, "+++++++0+++", interval=3, start=10)
    require_script(answer, trial, "00", interval=3, start=1)


# Each iteration of two optimizers: which are used and find an inf, whether unscale_ is called first, and the power of
# the scale afterwards, with growth_interval 3.
TWO = [
    ("0+", False, "inf in the first", 9.0),
    (" +", False, "the second one alone", 9.0),
    ("++", True, "both good", 9.0),
    ("++", False, "both good", 10.0),
    ("+0", True, "inf in the second", 9.0),
    ("00", False, "inf in both", 8.0),
]


@mini_grad_scaler.property(
    "two optimizers: each is unscaled for itself; an inf skips the step of the one that has it, and moves the one scale, once",
    asks=(OPTIMIZERS, MOVES, SMALLER),
    after=(unscales, skips, moves),
)
def serves_two(answer: Answer, trial: Trial) -> None:
    require_unscaled_each(answer, trial)
    scaler, pair, found = answer(2.0**10, 2.0, 0.5, 3), (counting(1), counting(1)), []
    trial.given(f"two optimizers, growth_interval 3; iterations: {', '.join(row[2] for row in TWO)}")
    for signs, explicit, _, _ in TWO:
        before = [each.steps for each in pair]
        used = [(each, sign) for each, sign in zip(pair, signs, strict=True) if sign != " "]
        play(scaler, *(each for each, _ in used), signs="".join(sign for _, sign in used), explicit=explicit)
        steps = "".join("+" if each.steps - was == 1 else "0" for each, was in zip(pair, before, strict=True))
        found.append((steps, power_of(trial, scaler)))
    require_moves_of_two(trial, found)


def require_moves_of_two(trial: Trial, found: list[Any]) -> None:
    for number, ((signs, explicit, description, _), (steps, _)) in enumerate(
        zip(TWO, found, strict=True), start=1
    ):
        trial.true(
            steps == signs.replace(" ", "0"),
            f"Iteration {number} ({description}{', unscale_ called first' if explicit else ''}) took the wrong steps. Each "
            "optimizer looks at its own gradients: what is good is used.",
            expected=" and ".join("a step" if sign == "+" else "none" for sign in signs),
            got=" and ".join("a step" if sign == "+" else "none" for sign in steps),
            observed=("two", found),
        )
    got, want = [power for _, power in found], [row[-1] for row in TWO]
    trial.true(
        got == want,
        "The scale goes another way than it should: update() moves it once an iteration, by what was found in this one, and "
        "counts the iteration once, however many optimizers there are.",
        expected=shown_powers(want),
        got=shown_powers(got),
        observed=("two", found),
    )


def require_unscaled_each(answer: Answer, trial: Trial) -> None:
    start = some_scale(trial)
    scaler, pair = answer(start, 2.0, 0.5, 9), [optimizer_of(trial, (3,)), optimizer_of(trial, (2,))]
    trial.given("two optimizers: scale, backward, unscale_ of the second one, step of both")
    true = [scaled_gradients(scaler, each, trial) for each in pair]
    scaler.unscale_(pair[1])
    for which, optimizer, grads in zip(("first", "second"), pair, true, strict=True):
        scaler.step(optimizer)
        taken = len(optimizer.seen)
        trial.true(
            taken == 1,
            "All gradients are finite, and the optimizer has not stepped as often as scaler.step was called.",
            expected=f"1 call of step of the {which} optimizer",
            got=f"{taken}",
            observed=("steps", which, taken),
        )
        what = f"The gradients that the step of the {which} optimizer saw"
        require_unscaled(trial, optimizer.seen[0], grads, start, what)


# Small demands are asked of a scaler that does the great ones: they would hide the names of its great mistakes.
ESSENTIAL = (unscales, skips, moves, serves_two)
