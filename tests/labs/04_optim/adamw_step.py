"""Right answers to 04.adamw_step, in different shapes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .shared import Grads, Params, State

DEFAULTS = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 1e-2}


@torch.no_grad()
def adamw_plain(
    params: Params,
    grads: Grads,
    state: State,
    *,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 1e-2,
) -> None:
    """Line by line, as torch's loop."""
    beta1, beta2 = betas
    for param, grad, kept in zip(params, grads, state, strict=True):
        if grad is None:
            continue
        if not kept:
            kept |= {"step": 0, "exp_avg": torch.zeros_like(param), "exp_avg_sq": torch.zeros_like(param)}
        kept["step"] += 1
        param.mul_(1 - lr * weight_decay)
        kept["exp_avg"].lerp_(grad, 1 - beta1)
        kept["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        step_size = lr / (1 - beta1 ** kept["step"])
        root = kept["exp_avg_sq"].sqrt() / (1 - beta2 ** kept["step"]) ** 0.5
        param.addcdiv_(kept["exp_avg"], root.add_(eps), value=-step_size)


def adamw_by_formula(
    params: Params,
    grads: Grads,
    state: State,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 1e-2,
) -> None:
    """The paper's letters; lazily made state, also for None."""
    with torch.no_grad():
        for i, p in enumerate(params):
            s = state[i]
            s.setdefault("t", 0)
            if (g := grads[i]) is None:
                continue
            s["t"] += 1
            b1, b2 = (beta ** s["t"] for beta in betas)
            s["m"] = betas[0] * s.get("m", 0.0) + (1 - betas[0]) * g
            s["v"] = betas[1] * s.get("v", 0.0) + (1 - betas[1]) * g.square()
            m_hat, v_hat = s["m"] / (1 - b1), s["v"] / (1 - b2)
            p.copy_(p - lr * weight_decay * p - lr * m_hat / (v_hat.sqrt() + eps))


def adamw_by_lists(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """All at once by foreach operations; the count is a tensor in each dict."""
    o = DEFAULTS | options
    places = [i for i, grad in enumerate(grads) if grad is not None]
    if not places:
        return
    ps, gs, ss = (
        [params[i].detach() for i in places],
        [grads[i].detach() for i in places],
        [state[i] for i in places],
    )
    for p, s in zip(ps, ss, strict=True):
        s.setdefault("t", torch.zeros((), dtype=torch.float64)).add_(1)
        s.setdefault("m", torch.zeros_like(p))
        s.setdefault("v", torch.zeros_like(p))
    ms, vs = [s["m"] for s in ss], [s["v"] for s in ss]
    beta1, beta2 = o["betas"]
    torch._foreach_mul_(ps, 1 - o["lr"] * o["weight_decay"])
    torch._foreach_lerp_(ms, gs, 1 - beta1)
    torch._foreach_mul_(vs, beta2)
    torch._foreach_addcmul_(vs, gs, gs, 1 - beta2)
    roots = torch._foreach_sqrt(vs)
    torch._foreach_div_(roots, [(1 - beta2 ** s["t"].item()) ** 0.5 for s in ss])
    torch._foreach_add_(roots, o["eps"])
    torch._foreach_addcdiv_(ps, ms, roots, [-o["lr"] / (1 - beta1 ** s["t"].item()) for s in ss])


def adamw_in_a_closure(params: Params, grads: Grads, state: State, **options: Any) -> None:
    """An inner function for one parameter; decay and step in one subtraction; state in one tensor of two rows."""
    o = DEFAULTS | options

    def one(param: Tensor, grad: Tensor, kept: dict) -> None:
        kept["n"] = n = kept.get("n", 0) + 1
        both = kept.setdefault("both", torch.zeros((2, *param.shape), dtype=param.dtype))
        for row, beta, value in zip(both, o["betas"], (grad, grad * grad), strict=True):
            row.mul_(beta).add_(value, alpha=1 - beta)
        first, second = (row / (1 - beta**n) for row, beta in zip(both, o["betas"], strict=True))
        param.data -= o["lr"] * (o["weight_decay"] * param.data + first / (second**0.5 + o["eps"]))

    with torch.no_grad():
        for args in zip(params, grads, state, strict=True):
            if args[1] is not None:
                one(*args)


RIGHT = [adamw_plain, adamw_by_formula, adamw_by_lists, adamw_in_a_closure]
