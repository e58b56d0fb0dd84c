"""What the start page shows: the map of the course, with what is solved and where to go on."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from html import escape

from helpers.standing import Lab, Standing, Step, standing

CODE = re.compile(r"`([^`]+)`")
GREEN, BLUE, GREY = "#2e7d32", "#1976d2", "#8a8a8a"  # of the edges; words say the same


@dataclass(frozen=True)
class Course:
    """The map, as plain text and as HTML that needs no script and no trust."""

    standing: Standing

    def __repr__(self) -> str:
        goal = self.standing.next
        top = [f"{summary(self.standing)} {goal_sentence(self.standing)}".strip(), trouble(self.standing)]
        lines = [line for line in top if line]
        for lab in self.standing.labs:
            lines.append(f"{lab.number} {lab.title} {mark(lab, goal)}".rstrip())
            lines += [f"   {line}" for line in about(lab)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        goal = self.standing.next
        link = (
            f'<a style="text-decoration:underline" href="{escape(goal[0].file)}">{html_text(goal_in(self.standing))}</a>.'
            if goal
            else ""
        )
        words = html_text(f"{summary(self.standing)} {invitation(self.standing)}".strip())
        top = [f"{words} {link}".strip(), html_text(trouble(self.standing))]
        head = "".join(f'<p style="margin:0 0 0.8em 0">{line}</p>' for line in top if line)
        items = "".join(html_item(lab, goal) for lab in self.standing.labs)
        return f'{head}<ul style="list-style:none;margin:0;padding:0">{items}</ul>'


class Undrawn(Course):
    """The map in a headless run: one line, so that the stored page stays the same when a lab is added."""

    def __repr__(self) -> str:
        return "The list of labs is drawn when this page is opened with `make lab`."

    def _repr_html_(self) -> None:
        return None


def course() -> Course:
    """The labs of this project, in their order, and what of them is solved."""
    found = standing()
    return Undrawn(found) if os.environ.get("LABBOOK_HEADLESS") == "1" else Course(found)


def summary(found: Standing) -> str:
    """How much of the course is solved, in one sentence; "" where no exercise is known."""
    core, optional = ((found.count(kind, "solved"), found.count(kind)) for kind in (True, False))
    if not core[1] + optional[1]:
        return ""
    if not core[0] + optional[0]:
        return "Nothing is solved yet."
    if (core[0], optional[0]) == (core[1], optional[1]):
        return "Every exercise of the course is solved."
    begin = f"All {core[1]}" if core[0] == core[1] else f"{core[0]} of {core[1]}"
    rest = f", and {optional[0]} of {optional[1]} optional ones" if optional[1] else ""
    return f"Solved: {begin} core exercises{rest}."


def invitation(found: Standing) -> str:
    """The words before the place to go on; "" where all is solved."""
    if found.next is None:
        return ""
    if not found.next[1].core:
        return "What is left is optional:"
    return "Go on here:" if found.count(True, "solved") + found.count(False, "solved") else "Begin here:"


def goal_sentence(found: Standing) -> str:
    """Where to go on, "" where all is solved."""
    return f"{invitation(found)} {goal_in(found)}." if found.next else ""


def goal_in(found: Standing) -> str:
    """The lab to go on with, and its exercise; of a lab that is not begun only the name, since it is read from the top.

    The link leads to the lab, not to the cell: JupyterLab scrolls to a far cell before the ones above have their
    height, and then stands elsewhere.
    """
    lab, step = found.next
    return f"lab {lab.number} {lab.title}" + (f", exercise \u201c{step.title}\u201d" if lab.begun else "")


def trouble(found: Standing) -> str:
    """What is wrong with the file of progress, "" if nothing is."""
    return f"{found.trouble} Your notebooks are not touched by that." if found.trouble else ""


def mark(lab: Lab, goal: tuple[Lab, Step] | None) -> str:
    """The lab's state in words, after its title."""
    if goal and goal[0] is lab:
        return "(go on here)" if lab.begun else "(begin here)"
    return "(\u2713 solved)" if lab.solved else ""


def about(lab: Lab) -> list[str]:
    """The lines under a lab's title."""
    return [line for line in (lab.question, solved_in(lab), size_of(lab), changed_in(lab)) if line]


def solved_of(lab: Lab, core: bool) -> str:
    """`3 of 5`, "" where there are no such exercises."""
    return f"{len(lab.of(core, 'solved'))} of {len(lab.of(core))}" if lab.of(core) else ""


def solved_in(lab: Lab) -> str:
    """`3 of 5 solved, optional: 1 of 2`, "" where no exercise is known."""
    core, optional = solved_of(lab, True), solved_of(lab, False)
    return ", ".join(([f"{core} solved"] if core else []) + ([f"optional: {optional}"] if optional else []))


def size_of(lab: Lab) -> str:
    """How long its exercises take, and how many wrong answers their checks know."""
    if not lab.steps:
        return ""
    more = f" (the optional ones {lab.minutes(False)} more)" if lab.minutes(False) else ""
    return f"exercises: about {lab.minutes(True)} minutes{more}; their checks reject {lab.rejected} known wrong answers"


def changed_in(lab: Lab) -> str:
    """The exercises that were solved in another version, "" if there are none."""
    titles = ", ".join(step.title for step in lab.changed)
    return f"changed since you solved it: {titles}" if titles else ""


def html_item(lab: Lab, goal: tuple[Lab, Step] | None) -> str:
    """One lab as an item of a list. Styles stand inline, since untrusted notebooks lose all others."""
    edge = BLUE if goal and goal[0] is lab else GREEN if lab.solved else GREY
    rest = "".join(f"<br>{html_text(line)}" for line in about(lab))
    return (
        f'<li style="margin:0 0 0.8em 0;padding-left:0.8em;border-left:4px solid {edge};text-align:left">'
        f'<a href="{escape(lab.file)}"><b>{lab.number} {html_text(lab.title)}</b></a>'
        f"{f' <b>{state}</b>' if (state := mark(lab, goal)) else ''}{rest}</li>"
    )


def html_text(words: str) -> str:
    """One line of markdown as HTML; of its signs, only those of code are known."""
    return CODE.sub(r"<code>\1</code>", escape(words))
