"""What people write for 04.clip_grad_norm_."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from helpers.labs.optim.clip_grad_norm_ import clip_grad_norm_

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


@clip_grad_norm_.wrong_answer(
    "each_on_its_own",
    why="Each gradient is clipped to max_norm on its own, which turns the direction of the whole step: large gradients "
    "shrink, small ones stay.",
    seen="which turns the direction of the whole step",
)
@on_gradients
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    norms = torch._foreach_norm(grads, norm_type)
    total = torch.linalg.vector_norm(torch.stack(norms), norm_type)
    torch._foreach_mul_(grads, [factor_of(norm, max_norm) for norm in norms])
    return total


@clip_grad_norm_.another_form("each_on_its_own")
@torch.no_grad()
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    grads = _grads(params)
    norms = [grad.norm(norm_type) for grad in grads] or [torch.tensor(0.0)]
    total = torch.stack(norms).norm(norm_type)
    for grad, norm in zip(grads, norms, strict=False):
        if norm > max_norm:
            grad.mul_(max_norm / (norm + 1e-6))
    return total


@clip_grad_norm_.another_form("each_on_its_own")
@on_gradients
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    norms = torch.stack(torch._foreach_norm(grads, norm_type))
    torch._foreach_mul_(grads, list(factor_of(norms, max_norm).unbind()))
    return torch.linalg.vector_norm(norms, norm_type)


@clip_grad_norm_.wrong_answer(
    "by_value",
    why="Entries are cut off at max_norm. That is clip_grad_value_: it bends the direction, and leaves a long vector of "
    "small entries as long as it was.",
    seen="That is clip_grad_value_",
)
@on_gradients
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = total_of(grads, norm_type)
    torch._foreach_clamp_max_(grads, max_norm)
    torch._foreach_clamp_min_(grads, -max_norm)
    return total


@clip_grad_norm_.wrong_answer(
    "small_ones_stretched",
    why="The factor is not kept from rising above 1, so that small gradients are stretched up to max_norm: that is "
    "normalising, not clipping.",
    seen="that is normalising, not clipping",
)
@on_gradients
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, max_norm / (total + 1e-6))
    return total


@clip_grad_norm_.wrong_answer(
    "norm_after_returned",
    why="The norm is taken again after clipping. What is worth logging is the norm before: it shows how often, and how "
    "hard, clipping acts.",
    seen="how often, and how hard, clipping acts",
)
@on_gradients
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    torch._foreach_mul_(grads, factor_of(total_of(grads, norm_type), max_norm))
    return total_of(grads, norm_type)


@clip_grad_norm_.another_form("norm_after_returned")
@on_gradients
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total * factor_of(total, max_norm)


@clip_grad_norm_.wrong_answer(
    "iterator_used_up",
    why="params is read twice. A generator such as model.parameters() is empty the second time: the norm comes back, and "
    "nothing has been clipped. Collect the gradients once, in a list.",
    seen="Collect the gradients once, in a list",
)
@torch.no_grad()
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    grads = _grads(params)
    if not grads:
        return torch.tensor(0.0)
    total = total_of(grads, norm_type)
    again = [param.grad for param in params if param.grad is not None]
    if again:
        torch._foreach_mul_(again, factor_of(total, max_norm))
    return total


@clip_grad_norm_.another_form("iterator_used_up")
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


@clip_grad_norm_.wrong_answer(
    "if_the_norm_is_above",
    why="`if total > max_norm` (or Python's min) asks the device for the value, and Python waits until the whole backward "
    "pass is done; and a NaN slips through, since no comparison with it is true. Clamp the factor to 1, multiply always.",
    seen="asks the device for the value",
)
@on_gradients
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = total_of(grads, norm_type)
    if total > max_norm:
        torch._foreach_mul_(grads, max_norm / (total + 1e-6))
    return total


@clip_grad_norm_.another_form("if_the_norm_is_above")
@on_gradients
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = total_of(grads, norm_type)
    if not total <= max_norm:
        torch._foreach_mul_(grads, max_norm / (total.item() + 1e-6))
    return total


@clip_grad_norm_.another_form("if_the_norm_is_above")
@on_gradients
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, min(1.0, max_norm / (float(total) + 1e-6)))
    return total


@clip_grad_norm_.another_form("if_the_norm_is_above")
@on_gradients
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = total_of(grads, norm_type)
    if total > max_norm and math.isfinite(total):
        torch._foreach_mul_(grads, max_norm / (total + 1e-6))
    return total


@clip_grad_norm_.wrong_answer(
    "one_by_one",
    why="A loop over the gradients launches its kernels once for each parameter: thousands of small launches for a large "
    "model, where torch._foreach_norm and torch._foreach_mul_ take the list.",
    seen="thousands of small launches",
)
@on_gradients
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = torch.stack([grad.norm(norm_type) for grad in grads]).norm(norm_type)
    factor = factor_of(total, max_norm)
    for grad in grads:
        grad.mul_(factor)
    return total


@clip_grad_norm_.another_form("one_by_one")
@on_gradients
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = torch.cat([grad.flatten() for grad in grads]).norm(norm_type)
    if total > max_norm:
        for grad in grads:
            grad.mul_(max_norm / (total + 1e-6))
    return total


@clip_grad_norm_.wrong_answer(
    "gradients_replaced",
    why="`param.grad = param.grad * factor` hangs a new tensor on the parameter; whoever holds the old one has unclipped "
    "values, and memory for all gradients is needed twice.",
    seen="memory for all gradients is needed twice",
)
@torch.no_grad()
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    kept = [param for param in params if param.grad is not None]
    if not kept:
        return torch.tensor(0.0)
    grads = [param.grad for param in kept]
    total = total_of(grads, norm_type)
    for param, grad in zip(kept, torch._foreach_mul(grads, factor_of(total, max_norm)), strict=True):
        param.grad = grad
    return total


@clip_grad_norm_.another_form("gradients_replaced")
@torch.no_grad()
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    kept = [param for param in params if param.grad is not None]
    if not kept:
        return torch.tensor(0.0)
    total = total_of([param.grad for param in kept], norm_type)
    for param in kept:
        param.grad = param.grad * factor_of(total, max_norm)
    return total


@clip_grad_norm_.wrong_answer(
    "new_gradients_dropped",
    why="`grad = grad * factor` makes a new tensor that nobody keeps; .grad is what it was. `_foreach_mul_` and `mul_` "
    "(with underscore) edit it.",
    seen="makes a new tensor that nobody keeps",
)
@on_gradients
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = total_of(grads, norm_type)
    grads = torch._foreach_mul(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.wrong_answer(
    "parameters_clipped",
    why="The norm is that of the gradients, and the parameters are multiplied. `param.mul_` was written for "
    "`param.grad.mul_`.",
    seen="was written for `param.grad.mul_`",
)
@torch.no_grad()
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    kept = [param for param in params if param.grad is not None]
    if not kept:
        return torch.tensor(0.0)
    total = total_of([param.grad for param in kept], norm_type)
    torch._foreach_mul_(kept, factor_of(total, max_norm))
    return total


@clip_grad_norm_.wrong_answer(
    "nan_hidden",
    why="A NaN (or an infinity) is swept under the carpet: by nan_to_num, or by a where that takes 1 for it. "
    "Then the weights take a step that means nothing, and the log looks healthy.",
    seen="the log looks healthy",
)
@on_gradients
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = total_of(grads, norm_type).nan_to_num()
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.another_form("nan_hidden")
@on_gradients
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = total_of(grads, norm_type)
    factor = torch.where(total > max_norm, max_norm / (total + 1e-6), torch.ones_like(total))
    torch._foreach_mul_(grads, factor)
    return total


@clip_grad_norm_.wrong_answer(
    "none_not_expected",
    why="A parameter that had no part in the loss has .grad None, which has no norm.",
    seen="which has no norm",
)
@torch.no_grad()
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    grads = [param.grad for param in params]
    if not grads:
        return torch.tensor(0.0)
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.another_form("none_not_expected")
@torch.no_grad()
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    grads = [param.grad for param in params]
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.wrong_answer(
    "nothing_to_stack",
    why="Without any gradient there is nothing to stack, and torch.stack raises. The norm of nothing is 0.",
    seen="The norm of nothing is 0",
)
@torch.no_grad()
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    grads = _grads(params)
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.wrong_answer(
    "returns_a_float",
    why="`.item()` makes a Python float, and waits for the device to do so. Return the tensor: who logs it may wait.",
    seen="who logs it may wait",
)
@torch.no_grad()
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> float:
    grads = _grads(params)
    if not grads:
        return 0.0
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total.item()


@clip_grad_norm_.another_form("returns_a_float")
@torch.no_grad()
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> float:
    grads = _grads(params)
    if not grads:
        return 0.0
    total = total_of(grads, norm_type).item()
    if total > max_norm:
        torch._foreach_mul_(grads, max_norm / (total + 1e-6))
    return total


@clip_grad_norm_.wrong_answer(
    "grad_mode_left_on",
    why="Autograd records the clipping. Where gradients have a graph (create_graph=True), the norm then requires grad, and "
    "drags that graph along: decorate with `@torch.no_grad()`.",
    seen="Autograd records the clipping",
)
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    grads = _grads(params)
    if not grads:
        return torch.tensor(0.0)
    total = total_of(grads, norm_type)
    torch._foreach_mul_(grads, factor_of(total, max_norm))
    return total


@clip_grad_norm_.wrong_answer(
    "zero_over_zero",
    why="The gradients are divided by their norm first, which gives 0 / 0, NaN, where all of them are 0. Divide max_norm "
    "by total + 1e-6, and multiply.",
    seen="which gives 0 / 0, NaN",
)
@on_gradients
def _(grads: list[Tensor], max_norm: float, norm_type: float) -> Tensor:
    total = total_of(grads, norm_type)
    unit = torch._foreach_div(grads, total)
    torch._foreach_copy_(grads, torch._foreach_mul(unit, total.clamp(max=max_norm)))
    return total


@clip_grad_norm_.wrong_answer(
    "torchs_own_clipping",
    why="torch.nn.utils does the work here, and nothing was learnt about how. It is five lines.",
    seen="nothing was learnt about how",
)
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    return torch.nn.utils.clip_grad_norm_(params, max_norm, norm_type)


@clip_grad_norm_.another_form("torchs_own_clipping")
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    params = [param for param in params if param.grad is not None]
    total = torch.nn.utils.get_total_norm([param.grad for param in params], norm_type)
    torch.nn.utils.clip_grads_with_norm_(params, max_norm, total)
    return total


@clip_grad_norm_.another_form("torchs_own_clipping")
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    return torch.nn.utils.clip_grad_norm_(params, max_norm, norm_type, foreach=True)


@clip_grad_norm_.another_form("torchs_own_clipping")
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    return torch.nn.utils.clip_grad_norm_(params, max_norm, norm_type, foreach=False)


@clip_grad_norm_.another_form("torchs_own_clipping")
def _(params: Params, max_norm: float, norm_type: float = 2.0) -> Tensor:
    return torch.nn.utils.clip_grad_norm_(
        [p for p in params if p.grad is not None], max_norm, norm_type
    ).item()
