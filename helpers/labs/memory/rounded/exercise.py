"""Exercise 14.rounded: from the bytes of a request to those of its block and of its segment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import numpy as np

from helpers.check.compare import shown
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.memory.shown import MIB, Rules

rounded = Exercise(
    "14.rounded",
    "The bytes of a block and of a segment",
    objective="Say what a request takes from the pool, and what it takes from the device.",
    minutes=10,
    difficulty="easy",
    hints=[
        "First the block, from the request and `min_block_size` alone. The request is not needed after that: the segment follows "
        "from the block.",
        "Twice something is rounded up to a multiple. In whole numbers: how many steps are needed, so that none of the request is "
        "left out? `//` rounds down, and `-(-a // b)` rounds up.",
        "Three cases for the segment, with two limits. Which belongs to which case? 'Up to' has the limit in it, 'below' has not.",
    ],
)

BLOCK = "The block is the request, rounded up to a multiple of `min_block_size`."
FOLLOWS = "The segment follows from the block."
SMALL = "Up to `small_size`, it is `small_buffer`."
MIDDLE = "Above that, and below `min_large_alloc`, it is `large_segment_size`."
OWN = "From `min_large_alloc` on, it is the block, rounded up to a multiple of `round_large`."
EXACT = "Both are int, and exact for requests of any size."
BOTH = "The bytes of the block for a request, and of the segment that is taken if no block fits."
RETURNS = "(block, segment)"
RULES = "rules: the sizes to decide by; not always those of torch, nor multiples of each other, and such that a segment holds its block."

TORCH = Rules(512, MIB, 2 * MIB, 10 * MIB, 20 * MIB, 2 * MIB)
# Sizes that one can reckon with in one's head. In the first, every limit is a multiple of a block.
EVEN = Rules(10, 50, 200, 300, 600, 100)
ODD = Rules(10, 45, 125, 305, 605, 70)
THIRDS = Rules(3, 10, 31, 40, 53, 7)
NAMES = ("block", "segment")


def wanted(nbytes: int, rules: Rules) -> tuple[int, int]:
    block = nbytes + -nbytes % rules.min_block_size
    if block <= rules.small_size:
        return block, rules.small_buffer
    if block < rules.min_large_alloc:
        return block, rules.large_segment_size
    return block, block + -block % rules.round_large


def holds(
    answer: Any, trial: Trial, rules: Rules, requests: Iterable[int], parts: tuple[str, ...] = NAMES
) -> None:
    """Wrong where a part of the result is a different one. Observed is what came for each request that is wrong."""
    wrong: list[tuple[int, str, int, int]] = []
    for nbytes in requests:
        trial.given(f"rounded({nbytes}, rules). {in_words(rules)}")
        got = trial.call(answer, nbytes, rules)
        is_a_pair(trial, got)
        wrong += [
            (nbytes, name, one, other)
            for name, one, other in zip(NAMES, got, wanted(nbytes, rules), strict=True)
            if name in parts and one != other
        ]
    if wrong:
        nbytes, name, one, other = wrong[0]
        trial.given(f"rounded({nbytes}, rules). {in_words(rules)}")
        trial.fail(
            f"The {name} for a request of {nbytes} byte{'s' * (nbytes != 1)} is {one}, and should be {other}. {lesson(nbytes, name, rules)}",
            expected=f"{name} {other}",
            got=f"{name} {one}",
            observed=[(at, name, one) for at, name, one, _ in wrong],
        )


def is_a_pair(trial: Trial, got: Any) -> None:
    """A tuple of two int."""
    trial.true(
        isinstance(got, tuple) and len(got) == 2,
        f"The result is {shown(got)}, and no tuple of two: (block, segment).",
        expected="a tuple (block, segment)",
        got=shown(got),
        observed=("no pair", type(got).__name__, len(got) if isinstance(got, (tuple, list)) else None),
    )
    for name, part in zip(NAMES, got, strict=True):
        trial.true(
            isinstance(part, int) and not isinstance(part, bool),
            f"The {name} is {shown(part)}, of the type {type(part).__name__}, and no int.",
            expected=f"the {name} as int",
            got=shown(part),
            observed=("no int", "NumPy")
            if any(isinstance(each, np.generic) for each in got)
            else ("no int", [type(each).__name__ for each in got]),
        )


def lesson(nbytes: int, name: str, rules: Rules) -> str:
    """What holds for this request: true whatever the answer does."""
    block, _ = wanted(nbytes, rules)
    if name == "block":
        return f"It is the smallest multiple of {rules.min_block_size} that is not below {nbytes}."
    if block <= rules.small_size:
        return f"The block has {block}, up to `small_size`: the segment is `small_buffer`."
    if block < rules.min_large_alloc:
        return f"The block has {block}, between the two limits: the segment is `large_segment_size`."
    return (
        f"The block has {block}, `min_large_alloc` or more: the segment is the smallest multiple of {rules.round_large} that "
        f"is not below {block}."
    )


def in_words(rules: Rules) -> str:
    return f"rules: {', '.join(f'{each.name}={getattr(rules, each.name)}' for each in fields(rules))}"


def of(trial: Trial, least: int, most: int, count: int = 3) -> list[int]:
    """Numbers from least to most, the first and the last of them, too."""
    return [*(trial.random.randint(least, most) for _ in range(count)), least, most]


@rounded.property("a tuple of two int, the block first", asks=(RETURNS, "Both are int", BOTH))
def a_pair(answer: Any, trial: Trial) -> None:
    for nbytes in (1000, 3 * MIB + 5, 12 * MIB + 1):
        trial.given(f"rounded({nbytes}, rules), with the sizes of torch. {in_words(TORCH)}")
        got = trial.call(answer, nbytes, TORCH)
        is_a_pair(trial, got)
        trial.true(
            got[::-1] != wanted(nbytes, TORCH),
            "The segment stands first. The block does: (block, segment).",
            expected=str(wanted(nbytes, TORCH)),
            got=str(got),
            observed="segment first",
        )


@rounded.property("the block is the request, rounded up to a multiple of min_block_size", asks=(BLOCK, RULES))
def the_block(answer: Any, trial: Trial) -> None:
    sizes = (1, 511, 512, 513, 1024, 1300, 1100, MIB - 1, MIB, MIB + 1, 10 * MIB - 512, 30 * MIB + 7)
    holds(answer, trial, TORCH, sizes, ("block",))
    # Some of these requests came with torch's rules, too.
    holds(answer, trial, EVEN, (*range(1, 42), 511, 512, 513, *of(trial, 300, 700)), ("block",))


@rounded.property("a small block: the segment is small_buffer", asks=(SMALL, FOLLOWS, RULES))
def small(answer: Any, trial: Trial) -> None:
    holds(answer, trial, TORCH, (1, 512, 513, 70_000, MIB - 600))
    holds(answer, trial, EVEN, (1, 11, 25, 40))


@rounded.property(
    "above small_size, and below min_large_alloc: the segment is large_segment_size", asks=(MIDDLE, RULES)
)
def middle(answer: Any, trial: Trial) -> None:
    holds(answer, trial, EVEN, (61, 120, 200, 201, 233, 280))
    holds(answer, trial, TORCH, (2 * MIB, 2 * MIB + 1, 7 * MIB + 300, 9 * MIB))


@rounded.property(
    "a large block: the segment is the block, rounded up to a multiple of round_large", asks=(OWN, RULES)
)
def own(answer: Any, trial: Trial) -> None:
    holds(answer, trial, TORCH, (11 * MIB, 12 * MIB, 13 * MIB + 5, 20 * MIB, 20 * MIB + 1, 41 * MIB))
    holds(answer, trial, EVEN, (311, 400, 401, 600, 601, 1234, 2000))


@rounded.property("a block of just small_size is small", asks=(SMALL, MIDDLE))
def at_small_size(answer: Any, trial: Trial) -> None:
    holds(answer, trial, TORCH, (MIB, MIB - 1, MIB + 1, MIB + 512))
    holds(answer, trial, EVEN, (50, 41, 51, 60))


@rounded.property("a block of just min_large_alloc has a segment of its own", asks=(OWN, MIDDLE))
def at_min_large_alloc(answer: Any, trial: Trial) -> None:
    holds(answer, trial, TORCH, (10 * MIB, 10 * MIB - 512, 10 * MIB + 1))
    holds(answer, trial, EVEN, (300, 290, 301))


@rounded.property(
    "the segment follows from the block, and not from the request, also next to a limit",
    asks=(FOLLOWS, OWN, MIDDLE),
)
def the_block_decides(answer: Any, trial: Trial) -> None:
    holds(answer, trial, TORCH, (10 * MIB - 511, 10 * MIB - 1))
    holds(answer, trial, ODD, (40, 41, 45, 46, 299, 300, 301, 304, 305, 350, 351, 415, 420, 421, 491))


@rounded.property(
    "any rules: no size need be torch's, or a power of two, or a multiple of another one",
    asks=(RULES, BLOCK, OWN),
)
def any_rules(answer: Any, trial: Trial) -> None:
    holds(answer, trial, THIRDS, range(1, 120))
    for _ in range(6):
        least = trial.random.randint(1, 700)
        small_size = least * trial.random.randint(1, 9) + trial.random.randint(0, least)
        limit = small_size + trial.random.randint(1, 9 * least)
        rules = Rules(
            min_block_size=least,
            small_size=small_size,
            small_buffer=small_size + trial.random.randint(0, 5000),
            min_large_alloc=limit,
            large_segment_size=limit + trial.random.randint(0, 5000),
            round_large=trial.random.randint(1, 3000),
        )
        edges = {
            max(1, size + more) for size in (least, small_size, limit) for more in (-least, -1, 0, 1, least)
        }
        holds(answer, trial, rules, [*sorted(edges), *of(trial, 1, 3 * limit, 5)])


@rounded.property("exact for requests of any size", asks=EXACT)
def exact(answer: Any, trial: Trial) -> None:
    holds(
        answer, trial, TORCH, (2**53 + 1, 2**60 + 1, 2**62 + 513, 10**18 + 7, 2**80 + 2**20 + 1, 2**200 + 1)
    )
    holds(answer, trial, ODD, (10**17 + 1, 10**25 + 3))
