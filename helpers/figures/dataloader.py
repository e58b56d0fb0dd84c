"""Figures of lab 02: who loads which batch when. From data to a figure, nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from helpers.figures.style import BLUE, GREEN, ORANGE, SKY, white

FILLS = {"wait": ORANGE, "load": SKY, "step": GREEN}
SAID = {"wait": "main process waits", "load": "a batch is loaded", "step": "training step"}

Bar = tuple[str, str, int, float, float]  # lane, kind (wait, load, step), batch, begin and end in seconds


def timeline(bars: Sequence[Bar], title: str, *, slow: int | None = None) -> Figure:
    """The main process and the workers, one row each, over time.

    Args:
        bars: What each does from when to when.
        title: What was run, and with which result.
        slow: The batch that takes longer than others; it gets another colour.
    """
    lanes = _lanes(bars)
    figure, axes = white(8.2, 1.5 + 0.42 * len(lanes))
    axes.grid(axis="x", color="#dddddd", linewidth=0.7)
    axes.grid(visible=False, axis="y")
    for lane, kind, batch, begin, end in bars:
        if end - begin > 1e-6:
            colour = BLUE if kind == "load" and batch == slow else FILLS[kind]
            _bar(axes, lanes.index(lane), kind, batch, begin * 1e3, end * 1e3, colour)
    whole = max(end for *_, end in bars) * 1e3
    axes.set(xlim=(0, whole * 1.005), ylim=(len(lanes) - 0.45, -0.6), xlabel="milliseconds")
    axes.set_yticks(range(len(lanes)), lanes)
    axes.tick_params(axis="y", length=0)
    axes.set_title(title, fontsize=10, loc="left")
    kinds = {kind for _, kind, *_ in bars}
    keys = [Patch(color=FILLS[kind], label=SAID[kind]) for kind in FILLS if kind in kinds]
    keys += [Patch(color=BLUE, label="the slow batch")] * (slow is not None)
    figure.legend(handles=keys, frameon=False, fontsize=9, loc="outside lower center", ncols=4)
    return figure


def _lanes(bars: Sequence[Bar]) -> list[str]:
    """The main process first, then the workers by number."""
    workers = {lane for lane, *_ in bars} - {"main"}
    return ["main", *sorted(workers, key=lambda lane: int(lane.split()[-1]))]


def _bar(axes: Axes, row: int, kind: str, batch: int, begin: float, end: float, colour: str) -> None:
    height = 0.28 if kind == "wait" else 0.72
    axes.barh(row, end - begin, left=begin, height=height, color=colour, edgecolor="white", linewidth=0.8)
    if kind != "wait":
        ink = "white" if colour in (BLUE, GREEN) else "black"
        axes.text(
            (begin + end) / 2,
            row,
            str(batch),
            color=ink,
            fontsize=7.5,
            ha="center",
            va="center",
            clip_on=True,
        )


def timeline_alt(item_ms: int, num_workers: int, prefetch_factor: int) -> str:
    """What `timeline` shows for one choice of the sliders, in words that hold on every machine."""
    if not num_workers:
        return (
            f"One row, the main process: it loads a batch, makes a training step, loads the next. "
            f"No workers; an item costs {item_ms} ms."
        )
    return (
        f"A row for the main process, which waits for a batch or makes a training step, and one for each of "
        f"{num_workers} workers, which load the numbered batches. prefetch_factor is {prefetch_factor}, an item costs "
        f"{item_ms} ms, batch 4 takes four times as long as the others."
    )
