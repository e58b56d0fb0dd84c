"""Runs models in C++: a small program, built once against the installed torch, and packages of AOTInductor. Both are kept.

They stand in .labbook/cpp/ under names that change with what they are made of and with torch. A build happens in a
folder of its own, under a lock, and the file takes its place in one step: two notebooks at once build once, and what an
interrupted build left is swept away by the next.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor

from helpers import paths
from helpers.labs.torchscript.shared.quiet import quiet

SOURCES = Path(__file__).with_name("cpp")
KEPT = paths.STATE / "cpp"
SECONDS = 600  # a build takes 10 on a quiet machine


def missing() -> str:
    """Why this machine cannot build a C++ program; "" if it can."""
    if sys.platform == "win32":
        return "skipped: this part needs Linux or macOS"
    if not shutil.which("cmake"):
        return "skipped: cmake is not installed"
    if not (shutil.which("make") or shutil.which("ninja")):
        return "skipped: neither make nor ninja is installed"
    named = os.environ.get("CXX")
    if not any(map(shutil.which, [named] if named else ["c++", "g++", "clang++"])):
        return "skipped: no C++ compiler is installed"
    return ""


def torch_folder() -> Path:
    """Where pip has put torch."""
    return Path(torch.__file__).resolve().parent


def key(sources: Path = SOURCES) -> str:
    """What the program is made of, in 16 letters."""
    known = hashlib.sha256(f"{torch.__version__} {torch_folder()}".encode())
    for path in sorted(path for path in sources.iterdir() if path.is_file()):  # editors leave folders there
        known.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return known.hexdigest()[:16]


def runner(kept: Path = KEPT, sources: Path = SOURCES) -> Path:
    """The program, built if it is not there yet.

    Raises:
        RuntimeError: the build failed; the message ends with the first error that it told.
    """

    def build(folder: Path) -> Path:
        generator = [] if shutil.which("make") else ["-G", "Ninja"]
        _run(["cmake", "-S", str(sources), "-B", str(folder), f"-DTORCH={torch_folder()}", *generator])
        _run(["cmake", "--build", str(folder)])
        return folder / "run_module"

    return _kept(kept / f"run_module-{key(sources)}", build)


def package(program: torch.export.ExportedProgram, kept: Path = KEPT) -> Path:
    """The program as a package of AOTInductor, compiled if it is not there yet.

    In a process of its own: the compiler of torch changes settings of the Python that imports it.

    Raises:
        RuntimeError: it was not compiled; the message ends with the first error that was told.
    """
    made_of = hashlib.sha256(f"{key()} {program.range_constraints}".encode())
    for graph in program.graph_module.modules():
        made_of.update(getattr(graph, "code", "").encode())
    for name, value in program.state_dict.items():
        made_of.update(name.encode() + value.detach().contiguous().numpy().tobytes())

    def build(folder: Path) -> Path:
        given, made = folder / "program.pt2", folder / "package.pt2"
        with quiet():
            torch.export.save(program, given)
        command = [sys.executable, str(SOURCES / "package.py"), str(given), str(made)]
        _run(command, "package", TORCHINDUCTOR_CACHE_DIR=str(folder / "cache"))
        return made

    return _kept(kept / f"package-{made_of.hexdigest()[:16]}.pt2", build)


def _kept(path: Path, build: Callable[[Path], Path]) -> Path:
    """The file at path; where there is none, what `build` makes in a folder takes its place."""
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.parent / "lock"):
        if path.exists():  # built by another notebook while this one waited
            return path
        for left in path.parent.glob("building-*"):  # by a build that was interrupted: nobody else builds now
            shutil.rmtree(left, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix="building-", dir=path.parent))
        try:
            os.replace(build(folder), path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return path


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process at a time; a process that dies lets go."""
    import fcntl

    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(command: list[str], what: str = "C++ program", **variables: str) -> None:
    # A session of its own, so that the compiler ends with cmake when the stop button is pressed.
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env=os.environ | variables,
    )
    try:
        output, _ = process.communicate(timeout=SECONDS)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    if process.returncode:
        lines = output.strip().splitlines() or [f"it ended with code {process.returncode}"]
        raise RuntimeError(
            f"the {what} was not built: " + next((line for line in lines if "rror" in line), lines[-1])
        )


def run_in_cpp(
    path: Path, example: tuple[Tensor, ...], program: Path | None = None, *, checked: bool = False
) -> Tensor:
    """What the module in a file gives for these tensors, computed by a C++ program.

    path: TorchScript, or a package of AOTInductor, whose name ends with .pt2.
    checked: a package is told to look at its inputs.

    Raises:
        RuntimeError: the program was not built, or failed; the message ends with what it said.
    """
    with tempfile.TemporaryDirectory() as folder:
        inputs, output = Path(folder) / "inputs.pt", Path(folder) / "output.pt"
        torch.save([tensor.detach() for tensor in example], inputs)
        command = [str(program or runner()), str(path), str(inputs), str(output)]
        variables = os.environ | {"AOTI_RUNTIME_CHECK_INPUTS": str(int(checked))}
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=variables)
        if done.returncode:
            lines = [line for line in done.stderr.strip().splitlines() if line.strip()]
            message = lines[0] if lines else f"it ended with code {done.returncode}"
            raise RuntimeError(f"the C++ program failed: {message}")
        return torch.load(output)
