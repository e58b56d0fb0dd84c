"""The ports of all ranks over time: why naive waits at the root and the ring does not. From data to a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from helpers.figures.style import BLUE, GREY, ORANGE
from helpers.labs.allreduce.shared.cost_model import in_words
from helpers.labs.allreduce.shown.port_times import Transfer


def ports(runs: Mapping[str, Sequence[Transfer]], world: int, title: str) -> Figure:
    """Two rows a rank, out and in; a bar is a message, with the number of the other rank. One panel a run, one time axis.

    Args:
        runs: From `transfers`, by the name of the algorithm.
        world: Number of ranks.
        title: How long a message takes, in words.
    """
    figure = Figure(
        figsize=(7.6, 0.9 + len(runs) * (0.55 + 0.36 * world)), layout="constrained", facecolor="white"
    )
    end = max(map(_over, runs.values()), default=0.0) or 1.0
    for axes, (name, run) in zip(figure.subplots(len(runs), squeeze=False)[:, 0], runs.items(), strict=True):
        _panel(axes, run, world, end)
        over = _over(run)
        axes.set_title(
            f"{name}: {in_words(over)}, the ports are busy {busy_share(run, world):.0%} of it",
            fontsize=10,
            loc="left",
        )
        axes.axvline(over, color=GREY, linewidth=0.8, linestyle=":")
    axes.set_xlabel(f"time. {title}", fontsize=9)
    axes.xaxis.set_major_formatter(lambda time, _: in_words(time))
    for upper in figure.axes[:-1]:
        upper.set_xticklabels([])
    return figure


def _panel(axes: Axes, run: Sequence[Transfer], world: int, end: float) -> None:
    for transfer in run:
        for rank, other, at, colour in (
            (transfer.sender, transfer.receiver, -0.2, BLUE),
            (transfer.receiver, transfer.sender, 0.2, ORANGE),
        ):
            width = transfer.end - transfer.start
            axes.barh(rank + at, width, left=transfer.start, height=0.36, color=colour, edgecolor="white")
            if width > end / 60:
                middle = transfer.start + width / 2
                axes.text(middle, rank + at, str(other), fontsize=8, color="white", ha="center", va="center")
    for rank in range(world):
        axes.text(-0.005 * end, rank - 0.2, "out", fontsize=7, ha="right", va="center", color=BLUE)
        axes.text(-0.005 * end, rank + 0.2, "in", fontsize=7, ha="right", va="center", color=ORANGE)
    axes.set_yticks(range(world), [f"rank {rank}      " for rank in range(world)], fontsize=9)
    axes.tick_params(axis="y", length=0)
    axes.set(xlim=(0, end * 1.01), ylim=(world - 0.5, -0.5))
    axes.spines[["top", "right", "left"]].set_visible(False)


def _over(run: Sequence[Transfer]) -> float:
    return max((transfer.end for transfer in run), default=0.0)


def busy_share(run: Sequence[Transfer], world: int) -> float:
    """The share of the time in which a port sends, or receives, on average over all ports and both directions."""
    busy = sum(2 * (transfer.end - transfer.start) for transfer in run)
    return busy / (2 * world * _over(run)) if run else 0.0


def ports_alt(runs: Mapping[str, Sequence[Transfer]], world: int) -> str:
    """What `ports` shows, in words."""
    messages = [f"{name} takes {in_words(_over(run))}" for name, run in runs.items()]
    return f"Bars of messages over time, for each of {world} ranks a row out and a row in: {'; '.join(messages)}."
