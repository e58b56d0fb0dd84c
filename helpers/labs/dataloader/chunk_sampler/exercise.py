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
    draw_from_each,
    elsewhere,
    faults,
    in_runs,
    in_turns,
    made,
    order,
    orders_for,
    owners,
    places,
    rest_of,
    shuffling,
    some_seed,
    unchanged,
)

chunk_sampler = Exercise(
    "02.chunk_sampler",
    "Shuffled chunks",
    objective="Shuffle a dataset that lies in chunks without jumping between chunks, anew in each epoch, alike in each process.",
    minutes=20,
    difficulty="medium",
    core=False,
    names=("ChunkSampler",),
    version=2,
    kind="class",
    hints=[
        "Two shuffles: one of the chunks, one inside each chunk. Where does each chunk begin? All chunks may have other lengths.",
        "Make one generator at the start of __iter__, from seed and epoch alone, and draw all permutations from it in turn: the "
        "first for the chunks, then one for each chunk. If it is made anew for each chunk, all chunks get one permutation.",
        "itertools.accumulate(lengths) gives where the chunks end. rng = np.random.default_rng((self.seed, self.epoch)); "
        "for chunk in rng.permutation(n): for place in rng.permutation(length): yield int(start + place).",
    ],
)

# Of these one property asks; the others look away, so that its sentence is quoted.
GLOBAL = ("random RNG", "numpy RNG", "torch RNG")


@chunk_sampler.property(
    "each index comes once",
    asks=(
        "Shuffles the chunks and the indices within each chunk, anew in each epoch.",
        "There may be no chunks.",
        "Iterating gives each index once, as a Python int.",
        "The list `lengths` stays as it is.",
    ),
    changes=GLOBAL,
)
def _(answer: type, trial: Trial) -> None:
    found: dict[str, tuple[str, list[Any], int]] = {}
    local, alike, only_empty = True, False, True
    # The last one is so long that hardly a seed leaves its order, where the list itself is shuffled.
    for lengths in ([3, 1, 4], [5], [2, 0, 3], [], [0], [1, 1, 1, 1], [4, 4, 4], [5, 2, 7, 1, 4, 3, 6]):
        seed, total = some_seed(trial), sum(lengths)
        for epoch in (None, 3):
            given = f"ChunkSampler({lengths}, {seed})" + (f", set_epoch({epoch})" if epoch else "")
            trial.given(given)
            held = list(lengths)
            got = order(made(answer, trial, held, seed, epoch, held), total)
            unchanged(trial, held, lengths)
            local = local and all(isinstance(index, int) and index < max(lengths, default=0) for index in got)
            for kind in faults(got, total):
                found.setdefault(kind, (given, got, total))
                alike = alike or lengths in ([5], [4, 4, 4])
                only_empty = only_empty and 0 in lengths
    if found:
        kind, (given, got, total) = next(iter(found.items()))
        trial.given(given)
        wanted = f"the numbers 0 to {total - 1} in some order, each an int" if total else "no index"
        where = (
            "only where a chunk is empty" if only_empty else "several lists" if alike else "unequal lengths"
        )
        trial.fail(
            f"{kind.capitalize()}.", expected=wanted, got=shown(got), observed=(local, where, sorted(found))
        )


@chunk_sampler.property(
    "len() is the number of indices",
    asks="len() is the number of indices.",
    once_right=True,
    changes=GLOBAL,
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
    changes=GLOBAL,
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
    changes=GLOBAL,
)
def _(answer: type, trial: Trial) -> None:
    lengths, seed = [4, 5, 3], some_seed(trial)
    # Seeds that differ by more than any epoch: seed + epoch, which torch itself uses, is allowed.
    seeds = [seed + 101 * more for more in range(8)]
    found = []
    for kind, description, runs in (
        ("epochs", f"seed {seed}, epochs 0 to 7", [(seed, epoch) for epoch in range(8)]),
        ("epochs, seed 0", "seed 0, epochs 0 to 7", [(0, epoch) for epoch in range(8)]),
        ("seeds, no set_epoch", f"seeds {seeds}, no set_epoch", [(seed, None) for seed in seeds]),
        ("seeds, epoch 3", f"seeds {seeds}, epoch 3", [(seed, 3) for seed in seeds]),
    ):
        trial.given(f"ChunkSampler({lengths}, seed), a new one for each: {description}")
        orders = orders_for(answer, trial, lengths, runs)
        if len(set(orders)) == 1:
            found.append((kind, description, orders[:2]))
    if found:
        plain = tuple(range(sum(lengths)))
        unshuffled = [
            epoch
            for epoch in range(4)
            if set(orders_for(answer, trial, lengths, [(s, epoch) for s in seeds])) == {plain}
        ]
        _, description, orders = found[0]
        trial.given(f"ChunkSampler({lengths}, seed), a new one for each: {description}")
        message = f"New samplers give one order for all of these: {description}."
        kinds = [kind for kind, _, _ in found]
        trial.fail(
            message, expected="a different order each time", got=shown(orders), observed=(kinds, unshuffled)
        )


