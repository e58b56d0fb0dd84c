"""The ring of lab 08, step by step: every chunk on every rank, with whose numbers are in its sum."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Patch, Rectangle

from helpers.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW
from helpers.labs.allreduce.shown.steps import Moment

FILLS = (SKY, YELLOW, PURPLE, BLUE, GREEN, ORANGE)
WIDTH, APART = 1.0, 1.7  # of a cell, and from rank to rank


def ring_step(moments: Sequence[Moment], at: int) -> Figure:
    """What each rank holds after round `at`, and what was sent in that round.

    A cell is a chunk on a rank: the sum that stands there, when rank 0 began with 1, 2, ... and each next rank went on
    from there, and below it a mark for each rank whose number is in the sum.
    """
    moment, world = moments[at], len(moments[at].held)
    figure = Figure(figsize=(8.2, 1.35 + 0.72 * world), layout="constrained", facecolor="white")
    axes = figure.subplots()
    new = {(receiver, chunk) for _, receiver, chunk in moment.arrows}
    for rank, chunks in enumerate(moment.held):
        axes.text(rank * APART + WIDTH / 2, -0.25, f"rank {rank}", ha="center", fontsize=10)
        for chunk, parts in enumerate(chunks):
            _cell(axes, rank, chunk, parts, world, (rank, chunk) in new)
    for sender, receiver, chunk in moment.arrows:
        _arrow(axes, sender, receiver, chunk, world)
    for chunk in range(world):
        axes.text(-0.75, chunk + 0.42, f"chunk {chunk}", ha="right", va="center", fontsize=9, color=GREY)
    axes.set(xlim=(-1.6, (world - 1) * APART + WIDTH + 0.7), ylim=(world + 0.05, -0.6))
    axes.axis("off")
    axes.set_title(_title(moments, at), fontsize=10, loc="left")
    keys = [
        Patch(color=FILLS[rank % len(FILLS)], label=f"rank {rank}'s number is in it") for rank in range(world)
    ]
    figure.legend(handles=keys, frameon=False, fontsize=8.5, loc="outside lower center", ncols=min(world, 4))
    return figure


def ring_step_alt(moments: Sequence[Moment], at: int) -> str:
    """What `ring_step` shows, in words."""
    held = moments[at].held
    whole = [sum(len(parts) == len(held) for parts in chunks) for chunks in held]
    message = f"A grid of chunks by ranks. {_title(moments, at)} "
    return message + f"Complete chunks by rank: {', '.join(map(str, whole))}."


def _title(moments: Sequence[Moment], at: int) -> str:
    if at == 0:
        return "Before the first round: each rank has its own numbers."
    did = "added to what was there" if moments[at].added else "put in the place of what was there"
    return f"Round {at} of {len(moments) - 1}: one chunk goes along each arrow, and is {did}."


def _cell(axes: Axes, rank: int, chunk: int, parts: Sequence[int], world: int, is_new: bool) -> None:
    left, whole = rank * APART, len(parts) == world
    axes.add_patch(
        Rectangle(
            (left, chunk),
            WIDTH,
            0.84,
            facecolor="#d9f0e7" if whole else "#f6f6f6",
            edgecolor=ORANGE if is_new else "#bbbbbb",
            linewidth=2.2 if is_new else 0.8,
        )
    )
    number = sum(world * part + chunk + 1 for part in parts)
    weight = "bold" if whole else "normal"
    axes.text(
        left + WIDTH / 2, chunk + 0.32, str(number), ha="center", va="center", fontsize=11, weight=weight
    )
    for part in set(parts):
        place = (left + 0.06 + part * (WIDTH - 0.12) / world, chunk + 0.62)
        axes.add_patch(Rectangle(place, (WIDTH - 0.12) / world - 0.03, 0.14, color=FILLS[part % len(FILLS)]))


def _arrow(axes: Axes, sender: int, receiver: int, chunk: int, world: int) -> None:
    """From rank to rank; from the last to the first, or back, it goes out on one side and comes in on the other."""
    y, up = chunk + 0.42, (receiver - sender) % world == 1
    ends = []
    if abs(receiver - sender) == 1 and (world > 2 or up == (receiver > sender)):
        ends.append((sender * APART + (WIDTH if up else 0), receiver * APART + (0 if up else WIDTH)))
    elif up:
        ends += [(sender * APART + WIDTH, sender * APART + WIDTH + 0.6), (-0.6, receiver * APART)]
    else:
        ends += [
            (sender * APART, sender * APART - 0.6),
            (receiver * APART + WIDTH + 0.6, receiver * APART + WIDTH),
        ]
    for begin, end in ends:
        style = {"arrowstyle": "-|>", "mutation_scale": 11, "color": ORANGE, "linewidth": 1.5}
        axes.add_patch(FancyArrowPatch((begin, y), (end, y), shrinkA=1, shrinkB=1, **style))
