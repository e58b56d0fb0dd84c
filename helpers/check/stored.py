"""What the known mistakes of an exercise do at one fixed seed: data/exercises/<lab>/<exercise>.json.

    {
     "seed": 20260101, "torch": "2.15", "machine": "x86_64", "properties": 9,
     "mistakes": [
      ["decay_swapped", null, [["the other way round"]], "not attempted", {"shape": "5f0c1a7e", "numbers": [2, 1.4, 0.3]}, ...],
      ["hangs", {"at": 4, "observed": [...]}],
     ]
    }

One line for a mistake and for each variant that does something else than it. Of each property: null where it holds;
what was observed, in a list of one, where it is the first that does not; a digest of that for those behind it. The
line may end at the first that does not hold: what comes behind is then not known. A mistake that is known by one
property alone has that one only.

An answer that did the same at the same seed has made the same mistake. It is so on every machine, up to the last
digits of a number. `labbook messages` writes the files; the tests compare them with what the mistakes do.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from helpers import paths

RELATIVE = 1e-5  # how far numbers of two machines may be apart
TO_THE_LARGEST = 1e-6  # the same for a small number among large ones, which is what is left of these
NOT_ATTEMPTED = "not attempted"


@dataclass(frozen=True)
class Row:
    """What one known mistake, or one variant of it, does.

    outcomes: at each property, or up to the first that does not hold; where `at` is given, at that property alone (its
        place among the properties).
    """

    mistake: str
    outcomes: tuple[Any, ...]
    at: int | None = None

    def knows(self, place: int) -> bool:
        return place < len(self.outcomes) if self.at is None else place == self.at

    def outcome(self, place: int) -> Any:
        return self.outcomes[0 if self.at is not None else place]

    def first(self) -> int | None:
        """The place of the first property that does not hold."""
        return _first(self.outcomes) if self.at is None else self.at


@dataclass(frozen=True)
class Stored:
    """The rows of one exercise. properties: how many it had. torch, machine: where the mistakes ran."""

    seed: int
    properties: int
    rows: tuple[Row, ...]
    torch: str
    machine: str

    def made_here(self) -> bool:
        """Whether a torch of this version, on a machine of this kind, wrote it: what is not found is then not known."""
        return (self.torch, self.machine) == (torch_version(), platform.machine())


def torch_version() -> str:
    """Major and minor number: "2.15"."""
    return ".".join(torch.__version__.split(".")[:2])


def of_exercise(id: str) -> Stored | None:
    """None where nothing is stored: the exercise is being written, or the file is damaged."""
    for path in (paths.DATA / "exercises").glob(f"{id[:2]}_*/{id[3:]}.json"):
        try:
            given = json.loads(path.read_text(encoding="utf-8"))
            rows = tuple(map(_row, given.pop("mistakes")))
            return Stored(rows=rows, **given)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None
    return None


def _row(given: list[Any]) -> Row:
    mistake, *outcomes = given
    if len(outcomes) == 1 and isinstance(outcomes[0], dict) and "at" in outcomes[0]:
        return Row(mistake, ([outcomes[0]["observed"]],), outcomes[0]["at"])
    return Row(mistake, tuple(outcomes))


def as_text(stored: Stored) -> str:
    """The file. One line a row."""
    head = {name: getattr(stored, name) for name in ("seed", "torch", "machine", "properties")}
    lines = ",\n".join(f"  {_in_json(_given(row))}" for row in stored.rows)
    return f'{_in_json(head)[:-1]}, "mistakes": [\n{lines}\n]}}\n'


def _given(row: Row) -> list[Any]:
    if row.at is None:
        return [row.mistake, *row.outcomes]
    return [row.mistake, {"at": row.at, "observed": row.outcomes[0][0]}]


def _in_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def outcomes(observed: Sequence[Any]) -> tuple[Any, ...]:
    """What is stored of what was observed at each property: None where it holds, NOT_ATTEMPTED, or [as_data(...)].

    The first that does not hold as it is, digests of the others.
    """
    first = _first(observed)
    return tuple(
        digest(seen[0]) if isinstance(seen, list) and place != first else seen
        for place, seen in enumerate(observed)
    )


def _first(outcomes: Sequence[Any]) -> int | None:
    return next((place for place, seen in enumerate(outcomes) if isinstance(seen, list)), None)


def as_data(value: Any) -> Any:
    """What was observed, in kinds that JSON has. A number with a point keeps seven digits."""
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, float):
        return float(f"{value:.7g}") if math.isfinite(value) else str(float(value))
    if isinstance(value, list | tuple):
        return [as_data(item) for item in value]
    if isinstance(value, dict):
        return [[as_data(key), as_data(item)] for key, item in value.items()]
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    return type(value).__name__


def digest(data: Any) -> dict[str, Any]:
    """A few words for plain data: two digests are the same where the data are, up to the last digits of its numbers."""
    numbers = list(_numbers(data))
    size = math.sqrt(sum(number * number for number in numbers))
    along = sum(number * math.cos(place) for place, number in enumerate(numbers, 1))
    form = hashlib.sha256(_in_json(_without_numbers(data)).encode()).hexdigest()[:12]
    return {"form": form, "numbers": [float(f"{value:.7g}") for value in (size, along)] if numbers else []}


def same(stored: Any, seen: Any) -> bool:
    """Whether what was stored of a property is what was seen there: None, NOT_ATTEMPTED, or [as_data(...)]."""
    if isinstance(stored, dict) and isinstance(seen, list):
        return _same_digest(stored, digest(seen[0]))
    return _same(stored, seen, TO_THE_LARGEST * max(map(abs, _numbers(stored)), default=0.0))


def _same_digest(a: dict[str, Any], b: dict[str, Any]) -> bool:
    if a["form"] != b["form"]:
        return False
    margin = RELATIVE * max(map(abs, a["numbers"]), default=0.0)
    return all(abs(one - other) <= margin for one, other in zip(a["numbers"], b["numbers"], strict=True))


def _same(a: Any, b: Any, margin: float) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=RELATIVE, abs_tol=margin)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_same(one, other, margin) for one, other in zip(a, b, strict=True))
    return type(a) is type(b) and a == b


def _numbers(data: Any) -> Iterator[float]:
    if isinstance(data, float):
        yield data
    elif isinstance(data, list):
        for item in data:
            yield from _numbers(item)


def _without_numbers(data: Any) -> Any:
    if isinstance(data, list):
        return [_without_numbers(item) for item in data]
    return "number" if isinstance(data, float) else data
