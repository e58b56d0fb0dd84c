"""Exercise 02.serial_loader: a DataLoader without workers, argument for argument."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter, _SingleProcessDataLoaderIter

from helpers.check.calls import calls_to
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.dataloader.serial_loader import inputs
from helpers.labs.dataloader.serial_loader.inputs import (
    Arrays,
    Iterated,
    Keyed,
    Pages,
    Promised,
    Stream,
    Table,
)
from helpers.labs.dataloader.serial_loader.runs import as_they_are, compare, result_of, see_shuffled

serial_loader = Exercise(
    "02.serial_loader",
    "A loader without workers",
    objective="Turn DataLoader's arguments into sampler, fetching and collating, batch for batch as torch does.",
    minutes=30,
    difficulty="medium",
    core=False,
    hints=[
        "Three questions, in this order: which combinations are forbidden? who gives the indices? what makes a batch of "
        "them? Answer the second with one iterator, whatever the arguments are.",
        "Map-style: RandomSampler(dataset, generator=generator) or SequentialSampler, then BatchSampler. Iterable: "
        "nobody knows an index, so batch_size samples are taken from one iterator over the dataset, and len() is "
        "never asked. batch_size=None: single samples, through default_convert.",
        "DataLoader draws a base seed, torch.empty((), dtype=torch.int64).random_(generator=generator), though it has no "
        "workers, before the sampler draws. A batch of an IterableDataset that is shorter than batch_size is the last, "
        "and drop_last drops it.",
    ],
)

RNG = ("torch RNG",)
GENERATORS = ("torch RNG", "numpy RNG", "random RNG")
CLASSES = (DataLoader, _BaseDataLoaderIter, _SingleProcessDataLoaderIter)


@serial_loader.property(
    "batches of a map-style dataset: batch_size, drop_last",
    changes=RNG,
    asks=(
        "One epoch of `DataLoader(dataset, ...)` with the same arguments and no workers, batch for batch.",
        "or else from RandomSampler(dataset, generator=generator) (shuffle=True) or SequentialSampler(dataset).",
        "Without collate_fn: default_collate for batches",
    ),
)
def _(answer: Any, trial: Trial) -> None:
    length, start = 3 * trial.random.randrange(2, 4) + 1, trial.random.randrange(100)
    make = functools.partial(Table, length, start)
    trial.given(f"Table of length {length}; batch_size=3")
    found = answer(make(), batch_size=3)
    trial.true(
        hasattr(found, "__iter__") and not isinstance(found, (str, bytes)),
        f"The loader returned {type(found).__name__}, which is no iterator: yield the batches.",
        expected="an iterator over the batches",
        got=found,
        observed=("kind", type(found).__name__),
    )
    compare(answer, trial, make, batch_size=3)
    compare(answer, trial, make, batch_size=3, drop_last=True)
    compare(answer, trial, functools.partial(Table, length - 1, start), batch_size=3, drop_last=True)
    compare(answer, trial, make)
    compare(answer, trial, make, batch_size=2, shuffle=False, drop_last=False)
    compare(answer, trial, make, num_workers=0, timeout=0, prefetch_factor=None, persistent_workers=False)
    compare(answer, trial, functools.partial(Arrays, 3), batch_size=2)
    compare(answer, trial, functools.partial(Table, 0), batch_size=2)
    compare(answer, trial, functools.partial(Iterated, 3), batch_size=2)


@serial_loader.property(
    "DataLoader is not called: this is what is re-created",
    changes=GENERATORS,
    once_right=True,
    asks="You may use torch's samplers, collate functions and your own answers above, but not DataLoader.",
)
def _(answer: Any, trial: Trial) -> None:
    cases: list[tuple[Any, dict[str, Any]]] = [
        (Table(4), {"batch_size": 2}),
        (Table(4), {"batch_size": None}),
        (Table(4), {"batch_size": 2, "shuffle": True}),
        (Table(4), {"sampler": [1]}),
        (Table(4), {"batch_sampler": [[1]]}),
        (Stream(4), {"batch_size": 2}),
        (Stream(4), {"batch_size": None}),
    ]
    for dataset, options in cases:
        trial.given(
            f"{type(dataset).__name__} of length 4; {', '.join(f'{k}={v}' for k, v in options.items())}"
        )
        with calls_to(*CLASSES) as seen:
            try:
                list(itertools.islice(answer(dataset, **options), 9))
            except NotImplementedError:
                raise
            except Exception:  # what it is about is seen below
                pass
        trial.true(
            not seen,
            "The answer lets DataLoader do the work.",
            expected="samplers, fetching and collating in your own code",
            got=f"calls of {', '.join(sorted(set(map(str, seen))))}",
            observed="DataLoader",
        )


@serial_loader.property(
    "batch_size=None: single samples, converted, not collated",
    changes=RNG,
    once_right=True,
    asks=("With batch_size=None single samples come, no batches.", "default_convert for single samples."),
)
def _(answer: Any, trial: Trial) -> None:
    make = functools.partial(Table, 3)
    # With the 0 in the middle: who takes it for the end gives one sample, and nothing at all is a different mistake.
    compare(answer, trial, make, batch_size=None, sampler=[2, 0, 1])
    compare(answer, trial, make, batch_size=None)
    compare(answer, trial, functools.partial(Stream, 3), batch_size=None)
    compare(answer, trial, functools.partial(Arrays, 2), batch_size=None)
    compare(answer, trial, functools.partial(Stream, 2, Arrays(2)), batch_size=None)
    compare(answer, trial, functools.partial(Keyed, 4), sampler=["", "dog", 0, "dog"], batch_size=None)
    compare(answer, trial, functools.partial(Keyed, 4), sampler=[[0, 1], [2]], batch_size=None)


@serial_loader.property(
    "an IterableDataset: taken in batches, never asked for its length",
    changes=RNG,
    once_right=True,
    asks=(
        "An IterableDataset gives batches of batch_size samples of one iterator.",
        "The last batch may be shorter, and drop_last drops it.",
        "The len() of an IterableDataset is never asked.",
    ),
)
def _(answer: Any, trial: Trial) -> None:
    make = functools.partial(Stream, 7)
    compare(answer, trial, make, batch_size=3)
    compare(answer, trial, make, batch_size=3, drop_last=True)
    compare(answer, trial, functools.partial(Stream, 6), batch_size=3, collate_fn=as_they_are)
    compare(answer, trial, functools.partial(Stream, 6), batch_size=3, drop_last=True)
    compare(answer, trial, functools.partial(Stream, 6), batch_size=3)
    compare(answer, trial, functools.partial(Stream, 0), batch_size=3)
    compare(answer, trial, functools.partial(Stream, 2))
    compare(answer, trial, make, batch_size=4, shuffle=False)
    compare(answer, trial, functools.partial(Promised, 7), batch_size=3)
    compare(answer, trial, functools.partial(Promised, 7), batch_size=None)


def tagged(value: Any) -> Any:
    """A collate_fn that shows what it was called on."""
    return "collate_fn was called on", value


def nothing(value: Any) -> None:
    """A collate_fn whose batches are all None."""


@serial_loader.property(
    "collate_fn: on the list of samples, or on the single sample",
    changes=RNG,
    once_right=True,
    asks=(
        "collate_fn is called on the list of samples of each batch, or on the single sample.",
        "What collate_fn gives is the batch, None and 0 too.",
    ),
)
def _(answer: Any, trial: Trial) -> None:
    table, stream = functools.partial(Table, 4), functools.partial(Stream, 4)
    for make in (table, stream):
        for collate_fn in (tagged, as_they_are, nothing, bool):
            compare(answer, trial, make, batch_size=2, collate_fn=collate_fn)
    for make in (table, stream):
        for collate_fn in (tagged, nothing, bool):
            compare(answer, trial, make, batch_size=None, collate_fn=collate_fn)


@serial_loader.property(
    "sampler and batch_sampler say which samples come",
    changes=RNG,
    once_right=True,
    asks=(
        "Indices come from batch_sampler, or from sampler in batches of batch_size,",
        "An empty sampler is a sampler, too: nothing is read.",
        'An index is whatever the dataset takes: 0, "" or a key.',
    ),
)
def _(answer: Any, trial: Trial) -> None:
    make = functools.partial(Table, 9)
    order = trial.random.sample(range(9), 5)
    compare(answer, trial, make, sampler=order, batch_size=2)
    compare(answer, trial, make, sampler=order, batch_size=2, drop_last=True)
    compare(answer, trial, make, sampler=[3, 1], shuffle=False)
    compare(answer, trial, make, batch_sampler=[order[:1], order[1:4], [], order[4:]], collate_fn=as_they_are)
    compare(answer, trial, make, batch_sampler=[[8, 8], [0, 1, 2]], shuffle=False, drop_last=False)
    for options in (
        {"sampler": []},
        {"sampler": [], "batch_size": None},
        {"sampler": [], "shuffle": False},
        {"batch_sampler": []},
    ):
        compare(answer, trial, make, **options)
    keyed = functools.partial(Keyed, 5)
    keys = ["", "dog", 0, (), "dog"]
    compare(answer, trial, keyed, sampler=keys, batch_size=2, collate_fn=as_they_are)
    compare(answer, trial, keyed, batch_sampler=[keys, [0]], collate_fn=as_they_are)


@serial_loader.property(
    "a dataset with __getitems__ is asked for whole batches",
    changes=RNG,
    once_right=True,
    asks="A dataset whose `__getitems__` is there and not None is asked for whole batches, by it alone.",
)
def _(answer: Any, trial: Trial) -> None:
    compare(answer, trial, functools.partial(Pages, 5), batch_size=2)
    compare(answer, trial, functools.partial(Pages, 5), batch_sampler=[[4, 0], [1]])
    compare(answer, trial, functools.partial(Pages, 2))
    compare(answer, trial, functools.partial(Pages, 3), batch_size=2, collate_fn=tagged)
    compare(answer, trial, functools.partial(Pages, 2), batch_size=None)
    compare(answer, trial, functools.partial(inputs.NoPages, 3), batch_size=2)
    compare(answer, trial, functools.partial(inputs.OwnPages, 3), batch_size=2)


@serial_loader.property(
    "a sample of a stream may be None",
    changes=RNG,
    once_right=True,
    asks="A sample may be anything, None too.",
)
def _(answer: Any, trial: Trial) -> None:
    samples = ["a", None, 0, "", [], None, None, "b"]
    for size in (2, None):
        compare(answer, trial, functools.partial(Stream, 8, samples), batch_size=size, collate_fn=as_they_are)


@serial_loader.property(
    "nothing is read before it is needed",
    changes=RNG,
    once_right=True,
    asks="At most one batch is read ahead of what was handed over: samplers and streams may have no end.",
)
def _(answer: Any, trial: Trial) -> None:
    for size in (2, None):
        for kind in ("sampler", "batch_sampler", "stream") if size else ("sampler", "stream"):
            _see_reading(answer, trial, kind, size)


def _see_reading(answer: Any, trial: Trial, kind: str, size: int | None) -> None:
    """Takes two batches, or single samples, of 200."""
    asked: list[int] = []

    def endless() -> Iterator[Any]:
        for index in range(200):
            asked.append(index)
            yield [2 * index, 2 * index + 1] if kind == "batch_sampler" else index

    table, stream = Table(10**9), Stream(200)
    options = {kind: endless()} if kind != "stream" else {}
    if kind != "batch_sampler":
        options["batch_size"] = size
    each = "two batches of 2" if size else "two single samples"
    trial.given(
        (f"a {kind} without end" if options.keys() & {kind} else "an IterableDataset without end")
        + f"; {each} are taken"
    )
    batches = iter(answer(stream if kind == "stream" else table, **options))
    next(batches), next(batches)
    what = {"sampler": "indices", "batch_sampler": "lists of indices", "stream": "samples of the stream"}[
        kind
    ]
    read = {what: stream.read if kind == "stream" else len(asked), "samples": len(table.asked)}
    most = {what: 3 if kind == "batch_sampler" or not size else 3 * size, "samples": 3 * (size or 1)}
    too_many = {words: count for words, count in read.items() if count > most[words]}
    trial.true(
        not too_many,
        f"{' and '.join(f'{count} {words}' for words, count in too_many.items())} had been read when {each} had come.",
        expected=" and ".join(f"at most {most[words]} {words}" for words in too_many)
        + ": the next one may take long, or never come",
        got=" and ".join(f"{count} {words}" for words, count in too_many.items()),
        observed=(kind, [(words, "all" if count >= 200 else "ahead") for words, count in too_many.items()]),
    )


@serial_loader.property(
    "one base seed is drawn, whatever the arguments are",
    changes=RNG,
    once_right=True,
    asks=(
        "At the start of the epoch, before the sampler draws, one number is drawn as DataLoader does:",
        "`torch.empty((), dtype=torch.int64).random_(generator=generator)`.",
    ),
)
def _(answer: Any, trial: Trial) -> None:
    table, stream = functools.partial(Table, 5), functools.partial(Stream, 5)
    cases: list[tuple[Any, dict[str, Any]]] = [
        (table, {"batch_size": 2}),
        (table, {"sampler": [1, 0, 2]}),
        (table, {"batch_sampler": [[1, 0], [2]]}),
        (table, {"batch_size": None}),
        (stream, {"batch_size": 2}),
        (stream, {"batch_size": None}),
        (table, {"sampler": []}),
    ]
    for seed in (trial.random.getrandbits(40), None):
        for make, options in cases:
            ours, theirs = (result_of(loader, make(), options, seed) for loader in (answer, DataLoader))
            if isinstance(ours.batches, Exception):
                raise ours.batches
            _see_draws(trial, make(), options, seed, ours.moved, theirs.moved)


def _see_draws(
    trial: Trial, dataset: Any, options: dict[str, Any], seed: int | None, got: dict, want: dict
) -> None:
    """got, want: which generators were drawn from, and whether it was the one number of DataLoader."""
    where = "no generator" if seed is None else f"a generator seeded with {seed}"
    text = ", ".join(f"{name}={value}" for name, value in options.items())
    trial.given(f"{type(dataset).__name__} of length 5; {text}; {where}")
    trial.true(
        got == want,
        "DataLoader draws a base seed at the start of each epoch, even where nobody needs it: "
        "code after the loop sees other random numbers.",
        expected="; ".join(f"{name}: {state}" for name, state in want.items()),
        got="; ".join(f"{name}: {state}" for name, state in got.items()),
        observed=("base seed", seed is None, got),
    )


@serial_loader.property(
    "shuffle: DataLoader's order for the same generator",
    changes=GENERATORS,
    once_right=True,
    asks="or else from RandomSampler(dataset, generator=generator) (shuffle=True)",
)
def _(answer: Any, trial: Trial) -> None:
    see_shuffled(answer, trial, trial.random.getrandbits(40))


@serial_loader.property(
    "an error comes through, after the batches before it",
    changes=RNG,
    once_right=True,
    asks=(
        "An error in the dataset, a sampler or collate_fn comes through as it is, after the batches before it.",
        "The samples of a batch that was begun are lost.",
    ),
)
def _(answer: Any, trial: Trial) -> None:
    for where, error, make in FAILURES:
        dataset, options = make(inputs.Failing(error))
        trial.given(f"{where} raises {type(error).__name__}")
        came = []
        try:
            for batch in itertools.islice(answer(dataset, **options), 20):
                came.append(as_list(batch))
            got = "no error"
        except NotImplementedError:
            raise
        except Exception as raised:
            got = (
                "the same error"
                if raised is error
                else f"a different error, {type(raised).__name__}: {raised}"
            )
        want = (
            [0, 1, 2]
            if options.get("batch_size", 1) is None
            else [[0, 1]]
            if "batch_size" in options
            else [[0], [1], [2]]
        )
        trial.true(
            got == "the same error" and came == want,
            "An error in the dataset, in a sampler or in collate_fn did not come through to the training loop as it is."
            if got != "the same error"
            else f"The error came, and not after the batches before it: {'fewer' if len(came) < len(want) else 'more'} came.",
            expected=f"{want}, then {type(error).__name__}: {error}",
            got=f"{came}, then {got}",
            observed=(
                where,
                got.partition(":")[0],
                "the batches before"
                if came == want
                else "fewer"
                if len(came) < len(want)
                else "more or other ones",
            ),
        )


def as_list(batch: Any) -> Any:
    return batch.tolist() if hasattr(batch, "tolist") else batch


FAILURES: list[tuple[str, Exception, Callable[[Any], Any]]] = [
    ("sample 3", IndexError("no such record"), lambda fails: (inputs.FailingTable(6, fails), {"batch_size": 2})),
    ("sample 3", KeyError("no such key"), lambda fails: (inputs.FailingTable(6, fails), {"batch_size": None})),
    ("__getitems__", AttributeError("no file"), lambda fails: (inputs.FailingPages(6, fails), {"batch_size": 2})),
    ("__getitems__", TypeError("bad index"), lambda fails: (inputs.FailingPages(6, fails), {"batch_size": 2})),
    ("the sampler", IndexError("empty"), lambda fails: (Table(6), {"sampler": fails.through(range(6)), "batch_size": 2})),
    ("the sampler", ValueError("weights"), lambda fails: (Table(6), {"sampler": fails.through(range(6)), "batch_size": None})),
    (
        "the batch sampler",
        LookupError("no group"),
        lambda fails: (Table(6), {"batch_sampler": ([k] for k in fails.through(range(6)))}),
    ),
    ("the stream", RuntimeError("broken archive"), lambda fails: (inputs.FailingStream(6, fails), {"batch_size": 2})),
    ("the stream", EOFError("cut off"), lambda fails: (inputs.FailingStream(6, fails), {"batch_size": None})),
    ("collate_fn", TypeError("cannot stack"), lambda fails: (Table(6), {"batch_size": 2, "collate_fn": fails})),
    ("collate_fn", ValueError("bad sample"), lambda fails: (Stream(6), {"batch_size": None, "collate_fn": fails})),
]  # fmt: skip


def forbids(description: str, words: str, cases: list[inputs.Case], why: str, **others: str) -> None:
    """Adds a property: each of these calls raises ValueError.

    why: what is said of one that was taken. others: of calls that begin with this name.
    """

    @serial_loader.property(description, changes=RNG, once_right=True, asks=words)
    def _(answer: Any, trial: Trial) -> None:
        outcomes = {said: _outcome(answer, kind, options) for said, kind, options in cases}
        for said, outcome in outcomes.items():
            trial.given(said)
            taken = next((words for name, words in others.items() if said.startswith(name)), why)
            trial.true(
                outcome == "ValueError",
                taken
                if outcome == "no error"
                else f"{outcome} was raised, not ValueError, as DataLoader raises.",
                expected="ValueError, at the call or when the first batch is asked for",
                got=outcome,
                observed=(taken, "no error" if outcome == "no error" else "a different error"),
            )


def _outcome(answer: Any, kind: Callable[[int], Any], options: dict[str, Any]) -> str:
    """The kind of error that a call raises until the first batch has come."""
    try:
        next(iter(answer(kind(4), **options)), None)
    except ValueError:
        return "ValueError"
    except NotImplementedError:
        raise
    except Exception as error:
        return type(error).__name__
    return "no error"


forbids(
    "batch_sampler excludes batch_size, shuffle, sampler and drop_last",
    "ValueError: where DataLoader raises it, at the call or when the first batch is asked for: "
    "batch_sampler with batch_size, shuffle, sampler or drop_last;",
    inputs.TWO_BATCHES,
    "Two arguments may not both say what a batch is: this call was taken.",
)
forbids(
    "sampler excludes shuffle=True",
    "sampler with shuffle=True;",
    inputs.TWO_ORDERS,
    "Two arguments may not both decide the order: this call was taken.",
)
forbids(
    "batch_size=None excludes drop_last",
    "batch_size=None with drop_last;",
    inputs.NOTHING_TO_DROP,
    "Without batches there is no last batch to drop: this call was taken.",
)
forbids(
    "an IterableDataset excludes shuffle=True, sampler and batch_sampler",
    "an IterableDataset with shuffle=True, sampler or batch_sampler;",
    inputs.STREAM_IN_ORDER,
    "An IterableDataset has an order of its own: this call was taken.",
)
forbids(
    "a batch has at least one sample",
    "batch_size below 1;",
    inputs.NO_SIZE,
    "There is no batch of so many samples: this call was taken.",
)
forbids(
    "options that need workers are refused, and a negative timeout",
    "prefetch_factor or persistent_workers, which need workers; a negative timeout.",
    inputs.NO_WORKERS,
    "There are no workers that could prefetch or persist: this call was taken.",
    timeout="A timeout is 0 or more: this call, with a negative one, was taken.",
)
