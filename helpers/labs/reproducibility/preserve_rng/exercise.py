"""Exercise 01.preserve_rng: a block of code whose draws change nothing outside."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import torch

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.reproducibility.seed_everything.exercise import (
    GLOBAL,
    LIBRARIES,
    drawn,
    gpu_places,
    places,
    stirred,
)
from helpers.labs.reproducibility.shared.blocks import ERRORS, manager, require_all_came, what_came, which
from helpers.labs.reproducibility.shared.machines import gpus, replaced

preserve_rng = Exercise(
    "01.preserve_rng",
    "A block that leaves the generators alone",
    objective="Run code that draws random numbers without moving any generator of the program around it.",
    minutes=15,
    difficulty="easy",
    hints=[
        "A generator's state can be read and put back. What must you read before the block, and for whom?",
        "With @contextlib.contextmanager, what stands before `yield` runs on entry, what stands after it on exit. "
        "What happens to the lines after `yield` if the block raises?",
        "random.getstate and setstate, np.random.get_state and set_state, torch.get_rng_state and set_rng_state, "
        "and for the GPUs torch.cuda.get_rng_state_all and set_rng_state_all. Put them back in `finally`.",
    ],
)

BACK = "as before"
TORCH_SPARE = 24 + 624 * 8  # bytes of torch's state before its spare normal number
ANOTHER_BLOCKS = "where a different block began"


def used(source: random.Random) -> None:
    """What a block does to the generators: it seeds them, and draws."""
    stirred(source)
    drawn()


def stirred_without_spare(source: random.Random) -> None:
    """The three generators anywhere; none holds a spare normal number."""
    stirred(source)
    random.gauss(0.0, 1.0)
    np.random.randn()
    torch.randn(1, dtype=torch.float32, device="cpu")


# What stands before a block, and what happens in it.
BLOCKS: dict[str, tuple[Callable[[random.Random], Any], Callable[[random.Random], Any]]] = {
    "a block that seeds the three generators, and draws from them": (stirred, used),
    "a block that draws from the three generators": (stirred, lambda source: drawn()),
    "a block that draws a first normal number, so that the second of the pair is kept": (
        stirred_without_spare,
        lambda source: drawn(),
    ),
    "a block that seeds the three generators, and draws nothing": (
        stirred,
        lambda source: (random.seed(1), np.random.seed(1), torch.default_generator.manual_seed(1)),
    ),
    "a block that draws the second of a pair of normal numbers, which is held ready": (
        stirred,
        lambda source: (
            random.gauss(0.0, 1.0),
            np.random.randn(),
            torch.randn(1, dtype=torch.float32, device="cpu"),
        ),
    ),
    "a block that does nothing": (stirred, lambda source: None),
}


def block_of(answer: Any, trial: Trial) -> AbstractContextManager[Any]:
    return manager(lambda: trial.call(answer), trial, "preserve_rng")


@contextmanager
def setters() -> Iterator[set[str]]:
    """The libraries whose function for setting a state is called meanwhile."""
    called: set[str] = set()

    def noting(library: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any, **kwargs: Any) -> Any:
            called.add(library)
            return function(*args, **kwargs)

        return noted

    by_torch = noting("torch", torch.set_rng_state)
    with (
        replaced(random, setstate=noting("random", random.setstate)),
        replaced(np.random, set_state=noting("NumPy", np.random.set_state)),
        replaced(torch, set_rng_state=by_torch),
        replaced(torch.random, set_rng_state=by_torch),
    ):
        yield called


def outcome(name: str, before: Any, inside: Any, after: Any, called: Collection[str]) -> str:
    """What became of one library's generator, in words; `inside` is where the block left it."""
    if after == before:
        return BACK
    if after == inside:
        return "set to where the block took it" if name in called else "left where the block took it"
    if _without_spare(name, after) == _without_spare(name, before):
        return "back, but without the spare normal number that it held"
    if name == "NumPy" and after[0] == before[0] and _is_fresh(name, after):
        return "back in its 624 words, and not at its place among them"
    return "seeded anew" if _is_fresh(name, after) else "somewhere else"


