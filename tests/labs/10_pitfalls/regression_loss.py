"""Right answers to 10.regression_loss, in different shapes."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def mean_of_squares(pred: Tensor, target: Tensor) -> Tensor:
    if pred.shape != target.shape:
        raise ValueError(f"pred has shape {tuple(pred.shape)}, target {tuple(target.shape)}")
    return ((pred - target) ** 2).mean()


def mse_of_torch(pred, target):
    if list(pred.size()) != list(target.size()):
        raise ValueError("shapes differ")
    return F.mse_loss(pred, target)


class ByDot:
    def __call__(self, pred, target):
        if pred.ndim != target.ndim or any(a != b for a, b in zip(pred.shape, target.shape, strict=True)):
            raise ValueError
        gap = (pred - target).reshape(-1)
        return gap.dot(gap) / len(gap)


RIGHT = [mean_of_squares, mse_of_torch, ByDot()]
