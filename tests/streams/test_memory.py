"""Copies between the host and the simulated device, page-locked memory, and blocks that are used again."""

from __future__ import annotations

import random

import pytest
import torch
from torch import Tensor

from helpers import streams
from tests.support.device_process import UNWRITTEN, device_process, kernels, on_device, racing  # noqa: F401


@on_device
def test_a_pinned_copy_returns_at_once_and_takes_its_time() -> None:
    batch = streams.pin_memory(torch.ones(250_000))  # a million bytes at 25 GB/s
    x = batch.to("sim", non_blocking=True)
    assert streams.clock() == 5e-6
    assert kernels() == [("copy host to device, pinned", "default", 5, 45)]
    batch.fill_(2)  # too early: the second half has not been read
    streams.synchronize()
    assert x.unique().tolist() == [1, 2] and x[0].item() == 1 and x[-1].item() == 2


@on_device
def test_the_host_waits_for_a_pageable_copy() -> None:
    for non_blocking in (False, True):
        streams.reset()
        batch = torch.ones(150_000)  # 600,000 bytes at 6 GB/s
        x = batch.to("sim", non_blocking=non_blocking)
        batch.fill_(2)
        assert streams.clock() == 105e-6
        assert x.unique().tolist() == [1]


@on_device
def test_a_blocking_copy_of_pinned_memory_makes_the_host_wait() -> None:
    x = torch.empty(250_000, device="sim")
    x.copy_(streams.pin_memory(torch.ones(250_000)))
    assert streams.clock() == 45e-6 and streams.trace()[-1].kind == "host_sync"


@on_device
def test_memory_of_the_host_is_old_until_the_copy_has_come() -> None:
    x = torch.ones(4, device="sim")
    early = x.to("cpu", non_blocking=True)
    kept = streams.pin_memory(torch.zeros(4))
    kept.copy_(x, non_blocking=True)
    assert early.tolist() == [UNWRITTEN] * 4 and kept.tolist() == [0] * 4
    assert streams.is_pinned(early) and streams.truth(kept[1:]).tolist() == [1] * 3
    streams.synchronize()
    assert early.tolist() == kept.tolist() == [1] * 4
    pageable = torch.zeros(4)
    pageable.copy_(x.mul_(2), non_blocking=True)
    assert pageable.tolist() == [2] * 4


@on_device
def test_the_trace_names_pinned_memory() -> None:
    buffer, side = streams.pin_memory(torch.zeros(6)), streams.Stream()
    x = buffer.to("sim", non_blocking=True)
    with side:
        buffer.copy_(torch.ones(6, device="sim"), non_blocking=True)
    copies = [op for op in streams.trace() if op.name.startswith("copy")]
    assert copies[0].reads == copies[1].writes == {"h1"} and x.shape == (6,)
    assert racing() == {(0, 2)}


@on_device
def test_pinning() -> None:
    x = torch.arange(6)
    page_locked = streams.pin_memory(x)
    assert streams.is_pinned(page_locked) and streams.is_pinned(page_locked[2:]) and not streams.is_pinned(x)
    assert page_locked.equal(x) and streams.pin_memory(page_locked) is page_locked
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        streams.pin_memory(x.to("sim"))


@on_device
def test_a_freed_block_serves_the_next_request_of_its_stream() -> None:
    x = torch.empty(100, device="sim")
    address = x.data_ptr()
    view = x[10:]
    del x
    assert streams.empty(100).data_ptr() != address  # a view holds it
    del view
    with streams.Stream():
        assert streams.empty(100).data_ptr() != address
    assert streams.empty(1000).data_ptr() != address
    assert streams.empty(128, dtype=torch.float32).data_ptr() == address


def sum_of_ones(record: bool) -> float:
    """A tensor used on a side stream is freed, and its block written over on the main stream."""
    side = streams.Stream()
    x = torch.ones(1000, device="sim")
    side.wait_stream(streams.current_stream())
    with side:
        streams.sleep(1)
        total = x.sum()
    if record:
        x.record_stream(side)
    del x
    nines = torch.full((1000,), 9.0, device="sim")
    streams.synchronize()
    assert nines.sum().item() == 9000
    return total.item()


@on_device
def test_a_block_reused_too_early_is_a_race() -> None:
    assert sum_of_ones(record=False) == 9000 and racing()


@on_device
def test_record_stream_keeps_the_block() -> None:
    assert sum_of_ones(record=True) == 1000 and not racing()
    x = torch.ones(1000, device="sim")
    x.record_stream(streams.Stream())
    address = x.data_ptr()
    del x  # that stream has nothing to do: the block is free at once, and the checker knows why
    assert torch.ones(1000, device="sim").data_ptr() == address and not racing()


@on_device
def test_parts_of_a_block_are_told_apart() -> None:
    x, side = torch.empty(256, device="sim"), streams.Stream()
    x[:128].fill_(1)
    with side:
        x[128:].fill_(2)
    assert not racing()
    with side:
        x[100:].fill_(3)
    assert racing() == {(0, 2)}
    assert streams.trace()[0].writes == {"b1[0:400]", "b1[400:512]"}


@on_device
def test_columns_of_a_matrix_are_told_apart() -> None:
    matrix, side = torch.empty(4, 5, device="sim"), streams.Stream()
    matrix[:, 0].fill_(1)
    with side:
        matrix[:, 1].fill_(2)
    assert not racing()
    with side:
        matrix[2].fill_(3)
    assert racing() == {(0, 2)}
    assert streams.trace()[0].writes == {"b1[0:4 and 2 more]", "b1[40:44]"}


@on_device
def test_the_trace_tells_apart_what_shares_no_element() -> None:
    """Random views of one block: two kernels conflict exactly when some element is in both views."""
    draw = random.Random(0)

    def view(x: Tensor) -> Tensor:
        for _ in range(draw.randrange(4)):
            dim = draw.randrange(x.dim())
            if x.shape[dim] > 1:
                first = draw.randrange(x.shape[dim])
                x = x.narrow(dim, first, draw.randint(1, x.shape[dim] - first))
            x = x.transpose(dim, -1)[..., :: draw.randint(1, 3)]
        return x

    shared = 0
    for _ in range(100):
        streams.reset()
        block, places = torch.empty(4, 3, 5, device="sim"), torch.arange(60).reshape(4, 3, 5)
        state = draw.getstate()
        one, other = view(block), view(block)
        draw.setstate(state)
        meet = bool(set(view(places).flatten().tolist()) & set(view(places).flatten().tolist()))
        one.fill_(1)
        with streams.Stream():
            other.fill_(2)
        assert bool(racing()) == meet
        shared += meet
    assert 10 < shared < 90
