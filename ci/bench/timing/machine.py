"""The machine that a time was measured on, in words."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

TOOLS = ("papermill", "nbval", "nbclient", "ipykernel")


def machine() -> dict[str, Any]:
    """Processor, cores that this process may use, memory, versions, and how busy the machine is at this moment."""
    return {
        "cpu": _cpu(),
        "cores": cores(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "torch": _version("torch"),
        "load": [round(part, 1) for part in os.getloadavg()] if hasattr(os, "getloadavg") else None,
        "tools": {name: _version(name) for name in TOOLS},
    }


def described(facts: dict[str, Any]) -> str:
    """The machine in one line."""
    load = f", load {facts['load'][0]} at the start" if facts["load"] else ""
    return (
        f"{facts['cpu']}, {facts['cores']} cores, {facts['memory_gb']} GB, {facts['system']}, "
        f"Python {facts['python']}, torch {facts['torch']}{load}"
    )


def cores() -> int:
    """How many cores this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


def _cpu() -> str:
    """The processor's name; platform.processor() is empty on many Linux systems."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
