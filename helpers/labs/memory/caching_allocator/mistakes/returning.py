"""What people write for 14.caching_allocator where a block comes back, a segment goes back, and in the snapshot; and why it is wrong."""

from __future__ import annotations

from copy import copy, deepcopy
from typing import Any

from helpers.labs.memory.caching_allocator.exercise import (
    A_COPY,
    APART,
    EMPTIES,
    NONE_OUT,
    SHOWS,
    caching_allocator,
)
from helpers.labs.memory.caching_allocator.right import Block, Found, Segment, Steps
from helpers.labs.memory.shown import Rules

# What comes back.


@caching_allocator.mistake(breaks="It becomes idle")
class NeverIdle(Steps):
    """A block that came back is still shown as out, and no request can have it."""

    def free(self, address: int) -> None:
        self.found(address)


@caching_allocator.mistake(breaks=SHOWS[2])
class StillRequested(Steps):
    """A block that is idle has the `requested_size` of an earlier request. It is 0 if idle."""

    def idle(self, block: Block) -> None:
        block["state"] = "inactive"


@caching_allocator.mistake(breaks=SHOWS[2])
class RequestedIsTheSize(Steps):
    """`requested_size` is the size of the block. It is the bytes of the request, and the difference is what rounding costs."""

    def malloc(self, nbytes: int, stream: int = 0) -> int:
        address = super().malloc(nbytes, stream)
        _, block = self.found(address)
        block["requested_size"] = block["size"]
        return address


@caching_allocator.mistake(breaks=NONE_OUT)
class FreesTwice(Steps):
    """A block that is idle was freed, and nothing was raised. The second free is of somebody else's block as soon as it is handed out
    again.
    """

    def is_meant(self, block: Block, address: int) -> bool:
        return block["address"] == address

    def idle(self, block: Block) -> None:
        block.update(requested_size=0, state="inactive")


@caching_allocator.mistake(breaks=NONE_OUT)
class InsideABlock(Steps):
    """An address inside a block was taken for the block's own. Only where it begins was handed out."""

    def is_meant(self, block: Block, address: int) -> bool:
        its = block["address"] <= address < block["address"] + block["size"]
        return its and block["state"] == "active_allocated"


@caching_allocator.mistake(breaks=NONE_OUT)
class SaysNothing(Steps):
    """At an address that was never handed out, nothing was raised. A mistake of the caller then stays unseen."""

    def free(self, address: int) -> None:
        try:
            super().free(address)
        except ValueError:
            pass


class Remembers(Steps):
    """With a dict of all blocks by their address."""

    def __init__(self, device: Any, rules: Rules) -> None:
        super().__init__(device, rules)
        self.known: dict[int, Found] = {}

    def malloc(self, nbytes: int, stream: int = 0) -> int:
        address = super().malloc(nbytes, stream)
        self.known[address] = super().found(address)
        return address


@caching_allocator.mistake(breaks=NONE_OUT)
class AnyStateByAddress(Remembers):
    """A block was freed that is a part of a larger idle one now, and nothing was raised. Perhaps it is still in a dict by its address: take
    it out of there when it comes back.
    """

    def found(self, address: int) -> Found:
        if address not in self.known:
            raise ValueError("unknown")
        return self.known[address]

    def free(self, address: int) -> None:
        segment, block = self.found(address)
        if any(block is each for each in segment["blocks"]):
            if block["state"] == "inactive":
                raise ValueError("freed twice")
            self.idle(block)
            self.merge(segment, block)


# Segments that go back.


@caching_allocator.mistake(breaks=EMPTIES)
class EmptiesNothing(Steps):
    """`empty_cache` forgot the idle segments, and the device did not get them back."""

    def empty_cache(self) -> None:
        self.segments = [each for each in self.segments if not self.is_idle(each)]


@caching_allocator.mistake(breaks=EMPTIES)
class GivesBackAndKeeps(Steps):
    """The device has a segment back, and the allocator shows it still, as idle. The next request would get memory that is not its own."""

    def empty_cache(self) -> None:
        for segment in self.segments:
            if self.is_idle(segment):
                self.device.free(segment["address"])


@caching_allocator.mistake(breaks=EMPTIES)
class StillInThePool(Steps):
    """A request was served from a segment that the device has back. Perhaps its block still stands in a second list, in which idle blocks
    are looked for.
    """

    def __init__(self, device: Any, rules: Rules) -> None:
        super().__init__(device, rules)
        self.pool: list[Found] = []

    def empty_cache(self) -> None:
        self.pool += [(each, each["blocks"][0]) for each in self.segments if self.is_idle(each)]
        super().empty_cache()

    def idle_blocks(self) -> list[Found]:
        return super().idle_blocks() + [found for found in self.pool if found[1]["state"] == "inactive"]


