"""Predictions of lab 04. Each question stands in the notebook, above the cell that shows what happens."""

from __future__ import annotations

from helpers.prediction import Choice, Prediction

frozen_layer = Prediction(
    "04.frozen_layer",
    "A layer frozen in mid-run",
    {
        "A": Choice(
            "No: requires_grad=False tells the optimizer to leave it alone.",
            "`step` never looks at requires_grad. It looks at `.grad`, and there it found a tensor of zeros.",
            "requires_grad_is_read",
        ),
        "B": Choice(
            "No: its gradient is zero, and a step of zero changes nothing.",
            "A zero gradient is a gradient. The velocity of earlier steps still moves the weight, and so does weight "
            "decay. Only `.grad is None` makes `step` skip a parameter.",
            "zero_is_no_gradient",
        ),
        "C": Choice(
            "step() raises, since the parameter no longer requires a gradient.",
            "`requires_grad` is asked once, by autograd. The optimizer asks only at construction whether a tensor is "
            "a leaf.",
            "step_raises",
        ),
        "D": Choice(
            "Yes: it goes on for a while, with what is left of its velocity.",
            "A gradient of zeros is a gradient like any other: the velocity shrinks by the factor momentum at each "
            "step, and is applied. `zero_grad()` with its default, None, would have stopped it.",
        ),
    },
)

loss_times_1000 = Prediction(
    "04.loss_times_1000",
    "The loss times 1000",
    {
        "A": Choice(
            "Both first steps are 1000 times as long.",
            "That holds for SGD. Adam divides the gradient by its own size, so the factor cancels.",
            "both_scale",
        ),
        "B": Choice(
            "Neither changes: the learning rate sets the length.",
            "The learning rate is a factor on the gradient in SGD, not a length.",
            "lr_is_a_length",
        ),
        "C": Choice(
            "SGD's is 1000 times as long, Adam's 1000 times as short.",
            "Adam divides by the root of the squares once: the factor cancels, it does not turn round.",
            "adam_shrinks",
        ),
        "D": Choice(
            "SGD's is 1000 times as long, Adam's stays as it was.",
            "Adam's first step is lr times the sign of each gradient, nearly: the mean of the gradients divided by "
            "the root of the mean of their squares has no scale.",
        ),
    },
)

decay_alone = Prediction(
    "04.decay_alone",
    "Decay without a gradient",
    {
        "A": Choice(
            "Both by 0.02: it is the same decay, written in two ways.",
            "It is the same in SGD. Adam normalises whatever stands in the gradient, and there the decay stands.",
            "same_decay",
        ),
        "B": Choice(
            "Adam by 0.02, AdamW by 0.1.",
            "The other way round: Adam's decay goes through the gradient, where its size is lost.",
            "swapped",
        ),
        "C": Choice(
            "Adam by 0.1, AdamW by 0.02.",
            "Adam adds weight_decay * w to the gradient and then divides by the gradient's size: what is left is lr, "
            "whatever the decay. AdamW takes lr * weight_decay * w away from the weight.",
        ),
        "D": Choice(
            "Neither moves: without a gradient there is no step.",
            "The gradient is zero, not None: the parameter takes part in the step.",
            "no_step",
        ),
    },
)

clip_infinity = Prediction(
    "04.clip_infinity",
    "One infinite gradient",
    {
        "A": Choice(
            "[nan, 0], and nothing is said.",
            "The norm is inf, the factor 1 / inf = 0, and inf * 0 is nan. `error_if_nonfinite` is False by default.",
        ),
        "B": Choice(
            "[1, 0]: the infinite one is cut to the limit.",
            "Nothing is cut one by one: all are multiplied by one number, max_norm / norm, and that is zero here.",
            "cut_to_limit",
        ),
        "C": Choice(
            "RuntimeError: the norm is not finite.",
            "Only with error_if_nonfinite=True, which is not the default.",
            "raises",
        ),
        "D": Choice(
            "[inf, 4]: a norm that is not finite is not used.",
            "There is no such test: a test on the norm's value would make the CPU wait for the GPU.",
            "left_alone",
        ),
    },
)

skipped_rate = Prediction(
    "04.skipped_rate",
    "scheduler.step() before optimizer.step()",
    {
        "A": Choice(
            "1.0, 0.1, 0.01: the order of two lines does not matter.",
            "At each step the optimizer uses what stands in the group at that moment, and it has been changed already.",
            "order_is_free",
        ),
        "B": Choice(
            "RuntimeError: the scheduler refuses to go first.",
            "It warns, once, and goes on.",
            "refused",
        ),
        "C": Choice(
            "1.0, 1.0, 0.1: everything comes one step late.",
            "Late would be a scheduler that is stepped after the second optimizer step only.",
            "late",
        ),
        "D": Choice(
            "0.1, 0.01, 0.001: the first rate is never used.",
            "The constructor has set the rate of step 0. A scheduler step before the first optimizer step replaces it "
            "by the rate of step 1.",
        ),
    },
)

