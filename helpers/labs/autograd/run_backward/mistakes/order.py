"""What people write for 03.run_backward: the order of the nodes is wrong, or left to torch."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge

from helpers.labs.autograd.run_backward.exercise import run_backward
from helpers.labs.autograd.run_backward.mistakes.engine import Gradients, fitted, nodes_below
from helpers.labs.autograd.shown import call_node


def walked(root: Tensor, grad_out: Tensor) -> Iterator[tuple[Node, Tensor]]:
    """Each path from the root on its own: a gradient for a leaf's node whenever a path ends."""
    edge = get_gradient_edge(root)
    stack = [(edge.node, edge.output_nr, grad_out)]
    while stack:
        node, slot, grad = stack.pop()
        if hasattr(node, "variable"):
            yield node, grad
            continue
        grads: list = [None] * len(node._input_metadata)
        grads[slot] = grad
        for (after, place), found in zip(node.next_functions, call_node(node, grads), strict=True):
            if after is not None and found is not None:
                stack.append((after, place, fitted(found, after, place)))


@run_backward.mistake(breaks="Each other node is called once")
def every_path(root: Tensor, grad_out: Tensor) -> Gradients:
    """A node was called more than once. Perhaps a walk follows every path: the sums are right, and the time
    doubles with every value that is used twice. Count first who sends gradients to whom.
    """
    found: Gradients = {}
    with torch.no_grad():
        for node, grad in walked(root, grad_out):
            found[node.variable] = found[node.variable] + grad if node.variable in found else grad
    return found


@run_backward.variant(every_path)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    found: Gradients = {}

    def visit(node: Node, slot: int, grad: Tensor) -> None:
        if hasattr(node, "variable"):
            found[node.variable] = grad + found.get(node.variable, 0)
            return
        grads: list = [None] * len(node._input_metadata)
        grads[slot] = grad
        for (after, place), sent in zip(node.next_functions, call_node(node, grads), strict=True):
            if after is not None and sent is not None:
                visit(after, place, fitted(sent, after, place))

    edge = get_gradient_edge(root)
    with torch.no_grad():
        visit(edge.node, edge.output_nr, grad_out)
    return found


@run_backward.mistake()
def first_come(root: Tensor, grad_out: Tensor) -> Gradients:
    """A node was called before its last gradient had come, and what came later was lost. It is ready when the last one
    has come: count the edges that lead to it before you call anything.
    """
    return breadth_first(root, grad_out)


@run_backward.variant(first_come)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return breadth_first(root, grad_out, last=True)


@run_backward.variant(first_come)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return each_once(root, grad_out)


@run_backward.variant(first_come)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return each_once(root, grad_out, adds=True)


@run_backward.variant(first_come)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return when_met(root, grad_out, leaves_last=False)


@run_backward.variant(first_come)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return when_met(root, grad_out, leaves_last=True)


def when_met(root: Tensor, grad_out: Tensor, leaves_last: bool) -> Gradients:
    """In the order in which a walk level by level meets the nodes. leaves_last: or leaves after all others."""
    edge = get_gradient_edge(root)
    order, met = [edge.node], {edge.node}
    for node in order:
        new = dict.fromkeys(
            after for after, _ in node.next_functions if after is not None and after not in met
        )
        order += new
        met |= new.keys()
    if leaves_last:
        order.sort(key=lambda node: hasattr(node, "variable"))
    return in_order(order, edge, grad_out)


def each_once(root: Tensor, grad_out: Tensor, adds: bool = False) -> Gradients:
    """Level by level; leaves, too, take what came first. adds: all that came until then, leaves until the end."""
    edge = get_gradient_edge(root)
    buffers: dict[Node, list] = {edge.node: [None] * len(edge.node._input_metadata)}
    buffers[edge.node][edge.output_nr] = grad_out
    waiting = deque([edge.node])
    with torch.no_grad():
        while waiting:
            node = waiting.popleft()
            if hasattr(node, "variable"):
                continue
            for (after, slot), grad in zip(node.next_functions, call_node(node, buffers[node]), strict=True):
                if after is None or grad is None:
                    continue
                fit, is_new = fitted(grad, after, slot), after not in buffers
                if is_new:
                    buffers[after] = [None] * len(after._input_metadata)
                    waiting.append(after)
                if is_new or (adds and buffers[after][slot] is None):
                    buffers[after][slot] = fit
                elif adds:
                    buffers[after][slot] = buffers[after][slot] + fit
    return {node.variable: grads[0] for node, grads in buffers.items() if hasattr(node, "variable")}


