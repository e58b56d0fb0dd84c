"""What people write for 04.clip_grad_norm_: other norms than that of all gradients."""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.labs.optim.clip_grad_norm_ import clip_grad_norm_
from helpers.labs.optim.clip_grad_norm__mistakes import factor_of, on_gradients, total_of


@clip_grad_norm_.wrong_answer(
    "norms_added",
    why="The norms of the gradients are added. The norm of all is the norm of their norms: squared, added, and the root "
    "(for norm_type 2).",
    seen="is the norm of their norms",
)
@on_gradients
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = torch.stack(torch._foreach_norm(grads, norm_type)).sum()
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.wrong_answer(
    "root_of_added_norms",
    why="The norms are added without being raised to norm_type first, and then the root is taken.",
    seen="without being raised to norm_type first",
)
@on_gradients
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = torch.stack(torch._foreach_norm(grads, norm_type)).sum() ** (1 / norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.another_form("root_of_added_norms")
@on_gradients
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = torch.stack(torch._foreach_norm(grads, norm_type)).sum().sqrt()
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.wrong_answer(
    "largest_norm",
    why="The largest norm of one gradient is taken for the norm of all, which is larger.",
    seen="The largest norm of one gradient",
)
@on_gradients
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = torch.stack(torch._foreach_norm(grads, norm_type)).max()
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.wrong_answer(
    "always_the_2_norm",
    why="norm_type is not looked at: it is always the 2-norm.",
    seen="it is always the 2-norm",
)
@on_gradients
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = total_of(grads, 2.0)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.wrong_answer(
    "norms_joined_by_the_2_norm",
    why="norm_type is used for each gradient, and the norms are joined by the 2-norm: it belongs in both places.",
    seen="it belongs in both places",
)
@on_gradients
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = torch.stack(torch._foreach_norm(grads, norm_type)).norm()
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.wrong_answer(
    "infinity_by_powers",
    why="Powers and a root give no infinity norm: x ** inf is 0 or inf, and the root with 1 / inf = 0 gives 1 (or 0 ** 0). "
    "vector_norm knows it: the largest entry.",
    seen="Powers and a root give no infinity norm",
)
@on_gradients
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    norms = torch.stack(torch._foreach_norm(grads, norm_type))
    total = (norms**norm_type).sum() ** (1.0 / norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total
