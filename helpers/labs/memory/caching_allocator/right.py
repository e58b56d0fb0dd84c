"""A right answer to 14.caching_allocator in steps, of which each mistake replaces one."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from helpers.labs.memory.shown import Rules

Block = dict[str, Any]
Segment = dict[str, Any]
Found = tuple[Segment, Block]


class Steps:
    """Segments in a list, each with a list of its blocks, in the form of the snapshot."""

    def __init__(self, device: Any, rules: Rules) -> None:
        self.device, self.rules = device, rules
        self.segments: list[Segment] = []

    def malloc(self, nbytes: int, stream: int = 0) -> int:
        size = self.block_size(nbytes)
        small = self.is_small(nbytes, size)
        fitting = [
            (segment, block)
            for segment, block in self.idle_blocks()
            if self.is_of(segment, small, stream) and self.is_large_enough(block, nbytes, size)
        ]
        segment, block = self.chosen(fitting, size) if fitting else self.new(size, small, stream)
        if self.is_split(small, block["size"] - size):
            block = self.split(segment, block, size)
        block.update(requested_size=nbytes, state="active_allocated")
        return block["address"]

    def idle_blocks(self) -> list[Found]:
        return [
            (segment, block)
            for segment in self.segments
            for block in segment["blocks"]
            if block["state"] == "inactive"
        ]

    def block_size(self, nbytes: int) -> int:
        return -(-nbytes // self.rules.min_block_size) * self.rules.min_block_size

    def segment_size(self, size: int) -> int:
        rules = self.rules
        if size <= rules.small_size:
            return rules.small_buffer
        if size < rules.min_large_alloc:
            return rules.large_segment_size
        return -(-size // rules.round_large) * rules.round_large

    def is_small(self, nbytes: int, size: int) -> bool:
        return size <= self.rules.small_size

    def is_of(self, segment: Segment, small: bool, stream: int) -> bool:
        """Whether the blocks of a segment are for such a request."""
        return (segment["segment_type"] == "small") == small and segment["stream"] == stream

    def is_large_enough(self, block: Block, nbytes: int, size: int) -> bool:
        return block["size"] >= size

    def chosen(self, fitting: list[Found], size: int) -> Found:
        return min(fitting, key=lambda found: (found[1]["size"], found[1]["address"]))

    def new(self, size: int, small: bool, stream: int) -> Found:
        """A segment of the device that is one idle block."""
        total = self.segment_size(size)
        return self.noted(self.device.malloc(total), total, small, stream)

    def noted(self, address: int, total: int, small: bool, stream: int) -> Found:
        block = {"address": address, "size": total, "requested_size": 0, "state": "inactive"}
        segment = {
            "address": address,
            "total_size": total,
            "stream": stream,
            "segment_type": "small" if small else "large",
            "blocks": [block],
        }
        self.segments.append(segment)
        return segment, block

    def is_split(self, small: bool, rest: int) -> bool:
        return rest >= self.rules.min_block_size if small else rest > self.rules.small_size

    def split(self, segment: Segment, block: Block, size: int) -> Block:
        """Cuts the rest off. Returns the block that is handed out."""
        rest = {**block, "address": block["address"] + size, "size": block["size"] - size}
        segment["blocks"].insert(segment["blocks"].index(block) + 1, rest)
        block["size"] = size
        return block

    def free(self, address: int) -> None:
        segment, block = self.found(address)
        self.idle(block)
        self.merge(segment, block)

    def found(self, address: int) -> Found:
        for segment in self.segments:
            for block in segment["blocks"]:
                if self.is_meant(block, address):
                    return segment, block
        raise ValueError(f"no block is out at {address}")

    def is_meant(self, block: Block, address: int) -> bool:
        return block["address"] == address and block["state"] == "active_allocated"

    def idle(self, block: Block) -> None:
        block.update(requested_size=0, state="inactive")

    def merge(self, segment: Segment, block: Block) -> None:
        self.merge_behind(segment, block)
        self.merge_before(segment, block)

    def merge_behind(self, segment: Segment, block: Block) -> None:
        blocks = segment["blocks"]
        at = blocks.index(block)
        if at + 1 < len(blocks) and blocks[at + 1]["state"] == "inactive":
            block["size"] += blocks.pop(at + 1)["size"]

    def merge_before(self, segment: Segment, block: Block) -> None:
        blocks = segment["blocks"]
        at = blocks.index(block)
        if at and blocks[at - 1]["state"] == "inactive":
            blocks[at - 1]["size"] += blocks.pop(at)["size"]

    def empty_cache(self) -> None:
        for segment in list(self.segments):
            if self.is_idle(segment):
                self.device.free(segment["address"])
                self.segments.remove(segment)

    def is_idle(self, segment: Segment) -> bool:
        return all(block["state"] == "inactive" for block in segment["blocks"])

    def snapshot(self) -> list[Segment]:
        return sorted(deepcopy(self.segments), key=lambda segment: segment["address"])
