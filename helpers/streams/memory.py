"""Memory of the simulated device (a small caching allocator), and page-locked memory of the host."""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from helpers.streams.machine import Entry, machine
from helpers.streams.queues import Stream, current_stream

GRAIN = 512  # bytes: sizes are rounded up to it, as in CUDA's allocator
UNINITIALISED = 0x7F  # every byte of a new block: float32 3.4e38
_numbers = itertools.count()


class Block:
    """Bytes of the device, given to one tensor after another."""

    def __init__(self, nbytes: int, stream: Stream) -> None:
        self.bytes = torch.full((nbytes,), UNINITIALISED, dtype=torch.uint8, device="cpu")
        self.number, self.stream = next(_numbers), stream
        self.users: set[Stream] = set()  # those of record_stream
        self.waited: list[tuple[float, str]] = []  # when they have done what they had at the block's release

    @property
    def label(self) -> str:
        return machine.label("b", self.number)


class Allocation:
    """A block in use, shared by a tensor and its views. When the last of them goes, the block is free."""

    def __init__(self, nbytes: int) -> None:
        stream = current_stream()
        size = max(GRAIN, -(-nbytes // GRAIN) * GRAIN)
        self.epoch, self.free = machine.epoch, machine.pool.setdefault((stream.stream_id, size), [])
        self.block = _reused(self.free) or Block(size, stream)

    def __del__(self) -> None:
        if self.epoch != machine.epoch:  # from before a reset: nobody will ask for it
            return
        self.block.waited = [_noted(user) for user in self.block.users if user is not self.block.stream]
        self.block.users = set()
        self.free.append(self.block)


def _reused(free: list[Block]) -> Block | None:
    """A free block whose other users, told by record_stream, are seen to be done with it."""
    done = [block for block in free if all(time <= machine.host for time, _ in block.waited)]
    if not done:
        return None
    block = min(done, key=lambda block: block.number)
    free.remove(block)
    for _, event in block.waited:
        machine.saw(event)
    block.waited = []
    return block


def _noted(user: Stream) -> tuple[float, str]:
    """An event of the allocator's own, recorded on a stream that still uses a freed block."""
    event = machine.label("free", next(_numbers))
    machine.entries.append(Entry(user.label, "record", event=event))
    return machine.tail(user), event


def view_of(block: Block, like: torch.Tensor) -> torch.Tensor:
    """The block's memory seen with the dtype, shape, strides and offset of `like`."""
    bare = torch.empty(0, dtype=like.dtype, device="cpu")
    return bare.set_(block.bytes.untyped_storage(), like.storage_offset(), like.shape, like.stride())


_pinned: dict[int, tuple[StorageWeakRef, int]] = {}  # page-locked storages by address, with their numbers


def pin(tensor: torch.Tensor) -> torch.Tensor:
    """Declares the memory of a new CPU tensor page-locked; gives the tensor."""
    for address in [address for address, (storage, _) in _pinned.items() if storage.expired()]:
        del _pinned[address]
    storage = tensor.untyped_storage()
    _pinned[storage.data_ptr()] = StorageWeakRef(storage), next(_numbers)
    return tensor


def is_pinned(tensor: torch.Tensor) -> bool:
    """Whether this CPU tensor lies in page-locked memory."""
    if tensor.device.type != "cpu":
        return False
    known = _pinned.get(tensor.untyped_storage().data_ptr())
    return known is not None and not known[0].expired()


def host_label(tensor: torch.Tensor) -> str:
    """What the trace calls a tensor's page-locked memory."""
    return machine.label("h", _pinned[tensor.untyped_storage().data_ptr()][1])


def pin_memory(tensor: torch.Tensor, device: Any = None) -> torch.Tensor:
    """A page-locked copy of a CPU tensor (the tensor itself if it is page-locked)."""
    if tensor.device.type != "cpu":
        raise RuntimeError(f"cannot pin '{tensor.device.type}' tensor: only dense CPU tensors can be pinned")
    return tensor if is_pinned(tensor) else pin(tensor.detach().clone())
