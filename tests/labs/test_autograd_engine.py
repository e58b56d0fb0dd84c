"""The engine of 03.run_backward equals torch's on random graphs."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import helpers
import helpers.digits  # imports torchvision, which cannot be imported first by code without a module, as the notebook's
from ci.notebooks.reference import answers
from helpers import paths
from helpers.labs.autograd.run_backward.inputs import OPERATIONS, Graph, grown, wide
from tests.labs import right_answers

NOTEBOOK = paths.SOLUTIONS / "03_autograd.ipynb"
ID = "03.run_backward"

Engine = Callable[[Tensor, Tensor], dict[Tensor, Tensor]]


@functools.cache
def engines() -> list[Engine]:
    """The solution's engine, where the notebook stands, and those of other shape."""
    if not NOTEBOOK.exists():
        return right_answers(ID)
    return [answers(NOTEBOOK, {ID: helpers.exercises()[ID]})[ID], *right_answers(ID)]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Graph, torch.Generator]:
    """A graph of up to 24 operations, each of them and its operands chosen by hypothesis, and its generator."""
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32 - 1)))
    steps = draw(st.integers(0, 24))
    return grown(lambda count: draw(st.integers(0, count - 1)), steps, generator), generator


def assert_same(got: dict[Tensor, Tensor], leaves: list[Tensor], want: tuple[Tensor | None, ...]) -> None:
    """The dict holds the leaves that have a gradient, no others, and torch's gradients."""
    assert {id(leaf) for leaf in got} == {
        id(leaf) for leaf, grad in zip(leaves, want, strict=True) if grad is not None
    }
    for leaf, grad in zip(leaves, want, strict=True):
        if grad is not None:
            assert not got[leaf].requires_grad
            torch.testing.assert_close(got[leaf], grad, rtol=1e-4, atol=1e-5)


def noise(like: Tensor, generator: torch.Generator) -> Tensor:
    return torch.randn(like.shape, generator=generator, dtype=torch.float64).to(like.dtype)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(made=graphs(), place=st.integers(0, 2**16))
def test_one_root(made: tuple[Graph, torch.Generator], place: int) -> None:
    """Any value of the graph is the root: a leaf, one of several outputs, a view, the base of one."""
    graph, generator = made
    root = graph.roots()[place % len(graph.roots())]
    grad_out = noise(root, generator)
    copy = grad_out.clone()
    want = torch.autograd.grad(root, graph.leaves, grad_out, allow_unused=True, retain_graph=True)
    for engine in engines():
        assert_same(engine(root, grad_out), graph.leaves, want)
        assert torch.equal(grad_out, copy)
        assert all(leaf.grad is None for leaf in graph.leaves)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(made=graphs())
def test_several_roots(made: tuple[Graph, torch.Generator]) -> None:
    """The gradients of several roots are the sums of those of each; joined to one root they come in one walk."""
    graph, generator = made
    roots = graph.roots()[-4:]
    grads_out = [noise(root, generator) for root in roots]
    want = torch.autograd.grad(roots, graph.leaves, grads_out, allow_unused=True, retain_graph=True)
    for engine in engines():
        sums: dict[Tensor, Tensor] = {}
        for root, grad_out in zip(roots, grads_out, strict=True):
            for leaf, grad in engine(root, grad_out).items():
                sums[leaf] = sums[leaf] + grad if leaf in sums else grad
        assert_same(sums, graph.leaves, want)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(made=graphs())
def test_all_values_joined(made: tuple[Graph, torch.Generator]) -> None:
    graph, generator = made
    root = sum(wide(value) for value in graph.roots())
    grad_out = noise(root, generator)
    want = torch.autograd.grad(root, graph.leaves, grad_out, allow_unused=True, retain_graph=True)
    for engine in engines():
        assert_same(engine(root, grad_out), graph.leaves, want)


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_operation(name: str) -> None:
    """Each operation alone, each of its outputs as the root."""
    generator = torch.Generator().manual_seed(1)
    x = noise(torch.empty(3, 4, dtype=torch.float64), generator).requires_grad_()
    y = noise(torch.empty(1, 4), generator).requires_grad_()
    roots = [value for value in OPERATIONS[name](x, y) if value.requires_grad]
    assert roots
    for root in roots:
        grad_out = noise(root, generator)
        want = torch.autograd.grad(root, [x, y], grad_out, allow_unused=True, retain_graph=True)
        for engine in engines():
            assert_same(engine(root, grad_out), [x, y], want)


def test_real_modules() -> None:
    """Convolution, batch norm, pooling, an LSTM and attention: nodes with many inputs, outputs and saved tensors."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(2, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2)
    )
    lstm, attention = torch.nn.LSTM(9, 6), torch.nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0)
    images = net(torch.randn(3, 2, 8, 8)).flatten(2)
    root = attention(lstm(images)[0])
    leaves = [param for module in (net, lstm, attention) for param in module.parameters()]
    grad_out = torch.randn_like(root)
    want = torch.autograd.grad(root, leaves, grad_out, allow_unused=True, retain_graph=True)
    for engine in engines():
        assert_same(engine(root, grad_out), leaves, want)
