"""Right answers to exercises 1 to 4 of lab 04, in different shapes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

Params, Grads, State = list[Tensor], list[Tensor | None], list[dict]


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


def sgd_out_of_place(params: Params, grads: Grads, state: State, **o: Any) -> Params:
    """New values by formula, copied in at the end; the velocity is a new tensor each time; params are returned."""
    if o["nesterov"] and not (o["momentum"] and not o["dampening"]):
        raise ValueError(o)
    sign = -1.0 if o["maximize"] else 1.0
    for i, grad in enumerate(grads):
        if grad is not None:
            param = params[i].detach()
            d = sign * grad.detach() + o["weight_decay"] * param
            if o["momentum"]:
                old = state[i].get("v")
                v = d.clone() if old is None else o["momentum"] * old + (1 - o["dampening"]) * d
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
    momentum: float,
    dampening: float,
    nesterov: bool,
    weight_decay: float,
    maximize: bool,
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
                s.setdefault("buf", g.clone())
            if old:
                bufs, theirs = map(list, zip(*old, strict=True))
                torch._foreach_mul_(bufs, momentum)
                torch._foreach_add_(bufs, theirs, alpha=1 - dampening)
            bufs = [s["buf"] for s in ss]
            gs = torch._foreach_add(gs, bufs, alpha=momentum) if nesterov else bufs
        torch._foreach_add_(ps, gs, alpha=-lr)


class SgdStep:
    """An object that is called, with the velocity in a deque of length 1, through .data."""

    def __call__(self, params: Params, grads: Grads, state: State, **o: Any) -> None:
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


def adamw_by_formula(params: Params, grads: Grads, state: State, *, lr, betas, eps, weight_decay) -> None:  # noqa: ANN001
    """The paper's letters; running products of the betas instead of powers; lazily made state, also for None."""
    with torch.no_grad():
        for i, p in enumerate(params):
            s = state[i]
            s.setdefault("products", (1.0, 1.0))
            if (g := grads[i]) is None:
                continue
            b1, b2 = (kept * beta for kept, beta in zip(s["products"], betas, strict=True))
            s["products"] = (b1, b2)
            s["m"] = betas[0] * s.get("m", 0.0) + (1 - betas[0]) * g
            s["v"] = betas[1] * s.get("v", 0.0) + (1 - betas[1]) * g.square()
            m_hat, v_hat = s["m"] / (1 - b1), s["v"] / (1 - b2)
            p.copy_(p - lr * weight_decay * p - lr * m_hat / (v_hat.sqrt() + eps))


def adamw_by_lists(params: Params, grads: Grads, state: State, **o: Any) -> None:
    """All at once by foreach operations; the count is a tensor in each dict."""
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


def adamw_in_a_closure(params: Params, grads: Grads, state: State, **o: Any) -> None:
    """An inner function for one parameter; decay and step in one subtraction; state in one tensor of two rows."""

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


def groups_plain(model: nn.Module, weight_decay: float) -> list[dict]:
    """Two comprehensions over one list."""
    params = [param for param in model.parameters() if param.requires_grad]
    return [
        {"params": [param for param in params if param.ndim >= 2], "weight_decay": weight_decay},
        {"params": [param for param in params if param.ndim < 2], "weight_decay": 0.0},
    ]


def groups_by_a_loop(model: nn.Module, weight_decay: float) -> list[dict]:
    """Appends while it walks; names each group; an integer 0."""
    decay: dict[str, Any] = {"params": [], "weight_decay": weight_decay, "name": "decay"}
    rest: dict[str, Any] = {"params": [], "weight_decay": 0, "name": "no decay"}
    for _, param in model.named_parameters():
        if param.requires_grad:
            (rest if param.dim() <= 1 else decay)["params"].append(param)
    return [decay, rest]


def groups_by_modules(model: nn.Module, weight_decay: float) -> list[dict]:
    """Every module's own dict, with a set of ids; the groups are tuples."""
    seen: set[int] = set()
    found: tuple[list, list] = ([], [])
    for module in model.modules():
        for param in module._parameters.values():
            if param is not None and param.requires_grad and id(param) not in seen:
                seen.add(id(param))
                found[len(param.shape) < 2].append(param)
    return [
        {"params": tuple(params), "weight_decay": value}
        for params, value in zip(found, (weight_decay, 0.0), strict=True)
    ]


def groups_by_filters(model: nn.Module, weight_decay: float) -> list[dict]:
    """Filters made into lists at once."""
    named = dict(filter(lambda pair: pair[1].requires_grad, model.named_parameters()))
    spared = {name for name, param in named.items() if len(param.size()) in (0, 1)}
    return [
        dict(params=[named[name] for name in named if name not in spared], weight_decay=weight_decay),
        dict(params=[named[name] for name in named if name in spared], weight_decay=0.0),
    ]


@torch.no_grad()
def clip_plain(params: Iterable[Tensor], max_norm: float, norm_type: float = 2.0) -> Tensor:
    """As torch does it."""
    grads = [param.grad for param in params if param.grad is not None]
    if not grads:
        return torch.tensor(0.0)
    total = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads, norm_type)), norm_type)
    torch._foreach_mul_(grads, (max_norm / (total + 1e-6)).clamp(max=1.0))
    return total


def clip_detached(params: Iterable[Tensor], max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Detached gradients instead of no_grad; the factor by minimum of tensors, without the 1e-6."""
    grads = [p.grad.detach() for p in params if p.grad is not None]
    if len(grads) == 0:
        return torch.zeros(())
    total = torch.stack(torch._foreach_norm(grads, norm_type)).norm(p=norm_type)
    torch._foreach_mul_(grads, torch.minimum(max_norm / total, torch.ones_like(total)))
    return total


def clip_by_division(params: Iterable[Tensor], max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Divides by what is never below 1; the gradients come from a generator."""

    def grads_of(them: Iterable[Tensor]) -> Iterator[Tensor]:
        for one in them:
            if one.grad is not None:
                yield one.grad

    with torch.no_grad():
        if not (grads := list(grads_of(params))):
            return torch.tensor(0.0)
        norms = torch.stack(tuple(torch._foreach_norm(grads, ord=float(norm_type))))
        total = torch.linalg.norm(norms, ord=float(norm_type))
        torch._foreach_div_(grads, torch.clamp(total / max_norm, min=1.0))
        return total


@torch.no_grad()
def clip_by_cases(params: Iterable[Tensor], max_norm: float, norm_type: float = 2) -> Tensor:
    """Infinity for itself; powers for the rest; `where` turned so that NaN goes on."""
    grads = [p.grad for p in params]
    grads = [g for g in grads if g is not None]
    total = torch.tensor(0.0)
    if grads:
        norms = torch.stack(torch._foreach_norm(grads, norm_type))
        total = norms.max() if norm_type == float("inf") else norms.pow(norm_type).sum().pow(1 / norm_type)
        factor = torch.where(total <= max_norm, torch.ones_like(total), max_norm / (total + 1e-6))
        torch._foreach_mul_(grads, factor)
    return total


RIGHT: dict[str, list[Any]] = {
    "04.sgd_step": [sgd_plain, sgd_out_of_place, sgd_by_lists, SgdStep()],
    "04.adamw_step": [adamw_plain, adamw_by_formula, adamw_by_lists, adamw_in_a_closure],
    "04.param_groups": [groups_plain, groups_by_a_loop, groups_by_modules, groups_by_filters],
    "04.clip_grad_norm_": [clip_plain, clip_detached, clip_by_division, clip_by_cases],
}
