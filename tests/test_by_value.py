"""What a learner wrote travels to another process with all that it refers to."""

from __future__ import annotations

import pickle

import torch
from torch.autograd.function import once_differentiable

from helpers.isolate import by_value


def test_a_function_with_once_differentiable_travels() -> None:
    """Its decorator hands on torch.autograd.function's globals, among them a module that cannot be imported."""
    names: dict[str, object] = {
        "torch": torch,
        "once_differentiable": once_differentiable,
        "__name__": "__main__",
    }
    code = """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        return 2 * grad

def gradient():
    x = torch.ones(1, requires_grad=True)
    Double.apply(x).sum().backward()
    return x.grad.item()
"""
    exec(code, names)
    assert pickle.loads(by_value(names["gradient"]))() == 2.0
