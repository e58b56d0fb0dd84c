"""Predictions of lab 13. Each question stands in the notebook, above the cell that shows what happens."""

from __future__ import annotations

from helpers.prediction import Choice, Prediction

shuffled_tokens = Prediction(
    "13.shuffled_tokens",
    "Two tokens change places",
    {
        "A": Choice(
            "Nothing: the weights are a softmax over all tokens, in any order.",
            "Keys and values may stand in any order. But the queries of tokens 1 and 4 are swapped as well, and a result "
            "stands where its query stands.",
            "queries_stay",
        ),
        "B": Choice(
            "All rows change: each token looks at all.",
            "Each looks at all, and sees the same keys and values as before, in a different order. A sum does not know "
            "its order.",
            "order_counts",
        ),
        "C": Choice(
            "Rows 1 and 4 change, the others stay: each row depends on its own token most.",
            "The others stay, yes. Rows 1 and 4 hold what rows 4 and 1 held: nothing new is computed. How much a row "
            "depends on its own token plays no role.",
            "new_rows",
        ),
        "D": Choice(
            "Its rows 1 and 4 are swapped, and no other row changes.",
            "For a query it does not matter where keys and values stand. Each row goes where its query goes, and is the "
            "same otherwise.",
        ),
    },
)

batch_first = Prediction(
    "13.batch_first",
    "Four sequences of six tokens",
    {
        "A": Choice(
            "All six of sequence 3.",
            "It would be so with batch_first=True. The default takes the first dimension for the length.",
            "batch_first_by_default",
        ),
        "B": Choice(
            "Those of the last token, in all four sequences.",
            "The module takes the first dimension for the length: for it these are six sequences of four tokens, and the "
            "four that stand at one place look at each other.",
        ),
        "C": Choice(
            "The last one of sequence 3 only.",
            "The changed token is a key and a value, too: all who look at it change.",
            "a_token_by_itself",
        ),
        "D": Choice(
            "None can be told: it raises, since 4 is no length that fits.",
            "Any length fits, and any batch. Only the number of features is known to the module.",
            "the_shape_is_checked",
        ),
    },
)

mask_polarity = Prediction(
    "13.mask_polarity",
    "One mask, two functions",
    {
        "A": Choice(
            "Zeros: this row has no True.",
            "In SDPA True means: may look. The last row may look nowhere, and SDPA gives such a row 0.",
        ),
        "B": Choice(
            "NaN: this row has no True.",
            "The row may look nowhere, and a softmax by hand gives NaN there. SDPA gives 0, since torch 2.5.",
            "sdpa_gives_nan",
        ),
        "C": Choice(
            "The mean of the values of all four positions: True above the diagonal blocks nothing in this row.",
            "So it is in nn.MultiheadAttention, where True blocks. In SDPA True allows, and this row has no True.",
            "true_blocks",
        ),
        "D": Choice(
            "The value of position 3 alone.",
            "The diagonal is not above the diagonal: triu(1) leaves it out, so position 3 may not even look at itself.",
            "the_diagonal_is_in",
        ),
    },
)

window_and_hint = Prediction(
    "13.window_and_hint",
    "A mask, and is_causal beside it",
    {
        "A": Choice(
            "Both: a look needs the permission of each.",
            "It is what one means. The module hands is_causal to SDPA in place of the mask, and the window is lost.",
            "both_apply",
        ),
        "B": Choice(
            "The window only: `is_causal` is a hint about `attn_mask`, and this mask is not causal.",
            "A hint it is, but nobody looks whether it holds. Where it allows a faster way, that way is taken, without the "
            "mask.",
            "the_mask_wins",
        ),
        "C": Choice(
            "The causal mask only.",
            "The module takes the hint for a promise that attn_mask is the causal mask, and passes is_causal on instead "
            "of it.",
        ),
        "D": Choice(
            "It raises: one mask or the other.",
            "SDPA raises for the two together. The module never hands it the two.",
            "it_raises",
        ),
    },
)

nobody = Prediction(
    "13.nobody",
    "A sequence without a key",
    {
        "A": Choice(
            "Fine in both: the loss does not depend on the second sequence.",
            "Its gradient is 0, but the way back goes through a softmax that gave NaN, and 0 times NaN is NaN.",
            "zero_gradient_is_safe",
        ),
        "B": Choice(
            "NaN in both: a softmax of nothing is 0 / 0.",
            "So it is where the weights are made by hand. SDPA, which runs without need_weights, gives such a row 0.",
            "sdpa_gives_nan",
        ),
        "C": Choice(
            "NaN with `need_weights=True`, fine with False.",
            "With the weights, a plain softmax runs: 0 / 0. Without them SDPA runs, which gives such a row 0 and a "
            "gradient of 0.",
        ),
        "D": Choice(
            "Fine with `need_weights=True`, NaN with False.",
            "It is the other way round: the way that makes the weights is a plain softmax.",
            "the_other_way_round",
        ),
    },
)

