"""Makes `.venv`, or leaves it alone when it already fits. `make` calls this before every other target.

It runs on a bare Python, before anything is installed: standard library only, and nothing that a
Python 3.6 cannot read, so that an old Python can still be told that it is too old.

A stamp inside `.venv` says for which project folder, Python, lock and pyproject.toml it was made. It is
written last, so a set-up that was broken off has none and is made anew.
Exit codes: 0 the environment stands, 1 it could not be made (one line says why), 2 wrong usage,
130 interrupted.
"""

import hashlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
STAMP = VENV / "labbook-stamp.json"
OLDEST = (3, 11)
INSTALLER = "uv>=0.9,<1"
# Measured on Linux, where torch brings CUDA: 6.1 GB in .venv and the package cache together, when the
# two share a disk (files are linked), and 6 GB each when they do not. Other systems get no CUDA.
NEED_GB = 7.0 if sys.platform == "linux" else 3.0
NETWORK_WORDS = ("connection broken", "name resolution", "network is unreachable", "connection refused")
LOCKS = ()  # the file handle that keeps a second set-up waiting


class SetupFailed(Exception):
    """The message is the one line that the reader sees: what is wrong and how to mend it."""


def dotted(parts: tuple) -> str:
    """(3, 11) as '3.11'."""
    return ".".join(str(part) for part in parts)


def python_error() -> str:
    """Why this Python cannot make the environment, or ''."""
    here = dotted(sys.version_info[:2])
    if sys.version_info[:2] < OLDEST:
        return (
            f"Python {here} is too old, the lab book needs {dotted(OLDEST)} or newer. "
            "Fix: install one and name it, for example: PYTHON=python3.12 make setup"
        )
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        return (
            f"Python {here} cannot make virtual environments (no venv or ensurepip). "
            f"Fix on Debian and Ubuntu: apt install python{here}-venv"
        )
    return ""


def cache_folder() -> Path:
    """Where uv keeps what it downloads."""
    if os.environ.get("UV_CACHE_DIR"):
        return Path(os.environ["UV_CACHE_DIR"])
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home) / "uv"


