"""Reads results that were measured on a GPU: `data/recordings/<name>.json` (see the README there).

A lab shows the record where there is no GPU, with the device and the date; where none is on file it says so.
Numbers are never typed in: everything shown is computed from the raw samples.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any

import helpers

NAME = re.compile(r"[a-z][a-z0-9_]*")
COMMIT = re.compile(r"[0-9a-f]{7,40}")
TEXTS = ("device", "driver", "cuda", "torch", "date", "commit")

# One sample, or lists of them. A text stands for what has no size, as the digest of a tensor's bytes.
Samples = list[Any] | dict[str, Any]


class RecordingFault(ValueError):
    """A recording is not as it must be; the message says which file and what is wrong."""


@dataclass(frozen=True)
class Recording:
    """One measurement on one device.

    samples: the raw samples, a list or lists by name; times in the unit that the name says.
    """

    name: str
    device: str
    driver: str
    cuda: str
    torch: str
    date: str
    commit: str
    samples: Samples

    @property
    def label(self) -> str:
        """Where and when this was measured, in one line."""
        made = f"driver {self.driver}, CUDA {self.cuda}, torch {self.torch}"
        return f"recorded on {self.device} ({made}) on {self.date}, commit {self.commit[:7]}"


def recorded(name: str) -> Recording | None:
    """The recording with this name, None if there is none.

    Raises:
        ValueError: the name is no name of a recording.
        RecordingFault: the file lacks a field, or a field is not as it must be.
    """
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a recording: small letters, digits and '_', a letter first")
    path = helpers.DATA / "recordings" / f"{name}.json"
    where = f"data/recordings/{name}.json"
    try:
        raw = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refused)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise RecordingFault(f"{where} cannot be read: {error}; record it again") from None
    if not isinstance(raw, dict):
        raise RecordingFault(f"{where} holds no fields: it is an object with {', '.join(TEXTS)}, samples")
    if fault := _fault(raw):
        raise RecordingFault(f"{where}: {fault}; record it again, a number is never typed in")
    return Recording(name, *(raw[key] for key in TEXTS), samples=raw["samples"])


def _refused(constant: str) -> float:
    raise ValueError(f"{constant} is no sample")


def _fault(raw: Mapping[str, Any]) -> str:
    """What is wrong with the fields of a file; "" if nothing."""
    if missing := [key for key in (*TEXTS, "samples") if key not in raw]:
        return f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    if wrong := [key for key in TEXTS if not isinstance(raw[key], str) or not raw[key].strip()]:
        return f"{wrong[0]} must be text, not {raw[wrong[0]]!r}"
    try:
        datetime.fromisoformat(raw["date"])
    except ValueError:
        return f"date must be a day, as 2026-05-01, not {raw['date']!r}"
    if not COMMIT.fullmatch(raw["commit"]):
        return f"commit must be 7 to 40 hexadecimal digits, not {raw['commit']!r}"
    if not isinstance(raw["samples"], list | dict) or not _are_samples(raw["samples"]):
        return (
            "samples must be raw samples: numbers or texts, in a list or in lists by name, none of them empty"
        )
    return ""


def _are_samples(value: Any) -> bool:
    if isinstance(value, list | dict):
        inside = value.values() if isinstance(value, dict) else value
        return bool(value) and all(map(_are_samples, inside))
    return isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))


class Shown:
    """A recording with its label, or the plain word that there is none; as text and as HTML."""

    def __init__(self, name: str, recording: Recording | None) -> None:
        self.name, self.recording = name, recording

    def __str__(self) -> str:
        if self.recording is None:
            return f"No recording {self.name} is on file: this was not measured on a GPU yet."
        lines = [f"{self.name}: {self.recording.label}"]
        return "\n".join([*lines, *(f"  {what}: {said}" for what, said in rows(self.recording.samples))])

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        first, *rest = map(escape, str(self).splitlines())
        items = "".join(f"<li>{line.strip()}</li>" for line in rest)
        body = f"<p style='margin:4px 0'>{first}</p>" + (f"<ul>{items}</ul>" if items else "")
        # A literal colour stands before the variable: an untrusted notebook drops declarations with var().
        edge = "border-left:6px solid #757575;border-left-color:var(--jp-border-color1,#757575)"
        return {"text/html": f"<div style='{edge};padding:2px 12px'>{body}</div>", "text/plain": str(self)}


def rows(samples: Samples) -> list[tuple[str, str]]:
    """What is shown of raw samples: a name, and how many there are with their median or their distinct values."""
    named = samples if isinstance(samples, dict) else {"samples": samples}
    return [
        (str(name), _summary(values if isinstance(values, list) else [values]))
        for name, values in named.items()
    ]


def _summary(values: list[Any]) -> str:
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        low, middle, high = min(values), statistics.median(values), max(values)
        return f"median {middle:.4g} of {len(values)} (from {low:.4g} to {high:.4g})"
    distinct = len({json.dumps(value, sort_keys=True) for value in values})
    return f"{distinct} different of {len(values)}"


def show(name: str) -> Shown:
    """The recording with this name, to be shown in a lab; it says so where there is none.

    Raises:
        ValueError: the name is no name of a recording.
        RecordingFault: the file is not as it must be.
    """
    return Shown(name, recorded(name))
