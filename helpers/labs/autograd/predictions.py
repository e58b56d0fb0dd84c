"""Predictions of lab 03. Each question stands in the notebook, above the cell that shows what happens."""

from __future__ import annotations

from helpers.prediction import Choice, Prediction

second_backward = Prediction(
    "03.second_backward",
    "Backward, twice",
    {
        "A": Choice(
            "All four: `backward()` only reads the graph.",
            "It reads the graph and frees what the nodes saved, unless you say `retain_graph=True`. The nodes and "
            "their edges stay, but most of them can no longer compute.",
            "backward_frees_nothing",
        ),
        "B": Choice(
            "None: `backward()` takes the whole graph apart.",
            "The nodes live as long as y does. Only what they saved is freed, and one of the four saved nothing.",
            "backward_frees_the_nodes",
        ),
        "C": Choice(
            "`x + 1` and `2 * x`: both are linear, so their derivative is a constant.",
            "The derivative of 2 * x is a constant, but the node has to keep it: it saved the 2, as a tensor, and "
            "after the first backward it is freed.",
            "linear_saves_nothing",
        ),
        "D": Choice(
            "`x + 1` only.",
            "A second backward fails at a node that saved something. The node of x + 1 saved no tensor: the gradient "
            "goes through it as it came.",
        ),
    },
)

inputs_of_backward = Prediction(
    "03.inputs_of_backward",
    "Backward with a list of inputs",
    {
        "A": Choice(
            "`h.grad` is 12 and `x.grad` stays None.",
            "`inputs` is the full list of who receives a gradient; what is not in it gets none, leaf or not.",
        ),
        "B": Choice(
            "`h.grad` is 12 and `x.grad` is 36: `inputs` adds h to the leaves.",
            "The list replaces the leaves, it does not add to them. (`h.retain_grad()` would add h.)",
            "inputs_are_added",
        ),
        "C": Choice(
            "RuntimeError: h is no leaf.",
            "Any tensor of the graph may stand in the list. The engine captures the gradient that arrives at its edge.",
            "only_leaves_allowed",
        ),
        "D": Choice(
            "Nothing changes: h did not call `retain_grad()`.",
            "The list is enough, `retain_grad` is a different way to the same.",
            "retain_grad_needed",
        ),
    },
)

kept_on_ctx = Prediction(
    "03.kept_on_ctx",
    "A result kept as an attribute of ctx",
    {
        "A": Choice(
            "RuntimeError: torch notices that y was edited.",
            "torch compares version numbers of what was given to `save_for_backward`. Of `ctx.y` it knows nothing.",
            "ctx_is_watched",
        ),
        "B": Choice(
            "1, since ctx holds what y was in forward.",
            "An attribute is a reference to the same tensor, not a copy of it.",
            "ctx_copies",
        ),
        "C": Choice(
            "10, and no error.",
            "ctx.y and y are one tensor, so backward multiplies by the edited values. Nobody compares versions here.",
        ),
        "D": Choice(
            "10, with a warning.",
            "The number is right. But there is nobody who could warn: an attribute of ctx is a plain Python attribute.",
            "somebody_warns",
        ),
    },
)

node_order = Prediction(
    "03.node_order",
    "The order of the nodes",
    {
        "A": Choice(
            "Row by row from the root: `Add`, c's leaf, `Sin`, `Exp`, `Mul`, the leaves a and b.",
            "Rows play no part: a node's number tells when it was made, and Exp was made after Sin.",
            "breadth_first",
        ),
        "B": Choice(
            "The youngest node first, all leaves at the end: `Add`, `Exp`, `Sin`, `Mul`, then c, a, b.",
            "So it is among the operations. But the number of a leaf's node is the largest there is, so it comes as "
            "soon as its gradient is complete.",
            "leaves_last",
        ),
        "C": Choice(
            "One path down to its leaf, then the next: `Add`, `Sin`, `Mul`, a, b, then `Exp`, c.",
            "b is not complete before Exp has run, and whoever goes down one path first would visit it twice.",
            "depth_first",
        ),
        "D": Choice(
            "The youngest node first, a leaf as soon as it is complete: c, `Add`, `Exp`, `Sin`, `Mul`, then a, b.",
            "Ready nodes wait in a heap with the highest sequence number on top. The node of a leaf has 2**64 - 1, so "
            "its gradient is written as early as possible: that is when optimizers and DDP can start on it.",
        ),
    },
)

retained_hook = Prediction(
    "03.retained_hook",
    "A hook after retain_grad",
    {
        "A": Choice(
            "12: `retain_grad` came first, so it stores the gradient before the hook doubles it.",
            "Hooks run in the order in which they were added, but `retain_grad` is an exception: it comes last, "
            "whenever it was called.",
            "in_order_of_calls",
        ),
        "B": Choice(
            "24: what `retain_grad` stores is what flows on.",
            "Since torch 2.0 `retain_grad` runs after all hooks of the tensor, so h.grad is what h's node gets.",
        ),
        "C": Choice(
            "12 in `h.grad`, since hooks change only what flows on, not what is stored.",
            "It happened to be so in older versions if retain_grad was called first. Today the stored gradient is the "
            "one that flows on.",
            "stored_is_untouched",
        ),
        "D": Choice(
            "None: h is no leaf, so `.grad` stays empty.",
            "Without `retain_grad` it would. That is what it is for.",
            "non_leaf_has_none",
        ),
    },
)

