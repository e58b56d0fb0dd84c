"""Runs a TorchScript file in C++: a small program, built once against the installed torch and kept.

It stands in .labbook/cpp/ under a name that changes with its sources and with torch. A build happens in a folder of its
own, under a lock, and the program takes its place in one step: two notebooks at once build once, and what an
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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor

from helpers import paths

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
    program = kept / f"run_module-{key(sources)}"
    if program.exists():
        return program
    kept.mkdir(parents=True, exist_ok=True)
    with _locked(kept / "lock"):
        if program.exists():  # built by another notebook while this one waited
            return program
        for left in kept.glob("building-*"):  # by a build that was interrupted: nobody else builds now
            shutil.rmtree(left, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix="building-", dir=kept))
        try:
            generator = [] if shutil.which("make") else ["-G", "Ninja"]
            _run(["cmake", "-S", str(sources), "-B", str(folder), f"-DTORCH={torch_folder()}", *generator])
            _run(["cmake", "--build", str(folder)])
            os.replace(folder / "run_module", program)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return program


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process at a time; a process that dies lets go."""
    import fcntl

    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(command: list[str]) -> None:
    # A session of its own, so that the compiler ends with cmake when the stop button is pressed.
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
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
            "the C++ program was not built: " + next((line for line in lines if "rror" in line), lines[-1])
        )


def run_in_cpp(path: Path, example: tuple[Tensor, ...], program: Path | None = None) -> Tensor:
    """What the module in a TorchScript file gives for these tensors, computed by a C++ program.

    Raises:
        RuntimeError: the program was not built, or failed; the message ends with what it said.
    """
    with tempfile.TemporaryDirectory() as folder:
        inputs, output = Path(folder) / "inputs.pt", Path(folder) / "output.pt"
        torch.save([tensor.detach() for tensor in example], inputs)
        command = [str(program or runner()), str(path), str(inputs), str(output)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        if done.returncode:
            lines = [line for line in done.stderr.strip().splitlines() if line.strip()]
            message = lines[0] if lines else f"it ended with code {done.returncode}"
            raise RuntimeError(f"the C++ program failed: {message}")
        return torch.load(output)
