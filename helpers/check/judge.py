"""Holds an answer against the properties of its exercise."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy
import torch

from helpers.check import guard
from helpers.check.compare import shown
from helpers.check.spec import Property, Spec
from helpers.check.trial import Mismatch, Trial
from helpers.notebook.frames import Frame, frames_of
from helpers.notebook.stubs import missing_exercise

# Modules of the check itself, which an answer must not change.
OWN_MODULES = (
    *(
        f"helpers.check.{name}"
        for name in (
            "compare",
            "fresh",
            "guard",
            "judge",
            "limits",
            "naming",
            "pool",
            "sandbox",
            "spec",
            "stored",
            "symptoms",
            "trial",
        )
    ),
    "helpers.check.worker",
    "helpers.display.comparison",
    "helpers.display.report",
    "helpers.exercise",
)


class TimeUp(BaseException):
    """The time limit, when an answer is checked inside the kernel."""


@dataclass
class Finding:
    """What one property found wrong; plain data.

    verdict: "wrong", "crashed" or "not attempted". observed: what a mistake is recognised by.
    about: "arguments" that were edited, or global "state" that was left changed: every property sees that, so the words
    of the docstring that it is there for may be about something else.
    frames: (file, line, function) of the learner's code, outermost first.
    """

    verdict: str
    message: str
    at: str = ""
    given: str = ""
    expected: str = ""
    got: str = ""
    symptom: str = ""
    seed: int | None = None
    observed: Any = None
    frames: list[Frame] = field(default_factory=list)
    about: str = ""

    def as_dict(self) -> dict[str, Any]:
        # Not dataclasses.asdict: it copies deeply, which runs code of the answer's objects.
        return {item.name: getattr(self, item.name) for item in fields(self)}


def judge(
    exercise: Spec, answer: Any, seed: int, begins: Callable[[str], None] = lambda description: None
) -> Finding | None:
    """None if `answer` has every property of the exercise, else what was found first.

    begins: is told each property when it begins, for the case that it never ends.
    """
    guard.watch(*OWN_MODULES, *{p.check.__module__ for p in exercise.properties})
    if found := _misfit(exercise, answer):
        return found
    for count, prop in enumerate(tuple(exercise.properties)):
        begins(prop.description)
        if found := tried(exercise, prop, answer, seed):
            if found.verdict == "not attempted" and count:
                found.message += f" The checks before it hold; it was reached at: {prop.description}."
            return found
    return None


def tried(exercise: Spec, prop: Property, answer: Any, seed: int) -> Finding | None:
    """Runs one property; the global state is put back, and what an answer left changed is found."""
    if exercise.prepare is not None:
        exercise.prepare()
    _seed_generators(seed)
    before = guard.snapshot()
    trial = Trial(seed, prop.changes)
    found: Finding | None = None
    try:
        try:
            prop.check(answer, trial)
        finally:
            changed = [name for name in guard.restore(before) if name not in prop.changes]
        if changed:
            trial.left_changed(changed)
    except Mismatch as mismatch:
        found = Finding(
            "wrong",
            mismatch.message,
            given=mismatch.given,
            expected=mismatch.expected,
            got=mismatch.got,
            symptom=mismatch.symptom,
            observed=mismatch.observed,
            about=mismatch.about,
        )
    except TimeUp:
        raise
    except BaseException as error:
        found = _of_error(exercise, prop, error, trial)
    if found is not None:
        found.at, found.seed = prop.description, seed
    return found


def _seed_generators(seed: int) -> None:
    """The global ones: as no answer can know, so that one that seeds them is seen to have changed them."""
    hidden = seed ^ 0x5EED
    seed_torch(hidden)
    numpy.random.seed(hidden)
    random.seed(hidden)


def seed_torch(seed: int) -> None:
    """torch.manual_seed, for a check that seeds often.

    That notes the call, with the stack, for each kind of device that has not started: a fifth of a small property's
    time, and a worker starts none.
    """
    in_use = torch.cuda.is_initialized() or torch.backends.mps.is_available()
    (torch.manual_seed if in_use else torch.default_generator.manual_seed)(seed)


def _misfit(exercise: Spec, answer: Any) -> Finding | None:
    """The wrong kind of object."""
    if len(exercise.names) > 1:
        wanted = f"the tuple ({', '.join(exercise.names)})"
        if not isinstance(answer, tuple) or len(answer) != len(exercise.names):
            return Finding("wrong", f"Expected {wanted}, got {type(answer).__name__}.", got=shown(answer))
        parts = answer
    else:
        wanted, parts = f"the {exercise.kind} {exercise.names[0]}", (answer,)
    for name, part in zip(exercise.names, parts, strict=True):
        if exercise.kind == "class" and not isinstance(part, type):
            return Finding("wrong", f"Expected {wanted}: {name} is no class.", got=shown(part))
        if not callable(part):
            message = f"Expected {wanted}, got {type(part).__name__}. Pass {name} itself, without calling it."
            return Finding("wrong", message, expected=wanted, got=shown(part))
    return None


def _of_error(exercise: Spec, prop: Property, error: BaseException, trial: Trial) -> Finding:
    whole = _text_of(error)
    text = whole[:400]
    if stub := missing_exercise(error):
        if stub == exercise.id:
            return Finding(
                "not attempted",
                "The stub is still in place: replace the line that raises NotImplementedError, run that cell, then this one.",
            )
        return Finding(
            "not attempted", f"The answer calls {stub}, which is still a stub. Solve that one first."
        )
    frames = frames_of(error, getattr(prop.check, "__code__", None))
    observed = (
        "raised",
        type(error).__name__,
        re.sub(r"0x[0-9a-f]+|[\w.<>]+(?=\(\))|\d+", "#", _as_stored(_without_traceback(whole))[:400])
        if not isinstance(error, RecursionError)  # its text tells where the stack happened to end
        else "",
        trial._given,
    )
    words = f"{type(error).__name__}: {text}"
    if isinstance(error, SystemExit):
        return Finding(
            "crashed", f"The answer ended the program ({words}).", observed=observed, frames=frames
        )
    if frames or isinstance(error, (RecursionError, MemoryError)):
        found = Finding("crashed", f"The answer raised {words}", observed=observed, frames=frames)
    elif isinstance(error, TypeError) and "argument" in text:
        found = Finding(
            "wrong", f"The answer cannot be called as the exercise asks: {words}", observed=observed
        )
    else:
        message = f"The check could not use what the answer gave: {words}"
        found = Finding("wrong", message, observed=observed, frames=frames)
    found.given = trial._given
    return found


def _as_stored(text: str) -> str:
    """An error's text in the words of Python 3.11, in which outcomes are stored."""
    return text.replace("iterable argument is empty", "arg is an empty sequence")  # of max() and min()


def _without_traceback(text: str) -> str:
    """An error's text; of one that a DataLoader's worker sent, its first and last line: between them are paths."""
    if "Traceback (most recent call last)" not in text:
        return text
    lines = text.strip().splitlines()
    return f"{lines[0]} {lines[-1]}"


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException as other:
        return f"<its text raised {type(other).__name__}>"
