"""The model behind exercises 5 to 7 of lab 08: what an all-reduce sends, carries and adds one after the other."""

from __future__ import annotations

from typing import NamedTuple


class Terms(NamedTuple):
    """What happens one after the other. messages: alpha each; carried: bytes on the way; added: bytes added."""

    messages: float
    carried: float
    added: float


def terms(algorithm: str, world: int, nbytes: float) -> Terms:
    """Of `naive`, `ring` or `tree`."""
    others = world - 1
    if algorithm == "naive":
        return Terms(2 * others, 2 * others * nbytes, others * nbytes)
    if algorithm == "ring":
        return Terms(2 * others, 2 * others * nbytes / world, others * nbytes / world)
    rounds = others.bit_length()
    return Terms(2 * rounds, 2 * rounds * nbytes, rounds * nbytes)


def seconds(
    algorithm: str, world: int, nbytes: float, alpha: float, beta: float, gamma: float = 0.0
) -> float:
    """Time of one all-reduce."""
    messages, carried, added = terms(algorithm, world, nbytes)
    return messages * alpha + carried * beta + added * gamma


def in_words(duration: float) -> str:
    """1.5e-05 -> 15 us."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(duration) >= size:
            return f"{duration / size:.4g} {unit}"
    return f"{duration / 1e-9:.4g} ns" if duration else "0 s"
