"""Hostile answers, through a real kernel: each gets its verdict, the kernel and its state stay as they were."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.hostile_answers import HOSTILE
from tests.support.kernel import Kernel
from tests.support.kernel_session import wait_until
from tests.support.living import named

SET_UP = """
import json, os, random, sys, time, threading
import numpy as np, torch
from helpers.check import guard
from tests.support import hostile_exercises as exercises
torch.randn(400, 400) @ torch.randn(400, 400)   # the kernel has used its thread pool
torch.relu(torch.ones(4_000_000))
exercises.scale.check(lambda x, k: x * k + 1)
"""

CHECK = """
os.environ["LABBOOK_CHECK_SECONDS"] = "{seconds}"
_state = guard.snapshot()
_threads = threading.active_count()
_start = time.perf_counter()
_report = exercises.{exercise}.check(answer)
_took = time.perf_counter() - _start
_changed = guard.restore(_state)
print(json.dumps(dict(verdict=_report.verdict, text=str(_report), mistake=_report.mistake, took=_took, changed=_changed)))
"""


class Checking(Kernel):
    """A kernel with the exercises imported."""

    def check(self, source: str, exercise: str, seconds: float) -> dict[str, Any]:
        self.printed(source)
        return json.loads(self.printed(CHECK.format(exercise=exercise, seconds=seconds)).splitlines()[-1])

    def strays(self) -> list[psutil.Process]:
        """Processes below the kernel that are no part of the check's machinery (server, tracker, warm worker)."""
        return [one for one in self.process.children(recursive=True) if named(one, "sleep")]


@pytest.fixture(scope="module")
def kernel() -> Iterator[Checking]:
    kernel = Checking(SET_UP)
    yield kernel
    kernel.stop()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_answer(kernel: Checking, name: str) -> None:
    hostile = HOSTILE[name]
    found = kernel.check(hostile.source, hostile.exercise, hostile.seconds)
    assert found["verdict"] in hostile.verdicts, found["text"]
    assert found["mistake"] is None, found["text"]
    assert any(words in found["text"] for words in hostile.says.split(" | ")), found["text"]
    assert found["changed"] == [], "the kernel's state must be as before"
    assert kernel.process.is_running()
    # One that was killed ends when its turn comes, on a busy machine not at once.
    wait_until(lambda: kernel.strays() == [])


def test_the_table_is_whole() -> None:
    assert len(HOSTILE) >= 63


def test_after_all_that_a_right_answer_passes_and_a_known_mistake_is_named(kernel: Checking) -> None:
    assert kernel.check("answer = lambda x, k: x * k + 1", "scale", 20)["verdict"] == "passed"
    assert kernel.check("answer = lambda x, k: x * k", "scale", 20)["mistake"] == "one_forgotten"


UNPICKLABLE = {
    "lock": "import threading\nkept = threading.Lock()",
    "generator": "kept = (n for n in range(3))",
    "open file": "kept = open(os.devnull)",
    "scripted function": "@torch.jit.script\ndef kept(x):\n    return x",
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in ("generator", "open file") else name
        for name in UNPICKLABLE
    ],
)
def test_an_answer_that_cannot_be_pickled_is_checked_all_the_same(kernel: Checking, name: str) -> None:
    right = f"{UNPICKLABLE[name]}\ndef answer(x, k):\n    kept\n    return x * k + 1\n"
    assert kernel.check(right, "scale", 20)["verdict"] == "passed"
    found = kernel.check(right.replace("+ 1", ""), "scale", 20)
    assert (found["verdict"], found["mistake"]) == ("wrong", "one_forgotten"), found["text"]
    assert (
        kernel.check(right.replace("return", "while True: pass\n    return"), "scale", 1)["verdict"]
        == "timed out"
    )


def test_a_check_inside_the_kernel_is_timed_and_leaves_the_state(kernel: Checking) -> None:
    kernel.printed("exercises.scale.inside_kernel = True")
    try:
        for name in (
            "good",
            "None",
            "raises",
            "python loop",
            "sys.exit",
            "changes global state",
            "swallows, tight",
        ):
            hostile = HOSTILE[name]
            if name == "swallows, tight":
                continue  # the kernel cannot end it: the stop button neither
            found = kernel.check(hostile.source, "scale", hostile.seconds)
            assert found["verdict"] in hostile.verdicts, found["text"]
            assert found["changed"] == []
    finally:
        kernel.printed("exercises.scale.inside_kernel = False")


STOPPED = """
import signal
threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    exercises.scale.check(answer)
    print("went on")
except KeyboardInterrupt:
    print("stopped")
"""


