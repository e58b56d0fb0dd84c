"""`labbook record`: runs measurements on the GPU of this machine and keeps them in data/recordings/.

It runs without the command's packages, too: `python -m ci.record [NAME ...]`.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from helpers.files import put
from helpers.measurements.apart import MeasurementFailed, Result, result_of
from helpers.measurements.registry import Measurement, measurements
from helpers.measurements.samples import COMMIT, record_error, summary_error
from helpers.recordings import TEXTS, gpu_is_here

RECORDINGS = "data/recordings"
CODE = "helpers/measurements"


class NoOrigin(RuntimeError):
    """What is measured here could not be traced to a commit; the message says why."""


def record(
    root: Path,
    names: Sequence[str] = (),
    *,
    listed: bool = False,
    commit: str = "",
    run: Callable[[Measurement], Result] = result_of,
    gpu: Callable[[], bool] | None = None,
) -> int:
    """Records the named measurements, or those of the named labs; none means all. Returns the exit code.

    A measurement that fails is told, the others go on. What was recorded before it stays, also after an interruption.

    Args:
        listed: Only list them.
        commit: The commit of this code, where it is no checkout.
        run: Runs one measurement on the GPU.
        gpu: Tells whether there is a GPU.
    """
    wanted, unknown = chosen(names)
    if unknown:
        print(
            f"labbook record: no measurement {', '.join(unknown)}: see labbook record --list", file=sys.stderr
        )
        return 2
    if listed:
        print(*(line(root, measurement) for measurement in wanted), sep="\n")
        return 0
    try:
        if not (gpu or gpu_is_here)():
            raise NoOrigin("torch finds no GPU here; a recording is made on one, and nothing was written")
        origin = commit_of(root, commit)
    except NoOrigin as error:
        print(f"labbook record: {error}", file=sys.stderr)
        return 1
    failed = [each.name for each in wanted if not _recorded(root, each, origin, run)]
    print(f"{len(wanted) - len(failed)} of {len(wanted)} recorded in {RECORDINGS}/", end="")
    print(f"; failed: {', '.join(failed)}" if failed else "")
    return int(bool(failed))


def chosen(names: Sequence[str]) -> tuple[list[Measurement], list[str]]:
    """The measurements of these names and labs, and the names that nobody knows."""
    known = measurements()
    labs = {measurement.lab for measurement in known.values()}
    unknown = [name for name in names if name not in known and name.zfill(2) not in labs]
    wanted = [each for each in known.values() if not names or _is_named(each, names)]
    return wanted, unknown


def _is_named(measurement: Measurement, names: Sequence[str]) -> bool:
    return measurement.name in names or measurement.lab in [name.zfill(2) for name in names]


def line(root: Path, measurement: Measurement) -> str:
    """One measurement in the list: lab, name, unit, and what it measures."""
    here = "recorded" if path_of(root, measurement.name).exists() else "-"
    first = textwrap.shorten(measurement.about.partition(". ")[0].rstrip("."), 90, placeholder=" ...")
    return f"{measurement.lab}  {measurement.name:28} {here:9} {first} ({measurement.unit})"


def path_of(root: Path, name: str) -> Path:
    """Where a recording is kept."""
    return root / RECORDINGS / f"{name}.json"


def _recorded(
    root: Path, measurement: Measurement, commit: str, run: Callable[[Measurement], Result]
) -> bool:
    """Measures and keeps one; says how it went."""
    print(f"{measurement.lab}  {measurement.name:28} ", end="", flush=True)
    start = time.monotonic()
    try:
        keep(root, run(measurement), commit)
    except MeasurementFailed as failure:
        print(f"FAILED  {failure}", flush=True)
        return False
    print(f"recorded in {time.monotonic() - start:.1f} s", flush=True)
    return True


def keep(root: Path, result: Result, commit: str) -> None:
    """Writes a recording, at once or not at all.

    Raises:
        MeasurementFailed: it is no recording: a field is missing, or the samples are summaries.
        TypeError: it was not measured by a process on a GPU.
    """
    if not isinstance(result, Result):
        raise TypeError(f"{type(result).__name__} is no result of a GPU and cannot be recorded")
    measurement = result.measurement
    fields = result.device | {
        "date": datetime.date.today().isoformat(),
        "commit": commit,
        "code": code_digest(code_files(root)),
        "command": f"labbook record {measurement.name}",
        "unit": measurement.unit,
        "samples": result.samples,
    }
    if error := record_error(fields, TEXTS) or summary_error(result.samples):
        raise MeasurementFailed(f"{measurement.name}: {error}")
    put(path_of(root, measurement.name), as_text(fields))


def as_text(fields: Mapping[str, Any]) -> str:
    """The recording as JSON, with one line for each series of samples."""
    samples = fields["samples"]
    head = json.dumps({key: value for key, value in fields.items() if key != "samples"}, indent=1)
    named = samples.items() if isinstance(samples, dict) else None
    lines = [f"{json.dumps(name)}: {_line(value)}" for name, value in named] if named else None
    inside = "{\n  " + ",\n  ".join(lines) + "\n }" if lines else json.dumps(samples)
    text = head.removesuffix("\n}") + f',\n "samples": {inside}\n}}\n'
    if json.loads(text) != fields:
        raise ValueError("a recording must come back as it was written")
    return text


def _line(value: Any) -> str:
    if not isinstance(value, dict):
        return json.dumps(value, allow_nan=False)
    inner = ",\n   ".join(f"{json.dumps(name)}: {json.dumps(part)}" for name, part in value.items())
    return "{\n   " + inner + "\n  }"


def code_files(root: Path) -> dict[str, bytes]:
    """The code that measures, by path."""
    return {path.name: path.read_bytes() for path in (root / CODE).glob("*.py")}


def code_digest(files: Mapping[str, bytes]) -> str:
    """Sixteen hexadecimal digits that stand for the code that measures."""
    whole = hashlib.sha256()
    for name in sorted(files):
        whole.update(name.encode() + b"\0" + hashlib.sha256(files[name]).digest())
    return whole.hexdigest()[:16]


def commit_of(root: Path, given: str = "") -> str:
    """The commit of the code that measures. Changed recordings do not count as a change of it.

    Raises:
        NoOrigin: git sees changes, or this is no checkout and no commit was given; or the given one is another.
    """
    if given and not COMMIT.fullmatch(given):
        raise NoOrigin(f"--commit takes 7 to 40 hexadecimal digits, not {given!r}")
    try:
        head = _git(root, "rev-parse", "HEAD").strip()
    except OSError as missing:
        if given:
            return given
        raise NoOrigin(f"this is no checkout ({missing}): give the commit of this code by --commit") from None
    if given and not head.startswith(given):
        raise NoOrigin(f"this checkout is at commit {head[:10]}, not {given}")
    changed = _git(root, "status", "--porcelain", "--", ".", f":(exclude){RECORDINGS}/*.json").splitlines()
    if changed:
        raise NoOrigin(f"commit first, so that a number can be traced: {changed[0].strip()} is not committed")
    return head


def _git(root: Path, *args: str) -> str:
    """What git says.

    Raises: OSError, if it is not there or `root` is no checkout of its own.
    """
    if not (root / ".git").exists():
        raise OSError("there is no .git")
    done = subprocess.run(["git", "-C", str(root), *args], capture_output=True, text=True)
    if done.returncode:
        raise OSError((done.stderr.strip().splitlines() or ["git failed"])[0])
    return done.stdout
