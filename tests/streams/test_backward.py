"""Backward passes on the simulated device: on the caller's thread, with its errors, before and after a fork."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from tests.streams.test_install import output
from tests.support.device_process import device_process, on_device  # noqa: F401


def gradient(x: Tensor) -> list[float]:
    x.grad = None
    (x * x).sum().backward()
    return x.grad.tolist()


@on_device
def test_what_a_hook_raises_comes_out() -> None:
    def fails(grad: Tensor) -> None:
        raise ValueError("in a hook")

    x = torch.ones(2, device="sim", requires_grad=True)
    handle = x.register_hook(fails)
    with pytest.raises(ValueError, match="in a hook"):
        x.sum().backward()
    with pytest.raises(SystemError):  # torch itself loses it
        torch.autograd.grad(x.sum(), x)
    handle.remove()
    assert gradient(x) == [2, 2]


@on_device
def test_what_a_backward_of_ones_own_raises_comes_out() -> None:
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            raise KeyError("in backward")

    x = torch.ones(2, device="sim", requires_grad=True)
    with pytest.raises(KeyError, match="in backward"):
        Fails.apply(x).sum().backward()
    assert gradient(x) == [2, 2]


@on_device
def test_a_gradient_lies_on_the_device() -> None:
    x = torch.ones(2, device="sim", requires_grad=True)
    with pytest.raises(RuntimeError, match="expected device sim:0 but got cpu"):
        (x * 2).backward(torch.ones(2))
    (x * 2).backward(gradient=torch.ones(2, device="sim"))
    assert x.grad.tolist() == [2, 2]


@on_device
def test_backward_runs_on_the_thread_that_calls_for_it() -> None:
    x, found = torch.ones(2, device="sim", requires_grad=True), []
    y = (x * x).sum()
    y.register_hook(lambda grad: found.append(threading.current_thread()))
    thread = threading.Thread(target=y.backward)
    thread.start()
    thread.join()
    assert found == [thread] and x.grad.tolist() == [2, 2]


@on_device
def test_a_process_can_be_forked_after_a_backward_pass() -> None:
    x = torch.ones(2, device="sim", requires_grad=True)
    assert gradient(x) == [2, 2]
    if (child := os.fork()) == 0:
        on_cpu = torch.ones(2, requires_grad=True)
        os._exit(0 if gradient(x) == gradient(on_cpu) == [2, 2] else 1)
    assert os.waitpid(child, 0)[1] == 0
    loader = DataLoader(torch.arange(4.0), batch_size=2, num_workers=1, multiprocessing_context="fork")
    assert [batch.to("sim").tolist() for batch in loader] == [[0, 1], [2, 3]]


def test_backward_passes_before_and_after_installing() -> None:
    """torch decides at the first backward pass of a process for which devices it starts threads."""
    assert (
        output(
            """
import json, torch
from helpers import streams

def gradient(device):
    x = torch.ones(2, device=device, requires_grad=True)
    (x * x).sum().backward()
    return x.grad.tolist()

first = gradient("cpu")
streams.install()
print(json.dumps([first, gradient("sim"), gradient("cpu")]))
"""
        )
        == [[2, 2]] * 3
    )
