"""Orders of indices that come in chunks, and what kind of shuffling made them (exercise 02.chunk_sampler)."""

from __future__ import annotations

import builtins
import itertools
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.utils.data._utils import worker as torch_worker

from helpers.check.compare import shown
from helpers.check.trial import Trial


def made(
    answer: type,
    trial: Trial,
    lengths: list[int],
    seed: int,
    epoch: int | None = None,
    held: list[int] | None = None,
) -> Any:
    """ChunkSampler(lengths, seed), after set_epoch(epoch) if there is one.

    held: the list that the sampler is given; a copy of `lengths` unless there is one.
    """
    before, given = list(lengths), list(lengths) if held is None else held
    sampler = answer(given, seed)
    unchanged(trial, given, before)
    if not hasattr(type(sampler), "__iter__"):
        trial.fail(
            "A ChunkSampler cannot be iterated: it has no __iter__.",
            expected="an iterable of indices",
            got=type(sampler).__name__,
            observed="no __iter__",
        )
    if epoch is not None:
        sampler.set_epoch(epoch)
    return sampler


def unchanged(trial: Trial, held: list[int], lengths: list[int]) -> None:
    """Wrong if the list that a sampler was given no longer holds these lengths."""
    if held != lengths:
        trial.fail(
            "The list of lengths that the caller still holds was changed.",
            expected=f"a list that is still {lengths}",
            got=shown(held),
            observed="lengths changed",
        )


def order(sampler: Any, total: int) -> list[Any]:
    """The indices that come; of an endless sampler some more than `total`."""
    return list(itertools.islice(iter(sampler), total + 5))


def rest_of(running: Iterator[Any], most: int) -> list[Any]:
    """What a begun iteration still gives, `most` indices at most. Without iter(), where some begin anew."""
    return [index for _, index in zip(range(most), iter(lambda: next(running, None), None), strict=False)]


def some_seed(trial: Trial) -> int:
    return trial.random.randrange(1, 3000)  # small enough for seed * 1_000_003 + epoch below 2**32


def chunks_of(lengths: list[int]) -> list[range]:
    """The indices of each chunk."""
    return [
        range(end - length, end) for length, end in zip(lengths, itertools.accumulate(lengths), strict=True)
    ]


def owners(indices: list[int], lengths: list[int]) -> list[int]:
    """The chunk of each index."""
    chunks = chunks_of(lengths)
    return [next(at for at, chunk in enumerate(chunks) if index in chunk) for index in indices]


def chunk_order(indices: list[int], lengths: list[int]) -> list[int]:
    """The chunks in the order in which they are entered; one that is entered twice stands there twice."""
    return [chunk for chunk, _ in itertools.groupby(owners(indices, lengths))]


def in_runs(indices: list[int], lengths: list[int]) -> bool:
    """Whether neighbours come together in runs as long as the chunks, in whatever order of the lengths."""
    for laid in itertools.permutations(lengths):
        runs = [indices[part.start : part.stop] for part in chunks_of(list(laid)) if part]
        if all(max(run) - min(run) == len(run) - 1 for run in runs):
            return True
    return False


def in_turns(indices: list[int], lengths: list[int]) -> bool:
    """Whether each chunk gives one index in turn, as long as all of them have any left."""
    chunks, turns = sum(1 for length in lengths if length), min(length for length in lengths if length)
    came = owners(indices, lengths)
    return all(len(set(came[at * chunks : (at + 1) * chunks])) == chunks for at in range(turns))


def kind_of(orders: list[tuple[int, ...]]) -> str:
    """What kind of shuffling gave these 80 permutations of 0 ... 3; "" if they look random."""
    several, plain = set(orders), tuple(range(len(orders[0])))
    if several == {plain}:
        return "never shuffled"
    if several == {plain[::-1]}:
        return "always backwards"
    if len(several) == 1:
        return "one order for ever"
    turned = {plain[at:] + plain[:at] for at in plain}
    if several <= turned:
        return "only turned round"
    if several <= {plain, plain[::-1]}:
        return "only reversed"
    if len(several) < 4:
        return "few orders"
    if Counter(orders).most_common(1)[0][1] > len(orders) // 3:
        return "mostly one order"
    # Of the 24 orders of four, 80 draws give 23 on average, and hardly ever less than 18.
    return "" if len(several) > 15 else "few orders"


