"""Exercise 02.shard: an IterableDataset under workers, each item once."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.utils.data._utils.worker as torch_worker
from torch.utils.data import DataLoader, IterableDataset

from helpers.check import guard
from helpers.check.trial import Mismatch, Trial
from helpers.exercise import Exercise
from helpers.labs.dataloader.shared.taken import taken
from helpers.ranks.pretended import as_rank

shard = Exercise(
    "02.shard",
    "An IterableDataset under workers",
    objective="Give each worker its own part of a stream that has no length and no index.",
    minutes=15,
    difficulty="easy",
    core=False,
    processes=True,
    seconds=10,
    hints=[
        "Each worker has a copy of the dataset and runs all of its __iter__. Which function tells code of a dataset "
        "in which worker it runs, and what does it give outside of a worker?",
        "With n workers, worker 0 may take items 0, n, 2n, ..., worker 1 items 1, n + 1, ...: nobody needs a length.",
        "itertools.islice(iterable, start, None, step) takes every step-th item and keeps none. get_worker_info() is "
        "None in the main process; worker 0 is a worker, too, though its id is falsy.",
    ],
)


STEP = 12  # from item to item: what an item holds says nothing about its place


class Counted(IterableDataset):
    """A stream without a length; notes how often it was begun and how far it was read."""

    def __init__(self, length: int | None, start: int = 0) -> None:
        self.length, self.start, self.read, self.begun = length, start, 0, 0

    def __iter__(self) -> Iterator[int]:
        self.begun += 1  # here, and not at the first item: who asks for an iterator has opened the file
        return self._items()

    def _items(self) -> Iterator[int]:
        for value in itertools.count() if self.length is None else range(self.length):
            self.read += 1
            if self.read > 2000:
                raise MemoryError(
                    f"2000 items have been read of a stream {'without end' if self.length is None else f'of {self.length}'}; "
                    f"iter() was called on it {self.begun} times"
                )
            yield self.start + STEP * value


@contextmanager
def as_worker(id: int, num_workers: int, dataset: Any, seed: int = 1000) -> Iterator[None]:
    """As if in a worker of a DataLoader whose base seed is `seed`."""
    torch_worker._worker_info = torch_worker.WorkerInfo(
        id=id, num_workers=num_workers, seed=seed + id, dataset=dataset
    )
    try:
        yield
    finally:
        torch_worker._worker_info = None


def part(
    answer: Any, trial: Trial, dataset: Any, id: int, num_workers: int, take: int = 500, seed: int = 1000
) -> list:
    """What one worker gets."""
    with as_worker(id, num_workers, Counted(9, 5), seed):  # a loader's dataset is seldom the stream itself
        found = trial.call(answer, dataset)
        return list(taken(_iterator(found, trial), take, trial))


def _iterator(found: Any, trial: Trial) -> Iterator[Any]:
    if not isinstance(found, Iterable) or isinstance(found, (str, bytes)):
        trial.fail(
            f"shard returned {type(found).__name__}, which cannot be iterated.",
            expected="an iterator over this worker's items",
            got=type(found).__name__,
            observed=("kind", type(found).__name__),
        )
    return iter(found)


@shard.property(
    "outside of a worker all items come",
    asks="all of it outside of a worker (get_worker_info() is None).",
)
def _(answer: Any, trial: Trial) -> None:
    start = trial.random.randrange(100)
    trial.given("a stream of 7 items in the main process, where get_worker_info() is None")
    found = trial.call(answer, Counted(7, start))
    if found is None:
        with as_worker(0, 1, Counted(9, 5)):
            never = trial.call(answer, Counted(7, start)) is None
        trial.fail(
            "shard returned None" + (", also in a worker." if never else " outside of a worker."),
            expected="an iterator over all items",
            got="None",
            observed=("None", never),
        )
    got = list(taken(_iterator(found, trial), 500, trial))
    want = list(range(start, start + 7 * STEP, STEP))
    trial.true(
        got == want,
        "Without workers the stream does not come whole and in its order.",
        expected=str(want),
        got=got,
        observed=("main", "order" if sorted(got, key=str) == sorted(want, key=str) else places(got, start)),
    )


def places(got: list[Any], start: int) -> Any:
    """Which items of the stream these are; of other things their types."""
    if other := sorted({type(value).__name__ for value in got if type(value) is not int}):
        return other
    return [(value - start) / STEP for value in got]


def kind_of(parts: list[list[Any]], want: list[int], start: int) -> Any:
    """In words, how the items were dealt out; where there is no word for it, which of them came."""
    if all(each == want for each in parts):
        return "all of it in each worker"
    if len(parts) > 1 and all(each == parts[0] for each in parts):
        return "the same part in each worker"
    return [places(each, start) for each in parts]


def kind_of_parts(parts: list[list[Any]], want: list[int], of_many: Callable[[], list[int]]) -> str:
    """In words, how items were dealt that come once each, to parts of unequal size.

    of_many: how many items each worker gets of a long stream.
    """
    if want in parts and max(counts := of_many()) == sum(counts):
        return "worker 0 alone" if parts[0] == want else "a different worker alone"
    return "blocks" if sum(parts, []) == want else "mixed"


@shard.property(
    "over all workers each item comes once, in the stream's order in each",
    asks=(
        "This worker's part of a stream",
        "Over the workers of one loader each item comes once, in each worker in the stream's order.",
        "No worker gets more than one item more than another.",
    ),
    once_right=True,
)
def _(answer: Any, trial: Trial) -> None:
    start = 3 * trial.random.randrange(40) + 1  # who deals by the value gives nothing to worker 0
    for num_workers, length in ((3, 10), (3, 11), (2, 7), (1, 4), (4, 2), (3, 0)):
        trial.given(f"a stream of {length} items under {num_workers} worker{'s' * (num_workers > 1)}")
        seed = trial.random.getrandbits(40)
        parts = [
            part(answer, trial, Counted(length, start), id, num_workers, seed=seed)
            for id in range(num_workers)
        ]
        all_items = sorted((value for each in parts for value in each), key=str)
        want = list(range(start, start + length * STEP, STEP))
        twice = any(all_items.count(item) > 1 for item in want)
        lost = any(item not in all_items for item in want)
        other = any(item not in want for item in all_items)
        trial.true(
            all_items == sorted(want, key=str),
            "Over all workers some items "
            + " and some ".join(
                word
                for word, so in (
                    ("come more than once", twice),
                    ("never come", lost),
                    ("are not the stream's", other),
                )
                if so
            )
            + ".",
            expected="each item in one worker",
            got="\n".join(f"worker {id}: {each}" for id, each in enumerate(parts)),
            observed="kept between calls"
            if _kept(answer, trial, length, num_workers)
            else "by the worker's seed"
            if _by_seed(answer, trial, parts[0], start, length, num_workers)
            else (
                kind_of(parts, want, start),
                bool(want) and _by_rank(answer, trial, parts[0], start, length, num_workers, seed),
            ),
        )
        trial.true(
            all(each == sorted(each) for each in parts),
            "A worker's items do not come in the order of the stream.",
            expected="in each worker the order of the stream",
            got="\n".join(f"worker {id}: {each}" for id, each in enumerate(parts)),
            observed="order",
        )
        sizes = [len(each) for each in parts]
        if max(sizes) - min(sizes) > 1:
            trial.fail(
                "The parts are of unequal size: some workers are idle while others work.",
                expected="parts that differ by one item at most",
                got=sizes,
                observed=(
                    "sizes",
                    kind_of_parts(
                        parts,
                        want,
                        lambda workers=num_workers: [
                            len(part(answer, trial, Counted(300), id, workers)) for id in range(workers)
                        ],
                    ),
                ),
            )


@shard.property(
    "nothing is kept: a stream without end, whose length nobody asks",
    asks="The stream is gone through once; for an item at most `num_workers` items beyond it are read.",
    once_right=True,
)
def _(answer: Any, trial: Trial) -> None:
    for id, num_workers in ((None, 1), (0, 3), (2, 3)):
        where = "the main process" if id is None else f"worker {id} of {num_workers}"
        trial.given(f"a stream without end, 4 items taken in {where}")
        dataset = Counted(None)
        got, read = [], []
        try:
            with contextlib.nullcontext() if id is None else as_worker(id, num_workers, Counted(9, 5)):
                for item in taken(_iterator(trial.call(answer, dataset), trial), 4, trial):
                    got.append(item)
                    read.append(dataset.read)
        except MemoryError:
            trial.fail(
                "2000 items of a stream without end were read, and 4 items had not come.",
                expected="items as they come",
                got="the stream read on and on",
                observed="all read",
            )
        trial.true(
            dataset.begun == 1,
            f"The stream was begun {dataset.begun} times: iter() was called on it so often, and each call may open a file.",
            expected="once",
            got=f"{dataset.begun} times",
            observed="begun more than once",
        )
        for count, (item, so_far) in enumerate(zip(got, read, strict=True), 1):
            needed = item // STEP + 1
            trial.true(
                so_far <= needed + num_workers,
                f"When item {count} of this part came, which is item {needed} of the stream, {so_far} items had been read.",
                expected=f"{needed + num_workers} items read, or fewer: {num_workers} beyond it",
                got=so_far,
                observed="far ahead",
            )


@shard.property(
    "called on the same stream again, as in each epoch, the same items come",
    asks=(
        "all of it outside of a worker (get_worker_info() is None).",
        "Over the workers of one loader each item comes once, in each worker in the stream's order.",
    ),
    once_right=True,
)
def _(answer: Any, trial: Trial) -> None:
    for id, num_workers in ((None, 1), (0, 2), (1, 2)):
        where = "in the main process" if id is None else f"in worker {id} of {num_workers}"
        dataset = Counted(7)
        want = _items(answer, trial, id, num_workers, Counted(7))
        trial.given(
            f"a stream of 7 items {where}; shard is called on it, and 2 items are taken: then called on it again"
        )
        with contextlib.nullcontext() if id is None else as_worker(id, num_workers, Counted(9, 5)):
            list(itertools.islice(taken(_iterator(trial.call(answer, dataset), trial), 2, trial), 2))
        for which in ("second", "third"):
            got = _items(answer, trial, id, num_workers, dataset)
            trial.true(
                got == want,
                f"The {which} call on the same stream gives other items than a call on a new one, {where}.",
                expected=f"{want}: iter() begins the stream anew",
                got=got,
                observed=("again", "goes on" if got == want[2:] else "nothing" if not got else "other items"),
            )


def _by_rank(
    answer: Any, trial: Trial, first: list[int], start: int, length: int, num_workers: int, seed: int
) -> bool:
    """Whether worker 0 gets other items as part of a different rank."""
    with as_rank(1, 2):
        return part(answer, trial, Counted(length, start), 0, num_workers, seed=seed) != first


def _kept(answer: Any, trial: Trial, length: int, num_workers: int) -> bool:
    """Whether worker 0 gets other items in the next call, though every generator stands where it stood."""
    state, parts = guard.snapshot(), []
    for _ in range(3):
        parts.append(part(answer, trial, Counted(length), 0, num_workers))
        guard.restore(state)
    return parts != parts[:1] * 3


def _by_seed(answer: Any, trial: Trial, first: list[int], start: int, length: int, num_workers: int) -> bool:
    """Whether worker 0 gets other items where its seed is a different one, and the same with the same seed."""
    seeds = (7, 77, 777, 7)  # a few: of few items two draws may well be the same
    came = [part(answer, trial, Counted(length, start), 0, num_workers, seed=seed) for seed in seeds]
    return came[0] == came[-1] and any(each != first for each in came)


@shard.property("ranks are not looked at", asks="Ranks are not looked at.", once_right=True)
def _(answer: Any, trial: Trial) -> None:
    found = []
    for id, num_workers in ((None, 1), (0, 2), (1, 2)):
        where = "in the main process" if id is None else f"in worker {id} of {num_workers}"
        alone = _items(answer, trial, id, num_workers)
        trial.given(f"a stream of 9 items {where}, as rank 1 of 2: RANK=1, WORLD_SIZE=2, get_rank() is 1")
        with as_rank(1, 2):
            got = _items(answer, trial, id, num_workers)
        if got != alone:
            found.append((where, alone, got))
    if found:
        where, alone, got = found[0]
        trial.given(f"a stream of 9 items {where}, as rank 1 of 2: RANK=1, WORLD_SIZE=2, get_rank() is 1")
        trial.fail(
            f"As rank 1 of 2 different items come than in a run of one process, {where}.",
            expected=f"{alone}: each rank has a stream of its own; who shares one deals it out before",
            got=got,
            observed="other items",
        )


def _items(
    answer: Any, trial: Trial, id: int | None, num_workers: int, dataset: Counted | None = None
) -> list[Any]:
    dataset = dataset or Counted(9)
    if id is None:
        return list(taken(_iterator(trial.call(answer, dataset), trial), 500, trial))
    return part(answer, trial, dataset, id, num_workers)


class Given(IterableDataset):
    """A stream of these items; after them it raises `error`, if there is one."""

    def __init__(self, items: list[Any], error: Exception | None = None) -> None:
        self.items, self.error = items, error

    def __iter__(self) -> Iterator[Any]:
        yield from self.items
        if self.error:
            raise self.error


def turned(got: list[Any], items: list[Any]) -> list[str]:
    """What came in the place of items, by types: of pairs at one place those that differ."""
    names = {
        f"{type(item).__name__} as {type(one).__name__}"
        for one, item in zip(got, items, strict=True)
        if type(one) is not type(item)
    }
    return sorted(names)


def missing(got: list[Any], items: list[Any]) -> list[str]:
    """What came less often than it stands there."""
    seen, wanted = list(map(repr, got)), list(map(repr, items))
    return sorted(name for name in set(wanted) if seen.count(name) < wanted.count(name))


@shard.property(
    "an item may be anything: None, 0, a dict, the same as before",
    asks="An item may be anything, and is passed on as it is.",
    once_right=True,
)
def _(answer: Any, trial: Trial) -> None:
    items: list[Any] = [None, 0, "", [], "cat", False]
    trial.random.shuffle(items)
    items += ["cat", {"x": 1}, {"x": 2}, "cat", "cat"]  # who takes None or 0 for the end loses these
    for id, num_workers in ((None, 1), (0, 2), (1, 2)):
        where = "the main process" if id is None else f"worker {id} of {num_workers}"
        trial.given(f"a stream of {items} in {where}")
        want = items[id or 0 :: num_workers]
        dataset = Given(items)
        try:
            got = (
                list(taken(_iterator(trial.call(answer, dataset), trial), 500, trial))
                if id is None
                else part(answer, trial, dataset, id, num_workers)
            )
        except NotImplementedError:
            raise
        except (TypeError, ValueError, AttributeError) as error:
            trial.fail(
                f"The answer raised {type(error).__name__} for items that are not numbers: {error}.",
                expected=str(want),
                got=type(error).__name__,
                observed=("raised", "unhashable" in str(error)),
            )
        alike = len(got) == len(want) or id is not None
        own = all(any(one is item for item in items) for one in got)
        trial.true(
            own or repr(got) != repr(want),
            "Items equal the stream's, and are different objects: the item itself is to be passed on.",
            expected=f"{want}, the objects of the stream",
            got=f"{got}, of which some are copies",
            observed="copies",
        )
        trial.true(
            alike and own,
            "Some items do not come as they are in the stream.",
            expected=str(want),
            got=str(got),
            observed=("fewer", missing(got, items))
            if len(got) < len(want)
            else ("other", turned(got, want) if len(got) == len(want) else "more"),
        )
        if id == 0:
            first = got
        elif id == 1:
            trial.given(f"a stream of {items} in workers 0 and 1 of 2")
            lost = missing(first + got, items)
            trial.true(
                len(first) + len(got) == len(items) and abs(len(first) - len(got)) <= 1,
                f"In neither worker came: {', '.join(lost)}."
                if lost
                else "Some items come in both workers, or too often.",
                expected=f"worker 0: {items[::2]}\nworker 1: {items[1::2]}, or the other way round",
                got=f"worker 0: {first}\nworker 1: {got}",
                observed=("parts", lost),
            )
    _arrays(answer, trial)


def _arrays(answer: Any, trial: Trial) -> None:
    """Wrong unless items come that no `==` or `if` can deal with: what it gives for them is no truth value."""
    items = [np.array([0, 1]), torch.tensor([0.0, 1.0]), np.array([0, 1]), np.zeros(0), torch.zeros(0)]
    shown = "a stream of arrays and tensors of two elements, and of none"
    for id, num_workers in ((None, 1), (0, 2)):
        trial.given(f"{shown}, in {'the main process' if id is None else f'worker {id} of {num_workers}'}")
        want = items[id or 0 :: num_workers]
        try:
            got = (
                list(taken(_iterator(trial.call(answer, Given(items)), trial), 500, trial))
                if id is None
                else part(answer, trial, Given(items), id, num_workers)
            )
        except (TypeError, ValueError, RuntimeError) as error:
            trial.fail(
                f"The answer raised {type(error).__name__}: {error}",
                expected=f"{len(want)} items, passed on without a look at what they are",
                got=type(error).__name__,
                observed="looked at",
            )
        # In the main process all, in their order; which part is worker 0's is for the answer to say.
        whole = len(got) == len(want) and all(one is item for one, item in zip(got, want, strict=True))
        trial.true(
            whole
            if id is None
            else len(got) in (2, 3) and all(any(one is item for item in items) for one in got),
            f"Of {len(want)} items {len(got)} came." if len(got) != len(want) else "Other items came.",
            expected=str(want),
            got=str(got),
            observed=("arrays", len(got)),
        )


@shard.property(
    "an error of the stream comes through, and the items before it",
    asks="An error of the stream comes through, after this part's items before it or one item earlier.",
    once_right=True,
)
def _(answer: Any, trial: Trial) -> None:
    for error in (OSError, RuntimeError, ValueError, IndexError, TypeError):
        for id, num_workers in ((None, 1), (1, 2)):
            where = "the main process" if id is None else f"worker {id} of {num_workers}"
            trial.given(f"a stream that raises {error.__name__} after 6 items, in {where}")
            raised = error("the connection is gone")
            got: list[Any] = []
            dataset = Given(list(range(6)), raised)
            try:
                if id is None:
                    for item in taken(_iterator(trial.call(answer, dataset), trial), 500, trial):
                        got.append(item)
                else:
                    with as_worker(id, num_workers, dataset):
                        for item in taken(_iterator(trial.call(answer, dataset), trial), 500, trial):
                            got.append(item)
            except error as came:
                trial.true(
                    came is raised,
                    f"The stream raised {error.__name__}, and a different error came.",
                    expected=f"{error.__name__}: {raised}",
                    got=f"{type(came).__name__}: {came}",
                    observed="a different error",
                )
                most = 6 // num_workers
                trial.true(
                    most - 1 <= len(got) <= most,
                    f"The stream gave 6 items before its error, {most} of them for this part, and {len(got)} came.",
                    expected=f"{most} items, or one less, then the error",
                    got=str(got),
                    observed="too early",
                )
                continue
            except (NotImplementedError, Mismatch):
                raise
            except Exception as came:
                trial.fail(
                    f"The stream raised {error.__name__}, and a different error came.",
                    expected=f"{error.__name__}: {raised}",
                    got=f"{type(came).__name__}: {came}",
                    observed="a different error",
                )
            trial.fail(
                f"The stream raised {error.__name__}, and the answer hid it: the stream looks finished.",
                expected=error.__name__,
                got=f"{got}, and no error",
                observed="hidden",
            )


class _Sharded(IterableDataset):
    def __init__(self, answer: Callable[[Any], Any], length: int) -> None:
        self.answer, self.length = answer, length

    def __iter__(self) -> Iterator[int]:
        return iter(self.answer(Counted(self.length)))


@shard.property(
    "a real DataLoader with two workers",
    asks="Over the workers of one loader each item comes once, in each worker in the stream's order.",
    changes=("torch RNG", "signal handlers"),
    once_right=True,
)
def _(answer: Any, trial: Trial) -> None:
    trial.given("DataLoader(..., batch_size=None, num_workers=2), a stream of 9 items")
    methods = torch.multiprocessing.get_all_start_methods()
    loader = DataLoader(
        _Sharded(answer, 9),
        batch_size=None,
        num_workers=2,
        multiprocessing_context="fork" if "fork" in methods else None,
    )
    got = sorted(loader)
    trial.true(
        got == list(range(0, 9 * STEP, STEP)),
        "With real workers items are lost or come twice.",
        expected=str(list(range(0, 9 * STEP, STEP))),
        got=got,
        observed=("real", got),
    )
