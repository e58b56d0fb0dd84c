"""Predictions of lab 07 on buffers, and from the section on unused parameters on. Each question stands in the notebook."""

from __future__ import annotations

from helpers.prediction import Choice, Prediction

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
            "2: zeros come from rank 0, and the sum is divided by 1, the ranks that still have data.",
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

evaluated_alone = Prediction(
    "07.evaluated_alone",
    "Rank 0 evaluates alone",
    {
        "A": Choice(
            "It gives its result: without gradients nothing is exchanged.",
            "No gradient is. But buffers are sent in forward, with or without a backward after it.",
            "only_gradients_are_sent",
        ),
        "B": Choice(
            "It gives its result: in `eval()` a batch norm uses the running statistics, and rank 0 has them.",
            "The batch norm would. The wrapper around it does not look at the mode, and sends the buffers first.",
            "the_mode_counts",
        ),
        "C": Choice(
            "RuntimeError: DDP's forward asks for a backward.",
            "It does not: under `no_grad` nothing is prepared for one.",
            "a_backward_is_asked_for",
        ),
        "D": Choice(
            "It hangs.",
            "Rank 0 sends its buffers to ranks that do not call the wrapper. Without buffers, or with "
            "`wrapped.module`, it would come back.",
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
            "a different one for each rank, `seed + rank`, set after the model was made.",
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
