"""Steps of 02.parallel_loader about what a loader leaves behind, however it is left."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from helpers.check.trial import Trial
from helpers.labs.dataloader.shared.loaders import Steps
from helpers.labs.dataloader.shared.processes import PATIENCE, Stuck
from helpers.labs.dataloader.shared.properties.order import gated
from helpers.labs.dataloader.shared.run import Loading, Samples

WHOLE = "a whole epoch leaves no process, and no zombie"
BREAK = "break leaves no process, though results are waiting"
GARBAGE = "close(), the last reference gone, a cycle, an iterator never begun: none leaves a process"
ERROR = "an error leaves no process: of a worker, the consumer, the sampler, worker_init_fn"
BUSY = "leaving does not wait for a worker in the middle of a long sample"
THINGS = "threads, open files and semaphores are as many as before"
PROGRAM = "a program that ends in the middle of an epoch ends, and leaves no process"

LONG = "x" * 300_000  # the indices of a batch: more than a pipe holds
LEAVES = 4.0  # s that leaving may take: a second or so, on a busy machine


def _see(trial: Trial, left: list[str], how: str, where: str) -> None:
    if "running" in left:
        trial.fail(
            f"{how}, a worker is still running, or several.",
            expected="no process",
            got="a process, or several, that goes on running",
            observed=(where, how, "running"),
        )
    trial.true(
        not left,
        f"{how}, zombies are left: processes that have ended and that nobody has asked how (join).",
        expected="no process",
        got="zombies",
        observed=(where, "zombie"),
    )


def whole(answer: Any, trial: Trial) -> None:
    _see(trial, gated(answer, trial)["left"], "After the last batch", "whole")


def _large(samples: Samples, index: Any) -> Any:
    return bytes(300_000)


def leaves(answer: Any, trial: Trial) -> None:
    message = (
        "12 batches of 0.3 MB, two workers; break after the first, when all workers have loaded what they may; a process that "
        "the program has started before is asleep"
    )
    with (
        _bystander() as other,
        Loading(trial, answer, message, [[k] for k in range(12)], usual=_large) as loading,
    ):
        loading.start()
        loading.next()
        loading.until("done", 4)
        _see(trial, loading.leave(), "After break", "break")
        trial.true(
            other.is_alive(),
            "After break a process that the program had started itself has ended: the loader's own are its workers.",
            expected="a process that goes on",
            got=f"exit code {other.exitcode}",
            observed="a process of others",
        )


@contextmanager
def _bystander() -> Iterator[Any]:
    """A process of the program's own, such as a worker of a different loader."""
    context = multiprocessing.get_context(
        "fork" if "fork" in multiprocessing.get_all_start_methods() else None
    )
    process = context.Process(target=time.sleep, args=(60,), daemon=True)
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def garbage(answer: Any, trial: Trial) -> None:
    for how in ("After close()", "After the iterator was collected in a cycle", "Never begun"):
        message = f"8 batches, one worker. {how}"
        with Loading(trial, answer, message, [[k] for k in range(8)], num_workers=1) as loading:
            loading.start()
            if how != "Never begun":
                loading.next()
            if "cycle" in how:
                cycle: list[Any] = [loading.iterator]
                cycle.append(cycle)
                del cycle
            _see(trial, loading.leave(close="close" in how), how, "garbage")


def _raises(samples: Samples, index: Any) -> Any:
    raise ValueError(index)


def _hook(worker_id: int) -> None:
    raise LookupError(worker_id)


class _NoOrder:
    """A sampler that cannot even begin."""

    def __iter__(self) -> Any:
        raise KeyError("none")


