"""An exercise of which nothing is stored; alone in a module, since every child that checks one imports it."""

from __future__ import annotations

from typing import Any

from helpers.exercise import Exercise


class Unstored(Exercise):
    """An exercise whose check finds names by running its mistakes beside the answer, and is the same in all else."""

    def __init__(self, exercise: Exercise) -> None:
        vars(self).update(vars(exercise), id=f"{exercise.id}, nothing stored")
        self._exercise = exercise

    def __reduce__(self) -> Any:
        return Unstored, (self._exercise,)
