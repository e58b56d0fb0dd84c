"""The learner's source, the solution's, and the difference between them."""

from __future__ import annotations

import ast
import difflib
from dataclasses import dataclass
from html import escape

from helpers.display.html import EDGE, MONO, card, preformatted

# A long line is wrapped under its beginning: nothing is cut off in a narrow window or in large print.
_CELL = (
    f"text-align:left;white-space:pre-wrap;overflow-wrap:anywhere;vertical-align:top;{MONO};font-size:12px;"
    "padding:1px 8px 1px 2.5em;text-indent:-2em"
)
# JupyterLab tints every second row of a table and the one under the mouse; here a colour means a difference.
_PLAIN = 'style="background:transparent"'
_MINUS, _PLUS = ";background-color:rgba(220,50,47,0.18)", ";background-color:rgba(40,160,70,0.18)"


@dataclass(frozen=True)
class Comparison:
    """Two sources side by side; - marks a line of one's own, + a line of the solution."""

    id: str
    yours: str
    solution: str

    @property
    def differs(self) -> bool:
        """Whether both are known and are not the same code; comments, empty lines and docstrings do not count."""
        if not (self.yours and self.solution):
            return False
        yours, solution = self._sides()
        return yours != solution and _code(yours) != _code(solution)

    def _sides(self) -> tuple[list[str], list[str]]:
        """The lines that are held against each other. Docstrings are left out: the lab gives them."""
        return tuple(_without_docstrings(source).splitlines() for source in (self.yours, self.solution))

    def lines(self) -> list[str]:
        """The difference as marked lines."""
        lines = difflib.ndiff(*self._sides())
        return [line.rstrip() for line in lines if not line.startswith("?")]

    def table(self) -> str:
        """The difference as an HTML table."""
        yours, solution = self._sides()
        rows = []
        matcher = difflib.SequenceMatcher(None, yours, solution, autojunk=False)
        for operation, i1, i2, j1, j2 in matcher.get_opcodes():
            same = operation == "equal"
            for step in range(max(i2 - i1, j2 - j1)):
                left = yours[i1 + step] if i1 + step < i2 else None
                right = solution[j1 + step] if j1 + step < j2 else None
                rows.append(
                    f"<tr {_PLAIN}>{_side(left, same, '-', _MINUS)}{_side(right, same, '+', _PLUS)}</tr>"
                )
        head = "".join(
            f'<th scope="col" style="width:50%;text-align:left;padding:2px 8px">{title}</th>'
            for title in ("yours (-)", "solution (+)")
        )
        return (
            f'<table style="table-layout:fixed;width:100%;margin:4px 0;border-collapse:collapse"><thead><tr>{head}</tr>'
            f"</thead><tbody>{''.join(rows)}</tbody></table>"
        )

    def __str__(self) -> str:
        if not self.yours:
            return f"compare: {self.id}\n{_NOTHING}\n{self.solution}"
        return "\n".join([f"compare: {self.id}", *self.lines()])

    __repr__ = __str__

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        inside = self.table() if self.yours else f"<div>{_NOTHING}</div>{preformatted(self.solution)}"
        return {"text/html": card(inside, EDGE["not attempted"], "Compare"), "text/plain": str(self)}


_NOTHING = "Nothing of yours was found. The solution:"


def _side(line: str | None, same: bool, mark: str, tint: str) -> str:
    if line is None:
        return f'<td style="{_CELL}"></td>'
    return f'<td style="{_CELL}{"" if same else tint}">{"&nbsp;" if same else mark} {escape(line)}</td>'


def _without_docstrings(source: str) -> str:
    """A source without the lines of its docstrings; as it is where it cannot be read."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return source
    lines = source.splitlines()
    for node in ast.walk(tree):
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        if isinstance(node, kinds) and ast.get_docstring(node) is not None and len(node.body) > 1:
            text, following = node.body[:2]
            if node.lineno < text.lineno and text.end_lineno < following.lineno:
                lines[text.lineno - 1 : text.end_lineno] = [None] * (text.end_lineno - text.lineno + 1)
    return "\n".join(line for line in lines if line is not None)


def _code(lines: list[str]) -> str:
    """What the lines of a source do, as text: without comments and empty lines."""
    try:
        return ast.dump(ast.parse("\n".join(lines)))
    except SyntaxError:
        return "\n".join(lines)
