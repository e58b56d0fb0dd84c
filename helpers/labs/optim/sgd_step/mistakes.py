"""What people write for 04.sgd_step, and why it is wrong."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from torch.optim.sgd import sgd

from helpers.labs.optim.sgd_step.exercise import sgd_step

Update = Callable[[Tensor, Tensor, dict, SimpleNamespace], None]


def refused(o: SimpleNamespace) -> None:
    if o.nesterov and (o.momentum <= 0 or o.dampening != 0):
        raise ValueError("nesterov needs a momentum above 0 and no dampening")


def by_parameter(update: Update, refuse: bool = True) -> Callable[..., None]:
    """A step that makes this update to each parameter with a gradient."""

    @functools.wraps(update)
    def step(params: list[Tensor], grads: list[Tensor | None], state: list[dict], **options: Any) -> None:
        o = SimpleNamespace(**options)
        if refuse:
            refused(o)
        with torch.no_grad():
            for param, grad, kept in zip(params, grads, state, strict=True):
                if grad is not None:
                    update(param, grad, kept, o)

    return step


updates = sgd_step.bank(by_parameter)
# The ValueErrors are often left out as well.
unrefused = sgd_step.bank(functools.partial(by_parameter, refuse=False))


def decayed(param: Tensor, grad: Tensor, o: SimpleNamespace) -> Tensor:
    """The gradient as the velocity takes it in."""
    return (-grad if o.maximize else grad).add(param, alpha=o.weight_decay)


def velocity(grad: Tensor, kept: dict, o: SimpleNamespace) -> Tensor:
    """The right velocity."""
    if "v" in kept:
        kept["v"].mul_(o.momentum).add_(grad, alpha=1 - o.dampening)
    else:
        kept["v"] = grad.clone()
    return kept["v"]


def direction(grad: Tensor, kept: dict, o: SimpleNamespace) -> Tensor:
    """The right direction of the step."""
    if o.momentum == 0:
        return grad
    now = velocity(grad, kept, o)
    return grad.add(now, alpha=o.momentum) if o.nesterov else now


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
    by_parameter(_right, refuse=False)(params, grads, state, **options)


def _right(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    param.sub_(o.lr * direction(decayed(param, grad, o), kept, o))


@sgd_step.variant(nesterov_takes_anything)
def _(params: list[Tensor], grads: list[Tensor | None], state: list[dict], **options: Any) -> None:
    if options["nesterov"] and options["momentum"] == 0:
        raise ValueError("nesterov needs momentum")
    by_parameter(_right, refuse=False)(params, grads, state, **options)


@sgd_step.mistake()
def refused_with_an_assertion(
    params: list[Tensor], grads: list[Tensor | None], state: list[dict], **options: Any
) -> None:
    """An assert is for what can never happen, and `python -O` removes it. For a wrong argument raise
    ValueError.
    """
    o = SimpleNamespace(**options)
    assert not o.nesterov or (o.momentum > 0 and o.dampening == 0), "nesterov needs momentum, no dampening"
    by_parameter(_right)(params, grads, state, **options)


@sgd_step.mistake()
def refused_too_late(
    params: list[Tensor], grads: list[Tensor | None], state: list[dict], **options: Any
) -> None:
    """The ValueError comes after the parameters have moved: whoever catches it has lost the weights."""
    by_parameter(_right, refuse=False)(params, grads, state, **options)
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
    by_parameter(_right)(params, grads, state, lr=lr, weight_decay=weight_decay, maximize=maximize, **options)


# None, aliasing, lists, state, and torch's own step.


Params, Grads, State = list[Tensor], list[Tensor | None], list[dict]


_step = by_parameter(_right)


@sgd_step.mistake()
def none_taken_as_zero(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """None means: this parameter had no part in the loss, leave it alone. A gradient of zeros still lets
    momentum and weight decay move it; that is how a frozen layer keeps moving.
    """
    _step(params, _filled(params, grads), state, **options)


def _filled(params: Params, grads: Grads) -> list[Tensor]:
    return [torch.zeros_like(p) if g is None else g for p, g in zip(params, grads, strict=True)]


@sgd_step.mistake()
def stops_at_none(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """The loop ends at the first None (`break` or `return`); the parameters behind it wait in vain. Pass over
    that one only.
    """
    end = next((place for place, grad in enumerate(grads) if grad is None), len(grads))
    _step(params[:end], grads[:end], state[:end], **options)


@sgd_step.variant(stops_at_none)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    for param, grad, kept in zip(params, grads, state, strict=True):
        if grad is None:
            return
        by_parameter(_right, refuse=False)([param], [grad], [kept], **options)


@sgd_step.mistake()
def none_filtered_from_one_list(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """The Nones are filtered out of the gradients only, so that every later gradient goes to its neighbour's
    parameter. Filter the three lists together.
    """
    given = [grad for grad in grads if grad is not None]
    _step(params[: len(given)], given, state[: len(given)], **options)


@sgd_step.mistake()
def none_not_expected(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """A parameter that had no part in the loss has no gradient: None comes in the list, and must be passed
    over.
    """
    o = SimpleNamespace(**options)
    refused(o)
    with torch.no_grad():
        for param, grad, kept in zip(params, grads, state, strict=True):
            grad = -grad if o.maximize else grad
            param.sub_(o.lr * direction(grad.add(param, alpha=o.weight_decay), kept, o))


@updates.mistake()
def velocity_is_the_gradient(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The first velocity is the gradient tensor itself. The next backward writes into that tensor, and so
    into the velocity: keep a clone.
    """
    grad = -grad if o.maximize else grad
    if o.weight_decay:
        grad = grad.add(param, alpha=o.weight_decay)
    if o.momentum and "v" not in kept:
        kept["v"] = grad
        param.sub_(o.lr * (grad + o.momentum * grad if o.nesterov else grad))
    else:
        param.sub_(o.lr * direction(grad, kept, o))


