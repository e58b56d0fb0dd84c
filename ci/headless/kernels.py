"""The kernel and the environment in which notebooks run headless, the same for run, validate and labs."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ci.notebooks.files import WrongUse

# By the clock, and so for a busy machine: quiet, a whole solution runs in 60. LABBOOK_CELL_SECONDS overrides the first.
CELL_SECONDS = 600.0
START_SECONDS = 180

# What differs between terminals, machines and days, and shows in outputs.
FIXED = {
    "SOURCE_DATE_EPOCH": "0",  # no date in SVG and PDF files
    "LABBOOK_HEADLESS": "1",
    "PYTHONHASHSEED": "0",  # the order in which a set is printed
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "COLUMNS": "80",
    "LINES": "24",
}
REMOVED = ("FORCE_COLOR", "NO_COLOR", "CLICOLOR_FORCE", "PY_COLORS", "PYTHONSTARTUP", "LABBOOK_STRICT")


def cell_seconds() -> float:
    """The time limit of one cell, in seconds."""
    return positive("LABBOOK_CELL_SECONDS", CELL_SECONDS)


def positive(variable: str, otherwise: float) -> float:
    """The number in an environment variable.

    Raises:
        WrongUse: it holds something else than a number above 0.
    """
    value = os.environ.get(variable)
    try:
        number = float(value) if value else otherwise
    except ValueError:
        number = 0.0
    if not number > 0:
        raise WrongUse(f"{variable} must be a number above 0, not {value!r}")
    return number


def environment(
    root: Path, folder: Path, *, strict: bool, base: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """The environment of a headless run.

    Args:
        root: The project, first on the import path.
        folder: A temporary folder for what the kernel keeps: history, profile, connection files.
        strict: Whether a check that is not passed raises.
        base: What to start from.
    """
    env = {
        name: value for name, value in base.items() if name not in REMOVED and not name.startswith("PYTEST_")
    }
    env |= FIXED | {"IPYTHONDIR": str(folder / "ipython"), "JUPYTER_RUNTIME_DIR": str(folder / "runtime")}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(root), base.get("PYTHONPATH", "")]))
    plots = importlib.util.find_spec("matplotlib")
    if plots and plots.origin:  # a person's own matplotlibrc would change every figure
        env["MATPLOTLIBRC"] = str(Path(plots.origin).parent / "mpl-data" / "matplotlibrc")
    if strict:
        env["LABBOOK_STRICT"] = "1"
        env.setdefault(
            "LABBOOK_CHECK_SECONDS", "60"
        )  # every answer should be right, and the machine may be busy
    return env


def kernel_manager_class() -> type:
    """A kernel manager whose only kernel is the Python that runs this.

    A person's own kernel named `python3` may be another Python, so the name is not looked up.
    """
    from ipykernel.kernelspec import RESOURCES, get_kernel_dict
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from traitlets import default

    class ThisPython(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
            return KernelSpec(resource_dir=RESOURCES, **get_kernel_dict())

    class ThisPythonKernel(AsyncKernelManager):
        @default("kernel_spec_manager")
        def _this_python(self) -> KernelSpecManager:
            return ThisPython(parent=self)

    return ThisPythonKernel


def kernel_error() -> str:
    """Why this Python cannot start a kernel, with the fix; "" if it can."""
    missing = [name for name in ("ipykernel", "jupyter_client") if importlib.util.find_spec(name) is None]
    if not missing:
        return ""
    return (
        f"the Jupyter kernel is missing: {sys.executable} has no {' and no '.join(missing)}; run `make setup`"
    )


@cache
def has_gpu() -> bool:
    """Whether torch can use a CUDA device. torch is imported only where the driver counts one."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        return False
    import torch

    return torch.cuda.is_available()
