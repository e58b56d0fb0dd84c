"""The reports of all known mistakes, always from one seed: what changed once changes again.

Made once for a whole run, on all cores: the answers run in processes of their own. A check runs the
whole bank of an exercise to find one mistake's name, so the names of a bank cost its size squared; here they come
from bank.py, where each answer runs once.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import torch

import helpers
from ci.environ import environ_with
from ci.messages.bank import named, own_cores
from ci.messages.nameless import Nameless
from helpers.course.registry import lab_modules
from helpers.display.report import Report
from helpers.exercise import Exercise
from helpers.processes import fork_server

SEED = 20260101
torch.set_num_threads(1)  # as every lab does; an answer's process takes the number over
# A child imports the lab of its answer: some tenths of a second, which a learner's warm worker takes while it waits.
fork_server.IMPORTED += lab_modules()


def checked(exercise: Exercise, answers: Iterable[Any], seed: int = SEED) -> list[Report]:
    """The reports on several answers, in their order. The time limit is long: the machine is busy with them."""
    settings = environ_with({"LABBOOK_CHECK_SECONDS": "40", "LABBOOK_CHECK_SEED": str(seed)})
    at_once = own_cores() * (2 if exercise.processes else 1)  # such answers wait, for the most part
    with settings, ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(exercise.check, answers))


@functools.cache
def reports(id: str) -> dict[str, Report]:
    """By the mistake's name: what the check says to each mistake."""
    exercise = helpers.exercises()[id]
    answers = [mistake.answer for mistake in exercise.mistakes.values()]
    if exercise.processes:
        return dict(zip(exercise.mistakes, checked(exercise, answers), strict=True))
    known, names = {name: mistake.why for name, mistake in exercise.mistakes.items()}, named(id, SEED)
    found = {}
    for name, report in zip(exercise.mistakes, checked(Nameless(exercise), answers), strict=True):
        one = names[name, 0]
        same = one.first is not None and (one.first.verdict, one.first.at) == (report.verdict, report.at)
        mistake = one.names[0] if same and len(one.names) == 1 else None
        found[name] = replace(report, mistake=mistake, known=known)
    return found
