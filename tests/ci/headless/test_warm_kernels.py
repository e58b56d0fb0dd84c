"""A forked kernel is like a stock one: the same cases on both, and the differences that are known."""

from __future__ import annotations

import os
import re
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
KINDS = ("stock", "forked")


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, str]]:
    """The variables of a run with a kernel server."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(CHOICE, raising=False)
        with kernels(paths.ROOT) as served:
            assert not served.stock
            yield dict(served.variables)


@pytest.fixture
def kind(request: pytest.FixtureRequest, server, monkeypatch: pytest.MonkeyPatch) -> str:
    """Kernels started from here on are of this kind."""
    for name, value in server.items() if request.param == "forked" else ():
        monkeypatch.setenv(name, value)
    return request.param


def each(*names: str):
    return pytest.mark.parametrize("kind", names or KINDS, indirect=True)


@pytest.fixture(scope="module")
def shared(server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Session]]:
    """One kernel of each kind, for cases that leave it as it was."""
    before = os.umask(0o027)
    try:
        sessions = {"stock": Session(tmp_path_factory.mktemp("stock"))}
        with pytest.MonkeyPatch.context() as patch:
            for name, value in server.items():
                patch.setenv(name, value)
            sessions["forked"] = Session(tmp_path_factory.mktemp("forked"))
    finally:
        os.umask(before)
    assert sessions["forked"].forked and not sessions["stock"].forked
    yield sessions
    for session in sessions.values():
        session.end()


@pytest.fixture
def session(kind: str, tmp_path: Path) -> Iterator[Session]:
    """A kernel of its own."""
    started = Session(tmp_path)
    assert started.forked == (kind == "forked")
    yield started
    started.end()


SAME = {
    "result": "1 + 1",
    "raises": "1 / 0",
    "history": "Out[1] if False else (_ih[0], type(In).__name__)",
    "top-level await": "import asyncio\nawait asyncio.sleep(0.01, 'awaited')",
    "shell": "!echo from the shell",
    "stdin": "import os, sys\n(os.read(0, 10), os.isatty(0), sys.stdin.isatty())",
    "folder": "import os\nos.path.basename(os.getcwd()) in ('stock0', 'forked0')",
    "umask": "import os\nmask = os.umask(0); os.umask(mask); oct(mask)",
    "signals": "import signal\n[(s.name, str(signal.getsignal(s))[:17]) for s in sorted(signal.valid_signals()) if isinstance(s, signal.Signals)]",
    "mask of signals": "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, ())",
    "session": "import os\nos.getsid(0) == os.getpgid(0) == os.getpid()",
    "open files": "import os\nsorted(os.readlink(f'/proc/self/fd/{fd}').split(':')[0] for fd in range(3))",
    "argv": "import os, sys\n[os.path.basename(word) for word in sys.argv[:-1]], os.path.exists(sys.argv[-1])",
    "path": "import sys\nsys.path",
    "flags": "import sys\nsys.flags",
    "limits": "import resource\n[resource.getrlimit(n) for n in range(10)]",
    "hashes": "hash('one'), {'a', 'b', 'c', 'd'}",
    "main": "import sys\nsys.modules['__main__'].__name__, '__file__' in dir(), sys.modules['__main__'].__dict__ is globals()",
    "project code": "import sys\n[name for name in sys.modules if name.split('.')[0] in ('ci', 'helpers', 'tests')]",
    "what the tools do not import": "import rfc3987_syntax\nrfc3987_syntax.__name__",
    "widgets": "import ipywidgets\nslider = ipywidgets.IntSlider(value=3)\ndisplay(slider)\n(slider.comm.comm_id == slider.model_id, slider.value)",
    "a figure": "import matplotlib.pyplot as plt\nplt.figure(figsize=(1, 1))\nplt.plot([1, 2]);",
    "backend": "import matplotlib.pyplot as plt\nplt.get_backend()",
    "settings of figures": "import matplotlib\n{k: v for k, v in matplotlib.rcParams.items()}",
    "traceback": "import traceback\ndef f():\n    raise ValueError('here')\ntry:\n    f()\nexcept ValueError as error:\n    print(len(traceback.extract_tb(error.__traceback__)))",
    "warning": "import warnings\nwarnings.warn('careful')\nwarnings.warn('deprecated', DeprecationWarning)",
    "C environment": "import ctypes, os\nos.environ['LABBOOK_TOLD'] = 'to C'\nlibc = ctypes.CDLL(None)\nlibc.getenv.restype = ctypes.c_char_p\nlibc.getenv(b'LABBOOK_TOLD'), libc.getenv(b'PYTHONPATH'), libc.getenv(b'COLUMNS')",
    "mark": "import os\nb'LABBOOK_KERNEL_SERVER' in open('/proc/self/environ', 'rb').read(), 'LABBOOK_KERNEL_SERVER' in os.environ",
    "seeded draws": "import random, numpy, torch\nrandom.seed(1); numpy.random.seed(1); torch.manual_seed(1)\nrandom.random(), numpy.random.rand(2), torch.rand(2), torch.initial_seed()",
    "threads": "import torch\ntorch.get_num_threads(), torch.get_num_interop_threads()",
    "computing": "import torch\ntorch.manual_seed(2)\na = torch.randn(64, 64, requires_grad=True)\n(a @ a).sum().backward()\nfloat(a.grad.sum()), torch.linalg.svdvals(a.detach())[:2]",
    "main thread": "import os, threading\nthreading.main_thread().native_id == threading.get_native_id()",
    "who refers to it": "import gc, torch\nx = torch.ones(1)\nheld = [x]\nsorted(type(one).__name__ for one in gc.get_referrers(x))",
    "CUDA": "import torch\ntorch.cuda._is_in_bad_fork(), torch.cuda.is_initialized()",
}


@pytest.mark.parametrize("case", SAME)
def test_a_forked_kernel_shows_what_a_stock_one_shows(shared: dict[str, Session], case: str):
    stock, forked = (shared[kind].shown(SAME[case]) for kind in KINDS)
    assert without_pid(forked, shared["forked"]) == without_pid(stock, shared["stock"])


def without_pid(text: str, session: Session) -> str:
    """A text in which the number of the kernel's process is PID; other numbers may hold its digits."""
    return re.sub(rf"(?<![\d.]){session.pid}(?![\d.])", "PID", text)


