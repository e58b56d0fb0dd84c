"""Right answers to 08.cost, in different shapes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from .shared import by_terms


def by_steps(algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float) -> float:
    """A simulation: one step after the other; knows two algorithms, the second by everything that is not the first."""
    piece = nbytes if algorithm == "naive" else nbytes / world
    time = 0
    for _ in range(world - 1):
        time += alpha + piece * beta
        time += piece * gamma
    for _ in range(world - 1):
        time += alpha + piece * beta
    return time


class Priced:
    """An object; counts in a table, prices multiplied as vectors."""

    counts = {
        "naive": lambda n, size: (2 * (n - 1), 2 * (n - 1) * size, (n - 1) * size),
        "ring": lambda n, size: (2 * (n - 1), 2 * (n - 1) / n * size, (n - 1) / n * size),
    }

    def __call__(self, algorithm, world, nbytes, alpha, beta, gamma):
        if world == 1:
            return 0
        return np.dot(self.counts[algorithm](world, nbytes), (alpha, beta, gamma))


def by_fractions(algorithm, world, nbytes, alpha, beta, gamma):
    """Exact numbers, rounded once; returns None for a name that it does not know."""
    n, size = Fraction(world), Fraction(nbytes)
    alpha, beta, gamma = map(Fraction, (alpha, beta, gamma))
    if algorithm == "naive":
        return float((n - 1) * (2 * alpha + size * (2 * beta + gamma)))
    if algorithm == "ring":
        return float((n - 1) * 2 * alpha + (n - 1) / n * size * (2 * beta + gamma))
    return None


def ceil_log(algorithm, world, nbytes, alpha, beta, gamma):
    """With a match, and a tree."""
    match algorithm:
        case "naive":
            steps, part, adds = 2 * world - 2, nbytes, world - 1
        case "ring":
            steps, part, adds = 2 * world - 2, nbytes / world, world - 1
        case "tree":
            adds = len(bin(world - 1)) - 2 if world > 1 else 0
            steps, part = 2 * adds, nbytes
    return steps * alpha + part * (steps * beta + adds * gamma)


RIGHT = [by_terms, by_steps, Priced(), by_fractions, ceil_log]
