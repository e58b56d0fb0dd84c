"""08.pipelined_allreduce: the ring in segments, so that adding and sending go on at the same time."""

from __future__ import annotations

from collections import Counter

import torch

from helpers.check.trial import Mismatch, Trial
from helpers.exercise import Exercise
from helpers.labs.allreduce.shared import contract, ring_traffic
from helpers.labs.allreduce.shared.landing import landed, moved
from helpers.labs.allreduce.shared.runs import Answer, small_numbers
from helpers.labs.allreduce.shared.tasks import AllReduce
from helpers.ranks.in_threads import Event

pipelined_allreduce = Exercise(
    "08.pipelined_allreduce",
    "The ring in segments",
    objective="Cut the ring's chunks into segments of so many bytes, so that one is added while the next is on its way.",
    minutes=35,
    difficulty="hard",
    core=False,
    seconds=30,
    hints=[
        "Write the ring with one list of requests a step: `chunk.split(length)` gives the segments as views, the last one "
        "shorter. How many elements are segment_bytes bytes of this dtype?",
        "Post the irecvs of all segments of a step, each into its own part of the buffer, then the isends; then take the "
        "segments in turn: wait for one, add it, wait for the next. All the while the later ones travel.",
        "`length = max(1, segment_bytes // x.element_size())`. Before the step ends wait for its isends, too: the next "
        "steps will write into other chunks, but the function must not return before all has left. Who wants more "
        "sends a segment on as soon as it is added, before the next one has come.",
    ],
)

TASK = AllReduce(4, said=", segment_bytes=4")
OF_TWO = AllReduce(8, said=", segment_bytes=8")
"""Segments of two float32: one of them is shorter where a chunk has an odd number, and they have gaps in a column."""
SEGMENTS = (
    (torch.float32, 180, 28),
    (torch.float32, 33, 16),
    (torch.float64, 33, 24),
    (torch.float32, 33, 10**6),
)
"""dtype, elements of x on three ranks, bytes of a segment: many, a shorter one at the end, two sizes of elements, one."""
LARGEST = "No message is longer than segment_bytes, except that it holds one element at least."
OVERLAP = "A chunk of two segments or more: at some time a rank has two sends, or two receives, posted and not yet waited for."
MANY = "A chunk of c bytes goes in about c / segment_bytes messages."


contract.on_four_ranks(
    pipelined_allreduce,
    TASK,
    "with segments of 4 bytes, on four ranks each rank's x becomes the sum",
    ("Ring all-reduce in segments: each x becomes the sum over all ranks", contract.IN_PLACE),
)
contract.only_messages(pipelined_allreduce, TASK)
contract.waits_for_all(pipelined_allreduce, TASK)
ring_traffic.ring_bytes(pipelined_allreduce, TASK, phases=2, asks=contract.WHOLE_RING)


