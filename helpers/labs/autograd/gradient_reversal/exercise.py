"""Exercise 03.gradient_reversal: the identity, whose gradient is turned round."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from helpers.check.compare import difference, shown
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.autograd.shared.functions import (
    Answer,
    called,
    counted_memory,
    differentiated_again,
    gradients,
    is_tensor,
    kind_of,
    left_alone,
    memory_of,
    no_collection,
    require_own_node,
    run_backward,
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

SCALES = (0.1, 2.0, -1.5, 0.0, 3, 1.0, -1)


def drawn(trial: Trial, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=trial.generator, dtype=dtype)


SAME_VALUES = "The values of x, as a view (`x.view_as(x)`) or a copy."
OF_X = "The gradient of x is -scale * grad_out, that of scale is None."
OF_ANY_SIGN = "scale: a Python number, int or float, of any sign; 0, too."


@gradient_reversal.property("the values of x, unchanged", asks=(SAME_VALUES, "x is not edited."))
def values(answer: Answer, trial: Trial) -> None:
    xs = [
        drawn(trial, *shape, dtype=dtype)
        for shape, dtype in (
            ((3, 5), torch.float32),
            ((4, 2, 3), torch.float64),
            ((), torch.float32),
            ((0, 2), torch.float64),
            ((4,), torch.float16),
            ((4,), torch.bfloat16),
        )
    ]
    for x in xs:
        for needs_grad in (False, True):
            x = (x.mT if x.dim() > 1 else x).detach().requires_grad_(needs_grad)
            laid = ", transposed: not contiguous" if x.dim() > 1 and x.numel() else ""
            trial.given(f"GradientReversal.apply(x, 0.3), x {shown(x)}{laid}, requires_grad={needs_grad}")
            got = called(answer, trial, x, 0.3)
            is_tensor(trial, got)
            plain = x.detach()
            if found := difference(got, plain.clone().requires_grad_(needs_grad)):
                kind = kind_of(
                    got.detach(), x=plain, negative=-plain, scaled=0.3 * plain, reversed=-0.3 * plain
                )
                trial.equal(got, plain.clone().requires_grad_(needs_grad), observed=(found.kind, kind))


@gradient_reversal.property(
    "one node of its own in the graph, directly above x",
    asks="x forward, -scale * grad_out backward, as one node of the graph: `GradientReversal.apply(x, scale)`.",
    once_right=True,
)
def own_node(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 2, 3).requires_grad_()
    trial.given("GradientReversal.apply(x, 0.3), x a leaf that requires grad")
    got = called(answer, trial, x, 0.3)
    is_tensor(trial, got)
    require_own_node(trial, got, [x])


@gradient_reversal.property(
    "the gradient that comes in is not edited", asks="grad_out is not edited.", once_right=True
)
def grad_out_left_alone(answer: Answer, trial: Trial) -> None:
    for scale in (0.3, 2.0, 1.0, -1.0, 0.0):
        x, c = drawn(trial, 2, 3).requires_grad_(), drawn(trial, 2, 3)
        before = c.clone()
        trial.given(f"a gradient c of shape (2, 3) that comes in, scale {scale}")
        try:
            output = called(answer, trial, x, scale)
        except (ValueError, TypeError, AssertionError):
            continue  # the next property says which numbers are refused
        run_backward(answer, trial, output, [x], c)
        left_alone(trial, c, before, "grad_out")


@gradient_reversal.property(
    "-scale times the gradient that comes in, for any scale", asks=(OF_X, OF_ANY_SIGN), once_right=True
)
def gradient(answer: Answer, trial: Trial) -> None:
    cases = [(scale, (3, 4), torch.float64) for scale in SCALES]
    cases += [
        (2.0, (), torch.float64),
        (0.5, (4,), torch.float16),
        (0.1, (0, 3), torch.float64),
        (0.1, (5,), torch.float32),
        (0.12345678, (4,), torch.float64),
        (1e-5, (4,), torch.float64),
        (250.0, (4,), torch.float64),
    ]
    for scale, shape, dtype in cases:
        x, c = drawn(trial, *shape, dtype=dtype).requires_grad_(), drawn(trial, *shape, dtype=dtype)
        trial.given(
            f"GradientReversal.apply(x, {scale}), x of shape {shape}, {dtype}; random numbers come in"
        )
        try:
            (got,) = gradients(answer, trial, called(answer, trial, x, scale), [x], c.clone())
        except (ValueError, TypeError, AssertionError) as error:
            if scale == SCALES[0]:
                raise
            trial.fail(
                f"With scale {scale} an error came, and with {SCALES[0]} none.",
                expected=f"-{scale} * grad_out, and no error"
                if scale >= 0
                else f"{-scale} * grad_out, and no error",
                got=f"{type(error).__name__}: {error}",
                observed=(scale, "raised"),
            )
        trial.true(
            got is not None,
            "x gets no gradient at all: backward returned None for it.",
            expected=f"-{scale} * grad_out",
            got="None",
            observed=(scale, "None"),
        )
        kind = kind_of(
            got,
            plus=scale * c,
            without_scale=-c,
            upstream=c,
            ones=torch.full_like(c, -scale),
            zero=0 * c,
            twice=-scale * scale * c,
            times_x=-scale * c * x.detach(),
            divided=-c / scale if scale else c,
            subtracted=c - scale,
            clipped=-scale * c.clamp(-1, 1),
            clipped_after=(-scale * c).clamp(-1, 1),
            signs=-scale * c.sign(),
            schedule=-(2 / (1 + math.exp(-10 * scale)) - 1) * c,
            near=-scale * c,
        )
        trial.equal(
            got.detach(), -scale * c, f"With scale {scale}, the gradient of x", observed=(scale, kind)
        )


@gradient_reversal.property(
    "-scale times what comes in, also where that is infinite, nan, very large or very small",
    asks=OF_X,
    once_right=True,
)
def gradient_anywhere(answer: Answer, trial: Trial) -> None:
    c = torch.tensor([[torch.inf, 1e30, 1e-30, 0.0], [torch.nan, -1e30, -torch.inf, 2.0]])
    for scale, values in ((0.5, [1.0, -2.0, torch.inf, torch.nan, 0.0, 1e30, 3.0, 1.0]), (0.0, [1.0] * 8)):
        x = torch.tensor(values).view(4, 2).t().requires_grad_()
        trial.given(
            f"GradientReversal.apply(x, {scale}), x = {x.tolist()}, float32, and the gradient that comes in is "
            f"{c.tolist()}; neither is contiguous"
        )
        strided = c.t().contiguous().t()
        (got,) = gradients(answer, trial, called(answer, trial, x, scale), [x], strided)
        want = -scale * c
        same_shape = got is not None and got.shape == want.shape
        rights = torch.isclose(got, want, atol=0, equal_nan=True).flatten().tolist() if same_shape else []
        finite = [
            each for each, number in zip(rights, c.flatten().tolist(), strict=False) if abs(number) < 1e38
        ]
        trial.equal(
            got if got is None else got.detach(),
            want,
            "The gradient of x",
            atol=0,
            observed="only what is infinite or nan" if rights and all(finite) else (scale, rights),
        )


@gradient_reversal.property(
    "two calls, each with its own scale", asks="Each call has a scale of its own.", once_right=True
)
def two_calls(answer: Answer, trial: Trial) -> None:
    for order in ((0, 1), (1, 0)):
        xs, c = [drawn(trial, 2, 3).requires_grad_() for _ in range(2)], drawn(trial, 2, 3)
        scales = (0.5, 2.0)
        trial.given(
            "a call with scale 0.5, a call with scale 2, then the backward of the "
            + ("first, then of the second" if order == (0, 1) else "second, then of the first")
        )
        outputs = [called(answer, trial, x, scale) for x, scale in zip(xs, scales, strict=True)]
        for at in order:
            scale, other = scales[at], scales[1 - at]
            (got,) = gradients(answer, trial, outputs[at], [xs[at]], c)
            kind = kind_of(got, right=-scale * c, other_call=-other * c)
            trial.true(
                kind == "right",
                f"The gradient of the call with scale {scale} "
                + (
                    f"uses {other}, the scale of the other call."
                    if kind == "other_call"
                    else "is wrong when two calls are pending."
                ),
                expected=f"-{scale} * grad_out: {shown(-scale * c)}",
                got=got,
                observed=kind,
            )
    x, c = drawn(trial, 2, 3).requires_grad_(), drawn(trial, 2, 3)
    trial.given("two heads on one x: a call with scale 0.5, a call with scale 2, then the backward of both")
    outputs = [called(answer, trial, x, scale) for scale in (0.5, 2.0)]
    (got,) = gradients(answer, trial, outputs[0] + outputs[1], [x], c)
    kind = kind_of(got, first=-1.0 * c, last=-4.0 * c)
    trial.equal(got, -2.5 * c, "The gradient of the x of both calls", observed=("one x", kind))


@gradient_reversal.property(
    "the gradient can be differentiated again", asks="It can be differentiated again.", once_right=True
)
def second_derivative(answer: Answer, trial: Trial) -> None:
    x, c, d = drawn(trial, 2, 3).requires_grad_(), drawn(trial, 2, 3).requires_grad_(), drawn(trial, 2, 3)
    trial.given("the gradient c that comes in requires grad, create_graph=True, scale 0.3")
    (first,) = gradients(answer, trial, called(answer, trial, x, 0.3), [x], c, create_graph=True)
    (got,) = differentiated_again(trial, first, [c], d)
    trial.equal(got, -0.3 * d, "The second derivative")


@gradient_reversal.property(
    "an in-place edit of the result is refused, or leaves x alone",
    asks="Where x requires grad, an edit of it is refused by torch, or leaves x alone.",
    once_right=True,
)
def edit_of_the_result(answer: Answer, trial: Trial) -> None:
    for layout in ("contiguous", "transposed"):
        leaf = drawn(trial, 3, 4).requires_grad_()
        x = leaf * 1
        _edited(answer, trial, x if layout == "contiguous" else x.t(), layout)


def _edited(answer: Answer, trial: Trial, x: Tensor, layout: str) -> None:
    before = x.detach().clone()
    trial.given(
        f"GradientReversal.apply(x, 0.3).add_(1), as a ReLU(inplace=True) behind it would; x {layout}"
    )
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


@gradient_reversal.property(
    "beside the number, nothing is kept for backward",
    asks="Nothing is kept for backward but the number: the memory of x, and that of the result, is free as soon as the "
    "caller lets go of both.",
    once_right=True,
)
def nothing_kept(answer: Answer, trial: Trial) -> None:
    leaf = drawn(trial, 6, 50).requires_grad_()
    trial.given("x of 2400 bytes and the result are dropped; what was computed of the result is kept")
    with no_collection():
        x = leaf * 1
        with counted_memory() as kept:
            output = called(answer, trial, x, 0.3)
            is_tensor(trial, output)
            extra = kept(x, output)
        of_x, of_output = memory_of(x), memory_of(output)
        later = output + 1
        del x, output
        held = [name for name, ref in (("x", of_x), ("the result", of_output)) if not ref.expired()]
        del later
    trial.true(
        not held and extra < 100,
        "Between forward and backward "
        + (
            f"the memory of {' and '.join(held)} is held"
            if held
            else f"{extra:,} bytes beside the result are held"
        )
        + ", and backward needs the number only.",
        expected="nothing but the number",
        got=" and ".join(held) or f"{extra:,} bytes",
        observed=held or "memory held",
    )
