"""Exercise 03.square: one node of the graph, with second derivatives and nothing left behind."""

from __future__ import annotations

from helpers.exercise import Exercise
from helpers.labs.autograd.shared import square as parts

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

square.property(
    "x * x, a new tensor of the shape and dtype of x",
    asks=("A new tensor, shape and dtype of x.", "x is left as it is, by forward and by backward."),
)(parts.values)

square.property(
    "one node of its own in the graph, directly above x",
    asks="x * x, as one node of the graph: `Square.apply(x)`.",
    once_right=True,
)(parts.own_node)

square.property(
    "backward edits neither x nor the gradient that comes in",
    asks=("grad_out is not edited.", "x is left as it is, by forward and by backward."),
    once_right=True,
)(parts.backward_edits_nothing)

square.property(
    "the gradient, for any gradient that comes in",
    asks="The gradient of x is 2 * x * grad_out, for every grad_out.",
    once_right=True,
)(parts.gradient)

square.property(
    "the gradient of a sum",
    asks="The gradient of x is 2 * x * grad_out, for every grad_out.",
    once_right=True,
)(parts.expanded_gradient)

square.property(
    "the gradient where x, or what comes in, is 0, very large, very small or infinite",
    asks="The gradient of x is 2 * x * grad_out, for every grad_out.",
    once_right=True,
)(parts.gradient_anywhere)

square.property(
    "two calls do not disturb one another", asks="Each call has an x of its own.", once_right=True
)(parts.two_calls)

square.property(
    "backward runs again, if the graph is retained",
    asks="With `retain_graph=True` backward can run again.",
    once_right=True,
)(parts.backward_again)

square.property(
    "beside x, nothing is kept for backward",
    asks="x is kept by `ctx.save_for_backward`, and nothing is kept but x and the result.",
    once_right=True,
)(parts.nothing_else_kept)

square.property(
    "second derivatives", asks="The gradient can be differentiated again (`gradgradcheck`).", once_right=True
)(parts.second_derivatives)

square.property(
    "gradcheck and gradgradcheck accept it",
    asks="The gradient can be differentiated again (`gradgradcheck`).",
    once_right=True,
)(parts.checked_by_torch)

square.property(
    "an x edited in place before backward raises",
    asks="If x is edited in place before backward, backward raises RuntimeError.",
    once_right=True,
)(parts.edited_before_backward)

square.property(
    "once x and the result are dropped, everything is free",
    asks="The memory of x is free once x and the result are dropped, or once backward has run and x is dropped.",
    once_right=True,
)(parts.freed_with_the_output)

square.property(
    "backward frees what it has used",
    asks="The memory of x is free once x and the result are dropped, or once backward has run and x is dropped.",
    once_right=True,
)(parts.freed_by_backward)
