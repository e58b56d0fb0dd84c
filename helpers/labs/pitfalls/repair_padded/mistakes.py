"""What people write for 10.repair_padded, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from helpers.labs.pitfalls.repair_padded.exercise import DTYPE, FILLED, LEFT, LENGTHS, MEMORY, repair_padded
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
            "All rows of the batch are the same: each write goes into all of them. Perhaps the batch was made by expand, "
            "which makes no memory (stride 0), or by a list times a number. torch says nothing.",
            MEMORY,
        ),
        "values_truncated": (
            "With a whole number as value the batch is int64, and 10.7 becomes 10. Perhaps torch.full takes its dtype "
            "from value: say dtype=rows[0].dtype.",
            DTYPE,
        ),
        "lengths_as_floats": (
            "The lengths are float32: they index nothing. Perhaps torch.Tensor, with a capital, made them: it is the "
            "class, and gives float32 from any list. torch.tensor looks at what it is given.",
            LENGTHS,
        ),
    },
)


def sizes(rows: list[Tensor]) -> Tensor:
    return torch.tensor([len(row) for row in rows])


def filled(rows: list[Tensor], value: float) -> Tensor:
    return pad_sequence(rows, batch_first=True, padding_value=value)


@repair_padded.variant("one_row_for_all")
def _(rows: list[Tensor], value: float) -> Padded:
    row = rows[0].new_full((max(map(len, rows)),), value)
    batch = [row] * len(rows)
    for target, source in zip(batch, rows, strict=True):
        target[: len(source)] = source
    return torch.stack(batch), sizes(rows)


@repair_padded.mistake(breaks=DTYPE)
def default_dtype(rows: list[Tensor], value: float) -> Padded:
    """The batch is float32, whatever the rows are: float64 loses half of its digits. Perhaps torch.zeros,
    torch.empty, full with a float, or torch.tensor of floats made it: they have the default dtype.
    """
    batch = torch.full((len(rows), max(map(len, rows))), float(value))
    for place, row in enumerate(rows):
        batch[place, : len(row)] = row
    return batch, sizes(rows)


@repair_padded.mistake(breaks=FILLED)
def padded_with_zeros(rows: list[Tensor], value: float) -> Padded:
    """Shorter rows are filled up with 0, whatever value is. Perhaps pad_sequence was not told padding_value."""
    return filled(rows, 0.0), sizes(rows)


@repair_padded.mistake(breaks="batch: of shape (number of rows, longest)")
def time_first(rows: list[Tensor], value: float) -> Padded:
    """This is the transpose, and it goes unseen in a square batch. Perhaps pad_sequence was not told
    batch_first=True.
    """
    return pad_sequence(rows, padding_value=value), sizes(rows)


@repair_padded.mistake(breaks=FILLED)
def padded_in_front(rows: list[Tensor], value: float) -> Padded:
    """The rows stand at the end of the batch and the padding before them: lengths then points at the wrong
    elements.
    """
    return pad_sequence(rows, batch_first=True, padding_value=value, padding_side="left"), sizes(rows)


@repair_padded.mistake(breaks="batch: of shape (number of rows, longest)")
def cut_to_the_shortest(rows: list[Tensor], value: float) -> Padded:
    """The batch is as wide as the shortest row, and data is lost. It is as wide as the longest one."""
    shortest = min(map(len, rows))
    return torch.stack([row[:shortest] for row in rows]), sizes(rows)


@repair_padded.mistake(breaks=FILLED)
def empty_rows_left_out(rows: list[Tensor], value: float) -> Padded:
    """A row without elements has no row in the batch, and all behind it move up. Perhaps rows are asked for their
    truth or length first.
    """
    return filled([row for row in rows if len(row)], value), sizes(rows)


@repair_padded.mistake(breaks=LENGTHS)
def lengths_of_the_batch(rows: list[Tensor], value: float) -> Padded:
    """All lengths are the same. Perhaps they were taken from the batch, whose rows are all as long as the longest."""
    batch = filled(rows, value)
    return batch, torch.tensor([len(row) for row in batch])


@repair_padded.mistake(breaks=LENGTHS)
def lengths_from_the_padding(rows: list[Tensor], value: float) -> Padded:
    """A row that holds the padding value, or a NaN as padding, has a wrong length. Perhaps the entries that differ
    from value were counted: only the rows know how long they are.
    """
    batch = filled(rows, value)
    return batch, (batch != value).sum(1)


@repair_padded.variant(lengths_from_the_padding)
def _(rows: list[Tensor], value: float) -> Padded:
    batch = filled(rows, value)
    return batch, ((batch != value).long().cumsum(1).max(1).values)


@repair_padded.mistake(breaks=LENGTHS)
def lengths_in_a_list(rows: list[Tensor], value: float) -> Padded:
    """The lengths are a list: it cannot be compared number by number, or moved to a device, as a tensor can."""
    return filled(rows, value), [len(row) for row in rows]


@repair_padded.mistake(breaks=MEMORY)
def one_row_as_it_is(rows: list[Tensor], value: float) -> Padded:
    """A batch of one row is that row: whoever edits the batch edits the data. Perhaps where nothing is to be filled
    up a view is returned.
    """
    return (rows[0].unsqueeze(0) if len(rows) == 1 else filled(rows, value)), sizes(rows)


_buffers: dict[tuple[int, ...], Tensor] = {}


@repair_padded.mistake(breaks=MEMORY)
def buffer_reused(rows: list[Tensor], value: float) -> Padded:
    """A second call writes into the batch of the first. Perhaps one buffer is kept for all batches of a size."""
    batch = filled(rows, value)
    kept = _buffers.setdefault((*batch.shape, batch.dtype), torch.empty_like(batch))
    return kept.copy_(batch), sizes(rows)


@repair_padded.mistake(breaks=LEFT)
def rows_edited(rows: list[Tensor], value: float) -> Padded:
    """The rows that were given hold other numbers after the call. Perhaps they were resized or filled in place."""
    batch, lengths = filled(rows, value), sizes(rows)
    for row in rows:
        row.fill_(value)
    return batch, lengths


@repair_padded.mistake(breaks=FILLED)
def padded_by_a_product(rows: list[Tensor], value: float) -> Padded:
    """With an infinite value the rows themselves are lost: they come out as NaN. Perhaps rows and value are multiplied
    by a mask of 0 and 1: inf * 0 is nan. masked_fill and where choose, and multiply nothing.
    """
    batch, lengths = filled(rows, 0.0), sizes(rows)
    mask = (torch.arange(batch.shape[1]) < lengths[:, None]).to(batch.dtype)
    return batch * mask + value * (1 - mask), lengths


@repair_padded.mistake(breaks=LEFT)
def rows_resized(rows: list[Tensor], value: float) -> Padded:
    """A row that was given has a different shape after the call. Perhaps resize_ makes it longer in place."""
    lengths, batch = sizes(rows), filled(rows, value)
    for row in rows:
        row.resize_(batch.shape[1])
    return batch, lengths


@repair_padded.mistake(breaks=FILLED)
def rows_sorted(rows: list[Tensor], value: float) -> Padded:
    """The longest row comes first in the batch, and the order of the rows is lost. Perhaps they were sorted for
    pack_padded_sequence: whoever has the targets keeps the old order.
    """
    rows = sorted(rows, key=len, reverse=True)
    return filled(rows, value), sizes(rows)


@repair_padded.mistake(breaks=FILLED)
def value_cut(rows: list[Tensor], value: float) -> Padded:
    """The padding is value without what stands behind the point. Perhaps int(value), or a padding that is made as
    whole numbers.
    """
    return filled(rows, float(int(value)) if abs(value) < 1e9 else value), sizes(rows)


@repair_padded.mistake(breaks=LENGTHS)
def lengths_in_int32(rows: list[Tensor], value: float) -> Padded:
    """The lengths are int32. Perhaps .int() or dtype=torch.int32: int64 was asked for, as torch makes of whole numbers."""
    return filled(rows, value), sizes(rows).int()


@repair_padded.mistake(breaks=FILLED)
def zeros_taken_for_padding(rows: list[Tensor], value: float) -> Padded:
    """A 0 in a row is lost, and no other number. Perhaps the rows are filled up with zeros, and then each 0 becomes
    value: only the lengths know what is padding.
    """
    batch = filled(rows, 0.0)
    batch[batch == 0] = value
    return batch, sizes(rows)


@repair_padded.mistake(breaks=FILLED)
def nan_taken_for_padding(rows: list[Tensor], value: float) -> Padded:
    """A NaN in a row is lost. Perhaps the rows are filled up with NaN, and then each NaN becomes value: only the lengths
    know what is padding.
    """
    batch = filled(rows, float("nan"))
    return batch.masked_fill(batch.isnan(), value), sizes(rows)


@repair_padded.mistake(breaks=FILLED)
def infinity_taken_for_padding(rows: list[Tensor], value: float) -> Padded:
    """An infinite number in a row is lost. Perhaps the rows are filled up with inf, and then each of them becomes value:
    only the lengths know what is padding.
    """
    batch = filled(rows, float("inf"))
    return torch.where(batch == float("inf"), value, batch), sizes(rows)


@repair_padded.variant(infinity_taken_for_padding)
def _(rows: list[Tensor], value: float) -> Padded:
    batch = filled(rows, float("-inf"))
    return torch.where(batch == float("-inf"), value, batch), sizes(rows)


@repair_padded.variant(infinity_taken_for_padding)
def _(rows: list[Tensor], value: float) -> Padded:
    batch = filled(rows, float("inf"))
    return batch.masked_fill(batch.isinf(), value), sizes(rows)


@repair_padded.variant(nan_taken_for_padding)
def _(rows: list[Tensor], value: float) -> Padded:
    return filled(rows, float("nan")).nan_to_num(value), sizes(rows)


@repair_padded.variant(nan_taken_for_padding)
def _(rows: list[Tensor], value: float) -> Padded:
    batch = filled(rows, float("nan"))
    return torch.where(batch.isfinite(), batch, value), sizes(rows)


@repair_padded.mistake(breaks=LEFT)
def list_of_rows_changed(rows: list[Tensor], value: float) -> Padded:
    """The caller's list is not as it was: its rows, or their order, are not the same. Perhaps `rows.sort()` sorts the list that
    was given, or padded rows are put in their places: sorted(rows) is a new list.
    """
    rows.sort(key=len, reverse=True)
    return filled(rows, value), sizes(rows)


@repair_padded.variant(list_of_rows_changed)
def _(rows: list[Tensor], value: float) -> Padded:
    lengths, longest = sizes(rows), max(map(len, rows))
    for place, row in enumerate(rows):
        rows[place] = torch.cat([row, row.new_full((longest - len(row),), value)])
    return torch.stack(rows), lengths
