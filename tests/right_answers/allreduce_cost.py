"""Right answers to exercises 5 to 7 of lab 08, in different shapes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import torch


def by_terms(algorithm: str, world: int, nbytes: int, alpha: float, beta: float, gamma: float) -> float:
    """As the model is written."""
    if algorithm == "naive":
        return 2 * (world - 1) * (alpha + nbytes * beta) + (world - 1) * nbytes * gamma
    if algorithm == "ring":
        chunk = nbytes / world
        return 2 * (world - 1) * (alpha + chunk * beta) + (world - 1) * chunk * gamma
    if algorithm == "tree":
        rounds = math.ceil(math.log2(world))
        return 2 * rounds * (alpha + nbytes * beta) + rounds * nbytes * gamma
    raise ValueError(f"{algorithm!r} is no algorithm")


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


def by_columns(rows):
    """The counts come from a cost, asked with prices 1 and 0."""
    rows = [row for row in rows if row[1] > 1]
    times = np.array([row[3] for row in rows])
    columns = np.array([[by_terms(*row[:3], 1, 0, 0), by_terms(*row[:3], 0, 1, 0)] for row in rows])
    alpha, beta = np.linalg.lstsq(columns / times[:, None], np.ones(len(rows)), rcond=None)[0]
    return float(alpha), float(beta)


def by_normal_equations(rows):
    """Sums of products by hand; a list comes back."""
    aa = ab = bb = a1 = b1 = 0.0
    for algorithm, world, nbytes, seconds in rows:
        if world == 1:
            continue
        a = 2 * (world - 1) / seconds
        b = a * (nbytes if algorithm == "naive" else nbytes / world)
        aa, ab, bb, a1, b1 = aa + a * a, ab + a * b, bb + b * b, a1 + a, b1 + b
    det = aa * bb - ab * ab
    return [(a1 * bb - b1 * ab) / det, (b1 * aa - a1 * ab) / det]


def by_polyfit(rows):
    """One step: its seconds against its bytes, with weights."""
    x, y = [], []
    for algorithm, world, nbytes, seconds in rows:
        if world > 1:
            x.append(nbytes / (world if algorithm == "ring" else 1))
            y.append(seconds / (2 * (world - 1)))
    beta, alpha = np.polyfit(x, y, 1, w=1 / np.array(y))
    return alpha, beta


def by_torch(rows):
    """In torch, in float64; rows of world 1 stay in as rows of zeros."""
    counts = [(2 * (n - 1), 2 * (n - 1) * size / (n if name == "ring" else 1)) for name, n, size, _ in rows]
    seconds = torch.tensor([row[3] for row in rows], dtype=torch.float64)
    matrix = torch.tensor(counts, dtype=torch.float64) / seconds[:, None]
    scale = matrix.norm(dim=0)
    pair = (
        torch.linalg.lstsq(matrix / scale, torch.ones(len(rows), 1, dtype=torch.float64)).solution[:, 0]
        / scale
    )
    return tuple(pair.tolist())


def by_envelope(world, alpha, beta, gamma):
    """From line to flatter line; exact crossings rounded up."""
    lines = {
        name: (by_terms(name, world, 0, alpha, beta, gamma), by_terms(name, world, 1, 0, beta, gamma))
        for name in ("naive", "tree", "ring")
    }
    best = min(lines, key=lines.get)
    table = [(0, best)]
    while flatter := [(line, name) for name, line in lines.items() if line[1] < lines[best][1]]:
        start, slope = lines[best]
        size, best = min(((line[0] - start) / (slope - line[1]), name) for line, name in flatter)
        table.append((math.ceil(size), best))
    return table


def by_bisection(world, alpha, beta, gamma):
    """Halves the way between a size where one is the fastest and one where another is."""

    def best(size):
        times = {name: by_terms(name, world, size, alpha, beta, gamma) for name in ("ring", "tree", "naive")}
        return min(times, key=times.get)

    table, low, end = [(1, best(1))], 1, 2**60
    while best(low) != best(end):
        near, far = low, end
        while far - near > 1:
            middle = (near + far) // 2
            near, far = (middle, far) if best(middle) == best(low) else (near, middle)
        table.append((far, best(far)))
        low = far
    return table


def by_pairs(world, alpha, beta, gamma):
    """All crossings of two lines, floats, sorted; between two of them one line is the lowest."""
    names = ["naive", "tree", "ring"]
    fixed = [by_terms(name, world, 0, alpha, beta, gamma) for name in names]
    rate = [by_terms(name, world, 1, 0, beta, gamma) for name in names]
    crossings = {0.0}
    for a in range(3):
        for b in range(a):
            if rate[a] != rate[b]:
                crossings.add((fixed[a] - fixed[b]) / (rate[b] - rate[a]))
    borders = sorted(size for size in crossings if size >= 0)
    table = []
    for size, after in zip(borders, [*borders[1:], borders[-1] * 2 + 2], strict=True):
        middle = (size + after) / 2
        name = names[min(range(3), key=lambda at: fixed[at] + rate[at] * middle)]
        if not table or table[-1][1] != name:
            table.append([size, name])
    return table


RIGHT = {
    "08.cost": [by_terms, by_steps, Priced(), by_fractions, ceil_log],
    "08.fit_alpha_beta": [by_columns, by_normal_equations, by_polyfit, by_torch],
    "08.crossover": [by_envelope, by_bisection, by_pairs],
}
