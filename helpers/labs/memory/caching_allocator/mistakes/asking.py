"""What people write for 14.caching_allocator where the device is asked, and for which sizes; and why it is wrong."""

from __future__ import annotations

from typing import Any

import torch

from helpers.labs.memory.caching_allocator.exercise import (
    APART,
    ASKED,
    NONE_OUT,
    NOT_CALLED,
    NOTHING_ELSE,
    PASSES,
    RULES,
    SIZES,
    SMALL,
    caching_allocator,
)
from helpers.labs.memory.caching_allocator.right import Found, Segment, Steps
from helpers.labs.memory.shown import MIB, Rules

TORCH = Rules(512, MIB, 2 * MIB, 10 * MIB, 20 * MIB, 2 * MIB)


@caching_allocator.mistake(breaks=APART)
class KeptInTheClass(Steps):
    """A request of one allocator shows in the snapshot of a different one. Perhaps the list is an attribute of the class, or a default
    value: there is one for all. Make it in `__init__`.
    """

    shared: list[Segment] = []  # noqa: RUF012

    def __init__(self, device: Any, rules: Rules) -> None:
        super().__init__(device, rules)
        self.segments = self.shared


@caching_allocator.variant(KeptInTheClass)
class _(Steps):
    def __init__(self, device: Any, rules: Rules, segments: list[Segment] = []) -> None:  # noqa: B006
        super().__init__(device, rules)
        self.segments = segments


