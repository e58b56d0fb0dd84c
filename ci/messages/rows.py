"""Runs the answers of a bank: each mistake and each of its variants, in processes that share the work.

Where the first property that does not hold makes the name, an answer runs up to that one. Those of different mistakes
that do the same there run once more, at all properties.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import sys
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

import torch

import helpers
from helpers.check import guard, stored
from helpers.check.judge import OWN_MODULES, Finding
from helpers.check.naming import Outcomes, known_by_the_first_fall, observed, written_down
from helpers.course.registry import lab_modules
from helpers.exercise import Exercise
from helpers.processes import fork_server
from helpers.processes.process_tree import end_tree

PATIENCE = 600  # seconds for all answers of an exercise, on a busy machine, too: a few are usual
Key = tuple[str, int]  # a mistake's name, and 0 for itself, 1 and so on for its variants
Rows = dict[Key, tuple[Finding | None, ...]]
# What the processes below and those of a check would import anew: a learner's warm worker does it while it waits.
fork_server.IMPORTED += [__name__, *lab_modules()]


def rows_of(id: str, seed: int) -> Rows:
    """The outcomes of all answers, from processes that share the work."""
    exercise = helpers.exercises()[id]
    keys = [
        [(name, variant) for variant in range(1 + len(mistake.variants))]
        for name, mistake in exercise.mistakes.items()
    ]
    if not known_by_the_first_fall(exercise):
        return _run(exercise, seed, keys, to_the_end=True)
    rows = _run(exercise, seed, keys, to_the_end=False)
    alike = [[key] for key in rows if _shares_its_fall(exercise, rows, key)]
    return rows | _run(exercise, seed, alike, to_the_end=True)


def _shares_its_fall(exercise: Exercise, rows: Rows, key: Key) -> bool:
    """Whether an answer of a different mistake falls first where this one does, and does the same there."""
    if exercise.mistakes[key[0]].at:
        return False
    place, fall = len(rows[key]), rows[key][-1]
    return any(
        len(row) == place
        and stored.same(observed(row[-1]), observed(fall))
        and name != key[0]
        and not exercise.mistakes[name].at
        for (name, _), row in rows.items()
    )


def _run(exercise: Exercise, seed: int, groups: list[list[Key]], *, to_the_end: bool) -> Rows:
    rows: Rows = {}
    todo, running = _shares(exercise, groups), {}
    try:
        while todo or running:
            while todo and len(running) < own_cores():
                results, process = _started(exercise.id, seed, todo.pop(), to_the_end)
                running[results] = process
            for results in _that_are_done(exercise.id, running):
                rows |= _received(exercise.id, results, running[results])
                end_tree(running.pop(results).pid)
    finally:
        for process in running.values():
            end_tree(process.pid)
    return rows


def _shares(exercise: Exercise, groups: list[list[Key]]) -> list[list[Key]]:
    """What each process is to run.

    groups: a mistake with its variants. Answers that start processes run alone, since some leave processes behind.
    """
    if exercise.processes:
        return [[key] for group in groups for key in group]
    shares = [[key for group in groups[part :: own_cores()] for key in group] for part in range(own_cores())]
    return [share for share in shares if share]


def _started(id: str, seed: int, share: list[Key], to_the_end: bool) -> tuple[Connection, BaseProcess]:
    # From the fork server, as where a check runs: what went on in this process before shows in no outcome. No pool of
    # processes: an exercise sees whether one stands behind an answer.
    context = fork_server.fork_server()
    results, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(theirs, id, seed, share, to_the_end), daemon=False)
    with fork_server.no_main_module():
        fork_server.started(process.start)
    theirs.close()
    return results, process


def _that_are_done(id: str, running: dict[Connection, BaseProcess]) -> list[Connection]:
    done = wait(list(running), PATIENCE)
    if not done:
        raise AssertionError(f"{id}: an answer of its bank never ends")
    return done


def _received(id: str, results: Connection, process: BaseProcess) -> Rows:
    try:
        return results.recv()
    except EOFError:
        process.join()
        message = f"{id}: a process that ran its answers ended with {process.exitcode}"
        raise AssertionError(message) from None


def own_cores() -> int:
    """The cores that this run may keep busy: its share, where workers of pytest-xdist run beside it."""
    return max(1, (os.cpu_count() or 1) // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def _serve(results: Connection, id: str, seed: int, share: list[Key], to_the_end: bool) -> None:
    """Sends the outcomes of these answers."""
    # In a fork torch makes its pool of threads anew at the first call. If that comes from several threads at once, such
    # as those that the autograd engine starts after an export, one of them finds no pool and ends the process.
    torch.set_num_threads(1)
    os.setsid()  # what the answers start ends with this process
    multiprocessing.set_start_method("fork", force=True)  # as where a check runs
    exercise = helpers.exercises()[id]
    guard.watch(*OWN_MODULES, *{prop.check.__module__ for prop in exercise.properties})
    if exercise.prepare is not None:
        exercise.prepare()  # it may import what cannot be imported without standard streams
    _be_quiet()
    results.send({key: _row(exercise, key, seed, to_the_end) for key in share})


def _be_quiet() -> None:
    """What the answers print is not shown, also from C++ and from processes that they start."""
    sys.stdout = sys.stderr = io.StringIO()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _row(exercise: Exercise, key: Key, seed: int, to_the_end: bool) -> tuple[Finding | None, ...]:
    name, variant = key
    mistake = exercise.mistakes[name]
    answer = (mistake.answer, *mistake.variants)[variant]
    outcomes = Outcomes(exercise, answer, seed, written_down(mistake))
    row = []
    for prop in exercise.properties:
        if mistake.at in ("", prop.description):
            row.append(outcomes.at(prop))
            if isinstance(observed(row[-1]), list) and not to_the_end:
                break
    return tuple(row)
