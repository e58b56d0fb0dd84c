"""The answers of lab 05 equal torch on random modules: names, state dicts, loads, conversions, attribute access."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import helpers
from ci.notebooks.reference import answers
from helpers import paths
from helpers.labs.module.mini_module.exercise import STEPS
from helpers.labs.module.mini_module.inputs import Side
from helpers.labs.module.shared.trees import Node, grown
from tests.labs import right_answers

NOTEBOOK = paths.SOLUTIONS / "05_module.ipynb"
MINE = {"05.mini_module", "05.named_members", "05.state_dict", "05.convert"}

quick = functools.partial(settings, deadline=None, derandomize=True)


def test_the_solution_has_torchs_order_and_versions() -> None:
    own = solutions()["05.state_dict"][0]
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    assert list(own(net)) == list(net.state_dict())
    assert {name: dict(about) for name, about in own(net)._metadata.items()} == net.state_dict()._metadata


@functools.cache
def solutions() -> dict[str, Any]:
    """The notebook's answers, where it stands."""
    if not NOTEBOOK.exists():
        return {}
    found = helpers.exercises()
    return answers(NOTEBOOK, {id: found[id] for id in MINE})


def tried(id: str) -> list[Any]:
    """The solution first, then the answers of other shape."""
    own = solutions()
    return ([own[id]] if id in own else []) + right_answers(id)


@st.composite
def trees(draw: st.DrawFn, copies: int = 1, ties: bool = True) -> list[Node]:
    """Equal trees, each choice in them made by hypothesis."""
    seed = draw(st.integers(0, 2**32 - 1))
    choices: list[int] = []

    def choose(count: int) -> int:
        choices.append(draw(st.integers(0, count - 1)))
        return choices[-1]

    first = grown(choose, torch.Generator().manual_seed(seed), ties=ties)
    again = [iter(choices) for _ in range(copies - 1)]
    return [
        first,
        *(
            grown(lambda _, made=made: next(made), torch.Generator().manual_seed(seed), ties=ties)
            for made in again
        ),
    ]


def state(module: nn.Module) -> dict[str, Tensor]:
    """All entries, those that are not saved, too."""
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def assert_alike(one: nn.Module, other: nn.Module) -> None:
    """Values to the bit, dtypes, kinds, gradients."""
    mine, theirs = state(one), state(other)
    assert list(mine) == list(theirs)
    for name, value in theirs.items():
        have = mine[name]
        assert type(have) is type(value) and have.dtype == value.dtype, name
        assert have.requires_grad == value.requires_grad and torch.equal(have, value), name
        assert (have.grad is None) == (value.grad is None), name
        if value.grad is not None:
            assert have.grad.dtype == value.grad.dtype and torch.equal(have.grad, value.grad), name


@quick(max_examples=60)
@given(
    made=trees(), prefix=st.sampled_from(["", "net", "net.0"]), recurse=st.booleans(), unique=st.booleans()
)
def test_named_members(made: list[Node], prefix: str, recurse: bool, unique: bool) -> None:
    (tree,) = made
    for kind in ("parameters", "buffers", "modules"):
        if kind != "modules":
            want = list(
                getattr(tree, f"named_{kind}")(prefix=prefix, recurse=recurse, remove_duplicate=unique)
            )
        else:
            want = list(tree.named_modules(prefix=prefix, remove_duplicate=unique))[: None if recurse else 1]
        for named_members in tried("05.named_members"):
            got = list(named_members(tree, kind, prefix, recurse, unique))
            assert [name for name, _ in got] == [name for name, _ in want]
            assert all(mine is theirs for (_, mine), (_, theirs) in zip(got, want, strict=True))


@quick(max_examples=60)
@given(made=trees())
def test_state_dict(made: list[Node]) -> None:
    (tree,) = made
    want = tree.state_dict()
    for state_dict, _ in tried("05.state_dict"):
        got = state_dict(tree)
        assert set(got) == set(want)  # any order will do; the solution has torch's
        if hasattr(got, "_metadata"):  # may be left out; the solution has it
            assert {name: dict(about) for name, about in got._metadata.items()} == want._metadata
        for key, value in want.items():
            assert torch.equal(got[key], value) and got[key].data_ptr() == value.data_ptr()
            assert type(got[key]) is Tensor and not got[key].requires_grad


def damaged(sd: dict[str, Tensor], rng: random.Random, harm: float) -> dict[str, Tensor]:
    """A file that lacks names, has others, and tensors of another shape or dtype."""
    made = {key + "_too": torch.ones(2) for key in sd if rng.random() < harm}
    for key, value in sd.items():
        if rng.random() >= harm:
            misfit = rng.random() < harm
            made[key] = torch.ones(7, 2) if misfit else value.to(torch.float64).clone()
    return made