@caching_allocator.mistake(breaks=EMPTIES)
class ChangesADictInItsLoop(Steps):
    """RuntimeError in `empty_cache`: a dict of segments was changed while a loop went through it. Go through a list of its keys."""

    def empty_cache(self) -> None:
        by_address = {each["address"]: each for each in self.segments}
        for address, segment in by_address.items():
            if self.is_idle(segment):
                self.device.free(address)
                self.segments.remove(segment)
                del by_address[address]


@caching_allocator.mistake(breaks=EMPTIES)
class AnyIdleBlock(Steps):
    """A segment was given back in which a block is out. Throughout idle means: all of its blocks."""

    def is_idle(self, segment: Segment) -> bool:
        return any(block["state"] == "inactive" for block in segment["blocks"])


@caching_allocator.variant(AnyIdleBlock)
class _(Steps):
    def is_idle(self, segment: Segment) -> bool:
        return segment["blocks"][0]["state"] == "inactive"


@caching_allocator.mistake(breaks=EMPTIES)
class SkipsTheNext(Steps):
    """Of several idle segments side by side, not all were given back. Perhaps they leave the list while a loop goes through it, and the loop
    then skips the next one.
    """

    def empty_cache(self) -> None:
        for segment in self.segments:
            if self.is_idle(segment):
                self.device.free(segment["address"])
                self.segments.remove(segment)


@caching_allocator.mistake(breaks=EMPTIES)
class OneIsEnough(Steps):
    """Only one idle segment was given back, and there were more. Perhaps the loop ends after the first."""

    def empty_cache(self) -> None:
        for segment in self.segments:
            if self.is_idle(segment):
                self.device.free(segment["address"])
                self.segments.remove(segment)
                break


@caching_allocator.mistake(breaks=EMPTIES)
class LargeOnly(Steps):
    """A small segment that is idle was kept. Each idle segment goes back, of any kind and stream."""

    def empty_cache(self) -> None:
        for segment in list(self.segments):
            if self.is_idle(segment) and segment["segment_type"] == "large":
                self.device.free(segment["address"])
                self.segments.remove(segment)


@caching_allocator.mistake(breaks=EMPTIES)
class OneStreamOnly(Steps):
    """Of three idle segments, that of stream 0 was given back, and those of other streams were kept."""

    def empty_cache(self) -> None:
        for segment in list(self.segments):
            if self.is_idle(segment) and segment["stream"] == 0:
                self.device.free(segment["address"])
                self.segments.remove(segment)


@caching_allocator.mistake(breaks=EMPTIES)
class EachBlock(Steps):
    """`device.free` was called with the address of an idle block, where no segment begins. The device takes back segments only."""

    def empty_cache(self) -> None:
        for segment in list(self.segments):
            for block in list(segment["blocks"]):
                if block["state"] == "inactive":
                    self.device.free(block["address"])
            if self.is_idle(segment):
                self.segments.remove(segment)


@caching_allocator.mistake(breaks="an int, perhaps 0")
class ZeroIsNothing(Steps):
    """The block at address 0 was not found again. Perhaps an address is asked for its truth, and 0 is false: compare with None."""

    def found(self, address: int) -> Found:
        if not address:
            raise ValueError("no address")
        return super().found(address)


@caching_allocator.variant(ZeroIsNothing)
class _(Steps):
    def is_large_enough(self, block: Block, nbytes: int, size: int) -> bool:
        return bool(block["address"]) and super().is_large_enough(block, nbytes, size)


@caching_allocator.variant(ZeroIsNothing)
class _(Steps):
    """The block was found, and its address taken for none: the device is asked."""

    def chosen(self, fitting: list[Found], size: int) -> Found:
        segment, block = super().chosen(fitting, size)
        small = segment["segment_type"] == "small"
        return (segment, block) if block["address"] else self.new(size, small, segment["stream"])


@caching_allocator.mistake(breaks="the address may come again")
class OldStream(Steps):
    """A segment at an address that the device gave out a second time has the kind or the stream of the first. Perhaps these are remembered
    by the address, and not forgotten in `empty_cache`.
    """

    def __init__(self, device: Any, rules: Rules) -> None:
        super().__init__(device, rules)
        self.streams: dict[int, int] = {}

    def noted(self, address: int, total: int, small: bool, stream: int) -> Found:
        return super().noted(address, total, small, self.streams.setdefault(address, stream))


# The snapshot.


@caching_allocator.mistake(breaks=SHOWS[0])
class AsTheyCame(Steps):
    """The segments stand in the snapshot in the order in which they came. They are asked for by address."""

    def snapshot(self) -> list[Segment]:
        return deepcopy(self.segments)


@caching_allocator.mistake(breaks=SHOWS[0])
class ByAddressInADict(Steps):
    """The snapshot is a dict. A list of segments is asked for: each has its address in it."""

    def snapshot(self) -> Any:
        return {each["address"]: each for each in super().snapshot()}


