"""Exercise 08.fit_alpha_beta: latency and bandwidth from measurements, so that small messages weigh as much as large."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.allreduce.fit_alpha_beta.least_squares import (
    Row,
    of_logarithms,
    shares_of_the_predicted,
    solved,
    weighted,
)
from helpers.labs.allreduce.shared.cost_model import in_words, seconds

fit_alpha_beta = Exercise(
    "08.fit_alpha_beta",
    "Two numbers out of many measurements",
    objective="Fit the model's alpha and beta to measured times, and predict a world that nobody measured.",
    minutes=25,
    difficulty="medium",
    version=2,
    hints=[
        "For one row the model is a sum of two known counts, each times an unknown: messages * alpha + bytes * beta. "
        "What are the two counts for a row of the ring? `cost` can tell you, if you choose its prices well.",
        "Many such rows are a matrix with two columns; numpy.linalg.lstsq finds the alpha and beta with the smallest sum "
        "of squared errors. But those are errors in seconds: which rows will they come from?",
        "Divide each row of the matrix, and its measured seconds, by the measured seconds. The right side becomes 1 "
        "everywhere and every error is a share of its own row. A row of world 1 has no message in it: leave it out.",
    ],
)

MODEL = (
    "alpha and beta (seconds a message, seconds a byte) that explain measured times best.",
    "The model is your `cost` with gamma = 0, so the time for adding goes into beta.",
)
BEST = "Best: the sum of ((predicted - measured) / measured) ** 2 over all rows is the smallest."
REPEATED = "A measurement that was repeated is several rows, and each counts."
ALONE = "Rows of world 1 say nothing: no message is sent there."
NETWORKS = "Any network: alpha from microseconds, beta from 1e-11 (100 GB/s)."
UNCHANGED = "The list is left unchanged."
MB = 1 << 20
SIZES = [1 << power for power in range(12, 27, 2)]  # 4 KB to 64 MB
ALLOWED = 0.025  # beside the best fit; fits of another, equally sensible relative error lie within 0.016
NEXT_TO_NOTHING = 1e-9  # a part so small is what rounding left, and other digits on another machine
HELD_OUT = [(name, 8, size) for name in ("naive", "ring") for size in (MB, 4 * MB, 16 * MB, 64 * MB)]


def a_link(trial: Trial) -> tuple[float, float]:
    """alpha and beta of a link on which 100 KB take about twice as long as 1 byte."""
    alpha = float(f"{10 ** trial.random.uniform(-5, -2.7):.2e}")
    return alpha, float(f"{alpha / trial.random.uniform(5e4, 2e5):.2e}")


def a_link_with_digits(trial: Trial) -> tuple[float, float]:
    """A link that a pair rounded to microseconds, or to tenths of a nanosecond a byte, is not near, whatever is drawn."""
    while True:
        alpha, beta = a_link(trial)
        if not (close(round(alpha, 6), alpha, 0.015) or close(round(beta, 10), beta, 0.015)):
            return alpha, beta


def measured(
    algorithms: Iterable[str],
    worlds: Iterable[int],
    alpha: float,
    beta: float,
    noise: random.Random | None = None,
) -> list[Row]:
    """Rows of every size; with noise each is 6 to 10 % too long or too short, and their order is any."""
    rows: list[Row] = [
        (name, world, size, seconds(name, world, size, alpha, beta))
        for name in algorithms
        for world in worlds
        for size in SIZES
    ]
    if noise:
        rows = [(*row[:3], row[3] * (1 + noise.choice((-1, 1)) * noise.uniform(0.06, 0.1))) for row in rows]
        noise.shuffle(rows)
    return rows


def fitted(answer: Any, trial: Trial, rows: list[Row]) -> tuple[float, float]:
    """answer(rows), if it is two numbers."""
    trial.arguments_stay(UNCHANGED)
    got = trial.call(answer, list(rows))
    try:
        if isinstance(got, str | dict | set):
            raise TypeError
        alpha, beta = got
        if isinstance(alpha, str | bool) or isinstance(beta, str | bool):
            raise TypeError
        return float(alpha), float(beta)
    except (TypeError, ValueError, RuntimeError):
        kind = type(got).__name__
        trial.fail(
            f"The result is {'None' if got is None else f'an object of type {kind}'}, and no pair of numbers.",
            expected="(alpha, beta)",
            observed=("kind", kind),
        )


def close(got: float, want: float, by: float) -> bool:
    return abs(got - want) <= by * abs(want)


def pair_in_words(alpha: float, beta: float) -> str:
    return f"alpha = {_seconds(alpha)}, beta = {_seconds(beta)}"


def _seconds(value: float) -> str:
    return "almost 0 s" if 0 < abs(value) < NEXT_TO_NOTHING * 1e-6 else f"{value:.4g} s"


def _ratio(have: float, want: float) -> str:
    return "almost 0 times" if 0 < abs(have / want) < NEXT_TO_NOTHING else f"{have / want:.4g} times"


def recovers(answer: Any, trial: Trial, algorithms: tuple[str, ...], worlds: tuple[int, ...]) -> None:
    """Wrong unless rows without noise give the link that they were made of."""
    alpha, beta = a_link_with_digits(trial)
    rows = measured(algorithms, worlds, alpha, beta)
    trial.given(
        f"{len(rows)} rows without noise: {_mix(algorithms, worlds)}, 4 KB to 64 MB, {pair_in_words(alpha, beta)}"
    )
    got = fitted(answer, trial, rows)
    off = _off(got, (alpha, beta))
    trial.true(
        not off,
        f"The rows follow the model exactly, and {off}.",
        expected=pair_in_words(alpha, beta),
        got=pair_in_words(*got),
        observed=_rounded(got, (alpha, beta)) or list(got),
    )


def _rounded(got: tuple[float, float], want: tuple[float, float]) -> list[str]:
    """Which of the two is the right one with fewer digits, where the other is right or has fewer digits, too."""
    short = [
        have != 0
        and not close(have, need, 1e-3)
        and any(have == round(need, places) for places in range(4, 14))
        for have, need in zip(got, want, strict=True)
    ]
    if not all(is_short or close(*pair, 1e-3) for is_short, *pair in zip(short, got, want, strict=True)):
        return []
    return [f"{name} rounded" for name, is_short in zip(("alpha", "beta"), short, strict=True) if is_short]


def _off(got: tuple[float, float], want: tuple[float, float], by: float = 0.01) -> str:
    """Which of the two is wrong, and by how much."""
    return " and ".join(
        f"{name} is {_ratio(have, need)} what it should be"
        for name, have, need in zip(("alpha", "beta"), got, want, strict=True)
        if not close(have, need, by)
    )


def _mix(algorithms: tuple[str, ...], worlds: tuple[int, ...]) -> str:
    return f"{' and '.join(algorithms)}, world {', '.join(map(str, worlds))}"


@fit_alpha_beta.property("exact rows of naive give alpha and beta back", asks=(*MODEL, UNCHANGED))
def _(answer: Any, trial: Trial) -> None:
    recovers(answer, trial, ("naive",), (2, 5, 7))


@fit_alpha_beta.property("exact rows of the ring give alpha and beta back", asks=MODEL)
def _(answer: Any, trial: Trial) -> None:
    recovers(answer, trial, ("ring",), (2, 5, 7))


@fit_alpha_beta.property("exact rows of both, mixed, give alpha and beta back", asks=MODEL)
def _(answer: Any, trial: Trial) -> None:
    recovers(answer, trial, ("ring", "naive"), (2, 3, 6))


def noisy(trial: Trial) -> tuple[float, float, list[Row]]:
    """A link and noisy rows of 2 and 4 ranks, for which it is clear what the errors are weighed by.

    Squares of seconds lead astray, squares of shares do not, and what lies between is some way off.
    """
    while True:
        alpha, beta = a_link(trial)
        rows = measured(("naive", "ring"), (2, 4), alpha, beta, trial.random)
        best = solved(rows, weighted(1.0))
        if worst(best, alpha, beta) > 0.08 or worst(solved(rows, weighted(0.0)), alpha, beta) < 0.3:
            continue
        if any(close(seconds(*row[:3], *best), row[3], 1.2 * ALLOWED) for row in rows):
            continue  # two rows alone, which a line meets exactly, then give another pair than the best
        if all(far(solved(rows, weighted(power)), best) for power in (0.5, 2.0)):
            return alpha, beta, rows


def far(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether alpha or beta differ by much more than is allowed."""
    return not all(close(have, want, 1.6 * ALLOWED) for have, want in zip(one, other, strict=True))


