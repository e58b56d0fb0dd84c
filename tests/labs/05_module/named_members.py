"""Right answers to 05.named_members, in different shapes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from torch import nn


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


RIGHT = [one_walk, from_a_stack, Members]
