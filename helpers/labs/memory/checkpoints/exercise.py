"""Exercise 14.checkpoints: which outputs to keep, so that a step fits, and as little as possible runs twice."""

from __future__ import annotations

from typing import Any

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.memory.checkpoints.inputs import (
    MANY,
    Case,
    best,
    by_force,
    counted,
    is_right,
    kinds,
    outcome,
    scaled,
    smallest,
    some,
)

checkpoints = Exercise(
    "14.checkpoints",
    "Which outputs to keep",
    objective="Choose checkpoints so that a step fits, and as little as possible runs twice.",
    minutes=30,
    difficulty="hard",
    core=False,
    hints=[
        "Write the peak of a given list first, and try it on three layers by hand. A gap needs the kept outputs before it, and none "
        "behind it: those are gone when the backward gets there.",
        "Go through the layers from the front. What comes behind a kept layer depends only on which layer that is, and on how many bytes are "
        "kept so far; how many layers are kept is what is to become large.",
        "For each layer as the last one kept so far, and for each number of kept layers, remember the fewest bytes: fewer are never worse "
        "for what follows. A layer and the one kept before it have one gap between them, and its size follows from running sums.",
        "From the state (layer, number) to (later layer, number + 1): allowed if the kept bytes and the gap between them fit, and the kept "
        "bytes with the new layer. At the end the gap behind the last kept layer has to fit, too. Remember for each state where it came "
        "from, and go back from the best one.",
    ],
)

WHICH = "The layers whose outputs are kept, so that a training step stays within a budget."
GAP = (
    "The outputs of the other layers are thrown away in the forward.",
    "A gap is a run of such layers, one behind the other, as long as it goes.",
    "In the backward, which goes from the last layer to the first, a gap runs once more when it is reached, and its outputs live "
    "together.",
)
LIVE = "Kept outputs live until the backward has passed their layer."
PEAK = "So the peak is the largest of: all kept outputs, and, for each gap, the kept outputs before it and the outputs of the gap."
ASCENDING = "Returns the indices of the kept layers, ascending."
MOST = "The peak is at most `budget`, and as many layers as possible are kept; of several such lists, any is right."
RAISED = "ValueError is raised if no list stays within the budget."
STAYS = "`sizes` stays as it is."
SIXTY = "Sixty layers take less than a second."

# Sizes and a budget. Each tells some wrong ideas of the peak from the right one. All best lists of a wrong idea are wrong in the
# same way here: which of them an answer takes makes no difference.
TIGHT = (
    ([1, 3, 6, 4, 7, 10], 14),
    ([35, 10, 1, 19, 16, 36], 55),
    ([4, 10, 12, 25, 3, 6], 38),
    ([15, 20, 2, 3, 38, 9], 50),
    ([15, 39, 30, 13, 1, 28, 7], 65),
)


# Less than all fit, by one unit. Whoever holds more for needed than is, in whatever way, finds a list here, too.
ROOMY = ([1, 4, 1, 4, 1, 4, 1], 15)

# Two calls, one behind the other. No best list of the first is one of the second.
IN_A_ROW = (
    (([1, 6, 5, 8], 13), ([5, 8, 1, 1], 13)),
    (([1, 2, 7, 9], 11), ([9, 7, 1, 2], 11)),
    (([7, 1, 9, 2], 10), ([7, 1, 9, 2], 18)),
)


@checkpoints.property("with room for all, all are kept", asks=(WHICH, ASCENDING, STAYS))
def room_for_all(answer: Any, trial: Trial) -> None:
    for sizes, budget in scaled(trial, ([4, 3, 5, 2, 6, 3], 40), ([7, 1, 4], 13)):
        Case(answer, trial, sizes, budget).best(list(range(len(sizes))))


@checkpoints.property("each call is about its own sizes and budget", asks=(PEAK, MOST))
def call_after_call(answer: Any, trial: Trial) -> None:
    """Who is wrong about these sizes in a different unit, too, is told so by the properties behind this one."""
    for number, pair in enumerate(IN_A_ROW):
        (fresh,) = scaled(trial, pair[1])
        if not is_right(outcome(answer, trial, *fresh), *fresh):
            continue
        first, second = scaled(trial, *pair)
        trial.given(f"sizes {first[0]}, budget {first[1]}; then sizes {second[0]}, budget {second[1]}")
        outcome(answer, trial, *first)
        got = outcome(answer, trial, *second)
        seen = "ValueError" if got is None else str(got)
        trial.true(
            is_right(got, *second),
            f"{seen} is not right for the second call. Alone, in a different unit, its sizes had a right one: does "
            "something of a call before live on?",
            expected=f"such as {by_force(*second)}",
            got=seen,
            observed=("in a row", number),
        )


@checkpoints.property("the peak stays within the budget", asks=(*GAP, PEAK))
def within_the_budget(answer: Any, trial: Trial) -> None:
    cases = list(scaled(trial, *TIGHT, spare=1))
    also = kinds(answer, trial, cases, *scaled(trial, ROOMY))
    for sizes, budget in cases:
        Case(answer, trial, sizes, budget, exact=False, also=also).list(by_force(sizes, budget))


