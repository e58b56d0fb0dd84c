"""What people write for 08.crossover, and why it is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

from helpers.check.spec import returned
from helpers.labs.allreduce.crossover.exercise import (
    ENTRIES,
    EQUAL,
    LIST,
    NAMES,
    NO_END,
    NO_OTHER,
    WHOLE,
    Table,
    crossover,
    lines,
    meeting,
    meeting_at,
    meeting_at_rounds,
)
from helpers.labs.allreduce.shared.cost_model import seconds, terms

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


@crossover.mistake(breaks=NO_OTHER)
def fixed_threshold(world, alpha, beta, gamma):
    """The list is the same with ten times the latency, where the border lies at ten times as many bytes. Perhaps the
    border is a constant, or kept from an earlier call: work it out from world, alpha, beta and gamma.
    """
    return [(0, "tree"), (65536, "ring")]


crossover.variant(fixed_threshold)(
    lambda world, *_: [(0, "tree"), (10**5, "ring")] if world > 3 else [(0, "ring")]
)


@crossover.mistake(breaks=NO_OTHER)
def always_ring(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """The ring is named for all sizes, on networks and worlds where the tree wins for short vectors: the
    ring sends 2 * (world - 1) messages one after the other, where the tree has 2 * log2(world) rounds.
    """
    return [(0, "ring")]


@crossover.mistake(breaks=NO_OTHER)
def compared_at_one_size(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """The tree is named for all sizes, and long vectors are faster by the ring. Perhaps the algorithms
    were compared at one size, or the ring was not looked at. Costs are lines over nbytes, and lines cross.
    """
    return [(0, fastest(world, 1, alpha, beta, gamma))]


@crossover.variant(compared_at_one_size)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, "tree" if world > 3 else "ring")]


@crossover.variant(compared_at_one_size)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, "tree")]


@built.mistake(breaks=WHOLE)
def scanned_in_powers():
    """The border is late: it stands at a round size, and the fastest changes before it. Perhaps only powers of two, or of
    ten, were tried, or the crossing was rounded up to one. Two lines meet where their difference is 0: no search is needed.
    """
    return scanned([0, *(2**power for power in range(45))])


crossover.variant(scanned_in_powers)(scanned([1, *(2**power for power in range(1, 41))]))
crossover.variant(scanned_in_powers)(scanned([0, *(10**power for power in range(13))]))
crossover.variant(scanned_in_powers)(scanned([0, *(2**power for power in range(31))]))
crossover.variant(scanned_in_powers)(scanned([0, *(4**power for power in range(20))]))


@crossover.mistake(breaks=NO_END)
def search_ends_early(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """Wrong with very many ranks on a slow start, where the tree wins for very long vectors, too. Perhaps the
    search has an upper end, a gigabyte or so.
    """
    return [entry for entry in right(world, alpha, beta, gamma) if entry[0] <= 1e9]


@crossover.variant(search_ends_early)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(min(size, 10**9), name) for size, name in right(world, alpha, beta, gamma)]


@crossover.variant(search_ends_early)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(min(size, 2**30), name) for size, name in right(world, alpha, beta, gamma)]


def right(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return tree_then_ring(meeting(world, (alpha, beta, gamma)))


@crossover.mistake(breaks=NO_OTHER)
def gamma_ignored(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """With gamma the crossing is where it would be without. Perhaps gamma was left out. The tree adds
    whole vectors, the ring chunks: where adding is slow the ring wins earlier.
    """
    return tree_then_ring(meeting(world, (alpha, beta, 0.0)))


@crossover.mistake(breaks=NO_OTHER)
def rounds_cut(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """Right for powers of two, and for 5 ranks the crossing is that of a tree with too few rounds.
    Perhaps log2(world) was not rounded up: with 5 ranks the tree has 3.
    """
    return tree_then_ring(meeting_at_rounds(world, (alpha, beta, gamma), int(math.log2(world))))


@crossover.variant(rounds_cut)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return tree_then_ring(meeting_at_rounds(world, (alpha, beta, gamma), math.log2(world)))


@crossover.mistake(breaks=NO_OTHER)
def wrong_for_two_ranks(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """With 2 ranks a different algorithm than the ring is named where the ring is faster: tree and ring
    start with as many messages there, and the ring's are shorter. Perhaps it is taken for granted that
    the tree comes first.
    """
    return [(0, "tree"), (max(16, math.ceil(meeting(world, (alpha, beta, gamma)))), "ring")]


@crossover.mistake(breaks=ENTRIES[1])
def two_entries_at_the_start(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """With 2 ranks the entry of the ring stands at the size of the entry of the tree: nothing lies between them. Perhaps it
    is taken for granted that the tree comes first. With 2 or 3 ranks the lines meet at 0, and the ring is named alone.
    """
    return [(0, "tree"), (math.ceil(meeting(world, (alpha, beta, gamma))), "ring")]


@crossover.variant(two_entries_at_the_start)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, "tree"), (meeting(world, (alpha, beta, gamma)), "ring")]


@crossover.variant(wrong_for_two_ranks)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, "tree")] if world < 4 else right(world, alpha, beta, gamma)


@crossover.variant(wrong_for_two_ranks)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, "naive")] if world < 4 else right(world, alpha, beta, gamma)


@crossover.mistake(breaks=NO_OTHER)
def naive_for_short_ones(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """Naive is named for short vectors. It has as many messages as the ring, all at the root's port; the
    tree has fewer. The simplest is not the fastest.
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


