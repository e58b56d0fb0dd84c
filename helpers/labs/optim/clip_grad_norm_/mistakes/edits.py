"""What people do to the gradients in 04.clip_grad_norm_, and when."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from helpers.labs.optim.clip_grad_norm_.exercise import clip_grad_norm_
from helpers.labs.optim.clip_grad_norm_.right import Params, factor_of, grads_of, on_gradients, total_of

on_grads = clip_grad_norm_.bank(on_gradients)


@on_grads.mistake(
    breaks="The gradients are edited in place, all by one factor: max_norm / (norm + 1e-6), or 1 where that is larger (also for max_norm = inf)."
)
def each_on_its_own(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """Each gradient was shortened by its own norm, which turns the direction of the whole step: large gradients shrink,
    small ones stay. All get one factor.
    """
    norms = torch._foreach_norm(grads, norm_type)
    total = torch.linalg.vector_norm(torch.stack(norms), norm_type)
    torch._foreach_mul_(grads, [factor_of(norm, max_norm) for norm in norms])
    return total


@clip_grad_norm_.variant(each_on_its_own)
@torch.no_grad()
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    grads = grads_of(params)
    norms = [grad.norm(norm_type) for grad in grads] or [torch.tensor(0.0)]
    total = torch.stack(norms).norm(norm_type)
    for grad, norm in zip(grads, norms, strict=False):
        if norm > max_norm:
            grad.mul_(max_norm / (norm + 1e-6))
    return total


@on_grads.variant(each_on_its_own)
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    norms = torch.stack(torch._foreach_norm(grads, norm_type))
    torch._foreach_mul_(grads, list(factor_of(norms, max_norm).unbind()))
    return torch.linalg.vector_norm(norms, norm_type)


@on_grads.mistake(
    breaks="The gradients are edited in place, all by one factor: max_norm / (norm + 1e-6), or 1 where that is larger (also for max_norm = inf)."
)
def by_value(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """Entries were cut off at max_norm. That is clip_grad_value_: it bends the direction, and leaves a long vector of small
    entries as long as it was.
    """
    total = total_of(grads, norm_type)
    torch._foreach_clamp_max_(grads, max_norm)
    torch._foreach_clamp_min_(grads, -max_norm)
    return total


@on_grads.mistake()
def small_ones_stretched(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """Gradients below max_norm were stretched up to it: that is normalising, not clipping. Perhaps the factor is not kept
    from rising above 1.
    """
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, max_norm / (total + 1e-6))
    return total


@on_grads.mistake(
    breaks="Returns the norm of all gradients as one vector, before clipping: a tensor of no dimensions that does not require grad; 0 if there is no gradient."
)
def norm_after_returned(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """The norm that is returned is the one after clipping. What is worth logging is the norm before: it shows how often, and
    how hard, clipping acts.
    """
    torch._foreach_mul_(grads, factor_of(total_of(grads, norm_type), max_norm))
    return total_of(grads, norm_type)


@on_grads.variant(norm_after_returned)
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total * factor_of(total, max_norm)


@clip_grad_norm_.mistake()
@torch.no_grad()
def iterator_used_up(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """From a generator such as model.parameters() not all gradients come into the norm, or nothing is clipped. Perhaps it is
    read twice, and what was read is gone the second time: collect the gradients once, in a list.
    """
    grads = grads_of(params)
    if not grads:
        return torch.tensor(0.0)
    total = total_of(grads, norm_type)
    again = [param.grad for param in params if param.grad is not None]
    if again:
        torch._foreach_mul_(again, factor_of(total, max_norm))
    return total


@clip_grad_norm_.variant(iterator_used_up)
@torch.no_grad()
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    if not any(param.grad is not None for param in params):
        return torch.tensor(0.0)
    grads = [param.grad for param in params if param.grad is not None]
    if not grads:
        return torch.tensor(0.0)
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@on_grads.mistake()
def if_the_norm_is_above(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """The value of a tensor is read by Python, which waits until the whole backward pass is done. Perhaps an `if` on the norm,
    Python's min, item() or isfinite asks for it: clamp the factor to 1, and multiply always.
    """
    total = total_of(grads, norm_type)
    if total > max_norm:
        torch._foreach_mul_(grads, max_norm / (total + 1e-6))
    return total


@on_grads.variant(if_the_norm_is_above)
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = total_of(grads, norm_type)
    if not total <= max_norm:
        torch._foreach_mul_(grads, max_norm / (total.item() + 1e-6))
    return total


@on_grads.variant(if_the_norm_is_above)
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, min(1.0, max_norm / (float(total) + 1e-6)))
    return total


@on_grads.variant(if_the_norm_is_above)
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = total_of(grads, norm_type)
    if total > max_norm and math.isfinite(total):
        torch._foreach_mul_(grads, max_norm / (total + 1e-6))
    return total


@on_grads.mistake()
def one_by_one(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """The number of operations grows with the number of parameters: thousands of small launches for a large model. Perhaps a
    loop goes over the gradients; torch._foreach_norm and torch._foreach_mul_ take the list.
    """
    total = torch.stack([grad.norm(norm_type) for grad in grads]).norm(norm_type)
    factor = factor_of(total, max_norm)
    for grad in grads:
        grad.mul_(factor)
    return total


@on_grads.mistake(
    breaks="As many torch operations for 100 parameters as for 3, views among them (only `detach` is not counted)."
)
def views_of_each(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """The number of views grows with the number of parameters: they launch nothing on a GPU, but Python runs for each.
    Perhaps the gradients are joined into one vector, which takes as much memory as all of them. torch._foreach_norm takes
    the list.
    """
    total = torch.cat([grad.reshape(-1) for grad in grads]).norm(norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@on_grads.variant(one_by_one)
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = torch.cat([grad.flatten() for grad in grads]).norm(norm_type)
    if total > max_norm:
        for grad in grads:
            grad.mul_(max_norm / (total + 1e-6))
    return total


@clip_grad_norm_.mistake(
    breaks="The gradients are edited in place, all by one factor: max_norm / (norm + 1e-6), or 1 where that is larger (also for max_norm = inf)."
)
@torch.no_grad()
def gradients_replaced(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """The gradients have other memory, or are other tensors, than before: whoever holds the old ones has unclipped values, and
    memory for all gradients is needed twice. Perhaps `param.grad = param.grad * factor`: mul_ edits in place.
    """
    kept = [param for param in params if param.grad is not None]
    if not kept:
        return torch.tensor(0.0)
    grads = [param.grad for param in kept]
    total = total_of(grads, norm_type)
    for param, grad in zip(kept, torch._foreach_mul(grads, factor_of(total, max_norm)), strict=True):
        param.grad = grad
    return total


@clip_grad_norm_.variant(gradients_replaced)
@torch.no_grad()
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    kept = [param for param in params if param.grad is not None]
    if not kept:
        return torch.tensor(0.0)
    total = total_of([param.grad for param in kept], norm_type)
    for param in kept:
        param.grad = param.grad * factor_of(total, max_norm)
    return total


@on_grads.mistake(
    breaks="The gradients are edited in place, all by one factor: max_norm / (norm + 1e-6), or 1 where that is larger (also for max_norm = inf)."
)
def new_gradients_dropped(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """The norm is above max_norm, and .grad is what it was. Perhaps `grad = grad * factor` makes a new tensor that nobody keeps
    (`_foreach_mul_` and `mul_`, with underscore, edit it), or the factor is kept from falling below 1.
    """
    total = total_of(grads, norm_type)
    grads = torch._foreach_mul(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.mistake(breaks="The parameters stay as they are.")
@torch.no_grad()
def parameters_clipped(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """The gradients are what they were, and parameters have changed. Perhaps `param.mul_` was written for
    `param.grad.mul_`.
    """
    kept = [param for param in params if param.grad is not None]
    if not kept:
        return torch.tensor(0.0)
    total = total_of([param.grad for param in kept], norm_type)
    torch._foreach_mul_(kept, factor_of(total, max_norm))
    return total


@on_grads.mistake()
def nan_hidden(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """A NaN or inf in one gradient does not show as it should in the norm or in the other gradients. Perhaps nan_to_num, a
    where, fmin or a condition keeps it back: the step that follows is wrong, and nobody is told.
    """
    total = total_of(grads, norm_type).nan_to_num()
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@on_grads.variant(nan_hidden)
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = total_of(grads, norm_type)
    factor = torch.where(total > max_norm, max_norm / (total + 1e-6), torch.ones_like(total))
    torch._foreach_mul_(grads, factor)
    return total


@clip_grad_norm_.mistake()
@torch.no_grad()
def none_not_expected(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """The answer fails where a parameter has .grad None. It had no part in the loss, and is passed over."""
    grads = [param.grad for param in params]
    if not grads:
        return torch.tensor(0.0)
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.variant(none_not_expected)
@torch.no_grad()
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    grads = [param.grad for param in params]
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.mistake()
@torch.no_grad()
def frozen_left_out(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """A gradient of a parameter that is frozen by now is left out of the norm, or not shortened: perhaps requires_grad was
    asked. Whatever has a .grad takes part.
    """
    grads = [param.grad for param in params if param.requires_grad and param.grad is not None]
    if not grads:
        return torch.tensor(0.0)
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.mistake()
@torch.no_grad()
def nothing_to_stack(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Without any gradient the answer fails. Perhaps torch.stack or torch._foreach_norm gets an empty list, and raises: the
    norm of nothing is 0.
    """
    grads = grads_of(params)
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.mistake(
    breaks="Returns the norm of all gradients as one vector, before clipping: a tensor of no dimensions that does not require grad; 0 if there is no gradient."
)
@torch.no_grad()
def returns_a_float(params: Params, max_norm: float, norm_type: float = 2.0) -> float:
    """A Python float is returned. Perhaps `.item()` or `float()` makes it, and waits for the device to do so: return the
    tensor, who logs it may wait.
    """
    grads = grads_of(params)
    if not grads:
        return 0.0
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total.item()


