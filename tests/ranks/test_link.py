"""The slow link: ports that are busy for alpha + bytes * beta, by a clock that the tests hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.distributed as dist

from helpers import ranks
from helpers.ranks.link import Link, Request, Wire
from helpers.ranks.ports import Board
from tests.ranks.test_traffic import naive, ring

LINK = Link(alpha=1.0, beta=0.5)


class Clock:
    """Time that passes when somebody sleeps, or when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds


class Work:
    """A request of gloo that is done."""

    def __init__(self, source: int = 0) -> None:
        self.source, self.waits = source, 0

    def wait(self) -> bool:
        self.waits += 1
        return True

    def is_completed(self) -> bool:
        return True

    def _source_rank(self) -> int:
        return self.source

    def get_future(self) -> torch.futures.Future:
        future = torch.futures.Future()
        future.set_result(["value"])
        return future


class Machines:
    """Some ranks' ends of one link, in one process; each rank has a clock of its own, set by hand."""

    def __init__(self, board: Board, world: int, link: Link = LINK) -> None:
        self.clocks = [Clock() for _ in range(world)]
        self.wires = [Wire(link, board, clock, clock.sleep) for clock in self.clocks]

    def send(self, rank: int, to: int, nbytes: int, tag: int = 0) -> Request:
        return self.wires[rank].send(("g", rank, to, tag), nbytes, Work)

    def receive(self, rank: int, source: int, nbytes: int, tag: int = 0) -> Request:
        return self.wires[rank].receive(("g", source, rank, tag), nbytes, Work)

    def together(self, rank: int, name: str, nbytes: int) -> Request:
        return self.wires[rank].collective(("g", name), rank, len(self.wires), [nbytes], Work)


@pytest.fixture
def board(tmp_path) -> Board:
    Board.make(tmp_path / "board")
    return Board(tmp_path / "board")


@pytest.fixture
def machines(board) -> Callable[..., Machines]:
    return lambda world, **kwargs: Machines(board, world, **kwargs)


def done(request: Request, clock: Clock) -> float:
    assert request.wait()
    return clock.now


def test_a_message_keeps_both_ports_busy_for_its_time(machines):
    both = machines(2)
    sending, receiving = both.send(0, 1, 4), both.receive(1, 0, 4)
    assert done(sending, both.clocks[0]) == done(receiving, both.clocks[1]) == 1.0 + 4 * 0.5
    assert done(sending, both.clocks[0]) == 3.0  # a second wait costs nothing


def test_a_port_sends_one_message_at_a_time_and_receives_meanwhile(machines):
    three = machines(3)
    out = [three.send(0, 1, 2), three.send(0, 2, 2)]
    back = three.send(1, 0, 2)
    arrived = three.receive(0, 1, 2)
    assert [done(request, three.clocks[0]) for request in (arrived, *out)] == [2.0, 2.0, 4.0]
    assert done(back, three.clocks[1]) == 2.0
    assert done(three.receive(1, 0, 2), three.clocks[1]) == 2.0
    assert done(three.receive(2, 0, 2), three.clocks[2]) == 4.0  # it left the sender after the other


def test_a_port_receives_one_message_at_a_time(machines):
    four = machines(4)
    for rank in (1, 2, 3):
        assert done(four.send(rank, 0, 2), four.clocks[rank]) == 2.0
    assert [done(four.receive(0, rank, 2), four.clocks[0]) for rank in (3, 1, 2)] == [2.0, 4.0, 6.0]


def test_work_done_while_a_message_travels_costs_nothing_more(machines):
    both = machines(2)
    sending, receiving = both.send(0, 1, 4), both.receive(1, 0, 4)
    both.clocks[0].now = 2.0  # computed
    both.clocks[1].now = 10.0
    assert not sending.is_completed() and receiving.is_completed()
    assert done(sending, both.clocks[0]) == 3.0
    assert done(receiving, both.clocks[1]) == 10.0
    both.send(0, 1, 4)
    assert done(both.receive(1, 0, 4), both.clocks[1]) == 10.0  # it came at 6, while the rank computed


def test_a_late_sender_is_waited_for(machines):
    both = machines(2)
    receiving = both.receive(1, 0, 4)
    both.clocks[0].now = 5.0
    both.send(0, 1, 4)
    assert done(receiving, both.clocks[1]) == 8.0


def test_messages_of_several_tags_and_of_any_sender_are_told_apart(machines):
    three = machines(3)
    three.clocks[0].now = 4.0
    three.send(0, 1, 0, tag=5)
    three.clocks[0].now = 20.0
    three.send(0, 1, 0, tag=6)
    assert done(three.receive(1, 0, 0, tag=5), three.clocks[1]) == 5.0
    assert done(three.receive(1, 0, 0, tag=6), three.clocks[1]) == 21.0
    three.clocks[2].now = 30.0
    three.send(2, 1, 0)
    three.send(2, 1, 0)
    for arrival in (31.0, 32.0):
        some_request = three.wires[1].receive_any(lambda peer: ("g", peer, 1, 0), 0, lambda: Work(source=2))
        assert done(some_request, three.clocks[1]) == arrival


def test_a_refused_message_leaves_the_port_free(machines):
    both = machines(2)

    def refuse() -> None:
        raise ValueError("not contiguous")

    with pytest.raises(ValueError):
        both.wires[0].send(("g", 0, 1, 0), 100, refuse)
    both.send(0, 1, 2)
    assert done(both.receive(1, 0, 2), both.clocks[1]) == 2.0