@chunk_sampler.property(
    "the chunks come in every order, and in a different one in each epoch",
    asks="The order of the chunks is random, and so is the order within each chunk, which differs from chunk to chunk.",
    once_right=True,
    changes=GLOBAL,
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
                trial.fail(
                    f"In epoch {epoch} of one sampler not every index came once.",
                    expected=f"the numbers 0 to {sum(lengths) - 1} in some order",
                    got=shown(got),
                    observed="other indices" if got or not epoch else "no index later",
                )
            orders.append(tuple(dict.fromkeys(owners(got, lengths))))
        return [orders]

    shuffling(trial, "The order of the chunks", orders_of, seed)


@chunk_sampler.property(
    "inside a chunk every order comes, a different one in each epoch and in each chunk",
    asks="The order of the chunks is random, and so is the order within each chunk, which differs from chunk to chunk.",
    once_right=True,
    changes=GLOBAL,
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
    changes=GLOBAL,
)
def _(answer: type, trial: Trial) -> None:
    lengths, seed = (
        [5, 6, 4, 7, 3],
        some_seed(trial),
    )  # two of these orders are alike by chance once in 10**12 times
    # Seeds go to 3000: a remainder by a power of two, or by a round number, brings two of these together.
    numbers = [*range(12), 100, 128, 255, 256, 512, 1000, 1023, 1024, 2000, 2048]
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
    ),
    changes=GLOBAL,
)
def _(answer: type, trial: Trial) -> None:
    lengths, salt = [6, 4, 7, 3, 5, 2], trial.random.getrandbits(60)
    seed = some_seed(trial)
    for kind, number, epoch in (("", seed, 2), ("seed 0", 0, 2), ("epoch 0", seed, 0)):
        trial.given(f"ChunkSampler({lengths}, {number}), set_epoch({epoch})")
        first, found, next_epoch, kept = came(answer, lengths, number, epoch, salt)
        # Once more, as it was: what comes by chance, or by an address, differs. `kept` keeps its addresses taken.
        first_again, found_again, *_ = came(answer, lengths, number, epoch, salt)
        for word, got in found.items():
            repeats = (first, got) == (first_again, found_again[word])
            comes_again = repeats and word != SALTED  # the next process has a salt of its own
            trial.true(
                got == first,
                f"The order is a different one {word}. Where ranks shuffle differently, or a run is resumed, some samples "
                "are seen twice."
                if got
                else f"The sampler was right at first, and then no index came: {word}.",
                expected=f"the same order, for these lengths, this seed and this epoch{_begins(first, comes_again)}",
                got=f"a different order{_begins(got, comes_again)}" if got else "no index",
                observed=(
                    kind,
                    word,
                    bool(got),
                    repeats,
                    found["after set_epoch(5) and back"] == first,
                    found["when the sampler is gone through a second time"] == next_epoch,
                    found["of a second sampler with the same arguments"] == first,
                ),
            )
        del kept


SALTED = "where Python salts its hashes of text differently"


def _begins(order: list[Any], comes_again: bool) -> str:
    """The first indices; of an order that never comes again there are none to be shown."""
    return f": {shown(order[:8])} and so on" if comes_again else ""


