"""Figures of lab 08: what an all-reduce costs by size, with what was measured on it. From data to a figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from helpers.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE, white
from helpers.labs.allreduce.shared.cost_model import in_words

Cost = Callable[[float], float]  # nbytes -> seconds
Row = tuple[str, int, int, float]  # algorithm, world, nbytes, seconds

LOOKS = {  # a colour and a kind of line, for those who do not see colours
    "naive": (ORANGE, "--"),
    "tree": (GREEN, "-."),
    "ring": (BLUE, "-"),
    "nodes of 8": (PURPLE, (0, (5, 1, 1, 1, 1, 1))),
}
UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1, "B"))


def size_in_words(nbytes: float) -> str:
    """4194304 -> 4 MB; three digits."""
    unit, name = next(((unit, name) for unit, name in UNITS if nbytes >= unit), UNITS[-1])
    return f"{nbytes / unit:.3g} {name}"


def cost_curves(
    costs: Mapping[str, Cost],
    title: str,
    *,
    measured: Sequence[Row] = (),
    sizes: tuple[float, float] = (1e3, 1e9),
    fitted: Sequence[int] = (),
) -> Figure:
    """Time against size, both as powers of ten, one line an algorithm.

    A line is flat as long as messages cost more than bytes, and then rises with the size; where two lines cross, the
    fastest changes, and the strip along the lower edge has the colour of the fastest.

    Args:
        costs: By name; `LOOKS` knows four.
        measured: Points of these algorithms, on top of the lines.
        sizes: From where to where.
        fitted: The worlds whose points were used for the fit: they are filled, the others empty.
    """
    figure, axes = white(6.8, 4.6)
    axes.set(xscale="log", yscale="log", xlim=sizes, xlabel="bytes of the vector", ylabel="time")
    axes.grid(axis="x", color="#eeeeee", linewidth=0.7)
    grid = _spaced(*sizes)
    for name, cost in costs.items():
        colour, line = LOOKS.get(name, (GREY, ":"))
        axes.plot(grid, [cost(nbytes) for nbytes in grid], color=colour, linestyle=line, linewidth=1.8)
    for name, world, nbytes, seconds in measured:
        colour, _ = LOOKS.get(name, (GREY, ":"))
        inside = colour if world in fitted else "white"
        axes.plot(nbytes, seconds, "o", color=colour, markerfacecolor=inside, markersize=6, zorder=3)
    _fastest(axes, costs, grid)
    axes.set_title(title, fontsize=10, loc="left")
    axes.xaxis.set_major_formatter(lambda nbytes, _: size_in_words(nbytes))
    axes.yaxis.set_major_formatter(lambda seconds, _: in_words(seconds))
    figure.legend(
        handles=_keys(costs, measured, fitted), frameon=False, fontsize=9, loc="outside lower center", ncols=3
    )
    return figure


def _spaced(low: float, high: float, count: int = 121) -> list[float]:
    """Numbers from low to high with equal ratios."""
    return [low * (high / low) ** (place / (count - 1)) for place in range(count)]


def fastest(costs: Mapping[str, Cost], grid: Sequence[float]) -> list[tuple[str, float, float]]:
    """Which is the lowest, from where to where."""
    parts: list[tuple[str, float, float]] = []
    for nbytes in grid:
        best = min(costs, key=lambda name: costs[name](nbytes))
        if parts and parts[-1][0] == best:
            parts[-1] = (best, parts[-1][1], nbytes)
        else:
            parts.append((best, parts[-1][2] if parts else nbytes, nbytes))
    return parts


def _fastest(axes: Axes, costs: Mapping[str, Cost], grid: Sequence[float]) -> None:
    """A strip along the lower edge, coloured by who is the fastest."""
    for name, low, high in fastest(costs, grid):
        colour, _ = LOOKS.get(name, (GREY, ":"))
        axes.axvspan(low, high, ymax=0.025, color=colour, linewidth=0)


def _keys(costs: Mapping[str, Cost], measured: Sequence[Row], fitted: Sequence[int]) -> list[Line2D]:
    keys = [
        Line2D(
            [],
            [],
            color=LOOKS.get(name, (GREY, ":"))[0],
            linestyle=LOOKS.get(name, (GREY, ":"))[1],
            label=name,
        )
        for name in costs
    ]
    worlds = {row[1] for row in measured}
    dot = {"color": GREY, "linestyle": "", "marker": "o"}
    if worlds & set(fitted):
        keys.append(Line2D([], [], label="measured, in the fit", **dot))
    if worlds - set(fitted):
        label = "measured, not in the fit" if fitted else "measured"
        keys.append(Line2D([], [], markerfacecolor="white", label=label, **dot))
    keys.append(Line2D([], [], color=GREY, linewidth=5, label="lower edge: the fastest line"))
    return keys


def cost_curves_alt(costs: Mapping[str, Cost], title: str, sizes: tuple[float, float] = (1e3, 1e9)) -> str:
    """What `cost_curves` shows, in words."""
    order = [name for name, *_ in fastest(costs, _spaced(*sizes))]
    shown = (
        f"Time against bytes, from {size_in_words(sizes[0])} to {size_in_words(sizes[1])}, one line each for"
    )
    return f"{title}. {shown} {', '.join(costs)}. From short to long vectors the fastest is: {', then '.join(order)}."
