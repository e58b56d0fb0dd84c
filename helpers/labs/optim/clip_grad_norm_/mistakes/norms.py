"""What people take for the norm in 04.clip_grad_norm_, and what they return."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from helpers.labs.optim.clip_grad_norm_.exercise import clip_grad_norm_
from helpers.labs.optim.clip_grad_norm_.right import Params, factor_of, grads_of, on_gradients, total_of

on_grads = clip_grad_norm_.bank(on_gradients)


# Other norms than that of all gradients.


@on_grads.mistake(
    breaks="Returns the norm of all gradients as one vector, before clipping: a tensor of no dimensions that does not require grad; 0 if there is no gradient."
)
def norms_added(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """The norm that is returned is the sum of the gradients' norms. The norm of all is the norm of their norms: squared, added,
    and the root (for norm_type 2).
    """
    total = torch.stack(torch._foreach_norm(grads, norm_type)).sum()
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@on_grads.mistake(
    breaks="Returns the norm of all gradients as one vector, before clipping: a tensor of no dimensions that does not require grad; 0 if there is no gradient."
)
def root_of_added_norms(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """The norm is the root of the sum of the gradients' norms: they are to be raised to norm_type first."""
    total = torch.stack(torch._foreach_norm(grads, norm_type)).sum() ** (1 / norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@on_grads.variant(root_of_added_norms)
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = torch.stack(torch._foreach_norm(grads, norm_type)).sum().sqrt()
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@on_grads.mistake(
    breaks="Returns the norm of all gradients as one vector, before clipping: a tensor of no dimensions that does not require grad; 0 if there is no gradient."
)
def largest_norm(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """The largest of the gradients' norms is returned. The norm of all gradients together is larger."""
    total = torch.stack(torch._foreach_norm(grads, norm_type)).max()
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@on_grads.mistake()
def always_the_2_norm(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """Whatever norm_type is, the 2-norm is returned."""
    total = total_of(grads, 2.0)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@on_grads.mistake()
def norms_joined_by_the_2_norm(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """With a different norm_type the 2-norm of the gradients' norms is returned: norm_type belongs in both places."""
    total = torch.stack(torch._foreach_norm(grads, norm_type)).norm()
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@on_grads.mistake()
def infinity_by_powers(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """For the infinity norm something else than the largest entry is returned, and other norms are right. Perhaps powers and a
    root were used: x ** inf is 0 or inf, and the root with 1 / inf = 0 gives 1. vector_norm knows it.
    """
    norms = torch.stack(torch._foreach_norm(grads, norm_type))
    total = (norms**norm_type).sum() ** (1.0 / norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


# What is returned, and which gradients are edited.


@on_grads.mistake(
    breaks="Returns the norm of all gradients as one vector, before clipping: a tensor of no dimensions that does not require grad; 0 if there is no gradient."
)
def norm_squared(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """The square of the norm is returned. Perhaps the root is missing after the squares were added up."""
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total**2


@on_grads.mistake(
    breaks="Returns the norm of all gradients as one vector, before clipping: a tensor of no dimensions that does not require grad; 0 if there is no gradient."
)
def mean_of_norms(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """The mean of the gradients' norms is returned. The norm of all gradients as one vector is larger: the norm of their
    norms.
    """
    total = torch.stack(torch._foreach_norm(grads, norm_type)).mean()
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@on_grads.mistake(
    breaks="Returns the norm of all gradients as one vector, before clipping: a tensor of no dimensions that does not require grad; 0 if there is no gradient."
)
def factor_returned(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """The factor is returned, and not the norm."""
    factor = factor_of(total_of(grads, norm_type), max_norm)
    torch._foreach_mul_(grads, factor)
    return factor


@on_grads.mistake(
    breaks="Returns the norm of all gradients as one vector, before clipping: a tensor of no dimensions that does not require grad; 0 if there is no gradient."
)
def nothing_returned(grads: list[Tensor], max_norm: float, norm_type: float) -> None:
    """None is returned. The norm before clipping is what is worth logging."""
    torch._foreach_mul_(grads, factor_of(total_of(grads, norm_type), max_norm))


@on_grads.mistake(
    breaks="Returns the norm of all gradients as one vector, before clipping: a tensor of no dimensions that does not require grad; 0 if there is no gradient."
)
def one_dimension_left(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """The norm comes as a tensor with one dimension. Perhaps keepdim, or a reshape, left it."""
    total = total_of(grads, norm_type).reshape(1)
    torch._foreach_mul_(grads, factor_of(total, max_norm)[0])
    return total


@clip_grad_norm_.mistake(
    breaks="Returns the norm of all gradients as one vector, before clipping: a tensor of no dimensions that does not require grad; 0 if there is no gradient."
)
@torch.no_grad()
def zero_as_a_number(params: Params, max_norm: float, norm_type: float = 2.0) -> Any:
    """Without any gradient a Python number is returned; it is a tensor everywhere else, and here, too."""
    grads = grads_of(params)
    if not grads:
        return 0
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.variant(zero_as_a_number)
@torch.no_grad()
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> Any:
    grads = grads_of(params)
    if not grads:
        return 0.0
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.mistake(breaks="0 if there is no gradient.")
@torch.no_grad()
def nothing_for_no_gradient(params: Params, max_norm: float, norm_type: float = 2.0) -> Any:
    """Without any gradient nothing is returned, and whoever logs the norm fails there. It is a tensor everywhere else, and
    here, too: of a 0.
    """
    grads = grads_of(params)
    if not grads:
        return None
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@on_grads.mistake(
    breaks="The gradients are edited in place, all by one factor: max_norm / (norm + 1e-6), or 1 where that is larger (also for max_norm = inf)."
)
def divided_by_the_factor(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """The gradients were divided by the factor: those that are too long are longer now."""
    total = total_of(grads, norm_type)
    torch._foreach_div_(grads, factor_of(total, max_norm))
    return total


@on_grads.mistake(
    breaks="The gradients are edited in place, all by one factor: max_norm / (norm + 1e-6), or 1 where that is larger (also for max_norm = inf)."
)
def some_left_as_they_were(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """Some gradients were shortened, and others left as they were, which turns the direction of the step: all get the same
    factor.
    """
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads[:-1] or grads, factor_of(total, max_norm))
    return total


@on_grads.mistake(
    breaks="The gradients are edited in place, all by one factor: max_norm / (norm + 1e-6), or 1 where that is larger (also for max_norm = inf)."
)
def other_epsilon(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """Tiny gradients get a different factor: not 1e-6 is added to the norm, but something else, as 1e-8."""
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, (max_norm / (total + 1e-8)).clamp(max=1.0))
    return total


@on_grads.mistake(
    breaks="A NaN or inf is not hidden: a norm of NaN makes every gradient NaN, a norm of inf makes the factor 0."
)
def added_to_the_factor(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """With a norm of inf the factor is not 0, so the other gradients keep something. Perhaps 1e-6 is added to the quotient:
    max_norm / (norm + 1e-6).
    """
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, (max_norm / total + 1e-6).clamp(max=1.0))
    return total


@on_grads.mistake(breaks="norm_type: above 0, also infinity (the largest entry); 2.0 unless it is given.")
def largest_without_sign(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """For the infinity norm the largest entry is taken with its sign: a large negative one does not count. It is the largest
    absolute value.
    """
    total = (
        torch.cat([grad.flatten() for grad in grads]).max()
        if math.isinf(norm_type)
        else total_of(grads, norm_type)
    )
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.mistake(
    breaks="norm_type: above 0, also infinity (the largest entry); 2.0 unless it is given."
)
@torch.no_grad()
def other_default(params: Params, max_norm: float, norm_type: float = 1.0) -> Tensor:
    """Where norm_type is not given, the norm is not the 2-norm, which is the default."""
    grads = grads_of(params)
    if not grads:
        return torch.tensor(0.0)
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.variant(other_default)
@torch.no_grad()
def _(params: Params, max_norm: float, norm_type: float = math.inf) -> Tensor:
    return other_default(params, max_norm, norm_type)
