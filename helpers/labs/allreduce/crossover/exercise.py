"""Exercise 08.crossover: which algorithm for which size."""

from __future__ import annotations

import math
from collections.abc import Iterator
from numbers import Real
from typing import Any

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.allreduce.shared.cost_model import in_words, seconds, terms

crossover = Exercise(
    "08.crossover",
    "Which algorithm for which size",
    objective="Find, for a given network, the sizes at which the fastest algorithm changes.",
    minutes=25,
    difficulty="medium",
    core=False,
    hints=[
        "For a fixed world each cost is a straight line over nbytes: a start, paid in alpha, and a slope, paid in beta and "
        "gamma. Draw the three lines for 8 ranks.",
        "At 0 bytes the lowest start wins. Later it can only lose to a line that is flatter. Two lines start + slope * n "
        "meet where n = (start_b - start_a) / (slope_a - slope_b).",
        "Begin with the line of the lowest start; of equal starts take the flattest. As long as there are flatter lines, go "
        "to the one that is met first. At world 2 and 3 the tree and the ring start at the same height: what is first then?",
    ],
)

LIST = 'The fastest of "naive", "tree" and "ring" by size, by `cost`: a list of (nbytes, algorithm).'
NO_OTHER = "From so many bytes on, up to the next entry, no other algorithm is faster."
ENTRIES = (
    "The first entry starts at 0 bytes (or 1).",
    "From entry to entry sizes rise and algorithms change.",
)
WHOLE = "A size is the smallest whole number of bytes, or the exact crossing."
NO_END = "There is no largest size: with many ranks or a slow start a crossing can lie beyond gigabytes."
EQUAL = "Of several that are equally fast any may be named."
NAMES = ("naive", "tree", "ring")
Table = list[tuple[float, str]]
Prices = tuple[float, float, float]


def entries(answer: Any, trial: Trial, world: int, prices: Prices) -> Table:
    """answer(world, *prices) as a table, if it is one: sizes from 0 or 1 on that rise, and names that change."""
    trial.given(f"world = {world}, " + "alpha = {:g}, beta = {:g}, gamma = {:g}".format(*prices))
    got = trial.call(answer, world, *prices)
    if not isinstance(got, list | tuple):
        kind = type(got).__name__
        trial.fail(
            f"The result is {'None' if got is None else f'an object of type {kind}'}.",
            expected="a list of (nbytes, algorithm)",
            observed=("kind", kind),
        )
    for entry in got:
        if not _is_entry(entry):
            trial.fail(
                "An entry is no pair of a size and one of 'naive', 'tree', 'ring'.",
                expected="(nbytes, algorithm)",
                got=repr(entry)[:80],
                observed=(
                    "entry",
                    _oddness(entry),
                    "first" if entry is got[0] else "from 0" if got[0][0] in (0, 1) else "later",
                ),
            )
    trial.true(bool(got), "The list is empty.", expected="an entry for 0 bytes at least", observed="empty")
    table = [(float(size), name) for size, name in got]
    trial.true(
        table[0][0] in (0.0, 1.0),
        f"The first entry starts at {table[0][0]:g} bytes: what is used below?",
        expected="a first entry at 0",
        observed=("starts", _described(table, world, prices)),
    )
    for (size, name), (after, other) in zip(table, table[1:], strict=False):
        rises = after > size
        trial.true(
            rises and name != other,
            f"({_digits(after)}, {other!r}) follows ({_digits(size)}, {name!r}).",
            expected="sizes that rise and algorithms that change from entry to entry",
            observed="the same again" if rises else ("falls", _described(table, world, prices)),
        )
    return table


def _is_entry(entry: Any) -> bool:
    return (
        isinstance(entry, list | tuple)
        and len(entry) == 2
        and isinstance(entry[0], Real)
        and not isinstance(entry[0], bool)
        and math.isfinite(entry[0])
        and entry[1] in NAMES
    )


