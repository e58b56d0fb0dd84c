"""Right answers to 10.repair_trajectory, in different shapes."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor


def moved(start: Tensor, velocity: Tensor, steps: int) -> list[Tensor]:
    path, position = [], start.detach()
    for _ in range(steps):
        position = position + velocity.detach()
        path.append(position)
    return path


def moved_in_place(start, velocity, steps):
    position = start.detach().clone()
    return [position.add_(velocity.data).clone() for _ in range(steps)]


@torch.no_grad()
def moved_at_once(start, velocity, steps):
    counts = torch.arange(1, steps + 1, dtype=start.dtype).reshape(-1, *[1] * start.ndim)
    return [position.clone() for position in start + counts * velocity]


def moved_by_accumulate(start, velocity, steps):
    positions = itertools.accumulate([velocity.detach()] * steps, torch.add, initial=start.detach())
    return list(positions)[1:]


RIGHT = [moved, moved_in_place, moved_at_once, moved_by_accumulate]
