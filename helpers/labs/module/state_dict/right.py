"""A right state_dict and load_state_dict, of which the mistakes of 05.state_dict change one step."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.module.state_dict.exercise import state_dict

Keys = tuple[list[str], list[str]]


def own(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """The module's own parameters and persistent buffers."""
    for name, value in module._parameters.items():
        if value is not None:
            yield name, value
    for name, value in module._buffers.items():
        if value is not None and name not in module._non_persistent_buffers_set:
            yield name, value


def modules(module: nn.Module, prefix: str = "") -> Iterator[tuple[str, nn.Module]]:
    """All modules under all their names, with the dot that goes before the names of their entries."""
    yield prefix, module
    for name, child in module._modules.items():
        if child is not None:
            yield from modules(child, f"{prefix}{name}.")


def has_own(module: nn.Module, method: str) -> bool:
    return getattr(type(module), method) is not getattr(nn.Module, method)


class Save:
    """The way out."""

    def modules(self, module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
        return modules(module)

    def own(self, module: nn.Module) -> Iterator[tuple[str, Any]]:
        return own(module)

    def value(self, value: Any) -> Any:
        return value.detach()

    def key(self, prefix: str, name: str) -> str:
        return prefix + name

    def about(self, prefix: str, module: nn.Module) -> tuple[str, Any]:
        return prefix[:-1], {"version": module._version}

    def extra(self, module: nn.Module) -> Iterator[Any]:
        if has_own(module, "get_extra_state"):
            yield module.get_extra_state()

    def __call__(self, module: nn.Module) -> Any:
        sd: Any = OrderedDict()
        sd._metadata = OrderedDict()
        for prefix, part in self.modules(module):
            name, about = self.about(prefix, part)
            sd._metadata[name] = about
            for entry, value in self.own(part):
                sd[self.key(prefix, entry)] = self.value(value)
            for extra in self.extra(part):
                sd[f"{prefix}_extra_state"] = extra
        return sd


class Load:
    """The way in."""

    def __init__(self) -> None:
        self.missing: list[str] = []
        self.errors: list[str] = []
        self.known: set[str] = set()

    def modules(self, module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
        return modules(module)

    def own(self, module: nn.Module) -> Iterator[tuple[str, Tensor]]:
        return own(module)

    def is_missing(self, key: str, sd: Any) -> bool:
        return key not in sd

    def fits(self, old: Tensor, new: Any) -> bool:
        return isinstance(new, Tensor) and old.shape == new.shape

    def copy(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        with torch.no_grad():
            old.copy_(new)

    def assign(self, module: nn.Module, name: str, old: Tensor, new: Any) -> None:
        if isinstance(old, nn.Parameter):
            new = nn.Parameter(new, requires_grad=old.requires_grad)
        setattr(module, name, new)

    def misfit(self, key: str) -> None:
        self.errors.append(f"size mismatch for {key}")

    def lacks(self, key: str) -> None:
        self.missing.append(key)

    def has_extra(self, module: nn.Module) -> bool:
        return has_own(module, "set_extra_state")

    def extra(self, module: nn.Module, key: str, sd: Any) -> None:
        if self.has_extra(module):
            self.known.add(key)
            if key in sd:
                module.set_extra_state(sd[key])
            else:
                self.lacks(key)

    def unexpected(self, module: nn.Module, sd: Any) -> list[str]:
        return [key for key in sd if key not in self.known]

    def complain(self, missing: list[str], unexpected: list[str], strict: bool) -> None:
        named = [f"missing {key}" for key in missing] + [f"unexpected {key}" for key in unexpected]
        if errors := self.errors + (named if strict else []):
            raise RuntimeError("; ".join(errors))

    def __call__(self, module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        put = self.assign if assign else self.copy
        for prefix, part in self.modules(module):
            for name, old in self.own(part):
                key = prefix + name
                self.known.add(key)
                if self.is_missing(key, sd):
                    self.lacks(key)
                elif not self.fits(old, sd[key]):
                    self.misfit(key)
                else:
                    put(part, name, old, sd[key])
            self.extra(part, f"{prefix}_extra_state", sd)
        unexpected = self.unexpected(module, sd)
        self.complain(self.missing, unexpected, strict)
        return self.missing, unexpected


def save(module: nn.Module) -> Any:
    return Save()(module)


def load(*args: Any, **options: Any) -> Keys:
    return Load()(*args, **options)


def saving(kind: type[Save]) -> Callable[..., Any]:
    return lambda module: kind()(module)


def loading(kind: type[Load]) -> Callable[..., Any]:
    return lambda *args, **options: kind()(*args, **options)


def load_by(save: Callable[..., Any]) -> Callable[..., Keys]:
    """A way in that asks the answer's own way out for names and tensors, and so shares its mistakes."""

    def load(module: nn.Module, sd: Any, strict: bool = True, assign: bool = False) -> Keys:
        own, errors = save(module), []
        with torch.no_grad():
            for key, old in own.items():
                if key in sd and isinstance(old, Tensor):
                    if isinstance(sd[key], Tensor) and old.shape == sd[key].shape:
                        old.copy_(sd[key])
                    else:
                        errors.append(f"size mismatch for {key}")
        missing, unexpected = [key for key in own if key not in sd], [key for key in sd if key not in own]
        if errors or (strict and (missing or unexpected)):
            raise RuntimeError(f"{errors}, missing {missing}, unexpected {unexpected}")
        return missing, unexpected

    return load


def by_classes(whole: Callable[[Any], Any], written: Any) -> Any:
    """A function as it is, or the function that a class of steps stands for."""
    return whole(written) if isinstance(written, type) else written


# A way out that is wrong, with a right way in and with one that is built on it.
saves = state_dict.bank(
    lambda written: (by_classes(saving, written), load),
    lambda written: (by_classes(saving, written), load_by(by_classes(saving, written))),
)
# A way in that is wrong.
loads = state_dict.bank(lambda written: (save, by_classes(loading, written)))
