"""Exercise 01.seed_worker: noise for a dataset that owns a NumPy Generator.

Most properties play the workers as torch starts them: each in a fork of its own where what a hook keeps could matter,
in this process where hundreds of epochs should cost little. The last one runs a real DataLoader with real workers.
"""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from helpers.check import guard
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.reproducibility.seed_worker.played import (
    DRAWS,
    MANY,
    WORKERS,
    Noisy,
    Start,
    alone,
    begun,
    drawn,
    generator_of,
    others,
    played,
    started,
)
from helpers.labs.reproducibility.shared.forks import in_a_fork
from helpers.labs.reproducibility.shared.machines import elsewhere, worker

seed_worker = Exercise(
    "01.seed_worker",
    "Noise that differs by worker and repeats by run",
    objective="Give each worker of a DataLoader its own stream of a generator that the dataset owns.",
    minutes=20,
    difficulty="medium",
    seconds=30,  # 20,000 epochs of a hook that seeds all generators, or spawns sequences, on a busy machine
    hints=[
        "Each worker starts as a copy of the dataset, with a copy of its generator in one and the same state. "
        "Which number is different in each worker and each epoch, and the same in each run?",
        "In a worker, torch.utils.data.get_worker_info() knows the worker's copy of the dataset and its seed; "
        "torch.initial_seed() is the same seed. It is the epoch's base seed plus the worker's number.",
        "Assign np.random.default_rng(info.seed) to info.dataset.rng. default_rng takes all 64 bits as they are.",
    ],
)

ANYTHING = tuple(guard.SLOTS)  # a worker is a process of its own, and may change what it likes
STRETCH = 50_000  # draws in which two streams may not meet, at whatever place
FAR = 1 << 22  # draws in which no stream may come to the beginning of a different one

OWN_STREAM = (
    "Give `rng`, the generator that the worker's copy of the dataset owns, a stream of its own; made to be a "
    "DataLoader's `worker_init_fn`."
)
DIFFERS = "Its numbers differ between workers and between epochs: no two streams have a stretch in common."
REPEATS = (
    "They repeat if the main process was seeded alike: the base seed and the worker's number decide, perhaps with the "
    "old state of `rng`; no clock, no process id, no salted hash."
)


def base_seeds(trial: Trial, epochs: int) -> list[int]:
    """What a loader draws: a number of 63 bits an epoch. Here odd ones, and of up to 5 no two end alike."""
    seeds: list[int] = []
    while len(seeds) < epochs:
        seed = trial.random.getrandbits(62) | 1
        if epochs > 5 or all((seed - other) % 10 and (seed - other) % 16 for other in seeds):
            seeds.append(seed)
    return seeds


@seed_worker.property(
    "the dataset's rng is still a numpy.random.Generator",
    asks="`rng` is a `numpy.random.Generator` before the call, and is one afterwards.",
    changes=ANYTHING,
)
def _(answer: Any, trial: Trial) -> None:
    (base,) = base_seeds(trial, 1)
    trial.given("worker 1 of 5; its dataset has rng = np.random.default_rng(5)")
    started(answer, trial, base, 1)


