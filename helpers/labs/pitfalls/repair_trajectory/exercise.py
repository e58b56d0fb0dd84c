"""Exercise 10.repair_trajectory: detach shares memory, += writes in place, a list holds objects."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial, plain
from helpers.exercise import Exercise
from helpers.labs.pitfalls.shared.repairs import drawn, keeps_dtype, same_dtype
from helpers.notebook.stubs import missing_exercise

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


POSITIONS = "The positions start + velocity, start + 2 · velocity, ..., one for each step."
LIST = "a new list in each call."
MEMORY = "Each tensor has memory of its own."
LARGE = (
    1000  # a velocity that is added to start and subtracted again does not leave its last digits as they were
)
GRAPH = "None has a graph."
LEFT = "start and velocity are left as they are."


def _wanted(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    return [start + step * velocity for step in range(1, steps + 1)]


def _compare(trial: Trial, got: list[Any], want: list[Tensor]) -> None:
    trial.equal(len(got), len(want), "The number of entries")
    for step, (have, need) in enumerate(zip(got, want, strict=True), 1):
        same_dtype(trial, have, need, f"The position after step {step}")
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
        got=type(got).__name__,
        observed=("kind", type(got).__name__),
    )
    return got


@repair_trajectory.property("the positions after 1, 2, 3, ... steps", asks=POSITIONS)
def positions(answer: Any, trial: Trial) -> None:
    start, velocity = drawn(trial, 3), drawn(trial, 3)
    trial.given("start and velocity of shape (3,), float64, steps = 4")
    want = _wanted(start, velocity, 4)
    got = _path(answer, trial, start.clone(), velocity.clone(), 4)[
        -4:
    ]  # of a longer list a different property tells
    if len(got) == 4 and all(isinstance(item, Tensor) and item.shape == (3,) for item in got):
        trial.true(
            any(item.shape != got[0].shape or not torch.equal(item, got[0]) for item in got[1:]),
            "All entries of the list hold the same numbers"
            + (": they are one tensor, which stands there 4 times." if got[0] is got[-1] else "."),
            expected="4 positions",
            got="1 position, 4 times",
            observed=("one position", torch.allclose(got[0].to(want[-1].dtype), want[-1])),
        )
    _compare(trial, got, want)


@repair_trajectory.property(
    "a start that is a column of a matrix is left as it is, and so is velocity", asks=LEFT
)
def column(answer: Any, trial: Trial) -> None:
    matrix, velocity = drawn(trial, 3, 2), LARGE * drawn(trial, 3)
    trial.given("start = matrix[:, 1], of shape (3,) and not contiguous; steps = 3")
    _unchanged(answer, trial, matrix[:, 1], velocity, 3)


@repair_trajectory.property("so are a start and a velocity that are contiguous", asks=LEFT)
def arguments(answer: Any, trial: Trial) -> None:
    start, velocity = drawn(trial, 3), LARGE * drawn(trial, 3)
    for steps in (3, 1):
        trial.given(f"start and velocity of shape (3,), steps = {steps}")
        _unchanged(answer, trial, start, velocity, steps)
    trial.given("start and velocity of shape (3,) that require grad, steps = 2")
    _unchanged(answer, trial, start.requires_grad_(), velocity.requires_grad_(), 2)


def _held(now: Tensor, before: Tensor, velocity: Tensor, steps: int) -> str:
    """What start holds after the call."""
    if now.shape != before.shape:
        return "a different shape"
    known = {
        "as before": torch.equal(now, before),
        "nearly as before": torch.allclose(now, before, rtol=1e-6),
        "the last position": torch.allclose(now, before + steps * velocity),
    }
    return next((name for name, holds in known.items() if holds), "other numbers")


def _unchanged(answer: Any, trial: Trial, start: Tensor, velocity: Tensor, steps: int) -> None:
    before = start.detach().clone(), velocity.detach().clone()
    learned = start.requires_grad, velocity.requires_grad
    answer(start, velocity, steps)
    changed = [
        name
        for name, now, old in (("start", start, before[0]), ("velocity", velocity, before[1]))
        if now.shape != old.shape or not torch.equal(now.detach(), old)
    ]
    trial.true(
        not changed,
        f"After the call {' and '.join(changed)} holds other numbers: the caller's tensor was edited.",
        expected="arguments as they were",
        got="edited",
        observed=(changed, _held(start.detach(), before[0], velocity.detach(), steps)),
    )
    other = [
        f"{name}.requires_grad is {now.requires_grad}, and was {was}"
        for name, now, was in (("start", start, learned[0]), ("velocity", velocity, learned[1]))
        if now.requires_grad != was
    ]
    trial.true(
        not other,
        f"After the call {' and '.join(other)}: the caller's tensor was edited.",
        expected="arguments as they were",
        got="; ".join(other),
        observed=("requires grad", other),
    )


@repair_trajectory.property(
    "each call gives a list of its own, with as many entries as steps",
    asks=("Returns a list of `steps` tensors", LIST),
)
def own_list(answer: Any, trial: Trial) -> None:
    for steps in (2, 0):
        start, velocity, moved = drawn(trial, 2), drawn(trial, 2), drawn(trial, 2)
        trial.given(f"two calls, one after the other, with the same start and velocity; steps = {steps}")
        first = _path(answer, trial, start, velocity, steps)
        length = len(first)
        second = _path(answer, trial, start, velocity, steps)
        trial.true(
            len(second) == length,
            "The second call goes on with the list of the first one.",
            expected="as many entries as in the first call",
            got=f"{abs(len(second) - length)} {'more' if len(second) > length else 'fewer'}",
            observed="one list",
        )
        always = first is second and _path(answer, trial, moved, velocity, steps) is first
        trial.true(
            first is not second,
            "The second call gives the very list that the first one gave"
            + (
                ", and so does one with a different start: what the first call gave is lost."
                if always
                else "."
            ),
            expected="a new list in each call",
            got="one list",
            observed=("the same list", always),
        )
        trial.true(
            length == steps,
            f"The list has {length} {'entry' if length == 1 else 'entries'} for {steps} steps.",
            expected=f"{steps} entries",
            got=length,
            observed=(steps, length - steps, length > 0 and torch.equal(first[0].detach(), start)),
        )
        if steps:
            _moved_start(answer, trial, first, start, velocity)


def _moved_start(answer: Any, trial: Trial, first: list[Any], start: Tensor, velocity: Tensor) -> None:
    """Wrong if a call after start was moved gives the positions of before."""
    before = [position.detach().clone() for position in first]
    start.add_(1)  # the same tensor holds other numbers now
    trial.given(
        f"a call, start.add_(1), and a second call with the same start and velocity; steps = {len(first)}"
    )
    again = _path(answer, trial, start, velocity, len(first))
    trial.true(
        len(again) != len(before)
        or any(not torch.equal(new.detach(), old) for new, old in zip(again, before, strict=True)),
        "start holds other numbers in the second call, and the positions are those of the first one.",
        expected=_wanted(start, velocity, len(first))[0],
        got=again[0].detach() if again else again,
        observed="positions of before",
    )


@repair_trajectory.property("points of any shape", asks=POSITIONS, after=(positions,))
def any_shape(answer: Any, trial: Trial) -> None:
    for shape in ((2, 5), (4, 1, 3), ()):
        start, velocity = drawn(trial, *shape), drawn(trial, *shape)
        trial.given(f"start and velocity of shape {shape}, float64, steps = 4")
        _compare(trial, _path(answer, trial, start, velocity, 4), _wanted(start, velocity, 4))


@repair_trajectory.property(
    "start and velocity of any strides", asks=(POSITIONS, "of any strides"), after=(positions,)
)
def any_strides(answer: Any, trial: Trial) -> None:
    wide, line, row = drawn(trial, 2, 3), drawn(trial, 3), drawn(trial, 3, 1)
    for start, velocity, about in (
        (wide.T, drawn(trial, 3, 2), "start is the transpose of a matrix"),
        (drawn(trial, 3, 2), wide.T, "velocity is the transpose of a matrix"),
        (row.expand(3, 2), drawn(trial, 3, 2), "start is expanded: its rows have stride 0"),
        (line, row[:1, 0].expand(3), "velocity is expanded: it has stride 0"),
    ):
        trial.given(f"{about}; both of shape {tuple(start.shape)}, float64, steps = 3")
        want = _wanted(start, velocity, 3)
        try:
            got = _path(answer, trial, start, velocity, 3)
        except RuntimeError as error:
            if missing_exercise(error):
                raise
            trial.fail(
                f"The answer raised RuntimeError: {error}",
                expected="3 positions",
                got="RuntimeError",
                observed=("raised", about),
            )
        _compare(trial, got, want)


VALUES = (positions, arguments, column, own_list, any_shape, any_strides)


@repair_trajectory.property("the positions depend on no graph", asks=GRAPH, after=VALUES)
def no_graph(answer: Any, trial: Trial) -> None:
    for learned in ("start", "velocity"):
        start, velocity = drawn(trial, 3), drawn(trial, 3)
        (start if learned == "start" else velocity).requires_grad_()
        trial.given(f"a {learned} that requires grad, steps = 2")
        for step, position in enumerate(_path(answer, trial, start, velocity, 2), 1):
            trial.true(
                not position.requires_grad,
                f"The position after step {step} has a graph, which is kept alive as long as the path.",
                expected="requires_grad=False",
                got="requires_grad=True",
                observed=("graph", learned),
            )


@repair_trajectory.property("each position has memory of its own", asks=MEMORY, after=VALUES)
def own_memory(answer: Any, trial: Trial) -> None:
    for steps in (3, 1):
        start, velocity = drawn(trial, 3), drawn(trial, 3)
        trial.given(f"start and velocity of shape (3,), float64, steps = {steps}; their storages")
        path = _path(answer, trial, start, velocity, steps)
        kept = {position.untyped_storage().data_ptr() for position in path}
        again = _path(answer, trial, start, velocity, steps)
        trial.true(
            not any(position.untyped_storage().data_ptr() in kept for position in again),
            "Positions of a second call with the same arguments share their memory with those of the first.",
            expected="tensors with memory of their own in each call",
            got="shared memory",
            observed="shared by two calls",
        )
        storages = [tensor.untyped_storage().data_ptr() for tensor in (start, velocity, *path)]
        trial.true(
            len(set(storages)) == len(storages),
            "Positions are views of one storage: whoever keeps one keeps all, and torch.save of one writes all."
            if len(set(storages[2:])) < steps
            else "A position shares its memory with start or velocity.",
            expected=f"{steps + 2} storages: that of start, that of velocity, and one a position",
            got=f"{len(set(storages))} storages",
            observed=("storages", len(set(storages[2:])) == steps),
        )


@repair_trajectory.property("the dtype of start is kept", asks="of the dtype of start")
def dtype_kept(answer: Any, trial: Trial) -> None:
    start, velocity = drawn(trial, 3, dtype=torch.float32), drawn(trial, 3, dtype=torch.float32)
    trial.given("start and velocity of shape (3,), float32, steps = 2")
    for position in _path(answer, trial, start, velocity, 2):
        keeps_dtype(trial, position, torch.float32, "a position")
