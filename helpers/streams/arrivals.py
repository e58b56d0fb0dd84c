"""What a CPU tensor would hold if the copies that are still on their way to it had arrived."""

from __future__ import annotations

import torch

from helpers.streams.machine import machine


def expect(target: torch.Tensor, value: torch.Tensor) -> None:
    """Notes that a copy will bring `value`, which is what it would be in program order."""
    machine.arriving.append((target, value))


def arrived(target: torch.Tensor) -> None:
    """Notes that the copy into this tensor has come."""
    machine.arriving = [(there, value) for there, value in machine.arriving if there is not target]


def value_in_order(tensor: torch.Tensor) -> torch.Tensor:
    """A CPU tensor's value in program order: a copy of it, with what is on its way in its place."""
    storage = tensor.untyped_storage()
    coming = [
        (there, value)
        for there, value in machine.arriving
        if there.untyped_storage().data_ptr() == storage.data_ptr()
    ]
    if not coming:
        return tensor.detach().clone()
    memory = storage.clone()
    for there, value in coming:
        _seen(memory, there).copy_(value)
    return _seen(memory, tensor).clone()


def _seen(memory: torch.UntypedStorage, like: torch.Tensor) -> torch.Tensor:
    bare = torch.empty(0, dtype=like.dtype, device="cpu")
    return bare.set_(memory, like.storage_offset(), like.shape, like.stride())
