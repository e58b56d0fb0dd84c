"""Predictions of lab 10 on memory, gradients and modes, and the recalled ones. The questions stand in the notebook."""

from __future__ import annotations

from helpers.prediction import Choice, Prediction

expand_then_write = Prediction(
    "10.expand_then_write",
    "Writing into an expanded tensor",
    {
        "A": Choice(
            "The first row is 5, the second 0.",
            "`expand` copies nothing: both rows are the same three numbers in memory, read twice (stride 0).",
            "expand_copies",
        ),
        "B": Choice(
            "RuntimeError: one place in memory would be written more than once.",
            "So it is for `table.add_(1)` and `table.mul_(2)`. But `table[0]` is an honest view of three numbers, each "
            "written once, so nothing is found.",
            "every_write_is_refused",
        ),
        "C": Choice(
            "Both rows are 5.",
            "`table[0]` and `table[1]` are the same three numbers. Write into `.clone()` of an expanded tensor, or use "
            "`repeat`.",
        ),
        "D": Choice(
            "Both rows are 5, and there is a warning.",
            "The numbers are right. But torch cannot know that you meant one row only.",
            "somebody_warns",
        ),
    },
)

chained_write = Prediction(
    "10.chained_write",
    "A write through two brackets",
    {
        "A": Choice(
            "All three: each ends in an assignment to entries of x.",
            "The last bracket assigns, the first one *reads*. A mask and a list read a copy, and the copy is written.",
            "every_bracket_writes",
        ),
        "B": Choice(
            "`x[0:2][0] = 1` only.",
            "A slice is a view, so the second bracket writes into x. A mask or a list of indices makes a new tensor.",
        ),
        "C": Choice(
            "`x[0:2][0] = 1` and `x[[0, 1]][0] = 1`: both pick the same entries.",
            "They pick the same entries, one as a view, one as a copy. A list in brackets always copies.",
            "lists_are_views",
        ),
        "D": Choice(
            "None: the first bracket always makes a new tensor.",
            "A slice, a number, `None` and `...` give a view, which has the memory of x.",
            "slices_copy",
        ),
    },
)

repeated_index = Prediction(
    "10.repeated_index",
    "The same index, twice",
    {
        "A": Choice(
            "[0, 1, 1, 0]",
            "`c[i] += 1` reads c[i], adds, and writes. Both 1s read a 0, and both write a 1.",
        ),
        "B": Choice(
            "[0, 2, 1, 0]",
            "That is what `index_add_` and `bincount` give. `+=` reads all places before it writes any.",
            "added_one_by_one",
        ),
        "C": Choice(
            "An error: the index 1 stands there twice.",
            "Repeated indices are allowed. For plain reading, `c[i]`, they are useful.",
            "repeats_refused",
        ),
        "D": Choice(
            "[0, 0, 0, 0]: a list in brackets reads a copy, and the copy is changed.",
            "`c[i] += 1` also writes back, `c[i] = ...`, in one bracket. It is `c[i].add_(1)` that changes only a copy.",
            "copy_changed",
        ),
    },
)

tied_through_data = Prediction(
    "10.tied_through_data",
    "Tied through .data, then converted",
    {
        "A": Choice(
            "They still share memory: `double()` converts the shared memory once.",
            "`double()` goes from parameter to parameter, and each of the two gets new memory of its own.",
            "converted_once",
        ),
        "B": Choice(
            "RuntimeError: shared memory cannot be converted for one of two.",
            "Nobody knows that it is shared. Each is converted by itself.",
            "refused",
        ),
        "C": Choice(
            "They were never tied: assigning to `.data` copies the numbers.",
            "It does not copy: up to the conversion both read the same memory.",
            "data_copies",
        ),
        "D": Choice(
            "They are parted: two matrices, each with memory of its own.",
            "Two Parameters had one memory, and `.double()`, like `.to(device)`, gives each its own. Tie the Parameter: "
            "`lin.weight = emb.weight`.",
        ),
    },
)

