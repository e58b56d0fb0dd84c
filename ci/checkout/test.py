"""What `make test` does: every stage, one after the other, and at the end which of them failed.

`python -m ci.checkout.test [--all]`. Exit codes: 0 all stages passed, 1 one failed, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.environ import environ_with
from helpers import paths

PYTHON = sys.executable
LABBOOK = [PYTHON, "-m", "helpers.cli"]
LINT_IMPORTS = [str(Path(PYTHON).with_name("lint-imports")), "--no-logo", "--no-cache"]
# A worker a core, as long as the memory lasts: each holds torch and all labs. tests/conftest.py says what stays together.
WORKERS = min(os.cpu_count() or 1, 4)
PYTEST = [PYTHON, "-m", "pytest", "-n", str(WORKERS), "--dist", "loadscope", "--no-loadscope-reorder"]
LINTED = ["helpers", "ci", "tests", "solutions"]
CLOSING = re.compile(r"=*\s*(\d+ \w+.* in [\d.]+s.*?|no tests ran in .*?)\s*=*")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Stage:
    """One command and what it proves."""

    title: str
    command: Sequence[str]


@dataclass(frozen=True)
class Result:
    """How a stage ended. `closing` is pytest's last line, '' for other commands."""

    title: str
    code: int
    seconds: float
    closing: str = ""


STAGES = [
    Stage("ruff: errors in the code", [PYTHON, "-m", "ruff", "check", *LINTED]),
    Stage("ruff: form of the code", [PYTHON, "-m", "ruff", "format", "--check", *LINTED]),
    Stage("imports: what may import what", LINT_IMPORTS),
    Stage("labs/ is what solutions/ gives", [*LABBOOK, "derive", "--check"]),
    Stage("notebooks are in canonical form", [*LABBOOK, "format", "--check"]),
    Stage("tests, with every wrong and right answer", PYTEST),
    Stage("solutions give their stored outputs", [*LABBOOK, "validate"]),
    Stage("labs run unsolved to their end", [*LABBOOK, "labs"]),
]
MORE_STAGES = [
    Stage("slow tests", [*PYTEST, "-m", "slow"]),
    Stage("no printed digit depends on the machine", [*LABBOOK, "portable"]),
    Stage("everything runs anew", [*LABBOOK, "run", "--force"]),
    Stage("git sees no change", [PYTHON, "-m", "ci.checkout.unchanged"]),
]
# What --all sets for its stages: nothing is skipped because it passed before, and no kernel is forked from one that
# has loaded what a notebook may have forgotten to import.
THOROUGH = {"LABBOOK_FORCE": "1", "LABBOOK_KERNELS": "stock"}


def run(stage: Stage) -> Result:
    """Runs one stage with its output shown. Its processes end with it, also when it is interrupted."""
    print(f"\n--- {stage.title}\n    {shown(stage.command)}", flush=True)
    start, closing = time.monotonic(), ""
    colour = ["--color=yes"] if "pytest" in stage.command and sys.stdout.isatty() else []
    process = subprocess.Popen(
        [*stage.command, *colour],
        cwd=paths.ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if "pytest" in stage.command else None,
        text=True,
        errors="replace",
        start_new_session=True,  # Ctrl-C reaches only us, and we pass it on once
    )
    try:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            if match := CLOSING.fullmatch(COLOUR.sub("", line).strip()):
                closing = match[1]
        code = process.wait()
    except BaseException:
        stop(process)
        raise
    return Result(stage.title, code, time.monotonic() - start, closing)


def stop(process: subprocess.Popen) -> None:
    """Ends a stage as Ctrl-C does, so that it can clean up; by force where it does not."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def shown(command: Sequence[str]) -> str:
    """The command as a person would type it."""
    words = " ".join(command).replace(" ".join(LABBOOK), "labbook")
    return words.replace(f"{PYTHON} -m ", "").replace(f"{Path(PYTHON).parent}{os.sep}", "")


def summary(results: Sequence[Result]) -> str:
    """One line a stage, then the closing lines of pytest."""
    width = max(len(result.title) for result in results)
    lines = [
        f"{'passed' if result.code == 0 else 'FAILED'}  {result.title:<{width}}  {result.seconds:6.1f} s"
        for result in results
    ]
    return "\n".join(lines + [f"pytest: {result.closing}" for result in results if result.closing])


def end(number: int, frame: object) -> None:
    """A request to end is treated like Ctrl-C."""
    raise KeyboardInterrupt


def main(arguments: Sequence[str]) -> int:
    """Runs the stages and returns the exit code."""
    if list(arguments) not in ([], ["--all"]):
        print("usage: python -m ci.checkout.test [--all]", file=sys.stderr)
        return 2
    stages = STAGES + MORE_STAGES * bool(arguments)
    results = []
    try:
        with environ_with(THOROUGH if arguments else {}):
            for stage in stages:
                results.append(run(stage))
    except KeyboardInterrupt:
        print(f"\nstopped in: {stages[len(results)].title}", file=sys.stderr)
        return 130
    print(f"\n{summary(results)}", flush=True)
    return int(any(result.code != 0 for result in results))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, end)
    sys.exit(main(sys.argv[1:]))
