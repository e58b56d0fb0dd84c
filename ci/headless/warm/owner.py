"""The run's side: whether its kernels are forked, the server's beginning and end, and the line that tells."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path

from ci.headless.child import MARK
from ci.headless.kernels import environment
from ci.headless.words import indented
from ci.notebooks.files import WrongUse

CHOICE = "LABBOOK_KERNELS"
GONE = 10.0  # seconds the server has to end


@dataclass(frozen=True)
class Kernels:
    """Where the jobs of a run get their kernels: what to add to their environment, or why all are stock."""

    variables: Mapping[str, str] = field(default_factory=dict)
    stock: str = ""


def choice() -> str:
    """Which kernels are asked for: "stock", "forked", or "" where it is left to the run.

    Raises:
        WrongUse: LABBOOK_KERNELS holds something unknown.
    """
    chosen = os.environ.get(CHOICE, "")
    if chosen not in ("", "stock", "forked"):
        raise WrongUse(f"{CHOICE} must be stock or forked, not {chosen!r}")
    return chosen


def error() -> str:
    """Why no kernel of this run can be forked, or ""."""
    if sys.platform != "linux":
        return "this is not Linux"
    from ci.headless.warm.agreement import CHOSEN_BY, PROVISIONER

    if CHOSEN_BY in os.environ:
        return f"{CHOSEN_BY} is set"
    if not entry_points(group="jupyter_client.kernel_provisioners", name=PROVISIONER):
        return "the project is not installed anew: run `make setup`"
    return ""


@contextmanager
def kernels(root: Path, needed: bool = True) -> Iterator[Kernels]:
    """The kernels of one run. Their server, if there is one, is gone when the block or this process ends.

    Args:
        needed: Whether a job of the run starts a kernel.
    """
    chosen = choice()
    if not needed:
        yield Kernels()
    elif chosen == "stock":
        yield Kernels(stock="as chosen")
    elif reason := error():
        yield Kernels(stock=reason)
    else:
        with _served(root) as served:
            yield served


@contextmanager
def _served(root: Path) -> Iterator[Kernels]:
    from ci.headless.warm.agreement import CHOSEN_BY, PROVISIONER, SOCKET
    from ci.headless.warm.kernel import BLANK

    folder = Path(tempfile.mkdtemp(prefix="labbook-kernels-"))  # only this user can enter it
    path = folder / "socket"
    env = environment(root, folder, strict=False) | {MARK: BLANK}
    watched, alive = os.pipe()  # the end of `alive`, also by our death, tells the server that the run is over
    try:
        with (
            open(folder / "log", "wb") as log,
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener,
        ):
            listener.bind(str(path))
            listener.listen(64)
            ends = listener.fileno(), watched
            server = subprocess.Popen(
                [sys.executable, "-m", "ci.headless.warm.server", str(folder), *map(str, ends)],
                cwd=root,
                env=env,
                pass_fds=ends,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the run, which ends it
            )
    except OSError as error:
        os.close(alive)
        shutil.rmtree(folder, ignore_errors=True)
        server, failed = None, f"the kernel server did not start: {error.strerror or error}"
    finally:
        os.close(watched)
    if server is None:
        yield Kernels(stock=failed)
        return
    try:
        yield Kernels({SOCKET: str(path), CHOSEN_BY: PROVISIONER})
    finally:
        os.close(alive)
        try:
            server.wait(GONE)
        except subprocess.TimeoutExpired:  # no reason to lose what came of the run
            print(f"the kernel server did not end within {GONE:g} s, and was killed", file=sys.stderr)
        finally:
            if server.poll() is None:
                server.kill()
                server.wait()
            elif server.returncode:
                message = indented((folder / "log").read_text(errors="replace"), lines=10)
                print(
                    f"the kernel server ended with exit code {server.returncode}\n{message}", file=sys.stderr
                )
            shutil.rmtree(folder, ignore_errors=True)


def tally(stock: Iterable[str]) -> str:
    """The line that tells how many kernels were forked, how many were stock, and why; "" where there was none.

    Args:
        stock: For each kernel why it was stock, "" if it was forked.
    """
    reasons = Counter(stock)
    forked = reasons.pop("", 0)
    parts = [f"{forked} forked"] if forked else []
    if reasons:
        parts.append(f"{reasons.total()} stock ({'; '.join(reasons)})")
    return f"kernels: {', '.join(parts)}" if parts else ""
