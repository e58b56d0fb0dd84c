"""Predictions of lab 08, sections 5 to 9 and the two recalls. The questions stand in the notebook."""

from __future__ import annotations

from helpers.prediction import Choice, Prediction

bits_of_ranks = Prediction(
    "08.bits_of_ranks",
    "The same sum, bit for bit?",
    {
        "A": Choice(
            "None: the same numbers are added, and a + b is b + a.",
            "That holds for the first addition of a chain. Later ones add to a sum: (a + b) + c and (a + c) + b round at "
            "different places. Lab 01 was about nothing else.",
            "order_does_not_matter",
        ),
        "B": Choice(
            "In one quarter of the vector none, in each of the other three some.",
            "A chunk is added up by one chain of ranks, and each chunk's chain begins one rank further. The chain that begins "
            "with ranks 0 and 1 has a + b become b + a, the same bits. In the others the two stand apart, or at the end.",
        ),
        "C": Choice(
            "Some in each quarter: the order is different everywhere.",
            "One chunk's chain begins with these two ranks, and the first addition may be turned around: a + b and b + a have "
            "the same bits.",
            "a_plus_b_is_not_b_plus_a",
        ),
        "D": Choice(
            "Some, and the ranks no longer agree with each other.",
            "Each chunk is added up once, by one chain, and then copied. So nobody can disagree, whatever the order.",
            "each_rank_adds_itself",
        ),
    },
)

ratio_at_eight = Prediction(
    "08.ratio_at_eight",
    "Naive against ring on eight ranks",
    {
        "A": Choice(
            "2, since the ring has two phases.",
            "The two phases are in both: naive collects and hands out, too. Count what the busiest port does.",
            "two_phases_two_times",
        ),
        "B": Choice(
            "8: as many as there are ranks.",
            "Both have 2 x 7 messages one after another. In the naive scheme a message is the whole vector, in the ring "
            "an eighth of it.",
        ),
        "C": Choice(
            "About 4.6, which is 64 / 14.",
            "That holds if only *sending* is limited: then the root's seven receives cost one. You find this number in "
            "notes that measured on such a link. Ours limits both directions, as a network card does.",
            "only_sending_costs",
        ),
        "D": Choice(
            "1: both move the same number of bytes.",
            "The sum over all ranks is the same, but time is what the busiest rank needs.",
            "total_bytes_decide",
        ),
    },
)

small_on_many = Prediction(
    "08.small_on_many",
    "Four kilobytes, a thousand ranks",
    {
        "A": Choice(
            "The ring: it sends the fewest bytes per rank.",
            "It does, and bytes do not matter here. Its 2,046 messages come one after another, and each costs alpha, "
            "however small it is.",
            "bytes_decide_always",
        ),
        "B": Choice(
            "Naive, since small messages cost nothing.",
            "The root waits for 1,023 messages and sends 1,023, one after another, as many as the ring has.",
            "small_messages_are_free",
        ),
        "C": Choice(
            "All take the same: 2,046 messages must be sent in any case.",
            "The messages of a tree are as many, but most are under way at the same time. What counts is the longest "
            "chain.",
            "all_messages_in_a_row",
        ),
        "D": Choice(
            "The tree, by a factor of about a hundred.",
            "Ten rounds up and ten down, against 2,046 in a row. The tree sends the whole vector in each round, but "
            "4 KB of it cost next to nothing.",
        ),
    },
)

loss_then_backward = Prediction(
    "08.loss_then_backward",
    "Reduce the loss, then go back",
    {
        "A": Choice(
            "1.0 on rank 0 and 2.0 on rank 1: each its own gradient.",
            "That is what `dist.all_reduce(loss)` would leave, since autograd does not see it. Here the backward is an "
            "all-reduce, too.",
            "no_gradient_travels",
        ),
        "B": Choice(
            "3.0 on both: the gradient of the sum.",
            "That would be right for one w that both ranks share. But each rank has a w of its own, with a factor of its own "
            "behind it, and each called backward on a copy of the sum.",
            "one_shared_parameter",
        ),
        "C": Choice(
            "2.0 on rank 0 and 4.0 on rank 1.",
            "Each rank starts with a gradient of 1, the all-reduce makes 2 of them, and each rank's own factor, 1 or 2, comes "
            "last. What was differentiated is the sum of both copies.",
        ),
        "D": Choice(
            "1.5 on both: the mean, as in DDP.",
            "DDP reduces the *gradients of the parameters*, after backward has made them, and divides. Nobody did so here.",
            "ddp_is_everywhere",
        ),
    },
)

recall_order = Prediction(
    "08.recall_order",
    "From lab 01: the order of additions",
    {
        "A": Choice(
            "Set all seeds, on every rank.",
            "No generator is asked in an addition.",
            "seeds_everywhere",
        ),
        "B": Choice(
            "A sum whose result does not depend on the order, as `stable_sum`: it rounds once, at the end.",
            "What is rounded once cannot depend on the order of what came before. It costs time or bits, which is why "
            "collectives do not do it.",
        ),
        "C": Choice(
            "`torch.use_deterministic_algorithms(True)`",
            "Each of the two sums is deterministic already: it comes out the same in each run. They differ from each "
            "other.",
            "deterministic_is_equal",
        ),
        "D": Choice(
            "float64 in place of float32.",
            "It rounds later, and the difference is smaller. It is still there.",
            "more_bits",
        ),
    },
)

recall_accumulate = Prediction(
    "08.recall_accumulate",
    "From lab 04: pieces of unequal size",
    {
        "A": Choice(
            "Nothing: a mean of means is the mean.",
            "Only if all pieces are of one size. One sample in a piece of its own would count as much as a hundred in "
            "another.",
            "mean_of_means",
        ),
        "B": Choice(
            "Divide by the number of ranks twice.",
            "The size of the pieces does not come into that.",
            "divided_twice",
        ),
        "C": Choice(
            "Weight each rank's mean gradient by its share of the samples, then add.",
            "As with pieces of a batch that come one after another: the mean over all samples is what counts, whoever "
            "computed which.",
        ),
        "D": Choice(
            "Clip each rank's gradient to the same norm first.",
            "Then all have the same length, and the direction is still wrong.",
            "clip_to_balance",
        ),
    },
)
