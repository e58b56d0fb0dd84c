"""Right answers to 08.crossover, in different shapes."""

from __future__ import annotations

import math

from .shared import by_terms


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


RIGHT = [by_envelope, by_bisection, by_pairs]