@pipelined_allreduce.property(
    "messages go to neighbours, and none is larger than segment_bytes",
    asks=(
        LARGEST,
        MANY,
        contract.NEIGHBOURS + ".",
    ),
    once_right=True,
)
def segments(answer: Answer, trial: Trial) -> None:
    for dtype, count, segment in SEGMENTS:
        trial.given(f"3 ranks, x of {count} numbers ({str(dtype)[6:]}), segment_bytes={segment}")
        xs = [small_numbers(trial, (count,), dtype) for _ in range(3)]
        memory = (count,) if dtype == torch.float32 else None
        run = landed(trial, answer, AllReduce(segment), xs, memory=memory)
        size, chunk = torch.empty(0, dtype=dtype).element_size(), count // 3
        sent = [event.nbytes for event in run.log if event.rank == 0 and event.kind in ("send", "isend")]
        largest = max(event.nbytes for event in run.log)
        trial.true(
            largest <= segment,
            f"The sums are right, but a message of {largest} bytes travels: a segment has {segment} at most, and a "
            f"number of this dtype {size}.",
            expected=f"messages of {segment} bytes and less",
            got=largest,
            observed=("large", str(dtype), max(sent[: len(sent) // 2]), max(sent[len(sent) // 2 :])),
        )
        most, enough = max(traffic.messages_out for traffic in run.traffic), 4 * -(-chunk * size // segment)
        trial.true(
            most <= 2 * enough,
            f"The sums are right, but a rank sends {most} messages. A chunk of {chunk * size} bytes goes into "
            f"{enough // 4} segment{'s' if enough > 4 else ''} of {segment}, and chunks travel 4 times.",
            expected=f"{enough} messages a rank, no more than {2 * enough}",
            got=most,
            observed=("many", str(dtype), segment, most),
        )
    trial.given("5 ranks, x of 40 numbers (float32), segment_bytes=8")
    run = moved(trial, answer, AllReduce(8), 5, (40,))
    ring_traffic.between_neighbours(trial, run)


@pipelined_allreduce.property(
    "a segment smaller than one element: a message holds one element",
    asks=LARGEST,
    once_right=True,
)
def one_element(answer: Answer, trial: Trial) -> None:
    for dtype, segment in ((torch.float64, 4), (torch.float32, 1), (torch.float64, 12)):
        trial.given(f"3 ranks, x of 9 numbers ({str(dtype)[6:]}), segment_bytes={segment}")
        xs = [small_numbers(trial, (9,), dtype) for _ in range(3)]
        limit = max(segment, xs[0].element_size())
        run = landed(trial, answer, AllReduce(segment), xs)
        largest = max(event.nbytes for event in run.log)
        trial.true(
            largest <= limit,
            f"The sums are right, but a message of {largest} bytes travels, where one number has "
            f"{xs[0].element_size()}.",
            expected=f"messages of {limit} bytes at most",
            got=largest,
            observed=("large", str(dtype), segment, largest),
        )


@pipelined_allreduce.property(
    "the bytes are those of the ring, whatever segment_bytes is",
    asks=(contract.WHOLE_RING, contract.UNEVEN_RING),
    once_right=True,
)
def bytes_of_segments(answer: Answer, trial: Trial) -> None:
    for world, count, segment in ((3, 180, 28), (3, 9, 10**6), (4, 20, 12), (4, 30, 24)):
        trial.given(f"{world} ranks, x of {count} numbers of 4 bytes (float32), segment_bytes={segment}")
        run = moved(trial, answer, AllReduce(segment), world, (count,))
        try:
            ring_traffic.within_bytes(phases=2)(trial, run, (count,))
            if count % world == 0:
                ring_traffic.all_bytes(trial, run, (count,), phases=2)
        except Mismatch as wrong:
            more = max(traffic.bytes_out for traffic in run.traffic) > 2 * (world - 1) * count // world * 4
            wrong.observed = ("bytes", segment, "more" if more else "fewer, or not the same on each rank")
            raise


@pipelined_allreduce.property(
    "at some time two segments of a rank are on their way",
    asks=OVERLAP,
    once_right=True,
)
def overlapping(answer: Answer, trial: Trial) -> None:
    for world, count, segment in ((4, 64, 16), (3, 18, 12)):
        chunk = count // world
        trial.given(
            f"{world} ranks, x of {count} numbers of 4 bytes (float32), segment_bytes={segment}: a chunk has "
            f"{4 * chunk // segment} segments"
        )
        run = moved(trial, answer, AllReduce(segment), world, (count,))
        most = [in_flight(run.log, rank) for rank in range(world)]
        trial.true(
            min(most) >= 2,
            f"The sums are right, but by rank at most {most} sends, or receives, are posted and not yet waited for: "
            "one segment has to be there and added before the next one starts. Nothing overlaps, and the segments "
            "only cost start-up time.",
            expected="two or more at some time, on each rank",
            got=most,
            observed=("in flight", most),
        )


def in_flight(log: list[Event], rank: int) -> int:
    """The most sends, or the most receives, that a rank has posted and not waited for, at any time."""
    now: Counter[str] = Counter()
    most = 0
    for event in log:
        if event.rank == rank:
            now["out"] += {"send": 1, "isend": 1, "sent": -1}.get(event.kind, 0)
            now["in"] += {"recv": 1, "irecv": 1, "received": -1}.get(event.kind, 0)
            most = max(most, *now.values())
    return most


contract.any_world(pipelined_allreduce, TASK, (2, 3, 5, 1))
contract.any_size(pipelined_allreduce, OF_TWO, ring_traffic.within_bytes(phases=2), (contract.UNEVEN_RING,))
contract.any_type(pipelined_allreduce, OF_TWO)
contract.any_memory(pipelined_allreduce, OF_TWO)
contract.any_timing(pipelined_allreduce, TASK)
contract.same_bits(pipelined_allreduce, OF_TWO)
contract.on_gloo(pipelined_allreduce, OF_TWO)
contract.no_message_to_itself(pipelined_allreduce, TASK)
