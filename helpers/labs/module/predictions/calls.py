"""Predictions of lab 05, sections 7 and 8. Each question stands in the notebook, above the cell that shows what happens."""

from __future__ import annotations

from helpers.prediction import Choice, Prediction

hooked = Prediction(
    "05.hooked",
    "One pre-hook, two hooks",
    {
        "A": Choice(
            "40",
            "1 + 1 before forward; then the hook that was put in front, + 2; then * 10.",
        ),
        "B": Choice(
            "22",
            "That is the order of registration, * 10 and then + 2. `prepend=True` puts the later one in front.",
            "in_order_of_registration",
        ),
        "C": Choice(
            "20: each hook gets what `forward` gave, and the one that runs last has the last word.",
            "Each hook gets the output as the hooks before it have left it.",
            "hooks_get_forwards_output",
        ),
        "D": Choice(
            "30: a pre-hook must return a tuple of arguments; a bare tensor is none, and changes nothing.",
            "A bare value is wrapped into a tuple of one, and becomes the arguments.",
            "bare_value_dropped",
        ),
    },
)

failed_call = Prediction(
    "05.failed_call",
    "Hooks when forward fails",
    {
        "A": Choice(
            "P; then the ValueError comes out. Hooks behind a failed forward are not called.",
            "That holds for H. `always_call=True` asks for the exception.",
            "no_hook_after_an_error",
        ),
        "B": Choice(
            "P, then A with output None; the result is 5.",
            "A hook cannot swallow the error: what it returns on the way out is dropped.",
            "the_error_is_swallowed",
        ),
        "C": Choice(
            "P, H and A, both with output None; then the ValueError comes out.",
            "Only hooks that were registered with `always_call=True` are called then.",
            "all_hooks_run",
        ),
        "D": Choice(
            "P, then A with output None; then the ValueError comes out.",
            "There is no output yet, so A gets None. Its 5 is dropped, and the first error goes on.",
        ),
    },
)

backward_order = Prediction(
    "05.backward_order",
    "Backward hooks of a first module",
    {
        "A": Choice(
            "b, a, block: from the inside out, as the brackets close.",
            "So it is if x requires grad: the hook then belongs to a node at the input. Here no such node is made.",
            "as_with_a_gradient",
        ),
        "B": Choice(
            "block, b, a",
            "Without a gradient for x there is nothing to wait for at the input, so the block's hook is called at its "
            "output, before the inside has run, with grad_input None.",
        ),
        "C": Choice(
            "b, a; the block's is not called, since x needs no gradient.",
            "It is called, with a warning, and with None in place of the gradient.",
            "not_called",
        ),
        "D": Choice(
            "a, b, block: the order of the forward hooks.",
            "Backward goes the other way: what was called last gets its gradient first.",
            "in_order_of_forward",
        ),
    },
)

traced = Prediction(
    "05.traced",
    "A hook in a trace",
    {
        "A": Choice(
            "It prints the line, and the result is doubled: a traced module keeps its hooks.",
            "It keeps what the hook did to tensors, as operations. The Python function is gone.",
            "hooks_are_kept",
        ),
        "B": Choice(
            "Nothing is printed, and the result is not doubled: tracing records forward only.",
            "Tracing calls the module, hooks and all, and records every operation on the way.",
            "forward_only",
        ),
        "C": Choice(
            "Nothing is printed, and the result is doubled.",
            "The hook ran once, while the trace was made. Its multiplication was recorded like any other; its print "
            "was not.",
        ),
        "D": Choice(
            "The line is printed, and the result is not doubled, since a hook is no part of the graph.",
            "It is the other way round: operations are kept, Python is not.",
            "python_is_kept",
        ),
    },
)

recall_copy = Prediction(
    "05.recall_copy",
    "From lab 02: a module in a worker",
    {
        "A": Choice(
            "From the next batch on: `eval()` sets an attribute of the same object.",
            "In this process. Each worker has its own copy of the dataset, and of the module in it.",
            "same_object",
        ),
        "B": Choice(
            "Never, as long as these workers live.",
            "A worker keeps the copy that it was started with, and persistent workers are started once.",
        ),
        "C": Choice(
            "From the next epoch on.",
            "So it is with `persistent_workers=False`: then each epoch starts workers anew, from the dataset as it "
            "is at that moment.",
            "told_at_each_epoch",
        ),
        "D": Choice(
            "After the batches that were asked for beforehand.",
            "That would hold if the mode were sent along with the indices. Nothing but indices is sent.",
            "sent_with_the_indices",
        ),
    },
)
