"""What people leave behind in a parallel loader."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import queue
import threading
from collections.abc import Iterator
from typing import Any

import torch

from helpers.labs.dataloader.parallel_loader import cleanup as steps
from helpers.labs.dataloader.shared.loaders import LoaderMistake
from helpers.labs.dataloader.shared.right import Loader, answer

BY_AN_ERROR = "by an error in a worker, in worker_init_fn, in the sampler"


class Plain(Loader):
    """No clean-up but the one that a method calls."""

    def __del__(self) -> None:
        pass


class OnlyAtTheEnd(Plain):
    """Ends its workers when the last batch has been handed over, and at no other time."""

    def __next__(self) -> Any:
        if self.turn == self.sent:
            super().close()
        if not self.workers:
            raise StopIteration
        batch = self.in_turn()
        self.turn += 1
        self.refill()
        return self.opened(batch)

    def close(self) -> None:
        pass


class NeverEnds(Plain):
    def close(self) -> None:
        self.workers = []


class AtExit(Plain):
    """Leaves the clean-up to the end of the program."""

    def begin(self) -> None:
        super().begin()
        atexit.register(self.close)

    def __next__(self) -> Any:
        if self.turn == self.sent:
            raise StopIteration
        return super().__next__()


class Unjoined(Loader):
    """Kills, and does not join."""

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()
        for tasks in (*self.tasks, self.results):
            tasks.cancel_join_thread()
            tasks.close()
        self.workers = []


class Told(Unjoined):
    """Tells the workers to end, and does not join."""

    def close(self) -> None:
        self.done.set()
        for tasks in self.tasks if self.workers else ():
            tasks.put(None)
            tasks.close()
        self.workers = []


class UnjoinedAfterBreak(Unjoined):
    """Joins at the end of the epoch only."""

    def close(self) -> None:
        if self.turn == self.sent:
            Loader.close(self)
        else:
            super().close()


class EndsAllChildren(Loader):
    def close(self) -> None:
        if self.workers:
            for child in multiprocessing.active_children():
                child.kill()
                child.join()
        super().close()


class JoinedFirst(Loader):
    """Joins workers whose results nobody reads."""

    def leave(self) -> None:
        pass

    def close(self) -> None:
        self.done.set()
        for tasks in self.tasks if self.workers else ():
            tasks.put(None)
        for worker in self.workers:
            worker.join()
        self.workers = []


def errors_forgotten(dataset: Any, batch_sampler: Any, collate_fn: Any, **options: Any) -> Iterator[Any]:
    """Ends its workers for GeneratorExit and at the end, but not after an error."""
    loader = _Unprotected(dataset, batch_sampler, collate_fn, **options)
    try:
        yield from loader
    except GeneratorExit:
        Loader.close(loader)
        raise
    Loader.close(loader)


def try_begins_late(dataset: Any, batch_sampler: Any, collate_fn: Any, **options: Any) -> Iterator[Any]:
    """Starts its workers and fills the queues before the try."""
    loader = _Unprotected(dataset, batch_sampler, collate_fn, **options)
    try:
        yield from loader
    finally:
        Loader.close(loader)


def iter_outside(dataset: Any, batch_sampler: Any, collate_fn: Any, **options: Any) -> Iterator[Any]:
    """Starts its workers, and asks the sampler for an iterator before the try."""
    loader = _Unprotected(dataset, (), collate_fn, **options)
    loader.batches = iter(batch_sampler)
    try:
        loader.fill()
        yield from loader
    finally:
        Loader.close(loader)


def started_at_the_call(dataset: Any, batch_sampler: Any, collate_fn: Any, **options: Any) -> Iterator[Any]:
    """A function that starts the workers, and a generator in it with the finally."""
    loader = _Unprotected(dataset, batch_sampler, collate_fn, **options)

    def batches() -> Iterator[Any]:
        try:
            yield from loader
        finally:
            Loader.close(loader)

    return batches()


def refill_outside(dataset: Any, batch_sampler: Any, collate_fn: Any, **options: Any) -> Iterator[Any]:
    """Protects the worker's batches and the yield, and not what asks the sampler for more."""
    loader = _NoRefill(dataset, batch_sampler, collate_fn, **options)
    for batch in loader:
        loader.ask()
        whole = False
        try:
            yield batch
            whole = True
        finally:
            if not whole:
                loader.close()


