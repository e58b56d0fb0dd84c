"""Right answers of 14.rounded, of other shapes than the solution's."""

from __future__ import annotations

from typing import Any, NamedTuple


class Sizes(NamedTuple):
    block: int
    segment: int


def by_remainder(nbytes, rules):
    """Adds what is missing to the next multiple; a named tuple."""
    block = nbytes + (-nbytes) % rules.min_block_size
    if block >= rules.min_large_alloc:
        segment = block + (-block) % rules.round_large
    elif block > rules.small_size:
        segment = rules.large_segment_size
    else:
        segment = rules.small_buffer
    return Sizes(block, segment)


def by_divmod(nbytes, rules):
    """Counts the steps."""

    def whole(size, step):
        steps, more = divmod(size, step)
        return (steps + bool(more)) * step

    block = whole(nbytes, rules.min_block_size)
    sizes = (rules.small_buffer, rules.large_segment_size, whole(block, rules.round_large))
    return block, sizes[(block > rules.small_size) + (block >= rules.min_large_alloc)]


def add_and_cut(nbytes, rules):
    """One step less a byte is added, and the remainder is cut off."""
    block = nbytes + rules.min_block_size - 1
    block -= block % rules.min_block_size
    if block <= rules.small_size:
        return (block, rules.small_buffer)
    if rules.min_large_alloc > block:
        return (block, rules.large_segment_size)
    return (block, (block + rules.round_large - 1) // rules.round_large * rules.round_large)


RIGHT: list[Any] = [by_remainder, by_divmod, add_and_cut]
