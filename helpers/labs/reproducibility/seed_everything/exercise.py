"""Exercise 01.seed_everything: one seed for random, NumPy and torch on every device."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

import numpy as np
import torch
import torch.utils.data._utils.worker as torch_worker

from helpers.check import guard
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.reproducibility.shared.machines import (
    elsewhere,
    gpus,
    in_another_process,
    on_another_host,
    replaced,
)
from helpers.labs.reproducibility.shared.switches import SLOTS, STATES, all_turned, changed, global_state
from helpers.notebook.stubs import missing_exercise
from helpers.ranks.pretended import as_rank

seed_everything = Exercise(
    "01.seed_everything",
    "One seed for three libraries",
    objective="Seed Python, NumPy and torch, on every device, with one call.",
    minutes=10,
    difficulty="easy",
    hints=[
        "Three libraries draw numbers, and none of them looks at another one's generator. "
        "Which function seeds the global generator of each?",
        "torch.manual_seed seeds the CPU and every GPU. It does not start CUDA: it leaves a note for later.",
        "random.seed and torch.manual_seed take numbers that np.random.seed refuses. "
        "So test the range first, and raise ValueError with the seed in the message.",
    ],
)

LIBRARIES = ("random", "NumPy", "torch")
GLOBAL = ("random RNG", "numpy RNG", "torch RNG")
SEEDS = 2**32
HELD = "seeded, but for a normal number from before, which it still holds"


def stirred(source: random.Random) -> None:
    """Puts the three generators anywhere; each holds a spare normal number, as after an odd count of them."""
    random.seed(source.getrandbits(32))
    np.random.seed(source.getrandbits(32))
    torch.default_generator.manual_seed(source.getrandbits(32))
    drawn()


def drawn() -> dict[str, list[float]]:
    """A normal number and four of 31 bits from each library's global generator."""
    bits = torch.randint(2**31, (4,), dtype=torch.int64, device="cpu").tolist()
    normal = torch.randn(1, dtype=torch.float32, device="cpu").item()
    return {
        "random": [random.gauss(0.0, 1.0), *(random.getrandbits(31) for _ in range(4))],
        "NumPy": [float(np.random.randn()), *np.random.randint(2**31, size=4, dtype=np.int64).tolist()],
        "torch": [normal, *bits],
    }


def places() -> dict[str, Any]:
    """Where each global generator stands."""
    _, key, *rest = np.random.get_state(legacy=True)
    return {
        "random": random.getstate(),
        "NumPy": (key.tobytes(), *rest),
        "torch": torch.default_generator.get_state().numpy().tobytes(),
    }


def seeded_draws(answer: Callable[[int], Any], trial: Trial, seed: int) -> tuple[dict, list[str]]:
    """Draws after answer(seed) from any state, and the libraries whose generator the answer left alone."""
    stirred(trial.random)
    before = places()
    try:
        answer(seed)
    except ValueError as error:
        trial.fail(
            f"seed_everything({seed}) raised ValueError: {error}",
            expected="no error: a seed is from 0 to 2**32 - 1",
            got=f"ValueError: {error}",
            observed=("refused", "zero" if seed == 0 else "largest" if seed == SEEDS - 1 else seed >= 2**31),
        )
    after = places()
    return drawn(), [name for name in LIBRARIES if before[name] == after[name]]


@seed_everything.property(
    "the same seed gives the same draws, from all three libraries",
    changes=SLOTS,
    asks=(
        "Seed the global generators of Python's `random`, of NumPy and of torch.",
        "After the same seed the same numbers are drawn from each of them,",
        "0 and 2**32 - 1 are seeds like all others.",
    ),
)
def _(answer: Any, trial: Trial) -> None:
    kinds = {
        "some": trial.random.randrange(1, 2**31),
        "zero": 0,
        "above 2^31": trial.random.randrange(2**31, SEEDS - 2),
        "largest": SEEDS - 1,
    }
    for kind, seed in kinds.items():
        trial.given(f"seed = {seed}")
        with elsewhere(), gpus(0):  # its clock stands still: of the time tells the property on processes
            first, alone_at_first = seeded_draws(answer, trial, seed)
            second, alone = seeded_draws(answer, trial, seed)
        differ = [name for name in LIBRARIES if first[name] != second[name]]
        if not differ:
            continue
        states = {
            name: "not seeded"
            if name in alone and name in alone_at_first
            else "seeded by the first call only"
            if name in alone
            else HELD
            if first[name][1:] == second[name][1:]
            else "seeded, but not by the seed"
            for name in differ
        }
        trial.fail(
            f"seed_everything({seed}) was called twice, and different numbers were drawn after it: "
            + "; ".join(f"{name} was {state}" for name, state in states.items())
            + ".",
            expected="the same numbers from random, NumPy and torch after each call",
            got="; ".join(f"{name}: {_both(first[name], second[name])}" for name in differ),
            observed=(kind, HELD if set(states.values()) == {HELD} else states),
        )


