"""Predictions of lab 10 on numbers, shapes and losses. Each question stands in the notebook, above its cell."""

from __future__ import annotations

from helpers.prediction import Choice, Prediction

std_of_four = Prediction(
    "10.std_of_four",
    "One list, two libraries",
    {
        "A": Choice(
            "1.118 in both: the root of the mean squared distance from the mean.",
            "That is what NumPy does. torch divides the sum of squares by n - 1, so it says 1.291.",
            "torch_divides_by_n",
        ),
        "B": Choice(
            "1.291 in both: a sample's standard deviation divides by n - 1.",
            "torch does. NumPy divides by n unless you say `ddof=1`, so it says 1.118.",
            "numpy_divides_by_n_minus_1",
        ),
        "C": Choice(
            "1.291 from torch, 1.118 from NumPy.",
            "torch has correction=1 by default, NumPy ddof=0. They are two names of one number, with two defaults.",
        ),
        "D": Choice(
            "1.118 from torch, 1.291 from NumPy.",
            "The defaults are the other way round: torch takes 1 off, NumPy takes nothing off.",
            "defaults_exchanged",
        ),
    },
)

two_roads = Prediction(
    "10.two_roads",
    "The variance of a vector and of a row",
    {
        "A": Choice(
            "The same bits: it is the same function on the same thousand numbers.",
            "It is the same function, but it has two roads inside. Which one is taken depends on whether the result is "
            "one number or several.",
            "same_function_same_bits",
        ),
        "B": Choice(
            "Equal up to the last digit of float32, about one part in ten million.",
            "The last digit is lost in the mean, which is 1,000,000 here. Its rounding error is squared and added to a "
            "variance of 1.",
            "only_the_last_digit",
        ),
        "C": Choice(
            "The vector's is worse: it is off by more than one part in ten thousand.",
            "With one number as result, torch on the CPU rounds the mean to float32 first and subtracts that. With "
            "several it runs Welford's loop in float64.",
        ),
        "D": Choice(
            "The row's is worse, since the memory of two rows is walked in a different order.",
            "The order changes the last digit at most. The row's variance is the good one: Welford's loop in float64.",
            "order_of_memory",
        ),
    },
)

norm_by_hand = Prediction(
    "10.norm_by_hand",
    "A LayerNorm from a blog",
    {
        "A": Choice(
            "1, up to rounding: both subtract the mean and divide by the standard deviation.",
            "There are two standard deviations. `x.std` divides by 7 here, LayerNorm by 8.",
            "one_standard_deviation",
        ),
        "B": Choice(
            "7/8: n - 1 in place of n.",
            "That is the ratio of the variances. What is divided by is their root.",
            "root_forgotten",
        ),
        "C": Choice(
            "8/7, since a smaller divisor makes a larger result.",
            "The smaller divisor, n - 1, is inside the standard deviation: that becomes larger, the result smaller. And "
            "there is a root.",
            "inverted",
        ),
        "D": Choice(
            "The root of 7/8, about 0.935, in each entry.",
            "All entries shrink by the same factor, and a trained `weight` would take it up. That is why nobody sees it, "
            "until weights are loaded from a different program.",
        ),
    },
)

how_many_means = Prediction(
    "10.how_many_means",
    "How many means",
    {
        "A": Choice(
            "6, 24, 100, 8",
            "LayerNorm([6, 5, 5]) runs over all three trailing dimensions, so one mean remains for each sample, 4. With "
            "100 it would be a norm over the channels alone.",
            "layer_norm_over_channels",
        ),
        "B": Choice(
            "6, 24, 4, 8",
            "One for each channel; for each channel of each sample; for each sample; for each group of each sample.",
        ),
        "C": Choice(
            "6, 6, 6, 2",
            "Only BatchNorm mixes the samples. The others work inside one sample, so their numbers have a factor of 4.",
            "all_over_the_batch",
        ),
        "D": Choice(
            "25, 24, 4, 8",
            "BatchNorm2d(6) keeps one mean for each channel, over the batch and all places of the picture.",
            "batch_norm_per_place",
        ),
    },
)

whose_variance = Prediction(
    "10.whose_variance",
    "The same batch again, in eval mode",
    {
        "A": Choice(
            "1: with momentum 1 the layer has stored exactly this batch.",
            "It stored this batch's mean. Of the variance it stored a different one than it used: 14/3 in place of 14/4.",
            "one_variance",
        ),
        "B": Choice(
            "Less than 1: it divides by a larger variance than in training.",
            "Training divides by the variance with n, 3.5, and stores the one with n - 1, 4.667. The root of the ratio is "
            "0.866.",
        ),
        "C": Choice(
            "More than 1: it divides by a smaller variance than in training.",
            "n - 1 makes the stored variance the larger one, 4.667 against 3.5.",
            "stored_is_smaller",
        ),
        "D": Choice(
            "2.08, the batch's own: the stored variance is still 1.",
            "A momentum of 1 is the weight of the *new* value, so nothing of the 1 from the start is left.",
            "momentum_keeps_the_old",
        ),
    },
)

