"""Right answers to 10.repair_padded, in different shapes."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence


def filled(rows: list[Tensor], value: float) -> tuple[Tensor, Tensor]:
    longest = max(len(row) for row in rows)
    batch = rows[0].new_full((len(rows), longest), value)
    for place, row in enumerate(rows):
        batch[place, : len(row)] = row
    return batch, torch.tensor([len(row) for row in rows])


def filled_by_torch(rows, value):
    lengths = torch.as_tensor([row.numel() for row in rows])
    return pad_sequence(rows, batch_first=True, padding_value=value), lengths


def filled_by_pad(rows, value):
    lengths = torch.tensor([row.size(0) for row in rows], dtype=torch.int64)
    longest = int(lengths.max())
    return torch.stack([F.pad(row, (0, longest - len(row)), value=value) for row in rows]), lengths


def filled_by_expand_and_clone(rows, value):
    longest = max(map(len, rows))
    batch = torch.full((1, longest), value, dtype=rows[0].dtype).expand(len(rows), longest).clone()
    for target, row in zip(batch, rows, strict=True):
        target[: len(row)].copy_(row)
    return batch, torch.LongTensor([len(row) for row in rows])


RIGHT = [filled, filled_by_torch, filled_by_pad, filled_by_expand_and_clone]
