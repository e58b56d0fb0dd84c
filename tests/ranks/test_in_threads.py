"""Ranks that are threads of one process: gloo's rules, deadlocks known at once, races that come out the same."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import isend, recv, send

from helpers.ranks.in_threads import Deadlock, Disagreement, in_threads, note
from helpers.ranks.traffic import Traffic


def ring(x: Tensor) -> Tensor:
    """Sums x over the ranks, in place, by a ring."""
    rank, world = dist.get_rank(), dist.get_world_size()
    chunks = x.tensor_split(world)
    for step in range(2 * (world - 1)):
        out, into = chunks[(rank - step) % world], chunks[(rank - step - 1) % world]
        buffer = torch.empty_like(into)
        request = dist.isend(out, (rank + 1) % world)
        dist.recv(buffer, (rank - 1) % world)
        request.wait()
        into.copy_(buffer if step >= world - 1 else into + buffer)
    return x


@pytest.mark.parametrize("delivery", ["late", "early"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_a_ring_sums_and_its_traffic_is_counted(ranks: int, delivery: str) -> None:
    size = 2 * ranks + 1
    parts = [torch.arange(size) + 100 * rank for rank in range(ranks)]
    run = in_threads(lambda: ring(parts[dist.get_rank()].clone()), ranks=ranks, delivery=delivery)
    assert all(torch.equal(result, sum(parts)) for result in run.results)
    assert run.unwaited == []
    steps, total = 2 * (ranks - 1), 2 * (ranks - 1) * size * 8
    assert [t.messages_out for t in run.traffic] == [t.messages_in for t in run.traffic] == [steps] * ranks
    assert sum(t.bytes_out for t in run.traffic) == sum(t.bytes_in for t in run.traffic) == total


def test_the_order_of_the_ranks_is_drawn_when_wanted_and_the_same_for_one_seed() -> None:
    def logged(seed: int) -> list[Any]:
        return in_threads(lambda: ring(torch.ones(6)), ranks=3, order=random.Random(seed)).log

    assert logged(1) == logged(1)
    assert len({tuple(logged(seed)) for seed in range(8)}) > 1


def two_sends() -> None:
    send(torch.ones(1), 1 - dist.get_rank())
    recv(torch.ones(1), 1 - dist.get_rank())


def waits_for_nobody() -> None:
    if dist.get_rank() == 0:
        recv(torch.ones(1), 1)


def barrier_alone() -> None:
    if dist.get_rank() == 1:
        dist.barrier()


def asks_for_ever() -> None:
    if dist.get_rank() == 0:
        request = isend(torch.ones(1), 1)
        while not request.is_completed():
            pass


@pytest.mark.parametrize(
    ("fn", "words"),
    [
        (
            two_sends,
            ["rank 0 waits in send to rank 1, at `send(torch.ones(1)", "rank 1 waits in send to rank 0"],
        ),
        (waits_for_nobody, ["rank 0 waits in recv from rank 1", "rank 1 has returned already"]),
        (barrier_alone, ["rank 0 has returned already", "rank 1 waits in barrier, at `dist.barrier()`"]),
        (asks_for_ever, ["rank 0 waits in isend to rank 1"]),
    ],
)
def test_a_deadlock_is_told_with_who_waits_where(fn: Callable[[], None], words: list[str]) -> None:
    with pytest.raises(Deadlock) as found:
        in_threads(fn, ranks=2)
    assert all(word in str(found.value) for word in words), str(found.value)
    assert in_threads(dist.get_rank, ranks=2).results == [0, 1]


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda rank: dist.all_reduce(torch.ones(2 + rank)), "shape"),
        (lambda rank: dist.all_reduce(torch.ones(2).to([torch.float32, torch.int32][rank])), "dtype"),
        (lambda rank: dist.barrier() if rank else dist.all_reduce(torch.ones(1)), "operation"),
        (lambda rank: dist.broadcast(torch.ones(1), src=rank), "root"),
        (
            lambda rank: dist.all_reduce(torch.ones(1), [dist.ReduceOp.SUM, dist.ReduceOp.MAX][rank]),
            "reduction",
        ),
        (lambda rank: recv(torch.ones(1), 0) if rank else send(torch.ones(2), 1), "size"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_ranks_that_disagree_are_told_at_once(call: Callable[[int], None], what: str) -> None:
    with pytest.raises(Disagreement) as found:
        in_threads(lambda: call(dist.get_rank()), ranks=2)
    assert found.value.what == what


def test_what_a_rank_raises_goes_through_and_the_others_leave() -> None:
    left = []

    def fn() -> None:
        try:
            if dist.get_rank() == 1:
                raise KeyError("mine")
            dist.barrier()
        except Exception as error:
            left.append(type(error))
            raise
        finally:
            left.append(dist.get_rank())

    with pytest.raises(KeyError, match="mine") as found:
        in_threads(fn, ranks=3)
    assert found.value.rank == 1
    assert left == [KeyError, 1, 0]  # rank 2 had not begun


def test_late_delivery_shows_a_buffer_that_is_used_before_its_wait() -> None:
    def overwritten() -> Tensor:
        x = torch.ones(1)
        if dist.get_rank() == 0:
            request = isend(x, 1)
            x.fill_(7)
            request.wait()
        else:
            recv(x, 0)
        return x

    def read_too_early() -> Tensor:
        x = torch.zeros(1)
        if dist.get_rank() == 0:
            send(torch.ones(1), 1)
            return x
        request = dist.irecv(x, 0)
        early = x.clone()
        request.wait()
        return early

    assert in_threads(overwritten, ranks=2).results[1].item() == 7
    assert in_threads(read_too_early, ranks=2).results[1].item() == 0


def test_early_delivery_overwrites_a_buffer_that_is_still_in_use() -> None:
    def fn() -> float:
        if dist.get_rank() == 0:
            for value in (1.0, 2.0):
                send(torch.full((1,), value), 1)
            return 0.0
        buffer = torch.zeros(1)
        first = dist.irecv(buffer, 0)
        first.wait()
        second = dist.irecv(buffer, 0)
        dist.get_rank()
        second_is_here = second.is_completed()
        assert second_is_here in (True, False)
        value = buffer.item()
        second.wait()
        return value

    assert in_threads(fn, ranks=2, delivery="early").results[1] == 2.0


def test_a_collective_that_is_not_waited_for_leaves_its_tensor_as_it_was() -> None:
    def fn() -> float:
        x = torch.ones(1)
        request = dist.all_reduce(x, async_op=True)
        assert request is not None
        return x.item()

    run = in_threads(fn, ranks=2)
    assert run.results == [1.0, 1.0]
    assert run.unwaited == ["rank 0: all_reduce", "rank 1: all_reduce"]


def test_collectives_give_what_gloo_gives() -> None:
    def fn() -> list[Any]:
        rank, world = dist.get_rank(), dist.get_world_size()
        mine = torch.tensor([1.0, 2.0]) + 10 * rank
        total, most, mean = mine.clone(), mine.clone(), mine.clone()
        dist.all_reduce(total)
        dist.all_reduce(most, dist.ReduceOp.MAX)
        dist.all_reduce(mean, dist.ReduceOp.AVG)
        got = mine.clone()
        dist.broadcast(got, src=1)
        everyone = [torch.empty(2) for _ in range(world)]
        dist.all_gather(everyone, mine)
        joined = torch.empty(2 * world)
        dist.all_gather_into_tensor(joined, mine)
        part = torch.empty(1)
        dist.reduce_scatter(part, list((torch.arange(3.0) + rank).split(1)))
        given = torch.empty(1)
        dist.scatter(given, list(torch.arange(3.0).split(1)) if rank == 2 else None, src=2)
        swapped = torch.empty(3)
        dist.all_to_all_single(swapped, torch.arange(3.0) + 10 * rank)
        at_two = [torch.empty(2) for _ in range(world)] if rank == 2 else None
        dist.gather(mine, at_two, dst=2)
        objects: list[Any] = [None] * world
        dist.all_gather_object(objects, {"rank": rank})
        future = dist.all_reduce(ones := torch.ones(1), async_op=True).get_future()
        doubled = future.then(lambda done: 2 * done.value()[0]).wait()
        pair = dist.new_group([0, 2])
        if rank != 1:
            dist.all_reduce(ones, group=pair)
        tensors = [total, most, mean, got, *everyone, joined, part, given, swapped, doubled, ones]
        return [t.tolist() for t in [*tensors, *(at_two or [])]] + objects

    # Worked out by hand for ranks 0, 1, 2 that hold (1, 2), (11, 12), (21, 22).
    mine = [[1.0, 2.0], [11.0, 12.0], [21.0, 22.0]]
    for rank, result in enumerate(in_threads(fn, ranks=3).results):
        want = [[33.0, 36.0], [21.0, 22.0], [11.0, 12.0], mine[1], *mine, sum(mine, [])]
        want += [[3.0 * rank + 3], [float(rank)], [float(rank), rank + 10.0, rank + 20.0], [6.0]]
        want += [[3.0] if rank == 1 else [6.0], *(mine if rank == 2 else [])]
        assert result == [*want, {"rank": 0}, {"rank": 1}, {"rank": 2}]


def test_a_collective_on_a_column_edits_its_neighbours_in_memory_as_gloo_does() -> None:
    def fn() -> list[float]:
        z = torch.arange(8.0).view(4, 2) + 100 * dist.get_rank()
        dist.all_reduce(z[:, 0])
        return z.flatten().tolist()

    # Seen over gloo, torch 2.15: the fact column-is-reduced-wrongly of lab 08 holds torch to it.
    assert in_threads(fn, ranks=2).results == [
        [100.0, 102.0, 104.0, 106.0, 4.0, 5.0, 6.0, 7.0],
        [100.0, 102.0, 104.0, 106.0, 104.0, 105.0, 106.0, 107.0],
    ]


def test_batches_any_source_tags_and_gloos_errors() -> None:
    def fn() -> list[Any]:
        rank, world = dist.get_rank(), dist.get_world_size()
        got = torch.empty(1)
        operations = [
            dist.P2POp(dist.isend, torch.full((1,), float(rank)), (rank + 1) % world),
            dist.P2POp(dist.irecv, got, (rank - 1) % world),
        ]
        for request in dist.batch_isend_irecv(operations):
            request.wait()
        messages: list[Any] = [got.item()]
        with pytest.raises(RuntimeError, match="contiguous"):
            dist.isend(torch.ones(4)[::2], (rank + 1) % world)
        with pytest.raises(ValueError):
            dist.send(torch.ones(1), rank)
        if rank == 0:
            sources = [dist.recv(got), dist.recv(got)]
            messages.append(sorted(sources))
            b, a = torch.empty(1), torch.empty(1)
            recv(b, 1, tag=2)
            recv(a, 1, tag=1)
            messages.append((a.item(), b.item()))
        else:
            send(torch.ones(1), 0)
            if rank == 1:
                first = isend(torch.full((1,), 1.0), 0, tag=1)
                second = isend(torch.full((1,), 2.0), 0, tag=2)
                first.wait()
                second.wait()
        return messages

    assert in_threads(fn, ranks=3).results == [[2.0, [1, 2], (1.0, 2.0)], [0.0], [1.0]]


def test_each_rank_has_its_own_generators_and_variables_and_the_callers_are_untouched() -> None:
    def fn() -> tuple[Any, ...]:
        first = torch.rand(1).item(), np.random.rand(), random.random()
        dist.barrier()
        return *first, torch.rand(1).item(), os.environ["RANK"], os.environ["WORLD_SIZE"]

    torch.manual_seed(3)
    before = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()
    one, other = in_threads(fn, ranks=2).results
    assert one[:4] == other[:4] and one[0] != one[3]
    assert one[4:] == ("0", "2") and other[4:] == ("1", "2")
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before[1:]
    assert "RANK" not in os.environ and not dist.is_initialized()


def test_gradients_hooks_and_notes_come_into_the_log_in_order() -> None:
    def summed(p: Tensor) -> None:
        note("hook")
        dist.all_reduce(p.grad)

    def fn() -> None:
        x = torch.ones(2, requires_grad=True)
        x.register_post_accumulate_grad_hook(summed)
        (x * (dist.get_rank() + 1)).sum().backward()
        assert x.grad is not None and x.grad.tolist() == [3.0, 3.0]

    run = in_threads(fn, ranks=2)
    assert [(e.rank, e.kind) for e in run.log] == [
        (0, "note"), (0, "all_reduce"), (1, "note"), (1, "all_reduce"), (1, "waited"), (0, "waited"),
    ]  # fmt: skip
    assert run.traffic[0] == Traffic(0, 0, 0, 0, ("all_reduce",))


def test_a_run_inside_a_run_and_an_unknown_delivery_are_refused() -> None:
    with pytest.raises(RuntimeError, match="rank of another run"):
        in_threads(lambda: in_threads(dist.get_rank, ranks=2), ranks=2)
    with pytest.raises(ValueError, match="'late' or 'early'"):
        in_threads(dist.get_rank, ranks=2, delivery="soon")


def test_the_functional_all_reduce() -> None:
    import torch.distributed._functional_collectives as functional

    def body() -> torch.Tensor:
        return functional.all_reduce(torch.ones(2) + dist.get_rank(), "sum", dist.group.WORLD) + 0

    for _ in range(2):  # and the next run has groups of its own
        assert [x.tolist() for x in in_threads(body, ranks=3).results] == [[6.0, 6.0]] * 3
