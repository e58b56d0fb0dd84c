"""What people write for 04.adamw_step: the rule of a different optimizer, and what is kept too long."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from helpers.check.spec import returned
from helpers.labs.optim.adamw_step.exercise import DEFAULTS, adamw_step
from helpers.labs.optim.adamw_step.mistakes.rule import (
    averages,
    by_parameter,
    count_runs_ahead,
    direction,
    right,
    shrink,
    updates,
)

OPTIONS = "All options may change from step to step."
TAKES_IN = "exp_avg takes in (1 - beta1) of the gradient, exp_avg_sq takes in (1 - beta2) of its square"
STEP = "the step is lr * exp_avg / (sqrt(exp_avg_sq) + eps), with the corrected ones"
LIKE_TORCH = "One step of AdamW, as `torch.optim.AdamW` makes it"


@updates.mistake(breaks=STEP)
def amsgrad_always(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """A later step is too short, as if the largest second average so far stood below. That is amsgrad, which was not asked
    for.
    """
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    kept["x"] = torch.maximum(kept.get("x", torch.zeros_like(v)), v)
    param.sub_(o.lr * (m / (1 - o.beta1**t)) / ((kept["x"] / (1 - o.beta2**t)).sqrt() + o.eps))


@updates.mistake(breaks=STEP)
def looks_ahead(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The first average comes into the step with the newest gradient once more. That is like NAdam, which was not asked
    for.
    """
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    m = o.beta1 * m + (1 - o.beta1) * grad
    param.sub_(o.lr * (m / (1 - o.beta1**t)) / ((v / (1 - o.beta2**t)).sqrt() + o.eps))


