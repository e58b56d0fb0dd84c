"""The copy of a lab in work/, and its base: the lab that it was made from, or last updated to.

A copy says in its own metadata which base it has, so both change in one step. Bases lie in work/.base/ under their
hash, are written before the copy that names them, and are never changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from contextlib import suppress
from pathlib import Path

from helpers.work.notebook import Notebook, Unreadable, dumped, parsed
from helpers.work.page import START, draw
from helpers.work.writing import WorkFailed, swap, write_fix, write_new

BASES = ".base"
LAB_FIX = "Fix: git checkout labs, or run labbook derive"
KEY = "labbook"  # in the metadata of a copy: {"lab": "03_autograd.ipynb", "base": "<sha256>"}


def lab_files(root: Path) -> list[Path]:
    """The labs of the course with the start page, in order.

    Raises: WorkFailed, if there is none.
    """
    labs = sorted((root / "labs").glob("[0-9][0-9]_*.ipynb"))
    if not labs:
        raise WorkFailed(f"labs/ holds no notebook. {LAB_FIX}")
    return labs


def lab_text(lab: Path) -> bytes:
    """What stands in a lab; the same on every system, whatever git does to line ends."""
    return lab.read_bytes().replace(b"\r\n", b"\n")


def fingerprint(text: bytes) -> str:
    """The SHA-256 of a file's content."""
    return hashlib.sha256(text).hexdigest()


def new_copy(lab: Path) -> bytes:
    """The copy of a lab as a learner gets it first. Raises: Unreadable."""
    text = lab_text(lab)
    copy = parsed(text)
    stamp(copy, lab.name, text)
    if lab.name == START:
        draw(copy)
    return dumped(copy)


def stamp(copy: Notebook, name: str, base: bytes) -> None:
    """Notes in a copy which lab it is a copy of, and its base."""
    copy.setdefault("metadata", {})[KEY] = {"lab": name, "base": fingerprint(base)}


def stamped(copy: Notebook) -> tuple[str, str]:
    """Which lab a notebook is a copy of, and the hash of its base; ("", "") if it does not say."""
    noted = copy.get("metadata", {}).get(KEY)
    noted = noted if isinstance(noted, dict) else {}
    return str(noted.get("lab", "")), str(noted.get("base", ""))


def keep_base(work: Path, name: str, base: bytes) -> None:
    """Puts a base where `base_text` finds it. A damaged one is put right."""
    path = _base(work, name, fingerprint(base))
    path.parent.mkdir(exist_ok=True)
    if not path.is_file():
        write_new(path, base)
    elif (damaged := path.read_bytes()) != base:
        swap(path, base, damaged)


def base_text(work: Path, name: str, wanted: str) -> bytes | None:
    """The base with this hash; None if it is not there or is damaged."""
    try:
        text = _base(work, name, wanted).read_bytes()
    except (OSError, ValueError):  # the name in the stamp may be anything
        return None
    return text if fingerprint(text) == wanted else None


def copy_missing_labs(root: Path, command: str = "labbook lab") -> list[Path]:
    """Copies each lab that work/ does not have; one that is there is never touched. A damaged lab is told, and left out.

    Returns: the new files.
    Raises: WorkFailed, if there is nothing to copy or it cannot be written.
    """
    labs, work = lab_files(root), root / "work"
    try:
        work.mkdir(exist_ok=True)
        missing = [lab for lab in labs if not os.path.lexists(work / lab.name)]
        return [work / lab.name for lab in missing if put_copy(work, lab)]
    except OSError as error:
        raise WorkFailed(
            f"cannot write to {work}: {error.strerror or error}. {write_fix(error, command)}"
        ) from None


def older_copies(root: Path) -> list[str]:
    """Names of the copies in work/ that `labbook update` would bring up to date. Never raises for a damaged file."""
    older = []
    for lab in sorted((root / "labs").glob("[0-9][0-9]_*.ipynb")):
        with suppress(OSError):
            base = _made_from(root / "work" / lab.name)
            if base and base != fingerprint(lab_text(lab)):
                older.append(lab.name)
    return older


def put_copy(work: Path, lab: Path) -> bool:
    """Writes the copy of a lab that work/ does not have, after its base. Says whether it could be read."""
    try:
        copy = new_copy(lab)
    except Unreadable as fault:
        print(f"labs/{lab.name} was not copied: {fault}. {LAB_FIX}", file=sys.stderr)
        return False
    keep_base(work, lab.name, lab_text(lab))
    write_new(work / lab.name, copy)
    return True


def put_beside(work: Path, lab: Path) -> str:
    """Puts the course's lab beside a copy that cannot be merged, once, and never over another file.

    Returns: its name, which no command takes for a lab: new-03_autograd.ipynb
    """
    text, number = lab_text(lab), 1
    while (target := work / f"new-{lab.stem}{f'-{number}' if number > 1 else ''}.ipynb").exists():
        if _made_from(target) == fingerprint(text):
            return target.name
        number += 1
    keep_base(work, lab.name, text)
    write_new(target, new_copy(lab))
    return target.name


def _base(work: Path, name: str, hash: str) -> Path:
    return work / BASES / f"{Path(name).stem}.{hash[:16]}.ipynb"


def _made_from(path: Path) -> str:
    try:
        return str(json.loads(path.read_bytes())["metadata"][KEY]["base"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
