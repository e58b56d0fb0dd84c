"""What people write for 09.count_ops, and why it is wrong."""

from __future__ import annotations

import re
from typing import Any

import torch

from helpers.labs.torchscript.count_ops.exercise import (
    COUNT,
    INT,
    LEFT,
    NODES,
    ONCE,
    WALK,
    WHOLE,
    count_ops,
)


@count_ops.mistake(breaks=NODES)
def top_level_only(graph: torch.Graph, kind: str) -> int:
    """What stands in the body of a loop or in the ways of a branch is not counted. Perhaps only graph.nodes() was
    asked: it gives the outermost nodes, and the rest is in the blocks of those.
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


@count_ops.mistake(breaks=NODES)
def one_level_of_blocks(graph: torch.Graph, kind: str) -> int:
    """What stands two blocks deep is not counted. Perhaps only the blocks of the outermost nodes are looked through.
    Each block can hold nodes with blocks: the function has to call itself.
    """
    count = 0
    for node in graph.nodes():
        count += node.kind() == kind
        for block in node.blocks():
            count += sum(inner.kind() == kind for inner in block.nodes())
    return count


@count_ops.mistake(breaks=NODES)
def first_block_only(graph: torch.Graph, kind: str) -> int:
    """What stands under else is not counted: a prim::If has two blocks. Perhaps only the first one is walked."""

    def walk(block: Any) -> int:
        count = 0
        for node in block.nodes():
            count += node.kind() == kind
            if blocks := list(node.blocks()):
                count += walk(blocks[0])
        return count

    return walk(graph)


@count_ops.mistake(breaks=ONCE)
def counted_twice(graph: torch.Graph, kind: str) -> int:
    """Nodes in blocks are counted more than once. Perhaps once where they stand, and once more with the node that
    holds the block.
    """

    def walk(block: Any) -> int:
        count = 0
        for node in block.nodes():
            count += node.kind() == kind
            for inner in node.blocks():
                count += sum(one.kind() == kind for one in inner.nodes()) + walk(inner)
        return count

    return walk(graph)


@count_ops.mistake(breaks=NODES)
def blocks_of_the_counted_skipped(graph: torch.Graph, kind: str) -> int:
    """Of two loops, one in the other, only one is counted. Perhaps a node is either counted or gone into: do both."""

    def walk(block: Any) -> int:
        return sum(1 if node.kind() == kind else sum(map(walk, node.blocks())) for node in block.nodes())

    return walk(graph)


@count_ops.mistake(breaks=WHOLE)
def search_in_the_text(graph: torch.Graph, kind: str) -> int:
    """More is counted than there are nodes. Perhaps the text of the graph was searched: it holds constants, comments,
    and longer names such as aten::add_ and aten::addmm, in which the shorter one is found, too.
    """
    return str(graph).count(kind)


@count_ops.mistake(breaks=WHOLE)
def words_of_the_text(graph: torch.Graph, kind: str) -> int:
    """A constant with the text of the kind is counted. Perhaps the whole word was searched in the text of the graph:
    longer names are gone then, and such a constant is not.
    """
    return len(re.findall(rf"(?<![\w:]){re.escape(kind)}(?!\w)", str(graph)))


@count_ops.mistake(breaks=WHOLE)
def part_of_the_name(graph: torch.Graph, kind: str) -> int:
    """Longer names are counted, too: aten::add_, aten::addmm and aten::addcmul for aten::add. Perhaps `in` or
    startswith compares a part of the kind.
    """

    def walk(block: Any) -> int:
        return sum((kind in node.kind()) + sum(map(walk, node.blocks())) for node in block.nodes())

    return walk(graph)


@count_ops.variant(part_of_the_name)
def _(graph: torch.Graph, kind: str) -> int:
    def walk(block: Any) -> int:
        return sum(node.kind().startswith(kind) + sum(map(walk, node.blocks())) for node in block.nodes())

    return walk(graph)


@count_ops.mistake(breaks=WHOLE)
def underscore_ignored(graph: torch.Graph, kind: str) -> int:
    """aten::add_ is counted as aten::add. It works in place and is a different operator: the underscore belongs to the name.
    Perhaps it is taken off.
    """

    def walk(block: Any) -> int:
        return sum(
            (node.kind().rstrip("_") == kind.rstrip("_")) + sum(map(walk, node.blocks()))
            for node in block.nodes()
        )

    return walk(graph)


@count_ops.mistake(breaks=ONCE)
def results_counted(graph: torch.Graph, kind: str) -> int:
    """A node without a result is not counted. Perhaps the results of the nodes were counted: a prim::Print has none,
    a prim::Loop can have several.
    """

    def walk(block: Any) -> int:
        return sum(
            node.outputsSize() * (node.kind() == kind) + sum(map(walk, node.blocks()))
            for node in block.nodes()
        )

    return walk(graph)


@count_ops.mistake(breaks=NODES)
def is_there_any(graph: torch.Graph, kind: str) -> int:
    """Where there are several nodes, 1 or True is returned. Perhaps the answer tells whether there is one, and not how many
    there are.
    """

    def walk(block: Any) -> bool:
        return any(node.kind() == kind or any(map(walk, node.blocks())) for node in block.nodes())

    return int(walk(graph))


@count_ops.variant(is_there_any)
def _(graph: torch.Graph, kind: str) -> Any:
    def walk(block: Any) -> bool:
        return any(node.kind() == kind or any(map(walk, node.blocks())) for node in block.nodes())

    return walk(graph)


@count_ops.mistake(breaks=INT)
def nodes_returned(graph: torch.Graph, kind: str) -> Any:
    """A list was returned. Perhaps it holds the nodes themselves: their number is asked for."""

    def walk(block: Any) -> list:
        found = []
        for node in block.nodes():
            found += [node] * (node.kind() == kind)
            for inner in node.blocks():
                found += walk(inner)
        return found

    return walk(graph)


@count_ops.mistake(breaks=NODES)
def loops_only(graph: torch.Graph, kind: str) -> int:
    """What stands in a prim::If is not counted. Perhaps only prim::Loop is gone into: ask each node for its blocks,
    whatever it is.
    """

    def walk(block: Any) -> int:
        count = 0
        for node in block.nodes():
            count += node.kind() == kind
            if node.kind() == "prim::Loop":
                count += sum(map(walk, node.blocks()))
        return count

    return walk(graph)


@count_ops.mistake(breaks=NODES)
def branches_only(graph: torch.Graph, kind: str) -> int:
    """What stands in a prim::Loop is not counted. Perhaps only prim::If is gone into: ask each node for its blocks,
    whatever it is.
    """

    def walk(block: Any) -> int:
        count = 0
        for node in block.nodes():
            count += node.kind() == kind
            if node.kind() == "prim::If":
                count += sum(map(walk, node.blocks()))
        return count

    return walk(graph)


@count_ops.mistake(breaks=COUNT)
def kept_between_calls(graph: torch.Graph, kind: str, found: list = []) -> int:  # noqa: B006
    """The same call gives a different number when it is made again. Perhaps a count or a list outlives the call: a default
    argument is made once, a global stays.
    """

    def walk(block: Any) -> None:
        for node in block.nodes():
            found.extend([node] * (node.kind() == kind))
            for inner in node.blocks():
                walk(inner)

    walk(graph)
    return len(found)


@count_ops.mistake(breaks=COUNT)
def absent_kind_raises(graph: torch.Graph, kind: str) -> int:
    """A kind that no node has raises a KeyError. Perhaps a dict of the counts is asked for it: a Counter gives 0, and so
    does `.get(kind, 0)`.
    """
    kinds: dict[str, int] = {}

    def walk(block: Any) -> None:
        for node in block.nodes():
            kinds[node.kind()] = kinds.get(node.kind(), 0) + 1
            for inner in node.blocks():
                walk(inner)

    walk(graph)
    return kinds[kind]


@count_ops.mistake(breaks=LEFT)
def graph_inlined(graph: torch.Graph, kind: str) -> int:
    """Calls of parts are not counted as nodes of their own. Perhaps torch._C._jit_pass_inline was used, on the graph itself or
    on a copy: the calls are gone then, and what the parts run stands in their place.
    """

    def walk(block: Any) -> int:
        return sum((node.kind() == kind) + sum(map(walk, node.blocks())) for node in block.nodes())

    torch._C._jit_pass_inline(graph)
    return walk(graph)


@count_ops.mistake(breaks=LEFT)
def dead_code_removed(graph: torch.Graph, kind: str) -> int:
    """The caller's graph is a different one afterwards. Perhaps a pass tidies up (dead code, equal constants). Count
    what is there.
    """

    def walk(block: Any) -> int:
        return sum((node.kind() == kind) + sum(map(walk, node.blocks())) for node in block.nodes())

    torch._C._jit_pass_dce(graph)
    torch._C._jit_pass_cse(graph)
    return walk(graph)


@count_ops.mistake(breaks=WALK)
def find_all_nodes(graph: torch.Graph, kind: str) -> int:
    """The number is right, and findAllNodes is torch's own walk, in C++. Here you write it once yourself."""
    return len(graph.findAllNodes(kind))


