"""`ranks.run`: what goes to the ranks, what comes back, what they print, and calls that make no sense."""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy
import psutil
import pytest
import torch
import torch.distributed as dist

from helpers import ranks
from helpers.ranks.wires import KEPT


def rank() -> int:
    return dist.get_rank()


def total_of_ones() -> torch.Tensor:
    total = torch.full((3,), float(rank() + 1))
    dist.all_reduce(total)
    return total


@pytest.mark.parametrize("count", [1, 2, 4])
def test_results_come_by_rank(count: int) -> None:
    results = ranks.run(lambda: (rank(), dist.get_world_size(), dist.get_backend(), total_of_ones().tolist()), ranks=count)  # fmt: skip
    assert isinstance(results, list) and results.traffic is None
    assert results == [(r, count, "gloo", [count * (count + 1) / 2] * 3) for r in range(count)]


def test_arguments_are_copied_and_each_rank_has_its_own() -> None:
    given = torch.zeros(3)

    def filled(into: torch.Tensor, more: list[int]) -> tuple[torch.Tensor, list[int]]:
        more.append(rank())
        return into.add_(rank() + 1), more

    kept: list[int] = []
    (first, one), (second, two) = ranks.run(filled, given, kept, ranks=2)
    assert first.tolist() == [1, 1, 1] and second.tolist() == [2, 2, 2] and given.tolist() == [0, 0, 0]
    assert (one, two, kept) == ([0], [1], [])


def test_a_tensor_comes_back_without_its_graph() -> None:
    weight = torch.ones(2, requires_grad=True)
    (found,) = ranks.run(lambda: weight * 3, ranks=1)
    assert found.tolist() == [3, 3] and found.requires_grad and found.is_leaf
    found.sum().backward()
    assert weight.grad is None


def settings() -> tuple[Any, ...]:
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "SET_HERE", "TORCH_DISTRIBUTED_DEBUG")
    return *map(os.environ.get, names), os.getcwd(), dist.get_debug_level().name, list(sys.path)


def test_each_call_takes_the_environment_of_now(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ranks.run(rank, ranks=1)  # the fork server keeps the environment of its start
    monkeypatch.setenv("SET_HERE", "yes")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "own"))
    found = ranks.run(settings, ranks=2, detail=True)
    assert found[1][:6] == ("1", "1", "2", "2", "yes", "DETAIL")
    assert found[1][6:] == (str(tmp_path), "DETAIL", sys.path)
    monkeypatch.delenv("SET_HERE")
    assert ranks.run(settings, ranks=2)[0][4:6] == (None, None)
    assert "TORCH_DISTRIBUTED_DEBUG" not in os.environ


def draws() -> tuple[float, float, float]:
    return random.random(), float(numpy.random.rand()), float(torch.rand(()))


def test_every_rank_starts_with_the_generators_of_here_and_leaves_them() -> None:
    torch.manual_seed(3)
    random.seed(3)
    numpy.random.seed(3)
    first, second = ranks.run(draws, ranks=2)
    assert first == second == draws()