def worst(pair: tuple[float, float], alpha: float, beta: float) -> float:
    """The largest relative error among what this pair predicts for the held-out points."""
    return max(abs(seconds(*point, *pair) / seconds(*point, alpha, beta) - 1) for point in HELD_OUT)


NOISY = "naive and ring, world 2 and 4, 4 KB to 64 MB, each 6 to 10 % too long or too short, shuffled"


@fit_alpha_beta.property(
    "noisy rows of 2 and 4 ranks predict 8 ranks within 20 %, from 1 MB on", asks=BEST, once_right=True
)
def predicts(answer: Any, trial: Trial) -> None:
    alpha, beta, rows = noisy(trial)
    trial.given(f"{len(rows)} rows: {NOISY}, {pair_in_words(alpha, beta)}")
    got = fitted(answer, trial, rows)
    errors = {point: seconds(*point, *got) / seconds(*point, alpha, beta) - 1 for point in HELD_OUT}
    point = max(errors, key=lambda at: abs(errors[at]))
    name, world, size = point
    trial.true(
        abs(errors[point]) <= 0.2,
        f"The {name} on {world} ranks at {size // MB} MB is predicted {abs(errors[point]):.0%} too "
        f"{'long' if errors[point] > 0 else 'short'}.",
        expected=f"{in_words(seconds(*point, alpha, beta))} within 20 %",
        got=f"{in_words(seconds(*point, *got))}, from {pair_in_words(*got)}",
        observed=list(got),
    )