def faults(got: list[Any], total: int) -> list[str]:
    """What is wrong with these indices, in words."""
    other = {type(index).__name__ for index in got if not isinstance(index, int | np.integer)}
    if other:
        return [f"an index is of type {name}" for name in sorted(other)]
    count = Counter(got)
    return [
        description
        for description, is_so in (
            ("an index came more than once", any(times > 1 for times in count.values())),
            ("an index is not in the dataset", any(not 0 <= index < total for index in count)),
            ("an index did not come", any(index not in count for index in range(total))),
        )
        if is_so
    ]


def orders_for(
    answer: type, trial: Trial, lengths: list[int], runs: list[tuple[int, int | None]]
) -> list[tuple[Any, ...]]:
    """What comes for each (seed, epoch)."""
    return [tuple(order(made(answer, trial, lengths, *run), sum(lengths))) for run in runs]


def shuffling(
    trial: Trial, what: str, orders_of: Callable[[int, int], list[list[tuple[int, ...]]]], seed: int
) -> list[list[tuple[int, ...]]]:
    """Wrong if these permutations are no shuffle. orders_of(seed, epochs): the permutations of each part, by epoch."""
    first = orders_of(seed, 80)
    kinds = set(map(kind_of, first)) - {""}
    if kinds and kinds <= {"never shuffled", "always backwards"}:
        # One order for ever may be the sorted one by chance; not with all of these seeds.
        others = [each for more in range(1, 6) for each in orders_of(seed + 100 * more, 2)]
        kinds |= set(map(kind_of, others)) & {"one order for ever"}
    kind = max(kinds, default="", key=lambda kind: kind not in ("never shuffled", "always backwards"))
    if kind:
        trial.fail(
            f"{what}: {kind}.",
            expected="any of the 24 orders, by chance",
            got=shown(first[0][:5]),
            observed=kind,
        )
    return first


@contextmanager
def elsewhere(
    salt: int, rank: int = 0, process: int = 4241, worker: int | None = None, hours: int = 0, seeded: int = 0
) -> Iterator[None]:
    """As if in a process of its own: a salt in the hashes of text, a time, global generators, a rank, a number.

    worker: the process is a DataLoader's worker of this id.
    seeded: how the program has seeded its global generators.
    """
    usual, now, number, environ = builtins.hash, time.time, os.getpid, dict(os.environ)
    random.seed(seeded)
    np.random.seed(seeded % 2**32)
    torch.default_generator.manual_seed(seeded)
    builtins.hash = lambda value: usual((salt, value)) if _holds_text(value) else usual(value)
    time.time = lambda: 1.7e9 + 3600 * hours
    os.getpid = lambda: process
    if worker is not None:
        torch_worker._worker_info = torch_worker.WorkerInfo(
            id=worker, num_workers=3, seed=1000 + worker, dataset=None
        )
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    try:
        yield
    finally:
        builtins.hash, time.time, os.getpid = usual, now, number
        torch_worker._worker_info = None
        os.environ.clear()
        os.environ |= environ


def places() -> dict[str, Any]:
    """Where each global generator stands."""
    _, key, *rest = np.random.get_state(legacy=True)
    return {
        "random": random.getstate(),
        "NumPy": (key.tobytes(), *rest),
        "torch": torch.default_generator.get_state().numpy().tobytes(),
    }


def draw_from_each() -> None:
    """A number from each global generator, as a program draws them."""
    random.random()
    np.random.random()
    torch.rand(1)


def _holds_text(value: Any) -> bool:
    return isinstance(value, str | bytes) or (isinstance(value, tuple) and any(map(_holds_text, value)))
