"""Why a fork of this process would not be as good as a fresh kernel."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ci.headless.warm.agreement import conditions, early

Stamp = tuple[int, int] | tuple[str, ...] | None


def process_error() -> str:
    """Why this process must not be forked at all, or ""."""
    child = os.fork()
    if child == 0:
        torch = sys.modules.get("torch")
        # Only a fork tells: CUDA is touched by much that does not count as initialising it.
        os._exit(bool(torch and torch.cuda._is_in_bad_fork()))
    if os.waitpid(child, 0)[1]:
        return "a loaded package touched CUDA"
    # Counted after the first fork: before one, OpenBLAS ends its own threads, and starts them again when it computes.
    if (count := len(os.listdir("/proc/self/task"))) > 1:
        return f"a loaded package started {count - 1} threads"
    return ""


def request_error(request: Mapping[str, Any], env: Mapping[str, str], stamps: Mapping[str, Stamp]) -> str:
    """Why this request cannot be met by a fork, or "".

    Args:
        request: What client.py sends.
        env: The server's environment as it began.
        stamps: What `stamped` gave when the server had imported all.
    """
    mine, wanted = conditions(), request["conditions"]
    if differ := [name for name in mine if wanted.get(name) != mine[name]]:
        return f"what it inherits differs: {', '.join(differ)}"
    here, there = early(env), early(request["environment"])
    if differ := sorted(name for name in {*here, *there} if here.get(name) != there.get(name)):
        return f"the environment differs: {', '.join(differ[:3])}{', ...' if differ[3:] else ''}"
    if changed := next((path for path, stamp in stamps.items() if stamp_of(path) != stamp), ""):
        return f"changed since the run began: {changed}"
    if own := modules_in(Path(request["folder"])) & sys.modules.keys() - set(sys.builtin_module_names):
        return f"{request['folder']} has its own {min(own)}"
    return ""


def modules_in(folder: Path) -> set[str]:
    """The names of the modules and packages that a notebook in this folder finds first."""
    packages = {init.parent.name for init in folder.glob("*/__init__.py")}
    return {file.stem for file in folder.glob("*.py")} | packages


def stamped() -> dict[str, Stamp]:
    """Every file that is loaded, and every folder where Python looks for modules."""
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    return {path: stamp_of(path) for path in {*files, *sys.path} if isinstance(path, str) and path}


def stamp_of(path: str) -> Stamp:
    """Changes when a file does, or when something that may be a module comes to a folder or leaves it."""
    try:
        if os.path.isdir(path):
            return tuple(sorted(name for name in os.listdir(path) if name[0] not in "._"))
        stat = os.stat(path)
        return stat.st_mtime_ns, stat.st_size
    except OSError:
        return None
