"""Exercise 04.warmup_cosine: a warm-up in a straight line, then half a cosine."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch.optim.lr_scheduler
from torch.optim.lr_scheduler import LRScheduler
from torch.optim.swa_utils import SWALR

from helpers.check.calls import calls_to
from helpers.check.compare import shown
from helpers.check.trial import Trial
from helpers.exercise import Exercise

warmup_cosine = Exercise(
    "04.warmup_cosine",
    "Warm up, then follow a cosine",
    objective="Write the most used schedule of today as a pure function of the step, for LambdaLR.",
    minutes=15,
    difficulty="easy",
    hints=[
        "Draw the curve on paper first: three pieces, and at both joints the pieces must meet. LambdaLR multiplies "
        "what you return by the learning rate that the group started with.",
        "In the middle piece, first find how far the step is on its way from warmup to total: 0 at warmup, 1 at total.",
        "(1 + cos(pi * progress)) / 2 goes from 1 to 0. It must become a curve that goes from 1 to floor: what is its "
        "height, and from where does it start? Beyond total a cosine rises again, so that piece needs its own line.",
    ],
)

Setting = tuple[int, int, float]  # warmup, total, floor
NEAR = 1e-6
SCHEDULERS = [
    kind
    for kind in (SWALR, *vars(torch.optim.lr_scheduler).values())
    if isinstance(kind, type) and issubclass(kind, LRScheduler)
]


# How the line may rise to 1. Well-known schedulers differ here: the second loses the first step to a factor of 0, the
# third has two steps at the top.
LINES: list[Callable[[int, int], float]] = [
    lambda step, warmup: (step + 1) / (warmup + 1),
    lambda step, warmup: step / warmup,
    lambda step, warmup: (step + 1) / warmup,
]


def right(
    step: int, warmup: int, total: int, floor: float, line: Callable[[int, int], float] = LINES[0]
) -> float:
    """The factor at this step."""
    if step < warmup:
        return line(step, warmup)
    way = min(1.0, (step - warmup) / max(1, total - warmup))
    return floor + (1 - floor) * (1 + math.cos(math.pi * way)) / 2


def some_setting(trial: Trial) -> Setting:
    warmup = trial.random.randrange(4, 8)
    total, floor = warmup + trial.random.randrange(9, 15), trial.random.randrange(5, 30) / 100
    # A line that begins at the floor is a right one where a right one happens to begin there: 0.2 is (0 + 1) / (4 + 1).
    happens = any(math.isclose(line(0, warmup), floor) for line in LINES)
    return warmup, total, round(floor + happens * 0.005, 3)


def factor(answer: Callable[..., Any], trial: Trial, step: int, setting: Setting) -> float:
    """answer(step, *setting), if it is a number."""
    got = answer(step, *setting)
    if isinstance(got, bool) or not isinstance(got, (int, float)):
        kind = type(got).__name__
        trial.fail(
            f"The factor at step {step} is {'None' if got is None else f'an object of type {kind}'}.",
            expected="a Python number, as float or int",
            got=f"{kind}: {shown(got)}",
            observed=("kind", kind),
        )
    return float(got)


def follows(answer: Callable[..., Any], trial: Trial, steps: Iterable[int], setting: Setting) -> None:
    """Wrong unless the factors at these steps are the right ones."""
    warmup, total, floor = setting
    trial.given(f"warmup = {warmup}, total = {total}, floor = {floor}")
    steps = list(steps)
    got = [factor(answer, trial, step, setting) for step in steps]
    if any(not _off(got, [right(step, *setting, line) for step in steps]) for line in LINES):
        return
    want = [right(step, *setting) for step in steps]
    off = _off(got, want)
    shown = off if len(off) <= 6 else [*off[:3], *off[-3:]]
    trial.fail(
        f"At step {steps[off[0]]} of warmup = {warmup}, total = {total}, floor = {floor} the factor is "
        f"{got[off[0]]:.6g}, not {want[off[0]]:.6g}"
        + (f"; {len(off) - 1} more of {len(steps)} steps are off." if len(off) > 1 else "."),
        expected=_table(steps, want, shown),
        got=_table(steps, got, shown),
        observed="a multiple"
        if _is_multiple_everywhere(answer, trial, steps, got, setting)
        else [round(number, 9) for number in got[_risen(got, steps, setting) :]],
    )


def _risen(got: list[float], steps: list[int], setting: Setting) -> int:
    """How many of the factors are those of a line up to 1, whichever it is."""
    count = sum(step < setting[0] for step in steps)
    lines = [[line(step, setting[0]) for step in steps[:count]] for line in LINES] if count else []
    return count if any(not _off(got[:count], line) for line in lines) else 0


def _off(got: list[float], want: list[float]) -> list[int]:
    """The places where a factor is not the right one."""
    return [place for place in range(len(want)) if not abs(got[place] - want[place]) <= NEAR]


def _table(steps: list[int], factors: list[float], shown: list[int]) -> str:
    return ", ".join(f"{factors[place]:.4g} at step {steps[place]}" for place in shown)


def _is_multiple(got: list[float], want: list[float]) -> bool:
    """Whether all factors are off by one constant (not 0): a learning rate in place of a factor."""
    rates = [have / need for have, need in zip(got, want, strict=True) if need]
    zeros = all(have == 0 for have, need in zip(got, want, strict=True) if not need)
    same = zeros and all(math.isclose(rate, rates[0], rel_tol=1e-6) for rate in rates)
    return bool(rates) and rates[0] != 0 and same


def _is_multiple_everywhere(
    answer: Callable[..., Any], trial: Trial, steps: list[int], got: list[float], setting: Setting
) -> bool:
    """The same with the factor at warmup: a line that is off by one is a multiple of a line, and meets the curve there."""
    if not any(_is_multiple(got, [right(step, *setting, line) for step in steps]) for line in LINES):
        return False
    steps, got = [*steps, setting[0]], [*got, factor(answer, trial, setting[0], setting)]
    return any(_is_multiple(got, [right(step, *setting, line) for step in steps]) for line in LINES)


@warmup_cosine.property(
    "a number that the arguments alone decide",
    asks=(
        "The factor by which the learning rate of step `step` (0, 1, 2, ...) is multiplied; for `LambdaLR`.",
        "The arguments alone decide, and the result is a Python number, no tensor.",
    ),
)
def _(answer: Any, trial: Trial) -> None:
    setting = some_setting(trial)
    of_it = "warmup = {}, total = {}, floor = {}".format(*setting)
    trial.given(f"{of_it}; the steps below total, then all again backwards")
    steps = range(setting[1])  # what comes beyond has its own property
    trial.call(answer, 0, *setting)
    first = [factor(answer, trial, step, setting) for step in steps]
    again = [factor(answer, trial, step, setting) for step in reversed(steps)][::-1]
    # A different schedule in between: what is remembered of the first one would come back, or be lost.
    other = (setting[0] + 3, setting[1] + 11, setting[2] / 2)
    beside = [factor(answer, trial, step, other) for step in steps]
    trial.true(
        beside != first,
        f"With warmup = {other[0]}, total = {other[1]}, floor = {other[2]} all factors are the same as with {of_it}.",
        expected="different factors for the two schedules",
        got="the same",
        observed="the same for two schedules",
    )
    mixed = [(factor(answer, trial, step, setting), factor(answer, trial, step, other)) for step in steps]
    for place, now, then, how in (
        *((step, again[step], first[step], "Asked again") for step in steps),
        *((step, mixed[step][0], first[step], "Asked again after a different schedule") for step in steps),
        *((step, mixed[step][1], beside[step], "Asked in turn with a different schedule") for step in steps),
    ):
        trial.true(
            abs(now - then) <= NEAR or now != now,
            f"{how}, step {place} has a different factor.",
            expected=f"{then:.6g}, as before; a resumed run starts in the middle",
            got=f"{now:.6g}",
            observed=("moves by itself", how),
        )


# Before the schedule of 100,000 steps: a scheduler that takes them one by one is told by its name, not by the clock.
@warmup_cosine.property(
    "the factor is computed here, and by no scheduler of torch", asks="No scheduler of torch is used."
)
def _(answer: Any, trial: Trial) -> None:
    setting = some_setting(trial)
    trial.given("step {}, warmup = {}, total = {}, floor = {}".format(setting[0] + 2, *setting))
    with calls_to(*SCHEDULERS) as seen:
        factor(answer, trial, setting[0] + 2, setting)
    trial.true(
        not seen,
        f"The answer runs a scheduler of torch: {', '.join(sorted(set(seen)))}.",
        expected="the formula itself",
        observed="a scheduler of torch",
    )


@warmup_cosine.property(
    "below warmup: a straight line up to 1",
    asks="Below `warmup` it rises in a straight line: (step + 1) / (warmup + 1). (Two other lines are met in the field, and accepted: step / warmup loses the first step to a factor of 0, (step + 1) / warmup has two steps at the top.)",
)
def _(answer: Any, trial: Trial) -> None:
    setting = some_setting(trial)
    follows(answer, trial, range(setting[0]), setting)


@warmup_cosine.property(
    "from warmup to total: half a cosine, from 1 to the floor",
    asks="At `warmup` it is 1, and from there it falls as half a cosine wave, to `floor` at `total`.",
)
def _(answer: Any, trial: Trial) -> None:
    setting = some_setting(trial)
    follows(answer, trial, range(setting[0], setting[1] + 1), setting)


@warmup_cosine.property("beyond total: the floor", asks="From `total` on it stays at `floor`.")
def _(answer: Any, trial: Trial) -> None:
    setting = some_setting(trial)
    warmup, total, _ = setting
    follows(answer, trial, [total + 1, total + 3, 2 * total - warmup, 7 * total], setting)


@warmup_cosine.property("without a warm-up it starts at 1", asks="With warmup = 0 it starts at 1.")
def _(answer: Any, trial: Trial) -> None:
    _, total, floor = some_setting(trial)
    follows(answer, trial, range(total + 3), (0, total, floor))
    follows(answer, trial, range(3), (0, 1, floor))


@warmup_cosine.property(
    "very short schedules and a long one are the same curve",
    asks=(
        "Below `warmup` it rises in a straight line: (step + 1) / (warmup + 1). (Two other lines are met in the field, and accepted: step / warmup loses the first step to a factor of 0, (step + 1) / warmup has two steps at the top.)",
        "At `warmup` it is 1, and from there it falls as half a cosine wave, to `floor` at `total`.",
    ),
)
def _(answer: Any, trial: Trial) -> None:
    _, _, floor = some_setting(trial)
    for warmup, total in ((1, 2), (1, 4), (3, 4), (0, 2), (2, 30), (20, 22)):
        follows(answer, trial, range(total + 2), (warmup, total, floor))
    long = [0, 1, 1000, 1999, 2000, 2001, 30_000, 51_000, 99_999, 100_000, 100_001, 300_000]
    follows(answer, trial, long, (2000, 100_000, floor))


@warmup_cosine.property(
    "a floor of 0 and a floor of 1 are floors, too", asks="0 <= floor <= 1 (a factor, too)"
)
def _(answer: Any, trial: Trial) -> None:
    warmup, total, _ = some_setting(trial)
    for floor in (0.0, 1.0):
        follows(answer, trial, range(total + 2), (warmup, total, floor))
