"""What people write for 08.crossover, and why it is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from helpers.check.spec import returned
from helpers.labs.allreduce.crossover.exercise import (
    NAMES,
    Table,
    crossover,
    lines,
    meeting,
    meeting_at_rounds,
)
from helpers.labs.allreduce.shared.cost_model import seconds

built = crossover.bank(returned)

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


@crossover.mistake()
def fixed_threshold(world, alpha, beta, gamma):
    """The border is a constant. On a network with ten times the latency it lies at ten times as many bytes:
    work it out from world, alpha, beta and gamma.
    """
    return [(0, "tree"), (65536, "ring")]


crossover.variant(fixed_threshold)(
    lambda world, *_: [(0, "tree"), (10**5, "ring")] if world > 3 else [(0, "ring")]
)


@crossover.mistake()
def always_ring(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """For long vectors the ring wins, and for short ones it does not: it sends 2 * (world - 1) messages one
    after the other, where the tree has 2 * log2(world) rounds.
    """
    return [(0, "ring")]


@crossover.mistake()
def compared_at_one_size(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """The algorithms were compared at one size. Costs are lines over nbytes, and lines cross."""
    return [(0, fastest(world, 1, alpha, beta, gamma))]


@crossover.variant(compared_at_one_size)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, "tree" if world > 3 else "ring")]


@crossover.variant(compared_at_one_size)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, "tree")]


@built.mistake()
def scanned_in_powers():
    """Only powers of two, or of ten, were tried, and the border lies between two of them. Two lines meet
    where their difference is 0: no search is needed.
    """
    return scanned([0, *(2**power for power in range(45))])


crossover.variant(scanned_in_powers)(scanned([1, *(2**power for power in range(1, 41))]))
crossover.variant(scanned_in_powers)(scanned([0, *(10**power for power in range(13))]))
crossover.variant(scanned_in_powers)(scanned([0, *(2**power for power in range(31))]))
crossover.variant(scanned_in_powers)(scanned([0, *(4**power for power in range(20))]))


@crossover.mistake()
def search_ends_early(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """The search has an upper end, here a gigabyte. With many ranks or a slow start the tree wins beyond it."""
    return [entry for entry in right(world, alpha, beta, gamma) if entry[0] <= 1e9]


@crossover.variant(search_ends_early)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(min(size, 10**9), name) for size, name in right(world, alpha, beta, gamma)]


@crossover.variant(search_ends_early)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(min(size, 2**30), name) for size, name in right(world, alpha, beta, gamma)]


def right(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return tree_then_ring(meeting(world, (alpha, beta, gamma)))


@crossover.mistake()
def gamma_ignored(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """gamma was left out. The tree adds whole vectors, the ring chunks: where adding is slow the ring wins
    earlier.
    """
    return tree_then_ring(meeting(world, (alpha, beta, 0.0)))


@crossover.mistake()
def rounds_cut(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """log2(world) must be rounded up: with 5 ranks the tree has 3 rounds."""
    return tree_then_ring(meeting_at_rounds(world, (alpha, beta, gamma), int(math.log2(world))))


@crossover.variant(rounds_cut)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return tree_then_ring(meeting_at_rounds(world, (alpha, beta, gamma), math.log2(world)))


@crossover.mistake()
def wrong_for_two_ranks(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """Here the tree comes first even where it wins nothing: with 2 and 3 ranks tree and ring start with as
    many messages, and the ring's are shorter.
    """
    return [(0, "tree"), (max(16, math.ceil(meeting(world, (alpha, beta, gamma)))), "ring")]


@crossover.variant(wrong_for_two_ranks)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, "tree"), (math.ceil(meeting(world, (alpha, beta, gamma))), "ring")]


@crossover.variant(wrong_for_two_ranks)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, "tree"), (meeting(world, (alpha, beta, gamma)), "ring")]


@crossover.variant(wrong_for_two_ranks)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, "tree")] if world < 4 else right(world, alpha, beta, gamma)


@crossover.variant(wrong_for_two_ranks)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, "naive")] if world < 4 else right(world, alpha, beta, gamma)


@crossover.mistake()
def naive_for_short_ones(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """The simplest is not the fastest for short vectors: naive has as many messages as the ring, all at the
    root's port.
    """
    return [(0, "naive"), *right(world, alpha, beta, gamma)[1:]] if world > 3 else [(0, "ring")]


@crossover.variant(naive_for_short_ones)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    start, slope = lines(world, (alpha, beta, gamma))["ring"]
    flat = lines(world, (alpha, beta, gamma))["naive"][1]
    return [(0, "naive"), (max(2, math.ceil((start - 2 * alpha) / max(flat - slope, 1e-30))), "ring")]


@crossover.variant(naive_for_short_ones)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, "naive"), (1, "ring")] if world > 1 else [(0, "naive")]


@crossover.variant(naive_for_short_ones)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    border = right(world, alpha, beta, gamma)[-1][0]
    return [(0, "naive"), (border, "ring")] if border else [(0, "naive")]


@crossover.mistake()
def names_swapped(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """The names are the wrong way round: the tree, with few rounds of the whole vector, is for short ones."""
    table = right(world, alpha, beta, gamma)
    return [(0, "ring"), (table[1][0], "tree")] if len(table) == 2 else table


@crossover.variant(names_swapped)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    table = right(world, alpha, beta, gamma)
    return [(0, "ring"), (table[1][0], "tree")] if len(table) == 2 else [(0, "tree")]


@crossover.mistake()
def largest_instead_of_smallest(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """The slowest was looked for. max() where min() belongs, or a comparison the wrong way round."""
    return [(0, "naive")]


@crossover.mistake()
def in_elements(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """The sizes are in numbers of 4 bytes. alpha, beta and gamma speak of bytes, and so does the list."""
    return tree_then_ring(meeting(world, (alpha, beta, gamma)) / 4)


@crossover.mistake()
def an_entry_a_size(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """The list has an entry for each size that was tried. An entry belongs where the fastest changes, and
    nowhere else.
    """
    border = right(world, alpha, beta, gamma)[-1][0]
    sizes = sorted({0, border, *(2**power for power in range(10, 31))})
    return [(size, fastest(world, max(1, size), alpha, beta, gamma)) for size in sizes]


@crossover.variant(an_entry_a_size)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    sizes = [0, *(2**power for power in range(10, 31))]
    return [(size, fastest(world, max(1, size), alpha, beta, gamma)) for size in sizes]


@crossover.variant(an_entry_a_size)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    sizes = [2**power for power in range(41)]
    return [(size, fastest(world, size, alpha, beta, gamma)) for size in sizes]


@crossover.mistake()
def pairs_swapped(world: int, alpha: float, beta: float, gamma: float) -> list:
    """The name comes first in these pairs. Asked for is (nbytes, algorithm)."""
    return [(name, size) for size, name in right(world, alpha, beta, gamma)]


@crossover.mistake()
def up_to_instead_of_from(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """Each size says up to where its algorithm is the fastest. Asked for is from where on, so the first is 0."""
    table = right(world, alpha, beta, gamma)
    return [(table[1][0], "tree"), (2**62, "ring")] if len(table) == 2 else [(2**62, "ring")]


@crossover.variant(up_to_instead_of_from)
def _(world: int, alpha: float, beta: float, gamma: float) -> list:
    table = right(world, alpha, beta, gamma)
    return [(table[1][0], "tree"), (math.inf, "ring")] if len(table) == 2 else [(math.inf, "ring")]
