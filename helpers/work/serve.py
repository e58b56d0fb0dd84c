"""JupyterLab on the learner's copies in work/."""

from __future__ import annotations

import json
import os
import secrets
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from helpers.work.copies import copy_missing_labs
from helpers.work.opened import SERVERS
from helpers.work.page import START, redraw
from helpers.work.writing import WorkFailed, write_fix

# No news, no update checks: nothing leaves the machine.
SETTINGS = Path(__file__).resolve().parent.parent / "jupyter"


def lab(root: Path) -> int:
    """Copies the labs that work/ lacks, and serves them until it is stopped. Returns the exit code."""
    try:
        for copied in copy_missing_labs(root):
            print(f"copied {copied.relative_to(root)}")
        redraw(root / "work")
        return serve(root)
    except WorkFailed as failed:
        print(f"labbook lab: {failed}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def has_display(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> bool:
    """Whether a browser window can open here. LABBOOK_NO_BROWSER=1 says no."""
    if environment.get("LABBOOK_NO_BROWSER", "") not in ("", "0"):
        return False
    if platform in ("darwin", "win32"):
        return "SSH_CONNECTION" not in environment
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


def server_options(root: Path, token: str, *, browser: bool, superuser: bool) -> list[str]:
    """The command line of JupyterLab. It goes before the learner's own settings, so access stays closed."""
    options = [
        f"--ServerApp.root_dir={root}",
        "--ServerApp.ip=127.0.0.1",
        "--ServerApp.port=8888",  # or the next free one
        "--ServerApp.port_retries=50",
        f"--IdentityProvider.token={token}",
        "--ServerApp.allow_remote_access=False",
        f"--LabApp.default_url=/lab/tree/work/{START}",
        f"--LabApp.app_settings_dir={SETTINGS}",
        f"--LabApp.open_browser={browser}",
        f"--ServerApp.open_browser={browser}",
        "--LabApp.extension_manager=readonly",  # the other one asks the network
        "--ServerApp.log_level=WARN",
        "--LabApp.log_level=WARN",
    ]
    return options + ["--allow-root"] * superuser


def serve(root: Path) -> int:
    """Runs JupyterLab in this process, so that whoever stops us stops it; its kernels end with it.

    Raises: WorkFailed, if JupyterLab is not there or its folders cannot be written.
    """
    try:
        from jupyterlab.labapp import LabApp
    except ImportError as error:
        raise WorkFailed(f"JupyterLab does not load: {error}. Fix: labbook doctor") from None
    token = secrets.token_hex(24)
    superuser = hasattr(os, "geteuid") and os.geteuid() == 0
    browser = has_display()
    print("starting JupyterLab ...", flush=True)
    turn = turn_to_choose_a_port()
    try:
        server = LabApp.initialize_server(
            argv=server_options(root, token, browser=browser, superuser=superuser)
        )
    except OSError as error:
        raise WorkFailed(f"JupyterLab cannot start: {error}. {write_fix(error, 'labbook lab')}") from None
    # Both run after the callback that opens the port: the address answers as soon as it is printed.
    server.io_loop.add_callback(turn.release)
    server.io_loop.add_callback(
        announce, f"http://127.0.0.1:{server.port}/lab/tree/work/{START}?token={token}"
    )
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # Ctrl-C, kill, the terminal was closed
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: server.stop(from_signal=True))
    with noted(root / "work", server):
        server.start()
    print("JupyterLab has stopped. Your work is in work/.")
    return 0


def turn_to_choose_a_port() -> Any:
    """A lock that one `labbook lab` has at a time, to be released when the port is taken: JupyterLab looks for a free
    one first and takes it later, and of two that look at once the second would end without a word of what to do.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(Path(tempfile.gettempdir()) / "labbook-port.lock", timeout=20)
    with suppress(OSError, Timeout):  # then as without it
        lock.acquire()
    return lock


@contextmanager
def noted(work: Path, server: Any) -> Iterator[None]:
    """Leaves the server's address and token where `labbook update` finds them, for this user only, while it runs."""
    from jupyter_core.paths import secure_write

    path = work / SERVERS / f"jpserver-{os.getpid()}.json"
    with suppress(OSError):  # without it, JupyterLab's own note of its servers must do
        path.parent.mkdir(exist_ok=True)
        with secure_write(str(path)) as file:
            json.dump(server.server_info(), file)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def announce(address: str) -> None:
    """Says where the course is."""
    print(
        f"\n    {address}\n\nOpen it in a browser. Ctrl-C here stops it; your work stays in work/.",
        flush=True,
    )
