"""A tiny course, a learner's work in it, and a newer course. And commands that are cut off at any step."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.course import progress
from helpers.work import commands, copies, opened, reset

SEED, MORE = "01_seeds.ipynb", "02_more.ipynb"
ANSWER = "    return number * 6364136223846793005"
OUTPUT = {"output_type": "stream", "name": "stdout", "text": ["my own output\n"]}
STUB = (
    'def seed(number):\n    """Seeds.\n\n    number: any.\n    """\n    raise NotImplementedError("01.seed")'
)


def cell(id: str, source: str, kind: str = "code", outputs: list | None = None) -> dict[str, Any]:
    """A cell as a file holds it."""
    lines = source.splitlines(keepends=True)
    made = {"cell_type": kind, "id": id, "metadata": {}, "source": lines}
    return made | ({"execution_count": None, "outputs": outputs or []} if kind == "code" else {})


def text(id: str, source: str) -> dict[str, Any]:
    """A cell of text."""
    return cell(id, source, "markdown")


def notebook(*cells: dict[str, Any]) -> dict[str, Any]:
    """A notebook of these cells."""
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


SEEDS = [
    text("question", "# 01 Seeds\n\n**Question.** Why?"),
    cell("imports", "from helpers.labs import seeds as lab"),
    text("seed-box", "**Exercise.** Seed."),
    cell("seed", STUB),
    cell("seed-check", "lab.seed.check(seed)"),
    cell("seed-use", "seed(1)\nseed(2)"),
    text("seed-twice-box", "**Exercise.** Seed twice."),
    cell("seed-twice", 'def seed_twice():\n    raise NotImplementedError("01.seed_twice")'),
    cell("seed-twice-check", "lab.seed_twice.check(seed_twice)"),
    text("guess-question", "**Before you run it:** A or B?"),
    cell("guess", "guess = ..."),
    cell("guess-check", "lab.guess.check(guess)"),
    text("summary", "That was it."),
]
SECOND = [text("question", "# 02 More"), cell("more", "more = 1")]


class Project:
    """A course in labs/, and what a learner made of it in work/."""

    def __init__(self, root: Path) -> None:
        self.root, self.labs, self.work = root, root / "labs", root / "work"

    def begin(self) -> Project:
        """Writes the course, and copies it."""
        self.labs.mkdir(parents=True)
        self.write("labs", "00_start.ipynb", notebook(text("welcome", "# Welcome")))
        self.write("labs", SEED, notebook(*SEEDS))
        self.write("labs", MORE, notebook(*SECOND))
        copies.copy_missing_labs(self.root)
        return self

    def read(self, folder: str, name: str = SEED) -> dict[str, Any]:
        """A notebook; its sources are strings."""
        found = json.loads((self.root / folder / name).read_text(encoding="utf-8"))
        for one in found["cells"]:
            one["source"] = "".join(one["source"])
        return found

    def write(self, folder: str, name: str, content: dict[str, Any]) -> None:
        """Saves a notebook as JupyterLab does."""
        for one in content["cells"]:
            one["source"] = "".join(one["source"]).splitlines(keepends=True)
        (self.root / folder / name).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

    def change(self, folder: str, change: Callable[[list[dict[str, Any]]], Any], name: str = SEED) -> None:
        """Changes the list of cells of a notebook."""
        found = self.read(folder, name)
        change(found["cells"])
        self.write(folder, name, found)

    def source(self, id: str, name: str = SEED, folder: str = "work") -> str:
        """The text of one cell."""
        return next(one["source"] for one in self.read(folder, name)["cells"] if one["id"] == id)

    def ids(self, name: str = SEED) -> list[str]:
        """The ids of the learner's cells."""
        return [one["id"] for one in self.read("work", name)["cells"]]

    def learn(self) -> Project:
        """The learner solves 01.seed, adds a cell, and works in lab 02."""
        self.change("work", answered)
        self.change("work", lambda cells: cells.append(cell("own-2", "mine_too = 1")), MORE)
        progress.note_solved("01.seed", 1, self.work)
        progress.note_solved("01.guess", 1, self.work)
        return self

    def go_on(self) -> Project:
        """The course goes on: lab 01 and lab 02 change."""
        self.change("labs", newer)
        self.change("labs", lambda cells: cells.append(text("news", "News.")), MORE)
        return self

    def notebooks(self) -> dict[str, bytes]:
        """What the learner has: notebooks by name, and the progress."""
        found = {path.name: path.read_bytes() for path in sorted(self.work.glob("[0-9n]*.ipynb"))}
        return found | {"progress": repr(sorted(progress.read(self.work).solved.items())).encode()}

    def kept(self, words: str) -> bool:
        """Whether something the learner wrote stands in work/ or in a backup that is whole."""
        places = [*self.work.glob("*.ipynb"), *self.work.glob(".backups/0*/*.ipynb")]
        return any(words in path.read_text(encoding="utf-8") for path in places)