def came_of(load: Callable[..., Any], module: nn.Module, sd: dict[str, Any], **options: bool) -> Any:
    """The names, sorted, or the error."""
    try:
        missing, unexpected = load(module, dict(sd), **options)
    except RuntimeError:
        return "RuntimeError"
    return sorted(missing), sorted(unexpected)


@quick(max_examples=50)
@given(
    made=trees(copies=5),
    seed=st.integers(0, 2**32 - 1),
    harm=st.sampled_from([0.0, 0.15]),
    strict=st.booleans(),
    assign=st.booleans(),
)
def test_load_state_dict(made: list[Node], seed: int, harm: float, strict: bool, assign: bool) -> None:
    """Each load finds a fresh module; `assign` makes Parameters, which integers cannot be."""
    theirs, *fresh = made
    sd = damaged(theirs.state_dict(), random.Random(seed), harm)
    want = came_of(nn.Module.load_state_dict, theirs, sd, strict=strict, assign=assign)
    before = [dict(state(module)) for module in fresh]
    for (_, load), module, old in zip(tried("05.state_dict"), fresh, before, strict=False):
        assert came_of(load, module, sd, strict=strict, assign=assign) == want
        assert_alike(module, theirs)
        if not assign:
            assert all(state(module)[name] is value for name, value in old.items())


def to_double(t: Tensor) -> Tensor:
    return t.double() if t.is_floating_point() else t


def times_three(t: Tensor) -> Tensor:
    return t * 3


@quick(max_examples=60)
@given(made=trees(copies=5))
def test_convert(made: list[Node]) -> None:
    theirs, *fresh = made
    theirs.double()
    for convert, module in zip(tried("05.convert"), fresh, strict=False):
        before = dict(module.named_parameters(remove_duplicate=False))
        assert convert(module, to_double) is module
        assert_alike(module, theirs)
        after = dict(module.named_parameters(remove_duplicate=False))
        assert all(after[name] is param for name, param in before.items())


@quick(max_examples=30)
@given(made=trees(copies=5, ties=False))
def test_convert_with_any_function(made: list[Node]) -> None:
    """Without ties: torch calls fn for each name of a tensor."""
    theirs, *fresh = made
    theirs._apply(times_three)
    for convert, module in zip(tried("05.convert"), fresh, strict=False):
        convert(module, times_three)
        assert_alike(module, theirs)


@quick(max_examples=80)
@given(steps=st.lists(st.sampled_from(STEPS), max_size=40))
def test_mini_module(steps: list[Any]) -> None:
    """After each step of a program: the same result or error, and the same names in the same order and places."""
    shared: dict[str, Any] = {name: nn.Parameter(torch.ones(2)) for name in ("p1", "p2")}
    shared |= {"t1": torch.ones(2), "t2": torch.ones(2), "None": None, "3": 3}
    theirs = Side(nn.Module, shared)
    for mini_module in tried("05.mini_module"):
        ours = Side(mini_module, shared)
        one, other = ours.kind(), theirs.kind()
        for step in steps:
            assert ours.taken(one, step) == theirs.taken(other, step), step
            places, wanted = ours.standing(one), theirs.standing(other)
            assert places == wanted
            assert [list(names) for names in places.values()] == [list(names) for names in wanted.values()]


def test_a_transformer_and_a_batch_norm() -> None:
    """Norms with counters, attention with None entries, a tied embedding."""
    torch.manual_seed(0)

    def build() -> nn.Module:
        layer = nn.TransformerEncoderLayer(8, 2, 16, bias=False)
        net = nn.ModuleDict({"layers": nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)})
        net["embed"], net["out"], net["norm"] = nn.Embedding(5, 8), nn.Linear(8, 5), nn.BatchNorm1d(8)
        net["out"].weight = net["embed"].weight
        return net

    for state_dict, load_state_dict in tried("05.state_dict"):
        ours, theirs = build(), build()
        assert set(state_dict(ours)) == set(ours.state_dict())
        assert [*map(list, load_state_dict(ours, theirs.state_dict()))] == [[], []]
        assert_alike(ours, theirs)
    for convert in tried("05.convert"):
        ours = build()
        theirs = build()
        theirs.load_state_dict(ours.state_dict())
        assert_alike(convert(ours, lambda t: t.half() if t.is_floating_point() else t), theirs.half())
        assert ours["out"].weight is ours["embed"].weight
    for named_members in tried("05.named_members"):
        net = build()
        assert list(named_members(net, "parameters")) == list(net.named_parameters())
