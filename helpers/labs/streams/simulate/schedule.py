"""When each kernel of a program runs, and how an answer to 06.simulate is held against that."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from helpers.check.spec import Check
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.streams.shown.programs import listing, written
from helpers.streams.program import Op

Times = list[tuple[float, float]]
Answer = Callable[[list[Op]], Times]


class Timeline:
    """Takes the ops of a program one by one, in order of issue; `times` holds start and end of the kernels so far.

    tails: for each stream when all that it was given is over. marks: for each event when its last record is passed.
    host: until when the host has waited. All in microseconds.
    """

    def __init__(self) -> None:
        self.host = 0.0
        self.tails: dict[str, float] = {}
        self.marks: dict[str | None, float] = {}
        self.times: Times = []

    def issue(self, op: Op) -> None:
        getattr(self, op.kind)(op, max(self.host, self.tails.get(op.stream, 0.0)))

    def kernel(self, op: Op, ready: float) -> None:
        self.tails[op.stream] = ready + op.duration
        self.times.append((ready, ready + op.duration))

    def record(self, op: Op, ready: float) -> None:
        self.marks[op.event] = ready

    def wait(self, op: Op, ready: float) -> None:
        self.tails[op.stream] = max(ready, self.marks.get(op.event, 0.0))

    def host_sync(self, op: Op, ready: float) -> None:
        self.host = ready


def timeline(program: Iterable[Op], machine: type[Timeline] = Timeline) -> Times:
    """(start, end) of each kernel in microseconds, in the order of the program; launches cost nothing."""
    run = machine()
    for op in program:
        run.issue(op)
    return run.times


@dataclass(frozen=True)
class Case:
    """A program that asks one question. description: what it is about; times: of its kernels."""

    description: str
    times: tuple[tuple[float, float], ...]
    ops: tuple[Op, ...]


CASES: list[Case] = []
"""Those of all properties: the tests hold their times against the simulated device."""


def case(description: str, times: Sequence[tuple[float, float]], text: str) -> Case:
    """text: see programs.written."""
    return Case(description, tuple(times), written(text))


def asks(
    exercise: Exercise,
    description: str,
    *cases: Case,
    words: str | tuple[str, ...],
    after: Sequence[Check] = (),
    once_right: bool = False,
) -> Check:
    """Adds the property that the kernels of these programs run when they should. words: those of the docstring."""
    CASES.extend(cases)

    @exercise.property(description, asks=words, after=tuple(after), once_right=once_right)
    def check(answer: Answer, trial: Trial) -> None:
        hold(answer, trial, cases)

    return check


def hold(answer: Answer, trial: Trial, cases: Sequence[Case], observe_all: bool = True) -> None:
    """Wrong unless the kernels of each program run when they should. The report shows the first that does not;
    observe_all: a mistake is known by all of them."""
    found = times_in(answer, trial, cases)
    faults = [(each, got) for each, got in zip(cases, found, strict=True) if not _same(each.times, got)]
    if faults:
        first, got = faults[0]
        given(trial, first)
        trial.fail(
            sentence(first, got),
            expected=text_of(first.times),
            got=text_of(got),
            observed=[
                (each.description, got if len(got) == len(each.times) else f"{len(got)} pairs")
                for each, got in (faults if observe_all else faults[:1])
            ],
        )


def times_in(answer: Answer, trial: Trial, cases: Sequence[Case]) -> list[Times]:
    """What the answer returns for each program; each time a list of pairs of numbers, or it is wrong."""
    found: list[Times] = []
    for each in cases:
        program = list(each.ops)
        try:
            got = answer(program)
        except BaseException:
            given(trial, each)
            raise
        if message := _no_times(got):
            given(trial, each)
            trial.fail(message[0], expected=text_of(each.times), got=got, observed=message)
        if program != list(each.ops):
            given(trial, each)
            trial.fail(
                "The answer changed the list of ops that it was given.",
                expected=f"the same {len(each.ops)} ops in the same order",
                got=f"{len(program)} ops"
                if len(program) != len(each.ops)
                else "other ops, or a different order",
                observed=("mutated", len(program) == len(each.ops)),
            )
        found.append([(float(start), float(end)) for start, end in got])
    return found


def _no_times(got: Any) -> tuple[str, ...]:
    """() for a list of pairs of numbers, else what it is: a sentence, and more that tells it from others."""
    if got is None:
        return ("The answer returned None. Is a `return` missing?",)
    if not isinstance(got, list):
        kind = type(got).__name__
        return (f"The answer returned something of type {kind}. A list of (start, end) is asked for.", kind)
    for pair in got:
        if not isinstance(pair, tuple) or len(pair) != 2:
            kind = type(pair).__name__
            what = (
                f"a {kind} where a tuple is asked" if isinstance(pair, list) else "something else than pairs"
            )
            return (f"The list holds {what}. Each kernel is a tuple (start, end).", kind)
        if not all(isinstance(time, Real) and not isinstance(time, bool) for time in pair):
            return ("A time is no number. Start and end are floats, in microseconds.",)
        if any(math.isnan(time) for time in pair):
            return ("A time is NaN.",)
    return ()


def _same(want: Sequence[tuple[float, float]], got: Times) -> bool:
    return len(want) == len(got) and all(
        math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
        for pair, its in zip(want, got, strict=True)
        for one, other in zip(pair, its, strict=True)
    )


def given(trial: Trial, each: Case) -> None:
    trial.given(f"{each.description}\n{listing(each.ops, in_words)}" if each.ops else each.description)


def in_words(op: Op) -> str:
    """What an op does, in a few words: of a kernel its duration."""
    if op.kind == "kernel":
        return f"kernel of {op.duration:g} us"
    return f"{op.kind} {op.event}" if op.event else op.kind


def text_of(times: Sequence[tuple[float, float]]) -> str:
    return "[" + ", ".join(f"({start:g}, {end:g})" for start, end in times) + "]"


def sentence(each: Case, got: Times) -> str:
    """What is wrong with the times, told of the first kernel for which they are."""
    if len(got) != len(each.times):
        return (
            f"The program has {len(each.times)} kernels, the list has {len(got)} {'pair' if len(got) == 1 else 'pairs'}. Each kernel has one, in the "
            "order of the program; records, waits and synchronisations have none."
        )
    kernels = [index for index, op in enumerate(each.ops) if op.kind == "kernel"]
    for index, want, its in zip(kernels, each.times, got, strict=True):
        if not _same([want], [its]):
            return (
                f"Op {index}, a kernel on {each.ops[index].stream}, runs from {want[0]:g} to {want[1]:g}: "
                f"{_reason(each.ops, index)}. In the answer it is ({its[0]:g}, {its[1]:g})."
            )
    raise AssertionError("the times are the same")


def _reason(program: Sequence[Op], index: int) -> str:
    """What a kernel begins after."""
    reasons: dict[str, str] = {}
    recorded: dict[str | None, int] = {}
    run, host = Timeline(), ""
    for at, op in enumerate(program[: index + 1]):
        tail = run.tails.get(op.stream, 0.0)
        ready = max(tail, run.host)
        if at == index:
            break
        if op.kind == "record":
            recorded[op.event] = at
        elif op.kind == "wait" and run.marks.get(op.event, 0.0) > ready:
            reasons[op.stream] = (
                f"its stream waits (op {at}) for what the record (op {recorded[op.event]}) marks"
            )
        elif op.kind == "kernel":
            reasons[op.stream] = f"op {at} stands before it on its stream"
        elif op.kind == "host_sync" and ready > run.host:
            host = f"the host has waited (op {at}) until then before it issues the kernel"
        run.issue(op)
    if ready == 0:
        return "nothing keeps it from beginning at once"
    return reasons.get(op.stream, "") if tail >= run.host else host