def find(cells: list[dict[str, Any]], id: str) -> dict[str, Any]:
    """The cell with this id."""
    return next(one for one in cells if one["id"] == id)


def replace(cells: list[dict[str, Any]], id: str, old: str, new: str) -> None:
    """Changes the text of a cell."""
    one = find(cells, id)
    assert old in one["source"], (id, old)
    one["source"] = one["source"].replace(old, new)


def answered(cells: list[dict[str, Any]]) -> None:
    """What the learner does in lab 01."""
    replace(cells, "seed", '    raise NotImplementedError("01.seed")', ANSWER)
    find(cells, "seed-check")["outputs"] = [OUTPUT]
    replace(cells, "guess", "...", '"B"')
    cells.insert(5, cell("own", "my_own_cell = 1", outputs=[OUTPUT]))


def newer(cells: list[dict[str, Any]]) -> None:
    """What the authors do in lab 01: the docstring of the exercise, two cells, a new one, and one less."""
    replace(cells, "seed", "number: any.", "number: any, also a negative one.")
    replace(cells, "seed-use", "seed(2)", "seed(-2)")
    replace(cells, "imports", "as lab", "as lab  # newer")
    cells.insert(6, text("seed-read", "Read this."))
    cells.remove(find(cells, "summary"))


def aged(path: Path) -> None:
    """As if nobody had written the file for a while."""
    then = time.time() - commands.SAVING - 5
    os.utime(path, (then, then))


def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No server runs, whatever runs on this machine. And no waiting for the disk: nothing is switched off here."""
    monkeypatch.setattr(opened, "servers", lambda work: [])
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def reset_both(root: Path) -> int:
    """Resets one exercise of lab 01, and lab 02."""
    return reset.reset(root, ["01.seed", "02"])


WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
STEPS = {"os.rename", "os.link", "os.mkdir", "os.remove", "os.chmod", "os.rmdir", "shutil.copyfile"}


def cut_off(
    body: Callable[[], int], root: Path, step: int, error: int | None = None
) -> tuple[int | None, str]:
    """Runs a command in a process of its own, and stops it before its n-th change to the disk below `root`.

    error: not stopped, but the system refuses that change with this error; all later ones too.
    Returns: the exit code, None if it was stopped; and what it said.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            message = io.StringIO()
            with contextlib.redirect_stdout(message), contextlib.redirect_stderr(message):
                _stop_before(step, str(root), error)
                code = body()
            os.write(writing, json.dumps([code, message.getvalue()]).encode())
        except BaseException as problem:
            os.write(writing, json.dumps([99, f"Traceback: {problem!r}"]).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        heard = pipe.read()
    os.waitpid(child, 0)
    return tuple(json.loads(heard)) if heard else (None, "")


def _stop_before(step: int, root: str, error: int | None) -> None:
    count = 0

    def changes_the_disk() -> None:
        nonlocal count
        count += 1
        if error is None and count == step:
            os._exit(9)
        if error is not None and count >= step:
            raise OSError(error, os.strerror(error))

    def hook(event: str, args: tuple) -> None:
        if event == "open":
            path, mode, flags = args
            if str(path).startswith(root) and (set(mode or "") & set("wax+") or flags & WRITES):
                changes_the_disk()
        elif event in STEPS and not (error and event in ("os.remove", "os.rmdir", "os.chmod")):
            if any(str(arg).startswith(root) for arg in args):
                changes_the_disk()

    fsync = os.fsync

    def counted_fsync(handle: int) -> None:
        changes_the_disk()
        fsync(handle)

    os.fsync = counted_fsync
    sys.addaudithook(hook)


FULL, REFUSED = errno.ENOSPC, errno.EACCES
