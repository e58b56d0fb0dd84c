"""06.mini_grad_scaler: what is stored, and the scaler that is not enabled."""

from __future__ import annotations

import math
from typing import Any

import torch

from helpers.check.trial import Trial
from helpers.labs.streams.mini_grad_scaler.exercise import (
    ENTRIES,
    LEFT,
    LOAD,
    OFF,
    STATE,
    STEP,
    mini_grad_scaler,
)
from helpers.labs.streams.mini_grad_scaler.inputs import (
    LOSS,
    Answer,
    Noting,
    Scaler,
    backward,
    counting,
    optimizer_of,
    parameters,
    play,
    require_number,
    scale_of,
    some_scale,
)
from helpers.labs.streams.mini_grad_scaler.properties.update import ESSENTIAL


def entries(scale: float, growth: float, backoff: float, interval: int, good: int) -> dict[str, Any]:
    return {
        "scale": scale,
        "growth_factor": growth,
        "backoff_factor": backoff,
        "growth_interval": interval,
        "_growth_tracker": good,
    }


def five_of(trial: Trial, state: Any) -> dict[str, float]:
    """The five entries of the state; wrong unless it is a dict that has them, all of them numbers."""
    trial.true(
        isinstance(state, dict),
        f"What state_dict() returns is no dict, but of type {type(state).__name__}.",
        expected="a dict",
        observed=("no dict", type(state).__name__),
    )
    names = list(entries(0, 0, 0, 0, 0))
    missing = [name for name in names if name not in state]
    trial.true(
        not missing,
        f"What state_dict() returns lacks {', '.join(missing)}.",
        expected=", ".join(names),
        got=", ".join(map(str, state)),
        observed=("missing", missing),
    )
    return {name: require_number(trial, state[name], f"state_dict()[{name!r}]") for name in names}


def scales_of(scaler: Scaler, trial: Trial, signs: str) -> list[float]:
    """The scale after each iteration of a script."""
    optimizer, found = counting(1), []
    for sign in signs:
        play(scaler, optimizer, signs=sign)
        found.append(scale_of(trial, scaler))
    return found


@mini_grad_scaler.property(
    "state_dict() holds the five numbers that torch's holds, as they are then, and load_state_dict takes over all five",
    asks=(STATE, ENTRIES, LOAD, LEFT),
    after=ESSENTIAL,
)
def stores(answer: Answer, trial: Trial) -> None:
    start = some_scale(trial)
    scaler = answer(init_scale=start, growth_factor=4.0, backoff_factor=0.25, growth_interval=3, enabled=True)
    trial.given(
        f"init_scale {start:g}, growth_factor 4.0, backoff_factor 0.25, growth_interval 3, two good iterations"
    )
    scales_of(scaler, trial, "++")
    taken, want = scaler.state_dict(), entries(start, 4.0, 0.25, 3, 2)
    got = five_of(trial, taken)
    trial.equal(
        got,
        {name: float(value) for name, value in want.items()},
        "What state_dict() returns",
        observed=[got[name] == want[name] for name in want],
    )
    whole = {name: type(taken[name]).__name__ for name in ("growth_interval", "_growth_tracker")}
    trial.true(
        all(isinstance(taken[name], int) for name in whole),
        "In state_dict() a count is no int.",
        expected="growth_interval and _growth_tracker of type int",
        got=", ".join(f"{name}: {kind}" for name, kind in whole.items()),
        observed=("types", list(whole.values())),
    )
    scales_of(scaler, trial, "+")
    trial.given("the same scaler one good iteration later")
    trial.equal(five_of(trial, taken), got, "The state that was taken before", observed="changed later")
    trial.given("the same scaler one good iteration later: state_dict() again")
    scaler.state_dict()
    trial.equal(
        five_of(trial, taken), got, "The state that was taken before", observed="changed by the next one"
    )
    for used in (False, True):
        other = answer(2.0**5, 2.0, 0.5, 9)
        scales_of(other, trial, "+" * used)
        trial.given(
            f"this state is loaded by a scaler of scale 32, factors 2.0 and 0.5, growth_interval 9, that is "
            f"{'in use' if used else 'new'}; then a good iteration and one with inf"
        )
        other.load_state_dict(given := dict(want))
        at_once = sorted(set(want) - set(given)) or "edited"
        trial.true(
            given == want,
            "The dict that was given to load_state_dict has changed at once.",
            expected=f"{want}",
            got=f"{given}",
            observed=("edited at once", used, at_once),
        )
        there = five_of(trial, other.state_dict())
        left_out = [name for name, value in want.items() if there[name] != value]
        ways = [scale_of(trial, other), *scales_of(other, trial, "+0")]
        right = [start, 4 * start, start]
        trial.true(
            ways == right,
            "The scale does not go on as it would have without the break."
            + (f" Not taken over: {', '.join(left_out)}." if left_out else ""),
            expected=", ".join(f"{scale:g}" for scale in right),
            got=", ".join(f"{scale:g}" for scale in ways),
            observed=("scales", used, left_out or ways),
        )
        trial.true(
            given == want,
            "The dict that was given to load_state_dict has changed afterwards.",
            expected=f"{want}",
            got=f"{given}",
            observed=("edited", used),
        )
        trial.true(
            not left_out,
            f"After load_state_dict, state_dict() holds something else: {', '.join(left_out)}.",
            expected=f"{want}",
            got=f"{there}",
            observed=("loaded", used, left_out),
        )
    _begins_and_counts_far(answer, trial, start)


