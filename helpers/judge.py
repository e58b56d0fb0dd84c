"""Holds an answer against the properties of its exercise, and recognises known mistakes by behaviour."""

from __future__ import annotations

import math
import os
import re
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from helpers import guard
from helpers.compare import shown
from helpers.exercise import Exercise, Mistake, Property
from helpers.trial import Mismatch, Trial
from helpers.waits import missing_exercise

Frame = tuple[str, int, str]

# Modules of the check itself, which an answer must not change.
OWN_MODULES = tuple(
    f"helpers.{name}"
    for name in (
        "compare",
        "answers",
        "children",
        "isolate",
        "check",
        "report",
        "symptoms",
        "guard",
        "trial",
        "judge",
        "exercise",
        "child",
    )
)
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_BANK = re.compile(r"[/\\]labs[/\\]\w+[/\\]\w+[/\\](right\.py|mistakes\.py|mistakes[/\\]\w+\.py)$")
_LIBRARY = tuple(
    sysconfig.get_paths()[name] + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")
)


class TimeUp(BaseException):
    """The time limit, when an answer is checked inside the kernel."""


@dataclass
class Finding:
    """What one property found wrong; plain data.

    verdict: "wrong", "crashed" or "not attempted". observed: what a mistake is recognised by.
    frames: (file, line, function) of the learner's code, outermost first.
    """

    verdict: str
    message: str
    said: str = ""
    given: str = ""
    expected: str = ""
    got: str = ""
    symptom: str = ""
    seed: int | None = None
    observed: Any = None
    frames: list[Frame] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        # Not dataclasses.asdict: it copies deeply, which runs code of the answer's objects.
        return {item.name: getattr(self, item.name) for item in fields(self)}


def judge(
    exercise: Exercise, answer: Any, seed: int, begins: Callable[[str], None] = lambda said: None
) -> Finding | None:
    """None if `answer` has every property of the exercise, else what was found first.

    begins: is told each property when it begins, for the case that it never ends.
    """
    guard.watch(*OWN_MODULES, *{p.check.__module__ for p in exercise.properties})
    if found := _misfit(exercise, answer):
        return found
    for count, prop in enumerate(tuple(exercise.properties)):
        begins(prop.said)
        if found := tried(exercise, prop, answer, seed):
            if found.verdict == "not attempted" and count:
                found.message += f" The checks before it hold; it was reached at: {prop.said}."
            return found
    return None


def mistake(exercise: Exercise, answer: Any, seed: int, first: Finding) -> str | None:
    """The name of the known wrong answer that behaves like `answer` at every property, or None.

    first: what `judge` found. Most wrong answers are told apart by the property that it comes from, so the
    others are run only for those that are left; and where it is written down at which property a mistake falls,
    that one alone is asked.
    """
    if first.verdict == "not attempted" or not first.said:
        return None
    failing = next(prop for prop in exercise.properties if prop.said == first.said)
    held = exercise.properties[: exercise.properties.index(failing)]
    own = Outcomes(
        exercise, answer, seed, dict.fromkeys((prop.said for prop in held), None) | {first.said: first}
    )
    left = [
        (name, Outcomes(exercise, form, seed, written_down(known)))
        for name, known in exercise.mistakes.items()
        for form in (known.answer, *known.variants)
        if known.at in ("", first.said)
    ]
    for prop in (failing, *exercise.properties):
        if left:
            left = [
                (name, its)
                for name, its in left
                if exercise.mistakes[name].at not in ("", prop.said) or alike(its.at(prop), own.at(prop))
            ]
    names = {name for name, _ in left}
    return names.pop() if len(names) == 1 else None


def written_down(known: Mistake) -> dict[str, Finding | None]:
    """What is known of a mistake without running it."""
    if known.observed is None:
        return {}
    return {known.at: Finding("wrong", known.why, observed=known.observed)}


