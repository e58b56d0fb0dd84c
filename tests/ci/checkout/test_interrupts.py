"""Tests that interrupt a program work also where the shell has set that interrupts are ignored."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from tests.conftest import ALLOWED

TEST = """
import subprocess, sys

def test_a_program_hears_the_interrupt():
    heard = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    assert subprocess.check_output([sys.executable, "-c", heard], text=True) == "True\\n"
"""


def test_a_program_of_a_test_hears_an_interrupt_that_the_shell_ignores(tmp_path: Path):
    shutil.copy(ALLOWED.with_name("conftest.py"), tmp_path)
    here = {name: value for name, value in os.environ.items() if name != "CI"}  # there, skips need their list
    (tmp_path / "test_one.py").write_text(TEST)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        env=here,
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert done.returncode == 0, done.stdout + done.stderr
