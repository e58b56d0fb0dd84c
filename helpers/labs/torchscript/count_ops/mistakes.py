"""What people write for 09.count_ops, and why it is wrong."""

from __future__ import annotations

import re
from typing import Any

import torch

from helpers.labs.torchscript.count_ops.exercise import count_ops


@count_ops.mistake()
def top_level_only(graph: torch.Graph, kind: str) -> int:
    """graph.nodes() gives the outermost nodes. What stands in the body of a loop or in the ways of a branch
    is in the blocks of those nodes.
    """
    return len([node for node in graph.nodes() if node.kind() == kind])


@count_ops.variant(top_level_only)
def _(graph: torch.Graph, kind: str) -> int:
    def walk(block: Any) -> int:
        count = 0
        for node in block.nodes():
            count += node.kind() == kind
            for inner in node.blocks():
                walk(inner)  # and nothing is done with what it gives
        return count

    return walk(graph)


@count_ops.mistake()
def one_level_of_blocks(graph: torch.Graph, kind: str) -> int:
    """The blocks of the outermost nodes are looked through, and the blocks of the nodes in them are not. Each
    block can hold nodes with blocks: the function has to call itself.
    """
    count = 0
    for node in graph.nodes():
        count += node.kind() == kind
        for block in node.blocks():
            count += sum(inner.kind() == kind for inner in block.nodes())
    return count


@count_ops.mistake()
def first_block_only(graph: torch.Graph, kind: str) -> int:
    """A prim::If has two blocks, and only the first one is walked: what stands under else is lost."""

    def walk(block: Any) -> int:
        count = 0
        for node in block.nodes():
            count += node.kind() == kind
            if blocks := list(node.blocks()):
                count += walk(blocks[0])
        return count

    return walk(graph)


@count_ops.mistake()
def counted_twice(graph: torch.Graph, kind: str) -> int:
    """A node in a block is counted where it stands, and once more with the node that holds the block."""

    def walk(block: Any) -> int:
        count = 0
        for node in block.nodes():
            count += node.kind() == kind
            for inner in node.blocks():
                count += sum(one.kind() == kind for one in inner.nodes()) + walk(inner)
        return count

    return walk(graph)


@count_ops.mistake()
def blocks_of_the_counted_skipped(graph: torch.Graph, kind: str) -> int:
    """A node is either counted or gone into. A prim::Loop inside a prim::Loop stands in the blocks of one
    that was counted: do both.
    """

    def walk(block: Any) -> int:
        return sum(1 if node.kind() == kind else sum(map(walk, node.blocks())) for node in block.nodes())

    return walk(graph)


@count_ops.mistake()
def search_in_the_text(graph: torch.Graph, kind: str) -> int:
    """The text of a graph holds more than kinds: constants, comments, and longer names such as aten::add_ and
    aten::addmm, in which the shorter one is found, too.
    """
    return str(graph).count(kind)


@count_ops.mistake()
def words_of_the_text(graph: torch.Graph, kind: str) -> int:
    """The name with its bracket is searched: longer names are gone, and a constant with this very text is
    not.
    """
    return len(re.findall(rf"(?<![\w:]){re.escape(kind)}(?!\w)", str(graph)))


@count_ops.mistake()
def part_of_the_name(graph: torch.Graph, kind: str) -> int:
    """`in` and startswith compare a part of the kind: aten::add is found in aten::add_ and in aten::addmm."""

    def walk(block: Any) -> int:
        return sum((kind in node.kind()) + sum(map(walk, node.blocks())) for node in block.nodes())

    return walk(graph)


@count_ops.variant(part_of_the_name)
def _(graph: torch.Graph, kind: str) -> int:
    def walk(block: Any) -> int:
        return sum(node.kind().startswith(kind) + sum(map(walk, node.blocks())) for node in block.nodes())

    return walk(graph)


@count_ops.mistake()
def underscore_ignored(graph: torch.Graph, kind: str) -> int:
    """aten::add_ works in place and is another operator than aten::add: the underscore belongs to the name."""

    def walk(block: Any) -> int:
        return sum(
            (node.kind().rstrip("_") == kind.rstrip("_")) + sum(map(walk, node.blocks()))
            for node in block.nodes()
        )

    return walk(graph)


@count_ops.mistake()
def results_counted(graph: torch.Graph, kind: str) -> int:
    """What was counted are the results of the nodes. A prim::Print has none, a prim::Loop can have several."""

    def walk(block: Any) -> int:
        return sum(
            node.outputsSize() * (node.kind() == kind) + sum(map(walk, node.blocks()))
            for node in block.nodes()
        )

    return walk(graph)


@count_ops.mistake()
def is_there_any(graph: torch.Graph, kind: str) -> int:
    """This tells whether there is one, and not how many there are."""

    def walk(block: Any) -> bool:
        return any(node.kind() == kind or any(map(walk, node.blocks())) for node in block.nodes())

    return int(walk(graph))


@count_ops.variant(is_there_any)
def _(graph: torch.Graph, kind: str) -> Any:
    def walk(block: Any) -> bool:
        return any(node.kind() == kind or any(map(walk, node.blocks())) for node in block.nodes())

    return walk(graph)


@count_ops.mistake()
def nodes_returned(graph: torch.Graph, kind: str) -> Any:
    """The nodes themselves were returned. Their number is asked for."""

    def walk(block: Any) -> list:
        found = []
        for node in block.nodes():
            found += [node] * (node.kind() == kind)
            for inner in node.blocks():
                found += walk(inner)
        return found

    return walk(graph)


@count_ops.mistake()
def loops_only(graph: torch.Graph, kind: str) -> int:
    """Only prim::Loop is gone into. prim::If holds nodes as well: ask each node for its blocks, whatever it
    is.
    """

    def walk(block: Any) -> int:
        count = 0
        for node in block.nodes():
            count += node.kind() == kind
            if node.kind() == "prim::Loop":
                count += sum(map(walk, node.blocks()))
        return count

    return walk(graph)


@count_ops.mistake()
def graph_inlined(graph: torch.Graph, kind: str) -> int:
    """torch._C._jit_pass_inline works on the graph that it is given: the caller's graph is another one
    afterwards, and calls of parts are gone that were to be counted.
    """

    def walk(block: Any) -> int:
        return sum((node.kind() == kind) + sum(map(walk, node.blocks())) for node in block.nodes())

    torch._C._jit_pass_inline(graph)
    return walk(graph)


@count_ops.mistake()
def dead_code_removed(graph: torch.Graph, kind: str) -> int:
    """A pass that tidies up (dead code, equal constants) edits the caller's graph. Count what is there."""

    def walk(block: Any) -> int:
        return sum((node.kind() == kind) + sum(map(walk, node.blocks())) for node in block.nodes())

    torch._C._jit_pass_dce(graph)
    torch._C._jit_pass_cse(graph)
    return walk(graph)


@count_ops.mistake()
def find_all_nodes(graph: torch.Graph, kind: str) -> int:
    """Right: findAllNodes is torch's own walk, in C++. Here you write it once yourself."""
    return len(graph.findAllNodes(kind))


@count_ops.mistake()
def flat_find(graph: torch.Graph, kind: str) -> int:
    """findAllNodes(kind, False) leaves the blocks out, and it is not to be used here anyway."""
    return len(graph.findAllNodes(kind, False))
