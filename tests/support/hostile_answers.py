"""Answers that do harm, or look as if they did: name -> Hostile.

`source` is a cell that leaves `answer` behind. Where two verdicts are right (it depends on the machine's load
or memory), both are named.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent, indent


@dataclass(frozen=True)
class Hostile:
    """source: the cell. verdicts: those that are right. says: words in the report, or ones | others. seconds: the check's limit."""

    source: str
    verdicts: tuple[str, ...]
    says: str = ""
    exercise: str = "scale"
    seconds: float = 60.0  # 3 GB are touched in one, too, on a busy machine


HOSTILE: dict[str, Hostile] = {}
SOON = 1.0


def body(name: str, verdict: str, code: str, *, before: str = "", says: str = "", **more: object) -> None:
    """An answer `scale(x, k)` with this body, after the code in `before`."""
    lines = f"{dedent(before)}\ndef scale(x, k):\n{indent(dedent(code), '    ')}\nanswer = scale\n"
    cell(name, verdict, lines, says=says, **more)


def cell(name: str, verdict: str, source: str, *, says: str = "", **more: object) -> None:
    verdicts = tuple(verdict.split(" | "))
    if verdicts[0] == "timed out":
        more.setdefault("seconds", SOON)
    HOSTILE[name] = Hostile(dedent(source), verdicts, says, **more)


TORCH = "import torch\n"

# Honest answers, and wrong ones that do no harm.
body("good", "passed", "return x * k + 1")
body("stub", "not attempted", 'raise NotImplementedError("99.scale")')
body("stub of another", "not attempted", 'raise NotImplementedError("99.cube")', says="99.cube")
body(
    "NotImplementedError of torch",
    "crashed",
    "return torch.nn.Module()(x)",
    before=TORCH,
    says="NotImplementedError",
)
body("None", "wrong", "y = x * k + 1", says="return")
body("str", "wrong", 'return "hello"', says="hello")
body("NaN", "wrong", 'return x * k + 1 + float("nan")', says="NaN")
body("broadcasts", "wrong", "return (x * k + 1)[None]", says="shape")
body("wrong dtype", "wrong", "return (x * k + 1).double()", says="dtype")
body("input itself", "wrong", "return x", says="returned its input")
body("mutates", "wrong", "return x.mul_(k).add_(1)", says="changed its first argument")
body("raises", "crashed", 'y = x * k\nraise ValueError("boom")', says="line 3, in scale: raise ValueError")
body(
    "deep graph",
    "passed",
    "z = torch.ones(1, requires_grad=True)\ny = z\nif x.ndim == 0:\n    for _ in range(50000): y = y * 1\n    y.backward()\nreturn x * k + 1",
    before=TORCH,
)
body(
    "uses cudnn and torch.ops",
    "passed",
    "torch.backends.cudnn.benchmark, torch.ops.aten.add, torch.backends.mkldnn.enabled\nreturn x * k + 1",
    before=TORCH,
)
body(
    "uses getsource",
    "passed",
    'assert "getsource" in inspect.getsource(scale)\nreturn x * k + 1',
    before="import inspect\n",
)
cell("not callable", "wrong", "answer = 42", says="42")
body("generator", "wrong", "while True: yield x", says="generator")

# Recursion.
body("recursion", "crashed", "return scale(x, k)", says="RecursionError")
body(
    "recursion, limit lifted",
    "crashed",
    "sys.setrecursionlimit(10**8)\nreturn M()(x)",
    before="""
    import sys, torch
    class M(torch.nn.Module):
        def forward(self, x): return self(x)
    """,
    says="SIGSEGV | RecursionError",  # Python 3.14 looks at the stack itself
)
body(
    "recursion in repr",
    "wrong | crashed",
    "return R()",
    before="class R:\n    def __repr__(self): return repr(self)\n",
)
body("deep list", "wrong | crashed", "y = []\nfor _ in range(10**6): y = [y]\nreturn y")
body(
    "reentrant backward",
    "crashed | timed out",
    "z = torch.ones(1, requires_grad=True)\nF.apply(z).sum().backward()\nreturn x * k + 1",
    before="""
    import torch
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x): return x * 1
        @staticmethod
        def backward(ctx, g):
            with torch.enable_grad():
                z = torch.ones(1, requires_grad=True)
                F.apply(z).sum().backward()
            return g
    """,
    seconds=4.0,
)
body(
    "str of exception raises",
    "crashed",
    "raise E()",
    before="class E(Exception):\n    def __str__(self): raise self\n",
)

