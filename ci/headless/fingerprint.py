"""What a notebook's run depends on besides the notebook, as one hash: code, data, packages, device, environment."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import ci
import helpers
from helpers import paths

FOLDERS = ("helpers", "ci", "data")
OWN = (*(Path(package.__path__[0]) for package in (helpers, ci)), paths.DATA)
# What Python, JupyterLab and tools keep beside the files that people write.
LEFT_OUT = ("__pycache__", ".ipynb_checkpoints", ".pytest_cache", ".ruff_cache")
# The names that count begin like this; every terminal brings others that do not.
VARIABLES = tuple(
    """
    LABBOOK_ PYTHON LC_ LANG TZ HOME TMP TEMP
    CC CXX CFLAGS CPPFLAGS LDFLAGS CMAKE_ CPATH CPLUS_ C_INCLUDE_ LIBRARY_PATH
    RANK WORLD_SIZE LOCAL_ MASTER_ TP_ TBB_ NPY_
    OMP_ GOMP_ KMP_ MKL_ OPENBLAS_ VECLIB_ NUMEXPR_ BLIS_ ATEN_ DNNL_ ONEDNN_
    TORCH PYTORCH_ C10_ CUDA CUBLAS_ CUDNN_ NVIDIA_ NCCL_ GLOO_ TRITON_
    MPL IPY JUPYTER LD_ DYLD_ MALLOC_ GLIBC_
    """.split()
)
# They say how to run, not what comes out.
INDIFFERENT = ("LABBOOK_JOBS", "LABBOOK_FORCE", "LABBOOK_BROWSER", "LABBOOK_NO_BROWSER")
TOOLS = ("c++", "g++", "clang++", "cmake", "make", "ninja")  # that labs build C++ with


def fingerprint(root: Path, environ: Mapping[str, str] = os.environ) -> str:
    """The hash of all that a run of any notebook of the project can depend on, notebooks excepted.

    The contents of files count, never their times. What is not seen: a change by hand inside an installed
    package, and what a notebook reads elsewhere: outside the project, in other notebooks, on one's own PYTHONPATH.

    Raises:
        OSError: a file cannot be read.
    """
    total = hashlib.sha256()
    for part in (*_machine(), *_packages(), *_variables(environ)):
        total.update(f"{part}\n".encode(errors="surrogateescape"))
    for path in _files(root):
        total.update(f"{path}\0{_content(path)}\n".encode(errors="surrogateescape"))
    return total.hexdigest()


def digest(path: Path) -> str:
    """The hash of a file's bytes.

    Raises:
        OSError: it cannot be read.
    """
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _files(root: Path) -> Iterator[Path]:
    """The project's files, in order. A project without its own helpers runs with those of this process."""
    folders = [*(root / name for name in FOLDERS), *OWN]
    for folder in dict.fromkeys(path.resolve() for path in folders):
        yield from _below(folder)
    for folder in (root / "solutions", root / "labs"):  # a cell can import what lies beside its notebook
        yield from (path for path in _below(folder) if path.suffix != ".ipynb")
    yield from sorted([*root.glob("*.py"), *root.glob("requirements.lock"), *root.glob("pyproject.toml")])


def _below(folder: Path) -> Iterator[Path]:
    """Every file below a folder in order, links followed, no folder twice."""
    seen = set()
    for here, folders, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(here)
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT) if real not in seen else []
        files = sorted(files) if real not in seen else []
        seen.add(real)
        yield from (Path(here, name) for name in files if not name.endswith((".pyc", ".part")))


def _content(path: Path) -> str:
    try:
        kind = path.stat().st_mode
    except FileNotFoundError:  # a link that leads nowhere
        return "missing"
    return digest(path) if stat.S_ISREG(kind) else "no file"


def _packages() -> Iterator[str]:
    """Each installed package with the list of its files and their hashes, as it was installed."""
    for place in sys.path:
        if os.path.basename(place) not in ("site-packages", "dist-packages"):
            continue
        for found in sorted(Path(place).glob("*.dist-info")):
            record = found / "RECORD"
            yield f"{found} {digest(record) if record.is_file() else ''}"


def _variables(environ: Mapping[str, str]) -> Iterator[str]:
    for name, value in sorted(environ.items()):
        if name.startswith(VARIABLES) and name not in INDIFFERENT:
            yield f"{name}={value}"


def _machine() -> Iterator[str]:
    usable = getattr(os, "sched_getaffinity", None)
    yield f"{sys.version} {sys.prefix} {platform.platform()} {_processor()}"
    yield f"{len(usable(0)) if usable else os.cpu_count()} cores"
    yield from gpus()
    for tool in TOOLS:
        if place := shutil.which(tool):
            about = os.stat(place)
            yield f"{os.path.realpath(place)} {about.st_size} {about.st_mtime_ns}"


@cache
def _processor() -> str:
    """The processor's name: another one may round otherwise."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith("model name")), platform.processor())


@cache
def gpus() -> tuple[str, ...]:
    """The names of the GPUs that this process may use, and the driver's version first; () without one.

    Asks the driver: importing torch would take longer than everything else here.
    """
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return ()
    count, version = ctypes.c_int(0), ctypes.c_int(0)
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return ()
    driver.cuDriverGetVersion(ctypes.byref(version))
    names = []
    for number in range(count.value):
        name = ctypes.create_string_buffer(256)
        driver.cuDeviceGetName(name, len(name), number)
        names.append(name.value.decode(errors="replace"))
    return (f"driver {version.value}", *names) if names else ()
