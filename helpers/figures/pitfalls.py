"""The figures of lab 10: the digits that a variance keeps far from zero, and views as windows on a storage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from helpers.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE

LINES = ((ORANGE, "-", "o"), (PURPLE, "--", "s"), (GREEN, "-", "D"), (BLUE, ":", "^"), (GREY, "-.", "v"))
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, GREY)
LEAST, MOST = 1e-9, 1e3  # what the axis of errors shows; a smaller error, as 0, is drawn at the bottom


def lost_digits(
    before: Tensor,
    moved: Tensor,
    errors: Mapping[str, Sequence[float]],
    offsets: Sequence[float],
    at: float,
) -> Figure:
    """What an offset makes of numbers in float32, and the error of each formula for their variance.

    Args:
        before: The numbers, one dimension.
        moved: The same with the offset added.
        errors: By formula, the relative error of the variance at each offset. Five formulas at most.
        offsets: Increasing; the first is 0.
        at: The offset of `moved`.
    """
    figure = Figure(figsize=(9.4, 3.9), layout="constrained", facecolor="white")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.5))
    places = np.argsort(before.numpy())
    kept = (moved.double() - at).numpy()
    left.plot(before.numpy()[places], kept[places], ".", color=BLUE, markersize=3)
    left.set(xlabel="number before", ylabel="stored number minus offset", xlim=(-4, 4), ylim=(-4, 4))
    left.set_title(
        f"float32, moved by {at:,.0f}: {len(np.unique(kept))} different numbers", fontsize=10, loc="left"
    )
    for (name, found), (colour, line, mark) in zip(errors.items(), LINES, strict=False):
        shown = np.nan_to_num(np.clip(found, LEAST, MOST), nan=MOST)
        right.plot(range(len(offsets)), shown, line, marker=mark, markersize=4, color=colour, label=name)
    right.axvline(offsets.index(at), color="black", linewidth=1)
    right.axhline(1, color=GREY, linewidth=0.8, linestyle=(0, (1, 3)))
    right.set_yscale("log")
    right.set(ylim=(LEAST / 2, MOST), xlabel="offset", ylabel="relative error of the variance")
    names = [f"{offset:g}" if offset < 1000 else f"{offset:.0e}".replace("e+0", "e") for offset in offsets]
    right.set_xticks(range(len(offsets)), names)
    right.set_title("above the dotted line no digit is left", fontsize=10, loc="left")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#dddddd", linewidth=0.7)
    figure.legend(frameon=False, fontsize=9, loc="outside lower center", ncols=5)
    return figure


def lost_digits_alt(names: Sequence[str], at: float) -> str:
    """What `lost_digits` shows, in words that hold on every machine."""
    return (
        f"Left: a thousand normal numbers as float32 stores them after {at:,.0f} was added. Right: the relative error of "
        f"their variance over the offset, one line each for: {'; '.join(names)}."
    )


def windows(views: Mapping[str, Tensor], groups: Sequence[set[int]], into: str) -> Figure:
    """Each view as a window on its storage: which cells it reads, in which order, and which of them were written.

    Args:
        views: By name, what was 0 everywhere until the numbers of one view were set to something else.
        groups: Sets of places in `views`: whose members share a storage. They have one colour.
        into: The view that was written.
    """
    figure = Figure(figsize=(9.4, 1.0 + 0.36 * len(views)), layout="constrained", facecolor="white")
    axes = figure.subplots()
    colours = {
        place: COLOURS[n % len(COLOURS)] for n, group in enumerate(sorted(groups, key=min)) for place in group
    }
    width = max(_cells(view) for view in views.values())
    for row, (name, view) in enumerate(views.items()):
        _window(axes, row, view, colours[row])
        weight = "bold" if name == into else "normal"
        axes.text(-0.3, row, name, ha="right", va="center", family="monospace", fontsize=9, weight=weight)
        where = f"offset {view.storage_offset()}, sizes {tuple(view.shape)}, strides {view.stride()}"
        axes.text(width + 0.3, row, where, ha="left", va="center", fontsize=8.5, color=GREY)
    axes.set(xlim=(-3.4, width + 6.6), ylim=(len(views) - 0.4, -0.6))
    axes.axis("off")
    axes.set_title(
        f"1 is written into {into}. Full colour: the cells that a tensor sees changed.\n"
        "A row is a storage, one colour is one storage. A number is the place at which the tensor reads the cell.",
        fontsize=10,
        loc="left",
    )
    return figure


def cells_of(view: Tensor) -> list[int]:
    """For each entry of a view, row by row, the cell of the storage that it is: offset + sum of index · stride."""
    return [
        view.storage_offset() + sum(index * step for index, step in zip(entry, view.stride(), strict=True))
        for entry in np.ndindex(*view.shape)
    ]


def windows_alt(views: Mapping[str, Tensor], into: str) -> str:
    """What `windows` shows, in words."""
    seen = [name for name, view in views.items() if view.count_nonzero()]
    return (
        f"A row for each tensor: its storage as cells, those filled that it looks at. Written was {into}; the write is seen "
        f"in: {'; '.join(seen)}. It is not seen in: {'; '.join(name for name in views if name not in seen)}."
    )


def _cells(view: Tensor) -> int:
    """How many cells a view's storage has."""
    return view.untyped_storage().nbytes() // view.element_size()


def _window(axes: Axes, row: int, view: Tensor, colour: str) -> None:
    """The storage of one view, with the cells that it looks at."""
    reads: dict[int, list[int]] = {}
    for place, cell in enumerate(cells_of(view)):
        reads.setdefault(cell, []).append(place)
    values = view.flatten().tolist()
    for cell in range(_cells(view)):
        places = reads.get(cell, [])
        written = any(values[place] != 0 for place in places)
        face = colour if written else (colour, 0.22) if places else "white"
        axes.add_patch(
            Rectangle((cell, row - 0.38), 1, 0.76, facecolor=face, edgecolor="#aaaaaa", linewidth=0.8)
        )
        if places:
            size, ink = 8.5 if len(places) < 2 else 6.5, "white" if written else "black"
            middle, description = (cell + 0.5, row), " ".join(map(str, places))
            axes.text(*middle, description, ha="center", va="center", fontsize=size, color=ink)
