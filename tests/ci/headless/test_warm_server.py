"""The kernel server: when it refuses, and that nothing is left when it, its client or its run ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from ci.headless.warm import agreement, owner, provisioner, server
from ci.headless.warm.owner import CHOICE, Kernels, kernels, tally
from helpers import paths
from tests.support.kernel_session import PATIENCE, Session, wait_until
from tests.support.living import lives
from tests.support.project import code, output_of, store

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="kernels are forked on Linux")


@pytest.fixture(scope="module")
def served() -> Iterator[Kernels]:
    """A run with a kernel server."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(CHOICE, raising=False)
        with kernels(paths.ROOT) as served:
            yield served


@pytest.fixture
def announced(served: Kernels, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """For each kernel that starts from here on why it is stock; "" for a forked one."""
    heard: list[str] = []
    monkeypatch.setattr(provisioner.child, "announce", lambda event, stock: heard.append(stock))
    for name, value in served.variables.items():
        monkeypatch.setenv(name, value)
    return heard


@contextmanager
def another_run(patch: pytest.MonkeyPatch) -> Iterator[Kernels]:
    """A run of its own; kernels that are started in it come from its server."""
    for name in (agreement.SOCKET, agreement.CHOSEN_BY):
        patch.delenv(name, raising=False)
    with kernels(paths.ROOT) as served:
        for name, value in served.variables.items():
            patch.setenv(name, value)
        yield served


def server_of(served: Kernels) -> psutil.Process:
    """The server's process. For a moment after it is started it has no command line."""
    folder = str(Path(served.variables[agreement.SOCKET]).parent)

    def found() -> list[psutil.Process]:
        return [process for process in psutil.Process().children() if folder in process.cmdline()]

    wait_until(found)
    [server] = found()
    return server


def begun(folder: Path, **options) -> None:
    """Start a kernel, stock or forked, and end it."""
    Session(folder, **options).end()


def test_a_kernel_in_the_same_surroundings_is_forked(announced: list[str], tmp_path: Path):
    begun(tmp_path)
    assert announced == [""]


def test_another_environment_means_a_stock_kernel(announced: list[str], tmp_path: Path):
    begun(tmp_path, more={"OMP_NUM_THREADS": "1", "LABBOOK_ANY": "it is read late"})
    assert announced == ["the environment differs: OMP_NUM_THREADS"]


def test_other_limits_mean_a_stock_kernel(announced: list[str], tmp_path: Path, monkeypatch):
    description = agreement.conditions()
    monkeypatch.setattr("ci.headless.warm.client.conditions", lambda: description | {"cores": [99]})
    begun(tmp_path)
    assert announced == ["what it inherits differs: cores"]


def test_another_command_means_a_stock_kernel(announced: list[str], tmp_path: Path, monkeypatch):
    monkeypatch.setattr("ci.headless.warm.provisioner.COMMAND", ("-m", "another_launcher"))
    begun(tmp_path)
    assert announced == ["another kernel than this Python's"]


def test_a_module_beside_the_notebook_means_a_stock_kernel(announced: list[str], tmp_path: Path):
    (tmp_path / "torch.py").write_text("")
    begun(tmp_path)
    assert announced == [f"{tmp_path} has its own torch"]


def test_a_socket_that_others_can_reach_is_not_used(announced: list[str], served: Kernels, tmp_path: Path):
    folder = Path(served.variables[agreement.SOCKET]).parent
    folder.chmod(0o755)
    try:
        begun(tmp_path)
    finally:
        folder.chmod(0o700)
    assert announced == ["the socket of the kernel server is open to others"]


def test_what_is_no_request_harms_nobody(announced: list[str], served: Kernels, tmp_path: Path):
    import socket

    for words in (b"", b"x", b"[]", b"{}", b'{"conditions": 1}'):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stranger:
            stranger.connect(served.variables[agreement.SOCKET])
            with open(os.devnull) as null:
                socket.send_fds(stranger, [words], [null.fileno()] * 3) if words else None
            if words:
                assert b"did not understand" in stranger.recv(1 << 16)
    begun(tmp_path)
    assert announced == [""]


def test_a_package_that_changed_means_stock_kernels(announced: list[str], tmp_path: Path, monkeypatch):
    package = tmp_path / "path" / "changing.py"
    package.parent.mkdir()
    package.write_text("")
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    with another_run(monkeypatch):
        begun(tmp_path)
        (package.parent / "torch.py").write_text("")
        begun(tmp_path)
    assert announced == ["", f"changed since the run began: {package.parent}"]


POISON = {
    "CUDA": ("import torch\ntorch.cuda._is_in_bad_fork = lambda: True", "a loaded package touched CUDA"),
    "threads": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
        "a loaded package started 1 threads",
    ),
    "error": ("raise RuntimeError('broken')", "torchvision cannot be imported: RuntimeError('broken')"),
}


