"""Right answers to 03.run_backward, in different shapes."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import Node, get_gradient_edge

from helpers.labs.autograd.shown import call_node


def engine_with_a_stack(root: Tensor, grad_out: Tensor) -> dict[Tensor, Tensor]:
    """The plain answer: count, then call what is ready."""
    edge = get_gradient_edge(root)
    missing: Counter[Node] = Counter()
    buffers: dict[Node, list] = {edge.node: [None] * len(edge.node._input_metadata)}
    stack = [edge.node]
    while stack:
        for node, _ in stack.pop().next_functions:
            if node is None:
                continue
            missing[node] += 1
            if node not in buffers:
                buffers[node] = [None] * len(node._input_metadata)
                stack.append(node)
    buffers[edge.node][edge.output_nr] = grad_out

    ready, gradients = [edge.node], {}
    with torch.no_grad():
        while ready:
            node = ready.pop()
            arrived = buffers.pop(node)
            if hasattr(node, "variable"):
                if arrived[0] is not None:
                    gradients[node.variable] = arrived[0]
                continue
            for (after, slot), grad in zip(node.next_functions, call_node(node, arrived), strict=True):
                if after is None:
                    continue
                if grad is not None:
                    wanted = after._input_metadata[slot]
                    grad = grad.sum_to_size(wanted.shape).to(wanted.dtype)
                    before = buffers[after][slot]
                    buffers[after][slot] = grad if before is None else before + grad
                missing[after] -= 1
                if missing[after] == 0:
                    ready.append(after)
    return gradients


@torch.no_grad()
def engine_in_topological_order(root: Tensor, grad_out: Tensor) -> dict[Tensor, Tensor]:
    """Sorts the whole graph first, with a stack of its own, and adds up lists of gradients when a node's turn comes."""
    if root.grad_fn is None:
        return {root: grad_out}
    order: list[Node] = []
    entered: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(root.grad_fn, False)]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            order.append(node)
        elif node not in entered:
            entered.add(node)
            stack.append((node, True))
            stack.extend((after, False) for after, _ in node.next_functions if after is not None)
    came: dict[tuple[Node, int], list[Tensor]] = defaultdict(list)
    came[root.grad_fn, root.output_nr].append(grad_out)
    found = {}
    for node in reversed(order):
        grads = [_total(came.pop((node, slot), [])) for slot in range(len(node._input_metadata))]
        if type(node).__name__ == "AccumulateGrad":
            if grads[0] is not None:
                found[node.variable] = grads[0]
            continue
        for (after, slot), grad in zip(node.next_functions, call_node(node, grads), strict=True):
            if after is not None and grad is not None:
                came[after, slot].append(_fitted(grad, after._input_metadata[slot]))
    return found


def _total(grads: list[Tensor]) -> Tensor | None:
    """Adds in place, into a copy of its own."""
    if not grads:
        return None
    total = grads[0]
    for place, grad in enumerate(grads[1:]):
        total = total + grad if place == 0 else total.add_(grad)
    return total


def _fitted(grad: Tensor, wanted: Any) -> Tensor:
    """sum_to_size by hand."""
    extra = grad.ndim - len(wanted.shape)
    grad = grad.sum(tuple(range(extra))) if extra else grad
    ones = [dim for dim, size in enumerate(wanted.shape) if size == 1 and grad.shape[dim] != 1]
    grad = grad.sum(ones, keepdim=True) if ones else grad
    return grad if grad.dtype == wanted.dtype else grad.to(wanted.dtype)


class EngineLikeTorchs:
    """A heap of ready nodes, the latest made first; leaves at once, as torch does it. A class with its own state."""

    def __init__(self, root: Tensor) -> None:
        self.edge = get_gradient_edge(root)
        self.missing: dict[Node, int] = {}
        self.slots: dict[Node, list[Tensor | None]] = {}
        self.ready: list[tuple[int, int, Node]] = []
        self.pushed = 0
        waiting = deque([self.edge.node])
        self._meet(self.edge.node)
        while waiting:
            for node, _ in waiting.popleft().next_functions:
                if node is not None:
                    if self._meet(node):
                        waiting.append(node)
                    self.missing[node] += 1

    def _meet(self, node: Node) -> bool:
        if node in self.slots:
            return False
        self.missing[node], self.slots[node] = 0, [None for _ in node._input_metadata]
        return True

    def _push(self, node: Node) -> None:
        self.pushed += 1
        heapq.heappush(self.ready, (-node._sequence_nr(), self.pushed, node))

    def _send(self, node: Node, slot: int, grad: Tensor | None) -> None:
        if grad is not None:
            meta, here = node._input_metadata[slot], self.slots[node]
            grad = grad.sum_to_size(tuple(meta.shape)).to(meta.dtype)
            here[slot] = torch.add(here[slot], grad) if here[slot] is not None else grad
        self.missing[node] -= 1
        if not self.missing[node]:
            self._push(node)

    def run(self, grad_out: Tensor) -> dict[Tensor, Tensor]:
        found: dict[Tensor, Tensor] = {}
        self.missing[self.edge.node] += 1
        self._send(self.edge.node, self.edge.output_nr, grad_out)
        while self.ready:
            *_, node = heapq.heappop(self.ready)
            grads = self.slots.pop(node)
            if hasattr(node, "variable"):
                found |= {node.variable: grads[0]} if grads[0] is not None else {}
                continue
            for (after, slot), grad in zip(node.next_functions, call_node(node, grads), strict=True):
                if after is not None:
                    self._send(after, slot, grad)
        return found


def engine_like_torchs(root: Tensor, grad_out: Tensor) -> dict[Tensor, Tensor]:
    was_enabled = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    try:
        return EngineLikeTorchs(root).run(grad_out)
    finally:
        torch.set_grad_enabled(was_enabled)


def _all_below(first: Node) -> list[Node]:
    """Level by level, each once."""
    found = dict.fromkeys([first])
    level = [first]
    while level:
        level = [after for node in level for after, _ in node.next_functions if after and after not in found]
        found |= dict.fromkeys(level)
    return list(found)


def engine_with_sets(root: Tensor, grad_out: Tensor) -> dict[Tensor, Tensor]:
    """Each node knows who is still to feed it; two edges from one node deliver together. Leaves as others."""
    edge = get_gradient_edge(root)
    buffers: dict[Node, list] = {node: [None] * len(node._input_metadata) for node in _all_below(edge.node)}
    buffers[edge.node][edge.output_nr] = grad_out
    feeders: dict[Node, set[Node]] = {node: set() for node in buffers}
    for node in buffers:
        for after, _ in node.next_functions:
            if after is not None:
                feeders[after].add(node)
    found: dict[Tensor, Tensor] = {}
    ready, done = [edge.node], set()
    with torch.no_grad():
        while ready:
            node = ready.pop()
            if node in done:
                continue
            done.add(node)
            if hasattr(node, "variable"):
                if buffers[node][0] is not None:
                    found[node.variable] = buffers[node][0]
                continue
            for (after, slot), grad in zip(node.next_functions, call_node(node, buffers[node]), strict=True):
                if after is None:
                    continue
                if grad is not None:
                    fit, before = _fitted(grad, after._input_metadata[slot]), buffers[after][slot]
                    buffers[after][slot] = fit if before is None else before + fit
                feeders[after].discard(node)
                if not feeders[after]:
                    ready.append(after)
    return found


RIGHT = [engine_with_a_stack, engine_in_topological_order, engine_like_torchs, engine_with_sets]
