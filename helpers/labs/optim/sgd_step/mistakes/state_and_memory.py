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
    """A parameter without a gradient has moved as with a gradient of zeros. None means that it had no part in
    the loss: leave it alone. Perhaps zeros were put in its place; that is how a frozen layer keeps moving.
    """
    _step(params, _filled(params, grads), state, **options)


def _filled(params: Params, grads: Grads) -> list[Tensor]:
    return [torch.zeros_like(p) if g is None else g for p, g in zip(params, grads, strict=True)]


@sgd_step.mistake()
def stops_at_none(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """Parameters behind one whose gradient is None have not moved. Perhaps the loop ends there (`break` or
    `return`): pass over that one only.
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
    """With a None in the list a parameter moved by the gradient of its neighbour. Perhaps the Nones were
    filtered out of one list only: filter the three lists together.
    """
    given = [grad for grad in grads if grad is not None]
    _step(params[: len(given)], given, state[: len(given)], **options)


@sgd_step.mistake()
def none_not_expected(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """A gradient that is None ends in an AttributeError. A parameter that had no part in the loss has none: it
    must be passed over.
    """
    o = SimpleNamespace(**options)
    refused(o)
    with torch.no_grad():
        for param, grad, kept in zip(params, grads, state, strict=True):
            grad = -grad if o.maximize else grad
            param.sub_(o.lr * direction(grad.add(param, alpha=o.weight_decay), kept, o))


@updates.mistake()
def velocity_is_the_gradient(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The next gradient, written into the same tensor, changed what is remembered. Perhaps the first velocity
    is the gradient tensor itself: keep a clone.
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
    """After the step a gradient holds different values. Perhaps grad.add_, grad.neg_ or grad.mul_ wrote into
    it: without the underscore they make a new tensor.
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
    """The gradients are zeros after the step. Zeroing them is zero_grad's work: step() leaves them for whoever
    wants to look.
    """
    right(param, grad, kept, o)
    grad.zero_()


@updates.mistake()
def parameter_rebound(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The parameters that the model holds have not moved, though a velocity may be kept. Perhaps `param = param
    - lr * grad` gave a new tensor to a local name.
    """
    param = param - o.lr * direction(decayed(param, grad, o), kept, o)


@sgd_step.mistake()
def new_parameters_returned(params: Params, grads: Grads, state: State, **options: Any) -> list[Tensor]:
    """The parameters have not moved, and a list was returned. Perhaps it holds new tensors, as functional code
    does: the model holds the old ones, edit them in place.
    """
    return _moved(params, grads, state, **options)


def _moved(params: Params, grads: Grads, state: State, **options: Any) -> list[Tensor]:
    new = [param.detach().clone() for param in params]
    _step(new, grads, state, **options)
    return new


@sgd_step.mistake()
def list_entries_replaced(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """The parameters that the model holds have not moved. Perhaps `params[i] = ...` put a new tensor into the
    list, which is the caller's.
    """
    params[:] = _moved(params, grads, state, **options)


@sgd_step.mistake()
def state_replaced(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """After the step the list state holds different dicts than before. Perhaps `state[i] = {...}` put a new one
    there: write into the dict that is there, which the caller may hold elsewhere, too.
    """
    new = [dict(kept) for kept in state]
    _step(params, grads, new, **options)
    state[:] = new


@updates.mistake()
def storage_replaced(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The values are right, and a parameter lies in new memory: every view of the old memory is wrong from now
    on. Perhaps `param.data = ...` was written; `param.add_` writes where the parameter lives.
    """
    param.data = param - o.lr * direction(decayed(param, grad, o), kept, o)


@sgd_step.mistake()
def grad_mode_left_on(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """Torch refuses: a leaf that requires grad may not be edited in place while autograd records. The step
    belongs under `torch.no_grad()`.
    """
    with torch.enable_grad():
        o = SimpleNamespace(**options)
        refused(o)
        for param, grad, kept in zip(params, grads, state, strict=True):
            if grad is not None:
                param.sub_(o.lr * direction(decayed(param, grad, o), kept, o))


@sgd_step.mistake()
def graph_in_the_velocity(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """A tensor in the state requires grad: every step adds to its graph, which is never freed. Perhaps only the
    last line is hidden from autograd, and the decay reads `param`: use `torch.no_grad()` around the whole
    step.
    """
    o = SimpleNamespace(**options)
    refused(o)
    for param, grad, kept in zip(params, grads, state, strict=True):
        if grad is not None:
            param.data.sub_(o.lr * direction(decayed(param, grad, o), kept, o))


@sgd_step.mistake()
def graph_of_the_gradient(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """With gradients that have a graph, as after backward(create_graph=True), the state holds a graph, which
    grows by every step. Perhaps only the parameter is detached: use `torch.no_grad()` around the whole step.
    """
    o = SimpleNamespace(**options)
    refused(o)
    for param, grad, kept in zip(params, grads, state, strict=True):
        if grad is not None:
            param.data.sub_(o.lr * direction(decayed(param.data, grad, o), kept, o).detach())


_KEPT: list[dict] = []


@sgd_step.mistake()
def remembered_elsewhere(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """A copy of params and state does not go on as the original would, or the original is disturbed by it.
    Perhaps velocities stand in a list of the function's own, under id(param), or a count on the function.
    """
    for place, kept in enumerate(state):
        _KEPT[place : place + bool(kept)] = _KEPT[place : place + 1] if kept else [{}]
        kept["seen"] = True
    _step(params, grads, _KEPT[: len(params)], **options)


@sgd_step.variant(remembered_elsewhere)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    _step(params, grads, [s.setdefault(id(p), {}) for p, s in zip(params, state, strict=True)], **options)


_BY_ADDRESS: dict[int, dict] = {}


@sgd_step.variant(remembered_elsewhere)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    _step(params, grads, [_BY_ADDRESS.setdefault(id(param), {}) for param in params], **options)


@sgd_step.mistake()
def one_beginning_for_all(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """A parameter that joins later, or whose first gradient comes later, begins with a dampened velocity.
    Perhaps whether this is the first step is asked once for all: ask its own dict.
    """
    if state and state[0]:
        for param, kept in zip(params, state, strict=True):
            kept.setdefault("v", torch.zeros_like(param))
    _step(params, grads, state, **options)


@sgd_step.mistake()
def torchs_own_step(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """A step of torch.optim, or one of its functions, is used inside. Write the few lines of arithmetic."""
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
