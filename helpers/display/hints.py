"""Hints: first what the last check saw, then the written ones, from a nudge to nearly there."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from helpers.display.errors import meaning
from helpers.display.html import EDGE, card, html_words
from helpers.display.report import Report

if TYPE_CHECKING:
    from helpers.check.spec import Spec

Falls = Mapping[str, tuple[str, str, str]]
MOST = 3  # mistakes that are told at once
NEAR = 0.85  # of 1: two messages say the same of other numbers
FAR = 0.6  # of 1: below it, two messages speak of different things
ERROR = re.compile(r"(?:answer raised|answer gave:|exercise asks:) (\w+)")


@dataclass(frozen=True)
class Seen:
    """What the last check saw, and what may lie behind it.

    says: sentences. maybe: known mistakes with that symptom. helps: it is a step of its own, before the next hint.
    """

    says: tuple[str, ...] = ()
    maybe: tuple[str, ...] = ()
    helps: bool = False

    def symptom(self) -> str:
        """The same text for the same symptom, whatever numbers were drawn."""
        return _without_numbers("\n".join((*self.says, *self.maybe)))


@dataclass(frozen=True)
class Hint:
    """The hints shown so far. total: how many are written. closing: what to do next, or ""."""

    id: str
    title: str
    hints: tuple[str, ...]
    total: int
    seen: Seen = Seen()
    closing: str = ""

    def head(self) -> str:
        return f"hint {len(self.hints)} of {self.total}" if self.hints else "hint"

    def __str__(self) -> str:
        lines = [
            f"{self.head()}: {self.id} {self.title}",
            *(f"  {description}" for description in self.seen.says),
        ]
        lines += [f"  - {why}" for why in self.seen.maybe]
        lines += [f"  {place}. {hint}" for place, hint in enumerate(self.hints, 1)]
        return "\n".join([*lines, *([f"  {self.closing}"] if self.closing else [])])

    __repr__ = __str__

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        parts = [f"<div><strong>{self.head().capitalize()}</strong> &nbsp; {html_words(self.title)}</div>"]
        parts += [
            f'<div style="margin-top:6px">{html_words(description)}</div>' for description in self.seen.says
        ]
        for tag, texts in (("ul", self.seen.maybe), ("ol", self.hints)):
            items = "".join(f"<li>{html_words(text)}</li>" for text in texts)
            parts.append(f'<{tag} style="margin:6px 0">{items}</{tag}>' if items else "")
        parts.append(f"<div>{html_words(self.closing)}</div>" if self.closing else "")
        return {"text/html": card("".join(parts), EDGE["not attempted"], "Hint"), "text/plain": str(self)}


class HintsShown:
    """How far somebody has come with the hints of one exercise, in one kernel.

    falls: each known mistake by name: the property and the message of its report, and the teacher's sentence.
    """

    def __init__(self, exercise: Spec, falls: Falls) -> None:
        self.exercise, self.falls = exercise, falls
        self.shown, self.last_seen = 0, ""

    def after(self, report: Report | None) -> Hint:
        """What is known of the last check, and the hints; one thing more than in the call before.

        report: the last check's, None if there was none.
        """
        exercise, written = self.exercise, self.exercise.hints
        seen = seen_in(report, self.falls)
        new = seen.helps and seen.symptom() != self.last_seen
        self.last_seen = seen.symptom()
        if not new:
            self.shown = min(self.shown + 1, len(written))
        closing = self._closing(new)
        return Hint(exercise.id, exercise.title, written[: self.shown], len(written), seen, closing)

    def _closing(self, new: bool) -> str:
        """What to do next. new: what the check saw stands here for the first time, and no written hint was added."""
        total, names = len(self.exercise.hints), self.exercise.names
        if not self.shown:
            return f"If that does not help: call hint() again for the first of {total} written hints."
        if self.shown < total:
            return "New is what the check saw. Call hint() again for the next written hint." if new else ""
        answer = names[0] if len(names) == 1 else f"({', '.join(names)})"
        call = f"lab.{self.exercise.id.partition('.')[2]}.compare({answer})"
        return f"That was the last hint. `{call}` shows the solution beside your code."


def seen_in(report: Report | None, falls: Falls) -> Seen:
    """What a report says to somebody who asks for a hint; nothing where a written hint is the better beginning."""
    if report is None:
        return Seen()
    if report.passed:
        return Seen(("Your answer has passed. These are the hints that were left.",))
    if report.verdict == "not attempted":
        return Seen((report.message,)) if "still a stub" in report.message else Seen()
    if report.mistake:
        return Seen((f"The check knows your mistake, {report.mistake}: {report.known[report.mistake]}",))
    says, maybe = list(_says(report)), tuple(_maybe(report, falls))
    helps = bool(maybe) or len(says) > bool(report.at)  # more than the card has said already
    if len(maybe) == 1:
        says.append("A known mistake fails there, too. Is it yours?")
    elif maybe:
        says.append("Known mistakes fail there, too. Is one of these yours?")
    return Seen(tuple(says), maybe, helps)


def _says(report: Report) -> Iterator[str]:
    place = report.where[-1] if report.where else ""
    if report.verdict == "timed out":
        yield f"Time ran out at {place}" if place else "Time ran out."
        yield "So something never ends, or grows too fast. Look at what ends each loop there, and at what each wait waits for."
    elif report.verdict == "crashed":
        if place:
            yield f"The answer stopped at {place}"
        if report.message.startswith("The answer") and (sense := meaning(report.message)):
            yield sense
    if report.at:
        yield f"The last check stopped at this property: {report.at}."


def _maybe(report: Report, falls: Falls) -> list[str]:
    """The teacher's sentences on the known mistakes that fall most like this, the nearest first."""
    if not report.at:
        return []
    there = {name: message for name, (description, message, _) in falls.items() if description == report.at}
    near = {name: _nearness(report.message, message) for name, message in there.items()}
    order = sorted(near, key=lambda name: -near[name])
    alike = [name for name in order if near[name] >= NEAR] or [name for name in order if near[name] >= FAR]
    return [falls[name][2] for name in alike[:MOST]]


def _nearness(one: str, other: str) -> float:
    """From 0 to 1: how alike two messages are, their numbers aside. Of two errors, the kind counts."""
    errors = ERROR.findall(one)[:1], ERROR.findall(other)[:1]
    if errors[0] or errors[1]:
        return float(errors[0] == errors[1])
    return difflib.SequenceMatcher(None, _without_numbers(one), _without_numbers(other)).ratio()


def _without_numbers(text: str) -> str:
    return re.sub(r"\d[\d.,]*", "#", text)
