"""Steps that note what is called, in worlds in which one of them helps: what the properties of 14.allocate have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from helpers.check.trial import Trial

SEARCH, CALLBACKS, GARBAGE = "search", "free_memory_callbacks", "collect_garbage"
MALLOC, AVAILABLE, ALL = "device_malloc", "release_available", "release_all"
RETRIES, OOMS = "num_alloc_retries", "num_ooms"
MOST = 40  # calls after which an answer is ended: seven steps need nine at most

NOTHING = ""  # no step helps


@dataclass(frozen=True)
class World:
    """One request.

    helps: the step that leads to an address: by itself (`search`, `device_malloc`), or since it gives back what the next
        search or device_malloc then finds.
    callbacks, available: what `free_memory_callbacks` and `release_available` return.
    everything: what `release_all` returns; the docstring says nothing of it.
    """

    helps: str
    callbacks: bool = False
    threshold: float = 0.0
    available: bool = False
    everything: bool | None = True
    address: int = 0

    def __str__(self) -> str:
        where = {
            SEARCH: "the first search finds a block",
            CALLBACKS: "nothing fits until others have given memory back",
            GARBAGE: "nothing fits, and the device refuses until old blocks are given back",
            MALLOC: "nothing fits, and the device gives a segment at once",
            AVAILABLE: "nothing fits, and the device refuses until release_available has run",
            ALL: "nothing fits, and the device refuses until release_all has run",
            NOTHING: "nothing fits, and the device refuses whatever is given back",
        }[self.helps]
        found = "" if self.helps == NOTHING else f"; the address is {self.address}"
        return (
            f"{where}{found}; free_memory_callbacks returns {self.callbacks}, threshold is {self.threshold:g}, "
            f"release_available returns {self.available}, release_all returns {self.everything}"
        )

    def steps(self) -> list[str]:
        """The steps that a right answer takes."""
        steps = [SEARCH]
        if self.helps == SEARCH:
            return steps
        steps.append(CALLBACKS)
        if self.callbacks:
            steps.append(SEARCH)
            if self.helps == CALLBACKS:
                return steps
        if self.threshold > 0:
            steps.append(GARBAGE)
        steps.append(MALLOC)
        if self.helps in (MALLOC, GARBAGE):
            return steps
        steps.append(AVAILABLE)
        if self.available:
            steps.append(MALLOC)
            if self.helps == AVAILABLE:
                return steps
        return [*steps, ALL, MALLOC]

    def counted(self) -> dict[str, int]:
        """By how much the numbers of `stats` go up."""
        return {RETRIES: int(ALL in self.steps()), OOMS: int(self.helps == NOTHING)}


class TooMany(BaseException):
    """Ends an answer that tries without end. No Exception: an answer may catch those."""


class Recorded:
    """What `allocate` is given: each call is noted."""

    def __init__(self, world: World, trial: Trial) -> None:
        self._world, self._called = world, []
        self.threshold = world.threshold
        self._before = {name: trial.random.randint(2, 30) for name in (RETRIES, OOMS, "num_sync_all_streams")}
        self.stats = dict(self._before)

    def _note(self, step: str) -> None:
        self._called.append(step)
        if len(self._called) > MOST:
            raise TooMany

    def search(self) -> int | None:
        self._note(SEARCH)
        helps = self._world.helps
        found = helps == SEARCH or helps == CALLBACKS and CALLBACKS in self._called
        return self._world.address if found else None

    def free_memory_callbacks(self) -> bool:
        self._note(CALLBACKS)
        return self._world.callbacks

    def collect_garbage(self) -> None:
        self._note(GARBAGE)

    def device_malloc(self) -> int | None:
        self._note(MALLOC)
        return self._world.address if self._world.helps in self._called else None

    def release_available(self) -> bool:
        self._note(AVAILABLE)
        return self._world.available

    def release_all(self) -> bool | None:
        self._note(ALL)
        return self._world.everything


def some(trial: Trial, helps: str, **more: Any) -> World:
    """A world with an address drawn at random, never 0."""
    return World(helps, address=trial.random.randrange(1, 1 << 20) * 512, **more)


def every(trial: Trial) -> Iterator[World]:
    """All worlds: what helps, and what each step returns, in each combination that can be."""
    for callbacks in (False, True):
        for threshold in (0.0, 0.8):
            for available in (False, True):
                for helps in (SEARCH, CALLBACKS, MALLOC, GARBAGE, AVAILABLE, ALL, NOTHING):
                    can_be = {CALLBACKS: callbacks, GARBAGE: threshold > 0, AVAILABLE: available}
                    if can_be.get(helps, True):
                        yield some(
                            trial, helps, callbacks=callbacks, threshold=threshold, available=available
                        )


def outcome(answer: Any, trial: Trial, steps: Recorded) -> tuple[str, Any]:
    """How the answer ends: ("returned", what) or ("raised", the name of the error)."""
    try:
        return "returned", trial.call(answer, steps)
    except TooMany:
        return "tried without end", None
    except torch.OutOfMemoryError:
        return "raised", "OutOfMemoryError"
    except NotImplementedError:
        raise
    except (MemoryError, RuntimeError, ValueError) as error:
        return "raised", type(error).__name__


def same_steps(trial: Trial, world: World, steps: Recorded) -> None:
    wanted, called = world.steps(), steps._called[:MOST]
    if called == wanted:
        return
    place = next(
        (at for at, (one, other) in enumerate(zip(wanted, called, strict=False)) if one != other),
        min(len(wanted), len(called)),
    )
    before, then = _listed(called[:place]), called[place] if place < len(called) else None
    came = f"came {then}" if then else "nothing more was tried"
    first = f"After {before} {came}." if before else f"First {came}."
    reason = _reason(world, wanted, place)
    later = place < len(wanted) and wanted[place] in called[place + 1 :]
    trial.fail(
        f"{first} {reason}",
        expected=_listed(wanted, ", "),
        got=_listed(called[:12], ", ") + (" ..." if len(called) > 12 else "") if called else "no step",
        observed=(
            "steps",
            _key(world),
            called[: place + 1],
            "ends" if then is None else "later" if later else "",
        ),
    )


def _reason(world: World, wanted: list[str], place: int) -> str:
    """Why a right answer does something else there."""
    if place == len(wanted):
        if world.helps == NOTHING:
            return "All has been tried once: it is out of memory now."
        return f"The address was there already, {world.address}, and nothing more is needed."
    step, before = wanted[place], wanted[place - 1] if place else ""
    return {
        SEARCH: "The callbacks gave memory back, and so the idle blocks are searched once more."
        if before == CALLBACKS
        else "The idle blocks are searched before all else: that costs least.",
        CALLBACKS: "No idle block fits, and so others are asked to give memory back.",
        GARBAGE: f"The threshold is {world.threshold:g}, above 0: old blocks are given back before the device is asked.",
        MALLOC: {
            AVAILABLE: "release_available gave blocks back (True), and so the device is asked once more.",
            ALL: "All idle segments are given back, and so the device is asked once more.",
            GARBAGE: "Old blocks were given back, and now the device is asked for a segment.",
            SEARCH: "Nothing idle fits"
            + (" after the callbacks, either" if world.callbacks else "")
            + f", and the threshold is {world.threshold:g}: the device is asked for a segment.",
            CALLBACKS: "The callbacks gave nothing back (False)"
            + f", and the threshold is {world.threshold:g}: the device is asked for a segment.",
        }.get(before, ""),
        AVAILABLE: "The device refused, and so idle blocks of a suitable size are given back before all others.",
        ALL: (
            "The device refused once more, and so all idle segments are given back."
            if world.available
            else "release_available gave nothing back (False), and so all idle segments are given back."
        ),
    }[step]


def same_end(trial: Trial, world: World, ended: tuple[str, Any]) -> None:
    what, value = ended
    if world.helps == NOTHING:
        trial.true(
            ended == ("raised", "OutOfMemoryError"),
            f"There is no memory for the request, and the answer {what} {value}.",
            expected="torch.OutOfMemoryError",
            got=f"{what} {value}",
            observed=("end", what, str(value)),
        )
        return
    trial.true(
        what == "returned",
        f"A step gave an address, and {value} was raised.",
        expected=f"{world.address}",
        got=f"raised {value}",
        observed=("end", what, str(value)),
    )
    kind = "the address" if type(value) is int and value == world.address else type(value).__name__
    trial.true(
        kind == "the address",
        f"The step gave the address {world.address}, and {value!r} was returned.",
        expected=f"{world.address}",
        got=repr(value),
        observed=("end", kind, _key(world)),
    )


def same_stats(trial: Trial, world: World, steps: Recorded, names: tuple[str, ...]) -> None:
    """names: of the numbers that are looked at; the other one has a property of its own. Then all that nobody asked for."""
    wanted = {**steps._before}
    for name, more in world.counted().items():
        wanted[name] += more
    for name in (*names, "num_sync_all_streams"):
        now, before = steps.stats.get(name), steps._before[name]
        trial.true(
            now == wanted[name],
            f'stats["{name}"] was {before} before, and is {now} now. {_why(name, world)}',
            expected=f"{wanted[name]}",
            got=f"{now}",
            observed=("stats", name, _key(world), _change(before, now)),
        )
    trial.true(
        steps.stats.keys() == wanted.keys(),
        f"stats holds {sorted(steps.stats)}: an entry was added.",
        expected=sorted(wanted),
        got=sorted(steps.stats),
        observed=("stats", sorted(steps.stats)),
    )


def _change(before: int, now: Any) -> Any:
    """What became of a number that was 2 or more."""
    if type(now) is not int:
        return str(now)
    return f"set to {now}" if now in (0, 1) else now - before


def _why(name: str, world: World) -> str:
    if name == OOMS:
        return "Each request that ends without an address counts once, and no other."
    if name != RETRIES:
        return "This number is none of the two that the request counts."
    if world.counted()[RETRIES]:
        return (
            "Asking the device again after release_all is a retry. It counts once, whether it helps or not."
        )
    return "Only asking the device again after release_all is a retry, and that was not needed here."


def _key(world: World) -> list[Any]:
    """A world without its address."""
    zero = "0" if world.address == 0 else ""
    return [
        world.helps,
        world.callbacks,
        world.threshold,
        world.available,
        str(world.everything),
        zero,
    ]


def at_zero(world: World) -> World:
    return replace(world, address=0)


def _listed(steps: list[str], last: str = " and ") -> str:
    *others, end = steps or [""]
    return f"{', '.join(others)}{last}{end}" if others else end
