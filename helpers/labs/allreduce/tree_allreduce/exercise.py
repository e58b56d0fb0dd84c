"""08.tree_allreduce: few rounds in place of few bytes, on any number of ranks."""

from __future__ import annotations

from collections import defaultdict, deque

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.allreduce.shared import contract
from helpers.labs.allreduce.shared.landing import moved
from helpers.labs.allreduce.shared.runs import Answer
from helpers.labs.allreduce.shared.tasks import AllReduce
from helpers.ranks.in_threads import Event

tree_allreduce = Exercise(
    "08.tree_allreduce",
    "The tree: few rounds",
    objective="The sum on every rank after about 2 log2(N) messages one after the other, for any number of ranks N.",
    minutes=30,
    difficulty="hard",
    core=False,
    seconds=30,
    hints=[
        "A tournament: in the first round rank 1 sends to 0, 3 to 2, 5 to 4; in the next 2 sends to 0, 6 to 4. Who has "
        "sent is out. How many rounds until only rank 0 is left?",
        "With gap = 1, 2, 4, ...: a rank that is a multiple of 2 * gap receives from rank + gap, if there is such a rank; "
        "another one sends to rank - gap and is out. That `if` is all that other numbers than powers of two need.",
        "The way back is the same tree, walked from the top: a rank waits for the result from the one that it has sent to, "
        "then sends to its own children, the largest gap first.",
    ],
)

TASK = AllReduce()


contract.on_four_ranks(tree_allreduce, TASK, "on four ranks each rank's x becomes the sum over the ranks")
contract.only_messages(tree_allreduce, TASK)
contract.waits_for_all(tree_allreduce, TASK)
contract.any_world(tree_allreduce, TASK, (2, 3, 5, 6, 7, 8, 9, 1))


@tree_allreduce.property("no rank sends or receives more than ceil(log2 N) + 1 times x", once_right=True)
def bytes_by_rank(answer: Answer, trial: Trial) -> None:
    for world in (8, 9):
        trial.given(f"{world} ranks, x of 16 numbers of 4 bytes")
        run = moved(trial, answer, TASK, world, (16,))
        limit = (rounds_of_a_tree(world) + 1) * 64
        out = [traffic.bytes_out for traffic in run.traffic]
        into = [traffic.bytes_in for traffic in run.traffic]
        trial.true(
            max(out + into) <= limit,
            f"The sums are right, but one rank moves too much: by rank {out} bytes go out and {into} come in. A rank "
            f"has one partner at a time, and at most {rounds_of_a_tree(world) + 1} of them one way.",
            expected=f"at most {limit} bytes out and in on each rank",
            got=f"out {out}, in {into}",
            observed=("bytes", out, into),
        )


@tree_allreduce.property(
    "no chain of messages that need each other is longer than 2 ceil(log2 N) + 2", once_right=True
)
def few_rounds(answer: Answer, trial: Trial) -> None:
    for world in (4, 7, 8, 9):
        trial.given(f"{world} ranks, x of 16 numbers")
        run = moved(trial, answer, TASK, world, (16,))
        limit, found = 2 * rounds_of_a_tree(world) + 2, longest_chain(run.log)
        trial.true(
            found <= limit,
            f"The sums are right, but {found} messages have to wait for one another: each needs what the one before "
            f"has brought. With {world} ranks {limit} rounds are enough, if the number of ranks still to be reached "
            "halves in each.",
            expected=f"at most {limit} rounds",
            got=f"{found} rounds",
            observed=("rounds", world, found, max(traffic.bytes_out for traffic in run.traffic)),
        )


def rounds_of_a_tree(world: int) -> int:
    """ceil(log2(world))."""
    return (world - 1).bit_length()


def longest_chain(log: list[Event]) -> int:
    """The most messages of which each was sent after the one before had been received by its sender."""
    level: dict[int, int] = defaultdict(int)
    under_way: dict[tuple[int, int | None], deque[int]] = defaultdict(deque)
    for event in log:
        if event.kind in ("send", "isend"):
            under_way[event.rank, event.peer].append(level[event.rank] + 1)
        elif event.kind == "received" and under_way[event.peer, event.rank]:
            arrived = under_way[event.peer, event.rank].popleft()
            level[event.rank] = max(level[event.rank], arrived)
    return max(level.values(), default=0)


contract.rest(tree_allreduce, TASK)
contract.same_bits(tree_allreduce, TASK)
contract.on_gloo(tree_allreduce, TASK)
