"""What people write for 03.run_backward: a right order, and one part of the engine wrong."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import Node, get_gradient_edge

from helpers.labs.autograd.run_backward.exercise import run_backward
from helpers.labs.autograd.shown import call_node

Gradients = dict[Tensor, Tensor]


def nodes_below(first: Node) -> dict[Node, int]:
    """All nodes that can be reached, with the number of gradients that will reach each."""
    missing: Counter[Node] = Counter({first: 0})
    stack = [first]
    while stack:
        for node, _ in stack.pop().next_functions:
            if node is not None:
                if node not in missing:
                    stack.append(node)
                missing[node] += 1
    return missing


def fitted(grad: Tensor, node: Node, slot: int) -> Tensor:
    """The gradient with the shape and dtype that the node expects."""
    wanted = node._input_metadata[slot]
    return grad.sum_to_size(wanted.shape).to(wanted.dtype)


def engine(
    root: Tensor,
    grad_out: Tensor,
    *,
    add: Any = lambda before, grad, node: grad if before is None else before + grad,
    fit: Any = fitted,
    call: Any = call_node,
    first_slot: Any = lambda edge: edge.output_nr,
    slot_of: Any = lambda slot: slot,
    none_counts: bool = True,
    leaf: Any = lambda grad, node: grad,
    grad_mode: Any = torch.no_grad,
) -> Gradients:
    """A right engine, of which one part is exchanged for a wrong one."""
    edge = get_gradient_edge(root)
    missing, found, ready = nodes_below(edge.node), {}, [edge.node]
    buffers: dict[Node, list] = {node: [None] * len(node._input_metadata) for node in missing}
    buffers[edge.node][first_slot(edge)] = grad_out
    with grad_mode():
        while ready:
            node = ready.pop()
            if hasattr(node, "variable"):
                if (grad := leaf(buffers[node][0], node)) is not None:
                    found[node.variable] = grad
                continue
            for (after, slot), grad in zip(node.next_functions, call(node, buffers[node]), strict=False):
                if after is None or (grad is None and not none_counts):
                    continue
                if grad is not None:
                    place = slot_of(slot)
                    buffers[after][place] = add(buffers[after][place], fit(grad, after, slot), after)
                missing[after] -= 1
                if missing[after] == 0:
                    ready.append(after)
    return found


@run_backward.mistake()
def overwrites(root: Tensor, grad_out: Tensor) -> Gradients:
    """A second gradient for the same slot took the place of the first. What is used twice gets the sum of
    both.
    """
    return engine(root, grad_out, add=lambda before, grad, node: grad)


@run_backward.variant(overwrites)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return engine(root, grad_out, add=lambda before, grad, node: grad if before is None else before)


@run_backward.variant(overwrites)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def add(before: Tensor | None, grad: Tensor, node: Node) -> Tensor:
        return grad if before is None or hasattr(node, "variable") else before + grad

    return engine(root, grad_out, add=add)


@run_backward.variant(overwrites)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def add(before: Tensor | None, grad: Tensor, node: Node) -> Tensor:
        return before + grad if before is not None and hasattr(node, "variable") else grad

    return engine(root, grad_out, add=add)


@run_backward.mistake()
def adds_in_place(root: Tensor, grad_out: Tensor) -> Gradients:
    """grad_out or a gradient that a node had returned was edited. Perhaps by `+=`, which edits the tensor
    that arrived first, and that is not yours: `x + w` hands the same tensor to both of its inputs.
    """
    return engine(
        root, grad_out, add=lambda before, grad, node: grad if before is None else before.add_(grad)
    )


@run_backward.variant(adds_in_place)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def add(before: Tensor | None, grad: Tensor, node: Node) -> Tensor:
        if before is None:
            return grad
        before += grad
        return before

    return engine(root, grad_out.clone(), add=add)


@run_backward.variant(adds_in_place)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def add(before: Tensor | None, grad: Tensor, node: Node) -> Tensor:
        if before is None or not hasattr(node, "variable"):
            return grad if before is None else before + grad
        before += grad
        return before

    return engine(root, grad_out.clone(), add=add)


@run_backward.mistake(breaks="It is summed to the shape")
def not_reduced(root: Tensor, grad_out: Tensor) -> Gradients:
    """`a + b` with shapes (3, 1) and (1, 4) returns its gradients in the shape (3, 4) for both: summing them
    to the shape of the receiver, over every dimension in which it differs, is the engine's work.
    """

    def fit(grad: Tensor, node: Node, slot: int) -> Tensor:
        return grad.to(node._input_metadata[slot].dtype)

    return engine(root, grad_out, fit=fit)


@run_backward.variant(not_reduced)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def fit(grad: Tensor, node: Node, slot: int) -> Tensor:
        wanted = node._input_metadata[slot]
        return (grad.sum_to_size(wanted.shape) if grad.numel() > wanted.shape.numel() else grad).to(
            wanted.dtype
        )

    return engine(root, grad_out, fit=fit)


@run_backward.mistake(breaks="It is summed to the shape")
def missing_dimensions_kept(root: Tensor, grad_out: Tensor) -> Gradients:
    """Where (3, 1) is expected and (3, 4) came the gradient is right, and where () is expected it is not. Perhaps only dimensions
    of size 1 are summed: a receiver may have fewer dimensions than what came. sum_to_size sees to both.
    """

    def fit(grad: Tensor, node: Node, slot: int) -> Tensor:
        wanted = node._input_metadata[slot]
        if grad.dim() == len(wanted.shape):
            grad = grad.sum_to_size(wanted.shape)
        return grad.to(wanted.dtype)

    return engine(root, grad_out, fit=fit)


@run_backward.mistake(
    breaks="It is summed to the shape and cast to the dtype in the receiver's `_input_metadata[slot]`."
)
def reduced_at_leaves(root: Tensor, grad_out: Tensor) -> Gradients:
    """A gradient is wrong where a node that is no leaf's expects (3, 1) and (3, 4) came to it. Perhaps only
    the gradients of leaves were summed to their shape: a node between has an expected shape, too.
    """

    def fit(grad: Tensor, node: Node, slot: int) -> Tensor:
        return (
            fitted(grad, node, slot)
            if hasattr(node, "variable")
            else grad.to(node._input_metadata[slot].dtype)
        )

    return engine(root, grad_out, fit=fit)


@run_backward.mistake(
    breaks="It is summed to the shape and cast to the dtype in the receiver's `_input_metadata[slot]`."
)
def dtype_not_cast(root: Tensor, grad_out: Tensor) -> Gradients:
    """float32 + float64 is float64, and so is the gradient that comes back for the float32 input: casting it
    to the dtype of the receiver (not to that of grad_out) is left to the engine.
    """

    def fit(grad: Tensor, node: Node, slot: int) -> Tensor:
        return grad.sum_to_size(node._input_metadata[slot].shape)

    return engine(root, grad_out, fit=fit)


@run_backward.mistake(
    breaks="It is summed to the shape and cast to the dtype in the receiver's `_input_metadata[slot]`."
)
def cast_at_leaves(root: Tensor, grad_out: Tensor) -> Gradients:
    """Only the gradients of leaves were cast. A node between that saved float32 numbers cannot multiply them
    with a float64 gradient.
    """

    def fit(grad: Tensor, node: Node, slot: int) -> Tensor:
        return (
            fitted(grad, node, slot)
            if hasattr(node, "variable")
            else grad.sum_to_size(node._input_metadata[slot].shape)
        )

    return engine(root, grad_out, fit=fit)


@run_backward.mistake()
def root_slot_ignored(root: Tensor, grad_out: Tensor) -> Gradients:
    """The root is one of several outputs of its node, and the gradient went to a different one.
    root.output_nr says which one it is. Perhaps grad_out went to output 0.
    """
    return engine(root, grad_out, first_slot=lambda edge: 0)


@run_backward.mistake()
def slots_ignored(root: Tensor, grad_out: Tensor) -> Gradients:
    """The gradient of one row ended up in a different one. next_functions holds pairs: the receiver and the
    number of its output that was used. Perhaps these numbers were not used.
    """
    return engine(root, grad_out, first_slot=lambda edge: 0, slot_of=lambda slot: 0)


@run_backward.variant(slots_ignored)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return engine(root, grad_out, slot_of=lambda slot: 0)
