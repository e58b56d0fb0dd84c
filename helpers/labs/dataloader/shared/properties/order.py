"""Steps of the parallel loaders about processes, order and prefetching."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.pool import Pool
from typing import Any

import torch
from torch.utils.data import DataLoader

from helpers.check.calls import calls_to
from helpers.check.trial import Trial
from helpers.labs.dataloader.shared.loaders import Steps
from helpers.labs.dataloader.shared.processes import Log, Stuck
from helpers.labs.dataloader.shared.run import Loading, Samples, waits_for, worker_id

PROCESSES = "the samples are loaded by num_workers processes that the loader starts itself"
ORDER = "batches come in the sampler's order, however long each takes"
TURNS = "batch k is loaded by worker k % num_workers, which has a queue of its own"
SLOW = "while one batch takes long, no more is asked of the sampler than may be outstanding"
BOUND = "prefetch_factor * num_workers batches are outstanding, and never more"
DEFAULT = "prefetch_factor is 2 where it is not given"
LATE = "a consumer that is slower than the workers gets all batches"
EDGES = "an empty sampler, few batches, an empty batch, a batch that is None, keys that are no numbers"
ENDS = "after the last batch no worker goes on running"

_gated: dict[tuple[int, int], dict[str, Any]] = {}


def processes(answer: Any, trial: Trial) -> None:
    message = "6 batches of two samples, [6, 0], [7, 1] and so on, with two workers"
    batches = [[k + 6, k] for k in range(6)]
    with Loading(trial, answer, message, batches) as loading:
        loading.collate_fn = _Listed(loading.log)
        with calls_to(DataLoader, Pool, ProcessPoolExecutor) as calls:
            received = loading.rest()
        loads = loading.log.events("load")
        main = {thread for _, _, pid, thread, _ in loads if pid == os.getpid()}
        here = sum(pid == os.getpid() for _, _, pid, *_ in loads)
        trial.true(
            not main,
            f"{'All' if here == len(loads) else here} samples are loaded in the process of the training loop, in "
            + (
                "threads. Python runs one thread at a time there."
                if False in main
                else "the training loop itself, which waits meanwhile."
            ),
            expected="all samples loaded in processes",
            got=f"{here} of {len(loads)} samples loaded in the process of the training loop",
            observed=(
                "in this process",
                "threads" if False in main else "the loop itself",
                here == len(loads),
            ),
        )
        behind = {name for load in loads for name in load[4]} | {
            "DataLoader" for c in calls if c == "DataLoader"
        }
        behind |= {"a pool of processes" for call in calls if call != "DataLoader"}
        trial.true(
            not behind,
            f"The loader leaves the work to {' and '.join(sorted(behind))}: write the workers and queues yourself.",
            expected="processes that the loader starts itself, each with a queue",
            observed=("leaves it to", sorted(behind)),
        )
        given = sorted({kind for _, _, kind in loading.log.events("collated")} - {"list"})
        trial.true(
            not given,
            f"collate_fn was given a {' and a '.join(given)}: it takes the list of a batch's samples.",
            expected="collate_fn called on lists",
            got=f"called on a {' and a '.join(given)}",
            observed=("given to collate_fn", given),
        )
        trial.true(
            all(type(batch) is list for batch in received),
            "A batch is not what collate_fn returned.",
            expected=str(batches),
            got=received,
            observed=("kinds", sorted({type(batch).__name__ for batch in received})),
        )
        places = [min(batch, default=-1) for batch in received]
        asked = len(loading.places("asked"))
        trial.true(
            received or asked < 6,
            "All batches were asked of the sampler, and none came.",
            expected=str(batches),
            got=received,
            observed="sampler gone through, and no batch",
        )
        trial.true(
            sorted(places) == list(range(6)),
            "Some batches are lost, or come twice.",
            expected=str(batches),
            got=received,
            observed=("batches", len(received), len(set(places))),
        )
        trial.true(
            all(batch in batches for batch in received),
            "A batch does not hold its samples in the order of its list of indices.",
            expected=str(batches),
            got=received,
            observed="order in a batch"
            if all(sorted(batch) in list(map(sorted, batches)) for batch in received)
            else "other samples in a batch",
        )
        collated = loading.places("collated")
        trial.true(
            os.getpid() not in collated,
            f"{collated.count(os.getpid())} batches were collated in the process of the training loop, which waits meanwhile.",
            expected="collate_fn called in the worker that has read the samples",
            got=f"{collated.count(os.getpid())} of {len(collated)} calls of collate_fn in the process of the training loop",
            observed="collated in this process",
        )
        workers = len({pid for _, _, pid, _, _ in loads})
        trial.true(
            workers <= 2,
            f"The 6 batches were loaded by {workers} processes.",
            expected="2 processes, which live as long as the epoch",
            observed=("processes", workers),
        )


class _Listed:
    """A collate_fn that notes in which process it is called."""

    def __init__(self, log: Log) -> None:
        self.log = log

    def __call__(self, samples: list[Any]) -> list[Any]:
        self.log.note("collated", os.getpid(), type(samples).__name__)
        return list(samples)


def _says_who(samples: Samples, index: Any) -> Any:
    """A sample that notes which worker loads it, as get_worker_info() has it."""
    samples.log.note("by", index, worker_id())
    return index


def gated(answer: Any, trial: Trial) -> dict[str, Any]:
    """A run in which batch 0 takes longer than all that may be loaded beside it. The steps below share it."""
    key = id(answer), trial.seed
    message = (
        "12 batches of one sample, two workers, no prefetch_factor given; batch 0 ends after batches 1 and 3"
    )
    trial.given(message)
    if key not in _gated:
        acts = {0: waits_for(1, 3)}
        with Loading(trial, answer, message, [[k] for k in range(12)], acts=acts, usual=_says_who) as loading:
            received = [batch[0] for batch in loading.rest()]
            events = loading.log.events()
            before = events[: events.index(["done", 0])]
            _gated[key] = {
                "received": received,
                "beside": sorted(e[1] for e in before if e[0] == "done"),
                "asked": sum(e[0] == "asked" for e in before),
                "pids": [e[2] for e in sorted(e for e in events if e[0] == "load")],
                "ids": {e[1]: e[2] for e in events if e[0] == "by"},
                "left": loading.started.left(),
                # What was asked for and not handed over, each time that a batch was handed over.
                "outstanding": [
                    sum(e[0] == "asked" for e in events[:at]) - (event[1] + 1)
                    for at, event in enumerate(events)
                    if event[0] == "got"
                ],
            }
    return _gated[key]


def order(answer: Any, trial: Trial) -> None:
    received = gated(answer, trial)["received"]
    if received != list(range(12)):
        trial.fail(
            "Batches are lost, or come twice."
            if sorted(received) != list(range(12))
            else "Batches come in the order in which they are ready, not in the sampler's."
            if all(_kind_of(received))
            else "Batches come in a different order than the sampler's.",
            expected=str(list(range(12))),
            got=str(received),
            observed=("order", *_kind_of(received)),
        )


def _kind_of(received: list[int]) -> tuple[bool, ...]:
    """Whether all came, the slow one after those that were ready, and each worker's own in their order."""
    whole = sorted(received) == list(range(12))
    late = whole and received.index(0) > max(received.index(1), received.index(3))
    own = [[k for k in received if k % 2 == id] for id in range(2)]
    return whole, late, own[0] == sorted(own[0]), own[1] == sorted(own[1])


