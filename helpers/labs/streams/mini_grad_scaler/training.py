"""A small network trained under autocast with a scaler: the run on which two scalers are compared bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim import SGD, Optimizer


class Step(NamedTuple):
    """Where a run stands after an iteration."""

    scale: float
    growth_tracker: int
    parameters: Tensor


def run(
    scaler_of: Callable[..., Any],
    seed: int,
    dtype: torch.dtype,
    *,
    factors: tuple[float, float] = (1.7, 0.3),
    clipped: bool = True,
    iterations: int = 60,
    reload_after: int | None = 30,
    init_scale: float = 2.0**22,
    growth_interval: int = 4,
) -> list[Step]:
    """Trains a network of float32 parameters, two layers with an optimizer each, under autocast.

    scaler_of: called as scaler_of(init_scale, growth_factor, backoff_factor, growth_interval).
    clipped: the first optimizer's gradients are unscaled by hand and clipped, in every second iteration.
    reload_after: after so many iterations a new scaler goes on from the state of the old one.
    The scale begins so large that float16 overflows, and grows until it does so again.
    """
    generator = torch.Generator().manual_seed(seed)
    first, second = (network_layer(generator, *shape) for shape in ((6, 3), (2, 6)))
    # Most of a check is this run: what torch does beside the arithmetic (zero_grad, clip_grad_norm_, the choice of a
    # way to step) is left out.
    optimizers: list[Optimizer] = [
        SGD([*first], lr=0.05, momentum=0.9, foreach=False),
        SGD([*second], lr=0.1, foreach=False),
    ]
    scaler = scaler_of(init_scale, *factors, growth_interval)
    autocast = torch.autocast("cpu", dtype=dtype)
    steps = []
    for number in range(iterations):
        if number == reload_after:
            state, scaler = scaler.state_dict(), scaler_of(1.0, 3.0, 0.1, 7)
            scaler.load_state_dict(state)
        x = torch.randn(5, 3, generator=generator)
        with autocast:
            hidden = nn.functional.linear(x, *first).tanh()
            loss = nn.functional.mse_loss(nn.functional.linear(hidden, *second), x[:, :2])
        for param in (*first, *second):
            param.grad = None
        scaler.scale(loss).backward()
        if clipped and number % 2:
            scaler.unscale_(optimizers[0])
            clip(first, 0.05)
        for optimizer in optimizers:
            scaler.step(optimizer)
        scaler.update()
        now = scaler.state_dict()
        flat = torch.cat([param.detach().flatten() for param in (*first, *second)])
        steps.append(Step(now["scale"], now["_growth_tracker"], flat))
    return steps


def clip(params: tuple[nn.Parameter, ...], most: float) -> None:
    """Gradients whose norm is above `most` are made that much smaller; an inf makes all of them NaN or 0, as in torch."""
    norm = torch.stack([param.grad.norm() for param in params]).norm()
    for param in params:
        param.grad.mul_((most / norm).clamp(max=1))


def network_layer(generator: torch.Generator, out: int, width: int) -> tuple[nn.Parameter, nn.Parameter]:
    """A weight and a bias."""
    return (
        nn.Parameter(torch.randn(out, width, generator=generator) / width**0.5),
        nn.Parameter(torch.zeros(out)),
    )
