"""Lab 08's figures of cost: lines where the model has them, points where they were measured, and who is the fastest."""

from __future__ import annotations

from functools import partial

import pytest
import torch
import torch.distributed as dist

from helpers.figures.allreduce import cost_curves, cost_curves_alt, fastest, size_in_words
from helpers.figures.allreduce_ports import busy_share, ports, ports_alt
from helpers.figures.picture import png
from helpers.labs.allreduce.crossover.exercise import meeting
from helpers.labs.allreduce.fit_alpha_beta.least_squares import solved, weighted
from helpers.labs.allreduce.shared.cost_model import seconds
from helpers.labs.allreduce.shown.link_times import kept_times
from helpers.labs.allreduce.shown.port_times import transfers

LINK = (1e-3, 1e-8)


def costs(world: int) -> dict:
    return {
        name: partial(lambda name, nbytes: seconds(name, world, nbytes, *LINK), name)
        for name in ("naive", "tree", "ring")
    }


def test_a_line_is_the_cost_and_a_point_is_what_was_measured() -> None:
    rows = [("ring", 8, 10**6, 0.04), ("naive", 4, 10**5, 0.02)]
    figure = cost_curves(costs(8), "title", measured=rows, fitted=(4,))
    lines = figure.axes[0].lines
    grid = lines[2].get_xdata()
    assert lines[2].get_ydata()[60] == pytest.approx(seconds("ring", 8, grid[60], *LINK))
    points = [(line.get_xdata()[0], line.get_ydata()[0], line.get_markerfacecolor()) for line in lines[3:]]
    assert points[0] == (10**6, 0.04, "white")
    assert points[1][:2] == (10**5, 0.02) and points[1][2] != "white"
    assert png(figure).startswith(b"\x89PNG")


def test_the_strip_changes_where_the_lines_cross() -> None:
    grid = [1e3 * 1.02**step for step in range(600)]
    parts = fastest(costs(8), grid)
    assert [name for name, *_ in parts] == ["tree", "ring"]
    assert parts[0][2] <= meeting(8, (*LINK, 0.0)) <= parts[0][2] * 1.02


def test_the_words_say_the_order() -> None:
    assert cost_curves_alt(costs(8), "8 ranks").endswith("the fastest is: tree, then ring.")
    assert cost_curves_alt(costs(2), "2 ranks").endswith("the fastest is: ring.")


@pytest.mark.parametrize(
    ("nbytes", "description"), [(1, "1 B"), (4096, "4.1 KB"), (2.5e6, "2.5 MB"), (1e9, "1 GB")]
)
def test_sizes_in_words(nbytes: float, description: str) -> None:
    assert size_in_words(nbytes) == description


def test_the_kept_times_of_two_and_four_ranks_predict_eight_within_a_fifth() -> None:
    rows = [row for row in kept_times() if row[0] in ("naive", "ring")]
    assert {row[1] for row in rows} == {2, 4, 8}
    pair = solved([row for row in rows if row[1] < 8], weighted(1.0))
    held_out = [row for row in rows if row[1] == 8 and row[2] >= 1 << 20]
    assert len(held_out) >= 6
    for name, world, nbytes, taken in held_out:
        assert seconds(name, world, nbytes, *pair) == pytest.approx(taken, rel=0.2)


def naive(x: torch.Tensor, rank: int, world: int) -> None:
    received = [torch.empty_like(x) for _ in range(world)]
    if rank:
        dist.send(x, 0)
        dist.recv(x, 0)
        return
    for source in range(1, world):
        dist.recv(received[source], source)
    x.copy_(sum(received[1:], start=x))
    for request in [dist.isend(x, target) for target in range(1, world)]:
        request.wait()


def ring(x: torch.Tensor, rank: int, world: int) -> None:
    chunks, right, left = x.tensor_split(world), (rank + 1) % world, (rank - 1) % world
    for step in range(2 * (world - 1)):
        adds = step < world - 1
        mine = chunks[(rank - step - 1 + (not adds) * world) % world]
        incoming = torch.empty_like(mine)
        requests = [
            dist.P2POp(dist.isend, chunks[(rank - step) % world].clone(), right),
            dist.P2POp(dist.irecv, incoming, left),
        ]
        for request in dist.batch_isend_irecv(requests):
            request.wait()
        mine.copy_(mine + incoming if adds else incoming)


@pytest.mark.parametrize("world", [2, 3, 5])
@pytest.mark.parametrize("allreduce", [naive, ring])
def test_the_ports_of_a_run_are_busy_as_long_as_the_model_says(allreduce, world: int) -> None:
    nbytes = 4 * 30_000
    run = transfers(allreduce, world, nbytes, *LINK)
    assert max(transfer.end for transfer in run) == pytest.approx(
        seconds(allreduce.__name__, world, nbytes, *LINK)
    )
    assert busy_share(run, world) == pytest.approx(1.0 if allreduce is ring else 1 / world)


def test_no_port_has_two_messages_at_a_time() -> None:
    run = transfers(naive, 4, 4000, *LINK)
    for side in ("sender", "receiver"):
        for rank in range(4):
            own = sorted((one.start, one.end) for one in run if getattr(one, side) == rank)
            assert all(end <= start for (_, end), (start, _) in zip(own, own[1:], strict=False))


def test_each_message_has_a_bar_at_both_ends() -> None:
    runs = {"naive": transfers(naive, 4, 4000, *LINK), "ring": transfers(ring, 4, 4000, *LINK)}
    figure = ports(runs, 4, "title")
    assert [len(axes.patches) for axes in figure.axes] == [2 * 6, 2 * 24]
    assert "naive takes 6.24 ms" in ports_alt(runs, 4)


def test_one_rank_alone_sends_nothing() -> None:
    assert transfers(ring, 1, 4000, *LINK) == []
    ports({"ring": []}, 1, "title")
