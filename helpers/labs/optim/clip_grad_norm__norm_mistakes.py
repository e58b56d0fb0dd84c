"""What people write for 04.clip_grad_norm_: other norms than that of all gradients."""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.labs.optim.clip_grad_norm__mistakes import factor_of, on_grads, total_of


@on_grads.mistake()
def norms_added(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """The norms of the gradients are added. The norm of all is the norm of their norms: squared, added, and
    the root (for norm_type 2).
    """
    total = torch.stack(torch._foreach_norm(grads, norm_type)).sum()
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@on_grads.mistake()
def root_of_added_norms(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """The norms are added without being raised to norm_type first, and then the root is taken."""
    total = torch.stack(torch._foreach_norm(grads, norm_type)).sum() ** (1 / norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@on_grads.variant(root_of_added_norms)
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = torch.stack(torch._foreach_norm(grads, norm_type)).sum().sqrt()
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@on_grads.mistake()
def largest_norm(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """The largest norm of one gradient is taken for the norm of all, which is larger."""
    total = torch.stack(torch._foreach_norm(grads, norm_type)).max()
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@on_grads.mistake()
def always_the_2_norm(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """norm_type is not looked at: it is always the 2-norm."""
    total = total_of(grads, 2.0)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@on_grads.mistake()
def norms_joined_by_the_2_norm(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """norm_type is used for each gradient, and the norms are joined by the 2-norm: it belongs in both places."""
    total = torch.stack(torch._foreach_norm(grads, norm_type)).norm()
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@on_grads.mistake()
def infinity_by_powers(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """Powers and a root give no infinity norm: x ** inf is 0 or inf, and the root with 1 / inf = 0 gives 1
    (or 0 ** 0). vector_norm knows it: the largest entry.
    """
    norms = torch.stack(torch._foreach_norm(grads, norm_type))
    total = (norms**norm_type).sum() ** (1.0 / norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total
