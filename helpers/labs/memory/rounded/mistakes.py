"""What people write for 14.rounded, and why it is wrong."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import ROUND_CEILING, Decimal, localcontext
from typing import Any

import numpy as np
import torch

from helpers.labs.memory.rounded.exercise import (
    BLOCK,
    BOTH,
    EXACT,
    FOLLOWS,
    MIDDLE,
    OWN,
    RETURNS,
    RULES,
    SMALL,
    TORCH,
    rounded,
)
from helpers.labs.memory.shown import Rules

IS_INT = "Both are int"


def up(size: int, step: int) -> int:
    return -(-size // step) * step


def segment_of(block: int, rules: Rules) -> int:
    if block <= rules.small_size:
        return rules.small_buffer
    if block < rules.min_large_alloc:
        return rules.large_segment_size
    return up(block, rules.round_large)


# The form.


@rounded.mistake(breaks=RETURNS)
def segment_first(nbytes: int, rules: Rules) -> tuple[int, int]:
    """The segment stands first, and the block second. They are asked for as (block, segment)."""
    block = up(nbytes, rules.min_block_size)
    return segment_of(block, rules), block


@rounded.mistake(breaks=BOTH)
def block_only(nbytes: int, rules: Rules) -> Any:
    """One number came back, and two are asked for: what the request takes from the pool, and what from the device."""
    return up(nbytes, rules.min_block_size)


@rounded.variant(block_only)
def _(nbytes: int, rules: Rules) -> Any:
    return segment_of(up(nbytes, rules.min_block_size), rules)


@rounded.mistake(breaks=RETURNS)
def a_list(nbytes: int, rules: Rules) -> Any:
    """The result is a list, and a tuple is asked for: (block, segment)."""
    block = up(nbytes, rules.min_block_size)
    return [block, segment_of(block, rules)]


@rounded.mistake(breaks=IS_INT)
def the_block_is_a_float(nbytes: int, rules: Rules) -> Any:
    """The block is a float: perhaps by `/`. A float holds whole numbers up to 2**53 only, and an address plus a float is no address."""
    block = (nbytes + rules.min_block_size - 1) / rules.min_block_size // 1 * rules.min_block_size
    return block, segment_of(int(block), rules)


@rounded.mistake(breaks=IS_INT)
def a_tensor(nbytes: int, rules: Rules) -> Any:
    """The block is a tensor, and an int is asked for. With sizes one reckons in Python's whole numbers, which have no largest."""
    block = torch.tensor(up(nbytes, rules.min_block_size))
    return block, segment_of(int(block), rules)


@rounded.mistake(breaks=IS_INT)
def a_number_of_numpy(nbytes: int, rules: Rules) -> Any:
    """A number of NumPy is in the result, and int is asked for. Most of NumPy's numbers have 64 bits, and go wrong beyond without a word;
    Python's whole numbers have no largest.
    """
    n, step = np.uint64(nbytes), np.uint64(rules.min_block_size)
    block = (n + step - np.uint64(1)) // step * step
    return block, segment_of(block, rules)


@rounded.variant(a_number_of_numpy)
def _(nbytes: int, rules: Rules) -> Any:
    block = up(nbytes, rules.min_block_size)
    return np.int64(block), np.int64(segment_of(block, rules))


@rounded.variant(a_number_of_numpy)
def _(nbytes: int, rules: Rules) -> Any:
    block = np.ceil(nbytes / rules.min_block_size) * rules.min_block_size
    return block, segment_of(int(block), rules)


# The block.


@rounded.mistake(breaks=BLOCK)
def not_rounded(nbytes: int, rules: Rules) -> tuple[int, int]:
    """The block is the request as it is. Then every block begins anywhere, and what comes back seldom fits what is asked for next."""
    return nbytes, segment_of(up(nbytes, rules.min_block_size), rules)


@rounded.variant(not_rounded)
def _(nbytes: int, rules: Rules) -> tuple[int, int]:
    return nbytes, segment_of(nbytes, rules)


@rounded.mistake(breaks=BLOCK)
def rounded_down(nbytes: int, rules: Rules) -> tuple[int, int]:
    """The block is smaller than the request: it was rounded down. Perhaps by `//` alone. Whoever writes to its end writes into the next one."""
    block = nbytes // rules.min_block_size * rules.min_block_size
    return block, segment_of(block, rules)


@rounded.mistake(breaks=BLOCK)
def to_the_nearest(nbytes: int, rules: Rules) -> tuple[int, int]:
    """The block was rounded to the nearest multiple, down as well as up. Perhaps by `round`: a block may not be smaller than the request."""
    block = round(nbytes / rules.min_block_size) * rules.min_block_size
    return block, segment_of(block, rules)


