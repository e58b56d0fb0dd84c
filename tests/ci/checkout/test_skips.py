"""Skipped tests are listed with their reasons, and CI fails on one that was not expected."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from tests.conftest import ALLOWED, SPENT, piece, skip_errors

TESTS = """
import pytest

def test_runs(): pass

@pytest.mark.skip(reason="needs a GPU")
def test_skipped(): pass
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A tiny project with our conftest, one test that runs and one that is skipped."""
    (tmp_path / "tests").mkdir()
    shutil.copy(ALLOWED.with_name("conftest.py"), tmp_path / "tests")
    (tmp_path / "tests" / "test_one.py").write_text(TESTS)
    settings = '[tool.pytest.ini_options]\ntestpaths = ["tests"]\naddopts = "-rs -m \'not slow\'"\nmarkers = ["slow"]\n'
    (tmp_path / "pyproject.toml").write_text(settings)
    return tmp_path


def run(project: Path, allowed: list[str], *args: str, ci: str = "true") -> subprocess.CompletedProcess:
    (project / "tests" / "allowed_skips.yaml").write_text(yaml.safe_dump({"cpu": allowed}))
    settings = {"CI": ci, "LABBOOK_MACHINE": "cpu", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args]
    return subprocess.run(command, cwd=project, env=os.environ | settings, capture_output=True, text=True)


def test_unexpected_skip_fails_in_ci(project: Path) -> None:
    done = run(project, [])
    assert done.returncode == 1
    assert "skipped, and not allowed here: needs a GPU" in done.stdout


def test_expected_skip_passes_and_is_listed(project: Path) -> None:
    done = run(project, ["needs a GPU"])
    assert done.returncode == 0
    assert "SKIPPED [1] tests/test_one.py" in done.stdout and "needs a GPU" in done.stdout


@pytest.mark.parametrize(
    ("allowed", "code"), [(["needs a GPU"], 0), ([], 1), (["needs a GPU", "needs a moon"], 1)]
)
def test_the_list_holds_for_tests_on_several_cores(project: Path, allowed: list[str], code: int) -> None:
    (project / "tests" / "test_two.py").write_text(TESTS)
    done = run(project, allowed, "-p", "xdist", "-n", "2", "--dist", "loadscope")
    assert done.returncode == code, done.stdout
    assert "2 passed, 2 skipped" in done.stdout


def test_skip_that_did_not_occur_fails_in_ci(project: Path) -> None:
    done = run(project, ["needs a GPU", "needs a moon"])
    assert done.returncode == 1
    assert "nothing was skipped for it: needs a moon" in done.stdout


def test_part_of_the_tests_need_not_meet_the_whole_list(project: Path) -> None:
    assert run(project, ["needs a GPU", "needs a moon"], "tests/test_one.py").returncode == 0


def test_outside_ci_nothing_is_held_to_the_list(project: Path) -> None:
    assert run(project, [], ci="").returncode == 0


def test_faults_name_both_directions() -> None:
    errors = skip_errors({"a"}, {"b"}, whole=True)
    assert errors == [
        "skipped, and not allowed here: a",
        "allowed here, but nothing was skipped for it: b",
    ]


def test_list_knows_both_kinds_of_machine() -> None:
    lists = yaml.safe_load(ALLOWED.read_text())
    assert set(lists) == {"cpu", "gpu", "slow"} and SPENT in lists["slow"]


@pytest.mark.parametrize(
    ("nodeid", "what"),
    [
        ("tests/check/test_exercises.py::test_right_answers_pass[03.conv2d]", "answers-03.conv2d"),
        (
            "tests/check/test_exercises.py::test_mistake_is_rejected_and_named[03.conv2d-no_bias]",
            "answers-03.conv2d",
        ),
        ("tests/check/test_messages.py::test_messages_are_as_they_were_read[03.conv2d]", "answers-03.conv2d"),
        (
            "tests/check/test_messages.py::test_the_catalogue_has_the_order_of_the_cells[03]",
            "tests/check/test_messages.py",
        ),
        ("tests/browser/test_journey.py::test_the_whole_journey[03_autograd]", "journey-03"),
        ("tests/ci/facts/test_facts.py::test_fact[03-leaf]", "tests/ci/facts/test_facts.py"),
        ("tests/test_digits.py::test_an_unknown_split_is_named", "tests/test_digits.py"),
    ],
)
def test_what_belongs_together(nodeid: str, what: str) -> None:
    assert piece(nodeid) == what


def test_a_piece_of_work_has_one_worker(project: Path) -> None:
    shows = "import os, pytest\n\n@pytest.mark.parametrize('n', range(6))\ndef test(n): print('in', os.getppid(), os.getpid())\n"
    (project / "tests" / "test_one.py").write_text(shows)
    done = run(project, [], "-p", "xdist", "-n", "2", "--dist", "loadscope", "-rP")
    workers = {line for line in done.stdout.splitlines() if line.startswith("in ")}
    assert done.returncode == 0 and len(workers) == 1, done.stdout


SLOW_TEST = """
import pytest

@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2])
def test_slow(number): pass
"""


@pytest.mark.parametrize("cores", [[], ["-p", "xdist", "-n", "2"]], ids=["one", "several"])
def test_a_run_says_which_slow_tests_it_left_out(project: Path, cores: list[str]) -> None:
    (project / "tests" / "test_two.py").write_text(SLOW_TEST)
    done = run(project, ["needs a GPU"], *cores)
    assert "left out: 2 slow tests\n     2  tests/test_two.py::test_slow" in done.stdout
    done = run(project, [], "-m", "slow")
    assert "left out" not in done.stdout


LATE = """
import conftest, pytest

class Later:
    time = lambda: float("inf")

@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2, 3])
def test_slow(number):
    conftest.time = Later
    assert number != FAILS
"""


@pytest.mark.parametrize("cores", [[], ["-p", "xdist", "-n", "1"]], ids=["one", "several"])
@pytest.mark.parametrize(("fails", "code"), [(0, 0), (1, 1)])
def test_what_would_begin_too_late_is_left_out_and_hides_no_failure(
    project: Path, cores: list[str], fails: int, code: int
) -> None:
    (project / "tests" / "test_one.py").write_text(LATE.replace("FAILS", str(fails)))
    done = run(project, [SPENT], "-m", "slow", "--until", str(time.time() + 3600), *cores)
    assert done.returncode == code, done.stdout
    assert f"{'1 failed' if fails else '1 passed'}, 2 skipped" in done.stdout
    assert f"left out: 2 tests, since {SPENT}" in done.stdout


OF_A_LAB = """
import pytest

@pytest.mark.parametrize("about", ["03.conv2d-wrong", "03_autograd", "03", "04.step", "030", "3"])
def test_about(about): pass
"""


def test_one_lab_has_the_tests_that_name_it(project: Path) -> None:
    (project / "solutions").mkdir()
    (project / "solutions" / "03_autograd.ipynb").touch()
    (project / "tests" / "labs").mkdir()
    (project / "tests" / "labs" / "test_autograd_engine.py").write_text("def test_engine(): pass")
    (project / "tests" / "labs" / "test_optim.py").write_text("def test_optim(): pass")
    (project / "tests" / "test_two.py").write_text(OF_A_LAB)
    done = run(project, [], "--lab", "03", "-vv")
    passed = [line.split()[0].rpartition("::")[2] for line in done.stdout.splitlines() if " PASSED " in line]
    assert passed == [
        "test_engine",
        "test_about[03.conv2d-wrong]",
        "test_about[03_autograd]",
        "test_about[03]",
    ]