def turns(answer: Any, trial: Trial) -> None:
    found = gated(answer, trial)
    pids, beside = found["pids"], found["beside"]
    mine = [pids[k] for k in range(12) if k % 2 == 0], [pids[k] for k in range(12) if k % 2]
    if len(set(pids)) == 1:
        trial.fail(
            "One process loaded everything.",
            expected="2 processes, which take turns",
            observed=("turns", "one process"),
        )
    if len(set(mine[0])) > 1 or len(set(mine[1])) > 1:
        names = {pid: f"worker {at}" for at, pid in enumerate(dict.fromkeys(pids))}
        trial.fail(
            f"The batches are not dealt out in turns: while batch 0 was loaded, the other worker loaded {beside}."
            if 2 in beside
            else "The batches are not dealt out in turns.",
            expected="batches 0, 2, 4, ... by worker 0 and 1, 3, 5, ... by worker 1",
            got=", ".join(f"{k} by {names[pid]}" for k, pid in enumerate(pids)),
            observed=("turns", beside),
        )
    # What a worker is told about itself is asked below: here only whether the two numbers are exchanged.
    ids = found["ids"]
    if all(ids.get(k) == (k + 1) % 2 for k in range(1, 12)):
        trial.fail(
            "The batches are dealt out in turns, and each is loaded by the worker whose number, as get_worker_info() has it, is "
            "that of the other.",
            expected="batch 1 loaded by worker 1, batch 2 by worker 0, and so on",
            got="batch 1 loaded by worker 0, batch 2 by worker 1, and so on",
            observed=("turns", "exchanged"),
        )