@caching_allocator.mistake(breaks=SHOWS[1])
class RestAtTheEnd(Steps):
    """The blocks of a segment are not sorted by address. Perhaps what was split off stands at the end of the list."""

    def snapshot(self) -> list[Segment]:
        found = super().snapshot()
        for segment in found:
            segment["blocks"].sort(key=lambda block: block["state"] == "inactive")
        return found


@caching_allocator.mistake(breaks=SHOWS[2])
class IdleAreLeftOut(Steps):
    """The snapshot has the blocks that are out, and not the idle ones. Both are asked for."""

    def snapshot(self) -> list[Segment]:
        found = super().snapshot()
        for segment in found:
            segment["blocks"] = [block for block in segment["blocks"] if block["state"] != "inactive"]
        return found


@caching_allocator.mistake(breaks=SHOWS[2])
class WordsOfItsOwn(Steps):
    """`state` has a word of its own. The words are those of torch: "active_allocated" and "inactive"."""

    def snapshot(self) -> list[Segment]:
        found = super().snapshot()
        for segment in found:
            for block in segment["blocks"]:
                block["state"] = "free" if block["state"] == "inactive" else "allocated"
        return found


@caching_allocator.mistake(breaks=SHOWS[1])
class SizeOfTheBlocksOut(Steps):
    """`total_size` is not the size of the segment. Perhaps it is that of the blocks which are out."""

    def snapshot(self) -> list[Segment]:
        found = super().snapshot()
        for segment in found:
            out = [block["size"] for block in segment["blocks"] if block["state"] != "inactive"]
            segment["total_size"] = sum(out)
        return found


@caching_allocator.mistake(breaks=SHOWS[1])
class OnlySegmentsInUse(Steps):
    """A segment that is idle throughout is missing in the snapshot. The allocator has it, until `empty_cache`."""

    def snapshot(self) -> list[Segment]:
        return [segment for segment in super().snapshot() if not self.is_idle(segment)]


@caching_allocator.mistake(breaks=A_COPY)
class TheListItself(Steps):
    """The caller emptied the list that snapshot() returned, and the next snapshot is empty. Perhaps it is the allocator's own list, or one that
    is kept for the next call.
    """

    def snapshot(self) -> list[Segment]:
        self.segments.sort(key=lambda segment: segment["address"])
        return self.segments


@caching_allocator.mistake(breaks=A_COPY)
class CopiesTheList(Steps):
    """The caller changed a segment in the snapshot, and the next snapshot shows it. Perhaps only the list was copied: the dicts in it are the
    same.
    """

    def snapshot(self) -> list[Segment]:
        return sorted(self.segments, key=lambda segment: segment["address"])


@caching_allocator.mistake(breaks=A_COPY)
class CopiesTheSegments(Steps):
    """The caller emptied `blocks` of a segment in the snapshot, and they are gone in the next one. Perhaps the dict of the segment was copied, and
    the list in it is the same.
    """

    def snapshot(self) -> list[Segment]:
        return sorted(map(copy, self.segments), key=lambda segment: segment["address"])


@caching_allocator.mistake(breaks=A_COPY)
class CopiesTheBlocksList(Steps):
    """The caller changed a block in the snapshot, and the next snapshot shows it. Perhaps the lists were copied, and the dicts of the blocks
    are the same.
    """

    def snapshot(self) -> list[Segment]:
        copies = [{**segment, "blocks": list(segment["blocks"])} for segment in self.segments]
        return sorted(copies, key=lambda segment: segment["address"])


class _OneDict(Steps):
    """What is out stands in a dict of the class, by address."""

    out: dict[int, Found] = {}  # noqa: RUF012

    def malloc(self, nbytes: int, stream: int = 0) -> int:
        address = super().malloc(nbytes, stream)
        self.out[address] = super().found(address)
        return address

    def found(self, address: int) -> Found:
        if address not in self.out:
            raise ValueError("not out")
        return self.out.pop(address)


@caching_allocator.mistake(breaks=APART)
class OneDictForAll(_OneDict):
    """Two allocators, called in turns, disturb each other. Perhaps what is out stands in one dict for all of them, by address: two devices
    may give the same address.
    """

    def __init__(self, device: Any, rules: Rules) -> None:
        super().__init__(device, rules)
        type(self).out = {}


@caching_allocator.variant(OneDictForAll)
class _(_OneDict):
    pass


@caching_allocator.mistake(breaks=SHOWS[1])
class BlocksByRecursion(Steps):
    """RecursionError in a segment of 2,000 blocks. Perhaps a function calls itself for the next block: Python ends
    that after some 1,000 calls, and a loop does not.
    """

    def snapshot(self) -> list[Segment]:
        def listed(blocks: list[Block], at: int) -> list[Block]:
            return [] if at == len(blocks) else [copy(blocks[at]), *listed(blocks, at + 1)]

        copies = [{**each, "blocks": listed(each["blocks"], 0)} for each in self.segments]
        return sorted(copies, key=lambda segment: segment["address"])
