"""Figures of lab 04: ways down a surface, and learning rates over steps. From data to a figure, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from helpers.figures.style import BLUE, GREEN, GREY, ORANGE, white

MARKS = ("-", "--", "-.", ":")
COLOURS = (ORANGE, BLUE, GREEN, GREY)


def ways_down(
    ways: Mapping[str, np.ndarray], surface: Callable[[np.ndarray, np.ndarray], np.ndarray], title: str
) -> Figure:
    """Where each optimizer goes on a surface over the plane.

    Args:
        ways: By the optimizer's name, its places: float array of shape (steps + 1, 2). Four at most.
        surface: Height over arrays x and y of one shape. Its lowest place is (0, 0).
        title: What the ways have in common.
    """
    figure, axes = white(7.2, 4.9)
    x, y = np.meshgrid(np.linspace(-4.6, 4.6, 140), np.linspace(-2.3, 2.3, 90))
    axes.contour(x, y, surface(x, y), levels=np.geomspace(0.03, 120, 14), colors="#c8c8c8", linewidths=0.8)
    for (name, places), colour, mark in zip(ways.items(), COLOURS, MARKS, strict=False):
        inside = np.abs(places).max(axis=1) < 50
        ending = "left the plane" if not inside.all() else f"ends {np.hypot(*places[-1]):.2g} from the bottom"
        shown = places if inside.all() else places[: int(np.argmin(inside)) + 1]
        axes.plot(
            *shown.T, mark, marker="o", markersize=2.5, linewidth=1.3, color=colour, label=f"{name}: {ending}"
        )
    axes.plot(0, 0, "+", color="black", markersize=11)
    axes.set(xlim=(-4.6, 4.6), ylim=(-2.3, 2.3), xlabel="flat direction", ylabel="steep direction")
    axes.set_aspect("equal")  # so that a step of equal lengths goes at 45 degrees
    axes.grid(False)
    axes.set_title(title, fontsize=10, loc="left")
    figure.legend(frameon=False, fontsize=9, loc="outside lower center", ncols=2)
    return figure


def ways_down_alt(names: Sequence[str], title: str) -> str:
    """What `ways_down` shows, in words that hold on every machine."""
    return (
        f"Level lines of a narrow valley seen from above, and the places that each optimizer visits on its way to the "
        f"bottom ({', '.join(names)}); {title}."
    )


def rates(
    curves: Mapping[str, Sequence[float]], title: str, marks: Mapping[int, str] | None = None
) -> Figure:
    """Learning rates over steps, one line for each setting of a scheduler.

    Args:
        curves: By the setting in words, the rate that each step uses. Four at most.
        title: The scheduler.
        marks: By step, what happens there; drawn as a vertical line.
    """
    figure, axes = white(7.2, 3.3)
    for (name, values), colour, mark in zip(curves.items(), COLOURS, MARKS, strict=False):
        axes.plot(
            np.arange(len(values)),
            values,
            mark,
            drawstyle="steps-post",
            color=colour,
            linewidth=1.8,
            label=name,
        )
    for step, description in (marks or {}).items():
        axes.axvline(step, color=GREY, linewidth=1, linestyle=(0, (1, 3)))
        axes.text(
            step, 1.02, description, transform=axes.get_xaxis_transform(), color=GREY, ha="center", fontsize=8
        )
    axes.set(xlabel="step", ylabel="learning rate", xlim=(0, max(map(len, curves.values())) - 1))
    axes.set_ylim(bottom=0)
    axes.set_title(title, fontsize=10, loc="left", pad=18 if marks else 6)
    figure.legend(frameon=False, fontsize=9, loc="outside lower center", ncols=2)
    return figure


def rates_alt(names: Sequence[str], title: str) -> str:
    """What `rates` shows, in words."""
    return f"The learning rate at each step under {title}, one line each for: {'; '.join(names)}."
