"""Steps of the parallel loaders about random numbers, worker_init_fn and what a worker knows of itself."""

from __future__ import annotations

import os
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

from helpers.check.trial import Trial
from helpers.labs.dataloader.shared.loaders import Steps
from helpers.labs.dataloader.shared.run import Loading, Samples
from helpers.labs.dataloader.shown.workers import numpy_seed

INFO = "a worker knows who it is, uses one thread, and runs worker_init_fn"
SEEDS = "the global generators of each worker are seeded as torch seeds them"
DRAW = "one number is drawn from the generator, before the sampler is asked"
LIBRARIES = ("random", "NumPy", "torch")


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
    noise, want, by_global = [], [], []
    for epoch in (1, 2):
        message = f"noise of random, NumPy and torch; two workers, epoch {epoch} with one generator, seeded with {seed}"
        want.append(_expected(twin.set_state(generator.get_state())))
        by_global.append(_expected(twin.set_state(torch.get_rng_state())))
        with Loading(
            trial, answer, message, batches, usual=_noise, collate_fn=default_collate, generator=generator
        ) as loading:
            noise.append(torch.cat(loading.rest())[:, 1:])
    wrong = [
        name
        for at, name in enumerate(LIBRARIES)
        if any(not torch.equal(a[:, at], b[:, at]) for a, b in zip(noise, want, strict=True))
    ]
    if wrong:
        at = LIBRARIES.index(wrong[0])
        alike = bool((noise[0][:2, at].unique().numel()) == 1)
        again = torch.equal(noise[0][:, at], noise[1][:, at])
        both = [
            text
            for text, is_so in (("both workers draw the same", alike), ("epoch 2 repeats epoch 1", again))
            if is_so
        ]
        trial.fail(
            f"{' and '.join(wrong)} {'are' if len(wrong) > 1 else 'is'} not seeded as in a worker of DataLoader"
            + (f": {' and '.join(both)}." if both else "."),
            expected=f"{_expected_draws(wrong[0], want)}: random and torch seeded with base_seed + id, NumPy with "
            "numpy_seed(base_seed, id)",
            got=_first_draws(wrong[0], noise),
            observed=(
                "noise",
                wrong,
                alike,
                again,
                [torch.equal(noise[0][id::2], want[0][id::2]) for id in range(2)],
                torch.equal(noise[0], by_global[0]),
            ),
        )


def _first_draws(library: str, epochs: list[torch.Tensor]) -> str:
    """What the two workers draw first, in words."""
    first, second = (
        [round(draw, 4) for draw in epoch[:2, LIBRARIES.index(library)].tolist()] for epoch in epochs
    )
    return f"first draws of {library} in workers 0 and 1: {first}, in epoch 2: {second}"


def _expected_draws(library: str, epochs: list[torch.Tensor]) -> str:
    """The same of what is expected; where the answer has not moved the generator, epoch 2 cannot be foreseen."""
    if torch.equal(*epochs):
        one = [round(draw, 4) for draw in epochs[0][:2, LIBRARIES.index(library)].tolist()]
        return f"first draws of {library} in workers 0 and 1: {one}, in epoch 2 others, since the generator has moved"
    return _first_draws(library, epochs)


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
    message = f"batches of a RandomSampler that shares the loader's generator, seeded with {seed}: as DataLoader gives"
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
    before = _globals()
    with Loading(trial, answer, message, batches, usual=_noise, generator=ours, **options) as loading:
        received = loading.rest()
    elsewhere = [name for name, state in _globals().items() if state != before[name]]
    indices, wanted_indices = (
        [[int(row[0]) for row in batch.tolist()] for batch in batches] for batches in (received, want)
    )
    moved = not torch.equal(ours.get_state(), torchs.get_state())
    same = indices == wanted_indices
    trial.true(
        same and not moved,
        "The generator is not used as DataLoader uses it: "
        + ("the same indices came, but it stands elsewhere now." if same else "other indices came."),
        expected=f"one draw of a base seed from the generator, then the sampler's own draws, which give {wanted_indices}",
        got=f"{indices}" + (", and the generator stands elsewhere" if same else ""),
        observed=("generator", same, moved),
    )
    rows, wanted = torch.cat(received)[:, 1:], torch.cat(want)[:, 1:]
    wrong = [name for at, name in enumerate(LIBRARIES) if not torch.equal(rows[:, at], wanted[:, at])]
    if wrong:
        at = LIBRARIES.index(wrong[0])
        trial.fail(
            f"{' and '.join(wrong)} {'are' if len(wrong) > 1 else 'is'} not seeded as in a worker of DataLoader.",
            expected=f"draws of {wrong[0]}: {[round(x, 4) for x in wanted[:, at].tolist()]}",
            got=str([round(x, 4) for x in rows[:, at].tolist()]),
            observed=(
                "other noise",
                wrong,
                bool(rows[0, at] == rows[2, at]),
            ),  # whether both workers draw alike
        )
    trial.true(
        not elsewhere,
        f"The loader moved {' and '.join(elsewhere)} of the training loop's own process.",
        expected="draws from the generator that was given, and no others",
        observed=("moved", elsewhere),
    )
    _see_global_draw(answer, trial)