def _both(first: list[float], second: list[float]) -> str:
    """What two seedings gave: whole numbers, or the normal number if that alone differs."""
    if first[1:] == second[1:]:
        return f"a normal number {first[0]:.4f}, then {second[0]:.4f}"
    return f"{first[1:3]}, then {second[1:3]}"


# Two seeds each: the first of a pair is added to an even base, or is a seed itself.
STEPS = (
    ("one more", 0, 1),
    ("one more", 1, 2),
    ("10^9 more", 0, 10**9),  # also for what looks at the last digits only
    ("2^31 more", 0, 2**31),  # or at the last bits
    ("2^31 - 1 more", 0, 2**31 - 1),
)
PAIRS = (
    ("0 and 1", 0, 1),
    ("0 and 42", 0, 42),
    ("0 and 1234", 0, 1234),
    ("0 and the largest", 0, SEEDS - 1),
    ("2^31 - 1 and 2^31", 2**31 - 1, 2**31),
    ("2^31 - 1 and 2^31 + 1", 2**31 - 1, 2**31 + 1),
    ("the two largest", SEEDS - 2, SEEDS - 1),
)


@seed_everything.property(
    "a different seed gives different draws",
    changes=SLOTS,
    once_right=True,
    asks="after a different seed different ones.",
)
def _(answer: Any, trial: Trial) -> None:
    base = 2 * trial.random.randrange(2**29)
    pairs = [(word, base + start, base + end) for word, start, end in STEPS] + list(PAIRS)
    with elsewhere(), gpus(0):
        draws = {
            seed: seeded_draws(answer, trial, seed)[0]
            for seed in sorted({seed for _, *pair in pairs for seed in pair})
        }
    same = [
        (word, one, other, names)
        for word, one, other in pairs
        if (names := [name for name in LIBRARIES if draws[one][name] == draws[other][name]])
    ]
    if same:
        _, one, other, names = same[0]
        trial.given(f"seeds {one} and {other}")
        trial.fail(
            f"Seeds {one} and {other} gave the same draws from {', '.join(names)}"
            + (f", and so did {len(same) - 1} more of {len(pairs)} pairs." if len(same) > 1 else "."),
            expected="different numbers for every seed from 0 to 2**32 - 1",
            got="after both seeds " + "; ".join(f"{name}: {draws[one][name][1:3]}" for name in names),
            observed=[word for word, *_, names in same if names == list(LIBRARIES)]
            or "not from all libraries",
        )


@seed_everything.property(
    "every GPU is seeded, too, as soon as CUDA starts",
    changes=SLOTS,
    once_right=True,
    asks="Also the generator of every GPU is seeded, whether CUDA has started or not.",
)
def _(answer: Any, trial: Trial) -> None:
    cases = list(itertools.product((False, True), (trial.random.randrange(1, 2**31 - 1), 0)))
    found = []
    for started, seed in cases:
        seeds = (seed, seed, seed + 1, seed + 2**31)
        with elsewhere():
            runs = {(at, value): gpu_draws(answer, trial, value, started) for at, value in enumerate(seeds)}
        found.append((runs, [_state(*draws) for draws in zip(*runs.values(), strict=True)]))
    at = next((at for at, (_, states) in enumerate(found) if states != ["seeded", "seeded"]), 0)
    (started, seed), (runs, states) = cases[at], found[at]
    trial.given(f"seed = {seed}, two GPUs, CUDA {'has' if started else 'has not'} started")
    trial.true(
        states == ["seeded", "seeded"],
        f"With two GPUs the first is {states[0]}, the second {states[1]}.",
        expected="on each GPU the same first draw after the same seed, a different one after a different seed",
        got="first draws after {}: ".format(", ".join(str(value) for _, value in runs))
        + "; ".join(
            f"{name} GPU " + ", ".join(str(draws[at][0]) for draws in runs.values())
            for at, name in enumerate(("first", "second"))
        ),
        observed=[states for _, states in found],
    )


