"""Messages, bytes and collectives of a rank, counted where torch.distributed hands them to a process group."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from torch.distributed import isend, recv, send  # under names of our own: they must be counted, too

from helpers import ranks
from helpers.ranks.group_calls import COLLECTIVES, POINT_TO_POINT
from helpers.ranks.in_threads import in_threads
from helpers.ranks.traffic import CollectiveForbidden, Traffic, counted


def naive(x: torch.Tensor) -> torch.Tensor:
    """Rank 0 collects, adds and hands out."""
    rank, world, got = dist.get_rank(), dist.get_world_size(), torch.empty_like(x)
    for other in range(1, world):
        if rank == 0:
            recv(got, other)
            x += got
        elif rank == other:
            send(x, 0)
    for other in range(1, world):
        if rank == 0:
            send(x, other)
        elif rank == other:
            recv(x, 0)
    return x


def ring(x: torch.Tensor) -> torch.Tensor:
    """Each chunk goes round once to be added up, and once more to be copied."""
    rank, world = dist.get_rank(), dist.get_world_size()
    chunks, got = x.tensor_split(world), torch.empty(len(x))
    for step in range(2 * (world - 1)):
        mine, theirs = chunks[(rank - step) % world], chunks[(rank - step - 1) % world]
        into = got[: len(theirs)]
        pair = [
            dist.P2POp(dist.isend, mine, (rank + 1) % world),
            dist.P2POp(dist.irecv, into, (rank - 1) % world),
        ]
        for request in dist.batch_isend_irecv(pair):
            request.wait()
        theirs.copy_(theirs + into if step < world - 1 else into)
    return x


def four_numbers(algorithm) -> torch.Tensor:
    return algorithm(torch.arange(4.0) + dist.get_rank())


def test_naive_and_ring_on_four_ranks_and_four_numbers():
    naive_run = ranks.run(four_numbers, naive, ranks=4, traffic=True, forbid_collectives=True)
    ring_run = ranks.run(four_numbers, ring, ranks=4, traffic=True, forbid_collectives=True)
    for result in (*naive_run, *ring_run):
        assert result.tolist() == [6.0, 10.0, 14.0, 18.0]
    numbers = [(one.bytes_in // 4, one.bytes_out // 4) for one in naive_run.traffic]
    assert numbers == [(12, 12), (4, 4), (4, 4), (4, 4)]
    assert [(one.messages_in, one.messages_out) for one in naive_run.traffic] == [
        (3, 3),
        (1, 1),
        (1, 1),
        (1, 1),
    ]
    assert ring_run.traffic == [Traffic(6, 24, 6, 24, ())] * 4


def every_kind_of_message() -> None:
    rank, x, group = dist.get_rank(), torch.zeros(3, dtype=torch.float64), dist.new_group([0, 1])
    other = 1 - rank
    if rank == 0:
        send(x, 1)
        isend(x, 1, tag=7).wait()
        dist.send(x[:0], 1)
        dist.send(x, 1)
        dist.send(x, group=group, group_dst=1)
        dist.send(x.to(torch.complex64), 1)
    else:
        recv(x, 0)
        dist.irecv(x, 0, tag=7).wait()
        dist.recv(x[:0], 0)
        assert dist.recv(x) == 0  # from any rank
        dist.recv(x, group=group, group_src=0)
        dist.recv(x.to(torch.complex64), 0)
    for request in dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, x, other), dist.P2POp(dist.irecv, torch.empty_like(x), other)]
    ):
        request.wait()


def test_every_kind_of_message_is_counted_once():
    out = Traffic(7, 6 * 24, 1, 24, ())
    back = Traffic(1, 24, 7, 6 * 24, ())
    assert ranks.run(every_kind_of_message, ranks=2, traffic=True).traffic == [out, back]


def a_refused_message() -> None:
    with pytest.raises((ValueError, RuntimeError), match="contiguous"):
        dist.isend(torch.zeros(4, 4)[:, 0], 1 - dist.get_rank())


def test_a_message_that_gloo_refuses_is_none():
    assert ranks.run(a_refused_message, ranks=2, traffic=True).traffic == [Traffic(0, 0, 0, 0, ())] * 2


def many_collectives() -> None:
    import torch.distributed._functional_collectives as functional

    x, world = torch.ones(4), dist.get_world_size()
    root = dist.get_rank() == 0
    dist.all_reduce(x)
    dist.all_reduce(x, async_op=True).wait()
    dist.broadcast(x, 0)
    dist.reduce(x, 0)
    dist.all_gather([torch.empty(4) for _ in range(world)], x)
    dist.all_gather_into_tensor(torch.empty(4 * world), x)
    dist.reduce_scatter_tensor(torch.empty(2), x)
    dist.gather(x, [torch.empty(4) for _ in range(world)] if root else None)
    dist.scatter(x, [torch.empty(4) for _ in range(world)] if root else None)
    dist.all_to_all_single(torch.empty(4), x)
    dist.barrier()
    dist.all_reduce(x, group=dist.new_group([0, 1]))
    functional.wait_tensor(functional.all_reduce(x, "sum", dist.group.WORLD))


def test_collectives_are_counted_under_the_names_that_people_call():
    names = (
        *("all_reduce", "all_reduce", "broadcast", "reduce", "all_gather", "all_gather_into_tensor"),
        *("reduce_scatter_tensor", "gather", "scatter", "all_to_all_single", "barrier"),
        *("all_reduce", "all_reduce"),
    )
    run = ranks.run(many_collectives, ranks=2, traffic=True)
    assert run.traffic == [Traffic(0, 0, 0, 0, names)] * 2


def forbidden_ones() -> list[str]:
    import torch.distributed._functional_collectives as functional
    from torch.distributed import all_reduce

    x, messages = torch.ones(2), []
    for call in (
        lambda: all_reduce(x),
        lambda: dist.all_gather_object([None, None], "x"),
        lambda: functional.all_reduce(x, "sum", dist.group.WORLD),
        lambda: dist.barrier(),
    ):
        try:
            call()
        except RuntimeError as error:
            messages.append(str(error))
    return messages


def test_a_forbidden_collective_is_named_at_once_and_messages_still_go():
    for description in ranks.run(forbidden_ones, ranks=2, forbid_collectives=True):
        assert len(description) == 4
        assert (
            description[0].startswith("dist.all_reduce is a collective.")
            and "batch_isend_irecv" in description[0]
        )
        assert description[2] == description[0] and "dist.barrier" in description[3]


def test_a_forbidden_collective_ends_the_run_with_its_line():
    with pytest.raises(ranks.RankError, match=r"(?s)dist\.all_reduce is a collective.*dist\.all_reduce\(x\)"):
        ranks.run(lambda x: dist.all_reduce(x), torch.ones(2), ranks=2, forbid_collectives=True)


def test_threads_and_processes_count_alike():
    assert in_threads(four_numbers, ring, ranks=3).traffic == (
        ranks.run(four_numbers, ring, ranks=3, traffic=True).traffic
    )


def test_everything_is_put_back():
    def methods() -> dict:
        kept = {name: vars(dist.ProcessGroup).get(name) for name in {**POINT_TO_POINT, **COLLECTIVES}}
        return kept | {"functional": torch.ops._c10d_functional.all_reduce}

    before = methods()
    with counted() as counter, pytest.raises(ZeroDivisionError), counted(forbid_collectives=True):
        assert methods()["send"] is not before["send"]
        raise ZeroDivisionError
    assert methods() == before
    assert counter.traffic() == Traffic(0, 0, 0, 0, ())


def test_no_collective_of_torch_is_left_out():
    """Every method of process groups that takes tensors is known: a new torch may bring new ones."""
    others = {"split_group", "merge_remote_group", "new_window", "reconfigure", "get_reconfigure_handle"}
    tensors = [
        name
        for name in dir(dist.ProcessGroup)
        if not name.startswith("__") and "Tensor" in (getattr(dist.ProcessGroup, name).__doc__ or "")
    ]
    assert set(tensors) - others <= {*POINT_TO_POINT, *COLLECTIVES}
    assert len(tensors) > 10


def test_what_is_said_of_a_forbidden_one():
    assert "dist.broadcast is a collective" in str(CollectiveForbidden("broadcast"))