class _NoRefill(Plain):
    def refill(self) -> None:
        pass


class SamplerErrorWrapped(Loader):
    """Gives an error of the sampler a class of its own."""

    def ask(self) -> None:
        try:
            super().ask()
        except Exception as error:
            raise RuntimeError("the sampler failed") from error


class ThreadLeft(Loader):
    """A thread of its own that nobody ends."""

    def begin(self) -> None:
        super().begin()
        threading.Thread(target=threading.Event().wait, daemon=True).start()


class PipeLeft(Loader):
    """A pipe of its own that nobody closes."""

    def begin(self) -> None:
        super().begin()
        os.pipe()


class _Unprotected(OnlyAtTheEnd):
    def begin(self) -> None:
        self.base_seed = self.drawn()
        self.results = torch.multiprocessing.Queue()
        self.tasks = [torch.multiprocessing.Queue() for _ in range(self.num_workers)]
        self.done = torch.multiprocessing.Event()
        self.start()
        self.fill()


class Kept(Loader):
    """A list of all loaders keeps each of them alive."""

    def begin(self) -> None:
        _all.append(self)
        super().begin()


_all: list[Loader] = []


class RaisesUnwanted(Loader):
    """Looks through what has arrived when it is left, and raises what it finds."""

    def close(self) -> None:
        found = [*self.early.values()]
        while self.workers:
            try:
                found.append(self.results.get(timeout=0.05)[1])
            except queue.Empty:
                break
        super().close()
        self.early = {}
        for each in found:
            self.opened(each)


class WaitsForSamples(Loader):
    """Joins without a time limit."""

    def close(self) -> None:
        self.done.set()
        for tasks in self.tasks if self.workers else ():
            tasks.put(None)
        for worker in self.workers:
            worker.join()
        super().close()


class LeavesSlowly(Loader):
    """Five seconds for each worker, as torch gives them."""

    def close(self) -> None:
        self.done.set()
        for tasks in self.tasks if self.workers else ():
            tasks.cancel_join_thread()
            tasks.put(None)
        for worker in self.workers:
            worker.join(5)
        super().close()


class ATimeForEach(Loader):
    """A second and a half for each worker."""

    seconds = 1.5

    def close(self) -> None:
        self.done.set()
        for tasks in self.tasks if self.workers else ():
            tasks.cancel_join_thread()
            tasks.put(None)
        for worker in self.workers:
            worker.join(self.seconds)
            worker.kill()
            worker.join()
        super().close()


class ALittleForEach(ATimeForEach):
    """A second, which few workers do not show."""

    seconds = 1.0


class Unbuffered:
    """A queue without a thread: put() waits until the pipe has room, so the last task, None, is left out."""

    def __init__(self) -> None:
        self.queue = torch.multiprocessing.SimpleQueue()
        self.get, self.close = self.queue.get, self.queue.close

    def put(self, task: Any) -> None:
        if task is not None:
            self.queue.put(task)

    def cancel_join_thread(self) -> None:
        """There is none."""


class ATimeForEachOfThese(Loader):
    """Over such queues: a second and more for each worker, idle or not."""

    def start(self) -> None:
        self.tasks = [Unbuffered() for _ in self.tasks]
        super().start()

    def close(self) -> None:
        for worker in self.workers:
            worker.join(1.2)
            worker.kill()
        super().close()


class WorksOff(Loader):
    """The workers finish all tasks that they have: nothing tells them that they may skip them."""

    def close(self) -> None:
        for tasks in self.tasks if self.workers else ():
            tasks.put(None)
        for worker in self.workers:
            worker.join()
        self.workers = []


class WaitsForItsQueues(Loader):
    """Kills the workers, and waits until its own queues have been written out."""

    def close(self) -> None:
        for each in self.workers:
            each.kill()
            each.join()
        for tasks in self.tasks if self.workers else ():
            tasks.close()
            tasks.join_thread()
        self.results.close()
        self.workers = []


class JoinedAtItsEnd(Loader):
    """Kills and closes, and leaves it to the end of the program to wait for its own queues."""

    def close(self) -> None:
        for each in self.workers:
            each.kill()
            each.join()
        for each in (self.results, *self.tasks) if self.workers else ():
            each.close()
        self.workers = []


