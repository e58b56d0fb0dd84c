"""Whether an answer has earlier properties, asked once."""

from __future__ import annotations

from typing import Any

from helpers import guard
from helpers.exercise import Check
from helpers.trial import Trial

_RNG = frozenset({"torch RNG"})
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
    key = (id(check), tuple(map(id, parts)), seed)
    if key not in _holding:
        before = guard.snapshot()  # so that it makes no difference whether this is the first time
        try:
            check(answer, Trial(seed, _RNG))
            holds = True
        except NotImplementedError:
            raise
        except Exception:
            holds = False
        finally:
            changed = guard.restore(before)
        holds = holds and set(changed) <= _RNG
        _holding[key] = (parts, holds)  # the parts are kept, so that no other answer gets their ids
    return _holding[key][1]
