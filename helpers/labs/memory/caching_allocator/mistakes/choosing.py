"""What people write for 14.caching_allocator where an idle block is chosen, and why it is wrong."""

from __future__ import annotations

from typing import Any

from helpers.labs.memory.caching_allocator.exercise import (
    BEST,
    FITS,
    HANDS_OUT,
    SIZES,
    caching_allocator,
)
from helpers.labs.memory.caching_allocator.right import Block, Found, Segment, Steps


@caching_allocator.mistake(breaks=FITS)
class AlwaysAsks(Steps):
    """The device was asked for a segment, and the rest of the one before would have been enough. Perhaps idle blocks are not looked for; or
    the kind is read off the size of the rest, and not off its segment.
    """

    def is_large_enough(self, block: Block, nbytes: int, size: int) -> bool:
        return False


@caching_allocator.variant(AlwaysAsks)
class _(Steps):
    def is_of(self, segment: Segment, small: bool, stream: int) -> bool:
        self.small = small
        return segment["stream"] == stream

    def is_large_enough(self, block: Block, nbytes: int, size: int) -> bool:
        return block["size"] >= size and (block["size"] <= self.rules.small_size) == self.small


@caching_allocator.mistake(breaks=FITS)
class NotTheExactSize(Steps):
    """An idle block of just the size that is needed was not taken. It fits: at least as large."""

    def is_large_enough(self, block: Block, nbytes: int, size: int) -> bool:
        return block["size"] > size


@caching_allocator.mistake(breaks=SIZES)
class FitsTheRequest(Steps):
    """A block was taken that is too small: as large as the request, and smaller than the request rounded up. Perhaps its size is compared
    with the request.
    """

    def is_large_enough(self, block: Block, nbytes: int, size: int) -> bool:
        return block["size"] >= nbytes

    def is_split(self, small: bool, rest: int) -> bool:
        return rest >= 0 and super().is_split(small, rest)


@caching_allocator.mistake(breaks=FITS)
class OnePoolForAll(Steps):
    """A small request was served from a large segment. Small blocks all over the large segments would leave no room in them for a large
    one: each kind has its own.
    """

    def is_of(self, segment: Segment, small: bool, stream: int) -> bool:
        return segment["stream"] == stream


@caching_allocator.mistake(breaks=FITS)
class LargeFromSmall(Steps):
    """A large request was served from a small segment that happened to be idle. Each kind has its own segments, in both directions."""

    def is_of(self, segment: Segment, small: bool, stream: int) -> bool:
        return segment["stream"] == stream and (not small or segment["segment_type"] == "small")


@caching_allocator.mistake(breaks=FITS)
class AnyStream(Steps):
    """A block of one stream was given to a request of a different stream. Kernels of the first one may still read it: they run later than
    the call of free.
    """

    def is_of(self, segment: Segment, small: bool, stream: int) -> bool:
        return (segment["segment_type"] == "small") == small


@caching_allocator.variant(AnyStream)
class _(Steps):
    def malloc(self, nbytes: int, stream: int = 0) -> int:
        address = super().malloc(nbytes, stream)
        segment, _ = self.found(address)
        segment["stream"] = stream
        return address

    def is_of(self, segment: Segment, small: bool, stream: int) -> bool:
        return super().is_of(segment, small, stream) or (
            (segment["segment_type"] == "small") == small and self.is_idle(segment)
        )


@caching_allocator.mistake(breaks=FITS)
class SameObject(Steps):
    """A block of a stream with a large number was not found again. Perhaps streams are compared by `is`: equal numbers are not always one
    object, only small ones happen to be.
    """

    def is_of(self, segment: Segment, small: bool, stream: int) -> bool:
        return (segment["segment_type"] == "small") == small and segment["stream"] is stream


@caching_allocator.mistake(breaks=HANDS_OUT)
class StreamIsLost(Steps):
    """A segment that was asked for on a stream of its own has stream 0. Perhaps the argument is not handed on."""

    def noted(self, address: int, total: int, small: bool, stream: int) -> Found:
        return super().noted(address, total, small, 0)

    def is_of(self, segment: Segment, small: bool, stream: int) -> bool:
        return super().is_of(segment, small, 0)


@caching_allocator.mistake(breaks=BEST)
class FirstFit(Steps):
    """The idle block with the lowest address was taken, and a smaller one fits, too. Large blocks are then cut up for small requests."""

    def chosen(self, fitting: list[Found], size: int) -> Found:
        return min(fitting, key=lambda found: found[1]["address"])


@caching_allocator.mistake(breaks=BEST)
class FirstInTheList(Steps):
    """Among several that fit, the first of the oldest segment was taken, and not the smallest. Perhaps the search ends at the first one
    that it finds.
    """

    def chosen(self, fitting: list[Found], size: int) -> Found:
        return fitting[0]


@caching_allocator.mistake(breaks=BEST)
class WorstFit(Steps):
    """The largest idle block was taken, and not the smallest that fits."""

    def chosen(self, fitting: list[Found], size: int) -> Found:
        return max(fitting, key=lambda found: (found[1]["size"], -found[1]["address"]))


@caching_allocator.mistake(breaks=BEST)
class BestOfTheFirstSegment(Steps):
    """The smallest block of the oldest segment was taken, and a different segment has a smaller one that fits. All segments count together."""

    def chosen(self, fitting: list[Found], size: int) -> Found:
        first = [found for found in fitting if found[0] is fitting[0][0]]
        return super().chosen(first, size)


@caching_allocator.mistake(breaks=BEST)
class OldestSegmentFirst(Steps):
    """Of two blocks of one size, that of the older segment was taken, and the other has the lower address. Perhaps `min` looks at the size
    only, and takes the first of several: the list is not ordered by address.
    """

    def chosen(self, fitting: list[Found], size: int) -> Found:
        return min(fitting, key=lambda found: found[1]["size"])


@caching_allocator.mistake(breaks=BEST)
class HighestAddress(Steps):
    """Of several blocks of one size, the one with the highest address was taken."""

    def chosen(self, fitting: list[Found], size: int) -> Found:
        return min(fitting, key=lambda found: (found[1]["size"], -found[1]["address"]))


class ByTime(Steps):
    """With a list of the blocks that came back, in this order."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.back: list[int] = []

    def free(self, address: int) -> None:
        super().free(address)
        self.back.append(address)

    def age(self, found: Found) -> int:
        address = found[1]["address"]
        return len(self.back) - self.back[::-1].index(address) if address in self.back else -1


@caching_allocator.mistake(breaks=BEST)
class LastBackFirst(ByTime):
    """Of several blocks of one size, the one that came back last was taken. Perhaps idle blocks stand in a list in the order in which they
    came: it is the address that counts.
    """

    def chosen(self, fitting: list[Found], size: int) -> Found:
        return min(fitting, key=lambda found: (found[1]["size"], -self.age(found)))


@caching_allocator.mistake(breaks=BEST)
class FirstBackFirst(ByTime):
    """Of several blocks of one size, the one that came back first was taken. Perhaps idle blocks stand in a list in the order in which they
    came: it is the address that counts.
    """

    def chosen(self, fitting: list[Found], size: int) -> Found:
        return min(fitting, key=lambda found: (found[1]["size"], self.age(found)))
