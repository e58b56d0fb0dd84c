"""Right answers to 10.repair_class_means, in different shapes."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def added(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    sums = features.new_zeros(classes, features.shape[1]).index_add_(0, labels, features)
    return sums / torch.bincount(labels, minlength=classes).clamp(min=1).unsqueeze(1)


def by_one_hot(features, labels, classes):
    member = F.one_hot(labels, classes).to(features.dtype)
    return member.T @ features / member.sum(0).clamp(min=1)[:, None]


def by_masks(features, labels, classes):
    means = torch.zeros(classes, features.shape[1], dtype=features.dtype)
    for label in range(classes):
        own = features[labels == label]
        if len(own):
            means[label] = own.mean(0)
    return means


def by_index_put(features, labels, classes):
    zeros = features.new_zeros((classes, features.shape[1]))
    sums = zeros.index_put((labels,), features, accumulate=True)
    counts = features.new_zeros(classes).index_put((labels,), features.new_ones(()), accumulate=True)
    means = sums / counts.unsqueeze(1)
    return means.masked_fill((counts == 0).unsqueeze(1), 0)


def by_scatter_reduce(features, labels, classes):
    zeros = features.new_zeros(classes, features.shape[1])
    return zeros.scatter_reduce(0, labels[:, None].expand_as(features), features, "mean", include_self=False)


def by_one_hot_with_eps(features: Tensor, labels: Tensor, classes: int) -> Tensor:
    """A small number in the denominator, as many write it."""
    members = F.one_hot(labels, classes).to(features.dtype)
    return members.T @ features / (members.sum(0) + 1e-8).unsqueeze(1)


RIGHT = [
    added,
    by_one_hot,
    by_masks,
    by_index_put,
    by_scatter_reduce,
    by_one_hot_with_eps,
]