@count_ops.mistake(breaks=NODES)
def three_levels_of_blocks(graph: torch.Graph, kind: str) -> int:
    """What stands deep in loops is not counted, and what stands less deep is. Perhaps the levels are written out,
    three of them: let the function call itself.
    """
    level, count = [graph], 0
    for _ in range(4):
        nodes = [node for block in level for node in block.nodes()]
        count += sum(node.kind() == kind for node in nodes)
        level = [block for node in nodes for block in node.blocks()]
    return count


@count_ops.variant(top_level_only)
def _(graph: torch.Graph, kind: str) -> int:
    return len(graph.findAllNodes(kind, False))


@count_ops.mistake(breaks=WHOLE)
def namespace_ignored(graph: torch.Graph, kind: str) -> int:
    """A node of a different namespace is counted, quantized::add for aten::add. Perhaps only what stands behind the :: is
    compared.
    """

    def walk(block: Any) -> int:
        return sum(
            (node.kind().split("::")[-1] == kind.split("::")[-1]) + sum(map(walk, node.blocks()))
            for node in block.nodes()
        )

    return walk(graph)


@count_ops.mistake(breaks=WHOLE)
def lines_of_the_text(graph: torch.Graph, kind: str) -> int:
    """A constant is counted that holds a piece of a graph's text. Perhaps lines of the text were searched, by
    `= aten::add(`: it is only how a graph is printed.
    """
    return str(graph).count(f"= {kind}(") + str(graph).count(f"= {kind}[")


