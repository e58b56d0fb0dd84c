"""The mutants of an exercise that may pass, each with its reason: helpers/labs/<lab>/<exercise>/equivalent.yaml."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

from ci.mutants.answers import Mutant
from ci.notebooks.files import Problem

NAME = "equivalent.yaml"
TODO = "TODO"
KEYS = {"in", "line", "edit", "reason"}


@dataclass(frozen=True)
class Equivalent:
    """One entry: where, the line's text, the edit, and why no input within the docstring can tell it from the answer.

    `*` for where or line: any.
    """

    where: str
    line: str
    edit: str
    reason: str

    def is_of(self, mutant: Mutant) -> bool:
        return (
            self.where in ("*", mutant.where) and self.line in ("*", mutant.line) and self.edit == mutant.edit
        )


def equivalents(folder: Path) -> list[Equivalent]:
    """The entries of an exercise's folder, none where there is no file.

    Raises:
        Problem: an entry has not the four texts, or its reason is still to be written.
    """
    path = folder / NAME
    if not path.exists():
        return []
    found = []
    for entry in yaml.safe_load(path.read_text(encoding="utf-8")) or []:
        if not isinstance(entry, dict) or set(entry) != KEYS or not all(map(str, entry.values())):
            raise Problem(f"{path}: each entry has the texts {', '.join(sorted(KEYS))}, not {entry}")
        if str(entry["reason"]).startswith(TODO):
            raise Problem(f"{path}: the reason is to be written: {entry['line']}")
        found.append(Equivalent(*(str(entry[key]) for key in ("in", "line", "edit", "reason"))))
    return found


def as_entry(mutant: Mutant) -> str:
    """The entry of a mutant, to be pasted: its reason is to be written."""
    entry = {"in": mutant.where, "line": mutant.line, "edit": mutant.edit, "reason": TODO}
    return yaml.safe_dump([entry], sort_keys=False, width=120)