def _oddness(entry: Any) -> str:
    """In which way something is no entry."""
    if not isinstance(entry, list | tuple) or len(entry) != 2:
        return "no pair"
    if isinstance(entry[0], str):
        return "swapped"
    if isinstance(entry[0], Real) and not math.isfinite(entry[0]):
        return "infinite"
    return f"a different name: {entry[1]!r}"[:40] if isinstance(entry[0], Real) else "other"


def lines(world: int, prices: Prices) -> dict[str, tuple[float, float]]:
    """Start and slope of each algorithm's cost over nbytes."""
    alpha, beta, gamma = prices
    made = {}
    for name in NAMES:
        messages, carried, added = terms(name, world, 1)
        made[name] = (messages * alpha, carried * beta + added * gamma)
    return made


def meeting(world: int, prices: Prices) -> float:
    """The size from which on the ring is faster than the tree; 0 where it always is."""
    (start, slope), (tree_start, tree_slope) = (lines(world, prices)[name] for name in ("ring", "tree"))
    return max(0.0, (start - tree_start) / (tree_slope - slope)) if tree_slope > slope else 0.0


def _described(table: Table, world: int, prices: Prices) -> list[Any]:
    """The table as what it is recognised by: sizes that come from a known slip have its name."""
    return [[_source(size, world, prices), name] for size, name in table]


def _source(size: float, world: int, prices: Prices) -> str | float:
    """Which formula a size comes from, rounded up or down or not at all."""
    alpha, beta, gamma = prices
    known = {
        "0 or 1": 0.0,
        "right": meeting(world, prices),
        "without gamma": meeting(world, (alpha, beta, 0.0)),
        "in float32 elements": meeting(world, prices) / 4,
        "rounds cut": meeting_at_rounds(world, prices, int(math.log2(world))),
        "rounds not rounded": meeting_at_rounds(world, prices, math.log2(world)),
        "ring of whole vectors": meeting_at(world, prices, ring_bytes=2.0),
        "one alpha a round": meeting_at(world, prices, tree_alphas=1.0),
        "tree adds twice": meeting_at(world, prices, tree_adds=2.0),
    }
    if size >= 2**60:
        return "no end"
    for name, value in known.items():
        if abs(size - value) <= 1 + 1e-9 * value:
            return name
    if abs(size - known["right"]) <= 1e-3 * known["right"]:
        return "nearly right"
    return float(f"{size:.4g}")


def meeting_at_rounds(world: int, prices: Prices, rounds: float) -> float:
    """As `meeting`, for a tree of so many rounds."""
    alpha, beta, gamma = prices
    start, slope = lines(world, prices)["ring"]
    tree_slope = rounds * (2 * beta + gamma)
    return max(0.0, (start - 2 * rounds * alpha) / (tree_slope - slope)) if tree_slope > slope else 0.0


def meeting_at(
    world: int,
    prices: Prices,
    *,
    ring_bytes: float | None = None,
    tree_alphas: float = 2.0,
    tree_adds: float = 1.0,
) -> float:
    """As `meeting`, for a ring that sends so many vectors' bytes, or a tree that pays so much in each round."""
    alpha, beta, gamma = prices
    rounds = (world - 1).bit_length()
    slope = 2 * beta + gamma
    ring = (ring_bytes / 2 if ring_bytes else (world - 1) / world) * slope
    tree = rounds * (2 * beta + tree_adds * gamma)
    return max(0.0, (2 * (world - 1) - tree_alphas * rounds) * alpha / (tree - ring)) if tree > ring else 0.0


def asked(table: Table, world: int, prices: Prices) -> Iterator[int]:
    """Sizes at which a table is held against the model: all orders of magnitude, and the sides of each boundary."""
    borders = [meeting(world, prices), *(size for size, _ in table)]
    near = [int(border * share) for border in borders for share in (0.5, 0.9, 0.99, 1.01, 1.1, 2.0)]
    near += [round(border) + step for border in borders for step in (-3, -2, 2, 3)]
    powers = [2**power for power in range(0, 47, 2)]
    yield from sorted({size for size in (*near, *powers) if size >= 1})


def chosen(table: Table, size: int) -> str:
    return [name for start, name in table if start <= size or (start, name) == table[0]][-1]


