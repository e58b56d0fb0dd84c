"""What a loader's processes put into their queues and take out of them, in its order: a sequence in lanes of text."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import queues
from typing import Any

from torch.utils.data import get_worker_info

from helpers.check.compare import shown
from helpers.labs.dataloader.shared.processes import Log, Started, Stuck

WIDTH = 34  # of a lane
PATIENCE = 8  # tenths of a second without an event: then nothing will happen any more


def queue_log(
    loader: Callable[..., Iterator[Any]],
    dataset: Any,
    batches: Iterable[list],
    collate_fn: Callable[[list], Any],
    *,
    num_workers: int,
    **options: Any,
) -> None:
    """Runs a loader and prints who puts what into which queue, who takes it out, and who waits for it at the end.

    A lane for the main process, and one for each worker; lines stand in an order of causes, not of the clock. Queues have letters, in the order in which they are made. A
    loader that waits for what will never come is ended. Only torch.multiprocessing.Queue and its like are seen, and only
    where workers are forked.
    """
    with tempfile.TemporaryDirectory() as folder:
        log = Log(folder)
        started = Started(log)
        log.note("main", "starts")
        try:
            with _noted(log), started.watched(PATIENCE):
                for batch in loader(dataset, batches, collate_fn, num_workers=num_workers, **options):
                    log.note("main", f"yields {_short(batch)}")
            log.note("main", "ends")
        except Stuck:
            log.note("main", "was ended: nothing happened any more")
        except Exception as error:
            log.note("main", f"raises {type(error).__name__}")
        finally:
            started.kill()
        lanes = ["main", *(f"worker {id}" for id in range(num_workers))]
        print("".join(f"{lane:{WIDTH}}" for lane in lanes).rstrip())
        for lane, words in _told(log.events(), lanes):
            print(" " * WIDTH * lanes.index(lane) + words)


def _told(events: list[list[str]], lanes: list[str]) -> Iterator[tuple[str, str]]:
    """The events in an order of causes: the first lane as far as it comes, and what is taken out after it was put in.

    So what does not depend on the clock comes out the same in each run. Of the waits only those that did not end.
    """
    todo = {lane: [words for who, words in events if who == lane] for lane in lanes}
    there: Counter[str] = Counter()
    while any(todo.values()):
        waiting = [lane for lane in lanes if todo[lane]]
        ready = (lane for lane in waiting if _can_be(todo[lane][0], there))
        lane = next(ready, waiting[0])
        words = todo[lane].pop(0)
        what, _, item = words.partition(" ")
        if what == "puts":
            there[item.replace(" into ", " from ")] += 1
        elif what == "gets":
            there[item] -= 1
        elif what == "waits" and todo[lane] and todo[lane][0].startswith("gets"):
            continue
        lost = lane != "main" and not todo[lane] and what != "waits" and words[:9] != "gets None"
        yield lane, words + (", and is never heard of again" if lost else "")


def _can_be(words: str, there: Counter[str]) -> bool:
    """Whether what is taken out has been put in."""
    return not words.startswith("gets ") or there[words.removeprefix("gets ")] > 0


@contextmanager
def _noted(log: Log) -> Iterator[None]:
    """Queues that note what goes in and out; workers are forked with them."""
    letters: dict[int, str] = {}
    last: dict[str, str] = {}  # what each lane has noted last, as this process knows

    def note(words: str) -> None:
        info = get_worker_info()
        lane = "main" if info is None else f"worker {info.id}"
        if last.get(lane) != words:  # a poll with a time limit asks again and again
            last[lane] = words
            log.note(lane, words)

    def letter(queue: Any) -> str:
        return letters.setdefault(id(queue), chr(ord("A") + len(letters)))

    def putting(old: Callable[..., Any]) -> Callable[..., Any]:
        def put(queue: Any, item: Any, *args: Any, **options: Any) -> Any:
            note(f"puts {_short(item)} into {letter(queue)}")
            return old(queue, item, *args, **options)

        return put

    def getting(old: Callable[..., Any]) -> Callable[..., Any]:
        def get(queue: Any, *args: Any, **options: Any) -> Any:
            note(f"waits for {letter(queue)}")
            item = old(queue, *args, **options)
            note(f"gets {_short(item)} from {letter(queue)}")
            return item

        return get

    def making(old: Callable[..., Any]) -> Callable[..., Any]:
        def init(queue: Any, *args: Any, **options: Any) -> None:
            old(queue, *args, **options)
            letter(queue)

        return init

    kinds = (queues.Queue, queues.SimpleQueue)
    changed = [(kind, name, getattr(kind, name)) for kind in kinds for name in ("__init__", "put", "get")]
    wrappers = {"__init__": making, "put": putting, "get": getting}
    try:
        for kind, name, old in changed:
            setattr(kind, name, wrappers[name](old))
        yield
    finally:
        for kind, name, old in changed:
            setattr(kind, name, old)


def _short(item: Any) -> str:
    return shown(item, 20).replace("\n", " ")