def came(
    answer: type, lengths: list[int], seed: int, epoch: int, salt: int
) -> tuple[list[Any], dict[str, list[Any]], list[Any], list[Any]]:
    """The order, what came in its place later and elsewhere, the order of the next epoch, and all samplers."""
    total, kept = sum(lengths), []

    def made_anew() -> Any:
        sampler = answer(list(lengths), seed)
        sampler.set_epoch(epoch)
        kept.append(sampler)
        return sampler

    found: dict[str, list[Any]] = {}
    with elsewhere(salt):
        sampler = made_anew()
        first = order(sampler, total)
        again = order(sampler, total)
        sampler.set_epoch(5)
        order(sampler, total)
        sampler.set_epoch(epoch)
        back = order(sampler, total)
        new = made_anew()
        found["of a second sampler with the same arguments"] = order(new, total)
        new.set_epoch(epoch + 1)
        next_epoch = order(new, total)
    found["when the sampler is gone through a second time"] = again
    found["after set_epoch(5) and back"] = back
    for word, other in (
        ("on a different rank", {"rank": 1}),
        ("in a process of a different number", {"process": 4242}),
        ("in a worker of a DataLoader", {"worker": 1}),
        ("where the program has seeded its own generators differently", {"seeded": 77}),
        ("at a different time", {"hours": 5}),
        (SALTED, {"salt": salt + 1}),
    ):
        with elsewhere(**{"salt": salt} | other):
            found[word] = order(made_anew(), total)
    return first, found, next_epoch, kept


@chunk_sampler.property(
    "no global generator is moved",
    asks="No global generator is moved.",
    once_right=True,
    changes=GLOBAL,
)
def _(answer: type, trial: Trial) -> None:
    lengths, seed = [3, 5, 2], some_seed(trial)
    trial.given(f"ChunkSampler({lengths}, {seed}), set_epoch(1), gone through once")
    moved, ends = set(), []
    for number in (trial.random.getrandbits(30), trial.random.getrandbits(30)):
        with elsewhere(0, seeded=number):
            before = places()
            order(made(answer, trial, lengths, seed, 1), sum(lengths))
            ends.append(places())
        moved |= {name for name, place in before.items() if ends[-1][name] != place}
    names = [name for name in before if name in moved]
    seeded = [name for name in names if ends[0][name] == ends[1][name]]
    trial.true(
        not names,
        f"The global generator of {' and '.join(names)} was "
        + ("seeded: it starts over." if seeded else "moved: the program draws other numbers after it."),
        expected="each global generator where it was before",
        got="; ".join(f"{name}: {'seeded' if name in seeded else 'moved'}" for name in names),
        observed="seeded" if seeded else "moved",
    )
    _undrawn(answer, trial, lengths, seed)


def _undrawn(answer: type, trial: Trial, lengths: list[int], seed: int) -> None:
    """Wrong if a global generator is moved while a loop runs: what is put back later is moved until then."""
    trial.given(
        f"ChunkSampler({lengths}, {seed}), set_epoch(1); the body of the loop draws a number from each generator"
    )
    with elsewhere(0, seeded=trial.random.getrandbits(30)):
        running, gone = iter(made(answer, trial, lengths, seed, 1)), False
        for place in range(sum(lengths) + 1):
            before = places()
            gone = next(running, None) is None
            moved = [name for name, stood in places().items() if stood != before[name]]
            when = (
                "before the first index" if not place else "after the last index" if gone else "in the loop"
            )
            trial.true(
                not moved,
                f"The global generator of {' and '.join(moved)} is moved {when}, though a whole pass puts it back: the program "
                "draws other numbers than without the sampler.",
                expected="each global generator where the program has left it, before and after each index",
                got=f"{' and '.join(moved)}: moved {when}",
                observed=when,
            )
            if gone:
                return
            draw_from_each()


@chunk_sampler.property(
    "set_epoch leaves an iteration that runs as it is",
    asks="Chooses the epoch for the next iterations; a new sampler stands at epoch 0.",
    once_right=True,
    changes=GLOBAL,
)
def _(answer: type, trial: Trial) -> None:
    lengths, seed = [5, 6, 4, 7, 3], some_seed(trial)
    total = sum(lengths)
    trial.given(
        f"ChunkSampler({lengths}, {seed}), set_epoch(1), one index taken, set_epoch(2), and on to the end"
    )
    want, following = orders_for(answer, trial, lengths, [(seed, 1), (seed, 2)])
    sampler = made(answer, trial, lengths, seed, 1)
    running = iter(sampler)
    got = rest_of(running, 1)
    sampler.set_epoch(2)
    got += rest_of(running, total + 4)
    trial.true(
        tuple(got) == want,
        "set_epoch changed the rest of an iteration that was under way: it chooses the epoch of the next ones.",
        expected=want,
        got=got,
        observed=("running", bool(faults(got, total))),
    )
    got = order(sampler, total)
    trial.true(
        tuple(got) == following,
        "After set_epoch in the middle of an iteration, the next one does not have the order of the new epoch.",
        expected=following,
        got=got,
        observed="next",
    )


