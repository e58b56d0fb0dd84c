"""A right walk in steps, of which each mistake of 05.named_members replaces one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import nn

Pairs = Iterator[tuple[str, Any]]


class Walk:
    """A right walk, of which the mistakes change one step."""

    def __call__(
        self,
        module: nn.Module,
        kind: str,
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Pairs:
        self.kind, self.recurse, self.unique = kind, recurse, remove_duplicate
        self.seen: list[Any] = []
        return self.walk(module, prefix)

    def is_new(self, member: Any) -> bool:
        if self.unique and any(member is known for known in self.seen):
            return False
        self.seen.append(member)
        return True

    def joined(self, prefix: str, name: str) -> str:
        return f"{prefix}.{name}" if prefix else name

    def entries(self, module: nn.Module) -> Any:
        return getattr(module, f"_{self.kind}").items()

    def own(self, module: nn.Module, prefix: str) -> Pairs:
        for name, member in self.entries(module):
            if member is not None and self.is_new(member):
                yield self.joined(prefix, name), member

    def children(self, module: nn.Module) -> Any:
        return [(name, child) for name, child in module._modules.items() if child is not None]

    def below(self, module: nn.Module, prefix: str) -> Pairs:
        for name, child in self.children(module):
            yield from self.walk(child, self.joined(prefix, name))

    def walk(self, module: nn.Module, prefix: str) -> Pairs:
        if self.kind == "modules":
            if not self.is_new(module):
                return
            yield prefix, module
        else:
            yield from self.own(module, prefix)
        if self.recurse:
            yield from self.below(module, prefix)


def of(kind: type[Walk]) -> Any:
    return lambda *args, **options: kind()(*args, **options)
