"""What `make test` does: every stage, one after the other, and at the end which of them failed and what was left out.

`python -m ci.checkout.test [--ci | --all]`; `labbook test 03` runs the stages for one lab. Of what --ci adds, all but the
first stage ends when its minutes are spent, and says what it left out. Exit codes: 0 all stages passed, 1 one failed,
2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.environ import environ_with
from helpers import paths

PYTHON = sys.executable
LABBOOK = [PYTHON, "-m", "helpers.cli"]
LINT_IMPORTS = [str(Path(PYTHON).with_name("lint-imports")), "--no-logo", "--no-cache"]
# A worker a core, as long as the memory lasts: each holds torch and all labs. One more, since many tests wait for a
# kernel, a browser or a rank, and the core would wait with them. tests/conftest.py says what stays together.
WORKERS = min((os.cpu_count() or 1) + 1, 4)
# Without nbval, which takes seconds to import in each of them: stages that need it start it themselves.
PYTEST = [PYTHON, "-m", "pytest", "-p", "no:nbval", "-n", str(WORKERS), "--dist", "loadscope"]
PYTEST += ["--no-loadscope-reorder"]
LINTED = ["helpers", "ci", "tests", "solutions"]
REAL_CHECK = ["tests/check/test_exercises.py", "-m", "slow", "-k"]
CI_MINUTES = 28  # from the start of --ci; no test of its own stages begins later
CLOSING = re.compile(r"=*\s*(\d+ \w+.* in [\d.]+s.*?|no tests ran in .*?)\s*=*")
LEFT_OUT = re.compile(r"left out: .*")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Stage:
    """One command and what it proves."""

    title: str
    command: Sequence[str]


@dataclass(frozen=True)
class Result:
    """How a stage ended. `closing`: the lines of pytest that count, none for other commands."""

    title: str
    code: int
    seconds: float
    closing: Sequence[str] = ()


FORM = [
    Stage("ruff: errors in the code", [PYTHON, "-m", "ruff", "check", *LINTED]),
    Stage("ruff: form of the code", [PYTHON, "-m", "ruff", "format", "--check", *LINTED]),
    Stage("imports: what may import what", LINT_IMPORTS),
    Stage("labs/ is what solutions/ gives", [*LABBOOK, "derive", "--check"]),
    Stage("notebooks are in canonical form", [*LABBOOK, "format", "--check"]),
]
TESTS = Stage("tests, with every wrong and right answer", PYTEST)
RUNS = [
    Stage("solutions give their stored outputs", [*LABBOOK, "validate"]),
    Stage("labs run unsolved to their end", [*LABBOOK, "labs"]),
]
STAGES = [*FORM, TESTS, *RUNS]
# What --ci adds: always, and the most important first, as long as its minutes last.
EACH_PROPERTY = Stage(
    "a mistake at each property goes through the check itself", [*PYTEST, *REAL_CHECK, "at_each_property"]
)
CHECKED = [
    Stage("every mistake goes through the check itself", [*PYTEST, *REAL_CHECK, "finds_every_name"]),
    Stage("variants and disguises, too", [*PYTEST, *REAL_CHECK, "disguise"]),
]
MORE_STAGES = [
    Stage("slow tests", [*PYTEST, "-m", "slow"]),
    Stage("no printed digit depends on the machine", [*LABBOOK, "portable"]),
    Stage("no edited answer passes without a reason", [*LABBOOK, "mutants"]),
    Stage("everything runs anew", [*LABBOOK, "run", "--force"]),
    Stage("git sees no change", [PYTHON, "-m", "ci.checkout.unchanged"]),
]
# What --all sets for its stages: nothing is skipped because it passed before, and no kernel is forked from one that
# has loaded what a notebook may have forgotten to import.
THOROUGH = {"LABBOOK_FORCE": "1", "LABBOOK_KERNELS": "stock"}


def run(stage: Stage) -> Result:
    """Runs one stage with its output shown. Its processes end with it, also when it is interrupted."""
    print(f"\n--- {stage.title}\n    {shown(stage.command)}", flush=True)
    start, closing = time.monotonic(), []
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
            plain = COLOUR.sub("", line).strip()
            if LEFT_OUT.fullmatch(plain):
                closing.append(plain)
            elif match := CLOSING.fullmatch(plain):
                closing.append(match[1])
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


def summary(results: Sequence[Result], left_out: Sequence[Stage] = ()) -> str:
    """One line a stage, then what pytest counted, and the stages that were left out."""
    width = max(len(result.title) for result in results)
    lines = [
        f"{'passed' if result.code == 0 else 'FAILED'}  {result.title:<{width}}  {result.seconds:6.1f} s"
        for result in results
    ]
    lines += [f"pytest: {line}" for result in results for line in result.closing]
    return "\n".join(lines + [f"left out: {stage.title} ({shown(stage.command)})" for stage in left_out])


def end(number: int, frame: object) -> None:
    """A request to end is treated like Ctrl-C."""
    raise KeyboardInterrupt


def of_labs(labs: Sequence[str]) -> list[Stage]:
    """The stages with all that belongs to these labs, and nothing that belongs to others."""
    chosen = [word for lab in labs for word in ("--lab", lab)]
    tests = Stage(f"tests of {', '.join(labs)}", [*TESTS.command, *chosen])
    return [*FORM, tests, *(Stage(stage.title, [*stage.command, *labs]) for stage in RUNS)]


def test(root: Path, labs: Sequence[str]) -> int:
    """`labbook test [NN ...]`: what `make test` does, for these labs or for all. Returns the exit code."""
    return worked(of_labs(labs), {}, left_out=()) if labs else main([])


def main(arguments: Sequence[str]) -> int:
    """Runs the stages and returns the exit code."""
    kind = " ".join(arguments)
    if kind not in ("", "--ci", "--all"):
        print("usage: python -m ci.checkout.test [--ci | --all]", file=sys.stderr)
        return 2
    if kind == "--all":
        return worked([*STAGES, *MORE_STAGES], THOROUGH, left_out=())
    more = [EACH_PROPERTY, *until(time.time() + 60 * CI_MINUTES)] if kind == "--ci" else []
    return worked([*STAGES, *more], {}, left_out=MORE_STAGES[:-1])


def until(end: float) -> list[Stage]:
    """What --ci adds; no test of it begins after `end`, in seconds since 1970."""
    return [Stage(stage.title, [*stage.command, "--until", f"{end:.0f}"]) for stage in CHECKED]


def worked(stages: Sequence[Stage], environ: Mapping[str, str], *, left_out: Sequence[Stage]) -> int:
    """Runs the stages with these variables, tells how each ended, and returns the exit code."""
    results = []
    try:
        with environ_with(environ):
            for stage in stages:
                results.append(run(stage))
    except KeyboardInterrupt:
        print(f"\nstopped in: {stages[len(results)].title}", file=sys.stderr)
        return 130
    print(f"\n{summary(results, left_out)}", flush=True)
    return int(any(result.code != 0 for result in results))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, end)
    sys.exit(main(sys.argv[1:]))
