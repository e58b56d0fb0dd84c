"""What people write for 08.fit_alpha_beta, and why it is wrong."""

from __future__ import annotations

import numpy as np

from helpers.labs.allreduce.cost_model import terms
from helpers.labs.allreduce.fit import fit_alpha_beta
from helpers.labs.allreduce.least_squares import Columns, Row, counts, solved, weighted

Pair = tuple[float, float]
RELATIVE, ABSOLUTE = weighted(1.0), weighted(0.0)


def sent(rows: list[Row]) -> list[Row]:
    """Without the rows of one rank alone."""
    return [row for row in rows if row[1] > 1]


@fit_alpha_beta.wrong_answer(
    "absolute_errors",
    why="The squares are of seconds: 10 % of a 64 MB row outweighs all small rows together, and alpha, which only they "
    "know, is drowned. Divide each row by its measured seconds.",
    seen="alpha, which only they know, is drowned",
)
def _(rows: list[Row]) -> Pair:
    return solved(rows, ABSOLUTE)


@fit_alpha_beta.another_form("absolute_errors")
def _(rows: list[Row]) -> Pair:
    """Seconds of one step against bytes of one step, by polyfit, which knows no weights."""
    steps = [(terms(name, world, size), time) for name, world, size, time in sent(rows)]
    beta, alpha = np.polyfit(
        [part.carried / part.messages for part, _ in steps], [time / part.messages for part, time in steps], 1
    )
    return float(alpha), float(beta)


@fit_alpha_beta.wrong_answer(
    "root_of_the_weight",
    why="The weight is multiplied in before the squares are taken: with 1 / sqrt(seconds) the large rows still count "
    "more. The weight of a row is 1 / seconds.",
    seen="the large rows still count",
)
def _(rows: list[Row]) -> Pair:
    return solved(rows, weighted(0.5))


@fit_alpha_beta.wrong_answer(
    "weight_twice",
    why="The weight is squared with the error, and here it was a square already: 1 / seconds ** 2 lets the small rows "
    "decide all, and they say little about beta.",
    seen="it was a square already",
)
def _(rows: list[Row]) -> Pair:
    return solved(rows, weighted(2.0))


@fit_alpha_beta.wrong_answer(
    "two_rows",
    why="Two rows were solved for two unknowns and the others thrown away: whatever noise these two have is the result.",
    seen="Two rows were solved",
)
def _(rows: list[Row]) -> Pair:
    rows = sorted(sent(rows), key=lambda row: row[2])
    return solved([rows[0], rows[-1]], RELATIVE)


@fit_alpha_beta.another_form("two_rows")
def _(rows: list[Row]) -> Pair:
    rows = sent(rows)
    return solved([rows[0], max(rows, key=lambda row: row[2])], RELATIVE)


@fit_alpha_beta.wrong_answer(
    "ends_only",
    why="alpha was read off a small row and beta off a large one, as if each were free of the other's share: a short "
    "message has bytes, too, and a long one its alpha.",
    seen="as if each were free of",
)
def _(rows: list[Row]) -> Pair:
    rows = sorted(sent(rows), key=lambda row: row[2])
    small, large = rows[0], rows[-1]
    return small[3] / counts(*small[:3])[0], large[3] / counts(*large[:3])[1]


@fit_alpha_beta.another_form("ends_only")
def _(rows: list[Row]) -> Pair:
    rows = sent(rows)
    alpha = min(row[3] / counts(*row[:3])[0] for row in rows)
    return alpha, min(row[3] / counts(*row[:3])[1] for row in rows)


@fit_alpha_beta.wrong_answer(
    "power_law",
    why="A straight line between logarithms is a power law, seconds = a * bytes ** b. A latency plus a rate is no power "
    "law: it is flat for short messages and a slope of 1 for long ones.",
    seen="is a power law",
)
def _(rows: list[Row]) -> Pair:
    slope, start = np.polyfit([np.log(row[2]) for row in rows], [np.log(row[3]) for row in rows], 1)
    return float(np.exp(start)), float(slope)