def _state(one: list[int], again: list[int], *others: list[int]) -> str:
    """One GPU in words: its draws after a seed, after the same seed again, and after different ones."""
    if one != again:
        return "not seeded"
    return "seeded, but not by the seed" if one in others else "seeded"


def as_worker() -> AbstractContextManager[Any]:
    """As if in worker 1 of 2 of a DataLoader."""
    info = torch_worker.WorkerInfo(id=1, num_workers=2, seed=12345, dataset=None)
    return replaced(torch_worker, _worker_info=info)


OTHER_PROCESSES: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "a different process id": lambda: elsewhere(pid=5),
    "a different time": lambda: elsewhere(hours=5),
    "a different salt in the hash of text": lambda: elsewhere(salt=5),
    "a different PYTHONHASHSEED": lambda: mock.patch.dict(os.environ, PYTHONHASHSEED="7"),
    "a different rank (1 of 2, in its environment and in torch.distributed)": lambda: as_rank(1, 2),
    "a different number among the workers of a DataLoader (worker 1 of 2)": as_worker,
    "a different name and number, as multiprocessing gives them": lambda: in_another_process("Process-5", 5),
    "a different host name": on_another_host,
}


@seed_everything.property(
    "a seed gives the same draws in every process",
    changes=SLOTS,
    once_right=True,
    asks="in every process, whatever its rank or its number as a worker;",
)
def _(answer: Any, trial: Trial) -> None:
    seed = trial.random.randrange(1, SEEDS)
    trial.given(f"seed = {seed}")
    with elsewhere():
        with gpus(0):
            first, _ = seeded_draws(answer, trial, seed)
        on_gpus = gpu_draws(answer, trial, seed, True)
    for word, other in OTHER_PROCESSES.items():
        with other():
            with gpus(0):
                second, _ = seeded_draws(answer, trial, seed)
            there = gpu_draws(answer, trial, seed, True)
        differ = [name for name in LIBRARIES if first[name] != second[name]]
        moved = differ + [f"GPU {at}" for at in range(len(there)) if on_gpus[at] != there[at]]
        here = first | {f"GPU {at}": draws for at, draws in enumerate(on_gpus)}
        elsewhere_ = second | {f"GPU {at}": draws for at, draws in enumerate(there)}
        trial.true(
            not moved,
            f"In a process with {word}, the same seed gives different draws from {', '.join(moved)}.",
            expected="as in this process " + "; ".join(f"{name}: {here[name][1:3]}" for name in moved),
            got="; ".join(f"{name}: {elsewhere_[name][1:3]}" for name in moved),
            observed=word,
        )


BAD_SEEDS = (-1, SEEDS, 2**70, -(2**31), -(2**32), SEEDS + 5, 2**63, 2**64)


@seed_everything.property(
    "a seed outside 0 ... 2**32 - 1 raises ValueError",
    changes=SLOTS,
    once_right=True,
    asks="For any other integer ValueError is raised,",
)
def refused(answer: Any, trial: Trial) -> None:
    outcomes = {}
    for seed in BAD_SEEDS:
        with gpus(0):
            outcomes[seed] = _outcome(lambda: answer(seed))  # noqa: B023
    for seed, outcome in outcomes.items():
        trial.given(f"seed = {seed}")
        trial.true(
            outcome == "ValueError",
            f"Expected ValueError for a seed {'below 0' if seed < 0 else 'above 2**32 - 1'}, but {outcome} was raised.",
            expected="ValueError",
            got=outcome,
            observed=list(outcomes.values()),
        )


def _outcome(call: Callable[[], Any]) -> str:
    """The kind of error that a call raises, "nothing" if it raises none."""
    try:
        call()
    except ValueError:
        return "ValueError"
    except NotImplementedError:  # an untouched stub
        raise
    except Exception as error:
        return type(error).__name__
    return "nothing"