def existing(folder: Path) -> Path:
    """The folder, or its nearest parent that exists."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder


def disk_error() -> str:
    """Which disk is too full for the environment and the download, or ''. LABBOOK_NEED_GB overrides it."""
    try:
        need = float(os.environ.get("LABBOOK_NEED_GB", NEED_GB))
    except ValueError:
        return "LABBOOK_NEED_GB is not a number. Fix: unset LABBOOK_NEED_GB"
    for folder in (ROOT, existing(cache_folder())):
        free = shutil.disk_usage(str(folder)).free / 1e9
        if free < need:
            return (
                f"{free:.1f} GB are free on the disk of {folder}, set-up needs {need:.0f} GB. "
                "Fix: free some space, then run make setup again"
            )
    return ""


def venv_python() -> str:
    """Version of the Python in .venv, such as '3.12.1', or '' where it does not run."""
    ask = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
    try:
        answer = subprocess.check_output([str(BIN / "python"), "-I", "-c", ask], stderr=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return answer.decode().strip()


def inputs_hash() -> str:
    """Changes when the lock or the project's own description does."""
    digest = hashlib.sha256()
    for name in ("requirements.lock", "pyproject.toml"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def expected_stamp() -> dict:
    """What the stamp says when .venv fits. The folder counts, since scripts in .venv hold its path."""
    return {"folder": str(ROOT), "python": venv_python(), "inputs": inputs_hash()}


def stored_stamp() -> dict:
    """What the stamp says, or {} where there is none that can be read."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def same_place(stored: dict, expected: dict) -> bool:
    """Whether .venv was finished here, with the Python that is in it now."""
    return bool(expected["python"]) and all(stored.get(key) == expected[key] for key in ("folder", "python"))


def other_python_chosen(chosen: bool) -> bool:
    """Whether the caller named a Python of another version than the one in .venv."""
    return chosen and not venv_python().startswith(dotted(sys.version_info[:2]) + ".")


def child_settings() -> dict:
    """Settings of every command. It inherits the lock: if it outlives us, the next set-up waits for it."""
    return {"env": dict(os.environ, PIP_USER="0"), "pass_fds": LOCKS}


def shown(command: list, error: str) -> None:
    """Runs a command with its output shown; a failure becomes the one line `error`."""
    if subprocess.call([str(part) for part in command], **child_settings()) != 0:
        raise SetupFailed(error)


def failure_of(command: list) -> str:
    """Runs a command without showing its output. Returns the output if it failed, else ''."""
    done = subprocess.run(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **child_settings(),
    )
    return "" if done.returncode == 0 else done.stdout.strip() or "no message"


def new_venv() -> None:
    """An empty .venv in place of whatever is there, after everything that can be checked beforehand."""
    error = python_error() or disk_error()
    if error:
        raise SetupFailed(error)
    print(f"making .venv with Python {dotted(sys.version_info[:3])}", flush=True)
    failure = failure_of([sys.executable, "-m", "venv", "--clear", VENV])
    if failure:
        raise SetupFailed(
            f"{failure.splitlines()[-1]}. Fix: see that {VENV} can be written, then run make setup again"
        )


def install_uv() -> None:
    """uv inside .venv. Nothing was downloaded before this, so here a missing network shows."""
    failure = failure_of([BIN / "python", "-m", "pip", "install", "-q", "--retries", "2", INSTALLER])
    if any(word in failure.lower() for word in NETWORK_WORDS):
        raise SetupFailed(
            "no network: the package index does not answer. Fix: connect, then run make setup again"
        )
    if failure:
        raise SetupFailed(f"pip could not install uv: {failure.splitlines()[-1]}")


def install() -> None:
    """The locked packages and the project itself, into .venv."""
    if not (BIN / "uv").exists() and not (BIN / "uv.exe").exists():
        install_uv()
    uv = [BIN / "uv", "pip", "install", "--python", BIN / "python"]
    again = "Fix: mend that (network, disk), then run make setup again"
    print("installing the packages of requirements.lock (the first time, some GB are downloaded)", flush=True)
    shown(
        uv + ["-r", ROOT / "requirements.lock", "--compile-bytecode"],
        f"the packages could not be installed, the lines above say why. {again}",
    )
    shown(
        uv + ["--no-deps", "--no-build-isolation", "-e", ROOT],
        f"the project could not be installed, the lines above say why. {again}",
    )


def write_stamp() -> None:
    """Marks .venv as finished, in one step."""
    temporary = STAMP.with_suffix(".tmp")
    temporary.write_text(json.dumps(expected_stamp()), encoding="utf-8")
    os.replace(str(temporary), str(STAMP))


def make_environment(chosen: bool) -> None:
    """Makes, updates or leaves .venv, and says which."""
    start = time.monotonic()
    if VENV.is_symlink():
        # Somebody else's environment: used as it stands, never cleared through the link.
        print(f"note: .venv is a link to {os.path.realpath(str(VENV))} and is used as it stands")
        return
    stored, expected = stored_stamp(), expected_stamp()
    if stored == expected and not other_python_chosen(chosen):
        print(".venv is up to date")
        return
    if not same_place(stored, expected) or other_python_chosen(chosen):
        new_venv()
    elif STAMP.exists():
        STAMP.unlink()
    install()
    write_stamp()
    print(f".venv is ready after {time.monotonic() - start:.0f} s")


def lock_project() -> None:
    """Waits until no other set-up of this project runs. The lock ends with the last process that holds it."""
    global LOCKS
    if LOCKS:
        return
    try:
        import fcntl
    except ImportError:  # Windows
        return
    handle = os.open(str(ROOT), os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("another set-up is still running here, waiting for it", flush=True)
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        pass
    LOCKS = (handle,)


def stop(number: int, frame: object) -> None:
    """A request to end is treated like Ctrl-C, so that no child goes on alone."""
    raise KeyboardInterrupt


def main(arguments: list) -> int:
    """Exit code. `--chosen`: the caller named this Python, so .venv must be made with it."""
    if arguments not in ([], ["--chosen"]):
        print("usage: python3 ci/checkout/setup.py [--chosen]", file=sys.stderr)
        return 2
    try:
        lock_project()
        make_environment(bool(arguments))
    except SetupFailed as failed:
        print(f"set-up failed: {failed}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"set-up failed: {error}. Fix: see that {ROOT} can be written to", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("set-up was stopped. Run make setup again: it begins anew", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    sys.exit(main(sys.argv[1:]))
