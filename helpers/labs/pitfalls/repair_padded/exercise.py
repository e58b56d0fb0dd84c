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


FILLED = "The rows in one batch, the shorter ones filled up at their end, and their lengths."
DTYPE = "of the dtype of the rows"
LEFT = "The rows are left as they are."
MEMORY = "with memory of its own."
LENGTHS = "lengths: of shape (number of rows,), int64, of the rows as they came."


def same(row: Tensor, other: Tensor) -> bool:
    """Number by number, and a NaN is a NaN."""
    return torch.allclose(row, other, rtol=0, atol=0, equal_nan=True)


def _pair(answer: Any, trial: Trial, rows: list[Tensor], value: float) -> tuple[Any, Any]:
    before = [row.clone() for row in rows]
    got = trial.call(answer, rows, value)
    resized = [len(old) for row, old in zip(rows, before, strict=True) if row.shape != old.shape]
    trial.true(
        not resized,
        "A row that was given has a different shape after the call.",
        expected="rows as they were",
        got=f"resized rows, which had the lengths {resized}",
        observed="rows resized",
    )
    trial.true(
        all(same(row, old) for row, old in zip(rows, before, strict=True)),
        "The rows that were given hold other numbers after the call.",
        expected="rows as they were",
        got="edited",
        observed="rows edited",
    )
    trial.true(
        isinstance(got, tuple) and len(got) == 2,
        f"The answer gave {'None. Is a `return` missing?' if got is None else f'a {type(got).__name__}.'}",
        expected="the tuple (batch, lengths)",
        got=type(got).__name__,
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
        trial.true(
            not alike,
            "The batch: its rows are all the same.",
            expected=want,
            got=batch,
            observed=plain(batch),
        )
    trial.equal(batch, want, "The batch", rtol=0, atol=0)


@repair_padded.property(
    "rows of one length: each in its own row of the batch",
    asks=("Returns the tuple (batch, lengths):", "batch: of shape (number of rows, longest)", LEFT),
)
def one_length(answer: Any, trial: Trial) -> None:
    _batch_compared(answer, trial, (3, 3), -1.5, torch.float32)


@repair_padded.property("shorter rows: filled up with value at their end", asks=FILLED)
def ragged(answer: Any, trial: Trial) -> None:
    _batch_compared(answer, trial, (2, 5, 1, 3), -1.5, torch.float32)


# Where the padding is told by its numbers, one of these in a row is taken for it.
IN_A_ROW = {"0": 0.0, "NaN": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


@repair_padded.property(
    "a row may hold 0, NaN, and infinite numbers", asks=FILLED, after=(one_length, ragged)
)
def numbers_in_a_row(answer: Any, trial: Trial) -> None:
    rows = [10 + drawn(trial, length, dtype=torch.float32) for length in (2, 6, 3)]
    rows[1][1:5] = torch.tensor(list(IN_A_ROW.values()))
    trial.given(f"rows of length (2, 6, 3), torch.float32; rows[1] holds {', '.join(IN_A_ROW)}; value = -1.5")
    batch, _ = _pair(answer, trial, rows, -1.5)
    want, observed = wanted(rows, -1.5), None
    if isinstance(batch, Tensor) and batch.shape == want.shape:
        kept = batch[1, 1:5].double(), want[1, 1:5].double()
        lost = [name for name, have, need in zip(IN_A_ROW, *kept, strict=True) if not same(have, need)]
        observed = ("lost", lost) if lost else plain(batch)
    trial.equal(batch, want, "The batch", rtol=0, atol=0, observed=observed)


@repair_padded.property("value may be infinite or NaN", asks=(FILLED, "value: the padding, int or float"))
def any_value(answer: Any, trial: Trial) -> None:
    for value in (float("-inf"), float("nan")):
        _batch_compared(answer, trial, (2, 4, 1), value, torch.float32)


@repair_padded.property("a row without elements is all padding", asks=FILLED)
def empty_row(answer: Any, trial: Trial) -> None:
    _batch_compared(answer, trial, (2, 0, 4), 0.5, torch.float32)


@repair_padded.property("the batch has the dtype of the rows, also for a whole number as value", asks=DTYPE)
def whole_number(answer: Any, trial: Trial) -> None:
    _batch_compared(answer, trial, (2, 3), 0, torch.float32)


@repair_padded.property("the batch has the dtype of the rows, also for float64 and bfloat16", asks=DTYPE)
def other_dtypes(answer: Any, trial: Trial) -> None:
    _batch_compared(answer, trial, (2, 3), -1.5, torch.float64)
    _batch_compared(answer, trial, (4, 3), -1.5, torch.bfloat16)


@repair_padded.property("lengths are whole numbers, int64, one a row", asks=LENGTHS)
def lengths(answer: Any, trial: Trial) -> None:
    rows = [drawn(trial, length, dtype=torch.float32) for length in (2, 4, 1)]
    trial.given("rows of length (2, 4, 1), value = -1.5")
    _, got = _pair(answer, trial, rows, -1.5)
    trial.equal(got, torch.tensor([2, 4, 1]), "The lengths")


@repair_padded.property(
    "lengths are those of the rows, also where a row holds the padding value", asks=LENGTHS
)
def lengths_beside_the_value(answer: Any, trial: Trial) -> None:
    for value in (0.0, float("nan")):
        rows = [drawn(trial, length, dtype=torch.float32) for length in (3, 5, 2)]
        rows[0][2], rows[1][0], rows[1][3] = value, value, value
        trial.given(f"rows of length (3, 5, 2), some of which hold {value}; value = {value}")
        _, got = _pair(answer, trial, rows, value)
        trial.equal(got, torch.tensor([3, 5, 2]), "The lengths")


@repair_padded.property("the batch shares no memory with the rows", asks=MEMORY, once_right=True)
def own_memory(answer: Any, trial: Trial) -> None:
    for shapes in ((3,), (3, 3)):
        rows = [drawn(trial, length, dtype=torch.float32) for length in shapes]
        before = [row.clone() for row in rows]
        trial.given(f"rows of length {shapes}; the batch is edited afterwards")
        batch, _ = _pair(answer, trial, rows, 0.0)
        batch.mul_(2)
        trial.true(
            all(torch.equal(row, old) for row, old in zip(rows, before, strict=True)),
            "The batch was edited, and a row that was given has changed.",
            expected="rows as they were",
            got="edited",
            observed=("shared", len(rows)),
        )


@repair_padded.property("nor with the batch of the call before", asks=MEMORY, once_right=True)
def new_memory(answer: Any, trial: Trial) -> None:
    rows, others = ([drawn(trial, length, dtype=torch.float32) for length in (2, 3)] for _ in range(2))
    trial.given("rows of length (2, 3), then other rows of length (2, 3)")
    batch, _ = _pair(answer, trial, rows, 0.0)
    before = batch.clone()
    _pair(answer, trial, others, 0.0)
    trial.equal(batch, before, "The first batch, after the second call", observed="reused")
