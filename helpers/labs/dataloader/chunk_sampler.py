"""Exercise 02.chunk_sampler: an order that is random and yet reads one chunk after another.

The orders themselves are random and no answer's are another's, so what is observed is their kind.
"""

from __future__ import annotations

import builtins
import itertools
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from helpers.compare import shown
from helpers.exercise import Exercise
from helpers.trial import Trial

chunk_sampler = Exercise(
    "02.chunk_sampler",
    "Shuffled chunks",
    objective="Shuffle a data set that lies in chunks without jumping between chunks, anew in each epoch, alike in each process.",
    minutes=20,
    difficulty="medium",
    core=False,
    names=("ChunkSampler",),
    kind="class",
    hints=[
        "Two shuffles: one of the chunks, one inside each chunk. Where does each chunk begin? All chunks may have other lengths.",
        "Make one generator at the start of __iter__, from seed and epoch alone, and draw all permutations from it in turn: the "
        "first for the chunks, then one for each chunk. If it is made anew for each chunk, all chunks get one permutation.",
        "itertools.accumulate(lengths) gives where the chunks end. rng = np.random.default_rng((self.seed, self.epoch)); "
        "for chunk in rng.permutation(n): for place in rng.permutation(length): yield int(start + place).",
    ],
)

GLOBAL = ("random RNG", "numpy RNG", "torch RNG")


def made(answer: type, trial: Trial, lengths: list[int], seed: int, epoch: int | None = None) -> Any:
    """ChunkSampler(lengths, seed), after set_epoch(epoch) if there is one."""
    given = list(lengths)
    sampler = answer(given, seed)
    if given != lengths:
        trial.fail(
            "The list of lengths that the caller still holds was changed.",
            expected=f"a list that is still {lengths}",
            got=shown(given),
            observed="lengths changed",
        )
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


def order(sampler: Any, total: int) -> list[Any]:
    """The indices that come; of an endless sampler some more than `total`."""
    return list(itertools.islice(iter(sampler), total + 5))


def some_seed(trial: Trial) -> int:
    return trial.random.randrange(1, 5000)


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


def kind_of(orders: list[tuple[int, ...]]) -> str:
    """What kind of shuffling gave these permutations of 0 ... n-1; "" if all kinds of them come."""
    several, plain = set(orders), tuple(range(len(orders[0])))
    if several == {plain}:
        return "never shuffled"
    if len(several) == 1:
        return "one order for ever"
    turned = {plain[at:] + plain[:at] for at in plain}
    if several <= turned:
        return "only turned round"
    if several <= {plain, plain[::-1]}:
        return "only reversed"
    everywhere = all({one[place] for one in several} == set(plain) for place in plain)
    return "" if everywhere and len(several) > 2 * len(plain) else "few orders"


@chunk_sampler.property("each index comes once, as a plain int")
def _(answer: type, trial: Trial) -> None:
    found: dict[str, tuple[str, list[Any], int]] = {}
    for lengths in ([3, 1, 4], [5], [2, 0, 3], [], [0], [1, 1, 1, 1], [4, 4, 4]):
        seed, total = some_seed(trial), sum(lengths)
        for epoch in (None, 3):
            given = f"ChunkSampler({lengths}, {seed})" + (f", set_epoch({epoch})" if epoch else "")
            trial.given(given)
            got = order(made(answer, trial, lengths, seed, epoch), total)
            for kind in _faults(got, total):
                found.setdefault(kind, (given, got, total))
    if found:
        kind, (given, got, total) = next(iter(found.items()))
        trial.given(given)
        wanted = f"the numbers 0 to {total - 1} in some order, each a plain int" if total else "no index"
        trial.fail(f"{kind.capitalize()}.", expected=wanted, got=shown(got), observed=sorted(found))


def _faults(got: list[Any], total: int) -> list[str]:
    """What is wrong with these indices, in words."""
    other = {type(index).__name__ for index in got} - {"int"}
    if other:
        return [f"an index is of type {name}" for name in sorted(other)]
    count = Counter(got)
    return [
        said
        for said, is_so in (
            ("an index came more than once", any(times > 1 for times in count.values())),
            ("an index is not in the data set", any(not 0 <= index < total for index in count)),
            ("an index did not come", any(index not in count for index in range(total))),
        )
        if is_so
    ]