@fit_alpha_beta.property(
    "every row weighs the same: the errors are taken as shares", asks=BEST, once_right=True
)
def weighs(answer: Any, trial: Trial) -> None:
    for _ in range(3):  # a fit of some of the rows comes near by chance, but not three times
        alpha, beta, rows = noisy(trial)
        trial.given(f"{len(rows)} rows: {NOISY}, {pair_in_words(alpha, beta)}")
        want, got = solved(rows, weighted(1.0)), fitted(answer, trial, rows)
        trial.true(
            all(close(have, need, ALLOWED) for have, need in zip(got, want, strict=True)),
            "The pair is not the one with the smallest sum of ((predicted - measured) / measured) ** 2: "
            f"{_off(got, want, ALLOWED)}.",
            expected=pair_in_words(*want),
            got=pair_in_words(*got),
            observed=list(got),
        )


@fit_alpha_beta.property(
    "all rows are used: where worlds or algorithms disagree, the best lies between",
    asks=BEST,
    once_right=True,
)
def between(answer: Any, trial: Trial) -> None:
    """Rows of one world, or of one algorithm, are all too long, and the others too short: no part is like the whole."""
    for part in (0, 1):
        alpha, beta = a_link(trial)
        rows = measured(("naive", "ring"), (2, 4), alpha, beta)
        longer = trial.random.choice((-1, 1))
        rows = [
            (*row[:3], row[3] * (1 + 0.06 * (longer if row[part] in ("naive", 2) else -longer)))
            for row in rows
        ]
        groups = "of naive and of the ring" if part == 0 else "of world 2 and of world 4"
        trial.given(
            f"{len(rows)} rows {groups}: all of the one 6 % too long, all of the other 6 % too short, "
            f"4 KB to 64 MB, {pair_in_words(alpha, beta)}"
        )
        want, got = solved(rows, weighted(1.0)), fitted(answer, trial, rows)
        trial.true(
            all(close(have, need, ALLOWED) for have, need in zip(got, want, strict=True)),
            f"The pair is not the one that fits all rows best, as shares: {_off(got, want, ALLOWED)}.",
            expected=pair_in_words(*want),
            got=pair_in_words(*got),
            observed=list(got),
        )


