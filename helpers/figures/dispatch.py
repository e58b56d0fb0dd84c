"""Figures of lab 12: the way of a call through its keys, and what a model waits for. From data to a figure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from helpers.figures.style import BLUE, GREY, ORANGE

RUNS, THERE = "#cfe3f1", "#f3f3f3"  # keys whose kernel ran, and keys that the call has


def way(
    name: str, keys: Sequence[str], active: Collection[str], ran: Sequence[str], table: Mapping[str, str]
) -> Figure:
    """The keys from the highest to the lowest, those that a call has, and the kernels that ran, as a path.

    Args:
        name: of the context in which the call was made.
        keys: all keys that are drawn, the highest first. The last one is the backend.
        active: the keys that the call has.
        ran: the kernels that ran, in their order; "backend" is the last key.
        table: what torch has for each key, in the order of `keys`.
    """
    figure = Figure(figsize=(8.4, 3.3), layout="constrained", facecolor="white")
    axes = figure.subplots()
    place = {key: len(keys) - 1 - at for at, key in enumerate(keys)} | {"backend": 0}
    for (key, kind), row in zip(table.items(), reversed(range(len(keys))), strict=True):
        label = keys[len(keys) - 1 - row]
        here = label in active
        axes.add_patch(
            Rectangle(
                (0, row + 0.12),
                3,
                0.76,
                facecolor=THERE if here else "white",
                edgecolor=GREY if here else "#cccccc",
            )
        )
        axes.text(0.12, row + 0.5, label, va="center", color="black" if here else "#8a8a8a")
        if here and label not in ran and row:
            axes.text(3.42, row + 0.5, "passed over", va="center", color=GREY, style="italic")
        axes.text(
            6.1, row + 0.5, f"aten::add, {key}: {kind.strip('[]')}", va="center", fontsize=9, color=GREY
        )
    for step, kernel in enumerate(ran, 1):
        axes.add_patch(Rectangle((3.3, place[kernel] + 0.12), 2.4, 0.76, facecolor=RUNS, edgecolor=BLUE))
        axes.text(3.42, place[kernel] + 0.5, f"{step}. its kernel ran", va="center", color="black")
    for above, below in zip(ran, ran[1:], strict=False):
        axes.annotate(
            "",
            (5.4, place[below] + 0.9),
            (5.4, place[above] + 0.1),
            arrowprops={"arrowstyle": "->", "color": BLUE, "linewidth": 1.6},
        )
    axes.set(xlim=(-0.1, 11), ylim=(-0.1, len(keys) + 0.1), xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    axes.set_title(f"{name}: grey keys are in the call's set, white ones are not", fontsize=10, loc="left")
    return figure


def way_alt(name: str) -> str:
    """What `way` shows, in words."""
    return (
        f"Four keys below each other: Autocast, Autograd, ADInplaceOrView, CPU. With {name}, those that a call has are "
        "grey, and an arrow leads through the kernels that ran, down to the backend."
    )


def roofline(name: str, bill: Mapping[str, tuple[int, int]], machine: Mapping[str, float]) -> Figure:
    """How fast each product can run at best, and for what each operator waits.

    Args:
        name: what the bill is of.
        bill: by operator, the operations of its products and the bytes that it moves.
        machine: "flops" and "bytes" a second, at best.
    """
    figure = Figure(figsize=(9.6, 3.9), layout="constrained", facecolor="white")
    roof, bars = figure.subplots(1, 2, width_ratios=(1, 1.25))
    ratios = np.geomspace(0.3, 3e4, 200)
    roof.loglog(ratios, np.minimum(machine["flops"], ratios * machine["bytes"]) / 1e12, color=GREY)
    roof.axvline(machine["flops"] / machine["bytes"], color="#cccccc", linewidth=1, zorder=0)
    total = [sum(each) for each in zip(*bill.values(), strict=True)]
    products = {op: counts for op, counts in bill.items() if counts[0]}
    block = {"the block": tuple(total)}
    for marks, colour, marker, beside in ((products, BLUE, "o", (6, -11)), (block, ORANGE, "D", (-56, 4))):
        at = np.array([flops / moved for flops, moved in marks.values()])
        height = np.minimum(machine["flops"], at * machine["bytes"]) / 1e12
        roof.scatter(at, height, color=colour, marker=marker, zorder=3)
        for op, place, level in zip(marks, at, height, strict=True):
            roof.annotate(
                short(op), (place, level), beside, textcoords="offset points", fontsize=9, color=colour
            )
    ridge = machine["flops"] / machine["bytes"]
    roof.annotate(f"{ridge:.0f}", (ridge, 1.0), (3, 0), textcoords="offset points", fontsize=9, color=GREY)
    roof.set(xlabel="operations for each byte", ylabel="10¹² operations a second, at best")
    roof.set_title(name, fontsize=10, loc="left")
    roof.spines[["top", "right"]].set_visible(False)

    slowest = sorted(bill, key=lambda op: max(seconds(bill[op], machine)))[-7:]
    for row, op in enumerate(slowest):
        compute, memory = (1e6 * each for each in seconds(bill[op], machine))
        bars.barh(row + 0.19, memory, 0.36, color=BLUE, label="its bytes" if row == 0 else None)
        bars.barh(row - 0.19, compute, 0.36, color=ORANGE, label="its products" if row == 0 else None)
    bars.set_yticks(range(len(slowest)), [short(op) for op in slowest], fontsize=9)
    bars.set_xlabel("microseconds at best (the longer bar counts)")
    bars.legend(loc="lower right", frameon=False, fontsize=9)
    bars.spines[["top", "right"]].set_visible(False)
    return figure


def short(op: str) -> str:
    """The name of an operator without library and overload: "mm"."""
    return op.split(".")[1] if op.startswith("aten.") else op


def seconds(counts: tuple[int, int], machine: Mapping[str, float]) -> tuple[float, float]:
    """How long the operations and the bytes take, at best."""
    return counts[0] / machine["flops"], counts[1] / machine["bytes"]


def roofline_alt(tokens: int) -> str:
    """What `roofline` shows, in words."""
    return (
        f"For {tokens} tokens: on the left the products of a block under the roof of a GPU, a slope where bytes are too slow "
        "and a level where the arithmetic is full; on the right, for the seven slowest operators, how long their bytes and "
        "their products take."
    )
