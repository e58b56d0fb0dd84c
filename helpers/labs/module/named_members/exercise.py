"""Exercise 05.named_members: the one generator behind named_parameters, named_buffers and named_modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import torch
from torch import nn

from helpers.check.calls import calls_to
from helpers.check.compare import shown
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.module.shared.trees import Node, buffer, forest, node, outline, parameter

named_members = Exercise(
    "05.named_members",
    "One walk for all names",
    objective="Walk a tree of modules once, in torch's order, and give each member its name.",
    minutes=12,
    difficulty="medium",
    core=False,
    hints=[
        "A child's names begin with the child's own: call yourself for a child with a longer prefix.",
        "`yield from` hands on what an inner generator yields. Own members come first, then child after child.",
        "What has been seen must be known to the whole walk: one set, made in the outer function and used by an inner one. "
        "A set compares tensors by identity first; `in` on a list would compare their values.",
        "dot = prefix + '.' if prefix else ''. Then a member's name is dot + name, and the child's prefix is that, too.",
    ],
)

KINDS = ("parameters", "buffers", "modules")
BY_PLACE = "the options by position"
Pairs = list[tuple[str, Any]]


def of_torch(module: nn.Module, kind: str, **options: Any) -> Pairs:
    """What torch's own iterators yield; for modules without `recurse` the root."""
    if kind == "modules":
        recurse = options.pop("recurse", True)
        return list(islice(module.named_modules(**options), None if recurse else 1))
    return list(getattr(module, f"named_{kind}")(**options))


def listed(answer: Any, trial: Trial, module: nn.Module, kind: str, which: str = "", **options: Any) -> Pairs:
    """What the answer yields, if it is pairs of a name and something."""
    description = "".join(f", {name}={value!r}" for name, value in options.items())
    trial.given(
        f"named_members(m, {kind!r}{description}) of m = {type(module).__name__}({outline(module)})"
        + (f", {which}" if which else "")
    )
    by_place = which == BY_PLACE
    got = trial.call(
        answer, module, kind, *(options.values() if by_place else ()), **({} if by_place else options)
    )
    trial.true(
        isinstance(got, Iterable) and not isinstance(got, str | dict),
        f"The answer gave {'None' if got is None else f'an object of type {type(got).__name__}'}.",
        expected="an iterator of pairs (name, member)",
        observed=("kind", type(got).__name__),
    )
    pairs = list(islice(got, 2000))
    for pair in pairs:
        if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)):
            trial.fail(
                "What comes is no pair (name, member).",
                expected="a tuple of a str and a member",
                got=shown(pair),
                observed=("pair", [type(item).__name__ for item in pair])
                if isinstance(pair, tuple)
                else ("pair", type(pair).__name__),
            )
    return pairs


def as_torch(
    answer: Any, trial: Trial, module: nn.Module, *kinds: str, which: str = "", **options: Any
) -> None:
    """Wrong unless the names, their order and the objects are torch's."""
    for kind in kinds or KINDS:
        want, got = of_torch(module, kind, **options), listed(answer, trial, module, kind, which, **options)
        names, wanted = [name for name, _ in got], [name for name, _ in want]
        trial.true(
            names == wanted,
            f"The names of the {kind} are not torch's.",
            expected=", ".join(map(repr, wanted)) or "none",
            got=", ".join(map(repr, names)) or "none",
            observed=(kind, names),
        )
        off = [name for (name, one), (_, other) in zip(got, want, strict=True) if one is not other]
        trial.true(
            not off,
            f"Under {', '.join(map(repr, off[:4]))} there is not the object that the module holds.",
            expected="the very Parameter, tensor or module, and no copy",
            observed=(kind, "objects", off),
        )


def deep(trial: Trial) -> Node:
    """Two branches of unequal depth; nothing twice, nothing None."""
    g = trial.generator
    inner = node({"w": parameter(2, 3, generator=g)}, {"mean": buffer(3, generator=g)})
    left = node({"w": parameter(3, generator=g), "b": parameter(generator=g)}, children={"inner": inner})
    right = node({"w": parameter(1, 2, generator=g)}, {"n": buffer(generator=g), "k": buffer(2, generator=g)})
    return node(
        {"scale": parameter(4, generator=g)},
        {"seen": buffer(1, generator=g)},
        children={"left": left, "0": right},
    )


