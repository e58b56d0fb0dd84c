"""Figures of lab 13: who looks at whom, bytes against the length, halves of digits. From data to a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from helpers.figures.style import BLUE, GREEN, GREY, ORANGE, white

COLOURS, MARKS = (ORANGE, GREY, BLUE, GREEN), ("o-", "s--", "D-", "^--")


def looks(weights: Tensor, title: str, rows: Sequence[str]) -> Figure:
    """A table of weights, a row a query, a column a key; cells of weight 0 are crossed out.

    Args:
        weights: shape (queries, keys), from 0 to 1.
        title: what is shown.
        rows: the queries' names.
    """
    figure = Figure(figsize=(5.2, 0.55 * len(weights) + 1.3), layout="constrained", facecolor="white")
    axes = figure.subplots()
    _table(axes, weights, numbers=True)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_title(title, fontsize=10, loc="left")
    return figure


def looks_alt(title: str) -> str:
    """What `looks` shows, in words."""
    return f"A table of weights with a row for each query and a column for each key; given: {title}. Crossed cells are blocked."


def rows_and_looks(picture: Tensor, weights: Tensor, title: str) -> Figure:
    """A digit, and beside it who looks at whom among its rows, each query beside its row.

    Args:
        picture: shape (rows, pixels), from 0 to 1.
        weights: shape (queries, keys), the queries are the first rows of the picture.
        title: which layer and head.
    """
    count = len(weights)
    figure = Figure(figsize=(7.2, 3.7), layout="constrained", facecolor="white")
    left, right = figure.subplots(1, 2)
    left.imshow(picture[:count], cmap="gray_r", vmin=0, vmax=1)
    left.set(xticks=[], ylabel="row, as a query", yticks=range(count))
    left.set_title("what the model reads", fontsize=10, loc="left")
    _table(right, weights, numbers=False)
    right.set_yticks(range(count))
    right.set_title(title, fontsize=10, loc="left")
    return figure


def rows_and_looks_alt(digit: int, layer: int, head: int) -> str:
    """What `rows_and_looks` shows, in words."""
    return (
        f"The upper rows of a digit {digit}, and beside them a lower triangle: how much each row looks at the rows up to "
        f"itself, in layer {layer}, head {head}."
    )


def _table(axes: Axes, weights: Tensor, *, numbers: bool) -> None:
    axes.imshow(weights, cmap="Blues", vmin=0, vmax=1, aspect="auto" if numbers else "equal")
    axes.set_xticks(range(weights.shape[1]))
    axes.set_xlabel("looks at position" if numbers else "looks at row")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    for query, key in torch.cartesian_prod(*map(torch.arange, weights.shape)).tolist():
        weight = weights[query, key].item()
        if weight == 0:
            axes.plot(key, query, "x", color="#9a9a9a", markersize=6)
        elif numbers:
            axes.text(
                key,
                query,
                f"{weight:.2f}",
                ha="center",
                va="center",
                fontsize=9,
                color="w" if weight > 0.6 else "k",
            )


def saved_by_length(lengths: Sequence[int], saved: Mapping[str, Sequence[int]], width: int) -> Figure:
    """Bytes that are saved for the backward against the length, both axes logarithmic, with what formulas say.

    Args:
        lengths: ascending.
        saved: by the way to attend, the bytes for each length. Four at most.
        width: D, of the one head.
    """
    figure, axes = white(7.2, 4.2)
    for (name, sizes), colour, mark in zip(saved.items(), COLOURS, MARKS, strict=False):
        hollow = {"fillstyle": "none", "markersize": 10} if mark == MARKS[-1] else {"markersize": 5}
        axes.plot(lengths, sizes, mark, color=colour, linewidth=1.6, label=name, **hollow)
    fine = {"4 T T": [4 * t * t for t in lengths], "4 T (D + 1)": [4 * t * (width + 1) for t in lengths]}
    for name, sizes in fine.items():
        axes.plot(lengths, sizes, color="black", linewidth=1, linestyle=(0, (1, 2)))
        axes.annotate(name, (lengths[-1], sizes[-1]), xytext=(6, -3), textcoords="offset points", fontsize=9)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks(lengths, [str(length) for length in lengths])
    ticks = [2**power for power in range(11, 25, 2)]
    axes.set_yticks(ticks, [f"{size // 1024:,} KiB" for size in ticks])
    axes.set(xlabel="length T", xlim=(lengths[0] * 0.9, lengths[-1] * 1.7))
    axes.set_title("saved for the backward, beside q, k and v", fontsize=10, loc="left")
    axes.legend(frameon=False, fontsize=9)
    return figure


def saved_by_length_alt() -> str:
    """What `saved_by_length` shows, in words."""
    return (
        "Four lines, bytes against the length, both logarithmic. Those of SDPA's fused kernel and of your Function have slope "
        "1 and lie on the line 4 T (D + 1) or near it; those by hand and of the plain formula have slope 2."
    )


def halves(digits: Tensor, made: Tensor) -> Figure:
    """Digits as they were written, and below them the same with lower halves that a model made.

    Args:
        digits, made: shape (n, 8, 8), from 0 to 1; the upper halves are equal.
    """
    figure = Figure(figsize=(7.2, 1.9), layout="constrained", facecolor="white")
    axes = figure.subplots(2, len(digits))
    for row, pictures in enumerate((digits, made)):
        for ax, picture in zip(axes[row], pictures, strict=True):
            ax.imshow(picture, cmap="gray_r", vmin=0, vmax=1)
            ax.axhline(3.5, color=ORANGE, linewidth=1)
            ax.set(xticks=[], yticks=[])
    for row, name in enumerate(("written", "made")):
        axes[row, 0].set_ylabel(name, fontsize=9)
    return figure


def halves_alt() -> str:
    """What `halves` shows, in words."""
    return (
        "Ten digits, and below each the same upper half with a lower half that the model made. Most of them are the digit "
        "that the upper half began."
    )
