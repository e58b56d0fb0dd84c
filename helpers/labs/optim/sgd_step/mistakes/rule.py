"""What people write for 04.sgd_step: a different rule, and what is refused."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from helpers.labs.optim.sgd_step.exercise import sgd_step
from helpers.labs.optim.sgd_step.right import by_parameter, decayed, direction, refused, right, velocity

updates = sgd_step.bank(by_parameter)
# The ValueErrors are often left out as well.
unrefused = sgd_step.bank(functools.partial(by_parameter, refuse=False))


@updates.mistake()
def velocity_scaled_by_lr(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The velocity gathers lr times the gradient, as in many papers. With a constant lr that is the same;
    when a scheduler changes lr, torch's whole step changes at once, and this velocity still holds the old
    rate.
    """
    grad = decayed(param, grad, o)
    if o.momentum == 0:
        param.sub_(o.lr * grad)
        return
    if "v" in kept:
        kept["v"] = o.momentum * kept["v"] + o.lr * (1 - o.dampening) * grad
    else:
        kept["v"] = o.lr * grad
    param.sub_(o.lr * grad + o.momentum * kept["v"] if o.nesterov else kept["v"])


@updates.mistake()
def first_gradient_dampened(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """A velocity that begins as zeros takes in the first gradient dampened, too. In torch the first velocity
    is the gradient itself; dampening begins with the second.
    """
    kept.setdefault("v", torch.zeros_like(param))
    param.sub_(o.lr * direction(decayed(param, grad, o), kept, o))


@updates.mistake()
def decay_before_maximize(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The sign is turned after weight decay was added, so that with maximize the decay pushes the weights
    away from zero. Turn the gradient first, decay then.
    """
    grad = grad + o.weight_decay * param
    param.sub_(o.lr * direction(-grad if o.maximize else grad, kept, o))


@unrefused.variant(decay_before_maximize)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    step = direction(grad + o.weight_decay * param, kept, o)
    param.add_(step, alpha=o.lr if o.maximize else -o.lr)


@updates.mistake()
def maximize_ignored(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """maximize is not looked at: the step goes down where it should go up."""
    param.sub_(o.lr * direction(grad + o.weight_decay * param, kept, o))


@updates.mistake()
def decay_ignored(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """weight_decay is not looked at."""
    param.sub_(o.lr * direction(-grad if o.maximize else grad, kept, o))


@updates.mistake()
def decay_past_the_velocity(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The decay goes to the parameter directly (as in AdamW, or added to the finished step). In SGD it is
    part of the gradient, so the velocity gathers it, too. Without momentum the two are the same.
    """
    param.mul_(1 - o.lr * o.weight_decay)
    param.sub_(o.lr * direction(-grad if o.maximize else grad, kept, o))


@unrefused.variant(decay_past_the_velocity)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    param.sub_(o.lr * direction(-grad if o.maximize else grad, kept, o))
    param.mul_(1 - o.lr * o.weight_decay)


@updates.mistake()
def decay_scaled_twice(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """lr times weight_decay times the parameter is added to the gradient, which lr scales once more in the
    step.
    """
    grad = (-grad if o.maximize else grad) + o.lr * o.weight_decay * param
    param.sub_(o.lr * direction(grad, kept, o))


@updates.mistake()
def velocity_is_an_average(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """momentum * v + (1 - momentum) * grad is an average, as in Adam. SGD's velocity is a sum: the gradient
    comes in whole, weakened by dampening only.
    """
    averaging = SimpleNamespace(**{**vars(o), "dampening": o.momentum})
    param.sub_(o.lr * direction(decayed(param, grad, o), kept, averaging))


@unrefused.variant(velocity_is_an_average)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    kept.setdefault("v", torch.zeros_like(param))
    averaging = SimpleNamespace(**{**vars(o), "dampening": o.momentum})
    param.sub_(o.lr * direction(decayed(param, grad, o), kept, averaging))


@updates.mistake()
def dampening_ignored(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """dampening is not looked at: each gradient comes into the velocity whole."""
    param.sub_(
        o.lr * direction(decayed(param, grad, o), kept, SimpleNamespace(**{**vars(o), "dampening": 0}))
    )


@updates.mistake()
def dampening_on_the_velocity(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """Dampening weakens the old velocity here. It belongs to the new gradient."""
    weak = SimpleNamespace(**{**vars(o), "dampening": 0, "momentum": o.momentum * (1 - o.dampening)})
    param.sub_(o.lr * direction(decayed(param, grad, o), kept, weak))


@updates.mistake()
def momentum_ignored(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """No velocity is kept: every step is lr times the newest gradient."""
    param.sub_(o.lr * decayed(param, grad, o))


@updates.mistake()
def nesterov_ignored(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The step is the plain velocity. (So it is when the look-ahead uses the old velocity: the gradient plus
    momentum times the old velocity is the new one.)
    """
    grad = decayed(param, grad, o)
    param.sub_(o.lr * (velocity(grad, kept, o) if o.momentum else grad))


@updates.mistake()
def nesterov_without_decay(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The look-ahead adds momentum times the velocity to the raw gradient; weight decay is in the velocity,
    and has been left out of the gradient beside it.
    """
    if not o.nesterov:
        param.sub_(o.lr * direction(decayed(param, grad, o), kept, o))
        return
    now = velocity(decayed(param, grad, o), kept, o)
    param.sub_(o.lr * ((-grad if o.maximize else grad) + o.momentum * now))


@unrefused.variant(nesterov_ignored)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    grad = decayed(param, grad, o)
    old = kept["v"].clone() if "v" in kept else torch.zeros_like(param)
    step = direction(grad, kept, o)
    param.sub_(o.lr * (grad + o.momentum * old if o.nesterov else step))


@updates.mistake()
def nesterov_looks_ahead_twice(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The velocity is added to itself times momentum; the look-ahead is the gradient plus momentum times the
    velocity.
    """
    grad = decayed(param, grad, o)
    now = velocity(grad, kept, o) if o.momentum else grad
    param.sub_(o.lr * (now + o.momentum * now if o.nesterov else now))


@updates.mistake()
def nesterov_kept_as_velocity(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The look-ahead has been stored as the new velocity. It is only for this step; the velocity goes on
    without it.
    """
    grad = decayed(param, grad, o)
    step = direction(grad, kept, o)
    if o.nesterov:
        kept["v"] = step
    param.sub_(o.lr * step)


@sgd_step.mistake()
def nesterov_takes_anything(
    params: list[Tensor], grads: list[Tensor | None], state: list[dict], **options: Any
) -> None:
    """Nesterov's look-ahead means nothing without momentum, and torch's form of it is wrong with dampening:
    refuse both, before anything moves.
    """
    by_parameter(right, refuse=False)(params, grads, state, **options)


@sgd_step.variant(nesterov_takes_anything)
def _(params: list[Tensor], grads: list[Tensor | None], state: list[dict], **options: Any) -> None:
    if options["nesterov"] and options["momentum"] == 0:
        raise ValueError("nesterov needs momentum")
    by_parameter(right, refuse=False)(params, grads, state, **options)


@sgd_step.mistake()
def refused_with_an_assertion(
    params: list[Tensor], grads: list[Tensor | None], state: list[dict], **options: Any
) -> None:
    """An assert is for what can never happen, and `python -O` removes it. For a wrong argument raise
    ValueError.
    """
    o = SimpleNamespace(**options)
    assert not o.nesterov or (o.momentum > 0 and o.dampening == 0), "nesterov needs momentum, no dampening"
    by_parameter(right)(params, grads, state, **options)


@sgd_step.mistake()
def refused_too_late(
    params: list[Tensor], grads: list[Tensor | None], state: list[dict], **options: Any
) -> None:
    """The ValueError comes after the parameters have moved: whoever catches it has lost the weights."""
    by_parameter(right, refuse=False)(params, grads, state, **options)
    refused(SimpleNamespace(**options))


@unrefused.mistake()
def refused_in_the_loop(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The options are looked at behind the velocity: the ValueError comes, and the state remembers a step that
    was never made. Look at them before the loop.
    """
    step = direction(decayed(param, grad, o), kept, o)
    refused(o)
    param.sub_(o.lr * step)


@sgd_step.mistake()
def defaults_lost(
    params: list[Tensor],
    grads: list[Tensor | None],
    state: list[dict],
    lr: float,
    momentum: float,
    dampening: float,
    nesterov: bool,
    weight_decay: float,
    maximize: bool,
) -> None:
    """The signature has lost its defaults. Most callers give lr and momentum and leave out the rest, as with
    torch.optim.SGD, and now get a TypeError.
    """
    options = dict(momentum=momentum, dampening=dampening, nesterov=nesterov)
    by_parameter(right)(params, grads, state, lr=lr, weight_decay=weight_decay, maximize=maximize, **options)