@named_members.property(
    "an iterator of pairs: a name and the object itself",
    asks=(
        "What named_parameters, named_buffers and named_modules yield, by one generator.",
        "(name, member), the very object that the module holds.",
    ),
)
def pairs(answer: Any, trial: Trial) -> None:
    as_torch(answer, trial, node({"w": parameter(2, generator=trial.generator)}), "parameters")


@named_members.property(
    "the same tree once more: a second call begins anew",
    asks="Each call begins anew, also while the generator of a different call is half read.",
    after=(pairs,),
)
def once_more(answer: Any, trial: Trial) -> None:
    g = trial.generator
    module = node({"w": parameter(2, generator=g)}, {"k": buffer(1, generator=g)}, children={"c": node()})
    for kind in KINDS:
        try:
            first, second = ([name for name, _ in islice(answer(module, kind), 2000)] for _ in range(2))
        except NotImplementedError:
            raise
        except Exception:
            return  # other properties say so
        trial.given(f"named_members(m, {kind!r}) twice, of m = Node({outline(module)})")
        trial.true(
            first == second,
            f"The second call of this kind gives {', '.join(map(repr, second)) or 'nothing'}; the first gave "
            f"{', '.join(map(repr, first)) or 'nothing'}.",
            expected=", ".join(map(repr, first)) or "nothing",
            got=", ".join(map(repr, second)) or "nothing",
            observed="fewer" if set(second) < set(first) else "different",
        )


@named_members.property(
    "a module's own members first, then child after child, each with all below it; names with dots",
    asks=(
        "What named_parameters, named_buffers and named_modules yield, by one generator.",
        "First a module's own, in the order of its dict, then child after child, each with all below it.",
    ),
)
def order(answer: Any, trial: Trial) -> None:
    as_torch(answer, trial, deep(trial))


@named_members.property(
    "frozen parameters and buffers that are not saved are members, too; plain tensors are none",
    asks="Entries that are None are left out; nothing else is: no frozen parameter, no empty container.",
)
def every_entry(answer: Any, trial: Trial) -> None:
    g = trial.generator
    module = node(
        {"w": parameter(2, generator=g, requires_grad=False), "v": parameter(2, generator=g)},
        {"mean": buffer(2, generator=g)},
        {"mask": buffer(2, generator=g)},
    )
    module.plain, module.plain_list = buffer(2, generator=g), [parameter(2, generator=g)]
    as_torch(answer, trial, module)


@named_members.property(
    "what is None is left out",
    asks="Entries that are None are left out; nothing else is: no frozen parameter, no empty container.",
)
def none_left_out(answer: Any, trial: Trial) -> None:
    g = trial.generator
    child = node({"bias": None, "weight": parameter(2, generator=g)}, {"mean": None})
    children = {"off": None, "on": child}
    module = node(
        {"w": None, "v": parameter(2, generator=g)},
        {"n": None, "k": buffer(1, generator=g)},
        children=children,
    )
    as_torch(answer, trial, module)


class Falsy(Node):
    """A module of length 0 with entries, as a container of one's own may be."""

    def __len__(self) -> int:
        return 0


@named_members.property(
    "what Python takes for false is a member: an empty container, a parameter that is 0",
    asks="Entries that are None are left out; nothing else is: no frozen parameter, no empty container.",
)
def falsy(answer: Any, trial: Trial) -> None:
    g = trial.generator
    zero = node({"w": nn.Parameter(torch.zeros(()))}, {"seen": torch.zeros(1), "no": torch.zeros(0)})
    odd = Falsy()
    odd.w, odd.child = parameter(2, generator=g), node({"b": parameter(2, generator=g)})
    odd.register_buffer("mean", buffer(2, generator=g))
    empty = {"chain": nn.Sequential(), "layers": nn.ModuleList(), "weights": nn.ParameterList()}
    module = node({"v": parameter(2, generator=g)}, children={**empty, "zero": zero, "odd": odd})
    as_torch(answer, trial, module)
    as_torch(answer, trial, odd)
    as_torch(answer, trial, nn.Sequential(), "modules")


