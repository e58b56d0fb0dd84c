"""Predictions of lab 06, second sitting, and its recall questions."""

from __future__ import annotations

from helpers.prediction import Choice, Prediction

tf32_tie = Prediction(
    "06.tf32_tie",
    "Exactly half-way",
    {
        "A": Choice(
            "1 + 1/1024 and 1 + 2/1024: a half is rounded up.",
            "That is rounding to nearest, ties away from zero. Ties to even take the neighbour whose last bit is 0.",
            "half_goes_up",
        ),
        "B": Choice(
            "1 and 1 + 1/1024: what does not fit is cut off.",
            "That is rounding toward zero. It is never the nearer one on purpose, so its errors do not average out.",
            "cut_off",
        ),
        "C": Choice(
            "1 and 1 + 2/1024.",
            "Of two equally near neighbours the one with an even last bit is taken: once down, once up, so that no "
            "bias is left.",
        ),
        "D": Choice(
            "Both stay as they are: 11 bits after the point are kept.",
            "Ten bits are written down. The eleventh, if you like, is the 1 before the point that every number has.",
            "eleven_bits_kept",
        ),
    },
)

swallowed = Prediction(
    "06.swallowed",
    "A hundred small steps in bfloat16",
    {
        "A": Choice(
            "About 0.9.",
            "It would be in float32. Here each step is lost on its own, before the next one comes.",
            "steps_add_up",
        ),
        "B": Choice(
            "1.",
            "Below 1, bfloat16's numbers are 2⁻⁸ apart, about 0.004. A step of 0.001 is less than half of that, so each "
            "of the hundred is rounded away.",
        ),
        "C": Choice(
            "About 0.6: each step is rounded up to the next number.",
            "Rounding goes to the nearer number, and that is the old one.",
            "steps_rounded_up",
        ),
        "D": Choice(
            "0.8984375, the number in bfloat16 that is nearest to 0.9.",
            "That is the sum, rounded once. The loop rounds a hundred times.",
            "rounded_once",
        ),
    },
)

tf32_growth = Prediction(
    "06.tf32_growth",
    "Longer sums, larger errors?",
    {
        "A": Choice(
            "For both it grows as the root of n.",
            "The *absolute* error does. With zero-mean data the product grows in the same way, so the relative error "
            "stays.",
            "relative_error_grows",
        ),
        "B": Choice(
            "It stays for numbers around zero, and falls for positive ones.",
            "n independent errors grow as the root of n. So does a sum of numbers around zero; a sum of positive "
            "numbers grows as n.",
        ),
        "C": Choice(
            "It stays for both: each term is wrong by the same share.",
            "True of each term. But the errors have both signs and cancel in part, and positive terms do not.",
            "errors_never_cancel",
        ),
        "D": Choice(
            "For both it grows as n.",
            "That is the worst case, with all errors of one sign. They are not.",
            "worst_case",
        ),
    },
)

manual_rounding = Prediction(
    "06.manual_rounding",
    "What the manual's number betrays",
    {
        "A": Choice(
            'Toward zero: "only the first 10 bits are read", as the manual says.',
            "Then the largest error would be more than twice as large as the one that the same manual prints.",
            "manual_taken_at_its_word",
        ),
        "B": Choice(
            "To the nearest. Where ties go cannot be told.",
            "The printed error lies near the one that you predict for nearest, and far below that of truncation. Ties are "
            "so rare that no error of random numbers shows them.",
        ),
        "C": Choice(
            "To the nearest, ties to even, as IEEE asks.",
            "Nearest, yes. Of random numbers about one in 8,000 is a tie, and half of those go the same way under both rules, so their "
            "errors tell nothing about ties.",
            "ties_seen_in_noise",
        ),
        "D": Choice(
            "It cannot be told: the largest of so many errors is chance.",
            "The largest of 10240² errors is one of the steadiest numbers there are: 5.7 standard deviations, give or take "
            "a few percent.",
            "maximum_is_chance",
        ),
    },
)

mixed_switches = Prediction(
    "06.mixed_switches",
    "A new switch, and an old one",
    {
        "A": Choice(
            "True: both names mean one switch.",
            "There are two states: the new name sets only its own, and the old one raises where they disagree.",
            "one_switch_two_names",
        ),
        "B": Choice(
            "False: the old switch was never set.",
            "It was not set, and does read False as long as the two agree. Here they do not: torch raises.",
            "old_switch_is_separate",
        ),
        "C": Choice(
            "The assignment raises RuntimeError: the two must not be mixed.",
            "Nothing raises at the mix itself. That would have been the line to blame.",
            "setting_raises",
        ),
        "D": Choice(
            "The assignment works, and *reading* the old one raises RuntimeError.",
            "So the error comes from whoever reads it next: a logger, `torch.backends.cudnn.flags()`, `torch.export`.",
        ),
    },
)

