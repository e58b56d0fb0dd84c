"""Members that are left out, and names and order that differ (exercise 05.named_members)."""

from __future__ import annotations

from collections import deque
from typing import Any

from torch import nn

from helpers.labs.module.named_members.exercise import named_members
from helpers.labs.module.named_members.walk import Pairs, Walk, of

# A class of walks; what is passed to `check` is a function.
walks = named_members.bank(of)


@walks.mistake()
class LevelByLevel(Walk):
    """All children come first, then all grandchildren: perhaps the modules are taken from a queue. torch goes
    down each branch to its end before the next one, and an optimizer's file depends on that order.
    """

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


@walks.mistake()
class LastChildFirst(Walk):
    """The last child comes first. Perhaps the modules are taken from the end of a stack: put the children on
    it in reverse.
    """

    def below(self, module: nn.Module, prefix: str) -> Pairs:
        for name, child in reversed(self.children(module)):
            yield from self.walk(child, self.joined(prefix, name))


@walks.mistake()
class ChildrenBeforeOwn(Walk):
    """The children come before the module's own members. In torch a parent's weight stands before its
    children's.
    """

    def walk(self, module: nn.Module, prefix: str) -> Pairs:
        if self.kind == "modules":
            yield from Walk.walk(self, module, prefix)
            return
        if self.recurse:
            yield from self.below(module, prefix)
        yield from self.own(module, prefix)


@walks.variant(ChildrenBeforeOwn)
class _(Walk):
    def walk(self, module: nn.Module, prefix: str) -> Pairs:
        if self.recurse:
            yield from self.below(module, prefix)
        if self.kind != "modules":
            yield from self.own(module, prefix)
        elif self.is_new(module):
            yield prefix, module


@walks.mistake()
class NamesWithoutTheirPath(Walk):
    """The names lack the way to the module, or a part of it: two layers have a `weight` each, and nobody can
    tell which.
    """

    def below(self, module: nn.Module, prefix: str) -> Pairs:
        for name, child in self.children(module):
            yield from self.walk(child, name)


@walks.variant(NamesWithoutTheirPath)
class _(Walk):
    def below(self, module: nn.Module, prefix: str) -> Pairs:
        for _, child in self.children(module):
            yield from self.walk(child, prefix)


@walks.mistake()
class DotBeforeTheFirstName(Walk):
    """Names of the root begin with a dot: the dot belongs between two names, and an empty prefix is none."""

    def joined(self, prefix: str, name: str) -> str:
        return f"{prefix}.{name}"


@walks.variant(DotBeforeTheFirstName)
class _(Walk):
    """Only children's names."""

    def below(self, module: nn.Module, prefix: str) -> Pairs:
        for name, child in self.children(module):
            yield from self.walk(child, f"{prefix}.{name}")


@walks.mistake()
class PrefixWithoutADot(Walk):
    """The prefix is put before the names without a dot between: torch adds the dot itself, here too."""

    def joined(self, prefix: str, name: str) -> str:
        return prefix + name

    def below(self, module: nn.Module, prefix: str) -> Pairs:
        for name, child in self.children(module):
            yield from self.walk(child, f"{prefix}{name}.")

    def walk(self, module: nn.Module, prefix: str) -> Pairs:
        for name, member in Walk.walk(self, module, prefix):
            yield (name.removesuffix(".") if self.kind == "modules" else name), member


@walks.variant(PrefixWithoutADot)
class _(Walk):
    def __call__(self, module: nn.Module, kind: str, prefix: str = "", **options: Any) -> Pairs:
        for name, member in Walk.__call__(self, module, kind, "", **options):
            yield prefix + name, member


@walks.mistake()
class PrefixIgnored(Walk):
    """The prefix that was given is not in the names. It is how a caller asks for the names that the members
    have in a larger model.
    """

    def __call__(self, module: nn.Module, kind: str, prefix: str = "", **options: Any) -> Pairs:
        return Walk.__call__(self, module, kind, "", **options)


@walks.mistake()
class NoneYielded(Walk):
    """Entries that are None came, too. A bias that is switched off has no values to train, to move or to
    count.
    """

    def own(self, module: nn.Module, prefix: str) -> Pairs:
        for name, member in self.entries(module):
            if self.is_new(member):
                yield self.joined(prefix, name), member


@walks.variant(NoneYielded)
class _(Walk):
    def own(self, module: nn.Module, prefix: str) -> Pairs:
        for name, member in self.entries(module):
            if member is None or self.is_new(member):
                yield self.joined(prefix, name), member


@walks.mistake(breaks="Entries that are None are left out")
class NoneChildYielded(Walk):
    """Of kind "modules" a child that is None came, too. register_module(name, None) and self.down = None over a module leave
    such an entry, and who calls what comes calls None.
    """

    def children(self, module: nn.Module) -> Any:
        return module._modules.items()

    def walk(self, module: nn.Module | None, prefix: str) -> Pairs:
        if module is not None:
            yield from Walk.walk(self, module, prefix)
        elif self.kind == "modules" and self.is_new(None):
            yield prefix, None


@walks.mistake()
class NoneChildEntered(Walk):
    """A child that is None was walked into. register_module(name, None) and self.down = None over a module
    leave such an entry.
    """

    def children(self, module: nn.Module) -> Any:
        return module._modules.items()


@walks.variant(NoneChildEntered)
class _(Walk):
    """Neither None is looked for."""

    def children(self, module: nn.Module) -> Any:
        return module._modules.items()

    def own(self, module: nn.Module, prefix: str) -> Pairs:
        for name, member in self.entries(module):
            if self.is_new(member):
                yield self.joined(prefix, name), member


