"""Right answers to 03.gradient_penalty, in different shapes."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor


def penalty_by_grad(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The plain answer."""
    grads = torch.autograd.grad(loss, params, create_graph=True, allow_unused=True)
    return sum((grad.square().sum() for grad in grads if grad is not None), loss.new_zeros(()))


def penalty_with_zeros(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """Zeros where there is no gradient, all in one vector, its product with itself."""
    grads = torch.autograd.grad(loss, tuple(params), create_graph=True, materialize_grads=True)
    flat = torch.cat([grad.reshape(-1) for grad in grads])
    return flat @ flat


def penalty_with_foreach(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """foreach functions, and a loop with the stop at nothing."""
    found = torch.autograd.grad([loss], list(params), create_graph=True, retain_graph=True, allow_unused=True)
    used = [grad for grad in found if grad is not None]
    if not used:
        return torch.zeros((), dtype=loss.dtype, device=loss.device)
    return torch.stack([square.sum() for square in torch._foreach_mul(used, used)]).sum()


def penalty_one_by_one(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """A call of grad for each parameter; also when the caller has turned gradients off."""
    penalty = torch.zeros_like(loss, requires_grad=False)
    with torch.enable_grad():
        for param in params:
            (grad,) = torch.autograd.grad(loss, param, create_graph=True, allow_unused=True)
            if grad is not None:
                penalty = penalty + torch.einsum("i,i->", grad.flatten(), grad.flatten())
    return penalty


RIGHT = [penalty_by_grad, penalty_with_zeros, penalty_with_foreach, penalty_one_by_one]