def slow(answer: Any, trial: Trial) -> None:
    asked = gated(answer, trial)["asked"]
    trial.true(
        asked != 5,
        "5 batches had been asked of the sampler when batch 0 came, one too many.",
        expected="4 batches asked for, 2 * 2, until one is handed over",
        got=asked,
        observed="one too many",
    )
    trial.true(
        asked != 12,
        "All 12 batches had been asked of the sampler when batch 0 came.",
        expected="4 batches asked for, 2 * 2, until one is handed over",
        got=asked,
        observed="all",
    )
    trial.true(
        asked < 5,
        f"{asked} batches had been asked of the sampler when batch 0 came: 4 may be outstanding, and one that has arrived "
        "and waits for its turn is outstanding, too.",
        expected="4 batches asked for, 2 * 2, until one is handed over",
        got=asked,
        observed=("more", asked),
    )


def default(answer: Any, trial: Trial) -> None:
    asked = gated(answer, trial)["asked"]
    trial.true(
        asked > 3,
        f"Without a prefetch_factor {asked} batches had been asked of the sampler when batch 0 came.",
        expected="4 batches asked for: 2 workers, and prefetch_factor is 2 where nobody says otherwise",
        got=asked,
        observed=("fewer", asked),
    )


WORKERS, FACTOR = 3, 5
AHEAD = WORKERS * FACTOR

# What a number of batches that are outstanding too few comes from; asked after a `yield`, it is one less.
_TOO_FEW = {
    count - late: words
    for count, words in ((1, "one"), (WORKERS, "workers"), (FACTOR, "factor"), (WORKERS + FACTOR, "sum"))
    for late in (0, 1)
}


def bound(answer: Any, trial: Trial) -> None:
    message = (
        f"40 batches, {WORKERS} workers, prefetch_factor {FACTOR}, and a consumer that thinks long about each batch; "
        "batch k has the indices [k, k]"
    )
    with Loading(
        trial,
        answer,
        message,
        iter([[k, k] for k in range(40)]),
        num_workers=WORKERS,
        prefetch_factor=FACTOR,
    ) as loading:
        loading.start()
        for received in range(1, 4):
            loading.next()
            loading.started.settle()
            asked, done = len(loading.places("asked")), len(loading.places("done"))
            ahead = asked - received
            trial.true(
                ahead <= AHEAD,
                f"With {received} of 40 batches received, {asked} had been asked of the sampler: {ahead} are outstanding.",
                expected=f"{AHEAD} outstanding, {WORKERS} workers * prefetch_factor {FACTOR}",
                got=ahead,
                observed=("too many", "all" if asked == 40 else "more"),
            )
            trial.true(
                ahead >= AHEAD - 1,
                f"While the consumer works on batch {received - 1}, only {ahead} more had been asked of the sampler."
                + (" Workers have nothing to do." if ahead < WORKERS else ""),
                expected=f"{AHEAD} batches ahead of the consumer, {WORKERS} workers * prefetch_factor {FACTOR}",
                got=ahead,
                observed=("too few", received, _TOO_FEW.get(ahead, ahead)),
            )
            trial.true(
                done != asked,
                "A list of indices that has one of them twice is a batch with this sample twice, and it was read once.",
                expected=f"{2 * asked} samples read for {asked} batches",
                got=f"{done} samples read",
                observed="read once",
            )
            trial.true(
                done >= 2 * asked,
                f"While the consumer works on batch {received - 1}, {asked} batches had been asked of the sampler, and the "
                f"workers had read {done} samples.",
                expected=f"{2 * asked} samples read",
                got=f"{done} samples read",
                observed=("not loaded", received),
            )
        _to_the_end(loading, trial)
    _after_a_slow_one(answer, trial)


