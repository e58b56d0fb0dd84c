"""Models on which 05.activation_recorder is tried, what is recorded of them, and what is left on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.modules.module as module_hooks
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef

from helpers.check.trial import Trial
from helpers.labs.module.shared.models import Scale


class Boom(Exception):
    """What a module raises in the check."""


class Net(nn.Module):
    """Nested; an in-place layer after `stem.0`; a container without children; `twice` is called two times, the second
    result is edited in place.
    """

    def __init__(self, trial: Trial, width: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            Scale(trial, width), nn.ReLU(inplace=True), nn.Sequential(Scale(trial, width))
        )
        self.twice = Scale(trial, width)
        self.idle = nn.Sequential()  # falsy, as each container without children
        self.head = Scale(trial, width)
        self.raises: type[BaseException] | None = None
        self.runs: list[dict[str, Any]] = []  # the switches at each run of forward
        self.stem[2].eval()

    def forward(self, x: Tensor) -> Tensor:
        self.runs.append(switches(self))
        h = self.idle(self.twice(self.stem(x)).sigmoid())
        h = self.twice(h).mul_(0.5)
        if self.raises:
            raise self.raises("from forward")
        return self.head(h)


class Shared(nn.Module):
    """One layer under two names, and called under both."""

    def __init__(self, trial: Trial, width: int) -> None:
        super().__init__()
        self.inner = Scale(trial, width)
        self.outer = self.inner

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(self.inner(x).tanh())


class Calls(nn.Module):
    """Calls a module that is not its child, and itself once more, inside its own call."""

    def __init__(self, trial: Trial, width: int) -> None:
        super().__init__()
        self.own = Scale(trial, width)
        self.foreign = [Scale(trial, width)]  # a list: no child

    def forward(self, x: Tensor, again: bool = True) -> Tensor:
        x = self.foreign[0](self.own(x)).tanh()
        return self(x, again=False) * 2 if again else x


class Gives(nn.Module):
    """Returns what a function makes of its input."""

    def __init__(self, make: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.make = make

    def forward(self, x: Tensor) -> Any:
        return self.make(x)


class Kinds(nn.Module):
    """A child for each kind of output, called with one input by keyword; gives a dict of what they gave."""

    def __init__(self, kinds: dict[str, Callable[[Tensor], Any]]) -> None:
        super().__init__()
        for name, make in kinds.items():
            self.add_module(name, Gives(make))

    def forward(self, x: Tensor) -> dict[str, Any]:
        return {name: child(x=x) for name, child in self.named_children()}


NO_TENSORS: dict[str, Callable[[Tensor], Any]] = {
    "pair": lambda x: (x.sigmoid(), x.tanh()),
    "nested": lambda x: (x.tanh(), (x.sigmoid(), x.exp())),
    "list": lambda x: [x.sigmoid()],
    "dict": lambda x: {"y": x.tanh()},
    "number": lambda x: float(x.detach().sum()),
    "nothing": lambda x: None,
}
TENSORS: dict[str, Callable[[Tensor], Tensor]] = {
    "of float64": lambda x: x.tanh(),
    "of float32": lambda x: x.float() * 2,
    "of float16": lambda x: x.half() * 2,
    "of bfloat16": lambda x: x.bfloat16() * 2,
    "complex numbers": lambda x: torch.complex(x, -x),
    "an argmax": lambda x: x.argmax(-1),
    "a mask": lambda x: x > 0,
    "one number": lambda x: x.sum(),
    "zeros": torch.zeros_like,
    "no rows": lambda x: x[:0] * 2,
    "a transposed one": lambda x: x.t() * 2,
    "one column": lambda x: x[:, :1] * 2,
    "an expanded row": lambda x: x[:1].expand(3, -1),
    "nan and inf": lambda x: torch.stack([x.new_tensor(float("nan")), x.new_tensor(float("-inf"))]),
    "a Parameter": lambda x: nn.Parameter(x.detach().clone()),
}


def setting(trial: Trial, kind: Callable[[Trial, int], nn.Module] = Net) -> tuple[nn.Module, Tensor]:
    """A model and an input; no activation has two equal values, or only positive ones."""
    width = trial.random.randint(3, 5)
    model = kind(trial, width)
    return model, some_input(trial, width)


def some_input(trial: Trial, width: int) -> Tensor:
    return torch.randn(12, width, generator=trial.generator, dtype=torch.float64)


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


def switches(model: nn.Module) -> dict[str, Any]:
    """What decides how a model computes, besides its numbers."""
    return {
        "gradients are on": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "training": [name for name, module in model.named_modules() if module.training],
        "requires_grad": [name for name, param in model.named_parameters() if param.requires_grad],
    }


def hooks_on(model: nn.Module) -> dict[str, list]:
    """All hooks by the name of their module."""
    found: dict[str, list] = {}
    for name, module in model.named_modules():
        found[name or "the model itself"] = [
            (kind, id, value)
            for kind, hooks in sorted(vars(module).items())
            if "hooks" in kind and isinstance(hooks, dict)
            for id, value in hooks.items()
        ]
    found["all modules"] = [
        (kind, id)
        for kind, hooks in sorted(vars(module_hooks).items())
        if kind.startswith("_global_") and isinstance(hooks, dict)
        for id in hooks
    ]
    return found


def replaced_on(model: nn.Module) -> dict[str, dict[str, Any]]:
    """What a recorder without hooks would put in a different place: attributes, classes, and how nn.Module is called."""
    found = {
        name or "the model itself": {"__class__": type(module)}
        | {key: value for key, value in vars(module).items() if not isinstance(value, (dict, set))}
        for name, module in model.named_modules()
    }
    found["the parameters"] = {f"{name}.grad": value.grad for name, value in model.named_parameters()}
    found["the class nn.Module"] = {
        name: vars(nn.Module)[name] for name in ("__call__", "_call_impl", "_wrapped_call_impl")
    }
    return found


def kinds_of(before: dict[str, list], after: dict[str, list]) -> list[str]:
    """The dicts in which there is more than before."""
    return sorted({hook[0] for name in after for hook in after[name] if hook not in before[name]})


def changed(before: dict[str, list], after: dict[str, list]) -> tuple[list[str], list[str]]:
    """Names of modules with more hooks than before, and of those that have lost one."""
    more = [name for name in after if any(hook not in before[name] for hook in after[name])]
    less = [name for name in after if any(hook not in after[name] for hook in before[name])]
    return more, less


def differing(before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    """By module, the attributes that are not the objects from before."""
    gone = object()
    off = {
        name: sorted(
            key
            for key in before[name] | after[name]
            if before[name].get(key, gone) is not after[name].get(key, gone)
        )
        for name in after
    }
    return {name: keys for name, keys in off.items() if keys}
