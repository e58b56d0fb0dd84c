"""What a derived lab must be besides derived: no answer left in it, human cell ids, a check per exercise."""

from __future__ import annotations

import re

from nbformat import NotebookNode

from ci.notebooks.files import Problem

HUMAN = re.compile(r"[a-z][a-z0-9-]{2,63}")
RANDOM = re.compile(r"(?=.*[0-9])([0-9a-f]{8}|[0-9a-f]{10,}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})")

SHORT = 12  # characters; a shorter line (`x = a + b`) stands in many cells by chance
NAME, NAMES = r"[\w.]+", r"[\w.]+(?:, ?[\w.]+)*"
TRIVIAL = re.compile(
    "|".join(
        [
            r"#.*",
            r"(import|from) .*",
            r"@.*",
            r"(async )?def .*",
            r"class .*",
            r"[\W\d_]*",  # brackets, numbers
            rf"(return|yield|raise|del|global|nonlocal|await|assert|print) ?\(?(not )?({NAMES})?\)?",
            rf"(async )?for {NAMES} in {NAME}(\(\w*\))?:",
            rf"(if|elif|while) (not )?{NAME}( is (not )?None)?:",
            rf"except ({NAME}|\({NAMES}\))( as \w+)?:",
            rf"(async )?with {NAME}\(\)( as \w+)?:",
            rf"{NAME}\(\)(\.{NAME}\(\))*",  # loss.backward(), super().__init__()
            rf"{NAME} = {NAME}",
            rf"{NAMES} = (\[\]|\{{\}}|\(\)|None|True|False|[-+.\d]+)",
        ]
    )
)


def require_human_ids(cells: list[NotebookNode]) -> None:
    """Refuse ids that do not say what a cell is: progress, update and compare pair cells by id.

    Raises:
        Problem: an id is not small letters, digits and hyphens, is shorter than three, or looks random.
    """
    for cell in cells:
        if not HUMAN.fullmatch(cell.id):
            raise Problem(
                "a cell id is small letters, digits and '-', at least three, a letter first", cell=cell.id
            )
        if RANDOM.fullmatch(cell.id):
            raise Problem("this id looks random: rename it after what the cell does", cell=cell.id)


def is_trivial(line: str) -> bool:
    """Whether a solution line is so common that it may stand elsewhere in the lab."""
    return len(line) < SHORT or TRIVIAL.fullmatch(line) is not None


def bare(line: str) -> str:
    """A line without its indent, trailing comment and list or quote sign."""
    return re.sub(r"\s{2,}#.*$", "", line).strip()


def require_no_leak(solution: dict[tuple[str, int], str], cells: list[NotebookNode]) -> None:
    """Refuse a lab in which a line of a solution still stands.

    Args:
        solution: The solution lines, by cell id and line number.
        cells: The cells of the derived lab.

    Raises:
        Problem: a line that is not trivial survives.
    """
    standing: dict[str, tuple[str, int]] = {}
    for cell in cells:
        for at, line in enumerate(cell.source.split("\n"), 1):
            standing.setdefault(bare(line), (cell.id, at))
    for (cell_id, at), line in solution.items():
        line = bare(line)
        if line in standing and not is_trivial(line):
            place, row = standing[line]
            what = f"the solution line {line!r} survives in the lab: cell {place}, line {row}; reword one of the two"
            raise Problem(what, cell=cell_id, line=at)


def require_check(cells: list[NotebookNode], at: int, *, prediction: bool) -> None:
    """Refuse an exercise that nothing checks.

    Args:
        cells: The cells of the lab.
        at: The index of the exercise's cell.
        prediction: Whether only names at the top level are asked for; the check may then be in the same cell.

    Raises:
        Problem: the check is missing.
    """
    exercise = cells[at]
    after = [cell for cell in cells[at + 1 :] if cell.cell_type == "code"]
    if prediction:
        if not any(".check(" in cell.source for cell in [exercise, *after[:1]]):
            raise Problem("neither this cell nor the next code cell checks the answer", cell=exercise.id)
        return
    wanted = f"{exercise.id}-check"
    found = next((cell for cell in after if cell.id == wanted), None)
    if found is None:
        raise Problem(f"no code cell {wanted} comes after this exercise", cell=exercise.id)
    if ".check(" not in found.source:
        raise Problem(
            f"nothing is checked here: call .check for the exercise of cell {exercise.id}", cell=wanted
        )