@fit_alpha_beta.property(
    "errors of a third, too, are shares of what was measured", asks=BEST, once_right=True
)
def of_the_measured(answer: Any, trial: Trial) -> None:
    """The larger the errors, the more it counts what they are a share of."""
    while True:
        alpha, beta = a_link(trial)
        rows = measured(("naive", "ring"), (2, 5), alpha, beta)
        rows = [(*row[:3], row[3] * (1 + trial.random.choice((-0.35, 0.35)))) for row in rows]
        trial.random.shuffle(rows)
        want = solved(rows, weighted(1.0))
        others = (of_logarithms(rows), shares_of_the_predicted(rows), solved(rows, weighted(0.5)))
        if min(want) > 0 and all(far(other, want) for other in others):
            break
    trial.given(
        f"{len(rows)} rows: naive and ring, world 2 and 5, 4 KB to 64 MB, each 35 % too long or too short, "
        f"{pair_in_words(alpha, beta)}"
    )
    got = fitted(answer, trial, rows)
    trial.true(
        all(close(have, need, ALLOWED) for have, need in zip(got, want, strict=True)),
        "With small errors the pair was right. With large ones it is not the one with the smallest sum of "
        f"((predicted - measured) / measured) ** 2: {_off(got, want, ALLOWED)}.",
        expected=pair_in_words(*want),
        got=pair_in_words(*got),
        observed=list(got),
    )


@fit_alpha_beta.property("a measurement that was repeated counts as often", asks=REPEATED, once_right=True)
def repeats(answer: Any, trial: Trial) -> None:
    """Rows of one world were measured six times, all too long, those of the other once, all too short."""
    alpha, beta = a_link(trial)
    rows = [
        (*row[:3], row[3] * (1 + share))
        for row in measured(("naive", "ring"), (2, 5), alpha, beta)
        for share in ((0.2, 0.22, 0.24, 0.2, 0.22, 0.24) if row[1] == 5 else (-0.2,))
    ]
    trial.random.shuffle(rows)
    trial.given(
        f"{len(rows)} rows: naive and ring, 4 KB to 64 MB, world 5 six times each, 20 to 24 % too long, world 2 once, "
        f"20 % too short, {pair_in_words(alpha, beta)}"
    )
    want, got = solved(rows, weighted(1.0)), fitted(answer, trial, rows)
    trial.true(
        all(close(have, need, ALLOWED) for have, need in zip(got, want, strict=True)),
        f"Each row has to count once: {_off(got, want, ALLOWED)}.",
        expected=pair_in_words(*want),
        got=pair_in_words(*got),
        observed=list(got),
    )


@fit_alpha_beta.property("rows of world 1 say nothing", asks=ALONE, once_right=True)
def alone(answer: Any, trial: Trial) -> None:
    alpha, beta = a_link(trial)
    rows = measured(("ring", "naive"), (2, 4), alpha, beta)
    rows[2:2] = [(name, 1, size, 1e-6 + size * 1e-12) for name in ("naive", "ring") for size in SIZES[:3]]
    trial.given(
        f"{len(rows)} rows: ring and naive, world 2 and 4, 4 KB to 64 MB, without noise, {pair_in_words(alpha, beta)}; "
        "and six of world 1, of some microseconds each"
    )
    got = fitted(answer, trial, rows)
    trial.true(
        close(got[0], alpha, 0.01) and close(got[1], beta, 0.01),
        f"Without rows of world 1 the pair was right. Now {_off(got, (alpha, beta))}.",
        expected=pair_in_words(alpha, beta),
        got=pair_in_words(*got),
        observed=list(got),
    )