class Outcomes:
    """What one answer does at each property; each is found out when it is first asked for.

    None where the property holds, and where it is not asked, since one that must hold before it does not.
    """

    def __init__(
        self, exercise: Exercise, answer: Any, seed: int, known: dict[str, Finding | None] | None = None
    ) -> None:
        self._exercise, self._answer, self._seed = exercise, answer, seed
        self._known = dict(known or {})

    def at(self, prop: Property) -> Finding | None:
        if prop.said not in self._known:
            asked = all(self.at(earlier) is None for earlier in prop.after)
            found = tried(self._exercise, prop, self._answer, self._seed) if asked else None
            self._known[prop.said] = found
        return self._known[prop.said]


def tried(exercise: Exercise, prop: Property, answer: Any, seed: int) -> Finding | None:
    """Runs one property; the global state is put back, and what an answer left changed is found."""
    if exercise.prepare is not None:
        exercise.prepare()
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
        )
    except TimeUp:
        raise
    except BaseException as error:
        found = _of_error(exercise, prop, error, trial)
    if found is not None:
        found.said, found.seed = prop.said, seed
    return found


def alike(one: Finding | None, other: Finding | None) -> bool:
    """Whether two answers behaved the same at a property."""
    if one is None or other is None:
        return one is other
    if "not attempted" in (one.verdict, other.verdict):
        return one.verdict == other.verdict
    return _alike(one.observed, other.observed)


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or math.isclose(a, b, rel_tol=1e-6) or (a != a and b != b)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_alike, a, b))
    return type(a) is type(b) and a == b


def _misfit(exercise: Exercise, answer: Any) -> Finding | None:
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
            said = f"Expected {wanted}, got {type(part).__name__}. Pass {name} itself, without calling it."
            return Finding("wrong", said, expected=wanted, got=shown(part))
    return None


def _of_error(exercise: Exercise, prop: Property, error: BaseException, trial: Trial) -> Finding:
    text = _text_of(error)[:400]
    if stub := missing_exercise(error):
        if stub == exercise.id:
            return Finding(
                "not attempted",
                "The stub is still in place: replace the line that raises NotImplementedError, run that cell, then this one.",
            )
        return Finding(
            "not attempted", f"The answer calls {stub}, which is still a stub. Solve that one first."
        )
    frames = frames_of(error, prop)
    observed = (
        "raised",
        type(error).__name__,
        re.sub(r"0x[0-9a-f]+|[\w.<>]+(?=\(\))|\d+", "#", text),
        trial._given,
    )
    said = f"{type(error).__name__}: {text}"
    if isinstance(error, SystemExit):
        return Finding("crashed", f"The answer ended the program ({said}).", observed=observed, frames=frames)
    if frames or isinstance(error, (RecursionError, MemoryError)):
        found = Finding("crashed", f"The answer raised {said}", observed=observed, frames=frames)
    elif isinstance(error, TypeError) and "argument" in text:
        found = Finding(
            "wrong", f"The answer cannot be called as the exercise asks: {said}", observed=observed
        )
    else:
        message = f"The check could not use what the answer gave: {said}"
        found = Finding("wrong", message, observed=observed, frames=frames)
    found.given = trial._given
    return found


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException as other:
        return f"<its text raised {type(other).__name__}>"


def frames_of(error: BaseException, prop: Property | None = None) -> list[Frame]:
    """Frames of the learner's code that an error came through, outermost first; the property's are left out.

    The traceback is walked by hand: a RecursionError has thousands of frames, of which a few are kept.
    """
    frames: list[Frame] = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if is_learners(code.co_filename) and not (prop and code is prop.check.__code__):
            frames.append((code.co_filename, trace.tb_lineno, code.co_name))
        trace = trace.tb_next
    return frames if len(frames) <= 8 else frames[:4] + frames[-4:]


def is_learners(file: str) -> bool:
    """Whether a file is neither ours nor a library's: a cell of a notebook, a test, an own module.

    The files in which an exercise's mistakes are written count as a learner's, so that a mistake of the bank is
    told as a learner's answer is.
    """
    if file.startswith("<frozen") or file.startswith("<attrs") or file.startswith("<__array_function__"):
        return False
    return bool(_BANK.search(file)) if file.startswith(_HERE) else not file.startswith(_LIBRARY)
