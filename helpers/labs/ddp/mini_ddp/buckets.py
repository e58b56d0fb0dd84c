"""What a list of all-reduces says about the buckets behind it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from helpers.labs.ddp.shared.models import UNIT, all_reduces, is_gradient
from helpers.ranks.in_threads import Event


def kind_of_messages(sent: list[int], sizes: Sequence[int], unit: int, bucket_bytes: int) -> str:
    """What is wrong with the all-reduces of one backward; "" if they are those of buckets.

    sent: bytes of each. sizes: numbers in each parameter, `unit` bytes each. A bucket may be closed when it holds
    bucket_bytes, or just before it would hold more.
    """
    backwards = [size * unit for size in reversed(sizes)]
    if not sent:
        return "there is none"
    buckets = cut(sent, backwards)
    if buckets and fits(buckets, bucket_bytes):
        return ""
    if buckets and fits(buckets, bucket_bytes, full_takes_more=True):
        return "a bucket that holds exactly bucket_bytes takes one parameter more"
    if sent == [sum(backwards)]:
        return "one for all parameters together"
    if sorted(sent) == sorted(backwards):
        return "one for each parameter"
    if buckets and fits(buckets, bucket_bytes * unit):
        return "the buckets are too big: bucket_bytes counts bytes, not numbers"
    if buckets:
        return "the buckets have other sizes than bucket_bytes asks for"
    if (buckets := cut(sent, backwards[::-1])) and fits(buckets, bucket_bytes):
        return (
            "the buckets are filled from the first parameter to the last, so the first one is complete last"
        )
    if sum(sent) < sum(backwards):
        return "they carry fewer numbers than there are gradients"
    if sum(sent) > sum(backwards):
        return "they carry more numbers than there are gradients"
    return "the buckets stand in another order, or hold other parameters"


def cut(sent: list[int], sizes: list[int]) -> list[list[int]]:
    """The sizes, cut into groups of these sums; [] if they cannot be."""
    groups, rest = [], list(sizes)
    for total in sent:
        group: list[int] = []
        while rest and sum(group) < total:
            group.append(rest.pop(0))
        if sum(group) != total:
            return []
        groups.append(group)
    return [] if rest else groups


def fits(groups: list[list[int]], limit: int, *, full_takes_more: bool = False) -> bool:
    """Whether no group is closed too early or too late. full_takes_more: with exactly `limit` it is not closed yet."""
    before = [sum(group[:-1]) for group in groups if len(group) > 1]
    late = any(size > limit or (size == limit and not full_takes_more) for size in before)
    early = any(sum(group) + after[0] <= limit for group, after in zip(groups, groups[1:], strict=False))
    return not late and not early


class Launch(NamedTuple):
    """When a bucket was sent, in gradients. complete: with which one it has all of its own.

    computed, written: how many were computed, or stood in `.grad`, when it was sent.
    """

    complete: int
    computed: int
    written: int


def launches(events: list[Event], sizes: Sequence[int]) -> list[Launch]:
    """Of one backward through a chain, in which gradients come last weight first; [] where no buckets are sent."""
    groups = cut(all_reduces(events), [size * UNIT for size in reversed(sizes)])
    places = [place for place, event in enumerate(events) if event.kind.startswith("all_reduce")]
    computed = [sum(event.what.startswith("coming") for event in events[:place]) for place in places]
    written = [sum(map(is_gradient, events[:place])) for place in places]
    complete = itertools.accumulate(map(len, groups))
    return [Launch(*each) for each in zip(complete, computed, written, strict=False)]
