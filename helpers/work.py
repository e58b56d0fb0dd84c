"""The learner's copies in work/, and JupyterLab on top of them."""

from __future__ import annotations

import errno
import json
import os
import secrets
import signal
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

START = "00_start.ipynb"
LIST = "list-of-labs"  # the cell of the start page that lists the labs
SETTINGS = (
    Path(__file__).resolve().parent / "jupyter"
)  # no news, no update checks: nothing leaves the machine


class WorkFailed(Exception):
    """The message is one line: what could not be done, and what to do."""


def lab(root: Path) -> int:
    """Copies the labs that work/ lacks, and serves them until it is stopped. Returns the exit code."""
    try:
        for copied in copy_missing_labs(root):
            print(f"copied {copied.relative_to(root)}")
        return serve(root)
    except WorkFailed as failed:
        print(f"labbook lab: {failed}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def copy_missing_labs(root: Path) -> list[Path]:
    """Copies each lab that work/ does not have; one that is there is never touched.

    Returns: the new files.
    Raises: WorkFailed, if there is nothing to copy or it cannot be written.
    """
    labs = sorted((root / "labs").glob("[0-9][0-9]_*.ipynb"))
    if not labs:
        raise WorkFailed("labs/ holds no notebook. Fix: git checkout labs, or run labbook derive")
    work = root / "work"
    try:
        work.mkdir(exist_ok=True)
        missing = [lab for lab in labs if not os.path.lexists(work / lab.name)]
        for lab in missing:
            write_whole(work / lab.name, with_list(lab) if lab.name == START else lab.read_bytes())
    except OSError as error:
        raise WorkFailed(f"cannot write to {work}: {error.strerror}. {write_fix(error)}") from None
    return [work / lab.name for lab in missing]


def with_list(page: Path) -> bytes:
    """The start page with its list of labs drawn already: it can be read before any cell is run."""
    from helpers.start import course

    notebook = json.loads(page.read_text(encoding="utf-8"))
    try:
        listed = course()
    except Exception:
        # The list loads the lab modules, and with them torch. Where that is broken, JupyterLab starts all
        # the same, and the cell shows the error.
        return page.read_bytes()
    data = {"text/plain": str(listed), "text/html": listed._repr_html_()}
    for cell in notebook["cells"]:
        if cell.get("id") == LIST:
            cell["outputs"] = [{"output_type": "display_data", "data": data, "metadata": {}}]
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


def write_whole(target: Path, content: bytes) -> None:
    """Writes a file so that it is either whole or not there. An existing one stays."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.chmod(0o644)
        if not os.path.lexists(target):
            part.rename(target)
    finally:
        part.unlink(missing_ok=True)


def write_fix(error: OSError) -> str:
    """What to do about a folder that cannot be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "Fix: free some space on this disk, then run labbook lab again"
    return "Fix: make the folder writable for you, or copy the project to a place that is"


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
    try:
        server = LabApp.initialize_server(
            argv=server_options(root, token, browser=browser, superuser=superuser)
        )
    except OSError as error:
        raise WorkFailed(f"JupyterLab cannot start: {error}. {write_fix(error)}") from None
    # Runs after the callback that opens the port: the address answers as soon as it is printed.
    server.io_loop.add_callback(
        announce, f"http://127.0.0.1:{server.port}/lab/tree/work/{START}?token={token}"
    )
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # Ctrl-C, kill, the terminal was closed
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: server.stop(from_signal=True))
    server.start()
    return 0


def announce(address: str) -> None:
    """Says where the course is."""
    print(
        f"\n    {address}\n\nOpen it in a browser. Ctrl-C here stops it; your work stays in work/.",
        flush=True,
    )
