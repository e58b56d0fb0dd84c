"""What people write for 09.count_ops."""

from __future__ import annotations

import re
from typing import Any

import torch

from helpers.labs.torchscript.count_ops import count_ops


@count_ops.wrong_answer(
    "top_level_only",
    why="graph.nodes() gives the outermost nodes. What stands in the body of a loop or in the ways of a branch is in the "
    "blocks of those nodes.",
    seen="gives the outermost nodes",
)
def _(graph: torch.Graph, kind: str) -> int:
    return len([node for node in graph.nodes() if node.kind() == kind])


@count_ops.another_form("top_level_only")
def _(graph: torch.Graph, kind: str) -> int:
    def walk(block: Any) -> int:
        count = 0
        for node in block.nodes():
            count += node.kind() == kind
            for inner in node.blocks():
                walk(inner)  # and nothing is done with what it gives
        return count

    return walk(graph)


@count_ops.wrong_answer(
    "one_level_of_blocks",
    why="The blocks of the outermost nodes are looked through, and the blocks of the nodes in them are not. Each block "
    "can hold nodes with blocks: the function has to call itself.",
    seen="the function has to call itself",
)
def _(graph: torch.Graph, kind: str) -> int:
    count = 0
    for node in graph.nodes():
        count += node.kind() == kind
        for block in node.blocks():
            count += sum(inner.kind() == kind for inner in block.nodes())
    return count


@count_ops.wrong_answer(
    "first_block_only",
    why="A prim::If has two blocks, and only the first one is walked: what stands under else is lost.",
    seen="what stands under else is lost",
)
def _(graph: torch.Graph, kind: str) -> int:
    def walk(block: Any) -> int:
        count = 0
        for node in block.nodes():
            count += node.kind() == kind
            if blocks := list(node.blocks()):
                count += walk(blocks[0])
        return count

    return walk(graph)


@count_ops.wrong_answer(
    "counted_twice",
    why="A node in a block is counted where it stands, and once more with the node that holds the block.",
    seen="once more with the node that holds the block",
)
def _(graph: torch.Graph, kind: str) -> int:
    def walk(block: Any) -> int:
        count = 0
        for node in block.nodes():
            count += node.kind() == kind
            for inner in node.blocks():
                count += sum(one.kind() == kind for one in inner.nodes()) + walk(inner)
        return count

    return walk(graph)


@count_ops.wrong_answer(
    "blocks_of_the_counted_skipped",
    why="A node is either counted or gone into. A prim::Loop inside a prim::Loop stands in the blocks of one that was "
    "counted: do both.",
    seen="either counted or gone into",
)
def _(graph: torch.Graph, kind: str) -> int:
    def walk(block: Any) -> int:
        return sum(1 if node.kind() == kind else sum(map(walk, node.blocks())) for node in block.nodes())

    return walk(graph)


@count_ops.wrong_answer(
    "search_in_the_text",
    why="The text of a graph holds more than kinds: constants, comments, and longer names such as aten::add_ and "
    "aten::addmm, in which the shorter one is found, too.",
    seen="The text of a graph holds more than kinds",
)
def _(graph: torch.Graph, kind: str) -> int:
    return str(graph).count(kind)


@count_ops.wrong_answer(
    "words_of_the_text",
    why="The name with its bracket is searched: longer names are gone, and a constant with this very text is not.",
    seen="The name with its bracket",
)
def _(graph: torch.Graph, kind: str) -> int:
    return len(re.findall(rf"(?<![\w:]){re.escape(kind)}(?!\w)", str(graph)))


@count_ops.wrong_answer(
    "part_of_the_name",
    why="`in` and startswith compare a part of the kind: aten::add is found in aten::add_ and in aten::addmm.",
    seen="compare a part of the kind",
)
def _(graph: torch.Graph, kind: str) -> int:
    def walk(block: Any) -> int:
        return sum((kind in node.kind()) + sum(map(walk, node.blocks())) for node in block.nodes())

    return walk(graph)


@count_ops.another_form("part_of_the_name")
def _(graph: torch.Graph, kind: str) -> int:
    def walk(block: Any) -> int:
        return sum(node.kind().startswith(kind) + sum(map(walk, node.blocks())) for node in block.nodes())

    return walk(graph)