perfect_loss = Prediction(
    "10.perfect_loss",
    "The loss of a perfect answer",
    {
        "A": Choice(
            "0: each prediction is its target.",
            "Each prediction is compared with *all* targets: (4, 1) and (4,) broadcast to (4, 4).",
            "compared_one_by_one",
        ),
        "B": Choice(
            "An error: the shapes (4, 1) and (4,) differ.",
            "Shapes that differ are no error where they can be broadcast. `mse_loss` warns, and goes on.",
            "shapes_must_agree",
        ),
        "C": Choice(
            "3.5, the variance of the targets.",
            "Nearly. The variance is counted twice: once for the spread of the predictions, once for that of the targets.",
            "variance_once",
        ),
        "D": Choice(
            "7, twice the variance of the targets.",
            "The mean of (p - y)² over all pairs. The least that any answer can reach is the variance, with all "
            "predictions at the mean of the targets: that is what such a model learns.",
        ),
    },
)

normalize_which = Prediction(
    "10.normalize_which",
    "What has length one",
    {
        "A": Choice(
            "Each token: the 3 features of every one of the 35.",
            "That would be `dim=-1`. The default is dim=1, whatever it may mean for your tensor.",
            "last_dimension",
        ),
        "B": Choice(
            "Each feature of each sample, along its 7 tokens.",
            "dim=1 is the default. It suits a matrix and a batch of pictures (channels), and mixes the tokens here.",
        ),
        "C": Choice(
            "Each sample: its 21 numbers together.",
            "One dimension only, and it is dim=1. For whole samples flatten them first.",
            "whole_samples",
        ),
        "D": Choice(
            "Nothing: with three dimensions it raises.",
            "It takes any number of dimensions from two on. Only a vector raises, since it has no dim=1.",
            "refuses_three_dimensions",
        ),
    },
)

zero_row_in_half = Prediction(
    "10.zero_row_in_half",
    "A row of zeros, in half precision",
    {
        "A": Choice(
            "Zeros in both: 0 is exact in every type.",
            "0 is, and what it is divided by is not: in float16 1e-12 is 0, too, and 0 / 0 is NaN.",
            "zero_is_exact",
        ),
        "B": Choice(
            "Zeros in bfloat16, NaN in float16.",
            "The smallest number of float16 is 6e-8, so its eps is 0. bfloat16 has the exponents of float32, and with them "
            "1e-12.",
        ),
        "C": Choice(
            "NaN in bfloat16, which has fewer digits, and zeros in float16.",
            "The digits do not count here, the exponents do: bfloat16 has those of float32, float16 has fewer.",
            "digits_for_exponents",
        ),
        "D": Choice(
            "NaN in both: 1e-12 needs more than 16 bits.",
            "The size of a number is in its exponent, and 8 bits are enough for 1e-12, as in float32. bfloat16 has 8, "
            "float16 has 5.",
            "sixteen_bits_are_sixteen_bits",
        ),
    },
)

softmax_twice = Prediction(
    "10.softmax_twice",
    "A perfect answer, through softmax",
    {
        "A": Choice(
            "0.551: it cannot come nearer to 0.",
            "cross_entropy takes its own softmax of 1, 0, 0, and that is 0.576. -log 0.576 = 0.551, and the gradient pushes "
            "on against a wall.",
        ),
        "B": Choice(
            "0: the answer is perfect.",
            "cross_entropy takes its argument for logits. Seen so, 1, 0, 0 is an answer full of doubt.",
            "probabilities_are_taken",
        ),
        "C": Choice(
            "1.099, log 3, as if it knew nothing.",
            "That is the loss of three equal logits. 1, 0, 0 are not equal, only close.",
            "as_if_uniform",
        ),
        "D": Choice(
            "An error or a warning: the argument is no row of logits.",
            "Any three numbers are logits. cross_entropy has no way to tell.",
            "somebody_warns",
        ),
    },
)

all_ignored = Prediction(
    "10.all_ignored",
    "Nothing but padding",
    {
        "A": Choice(
            "0, and the step changes nothing: no label is counted.",
            "The sum is 0, and it is divided by the number of labels that count, which is 0 as well: 0 / 0.",
            "empty_mean_is_zero",
        ),
        "B": Choice(
            "nan, and after the step all weights are nan.",
            "The loss is nan. But `cross_entropy` gives an ignored label the gradient 0 by rule, without dividing. A mean "
            "by hand, `(losses * mask).sum() / mask.sum()`, does send nan into all weights.",
            "nan_spreads",
        ),
        "C": Choice(
            "nan, and the step changes nothing: the gradient is 0.",
            "0 / 0 in the loss, 0 by rule in the gradient. What is ruined is the mean of the losses in your log, and the "
            "choice of the best epoch: no loss is smaller than nan.",
        ),
        "D": Choice(
            "IndexError: there is no class -100.",
            "-100 is the default of `ignore_index`. Any other negative label would raise.",
            "no_such_class",
        ),
    },
)
