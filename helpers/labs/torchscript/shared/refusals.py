"""What the compiler says when it refuses, without its places and its list of variants."""

from __future__ import annotations

import re
from typing import NoReturn

from helpers.check.trial import Trial


def first_line(error: BaseException) -> str:
    """What the compiler says, without the place."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:220].rstrip(":")


def details(error: BaseException) -> list[str]:
    """The types that do not fit, and the marked line of the source."""
    types = re.findall(r"^ *((?:Expected a value|Could not match type) .*)$", str(error), re.M)
    telling = [text for text in types if "previously matched" in text] or types
    marked = re.findall(r"^ *(\S.*)\n *~+ <--- HERE", str(error), re.M)
    return telling[:1] + [f"at: {line}" for line in marked[:1]]


def refused(error: BaseException, trial: Trial, message: str) -> NoReturn:
    """Ends a property: the compiler said no."""
    line = first_line(error)
    trial.fail(
        message,
        expected="code that the compiler takes",
        got="\n".join([line, *details(error)]),
        observed=("refused", re.sub(r"'[^']*'|\d+", "#", line)),
    )
