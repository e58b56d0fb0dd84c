"""What people write for 04.sgd_step: a velocity that is kept, shared or forgotten where it should not be."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from helpers.labs.optim.sgd_step.exercise import sgd_step
from helpers.labs.optim.sgd_step.mistakes.rule import updates
from helpers.labs.optim.sgd_step.right import by_parameter, decayed, direction, right, velocity

Params, Grads, State = list[Tensor], list[Tensor | None], list[dict]
STAYS = "and the velocity stays as it is"
STEP = "the step is lr times the velocity, or with nesterov lr times (gradient + momentum * velocity)"
NONE = "Where the gradient is None, that parameter stays where it is, and so does what is remembered of it."


@updates.mistake(breaks=STAYS)
def velocity_dropped(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """After a step without momentum the velocity begins anew. Perhaps the dict was cleared there: it stays as it is."""
    if o.momentum == 0:
        kept.clear()
    right(param, grad, kept, o)


@updates.mistake(breaks=STAYS)
def velocity_goes_on(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """A step without momentum changed the velocity, or began one. Perhaps the velocity takes in the gradient whether there
    is momentum or not.
    """
    grad = decayed(param, grad, o)
    now = velocity(grad, kept, o)
    step = grad if o.momentum == 0 else now
    param.sub_(o.lr * (grad + o.momentum * now if o.nesterov else step))


@updates.variant(velocity_goes_on)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    grad = decayed(param, grad, o)
    now = velocity(grad, kept, o)
    param.sub_(o.lr * (grad + o.momentum * now if o.nesterov else now))


@updates.variant(velocity_goes_on)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    if o.momentum == 0 and kept:  # a velocity that was begun goes on, and none begins
        velocity(decayed(param, grad, o), kept, o)
    right(param, grad, kept, o)


@updates.mistake(breaks="of any shape and floating dtype")
def velocity_in_float32(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """For a float64 parameter a step is off by as little as float32 rounds. Perhaps the velocity is kept in float32: take
    the parameter's dtype.
    """
    grad = decayed(param, grad, o)
    step = direction(grad.float(), kept, o) if o.momentum else grad
    param.sub_((o.lr * step).to(param.dtype))


@updates.mistake(breaks="maximize turns the gradient's sign")
def sign_of_the_whole_step(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """When maximize is turned on or off between steps, the velocity of before has the wrong sign. Perhaps the sign of the
    finished step is turned: turn the gradient, the velocity remembers it.
    """
    sign = -1.0 if o.maximize else 1.0
    step = direction(grad + sign * o.weight_decay * param, kept, o)
    param.sub_(sign * o.lr * step)


@updates.mistake(breaks=STEP)
def lr_on_the_gradient_only(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """With nesterov momentum times the velocity comes into the step without lr. Perhaps a bracket is missing: lr times
    (gradient + momentum * velocity).
    """
    grad = decayed(param, grad, o)
    if o.momentum and o.nesterov:
        param.sub_(o.lr * grad + o.momentum * velocity(grad, kept, o))
    else:
        param.sub_(o.lr * direction(grad, kept, o))


@updates.mistake(breaks="momentum * velocity + (1 - dampening) * gradient")
def both_dampened(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """Dampening weakens the old velocity and the new gradient. It belongs to the new gradient alone."""
    grad = decayed(param, grad, o)
    if o.momentum:
        kept["v"] = (o.momentum * kept["v"] + grad) * (1 - o.dampening) if "v" in kept else grad.clone()
        grad = grad + o.momentum * kept["v"] if o.nesterov else kept["v"]
    param.sub_(o.lr * grad)


@sgd_step.mistake(breaks=NONE)
def velocity_shrinks_at_none(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """A parameter without a gradient stays where it is, and its next step is too short. Perhaps momentum shrinks its
    velocity all the same.
    """
    by_parameter(right)(params, grads, state, **options)
    for grad, kept in zip(grads, state, strict=True):
        if grad is None and "v" in kept:
            kept["v"] = options["momentum"] * kept["v"]


@updates.mistake(breaks=STEP)
def zeros_passed_over(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """With a gradient of zeros the parameter stays, and its velocity moves on in torch. Perhaps zeros are taken for None:
    a zero gradient is a gradient.
    """
    if grad.any():
        right(param, grad, kept, o)


@sgd_step.mistake(breaks="state: one dict for each parameter")
def one_velocity_for_a_shape(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """Two parameters of one shape disturb each other from the first step with momentum on. Perhaps their velocity is kept
    under the shape: each has a dict of its own.
    """
    shared = [state[0].setdefault(tuple(param.shape), {}) for param in params]
    by_parameter(right)(params, grads, shared, **options)


@sgd_step.mistake(breaks="One step of SGD, as `torch.optim.SGD` makes it")
def momentum_by_default(
    params: Params,
    grads: Grads,
    state: State,
    lr: float,
    momentum: float = 0.9,
    dampening: float = 0.0,
    nesterov: bool = False,
    weight_decay: float = 0.0,
    maximize: bool = False,
) -> None:
    """With lr alone the steps are not those without momentum. Perhaps its default is 0.9; torch's is 0."""
    options = dict(momentum=momentum, dampening=dampening, nesterov=nesterov)
    by_parameter(right)(params, grads, state, lr=lr, weight_decay=weight_decay, maximize=maximize, **options)


