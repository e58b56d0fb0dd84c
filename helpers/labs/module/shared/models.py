"""Models on which 05.activation_recorder is tried, what is recorded of them, and what is left on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.modules.module as module_hooks
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef

from helpers.check.trial import Trial


class Boom(Exception):
    """What a module raises in the check."""


class Scale(nn.Module):
    """x * weight + shift; nothing is drawn from the global generators."""

    def __init__(self, trial: Trial, width: int) -> None:
        super().__init__()
        self.weight, self.shift = (
            nn.Parameter(torch.randn(width, generator=trial.generator, dtype=torch.float64)) for _ in range(2)
        )

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight + self.shift


class Net(nn.Module):
    """Nested; an in-place layer after `stem.0`; `twice` is called two times, the second result is edited in place."""

    def __init__(self, trial: Trial, width: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            Scale(trial, width), nn.ReLU(inplace=True), nn.Sequential(Scale(trial, width))
        )
        self.twice = Scale(trial, width)
        self.head = Scale(trial, width)
        self.fails = False

    def forward(self, x: Tensor) -> Tensor:
        h = self.twice(self.stem(x)).sigmoid()
        h = self.twice(h).mul_(0.5)
        if self.fails:
            raise Boom("from forward")
        return self.head(h)


class Shared(nn.Module):
    """One layer under two names, and called under both."""

    def __init__(self, trial: Trial, width: int) -> None:
        super().__init__()
        self.inner = Scale(trial, width)
        self.outer = self.inner

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(self.inner(x).tanh())


class Pair(nn.Module):
    """Two tensors, as an LSTM returns them."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x.sigmoid(), x.tanh()


class WithPair(nn.Module):
    """A model with an output that is no tensor inside, and a dict at the end."""

    def __init__(self, trial: Trial, width: int) -> None:
        super().__init__()
        self.first, self.pair, self.last = Scale(trial, width), Pair(), Scale(trial, width)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        left, right = self.pair(self.first(x))
        return {"out": self.last(left * right)}


def setting(trial: Trial, kind: Callable[[Trial, int], nn.Module] = Net) -> tuple[nn.Module, Tensor]:
    """A model and an input; no activation has two equal values, or only positive ones."""
    width = trial.random.randint(3, 5)
    model = kind(trial, width)
    return model, torch.randn(12, width, generator=trial.generator, dtype=torch.float64)


def recorded(model: nn.Module, *inputs: Tensor) -> dict[str, list[Tensor]]:
    """The results of all modules, by name, one for each call."""
    found: dict[str, list[Tensor]] = {}

    def noted(name: str) -> Callable[..., None]:
        def hook(_: Any, __: Any, out: Any) -> None:
            if isinstance(out, Tensor):
                found.setdefault(name, []).append(out.detach().clone())

        return hook

    handles = [module.register_forward_hook(noted(name)) for name, module in model.named_modules()]
    for x in inputs:
        model(x)
    for handle in handles:
        handle.remove()
    return found


def storages(model: nn.Module) -> tuple[dict[str, StorageWeakRef], Callable[[], None]]:
    """Filled by the next call of the model: the memory of each module's result. The second takes the hooks off."""
    found: dict[str, StorageWeakRef] = {}

    def noted(name: str) -> Callable[..., None]:
        return lambda _, __, out: found.__setitem__(name, StorageWeakRef(out.untyped_storage()))

    handles = [module.register_forward_hook(noted(name)) for name, module in model.named_modules()]

    def off() -> None:
        for handle in handles:
            handle.remove()

    return found, off


def hooks_on(model: nn.Module) -> dict[str, list]:
    """All hooks by the name of their module, and whether its forward was replaced."""
    found: dict[str, list] = {}
    for name, module in model.named_modules():
        on_it = [
            (kind, id, value)
            for kind, hooks in sorted(vars(module).items())
            if "hooks" in kind and isinstance(hooks, dict)
            for id, value in hooks.items()
        ]
        found[name or "the model itself"] = on_it + ["forward"] * ("forward" in vars(module))
    found["all modules"] = [
        (kind, id)
        for kind, hooks in sorted(vars(module_hooks).items())
        if kind.startswith("_global_") and isinstance(hooks, dict)
        for id in hooks
    ]
    return found


def changed(before: dict[str, list], after: dict[str, list]) -> tuple[list[str], list[str]]:
    """Names of modules with more hooks than before, and of those that have lost one."""
    more = [name for name in after if any(hook not in before[name] for hook in after[name])]
    less = [name for name in after if any(hook not in after[name] for hook in before[name])]
    return more, less
