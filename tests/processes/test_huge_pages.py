"""Memory in large pages is the same memory, for this process and for its forks."""

from __future__ import annotations

import subprocess
import sys

import pytest

from helpers import paths
from helpers.processes import huge_pages

COLLAPSED = """
import mmap, os
from pathlib import Path
from helpers.processes.huge_pages import MADV_COLLAPSE, SIZE, collapse

size, has_them = 0, False
try:
    size = int(SIZE.read_text())
    asked = mmap.mmap(-1, 4 * size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    asked.write(bytes(len(asked)))
    asked.madvise(MADV_COLLAPSE)
    has_them = size < 4 << 20
except (OSError, ValueError):  # an older kernel, one without large pages, or no memory left for one
    pass
held = bytearray(os.urandom(1 << 20)) * 32
before = bytes(held)
made = collapse()
kilobytes = [line.split()[1] for line in Path("/proc/self/smaps_rollup").read_text().splitlines() if "AnonHuge" in line]
pid = os.fork()
if pid == 0:
    same = held == before
    held[::4096] = bytes(len(held[::4096]))
    os._exit(0 if same and held != before else 1)
assert os.waitpid(pid, 0)[1] == 0, "the fork does not see what its parent holds"
assert held == before, "what a fork writes reaches its parent"
print(int(has_them), made, made * size, 1024 * int(kilobytes[0]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has them")
def test_what_a_process_holds_stays_the_same_in_large_pages() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COLLAPSED], cwd=paths.ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    has_them, made, least, large = map(int, done.stdout.split())
    assert made or not has_them
    assert large >= least


FORKS = """
import os
from helpers.processes import huge_pages

huge_pages.collapse = lambda: print("large pages after", forks, "forks of", "it" if os.getpid() == here else "a fork")
here, forks = os.getpid(), 0
huge_pages.collapse_before_fork(3)
for forks in range(5):
    if os.fork() == 0:
        for _ in range(5):
            if os.fork() == 0:
                os._exit(0)
            os.wait()
        os._exit(0)
    os.wait()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_large_pages_are_made_once_and_only_by_a_process_that_forks_often() -> None:
    done = subprocess.run(
        [sys.executable, "-u", "-c", FORKS], cwd=paths.ROOT, capture_output=True, text=True, timeout=120
    )
    assert (done.stdout, done.stderr) == ("large pages after 2 forks of it\n", "")


def test_elsewhere_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huge_pages, "SIZE", paths.ROOT / "no such file")
    assert huge_pages.collapse() == 0
