"""Figures of lab 06, first sitting: streams as lanes over time. From data to a figure, nothing else."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from helpers.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW, white
from helpers.streams.program import Op

FILLS = (BLUE, GREEN, SKY, PURPLE)
COPY = YELLOW  # copies between host and device, on whichever stream
DARK = {BLUE, GREEN}
MAIN = ("default", "main")
FEW = 8  # kernels of a lane that are named in words
HALF = 0.3  # of a bar's height, in lanes
Span = tuple[float, float]


def lanes(ops: Sequence[Op]) -> list[str]:
    """The streams that run kernels, in the order in which they first appear."""
    return list(dict.fromkeys(op.stream for op in ops if op.kind == "kernel"))


def colours(rows: Sequence[str]) -> dict[str, str]:
    """A colour for each lane; the stream that everything begins on has the same one in every picture."""
    first = [row for row in rows if row in MAIN]
    return {
        row: FILLS[at % len(FILLS)]
        for at, row in enumerate([*first, *(row for row in rows if row not in MAIN)])
    }


def dependencies(ops: Sequence[Op], spans: Sequence[Span]) -> list[tuple[str, float, str, float]]:
    """The arrows: from (stream, time) of an event's record to (stream, time) of the kernel that had to wait for it.

    ops: a program. spans: start and end of each of its kernels, in their order.
    """
    times = iter(spans)
    ends: dict[str, float] = {}
    marks: dict[str, tuple[str, float]] = {}
    waiting: dict[str, list[tuple[str, float]]] = {}
    arrows = []
    for op in ops:
        if op.kind == "kernel":
            start, ends[op.stream] = next(times)
            arrows += [(*mark, op.stream, start) for mark in waiting.pop(op.stream, [])]
        elif op.kind == "record":
            marks[op.event] = (op.stream, ends.get(op.stream, 0.0))
        elif op.kind == "wait" and op.event in marks and marks[op.event][0] != op.stream:
            waiting.setdefault(op.stream, []).append(marks[op.event])
    return arrows


def stops(ops: Sequence[Op], spans: Sequence[Span]) -> list[float]:
    """When the host goes on after each of its synchronisations."""
    times = iter(spans)
    ends: dict[str, float] = {}
    found = []
    for op in ops:
        if op.kind == "kernel":
            _, ends[op.stream] = next(times)
        elif op.kind == "host_sync":
            found.append(ends.get(op.stream, 0.0))
    return sorted({time for time in found if time > 0})


def timeline(
    ops: Sequence[Op],
    spans: Sequence[Span],
    races: Collection[tuple[int, int]] = (),
    title: str = "",
    since: float = 0.0,
    until: float | None = None,
) -> Figure:
    """One lane a stream, a bar for each kernel, an arrow for each wait; racing pairs are joined in orange.

    Args:
        ops: A program.
        spans: Start and end of each of its kernels in microseconds, in their order.
        races: Pairs of indices into `ops`.
        title: What was run.
        since, until: Where the axis of time begins and ends; the end is that of the last kernel if not given.
    """
    rows = lanes(ops)
    figure, axes = white(8.2, 0.9 + 0.62 * len(rows))
    axes.grid(axis="x", color="#dddddd", linewidth=0.7)
    axes.grid(visible=False, axis="y")
    whole = until or max((end for _, end in spans), default=1.0)
    kernels = [at for at, op in enumerate(ops) if op.kind == "kernel"]
    middles, fills = {}, colours(rows)
    racing = {at for pair in races for at in pair}
    for at, (start, end) in zip(kernels, spans, strict=True):
        row = rows.index(ops[at].stream)
        middles[at] = ((start + end) / 2, row)
        fill = COPY if ops[at].name.startswith("copy") else fills[ops[at].stream]
        edge = ORANGE if at in racing else None
        _bar(axes, ops[at].name, row, start, end, colour=fill, edge=edge, shown=whole - since)
    for source, begin, target, end in dependencies(ops, spans):
        _arrow(axes, (begin, rows.index(source) if source in rows else 0), (end, rows.index(target)))
    for first, second in sorted(races):
        _race(axes, middles[first], middles[second])
    for time in stops(ops, spans):
        axes.axvline(time, color=GREY, linewidth=1.2, linestyle=":")
    axes.set(
        xlim=(since, whole + 0.01 * (whole - since)),
        ylim=(max(len(rows), 1) - 0.5, -0.5),
        xlabel="microseconds",
    )
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(axis="y", length=0)
    axes.set_title(title, fontsize=10, loc="left")
    return figure


def _bar(
    axes: Axes,
    name: str,
    row: int,
    start: float,
    end: float,
    *,
    colour: str,
    edge: str | None,
    shown: float,
) -> None:
    """One kernel; a name that does not fit is cut to its first word, or left out."""
    line = {"edgecolor": edge, "linewidth": 2.2} if edge else {"edgecolor": "white", "linewidth": 0.8}
    axes.barh(row, end - start, left=start, height=2 * HALF, color=colour, **line)
    room = (end - start) * 110 / shown  # letters
    text = next((text for text in (name, name.split(" ")[0]) if len(text) < room), "")
    ink = "white" if colour in DARK else "black"
    axes.text((start + end) / 2, row, text, color=ink, fontsize=8, ha="center", va="center", clip_on=True)


def _arrow(axes: Axes, begin: tuple[float, int], end: tuple[float, int]) -> None:
    down = HALF if end[1] > begin[1] else -HALF
    style = {"arrowstyle": "-|>", "color": "black", "linewidth": 1.3, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=(end[0], end[1] - down), xytext=(begin[0], begin[1] + down), arrowprops=style)


def _race(axes: Axes, first: tuple[float, int], second: tuple[float, int]) -> None:
    down = HALF if second[1] > first[1] else -HALF
    style = {
        "arrowstyle": "-",
        "color": ORANGE,
        "linewidth": 2,
        "linestyle": "--",
        "shrinkA": 0,
        "shrinkB": 0,
    }
    axes.annotate("", xy=(second[0], second[1] - down), xytext=(first[0], first[1] + down), arrowprops=style)


def timeline_alt(
    ops: Sequence[Op], spans: Sequence[Span], races: Collection[tuple[int, int]] = (), what: str = ""
) -> str:
    """What `timeline` shows, in words: lanes, kernels (of many only how many), arrows, the racing pairs by name."""
    kernels = [op for op in ops if op.kind == "kernel"]
    pairs = list(zip(kernels, spans, strict=True))
    description = "; ".join(
        _lane_in_words(lane, [pair for pair in pairs if pair[0].stream == lane]) for lane in lanes(ops)
    )
    waits = len(dependencies(ops, spans))
    arrows = f"{waits} {'arrow' if waits == 1 else 'arrows'} from an event to the kernel that waits for it"
    racing = ", ".join(f"{ops[i].name} and {ops[j].name}" for i, j in sorted(races))
    return f"{what} {description}. {arrows}. {'Racing: ' + racing if racing else 'Nothing races'}.".lstrip()


def _lane_in_words(lane: str, kernels: Sequence[tuple[Op, Span]]) -> str:
    if len(kernels) > FEW:
        return f"{lane}: {len(kernels)} kernels"
    return f"{lane}: " + ", ".join(f"{op.name} {start:.0f} to {end:.0f}" for op, (start, end) in kernels)
