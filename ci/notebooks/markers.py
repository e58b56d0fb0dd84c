"""Solution regions in a cell: the lines between `### BEGIN SOLUTION` and `### END SOLUTION`."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from ci.notebooks.files import Problem

BEGIN = re.compile(r"[ \t]*### BEGIN SOLUTION[ \t]*")
END = re.compile(r"[ \t]*### END SOLUTION[ \t]*")
SHOUTED = re.compile(r"\b(BEGIN|END)[\W_]*SOLUTION", re.ASCII)


@dataclass(frozen=True)
class Region:
    """One solution: lines `begin` to `end` (from 1, the marker lines included) of a cell."""

    begin: int
    end: int
    indent: str
    lines: tuple[str, ...]


def regions(source: str) -> list[Region]:
    """The regions of a cell's source, in order.

    Raises:
        Problem: a marker is misspelt, without partner, or inside another region.
    """
    found, opened, lines = [], 0, source.split("\n")
    for at, line in enumerate(lines, 1):
        if BEGIN.fullmatch(line):
            if opened:
                raise Problem(f"BEGIN SOLUTION inside the region that began in line {opened}", line=at)
            opened = at
        elif END.fullmatch(line):
            if not opened:
                raise Problem("END SOLUTION without a BEGIN SOLUTION before it", line=at)
            indent = re.match(r"[ \t]*", lines[opened - 1]).group()
            found.append(Region(opened, at, indent, tuple(lines[opened : at - 1])))
            opened = 0
        elif looks_like_marker(line):
            raise Problem(
                f"misspelt marker {line.strip()!r}: write '### BEGIN SOLUTION' or '### END SOLUTION', alone in its line",
                line=at,
            )
    if opened:
        raise Problem("BEGIN SOLUTION without an END SOLUTION after it", line=opened)
    return found


def looks_like_marker(line: str) -> bool:
    """Whether a line that is no marker was probably meant to be one."""
    if SHOUTED.search(line):
        return True
    if not line.lstrip().startswith("#"):
        return False
    words = re.findall(r"[A-Z]+", line.upper())
    if len(words) == 1:  # BEGINSOLUTION
        words = [part for part in re.split(r"^(BEGIN|END)", words[0]) if part]
    pairs = list(zip(words[:1], words[1:2], strict=False)) + list(zip(words[1:2], words[:1], strict=False))
    return any(_meant(a, ("BEGIN", "END", "START")) and _meant(b, ("SOLUTION",)) for a, b in pairs)


def _meant(word: str, known: Iterable[str]) -> bool:
    def near(one: str) -> bool:
        return sorted(word) == sorted(one) or difflib.SequenceMatcher(None, word, one).ratio() >= 0.75

    return any(near(one) for one in known)


def tree(source: str) -> ast.Module:
    """The syntax tree of a code cell; IPython's own lines (`%magic`, `!command`) count as `pass`.

    Raises:
        Problem: the source is not Python.
    """
    lines = source.split("\n")
    if lines[0].startswith("%%"):
        lines[0] = "pass"
    lines = [re.sub(r"^(\s*)[%!].*$", r"\1pass", line) for line in lines]
    try:
        return compile("\n".join(lines), "<cell>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError as error:
        raise Problem(f"this is not valid Python: {error.msg}", line=error.lineno) from None


def enclosing(module: ast.Module, region: Region) -> ast.AST:
    """The innermost function or class that holds the region's code; the module if none does.

    Raises:
        Problem: there is no code between the markers.
    """
    inside = [node for node in ast.walk(module) if isinstance(node, ast.stmt)]
    inside = [node for node in inside if region.begin < node.lineno and node.end_lineno < region.end]
    if not inside:
        raise Problem("there is no code between the markers", line=region.begin)
    first, last = min(node.lineno for node in inside), max(node.end_lineno for node in inside)
    holders = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and node.lineno <= first
        and last <= node.end_lineno
        and node.lineno < region.begin
    ]
    return max(holders, key=lambda node: node.lineno, default=module)