def tied(trial: Trial) -> Node:
    """A parameter and a buffer that two modules share, a module in three places, twice under one parent."""
    g = trial.generator
    weight, mean = parameter(3, 2, generator=g), buffer(3, generator=g)
    shared = node({"s": parameter(2, generator=g)}, {"c": buffer(generator=g)}, children={"leaf": node()})
    decoder = node({"w": weight, "b": parameter(1, generator=g)}, {"mean": mean}, children={"again": shared})
    encoder = node({"w": weight, "same": weight}, {"mean": mean, "var": buffer(3, generator=g)})
    return node(
        {"first": weight}, children={"encoder": encoder, "a": shared, "b": shared, "decoder": decoder}
    )


class Hiding(Node):
    """A class that has the names of entries, too: m.w and m.child are not the entries."""

    w = mean = child = "of the class"


@named_members.property(
    "the entry counts, also where the class has an attribute of its name",
    asks="(name, member), the very object that the module holds.",
)
def hidden(answer: Any, trial: Trial) -> None:
    g = trial.generator
    module = Hiding()
    module._parameters["w"], module._buffers["mean"] = parameter(2, generator=g), buffer(2, generator=g)
    module._modules["child"] = node({"b": parameter(2, generator=g)}, {"seen": buffer(1, generator=g)})
    module._modules["forward"] = node({"b": parameter(3, generator=g)}, {"seen": buffer(2, generator=g)})
    as_torch(answer, trial, module, which="whose class has attributes w, mean, child and forward, too")


@named_members.property(
    "what has several names comes once, under the first",
    asks="remove_duplicate: True: a member that is reached under several names comes once, under the first.",
)
def once(answer: Any, trial: Trial) -> None:
    as_torch(answer, trial, tied(trial))


@named_members.property(
    "two members of equal values are two",
    asks="Entries that are None are left out; nothing else is: no frozen parameter, no empty container.",
)
def equal_values(answer: Any, trial: Trial) -> None:
    def bias(*shape: int) -> nn.Parameter:
        return nn.Parameter(torch.zeros(shape))

    pool = torch.randn(4, generator=trial.generator)
    child = node({"bias": bias(3), "other": bias(1, 3), "one": bias(1)}, {"seen": torch.zeros(1)})
    module = node(
        {"bias": bias(3), "none": bias(0), "nothing": bias(0), "one": bias(1)},
        {"seen": torch.zeros(1), "all": pool, "part": pool[:2]},
        children={"child": child},
    )
    as_torch(answer, trial, module)


@named_members.property(
    "remove_duplicate=False: what has several names comes under each",
    asks="False: under each of them.",
)
def every_name(answer: Any, trial: Trial) -> None:
    as_torch(answer, trial, tied(trial), remove_duplicate=False)


@named_members.property(
    "recurse=False: the module's own members only",
    asks='recurse: False: only the root\'s own parameters or buffers; of kind "modules" only the root itself.',
)
def own_only(answer: Any, trial: Trial) -> None:
    module = deep(trial)
    module.w = module.w2 = parameter(2, generator=trial.generator)
    as_torch(answer, trial, module, recurse=False)
    as_torch(answer, trial, module, recurse=False, remove_duplicate=False)


@named_members.property(
    "a prefix stands before every name, with a dot between",
    asks=(
        "prefix: Stands before every name, with a dot between.",
        'Of kind "modules" the root\'s own name is `prefix`.',
    ),
)
def prefixed(answer: Any, trial: Trial) -> None:
    for prefix in ("net", "net.block", "net."):
        as_torch(answer, trial, deep(trial), prefix=prefix)
    as_torch(answer, trial, deep(trial), prefix="net", recurse=False)
    as_torch(answer, trial, tied(trial), prefix="net", remove_duplicate=False)


