"""The model on which 04.recalibrate_bn is tried: BatchNorm at several depths, with stale statistics."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import Parameter
from torch.nn.modules.batchnorm import _BatchNorm

from helpers.check.trial import Trial

FEATURES = 4


class Mix(nn.Module):
    """x @ weight; nothing is drawn from the global generators."""

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self.weight = Parameter(torch.randn(FEATURES, FEATURES, generator=generator))

    def forward(self, x: Tensor) -> Tensor:
        return (x @ self.weight).tanh()


class Moving(nn.Module):
    """No BatchNorm, but with a statistic of its own that moves in training mode."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("largest", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.largest.copy_(torch.maximum(self.largest, x.detach().abs().max()))
        return x


class Picture(nn.Module):
    """BatchNorm2d over pictures of two channels, beside an InstanceNorm2d: its statistics stay, whatever its mode."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(2, momentum=0.3)
        self.instance = nn.InstanceNorm2d(2, momentum=0.0, track_running_stats=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(x.view(len(x), 2, 2, 1))
        self.instance(x)
        return x.flatten(1)


class Volume(nn.Module):
    """BatchNorm3d over volumes of one channel."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm3d(1, momentum=0.4)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x.view(len(x), 1, 2, 2, 1)).flatten(1)


class Model(nn.Module):
    """BatchNorm of every class, with momentum 0.1, 0.2, 0.3, 0.4 and None."""

    def __init__(self, generator: torch.Generator, dropout: float = 0.0) -> None:
        super().__init__()
        self.entry = nn.BatchNorm1d(FEATURES)
        self.first = nn.Sequential(Mix(generator), nn.BatchNorm1d(FEATURES, momentum=0.2))
        self.drop = nn.Dropout(dropout)
        self.middle = nn.ModuleDict({"picture": Picture(), "volume": Volume()})
        self.sync = nn.SyncBatchNorm(FEATURES)
        self.register_buffer("offset", torch.randn(FEATURES, generator=generator))
        self.moving = Moving()
        self.last = nn.Sequential(Mix(generator), nn.Sequential(nn.BatchNorm1d(FEATURES, momentum=None)))
        with torch.no_grad():
            self.middle["picture"].instance.running_mean.fill_(3)
            for norm in norms(self).values():
                norm.running_mean.copy_(torch.randn(norm.num_features, generator=generator) + 5)
                norm.running_var.copy_(torch.rand(norm.num_features, generator=generator) + 3)
                norm.num_batches_tracked.fill_(17)
                norm.weight.copy_(torch.rand(norm.num_features, generator=generator) + 0.5)
                norm.bias.copy_(torch.randn(norm.num_features, generator=generator))

    def forward(self, x: Tensor) -> Tensor:
        x = self.drop(self.first(self.entry(x + self.offset)))
        x = self.middle["volume"](self.middle["picture"](x))
        return self.last(self.moving(self.sync(x)))


def norms(model: nn.Module) -> dict[str, Any]:
    """The BatchNorm layers, by name."""
    return {name: module for name, module in model.named_modules() if isinstance(module, _BatchNorm)}


def statistics(model: nn.Module) -> dict[str, list[Tensor]]:
    """running_mean, running_var and num_batches_tracked of each layer, copied."""
    return {
        name: [norm.running_mean.clone(), norm.running_var.clone(), norm.num_batches_tracked.clone()]
        for name, norm in norms(model).items()
    }


def some_batches(trial: Trial, count: int = 4) -> list[Tensor]:
    """Inputs of different distributions, the last batch the smallest; four are as a loader makes them, of one size but for
    the last, and two or three have different sizes.
    """
    sizes = [8, 8, 8] if count == 4 else [7, 9, 6][: count - 1]
    return [
        torch.randn(size, FEATURES, generator=trial.generator) * (1 + place) + place
        for place, size in enumerate([*sizes, 3])
    ]


