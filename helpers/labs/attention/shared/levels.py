"""Scores that are large: what a softmax by blocks is tried on."""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.labs.attention.shared.blocks import randn


def with_scores(levels: list[list[float]], trial: Trial) -> tuple[Tensor, Tensor, Tensor]:
    """q, k and v of float32, one batch and one head, D = 4: query i has the score levels[i][j] for key j, exactly.

    The levels are multiples of 0.5, and of a power of 2 that is large enough to hold them in float32.
    """
    wanted = torch.tensor(levels, dtype=torch.float32)
    queries, keys = wanted.shape
    q, k = torch.zeros(1, 1, queries, 4), torch.zeros(1, 1, keys, 4)
    q[0, 0, :, :queries] = 2 * torch.eye(queries)  # the root of D is 2
    k[0, 0, :, :queries] = wanted.T
    return q, k, randn(trial, 1, 1, keys, 4, dtype=torch.float32)


HUGE = 2.0**40
# Block 2. In each case the scores of a query differ by little among some keys, and by much among others.
LEVELS: dict[str, list[list[float]]] = {
    "all scores near 10,000": [[10_000, 10_001, 9_999.5, 10_000.5, 10_002], [9_999, 10_000, 10_001, 10_000.5, 9_998]],
    "all scores near -10,000": [
        [-10_000, -10_001, -9_999.5, -10_000.5, -10_002],
        [-9_999, -10_000, -10_001, -10_000.5, -9_998],
    ],
    "scores that rise from -10,000 to 10,000": [[-10_000, -9_999, 0, 1, 10_000, 10_001], [-9_998, -10_000, -1, 0, 9_999, 9_998]],
    "scores that fall from 10,000 to -10,000": [[10_000, 10_001, 0, 1, -10_000, -9_999], [9_999, 9_998, -1, 0, -9_998, -10_000]],
    "scores near 10,000 for one query, near -10,000 for the other": [
        [10_000, 10_001, 9_999.5, 10_000.5],
        [-10_000, -10_001, -9_999.5, -10_000.5],
    ],
    "scores near 10,000 and -10,000 by turns": [[10_000, -10_000, 10_001, -9_999, 9_999, -10_001], [-10_000, 1, 10_000, 10_001, 0, -9_999]],
    "scores below -1,000,000,000,000": [[-HUGE, -2 * HUGE, -1.5 * HUGE], [-1.25 * HUGE, -HUGE, -4 * HUGE]],
}  # fmt: skip
