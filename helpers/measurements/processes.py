"""A Python of its own for a part of a measurement: what happens once in a process, or by its environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from helpers import paths


class PartFailed(RuntimeError):
    """The process of a part ended without its answer."""


def answer_of(module: str, *args: object, seconds: float = 120, **environment: str) -> Any:
    """What `python -m helpers.measurements.<module> ARG ...` prints as its last line, which is JSON.

    environment: variables of the new process beside those of this one.

    Raises:
        PartFailed: it ended with an error, with its last words; or not in time.
    """
    command = [sys.executable, "-m", f"helpers.measurements.{module}", *map(str, args)]
    try:
        done = subprocess.run(
            command,
            cwd=paths.ROOT,
            env=dict(os.environ) | environment,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        raise PartFailed(f"{module} {' '.join(map(str, args))}: not done after {seconds:g} s") from None
    if done.returncode or not done.stdout.strip():
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise PartFailed(f"{module} {' '.join(map(str, args))}: exit code {done.returncode}: {last}")
    return json.loads(done.stdout.strip().splitlines()[-1])
