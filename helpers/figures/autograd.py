"""Figures of lab 03: the backward graph, what its nodes saved, and a run over it. From data to a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path

from helpers.figures.autograd_graph import Box, Graph, Step
from helpers.figures.style import BLUE, GREY, ORANGE

PALE = "#9a9a9a"
WIDTH, HEIGHT, GAP = 2.5, 0.74, 0.42  # of a box and between two rows, in inches
FITS = 42  # letters of the smaller size in a box
STILL = Step(-1)
# A state has its own kind of edge as well, for those who do not see the colours.
STYLES = {
    "empty": {"edgecolor": GREY, "facecolor": "white", "linewidth": 1.0},
    "waiting": {"edgecolor": ORANGE, "facecolor": "#fdf0e6", "linewidth": 1.5, "linestyle": "--"},
    "complete": {"edgecolor": ORANGE, "facecolor": "#fdf0e6", "linewidth": 1.5},
    "called": {"edgecolor": BLUE, "facecolor": "#dcecf7", "linewidth": 2.6},
    "done": {"edgecolor": PALE, "facecolor": "#ededed", "linewidth": 1.0},
}
LEGEND = (
    ("waiting", "gradients missing"),
    ("complete", "all there"),
    ("called", "called now"),
    ("done", "done"),
)


def backward_graph(graph: Graph, title: str, step: Step = STILL) -> Figure:
    """The graph from the root at the top to the leaves, each node with what it saved; at one moment of a run.

    Args:
        graph: From `graph_of`.
        title: What is differentiated.
        step: From `steps_of`; without it no node is called and every buffer is empty.
    """
    ways, count, running = layout(graph.boxes), len(graph.boxes), step is not STILL
    left, right, below = _edges(ways, count)
    above, below = HEIGHT / 2 + 0.45, below - (0.45 if running else 0.15)
    figure = Figure(figsize=(right - left, above - below), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(left, right), ylim=(below, above))
    axes.set_axis_off()
    axes.text(left + 0.15, above - 0.12, title, fontsize=10, va="top")
    for (source, target), way in ways.items():
        if source != target:
            _arrow(axes, way, passed=source in step.done)
    for at, box in enumerate(graph.boxes):
        order = str(step.done.index(at) + 1) if at in step.done else ""
        buffer = step.buffers.get(at, "") if running else None
        _box(axes, ways[at, at][0], box, _state(at, step), buffer, order)
    if running:
        _legend(axes, left + 0.15, below + 0.2)
    return figure


Point = tuple[float, float]
Pair = tuple[int, int]  # (at, at): a box; (source, target): the arrow between two


def layout(boxes: Sequence[Box]) -> dict[Pair, list[Point]]:
    """Where boxes and arrows go, in inches, the root at (0, 0): (at, at) -> the middle of a box, and
    (source, target) -> the points of the arrow, which goes between the boxes of the rows that it passes.
    """
    depth = _depths(boxes)
    rows: list[list[Pair]] = [[] for _ in range(max(depth) + 1)]
    above: dict[Pair, list[Pair]] = {}  # by a thing of a row: what is over it
    for source, box in enumerate(boxes):
        rows[depth[source]].append((source, source))
        for target in box.feeds:
            over = (source, source)
            for level in range(depth[source] + 1, depth[target]):  # a narrow gap for the arrow
                rows[level].append((source, target))
                above.setdefault((source, target), []).append(over)
                over = (source, target)
            above.setdefault((target, target), []).append(over)
    return _ways(boxes, rows, above, depth)


def _depths(boxes: Sequence[Box]) -> list[int]:
    """The row of each box: the length of the longest way from the root."""
    depth = [0] * len(boxes)
    for _ in boxes:
        for at, box in enumerate(boxes):
            for after in box.feeds:
                depth[after] = max(depth[after], depth[at] + 1)
    return depth


def _ways(
    boxes: Sequence[Box],
    rows: Sequence[list[Pair]],
    above: Mapping[Pair, Sequence[Pair]],
    depth: Sequence[int],
) -> dict[Pair, list[Point]]:
    """Rows from the top: each thing is wished below what is over it, then the row is spread out."""
    x: dict[tuple[int, int, int], float] = {}
    for level, row in enumerate(rows):
        wished = {}
        for thing in row:
            near = [one for one in above.get(thing, []) if (*one, level - 1) in x]
            over = [x[(*one, level - 1)] + _lean(boxes, one, thing) for one in near]
            wished[thing] = sum(over) / len(over) if over else 0.0
        row.sort(key=wished.get)
        widths = [WIDTH if source == target else 0.3 for source, target in row]
        edge = sum(wished.values()) / len(row) - (sum(widths) + 0.3 * (len(row) - 1)) / 2
        for thing, width in zip(row, widths, strict=True):
            x[(*thing, level)] = edge + width / 2
            edge += width + 0.3
    pitch = HEIGHT + GAP
    ways = {(at, at): [(x[at, at, level], -level * pitch)] for at, level in enumerate(depth)}
    for source, box in enumerate(boxes):
        for target in box.feeds:
            (start_x, start_y), (end_x, end_y) = ways[source, source][0], ways[target, target][0]
            way = [(start_x, start_y - HEIGHT / 2)]
            for level in range(depth[source] + 1, depth[target]):
                at = x[source, target, level]
                way += [(at, HEIGHT / 2 - level * pitch), (at, -HEIGHT / 2 - level * pitch)]
            ways[source, target] = [*way, (end_x, end_y + HEIGHT / 2)]
    return ways


def _edges(ways: Mapping[Pair, Sequence[Point]], count: int) -> tuple[float, float, float]:
    """Left, right and lower edge of all boxes and arrows, the sides with some air and not too near."""
    middles = [ways[at, at][0] for at in range(count)]
    across = [x + side * WIDTH / 2 for x, _ in middles for side in (-1, 1)]
    across += [x for way in ways.values() for x, _ in way]
    air = max(0.0, 6.2 - (max(across) - min(across))) / 2 + 0.15
    return min(across) - air, max(across) + air, min(y for _, y in middles) - HEIGHT / 2


def _lean(boxes: Sequence[Box], over: Pair, thing: Pair) -> float:
    """What a node feeds first stands a little to the left of what it feeds next."""
    return 0.1 * boxes[over[0]].feeds.index(thing[1]) if over[0] == over[1] else 0.0


def _state(at: int, step: Step) -> str:
    if at == step.called:
        return "called"
    if at in step.done:
        return "done"
    if at not in step.buffers:
        return "empty"
    return "complete" if at in step.complete else "waiting"


def _box(axes: Axes, place: Point, box: Box, state: str, buffer: str | None, order: str) -> None:
    """One node. buffer: None leaves its line out. order: the number of its call, once it was called."""
    x, y = place
    corner = (x - WIDTH / 2, y - HEIGHT / 2)
    shape = "round,pad=0,rounding_size=0.08"
    axes.add_patch(FancyBboxPatch(corner, WIDTH, HEIGHT, boxstyle=shape, zorder=2, **STYLES[state]))
    kept = "saved: " + ", ".join(box.saved) if box.saved else "saved nothing"
    leaf = box.name.startswith("AccumulateGrad")
    lines = [box.name, "a leaf: its gradient ends here" if leaf else kept]
    lines += [f"buffer: {buffer}" if buffer else ""] if buffer is not None else []
    ink = GREY if state == "done" else "black"
    for row, line in enumerate(lines):
        at = y + 0.215 * ((len(lines) - 1) / 2 - row)
        weight = "bold" if row == 0 else "normal"
        size = 9 if row == 0 else min(8.0, 8 * FITS / len(line)) if line else 8
        axes.text(x, at, line, fontsize=size, weight=weight, ha="center", va="center", color=ink)
    if order:
        axes.text(x - WIDTH / 2 + 0.1, y + HEIGHT / 2 - 0.07, order, fontsize=8, va="top", color=ink)


def _arrow(axes: Axes, way: Sequence[Point], *, passed: bool) -> None:
    """An arrow through the points, smooth at each."""
    codes, points = [Path.MOVETO], [way[0]]
    for (x, y), (to_x, to_y) in zip(way, way[1:], strict=False):
        codes += [Path.CURVE4] * 3
        bend = (y - to_y) * 0.45
        points += [(x, y - bend), (to_x, to_y + bend), (to_x, to_y)]
    look = {"color": BLUE, "linewidth": 2.0} if passed else {"color": GREY, "linewidth": 1.0}
    axes.add_patch(
        FancyArrowPatch(path=Path(points, codes), arrowstyle="-|>", mutation_scale=11, zorder=1, **look)
    )


def _legend(axes: Axes, x: float, y: float) -> None:
    for state, text in LEGEND:
        shape = "round,pad=0,rounding_size=0.03"
        axes.add_patch(FancyBboxPatch((x, y - 0.07), 0.24, 0.14, boxstyle=shape, **STYLES[state]))
        axes.text(x + 0.32, y, text, fontsize=8, va="center")
        x += 0.6 + 0.085 * len(text)


def backward_graph_alt(graph: Graph, title: str, step: Step = STILL) -> str:
    """What `backward_graph` shows, in words that hold on every machine."""
    message = f"The backward graph of {title}: {len(graph.boxes)} nodes, from the root down to the leaves."
    if step is STILL:
        kept = "; ".join(f"{box.name} saved {', '.join(box.saved)}" for box in graph.boxes if box.saved)
        return f"{message} {kept}." if kept else f"{message} None saved anything."
    if step.called >= 0:
        moment = f"Called now: {graph.boxes[step.called].name}; {len(step.done)} were called before."
    else:
        moment = "All were called." if step.done else "None is called yet."
    waiting = [graph.boxes[at].name for at in sorted(step.buffers) if at != step.called]
    return f"{message} {moment} Gradients lie in the buffers of: {', '.join(waiting) or 'none'}."
