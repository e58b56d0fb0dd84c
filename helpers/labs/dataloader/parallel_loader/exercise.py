"""Exercise 02.parallel_loader: the whole of it, and nothing is left behind, however the loop is left."""

from __future__ import annotations

from helpers.exercise import Exercise
from helpers.labs.dataloader.parallel_loader import cleanup
from helpers.labs.dataloader.parallel_loader.cleanup import CLEANUP
from helpers.labs.dataloader.shared.loaders import add_steps
from helpers.labs.dataloader.shared.properties.errors import ERRORS
from helpers.labs.dataloader.shared.properties.order import FIRST
from helpers.labs.dataloader.shared.properties.seeds import WITHIN
from helpers.labs.dataloader.shared.still import STILL_ORDERED, STILL_RAISING

parallel_loader = Exercise(
    "02.parallel_loader",
    "All of it, and nothing left behind",
    objective="Leave no process, thread or semaphore behind, however the loop is left.",
    minutes=25,
    difficulty="medium",
    seconds=40,  # leaving may take some seconds, and many ends are tried
    processes=True,
    hints=[
        "A generator that is left by break, by an error or by the garbage collector gets GeneratorExit at its yield. "
        "Which statement runs in all these cases, and when must it begin?",
        "try: from before the first worker starts; finally: end the workers, and join each of them, so that none is a "
        "zombie. A worker cannot end while its queue waits for a reader, nor in the middle of a long sample.",
        "finally: an Event tells the workers to skip what they still have, None ends their loop, "
        "results.cancel_join_thread(), called in the worker, lets it end with unread results; then join(timeout), kill() for those that "
        "are still there, join() once more, and close() for the queues. Or kill() at once: nobody wants their work.",
    ],
)

# What is new in this cell comes first: what is asked of the first two follows.
add_steps(
    parallel_loader,
    [*FIRST[:1], *CLEANUP, *FIRST[1:], *WITHIN, *ERRORS],
    {
        cleanup.WHOLE: "However the loop is left, no worker and no zombie (a process that ended and was not joined) is there "
        "afterwards: at the last batch;",
        cleanup.BREAK: (
            "However the loop is left, no worker and no zombie (a process that ended and was not joined) is there afterwards: at the last "
            "batch; by break;",
            "Processes that are not its workers are left alone.",
            "Results that nobody has read, and errors of batches that nobody wants any more, make no difference.",
        ),
        cleanup.GARBAGE: "by close(), if the iterator has one; when the iterator is dropped, also in a cycle that the garbage "
        "collector finds, also before the first batch;",
        cleanup.ERROR: (
            "by an error in a worker, in worker_init_fn, in the sampler (in its __iter__ and its first batch, too) or in the body of the loop.",
            "An error in the sampler comes through as it is.",
        ),
        cleanup.BUSY: "A worker in the middle of a long sample is not waited for, nor is what stands in its queue: leaving takes "
        "a second or so, for all workers together.",
        cleanup.THINGS: "Threads, open files and semaphores are then as many as before: queues are closed or dropped, and "
        "nothing keeps them alive.",
        cleanup.PROGRAM: (
            "The workers are daemons, so that a program can end in the middle of an epoch.",
            "A worker in the middle of a long sample is not waited for, nor is what stands in its queue",
        ),
    },
    still=(
        "raising_loader, which leaves nothing behind; all of its docstring still holds.",
        STILL_ORDERED | STILL_RAISING,
    ),
)
