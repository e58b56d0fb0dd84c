"""Figures of lab 11: the memory of a tensor, cell by cell, with the indices that read each. From data to a figure."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from helpers.figures.style import BLUE, GREY, ORANGE

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


def runs(
    size: Sequence[int], stride: Sequence[int], new_size: Sequence[int], found: Sequence[int] | None
) -> Figure:
    """The elements of a tensor in the order of their indices, the jumps in memory, and what each new dimension goes through.

    Args:
        size, stride: of the tensor.
        new_size: the size that is wanted, with as many elements.
        found: the strides for it, None if there are none.
    """
    places = [sum(i * s for i, s in zip(index, stride, strict=True)) for index in np.ndindex(*size)]
    figure = Figure(figsize=(8.4, 1.6 + 0.3 * len(new_size)), layout="constrained", facecolor="white")
    axes = figure.subplots()
    for at, place in enumerate(places):
        axes.add_patch(Rectangle((at, 0), 1, 0.8, facecolor=ONCE, edgecolor=GREY, linewidth=1))
        axes.text(at + 0.5, 0.4, str(place), ha="center", va="center", fontsize=9)
    for at, (before, after) in enumerate(itertools.pairwise(places), 1):
        axes.text(at, 1.05, f"{after - before:+}", ha="center", va="center", fontsize=8, color=GREY)
    part = 1
    for row, n in enumerate(reversed(new_size), 1):
        axes.text(-0.4, -0.42 * row + 0.14, str(n), ha="right", va="center", fontsize=9)
        steps = {
            after - before
            for start in range(0, len(places), part * n)
            for before, after in itertools.pairwise(places[start : start + part * n : part])
        }
        for start in range(0, len(places), part * n):
            colour = ORANGE if len(steps) > 1 else BLUE
            bar = Rectangle((start + 0.08, -0.42 * row), part * n - 0.16, 0.28, facecolor=colour, alpha=0.75)
            axes.add_patch(bar)
            for inner in range(start + part, start + part * n, part):
                axes.plot([inner, inner], [-0.42 * row, -0.42 * row + 0.28], color="white", linewidth=1.5)
        part *= n
    axes.set(xlim=(-1.2, len(places) + 0.1), ylim=(-0.42 * len(new_size) - 0.1, 1.3), xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    words = f"stride {tuple(found)}" if found is not None else "no such view"
    title = f"size {tuple(size)}, stride {tuple(stride)}, as {tuple(new_size)}: {words}"
    axes.set_title(title, fontsize=10, loc="left")
    return figure


def runs_alt(name: str) -> str:
    """What `runs` shows, in words."""
    return (
        f"Twenty-four cells in the order of the indices, with the jump in memory between neighbours, for {name}. Below them a row "
        "of bars for each new dimension; orange ones have steps of different lengths."
    )
