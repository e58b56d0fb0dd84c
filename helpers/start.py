"""What the start page shows: the map of the course, with what is solved and where to go on."""

from __future__ import annotations

import os
from dataclasses import dataclass
from html import escape

from helpers.course.overview import Lab, Overview, Step, overview
from helpers.course.summary import about, error_line, goal_in, goal_sentence, invitation, mark, summary
from helpers.display.html import html_words

GREEN, BLUE, GREY = "#2e7d32", "#1976d2", "#8a8a8a"  # of the edges; words say the same


@dataclass(frozen=True)
class Course:
    """The map, as plain text and as HTML that needs no script and no trust."""

    overview: Overview

    def __repr__(self) -> str:
        goal = self.overview.next
        top = [f"{summary(self.overview)} {goal_sentence(self.overview)}".strip(), error_line(self.overview)]
        lines = [line for line in top if line]
        for lab in self.overview.labs:
            lines.append(f"{lab.number} {lab.title} {mark(lab, goal)}".rstrip())
            lines += [f"   {line}" for line in about(lab)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        goal = self.overview.next
        link = (
            f'<a style="text-decoration:underline" href="{escape(goal[0].file)}">{html_words(goal_in(self.overview))}</a>.'
            if goal
            else ""
        )
        words = html_words(f"{summary(self.overview)} {invitation(self.overview)}".strip())
        top = [f"{words} {link}".strip(), html_words(error_line(self.overview))]
        head = "".join(f'<p style="margin:0 0 0.8em 0">{line}</p>' for line in top if line)
        items = "".join(html_item(lab, goal) for lab in self.overview.labs)
        return f'{head}<ul style="list-style:none;margin:0;padding:0">{items}</ul>'


class Undrawn(Course):
    """The map in a headless run: one line, so that the stored page stays the same when a lab is added."""

    def __repr__(self) -> str:
        return "The list of labs is drawn when this page is opened with `make lab`."

    def _repr_html_(self) -> None:
        return None


def course() -> Course:
    """The labs of this project, in their order, and what of them is solved."""
    found = overview()
    return Undrawn(found) if os.environ.get("LABBOOK_HEADLESS") == "1" else Course(found)


def html_item(lab: Lab, goal: tuple[Lab, Step] | None) -> str:
    """One lab as an item of a list. Styles stand inline, since untrusted notebooks lose all others."""
    edge = BLUE if goal and goal[0] is lab else GREEN if lab.solved else GREY
    rest = "".join(f"<br>{html_words(line)}" for line in about(lab))
    return (
        f'<li style="margin:0 0 0.8em 0;padding-left:0.8em;border-left:4px solid {edge};text-align:left">'
        f'<a href="{escape(lab.file)}"><b>{lab.number} {html_words(lab.title)}</b></a>'
        f"{f' <b>{state}</b>' if (state := mark(lab, goal)) else ''}{rest}</li>"
    )
