"""A right answer to 04.sgd_step in steps, of which a mistake replaces one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

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


def right(param: Tensor, grad: Tensor, kept: dict, o: SimpleNamespace) -> None:
    """The right update."""
    param.sub_(o.lr * direction(decayed(param, grad, o), kept, o))
