"""`labbook bench`: the frame that lists, measures, prints and keeps rows. Nothing here asserts how fast anything is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from ci.bench import command
from ci.bench.table import ROWS, Table, row
from ci.notebooks.files import Problem
from helpers import paths
from tests.support.marked_processes import MARK, left_after, marked
from tests.support.project import output_of

ROOT = paths.ROOT


def fast(root: Path) -> Table:
    """Two numbers.

    More words.
    """
    return Table("fast: two numbers", ["measured", "s"], [["one", 1.25]], "By hand.", {"one, s": [1.0, 1.5]})


def broken(root: Path) -> Table:
    """Nothing: it fails."""
    raise Problem("`papermill` ended with exit code 3")


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two tiny rows in place of the real ones; the signals of this process stay as they are."""
    monkeypatch.setattr(command.signal, "signal", lambda *_: None)
    kept = dict(ROWS)
    ROWS.clear()
    monkeypatch.setattr(command, "load_rows", lambda: None)
    row("broken", minutes=2)(broken)
    row("fast", minutes=0.5)(fast)
    yield
    ROWS.clear()
    ROWS.update(kept)


def test_without_a_row_the_rows_are_listed_and_nothing_is_measured(rows: None, tmp_path: Path):
    code, heard = output_of(lambda: command.bench(tmp_path, []))
    assert code == 0 and not list(tmp_path.iterdir())
    words = [line.strip("│ ").split("│") for line in heard.splitlines() if line.startswith("│")]
    assert [[word.strip() for word in line] for line in words] == [
        ["broken", "Nothing: it fails.", "2"],
        ["fast", "Two numbers.", "0.5"],
    ]


def test_an_unknown_row_is_refused_with_the_list_before_anything_is_measured(rows: None, tmp_path: Path):
    code, heard = output_of(lambda: command.bench(tmp_path, ["fast", "slow"]))
    assert (code, heard) == (2, "labbook bench: no row slow; there are broken, fast, all\n")
    assert not list(tmp_path.iterdir())


def test_raw_samples_and_the_machine_are_kept(rows: None, tmp_path: Path):
    code, heard = output_of(lambda: command.bench(tmp_path, ["fast"]))
    kept = json.loads((tmp_path / ".labbook" / "bench" / "fast.json").read_text())
    assert code == 0 and kept["samples"] == {"one, s": [1.0, 1.5]} and kept["lines"] == [["one", 1.25]]
    machine = kept["machine"]
    assert machine["cpu"] and machine["cores"] >= 1 and machine["memory_gb"] > 0 and machine["torch"]
    assert "By hand. Machine: " in " ".join(heard.split()) and machine["python"] in heard


def test_a_row_that_fails_is_told_and_the_others_are_measured(rows: None, tmp_path: Path):
    code, heard = output_of(lambda: command.bench(tmp_path, ["all"]))
    assert code == 1 and "labbook bench: row broken: `papermill` ended with exit code 3" in heard
    assert [path.name for path in (tmp_path / ".labbook" / "bench").iterdir()] == ["fast.json"]


def test_every_row_says_in_a_sentence_what_it_measures_and_how_long_it_takes():
    command.load_rows()
    assert {"check", "ranks", "02", "03", "04", "headless", "course", "growth", "unchanged", "start"} <= set(
        ROWS
    )
    for name, one in ROWS.items():
        assert one.says.endswith(".") and (one.minutes is None or one.minutes > 0), name
    assert list(ROWS) == sorted(ROWS)


ENDLESS = """
import os, signal, sys
from ci.bench import command
from ci.bench.table import row
from ci.bench.timing import commands

@row("endless", minutes=1)
def endless(root):
    "It never ends."
    commands.timed([sys.executable, "-c", os.environ["ENDLESS"]], root, os.environ)

signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever those who started this have set
commands.GRACE = 2.0
command.load_rows = lambda: None
sys.argv = ["labbook", "bench", "endless"]
from helpers.cli import main
main()
"""
STRAY = "import subprocess, time\nsubprocess.Popen(['sleep', '600'], start_new_session=True)\ntime.sleep(600)"
DEAF = f"import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n{STRAY}"


@pytest.mark.parametrize(
    ("command", "ending"),
    [(STRAY, signal.SIGINT), (DEAF, signal.SIGINT), (STRAY, signal.SIGTERM)],
    ids=["gives way", "deaf", "terminated"],
)
def test_an_interrupt_leaves_no_process(command: str, ending: signal.Signals):
    mark = uuid.uuid4().hex
    env = os.environ | {MARK: mark, "ENDLESS": command}
    running = subprocess.Popen([sys.executable, "-c", ENDLESS], cwd=ROOT, env=env, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while len(marked(mark)) < 3:  # itself, the command, and what the command put aside
            assert running.poll() is None and time.monotonic() < end, "the command did not start"
            time.sleep(0.05)
        running.send_signal(ending)
        assert running.wait(60) == 130
        assert left_after(mark, 30) == []
    finally:
        running.kill()
        running.wait()
        for pid in marked(mark):
            os.kill(pid, signal.SIGKILL)
