"""TorchScript is deprecated, and on Python 3.14 and newer torch says that it may break: there its exercises are skipped."""

from __future__ import annotations

import sys
from typing import Any

from helpers.exercise import Exercise
from helpers.report import Report

SKIPPED = "skipped: TorchScript is not supported here"


def supported(version: tuple[int, ...] = sys.version_info) -> bool:
    """Whether torch.jit still promises to work on this version of Python."""
    return version[:2] < (3, 14)


class ScriptExercise(Exercise):
    """An exercise on TorchScript. Where Python is too new for it, its check says so and fails nobody."""

    def check(self, *answer: Any) -> Report:
        if supported():
            return super().check(*answer)
        return Report(self.id, self.title, "not attempted", message=SKIPPED)
