"""What a forked kernel and a fresh one must have in common, told the same way by both sides."""

from __future__ import annotations

import os
import resource
import socket
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SOCKET = "LABBOOK_KERNEL_SERVER"  # the path of the server's socket
CHOSEN_BY = "JUPYTER_DEFAULT_PROVISIONER_NAME"  # jupyter_client's own variable
PROVISIONER = "labbook-forked"  # the entry point in pyproject.toml
COMMAND = ("-m", "ipykernel_launcher")  # of a stock kernel; with other options a fork would not be the same
LONGEST = 1 << 17  # bytes of a request

# Looked up when they are used, after the fork. Any other variable may have been read by what the server loaded.
LATE = ("LABBOOK_", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JPY_PARENT_PID")


def early(env: Mapping[str, str]) -> dict[str, str]:
    """The variables that must be the same for the server and for a kernel."""
    return {name: value for name, value in env.items() if not name.startswith(LATE)}


def conditions() -> dict[str, Any]:
    """What a process gets from the one that starts it, as JSON can hold it, the environment excepted."""
    limits = [name for name in dir(resource) if name.startswith("RLIMIT_")]
    return {
        "Python": [sys.executable, sys.prefix],
        "limits of the process": {name: list(resource.getrlimit(getattr(resource, name))) for name in limits},
        "cores": sorted(os.sched_getaffinity(0)),
        "priority": os.getpriority(os.PRIO_PROCESS, 0),
    }


def peer(connection: socket.socket) -> tuple[int, int]:
    """The process and the user at the other end of a Unix socket."""
    return struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[:2]


def is_private(path: Path) -> bool:
    """Whether only this user can reach a socket."""
    return all(place.stat().st_uid == os.getuid() for place in (path, path.parent)) and not (
        path.parent.stat().st_mode & 0o077
    )
