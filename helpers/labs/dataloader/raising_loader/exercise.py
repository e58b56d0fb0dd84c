"""Exercise 02.raising_loader: errors of workers reach the training loop, and dead workers are noticed."""

from __future__ import annotations

from helpers.exercise import Exercise
from helpers.labs.dataloader.shared.loaders import add_steps
from helpers.labs.dataloader.shared.properties import errors
from helpers.labs.dataloader.shared.properties.errors import ERRORS
from helpers.labs.dataloader.shared.properties.order import BOUND, DEFAULT, EDGES, FIRST
from helpers.labs.dataloader.shared.properties.seeds import DRAW, INFO, WITHIN
from helpers.labs.dataloader.shared.still import STILL_ORDERED

raising_loader = Exercise(
    "02.raising_loader",
    "Errors and dead workers",
    objective="Bring a worker's error to the training loop, at its place, and notice a worker that died.",
    minutes=25,
    difficulty="medium",
    seconds=15,
    processes=True,
    hints=[
        "What a worker cannot make, it can still report: catch the exception there and put something in the "
        "batch's place. What of an exception survives the way through a queue, and what does not?",
        "Send the exception's type and traceback.format_exc(), in an object of a class of your own. Raise when its turn "
        "comes: type(text). Some types cannot be made from one text (then RuntimeError), and StopIteration from a "
        "generator or from __next__ has a meaning of its own.",
        "results.get(timeout=0.1) in a loop; on queue.Empty look whether every worker.is_alive(). The exit code says "
        "nothing: os._exit(0) is a death, too. An error in worker_init_fn is kept, and given for the worker's batches.",
    ],
)

# After processes and order, all seen in one run, comes what is new in this cell, then more of the first one's.
_again = [step for step in FIRST + WITHIN if step[0] in (BOUND, DEFAULT, EDGES, INFO, DRAW)]
add_steps(
    raising_loader,
    [*FIRST[:4], *ERRORS, *_again],
    {
        errors.RAISED: "An exception in a sample, in collate_fn or in worker_init_fn is raised in the training loop when the turn "
        "of its batch comes, after all batches before it: nothing is read twice.",
        errors.TRACE: "The exception raised is of the same class, and its traceback as printed shows the worker's traceback as well: as its text, "
        "its cause, or a note.",
        errors.OWN: "The exception raised is of the same class",
        errors.COLLATE: "An exception in a sample, in collate_fn or in worker_init_fn is raised in the training loop",
        errors.HOOK: "An exception in worker_init_fn takes the place of a batch of its worker, or comes before the first batch.",
        errors.AWKWARD: "A class that cannot be made from one text comes as RuntimeError, or as the error itself, with the "
        "worker's traceback, too.",
        errors.STOP: "StopIteration, which would end the epoch in silence, comes as anything but StopIteration, with the "
        "worker's traceback, too.",
        errors.ITSELF: "A batch that is an exception is a batch like all others.",
        errors.KILLED: (
            "A worker that died (killed, or ended by os._exit, whatever its exit code) is noticed within a second or so, at the latest when "
            "its batch is the next.",
            "RuntimeError: a worker died.",
        ),
        errors.EXITED: "ended by os._exit, whatever its exit code",
        errors.SURVIVES: "The exception raised is of the same class",
        errors.PATIENT: "A worker that lives is waited for, however long a sample takes.",
    },
    still=("ordered_loader, whose workers may fail; all of its docstring still holds.", STILL_ORDERED),
)
