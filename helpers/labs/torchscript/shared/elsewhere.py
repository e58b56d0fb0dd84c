"""A Python that has torch and a program, and knows nothing of the notebook: no class of it can be imported there.

In a lab this is a new process of Python. In a check it is a fork, from which all that is not torch's or Python's own
is taken away: the same for a program, and a hundred times quicker.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
import tempfile
import traceback
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HIDDEN = (
    "import sys; sys.modules['helpers'] = None\n"  # this project is installed: that would be no elsewhere
)
SECONDS = 180  # torch.export.load imports much: 5 on a quiet machine

_forks = False


def elsewhere(program: str, *arguments: object) -> str:
    """What a Python program prints in another process, one that cannot import anything of this notebook.

    Args:
        program: Its text.
        arguments: What it finds in `sys.argv[1:]`, as text. A Path is made absolute; a str goes as it is, and the
            process stands in an empty folder.

    Raises:
        RuntimeError: the program failed; the message ends with the last line of its error.
    """
    words = [str(word.resolve()) if isinstance(word, Path) else str(word) for word in arguments]
    with tempfile.TemporaryDirectory() as empty:
        run = _fork if _forks and hasattr(os, "fork") else _start
        code, printed, message = run(program, words, empty)
    if code:
        last = (message.strip().splitlines() or [f"it ended with code {code}"])[-1]
        raise RuntimeError(f"the other process failed: {last}")
    return printed


@contextmanager
def forks() -> Iterator[None]:
    """In this block `elsewhere` forks instead of starting a new Python."""
    global _forks
    before, _forks = _forks, True
    try:
        yield
    finally:
        _forks = before


def _start(program: str, words: list[str], empty: str) -> tuple[int, str, str]:
    command = [sys.executable, "-I", "-c", HIDDEN + program, *words]
    done = subprocess.run(command, cwd=empty, capture_output=True, text=True, timeout=SECONDS)
    return done.returncode, done.stdout, done.stderr


def _fork(program: str, words: list[str], empty: str) -> tuple[int, str, str]:
    with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as message:
        child = os.fork()
        if not child:
            _obey(program, words, empty, printed.fileno(), message.fileno())
        _, status = os.waitpid(child, 0)
        texts = []
        for file in (printed, message):
            file.seek(0)
            texts.append(file.read())
    return os.waitstatus_to_exitcode(status), *texts


def _obey(program: str, words: list[str], empty: str, out: int, err: int) -> None:
    """Runs the program in a fork; does not return."""
    code = 1
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)
        _forget(words, empty)
        exec(compile(program, "<string>", "exec"), vars(sys.modules["__main__"]))
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _forget(words: list[str], empty: str) -> None:
    """What a new Python would not know."""
    import torch

    torch.set_num_threads(1)  # the pool of threads does not survive a fork
    torch.manual_seed(torch.initial_seed() ^ 0xE15E)  # another process draws other numbers
    os.chdir(empty)
    own = tuple({sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")})
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and not file.startswith(own):
            del sys.modules[name]
    sys.modules["helpers"] = None
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.path[:] = [place for place in sys.path if place.startswith(own) or place.endswith(".zip")]
    sys.argv = ["-c", *words]