@chunk_sampler.property(
    "a new sampler stands at epoch 0",
    asks="Chooses the epoch for the next iterations; a new sampler stands at epoch 0.",
    once_right=True,
    changes=GLOBAL,
)
def _(answer: type, trial: Trial) -> None:
    lengths, seed = [5, 6, 4, 7, 3], some_seed(trial)
    trial.given(f"ChunkSampler({lengths}, {seed}), and one of the same after set_epoch(0)")
    new, want = orders_for(answer, trial, lengths, [(seed, None), (seed, 0)])
    other = made(answer, trial, lengths, seed, 7)
    beside = tuple(order(made(answer, trial, lengths, seed), sum(lengths)))
    of_other = tuple(order(other, sum(lengths)))
    shared = beside != new or of_other != orders_for(answer, trial, lengths, [(seed, 7)])[0]
    if shared:
        trial.given(f"two of ChunkSampler({lengths}, {seed}): set_epoch(7) for one, the other is new")
    trial.true(
        not shared and new == want,
        "The order of a new sampler depends on the epoch of a different sampler."
        if shared
        else "Before set_epoch was called the order is not that of epoch 0: a run that sets its epoch and one that does "
        "not differ.",
        expected=want,
        got=beside if shared else new,
        observed="shared" if shared else "not epoch 0",
    )


@chunk_sampler.property(
    "two iterations at once do not disturb each other, and a DataLoader takes it",
    asks="Iterations do not disturb each other.",
    once_right=True,
    changes=GLOBAL,
)
def _(answer: type, trial: Trial) -> None:
    lengths, seed = [3, 5, 2], some_seed(trial)
    (want,) = orders_for(answer, trial, lengths, [(seed, None)])
    sampler = made(answer, trial, lengths, seed)
    trial.given(f"sampler = ChunkSampler({lengths}, {seed}); two iterators over it, asked in turns")
    pairs = list(itertools.islice(zip(iter(sampler), iter(sampler), strict=False), 20))
    both = [list(indices) for indices in zip(*pairs, strict=True)] or [[], []]
    trial.true(
        not any(faults(indices, sum(lengths)) for indices in both),
        "One of the two iterators does not give every index once.",
        expected="every index once from each of them",
        got=f"from the first {both[0]}, from the second {both[1]}",
        observed="one place" if not faults(sum(both, []), sum(lengths)) else len(pairs) == sum(lengths),
    )
    _undisturbed(trial, want, both)
    trial.given(
        f"sampler = ChunkSampler({lengths}, {seed}); three indices, list(sampler), and the other indices"
    )
    running = iter(sampler)
    first = rest_of(running, 3)
    between = order(sampler, sum(lengths))
    _undisturbed(trial, want, [first + rest_of(running, sum(lengths)), between])
    trial.given(f"DataLoader(range({sum(lengths)}), 4, sampler=ChunkSampler({lengths}, {seed}))")
    loader = DataLoader(range(sum(lengths)), 4, sampler=sampler, generator=torch.Generator())
    got = [batch.tolist() for batch in loader]
    trial.true(
        sorted(sum(got, [])) == list(range(sum(lengths))),
        "A DataLoader with this sampler does not give every sample once.",
        expected="3 batches with every sample once, as ints",
        got=got,
    )


def _undisturbed(trial: Trial, want: tuple[Any, ...], both: list[list[Any]]) -> None:
    """Wrong unless each of two iterations gives what it gives alone."""
    off = [
        f"the {name}"
        for name, indices in zip(("first", "second"), both, strict=True)
        if tuple(indices) != want
    ]
    trial.true(
        not off,
        f"The order of {' and of '.join(off)} of two iterations is not the one that comes without the other iteration.",
        expected=f"from each of them {list(want)}",
        got=f"from the first {both[0]}, from the second {both[1]}",
        observed="other orders",
    )


@chunk_sampler.property(
    "an index is a Python int",
    asks="Iterating gives each index once, as a Python int.",
    once_right=True,
    changes=GLOBAL,
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
