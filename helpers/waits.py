"""Cells of a lab that need an answer: they wait for it in one line, and hide no other error.

    with waits():
        plot(seed_everything(0))        # -> waits for 01.seed_everything

A context manager cannot leave its body out. So the body runs, and what an untouched stub raises in it is
turned into the line. `expects` shows an error that is meant to come, without a traceback.
"""

from __future__ import annotations

import ast
import linecache
import sys
import traceback
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

from helpers.notebook.names import bound_names
from helpers.notebook.stubs import missing_exercise

# Names that a waiting block would have bound, with the exercise it waits for.
_unbound: dict[str, str] = {}


class waits:  # noqa: N801  # reads as a word: with waits():
    """Run a block that needs an answer; where the answer is missing, print what the block waits for.

    Args:
        values: Answers at the top level of a cell that the block uses. While one of them is still `...`, an
            error that speaks of the ellipsis means that it waits.

    Swallowed are: an untouched stub's error, also from another process; an error about `...`, if one of the
    values is `...`; a name that an earlier block would have bound, had it not waited. Nothing else.
    """

    def __init__(self, *values: object) -> None:
        self.untouched = [at for at, value in enumerate(values) if value is ...]

    def __enter__(self) -> None:
        self.frame: FrameType | None = sys._getframe(1)
        self.line = self.frame.f_lineno

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        frame, self.frame = self.frame, None
        awaited = self._awaited(error, frame, trace) if error is not None else None
        if error is None:
            for name in _bound_in_block(frame, self.line) if _unbound else ():
                _unbound.pop(name, None)
        if awaited is None:
            return False
        for name in _bound_in_block(frame, self.line):
            _unbound[name] = awaited
        # A loader's worker that raised is held by the error's frames; collected later, it would be waited for.
        traceback.clear_frames(trace)
        print(f"waits for {awaited}")
        return True

    def _awaited(self, error: BaseException, frame: FrameType, trace: TracebackType | None) -> str | None:
        if exercise := missing_exercise(error):
            return exercise
        kinds = (TypeError, AttributeError, ValueError)
        if self.untouched and isinstance(error, kinds) and "ellipsis" in str(error).lower():
            return " and ".join(_names_of_values(frame, self.line, self.untouched))
        if type(error) is NameError and error.name in _unbound and _raised_in(trace, frame):
            return _unbound[error.name]
        return None


def _raised_in(trace: TracebackType | None, frame: FrameType) -> bool:
    """Whether the error was raised by code of the notebook itself."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals is frame.f_globals


def _blocks(frame: FrameType, line: int) -> Iterator[tuple[ast.With, ast.Call]]:
    """The `with waits(...)` statements that begin in a line, the innermost last."""
    source = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a cell with IPython's own syntax: nothing is known of its names
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.With):
            for item in node.items:
                call = item.context_expr
                if isinstance(call, ast.Call) and node.lineno <= line <= call.end_lineno:
                    if ast.unparse(call.func).endswith("waits"):
                        yield node, call


def _bound_in_block(frame: FrameType, line: int) -> list[str]:
    if frame.f_locals is not frame.f_globals:  # inside a function: its names are its own
        return []
    return [
        name for node, _ in _blocks(frame, line) for name in bound_names(node, node.lineno, node.end_lineno)
    ]


def _names_of_values(frame: FrameType, line: int, places: list[int]) -> list[str]:
    for _, call in _blocks(frame, line):
        if len(call.args) > max(places):
            return [ast.unparse(call.args[place]) for place in places]
    return ["an answer above"]


class expects:  # noqa: N801  # reads as a word: with expects(ZeroDivisionError):
    """Show an error that is meant to come as one line, `ZeroDivisionError: division by zero`.

    Args:
        kinds: The exception classes that are expected; a subclass will do.

    Raises:
        AssertionError: nothing was raised, or something else. An untouched stub goes on to `waits`.
    """

    def __init__(self, *kinds: type[BaseException]) -> None:
        if not kinds or not all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in kinds):
            raise TypeError("expects takes exception classes, as in expects(ValueError)")
        self.kinds = kinds
        self.error: BaseException | None = None

    def __enter__(self) -> expects:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        wanted = " or ".join(one.__name__ for one in self.kinds)
        if error is None:
            raise AssertionError(f"expected {wanted}, but nothing was raised")
        if missing_exercise(error):
            return False
        if isinstance(error, self.kinds):
            self.error = error.with_traceback(None)
            print(one_line(error))
            return True
        if not isinstance(error, Exception):  # the stop button, an exit
            return False
        raise AssertionError(f"expected {wanted}, but this was raised: {one_line(error)}") from error


def one_line(error: BaseException) -> str:
    """An error's name and the first line of what it says."""
    message: Any = str(error).strip().splitlines()
    return f"{type(error).__name__}: {message[0]}" if message else type(error).__name__
