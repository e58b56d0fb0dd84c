"""Weighted least squares for alpha and beta: what the check of 08.fit_alpha_beta compares with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from helpers.labs.allreduce.shared.cost_model import terms

Row = tuple[str, int, int, float]  # algorithm, world, nbytes, seconds
Columns = Callable[[str, int, int], tuple[float, float]]  # how often alpha and beta are paid
Weight = Callable[[float], float]  # of a row, from its seconds


def counts(algorithm: str, world: int, nbytes: int) -> tuple[float, float]:
    """How often alpha and beta are paid."""
    return terms(algorithm, world, nbytes)[:2]


def weighted(power: float) -> Weight:
    """1: relative least squares; 0: absolute; 2: small rows weigh more."""
    return lambda seconds: seconds**-power


def solved(rows: Sequence[Row], weight: Weight, columns: Columns = counts) -> tuple[float, float]:
    """The pair with the smallest sum of (weight * (predicted - measured)) ** 2."""
    weights = np.array([weight(row[3]) for row in rows])
    paid = np.array([columns(*row[:3]) for row in rows], dtype=float).reshape(-1, 2)
    times = np.array([row[3] for row in rows])
    pair, *_ = np.linalg.lstsq(paid * weights[:, None], times * weights, rcond=None)
    return float(pair[0]), float(pair[1])


def of_logarithms(rows: Sequence[Row]) -> tuple[float, float]:
    """The pair with the smallest sum of (log(predicted) - log(measured)) ** 2, from that of shares on, step by step."""
    return _stepwise(rows, lambda ratio: 1 - np.log(ratio))


def shares_of_the_predicted(rows: Sequence[Row]) -> tuple[float, float]:
    """As relative least squares, but each error as a share of what is predicted: weights that follow the pair."""
    return _stepwise(rows, lambda ratio: 1 / ratio)


def _stepwise(rows: Sequence[Row], right: Callable[[np.ndarray], np.ndarray]) -> tuple[float, float]:
    """right: of predicted / measured, what a row divided by its prediction is to come to."""
    pair = np.array(solved(rows, weighted(1.0)))
    paid = np.array([counts(*row[:3]) for row in rows], dtype=float)
    times = np.array([row[3] for row in rows])
    for _ in range(60):
        predicted = np.abs(paid @ pair) + 1e-300
        pair, *_ = np.linalg.lstsq(paid / predicted[:, None], right(predicted / times), rcond=None)
    return float(pair[0]), float(pair[1])
