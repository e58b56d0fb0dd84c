"""08.ring_allreduce: both halves of the ring, as one all-reduce with the whole contract."""

from __future__ import annotations

from helpers.exercise import Exercise
from helpers.labs.allreduce.shared import contract, ring_traffic
from helpers.labs.allreduce.shared.tasks import AllReduce

ring_allreduce = Exercise(
    "08.ring_allreduce",
    "The ring",
    objective="The sum on every rank, in place, where no rank moves more than 2 (N - 1) / N of x.",
    minutes=15,
    difficulty="medium",
    seconds=30,
    hints=[
        "You have both halves. What does the second one expect in x, and does the first one leave it there?",
        "If x is not contiguous, one contiguous copy for both halves is enough: reduce that, then copy it into x.",
        "In one loop: at step s of 2 (world - 1), rank r sends chunk (r - s) % world and receives chunk "
        "(r - s - 1) % world. The first world - 1 steps add what arrives, the others keep it.",
    ],
)

TASK = AllReduce()


contract.on_four_ranks(
    ring_allreduce,
    TASK,
    "on four ranks each rank's x becomes the sum over the ranks",
    ("All-reduce on a ring: each x becomes the sum over all ranks", contract.IN_PLACE),
)
contract.second_call(ring_allreduce, TASK)
contract.only_messages(ring_allreduce, TASK)
contract.waits_for_all(ring_allreduce, TASK)
ring_traffic.ring_bytes(ring_allreduce, TASK, phases=2, asks=contract.WHOLE_RING)
ring_traffic.ring_messages(ring_allreduce, TASK, phases=2)
contract.any_world(ring_allreduce, TASK, (2, 3, 5, 1))
contract.rest(ring_allreduce, TASK, ring_traffic.within_bytes(phases=2), (contract.UNEVEN_RING,))
contract.same_bits(ring_allreduce, TASK)
contract.on_gloo(ring_allreduce, TASK)
contract.no_message_to_itself(ring_allreduce, TASK)
