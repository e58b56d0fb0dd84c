"""Wrong answers to 10.safe_norm that treat the entries of x, or x itself, instead of the row."""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.labs.pitfalls.safe_norm import safe_norm


@safe_norm.mistake()
def entries_for_rows(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """Each entry that is 0 was replaced, not each row. An entry that is 0 beside others still bends the norm:
    its second derivative is 1 over the norm, and the where around it makes that 0.
    """
    zero = x == 0
    return torch.where(zero, 0.0, torch.where(zero, 1.0, x)).norm(dim=dim)


@safe_norm.variant(entries_for_rows)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    return torch.linalg.vector_norm(x.masked_fill(x == 0, 0.0), dim=dim)


@safe_norm.mistake()
def hook_on_x(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The NaN is hidden on its way out, by a hook on a tensor of somebody else. The hook stays after the
    call, one more for each call, and hides the NaN of other losses, too.
    """
    if x.requires_grad:
        x.register_hook(torch.nan_to_num)
    return x.square().sum(dim).sqrt()


@safe_norm.variant(hook_on_x)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    if x.requires_grad:
        x.register_hook(lambda grad: torch.where(grad.isnan(), 0.0, grad))
    return x.norm(dim=dim)
