"""Figures of lab 14: bytes that live over a step, segments with their blocks, what is reserved. From data to a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from helpers.figures.style import BLUE, GREY, ORANGE, white

COLOURS = (BLUE, ORANGE)
MIB = 1 << 20


def over_time(alive: Mapping[str, Sequence[int]], *, apart: bool = False) -> Figure:
    """The bytes that live after each request of one step or more.

    Args:
        alive: by the step's name, its bytes. Two at most. Each begins at 0 and ends at 1 on the axis.
        apart: each in a picture of its own, with a scale of its own.
    """
    if apart:
        figure = Figure(figsize=(7.2, 3.0), layout="constrained", facecolor="white")
        all_axes = list(figure.subplots(1, len(alive)))
    else:
        figure, axes = white(7.2, 3.2)
        all_axes = [axes] * len(alive)
    for (name, sizes), axes, colour, dashes in zip(
        alive.items(), all_axes, COLOURS, ("-", "--"), strict=False
    ):
        places = [at / (len(sizes) - 1) for at in range(len(sizes))]
        axes.plot(
            places,
            [size / MIB for size in sizes],
            color=colour,
            linestyle=dashes,
            drawstyle="steps-post",
            label=name,
        )
        axes.spines[["top", "right"]].set_visible(False)
        axes.set(xlabel="requests, from the first to the last", ylabel="MiB that live", xticks=[], ylim=0)
        axes.legend(frameon=False, fontsize=9)
    return figure


def over_time_alt(first: str, second: str) -> str:
    """What `over_time` shows, in words: where each of two curves is highest."""
    return f"Two curves of the bytes that live during a step. {first} {second}"


def peak_and_runs(points: Sequence[tuple[int, int, int]], everything: int) -> Figure:
    """What checkpoints gain and cost.

    Args:
        points: for each choice of layers the budget and the measured peak in bytes, and how many layers ran twice.
        everything: the bytes of all outputs.
    """
    figure, axes = white(7.2, 3.2)
    runs = [again for *_, again in points]
    axes.plot(
        runs, [100 * peak / everything for _, peak, _ in points], "o-", color=BLUE, label="measured peak"
    )
    axes.plot(
        runs,
        [100 * budget / everything for budget, *_ in points],
        "_",
        color=ORANGE,
        markersize=18,
        label="budget",
    )
    axes.set(xlabel="layers that run twice", ylabel="% of all outputs", xticks=runs, ylim=(0, 105))
    axes.legend(frameon=False, fontsize=9)
    return figure


def peak_and_runs_alt() -> str:
    """What `peak_and_runs` shows, in words."""
    return (
        "The measured peak against the number of layers that run twice. It falls steeply with the first ones and slowly with "
        "the last; each point lies near its budget or below it."
    )


def segments(snapshot: Sequence[Mapping[str, Any]], alive: Sequence[int], at: int) -> Figure:
    """Segments as bars with their blocks, and below them where in the step this is.

    Args:
        snapshot: as `CachingAllocator.snapshot` gives it.
        alive: the bytes that live after each request of the step.
        at: the request after which the snapshot was taken.
    """
    rows = max(len(snapshot), 1)
    height = 0.16 * rows
    figure = Figure(figsize=(7.2, height + 2.5), layout="constrained", facecolor="white")
    above, below = figure.subplots(2, 1, height_ratios=[height + 0.6, 1.6])
    _bars(above, snapshot)
    below.plot([size / MIB for size in alive], color=GREY, drawstyle="steps-post", linewidth=1)
    below.plot(at, alive[at] / MIB, "o", color=ORANGE)
    below.spines[["top", "right"]].set_visible(False)
    below.set(ylabel="MiB that live", xlabel="request", ylim=0)
    return figure


def _bars(axes: Axes, snapshot: Sequence[Mapping[str, Any]]) -> None:
    for row, segment in enumerate(snapshot):
        for block in segment["blocks"]:
            left = (block["address"] - segment["address"]) / MIB
            out = block["state"] != "inactive"
            axes.add_patch(
                Rectangle(
                    (left, row - 0.38),
                    block["size"] / MIB,
                    0.76,
                    facecolor=BLUE if out else "white",
                    edgecolor="white" if out else GREY,
                    linewidth=0.5,
                )
            )
    widest = max((segment["total_size"] for segment in snapshot), default=MIB)
    axes.set(
        xlim=(0, widest / MIB),
        ylim=(len(snapshot) - 0.4, -0.6),
        yticks=[],
        xlabel="MiB from the segment's start",
    )
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_title("segments: handed out in blue, idle in white", fontsize=10, loc="left")


def segments_alt(at: int) -> str:
    """What `segments` shows, in words."""
    return (
        f"After request {at}: segments as bars, the blocks that are handed out in blue and the idle ones in white. Below them "
        "the bytes that live, which rise in the forward and fall in the backward, with a mark at this request."
    )


def reserved(by_order: Mapping[str, Sequence[int]], live: int) -> Figure:
    """What is reserved after each step, in MiB.

    Args:
        by_order: by the order of the batches, a number for each step. Two at most.
        live: the most that lives in any step, a line.
    """
    figure, axes = white(7.2, 3.2)
    for (name, sizes), colour, mark in zip(by_order.items(), COLOURS, ("o-", "s--"), strict=False):
        axes.plot(range(1, len(sizes) + 1), sizes, mark, color=colour, markersize=4, label=name)
    axes.axhline(live, color="black", linewidth=1, linestyle=(0, (1, 2)), zorder=3)
    axes.annotate("what lives at most", (1, live), xytext=(0, 6), textcoords="offset points", fontsize=9)
    axes.set(xlabel="step", ylabel="MiB reserved", ylim=0)
    axes.legend(frameon=False, fontsize=9)
    return figure


def reserved_alt() -> str:
    """What `reserved` shows, in words."""
    return (
        "Reserved memory after each of sixteen steps. With the long batches first it is flat, at what the longest step needs. "
        "With the short ones first it climbs faster and faster, to several times as much."
    )
