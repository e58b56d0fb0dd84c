"""Results that were measured on a GPU: `data/recordings/<name>.json` (see the README there).

On a GPU a lab measures for itself; elsewhere it shows the record, with the device and the date; where none is on
file it says so. Numbers are never typed in: everything shown is computed from the raw samples.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from helpers import paths
from helpers.display.html import box, fold
from helpers.measurements.samples import NAME, Samples, record_error, rows

if TYPE_CHECKING:
    from helpers.measurements.registry import Measurement

TEXTS = ("device", "driver", "cuda", "torch", "date", "commit")
MORE = ("cudnn", "unit", "command", "code")
MOST_LINES = 40
MOST_OPEN = 12  # lines of samples that stand open where several measurements follow each other


class RecordingError(ValueError):
    """A recording is not as it must be; the message says which file and what is wrong."""


@dataclass(frozen=True)
class Recording:
    """One measurement on one device.

    samples: the raw samples, a list or lists by name; times in the unit that the name says.
    code: a digest of the measuring code; now: measured in this session, not read from a file.
    """

    name: str
    device: str
    driver: str
    cuda: str
    torch: str
    date: str
    commit: str
    samples: Samples
    cudnn: str = ""
    unit: str = ""
    command: str = ""
    code: str = ""
    now: bool = False

    @property
    def label(self) -> str:
        """Where and when this was measured, in one line."""
        made = f"driver {self.driver}, CUDA {self.cuda}, torch {self.torch}"
        if self.now:
            return f"measured now on {self.device} ({made})"
        return f"recorded on {self.device} ({made}) on {self.date}, commit {self.commit[:7]}"


def recorded(name: str) -> Recording | None:
    """The recording with this name, None if there is none.

    Raises:
        ValueError: the name is no name of a recording.
        RecordingFault: the file lacks a field, or a field is not as it must be.
    """
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a recording: small letters, digits and '_', a letter first")
    path = paths.DATA / "recordings" / f"{name}.json"
    where = f"data/recordings/{name}.json"
    try:
        raw = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refused)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise RecordingError(f"{where} cannot be read: {error}; record it again") from None
    if not isinstance(raw, dict):
        raise RecordingError(f"{where} holds no fields: it is an object with {', '.join(TEXTS)}, samples")
    if problem := record_error(raw, TEXTS):
        raise RecordingError(f"{where}: {problem}; record it again, a number is never typed in")
    return made(name, raw)


def made(name: str, raw: Mapping[str, Any]) -> Recording:
    """A recording from its fields."""
    texts = {key: raw[key] for key in (*TEXTS, *MORE) if key in raw}
    return Recording(name, **texts, samples=raw["samples"])


def _refused(constant: str) -> float:
    raise ValueError(f"{constant} is no sample")


class Shown:
    """A recording with its label, or the plain word that there is none; as text and as HTML.

    samples: the raw samples, None where there is no recording. measurement: what would be measured.
    """

    def __init__(
        self, name: str, recording: Recording | None, measurement: Measurement | None = None, error: str = ""
    ) -> None:
        self.name, self.recording = name, recording
        self.samples = recording.samples if recording else None
        self._measurement, self._error = measurement, error

    def __str__(self) -> str:
        return "\n".join([*self._head(), *(f"  {line}" for line in (*self._expected(), *self._lines()))])

    __repr__ = __str__

    def _expected(self) -> list[str]:
        """What was predicted before anybody measured: it stays beside what was found. Before, also what is measured."""
        if self._measurement is None:
            return []
        about = [] if self.recording else [self._measurement.about]
        return [*about, f"Predicted: {self._measurement.predicted}"]

    def _head(self) -> list[str]:
        head = [f"Not measured now: {self._error}"] if self._error else []
        if self.recording is not None:
            return [*head, f"{self.name}: {self.recording.label}"]
        return [*head, f"No recording {self.name} is on file: this was not measured on a GPU yet."]

    def _lines(self) -> list[str]:
        """The samples in short."""
        if self.recording is None:
            return []
        lines = [f"{what}: {description}" for what, description in rows(self.recording.samples)]
        more = len(lines) - MOST_LINES
        return lines if more <= 1 else [*lines[:MOST_LINES], f"... and {more} more lines like these"]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": str(self)}

    def html(self, most_open: int = MOST_LINES) -> str:
        """The box of a page. most_open: lines of samples that stand open; more are in a fold."""
        head = "".join(
            f"<p style='margin:4px 0'>{escape(line)}</p>" for line in (*self._head(), *self._expected())
        )
        lines = self._lines()
        listed = f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>" if lines else ""
        return box(
            head + (fold(f"{len(lines)} lines of samples", listed) if len(lines) > most_open else listed)
        )


def show(name: str) -> Shown:
    """The recording with this name, to be shown in a lab; it says so where there is none.

    Raises:
        ValueError: the name is no name of a recording.
        RecordingFault: the file is not as it must be.
    """
    return Shown(name, recorded(name))


_MEASURED: dict[str, Recording] = {}


def measured(name: str) -> Shown:
    """The measurement with this name: run now where there is a GPU, as recorded elsewhere.

    Where there is neither, it says what would be measured, and what the course predicts. Headless the measurement runs
    where there is a GPU, so that it is tried, and the record is shown: stored outputs are the same on every machine.

    Raises:
        ValueError: no measurement has this name.
        RecordingFault: the file is not as it must be.
        MeasurementFailed: it failed, headless; for a person the message is shown, with the record.
    """
    from helpers.measurements.apart import MeasurementFailed
    from helpers.measurements.registry import measurements

    found, record = measurements().get(name), recorded(name)
    if found is None:
        raise ValueError(f"no measurement is called {name!r}: `labbook record --list` names them")
    if not gpu_is_here():
        return Shown(name, record, found)
    headless = bool(os.environ.get("LABBOOK_HEADLESS"))
    try:
        live = _MEASURED[name] = _MEASURED.get(name) or measured_now(found)
    except MeasurementFailed as failure:
        if headless:
            raise
        return Shown(name, record, found, error=str(failure))
    return Shown(name, record if headless else live, found)


class OnGpu:
    """Measurements as `measured` gives them: those without a recording in one fold, closed."""

    def __init__(self, *shown: Shown) -> None:
        self._there = [one for one in shown if one.recording is not None]
        self._missing = [one for one in shown if one.recording is None]

    def __str__(self) -> str:
        return "\n".join(map(str, (*self._there, *self._missing)))

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        there, missing = (
            "".join(one.html(MOST_OPEN) for one in some) for some in (self._there, self._missing)
        )
        if missing:
            names = ", ".join(one.name for one in self._missing)
            there += fold(f"Not measured on a GPU yet: {names}. What is predicted", missing)
        return {"text/html": there, "text/plain": str(self)}


def measured_now(measurement: Measurement) -> Recording:
    """A quick run on the GPU of this machine, for a lab.

    Raises:
        MeasurementFailed: it gave no samples.
    """
    from helpers.measurements.apart import result_of

    result = result_of(measurement, quick=True)
    today = datetime.date.today().isoformat()
    return Recording(
        measurement.name,
        **result.device,
        date=today,
        commit="",
        samples=result.samples,
        unit=measurement.unit,
        now=True,
    )


def gpu_is_here() -> bool:
    """Whether torch can use a GPU."""
    import torch

    return torch.cuda.is_available()
