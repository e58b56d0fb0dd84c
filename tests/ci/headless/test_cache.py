"""What has not changed since it passed is not run again, and everything that can change an output is a change."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ci.checkout import test as stages
from ci.headless import fingerprint, pool
from ci.headless.cache import Cache
from ci.headless.labs import labs
from ci.headless.run import run
from ci.headless.validate import validate
from helpers.cli import app
from tests.support.project import code, output_of, put_registry, store

RESULT = {"cells": 1, "verdicts": {"passed": 2}}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that brings its own helpers, ci and data; only they count here, and kernels are stock."""
    root = tmp_path / "project"
    store(root / "solutions" / "01_one.ipynb", code("one", "1 + 1"))
    store(root / "labs" / "00_start.ipynb", code("start", "0"))
    store(root / "labs" / "01_one.ipynb", code("one", "1"))
    store(root / "labs" / "02_two.ipynb", code("two", "2"))
    for name in ("helpers/__init__.py", "helpers/deep/inside.py", "ci/part.py", "data/numbers.csv"):
        put(root / name, "1\n")
    put(root / "requirements.lock", "torch==1\n")
    put(tmp_path / "elsewhere.py", "1\n")
    (root / "helpers" / "link.py").symlink_to(tmp_path / "elsewhere.py")
    monkeypatch.setattr(fingerprint, "OWN", ())
    monkeypatch.setenv("LABBOOK_KERNELS", "stock")
    return root


