"""What is known of each exercise without running it: data/exercises/NN_topic.json, one file a lab.

    {
     "01.seed_everything": {
      "title": "One seed for three libraries",
      "minutes": 10,
      "core": true,
      "version": 1,
      "mistakes": {
       "torch_forgotten": {
        "why": "torch has its own generator, and most random numbers of a training come from it.",
        "at": "the same seed gives the same draws, from all three libraries",
        "message": "seed_everything(69) was called twice, and different numbers were drawn after it: ...",
        "input": "seed = 69"
       },

The lab modules need torch and take seconds to load; this takes milliseconds. `labbook messages` writes the files
from what the checks say, and the tests hold them to it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from helpers import paths


@dataclass(frozen=True)
class Fall:
    """A known mistake: the teacher's sentence, and how it falls, which is one draw of many.

    at, message, input: the property, the message and the input of its report; each may be "".
    """

    why: str
    at: str
    message: str
    input: str

    @property
    def breaks(self) -> str:
        """The input that breaks it; where the check names none, the property that it does not have."""
        return f"Breaks on: {self.input}" if self.input else f"Does not hold: {self.at or self.message}"


@dataclass(frozen=True)
class Entry:
    """One exercise. mistakes: those that its check is known to reject, by the mistake's name."""

    id: str
    title: str
    minutes: int
    core: bool
    version: int
    mistakes: Mapping[str, Fall]


DAMAGED = (OSError, ValueError, TypeError, AttributeError, KeyError)  # what a file that cannot be read raises


def folder() -> Path:
    return paths.DATA / "exercises"


def of_lab(stem: str) -> dict[str, Entry] | None:
    """The exercises of a lab (`01_reproducibility`) by id, in the lab's order.

    None where no file can be read: the lab is being written, or the file is damaged.
    """
    try:
        return {id: _entry(id, fields) for id, fields in _read(folder() / f"{stem}.json").items()}
    except DAMAGED:
        return None


def of_exercise(id: str) -> Entry | None:
    """One exercise, None where nothing is known of it."""
    for path in folder().glob(f"{id[:2]}_*.json"):
        try:
            return _entry(id, _read(path)[id])
        except DAMAGED:
            continue
    return None


def _read(path: Path) -> dict[str, dict]:
    return json.loads(path.read_text(encoding="utf-8"))


def falls_of(id: str) -> dict[str, tuple[str, str, str]]:
    """The known mistakes by name: the property and the message of the report, and the teacher's sentence."""
    entry = of_exercise(id)
    return {name: (how.at, how.message, how.why) for name, how in entry.mistakes.items()} if entry else {}


def as_text(entries: Mapping[str, Entry]) -> str:
    """The file of these exercises."""
    fields = {
        id: {name: value for name, value in asdict(entry).items() if name != "id"}
        for id, entry in entries.items()
    }
    return json.dumps(fields, indent=1, ensure_ascii=False) + "\n"


def _entry(id: str, fields: dict) -> Entry:
    mistakes = {name: Fall(**how) for name, how in fields["mistakes"].items()}
    entry = Entry(id, **{**fields, "mistakes": mistakes})
    if not (
        isinstance(entry.title, str) and isinstance(entry.minutes, int) and isinstance(entry.version, int)
    ):
        raise TypeError(f"{id}: a field of another kind")
    return entry