def one_pass(model: nn.Module, batches: list[Tensor]) -> dict[str, list[Tensor]]:
    """What the statistics of a copy of the model are after one pass of cumulative averages."""
    twin = copy.deepcopy(model).eval()
    for norm in norms(twin).values():
        norm.train().reset_running_stats()
        norm.momentum = None
    with torch.no_grad():
        for batch in batches:
            twin(batch)
    return statistics(twin)


def modes(model: nn.Module) -> dict[str, bool]:
    return {name: module.training for name, module in model.named_modules()}


def momenta(model: nn.Module) -> dict[str, float | None]:
    return {name: module.momentum for name, module in model.named_modules() if isinstance(module, _BatchNorm)}


@contextmanager
def watched(model: nn.Module) -> Iterator[dict[str, set[bool]]]:
    """Yields, by the module's name, the modes in which it ran; under "graph" whether its result needed a graph."""
    seen: dict[str, set[bool]] = {"graph": set()}
    handles = []
    for name, module in model.named_modules():

        def before(module: nn.Module, args: Any, name: str = name) -> None:
            seen.setdefault(name, set()).add(module.training)

        handles.append(module.register_forward_pre_hook(before))
    handles.append(model.register_forward_hook(lambda _, __, result: seen["graph"].add(result.requires_grad)))
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


Statistics = dict[str, list[Tensor]]


def combined(each: list[Statistics], weights: list[float]) -> Statistics:
    """The weighted sum of statistics."""
    found: Statistics = {}
    for name in each[0]:
        mean, var = (
            sum(weight * one[name][place] for one, weight in zip(each, weights, strict=True))
            for place in (0, 1)
        )
        found[name] = [mean, var, each[0][name][2] * 0 + len(each)]
    return found


def wrong_ways(model: nn.Module, batches: list[Tensor]) -> Callable[[], dict[str, Statistics]]:
    """What gives `by_a_wrong_way` of the model as it is now: much work, and asked only where something is off."""
    twin = copy.deepcopy(model)
    return lambda: by_a_wrong_way(twin, batches)


def by_a_wrong_way(model: nn.Module, batches: list[Tensor]) -> dict[str, Statistics]:
    """In words, what people measure in place of the equal average, and the statistics that it gives."""
    each = [one_pass(model, [batch]) for batch in batches]
    old, count, sizes = statistics(model), len(batches), [len(batch) for batch in batches]
    tracked = int(next(iter(old.values()))[2])
    new = {
        name: [torch.zeros_like(mean), torch.ones_like(var), kept] for name, (mean, var, kept) in old.items()
    }
    last = [tracked / (tracked + count)] + [1 / (tracked + count)] * count
    return {
        "the statistics are the old ones": old,
        "the statistics are those of a new layer, 0 and 1": new,
        "the statistics are those of the first batch alone": each[0],
        "the statistics are those of the last batch alone": each[-1],
        "the statistics are those of all batches but the last": combined(
            each[:-1], [1 / (count - 1)] * (count - 1)
        ),
        "the statistics are those of all batches but the first": combined(
            each[1:], [1 / (count - 1)] * (count - 1)
        ),
        "the statistics are those of all batches joined into one": one_pass(model, [torch.cat(batches)]),
        "each batch counts by its size": combined(each, [size / sum(sizes) for size in sizes]),
        "the old ones count as the batches before": combined([old, *each], last),
        "the start values, 0 and 1, count as the batches before": combined([new, *each], last),
        "it is an exponential average, with the layer's own momentum": moving(model, batches, None),
        "it is an exponential average, with momentum 0.1": moving(model, batches, 0.1),
        "it is an exponential average, with momentum 0.5": moving(model, batches, 0.5),
    }


def moving(model: nn.Module, batches: list[Tensor], momentum: float | None) -> Statistics:
    """The statistics after a pass from a reset, with this momentum or, for None, each layer's own."""
    twin = copy.deepcopy(model).eval()
    for norm in norms(twin).values():
        norm.train().reset_running_stats()
        norm.momentum = norm.momentum if momentum is None else momentum
    with torch.no_grad():
        for batch in batches:
            twin(batch)
    return statistics(twin)