@fit_alpha_beta.another_form("power_law")
def _(rows: list[Row]) -> Pair:
    slope, start = np.polyfit([np.log(row[2]) for row in rows], [np.log(row[3]) for row in rows], 1)
    return float(np.exp(start)), float(np.exp(slope))


@fit_alpha_beta.wrong_answer(
    "swapped",
    why="alpha and beta have changed places; numpy.polyfit gives the slope first. Asked for are (alpha, beta).",
    seen="have changed places",
)
def _(rows: list[Row]) -> Pair:
    return solved(rows, RELATIVE)[::-1]


@fit_alpha_beta.wrong_answer(
    "gives_bandwidth",
    why="That is the bandwidth, bytes a second. beta is its inverse, seconds a byte.",
    seen="That is the bandwidth",
)
def _(rows: list[Row]) -> Pair:
    alpha, beta = solved(rows, RELATIVE)
    return alpha, 1 / beta


@fit_alpha_beta.wrong_answer(
    "beta_a_megabyte",
    why="beta came out a megabyte, since the sizes were made smaller for the fit. It is wanted in seconds a byte.",
    seen="beta came out a megabyte",
)
def _(rows: list[Row]) -> Pair:
    alpha, beta = solved(rows, RELATIVE)
    return alpha, beta * 1e6


@fit_alpha_beta.another_form("beta_a_megabyte")
def _(rows: list[Row]) -> Pair:
    alpha, beta = solved(rows, RELATIVE)
    return alpha, beta * 2**20


@fit_alpha_beta.wrong_answer(
    "world_1_crashes",
    why="The answer is right until a row of world 1 comes: its count of messages is 0, and a division by it fails or "
    "makes a NaN of everything. Such rows say nothing about the network: leave them out.",
    seen="right until a row of world 1 comes",
)
def _(rows: list[Row]) -> Pair:
    steps = [terms(name, world, size) for name, world, size, _ in rows]
    x = [part.carried / part.messages for part in steps]
    y = [row[3] / part.messages for row, part in zip(rows, steps, strict=True)]
    beta, alpha = np.polyfit(x, y, 1, w=1 / np.array(y))
    return float(alpha), float(beta)


@fit_alpha_beta.another_form("world_1_crashes")
def _(rows: list[Row]) -> Pair:
    paid, times = np.array([counts(*row[:3]) for row in rows]), np.array([row[3] for row in rows])
    with np.errstate(all="ignore"):
        x, y = paid[:, 1] / paid[:, 0], times / paid[:, 0]
        w = 1 / y**2
        beta = (w.sum() * (w * x * y).sum() - (w * x).sum() * (w * y).sum()) / (
            w.sum() * (w * x * x).sum() - (w * x).sum() ** 2
        )
        return float(((w * y).sum() - beta * (w * x).sum()) / w.sum()), float(beta)


@fit_alpha_beta.wrong_answer(
    "world_1_taken_for_2",
    why="A row of world 1 was fitted as if it had sent something, max(1, world - 1) messages: its microseconds pull "
    "alpha down. Leave such rows out.",
    seen="as if it had sent something",
)
def _(rows: list[Row]) -> Pair:
    return solved(rows, RELATIVE, lambda name, world, size: counts(name, max(2, world), size))


def of_wrong_counts(columns: Columns) -> list:
    """The fit with these counts, with errors as shares and in seconds."""

    def fit(weight):
        return lambda rows: solved(sent(rows), weight, columns)

    return [fit(RELATIVE), fit(ABSOLUTE)]


