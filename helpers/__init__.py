"""The shared package of the lab book. Importing it imports neither torch nor a lab."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from helpers.exercise import Exercise
    from helpers.prediction import Prediction


def exercises() -> dict[str, Exercise]:
    """Every written exercise of every lab, by id (`01.seed_everything`), in the order of the labs."""
    from helpers.course.registry import members
    from helpers.exercise import Exercise

    return members(Exercise)


def predictions() -> dict[str, Prediction]:
    """Every prediction of every lab, by id."""
    from helpers.course.registry import members
    from helpers.prediction import Prediction

    return members(Prediction)
