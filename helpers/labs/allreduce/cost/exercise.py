"""Exercise 08.cost: seconds of an all-reduce, from the latency and the bandwidth of one port."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.allreduce.shared.cost_model import in_words, seconds

cost = Exercise(
    "08.cost",
    "What it costs",
    objective="Predict the seconds of an all-reduce from three numbers: a message, a byte sent, a byte added.",
    minutes=20,
    difficulty="medium",
    hints=[
        "Only what waits for something else takes time. In the naive way all messages pass the root's one port, one "
        "after the other. In the ring all ranks send at the same time, so follow one rank alone.",
        "Count three things for one rank, the busiest: messages, bytes that pass its port in one direction, bytes that "
        "it adds. Both algorithms have two phases; in which of them is something added?",
        "Naive: world - 1 vectors come in, each is added, and world - 1 go out. Ring: world - 1 steps with a chunk of "
        "nbytes / world, in which each chunk that comes is added, then world - 1 steps of the same size without adding.",
    ],
)

MESSAGE = "A message of m bytes takes alpha + m * beta seconds"
ADDING = "to add m bytes to m takes m * gamma."
PORT = "Each rank has one port: it sends one message at a time and receives one at a time, both at once."
NAIVE = (
    '"naive": the root receives the others\' vectors one after the other, adds each before the next one comes, and sends '
    "the sum back, one message after the other."
)
RING = '"ring": reduce-scatter, then all-gather, in chunks of nbytes / world, not rounded.'
AT_ONCE = "The ranks work at the same time; a chunk is added before it is sent on."
ALONE = "One rank alone needs no time."
EMPTY = "An empty vector needs its messages all the same."
TREE = (
    '"tree", which only exercise 8 needs: log2(world) rounds up, rounded up to a whole number, and as many down.',
    "In each round the whole vector is sent, and on the way up it is added.",
)
ALGORITHMS = ("naive", "ring")
WORLDS = (2, 3, 5, 8, 13)
PARTS = {
    "carried": "beta",
    "messages": "alpha",
    "added": "gamma",
}  # a part of the cost, and what it is paid in
MEANING = {"alpha": "s a message", "beta": "s a byte sent", "gamma": "s a byte added"}


def number(answer: Any, trial: Trial, *args: Any) -> float:
    """answer(*args), if it is a number."""
    got = answer(*args)
    if isinstance(got, bool) or not isinstance(got, Real):
        kind = type(got).__name__
        trial.fail(
            f"The cost is {'None' if got is None else f'an object of type {kind}'}.",
            expected="seconds, as a Python number",
            observed=("kind", kind),
        )
    return float(got)


def near(got: float, want: float) -> bool:
    return math.isclose(got, want, rel_tol=1e-9, abs_tol=1e-30)


def drawn(trial: Trial, low: float, high: float) -> float:
    """A number between the two, with two digits; all orders of magnitude are alike."""
    return float(f"{10 ** trial.random.uniform(math.log10(low), math.log10(high)):.1e}")


@cost.property("a number of seconds", asks="Seconds of an all-reduce, in a model of the network.")
def _(answer: Any, trial: Trial) -> None:
    for algorithm in ALGORITHMS:
        trial.given(f"{algorithm!r}, world = 4, 1000 bytes, alpha = 1e-05, beta = 1e-09, gamma = 1e-10")
        trial.call(answer, algorithm, 4, 1000, 1e-5, 1e-9, 1e-10)
        number(answer, trial, algorithm, 4, 1000, 1e-5, 1e-9, 1e-10)


def judge_part(answer: Any, trial: Trial, algorithm: str, part: str) -> None:
    """Wrong unless this part of the cost, with the prices of the others 0, is right at every world."""
    price = PARTS[part]
    prices = {"alpha": 0.0, "beta": 0.0, "gamma": 0.0}
    prices[price] = {"alpha": drawn(trial, 1e-6, 1e-3), "beta": drawn(trial, 1e-10, 1e-7)}.get(
        price, drawn(trial, 1e-11, 1e-8)
    )
    nbytes = 1560 * trial.random.randrange(3000, 9000)  # every world here divides it
    trial.given(
        f"{algorithm!r}, {nbytes:,} bytes, {price} = {prices[price]:g} {MEANING[price]}, the other two prices 0; "
        f"world = {', '.join(map(str, WORLDS))}"
    )
    got = [number(answer, trial, algorithm, world, nbytes, *prices.values()) for world in WORLDS]
    want = [seconds(algorithm, world, nbytes, **prices) for world in WORLDS]
    off = [place for place in range(len(WORLDS)) if not near(got[place], want[place])]
    if not off:
        return
    trial.fail(
        f"{_said(algorithm, part)} cost {_times(got, want, off)}.",
        expected=_table(want, got),
        got=_table(got, want),
        observed=got,
    )


def _said(algorithm: str, part: str) -> str:
    whose = {"naive": "The naive way", "ring": "The ring"}[algorithm]
    what = {"carried": "bytes sent", "messages": "messages", "added": "additions"}[part]
    return f"{whose}: the {what}"


def _times(got: list[float], want: list[float], off: list[int]) -> str:
    close = all(abs(got[place] / want[place] - 1) < 1e-3 for place in range(len(WORLDS)))
    ratios = [f"{got[place] / want[place]:{'.10g' if close else '.4g'}}" for place in range(len(WORLDS))]
    if len(set(ratios)) == 1:
        return f"{ratios[0]} times what they should"
    first, *more = [f"{ratios[place]} times what they should at world {WORLDS[place]}" for place in off]
    return first + ("" if not more else " and " + more[-1].replace(" what they should", ""))


def _table(times: list[float], others: list[float]) -> str:
    """Times by world; with all their digits where in few they would look like the others."""
    alike = list(map(in_words, times)) == list(map(in_words, others))
    shown = [f"{time!r} s" if alike else in_words(time) for time in times]
    return ", ".join(f"world {world}: {time}" for world, time in zip(WORLDS, shown, strict=True))


@cost.property("ring: the bytes that one port sends, at beta each", asks=(RING, AT_ONCE, PORT))
def _(answer: Any, trial: Trial) -> None:
    judge_part(answer, trial, "ring", "carried")


@cost.property("ring: the messages, at alpha each", asks=(MESSAGE, RING))
def _(answer: Any, trial: Trial) -> None:
    judge_part(answer, trial, "ring", "messages")


@cost.property("ring: the additions, at gamma a byte", asks=(ADDING, RING, AT_ONCE))
def _(answer: Any, trial: Trial) -> None:
    judge_part(answer, trial, "ring", "added")


@cost.property("naive: the bytes that pass the root's port, at beta each", asks=(NAIVE, PORT))
def _(answer: Any, trial: Trial) -> None:
    judge_part(answer, trial, "naive", "carried")


@cost.property("naive: the messages, at alpha each", asks=(MESSAGE, NAIVE))
def _(answer: Any, trial: Trial) -> None:
    judge_part(answer, trial, "naive", "messages")


@cost.property("naive: the additions, at gamma a byte", asks=(ADDING, NAIVE))
def _(answer: Any, trial: Trial) -> None:
    judge_part(answer, trial, "naive", "added")


def judge_whole(answer: Any, trial: Trial, algorithm: str, world: int, nbytes: float) -> tuple[float, float]:
    """What the answer says and what is right, with all three prices."""
    prices = drawn(trial, 1e-6, 1e-4), drawn(trial, 1e-10, 1e-8), drawn(trial, 1e-11, 1e-9)
    trial.given(
        f"{algorithm!r}, world = {world}, {nbytes:,} bytes, "
        "alpha = {:g}, beta = {:g}, gamma = {:g}".format(*prices)
    )
    got = number(answer, trial, algorithm, world, nbytes, *prices)
    return got, seconds(algorithm, world, nbytes, *prices)


def exact(answer: Any, trial: Trial, algorithm: str, world: int, nbytes: float, message: str) -> None:
    got, want = judge_whole(answer, trial, algorithm, world, nbytes)
    trial.true(
        near(got, want),
        message,
        expected=f"{want:.9g} s",
        got=f"{got:.9g} s",
        observed=(algorithm, world, got),
    )


@cost.property("the three parts add up", asks=(f"{MESSAGE}; {ADDING}",), once_right=True)
def _(answer: Any, trial: Trial) -> None:
    for algorithm in ALGORITHMS:
        for world in WORLDS:
            for nbytes in (1560 * trial.random.randrange(1, 9), 1560 * trial.random.randrange(3000, 9000)):
                message = "Each part alone is right, the three together are not."
                exact(answer, trial, algorithm, world, nbytes, message)


@cost.property(
    "nbytes / world is not rounded, and no bytes cost no bytes", asks=(RING, EMPTY), once_right=True
)
def _(answer: Any, trial: Trial) -> None:
    for algorithm in ALGORITHMS:
        for world in (3, 4, 7):
            nbytes = 84 * trial.random.randrange(1, 9) + 13  # no world here divides it
            message = "Half bytes, as of a vector that was cut in parts, are counted as they are."
            exact(answer, trial, algorithm, world, nbytes + 0.5, message)
            exact(
                answer, trial, algorithm, world, nbytes, "Right for sizes that the world divides, wrong here."
            )
            exact(
                answer,
                trial,
                algorithm,
                world,
                0,
                "Wrong for an empty vector. Its messages are sent all the same.",
            )


@cost.property("one rank alone needs no time", asks=ALONE, once_right=True)
def _(answer: Any, trial: Trial) -> None:
    for algorithm in ALGORITHMS:
        got, _ = judge_whole(answer, trial, algorithm, 1, 1560 * trial.random.randrange(1, 9000))
        trial.true(
            got == 0,
            "One rank has its sum already: it sends nothing and adds nothing.",
            expected="0",
            got=in_words(got),
            observed=(algorithm, got),
        )


@cost.property("more bytes never take less time, up to a terabyte", asks=(MESSAGE, RING), once_right=True)
def _(answer: Any, trial: Trial) -> None:
    for algorithm in ALGORITHMS:
        world = trial.random.choice(WORLDS)
        trial.given(
            f"{algorithm!r}, world = {world}, from 0 to 2**40 bytes, alpha = 1e-05, beta = 1e-09, gamma = 1e-10"
        )
        sizes = [0, 1, 2, 3, world - 1, world, world + 1, *(2**power for power in range(5, 41))]
        got = [number(answer, trial, algorithm, world, size, 1e-5, 1e-9, 1e-10) for size in sorted(sizes)]
        falls = [place for place in range(1, len(got)) if got[place] < got[place - 1]]
        trial.true(
            not falls,
            f"A longer vector takes less time than a shorter one: at {sorted(sizes)[falls[0]] if falls else 0:,} bytes.",
            expected="times that rise with nbytes, or stay",
            observed=(algorithm, [got[place] for place in falls]),
        )


@cost.property(
    "for long vectors naive takes as many times longer as there are ranks",
    asks=(NAIVE, RING),
    once_right=True,
)
def _(answer: Any, trial: Trial) -> None:
    for world in (2, 5, 64, 1024):
        trial.given(f"world = {world}, 2**40 bytes, alpha = 1e-05, beta = 1e-09, gamma = 1e-10")
        naive, ring = (
            number(answer, trial, name, world, 2**40, 1e-5, 1e-9, 1e-10) for name in ("naive", "ring")
        )
        ratio = naive / ring if ring else math.inf
        trial.true(
            math.isclose(ratio, world, rel_tol=1e-2),
            f"naive / ring is {ratio:.4g} on {world} ranks: {in_words(naive)} and {in_words(ring)}.",
            expected=f"close to {world}",
            observed=(world, ratio),
        )


@cost.property(
    "tree, if the answer knows it: the rounds up and down, whole vectors, added on the way up",
    asks=TREE,
    once_right=True,
)
def _(answer: Any, trial: Trial) -> None:
    got, want, others = [], [], []
    nbytes = 1560 * trial.random.randrange(3000, 9000)
    prices = drawn(trial, 1e-6, 1e-4), drawn(trial, 1e-10, 1e-8), drawn(trial, 1e-11, 1e-9)
    for world in WORLDS:
        try:
            given = answer("tree", world, nbytes, *prices)
        except Exception:
            return  # tree belongs to the optional exercises
        if isinstance(given, bool) or not isinstance(given, Real):
            return
        got.append(float(given))
        want.append(seconds("tree", world, nbytes, *prices))
        others.append([seconds(name, world, nbytes, *prices) for name in ALGORITHMS])
    if any(all(map(near, got, other)) for other in zip(*others, strict=True)):
        return  # it knows two, and takes every other name for one of them
    trial.given(
        f"'tree', world = {', '.join(map(str, WORLDS))}, {nbytes:,} bytes, "
        + "alpha = {:g}, beta = {:g}, gamma = {:g}".format(*prices)
    )
    trial.true(
        all(map(near, got, want)),
        "The answer gives a number for 'tree', and it is not that of ceil(log2(world)) rounds up and as many down.",
        expected=_table(want, got),
        got=_table(got, want),
        observed=got,
    )


@cost.property(
    "tree, if the answer knows it: nothing on one rank, and messages for an empty vector",
    asks=(ALONE, EMPTY),
    once_right=True,
)
def _(answer: Any, trial: Trial) -> None:
    prices = drawn(trial, 1e-6, 1e-4), drawn(trial, 1e-10, 1e-8), drawn(trial, 1e-11, 1e-9)
    try:
        known = answer("tree", 8, 1560, *prices)
    except Exception:
        return  # tree belongs to the optional exercises
    if not isinstance(known, Real) or not near(float(known), seconds("tree", 8, 1560, *prices)):
        return  # it knows two, and takes every other name for one of them, or for nothing
    for world, nbytes, message in (
        (1, 1560 * trial.random.randrange(1, 9000), "One rank has its sum already: its tree has no rounds."),
        (8, 0, "Wrong for an empty vector. Its messages are sent all the same."),
    ):
        trial.given(
            f"'tree', world = {world}, {nbytes:,} bytes, "
            + "alpha = {:g}, beta = {:g}, gamma = {:g}".format(*prices)
        )
        got, want = (
            number(answer, trial, "tree", world, nbytes, *prices),
            seconds("tree", world, nbytes, *prices),
        )
        trial.true(
            near(got, want), message, expected=in_words(want), got=in_words(got), observed=(world, got)
        )
