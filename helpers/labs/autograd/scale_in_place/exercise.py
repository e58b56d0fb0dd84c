"""Exercise 03.scale_in_place: an edit that autograd is told of."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.autograd.shared.functions import (
    Answer,
    called,
    counted_memory,
    gradients,
    gradients_unless_edited,
    is_tensor,
    kind_of,
)

scale_in_place = Exercise(
    "03.scale_in_place",
    "In place, and autograd knows",
    objective="Write a Function that edits its input, with gradients that are right through every name of that input.",
    minutes=20,
    difficulty="medium",
    core=False,
    names=("ScaleInPlace",),
    kind="class",
    hints=[
        "After the call, two names lead to the edited tensor: the result and x. What has to happen to x's grad_fn, and "
        "who tells torch that x was edited?",
        "`ctx.mark_dirty(x)`, and return x itself. The gradient of scale needs x as it was before the edit: so something "
        "must be copied, but only if `ctx.needs_input_grad[1]`.",
        "forward: `before = x.clone() if ctx.needs_input_grad[1] else None`, `ctx.save_for_backward(scale, before)`, "
        "`ctx.mark_dirty(x)`, `return x.mul_(scale)`. backward, once_differentiable: `grad_out * scale` and "
        "`(grad_out * before).sum()`, or None.",
    ],
)

SCALES = (2.5, -0.3, 0.0)


def drawn(trial: Trial, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=trial.generator, dtype=dtype)


def a_scale(value: float, needs_grad: bool = False, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.tensor(value, dtype=dtype, requires_grad=needs_grad)


def scaled(answer: Answer, trial: Trial, x: Tensor, scale: Tensor) -> Tensor:
    """`answer.apply(x, scale)`, which may edit x but not scale; the result is x itself."""
    before = scale.detach().clone()
    got = called(answer, trial, x, scale, watched=False)
    is_tensor(trial, got)
    trial.true(torch.equal(scale.detach(), before), "The answer changed scale.", observed="scale changed")
    return got


@scale_in_place.property("x itself is scaled and comes back: nothing to do with gradients yet")
def values(answer: Answer, trial: Trial) -> None:
    for shape, dtype in [
        ((3, 5), torch.float32),
        ((4, 2, 3), torch.float64),
        ((), torch.float64),
        ((0, 2), torch.float32),
    ]:
        x = drawn(trial, *shape, dtype=dtype)
        x = x.mT if len(shape) > 1 else x
        want = x * 0.3
        trial.given(
            f"ScaleInPlace.apply(x, torch.tensor(0.3)), x of shape {tuple(x.shape)}, {dtype}, no gradients"
        )
        _is_x(trial, scaled(answer, trial, x, a_scale(0.3, dtype=dtype)), x, want)


@scale_in_place.property("x itself is scaled and comes back, also where gradients are needed")
def values_with_gradients(answer: Answer, trial: Trial) -> None:
    for x_needs, scale_needs in ((True, False), (True, True), (False, True)):
        x = drawn(trial, 3, 4).requires_grad_(x_needs) * 1
        want = x.detach() * 0.3
        trial.given(f"x {_needs(x_needs)}, scale {_needs(scale_needs)}")
        got = scaled(answer, trial, x, a_scale(0.3, scale_needs))
        _is_x(trial, got, x, want)
        trial.true(
            got.requires_grad,
            "The result does not require grad, although an argument does.",
            expected="requires_grad=True",
            got="requires_grad=False",
            observed="off the graph",
        )


def _needs(grad: bool) -> str:
    return "requires grad" if grad else "requires no grad"


def _is_x(trial: Trial, got: Tensor, x: Tensor, want: Tensor) -> None:
    plain = x.detach()
    kind = kind_of(got.detach(), scaled=want, x_unscaled=want / 0.3)
    trial.equal(got.detach(), want, observed=("value", kind))
    trial.true(
        bool(torch.allclose(plain, want)),
        "The result is right, and x itself is not scaled.",
        expected="x *= scale",
        got="x as it was" if torch.allclose(plain, want / 0.3) else plain,
        observed="x not edited",
    )
    trial.true(
        got is x,
        "The result is another tensor than x.",
        expected="x itself: `result is x`",
        got="a view of x" if got.data_ptr() == x.data_ptr() and x.numel() else "other memory",
        observed=("not x", got.data_ptr() == x.data_ptr()),
    )


@scale_in_place.property("the gradient of x's history, through the result")
def gradient_of_x(answer: Answer, trial: Trial) -> None:
    _compare_gradient_of_x(answer, trial, lambda got, x: got, "ScaleInPlace.apply(x, scale)")


@scale_in_place.property("the gradient of x's history, through x, the old name")
def gradient_by_the_old_name(answer: Answer, trial: Trial) -> None:
    _compare_gradient_of_x(answer, trial, lambda got, x: x, "x, after ScaleInPlace.apply(x, scale)")


def _compare_gradient_of_x(
    answer: Answer, trial: Trial, used: Callable[[Tensor, Tensor], Tensor], name: str
) -> None:
    for value in SCALES:
        leaf, c = drawn(trial, 3, 4).requires_grad_(), drawn(trial, 3, 4)
        x = leaf.clone()
        trial.given(f"x = leaf.clone(), scale {value}; random numbers come in at {name}")
        got = scaled(answer, trial, x, a_scale(value))
        (slope,) = gradients(answer, trial, used(got, x), [leaf], c.clone())
        trial.true(slope is not None, "The leaf gets no gradient: None.", observed="None")
        kind = kind_of(slope, unscaled=c, ones=torch.full_like(c, value), twice=value * value * c)
        trial.equal(slope, value * c, "The gradient of the leaf", observed=(value, kind))


@scale_in_place.property("the gradient of scale, also for scale 0")
def gradient_of_scale(answer: Answer, trial: Trial) -> None:
    for value in SCALES:
        for x_needs in (True, False):
            leaf, c, scale = (
                drawn(trial, 3, 4).requires_grad_(x_needs),
                drawn(trial, 3, 4),
                a_scale(value, True),
            )
            trial.given(f"scale = {value} requires grad, x {_needs(x_needs)}; random numbers come in")
            got = scaled(answer, trial, leaf * 1, scale)
            (slope,) = gradients(answer, trial, got, [scale], c.clone())
            trial.true(
                slope is not None,
                "scale requires grad and gets none: None counts as 0, and a scale that is a parameter never learns.",
                expected="(grad_out * x_before).sum()",
                got="None",
                observed="None",
            )
            with torch.no_grad():
                right = (c * leaf).sum()
                kind = kind_of(
                    slope,
                    edited_x=right * value,
                    ones=leaf.sum(),
                    mean=(c * leaf).mean(),
                    nan=torch.tensor(torch.nan, dtype=c.dtype),
                )
            trial.equal(slope, right, "The gradient of scale", observed=(value, kind))


@scale_in_place.property("x may be a part of a larger tensor, whose gradient is right, too")
def part_of_another(answer: Answer, trial: Trial) -> None:
    leaf, c = drawn(trial, 3, 4).requires_grad_(), drawn(trial, 3, 4)
    whole = leaf.clone()
    trial.given("whole = leaf.clone(); ScaleInPlace.apply(whole[1:], 0.3); random numbers come in at whole")
    scaled(answer, trial, whole[1:], a_scale(0.3))
    factor = torch.tensor([[1.0], [0.3], [0.3]], dtype=c.dtype)
    trial.equal(whole.detach(), leaf.detach() * factor, "The larger tensor", observed="whole")
    (slope,) = gradients(answer, trial, whole, [leaf], c)
    trial.true(slope is not None, "The leaf gets no gradient: None.", observed="None")
    kind = kind_of(slope, unscaled=c)
    trial.equal(slope, c * factor, "The gradient of the leaf", observed=kind)


@scale_in_place.property("twice in a row")
def twice(answer: Answer, trial: Trial) -> None:
    leaf, c = drawn(trial, 3, 4).requires_grad_(), drawn(trial, 3, 4)
    one, two = a_scale(0.3, True), a_scale(-2.0, True)
    trial.given("ScaleInPlace.apply(ScaleInPlace.apply(x, one), two), both scales require grad")
    got = scaled(answer, trial, scaled(answer, trial, leaf * 1, one), two)
    slopes = gradients(answer, trial, got, [leaf, one, two], c)
    with torch.no_grad():
        rights = (-0.6 * c, -2.0 * (c * leaf).sum(), 0.3 * (c * leaf).sum())
    for name, slope, right in zip(
        ("the leaf", "the first scale", "the second scale"), slopes, rights, strict=True
    ):
        trial.true(slope is not None, f"No gradient for {name}: None.", observed=(name, "None"))
        trial.equal(slope, right, f"The gradient of {name}", observed=(name, "value"))


@scale_in_place.property("whoever had saved x before the edit raises")
def saved_by_another(answer: Answer, trial: Trial) -> None:
    leaf = drawn(trial, 3, 4).requires_grad_()
    x = leaf.clone()
    trial.given(
        "before = x * x, which saves x; then ScaleInPlace.apply(x, 0.3); then before.sum().backward()"
    )
    before = x * x
    scaled(answer, trial, x, a_scale(0.3))
    trial.true(
        gradients_unless_edited(answer, trial, before.sum(), [leaf]) is None,
        "x * x had saved x, x was edited, and its backward went through: torch was not told of the edit.",
        expected="RuntimeError: ... has been modified by an inplace operation",
        got="a gradient, silently wrong",
        observed="edit not seen",
    )


@scale_in_place.property("a leaf that requires grad is refused")
def leaf_refused(answer: Answer, trial: Trial) -> None:
    trial.given("ScaleInPlace.apply(x, 0.3), x a leaf that requires grad, as parameters are")
    x = drawn(trial, 3, 4).requires_grad_()
    trial.raises(
        RuntimeError, lambda: scaled(answer, trial, x, a_scale(0.3)), "for a leaf that requires grad"
    )


@scale_in_place.property("a scale edited in place before backward does not give wrong gradients")
def edited_scale(answer: Answer, trial: Trial) -> None:
    leaf, scale = drawn(trial, 3, 4).requires_grad_(), a_scale(0.3)
    trial.given("scale.add_(1) between apply and backward, as an optimizer's step does")
    got = scaled(answer, trial, leaf * 1, scale)
    scale.add_(1)
    slopes = gradients_unless_edited(answer, trial, got, [leaf], torch.ones(3, 4, dtype=torch.float64))
    used = slopes and kind_of(slopes[0], new=torch.full((3, 4), 1.3), old=torch.full((3, 4), 0.3))
    trial.true(
        used != "new",
        "scale was edited after the forward, and backward went through with the edited scale.",
        expected="RuntimeError: ... has been modified by an inplace operation",
        got="the gradient of another forward, silently wrong",
        observed=used,
    )


@scale_in_place.property("where scale needs no gradient, no copy of x is kept")
def no_copy(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 6, 50).requires_grad_() * 1
    trial.given("x of 2400 bytes, scale requires no grad; what lives on between forward and backward")
    with counted_memory() as kept:
        got = scaled(answer, trial, x, a_scale(0.3))
        extra = kept(x, got)
    trial.true(
        extra < 1000,
        f"Between forward and backward, {extra:,} bytes live on beside x: a copy that only the gradient of scale would "
        "need.",
        expected="no memory of the size of x",
        got=f"{extra:,} bytes",
        observed="copy kept",
    )


@scale_in_place.property("a second derivative raises or is right")
def second_derivative(answer: Answer, trial: Trial) -> None:
    leaf, scale, c = drawn(trial, 3, 4).requires_grad_(), a_scale(0.3, True), drawn(trial, 3, 4)
    trial.given("loss + (gradient of scale) ** 2, loss = (c * ScaleInPlace.apply(x, scale) ** 2).sum()")

    first = gradients(answer, trial, scaled(answer, trial, leaf * 1, scale), [leaf, scale], c)
    rights = torch.autograd.grad(leaf * scale, [leaf, scale], c)
    if any(
        slope is None or not torch.allclose(slope, right) for slope, right in zip(first, rights, strict=True)
    ):
        return  # other properties say so

    def slopes(ask: Callable[[], Tensor]) -> tuple[Tensor | None, Tensor | None]:
        leaf.grad = scale.grad = None
        loss = (c * ask() ** 2).sum()
        grads = torch.autograd.grad(loss, [leaf, scale], create_graph=True, allow_unused=True)
        (loss + sum(g.square().sum() for g in grads if g is not None)).backward()
        return leaf.grad, scale.grad

    try:
        got = slopes(lambda: scaled(answer, trial, leaf * 1, scale))
    except NotImplementedError:
        raise
    except RuntimeError:
        return
    for name, slope, right in zip(("x", "scale"), got, slopes(lambda: leaf * scale), strict=True):
        trial.true(
            slope is not None and bool(torch.allclose(slope, right)),
            f"Under a gradient penalty the gradient of {name} is silently wrong: what backward uses of forward is neither "
            "its input nor its output, and counts as a constant.",
            expected="the right gradient, or an error: mark backward with @once_differentiable",
            got=slope,
            observed=(name, "silently wrong"),
        )
