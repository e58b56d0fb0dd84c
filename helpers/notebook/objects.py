"""What a notebook holds under a name, and its source."""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
from typing import Any

from helpers.notebook.cells import newer_cell


def in_notebook(names: tuple[str, ...]) -> tuple[Any, list[str]]:
    """The object (or the tuple of objects) of these names in the notebook, and the names that are missing."""
    known = vars(sys.modules["__main__"])
    missing = [name for name in names if name not in known]
    if missing:
        return ..., missing
    found = tuple(known[name] for name in names)
    return (found if len(names) > 1 else found[0]), []


def source_of(thing: Any) -> str:
    """The source of a function or class of the notebook, or "" where there is none."""
    code, name = _code_of(thing)
    if code is None:
        return ""
    text = "".join(linecache.getlines(code.co_filename))
    return definition(text, name)


def older_answer(names: tuple[str, ...], answer: Any) -> str:
    """In one sentence, that this is not the answer that was written last: its cell stopped with an error. Or ""."""
    for name, part in zip(names, answer if isinstance(answer, tuple) else (answer,), strict=False):
        code, _ = _code_of(part)
        if code is not None and (found := newer_cell(code.co_filename, name)):
            return (
                f"This is about the {name} that ran as Cell In[{found[0]}]. Cell In[{found[1]}] has a newer one, but it "
                "stopped with an error: mend that, run it, then check again."
            )
    return ""


def _code_of(thing: Any) -> tuple[Any, str]:
    try:
        thing = inspect.unwrap(thing)
    except ValueError:  # it wraps itself
        return None, ""
    if isinstance(thing, type):
        for member in vars(thing).values():
            code = getattr(getattr(member, "__func__", member), "__code__", None)
            if code is not None:
                return code, thing.__name__
        return None, ""
    return getattr(thing, "__code__", None), getattr(thing, "__name__", "")


def definition(text: str, name: str) -> str:
    """The text of the function or class `name`, decorators included."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return ""
    for node in reversed(list(ast.walk(tree))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == name:
            first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
            return "\n".join(text.splitlines()[first - 1 : node.end_lineno])
    return ""
