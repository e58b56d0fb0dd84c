"""Exercise 10.repair_trajectory: detach shares memory, += writes in place, a list holds objects."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial, plain
from helpers.exercise import Exercise
from helpers.labs.pitfalls.shared.repairs import drawn

repair_trajectory = Exercise(
    "10.repair_trajectory",
    "Repair: a path of positions",
    objective="Repair code that edits its argument, fills a list with one tensor, and remembers its last call.",
    minutes=8,
    difficulty="easy",
    hints=[
        "Print start before and after the call, the path, and the path of a second call.",
        "detach() cuts the graph and shares the memory. `position += velocity` writes into that memory; "
        "`position = position + velocity` makes a new tensor. append stores a reference, no copy.",
        "A default value is made once, when `def` runs, and is the same object in every call: make the list inside.",
        "`path, position = [], start.detach()`, and in the loop `position = position + velocity; path.append(position)`.",
    ],
)


def _wanted(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    return [start + step * velocity for step in range(1, steps + 1)]


def _compare(trial: Trial, got: list[Any], want: list[Tensor]) -> None:
    trial.equal(len(got), len(want), "The number of entries")
    for step, (have, need) in enumerate(zip(got, want, strict=True), 1):
        trial.equal(
            have,
            need,
            f"The position after step {step}",
            observed=(step, plain(got), getattr(have, "requires_grad", None)),
        )


def _path(answer: Any, trial: Trial, start: Tensor, velocity: Tensor, steps: int) -> list[Any]:
    """What the answer gives, if it is a list. The inputs are not watched here."""
    got = answer(start, velocity, steps)
    trial.true(
        isinstance(got, list),
        f"The answer gave {'None. Is a `return` missing?' if got is None else f'a {type(got).__name__}.'}",
        expected="a list of tensors",
        observed=("kind", type(got).__name__),
    )
    return got


@repair_trajectory.property("the positions after 1, 2, 3, ... steps")
def positions(answer: Any, trial: Trial) -> None:
    start, velocity = drawn(trial, 3), drawn(trial, 3)
    trial.given("start and velocity of shape (3,), float64, steps = 4")
    want = _wanted(start, velocity, 4)
    got = _path(answer, trial, start.clone(), velocity.clone(), 4)[
        -4:
    ]  # of a longer list another property tells
    if len(got) == 4 and all(isinstance(item, Tensor) for item in got):
        trial.true(
            any(item.shape != got[0].shape or not torch.equal(item, got[0]) for item in got[1:]),
            "All entries of the list hold the same numbers"
            + (": they are one tensor, which was appended 4 times." if got[0] is got[-1] else "."),
            expected="4 positions",
            got="1 position, 4 times",
            observed=("one position", torch.allclose(got[0], want[-1])),
        )
    _compare(trial, got, want)


@repair_trajectory.property("start and velocity are left as they are")
def arguments(answer: Any, trial: Trial) -> None:
    start, velocity = drawn(trial, 3), drawn(trial, 3)
    for steps in (3, 1):
        trial.given(f"start and velocity of shape (3,), steps = {steps}")
        _unchanged(answer, trial, start, velocity, steps)


@repair_trajectory.property("so is a start that is a column of a matrix")
def column(answer: Any, trial: Trial) -> None:
    matrix, velocity = drawn(trial, 3, 2), drawn(trial, 3)
    trial.given("start = matrix[:, 1], of shape (3,) and not contiguous; steps = 3")
    _unchanged(answer, trial, matrix[:, 1], velocity, 3)


def _unchanged(answer: Any, trial: Trial, start: Tensor, velocity: Tensor, steps: int) -> None:
    before = start.clone(), velocity.clone()
    answer(start, velocity, steps)
    changed = [
        name
        for name, now, old in (("start", start, before[0]), ("velocity", velocity, before[1]))
        if not torch.equal(now, old)
    ]
    trial.true(
        not changed,
        f"After the call {' and '.join(changed)} holds other numbers: the caller's tensor was edited.",
        expected="arguments as they were",
        got="edited",
        observed=changed,
    )


@repair_trajectory.property("each call gives a list of its own, with as many entries as steps")
def own_list(answer: Any, trial: Trial) -> None:
    start, velocity = drawn(trial, 2), drawn(trial, 2)
    for steps in (2, 0):
        trial.given(f"two calls, one after the other, with steps = {steps}")
        first = _path(answer, trial, start.clone(), velocity.clone(), steps)
        length = len(first)
        second = _path(answer, trial, start.clone(), velocity.clone(), steps)
        trial.true(
            first is not second and len(second) == length,
            "The second call goes on with the list of the first one.",
            expected="a new list in each call",
            got="a list that grows from call to call",
            observed="one list",
        )
        trial.true(
            length == steps,
            f"The list has {length} entries for {steps} steps.",
            expected=steps,
            got=length,
            observed=length - steps,
        )


@repair_trajectory.property(
    "the positions hang on no graph",
    after=(
        positions,
        arguments,
        column,
        own_list,
    ),
)
def no_graph(answer: Any, trial: Trial) -> None:
    start, velocity = drawn(trial, 3).requires_grad_(), drawn(trial, 3)
    trial.given("a start that requires grad, steps = 2")
    _compare(trial, _path(answer, trial, start, velocity, 2), _wanted(start.detach(), velocity, 2))
