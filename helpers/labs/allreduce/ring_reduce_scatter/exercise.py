"""08.ring_reduce_scatter: first half of the ring. Partial sums of chunks travel until each rank owns a complete one."""

from __future__ import annotations

from helpers.exercise import Exercise
from helpers.labs.allreduce.shared import contract, ring_traffic
from helpers.labs.allreduce.shared.tasks import ReduceScatter

ring_reduce_scatter = Exercise(
    "08.ring_reduce_scatter",
    "The ring, first half: add",
    objective="Cut x into one chunk a rank and let partial sums travel round, until each rank owns one complete chunk.",
    minutes=30,
    difficulty="medium",
    seconds=30,
    hints=[
        "Write down for four ranks which chunk each one sends at step 0: rank r sends chunk r to its right neighbour. "
        "Which chunk has it then received and added, and which one must it therefore send at step 1?",
        "At step s, rank r sends chunk (r - s) % world to rank r + 1 and adds what comes from rank r - 1 to chunk "
        "(r - s - 1) % world. That makes world - 1 steps. `x.contiguous().view(-1).tensor_split(world)` gives chunks "
        "that are views: adding to one of them in place is adding to x.",
        "If all send first, nobody receives. Post `request = dist.irecv(buffer, left)` first, then "
        "`dist.send(chunk, right)`, then `request.wait()` and only now add the buffer. The buffer must be as long as "
        "the chunk that comes. The slice starts at the sum of the lengths of the chunks before chunk (rank + 1) % world.",
    ],
)

TASK = ReduceScatter()


contract.on_four_ranks(
    ring_reduce_scatter,
    TASK,
    "on four ranks, chunk (rank + 1) % world of x is the sum, and its slice is returned",
    (
        "First half of the ring: chunk (rank + 1) % world of x becomes the sum over all ranks.",
        "Returns slice(start, stop) of that chunk in x.flatten(). The other chunks may hold anything.",
        contract.IN_PLACE,
    ),
)
contract.only_messages(ring_reduce_scatter, TASK)
contract.waits_for_all(ring_reduce_scatter, TASK)
ring_traffic.ring_bytes(ring_reduce_scatter, TASK, phases=1, asks=(contract.HALF_A_RING, contract.CHUNKS))
ring_traffic.ring_messages(ring_reduce_scatter, TASK, phases=1)
contract.any_world(ring_reduce_scatter, TASK, (2, 3, 5, 1))
contract.rest(ring_reduce_scatter, TASK, ring_traffic.within_bytes(phases=1))
contract.on_gloo(ring_reduce_scatter, TASK)
contract.no_message_to_itself(ring_reduce_scatter, TASK)
