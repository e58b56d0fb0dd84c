"""Predictions of lab 07. Each question stands in the notebook, above the cell that shows what happens."""

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
            "from rank to rank the weights differ from now on: they were compared at construction only.)",
        ),
        "D": Choice(
            "`torch.autograd.grad(wrapped(x).sum(), model.weight)`",
            "The hooks sit where a gradient is added to `.grad`, and `autograd.grad` adds none.",
            "any_backward_counts",
        ),
    },
)

branch_first_step = Prediction(
    "07.branch_first_step",
    "A branch not taken, first step",
    {
        "A": Choice(
            "It hangs: the ranks wait for gradients that do not come.",
            "An all-reduce that nobody starts keeps nobody waiting. The bucket is not complete on either rank, so none "
            "is sent.",
            "waits_for_gradients",
        ),
        "B": Choice(
            "Nothing is said, and the ranks hold different gradients of `head`.",
            "The bucket waits for a gradient that never comes, backward ends, and what is in `.grad` is each rank's "
            "own. `optimizer.step()` takes it.",
        ),
        "C": Choice(
            "RuntimeError at the end of backward: a parameter has no gradient.",
            "There is such an error, and it comes one step late: at the beginning of the next forward.",
            "raises_at_once",
        ),
        "D": Choice(
            "All is well: the missing gradient counts as zero.",
            "That is `find_unused_parameters=True`, which is off by default since the search costs time.",
            "zeros_by_default",
        ),
    },
)

branch_equal_shapes = Prediction(
    "07.branch_equal_shapes",
    "Hooks without order, equal shapes",
    {
        "A": Choice(
            "It hangs: rank 1 waits for `a`, rank 0 for `b`.",
            "An all-reduce has no name. The second one of rank 0 meets the second one of rank 1, whatever is in them.",
            "calls_are_matched_by_name",
        ),
        "B": Choice(
            "RuntimeError: the ranks do not reduce the same parameter.",
            "Nobody knows which parameter it is: two numbers meet two numbers, and they fit.",
            "parameters_are_compared",
        ),
        "C": Choice(
            "It finishes: `a.grad` of rank 0 is averaged with `b.grad` of rank 1.",
            "Collectives are matched by their place in the order. Both ranks made as many calls of the same sizes.",
        ),
        "D": Choice(
            "It finishes: each rank keeps its own gradient of the branch.",
            "It would need to know that nobody else has one. Each call waits for a partner, and finds one.",
            "without_a_partner",
        ),
    },
)

late_step = Prediction(
    "07.late_step",
    "A step that only one rank makes",
    {
        "A": Choice(
            "2: rank 1 is alone, so its gradient is the mean.",
            "So it is with `divide_by_initial_world_size=False`. By default the number of ranks at the start divides.",
            "divided_by_those_left",
        ),
        "B": Choice(
            "1.5: rank 0 repeats its last gradient.",
            "A rank that has joined answers with zeros.",
            "last_gradient_repeated",
        ),
        "C": Choice(
            "1: zeros come from rank 0, and the sum is divided by 2.",
            "Your data is used up to the end. But a late sample moves the model half as far as an early one.",
        ),
        "D": Choice(
            "None: `Join` ends the loop when the first rank is out of data.",
            "That is `throw_on_early_termination=True`, and it ends it with an error.",
            "ends_for_all",
        ),
    },
)

norm_of_rank_0 = Prediction(
    "07.norm_of_rank_0",
    "The running mean of rank 1",
    {
        "A": Choice(
            "0.5: the mean of both.",
            "Gradients are averaged. Buffers are not: they are copied.",
            "buffers_are_averaged",
        ),
        "B": Choice(
            "0: that of rank 0.",
            "Each synchronised forward begins with a broadcast of rank 0's buffers. What the other ranks saw since "
            "is overwritten.",
        ),
        "C": Choice(
            "1: its own.",
            "So it was at the end of the step before. The next forward begins with a broadcast.",
            "each_keeps_its_own",
        ),
        "D": Choice(
            "RuntimeError: the buffers differ.",
            "They differ after each step, and DDP expects it.",
            "buffers_are_compared",
        ),
    },
)

