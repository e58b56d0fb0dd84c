"""What people write for 05.named_members: members with several names, and the options."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from helpers.labs.module.named_members import named_members
from helpers.labs.module.named_members_mistakes import Pairs, Walk, form, mistaken


@mistaken(
    "tied_listed_twice",
    "A tied weight came under both names although remove_duplicate is True: an optimizer that gets this list would step it "
    "twice, and a count of parameters is too large.",
    "would step it twice",
)
class _(Walk):
    def is_new(self, member: Any) -> bool:
        return True


@form("tied_listed_twice")
class _(Walk):
    """Modules at least come once."""

    def is_new(self, member: Any) -> bool:
        return not isinstance(member, nn.Module) or Walk.is_new(self, member)


@mistaken(
    "seen_in_one_module_only",
    "What has been seen is forgotten at each module. Weights are mostly tied across modules: one set for the whole walk is "
    "needed.",
    "is forgotten at each module",
)
class _(Walk):
    def own(self, module: nn.Module, prefix: str) -> Pairs:
        self.seen = []
        yield from Walk.own(self, module, prefix)


@form("seen_in_one_module_only")
class _(Walk):
    def below(self, module: nn.Module, prefix: str) -> Pairs:
        for name, child in self.children(module):
            yield from type(self)()(child, self.kind, self.joined(prefix, name), True, self.unique)


@named_members.wrong_answer(
    "seen_for_ever",
    why="What has been seen is kept in a default argument, which Python makes once for all calls: the second call of the "
    "function yields nothing.",
    seen="which Python makes once",
)
def _(
    module: nn.Module,
    kind: str,
    prefix: str = "",
    recurse: bool = True,
    remove_duplicate: bool = True,
    seen: set[Any] = set(),  # noqa: B006  the mistake
) -> Pairs:
    class Remembering(Walk):
        def is_new(self, member: Any) -> bool:
            known = self.unique and member in seen
            seen.add(member)
            return not known

    yield from Remembering()(module, kind, prefix, recurse, remove_duplicate)


class ByValue(Walk):
    """What two members must share to be taken for one."""

    def are_one(self, member: Any, known: Any) -> bool:
        return type(member) is type(known) and torch.equal(member, known)

    def is_new(self, member: Any) -> bool:
        if isinstance(member, nn.Module) or not self.unique:
            return Walk.is_new(self, member)
        if any(self.are_one(member, known) for known in self.seen):
            return False
        self.seen.append(member)
        return True


mistaken(
    "told_apart_by_values",
    "Whether a member was seen is asked of its values. Two biases that both start at zero are two parameters; a tied "
    "weight is one object. A set, a dict or `is` compares that; `in` on a list compares values, and fails on tensors.",
    "Two biases that both start at zero",
)(ByValue)


@form("told_apart_by_values")
class _(ByValue):
    """`member in [...]`: an error where the values are many, and a wrong answer where there is one."""

    def is_new(self, member: Any) -> bool:
        if self.unique and member in self.seen:
            return False
        self.seen.append(member)
        return True


@form("told_apart_by_values")
class _(ByValue):
    def are_one(self, member: Any, known: Any) -> bool:
        return member.shape == known.shape and bool((member == known).all())


@mistaken(
    "told_apart_by_address",
    "Members were told apart by data_ptr(). All empty tensors have the address 0, and a view of a buffer begins where the "
    "buffer does: they are objects of their own all the same.",
    "All empty tensors have the address 0",
)
class _(ByValue):
    def are_one(self, member: Any, known: Any) -> bool:
        return member.data_ptr() == known.data_ptr()


@mistaken(
    "always_once",
    "remove_duplicate=False changed nothing: state_dict needs all names of a tied weight, and asks for them so.",
    "needs all names of a tied weight",
)
class _(Walk):
    def walk(self, module: nn.Module, prefix: str) -> Pairs:
        self.unique = True
        yield from Walk.walk(self, module, prefix)


@mistaken(
    "shared_module_entered_once",
    "With remove_duplicate=False tied weights came under each name, but a module that stands in several places was walked "
    "through once only.",
    "was walked through once only",
)
class _(Walk):
    def walk(self, module: nn.Module, prefix: str) -> Pairs:
        if self.kind != "modules" and any(module is known for known in self.seen):
            return
        if self.kind != "modules":
            self.seen.append(module)
        yield from Walk.walk(self, module, prefix)


@form("shared_module_entered_once")
class _(Walk):
    """Of kind "modules", too."""

    def walk(self, module: nn.Module, prefix: str) -> Pairs:
        if any(module is known for known in self.seen):
            return
        if self.kind != "modules":
            self.seen.append(module)
        self.unique = self.unique or self.kind == "modules"
        yield from Walk.walk(self, module, prefix)


@form("shared_module_entered_once")
class _(Walk):
    """named_children lists a child with two names in one parent once."""

    def children(self, module: nn.Module) -> Any:
        return list(module.named_children())


@mistaken(
    "recurse_ignored",
    "recurse=False still went down into the children.",
    "still went down into the children",
)
class _(Walk):
    def walk(self, module: nn.Module, prefix: str) -> Pairs:
        self.recurse = True
        yield from Walk.walk(self, module, prefix)


@mistaken(
    "recurse_one_level",
    "recurse was not handed on to the children, or the call for them stood without it: the grandchildren are missing.",
    "the grandchildren are missing",
)
class _(Walk):
    def below(self, module: nn.Module, prefix: str) -> Pairs:
        for name, child in self.children(module):
            if self.kind == "modules":
                if self.is_new(child):
                    yield self.joined(prefix, name), child
            else:
                yield from self.own(child, self.joined(prefix, name))


@mistaken(
    "root_left_out",
    'Of kind "modules" the root itself is missing. named_modules() begins with it, under the prefix.',
    "the root itself is missing",
)
class _(Walk):
    def __call__(self, module: nn.Module, kind: str, *args: Any, **options: Any) -> Pairs:
        for place, pair in enumerate(Walk.__call__(self, module, kind, *args, **options)):
            if place or kind != "modules":
                yield pair


@form("root_left_out")
class _(Walk):
    """Left out where its name would be empty."""

    def __call__(self, module: nn.Module, kind: str, *args: Any, **options: Any) -> Pairs:
        return (
            (name, member) for name, member in Walk.__call__(self, module, kind, *args, **options) if name
        )


@named_members.wrong_answer(
    "all_at_once",
    why="A list was filled and given back. next(model.parameters()) asks for one parameter of perhaps thousands, and an "
    "iterator over a list has walked past them all.",
    seen="has walked past them all",
)
def _(*args: Any, **options: Any) -> list[tuple[str, Any]]:
    return list(Walk()(*args, **options))


@named_members.another_form("all_at_once")
def _(*args: Any, **options: Any) -> Pairs:
    return iter(list(Walk()(*args, **options)))


@named_members.wrong_answer(
    "torchs_own_called",
    why="The answer hands the work to named_parameters and its kin: that is the walk which is to be built.",
    seen="hands the work to named_parameters",
)
def _(
    module: nn.Module, kind: str, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
) -> Pairs:
    if kind == "modules" and not recurse:
        yield prefix, module
    elif kind == "modules":
        yield from module.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
    else:
        yield from getattr(module, f"named_{kind}")(
            prefix=prefix, recurse=recurse, remove_duplicate=remove_duplicate
        )


@named_members.another_form("torchs_own_called")
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