@chunk_sampler.property("len() is the number of indices")
def _(answer: type, trial: Trial) -> None:
    for lengths in ([3, 1, 4], [2, 0, 3], []):
        trial.given(f"ChunkSampler({lengths}, 1)")
        sampler = made(answer, trial, lengths, 1)
        trial.true(
            hasattr(type(sampler), "__len__"),
            "A ChunkSampler has no __len__: len(loader) would raise.",
            expected=f"len(sampler) == {sum(lengths)}",
            observed="none",
        )
        got = len(sampler)
        kind = "chunks" if got == len(lengths) else "other"
        trial.true(
            got == sum(lengths), f"len(sampler) is {got}.", expected=str(sum(lengths)), got=got, observed=kind
        )


@chunk_sampler.property("a chunk is read to its end before the next: as many switches as chunks, less one")
def _(answer: type, trial: Trial) -> None:
    found: dict[str, tuple[str, str, list[Any]]] = {}
    for lengths in ([20, 11, 16, 13], [12, 12, 12], [7, 0, 9, 8]):
        chunks, seed = sum(1 for length in lengths if length), some_seed(trial)
        for epoch in (None, 2):
            given = f"ChunkSampler({lengths}, {seed})" + (f", set_epoch({epoch})" if epoch else "")
            trial.given(given)
            got = order(made(answer, trial, lengths, seed, epoch), sum(lengths))
            if _faults(got, sum(lengths)):
                trial.fail("Not every index came once.", got=shown(got), observed="other indices")
            switches = len(chunk_order(got, lengths)) - 1
            if switches != chunks - 1:
                turns = len(set(owners(got[:chunks], lengths))) == chunks
                kind = "in turns" if turns else "a few" if switches < 3 * chunks else "many"
                said = f"{switches} switches from chunk to chunk, where {chunks - 1} suffice"
                found.setdefault(kind, (given, said, got))
    if found:
        given, said, got = next(iter(found.values()))
        trial.given(given)
        message = f"There are {said}: each one opens another file."
        trial.fail(
            message, expected="all of one chunk, then all of the next", got=shown(got), observed=sorted(found)
        )


def _orders(
    answer: type, trial: Trial, lengths: list[int], runs: list[tuple[int, int | None]]
) -> list[tuple[Any, ...]]:
    """What comes for each (seed, epoch)."""
    return [tuple(order(made(answer, trial, lengths, *run), sum(lengths))) for run in runs]


@chunk_sampler.property("the epoch decides, and so does the seed, from epoch 0 on")
def _(answer: type, trial: Trial) -> None:
    lengths, seed = [4, 5, 3], some_seed(trial)
    # Seeds that differ by more than any epoch: seed + epoch, which torch itself uses, is allowed.
    seeds = [seed + 100 * more for more in range(5)]
    found = []
    for said, runs in (
        (f"seed {seed}, epochs 0 to 4", [(seed, epoch) for epoch in range(5)]),
        ("seed 0, epochs 0 to 4", [(0, epoch) for epoch in range(5)]),
        (f"seeds {seeds}, no set_epoch", [(seed, None) for seed in seeds]),
        (f"seeds {seeds}, epoch 3", [(seed, 3) for seed in seeds]),
    ):
        trial.given(f"ChunkSampler({lengths}, seed): {said}")
        orders = _orders(answer, trial, lengths, runs)
        if len(set(orders)) < 4:
            found.append((said, orders[:2]))
    if found:
        plain = tuple(range(sum(lengths)))
        unshuffled = [
            epoch
            for epoch in range(4)
            if set(_orders(answer, trial, lengths, [(s, epoch) for s in seeds])) == {plain}
        ]
        said, orders = found[0]
        trial.given(f"ChunkSampler({lengths}, seed): {said}")
        message = "Orders that should differ are alike."
        kinds = [each.split(",")[0].partition(" ")[0] + each.partition(",")[2] for each, _ in found]
        trial.fail(
            message, expected="another order each time", got=shown(orders), observed=(kinds, unshuffled)
        )


@chunk_sampler.property("the chunks come in every order, and in another one in each epoch")
def _(answer: type, trial: Trial) -> None:
    lengths, seed = [2, 3, 2, 4], some_seed(trial)
    trial.given(f"ChunkSampler({lengths}, {seed}), epochs 0 to 79: the order of the four chunks")
    sampler = made(answer, trial, lengths, seed)
    orders = []
    for epoch in range(80):
        sampler.set_epoch(epoch)
        orders.append(tuple(dict.fromkeys(owners(order(sampler, sum(lengths)), lengths))))
    if kind := kind_of(orders):
        trial.fail(
            f"The order of the chunks: {kind}.",
            expected="any of the 24 orders, by chance",
            got=shown(orders[:5]),
            observed=kind,
        )


