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


def wrong(name: str, *, why: str, seen: str) -> Callable[[Update], Update]:
    """Adds a wrong update."""

    def add(update: Update) -> Update:
        adamw_step.wrong_answer(name, why=why, seen=seen)(by_parameter(update))
        return update

    return add


def also(name: str) -> Callable[[Update], Update]:
    """Adds another form of a wrong update."""

    def add(update: Update) -> Update:
        adamw_step.another_form(name)(by_parameter(update))
        return update

    return add


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


@wrong(
    "decay_in_the_gradient",
    why="That is Adam with an L2 penalty: the decay is added to the gradient, and then divided by the root like all of "
    "it, so that weights with large gradients hardly decay. The W in AdamW is to keep the decay apart.",
    seen="That is Adam with an L2 penalty",
)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    param.sub_(o.lr * direction(grad + o.weight_decay * param, kept, o))


@wrong(
    "decay_after_the_step",
    why="The decay shrinks the parameter after the step, and so the step itself as well. In torch it comes first.",
    seen="and so the step itself as well",
)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    param.sub_(o.lr * direction(grad, kept, o))
    shrink(param, o)


@wrong(
    "decay_without_lr",
    why="The parameter is multiplied by 1 - weight_decay, as in the paper. In torch the learning rate scales the decay, "
    "too: 1 - lr * weight_decay.",
    seen="multiplied by 1 - weight_decay, as in the paper",
)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    param.mul_(1 - o.weight_decay)
    param.sub_(o.lr * direction(grad, kept, o))


@wrong(
    "decay_with_the_corrected_rate",
    why="The decay is scaled by lr / (1 - beta1**step), which is ten times lr at the first step. The correction belongs "
    "to the average; the decay takes lr.",
    seen="ten times lr at the first step",
)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    step = direction(grad, kept, o)
    param.mul_(1 - o.lr / (1 - o.beta1 ** kept["step"]) * o.weight_decay)
    param.sub_(o.lr * step)


@wrong(
    "decay_ignored",
    why="weight_decay is not looked at.",
    seen="weight_decay is not looked at",
)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    param.sub_(o.lr * direction(grad, kept, o))


@wrong(
    "eps_inside_the_root",
    why="eps stands under the root. With 1e-8 it acts as 1e-4 there; torch adds it to the root.",
    seen="With 1e-8 it acts as 1e-4 there",
)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    param.sub_(o.lr * (m / (1 - o.beta1**t)) / (v / (1 - o.beta2**t) + o.eps).sqrt())


@also("eps_inside_the_root")
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    param.sub_(o.lr * (m / (1 - o.beta1**t)) * (1 - o.beta2**t) ** 0.5 / (v + o.eps).sqrt())


@wrong(
    "eps_before_the_correction",
    why="eps is added to the root of the raw second average, as the paper's shorter form does. That is another, larger eps "
    "in the first steps: correct first, then add it.",
    seen="as the paper's shorter form does",
)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    param.sub_(o.lr * (1 - o.beta2**t) ** 0.5 / (1 - o.beta1**t) * m / (v.sqrt() + o.eps))


@wrong(
    "eps_ignored",
    why="eps is left out: where the gradient is exactly zero, 0 / 0 makes the parameter NaN.",
    seen="0 / 0 makes the parameter NaN",
)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    right(param, grad, kept, SimpleNamespace(**{**vars(o), "eps": 0.0}))


@wrong(
    "nothing_corrected",
    why="The averages begin at zero and are too small at first; without the corrections the first steps have the wrong "
    "size.",
    seen="without the corrections",
)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    shrink(param, o)
    m, v, _ = averages(grad, kept, o)
    param.sub_(o.lr * m / (v.sqrt() + o.eps))


@wrong(
    "first_corrected_only",
    why="The second average is not corrected. It begins at zero as well, and with beta2 = 0.999 stays too small for a "
    "thousand steps.",
    seen="for a thousand steps",
)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    param.sub_(o.lr * (m / (1 - o.beta1**t)) / (v.sqrt() + o.eps))