@named_members.property(
    "prefix, recurse and remove_duplicate may be given by position, in this order",
    asks=(
        'recurse: False: only the root\'s own parameters or buffers; of kind "modules" only the root itself.',
        "False: under each of them.",
    ),
    after=(pairs, once, every_name, own_only, prefixed),
)
def by_position(answer: Any, trial: Trial) -> None:
    module = tied(trial)
    as_torch(answer, trial, module, which=BY_PLACE, prefix="", recurse=False, remove_duplicate=True)
    as_torch(answer, trial, module, which=BY_PLACE, prefix="", recurse=True, remove_duplicate=False)


@named_members.property(
    "a second call gives the same again",
    asks="Each call begins anew, also while the generator of a different call is half read.",
)
def again(answer: Any, trial: Trial) -> None:
    module = tied(trial)
    for call in ("first", "second"):
        as_torch(answer, trial, module, which=f"the {call} call of this kind")
    for call in ("first", "second"):
        as_torch(answer, trial, module, which=f"the {call} call with this prefix", prefix="net")


@named_members.property(
    "two walks at once do not know of each other",
    asks="Each call begins anew, also while the generator of a different call is half read.",
)
def interleaved(answer: Any, trial: Trial) -> None:
    module = tied(trial)
    for kind in KINDS:
        trial.given(
            f"next() once on named_members(m, {kind!r}), then a second named_members(m, {kind!r}) from its begin to its "
            f"end, then the rest of the first, of m = Node({outline(module)})"
        )
        first = iter(answer(module, kind))
        names = [name for name, _ in islice(first, 1)]
        whole = [name for name, _ in islice(answer(module, kind), 2000)]
        names += [name for name, _ in islice(first, 2000)]
        want = [name for name, _ in of_torch(module, kind)]
        for got, walk in ((whole, "second"), (names, "first")):
            trial.true(
                got == want,
                f"The {walk} walk gave different names than it gives alone.",
                expected=", ".join(map(repr, want)),
                got=", ".join(map(repr, got)),
                observed=(kind, walk, got),
            )
    for kind, other in (("parameters", "parameters"), ("buffers", "modules"), ("modules", "modules")):
        trial.given(
            f"next() in turn on named_members(m, {kind!r}) and on named_members(m, {other!r}, prefix='net', "
            f"remove_duplicate=False) of m = Node({outline(module)})"
        )
        wants = of_torch(module, kind), of_torch(module, other, prefix="net", remove_duplicate=False)
        walks = [
            iter(answer(module, kind)),
            iter(answer(module, other, prefix="net", remove_duplicate=False)),
        ]
        got: tuple[list[str], list[str]] = ([], [])
        for _ in range(max(map(len, wants))):
            for names, walk in zip(got, walks, strict=True):
                names += [name for name, _ in islice(walk, 1)]
        for names, want, which in zip(got, wants, ("first", "second"), strict=True):
            trial.true(
                names == [name for name, _ in want],
                f"The {which} walk gave different names than it gives alone.",
                expected=", ".join(repr(name) for name, _ in want),
                got=", ".join(map(repr, names)),
                observed=(kind, other, which, names),
            )


WALKS = (
    pairs,
    order,
    every_entry,
    none_left_out,
    falsy,
    hidden,
    once,
    equal_values,
    every_name,
    once_more,
    own_only,
    prefixed,
    again,
    interleaved,
)


