"""The `labbook` command: which function each command calls, and its exit codes. And what `make test` does."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from ci.checkout import test as stages
from ci.notebooks.files import Problem
from helpers import paths
from helpers.cli import app

ROOT = paths.ROOT


class FakeModule(ModuleType):
    """Stands in for a module: remembers its calls and returns, or raises, what it is told."""

    def __init__(self, function: str, answer: object = 0) -> None:
        super().__init__("module")
        self.calls: list[tuple[tuple, dict]] = []
        self.answer = answer
        setattr(self, function, self._called)

    def _called(self, *args: object, **options: object) -> object:
        self.calls.append((args, options))
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def labbook(*args: str) -> tuple[int, str]:
    """Exit code and all output of one command."""
    result = CliRunner().invoke(app, list(args), prog_name="labbook")
    return result.exit_code, result.output


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with lab 01 and the start page; their contents are never read."""
    for folder in ("solutions", "labs"):
        (tmp_path / folder).mkdir()
        for name in ("00_start.ipynb", "01_reproducibility.ipynb"):
            (tmp_path / folder / name).write_text("{}")
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(paths, "SOLUTIONS", tmp_path / "solutions")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "module", "function", "args", "options"),
    [
        ("doctor", "helpers.doctor", "doctor", (), {}),
        ("lab", "helpers.work.serve", "lab", (), {}),
        ("status", "helpers.work.status", "status", (), {}),
        ("update", "helpers.work.update", "update", (), {}),
        ("reset 03 01.seed_everything", "helpers.work.reset", "reset", (["03", "01.seed_everything"],), {}),
        ("undo", "helpers.work.undo", "undo", (), {}),
        ("derive", "ci.notebooks.derive", "derive", (), {"check": False}),
        ("derive --check", "ci.notebooks.derive", "derive", (), {"check": True}),
        ("format", "ci.notebooks.canonical", "format_notebooks", (), {"check": False}),
        ("format --check", "ci.notebooks.canonical", "format_notebooks", (), {"check": True}),
        ("run", "ci.headless.run", "run", ([],), {"force": False}),
        ("run 01 --force", "ci.headless.run", "run", (["01"],), {"force": True}),
        ("validate 00 01", "ci.headless.validate", "validate", (["00", "01"],), {"force": False}),
        ("portable 01", "ci.headless.portable", "portable", (["01"],), {"unseen": False}),
        ("portable --unseen", "ci.headless.portable", "portable", ([],), {"unseen": True}),
        ("labs 01", "ci.headless.labs", "labs", (["01"],), {"force": False}),
        ("facts", "ci.facts.command", "facts", ([],), {"ledger": None}),
        ("facts 01 --ledger here", "ci.facts.command", "facts", (["01"],), {"ledger": Path("here")}),
        ("new 11.double --lab tiny", "ci.new.command", "new", ("11.double",), {"lab": "tiny"}),
        ("messages 01", "ci.messages.command", "messages", (["01"],), {}),
        ("bench check ranks", "ci.bench.command", "bench", (["check", "ranks"],), {}),
        ("record", "ci.record.command", "record", ([],), {"listed": False, "commit": ""}),
        (
            "record 06 first_call",
            "ci.record.command",
            "record",
            (["06", "first_call"],),
            {"listed": False, "commit": ""},
        ),
        ("record --list", "ci.record.command", "record", ([],), {"listed": True, "commit": ""}),
    ],
)
def test_each_command_calls_its_function(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    module: str,
    function: str,
    args: tuple,
    options: dict,
) -> None:
    fake = FakeModule(function)
    monkeypatch.setitem(sys.modules, module, fake)
    assert labbook(*line.split()) == (0, "")
    assert fake.calls == [((project, *args), options)]