RAW = {
    "os.write(1, b'through fd 1')": ("stdout", "through fd 1"),
    "os.write(2, b'through fd 2')": ("stderr", "through fd 2"),
    "subprocess.run(['echo', 'from a child'])": ("stdout", "from a child"),
}


@pytest.mark.parametrize("source", RAW)
def test_what_goes_through_a_file_descriptor_is_shown(shared: dict[str, Session], source: str):
    stream, text = RAW[source]
    for session in shared.values():  # it may come after the end of its cell
        session.client.execute(f"import os, subprocess\n{source};")
        message = session.heard(lambda message: text in message["content"].get("text", ""))
        assert message["content"]["name"] == stream


def test_input_reaches_a_forked_kernel(shared: dict[str, Session]):
    for session in shared.values():
        assert session.shown("print(input('name? ').upper())", typed="ada") == "ADA"


def test_every_variable_of_the_environment_is_the_kernels(shared: dict[str, Session]):
    own = ("JPY_PARENT_PID", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR")
    # Importing sets some, in both kernels.
    source = f"import os, torch, torchvision, matplotlib.pyplot, ipywidgets\n{{k: v for k, v in os.environ.items() if k not in {own}}}"
    stock, forked = (eval(shared[kind].shown(source)) for kind in KINDS)
    assert forked == stock and stock["PYTHONHASHSEED"] == "0"
    for session in shared.values():
        assert eval(session.shown(f"import os\n[os.environ[name] for name in {own}]")) == [
            str(os.getpid()),
            *(session.env[name] for name in own[1:]),
        ]


IN_A_FILE = """
import multiprocessing, os, random, torch
from torch.utils.data import Dataset
class Squares(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return torch.tensor(index) ** 2
def told(queue, tensor):
    queue.put((multiprocessing.current_process().name, float(tensor.sum())))
def square(number):
    return number**2
"""
PROCESSES = {
    **{
        f"workers of a DataLoader, {method}": f"""
from in_a_file import Squares
from torch.utils.data import DataLoader
loader = DataLoader(Squares(), batch_size=4, num_workers=2, multiprocessing_context={method!r}, persistent_workers=True)
[batch.tolist() for _ in range(2) for batch in loader]"""
        for method in (None, "fork", "forkserver", "spawn")
    },
    **{
        f"processes, {method}": f"""
import in_a_file, torch, torch.multiprocessing as mp
context = mp.get_context({method!r})
queue = context.SimpleQueue()
child = context.Process(target=in_a_file.told, args=(queue, torch.ones(3)), name='child')
child.start()
answer = queue.get()
child.join()
answer, child.exitcode"""
        for method in ("fork", "forkserver", "spawn")
    },
    "a pool of processes": """
import in_a_file
from concurrent.futures import ProcessPoolExecutor
with ProcessPoolExecutor(2) as pool:
    squares = list(pool.map(in_a_file.square, range(4)))
squares""",
    "ranks": """
from helpers import ranks
import torch, torch.distributed as dist
def summed():
    x = torch.ones(2) * (dist.get_rank() + 1)
    dist.all_reduce(x)
    return x.tolist()
list(ranks.run(summed, ranks=2))""",
    "a check": """
from helpers.labs import autograd as lab
lab.square.check(lambda *_: None).verdict""",
}


@pytest.mark.slow
@pytest.mark.parametrize("case", PROCESSES)
def test_processes_of_a_forked_kernel_do_what_those_of_a_stock_one_do(shared: dict[str, Session], case: str):
    for session in shared.values():
        session.shown(f"import pathlib\npathlib.Path('in_a_file.py').write_text({IN_A_FILE!r})")
    stock, forked = (shared[kind].shown(PROCESSES[case]) for kind in KINDS)
    assert forked == stock and "Error" not in stock


UNSEEDED = "import torch, numpy, random, multiprocessing, sympy.core.random\n[sympy.core.random.random(), random.random(), numpy.random.rand(), torch.rand(1).item(), torch.initial_seed(), bytes(multiprocessing.current_process().authkey)]"


@each("forked")
def test_forked_kernels_draw_differently(shared: dict[str, Session], session: Session):
    first, second = shared["forked"].shown(UNSEEDED), session.shown(UNSEEDED)
    assert all(a != b for a, b in zip(eval(first), eval(second), strict=True))


@each()
@pytest.mark.parametrize("by", ["signal", "message"])
def test_a_cell_can_be_interrupted(session: Session, by: str):
    session.begin("import time\nprint('begun')\ntime.sleep(600)")
    # A kernel is busy a moment before it runs the cell, and a signal in that moment interrupts nothing.
    session.heard(lambda message: message["msg_type"] == "stream")
    if by == "signal":
        session.manager.interrupt_kernel()
    else:
        session.client.control_channel.send(session.client.session.msg("interrupt_request", {}))
    error = session.heard(lambda message: message["msg_type"] == "error")
    assert error["content"]["ename"] == "KeyboardInterrupt"
    assert session.shown("'still here'") == "'still here'"


@each()
def test_a_kernel_restarts(session: Session, kind: str):
    old = session.pid
    session.shown("kept = 1")
    session.manager.restart_kernel(now=True)
    session.client.wait_for_ready(timeout=60)
    assert session.pid != old and session.forked == (kind == "forked")
    assert "NameError" in session.shown("kept")


@each()
@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("os._exit(3)", 3),
        ("os.kill(os.getpid(), 9)", -signal.SIGKILL),
        ("os.abort()", -signal.SIGABRT),
    ],
)
def test_the_way_a_kernel_died_is_known(session: Session, ending: str, code: int):
    session.client.execute(f"import os\n{ending}")
    assert session.exit_code() == code


