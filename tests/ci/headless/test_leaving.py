"""A process that leaves without taking its modules apart has done all else that Python does at its end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from helpers import paths

SOURCE = """
import atexit, ctypes, sys, threading, time
from ci.headless.child import leave

class Kept:
    def __del__(self):
        print("taken apart", flush=True)

sys.kept, sys.text, sys.binary = Kept(), open("text", "w"), open("binary", "wb")
sys.text.write("from Python")
sys.binary.write(b"bytes")
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
libc.fputs(b"from C", ctypes.c_void_p(libc.fopen(b"c", b"w")))
atexit.register(print, "exit function")
threading.Thread(target=lambda: (time.sleep(0.3), print("thread"))).start()
leave(3)
"""


def test_threads_exit_functions_and_open_files_are_as_at_any_end(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", SOURCE],
        cwd=tmp_path,
        env={"PYTHONPATH": str(paths.ROOT)},
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("thread\nexit function\n", "", 3)
    kept = [(tmp_path / name).read_text() for name in ("text", "binary", "c")]
    assert kept == ["from Python", "bytes", "from C"]