# Loops that never end, in Python, in C, behind handlers.
body("python loop", "timed out", "while True: pass", says="while True: pass")
body(
    "python loop, its limit",
    "timed out",
    "while True: pass",
    says="No result after 1 second of processor time.",
)
body(
    "repr loops",
    "timed out | wrong",
    "return R()",
    before="class R:\n    def __repr__(self):\n        while True: pass\n",
)
body("time.sleep", "timed out", "time.sleep(1e6)", before="import time\n", says="time.sleep(1e6)")
body(
    "time.sleep, its limit",
    "timed out",
    "time.sleep(1e6)",
    before="import time\n",
    says="nothing ran for 1 second: the answer waits for something.",
)
body(
    "lock.acquire",
    "timed out",
    "lock = threading.Lock()\nlock.acquire()\nlock.acquire()",
    before="import threading\n",
    says="lock.acquire()",
)
body(
    "long matmul",
    "timed out",
    "a = torch.ones(8000, 8000)\nfor _ in range(40): a = a @ a\nreturn a",
    before=TORCH,
)
body("one long C++ call", "timed out", "a = torch.ones(14000, 14000)\nreturn a @ a", before=TORCH)
body("C call that holds the GIL", "timed out", "return sum(range(10**11))", says="sum(range(10**11))")
body(
    "swallows BaseException",
    "timed out",
    "while True:\n    try: time.sleep(0.05)\n    except BaseException: pass",
    before="import time\n",
)
body(
    "swallows, tight",
    "timed out",
    "while True:\n    try:\n        while True: pass\n    except BaseException: continue",
)
body(
    "swallows, nested",
    "timed out",
    """
    def f():
        while True:
            try:
                try:
                    while True: pass
                except BaseException: pass
            except BaseException: pass
    while True:
        try: f()
        except BaseException: f()
    """,
)
body(
    "disarms the timer",
    "timed out",
    "try: signal.setitimer(signal.ITIMER_REAL, 0)\nexcept ValueError: pass\nwhile True: pass",
    before="import signal\n",
)
body("eager endless generator", "timed out", "def g():\n    while True: yield x\nreturn sum(g())")

# Ends of the process.
body("sys.exit", "crashed", "sys.exit(3)", before="import sys\n", says="SystemExit")
body("os._exit", "crashed", "os._exit(0)", before="import os\n", says="exit code 0")
body("segfault", "crashed", "ctypes.string_at(0)", before="import ctypes\n", says="ctypes.string_at(0)")
body("abort", "crashed", "os.abort()", before="import os\n", says="SIGABRT")
body(
    "kills the fork server",
    "passed | crashed",
    """
    if "forkserver" in open(f"/proc/{os.getppid()}/cmdline").read(): os.kill(os.getppid(), 9)
    return x * k + 1
    """,
    before="import os\n",
)
body(
    "closes all files",
    "crashed | wrong | passed",
    "os.closerange(3, 4096)\nreturn x * k + 1",
    before="import os\n",
)

# Floods, memory, threads, processes.
body(
    "prints 1e6 lines",
    "passed | timed out",
    "if x.ndim == 0:\n    for i in range(1000000): print('line', i)\nreturn x * k + 1",
    says="cut here",
)
body("one huge print", "passed", 'print("y" * 50_000_000)\nreturn x * k + 1', says="cut here")
body("writes to fd 1", "passed", 'os.write(1, b"z" * 200000)\nreturn x * k + 1', before="import os\n")
body("20 GB tensor", "crashed", "return torch.ones(5_000_000_000)[:x.numel()]", before=TORCH, says="memory")
body("3 GB tensor", "passed | wrong", "return torch.ones(750_000_000)[:0]", before=TORCH)
body(
    "list until memory ends",
    "crashed | timed out",
    "y = []\nwhile True: y.append([0] * 1000000)",
    seconds=4.0,
)
body(
    "thread never ends",
    "passed",
    "threading.Thread(target=w).start()\nreturn x * k + 1",
    before="import threading, time\ndef w():\n    while True: time.sleep(0.01)\n",
)
body(
    "busy thread",
    "passed | timed out",
    "if x.ndim == 2: threading.Thread(target=w, daemon=True).start()\nreturn x * k + 1",
    before="import threading\ndef w():\n    while True: pass\n",
)
body(
    "subprocess left",
    "passed",
    'if x.ndim == 0: subprocess.Popen(["sleep", "4321"])\nreturn x * k + 1',
    before="import subprocess\n",
)