def judge_world(answer: Any, trial: Trial, world: int, prices: Prices) -> None:
    """Wrong unless at every size the named algorithm is as fast as any."""
    table = entries(answer, trial, world, prices)
    lost = []  # how many times longer, at which size
    for size in asked(table, world, prices):
        times = {name: seconds(name, world, size, *prices) for name in NAMES}
        ratio = times[chosen(table, size)] / min(times.values())
        if ratio > 1 + 1e-9 and not _at_a_border(size, world, prices):
            lost.append((ratio, size))
    if not lost:
        return
    size = max(lost)[1]
    times = {name: seconds(name, world, size, *prices) for name in NAMES}
    used, best = chosen(table, size), min(times, key=times.get)
    trial.fail(
        f"At {size:,} bytes the list says {used}, and {best} is faster. Right is {_shown(right_table(world, prices))}.",
        expected=f"{best}: {in_words(times[best])}",
        got=f"{used}: {in_words(times[used])}; the list is {_shown(table)}",
        observed="naive first" if table[0][1] == "naive" else _described(table, world, prices),
    )


def right_table(world: int, prices: Prices) -> Table:
    size = math.ceil(meeting(world, prices))
    return [(0, "tree"), (size, "ring")] if size else [(0, "ring")]


def _at_a_border(size: int, world: int, prices: Prices) -> bool:
    """Whether it is the byte at which the fastest changes, which may be rounded either way."""
    return abs(size - meeting(world, prices)) <= 1


def _shown(table: Table) -> str:
    message = ", ".join(f"({_digits(size)}, {name!r})" for size, name in table[:4])
    return f"[{message}{', ...' if len(table) > 4 else ''}]"


def _digits(size: float) -> str:
    return f"{int(size)}" if size < 2**63 and size == int(size) else f"{size:.10g}"


def a_network(trial: Trial, world: int, gamma: float) -> Prices:
    """Prices with which the fastest changes somewhere between 2 KB and 20 MB, nearer to the power of two before it.

    A search in powers of two is late there, and a crossing that is rounded to one is early.

    gamma: what an added byte costs, as a share of beta.
    """
    while True:
        alpha = float(f"{10 ** trial.random.uniform(-5.5, -3.5):.2e}")
        beta = float(f"{alpha / 10 ** trial.random.uniform(3.5, 6.5):.2e}")
        prices = alpha, beta, float(f"{beta * gamma:.2e}")
        size = meeting(world, prices)
        above = math.log2(size) % 1 if size > 1 else 0.0
        if 2e3 < size < 2e7 and 0.2 < above < 0.45:
            return prices


@crossover.property(
    "a list, whose sizes follow the network: with ten times alpha they are others", asks=(LIST, *ENTRIES)
)
def moves(answer: Any, trial: Trial) -> None:
    alpha, beta, gamma = a_network(trial, 8, 0.0)
    table = entries(answer, trial, 8, (alpha, beta, gamma))
    slower = entries(answer, trial, 8, (10 * alpha, beta, gamma))
    trial.true(
        table != slower,
        f"On 8 ranks the list is the same for alpha = {alpha:g} and for {10 * alpha:g}.",
        expected="a message that costs more is worth avoiding for longer vectors, too",
        got=_shown(table),
        observed=("constant", [name for _, name in table]),
    )


@crossover.property(
    "for 8 ranks: at every size none is faster than the one that the list names",
    asks=(NO_OTHER, WHOLE),
    after=(moves,),
)
def _(answer: Any, trial: Trial) -> None:
    judge_world(answer, trial, 8, a_network(trial, 8, 0.0))


@crossover.property("for a different network and 32 ranks, too", asks=NO_OTHER, after=(moves,))
def _(answer: Any, trial: Trial) -> None:
    judge_world(answer, trial, 32, a_network(trial, 32, 0.0))


@crossover.property("with additions that cost more than bytes on the way", asks=NO_OTHER, after=(moves,))
def additions(answer: Any, trial: Trial) -> None:
    judge_world(answer, trial, 16, a_network(trial, 16, trial.random.uniform(2.0, 4.0)))


