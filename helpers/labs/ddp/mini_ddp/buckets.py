"""What a list of all-reduces says about the buckets behind it."""

from __future__ import annotations

from collections.abc import Sequence


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


def fits(groups: list[list[int]], limit: int) -> bool:
    """Whether no group is closed too early or too late."""
    late = any(sum(group[:-1]) > limit for group in groups)
    early = any(sum(group) + after[0] <= limit for group, after in zip(groups, groups[1:], strict=False))
    return not late and not early
