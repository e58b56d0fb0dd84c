"""The mutants of an exercise that may pass, each with its reason: helpers/labs/<lab>/<exercise>/equivalent.yaml."""

from __future__ import annotations

import re
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

    `*` for where or line: any. An entry for any line holds each such edit of a line, the second too.
    """

    where: str
    line: str
    edit: str
    reason: str

    def is_of(self, mutant: Mutant) -> bool:
        edit = re.sub(r" \(\d+\)$", "", mutant.edit) if self.line == "*" else mutant.edit
        return self.where in ("*", mutant.where) and self.line in ("*", mutant.line) and self.edit == edit


def equivalents(folder: Path) -> list[Equivalent]:
    """The entries of an exercise's folder, none where there is no file.

    Raises:
        Problem: the file is no YAML, an entry has not the four texts, or its reason is still to be written.
    """
    path = folder / NAME
    if not path.exists():
        return []
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8")) or []
    except yaml.YAMLError as error:
        raise Problem(f"{path}: paste entries as the command prints them: {error}") from None
    found = []
    for entry in entries:
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
