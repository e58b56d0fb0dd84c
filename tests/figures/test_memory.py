"""Lab 14's figures draw what they are given, and its tools count what torch asks for."""

from __future__ import annotations

import pytest
import torch

from helpers.figures.memory import over_time, peak_and_runs, reserved, segments
from helpers.labs.memory import MIB, Device, Request, as_torch_has_it, id_of, live, replay, requests_of, rules


class Counter:
    """An allocator that gives addresses and remembers what is out."""

    def __init__(self) -> None:
        self.out: set[int] = set()
        self.count = 0

    def malloc(self, nbytes: int, stream: int = 0) -> int:
        self.count += 1
        self.out.add(self.count)
        return self.count

    def free(self, address: int) -> None:
        self.out.remove(address)


def block(address: int, size: int, state: str) -> dict:
    return {
        "address": address,
        "size": size,
        "requested_size": size if state != "inactive" else 0,
        "state": state,
    }


SEGMENT = {
    "address": 1000,
    "total_size": 2 * MIB,
    "stream": 0,
    "segment_type": "small",
    "blocks": [block(1000, MIB, "active_allocated"), block(1000 + MIB, MIB, "inactive")],
}


def test_curves_are_drawn_from_the_first_request_to_the_last() -> None:
    (axes,) = over_time({"one": [0, MIB, 0], "two": [MIB, 2 * MIB]}).axes
    assert [line.get_xdata()[-1] for line in axes.lines] == [1.0, 1.0]
    assert list(axes.lines[1].get_ydata()) == [1.0, 2.0]


def test_a_block_is_a_rectangle_at_its_place() -> None:
    above, below = segments([SEGMENT], [MIB, 0], 0).axes
    assert [(patch.get_x(), patch.get_width()) for patch in above.patches] == [(0.0, 1.0), (1.0, 1.0)]
    assert len(below.lines) == 2
    assert len(segments([], [0, 0], 1).axes) == 2


def test_peaks_and_reserved_memory_are_drawn_as_given() -> None:
    (axes,) = peak_and_runs([(100, 90, 0), (50, 40, 3)], 100).axes
    assert list(axes.lines[0].get_ydata()) == [90.0, 40.0] and list(axes.lines[1].get_ydata()) == [
        100.0,
        50.0,
    ]
    (axes,) = reserved({"rising": [1, 2, 3]}, 2).axes
    assert list(axes.lines[0].get_ydata()) == [1, 2, 3]


def test_the_requests_of_a_function_are_those_of_torch() -> None:
    def run() -> torch.Tensor:
        part = torch.ones(100) * 2
        return part.repeat(3)

    found = requests_of(run)
    assert sorted(each.nbytes for each in found if each.nbytes > 0)[-3:] == [400, 400, 1200]
    assert live(found)[-1] == 1200 and max(live(found)) >= 1600
    allocator = Counter()
    assert list(replay(allocator, found)) == list(range(len(found)))
    assert not allocator.out


def test_a_memory_freed_before_it_was_asked_for_is_left_out() -> None:
    old = [torch.ones(1000)]
    assert all(each.nbytes != -4000 for each in requests_of(lambda: old.clear()))


def test_views_have_one_id() -> None:
    x = torch.zeros(4, 4)
    assert id_of(x[1:]) == id_of(x.t()) != id_of(x.clone())


def test_a_device_gives_what_it_has_and_takes_what_it_gave() -> None:
    device = Device(10 * MIB)
    first = device.malloc(6 * MIB)
    with pytest.raises(torch.OutOfMemoryError, match="4194304 of 10485760 are free"):
        device.malloc(5 * MIB)
    assert device.asked == [6 * MIB, 5 * MIB] and device.used == 6 * MIB
    with pytest.raises(ValueError, match="no segment begins"):
        device.free(first + 1)
    device.free(first)
    assert device.used == 0


def test_the_rules_are_those_of_the_installed_torch() -> None:
    sizes = rules()
    assert sizes.min_block_size < sizes.small_size < sizes.small_buffer <= sizes.min_large_alloc


def test_torch_reads_a_snapshot_of_ours() -> None:
    from torch.cuda import _memory_viz

    text = _memory_viz.segsum(as_torch_has_it([SEGMENT]))
    assert "total_reserved: 2.0MiB" in text and "total_allocated: 1.0MiB" in text
    assert Request(0, 4) == Request(0, 4)