@chunk_sampler.property("inside a chunk every order comes, another one in each epoch and in each chunk")
def _(answer: type, trial: Trial) -> None:
    lengths, seed = [4, 4, 4], some_seed(trial)
    trial.given(
        f"ChunkSampler({lengths}, {seed}), epochs 0 to 79: the order inside each chunk, counted from 0"
    )
    sampler = made(answer, trial, lengths, seed)
    inside: list[list[tuple[int, ...]]] = [[], [], []]
    for epoch in range(80):
        sampler.set_epoch(epoch)
        got = order(sampler, sum(lengths))
        for chunk, indices in enumerate(chunks_of(lengths)):
            inside[chunk].append(tuple(index - indices.start for index in got if index in indices))
    if any(sorted(one) != [0, 1, 2, 3] for chunk in inside for one in chunk):
        trial.fail("Not every index of a chunk came once.", observed="other indices")
    for kind in filter(None, map(kind_of, inside)):
        trial.fail(
            f"The order inside a chunk: {kind}.",
            expected="any of the 24 orders, by chance",
            got=shown(inside[0][:5]),
            observed=kind,
        )
    trial.true(
        any(len(set(each)) > 1 for each in zip(*inside, strict=True)),
        "In each epoch all chunks of one length are shuffled in the same way.",
        expected="a permutation of its own for each chunk",
        got=shown([chunk[0] for chunk in inside]),
        observed="one permutation",
    )


@contextmanager
def elsewhere(source: random.Random) -> Iterator[None]:
    """As if in another process: another salt in the hashes of text, another time, global generators elsewhere."""
    usual, now = builtins.hash, time.time
    salt = source.getrandbits(60)
    random.seed(salt)
    np.random.seed(salt % 2**32)
    torch.default_generator.manual_seed(salt)
    builtins.hash = lambda value: usual((salt, value)) if _holds_text(value) else usual(value)
    time.time = lambda: 1.7e9 + salt % 10**6
    try:
        yield
    finally:
        builtins.hash, time.time = usual, now


def _holds_text(value: Any) -> bool:
    return isinstance(value, str | bytes) or (isinstance(value, tuple) and any(map(_holds_text, value)))


@chunk_sampler.property(
    "lengths, seed and epoch decide alone: again, later, and in every process", changes=GLOBAL
)
def _(answer: type, trial: Trial) -> None:
    lengths, seed = [6, 4, 7], some_seed(trial)
    total = sum(lengths)
    with elsewhere(trial.random):
        sampler = answer(list(lengths), seed)
        sampler.set_epoch(2)
        first = order(sampler, total)
        again = order(sampler, total)
        sampler.set_epoch(5)
        order(sampler, total)
        sampler.set_epoch(2)
        back = order(sampler, total)
        new = answer(list(lengths), seed)
        new.set_epoch(2)
        other_object = order(new, total)
        new.set_epoch(3)
        next_epoch = order(new, total)
    with elsewhere(trial.random):
        new = answer(list(lengths), seed)
        new.set_epoch(2)
        other_process = order(new, total)
    for word, got in (
        ("in another process", other_process),
        ("of a second sampler with the same arguments", other_object),
        ("gone through a second time", again),
        ("after set_epoch(5) and set_epoch(2)", back),
    ):
        trial.given(f"ChunkSampler({lengths}, {seed}), set_epoch(2)")
        trial.true(
            got == first,
            f"The order is another one {word}. Ranks that shuffle unlike, and a run that is resumed, see some samples twice.",
            expected=shown(first),
            got=got,
            observed=(word, bool(got), back == first, again == next_epoch),
        )


@chunk_sampler.property("two iterations at once do not disturb each other, and a DataLoader takes it")
def _(answer: type, trial: Trial) -> None:
    lengths, seed = [3, 5, 2], some_seed(trial)
    trial.given(f"sampler = ChunkSampler({lengths}, {seed}); two iterators over it, asked in turns")
    sampler = made(answer, trial, lengths, seed)
    pairs = list(itertools.islice(zip(iter(sampler), iter(sampler), strict=False), 20))
    trial.true(
        len(pairs) == sum(lengths) and all(one == other for one, other in pairs),
        "The two iterators do not give the same indices: they share a place or a generator.",
        expected="the same indices from both",
        got=shown(pairs),
        observed=len(pairs) == sum(lengths),
    )
    trial.given(f"DataLoader(range({sum(lengths)}), 4, sampler=ChunkSampler({lengths}, {seed}))")
    loader = DataLoader(range(sum(lengths)), 4, sampler=sampler, generator=torch.Generator())
    got = [batch.tolist() for batch in loader]
    trial.true(
        len(loader) == 3 and sorted(sum(got, [])) == list(range(sum(lengths))),
        "A DataLoader with this sampler does not give every sample once.",
        expected="3 batches with every sample once",
        got=got,
    )
