"""The reports of all known mistakes, always from one seed: what changed once changes again.

They are made of what bank.py finds, where each mistake runs once, in processes that share the work. A check gives the
same, from a process of its own.
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
from ci.messages.bank import named
from ci.messages.nameless import Nameless
from ci.messages.rows import own_cores
from helpers.check.protocol import Result
from helpers.display.report import Report
from helpers.exercise import Exercise, reported, words_asked

SEED = 20260101
torch.set_num_threads(1)  # as every lab does


def checked(
    exercise: Exercise, answers: Iterable[Any], seed: int = SEED, *, seconds: float = 40
) -> list[Report]:
    """The reports on several answers, in their order. seconds: the limit of each."""
    settings = environ_with({"LABBOOK_CHECK_SECONDS": str(seconds), "LABBOOK_CHECK_SEED": str(seed)})
    at_once = own_cores() * (2 if exercise.processes else 1)  # such answers wait, for the most part
    with settings, ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(exercise.check, answers))


@functools.cache
def reports(id: str) -> dict[str, Report]:
    """By the mistake's name: what the check says to each mistake."""
    exercise = helpers.exercises()[id]
    known = {name: mistake.why for name, mistake in exercise.mistakes.items()}
    return {name: replace(_report(exercise, name), known=known) for name in exercise.mistakes}


def _report(exercise: Exercise, name: str) -> Report:
    """What the check says to a mistake, as it was found in a process with others; what it prints is left out."""
    mistake, each = exercise.mistakes[name], named(exercise.id, SEED)[name, 0]
    if mistake.observed is not None:  # it never ends, so it did not run there
        (report,) = checked(Nameless(exercise), [mistake.answer])
    else:
        found = each.first.as_dict() if each.first else None
        report = reported(exercise, mistake.answer, Result(found))
    known = name if each.names == (name,) else None
    if known and mistake.breaks:  # by hand: what is stored may not know a new mistake
        report = replace(report, asked=words_asked(exercise, report.at, "", mistake.breaks))
    return replace(report, mistake=known, output="", cut=False)
