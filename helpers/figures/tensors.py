"""Figures of lab 11: the memory of a tensor, cell by cell, with the indices that read each. From data to a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from helpers.figures.style import GREY

ONCE, OFTEN = "#cfe3f1", "#8dbfe0"  # cells that are read by one index, and by several


def storage(name: str, parts: str, cells: Mapping[int, Sequence[str]], count: int) -> Figure:
    """A memory as a row of cells, and below each the indices with which a tensor reads it.

    Args:
        name: of the tensor.
        parts: its offset, size and stride, in words.
        cells: by the place of an element in memory, the indices that lead to it. Places that are missing are not read.
        count: the elements of the memory.
    """
    deepest = max(len(indices) for indices in cells.values())
    figure = Figure(figsize=(8.4, 1.45 + 0.2 * deepest), layout="constrained", facecolor="white")
    axes = figure.subplots()
    for place in range(count):
        indices = cells.get(place, [])
        colour = "white" if not indices else ONCE if len(indices) == 1 else OFTEN
        axes.add_patch(Rectangle((place, 0), 1, 1, facecolor=colour, edgecolor=GREY, linewidth=1))
        axes.text(place + 0.5, 0.5, str(place), ha="center", va="center", color="black" if indices else GREY)
        for row, index in enumerate(indices):
            axes.text(place + 0.5, -0.35 - 0.5 * row, index, ha="center", va="center", fontsize=9)
    axes.set(xlim=(-0.1, count + 0.1), ylim=(-0.35 - 0.5 * deepest, 1.1), xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    axes.set_title(f"{name}: {parts}", fontsize=10, loc="left")
    return figure


def storage_alt(name: str) -> str:
    """What `storage` shows, in words."""
    return (
        f"Twelve cells of memory in a row. Those that {name} reads are coloured, darker where several indices lead to one "
        "cell; below each cell stand the indices."
    )