def put(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def remembered(root: Path, task: str = "labs", notebook: str = "labs/01_one.ipynb") -> bool:
    """Whether the notebook would be skipped."""
    return Cache(root, task).recall(root / notebook) is not None


def passes(root: Path, task: str = "labs", notebook: str = "labs/01_one.ipynb") -> None:
    """The notebook has run, and passed."""
    passed = Cache(root, task)
    passed.recall(root / notebook)
    passed.remember(root / notebook, RESULT)
    assert remembered(root, task, notebook)


def test_the_result_comes_back_whole(project: Path):
    passes(project)
    assert Cache(project, "labs").recall(project / "labs" / "01_one.ipynb") == RESULT
    assert not remembered(project, "validate") and not remembered(project, notebook="labs/02_two.ipynb")


def with_the_same_times(path: Path, text: str) -> None:
    """Other contents of the same length, written within the same tick of the clock."""
    times = path.stat()
    assert len(text) == times.st_size
    path.write_text(text)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "a cell": lambda root: store(root / "labs" / "01_one.ipynb", code("one", "2")),
    "one byte of the notebook": lambda root: (root / "labs" / "01_one.ipynb").open("a").write("\n"),
    "the solution that the lab shows": lambda root: (
        (root / "solutions" / "01_one.ipynb").open("a").write("\n")
    ),
    "a helper, within one tick of the clock": lambda root: with_the_same_times(
        root / "helpers" / "deep" / "inside.py", "2\n"
    ),
    "a new helper": lambda root: put(root / "helpers" / "new.py", ""),
    "a helper that is gone": lambda root: (root / "helpers" / "deep" / "inside.py").unlink(),
    "a helper with another name": lambda root: (root / "helpers" / "deep").rename(root / "helpers" / "low"),
    "a helper behind a link": lambda root: put(root.parent / "elsewhere.py", "2\n"),
    "the machinery": lambda root: put(root / "ci" / "part.py", "2\n"),
    "data": lambda root: put(root / "data" / "numbers.csv", "2\n"),
    "the lock": lambda root: put(root / "requirements.lock", "torch==2\n"),
    "a module beside the notebook": lambda root: put(root / "labs" / "torch.py", ""),
    "a module at the top": lambda root: put(root / "torch.py", ""),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_noticed(project: Path, change: Callable[[Path], object]):
    passes(project)
    change(project)
    assert not remembered(project)


@pytest.mark.parametrize(
    "name", ["LABBOOK_CHECK_SEED", "LABBOOK_CELL_SECONDS", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "LANG"]
)
def test_a_variable_that_changes_what_runs_is_noticed(
    project: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    passes(project)
    monkeypatch.setenv(name, "7")
    assert not remembered(project)


def test_another_package_gpu_or_compiler_is_noticed(project: Path, monkeypatch: pytest.MonkeyPatch):
    site, tools = project.parent / "site-packages", project.parent / "tools"
    put(site / "torch-1.dist-info" / "RECORD", "torch/__init__.py,sha256=1,1\n")
    put(tools / "cmake", "")
    (tools / "cmake").chmod(0o755)
    monkeypatch.syspath_prepend(site)
    passes(project)
    put(site / "torch-1.dist-info" / "RECORD", "torch/__init__.py,sha256=2,1\n")
    assert not remembered(project)
    passes(project)
    (site / "torch-1.dist-info").rename(site / "torch-2.dist-info")
    assert not remembered(project)
    passes(project)
    monkeypatch.setattr(fingerprint, "gpus", lambda: ("driver 1", "GPU"))
    assert not remembered(project)
    passes(project)
    monkeypatch.setenv("PATH", str(tools))
    assert not remembered(project)


def test_the_start_page_depends_on_every_lab_and_a_lab_does_not(project: Path):
    passes(project, notebook="labs/00_start.ipynb")
    passes(project)
    store(project / "labs" / "02_two.ipynb", code("two", "3"))
    assert not remembered(project, notebook="labs/00_start.ipynb") and remembered(project)


def test_what_changes_no_output_is_no_change(project: Path, monkeypatch: pytest.MonkeyPatch):
    passes(project)
    put(project / "helpers" / "__pycache__" / "new.pyc", "")
    put(project / "labs" / ".ipynb_checkpoints" / "01_one-checkpoint.py", "")
    put(project / "README.md", "")
    os.utime(project / "helpers" / "__init__.py", (1, 1))
    monkeypatch.setenv("LABBOOK_JOBS", "7")
    monkeypatch.setenv("SHLVL", "7")
    assert remembered(project)


def test_what_passed_in_a_forked_kernel_is_run_for_somebody_who_asks_for_stock(
    project: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("LABBOOK_KERNELS")
    passes(project)
    assert remembered(project)
    monkeypatch.setenv("LABBOOK_KERNELS", "stock")
    assert not remembered(project)


@pytest.mark.parametrize("edited", ["labs/01_one.ipynb", "helpers/__init__.py", "data/numbers.csv"])
def test_what_is_edited_while_it_runs_is_not_remembered(project: Path, edited: str):
    """Nor is it once the edit is taken back: nobody knows which of the two has run."""
    passed, before = Cache(project, "labs"), (project / edited).read_bytes()
    passed.recall(project / "labs" / "01_one.ipynb")
    (project / edited).write_bytes(before + b"\n")
    passed.remember(project / "labs" / "01_one.ipynb", RESULT)
    assert not remembered(project)
    (project / edited).write_bytes(before)
    assert not remembered(project)


def kept(root: Path) -> Path:
    [path] = (root / ".labbook" / "passed").iterdir()
    return path


def changed_result(path: Path) -> None:
    entry = json.loads(path.read_text())
    entry["passed"]["result"]["cells"] = 2
    path.write_text(json.dumps(entry))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "half-written": lambda path: path.write_bytes(path.read_bytes()[:50]),
    "empty": lambda path: path.write_text(""),
    "no text": lambda path: path.write_bytes(b"\xff\x00"),
    "deep": lambda path: path.write_text("[" * 100_000),
    "another kind of JSON": lambda path: path.write_text("[1]"),
    "a result changed by hand": changed_result,
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "of another notebook": lambda path: path.rename(path.with_name("labs-02_two.json")),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_memory_only_costs_a_run(project: Path, damage: Callable[[Path], object]):
    passes(project)
    damage(kept(project))
    assert not remembered(project) and not remembered(project, notebook="labs/02_two.ipynb")


def test_a_memory_that_cannot_be_kept_or_made_only_costs_a_run(project: Path):
    put(project / ".labbook", "in the way")
    passed = Cache(project, "labs")
    passed.recall(project / "labs" / "01_one.ipynb")
    passed.remember(project / "labs" / "01_one.ipynb", RESULT)
    assert not remembered(project)


def test_links_that_lead_nowhere_or_in_a_circle_do_no_harm(project: Path):
    (project / "helpers" / "gone.py").symlink_to("nowhere")
    (project / "helpers" / "circle").symlink_to(project / "helpers")
    os.mkfifo(project / "data" / "pipe")
    passes(project)


def rows(heard: str, notebook: str) -> list[str]:
    """The words of the notebook's row in the table."""
    [line] = [line for line in heard.splitlines() if line.startswith(notebook)]
    return line.split()


def test_a_second_run_skips_and_its_row_is_whole(project: Path, monkeypatch: pytest.MonkeyPatch):
    notebook = project / "solutions" / "01_one.ipynb"
    assert output_of(lambda: run(project, [], force=False))[0] == 0
    before = notebook.read_bytes()
    monkeypatch.setattr(pool, "_Running", None)  # whatever starts a job from here on fails
    failed, heard = output_of(lambda: run(project, [], force=False))
    assert failed == 0 and rows(heard, "01_one") == ["01_one", "unchanged", "1", "unchanged", "-"]
    assert "1 of 1 notebooks well; 1 not run, unchanged since they passed (--force runs them)" in heard
    assert notebook.read_bytes() == before
    with pytest.raises(TypeError):
        output_of(lambda: run(project, [], force=True))


def test_outputs_edited_by_hand_are_validated_again(project: Path, monkeypatch: pytest.MonkeyPatch):
    one = code("one", "1 + 1")
    one.execution_count, one.outputs = 1, [result("2")]
    notebook = store(project / "solutions" / "01_one.ipynb", one)
    assert output_of(lambda: validate(project, []))[0] == 0
    with monkeypatch.context() as patch:
        patch.setattr(pool, "_Running", None)
        failed, heard = output_of(lambda: validate(project, []))
    assert failed == 0 and rows(heard, "01_one") == ["01_one", "unchanged", "1", "1", "of", "1", "100%", "-"]
    notebook.write_text(notebook.read_text().replace('"2"', '"3"'))
    for _ in range(2):  # what fails is not remembered
        failed, heard = output_of(lambda: validate(project, []))
        assert failed == 1 and "cell one: the output is not the stored one" in heard


def result(text: str) -> dict:
    """An output as a stored notebook holds it."""
    import nbformat

    return nbformat.v4.new_output("execute_result", data={"text/plain": text}, execution_count=1)


REGISTRY = "def ids(stem):\n    return {'exercises': [], 'predictions': ['01.guess']}\n"


def test_labs_are_skipped_and_their_row_is_whole(project: Path, monkeypatch: pytest.MonkeyPatch):
    put_registry(project, REGISTRY)
    store(project / "labs" / "01_one.ipynb", code("guess", "print('not attempted: 01.guess')"))
    assert output_of(lambda: labs(project, ["1"]))[0] == 0
    monkeypatch.setattr(pool, "_Running", None)
    failed, heard = output_of(lambda: labs(project, ["1"]))
    assert failed == 0
    assert rows(heard, "01_one") == ["01_one", "unchanged", "1", "0", "+", "1", "1", "not", "attempted"]


@pytest.mark.parametrize(("command", "module"), [("run", "run"), ("validate", "validate"), ("labs", "labs")])
def test_force_comes_from_the_option_or_the_environment(
    monkeypatch: pytest.MonkeyPatch, command: str, module: str
):
    asked = []
    monkeypatch.setattr(f"ci.headless.{module}.{command}", lambda *_, force, **more: asked.append(force) or 0)
    for options, variable in (([], ""), (["--force"], ""), ([], "1")):
        assert CliRunner().invoke(app, [command, *options], env={"LABBOOK_FORCE": variable}).exit_code == 0
    assert asked == [False, True, True]


def test_everything_runs_before_a_release_and_at_night(monkeypatch: pytest.MonkeyPatch):
    values = []

    def ran(stage: stages.Stage) -> stages.Result:
        values.append(os.environ.get("LABBOOK_FORCE"))
        return stages.Result(stage.title, 0, 0.0)

    monkeypatch.delenv("LABBOOK_FORCE", raising=False)
    monkeypatch.setattr(stages, "run", ran)
    assert stages.main(["--all"]) == 0 and set(values) == {"1"}
    values.clear()
    assert stages.main([]) == 0 and set(values) == {None}
    assert "LABBOOK_FORCE" not in os.environ
