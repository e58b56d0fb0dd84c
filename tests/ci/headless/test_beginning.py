"""A run with a kernel server begins with the server, which imports for seconds while the run gets ready."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ci.headless import run
from ci.headless.jobs import Outcome
from ci.headless.warm.owner import Kernels
from helpers import paths
from tests.support.project import code, store


@pytest.mark.parametrize("command", ["run", "validate", "labs"])
def test_what_takes_long_to_import_waits_until_the_server_has_begun(command: str):
    source = f"import sys, ci.headless.{command}\nprint({{'nbformat', 'numpy', 'rich', 'torch'}} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", source], cwd=paths.ROOT, capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("set()", "")


@pytest.mark.parametrize(
    ("force", "passed", "needed"), [(True, True, True), (False, True, False), (False, False, True)]
)
def test_the_server_begins_before_notebooks_are_read_and_only_for_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, force: bool, passed: bool, needed: bool
):
    steps: list[object] = []

    @contextmanager
    def kernels(root: Path, needed: bool) -> Iterator[Kernels]:
        steps.append(needed)
        yield Kernels()
        steps.append("end")

    def outcomes(jobs: list[str], root: Path, task: str, judge: object, served: Kernels) -> list[Outcome]:
        steps.append(jobs)
        return [Outcome(name) for name in jobs]

    def make(path: Path) -> str:
        steps.append("made")
        return path.stem

    monkeypatch.setattr(run, "kernels", kernels)
    monkeypatch.setattr(run, "outcomes", outcomes)
    monkeypatch.setattr(run.Cache, "recall", lambda self, path: {} if passed else None)
    store(tmp_path / "solutions" / "01_one.ipynb", code("one", "1"))
    [done] = run.worked(tmp_path, "solutions", [], "run", make, force=force)
    assert steps == ([True, "made", ["01_one"], "end"] if needed else [False, "end"])
    assert done.unchanged == (not needed)