def test_ranks_share_the_cores() -> None:
    assert ranks.run(torch.get_num_threads, ranks=2) == [max(1, torch.get_num_threads() // 2)] * 2


def prints() -> None:
    dist.barrier()
    if rank() == 0:  # comes last, and is shown first
        dist.recv(torch.ones(1), 1)
    print("one", end="")
    print(" line\nanother")
    print("to stderr", file=sys.stderr)
    warnings.warn("watch out", stacklevel=1)
    os.system("echo of a program")
    print("no end", end="")
    if rank() == 1:
        dist.send(torch.ones(1), 0)


def test_prints_come_in_the_order_of_ranks(capsys: pytest.CaptureFixture) -> None:
    ranks.run(prints, ranks=2)
    out, err = capsys.readouterr()
    lines = [line for line in out.splitlines() if "of a program" not in line]
    assert lines == [f"[rank {r}] {text}" for r in (0, 1) for text in ("one line", "another", "no end")]
    assert out.count("] of a program\n") == 2
    assert [line for line in err.splitlines() if "to stderr" in line] == ["[rank 0] to stderr", "[rank 1] to stderr"]  # fmt: skip
    assert err.count("UserWarning: watch out") == 2


def test_much_output_is_cut_and_that_is_said(capsys: pytest.CaptureFixture) -> None:
    def chatters() -> int:
        for number in range(100_000):
            print("line", number)
        os.write(1, b"x" * 1_000_000)
        return rank()

    assert ranks.run(chatters, ranks=2) == [0, 1]
    out, err = capsys.readouterr()
    assert 2 * KEPT < len(out) < 8 * KEPT and "[rank 1] line 0\n" in out
    assert err.count("it is left out") >= 2


def test_what_is_written_outside_of_ascii_arrives(capsys: pytest.CaptureFixture) -> None:
    text = "äöü → ∑ 日本 " * 500
    ranks.run(lambda: print(text), ranks=1)
    assert capsys.readouterr().out == f"[rank 0] {text}\n"


def test_functions_of_one_another_and_classes_come_along() -> None:
    class Pair:
        def __init__(self, a: int) -> None:
            self.a = a

    def made() -> Pair:
        return Pair(rank())

    first, second = ranks.run(lambda: made(), ranks=2)
    assert (first.a, second.a) == (0, 1) and type(first) is type(second)


BAD_CALLS = {
    "ranks=0": (ValueError, "from 1 to", dict(ranks=0)),
    "ranks=-1": (ValueError, "ranks=-1", dict(ranks=-1)),
    "too many": (ValueError, "from 1 to", dict(ranks=1000)),
    "ranks=2.0": (TypeError, "whole number", dict(ranks=2.0)),
    "ranks=True": (TypeError, "whole number", dict(ranks=True)),
    "timeout=0": (ValueError, "above 0", dict(timeout=0)),
    "timeout=nan": (ValueError, "above 0", dict(timeout=float("nan"))),
    "timeout=None": (TypeError, "seconds", dict(timeout=None)),
    "group_timeout": (ValueError, "group_timeout", dict(group_timeout=-1)),
    "link": (TypeError, r"a ranks\.Link is needed", dict(link=1e-3)),
    "start method": (ValueError, "this system has", dict(start_method="teleport")),
    "unknown keyword": (TypeError, "rank", dict(rank=2)),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_a_call_that_makes_no_sense_is_refused(name: str) -> None:
    kind, words, given = BAD_CALLS[name]
    with pytest.raises(kind, match=words):
        ranks.run(rank, **given)


def test_something_that_is_no_function_is_refused() -> None:
    with pytest.raises(TypeError, match="takes a function, got int. Pass fn itself"):
        ranks.run(rank and 3)


lock = threading.Lock()


def test_what_cannot_be_copied_is_named() -> None:
    held = threading.Lock()

    def inner() -> bool:
        return held.locked()

    def outer() -> bool:
        return inner()

    with pytest.raises(TypeError, match=r"argument 2 after fn, a lock, cannot be copied to the ranks"):
        ranks.run(print, 1, held)
    with pytest.raises(
        TypeError, match=r"outer cannot be copied to the ranks: it uses inner, which uses held, a lock"
    ):
        ranks.run(outer)

    class Holds:
        def __init__(self) -> None:
            self.kept = held

        def go(self) -> None: ...

    def takes(x: int = 1, y: object = held) -> None: ...

    with pytest.raises(TypeError, match="it uses self, a Holds, which uses its attribute kept, a lock"):
        ranks.run(Holds().go)
    with pytest.raises(TypeError, match="takes cannot .*: it uses the default of y, a lock"):
        ranks.run(takes)


def test_traffic_is_counted_by_rank() -> None:
    def passed_on() -> None:
        dist.send(torch.ones(5), 1) if rank() == 0 else dist.recv(torch.empty(5), 0)

    results = ranks.run(passed_on, ranks=2, traffic=True)
    assert [(t.messages_out, t.bytes_out, t.messages_in, t.bytes_in) for t in results.traffic] == [(1, 20, 0, 0), (0, 0, 1, 20)]  # fmt: skip


def test_a_collective_where_none_is_allowed() -> None:
    with pytest.raises(ranks.RankError, match="rank 0 raised .*all_reduce is a collective"):
        ranks.run(total_of_ones, ranks=2, forbid_collectives=True)


def on_forked_threads() -> float:
    """Uses what a fork of a process with threads may break: OpenMP, autograd, DDP's C++."""
    torch.relu(torch.ones(4_000_000))
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1, bias=False))
    model(torch.full((1, 3), float(rank()))).sum().backward()
    return float(model.module.weight.grad[0, 0])


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_every_way_to_start(method: str) -> None:
    with pytest.raises(
        ranks.RankError, match=r"(?s)rank 1 raised ZeroDivisionError.*rank 0 waits in barrier"
    ):
        ranks.run(lambda: 1 / (1 - rank()) and dist.barrier(), ranks=2, start_method=method)
    assert ranks.run(rank, ranks=2, start_method=method) == [0, 1]


@pytest.mark.parametrize(
    "method", [m for m in ("fork", "forkserver") if m in multiprocessing.get_all_start_methods()]
)
def test_a_forked_rank_computes(method: str) -> None:
    import helpers.check.worker  # noqa: F401  what the processes of checks have imported

    torch.relu(torch.ones(4_000_000))
    torch.nn.Linear(2, 1)(torch.ones(1, 2)).sum().backward()
    assert ranks.run(on_forked_threads, ranks=2, start_method=method) == [0.5, 0.5]


def test_spawn_is_taken_where_there_is_no_fork_server(monkeypatch: pytest.MonkeyPatch) -> None:
    from helpers.ranks import launch

    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    assert launch._best_method() == "spawn"
    with pytest.raises(ValueError, match="this system has spawn"):
        ranks.run(rank, start_method="fork")


def test_in_a_process_that_was_forked_from_a_server_ranks_can_be_forked() -> None:
    context = multiprocessing.get_context("forkserver")
    ours, theirs = context.Pipe()
    process = context.Process(target=_forks_ranks, args=(theirs,))
    process.start()
    theirs.close()
    assert ours.recv() == [0, 1]
    process.join(60)
    assert process.exitcode == 0


def _forks_ranks(channel: Any) -> None:
    channel.send(list(ranks.run(rank, ranks=2, start_method="fork")))


def test_from_a_thread() -> None:
    found: list[list[int]] = []
    thread = threading.Thread(target=lambda: found.append(ranks.run(rank, ranks=2)))
    thread.start()
    assert ranks.run(rank, ranks=2) == [0, 1]
    thread.join()
    assert found == [[0, 1]]


def test_nothing_is_kept_open() -> None:
    ranks.run(rank, ranks=2)
    me = psutil.Process()
    before = me.num_fds()
    for _ in range(3):
        ranks.run(rank, ranks=2)
    assert me.num_fds() <= before


def test_importing_helpers_imports_neither_torch_nor_ranks() -> None:
    import subprocess

    code = "import sys, helpers; assert not {'torch', 'helpers.ranks'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    code = "import sys; from helpers import ranks; assert not [m for m in sys.modules if m.startswith('helpers.labs')]"
    subprocess.run([sys.executable, "-c", code], check=True)
