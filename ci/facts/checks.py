"""Runs the checks of facts, each in its own process: `python -m ci.facts.checks`, started by command.py.

torch is imported once, and for many checks what many of them make it load; then a child is forked per check, alone in
its session, with one thread and a time limit.
"""

from __future__ import annotations

import ast
import faulthandler
import gc
import importlib
import json
import os
import signal
import sys
import tempfile
import time
import traceback
import types
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from ci.headless import child
from helpers.processes import huge_pages

REACHED = "__labbook_reached__"


class _Counted(ast.NodeTransformer):
    """Puts a call after every assert outside functions, to see that at least one of them is reached."""

    def __init__(self) -> None:
        self.count = 0

    def visit_FunctionDef(self, node: ast.AST) -> ast.AST:  # noqa: N802
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_FunctionDef  # noqa: N815

    def visit_Assert(self, node: ast.Assert) -> list[ast.stmt]:  # noqa: N802
        self.count += 1
        call = ast.Expr(ast.Call(ast.Name(REACHED, ast.Load()), [], []))
        return [node, ast.copy_location(call, node)]


def execute(source: str, path: Path) -> None:
    """Run a check as a script of its own.

    Raises:
        AssertionError: an assert failed, or none was reached.
        Exception: whatever the check raises.
    """
    path.write_text(source, encoding="utf-8")
    counted, reached = _Counted(), []
    tree = ast.fix_missing_locations(counted.visit(ast.parse(source)))
    main = types.ModuleType("__main__")
    main.__file__ = str(path)
    setattr(main, REACHED, lambda: reached.append(1))
    sys.modules["__main__"], sys.argv = main, [str(path)]
    exec(compile(tree, str(path), "exec"), main.__dict__)
    if counted.count and not reached:
        raise AssertionError("the check came to its end, and no assert was reached")


def _child(name: str, source: str, folder: Path) -> NoReturn:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    place = folder / str(os.getpid())
    place.mkdir()
    os.environ["TMPDIR"] = tempfile.tempdir = str(place)  # what it leaves goes with the folder
    log = os.open(folder / f"{name}.log", os.O_CREAT | os.O_WRONLY, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.stdout, sys.stderr = (os.fdopen(fd, "w", buffering=1, closefd=False) for fd in (1, 2))
    faulthandler.disable()  # the parent names the signal
    code = 1
    try:
        import torch

        os.chdir(place)
        torch.set_num_threads(1)
        torch.manual_seed(0)
        execute(source, place / "check.py")
        code = 0
    except BaseException:  # also SystemExit: a check that leaves early has shown nothing
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _verdict(status: int, seconds: float, limit: float, log: Path) -> str:
    """What came of a check: "" if it passed, else what it printed last."""
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
        return ""
    if seconds > limit:
        return f"timed out after {limit:g} s"
    message = log.read_text(errors="replace").strip() if log.exists() else ""
    if os.WIFSIGNALED(status):
        message += f"\nended by {signal.Signals(os.WTERMSIG(status)).name}"
    return "\n".join(message.strip().splitlines()[-8:]) or "ended without a word"


def import_for_all(modules: Sequence[str]) -> None:
    """Import what the checks of this process, which runs nothing else, have in common, and make its forks cheap.

    In a fork a collection would touch all that was imported, and so copy it; and each fork copies the table of its pages.
    """
    gc.disable()  # imports leave little garbage, and looking for it takes a quarter of their time
    for module in modules:
        importlib.import_module(module)
    gc.freeze()
    gc.enable()
    huge_pages.collapse()


def run_checks(checks: dict[str, str], limit: float, jobs: int) -> dict[str, str]:
    """Run checks, `jobs` at a time; returns the last words of each, "" if it passed.

    Args:
        checks: Source by name.
        limit: Seconds for each.
        jobs: How many run at once.
    """
    import torch  # noqa: F401  once, for all children

    waiting, running, last_words = list(checks.items()), {}, {}
    with tempfile.TemporaryDirectory(prefix="labbook-facts-") as folder:
        while waiting or running:
            while waiting and len(running) < jobs:
                name, source = waiting.pop(0)
                sys.stdout.flush()
                if (pid := os.fork()) == 0:
                    _child(name, source, Path(folder))
                running[pid] = name, time.monotonic()
                child.announce("cell", cell=name, index=len(last_words) + len(running))
            for pid, (name, started) in list(running.items()):
                done, status = os.waitpid(pid, os.WNOHANG)
                seconds = time.monotonic() - started
                if not done and seconds <= limit:
                    continue
                if not done:
                    _kill_group(pid)
                    done, status = os.waitpid(pid, 0)
                _kill_group(pid)  # what the check started and did not end
                del running[pid]
                last_words[name] = _verdict(status, seconds, limit, Path(folder) / f"{name}.log")
            time.sleep(0.005)
    return last_words


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def main() -> int:
    """Read the checks from the file that is named, announce their last words."""
    child.begin()
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    import_for_all(["torch", *given["ahead"]])
    last_words = run_checks(given["checks"], given["limit"], given["jobs"])
    import torch

    child.announce("result", last_words=last_words, torch=torch.__version__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