plateau = Prediction(
    "04.plateau",
    "A plateau scheduler that watches accuracy",
    {
        "A": Choice(
            "0.1, 0.1, 0.1, 0.1: the accuracy improves each time.",
            "It does, but the scheduler was not told that more is better.",
            "knows_accuracy",
        ),
        "B": Choice(
            "0.1, 0.1, 0.01, 0.001: each improvement cuts the rate.",
            "The default is mode='min': a value that grows is a loss that grows. With patience=0 each one cuts.",
        ),
        "C": Choice(
            "0.1, 0.1, 0.1, 0.01: it waits for three bad values.",
            "patience=0 means that the first bad value cuts.",
            "waits",
        ),
        "D": Choice(
            "ValueError: a metric must come down.",
            "It cannot know what the number means.",
            "metric_refused",
        ),
    },
)

swapped_order = Prediction(
    "04.swapped_order",
    "The same parameters in a different order",
    {
        "A": Choice(
            "Each gets its own: the state dict holds the names.",
            "It holds positions: 0 and 1. Names, if there are any, are stored beside them and are not compared.",
            "by_name",
        ),
        "B": Choice(
            "Each gets its own: the state is keyed by the parameter itself.",
            "In memory it is. A file cannot hold the identity of an object, so the state dict numbers the parameters.",
            "by_object",
        ),
        "C": Choice(
            "Each gets the other's, and nothing is said.",
            "The first parameter of the optimizer gets the state with number 0, whatever it was. Only the sizes of the "
            "groups are compared.",
        ),
        "D": Choice(
            "ValueError: the orders differ.",
            "An order cannot be compared by numbers 0 and 1, which each optimizer has.",
            "order_refused",
        ),
    },
)

average_of_three = Prediction(
    "04.average_of_three",
    "Two averages of 1, 2 and 6",
    {
        "A": Choice(
            "SWA 3.0, EMA 3.75.",
            "SWA is the plain mean. The EMA starts at 1, goes to (1 + 2) / 2 = 1.5, then to (1.5 + 6) / 2 = 3.75.",
        ),
        "B": Choice(
            "SWA 3.0, EMA 3.0: with 0.5 both weigh alike.",
            "An EMA with decay 0.5 gives the newest value half of all weight.",
            "alike",
        ),
        "C": Choice(
            "SWA 3.0, EMA 3.5: it starts at zero.",
            "The first update copies the model; an average that starts at zero would need a bias correction, as "
            "Adam's does.",
            "starts_at_zero",
        ),
        "D": Choice(
            "SWA 3.75, EMA 3.0.",
            "SWA weighs all values alike, the EMA does not.",
            "averages_swapped",
        ),
    },
)

mean_of_means = Prediction(
    "04.mean_of_means",
    "A batch of 8 in pieces of 5 and 3",
    {
        "A": Choice(
            "With each loss divided by 2, the number of pieces.",
            "Then a sample of the small piece weighs 1/6, one of the large piece 1/10.",
            "by_pieces",
        ),
        "B": Choice(
            "With nothing divided: backward adds gradients, and that is what we want.",
            "Two means of losses are added: about twice the gradient.",
            "undivided",
        ),
        "C": Choice(
            "In no way: only one backward over all 8 gives it.",
            "The gradient of a sum is the sum of the gradients: pieces are exact, if the weights are.",
            "impossible",
        ),
        "D": Choice(
            "With the piece's loss weighed by 5/8 and 3/8.",
            "The mean over 8 samples is the sum over both pieces, divided once by 8.",
        ),
    },
)

recall_resume = Prediction(
    "04.recall_resume",
    "Recall, lab 01: what the checkpoint lacks",
    {
        "A": Choice(
            "Nothing: model and optimizer are all that a step depends on.",
            "The next step also depends on the next batch and on the next random numbers.",
            "nothing_lacks",
        ),
        "B": Choice(
            "The learning rate.",
            "It stands in the optimizer's param_groups, and so in its state dict.",
            "rate_lacks",
        ),
        "C": Choice(
            "The generators' states and the place in the data.",
            "The optimizer's state says where the velocity was. Which samples come next, and what dropout draws, no "
            "state dict says.",
        ),
        "D": Choice(
            "The gradients of the last step.",
            "They are cleared before the next backward.",
            "gradients_lack",
        ),
    },
)

recall_version = Prediction(
    "04.recall_version",
    "Recall, lab 03: a step between two backwards",
    {
        "A": Choice(
            "RuntimeError: a weight was modified by an in-place operation.",
            "`step` edits the weights in place, under no_grad. Their version counters go up all the same, and "
            "backward compares them with the versions that the graph saved.",
        ),
        "B": Choice(
            "It gives the gradients of the new weights.",
            "Then the result would belong to no function: forward with the old weights, backward with the new ones. "
            "Autograd refuses.",
            "new_weights",
        ),
        "C": Choice(
            "It gives the gradients of the old weights.",
            "It would have to know the old weights, and there is one copy only: the step wrote over it.",
            "old_weights",
        ),
        "D": Choice(
            "It works: step runs under no_grad, so autograd sees nothing of it.",
            "no_grad records no node. It does not hide an edit: the version counter still counts.",
            "hidden_by_no_grad",
        ),
    },
)