marked_penalty = Prediction(
    "03.marked_penalty",
    "A penalty through once_differentiable",
    {
        "A": Choice(
            "30: both y and the penalty reach x.",
            "That is the right derivative, and what you get without the decorator. With it, g is a constant here.",
            "decorator_is_free",
        ),
        "B": Choice(
            "RuntimeError: the backward is marked `once_differentiable`.",
            "The mark makes an error only where the gradient that comes into the backward itself requires grad. Here a "
            "plain 1 comes in, so the result is a plain tensor, and nothing is left to raise.",
            "always_raises",
        ),
        "C": Choice(
            "24: only the penalty reaches x.",
            "It is the other way round: y reaches x, the penalty does not.",
            "only_penalty",
        ),
        "D": Choice(
            "6: only y reaches x.",
            "The penalty counts for nothing, and nobody says so: g has no graph behind it, so g ** 2 is a constant in "
            "the sum. Ask `g.requires_grad` before you trust it.",
        ),
    },
)

edited_result = Prediction(
    "03.edited_result",
    "The result is edited",
    {
        "A": Choice(
            "`h.exp()`",
            "The derivative of exp is exp itself, so the node keeps the result: editing it is caught.",
            "exp_keeps_its_input",
        ),
        "B": Choice(
            "`h.sigmoid()`",
            "The derivative is y (1 - y), computed from the result: that is what the node keeps.",
            "sigmoid_keeps_its_input",
        ),
        "C": Choice(
            "`F.leaky_relu(h)`",
            "Its node keeps the input. The result is needed by nobody, so it may be edited.",
        ),
        "D": Choice(
            "`h.relu()`, since `relu_` in place is allowed.",
            "relu may overwrite its *input*, because its node keeps the result. Editing the result afterwards is "
            "just what it cannot bear.",
            "relu_bears_all",
        ),
    },
)

edited_input = Prediction(
    "03.edited_input",
    "The input is edited",
    {
        "A": Choice(
            "`h * h`",
            "The gradient of each factor is the other factor, so h is kept, twice.",
            "product_keeps_nothing",
        ),
        "B": Choice(
            "`h.max(0).values`",
            "Its node keeps the place of the maximum, an index: the gradient goes there. What h holds afterwards does not "
            "matter to it.",
        ),
        "C": Choice(
            "`h ** 1`, since its derivative is 1.",
            "The node of pow is the same for every exponent: it keeps its input, whether it needs it or not.",
            "pow_looks_at_the_exponent",
        ),
        "D": Choice(
            "`h.clamp(0)`, since the derivative is 0 or 1.",
            "Which of the two it is, is seen from the input: the node keeps it.",
            "clamp_keeps_the_mask",
        ),
    },
)

through_data = Prediction(
    "03.through_data",
    "An edit through .data",
    {
        "A": Choice(
            "None: backward raises a RuntimeError, since y was saved and edited.",
            "Through `.detach()` it would: that counts its edits on the version counter that it shares with y. `.data` has a "
            "counter of its own, so nobody sees the edit.",
            "data_is_watched",
        ),
        "B": Choice(
            "0.25: the edit is not part of the graph.",
            "It is not in the graph, but in the memory of y. The node kept y and no copy of it, and computes y (1 - y) from "
            "what stands there now.",
            "saved_is_a_copy",
        ),
        "C": Choice(
            "0, and no error.",
            "The node computes y (1 - y) from the edited y, which is 1. `.data` has a version counter of its own, so that "
            "nobody notices. Through `.detach()` backward raises: it shares the counter.",
        ),
        "D": Choice(
            "0.5: the factor of 2 counts as well.",
            "Nothing that is done through `.data` is recorded, so no factor stands in the graph. What changed is the y that "
            "the node of sigmoid kept.",
            "edit_is_recorded",
        ),
    },
)

recall_masks = Prediction(
    "03.recall_masks",
    "From lab 01: the masks of the second run",
    {
        "A": Choice(
            "The same masks, and b is a new number, as it would be without a second run.",
            "The masks are the same. But the second run leaves the generator where the first one left it, and from there "
            "a was drawn. For a new number its present state must be put back after the second run.",
            "generator_goes_on",
        ),
        "B": Choice(
            "The same masks, and b is a.",
            "The second run draws what the first one drew, and ends where that ended: what was drawn in between is drawn "
            "once more. So a second state is needed, that of the present, to be put back afterwards.",
        ),
        "C": Choice(
            "Different masks, since a was drawn in between.",
            "What was drawn in between does not matter: set_rng_state takes the generator back to before the first run.",
            "state_is_moved",
        ),
        "D": Choice(
            "The same masks, and b is what the first run drew first.",
            "The state that was set is only where the second run begins. It draws, too, and moves the generator on.",
            "state_stays",
        ),
    },
)