@seed_worker.property(
    "in every epoch, every worker's dataset draws noise of its own",
    asks=(OWN_STREAM, DIFFERS),
    changes=ANYTHING,
)
def _(answer: Any, trial: Trial) -> None:
    trial.given("two epochs with three workers, each a copy of a dataset with rng = np.random.default_rng(5)")
    seeds = base_seeds(trial, 2)
    starts = []
    for epoch, base in enumerate(seeds):
        row = []
        for id in range(3):
            with elsewhere(pid=WORKERS * epoch + id, hours=epoch):
                row.append(started(answer, trial, base, id))
        starts.append(row)
    table = [[each.noise[0] for each in row] for row in starts]
    by_worker = any(len(set(row)) > 1 for row in table)
    by_epoch = any(len(set(column)) > 1 for column in zip(*table, strict=True))
    if shared := starts[0][0].shared:
        trial.fail(
            f"What the dataset draws moves {' and '.join(shared)}: the two have one stream.",
            expected="a stream of its own for the dataset",
            got=f"a generator that shares its state with {' and '.join(shared)}",
            observed=("shared", shared),
        )
    if by_worker and by_epoch:
        return
    alike = "every worker of an epoch draws the same noise" if not by_worker else ""
    again = "the second epoch draws the noise of the first" if not by_epoch else ""
    first = starts[0][0]
    alone = first.noise == tuple(np.random.default_rng(5).random(DRAWS).tolist())
    word, sentence = _left_alone(first) if alone else ("", "")
    trial.fail(
        f"{' and '.join(filter(None, (alike, again))).capitalize()}.{sentence}",
        expected="other numbers from each worker in each epoch",
        got="\n".join(
            f"epoch {epoch}: " + ", ".join(f"worker {id} draws {value:.4f}" for id, value in enumerate(row))
            for epoch, row in enumerate(table, 1)
        ),
        observed=(
            by_worker,
            by_epoch,
            word,
            "from its own state" if _own_state_matters(answer, trial, seeds[0]) else "",
            "low half" if _low_half_matters(answer, trial, seeds[0]) else "",
        ),
    )


def _left_alone(first: Start) -> tuple[str, str]:
    """What the hook did instead of touching the dataset's generator: a word, and a sentence for the report."""
    message = " The dataset's own generator was left alone"
    if first.moved:
        return "global", f"{message}; what the hook seeded is {' and '.join(first.moved)}."
    if "dataset" in first.asked:
        return "dataset read", f"{message}, though the hook looked at the worker's dataset."
    if "seed" in first.asked:
        return "seed read", f"{message}, though the hook asked for the worker's seed."
    return "nothing", f"{message}."


def _own_state_matters(answer: Any, trial: Trial, base: int) -> bool:
    """Whether the noise depends on where the dataset's own generator stood."""
    return started(answer, trial, base, 1, 5).noise != started(answer, trial, base, 1, 6).noise


def _low_half_matters(answer: Any, trial: Trial, base: int) -> bool:
    return started(answer, trial, base, 1).noise != started(answer, trial, base ^ 0xFF0, 1).noise


ADDRESS = "with its dataset at a different address"
OTHERS: dict[str, dict[str, int]] = {
    "in the same circumstances": {},
    "as a process with a different number": {"pid": 5},
    "at a different time": {"hours": 5},
    "in a process with a different salt in its hashes": {"salt": 5},
    ADDRESS: {"ballast": 500},
    "beside one worker more": {"workers": WORKERS + 1},
}


@seed_worker.property("another run with the same seed gives the same noise", asks=REPEATS, changes=ANYTHING)
def _(answer: Any, trial: Trial) -> None:
    trial.given("the same worker of the same epoch, started twice")
    (base,) = base_seeds(trial, 1)
    with elsewhere():
        first = started(answer, trial, base, 2).noise
    for word, other in OTHERS.items():
        circumstances = {name: value for name, value in other.items() if name in ("pid", "hours", "salt")}
        played_as = {name: value for name, value in other.items() if name not in circumstances}
        with elsewhere(**circumstances):
            again = started(answer, trial, base, 2, **played_as).noise
        by_others = "workers" in played_as
        if (
            first != again
            and not by_others
            and in_a_fork(partial(_is_by_address, answer, trial, base, circumstances))
        ):
            word = ADDRESS  # no two processes have the same ones, whatever else differs
        trial.true(
            first == again,
            f"Started again {word}, the worker draws other noise.",
            expected=f"{first[0]:.6f} again, from the loader's seed, the epoch and the worker alone",
            got=f"{again[0]:.6f}",
            observed=word,
        )


def _is_by_address(answer: Any, trial: Trial, base: int, circumstances: dict[str, int]) -> bool:
    """Whether the noise is the same in these circumstances and in others, if the dataset is one and the same object."""
    dataset, noises = Noisy(10, 5), []
    for now in ({}, circumstances):
        dataset.rng = np.random.default_rng(5)
        with elsewhere(**now), worker(base, 2, WORKERS, dataset):
            answer(2)
        noises.append(drawn(dataset, trial))
    return noises[0] == noises[1]


