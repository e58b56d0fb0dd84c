"""What all figures of the course share: colours, and white paper in light and in dark surroundings."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by colour-blind readers.
BLUE, ORANGE, GREEN, PURPLE, YELLOW, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
GREY = "#595959"


def white(width: float, height: float) -> tuple[Figure, Axes]:
    """An empty figure of this size in inches, with one pair of axes and horizontal lines."""
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    return figure, axes
