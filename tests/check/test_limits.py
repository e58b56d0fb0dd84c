"""An answer's time is its own processor time: what else the machine does makes no right answer late."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from helpers.check.limits import Limits
from helpers.processes.process_tree import end_tree

RUNS = "while True: pass"
SLEEPS = "time.sleep(1000)"
POLLS = "while True: time.sleep(0.01)"
GETS_NO_CORE = (
    "os.kill(os.getpid(), signal.SIGSTOP)"  # neither runs nor waits, as on a machine that has no time for it
)
IN_A_CHILD = "subprocess.run([sys.executable, '-c', 'while True: pass'])"


@contextmanager
def program(source: str) -> Iterator[subprocess.Popen]:
    """A process of Python that runs this, in a group of its own."""
    source = f"import os, signal, subprocess, sys, time\nprint('begins', flush=True)\n{source}"
    with subprocess.Popen(
        [sys.executable, "-c", source], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            process.stdout.readline()
            yield process
        finally:
            end_tree(process.pid)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (RUNS, "No result after 0.3 seconds of processor time."),
        (IN_A_CHILD, "No result after 0.3 seconds of processor time."),
        (SLEEPS, "No result, and nothing ran for 0.3 seconds: the answer waits for something."),
        (POLLS, "No result, and nothing ran for 0.3 seconds: the answer waits for something."),
        (GETS_NO_CORE, "No result after 3 seconds by the clock."),
    ],
    ids=["runs", "runs in a child", "sleeps", "polls", "gets no core"],
)
def test_each_limit_says_which_it_is(source: str, says: str) -> None:
    with program(source) as process:
        limits, why = Limits(process.pid, 0.3), ""
        while not why:
            time.sleep(0.01)
            why = limits.over()
    assert why == says


def test_what_a_process_did_before_does_not_count() -> None:
    with program(RUNS) as process:
        before = Limits(process.pid, 0.3)
        while not before.over():
            time.sleep(0.01)
        assert Limits(process.pid, 0.3).over() == ""


LOADED = """
import os, subprocess, sys, time
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})  # all want one core
import torch
from tests.support.hostile_exercises import scale

def busy(x, k):
    if x.ndim == 0 and x.dtype == torch.float64:
        end = time.process_time() + {seconds}
        while time.process_time() < end: pass
    return x * k + 1

scale.check(lambda x, k: x * k + 1)  # the fork server is there
os.environ["LABBOOK_CHECK_SECONDS"] = "{limit}"
# Each is a session, as the answer's process is: Linux shares a core between sessions.
command = [sys.executable, "-c", "while True: pass"]
others = [subprocess.Popen(command, start_new_session=True) for _ in range({load})]
try:
    start = time.monotonic()
    report = scale.check(busy)
    print("passed its limit by the clock" if time.monotonic() - start > {limit} else "too quick", report.verdict)
finally:
    for other in others:
        other.kill()
"""


@pytest.mark.parametrize(
    ("load", "seconds", "limit"),
    [(5, 0.3, 0.7), pytest.param(15, 1.0, 5.0, marks=pytest.mark.slow)],
    ids=["a load of 5", "a load of 15"],
)
def test_a_right_answer_passes_on_a_busy_machine(load: int, seconds: float, limit: float) -> None:
    source = textwrap.dedent(LOADED).format(load=load, seconds=seconds, limit=limit)
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, env=os.environ)
    assert done.stdout.strip() == "passed its limit by the clock passed", done.stderr
