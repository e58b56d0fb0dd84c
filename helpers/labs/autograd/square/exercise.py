"""Exercise 03.square: one node of the graph, with second derivatives and nothing left behind."""

from __future__ import annotations

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.autograd.shared import square as parts
from helpers.labs.autograd.shared.functions import Answer

square = Exercise(
    "03.square",
    "A node of your own",
    objective="Write a Function whose backward is right for every gradient that comes in, can be differentiated again, "
    "and keeps only what torch can check and free.",
    minutes=15,
    difficulty="easy",
    names=("Square",),
    kind="class",
    hints=[
        "backward is given the gradient of the loss by the output, and returns the gradient of the loss by x. What "
        "stands between the two?",
        "What backward needs of forward goes through `ctx.save_for_backward`: x itself, because only inputs and outputs "
        "are still connected to the graph when backward is differentiated.",
        "forward: `ctx.save_for_backward(x)`, then `x * x`. backward: `(x,) = ctx.saved_tensors`, then "
        "`grad_out * 2 * x`.",
    ],
)


@square.property("x * x, a new tensor of the shape and dtype of x")
def values(answer: Answer, trial: Trial) -> None:
    parts.values(answer, trial)


square.property("one node of its own in the graph, directly above x")(parts.own_node)
square.property("the gradient, for any gradient that comes in")(parts.gradient)
square.property("the gradient that comes in is not edited")(parts.grad_out_left_alone)
square.property("the gradient of a sum")(parts.expanded_gradient)
square.property("second derivatives")(parts.second_derivatives)
square.property("gradcheck and gradgradcheck accept it")(parts.checked_by_torch)
square.property("an x edited in place before backward raises")(parts.edited_before_backward)
square.property("two calls do not disturb one another")(parts.two_calls)
square.property("beside x, nothing is kept for backward")(parts.nothing_else_kept)
square.property("the end of the result frees everything")(parts.freed_with_the_output)
square.property("backward frees what it has used")(parts.freed_by_backward)
