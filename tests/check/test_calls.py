"""Calls are seen however the answer reached the function."""

from __future__ import annotations

import threading
from functools import partial

import pytest
import torch
from torch.autograd import grad
from torch.utils.data import DataLoader

from helpers.check.calls import calls_to

ENGINE = type(torch.autograd.Variable._execution_engine).run_backward


def loss() -> torch.Tensor:
    return torch.ones(3, requires_grad=True).sum()


def plus_one(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def test_a_function_bound_long_ago_is_seen() -> None:
    hidden = partial(grad)
    x = torch.ones(3, requires_grad=True)
    with calls_to(torch.autograd.grad) as seen:
        hidden((x * 2).sum(), x)
    assert seen == ["grad"]


def test_a_class_stands_for_the_functions_of_its_body() -> None:
    with calls_to(DataLoader) as seen:
        list(DataLoader(range(3)))
    assert set(seen) == {"DataLoader"}


def test_a_method_of_a_c_type_is_seen() -> None:
    with calls_to(ENGINE) as seen:
        loss().backward()
    assert seen == [ENGINE.__qualname__]


def test_a_built_in_function_is_seen() -> None:
    with calls_to(torch.stack) as seen:
        torch.stack([torch.ones(1)])
    assert seen == ["stack"] or seen == ["_VariableFunctionsClass.stack"]


def test_a_method_of_a_pybind_class_is_seen() -> None:
    graph = torch.jit.script(plus_one).graph
    with calls_to(torch._C.Graph.findAllNodes, torch._C.Graph.findNode) as seen:
        graph.findAllNodes("aten::add")
        with pytest.raises(RuntimeError):
            graph.findNode("no such kind")
    graph.findAllNodes("aten::add")
    assert [name.rpartition(".")[2] for name in seen] == ["findAllNodes", "findNode"]


def test_a_wrapped_function_is_seen() -> None:
    parameter = torch.nn.Parameter(torch.ones(3))
    parameter.grad = torch.ones(3)
    with calls_to(torch.nn.utils.clip_grad_norm_) as seen:
        torch.nn.utils.clip_grad_norm_([parameter], 1.0)
    assert seen


def test_another_thread_is_seen() -> None:
    with calls_to(torch.autograd.grad) as seen:
        x = torch.ones(3, requires_grad=True)
        thread = threading.Thread(target=lambda: grad((x * 2).sum(), x))
        thread.start()
        thread.join()
    assert seen == ["grad"]


def test_nothing_is_seen_of_other_functions_and_after_the_block() -> None:
    with calls_to(torch.autograd.grad, DataLoader) as seen:
        loss().backward()
    loss().backward()
    assert seen == []


def test_code_that_is_only_written_alike_is_not_seen() -> None:
    text = "def same(): return 1"
    one: dict = {}
    other: dict = {}
    exec(text, one)
    exec(text, other)
    with calls_to(one["same"]) as seen:
        other["same"]()
    assert seen == []
