"""Ranks that fail: what is said, that it ends in time, that nothing is left, and that the next call works."""

from __future__ import annotations

import os
import re
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from helpers import ranks
from helpers.notebook.stubs import missing_exercise
from helpers.ranks import launch
from helpers.ranks.rank_processes import Member, RankProcesses
from tests.support.failing_ranks import FAILURES, LIMIT, noted, prints_and_hangs, raises, rank, stub
from tests.support.living import all_gone, carrying


@pytest.mark.parametrize("name", FAILURES)
def test_failure(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failure = FAILURES[name]
    if failure.alike:  # on a busy machine the last may fail long after the first; none is waited for in vain
        monkeypatch.setattr(launch, "SETTLED", 60.0)
    with pytest.raises(ranks.RankError) as caught:
        ranks.run(noted, str(tmp_path), failure.body, ranks=3, timeout=LIMIT, **failure.given)
    text = re.sub(r"\n  .*, in noted: .*", "", str(caught.value))
    for words in failure.says:
        assert re.search(words, text, re.M), f"{words}\n---\n{text}"
    assert caught.value.kind == failure.kind, text
    if isinstance(failure.rank, tuple):
        assert caught.value.rank in failure.rank, text
    else:
        assert caught.value.rank == failure.rank, text
    assert not re.search(r"0x[0-9a-f]{4}|:\d{5}\b|/site-packages/|" + str(os.getpid()), text), text
    begun = [int(path.name) for path in tmp_path.iterdir()]  # a rank may be ended before it has begun
    assert begun and all_gone([*begun, *carrying(str(tmp_path))]), "nothing is left behind"
    assert ranks.run(rank, ranks=2) == [0, 1], "the next call works"


def test_the_error_itself_comes_along() -> None:
    with pytest.raises(ranks.RankError) as caught:
        ranks.run(raises, ranks=2)
    assert type(caught.value.original) is ValueError and str(caught.value.original) == "no such thing"
    assert list(caught.value.others) == [0]


def test_an_untouched_stub_is_known_through_the_ranks() -> None:
    with pytest.raises(ranks.RankError) as caught:
        ranks.run(stub, ranks=2)
    assert missing_exercise(caught.value) == "08.ring_allreduce"


def test_what_was_printed_before_a_hang_is_shown(capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(ranks.RankError):
        ranks.run(prints_and_hangs, ranks=2, timeout=1)
    lines = [f"[rank {r}] {text}\n" for r in (0, 1) for text in ("before", "half a line")]
    assert capsys.readouterr().out == "".join(lines)


def test_a_rank_that_ends_while_it_is_asked_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(processes: RankProcesses, members: list[Member]) -> None:
        for member in members:
            member.ended = {"kind": "died", "code": 1}

    monkeypatch.setattr(RankProcesses, "ask", ask)
    with pytest.raises(ranks.RankError, match="rank 1 is still at work") as caught:
        ranks.run(prints_and_hangs, ranks=2, timeout=1)
    assert caught.value.kind == "timed out"


def test_after_the_fork_server_was_killed_the_next_call_starts_one() -> None:
    (server,) = ranks.run(os.getppid, ranks=1)
    os.kill(server, signal.SIGKILL)
    assert ranks.run(rank, ranks=2) == [0, 1]


def test_many_failures_at_once() -> None:
    """Three calls at a time, from threads: each has its own ranks, ports and outcome."""
    found: dict[str, Any] = {}

    def call(name: str) -> None:
        try:
            found[name] = ranks.run(FAILURES[name].body, ranks=3, timeout=LIMIT)
        except ranks.RankError as error:
            found[name] = error.kind

    names = ["raises", "is_killed", "all_send_first"]
    threads = [threading.Thread(target=call, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {"raises": "raised", "is_killed": "died", "all_send_first": "timed out"}
