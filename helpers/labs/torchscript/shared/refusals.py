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


# Names that stay in what is observed: who asks for `gate` has not made the mistake of who asks for `items`.
KEPT = ("Tensor", "Tensor (inferred)", "items", "gate")


def seen(error: BaseException, source: str = "") -> tuple[str, ...]:
    """What tells refusals apart: what is said, which types were found, and whether the place is in this source."""
    line = re.sub(r"'([^']*)'|\d+", lambda found: found[0] if found[1] in KEPT else "#", first_line(error))
    types = sorted(set(re.findall(r"instead found type '([^']*)'", str(error))))
    places = re.findall(r"^ *(\S.*)\n *~+ <--- HERE", str(error), re.M)
    return line, *types, *(["in the parts of the lab"] if any(place in source for place in places) else [])


def refused(error: BaseException, trial: Trial, message: str, source: str = "") -> NoReturn:
    """Ends a property: the compiler said no. source: of parts that are the lab's, where it matters."""
    line = first_line(error)
    trial.fail(
        message,
        expected="code that the compiler takes",
        got="\n".join([line, *details(error)]),
        observed=("refused", *seen(error, source)),
    )
