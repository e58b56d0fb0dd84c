"""What people write for 10.repair_padded, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from helpers.labs.pitfalls.repair_padded.exercise import repair_padded
from helpers.labs.pitfalls.shared.repairs import add_pitfalls

Padded = tuple[Tensor, Tensor]


def broken(have: set[str]) -> Callable[[list[Tensor], float], Padded]:
    """The text's code with some of its pitfalls."""

    def padded(rows: list[Tensor], value: float) -> Padded:
        count, longest = len(rows), max(len(row) for row in rows)
        dtype = None if "values_truncated" in have else rows[0].dtype
        if "one_row_for_all" in have:
            batch = torch.full((1, longest), value, dtype=dtype).expand(count, longest)
        else:
            batch = torch.full((count, longest), value, dtype=dtype)
        for place, row in enumerate(rows):
            batch[place, : len(row)] = row
        sizes = [len(row) for row in rows]
        return batch, torch.Tensor(sizes) if "lengths_as_floats" in have else torch.tensor(sizes)

    return padded


add_pitfalls(
    repair_padded,
    broken,
    {
        "one_row_for_all": (
            "expand makes no memory: all rows of the batch are the one row, read again with stride 0. Each write goes "
            "into all of them, and torch says nothing, as no single write meets itself."
        ),
        "values_truncated": (
            "torch.full takes its dtype from value: an int gives int64, and 10.7 written into it is 10. A float gives "
            "the default dtype, float32, whatever the rows are."
        ),
        "lengths_as_floats": (
            "torch.Tensor, with a capital, is the class: float32 from any list, and from one number a tensor of that "
            "size, not filled. torch.tensor looks at what it is given."
        ),
    },
)


def sizes(rows: list[Tensor]) -> Tensor:
    return torch.tensor([len(row) for row in rows])


@repair_padded.variant("one_row_for_all")
def _(rows: list[Tensor], value: float) -> Padded:
    row = rows[0].new_full((max(map(len, rows)),), value)
    batch = [row] * len(rows)
    for target, source in zip(batch, rows, strict=True):
        target[: len(source)] = source
    return torch.stack(batch), sizes(rows)


@repair_padded.mistake()
def default_dtype(rows: list[Tensor], value: float) -> Padded:
    """torch.zeros(...), torch.empty(...) and full with a float have the default dtype, float32. Rows in
    float64 lose half of their digits when they are written into it.
    """
    batch = torch.full((len(rows), max(map(len, rows))), float(value))
    for place, row in enumerate(rows):
        batch[place, : len(row)] = row
    return batch, sizes(rows)


@repair_padded.mistake()
def padded_with_zeros(rows: list[Tensor], value: float) -> Padded:
    """pad_sequence fills up with 0 unless padding_value says something else: value is not used."""
    return pad_sequence(rows, batch_first=True), sizes(rows)


@repair_padded.mistake()
def time_first(rows: list[Tensor], value: float) -> Padded:
    """pad_sequence puts time first unless batch_first=True: this is the transpose, and it goes unseen in a
    square batch.
    """
    return pad_sequence(rows, padding_value=value), sizes(rows)


@repair_padded.mistake()
def padded_in_front(rows: list[Tensor], value: float) -> Padded:
    """The rows stand at the end of the batch and the padding before them. lengths then points at the wrong
    elements.
    """
    return pad_sequence(rows, batch_first=True, padding_value=value, padding_side="left"), sizes(rows)


@repair_padded.mistake()
def cut_to_the_shortest(rows: list[Tensor], value: float) -> Padded:
    """The batch is as wide as the longest row. Cut to the shortest one, it loses data."""
    shortest = min(map(len, rows))
    return torch.stack([row[:shortest] for row in rows]), sizes(rows)


@repair_padded.mistake()
def lengths_of_the_batch(rows: list[Tensor], value: float) -> Padded:
    """All rows of the batch have the same length now: the lengths that were asked for are those of the rows
    before.
    """
    batch = pad_sequence(rows, batch_first=True, padding_value=value)
    return batch, torch.tensor([len(row) for row in batch])


@repair_padded.mistake()
def lengths_in_a_list(rows: list[Tensor], value: float) -> Padded:
    """A list cannot be indexed with, compared or moved to a device like a tensor; a tensor was asked for."""
    return pad_sequence(rows, batch_first=True, padding_value=value), [len(row) for row in rows]
