"""08.ring_all_gather: second half of the ring. Complete chunks travel until each rank has all of them."""

from __future__ import annotations

import math

import torch

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.allreduce.shared import contract, ring_traffic
from helpers.labs.allreduce.shared.landing import landed
from helpers.labs.allreduce.shared.runs import Answer, small_numbers
from helpers.labs.allreduce.shared.tasks import AllGather

ring_all_gather = Exercise(
    "08.ring_all_gather",
    "The ring, second half: copy",
    objective="Each rank owns one complete chunk; pass the chunks round until everybody has all of them.",
    minutes=15,
    difficulty="medium",
    seconds=30,
    hints=[
        "The steps are those of the first half, but nothing is added: what arrives replaces what is there, so it can be "
        "received straight into its chunk of x.",
        "At step 0 rank r sends the chunk that it owns, (r + 1) % world. At the next step it sends the one that it has "
        "just received. Which one is that? Ask what the left neighbour owns.",
        "At step s, rank r sends chunk (r + 1 - s) % world to the right and receives chunk (r - s) % world from the "
        "left: irecv first, then send, then wait. If x is not contiguous, work on a contiguous copy and copy it back.",
    ],
)

TASK = AllGather()


contract.on_four_ranks(
    ring_all_gather,
    TASK,
    "on four ranks, the chunk (rank + 1) % world of each rank comes to all ranks",
    (
        "Second half of the ring: the chunk (rank + 1) % world of each rank comes to all ranks.",
        contract.IN_PLACE,
    ),
)
contract.only_messages(ring_all_gather, TASK)
contract.waits_for_all(ring_all_gather, TASK)
ring_traffic.ring_bytes(ring_all_gather, TASK, phases=1, asks=(contract.HALF_A_RING, contract.CHUNKS))
ring_traffic.ring_messages(ring_all_gather, TASK, phases=1)
contract.any_world(ring_all_gather, TASK, (2, 3, 5, 1))


@ring_all_gather.property(
    "whatever the other chunks hold on entry, NaN and the largest numbers too, is replaced",
    asks="What stands in the other chunks on entry means nothing; it may be NaN.",
    once_right=True,
)
def others_mean_nothing(answer: Answer, trial: Trial) -> None:
    for dtype, worst in ((torch.float32, math.nan), (torch.float64, math.inf), (torch.int64, 2**63 - 1)):
        for world, count in ((3, 6), (5, 20)):
            trial.given(
                f"{world} ranks, x of {count} numbers ({str(dtype)[6:]}), {worst} in the chunks that a rank does not own"
            )
            xs = [small_numbers(trial, (count,), dtype) for _ in range(world)]
            for rank, x in enumerate(xs):
                for place, chunk in enumerate(x.tensor_split(world)):
                    if place != (rank + 1) % world:
                        chunk.fill_(worst)
            landed(trial, answer, TASK, xs)


contract.rest(ring_all_gather, TASK, ring_traffic.within_bytes(phases=1))
contract.on_gloo(ring_all_gather, TASK)
contract.no_message_to_itself(ring_all_gather, TASK)
