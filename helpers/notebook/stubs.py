"""Untouched stubs: which exercise an error comes from that nobody has solved yet."""

from __future__ import annotations

import re
from collections.abc import Iterator

EXERCISE = re.compile(r"\d\d\.[a-z0-9_]+")
# How a process or a DataLoader worker hands on what a stub raised in it: the last line of a traceback's text.
CARRIED = re.compile(r"(?:^|\n)\s*NotImplementedError: (\d\d\.[a-z0-9_]+)\s*\Z")


def missing_exercise(error: BaseException | None) -> str | None:
    """The exercise whose untouched stub lies behind an error, None if no stub does.

    Looked at are the error itself, the text of an error from another process, and what it was raised from.
    """
    return next(filter(None, map(_stub, _chain(error))), None)


def _stub(error: BaseException) -> str | None:
    text = str(error)
    if type(error) is NotImplementedError and EXERCISE.fullmatch(text):
        return text
    carried = CARRIED.search(text)
    return carried.group(1) if carried else None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and the errors it came from; a group of errors only where a stub is behind each."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, BaseExceptionGroup) and all(map(missing_exercise, error.exceptions)):
            yield from _chain(error.exceptions[0])
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