def test_the_stop_button_stops_a_check(kernel: Checking) -> None:
    kernel.printed(HOSTILE["swallows BaseException"].source)
    kernel.printed('os.environ["LABBOOK_CHECK_SECONDS"] = "60"')
    assert kernel.printed(STOPPED).strip() == "stopped"
    assert kernel.check("answer = lambda x, k: x * k + 1", "scale", 20)["verdict"] == "passed"


KILLED_ONCE = """
import os, pathlib, signal, time
met = pathlib.Path({path!r})
def answer(x, k):
    if not met.exists():
        met.touch()
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
    return x * k + 1
"""


def test_the_death_of_the_fork_server_is_not_the_answers_fault(kernel: Checking, tmp_path: Path) -> None:
    found = kernel.check(KILLED_ONCE.format(path=str(tmp_path / "met")), "scale", 20)
    assert (tmp_path / "met").exists() and found["verdict"] == "passed", found["text"]


def test_no_process_is_left_when_the_kernel_is_killed_during_a_check() -> None:
    kernel = Checking(SET_UP)
    kernel.printed(HOSTILE["time.sleep"].source)
    kernel.printed('os.environ["LABBOOK_CHECK_SECONDS"] = "60"')
    kernel.client.execute("exercises.scale.check(answer)")
    family = [kernel.process]
    for _ in range(100):
        family = [kernel.process, *kernel.process.children(recursive=True)]
        if len(family) >= 4:
            break
        psutil.wait_procs(family, timeout=0.1)
    kernel.process.kill()
    _, alive = psutil.wait_procs(family, timeout=60)
    kernel.stop()
    assert alive == []


def test_the_stop_button_stops_a_check_inside_the_kernel(kernel: Checking) -> None:
    kernel.printed("exercises.scale.inside_kernel = True")
    try:
        kernel.printed('answer = lambda x, k: time.sleep(60)\nos.environ["LABBOOK_CHECK_SECONDS"] = "60"')
        assert kernel.printed(STOPPED).strip() == "stopped"
    finally:
        kernel.printed("exercises.scale.inside_kernel = False")


def test_an_answer_sees_the_notebooks_environment_and_its_own_classes(kernel: Checking) -> None:
    source = """
import dataclasses, pickle
os.environ["LAB_SEEN"] = "1"
@dataclasses.dataclass
class Pair:
    a: float
class Once:
    def __init_subclass__(cls, tag): cls.tag = tag
class Tagged(Once, tag="t"):
    pass
def answer(x, k):
    display("shown")
    assert os.environ["LAB_SEEN"] == "1" and Tagged.tag == "t"
    return x * pickle.loads(pickle.dumps(Pair(k))).a + 1
"""
    found = kernel.check(source, "scale", 20)
    assert found["verdict"] == "passed", found["text"]


MORE = {
    "KeyboardInterrupt": ("raise KeyboardInterrupt", "crashed"),
    "long text": ("raise ValueError('a' * 10_000_000)", "crashed"),
    "surrogate": ("raise ValueError(chr(0xD800))", "crashed"),
    "edits through .data": ("y = x * k + 1\n    x.data.zero_()\n    return y", "wrong"),
    "sparse": ("return (x * k + 1).to_sparse()", "wrong"),
    "meta": ("return (x * k + 1).to('meta')", "wrong"),
    "text that runs code": ("return Sly('x')", "wrong"),
    "garbage in every pipe": ("for fd in range(3, 40):\n        try: os.write(fd, b'\\0\\0\\xff\\xff')\n        except OSError: pass\n    while True: pass", "timed out"),
    "daemon of its own": ("subprocess.Popen(['sleep', '4322'], start_new_session=True)\n    return x * k + 1", "passed"),
}  # fmt: skip


@pytest.mark.parametrize("name", MORE)
def test_more_hostile_answers(kernel: Checking, name: str) -> None:
    body, verdict = MORE[name]
    sly = "import subprocess\nclass Sly(str):\n    def __reduce__(self): return os.system, ('touch sly',)\n"
    found = kernel.check(
        f"{sly}def answer(x, k):\n    {body}\n", "scale", 1 if verdict == "timed out" else 20
    )
    assert found["verdict"] in (verdict, "crashed" if "garbage" in name else verdict), found["text"]
    assert kernel.printed("print(os.path.exists('sly'))").strip() == "False"
    wait_until(lambda: kernel.strays() == [])


def test_a_passed_report_tells_no_path_and_no_address(kernel: Checking) -> None:
    source = "import warnings\ndef answer(x, k):\n    warnings.warn('old')\n    print(object())\n    return x * k + 1\n"
    text = kernel.check(source, "scale", 20)["text"]
    assert "Cell In[" in text and "/tmp/" not in text and "0x..." in text