@seed_everything.property(
    "CUDA is not started by seeding",
    changes=SLOTS,
    once_right=True,
    asks="Seeding does not start CUDA.",
)
def _(answer: Any, trial: Trial) -> None:
    trial.given("seed = 1, two GPUs, CUDA has not started")
    with gpus(2) as pretended:
        answer(1)
        trial.true(
            not pretended.started,
            "The answer started CUDA. That takes seconds and memory on the GPU, and a process in which CUDA has "
            "started can no longer fork workers that use it.",
            expected="torch.cuda.is_initialized() is False after the call",
            got=True,
        )


@seed_everything.property(
    "a seed that is refused moves no generator",
    changes=SLOTS,
    once_right=True,
    asks="and then no generator was moved.",
)
def _(answer: Any, trial: Trial) -> None:
    found = {}
    for seed in BAD_SEEDS:
        with gpus(2, started=True) as pretended:
            stirred(trial.random)
            for generator in pretended.generators:
                generator.manual_seed(trial.random.getrandbits(32))
            before = places() | gpu_places(pretended.generators)
            _outcome(lambda: answer(seed))  # noqa: B023
            after = places() | gpu_places(pretended.generators)
        found[seed] = [name for name in before if before[name] != after[name]]
    at = next((seed for seed, moved in found.items() if moved), -1)
    trial.given(f"seed = {at}, two GPUs, CUDA has started")
    trial.true(
        not found[at],
        f"seed_everything({at}) raised ValueError, and had moved {', '.join(found[at])} before: half of the program is "
        "seeded now.",
        expected="each generator where it was before the call",
        got=f"moved: {', '.join(found[at])}",
        observed="moved",
    )


@seed_everything.property(
    "nothing else is changed",
    changes=SLOTS,
    once_right=True,
    asks="Nothing else is changed: no switch of torch, no environment variable.",
)
def _(answer: Any, trial: Trial) -> None:
    trial.given("seed = 1")
    before = guard.snapshot()
    with gpus(0):
        answer(1)  # once, for what libraries change at their first use
    guard.restore(before)
    for words, state in STATES.items():
        with gpus(0), state():
            if state is all_turned:
                torch.backends.cudnn.benchmark = torch.backends.cudnn.deterministic = True
                torch.use_deterministic_algorithms(True, warn_only=True)
                words = f"deterministic algorithms, cudnn.benchmark and cudnn.deterministic are on, {words}"
            before = global_state(GLOBAL)
            answer(1)
            moved = changed(before, global_state(GLOBAL))
        trial.given(f"seed = 1; {words}")
        trial.true(
            not moved,
            f"The answer left this changed: {', '.join(moved)}.",
            expected=", ".join(f"{name}: {old}, as before the call" for name, (old, _) in moved.items()),
            got=", ".join(f"{name}: {new}" for name, (_, new) in moved.items()),
            observed=(state is all_turned, _in_short(moved)),
        )


def _in_short(moved: Iterable[str]) -> list[str]:
    """What tells mistakes apart: not which variable was set, but for the one of Python's salt."""
    names = {
        "a variable" if name.startswith("os.environ") and "PYTHONHASHSEED" not in name else name
        for name in moved
    }
    return sorted(names)


def gpu_places(generators: Iterable[torch.Generator]) -> dict[str, bytes]:
    """Where the generators of pretended GPUs stand."""
    return {f"GPU {at}": each.get_state().numpy().tobytes() for at, each in enumerate(generators)}


def gpu_draws(answer: Callable[[int], Any], trial: Trial, seed: int, started: bool) -> list[list[int]]:
    """Draws of two pretended GPUs after answer(seed), from any state."""
    with gpus(2, started=started) as pretended:
        for generator in pretended.generators:
            generator.manual_seed(trial.random.getrandbits(32))
        try:
            answer(seed)
        except (RuntimeError, AssertionError) as error:
            if missing_exercise(error):
                raise
            trial.given(f"seed = {seed}, two pretended GPUs, CUDA {'has' if started else 'has not'} started")
            trial.fail(
                f"The answer used a GPU, and this check only pretends to have two of them: {type(error).__name__}. "
                "Seeding needs no work on a GPU, and must not start CUDA.",
                expected="seeds handed to torch, which passes them on to every GPU",
                got=f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}",
                observed="a GPU was used",
            )
        pretended.start()
        return [torch.randint(2**31, (4,), generator=each).tolist() for each in pretended.generators]