@clip_grad_norm_.variant(returns_a_float)
@torch.no_grad()
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> float:
    grads = grads_of(params)
    if not grads:
        return 0.0
    total = total_of(grads, norm_type).item()
    if total > max_norm:
        torch._foreach_mul_(grads, max_norm / (total + 1e-6))
    return total


@clip_grad_norm_.mistake()
def grad_mode_left_on(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Autograd records the clipping. Where gradients have a graph (create_graph=True), the norm then requires grad, and drags
    that graph along: decorate with `@torch.no_grad()`.
    """
    grads = grads_of(params)
    if not grads:
        return torch.tensor(0.0)
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.mistake(breaks="No graph is recorded.")
def only_the_norm_detached(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """The norm has no graph, and that of a gradient has grown by the clipping. Perhaps only what is returned is detached: an
    edit in place is recorded, too. Decorate with `@torch.no_grad()`.
    """
    grads = grads_of(params)
    if not grads:
        return torch.tensor(0.0)
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm).detach())
    return total.detach()


@clip_grad_norm_.mistake()
@torch.no_grad()
def infinity_returns_early(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """With max_norm = inf a NaN stays in one gradient, and all others are as before. Perhaps the function returns at once, or a
    condition is not true: with the factor inf / NaN every gradient shows it.
    """
    grads = grads_of(params)
    if not grads:
        return torch.tensor(0.0)
    total = total_of(grads, norm_type)
    if max_norm != math.inf:
        torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@on_grads.mistake()
def nothing_added_to_the_norm(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """Tiny gradients are multiplied by max_norm / norm: 1e-6 is not added to the norm. Perhaps it was left out, or a lower bound
    stands for it; max_norm = 0 with a norm of 0 is 0 / 0, NaN.
    """
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, (max_norm / total).clamp(max=1.0))
    return total


@on_grads.variant(nothing_added_to_the_norm)
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = total_of(grads, norm_type)
    torch._foreach_div_(grads, (total / max_norm).clamp(min=1.0))
    return total


@on_grads.mistake()
def zero_over_zero(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """Gradients of zeros became NaN. Perhaps something is divided by their norm, which is 0: divide max_norm by total + 1e-6,
    and multiply.
    """
    total = total_of(grads, norm_type)
    unit = torch._foreach_div(grads, total)
    torch._foreach_copy_(grads, torch._foreach_mul(unit, total.clamp(max=max_norm)))
    return total


@clip_grad_norm_.mistake()
def torchs_own_clipping(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """torch.nn.utils does the work here, and nothing was learnt about how. It is five lines."""
    return torch.nn.utils.clip_grad_norm_(params, max_norm, norm_type)


@clip_grad_norm_.variant(torchs_own_clipping)
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    params = [param for param in params if param.grad is not None]
    total = torch.nn.utils.get_total_norm([param.grad for param in params], norm_type)
    torch.nn.utils.clip_grads_with_norm_(params, max_norm, total)
    return total


@clip_grad_norm_.variant(torchs_own_clipping)
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    return torch.nn.utils.clip_grad_norm_(params, max_norm, norm_type, foreach=True)


@clip_grad_norm_.variant(torchs_own_clipping)
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    return torch.nn.utils.clip_grad_norm_(params, max_norm, norm_type, foreach=False)


@clip_grad_norm_.variant(torchs_own_clipping)
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    return torch.nn.utils.clip_grad_norm_(
        [p for p in params if p.grad is not None], max_norm, norm_type
    ).item()


@on_grads.variant(nan_hidden)
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm).nan_to_num())
    return total


@on_grads.variant(nan_hidden)
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, torch.fmin(max_norm / (total + 1e-6), torch.ones_like(total)))
    return total


@clip_grad_norm_.mistake(
    breaks="The iterable is read once (a generator, too); parameters whose .grad is None are passed over."
)
@torch.no_grad()
def zeros_made(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """A parameter that had no gradient has one now. With a gradient of zeros an optimizer goes on with momentum and weight
    decay; None is what it passes over.
    """
    params = list(params)
    for param in params:
        if param.grad is None:
            param.grad = torch.zeros_like(param)
    if not params:
        return torch.tensor(0.0)
    grads = grads_of(params)
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.mistake(
    breaks="The iterable is read once (a generator, too); parameters whose .grad is None are passed over."
)
@torch.no_grad()
def length_asked(params: Any, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """A generator was asked for its length, which it does not have. Collect the gradients in a list first."""
    if len(params) == 0:
        return torch.tensor(0.0)
    grads = grads_of(params)
    if not grads:
        return torch.tensor(0.0)
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@on_grads.mistake(breaks="all by one factor: max_norm / (norm + 1e-6)")
def zero_means_off(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """For max_norm 0 the gradients stay as they are. Perhaps 0 counts as "no clipping", as an option of a trainer has it: here the
    factor is 0, and who wants no clipping says inf.
    """
    total = total_of(grads, norm_type)
    if max_norm > 0:
        torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total