replica_counts = Prediction(
    "07.replica_counts",
    "What a replica leaves behind",
    {
        "A": Choice(
            "`calls` is 2, `seen` is 2: forward ran twice.",
            "It ran on two other objects. They share some tensors with the model and no Python attribute.",
            "replicas_are_the_model",
        ),
        "B": Choice(
            "`calls` is 0, `seen` is 0: replicas are copies.",
            "Almost. The replica on the first device shares its buffers with the model: there is no need to copy.",
            "all_is_lost",
        ),
        "C": Choice(
            "`calls` is 1, `seen` is 1: replica 0 is the model itself.",
            "It is a shallow copy of it. A number that is set on the copy stays on the copy.",
            "first_replica_is_the_model",
        ),
        "D": Choice(
            "`calls` is 0, `seen` is 1.",
            "A number set on a replica dies with it. The buffer of replica 0 is the model's own storage, edited in "
            "place; that of replica 1 is a copy.",
        ),
    },
)

killed_rank = Prediction(
    "07.killed_rank",
    "A rank is killed",
    {
        "A": Choice(
            "They go on with three ranks and a smaller world.",
            "Their next all-reduce has four places to fill. A world changes its size at a new rendezvous only, and "
            "for that all start anew.",
            "goes_on_smaller",
        ),
        "B": Choice(
            "They wait while rank 3 alone is started again and catches up.",
            "A new process knows nothing of the group that the others are in. All must meet again.",
            "only_the_dead_returns",
        ),
        "C": Choice(
            "All are ended and started again; they resume from the last checkpoint.",
            "The steps since then are lost on all ranks, which is why checkpoints are written often.",
        ),
        "D": Choice(
            "torchrun saves their weights, and starts all of them from there.",
            "torchrun starts processes and knows nothing of weights. What is not in your checkpoint is gone.",
            "launcher_saves",
        ),
    },
)

recall_same_masks = Prediction(
    "07.recall_same_masks",
    "From lab 01: one seed on all ranks",
    {
        "A": Choice(
            "The same on all ranks: four samples at one place of four batches are dropped alike.",
            "Each rank has a generator of its own, in the same state. Equal weights want one seed; dropout wants "
            "another one for each rank, `seed + rank`, set after the model was made.",
        ),
        "B": Choice(
            "Different: each process has its own generator.",
            "It has, and it was seeded like the others. What follows from the seed is the same everywhere.",
            "processes_differ",
        ),
        "C": Choice(
            "Different: DDP draws the masks for the joined batch and deals them out.",
            "DDP exchanges gradients and buffers. Of generators it knows nothing.",
            "ddp_deals_masks",
        ),
        "D": Choice(
            "Different: the data differ.",
            "A mask is drawn without a look at the data.",
            "masks_follow_data",
        ),
    },
)

recall_first_gradient = Prediction(
    "07.recall_first_gradient",
    "From lab 03: which gradient comes first?",
    {
        "A": Choice(
            "`first`, since it was registered first.",
            "The order of registration is that of `parameters()`. Backward starts at the loss.",
            "order_of_registration",
        ),
        "B": Choice(
            "None is first: all are written when backward has come to its end.",
            "The node of a leaf has the highest priority, so a gradient is written as soon as it is complete. All that "
            "DDP does rests on this.",
            "written_at_the_end",
        ),
        "C": Choice(
            "It depends on the thread that is faster.",
            "On one device the engine is one thread with one queue, and its order is fixed.",
            "threads_race",
        ),
        "D": Choice(
            "`last`, the one that is next to the loss.",
            "Backward goes from the loss to the input, and a gradient is written as soon as it is complete. So the "
            "parameters that come last in the module are ready first.",
        ),
    },
)
