"""What people write for 05.named_members."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from helpers.labs.module.named_members import named_members

Pairs = Iterator[tuple[str, Any]]


class Walk:
    """A right walk, of which the wrong answers change one step."""

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


def mistaken(name: str, why: str, seen: str) -> Any:
    """A wrong answer as a class of walks; what is passed to `check` is a function."""
    return lambda kind: named_members.wrong_answer(name, why=why, seen=seen, answer=of(kind))


def form(name: str) -> Any:
    return lambda kind: named_members.another_form(name)(of(kind))


def of(kind: type[Walk]) -> Any:
    return lambda *args, **options: kind()(*args, **options)


@mistaken(
    "level_by_level",
    "The modules are taken from a queue: all children first, then all grandchildren. torch goes down each branch to its "
    "end before the next one, and an optimizer's file depends on that order.",
    "goes down each branch to its end",
)
class _(Walk):
    def walk(self, module: nn.Module, prefix: str) -> Pairs:
        queue = deque([(prefix, module)])
        while queue:
            prefix, module = queue.popleft()
            if self.kind == "modules":
                if not self.is_new(module):
                    continue
                yield prefix, module
            else:
                yield from self.own(module, prefix)
            if self.recurse:
                queue.extend((self.joined(prefix, name), child) for name, child in self.children(module))


@mistaken(
    "last_child_first",
    "The modules are taken from the end of a stack, so that the last child comes first. Put the children on it in reverse.",
    "taken from the end of a stack",
)
class _(Walk):
    def below(self, module: nn.Module, prefix: str) -> Pairs:
        for name, child in reversed(self.children(module)):
            yield from self.walk(child, self.joined(prefix, name))


@mistaken(
    "children_before_own",
    "The children come before the module's own members. In torch a parent's weight stands before its children's.",
    "a parent's weight stands before its children's",
)
class _(Walk):
    def walk(self, module: nn.Module, prefix: str) -> Pairs:
        if self.kind == "modules":
            yield from Walk.walk(self, module, prefix)
            return
        if self.recurse:
            yield from self.below(module, prefix)
        yield from self.own(module, prefix)


@form("children_before_own")
class _(Walk):
    def walk(self, module: nn.Module, prefix: str) -> Pairs:
        if self.recurse:
            yield from self.below(module, prefix)
        if self.kind != "modules":
            yield from self.own(module, prefix)
        elif self.is_new(module):
            yield prefix, module


@mistaken(
    "names_without_their_path",
    "The names lack the way to the module: two layers have a `weight` each, and nobody can tell which.",
    "lack the way to the module",
)
class _(Walk):
    def below(self, module: nn.Module, prefix: str) -> Pairs:
        for name, child in self.children(module):
            yield from self.walk(child, name)


@form("names_without_their_path")
class _(Walk):
    def below(self, module: nn.Module, prefix: str) -> Pairs:
        for _, child in self.children(module):
            yield from self.walk(child, prefix)


@mistaken(
    "dot_before_the_first_name",
    "Names of the root begin with a dot: the dot belongs between two names, and an empty prefix is none.",
    "an empty prefix is none",
)
class _(Walk):
    def joined(self, prefix: str, name: str) -> str:
        return f"{prefix}.{name}"


@form("dot_before_the_first_name")
class _(Walk):
    """Only children's names."""

    def below(self, module: nn.Module, prefix: str) -> Pairs:
        for name, child in self.children(module):
            yield from self.walk(child, f"{prefix}.{name}")


@mistaken(
    "prefix_without_a_dot",
    "The prefix is put before the names without a dot between: torch adds the dot itself, here too.",
    "torch adds the dot itself",
)
class _(Walk):
    def joined(self, prefix: str, name: str) -> str:
        return prefix + name

    def below(self, module: nn.Module, prefix: str) -> Pairs:
        for name, child in self.children(module):
            yield from self.walk(child, f"{prefix}{name}.")

    def walk(self, module: nn.Module, prefix: str) -> Pairs:
        for name, member in Walk.walk(self, module, prefix):
            yield (name.removesuffix(".") if self.kind == "modules" else name), member


@form("prefix_without_a_dot")
class _(Walk):
    def __call__(self, module: nn.Module, kind: str, prefix: str = "", **options: Any) -> Pairs:
        for name, member in Walk.__call__(self, module, kind, "", **options):
            yield prefix + name, member


@mistaken(
    "prefix_ignored",
    "The prefix that was given is not in the names. It is how a caller asks for the names that the members have in a "
    "larger model.",
    "in a larger model",
)
class _(Walk):
    def __call__(self, module: nn.Module, kind: str, prefix: str = "", **options: Any) -> Pairs:
        return Walk.__call__(self, module, kind, "", **options)


@mistaken(
    "none_yielded",
    "Entries that are None came, too. A bias that is switched off has no values to train, to move or to count.",
    "has no values to train",
)
class _(Walk):
    def own(self, module: nn.Module, prefix: str) -> Pairs:
        for name, member in self.entries(module):
            if self.is_new(member):
                yield self.joined(prefix, name), member


@form("none_yielded")
class _(Walk):
    def own(self, module: nn.Module, prefix: str) -> Pairs:
        for name, member in self.entries(module):
            if member is None or self.is_new(member):
                yield self.joined(prefix, name), member


@mistaken(
    "none_child_entered",
    "A child that is None was walked into. register_module(name, None) and self.down = None over a module leave such an "
    "entry.",
    "was walked into",
)
class _(Walk):
    def children(self, module: nn.Module) -> Any:
        return module._modules.items()


@form("none_child_entered")
class _(Walk):
    """Neither None is looked for."""

    def children(self, module: nn.Module) -> Any:
        return module._modules.items()

    def own(self, module: nn.Module, prefix: str) -> Pairs:
        for name, member in self.entries(module):
            if self.is_new(member):
                yield self.joined(prefix, name), member


@mistaken(
    "frozen_left_out",
    "Parameters that do not require grad were left out. They are parameters all the same: saved, moved, counted.",
    "They are parameters all the same",
)
class _(Walk):
    def is_new(self, member: Any) -> bool:
        if isinstance(member, nn.Parameter) and not member.requires_grad:
            return False
        return Walk.is_new(self, member)


@mistaken(
    "unsaved_buffers_left_out",
    "Buffers that are not persistent were left out. Persistent only means that state_dict saves them; they are buffers, "
    "and .to() moves them.",
    "only means that state_dict saves them",
)
class _(Walk):
    def entries(self, module: nn.Module) -> Any:
        found = Walk.entries(self, module)
        return [(name, member) for name, member in found if name not in module._non_persistent_buffers_set]


@mistaken(
    "attributes_searched",
    "Members were looked for among the attributes in __dict__. Entries are not there: they stand in the three dicts, "
    "and a plain tensor is no buffer.",
    "Members were looked for among the attributes",
)
class _(Walk):
    def entries(self, module: nn.Module) -> Any:
        kind = nn.Parameter if self.kind == "parameters" else torch.Tensor
        plain = [(name, value) for name, value in vars(module).items() if isinstance(value, kind)]
        return [*Walk.entries(self, module), *plain]