@seed_worker.property(
    "over 120 epochs with 5 workers no two workers draw the same noise", asks=DIFFERS, changes=ANYTHING
)
def _(answer: Any, trial: Trial) -> None:
    trial.given(f"120 epochs with 5 workers, the first of them with {MANY}")
    bases = base_seeds(trial, 120)
    pairs, shifted = in_a_fork(lambda: meetings(answer, trial, bases))
    if len(pairs) < 2:  # a seed of 31 bits may meet another one by chance, once
        return
    epoch, id, other_epoch, other_id = next(iter(pairs))
    one = alone(answer, trial, bases[epoch], id, epoch)
    other = alone(answer, trial, bases[other_epoch], other_id, other_epoch)
    if not set(one) & set(other):  # the hook keeps something, which workers cannot share
        return
    same_worker = Counter(pair[1] for pair, kind in pairs.items() if kind == "same worker")
    same_epoch = Counter((pair[1], pair[3]) for pair, kind in pairs.items() if kind == "same epoch")
    workers = {worker for pair in pairs for worker in pair[1::2]}
    trial.fail(
        f"Worker {id} of epoch {epoch} and worker {other_id} of epoch {other_epoch} draw the same numbers"
        + (", one of them some draws later." if shifted else ".")
        + f" They are not the only such pair: {len(pairs)} were found"
        + (f", each of worker {id} in two epochs." if len(workers) == 1 else "."),
        expected="streams that have no number in common",
        got=f"the first begins {_shown(one)}, the second {_shown(other)}",
        observed=(
            shifted,
            "far" in pairs.values(),
            sorted(by for by, times in same_epoch.items() if times > 4),  # fewer: chance
            sorted(id for id, times in same_worker.items() if times > 4),
        ),
    )


def meetings(
    answer: Callable[[int], None], trial: Trial, bases: list[int]
) -> tuple[dict[tuple[int, int, int, int], str], bool]:
    """Pairs (epoch, worker, epoch, worker) that draw a number in common, and whether all do so some draws later."""
    owners: dict[float, tuple[int, int, int]] = {}
    pairs: dict[tuple[int, int, int, int], str] = {}
    shifted = True
    for epoch, base in enumerate(bases):
        for id in range(WORKERS if epoch else MANY):
            for place, value in enumerate(played(answer, trial, base, id, epoch)):
                other_epoch, other_id, other_place = owners.setdefault(value, (epoch, id, place))
                if (other_epoch, other_id) != (epoch, id):
                    pairs[other_epoch, other_id, epoch, id] = _kind(other_epoch, other_id, epoch, id)
                    shifted = shifted and place != other_place
        if len(pairs) > 60:
            break
    return pairs, shifted


def _shown(noise: tuple[float, ...]) -> str:
    return ", ".join(f"{value:.4f}" for value in noise)


# By how much two base seeds differ, if a remainder of the seed makes them one: what people write after a `%`, and powers.
PERIODS = sorted(
    {
        *(10**k for k in range(2, 10)),
        *(1 << k for k in range(7, 30)),
        65_521,
        999_983,
        1_000_003,
        10**9 + 7,
        10**9 + 9,
        2**30 - 1,
    }
)


@seed_worker.property(
    "base seeds that differ by a round number are different seeds",
    asks="There are 2**30 streams or more.",
    changes=ANYTHING,
)
def _(answer: Any, trial: Trial) -> None:
    (base,) = base_seeds(trial, 1)
    trial.given(f"worker 1 of two epochs, whose base seeds differ by {PERIODS[0]}, ..., or {PERIODS[-1]:,}")

    def found() -> list[int]:
        first = played(answer, trial, base, 1, 0)
        far = (
            2**33
        )  # a remainder does not change by this many periods either; a base seed without its low digits does
        return [
            period
            for period in PERIODS
            if all(played(answer, trial, base + times * period, 1, 1) == first for times in (1, far))
        ]

    for period in in_a_fork(found)[:1]:
        first, second = (alone(answer, trial, base + more, 1, at) for at, more in enumerate((0, period)))
        trial.true(
            first != second,
            f"Two epochs whose base seeds differ by {period:,} give the same noise.",
            expected="2**30 streams or more, so that two workers do not share one by chance",
            got=f"{_shown(first)} from both, so {period:,} streams or fewer",
            observed="few",
        )


