"""What people write for 04.adamw_step: the steps of the rule, None, aliasing, lists and state."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from torch.optim.adam import adam

from helpers.labs.optim.adamw_step.exercise import adamw_step

Update = Callable[[Tensor, Tensor, dict, SimpleNamespace], None]


def by_parameter(update: Update) -> Callable[..., None]:
    """A step that makes this update to each parameter with a gradient."""

    @functools.wraps(update)
    def step(params: list[Tensor], grads: list[Tensor | None], state: list[dict], **options: Any) -> None:
        o = options_of(options)
        with torch.no_grad():
            for param, grad, kept in zip(params, grads, state, strict=True):
                if grad is not None:
                    update(param, grad, kept, o)

    return step


def options_of(options: dict[str, Any]) -> SimpleNamespace:
    beta1, beta2 = options["betas"]
    return SimpleNamespace(**options, beta1=beta1, beta2=beta2)


updates = adamw_step.bank(by_parameter)


def averages(grad: Tensor, kept: dict, o: SimpleNamespace) -> tuple[Tensor, Tensor, int]:
    """Both averages with this gradient in them, and the number of the step."""
    if not kept:
        kept.update(step=0, m=torch.zeros_like(grad), v=torch.zeros_like(grad))
    kept["step"] += 1
    kept["m"].lerp_(grad, 1 - o.beta1)
    kept["v"].mul_(o.beta2).addcmul_(grad, grad, value=1 - o.beta2)
    return kept["m"], kept["v"], kept["step"]


def shrink(param: Tensor, o: SimpleNamespace) -> None:
    param.mul_(1 - o.lr * o.weight_decay)


def direction(grad: Tensor, kept: dict, o: SimpleNamespace) -> Tensor:
    """The right direction of the step."""
    m, v, t = averages(grad, kept, o)
    return (m / (1 - o.beta1**t)) / ((v / (1 - o.beta2**t)).sqrt() + o.eps)


def right(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    shrink(param, o)
    param.sub_(o.lr * direction(grad, kept, o))


@updates.mistake()
def decay_in_the_gradient(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """With weight decay the first step is that without it, and later ones are not. Perhaps the decay was added
    to the gradient, and divided by the root like all of it: that is Adam with L2. The W keeps the decay
    apart.
    """
    param.sub_(o.lr * direction(grad + o.weight_decay * param, kept, o))


@updates.mistake()
def decay_after_the_step(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """With weight decay the parameter is off by lr * weight_decay of the step. Perhaps the decay shrinks it
    after the step, and so the step as well: in torch it comes first.
    """
    param.sub_(o.lr * direction(grad, kept, o))
    shrink(param, o)


@updates.mistake()
def decay_without_lr(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The parameter has shrunk by weight_decay of itself. In torch the learning rate scales the decay, too: 1 -
    lr * weight_decay.
    """
    param.mul_(1 - o.weight_decay)
    param.sub_(o.lr * direction(grad, kept, o))


