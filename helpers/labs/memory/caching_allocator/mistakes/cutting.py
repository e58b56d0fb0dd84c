"""What people write for 14.caching_allocator where blocks are split and joined, and why it is wrong."""

from __future__ import annotations

from typing import Any

from helpers.labs.memory.caching_allocator.exercise import (
    FRONT,
    MERGES,
    SIZES,
    SPLITS,
    WHOLE,
    caching_allocator,
)
from helpers.labs.memory.caching_allocator.right import Block, Found, Segment, Steps
from helpers.labs.memory.shown import Rules


@caching_allocator.mistake(breaks=SPLITS)
class NeverSplits(Steps):
    """The whole segment was handed out for one small request. What is left over is an idle block, for the next request."""

    def is_split(self, small: bool, rest: int) -> bool:
        return False


@caching_allocator.mistake(breaks=FRONT)
class TakesTheBack(Steps):
    """The request got the back of the block. It gets the front, and the rest lies behind it."""

    def split(self, segment: Segment, block: Block, size: int) -> Block:
        its = {**block, "address": block["address"] + block["size"] - size, "size": size}
        segment["blocks"].insert(segment["blocks"].index(block) + 1, its)
        block["size"] -= size
        return its


@caching_allocator.mistake(breaks=FRONT)
class RestIsLost(Steps):
    """The block was cut to its size, and the rest is in no block. The sizes of a segment's blocks are its size, always."""

    def split(self, segment: Segment, block: Block, size: int) -> Block:
        block["size"] = size
        return block


@caching_allocator.mistake(breaks=SIZES)
class CutsAtTheRequest(Steps):
    """The block has the size of the request, and not of the request rounded up: the next one begins at an address that is no multiple."""

    def block_size(self, nbytes: int) -> int:
        self.nbytes = nbytes
        return super().block_size(nbytes)

    def split(self, segment: Segment, block: Block, size: int) -> Block:
        return super().split(segment, block, self.nbytes)


@caching_allocator.mistake(breaks=SPLITS)
class AnyRestSmall(Steps):
    """In a small segment, a rest was split off that is smaller than `min_block_size`. No request fits in it, ever."""

    def is_split(self, small: bool, rest: int) -> bool:
        return rest > 0 if small else super().is_split(small, rest)


@caching_allocator.mistake(breaks=SPLITS)
class AnyRest(Steps):
    """A rest was split off that is too small, also in a large segment: no large request fits in it, and a small one may not have it."""

    def is_split(self, small: bool, rest: int) -> bool:
        return rest > 0


@caching_allocator.mistake(breaks=SPLITS)
class EmptyRest(Steps):
    """A block that fits exactly was split, too: an idle block of 0 bytes lies behind it."""

    def is_split(self, small: bool, rest: int) -> bool:
        return rest >= 0 if small else super().is_split(small, rest)


@caching_allocator.mistake(breaks=SPLITS)
class MoreThanTheLeast(Steps):
    """In a small segment, a rest of just `min_block_size` was not split off. A request fits in it: at least, not more than."""

    def is_split(self, small: bool, rest: int) -> bool:
        return rest > self.rules.min_block_size if small else super().is_split(small, rest)


@caching_allocator.mistake(breaks=SPLITS)
class SmallSizeIsEnough(Steps):
    """In a large segment, a rest of just `small_size` was split off. It has to be more: a request of that size is small, and may not have it."""

    def is_split(self, small: bool, rest: int) -> bool:
        return super().is_split(small, rest) if small else rest >= self.rules.small_size


@caching_allocator.mistake(breaks=SPLITS)
class OneLimitForBoth(Steps):
    """In a large segment, a rest was split off that is no larger than `small_size`. Perhaps the limit of small segments was used for both
    kinds.
    """

    def is_split(self, small: bool, rest: int) -> bool:
        return rest >= self.rules.min_block_size


@caching_allocator.mistake(breaks=SPLITS)
class LargeLimitForBoth(Steps):
    """In a small segment, a rest was not split off that is smaller than `small_size`, or as large. Perhaps the limit of large segments was
    used for both kinds: there every small segment would be wasted.
    """

    def is_split(self, small: bool, rest: int) -> bool:
        return rest > self.rules.small_size


@caching_allocator.mistake(breaks=WHOLE)
class SaysOnlyItsSize(Steps):
    """The rest that was not split off is in no block: the block says that it is as large as was needed. Else the whole block is handed
    out, with its size.
    """

    def malloc(self, nbytes: int, stream: int = 0) -> int:
        address = super().malloc(nbytes, stream)
        _, block = self.found(address)
        block["size"] = self.block_size(nbytes)
        return address


@caching_allocator.mistake(breaks=MERGES)
class NeverMerges(Steps):
    """A block that came back lies beside an idle one, and they are two. So the segment falls into pieces, and no large request fits."""

    def merge(self, segment: Segment, block: Block) -> None:
        pass


