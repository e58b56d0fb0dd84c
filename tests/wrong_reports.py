"""The reports of all wrong answers, always from one seed: a test that fails fails again.

Made once for a whole run of the tests, on all cores: the answers run in processes of their own.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

import torch

import helpers
from helpers.exercise import Exercise
from helpers.report import Report

SEED = 20260101
torch.set_num_threads(1)  # as every lab does; an answer's process takes the number over


def disguised(answer: Any) -> Any:
    """The same behaviour under another name and behind a plain wrapper."""
    if isinstance(answer, tuple):
        return tuple(disguised(part) for part in answer)
    if isinstance(answer, type):
        return type("Disguised", (answer,), {})

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return answer(*args, **kwargs)

    return wrapped


def checked(exercise: Exercise, answers: Iterable[Any], seed: int = SEED) -> list[Report]:
    """The reports on several answers, in their order. The time limit is long: the machine is busy with them."""
    settings = mock.patch.dict(os.environ, LABBOOK_CHECK_SECONDS="40", LABBOOK_CHECK_SEED=str(seed))
    at_once = (os.cpu_count() or 1) * (2 if exercise.processes else 1)  # such answers wait, for the most part
    with settings, ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(exercise.check, answers))


@functools.cache
def reports(id: str) -> dict[str, Report]:
    """By the mistake's name: what the check says to each wrong answer."""
    exercise = helpers.exercises()[id]
    found = checked(exercise, [wrong.answer for wrong in exercise.wrong.values()])
    return dict(zip(exercise.wrong, found, strict=True))