autocast_dtypes = Prediction(
    "06.autocast_dtypes",
    "Types inside autocast on a CPU",
    {
        "A": Choice(
            "bfloat16, then float32 four times.",
            "On CUDA softmax and sum are lifted to float32. CPU's list is a different one: there they stay as they come.",
            "cuda_list_expected",
        ),
        "B": Choice(
            "bfloat16 for the first three, float32 for the last two.",
            "Products are lowered; softmax and sum take what they get; a loss is lifted; and bfloat16 + float32 is "
            "float32 by the ordinary rules of torch.",
        ),
        "C": Choice(
            "bfloat16 for all five.",
            "Losses are on CPU's list for float32, and a sum with a float32 tensor is float32 with or without autocast.",
            "all_lowered",
        ),
        "D": Choice(
            "float32 for all five: the low precision is inside the operations only.",
            "The result of a lowered operation is a bfloat16 tensor, and the next operation gets that.",
            "results_are_lifted",
        ),
    },
)

clipped_scaled = Prediction(
    "06.clipped_scaled",
    "Clipped before it is unscaled",
    {
        "A": Choice(
            "SGD moves as it should, and so does AdamW: `step` unscales what was clipped.",
            "It does divide by the scale, and that is the trouble: a norm of 1 becomes 1/1024.",
            "order_is_free",
        ),
        "B": Choice(
            "SGD moves a thousand times too little, AdamW about as it should.",
            "The gradient is 1/1024 of what it should be. AdamW divides a gradient by its own size, so it hides the "
            "mistake, as long as its gradients are all of one size.",
        ),
        "C": Choice(
            "Both move a thousand times too little.",
            "SGD does. AdamW divides a gradient by its own size: a factor on all gradients hardly changes its step.",
            "adamw_follows_the_size",
        ),
        "D": Choice(
            "RuntimeError: the gradients were changed between backward and step.",
            "The scaler cannot know. It looks at gradients when it unscales them, and not before.",
            "scaler_watches_gradients",
        ),
    },
)

overflow = Prediction(
    "06.overflow",
    "One inf among the gradients",
    {
        "A": Choice(
            "The inf is set to 0, and the step is made.",
            "Nothing is repaired. One bad number, and no parameter moves.",
            "inf_is_zeroed",
        ),
        "B": Choice(
            "RuntimeError in `step`.",
            "An overflow is part of the plan: the scale is pushed up until one comes.",
            "overflow_raises",
        ),
        "C": Choice(
            "The step is left out; `update` lowers the scale and begins to count anew.",
            "A step lost is the price for knowing that the scale was too high.",
        ),
        "D": Choice(
            "The batch is run again with a lower scale.",
            "The scaler has no batch. The lower scale holds from the next one on.",
            "batch_is_repeated",
        ),
    },
)

recall_moved = Prediction(
    "06.recall_moved",
    "Recall, from lab 05",
    {
        "A": Choice(
            "`net` and `x`.",
            "`Tensor.to` gives a new tensor; without an assignment it is lost. Only the method of modules works in place.",
            "tensor_to_is_in_place",
        ),
        "B": Choice(
            "`net`, not `x`.",
            "`Module.to` gives each parameter new data and keeps the Parameter objects, so that the optimizer still holds "
            "them. `Tensor.to` returns a new tensor.",
        ),
        "C": Choice(
            "Neither: both give something new.",
            "`Module.to` returns the module itself, converted in place by `_apply`.",
            "module_to_copies",
        ),
        "D": Choice(
            "`x`, not `net`, if an optimizer holds its parameters.",
            "Who holds a Parameter does not matter: its data are exchanged inside the object.",
            "held_parameters_stay",
        ),
    },
)

recall_inf_norm = Prediction(
    "06.recall_inf_norm",
    "Recall, from lab 04",
    {
        "A": Choice(
            "`[nan, 0]` and `[0]`.",
            "The norm is inf, so all are multiplied by max_norm / inf, which is 0; and inf times 0 is nan.",
        ),
        "B": Choice(
            "`[1, 0]` and `[0]`: the inf is clipped to the norm.",
            "Clipping multiplies everything by one number. No number turns inf into 1.",
            "inf_is_clipped",
        ),
        "C": Choice(
            "Nothing changes: a norm of inf is not clipped.",
            "There is no such case in it: `error_if_nonfinite` is False by default, and then it just multiplies.",
            "inf_is_left_alone",
        ),
        "D": Choice(
            "RuntimeError.",
            "Only with `error_if_nonfinite=True`.",
            "inf_raises",
        ),
    },
)