def _without_spare(name: str, place: Any) -> Any:
    """A place without the second number of a pair of normal ones, which the next call would have returned."""
    return place[:TORCH_SPARE] if name == "torch" else place[:2]


def _is_fresh(name: str, place: Any) -> bool:
    """Whether nothing was drawn since the generator was seeded."""
    if name == "torch":
        generator = torch.Generator()
        generator.set_state(torch.frombuffer(bytearray(place), dtype=torch.uint8))
        fresh = torch.Generator().manual_seed(generator.initial_seed())
        return bool(torch.equal(fresh.get_state(), generator.get_state()))
    return (place[1][-1] if name == "random" else place[1]) == 624


def next_normal(name: str, place: Any) -> float:
    """The normal number that a generator at this place gives next."""
    if name == "random":
        python = random.Random()
        python.setstate(place)
        return python.gauss(0.0, 1.0)
    if name == "NumPy":
        numpy = np.random.RandomState()
        numpy.set_state(("MT19937", np.frombuffer(place[0], dtype=np.uint32), *place[1:]))
        return float(numpy.randn())
    generator = torch.Generator()
    generator.set_state(torch.frombuffer(bytearray(place), dtype=torch.uint8))
    return torch.randn(1, generator=generator).item()


def next_uniform(name: str, place: Any) -> float:
    """The number from 0 to 1 that a generator at this place gives next; a spare normal number plays no part in it."""
    if name == "random":
        python = random.Random()
        python.setstate(place)
        return python.random()
    if name == "NumPy":
        numpy = np.random.RandomState()
        numpy.set_state(("MT19937", np.frombuffer(place[0], dtype=np.uint32), *place[1:]))
        return float(numpy.rand())
    generator = torch.Generator()
    generator.set_state(torch.frombuffer(bytearray(place), dtype=torch.uint8))
    return torch.rand((), generator=generator).item()


def next_numbers(state: dict[str, Any], names: Collection[str]) -> str:
    """In words, what the generators give next."""
    return ", ".join(
        f"{name} {next_normal(name, state[name]):.4f} (normal) or {next_uniform(name, state[name]):.4f} (uniform)"
        for name in names
    )


def moved_from(before: dict, inside: dict, after: dict, called: Collection[str] = ()) -> dict[str, str]:
    """The generators that do not stand where they stood, and what became of them. called: see setters."""
    states = {name: outcome(name, before[name], inside[name], after[name], called) for name in before}
    return {name: state for name, state in states.items() if state != BACK}


def require_back(
    trial: Trial, before: dict, after: dict, moved: dict[str, str], when: str, seen: Any = None
) -> None:
    """Wrong if a generator has moved. when: "after the block". seen: what tells mistakes apart."""
    trial.true(
        not moved,
        f"Not all generators are back {when}: "
        + "; ".join(f"{name} is {state}" for name, state in moved.items())
        + ".",
        expected=f"the state from before the block, where next comes: {next_numbers(before, moved)}",
        got=f"next comes: {next_numbers(after, moved)}",
        observed=(when, moved) if seen is None else seen,
    )


@preserve_rng.property(
    "draws inside the block change nothing outside",
    changes=GLOBAL,
    asks=(
        "A block whose draws change nothing outside it: after the block, the global generators of",
        "`random`, NumPy and torch are in the state that they had before it,",
        "whatever was drawn or seeded inside.",
        "The whole state: also the second of a pair of normal numbers, which a generator keeps.",
    ),
)
def _(answer: Any, trial: Trial) -> None:
    with gpus(0):
        for words, (stir, use) in BLOCKS.items():
            trial.given(words)
            stir(trial.random)
            before = places()
            with setters() as called, block_of(answer, trial):
                use(trial.random)
                inside = places()
            after = places()
            require_back(trial, before, after, moved_from(before, inside, after, called), "after the block")


