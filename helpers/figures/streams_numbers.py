"""Figures of lab 06, second sitting: the bits of a number in four formats, and errors over the length of a sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from helpers.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE, white
from helpers.labs.streams.shown.float_formats import Fields

PALE = {"sign": "#f2c7ad", "exponent": "#b3dccb", "mantissa": "#b3d1e6"}
LINES = (BLUE, ORANGE, GREEN, PURPLE)


def bit_rows(rows: Sequence[Fields], title: str) -> Figure:
    """The bits of one number in several formats, one row each, the points of the mantissas under each other."""
    figure, axes = white(8.6, 0.75 + 0.46 * len(rows))
    axes.set_axis_off()
    widest = max(len(row.exponent) for row in rows)
    longest = 1 + widest + max(len(row.mantissa) for row in rows)
    for at, row in enumerate(rows):
        first = widest - len(row.exponent) + 1.3
        for part, bits, column in (
            ("sign", row.sign, 0.0),
            ("exponent", row.exponent, first),
            ("mantissa", row.mantissa, widest + 1.6),
        ):
            for place, bit in enumerate(bits):
                axes.barh(at, 0.94, left=column + place, height=0.74, color=PALE[part])
                axes.text(
                    column + place + 0.47, at, bit, family="monospace", fontsize=9, ha="center", va="center"
                )
        axes.text(-0.5, at, row.format.name, fontsize=9.5, ha="right", va="center")
        axes.text(longest + 1.2, at, f"{row.value:.9g}", fontsize=9.5, ha="left", va="center")
    for part, column in {"sign": -1.1, "exponent": 1.3, "mantissa": widest + 1.6}.items():
        axes.text(column, -0.75, part, fontsize=8.5, color=GREY, ha="left", va="center")
    axes.set(xlim=(-5, 48), ylim=(len(rows) - 0.5, -1.1))
    axes.set_title(title, fontsize=10, loc="left")
    return figure


def bit_rows_alt(rows: Sequence[Fields], title: str) -> str:
    """What `bit_rows` shows, in words."""
    message = ", ".join(f"{row.format.name} holds {row.value:.9g}" for row in rows)
    return f"The bits of {title} in {len(rows)} formats, sign, exponent and mantissa under each other: {message}."


def errors(
    predicted: Mapping[str, Sequence[float]], seen: Mapping[str, Sequence[float]], sizes: Sequence[int]
) -> Figure:
    """Relative errors over the number of terms, on two logarithmic axes.

    Args:
        predicted: By name, a line: one error for each of `sizes`.
        seen: By the same names, the points that were measured.
        sizes: Numbers of terms, growing.
    """
    figure, axes = white(8.2, 3.6)
    for (name, values), colour, marker in zip(predicted.items(), LINES, "osD^", strict=False):
        axes.plot(sizes, values, color=colour, linewidth=1.5)
        axes.plot(sizes, seen[name], color=colour, marker=marker, linestyle="none", markersize=6, label=name)
    axes.set(xscale="log", yscale="log", xlabel="terms of each sum", ylabel="relative error")
    axes.set_xticks(sizes, [str(n) for n in sizes])
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize=9)
    return figure


def errors_alt(names: Sequence[str]) -> str:
    """What `errors` shows, in words that hold on every machine."""
    return (
        f"Relative error over the number of terms, points as measured on lines as predicted, for: {', '.join(names)}. "
        "The line of positive numbers rounded to nearest falls, the others are level."
    )