@crossover.variant(naive_for_short_ones)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    table = right(world, alpha, beta, gamma)
    small = math.ceil(alpha / beta)
    if world > 3 and small < table[-1][0]:
        return [(0, "naive"), (small, "tree"), table[-1]]
    return [(0, "naive"), table[-1]] if world > 3 else table


@crossover.mistake(breaks=NO_OTHER)
def names_swapped(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """The ring is named for short vectors, and the tree for long ones. The tree, with few rounds of the
    whole vector, is for short ones. Perhaps two names were confused, or a comparison is the wrong way
    round.
    """
    table = right(world, alpha, beta, gamma)
    return [(0, "ring"), (table[1][0], "tree")] if len(table) == 2 else table


@crossover.variant(names_swapped)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    table = right(world, alpha, beta, gamma)
    return [(0, "ring"), (table[1][0], "tree")] if len(table) == 2 else [(0, "tree")]


@crossover.mistake(breaks=NO_OTHER)
def largest_instead_of_smallest(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """Naive is named for all sizes: the slowest. Perhaps max() stands where min() belongs, or a
    comparison is the wrong way round.
    """
    return [(0, "naive")]


@crossover.mistake(breaks=WHOLE)
def in_elements(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """The crossing is a quarter of what it should be. Perhaps sizes are in numbers of 4 bytes. alpha,
    beta and gamma speak of bytes, and so does the list.
    """
    return tree_then_ring(meeting(world, (alpha, beta, gamma)) / 4)


@crossover.mistake(breaks=WHOLE)
def in_kilobytes(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """The crossing is a thousandth of what it should be, or 1 / 1024. Perhaps sizes are in KB: the list speaks of bytes."""
    return tree_then_ring(meeting(world, (alpha, beta, gamma)) / 1024)


@crossover.variant(in_kilobytes)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return tree_then_ring(meeting(world, (alpha, beta, gamma)) / 1000)


@crossover.mistake(breaks=WHOLE)
def rounded_to_a_power(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """The border is early: it stands at the power of two before the crossing, where the tree is faster still. Perhaps the
    crossing was rounded, to the nearest power of two or down to one.
    """
    size = meeting(world, (alpha, beta, gamma))
    return [(0, "tree"), (2 ** round(math.log2(max(size, 1))), "ring")] if size else [(0, "ring")]


@crossover.variant(rounded_to_a_power)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    size = meeting(world, (alpha, beta, gamma))
    return [(0, "tree"), (2 ** int(math.log2(max(size, 1))), "ring")] if size else [(0, "ring")]


@crossover.mistake(breaks=NO_OTHER)
def ring_of_whole_vectors(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """The crossing is where it would be if each rank of the ring sent two whole vectors. Perhaps its bytes were taken as
    2 * nbytes: it sends world - 1 chunks a phase, each nbytes / world.
    """
    return tree_then_ring(meeting_at(world, (alpha, beta, gamma), ring_bytes=2.0) if world > 3 else 0.0)


@crossover.mistake(breaks=NO_OTHER)
def one_alpha_a_round(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """The crossing is where it would be if the tree paid alpha for half of its messages. Perhaps rounds * alpha was
    taken: as many messages go down as came up.
    """
    return tree_then_ring(meeting_at(world, (alpha, beta, gamma), tree_alphas=1.0) if world > 3 else 0.0)


@crossover.mistake(breaks=NO_OTHER)
def tree_adds_twice(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """With gamma the crossing is early: it is where it would be if the tree added on the way down, too. Perhaps gamma
    stands in both of its phases. On the way down the sum is copied, and nothing is added.
    """
    return tree_then_ring(meeting_at(world, (alpha, beta, gamma), tree_adds=2.0) if world > 3 else 0.0)


@crossover.mistake(breaks=ENTRIES[1])
def an_entry_a_size(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """Two entries in a row name the same algorithm. An entry belongs where the fastest changes, and
    nowhere else. Perhaps there is one for each size that was tried.
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


@crossover.mistake(breaks=LIST)
def pairs_swapped(world: int, alpha: float, beta: float, gamma: float) -> list:
    """In these pairs the name comes first. Asked for is (nbytes, algorithm)."""
    return [(name, size) for size, name in right(world, alpha, beta, gamma)]


@crossover.mistake(breaks=ENTRIES[0])
def up_to_instead_of_from(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """The first size is not 0. Perhaps each size says up to where its algorithm is the fastest. Asked for
    is from where on.
    """
    table = right(world, alpha, beta, gamma)
    return [(table[1][0], "tree"), (2**62, "ring")] if len(table) == 2 else [(2**62, "ring")]


@crossover.variant(up_to_instead_of_from)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    table = right(world, alpha, beta, gamma)
    return [(table[1][0], "tree"), (2**63, "ring")] if len(table) == 2 else table


@crossover.variant(up_to_instead_of_from)
def _(world: int, alpha: float, beta: float, gamma: float) -> list:
    table = right(world, alpha, beta, gamma)
    return [(table[1][0], "tree"), (math.inf, "ring")] if len(table) == 2 else [(math.inf, "ring")]


@crossover.mistake(breaks=NO_END)
def slope_by_a_difference(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """The crossing is a little off, by less than a thousandth. Perhaps what a byte costs was taken from
    cost(1) - cost(0): beside the alphas of many messages a byte is nearly nothing, and the difference has few right
    digits. Ask for the cost of a byte with alpha = 0.
    """
    costs = {
        name: [seconds(name, world, size, alpha, beta, gamma) for size in (0, 1)] for name in ("tree", "ring")
    }
    (tree, tree_1), (ring, ring_1) = costs["tree"], costs["ring"]
    gap = (tree_1 - tree) - (ring_1 - ring)
    return tree_then_ring((ring - tree) / gap if gap > 0 and world > 3 else 0.0)


@crossover.mistake(breaks=EQUAL)
def fails_for_one_rank(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """For one rank the answer divides by 0: all lines are the same one there. Perhaps the crossing is worked out without
    a look at the slopes. Where none is flatter, the list ends.
    """
    parts = {name: terms(name, world, 1) for name in ("tree", "ring")}
    starts = {name: part.messages * alpha for name, part in parts.items()}
    slopes = {name: part.carried * beta + part.added * gamma for name, part in parts.items()}
    return tree_then_ring((starts["ring"] - starts["tree"]) / (slopes["tree"] - slopes["ring"]))


@crossover.mistake(breaks=ENTRIES[1])
def sizes_fall(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """A smaller size follows a larger one. Perhaps the list was made from the end, or not sorted by size."""
    return right(world, alpha, beta, gamma)[::-1]


@crossover.mistake(breaks=NO_OTHER)
def rounds_of_eight(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """Right on 8 ranks, and on 32 the crossing is at a different size than it should be. Perhaps the rounds of the tree
    do not follow world: 8 ranks have 3, 32 have 5.
    """
    return tree_then_ring(meeting_at_rounds(world, (alpha, beta, gamma), 3))


@crossover.mistake(breaks=LIST)
def a_dict(world: int, alpha: float, beta: float, gamma: float) -> dict:
    """A dict comes back, where a list of pairs is asked for: its items, in order of size."""
    return dict(right(world, alpha, beta, gamma))


@crossover.variant(search_ends_early)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    table = right(world, alpha, beta, gamma)
    return table[:1] if table[-1][0] > 2**40 else table


@crossover.mistake(breaks=WHOLE)
def a_byte_early(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """The list changes to the ring before the two lines meet. Perhaps the crossing was rounded down, by int() or //,
    or to the nearest. The smallest whole number from which on the ring is faster comes after it: round up, or give
    the exact crossing.
    """
    return (
        [(0, "tree"), (math.floor(size), "ring")]
        if (size := met(world, alpha, beta, gamma))
        else [(0, "ring")]
    )


@crossover.variant(a_byte_early)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [(0, "tree"), (round(size), "ring")] if (size := met(world, alpha, beta, gamma)) else [(0, "ring")]


@crossover.mistake(breaks=WHOLE)
def a_byte_late(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """At the whole number after the crossing the list still says tree, and the ring is faster there. Perhaps one was added
    after rounding up, or the size was rounded to more than a byte.
    """
    return tree_then_ring(size + 1 if (size := met(world, alpha, beta, gamma)) else 0.0)


def met(world: int, alpha: float, beta: float, gamma: float) -> float:
    return meeting(world, (alpha, beta, gamma))


@crossover.mistake(breaks=ENTRIES[0])
def only_crossings(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """The first entry does not start at 0 bytes. Perhaps the list has the crossings only: the algorithm that is the fastest
    for no bytes comes first, with size 0.
    """
    return table[1:] if len(table := right(world, alpha, beta, gamma)) > 1 else table


@crossover.mistake(breaks=LIST)
def an_entry_at_infinity(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """A later entry has infinity, or NaN, for its size. Perhaps it is to say where the list ends. The last entry
    has no end: nothing comes after it.
    """
    return [*right(world, alpha, beta, gamma), (math.inf, "ring")]


@crossover.mistake(breaks=ENTRIES[0])
def empty_for_one_rank(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """For one rank the list is empty. Nothing takes any time there, so any algorithm may be named, but one is: an entry
    for 0 bytes.
    """
    return right(world, alpha, beta, gamma) if world > 1 else []


@crossover.variant(fails_for_one_rank)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    parts = {name: terms(name, world, 1) for name in ("tree", "ring")}
    starts = {name: Fraction(part.messages * alpha) for name, part in parts.items()}
    slopes = {name: Fraction(part.carried * beta + part.added * gamma) for name, part in parts.items()}
    return tree_then_ring(float((starts["ring"] - starts["tree"]) / (slopes["tree"] - slopes["ring"])))


@crossover.mistake(breaks=WHOLE)
def first_byte_lost(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """The tree is named for all sizes where the lines meet below one byte or two. Perhaps a search begins above them, or
    what is the fastest at 0 bytes is taken for the fastest at 1. A byte may cost as much as a message.
    """
    return [entry for entry in right(world, alpha, beta, gamma) if entry[0] == 0 or entry[0] > 2]


@crossover.variant(first_byte_lost)
def _(world: int, alpha: float, beta: float, gamma: float) -> Table:
    return [entry for entry in right(world, alpha, beta, gamma) if entry[0] != 1]


@crossover.mistake(breaks=ENTRIES[1])
def two_entries_at_1(world: int, alpha: float, beta: float, gamma: float) -> Table:
    """Where the lines meet below one byte, two entries stand at one size: from 1 byte on the tree, and from 1 byte on the
    ring. Perhaps the first entry is what is the fastest at 0 bytes, put at 1, and the crossing is rounded up. At 1 byte the
    ring is the fastest.
    """
    (_, first), *others = right(world, alpha, beta, gamma)
    return [(1, first), *others]