@walks.mistake()
class FalsyChildSkipped(Walk):
    """A child that counts as false was passed over: an empty Sequential, ModuleList or ParameterList has length 0. Ask
    `is not None`.
    """

    def children(self, module: nn.Module) -> Any:
        return [(name, child) for name, child in module._modules.items() if child]


@walks.variant(FalsyChildSkipped)
class _(Walk):
    """Asked when the module is entered, the root too."""

    def walk(self, module: nn.Module, prefix: str) -> Pairs:
        if module:
            yield from Walk.walk(self, module, prefix)


@walks.mistake()
class TruthOfAMember(Walk):
    """Python was asked whether a member is true. For a tensor with several numbers that is an error, and one that is 0
    is false. Ask `is not None`.
    """

    def own(self, module: nn.Module, prefix: str) -> Pairs:
        for name, member in self.entries(module):
            if member and self.is_new(member):
                yield self.joined(prefix, name), member


@walks.mistake()
class EmptyTensorLeftOut(Walk):
    """A tensor without elements was left out: it is a parameter or a buffer all the same."""

    def own(self, module: nn.Module, prefix: str) -> Pairs:
        for name, member in self.entries(module):
            if member is not None and member.numel() and self.is_new(member):
                yield self.joined(prefix, name), member


@walks.mistake()
class FrozenLeftOut(Walk):
    """Parameters that do not require grad were left out. They are parameters all the same: saved, moved,
    counted.
    """

    def is_new(self, member: Any) -> bool:
        if isinstance(member, nn.Parameter) and not member.requires_grad:
            return False
        return Walk.is_new(self, member)


@walks.mistake()
class UnsavedBuffersLeftOut(Walk):
    """Buffers that are not persistent were left out. Persistent only means that state_dict saves them; they
    are buffers, and .to() moves them.
    """

    def entries(self, module: nn.Module) -> Any:
        found = Walk.entries(self, module)
        return [(name, member) for name, member in found if name not in module._non_persistent_buffers_set]


@walks.mistake(breaks="First a module's own, in the order of its dict")
class SortedByName(Walk):
    """Members came in the order of their names. Their order is that of the dict, in which they were
    registered, and optimizers go by it.
    """

    def entries(self, module: nn.Module) -> Any:
        return sorted(Walk.entries(self, module), key=lambda entry: entry[0])


@walks.variant(SortedByName)
class _(Walk):
    """The whole list."""

    def __call__(self, *args: Any, **options: Any) -> Pairs:
        yield from sorted(Walk.__call__(self, *args, **options), key=lambda entry: entry[0])


@walks.variant(SortedByName)
class _(Walk):
    """Members and children."""

    def entries(self, module: nn.Module) -> Any:
        return sorted(Walk.entries(self, module), key=lambda entry: entry[0])

    def children(self, module: nn.Module) -> Any:
        return sorted(Walk.children(self, module), key=lambda entry: entry[0])


@named_members.mistake(breaks="recurse: False: only the root's own parameters or buffers")
def options_in_another_order(
    module: nn.Module, kind: str, prefix: str = "", remove_duplicate: bool = True, recurse: bool = True
) -> Pairs:
    """By position the options mean something else: perhaps recurse and remove_duplicate changed places. The order is that
    of the signature: prefix, recurse, remove_duplicate.
    """
    return Walk()(module, kind, prefix, recurse, remove_duplicate)


@walks.mistake(breaks="(name, member), the very object that the module holds.")
class MemberBeforeName(Walk):
    """The member came first and its name second: the other way round was asked for, as torch has it."""

    def __call__(self, *args: Any, **options: Any) -> Pairs:
        return ((member, name) for name, member in Walk.__call__(self, *args, **options))


@walks.mistake(breaks="First a module's own, in the order of its dict, then child after child")
class PrefixGrows(Walk):
    """A child's names begin with the name of the child before it. Perhaps the loop over the children stores the longer prefix
    under the name of its own: make a new one for each child.
    """

    def below(self, module: nn.Module, prefix: str) -> Pairs:
        for name, child in self.children(module):
            prefix = self.joined(prefix, name)
            yield from self.walk(child, prefix)


@walks.mistake(breaks="prefix: Stands before every name, with a dot between.")
class PrefixOfTheRootOnly(Walk):
    """The prefix stands before the names of the root's own members, and not before those of its children's. Perhaps the
    children are walked with names that begin anew.
    """

    def __call__(self, module: nn.Module, *args: Any, **options: Any) -> Pairs:
        self.root = module
        return Walk.__call__(self, module, *args, **options)

    def below(self, module: nn.Module, prefix: str) -> Pairs:
        for name, child in self.children(module):
            yield from self.walk(child, name if module is self.root else self.joined(prefix, name))


@walks.mistake(breaks="nothing else is: no frozen parameter, no empty container.")
class EmptyModulesLeftOut(Walk):
    """Modules that hold nothing did not come, such as an empty Sequential. Perhaps it was asked whether there are entries: a
    module is a member, whatever it holds.
    """

    def walk(self, module: nn.Module, prefix: str) -> Pairs:
        holds = module._parameters or module._buffers or module._modules
        for name, member in Walk.walk(self, module, prefix):
            if self.kind != "modules" or member is not module or holds:
                yield name, member


@walks.mistake(breaks="nothing else is: no frozen parameter, no empty container.")
class NamesTakenForMembers(Walk):
    """A member was left out whose last name had come before, in a different module. Perhaps the set of what was seen holds
    names: two layers may both have a `weight`.
    """

    def own(self, module: nn.Module, prefix: str) -> Pairs:
        for name, member in self.entries(module):
            if member is not None and not (self.unique and name in self.seen):
                self.seen.append(name)
                yield self.joined(prefix, name), member
