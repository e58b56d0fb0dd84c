"""Keys that meet where they are mixed in a wrong way (exercise 01.sample_generator)."""

from __future__ import annotations

import itertools

from helpers.check.trial import Trial

Key = tuple[int, int, int]


def raised(key: Key, at: int, by: int) -> Key:
    numbers = list(key)
    numbers[at] += by
    return numbers[0], numbers[1], numbers[2]


def simple_keys(base: int) -> list[Key]:
    """Keys that meet where a key is a sum, an xor, or a sum with a factor."""
    indices = [*range(6), *(number + more for number in ROUND for more in (0, 1))]
    epochs = (*range(5), 10, 100, 1000)
    keys = [(base + more, epoch, index) for more in (0, 1) for epoch in epochs for index in indices]
    # Written side by side without a sign between them, 1, 11 and 11, 1 are the same.
    side_by_side = itertools.product((1, 11, 111), (1, 11), (1, 11, 111))
    # 0 is a number as all others are: `seed or 42`.
    for_zero = [
        raised(raised((0, 0, 0), at, number), at - 1, more)
        for at in range(3)
        for number in (0, 7, 42, 100, 123)
        for more in (0, 3)
    ]
    return list(dict.fromkeys([*keys, *side_by_side, *for_zero]))


# Datasets and powers by which people multiply an epoch.
ROUND = (10, 100, 1000, 1024, 10_000, 50_000, 60_000, 65_536, 100_000, 10**6, 2**20, 10**7, 2**24)


# 2**61 - 1: by this Python's hash takes the remainder of an int. From 2**53 on a float loses the last bits.
LARGEST = 2**63 - 1


FAR = (2**31, 2**32, 2**40, 2**48, 2**53, 2**53 + 1, 2**61 - 1, 2**62, 2**62 + 1)


def joined_keys(trial: Trial) -> list[Key]:
    """Keys of three numbers that are the same four words, for each width and order of words."""
    keys: list[Key] = []
    for width in (8, 16, 32):
        a, b, c, d = trial.random.sample(range(1, 200), 4)
        keys += [(a + (b << width), c, d), (a, b + (c << width), d), (a, b, c + (d << width))]
        keys += [((a << width) + b, c, d), (a, (b << width) + c, d), (a, b, (c << width) + d)]
        more = 1 + (1 << width)  # the least of two words: nearly refused where a number is to have one
        keys += [(a + more - 1, 1, d), (a, more, d), (a, b + more - 1, 1), (a, b, more)]
    return keys


PRIMES = (
    31,
    37,
    101,
    997,
    1009,
    7919,
    9973,
    10_007,
    65_537,
    99_991,
    100_003,
    104_729,
    131_071,
    999_983,
    1_000_003,
)


PRIMES += (15_485_863, 19_349_663, 73_856_093, 83_492_791, 10**9 + 7, 10**9 + 9, 2_654_435_761, 2**31 - 1)


STRIDES = {*PRIMES, *(1 << bits for bits in range(6, 63)), *(10**zeros for zeros in range(2, 19))}


def strides_from(key: Key, more: set[int]) -> list[Key]:
    """The key, with one number raised by 1, and with a later number raised by a stride instead.

    With factors for two numbers, each as large as the factor of the other gives one product.
    """
    keys = [raised((0, 0, 0), at, factor) for at in range(3) for factor in PRIMES]
    keys += [raised(key, at, 1) for at in range(2)]
    return keys + [raised(key, at, by) for at in (1, 2) for by in sorted(STRIDES | more)]
