"""What the rows of `labbook bench` share: rounds and their arithmetic, timed commands, copies, the plain tools."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from ci.bench.timing import peak_memory, tools
from ci.bench.timing.commands import timed
from ci.bench.timing.project import numbers, small_notebooks
from ci.bench.timing.rounds import added, beyond, in_turn, ratio, spread
from ci.bench.timing.stock import seconds_inside
from ci.notebooks.files import Problem, notebooks
from helpers import paths
from tests.support.project import code, store

ROOT = paths.ROOT


def test_calls_take_turns_and_every_second_round_goes_backwards(capsys: pytest.CaptureFixture[str]):
    order: list[str] = []

    def call(name: str) -> float:
        order.append(name)
        return float(len(order))

    found = in_turn({"a": lambda: call("a"), "b": lambda: call("b")}, 3, "test")
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert found == {"a": [1.0, 4.0, 5.0], "b": [2.0, 3.0, 6.0]}
    assert "test, round 3 of 3: b: 6.00" in capsys.readouterr().err


def test_medians_spreads_and_ratios():
    assert spread([3.0, 1.0, 2.0]) == "2.00 (1.00..3.00)" and spread([250.4]) == "250"
    assert ratio([1.0, 2.0, 3.0], [4.0, 4.0, 4.0]) == "0.500 (0.250..0.750)"
    assert ratio([1.0, 9.0], [2.0]) == "2.50" and ratio([1.0], [4.0]) == "0.250"
    assert ratio([-1.0, 2.0], [4.0, 4.0]) == "-" and ratio([1.0], [0.0]) == "-"
    assert added([1.0, 2.0], [10.0, 20.0]) == [11.0, 22.0] and beyond([5.0, 7.0], [1.0, 2.0]) == [4.0, 5.0]


def python(source: str) -> list[str]:
    return [sys.executable, "-c", source]


def test_a_command_is_timed_with_what_it_says(tmp_path: Path):
    ended = timed(python("print(sum(i for i in range(10**6)))"), tmp_path, os.environ)
    assert ended.output == "499999500000\n" and ended.seconds > 0 and ended.peak_mb is None
    assert ended.cpu_seconds > 0


def test_every_command_has_the_same_environment(tmp_path: Path):
    """Else `labbook` would take every call for one in new surroundings, and skip nothing."""
    show = python("import os; print(sorted(os.environ.items()))")
    assert timed(show, tmp_path, os.environ).output == timed(show, tmp_path, os.environ).output


def test_a_command_that_fails_has_no_time(tmp_path: Path):
    complain = python("import sys; sys.exit('the disk is full')")
    with pytest.raises(
        Problem, match=r"(?s)python.* ended with exit code 1; its last words:\n    the disk is full"
    ):
        timed(complain, tmp_path, os.environ)
    assert timed(complain, tmp_path, os.environ, ok=(0, 1)).seconds > 0


@pytest.mark.parametrize("below", [False, True], ids=["itself", "its child"])
def test_memory_is_that_of_a_process_and_all_below_it(below: bool):
    holds = "kept = bytearray(b'x') * 100_000_000\nprint('ready', flush=True)\ninput()"
    source = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {holds!r}])" if below else holds
    with subprocess.Popen(python(source), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        with peak_memory.Peak(process.pid) as peak:
            end = time.monotonic() + 60
            while peak.mb is None and time.monotonic() < end:
                time.sleep(0.05)
            assert 100 < peak.mb < 300
        process.communicate(b"\n")
    assert peak_memory.megabytes(process.pid) == 0


def test_small_notebooks_stand_in_a_copy_that_uses_its_own_code():
    with small_notebooks(ROOT, 2) as project:
        for folder in ("solutions", "labs"):
            assert [path.stem for path in notebooks(project / folder)] == ["50_small", "51_small"]
        assert [path.stem for path in notebooks(project / "labs", numbers(1))] == ["50_small"]
        where = timed(
            python("import ci; from helpers import paths; print(ci.__file__, paths.ROOT)"),
            project,
            os.environ,
        ).output
        assert where.split() == [str(project / "ci" / "__init__.py"), str(project)]
    assert not project.exists()


def test_the_time_inside_cells_is_what_the_kernel_was_busy():
    stamps = {
        "iopub.status.busy": "2026-01-01T00:00:01.500000Z",
        "shell.execute_reply": "2026-01-01T00:00:04.000000Z",
    }
    cells = [
        new_code_cell("1", metadata={"execution": stamps}),
        new_code_cell("", metadata={"execution": {}}),
    ]
    assert seconds_inside([nbformat.from_dict(cell) for cell in [*cells, new_code_cell("")]]) == 2.5


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one notebook that shows its surroundings; an environment that asks for kernels that are not there."""
    for name in ("JUPYTER_DEFAULT_PROVISIONER_NAME", "LABBOOK_FORCE"):
        monkeypatch.setenv(name, "forked")
    cell = code(
        "shows", "import os\n" + "[os.environ.get('LABBOOK_' + name) for name in ('STRICT', 'KERNELS')]"
    )
    cell.execution_count = 1
    for folder in ("solutions", "labs"):
        store(tmp_path / folder / "01_shows.ipynb", cell)
    return tmp_path


def shown(path: Path) -> str:
    """What the last cell of a notebook shows."""
    return nbformat.read(path, 4).cells[-1].outputs[0].data["text/plain"]


@pytest.mark.slow
def test_the_plain_tools_run_in_the_environment_of_the_jobs_with_stock_kernels(project: Path):
    solved, unsolved = notebooks(project / "solutions"), notebooks(project / "labs")
    assert tools.plain_seconds(project, tools.papermill(solved, project), strict=True) > 0
    assert shown(project / "01_shows.ipynb") == "['1', 'stock']"
    assert tools.plain_seconds(project, tools.execute(unsolved), strict=False) > 0
    assert shown(project / "executed-01_shows.ipynb") == "[None, 'stock']"
    [nbval] = tools.nbval(solved)
    assert "1 failed" in tools.as_a_job(project, nbval, strict=True, ok=tools.RAN).output
    with pytest.raises(Problem, match="exit code 1"):  # the stored notebook has no output
        tools.plain_seconds(project, [nbval], strict=True)
