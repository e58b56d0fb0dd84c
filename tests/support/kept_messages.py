"""The reports of all known mistakes as a person read them: tests/messages/<lab>.txt."""

from __future__ import annotations

import functools
import re

from helpers import paths


@functools.cache
def kept(number: str) -> dict[str, str]:
    """The kept messages of a lab by exercise and prediction, in the order of the file."""
    found: dict[str, str] = {}
    path = paths.ROOT / "tests" / "messages" / f"{number}.txt"
    for text in re.split(r"\n\n(?==== )", path.read_text(encoding="utf-8").removesuffix("\n")):
        id = text.split()[1]
        found[id] = f"{found[id]}\n\n{text}" if id in found else text
    return found


def kept_of(id: str) -> dict[str, str]:
    """The kept messages of one exercise by the mistake's name."""
    texts = re.split(rf"(?:^|\n\n)=== {re.escape(id)} (\w+)\n", kept(id[:2])[id])
    return dict(zip(texts[1::2], texts[2::2], strict=True))
