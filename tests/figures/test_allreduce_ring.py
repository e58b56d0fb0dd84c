"""The stepper of lab 08: what ranks sent is laid out in rounds, and drawn."""

from __future__ import annotations

import pytest

from helpers.figures.allreduce_ring import ring_step, ring_step_alt
from helpers.figures.picture import png
from helpers.labs.allreduce.shown.steps import PLACES, Moment, Watched, decoded, moments


def ring(world: int, way: int = 1) -> list[Moment]:
    """The rounds of a ring that goes up (1) or down (-1), told as its ranks would tell them."""
    x = [[chunk * PLACES + 16**rank for chunk in range(1, world + 1)] for rank in range(world)]
    sent: list[list[tuple[int, int]]] = [[] for _ in range(world)]
    for step in range(2 * (world - 1)):
        going = [(rank - way * step) % world for rank in range(world)]
        for rank in range(world):
            sent[rank].append(((rank + way) % world, x[rank][going[rank]]))
        for rank in range(world):
            before = (rank - way) % world
            place, code = going[before], sent[before][step][1]
            x[rank][place] = code + (x[rank][place] if step < world - 1 else 0)
    return moments([Watched(tuple(sent[rank]), tuple(x[rank])) for rank in range(world)])


@pytest.mark.parametrize("way", [1, -1])
@pytest.mark.parametrize("world", [2, 3, 5])
def test_a_run_is_laid_out_in_rounds(world, way):
    steps, everybody = ring(world, way), tuple(range(world))
    assert len(steps) == 2 * world - 1
    assert steps[0].held == tuple(((rank,),) * world for rank in range(world))
    assert [step.added for step in steps[1:]] == [True] * (world - 1) + [False] * (world - 1)
    assert [chunks.count(everybody) for chunks in steps[world - 1].held] == [1] * world
    assert steps[-1].held == ((everybody,) * world,) * world
    assert {(a, b) for a, b, _ in steps[1].arrows} == {(rank, (rank + way) % world) for rank in range(world)}


def test_a_part_that_is_in_a_sum_twice_is_seen():
    assert decoded(2 * 3 * PLACES + 2 * 16**1) == (2, (1, 1))


def test_words_and_picture_tell_the_same():
    steps = ring(3)
    shown = [text.get_text() for text in ring_step(steps, 2).axes[0].texts]
    assert shown.count("18") == 1 and "rank 2" in shown  # 3 + 6 + 9, complete on one rank
    assert "added" in ring_step_alt(steps, 2) and "in the place" in ring_step_alt(steps, 3)
    assert ring_step_alt(steps, 0).startswith("A grid of chunks by ranks. Before")


def test_the_same_run_gives_the_same_bytes():
    assert png(ring_step(ring(3, -1), 1)) == png(ring_step(ring(3, -1), 1))
