"""`labbook doctor`: looks at this machine, and names one fix for each thing that is wrong."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

OLDEST, NEWEST = (3, 11), (3, 14)  # the versions of Python that the course was tried with
NEED_GB = 1.0  # for the learner's files and what a lab writes
SECONDS = 120
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# Runs in a process of its own: a broken torch can end the process that imports it.
TORCH_PROBE = """
import json, torch, torchvision
boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.9]])
kept = torchvision.ops.nms(boxes, torch.tensor([0.9, 0.8]), 0.5).tolist()
assert kept == [0], f"torchvision.ops.nms gave {kept}, not [0]"
gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
print(json.dumps({"torch": torch.__version__, "torchvision": torchvision.__version__, "gpus": gpus}))
"""
LAB_PROBE = "import json, jupyterlab.labapp; print(json.dumps({'jupyterlab': jupyterlab.__version__}))"
# Asks for the kernel by the name that the notebooks give, and lets it import the project.
KERNEL_PROBE = """
import json
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(kernel_name="python3", startup_timeout=60)
contents = []
try:
    client.execute_interactive(
        "import sys, helpers; print(sys.prefix)",
        timeout=60,
        output_hook=lambda message: contents.append(message["content"]),
    )
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
text = "".join(content.get("text", "") for content in contents).strip()
error = [content["evalue"] for content in contents if "evalue" in content]
print(json.dumps({"prefix": text, "error": error}))
"""


@dataclass(frozen=True)
class Finding:
    """One line of the doctor. `fix` is '' where nothing is wrong; `needed`: learning needs it."""

    message: str
    fix: str = ""
    needed: bool = True

    @property
    def sign(self) -> str:
        """The word in front."""
        return "ok" if not self.fix else "WRONG" if self.needed else "note"


def rebuild(root: Path) -> str:
    """How to install the packages anew: in .venv, or in an environment that somebody else made."""
    if Path(sys.prefix) == root / ".venv":
        return "rm -r .venv && make setup"
    return f"{sys.executable} -m pip install --force-reinstall -r requirements.lock"


class ProbeFailed(Exception):
    """The message is the last line that the probe said."""


@cache
def probe(code: str) -> dict:
    """What a piece of Python, run by this interpreter in its own process, prints as JSON.

    Raises: ProbeFailed, if it raises, dies, or takes more than two minutes.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise ProbeFailed(f"no answer after {SECONDS} seconds") from None
    if done.returncode < 0:
        raise ProbeFailed(f"the process died of signal {-done.returncode}")
    try:
        return json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise ProbeFailed(lines[-1]) from None


def python_finding(root: Path) -> Finding:
    """Is Python new enough, and no newer than what was tried?"""
    version = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info[:2] < OLDEST:
        return Finding(f"Python {version} is too old", "PYTHON=python3.12 make setup")
    if sys.version_info[:2] > NEWEST:
        tried = " to ".join(f"{major}.{minor}" for major, minor in (OLDEST, NEWEST))
        message = f"Python {version}: the lab book was tried with {tried}, and may work here, too"
        return Finding(message, "if a lab fails: PYTHON=python3.14 make setup", False)
    return Finding(f"Python {version}, {sys.prefix}")


def torch_finding(root: Path) -> Finding:
    """Do torch and torchvision load together, and does an operator of torchvision run?"""
    try:
        found = probe(TORCH_PROBE)
    except ProbeFailed as failed:
        return Finding(f"torch with torchvision: {failed}", rebuild(root))
    return Finding(f"torch {found['torch']} with torchvision {found['torchvision']}")


def jupyterlab_finding(root: Path) -> Finding:
    """Does JupyterLab load?"""
    try:
        return Finding(f"JupyterLab {probe(LAB_PROBE)['jupyterlab']}")
    except ProbeFailed as failed:
        return Finding(f"JupyterLab: {failed}", rebuild(root))


def kernel_finding(root: Path) -> Finding:
    """Does a kernel start, is it this Python, and does it find the project?"""
    try:
        answer = probe(KERNEL_PROBE)
    except ProbeFailed as failed:
        return Finding(f"Jupyter kernel: {failed}", rebuild(root))
    if answer["error"]:
        return Finding(f"Jupyter kernel: {answer['error'][0]}", rebuild(root))
    if answer["prefix"] != sys.prefix:
        message = f"the kernel named python3 belongs to another Python, {answer['prefix']}"
        return Finding(message, "jupyter kernelspec remove python3")
    return Finding("a Jupyter kernel starts and finds the project")


def disk_finding(root: Path) -> Finding:
    """Is there room for the learner's files?"""
    free = shutil.disk_usage(root).free / 1e9
    if free < NEED_GB:
        return Finding(f"{free:.1f} GB of disk are free", f"free {NEED_GB:.0f} GB on the disk of {root}")
    return Finding(f"{free:.0f} GB of disk are free")


def cores_finding(root: Path) -> Finding:
    """How many cores may be used? One is enough, but slow."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cores < 2:
        return Finding(
            "1 core: labs with several processes are slow", "give this machine 2 cores or more", False
        )
    return Finding(f"{cores} cores")


def gpu_finding(root: Path) -> Finding:
    """Is there a GPU? Its absence is not wrong."""
    try:
        names = probe(TORCH_PROBE)["gpus"]
    except ProbeFailed:
        return Finding("GPU: unknown, since torch does not load", "mend torch first", False)
    return Finding(f"GPU: {', '.join(names)}" if names else "no GPU: no lab needs one")


def browser() -> str | None:
    """Path of the Chromium for the browser tests, or None. LABBOOK_BROWSER names another one."""
    named = os.environ.get("LABBOOK_BROWSER")
    return next(filter(None, map(shutil.which, [named] if named else BROWSERS)), None)


def browser_finding(root: Path) -> Finding:
    """Is there a browser for the tests? Learning works with any browser."""
    path = browser()
    if path is None:
        return Finding(
            "no Chromium for the browser tests",
            "apt install chromium (Debian), or LABBOOK_BROWSER=path",
            False,
        )
    return Finding(f"browser for the tests: {path}")


FINDINGS: tuple[Callable[[Path], Finding], ...] = (
    python_finding,
    torch_finding,
    jupyterlab_finding,
    kernel_finding,
    disk_finding,
    cores_finding,
    gpu_finding,
    browser_finding,
)


def doctor(root: Path) -> int:
    """Prints a line for each thing, as soon as it is known. Exit code 1 if learning needs one that is wrong."""
    ill = False
    for look in FINDINGS:
        finding = look(root)
        print(f"{finding.sign:<5}  {finding.message}", flush=True)
        if finding.fix:
            print(f"       fix: {finding.fix}", flush=True)
        ill |= bool(finding.fix) and finding.needed
    return int(ill)
