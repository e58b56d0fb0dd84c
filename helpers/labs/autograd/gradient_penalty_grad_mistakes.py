"""What people write for 03.gradient_penalty with loss.backward() and .grad."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from helpers.labs.autograd.gradient_penalty import gradient_penalty


def gradients(loss: Tensor, params: Iterable[Tensor], *, create_graph: bool = True) -> list[Tensor]:
    """The gradients of those parameters that the loss uses."""
    found = torch.autograd.grad(loss, params, create_graph=create_graph, retain_graph=True, allow_unused=True)
    return [grad for grad in found if grad is not None]


def total(loss: Tensor, parts: Iterable[Tensor]) -> Tensor:
    return sum(parts, loss.new_zeros(()))


@gradient_penalty.mistake()
def backward_create_graph(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """loss.backward(create_graph=True) adds to the .grad of every leaf, also of those that you did not ask
    for, and leaves a cycle between a parameter and its .grad that holds the graph. torch.autograd.grad
    returns the gradients.
    """
    params = list(params)
    loss.backward(create_graph=True)
    return total(loss, (param.grad.square().sum() for param in params if param.grad is not None))


@gradient_penalty.variant(backward_create_graph)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    params = list(params)
    for param in params:
        param.grad = None
    loss.backward(create_graph=True)
    return total(loss, (param.grad.square().sum() for param in params if param.grad is not None))


@gradient_penalty.variant(backward_create_graph)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    params = list(params)
    loss.backward(create_graph=True)
    grads = [param.grad for param in params if param.grad is not None]
    for param in params:
        param.grad = None
    return total(loss, (grad.square().sum() for grad in grads))


@gradient_penalty.variant(backward_create_graph)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    params = list(params)
    before = [param.grad for param in params]
    for param in params:
        param.grad = None
    loss.backward(create_graph=True)
    grads = [param.grad for param in params if param.grad is not None]
    for param, old in zip(params, before, strict=True):
        param.grad = old
    return total(loss, (grad.square().sum() for grad in grads))


@gradient_penalty.variant(backward_create_graph)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    params = list(params)
    torch.autograd.backward(loss, create_graph=True, inputs=params)
    return total(loss, (param.grad.square().sum() for param in params if param.grad is not None))


@gradient_penalty.variant(backward_create_graph)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    params = list(params)
    for param in params:
        param.grad = None
    torch.autograd.backward(loss, create_graph=True, inputs=params)
    return total(loss, (param.grad.square().sum() for param in params if param.grad is not None))


@gradient_penalty.mistake()
def counted_twice(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """loss.backward() fills .grad of every leaf, and torch.autograd.grad computes the same once more: used
    together, the gradients are counted twice, here or in the optimizer's step.
    """
    params = list(params)
    loss.backward(retain_graph=True)
    found = torch.autograd.grad(loss, params, create_graph=True, allow_unused=True)
    both = [param.grad + grad for param, grad in zip(params, found, strict=True) if grad is not None]
    return total(loss, (grad.square().sum() for grad in both))


@gradient_penalty.variant(counted_twice)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    loss.backward(retain_graph=True)
    return total(loss, (grad.square().sum() for grad in gradients(loss, params)))