@rounded.mistake(breaks=BLOCK)
def always_one_more(nbytes: int, rules: Rules) -> tuple[int, int]:
    """A request that is a multiple already has a block that is one step too large. Such a request stays as it is."""
    block = (nbytes // rules.min_block_size + 1) * rules.min_block_size
    return block, segment_of(block, rules)


@rounded.mistake(breaks=BLOCK)
def one_below_a_multiple(nbytes: int, rules: Rules) -> tuple[int, int]:
    """A request one byte above a multiple was rounded down to it. Perhaps `min_block_size - 2` is added before `//`, or less: it is one less
    than a step.
    """
    block = (nbytes + rules.min_block_size - 2) // rules.min_block_size * rules.min_block_size
    return max(block, rules.min_block_size), segment_of(block, rules)


@rounded.mistake(breaks=BLOCK)
def at_least_the_smallest(nbytes: int, rules: Rules) -> tuple[int, int]:
    """A request above `min_block_size` was not rounded. It is the smallest block, and the step for all larger ones, too."""
    block = max(nbytes, rules.min_block_size)
    return block, segment_of(block, rules)


@rounded.mistake(breaks=BLOCK)
def large_as_they_are(nbytes: int, rules: Rules) -> tuple[int, int]:
    """The block of a large request is the request as it is, and that of a small one is rounded. Every block is a multiple of
    `min_block_size`.
    """
    block = up(nbytes, rules.min_block_size)
    return nbytes if block >= rules.min_large_alloc else block, segment_of(block, rules)


@rounded.variant(large_as_they_are)
def _(nbytes: int, rules: Rules) -> tuple[int, int]:
    """And decides on the segment."""
    if nbytes >= rules.min_large_alloc:
        return nbytes, up(nbytes, rules.round_large)
    block = up(nbytes, rules.min_block_size)
    return block, segment_of(block, rules)


@rounded.variant(large_as_they_are)
def _(nbytes: int, rules: Rules) -> tuple[int, int]:
    """From small_size on."""
    block = up(nbytes, rules.min_block_size)
    return nbytes if nbytes > rules.small_size else block, segment_of(block, rules)


@rounded.mistake(breaks=BLOCK)
def doubled_until_it_fits(nbytes: int, rules: Rules) -> tuple[int, int]:
    """The block is `min_block_size`, doubled until the request fits. Any multiple may be a block, such as three times."""
    block = rules.min_block_size
    while block < nbytes:
        block *= 2
    return block, segment_of(block, rules)


@rounded.mistake(breaks=BLOCK)
def large_in_large_steps(nbytes: int, rules: Rules) -> tuple[int, int]:
    """The block of a large request is too large: it was rounded to `round_large`, as only the segment is. The rest of the segment is then
    never used.
    """
    block = up(nbytes, rules.min_block_size)
    if block >= rules.min_large_alloc:
        block = up(block, rules.round_large)
    return block, segment_of(block, rules)


@rounded.mistake(breaks=RULES)
def sizes_of_torch(nbytes: int, rules: Rules) -> tuple[int, int]:
    """With torch's sizes it is right, and with others it is not. Perhaps numbers of torch stand in the code: they are in `rules`."""
    block = up(nbytes, TORCH.min_block_size)
    return block, segment_of(block, TORCH)


_known: dict[int, tuple[int, int]] = {}


@rounded.mistake(breaks=RULES)
def remembered_without_the_rules(nbytes: int, rules: Rules) -> tuple[int, int]:
    """A request that came before with other rules has the result of then, and new ones are right. Perhaps results are kept, and found
    again by the request alone: the rules belong to it.
    """
    if nbytes not in _known:
        block = up(nbytes, rules.min_block_size)
        _known[nbytes] = block, segment_of(block, rules)
    return _known[nbytes]


@rounded.mistake(breaks=BLOCK)
def by_bits(nbytes: int, rules: Rules) -> tuple[int, int]:
    """With a `min_block_size` that is no power of two, the block is no multiple of it. Perhaps the last bits are cut off by `&`."""
    step = rules.min_block_size
    block = (nbytes + step - 1) & ~(step - 1)
    return block, segment_of(block, rules)


# The segment.


@rounded.mistake(breaks=RULES)
def segments_of_torch(nbytes: int, rules: Rules) -> tuple[int, int]:
    """With torch's sizes it is right, and with others the segment has the bytes of one of torch's. Perhaps numbers of torch stand in the
    code: they are in `rules`.
    """
    block = up(nbytes, rules.min_block_size)
    if block <= rules.small_size:
        return block, TORCH.small_buffer
    if block < rules.min_large_alloc:
        return block, TORCH.large_segment_size
    return block, up(block, rules.round_large)


@rounded.variant(segments_of_torch)
def _(nbytes: int, rules: Rules) -> tuple[int, int]:
    """The limits, too."""
    block = up(nbytes, rules.min_block_size)
    return block, segment_of(block, TORCH)


@rounded.variant(segments_of_torch)
def _(nbytes: int, rules: Rules) -> tuple[int, int]:
    """Of middle blocks only."""
    block = up(nbytes, rules.min_block_size)
    is_middle = rules.small_size < block < rules.min_large_alloc
    return block, TORCH.large_segment_size if is_middle else segment_of(block, rules)


@rounded.variant(segments_of_torch)
def _(nbytes: int, rules: Rules) -> tuple[int, int]:
    """Of large blocks only."""
    block = up(nbytes, rules.min_block_size)
    return block, segment_of(block, replace(rules, round_large=TORCH.round_large))


@rounded.mistake(breaks=SMALL)
def small_buffer_is_a_step(nbytes: int, rules: Rules) -> tuple[int, int]:
    """The segment of a middle block is rounded up to `small_buffer`. That is the segment of small ones, and of no other."""
    block = up(nbytes, rules.min_block_size)
    if block < rules.min_large_alloc:
        return block, up(block, rules.small_buffer)
    return block, up(block, rules.round_large)


@rounded.mistake(breaks=SMALL)
def no_small_ones(nbytes: int, rules: Rules) -> tuple[int, int]:
    """A small block got `large_segment_size`. Small ones have segments of their own, of `small_buffer`."""
    block = up(nbytes, rules.min_block_size)
    if block < rules.min_large_alloc:
        return block, rules.large_segment_size
    return block, up(block, rules.round_large)


@rounded.mistake(breaks=SMALL)
def segment_is_the_block(nbytes: int, rules: Rules) -> tuple[int, int]:
    """The segment is as large as the block. It is to serve further requests, too: each call of the device costs far more than a block of the
    pool.
    """
    block = up(nbytes, rules.min_block_size)
    return block, block


@rounded.mistake(breaks=MIDDLE)
def up_to_the_buffer(nbytes: int, rules: Rules) -> tuple[int, int]:
    """A block above `small_size` got a small segment. Perhaps it is compared with `small_buffer`: that is what the segment has, and
    `small_size` the limit.
    """
    block = up(nbytes, rules.min_block_size)
    if block <= rules.small_buffer:
        return block, rules.small_buffer
    return block, segment_of(block, rules)


@rounded.mistake(breaks=MIDDLE)
def no_middle_ones(nbytes: int, rules: Rules) -> tuple[int, int]:
    """A block below `min_large_alloc` got a segment of its own size, in steps of `round_large`. Such blocks share `large_segment_size`."""
    block = up(nbytes, rules.min_block_size)
    if block <= rules.small_size:
        return block, rules.small_buffer
    return block, up(block, rules.round_large)


@rounded.mistake(breaks=OWN)
def no_own_ones(nbytes: int, rules: Rules) -> tuple[int, int]:
    """A block from `min_large_alloc` on got `large_segment_size`. It gets a segment of its own; a still larger block would not even fit."""
    block = up(nbytes, rules.min_block_size)
    return block, rules.small_buffer if block <= rules.small_size else rules.large_segment_size


@rounded.mistake(breaks=OWN)
def until_it_does_not_fit(nbytes: int, rules: Rules) -> tuple[int, int]:
    """A block that would fit in `large_segment_size` got a segment of that size, though it is larger than `min_large_alloc`. Perhaps the two
    sizes are mixed up: the limit is the smaller one.
    """
    block = up(nbytes, rules.min_block_size)
    if block <= rules.small_size:
        return block, rules.small_buffer
    return block, rules.large_segment_size if block < rules.large_segment_size else up(
        block, rules.round_large
    )


@rounded.mistake(breaks=OWN)
def in_large_segments(nbytes: int, rules: Rules) -> tuple[int, int]:
    """The segment of a large block is a multiple of `large_segment_size`. From `min_large_alloc` on, the step is `round_large`."""
    block = up(nbytes, rules.min_block_size)
    if block <= rules.small_size:
        return block, rules.small_buffer
    return block, up(block, rules.large_segment_size)


@rounded.mistake(breaks=OWN)
def own_is_not_rounded(nbytes: int, rules: Rules) -> tuple[int, int]:
    """The segment of a large block is the block itself. It is rounded up once more, to a multiple of `round_large`."""
    block = up(nbytes, rules.min_block_size)
    return block, block if block >= rules.min_large_alloc else segment_of(block, rules)


@rounded.mistake(breaks=OWN)
def own_always_one_more(nbytes: int, rules: Rules) -> tuple[int, int]:
    """A large block that is a multiple of `round_large` already has a segment that is one step too large."""
    block = up(nbytes, rules.min_block_size)
    if block >= rules.min_large_alloc:
        return block, (block // rules.round_large + 1) * rules.round_large
    return block, segment_of(block, rules)


@rounded.mistake(breaks=OWN)
def own_rounded_down(nbytes: int, rules: Rules) -> tuple[int, int]:
    """The segment of a large block is smaller than the block: it was rounded down. The block does not fit in it."""
    block = up(nbytes, rules.min_block_size)
    if block >= rules.min_large_alloc:
        return block, block // rules.round_large * rules.round_large
    return block, segment_of(block, rules)


# The limits.


@rounded.mistake(breaks=SMALL)
def below_small_size(nbytes: int, rules: Rules) -> tuple[int, int]:
    """A block of just `small_size` got a large segment. Up to: the limit itself is small."""
    block = up(nbytes, rules.min_block_size)
    return block, rules.large_segment_size if block == rules.small_size else segment_of(block, rules)


@rounded.mistake(breaks=OWN)
def above_min_large_alloc(nbytes: int, rules: Rules) -> tuple[int, int]:
    """A block of just `min_large_alloc` got `large_segment_size`. From it on: the limit itself has a segment of its own."""
    block = up(nbytes, rules.min_block_size)
    return block, rules.large_segment_size if block == rules.min_large_alloc else segment_of(block, rules)


@rounded.mistake(breaks=FOLLOWS)
def by_the_request(nbytes: int, rules: Rules) -> tuple[int, int]:
    """Where the request is below a limit and its block is not, the segment is that of the request. The block decides."""
    return up(nbytes, rules.min_block_size), segment_of(nbytes, rules)


@rounded.mistake(breaks=FOLLOWS)
def small_by_the_request(nbytes: int, rules: Rules) -> tuple[int, int]:
    """Where the request is up to `small_size`, and its block is larger, the segment is `small_buffer`. The block decides. With torch's sizes
    it cannot happen.
    """
    block = up(nbytes, rules.min_block_size)
    return block, rules.small_buffer if nbytes <= rules.small_size else segment_of(block, rules)


@rounded.mistake(breaks=OWN)
def own_of_the_request(nbytes: int, rules: Rules) -> tuple[int, int]:
    """The segment of a large block is smaller than the block, where the steps of both do not fit together: it is the request that was rounded
    up. With torch's sizes it cannot happen.
    """
    block = up(nbytes, rules.min_block_size)
    return block, up(nbytes, rules.round_large) if block >= rules.min_large_alloc else segment_of(
        block, rules
    )


# Large numbers.


@rounded.mistake(breaks=EXACT)
def by_ceil(nbytes: int, rules: Rules) -> tuple[int, int]:
    """A very large request has the wrong block. Perhaps by `math.ceil(a / b)`: `/` makes a float, which is exact up to 2**53 only."""
    block = math.ceil(nbytes / rules.min_block_size) * rules.min_block_size
    if block < rules.min_large_alloc:
        return block, segment_of(block, rules)
    return block, math.ceil(block / rules.round_large) * rules.round_large


@rounded.mistake(breaks=EXACT)
def segment_by_ceil(nbytes: int, rules: Rules) -> tuple[int, int]:
    """The block of a very large request is right, and its segment is not. Perhaps `math.ceil(a / b)` is left there: a float is exact up to
    2**53 only.
    """
    block = up(nbytes, rules.min_block_size)
    if block < rules.min_large_alloc:
        return block, segment_of(block, rules)
    return block, math.ceil(block / rules.round_large) * rules.round_large


@rounded.mistake(breaks=EXACT)
def by_decimals(nbytes: int, rules: Rules) -> tuple[int, int]:
    """Requests of up to about 2**80 bytes are right, and one of 2**200 is not. Perhaps by `Decimal`, or by other numbers of so many
    digits: Python's whole numbers have as many as are needed.
    """

    def up(size: int, step: int) -> int:
        return int((Decimal(size) / step).to_integral_value(ROUND_CEILING)) * step

    with localcontext(prec=28):
        block = up(nbytes, rules.min_block_size)
        return block, up(block, rules.round_large) if block >= rules.min_large_alloc else segment_of(
            block, rules
        )


@rounded.variant(by_decimals)
def _(nbytes: int, rules: Rules) -> tuple[int, int]:
    """The segment only."""
    block = up(nbytes, rules.min_block_size)
    if block < rules.min_large_alloc:
        return block, segment_of(block, rules)
    with localcontext(prec=28):
        steps = (Decimal(block) / rules.round_large).to_integral_value(ROUND_CEILING)
    return block, int(steps) * rules.round_large
