"""Predictions of lab 07, up to the section on unused parameters.

Each question stands in the notebook, above the cell that shows what happens.
"""

from __future__ import annotations

from helpers.prediction import Choice, Prediction

rank_of_a_job = Prediction(
    "07.rank_of_a_job",
    "Four numbers of a process",
    {
        "A": Choice(
            "node_rank 1, local_rank 5, world_size 8",
            "The local rank starts at 0 on each node: it says which device of its machine a process takes.",
            "local_rank_counts_on",
        ),
        "B": Choice(
            "node_rank 2, local_rank 2, world_size 8",
            "All these numbers count from 0.",
            "counted_from_one",
        ),
        "C": Choice(
            "node_rank 1, local_rank 1, world_size 4",
            "The world is all processes of all nodes. Four is the LOCAL_WORLD_SIZE.",
            "world_is_a_node",
        ),
        "D": Choice(
            "node_rank 1, local_rank 1, world_size 8",
            "rank = node_rank * 4 + local_rank, with four processes on each node.",
        ),
    },
)

who_prints = Prediction(
    "07.who_prints",
    "Who prints?",
    {
        "A": Choice(
            "1: there is one rank 0.",
            "There is one *rank* 0. The condition asks for the local rank, and each node has a local rank 0.",
            "local_rank_is_rank",
        ),
        "B": Choice(
            "2: one for each node.",
            "Right for what is done once a machine, as a download. A checkpoint on a shared disk would be written "
            "by two.",
        ),
        "C": Choice(
            "4: one for each local rank.",
            "There are four local ranks on each node, and one of them is 0.",
            "one_a_local_rank",
        ),
        "D": Choice(
            "8: every process runs the same program.",
            "They do, and the condition is true in some of them only.",
            "condition_ignored",
        ),
    },
)

padded_evaluation = Prediction(
    "07.padded_evaluation",
    "Five samples on two ranks",
    {
        "A": Choice(
            "1/5: all ranks together read the five samples.",
            "Two ranks that read equally many cannot read five. One sample was read twice.",
            "union_is_exact",
        ),
        "B": Choice(
            "1/4: the sample that does not fit is dropped.",
            "That is `drop_last=True`. The default repeats samples from the beginning.",
            "dropped_by_default",
        ),
        "C": Choice(
            "2/6: sample 0 is read twice.",
            "Six places are dealt, and the sixth holds the first sample again. Harmless in training, wrong in a score.",
        ),
        "D": Choice(
            "No number: rank 1 has a batch less, and the all-reduce hangs.",
            "It is to prevent just this that the sampler repeats samples.",
            "uneven_lengths_hang",
        ),
    },
)

mean_of_means = Prediction(
    "07.mean_of_means",
    "One sample against three",
    {
        "A": Choice(
            "As much as each of them: DDP gives the gradient of the joined batch.",
            "It does if all ranks have equally many samples. DDP divides by the number of ranks and does not know "
            "how many samples there were.",
            "always_joined",
        ),
        "B": Choice(
            "Three times as much.",
            "Each rank counts 1/2. On rank 0 that is for one sample, on rank 1 it is shared by three.",
        ),
        "C": Choice(
            "A third: the larger batch has the larger gradient.",
            "The mean took the size of the batch out, before DDP saw anything.",
            "larger_batch_wins",
        ),
        "D": Choice(
            "Not at all: it is taken for padding.",
            "Nobody compares batch sizes. The gradients have the shapes of the parameters, and these are equal.",
            "padding_is_known",
        ),
    },
)

first_buckets = Prediction(
    "07.first_buckets",
    "When does torch's DDP send?",
    {
        "A": Choice(
            "After the last gradient: there is one all-reduce, for all six layers.",
            "In the first step DDP does not know in which order the gradients come, and on ranks that differ early "
            "buckets could meet the wrong partner. So it waits once, notes the order, and makes buckets from it.",
        ),
        "B": Choice(
            "After the second gradient: a bucket holds two layers.",
            "So it is from the second step on. In the first one there is a single bucket.",
            "buckets_at_once",
        ),
        "C": Choice(
            "After each gradient: six all-reduces.",
            "Small messages are what buckets are there to avoid: each costs the latency of the network.",
            "one_a_layer",
        ),
        "D": Choice(
            "After the forward of the second step, when the buckets are made.",
            "The gradients are needed by `optimizer.step()`, which comes right after backward.",
            "sent_later",
        ),
    },
)

no_sync_backward = Prediction(
    "07.no_sync_backward",
    "no_sync around backward",
    {
        "A": Choice(
            "1 and 2: the exchange is off.",
            "It would be if forward had been inside as well. Around backward alone `no_sync` comes too late.",
            "read_in_backward",
        ),
        "B": Choice(
            "RuntimeError: forward was synchronised, backward was not.",
            "Nobody compares the two. The flag is read once.",
            "somebody_checks",
        ),
        "C": Choice(
            "1.5 and 1.5, and a warning.",
            "The numbers are right, but there is no warning: it is only slow, at each step that was to be cheap.",
            "somebody_warns",
        ),
        "D": Choice(
            "1.5 and 1.5: it changes nothing.",
            "DDP decides in its forward, in `_post_forward`, whether this backward will be reduced.",
        ),
    },
)

still_exchanged = Prediction(
    "07.still_exchanged",
    "What does DDP see?",
    {
        "A": Choice(
            "`wrapped.module(x).sum().backward()`",
            "DDP prepares its reducer in its own forward. Who calls the model inside goes past it, and each rank keeps "
            "the gradient of its own data.",
            "hooks_are_enough",
        ),
        "B": Choice(
            "`model.requires_grad_(True)` after wrapping, for a layer that was frozen; then "
            "`wrapped(x).sum().backward()`",
            "Hooks were put on the parameters that were trainable when DDP was made: this layer has none.",
            "parameters_are_looked_up",
        ),
        "C": Choice(
            "`model.load_state_dict(other)` after wrapping; then `wrapped(x).sum().backward()`",
            "The values change, the parameters stay the same objects, and the hooks are on these. (If `other` differs "
            "from rank to rank, so do the weights: rank 0's values were copied to all at construction only.)",
        ),
        "D": Choice(
            "`torch.autograd.grad(wrapped(x).sum(), model.weight)`",
            "The hooks sit where a gradient is added to `.grad`, and `autograd.grad` adds none.",
            "any_backward_counts",
        ),
    },
)
