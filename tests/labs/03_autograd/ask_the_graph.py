"""Right answers to 03.ask_the_graph, in different shapes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

Noted = dict[str, tuple[Tensor, int]]


def by_lists(parts: dict[str, Tensor], params: dict[str, Tensor], noted: Noted) -> set[str]:
    """The plain answer: a list of nodes for each part, a set of ids of leaves."""
    words, reached, every = set(), set(), []
    for part in parts.values():
        nodes, known = [part.grad_fn], {None}
        leaves = set()
        while nodes:
            node = nodes.pop()
            if node in known:
                continue
            known.add(node)
            every.append(node)
            if hasattr(node, "variable"):
                leaves.add(id(node.variable))
            nodes.extend(after for after, _ in node.next_functions)
        if not leaves & {id(param) for param in params.values()}:
            words.add("constant")
        reached |= leaves
    if {id(param) for param in params.values()} - reached:
        words.add("cut")
    for node in every:
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            if any(torch.is_tensor(value) for value in vars(node).values()):
                words.add("kept on ctx")
        try:
            for name in dir(node):
                if name.startswith("_saved_") or name == "saved_tensors":
                    getattr(node, name)
        except RuntimeError:
            words.add("edited")
    for name, param in params.items():
        copy, version = noted[name]
        if version == param._version and (copy != param).any():
            words.add("edited unseen")
    return words


def walked(part: Tensor) -> Iterator[Any]:
    """Nodes in rows from the part down."""
    row, seen = deque([part.grad_fn]), set()
    while row:
        node = row.popleft()
        if node is not None and node not in seen:
            seen.add(node)
            yield node
            row.extend(after for after, _ in node.next_functions)


def unreadable(node: Any) -> bool:
    try:
        hasattr(node, "saved_tensors") and node.saved_tensors
        [getattr(node, name) for name in dir(node) if name[:7] == "_saved_"]
    except RuntimeError:
        return True
    return False


def by_conditions(parts: dict[str, Tensor], params: dict[str, Tensor], noted: Noted) -> frozenset[str]:
    """A condition for each word, over generators; a frozen set."""
    behind = {name: [*walked(part)] for name, part in parts.items()}
    nodes = [node for some in behind.values() for node in some]

    def stands(param: Tensor, some: list[Any]) -> bool:
        return any(node.name().endswith("AccumulateGrad") and node.variable is param for node in some)

    conditions = {
        "cut": any(not stands(param, nodes) for param in params.values()),
        "constant": any(
            not any(stands(param, some) for param in params.values()) for some in behind.values()
        ),
        "kept on ctx": any(isinstance(v, Tensor) for n in nodes for v in getattr(n, "__dict__", {}).values()),
        "edited": any(map(unreadable, nodes)),
        "edited unseen": any(
            not torch.equal(params[name], copy) and params[name]._version == version
            for name, (copy, version) in noted.items()
        ),
    }
    return frozenset(word for word, holds in conditions.items() if holds)


class Case:
    """A small object that gathers words while it walks over all parts at once, with the parts that each node is behind."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def look(self, node: Any) -> None:
        try:
            attributes = vars(node)
        except TypeError:
            attributes = {}
        if any(isinstance(value, Tensor) for value in attributes.values()):
            self.words.append("kept on ctx")
        for name in dir(node):
            if name in ("saved_tensors",) or name.startswith("_saved"):
                try:
                    getattr(node, name)
                except RuntimeError:
                    self.words.append("edited")


def with_an_object(parts: dict[str, Tensor], params: dict[str, Tensor], noted: Noted) -> set[str]:
    """Parts one after the other; the leaves are looked up by identity in a list."""
    case, missing = Case(), list(params.values())
    for part in parts.values():
        todo = {part.grad_fn} - {None}
        done: set[Any] = set()
        found = False
        while todo:
            node = todo.pop()
            done.add(node)
            case.look(node)
            leaf = getattr(node, "variable", None)
            found = found or any(leaf is param for param in params.values())
            missing = [param for param in missing if param is not leaf]
            todo |= {after for after, _ in node.next_functions} - done - {None}
        if not found:
            case.words.append("constant")
    if missing:
        case.words.append("cut")
    for param, (copy, version) in zip(params.values(), noted.values(), strict=True):
        if param._version - version == 0 and (param - copy).abs().max() > 0:
            case.words.append("edited unseen")
    return set(case.words)


RIGHT = [by_lists, by_conditions, with_an_object]
