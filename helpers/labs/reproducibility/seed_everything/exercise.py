"""Exercise 01.seed_everything: one seed for random, NumPy and torch on every device."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.reproducibility.shared.machines import elsewhere, gpus

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


def seeded_draws(answer: Callable[[int], None], trial: Trial, seed: int) -> tuple[dict, list[str]]:
    """Draws after answer(seed) from any state, and the libraries whose generator the answer left alone."""
    stirred(trial.random)
    before = places()
    trial.call(answer, seed)
    after = places()
    return drawn(), [name for name in LIBRARIES if before[name] == after[name]]


@seed_everything.property("the same seed gives the same draws, from all three libraries", changes=GLOBAL)
def _(answer: Any, trial: Trial) -> None:
    kinds = {"some": trial.random.randrange(1, SEEDS - 1), "zero": 0, "largest": SEEDS - 1}
    for kind, seed in kinds.items():
        trial.given(f"seed = {seed}")
        with gpus(0):
            first, _ = seeded_draws(answer, trial, seed)
            second, alone = seeded_draws(answer, trial, seed)
        differ = [name for name in LIBRARIES if first[name] != second[name]]
        if not differ:
            continue
        states = {name: "not seeded" if name in alone else "seeded, but not by the seed" for name in differ}
        trial.fail(
            f"seed_everything({seed}) was called twice, and different numbers were drawn after it: "
            + "; ".join(f"{name} was {state}" for name, state in states.items())
            + ".",
            expected="the same numbers from random, NumPy and torch after each call",
            got="; ".join(f"{name}: {first[name][1:3]}, then {second[name][1:3]}" for name in differ),
            observed=(kind, states),
        )


STEPS = (
    ("one more", 0, 1),
    ("one more", 1, 2),
    ("a million more", 0, 10**6),
    ("2^16 more", 0, 2**16),
    ("2^31 more", 0, 2**31),
)


@seed_everything.property("another seed gives other draws", changes=GLOBAL)
def _(answer: Any, trial: Trial) -> None:
    base = 2 * trial.random.randrange(2**29)
    ignored: dict[str, set[str]] = {}
    example = ""
    with gpus(0):
        draws = {
            more: seeded_draws(answer, trial, base + more)[0] for more in (0, *(end for *_, end in STEPS))
        }
    for word, start, end in STEPS:
        same = {name for name in LIBRARIES if draws[start][name] == draws[end][name]}
        if same:
            ignored[word] = ignored.get(word, set()) | same
            example = example or f"seeds {base + start} and {base + end}"
    trial.given(example)
    if ignored:
        description = "; ".join(
            f"{word}: {', '.join(n for n in LIBRARIES if n in same)}" for word, same in ignored.items()
        )
        trial.fail(
            f"Two seeds gave the same draws: {description}.",
            expected="other numbers for every seed from 0 to 2**32 - 1",
            got=f"the same numbers for {example}",
            observed={word: sorted(same) for word, same in ignored.items()},
        )


@seed_everything.property("a seed gives the same draws in every process", changes=GLOBAL)
def _(answer: Any, trial: Trial) -> None:
    seed = trial.random.randrange(1, SEEDS)
    trial.given(f"seed = {seed}")
    with gpus(0):
        first, _ = seeded_draws(answer, trial, seed)
        for word, other in OTHER_PROCESSES.items():
            with elsewhere(**other):
                second, _ = seeded_draws(answer, trial, seed)
            differ = [name for name in LIBRARIES if first[name] != second[name]]
            trial.true(
                not differ,
                f"In another process, with {word}, the same seed gives other draws from {', '.join(differ)}.",
                expected="the seed alone decides",
                observed=word,
            )


OTHER_PROCESSES: dict[str, dict[str, int]] = {
    "another process id": {"pid": 5},
    "another time": {"hours": 5},
    "another salt in the hash of text": {"salt": 5},
}


@seed_everything.property("a seed outside 0 ... 2**32 - 1 raises ValueError", changes=GLOBAL)
def _(answer: Any, trial: Trial) -> None:
    outcomes = {}
    for seed in (-1, SEEDS, 2**70):
        with gpus(0):
            outcomes[seed] = _outcome(lambda: trial.call(answer, seed))  # noqa: B023
    for seed, outcome in outcomes.items():
        trial.given(f"seed = {seed}")
        trial.true(
            outcome == "ValueError",
            f"Expected ValueError for a seed {'below 0' if seed < 0 else 'above 2**32 - 1'}, but {outcome} was raised.",
            expected="ValueError",
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


@seed_everything.property("every GPU is seeded, too, as soon as CUDA starts", changes=GLOBAL)
def _(answer: Any, trial: Trial) -> None:
    seed = trial.random.randrange(1, SEEDS - 1)
    for started in (False, True):
        trial.given(f"seed = {seed}, two GPUs, CUDA {'has' if started else 'has not'} started")
        runs = [gpu_draws(answer, trial, value, started) for value in (seed, seed, seed + 1)]
        states = [_state(*draws) for draws in zip(*runs, strict=True)]
        trial.true(
            states == ["seeded", "seeded"],
            f"With two GPUs the first is {states[0]}, the second {states[1]}.",
            expected="the same draws on each GPU after the same seed, others after another seed",
            observed=(started, states),
        )


def _state(one: list[int], again: list[int], other: list[int]) -> str:
    """One GPU in words: its draws after a seed, after the same seed again, and after another one."""
    if one != again:
        return "not seeded"
    return "seeded" if one != other else "seeded, but not by the seed"


@seed_everything.property("CUDA is not started by seeding", changes=GLOBAL)
def _(answer: Any, trial: Trial) -> None:
    trial.given("seed = 1, two GPUs, CUDA has not started")
    with gpus(2) as pretended:
        trial.call(answer, 1)
        trial.true(
            not pretended.started,
            "The answer started CUDA. That takes seconds and memory on the GPU, and a process in which CUDA has "
            "started can no longer fork workers that use it.",
            expected="torch.cuda.is_initialized() is False after the call",
            got=True,
        )


def gpu_draws(answer: Callable[[int], None], trial: Trial, seed: int, started: bool) -> list[list[int]]:
    """Draws of two pretended GPUs after answer(seed), from any state."""
    with gpus(2, started=started) as pretended:
        for generator in pretended.generators:
            generator.manual_seed(trial.random.getrandbits(32))
        trial.call(answer, seed)
        pretended.start()
        return [torch.randint(2**31, (4,), generator=each).tolist() for each in pretended.generators]
