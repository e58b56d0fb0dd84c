"""Exercise 01.deterministic: the global switches, on for a block and back as they were."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

import torch
import torch.utils.deterministic

from helpers.check.trial import Trial
from helpers.exercise import Exercise

CUBLAS = "CUBLAS_WORKSPACE_CONFIG"
FIXED_WORKSPACES = (":4096:8", ":16:8")
CHANGES = ("deterministic algorithms", "cudnn flags", "environment variables")

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
FRESH: Switches = dict(zip(NAMES, (False, False, True, False, False), strict=True)) | {CUBLAS: None}
TUNED: Switches = dict(zip(NAMES, (True, True, False, True, True), strict=True)) | {CUBLAS: ":16:8"}


def _require_on(trial: Trial) -> None:
    """Every switch is as the block needs it."""
    now = switches()
    wanted: Switches = {
        "deterministic algorithms": True,
        "warn_only": False,
        "fill_uninitialized_memory": True,
        "cudnn.benchmark": False,
    }
    for name, value in wanted.items():
        trial.true(
            now[name] is value,
            f"Inside the block {name} is {now[name]}, and should be {value}.",
            expected=f"{name} {value}",
            got=now[name],
        )
    trial.true(
        now[CUBLAS] in FIXED_WORKSPACES,
        f"Inside the block the environment variable {CUBLAS} is {now[CUBLAS]!r}.",
        expected=" or ".join(FIXED_WORKSPACES),
        got=now[CUBLAS],
    )


def _require_as_before(trial: Trial, before: Switches, when: str) -> None:
    now = switches()
    changed = [name for name in before if now[name] != before[name]]
    if changed:
        trial.fail(
            f"{when}, these are not as they were before: {', '.join(changed)}.",
            expected=", ".join(f"{name} {before[name]!r}" for name in changed),
            got=", ".join(f"{name} {now[name]!r}" for name in changed),
            observed=(when, [(name, now[name]) for name in changed]),
        )


def _inside(answer: Answer, look: Callable[[], None]) -> None:
    """Runs `look` in the block; what it raises goes around the block, which might swallow it."""
    trouble: list[BaseException] = []
    with answer():
        try:
            look()
        except BaseException as error:
            trouble.append(error)
    if trouble:
        raise trouble[0]


def _entered(answer: Answer, trial: Trial) -> None:
    """Says plainly when what the answer returns is no context manager."""
    block = answer()
    trial.true(
        hasattr(block, "__enter__") and hasattr(block, "__exit__"),
        f"`with deterministic():` does not work: the answer returned {type(block).__name__}, no context manager.",
        expected="a context manager: a generator function needs @contextlib.contextmanager",
        got=type(block).__name__,
    )


@deterministic.property("inside the block every switch is on", changes=CHANGES)
def on_inside(answer: Answer, trial: Trial) -> None:
    turn(FRESH)
    trial.given("a fresh Python: every switch at its default")
    _entered(answer, trial)
    _inside(answer, lambda: _require_on(trial))


@deterministic.property(
    "inside the block, an operation without a deterministic version raises", changes=CHANGES
)
def raises_inside(answer: Answer, trial: Trial) -> None:
    turn(FRESH | {"warn_only": False})
    trial.given("torch.zeros(4).put_(torch.tensor([0, 0]), torch.ones(2)) in the block")

    def put() -> None:
        trial.raises(
            RuntimeError,
            lambda: torch.zeros(4).put_(torch.tensor([0, 0]), torch.ones(2)),
            "from put_ in the block",
        )

    _inside(answer, put)


@deterministic.property("after the block, a fresh Python is as fresh as before", changes=CHANGES)
def off_after(answer: Answer, trial: Trial) -> None:
    turn(FRESH)
    trial.given("a fresh Python: every switch at its default")
    for _ in range(2):
        with answer():
            pass
        _require_as_before(trial, FRESH, "After the block")


@deterministic.property("inside the block every switch is on, whatever it was before", changes=CHANGES)
def on_inside_tuned(answer: Answer, trial: Trial) -> None:
    turn(TUNED)
    trial.given(
        "before: deterministic with warn_only, no filling, cudnn.benchmark on, a cuBLAS workspace set"
    )
    _inside(answer, lambda: _require_on(trial))


@deterministic.property("after the block, switches that somebody had set are as set before", changes=CHANGES)
def kept_after(answer: Answer, trial: Trial) -> None:
    for state in (TUNED, FRESH | {CUBLAS: ""}, FRESH | {"cudnn.deterministic": True}):
        turn(state)
        trial.given("before: " + ", ".join(f"{name} {value!r}" for name, value in state.items()))
        with answer():
            pass
        _require_as_before(trial, state, "After the block")


@deterministic.property("an error in the block comes out, and the switches are back", changes=CHANGES)
def after_an_error(answer: Answer, trial: Trial) -> None:
    for error in (ValueError, KeyboardInterrupt):
        turn(FRESH)
        trial.given(f"a block that raises {error.__name__}")
        came = False
        try:
            with answer():
                raise error("from the block")
        except error:
            came = True
        if not came:
            trial.fail(
                f"The block raised {error.__name__}, and nothing came out of `with deterministic():`.",
                expected=f"{error.__name__} goes on to the caller",
                got="nothing was raised",
            )
        _require_as_before(trial, FRESH, f"After a block that raised {error.__name__}")


@deterministic.property("blocks can be nested: the inner one's end leaves the outer one on", changes=CHANGES)
def nested(answer: Answer, trial: Trial) -> None:
    turn(FRESH)
    trial.given("a block in a block")

    def inner() -> None:
        _inside(answer, lambda: _require_on(trial))
        now = switches()
        trial.true(
            now["deterministic algorithms"] is True and now[CUBLAS] in FIXED_WORKSPACES,
            "The end of the inner block has turned the outer one off.",
            expected="still on after the inner block",
            got={name: now[name] for name in ("deterministic algorithms", CUBLAS)},
        )

    _inside(answer, inner)
    _require_as_before(trial, FRESH, "After both blocks")
