"""What people write for 04.adamw_step, and why it is wrong."""

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
    """That is Adam with an L2 penalty: the decay is added to the gradient, and then divided by the root like
    all of it, so that weights with large gradients hardly decay. The W in AdamW is to keep the decay apart.
    """
    param.sub_(o.lr * direction(grad + o.weight_decay * param, kept, o))


@updates.mistake()
def decay_after_the_step(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The decay shrinks the parameter after the step, and so the step itself as well. In torch it comes
    first.
    """
    param.sub_(o.lr * direction(grad, kept, o))
    shrink(param, o)


@updates.mistake()
def decay_without_lr(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The parameter is multiplied by 1 - weight_decay, as in the paper. In torch the learning rate scales the
    decay, too: 1 - lr * weight_decay.
    """
    param.mul_(1 - o.weight_decay)
    param.sub_(o.lr * direction(grad, kept, o))


@updates.mistake()
def decay_with_the_corrected_rate(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The decay is scaled by lr / (1 - beta1**step), which is ten times lr at the first step. The correction
    belongs to the average; the decay takes lr.
    """
    step = direction(grad, kept, o)
    param.mul_(1 - o.lr / (1 - o.beta1 ** kept["step"]) * o.weight_decay)
    param.sub_(o.lr * step)


@updates.mistake()
def decay_ignored(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """weight_decay is not looked at."""
    param.sub_(o.lr * direction(grad, kept, o))


@updates.mistake()
def eps_inside_the_root(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """eps stands under the root. With 1e-8 it acts as 1e-4 there; torch adds it to the root."""
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
    """eps is added to the root of the raw second average, as the paper's shorter form does. That is another,
    larger eps in the first steps: correct first, then add it.
    """
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    param.sub_(o.lr * (1 - o.beta2**t) ** 0.5 / (1 - o.beta1**t) * m / (v.sqrt() + o.eps))


@updates.mistake()
def eps_ignored(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """eps is left out: where the gradient is exactly zero, 0 / 0 makes the parameter NaN."""
    right(param, grad, kept, SimpleNamespace(**{**vars(o), "eps": 0.0}))


@updates.mistake()
def nothing_corrected(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The averages begin at zero and are too small at first; without the corrections the first steps have the
    wrong size.
    """
    shrink(param, o)
    m, v, _ = averages(grad, kept, o)
    param.sub_(o.lr * m / (v.sqrt() + o.eps))


@updates.mistake()
def first_corrected_only(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The second average is not corrected. It begins at zero as well, and with beta2 = 0.999 stays too small
    for a thousand steps.
    """
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    param.sub_(o.lr * (m / (1 - o.beta1**t)) / (v.sqrt() + o.eps))


@updates.mistake()
def second_corrected_only(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The first average is not corrected: the first step is a tenth of what it should be."""
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    param.sub_(o.lr * m / ((v / (1 - o.beta2**t)).sqrt() + o.eps))


@updates.mistake()
def correction_outside_the_root(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The root of the second average is divided by 1 - beta2**step. The correction belongs under the root, or
    its own root is taken.
    """
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    param.sub_(o.lr * (m / (1 - o.beta1**t)) / (v.sqrt() / (1 - o.beta2**t) + o.eps))


@updates.mistake()
def corrected_average_kept(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The corrected averages are stored, and the next step corrects them once more. Correct a copy; the state
    keeps the raw ones.
    """
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    m.div_(1 - o.beta1**t)
    v.div_(1 - o.beta2**t)
    param.sub_(o.lr * m / (v.sqrt() + o.eps))


@updates.mistake()
def steps_counted_from_zero(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """At the first step the count is still 0, and 1 - beta**0 is 0: a division by zero. Count first, then use
    it.
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
    """The first step counts as 2: the count begins at 1 and is raised before it is used."""
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    param.sub_(o.lr * (m / (1 - o.beta1 ** (t + 1))) / ((v / (1 - o.beta2 ** (t + 1))).sqrt() + o.eps))


@updates.mistake()
def betas_exchanged(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """beta1 belongs to the gradients' average and beta2 to that of their squares."""
    right(param, grad, kept, SimpleNamespace(**{**vars(o), "beta1": o.beta2, "beta2": o.beta1}))


@updates.mistake()
def first_average_unused(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The step goes along the newest gradient instead of its average: that is RMSprop."""
    shrink(param, o)
    _, v, t = averages(grad, kept, o)
    param.sub_(o.lr * grad / ((v / (1 - o.beta2**t)).sqrt() + o.eps))


@updates.mistake()
def averages_begin_with_the_gradient(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The averages begin as the first gradient and its square, which need no correction, and are corrected
    all the same.
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
    """`torch.zeros(param.shape)` has the default dtype. A float64 parameter is then averaged in float32:
    `zeros_like(param)` takes dtype and device from it.
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
    """The corrections divide by 1 minus a running product of the betas. With constant betas that is beta**step;
    when they change, torch's correction changes at once, and this product still holds the old ones.
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
    """The signature has lost its defaults. Most callers give lr and leave out the rest, as with torch.optim.AdamW,
    and now get a TypeError.
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
    """weight_decay is 0 unless it is given, as in Adam. AdamW decays by default: 1e-2."""
    by_parameter(right)(params, grads, state, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)


# None, counts, aliasing, lists, state, and torch's own step.


Params, Grads, State = list[Tensor], list[Tensor | None], list[dict]

_step = by_parameter(right)


@adamw_step.mistake()
def none_taken_as_zero(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """None means: this parameter had no part in the loss, leave it alone. A gradient of zeros still lets the
    averages and weight decay move it; that is how a frozen layer keeps moving.
    """
    filled = [torch.zeros_like(p) if g is None else g for p, g in zip(params, grads, strict=True)]
    _step(params, filled, state, **options)


@adamw_step.mistake()
def none_counts_as_a_step(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """A step without a gradient raises the count, though the averages have taken nothing in: the corrections
    are too weak from then on.
    """
    for param, grad, kept in zip(params, grads, state, strict=True):
        if not kept:
            kept.update(step=0, m=torch.zeros_like(param), v=torch.zeros_like(param))
        kept["step"] += grad is None
    _step(params, grads, state, **options)


@adamw_step.variant(none_counts_as_a_step)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    for kept, grad in zip(state, grads, strict=True):
        if kept:
            kept["step"] += grad is None
    _step(params, grads, state, **options)


@adamw_step.mistake()
def decays_without_a_gradient(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """Weight decay shrinks all parameters, those without a gradient, too: a frozen layer fades away."""
    with torch.no_grad():
        for param, grad in zip(params, grads, strict=True):
            if grad is None:
                shrink(param, options_of(options))
    _step(params, grads, state, **options)


@adamw_step.mistake()
def stops_at_none(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """The loop ends at the first None (`break` or `return`); the parameters behind it wait in vain. Pass over
    that one only.
    """
    end = next((place for place, grad in enumerate(grads) if grad is None), len(grads))
    _step(params[:end], grads[:end], state[:end], **options)


@adamw_step.mistake()
def none_filtered_from_one_list(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """The Nones are filtered out of the gradients only, so that every later gradient goes to its neighbour's
    parameter. Filter the three lists together.
    """
    given = [grad for grad in grads if grad is not None]
    _step(params[: len(given)], given, state[: len(given)], **options)


@adamw_step.mistake()
def none_not_expected(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """A parameter that had no part in the loss has no gradient: None comes in the list, and must be passed
    over.
    """
    o = options_of(options)
    with torch.no_grad():
        for param, grad, kept in zip(params, grads, state, strict=True):
            if not kept:
                kept.update(step=0, m=torch.zeros_like(param), v=torch.zeros_like(param))
            right(param, grad.clone(), kept, o)


@adamw_step.mistake()
def one_count_for_all(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """One step count serves all parameters. One that joins later, or had no gradient for a while, has
    averages that are younger than the count: keep a count in each dict.
    """
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


@adamw_step.variant(one_count_for_all)
def _(params: Params, grads: Grads, state: State, **options: Any) -> None:
    count = max((kept.get("step", 0) for kept in state), default=0)
    for param, grad, kept in zip(params, grads, state, strict=True):
        if grad is not None:
            kept.setdefault("m", torch.zeros_like(param))
            kept.setdefault("v", torch.zeros_like(param))
            kept["step"] = count
    _step(params, grads, state, **options)


@adamw_step.variant(one_count_for_all)
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
    """`param = param - lr * step` gives a new tensor to a local name. The parameter that the model holds has
    never been touched.
    """
    param = param * (1 - o.lr * o.weight_decay) - o.lr * direction(grad, kept, o)


@updates.mistake()
def decay_only_in_place(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The decay edits the parameter, and the step makes a new tensor: `param = param - ...` where
    `param.sub_(...)` was meant.
    """
    shrink(param, o)
    param = param - o.lr * direction(grad, kept, o)


@adamw_step.mistake()
def new_parameters_returned(params: Params, grads: Grads, state: State, **options: Any) -> list[Tensor]:
    """New tensors are returned, as functional code does. The model holds the old ones: edit them in place."""
    return _moved(params, grads, state, **options)


def _moved(params: Params, grads: Grads, state: State, **options: Any) -> list[Tensor]:
    new = [param.detach().clone() for param in params]
    _step(new, grads, state, **options)
    return new


@adamw_step.mistake()
def list_entries_replaced(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """`params[i] = ...` puts a new tensor into the list. The list is the caller's, and the model still holds
    the old parameter.
    """
    params[:] = _moved(params, grads, state, **options)


@adamw_step.mistake()
def state_replaced(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """`state[i] = {...}` puts a new dict into the list; the caller's dict stays empty, and every step is a
    first step. Write into the dict: `state[i]['step'] = ...`.
    """
    new = [dict(kept) for kept in state]
    _step(params, grads, new, **options)
    state[:] = new


@updates.mistake()
def storage_replaced(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """`param.data = ...` hangs the parameter on new memory. The values are right, and every view of the old
    memory is wrong from now on. `param.add_` writes where the parameter lives.
    """
    param.data = param * (1 - o.lr * o.weight_decay) - o.lr * direction(grad, kept, o)


@updates.mistake()
def gradient_edited(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The square, or a factor, is computed in the caller's gradient (`mul_`, `square_`, `*=`). Without the
    underscore it is a new tensor.
    """
    right(param, grad, kept, o)
    grad.square_()


@updates.variant(gradient_edited)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    right(param, grad, kept, o)
    grad.mul_(1 - o.beta1)


@updates.mistake()
def gradient_cleared(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The step zeroes the gradients. That is zero_grad's work: step() leaves them for whoever wants to look."""
    right(param, grad, kept, o)
    grad.zero_()


@adamw_step.mistake()
def grad_mode_left_on(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """A leaf that requires grad may not be edited in place while autograd records: the step belongs under
    `torch.no_grad()`.
    """
    for param, grad, kept in zip(params, grads, state, strict=True):
        if grad is not None:
            right(param, grad, kept, options_of(options))


_KEPT: list[dict] = []


@adamw_step.mistake()
def graph_of_the_gradient(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """`param.data` keeps the parameter's graph out, and a gradient may have one, too: after
    backward(create_graph=True) it hangs on the averages, and grows by every step. Use `torch.no_grad()` around
    the whole step.
    """
    o = options_of(options)
    for param, grad, kept in zip(params, grads, state, strict=True):
        if grad is not None:
            shrink(param.data, o)
            param.data.sub_(o.lr * direction(grad, kept, o).detach())


@adamw_step.mistake()
def remembered_elsewhere(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """The averages stand in a list of the function's own, or under id(param). A checkpoint of state does not
    bring them back, and in another order they go to the wrong parameters.
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
    """torch.optim does the work here, and nothing was learnt about what it does. Write the six lines of
    arithmetic.
    """
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
