"""The reports of all wrong answers, word for word, so that a person reads them when they change.

They stand in tests/messages/<lab>.txt. After a change that is meant: LABBOOK_UPDATE_MESSAGES=1 pytest
tests/test_messages.py, then read the difference.
"""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path

import pytest

import helpers
from tests.wrong_reports import reports

FOLDER = Path(__file__).parent / "messages"
NUMBERS = sorted({id.partition(".")[0] for id in helpers.exercises()})


def short(text: str, processes: bool) -> str:
    """The text without what changes from run to run: long numbers and addresses, drawn at random or by the clock.

    processes: the answer starts processes, so what was seen depends on who was first; it is left out.
    """
    if processes:
        text = re.sub(r"^  Got: .*(\n    .*)*", "  Got: ...", text, flags=re.M)
        text = re.sub(r"^  \| .*(\n  \| .*)*", "  | ...", text, flags=re.M)
        text = re.sub(r"\d+", "#", text)
    return re.sub(r"0x[0-9a-f]+|\d[\d,]{5,}|0\.\d{4,}", "#", text)


def messages(number: str) -> str:
    """The reports of the wrong answers of one lab, and of the wrong choices of its predictions."""
    parts = []
    for id, exercise in helpers.exercises().items():
        if id.startswith(number + "."):
            parts += [
                f"=== {id} {name}\n{short(str(report), exercise.processes)}"
                for name, report in reports(id).items()
            ]
    for id, prediction in helpers.predictions().items():
        if id.startswith(number + "."):
            parts += [f"=== {id} {letter}\n{prediction.check(letter)}" for letter in prediction.choices]
    return "\n\n".join(parts) + "\n"


@pytest.mark.parametrize("number", NUMBERS)
def test_messages_are_as_they_were_read(number: str) -> None:
    path = FOLDER / f"{number}.txt"
    now = messages(number)
    if os.environ.get("LABBOOK_UPDATE_MESSAGES") == "1":
        FOLDER.mkdir(exist_ok=True)
        path.write_text(now, encoding="utf-8")
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    difference = "\n".join(
        difflib.unified_diff(old.splitlines(), now.splitlines(), str(path), "now", n=2, lineterm="")
    )
    assert now == old, f"messages changed; read them, then LABBOOK_UPDATE_MESSAGES=1:\n{difference}"
