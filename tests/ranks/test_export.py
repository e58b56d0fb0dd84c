"""A function that goes to torchrun: its folder, the commands, its results; on this machine and on two."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from helpers import paths, ranks
from helpers.ranks.exported import PAYLOAD, Exported
from tests.support.marked_processes import MARK, left_after, marked

SCALE = 10


class Box:
    """A class of the notebook's own, which the ranks return."""

    def __init__(self, value: list[float]) -> None:
        self.value = value


def scaled(x: float) -> float:
    return x * SCALE


def work(plus: float) -> tuple[Box, str, int]:
    x = torch.full((2,), scaled(dist.get_rank() + 1.0))
    dist.all_reduce(x)
    return Box((x + plus).tolist()), os.environ["GROUP_RANK"], dist.get_rank()


def fails_on_rank_1() -> None:
    if dist.get_rank() == 1:
        raise ValueError("no good")
    dist.barrier()


def never_done(folder: str) -> None:
    (Path(folder) / f"here-{dist.get_rank()}").touch()
    if dist.get_rank() == 0:
        time.sleep(600)
    dist.barrier()


@pytest.fixture
def mark(monkeypatch) -> str:
    """A mark on every process that the test starts."""
    name = uuid.uuid4().hex
    monkeypatch.setenv(MARK, name)
    return name


def test_one_node_needs_one_command(tmp_path):
    exported = ranks.export(work, 1, folder=tmp_path / "job", nodes=1, per_node=4)
    assert exported.command() == (
        f"torchrun --nnodes 1 --nproc-per-node 4 --standalone -m helpers.ranks.exported_main {tmp_path}/job"
    )
    assert "4 ranks on 1 node, 4 on each." in str(exported) == repr(exported)
    assert f"ranks.gathered('{tmp_path}/job')" in str(exported)


def test_each_node_gets_its_command(tmp_path):
    exported = ranks.export(work, 1, folder=tmp_path, nodes=2, per_node=3, port=4711, interface="eth1")
    assert exported.ranks == 6
    for node in (0, 1):
        line = exported.command(node)
        assert line.startswith("GLOO_SOCKET_IFNAME=eth1 torchrun --nnodes 2 --nproc-per-node 3 ")
        assert f"--node-rank {node} --master-addr HOST0 --master-port 4711 " in line
        assert line in str(exported)
    assert "HOST0: the name or the address of node 0." in str(exported)
    named = ranks.export(work, 1, folder=tmp_path, address="10.0.0.7")
    assert "HOST0" not in str(named) and "--master-addr 10.0.0.7" in named.command(1)


def test_restarts_meet_at_node_0_and_do_not_share_the_store(tmp_path):
    exported = ranks.export(work, 1, folder=tmp_path / "job 1", nodes=2, max_restarts=3)
    for node, host in ((0, 1), (1, 0)):
        line = exported.command(node)
        assert line.startswith("TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 torchrun ")
        assert "--max-restarts 3 " in line and f"--rdzv-conf is_host={host} " in line
        assert "--rdzv-endpoint HOST0:29500 " in line and line.endswith(f"'{tmp_path}/job 1'")
    assert "DISABLE" not in ranks.export(work, 1, folder=tmp_path / "job 1").command()


def test_the_function_travels_by_value(tmp_path, monkeypatch):
    ranks.export(work, 5.0, folder=tmp_path)
    payload = pickle.loads((tmp_path / PAYLOAD).read_bytes())
    monkeypatch.setitem(sys.modules, __name__, None)  # there it cannot be imported
    fn, args, kwargs = pickle.loads(payload["call"])
    assert fn is not work and (args, kwargs) == ((5.0,), {})
    assert fn.__globals__["scaled"](2) == 20


def test_results_are_read_when_they_are_there(tmp_path):
    ranks.export(work, 1, folder=tmp_path)
    with pytest.raises(ranks.RankError, match="no results in .* yet: run the command of every node"):
        ranks.gathered(tmp_path)
    (tmp_path / "results.pkl").write_bytes(pickle.dumps([pickle.dumps(rank) for rank in range(4)]))
    assert ranks.gathered(str(tmp_path)) == [0, 1, 2, 3]
    exported = ranks.export(work, 1, folder=tmp_path)  # anew: results of before are not its own
    with pytest.raises(ranks.RankError):
        exported.results()


def test_a_rank_that_raised_is_told_before_those_that_saw_it_go(tmp_path):
    ranks.export(work, 1, folder=tmp_path)
    (tmp_path / "errors").mkdir()
    echo = "RuntimeError: [/a/gloo/pair.cc:561] Connection closed by peer [::1]:80. This is typically caused by x"
    (tmp_path / "errors" / "rank0-0.txt").write_text(f"rank 0 raised {echo}")
    (tmp_path / "errors" / "rank1-0.txt").write_text("rank 1 raised ValueError: no good")
    with pytest.raises(ranks.RankError, match="^rank 1 raised ValueError: no good$"):
        ranks.gathered(tmp_path)
    (tmp_path / "errors" / "rank1-0.txt").unlink()
    with pytest.raises(
        ranks.RankError, match=r"^rank 0 raised RuntimeError: Connection closed by peer \[::1\]:80\.$"
    ):
        ranks.gathered(tmp_path)


@pytest.mark.parametrize("wrong", [{"nodes": 0}, {"per_node": 0}, {"max_restarts": -1}])
def test_impossible_numbers(tmp_path, wrong):
    with pytest.raises(ValueError, match="at least"):
        ranks.export(work, 1, folder=tmp_path, **wrong)