def _see_global_draw(answer: Any, trial: Trial) -> None:
    """Without a generator the base seed comes from torch's global one."""
    torch.manual_seed(trial.random.getrandbits(40))
    state = torch.get_rng_state()
    torch.empty((), dtype=torch.int64).random_()
    want = torch.get_rng_state()
    torch.set_rng_state(state)
    with Loading(
        trial, answer, "generator=None, one worker", [[0]], num_workers=1, generator=None
    ) as loading:
        loading.rest()
        trial.true(
            torch.equal(torch.get_rng_state(), want),
            "Without a generator the base seed is not one draw from torch's global generator.",
            expected="one draw, as DataLoader makes it",
            got="no draw" if torch.equal(torch.get_rng_state(), state) else "other draws, or more than one",
            observed=("global draw", torch.equal(torch.get_rng_state(), state)),
        )


def _globals() -> dict[str, Any]:
    """Where the global generators of this process stand."""
    return {
        "torch's generator": torch.get_rng_state().tolist(),
        "Python's random": random.getstate(),
        "NumPy's generator": np.random.get_state()[1].tolist(),
    }


def info(answer: Any, trial: Trial) -> None:
    generator = torch.Generator().manual_seed(trial.random.getrandbits(40))
    twin = torch.Generator().set_state(generator.get_state())
    base_seed = torch.empty((), dtype=torch.int64).random_(generator=twin).item()
    threads = torch.get_num_threads()
    message = "two workers; worker_init_fn asks get_worker_info() and marks the dataset; this process has two threads"
    with Loading(
        trial, answer, message, [[k] for k in range(4)], usual=_marked, generator=generator
    ) as loading:
        loading.options["worker_init_fn"] = _Hook(loading.samples)
        torch.set_num_threads(2)
        try:
            received = loading.rest()
            own = torch.get_num_threads()
        finally:
            torch.set_num_threads(threads)
        hooks = loading.log.events("hook")
        _see_hooks(trial, hooks, base_seed, own)
        loads = loading.log.events("load")
        first = {hook[1]: loading.log.events().index(hook) for hook in hooks}
        before = [load for load in loads if loading.log.events().index(load) < first.get(load[2], 0)]
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
    here = os.getpid()
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
        observed=(
            "hooks",
            "seeds"
            if ids == [base_seed, base_seed + 1]
            else "again and again"
            if set(ids) == {0, 1} and len(ids) > 3
            else ids,
        ),
    )
    infos = [hook[3] for hook in sorted(hooks, key=lambda hook: hook[2])]
    trial.true(
        None not in infos,
        "get_worker_info() gives None in a worker while worker_init_fn runs: set_worker_info comes before it.",
        expected="the worker's id, num_workers, seed and dataset",
        observed="no worker info",
    )
    trial.true(
        infos == [[id, 2, base_seed + id] for id in range(2)],
        "get_worker_info() tells other things in the workers than DataLoader would.",
        expected=str([dict(id=id, num_workers=2, seed=base_seed + id) for id in range(2)]),
        got=str([dict(zip(("id", "num_workers", "seed"), each, strict=True)) for each in infos]),
        observed=(
            "info",
            [each[:2] == [id, 2] for id, each in enumerate(infos)],
            infos[0][2] == base_seed,
        ),
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
        info = None if found is None else [found.id, found.num_workers, found.seed]
        number = worker_id if isinstance(worker_id, int) else repr(worker_id)
        self.samples.log.note(
            "hook", os.getpid(), number, info, torch.initial_seed(), torch.get_num_threads()
        )
        (self.samples if found is None else found.dataset).mark = number + 100


def _marked(samples: Samples, index: int) -> Any:
    return samples.mark


WITHIN: Steps = [(SEEDS, seeds), (DRAW, draw), (INFO, info)]
