"""What people write for 08.fit_alpha_beta, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile

import numpy as np

from helpers.labs.allreduce.fit_alpha_beta.exercise import (
    ALONE,
    BEST,
    MODEL,
    NETWORKS,
    REPEATED,
    UNCHANGED,
    fit_alpha_beta,
)
from helpers.labs.allreduce.fit_alpha_beta.least_squares import (
    Columns,
    Row,
    counts,
    of_logarithms,
    shares_of_the_predicted,
    solved,
    weighted,
)
from helpers.labs.allreduce.shared.cost_model import terms

Pair = tuple[float, float]
RELATIVE, ABSOLUTE = weighted(1.0), weighted(0.0)


def sent(rows: list[Row]) -> list[Row]:
    """Without the rows of one rank alone."""
    return [row for row in rows if row[1] > 1]


@fit_alpha_beta.mistake(breaks=BEST)
def absolute_errors(rows: list[Row]) -> Pair:
    """What is predicted for 8 ranks is far off, or the pair is the one for errors in seconds: 10 % of a
    64 MB row outweighs all small rows together, and alpha, which only they know, is drowned. Divide each
    row by its measured seconds.
    """
    return solved(rows, ABSOLUTE)


@fit_alpha_beta.variant(absolute_errors)
def _(rows: list[Row]) -> Pair:
    """Seconds of one step against bytes of one step, by polyfit, which knows no weights."""
    steps = [(terms(name, world, size), time) for name, world, size, time in sent(rows)]
    beta, alpha = np.polyfit(
        [part.carried / part.messages for part, _ in steps], [time / part.messages for part, time in steps], 1
    )
    return float(alpha), float(beta)


@fit_alpha_beta.mistake(breaks=BEST)
def root_of_the_weight(rows: list[Row]) -> Pair:
    """The large rows count more than the small ones. Perhaps the weight is multiplied in before the
    squares are taken, as 1 / sqrt(seconds). The weight of a row is 1 / seconds.
    """
    return solved(rows, weighted(0.5))


@fit_alpha_beta.mistake(breaks=BEST)
def weight_twice(rows: list[Row]) -> Pair:
    """The small rows decide, and they say little about beta. Perhaps the weight is 1 / seconds ** 2,
    which is a square already: it is squared with the error. The weight of a row is 1 / seconds.
    """
    return solved(rows, weighted(2.0))


@fit_alpha_beta.mistake(breaks=BEST)
def two_rows(rows: list[Row]) -> Pair:
    """With noise the pair is that of some rows, not of all. Perhaps two rows were solved for two unknowns
    and the others thrown away: whatever noise these two have is the result.
    """
    rows = sorted(sent(rows), key=lambda row: row[2])
    return solved([rows[0], rows[-1]], RELATIVE)


@fit_alpha_beta.variant(two_rows)
def _(rows: list[Row]) -> Pair:
    rows = sent(rows)
    return solved([rows[0], max(rows, key=lambda row: row[2])], RELATIVE)


@fit_alpha_beta.variant(two_rows)
def _(rows: list[Row]) -> Pair:
    by_chunk = sorted(sent(rows), key=lambda row: (chunk(*row[:3]), row[3] / counts(*row[:3])[0]))
    return solved([by_chunk[0], by_chunk[-1]], RELATIVE)


@fit_alpha_beta.mistake(breaks=MODEL[0])
def ends_only(rows: list[Row]) -> Pair:
    """alpha or beta is too large, though the rows follow the model exactly. Perhaps alpha was read off a
    small row and beta off a large one, as if each were free of the other's share: a short message has
    bytes, too, and a long one its alpha.
    """
    rows = sorted(sent(rows), key=lambda row: row[2])
    small, large = rows[0], rows[-1]
    return small[3] / counts(*small[:3])[0], large[3] / counts(*large[:3])[1]


@fit_alpha_beta.variant(ends_only)
def _(rows: list[Row]) -> Pair:
    rows = sent(rows)
    alpha = min(row[3] / counts(*row[:3])[0] for row in rows)
    return alpha, min(row[3] / counts(*row[:3])[1] for row in rows)


@fit_alpha_beta.mistake(breaks=MODEL[1])
def power_law(rows: list[Row]) -> Pair:
    """Neither number is near, and beta is no time of a byte. Perhaps a straight line was put between
    logarithms: a power law, seconds = a * bytes ** b. A latency plus a rate is none: it is flat for short
    messages, with a slope of 1 for long ones.
    """
    slope, start = np.polyfit([np.log(row[2]) for row in rows], [np.log(row[3]) for row in rows], 1)
    return float(np.exp(start)), float(slope)


@fit_alpha_beta.variant(power_law)
def _(rows: list[Row]) -> Pair:
    slope, start = np.polyfit([np.log(row[2]) for row in rows], [np.log(row[3]) for row in rows], 1)
    return float(np.exp(start)), float(np.exp(slope))


@fit_alpha_beta.mistake(breaks=MODEL[0])
def swapped(rows: list[Row]) -> Pair:
    """alpha is what beta should be, and beta what alpha should be. Perhaps they have changed places;
    numpy.polyfit gives the slope first. Asked for are (alpha, beta).
    """
    return solved(rows, RELATIVE)[::-1]


@fit_alpha_beta.mistake(breaks=MODEL[0])
def gives_bandwidth(rows: list[Row]) -> Pair:
    """alpha is right, and beta is its inverse: the bandwidth, bytes a second. beta is seconds a byte."""
    alpha, beta = solved(rows, RELATIVE)
    return alpha, 1 / beta


@fit_alpha_beta.mistake(breaks=MODEL[0])
def beta_a_megabyte(rows: list[Row]) -> Pair:
    """alpha is right, and beta is a million times too large. Perhaps the sizes were made smaller for the
    fit. It is wanted in seconds a byte.
    """
    alpha, beta = solved(rows, RELATIVE)
    return alpha, beta * 1e6


@fit_alpha_beta.variant(beta_a_megabyte)
def _(rows: list[Row]) -> Pair:
    alpha, beta = solved(rows, RELATIVE)
    return alpha, beta * 2**20


@fit_alpha_beta.mistake(breaks=ALONE)
def world_1_crashes(rows: list[Row]) -> Pair:
    """The answer is right until a row of world 1 comes: its count of messages is 0. Perhaps something is
    divided by it, which fails or makes NaN of everything. Such rows say nothing about the network: leave
    them out.
    """
    steps = [terms(name, world, size) for name, world, size, _ in rows]
    x = [part.carried / part.messages for part in steps]
    y = [row[3] / part.messages for row, part in zip(rows, steps, strict=True)]
    beta, alpha = np.polyfit(x, y, 1, w=1 / np.array(y))
    return float(alpha), float(beta)


@fit_alpha_beta.variant(world_1_crashes)
def _(rows: list[Row]) -> Pair:
    paid, times = np.array([counts(*row[:3]) for row in rows]), np.array([row[3] for row in rows])
    with np.errstate(all="ignore"):
        x, y = paid[:, 1] / paid[:, 0], times / paid[:, 0]
        w = 1 / y**2
        beta = (w.sum() * (w * x * y).sum() - (w * x).sum() * (w * y).sum()) / (
            w.sum() * (w * x * x).sum() - (w * x).sum() ** 2
        )
        return float(((w * y).sum() - beta * (w * x).sum()) / w.sum()), float(beta)


@fit_alpha_beta.mistake(breaks=ALONE)
def world_1_taken_for_2(rows: list[Row]) -> Pair:
    """Rows of world 1 pull alpha down. Perhaps they were fitted as if they had sent something, max(1,
    world - 1) messages. Leave such rows out.
    """
    return solved(rows, RELATIVE, lambda name, world, size: counts(name, max(2, world), size))


def of_wrong_counts(columns: Columns) -> list:
    """The fit with these counts, with errors as shares and in seconds."""

    def fit(weight):
        return lambda rows: solved(sent(rows), weight, columns)

    return [fit(RELATIVE), fit(ABSOLUTE)]


WRONG_COUNTS: dict[str, tuple[str, list[Columns]]] = {
    "one_formula_for_all": (
        "Rows of one algorithm do not give the right pair. Perhaps all rows were fitted with one formula. "
        "A row of naive carries the whole vector in each message, a row of the ring an nth of it: the first entry of a row "
        "says which it is.",
        [
            lambda name, world, size: counts("ring", world, size),
            lambda name, world, size: counts("naive", world, size),
        ],
    ),
    "seconds_against_bytes": (
        "From rows of naive come an alpha and a beta several times too large. Perhaps seconds were put against nbytes alone: the line mixes algorithms "
        "and worlds, and its start is the latency of a whole all-reduce, not of a message.",
        [lambda name, world, size: (1, size)],
    ),
    "alpha_once_a_call": (
        "From rows of naive comes an alpha several times too large. Perhaps it was counted once or twice a row, so it is the latency of a whole "
        "all-reduce, or of a phase. There are 2 * (world - 1) messages, one after the other.",
        [
            lambda name, world, size: (1, counts(name, world, size)[1]),
            lambda name, world, size: (2, counts(name, world, size)[1]),
        ],
    ),
    "one_phase": (
        "From rows of naive come an alpha and a beta twice as large as they should be. Perhaps one of the two phases was counted, world - 1 messages.",
        [lambda name, world, size: tuple(part / 2 for part in counts(name, world, size))],
    ),
    "as_many_steps_as_ranks": (
        "From rows of naive come an alpha and a beta too small, by less than a half. Perhaps a phase has world steps. It has world - 1: with 2 ranks "
        "world is twice too many, so no single alpha fits all rows.",
        [lambda name, world, size: tuple(part * world / (world - 1) for part in counts(name, world, size))],
    ),
}

for name, (why, all_columns) in WRONG_COUNTS.items():
    first, *others = [fit for columns in all_columns for fit in of_wrong_counts(columns)]
    fit_alpha_beta.add_mistake(name, first, why=why, breaks=MODEL[1])
    for other in others:
        fit_alpha_beta.add_variant(name, other)


@fit_alpha_beta.mistake(breaks=MODEL[1])
def gamma_fitted_too(rows: list[Row]) -> Pair:
    """alpha is right, and beta is too small. Perhaps a third unknown was fitted. In every row half as
    many bytes are added as sent, so times cannot tell beta from gamma, and least squares shares beta out
    among the two.
    """
    return three_unknowns(rows, 1.0)


@fit_alpha_beta.variant(gamma_fitted_too)
def _(rows: list[Row]) -> Pair:
    return three_unknowns(rows, 0.0)


def three_unknowns(rows: list[Row], power: float) -> Pair:
    """alpha and beta of a fit that looks for gamma as well."""
    weights = np.array([row[3] ** -power for row in rows])
    paid = np.array([terms(*row[:3]) for row in rows], dtype=float)
    times = np.array([row[3] for row in rows])
    alpha, beta, _ = np.linalg.lstsq(paid * weights[:, None], times * weights, rcond=None)[0]
    return float(alpha), float(beta)


@fit_alpha_beta.mistake(breaks=BEST)
def rows_of_one_algorithm(rows: list[Row]) -> Pair:
    """From rows of one algorithm alone comes no pair: two zeros or an error. Perhaps the rows of the other were chosen, and
    none is left. Both know the same alpha and beta.
    """
    return solved([row for row in rows if row[0] == "ring"], RELATIVE)


@fit_alpha_beta.variant(rows_of_one_algorithm)
def _(rows: list[Row]) -> Pair:
    return solved([row for row in rows if row[0] == "naive"], RELATIVE)


@fit_alpha_beta.variant(rows_of_one_algorithm)
def _(rows: list[Row]) -> Pair:
    steps = [(terms(*row[:3]), row[3]) for row in rows if row[0] == "ring" and row[1] > 1]
    x, y = [part.carried / part.messages for part, _ in steps], [time / part.messages for part, time in steps]
    beta, alpha = np.polyfit(x, y, 1, w=[1 / time for time in y])
    return float(alpha), float(beta)


@fit_alpha_beta.mistake(breaks=BEST)
def one_algorithm_preferred(rows: list[Row]) -> Pair:
    """With noise the pair is that of the rows of one algorithm. Perhaps they were chosen wherever there are some. Both know
    the same alpha and beta, and noise is averaged out by all of them together.
    """
    rows = sent(rows)
    return solved([row for row in rows if row[0] == "naive"] or rows, RELATIVE)


@fit_alpha_beta.variant(one_algorithm_preferred)
def _(rows: list[Row]) -> Pair:
    rows = sent(rows)
    return solved([row for row in rows if row[0] == "ring"] or rows, RELATIVE)


@fit_alpha_beta.mistake(breaks=MODEL[1])
def a_constant_beside(rows: list[Row]) -> Pair:
    """With noise the pair is that of a model with a constant beside alpha and beta, which takes a part of both. Perhaps a
    column of ones was added, or a fit with an intercept was called: `cost` has none.
    """
    rows = sent(rows)
    times = np.array([row[3] for row in rows])
    paid = np.array([(*counts(*row[:3]), 1.0) for row in rows]) / times[:, None]
    size = np.linalg.norm(paid, axis=0)
    alpha, beta, _ = np.linalg.lstsq(paid / size, np.ones(len(rows)), rcond=None)[0] / size
    return float(alpha), float(beta)


@fit_alpha_beta.mistake(breaks=BEST)
def only_the_seconds_divided(rows: list[Row]) -> Pair:
    """Both numbers are far off, though the rows follow the model exactly. Perhaps the measured seconds
    were divided and the counts were not. A row is an equation: both sides are divided.
    """
    paid = np.array([counts(*row[:3]) for row in rows], dtype=float)
    alpha, beta = np.linalg.lstsq(paid, np.ones(len(rows)), rcond=None)[0]
    return float(alpha), float(beta)


# As people write them who first make steps of the rows: seconds against bytes of one.


Fit = Callable[[list[Row]], Pair]


def line(rows: list[Row], power: float, carried: Callable[[str, int, int], float]) -> Pair:
    """A line through the steps: `carried` bytes each, weighed by 1 / seconds of a step to this power."""
    x = [carried(*row[:3]) for row in rows]
    y = np.array([row[3] / terms(*row[:3]).messages for row in rows])
    beta, alpha = np.polyfit(x, y, 1, w=y**-power)
    return float(alpha), float(beta)


def chunk(name: str, world: int, size: int) -> float:
    return size / world if name == "ring" else size


def of_steps(power: float, carried: Callable[[str, int, int], float] = chunk) -> Fit:
    return lambda rows: line([row for row in rows if row[1] > 1], power, carried)


fit_alpha_beta.variant(root_of_the_weight)(of_steps(0.5))
fit_alpha_beta.variant(weight_twice)(of_steps(2.0))
fit_alpha_beta.variant("one_formula_for_all")(of_steps(0.0, lambda name, world, size: size))
fit_alpha_beta.variant("one_formula_for_all")(of_steps(1.0, lambda name, world, size: size))
fit_alpha_beta.variant("one_formula_for_all")(of_steps(1.0, lambda name, world, size: size / world))


@fit_alpha_beta.variant(two_rows)
def _(rows: list[Row]) -> Pair:
    rows = [row for row in rows if row[1] > 1]
    return solved([min(rows, key=lambda row: row[2]), max(rows, key=lambda row: row[2])], weighted(1.0))


@fit_alpha_beta.variant(world_1_crashes)
def _(rows: list[Row]) -> Pair:
    steps = [row[3] / (2 * (row[1] - 1)) for row in rows]  # "float division by zero"
    beta, alpha = np.polyfit([chunk(*row[:3]) for row in rows], steps, 1, w=1 / np.array(steps))
    return float(alpha), float(beta)


@fit_alpha_beta.mistake(breaks=BEST)
def rows_of_one_world(rows: list[Row]) -> Pair:
    """With noise the pair is that of one number of ranks. Perhaps rows were chosen by their world. All
    know the same alpha and beta, and noise is averaged out by all of them together.
    """
    return solved([row for row in rows if row[1] == 2], weighted(1.0))


@fit_alpha_beta.variant(rows_of_one_world)
def _(rows: list[Row]) -> Pair:
    largest = max(row[1] for row in rows)
    return solved([row for row in rows if row[1] == largest], weighted(1.0))


@fit_alpha_beta.mistake(breaks=BEST)
def squares_of_logarithms(rows: list[Row]) -> Pair:
    """With errors of a third the pair is the one for logarithms, log(predicted) - log(measured). For small errors that
    is nearly the same. Perhaps logarithms were fitted, so that 35 % too long weighs less than 35 % too short.
    """
    return of_logarithms(sent(rows))


@fit_alpha_beta.mistake(breaks=BEST)
def share_of_the_predicted(rows: list[Row]) -> Pair:
    """With errors of a third the pair is the one for shares of what is predicted. Asked for are shares of what was
    measured. Perhaps rows are weighed anew by each prediction.
    """
    return shares_of_the_predicted(sent(rows))


@fit_alpha_beta.mistake(breaks=REPEATED)
def repeats_lost(rows: list[Row]) -> Pair:
    """A measurement that was repeated counts less often than it was made. Perhaps a dict by (algorithm, world, nbytes) keeps
    the last one, the mean or the fastest takes the place of all, or a set drops equal rows. Each row counts.
    """
    return solved([(*key, last) for key, last in {row[:3]: row[3] for row in sent(rows)}.items()], RELATIVE)


@fit_alpha_beta.variant(repeats_lost)
def _(rows: list[Row]) -> Pair:
    by_case: dict[tuple[str, int, int], list[float]] = {}
    for row in sent(rows):
        by_case.setdefault(row[:3], []).append(row[3])
    return solved([(*key, sum(times) / len(times)) for key, times in by_case.items()], RELATIVE)


@fit_alpha_beta.variant(repeats_lost)
def _(rows: list[Row]) -> Pair:
    by_case: dict[tuple[str, int, int], float] = {}
    for row in sent(rows):
        by_case.setdefault(row[:3], row[3])
    return solved([(*key, first) for key, first in by_case.items()], RELATIVE)


@fit_alpha_beta.mistake(breaks=UNCHANGED)
def sorts_in_place(rows: list[Row]) -> Pair:
    """The caller's list has changed. Perhaps it was sorted, or rows were taken out of it. `sorted(rows)` and a list of
    your own leave it alone.
    """
    rows.sort(key=lambda row: row[3])
    return solved(sent(rows), RELATIVE)


@fit_alpha_beta.mistake(breaks=NETWORKS)
def a_grid_of_links(rows: list[Row]) -> Pair:
    """On a very slow network, or a very fast one, the pair is that of a different network. Perhaps alpha and beta are
    kept between two ends, or looked for on a grid. Least squares needs none.
    """
    alpha, beta = solved(sent(rows), RELATIVE)
    return min(max(alpha, 5e-6), 5e-3), min(max(beta, 2e-11), 2e-7)


@fit_alpha_beta.mistake(breaks=MODEL[1])
def first_row_decides(rows: list[Row]) -> Pair:
    """Rows of naive alone give the right pair, rows of the ring, too, and both together do not. Perhaps the formula is
    chosen once, by the first row. Each row says which algorithm it is of.
    """
    first = rows[0][0]
    return solved(sent(rows), RELATIVE, lambda name, world, size: counts(first, world, size))


@fit_alpha_beta.mistake(breaks=MODEL[0])
def alpha_rounded(rows: list[Row]) -> Pair:
    """beta is right, and alpha lacks digits. Perhaps it was rounded, to six places, say. It is seconds, often a few
    millionths of one: leave all digits.
    """
    alpha, beta = solved(sent(rows), RELATIVE)
    return round(alpha, 6), beta


@fit_alpha_beta.mistake(breaks=MODEL[0])
def beta_rounded(rows: list[Row]) -> Pair:
    """beta lacks digits. Perhaps it was rounded: it is seconds for one byte, often less than a thousand-millionth of one. Leave
    all digits.
    """
    alpha, beta = solved(sent(rows), RELATIVE)
    return alpha, round(beta, 10)


@fit_alpha_beta.variant(beta_rounded)
def _(rows: list[Row]) -> Pair:
    alpha, beta = solved(sent(rows), RELATIVE)
    return round(alpha, 6), round(beta, 10)


@fit_alpha_beta.mistake(breaks=NETWORKS)
def alpha_cut_off(rows: list[Row]) -> Pair:
    """alpha is almost 0, though the rows follow the model exactly. Perhaps lstsq has an rcond that takes the smaller column for
    nothing: bytes are millions, messages a few. Bring the columns to one size, or leave rcond alone.
    """
    return cut_off(rows, 1e-6)


def cut_off(rows: list[Row], rcond: float) -> Pair:
    rows = sent(rows)
    times = np.array([row[3] for row in rows])
    paid = np.array([counts(*row[:3]) for row in rows], dtype=float) / times[:, None]
    alpha, beta = np.linalg.lstsq(paid, np.ones(len(rows)), rcond=rcond)[0]
    return float(alpha), float(beta)


fit_alpha_beta.variant(alpha_cut_off)(lambda rows: cut_off(rows, 1e-5))
fit_alpha_beta.variant(alpha_cut_off)(lambda rows: cut_off(rows, 1e-4))
fit_alpha_beta.variant(repeats_lost)(lambda rows: solved(sorted(set(sent(rows))), RELATIVE))


@fit_alpha_beta.variant(world_1_taken_for_2)
def _(rows: list[Row]) -> Pair:
    def one_or_more(name: str, world: int, size: int) -> Pair:
        steps = max(2 * (world - 1), 1)
        return steps, steps * (size if name == "naive" else size / world)

    return solved(rows, RELATIVE, one_or_more)


@fit_alpha_beta.variant(sorts_in_place)
def _(rows: list[Row]) -> Pair:
    rows.sort()
    return solved(sent(rows), RELATIVE)


@fit_alpha_beta.variant(sorts_in_place)
def _(rows: list[Row]) -> Pair:
    rows[:] = [row for row in rows if row[1] != 1]
    return solved(rows, RELATIVE)


@fit_alpha_beta.variant(repeats_lost)
def _(rows: list[Row]) -> Pair:
    by_case: dict[tuple[str, int, int], float] = {}
    for row in sent(rows):
        by_case[row[:3]] = min(row[3], by_case.get(row[:3], row[3]))
    return solved([(*key, least) for key, least in by_case.items()], RELATIVE)


@fit_alpha_beta.mistake(breaks=ALONE)
def ends_at_world_1(rows: list[Row]) -> Pair:
    """With a row of world 1 among noisy ones the pair is that of some of the rows. Perhaps a loop ends there, `break` for
    `continue`. Such a row is passed over, and all that come after it count.
    """
    return solved(list(takewhile(lambda row: row[1] > 1, rows)), RELATIVE)


@fit_alpha_beta.mistake(breaks=BEST)
def short_rows_left_out(rows: list[Row]) -> Pair:
    """Rows of no bytes, or of one, do not count. Perhaps they are left out with those of world 1, by `if nbytes` or an index
    that is one off. An empty vector sends its messages, too, and tells alpha best.
    """
    return solved([row for row in sent(rows) if row[2] > 1], RELATIVE)


fit_alpha_beta.variant(short_rows_left_out)(
    lambda rows: solved([row for row in sent(rows) if row[2]], RELATIVE)
)
fit_alpha_beta.variant(short_rows_left_out)(
    lambda rows: solved([row for row in sent(rows) if row[2] != 1], RELATIVE)
)


@fit_alpha_beta.mistake(breaks=NETWORKS)
def in_float32(rows: list[Row]) -> Pair:
    """Right on common networks, and where long vectors are sent on a slow wire alpha is lost. Perhaps the rows are float32,
    as torch makes of Python's floats: it has seven digits, and alpha stands behind them. float64 has sixteen.
    """
    rows = sent(rows)
    times = np.array([row[3] for row in rows], dtype=np.float32)
    paid = np.array([counts(*row[:3]) for row in rows], dtype=np.float32) / times[:, None]
    size = np.linalg.norm(paid, axis=0)
    alpha, beta = np.linalg.lstsq(paid / size, np.ones(len(rows), dtype=np.float32), rcond=None)[0] / size
    return float(alpha), float(beta)


@fit_alpha_beta.variant(in_float32)
def _(rows: list[Row]) -> Pair:
    return solved([(*row[:3], float(np.float32(row[3]))) for row in sent(rows)], RELATIVE)
