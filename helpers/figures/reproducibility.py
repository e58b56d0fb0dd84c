"""Figures of lab 01: two runs that grow apart, and the error of ways to sum. From data to a figure, nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from helpers.figures.style import BLUE, GREY, ORANGE, white

MARKS = ("-", "--", ":", "-.")
ULP_OF_ONE = 2.0**-23  # the distance from 1 to the next float32


def growing_apart(distances: Mapping[str, Sequence[float]], nudge_at: int) -> Figure:
    """How far two runs are from each other after each step, for several ways to train.

    Args:
        distances: By the name of the way to train, the largest difference of a parameter after each step; 0 where
            the runs are the same, bit for bit.
        nudge_at: The step before which one parameter was moved by one ulp.
    """
    figure, axes = white(7.2, 3.8)
    for (name, values), colour, mark in zip(
        distances.items(), (ORANGE, BLUE, GREY, "k"), MARKS, strict=False
    ):
        after = np.asarray(values, dtype=np.float64)
        last = float(after[-1])
        ending = f"apart by {last:.0e}" if last else "the same bits again"
        axes.plot(
            np.arange(1, len(after) + 1),
            np.where(after > 0, after, np.nan),
            mark,
            color=colour,
            linewidth=1.8,
            label=f"{name}: {ending} at the end",
        )
    steps = max(map(len, distances.values()))
    axes.axvline(nudge_at, color=GREY, linewidth=1)
    axes.axhline(ULP_OF_ONE, color=GREY, linewidth=1, linestyle=(0, (1, 3)))
    axes.text(steps, ULP_OF_ONE, "one ulp of 1.0", color=GREY, ha="right", va="top", fontsize=8)
    axes.set(yscale="log", xlim=(0, steps), ylim=(1e-9, 30), xlabel="step")
    axes.set_ylabel("largest difference\nof a parameter")
    axes.set_title(f"One parameter moved by one ulp before step {nudge_at}", fontsize=10, loc="left")
    figure.legend(frameon=False, fontsize=9, loc="outside lower center", ncols=2)
    return figure


def growing_apart_alt(names: Sequence[str], nudge_at: int) -> str:
    """What `growing_apart` shows, in words that hold on every machine."""
    return (
        f"The largest difference of a parameter between two runs, on a logarithmic axis, over the training steps. "
        f"The runs are the same until one parameter is moved by one ulp before step {nudge_at}. "
        f"One line each for: {', '.join(names)}."
    )


def errors_of_sums(results: Mapping[str, np.ndarray], exact: float, condition: str) -> Figure:
    """Error of each way to sum, one dot for each order of the numbers, and how many different results it gave.

    Args:
        results: By the name of the way, one result for each order; float32 values.
        exact: The sum, rounded once.
        condition: How hard the numbers are to sum, for the title.
    """
    figure, axes = white(7.2, 3.6)
    ulp = float(np.spacing(np.float32(abs(exact)))) or float(np.spacing(np.float32(0)))
    for place, values in enumerate(results.values()):
        values = np.asarray(values, dtype=np.float64)
        error = np.abs(values - exact) / ulp
        spread = np.linspace(-0.28, 0.28, len(error))
        different = len(np.unique(values))
        colour = BLUE if different == 1 else ORANGE
        axes.plot(place + spread, error, "o" if different > 1 else "s", color=colour, markersize=3.5)
        message = "1 result" if different == 1 else f"{different} results"
        axes.text(
            place, 0.96, message, transform=axes.get_xaxis_transform(), ha="center", va="top", fontsize=9
        )
    axes.set_yscale("symlog", linthresh=1)
    axes.set(ylim=(-0.3, 1e16), xticks=range(len(results)), xticklabels=list(results))
    axes.set_yticks([0, 1, 1e3, 1e6, 1e9, 1e12], ["0", "1", "10³", "10⁶", "10⁹", "10¹²"])
    axes.set_ylabel("error, in ulp of the sum")
    axes.set_title(
        f"{len(next(iter(results.values())))} orders of the same numbers; {condition}",
        fontsize=10,
        loc="left",
    )
    return figure


def errors_of_sums_alt(names: Sequence[str], condition: str) -> str:
    """What `errors_of_sums` shows, in words that hold on every machine."""
    return (
        f"One column of dots for each way to sum ({', '.join(names)}): the error of the sum in ulp, on a logarithmic "
        f"axis, for many orders of the same numbers; {condition}. Above each column stands how many different results came."
    )
