"""The C++ program of lab 09: it agrees with Python, is built once, and an interrupted build leaves nothing broken."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from helpers.labs.torchscript.shown import in_cpp

CAN_BUILD = pytest.mark.skipif(bool(in_cpp.missing()), reason=in_cpp.missing().removeprefix("skipped: "))

# Stands for cmake and the compiler: notes each build, takes its time, and makes a program.
CMAKE = """#!/bin/sh
case "$1" in
--build) echo built >> "$BUILDS"; sleep 0.3; [ -z "$BROKEN" ] || { echo "x.cpp: error: no such thing"; exit 1; }
         echo program > "$2/run_module";;
esac
"""


class Walk(nn.Module):
    """A branch, a loop and a dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.drop = nn.Linear(3, 3), nn.Dropout(0.5)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        for row in range(x.size(0)):
            h = self.drop(self.linear(x[row]) * h) if bool(h.sum() > 0) else h + 1
        return h


@pytest.fixture
def cmake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a cmake of ours first on the PATH; returns the file that counts the builds."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "cmake").write_text(CMAKE)
    (folder / "cmake").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("BUILDS", str(tmp_path / "builds"))
    return tmp_path / "builds"


def saved(path: Path) -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.script(module := Walk().eval()).save(path)
    return module


@CAN_BUILD
@pytest.mark.parametrize("rows", [0, 1, 5])
@pytest.mark.parametrize("sign", [1, -1])
def test_it_agrees_with_python(tmp_path: Path, rows: int, sign: int) -> None:
    module = saved(tmp_path / "walk.pt")
    x, h = torch.randn(rows, 3), sign * torch.rand(3)
    got = in_cpp.run_in_cpp(tmp_path / "walk.pt", (x, h))
    torch.testing.assert_close(got, module(x, h).detach())


@CAN_BUILD
def test_it_says_what_it_cannot_read(tmp_path: Path) -> None:
    torch.save(torch.ones(2), tmp_path / "tensor.pt")
    with pytest.raises(RuntimeError, match="the C\\+\\+ program failed: .*constants"):
        in_cpp.run_in_cpp(tmp_path / "tensor.pt", (torch.ones(2),))


@CAN_BUILD
@pytest.mark.slow
def test_a_package_agrees_with_python_and_looks_at_its_input_when_told(tmp_path: Path) -> None:
    linear, free = nn.Linear(3, 2), {0: torch.export.Dim("batch")}
    program = torch.export.export(linear, (torch.ones(4, 3),), dynamic_shapes=(free,))
    package = in_cpp.package(program, tmp_path)
    assert in_cpp.package(program, tmp_path) == package
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", package.name]
    x = torch.randn(5, 3)
    torch.testing.assert_close(in_cpp.run_in_cpp(package, (x,)), linear(x).detach())
    with pytest.raises(RuntimeError, match="the C\\+\\+ program failed: .*stride"):
        in_cpp.run_in_cpp(package, (torch.randn(3, 5).t(),), checked=True)


def test_a_package_that_does_not_compile_is_told_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "package.py").write_text("raise SystemExit('RuntimeError: no compiler')")
    monkeypatch.setattr(in_cpp, "SOURCES", tmp_path)
    program = torch.export.export(nn.Linear(3, 2), (torch.ones(4, 3),))
    with pytest.raises(RuntimeError, match="the package was not built: RuntimeError: no compiler"):
        in_cpp.package(program, tmp_path / "kept")
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["lock"]


def test_it_is_built_once(tmp_path: Path, cmake: Path) -> None:
    first, second = in_cpp.runner(tmp_path / "kept"), in_cpp.runner(tmp_path / "kept")
    assert first == second and first.read_text() == "program\n"
    assert cmake.read_text().count("built") == 1


def test_two_at_once_build_once(tmp_path: Path, cmake: Path) -> None:
    code = "import sys; from pathlib import Path; from helpers.labs.torchscript import in_cpp\n"
    command = [sys.executable, "-c", code + "in_cpp.runner(Path(sys.argv[1]))", str(tmp_path / "kept")]
    both = [subprocess.Popen(command) for _ in range(2)]
    assert [one.wait(120) for one in both] == [0, 0]
    assert cmake.read_text().count("built") == 1


def test_what_an_interrupted_build_left_is_swept_away(tmp_path: Path, cmake: Path) -> None:
    left = tmp_path / "kept" / "building-before" / "CMakeFiles"
    left.mkdir(parents=True)
    program = in_cpp.runner(tmp_path / "kept")
    assert sorted(path.name for path in program.parent.iterdir()) == ["lock", program.name]


def test_a_failed_build_is_told_and_leaves_nothing(
    tmp_path: Path, cmake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKEN", "1")
    with pytest.raises(RuntimeError, match="was not built: x.cpp: error: no such thing"):
        in_cpp.runner(tmp_path / "kept")
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["lock"]
    monkeypatch.delenv("BROKEN")
    assert in_cpp.runner(tmp_path / "kept").exists()


def test_the_name_follows_sources_and_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.cpp").write_text("int main() {}")
    keys = [in_cpp.key(tmp_path)]
    (tmp_path / "__pycache__").mkdir()  # as an editor, or Python, may leave one
    assert in_cpp.key(tmp_path) == keys[0]
    (tmp_path / "a.cpp").write_text("int main() { return 1; }")
    keys.append(in_cpp.key(tmp_path))
    monkeypatch.setattr(torch, "__version__", "2.99.0")
    keys.append(in_cpp.key(tmp_path))
    assert len(set(keys)) == 3


def test_a_machine_without_tools_says_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    messages = [in_cpp.missing()]
    for tool in ("cmake", "make", "g++"):
        (tmp_path / tool).write_text("#!/bin/sh\n")
        (tmp_path / tool).chmod(0o755)
        messages.append(in_cpp.missing())
    assert ["cmake" in messages[0], "make" in messages[1], "compiler" in messages[2], messages[3]] == [
        True,
        True,
        True,
        "",
    ]
