"""The environment of the site's tool: `.venv-site`, made from a lock of its own. The course's .venv stays as it is."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

from ci.checkout import setup
from ci.notebooks.files import Problem
from helpers.files import put

LOCK = Path("ci", "site", "requirements.lock")
AGAIN = "then run make site again"


def site_python(root: Path) -> Path:
    """The Python of `.venv-site`, made or made anew where its stamp does not fit the lock.

    Raises:
        Problem: the lock is not there, or its packages could not be installed.
    """
    venv = root / ".venv-site"
    python = venv / ("Scripts" if os.name == "nt" else "bin") / "python"
    stamp, expected = venv / "labbook-stamp.json", expected_stamp(root)
    if stored(stamp) == expected and answers(python):
        return python
    print("making .venv-site, with the packages of the site's lock", flush=True)
    stamp.unlink(missing_ok=True)
    uv = installer()
    run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, venv], "could not be made")
    install = [uv, "pip", "install", "--quiet", "--require-hashes", "--compile-bytecode", "--python", python]
    run([*install, "-r", root / LOCK], f"could not get the packages of {LOCK}")
    put(stamp, json.dumps(expected))
    return python


def expected_stamp(root: Path) -> dict[str, str]:
    """What the stamp says where the environment fits. The folder counts: scripts hold its path."""
    try:
        lock = (root / LOCK).read_bytes()
    except OSError:
        what = f"the lock of the site's packages cannot be read. Fix: git restore {LOCK}, {AGAIN}"
        raise Problem(what, path=LOCK) from None
    return {
        "folder": str(root),
        "python": platform.python_version(),
        "lock": hashlib.sha256(lock).hexdigest(),
    }


def stored(stamp: Path) -> object:
    """What a stamp says, None where there is none that can be read."""
    try:
        return json.loads(stamp.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def answers(python: Path) -> bool:
    """Whether this Python runs: the one that it was made from may be gone."""
    try:
        return subprocess.run([python, "-I", "-c", ""], capture_output=True).returncode == 0
    except OSError:
        return False


def installer() -> Path:
    """uv beside the Python that runs this.

    Raises:
        Problem: it is not there, as in an environment that `make setup` did not make.
    """
    for name in ("uv", "uv.exe"):
        if (path := Path(sys.executable).with_name(name)).exists():
            return path
    raise Problem(
        f"uv is missing beside {sys.executable}. Fix: run it as make site in an environment of make setup"
    )


def run(command: list[str | Path], error: str) -> None:
    """Runs a command silently; Problem with the last thing that it said, if it fails."""
    failure = setup.failure_of(command)
    if not failure:
        return
    if any(word in failure.lower() for word in (*setup.NETWORK_WORDS, "dns error", "failed to fetch")):
        raise Problem(f"{error}: the package index does not answer. Fix: connect, {AGAIN}", path=".venv-site")
    lines = [line.strip(" ╰─▶×│├╭:") for line in failure.splitlines()]
    first = next((place for place, line in enumerate(lines) if line.startswith("error")), 0)
    message = " ".join(filter(None, lines[first:])).rstrip(".")[:400]
    raise Problem(f"{error}: {message}. Fix: mend that, {AGAIN}", path=".venv-site")
