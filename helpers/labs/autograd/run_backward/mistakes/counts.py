"""What people write for 03.run_backward: the count of the edges, and the places for what comes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import Node, get_gradient_edge

from helpers.labs.autograd.run_backward.exercise import run_backward
from helpers.labs.autograd.run_backward.mistakes.engine import Gradients, engine, fitted, nodes_below
from helpers.labs.autograd.shown import call_node


def counted_by(missing: dict[Node, int], root: Tensor, grad_out: Tensor, keeps: bool = True) -> Gradients:
    """A right engine that was given its counts. keeps: the buffers of a node that ran are kept."""
    edge = get_gradient_edge(root)
    found, ready = {}, [edge.node]
    buffers: dict[Node, list] = {node: [None] * len(node._input_metadata) for node in nodes_below(edge.node)}
    buffers[edge.node][edge.output_nr] = grad_out
    with torch.no_grad():
        while ready:
            node = ready.pop()
            grads = buffers[node] if keeps else buffers.pop(node)
            if hasattr(node, "variable"):
                if grads[0] is not None:
                    found[node.variable] = grads[0]
                continue
            for (after, slot), grad in zip(node.next_functions, call_node(node, grads), strict=True):
                if after is None:
                    continue
                if grad is not None:
                    fit, before = fitted(grad, after, slot), buffers[after][slot]
                    buffers[after][slot] = fit if before is None else before + fit
                missing[after] -= 1
                if missing[after] == 0:
                    ready.append(after)
    return found


def users(root: Tensor, *, of_slots: bool = False) -> dict[Node, int]:
    """For each node how many others feed it, with the slots apart or not."""
    missing: Counter[Node] = Counter()
    for node in nodes_below(get_gradient_edge(root).node):
        edges = {(after, slot if of_slots else 0) for after, slot in node.next_functions if after is not None}
        missing.update(after for after, _ in edges)
    return missing


@run_backward.mistake(breaks="when all its gradients have come")
def edges_counted_once(root: Tensor, grad_out: Tensor) -> Gradients:
    """The node of h was called before its last gradient had come: perhaps the two edges of `h * h`, which lead
    from one node to one node, were counted as one. Count edges, not the nodes that they come from.
    """
    return counted_by(users(root), root, grad_out)


@run_backward.variant(edges_counted_once)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return counted_by(users(root), root, grad_out, keeps=False)


@run_backward.variant(edges_counted_once)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return counted_by(users(root, of_slots=True), root, grad_out)


@run_backward.variant(edges_counted_once)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return counted_by(users(root, of_slots=True), root, grad_out, keeps=False)


def kept_last(root: Tensor, grad_out: Tensor, last: int) -> Gradients:
    """Whatever comes makes the list of its receiver anew. last: which of the ready nodes goes first."""
    edge, found = get_gradient_edge(root), {}
    missing, ready = nodes_below(edge.node), [edge.node]
    buffers: dict[Node, list] = {edge.node: [None] * len(edge.node._input_metadata)}
    buffers[edge.node][edge.output_nr] = grad_out
    with torch.no_grad():
        while ready:
            node = ready.pop(last)
            if hasattr(node, "variable"):
                if buffers[node][0] is not None:
                    found[node.variable] = buffers[node][0]
                continue
            for (after, slot), grad in zip(node.next_functions, call_node(node, buffers[node]), strict=True):
                if after is None:
                    continue
                buffers[after] = [None] * len(after._input_metadata)
                buffers[after][slot] = None if grad is None else fitted(grad, after, slot)
                missing[after] -= 1
                if missing[after] == 0:
                    ready.append(after)
    return found


@run_backward.variant("overwrites")
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return kept_last(root, grad_out, -1)


@run_backward.variant("overwrites")
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return kept_last(root, grad_out, 0)


@run_backward.mistake(breaks="when all its gradients have come")
def edges_counted_per_path(root: Tensor, grad_out: Tensor) -> Gradients:
    """More gradients are waited for than will come: perhaps the count went through a node once for each path
    that leads to it. A set of the nodes that were seen makes it once.
    """
    edge = get_gradient_edge(root)
    missing: Counter[Node] = Counter()
    stack = [edge.node]
    while stack and len(missing) < 10_000 and missing.total() < 10_000:
        for node, _ in stack.pop().next_functions:
            if node is not None:
                missing[node] += 1
                stack.append(node)
    return counted_by(missing, root, grad_out)


@run_backward.mistake(breaks="Each other node is called once")
def youngest_first(root: Tensor, grad_out: Tensor) -> Gradients:
    """A node was called twice where a node behind it had been made in a thread of its own. Perhaps nobody counts, and the
    node with the largest `_sequence_nr` goes first: each thread numbers its nodes anew.
    """
    edge = get_gradient_edge(root)
    buffers: dict[Node, list] = {edge.node: [None] * len(edge.node._input_metadata)}
    buffers[edge.node][edge.output_nr] = grad_out
    found: Gradients = {}
    with torch.no_grad():
        while buffers:
            node = max(buffers, key=lambda node: -1 if hasattr(node, "variable") else node._sequence_nr())
            grads = buffers.pop(node)
            if hasattr(node, "variable"):
                if grads[0] is not None:
                    found[node.variable] = grads[0]
                continue
            for (after, slot), grad in zip(node.next_functions, call_node(node, grads), strict=True):
                if after is None:
                    continue
                places = buffers.setdefault(after, [None] * len(after._input_metadata))
                if grad is not None:
                    fit, before = fitted(grad, after, slot), places[slot]
                    places[slot] = fit if before is None else before + fit
    return found


@run_backward.mistake(breaks="when all its gradients have come")
def the_root_waits(root: Tensor, grad_out: Tensor) -> Gradients:
    """The dict is empty: perhaps not one node was called, and the root waits for a gradient that no edge brings, since
    grad_out is not counted.
    """
    return {}


@run_backward.mistake(breaks="Each other node is called once")
def zeros_passed_over(root: Tensor, grad_out: Tensor) -> Gradients:
    """A leaf without entries is missing in the dict. Perhaps a gradient without a number other than 0 counts as none:
    zeros are a gradient, and the leaf gets them.
    """

    def call(node: Node, grads: list) -> tuple:
        if any(grad is not None and grad.any() for grad in grads):
            return call_node(node, grads)
        return (None,) * len(node.next_functions)

    return engine(root, grad_out, call=call)


@run_backward.variant(zeros_passed_over)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return {leaf: grad for leaf, grad in engine(root, grad_out).items() if grad.any()}


@run_backward.mistake(breaks="Each call begins anew, also on a graph that was run before.")
def kept_from_an_earlier_run(root: Tensor, grad_out: Tensor) -> Gradients:
    """The first run over a graph is right, and a later one is not. Perhaps something is kept from run to run, under the
    nodes or in a default argument: all that is counted and collected begins empty in each call.
    """
    kept = get_gradient_edge(root).node.metadata
    return kept.setdefault(("result", root.output_nr), engine(root, grad_out))


@run_backward.variant(kept_from_an_earlier_run)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def call(node: Node, grads: list) -> tuple:
        if "sent" not in node.metadata:
            node.metadata["sent"] = call_node(node, grads)
        return node.metadata["sent"]

    return engine(root, grad_out, call=call)


EARLIER = torch.zeros(3, requires_grad=True)


@run_backward.mistake(breaks="Each call begins anew, also on a graph that was run before.")
def leaves_of_earlier_calls(root: Tensor, grad_out: Tensor) -> Gradients:
    """The dict holds a leaf that does not stand behind this root. Perhaps the dict of an earlier call goes on, as a default
    argument does, which all calls share: begin with an empty one in each call.
    """
    return {EARLIER: torch.ones(3), **engine(root, grad_out)}


@run_backward.mistake(breaks="`grads` has one place for each result of the node")
def one_place_for_each_node(root: Tensor, grad_out: Tensor) -> Gradients:
    """A node with several results was called with a list that has not one place for each of them. `unbind` of
    four rows wants four, with None where nothing came.
    """
    return with_places(root, grad_out, lambda node, grads: [next(iter(grads.values()), None)])


@run_backward.variant(one_place_for_each_node)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return with_places(root, grad_out, lambda node, grads: [grads[slot] for slot in sorted(grads)])


@run_backward.variant(one_place_for_each_node)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return with_places(
        root, grad_out, lambda node, grads: [grads.get(at) for at in range(max(grads, default=0) + 1)]
    )


@run_backward.variant(one_place_for_each_node)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    edge, found = get_gradient_edge(root), {}
    missing, ready = nodes_below(edge.node), [edge.node]
    buffers: dict[Node, list] = {node: [None] for node in missing}
    buffers[edge.node][edge.output_nr] = grad_out
    with torch.no_grad():
        while ready:
            node = ready.pop()
            if hasattr(node, "variable"):
                if buffers[node][0] is not None:
                    found[node.variable] = buffers[node][0]
                continue
            for (after, slot), grad in zip(node.next_functions, call_node(node, buffers[node]), strict=True):
                if after is None:
                    continue
                if grad is not None:
                    fit, before = fitted(grad, after, slot), buffers[after][slot]
                    buffers[after][slot] = fit if before is None else before + fit
                missing[after] -= 1
                if missing[after] == 0:
                    ready.append(after)
    return found


def with_places(root: Tensor, grad_out: Tensor, places: Any) -> Gradients:
    """An engine whose list for a node is made of what came for each slot when the node is called."""
    edge, found = get_gradient_edge(root), {}
    missing, ready = nodes_below(edge.node), [edge.node]
    came: dict[Node, dict[int, Tensor]] = {node: {} for node in missing}
    came[edge.node][edge.output_nr] = grad_out
    with torch.no_grad():
        while ready:
            node = ready.pop()
            if hasattr(node, "variable"):
                if came[node]:
                    found[node.variable] = came[node][0]
                continue
            grads = call_node(node, places(node, came[node]))
            for (after, slot), grad in zip(node.next_functions, grads, strict=False):
                if after is None:
                    continue
                if grad is not None:
                    fit = fitted(grad, after, slot)
                    came[after][slot] = came[after][slot] + fit if slot in came[after] else fit
                missing[after] -= 1
                if missing[after] == 0:
                    ready.append(after)
    return found


@run_backward.mistake(breaks="in the receiver's `_input_metadata[slot]`")
def shape_of_the_first_result(root: Tensor, grad_out: Tensor) -> Gradients:
    """A gradient had not the shape or the dtype that belongs there, where a node has several results. Perhaps
    it was given that of the first: each result has its own entry, `_input_metadata[slot]`, not `[0]`.
    """
    return engine(root, grad_out, fit=lambda grad, node, slot: fitted(grad, node, 0))


@run_backward.variant(shape_of_the_first_result)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def fit(grad: Tensor, node: Node, slot: int) -> Tensor:
        return grad.sum_to_size(node._input_metadata[slot].shape).to(node._input_metadata[0].dtype)

    return engine(root, grad_out, fit=fit)


@run_backward.variant(shape_of_the_first_result)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    def fit(grad: Tensor, node: Node, slot: int) -> Tensor:
        return grad.sum_to_size(node._input_metadata[0].shape).to(node._input_metadata[slot].dtype)

    return engine(root, grad_out, fit=fit)


@run_backward.variant(shape_of_the_first_result)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return engine(root, grad_out, fit=lambda grad, node, slot: fitted(grad, node, -1))


@run_backward.mistake(breaks="None where nothing came")
def zeros_for_empty_slots(root: Tensor, grad_out: Tensor) -> Gradients:
    """x got zeros, and no gradient reaches it. Perhaps a slot that nothing reached was filled with zeros.
    torch hands over None, and a node of torch's that gets nothing but None returns None.
    """

    def call(node: Node, grads: list) -> tuple:
        places = zip(grads, node._input_metadata, strict=True)
        return call_node(
            node, [torch.zeros(at.shape, dtype=at.dtype) if g is None else g for g, at in places]
        )

    return engine(root, grad_out, call=call)


@run_backward.mistake(breaks="no `.grad` is touched")
def grad_added(root: Tensor, grad_out: Tensor) -> Gradients:
    """The gradient of w is not right where w.grad holds something. Perhaps that went into the result.
    `.backward()` adds to `.grad`; torch.autograd.grad returns the gradient of this root alone.
    """
    found = engine(root, grad_out)
    return {leaf: grad if leaf.grad is None else grad + leaf.grad for leaf, grad in found.items()}


@run_backward.mistake(breaks="Leaf -> gradient.")
def nodes_as_keys(root: Tensor, grad_out: Tensor) -> Any:
    """A key of the dict is the node of the leaf. The leaf itself is `node.variable`."""
    nodes = {n.variable: n for n in nodes_below(get_gradient_edge(root).node) if hasattr(n, "variable")}
    return {nodes[leaf]: grad for leaf, grad in engine(root, grad_out).items()}


@run_backward.mistake(breaks="Leaf -> gradient.")
def gradients_of_all_nodes(root: Tensor, grad_out: Tensor) -> Any:
    """Some keys of the dict are nodes. Perhaps gradients of what is no leaf were put in, too: only a node
    with `variable` has an entry, under that.
    """
    return engine(root, grad_out) | {get_gradient_edge(root).node: grad_out}


@run_backward.mistake(breaks="Leaf -> gradient.")
def a_list(root: Tensor, grad_out: Tensor) -> Any:
    """A list was returned, and a dict was asked for: `gradients[leaf]` finds a gradient, whatever the order."""
    return list(engine(root, grad_out).values())