def _begins_and_counts_far(answer: Answer, trial: Trial, start: float) -> None:
    """Wrong unless the state is right before the first loss, and its count beyond the whole numbers that float32 holds."""
    trial.given(f"init_scale {start:g}, growth_factor 4.0, growth_interval 3, a new scaler: state_dict()")
    want = entries(start, 4.0, 0.25, 3, 0)
    state = answer(start, 4.0, 0.25, 3).state_dict()
    got = five_of(trial, state)
    trial.true(
        got == want,
        "Before the first loss state_dict() holds something else than afterwards.",
        expected=f"{want}",
        got=f"{got}",
        observed=("new", [name for name in want if got[name] != want[name]]),
    )
    trial.true(
        type(state["scale"]) is float,
        "In the state_dict() of a new scaler the scale is no float of Python's.",
        expected="float",
        got=type(state["scale"]).__name__,
        observed=("scale", type(state["scale"]).__name__),
    )
    far = 2**24
    trial.given(
        f"a state with a count of {far} and an interval of {2 * far} is loaded; then a good iteration"
    )
    scaler = answer(start, 4.0, 0.25, 3)
    scaler.scale(LOSS)
    scaler.load_state_dict(entries(start, 4.0, 0.25, 2 * far, far))
    play(scaler, counting(1), signs="+")
    count = scaler.state_dict()["_growth_tracker"]
    trial.true(
        count == far + 1,
        "After one good iteration more the count is not one more. float32 holds no odd number above 2**24.",
        expected=far + 1,
        got=count,
        observed=("far", count - far),
    )


@mini_grad_scaler.property(
    "enabled=False: losses and steps go through as they are", asks=(OFF, STEP), after=ESSENTIAL
)
def passes_through(answer: Answer, trial: Trial) -> None:
    scaler, optimizer = answer(2.0**10, 2.0, 0.5, 9, enabled=False), optimizer_of(trial, (3,), (2, 2))
    trial.given("enabled=False: scale")
    loss = torch.randn((), generator=trial.generator).requires_grad_()
    scaled = scaler.scale(loss)
    trial.true(
        scaled is loss,
        "A scaler that is not enabled returns a different object than the loss that it was given.",
        expected="the same tensor",
        got="one that is equal" if equals(scaled, loss) else scaled,
        observed=("scaled", equals(scaled, loss)),
    )
    trial.given("enabled=False: scale, backward, unscale_, step, update; then the same with an inf")
    steps = []
    for ill in (False, True):
        optimizer.seen.clear()
        steps.append(iteration_off(scaler, optimizer, trial, ill))
    trial.true(
        steps == [1, 1],
        "A scaler that is not enabled calls optimizer.step always.",
        expected="one call of optimizer.step in each of the two",
        got=f"{steps[0]} and {steps[1]} calls",
        observed=("steps", steps),
    )
    trial.given("enabled=False: step(optimizer, 1, closure=2)")
    got = scaler.step(optimizer, 1, closure=2)
    trial.true(
        optimizer.given[-1] == ((1,), {"closure": 2}) and got == f"the result of step {len(optimizer.seen)}",
        "A scaler that is not enabled calls optimizer.step without what the caller gave for it, or loses its result.",
        expected="optimizer.step(1, closure=2), and its result",
        got=f"args and kwargs {optimizer.given[-1]}; the result is {got!r}",
        observed=("handed on", optimizer.given[-1] == ((1,), {"closure": 2}), got is None),
    )


def equals(one: Any, other: torch.Tensor) -> bool:
    return isinstance(one, torch.Tensor) and torch.equal(one, other)


def iteration_off(scaler: Scaler, optimizer: Noting, trial: Trial, ill: bool) -> int:
    """An iteration with a scaler that is not enabled; returns the number of steps."""
    (true,) = backward(scaler, optimizer, trial=trial)
    if ill:
        parameters(optimizer)[0].grad[0] = true[0][0] = math.inf
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    for seen in optimizer.seen:
        for got, want in zip(seen, true, strict=True):
            trial.equal(got, want, "A gradient", rtol=0, atol=0, observed="gradient changed")
    return len(optimizer.seen)
