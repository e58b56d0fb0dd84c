"""Exercise 02.chunk_sampler: an order that is random and yet reads one chunk after another.

The orders themselves are random and no answer's are another's, so what is observed is their kind.
"""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch.utils.data import DataLoader

from helpers.check.compare import shown
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.dataloader.chunk_sampler.orders import (
    chunk_order,
    chunks_of,
    elsewhere,
    faults,
    in_runs,
    in_turns,
    made,
    order,
    orders_for,
    owners,
    shuffling,
    some_seed,
)

chunk_sampler = Exercise(
    "02.chunk_sampler",
    "Shuffled chunks",
    objective="Shuffle a dataset that lies in chunks without jumping between chunks, anew in each epoch, alike in each process.",
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


@chunk_sampler.property(
    "each index comes once",
    asks=(
        "Shuffles the chunks and the indices within each chunk, anew in each epoch.",
        "Iterating gives each index once, as a Python int.",
        "The list `lengths` stays as it is.",
    ),
)
def _(answer: type, trial: Trial) -> None:
    found: dict[str, tuple[str, list[Any], int]] = {}
    local, alike = True, False
    for lengths in ([3, 1, 4], [5], [2, 0, 3], [], [0], [1, 1, 1, 1], [4, 4, 4]):
        seed, total = some_seed(trial), sum(lengths)
        for epoch in (None, 3):
            given = f"ChunkSampler({lengths}, {seed})" + (f", set_epoch({epoch})" if epoch else "")
            trial.given(given)
            got = order(made(answer, trial, lengths, seed, epoch), total)
            local = local and all(isinstance(index, int) and index < max(lengths, default=0) for index in got)
            for kind in faults(got, total):
                found.setdefault(kind, (given, got, total))
                alike = alike or lengths in ([5], [4, 4, 4])
    if found:
        kind, (given, got, total) = next(iter(found.items()))
        trial.given(given)
        wanted = f"the numbers 0 to {total - 1} in some order, each an int" if total else "no index"
        trial.fail(
            f"{kind.capitalize()}.", expected=wanted, got=shown(got), observed=(local, alike, sorted(found))
        )


@chunk_sampler.property(
    "len() is the number of indices", asks="len() is the number of indices.", once_right=True
)
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


@chunk_sampler.property(
    "a chunk is read to its end before the next: as many switches as chunks, less one",
    asks="All indices of one chunk come before those of the next one.",
    once_right=True,
)
def _(answer: type, trial: Trial) -> None:
    found: dict[str, tuple[str, str, list[Any]]] = {}
    for lengths in ([20, 11, 16, 13], [12, 12, 12], [9, 0, 13, 11]):
        chunks, seed = sum(1 for length in lengths if length), some_seed(trial)
        for epoch in (None, 2):
            given = f"ChunkSampler({lengths}, {seed})" + (f", set_epoch({epoch})" if epoch else "")
            trial.given(given)
            got = order(made(answer, trial, lengths, seed, epoch), sum(lengths))
            if faults(got, sum(lengths)):
                trial.fail("Not every index came once.", got=shown(got), observed="other indices")
            switches = len(chunk_order(got, lengths)) - 1
            if switches != chunks - 1:
                few = "a few" if switches < 3 * chunks else "many"
                kind = (
                    "in turns"
                    if in_turns(got, lengths)
                    else "other borders"
                    if in_runs(got, lengths)
                    else few
                )
                text = f"{switches} switches from chunk to chunk, where {chunks - 1} suffice"
                found.setdefault(kind, (given, text, got))
    if found:
        given, text, got = next(iter(found.values()))
        trial.given(given)
        message = f"There are {text}: each one opens another file."
        trial.fail(
            message, expected="all of one chunk, then all of the next", got=shown(got), observed=sorted(found)
        )


@chunk_sampler.property(
    "the epoch decides, and so does the seed, from epoch 0 on",
    asks=(
        "The orders differ from epoch to epoch and from seed to seed.",
        "Chooses the epoch for the next iterations; a new sampler stands at epoch 0.",
    ),
    once_right=True,
)
def _(answer: type, trial: Trial) -> None:
    lengths, seed = [4, 5, 3], some_seed(trial)
    # Seeds that differ by more than any epoch: seed + epoch, which torch itself uses, is allowed.
    seeds = [seed + 101 * more for more in range(8)]
    found = []
    for description, runs in (
        (f"seed {seed}, epochs 0 to 7", [(seed, epoch) for epoch in range(8)]),
        ("seed 0, epochs 0 to 7", [(0, epoch) for epoch in range(8)]),
        (f"seeds {seeds}, no set_epoch", [(seed, None) for seed in seeds]),
        (f"seeds {seeds}, epoch 3", [(seed, 3) for seed in seeds]),
    ):
        trial.given(f"ChunkSampler({lengths}, seed): {description}")
        orders = orders_for(answer, trial, lengths, runs)
        if len(set(orders)) == 1:
            found.append((description, orders[:2]))
    if found:
        plain = tuple(range(sum(lengths)))
        unshuffled = [
            epoch
            for epoch in range(4)
            if set(orders_for(answer, trial, lengths, [(s, epoch) for s in seeds])) == {plain}
        ]
        description, orders = found[0]
        trial.given(f"ChunkSampler({lengths}, seed): {description}")
        message = f"All of these give one order: {description}."
        kinds = [each.split(",")[0].partition(" ")[0] + each.partition(",")[2] for each, _ in found]
        trial.fail(
            message, expected="a different order each time", got=shown(orders), observed=(kinds, unshuffled)
        )


@chunk_sampler.property(
    "the chunks come in every order, and in a different one in each epoch",
    asks="The order of the chunks is random, and so is the order within each chunk, which differs from chunk to chunk.",
    once_right=True,
)
def _(answer: type, trial: Trial) -> None:
    lengths, seed = [2, 3, 2, 4], some_seed(trial)
    trial.given(f"ChunkSampler({lengths}, {seed}), epochs 0 to 79: the order of the four chunks")

    def orders_of(seed: int, epochs: int) -> list[list[tuple[int, ...]]]:
        sampler, orders = made(answer, trial, lengths, seed), []
        for epoch in range(epochs):
            sampler.set_epoch(epoch)
            got = order(sampler, sum(lengths))
            if faults(got, sum(lengths)):
                trial.fail("Not every index came once.", got=shown(got), observed="other indices")
            orders.append(tuple(dict.fromkeys(owners(got, lengths))))
        return [orders]

    shuffling(trial, "The order of the chunks", orders_of, seed)


@chunk_sampler.property(
    "inside a chunk every order comes, a different one in each epoch and in each chunk",
    asks="The order of the chunks is random, and so is the order within each chunk, which differs from chunk to chunk.",
    once_right=True,
)
def _(answer: type, trial: Trial) -> None:
    lengths, seed = [4, 4, 4], some_seed(trial)
    trial.given(
        f"ChunkSampler({lengths}, {seed}), epochs 0 to 79: the order inside each chunk, counted from 0"
    )

    def orders_of(seed: int, epochs: int) -> list[list[tuple[int, ...]]]:
        sampler = made(answer, trial, lengths, seed)
        inside: list[list[tuple[int, ...]]] = [[], [], []]
        for epoch in range(epochs):
            sampler.set_epoch(epoch)
            got = order(sampler, sum(lengths))
            for chunk, indices in enumerate(chunks_of(lengths)):
                inside[chunk].append(tuple(index - indices.start for index in got if index in indices))
        if any(sorted(one) != [0, 1, 2, 3] for chunk in inside for one in chunk):
            trial.fail("Not every index of a chunk came once.", observed="other indices")
        return inside

    inside = shuffling(trial, "The order inside a chunk", orders_of, seed)
    trial.true(
        any(len(set(each)) > 1 for each in zip(*inside, strict=True)),
        "In each epoch all chunks of one length are shuffled in the same way.",
        expected="a permutation of its own for each chunk",
        got=[chunk[0] for chunk in inside],
        observed="one permutation",
    )


@chunk_sampler.property(
    "each epoch has an order of its own, and so has each seed",
    asks="The orders differ from epoch to epoch and from seed to seed.",
    once_right=True,
)
def _(answer: type, trial: Trial) -> None:
    lengths, seed = (
        [5, 6, 4, 7, 3],
        some_seed(trial),
    )  # two of these orders are alike by chance once in 10**12 times
    numbers = [*range(12), 100, 1000, 2000]
    for what, runs in (
        ("epoch", [(seed, epoch) for epoch in numbers]),
        ("seed", [(seed, 0) for seed in numbers]),
    ):
        given = f"ChunkSampler({lengths}, {seed}), epochs {numbers}"
        trial.given(given if what == "epoch" else f"ChunkSampler({lengths}, seed), seeds {numbers}, epoch 0")
        orders = dict(zip(numbers, orders_for(answer, trial, lengths, runs), strict=True))
        alike = [pair for pair in itertools.combinations(numbers, 2) if orders[pair[0]] == orders[pair[1]]]
        if alike:
            one, other = alike[0]
            trial.fail(
                f"{what.capitalize()}s {one} and {other} have one order"
                + (f", and {len(alike) - 1} more pairs." if alike[1:] else "."),
                expected=f"a different order for each {what}",
                got=orders[one],
                observed=(what, "0 and 1" if alike == [(0, 1)] else "several pairs"),
            )


@chunk_sampler.property(
    "lengths, seed and epoch decide alone: again, later, and in every process",
    asks=(
        "The order depends on lengths, seed and epoch alone: it is the same in every process, and comes again.",
        "No global generator is used or moved.",
    ),
    changes=GLOBAL,
)
def _(answer: type, trial: Trial) -> None:
    lengths, seed = [6, 4, 7, 3, 5, 2], some_seed(trial)
    total = sum(lengths)

    def made_at(epoch: int) -> Any:
        sampler = answer(list(lengths), seed)
        sampler.set_epoch(epoch)
        return sampler

    here = trial.random.getrandbits(60)
    with elsewhere(here):
        sampler = made_at(2)
        first = order(sampler, total)
        again = order(sampler, total)
        sampler.set_epoch(5)
        order(sampler, total)
        sampler.set_epoch(2)
        back = order(sampler, total)
        new = made_at(2)
        other_object = order(new, total)
        new.set_epoch(3)
        next_epoch = order(new, total)
    with elsewhere(here, rank=1):
        other_rank = order(made_at(2), total)
    with elsewhere(here, process=4242):
        other_id = order(made_at(2), total)
    with elsewhere(here, worker=1):
        in_a_worker = order(made_at(2), total)
    with elsewhere(trial.random.getrandbits(60)):
        other_process = order(made_at(2), total)
    for word, got in (
        ("of a second sampler with the same arguments", other_object),
        ("gone through a second time", again),
        ("after set_epoch(5) and set_epoch(2)", back),
        ("on a different rank", other_rank),
        ("in a process of a different number", other_id),
        ("in a worker of a DataLoader", in_a_worker),
        ("in a different process", other_process),
    ):
        trial.given(f"ChunkSampler({lengths}, {seed}), set_epoch(2)")
        trial.true(
            got == first,
            f"The order is a different one {word}. Where ranks shuffle differently, or a run is resumed, some samples "
            "are seen twice.",
            expected="the same order, for these lengths, this seed and this epoch",
            got="a different order",
            observed=(word, bool(got), back == first, again == next_epoch, other_object == first),
        )


@chunk_sampler.property(
    "a new sampler stands at epoch 0",
    asks="Chooses the epoch for the next iterations; a new sampler stands at epoch 0.",
    once_right=True,
)
def _(answer: type, trial: Trial) -> None:
    lengths, seed = [5, 6, 4, 7, 3], some_seed(trial)
    trial.given(f"ChunkSampler({lengths}, {seed}), and one of the same after set_epoch(0)")
    new, want = orders_for(answer, trial, lengths, [(seed, None), (seed, 0)])
    trial.true(
        new == want,
        "Before set_epoch was called the order is not that of epoch 0: a run that sets its epoch and one that does not differ.",
        expected=want,
        got=new,
        observed="not epoch 0",
    )


@chunk_sampler.property(
    "two iterations at once do not disturb each other, and a DataLoader takes it",
    asks="Iterations do not disturb each other.",
    once_right=True,
)
def _(answer: type, trial: Trial) -> None:
    lengths, seed = [3, 5, 2], some_seed(trial)
    trial.given(f"sampler = ChunkSampler({lengths}, {seed}); two iterators over it, asked in turns")
    sampler = made(answer, trial, lengths, seed)
    pairs = list(itertools.islice(zip(iter(sampler), iter(sampler), strict=False), 20))
    trial.true(
        not any(faults(list(indices), sum(lengths)) for indices in zip(*pairs, strict=True)) and bool(pairs),
        "One of the two iterators does not give every index once: they share one place.",
        expected="every index once from each of them",
        got=pairs,
        observed=len(pairs) == sum(lengths),
    )
    trial.given(f"DataLoader(range({sum(lengths)}), 4, sampler=ChunkSampler({lengths}, {seed}))")
    loader = DataLoader(range(sum(lengths)), 4, sampler=sampler, generator=torch.Generator())
    got = [batch.tolist() for batch in loader]
    trial.true(
        sorted(sum(got, [])) == list(range(sum(lengths))),
        "A DataLoader with this sampler does not give every sample once.",
        expected="3 batches with every sample once, as ints",
        got=got,
    )


@chunk_sampler.property(
    "an index is a Python int", asks="Iterating gives each index once, as a Python int.", once_right=True
)
def _(answer: type, trial: Trial) -> None:
    lengths, seed = [3, 5, 2], some_seed(trial)
    trial.given(f"ChunkSampler({lengths}, {seed})")
    got = order(made(answer, trial, lengths, seed), sum(lengths))
    kinds = sorted({type(index).__name__ for index in got if type(index) is not int})
    trial.true(
        not kinds,
        f"An index is of type {' and '.join(kinds)}: json refuses it, and a checkpoint that holds it needs NumPy to be read.",
        expected="Python's ints: int(index), or .tolist() of the array",
        got=shown(got),
        observed="not Python's",
    )
