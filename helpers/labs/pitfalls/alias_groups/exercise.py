"""Exercise 10.alias_groups: which tensors and arrays share a storage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from helpers.check.trial import Trial
from helpers.exercise import Exercise

alias_groups = Exercise(
    "10.alias_groups",
    "Who shares memory with whom",
    objective="Sort tensors and NumPy arrays by the storage that they look into.",
    minutes=15,
    difficulty="medium",
    hints=[
        "A tensor is a window: an offset, sizes and strides over a storage. Two windows without a common entry are still "
        "windows of one storage. Which method of a tensor gives the storage itself?",
        "`tensor.untyped_storage().data_ptr()` is where the storage begins; `tensor.data_ptr()` is where the window begins. For "
        "an array, ask torch.from_numpy(array): it has a storage over the array's own memory.",
        "Group indices in a dict by that address: `groups.setdefault(key, set()).add(index)`. The address is 0 where there is no "
        "memory (empty tensors, the meta device): take a key of their own for those, as `('no memory', index)`.",
    ],
)

SHARED = "Which of these share a storage."
RETURNED = "Returns a list of sets of indices, each index in exactly one of them, in any order."
VIEWS = "Views of one storage belong together, of any dtype, also those that have no entry in common."
COPIES = "Copies are apart."
ARRAYS = (
    "A NumPy array belongs to the tensors that were made of it by `from_numpy`, or whose `.numpy()` it is."
)
ALONE = "Tensors without memory are each alone:"
EMPTY, META = "empty ones, as torch.empty(0)", "and those on the meta device."
LEFT = "Nothing is written into them."
Array = Tensor | np.ndarray
Answer = Callable[..., Any]


class Item(NamedTuple):
    """code: how it was made, for the report. memory: a name of the storage."""

    code: str
    value: Array
    memory: str


def drawn(trial: Trial, *shape: int) -> Tensor:
    return torch.randn(shape, generator=trial.generator)


def described(groups: Sequence[Sequence[int]], items: Sequence[Item]) -> str:
    return "; ".join(", ".join(items[index].code for index in group) for group in groups)


def require_partition(trial: Trial, got: Any, number: int) -> list[list[int]]:
    """The groups as sorted lists; wrong unless they are sets in which each index stands once."""
    sets = isinstance(got, list) and all(isinstance(group, set | frozenset) for group in got)
    trial.true(
        sets,
        "Expected a list of sets of indices.",
        expected="list[set[int]], as [{0, 2}, {1}]",
        got=got,
        observed=("no list of sets", type(got).__name__),
    )
    found = [index for group in got for index in group]
    trial.true(
        all(type(index) is int for index in found),
        "The sets hold something other than indices.",
        expected="sets of int",
        got=", ".join(sorted({type(index).__name__ for index in found})),
        observed="no indices",
    )
    strangers = sorted(set(found) - set(range(number)))
    missing = sorted(set(range(number)) - set(found))
    twice = sorted(index for index in set(found) if found.count(index) > 1)
    for wrong, kind, sentence in (
        (
            strangers,
            "no index of these",
            f"Not one of the indices from 0 to {number - 1}: {listed(strangers)}.",
        ),
        (twice, "indices twice", f"In more than one set: {listed(twice)}."),
        (missing, "indices missing", f"Of {number} indices, these are in no set: {listed(missing)}."),
    ):
        trial.true(
            not wrong,
            sentence,
            expected="each index in exactly one set, also one that is alone",
            got=[sorted(group) for group in got],
            observed=(kind, wrong, missing),
        )
    return sorted(sorted(group) for group in got)


def listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def require(answer: Answer, trial: Trial, items: Sequence[Item], in_tuple: bool = False) -> None:
    """Compares the groups of these items with those of their storages."""
    codes = ", ".join(item.code for item in items)
    trial.given(f"({codes},)" if in_tuple else f"[{codes}]")
    before = [copied(item.value) for item in items]
    values = [item.value for item in items]
    groups = require_partition(trial, trial.call(answer, tuple(values) if in_tuple else values), len(items))
    edited = [
        item.code
        for item, old in zip(items, before, strict=True)
        if old is not None and not np.array_equal(old, copied(item.value))
    ]
    trial.true(
        not edited,
        f"The answer wrote into {', '.join(edited)}.",
        expected="tensors as they were",
        got="other numbers",
        observed="edited",
    )
    place = {index: at for at, group in enumerate(groups) for index in group}
    for a, b in combinations(range(len(items)), 2):
        one = items[a].memory == items[b].memory
        trial.true(
            one == (place[a] == place[b]),
            f"{items[a].code} and {items[b].code} "
            + (
                "look into one storage, and stand in different sets."
                if one
                else "have storages of their own, and stand in one set."
            ),
            expected=described(expected(items), items),
            got=described(groups, items),
            observed=groups,
        )


def expected(items: Sequence[Item]) -> list[list[int]]:
    memories = dict.fromkeys(item.memory for item in items)
    return [[index for index, item in enumerate(items) if item.memory == memory] for memory in memories]


def copied(value: Array) -> np.ndarray | None:
    if isinstance(value, Tensor):
        return None if value.is_meta else value.detach().double().numpy().copy()
    return value.copy()


def in_order(description: str, *asks: str) -> Callable[..., Any]:
    """Adds a property, asked only of answers that have the earlier ones."""

    def add(items: Callable[[Trial], list[Item]]) -> Callable[..., None]:
        def check(answer: Answer, trial: Trial) -> None:
            require(answer, trial, items(trial))

        return alias_groups.property(description, asks=asks, once_right=True)(check)

    return add


@in_order(
    "the same tensor, and views of it, belong together; copies do not", SHARED, RETURNED, VIEWS, COPIES, LEFT
)
def views(trial: Trial) -> list[Item]:
    x, y = drawn(trial, 3, 4), drawn(trial, 3, 4)
    return [
        Item("x", x, "x"),
        Item("y", y, "y"),
        Item("x.view(4, 3)", x.view(4, 3), "x"),
        Item("x.clone()", x.clone(), "clone"),
        Item("x again", x, "x"),
        Item("x[:]", x[:], "x"),
        Item("y.T", y.T, "y"),
        Item("x + 0", x + 0, "sum"),
    ]


@in_order("what detach, .data and nn.Parameter give shares the storage", VIEWS)
def off_the_graph(trial: Trial) -> list[Item]:
    x = drawn(trial, 3, 4).requires_grad_()
    return [
        Item("x.detach()", x.detach(), "x"),
        Item("x", x, "x"),
        Item("x.detach().clone()", x.detach().clone(), "clone"),
        Item("x.data", x.data, "x"),
        Item("nn.Parameter(x.data)", nn.Parameter(x.data), "x"),
        Item("x.to(torch.float32)", x.to(torch.float32), "x"),
    ]


@in_order("views that begin elsewhere belong to the storage, too", VIEWS)
def with_offset(trial: Trial) -> list[Item]:
    x, y = drawn(trial, 4, 5), drawn(trial, 4, 5)
    return [
        Item("x", x, "x"),
        Item("x[1:]", x[1:], "x"),
        Item("y[:, 1]", y[:, 1], "y"),
        Item("x.flatten()[3:]", x.flatten()[3:], "x"),
        Item("y", y, "y"),
        Item("x[2:].detach()", x[2:].detach(), "x"),
        Item("y[3:].data", y[3:].data, "y"),
    ]


@in_order("views of one storage belong together, though they have no entry in common", VIEWS)
def apart_in_one_storage(trial: Trial) -> list[Item]:
    x, y, z = drawn(trial, 4, 6), drawn(trial, 12), drawn(trial, 6)
    return [
        Item("x[0]", x[0], "x"),
        Item("y[0:4]", y[0:4], "y"),
        Item("x[3, 2:]", x[3, 2:], "x"),
        Item("y[8:]", y[8:], "y"),
        Item("z[::2]", z[::2], "z"),
        Item("z[1::2]", z[1::2], "z"),
    ]


@in_order("a reshape or a conversion is a copy, or is not: the storage says which", VIEWS, COPIES)
def sometimes_copies(trial: Trial) -> list[Item]:
    x = drawn(trial, 3, 4)
    return [
        Item("x", x, "x"),
        Item("x.reshape(2, 6)", x.reshape(2, 6), "x"),
        Item("x.T.reshape(2, 6)", x.T.reshape(2, 6), "copy"),
        Item("x.contiguous()", x.contiguous(), "x"),
        Item("x.T.contiguous()", x.T.contiguous(), "transposed"),
        Item("x.view(torch.int32)", x.view(torch.int32), "x"),
        Item("x.double()", x.double(), "double"),
        Item("x.bfloat16()", x.bfloat16(), "bfloat16"),
        Item("x[:, :1].expand(3, 5)", x[:, :1].expand(3, 5), "x"),
        Item("x[[0, 1]]", x[[0, 1]], "indexed"),
        Item("torch.tensor(2.0)", torch.tensor(2.0), "number"),
    ]


@in_order("two storages are two, though one begins where the other ends", SHARED)
def touching(trial: Trial) -> list[Item]:
    memory = bytearray(40)
    first = torch.frombuffer(memory, dtype=torch.float32, count=4)
    second = torch.frombuffer(memory, dtype=torch.float32, offset=16)
    return [
        Item("torch.frombuffer(memory, dtype=torch.float32, count=4)", first, "first"),
        Item("x", drawn(trial, 2, 3), "x"),
        Item("torch.frombuffer(memory, dtype=torch.float32, offset=16)", second, "second"),
        Item("the first one's [1:]", first[1:], "first"),
        Item("the last one's view(2, 3)", second.view(2, 3), "second"),
    ]


@in_order("NumPy arrays belong to the tensors with which they share memory", ARRAYS)
def arrays(trial: Trial) -> list[Item]:
    a = np.array([[trial.random.random() for _ in range(4)] for _ in range(3)])
    x = drawn(trial, 3, 4)
    return [
        Item("a", a, "a"),
        Item("torch.from_numpy(a)", torch.from_numpy(a), "a"),
        Item("torch.tensor(a)", torch.tensor(a), "tensor"),
        Item("x.numpy()", x.numpy(), "x"),
        Item("a.copy()", a.copy(), "copy"),
        Item("x", x, "x"),
        Item("torch.as_tensor(a)[1:]", torch.as_tensor(a)[1:], "a"),
        Item("a.T", a.T, "a"),
    ]


@in_order("an array of a class derived from np.ndarray is an array, too", ARRAYS)
def derived(trial: Trial) -> list[Item]:
    a = np.array([trial.random.random() for _ in range(4)]).view(np.memmap)
    return [
        Item("x", drawn(trial, 4), "x"),
        Item("a, of the class np.memmap", a, "a"),
        Item("torch.from_numpy(a)", torch.from_numpy(a), "a"),
        Item("a.copy()", a.copy(), "copy"),
    ]


@in_order("empty tensors are each alone", ALONE, EMPTY)
def empty(trial: Trial) -> list[Item]:
    return [
        Item("torch.empty(0)", torch.empty(0), "first"),
        Item("x", drawn(trial, 2), "x"),
        Item("torch.zeros(0, 3)", torch.zeros(0, 3), "second"),
        Item("torch.tensor([])", torch.tensor([]), "third"),
    ]


@in_order("tensors of the meta device, which have no memory, are apart if they were made apart", ALONE, META)
def meta(trial: Trial) -> list[Item]:
    return [
        Item("torch.empty(3, device='meta')", torch.empty(3, device="meta"), "first"),
        Item("x", drawn(trial, 3), "x"),
        Item("torch.zeros(2, 2, device='meta')", torch.zeros(2, 2, device="meta"), "second"),
    ]


@alias_groups.property("a list of one, of none, and a tuple", asks=(SHARED, RETURNED), once_right=True)
def few(answer: Answer, trial: Trial) -> None:
    require(answer, trial, [Item("x", drawn(trial, 3), "x")])
    require(answer, trial, [])
    x = drawn(trial, 2, 3)
    items = [Item("x", x, "x"), Item("x.clone()", x.clone(), "clone"), Item("x[1]", x[1], "x")]
    require(answer, trial, items, in_tuple=True)
