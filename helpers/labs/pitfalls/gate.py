"""Whether an answer has earlier properties, asked once."""

from __future__ import annotations

from typing import Any

from helpers import guard
from helpers.exercise import Check
from helpers.trial import Trial

_RNG = frozenset({"torch RNG"})
_GENERATORS = {name: guard.SLOTS[name] for name in ("torch RNG", "numpy RNG", "random RNG")}
_holding: dict[tuple[int, tuple[int, ...], int], tuple[Any, bool]] = {}


class Gate:
    """Whether an answer has certain properties: smaller things are asked only then, so that a mistake keeps its name.

    As right_so_far, but each is asked once for an answer and a seed, and may itself have a gate.
    """

    def __init__(self, *checks: Check) -> None:
        self.checks = checks

    def is_open(self, answer: Any, trial: Trial) -> bool:
        """answer: the one that is checked, watched or not."""
        parts = answer if isinstance(answer, tuple) else (answer,)
        parts = tuple(getattr(part, "unwatched", part) for part in parts)
        answer = parts if isinstance(answer, tuple) else parts[0]
        return all(_holds(check, parts, answer, trial.seed) for check in self.checks)


def _holds(check: Check, parts: tuple[Any, ...], answer: Any, seed: int) -> bool:
    """A check that looks at one function of several alone says which: its attribute `part`."""
    part = getattr(check, "part", None)
    parts = parts if part is None else parts[part : part + 1]
    key = (id(check), tuple(map(id, parts)), seed)
    if key not in _holding:
        before = [
            slot.read() for slot in _GENERATORS.values()
        ]  # the first time leaves no other traces than the next
        try:
            check(answer, Trial(seed, _RNG))
            holds = True
        except NotImplementedError:
            raise
        except Exception:
            holds = False
        finally:
            changed = _put_back(before)
        holds = holds and changed <= _RNG
        _holding[key] = (parts, holds)  # the parts are kept, so that no other answer gets their ids
    return _holding[key][1]


def _put_back(before: list[Any]) -> set[str]:
    """The names of the generators that have moved since."""
    changed = set()
    for (name, slot), old in zip(_GENERATORS.items(), before, strict=True):
        if slot.read() != old:
            slot.write(old)
            changed.add(name)
    return changed
