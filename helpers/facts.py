"""The facts about torch that a lab rests on, and its *Then and now* box.

`data/facts/NN_topic.yaml` holds `topics`, the ledger topics of the lab, and `facts`, a list of entries:

    id       short name, unique in the course
    fact     the sentence, as it is true today
    status   holds | changed | told wrongly | told loosely
    changed  what changed, since when, or how it is told; must be there unless the fact holds
    check    Python source with assert, or null
    reason   why there is no check, if there is none
    cell     the cell of the solution that shows it
    covers   ids of the ledger's claims that it covers
    torch    versions it holds for, as ">=2.13"; outside them the check is skipped
    gpu      true: the check needs a GPU
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from helpers import paths
from helpers.display.html import box, html_words

_BLUE = "#1565c0;border-left-color:var(--jp-brand-color1,#1565c0)"
STATUSES = ("holds", "changed", "told wrongly", "told loosely")
KEYS = {"id", "fact", "status", "changed", "check", "reason", "cell", "covers", "torch", "gpu"}
NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")


class FactsError(ValueError):
    """A facts file is not as it must be; the message says where and what."""


@dataclass(frozen=True)
class Fact:
    """One fact: see the list above for the fields."""

    id: str
    fact: str
    status: str
    cell: str
    check: str | None
    changed: str = ""
    reason: str = ""
    covers: tuple[str, ...] = ()
    torch: SpecifierSet | None = None
    gpu: bool = False


@dataclass(frozen=True)
class FactsFile:
    """The facts of one lab: `stem` is the lab's, as `01_reproducibility`."""

    stem: str
    topics: tuple[str, ...]
    facts: tuple[Fact, ...]


def facts_file(path: Path) -> FactsFile:
    """The facts in a file.

    Raises:
        FactsFault: a key is unknown or missing, a value is of the wrong kind, an id stands twice.
    """
    where = f"data/facts/{path.name}"
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise FactsError(f"{where} cannot be read: {' '.join(str(error).split())}") from None
    if not isinstance(raw, dict) or set(raw) != {"topics", "facts"}:
        raise FactsError(f"{where}: it holds two lists and nothing else, `topics` and `facts`")
    if not _is_texts(raw["topics"]) or not isinstance(raw["facts"], list) or not raw["facts"]:
        raise FactsError(f"{where}: `topics` is a list of names, `facts` a list of entries, not empty")
    facts = [_fact(entry, f"{where}, entry {at}") for at, entry in enumerate(raw["facts"], 1)]
    ids = [fact.id for fact in facts]
    if twice := sorted({name for name in ids if ids.count(name) > 1}):
        raise FactsError(f"{where}: the id {twice[0]} stands twice")
    return FactsFile(path.stem, tuple(raw["topics"]), tuple(facts))


def _fact(entry: Any, where: str) -> Fact:
    if not isinstance(entry, dict):
        raise FactsError(f"{where}: an entry has keys and values")
    where = f"{where} ({entry.get('id', 'without id')})"
    if unknown := sorted(map(str, set(entry) - KEYS)):
        raise FactsError(f"{where}: unknown key {unknown[0]}; there are {', '.join(sorted(KEYS))}")
    if missing := [key for key in ("id", "fact", "status", "check", "cell") if key not in entry]:
        raise FactsError(f"{where}: {missing[0]} is missing")
    texts = [key for key in KEYS - {"covers", "gpu", "torch"} if entry.get(key) is not None]
    if wrong := sorted(key for key in texts if not isinstance(entry[key], str) or not entry[key].strip()):
        raise FactsError(f"{where}: {wrong[0]} must be text, not {entry[wrong[0]]!r}")
    if absent := [key for key in ("id", "fact", "status", "cell") if entry[key] is None]:
        raise FactsError(f"{where}: {absent[0]} is empty")
    if not NAME.fullmatch(entry["id"]):
        raise FactsError(f"{where}: an id is small letters, digits, '-', '_' and '.'")
    if entry["status"] not in STATUSES:
        raise FactsError(f"{where}: status {entry['status']!r} is none of {', '.join(STATUSES)}")
    if entry["status"] != "holds" and not entry.get("changed"):
        raise FactsError(f"{where}: it is {entry['status']}, so `changed` says what, or how it is told")
    if bool(entry["check"]) == bool(entry.get("reason")):
        raise FactsError(f"{where}: either a check, or null and the reason why there is none")
    if not _is_texts(entry.get("covers", [])):
        raise FactsError(f"{where}: covers is a list of ids")
    if not isinstance(entry.get("gpu", False), bool):
        raise FactsError(f"{where}: gpu is true or false")
    given = {key: value for key, value in entry.items() if value is not None}
    return Fact(
        **{key: " ".join(given[key].split()) for key in ("id", "fact", "status", "cell")},
        **{key: " ".join(given.get(key, "").split()) for key in ("changed", "reason")},
        check=given.get("check"),
        covers=tuple(given.get("covers", ())),
        torch=_versions(given["torch"], where) if "torch" in given else None,
        gpu=given.get("gpu", False),
    )


def _versions(text: Any, where: str) -> SpecifierSet:
    try:
        return SpecifierSet(text)
    except (InvalidSpecifier, TypeError, AttributeError):
        raise FactsError(f"{where}: torch is a range of versions, as '>=2.13', not {text!r}") from None


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) and one for one in value)


class ThenAndNow:
    """A table of what is no longer, or never was, as it is often told. Plain HTML: inline styles, no script."""

    def __init__(self, facts: list[Fact]) -> None:
        self.facts = facts

    def __str__(self) -> str:
        return "\n\n".join(f"{fact.fact}\n  {fact.status}: {fact.changed}" for fact in self.facts)

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self._html(), "text/plain": str(self)}

    def _html(self) -> str:
        # A literal colour stands before each variable: an untrusted notebook drops declarations with var().
        line = "border-bottom:1px solid #9e9e9e;border-bottom-color:var(--jp-border-color1,#9e9e9e)"
        cell = f"style='text-align:left;vertical-align:top;padding:6px 12px 6px 0;{line}'"
        heads = "".join(f"<th scope='col' {cell}>{head}</th>" for head in ("Now", "Told or changed", "Then"))
        rows = [(fact.fact, fact.status, fact.changed) for fact in self.facts]
        body = "".join(
            f"<tr>{''.join(f'<td {cell}>{html_words(text)}</td>' for text in row)}</tr>" for row in rows
        )
        table = f"<table style='border-collapse:collapse;font-size:inherit'><tr>{heads}</tr>{body}</table>"
        return box(f"<p><strong>Then and now</strong></p>{table}", edge=_BLUE)


def then_and_now(lab: str, data: Path | None = None) -> ThenAndNow:
    """The *Then and now* box of a lab, from its facts.

    Args:
        lab: The lab's number, `01`.
        data: The folder of data, the project's own if none.

    Raises:
        FactsFault: the lab has no facts file, or it is not as it must be.
    """
    found = sorted(((data or paths.DATA) / "facts").glob(f"{lab}_*.yaml"))
    if len(found) != 1:
        raise FactsError(f"data/facts/ holds {len(found)} files for lab {lab}, not one")
    return ThenAndNow([fact for fact in facts_file(found[0]).facts if fact.status != "holds"])