def test_a_message_whose_start_was_lost_counts_from_its_arrival(machines, board, monkeypatch):
    both = machines(2)
    both.send(0, 1, 2)
    monkeypatch.setattr(board, "read", lambda key: None)
    both.clocks[1].now = 7.0
    assert done(both.receive(1, 0, 2), both.clocks[1]) == 9.0


def test_a_collective_starts_with_the_last_rank_and_fills_the_ports(machines):
    both = machines(2)
    both.clocks[1].now = 5.0
    requests = [both.together(rank, "all_reduce", 8) for rank in (0, 1)]
    seconds = 2 * 1 * (1.0 + 8 * 0.5 / 2)
    assert [done(request, clock) for request, clock in zip(requests, both.clocks, strict=True)] == [
        5 + seconds
    ] * 2
    assert done(both.send(0, 1, 0), both.clocks[0]) == 5 + seconds + 1


def test_two_collectives_at_once_take_turns(machines):
    both = machines(2)
    first, second = ([both.together(rank, "all_reduce", 8) for rank in (0, 1)] for _ in range(2))
    both.clocks[0].now = 3.0  # computing, as a backward pass goes on while its first gradients travel
    assert [done(first[0], both.clocks[0]), done(second[0], both.clocks[0])] == [6.0, 12.0]
    assert done(second[1], both.clocks[1]) == 6.0  # who waits in another order waits no longer in all
    assert done(first[1], both.clocks[1]) == 12.0


def test_a_future_is_done_when_the_port_is(machines):
    both = machines(2)
    future = both.send(0, 1, 4).get_future()
    assert future.wait() == ["value"] and both.clocks[0].now == 3.0

    class Broken(Work):
        def wait(self) -> bool:
            raise RuntimeError("Connection closed by peer")

    broken = both.wires[0].send(("g", 0, 1, 0), 4, Broken)
    with pytest.raises(RuntimeError, match="closed"):
        broken.get_future().wait()


def test_times_are_not_negative():
    assert Link(alpha=0, beta=0).seconds(100) == 0
    with pytest.raises(ValueError, match="not negative"):
        Link(alpha=-1.0, beta=0)


def over_the_link() -> list[Any]:
    """Everything that a learner does with requests, on gloo's real ones."""
    rank, world = dist.get_rank(), dist.get_world_size()
    x = torch.full((10,), float(rank + 1))
    sums = [naive(x.clone())[0].item(), ring(x.clone())[0].item()]
    request = dist.all_reduce(reduced := x.clone(), async_op=True)
    assert isinstance(request, Request)
    assert request.wait() and request.is_completed()
    future = dist.all_reduce(x.clone(), async_op=True).get_future()
    mean = future.then(lambda done: done.value()[0] / world).wait()
    dist.broadcast(x, 1)
    objects: list[Any] = [None] * world
    dist.all_gather_object(objects, rank)
    dist.barrier()
    dist.monitored_barrier()
    half = dist.new_group([0, 1])
    if rank < 2:
        dist.all_reduce(x, group=half)
        other = torch.empty_like(x)
        request = dist.isend(x, 1 - rank, group=half)
        assert dist.recv(other, group=half) == 1 - rank  # from any rank
        request.wait()
    dist.all_reduce(last := torch.ones(1))
    return [*sums, reduced[0].item(), mean[0].item(), x[0].item(), objects, last.item()]


def test_results_over_the_link_are_right():
    results = ranks.run(over_the_link, ranks=3, link=Link(alpha=1e-4, beta=1e-9), timeout=15)
    assert results == [[6.0, 6.0, 6.0, 2.0, two, [0, 1, 2], 3.0] for two in (4.0, 4.0, 2.0)]


def seconds_of(algorithm: Callable[[torch.Tensor], Any], numbers: int) -> float:
    import time

    x = torch.ones(numbers)
    dist.barrier()
    start = time.perf_counter()
    algorithm(x)
    return time.perf_counter() - start


def naive_and_ring(numbers: int) -> tuple[float, float]:
    return seconds_of(naive, numbers), seconds_of(ring, numbers)


@pytest.mark.slow
def test_the_ring_wins_on_the_link():
    """The one look at a real clock: by the model the ratio is 4 here; at 1.5 something is wrong."""
    link = Link(alpha=1e-3, beta=5e-8)
    times = ranks.run(naive_and_ring, 1_000_000, ranks=4, link=link)
    assert max(naive for naive, _ in times) / max(ring for _, ring in times) >= 1.5


def gradients_of_ddp() -> torch.Tensor:
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
    from torch.nn.parallel import DistributedDataParallel

    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(3, 1))
    model.register_comm_hook(None, allreduce_hook)
    model(torch.full((1, 3), float(dist.get_rank()))).sum().backward()
    return model.module.weight.grad


@pytest.mark.slow
def test_ddp_with_a_communication_hook_goes_over_the_link():
    results = ranks.run(gradients_of_ddp, ranks=2, link=Link(alpha=1e-3, beta=1e-8), traffic=True)
    assert [result.tolist() for result in results] == [[[0.5, 0.5, 0.5]]] * 2
    assert all("all_reduce" in one.collectives for one in results.traffic)
