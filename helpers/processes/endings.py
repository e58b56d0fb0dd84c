"""How a process ended, in words."""

from __future__ import annotations

import signal

MEANS = {
    "SIGKILL": "was killed (SIGKILL): by hand, or because memory ran out",
    "SIGSEGV": "died of a segmentation fault (SIGSEGV)",
    "SIGABRT": "aborted (SIGABRT)",
}


def ending(code: int | None) -> str:
    """What follows "its process": `died of a segmentation fault (SIGSEGV)`.

    code: the exit code, below 0 the signal that ended it; None where nobody knows.
    """
    if code is None:
        return "ended without a result"
    if code >= 0:
        return f"ended without a result (exit code {code})"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return MEANS.get(name, f"was ended by {name}")
