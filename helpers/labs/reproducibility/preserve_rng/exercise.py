"""Exercise 01.preserve_rng: a block of code whose draws change nothing outside."""

from __future__ import annotations

import inspect
import random
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import torch

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.reproducibility.seed_everything.exercise import GLOBAL, LIBRARIES, drawn, places, stirred
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


class Stop(Exception):
    """What the checked blocks raise."""


def used(source: random.Random) -> None:
    """What a block does to the generators: it seeds them, and draws."""
    stirred(source)
    drawn()


def manager(answer: Any, trial: Trial) -> AbstractContextManager:
    """What preserve_rng() gives, if it can stand in a `with` statement."""
    found = trial.call(answer)
    kind = type(found)
    if not (hasattr(kind, "__enter__") and hasattr(kind, "__exit__")):
        forgotten = inspect.isgenerator(found)
        trial.fail(
            "preserve_rng() gave a plain generator, and `with` cannot use one. Is @contextlib.contextmanager missing?"
            if forgotten
            else f"preserve_rng() gave {'None' if found is None else f'an object of type {kind.__name__}'}, "
            "and `with` cannot use it: it has no __enter__ and __exit__.",
            expected="a context manager, for `with preserve_rng():`",
            got=kind.__name__,
            observed=("no context manager", kind.__name__),
        )
    return found


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
    return "seeded anew" if _is_fresh(name, after) else "somewhere else"


def _without_spare(name: str, place: Any) -> Any:
    """A place without the second number of a pair of normal ones, which the next call would have returned."""
    return {"random": place[:2], "NumPy": place[:2]}.get(name, place)


def _is_fresh(name: str, place: Any) -> bool:
    """Whether nothing was drawn since the generator was seeded."""
    if name == "torch":
        generator = torch.Generator()
        generator.set_state(torch.frombuffer(bytearray(place), dtype=torch.uint8))
        fresh = torch.Generator().manual_seed(generator.initial_seed())
        return bool(torch.equal(fresh.get_state(), generator.get_state()))
    return (place[1][-1] if name == "random" else place[1]) == 624


def compare(
    trial: Trial, before: dict, inside: dict, after: dict, when: str, called: Collection[str] = ()
) -> None:
    """Wrong unless every generator stands where it stood. when: "after the block". called: see setters."""
    states = {name: outcome(name, before[name], inside[name], after[name], called) for name in before}
    moved = {name: state for name, state in states.items() if state != BACK}
    if moved:
        trial.fail(
            f"Not all generators are back {when}: "
            + "; ".join(f"{name} is {state}" for name, state in moved.items())
            + ".",
            expected=f"{', '.join(before)}: each in the state that it had before the block",
            observed=(when, moved),
        )


@preserve_rng.property("draws inside the block change nothing outside", changes=GLOBAL)
def _(answer: Any, trial: Trial) -> None:
    with gpus(0):
        for turn in ("after the block", "after a second block"):
            trial.given("a block that seeds the three generators, and draws from them")
            stirred(trial.random)
            before = places()
            with setters() as called, manager(answer, trial):
                used(trial.random)
                inside = places()
            compare(trial, before, inside, places(), turn, called)


@preserve_rng.property("inside the block the generators go on from where they stand", changes=GLOBAL)
def _(answer: Any, trial: Trial) -> None:
    trial.given("a block that draws from the three generators")
    with gpus(0):
        stirred(trial.random)
        before = places()
        with manager(answer, trial):
            inside = places()
    moved = [name for name in LIBRARIES if inside[name] != before[name]]
    trial.true(
        not moved,
        f"Entering the block moved {', '.join(moved)}: what is drawn inside is not what would have come next.",
        expected="the same numbers inside as without `with preserve_rng():`",
        observed=moved,
    )


@preserve_rng.property("a block that raises changes nothing outside, and its error comes out", changes=GLOBAL)
def _(answer: Any, trial: Trial) -> None:
    for error in (Stop("inside the block"), KeyboardInterrupt("the stop button")):
        kind = type(error).__name__
        trial.given(f"a block that draws, then raises {'an error' if kind == 'Stop' else kind}")
        with gpus(0):
            stirred(trial.random)
            before = places()
            came: BaseException | None = None
            try:
                with manager(answer, trial):
                    used(trial.random)
                    inside = places()
                    raise error
            except (Stop, KeyboardInterrupt) as raised:
                came = raised
            after = places()
        compare(trial, before, inside, after, "after an error" if kind == "Stop" else f"after {kind}")
        trial.true(
            came is error,
            "The block raised, and nobody outside heard of it: the error was swallowed.",
            expected=f"{'the error' if kind == 'Stop' else kind} comes out of the with statement",
            observed=("swallowed", kind),
        )


@preserve_rng.property("blocks inside blocks each restore their own", changes=GLOBAL)
def _(answer: Any, trial: Trial) -> None:
    trial.given("a block inside a block inside a block; each draws before, between and after")
    with gpus(0):
        stirred(trial.random)
        nested(answer, trial, 3)


def nested(answer: Any, trial: Trial, depth: int) -> None:
    """Blocks in blocks, each compared when it ends."""
    before = places()
    with manager(answer, trial):
        used(trial.random)
        if depth > 1:
            nested(answer, trial, depth - 1)
            drawn()
        inside = places()
    compare(trial, before, inside, places(), f"after the {('outer', 'middle', 'inner')[3 - depth]} block")


@preserve_rng.property("the generators of all GPUs are restored, too", changes=GLOBAL)
def _(answer: Any, trial: Trial) -> None:
    trial.given("two GPUs, and a block that draws on both")
    with gpus(2, started=True) as pretended, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fork_rng speaks up if there are several GPUs
        for generator in pretended.generators:
            generator.manual_seed(trial.random.getrandbits(32))
            torch.randn(1, generator=generator)
        before = _gpu_places(pretended.generators)
        with manager(answer, trial):
            for generator in pretended.generators:
                torch.randn(3, generator=generator)
            inside = _gpu_places(pretended.generators)
        after = _gpu_places(pretended.generators)
    states = {
        name: BACK if after[name] == before[name] else "left" if after[name] == inside[name] else "elsewhere"
        for name in before
    }
    in_words = {BACK: "as it was", "left": "where the block left it", "elsewhere": "somewhere else"}
    trial.true(
        set(states.values()) == {BACK},
        "; ".join(f"The generator of {name} is {in_words[state]}" for name, state in states.items()) + ".",
        expected="each GPU's generator in the state that it had before the block",
        observed=states,
    )


def _gpu_places(generators: tuple[torch.Generator, ...]) -> dict[str, bytes]:
    return {f"GPU {at}": each.get_state().numpy().tobytes() for at, each in enumerate(generators)}