@updates.mistake(breaks="All options may change from step to step.")
def lr_of_the_first_step(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """When a scheduler changes lr, the steps go on with the lr of before. Perhaps lr is kept from the first step on."""
    lr = kept.get("lr", o.lr)
    right(param, grad, kept, SimpleNamespace(**{**vars(o), "lr": lr}))
    kept["lr"] = lr


@updates.mistake(breaks="weight_decay * param is added to it")
def matrices_decay_only(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """A parameter of one dimension did not decay, and a matrix did. Perhaps biases and norms were left out, as recipes do by
    two groups of parameters: the step itself lets each of them decay.
    """
    decay = o.weight_decay if param.ndim >= 2 else 0.0
    right(param, grad, kept, SimpleNamespace(**{**vars(o), "weight_decay": decay}))


@updates.mistake(breaks=STEP)
def nesterov_from_the_second_step(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """With nesterov the first step is the plain velocity, and later ones are not. Perhaps the look-ahead is missing in the
    branch of the first step: there it is (1 + momentum) times the gradient.
    """
    first = "v" not in kept
    right(param, grad, kept, SimpleNamespace(**{**vars(o), "nesterov": o.nesterov and not first}))


@updates.mistake(breaks="and at first as torch's does")
def begun_by_any_step(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """A velocity that begins after steps without momentum is dampened in its first step. Perhaps the first one of all
    steps was looked for, and not the first one with momentum.
    """
    if o.momentum == 0:
        kept.setdefault("v", torch.zeros_like(param))
    right(param, grad, kept, o)


@sgd_step.mistake(breaks="The lists themselves are left alone.")
def gradients_list_filled(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """After the step the list of gradients holds different objects, or fewer. Perhaps a tensor was put in the place of None,
    or an entry was taken out: the list is the caller's.
    """
    by_parameter(right)(params, grads, state, **options)
    for place, (param, grad) in enumerate(zip(params, grads, strict=True)):
        if grad is None:
            grads[place] = torch.zeros_like(param)


@sgd_step.variant(gradients_list_filled)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    by_parameter(right)(params, grads, state, **options)
    grads.clear()


@sgd_step.mistake(breaks="ValueError: nesterov without momentum, or with dampening")
def refused_with_a_gradient_only(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """Where all gradients are None, nesterov without momentum, or with dampening, is taken. Perhaps the options are looked at
    in the loop, or after a return: look at them first.
    """
    if any(grad is not None for grad in grads):
        by_parameter(right)(params, grads, state, **options)