def breadth_first(root: Tensor, grad_out: Tensor, last: bool = False) -> Gradients:
    """Level by level, each node when it is met first. last: the newest node goes first."""
    edge = get_gradient_edge(root)
    if hasattr(edge.node, "variable"):
        return {root: grad_out}
    found, waiting = {}, deque([edge.node])
    buffers: dict[Node, list] = {edge.node: [None] * len(edge.node._input_metadata)}
    buffers[edge.node][edge.output_nr] = grad_out
    with torch.no_grad():
        while waiting:
            node = waiting.pop() if last else waiting.popleft()
            for (after, slot), grad in zip(node.next_functions, call_node(node, buffers[node]), strict=True):
                if after is None:
                    continue
                fit = None if grad is None else fitted(grad, after, slot)
                if hasattr(after, "variable"):
                    if fit is not None:
                        leaf = after.variable
                        found[leaf] = found[leaf] + fit if leaf in found else fit
                elif after not in buffers:
                    buffers[after] = [None] * len(after._input_metadata)
                    buffers[after][slot] = fit
                    waiting.append(after)
    return found


@run_backward.mistake()
def again_with_more(root: Tensor, grad_out: Tensor) -> Gradients:
    """Each gradient that came in made its node run once more, with all that had come until then: the early
    ones were counted several times.
    """
    return again_and_again(root, grad_out)


@run_backward.variant(again_with_more)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    return again_and_again(root, grad_out, last=True)


def again_and_again(root: Tensor, grad_out: Tensor, last: bool = False) -> Gradients:
    """A node whenever a gradient comes; the sums are kept. last: the newest node goes first."""
    edge = get_gradient_edge(root)
    buffers: dict[Node, list] = {node: [None] * len(node._input_metadata) for node in nodes_below(edge.node)}
    buffers[edge.node][edge.output_nr] = grad_out
    found, waiting = {}, deque([edge.node])
    with torch.no_grad():
        while waiting and len(waiting) < 3_000:
            node = waiting.pop() if last else waiting.popleft()
            if hasattr(node, "variable"):
                if buffers[node][0] is not None:
                    found[node.variable] = buffers[node][0]
                continue
            for (after, slot), grad in zip(node.next_functions, call_node(node, buffers[node]), strict=True):
                if after is not None:
                    if grad is not None:
                        fit, before = fitted(grad, after, slot), buffers[after][slot]
                        buffers[after][slot] = fit if before is None else before + fit
                    waiting.append(after)
    return found


@run_backward.mistake()
def recursion(root: Tensor, grad_out: Tensor) -> Gradients:
    """A graph is as deep as the computation was long, a loop over 3,000 time steps for instance; Python stops
    at some 1,000 calls inside each other. Keep a list of the nodes that are still to be visited.
    """
    order: list[Node] = []
    seen: set[Node] = set()

    def visit(node: Node) -> None:
        seen.add(node)
        for after, _ in node.next_functions:
            if after is not None and after not in seen:
                visit(after)
        order.append(node)

    edge = get_gradient_edge(root)
    visit(edge.node)
    return in_order(order[::-1], edge, grad_out)


@run_backward.variant(recursion)
def _(root: Tensor, grad_out: Tensor) -> Gradients:
    edge, found = get_gradient_edge(root), {}
    missing = nodes_below(edge.node)
    buffers: dict[Node, list] = {node: [None] * len(node._input_metadata) for node in missing}
    buffers[edge.node][edge.output_nr] = grad_out

    def run(node: Node) -> None:
        if hasattr(node, "variable"):
            if buffers[node][0] is not None:
                found[node.variable] = buffers[node][0]
            return
        for (after, slot), grad in zip(node.next_functions, call_node(node, buffers[node]), strict=True):
            if after is None:
                continue
            if grad is not None:
                fit, before = fitted(grad, after, slot), buffers[after][slot]
                buffers[after][slot] = fit if before is None else before + fit
            missing[after] -= 1
            if missing[after] == 0:
                run(after)

    with torch.no_grad():
        run(edge.node)
    return found


def in_order(order: list[Node], edge: GradientEdge, grad_out: Tensor) -> Gradients:
    """Calls the nodes in this order, whatever has arrived."""
    buffers: dict[Node, list] = {node: [None] * len(node._input_metadata) for node in order}
    buffers[edge.node][edge.output_nr] = grad_out
    found = {}
    with torch.no_grad():
        for node in order:
            if hasattr(node, "variable"):
                if buffers[node][0] is not None:
                    found[node.variable] = buffers[node][0]
                continue
            for (after, slot), grad in zip(node.next_functions, call_node(node, buffers[node]), strict=True):
                if after is not None and grad is not None:
                    fit, before = fitted(grad, after, slot), buffers[after][slot]
                    buffers[after][slot] = fit if before is None else before + fit
    return found


@run_backward.mistake()
def sorted_by_sequence(root: Tensor, grad_out: Tensor) -> Gradients:
    """Leaves are missing after an edit in place through a view. Perhaps nodes were called in the order of
    _sequence_nr: it tells when a node was made, and the node of a view is made anew after an edit, while its
    user is being made: user 7, view 8. Count the edges.
    """
    edge = get_gradient_edge(root)
    order = sorted(nodes_below(edge.node), key=lambda node: -node._sequence_nr())
    order = [node for node in order if not hasattr(node, "variable")]
    order += [node for node in nodes_below(edge.node) if hasattr(node, "variable")]
    return in_order(order, edge, grad_out)
