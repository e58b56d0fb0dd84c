"""Runs of an answer to 02.serial_loader beside torch's DataLoader."""

from __future__ import annotations

import dis
import functools
import itertools
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.utils.data import DataLoader, RandomSampler

from helpers.check.compare import shown
from helpers.check.judge import seed_torch
from helpers.check.trial import Mismatch, Trial
from helpers.labs.dataloader.serial_loader.inputs import Table

GLOBAL_NAME = "torch's global generator"
GLOBAL = 7  # what torch's global generator is seeded with before a run
MOST = 50  # batches that are taken of a loader which does not end


class Run(NamedTuple):
    """What came of a loader: the batches or the error, what the dataset was asked, the draws of each generator."""

    batches: Any
    asked: list[Any]
    moved: dict[str, str]


def as_they_are(samples: Any) -> Any:
    """A collate_fn that gives back what it is called on."""
    return samples


def result_of(
    loader: Callable[..., Any], dataset: Any, options: dict[str, Any], seed: int | None = None
) -> Run:
    """One epoch; `seed`: of the generator that is given, None for no generator."""
    generators = {GLOBAL_NAME: torch.default_generator}
    with global_seed(GLOBAL):
        if seed is not None:
            options = {**options, "generator": torch.Generator().manual_seed(seed)}
            generators = {"the loader's generator": options["generator"], **generators}
        before = {name: generator.get_state() for name, generator in generators.items()}
        try:
            batches: Any = list(itertools.islice(loader(dataset, **options), MOST))
        except (NotImplementedError, Mismatch, RecursionError, MemoryError):
            raise
        except Exception as error:
            batches = error
        moved = {name: _moved(before[name], generator) for name, generator in generators.items()}
    return Run(batches, dataset.asked, moved)


@contextmanager
def global_seed(seed: int) -> Iterator[None]:
    """torch's global generator seeded, and put back at the end."""
    state = torch.get_rng_state()
    seed_torch(seed)
    try:
        yield
    finally:
        torch.set_rng_state(state)


def _moved(before: torch.Tensor, generator: torch.Generator) -> str:
    """In words, what was drawn since the generator stood at `before`."""
    own, now = torch.Generator().set_state(before), generator.get_state()
    for words in ("nothing drawn", "one number drawn", "two numbers drawn", "three numbers drawn"):
        if torch.equal(own.get_state(), now):
            return words
        torch.empty((), dtype=torch.int64).random_(generator=own)
    return "something else drawn"


def compare(answer: Any, trial: Trial, make: Callable[[], Any], **options: Any) -> None:
    """Wrong unless the answer gives what DataLoader gives, and reads the dataset as it does."""
    text = ", ".join(f"{name}={_said(value)}" for name, value in options.items())
    trial.given(f"{type(make()).__name__} of length {make().length}; {text or 'no other arguments'}")
    ours = result_of(functools.partial(trial.call, answer), make(), options)
    theirs = result_of(DataLoader, make(), options)
    if isinstance(ours.batches, ValueError) and _said_by_raise(ours.batches):
        trial.fail(
            f"The answer raised ValueError ({shown(str(ours.batches), 120)}) for arguments that DataLoader takes.",
            expected=shown(theirs.batches),
            got=f"ValueError: {shown(str(ours.batches), 120)}",
            observed=("refused", text),
        )
    if isinstance(ours.batches, Exception):
        raise ours.batches
    trial.equal(ours.batches, theirs.batches, "The batches")
    trial.true(
        "__len__" not in ours.asked or "__len__" in theirs.asked,
        "The batches are right, but the stream was asked for its length.",
        expected=f"asked for {shown(theirs.asked)}",
        got=f"asked for {shown(ours.asked)}",
        observed="asked for the length",
    )
    trial.true(
        ours.asked == theirs.asked,
        "The batches are right, but the dataset is not read as DataLoader reads it.",
        expected=f"asked for {shown(theirs.asked)}",
        got=f"asked for {shown(ours.asked)}",
        observed=("asked", ours.asked[:MOST]),
    )


