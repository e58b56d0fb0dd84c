"""How far somebody has come, in words: for the start page and `labbook status`."""

from __future__ import annotations

from helpers.course.overview import Lab, Overview, Step


def summary(found: Overview) -> str:
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


def invitation(found: Overview) -> str:
    """The words before the place to go on; "" where all is solved."""
    if found.next is None:
        return ""
    if not found.next[1].core:
        return "What is left is optional:"
    return "Go on here:" if found.count(True, "solved") + found.count(False, "solved") else "Begin here:"


def goal_sentence(found: Overview) -> str:
    """Where to go on, "" where all is solved."""
    return f"{invitation(found)} {goal_in(found)}." if found.next else ""


def goal_in(found: Overview) -> str:
    """The lab to go on with, and its exercise; of a lab that is not begun only the name, since it is read from the top.

    The link leads to the lab, not to the cell: JupyterLab scrolls to a far cell before the ones above have their
    height, and then stands elsewhere.
    """
    lab, step = found.next
    return f"lab {lab.number} {lab.title}" + (f", exercise \u201c{step.title}\u201d" if lab.begun else "")


def error_line(found: Overview) -> str:
    """What is wrong with the file of progress, "" if nothing is."""
    return f"{found.error} Your notebooks are not touched by that." if found.error else ""


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
