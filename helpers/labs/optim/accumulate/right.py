"""A right answer to 04.accumulate, with weights and a result that a mistake replaces."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

Batch = tuple[Tensor, Tensor]
Weights = Callable[[list[Batch], list[int]], list[float]]


def counts_of(batches: list[Batch], ignore_index: int) -> list[int]:
    return [int((target != ignore_index).sum()) for _, target in batches]


def shares(sizes: list[int]) -> list[float]:
    return [size / sum(sizes) for size in sizes]


def by_count(batches: list[Batch], counts: list[int]) -> list[float]:
    return shares(counts)


def weighted(model: nn.Module, loss_fn: Any, batches: Iterable[Batch], weights: Weights = by_count) -> Tensor:
    """Right as it stands; a mistake is in the weights. The result is the right loss in any case."""
    batches = list(batches)
    counts = counts_of(batches, loss_fn.ignore_index)
    total = []
    for (x, target), count, weight in zip(batches, counts, weights(batches, counts), strict=True):
        if count:
            loss = loss_fn(model(x), target)
            (loss * weight).backward()
            total.append(loss.detach() * (count / sum(counts)))
    return torch.stack(total).sum()


def weighted_by(weights: Weights) -> Callable[..., Tensor]:
    """An answer that differs from a right one in its weights."""
    return lambda model, loss_fn, batches: weighted(model, loss_fn, batches, weights)


def returning(result: Callable[[list[Tensor], list[int]], Any]) -> Callable[..., Any]:
    """Right gradients; result(losses, counts) is made of the detached mean losses of the batches that count."""

    def answer(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Any:
        batches = [(x, y) for x, y in batches if (y != loss_fn.ignore_index).any()]
        counts, losses = counts_of(batches, loss_fn.ignore_index), []
        for (x, target), weight in zip(batches, shares(counts), strict=True):
            loss = loss_fn(model(x), target)
            (loss * weight).backward()
            losses.append(loss)
        return result(losses, counts)

    return answer


def whole(losses: list[Tensor], counts: list[int]) -> Tensor:
    return torch.stack([loss * share for loss, share in zip(losses, shares(counts), strict=True)]).sum()
