"""Raw samples of a measurement: what they may be, and how they are told in short."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

NAME = re.compile(r"[a-z][a-z0-9_]*")
COMMIT = re.compile(r"[0-9a-f]{7,40}")
DIGEST = re.compile(r"[0-9a-f]*")
NO_GPU = re.compile(r"\b(cpu|sim|simulated|rehearsal|xeon|epyc|ryzen|none)\b", re.IGNORECASE)
LEAST = 5  # numbers in a list: fewer are a summary, or chance
MOST_WHOLE = 16  # whole numbers that are shown one by one: what was asked for, or counted

# One sample, or lists of them. A text stands for what has no size, as the digest of a tensor's bytes.
Samples = list[Any] | dict[str, Any]


def record_error(raw: Mapping[str, Any], texts: Sequence[str]) -> str:
    """What is wrong with the fields of a recording, of which `texts` must be there; "" if nothing."""
    if missing := [key for key in (*texts, "samples") if key not in raw]:
        return f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    if wrong := [key for key in texts if not isinstance(raw[key], str) or not raw[key].strip()]:
        return f"{wrong[0]} must be text, not {raw[wrong[0]]!r}"
    if NO_GPU.search(raw["device"]):
        return f"device must be a GPU, not {raw['device']!r}"
    try:
        datetime.fromisoformat(raw["date"])
    except ValueError:
        return f"date must be a day, as 2026-05-01, not {raw['date']!r}"
    if not COMMIT.fullmatch(raw["commit"]):
        return f"commit must be 7 to 40 hexadecimal digits, not {raw['commit']!r}"
    return form_error(raw["samples"])


def form_error(samples: Any) -> str:
    """Why these are no samples; "" if they are."""
    if isinstance(samples, list | dict) and _are_samples(samples):
        return ""
    return "samples must be raw samples: numbers or texts, in a list or in lists by name, none of them empty"


def _are_samples(value: Any) -> bool:
    if isinstance(value, list | dict):
        inside = value.values() if isinstance(value, dict) else value
        names = all(isinstance(name, str) for name in value) if isinstance(value, dict) else True
        return bool(value) and names and all(map(_are_samples, inside))
    return isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))


def summary_error(samples: Samples) -> str:
    """Which series holds a summary in place of raw samples: a number alone, or very few of them; "" if none.

    A list with texts beside its numbers is a row of a table, and may be short; so may a list of whole numbers.
    """
    for name, values in series(samples):
        if isinstance(values, float):
            return f"{name} is one number, not samples"
        if isinstance(values, list) and 0 < len(values) < LEAST and _are_measured(values):
            return f"{name} holds {len(values)} numbers: at least {LEAST} samples are needed"
    return ""


def _are_measured(values: list[Any]) -> bool:
    numbers = all(isinstance(value, int | float) for value in values)
    return numbers and any(isinstance(value, float) for value in values)


def series(samples: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Each list of samples, or sample outside of a list, with the names that lead to it."""
    if isinstance(samples, dict):
        for key, inside in samples.items():
            yield from series(inside, f"{name}, {key}" if name else str(key))
    elif isinstance(samples, list) and any(isinstance(value, list | dict) for value in samples):
        for inside in samples:
            yield from series(inside, name or "samples")
    else:
        yield name or "samples", samples


def rows(samples: Samples) -> list[tuple[str, str]]:
    """What is shown of raw samples: names, and how many there are with their median or their distinct values."""
    if isinstance(samples, dict):
        parts = [(str(key), value) for key, value in samples.items()]
        return [
            (f"{name}, {inner}" if inner else name, description)
            for name, value in parts
            for inner, description in (
                rows(value) if isinstance(value, dict) and not _are_words(value) else [("", in_short(value))]
            )
        ]
    return [("samples", in_short(samples))]


def _are_words(value: dict[str, Any]) -> bool:
    return all(isinstance(inner, str) for inner in value.values())


def in_short(value: Any) -> str:
    """A list of samples, or one, in a few words; a row of a table of words as it is."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {inner}" for name, inner in value.items())
    values = value if isinstance(value, list) else [value]
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        if len(values) <= MOST_WHOLE and all(isinstance(value, int) for value in values):
            return ", ".join(map(str, values))
        if len(values) == 1:
            return f"{values[0]:.6g}"
        low, middle, high = min(values), statistics.median(values), max(values)
        if low == high:
            return f"{low:.10g} ({len(values)} times)"
        return f"median {middle:.4g} of {len(values)} (from {low:.4g} to {high:.4g})"
    if isinstance(value, str):
        return value
    distinct = list(dict.fromkeys(json.dumps(value, sort_keys=True) for value in values))
    message = f"{len(distinct)} different of {len(values)}"
    words = [text for text in values if isinstance(text, str) and not DIGEST.fullmatch(text)]
    if len(words) < len(values) or len(distinct) > 3 or sum(map(len, distinct)) > 300:
        return message
    listed = ", ".join(json.loads(text) for text in distinct)
    if len(distinct) == len(values):
        return listed
    return f"{listed} ({len(values)} times)" if len(distinct) == 1 else f"{message}: {listed}"