@unrefused.variant(velocity_is_the_gradient)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    grad = -grad if o.maximize else grad
    if o.weight_decay:
        grad = grad + o.weight_decay * param
    if o.momentum:
        kept["v"] = o.momentum * kept["v"] + (1 - o.dampening) * grad if "v" in kept else grad
        grad = grad + o.momentum * kept["v"] if o.nesterov else kept["v"]
    param.sub_(o.lr * grad)


@updates.mistake()
def gradient_edited(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """grad.add_ and grad.neg_ write weight decay and sign into the caller's gradient. Without the underscore
    they make a new tensor.
    """
    if o.maximize:
        grad.neg_()
    grad.add_(param, alpha=o.weight_decay)
    param.sub_(o.lr * direction(grad, kept, o))


@unrefused.variant(gradient_edited)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    grad = -grad if o.maximize else grad
    grad.add_(param, alpha=o.weight_decay)
    param.sub_(o.lr * direction(grad, kept, o))


@unrefused.variant(gradient_edited)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    if o.maximize:
        grad.neg_()
    param.sub_(o.lr * direction(grad.add(param, alpha=o.weight_decay), kept, o))


@unrefused.variant(gradient_edited)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    param.sub_(o.lr * direction(grad.mul_(-1 if o.maximize else 1).add(param, alpha=o.weight_decay), kept, o))


@unrefused.variant(gradient_edited)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    grad = -grad if o.maximize else grad
    if o.weight_decay:
        grad = grad.add(param, alpha=o.weight_decay)
    now = direction(grad, kept, SimpleNamespace(**{**vars(o), "nesterov": False}))
    param.sub_(o.lr * (grad.add_(now, alpha=o.momentum) if o.nesterov else now))


@updates.mistake()
def gradient_cleared(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The step zeroes the gradients. That is zero_grad's work: step() leaves them for whoever wants to look."""
    _right(param, grad, kept, o)
    grad.zero_()


@updates.mistake()
def parameter_rebound(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """`param = param - lr * grad` gives a new tensor to a local name. The parameter that the model holds has
    never been touched.
    """
    param = param - o.lr * direction(decayed(param, grad, o), kept, o)


@sgd_step.mistake()
def new_parameters_returned(params: Params, grads: Grads, state: State, **options: Any) -> list[Tensor]:
    """New tensors are returned, as functional code does. The model holds the old ones: edit them in place."""
    return _moved(params, grads, state, **options)


def _moved(params: Params, grads: Grads, state: State, **options: Any) -> list[Tensor]:
    new = [param.detach().clone() for param in params]
    _step(new, grads, state, **options)
    return new


@sgd_step.mistake()
def list_entries_replaced(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """`params[i] = ...` puts a new tensor into the list. The list is the caller's, and the model still holds
    the old parameter.
    """
    params[:] = _moved(params, grads, state, **options)


@sgd_step.mistake()
def state_replaced(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """`state[i] = {...}` puts a new dict into the list; the caller's dict stays empty, and what was
    remembered is lost. Write into the dict: `state[i]['velocity'] = ...`.
    """
    new = [dict(kept) for kept in state]
    _step(params, grads, new, **options)
    state[:] = new


@updates.mistake()
def storage_replaced(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """`param.data = ...` hangs the parameter on new memory. The values are right, and every view of the old
    memory is wrong from now on. `param.add_` writes where the parameter lives.
    """
    param.data = param - o.lr * direction(decayed(param, grad, o), kept, o)


@sgd_step.mistake()
def grad_mode_left_on(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """A leaf that requires grad may not be edited in place while autograd records: the step belongs under
    `torch.no_grad()`.
    """
    with torch.enable_grad():
        o = SimpleNamespace(**options)
        refused(o)
        for param, grad, kept in zip(params, grads, state, strict=True):
            if grad is not None:
                param.sub_(o.lr * direction(decayed(param, grad, o), kept, o))


@sgd_step.mistake()
def graph_in_the_velocity(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """`param.data` silences the error of autograd in the last line, and the decay reads `param`, which
    records: every step hangs its graph on the velocity. Use `torch.no_grad()` around the whole step.
    """
    o = SimpleNamespace(**options)
    refused(o)
    for param, grad, kept in zip(params, grads, state, strict=True):
        if grad is not None:
            param.data.sub_(o.lr * direction(decayed(param, grad, o), kept, o))


@sgd_step.mistake()
def graph_of_the_gradient(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """`param.data` keeps the parameter's graph out, and a gradient may have one, too: after
    backward(create_graph=True) it hangs on the velocity, and grows by every step. Use `torch.no_grad()` around
    the whole step.
    """
    o = SimpleNamespace(**options)
    refused(o)
    for param, grad, kept in zip(params, grads, state, strict=True):
        if grad is not None:
            param.data.sub_(o.lr * direction(decayed(param.data, grad, o), kept, o).detach())


_KEPT: list[dict] = []


@sgd_step.mistake()
def remembered_elsewhere(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """The velocities stand in a list of the function's own, or under id(param). A checkpoint of state does
    not bring them back, and in another order they go to the wrong parameters.
    """
    for place, kept in enumerate(state):
        _KEPT[place : place + bool(kept)] = _KEPT[place : place + 1] if kept else [{}]
        kept["seen"] = True
    _step(params, grads, _KEPT[: len(params)], **options)


@sgd_step.variant(remembered_elsewhere)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    _step(params, grads, [s.setdefault(id(p), {}) for p, s in zip(params, state, strict=True)], **options)


@sgd_step.mistake()
def one_beginning_for_all(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """Whether this is the first step is asked once for all parameters. One that joins later has a first step
    of its own: ask its own dict.
    """
    if state and state[0]:
        for param, kept in zip(params, state, strict=True):
            kept.setdefault("v", torch.zeros_like(param))
    _step(params, grads, state, **options)


@sgd_step.mistake()
def torchs_own_step(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """torch.optim does the work here, and nothing was learnt about what it does. Write the five lines of
    arithmetic.
    """
    for param, grad, kept in zip(params, grads, state, strict=True):
        optimizer = torch.optim.SGD([param], **options)
        if "v" in kept:
            optimizer.state[param]["momentum_buffer"] = kept["v"]
        param.grad = None if grad is None else grad.detach()
        optimizer.step()
        kept["v"] = optimizer.state[param].get("momentum_buffer")
        param.grad = None


@sgd_step.variant(torchs_own_step)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    refused(SimpleNamespace(**options))
    with torch.no_grad():
        for param, grad, kept in zip(params, grads, state, strict=True):
            if grad is not None:
                buffers = [kept.get("v")]
                sgd([param], [grad], buffers, **options)
                kept["v"] = buffers[0]


@sgd_step.variant(torchs_own_step)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    with torch.no_grad():
        for param, grad, kept in zip(params, grads, state, strict=True):
            if grad is not None:
                buffers = [kept.get("v")]
                torch.optim.sgd.sgd([param], [grad], buffers, foreach=True, **options)
                kept["v"] = buffers[0]


@sgd_step.variant(torchs_own_step)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    refused(SimpleNamespace(**options))
    with torch.no_grad():
        for param, grad, kept in zip(params, grads, state, strict=True):
            if grad is not None:
                first = "v" not in kept
                velocity = [kept.setdefault("v", torch.zeros_like(param))] if options["momentum"] else []
                if not options["momentum"]:
                    del kept["v"]
                torch._fused_sgd_([param], [grad.detach().clone()], velocity, is_first_step=first, **options)


@sgd_step.variant(torchs_own_step)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    if "optimizer" not in state[0]:
        state[0]["optimizer"] = torch.optim.SGD(params, **options)
    for param, grad in zip(params, grads, strict=True):
        param.grad = grad
    state[0]["optimizer"].step()
