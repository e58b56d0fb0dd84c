"""What is listed twice or once, when it is read, and by which way (exercise 05.named_members)."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from helpers.labs.module.named_members.exercise import named_members
from helpers.labs.module.named_members.mistakes.members import Pairs, walks
from helpers.labs.module.named_members.walk import Walk


@walks.mistake()
class AttributesSearched(Walk):
    """A plain tensor attribute came as a buffer. Perhaps attributes in __dict__ were searched: buffers stand
    in _buffers, and nothing else is one.
    """

    def entries(self, module: nn.Module) -> Any:
        kind = nn.Parameter if self.kind == "parameters" else torch.Tensor
        plain = [(name, value) for name, value in vars(module).items() if isinstance(value, kind)]
        return [*Walk.entries(self, module), *plain]


@walks.mistake()
class TiedListedTwice(Walk):
    """A tied weight came under both names where remove_duplicate is True, said or by default: an optimizer that gets this
    list would step it twice, and a count of parameters is too large.
    """

    def is_new(self, member: Any) -> bool:
        return True


@walks.variant(TiedListedTwice)
class _(Walk):
    """Modules at least come once."""

    def is_new(self, member: Any) -> bool:
        return not isinstance(member, nn.Module) or Walk.is_new(self, member)


@walks.variant(TiedListedTwice)
class _(Walk):
    """Modules are remembered, their members are not."""

    def is_new(self, member: Any) -> bool:
        return not isinstance(member, nn.Module) or Walk.is_new(self, member)

    def walk(self, module: nn.Module, prefix: str) -> Pairs:
        if self.kind == "modules" or Walk.is_new(self, module):
            yield from Walk.walk(self, module, prefix)


@walks.mistake()
class SeenInOneModuleOnly(Walk):
    """A member that had come from one module came again from a different one: perhaps each module, or each child, has a
    memory of its own. Weights are mostly tied across modules: one set for the whole walk is needed.
    """

    def own(self, module: nn.Module, prefix: str) -> Pairs:
        self.seen = []
        yield from Walk.own(self, module, prefix)


@walks.variant(SeenInOneModuleOnly)
class _(Walk):
    def below(self, module: nn.Module, prefix: str) -> Pairs:
        for name, child in self.children(module):
            yield from type(self)()(child, self.kind, self.joined(prefix, name), True, self.unique)


@named_members.mistake()
def seen_for_ever(
    module: nn.Module,
    kind: str,
    prefix: str = "",
    recurse: bool = True,
    remove_duplicate: bool = True,
    seen: set[Any] = set(),  # noqa: B006  the mistake
) -> Pairs:
    """A later call yields less than the first, or nothing: what has been seen is kept for all calls. Perhaps it is a
    default argument, which Python makes once, or a global set.
    """

    class Remembering(Walk):
        def is_new(self, member: Any) -> bool:
            known = self.unique and member in seen
            seen.add(member)
            return not known

    yield from Remembering()(module, kind, prefix, recurse, remove_duplicate)


@walks.mistake()
class ToldApartByValues(Walk):  # what two members must share to be taken for one
    """Members were compared by their values. Two biases that both start at zero are two parameters; a tied
    weight is one object. A set, a dict or `is` compares that; `in` on a list compares values, and fails on
    tensors.
    """

    def are_one(self, member: Any, known: Any) -> bool:
        return type(member) is type(known) and torch.equal(member, known)

    def is_new(self, member: Any) -> bool:
        if isinstance(member, nn.Module) or not self.unique:
            return Walk.is_new(self, member)
        if any(self.are_one(member, known) for known in self.seen):
            return False
        self.seen.append(member)
        return True


@walks.variant(ToldApartByValues)
class _(ToldApartByValues):
    """`member in [...]`: an error where the values are many, and a wrong answer where there is one."""

    def is_new(self, member: Any) -> bool:
        if self.unique and member in self.seen:
            return False
        self.seen.append(member)
        return True


@walks.variant(ToldApartByValues)
class _(ToldApartByValues):
    def are_one(self, member: Any, known: Any) -> bool:
        return member.shape == known.shape and bool((member == known).all())


@walks.mistake()
class ToldApartByAddress(ToldApartByValues):
    """A member was left out that is an object of its own, beside one that has its address: all empty tensors
    have the address 0, and a view of a buffer begins where the buffer does. Perhaps data_ptr() was compared.
    """

    def are_one(self, member: Any, known: Any) -> bool:
        return member.data_ptr() == known.data_ptr()


@walks.mistake()
class OneMemoryForAllWalks(Walk):
    """Two walks disturb each other: one that is half read goes on with the memory of the other, and leaves members out or
    yields them again. Perhaps what has been seen stands in one place for all calls, and is emptied when a call begins.
    """

    everything: list[Any] = []

    def walk(self, module: nn.Module, prefix: str) -> Pairs:
        if not self.seen:
            self.everything.clear()
        self.seen = self.everything
        yield from Walk.walk(self, module, prefix)


@walks.mistake()
class AlwaysOnce(Walk):
    """remove_duplicate=False changed nothing: state_dict needs all names of a tied weight, and asks for them
    so.
    """

    def walk(self, module: nn.Module, prefix: str) -> Pairs:
        self.unique = True
        yield from Walk.walk(self, module, prefix)


@walks.mistake()
class SharedModuleEnteredOnce(Walk):
    """With remove_duplicate=False tied weights came under each name, but a module that stands in several
    places was walked through once only.
    """

    def walk(self, module: nn.Module, prefix: str) -> Pairs:
        if self.kind != "modules" and any(module is known for known in self.seen):
            return
        if self.kind != "modules":
            self.seen.append(module)
        yield from Walk.walk(self, module, prefix)


@walks.variant(SharedModuleEnteredOnce)
class _(Walk):
    """Of kind "modules", too."""

    def walk(self, module: nn.Module, prefix: str) -> Pairs:
        if any(module is known for known in self.seen):
            return
        if self.kind != "modules":
            self.seen.append(module)
        self.unique = self.unique or self.kind == "modules"
        yield from Walk.walk(self, module, prefix)


@walks.variant(SharedModuleEnteredOnce)
class _(Walk):
    """named_children lists a child with two names in one parent once."""

    def children(self, module: nn.Module) -> Any:
        return list(module.named_children())


@walks.mistake()
class RecurseIgnored(Walk):
    """recurse=False still went down into the children."""

    def walk(self, module: nn.Module, prefix: str) -> Pairs:
        self.recurse = True
        yield from Walk.walk(self, module, prefix)


@walks.variant(RecurseIgnored)
class _(Walk):
    """Of kind "modules" only."""

    def walk(self, module: nn.Module, prefix: str) -> Pairs:
        self.recurse = self.recurse or self.kind == "modules"
        yield from Walk.walk(self, module, prefix)


@walks.variant(RecurseIgnored)
class _(Walk):
    """Of kind "modules" the children come, and nothing below them."""

    def walk(self, module: nn.Module, prefix: str) -> Pairs:
        yield from Walk.walk(self, module, prefix)
        if self.kind == "modules" and not self.recurse and not getattr(self, "inside", False):
            self.inside = True
            yield from self.below(module, prefix)


@walks.mistake()
class RecurseOneLevel(Walk):
    """The grandchildren are missing. Perhaps recurse was not handed on to the children, the call for them
    stands without it, or only the root goes through its children.
    """

    def below(self, module: nn.Module, prefix: str) -> Pairs:
        for name, child in self.children(module):
            if self.kind == "modules":
                if self.is_new(child):
                    yield self.joined(prefix, name), child
            else:
                yield from self.own(child, self.joined(prefix, name))


@walks.mistake()
class RootLeftOut(Walk):
    """Of kind "modules" the root itself is missing. named_modules() begins with it, under the prefix."""

    def __call__(self, module: nn.Module, kind: str, *args: Any, **options: Any) -> Pairs:
        for place, pair in enumerate(Walk.__call__(self, module, kind, *args, **options)):
            if place or kind != "modules":
                yield pair


@walks.variant(RootLeftOut)
class _(Walk):
    """Left out where its name would be empty."""

    def __call__(self, module: nn.Module, kind: str, *args: Any, **options: Any) -> Pairs:
        return (
            (name, member) for name, member in Walk.__call__(self, module, kind, *args, **options) if name
        )


@named_members.mistake()
def all_at_once(*args: Any, **options: Any) -> list[tuple[str, Any]]:
    """Modules further on had been read before the first member came: perhaps a list of all members, or of all modules, is
    filled first, or the tree is walked once before. next(model.parameters()) asks for one parameter of perhaps thousands.
    """
    return list(Walk()(*args, **options))


@named_members.variant(all_at_once)
def _(*args: Any, **options: Any) -> Pairs:
    return iter(list(Walk()(*args, **options)))


@named_members.mistake()
def torchs_own_called(
    module: nn.Module, kind: str, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
) -> Pairs:
    """The answer calls named_parameters or one of its kin: that is the walk which is to be built."""
    if kind == "modules" and not recurse:
        yield prefix, module
    elif kind == "modules":
        yield from module.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
    else:
        yield from getattr(module, f"named_{kind}")(
            prefix=prefix, recurse=recurse, remove_duplicate=remove_duplicate
        )


@named_members.variant(torchs_own_called)
def _(
    module: nn.Module, kind: str, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
) -> Pairs:
    """The modules from torch, their members by hand."""
    seen = set()
    modules = (
        module.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        if recurse
        else [(prefix, module)]
    )
    for path, found in modules:
        if kind == "modules":
            yield path, found
            continue
        for name, member in getattr(found, f"_{kind}").items():
            if member is not None and not (remove_duplicate and member in seen):
                seen.add(member)
                yield (f"{path}.{name}" if path else name), member


@named_members.variant(all_at_once)
def _(*args: Any, **options: Any) -> Pairs:
    yield from list(Walk()(*args, **options))


@named_members.variant(all_at_once)
def _(
    module: nn.Module, kind: str, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
) -> Pairs:
    """The modules are listed first, their members are not."""

    class ListedFirst(Walk):
        def own_of(self, path: str, found: nn.Module) -> Pairs:
            yield from self.own(found, path)

    walk = ListedFirst()
    modules = list(
        Walk()(module, "modules", prefix, recurse, False if kind != "modules" else remove_duplicate)
    )
    walk.kind, walk.unique, walk.seen = kind, remove_duplicate, []
    for path, found in modules:
        if kind == "modules":
            yield path, found
        else:
            yield from walk.own_of(path, found)


@walks.mistake()
class ReadByAttribute(Walk):
    """Under a name that the class has, too, something else came than the entry: perhaps it was read by getattr(module, name),
    which finds the attribute of the class first. The dicts hold the members themselves.
    """

    def own(self, module: nn.Module, prefix: str) -> Pairs:
        for name, member in self.entries(module):
            if member is not None and self.is_new(member):
                yield self.joined(prefix, name), getattr(module, name)


@walks.variant(ReadByAttribute)
class _(Walk):
    """Asked before anything else."""

    def entries(self, module: nn.Module) -> Any:
        return [(name, getattr(module, name)) for name in getattr(module, f"_{self.kind}")]


@walks.variant(ReadByAttribute)
class _(Walk):
    """The children."""

    def children(self, module: nn.Module) -> Any:
        found = [(name, getattr(module, name)) for name in module._modules]
        return [(name, child) for name, child in found if isinstance(child, nn.Module)]


@walks.mistake()
class RootsNameIsEmpty(Walk):
    """Of kind "modules" the root came with the name "" although there is a prefix: its name is the prefix."""

    def __call__(self, module: nn.Module, kind: str, *args: Any, **options: Any) -> Pairs:
        for place, (name, member) in enumerate(Walk.__call__(self, module, kind, *args, **options)):
            yield ("" if kind == "modules" and not place else name), member


@walks.mistake(breaks='Of kind "modules" the root\'s own name is `prefix`.')
class RootsNameEndsInADot(Walk):
    """Of kind "modules" the root's own name ends in a dot: its name is the prefix alone. Perhaps the dot was put behind the
    prefix before the walk began: it belongs between two names.
    """

    def __call__(self, module: nn.Module, kind: str, prefix: str = "", *args: Any, **options: Any) -> Pairs:
        for place, (name, member) in enumerate(Walk.__call__(self, module, kind, prefix, *args, **options)):
            yield (f"{name}." if kind == "modules" and not place and prefix else name), member


@walks.mistake()
class OwnTwiceWithoutRecurse(Walk):
    """With recurse=False a member with two names in one module came twice: remove_duplicate holds there, too."""

    def is_new(self, member: Any) -> bool:
        return not self.recurse or Walk.is_new(self, member)


@walks.mistake()
class ModulesAlwaysOnce(Walk):
    """With remove_duplicate=False parameters and buffers came under each name, but of kind "modules" a module with several
    names came once.
    """

    def walk(self, module: nn.Module, prefix: str) -> Pairs:
        self.unique = self.unique or self.kind == "modules"
        yield from Walk.walk(self, module, prefix)


@walks.mistake()
class CopiesYielded(Walk):
    """The names are right, but what came under them is not the object that the module holds: a detached tensor, `.data`, a
    copy. An optimizer must have the Parameters themselves.
    """

    def changed(self, member: Any) -> Any:
        return member.detach()

    def own(self, module: nn.Module, prefix: str) -> Pairs:
        for name, member in Walk.own(self, module, prefix):
            yield name, self.changed(member)


@walks.variant(CopiesYielded)
class _(CopiesYielded):
    """Of buffers only."""

    def changed(self, member: Any) -> Any:
        return member if isinstance(member, nn.Parameter) else member.detach()


@walks.mistake()
class DotOfThePrefixShared(Walk):
    """A prefix that ends in a dot was given no second one. torch puts a dot behind whatever prefix it is given."""

    def joined(self, prefix: str, name: str) -> str:
        return f"{prefix}{name}" if prefix.endswith(".") else Walk.joined(self, prefix, name)


class InOnePlace(Walk):
    """What has been seen stands in a list that a call empties, and that goes on being used by the others."""

    kept: list[Any] = []

    def memory(self, module: nn.Module) -> list[Any]:
        return self.kept

    def __call__(self, module: nn.Module, kind: str, *args: Any, **options: Any) -> Pairs:
        self.root = module
        return Walk.__call__(self, module, kind, *args, **options)

    def walk(self, module: nn.Module, prefix: str) -> Pairs:
        if module is self.root and not hasattr(self, "begun"):
            self.begun = True
            self.memory(module).clear()
        self.seen = self.memory(self.root)
        yield from Walk.walk(self, module, prefix)


@walks.variant(OneMemoryForAllWalks)
class _(InOnePlace):
    kept = []


@walks.variant(OneMemoryForAllWalks)
class _(InOnePlace):
    """A memory for each kind."""

    by_kind: dict[str, list[Any]] = {}

    def memory(self, module: nn.Module) -> list[Any]:
        return self.by_kind.setdefault(self.kind, [])


@walks.variant(OneMemoryForAllWalks)
class _(InOnePlace):
    """A memory on the root module."""

    def memory(self, module: nn.Module) -> list[Any]:
        return vars(module).setdefault(f"seen of {self.kind}", [])


@named_members.mistake(breaks="comes once, under the first.")
def under_the_last_name(
    module: nn.Module, kind: str, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
) -> Pairs:
    """What has several names came under the last: perhaps a dict by id, where each new name takes the place of the one
    before. The first name stays.
    """
    found = Walk()(module, kind, prefix, recurse, False)
    yield from {id(each): (name, each) for name, each in found}.values() if remove_duplicate else found


@named_members.variant(under_the_last_name)
def _(
    module: nn.Module, kind: str, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
) -> Pairs:
    """In its last place, too."""
    found = list(Walk()(module, kind, prefix, recurse, False))
    last = {id(each): at for at, (_, each) in enumerate(found)}
    yield from (pair for at, pair in enumerate(found) if not remove_duplicate or last[id(pair[1])] == at)


@named_members.variant(all_at_once)
def _(*args: Any, **options: Any) -> Pairs:
    """Walked through once before, perhaps to count."""
    for _ in Walk()(args[0], "modules"):
        pass
    return Walk()(*args, **options)


@walks.variant(SeenInOneModuleOnly)
class _(Walk):
    """Each child has a memory of its own, and the root asks anew, not of its own members."""

    def below(self, module: nn.Module, prefix: str) -> Pairs:
        seen: list[Any] = []
        for name, child in self.children(module):
            for path, member in type(self)()(child, self.kind, self.joined(prefix, name), True, self.unique):
                if not self.unique or not any(member is known for known in seen):
                    seen.append(member)
                    yield path, member
