"""Exercise 02.raising_loader: errors of workers reach the training loop, and dead workers are noticed."""

from __future__ import annotations

from helpers.exercise import Exercise
from helpers.labs.dataloader import order_steps
from helpers.labs.dataloader.error_steps import ERRORS
from helpers.labs.dataloader.ladder import Ladder

raising_loader = Exercise(
    "02.raising_loader",
    "A loader with worker processes: errors",
    objective="Bring a worker's error to the training loop, at its place, and notice a worker that died.",
    minutes=25,
    difficulty="hard",
    seconds=15,
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

_AGAIN = {
    order_steps.PROCESSES,
    order_steps.ORDER,
    order_steps.TURNS,
    order_steps.SLOW,
    order_steps.INFO,
    order_steps.DRAW,
}
ladder = Ladder(raising_loader, __name__, [step for step in order_steps.FIRST if step[0] in _AGAIN] + ERRORS)
