"""What a lab calls: an exercise turns what the check of an answer came to into a report."""

from __future__ import annotations

import os
import random
import re
import sysconfig
import threading
from dataclasses import replace
from typing import Any

from helpers import paths
from helpers.check.protocol import Result
from helpers.check.spec import Spec
from helpers.course import catalogue, progress
from helpers.course.solutions import solution_source
from helpers.display.comparison import Comparison
from helpers.display.hints import Hint, HintsShown
from helpers.display.report import Report, strictly
from helpers.notebook.cells import with_cell_numbers
from helpers.notebook.frames import places
from helpers.notebook.objects import in_notebook, older_answer, source_of

# Two checks in threads read one source after the other: before Python 3.11.8 and 3.12.2, `ast.parse` raises a
# SystemError where a thread parses while a collection of garbage interrupts a different one (cpython #106905).
_READING = threading.Lock()
_SPEAKS_OF = {
    "arguments": re.compile(
        r"\b(left|leaves?|stays?) (\w+ )?(as (it|they) (is|was|are|were)|alone|unchanged)\b"
        r"|\b(not|no|neither|nothing)\b[^.:;]* (edited|changed)\b",
        re.I,
    ),
    "state": re.compile(r"\bglobal generators?\b|\bnothing else is changed\b|\bnumber of threads\b", re.I),
}


class Exercise(Spec):
    """One exercise of a lab. For what it is made of, see Spec."""

    _last: Report | None = None
    _hints_shown: HintsShown | None = None

    def check(self, *answer: Any) -> Report:
        """Says whether `answer` is right and, if not, which mistake it is.

        answer: a function, a class, or the tuple of them. Without it, the name in the notebook.
        Never raises, the stop button excepted; with LABBOOK_STRICT=1 it raises unless passed.
        """
        self._last = None
        try:
            report = _checked(self, answer[0] if len(answer) == 1 else answer or ...)
        except Exception as error:  # an answer whose own __class__ or __iter__ raises, say
            message = f"The answer disturbed the check: {type(error).__name__}."
            report = Report(self.id, self.title, "crashed", message=message)
        self._last = strictly(report)
        return self._last

    def hint(self) -> Hint:
        """What the last check in this kernel saw, the hints so far, and one more each time."""
        self._hints_shown = self._hints_shown or HintsShown(self, catalogue.falls_of(self.id))
        return self._hints_shown.after(self._last)

    def compare(self, answer: Any = ...) -> Comparison:
        """Own code beside the solution's.

        Raises:
            FileNotFoundError: no notebook in solutions/ holds the exercise.
        """
        if answer is ...:
            answer, _ = in_notebook(self.names)
        parts = answer if isinstance(answer, tuple) else (answer,)
        yours = "\n\n".join(filter(None, (source_of(part) for part in parts)))
        return Comparison(self.id, yours, solution_source(self.id, self.names))

    def __reduce__(self) -> Any:
        """Another process looks the exercise up by its id, so that its code never travels."""
        from helpers.course.registry import found

        return (found, (self.id,)) if found(self.id) is self else super().__reduce__()


def _checked(exercise: Exercise, answer: Any) -> Report:
    missing = []
    if answer is ...:
        answer, missing = in_notebook(exercise.names)
    if answer is ... or (isinstance(answer, tuple) and any(part is ... for part in answer)):
        names = ", ".join(missing or exercise.names)
        message = (
            f"There is no {names} in this notebook yet: run the cell that defines it."
            if missing
            else "Nothing is written here yet."
        )
        return Report(exercise.id, exercise.title, "not attempted", message=message)
    return _report(exercise, answer)


def _report(exercise: Exercise, answer: Any) -> Report:
    from helpers.check.sandbox import checked  # imports torch

    try:
        seed = int(_setting("LABBOOK_CHECK_SEED", random.SystemRandom().randrange(1, 2**31), 2**31))
        seconds = _setting("LABBOOK_CHECK_SECONDS", exercise.seconds, 86_400)
    except ValueError as error:
        return Report(exercise.id, exercise.title, "crashed", message=str(error))
    try:
        result = checked(exercise, answer, seed, seconds)
    except Exception as error:
        message = (
            f"The check itself failed, which is not your answer's fault: {type(error).__name__}: {error}"
        )
        return Report(exercise.id, exercise.title, "crashed", message=message)
    return reported(exercise, answer, result)


