"""The figure of lab 10: numbers far from zero, and how many digits of their variance each formula keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from torch import Tensor

from helpers.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE

LINES = ((ORANGE, "-", "o"), (PURPLE, "--", "s"), (GREEN, "-", "D"), (BLUE, ":", "^"), (GREY, "-.", "v"))
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
