"""Right answers to 05.named_members and 05.convert."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn


def one_walk(
    module: nn.Module, kind: str, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
) -> Iterator[tuple[str, object]]:
    """The solution of the notebook."""
    seen: set[object] = set()

    def is_new(member: object) -> bool:
        known = member in seen
        if remove_duplicate:
            seen.add(member)
        return member is not None and not known

    def walk(module: nn.Module, prefix: str) -> Iterator[tuple[str, object]]:
        dot = prefix + "." if prefix else ""
        if kind == "modules":
            if not is_new(module):
                return
            yield prefix, module
        else:
            for name, member in getattr(module, f"_{kind}").items():
                if is_new(member):
                    yield dot + name, member
        if recurse:
            for name, child in module._modules.items():
                if child is not None:
                    yield from walk(child, dot + name)

    yield from walk(module, prefix)


def from_a_stack(
    module: Any, kind: Any, prefix: Any = "", recurse: Any = True, remove_duplicate: Any = True
) -> Any:
    """No recursion: a stack of modules, the last child at the bottom; ids for what was seen."""
    stack, ids = [(prefix, module)], {}
    while stack:
        path, module = stack.pop()
        if remove_duplicate and ids.setdefault(id(module), path) != path:
            continue
        own = {"modules": {"": module}}.get(kind)
        own = own if own is not None else {"parameters": module._parameters, "buffers": module._buffers}[kind]
        for name, member in own.items():
            key = ".".join(filter(None, (path, name)))
            if member is not None and (
                member is module or not remove_duplicate or ids.setdefault(id(member), key) == key
            ):
                yield key, member
        if recurse:
            below = [(path and f"{path}.") + name for name in module._modules]
            pairs = zip(below, module._modules.values(), strict=True)
            stack.extend(reversed([pair for pair in pairs if pair[1] is not None]))


class Members:
    """An iterator that is no generator function, on generators for the parts."""

    def __init__(
        self,
        module: nn.Module,
        kind: str,
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> None:
        everything = self.modules(module, prefix, recurse)
        if kind != "modules":
            everything = itertools.chain.from_iterable(
                self.own(path, part, kind) for path, part in everything
            )
        self.found, self.once, self.seen = everything, remove_duplicate, set()

    def modules(self, module: nn.Module, prefix: str, recurse: bool) -> Any:
        yield prefix, module
        for name, child in module._modules.items() if recurse else ():
            if child is not None:
                yield from self.modules(child, f"{prefix}.{name}".lstrip("."), True)

    def own(self, path: str, module: nn.Module, kind: str) -> Any:
        entries = module._parameters if kind == "parameters" else module._buffers
        return (
            (f"{path}.{name}" if path else name, entry)
            for name, entry in entries.items()
            if entry is not None
        )

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> tuple[str, object]:
        for name, member in self.found:
            if not self.once or id(member) not in self.seen:
                self.seen.add(id(member))
                return name, member
        raise StopIteration


def convert(module: nn.Module, fn: Callable[[Tensor], Tensor]) -> nn.Module:
    """The solution of the notebook."""
    for child in module._modules.values():
        if child is not None:
            convert(child, fn)
    with torch.no_grad():
        for param in module._parameters.values():
            if param is not None:
                param.data = fn(param)
                if param.grad is not None:
                    param.grad.data = fn(param.grad)
        for name, buffer in module._buffers.items():
            if buffer is not None:
                module._buffers[name] = fn(buffer)
    return module


def convert_each_once(module: nn.Module, fn: Callable[[Tensor], Tensor]) -> nn.Module:
    """By torch's iterators: what is tied, and a shared module, is converted once; buffers in their places."""
    for param in module.parameters():
        grad, param.grad = param.grad, None
        param.data = fn(param.data)
        if grad is not None:
            param.grad = fn(grad)
    for buffer in module.buffers():
        buffer.data = fn(buffer.data)
    return module


def convert_by_apply(module: nn.Module, fn: Callable[[Tensor], Tensor]) -> nn.Module:
    """nn.Module.apply, which walks; setattr for the buffers, which keeps them as persistent as they were."""

    def on_one(part: nn.Module) -> None:
        for param in filter(lambda param: param is not None, part._parameters.values()):
            new = nn.Parameter(fn(param.detach()), requires_grad=param.requires_grad)
            param.data = new.data
            if param.grad is not None:
                param.grad = fn(param.grad.detach())
        for name in [name for name in part._buffers if getattr(part, name) is not None]:
            setattr(part, name, fn(getattr(part, name)))

    return module.apply(on_one)


RIGHT = {
    "05.named_members": [one_walk, from_a_stack, Members],
    "05.convert": [convert, convert_each_once, convert_by_apply],
}
