"""What people write for 08.crossover, and why it is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from helpers.labs.allreduce.cost_model import seconds
from helpers.labs.allreduce.crossover import NAMES, Table, crossover, lines, meeting, meeting_at_rounds

Answer = Callable[[int, float, float, float], Table]


def tree_then_ring(size: float) -> Table:
    """The two entries, or one where the ring wins from the start."""
    return [(0, "tree"), (math.ceil(size), "ring")] if size > 0 else [(0, "ring")]


def fastest(world: int, size: float, alpha: float, beta: float, gamma: float) -> str:
    return min(NAMES, key=lambda name: seconds(name, world, size, alpha, beta, gamma))


def scanned(sizes: Iterable[int]) -> Answer:
    """The fastest at each of these sizes; an entry where it changes."""

    def table(world: int, alpha: float, beta: float, gamma: float) -> Table:
        found: Table = []
        for size in sizes:
            name = fastest(world, size, alpha, beta, gamma)
            if not found or found[-1][1] != name:
                found.append((size if found else 0, name))
        return found

    return table


crossover.wrong_answer(
    "fixed_threshold",
    why="The border is a constant. On a network with ten times the latency it lies at ten times as many bytes: work it out "
    "from world, alpha, beta and gamma.",
    seen="The border is a constant.",
    answer=lambda world, alpha, beta, gamma: [(0, "tree"), (65536, "ring")],
)
crossover.another_form("fixed_threshold")(
    lambda world, *_: [(0, "tree"), (10**5, "ring")] if world > 3 else [(0, "ring")]
)


@crossover.wrong_answer(
    "always_ring",
    why="For long vectors the ring wins, and for short ones it does not: it sends 2 * (world - 1) messages one after the "
    "other, where the tree has 2 * log2(world) rounds.",
    seen="for short ones it does not",
)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, "ring")]


@crossover.wrong_answer(
    "compared_at_one_size",
    why="The algorithms were compared at one size. Costs are lines over nbytes, and lines cross.",
    seen="were compared at one size",
)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, fastest(world, 1, alpha, beta, gamma))]


@crossover.another_form("compared_at_one_size")
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, "tree" if world > 3 else "ring")]


@crossover.another_form("compared_at_one_size")
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, "tree")]


crossover.wrong_answer(
    "scanned_in_powers",
    why="Only powers of two, or of ten, were tried, and the border lies between two of them. Two lines meet where their "
    "difference is 0: no search is needed.",
    seen="the border lies between two of them",
    answer=scanned([0, *(2**power for power in range(45))]),
)
crossover.another_form("scanned_in_powers")(scanned([1, *(2**power for power in range(1, 41))]))
crossover.another_form("scanned_in_powers")(scanned([0, *(10**power for power in range(13))]))
crossover.another_form("scanned_in_powers")(scanned([0, *(2**power for power in range(31))]))
crossover.another_form("scanned_in_powers")(scanned([0, *(4**power for power in range(20))]))


@crossover.wrong_answer(
    "search_ends_early",
    why="The search has an upper end, here a gigabyte. With many ranks or a slow start the tree wins beyond it.",
    seen="The search has an upper end",
)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [entry for entry in right(world, alpha, beta, gamma) if entry[0] <= 1e9]


@crossover.another_form("search_ends_early")
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(min(size, 10**9), name) for size, name in right(world, alpha, beta, gamma)]


@crossover.another_form("search_ends_early")
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(min(size, 2**30), name) for size, name in right(world, alpha, beta, gamma)]


def right(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return tree_then_ring(meeting(world, (alpha, beta, gamma)))


@crossover.wrong_answer(
    "gamma_ignored",
    why="gamma was left out. The tree adds whole vectors, the ring chunks: where adding is slow the ring wins earlier.",
    seen="the ring wins earlier",
)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return tree_then_ring(meeting(world, (alpha, beta, 0.0)))


@crossover.wrong_answer(
    "rounds_cut",
    why="log2(world) must be rounded up: with 5 ranks the tree has 3 rounds.",
    seen="with 5 ranks the tree has 3 rounds",
)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return tree_then_ring(meeting_at_rounds(world, (alpha, beta, gamma), int(math.log2(world))))


@crossover.another_form("rounds_cut")
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return tree_then_ring(meeting_at_rounds(world, (alpha, beta, gamma), math.log2(world)))


@crossover.wrong_answer(
    "wrong_for_two_ranks",
    why="Here the tree comes first even where it wins nothing: with 2 and 3 ranks tree and ring start with as many messages, "
    "and the ring's are shorter.",
    seen="even where it wins nothing",
)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, "tree"), (max(16, math.ceil(meeting(world, (alpha, beta, gamma)))), "ring")]


@crossover.another_form("wrong_for_two_ranks")
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, "tree"), (math.ceil(meeting(world, (alpha, beta, gamma))), "ring")]


@crossover.another_form("wrong_for_two_ranks")
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, "tree"), (meeting(world, (alpha, beta, gamma)), "ring")]


@crossover.another_form("wrong_for_two_ranks")
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, "tree")] if world < 4 else right(world, alpha, beta, gamma)


@crossover.another_form("wrong_for_two_ranks")
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, "naive")] if world < 4 else right(world, alpha, beta, gamma)


@crossover.wrong_answer(
    "naive_for_short_ones",
    why="The simplest is not the fastest for short vectors: naive has as many messages as the ring, all at the root's port.",
    seen="has as many messages as the ring",
)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, "naive"), *right(world, alpha, beta, gamma)[1:]] if world > 3 else [(0, "ring")]


@crossover.another_form("naive_for_short_ones")
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    start, slope = lines(world, (alpha, beta, gamma))["ring"]
    flat = lines(world, (alpha, beta, gamma))["naive"][1]
    return [(0, "naive"), (max(2, math.ceil((start - 2 * alpha) / max(flat - slope, 1e-30))), "ring")]


@crossover.another_form("naive_for_short_ones")
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, "naive"), (1, "ring")] if world > 1 else [(0, "naive")]


@crossover.another_form("naive_for_short_ones")
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    border = right(world, alpha, beta, gamma)[-1][0]
    return [(0, "naive"), (border, "ring")] if border else [(0, "naive")]


@crossover.wrong_answer(
    "names_swapped",
    why="The names are the wrong way round: the tree, with few rounds of the whole vector, is for short ones.",
    seen="are the wrong way round",
)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    table = right(world, alpha, beta, gamma)
    return [(0, "ring"), (table[1][0], "tree")] if len(table) == 2 else table


@crossover.another_form("names_swapped")
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    table = right(world, alpha, beta, gamma)
    return [(0, "ring"), (table[1][0], "tree")] if len(table) == 2 else [(0, "tree")]


@crossover.wrong_answer(
    "largest_instead_of_smallest",
    why="The slowest was looked for. max() where min() belongs, or a comparison the wrong way round.",
    seen="The slowest was looked for",
)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, "naive")]


@crossover.wrong_answer(
    "in_elements",
    why="The sizes are in numbers of 4 bytes. alpha, beta and gamma speak of bytes, and so does the list.",
    seen="are in numbers of 4 bytes",
)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return tree_then_ring(meeting(world, (alpha, beta, gamma)) / 4)


@crossover.wrong_answer(
    "an_entry_a_size",
    why="The list has an entry for each size that was tried. An entry belongs where the fastest changes, and nowhere else.",
    seen="an entry for each size that was tried",
)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    border = right(world, alpha, beta, gamma)[-1][0]
    sizes = sorted({0, border, *(2**power for power in range(10, 31))})
    return [(size, fastest(world, max(1, size), alpha, beta, gamma)) for size in sizes]


@crossover.another_form("an_entry_a_size")
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    sizes = [0, *(2**power for power in range(10, 31))]
    return [(size, fastest(world, max(1, size), alpha, beta, gamma)) for size in sizes]


@crossover.another_form("an_entry_a_size")
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    sizes = [2**power for power in range(41)]
    return [(size, fastest(world, size, alpha, beta, gamma)) for size in sizes]


@crossover.wrong_answer(
    "pairs_swapped",
    why="The name comes first in these pairs. Asked for is (nbytes, algorithm).",
    seen="The name comes first in these pairs",
)
def _(world: int, alpha: float, beta: float, gamma: float) -> list:
    return [(name, size) for size, name in right(world, alpha, beta, gamma)]


@crossover.wrong_answer(
    "up_to_instead_of_from",
    why="Each size says up to where its algorithm is the fastest. Asked for is from where on, so the first is 0.",
    seen="says up to where",
)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    table = right(world, alpha, beta, gamma)
    return [(table[1][0], "tree"), (2**62, "ring")] if len(table) == 2 else [(2**62, "ring")]


@crossover.another_form("up_to_instead_of_from")
def _(world: int, alpha: float, beta: float, gamma: float) -> list:
    table = right(world, alpha, beta, gamma)
    return [(table[1][0], "tree"), (math.inf, "ring")] if len(table) == 2 else [(math.inf, "ring")]
