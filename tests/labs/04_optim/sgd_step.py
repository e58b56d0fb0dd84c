"""Right answers to 04.sgd_step, in different shapes."""

from __future__ import annotations

from collections import deque
from typing import Any

import torch
from torch import Tensor

from .shared import Grads, Params, State

DEFAULTS = {"momentum": 0.0, "dampening": 0.0, "nesterov": False, "weight_decay": 0.0, "maximize": False}


@torch.no_grad()
def sgd_plain(
    params: Params,
    grads: Grads,
    state: State,
    *,
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    nesterov: bool = False,
    weight_decay: float = 0.0,
    maximize: bool = False,
) -> None:
    """Line by line, as torch's loop."""
    if nesterov and (momentum <= 0 or dampening != 0):
        raise ValueError("nesterov needs a momentum above 0 and no dampening")
    for param, grad, kept in zip(params, grads, state, strict=True):
        if grad is None:
            continue
        grad = -grad if maximize else grad
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        if momentum != 0:
            if "momentum_buffer" in kept:
                kept["momentum_buffer"].mul_(momentum).add_(grad, alpha=1 - dampening)
            else:
                kept["momentum_buffer"] = grad.clone()
            velocity = kept["momentum_buffer"]
            grad = grad.add(velocity, alpha=momentum) if nesterov else velocity
        param.add_(grad, alpha=-lr)


def sgd_out_of_place(params: Params, grads: Grads, state: State, **options: Any) -> Params:
    """New values by formula, copied in at the end; the velocity is a new tensor each time; params are returned."""
    o = DEFAULTS | options
    if o["nesterov"] and not (o["momentum"] and not o["dampening"]):
        raise ValueError(o)
    sign = -1.0 if o["maximize"] else 1.0
    for i, grad in enumerate(grads):
        if grad is not None:
            param = params[i].detach()
            d = sign * grad.detach() + o["weight_decay"] * param
            if o["momentum"]:
                old = state[i].get("v")
                v = d if old is None else o["momentum"] * old + (1 - o["dampening"]) * d
                state[i]["v"] = v
                d = d + o["momentum"] * v if o["nesterov"] else v
            param.copy_(param - o["lr"] * d)
    return params


def sgd_by_lists(
    params: Params,
    grads: Grads,
    state: State,
    *,
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    nesterov: bool = False,
    weight_decay: float = 0.0,
    maximize: bool = False,
) -> None:
    """All parameters at once, by foreach operations."""
    if nesterov and momentum == 0:
        raise ValueError("nesterov without momentum")
    if nesterov and dampening:
        raise ValueError("nesterov with dampening")
    there = [(p, g, s) for p, g, s in zip(params, grads, state, strict=True) if g is not None]
    if not there:
        return
    with torch.no_grad():
        ps, gs, ss = map(list, zip(*there, strict=True))
        gs = torch._foreach_neg(gs) if maximize else gs
        gs = torch._foreach_add(gs, ps, alpha=weight_decay)
        if momentum:
            old = [(s["buf"], g) for s, g in zip(ss, gs, strict=True) if "buf" in s]
            for s, g in zip(ss, gs, strict=True):
                s.setdefault("buf", g)  # new memory, made by the line above
            if old:
                bufs, theirs = map(list, zip(*old, strict=True))
                torch._foreach_mul_(bufs, momentum)
                torch._foreach_add_(bufs, theirs, alpha=1 - dampening)
            bufs = [s["buf"] for s in ss]
            gs = torch._foreach_add(gs, bufs, alpha=momentum) if nesterov else bufs
        torch._foreach_add_(ps, gs, alpha=-lr)


class SgdStep:
    """An object that is called, with the velocity in a deque of length 1, through .data."""

    def __call__(self, params: Params, grads: Grads, state: State, **options: Any) -> None:
        o = DEFAULTS | options
        if o["nesterov"] and (o["momentum"] == 0 or o["dampening"] != 0):
            raise ValueError("nesterov")
        deque((self.one(p, g.detach(), s, **o) for p, g, s in zip(params, grads, state) if g is not None), 0)  # noqa: B905

    def one(self, param: Tensor, grad: Tensor, kept: dict, **o: Any) -> None:
        grad = (grad.neg() if o["maximize"] else grad) + param.data * o["weight_decay"]
        step = grad
        if o["momentum"]:
            memory = kept.setdefault("memory", deque(maxlen=1))
            memory.append(
                torch.add(o["momentum"] * memory[0], grad, alpha=1 - o["dampening"]) if memory else grad
            )
            step = memory[0] if not o["nesterov"] else grad + o["momentum"] * memory[0]
        param.data -= o["lr"] * step


RIGHT = [sgd_plain, sgd_out_of_place, sgd_by_lists, SgdStep()]