def _after_a_slow_one(answer: Any, trial: Trial) -> None:
    """Wrong if too many are outstanding once a slow batch has come: those that came before it wait for their turn."""
    counts = gated(answer, trial)["outstanding"]
    place = next((place for place, count in enumerate(counts) if count > 4), None)
    if place is not None:
        trial.fail(
            f"When batch {place} was handed over, {counts[place]} more had been asked of the sampler. Batches 1 and 3 had arrived "
            "before batch 0: until they are handed over they are outstanding.",
            expected="4 batches that are asked for and not yet handed over, 2 * 2",
            got=counts[place],
            observed=("too many", "after a slow one"),
        )


def _to_the_end(loading: Loading, trial: Trial) -> None:
    """Takes the rest of the 40 batches: whose turn it is does not depend on how many are outstanding."""
    received = [batch[0] for batch in loading.rest()]
    if received != list(range(40)):
        whole = sorted(received) == list(range(40))
        trial.fail(
            f"With {WORKERS} workers the batches come in a different order than the sampler's."
            if whole
            else f"With {WORKERS} workers {len(received)} of 40 batches came, or some came twice.",
            expected="batches 0 to 39 in order",
            got=str(received),
            observed=("order", whole),
        )
    pids = {index: pid for _, index, pid, *_ in loading.log.events("load")}
    strange = [k for k in range(40) if pids[k] != pids[k % WORKERS]]
    if strange:
        trial.fail(
            f"Batch {strange[0]} was not loaded by the worker that loaded batch {strange[0] % WORKERS}.",
            expected=f"worker k % {WORKERS} loads batch k",
            got=f"{len(strange)} of 40 batches loaded by a different worker",
            observed=("turns", strange[0]),
        )


def _tensor(samples: Samples, index: Any) -> torch.Tensor:
    return torch.full((3,), float(index))


def late(answer: Any, trial: Trial) -> None:
    message = "6 batches of tensors, two workers; the consumer takes the last ones when the workers have long loaded them"
    batches = [[k, k + 1] for k in range(6)]
    with Loading(trial, answer, message, batches, usual=_tensor, collate_fn=torch.stack) as loading:
        loading.start()
        try:
            for received in range(1, 7):
                loading.next()
                if received in (2, 4):
                    loading.started.settle()
            loading.rest()
        except StopIteration:
            trial.fail(
                f"The epoch ended after {len(loading.received)} of 6 batches.",
                expected="6 batches",
                observed=("short", len(loading.received)),
            )
        except (OSError, EOFError) as error:
            trial.fail(
                "A batch could not be taken from the queue: a tensor stays in its worker's hands until it is received, and "
                "the worker had ended.",
                expected="workers that live until the last batch has been received",
                got=f"{type(error).__name__} at batch {len(loading.received)}",
                observed="workers ended too early",
            )
        except Stuck as stuck:
            loading.hangs(stuck)
        want = [torch.tensor([[float(k)] * 3, [k + 1.0] * 3]) for k in range(6)]
        trial.equal(loading.received, want, "The batches", observed=("late", len(loading.received)))


def edges(answer: Any, trial: Trial) -> None:
    with Loading(trial, answer, "a sampler without batches, one worker", [], num_workers=1) as loading:
        loading.where = "no batches"
        received = loading.rest()
        trial.equal(received, [], "The batches", observed=("empty", len(received)))

    def collate(samples: list) -> Any:
        return "".join(samples) or None

    message = 'batches ["a", "b"], [] and ["c"]; collate_fn gives None for the empty one; four workers'
    batches = [["a", "b"], [], ["c"]]
    with Loading(
        trial, answer, message, batches, collate_fn=collate, num_workers=4, prefetch_factor=1
    ) as loading:
        received = loading.rest()
        trial.equal(received, ["ab", None, "c"], "The batches", observed=("edges", received))


def ends(answer: Any, trial: Trial) -> None:
    left = gated(answer, trial)["left"]
    trial.true(
        "running" not in left,
        "After the last batch workers are still running.",
        expected="workers that were told that there is no more",
        observed=("after the last batch", left),
    )


FIRST: Steps = [
    (PROCESSES, processes),
    (ORDER, order),
    (TURNS, turns),
    (SLOW, slow),
    (BOUND, bound),
    (DEFAULT, default),
    (LATE, late),
    (EDGES, edges),
]
LAST: Steps = [(ENDS, ends)]
