"""Exercise 03.scale_in_place: an edit that autograd is told of."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.check.compare import shown
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
    left_alone,
    require_node,
    run_backward,
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

SCALES = (2.5, -0.3, 0.0, 1.0)
CASES = [(scale, (3, 4)) for scale in SCALES] + [(2.5, shape) for shape in ((), (5,), (2, 3, 2), (0, 3))]


def drawn(trial: Trial, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=trial.generator, dtype=dtype)


def a_scale(value: float, needs_grad: bool = False, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.tensor(value, dtype=dtype, requires_grad=needs_grad)


def scaled(answer: Answer, trial: Trial, x: Tensor, scale: Tensor) -> Tensor:
    """`answer.apply(x, scale)`, which may edit x but not scale; the result is x itself."""
    before = scale.detach().clone()
    got = called(answer, trial, x, scale, watched=False)
    is_tensor(trial, got)
    trial.true(
        torch.equal(scale.detach(), before),
        "The answer changed scale.",
        expected=before,
        got=scale.detach(),
        observed="scale changed",
    )
    return got


ITSELF = "x *= scale, in the memory of x: `ScaleInPlace.apply(x, scale)` returns x itself."


@scale_in_place.property(
    "x itself is scaled and comes back: nothing to do with gradients yet",
    asks=(ITSELF, "scale is not edited"),
)
def values(answer: Answer, trial: Trial) -> None:
    xs = [
        drawn(trial, *shape, dtype=dtype)
        for shape, dtype in (
            ((6,), torch.float32),  # first one that is contiguous: who edits this one alone is told apart
            ((3, 5), torch.float32),
            ((4, 2, 3), torch.float64),
            ((), torch.float64),
            ((0, 2), torch.float32),
            ((4,), torch.float16),
        )
    ]
    xs.append(torch.tensor([torch.nan, torch.inf, -1.0, 0.0]))
    for x in xs:
        x = x.mT if x.dim() > 1 else x
        for value in (0.3, -0.3, 0.0, 1.0):
            x, scale = x.clone(), a_scale(value, dtype=x.dtype)
            layout = "" if x.is_contiguous() else ", transposed: not contiguous"
            trial.given(f"ScaleInPlace.apply(x, torch.tensor({value})), x {shown(x)}{layout}, no gradients")
            before, want = x.clone(), x * scale
            _is_x(trial, scaled(answer, trial, x, scale), x, before, want, value)


@scale_in_place.property(
    "x itself is scaled and comes back, also where gradients are needed",
    asks=(ITSELF, "scale is not edited"),
    once_right=True,
)
def values_with_gradients(answer: Answer, trial: Trial) -> None:
    for x_needs, scale_needs in ((True, False), (True, True), (False, True)):
        for value in (0.3, -0.3, 1.0, 0.0):
            _comes_back(answer, trial, value, x_needs, scale_needs)


def _comes_back(answer: Answer, trial: Trial, value: float, x_needs: bool, scale_needs: bool) -> None:
    x = drawn(trial, 3, 4).requires_grad_(x_needs) * 1
    before, want = x.detach().clone(), x.detach() * value
    trial.given(f"x {_needs(x_needs)}, scale = {value} {_needs(scale_needs)}")
    got = scaled(answer, trial, x, a_scale(value, scale_needs))
    _is_x(trial, got, x, before, want, value)
    trial.true(
        got.requires_grad,
        "The result does not require grad, although an argument does.",
        expected="requires_grad=True",
        got="requires_grad=False",
        observed="off the graph",
    )


def _needs(grad: bool) -> str:
    return "requires grad" if grad else "requires no grad"


def _is_x(trial: Trial, got: Tensor, x: Tensor, before: Tensor, want: Tensor, value: float) -> None:
    plain = x.detach()
    kind = kind_of(
        got.detach(),
        scaled=want,
        x_unscaled=before,
        twice=want * value,
        added=before + value,
        divided=before / value if value else before,
        zero=torch.zeros_like(before),
    )
    kind = f"{kind}, not contiguous" if kind == "x_unscaled" and not x.is_contiguous() else kind
    trial.equal(got.detach(), want, observed=("value", kind, value))
    trial.true(
        bool(torch.allclose(plain, want, equal_nan=True)),
        "The result is right, and x itself is not scaled.",
        expected=want,
        got=plain,
        observed=("x not edited", value, x.is_contiguous()),
    )
    trial.true(
        got is x,
        "The result is a different tensor than x.",
        expected="x itself: `result is x`",
        got="a view of x" if got.data_ptr() == x.data_ptr() and x.numel() else "other memory",
        observed=("not x", got.data_ptr() == x.data_ptr(), value),
    )


@scale_in_place.property(
    "the result's node is the Function's own, and leads to what x was made of",
    asks="Its grad_fn is this Function's node.",
    once_right=True,
)
def own_node(answer: Answer, trial: Trial) -> None:
    for scale_needs in (False, True):
        x = drawn(trial, 2, 3).requires_grad_() * 1
        made_by = x.grad_fn
        trial.given(f"x = leaf * 1, scale = 0.3 {_needs(scale_needs)}")
        node = require_node(trial, scaled(answer, trial, x, a_scale(0.3, scale_needs)))
        trial.true(
            node.next_functions[0][0] is made_by,
            "The result's node does not lead straight to the node that x was made by.",
            expected=made_by.name(),
            got=[after and after.name() for after, _ in node.next_functions],
            observed="nodes between",
        )


OF_X = "The gradient of what x was made of is scale * grad_out, through the result and through x."


@scale_in_place.property("the gradient of x's history, through the result", asks=OF_X, once_right=True)
def gradient_of_x(answer: Answer, trial: Trial) -> None:
    _compare_gradient_of_x(answer, trial, lambda got, x: got, "ScaleInPlace.apply(x, scale)")


@scale_in_place.property("the gradient of x's history, through x, the old name", asks=OF_X, once_right=True)
def gradient_by_the_old_name(answer: Answer, trial: Trial) -> None:
    _compare_gradient_of_x(answer, trial, lambda got, x: x, "x, after ScaleInPlace.apply(x, scale)")


def _compare_gradient_of_x(
    answer: Answer, trial: Trial, used: Callable[[Tensor, Tensor], Tensor], name: str
) -> None:
    for value, shape in CASES:
        leaf, c = drawn(trial, *shape).requires_grad_(), drawn(trial, *shape)
        x = leaf.clone()
        trial.given(
            f"x = leaf.clone() of shape {shape}, scale {value}, which needs no gradient; random numbers come in at {name}"
        )
        got = scaled(answer, trial, x, a_scale(value))
        (slope,) = gradients(answer, trial, used(got, x), [leaf], c.clone())
        trial.true(
            slope is not None,
            "The leaf, which x was made of, gets no gradient.",
            expected="scale * grad_out",
            got="None",
            observed="None",
        )
        kind = kind_of(
            slope,
            unscaled=c,
            ones=torch.full_like(c, value),
            twice=value * value * c,
            times_x=c * leaf.detach(),
            divided=c / value if value else c,
            zero=0 * c,
        )
        trial.equal(slope, value * c, f"With scale {value}, the gradient of the leaf", observed=(value, kind))


@scale_in_place.property(
    "the gradient that comes in is not edited", asks="grad_out is not edited.", once_right=True
)
def grad_out_left_alone(answer: Answer, trial: Trial) -> None:
    for scale_needs in (False, True):
        leaf, c = drawn(trial, 2, 3).requires_grad_(), drawn(trial, 2, 3)
        before = c.clone()
        trial.given(f"a gradient c of shape (2, 3) that comes in, scale = 0.3 {_needs(scale_needs)}")
        # Whether backward gets as far as its end is asked elsewhere.
        run_backward(answer, trial, scaled(answer, trial, leaf * 1, a_scale(0.3, scale_needs)), [leaf], c)
        left_alone(trial, c, before, "grad_out")


@scale_in_place.property(
    "the gradient of scale, also for scale 0",
    asks="The gradient of scale is the sum of grad_out * x, x as it was before the call.",
    once_right=True,
)
def gradient_of_scale(answer: Answer, trial: Trial) -> None:
    for value, shape in CASES:
        for x_needs in (True, False):
            leaf, c, scale = (
                drawn(trial, *shape).requires_grad_(x_needs),
                drawn(trial, *shape),
                a_scale(value, True),
            )
            trial.given(
                f"scale = {value} requires grad, x of shape {shape} {_needs(x_needs)}; random numbers come in"
            )
            got = scaled(answer, trial, leaf * 1, scale)
            (slope,) = gradients(answer, trial, got, [scale], c.clone())
            trial.true(
                slope is not None,
                "scale requires grad and gets none: None counts as 0, and a scale that is a parameter never learns.",
                expected="the sum of grad_out * x, x as it was before the call",
                got="None",
                observed=("None", value, x_needs),
            )
            with torch.no_grad():
                right = (c * leaf).sum()
                kind = kind_of(
                    slope,
                    edited_x=right * value,
                    ones=leaf.sum(),
                    mean=(c * leaf).mean(),
                    without_x=c.sum(),
                    like_x=(c * value).sum(),
                    nan=torch.tensor(torch.nan, dtype=c.dtype),
                    zero=0 * right,
                    negative=-right,
                    nearly=right,
                )
            trial.equal(slope, right, f"With scale {value}, its gradient", observed=(value, kind))
    leaf, c, scale = drawn(trial, 3, 4).requires_grad_(), drawn(trial, 4, 3), a_scale(2.5, True)
    trial.given("scale = 2.5 requires grad, x of shape (4, 3), transposed: not contiguous")
    (slope,) = gradients(answer, trial, scaled(answer, trial, (leaf * 1).t(), scale), [scale], c.clone())
    trial.equal(slope, (c * leaf.t()).sum().detach(), "The gradient of scale", observed="strides")


@scale_in_place.property("where both need a gradient, both get theirs", asks=OF_X, once_right=True)
def both_gradients(answer: Answer, trial: Trial) -> None:
    leaf, c, scale = drawn(trial, 2, 3).requires_grad_(), drawn(trial, 2, 3), a_scale(2.5, True)
    trial.given("x and scale = 2.5 require grad; random numbers come in")
    got = gradients(answer, trial, scaled(answer, trial, leaf * 1, scale), [leaf, scale], c.clone())
    trial.true(
        got[0] is not None,
        "x gets no gradient where scale needs one, too: backward returned None for it.",
        expected="scale * grad_out",
        got="None",
        observed="None",
    )
    trial.equal(got[0], 2.5 * c, "The gradient of the leaf", observed=kind_of(got[0], unscaled=c))
    trial.equal(got[1], (c * leaf).sum().detach(), "The gradient of scale", observed="scale")


@scale_in_place.property(
    "x may be a part of a larger tensor, whose gradient is right, too", asks=OF_X, once_right=True
)
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


@scale_in_place.property(
    "twice in a row, and edited again after it", asks=(OF_X, "x may be edited again later."), once_right=True
)
def twice(answer: Answer, trial: Trial) -> None:
    for needs in (False, True):
        leaf, c = drawn(trial, 2, 3).requires_grad_(), drawn(trial, 2, 3)
        one, two = a_scale(0.3, needs), a_scale(-2.0, needs)
        trial.given(
            "ScaleInPlace.apply(ScaleInPlace.apply(x, one), two).add_(1), one = 0.3, two = -2; both "
            + _needs(needs).replace("requires", "require")
        )
        got = scaled(answer, trial, scaled(answer, trial, leaf * 1, one), two)
        got.add_(1)
        slopes = gradients_unless_edited(answer, trial, got, [leaf, one, two] if needs else [leaf], c)
        trial.true(
            slopes is not None,
            "x was edited again, and backward raised: x itself was saved, and backward does not need what it holds now.",
            expected="gradients",
            got="RuntimeError: ... has been modified by an inplace operation",
            observed="saved itself",
        )
        with torch.no_grad():
            sums = (c * leaf).sum()
            rights = (-0.6 * c, -2.0 * sums, 0.3 * sums)
            # With what the second call was given in the first one, and the other way round.
            last, first = (4 * c, -2.0 * 0.3 * sums, None), (0.09 * c, None, sums)
        names = ("the leaf", "the first scale", "the second scale")
        for name, slope, right, *mixed in zip(names, slopes, rights, last, first, strict=False):
            found = {
                word: value for word, value in zip(("last", "first"), mixed, strict=True) if value is not None
            }
            kind = kind_of(slope, **found)
            whose = {"last": " (the first call used what the second was given)"}.get(kind, "")
            trial.equal(slope, right, f"The gradient of {name}{whose}", observed=(name, kind))


@scale_in_place.property(
    "whoever had saved x before the edit raises",
    asks="The backward of whoever had saved x before raises RuntimeError, and a leaf that requires grad is refused "
    "with one (torch does both for an x that is marked).",
    once_right=True,
)
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


@scale_in_place.property(
    "a leaf that requires grad is refused",
    asks="The backward of whoever had saved x before raises RuntimeError, and a leaf that requires grad is refused "
    "with one (torch does both for an x that is marked).",
    once_right=True,
)
def leaf_refused(answer: Answer, trial: Trial) -> None:
    trial.given("ScaleInPlace.apply(x, 0.3), x a leaf that requires grad, as parameters are")
    x = drawn(trial, 3, 4).requires_grad_()
    trial.raises(
        RuntimeError, lambda: scaled(answer, trial, x, a_scale(0.3)), "for a leaf that requires grad"
    )


@scale_in_place.property(
    "a scale edited in place before backward does not give wrong gradients",
    asks="If scale is edited before backward, backward raises RuntimeError, or the gradients are those of the scale "
    "that was used.",
    once_right=True,
)
def edited_scale(answer: Answer, trial: Trial) -> None:
    for scale_needs in (False, True):
        leaf, c = drawn(trial, 2, 3).requires_grad_(), drawn(trial, 2, 3)
        scale = a_scale(0.3, scale_needs)
        trial.given(
            f"scale = 0.3 {_needs(scale_needs)}; scale.add_(1) between apply and backward, as an optimizer does"
        )
        got = scaled(answer, trial, leaf * 1, scale)
        with torch.no_grad():
            scale.add_(1)
        slopes = gradients_unless_edited(answer, trial, got, [leaf], c)
        used = slopes and kind_of(slopes[0], new=1.3 * c, old=0.3 * c)
        trial.true(
            used in (None, "old"),
            "scale was edited after the forward, and backward went through "
            + ("with the edited scale." if used == "new" else "with wrong gradients."),
            expected=f"RuntimeError: ... has been modified by an inplace operation; or 0.3 * grad_out: {shown(0.3 * c)}",
            got=slopes and slopes[0],
            observed=used,
        )


@scale_in_place.property(
    "where scale needs no gradient, no copy of x is kept",
    asks="A copy of x is kept only if scale needs a gradient.",
    once_right=True,
)
def no_copy(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 6, 50).requires_grad_() * 1
    trial.given("x of 2400 bytes, scale requires no grad; what lives on between forward and backward")
    with counted_memory() as kept:
        got = scaled(answer, trial, x, a_scale(0.3))
        extra = kept(x, got)
    trial.true(
        extra < 100,
        f"Between forward and backward, {extra:,} bytes live on beside x: a copy that only the gradient of scale would "
        "need.",
        expected="no memory of the size of x",
        got=f"{extra:,} bytes",
        observed="copy kept",
    )


@scale_in_place.property(
    "a second derivative raises or is right",
    asks="A second derivative raises (`once_differentiable`) or is right.",
    once_right=True,
)
def second_derivative(answer: Answer, trial: Trial) -> None:
    for scale_needs in (True, False):
        _second_derivative(answer, trial, scale_needs)


def _second_derivative(answer: Answer, trial: Trial, scale_needs: bool) -> None:
    leaf, scale, c = drawn(trial, 2, 3).requires_grad_(), a_scale(0.3, scale_needs), drawn(trial, 2, 3)
    wanted = [leaf, scale] if scale_needs else [leaf]
    trial.given(
        f"scale = 0.3 {_needs(scale_needs)}; the loss and the sum of its squared gradients, "
        "loss = (c * ScaleInPlace.apply(x, scale) ** 2).sum()"
    )

    def slopes(ask: Callable[[], Tensor]) -> list[Tensor | None]:
        for each in wanted:
            each.grad = None
        loss = (c * ask() ** 2).sum()
        grads = torch.autograd.grad(loss, wanted, create_graph=True, allow_unused=True)
        (loss + sum(g.square().sum() for g in grads if g is not None)).backward()
        return [each.grad for each in wanted]

    try:
        got = slopes(lambda: scaled(answer, trial, leaf * 1, scale))
    except NotImplementedError:
        raise
    except RuntimeError:
        return
    for name, slope, right in zip(("x", "scale"), got, slopes(lambda: leaf * scale), strict=False):
        trial.true(
            slope is not None and bool(torch.allclose(slope, right)),
            f"Under a gradient penalty the gradient of {name} is silently wrong: something that backward used counts "
            "as a constant, as a copy does that is neither an input nor the output.",
            expected=f"{shown(right)}, or an error: mark backward with @once_differentiable",
            got=slope,
            observed=(scale_needs, name),
        )
