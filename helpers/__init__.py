"""The shared package of the lab book. Importing it imports neither torch nor a lab."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from helpers.exercise import Exercise
    from helpers.prediction import Prediction

ROOT = Path(__file__).resolve().parent.parent
LABS = ROOT / "labs"
SOLUTIONS = ROOT / "solutions"
DATA = ROOT / "data"
WORK = ROOT / "work"
STATE = ROOT / ".labbook"


def exercises() -> dict[str, Exercise]:
    """Every written exercise of every lab, by id (`01.seed_everything`), in the order of the labs."""
    from helpers.exercise import Exercise
    from helpers.registry import members

    return members(Exercise)


def predictions() -> dict[str, Prediction]:
    """Every prediction of every lab, by id."""
    from helpers.prediction import Prediction
    from helpers.registry import members

    return members(Prediction)
