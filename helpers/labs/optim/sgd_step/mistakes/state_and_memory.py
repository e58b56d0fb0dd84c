"""What people write for 04.sgd_step: None, aliasing, lists, state, and torch's own step."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from torch.optim.sgd import sgd

from helpers.labs.optim.sgd_step.exercise import sgd_step
from helpers.labs.optim.sgd_step.mistakes.rule import unrefused, updates
from helpers.labs.optim.sgd_step.right import by_parameter, decayed, direction, refused, right

Params, Grads, State = list[Tensor], list[Tensor | None], list[dict]
_step = by_parameter(right)


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
        by_parameter(right, refuse=False)([param], [grad], [kept], **options)


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
    right(param, grad, kept, o)
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
