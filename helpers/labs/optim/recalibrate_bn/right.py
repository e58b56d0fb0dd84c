"""A right answer to 04.recalibrate_bn in steps, of which each mistake replaces one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

Norms = list[Any]


def norms_in(model: nn.Module) -> Norms:
    return [module for module in model.modules() if isinstance(module, _BatchNorm)]


def prepare(norm: Any) -> None:
    norm.reset_running_stats()
    norm.momentum = None
    norm.train()


@contextmanager
def put_back(model: nn.Module) -> Iterator[None]:
    """Momentum and mode of every sub-module, whatever happens."""
    norms = norms_in(model)
    before = [(module, module.training) for module in model.modules()], [norm.momentum for norm in norms]
    try:
        yield
    finally:
        for module, flag in before[0]:
            module.training = flag
        for norm, momentum in zip(norms, before[1], strict=True):
            norm.momentum = momentum


@torch.no_grad()
def feed(loader: Iterable[Any], model: nn.Module) -> None:
    for batch in loader:
        model(batch[0] if isinstance(batch, (tuple, list)) else batch)


def recalibrate(
    loader: Iterable[Any],
    model: nn.Module,
    *,
    norms: Callable[[nn.Module], Norms] = norms_in,
    prepare: Callable[[Any], Any] = prepare,
    feed: Callable[[Iterable[Any], nn.Module], None] = feed,
) -> None:
    """Right as it stands; a mistake replaces one part."""
    chosen = norms(model)
    with put_back(model):
        model.eval()
        for norm in chosen:
            prepare(norm)
        feed(loader, model)


def replaced(**parts: Any) -> Callable[[Iterable[Any], nn.Module], None]:
    """An answer that differs from a right one in these parts."""
    return lambda loader, model: recalibrate(loader, model, **parts)


def without_restoring(loader: Iterable[Any], model: nn.Module) -> dict[Any, float | None]:
    """The pass; what the momenta were."""
    momenta = {norm: norm.momentum for norm in norms_in(model)}
    model.eval()
    for norm in momenta:
        prepare(norm)
    feed(loader, model)
    return momenta
