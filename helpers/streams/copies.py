"""Copies between the host and the device, and numbers that the host asks for."""

from __future__ import annotations

from typing import Any

import torch

from helpers.streams.arrivals import arrived, expect, value_in_order
from helpers.streams.extents import extent
from helpers.streams.kernels import issued, queue
from helpers.streams.kinds import aten
from helpers.streams.machine import machine
from helpers.streams.memory import UNINITIALISED, host_label, is_pinned, pin
from helpers.streams.queues import current_stream
from helpers.streams.tensor import DEVICE, SimTensor


def check_number(device: torch.device) -> None:
    """Raises RuntimeError if somebody asks for a second simulated device."""
    if device.type == DEVICE and device.index:
        raise RuntimeError(
            f"invalid device ordinal: there is one simulated device, {DEVICE}:0, and no {device}"
        )


def copied_over(func: Any, args: Any, kwargs: Any) -> Any:
    """`dst.copy_(src, non_blocking)`."""
    dst, src = args[:2]
    non_blocking = args[2] if len(args) > 2 else kwargs.get("non_blocking", False)
    if isinstance(dst, SimTensor) and isinstance(src, SimTensor):
        return issued(func, args, kwargs)
    _transfer(dst, src, non_blocking)
    return dst


def converted(func: Any, args: Any, kwargs: Any) -> torch.Tensor:
    """`x.to(...)` where something has to be copied."""
    src, (kwargs) = args[0], dict(kwargs)
    device = torch.device(kwargs.get("device") or src.device)
    check_number(device)
    if isinstance(src, SimTensor) and device.type == DEVICE:
        return issued(func, args, {**kwargs, "device": torch.device("cpu")})
    shadow = src.shadow if isinstance(src, SimTensor) else src
    form = kwargs.get("memory_format") or torch.preserve_format
    like = aten.empty_like.default(shadow, dtype=kwargs.get("dtype"), device="cpu", memory_format=form)
    non_blocking = kwargs.get("non_blocking", False)
    if device.type == DEVICE:
        dst = aten.empty_strided.default(like.shape, like.stride(), dtype=like.dtype, device=device)
    else:
        dst = _fresh_host_memory(like)
        if non_blocking:  # as torch does with CUDA
            pin(dst)
    _transfer(dst, src, non_blocking)
    return dst


def _fresh_host_memory(like: torch.Tensor) -> torch.Tensor:
    if like.numel():
        flat = torch.empty(0, dtype=torch.uint8, device="cpu").set_(like.untyped_storage())
        flat.fill_(UNINITIALISED)
    return like


def _transfer(dst: torch.Tensor, src: torch.Tensor, non_blocking: bool) -> None:
    """Queues a copy; the host waits for it unless it is non-blocking and its memory page-locked."""
    to_device = isinstance(dst, SimTensor)
    host = src if to_device else dst
    pinned = is_pinned(host)
    if to_device:  # pageable memory is staged before the call returns
        source = (src.detach() if pinned else src.detach().clone()).expand(dst.shape)
        dst.shadow.copy_(value_in_order(src))
        target = dst.raw
    else:
        source, target = src.raw.expand(dst.shape), dst.detach()
        expect(target, src.shadow.clone())
    halves = _Halves(target, source)
    name = f"copy {'host to device' if to_device else 'device to host'}, {'pinned' if pinned else 'pageable'}"
    touched = (extent(host_label(host), host),) if pinned else ()
    queue(
        name,
        [] if to_device else [src],
        [dst] if to_device else [],
        halves.begin,
        halves.finish,
        machine.costs.of_copy(target.numel() * host.element_size(), pinned),
        more_reads=touched if to_device else (),
        more_writes=() if to_device else touched,
    )
    if not (non_blocking and pinned):
        machine.wait_for_stream(current_stream())


class _Halves:
    """A copy reads its first half when it begins and its second half at its end, when it writes all."""

    def __init__(self, target: torch.Tensor, source: torch.Tensor) -> None:
        self._target, self._source = target, source

    def begin(self) -> None:
        self._value = self._source.reshape(-1).clone()

    def finish(self) -> None:
        half = self._value.numel() // 2
        self._value[half:] = self._source.reshape(-1)[half:]
        self._target.copy_(self._value.view(self._target.shape))
        arrived(self._target)


def item(func: Any, args: Any, kwargs: Any) -> Any:
    """`x.item()`: the host waits for the current stream."""
    tensor, found = args[0], []
    cost = machine.costs.of_copy(tensor.element_size(), pinned=False)
    queue("item", [tensor], [], lambda: found.append(tensor.raw.item()), lambda: None, cost)
    machine.wait_for_stream(current_stream())
    return found[0]


SPECIAL = {
    aten.copy_.default: copied_over,
    aten._to_copy.default: converted,
    aten._local_scalar_dense.default: item,
}
