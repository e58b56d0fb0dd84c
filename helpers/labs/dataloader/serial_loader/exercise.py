"""Exercise 02.serial_loader: a DataLoader without workers, argument for argument."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter, _SingleProcessDataLoaderIter

from helpers.check.calls import calls_to
from helpers.check.compare import shown
from helpers.check.trial import Mismatch, Trial
from helpers.exercise import Exercise
from helpers.labs.dataloader.serial_loader.inputs import FORBIDDEN, Arrays, Pages, Stream, Table

serial_loader = Exercise(
    "02.serial_loader",
    "A loader without workers",
    objective="Turn DataLoader's arguments into sampler, fetching and collating, batch for batch as torch does.",
    minutes=30,
    difficulty="medium",
    hints=[
        "Three questions, in this order: which combinations are forbidden? who gives the indices? what makes a batch of "
        "them? Answer the second with one iterator, whatever the arguments are.",
        "Map-style: RandomSampler(dataset, generator=generator) or SequentialSampler, then BatchSampler. Iterable: "
        "nobody knows an index, so batch_size samples are taken from one iterator over the data set, and len() is "
        "never asked. batch_size=None: single samples, through default_convert.",
        "DataLoader draws a base seed, torch.empty((), dtype=torch.int64).random_(generator=generator), though it has no "
        "workers, before the sampler draws. A batch of an IterableDataset that is shorter than batch_size is the last, "
        "and drop_last drops it.",
    ],
)

RNG = ("torch RNG",)
CLASSES = (DataLoader, _BaseDataLoaderIter, _SingleProcessDataLoaderIter)


def both(
    answer: Any, trial: Trial, make: Callable[[], Any], **options: Any
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """What the answer and DataLoader do with the same arguments: batches or the error, the draws, the data set."""
    text = ", ".join(f"{name}={shown(value)}" for name, value in options.items() if name != "generator")
    trial.given(f"{make().__class__.__name__} of length {make().length}; {text or 'no other arguments'}")
    return _done(functools.partial(trial.call, answer), make(), options), _done(DataLoader, make(), options)


def _done(loader: Callable[..., Any], dataset: Any, options: dict[str, Any]) -> tuple[Any, ...]:
    options = {name: value() if name == "generator" else value for name, value in options.items()}
    before = torch.get_rng_state()
    torch.manual_seed(7)
    try:
        batches = list(itertools.islice(loader(dataset, **options), 50))
    except NotImplementedError:
        raise
    except (Mismatch, RecursionError, MemoryError):
        raise
    except Exception as error:
        batches = error
    moved = torch.get_rng_state()
    torch.set_rng_state(before)
    own = options["generator"].get_state() if "generator" in options else None
    return batches, moved, own, dataset


def compare(answer: Any, trial: Trial, make: Callable[[], Any], **options: Any) -> None:
    """Wrong unless the answer gives what DataLoader gives."""
    (got, *_, ours), (want, *_, theirs) = both(answer, trial, make, **options)
    if isinstance(got, Exception) and not isinstance(want, Exception):
        if isinstance(got, ValueError):
            message = (
                f"The answer raised ValueError ({shown(str(got), 120)}) for arguments that DataLoader takes."
            )
            trial.fail(message, expected=shown(want), got="ValueError", observed="refused")
        raise got
    trial.equal(got, want, "The batches")
    if hasattr(theirs, "asked"):
        same = ours.asked == theirs.asked
        batched = any(isinstance(each, tuple) for each in theirs.asked)
        trial.true(
            same,
            "The data set is read otherwise than DataLoader reads it"
            + (": it has __getitems__, which loads a whole batch at once." if batched else "."),
            expected=shown(theirs.asked),
            got=shown(ours.asked),
            observed=("asked", batched, len(ours.asked) > len(theirs.asked)),
        )


def seeded(seed: int) -> Callable[[], torch.Generator]:
    return lambda: torch.Generator().manual_seed(seed)


@serial_loader.property("batches of a map-style data set: batch_size, drop_last, collate_fn", changes=RNG)
def _(answer: Any, trial: Trial) -> None:
    length = 3 * trial.random.randrange(2, 4) + 1
    start = trial.random.randrange(100)
    make = functools.partial(Table, length, start)
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
    compare(answer, trial, make)
    compare(answer, trial, make, batch_size=3, collate_fn=list)
    compare(answer, trial, functools.partial(Table, 0), batch_size=2)


@serial_loader.property("batch_size=None: single samples, converted, not collated", changes=RNG)
def _(answer: Any, trial: Trial) -> None:
    make = functools.partial(Table, 3)
    compare(answer, trial, make, batch_size=None)
    compare(answer, trial, make, batch_size=None, sampler=[2, 0])
    compare(answer, trial, make, batch_size=None, collate_fn=lambda sample: ("seen", sample["y"]))
    compare(answer, trial, functools.partial(Stream, 3), batch_size=None)
    compare(answer, trial, functools.partial(Arrays, 2), batch_size=None)


@serial_loader.property("sampler and batch_sampler say which samples come", changes=RNG)
def _(answer: Any, trial: Trial) -> None:
    make = functools.partial(Table, 9)
    order = trial.random.sample(range(9), 5)
    compare(answer, trial, make, sampler=order, batch_size=2)
    compare(answer, trial, make, batch_sampler=[order[:1], order[1:4], [], order[4:]], collate_fn=list)
    compare(answer, trial, make, batch_sampler=[[8, 8], [0, 1, 2]])


@serial_loader.property("a data set with __getitems__ is asked for whole batches", changes=RNG)
def _(answer: Any, trial: Trial) -> None:
    compare(answer, trial, functools.partial(Pages, 5), batch_size=2)
    compare(answer, trial, functools.partial(Pages, 2), batch_size=None)


@serial_loader.property("shuffle: DataLoader's order for the same generator", changes=RNG)
def _(answer: Any, trial: Trial) -> None:
    seed = trial.random.getrandbits(40)
    make = functools.partial(Table, 12)
    for options in ({"generator": seeded(seed)}, {}):
        (got, *_), (want, *_) = both(answer, trial, make, shuffle=True, batch_size=5, **options)
        if isinstance(got, Exception):
            raise got
        where = f"its generator seeded with {seed}" if options else "torch.manual_seed(7) before it"
        trial.given(f"Table of length 12, shuffle=True, batch_size=5, {where}")
        kept, other = _first(got), _first(want)
        if kept != other:
            trial.fail(
                "The samples come in another order than DataLoader's.",
                expected=f"{other}, the order of a RandomSampler after one draw of a base seed",
                got=str(kept),
                observed=("order", bool(options), _source(answer, make, bool(options)) or kept),
            )


def _source(answer: Any, make: Callable[[], Any], given: bool) -> str:
    """What a wrong order hangs on; "" where it is the right generator."""

    def order(own: int, everywhere: int, others: int) -> Any:
        random.seed(others)
        np.random.seed(others)
        torch.manual_seed(everywhere)
        options = {"generator": seeded(own)()} if given else {}
        return _first(list(itertools.islice(answer(make(), shuffle=True, batch_size=5, **options), 50)))

    first = order(1, 1, 1)
    if order(1, 1, 2) != first:
        return "another library's generator"
    own, everywhere = order(2, 1, 1) != first, order(1, 2, 1) != first
    if not own and not everywhere:
        return "nothing"
    return "the global generator" if given and not own else ""


def _first(batches: Any) -> Any:
    try:
        return [value for batch in batches for value in batch["y"].tolist()]
    except (TypeError, KeyError, AttributeError):
        return shown(batches)


@serial_loader.property("without shuffle, too, one base seed is drawn", changes=RNG)
def _(answer: Any, trial: Trial) -> None:
    for make in (functools.partial(Table, 2), functools.partial(Stream, 2)):
        for options in ({"generator": seeded(trial.random.getrandbits(40))}, {}):
            (got, moved, own, _), (_, should, theirs, _) = both(answer, trial, make, **options)
            if isinstance(got, Exception):
                raise got
            trial.true(
                torch.equal(moved, should) and (own is None or torch.equal(own, theirs)),
                "DataLoader draws a base seed at the start of each epoch, even where nobody needs it: "
                "code after the loop sees other random numbers.",
                expected="one draw, from the generator that was given or from the global one",
                observed=("base seed", own is None or torch.equal(own, theirs), torch.equal(moved, should)),
            )


@serial_loader.property("an IterableDataset: taken in batches, never asked for its length", changes=RNG)
def _(answer: Any, trial: Trial) -> None:
    make = functools.partial(Stream, 7)
    compare(answer, trial, make, batch_size=3)
    compare(answer, trial, make, batch_size=3, drop_last=True)
    compare(answer, trial, functools.partial(Stream, 6), batch_size=3, drop_last=True)
    compare(answer, trial, functools.partial(Stream, 0), batch_size=3)
    compare(answer, trial, make, batch_size=4, shuffle=False)


@serial_loader.property("nothing is read before it is needed", changes=RNG)
def _(answer: Any, trial: Trial) -> None:
    trial.given("a sampler without end, batch_size=2; two batches are taken")
    dataset, asked = Table(10**9), []

    def endless() -> Iterator[int]:
        for index in range(200):
            asked.append(index)
            yield index

    batches = iter(answer(dataset, sampler=endless(), batch_size=2))
    next(batches), next(batches)
    trial.true(
        len(asked) <= 6,
        f"{'All' if len(asked) == 200 else len(asked)} indices had been asked of the sampler when 4 samples had come.",
        expected="4, and at most a batch more: a sampler may have no end",
        got=len(asked),
        observed=("indices", len(asked) == 200),
    )
    trial.true(
        len(dataset.asked) <= 6,
        f"{len(dataset.asked)} samples had been loaded when 4 had come.",
        expected="4, and at most a batch more",
        observed=("samples", len(dataset.asked) == 200),
    )
    trial.given("an IterableDataset of 200, batch_size=2; one batch is taken")
    stream = Stream(200)
    next(iter(answer(stream, batch_size=2)))
    trial.true(
        stream.read <= 4,
        f"{'All' if stream.read == 200 else stream.read} samples of the stream had been read when 2 had come.",
        expected="2, and at most a batch more: the next one may take long, or never come",
        got=stream.read,
        observed=("stream", stream.read == 200),
    )


@serial_loader.property("what DataLoader forbids is a ValueError", changes=RNG)
def _(answer: Any, trial: Trial) -> None:
    accepted, other = [], []
    for description, kind, options in FORBIDDEN:
        trial.given(description)
        try:
            batches = itertools.islice(iter(answer(kind(4), **options)), 5)
            list(batches)
        except ValueError:
            continue
        except NotImplementedError:
            raise
        except Exception as error:
            other.append((description, type(error).__name__))
        else:
            accepted.append(description)
    trial.given(f"{len(FORBIDDEN)} combinations, one after the other")
    trial.true(
        not accepted,
        f"Accepted without an error: {'; '.join(accepted)}.",
        expected="ValueError, at the call or when the first batch is asked for",
        observed=("accepted", accepted),
    )
    trial.true(
        not other,
        f"Another error than ValueError: {'; '.join(f'{description}: {name}' for description, name in other)}.",
        expected="ValueError, as DataLoader raises",
        observed=("other errors", other),
    )


@serial_loader.property("DataLoader is not called: this is what is re-created", changes=RNG)
def _(answer: Any, trial: Trial) -> None:
    trial.given("Table of length 4, batch_size=2")
    with calls_to(*CLASSES) as seen:
        for dataset in (Table(4), Stream(4)):
            list(itertools.islice(answer(dataset, batch_size=2), 9))
    trial.true(
        not seen,
        "The answer lets DataLoader do the work.",
        expected="samplers, fetching and collating in your own code",
        observed="DataLoader",
    )
