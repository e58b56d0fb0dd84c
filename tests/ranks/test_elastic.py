"""A rank is killed in the middle of training; torchrun starts all anew, and they resume from the checkpoint."""

from __future__ import annotations

import os
import signal
import uuid
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from helpers import ranks
from tests.support.marked_processes import MARK, left_after, marked

STEPS, EVERY, FATAL = (
    12,
    5,
    7,
)  # a checkpoint after each 5 steps; the kill comes in step 7, so 5 is where it resumes


def train(checkpoint: str, fatal: int | None) -> tuple[int, int, list[float]]:
    """Some steps of gradient descent on all ranks; (first step of this attempt, restarts told, final weights).

    fatal: rank 1 ends itself by SIGKILL in this step of the first attempt.
    """
    torch.manual_seed(0)
    model, rank, begin = torch.nn.Linear(4, 1), dist.get_rank(), 0
    path, first_attempt = Path(checkpoint), Path(checkpoint + ".killed")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    if path.exists():
        state = torch.load(path, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        begin = state["step"]
    for step in range(begin, STEPS):
        if step == fatal and rank == 1 and not first_attempt.exists():
            first_attempt.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        draw = torch.Generator().manual_seed(1000 * step + rank)
        x = torch.randn(8, 4, generator=draw)
        optimizer.zero_grad()
        (model(x) - x.sum(1, keepdim=True)).square().mean().backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
        optimizer.step()
        if (step + 1) % EVERY == 0:
            if rank == 0:
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}
                torch.save(state, path.with_name(path.name + ".new"))
                os.replace(path.with_name(path.name + ".new"), path)
            dist.barrier()
    restarts = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))
    return begin, restarts, model.weight.flatten().tolist()


@pytest.fixture
def mark(monkeypatch) -> str:
    name = uuid.uuid4().hex
    monkeypatch.setenv(MARK, name)
    return name


@pytest.mark.slow
@pytest.mark.parametrize(("nodes", "per_node"), [(1, 3), (2, 2)], ids=["one agent", "two agents"])
def test_training_resumes_after_a_rank_was_killed(tmp_path, mark, nodes, per_node):
    undisturbed = ranks.run(train, str(tmp_path / "whole.pt"), None, ranks=nodes * per_node)
    servers = tuple(marked(mark))  # of ranks.run: they stay for its next call
    exported = ranks.export(
        train,
        str(tmp_path / "killed.pt"),
        FATAL,
        folder=tmp_path / "job",
        nodes=nodes,
        per_node=per_node,
        max_restarts=1,
    )
    results = exported.run_here(timeout=150)
    assert (tmp_path / "killed.pt.killed").exists()
    assert [begin for begin, _, _ in results] == [EVERY] * exported.ranks
    for (_, _, weights), (begin, _, expected) in zip(results, undisturbed, strict=True):
        assert begin == 0
        torch.testing.assert_close(torch.tensor(weights), torch.tensor(expected))
    counts = [restarts for _, restarts, _ in results]
    assert 1 in counts  # not on all: an agent that joins another's restart may count none
    assert left_after(mark, 5, but=servers) == []


@pytest.mark.slow
def test_without_the_variable_gloo_does_not_come_back(tmp_path, mark):
    """What the lab tells: the ranks of the second attempt look for those of the first. They fail, or wait for ever."""
    exported = ranks.export(
        train,
        str(tmp_path / "killed.pt"),
        FATAL,
        folder=tmp_path / "job",
        nodes=1,
        per_node=3,
        max_restarts=1,
    )
    with pytest.raises(ranks.RankError):
        exported.run_here(timeout=40, share_store=True)
    assert (tmp_path / "killed.pt.killed").exists()
    assert left_after(mark, 5) == []


@pytest.mark.slow
def test_without_restarts_the_killed_rank_is_named(tmp_path, mark):
    exported = ranks.export(
        train, str(tmp_path / "killed.pt"), FATAL, folder=tmp_path / "job", nodes=1, per_node=2
    )
    with pytest.raises(ranks.RankError, match="torchrun failed"):
        exported.run_here(timeout=120)
    assert left_after(mark, 5) == []
