"""An exercise without a bank; alone in a module, since every child that checks one imports it."""

from __future__ import annotations

from typing import Any

from helpers.exercise import Exercise


class Nameless(Exercise):
    """An exercise whose check names no mistake, and is the same in all else."""

    names_mistakes = False

    def __init__(self, exercise: Exercise) -> None:
        vars(self).update(vars(exercise))
        self._exercise = exercise

    def __reduce__(self) -> Any:
        return Nameless, (self._exercise,)
