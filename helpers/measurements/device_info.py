"""On which device a measurement runs: its name and the versions that its numbers depend on."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import torch

KERNEL_MODULE = Path("/proc/driver/nvidia/version")


class UnknownDriver(RuntimeError):
    """The driver's version cannot be found out."""


def device_info() -> dict[str, str]:
    """The GPU's name, the driver, CUDA, cuDNN and torch.

    Raises: UnknownDriver
    """
    return {
        "device": torch.cuda.get_device_name(),
        "driver": driver_version(),
        "cuda": str(torch.version.cuda),
        "cudnn": str(torch.backends.cudnn.version()),
        "torch": str(torch.__version__),
    }


def driver_version() -> str:
    """The version of NVIDIA's driver, from nvidia-smi or from the kernel module.

    Raises:
        UnknownDriver: neither tells it.
    """
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        output = subprocess.run(command, capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.TimeoutExpired):
        output = ""
    if found := re.match(r"\d+(\.\d+)+", output.strip()):
        return found.group()
    try:
        output = KERNEL_MODULE.read_text(encoding="utf-8")
    except OSError:
        output = ""
    if found := re.search(r"Kernel Module.*?\s(\d+(\.\d+)+)\s", output):
        return found.group(1)
    raise UnknownDriver("the driver's version is unknown: neither nvidia-smi nor the kernel module tells it")
