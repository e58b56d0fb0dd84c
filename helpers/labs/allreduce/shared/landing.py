"""Whether every rank ends with what it should, and what is observed of it if not."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.check.compare import difference, shown
from helpers.check.trial import Trial
from helpers.labs.allreduce.shared.runs import (
    Answer,
    Held,
    View,
    come_from,
    explained,
    held,
    pieces,
    run_on,
    small_numbers,
)
from helpers.labs.allreduce.shared.tasks import (
    SAME,
    AllReduce,
    Turn,
    divides,
    first_picture,
    turned,
    turned_place,
    turned_symbols,
)
from helpers.ranks.in_threads import Run


def whole(memory: Tensor) -> Tensor:
    return memory


def landed(
    trial: Trial,
    answer: Answer,
    task: AllReduce,
    xs: list[Tensor],
    view: View = whole,
    memory: Any = None,
    **how: Any,
) -> Run:
    """Runs the answer on views of xs; wrong unless every rank ends with what the task says, to the last bit.

    memory: the shape of xs, to explain a wrong result; without it, none is explained.
    """
    world, given = len(xs), [view(x.detach()) for x in xs]
    flat = [x.flatten().clone() for x in given]
    run = run_on(trial, answer, given, *task.more, **how)
    count = len(flat[0])
    symbols: Any = ...

    def in_symbols() -> Held | None:
        nonlocal symbols
        if symbols is ...:
            symbols = (
                held(trial, answer, world, memory, view, *task.more, **how) if memory is not None else None
            )
        return symbols

    parts = task.parts(trial, run.results, count, in_symbols)
    got = [view(x).flatten() for x in xs]  # the memory, whatever became of the tensor that was handed over
    wants = task.results(flat)
    wrong_by_want = [
        [r for r, part in enumerate(parts) if is_wrong(got[r][part], want[part])] for want in wants
    ]
    if all(wrong_by_want):
        task.misplaced(trial, parts, count, in_symbols)
        first, want = wrong_by_want[0][0], wants[0]
        text, data = explained(in_symbols(), task.wanted(world, count), parts)
        if memory is None:
            text, data = on_the_way(task, got[first], parts[first], flat)
        if early := never_waited_for(run):
            data = ("unset", early)
        elif symbols := in_symbols():
            sources = None
            if memory is not None and (task.only_copies or data == "places"):
                sources = come_from(trial, answer, world, memory, view, *task.more, **how)
            least = task.least_bytes(world, count) * given[0].element_size()
            few = max(traffic.bytes_out for traffic in run.traffic) < least
            data = (picture(task, symbols, sources), "few bytes" if few else "enough bytes")
        if untouched(run, flat, got, given)[2:]:
            text += " The tensor x has got other memory, into which nobody else looks."
        trial.fail(
            f"On {world} rank{'s' if world > 1 else ''} rank {first} ends with other numbers than it should."
            + text,
            **told(want, got[first], parts[first]),
            observed=("held", data, *untouched(run, flat, got, given)),
        )
    return run


def told(want: Tensor, got: Tensor, part: slice) -> dict[str, str]:
    """What is expected and what came, by the first numbers that differ where there are too many to show all."""
    expected, came = want[part], got[part]
    if len(expected) == len(came) and shown(expected) == shown(came):
        wrong = [at for at in range(len(came)) if is_wrong(came[at : at + 1], expected[at : at + 1])]
        at, start = (wrong or [0])[0], part.indices(len(want))[0]
        where = f"in elements {start + at} to {start + min(at + 4, len(came)) - 1}"
        return {
            "expected": f"{shown(expected[at : at + 4])} {where}",
            "got": f"{shown(came[at : at + 4])} there",
        }
    return {"expected": shown(expected), "got": shown(came)}


def never_waited_for(run: Run) -> str:
    """How many of the irecvs nobody waited for: "all", "some", or "" for none."""
    posted = sum(event.kind == "irecv" for event in run.log)
    left = sum("irecv" in request for request in run.unwaited)
    return "" if not left else "all" if left == posted else "some"


def picture(task: AllReduce, symbols: Held, sources: list[list[float]] | None) -> list[Any]:
    """What the ranks hold, whichever way the ring turns. sources: the numbers of the elements that it comes from."""
    world, count = len(symbols), len(symbols[0])
    inputs = 1 if task.only_copies else world
    places = [[place / inputs for place in row] for row in sources or []]
    if not all(place in range(count) for row in places for place in row):
        places = []  # sums of several places
    turns = task.turns(world) if divides(count, world) else [SAME]

    def of(turn: Turn) -> list[Any]:
        if turn == SAME:
            rows, sources = symbols, places
        else:
            rows = turned(symbols, turn, lambda text: turned_symbols(text, world, turn))
            sources = turned(places, turn, lambda e: float(turned_place(int(e), count, world, turn)))
        return [[pieces(row) for row in rows], *([sources] if places else [])]

    return first_picture(of, turns)


def on_the_way(task: AllReduce, got: Tensor, part: slice, xs: list[Tensor]) -> tuple[str, list[str]]:
    """A sentence on numbers that were in a different dtype for a while, and the same as plain data. xs: as given."""
    own = str(got.dtype).removeprefix("torch.")
    reals = [x.real if x.is_complex() else x for x in xs]  # a conversion that drops the imaginary part warns
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        if dtype != got.dtype and any(
            not is_wrong(got[part], want.to(got.dtype)[part])
            for want in task.results([x.to(dtype) for x in reals])
        ):
            if got.is_complex():
                return " These are the real parts: the imaginary ones are lost.", ["real parts", own]
            name = str(dtype).removeprefix("torch.")
            return f" These are the numbers that come out if x goes through {name}.", [name, own]
    if got[part].isnan().any() and not any(x.isnan().any() for x in xs):
        return " There is NaN in it, which stood in no rank's x.", ["NaN", own]
    return "", ["other numbers", own]


def untouched(run: Run, before: list[Tensor], after: list[Tensor], given: list[Tensor]) -> tuple[str, ...]:
    """If no rank's x has changed: what else the answer did. given: the tensors that were handed over."""
    if any(is_wrong(new, old) for new, old in zip(after, before, strict=True)):
        return ()
    quiet = not any(traffic.messages_out or traffic.collectives for traffic in run.traffic)
    moved = any(is_wrong(x.detach().flatten(), old) for x, old in zip(given, before, strict=True))
    return (
        "no message" if quiet else "messages",
        type(run.results[0]).__name__,
        *(["x has other memory"] if moved else []),
    )


def is_wrong(x: Tensor, want: Tensor) -> bool:
    return difference(x, want, rtol=0, atol=0) is not None


def moved(
    trial: Trial,
    answer: Answer,
    task: AllReduce,
    world: int,
    memory: tuple[int, ...],
    view: View = whole,
    **how: Any,
) -> Run:
    """`landed` on small whole numbers in float32; memory: their shape. Wrong also if numbers beside x change."""
    memories = [small_numbers(trial, memory) for _ in range(world)]
    before = [memory.clone() for memory in memories]
    run = landed(trial, answer, task, memories, view, memory, **how)
    neighbours(trial, memories, before, view)
    return run


def neighbours(trial: Trial, memories: list[Tensor], before: list[Tensor], view: View) -> None:
    """Wrong if memory beside x changed."""
    for rank, (memory, old) in enumerate(zip(memories, before, strict=True)):
        view(memory).zero_()
        view(old).zero_()
        trial.true(
            not is_wrong(memory, old),
            f"On rank {rank} numbers beside x in memory changed: x is a view, and only its elements are the answer's.",
            expected="neighbours as they were",
            observed="neighbours",
        )