@caching_allocator.mistake(breaks=MERGES)
class OnlyBehind(Steps):
    """A block that came back was not joined with the idle block before it, only with the one behind it."""

    def merge_before(self, segment: Segment, block: Block) -> None:
        pass


@caching_allocator.mistake(breaks=MERGES)
class OnlyBefore(Steps):
    """A block that came back was not joined with the idle block behind it, only with the one before it."""

    def merge_behind(self, segment: Segment, block: Block) -> None:
        pass


@caching_allocator.mistake(breaks=MERGES)
class OneSideOnly(Steps):
    """Between two idle blocks, a block that came back was joined with one of them only: there are two blocks still, side by side."""

    def merge(self, segment: Segment, block: Block) -> None:
        count = len(segment["blocks"])
        self.merge_behind(segment, block)
        if len(segment["blocks"]) == count:
            self.merge_before(segment, block)


@caching_allocator.variant(OneSideOnly)
class _(Steps):
    def merge(self, segment: Segment, block: Block) -> None:
        count = len(segment["blocks"])
        self.merge_before(segment, block)
        if len(segment["blocks"]) == count:
            self.merge_behind(segment, block)


@caching_allocator.mistake(breaks=MERGES)
class JoinsWhatIsOut(Steps):
    """A block that is out was joined with an idle one. Its bytes belong to somebody, and would be handed out a second time."""

    def merge_before(self, segment: Segment, block: Block) -> None:
        blocks = segment["blocks"]
        at = blocks.index(block)
        if at:
            blocks[at - 1]["size"] += blocks.pop(at)["size"]


@caching_allocator.mistake(breaks=MERGES)
class JoinsAllIdle(Steps):
    """Idle blocks of a segment were joined, and a block that is out lies between them. Only neighbours are one block: directly before and
    behind.
    """

    def merge(self, segment: Segment, block: Block) -> None:
        idle = [each for each in segment["blocks"] if each["state"] == "inactive"]
        idle[0]["size"] = sum(each["size"] for each in idle)
        segment["blocks"] = [
            each for each in segment["blocks"] if each["state"] != "inactive" or each is idle[0]
        ]


@caching_allocator.mistake(breaks=MERGES)
class OverTheBorder(Steps):
    """Blocks of two segments were joined, since the one begins where the other ends. The device takes back segments, each by its address."""

    def merge(self, segment: Segment, block: Block) -> None:
        super().merge(segment, block)
        for one in self.segments:
            for other in self.segments:
                last, first = one["blocks"][-1], other["blocks"][0]
                touch = one is not other and last["address"] + last["size"] == first["address"]
                if touch and last["state"] == first["state"] == "inactive":
                    last["size"] += first["size"]
                    one["total_size"] += other["total_size"]
                    other["blocks"].pop(0)
                    one["blocks"] += other["blocks"]
                    self.segments.remove(other)
                    return


@caching_allocator.variant(OverTheBorder)
class _(Steps):
    """Blocks are found by their addresses alone: a block of the next segment goes over to this one, and the segments stay two."""

    def merge(self, segment: Segment, block: Block) -> None:
        super().merge(segment, block)
        for one in self.segments:
            for other in self.segments:
                if one is other or not (one["blocks"] and other["blocks"]):
                    continue
                last, first = one["blocks"][-1], other["blocks"][0]
                touch = last["address"] + last["size"] == first["address"]
                if touch and last["state"] == first["state"] == "inactive":
                    last["size"] += other["blocks"].pop(0)["size"]
                    return


@caching_allocator.mistake(breaks=MERGES)
class KeepsTheOldPiece(Steps):
    """After a merge, an idle block was handed out that is a part of a larger one now. Perhaps it stands in a second list still, in which
    idle blocks are looked for.
    """

    def __init__(self, device: Any, rules: Rules) -> None:
        super().__init__(device, rules)
        self.back: list[Found] = []

    def free(self, address: int) -> None:
        self.back.append(self.found(address))
        super().free(address)

    def idle_blocks(self) -> list[Found]:
        there = super().idle_blocks()
        old = [found for found in self.back if found[1]["state"] == "inactive"]
        return there + [found for found in old if all(found[1] is not block for _, block in there)]

    def split(self, segment: Segment, block: Block, size: int) -> Block:
        return super().split(segment, block, size) if block in segment["blocks"] else block


@caching_allocator.mistake(breaks=MERGES)
class ForgetsWhoIsBehind(Steps):
    """A block came back whose neighbour before it is the rest of a split, and they were not joined. Perhaps blocks know their neighbours, and
    the split told the one behind nothing of the new one before it.
    """

    def split(self, segment: Segment, block: Block, size: int) -> Block:
        at = segment["blocks"].index(block)
        for behind in segment["blocks"][at + 1 : at + 2]:
            behind["before"] = block["address"]
        return super().split(segment, block, size)

    def merge_before(self, segment: Segment, block: Block) -> None:
        at = segment["blocks"].index(block)
        if at and block.get("before") in (None, segment["blocks"][at - 1]["address"]):
            super().merge_before(segment, block)