def error(answer: Any, trial: Trial) -> None:
    plain = [[k] for k in range(8)]
    runs: list[tuple[str, str, list[Any], dict[str, Any]]] = [
        (
            "After an error in a worker",
            "8 batches, [0] to [7]; sample 3 raises",
            plain,
            {"acts": {3: _raises}},
        ),
        (
            "After an error in the sampler's __iter__",
            "a sampler whose __iter__ raises KeyError",
            [],
            {"num_workers": 1, "sampler": _NoOrder()},
        ),
        (
            "After an error in the sampler's first batch",
            "a sampler that raises KeyError when its first batch is asked for",
            [KeyError("none")],
            {"num_workers": 1},
        ),
        (
            "After an error in the sampler's seventh batch",
            "a sampler that gives 6 batches, [0] to [5], and then raises KeyError",
            [*plain[:6], KeyError("none")],
            {},
        ),
        (
            "After an error in worker_init_fn",
            "8 batches; worker_init_fn raises",
            plain,
            {"worker_init_fn": _hook, "num_workers": 1},
        ),
    ]
    for how, words, batches, options in runs:
        workers = "one worker" if "num_workers" in options else "two workers"
        with Loading(trial, answer, f"{words}; {workers}", batches, **options) as loading:
            found = loading.error()
            if "sampler" in how:
                _see_sampler_error(trial, found, loading.received)
            del found
            _see(trial, loading.leave(), how, "error")
    _consumer(answer, trial)


def _see_sampler_error(trial: Trial, error: Exception | None, received: list[Any]) -> None:
    trial.true(
        type(error) is KeyError,
        "The sampler raised KeyError, and the training loop never heard of it: an epoch that was cut short looks like a whole one."
        if error is None
        else f"The sampler raised KeyError, and the training loop got {type(error).__name__}.",
        expected="KeyError: 'none'",
        got=f"{received}, then " + ("the end" if error is None else f"{type(error).__name__}: {error}"[:200]),
        observed=("the sampler's error", type(error).__name__),
    )


def _consumer(answer: Any, trial: Trial) -> None:
    how = "After an error in the body of the loop"
    acts = {2: _raises}
    with Loading(
        trial, answer, f"two workers; sample 2 raises, too. {how}", [[k] for k in range(8)], acts=acts
    ) as loading:
        loading.start()

        def train() -> None:
            for _ in iter(loading.next, None):
                loading.until("load", 3)
                loading.started.settle()
                raise ZeroDivisionError("loss")

        try:
            train()
        except ZeroDivisionError:
            pass
        try:
            left = loading.leave(close=True)
        except Exception as other:
            trial.fail(
                f"Leaving the loop raised {type(other).__name__}: an error of a batch that nobody wants any more.",
                expected="a loop that can be left",
                observed=("error", how, type(other).__name__),
            )
        _see(trial, left, how, "error")


def _endless(samples: Samples, index: Any) -> Any:
    samples.log.note("endless")
    end = time.monotonic() + 30
    while time.monotonic() < end and os.getppid() != 1:
        time.sleep(0.05)


def busy(answer: Any, trial: Trial) -> None:
    message = (
        "8 batches, two workers; break after batch 0, while worker 1 is in a sample that takes half a minute"
    )
    _leave_busy(answer, trial, message, [[k] for k in range(8)], "After break")
    message = (
        "12 batches, four workers; break after batch 0, while the other three are in samples that take half a minute; the "
        "indices of a task after them are a text of 300 kB, more than a pipe holds"
    )
    batches = [[LONG] if k == 5 else [k] for k in range(12)]
    try:
        _leave_busy(
            answer, trial, message, batches, "After break, with a long task in the queue", "long task", 4
        )
    except Stuck:  # it sends without a thread, so it waits here for the worker: not when it is left
        message = "12 batches, four workers; break after batch 0, while the other three are in samples that take half a minute"
        batches = [[k] for k in range(12)]
        _leave_busy(answer, trial, message, batches, "After break, with three busy workers", "three busy", 4)
    message = "14 batches, seven workers; break after batch 0, while the other six are in samples that take half a minute"
    batches = [[k] for k in range(14)]
    _leave_busy(answer, trial, message, batches, "After break, with six busy workers", "six busy", 7)


def _leave_busy(
    answer: Any,
    trial: Trial,
    message: str,
    batches: list[Any],
    how: str,
    where: str = "",
    workers: int = 2,
) -> None:
    acts = dict.fromkeys(range(1, workers), _endless)
    with Loading(trial, answer, message, batches, acts=acts, patience=16, num_workers=workers) as loading:
        loading.start()
        loading.next()
        loading.until("endless", workers - 1)
        begin = time.monotonic()
        left = loading.leave(where=where)
        taken = time.monotonic() - begin
        _see(trial, left, how, "busy")
        trial.true(
            taken < LEAVES,
            f"{how}, leaving took {taken:.1f} seconds: the training loop waited for "
            + ("a worker" if workers == 2 else "workers")
            + " in the middle of a sample.",
            expected="a second or so for all workers together, then they are killed",
            got=f"{taken:.1f} seconds",
            observed=("slow", {2: "", 4: "three busy", 7: "six busy"}[workers]),
        )


