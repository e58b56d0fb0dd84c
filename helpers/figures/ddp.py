"""Figures of lab 07: what is sent while backward runs. From data to a figure, nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from helpers.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW, white

FILLS = (BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW)
INKS = {BLUE: "white", GREEN: "white", ORANGE: "white"}
ALONE = "#bbbbbb"
LANES = ("backward", "link")

Bar = tuple[str, str, int, float, float]  # lane, label, bucket, begin and end in seconds


def overlap(bars: Sequence[Bar], computed: float, title: str) -> Figure:
    """Backward and the link, one row each, over time; a bucket's gradients and its all-reduce have one colour.

    Args:
        bars: Layers of the backward (labelled with the layer) and all-reduces (with their number).
        computed: When the backward alone would be over, in seconds.
        title: What was run, and with which result.
    """
    figure, axes = white(8.2, 2.3)
    axes.grid(axis="x", color="#dddddd", linewidth=0.7)
    axes.grid(visible=False, axis="y")
    for lane, label, bucket, begin, end in bars:
        colour = FILLS[bucket % len(FILLS)] if bucket >= 0 else ALONE
        row = LANES.index(lane)
        width = (end - begin) * 1e3
        axes.barh(row, width, left=begin * 1e3, height=0.66, color=colour, edgecolor="white", linewidth=0.8)
        middle = (begin + end) / 2 * 1e3
        ink = INKS.get(colour, "black")
        axes.text(middle, row, label, color=ink, fontsize=7.5, ha="center", va="center", clip_on=True)
    axes.axvline(computed * 1e3, color=GREY, linewidth=1, linestyle="--")
    whole = max((end for *_, end in bars), default=computed) * 1e3
    axes.set(xlim=(0, whole * 1.005), ylim=(1.5, -0.5), xlabel="milliseconds")
    axes.set_yticks(range(2), ["backward:\nlayers", "link:\nall-reduces"])
    axes.tick_params(axis="y", length=0)
    axes.set_title(title, fontsize=10, loc="left")
    return figure


def overlap_alt(bucket_kb: int, ranks: int) -> str:
    """What `overlap` shows for one choice of the sliders, in words that hold on every machine."""
    return (
        f"Two rows over time. Above, the backward of twelve layers, the last one first. Below, the all-reduces of the "
        f"buckets of {bucket_kb} KB on {ranks} ranks, one after the other, each in the colour of the layers whose "
        f"gradients it carries. A dashed line marks the end of the backward."
    )


def step_times(lines: Mapping[str, Sequence[float]], ranks: Sequence[int], alone: float) -> Figure:
    """Milliseconds of a step over the number of ranks, one line for each way to send.

    Args:
        lines: By name, seconds for each entry of `ranks`.
        ranks: Numbers of ranks, growing.
        alone: Seconds of a step of one process, which sends nothing.
    """
    figure, axes = white(8.2, 3.4)
    places = range(len(ranks))
    for (name, seconds), colour, marker in zip(lines.items(), FILLS, "osD^vP", strict=False):
        axes.plot(places, [1e3 * s for s in seconds], color=colour, marker=marker, linewidth=1.8, label=name)
    axes.axhline(alone * 1e3, color=GREY, linewidth=1, linestyle="--", label="one process")
    axes.set_xticks(places, [str(n) for n in ranks])
    axes.set(xlabel="ranks", ylabel="ms for a backward with its exchange", ylim=(0, None))
    axes.legend(frameon=False, fontsize=9)
    return figure


def step_times_alt(lines: Sequence[str]) -> str:
    """What `step_times` shows, in words that hold on every machine."""
    return f"Time of a step over the number of ranks, one rising line each for: {', '.join(lines)}. A dashed line marks one process."
