"""Figure of lab 05: a module tree with what stands in the three dicts of each module, after each of some statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor, nn

from helpers.figures.style import BLUE, GREY, ORANGE

DICTS = ("_parameters", "_buffers", "_modules")
COLUMNS = {"module": 0.0, "_parameters": 2.0, "_buffers": 4.65, "_modules": 7.75, "__dict__": 8.95}
WIDTH, LINE = 11.3, 0.205  # inches


@dataclass(frozen=True)
class Entry:
    """One name in a dict of a module. `label` is the tensor object's own number, "" for what is no tensor."""

    name: str
    label: str = ""
    dtype: str = ""
    saved: bool = True

    def __str__(self) -> str:
        message = " ".join(filter(None, (self.name, self.label, self.dtype)))
        return message if self.saved else f"{message} (not saved)"


@dataclass(frozen=True)
class Row:
    """One module: its path, class and depth, and by dict the entries."""

    path: str
    kind: str
    depth: int
    dicts: Mapping[str, tuple[Entry, ...]]


class Labels:
    """Numbers tensor objects in the order in which they are met, and keeps them, so that no number comes twice."""

    def __init__(self) -> None:
        self.known: list[Tensor] = []

    def __call__(self, tensor: Tensor) -> str:
        """The number of this object, as "#3"."""
        place = next((at for at, known in enumerate(self.known) if known is tensor), len(self.known))
        if place == len(self.known):
            self.known.append(tensor)
        return f"#{place + 1}"


def rows_of(module: nn.Module, labels: Labels, path: str = "", depth: int = 0) -> list[Row]:
    """The rows of a tree, parents first; a module that stands in two places has two rows."""
    unsaved = module._non_persistent_buffers_set
    dicts = {
        where: tuple(
            _entry(name, value, labels, name not in unsaved) for name, value in vars(module)[where].items()
        )
        for where in DICTS
    }
    own = {
        name: value for name, value in vars(module).items() if not name.startswith("_") and name != "training"
    }
    shown = own if depth == 0 else {name: value for name, value in own.items() if isinstance(value, Tensor)}
    dicts["__dict__"] = tuple(_entry(name, value, labels, True) for name, value in shown.items())
    rows = [Row(path, type(module).__name__, depth, dicts)]
    for name, child in module._modules.items():
        if child is not None:
            rows += rows_of(child, labels, f"{path}.{name}" if path else name, depth + 1)
    return rows


def _entry(name: str, value: Any, labels: Labels, saved: bool) -> Entry:
    if isinstance(value, Tensor):
        return Entry(name, labels(value), str(value.dtype).removeprefix("torch."), saved)
    return Entry(name, dtype="= None" if value is None else "")


def trees_after(
    statements: Sequence[str], names: Mapping[str, Any], root: str = "net"
) -> dict[str, list[Row]]:
    """The tree of the module called `root` after each statement; they are run in order, in a space of their own.

    Args:
        statements: Python; the first makes the module.
        names: What the statements may use.
        root: The module's name in them.
    """
    space, labels, trees = dict(names), Labels(), {}
    for statement in statements:
        exec(statement, space)
        trees[statement] = rows_of(space[root], labels)
    return trees


def changes(before: Sequence[Row] | None, after: Sequence[Row]) -> dict[tuple[str, str, str], str]:
    """What differs, by path, dict and name: "other" where another object stands now, "changed" where it is the same."""
    if before is None:
        return {}
    old, new = _flat(before), _flat(after)
    return {
        place: "changed" if place in old and entry.label == old[place].label else "other"
        for place, entry in new.items()
        if entry != old.get(place)
    }


def _flat(rows: Sequence[Row]) -> dict[tuple[str, str, str], Entry]:
    return {
        (row.path, where, entry.name): entry
        for row in rows
        for where, entries in row.dicts.items()
        for entry in entries
    }


def module_tree(trees: Mapping[str, list[Row]], statement: str) -> Figure:
    """The tree after a statement; what it changed is orange, and has an arrow where another object stands now."""
    rows, new = trees[statement], changes(_before(trees, statement), trees[statement])
    heights = [max(1, *(len(entries) for entries in row.dicts.values())) for row in rows]
    height = (sum(heights) + 3.4) * LINE
    figure = Figure(figsize=(WIDTH, height), facecolor="white")
    axes = figure.add_axes((0.01, 0, 0.98, 1))
    axes.set(xlim=(0, WIDTH), ylim=(sum(heights) + 1.4, -2.0))
    axes.axis("off")
    axes.text(0, -1.4, f"after   {statement}", fontsize=9.5, family="monospace", va="center")
    for name, x in COLUMNS.items():
        axes.text(x, -0.3, name, fontsize=9, color=GREY, va="center", fontweight="bold")
    top = 0.5
    for row, tall in zip(rows, heights, strict=True):
        axes.axhline(top - 0.2, color="#dddddd", linewidth=0.7)
        name = row.path.rpartition(".")[2] or "net"
        axes.text(0.22 * row.depth, top + 0.3, f"{name}  {row.kind}", fontsize=8.5, va="center")
        for where, entries in row.dicts.items():
            for at, entry in enumerate(entries):
                _draw(axes, COLUMNS[where], top + 0.3 + at, entry, new.get((row.path, where, entry.name)))
        top += tall
    return figure


def _draw(axes: Axes, x: float, y: float, entry: Entry, change: str | None) -> None:
    colour = ORANGE if change else BLUE if entry.label else "black"
    text = f"\u2192 {entry}" if change == "other" else str(entry)
    axes.text(x, y, text, fontsize=8, color=colour, va="center", fontweight="bold" if change else "normal")


def _before(trees: Mapping[str, list[Row]], statement: str) -> list[Row] | None:
    order = list(trees)
    place = order.index(statement)
    return trees[order[place - 1]] if place else None


def module_tree_alt(trees: Mapping[str, list[Row]], statement: str) -> str:
    """What `module_tree` shows, in words."""
    found = changes(_before(trees, statement), trees[statement])

    def described(kind: str) -> str:
        names = [
            ".".join(filter(None, (path, name)))
            for (path, _, name), description in found.items()
            if description == kind
        ]
        return ", ".join(names) or "none"

    return (
        f"The tree of {len(trees[statement])} modules after `{statement}`, for each its three dicts and its plain "
        f"attributes; each tensor object has a number. Other objects: {described('other')}. The same objects, changed: "
        f"{described('changed')}."
    )
