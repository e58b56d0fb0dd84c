"""What a loader's processes put into their queues and take out of them, in its order: a sequence in lanes of text."""

from __future__ import annotations

import tempfile
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

    A lane for the main process, and one for each worker. Queues have letters, in the order in which they are made. A
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
        for lane, words in _told(log.events()):
            print(" " * WIDTH * lanes.index(lane) + words)


def _told(events: list[list[str]]) -> Iterator[tuple[str, str]]:
    """The events, of the waits only those that did not end."""
    for place, (lane, words) in enumerate(events):
        following = next((later for who, later in events[place + 1 :] if who == lane), "")
        if words.startswith("waits") and following.startswith("gets"):
            continue
        lost = lane != "main" and not following and not words.startswith("gets None")
        yield lane, words + (", and is never heard of again" if lost else "")


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