@pytest.mark.parametrize("poison", POISON)
def test_a_server_that_is_not_fit_to_be_forked_says_why(
    announced: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, poison: str
):
    source, description = POISON[poison]
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "torchvision.py").write_text(source)  # stands in for what the server loads
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "path"))
    with another_run(monkeypatch):
        begun(tmp_path)
    assert announced == [description]


def test_without_a_server_that_lives_the_kernel_is_stock(
    announced: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd
):
    with another_run(monkeypatch) as served:
        session = Session(tmp_path)
        running = psutil.Process(session.pid)
        server_of(served).kill()
        wait_until(lambda: not lives(running))
        assert session.exit_code() == -signal.SIGKILL
        session.end()
        begun(tmp_path)
    assert announced == ["", "the kernel server does not answer: Connection refused"]
    assert "the kernel server ended with exit code -9" in capfd.readouterr().err


CLIENT = """
import sys, time
from pathlib import Path
from tests.support.kernel_session import Session
session = Session(Path(sys.argv[1]), {"LABBOOK_JOB": sys.argv[2]})
source = "import os, subprocess\\n[subprocess.Popen(['sleep', '600'], start_new_session=own).pid for own in (False, True)]"
below = eval(session.shown(source))
print(session.forked, session.pid, *below, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("marked", [True, False])
def test_nothing_is_left_of_a_client_that_was_killed(served: Kernels, tmp_path: Path, marked: bool):
    env = {**os.environ, **served.variables}
    mark = "e" * 32 if marked else ""
    with subprocess.Popen(
        [sys.executable, "-c", CLIENT, str(tmp_path), mark],
        cwd=paths.ROOT,
        env=env,
        stdout=subprocess.PIPE,
        text=True,
    ) as client:
        try:
            forked, *pids = client.stdout.readline().split()
            family = [psutil.Process(int(pid)) for pid in pids]
        finally:
            client.kill()
    assert forked == "True"
    wait_until(lambda: not any(map(lives, family)))


def test_a_kernel_that_is_ended_is_buried_once(monkeypatch: pytest.MonkeyPatch):
    """It leads no group yet, and is still ending when those with its mark are killed, which waits for them."""
    kernel = psutil.Process(os.posix_spawnp("sleep", ["sleep", "600"], os.environ))
    monkeypatch.setattr(server.child, "kill_marked", lambda mark, but: psutil.wait_procs([kernel], timeout=5))
    assert told_at_the_end_of(kernel, "marked") == {"exit": -signal.SIGKILL}
    assert not lives(kernel)


def test_the_server_ends_what_a_job_started_and_leaves_the_job_to_clear_up():
    mark = uuid.uuid4().hex
    kernel = psutil.Process(os.posix_spawnp("sleep", ["sleep", "600"], os.environ))
    env = os.environ | {server.child.MARK: mark}
    with (
        subprocess.Popen(["sleep", "600"], env=env) as asks,
        subprocess.Popen(["sleep", "600"], env=env) as left,
    ):
        family = [psutil.Process(asks.pid), psutil.Process(left.pid)]
        try:
            told_at_the_end_of(kernel, mark, asks.pid)
            assert [lives(one) for one in family] == [True, False]
        finally:
            asks.kill()
            left.kill()


def told_at_the_end_of(kernel: psutil.Process, mark: str, asks: int = 0) -> dict[str, int]:
    """What the server says to a kernel's client when it ends the kernel."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        serving = server.Server(ours, 0, dict(os.environ), "")
        serving.kernels.append(server.Kernel(kernel.pid, os.pidfd_open(kernel.pid), mark, asks, theirs))
        serving.end(serving.kernels[0])
        assert not serving.kernels
        return json.loads(ours.recv(100))