@each()
def test_a_kernel_that_is_shut_down_runs_what_was_left_to_the_end(session: Session, tmp_path: Path):
    session.shown(
        "import atexit, pathlib\natexit.register(pathlib.Path('ended').touch)\nkept = open('kept', 'w')\nkept.write('all of it');"
    )
    process = psutil.Process(session.pid)
    session.end(PATIENCE)
    assert not lives(process) and (tmp_path / "ended").exists()
    assert (tmp_path / "kept").read_text() == "all of it"


LATE_CONTROL = """
import pathlib, time
from ipykernel.kernelapp import IPKernelApp
app = IPKernelApp.instance()
publish, stop = app.kernel._publish_status_and_flush, app.iopub_thread.stop
def publish_late(status, channel, *more, sleep=time.sleep, publish=publish):
    sleep(0.3 if channel == "control" else 0)
    publish(status, channel, *more)
def stop_output(app=app, stop=stop, note=pathlib.Path("order").write_text):  # at the end IPython clears all names
    note("control is " + ("alive" if app.control_thread.is_alive() else "gone"))
    stop()
app.kernel._publish_status_and_flush, app.iopub_thread.stop = publish_late, stop_output
"""


@each("forked")
def test_a_forked_kernel_closes_its_output_after_its_control_thread(session: Session, tmp_path: Path):
    session.shown(LATE_CONTROL)
    process = session.manager.provisioner.process
    session.end(PATIENCE)
    assert (tmp_path / "order").read_text() == "control is gone", "else it waits 10 s, now and then"
    assert process.returncode == 0