@preserve_rng.property(
    "inside the block the generators go on from where they stand",
    changes=GLOBAL,
    once_right=True,
    asks="Inside the block the generators go on from where they stand.",
)
def _(answer: Any, trial: Trial) -> None:
    trial.given("a block that draws from the three generators")
    with gpus(0):
        stirred(trial.random)
        before = places()
        with block_of(answer, trial):
            inside = places()
    moved = [name for name in LIBRARIES if inside[name] != before[name]]
    trial.true(
        not moved,
        f"Entering the block moved {', '.join(moved)}: what is drawn inside is not what would have come next.",
        expected=f"as without `with preserve_rng():`, where next comes: {next_numbers(before, moved)}",
        got=f"next comes: {next_numbers(inside, moved)}",
        observed="moved on entry",
    )


@preserve_rng.property(
    "an error in the block comes out, whatever its kind",
    changes=GLOBAL,
    once_right=True,
    asks="An error inside comes out of the block, of whatever kind it is,",
)
def errors_come_out(answer: Any, trial: Trial) -> None:
    came = {}
    with gpus(0):
        for kind in ERRORS:
            trial.given(f"a block that draws, then raises {kind.__name__}")
            block = block_of(answer, trial)
            came[kind.__name__] = what_came(block, kind("inside the block"), drawn)
    trial.given(f"blocks that draw, then raise {', '.join(came)}")
    require_all_came(trial, came)


@preserve_rng.property(
    "a block that raises changes nothing outside",
    changes=GLOBAL,
    once_right=True,
    asks="and the generators are back all the same.",
)
def _(answer: Any, trial: Trial) -> None:
    found = {}
    for kind in ERRORS:
        inside: dict[str, Any] = {}

        def use(inside: dict[str, Any] = inside) -> None:
            used(trial.random)
            inside.update(places())

        trial.given(f"a block that draws, then raises {kind.__name__}")
        with gpus(0):
            stirred(trial.random)
            before = places()
            what_came(block_of(answer, trial), kind("inside the block"), use)
            after = places()
        found[kind.__name__] = before, after, moved_from(before, inside, after)
    bad = {kind: moved for kind, (_, _, moved) in found.items() if moved}
    at = next(iter(bad), "Stop")
    trial.given(f"a block that draws, then raises {at}")
    seen = which(bad), sorted({name for moved in bad.values() for name in moved})
    require_back(trial, *found[at], f"after {at}", seen)


@preserve_rng.property(
    "blocks inside blocks each restore their own",
    changes=GLOBAL,
    once_right=True,
    asks="Blocks may stand inside each other; each gives back what was before it.",
)
def _(answer: Any, trial: Trial) -> None:
    trial.given("a block inside a block inside a block; each draws before, between and after")
    with gpus(0):
        stirred(trial.random)
        nested(answer, trial, 3)


def nested(
    answer: Any, trial: Trial, depth: int, others: Sequence[dict[str, Any]] = ()
) -> list[dict[str, Any]]:
    """Blocks in blocks, each compared when it ends. The innermost are two, one after the other.

    others: the states before the blocks around. Returns the states before these blocks.
    """
    began = []
    for _ in range(1 if depth > 1 else 2):
        before = places()
        began.append(before)
        inner: list[dict[str, Any]] = []
        with block_of(answer, trial):
            used(trial.random)
            if depth > 1:
                inner = nested(answer, trial, depth - 1, [*others, before])
                drawn()
            inside = places()
        after, when = places(), f"after the {('outer', 'middle', 'inner')[3 - depth]} block"
        moved = moved_from(before, inside, after)
        known = [state for state in (*others, *began, *inner) if state is not before]
        for name in moved:
            if any(after[name] == state[name] for state in known):
                moved[name] = ANOTHER_BLOCKS
        slot = moved and set(moved.values()) == {ANOTHER_BLOCKS}
        require_back(trial, before, after, moved, when, ANOTHER_BLOCKS if slot else None)
        began += inner
    return began


