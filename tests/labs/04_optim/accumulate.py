"""Right answers to 04.accumulate, in different shapes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

Batch = tuple[torch.Tensor, torch.Tensor]


def accumulate_by_shares(
    model: nn.Module, loss_fn: nn.CrossEntropyLoss, batches: Iterable[Batch]
) -> torch.Tensor:
    """The solution of the notebook."""
    counts = [int((target != loss_fn.ignore_index).sum()) for _, target in batches]
    losses = []
    for (x, target), count in zip(batches, counts, strict=True):
        if count:
            loss = loss_fn(model(x), target) * (count / sum(counts))
            loss.backward()
            losses.append(loss.detach())
    return torch.stack(losses).sum()


def accumulate_then_divide(
    model: nn.Module, loss_fn: nn.CrossEntropyLoss, batches: Iterable[Batch]
) -> torch.Tensor:
    """Reads the batches once: old gradients aside, sums, one division at the end."""
    aside = [(param, param.grad) for param in model.parameters()]
    for param, _ in aside:
        param.grad = None
    whole, total = 0, 0
    for x, target in batches:
        count = target.ne(loss_fn.ignore_index).sum().item()
        if count == 0:
            continue
        summed = loss_fn(model(x), target) * count
        summed.backward()
        whole, total = whole + count, total + summed.detach()
        del summed
    for param, old in aside:
        if param.grad is not None:
            param.grad /= whole
        if old is not None:
            param.grad = old if param.grad is None else old.add_(param.grad)
    return total / whole


def accumulate_with_grad(
    model: nn.Module, loss_fn: nn.CrossEntropyLoss, batches: Iterable[Batch]
) -> torch.Tensor:
    """autograd.grad, and a loss that sums for the time of the call; batches in which nothing counts go through, too."""
    whole = torch.cat([target.flatten() for _, target in batches]).ne(loss_fn.ignore_index).sum()
    params = [param for param in model.parameters() if param.requires_grad]
    before, loss_fn.reduction, result = loss_fn.reduction, "sum", None
    try:
        for x, target in batches:
            loss = loss_fn(model(x), target) / whole
            for param, grad in zip(params, torch.autograd.grad(loss, params, allow_unused=True), strict=True):
                if grad is not None:
                    param.grad = grad.clone() if param.grad is None else param.grad + grad
            result = loss.detach() if result is None else result + loss.detach()
    finally:
        loss_fn.reduction = before
    return result


class Accumulator:
    """Scales the gradient that enters backward, and not the loss."""

    def __call__(
        self, model: nn.Module, loss_fn: nn.CrossEntropyLoss, batches: Iterable[Batch]
    ) -> torch.Tensor:
        counted = [(x, y, (y != loss_fn.ignore_index).sum()) for x, y in batches]
        counted = [item for item in counted if item[2] > 0]
        whole = sum(count for *_, count in counted)
        return sum(self.one(model, loss_fn, x, y, count / whole) for x, y, count in counted)

    def one(self, model: nn.Module, loss_fn: Any, x: Any, y: Any, share: torch.Tensor) -> torch.Tensor:
        loss = loss_fn(model(x), y)
        share = share.to(loss)
        loss.backward(share)
        return (loss * share).detach()


RIGHT = [accumulate_by_shares, accumulate_then_divide, accumulate_with_grad, Accumulator()]
