"""The same mistake on a ring that turns the other way, or whose chunks are numbered from another one.

Both are free choices, so what is observed of a mistake must not depend on them: of all the pictures of a result
that differ in these choices only, the first one in order of their text stands for all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

Table = Sequence[Sequence[Any]]
Turn = tuple[bool, int]
"""(whether rank r becomes rank -r, as on a ring that turns the other way; by how many the chunks move on)."""

SAME: Turn = (False, 0)


def all_turns(world: int) -> list[Turn]:
    """Where all chunks are alike in the end."""
    return [(mirrored, shift) for mirrored in (False, True) for shift in range(world)]


def owners_turns(world: int) -> list[Turn]:
    """Where rank r has chunk r + 1: rank -r has chunk -r + 1, so that chunk c becomes chunk 2 - c."""
    return [SAME, (True, 2)]


def first_picture(picture: Callable[[Turn], Any], turns: list[Turn]) -> Any:
    return min(map(picture, turns), key=repr)


def turned_place(element: int, count: int, world: int, turn: Turn) -> int:
    """Where an element of x goes to, with its chunk."""
    mirrored, shift = turn
    chunk, offset = divmod(element, count // world)
    return (shift + (-chunk if mirrored else chunk)) % world * (count // world) + offset


def turned_symbols(text: str, world: int, turn: Turn) -> str:
    """The ranks' inputs under their new names: "x1 + 2x3" becomes "2x1 + x3" of four ranks."""
    sums = re.findall(r"\d*x\d+(?: \+ \d*x\d+)*", text) if turn[0] else []
    for terms in sums:
        pairs = [term.split("x") for term in terms.split(" + ")]
        new = sorted((-int(rank) % world, many) for many, rank in pairs)
        text = text.replace(terms, " + ".join(f"{many}x{rank}" for rank, many in new))
    return text


def turned(rows: Table, turn: Turn, each: Callable[[Any], Any]) -> list[list[Any]]:
    """A table by rank and element, turned; each(value) is what becomes of what stands in it."""
    world, count = len(rows), len(rows[0]) if rows else 0
    new: list[list[Any]] = [[None] * count for _ in rows]
    for rank, row in enumerate(rows):
        for element, value in enumerate(row):
            new[-rank % world if turn[0] else rank][turned_place(element, count, world, turn)] = each(value)
    return new


def turned_elements(elements: Sequence[Sequence[int]], count: int, turn: Turn) -> list[list[int]]:
    """By rank, some numbers of elements, turned."""
    world = len(elements)
    new: list[list[int]] = [[] for _ in elements]
    for rank, own in enumerate(elements):
        new[-rank % world if turn[0] else rank] = sorted(turned_place(e, count, world, turn) for e in own)
    return new


def divides(count: int, world: int) -> bool:
    """Whether all chunks have one length; otherwise they are not alike, and nothing is turned."""
    return count > 0 and count % world == 0
