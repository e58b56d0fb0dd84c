"""Exercise 10.review: questions to a script that nobody has seen; the check counts the faults that they find."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

from helpers.check.judge import seed_torch
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.pitfalls.review.inputs import FAULTS, FIRST, RAISE, SHAPES, SOUND, plain
from helpers.labs.pitfalls.shown import Script

review = Exercise(
    "10.review",
    "A script that you have not seen",
    objective="Write questions that find the faulty pieces of any script, and suspect no piece that is right.",
    minutes=45,
    difficulty="medium",
    core=False,
    seconds=90,  # it is called about 160 times, and who draws a thousand times asks well, too
    hints=[
        "Begin with `scaled`, and one question: compute with few numbers what is promised, by a way of your own, and "
        "compare shape and numbers. Run the check: it takes the pieces in their order, and says what went through.",
        "The inputs find the faults: four rows, a spread of 0.001, columns around 10,000; sizes that are all different, "
        "and 1, with several columns; sequences that are unequally long, and nothing but padding; the place where two vectors are equal.",
        "Call twice what draws at random: both the order and the memory of two calls must differ. Clone what you hand "
        "over, and compare afterwards. Rows are told by their numbers: sorted(rows.tolist()).",
        "Comparisons with NaN are False: ask `(difference <= bound).all()`, not `(difference > bound).any()`. Look at "
        "`shape` before you subtract, and at `requires_grad` before you ask for a gradient.",
        "Dropout is tested with many entries, as x of shape (200, 300): each is 0 or x / 0.75, about a quarter are 0, "
        "no whole row is, a second call has other zeros, and without training x comes out.",
    ],
)

Answer = Callable[[Script], Any]
DRAWS = ("torch RNG", "numpy RNG", "random RNG")  # pieces and questions draw at random

NAMES = "The names of the pieces of a script that do not keep their promise."
SET = 'Returns a set of names, as {"loss"}: the empty set if all promises are kept.'
NO_OTHER = "Of several pieces at fault all are named, and no other."
THIS_SCRIPT = "What earlier scripts were like has no effect."
NO_ERROR = "A piece that gives a wrong shape, or a penalty without a graph, is named, too: nothing is raised."


def braced(names: Iterable[str]) -> str:
    """A set of names as Python shows it, in one order."""
    return "{" + ", ".join(map(repr, sorted(names))) + "}" if names else "set()"


def told(answer: Answer, trial: Trial, script: Script, faults: str) -> set[str] | str:
    """The names that the answer gives; the type of an error that it raises.

    faults: what is wrong with the script, in words.
    """
    seed_torch(trial.random.randrange(2**31))
    trial.given(f"a script: {faults}")
    try:
        got = trial.call(answer, Script(*map(plain, script)))
    except NotImplementedError:
        raise
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
    trial.true(
        isinstance(got, set | frozenset),
        f"review returned {'None' if got is None else f'an object of type {type(got).__name__}'}, no set.",
        expected="a set of names",
        observed=("type", type(got).__name__),
    )
    return set(map(str, got))


def let_out(trial: Trial, error: str, about: str) -> None:
    """Ends the property: an error came out of the answer."""
    trial.fail(
        f"An error came out of review: {error[:150]}",
        expected=f"a set of names; {about}",
        got=error.partition(":")[0],
        observed=("raised", error.partition(":")[0]),
    )


def suspects_nothing(answer: Answer, trial: Trial, before: Script) -> None:
    at_first = told(answer, trial, before, "all pieces are at fault")
    named: list[list[set[str]]] = [[] for _ in SOUND]
    for place, script in [*enumerate(SOUND)] * 4:  # a question that is right by chance is asked again
        got = told(answer, trial, script, "every piece keeps its promise")
        if isinstance(got, str):
            let_out(trial, got, "nothing is at fault")
        named[place].append(got)
    every = set().union(*(got for calls in named for got in calls))
    if not every:
        return
    place = next(place for place, calls in enumerate(named) if any(calls))
    got = next(filter(None, named[place]))
    name = next((name for name in Script._fields if name in got), "")
    often = [len([*filter(None, calls)]) for calls in named]
    by_chance = any(0 < count < 4 for count in often)
    if name:
        doc = getattr(SOUND[place], name).__doc__
        trial.given(
            f"a script: every piece keeps its promise; its {name} {doc}. The script before all: all at fault"
        )
    trial.fail(
        f"{', '.join(sorted(got))}: named, though each piece keeps its promise. Of three such scripts, four calls with "
        f"each, a name came out in {often[0]}, {often[1]} and {often[2]}.",
        expected="set()",
        got=braced(got),
        observed=(
            "named",
            sorted(every),
            "by chance" if by_chance else [count > 0 for count in often],
            got == at_first,  # the same names as before: they may stay
        ),
    )


@review.property("a script without a fault: nothing is named", asks=(SET, NAMES, THIS_SCRIPT), changes=DRAWS)
def sound(answer: Answer, trial: Trial) -> None:
    suspects_nothing(answer, trial, FIRST)


def finds(answer: Answer, trial: Trial, name: str) -> None:
    """Wrong unless each fault of the piece is found; tells how many are, and what the first does that is not."""
    missed, errors = [], []
    for place, fault in enumerate(FAULTS[name]):
        script = SOUND[place % len(SOUND)]._replace(**{name: fault})
        twice = [
            told(answer, trial, script, f"its {name} {fault.__doc__}; all else keeps its promise")
            for _ in range(2)  # a fault that is found by chance is not found
        ]
        got = min(twice, key=lambda got: (isinstance(got, str), name in got))
        if isinstance(got, str):
            errors.append((fault, got))
        elif name not in got:
            missed.append(fault)
        else:
            trial.true(
                got == {name},
                f"{', '.join(sorted(got - {name}))}: named, and only {name} is at fault.",
                expected=braced({name}),
                got=braced(got),
                observed=("more", sorted(got)),
            )
    count = len(FAULTS[name])
    found = count - len(missed) - len(errors)
    observed = ([fault.__name__ for fault in missed], [fault.__name__ for fault, _ in errors])
    if missed:
        trial.given(f"a script: its {name} {missed[0].__doc__}; all else keeps its promise")
        trial.fail(
            f"Your review finds {found} of {count} faults of {name}. One that it does not find: it {missed[0].__doc__}.",
            expected=braced({name}),
            got="a set without it",
            observed=observed,
        )
    if errors:
        fault, error = errors[0]
        trial.given(f"a script: its {name} {fault.__doc__}; all else keeps its promise")
        trial.fail(
            f"Your review finds {found} of {count} faults of {name}. At one an error came out: {error[:150]}",
            expected=braced({name}),
            got=error.partition(":")[0],
            observed=observed,
        )


@review.property("a wrong shape, or no graph: nothing is raised", asks=NO_ERROR, changes=DRAWS)
def raises(answer: Answer, trial: Trial) -> None:
    for name, fault in SHAPES:  # whether it is named is asked below, piece by piece
        got = told(
            answer,
            trial,
            SOUND[1]._replace(**{name: fault}),
            f"its {name} {fault.__doc__}; all else keeps its promise",
        )
        if isinstance(got, str):
            trial.fail(
                f"An error came out of review: {got[:150]}",
                expected=braced({name}),
                got=got.partition(":")[0],
                observed=("raised", name),
            )


FOUND = {
    "scaled": "the faults in its numbers are found",
    "distances": "the faults in its shapes and its numbers are found",
    "batches": "the faults in its memory and its rows are found",
    "penalty": "the faults in its number and its gradient are found",
    "dropped": "the faults in both modes are found",
    "loss": "the faults in what it is a mean of are found",
}


def finding(name: str) -> Callable[[Answer, Trial], None]:
    return lambda answer, trial: finds(answer, trial, name)


for name, words in FOUND.items():
    review.property(f"{name}: {words}", asks=NAMES, changes=DRAWS)(finding(name))


@review.property("several faults at once: each of their pieces, and no other", asks=NO_OTHER, changes=DRAWS)
def several(answer: Answer, trial: Trial) -> None:
    last = {name: FAULTS[name][-1] for name in Script._fields}
    for kind, left_out in itertools.product(
        ({}, *({name: RAISE[name]} for name in RAISE)), (None, *Script._fields)
    ):
        if left_out in kind:
            continue
        at_fault = {name: fault for name, fault in (last | kind).items() if name != left_out}
        script = SOUND[0]._replace(**at_fault)
        words = "all pieces are at fault" if left_out is None else f"all pieces but {left_out} are at fault"
        words += "".join(f"; its {name} {fault.__doc__}" for name, fault in kind.items())
        got = told(answer, trial, script, words)
        if isinstance(got, str):
            let_out(trial, got, words)
        missing, extra = sorted(set(at_fault) - got), sorted(got - set(at_fault))
        trial.true(
            not missing and not extra,
            f"{words[0].upper()}{words[1:]}. Missing: {', '.join(missing) or 'none'}; too much: {', '.join(extra) or 'none'}.",
            expected=braced(at_fault),
            got=braced(got),
            observed=([*kind], left_out, missing, extra),
        )


@review.property(
    "after scripts with faults, one without: nothing is named", asks=(THIS_SCRIPT, SET), changes=DRAWS
)
def afterwards(answer: Answer, trial: Trial) -> None:
    suspects_nothing(answer, trial, Script(*(FAULTS[name][1] for name in Script._fields)))