WRONG_COUNTS: dict[str, tuple[str, str, list[Columns]]] = {
    "one_formula_for_all": (
        "All rows were fitted with one formula. A row of naive carries the whole vector in each message, a row of the "
        "ring an nth of it: the first entry of a row says which it is.",
        "All rows were fitted with one formula",
        [
            lambda name, world, size: counts("ring", world, size),
            lambda name, world, size: counts("naive", world, size),
        ],
    ),
    "seconds_against_bytes": (
        "Seconds against nbytes alone: the line mixes algorithms and worlds, and its start is the latency of a whole "
        "all-reduce, not of a message.",
        "the line mixes algorithms and worlds",
        [lambda name, world, size: (1, size)],
    ),
    "alpha_once_a_call": (
        "alpha was counted once a row, so it is the latency of a whole all-reduce. There are 2 * (world - 1) messages, one "
        "after the other.",
        "alpha was counted once a row",
        [
            lambda name, world, size: (1, counts(name, world, size)[1]),
            lambda name, world, size: (2, counts(name, world, size)[1]),
        ],
    ),
    "one_phase": (
        "Only one of the two phases was counted, world - 1 messages, so alpha and beta come out twice as large.",
        "Only one of the two phases was counted",
        [lambda name, world, size: tuple(part / 2 for part in counts(name, world, size))],
    ),
    "as_many_steps_as_ranks": (
        "A phase has world - 1 steps and not world. With 2 ranks that is twice too many, so no single alpha fits all rows.",
        "so no single alpha fits",
        [lambda name, world, size: tuple(part * world / (world - 1) for part in counts(name, world, size))],
    ),
}

for name, (why, seen, all_columns) in WRONG_COUNTS.items():
    first, *others = [fit for columns in all_columns for fit in of_wrong_counts(columns)]
    fit_alpha_beta.wrong_answer(name, why=why, seen=seen, answer=first)
    for other in others:
        fit_alpha_beta.another_form(name)(other)


@fit_alpha_beta.wrong_answer(
    "gamma_fitted_too",
    why="A third unknown was fitted. In every row half as many bytes are added as sent, so times cannot tell beta from gamma, "
    "and least squares shares beta out among the two.",
    seen="times cannot tell beta from gamma",
)
def _(rows: list[Row]) -> Pair:
    return three_unknowns(rows, 1.0)


@fit_alpha_beta.another_form("gamma_fitted_too")
def _(rows: list[Row]) -> Pair:
    return three_unknowns(rows, 0.0)


def three_unknowns(rows: list[Row], power: float) -> Pair:
    """alpha and beta of a fit that looks for gamma as well."""
    weights = np.array([row[3] ** -power for row in rows])
    paid = np.array([terms(*row[:3]) for row in rows], dtype=float)
    times = np.array([row[3] for row in rows])
    alpha, beta, _ = np.linalg.lstsq(paid * weights[:, None], times * weights, rcond=None)[0]
    return float(alpha), float(beta)


@fit_alpha_beta.wrong_answer(
    "rows_of_one_algorithm",
    why="Only the rows of one algorithm were used. Those of the other know the same alpha and beta, and here they are all "
    "there is.",
    seen="here they are all there is",
)
def _(rows: list[Row]) -> Pair:
    return solved([row for row in rows if row[0] == "ring"], RELATIVE)


@fit_alpha_beta.another_form("rows_of_one_algorithm")
def _(rows: list[Row]) -> Pair:
    return solved([row for row in rows if row[0] == "naive"], RELATIVE)


@fit_alpha_beta.another_form("rows_of_one_algorithm")
def _(rows: list[Row]) -> Pair:
    steps = [(terms(*row[:3]), row[3]) for row in rows if row[0] == "ring" and row[1] > 1]
    x, y = [part.carried / part.messages for part, _ in steps], [time / part.messages for part, time in steps]
    beta, alpha = np.polyfit(x, y, 1, w=[1 / time for time in y])
    return float(alpha), float(beta)


@fit_alpha_beta.wrong_answer(
    "only_the_seconds_divided",
    why="The measured seconds were divided and the counts were not. A row is an equation: both sides are divided.",
    seen="both sides are divided",
)
def _(rows: list[Row]) -> Pair:
    paid = np.array([counts(*row[:3]) for row in rows], dtype=float)
    alpha, beta = np.linalg.lstsq(paid, np.ones(len(rows)), rcond=None)[0]
    return float(alpha), float(beta)
