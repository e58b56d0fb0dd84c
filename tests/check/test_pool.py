"""A warm worker is started while the notebook imports its lab, and must not disturb that."""

from __future__ import annotations

import subprocess
import sys

from helpers import paths

PREPARED = """
import sys, time
from helpers.check import pool
pool.prepare()
while pool._warm is None:
    time.sleep(0.01)
print(pool._warm.ready(), "torch" in sys.modules)
"""


def test_a_worker_is_started_without_torch_in_the_kernel() -> None:
    """The notebook's thread may be importing torch at that moment: a second one would get half of it."""
    assert said(PREPARED) == "True False"


def said(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=paths.ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


IMPORTED = """
import time
from helpers.check import pool
pool.prepare("helpers.labs.{lab}")
from helpers.labs import {lab}
while pool._warm is None:
    time.sleep(0.01)
print(pool._warm.ready())
"""


def test_a_lab_that_imports_torch_first_and_its_worker_start_at_once() -> None:
    assert said(IMPORTED.format(lab="dataloader")) == "True"


CRASHED = """
import sys
from helpers.labs import autograd
print(autograd.numerical_grad.check(lambda *given: 1 / 0).verdict, "torch._inductor.config" in sys.modules)
"""


def test_the_first_answer_that_raises_makes_the_kernel_import_nothing_that_takes_seconds() -> None:
    """Such an answer is checked in a fork of the kernel, too."""
    assert said(CRASHED) == "crashed False"


AFTER_ITS_END = """
from helpers.check import pool
pool._end()
pool._refill("")
print(pool._warm)
"""


def test_no_worker_is_started_once_the_kernel_was_told_to_end() -> None:
    """The thread that starts one after a check may come late. What it starts would be a child that nobody ends."""
    assert said(AFTER_ITS_END) == "None"
