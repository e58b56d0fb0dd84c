"""Right answers to 10.repair_accuracy, in different shapes."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def accuracy(batches: list[tuple[Tensor, Tensor]]) -> float:
    hits = count = 0
    for logits, target in batches:
        hits += ((logits.squeeze(1) > 0) == (target == 1)).sum().item()
        count += len(target)
    return hits / count


def accuracy_of_all(batches):
    logits = torch.cat([logits for logits, _ in batches]).view(-1)
    target = torch.cat([target for _, target in batches])
    return (logits.sigmoid() > 0.5).long().eq(target).float().mean().item()


def accuracy_weighted(batches):
    means = [(logits[:, 0].gt(0) == target.bool()).float().mean() for logits, target in batches]
    sizes = torch.tensor([len(target) for _, target in batches], dtype=torch.float32)
    return float(torch.stack(means) @ sizes / sizes.sum())


def accuracy_by_squeeze(batches):
    """squeeze() without a dim is harmless here: () and (1,) make one comparison."""
    right = [(logits.squeeze() > 0).int() == target for logits, target in batches]
    return float(np.mean(torch.cat(right).numpy()))


RIGHT = [accuracy, accuracy_of_all, accuracy_weighted, accuracy_by_squeeze]