@pytest.mark.slow
@each()
def test_a_kernel_that_ignores_its_end_is_killed(session: Session):
    session.begin(
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True:\n    time.sleep(1)"
    )
    process = psutil.Process(session.pid)
    session.end()
    wait_until(lambda: not lives(process))


@each("forked")
def test_a_forked_kernel_carries_the_mark_of_its_job(kind: str, tmp_path: Path):
    mark = "f" * 32
    session = Session(tmp_path, {"LABBOOK_JOB": mark})
    try:
        # Python 3.12 and newer warn of a fork beside threads.
        session.shown("import warnings\nwarnings.simplefilter('ignore')")
        source = "import os\nif not (pid := os.fork()):\n    os.execvp('sleep', ['sleep', '600'])\npid"
        below = psutil.Process(int(session.shown(source)))
        bare = psutil.Process(
            int(session.shown("import time\nif not (pid := os.fork()):\n    time.sleep(600)\npid"))
        )
        for process in (psutil.Process(session.pid), below, bare):
            assert process.environ()["LABBOOK_JOB"] == mark
    finally:
        session.manager.shutdown_kernel(now=True)
        session.end()
    wait_until(lambda: not lives(below) and not lives(bare))


@each("forked")
def test_a_forked_kernel_collects_and_looks_at_nothing_that_the_server_imported(session: Session, kind: str):
    told = "import gc\ngc.isenabled(), gc.get_freeze_count() > 100_000, gc.get_stats()[2]['collections'] < 5"
    assert session.shown(told) == "(True, True, True)"


# What differs, and is known: the course is run with stock kernels, too, by `make test-all`.
@each()
def test_known_difference_what_a_notebook_forgot_to_import_is_there(session: Session, kind: str):
    shown = session.shown("import matplotlib\nmatplotlib.pyplot.__name__")
    description = "AttributeError: module 'matplotlib' has no attribute 'pyplot'"
    assert shown == (description if kind == "stock" else "'matplotlib.pyplot'")


@pytest.mark.skipif(len(os.sched_getaffinity(0)) == 1, reason="one core: one thread in any case")
@each()
def test_known_difference_a_variable_for_an_import_comes_too_late(session: Session, kind: str):
    shown = session.shown(
        "import os\nos.environ['OMP_NUM_THREADS'] = '1'\nimport torch\ntorch.get_num_threads()"
    )
    assert (shown == "1") == (kind == "stock")
