"""Right answers to 09.count_ops, in different shapes."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator

import torch


def recursive(graph: torch.Graph, kind: str) -> int:
    """As in the notebook."""

    def in_block(block) -> int:
        own = sum(node.kind() == kind for node in block.nodes())
        return own + sum(in_block(inner) for node in block.nodes() for inner in node.blocks())

    return in_block(graph)


def with_a_queue(graph: torch.Graph, kind: str) -> int:
    """Without recursion."""
    waiting, total = deque([graph]), 0
    while waiting:
        for node in waiting.popleft().nodes():
            if node.kind() == kind:
                total += 1
            waiting.extend(node.blocks())
    return total


def nodes_of(block) -> Iterator[torch.Node]:
    """All nodes, outermost first."""
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from nodes_of(inner)


def by_counter(graph: torch.Graph, kind: str) -> int:
    """Counts all kinds at once."""
    return Counter(node.kind() for node in nodes_of(graph))[kind]


def level_by_level(graph: torch.Graph, kind: str) -> int:
    """All nodes of one depth, then all that stand in their blocks."""
    found, blocks = 0, [graph]
    while blocks:
        nodes = [node for block in blocks for node in block.nodes()]
        found = found + [node.kind() for node in nodes].count(kind)
        blocks = [block for node in nodes for block in node.blocks()]
    return found


RIGHT = [recursive, with_a_queue, by_counter, level_by_level]
