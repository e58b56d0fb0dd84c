"""What each mistake of an exercise does at each property, for one seed.

`Exercise.check` runs the whole bank to name one answer. Here every answer runs once, in processes that share the
work, and is then named by the rule that `judge.mistake` has.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

import helpers
from helpers.check import guard
from helpers.check.judge import OWN_MODULES, Finding, Outcomes, alike
from helpers.exercise import Exercise

PATIENCE = 300  # seconds for all answers of an exercise: a few are usual


@dataclass(frozen=True)
class Named:
    """What the bank says of one of its own answers.

    variant: 0 is the mistake itself, -1 that in disguise. names: the mistakes that behave like it.
    """

    mistake: str
    variant: int
    names: tuple[str, ...]
    first: Finding | None


def errors(exercise: Exercise, seed: int) -> list[str]:
    """What is wrong with the mistakes, their variants and disguises: those that pass, and those not told apart.

    Mistakes that behave alike give one line.
    """
    found: dict[tuple[str, ...], str] = {}
    for each in named(exercise.id, seed).values():
        alike = tuple(sorted({each.mistake, *each.names}))
        if each.first is None:
            key, what = (f"{each.mistake} {each.variant}",), f"{_in_words(each)}: no property rejects it"
        elif each.first.verdict == "not attempted":
            key, what = (f"{each.mistake} {each.variant}",), f"{_in_words(each)}: it is taken for a stub"
        elif len(alike) > 1:
            key, what = alike, collision(alike, each.first.at)
        elif not each.names:
            key, what = alike, f"{_in_words(each)}: it does not behave like the mistake itself"
        else:
            continue
        found.setdefault(key, f"{exercise.id} {what} (seed {seed})")
    return list(found.values())


def collision(names: Sequence[str], at: str) -> str:
    """The sentence on mistakes that behave alike, or of one that gets no name. at: where they are first rejected."""
    what = f"{' and '.join(names)} behave alike" if len(names) > 1 else f"{names[0]} gets no name"
    return f"{what}. First rejected at the property {at!r}: let `observed` hold there what this mistake does and no other one"


def _in_words(each: Named) -> str:
    kind = {-1: "disguised", 0: "itself"}.get(each.variant, f"variant {each.variant}")
    return f"{each.mistake}, {kind}"


@cache
def named(id: str, seed: int) -> dict[tuple[str, int], Named]:
    """Each mistake of an exercise, its variants and its disguise, named by how they behave."""
    cores = own_cores()
    pool = ProcessPoolExecutor(cores, mp_context=multiprocessing.get_context("fork"))
    processes: list[Any] = []
    try:
        parts = pool.map(_outcomes, [(id, seed, part, cores) for part in range(cores)], timeout=PATIENCE)
        processes = list(pool._processes.values())
        rows = {key: row for part in parts for key, row in part.items()}
    except BrokenProcessPool as broken:
        codes = [process.exitcode for process in processes]
        raise AssertionError(f"{id}: the processes that ran its answers ended with {codes}") from broken
    except BaseException:
        for process in processes:
            process.kill()  # an answer that never ends
        raise
    finally:
        pool.shutdown(cancel_futures=True)
    bank = [(name, its) for (name, variant), its in rows.items() if variant >= 0]
    found = {}
    for (mistake, variant), row in sorted(rows.items()):
        names = {name for name, its in bank if all(map(alike, its, row))}
        first = next((outcome for outcome in row if outcome is not None), None)
        found[mistake, variant] = Named(mistake, variant, tuple(sorted(names)), first)
    return found


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


def _answers(exercise: Exercise) -> Iterator[tuple[tuple[str, int], Any]]:
    for name, mistake in exercise.mistakes.items():
        yield (name, -1), disguised(mistake.answer)
        yield from (
            ((name, variant), answer) for variant, answer in enumerate((mistake.answer, *mistake.variants))
        )


def _outcomes(order: tuple[str, int, int, int]) -> dict[tuple[str, int], list[Finding | None]]:
    """The outcomes of every n-th answer, from the given place on, at all properties."""
    # In a fork torch makes its pool of threads anew at the first call. If that comes from several threads at once, such
    # as those that the autograd engine starts after an export, one of them finds no pool and ends the process.
    torch.set_num_threads(1)
    id, seed, part, parts = order
    exercise = helpers.exercises()[id]
    guard.watch(*OWN_MODULES, *{prop.check.__module__ for prop in exercise.properties})
    unseen = io.StringIO()
    with contextlib.redirect_stdout(unseen), contextlib.redirect_stderr(unseen):
        return {
            key: list(map(Outcomes(exercise, answer, seed).at, exercise.properties))
            for key, answer in list(_answers(exercise))[part::parts]
        }
