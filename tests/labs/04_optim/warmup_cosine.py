"""Right answers to 04.warmup_cosine, in different shapes."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import torch


def warmup_in_three_pieces(step: int, warmup: int, total: int, floor: float) -> float:
    """The solution of the notebook."""
    if step < warmup:
        return (step + 1) / (warmup + 1)
    if step >= total:
        return floor
    progress = (step - warmup) / (total - warmup)
    return floor + (1 - floor) * (1 + math.cos(math.pi * progress)) / 2


def warmup_by_interpolation(step: int, warmup: int, total: int, floor: float) -> float:
    """The line by np.interp, the cosine as a square, one expression each."""
    line = np.interp(step, [-1, warmup], [0, 1])
    way = np.clip((step - warmup) / (total - warmup), 0, 1)
    return float(line * (1 - (1 - floor) * np.sin(math.pi / 2 * way) ** 2))


@lru_cache(1)
def curve(warmup: int, total: int, floor: float) -> list[float]:
    steps = torch.arange(total - warmup, dtype=torch.float64)
    fall = torch.cos(math.pi * steps / (total - warmup)).add(1).mul(0.5 * (1 - floor)).add(floor)
    return torch.cat([torch.linspace(0, 1, warmup + 2, dtype=torch.float64)[1:-1], fall]).tolist()


def warmup_from_a_table(step: int, warmup: int, total: int, floor: float) -> float:
    table = curve(warmup, total, floor)
    return table[step] if step < len(table) else floor


class Schedule:
    def __call__(self, step: int, warmup: int, total: int, floor: float) -> Any:
        match step:
            case _ if step < warmup:
                return 1 - (warmup - step) / (warmup + 1)
            case _:
                progress = min(1, (step - warmup) / (total - warmup))
                return floor * (1 - (w := 0.5 * (1 + math.cos(math.pi * progress)))) + w


RIGHT = [warmup_in_three_pieces, warmup_by_interpolation, warmup_from_a_table, Schedule()]
