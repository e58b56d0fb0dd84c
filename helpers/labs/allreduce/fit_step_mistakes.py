"""Mistakes of 08.fit_alpha_beta as people write them who first make steps of the rows: seconds against bytes of one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from helpers.labs.allreduce.cost_model import terms
from helpers.labs.allreduce.fit import fit_alpha_beta
from helpers.labs.allreduce.fit_mistakes import root_of_the_weight, two_rows, weight_twice, world_1_crashes
from helpers.labs.allreduce.least_squares import Row, solved, weighted

Pair = tuple[float, float]
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


@fit_alpha_beta.mistake()
def rows_of_one_world(rows: list[Row]) -> Pair:
    """Only the rows of one number of ranks were used. The others know the same alpha and beta, and noise is
    averaged out by all of them together.
    """
    return solved([row for row in rows if row[1] == 2], weighted(1.0))


@fit_alpha_beta.variant(rows_of_one_world)
def _(rows: list[Row]) -> Pair:
    largest = max(row[1] for row in rows)
    return solved([row for row in rows if row[1] == largest], weighted(1.0))