def _things() -> dict[str, int]:
    """What a loader may hold on to in this process."""
    found = {"threads": threading.active_count()}
    if os.path.isdir("/proc/self/fd"):
        found["open files"] = len(os.listdir("/proc/self/fd"))
        with open("/proc/self/maps") as file:
            found["semaphores"] = sum("/sem." in line for line in file)
    return found


def things(answer: Any, trial: Trial) -> None:
    message = "one worker: a whole epoch, then one that is left by break"
    with Loading(trial, answer, message, [[k] for k in range(4)], num_workers=1) as loading:
        loading.rest()  # what is opened once and kept is no leak
        loading.leave()
    before = _things()
    for _ in range(50):  # what ends a little later is no leak, nor may it hide one
        time.sleep(0.01)
        before, former = _things(), before
        if before == former:
            break
    with Loading(trial, answer, message, [[k] for k in range(4)], num_workers=1) as loading:
        loading.start()
        loading.next()
        loading.leave()
    for _ in range(30):
        after = _things()
        more = {name: after[name] - before[name] for name in after if after[name] > before[name]}
        if not more:
            return
        time.sleep(0.01)
    trial.fail(
        f"After another epoch there are more {' and '.join(more)} than before. Perhaps its queues live on, or a thread or a pipe "
        "of the loader's own.",
        expected="as many as before",
        got=", ".join(f"{name}: {count} more" for name, count in more.items()),
        observed=("things", sorted(more)),
    )


def program(answer: Any, trial: Trial) -> None:
    if "fork" not in multiprocessing.get_all_start_methods():
        return
    message = "a program that starts a loader with one worker, takes one batch and ends"
    with Loading(trial, answer, message, [[k] for k in range(8)], num_workers=1) as loading:
        _see_its_end(
            trial,
            loading,
            _short_program,
            "The program does not end: it waits for the workers, which wait for the program.",
            expected="daemon processes, which end with the program",
            got="the program, when it has come to its end, and its worker: both are still running",
            observed=("program", "hangs"),
        )
        left = loading.started.left()
        trial.true(
            not left and ["took", 0] in loading.log.events(),
            "The program has ended, and its workers are still running.",
            expected="no process",
            observed=("program", left),
        )
    message = (
        "a program that starts a loader with two workers, leaves it by break after one batch, and ends; worker 1 was in a sample "
        "that takes half a minute, and the indices of its next task are a text of 300 kB, more than a pipe holds"
    )
    batches = [[LONG] if k == 3 else [k] for k in range(8)]
    with Loading(trial, answer, message, batches, acts={1: _endless}) as loading:
        _see_its_end(
            trial,
            loading,
            _left_program,
            "A program that has left its loader by break does not end: something waits for a task to be read, and its worker is gone.",
            expected="a program that ends",
            got="the program, when it has come to its end, goes on running",
            observed=("program", "hangs", "long task"),
            patience=3 * PATIENCE,  # the program itself gives up after one
        )


def _see_its_end(
    trial: Trial,
    loading: Loading,
    run: Callable[[Loading], None],
    words: str,
    patience: int = PATIENCE,
    **how: Any,
) -> None:
    """Runs a program of its own, and looks whether it ends."""
    child = multiprocessing.get_context("fork").Process(target=run, args=(loading,))
    child.start()
    try:
        with loading.started.watched(patience):
            child.join()
    except Stuck:
        trial.fail(words, **how)


def _short_program(loading: Loading) -> None:
    loading.start()
    next(loading.iterator)
    loading.log.note("took", 0)
    _kept.append(loading)


def _left_program(loading: Loading) -> None:
    try:
        loading.start()
        loading.next()
        loading.until("endless", 1)
        loading.leave()
    except (Exception, Stuck):  # it sends without a thread, so it waits here for the worker
        pass


_kept: list[Loading] = []  # as a global of a program: its end is not the end of the iterator

Step = Callable[[Any, Trial], None]

CLEANUP: Steps = [
    (WHOLE, whole),
    (BREAK, leaves),
    (BUSY, busy),
    (GARBAGE, garbage),
    (ERROR, error),
    (THINGS, things),
    (PROGRAM, program),
]