@seed_worker.property(
    "in many draws of each, no two workers come to the same numbers", asks=DIFFERS, changes=ANYTHING
)
def _(answer: Any, trial: Trial) -> None:
    trial.given(f"two epochs with three workers, {STRETCH:,} draws of each")
    names, streams = [], []
    bases = base_seeds(trial, 2)
    for epoch, base in enumerate(bases):
        for id in range(3):
            names.append(f"worker {id} of epoch {epoch}")
            streams.append(in_a_fork(partial(_stretch, answer, trial, base, id, epoch)))
    firsts = [float(stream[0]) for stream in streams[:3]]
    together = np.sort(np.concatenate(streams))
    if not (together[1:] == together[:-1]).any():  # as nearly always: no pair needs a look
        streams = []
    for stream in streams:
        stream.sort()
    for at, stream in enumerate(streams):
        for before, other in enumerate(streams[:at]):
            common = int((other[np.searchsorted(other, stream).clip(max=STRETCH - 1)] == stream).sum())
            trial.true(
                common < 2,
                f"{names[before].capitalize()} and {names[at]} draw the same numbers, one of them later than the other.",
                expected="streams that have no stretch in common",
                got=f"{common:,} of {STRETCH:,} numbers in common",
                observed=("overlap", before // 3 == at // 3),
            )
    trial.given(f"one epoch with three workers, {FAR:,} draws of each")
    for at in range(3):
        begun = in_a_fork(lambda at=at: _come_to(answer, trial, bases[0], at, firsts))
        trial.true(
            not begun,
            f"Within {FAR:,} draws worker {at} of epoch 0 comes to where worker {begun and begun[0]} began.",
            expected="streams that have no stretch in common",
            got=f"the first draw of worker {begun and begun[0]}, later in the stream of worker {at}",
            observed=("overlap", True),
        )


def _stretch(answer: Callable[[int], None], trial: Trial, *args: int) -> np.ndarray:
    return generator_of(begun(answer, *args), trial).random(STRETCH)


def _come_to(
    answer: Callable[[int], None], trial: Trial, base: int, id: int, firsts: list[float]
) -> list[int]:
    """The other workers whose first draw is one of the many of this worker's."""
    dataset = Noisy(10, 5)
    with elsewhere(pid=id), worker(base, id, MANY, dataset):
        answer(id)
    numbers = np.empty(1 << 16)  # so many at a time stay in the processor's cache
    met: set[int] = set()
    for _ in range(FAR // len(numbers)):
        dataset.rng.random(out=numbers)
        met.update(other for other, first in enumerate(firsts) if other != id and (numbers == first).any())
    return sorted(met)


def _kind(epoch: int, id: int, other_epoch: int, other_id: int) -> str:
    if epoch == other_epoch:
        return "same epoch"
    return "same worker" if id == other_id else "far"


@seed_worker.property(
    "every kind of numpy.random.Generator is taken",
    asks="`rng` is a `numpy.random.Generator` before the call, and is one afterwards.",
    changes=ANYTHING,
)
def _(answer: Any, trial: Trial) -> None:
    (base,) = base_seeds(trial, 1)
    for kind in (np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64DXSM):
        trial.given(f"worker 1 of 5; its dataset has rng = np.random.Generator(np.random.{kind.__name__}(5))")
        try:
            in_a_fork(lambda kind=kind: _taken(answer, trial, base, np.random.Generator(kind(5))))
        except (ValueError, TypeError, AttributeError) as error:
            trial.fail(
                f"The hook raised {type(error).__name__} where the generator is of a different kind than default_rng's.",
                expected="a hook for every numpy.random.Generator",
                got=f"{type(error).__name__}: {error}"[:200],
                observed="of one kind only",
            )


def _taken(answer: Callable[[int], None], trial: Trial, base: int, rng: np.random.Generator) -> None:
    dataset = Noisy(10, 5)
    dataset.rng = rng
    with worker(base, 1, WORKERS, dataset):
        answer(1)
    drawn(dataset, trial)


@seed_worker.property(
    "what torch seeds in a worker by itself is not spoilt",
    asks="`random`, NumPy's and torch's global generators, which torch has seeded, still differ and repeat like this.",
    changes=ANYTHING,
)
def _(answer: Any, trial: Trial) -> None:
    trial.given("two epochs with three workers; random, NumPy and torch are used in them, too")
    with elsewhere():
        rows = [[started(answer, trial, b, id).others for id in range(3)] for b in base_seeds(trial, 2)]
    spoilt: dict[str, tuple[str, str]] = {}
    for name in rows[0][0]:
        values = [[each[name] for each in row] for row in rows]
        found = _alike(values, "worker"), _alike(list(zip(*values, strict=True)), "epoch")
        if any(found):
            spoilt[name] = found
    if spoilt:
        name, (by_worker, by_epoch) = next(iter(spoilt.items()))
        alike = filter(None, (by_worker, by_epoch))
        trial.fail(
            f"The dataset's noise is right, but the hook seeds {', '.join(spoilt)} anew: {name} now draws the same "
            f"numbers {' and '.join(alike)}. torch had seeded it well.",
            expected="random, NumPy and torch as torch seeded them, or seeded by the worker's own seed",
            got="\n".join(
                f"epoch {epoch}: "
                + ", ".join(f"worker {id} draws {each[name]:.4f}" for id, each in enumerate(row))
                for epoch, row in enumerate(rows, 1)
            ),
            observed=sorted(set(spoilt.values())),
        )
    trial.given("the same worker of the same epoch, started twice")
    (base,) = base_seeds(trial, 1)
    with elsewhere():
        first, again = (started(answer, trial, base, 1).others for _ in range(2))
    fresh = [name for name in first if first[name] != again[name]]
    trial.true(
        not fresh,
        f"The dataset's noise is right, but {', '.join(fresh)} now draws other numbers when the run is repeated.",
        expected="random, NumPy and torch as torch seeded them",
        got="\n".join(f"{name}: {first[name]:.4f}, then {again[name]:.4f}" for name in fresh),
        observed="fresh",
    )
    trial.given("60 epochs with three workers; random, NumPy and torch are used in them, too")
    with elsewhere():
        bases = base_seeds(trial, 60)
        many = in_a_fork(lambda: [others(answer, trial, base, id) for base in bases for id in range(3)])
    for name in many[0]:
        values = [each[name] for each in many]
        trial.true(
            len(values) - len(set(values)) < 2,
            f"The dataset's noise is right, but in 60 epochs with 3 workers {name} draws alike in several of them.",
            expected=f"{len(values)} workers, each with first draws of its own",
            got=f"{len(set(values))} different first draws",
            observed="few",
        )


def _alike(rows: Sequence[Sequence[float]], word: str) -> str:
    """Where the numbers of a row are the same: "in every worker", "in some workers"; "" if nowhere."""
    if all(len(set(row)) == 1 for row in rows):
        return f"in every {word}"
    return f"in some {word}s" if any(len(set(row)) < len(row) for row in rows) else ""


@seed_worker.property(
    "in thousands of epochs no two draw the same noise",
    asks="There are 2**30 streams or more.",
    changes=ANYTHING,
    once_right=True,
)
def _(answer: Any, trial: Trial) -> None:
    trial.given("worker 1 of 200 epochs")
    bits = in_a_fork(lambda: _bits_of_the_seeds(answer, trial))
    trial.true(
        bits is None or bits >= 30,
        f"In 200 epochs the streams of `rng` follow from seeds of {bits} bits: there are 2**{bits} of them at most.",
        expected="2**30 streams or more, so that two workers do not share one by chance",
        got=f"2**{bits} streams or fewer",
        observed="few",
    )
    trial.given(f"worker 1 of {EPOCHS:,} epochs")
    met = in_a_fork(lambda: _by_chance(answer, trial))
    # What a hook keeps from epoch to epoch workers cannot share: each is a process of its own.
    met = [
        pair for pair in met[:5] if alone(answer, trial, pair[0], 1, 0) == alone(answer, trial, pair[1], 1, 0)
    ]
    trial.true(
        len(met) < 2,
        f"Among {EPOCHS:,} epochs {len(met)} draw noise that an earlier one has drawn.",
        expected="2**30 streams or more, of which so few hardly ever meet, and never twice",
        got=" and ".join(f"base seeds {one:,} and {other:,} have one stream" for one, other in met[:2]),
        observed="few",
    )


EPOCHS = 5_000  # of 2**20 streams some twelve pairs meet


def _bits_of_the_seeds(answer: Callable[[int], None], trial: Trial) -> int | None:
    """How many bits the seeds of worker 1 have in 200 epochs; None where no SeedSequence decides the stream.

    A short hash gives few streams however well it mixes, and chance alone would take long to show 2**24 of them.
    """
    largest: dict[int, int] = {}
    for base in base_seeds(trial, 200):
        dataset = Noisy(1, 5)
        with worker(base, 1, 2, dataset):
            answer(1)
        bits = dataset.rng.bit_generator
        seeds = bits.seed_seq
        if not isinstance(seeds, np.random.SeedSequence) or seeds.spawn_key not in ((), (1,)):
            return None
        entropy = seeds.entropy
        again = type(bits)(
            np.random.SeedSequence(entropy, spawn_key=seeds.spawn_key, pool_size=seeds.pool_size)
        )
        if repr(again.state) != repr(bits.state):  # its state was set or advanced
            return None
        for place, number in enumerate(np.atleast_1d(np.asarray(entropy, dtype=object)).ravel()):
            largest[place] = max(largest.get(place, 0), int(number).bit_length())
    return sum(largest.values())


def _by_chance(answer: Callable[[int], None], trial: Trial) -> list[tuple[int, int]]:
    """Base seeds of two epochs in which worker 1 draws the same."""
    owners: dict[float, int] = {}
    met = []
    for base in base_seeds(trial, EPOCHS):
        dataset = Noisy(1, 5)
        with worker(base, 1, 2, dataset):  # of 2, since a hook may spawn a sequence for each
            answer(1)
        owner = owners.setdefault(dataset.rng.random(), base)
        if owner != base:
            met.append((owner, base))
    return met


@seed_worker.property(
    "a real DataLoader: two workers, two epochs, two runs",
    asks=(OWN_STREAM, REPEATS),
    changes=ANYTHING,
    once_right=True,
)
def _(answer: Any, trial: Trial) -> None:
    seed = trial.random.getrandbits(31)
    trial.given(
        f"DataLoader(dataset, num_workers=2, worker_init_fn=seed_worker), its generator seeded with {seed}"
    )
    first, second = (real_noise(answer, seed, run) for run in range(2))
    values = [value for _, value in first]
    trial.true(
        len(set(values)) == len(values),
        "Two samples of one run got the same noise.",
        expected="other noise for each sample",
        got=[f"worker {id}: {value:.4f}" for id, value in first],
    )
    trial.true(
        first == second,
        "The second run gave other noise than the first.",
        expected=str([f"worker {id}: {value:.4f}" for id, value in first]),
        got=[f"worker {id}: {value:.4f}" for id, value in second],
    )


class _Hook:
    """The learner's hook. Its clock moves from epoch to epoch and from run to run: no check hangs on the time."""

    def __init__(self, answer: Callable[[int], None]) -> None:
        self.answer, self.hours = answer, 0

    def __call__(self, worker_id: int) -> None:
        with elsewhere(hours=self.hours):
            self.answer(worker_id)


def real_noise(answer: Callable[[int], None], seed: int, run: int) -> list[tuple[int, float]]:
    """What two epochs of four samples give, with two real workers."""
    hook = _Hook(answer)
    loader = DataLoader(
        Noisy(4, 5),
        batch_size=None,
        num_workers=2,
        worker_init_fn=hook,
        generator=torch.Generator().manual_seed(seed),
        multiprocessing_context="fork" if "fork" in multiprocessing.get_all_start_methods() else None,
    )
    noise = []
    for epoch in range(2):
        hook.hours = 2 * run + epoch
        noise += list(loader)
    return noise
