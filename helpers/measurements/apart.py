"""Runs a measurement in a process of its own: nothing that ran before is warm, and a crash stays there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from helpers import paths
from helpers.measurements.registry import Measurement
from helpers.measurements.samples import Samples, form_error

QUICK_SECONDS = 90.0


class MeasurementFailed(RuntimeError):
    """A measurement raised, died or did not end; the message says which, and its last words."""


@dataclass(frozen=True)
class Result:
    """What a process measured on the GPU. device: its name, driver, cuda, cudnn and torch."""

    measurement: Measurement
    device: dict[str, str]
    samples: Samples


def result_of(measurement: Measurement, quick: bool = False) -> Result:
    """Runs the measurement on the GPU of this machine.

    quick: fewer repeats and smaller sizes.

    Raises:
        MeasurementFailed: it gave no samples.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        command = [sys.executable, "-m", "helpers.measurements.child", measurement.name, str(path)]
        seconds = min(measurement.seconds, QUICK_SECONDS) if quick else measurement.seconds
        message = _finished([*command, *["quick"] * quick], measurement.name, seconds)
        if not path.exists():
            raise MeasurementFailed(f"{measurement.name}: {message}")
        got = json.loads(path.read_text(encoding="utf-8"))
    if error := form_error(got["samples"]):
        raise MeasurementFailed(f"{measurement.name}: {error}")
    return Result(measurement, got["device"], got["samples"])


def _finished(command: list[str], name: str, seconds: float) -> str:
    """Waits for the process, ends it and all that it started, and gives its last words."""
    process = subprocess.Popen(
        command,
        cwd=paths.ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise MeasurementFailed(f"{name}: not done after {seconds:g} s, and ended") from None
    finally:
        _end(process)
    last = [line for line in errors.splitlines() if line.strip()]
    return last[-1].strip() if last else f"the process ended with exit code {process.returncode} and no word"


def _end(process: subprocess.Popen) -> None:
    """Ends a process with its whole group, so that no rank stays behind."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    if process.poll() is None:
        process.kill()
    process.wait()
    if process.stderr and not process.stderr.closed:
        process.stderr.close()
