"""The spare: a forked kernel's fork server without imports. It is like a fresh one, or a fresh one is taken."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ci.headless.warm.owner import CHOICE, kernels
from helpers import paths
from tests.support.kernel_session import PATIENCE, Session, wait_until
from tests.support.living import lives

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="kernels are forked on Linux")

CHECK = "from helpers.labs import autograd as lab\nlab.square.check(lambda *_: None).verdict"
KERNEL = "from ipykernel.kernelapp import IPKernelApp\nIPKernelApp.instance().kernel"
SERVER = "from multiprocessing import forkserver\nforkserver._forkserver._forkserver_pid"


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, str]]:
    """The variables of a run with a kernel server."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(CHOICE, raising=False)
        with kernels(paths.ROOT) as served:
            yield dict(served.variables)


@pytest.fixture
def session(server: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """A forked kernel."""
    for name, value in server.items():
        monkeypatch.setenv(name, value)
    session = Session(tmp_path)
    assert session.forked
    yield session
    session.end()


def spare_of(session: Session) -> psutil.Process:
    """The one child of a kernel in which nothing has run yet."""
    [spare] = psutil.Process(session.pid).children()
    return spare


def test_the_first_check_has_the_spare_for_its_server(session: Session):
    spare = spare_of(session)
    assert session.shown(CHECK) == "'wrong'"
    assert int(session.shown(SERVER)) == spare.pid


# Each would make a fresh server another process than the spare is.
OTHERS = {
    "a variable": "import os\nos.environ['OMP_NUM_THREADS'] = '1'",
    "a limit": "import resource\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))",
    "a folder": "import os\nos.mkdir('below')\nos.chdir('below')",
    "permissions of files": "import os\nos.umask(0o077);",
    "priority": "import os\nos.nice(1);",
    "options of Python": "import sys\nsys.warnoptions.append('error::BytesWarning')",
    "another Python": "import os, sys, multiprocessing\nos.symlink(sys.executable, 'python')\nmultiprocessing.set_executable(os.path.abspath('python'))",
    "a module beside the notebook": "import pathlib\npathlib.Path('matplotlib.py').touch()",
}


EVERY_DAY = ("a variable", "a module beside the notebook")  # one that a cell may do, one from outside


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=() if case in EVERY_DAY else pytest.mark.slow) for case in OTHERS]
)
def test_what_a_cell_changed_means_a_fresh_server(session: Session, case: str):
    spare = spare_of(session)
    session.shown(f"{OTHERS[case]}\nfrom helpers.processes.fork_server import fork_server")
    session.shown("process = fork_server().Process(target=print)\nprocess.start()\nprocess.join()")
    assert "-c" in psutil.Process(int(session.shown(SERVER))).cmdline() and not lives(spare)


def test_another_list_of_imports_means_a_fresh_server_and_leaves_the_spare(session: Session):
    spare = spare_of(session)
    session.shown(
        "import multiprocessing\nprocess = multiprocessing.get_context('forkserver').Process(target=print)\n"
        "process.start()\nprocess.join()"
    )
    assert int(session.shown(SERVER)) != spare.pid and lives(spare)


def test_a_spare_that_is_dead_means_a_fresh_server(session: Session):
    spare = spare_of(session)
    spare.kill()
    assert session.shown(CHECK) == "'wrong'"
    assert int(session.shown(SERVER)) != spare.pid


def test_the_stop_button_leaves_the_spare(session: Session):
    spare = spare_of(session)
    session.begin("import time\ntime.sleep(600)")
    session.manager.interrupt_kernel()
    session.heard(lambda message: message["msg_type"] == "error")
    assert session.shown(CHECK) == "'wrong'"
    assert int(session.shown(SERVER)) == spare.pid


@pytest.mark.parametrize("used", [False, True])
def test_the_spare_ends_with_its_kernel(session: Session, used: bool):
    spare = spare_of(session)
    if used:
        session.shown(CHECK)
    os.kill(session.pid, signal.SIGKILL)
    wait_until(lambda: not lives(spare))


def test_a_kernel_told_to_end_does_not_wait_for_its_spare(session: Session):
    spare, process = spare_of(session), session.manager.provisioner.process
    # What ipykernel ends and waits for; a child that nobody asks how it ended it waits for half a minute.
    assert session.shown(f"{KERNEL}._process_children()") == "[]"
    session.end(PATIENCE)
    assert process.returncode == 0
    wait_until(lambda: not lives(spare))  # it hears that nobody is left to take it


# What a child of the fork server is told of its surroundings.
TOLD = """
import atexit, gc, multiprocessing, os, resource, signal, sys, threading, warnings
def told():
    seen = {
        "folder": os.getcwd() == multiprocessing.process.ORIGINAL_DIR,
        "variables": sorted(name for name in os.environ if name not in ("IPYTHONDIR", "JPY_PARENT_PID")),
        "signals": [str(signal.getsignal(number)) for number in sorted(signal.valid_signals())],
        "mask": signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        "open files": sorted(os.readlink(f"/proc/self/fd/{fd}").split(":")[0] for fd in range(3)),
        "more of them": len(os.listdir("/proc/self/fd")),
        "path": sys.path,
        "argv": sys.argv,
        "flags": sys.flags,
        "warnings": [one for one in warnings.filters if one[2] in (Warning, DeprecationWarning)],
        "main": sorted(vars(sys.modules["__main__"]).keys() - {"__annotations__"}),
        "threads": len(os.listdir("/proc/self/task")),
        "collects": gc.isenabled(),
        "limits": [resource.getrlimit(number) for number in range(10)],
        "session": os.getsid(0) == os.getsid(os.getppid()),
        "group": os.getpgrp() == os.getpgid(os.getppid()),
        "imported": [name for name in sys.modules if name.split(".")[0] in ("ci", "in_a_file", "helpers")],
    }
    with open("told", "w") as file:
        print(*(f"{what}: {value}" for what, value in seen.items()), sep="\\n", file=file)
"""
ASK = """
from helpers.processes.fork_server import fork_server
import in_a_file
process = fork_server().Process(target=in_a_file.told)
process.start()
process.join()
print(open("told").read())
"""


def test_a_child_of_the_spare_is_like_one_of_a_fresh_server(session: Session):
    Path(session.env["IPYTHONDIR"]).parent.joinpath("in_a_file.py").write_text(TOLD)
    spare = spare_of(session)
    from_spare = session.shown(ASK)
    assert int(session.shown(SERVER)) == spare.pid
    session.shown("from helpers.processes.fork_server import end_fork_server\nend_fork_server()")
    assert session.shown(ASK).splitlines() == from_spare.splitlines()
    assert "-c" in psutil.Process(int(session.shown(SERVER))).cmdline()