@wrong(
    "second_corrected_only",
    why="The first average is not corrected: the first step is a tenth of what it should be.",
    seen="a tenth of what it should be",
)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    param.sub_(o.lr * m / ((v / (1 - o.beta2**t)).sqrt() + o.eps))


@wrong(
    "correction_outside_the_root",
    why="The root of the second average is divided by 1 - beta2**step. The correction belongs under the root, "
    "or its own root is taken.",
    seen="or its own root is taken",
)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    param.sub_(o.lr * (m / (1 - o.beta1**t)) / (v.sqrt() / (1 - o.beta2**t) + o.eps))


@wrong(
    "corrected_average_kept",
    why="The corrected averages are stored, and the next step corrects them once more. Correct a copy; the state keeps "
    "the raw ones.",
    seen="the next step corrects them once more",
)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    m.div_(1 - o.beta1**t)
    v.div_(1 - o.beta2**t)
    param.sub_(o.lr * m / (v.sqrt() + o.eps))


@wrong(
    "steps_counted_from_zero",
    why="At the first step the count is still 0, and 1 - beta**0 is 0: a division by zero. Count first, then use it.",
    seen="Count first, then use it",
)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    param.sub_(o.lr / (1 - o.beta1 ** (t - 1)) * m / ((v / (1 - o.beta2 ** (t - 1))).sqrt() + o.eps))


@also("steps_counted_from_zero")
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    param.sub_(o.lr * (m / (1 - o.beta1 ** (t - 1))) / ((v / (1 - o.beta2 ** (t - 1))).sqrt() + o.eps))


@wrong(
    "counted_one_too_far",
    why="The first step counts as 2: the count begins at 1 and is raised before it is used.",
    seen="The first step counts as 2",
)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    shrink(param, o)
    m, v, t = averages(grad, kept, o)
    param.sub_(o.lr * (m / (1 - o.beta1 ** (t + 1))) / ((v / (1 - o.beta2 ** (t + 1))).sqrt() + o.eps))


@wrong(
    "betas_exchanged",
    why="beta1 belongs to the gradients' average and beta2 to that of their squares.",
    seen="and beta2 to that of their squares",
)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    right(param, grad, kept, SimpleNamespace(**{**vars(o), "beta1": o.beta2, "beta2": o.beta1}))


@wrong(
    "first_average_unused",
    why="The step goes along the newest gradient instead of its average: that is RMSprop.",
    seen="that is RMSprop",
)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    shrink(param, o)
    _, v, t = averages(grad, kept, o)
    param.sub_(o.lr * grad / ((v / (1 - o.beta2**t)).sqrt() + o.eps))


@wrong(
    "averages_begin_with_the_gradient",
    why="The averages begin as the first gradient and its square, which need no correction, and are corrected all the same.",
    seen="which need no correction",
)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    if not kept:
        kept.update(step=0, m=grad.clone(), v=grad * grad)
    right(param, grad, kept, o)


@also("averages_begin_with_the_gradient")
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    first = not kept
    m, v, t = averages(grad, kept, o)
    if first:
        m.copy_(grad)
        v.copy_(grad * grad)
    shrink(param, o)
    param.sub_(o.lr * (m / (1 - o.beta1**t)) / ((v / (1 - o.beta2**t)).sqrt() + o.eps))


@wrong(
    "state_in_float32",
    why="`torch.zeros(param.shape)` has the default dtype. A float64 parameter is then averaged in float32: "
    "`zeros_like(param)` takes dtype and device from it.",
    seen="has the default dtype",
)
def _(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    if not kept:
        kept.update(step=0, m=torch.zeros(param.shape), v=torch.zeros(param.shape))
    shrink(param, o)
    kept["step"] += 1
    kept["m"].mul_(o.beta1).add_(grad, alpha=1 - o.beta1)
    kept["v"].mul_(o.beta2).add_(grad * grad, alpha=1 - o.beta2)
    corrected = kept["v"] / (1 - o.beta2 ** kept["step"])
    param.sub_(o.lr * (kept["m"] / (1 - o.beta1 ** kept["step"])) / (corrected.sqrt() + o.eps))
