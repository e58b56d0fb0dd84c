"""Pictures of lab 09: Python source beside what a trace kept of it, and the lines that vanished."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from helpers.figures.style import BLUE, GREY, ORANGE

PLACE = re.compile(r"^(.*)\((\d+)\): ", re.MULTILINE)
HIDDEN = {
    "prim::Constant",
    "prim::GetAttr",
    "prim::ListConstruct",
    "prim::TupleConstruct",
    "prim::NumToTensor",
}
PAPER = "#f4f4f4"


@dataclass(frozen=True)
class Line:
    """A line of source. fate: "kept" if the trace holds operations of it, "lost" if none, "" if there was nothing to keep."""

    text: str
    fate: str


@dataclass(frozen=True)
class Reading:
    """A function beside its trace.

    operations: the text of each, the place of its line in `lines` (-1 if unknown), and whether it holds a number that
    does not stand in that line: one that Python computed while it was traced.
    """

    lines: tuple[Line, ...]
    operations: tuple[tuple[str, int, bool], ...]

    @property
    def lost(self) -> list[str]:
        """The lines of which the trace holds nothing."""
        return [line.text.strip() for line in self.lines if line.fate == "lost"]


def reading(eager: Callable[..., Any], traced: Any) -> Reading:
    """What a trace kept of a function, or of a module's forward. The graph says of each node which line made it."""
    function = inspect.unwrap(type(eager).forward if isinstance(eager, torch.nn.Module) else eager)
    source, first = inspect.getsourcelines(function)
    tree = ast.parse(textwrap.dedent("".join(source))).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise ValueError("draw a function that is written with def: of a lambda the lines are not known")
    graph = traced.inlined_graph if isinstance(traced, torch.jit.ScriptModule) else traced.graph
    nodes = [node for node in graph.nodes() if node.kind() not in HIDDEN]
    at = [_line(node, function.__code__.co_filename, first, len(source)) for node in nodes]
    names = _names(graph)
    fates = _fates(tree, set(at))
    begin = tree.body[0].end_lineno if ast.get_docstring(tree) and len(tree.body) > 1 else 0
    shown = [place for place in range(len(source)) if place == 0 or place >= begin]
    texts = textwrap.dedent("".join(source)).splitlines()
    lines = tuple(Line(texts[place].rstrip(), fates.get(place, "")) for place in shown)
    operations = []
    for node, place in zip(nodes, at, strict=True):
        frozen = place >= 0 and bool(_numbers(node) - _literals(tree, place))
        operations.append((_text(node, names), shown.index(place) if place in shown else -1, frozen))
    return Reading(lines, tuple(operations))


def _numbers(node: torch.Node) -> set[float]:
    """The numbers that a node computes with: one-element tensors, the bounds of a slice, the place of a row."""
    found = set()
    for at, value in enumerate(node.inputs()):
        if value.node().kind() == "prim::Constant":
            given = value.toIValue()
            if value.type().kind() == "TensorType" and isinstance(given, int | float):
                found.add(float(given))  # torch reads a tensor of one number as a number
            elif node.kind() == "aten::slice" and at in (2, 3) and given not in (0, sys.maxsize):
                found.add(float(given))
            elif node.kind() == "aten::select" and at == 2:
                found.add(float(given))
    return found


def _literals(tree: ast.FunctionDef, place: int) -> set[float]:
    """The numbers that are written in a line, without those in arithmetic with the variable of a loop."""
    counted = {
        node.target.id for node in ast.walk(tree) if isinstance(node, ast.For) if _is_name(node.target)
    }
    sums = [node for node in ast.walk(tree) if isinstance(node, ast.BinOp)]
    turns = (node for node in sums if {one.id for one in (node.left, node.right) if _is_name(one)} & counted)
    within = {id(one) for node in turns for one in (node.left, node.right)}
    constants = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.lineno - 1 == place and id(node) not in within
    )
    return {float(node.value) for node in constants if isinstance(node.value, int | float)}


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name)


def _line(node: torch.Node, file: str, first: int, count: int) -> int:
    """The line of the function, counted from 0, that made a node; -1 if none did."""
    for found in PLACE.finditer(node.sourceRange()):
        place = int(found[2]) - first
        if found[1] == file and 0 <= place < count:
            return place
    return -1


