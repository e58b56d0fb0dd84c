"""How an answer to 06.find_races is held against a program, and what is said about a pair too many or too few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from operator import is_
from typing import Any

from helpers.check.spec import Check
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.streams.shown.programs import listing, written
from helpers.streams.program import Op

Answer = Callable[[list[Op]], set[tuple[int, int]]]
Pairs = set[tuple[int, int]]


@dataclass(frozen=True)
class Case:
    """A program that asks one question. description: what it is about, for the report; pairs: its races."""

    description: str
    pairs: frozenset[tuple[int, int]]
    ops: tuple[Op, ...]


def case(description: str, pairs: Pairs, text: str) -> Case:
    """text: see programs.written."""
    return Case(description, frozenset(pairs), written(text))


CASES: list[Case] = []
"""Those of all properties: the tests hold their pairs against all interleavings."""


def asks(
    exercise: Exercise,
    description: str,
    *cases: Case,
    words: str | tuple[str, ...],
    after: Sequence[Check] = (),
    once_right: bool = False,
) -> Check:
    """Adds the property that the races of these programs are found. words: those of the docstring."""
    CASES.extend(cases)

    @exercise.property(description, asks=words, after=tuple(after), once_right=once_right)
    def check(answer: Answer, trial: Trial) -> None:
        hold(answer, trial, cases)

    return check


def hold(answer: Answer, trial: Trial, cases: Sequence[Case], observe_all: bool = True) -> None:
    """Wrong unless the answer finds the races of each program, no more and no less.

    The report shows the first program that goes wrong. observe_all: a mistake is known by all of them.
    """
    faults = [
        (each, found)
        for each, found in zip(cases, found_in(answer, trial, cases), strict=True)
        if found != each.pairs
    ]
    if faults:
        first, found = faults[0]
        given(trial, first.description, first.ops)
        trial.fail(
            sentences(first.ops, first.pairs, found),
            expected=text_of(first.pairs),
            got=text_of(found),
            observed=[
                (each.description, *differing(each.pairs, found))
                for each, found in (faults if observe_all else faults[:1])
            ],
        )


def found_in(answer: Answer, trial: Trial, cases: Sequence[Case]) -> list[Pairs]:
    """What the answer returns for each program; each time a set of pairs of ints, or it is wrong."""
    found = []
    for each in cases:
        program = list(each.ops)
        try:
            got = answer(program)
        except BaseException:
            given(trial, each.description, each.ops)
            raise
        if not unchanged(program, each.ops) or not isinstance(got, set | frozenset) or any(map(no_pair, got)):
            given(trial, each.description, each.ops)
        still_there(trial, program, each.ops)
        found.append(pairs_in(trial, got))
    return found


def unchanged(program: Sequence[Op], ops: Sequence[Op]) -> bool:
    return len(program) == len(ops) and all(map(is_, program, ops))


def still_there(trial: Trial, program: Sequence[Op], ops: Sequence[Op]) -> None:
    """Wrong if the list that the answer was given holds something else than it did."""
    trial.true(
        unchanged(program, ops),
        "The answer changed the list that it was given.",
        expected=f"the same {len(ops)} ops in the same order",
        got=f"{len(program)} ops" if len(program) != len(ops) else "other ops, or a different order",
        observed=("mutated", len(program) == len(ops)),
    )


def given(trial: Trial, description: str, program: Sequence[Op]) -> None:
    trial.given(f"{description}\n{listing(program)}" if program else description)


def pairs_in(trial: Trial, got: Any) -> Pairs:
    if not isinstance(got, set | frozenset):
        trial.fail(_no_set(got), expected="a set of pairs of indices", got=got, observed=("type", _kind(got)))
    if wrong := sorted({no_pair(pair) for pair in got} - {""}):
        trial.fail(
            f"The set holds {wrong[0]}. Write (i, j): two indices into the program, i < j.",
            expected="a set of pairs of indices",
            observed=("element", wrong),
        )
    return {(int(i), int(j)) for i, j in got}


def _kind(value: Any) -> str:
    return type(value).__name__


def _no_set(got: Any) -> str:
    if got is None:
        return "The answer returned None. Is a `return` missing?"
    if isinstance(got, dict) and not got:
        return "The answer returned {}, which is an empty dict. The empty set is written set()."
    return f"The answer returned something of type {_kind(got)}; a set is asked for. If the pairs are right, set(...) is all that is missing."


def no_pair(pair: Any) -> str:
    """'' for a pair of ints, else what it is."""
    if not isinstance(pair, tuple):
        return f"something of type {_kind(pair)} where a tuple is asked for"
    if len(pair) != 2:
        return f"a tuple of {len(pair)}"
    if any(isinstance(index, Op) for index in pair):
        return "a pair of ops"
    if any(not isinstance(index, Integral) or isinstance(index, bool) for index in pair):
        return "a pair of something else than ints"
    return ""


def differing(want: Pairs | frozenset, found: Pairs) -> tuple[list, list]:
    """Pairs that are missing, and pairs too many."""
    return sorted(want - found), sorted(found - want)


def text_of(pairs: Pairs | frozenset) -> str:
    return "{" + ", ".join(map(str, sorted(pairs))) + "}" if pairs else "set()"


def sentences(program: Sequence[Op], want: Pairs | frozenset, found: Pairs) -> str:
    """What is wrong with the pairs, each kind of fault with its first example."""
    missing, extra = differing(want, found)
    if found and found == {(j, i) for i, j in want}:
        i, j = extra[0]
        return f"({i}, {j}) is written the wrong way round: the smaller index comes first, ({j}, {i})."
    messages = []
    if missing:
        i, j = missing[0]
        messages.append(f"The race ({i}, {j}) is missing: {_why_race(program, i, j)}.")
    if extra:
        i, j = extra[0]
        messages.append(f"({i}, {j}) is no race: {_why_none(program, i, j)}.")
    return " ".join(messages)


def _why_race(program: Sequence[Op], i: int, j: int) -> str:
    one, other = program[i], program[j]
    memory = min(one.writes & (other.reads | other.writes) or one.reads & other.writes)
    first, second = ("writes" if memory in op.writes else "reads" for op in (one, other))
    return (
        f"kernel {i} on {one.stream} {first} {memory}, kernel {j} on {other.stream} {second} it, "
        f"and nothing makes {j} wait for {i}"
    )


def _why_none(program: Sequence[Op], i: int, j: int) -> str:
    last = len(program) - 1
    if not (0 <= i <= last and 0 <= j <= last):
        return f"the indices of this program go from 0 to {last}"
    if i == j:
        return "a kernel does not race with itself"
    if i > j:
        return "write the smaller index first"
    one, other = program[i], program[j]
    for index, op in ((i, one), (j, other)):
        if op.kind != "kernel":
            return f"op {index} is a {op.kind}; only kernels touch memory"
    if one.stream == other.stream:
        return f"both are on {one.stream}, and a stream runs one kernel after the other"
    if not (one.reads | one.writes) & (other.reads | other.writes):
        return "no memory is touched by both"
    if not (one.writes & (other.reads | other.writes) or one.reads & other.writes):
        return "both only read what they share"
    return f"kernel {j} begins only after {i} has ended"
