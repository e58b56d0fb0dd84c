"""The plain tools that people would use without `labbook`, and `labbook` itself, as commands that are timed."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ci.bench.timing.commands import Ended, timed
from ci.headless.kernels import cell_seconds, environment
from ci.headless.stored import SANITIZER

Command = list[str]
WARM = ("JUPYTER_DEFAULT_PROVISIONER_NAME",)  # would give a plain tool another kernel than the stock one
RAN = (
    0,
    1,
)  # pytest has run all cells; 1: an output is not the stored one, as plain nbval says of volatile cells


def papermill(notebooks: Sequence[Path], out: Path) -> list[Command]:
    """One command a notebook: papermill takes one at a time."""
    limit = ["--execution-timeout", f"{cell_seconds():.0f}"]
    return [
        _python(
            "papermill", str(path), str(out / path.name), "-k", "python3", "--cwd", str(path.parent), *limit
        )
        for path in notebooks
    ]


def nbval(notebooks: Sequence[Path], *more: str) -> list[Command]:
    """One command for all. --tb=no: where plain nbval finds a difference, showing it shall cost nothing."""
    options = [
        "--nbval",
        "--nbval-current-env",
        "--nbval-cell-timeout",
        f"{cell_seconds():.0f}",
        "-q",
        "--tb=no",
    ]
    options += ["--nbval-sanitize-with", str(SANITIZER)]
    # The project's own settings for its tests have no business here.
    options += ["-c", os.devnull, "--rootdir", str(notebooks[0].parent), "-p", "no:cacheprovider"]
    return [_python("pytest", *options, *more, *map(str, notebooks))]


def execute(notebooks: Sequence[Path]) -> list[Command]:
    """`jupyter execute`, one command for all; what comes is written beside the folder, as executed-*.ipynb."""
    options = ["--output", "../executed-{notebook_name}", "--timeout", f"{cell_seconds():.0f}"]
    # What the command `jupyter-execute` does, without the search for it.
    return [[sys.executable, "-c", "from nbclient.cli import main; main()", *options, *map(str, notebooks)]]


def has_xdist() -> bool:
    """Whether pytest can run files side by side."""
    return importlib.util.find_spec("xdist") is not None


def plain_seconds(
    project: Path, commands: Sequence[Command], *, strict: bool, ok: Sequence[int] = (0,)
) -> float:
    """Seconds of commands, one after another, in the environment that `labbook` gives its jobs, with stock kernels.

    Args:
        project: The copy of the project.
        commands: What to run.
        strict: Whether a check that is not passed raises, as in `labbook run` and `validate`.
        ok: The exit codes with which the time counts.
    """
    return sum(as_a_job(project, command, strict=strict, ok=ok).seconds for command in commands)


def as_a_job(project: Path, command: Command, *, strict: bool, ok: Sequence[int] = (0,)) -> Ended:
    """One command in the environment that `labbook` gives its jobs, with stock kernels."""
    with tempfile.TemporaryDirectory(prefix="labbook-bench-") as folder:
        env = environment(project, Path(folder), strict=strict) | {"LABBOOK_KERNELS": "stock"}
        env = {name: value for name, value in env.items() if name not in WARM}
        return timed(command, project, env, ok=ok)


def own_seconds(project: Path, notebooks: Sequence[Path], *, strict: bool) -> float:
    """The cells' own time: their seconds in a stock kernel that has torch, torchvision and matplotlib imported."""
    command = _python("ci.bench.timing.stock", "own", *map(str, notebooks))
    return sum(json.loads(as_a_job(project, command, strict=strict).output))


def labbook(
    project: Path, *words: str, memory: bool = False, cores: Sequence[int] = (), jobs: int = 0
) -> Ended:
    """The `labbook` command as a person calls it, in a copy of the project.

    Args:
        project: The copy.
        words: Command, numbers and options.
        memory: Whether to watch its memory.
        cores: The cores it may use; none for all.
        jobs: How many notebooks at once; 0 for what it takes itself.
    """
    env = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "LABBOOK_FORCE"))
    }
    if jobs:
        env["LABBOOK_JOBS"] = str(jobs)
    return timed(_python("helpers.cli", *words), project, env, memory=memory, cores=cores)


def _python(module: str, *words: str) -> Command:
    return [sys.executable, "-m", module, *words]
