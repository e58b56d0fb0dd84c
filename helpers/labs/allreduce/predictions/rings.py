"""Predictions of lab 08, sections 1 to 4. Each question stands in the notebook, above the cell that shows what happens."""

from __future__ import annotations

from helpers.prediction import Choice, Prediction

returned_value = Prediction(
    "08.returned_value",
    "What all_reduce gives",
    {
        "A": Choice(
            "`g` is a new tensor with the mean, 2.5; x stays as it was.",
            "Nothing new is made: a collective writes into the tensor that it is given. And nobody divides unless you "
            "say so.",
            "mean_in_a_new_tensor",
        ),
        "B": Choice(
            "`g` is x, and x holds the mean, 2.5.",
            "The default is a sum. Who wants a mean says `op=dist.ReduceOp.AVG`, or divides by the number of ranks, "
            "once.",
            "mean_by_default",
        ),
        "C": Choice(
            "`g` is None, and x holds the sum, 10.",
            "In place, and a sum. With `async_op=True` the call gives a handle instead of None, and x holds the sum "
            "only after `wait()`.",
        ),
        "D": Choice(
            "`g` is None; x holds the sum on rank 0 and stays as it was elsewhere.",
            "That is `dist.reduce(x, dst=0)`. The *all* in all-reduce says that every rank has the result.",
            "result_on_one_rank",
        ),
    },
)

small_sends = Prediction(
    "08.small_sends",
    "Both send first",
    {
        "A": Choice(
            "It works: four bytes fit into any buffer of the network, so both sends return at once.",
            "Some libraries send small messages ahead into a buffer of the receiver (MPI calls that eager). gloo keeps "
            "no such buffer: whatever the size, `send` returns when the other side has received.",
            "small_messages_are_buffered",
        ),
        "B": Choice(
            "RuntimeError at once: torch sees that two ranks send to each other.",
            "A rank knows nothing of the other's calls. It cannot tell a partner that will never come from one that is "
            "late.",
            "torch_notices",
        ),
        "C": Choice(
            "It works or hangs, by chance: whoever is faster decides.",
            "A race would need an order in which it works. There is none: each `send` waits for a `recv` that stands "
            "behind the other `send`.",
            "a_matter_of_luck",
        ),
        "D": Choice(
            "Both wait for ever, each in its `send`.",
            "Every blocking send of gloo is a meeting: it returns when the other side has received. With four bytes as "
            "with four gigabytes, so this bug at least shows at once.",
        ),
    },
)

overwritten_buffer = Prediction(
    "08.overwritten_buffer",
    "A buffer that is used again",
    {
        "A": Choice(
            "1: `isend` has copied x before it returned.",
            "A copy of a gradient of gigabytes is what one does not want. `isend` keeps a reference, and reads when the "
            "receiver is ready.",
            "isend_copies",
        ),
        "B": Choice(
            "99: the new value.",
            "The bytes are read when the receiver is there, and here that was after the edit. The buffer belongs to the "
            "transfer until `wait()` returns.",
        ),
        "C": Choice(
            "RuntimeError: x was edited while it was being sent.",
            "autograd counts the edits of a tensor; a process group does not look at the counter.",
            "edits_are_noticed",
        ),
        "D": Choice(
            "0: a send without `wait()` sends nothing.",
            "The transfer begins at once, in a thread of gloo. `wait()` only waits until it is over.",
            "wait_sends",
        ),
    },
)

column_of_a_matrix = Prediction(
    "08.column_of_a_matrix",
    "A column is reduced",
    {
        "A": Choice(
            "The column: [0, 6, 12]. A view is a tensor like any other.",
            "It should be, and no error says that it is not. gloo takes the address of the first element and the "
            "number of elements, and knows nothing of strides.",
            "strides_are_followed",
        ),
        "B": Choice(
            "RuntimeError: the tensor has to be contiguous.",
            "That is what `send` and `recv` say, and NCCL. gloo's `all_reduce` in this version checks less.",
            "all_reduce_checks",
        ),
        "C": Choice(
            "Nothing: all_reduce worked on a contiguous copy, and z stays as it was.",
            "This is what you get when *you* write `dist.all_reduce(z[:, 0].contiguous())`. Here no copy was made.",
            "a_copy_was_reduced",
        ),
        "D": Choice(
            "The first three numbers in memory: 0 and 1 of the first row, and 2 of the second.",
            "gloo sees an address and a count of three. So it adds three neighbours in memory, two of which are not in "
            "the column, and says nothing. Reduce a contiguous buffer and copy the result back.",
        ),
    },
)

after_phase_one = Prediction(
    "08.after_phase_one",
    "After the first phase",
    {
        "A": Choice(
            "[28, 32, 36, 40]: the sums.",
            "Three rounds bring one chunk home on each rank. The other three sums lie on the other three ranks.",
            "all_sums_are_there",
        ),
        "B": Choice(
            "[1, 32, 3, 4]: one sum, and elsewhere what was there before.",
            "Rank 0 received a chunk in each of three rounds and added it, in place. Two of the three were not yet "
            "complete, but they were added all the same.",
            "other_chunks_untouched",
        ),
        "C": Choice(
            "[1, 32, 29, 20]: one sum, and partial sums.",
            "Round by round a sum grew by one rank: 20 = 4 + 16 of two ranks, 29 = 3 + 15 + 11 of three, 32 of all four. "
            "Only chunk 0 was never received here.",
        ),
        "D": Choice(
            "[0, 32, 0, 0]: one sum; the rest was sent away.",
            "Sending is copying: what was sent is still there.",
            "sending_moves",
        ),
    },
)

total_traffic = Prediction(
    "08.total_traffic",
    "Who moves less?",
    {
        "A": Choice(
            "The ring moves half as much: 12 numbers, not 24.",
            "Every number has to meet three others, and the sum has to come back. No scheme gets round that by going "
            "in a circle.",
            "the_ring_moves_less",
        ),
        "B": Choice(
            "Both move 24 numbers.",
            "The ring saves no traffic: (N - 1) times the data to be added, and as much to be handed out. It spreads the "
            "work. The busiest port has 6 numbers in and out instead of 12.",
        ),
        "C": Choice(
            "The ring moves more: each number goes through every rank.",
            "A number does not travel on its own: a *sum* travels, and it is no larger than a number. That is why the "
            "ring costs no more.",
            "every_number_travels",
        ),
        "D": Choice(
            "It depends on which rank is the root.",
            "The root changes whose port is busy, not how much is moved.",
            "the_root_decides",
        ),
    },
)
