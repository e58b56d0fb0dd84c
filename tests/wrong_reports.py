"""The reports of all wrong answers: each as it stands, from a fixed seed, and once more in disguise, from any seed.

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

SEED = "20260101"
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


def checked(exercise: Exercise, answers: Iterable[Any]) -> list[Report]:
    """The reports on several answers, in their order. The time limit is long: the machine is busy with them."""
    patient = mock.patch.dict(os.environ, LABBOOK_CHECK_SECONDS="40")
    at_once = (os.cpu_count() or 1) * (2 if exercise.processes else 1)  # such answers wait, for the most part
    with patient, ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(exercise.check, answers))


@functools.cache
def reports(id: str) -> dict[str, Report]:
    """By the mistake's name: what the check says to each wrong answer, always from the same seed."""
    exercise = helpers.exercises()[id]
    with mock.patch.dict(os.environ, LABBOOK_CHECK_SEED=SEED):
        found = checked(exercise, [wrong.answer for wrong in exercise.wrong.values()])
    return dict(zip(exercise.wrong, found, strict=True))


@functools.cache
def disguised_reports(id: str) -> dict[str, Report]:
    """The same for the wrong answers in disguise, from random seeds."""
    exercise = helpers.exercises()[id]
    found = checked(exercise, [disguised(wrong.answer) for wrong in exercise.wrong.values()])
    return dict(zip(exercise.wrong, found, strict=True))


@functools.cache
def form_reports(id: str) -> dict[str, list[Report]]:
    """What the check says to the further forms of the wrong answers."""
    exercise = helpers.exercises()[id]
    return {name: checked(exercise, wrong.forms) for name, wrong in exercise.wrong.items() if wrong.forms}
