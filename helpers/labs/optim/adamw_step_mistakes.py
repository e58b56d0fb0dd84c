"""What people write for 04.adamw_step: the arithmetic of one parameter's update."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from helpers.labs.optim.adamw_step import adamw_step

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
