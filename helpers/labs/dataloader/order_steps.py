"""Steps of the parallel loaders about processes, order, prefetching and random numbers."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    RandomSampler,
    default_collate,
    get_worker_info,
)

from helpers.calls import calls_to
from helpers.labs.dataloader.ladder import Steps
from helpers.labs.dataloader.scene import Samples, Scene, waits_for
from helpers.labs.dataloader.workers import numpy_seed
from helpers.trial import Trial

PROCESSES = "the samples are loaded by num_workers processes that the loader starts itself"
ORDER = "batches come in the sampler's order, however long each takes"
TURNS = "batch k is loaded by worker k % num_workers, which has a queue of its own"
SLOW = "while one batch takes long, no more is asked of the sampler than may be outstanding"
BOUND = "prefetch_factor * num_workers batches are outstanding, and never more"
LATE = "a consumer that is slower than the workers gets all batches"
EDGES = "an empty sampler, few batches, an empty batch, a batch that is None, keys that are no numbers"
INFO = "a worker knows who it is, uses one thread, and runs worker_init_fn"
SEEDS = "the global generators of each worker are seeded as torch seeds them"
DRAW = "one number is drawn from the generator, before the sampler is asked"
ENDS = "after the last batch no worker goes on running"

_gated: dict[tuple[int, int], dict[str, Any]] = {}


def processes(answer: Any, trial: Trial) -> None:
    pool = _pools()
    said = "6 batches of one sample, with two workers"
    with Scene(trial, answer, said, [[k] for k in range(6)]) as scene:
        with calls_to(DataLoader, *pool) as calls:
            received = scene.rest()
        loads = scene.log.events("load")
        main = {thread for _, _, pid, thread, _ in loads if pid == os_pid()}
        trial.true(
            not main,
            "The samples are loaded in the process of the training loop, in "
            + ("threads" if False in main else "the training loop itself")
            + ". Python runs one thread at a time there.",
            expected="loading in processes",
            observed=("in this process", "threads" if False in main else "the loop itself"),
        )
        behind = {name for load in loads for name in load[4]} | {"DataLoader" for c in calls if c == "DataLoader"}
        behind |= {"a pool of processes" for call in calls if call != "DataLoader"}
        trial.true(
            not behind,
            f"The loader leaves the work to {' and '.join(sorted(behind))}: write the workers and queues yourself.",
            expected="processes that the loader starts itself, each with a queue",
            observed=("leaves it to", sorted(behind)),
        )
        trial.true(
            all(type(batch) is list for batch in received),
            "A batch is not what collate_fn returned.",
            expected=str([[k] for k in range(6)]),
            got=received,
            observed=("kinds", sorted({type(batch).__name__ for batch in received})),
        )
        trial.true(
            sorted(batch[0] for batch in received) == list(range(6)),
            "Some batches are lost, or come twice.",
            expected=str([[k] for k in range(6)]),
            got=received,
            observed=("batches", len(received), len({batch[0] for batch in received})),
        )
        workers = len({pid for _, _, pid, _, _ in loads})
        trial.true(
            workers <= 2,
            f"The 6 batches were loaded by {workers} processes.",
            expected="2 processes, which live as long as the epoch",
            observed=("processes", workers),
        )


def os_pid() -> int:
    import os

    return os.getpid()


def _pools() -> list[type]:
    import concurrent.futures
    import multiprocessing.pool

    return [multiprocessing.pool.Pool, concurrent.futures.ProcessPoolExecutor]


def gated(answer: Any, trial: Trial) -> dict[str, Any]:
    """A run in which batch 0 takes longer than all that may be loaded beside it. The steps below share it."""
    key = id(answer), trial.seed
    said = "12 batches of one sample, two workers, prefetch_factor 2; batch 0 ends after batches 1 and 3"
    trial.given(said)
    if key not in _gated:
        acts = {0: waits_for(1, 3)}
        with Scene(trial, answer, said, [[k] for k in range(12)], acts=acts, prefetch_factor=2) as scene:
            received = [batch[0] for batch in scene.rest()]
            events = scene.log.events()
            before = events[: events.index(["done", 0])]
            _gated[key] = {
                "received": received,
                "beside": sorted(e[1] for e in before if e[0] == "done"),
                "asked": sum(e[0] == "asked" for e in before),
                "pids": [e[2] for e in sorted(e for e in events if e[0] == "load")],
                "left": scene.crew.left(),
            }
    return _gated[key]


def order(answer: Any, trial: Trial) -> None:
    received = gated(answer, trial)["received"]
    if received != list(range(12)):
        trial.fail(
            "Batches come in the order in which they are ready, not in the sampler's."
            if sorted(received) == list(range(12))
            else "Batches are lost, or come twice.",
            expected=str(list(range(12))),
            got=str(received),
            observed=("order", sorted(received) == list(range(12)), received[0] == 0),
        )


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
            "Which worker loads a batch depends on who is free: "
            f"while batch 0 was loaded, the other worker loaded {beside}."
            if 2 in beside
            else "The batches are not dealt out in turns.",
            expected="batches 0, 2, 4, ... by worker 0 and 1, 3, 5, ... by worker 1",
            got=", ".join(f"{k} by {names[pid]}" for k, pid in enumerate(pids)),
            observed=("turns", 2 in beside),
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
        f"{asked} batches had been asked of the sampler when batch 0 came: batches that have arrived and wait for "
        "their turn are outstanding, too.",
        expected="4 batches asked for, 2 * 2, until one is handed over",
        got=asked,
        observed="more",
    )


def bound(answer: Any, trial: Trial) -> None:
    said = "20 batches, three workers, prefetch_factor 2, and a consumer that thinks long about each batch"
    with Scene(
        trial, answer, said, iter([[k, k] for k in range(20)]), usual=_tensor, num_workers=3, prefetch_factor=2
    ) as scene:
        scene.start()
        for received in range(1, 3):
            scene.next()
            scene.crew.settle()
            asked, loaded = len(scene.places("asked")), len(scene.places("done")) // 2
            ahead = asked - received
            trial.true(
                ahead <= 6,
                f"With {received} of 20 batches received, {asked} had been asked of the sampler: {ahead} are outstanding.",
                expected="6 outstanding, 3 workers * prefetch_factor 2",
                got=ahead,
                observed=("too many", "all" if asked == 20 else "more"),
            )
            trial.true(
                ahead >= 5 and loaded >= asked,
                f"While the consumer works on batch {received - 1}, only {ahead} more had been asked of the sampler "
                f"and {max(0, loaded - received)} loaded: the workers have nothing to do.",
                expected="6 batches ahead of the consumer, 3 workers * prefetch_factor 2",
                got=ahead,
                observed=("too few", received, ahead if ahead < 5 else "not loaded"),
            )


def _tensor(samples: Samples, index: Any) -> torch.Tensor:
    return torch.full((3,), float(index))


def late(answer: Any, trial: Trial) -> None:
    said = "6 batches of tensors, two workers; the consumer takes the last ones when the workers have long loaded them"
    batches = [[k, k + 1] for k in range(6)]
    with Scene(trial, answer, said, batches, usual=_tensor, collate_fn=torch.stack) as scene:
        scene.start()
        try:
            for received in range(1, 7):
                scene.next()
                if received in (2, 4):
                    scene.crew.settle()
            scene.rest()
        except StopIteration:
            trial.fail(
                f"The epoch ended after {len(scene.received)} of 6 batches.",
                expected="6 batches",
                observed=("short", len(scene.received)),
            )
        except (OSError, EOFError) as error:
            trial.fail(
                f"Batch {len(scene.received)} could not be taken from the queue ({type(error).__name__}): a tensor "
                "stays in its worker's hands until it is received, and the worker had ended.",
                expected="workers that live until the last batch has been received",
                observed="workers ended too early",
            )
        except BaseException as stuck:
            _hang(scene, stuck)
        want = [torch.tensor([[float(k)] * 3, [k + 1.0] * 3]) for k in range(6)]
        trial.equal(scene.received, want, "The batches", observed=("late", len(scene.received)))


def _hang(scene: Scene, stuck: BaseException) -> None:
    from helpers.labs.dataloader.crew import Stuck

    if isinstance(stuck, Stuck):
        scene.hangs(stuck)
    raise stuck


def edges(answer: Any, trial: Trial) -> None:
    with Scene(trial, answer, "a sampler without batches, one worker", [], num_workers=1) as scene:
        received = scene.rest()
        trial.equal(received, [], "The batches", observed=("empty", len(received)))

    def collate(samples: list) -> Any:
        return "".join(samples) or None

    said = 'batches ["a", "b"], [] and ["c"]; collate_fn gives None for the empty one; four workers'
    batches = [["a", "b"], [], ["c"]]
    with Scene(
        trial, answer, said, batches, collate_fn=collate, num_workers=4, prefetch_factor=1
    ) as scene:
        received = scene.rest()
        trial.equal(received, ["ab", None, "c"], "The batches", observed=("edges", received))


def ends(answer: Any, trial: Trial) -> None:
    left = gated(answer, trial)["left"]
    trial.true(
        "running" not in left,
        "After the last batch the workers are still running, and wait for ever for their next task.",
        expected="workers that were told that there is no more",
        observed=("after the last batch", left),
    )


class Noise(Dataset):
    """Sample `index`: the index, then one draw each of random, NumPy and torch."""

    def __getitem__(self, index: int) -> torch.Tensor:
        draws = random.random(), np.random.random(), torch.rand((), dtype=torch.float64).item()
        return torch.tensor([index, *draws], dtype=torch.float64)

    def __len__(self) -> int:
        return 6


def seeds(answer: Any, trial: Trial) -> None:
    seed = trial.random.getrandbits(40)
    batches = [[0], [1], [2], [3]]
    generator, twin = torch.Generator().manual_seed(seed), torch.Generator()
    noise, want = [], []
    for epoch in (1, 2):
        said = f"noise of random, NumPy and torch; two workers, epoch {epoch} with one generator, seeded with {seed}"
        want.append(_expected(twin.set_state(generator.get_state())))
        with Scene(
            trial, answer, said, batches, usual=_noise, collate_fn=default_collate, generator=generator
        ) as scene:
            noise.append(torch.cat(scene.rest())[:, 1:])
    wrong = [
        name
        for at, name in enumerate(("random", "NumPy", "torch"))
        if any(not torch.equal(a[:, at], b[:, at]) for a, b in zip(noise, want, strict=True))
    ]
    if wrong:
        at = ("random", "NumPy", "torch").index(wrong[0])
        alike = bool((noise[0][:2, at].unique().numel()) == 1)
        again = torch.equal(noise[0][:, at], noise[1][:, at])
        both = [text for text, is_so in (("both workers draw the same", alike), ("epoch 2 repeats epoch 1", again)) if is_so]
        trial.fail(
            f"{' and '.join(wrong)} {'are' if len(wrong) > 1 else 'is'} not seeded as in a worker of DataLoader"
            + (f": {' and '.join(both)}." if both else "."),
            expected="random and torch seeded with base_seed + id, NumPy with numpy_seed(base_seed, id)",
            got=f"first draws of {wrong[0]}: {[round(x, 4) for x in noise[0][:2, at].tolist()]}, "
            f"in epoch 2: {[round(x, 4) for x in noise[1][:2, at].tolist()]}",
            observed=("noise", wrong, alike, again),
        )


def _noise(samples: Samples, index: int) -> torch.Tensor:
    return Noise()[index]


def _expected(generator: torch.Generator) -> torch.Tensor:
    """The draws of four batches of one sample, dealt to two workers that torch has seeded."""
    base_seed = torch.empty((), dtype=torch.int64).random_(generator=generator).item()
    rows: list[Any] = [None] * 4
    for id in range(2):
        own = random.Random(base_seed + id)
        for_numpy = np.random.RandomState(numpy_seed(base_seed, id))
        for_torch = torch.Generator().manual_seed(base_seed + id)
        for k in (id, id + 2):
            value = torch.rand((), dtype=torch.float64, generator=for_torch).item()
            rows[k] = [own.random(), for_numpy.random_sample(), value]
    return torch.tensor(rows, dtype=torch.float64)


def draw(answer: Any, trial: Trial) -> None:
    seed = trial.random.getrandbits(40)
    ours, torchs = (torch.Generator().manual_seed(seed) for _ in range(2))
    said = f"batches of a RandomSampler that shares the loader's generator, seeded with {seed}: as DataLoader gives"
    options: dict[str, Any] = dict(collate_fn=default_collate, num_workers=2)
    context = "fork" if "fork" in torch.multiprocessing.get_all_start_methods() else None
    want = DataLoader(
        Noise(),
        batch_sampler=BatchSampler(RandomSampler(Noise(), generator=torchs), 2, False),
        generator=torchs,
        multiprocessing_context=context,
        **options,
    )
    want = list(want)
    batches = BatchSampler(RandomSampler(Noise(), generator=ours), 2, False)
    with Scene(trial, answer, said, batches, usual=_noise, generator=ours, **options) as scene:
        received = scene.rest()
    indices = [[row[0] for row in batch.tolist()] for batch in received]
    moved = not torch.equal(ours.get_state(), torchs.get_state())
    same = indices == [[row[0] for row in batch.tolist()] for batch in want]
    trial.true(
        same and not moved,
        "The generator is not used as DataLoader uses it: "
        + ("the same indices came, but it stands elsewhere now." if same else "other indices came."),
        expected="one draw of a base seed from the generator, then the sampler's own draws",
        got=str(indices),
        observed=("generator", same, moved),
    )
    trial.equal(received, want, "The batches", rtol=0, atol=0, observed="other noise")


def info(answer: Any, trial: Trial) -> None:
    generator = torch.Generator().manual_seed(trial.random.getrandbits(40))
    twin = torch.Generator().set_state(generator.get_state())
    base_seed = torch.empty((), dtype=torch.int64).random_(generator=twin).item()
    threads = torch.get_num_threads()
    said = "two workers; worker_init_fn asks get_worker_info() and marks the data set; this process has two threads"
    with Scene(trial, answer, said, [[k] for k in range(4)], usual=_marked, generator=generator) as scene:
        scene.options["worker_init_fn"] = _Hook(scene.samples)
        torch.set_num_threads(2)
        try:
            received = scene.rest()
            own = torch.get_num_threads()
        finally:
            torch.set_num_threads(threads)
        hooks = scene.log.events("hook")
        _see_hooks(trial, hooks, base_seed, own)
        loads = scene.log.events("load")
        first = {hook[1]: scene.log.events().index(hook) for hook in hooks}
        before = [load for load in loads if scene.log.events().index(load) < first.get(load[2], 0)]
        trial.true(
            not before,
            "A worker loaded a sample before worker_init_fn had run in it.",
            expected="worker_init_fn, then samples",
            observed="hook too late",
        )
        want = [[(k % 2) + 100] for k in range(4)]
        trial.true(
            received == want,
            "What worker_init_fn changed in get_worker_info().dataset is not what the worker loads from.",
            expected=str(want),
            got=received,
            observed=("marks", received == [[None]] * 4),
        )


def _see_hooks(trial: Trial, hooks: list[list[Any]], base_seed: int, own: int) -> None:
    here = os_pid()
    trial.true(
        all(pid != here for _, pid, *_ in hooks),
        "worker_init_fn was called in the process of the training loop: it is there to prepare a worker.",
        expected="a call in each worker",
        observed="hook in this process",
    )
    ids = sorted(hook[2] if isinstance(hook[2], int) else -1 for hook in hooks)
    trial.true(
        ids == [0, 1],
        f"worker_init_fn was called {len(hooks)} times" + (f", with {ids}." if ids else "."),
        expected="once in each worker, with the worker's number: 0 and 1",
        observed=("hooks", ids),
    )
    told = [hook[3] for hook in sorted(hooks, key=lambda hook: hook[2])]
    trial.true(
        None not in told,
        "get_worker_info() gives None in a worker while worker_init_fn runs: set_worker_info comes before it.",
        expected="the worker's id, num_workers, seed and data set",
        observed="no worker info",
    )
    trial.true(
        told == [[id, 2, base_seed + id] for id in range(2)],
        "get_worker_info() tells other things in the workers than DataLoader would.",
        expected=str([dict(id=id, num_workers=2, seed=base_seed + id) for id in range(2)]),
        got=str([dict(zip(("id", "num_workers", "seed"), each, strict=True)) for each in told]),
        observed=("info", [each[:2] == [id, 2] for id, each in enumerate(told)], told[0][2] == base_seed),
    )
    seeded = [hook[4] for hook in hooks]
    trial.true(
        seeded == [base_seed + hook[2] for hook in hooks],
        "When worker_init_fn runs, the worker's generators are not seeded yet: what it draws or derives is lost.",
        expected="torch.initial_seed() == base_seed + id in worker_init_fn",
        observed="hook before the seeds",
    )
    trial.true(
        all(hook[5] == 1 for hook in hooks),
        "torch uses several threads in a worker. A pool of threads does not survive a fork: the next large sum or "
        "product in such a worker hangs, once this process has computed.",
        expected="torch.set_num_threads(1) as the first thing in a worker",
        observed="threads in a worker",
    )
    trial.true(
        own == 2,
        "torch.set_num_threads(1) was called in the process of the training loop, which now computes with one thread.",
        expected="one thread in the workers only",
        observed="one thread here",
    )


class _Hook:
    """A worker_init_fn that notes what it finds."""

    def __init__(self, samples: Samples) -> None:
        self.samples = samples

    def __call__(self, worker_id: int) -> None:
        found = get_worker_info()
        told = None if found is None else [found.id, found.num_workers, found.seed]
        number = worker_id if isinstance(worker_id, int) else repr(worker_id)
        self.samples.log.note("hook", os_pid(), number, told, torch.initial_seed(), torch.get_num_threads())
        (self.samples if found is None else found.dataset).mark = number + 100


def _marked(samples: Samples, index: int) -> Any:
    return samples.mark


FIRST: Steps = [
    (PROCESSES, processes),
    (ORDER, order),
    (TURNS, turns),
    (SLOW, slow),
    (BOUND, bound),
    (LATE, late),
    (EDGES, edges),
    (SEEDS, seeds),
    (DRAW, draw),
    (INFO, info),
    (ENDS, ends),
]
