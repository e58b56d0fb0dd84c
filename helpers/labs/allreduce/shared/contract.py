"""What every all-reduce of this lab keeps to, whatever its algorithm: the sum, in place, on each rank, by messages only."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.check.compare import shown
from helpers.check.trial import Mismatch, Trial
from helpers.exercise import Exercise
from helpers.labs.allreduce.shared.landing import is_wrong, landed, moved, never_waited_for
from helpers.labs.allreduce.shared.runs import Answer, View, run_on, small_numbers
from helpers.labs.allreduce.shared.tasks import AllReduce, total
from helpers.ranks.checking import over_gloo

Asks = str | tuple[str, ...]
Delivery = Literal["late", "early"]
DELIVERIES: tuple[Delivery, Delivery] = "late", "early"

MESSAGES_ONLY = "Only messages pass: send, recv, isend, irecv and batch_isend_irecv."
WAITED = "Every request is waited for before the function returns."
ANY_WORLD = "Any world from 1 on"
IN_A_ROW = "calls may follow one another, and ranks may be fast or slow."
ANY_SHAPE = "Any shape (a scalar, no elements, fewer than ranks)"
ANY_DTYPE = "any dtype that can be added: integers, floats, complex numbers."
IN_PLACE = "In place: the result stands in the memory of x."
GAPS = "A view with gaps will do; its neighbours in memory stay as they are."
PROCESSES = "Ranks are processes and share no variable."
SAME_BITS = "the same bits on each."
CHUNKS = "The chunks: x flattened in row-major order and cut as by torch.tensor_split(world)."
HALF_A_RING = "Each rank sends and receives world - 1 chunks."
WHOLE_RING = "Each rank sends and receives 2 (world - 1) / world K, with K the bytes of x"
UNEVEN_RING = "where the elements do not divide, at most 2 (world - 1) chunks of ceil(elements / world)."
NEIGHBOURS = "Messages go to neighbours on the ring (rank + 1, rank - 1, modulo world)"
"""What the docstrings of these exercises say in the same words."""


def on_four_ranks(exercise: Exercise, task: AllReduce, description: str, asks: Asks) -> None:
    @exercise.property(description, asks=asks)
    def on_four(answer: Answer, trial: Trial) -> None:
        trial.given(f"4 ranks, x of 8 numbers (float32){task.said}")
        moved(trial, answer, task, 4, (8,))


def second_call(exercise: Exercise, task: AllReduce) -> None:
    """Two calls, alike but for the numbers: what one of them keeps is in the sums of the other."""

    @exercise.property("the same call once more, on other numbers", asks=IN_A_ROW, once_right=True)
    def once_more(answer: Answer, trial: Trial) -> None:
        trial.given(f"4 ranks, x of 4 numbers (float32){task.said}")
        first = [small_numbers(trial, (4,)) for _ in range(4)]
        landed(trial, answer, task, [x.clone() for x in first])
        trial.given(f"4 ranks, x of 4 numbers (float32){task.said}; then the same call on other numbers")
        xs = [small_numbers(trial, (4,)) for _ in range(4)]
        before = [x.clone() for x in xs]
        run_on(trial, answer, xs, *task.more)
        want = task.results(before)[0]
        wrong = [rank for rank, x in enumerate(xs) if is_wrong(x, want)]
        both = all(not is_wrong(xs[rank], want + task.results(first)[0]) for rank in wrong)
        trial.true(
            not wrong,
            f"The first call was right. After the second one rank {(wrong or [0])[0]} ends with other numbers than it should"
            + (": the sums of both calls, added up." if both else "."),
            expected=shown(want),
            got=shown(xs[(wrong or [0])[0]]),
            observed=("second call", "both" if both else "other"),
        )


def only_messages(exercise: Exercise, task: AllReduce) -> None:
    @exercise.property(
        "only messages from rank to rank: no collective is called", asks=MESSAGES_ONLY, once_right=True
    )
    def messages(answer: Answer, trial: Trial) -> None:
        trial.given(f"4 ranks, x of 8 numbers (float32){task.said}")
        run = moved(trial, answer, task, 4, (8,))
        names = sorted({name for traffic in run.traffic for name in traffic.collectives})
        trial.true(
            not names,
            f"The answer calls {', '.join(f'dist.{name}' for name in names)}, a collective.",
            expected="send, recv, isend, irecv and batch_isend_irecv only",
            observed="collectives",
        )


def any_world(exercise: Exercise, task: AllReduce, worlds: tuple[int, ...], asks: Asks = ANY_WORLD) -> None:
    """worlds: numbers of ranks; x has as many elements as divide well."""
    numbers = ", ".join(map(str, worlds[:-1])) + f" and {worlds[-1]}"

    @exercise.property(f"right on {numbers} ranks, too", asks=asks, once_right=True)
    def any_number_of_ranks(answer: Answer, trial: Trial) -> None:
        for world in worlds:
            trial.given(
                f"{world} rank{'s' if world > 1 else ''}, x of {2 * world} numbers (float32){task.said}"
            )
            moved(trial, answer, task, world, (2 * world,))


def any_size(
    exercise: Exercise, task: AllReduce, also: Callable[..., None] | None, asks: tuple[str, ...]
) -> None:
    """also(trial, run, shape): what else is asked of these runs. asks: beside the sizes."""

    @exercise.property(
        "sizes that the ranks do not divide, fewer elements than ranks, none",
        asks=(ANY_SHAPE, *asks),
        once_right=True,
    )
    def any_number_of_elements(answer: Answer, trial: Trial) -> None:
        for world, count in ((4, 6), (4, 7), (3, 10), (5, 13), (4, 3), (3, 1), (8, 1), (4, 0)):
            trial.given(f"{world} ranks, x of {count} number{'' if count == 1 else 's'} (float32){task.said}")
            run = moved(trial, answer, task, world, (count,))
            if also is not None:
                also(trial, run, (count,))


EXACT = {
    torch.int64: (2**55, 2**30 + 1),
    torch.float64: (2.0**40, 1),
    torch.int32: (2**26, 1),
    torch.int8: (1, 1),
    torch.bfloat16: (1, 1),
    torch.complex64: (1, 1),
}
"""What small whole numbers are multiplied by, and what is added then: a smaller dtype would round their sums.

