"""What each rank's x shall hold at the end: of a whole all-reduce, and of the two halves of the ring.

A ring may turn the other way, and its chunks may be numbered from any of them. Both are free choices, so what is
observed of a mistake must not depend on them: of all the pictures of a result that differ in these choices only, the
first one in order of their text stands for all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial

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


Explain = Callable[[], list[list[str]] | None]
"""What every rank holds, in symbols; it costs a run."""


class AllReduce:
    """Every rank ends with the sum. more: further arguments of the answer."""

    only_copies = False

    def __init__(self, *more: Any, said: str = "") -> None:
        """said: the further arguments in words, as they are told with each input."""
        self.more, self.said = more, said

    def wanted(self, world: int, count: int) -> list[str]:
        """What each element is a sum of, in symbols."""
        return [full_sum(world)] * count

    def results(self, xs: list[Tensor]) -> list[Tensor]:
        """What may stand in x.flatten() at the end, in the parts that count. xs: flattened, as given."""
        return [total(xs)]

    def least_bytes(self, world: int, count: int) -> int:
        """How many numbers each rank of a ring sends, at the least."""
        return 2 * (world - 1) * (count // world)

    def turns(self, world: int) -> list[Turn]:
        """Pictures of a wrong result that count as one."""
        return all_turns(world)

    def parts(self, trial: Trial, results: list[Any], count: int, held: Explain) -> list[slice]:
        """By rank: the part of x.flatten() that counts. results: what the answer returned."""
        return [slice(0, count) for _ in results]

    def misplaced(self, trial: Trial, parts: list[slice], count: int, held: Explain) -> None:
        """Wrong if the numbers are right, and the parts that the answer returned are not where they stand."""


class AllGather(AllReduce):
    """The complete chunk (rank + 1) % world of each rank comes to all ranks."""

    only_copies = True

    def turns(self, world: int) -> list[Turn]:
        return owners_turns(world)

    def wanted(self, world: int, count: int) -> list[str]:
        return [
            f"x{owner}" for owner, place in enumerate_owners(cuts(count, world)[0]) for _ in range(*place)
        ]

    def results(self, xs: list[Tensor]) -> list[Tensor]:
        return [
            torch.cat([xs[owner][slice(*place)] for owner, place in enumerate_owners(cut)])
            for cut in cuts(len(xs[0]), len(xs))
        ]


class ReduceScatter(AllReduce):
    """Rank r ends with the sum in chunk (r + 1) % world, and returns where that is."""

    def turns(self, world: int) -> list[Turn]:
        return owners_turns(world)

    def parts(self, trial: Trial, results: list[Any], count: int, held: Explain) -> list[slice]:
        world = len(results)
        for rank, found in enumerate(results):
            if type(found) is slice and found.step in (None, 1) and _whole_numbers(found):
                continue
            kind = type(found).__name__
            trial.fail(
                f"Rank {rank} returned {found}, which is no slice of whole numbers with step 1."
                if type(found) is slice
                else f"Rank {rank} returned {'None' if found is None else f'a {kind}'}. The chunk is told as a slice.",
                expected="slice(start, stop): where the own chunk stands in x.flatten()",
                got=kind,
                observed=("kind", kind, self._picture(count, complete_elements(held(), world))),
            )
        places = [found.indices(count)[:2] for found in results]
        for cut in cuts(count, world):
            if all(_same(places[rank], cut[(rank + 1) % world]) for rank in range(world)):
                return [slice(*place) for place in places]
        self._wrong_slices(trial, places, count, held)

    def misplaced(self, trial: Trial, parts: list[slice], count: int, held: Explain) -> None:
        world = len(parts)
        places, named = [part.indices(count)[:2] for part in parts], cuts(count, world)[0]
        if all(_same(places[rank], named[(rank + 1) % world]) for rank in range(world)):
            return
        summed = complete_elements(held(), world)
        if summed and all(
            set(range(*named[(rank + 1) % world])) <= set(own) for rank, own in enumerate(summed)
        ):
            self._wrong_slices(trial, places, count, held)

    def _wrong_slices(self, trial: Trial, places: list[tuple[int, int]], count: int, held: Explain) -> None:
        world = len(places)
        want = [cuts(count, world)[0][(rank + 1) % world] for rank in range(world)]
        rank = next(r for r in range(world) if not _same(places[r], want[r]))
        symbols = held()
        summed = complete_elements(symbols, world)
        complete = f" Complete on it: elements {summed[rank] or 'none'}." if symbols else ""
        trial.fail(
            f"Rank {rank} returned slice{places[rank]}, but its chunk is {(rank + 1) % world}, slice{want[rank]}."
            + complete,
            expected=f"by rank {', '.join(f'slice{place}' for place in want)}",
            got=f"by rank {', '.join(f'slice{place}' for place in places)}",
            observed=(
                "slices",
                self._picture(count, [list(range(*place)) for place in places], summed),
                any(map(_counted_twice, symbols or [])),
            ),
        )

    def _picture(self, count: int, *tables: list[list[int]]) -> list[list[list[int]]]:
        """Tables of elements by rank, whichever way the ring turns. An empty one is unknown."""
        world = max(map(len, tables))
        if not world or not divides(count, world):
            return list(tables)
        return first_picture(
            lambda turn: [turned_elements(table, count, turn) for table in tables], self.turns(world)
        )


def complete_elements(symbols: list[list[str]] | None, world: int) -> list[list[int]]:
    """By rank: the elements that hold the sum over all ranks."""
    return [[i for i, text in enumerate(own) if text == full_sum(world)] for own in symbols or []]


def full_sum(world: int) -> str:
    return " + ".join(f"x{rank}" for rank in range(world))


def total(xs: list[Tensor]) -> Tensor:
    """The sum, in order of ranks."""
    result = xs[0].clone()
    for x in xs[1:]:
        result += x
    return result


Cut = list[tuple[int, int]]
"""Where each of the chunks starts and stops."""


def cuts(count: int, world: int) -> list[Cut]:
    """Ways to cut `count` elements into `world` chunks; the first is torch.tensor_split's, which the exercise names.

    The others are no worse, so that nobody fails for them: a longer chunk each until all is used, the rest last, even.
    """
    short, more = divmod(count, world)
    long = short + bool(more)
    ways = [
        [rank * short + min(rank, more) for rank in range(world)],
        [min(rank * long, count) for rank in range(world)],
        [rank * short for rank in range(world)],
        [rank * count // world for rank in range(world)],
    ]
    return [list(zip(starts, [*starts[1:], count], strict=True)) for starts in ways]


def enumerate_owners(cut: Cut) -> list[tuple[int, tuple[int, int]]]:
    """(the rank that owns it after the first half, place) of each chunk, in order of places."""
    return [((chunk - 1) % len(cut), place) for chunk, place in enumerate(cut)]


def _same(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two places are the same; all empty ones are."""
    return one == other or (one[0] >= one[1] and other[0] >= other[1])


def _counted_twice(symbols: list[str]) -> bool:
    return any(term[0] != "x" for text in symbols for term in text.split(" + ") if term.count("x") == 1)


def _whole_numbers(place: slice) -> bool:
    """Also of numpy's integers, which cumsum gives."""
    return all(end is None or hasattr(end, "__index__") for end in (place.start, place.stop))