@crossover.property("for worlds that are no power of two", asks=(NO_OTHER, EQUAL), after=(moves,))
def _(answer: Any, trial: Trial) -> None:
    for world in (5, 11, 23):
        judge_world(answer, trial, world, a_network(trial, world, 0.0))


@crossover.property(
    "for 2 and 3 ranks, where the ring is never slower", asks=(NO_OTHER, EQUAL), after=(moves,)
)
def _(answer: Any, trial: Trial) -> None:
    for world in (2, 3):
        judge_world(answer, trial, world, a_network(trial, 8, 0.25))


@crossover.property(
    "for very many ranks on a slow start, where the tree wins up to gigabytes and far beyond",
    asks=NO_END,
    once_right=True,
)
def _(answer: Any, trial: Trial) -> None:
    for world, prices in (
        (1024, (2e-2, 2e-9, 1e-10)),
        (1 << 16, (2e-2, 1e-11, 0.0)),
        (1 << 24, (0.5, 1e-12, 0.0)),  # near 2 ** 58 bytes
    ):
        judge_world(answer, trial, world, prices)


@crossover.property(
    "crossings of a few bytes, held against the model at the whole numbers beside them",
    asks=WHOLE,
    once_right=True,
)
def to_the_byte(answer: Any, trial: Trial) -> None:
    """The crossing is clearly no whole number, so that rounding in floats decides nothing."""
    for low, high in ((0.2, 0.4), (0.6, 0.8)):
        while True:
            alpha = float(f"{10 ** trial.random.uniform(-6, -4):.2e}")
            prices = alpha, float(f"{alpha / trial.random.uniform(1, 60):.2e}"), 0.0
            at = meeting(8, prices)
            if at > 5 and low < at % 1 < high:
                break
        table = entries(answer, trial, 8, prices)
        for size, best in ((math.floor(at), "tree"), (math.ceil(at), "ring")):
            times = {name: seconds(name, 8, size, *prices) for name in NAMES}
            used = chosen(table, size)
            trial.true(
                used == best,
                f"At {size} bytes the list says {used}, and {best} is faster: the lines meet at {at:.4g} bytes.",
                expected=f"{best}: {times[best]:.5g} s. The list is [(0, 'tree'), ({math.ceil(at)}, 'ring')], or with {at:.4g}",
                got=f"{used}: {times[used]:.5g} s. The list is {_shown(table)}",
                observed=("too early" if used == "ring" else "too late" if used == "tree" else used),
            )


@crossover.property("for one rank: one entry", asks=(EQUAL, *ENTRIES), once_right=True)
def _(answer: Any, trial: Trial) -> None:
    table = entries(answer, trial, 1, (1e-5, 1e-9, 1e-10))
    trial.true(
        len(table) == 1,
        "One rank alone needs no time for anything, so nothing changes at any size.",
        expected="one entry at 0, with any of the names",
        got=_shown(table),
        observed=len(table),
    )


@crossover.property(
    "crossings below one byte, and below two", asks=(WHOLE, NO_OTHER, *ENTRIES), once_right=True
)
def from_the_first_byte(answer: Any, trial: Trial) -> None:
    """On a network where a byte costs as much as a message, a list that starts at 1 byte starts with the ring."""
    for low, high in ((0.2, 0.8), (1.2, 1.8)):
        while True:
            alpha = float(f"{10 ** trial.random.uniform(-6, -4):.2e}")
            prices = alpha, float(f"{alpha / trial.random.uniform(0.1, 1):.2e}"), 0.0
            at = meeting(8, prices)
            if low < at < high:
                break
        table = entries(answer, trial, 8, prices)
        for size in (1, 2, 3, 1000):
            times = {name: seconds(name, 8, size, *prices) for name in NAMES}
            used, best = chosen(table, size), min(times, key=times.get)
            trial.true(
                used == best,
                f"At {size} byte{'s' if size > 1 else ''} the list says {used}, and {best} is faster: the lines meet at {at:.4g} bytes.",
                expected=f"{best}: {times[best]:.5g} s",
                got=f"{used}: {times[used]:.5g} s. The list is {_shown(table)}",
                observed=(size, used),
            )
