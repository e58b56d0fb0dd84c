"""Exercise 03.gradient_reversal: the identity, whose gradient is turned round."""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.autograd.shared.functions import (
    Answer,
    called,
    gradients,
    is_tensor,
    kind_of,
    require_own_node,
)

gradient_reversal = Exercise(
    "03.gradient_reversal",
    "The gradient reversed",
    objective="Write a Function with an argument that is no tensor, and return as many gradients as it has arguments.",
    minutes=8,
    difficulty="easy",
    core=False,
    names=("GradientReversal",),
    kind="class",
    hints=[
        "forward changes nothing; backward turns the sign and multiplies. How does backward get to know scale?",
        "A number is no tensor: it may stand on ctx as an attribute. backward returns one value for each argument of "
        "forward, also for the number.",
        "forward: `ctx.scale = scale`, `return x.view_as(x)`. backward: `return -ctx.scale * grad_out, None`.",
    ],
)

SCALES = (0.1, 2.0, -1.5, 0.0, 3)


def drawn(trial: Trial, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=trial.generator, dtype=dtype)


@gradient_reversal.property("the values of x, unchanged")
def values(answer: Answer, trial: Trial) -> None:
    for shape, dtype in [
        ((3, 5), torch.float32),
        ((4, 2, 3), torch.float64),
        ((), torch.float32),
        ((0, 2), torch.float64),
    ]:
        for needs_grad in (False, True):
            x = drawn(trial, *shape, dtype=dtype)
            x = (x.mT if len(shape) > 1 else x).detach().requires_grad_(needs_grad)
            trial.given(
                f"GradientReversal.apply(x, 0.3), x of shape {tuple(x.shape)}, {dtype}, requires_grad={needs_grad}"
            )
            got = called(answer, trial, x, 0.3)
            is_tensor(trial, got)
            plain = x.detach()
            kind = kind_of(got.detach(), negative=-plain, scaled=0.3 * plain, reversed=-0.3 * plain, x=plain)
            trial.equal(got, plain.clone().requires_grad_(needs_grad), observed=(kind, got.requires_grad))


@gradient_reversal.property("one node of its own in the graph, directly above x")
def own_node(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 2, 3).requires_grad_()
    trial.given("GradientReversal.apply(x, 0.3), x a leaf that requires grad")
    got = called(answer, trial, x, 0.3)
    is_tensor(trial, got)
    require_own_node(trial, got, [x])


@gradient_reversal.property("-scale times the gradient that comes in, for any scale")
def gradient(answer: Answer, trial: Trial) -> None:
    for scale in SCALES:
        x, c = drawn(trial, 3, 4).requires_grad_(), drawn(trial, 3, 4)
        trial.given(f"GradientReversal.apply(x, {scale}), x of shape (3, 4), float64; random numbers come in")
        (got,) = gradients(answer, trial, called(answer, trial, x, scale), [x], c.clone())
        trial.true(got is not None, "x gets no gradient at all: None.", observed="None")
        kind = kind_of(
            got,
            plus=scale * c,
            without_scale=-c,
            upstream=c,
            ones=torch.full_like(c, -scale),
            zero=0 * c,
            twice=-scale * scale * c,
            near=-float(torch.tensor(scale)) * c,
        )
        trial.equal(got, -scale * c, "The gradient of x", observed=(scale, kind))


@gradient_reversal.property("two calls, each with its own scale")
def two_calls(answer: Answer, trial: Trial) -> None:
    x, y, c = drawn(trial, 3, 4).requires_grad_(), drawn(trial, 3, 4).requires_grad_(), drawn(trial, 3, 4)
    trial.given(
        "a call with scale 0.5, a call with scale 2, then the backward of the first, then of the second"
    )
    outputs = called(answer, trial, x, 0.5), called(answer, trial, y, 2.0)
    for leaf, output, scale, other in ((x, outputs[0], 0.5, 2.0), (y, outputs[1], 2.0, 0.5)):
        (got,) = gradients(answer, trial, output, [leaf], c)
        kind = kind_of(got, right=-scale * c, other_call=-other * c)
        trial.true(
            kind == "right",
            "The gradient of one call "
            + (
                "uses the scale of the other one."
                if kind == "other_call"
                else "is wrong when two calls are pending."
            ),
            expected=f"-{scale} * grad_out",
            got=got,
            observed=kind,
        )


@gradient_reversal.property("the gradient that comes in is not edited")
def grad_out_left_alone(answer: Answer, trial: Trial) -> None:
    x, c = drawn(trial, 3, 4).requires_grad_(), drawn(trial, 3, 4)
    before = c.clone()
    trial.given("a gradient c of shape (3, 4) that comes in, scale 0.3")
    gradients(answer, trial, called(answer, trial, x, 0.3), [x], c)
    trial.true(
        torch.equal(c, before),
        "After backward, the gradient that came in is another one: backward edited it in place. Other nodes may be "
        "given the same tensor.",
        expected="grad_out as it was",
        got="edited",
        observed="grad_out edited",
    )


@gradient_reversal.property("the gradient can be differentiated again")
def second_derivative(answer: Answer, trial: Trial) -> None:
    x, c, d = drawn(trial, 3, 4).requires_grad_(), drawn(trial, 3, 4).requires_grad_(), drawn(trial, 3, 4)
    trial.given("the gradient c that comes in requires grad, create_graph=True, scale 0.3")
    (plain,) = gradients(answer, trial, called(answer, trial, x, 0.3), [x], c)
    if kind_of(plain, right=-0.3 * c) != "right":
        return  # another property says so
    (first,) = gradients(answer, trial, called(answer, trial, x, 0.3), [x], c, create_graph=True)
    is_tensor(trial, first, "The gradient of x")
    trial.true(
        first.requires_grad,
        "With create_graph=True the gradient of x has no graph: what came in had one, and backward cut it.",
        expected="a gradient that depends on the one that came in",
        got="a gradient that does not require grad",
        observed="no graph",
    )
    try:
        first.backward(d)
    except RuntimeError as error:
        if "once_differentiable" not in str(error):
            raise
        trial.fail(
            "The gradient of x cannot be differentiated again: backward is marked once_differentiable.",
            expected="a second derivative",
            got=str(error),
            observed="once",
        )
    trial.true(
        c.grad is not None, "The gradient of x does not depend on the one that came in.", observed="cut"
    )
    trial.equal(
        c.grad, -0.3 * d, "The second derivative", observed=kind_of(c.grad, plus=0.3 * d, plain=-d, same=d)
    )


@gradient_reversal.property("an in-place edit of the result is refused, or leaves x alone")
def edit_of_the_result(answer: Answer, trial: Trial) -> None:
    leaf = drawn(trial, 3, 4).requires_grad_()
    x = leaf * 1
    before = x.detach().clone()
    trial.given("GradientReversal.apply(x, 0.3).add_(1), as a ReLU(inplace=True) behind it would")
    got = called(answer, trial, x, 0.3)
    is_tensor(trial, got)
    try:
        got.add_(1)
    except RuntimeError as error:
        if "is a view and is being modified inplace" not in str(error):
            raise
        return
    trial.true(
        torch.equal(x.detach(), before),
        "The result was edited in place, nothing was raised, and x has changed, too: both share memory, and torch does "
        "not know that one is a view of the other.",
        expected="a view that torch knows (it refuses the edit), or a copy",
        got="x changed",
        observed="x changed",
    )