@updates.mistake(breaks=TAKES_IN)
def square_of_the_average(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The first step is 1 / (1 - beta1) times torch's. Perhaps the second average took in the square of the first average, and
    not that of the gradient; or the first average began at the gradient, or took in all of it.
    """
    shrink(param, o)
    if not kept:
        kept.update(step=0, m=torch.zeros_like(grad), v=torch.zeros_like(grad))
    kept["step"] += 1
    kept["m"].lerp_(grad, 1 - o.beta1)
    kept["v"].mul_(o.beta2).addcmul_(kept["m"], kept["m"], value=1 - o.beta2)
    m, v, t = kept["m"], kept["v"], kept["step"]
    param.sub_(o.lr * (m / (1 - o.beta1**t)) / ((v / (1 - o.beta2**t)).sqrt() + o.eps))


@updates.mistake(breaks=TAKES_IN)
def largest_for_average(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """A step is wrong as if the largest gradient of late stood below, and no average of squares: that is Adamax."""
    shrink(param, o)
    m, _, t = averages(grad, kept, o)
    kept["u"] = torch.maximum(o.beta2 * kept.get("u", torch.zeros_like(grad)), grad.abs())
    param.sub_(o.lr * (m / (1 - o.beta1**t)) / (kept["u"] + o.eps))


@updates.mistake(breaks="The averages have the parameter's dtype and begin at zero.")
def averages_wider(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """For a bfloat16 parameter the state holds averages of a different dtype. Perhaps the gradient was cast before they took
    it in.
    """
    shrink(param, o)
    param.sub_((o.lr * direction(grad.double(), kept, o)).to(param.dtype))


@updates.variant(averages_wider)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    wide = torch.float64 if grad.dtype == torch.float64 else torch.float32
    shrink(param, o)
    param.sub_((o.lr * direction(grad.to(wide), kept, o)).to(param.dtype))


@updates.mistake(breaks=OPTIONS)
def lr_of_the_first_step(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """When a scheduler changes lr, the steps stay as long as before. Perhaps lr is kept from the first step on."""
    lr = kept.get("lr", o.lr)
    right(param, grad, kept, SimpleNamespace(**{**vars(o), "lr": lr}))
    kept["lr"] = lr


@updates.mistake(breaks=OPTIONS)
def betas_of_the_first_step(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """When the betas change, the corrections stay those of the old ones. Perhaps they are kept from the first step on."""
    first, second = kept.get("betas", (o.beta1, o.beta2))
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    kept["betas"] = first, second
    param.sub_(o.lr * (m / (1 - first**t)) / ((v / (1 - second**t)).sqrt() + o.eps))


@updates.mistake(breaks="Each parameter counts its own steps, from 1.")
def count_stands_still(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The first step is right, and the second one is corrected as a first one. Perhaps the count is not raised, or not
    stored.
    """
    right(param, grad, kept, o)
    kept["step"] = 0


def _with_defaults(**defaults: Any) -> Callable[..., None]:
    """A step in which an option has a different default."""

    def step(params: list[Tensor], grads: list[Tensor | None], state: list[dict], **options: Any) -> None:
        by_parameter(right)(params, grads, state, **DEFAULTS | defaults | options)

    return step


built = adamw_step.bank(returned)


@built.mistake(breaks=LIKE_TORCH)
def betas_by_default():
    """Without betas the steps are not those with (0.9, 0.999), torch's default. Perhaps the second one is 0.99 here."""
    return _with_defaults(betas=(0.9, 0.99))


@built.mistake(breaks=LIKE_TORCH)
def eps_by_default():
    """Without eps the steps are not those with 1e-8, torch's default. Perhaps it is 1e-6 here, as in some papers."""
    return _with_defaults(eps=1e-6)


@built.mistake(breaks=LIKE_TORCH)
def lr_by_default():
    """Without lr the steps are not those with 1e-3, torch's default. Perhaps it is 1e-2 here."""
    return _with_defaults(lr=1e-2)


DECAY = "the parameter shrinks by lr * weight_decay of itself"
LEFT = "The gradients and the lists are left as they are."


@updates.mistake(breaks=DECAY)
def matrices_decay_only(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """A parameter of one dimension did not decay, and a matrix did. Perhaps biases and norms were left out, as recipes do by
    two groups of parameters: the step itself lets each of them decay.
    """
    if param.ndim >= 2:
        shrink(param, o)
    param.sub_(o.lr * direction(grad, kept, o))


@adamw_step.mistake(breaks="Where the gradient is None, that parameter stays where it is")
def states_slip_to_others(params: list[Tensor], grads: list[Any], state: list[dict], **options: Any) -> None:
    """With a None in the list a parameter moved by the averages of a different one. Perhaps parameters and gradients were
    filtered, and the list of dicts was not: filter the three together.
    """
    given = [(param, grad) for param, grad in zip(params, grads, strict=True) if grad is not None]
    by_parameter(right)(
        [param for param, _ in given], [grad for _, grad in given], state[: len(given)], **options
    )


@updates.mistake(breaks=LIKE_TORCH)
def sliced(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The step ends in an IndexError for a parameter without dimensions, such as a scale. Perhaps `param[:] = ...` writes the
    new values, and there is nothing to slice: copy_, add_ and mul_ take every shape.
    """
    param[:] = param * (1 - o.lr * o.weight_decay) - o.lr * direction(grad, kept, o)


@adamw_step.mistake(breaks=LEFT)
def gradients_taken_out(params: list[Tensor], grads: list[Any], state: list[dict], **options: Any) -> None:
    """After the step the list of gradients holds different objects, or fewer. Perhaps entries were set to None or taken out
    by pop, to free their memory, or a tensor was put in the place of None: the list is the caller's.
    """
    for place, (param, kept) in enumerate(zip(params, state, strict=True)):
        grad, grads[place] = grads[place], None
        by_parameter(right)([param], [grad], [kept], **options)


@adamw_step.variant(gradients_taken_out)
def _(params: list[Tensor], grads: list[Any], state: list[dict], **options: Any) -> None:
    by_parameter(right)(params, [grads.pop(0) for _ in params], state, **options)


@updates.mistake(breaks=LEFT)
def inf_taken_out_in_place(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """A gradient with inf in it was edited, and others were not. Perhaps nan_to_num_ repaired it where it lies: whoever looks
    for inf afterwards finds none.
    """
    right(param, torch.nan_to_num_(grad), kept, o)


@adamw_step.variant(gradients_taken_out)
def _(params: list[Tensor], grads: list[Any], state: list[dict], **options: Any) -> None:
    by_parameter(right)(params, grads, state, **options)
    for place, (param, grad) in enumerate(zip(params, grads, strict=True)):
        if grad is None:
            grads[place] = torch.zeros_like(param)


@updates.mistake(breaks=TAKES_IN)
def first_average_weights_swapped(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The first step is beta1 / (1 - beta1) times torch's. Perhaps the first average takes in beta1 of the gradient and keeps
    1 - beta1 of itself: lerp_ takes the weight of what is new.
    """
    if not kept:
        kept.update(step=0, m=torch.zeros_like(grad), v=torch.zeros_like(grad))
    kept["step"] += 1
    shrink(param, o)
    kept["m"].lerp_(grad, o.beta1)
    kept["v"].mul_(o.beta2).addcmul_(grad, grad, value=1 - o.beta2)
    m, v, t = kept["m"], kept["v"], kept["step"]
    param.sub_(o.lr * (m / (1 - o.beta1**t)) / ((v / (1 - o.beta2**t)).sqrt() + o.eps))


@updates.mistake(breaks=STEP)
def eps_as_a_floor(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """With a large eps the step is too long where the root is larger than eps, as if eps were the least that stands below.
    Perhaps the root was clamped: eps is added to it.
    """
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    root = (v / (1 - o.beta2**t)).sqrt().clamp(min=o.eps)
    param.sub_(o.lr * (m / (1 - o.beta1**t)) / root)


@adamw_step.mistake(breaks="Where the gradient is None, that parameter stays where it is")
def all_wait_for_one(params: list[Tensor], grads: list[Any], state: list[dict], **options: Any) -> None:
    """Where one gradient is None, the parameters that have one do not move either. Perhaps the function returns there: pass
    over that one only.
    """
    if all(grad is not None for grad in grads):
        by_parameter(right)(params, grads, state, **options)


@adamw_step.mistake(breaks="Each parameter counts its own steps, from 1.")
def count_of_the_first_parameter(
    params: list[Tensor], grads: list[Any], state: list[dict], **options: Any
) -> None:
    """A parameter does not take its step with the count of its own steps. Perhaps one count serves all, and stands in the dict
    of the first parameter: each dict counts the steps that it takes.
    """
    own = [kept.setdefault("own", {}) for kept in state]
    for place, (param, grad) in enumerate(zip(params, grads, strict=True)):
        if grad is not None:
            if not own[place]:
                own[place].update(step=0, m=torch.zeros_like(param), v=torch.zeros_like(param))
            if place == 0:
                state[0]["count"] = state[0].get("count", 0) + 1
            own[place]["step"] = max(state[0].get("count", 0), 1) - 1
            by_parameter(right)([param], [grad], [own[place]], **options)


@adamw_step.variant(count_runs_ahead)
def _(params: list[Tensor], grads: list[Any], state: list[dict], **options: Any) -> None:
    for param, grad, kept in zip(params, grads, state, strict=True):
        if grad is not None and not kept:
            count = max((one["step"] for one in state if one), default=1) - 1
            kept.update(step=count, m=torch.zeros_like(param), v=torch.zeros_like(param))
        by_parameter(right)([param], [grad], [kept], **options)
