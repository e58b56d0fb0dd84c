"""Tiny projects whose notebooks go wrong, a command run on them as a person runs it, and what it left."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nbformat.v4 import new_output

from helpers import paths
from tests.support.marked_processes import MARK, left_after
from tests.support.project import code, put_registry, store

FOLDER = {"run": "solutions", "validate": "solutions", "labs": "labs"}
COMMANDS = tuple(FOLDER)
# Killed with its kernel it would live on: it left the kernel's group and session.
STRAY = "import subprocess, sys\nstray = subprocess.Popen(['sleep', '98762'], start_new_session=True)"
REGISTRY = "def ids(stem):\n    return {'exercises': [], 'predictions': []}\n"
CALL = {
    "run": "from ci.headless.run import run as command",
    "validate": "from ci.headless.validate import validate as command",
    "labs": "from ci.headless.labs import labs as command",
}
NO_WRITING_AGAINST_PERMISSIONS = 24, 1  # prctl: drop from the bounding set; the capability DAC_OVERRIDE


def project(root: Path, command: str, cells: Mapping[str, str]) -> dict[str, Path]:
    """Writes one notebook for each of these cells, as if it had run well; returns them by name.

    In each a process that left its group is started before the cell `trouble`, and a last cell comes after it.
    """
    made = {}
    for name, source in cells.items():
        notebook = [code("stray", STRAY), code("trouble", source), code("last", "'last'")]
        for count, cell in enumerate(notebook, 1):
            cell.execution_count = count
        notebook[2].outputs = [new_output("execute_result", {"text/plain": "'last'"}, execution_count=3)]
        if command == "labs":
            for cell in notebook:
                cell.execution_count, cell.outputs = None, []
        made[name] = store(root / FOLDER[command] / f"{name}.ipynb", *notebook)
    if command == "labs":
        put_registry(root, REGISTRY)
    return made


@dataclass
class Running:
    """A command at work on a project, with its own temporary folder and a mark on each of its processes."""

    root: Path
    command: str
    settings: Mapping[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()  # a command line to run it with
    in_child: Callable[[], object] | None = None
    temporary: Path | None = None

    def __post_init__(self) -> None:
        self.mark = uuid.uuid4().hex
        self.temporary = self.temporary or self.root.parent / f"temporary-{self.mark}"
        self.temporary.mkdir(exist_ok=True)
        unwanted = ("CI", "LABBOOK_FORCE", "LABBOOK_KERNELS", "LABBOOK_CELL_SECONDS")
        env = {name: value for name, value in os.environ.items() if name not in unwanted}
        env |= {MARK: self.mark, "TMPDIR": str(self.temporary), "LABBOOK_KERNELS": "stock"}
        script = f"import sys; from pathlib import Path; {CALL[self.command]}"
        script += "; sys.exit(command(Path(sys.argv[1]), [], force=False))"
        self.process = subprocess.Popen(
            [*self.before, sys.executable, "-c", script, str(self.root)],
            cwd=paths.ROOT,
            env=env | dict(self.settings),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=self.in_child,
        )

    def ended(self, seconds: float = 300) -> tuple[int, str]:
        """The exit code and all that was said; the command is killed if it takes too long."""
        try:
            heard, _ = self.process.communicate(timeout=seconds)
        finally:
            self.process.kill()
        return self.process.returncode, heard

    def left(self) -> list[str]:
        """The processes and temporary files that are still there after a while. Nothing is right."""
        processes = [str(pid) for pid in left_after(self.mark, 30, but=(self.process.pid,))]
        return processes + [str(path) for path in self.temporary.rglob("*")]


def without_root_rights() -> None:
    """Makes root obey permissions, in a child before its program begins; for others nothing changes."""
    ctypes.CDLL(None).prctl(*NO_WRITING_AGAINST_PERMISSIONS, 0, 0, 0)


def contents(root: Path) -> dict[str, bytes]:
    """Every notebook of a project, and whatever lies beside one."""
    folders = (root / name for name in dict.fromkeys(FOLDER.values()))
    return {str(path): path.read_bytes() for folder in folders for path in folder.glob("*") if path.is_file()}