@fit_alpha_beta.property(
    "fast and slow networks, from microseconds and 100 GB/s on", asks=NETWORKS, once_right=True
)
def fast(answer: Any, trial: Trial) -> None:
    for alpha, beta in ((2.6e-6, 1e-11), (2e-1, 1e-6), (1e-3, 1e-11), (1e-5, 1e-7)):
        rows = measured(("ring", "naive"), (2, 8), alpha, beta)
        trial.given(
            f"{len(rows)} rows without noise: ring and naive, world 2 and 8, 4 KB to 64 MB, {pair_in_words(alpha, beta)}"
        )
        got = fitted(answer, trial, rows)
        trial.true(
            close(got[0], alpha, 0.01) and close(got[1], beta, 0.01),
            f"The rows follow the model exactly, and {_off(got, (alpha, beta))}.",
            expected=pair_in_words(alpha, beta),
            got=pair_in_words(*got),
            observed=[alpha, *got],
        )


@fit_alpha_beta.property(
    "rows of world 1 among noisy rows: all before and after them count", asks=(ALONE, BEST), once_right=True
)
def among(answer: Any, trial: Trial) -> None:
    """The rows before the first of them, by themselves, give a different pair."""
    while True:
        alpha, beta, rows = noisy(trial)
        want = solved(rows, weighted(1.0))
        if far(solved(rows[:5], weighted(1.0)), want) and far(solved(rows[12:], weighted(1.0)), want):
            break
    rows[12:12] = [("naive", 1, SIZES[0], 1e-6)]
    rows[5:5] = [("ring", 1, SIZES[1], 2e-6)]
    trial.given(
        f"{len(rows)} rows: {NOISY}, {pair_in_words(alpha, beta)}; two of world 1 among them, of a microsecond or two"
    )
    got = fitted(answer, trial, rows)
    trial.true(
        all(close(have, need, ALLOWED) for have, need in zip(got, want, strict=True)),
        f"The pair is not the one that fits all rows best that sent something: {_off(got, want, ALLOWED)}.",
        expected=pair_in_words(*want),
        got=pair_in_words(*got),
        observed=list(got),
    )


@fit_alpha_beta.property("rows of no bytes, and of one, count as others do", asks=BEST, once_right=True)
def short(answer: Any, trial: Trial) -> None:
    """Those of no bytes are all too long, those of one byte too short: without either, or both, alpha is a different one."""
    alpha, beta = a_link(trial)
    rows = [
        (name, world, size, seconds(name, world, size, alpha, beta) * {0: 1.4, 1: 0.95}.get(size, 1.0))
        for name in ("naive", "ring")
        for world in (2, 5)
        for size in (0, 1, SIZES[0], SIZES[-1])
    ]
    trial.random.shuffle(rows)
    trial.given(
        f"{len(rows)} rows: naive and ring, world 2 and 5, 4 KB and 64 MB without noise, 0 bytes 40 % too long, "
        f"1 byte 5 % too short, {pair_in_words(alpha, beta)}"
    )
    want, got = solved(rows, weighted(1.0)), fitted(answer, trial, rows)
    trial.true(
        all(close(have, need, ALLOWED) for have, need in zip(got, want, strict=True)),
        f"The pair is not the one that fits all rows best, as shares: {_off(got, want, ALLOWED)}.",
        expected=pair_in_words(*want),
        got=pair_in_words(*got),
        observed=list(got),
    )


@fit_alpha_beta.property(
    "long vectors on a slow wire, where a message is a ten-millionth of a row", asks=NETWORKS, once_right=True
)
def long(answer: Any, trial: Trial) -> None:
    """Two columns of float64 have digits for it, and those of float32 have not."""
    alpha, beta = 2e-6, 1e-7
    rows = [
        (name, world, size, seconds(name, world, size, alpha, beta))
        for name in ("ring", "naive")
        for world in (3, 7)
        for size in (1 << 30, 1 << 32, 1 << 34)
    ]
    trial.given(
        f"{len(rows)} rows without noise: ring and naive, world 3 and 7, 1 GB to 16 GB, {pair_in_words(alpha, beta)}"
    )
    got = fitted(answer, trial, rows)
    trial.true(
        close(got[0], alpha, 0.01) and close(got[1], beta, 0.01),
        f"The rows follow the model exactly, and {_off(got, (alpha, beta))}.",
        expected=pair_in_words(alpha, beta),
        got=pair_in_words(*got),
        observed="alpha" if close(got[1], beta, 0.01) else "beta",
    )
