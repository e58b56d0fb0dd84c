"""08.tree_allreduce: few rounds in place of few bytes, on any number of ranks."""

from __future__ import annotations

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.allreduce.shared import contract
from helpers.labs.allreduce.shared.landing import moved
from helpers.labs.allreduce.shared.runs import Answer
from helpers.labs.allreduce.shared.tasks import AllReduce
from helpers.labs.allreduce.tree_allreduce.rounds import rounds

tree_allreduce = Exercise(
    "08.tree_allreduce",
    "The tree: few rounds",
    objective="The sum on every rank after about 2 log2(N) messages one after the other, for any number of ranks N.",
    minutes=30,
    difficulty="hard",
    core=False,
    seconds=30,
    version=2,
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
ROUNDS = "At most 2 R + 2 rounds, with R = ceil(log2(world))."
PORT = "No rank sends more than R + 1 times x, or receives more."


contract.on_four_ranks(
    tree_allreduce,
    TASK,
    "on four ranks each rank's x becomes the sum over the ranks",
    ("All-reduce in few rounds: each x becomes the sum over all ranks", contract.IN_PLACE),
)
contract.only_messages(tree_allreduce, TASK)
contract.waits_for_all(tree_allreduce, TASK)
contract.any_world(tree_allreduce, TASK, (2, 3, 5, 6, 7, 8, 9, 1))


@tree_allreduce.property(
    "no rank sends or receives more than ceil(log2 N) + 1 times x",
    asks=PORT,
    once_right=True,
)
def bytes_by_rank(answer: Answer, trial: Trial) -> None:
    for world in (8, 9):
        trial.given(f"{world} ranks, x of 16 numbers of 4 bytes (float32)")
        run = moved(trial, answer, TASK, world, (16,))
        limit = (rounds_of_a_tree(world) + 1) * 64
        out = [traffic.bytes_out for traffic in run.traffic]
        into = [traffic.bytes_in for traffic in run.traffic]
        trial.true(
            max(out + into) <= limit,
            f"The sums are right, but a rank moves too much: by rank {out} bytes go out and {into} come in. A rank "
            f"has one partner at a time, and at most {rounds_of_a_tree(world) + 1} of them one way.",
            expected=f"at most {limit} bytes out and in on each rank",
            got=f"out {out}, in {into}",
            observed=("bytes", out, into),
        )


@tree_allreduce.property(
    "no more than 2 ceil(log2 N) + 2 rounds, a rank with one message out and one in at a time",
    asks=(ROUNDS, "In a round a rank sends one message at most, and receives one at most."),
    once_right=True,
)
def few_rounds(answer: Answer, trial: Trial) -> None:
    for world in (4, 7, 8, 9, 16, 28):
        trial.given(f"{world} ranks, x of 16 numbers (float32)")
        run = moved(trial, answer, TASK, world, (16,))
        limit, found = 2 * rounds_of_a_tree(world) + 2, rounds(run.log)
        in_a_row = rounds(run.log, ports=False)
        trial.true(
            found <= limit,
            f"The sums are right, but the messages take {found} rounds, where a rank sends one at a time and receives "
            f"one at a time; {in_a_row} of them need each what the one before has brought. With {world} ranks {limit} "
            "rounds are enough, if the number of ranks still to be reached halves in each.",
            expected=f"at most {limit} rounds",
            got=f"{found} rounds",
            observed=("rounds", world, found, in_a_row, max(traffic.bytes_out for traffic in run.traffic)),
        )


def rounds_of_a_tree(world: int) -> int:
    """ceil(log2(world))."""
    return (world - 1).bit_length()


contract.rest(tree_allreduce, TASK)
contract.same_bits(tree_allreduce, TASK)
contract.on_gloo(tree_allreduce, TASK)
contract.no_message_to_itself(tree_allreduce, TASK)