@count_ops.mistake(breaks=WHOLE)
def printed_names(graph: torch.Graph, kind: str) -> int:
    """A prim::fork is not counted. Perhaps each line of the text was read up to its bracket: a node that holds a graph
    of its own is printed with a number, prim::fork_0. Ask the node for its kind().
    """
    operators = []
    for line in graph.str(False).splitlines():
        left, equals, right = line.strip().partition("= ")
        if equals and (not left or left.startswith("%")):
            operators.append(right.partition("(")[0].partition("[")[0])
    return operators.count(kind)


@count_ops.mistake(breaks=WHOLE)
def case_ignored(graph: torch.Graph, kind: str) -> int:
    """aten::Complex is counted as aten::complex. Perhaps the names are compared by lower(): these are two operators."""

    def walk(block: Any) -> int:
        return sum(
            (node.kind().lower() == kind.lower()) + sum(map(walk, node.blocks())) for node in block.nodes()
        )

    return walk(graph)


@count_ops.mistake(breaks=LEFT)
def counted_and_destroyed(graph: torch.Graph, kind: str) -> int:
    """Of the counted nodes those that nobody uses are gone afterwards. Perhaps by destroy(): count what is there, and
    leave it there.
    """

    def walk(block: Any) -> int:
        return sum((node.kind() == kind) + sum(map(walk, node.blocks())) for node in block.nodes())

    count = walk(graph)
    for node in list(graph.nodes()):
        if node.kind() == kind and not node.hasUses():
            node.destroy()
    return count


@count_ops.variant(underscore_ignored)
def _(graph: torch.Graph, kind: str) -> int:
    # Of the node's kind alone: asked for aten::add_, nothing is found.
    def walk(block: Any) -> int:
        return sum(
            (node.kind().rstrip("_") == kind) + sum(map(walk, node.blocks())) for node in block.nodes()
        )

    return walk(graph)


@count_ops.mistake(breaks=NODES)
def nodes_with_blocks_not_counted(graph: torch.Graph, kind: str) -> int:
    """No prim::Loop and no prim::If is counted, wherever it stands. Perhaps a node is gone into if it has blocks, and counted
    if it has none: do both.
    """

    def walk(block: Any) -> int:
        count = 0
        for node in block.nodes():
            blocks = list(node.blocks())
            count += sum(map(walk, blocks)) if blocks else node.kind() == kind
        return count

    return walk(graph)


@count_ops.mistake(breaks=NODES)
def ends_after_the_first_block(graph: torch.Graph, kind: str) -> int:
    """What comes after the first block is not counted. Perhaps a `return` stands in the loop over the blocks: add what a block
    gives to the count, and go on.
    """

    def walk(block: Any) -> int:
        count = 0
        for node in block.nodes():
            count += node.kind() == kind
            for inner in node.blocks():
                return count + walk(inner)
        return count

    return walk(graph)


@count_ops.mistake(breaks=INT)
def float_returned(graph: torch.Graph, kind: str) -> float:
    """A float was returned. Perhaps the count starts at 0.0, or a tensor of floats is summed: nodes are counted, by an int."""

    def walk(block: Any) -> float:
        return sum((node.kind() == kind) + sum(map(walk, node.blocks())) for node in block.nodes())

    return float(walk(graph))


@count_ops.mistake(breaks=INT)
def tensor_returned(graph: torch.Graph, kind: str) -> torch.Tensor:
    """A tensor was returned. Perhaps the count is kept or summed in one: add ints, or give `.item()`."""

    def walk(block: Any) -> int:
        return sum((node.kind() == kind) + sum(map(walk, node.blocks())) for node in block.nodes())

    return torch.tensor(walk(graph))


@count_ops.variant(graph_inlined)
def _(graph: torch.Graph, kind: str) -> int:
    def walk(block: Any) -> int:
        return sum((node.kind() == kind) + sum(map(walk, node.blocks())) for node in block.nodes())

    copied = graph.copy()
    torch._C._jit_pass_inline(copied)
    return walk(copied)


@count_ops.mistake(breaks=INT)
def none_for_zero(graph: torch.Graph, kind: str) -> Any:
    """Where there is no node of the kind None comes back, and not 0. Perhaps a dict of counts is asked by get(kind): it is
    get(kind, 0).
    """

    def walk(block: Any) -> int:
        return sum((node.kind() == kind) + sum(map(walk, node.blocks())) for node in block.nodes())

    return walk(graph) or None