def _said_by_raise(error: Exception) -> bool:
    """Whether a `raise` raised it: a refusal. If not, a function of Python stumbled, as int("") does; the report shows where."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return True
    return any(
        each.offset == last.tb_lasti and each.opname in ("RAISE_VARARGS", "RERAISE")
        for each in dis.get_instructions(last.tb_frame.f_code)
    )


def _said(value: Any) -> str:
    return value.__name__ if callable(value) else shown(value)


LENGTH, SIZE = 12, 5


def see_shuffled(answer: Any, trial: Trial, seed: int) -> None:
    """Wrong unless the samples come in DataLoader's order: with a generator, with none, with a sampler that shares one."""
    found = {}
    for how in ("generator", "no generator", "shared"):
        own = None if how == "no generator" else seed
        got, want = (_order(loader, how, own) for loader in (answer, DataLoader))
        found[how] = got, want, "right" if got == want else _hypothesis(answer, got, how, own)
    for how, (got, want, _) in found.items():
        trial.given(
            f"Table of length {LENGTH}, batch_size={SIZE}, "
            + {
                "generator": f"shuffle=True, a generator seeded with {seed}",
                "no generator": f"shuffle=True, no generator, torch.manual_seed({GLOBAL}) before it",
                "shared": f"sampler=RandomSampler(dataset, generator=g), generator=g, seeded with {seed}",
            }[how]
        )
        trial.true(
            got == want,
            "The samples come in a different order than DataLoader's.",
            expected=f"{want}, the order of a RandomSampler after one draw of a base seed",
            got=str(got),
            observed=("order", [label for *_, label in found.values()]),
        )
    trial.given(f"Table of length {LENGTH}, batch_size={SIZE}, shuffle=True, a generator seeded with {seed}")
    ours = result_of(answer, Table(LENGTH), {"batch_size": SIZE, "shuffle": True}, seed).moved
    trial.true(
        ours[GLOBAL_NAME] == "nothing drawn",
        "The order is right, but numbers were drawn from torch's global generator, too, though the loader has its own.",
        expected=f"{GLOBAL_NAME}: nothing drawn",
        got=f"{GLOBAL_NAME}: {ours[GLOBAL_NAME]}",
        observed="global generator drawn from",
    )


def _order(loader: Any, how: str, own: int | None, anywhere: int = GLOBAL) -> list[Any]:
    """In which order the samples come."""
    dataset = Table(LENGTH)
    options: dict[str, Any] = {"batch_size": SIZE, "collate_fn": list}
    if own is not None:
        options["generator"] = torch.Generator().manual_seed(own)
    if how == "shared":
        options["sampler"] = RandomSampler(dataset, generator=options["generator"])
    else:
        options["shuffle"] = True
    with global_seed(anywhere):
        return [sample for batch in itertools.islice(loader(dataset, **options), MOST) for sample in batch]


def _hypothesis(answer: Any, got: list[Any], how: str, own: int | None) -> str:
    """What a wrong order is, in words."""
    for words, order in _known_orders(own):
        if got == order:
            return words
    if sorted(got) != list(range(LENGTH)):
        return "not every sample once"

    def again(own: int | None, anywhere: int, others: int) -> Any:
        state, numpy_state = random.getstate(), np.random.get_state()
        random.seed(others)
        np.random.seed(others)
        try:
            return _order(answer, how, own, anywhere)
        finally:
            random.setstate(state)
            np.random.set_state(numpy_state)

    first = again(own, GLOBAL, 1)
    if again(own, GLOBAL, 2) != first:
        return "by another library's generator"
    by_own = own is not None and again(own + 1, GLOBAL, 1) != first
    by_global = again(own, GLOBAL + 1, 1) != first
    sources = {
        (True, True): "both generators",
        (True, False): "the given one",
        (False, True): "the global one",
    }
    return f"by {sources.get((by_own, by_global), 'no generator')}"


def _known_orders(own: int | None) -> Iterator[tuple[str, list[int]]]:
    yield "not shuffled", list(range(LENGTH))
    with global_seed(GLOBAL):
        generator = None if own is None else torch.Generator().manual_seed(own)
        yield "before the base seed", list(RandomSampler(range(LENGTH), generator=generator))
    if own is None:
        with global_seed(GLOBAL):
            torch.empty((), dtype=torch.int64).random_()
            yield "torch.randperm, without a seed of its own", torch.randperm(LENGTH).tolist()