@count_ops.wrong_answer(
    "underscore_ignored",
    why="aten::add_ works in place and is another operator than aten::add: the underscore belongs to the name.",
    seen="the underscore belongs to the name",
)
def _(graph: torch.Graph, kind: str) -> int:
    def walk(block: Any) -> int:
        return sum(
            (node.kind().rstrip("_") == kind.rstrip("_")) + sum(map(walk, node.blocks()))
            for node in block.nodes()
        )

    return walk(graph)


@count_ops.wrong_answer(
    "results_counted",
    why="What was counted are the results of the nodes. A prim::Print has none, a prim::Loop can have several.",
    seen="the results of the nodes",
)
def _(graph: torch.Graph, kind: str) -> int:
    def walk(block: Any) -> int:
        return sum(
            node.outputsSize() * (node.kind() == kind) + sum(map(walk, node.blocks()))
            for node in block.nodes()
        )

    return walk(graph)


@count_ops.wrong_answer(
    "is_there_any",
    why="This tells whether there is one, and not how many there are.",
    seen="not how many there are",
)
def _(graph: torch.Graph, kind: str) -> int:
    def walk(block: Any) -> bool:
        return any(node.kind() == kind or any(map(walk, node.blocks())) for node in block.nodes())

    return int(walk(graph))


@count_ops.another_form("is_there_any")
def _(graph: torch.Graph, kind: str) -> Any:
    def walk(block: Any) -> bool:
        return any(node.kind() == kind or any(map(walk, node.blocks())) for node in block.nodes())

    return walk(graph)


@count_ops.wrong_answer(
    "nodes_returned",
    why="The nodes themselves were returned. Their number is asked for.",
    seen="Their number is asked for",
)
def _(graph: torch.Graph, kind: str) -> Any:
    def walk(block: Any) -> list:
        found = []
        for node in block.nodes():
            found += [node] * (node.kind() == kind)
            for inner in node.blocks():
                found += walk(inner)
        return found

    return walk(graph)


@count_ops.wrong_answer(
    "loops_only",
    why="Only prim::Loop is gone into. prim::If holds nodes as well: ask each node for its blocks, whatever it is.",
    seen="Only prim::Loop is gone into",
)
def _(graph: torch.Graph, kind: str) -> int:
    def walk(block: Any) -> int:
        count = 0
        for node in block.nodes():
            count += node.kind() == kind
            if node.kind() == "prim::Loop":
                count += sum(map(walk, node.blocks()))
        return count

    return walk(graph)


@count_ops.wrong_answer(
    "graph_inlined",
    why="torch._C._jit_pass_inline works on the graph that it is given: the caller's graph is another one afterwards, and "
    "calls of parts are gone that were to be counted.",
    seen="the caller's graph is another one afterwards",
)
def _(graph: torch.Graph, kind: str) -> int:
    def walk(block: Any) -> int:
        return sum((node.kind() == kind) + sum(map(walk, node.blocks())) for node in block.nodes())

    torch._C._jit_pass_inline(graph)
    return walk(graph)


@count_ops.wrong_answer(
    "dead_code_removed",
    why="A pass that tidies up (dead code, equal constants) edits the caller's graph. Count what is there.",
    seen="A pass that tidies up",
)
def _(graph: torch.Graph, kind: str) -> int:
    def walk(block: Any) -> int:
        return sum((node.kind() == kind) + sum(map(walk, node.blocks())) for node in block.nodes())

    torch._C._jit_pass_dce(graph)
    torch._C._jit_pass_cse(graph)
    return walk(graph)


@count_ops.wrong_answer(
    "find_all_nodes",
    why="Right: findAllNodes is torch's own walk, in C++. Here you write it once yourself.",
    seen="Here you write it once yourself",
)
def _(graph: torch.Graph, kind: str) -> int:
    return len(graph.findAllNodes(kind))


@count_ops.wrong_answer(
    "flat_find",
    why="findAllNodes(kind, False) leaves the blocks out, and it is not to be used here anyway.",
    seen="leaves the blocks out",
)
def _(graph: torch.Graph, kind: str) -> int:
    return len(graph.findAllNodes(kind, False))