@pytest.mark.parametrize("code", [1, 2, 130])
def test_exit_code_of_the_function_is_kept(project: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    monkeypatch.setitem(sys.modules, "ci.headless.validate", FakeModule("validate", code))
    assert labbook("validate")[0] == code


def test_unknown_lab_is_wrong_usage_and_names_the_known(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = FakeModule("run")
    monkeypatch.setitem(sys.modules, "ci.headless.run", module)
    code, output = labbook("run", "77")
    assert code == 2 and module.calls == []
    assert "77" in output and "00, 01" in output


@pytest.mark.parametrize(
    "line", ["nonsense", "derive --nonsense", "derive 01", "reset", "update 01", "undo 01", "bench --row"]
)
def test_wrong_usage(line: str) -> None:
    assert labbook(*line.split())[0] == 2


def test_fault_that_can_be_mended_is_one_line(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error = Problem("the markers are unbalanced", path="solutions/01.ipynb")
    monkeypatch.setitem(sys.modules, "ci.notebooks.derive", FakeModule("derive", error))
    assert labbook("derive") == (1, "labbook: solutions/01.ipynb: the markers are unbalanced\n")


def test_interrupted(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ci.headless.validate", FakeModule("validate", KeyboardInterrupt()))
    assert labbook("validate") == (130, "")


def test_help_lists_every_command_and_loads_no_torch() -> None:
    code = (
        "import sys\nfrom helpers.cli import app\n"
        "try: app(['--help'])\nexcept SystemExit as end: print('code', end.code)\n"
        "print('loaded', {'torch', 'nbformat', 'rich'} & set(sys.modules))"
    )
    output = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True).stdout
    commands = ["doctor", "lab", "derive", "format", "run", "validate", "portable", "labs", "facts"]
    commands += ["bench", "record", "test"]
    assert all(f"\n  {command} " in output for command in commands)
    assert "code 0" in output and "loaded set()" in output
    assert "..." not in output.replace("[ARGS]...", ""), "a description is cut off"


PASSES = stages.Stage("one that passes", [sys.executable, "-c", ""])
FAILS = stages.Stage("one that fails", [sys.executable, "-c", "raise SystemExit(3)"])


def test_make_test_runs_every_stage_and_tells_which_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stages, "STAGES", [FAILS, PASSES])
    assert stages.main([]) == 1
    output = capsys.readouterr().out
    assert "FAILED  one that fails" in output and "passed  one that passes" in output


def test_make_test_passes_when_every_stage_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "STAGES", [PASSES])
    assert stages.main([]) == 0


@pytest.mark.parametrize(("arguments", "left_out"), [([], True), (["--ci"], True), (["--all"], False)])
def test_it_says_at_its_end_what_it_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], left_out: bool
) -> None:
    monkeypatch.setattr(stages, "run", lambda stage: stages.Result(stage.title, 0, 0.0))
    stages.main(arguments)
    output = capsys.readouterr().out
    assert ("left out: no printed digit depends on the machine (labbook portable)" in output) == left_out


def test_a_lab_alone_has_every_stage_and_leaves_the_others_out() -> None:
    """Each stage that can be narrowed is; so `labbook test 03` holds what `make test` holds of lab 03."""
    narrowed = {stage.command[-1] for stage in stages.of_labs(["03"])} - {
        "--check",
        "solutions",
        "--no-cache",
    }
    assert narrowed == {"03"} and len(stages.of_labs(["03"])) == len(stages.STAGES)


def test_make_test_repeats_the_closing_line_of_pytest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_one.py").write_text("def test_one(): pass\n")
    command = [*stages.PYTEST, "-p", "no:cacheprovider", "-c", "/dev/null", str(tmp_path)]
    result = stages.run(stages.Stage("tests", command))
    assert result.code == 0 and result.closing[0].startswith("1 passed in ")
    assert f"pytest: {result.closing[0]}" in stages.summary([result])


def test_make_test_all_does_more(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[stages.Stage] = []

    def run(stage: stages.Stage) -> stages.Result:
        ran.append(stage)
        return stages.Result(stage.title, 0, 0.0)

    monkeypatch.setattr(stages, "run", run)
    assert stages.main(["--all"]) == 0
    assert ran == stages.STAGES + stages.MORE_STAGES
    ran.clear()
    assert stages.main(["--ci"]) == 0
    assert [stage.title for stage in ran] == [
        stage.title for stage in [*stages.STAGES, stages.EACH_PROPERTY, *stages.CHECKED]
    ]
    ends = {stage.command[-1] for stage in ran[-len(stages.CHECKED) :]}
    assert len(ends) == 1 and 0 < float(ends.pop()) - time.time() < 30 * 60
    assert stages.main(["--nonsense"]) == 2


def test_interrupted_stage_leaves_no_process() -> None:
    """A stage that sleeps is interrupted from outside: exit code 130, and the stage has ended."""
    code = (
        "import sys\nfrom ci.checkout import test\n"
        "test.STAGES = [test.Stage('sleeps', [sys.executable, '-c',"
        " 'import os, time; print(os.getpid(), flush=True); time.sleep(60)'])]\n"
        "sys.exit(test.main([]))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    pid = next(int(line) for line in process.stdout if line.strip().isdigit())
    process.send_signal(2)
    assert process.wait(120) == 130
    assert not Path(f"/proc/{pid}").exists()