# Patches and switches.
body(
    "patches torch.allclose and more",
    "wrong",
    """
    for n in ("allclose", "equal", "isclose", "all", "eq"): setattr(torch, n, lambda *a, **k: torch.ones((), dtype=torch.bool))
    torch.testing.assert_close = lambda *a, **k: None
    torch.Tensor.__eq__ = lambda a, b: True
    torch.Tensor.all = lambda *a: True
    return x * 0
    """,
    before=TORCH,
)
body(
    "patches torch.allclose, values right",
    "wrong",
    "torch.allclose = lambda *a, **k: True\nreturn x * k + 1",
    before=TORCH,
    says="torch.allclose",
)
body(
    "patches builtins",
    "wrong",
    """
    builtins.len = lambda x: 3
    builtins.abs = lambda x: 0
    builtins.all = lambda x: True
    builtins.isinstance = lambda *a: True
    return x * 0
    """,
    before="import builtins\n",
)
body(
    "patches Tensor.clone",
    "wrong",
    "torch.Tensor.clone = lambda t: t\ntorch.Tensor.__mul__ = lambda a, b: a\nreturn x.mul_(k)",
    before=TORCH,
)
body(
    "evil subclass",
    "wrong",
    "return x.as_subclass(T)",
    before="""
    import torch
    class T(torch.Tensor):
        @classmethod
        def __torch_function__(cls, f, types, a=(), kw=None): return True
    """,
    says="subclass T",
)
body(
    "patches the check",
    "wrong",
    """
    for m in ("compare", "trial", "judge"):
        if "helpers." + m in sys.modules: sys.modules["helpers." + m].difference = lambda *a, **k: None
    return x * 0
    """,
    before="import sys\n",
)
body(
    "changes global state",
    "wrong",
    """
    y = x * k + 1
    torch.manual_seed(1); np.random.seed(1); random.seed(1); torch.set_grad_enabled(False)
    torch.use_deterministic_algorithms(True); torch.backends.cudnn.benchmark = True; torch.set_num_threads(1)
    os.chdir("/"); os.environ["LAB_X"] = "1"; warnings.simplefilter("error"); sys.stdout = open(os.devnull, "w")
    sys.setrecursionlimit(5000); torch.set_default_dtype(torch.float64); torch.set_printoptions(precision=1)
    return y
    """,
    before="import torch, os, sys, warnings, random, numpy as np\n",
)
body(
    "default device meta", "wrong", 'y = x * k + 1\ntorch.set_default_device("meta")\nreturn y', before=TORCH
)
body(
    "enters inference mode",
    "wrong",
    "y = x * k + 1\nif x.ndim == 0: m = torch.inference_mode(); m.__enter__(); globals()['keep'] = m\nreturn y",
    before=TORCH,
    says="inference mode",
)

# The same with a graph.
CUBE = """
import torch
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x ** 2 * g
answer = Cube
"""
cell("cube good", "passed", CUBE, exercise="cube")
cell("cube ignores grad_out", "wrong", CUBE.replace(" * g\n", "\n"), exercise="cube", says="gradient")
cell(
    "cube raises in backward",
    "crashed",
    CUBE.replace("return 3 * x", 'raise RuntimeError("in backward")\n        return 3 * x'),
    exercise="cube",
    says="in backward",
)
cell(
    "cube loops in backward",
    "timed out",
    CUBE.replace("return 3 * x", "while True: pass\n        return 3 * x"),
    exercise="cube",
    says="while True: pass",
)
cell("cube is no Function", "wrong | crashed", "class Cube: pass\nanswer = Cube", exercise="cube")
