"""Random TorchScript programs, for what is asked of their graphs."""

from __future__ import annotations

import random

import torch

from helpers.labs.torchscript.shared.quiet import quiet

LINES = (
    "x = x + {n}",
    "x += {n}",
    "x = x * {n}",
    "x = torch.addmm(x, x, x)",
    "x = torch.relu(x)",
    'print("aten::add(x) prim::If prim::Loop")',
)


def body(draw: random.Random, depth: int, indent: str) -> list[str]:
    """Some lines, among them loops and branches of their own lines."""
    lines = []
    for _ in range(draw.randint(2, 4)):
        kind = draw.choice(["line", "line", "for", "if", "while"] if depth else ["line"])
        inside = indent + "    "
        if kind == "for":
            lines += [f"{indent}for i{depth} in range(n):", *body(draw, depth - 1, inside)]
        elif kind == "while":
            lines += [f"{indent}while bool(x.sum() > {draw.randint(0, 9)}):", *body(draw, depth - 1, inside)]
        elif kind == "if":
            lines += [f"{indent}if n > {draw.randint(0, 9)}:", *body(draw, depth - 1, inside)]
            lines += [f"{indent}else:", *body(draw, depth - 1, inside)]
        else:
            lines.append(indent + draw.choice(LINES).format(n=draw.randint(1, 9)))
    return lines


def graph_of(draw: random.Random, depth: int = 3) -> torch.Graph:
    """The graph of a random program."""
    return compiled("\n".join(["def f(x: Tensor, n: int):", *body(draw, depth, "    "), "    return x", ""]))


def compiled(source: str) -> torch.Graph:
    """The graph of the function f of this text."""
    with quiet():
        return torch.jit.CompilationUnit(source).f.graph.copy()


def random_graph(seed: int = 0) -> torch.Graph:
    """The graph of a random program, to try count_ops on."""
    return graph_of(random.Random(seed))