Of int64 float64 loses the 1, and float32 the 2**30 as well.
"""


def any_type(exercise: Exercise, task: AllReduce) -> None:
    @exercise.property(
        "any shape, any dtype, infinity and NaN as they add", asks=(ANY_SHAPE, ANY_DTYPE), once_right=True
    )
    def any_shape_and_dtype(answer: Answer, trial: Trial) -> None:
        for shape in ((2, 5), (3, 1, 4), ()):
            trial.given(f"3 ranks, x of shape {shape} (float32){task.said}")
            moved(trial, answer, task, 3, shape)
        for dtype, (scale, more) in EXACT.items():
            trial.given(f"3 ranks, x of 7 numbers ({str(dtype).removeprefix('torch.')}){task.said}")
            xs = [small_numbers(trial, (7,), dtype) * scale + more for _ in range(3)]
            landed(trial, answer, task, xs)
        trial.given(f"3 ranks, x of 9 numbers (float32), some of them infinite or NaN{task.said}")
        xs = [small_numbers(trial, (9,)) for _ in range(3)]
        for rank, (infinite, nan) in enumerate(((0, 3), (4, 7), (8, 2))):
            xs[rank][infinite], xs[rank][nan] = math.inf, math.nan
        landed(trial, answer, task, xs)


VIEWS: dict[str, tuple[tuple[int, ...], View]] = {
    "z[:, 1], a column of z of shape (6, 3)": ((6, 3), lambda z: z[:, 1]),
    "z[::2, 1:4], every other row and some columns of z of shape (5, 6)": ((5, 6), lambda z: z[::2, 1:4]),
    "z.t(), of shape (3, 4), z contiguous": ((4, 3), lambda z: z.t()),
    "z[2:9], of z of shape (11,)": ((11,), lambda z: z[2:9]),
}


def any_memory(exercise: Exercise, task: AllReduce) -> None:
    @exercise.property(
        "in place also when x is not contiguous, and nothing beside it changes", asks=GAPS, once_right=True
    )
    def not_contiguous(answer: Answer, trial: Trial) -> None:
        for description, (memory, view) in VIEWS.items():
            trial.given(f"3 ranks, x = {description} (float32){task.said}")
            moved(trial, answer, task, 3, memory, view)


def waits_for_all(exercise: Exercise, task: AllReduce) -> None:
    @exercise.property("every isend and irecv is waited for", asks=WAITED, once_right=True)
    def all_waited(answer: Answer, trial: Trial) -> None:
        trial.given(f"4 ranks, x of 8 numbers (float32){task.said}")
        run = moved(trial, answer, task, 4, (8,))
        left = run.unwaited
        trial.true(
            not left,
            f"Nobody waited for {len(left)} request{'' if len(left) == 1 else 's'}, first of all: "
            f"{_in_words((left or [''])[0])}. Until wait() returns, its tensor belongs to the transfer.",
            expected="wait() on each request before the function returns",
            got=f"{len(left)} without",
            observed=(
                "unwaited",
                sorted({text.split(": ")[-1].split(",")[0] for text in left}),
                *(["of the irecvs some"] if never_waited_for(run) == "some" else []),
            ),
        )


def _in_words(request: str) -> str:
    return request.replace("isend, rank", "isend to rank").replace("irecv, rank", "irecv from rank")


def any_timing(exercise: Exercise, task: AllReduce) -> None:
    """Two calls, the second one right after the first: what a call leaves behind the next one meets."""

    @exercise.property(
        "two calls in a row, the same whichever rank comes first, messages early or late",
        asks=IN_A_ROW,
        once_right=True,
    )
    def any_order(answer: Answer, trial: Trial) -> None:
        for seed in range(4):
            for delivery in DELIVERIES:
                turns = f"ranks in an order drawn from {seed}" if seed else "ranks in turn"
                trial.given(
                    f"4 ranks, two calls in a row, x of 7 and of 11 numbers (float32), messages {delivery}, "
                    f"{turns}{task.said}"
                )
                try:
                    two_calls(trial, answer, task, delivery, random.Random(seed) if seed else None)
                except Mismatch as wrong:
                    kind = wrong.observed[0] if isinstance(wrong.observed, tuple) else ""
                    trial.fail(
                        f"What the ranks end up with depends on who comes first, on when messages arrive, or on the call before. {wrong}",
                        expected=wrong.expected,
                        got=wrong.got,
                        observed=("timing", "in turn" if not seed else "drawn", delivery, kind),
                    )


def two_calls(
    trial: Trial, answer: Answer, task: AllReduce, delivery: Delivery, order: random.Random | None
) -> None:
    counts, world = (7, 11), 4
    memories: Any = [[small_numbers(trial, (count,)) for count in counts] for _ in range(world)]
    before = [[x.clone() for x in xs] for xs in zip(*memories, strict=True)]

    run = run_on(trial, answer, memories, *task.more, delivery=delivery, order=order)
    for call, (count, xs) in enumerate(zip(counts, before, strict=True)):
        ends = [own[call] for own in memories]
        parts = task.parts(trial, [found[call] for found in run.results], count, lambda: None)
        wrong = [
            [r for r in range(world) if is_wrong(ends[r][parts[r]], want[parts[r]])]
            for want in task.results(xs)
        ]
        if all(wrong):
            first, want = wrong[0][0], task.results(xs)[0]
            trial.fail(
                f"After call {call + 1} rank {first} holds other numbers than it should.",
                expected=shown(want[parts[first]]),
                got=shown(ends[first][parts[first]]),
                observed=("held",),
            )


def same_bits(exercise: Exercise, task: AllReduce) -> None:
    @exercise.property(
        "all ranks end with the same bits, and these are the sum", asks=SAME_BITS, once_right=True
    )
    def bits(answer: Answer, trial: Trial) -> None:
        trial.given(f"5 ranks, x of 23 random numbers of different sizes (float32){task.said}")
        scale = [10.0 ** trial.random.randint(-3, 3) for _ in range(5)]
        xs = [torch.randn(23, generator=trial.generator) * factor for factor in scale]
        want, room = total([x.double() for x in xs]), total([x.double().abs() for x in xs])
        run_on(trial, answer, xs, *task.more)
        trial.true(
            bool(((xs[0].double() - want).abs() <= 1e-6 * room).all()),
            "Rank 0 does not hold the sum of random numbers: sums of small whole numbers were right.",
            expected=shown(want.float()),
            got=shown(xs[0]),
            observed="not the sum",
        )
        differ = [rank for rank, x in enumerate(xs) if is_wrong(x, xs[0])]
        trial.true(
            not differ,
            f"Ranks 0 and {(differ or [0])[0]} end with different bits. Models that should stay equal then drift apart.",
            expected="each sum made once, and sent to the others",
            observed="bits",
        )


def on_gloo(exercise: Exercise, task: AllReduce) -> None:
    @exercise.property("and on three processes over gloo, the same", asks=PROCESSES, once_right=True)
    def processes(answer: Answer, trial: Trial) -> None:
        trial.given(f"3 processes over gloo, x a column of 10 numbers (float32){task.said}")
        memories, world = [small_numbers(trial, (10, 2)) for _ in range(3)], 3

        def on_rank() -> tuple[Any, Tensor]:
            rank = dist.get_rank()
            result = answer(memories[rank][:, 1], rank, world, *task.more)
            return result if isinstance(result, slice) else None, memories[rank][:, 1].clone()

        try:
            found = over_gloo(trial, on_rank, ranks=world)
        except Mismatch as wrong:
            raised = sorted(set(re.findall(r"\b[A-Z]\w*(?:Error|Exception)\b", wrong.message)))
            wrong.observed = ("gloo", "raised", raised)
            raise
        parts = task.parts(trial, [result for result, _ in found], 10, lambda: None)
        wants = task.results([memory[:, 1] for memory in memories])
        ends = [
            all(not is_wrong(x[p], want[p]) for p, (_, x) in zip(parts, found, strict=True)) for want in wants
        ]
        trial.true(
            any(ends),
            "The ranks end with other numbers than on ranks that are threads.",
            expected=shown(wants[0]),
            got=shown(found[0][1]),
            observed="gloo",
        )


def no_message_to_itself(exercise: Exercise, task: AllReduce) -> None:
    @exercise.property("one rank alone sends nothing, to itself either", asks=ANY_WORLD, once_right=True)
    def alone(answer: Answer, trial: Trial) -> None:
        trial.given(f"1 rank, x of 2 numbers (float32){task.said}")
        run = moved(trial, answer, task, 1, (2,))
        kinds = sorted({event.kind for event in run.log} & {"send", "isend", "recv", "irecv"})
        trial.true(
            not kinds,
            f"On one rank the answer calls {' and '.join(kinds)}: there is nobody but itself, and gloo refuses a message to "
            "oneself.",
            expected="no message",
            observed="to itself",
        )


def rest(
    exercise: Exercise,
    task: AllReduce,
    also: Callable[..., None] | None = None,
    asks_of_sizes: tuple[str, ...] = (),
) -> None:
    """What is asked last, the same of all. also, asks_of_sizes: see any_size."""
    any_size(exercise, task, also, asks_of_sizes)
    any_type(exercise, task)
    any_memory(exercise, task)
    any_timing(exercise, task)
