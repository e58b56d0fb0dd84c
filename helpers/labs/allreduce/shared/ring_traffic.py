"""What travels in a ring: how many bytes, in how many messages, to whom."""

from __future__ import annotations

import math
from collections.abc import Callable

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.allreduce.shared.contract import NEIGHBOURS
from helpers.labs.allreduce.shared.landing import moved
from helpers.labs.allreduce.shared.runs import Answer
from helpers.labs.allreduce.shared.tasks import AllReduce
from helpers.ranks.in_threads import Run

SIZES = ((5, (20,)), (3, (24,)), (4, (2, 8)))
"""(ranks, shape of x); chunks of rows would be uneven in the last one, and the chunks of two rings, each for a half of
x, are even in all. On 5 ranks numbers of 8 bytes are fewer bytes than whole vectors; on 4 they are as many."""


def ring_bytes(exercise: Exercise, task: AllReduce, phases: int, asks: str | tuple[str, ...]) -> None:
    """phases: 1 for a half of the ring, 2 for both."""
    half = "" if phases == 2 else "half "

    @exercise.property(
        f"each rank sends and receives the bytes that {half}a ring needs", asks=asks, once_right=True
    )
    def bytes_by_rank(answer: Answer, trial: Trial) -> None:
        for world, shape in SIZES:
            trial.given(f"{world} ranks, x of shape {shape}, 4 bytes a number (float32){task.said}")
            run = moved(trial, answer, task, world, shape)
            within_bytes(phases)(trial, run, shape)
            all_bytes(trial, run, shape, phases)


def within_bytes(phases: int) -> Callable[[Trial, Run, tuple[int, ...]], None]:
    return lambda trial, run, shape: _within_bytes(trial, run, shape, phases)


def _within_bytes(trial: Trial, run: Run, shape: tuple[int, ...], phases: int) -> None:
    """Each step moves a chunk; the longest one has ceil(elements / world)."""
    world, count = len(run.results), math.prod(shape)
    longest = -(-count // world)
    limit = phases * (world - 1) * longest * 4
    out = [traffic.bytes_out for traffic in run.traffic]
    into = [traffic.bytes_in for traffic in run.traffic]
    trial.true(
        max(out + into) <= limit,
        f"The numbers are right, but too much travels: by rank {out} bytes go out and {into} come in. "
        f"{phases * (world - 1)} steps with a chunk of {longest} number{'' if longest == 1 else 's'} each make {limit}.",
        expected=f"at most {limit} bytes out and in on each rank",
        got=f"out {out}, in {into}",
        observed=("bytes", out, into),
    )


def all_bytes(trial: Trial, run: Run, shape: tuple[int, ...], phases: int) -> None:
    """Where all chunks are of one length, each rank has as many bytes to send as to receive, no fewer."""
    world, nbytes = len(run.results), 4 * math.prod(shape)
    want = phases * (world - 1) * nbytes // world
    out = [traffic.bytes_out for traffic in run.traffic]
    into = [traffic.bytes_in for traffic in run.traffic]
    trial.true(
        set(out + into) == {want},
        f"The numbers are right, but other bytes travel than a ring needs: by rank {out} bytes go out and {into} come in, where "
        f"{want} are expected on each rank, out and in.",
        expected=f"{want} bytes out and in on each rank",
        got=f"out {out}, in {into}",
        observed=("bytes", out, into),
    )


def ring_messages(exercise: Exercise, task: AllReduce, phases: int) -> None:
    @exercise.property(
        "messages go to neighbours on the ring only, a chunk in a few of them",
        asks=f"{NEIGHBOURS}, a few for a chunk.",
        once_right=True,
    )
    def neighbours_only(answer: Answer, trial: Trial) -> None:
        trial.given(f"5 ranks, x of 160 numbers (float32){task.said}")
        run = moved(trial, answer, task, 5, (160,))
        between_neighbours(trial, run)
        most = max(traffic.messages_out for traffic in run.traffic)
        trial.true(
            most <= 8 * phases * 4,
            f"A rank sends {most} messages, where a chunk of 32 numbers travels {phases * 4} times. Each message "
            "costs its start-up time: send a chunk whole, or in a few pieces.",
            expected=f"{phases * 4} messages a rank, or a few for each of them: up to {8 * phases * 4}",
            got=most,
            observed=("messages", most),
        )


def between_neighbours(trial: Trial, run: Run) -> None:
    world = len(run.results)
    peers = {(event.rank, event.peer) for event in run.log if event.kind in ("send", "isend")}
    far = sorted((rank, peer) for rank, peer in peers if (peer - rank) % world not in (1, world - 1))
    trial.true(
        not far,
        f"Rank {far[0][0] if far else ''} sends to rank {far[0][1] if far else ''}, which is no neighbour of it. In a "
        "ring each link carries the messages of one pair, so that no wire is shared and each rank has two connections.",
        expected="messages from a rank to the next one round the ring",
        got=f"also {far}",
        observed=("far", far),
    )
