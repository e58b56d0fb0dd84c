"""What each mistake of an exercise does at each property, for one seed.

`Exercise.check` runs the whole bank to name one answer. Here every answer runs once, in processes that share the
work, and is then named by the rule that `judge.mistake` has.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import torch

import helpers
from helpers.check import guard
from helpers.check.judge import OWN_MODULES, Finding
from helpers.check.naming import Outcomes, alike, written_down
from helpers.check.spec import Mistake
from helpers.exercise import Exercise

PATIENCE = 600  # seconds for all answers of an exercise, on a busy machine, too: a few are usual
Rows = dict[tuple[str, int], tuple[Finding | None, ...]]  # by mistake and variant


@dataclass(frozen=True)
class Named:
    """What the bank says of one of its own answers.

    variant: 0 is the mistake itself, -1 that in disguise. names: the mistakes that behave like it.
    at: the place of the one property at which it ran, None if it ran at all of them. outcomes: what it did there.
    """

    mistake: str
    variant: int
    names: tuple[str, ...]
    at: int | None
    outcomes: tuple[Finding | None, ...]

    @property
    def first(self) -> Finding | None:
        return next((outcome for outcome in self.outcomes if outcome is not None), None)


def errors(exercise: Exercise, seed: int) -> list[str]:
    """What is wrong with the mistakes, their variants and disguises: those that pass, and those not told apart.

    Mistakes that behave alike give one line.
    """
    found: dict[tuple[str, ...], str] = {}
    for each in named(exercise.id, seed).values():
        alike = tuple(sorted({each.mistake, *each.names}))
        if each.first is None:
            key, what = (f"{each.mistake} {each.variant}",), f"{in_words(each)}: no property rejects it"
        elif each.first.verdict == "not attempted":
            key, what = (f"{each.mistake} {each.variant}",), f"{in_words(each)}: it is taken for a stub"
        elif len(alike) > 1:
            key, what = alike, collision(alike, each.first.at)
        elif not each.names:
            key, what = alike, f"{in_words(each)}: it does not behave like the mistake itself"
        else:
            continue
        found.setdefault(key, f"{exercise.id} {what} (seed {seed})")
    return list(found.values())


def collision(names: Sequence[str], at: str) -> str:
    """The sentence on mistakes that behave alike, or of one that gets no name. at: where they are first rejected."""
    what = f"{' and '.join(names)} behave alike" if len(names) > 1 else f"{names[0]} gets no name"
    return f"{what}. First rejected at the property {at!r}: let `observed` hold there what this mistake does and no other one"


def in_words(each: Named) -> str:
    kind = {-1: "disguised", 0: "itself"}.get(each.variant, f"variant {each.variant}")
    return f"{each.mistake}, {kind}"


@cache
def named(id: str, seed: int) -> dict[tuple[str, int], Named]:
    """Each mistake of an exercise, its variants and its disguise, named by how they behave."""
    exercise, rows = helpers.exercises()[id], _rows(id, seed)
    return {
        key: Named(*key, tuple(sorted(_names(rows, exercise, key))), _place(exercise, key[0]), row)
        for key, row in sorted(rows.items())
    }


def _rows(id: str, seed: int) -> Rows:
    """The outcomes of all answers, from processes that share the work."""
    parts, rows = own_cores(), {}
    processes = [_started(id, seed, part, parts) for part in range(parts)]
    try:
        for process, results in processes:
            if not results.poll(PATIENCE):
                raise AssertionError(f"{id}: an answer of its bank never ends")
            try:
                rows |= results.recv()
            except EOFError:
                process.join()
                message = f"{id}: a process that ran its answers ended with {process.exitcode}"
                raise AssertionError(message) from None
    finally:
        for process, _ in processes:
            process.kill()
            process.join()
    return rows


def _started(id: str, seed: int, part: int, parts: int) -> tuple[BaseProcess, Connection]:
    # No pool of processes: an exercise sees whether one stands behind an answer.
    context = multiprocessing.get_context("fork")
    results, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(theirs, id, seed, part, parts))
    process.start()
    theirs.close()
    return process, results


def _names(rows: Rows, exercise: Exercise, key: tuple[str, int]) -> set[str]:
    """The mistakes that do what one row does."""
    at = exercise.mistakes[key[0]].at
    return {
        name
        for (name, variant), row in rows.items()
        if variant >= 0 and exercise.mistakes[name].at == at and all(map(alike, row, rows[key]))
    }


def _place(exercise: Exercise, mistake: str) -> int | None:
    """The place of the property at which alone a mistake is known."""
    at = exercise.mistakes[mistake].at
    return [prop.description for prop in exercise.properties].index(at) if at else None


def own_cores() -> int:
    """The cores that this run may keep busy: its share, where workers of pytest-xdist run beside it."""
    return max(1, (os.cpu_count() or 1) // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def disguised(answer: Any) -> Any:
    """The same behaviour under another name and behind a plain wrapper."""
    if isinstance(answer, tuple):
        return tuple(disguised(part) for part in answer)
    if isinstance(answer, type):
        return type("Disguised", (answer,), {})

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return answer(*args, **kwargs)

    return wrapped


def _answers(mistake: Mistake) -> Iterator[tuple[int, Any]]:
    """The disguise comes last: an answer that keeps something from call to call begins as the first."""
    yield from enumerate((mistake.answer, *mistake.variants))
    yield -1, disguised(mistake.answer)


def _serve(results: Connection, id: str, seed: int, part: int, parts: int) -> None:
    """Sends the outcomes of every n-th mistake, from the given place on."""
    # In a fork torch makes its pool of threads anew at the first call. If that comes from several threads at once, such
    # as those that the autograd engine starts after an export, one of them finds no pool and ends the process.
    torch.set_num_threads(1)
    multiprocessing.set_start_method("fork", force=True)  # as where a check runs
    exercise = helpers.exercises()[id]
    guard.watch(*OWN_MODULES, *{prop.check.__module__ for prop in exercise.properties})
    _be_quiet()
    results.send(
        {
            (name, variant): _row(exercise, mistake, answer, seed)
            for name, mistake in list(exercise.mistakes.items())[part::parts]
            for variant, answer in _answers(mistake)
        }
    )


def _be_quiet() -> None:
    """What the answers print is not shown, also from C++ and from processes that they start."""
    sys.stdout = sys.stderr = io.StringIO()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _row(exercise: Exercise, mistake: Mistake, answer: Any, seed: int) -> tuple[Finding | None, ...]:
    outcomes = Outcomes(exercise, answer, seed, written_down(mistake))
    return tuple(outcomes.at(prop) for prop in exercise.properties if mistake.at in ("", prop.description))
