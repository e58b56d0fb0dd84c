"""The allocator that answers are compared with, and the device that both ask. It has blocks by address, no lists of segments."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from helpers.labs.memory.shown import Rules


@dataclass
class Segment:
    address: int
    size: int
    stream: int
    small: bool

    @property
    def kind(self) -> str:
        return "small" if self.small else "large"


@dataclass
class Block:
    """requested: the bytes of the request, 0 if idle."""

    size: int
    segment: Segment
    requested: int = 0


class Device:
    """Has `malloc` and `free`, and notes each call of them and what else is asked of it.

    addresses: of the segments, in the order in which they are asked for. A number instead: the seed by which they are
    drawn; segments may then touch, and an address that came back is given out again.
    """

    def __init__(self, addresses: Sequence[int] | int) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.others: list[str] = []  # what else was asked of it
        self.error: BaseException | None = None  # what it raises instead of an address
        self._next = iter(addresses) if not isinstance(addresses, int) else None
        self._random = random.Random(addresses if isinstance(addresses, int) else 0)
        self._out: dict[int, int] = {}  # the segments that are out, with their sizes
        self.back: list[int] = []  # addresses of those that came back

    def malloc(self, nbytes: int) -> int:
        self.calls.append(("malloc", plain(nbytes)))
        if self.error is not None:
            raise self.error
        size = nbytes if isinstance(nbytes, int) else 0
        address = self._drawn(size) if self._next is None else next(self._next, self._beyond())
        self._out[address] = size
        return int(str(address))  # each time a number of its own, which `is` tells from an equal one

    def _beyond(self) -> int:
        """An address for a segment that a right answer does not ask for: the comparison tells that it was asked for."""
        return 10**6 + max((at + size for at, size in self._out.items()), default=0)

    def free(self, address: int) -> None:
        self.calls.append(("free", plain(address)))
        if isinstance(address, int) and self._out.pop(address, None) is not None:
            self.back = sorted({*self.back, address})  # the order in which segments go back is free

    def _drawn(self, size: int) -> int:
        ends = [at + its for at, its in self._out.items()]
        starts = [at - size for at in self._out]
        far = [10_000 * self._random.randrange(1, 1000) for _ in range(4)]
        places = [*self.back[:2], *self._random.sample(ends, min(1, len(ends))), *starts[-1:], *far[:2]]
        self._random.shuffle(places)
        free = [at for at in (*places, *far) if at > 0 and self._has_room(at, size)]
        return free[0] if free else max(ends) + 10_000

    def _has_room(self, address: int, size: int) -> bool:
        return all(address + size <= at or at + its <= address for at, its in self._out.items())

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            self.others.append(name)
        raise AttributeError(f"of the device, `malloc` and `free` are used, and not `{name}`")


def plain(number: Any) -> Any:
    """A whole number as it is, of anything else its text."""
    return number if isinstance(number, int) and not isinstance(number, bool) else repr(number)


class Model:
    """What a right allocator does."""

    def __init__(self, device: Device, rules: Rules) -> None:
        self.device, self.rules = device, rules
        self.blocks: dict[int, Block] = {}

    def malloc(self, nbytes: int, stream: int = 0) -> int:
        size, segment_size = sizes(nbytes, self.rules)
        small = size <= self.rules.small_size
        fitting = self.fitting(size, small, stream)
        if not fitting:
            address = self.device.malloc(segment_size)
            self.blocks[address] = Block(segment_size, Segment(address, segment_size, stream, small))
            fitting = [address]
        address = min(fitting, key=lambda at: (self.blocks[at].size, at))
        block = self.blocks[address]
        rest = block.size - size
        if rest > self.rules.small_size or (small and rest >= self.rules.min_block_size):
            self.blocks[address + size] = Block(rest, block.segment)
            block.size = size
        block.requested = nbytes
        return address

    def fitting(self, size: int, small: bool, stream: int) -> list[int]:
        """Where the idle blocks are that fit."""
        return [
            at
            for at, block in self.blocks.items()
            if not block.requested
            and block.size >= size
            and (block.segment.small, block.segment.stream) == (small, stream)
        ]

    def free(self, address: int) -> None:
        block = self.blocks.get(address)
        if block is None or not block.requested:
            raise ValueError(f"no block is out at {address}")
        block.requested = 0
        behind = self.blocks.get(address + block.size)
        if behind is not None and not behind.requested and behind.segment is block.segment:
            del self.blocks[address + block.size]
            block.size += behind.size
        for at, before in list(self.blocks.items()):
            if (
                at + before.size == address
                and not before.requested
                and before.segment is block.segment
                and before is not block
            ):
                before.size += self.blocks.pop(address).size

    def empty_cache(self) -> None:
        for at, block in list(self.blocks.items()):
            if not block.requested and block.size == block.segment.size:
                del self.blocks[at]
                self.device.free(at)

    def snapshot(self) -> list[dict[str, Any]]:
        found: dict[int, dict[str, Any]] = {}
        for at in sorted(self.blocks):
            block = self.blocks[at]
            its = block.segment
            segment = found.setdefault(
                its.address,
                {
                    "address": its.address,
                    "total_size": its.size,
                    "stream": its.stream,
                    "segment_type": its.kind,
                    "blocks": [],
                },
            )
            state = "active_allocated" if block.requested else "inactive"
            segment["blocks"].append(
                {"address": at, "size": block.size, "requested_size": block.requested, "state": state}
            )
        return list(found.values())


def sizes(nbytes: int, rules: Rules) -> tuple[int, int]:
    """What 14.rounded gives."""
    block = nbytes + -nbytes % rules.min_block_size
    if block <= rules.small_size:
        return block, rules.small_buffer
    if block < rules.min_large_alloc:
        return block, rules.large_segment_size
    return block, block + -block % rules.round_large


def refusal() -> BaseException:
    """What a device raises that has no room."""
    return torch.OutOfMemoryError("the device has no room for this segment")
