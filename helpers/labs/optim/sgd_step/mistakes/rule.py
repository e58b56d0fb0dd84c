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
    """With a constant lr all agrees; when lr changes, part of the step still has the old rate. Perhaps the
    velocity gathers lr times the gradient, as in many papers; in torch lr scales the whole step.
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
    """The very first step is dampened, too. In torch the first velocity is the gradient itself, and dampening
    begins with the second. Perhaps the velocity begins as zeros.
    """
    kept.setdefault("v", torch.zeros_like(param))
    param.sub_(o.lr * direction(decayed(param, grad, o), kept, o))


@updates.mistake()
def decay_before_maximize(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """With maximize the decay pushes the weights away from zero. Perhaps the sign was turned after weight decay
    was added: turn the gradient first, decay then.
    """
    grad = grad + o.weight_decay * param
    param.sub_(o.lr * direction(-grad if o.maximize else grad, kept, o))


@unrefused.variant(decay_before_maximize)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    step = direction(grad + o.weight_decay * param, kept, o)
    param.add_(step, alpha=o.lr if o.maximize else -o.lr)


@updates.mistake()
def maximize_ignored(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """With maximize the step goes down where it should go up: perhaps maximize is not looked at."""
    param.sub_(o.lr * direction(grad + o.weight_decay * param, kept, o))


@updates.mistake()
def decay_ignored(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """With weight_decay the first step is that without it: perhaps weight_decay is not looked at."""
    param.sub_(o.lr * direction(-grad if o.maximize else grad, kept, o))


@updates.mistake()
def decay_past_the_velocity(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The decay does not act through the gradient: with momentum the velocity lacks it, or it shrinks the step
    as well. Perhaps it goes to the parameter directly, as in AdamW.
    """
    param.mul_(1 - o.lr * o.weight_decay)
    param.sub_(o.lr * direction(-grad if o.maximize else grad, kept, o))


@unrefused.variant(decay_past_the_velocity)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    param.sub_(o.lr * direction(-grad if o.maximize else grad, kept, o))
    param.mul_(1 - o.lr * o.weight_decay)


@updates.mistake()
def decay_scaled_twice(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The decay is lr times too small. Perhaps lr times weight_decay times the parameter is added to the
    gradient, which lr scales once more in the step.
    """
    grad = (-grad if o.maximize else grad) + o.lr * o.weight_decay * param
    param.sub_(o.lr * direction(grad, kept, o))


@updates.mistake()
def velocity_is_an_average(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """With momentum a gradient comes into the velocity with a weight of 1 - momentum. Perhaps an average was
    meant, as in Adam: SGD's velocity is a sum, weakened by dampening only.
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
    """With dampening the second gradient comes into the velocity whole: perhaps dampening is not looked at."""
    param.sub_(
        o.lr * direction(decayed(param, grad, o), kept, SimpleNamespace(**{**vars(o), "dampening": 0}))
    )


@updates.mistake()
def dampening_on_the_velocity(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """Dampening weakens the old velocity, and the new gradient comes in whole. It belongs to the new gradient."""
    weak = SimpleNamespace(**{**vars(o), "dampening": 0, "momentum": o.momentum * (1 - o.dampening)})
    param.sub_(o.lr * direction(decayed(param, grad, o), kept, weak))


@updates.mistake()
def momentum_ignored(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """With momentum the second step is still lr times the newest gradient. Perhaps no velocity is kept, or
    momentum is not looked at.
    """
    param.sub_(o.lr * decayed(param, grad, o))


@updates.mistake()
def nesterov_ignored(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """With nesterov the first step is the plain velocity. Perhaps nesterov is not looked at, or the look-ahead
    uses the old velocity: the gradient plus momentum times the old velocity is the new one.
    """
    grad = decayed(param, grad, o)
    param.sub_(o.lr * (velocity(grad, kept, o) if o.momentum else grad))


@updates.mistake()
def nesterov_without_decay(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """With nesterov and weight decay the step lacks the decay beside the velocity. Perhaps the look-ahead adds
    momentum times the velocity to the raw gradient.
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
    """With nesterov the second step is (1 + momentum) times the velocity. Perhaps the velocity stands in the
    place of the gradient: the look-ahead is the gradient plus momentum times the velocity.
    """
    grad = decayed(param, grad, o)
    now = velocity(grad, kept, o) if o.momentum else grad
    param.sub_(o.lr * (now + o.momentum * now if o.nesterov else now))


@updates.mistake()
def nesterov_kept_as_velocity(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """With nesterov the first step is right and the second one too long. Perhaps the look-ahead has been stored
    as the new velocity: it is only for this step.
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
    """Nesterov without momentum, or with dampening, was taken. Torch's form of it means nothing then: refuse
    both, before anything moves.
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
    """An AssertionError came where ValueError was asked for. An assert is for what can never happen, and
    `python -O` removes it.
    """
    o = SimpleNamespace(**options)
    assert not o.nesterov or (o.momentum > 0 and o.dampening == 0), "nesterov needs momentum, no dampening"
    by_parameter(right)(params, grads, state, **options)


@sgd_step.mistake()
def refused_too_late(
    params: list[Tensor], grads: list[Tensor | None], state: list[dict], **options: Any
) -> None:
    """The step was refused after a parameter had moved: whoever catches the error has lost the weights. Perhaps
    the options are looked at behind the step.
    """
    by_parameter(right, refuse=False)(params, grads, state, **options)
    refused(SimpleNamespace(**options))


@unrefused.mistake()
def refused_in_the_loop(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The step was refused, and the state remembers a step that was never made. Perhaps the options are looked
    at behind the velocity: look at them before the loop.
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
    """A step with lr alone ends in a TypeError: the signature has lost its defaults. Most callers leave out the
    rest, as with torch.optim.SGD.
    """
    options = dict(momentum=momentum, dampening=dampening, nesterov=nesterov)
    by_parameter(right)(params, grads, state, lr=lr, weight_decay=weight_decay, maximize=maximize, **options)
