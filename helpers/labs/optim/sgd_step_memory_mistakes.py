"""What people write for 04.sgd_step: None, aliasing, lists, state, and torch's own step."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from torch.optim.sgd import sgd

from helpers.labs.optim.sgd_step import sgd_step
from helpers.labs.optim.sgd_step_mistakes import also, by_parameter, decayed, direction, refused, wrong

Params, Grads, State = list[Tensor], list[Tensor | None], list[dict]


def _right(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    param.sub_(o.lr * direction(decayed(param, grad, o), kept, o))


_step = by_parameter(_right)


@sgd_step.wrong_answer(
    "none_taken_as_zero",
    why="None means: this parameter had no part in the loss, leave it alone. A gradient of zeros still lets momentum "
    "and weight decay move it; that is how a frozen layer keeps moving.",
    seen="that is how a frozen layer keeps moving",
)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    _step(params, _filled(params, grads), state, **options)


def _filled(params: Params, grads: Grads) -> list[Tensor]:
    return [torch.zeros_like(p) if g is None else g for p, g in zip(params, grads, strict=True)]


@sgd_step.wrong_answer(
    "stops_at_none",
    why="The loop ends at the first None (`break` or `return`); the parameters behind it wait in vain. "
    "Pass over that one only.",
    seen="wait in vain",
)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    end = next((place for place, grad in enumerate(grads) if grad is None), len(grads))
    _step(params[:end], grads[:end], state[:end], **options)


@sgd_step.another_form("stops_at_none")
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    for param, grad, kept in zip(params, grads, state, strict=True):
        if grad is None:
            return
        by_parameter(_right, refuse=False)([param], [grad], [kept], **options)


@sgd_step.wrong_answer(
    "none_filtered_from_one_list",
    why="The Nones are filtered out of the gradients only, so that every later gradient goes to its neighbour's "
    "parameter. Filter the three lists together.",
    seen="goes to its neighbour's",
)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    given = [grad for grad in grads if grad is not None]
    _step(params[: len(given)], given, state[: len(given)], **options)


@sgd_step.wrong_answer(
    "none_not_expected",
    why="A parameter that had no part in the loss has no gradient: None comes in the list, and must be passed over.",
    seen="None comes in the list",
)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    o = SimpleNamespace(**options)
    refused(o)
    with torch.no_grad():
        for param, grad, kept in zip(params, grads, state, strict=True):
            grad = -grad if o.maximize else grad
            param.sub_(o.lr * direction(grad.add(param, alpha=o.weight_decay), kept, o))


@wrong(
    "velocity_is_the_gradient",
    why="The first velocity is the gradient tensor itself. The next backward writes into that tensor, and so into "
    "the velocity: keep a clone.",
    seen="keep a clone",
)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    grad = -grad if o.maximize else grad
    if o.weight_decay:
        grad = grad.add(param, alpha=o.weight_decay)
    if o.momentum and "v" not in kept:
        kept["v"] = grad
        param.sub_(o.lr * (grad + o.momentum * grad if o.nesterov else grad))
    else:
        param.sub_(o.lr * direction(grad, kept, o))


@also("velocity_is_the_gradient")
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    grad = -grad if o.maximize else grad
    if o.weight_decay:
        grad = grad + o.weight_decay * param
    if o.momentum:
        kept["v"] = o.momentum * kept["v"] + (1 - o.dampening) * grad if "v" in kept else grad
        grad = grad + o.momentum * kept["v"] if o.nesterov else kept["v"]
    param.sub_(o.lr * grad)


@wrong(
    "gradient_edited",
    why="grad.add_ and grad.neg_ write weight decay and sign into the caller's gradient. Without the underscore "
    "they make a new tensor.",
    seen="Without the underscore",
)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    if o.maximize:
        grad.neg_()
    grad.add_(param, alpha=o.weight_decay)
    param.sub_(o.lr * direction(grad, kept, o))


@also("gradient_edited")
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    grad = -grad if o.maximize else grad
    grad.add_(param, alpha=o.weight_decay)
    param.sub_(o.lr * direction(grad, kept, o))


@also("gradient_edited")
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    if o.maximize:
        grad.neg_()
    param.sub_(o.lr * direction(grad.add(param, alpha=o.weight_decay), kept, o))


@also("gradient_edited")
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    param.sub_(o.lr * direction(grad.mul_(-1 if o.maximize else 1).add(param, alpha=o.weight_decay), kept, o))


@also("gradient_edited")
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    grad = -grad if o.maximize else grad
    if o.weight_decay:
        grad = grad.add(param, alpha=o.weight_decay)
    now = direction(grad, kept, SimpleNamespace(**{**vars(o), "nesterov": False}))
    param.sub_(o.lr * (grad.add_(now, alpha=o.momentum) if o.nesterov else now))


@wrong(
    "gradient_cleared",
    why="The step zeroes the gradients. That is zero_grad's work: step() leaves them for whoever wants to look.",
    seen="That is zero_grad's work",
)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    _right(param, grad, kept, o)
    grad.zero_()


@wrong(
    "parameter_rebound",
    why="`param = param - lr * grad` gives a new tensor to a local name. The parameter that the model holds has "
    "never been touched.",
    seen="gives a new tensor to a local name",
)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    param = param - o.lr * direction(decayed(param, grad, o), kept, o)


@sgd_step.wrong_answer(
    "new_parameters_returned",
    why="New tensors are returned, as functional code does. The model holds the old ones: edit them in place.",
    seen="as functional code does",
)
def _(params: Params, grads: Grads, state: State, **options: Any) -> list[Tensor]:
    return _moved(params, grads, state, **options)


def _moved(params: Params, grads: Grads, state: State, **options: Any) -> list[Tensor]:
    new = [param.detach().clone() for param in params]
    _step(new, grads, state, **options)
    return new


@sgd_step.wrong_answer(
    "list_entries_replaced",
    why="`params[i] = ...` puts a new tensor into the list. The list is the caller's, and the model still holds "
    "the old parameter.",
    seen="puts a new tensor into the list",
)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    params[:] = _moved(params, grads, state, **options)


@sgd_step.wrong_answer(
    "state_replaced",
    why="`state[i] = {...}` puts a new dict into the list; the caller's dict stays empty, and what was remembered is "
    "lost. Write into the dict: `state[i]['velocity'] = ...`.",
    seen="puts a new dict into the list",
)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    new = [dict(kept) for kept in state]
    _step(params, grads, new, **options)
    state[:] = new


@wrong(
    "storage_replaced",
    why="`param.data = ...` hangs the parameter on new memory. The values are right, and every view of the old memory "
    "is wrong from now on. `param.add_` writes where the parameter lives.",
    seen="hangs the parameter on new memory",
)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    param.data = param - o.lr * direction(decayed(param, grad, o), kept, o)


@sgd_step.wrong_answer(
    "grad_mode_left_on",
    why="A leaf that requires grad may not be edited in place while autograd records: the step belongs under "
    "`torch.no_grad()`.",
    seen="may not be edited in place while autograd records",
)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    with torch.enable_grad():
        o = SimpleNamespace(**options)
        refused(o)
        for param, grad, kept in zip(params, grads, state, strict=True):
            if grad is not None:
                param.sub_(o.lr * direction(decayed(param, grad, o), kept, o))


@sgd_step.wrong_answer(
    "graph_in_the_velocity",
    why="`param.data` silences the error of autograd in the last line, and the decay reads `param`, which records: every "
    "step hangs its graph on the velocity. Use `torch.no_grad()` around the whole step.",
    seen="silences the error of autograd",
)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    o = SimpleNamespace(**options)
    refused(o)
    for param, grad, kept in zip(params, grads, state, strict=True):
        if grad is not None:
            param.data.sub_(o.lr * direction(decayed(param, grad, o), kept, o))


_KEPT: list[dict] = []


@sgd_step.wrong_answer(
    "remembered_elsewhere",
    why="The velocities stand in a list of the function's own, or under id(param). A checkpoint of state does not "
    "bring them back, and in another order they go to the wrong parameters.",
    seen="in another order they go to the wrong parameters",
)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    for place, kept in enumerate(state):
        _KEPT[place : place + bool(kept)] = _KEPT[place : place + 1] if kept else [{}]
        kept["seen"] = True
    _step(params, grads, _KEPT[: len(params)], **options)


@sgd_step.another_form("remembered_elsewhere")
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    _step(params, grads, [s.setdefault(id(p), {}) for p, s in zip(params, state, strict=True)], **options)


@sgd_step.wrong_answer(
    "one_beginning_for_all",
    why="Whether this is the first step is asked once for all parameters. One that joins later has a first step of its "
    "own: ask its own dict.",
    seen="ask its own dict",
)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    if state and state[0]:
        for param, kept in zip(params, state, strict=True):
            kept.setdefault("v", torch.zeros_like(param))
    _step(params, grads, state, **options)


@sgd_step.wrong_answer(
    "torchs_own_step",
    why="torch.optim does the work here, and nothing was learnt about what it does. Write the five lines of arithmetic.",
    seen="Write the five lines of arithmetic",
)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    for param, grad, kept in zip(params, grads, state, strict=True):
        optimizer = torch.optim.SGD([param], **options)
        if "v" in kept:
            optimizer.state[param]["momentum_buffer"] = kept["v"]
        param.grad = None if grad is None else grad.detach()
        optimizer.step()
        kept["v"] = optimizer.state[param].get("momentum_buffer")
        param.grad = None


@sgd_step.another_form("torchs_own_step")
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    refused(SimpleNamespace(**options))
    with torch.no_grad():
        for param, grad, kept in zip(params, grads, state, strict=True):
            if grad is not None:
                buffers = [kept.get("v")]
                sgd([param], [grad], buffers, **options)
                kept["v"] = buffers[0]


@sgd_step.another_form("torchs_own_step")
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    with torch.no_grad():
        for param, grad, kept in zip(params, grads, state, strict=True):
            if grad is not None:
                buffers = [kept.get("v")]
                torch.optim.sgd.sgd([param], [grad], buffers, foreach=True, **options)
                kept["v"] = buffers[0]


@sgd_step.another_form("torchs_own_step")
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


@sgd_step.another_form("torchs_own_step")
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    if "optimizer" not in state[0]:
        state[0]["optimizer"] = torch.optim.SGD(params, **options)
    for param, grad in zip(params, grads, strict=True):
        param.grad = grad
    state[0]["optimizer"].step()