nan_at_zero = Prediction(
    "10.nan_at_zero",
    "NaN at zero",
    {
        "A": Choice(
            "`x.norm()`",
            "It has a backward of its own, which gives 0 at 0.",
            "norm_at_zero",
        ),
        "B": Choice(
            "`x.std()`",
            "Its backward gives 0 there. `x.var().sqrt()` has NaN.",
            "std_at_zero",
        ),
        "C": Choice(
            "`torch.where(x > 0, x.sqrt(), 0).sum()`",
            "The branch that was not taken gets the gradient 0 and multiplies it by its own slope, which is infinite: "
            "0 · inf is NaN.",
        ),
        "D": Choice(
            "`torch.cdist(x[None], x[None]).sum()`",
            "A distance of a point from itself. Its backward gives 0 there.",
            "cdist_at_zero",
        ),
    },
)

functional_dropout = Prediction(
    "10.functional_dropout",
    "F.dropout in forward",
    {
        "A": Choice(
            "The input as it is: `eval()` turns dropout off.",
            "`eval()` sets `training` of modules. `F.dropout` is a function, it knows no module, and its `training` is True "
            "by default.",
            "eval_reaches_functions",
        ),
        "B": Choice(
            "Half of the entries are 0, the others doubled, as in training.",
            "`F.dropout(x, p)` means `training=True`. Write `F.dropout(x, p, self.training)`, or use the module.",
        ),
        "C": Choice(
            "All entries, each times 0.5: the mean of what training gives.",
            "That was the dropout of the first paper. Today training multiplies by 1 / (1 - p), and evaluation does "
            "nothing, if it is told that it is evaluation.",
            "scaled_in_eval",
        ),
        "D": Choice(
            "The input as it is: under `no_grad` nothing is dropped.",
            "`no_grad` stops the recording of the graph. It changes no value.",
            "no_grad_is_eval",
        ),
    },
)

no_grad_in_training_mode = Prediction(
    "10.no_grad_in_training_mode",
    "A validation pass without eval",
    {
        "A": Choice(
            "Nothing: under `no_grad` a model only reads.",
            "`no_grad` stops recording. The running statistics are no matter of gradients: forward writes them.",
            "no_grad_is_read_only",
        ),
        "B": Choice(
            "Only `num_batches_tracked`, which counts.",
            "It counts, and the mean and the variance move with it.",
            "only_the_counter",
        ),
        "C": Choice(
            "Weight and bias: they follow the statistics.",
            "Weight and bias are parameters. They change in `optimizer.step()` only.",
            "parameters_move",
        ),
        "D": Choice(
            "running_mean, running_var, num_batches_tracked: the validation data leaks into the model.",
            "In training mode every forward pass updates them. Call `model.eval()` before, `model.train()` after.",
        ),
    },
)

recall_detached_edit = Prediction(
    "10.recall_detached_edit",
    "Recall: an edit through detach",
    {
        "A": Choice(
            "A silent wrong gradient: detach is outside autograd.",
            "That is `.data`. A detached tensor shares the version counter, so the edit is found.",
            "detach_is_data",
        ),
        "B": Choice(
            "The right gradient: y saved a copy of what it needs.",
            "Saving copies nothing. The saved tensor is y itself, and it was edited.",
            "saved_is_a_copy",
        ),
        "C": Choice(
            "RuntimeError: a saved tensor was edited, and its version tells.",
            "`y.detach()` shares memory and version counter with y. `y.data` shares the memory only, and backward goes "
            "wrong without a word.",
        ),
        "D": Choice(
            "RuntimeError, at the edit itself.",
            "The edit is allowed. It is backward that needs the old values, and complains then.",
            "edit_is_refused",
        ),
    },
)

recall_mean_of_means = Prediction(
    "10.recall_mean_of_means",
    "Recall: three pieces of a batch",
    {
        "A": Choice(
            "As much as any other: a mean is a mean.",
            "Each piece's mean divides by the size of the piece. The smaller the piece, the more each of its samples counts.",
            "means_are_fair",
        ),
        "B": Choice(
            "Twice as much as a sample of the first piece.",
            "1 / (3 · 2) against 1 / (3 · 4). Add the sums, and divide by the number of all, once.",
        ),
        "C": Choice(
            "Half as much: its piece is half as large.",
            "The piece counts as much as the others, a third, and has fewer samples to share it.",
            "small_pieces_count_less",
        ),
        "D": Choice(
            "Ten thirds as much: all ten samples share what is left.",
            "Only the samples of one piece share its third.",
            "all_share",
        ),
    },
)
