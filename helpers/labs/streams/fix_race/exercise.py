"""Exercise 06.fix_race: two side streams and the current one, ordered by events and by nothing else."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from typing import Any

import torch

from helpers import streams
from helpers.check.calls import calls_to
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.streams.fix_race.inputs import COSTS, JOIN, KEPT, START, VALUE, Sides, costs_by_stream
from helpers.labs.streams.shared.kept_runs import kept_run

fix_race = Exercise(
    "06.fix_race",
    "Order for three streams",
    objective="Order three streams with wait_stream or events, and keep memory that another stream still reads.",
    minutes=30,
    difficulty="medium",
    prepare=streams.install,
    hints=[
        "Read the program as three queues. For each tensor ask: which queue writes it, which queue reads it, and what "
        "makes the reader wait? Python's order of lines is no answer when the queues differ.",
        "x.wait_stream(y): all that is queued on x from now on waits for all that is queued on y so far. So it stands "
        "behind the work that is waited for, and before the work that waits. Both sides read a; the current "
        "stream reads b and c.",
        "`del a` frees the block at once, although kernels that read it are only queued. The allocator knows the "
        "stream on which a was made, and no other, unless a.record_stream(other) has told it.",
        "left.wait_stream(main) and right.wait_stream(main) behind a.fill_; a.record_stream(left) and "
        "a.record_stream(right) before del a; main.wait_stream(left) and main.wait_stream(right) before the sum.",
    ],
)

RESULT = "(a ** 5 + 5 a + d).sum() for 1000 numbers with a = 2 and d = 100: on the device, 0-d, 142000."
SIDES = "b and c are computed on two side streams at the same time."
WHERE = (
    "a and d are filled, and b, c and d added, on the stream that is current when fix_race is called: any stream, and it "
    "is current again afterwards."
)
RACES = "No two kernels may race, whatever each of them costs."
HOST = (
    "Streams are ordered by wait_stream or by events: the host waits for nothing and asks nothing (no synchronize, no "
    "query, no item, no print of a tensor), and nothing sleeps."
)
MEMORY = (
    "The memory of a must not be written again while a side stream may still read it: tell the allocator (record_stream), "
    "or hold a until the current stream has waited for both sides."
)
EVEN = "each kernel takes as long"
RECORD_STREAM = "SimTensor.record_stream"


@dataclass(frozen=True)
class Run:
    """One call of an answer.

    kind: what it returned, '' if a number on the device. calls: the functions that it called, of those watched.
    after: the stream that was current then. value: the result, on the host.
    """

    kind: str
    calls: frozenset[str]
    after: str
    sides: Sides
    value: Any


GIVEN = {
    "default": "fix_race(helpers.streams)",
    "mine": "with streams.stream(mine): fix_race(helpers.streams)",
}


def run(answer: Any, trial: Trial, costs: str = EVEN, *, current: str = "default") -> Run:
    """A call on a fresh device with these costs of kernels (a key of COSTS), in a stream of this name."""
    trial.given(GIVEN[current] + ("" if costs == EVEN else f", costs of kernels so that {costs}"))
    return kept_run(answer, (trial.seed, costs, current), lambda: _run(answer, trial, costs, current))


def _run(answer: Any, trial: Trial, costs: str, current: str) -> Run:
    streams.reset()
    main = streams.default_stream() if current == "default" else streams.Stream(name=current)
    watched = (
        torch.cuda.StreamContext.__enter__,
        torch.cuda.set_stream,
        time.sleep,
        streams.sleep,
        streams.host_works,
        type(streams.empty(1)).record_stream,
    )
    with streams.costs(**costs_by_stream(COSTS[costs], main.name)), streams.stream(main):
        with calls_to(*watched) as calls:
            got = trial.call(answer, streams)
        after = streams.current_stream().name
    kind, sides = kind_of_result(got), Sides(main.name)
    streams.synchronize()
    return Run(kind, frozenset(calls), after, sides, None if kind else got.cpu())


def kind_of_result(got: Any) -> str:
    """What the result is, '' if it is a number on the device."""
    if not isinstance(got, torch.Tensor):
        return f"a {type(got).__name__}"
    if got.device.type != streams.DEVICE:
        return f"a tensor on {got.device.type}"
    return f"a tensor of shape {tuple(got.shape)}" if got.dim() else ""


@fix_race.property("returns a number on the device", asks=RESULT)
def result(answer: Any, trial: Trial) -> None:
    kind = run(answer, trial).kind
    trial.true(
        not kind,
        f"Expected a 0-d tensor on {streams.DEVICE!r}, got {kind}."
        + (
            ""
            if kind.startswith("a tensor of shape")
            else " To bring a number to the host, the host has to wait; leave that to the caller."
        ),
        expected=f"a 0-d tensor on {streams.DEVICE!r}",
        got=kind,
        observed=kind,
    )


@fix_race.property("the streams are those of api, not of torch.cuda", asks=SIDES, once_right=True)
def of_api(answer: Any, trial: Trial) -> None:
    calls = run(answer, trial).calls & {"StreamContext.__enter__", "set_stream"}
    trial.true(
        not calls,
        "The answer selects a stream with torch.cuda. On a machine without a GPU `with torch.cuda.stream(s):` does "
        "nothing at all and says nothing, so all kernels go to the current stream. Write `with api.stream(s):`.",
        expected="with api.stream(left): ...",
        got="with torch.cuda.stream(...): ...",
        observed="torch.cuda",
    )


@fix_race.property("nobody sleeps", asks=HOST, once_right=True)
def sleepless(answer: Any, trial: Trial) -> None:
    calls = run(answer, trial).calls & {"sleep", "host_works"}
    trial.true(
        not calls,
        "The answer lets time pass and hopes that the other stream is done by then. On a busy device it is not.",
        expected="an order that holds however long a kernel takes",
        got=f"calls of {', '.join(sorted(calls))}",
        observed="sleeps",
    )


@fix_race.property("the host waits for nothing", asks=HOST, once_right=True)
def host_free(answer: Any, trial: Trial) -> None:
    traced = run(answer, trial).sides.traced
    waits = traced.host_waits()
    trial.true(
        not waits,
        "The host waits for the device, or asks whether it is done. Meanwhile it queues nothing, and the device runs dry. "
        "A stream can wait for a stream without the host.",
        expected="no synchronize(), no value of a tensor in Python: only streams that wait for streams",
        got="a wait or a query of the host",
        observed="host waits",
    )


@fix_race.property("the current stream is the same afterwards", asks=WHERE, once_right=True)
def restored(answer: Any, trial: Trial) -> None:
    found = run(answer, trial)
    trial.true(
        found.after == found.sides.main,
        "When the answer returned, a different stream was current. All that the caller queues now goes there.",
        expected=found.sides.main,
        got=found.after,
        observed="current stream",
    )


@fix_race.property("b and c are computed on two side streams at the same time", asks=SIDES, once_right=True)
def at_once(answer: Any, trial: Trial) -> None:
    sides = run(answer, trial).sides
    traced, names = sides.traced, sides.names
    found = [sorted({"mul", "add"} & traced.names_on(some)) for some in (names, [sides.main])]
    on_main = traced.names_on([sides.main]) - {"fill", "add", "sum"}  # b or c is computed there
    trial.true(
        len(names) >= 2,
        f"Kernels run on {len(names)} stream(s) beside the current one, not on two. What stands in one "
        "queue runs in order: to overlap, b and c each need a side stream.",
        expected="b on one side stream, c on the other",
        got=traced.table(),
        observed=("streams", len(names), found, bool(on_main)),
    )
    pairs = itertools.combinations(names, 2)
    trial.true(
        any(traced.overlap(traced.kernels(one), traced.kernels(other)) > 0 for one, other in pairs),
        "The two side streams run one after the other: one of them waits for the other, and need not.",
        expected="kernels of both side streams at the same time",
        got=traced.table(),
        observed="no overlap",
    )


@fix_race.property("a and d are filled on the current stream", asks=WHERE, once_right=True)
def filled(answer: Any, trial: Trial) -> None:
    sides = run(answer, trial).sides
    elsewhere = [name for name in sides.names if "fill" in sides.traced.names_on([name])]
    trial.true(
        not elsewhere,
        f"A fill is queued on {len(elsewhere)} of the side streams. What is computed may be moved, and not to a different "
        "stream: a and d are filled where the caller works.",
        expected=f"both fills on {sides.main!r}",
        got=sides.traced.table(),
        observed=("filled on a side", len(elsewhere)),
    )


@fix_race.property("b and c are added on the current stream", asks=WHERE, once_right=True)
def added(answer: Any, trial: Trial) -> None:
    sides = run(answer, trial).sides
    trial.true(
        bool({"add", "sum"} & sides.traced.names_on([sides.main])),
        "b, c and d are added on a stream that is not the current one. The caller reads the result on the current one.",
        expected="b + c + d on the stream that was current when fix_race was called",
        got=sides.traced.table(),
        observed="added elsewhere",
    )


@fix_race.property("b and c are computed when a is written", asks=RACES, once_right=True)
def started(answer: Any, trial: Trial) -> None:
    found = run(answer, trial)
    sides = found.sides
    if sides.early:
        kind, count = sides.start_kind(RECORD_STREAM in found.calls)
        trial.fail(
            f"{sides.words(sides.early[0])} {START[kind]}",
            expected="each side stream waits, before its first kernel, for the stream that writes a",
            got=sides.traced.table(),
            observed=(kind, count),
        )


@fix_race.property("b and c are added when they are computed", asks=RACES, once_right=True)
def joined(answer: Any, trial: Trial) -> None:
    sides = run(answer, trial).sides
    if sides.unjoined:
        kind, count = sides.join_kind()
        trial.fail(
            f"{sides.words(sides.unjoined[0])} {JOIN[kind]}",
            expected="the current stream waits for both side streams before it adds b and c",
            got=sides.traced.table(),
            observed=(kind, count),
        )


@fix_race.property(
    "the memory of a is not written again while a side stream may still read it", asks=MEMORY, once_right=True
)
def kept(answer: Any, trial: Trial) -> None:
    found = {costs: run(answer, trial, costs) for costs in COSTS}
    count = max(len(each.sides.overwritten_sides()) for each in found.values())
    for costs in COSTS:
        recorded, sides = RECORD_STREAM in run(answer, trial, costs).calls, found[costs].sides
        if not sides.overwritten:
            continue
        if count == 1:
            kind = "one of two"
        elif not recorded:
            kind = "not told"
        else:
            kind = "told for others" if sides.freed_for() else "told nobody else"
        trial.fail(
            f"{sides.words(sides.overwritten[0])} {KEPT[kind]}",
            expected="a block that is given away when both side streams are done with it",
            got=sides.traced.table(),
            observed=kind,
        )


@fix_race.property("there is no other race, whatever a kernel costs", asks=RACES, once_right=True)
def ordered(answer: Any, trial: Trial) -> None:
    for costs in COSTS:
        no_race(trial, run(answer, trial, costs).sides)


@fix_race.property(
    "right, too, when the current stream is not the default one", asks=(WHERE, RACES), once_right=True
)
def elsewhere(answer: Any, trial: Trial) -> None:
    found = run(answer, trial, current="mine")
    trial.true(
        found.after == "mine",
        "When the answer returned, the stream that was current before was not.",
        expected="mine",
        got=found.after,
        observed="current stream",
    )
    no_race(trial, found.sides, "It was called with a different stream as the current one.")


def no_race(trial: Trial, sides: Sides, when: str = "") -> None:
    """Fails if anything races. Observed is who races with whom: the current stream, or a side."""
    pairs = [*sides.early, *sides.unjoined, *sides.overwritten, *sides.other]
    if pairs:
        kinds = ("early", "unjoined", "overwritten", "other")
        trial.fail(
            f"{sides.words(pairs[0])} {when}".strip(),
            expected="an order between any two kernels of which one writes what the other touches",
            got=sides.traced.table(),
            observed=[kind for kind in kinds if getattr(sides, kind)],
        )


@fix_race.property("the value is that of the program read line by line", asks=RESULT, once_right=True)
def value(answer: Any, trial: Trial) -> None:
    for costs in COSTS:
        trial.equal(
            run(answer, trial, costs).value, torch.tensor(VALUE), "The sum of b + c + d", rtol=0, atol=0
        )