@preserve_rng.property(
    "the generators of all GPUs are restored, too",
    changes=GLOBAL,
    once_right=True,
    asks="All this holds for torch on the CPU, and on every GPU if CUDA has started before the block:",
)
def on_gpus(answer: Any, trial: Trial) -> None:
    with on_three_gpus(trial) as generators:
        trial.given("three GPUs, and a block that draws on all of them")
        before = gpu_places(generators)
        with block_of(answer, trial):
            entered = gpu_places(generators)
            on_each(generators)
            inside = gpu_places(generators)
        require_gpus(trial, before, {}, entered, "On entering the block")
        require_gpus(trial, before, inside, gpu_places(generators), "After the block")


@preserve_rng.property(
    "the generators of GPUs are restored after errors, and by each of several blocks",
    changes=GLOBAL,
    once_right=True,
    asks="also after errors, and for blocks inside each other.",
)
def on_gpus_again(answer: Any, trial: Trial) -> None:
    with on_three_gpus(trial) as generators:
        bad: dict[str, tuple[dict, dict, dict]] = {}
        for kind in ERRORS:
            inside: dict[str, bytes] = {}

            def use(inside: dict[str, bytes] = inside) -> None:
                on_each(generators)
                inside.update(gpu_places(generators))

            trial.given(f"three GPUs, and a block that draws on all of them, then raises {kind.__name__}")
            before = gpu_places(generators)
            what_came(block_of(answer, trial), kind("inside the block"), use)
            if (after := gpu_places(generators)) != before:
                bad[kind.__name__] = before, inside, after
        if bad:
            first = next(iter(bad))
            trial.given(f"three GPUs, and a block that draws on all of them, then raises {first}")
            require_gpus(trial, *bad[first], f"After {first}", which(bad))
        trial.given("three GPUs, and two blocks inside each other; both draw on all GPUs, before and after")
        before = gpu_places(generators)
        with block_of(answer, trial):
            on_each(generators)
            between = gpu_places(generators)
            with block_of(answer, trial):
                on_each(generators)
            require_gpus(trial, between, {}, gpu_places(generators), "After the inner block")
            on_each(generators)
        require_gpus(trial, before, {}, gpu_places(generators), "After the outer block")


@contextmanager
def on_three_gpus(trial: Trial) -> Iterator[Sequence[torch.Generator]]:
    """Three pretended GPUs, CUDA started, their generators anywhere."""
    with gpus(3, started=True) as pretended, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fork_rng speaks up if there are several GPUs
        for generator in pretended.generators:
            generator.manual_seed(trial.random.getrandbits(32))
        on_each(pretended.generators)
        yield pretended.generators


def on_each(generators: Sequence[torch.Generator]) -> None:
    """Draws a normal number on each GPU."""
    for generator in generators:
        torch.randn(1, generator=generator)


def require_gpus(trial: Trial, before: dict, inside: dict, now: dict, when: str, seen: str = "") -> None:
    """Wrong unless each GPU's generator stands where it stood. inside: where the block took them. seen: what tells
    mistakes apart, beside the states.
    """
    states = {
        name: BACK if now[name] == before[name] else "left" if now[name] == inside.get(name) else "elsewhere"
        for name in before
    }
    in_words = {BACK: "as it was", "left": "where the block left it", "elsewhere": "somewhere else"}
    moved = [name for name, state in states.items() if state != BACK]
    trial.true(
        not moved,
        f"{when}: "
        + "; ".join(f"the generator of {name} is {in_words[state]}" for name, state in states.items())
        + ".",
        expected=f"the state from before the block, where next comes: {_next_on(before, moved)}",
        got=f"next comes: {_next_on(now, moved)}",
        observed=(seen, states) if seen else (when, states),
    )


def _next_on(places: dict[str, bytes], names: Sequence[str]) -> str:
    """In words, what the generators of GPUs give next."""
    return ", ".join(
        f"{name} {next_normal('torch', places[name]):.4f} (normal) or {next_uniform('torch', places[name]):.4f} (uniform)"
        for name in names
    )