def _fates(tree: ast.FunctionDef, made: set[int]) -> dict[int, str]:
    """By place of a statement's first line, what became of it."""
    fates = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or node is tree:
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Name):
            continue
        last = node.body[0].lineno - 1 if hasattr(node, "body") else node.end_lineno
        kept = any(place in made for place in range(node.lineno - 1, max(last, node.lineno)))
        fates[node.lineno - 1] = "kept" if kept else "lost"
    return fates


def _names(graph: torch.Graph) -> dict[str, str]:
    """Short names for the values of a graph: arguments by their own, constants by their value, results by number."""
    names = {value.debugName(): value.debugName().partition(".")[0] for value in graph.inputs()}
    count = 0
    for node in graph.nodes():
        for value in node.outputs():
            if node.kind() == "prim::Constant":
                names[value.debugName()] = _constant(node)
            elif node.kind() == "prim::GetAttr":
                names[value.debugName()] = node.s("name")
            elif node.kind() == "prim::ListConstruct":
                names[value.debugName()] = f"[{', '.join(names[one.debugName()] for one in node.inputs())}]"
            elif node.kind() == "prim::NumToTensor":
                names[value.debugName()] = names[next(node.inputs()).debugName()]
            else:
                count += 1
                names[value.debugName()] = f"%{count}"
    return names


def _constant(node: torch.Node) -> str:
    value = node.output().toIValue()
    if isinstance(value, torch.Tensor):
        return f"{value.item():.4g}" if value.numel() == 1 else f"tensor{tuple(value.shape)}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _text(node: torch.Node, names: dict[str, str]) -> str:
    made = ", ".join(names[value.debugName()] for value in node.outputs())
    given = [names.get(value.debugName(), "?") for value in node.inputs()]
    if node.kind() in ("aten::add", "aten::sub") and given[-1] == "1":
        given.pop()  # alpha
    while given and given[-1] in ("None", "False", "cpu"):  # defaults that the caller did not write
        given.pop()
    given = ["..." if one in ("None", "cpu") else one for one in given]
    return f"{made} = {node.kind().removeprefix('aten::')}({', '.join(given)})"


def side_by_side(one: Reading, title: str, note: str = "") -> Figure:
    """Source on the left, operations of the trace on the right, a line from each operation to what made it."""
    rows = max(len(one.lines), len(one.operations), 1)
    figure = Figure(figsize=(10.5, 0.95 + 0.3 * rows), layout="constrained", facecolor="white")
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_xlim(0, 100)
    axes.set_ylim(rows + 0.4, -1.6)
    axes.text(0, -1.1, f"the source: {title}", fontsize=10, color=GREY)
    axes.text(58, -1.1, "the trace (orange: a number that Python computed)", fontsize=10, color=GREY)
    _source(axes, one)
    for row, (text, line, frozen) in enumerate(one.operations):
        colour = ORANGE if frozen else "black"
        axes.text(58, row, text, family="monospace", fontsize=9.5, va="center", color=colour)
        if line >= 0:
            axes.plot([50, 57], [line, row], color=BLUE, linewidth=1)
    if not one.operations:
        axes.text(58, 0, "(no operation: the input is returned)", fontsize=9.5, va="center", color=GREY)
    if note:
        figure.supxlabel(note, fontsize=10, x=0.01, ha="left")
    return figure


def _source(axes: Axes, one: Reading) -> None:
    for row, line in enumerate(one.lines):
        lost = line.fate == "lost"
        colour = ORANGE if lost else "black" if line.fate == "kept" else GREY
        if lost:
            axes.axhspan(row - 0.5, row + 0.5, xmax=0.5, facecolor="#fbe9e0", edgecolor="none")
            axes.text(49.5, row, "vanished", fontsize=8.5, color=ORANGE, va="center", ha="right")
        axes.text(0.5, row, line.text, family="monospace", fontsize=9.5, color=colour, va="center")


def side_by_side_alt(one: Reading, title: str) -> str:
    """What is seen, in words."""
    lost = "; ".join(one.lost) or "none"
    frozen = sum(1 for _, _, frozen in one.operations if frozen)
    return (
        f"{title}: {len(one.operations)} operations in the trace, {frozen} with a number that Python computed. "
        f"Lines of the source that vanished: {lost}."
    )
