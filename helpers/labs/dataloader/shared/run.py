"""One run of a learner's loader under watch: its dataset, its sampler, what the consumer received."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.utils.data import Dataset, get_worker_info

from helpers.check import judge
from helpers.check.garbage import only_new_garbage
from helpers.check.trial import Trial
from helpers.labs.dataloader.shared.processes import PATIENCE, Log, Started, Stuck

LEAVING = 16  # looks: a loader may give its workers a second before it kills them

Act = Callable[["Samples", Any], Any]

# Who may not stand behind a call of the dataset, and how the report calls them.
OTHERS = {
    os.sep.join(("torch", "utils", "data", "dataloader.py")): "DataLoader",
    os.sep.join(("torch", "utils", "data", "_utils", "worker.py")): "DataLoader",
    os.sep.join(("multiprocessing", "pool.py")): "a pool of processes",
    os.sep.join(("concurrent", "futures", "process.py")): "a pool of processes",
}


class Samples(Dataset):
    """Sample `index` is `index`, or what `acts[index](self, index)` gives. All is noted in the log."""

    def __init__(self, log: Log, acts: dict[Any, Act] | None = None, usual: Act | None = None) -> None:
        self.log, self.acts, self.usual = log, acts or {}, usual
        self.mark = None  # for a hook to change

    def __getitem__(self, index: Any) -> Any:
        thread = threading.current_thread() is threading.main_thread()
        self.log.note("load", index, os.getpid(), thread, sorted(set(_callers())))
        act = self.acts.get(index, self.usual)
        value = index if act is None else act(self, index)
        self.log.note("done", index)
        return value


def _callers() -> Iterator[str]:
    frame = sys._getframe(2)
    while frame is not None:
        for file, name in OTHERS.items():
            if frame.f_code.co_filename.endswith(file):
                yield name
        frame = frame.f_back


def waits_for(*done: Any) -> Act:
    """A sample that is not loaded before all these are, and before nothing more happens beside it."""

    def act(samples: Samples, index: Any) -> Any:
        samples.log.wait(lambda events: all(["done", other] in events for other in done))
        samples.log.quiet()
        return index

    return act


class Loading:
    """A loader at work. In a `with` block: whatever it leaves behind is removed at the end.

    batches: what the sampler gives; an exception among them is raised. sampler: one in its place, handed over as it is.
    Lists and counts of what was asked, loaded and received are read from `log`.
    """

    def __init__(
        self,
        trial: Trial,
        answer: Any,
        given: str,
        batches: Iterable[Any],
        *,
        acts: dict[Any, Act] | None = None,
        usual: Act | None = None,
        collate_fn: Callable[[list], Any] = list,
        patience: int = PATIENCE,
        sampler: Any = None,
        **options: Any,
    ) -> None:
        self.trial, self.answer, self.batches, self.patience = trial, answer, batches, patience
        self.sampler = sampler
        own = torch.Generator().manual_seed(trial.seed)
        self.collate_fn, self.options = collate_fn, {"num_workers": 2, "generator": own, **options}
        self.folder = tempfile.mkdtemp(prefix="loader")
        self.log = Log(self.folder)
        self.samples = Samples(self.log, acts, usual)
        self.started = Started(self.log)
        self.iterator: Any = None
        self.received: list[Any] = []
        self.wanted = "every batch, then the end"
        self.where = ""  # what tells this run from others of its property, in `observed` of one that hangs
        trial.given(given)

    def __enter__(self) -> Loading:
        self.collector = only_new_garbage()  # for the collection in `leave`
        self.collector.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self.started.kill()
            if self.iterator is not None:
                self._quietly_closed()
        finally:
            self.collector.__exit__(None, None, None)
            shutil.rmtree(self.folder, ignore_errors=True)

    def _quietly_closed(self) -> None:
        """With its workers dead a loader has nothing to say that matters."""
        try:
            with self.started.watched(5):
                close = getattr(self.iterator, "close", None)
                if close is not None:
                    close()
                self.iterator = close = None
        except (Exception, Stuck):
            pass
        self.iterator = None
        self.started.kill()

    def asked(self) -> Iterator[Any]:
        """The sampler: notes what is asked of it."""
        for place, batch in enumerate(self.batches):
            self.log.note("asked", place)
            if isinstance(batch, BaseException):
                raise batch
            yield batch

    def start(self) -> Any:
        """Calls the answer; wrong if what it returns is no iterator."""
        with self.started.watched(self.patience):
            sampler = self.asked() if self.sampler is None else self.sampler
            found = self.answer(self.samples, sampler, self.collate_fn, **self.options)
            try:
                self.iterator = iter(found)
            except TypeError:
                self.trial.fail(
                    f"The loader returned {type(found).__name__}, which is no iterator: yield the batches.",
                    expected="an iterator over the batches",
                    got=type(found).__name__,
                    observed=("kind", type(found).__name__),
                )
        return self.iterator

    def next(self) -> Any:
        """The next batch; notes it."""
        with self.started.watched(self.patience):
            batch = next(self.iterator)
        self.log.note("got", len(self.received))
        self.received.append(batch)
        return batch

    def until(self, kind: str, count: int) -> None:
        """Waits until so many events of a kind have happened; not for ever, and not in the learner's code."""
        for _ in range(1000):
            if len(self.log.events(kind)) >= count:
                return
            time.sleep(0.005)

    def rest(self) -> list[Any]:
        """Starts if need be, and takes all that is left; wrong if the loader hangs."""
        try:
            if self.iterator is None:
                self.start()
            while True:
                self.next()
        except StopIteration:
            return self.received
        except Stuck as stuck:
            self.hangs(stuck)

    def error(self) -> Exception | None:
        """Like `rest`, and returns what the loader raised, or None."""
        try:
            self.rest()
        except Exception as error:
            if isinstance(error, judge.Mismatch):
                raise
            return error
        return None

    def hangs(self, stuck: Stuck, when: str = "The loader waits", why: str = "", where: str = "") -> None:
        """Ends the property: who waits for what. It may hang, or wait with a time limit of some seconds."""
        place = next((frame[1:] for frame in reversed(judge.frames_of(stuck))), self.started.stood)
        where = where or self.where
        line = "" if place is None else f"\nyour loader stood in line {place[0]}, in {place[1]}"
        self.trial.fail(
            f"{when}: for {self.started.waited:.1f} seconds nothing has happened{f', {why}' if why else ''}.",
            expected="a loop that can be left" if when.startswith("Leaving") else self.wanted,
            got=self.started.last_words + line,
            observed=("hangs", when, where) if where else ("hangs", when),
        )

    def leave(self, close: bool = False, where: str = "") -> list[str]:
        """Drops the iterator (or closes it, if it can); what is left of its processes then.

        where: what tells this way of leaving from others, in `observed`.
        """
        try:
            with self.started.watched(max(self.patience, LEAVING)):
                if close and hasattr(self.iterator, "close"):
                    self.iterator.close()
                self.iterator = None
                gc.collect()
        except Stuck as stuck:
            self.iterator = None
            self.hangs(
                stuck,
                "Leaving the loop takes too long",
                "and the workers have been killed by the check",
                where,
            )
        return self.started.left()

    def places(self, kind: str) -> list[Any]:
        """Second words of the events of a kind."""
        return [event[1] for event in self.log.events(kind)]


def text_of(error: BaseException) -> str:
    """An error with all that a traceback of it would show: its causes and notes, too."""
    return "".join(traceback.format_exception(error))


def worker_id() -> int | None:
    info = get_worker_info()
    return None if info is None else info.id