@named_members.property(
    "one at a time: what stands further on is not looked at before it is asked for",
    after=WALKS,
    asks="It is a generator: what comes later is not looked at before it is asked for.",
)
def lazy(answer: Any, trial: Trial) -> None:
    for kind in KINDS:
        module = deep(trial)
        last = getattr(module, "0")
        trial.given(
            f"the first of named_members(m, {kind!r}); then one more entry in the last module; the rest"
        )
        found = trial.call(answer, module, kind)
        trial.true(
            isinstance(found, Iterator),
            f"The answer gave a {type(found).__name__}, which is complete before the first member is used.",
            expected="a generator",
            observed="complete",
        )
        next(found)
        last.late = parameter(2, generator=trial.generator)
        last.register_buffer("late_too", buffer(2, generator=trial.generator))
        last.child = node()
        late = {"parameters": "0.late", "buffers": "0.late_too", "modules": "0.child"}[kind]
        names = [name for name, _ in found]
        trial.true(
            late in names,
            "The last module had been read already when the first member came.",
            expected=f"{late!r} among the names",
            got=names,
            observed="complete",
        )
        nothing_read(answer, trial, deep(trial), kind)


def nothing_read(answer: Any, trial: Trial, module: Node, kind: str) -> None:
    """Wrong if more than the root was looked at when the first member, which is the root's, comes."""
    trial.given(
        f"the first of named_members(m, {kind!r}), m = Node({outline(module)}), with a look at which dicts are read"
    )
    with watched(module) as read:
        next(iter(answer(module, kind)))
        seen = set(read)
    names = [name for name, each in module.named_modules() if each in seen]
    trial.true(
        not names,
        f"{' and '.join(map(repr, names))} had been looked at already when the first member came.",
        expected="the dicts of the root alone",
        got=names,
        observed="complete",
    )


class Noting(dict):
    """A dict that notes when somebody goes through it."""

    def noting(self, owner: nn.Module, read: set[nn.Module]) -> Noting:
        self.note = lambda: read.add(owner)
        return self

    def __iter__(self) -> Iterator[str]:
        self.note()
        return super().__iter__()

    def items(self) -> Any:
        self.note()
        return super().items()

    def keys(self) -> Any:
        self.note()
        return super().keys()

    def values(self) -> Any:
        self.note()
        return super().values()


@contextmanager
def watched(root: nn.Module) -> Iterator[set[nn.Module]]:
    """Yields the set of the modules below `root` whose dicts somebody goes through."""
    read: set[nn.Module] = set()
    kept = [
        (vars(each), place, vars(each)[place])
        for each in root.modules()
        if each is not root
        for place in ("_parameters", "_buffers", "_modules")
    ]
    owners = {id(vars(each)): each for each in root.modules()}
    for owned, place, entries in kept:
        owned[place] = Noting(entries).noting(owners[id(owned)], read)
    try:
        yield read
    finally:
        for owned, place, entries in kept:
            owned[place] = entries


@named_members.property(
    "the walk is done here, and not by torch's own iterators",
    asks="It is written on `_parameters`, `_buffers` and `_modules`: none of torch's `named_...` is called, nor `parameters`, `buffers`, `modules`, `children`, `state_dict`.",
)
def own_work(answer: Any, trial: Trial) -> None:
    module = deep(trial)
    names = ("parameters", "buffers", "modules", "children")
    trial.given(f"named_members(m, kind) for each kind; calls are watched; m = Node({outline(module)})")
    functions = [getattr(nn.Module, f"{start}{name}") for start in ("", "named_") for name in names]
    with calls_to(*functions, nn.Module._named_members, nn.Module.state_dict) as seen:
        for kind in KINDS:
            list(islice(answer(module, kind), 100))
    called = sorted(set(seen))
    trial.true(
        not called,
        f"The answer calls {', '.join(called)}, which the exercise builds again.",
        expected="a walk over _parameters, _buffers and _modules",
        got=f"calls of {', '.join(called)}",
        observed="torch's own",
    )


@named_members.property(
    "names, order and objects are torch's on random trees, for all options",
    after=WALKS,
    asks="What named_parameters, named_buffers and named_modules yield, by one generator.",
)
def random_trees(answer: Any, trial: Trial) -> None:
    for (module,) in forest(trial.random, 3):
        for remove_duplicate in (True, False):
            as_torch(answer, trial, module, prefix="net", remove_duplicate=remove_duplicate)
            as_torch(answer, trial, module, recurse=False, remove_duplicate=remove_duplicate)