@updates.mistake()
def decay_with_the_corrected_rate(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """In the first step the parameter has shrunk ten times too much, later less. Perhaps the decay is scaled by
    lr / (1 - beta1**step): the correction belongs to the average.
    """
    step = direction(grad, kept, o)
    param.mul_(1 - o.lr / (1 - o.beta1 ** kept["step"]) * o.weight_decay)
    param.sub_(o.lr * step)


@updates.mistake()
def decay_ignored(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """With weight decay the steps are those without it: perhaps weight_decay is not looked at."""
    param.sub_(o.lr * direction(grad, kept, o))


@updates.mistake()
def eps_inside_the_root(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """With a large eps the step is wrong as if eps stood under the root. Torch adds it to the root, which is a
    different size: 1e-8 under the root acts as 1e-4.
    """
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    param.sub_(o.lr * (m / (1 - o.beta1**t)) / (v / (1 - o.beta2**t) + o.eps).sqrt())


@updates.variant(eps_inside_the_root)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    param.sub_(o.lr * (m / (1 - o.beta1**t)) * (1 - o.beta2**t) ** 0.5 / (v + o.eps).sqrt())


@updates.mistake()
def eps_before_the_correction(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """With a large eps the first steps are too short: eps acts as more than it is. Perhaps it is added to the
    root of the raw second average: correct first, then add it.
    """
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    param.sub_(o.lr * (1 - o.beta2**t) ** 0.5 / (1 - o.beta1**t) * m / (v.sqrt() + o.eps))


@updates.mistake()
def eps_ignored(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """With a large eps the step is that without it. Perhaps eps is left out: where the gradient is exactly
    zero, 0 / 0 makes the parameter NaN.
    """
    right(param, grad, kept, SimpleNamespace(**{**vars(o), "eps": 0.0}))


@updates.mistake()
def nothing_corrected(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The first step has the size of averages that began at zero. Perhaps neither is corrected: divide both by
    1 - beta**step.
    """
    shrink(param, o)
    m, v, _ = averages(grad, kept, o)
    param.sub_(o.lr * m / (v.sqrt() + o.eps))


@updates.mistake()
def first_corrected_only(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The first step is too long, as with a second average that is too small. Perhaps only the first one is
    corrected: the second begins at zero as well.
    """
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    param.sub_(o.lr * (m / (1 - o.beta1**t)) / (v.sqrt() + o.eps))


@updates.mistake()
def second_corrected_only(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The first step is a tenth of what it should be, 1 - beta1 of it. Perhaps the first average is not
    corrected.
    """
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    param.sub_(o.lr * m / ((v / (1 - o.beta2**t)).sqrt() + o.eps))


@updates.mistake()
def correction_outside_the_root(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The first step is too short, as if the root of the second average were divided by 1 - beta2**step. That
    belongs under the root, or its own root is taken.
    """
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    param.sub_(o.lr * (m / (1 - o.beta1**t)) / (v.sqrt() / (1 - o.beta2**t) + o.eps))


@updates.mistake()
def corrected_average_kept(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The first step is right and the second one is not. Perhaps the corrected averages are stored, and
    corrected once more: correct a copy, the state keeps the raw ones.
    """
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    m.div_(1 - o.beta1**t)
    v.div_(1 - o.beta2**t)
    param.sub_(o.lr * m / (v.sqrt() + o.eps))


@updates.mistake()
def steps_counted_from_zero(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The first step divides by zero. Perhaps the count is still 0 there, and 1 - beta**0 is 0: count first,
    then use it.
    """
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    param.sub_(o.lr / (1 - o.beta1 ** (t - 1)) * m / ((v / (1 - o.beta2 ** (t - 1))).sqrt() + o.eps))


@updates.variant(steps_counted_from_zero)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    param.sub_(o.lr * (m / (1 - o.beta1 ** (t - 1))) / ((v / (1 - o.beta2 ** (t - 1))).sqrt() + o.eps))


@updates.mistake()
def counted_one_too_far(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The first step has the corrections of a second one. Perhaps the count begins at 1 and is raised before it
    is used.
    """
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    param.sub_(o.lr * (m / (1 - o.beta1 ** (t + 1))) / ((v / (1 - o.beta2 ** (t + 1))).sqrt() + o.eps))


@updates.mistake()
def betas_exchanged(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The steps are those with beta1 and beta2 exchanged: beta1 belongs to the gradients' average and beta2 to
    that of their squares.
    """
    right(param, grad, kept, SimpleNamespace(**{**vars(o), "beta1": o.beta2, "beta2": o.beta1}))


@updates.mistake()
def first_average_unused(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The second step goes along the newest gradient, and not along its average. That is RMSprop; perhaps beta1
    is not used.
    """
    shrink(param, o)
    _, v, t = averages(grad, kept, o)
    param.sub_(o.lr * grad / ((v / (1 - o.beta2**t)).sqrt() + o.eps))


@updates.mistake()
def averages_begin_with_the_gradient(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The first step is wrong as if the averages began at the first gradient and its square, which need no
    correction, and were corrected all the same. They begin at zero.
    """
    if not kept:
        kept.update(step=0, m=grad.clone(), v=grad * grad)
    right(param, grad, kept, o)


@updates.variant(averages_begin_with_the_gradient)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    first = not kept
    m, v, t = averages(grad, kept, o)
    if first:
        m.copy_(grad)
        v.copy_(grad * grad)
    shrink(param, o)
    param.sub_(o.lr * (m / (1 - o.beta1**t)) / ((v / (1 - o.beta2**t)).sqrt() + o.eps))


@updates.mistake()
def state_in_float32(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """For a float64 parameter the step is off by as little as float32 rounds, and the state holds float32.
    Perhaps `torch.zeros(param.shape)` made it: `zeros_like(param)` takes dtype and device from it.
    """
    if not kept:
        kept.update(step=0, m=torch.zeros(param.shape), v=torch.zeros(param.shape))
    shrink(param, o)
    kept["step"] += 1
    kept["m"].mul_(o.beta1).add_(grad, alpha=1 - o.beta1)
    kept["v"].mul_(o.beta2).add_(grad * grad, alpha=1 - o.beta2)
    corrected = kept["v"] / (1 - o.beta2 ** kept["step"])
    param.sub_(o.lr * (kept["m"] / (1 - o.beta1 ** kept["step"])) / (corrected.sqrt() + o.eps))


@updates.mistake()
def product_of_the_betas(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """With constant betas all agrees; when they change, the corrections are different ones. Perhaps a running
    product of the betas is kept: torch uses beta**step with the beta of now.
    """
    shrink(param, o)
    m, v, _ = averages(grad, kept, o)
    kept["b1"], kept["b2"] = kept.get("b1", 1.0) * o.beta1, kept.get("b2", 1.0) * o.beta2
    param.sub_(o.lr * (m / (1 - kept["b1"])) / ((v / (1 - kept["b2"])).sqrt() + o.eps))


@adamw_step.mistake()
def defaults_lost(
    params: list[Tensor],
    grads: list[Tensor | None],
    state: list[dict],
    lr: float,
    betas: tuple[float, float],
    eps: float,
    weight_decay: float,
) -> None:
    """A step without options ends in a TypeError: the signature has lost its defaults. Most callers leave out
    the rest, as with torch.optim.AdamW.
    """
    by_parameter(right)(params, grads, state, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)


@adamw_step.mistake()
def defaults_of_adam(
    params: list[Tensor],
    grads: list[Tensor | None],
    state: list[dict],
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
) -> None:
    """Without weight_decay the steps are not those with 1e-2, torch's default. Perhaps it is 0, as in Adam."""
    by_parameter(right)(params, grads, state, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)


# None, counts, aliasing, lists, state, and torch's own step.


Params, Grads, State = list[Tensor], list[Tensor | None], list[dict]

_step = by_parameter(right)


@adamw_step.mistake()
def none_taken_as_zero(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """A parameter without a gradient has moved as with a gradient of zeros. None means that it had no part in
    the loss: leave it alone. Perhaps zeros were put in its place; that is how a frozen layer keeps moving.
    """
    filled = [torch.zeros_like(p) if g is None else g for p, g in zip(params, grads, strict=True)]
    _step(params, filled, state, **options)


@adamw_step.mistake()
def count_runs_ahead(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """A parameter that had no gradient takes its next step with the corrections of a later one. Perhaps a None
    raises its count, or one count serves all parameters: each dict counts the steps that it takes.
    """
    for param, grad, kept in zip(params, grads, state, strict=True):
        if not kept:
            kept.update(step=0, m=torch.zeros_like(param), v=torch.zeros_like(param))
        kept["step"] += grad is None
    _step(params, grads, state, **options)


@adamw_step.variant(count_runs_ahead)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    for kept, grad in zip(state, grads, strict=True):
        if kept:
            kept["step"] += grad is None
    _step(params, grads, state, **options)


@adamw_step.mistake()
def decays_without_a_gradient(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """A parameter without a gradient has shrunk: a frozen layer fades away. Perhaps weight decay comes before
    the gradient is looked at.
    """
    with torch.no_grad():
        for param, grad in zip(params, grads, strict=True):
            if grad is None:
                shrink(param, options_of(options))
    _step(params, grads, state, **options)


@adamw_step.mistake()
def stops_at_none(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """Parameters behind one whose gradient is None have not moved. Perhaps the loop ends there (`break` or
    `return`): pass over that one only.
    """
    end = next((place for place, grad in enumerate(grads) if grad is None), len(grads))
    _step(params[:end], grads[:end], state[:end], **options)


@adamw_step.mistake()
def none_filtered_from_one_list(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """With a None in the list a parameter moved by the gradient of its neighbour. Perhaps the Nones were
    filtered out of one list only: filter the three lists together.
    """
    given = [grad for grad in grads if grad is not None]
    _step(params[: len(given)], given, state[: len(given)], **options)


@adamw_step.mistake()
def none_not_expected(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """A gradient that is None ends in an AttributeError. A parameter that had no part in the loss has none: it
    must be passed over.
    """
    o = options_of(options)
    with torch.no_grad():
        for param, grad, kept in zip(params, grads, state, strict=True):
            if not kept:
                kept.update(step=0, m=torch.zeros_like(param), v=torch.zeros_like(param))
            right(param, grad.clone(), kept, o)


@adamw_step.variant(count_runs_ahead)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    _count_once(state)
    o = options_of(options)
    with torch.no_grad():
        for param, grad, kept in zip(params, grads, state, strict=True):
            if grad is not None:
                kept.setdefault("m", torch.zeros_like(param))
                kept.setdefault("v", torch.zeros_like(param))
                kept["step"] = state[0]["t"] - 1
                right(param, grad, kept, o)


def _count_once(state: State) -> None:
    count = max((kept.get("t", 0) for kept in state), default=0) + 1
    for kept in state:
        kept["t"] = count


@adamw_step.variant(count_runs_ahead)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    count = max((kept.get("step", 0) for kept in state), default=0)
    for param, grad, kept in zip(params, grads, state, strict=True):
        if grad is not None:
            kept.setdefault("m", torch.zeros_like(param))
            kept.setdefault("v", torch.zeros_like(param))
            kept["step"] = count
    _step(params, grads, state, **options)


@adamw_step.variant(count_runs_ahead)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    state[0]["n"] = count = state[0].get("n", 0) + 1
    own = [kept.setdefault("own", {}) for kept in state]
    for param, kept in zip(params, own, strict=True):
        kept.setdefault("m", torch.zeros_like(param))
        kept.setdefault("v", torch.zeros_like(param))
        kept["step"] = count - 1
    _step(params, grads, own, **options)


@updates.mistake()
def parameter_rebound(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The parameters that the model holds have not moved. Perhaps `param = param - lr * step` gave a new tensor
    to a local name.
    """
    param = param * (1 - o.lr * o.weight_decay) - o.lr * direction(grad, kept, o)


@updates.mistake()
def decay_only_in_place(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """Without weight decay the parameters that the model holds have not moved. Perhaps only the decay edits
    them, and the step makes a new tensor: `param = param - ...` where `param.sub_(...)` was meant.
    """
    shrink(param, o)
    param = param - o.lr * direction(grad, kept, o)


@adamw_step.mistake()
def new_parameters_returned(params: Params, grads: Grads, state: State, **options: Any) -> list[Tensor]:
    """The parameters have not moved, and a list was returned. Perhaps it holds new tensors, as functional code
    does: the model holds the old ones, edit them in place.
    """
    return _moved(params, grads, state, **options)


def _moved(params: Params, grads: Grads, state: State, **options: Any) -> list[Tensor]:
    new = [param.detach().clone() for param in params]
    _step(new, grads, state, **options)
    return new


@adamw_step.mistake()
def list_entries_replaced(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """The parameters that the model holds have not moved. Perhaps `params[i] = ...` put a new tensor into the
    list, which is the caller's.
    """
    params[:] = _moved(params, grads, state, **options)


@adamw_step.mistake()
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
    param.data = param * (1 - o.lr * o.weight_decay) - o.lr * direction(grad, kept, o)


@updates.mistake()
def gradient_edited(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """After the step a gradient holds different values. Perhaps its square, or a factor, was computed in it
    (`mul_`, `square_`, `*=`): without the underscore that is a new tensor.
    """
    right(param, grad, kept, o)
    grad.square_()


@updates.variant(gradient_edited)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    right(param, grad, kept, o)
    grad.mul_(1 - o.beta1)


@updates.mistake()
def gradient_cleared(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The gradients are zeros after the step. Zeroing them is zero_grad's work: step() leaves them for whoever
    wants to look.
    """
    right(param, grad, kept, o)
    grad.zero_()


@adamw_step.mistake()
def grad_mode_left_on(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """Torch refuses: a leaf that requires grad may not be edited in place while autograd records. The step
    belongs under `torch.no_grad()`.
    """
    for param, grad, kept in zip(params, grads, state, strict=True):
        if grad is not None:
            right(param, grad, kept, options_of(options))


_KEPT: list[dict] = []


@adamw_step.mistake()
def graph_of_the_gradient(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """With gradients that have a graph, as after backward(create_graph=True), the state holds a graph, which
    grows by every step. Perhaps only the parameter is detached: use `torch.no_grad()` around the whole step.
    """
    o = options_of(options)
    for param, grad, kept in zip(params, grads, state, strict=True):
        if grad is not None:
            shrink(param.data, o)
            param.data.sub_(o.lr * direction(grad, kept, o).detach())


@adamw_step.mistake()
def remembered_elsewhere(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """A copy of params and state does not go on as the original would, or the original is disturbed by it.
    Perhaps averages or counts stand in a list of the function's own, under id(param), or on the function.
    """
    for place, kept in enumerate(state):
        _KEPT[place : place + bool(kept)] = _KEPT[place : place + 1] if kept else [{}]
        kept["seen"] = True
    _step(params, grads, _KEPT[: len(params)], **options)


@adamw_step.variant(remembered_elsewhere)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    _step(params, grads, [s.setdefault(id(p), {}) for p, s in zip(params, state, strict=True)], **options)


@adamw_step.mistake()
def torchs_own_step(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """A step of torch.optim, or one of its functions, is used inside. Write the few lines of arithmetic."""
    if "optimizer" not in state[0]:
        state[0]["optimizer"] = torch.optim.AdamW(params, **options)
    for param, grad in zip(params, grads, strict=True):
        param.grad = grad
    state[0]["optimizer"].step()


@adamw_step.variant(torchs_own_step)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    beta1, beta2 = options.pop("betas")
    with torch.no_grad():
        for param, grad, kept in zip(params, grads, state, strict=True):
            if grad is not None:
                if not kept:
                    kept.update(t=torch.tensor(0.0), m=torch.zeros_like(param), v=torch.zeros_like(param))
                own = ([param], [grad], [kept["m"]], [kept["v"]], [], [kept["t"]])
                fixed = dict(amsgrad=False, maximize=False, decoupled_weight_decay=True)
                adam(*own, beta1=beta1, beta2=beta2, **fixed, **options)


@adamw_step.variant(torchs_own_step)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    beta1, beta2 = options.pop("betas")
    with torch.no_grad():
        for param, grad, kept in zip(params, grads, state, strict=True):
            if grad is not None:
                if not kept:
                    kept.update(t=torch.tensor(0.0), m=torch.zeros_like(param), v=torch.zeros_like(param))
                kept["t"] += 1
                own = ([param], [grad.detach()], [kept["m"]], [kept["v"]], [], [kept["t"]])
                torch._fused_adamw_(*own, beta1=beta1, beta2=beta2, amsgrad=False, maximize=False, **options)
