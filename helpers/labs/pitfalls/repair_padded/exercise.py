"""Exercise 10.repair_padded: writing through expand, the dtype of full, and torch.Tensor with a capital T."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial, plain
from helpers.exercise import Exercise
from helpers.labs.pitfalls.shared.repairs import drawn

repair_padded = Exercise(
    "10.repair_padded",
    "Repair: rows of unequal length in one batch",
    objective="Repair a batch whose rows share memory, whose dtype follows the padding, and whose lengths are floats.",
    minutes=8,
    difficulty="easy",
    core=False,
    hints=[
        "Look at batch.stride() after expand: how many rows are there in memory?",
        "torch.full takes its dtype from the number: 0 gives int64, and a write into it cuts what comes after the point. "
        "torch.Tensor([...]) is float32 whatever stands in the list; torch.tensor([...]) looks at the numbers.",
        "`batch = rows[0].new_full((len(rows), longest), value)` has memory for each row, and the dtype of the rows. "
        "`lengths = torch.tensor([len(row) for row in rows])`.",
    ],
)


def wanted(rows: list[Tensor], value: float) -> Tensor:
    """Row by row."""
    longest = max(len(row) for row in rows)
    return torch.stack([torch.cat([row, row.new_full((longest - len(row),), value)]) for row in rows])


def _pair(answer: Any, trial: Trial, rows: list[Tensor], value: float) -> tuple[Any, Any]:
    got = trial.call(answer, rows, value)
    trial.true(
        isinstance(got, tuple) and len(got) == 2,
        f"The answer gave {'None. Is a `return` missing?' if got is None else f'a {type(got).__name__}.'}",
        expected="the tuple (batch, lengths)",
        observed=("kind", type(got).__name__),
    )
    return got


def _batch_compared(
    answer: Any, trial: Trial, lengths: tuple[int, ...], value: float, dtype: torch.dtype
) -> None:
    rows = [10 + drawn(trial, length, dtype=dtype) for length in lengths]
    trial.given(f"rows of length {lengths}, {dtype}, value = {value!r}")
    batch, _ = _pair(answer, trial, rows, value)
    want = wanted(rows, value)
    if isinstance(batch, Tensor) and batch.shape == want.shape and batch.dtype == want.dtype:
        alike = bool((batch == batch[:1]).all())
        message = "The batch: its rows are all the same." if alike else "The batch holds other numbers."
        trial.true(torch.equal(batch, want), message, expected=want, got=batch, observed=plain(batch))
    trial.equal(batch, want, "The batch")


@repair_padded.property("rows of one length: each in its own row of the batch")
def one_length(answer: Any, trial: Trial) -> None:
    _batch_compared(answer, trial, (3, 3), -1.5, torch.float32)


@repair_padded.property("shorter rows: filled up with value at their end")
def ragged(answer: Any, trial: Trial) -> None:
    _batch_compared(answer, trial, (2, 4, 1, 3), -1.5, torch.float32)


@repair_padded.property("a row without elements is all padding")
def empty_row(answer: Any, trial: Trial) -> None:
    _batch_compared(answer, trial, (2, 0, 3), 0.5, torch.float32)


@repair_padded.property("the batch has the dtype of the rows, also for a whole number as value")
def whole_number(answer: Any, trial: Trial) -> None:
    _batch_compared(answer, trial, (2, 3), 0, torch.float32)


@repair_padded.property("the batch has the dtype of the rows, also for float64")
def double_rows(answer: Any, trial: Trial) -> None:
    _batch_compared(answer, trial, (2, 3), -1.5, torch.float64)


@repair_padded.property("lengths are whole numbers, int64, one a row")
def lengths(answer: Any, trial: Trial) -> None:
    rows = [drawn(trial, length, dtype=torch.float32) for length in (2, 4, 1)]
    trial.given("rows of length (2, 4, 1), value = -1.5")
    _, got = _pair(answer, trial, rows, -1.5)
    trial.equal(got, torch.tensor([2, 4, 1]), "The lengths")


@repair_padded.property("the batch shares no memory with the rows", once_right=True)
def own_memory(answer: Any, trial: Trial) -> None:
    rows = [drawn(trial, 3, dtype=torch.float32)]
    before = rows[0].clone()
    trial.given("a list with one row, which is edited in the batch afterwards")
    batch, _ = _pair(answer, trial, rows, 0.0)
    batch.mul_(2)
    trial.true(
        torch.equal(rows[0], before),
        "The batch was edited, and the row that was given has changed.",
        expected="a row as it was",
        got="edited",
        observed="shared",
    )
