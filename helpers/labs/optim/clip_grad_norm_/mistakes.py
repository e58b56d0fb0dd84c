"""What people write for 04.clip_grad_norm_, and why it is wrong."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from helpers.labs.optim.clip_grad_norm_.exercise import clip_grad_norm_

Params = Iterable[Tensor]


def _grads(params: Params) -> list[Tensor]:
    return [param.grad for param in params if param.grad is not None]


def total_of(grads: list[Tensor], norm_type: float) -> Tensor:
    return torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads, norm_type)), norm_type)


def factor_of(total: Tensor, max_norm: float) -> Tensor:
    return (max_norm / (total + 1e-6)).clamp(max=1.0)


def on_gradients(clip: Callable[[list[Tensor], float, float], Tensor]) -> Callable[..., Tensor]:
    """The frame that most answers share: gradients once, 0 without any, nothing recorded."""

    @functools.wraps(clip)
    @torch.no_grad()
    def clipped(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
        grads = _grads(params)
        return clip(grads, max_norm, norm_type) if grads else torch.tensor(0.0)

    return clipped


on_grads = clip_grad_norm_.bank(on_gradients)


@on_grads.mistake()
def each_on_its_own(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """Each gradient is clipped to max_norm on its own, which turns the direction of the whole step: large
    gradients shrink, small ones stay.
    """
    norms = torch._foreach_norm(grads, norm_type)
    total = torch.linalg.vector_norm(torch.stack(norms), norm_type)
    torch._foreach_mul_(grads, [factor_of(norm, max_norm) for norm in norms])
    return total


@clip_grad_norm_.variant(each_on_its_own)
@torch.no_grad()
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    grads = _grads(params)
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


@on_grads.mistake()
def by_value(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """Entries are cut off at max_norm. That is clip_grad_value_: it bends the direction, and leaves a long
    vector of small entries as long as it was.
    """
    total = total_of(grads, norm_type)
    torch._foreach_clamp_max_(grads, max_norm)
    torch._foreach_clamp_min_(grads, -max_norm)
    return total


@on_grads.mistake()
def small_ones_stretched(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """The factor is not kept from rising above 1, so that small gradients are stretched up to max_norm: that
    is normalising, not clipping.
    """
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, max_norm / (total + 1e-6))
    return total


@on_grads.mistake()
def norm_after_returned(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """The norm is taken again after clipping. What is worth logging is the norm before: it shows how often,
    and how hard, clipping acts.
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
    """params is read twice. A generator such as model.parameters() is empty the second time: the norm comes
    back, and nothing has been clipped. Collect the gradients once, in a list.
    """
    grads = _grads(params)
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
    """`if total > max_norm` (or Python's min) asks the device for the value, and Python waits until the whole
    backward pass is done; and a NaN slips through, since no comparison with it is true. Clamp the factor to
    1, multiply always.
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
    """A loop over the gradients launches its kernels once for each parameter: thousands of small launches for
    a large model, where torch._foreach_norm and torch._foreach_mul_ take the list.
    """
    total = torch.stack([grad.norm(norm_type) for grad in grads]).norm(norm_type)
    factor = factor_of(total, max_norm)
    for grad in grads:
        grad.mul_(factor)
    return total


@on_grads.variant(one_by_one)
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = torch.cat([grad.flatten() for grad in grads]).norm(norm_type)
    if total > max_norm:
        for grad in grads:
            grad.mul_(max_norm / (total + 1e-6))
    return total


@clip_grad_norm_.mistake()
@torch.no_grad()
def gradients_replaced(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """`param.grad = param.grad * factor` hangs a new tensor on the parameter; whoever holds the old one has
    unclipped values, and memory for all gradients is needed twice.
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


@on_grads.mistake()
def new_gradients_dropped(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """`grad = grad * factor` makes a new tensor that nobody keeps; .grad is what it was. `_foreach_mul_` and
    `mul_` (with underscore) edit it.
    """
    total = total_of(grads, norm_type)
    grads = torch._foreach_mul(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.mistake()
@torch.no_grad()
def parameters_clipped(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """The norm is that of the gradients, and the parameters are multiplied. `param.mul_` was written for
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
    """A NaN (or an infinity) is swept under the carpet: by nan_to_num, or by a where that takes 1 for it.
    Then the weights take a step that means nothing, and the log looks healthy.
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
    """A parameter that had no part in the loss has .grad None, which has no norm."""
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
def nothing_to_stack(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Without any gradient there is nothing to stack, and torch.stack raises. The norm of nothing is 0."""
    grads = _grads(params)
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.mistake()
@torch.no_grad()
def returns_a_float(params: Params, max_norm: float, norm_type: float = 2.0) -> float:
    """`.item()` makes a Python float, and waits for the device to do so. Return the tensor: who logs it may
    wait.
    """
    grads = _grads(params)
    if not grads:
        return 0.0
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total.item()


@clip_grad_norm_.variant(returns_a_float)
@torch.no_grad()
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> float:
    grads = _grads(params)
    if not grads:
        return 0.0
    total = total_of(grads, norm_type).item()
    if total > max_norm:
        torch._foreach_mul_(grads, max_norm / (total + 1e-6))
    return total


@clip_grad_norm_.mistake()
def grad_mode_left_on(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Autograd records the clipping. Where gradients have a graph (create_graph=True), the norm then requires
    grad, and drags that graph along: decorate with `@torch.no_grad()`.
    """
    grads = _grads(params)
    if not grads:
        return torch.tensor(0.0)
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.mistake()
@torch.no_grad()
def infinity_returns_early(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """For max_norm = inf the function returns at once, since there is nothing to shorten. Then a NaN stays in
    one gradient, and all others look healthy: with the factor inf / NaN every gradient shows it.
    """
    grads = _grads(params)
    if not grads:
        return torch.tensor(0.0)
    total = total_of(grads, norm_type)
    if max_norm != math.inf:
        torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@on_grads.mistake()
def nothing_added_to_the_norm(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    """The factor is max_norm / norm, without the 1e-6. Tiny gradients are shortened by another factor than
    torch's; and max_norm = 0 with a norm of 0 is 0 / 0, NaN.
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
    """The gradients are divided by their norm first, which gives 0 / 0, NaN, where all of them are 0. Divide
    max_norm by total + 1e-6, and multiply.
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


# Other norms than that of all gradients.


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
