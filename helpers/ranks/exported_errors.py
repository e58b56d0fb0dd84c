"""Why an exported function came to no result: from what its ranks noted, and from torchrun's own lines."""

from __future__ import annotations

import re
import signal
from pathlib import Path

ERRORS = "errors"
# What a rank raises when another one has gone: true, and not the cause.
_ECHO = re.compile(r"Connection (closed|reset) by|Broken pipe")
_FAILED = re.compile(r"failed \(exitcode: (-?\d+)\) local_rank: (\d+)")


def log_of(folder: Path, node: int) -> Path:
    """Where a node's torchrun writes its lines when it runs on this machine."""
    return folder / f"torchrun-node{node}.txt"


def errors(folder: Path) -> list[str]:
    """What ranks that raised noted; causes before echoes, and what came first before what came later."""
    files = sorted((folder / ERRORS).glob("rank*.txt"), key=lambda file: file.stat().st_mtime_ns)
    texts = [_tidy(file.read_text(encoding="utf-8")) for file in files]
    return sorted(texts, key=lambda text: bool(_ECHO.search(text)))


def what_is_known(folder: Path, nodes: int) -> list[str]:
    """The ranks that a signal ended, then the first error of a rank; else the last lines of torchrun."""
    logs = [log_of(folder, node).read_text(encoding="utf-8", errors="replace") for node in range(nodes)]
    killed = [line for node, log in enumerate(logs) for line in _killed(log, node if nodes > 1 else None)]
    raised = [text for text in errors(folder) if not (killed and _ECHO.search(text))]
    return [*killed, *raised[:1]] or ["Its last lines:", *logs[0].splitlines()[-15:]]


def _killed(log: str, node: int | None) -> list[str]:
    """A line for each rank of which torchrun says that a signal ended it; not those that torchrun ended."""
    lines = []
    for code, rank in _FAILED.findall(log):
        if int(code) < 0 and -int(code) != signal.SIGTERM:
            who = f"rank {rank}" if node is None else f"rank {rank} of node {node}"
            lines.append(f"{who} was ended by {_name(-int(code))}.")
    return list(dict.fromkeys(lines))


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _tidy(text: str) -> str:
    """Without gloo's places in C++ and its greeting."""
    text = re.sub(r"\[/[^\]\s]*?([\w.]+:\d+)\] ", "", text)
    return re.sub(r" This is typically caused by[^\n]*", "", text)
