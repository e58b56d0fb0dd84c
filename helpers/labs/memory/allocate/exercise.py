"""Exercise 14.allocate: what torch's allocator tries for one request, in its order."""

from __future__ import annotations

from typing import Any

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.memory.allocate.inputs import (
    ALL,
    AVAILABLE,
    CALLBACKS,
    GARBAGE,
    MALLOC,
    NOTHING,
    OOMS,
    RETRIES,
    SEARCH,
    Recorded,
    World,
    at_zero,
    every,
    outcome,
    same_end,
    same_stats,
    same_steps,
    some,
)

allocate = Exercise(
    "14.allocate",
    'Before it says "out of memory"',
    objective="Put the steps of a request into torch's order.",
    minutes=15,
    difficulty="medium",
    core=False,
    hints=[
        "Write the seven steps one below the other. After each that may give an address, ask whether there is one, and return it.",
        "Which of `search`, `device_malloc` and `release_...` give an address, and which only prepare the next try? "
        "Two of those that prepare say by True whether a try is worth it. The others do not.",
        "An address may be 0, and 0 counts as False: `if address:` and `or` lose it. Ask `is None`.",
        "`if address is None and steps.release_available(): address = steps.device_malloc()` is step 5. Step 6 does not depend "
        "on what step 5 returned, only on whether there is an address; the retry is counted before or after it is made.",
    ],
)

ADDRESS = "The address of a block for one request, by the steps of torch's allocator, in its order."
NO_MORE = "Each call takes time, so none is made that is not needed."
FIRST = "The first address is returned as soon as there is one."
ORDER = "Each step comes after those before it, and only if they gave no address."
ONE = "`steps.search()` returns the address of an idle block that fits, or None."
TWO = "`steps.free_memory_callbacks()` asks others to give memory back. If it returns True, search once more."
THREE = "`steps.collect_garbage()` gives old idle blocks back: only if `steps.threshold` is above 0."
FOUR = "`steps.device_malloc()` returns the address of a block in a new segment, or None."
FIVE = (
    "`steps.release_available()` gives back idle blocks of a suitable size. If it returns True, "
    "`device_malloc` once more."
)
SIX = ("`steps.release_all()` gives back all idle segments.", "Then `device_malloc` once more")
RETRY = (
    'this is a retry, and `steps.stats["num_alloc_retries"]` goes up by 1, whether it helps or not.',
    "That of step 5 does not count.",
)
SEVEN = '`steps.stats["num_ooms"]` goes up by 1, and `torch.OutOfMemoryError` is raised.'


def _taken(answer: Any, trial: Trial, *worlds: World) -> None:
    """The steps and the end. What is counted has a property of its own."""
    for world in worlds:
        trial.given(str(world))
        steps = Recorded(world, trial)
        ended = outcome(answer, trial, steps)
        same_steps(trial, world, steps)
        same_end(trial, world, ended)


@allocate.property(
    "an idle block that fits: its address, and nothing else is tried", asks=(ADDRESS, ONE, FIRST)
)
def finds_an_idle_block(answer: Any, trial: Trial) -> None:
    _taken(answer, trial, some(trial, SEARCH))


@allocate.property("nothing idle fits: the device is asked", asks=(FOUR, ORDER))
def asks_the_device(answer: Any, trial: Trial) -> None:
    _taken(answer, trial, some(trial, MALLOC))


@allocate.property("all has been tried: torch.OutOfMemoryError", asks=(SEVEN, ORDER))
def runs_out(answer: Any, trial: Trial) -> None:
    _taken(answer, trial, some(trial, NOTHING))


@allocate.property("the callbacks: search once more only if they gave memory back", asks=TWO)
def asks_others(answer: Any, trial: Trial) -> None:
    _taken(
        answer,
        trial,
        some(trial, CALLBACKS, callbacks=True),
        some(trial, MALLOC, callbacks=True),
    )


@allocate.property(
    "old blocks are given back before the device is asked, if the threshold is above 0", asks=(THREE, ORDER)
)
def collects_garbage(answer: Any, trial: Trial) -> None:
    _taken(
        answer,
        trial,
        some(trial, GARBAGE, threshold=0.8),
        some(trial, MALLOC, threshold=0.8),
        some(trial, GARBAGE, threshold=0.01),
        some(trial, MALLOC, threshold=-0.5),
        some(trial, MALLOC, threshold=0),
        # torch takes fractions only; here all that counts is what is above 0.
        some(trial, GARBAGE, threshold=1.0),
        some(trial, MALLOC, threshold=1.5),
    )


@allocate.property(
    "blocks of a suitable size go back first, and all others only if that is not enough", asks=FIVE
)
def releases_some(answer: Any, trial: Trial) -> None:
    _taken(
        answer,
        trial,
        some(trial, AVAILABLE, available=True),
        some(trial, ALL, available=True),
        some(trial, NOTHING, available=True),
    )


@allocate.property("all idle segments go back, then the device is asked once more", asks=SIX)
def releases_all(answer: Any, trial: Trial) -> None:
    # Nothing is said of what release_all returns.
    for everything in (True, False, None):
        _taken(answer, trial, some(trial, ALL, everything=everything))


@allocate.property("an address may be 0", asks="An address may be 0.")
def zero_is_an_address(answer: Any, trial: Trial) -> None:
    _taken(
        answer,
        trial,
        at_zero(some(trial, SEARCH)),
        at_zero(some(trial, CALLBACKS, callbacks=True)),
        at_zero(some(trial, MALLOC)),
        at_zero(some(trial, AVAILABLE, available=True)),
        at_zero(some(trial, ALL)),
    )


@allocate.property("no call that is not needed, whatever each step gives", asks=(NO_MORE, ORDER, FIRST))
def every_combination(answer: Any, trial: Trial) -> None:
    for world in every(trial):
        _taken(answer, trial, world)
        _taken(answer, trial, at_zero(world))


@allocate.property("a retry after release_all counts, whether it helps or not", asks=RETRY)
def counts(answer: Any, trial: Trial) -> None:
    _counted(answer, trial, RETRIES)


@allocate.property("a request that ends without an address counts", asks=SEVEN)
def counts_ooms(answer: Any, trial: Trial) -> None:
    _counted(answer, trial, OOMS)


def _counted(answer: Any, trial: Trial, *names: str) -> None:
    telling = (
        some(trial, ALL),
        some(trial, NOTHING),
        # Before the next one: asking again is told from a first refusal, which is counted as well.
        some(trial, ALL, available=True),
        some(trial, AVAILABLE, available=True),
    )
    for world in (*telling, *every(trial)):
        trial.given(str(world))
        steps = Recorded(world, trial)
        outcome(answer, trial, steps)
        same_stats(trial, world, steps, names)
