"""08.naive_allreduce: every rank sends its numbers to rank 0, which adds and sends the sum back."""

from __future__ import annotations

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.allreduce.shared import contract
from helpers.labs.allreduce.shared.runs import Answer, run_on, small_numbers
from helpers.labs.allreduce.shared.tasks import AllReduce

naive_allreduce = Exercise(
    "08.naive_allreduce",
    "All to one, one to all",
    objective="Give every rank the sum of all ranks' numbers, with send and recv only, through rank 0.",
    minutes=15,
    difficulty="easy",
    seconds=30,
    hints=[
        "Rank 0 does another thing than the others: it first receives from each of them in turn, then sends to each. "
        "What must the others do, and in which order?",
        "`dist.recv(buffer, source)` fills a tensor that you made before: `torch.empty_like` gives one of the right "
        "shape and dtype. On rank 0 add in place, `x += buffer`, and only after the last one send x to all.",
        "send and recv take contiguous tensors only. Work on `flat = x.contiguous()`: that is x itself if x is "
        "contiguous and a copy if not. In the second case `x.copy_(flat)` at the end, or x never hears of the sum.",
    ],
)

TASK = AllReduce()
RANK_0 = "Rank 0 receives and sends (world - 1) K, each other rank K and K, with K the bytes of x."


contract.on_four_ranks(
    naive_allreduce,
    TASK,
    "on four ranks each rank's x becomes the sum over the ranks",
    ("All-reduce through rank 0: each x becomes the sum over all ranks", contract.IN_PLACE),
)
contract.second_call(naive_allreduce, TASK)
contract.only_messages(naive_allreduce, TASK)
contract.waits_for_all(naive_allreduce, TASK)
contract.any_world(naive_allreduce, TASK, (2, 3, 5, 1))


@naive_allreduce.property(
    "rank 0 receives and sends N - 1 times x, each other rank once",
    asks=RANK_0,
    once_right=True,
)
def bytes_by_rank(answer: Answer, trial: Trial) -> None:
    for world, count in ((5, 6), (3, 10)):
        trial.given(f"{world} ranks, x of {count} numbers of 4 bytes (float32)")
        run = run_on(trial, answer, [small_numbers(trial, (count,)) for _ in range(world)])
        want = [4 * count * (world - 1)] + [4 * count] * (world - 1)
        out = [traffic.bytes_out for traffic in run.traffic]
        into = [traffic.bytes_in for traffic in run.traffic]
        trial.true(
            out == want and into == want,
            f"The sums are right, but other bytes travel: by rank {out} go out and {into} come in, "
            f"where {want} both ways are expected.",
            expected=f"{want} bytes by rank, out and in",
            got=f"out {out}, in {into}",
            observed=("bytes", out, into),
        )


contract.rest(naive_allreduce, TASK)
contract.same_bits(naive_allreduce, TASK)
contract.on_gloo(naive_allreduce, TASK)
contract.no_message_to_itself(naive_allreduce, TASK)
