"""The clockwork of the slow link, without any clock: ports, what collectives cost, the board of starting times."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

from helpers.ranks.ports import Board, Port, collective_seconds


@given(some.lists(some.tuples(some.integers(0, 40), some.sampled_from([0, 1, 2, 5])), max_size=25))
def test_a_transfer_takes_the_first_gap(transfers):
    port, booked = Port(), []
    for ready, seconds in transfers:
        begin = port.first_gap(ready, seconds)
        assert port.book(begin, seconds) == begin + seconds
        if seconds:  # by trying every moment
            moment = ready
            while any(start < moment + seconds and moment < end for start, end in booked):
                moment += 1
            assert begin == moment
            booked.append((begin, begin + seconds))
    assert all(one[1] < two[0] for one, two in zip(port.busy, port.busy[1:], strict=False))


@pytest.mark.parametrize("world", [1, 2, 3, 8])
def test_what_collectives_cost(world):
    def cost(name: str, *sizes: int) -> float:
        return collective_seconds(name, list(sizes), world, alpha=1.0, beta=0.5)

    ring_step = 1 + 0.5 * 24 / world
    assert cost("all_reduce", 24) == pytest.approx(2 * (world - 1) * ring_step)
    for half in (
        "all_gather",
        "all_gather_into_tensor",
        "reduce_scatter",
        "reduce_scatter_tensor",
        "all_to_all",
    ):
        assert cost(half, 24, 24 // world) == pytest.approx((world - 1) * ring_step)
    for rooted in ("gather", "scatter"):
        assert cost(rooted, 24 * world, 24) == cost(rooted, 0, 24) == (world - 1) * 13
    levels = math.ceil(math.log2(world))
    assert cost("broadcast", 24) == cost("reduce", 24) == levels * 13
    assert cost("barrier") == levels


def test_the_board_knows_what_was_written_and_nothing_else(tmp_path):
    Board.make(tmp_path / "board")
    here, there = Board(tmp_path / "board"), Board(tmp_path / "board")
    for number in range(200):
        here.write(("g", 0, 1, 0, number), float(number))
    assert [there.read(("g", 0, 1, 0, number)) for number in range(200)] == list(map(float, range(200)))
    assert there.read(("g", 0, 1, 0, 200)) is None