def test_it_runs_here_and_the_results_come_back(tmp_path, mark):
    results = ranks.export(work, 1, folder=tmp_path, nodes=1).run_here(timeout=120)
    assert [(box.value, node, rank) for box, node, rank in results] == [
        ([31.0, 31.0], "0", rank) for rank in (0, 1)
    ]
    assert left_after(mark, 5) == []


@pytest.mark.slow
def test_a_raising_rank_is_named_with_its_line(tmp_path, mark):
    with pytest.raises(ranks.RankError) as failed:
        ranks.export(fails_on_rank_1, folder=tmp_path, nodes=1).run_here(timeout=120)
    assert "rank 1 raised ValueError: no good" in str(failed.value)
    assert "in fails_on_rank_1" in str(failed.value)
    assert left_after(mark, 5) == []


@pytest.mark.slow
def test_two_agents_on_one_machine(tmp_path, mark):
    results = ranks.export(work, 0, folder=tmp_path, nodes=2, per_node=2).run_here(timeout=120)
    assert [(box.value, node, rank) for box, node, rank in results] == [
        ([100.0, 100.0], str(rank // 2), rank) for rank in range(4)
    ]
    assert left_after(mark, 5) == []


@pytest.mark.slow
def test_a_hang_ends_in_time_with_nothing_left(tmp_path, mark):
    with pytest.raises(ranks.RankError, match="not done after 15 s and was ended"):
        ranks.export(never_done, str(tmp_path), folder=tmp_path / "job", nodes=1).run_here(timeout=15)
    assert left_after(mark, 5) == []


KERNEL = """
from helpers import ranks
from tests.ranks.test_export import never_done
ranks.export(never_done, {folder!r}, folder={folder!r}, nodes=1).run_here(timeout=600)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
def test_nothing_is_left_when_the_kernel_is_killed(tmp_path, mark):
    kernel = subprocess.Popen([sys.executable, "-c", KERNEL.format(folder=str(tmp_path))], cwd=paths.ROOT)
    try:
        end = time.monotonic() + 120
        while not all((tmp_path / f"here-{rank}").exists() for rank in (0, 1)):
            assert kernel.poll() is None and time.monotonic() < end
            time.sleep(0.1)
        assert len(marked(mark)) >= 4  # the kernel, torchrun, two ranks
    finally:
        kernel.send_signal(signal.SIGKILL)
        kernel.wait()
    assert left_after(mark, 10) == []


def can_make_namespaces() -> bool:
    """Whether this user may make network namespaces and join two of them by a cable."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        return False
    with_cable = two_machines()
    try:
        next(with_cable)
        return True
    except subprocess.CalledProcessError:
        return False
    finally:
        with_cable.close()


def ip(command: str) -> None:
    subprocess.run(["ip", *command.split()], check=True, capture_output=True, timeout=20)


def two_machines() -> Iterator[list[str]]:
    """Two network namespaces with a cable between them: 10.77.0.1 and 10.77.0.2, each on its card e0."""
    names = [f"labbook-{uuid.uuid4().hex[:8]}" for _ in range(2)]
    try:
        for name in names:
            ip(f"netns add {name}")
        ip(f"link add e0 netns {names[0]} type veth peer name e0 netns {names[1]}")
        for number, name in enumerate(names, 1):
            ip(f"-n {name} addr add 10.77.0.{number}/24 dev e0")
            ip(f"-n {name} link set e0 up")
            ip(f"-n {name} link set lo up")
        yield names
    finally:
        for name in names:  # the cable goes with its ends
            subprocess.run(["ip", "netns", "del", name], capture_output=True, timeout=20)


@pytest.fixture
def machines() -> Iterator[list[str]]:
    if not can_make_namespaces():
        pytest.skip("two network namespaces need root and the command ip")
    yield from two_machines()


def node(name: str, exported: Exported, number: int, log: Path) -> subprocess.Popen[bytes]:
    """One node's command, as a person on that machine would start it."""
    with log.open("wb") as lines:
        return subprocess.Popen(
            [
                "ip",
                "netns",
                "exec",
                name,
                sys.executable,
                "-m",
                "torch.distributed.run",
                *exported.arguments(number),
            ],
            env=os.environ | exported.environment() | {"OMP_NUM_THREADS": "1"},
            stdout=lines,
            stderr=subprocess.STDOUT,
            cwd=paths.ROOT,
            start_new_session=True,
        )


@pytest.mark.slow
def test_two_machines(tmp_path, machines, mark):
    exported = ranks.export(work, 0, folder=tmp_path, nodes=2, address="10.77.0.1", interface="e0")
    logs = [tmp_path / f"node{number}.txt" for number in (0, 1)]
    agents: list[subprocess.Popen[Any]] = []
    try:
        agents += [node(name, exported, number, logs[number]) for number, name in enumerate(machines)]
        codes = [agent.wait(timeout=120) for agent in agents]
        assert codes == [0, 0], "\n".join(log.read_text() for log in logs)
    finally:
        for agent in agents:
            agent.kill()
            agent.wait()
        for pid in marked(mark):
            if pid != os.getpid():
                os.kill(pid, signal.SIGKILL)
    assert [(box.value, node, rank) for box, node, rank in exported.results()] == [
        ([100.0, 100.0], str(rank // 2), rank) for rank in range(4)
    ]
    assert left_after(mark, 5) == []
