"""`labbook lab` on a copy of the project, as a learner starts it, with a folder for everything that Jupyter keeps."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import uuid
from pathlib import Path

from helpers import paths
from tests.support.marked_processes import MARK, left_after

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\S+token=\w+")


class Server:
    """A server of its own, on a free port, with a token. `log` is what it printed."""

    def __init__(self, project: Path, state: Path) -> None:
        self.project, self.mark = project, uuid.uuid4().hex
        self.env = surroundings(project, state) | {MARK: self.mark}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "helpers.cli", "lab"],
            cwd=project,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.log: list[str] = []
        self.address = self._found_address()
        threading.Thread(target=self.log.extend, args=(self.process.stdout,), daemon=True).start()

    def _found_address(self) -> str:
        for line in self.process.stdout:
            self.log.append(line)
            if found := ADDRESS.search(line):
                return found[0]
        raise RuntimeError("labbook lab ended without an address:\n" + "".join(self.log))

    def labbook(self, *words: str) -> subprocess.CompletedProcess[str]:
        """`labbook <words>` in the same project, from another terminal."""
        command = [sys.executable, "-m", "helpers.cli", *words]
        return subprocess.run(
            command, cwd=self.project, env=self.env, capture_output=True, text=True, timeout=120
        )

    def stop(self) -> None:
        """Ends it as Ctrl-C in its terminal does. Fails if it ends badly, or if a process of it is left."""
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise
        left = left_after(self.mark, 20)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert code == 0 and not left, f"exit code {code}, processes left: {left}\n" + "".join(self.log)


def surroundings(project: Path, state: Path) -> dict[str, str]:
    """The environment of a learner who has never started Jupyter before."""
    config = state / "config"
    config.mkdir(parents=True)
    # The tests read cell ids and settled kernels through the application object.
    for name in ("jupyter_server_config.json", "jupyter_lab_config.json"):
        (config / name).write_text('{"LabApp": {"expose_app_in_browser": true}}')
    folders = ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_SETTINGS_DIR", "IPYTHONDIR")
    env = os.environ | {name: str(state / name.lower()) for name in folders}
    env |= {"JUPYTERLAB_WORKSPACES_DIR": str(state / "workspaces"), "JUPYTER_CONFIG_DIR": str(config)}
    env |= {"PYTHONPATH": str(project), "LABBOOK_NO_BROWSER": "1"}
    for name in ("PYTEST_CURRENT_TEST", "LABBOOK_STRICT", "LABBOOK_HEADLESS"):
        env.pop(name, None)
    return env


def copied_project(target: Path) -> Path:
    """A copy of what git tracks or would track, as a fresh clone has it; but what Python has compiled comes along.

    Each process in the copy would compile anew what it imports, which takes longer than all else that most of them do.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=paths.ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        source = paths.ROOT / name
        if source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)
            if source.suffix == ".py":
                _copy_compiled(source, (target / name).parent / "__pycache__")
    return target


def _copy_compiled(source: Path, folder: Path) -> None:
    """Copies what Python, and no tool in its place, has compiled of a file, as long as that is what the file holds now.

    Python looks at the file's time and size, which a copy keeps, and says in tracebacks where the copy is.
    """
    compiled = Path(importlib.util.cache_from_source(str(source)))
    if compiled.is_file():
        folder.mkdir(exist_ok=True)
        shutil.copy2(compiled, folder / compiled.name)
