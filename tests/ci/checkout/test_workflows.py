"""CI, the Makefile and the hooks: they name commands that exist, and the GPU machine is safe."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ci.checkout import test as stages
from ci.checkout.large_files import LIMIT_KB, large_files
from ci.checkout.unchanged import changed_files
from helpers import paths

ROOT = paths.ROOT
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SHELL_LINES = {"bash .ci/run", ".venv/bin/labbook doctor", ".venv/bin/labbook record"}
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def workflow(path: Path) -> dict:
    """A workflow; YAML reads its key `on` as True."""
    parsed = yaml.safe_load(path.read_text())
    return {("on" if key is True else key): value for key, value in parsed.items()}


def run_lines(path: Path) -> list[str]:
    """Every shell line of a workflow."""
    steps = [step for job in workflow(path)["jobs"].values() for step in job["steps"]]
    return [line for step in steps for line in step.get("run", "").splitlines()]


def test_both_workflows_are_there() -> None:
    assert [path.name for path in WORKFLOWS] == ["cpu.yml", "gpu.yml"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_line_is_a_target_or_a_known_command(path: Path) -> None:
    lines = run_lines(path)
    unknown = [line for line in lines if line not in SHELL_LINES | {f"make {target}" for target in TARGETS}]
    assert lines and not unknown


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_job_ends_by_itself_and_may_only_read(path: Path) -> None:
    assert workflow(path)["permissions"] == {"contents": "read"}
    assert all(job["timeout-minutes"] <= 120 for job in workflow(path)["jobs"].values())


def test_cpu_workflow_runs_what_the_readme_says() -> None:
    path = ROOT / ".github/workflows/cpu.yml"
    assert set(workflow(path)["on"]) == {"push", "pull_request"}
    assert "bash .ci/run" in run_lines(path)
    assert (ROOT / ".ci/run").read_text().endswith("exec make test-ci </dev/null\n")


def test_gpu_machine_never_runs_a_pull_request() -> None:
    path = ROOT / ".github/workflows/gpu.yml"
    assert set(workflow(path)["on"]) == {"push", "schedule", "workflow_dispatch"}
    jobs = workflow(path)["jobs"].values()
    assert all({"self-hosted", "gpu"} <= set(job["runs-on"]) for job in jobs)
    assert "make test-all" in run_lines(path)


def test_gpu_workflow_runs_papermill_and_nbval_by_the_same_targets() -> None:
    """`make test-all` runs every stage of `make test`, nbval among them, and regenerates with papermill."""
    commands = [" ".join(map(str, stage.command)) for stage in stages.STAGES + stages.MORE_STAGES]
    for words in ("validate", "labs", "run --force"):
        assert any(command.endswith(words) for command in commands), words


def test_recordings_are_made_by_hand_and_carried_away_by_a_person() -> None:
    """Only when somebody asks for it; the job may not push."""
    path = ROOT / ".github/workflows/gpu.yml"
    asked = workflow(path)["on"]["workflow_dispatch"]["inputs"]["record"]
    assert asked["type"] == "boolean" and asked["default"] is False
    job = workflow(path)["jobs"]["record"]
    assert job["if"] == "inputs.record"
    assert ".venv/bin/labbook record" in [step.get("run") for step in job["steps"]]
    kept = job["steps"][-1]
    assert (
        kept["uses"].startswith("actions/upload-artifact")
        and kept["with"]["path"] == "data/recordings/*.json"
    )
    assert kept["if"] == "always()", "what was recorded before a failure is kept"


def test_only_the_gpu_workflow_uses_our_own_machine() -> None:
    assert "self-hosted" not in (ROOT / ".github/workflows/cpu.yml").read_text()


def dry_run(*arguments: str, **environment: str) -> list[str]:
    """What make would do. It does not know that it runs inside `make test`."""
    inherited = ("PYTHON", "MAKEFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "MFLAGS")
    settings = {name: value for name, value in os.environ.items() if name not in inherited}
    command = ["make", "-n", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=settings | environment, capture_output=True, text=True, check=True
    ).stdout.splitlines()


@pytest.mark.parametrize("target", ["setup", "lab", "test", "run", "test-all", "site", "lock"])
def test_every_target_sets_up_first(target: str) -> None:
    assert "ci/checkout/setup.py" in dry_run(target)[0]


def test_python_can_be_chosen() -> None:
    assert dry_run("setup") == ["python3 ci/checkout/setup.py "]
    assert dry_run("setup", "PYTHON=python3.12") == ["python3.12 ci/checkout/setup.py --chosen"]
    assert dry_run("setup", PYTHON="python3.12") == ["python3.12 ci/checkout/setup.py --chosen"]


def test_ci_script_is_sound_shell() -> None:
    assert subprocess.run(["bash", "-n", ".ci/run"], cwd=ROOT).returncode == 0


def test_hooks_are_local_and_what_make_test_runs() -> None:
    repositories = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"]
    hooks = {hook["id"]: hook["entry"] for hook in repositories[0]["hooks"]}
    assert set(hooks) == {"ruff-check", "ruff-format", "canonical", "derived", "large-files"}
    assert hooks["canonical"].endswith("labbook format --check")
    assert hooks["derived"].endswith("labbook derive --check")


def test_large_files_are_refused(tmp_path: Path) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(bytes(1000))
    large.write_bytes(bytes(LIMIT_KB * 1000 + 1))
    assert large_files([small, tmp_path / "deleted"]) == []
    assert len(large_files([small, large])) == 1 and "large" in large_files([large])[0]


def test_no_file_of_the_project_is_large() -> None:
    if not (ROOT / ".git").exists():
        files = [path for folder in ("solutions", "labs", "data") for path in (ROOT / folder).rglob("*")]
    else:
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
        files = [ROOT / name for name in listed.stdout.splitlines()]
    assert files and large_files(files) == []


def test_ruff_looks_at_the_lab_modules() -> None:
    """`labs` in ruff's list of exclusions would also leave out helpers/labs."""
    ruff = [sys.executable, "-m", "ruff", "check", "--show-files", "helpers", "labs"]
    files = subprocess.run(ruff, cwd=ROOT, capture_output=True, text=True).stdout
    assert "helpers/labs/__init__.py" in files and ".ipynb" not in files


def git(folder: Path, *args: str) -> None:
    who = ["-c", "user.name=nobody", "-c", "user.email=nobody"]
    subprocess.run(["git", "-C", str(folder), *who, *args], check=True, capture_output=True)


def test_changed_files_are_named(tmp_path: Path) -> None:
    git(tmp_path, "init")
    (tmp_path / "stored").write_text("one")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    assert changed_files(tmp_path) == []
    (tmp_path / "stored").write_text("two")
    (tmp_path / "new").write_text("")
    assert changed_files(tmp_path) == [" M stored", "?? new"]


def test_changes_outside_a_checkout_cannot_be_told(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="not a git repository"):
        changed_files(tmp_path)