@checkpoints.property("as many layers as possible are kept", asks=(LIVE, PEAK, MOST))
def as_many_as_possible(answer: Any, trial: Trial) -> None:
    cases = list(scaled(trial, *TIGHT, spare=1))
    also = kinds(answer, trial, cases, *scaled(trial, ROOMY))
    for sizes, budget in cases:
        Case(answer, trial, sizes, budget, exact=False, also=also).best(by_force(sizes, budget))


@checkpoints.property("the budget may be used up to the last byte", asks=MOST)
def to_the_last_byte(answer: Any, trial: Trial) -> None:
    for sizes, budget in scaled(trial, ([3, 1, 4, 1, 5], 14), ([3, 1, 4, 1, 5], 13)):
        Case(answer, trial, sizes, budget, exact=False).best(by_force(sizes, budget))
    for _ in range(4):
        sizes = some(trial, 6)
        budget = smallest(sizes)
        Case(answer, trial, sizes, budget, exact=False).best(by_force(sizes, budget))


@checkpoints.property("no list stays within the budget: ValueError", asks=RAISED)
def no_list(answer: Any, trial: Trial) -> None:
    for sizes, budget in scaled(trial, ([5, 5, 5, 5], 9), ([4, 3, 5, 2, 6, 3], 3), ([2, 1, 2], 0)):
        Case(answer, trial, sizes, budget).none()
    for layers in (2, 5, 6):
        sizes = some(trial, layers)
        Case(answer, trial, sizes, smallest(sizes) - 1, exact=False).none()


@checkpoints.property("one layer, or none", asks=(WHICH, MOST, RAISED))
def few_layers(answer: Any, trial: Trial) -> None:
    Case(answer, trial, [7], 7).best([0])
    Case(answer, trial, [7], 6).none()
    for sizes, budget in (([1, 9], 9), ([9, 1], 9), ([1, 9], 10)):
        Case(answer, trial, sizes, budget).best(by_force(sizes, budget))
    for budget in (5, 0):
        Case(answer, trial, [], budget).best([])


@checkpoints.property(
    "small cases drawn at random, compared with all lists there are", asks=(PEAK, MOST, RAISED)
)
def at_random(answer: Any, trial: Trial) -> None:
    for _ in range(50):
        sizes = some(trial, trial.random.randint(1, 7), trial.random.choice((3, 9, 40)))
        budget = trial.random.randint(max(sizes) - 1, sum(sizes))
        wanted, case = by_force(sizes, budget), Case(answer, trial, sizes, budget, exact=False)
        if wanted is None:
            case.none()
        else:
            case.best(wanted)


@checkpoints.property("the work does not double with each layer", asks=SIXTY, once_right=True)
def counted_work(answer: Any, trial: Trial) -> None:
    # Few bytes: what works with a table of all numbers of bytes ends here.
    _counted(answer, trial, 4, "a few bytes each", "Sixty take many times as many.")


@checkpoints.property("the work does not grow with the bytes", asks=SIXTY, once_right=True)
def any_bytes(answer: Any, trial: Trial) -> None:
    # Not more than a table can hold: it is to be ended, and not to take all memory.
    why = "With a few bytes each it were fewer: perhaps each number of bytes up to the budget is looked at."
    _counted(answer, trial, 10**4, "some thousand bytes each", why)
    _counted(answer, trial, 10**9, "many bytes", why)


def _counted(answer: Any, trial: Trial, largest: int, about: str, why: str) -> None:
    for share in (0.3, 0.5):
        sizes = some(trial, 30, largest)
        budget = int(share * sum(sizes))
        wanted, case = best(sizes, budget), Case(answer, trial, sizes, budget, exact=False)
        trial.true(
            counted(lambda case=case, wanted=wanted: case.best(wanted), MANY),
            f"More than {MANY:,} lines of Python ran for 30 layers of {about}. {why}",
            expected="some ten thousand lines, or a hundred thousand",
            got=f"more than {MANY:,}",
            observed=("too much work", about),
        )


@checkpoints.property("to the last byte of large outputs, too", asks=MOST, once_right=True)
def large_outputs(answer: Any, trial: Trial) -> None:
    # More than a float of 32 bits counts exactly, then one of 64; and rounded down by one, then up.
    for power in (24, 53):
        for large in (2**power + 1, 2**power + 3):
            for sizes, budget in (([large], large), ([large, 1], large), ([1, large, 1], large + 1)):
                Case(answer, trial, sizes, budget).best(by_force(sizes, budget))


@checkpoints.property("sixty layers within the time", asks=SIXTY, once_right=True)
def sixty_layers(answer: Any, trial: Trial) -> None:
    # Three times: the limit of a check allows three of a second, and not three of two.
    for share in (0.2, 0.35, 0.6):
        sizes = some(trial, 60, 10**12)
        budget = int(share * sum(sizes))
        Case(answer, trial, sizes, budget, exact=False).best(best(sizes, budget))