def test_a_server_that_does_not_end_costs_no_result(monkeypatch: pytest.MonkeyPatch, capfd):
    monkeypatch.setattr(owner, "GONE", 0.5)
    monkeypatch.delenv(CHOICE, raising=False)
    with another_run(monkeypatch) as served:
        stopped = server_of(served)
        stopped.suspend()
    assert not lives(stopped) and not Path(served.variables[agreement.SOCKET]).parent.exists()
    assert "the kernel server did not end within 0.5 s, and was killed" in capfd.readouterr().err


OWNER = """
import sys, time
from pathlib import Path
from helpers import paths
from ci.headless.warm.agreement import SOCKET
from ci.headless.warm.owner import kernels
from tests.ci.headless.test_warm_server import server_of
with kernels(paths.ROOT) as served:
    print(Path(served.variables[SOCKET]).parent, server_of(served).pid, flush=True)
    if sys.argv[1] == "raises":
        raise KeyError
    time.sleep(600)
"""


@pytest.mark.parametrize("ending", ["raises", signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_run_however_it_ends(ending: str | signal.Signals):
    env = {name: value for name, value in os.environ.items() if name != CHOICE}
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(ending)],
        cwd=paths.ROOT,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as owner:
        try:
            folder, pid = owner.stdout.readline().split()
            server = psutil.Process(int(pid))
            if ending != "raises":
                owner.send_signal(ending)
            owner.wait(PATIENCE)
        except BaseException:
            owner.kill()
            raise
    wait_until(lambda: not lives(server) and not Path(folder).exists())


def test_the_jobs_of_a_run_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from ci.headless.run import run

    monkeypatch.delenv(CHOICE, raising=False)
    monkeypatch.delenv(agreement.CHOSEN_BY, raising=False)
    store(tmp_path / "solutions" / "01_one.ipynb", code("one", "1"))
    failed, heard = output_of(lambda: run(tmp_path, [], force=True))
    assert failed == 0 and "kernels: 1 forked\n" in heard
    store(tmp_path / "solutions" / "02_two.ipynb", code("two", "2"))
    failed, heard = output_of(lambda: run(tmp_path, [], force=True))
    assert failed == 0 and "kernels: 2 forked\n" in heard
    monkeypatch.setenv(CHOICE, "forked")
    failed, heard = output_of(lambda: run(tmp_path, ["2"], force=True))
    assert failed == 0 and "kernels: 1 forked\n" in heard
    monkeypatch.setenv(CHOICE, "stock")
    failed, heard = output_of(lambda: run(tmp_path, [], force=True))
    assert failed == 0 and "kernels: 2 stock (as chosen)\n" in heard
    monkeypatch.setenv(CHOICE, "lukewarm")
    failed, heard = output_of(lambda: run(tmp_path, [], force=True))
    assert failed == 2 and "LABBOOK_KERNELS must be stock or forked, not 'lukewarm'" in heard


def test_where_the_provisioner_is_not_installed_kernels_are_stock(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(CHOICE, raising=False)
    monkeypatch.setattr("ci.headless.warm.owner.entry_points", lambda **names: [])
    with kernels(paths.ROOT) as served:
        assert served == Kernels(stock="the project is not installed anew: run `make setup`")


def test_the_line_of_the_summary():
    assert tally([]) == ""
    assert tally(["", "", ""]) == "kernels: 3 forked"
    assert tally(["", "no", "no", "never"]) == "kernels: 1 forked, 3 stock (no; never)"
