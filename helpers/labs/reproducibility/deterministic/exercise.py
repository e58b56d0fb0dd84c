"""Exercise 01.deterministic: the global switches, on for a block and back as they were."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import torch
import torch.utils.deterministic

from helpers.check import guard
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.reproducibility.shared.blocks import (
    ERRORS,
    Stop,
    manager,
    require_all_came,
    what_came,
    which,
)
from helpers.labs.reproducibility.shared.machines import Gpus, gpus
from helpers.labs.reproducibility.shared.switches import (
    GENERATORS,
    SLOTS,
    STATES,
    changed,
    global_state,
    turn_all,
)

CUBLAS = "CUBLAS_WORKSPACE_CONFIG"
HASH_SEED = "os.environ['PYTHONHASHSEED']"
FIXED_WORKSPACES = (":4096:8", ":16:8")

deterministic = Exercise(
    "01.deterministic",
    "Deterministic for a while",
    objective="Turn on everything that makes torch deterministic for one block, and leave no trace.",
    minutes=20,
    difficulty="medium",
    core=False,
    hints=[
        "There are more switches than one: which of them does `torch.use_deterministic_algorithms` not touch?",
        "Read every switch first, in a local variable; set them; give them back in a `finally`. An environment "
        "variable that was not there must be removed, not emptied.",
        "Six things: the mode and its `warn_only`, `torch.utils.deterministic.fill_uninitialized_memory`, "
        "`torch.backends.cudnn.benchmark` and `.deterministic`, and `os.environ['CUBLAS_WORKSPACE_CONFIG'] = ':4096:8'`.",
    ],
)

Switches = dict[str, Any]
Moved = list[tuple[str, Any]]  # the switches that are not as they were before, and what they are
Answer = Callable[[], contextlib.AbstractContextManager[Any]]


def switches() -> Switches:
    """The switches now, by their names."""
    return {
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
        "fill_uninitialized_memory": torch.utils.deterministic.fill_uninitialized_memory,
        "cudnn.benchmark": torch.backends.cudnn.benchmark,
        "cudnn.deterministic": torch.backends.cudnn.deterministic,
        CUBLAS: os.environ.get(CUBLAS),
    }


def turn(state: Switches) -> None:
    """Sets all switches."""
    torch.use_deterministic_algorithms(state["deterministic algorithms"], warn_only=state["warn_only"])
    torch.utils.deterministic.fill_uninitialized_memory = state["fill_uninitialized_memory"]
    torch.backends.cudnn.benchmark = state["cudnn.benchmark"]
    torch.backends.cudnn.deterministic = state["cudnn.deterministic"]
    os.environ.pop(CUBLAS, None)
    if state[CUBLAS] is not None:
        os.environ[CUBLAS] = state[CUBLAS]


NAMES = (
    "deterministic algorithms",
    "warn_only",
    "fill_uninitialized_memory",
    "cudnn.benchmark",
    "cudnn.deterministic",
)
WANTED: Switches = dict(zip(NAMES, (True, False, True, False, True), strict=True))
FRESH: Switches = dict(zip(NAMES, (False, False, True, False, False), strict=True)) | {CUBLAS: None}
TUNED: Switches = dict(zip(NAMES, (True, True, False, True, True), strict=True)) | {CUBLAS: ":4096:2:16:8"}
ON: Switches = WANTED | {CUBLAS: ":4096:8"}
# What somebody may have set before: everything, one switch alone, what the block itself sets, and all of that but one.
SET = (
    TUNED,
    *(FRESH | {name: value} for name, value in TUNED.items() if value != FRESH[name] and name != "warn_only"),
    FRESH | {CUBLAS: ""},
    ON,
    ON | {CUBLAS: ":16:8"},
    *(ON | {name: not value} for name, value in WANTED.items()),
    ON | {CUBLAS: None},
)


TURNED_ON = {name for name, value in ON.items() if value != TUNED[name]}
DEFAULTS = {name: FRESH[name] for name in NAMES}  # what somebody may turn to inside a block


def in_words(state: Switches) -> str:
    """A state, by what differs from a fresh Python."""
    set_ = [f"{name} {value!r}" for name, value in state.items() if value != FRESH[name]]
    return f"before the block: {', '.join(set_)}" if set_ else "before the block: every switch at its default"


def off_inside() -> list[tuple[str, Any]]:
    """The switches that are not as the block needs them, and what they are."""
    now = switches()
    off = [(name, now[name]) for name, value in WANTED.items() if now[name] is not value]
    return off + ([] if now[CUBLAS] in FIXED_WORKSPACES else [(CUBLAS, now[CUBLAS])])


def require_on(trial: Trial, off: list[tuple[str, Any]], before: Switches, where: str) -> None:
    """Wrong unless every switch is on. off: see off_inside. before: the switches before the block."""
    wanted = WANTED | {CUBLAS: " or ".join(map(repr, FIXED_WORKSPACES))}
    kept = [(name, value if name != CUBLAS else value == before[CUBLAS]) for name, value in off]
    trial.true(
        not off,
        f"{where} not every switch is as it must be: {', '.join(name for name, _ in off)}.",
        expected=", ".join(f"{name} {wanted[name]}" for name, _ in off),
        got=", ".join(f"{name} {value!r}" for name, value in off),
        observed=(where, kept),
    )


def not_as(before: Switches) -> Moved:
    """The switches that are not as before, and what they are."""
    return [(name, value) for name, value in switches().items() if value != before[name]]


def require_as(trial: Trial, before: Switches, moved: Moved, when: str, seen: Any) -> None:
    """Wrong if a switch is not as before. moved: see not_as. seen: what tells mistakes apart."""
    trial.true(
        not moved,
        f"{when}, these are not as they were before: {', '.join(name for name, _ in moved)}.",
        expected=", ".join(f"{name} {before[name]!r}" for name, _ in moved),
        got=", ".join(f"{name} {value!r}" for name, value in moved),
        observed=(when if when.endswith("block") else "", seen),
    )


def in_short(found: Collection[Moved]) -> Any:
    """What tells mistakes apart: who turns the mode off at the end may do anything with the other switches."""
    names = {name for moved in found for name, _ in moved}
    if any(("deterministic algorithms", False) in moved for moved in found):
        return "the mode is off"
    return sorted(names) if CUBLAS not in names or len(names) > 1 else "the variable"


def block_of(answer: Answer, trial: Trial) -> contextlib.AbstractContextManager[Any]:
    return manager(answer, trial, "deterministic")


@deterministic.property(
    "inside the block every switch is on",
    changes=SLOTS,
    asks=(
        "`torch.use_deterministic_algorithms` is on, with errors and not with warnings (`warn_only`);",
        "`torch.utils.deterministic.fill_uninitialized_memory` is True;",
        "`torch.backends.cudnn.deterministic` is True, and `torch.backends.cudnn.benchmark` is False;",
        'the environment variable `CUBLAS_WORKSPACE_CONFIG` is ":4096:8" (":16:8" will do, too).',
    ),
)
def on_inside(answer: Answer, trial: Trial) -> None:
    turn(FRESH)
    trial.given(in_words(FRESH))
    with block_of(answer, trial):
        off = off_inside()
    require_on(trial, off, FRESH, "Inside the block")


@deterministic.property(
    "after the block, a fresh Python is as fresh as before",
    changes=SLOTS,
    once_right=True,
    asks=(
        "After the block all of these are as they were before it,",
        "A variable that was not set is then not set.",
    ),
)
def off_after(answer: Answer, trial: Trial) -> None:
    turn(FRESH)
    for turns in ("After the block", "After a second block"):
        trial.given(in_words(FRESH))
        with block_of(answer, trial):
            pass
        moved = not_as(FRESH)
        require_as(trial, FRESH, moved, turns, moved)


@deterministic.property(
    "inside the block every switch is on, whatever it was before",
    changes=SLOTS,
    once_right=True,
    asks=("A block in which torch is deterministic: inside it, and whatever was set before,",),
)
def on_inside_tuned(answer: Answer, trial: Trial) -> None:
    found = []
    for state in SET:
        turn(state)
        with block_of(answer, trial):
            found.append(off_inside())
    at = next((at for at, off in enumerate(found) if off), 0)
    trial.given(in_words(SET[at]))
    require_on(trial, found[at], SET[at], "Inside the block")


@deterministic.property(
    "after the block, switches that somebody had set are as set before",
    changes=SLOTS,
    once_right=True,
    asks="After the block all of these are as they were before it,",
)
def kept_after(answer: Answer, trial: Trial) -> None:
    found = [_left(answer, trial, state) for state in SET]
    at = next((at for at, moved in enumerate(found) if moved), 0)
    trial.given(in_words(SET[at]))
    seen = in_short(found)
    if seen == "the variable":
        seen = sorted({_kinds(state, moved) for state, moved in zip(SET, found, strict=True) if moved})
    require_as(trial, SET[at], found[at], "After the block", seen)


def _kinds(state: Switches, moved: Moved) -> str:
    """What became of the variable: "text to not set"."""
    kinds = (
        "not set" if text is None else "text" if text else "empty" for text in (state[CUBLAS], moved[0][1])
    )
    return " to ".join(kinds)


def _left(answer: Answer, trial: Trial, state: Switches, between: Switches | None = None) -> Moved:
    """What a block leaves otherwise than before it. between: the switches that code inside the block turns."""
    turn(state)
    with block_of(answer, trial):
        turn(switches() | (between or {}))
    return not_as(state)


@deterministic.property(
    "after the block, switches that code inside it has turned are as before the block",
    changes=SLOTS,
    once_right=True,
    asks="whatever the code inside it did to them.",
)
def kept_after_turning(answer: Answer, trial: Trial) -> None:
    turns = {
        "turns all switches to their defaults": DEFAULTS,
        f"removes {CUBLAS}": {CUBLAS: None},
        f"sets {CUBLAS} to ':16:8'": {CUBLAS: ":16:8"},
        f"sets {CUBLAS} to ''": {CUBLAS: ""},
        "turns each switch": TUNED,
    }
    cases = list(itertools.product((FRESH, TUNED, ON), turns.items()))
    found = []
    for state, (words, between) in cases:
        trial.given(f"{in_words(state)}; the code inside the block {words}")
        try:
            found.append(_left(answer, trial, state, between))
        except (KeyError, TypeError, ValueError, OSError) as error:
            trial.fail(
                f"Leaving the block raised {type(error).__name__}: {error}. So other switches may not be back.",
                expected="each switch as before the block, and no error",
                got=f"{type(error).__name__}: {error}",
                observed="raised",
            )
    at = next((at for at, moved in enumerate(found) if moved), 0)
    state, (words, _) = cases[at]
    trial.given(f"{in_words(state)}; the code inside the block {words}")
    require_as(
        trial,
        state,
        found[at],
        "After the block",
        "the variable" if in_short(found) == "the variable" else "switches",
    )


def put() -> None:
    """An operation without a deterministic version."""
    torch.zeros(4).put_(torch.tensor([0, 0]), torch.ones(2))


@deterministic.property(
    "an operation without a deterministic version raises, and every error comes out of the block",
    changes=SLOTS,
    once_right=True,
    asks=(
        "Where torch has no deterministic algorithm, its RuntimeError comes out of the block.",
        "Every error comes out, of whatever kind,",
    ),
)
def errors_come_out(answer: Answer, trial: Trial) -> None:
    turn(FRESH)
    came = {}
    for kind in ERRORS:
        block = block_of(answer, trial)
        came[kind.__name__] = what_came(block, kind("raised inside the block"))
    trial.given(f"blocks that raise {', '.join(came)}")
    require_all_came(trial, came)
    trial.given("torch.zeros(4).put_(torch.tensor([0, 0]), torch.ones(2)) in the block")

    def put_in_a_block() -> None:
        with block_of(answer, trial):
            put()

    trial.raises(RuntimeError, put_in_a_block, "from put_ in the block")


@deterministic.property(
    "after an error in the block the switches are back",
    changes=SLOTS,
    once_right=True,
    asks="and the switches are back all the same.",
)
def back_after_an_error(answer: Answer, trial: Trial) -> None:
    found = {}
    for kind in ERRORS:
        turn(TUNED)
        block = block_of(answer, trial)
        what_came(block, kind("raised inside the block"))
        if moved := not_as(TUNED):
            found[kind.__name__] = moved
    at = next(iter(found), "Stop")
    trial.given(f"a block that raises {at}; {in_words(TUNED)}")
    names = {name for moved in found.values() for name, _ in moved}
    seen = which(found), "some switches" if TURNED_ON - names else "all switches"
    require_as(trial, TUNED, found.get(at, []), f"After a block that raised {at}", seen)


@deterministic.property(
    "blocks can be nested: each gives back what was set before it",
    changes=SLOTS,
    once_right=True,
    asks=(
        "Blocks may stand inside each other,",
        "and code inside a block may turn the switches and the variable: the next block inside turns them on again.",
    ),
)
def nested(answer: Answer, trial: Trial) -> None:
    off = {name: not value for name, value in WANTED.items()} | {CUBLAS: ":0:0"}
    apart = {name: off[name] for name in off if name not in ("deterministic algorithms", "warn_only")}
    alone = [{name: value} for name, value in off.items()]
    for between in ({}, TUNED, apart, *alone):  # apart: torch is deterministic still, with errors
        turn(FRESH)
        turned = (
            "every switch" if between is TUNED else ", ".join(f"{n} to {v!r}" for n, v in between.items())
        )
        words = f"turns {turned} and " if between else ""
        trial.given(f"a block that {words}holds two blocks; before them every switch at its default")
        with block_of(answer, trial):
            turn(switches() | between)
            outer, inner, after = switches(), [], []
            for _ in range(2):
                with block_of(answer, trial):
                    inner.append(off_inside())
                after.append(not_as(outer))
        end = not_as(FRESH)
        seen = (bool(between), inner, in_short(after), end)
        for off in inner:
            require_on(trial, off, outer, "Inside the inner block")
        for moved in after:
            require_as(trial, outer, moved, "After the inner block, still inside the outer one", seen)
        require_as(trial, FRESH, end, "After both blocks", seen)


@deterministic.property(
    "nothing else is changed, inside the block or after it",
    changes=SLOTS,
    once_right=True,
    asks="Nothing else is changed, inside the block or after it: no generator, on no device, not `cudnn.enabled`.",
)
def nothing_else(answer: Answer, trial: Trial) -> None:
    turn(FRESH)
    state = guard.snapshot()
    with block_of(answer, trial):  # once, for what libraries change at their first use
        pass
    guard.restore(state)
    but = (
        "deterministic algorithms",
        *FRESH,
        "cudnn.benchmark_limit",  # `torch.backends.cudnn.flags` sets it, too
        f"os.environ[{CUBLAS!r}]",
        "os.environ['TORCHINDUCTOR_CACHE_DIR']",
    )
    for (words, switches_are), started in itertools.product(STATES.items(), (True, False)):
        with switches_are(), gpus(2, started=started) as pretended:
            before = global_state(but) | on_gpus(pretended)
            with block_of(answer, trial):
                inside = global_state(but) | on_gpus(pretended)
            if not started:
                began = {"CUDA has started": pretended.started}
                pretended.start()  # where a seed was left for later, it is used now
            after = global_state(but) | on_gpus(pretended)
            if not started:
                before, inside, after = before | {"CUDA has started": False}, inside | began, after | began
        trial.given(
            f"before the block: {words}; two pretended GPUs, CUDA {'has' if started else 'has not'} started"
        )
        _require_unchanged(trial, "Inside the block", before, inside, words)
        _require_unchanged(trial, "After the block", before, after, words)
    for ending in (None, Stop("raised inside the block")):
        turn_all()
        trial.given("a block that draws numbers and turns other switches" + (" and raises" if ending else ""))
        with contextlib.suppress(Stop), block_of(answer, trial):
            random.random(), np.random.rand(), torch.rand(())
            torch.set_num_threads(4)
            torch.set_float32_matmul_precision("highest")
            left = global_state(but)
            if ending:
                raise ending
        _require_unchanged(trial, "By the end of the block", left, global_state(but), str(ending))


def on_gpus(pretended: Gpus) -> dict[str, Any]:
    """Where the generators of the GPUs stand."""
    return {"cuda RNG": [each.get_state().numpy().tobytes() for each in pretended.generators]}


def _require_unchanged(
    trial: Trial, where: str, before: dict[str, Any], after: dict[str, Any], case: str
) -> None:
    """Wrong if something else than the block's own switches differs."""
    moved = changed(before, after)
    undone = where.startswith("By the end")  # what the block itself did is to stay
    trial.true(
        not moved,
        f"What the code inside the block did to this is undone after it: {', '.join(moved)}."
        if undone
        else f"{where} this is changed, too: {', '.join(moved)}.",
        expected=", ".join(
            f"{name}: {'as the block left it' if undone else 'as before'} ({old})"
            for name, (old, _) in moved.items()
        ),
        got=", ".join(
            f"{name}: {new if new != 'a state' else 'put back' if undone else 'moved'}"
            for name, (_, new) in moved.items()
        ),
        observed=(case, where, _in_short(moved)),
    )


def _in_short(moved: Collection[str]) -> list[str]:
    """What tells mistakes apart: which library's generator does not, nor which GPU's beside one on the CPU."""
    on_the_cpu = any(name in GENERATORS and name != "cuda RNG" for name in moved)
    words = {
        name: "a generator" if name in GENERATORS else "a variable" if name.startswith("os.environ") else name
        for name in moved
        if not (on_the_cpu and name == "cuda RNG")
    }
    words |= {"cuda RNG": "a GPU's generator"} if "cuda RNG" in words else {}
    words |= {HASH_SEED: HASH_SEED} if HASH_SEED in words else {}
    return sorted(set(words.values()))