def reported(exercise: Exercise, answer: Any, result: Result) -> Report:
    """The report on what the check of an answer came to."""
    entry = catalogue.of_exercise(exercise.id)
    # From the catalogue, which is quicker, if it can.
    known = {name: mistake.why for name, mistake in (entry or exercise).mistakes.items()}
    note = " ".join(filter(None, [older_answer(exercise.names, answer), result.note]))
    common = dict(known=known, output=_plain(result.output), cut=result.cut, note=note)
    found = result.found
    if found is None:
        breaks = {name: how.breaks for name, how in entry.mistakes.items()} if entry else {}
        return _noted(exercise, _passed(exercise, answer, common | {"breaks": breaks}))
    text = {name: found.get(name) or "" for name in ("message", "at", "given", "expected", "got", "symptom")}
    name = result.mistake if result.mistake in known else None
    return Report(
        exercise.id,
        exercise.title,
        found["verdict"],
        mistake=name,
        seed=found.get("seed"),
        asked=words_asked(exercise, found.get("at"), found.get("about"), result.breaks if name else ""),
        where=tuple(places(found.get("frames") or ())),
        **text,
        **common,
    )


def words_asked(exercise: Exercise, at: str | None, about: str | None, breaks: str) -> tuple[str, ...]:
    """The words of the docstring that the property which failed holds; of a known mistake, the sentence that it breaks.

    Of what each property sees beside that, those that speak of it: its own, or else the only ones of the exercise.
    """
    asks = next((prop.asks for prop in exercise.properties if prop.description == at), ())
    of_all = dict.fromkeys(words for prop in exercise.properties for words in prop.asks)
    if breaks:
        its_own = tuple(words for words in asks if breaks in words or words in breaks)
        return its_own or tuple(words for words in of_all if breaks in words)[:1] or (breaks,)
    if not about:
        return asks
    ours = tuple(words for words in asks if _SPEAKS_OF[about].search(words))
    theirs = tuple(words for words in of_all if _SPEAKS_OF[about].search(words))
    return ours or (theirs if len(theirs) == 1 else ())


def _passed(exercise: Exercise, answer: Any, common: dict[str, Any]) -> Report:
    """The report on a right answer, with what there is to look at next."""
    return Report(
        exercise.id,
        exercise.title,
        "passed",
        properties=tuple(prop.description for prop in exercise.properties),
        beside=_beside(exercise, answer),
        **common,
    )


def _beside(exercise: Exercise, answer: Any) -> Comparison | None:
    """The answer beside the solution, None where they are the same or one of them is not found."""
    try:
        with _READING:
            found = exercise.compare(answer)
            return found if found.differs else None
    except Exception:  # no such notebook; an answer whose own attributes raise
        return None


def _noted(exercise: Exercise, report: Report) -> Report:
    """The report of a passed check; the exercise is noted as solved where that counts."""
    in_the_course = any(paths.LABS.glob(f"{exercise.id[:2]}_*.ipynb"))
    try:
        if in_the_course and progress.is_kept():
            progress.note_solved(exercise.id, exercise.version)
    except progress.NotWritten as error:
        return replace(report, note=" ".join(filter(None, [report.note, str(error)])))
    return report


def _setting(name: str, default: float, most: float) -> float:
    """A number above 0 from the environment.

    Raises:
        ValueError: it is none; the message says what to do.
    """
    given = os.environ.get(name, "")
    try:
        value = float(given) if given else default
    except ValueError:
        value = 0.0
    if not 0 < value <= most:
        raise ValueError(
            f"The environment variable {name} is {given!r}, no number from 1 to {most:g}: unset it."
        )
    return value


def _plain(text: str) -> str:
    """A text that can be printed, without addresses and paths of this machine; cells by their number."""
    text = with_cell_numbers(text)
    for folder in (sysconfig.get_path("purelib"), sysconfig.get_path("stdlib"), str(paths.ROOT)):
        text = text.replace(folder + os.sep, "")
    text = re.sub(r"0x[0-9a-f]{6,}", "0x...", text)
    text = re.sub(r"\[([IWEF])\d{4} \d\d:\d\d:\d\d\.\d+ ", r"[\1 ", text)  # when C++ logged a line
    text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
    text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", text)  # colours and bells
    return text.encode("utf-8", "backslashreplace").decode()
