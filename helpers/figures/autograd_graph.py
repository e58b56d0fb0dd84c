"""Reads torch's backward graph, and one run over it, into plain data for the figures of lab 03."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
from torch import Tensor

SHORT = 4  # so many numbers of a buffer are shown, of a larger one its shape

Call = tuple[Any, Sequence[Tensor | None], Sequence[Tensor | None]]  # node, gradients in, gradients out


@dataclass(frozen=True)
class Box:
    """A node: its name, what it saved as "name (shape)", the places of the nodes that it feeds."""

    name: str
    saved: tuple[str, ...]
    feeds: tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """One moment of a run.

    called: the place of the node that is called now, -1 before the first call and after the last.
    done: the nodes that were called before it, in order.
    buffers: of each node that waits, what lies in its buffer and how many gradients came of how many, as text.
    complete: the nodes that wait for no further gradient.
    """

    called: int
    done: tuple[int, ...] = ()
    buffers: Mapping[int, str] = field(default_factory=dict)
    complete: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Graph:
    """The nodes that a root reaches; the root is the first."""

    boxes: tuple[Box, ...]
    nodes: tuple[Any, ...]

    def place(self, node: Any) -> int:
        """Where the node stands in the graph."""
        return next(at for at, known in enumerate(self.nodes) if known is node)


def graph_of(root: Tensor, names: Mapping[str, Tensor] | None = None) -> Graph:
    """The graph behind `root`, as `backward()` would walk it.

    Args:
        root: A tensor with a `grad_fn`.
        names: Leaves by the name that they shall have in the picture.
    """
    nodes = [root.grad_fn]
    for node in nodes:  # grows while it is read
        nodes += [after for after in _fed(node) if not any(after is known for known in nodes)]
    leaves = list((names or {}).items())
    graph = Graph((), tuple(nodes))
    boxes = (
        Box(_name(node, leaves), saved(node), tuple(dict.fromkeys(map(graph.place, _fed(node)))))
        for node in nodes
    )
    return Graph(tuple(boxes), graph.nodes)


def _fed(node: Any) -> list[Any]:
    return list(dict.fromkeys(after for after, _ in node.next_functions if after is not None))


def _name(node: Any, leaves: Iterable[tuple[str, Tensor]]) -> str:
    short = node.name().removeprefix("torch::autograd::")
    if not hasattr(node, "variable"):
        return short
    return next((f"{short}: {name}" for name, leaf in leaves if leaf is node.variable), short)


def saved(node: Any) -> tuple[str, ...]:
    """The tensors that a node saved, as "result (2, 3)"; of a custom Function those of `save_for_backward`."""
    names = [name for name in dir(node) if name.startswith("_saved_")]
    try:
        tensors = [(name.removeprefix("_saved_"), getattr(node, name)) for name in names]
        tensors += [("saved", tensor) for tensor in getattr(node, "saved_tensors", ())]
    except RuntimeError:  # after a backward without retain_graph
        return ("freed",)
    return tuple(
        f"{name} {tuple(tensor.shape)}" for name, tensor in tensors if isinstance(tensor, torch.Tensor)
    )


@contextmanager
def recorded(call_node: Callable[..., Any]) -> Iterator[list[Call]]:
    """Yields the list of the calls of `call_node(node, grads)` in the block: node, gradients in, gradients out.

    Python itself reports them, so it does not matter under which name an answer calls it.
    """
    calls: list[Call] = []
    node_name, grads_name = call_node.__code__.co_varnames[:2]
    running: dict[int, tuple[Any, list[Tensor | None]]] = {}

    def notice(frame: FrameType, event: str, result: Any) -> None:
        if frame.f_code is call_node.__code__ and event == "call":
            running[id(frame)] = frame.f_locals[node_name], list(frame.f_locals[grads_name])
        elif frame.f_code is call_node.__code__ and event == "return":
            calls.append((*running.pop(id(frame)), result or ()))

    before = sys.getprofile()
    sys.setprofile(notice)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def steps_of(graph: Graph, calls: Sequence[Call]) -> list[Step]:
    """The moments of a run: one before the first call, one for each call, one after the last.

    Args:
        graph: The graph that was walked.
        calls: Each call of a node in order, with the gradients that went in and came out.
    """
    arrived: dict[int, list[tuple[int, Tensor]]] = {}
    awaited = _awaited(graph)
    steps: list[Step] = []
    done: tuple[int, ...] = ()
    for node, given, came in calls:
        at = graph.place(node)
        arrived.setdefault(at, [(slot, grad) for slot, grad in enumerate(given) if grad is not None])
        if not steps:
            steps.append(_moment(-1, done, arrived, awaited))
        steps.append(_moment(at, done, arrived, awaited))
        done = (*done, at)
        del arrived[at]
        for (after, slot), grad in zip(node.next_functions, came, strict=False):
            if after is not None and grad is not None:
                arrived.setdefault(graph.place(after), []).append((slot, _fitted(after, slot, grad)))
    return [*steps, _moment(-1, done, arrived, awaited)]


def _moment(
    called: int,
    done: tuple[int, ...],
    arrived: Mapping[int, list[tuple[int, Tensor]]],
    awaited: Mapping[int, int],
) -> Step:
    complete = frozenset(at for at, grads in arrived.items() if len(grads) == awaited[at])
    return Step(called, done, _texts(arrived, awaited), complete)


def _awaited(graph: Graph) -> dict[int, int]:
    counts = {0: 1}
    for node in graph.nodes:
        for after, _ in node.next_functions:
            if after is not None:
                counts[graph.place(after)] = counts.get(graph.place(after), 0) + 1
    return counts


def _fitted(node: Any, slot: int, grad: Tensor) -> Tensor:
    shape = tuple(node._input_metadata[slot].shape)
    return grad.sum_to_size(shape) if tuple(grad.shape) != shape else grad


def _texts(arrived: Mapping[int, list[tuple[int, Tensor]]], awaited: Mapping[int, int]) -> dict[int, str]:
    found = {}
    for at, grads in arrived.items():
        sums: dict[int, Tensor] = {}
        for slot, grad in grads:
            sums[slot] = sums[slot] + grad if slot in sums else grad
        found[at] = f"{' | '.join(map(_value, sums.values()))}   {len(grads)} of {awaited[at]}"
    return found


def _value(grad: Tensor) -> str:
    grad = grad.detach()
    if grad.numel() > SHORT:
        return f"{tuple(grad.shape)}"
    numbers = ", ".join(f"{number + 0.0:.2f}" for number in grad.flatten().tolist())
    return f"[{numbers}]" if grad.dim() else numbers