@caching_allocator.mistake(breaks=RULES)
class SizesOfTorch(Steps):
    """The device was asked for a segment of torch's size. `rules` are those that were given to the allocator, and here they are others."""

    def segment_size(self, size: int) -> int:
        return 2 * MIB if size <= MIB else 20 * MIB if size < 10 * MIB else -(-size // 2 * MIB) * 2 * MIB


@caching_allocator.mistake(breaks=ASKED)
class AsksForTheBlock(Steps):
    """The device was asked for the block, and not for a segment. A segment is larger, so that many small requests cost one call of the
    device.
    """

    def segment_size(self, size: int) -> int:
        return size


@caching_allocator.mistake(breaks=ASKED)
class AsksForTheRequest(Steps):
    """The device was asked for just the bytes of the request. A segment is larger, so that many small requests cost one call of the
    device.
    """

    def malloc(self, nbytes: int, stream: int = 0) -> int:
        self.nbytes = nbytes
        return super().malloc(nbytes, stream)

    def segment_size(self, size: int) -> int:
        return self.nbytes


@caching_allocator.mistake(breaks=SIZES)
class SegmentByRequest(Steps):
    """Next to a limit, the segment has the wrong size. Perhaps it is the request that is compared with the limit, and not the block, which
    may be larger.
    """

    def malloc(self, nbytes: int, stream: int = 0) -> int:
        self.nbytes = nbytes
        return super().malloc(nbytes, stream)

    def segment_size(self, size: int) -> int:
        rules = self.rules
        if self.nbytes <= rules.small_size:
            return rules.small_buffer
        if self.nbytes < rules.min_large_alloc:
            return rules.large_segment_size
        return -(-self.nbytes // rules.round_large) * rules.round_large


@caching_allocator.mistake(breaks=NOTHING_ELSE)
class AsksForTheRoom(Steps):
    """Something of the device was used that is neither `malloc` nor `free`. The real one says that it has no room by its error; what is
    free on it is known to nobody in advance, since other programs use it, too.
    """

    def new(self, size: int, small: bool, stream: int) -> Found:
        total = self.segment_size(size)
        if self.device.used + total > self.device.capacity:
            raise torch.OutOfMemoryError
        return self.noted(self.device.malloc(total), total, small, stream)


@caching_allocator.variant(AsksForTheRoom)
class _(Steps):
    def new(self, size: int, small: bool, stream: int) -> Found:
        if getattr(self.device, "capacity", None) == 0:
            self.empty_cache()
        return super().new(size, small, stream)


@caching_allocator.mistake(breaks=SMALL)
class KindByRequest(Steps):
    """A request whose block is larger than `small_size`, while the request itself is not, counts as small. It is the block's size that
    decides.
    """

    def is_small(self, nbytes: int, size: int) -> bool:
        return nbytes <= self.rules.small_size


@caching_allocator.mistake(breaks=SMALL)
class KindBySegment(Steps):
    """Where the segment of a large request is no larger than `small_buffer`, the request or its segment is taken for a small one. Perhaps the
    kind is told by the segment's size: that of the block says it.
    """

    def is_small(self, nbytes: int, size: int) -> bool:
        return self.segment_size(size) <= self.rules.small_buffer


@caching_allocator.variant(KindBySegment)
class _(Steps):
    """Of the segments that are there."""

    def is_of(self, segment: Any, small: bool, stream: int) -> bool:
        return (segment["total_size"] <= self.rules.small_buffer) == small and segment["stream"] == stream


@caching_allocator.variant(KindBySegment)
class _(Steps):
    """When the block is split."""

    def chosen(self, fitting: Any, size: int) -> Any:
        self.taken = super().chosen(fitting, size)
        return self.taken

    def new(self, size: int, small: bool, stream: int) -> Any:
        self.taken = super().new(size, small, stream)
        return self.taken

    def is_split(self, small: bool, rest: int) -> bool:
        return super().is_split(self.taken[0]["total_size"] <= self.rules.small_buffer, rest)


@caching_allocator.variant(KindBySegment)
class _(Steps):
    """In the snapshot."""

    def noted(self, address: int, total: int, small: bool, stream: int) -> Any:
        return super().noted(address, total, total <= self.rules.small_buffer, stream)


@caching_allocator.mistake(breaks=PASSES)
class EmptiesAndAsksAgain(Steps):
    """When the device refused, idle segments were given back to it. Torch does this, in a different function, which is a later exercise:
    here the error passes through, and the allocator stays as it was.
    """

    def new(self, size: int, small: bool, stream: int) -> Found:
        try:
            return super().new(size, small, stream)
        except torch.OutOfMemoryError:
            self.empty_cache()
            return super().new(size, small, stream)


@caching_allocator.variant(EmptiesAndAsksAgain)
class _(Steps):
    def new(self, size: int, small: bool, stream: int) -> Found:
        try:
            return super().new(size, small, stream)
        except torch.OutOfMemoryError:
            self.empty_cache()
            raise


@caching_allocator.mistake(breaks=PASSES)
class NotesBeforeItAsks(Steps):
    """When the device has refused, the snapshot has a segment that is not there. Perhaps it was noted before the device was asked."""

    def new(self, size: int, small: bool, stream: int) -> Found:
        total = self.segment_size(size)
        segment, block = self.noted(0, total, small, stream)
        address = self.device.malloc(total)
        segment["address"] = block["address"] = address
        return segment, block


@caching_allocator.mistake(breaks=PASSES)
class ReturnsNone(Steps):
    """When the device refused, malloc returned as if nothing had happened. Who asks for memory must learn that there is none."""

    def malloc(self, nbytes: int, stream: int = 0) -> Any:
        try:
            return super().malloc(nbytes, stream)
        except torch.OutOfMemoryError:
            return None


@caching_allocator.mistake(breaks=PASSES)
class RaisesItsOwn(Steps):
    """The device's error did not pass through: a new torch.OutOfMemoryError was raised in its place. Who catches it gets that one, and
    not the one in which the device says what is wrong.
    """

    def new(self, size: int, small: bool, stream: int) -> Found:
        try:
            return super().new(size, small, stream)
        except torch.OutOfMemoryError as error:
            raise torch.OutOfMemoryError("out of memory") from error


@caching_allocator.mistake(breaks=PASSES)
class MakesItAMemoryError(Steps):
    """The device refused, and MemoryError was raised. Who waits for torch.OutOfMemoryError does not catch it."""

    def new(self, size: int, small: bool, stream: int) -> Found:
        try:
            return super().new(size, small, stream)
        except torch.OutOfMemoryError as error:
            raise MemoryError("no room") from error


@caching_allocator.mistake(breaks=NOT_CALLED)
class GivesBackAtOnce(Steps):
    """`free` gave memory back to the device. Then nothing is cached, and the next request has to ask anew, which stops the device each
    time.
    """

    def free(self, address: int) -> None:
        super().free(address)
        self.empty_cache()


@caching_allocator.variant(GivesBackAtOnce)
class _(Steps):
    def free(self, address: int) -> None:
        super().free(address)
        for segment in list(self.segments):
            if segment["address"] == address and self.is_idle(segment):
                self.device.free(address)
                self.segments.remove(segment)


@caching_allocator.mistake(breaks=NOT_CALLED)
class KeepsAFew(Steps):
    """In a longer run, `free` gave a segment back to the device, though nobody called `empty_cache`. Perhaps only so many are kept: how many,
    the caller decides.
    """

    def free(self, address: int) -> None:
        super().free(address)
        idle = [segment for segment in self.segments if self.is_idle(segment)]
        if len(idle) > 8:
            self.device.free(idle[0]["address"])
            self.segments.remove(idle[0])


@caching_allocator.mistake(breaks=NONE_OUT)
class KeyErrorInstead(Steps):
    """A KeyError at an address that is not out. Perhaps a dict raised it, in which the address is looked up: ValueError is asked for."""

    def found(self, address: int) -> Found:
        out = {
            block["address"]: (segment, block)
            for segment in self.segments
            for block in segment["blocks"]
            if block["state"] == "active_allocated"
        }
        return out[address]


@caching_allocator.mistake(breaks=NONE_OUT)
class AssertsThatItIsOut(Steps):
    """An AssertionError at an address that is not out. It is no ValueError, and with `python -O` nothing is raised."""

    def found(self, address: int) -> Found:
        out = [block["address"] for segment in self.segments for block in segment["blocks"]]
        assert address in out, "not out"
        return super().found(address)
