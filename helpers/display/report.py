"""One result, as text and as an HTML card."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from helpers.display.html import EDGE, FG2, MONO, card, fold, html_words, preformatted

if TYPE_CHECKING:
    from helpers.display.comparison import Comparison

BESIDE = "Your code beside the solution"
MISTAKES = "Mistakes that people make here"
VERDICTS = ("passed", "wrong", "crashed", "timed out", "not attempted")
LINES_SHOWN = 50

_RED = "#c62828;border-left-color:var(--jp-error-color1,#c62828)"
_SIGN = {"passed": "\u2713", "not attempted": "\u25cb"}
_TITLE = {
    "passed": "Passed",
    "wrong": "Not yet: wrong",
    "crashed": "Not yet: crashed",
    "timed out": "Not yet: timed out",
    "not attempted": "Not attempted",
}


class NotPassed(AssertionError):
    """With LABBOOK_STRICT=1: a check in a solution did not pass."""


@dataclass(frozen=True)
class Report:
    """What a check came to.

    verdict: one of VERDICTS. mistake: the name of the recognised mistake, or None.
    asked: the words of the docstring that the property which failed holds.
    known: the mistakes that the check knows, name -> teacher's sentence. breaks: name -> what it breaks on.
    beside: own code beside the solution; None where there is nothing to show.
    """

    id: str
    title: str
    verdict: str
    mistake: str | None = None
    message: str = ""
    at: str = ""
    asked: tuple[str, ...] = ()
    given: str = ""
    expected: str = ""
    got: str = ""
    symptom: str = ""
    where: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    known: Mapping[str, str] = field(default_factory=dict)
    breaks: Mapping[str, str] = field(default_factory=dict)
    beside: Comparison | None = None
    output: str = ""
    cut: bool = False
    note: str = ""
    seed: int | None = None
    has_hints: bool = True

    @property
    def passed(self) -> bool:
        return self.verdict == "passed"

    def rows(self) -> list[tuple[str, str]]:
        """What the report says, as (label, text); text and card are made from these."""
        rows = []
        if self.at and self.verdict != "not attempted":
            rows += [("Property", self.at), ("You were asked", " ... ".join(self.asked))]
        rows += [("", self.message), ("Input", self.given), ("Expected", self.expected), ("Got", self.got)]
        rows += [("", self.symptom), ("Where", "\n".join(self.where))]
        if self.mistake:
            rows.append(("This mistake is known", f"{self.mistake}. {self.known[self.mistake]}"))
        rows.append(("", self.note))
        return [(label, text) for label, text in rows if text]

    def closing(self) -> str:
        """How much the check knows, and how to repeat it."""
        parts = []
        if self.known:
            parts.append(f"This check is known to reject {len(self.known)} wrong answers.")
        if self.has_hints and self.verdict in ("wrong", "crashed", "timed out"):
            name = self.id.partition(".")[2]
            parts.append(f"For a hint: lab.{name}.hint()")
        if self.seed is not None and self.verdict in ("wrong", "crashed"):
            parts.append(f"(Random inputs from seed {self.seed}.)")
        return " ".join(parts)

    def printed_text(self) -> str:
        """What the answer printed, cut after LINES_SHOWN lines, and saying so."""
        lines = self.output.splitlines()
        text = "\n".join(lines[:LINES_SHOWN])
        return (
            f"{text}\n... cut here, the answer printed more" if self.cut or len(lines) > LINES_SHOWN else text
        )

    def __str__(self) -> str:
        lines = [f"{self.verdict}: {self.id} {self.title}"]
        for label, text in self.rows():
            first, *rest = text.splitlines() or [""]
            lines.append(f"  {label}: {first}" if label else f"  {first}")
            lines += [f"    {line}" for line in rest]
        if self.passed:
            lines += [f"  \u2713 {description}" for description in self.properties]
        if closing := self.closing():
            lines.append(f"  {closing}")
        if self.passed and self.beside:
            lines += [f"  {BESIDE} (- yours, + solution):", *(f"    {line}" for line in self.beside.lines())]
        if self.passed and self.known:
            lines += [f"  {MISTAKES}:"]
            for name, why in self.known.items():
                broken = self.breaks.get(name, "").replace("\n", "\n      ")
                lines += [f"  - {name}: {why}", *([f"    {broken}"] if broken else [])]
        if self.output:
            lines += [
                "  Printed by the answer:",
                *(f"  | {line}" for line in self.printed_text().splitlines()),
            ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": str(self)}

    def _repr_html_(self) -> str:
        head = (
            f"<div><strong>{_SIGN.get(self.verdict, chr(0x2717))} {_TITLE[self.verdict]}</strong> &nbsp; "
            f'{escape(self.title)} <span style="{FG2}">{escape(self.id)}</span></div>'
        )
        body = "".join(_row(label, text) for label, text in self.rows())
        if self.passed:
            body += "".join(f"<div>\u2713 {html_words(description)}</div>" for description in self.properties)
        if closing := self.closing():
            body += f'<div style="margin-top:8px;{FG2}">{escape(closing)}</div>'
        if self.passed and self.beside:
            body += fold(BESIDE, self.beside.table())
        if self.passed and self.known:
            items = "".join(map(self._mistake, self.known))
            body += fold(MISTAKES, f'<ul style="margin:4px 0;padding-left:20px">{items}</ul>')
        if self.output:
            body += fold("Printed by the answer", preformatted(self.printed_text()))
        return card(head + body, EDGE.get(self.verdict, _RED), f"{self.title}: {self.verdict}")

    def _mistake(self, name: str) -> str:
        """One known mistake as an item of an HTML list."""
        broken = self.breaks.get(name, "")
        line = f'<div style="white-space:pre-wrap">{html_words(broken)}</div>' if broken else ""
        message = f"<strong>{escape(name)}</strong>: {html_words(self.known[name])}"
        return f'<li style="margin-top:6px">{message}{line}</li>'


def strictly(report: Report) -> Report:
    """The report; raises NotPassed instead where LABBOOK_STRICT=1 and it is not passed."""
    if os.environ.get("LABBOOK_STRICT") == "1" and not report.passed:
        raise NotPassed(str(report))
    return report


def _row(label: str, text: str) -> str:
    value = html_words(text)
    if label in ("Input", "Expected", "Got", "Where"):
        value = f'<span style="{MONO};white-space:pre-wrap">{value}</span>'
    return (
        f'<div style="margin-top:6px">{f"<strong>{escape(label)}:</strong> " if label else ""}{value}</div>'
    )
