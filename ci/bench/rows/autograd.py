"""Row 03 of `labbook bench`: what a backward engine in Python costs, node by node, beside torch's own."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from ci.bench.table import Table, row
from ci.bench.timing.rounds import medians, one_thread
from ci.notebooks.reference import solutions_of

REPEATS = 31


def graphs() -> dict[str, Tensor]:
    """Results with a graph behind them; the first two have nodes that compute next to nothing."""
    torch.manual_seed(0)
    x = torch.ones(1, requires_grad=True)
    chain = diamonds = x
    for _ in range(1000):
        chain = chain + 1
    for _ in range(500):
        diamonds = diamonds.neg() + diamonds.neg()
    layer = nn.TransformerEncoderLayer(32, 4, dim_feedforward=64, batch_first=True)
    lstm = nn.LSTM(16, 16, num_layers=2)
    return {
        "1,000 additions in a row": chain.sum(),
        "500 diamonds": diamonds.sum(),
        "attention block, width 32": layer(torch.randn(4, 10, 32)).square().sum(),
        "LSTM, 20 steps": lstm(torch.randn(20, 4, 16))[0].square().sum(),
    }


def nodes_and_leaves(root: Tensor) -> tuple[int, list[Tensor]]:
    """How many nodes `backward` would call, and the leaves at the end."""
    found = {root.grad_fn: None}
    todo = [root.grad_fn]
    while todo:
        for node, _ in todo.pop().next_functions:
            if node is not None and node not in found:
                found[node] = None
                todo.append(node)
    return len(found), [node.variable for node in found if hasattr(node, "variable")]


@row("03", minutes=0.1)
def autograd(root: Path) -> Table:
    """The solution's `run_backward` against `torch.autograd.grad`, on the same graphs, one thread."""
    run_backward = solutions_of(root, "03")["03.run_backward"]
    table = Table(
        "03: microseconds a node, the solution's engine beside torch's",
        ["graph", "nodes", "torch us", "run_backward us", "ratio"],
        note=f"Medians of {REPEATS} runs in turn, one thread; each includes the node's own work, the same in both.",
    )
    with one_thread():
        for name, result in graphs().items():
            nodes, leaves = nodes_and_leaves(result)
            grad_out = torch.ones_like(result)

            def by_torch(
                result: Tensor = result, leaves: list[Tensor] = leaves, grad_out: Tensor = grad_out
            ) -> None:
                torch.autograd.grad(result, leaves, grad_out, retain_graph=True)

            def by_hand(result: Tensor = result, grad_out: Tensor = grad_out) -> None:
                run_backward(result, grad_out)

            torchs, own = medians({"torch": by_torch, "own": by_hand}, REPEATS).values()
            table.lines.append([name, nodes, torchs / nodes * 1e6, own / nodes * 1e6, own / torchs])
    return table
