"""Right answers to 04.clip_grad_norm_, in different shapes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor


@torch.no_grad()
def clip_plain(params: Iterable[Tensor], max_norm: float, norm_type: float = 2.0) -> Tensor:
    """As torch does it."""
    grads = [param.grad for param in params if param.grad is not None]
    if not grads:
        return torch.tensor(0.0)
    total = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads, norm_type)), norm_type)
    torch._foreach_mul_(grads, (max_norm / (total + 1e-6)).clamp(max=1.0))
    return total


def clip_detached(params: Iterable[Tensor], max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Detached gradients instead of no_grad; the factor by minimum of tensors."""
    grads = [p.grad.detach() for p in params if p.grad is not None]
    if len(grads) == 0:
        return torch.zeros(())
    total = torch.stack(torch._foreach_norm(grads, norm_type)).norm(p=norm_type)
    torch._foreach_mul_(grads, torch.minimum(max_norm / (total + 1e-6), torch.ones_like(total)))
    return total


def clip_by_division(params: Iterable[Tensor], max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Divides by what is never below 1; the gradients come from a generator."""

    def grads_of(them: Iterable[Tensor]) -> Iterator[Tensor]:
        for one in them:
            if one.grad is not None:
                yield one.grad

    with torch.no_grad():
        if not (grads := list(grads_of(params))):
            return torch.tensor(0.0)
        norms = torch.stack(tuple(torch._foreach_norm(grads, ord=float(norm_type))))
        total = torch.linalg.norm(norms, ord=float(norm_type))
        torch._foreach_div_(grads, torch.clamp((total + 1e-6) / max_norm, min=1.0))
        return total


@torch.no_grad()
def clip_by_cases(params: Iterable[Tensor], max_norm: float, norm_type: float = 2) -> Tensor:
    """Infinity for itself; powers for the rest; `where` turned so that NaN goes on."""
    grads = [p.grad for p in params]
    grads = [g for g in grads if g is not None]
    total = torch.tensor(0.0)
    if grads:
        norms = torch.stack(torch._foreach_norm(grads, norm_type))
        total = norms.max() if norm_type == float("inf") else norms.pow(norm_type).sum().pow(1 / norm_type)
        more = total + 1e-6
        factor = torch.where(more <= max_norm, torch.ones_like(total), max_norm / more)
        torch._foreach_mul_(grads, factor)
    return total


RIGHT = [clip_plain, clip_detached, clip_by_division, clip_by_cases]
