"""What people write for workers that die."""

from __future__ import annotations

import queue
from typing import Any

from helpers.labs.dataloader.shared.loaders import LoaderMistake
from helpers.labs.dataloader.shared.properties import errors as steps
from helpers.labs.dataloader.shared.right import Loader, answer


class NeverLooks(Loader):
    """results.get() without a time limit."""

    def result(self) -> tuple[int, Any]:
        return self.results.get()


class LooksWithoutEnd(Loader):
    """A time limit, and then the same again."""

    def look(self) -> None:
        pass


class AllDead(Loader):
    """Gives up only when no worker is left."""

    def look(self) -> None:
        if not any(worker.is_alive() for worker in self.workers):
            raise RuntimeError("all workers died")


class DeadIsTheEnd(Loader):
    """Takes a dead worker for one that has finished."""

    def look(self) -> None:
        if not all(worker.is_alive() for worker in self.workers):
            self.close()
            raise StopIteration


class EmptyComesThrough(Loader):
    """queue.Empty reaches the training loop."""

    def result(self) -> tuple[int, Any]:
        return self.results.get(timeout=0.8)


class TimeOutIsDeath(Loader):
    """Takes a worker for dead because nothing came for a while."""

    def result(self) -> tuple[int, Any]:
        try:
            return self.results.get(timeout=1.2)
        except queue.Empty:
            raise RuntimeError("a worker died") from None


class DifferentError(Loader):
    """Notices the death, and raises an error of a class of its own choice."""

    def look(self) -> None:
        if not all(worker.is_alive() for worker in self.workers):
            raise ChildProcessError("a worker died")


class ExitCode(Loader):
    """Only an exit code other than 0 counts as a death."""

    def look(self) -> None:
        for worker in self.workers:
            if worker.exitcode:
                raise RuntimeError(f"a worker died with exit code {worker.exitcode}")


DEAD = [
    LoaderMistake(
        "dead_worker_hangs",
        steps.KILLED,
        "A worker died, and the training loop goes on waiting for its batch. Perhaps get() has no time limit, or one of some "
        "seconds, or nobody looks at every worker each time when it runs out, or all of them must be dead.",
        answer(NeverLooks),
        (answer(LooksWithoutEnd), answer(AllDead)),
        ("hangs", "The loader waits"),
        breaks="A worker that died (killed, or ended by os._exit, whatever its exit code) is noticed within "
        "a second or so",
    ),
    LoaderMistake(
        "dead_worker_ends_the_epoch",
        steps.KILLED,
        "A worker was killed, and the epoch ended as if all were well. Perhaps a process that is gone is "
        "taken for one that has finished, or what it owed is passed over.",
        answer(DeadIsTheEnd),
        breaks="A worker that died (killed, or ended by os._exit, whatever its exit code) is noticed within "
        "a second or so",
    ),
    LoaderMistake(
        "empty_comes_through",
        steps.KILLED,
        "queue.Empty says only that nothing has come yet; a slow sample would raise it, too.",
        answer(EmptyComesThrough),
        breaks="RuntimeError: a worker died.",
    ),
    LoaderMistake(
        "different_error_for_a_death",
        steps.KILLED,
        "A worker died, and what came is no RuntimeError: code that waits for one does not catch it. Perhaps a class that "
        "fits better was raised, as ChildProcessError; or one came through from the queue, as EOFError.",
        answer(DifferentError),
        breaks="RuntimeError: a worker died.",
    ),
    LoaderMistake(
        "exit_code_only",
        steps.EXITED,
        "A worker that ended with exit code 0 was not noticed. Perhaps other exit codes are looked for: "
        "os._exit(0), in a library that gives up, is a death, too. Ask is_alive().",
        answer(ExitCode),
    ),
    LoaderMistake(
        "time_out_is_death",
        steps.PATIENT,
        "The batch of a slow sample did not come, though its worker lives. Perhaps nothing came for a "
        "while, and the worker was taken for dead: a large picture or a slow disk does the same. Ask "
        "is_alive().",
        answer(TimeOutIsDeath),
    ),
]
