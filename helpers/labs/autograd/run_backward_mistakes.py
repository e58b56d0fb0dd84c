"""What people write for 03.run_backward: a right order, and one part of the engine wrong."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import Node, get_gradient_edge

from helpers.labs.autograd.nodes import call_node
from helpers.labs.autograd.run_backward import run_backward

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


@run_backward.wrong_answer(
    "overwrites",
    why="A second gradient for the same slot took the place of the first. What is used twice gets the sum of both.",
    seen="took the place of the first",
)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return engine(root, grad_out, add=lambda before, grad, node: grad)


@run_backward.another_form("overwrites")
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return engine(root, grad_out, add=lambda before, grad, node: grad if before is None else before)


@run_backward.another_form("overwrites")
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def add(before: Tensor | None, grad: Tensor, node: Node) -> Tensor:
        return grad if before is None or hasattr(node, "variable") else before + grad

    return engine(root, grad_out, add=add)


@run_backward.another_form("overwrites")
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def add(before: Tensor | None, grad: Tensor, node: Node) -> Tensor:
        return before + grad if before is not None and hasattr(node, "variable") else grad

    return engine(root, grad_out, add=add)


@run_backward.wrong_answer(
    "adds_in_place",
    why="`+=` edits the tensor that arrived first, and that is not yours: `x + w` hands the same tensor to both of its "
    "inputs, and it may be grad_out itself.",
    seen="`+=` edits the tensor that arrived first",
)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return engine(
        root, grad_out, add=lambda before, grad, node: grad if before is None else before.add_(grad)
    )


@run_backward.another_form("adds_in_place")
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def add(before: Tensor | None, grad: Tensor, node: Node) -> Tensor:
        if before is None:
            return grad
        before += grad
        return before

    return engine(root, grad_out.clone(), add=add)


@run_backward.another_form("adds_in_place")
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def add(before: Tensor | None, grad: Tensor, node: Node) -> Tensor:
        if before is None or not hasattr(node, "variable"):
            return grad if before is None else before + grad
        before += grad
        return before

    return engine(root, grad_out.clone(), add=add)


@run_backward.wrong_answer(
    "not_reduced",
    why="`a + b` with shapes (3, 1) and (1, 4) returns its gradients in the shape (3, 4) for both: summing them to "
    "the shape of the receiver is the engine's work.",
    seen="summing them to the shape of the receiver is",
)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def fit(grad: Tensor, node: Node, slot: int) -> Tensor:
        return grad.to(node._input_metadata[slot].dtype)

    return engine(root, grad_out, fit=fit)


@run_backward.wrong_answer(
    "reduced_at_leaves",
    why="Only the gradients of leaves were summed to their shape. A node between has an expected shape, too: given "
    "(3, 4) where it expects (3, 1), it fails, or silently computes something else.",
    seen="A node between has an expected shape, too",
)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def fit(grad: Tensor, node: Node, slot: int) -> Tensor:
        return (
            fitted(grad, node, slot)
            if hasattr(node, "variable")
            else grad.to(node._input_metadata[slot].dtype)
        )

    return engine(root, grad_out, fit=fit)


@run_backward.wrong_answer(
    "dtype_not_cast",
    why="float32 + float64 is float64, and so is the gradient that comes back for the float32 input: casting it to "
    "the dtype of the receiver is left to the engine.",
    seen="casting it to the dtype of the receiver",
)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def fit(grad: Tensor, node: Node, slot: int) -> Tensor:
        return grad.sum_to_size(node._input_metadata[slot].shape)

    return engine(root, grad_out, fit=fit)


@run_backward.wrong_answer(
    "cast_at_leaves",
    why="Only the gradients of leaves were cast. A node between that saved float32 numbers cannot multiply them with "
    "a float64 gradient.",
    seen="A node between that saved float32 numbers",
)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def fit(grad: Tensor, node: Node, slot: int) -> Tensor:
        return (
            fitted(grad, node, slot)
            if hasattr(node, "variable")
            else grad.sum_to_size(node._input_metadata[slot].shape)
        )

    return engine(root, grad_out, fit=fit)


@run_backward.wrong_answer(
    "root_slot_ignored",
    why="The root may be any output of its node: root.output_nr says which one. grad_out went to output 0.",
    seen="root.output_nr says which one",
)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return engine(root, grad_out, first_slot=lambda edge: 0)


@run_backward.wrong_answer(
    "slots_ignored",
    why="next_functions holds pairs: the receiver and the number of its output that was used. With several outputs "
    "in one slot the gradient of one row ends up in another.",
    seen="the receiver and the number of its output",
)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return engine(root, grad_out, first_slot=lambda edge: 0, slot_of=lambda slot: 0)


@run_backward.another_form("slots_ignored")
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return engine(root, grad_out, slot_of=lambda slot: 0)