equal_layers = Prediction(
    "13.equal_layers",
    "Six fresh layers",
    {
        "A": Choice(
            "All six equal, in six memories.",
            "The stack holds six deep copies of the layer that it was given, and draws nothing.",
        ),
        "B": Choice(
            "All random, each its own: a layer draws its weights when it is made.",
            "One layer was made, by you. The stack copies it, weights and all.",
            "each_is_made",
        ),
        "C": Choice(
            "It is one layer six times: the weights are shared.",
            "They are deep copies: equal numbers, and no shared memory. Six updates go six ways.",
            "shared_weights",
        ),
        "D": Choice(
            "Equal in attention, random in the linear layers, which have their own reset.",
            "A copy runs no constructor and no reset. All its parameters are equal.",
            "linear_layers_are_reset",
        ),
    },
)

pooled = Prediction(
    "13.pooled",
    "The mean over all positions, in two modes",
    {
        "A": Choice(
            "Never: no random number is drawn, and no batch statistics are used.",
            "The mode chooses the kernel, too. Without gradients a fast path runs, which does not compute padded "
            "positions.",
            "one_way_only",
        ),
        "B": Choice(
            "For sequences with padding.",
            "The fast path writes 0 at padded positions, the plain one leaves there what it computed, and the mean over "
            "all positions reads it.",
        ),
        "C": Choice(
            "For all sequences: a different kernel adds in a different order.",
            "That gives different last digits, which is rounding. The difference that counts is at the padded positions.",
            "rounding_is_enough",
        ),
        "D": Choice(
            "For sequences without padding.",
            "Their positions are computed in both ways. Look at what stands at padded positions.",
            "the_full_ones",
        ),
    },
)

saved = Prediction(
    "13.saved",
    "Saved for the backward",
    {
        "A": Choice(
            "The weights: 512 x 512 numbers, a megabyte.",
            "The plain formula needs them. The fused kernel that runs here computes them anew from q, k and one number a "
            "query.",
            "the_weights",
        ),
        "B": Choice(
            "The weights and the scores, two megabytes.",
            "Even the plain formula needs only the weights: the derivative of a softmax is written by its result.",
            "weights_and_scores",
        ),
        "C": Choice(
            "Nothing: q, k and v are enough to compute all else anew.",
            "They are enough, at the price of a whole forward for each row's denominator. It is kept instead, with the "
            "result.",
            "nothing_is_saved",
        ),
        "D": Choice(
            "The result and one number for each query: 34 kilobytes.",
            "512 x 16 numbers of the result and 512 logarithms of the softmax's denominator. The weights are computed "
            "anew.",
        ),
    },
)

causal_with_cache = Prediction(
    "13.causal_with_cache",
    "One query, four keys, is_causal",
    {
        "A": Choice(
            "At all four: it is the last position.",
            "SDPA does not know that. Its causal mask begins at the top left: query 0 is position 0.",
            "aligned_at_the_end",
        ),
        "B": Choice(
            "At key 0 only.",
            "The mask is the first row of a lower triangle: aligned at the top left, whatever the number of keys.",
        ),
        "C": Choice(
            "At key 3 only: the diagonal.",
            "A causal mask allows all up to the diagonal, and the diagonal begins at key 0.",
            "the_diagonal_only",
        ),
        "D": Choice(
            "It raises: a causal mask is square.",
            "Any lengths are taken, without a word.",
            "it_raises",
        ),
    },
)

recall_ctx = Prediction(
    "13.recall_ctx",
    "The result, kept on ctx",
    {
        "A": Choice(
            "The memory is freed later, and an edit in place of the result is no longer noticed.",
            "The version of a saved tensor is compared when it is used, and a saved result makes no circle of references.",
        ),
        "B": Choice(
            "Nothing: both keep a reference.",
            "save_for_backward does more: it remembers the version, and holds a result without a circle.",
            "only_a_reference",
        ),
        "C": Choice(
            "The gradient of v: only saved tensors take part in the backward.",
            "backward may use whatever it finds on ctx. Its numbers are the same.",
            "only_saved_tensors_count",
        ),
        "D": Choice(
            "`gradcheck` fails, since attributes of ctx are not kept in float64.",
            "An attribute is the tensor itself, in its dtype.",
            "the_dtype_is_lost",
        ),
    },
)

recall_mean = Prediction(
    "13.recall_mean",
    "A masked mean",
    {
        "A": Choice(
            "Nothing: a padded position adds 0.",
            "To the sum, yes. The mean divides by all positions, padding included.",
            "zeros_do_not_count",
        ),
        "B": Choice(
            "It is NaN where a sequence is empty.",
            "It divides by the number of all positions, which is never 0.",
            "nan_when_empty",
        ),
        "C": Choice(
            "The padded positions get gradients.",
            "They are multiplied by 0, and so is their gradient.",
            "padding_learns",
        ),
        "D": Choice(
            "A batch with more padding counts less: it is divided by the number of all positions.",
            "The sum is over the real positions, the divisor is not.",
        ),
    },
)
