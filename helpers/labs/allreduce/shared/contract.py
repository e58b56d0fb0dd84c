"""What every all-reduce of this lab keeps to, whatever its algorithm: the sum, in place, on each rank, by messages only."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.check.compare import shown
from helpers.check.trial import Mismatch, Trial
from helpers.exercise import Exercise
from helpers.labs.allreduce.shared.landing import is_wrong, landed, moved
from helpers.labs.allreduce.shared.runs import Answer, View, run_on, small_numbers
from helpers.labs.allreduce.shared.tasks import AllReduce, total
from helpers.ranks.checking import over_gloo


def on_four_ranks(exercise: Exercise, task: AllReduce, description: str) -> None:
    @exercise.property(description)
    def on_four(answer: Answer, trial: Trial) -> None:
        trial.given("4 ranks, x of 8 numbers (float32)")
        moved(trial, answer, task, 4, (8,))


def only_messages(exercise: Exercise, task: AllReduce) -> None:
    @exercise.property("only messages from rank to rank: no collective is called", once_right=True)
    def messages(answer: Answer, trial: Trial) -> None:
        trial.given("4 ranks, x of 8 numbers (float32)")
        run = moved(trial, answer, task, 4, (8,))
        names = sorted({name for traffic in run.traffic for name in traffic.collectives})
        trial.true(
            not names,
            f"The answer calls {', '.join(f'dist.{name}' for name in names)}, a collective.",
            expected="send, recv, isend, irecv and batch_isend_irecv only",
            observed="collectives",
        )


def any_world(exercise: Exercise, task: AllReduce, worlds: tuple[int, ...]) -> None:
    """worlds: numbers of ranks; x has as many elements as divide well."""
    numbers = ", ".join(map(str, worlds[:-1])) + f" and {worlds[-1]}"

    @exercise.property(f"right on {numbers} ranks, too", once_right=True)
    def any_number_of_ranks(answer: Answer, trial: Trial) -> None:
        for world in worlds:
            trial.given(f"{world} rank{'s' if world > 1 else ''}, x of {2 * world} numbers")
            moved(trial, answer, task, world, (2 * world,))


def any_size(exercise: Exercise, task: AllReduce, also: Callable[..., None] | None) -> None:
    """also(trial, run, shape): what else is asked of these runs."""

    @exercise.property("sizes that the ranks do not divide, fewer elements than ranks, none", once_right=True)
    def any_number_of_elements(answer: Answer, trial: Trial) -> None:
        for world, count in ((4, 6), (4, 7), (3, 10), (4, 3), (3, 1), (4, 0)):
            trial.given(f"{world} ranks, x of {count} number{'' if count == 1 else 's'}")
            run = moved(trial, answer, task, world, (count,))
            if also is not None:
                also(trial, run, (count,))


EXACT = {torch.int64: 2**45, torch.float64: 2.0**40, torch.bfloat16: 1}
"""What small whole numbers are scaled by before 1 is added: a detour over float32 would round their sums."""


def any_type(exercise: Exercise, task: AllReduce) -> None:
    @exercise.property("any shape, and int64, float64 and bfloat16", once_right=True)
    def any_shape_and_dtype(answer: Answer, trial: Trial) -> None:
        for shape in ((2, 5), (3, 1, 4), ()):
            trial.given(f"3 ranks, x of shape {shape}")
            moved(trial, answer, task, 3, shape)
        for dtype, scale in EXACT.items():
            trial.given(f"3 ranks, x of 7 numbers in {str(dtype).removeprefix('torch.')}")
            xs = [small_numbers(trial, (7,), dtype) * scale + 1 for _ in range(3)]
            landed(trial, answer, task, xs)


VIEWS: dict[str, tuple[tuple[int, ...], View]] = {
    "z[:, 1], a column of z of shape (6, 3)": ((6, 3), lambda z: z[:, 1]),
    "z[::2, 1:4], every other row and some columns of z of shape (5, 6)": ((5, 6), lambda z: z[::2, 1:4]),
    "z.t(), of shape (3, 4), z contiguous": ((4, 3), lambda z: z.t()),
}


def any_memory(exercise: Exercise, task: AllReduce) -> None:
    @exercise.property(
        "in place also when x is not contiguous, and nothing beside it changes", once_right=True
    )
    def not_contiguous(answer: Answer, trial: Trial) -> None:
        for description, (memory, view) in VIEWS.items():
            trial.given(f"3 ranks, x = {description}")
            moved(trial, answer, task, 3, memory, view)


def waits_for_all(exercise: Exercise, task: AllReduce) -> None:
    @exercise.property("every isend and irecv is waited for", once_right=True)
    def all_waited(answer: Answer, trial: Trial) -> None:
        trial.given("4 ranks, x of 8 numbers (float32)")
        left = moved(trial, answer, task, 4, (8,)).unwaited
        trial.true(
            not left,
            f"Nobody waited for {len(left)} request{'' if len(left) == 1 else 's'}, first of all: "
            f"{_in_words((left or [''])[0])}. Until wait() returns, its tensor belongs to the transfer.",
            expected="wait() on each request before the function returns",
            got=f"{len(left)} without",
            observed=("unwaited", sorted({text.split(": ")[-1].split(",")[0] for text in left})),
        )


def _in_words(request: str) -> str:
    return request.replace("isend, rank", "isend to rank").replace("irecv, rank", "irecv from rank")


def any_timing(exercise: Exercise, task: AllReduce) -> None:
    @exercise.property("the same whichever rank comes first, messages early or late", once_right=True)
    def any_order(answer: Answer, trial: Trial) -> None:
        for seed in range(4):
            for delivery in ("early", "late"):
                trial.given(f"4 ranks, x of 7 numbers, messages {delivery}, ranks in another order ({seed})")
                order = random.Random(seed) if seed else None
                try:
                    landed(
                        trial, answer, task, [small_numbers(trial, (7,)) for _ in range(4)],
                        delivery=delivery, order=order,
                    )  # fmt: skip
                except Mismatch as wrong:
                    trial.fail(
                        "What the ranks end up with depends on who comes first: a buffer is used before its message "
                        f"has arrived, or filled again before it has left. {wrong}",
                        expected=wrong.expected,
                        got=wrong.got,
                        observed="timing",
                    )


def same_bits(exercise: Exercise, task: AllReduce) -> None:
    @exercise.property("all ranks end with the same bits, and these are the sum", once_right=True)
    def bits(answer: Answer, trial: Trial) -> None:
        trial.given("5 ranks, x of 23 random numbers of different sizes (float32)")
        scale = [10.0 ** trial.random.randint(-3, 3) for _ in range(5)]
        xs = [torch.randn(23, generator=trial.generator) * factor for factor in scale]
        want, room = total([x.double() for x in xs]), total([x.double().abs() for x in xs])
        run_on(trial, answer, xs, *task.more)
        trial.true(
            bool(((xs[0].double() - want).abs() <= 1e-6 * room).all()),
            "Rank 0 does not hold the sum of random numbers.",
            expected=shown(want.float()),
            got=shown(xs[0]),
            observed="not the sum",
        )
        differ = [rank for rank, x in enumerate(xs) if is_wrong(x, xs[0])]
        trial.true(
            not differ,
            f"Ranks 0 and {(differ or [0])[0]} end with other bits: they added in another order, and a floating sum "
            "depends on the order. Models that should stay equal then drift apart.",
            expected="each sum made once, and sent to the others",
            observed="bits",
        )


def on_gloo(exercise: Exercise, task: AllReduce) -> None:
    @exercise.property("and on three processes over gloo, the same", once_right=True)
    def processes(answer: Answer, trial: Trial) -> None:
        trial.given("3 processes over gloo, x a column of 10 numbers (float32)")
        memories, world = [small_numbers(trial, (10, 2)) for _ in range(3)], 3

        def on_rank() -> tuple[Any, Tensor]:
            rank = dist.get_rank()
            result = answer(memories[rank][:, 1], rank, world, *task.more)
            return result if isinstance(result, slice) else None, memories[rank][:, 1].clone()

        found = over_gloo(trial, on_rank, ranks=world)
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


def rest(exercise: Exercise, task: AllReduce, also: Callable[..., None] | None = None) -> None:
    """What is asked last, the same of all. also: see any_size."""
    any_size(exercise, task, also)
    any_type(exercise, task)
    any_memory(exercise, task)
    any_timing(exercise, task)
