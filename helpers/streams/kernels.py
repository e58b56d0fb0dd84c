"""Kernels: an operation runs on the shadows when the host calls it, and on the device's memory in its own time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from helpers.streams.extents import Extent, extent
from helpers.streams.kinds import aten, kind_of, leaves, raw_of, replaced, shadow_of, tensors_in, written_by
from helpers.streams.launch_site import launch_site
from helpers.streams.layout import follow_shadow
from helpers.streams.machine import machine
from helpers.streams.memory import UNINITIALISED, Allocation, Block
from helpers.streams.queues import current_stream
from helpers.streams.randomness import Draws
from helpers.streams.tensor import SimTensor, of_value

_EMPTY = {
    aten.empty.memory_format,
    aten.empty_strided.default,
    aten.empty_like.default,
    aten.new_empty.default,
    aten.new_empty_strided.default,
}


class Results:
    """Gives the tensors of the device for results that were computed on shadows."""

    def __init__(self, inputs: list[SimTensor]) -> None:
        self._known = {id(tensor.shadow): tensor for tensor in inputs}
        self._storages = {_storage(tensor.shadow): tensor.allocation for tensor in inputs}
        self.fresh: list[SimTensor] = []  # those with memory of their own
        self.places: list[int] = []  # of the fresh ones, among all leaves of the result

    def wrapped(self, result: Any) -> Any:
        places = {id(leaf): place for place, leaf in enumerate(leaves(result))}
        return replaced(result, lambda value: self._one(value, places[id(value)]))

    def _one(self, value: torch.Tensor, place: int) -> SimTensor:
        if id(value) in self._known:
            return self._known[id(value)]
        if value.layout is not torch.strided:
            raise NotImplementedError(f"The simulated device has dense tensors only, not {value.layout}.")
        storage = _storage(value)
        allocation = self._storages.get(storage)
        made = SimTensor(value, allocation or Allocation(value.untyped_storage().nbytes()))
        if allocation is None:
            self._storages[storage] = made.allocation
            self.fresh.append(made)
            self.places.append(place)
        return made


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata


def issued(func: Any, args: Any, kwargs: Any) -> Any:
    """The result of an operation that the device runs later (or of a view, for which nothing runs)."""
    inputs = tensors_in((args, kwargs))
    raws = {id(tensor): tensor.raw for tensor in inputs}
    draws = Draws(kwargs.get("generator")) if kind_of(func).draws else None
    result = _on_shadows(func, args, kwargs, draws)
    changed = written_by(func, args, kwargs)
    for tensor in changed:
        before = tensor.allocation
        if follow_shadow(tensor, inputs):
            raws[id(tensor)] = tensor.raw
        if func is aten.resize_.default and tensor.allocation is not before:
            _queue_move(before.block, tensor.allocation.block)
    results = Results(inputs)
    wrapped = results.wrapped(result)
    if func in _EMPTY:
        for tensor in results.fresh:
            _fill(tensor.shadow)
        return wrapped
    outputs = [*changed, *results.fresh]
    if any(tensor.numel() for tensor in outputs) and not kind_of(func).layout_only:
        targets = [raws.get(id(tensor), tensor.raw) for tensor in outputs]
        raw_args, raw_kwargs = (
            replaced(value, lambda tensor: raws.get(id(tensor), tensor)) for value in (args, kwargs)
        )
        steps = _Steps(func, raw_args, raw_kwargs, draws, targets[: len(changed)], results.places)
        queue(kind_of(func).name, inputs, outputs, steps.begin, lambda: steps.finish(targets))
    return wrapped


def _queue_move(old: Block, new: Block) -> None:
    """`resize_` has taken a larger block: the values follow."""
    size, kept = old.bytes.numel(), []
    queue(
        "resize_",
        [],
        [],
        lambda: kept.append(old.bytes.clone()),
        lambda: new.bytes[:size].copy_(kept[0]),
        more_reads=(Extent(old.label, ((0, size),)),),
        more_writes=(Extent(new.label, ((0, size),)),),
    )


class _Steps:
    """The two moments of a kernel: it reads its inputs when it begins and writes its outputs at its end."""

    def __init__(
        self,
        func: Any,
        args: Any,
        kwargs: Any,
        draws: Draws | None,
        changed: list[torch.Tensor],
        places: list[int],
    ) -> None:
        self._func, self._args, self._kwargs, self._draws = func, args, kwargs, draws
        self._changed, self._places = changed, places
        self._values: list[torch.Tensor] | None = None

    def begin(self) -> None:
        copies = {id(raw): raw.clone() for raw in self._changed}
        args, kwargs = (
            replaced(value, lambda tensor: copies.get(id(tensor), tensor))
            for value in (self._args, self._kwargs)
        )
        call = lambda: self._func(*args, **kwargs)  # noqa: E731
        result = list(leaves(self._draws.again(call) if self._draws else call()))
        self._values = [copies[id(raw)] for raw in self._changed] + [result[place] for place in self._places]

    def finish(self, targets: list[torch.Tensor]) -> None:
        if self._values is not None:  # it did not fail
            for target, value in zip(targets, self._values, strict=True):
                target.copy_(value)


def queue(
    name: str,
    reads: list[SimTensor],
    writes: list[SimTensor],
    begin: Callable[[], None],
    finish: Callable[[], None],
    cost: float | None = None,
    more_reads: tuple[Extent, ...] = (),
    more_writes: tuple[Extent, ...] = (),
) -> float:
    """Issues a kernel on the current stream; gives the time of its end. An error gets a note of its line.

    more_reads, more_writes: memory that it touches beside that of tensors of the device.
    """
    stream, site = current_stream(), launch_site()
    touched = {id(tensor): tensor for tensor in (*reads, *writes)}.values()
    if cost is None:
        cost = machine.costs.of_kernel(name, sum(tensor.raw.nbytes for tensor in touched))

    def noting(step: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                step()
            except Exception as error:
                error.add_note(f"Raised by the kernel `{name}` on stream {stream.label}, launched by {site}.")
                raise

        return run

    return machine.launch(
        stream,
        name,
        cost,
        noting(begin),
        noting(finish),
        (*_extents(reads), *more_reads),
        (*_extents(writes), *more_writes),
    )


def _extents(tensors: list[SimTensor]) -> list[Extent]:
    return [extent(tensor.allocation.block.label, tensor.raw) for tensor in tensors]


def _fill(shadow: torch.Tensor) -> None:
    """Memory that nothing has written holds the same bytes everywhere."""
    flat = torch.empty(0, dtype=torch.uint8, device="cpu").set_(shadow.untyped_storage())
    flat.fill_(UNINITIALISED)


def _on_shadows(func: Any, args: Any, kwargs: Any, draws: Draws | None) -> Any:
    """The result in program order. If only the values are at fault, the device will say so, not the call."""
    shadow_args, shadow_kwargs = replaced(args, shadow_of), replaced(kwargs, shadow_of)
    call = lambda: func(*shadow_args, **shadow_kwargs)  # noqa: E731
    try:
        return draws.first(call) if draws else call()
    except NotImplementedError as error:
        raise NotImplementedError(
            f"The simulated device runs the kernels of the CPU, and there is none for {func}."
        ) from error
    except Exception as error:
        if "single memory location" in str(error):  # two arguments overlap: a fault of the call
            raise
        harmless_args, harmless_kwargs = replaced(shadow_args, _harmless), replaced(shadow_kwargs, _harmless)
        try:
            return func(*harmless_args, **harmless_kwargs)
        except Exception:
            raise error from None


def _harmless(tensor: torch.Tensor) -> torch.Tensor:
    """Values that no kernel objects to: every index valid, every weight positive."""
    fill = torch.ones_like if tensor.dtype.is_floating_point else torch.zeros_like
    return fill(tensor, device="cpu")


def awaited(func: Any, args: Any, kwargs: Any) -> Any:
    """The result of an operation that the host cannot go on without: it waits for the current stream.

    The result is what the device found. Its shadow follows the same way where the shapes agree.
    """
    inputs, found = tensors_in((args, kwargs)), []
    raw_args, raw_kwargs = replaced(args, raw_of), replaced(kwargs, raw_of)
    end = queue(
        kind_of(func).name, inputs, [], lambda: found.append(func(*raw_args, **raw_kwargs)), lambda: None
    )
    entry = machine.entries.pop()
    try:
        machine.wait_until(end)
        fresh: list[SimTensor] = []
        wrapped = replaced(found[0], lambda value: fresh.append(of_value(value)) or fresh[-1])
        entry = replace(entry, writes=tuple(_extents(fresh)))
    finally:
        machine.entries.append(entry)
        machine.wait_for_stream(current_stream())
    _take_shadows(fresh, func, args, kwargs)
    return wrapped


def _take_shadows(fresh: list[SimTensor], func: Any, args: Any, kwargs: Any) -> None:
    try:
        result = func(*replaced(args, shadow_of), **replaced(kwargs, shadow_of))
    except Exception:
        return
    values = [leaf for leaf in leaves(result) if isinstance(leaf, torch.Tensor)]
    for tensor, value in zip(fresh, values, strict=False):
        if value.shape == tensor.shadow.shape and value.stride() == tensor.shadow.stride():
            tensor.shadow = value