class SamplerErrorSwallowed(Loader):
    """Takes an error of the sampler for its end."""

    def ask(self) -> None:
        try:
            super().ask()
        except Exception:
            pass


class QueuesKept(Loader):
    """The queues live on in a list."""

    def begin(self) -> None:
        super().begin()
        _queues.extend([self.results, *self.tasks])

    def close(self) -> None:
        for each in self.workers:
            each.kill()
            each.join()
        self.workers = []


_queues: list[Any] = []


class SemaphoresKept(Loader):
    """The queues are closed, and live on in a list."""

    def close(self) -> None:
        if self.workers:
            _queues.extend([self.results, *self.tasks])
        super().close()


class NoDaemons(Loader):
    """Workers that a program waits for when it ends."""

    def start(self) -> None:
        context = torch.multiprocessing.get_context()
        for id in range(self.num_workers):
            self.workers.append(context.Process(target=self.work, args=(id,)))
            self.workers[-1].start()


CLEANUP = [
    LoaderMistake(
        "never_ended",
        steps.WHOLE,
        "After the last batch a worker goes on running. Perhaps it waits in get(), and nobody has told it "
        "that there is no more.",
        answer(NeverEnds),
        (answer(AtExit),),
    ),
    LoaderMistake(
        "zombies",
        steps.WHOLE,
        "A process that has ended stays in the system's table until its parent asks how: that is what join() does.",
        answer(Unjoined),
        (answer(Told),),
    ),
    LoaderMistake(
        "zombies_after_break",
        steps.BREAK,
        "After break zombies are left. Perhaps terminate() or kill() ended the workers, and nobody joined "
        "them: a process that has ended stays in the system's table until its parent asks how.",
        answer(UnjoinedAfterBreak),
        breaks="by break;",
    ),
    LoaderMistake(
        "ends_all_children",
        steps.BREAK,
        "After break a process had ended that is none of the loader's workers. Perhaps all of multiprocessing.active_children() are "
        "killed: the workers of a different loader, which loads the training data, are among them.",
        answer(EndsAllChildren),
        breaks="Processes that are not its workers are left alone.",
    ),
    LoaderMistake(
        "only_at_the_end",
        steps.BREAK,
        "After break a worker goes on running. Perhaps the workers are ended at the loader's end only, after an error only (`except "
        "Exception` lets GeneratorExit pass) or at the end of the program: a finally around the loop over the batches runs always. "
        "Or not all of them are killed, or one was told to end and cannot, since nobody reads its results.",
        answer(OnlyAtTheEnd),
        (answer(Kept),),
        breaks="by break;",
    ),
    LoaderMistake(
        "joined_before_drained",
        steps.BREAK,
        "Leaving the loop by break does not end. Perhaps worker and training loop wait for each other: a "
        "process does not end before its queue has been written out, and a pipe holds 64 KB. Let the "
        "worker call cancel_join_thread() on its results, read the rest, or kill it.",
        answer(JoinedFirst),
        (),
        ("hangs", "Leaving the loop takes too long"),
        breaks="Results that nobody has read, and errors of batches that nobody wants any more, make no "
        "difference.",
    ),
    LoaderMistake(
        "errors_forgotten",
        steps.ERROR,
        "After break the workers are ended, and after an error in a worker one goes on running. Perhaps the clean-up is for "
        "GeneratorExit only, or for an error at the `yield`: a finally around the whole loop covers all.",
        errors_forgotten,
        breaks=BY_AN_ERROR,
    ),
    LoaderMistake(
        "try_begins_late",
        steps.ERROR,
        "An error in the sampler, before the first batch, leaves the workers running. Perhaps the try begins after they were "
        "started: iter(batch_sampler) and the first tasks belong in it, too.",
        try_begins_late,
        (iter_outside,),
        breaks=BY_AN_ERROR,
    ),
    LoaderMistake(
        "raises_unwanted",
        steps.ERROR,
        "Leaving the loop raised the error of a batch that nobody wants any more: whoever leaves it wants "
        "none of the batches that are still to come, nor their errors.",
        answer(RaisesUnwanted),
        breaks="Results that nobody has read, and errors of batches that nobody wants any more, make no "
        "difference.",
    ),
    LoaderMistake(
        "waits_for_samples",
        steps.BUSY,
        "Leaving waits for the samples in hand, perhaps in join() without a timeout, perhaps for their results: a download that "
        "hangs keeps the program with it. Give them a moment, then kill().",
        answer(WaitsForSamples),
        (answer(WorksOff),),
        ("hangs", "Leaving the loop takes too long"),
    ),
    LoaderMistake(
        "leaves_slowly",
        steps.BUSY,
        "Leaving takes seconds, perhaps by a long time limit of join(): torch gives each worker 5 "
        "seconds; here a second or so is asked for, for all together. Then kill().",
        answer(LeavesSlowly),
    ),
    LoaderMistake(
        "a_time_for_each_worker",
        steps.BUSY,
        "With three busy workers leaving takes too many seconds. Perhaps each join() has a time limit of its own, and the limits "
        "add up: wait for all until one moment, then kill() all that are still there.",
        answer(ATimeForEach),
        (answer(ATimeForEachOfThese), answer(ALittleForEach)),
    ),
    LoaderMistake(
        "waits_for_its_queues",
        steps.BUSY,
        "With a long task in a queue leaving does not end. Perhaps join_thread() is called, or runs at "
        "the end: it waits until all that was put into a queue has gone into its pipe, and nobody reads "
        "that any more. Let the loader call cancel_join_thread() on the queues into which it has put "
        "something.",
        answer(WaitsForItsQueues),
        (),
        ("hangs", "Leaving the loop takes too long", "long task"),
    ),
    LoaderMistake(
        "sampler_error_swallowed",
        steps.ERROR,
        "An error in the sampler never reached the training loop: the epoch ends early, as if all were well. Perhaps it was "
        "caught, or a `return` stands in a finally.",
        answer(SamplerErrorSwallowed),
        breaks="An error in the sampler comes through as it is.",
    ),
    LoaderMistake(
        "queues_kept",
        steps.THINGS,
        "More is held than before. A queue is two open files, semaphores and, once something was put, a thread: it ends with "
        "close(), or with the last reference to it.",
        answer(QueuesKept),
    ),
    LoaderMistake(
        "semaphores_left",
        steps.THINGS,
        "There are more semaphores than before, and no more threads or open files. Perhaps the queues are closed, and a list still "
        "holds them: a queue's semaphores are there as long as the queue.",
        answer(SemaphoresKept),
    ),
    LoaderMistake(
        "sampler_error_in_a_different_class",
        steps.ERROR,
        "An error in the sampler came as RuntimeError: it is raised in this process, so nothing needs to be made anew.",
        answer(SamplerErrorWrapped),
        breaks="An error in the sampler comes through as it is.",
    ),
    LoaderMistake(
        "started_at_the_call",
        steps.GARBAGE,
        "An iterator that was dropped before its first batch left the workers running. Perhaps they are started at the call, and "
        "the finally stands in a generator that was never begun: then it does not run.",
        started_at_the_call,
    ),
    LoaderMistake(
        "refill_outside",
        steps.ERROR,
        "An error in the sampler in the middle of the epoch leaves workers running. Perhaps what asks for "
        "one more batch stands outside of the try: it belongs inside.",
        refill_outside,
        breaks=BY_AN_ERROR,
    ),
    LoaderMistake(
        "thread_left",
        steps.THINGS,
        "More threads run than before, and no more files are open. Perhaps a thread of your own: it is to "
        "be told to end, and joined. A daemon thread lives as long as the program.",
        answer(ThreadLeft),
    ),
    LoaderMistake(
        "file_left",
        steps.THINGS,
        "More files are open than before, and no more threads run. Perhaps a pipe of your own is not closed: both its ends are "
        "open files.",
        answer(PipeLeft),
    ),
    LoaderMistake(
        "no_daemons",
        steps.PROGRAM,
        "At its end a program waits for all processes that it started, daemons excepted: those it ends.",
        answer(NoDaemons),
        (),
        ("program", "hangs"),
        breaks="The workers are daemons, so that a program can end in the middle of an epoch.",
    ),
    LoaderMistake(
        "queues_joined_at_the_programs_end",
        steps.PROGRAM,
        "At its end a program waits until all that was put into a queue has gone into its pipe, and nobody reads that any more: "
        "close() does not change this. Let the loader call cancel_join_thread() on its queues of tasks.",
        answer(JoinedAtItsEnd),
        (),
        ("program", "hangs", "long task"),
        breaks="A worker in the middle of a long sample is not waited for, nor is what stands in its queue",
    ),
]
