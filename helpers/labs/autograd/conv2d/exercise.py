"""Exercise 03.conv2d: both gradients of a convolution are convolutions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.autograd.shared.functions import (
    Answer,
    Operation,
    are_right,
    called,
    gradients,
    gradients_unless_edited,
    recorded,
    require_function,
)

conv2d = Exercise(
    "03.conv2d",
    "A convolution's two gradients",
    objective="Write the backward of a 2-D convolution: two more convolutions, and none that nobody needs.",
    minutes=35,
    difficulty="hard",
    core=False,
    names=("Conv2d",),
    kind="class",
    version=2,
    hints=[
        "y[n, o, i, j] is a sum of x[n, c, i + a, j + b] * w[o, c, a, b]. Which y does one x reach, and by which w? "
        "Which pairs of x and y does one w meet?",
        "By x: `conv_transpose2d(grad_out, w)` hands each entry of grad_out back over the kernel. By w: x slides under "
        "grad_out, and batch takes the place of the channels that are summed: transpose(0, 1) of both.",
        "grad_w = conv2d(x.transpose(0, 1), grad_out.transpose(0, 1)).transpose(0, 1). With a stride: dilation=stride "
        "there, then crop to the kernel's size; and output_padding=(H + 2 * padding - kH) % stride for grad_x. "
        "`if ctx.needs_input_grad[0]:` around the one, `[1]` around the other.",
    ],
)

# Shapes of x and w. Non-square, batch and channels all different, a kernel of 1 and one as large as x.
SHAPES = (
    ((2, 3, 6, 5), (4, 3, 2, 3)),
    ((1, 2, 4, 5), (3, 2, 1, 1)),
    ((3, 1, 3, 4), (2, 1, 3, 4)),
    ((2, 5, 4, 7), (1, 5, 3, 1)),
)
# (stride, padding), each with sizes for which some rows or columns at the end of x are reached by no window.
# The stride alone comes before the padding alone, and the padding also goes past the kernel.
STEPS = ((1, 0), (2, 0), (1, 1), (2, 1), (3, 1), (1, 2), (2, 3))
GRADIENTS = "x and w get the gradients of `F.conv2d`, for any gradient that comes in."
FROZEN = {
    "": "",
    "x": "; x requires grad, w does not",
    "w": "; w requires grad, x does not",
    "xw": "; both require grad",
}
STRIDES = "; x, w and the gradient that comes in are not contiguous"
HEAVY = ("convolution", "convolution_backward", "_convolution", "mm", "bmm", "addmm", "baddbmm")


def drawn(trial: Trial, shape: tuple[int, ...], dtype: torch.dtype = torch.float64) -> Tensor:
    """Normal numbers, not contiguous, a leaf that requires grad."""
    return (
        torch.randn(shape[::-1], generator=trial.generator, dtype=dtype).permute(3, 2, 1, 0).requires_grad_()
    )


def takes_steps(answer: Answer, trial: Trial) -> bool:
    """Whether forward takes stride and padding, which is free; one without the other is wrong."""
    require_function(answer, trial)
    named = {"stride", "padding"} & set(inspect.signature(answer.forward).parameters)
    trial.true(
        len(named) != 1,
        f"forward takes {' '.join(named)} alone.",
        expected="both stride and padding, or none of them",
        observed="one of two",
    )
    return len(named) == 2


def compared(answer: Answer, trial: Trial, x: Tensor, w: Tensor, which: str, *steps: int) -> None:
    """Compares with F.conv2d: which="" the output, "x" or "w" this gradient, with the other frozen, "xw" both."""
    x, w = (
        tensor if name in which or not which else tensor.detach() for name, tensor in (("x", x), ("w", w))
    )
    got = called(answer, trial, x, w, *steps)
    want = F.conv2d(x, w, None, *steps)
    if not which:
        trial.equal(got, want)
        return
    c = torch.randn(want.shape[::-1], generator=trial.generator, dtype=x.dtype).permute(3, 2, 1, 0)
    inputs = [tensor for tensor in (x, w) if tensor.requires_grad]
    slopes = gradients(answer, trial, got, inputs, c)
    for name, slope, right in zip(which, slopes, torch.autograd.grad(want, inputs, c), strict=True):
        if slope is None and which != "xw":
            elsewhere(answer, trial, (x, w), steps, c, name, right)
        beside = gets_one_beside_the_other(answer, (x, w), steps, c, name) if slope is None else None
        only_here = which != "xw" and beside is True
        trial.true(
            slope is not None,
            f"{name} requires grad and gets no gradient: None counts as 0."
            + (" Where both require grad, it gets one." if only_here else ""),
            expected=f"the gradient of {name}",
            got="None",
            observed=("None for", name, "only here" if only_here else which if beside is False else "raises"),
        )
        few = (
            slope.shape == right.shape
            and slope.dtype == right.dtype
            and torch.allclose(slope, right, rtol=1e-3, atol=1e-4)
        )
        trial.equal(
            slope,
            right,
            f"The gradient of {name}",
            observed=("in its first digits only", name) if few else None,
        )


def gets_one_beside_the_other(
    answer: Answer, pair: tuple[Tensor, Tensor], steps: tuple[int, ...], c: Tensor, name: str
) -> bool | None:
    """Whether `name` gets a gradient where both x and w require one; None if that raises."""
    leaves = [each.detach().requires_grad_() for each in pair]
    try:
        slopes = torch.autograd.grad(answer.apply(*leaves, *steps), leaves, c, allow_unused=True)
    except Exception:
        return None
    return slopes["xw".index(name)] is not None


def elsewhere(
    answer: Answer,
    trial: Trial,
    pair: tuple[Tensor, Tensor],
    steps: tuple[int, ...],
    c: Tensor,
    name: str,
    right: Tensor,
) -> None:
    """Wrong if the gradient that `name` did not get stands in the place of the other, which is frozen."""
    returned = answer.apply(*pair, *steps).grad_fn.apply(c)
    in_its_place = returned["wx".index(name)] if isinstance(returned, tuple) and len(returned) > 1 else None
    other = "wx"["xw".index(name)]
    trial.true(
        in_its_place is None or not are_right([in_its_place], [right]),
        f"{name} requires grad and gets None: backward returned the gradient of {name} in the place of {other}.",
        expected="the gradient of x first, then that of w",
        got=f"None for {name}, and its gradient for {other}",
        observed=("exchanged", name),
    )


def every_shape(answer: Answer, trial: Trial, which: str) -> None:
    for x_shape, w_shape in SHAPES:
        x, w = drawn(trial, x_shape), drawn(trial, w_shape)
        trial.given(f"Conv2d.apply(x, w), x of shape {x_shape}, w of shape {w_shape}{FROZEN[which]}{STRIDES}")
        compared(answer, trial, x, w, which)


@conv2d.property(
    "the values of F.conv2d, for both float types",
    asks=("`F.conv2d(x, w)` with a backward of your own: `Conv2d.apply(x, w)`.",),
)
def values(answer: Answer, trial: Trial) -> None:
    every_shape(answer, trial, "")
    x_shape, w_shape = SHAPES[0]
    for needs_grad in (True, False):
        x, w = (
            drawn(trial, shape, torch.float32).detach().requires_grad_(needs_grad)
            for shape in (x_shape, w_shape)
        )
        trial.given(f"Conv2d.apply(x, w), float32, x of shape {x_shape}, requires_grad={needs_grad}")
        compared(answer, trial, x, w, "")


@conv2d.property("the gradient of x, for any gradient that comes in", asks=GRADIENTS)
def gradient_of_x(answer: Answer, trial: Trial) -> None:
    every_shape(answer, trial, "x")


@conv2d.property("the gradient of w, for any gradient that comes in", asks=GRADIENTS)
def gradient_of_w(answer: Answer, trial: Trial) -> None:
    every_shape(answer, trial, "w")


@conv2d.property("both gradients at once", asks=GRADIENTS)
def both_gradients(answer: Answer, trial: Trial) -> None:
    every_shape(answer, trial, "xw")


@conv2d.property(
    "the gradients are its own work",
    asks="The two gradients are made by you, of conv2d, conv_transpose2d, unfold or einsum: not by torch's convolution_backward.",
)
def own_work(answer: Answer, trial: Trial) -> None:
    x, w = drawn(trial, SHAPES[0][0]), drawn(trial, SHAPES[0][1])
    trial.given(f"backward of Conv2d.apply(x, w), x of shape {SHAPES[0][0]}, w of shape {SHAPES[0][1]}")
    trial.true(
        "convolution_backward" not in dict(operations(answer, trial, x, w)),
        "backward runs convolution_backward, which is torch's own answer to this exercise.",
        expected="gradients made of conv2d, conv_transpose2d, or sums and products",
        got="convolution_backward",
        observed="convolution_backward",
    )


@conv2d.property(
    "a gradient that nobody needs is not computed",
    asks="One that nobody needs is not computed (`ctx.needs_input_grad`).",
)
def only_what_is_needed(answer: Answer, trial: Trial) -> None:
    x, w = drawn(trial, SHAPES[0][0]), drawn(trial, SHAPES[0][1])
    trial.given("backward with x frozen, with w frozen, and with neither")
    both = operations(answer, trial, x, w)
    wasted = [
        name
        for name, inputs in (("x", (x.detach(), w)), ("w", (x, w.detach())))
        if not saves_work(operations(answer, trial, *inputs), both)
    ]
    trial.true(
        not wasted,
        f"With {' or '.join(wasted)} frozen, backward does as much work as with nothing frozen.",
        expected="the gradient of a frozen input is not computed",
        got="computed, and thrown away",
        observed=("wasted", wasted),
    )


def saves_work(few: list[Operation], all_of_them: list[Operation]) -> bool:
    """Fewer convolutions or matrix products, or clearly fewer numbers computed."""
    products = [sum(name in HEAVY for name, _ in ran) for ran in (few, all_of_them)]
    numbers = [sum(count for _, count in ran) for ran in (few, all_of_them)]
    return products[0] < products[1] or numbers[0] < 0.8 * numbers[1]


# What the first and the second of two pending calls get: shapes of x and w, stride and padding. Each pair differs in
# one thing at least, and the first in its numbers alone, so that nothing is seen by an error only.
Call = tuple[tuple[int, ...], tuple[int, ...], int, int]
TWO_CALLS: tuple[tuple[Call, Call], ...] = (
    ((*SHAPES[0], 1, 0), (*SHAPES[0], 1, 0)),
    (((2, 3, 6, 5), (4, 3, 2, 3), 1, 0), ((2, 3, 7, 4), (4, 3, 2, 3), 1, 0)),
    (((2, 3, 6, 5), (4, 3, 2, 3), 1, 0), ((2, 3, 6, 5), (4, 3, 3, 2), 1, 0)),
    ((*SHAPES[0], 1, 0), (*SHAPES[3], 1, 0)),
)
TWO_STEPPED_CALLS: tuple[tuple[Call, Call], ...] = (
    (((2, 3, 7, 6), (4, 3, 2, 3), 2, 1), ((2, 3, 7, 6), (4, 3, 2, 3), 3, 1)),
    (((2, 3, 7, 6), (4, 3, 2, 3), 2, 0), ((2, 3, 7, 6), (4, 3, 2, 3), 2, 1)),
    (((2, 3, 7, 6), (4, 3, 2, 3), 2, 1), ((2, 3, 8, 7), (4, 3, 2, 3), 2, 1)),
    (((1, 2, 6, 5), (3, 2, 3, 1), 1, 0), ((2, 3, 7, 6), (4, 3, 2, 3), 2, 1)),
)
PENDING = "Each call has an x, a w, a stride and a padding of its own."


@conv2d.property("two calls pending: each has an x and a w of its own", asks=PENDING, once_right=True)
def two_calls(answer: Answer, trial: Trial) -> None:
    for pair in TWO_CALLS:
        both_pending(answer, trial, pair, stepped=False)


def both_pending(answer: Answer, trial: Trial, pair: tuple[Call, Call], stepped: bool) -> None:
    """Both calls, then both backwards, in either order; and once more with one thing frozen in one of them."""
    for order, frozen in (((0, 1), ""), ((1, 0), ""), ((0, 1), "x"), ((0, 1), "w")):
        ins = [(drawn(trial, x), drawn(trial, w)) for x, w, *_ in pair]
        steps = [call[2:] if stepped else () for call in pair]
        if frozen:  # in the second call alone
            ins[1]["xw".index(frozen)].requires_grad_(False)
        texts = [
            f"Conv2d.apply({', '.join(['x', 'w', *map(str, call[2:])] if stepped else ['x', 'w'])}), x of shape {call[0]}, "
            f"w of shape {call[1]}"
            for call in pair
        ]
        trial.given(
            f"{texts[0]}; then {texts[1]}{f', whose {frozen} is frozen' if frozen else ''}; then the backward of the "
            + ("first, then of the second" if order == (0, 1) else "second, then of the first")
        )
        outputs = [called(answer, trial, *each, *step) for each, step in zip(ins, steps, strict=True)]
        for at in order:
            needing = {name: each for name, each in zip("xw", ins[at], strict=True) if each.requires_grad}
            want = F.conv2d(*ins[at], None, *steps[at])
            c = torch.randn(want.shape, generator=trial.generator, dtype=want.dtype)
            rights = torch.autograd.grad(want, [*needing.values()], c)
            which = f"The backward of the {('first', 'second')[at]} call"
            try:
                slopes = torch.autograd.grad(outputs[at], [*needing.values()], c, allow_unused=True)
            except NotImplementedError:
                raise
            except Exception as error:
                trial.fail(
                    f"{which} raised {type(error).__name__} when two calls are pending: {error}",
                    expected="the gradients that it gives alone",
                    got=type(error).__name__,
                    observed="two calls",
                )
            for name, slope, right in zip(needing, slopes, rights, strict=True):
                what = f"{which}, when two calls are pending: the gradient of {name}"
                if not are_right([slope], [right]):
                    trial.equal(slope, right, what, observed="two calls")
                    trial.fail(f"{what} is wrong.", expected=right, got=slope, observed="two calls")


@conv2d.property(
    "an x or w edited in place before backward raises",
    asks="An x or w that is edited before backward raises RuntimeError, as with `F.conv2d`.",
)
def edited_before_backward(answer: Answer, trial: Trial) -> None:
    edits_raise(answer, trial)


def edits_raise(answer: Answer, trial: Trial, *steps: int) -> None:
    called_with = "x, w, " + ", ".join(map(str, steps)) if steps else "x, w"
    for name in "xw":
        x, w = drawn(trial, SHAPES[0][0]), drawn(trial, SHAPES[0][1])
        trial.given(
            f"Conv2d.apply({called_with}); {name}, which is not contiguous, is edited in place between apply and "
            "backward, as an optimizer's step edits w"
        )
        output = called(answer, trial, x, w, *steps)
        c = torch.randn(output.shape, generator=trial.generator, dtype=x.dtype)
        wants = torch.autograd.grad(F.conv2d(x, w, None, *steps), [x, w], c)
        if not are_right(gradients(answer, trial, called(answer, trial, x, w, *steps), [x, w], c), wants):
            return  # other properties say so
        with torch.no_grad():
            (x if name == "x" else w).add_(1)
        slopes = gradients_unless_edited(answer, trial, output, [x, w], c)
        trial.true(
            slopes is None or not are_right(slopes, wants),
            f"Backward went through although {name} was edited after the forward: a copy of it was saved. The gradients "
            "are right, and a copy costs as much memory as the tensor, in every layer.",
            expected="RuntimeError: ... has been modified by an inplace operation",
            got="right gradients, from a copy",
            observed=("a copy", name),
        )
        trial.true(
            slopes is None,
            f"Backward went through although {name} was edited after the forward, and the gradients are wrong.",
            expected="RuntimeError: ... has been modified by an inplace operation",
            got="wrong gradients, without an error",
            observed=("edit not seen", name),
        )


@conv2d.property(
    "a second derivative raises or is right",
    asks="A second derivative raises (`once_differentiable`) or is right.",
)
def second_derivative(answer: Answer, trial: Trial) -> None:
    x, w = drawn(trial, SHAPES[0][0]), drawn(trial, SHAPES[0][1])
    c = torch.randn(2, 4, 5, 3, generator=trial.generator, dtype=x.dtype)
    trial.given("loss + the sum of its squared gradients, loss = (c * Conv2d.apply(x, w) ** 2).sum()")

    output = called(answer, trial, x, w)
    if not are_right(
        gradients(answer, trial, output, [x, w], c), torch.autograd.grad(F.conv2d(x, w), [x, w], c)
    ):
        return  # other properties say so

    def slopes(output: Tensor, ask: Callable[..., Any], penalised: bool) -> list[Tensor | None]:
        """What x and w find in .grad. autograd.grad would ask for them alone, and walk past an error node."""
        x.grad = w.grad = None
        loss = (c * output**2).sum()
        if penalised:
            grads = ask(loss, [x, w], create_graph=True)
            loss = loss + sum(slope.square().sum() for slope in grads if slope is not None)
        loss.backward()
        return [x.grad, w.grad]

    try:
        got = slopes(called(answer, trial, x, w), partial(gradients, answer, trial), True)
    except NotImplementedError:
        raise
    except RuntimeError:
        return
    want = slopes(F.conv2d(x, w), torch.autograd.grad, True)
    without = slopes(F.conv2d(x, w), torch.autograd.grad, False)
    for name, slope, right, lost in zip("xw", got, want, without, strict=True):
        is_lost = slope is not None and bool(torch.allclose(slope, lost))
        trial.true(
            slope is not None and bool(torch.allclose(slope, right)),
            f"The gradient of {name} under a gradient penalty "
            + (
                "is that of the loss alone: the penalty is silently lost."
                if is_lost
                else "is silently wrong."
            ),
            expected="the right gradient, or an error: mark backward with @once_differentiable",
            got="a wrong gradient, without an error",
            observed=(name, "lost" if is_lost else "wrong"),
        )


@conv2d.property(
    "where forward takes stride and padding: the values",
    asks="If forward has both stride and padding, values and gradients are those of `F.conv2d` with both, and so are the defaults.",
)
def stepped_values(answer: Answer, trial: Trial) -> None:
    every_step(answer, trial, "")


@conv2d.property(
    "where forward takes stride and padding: the gradient of x",
    asks="If forward has both stride and padding, values and gradients are those of `F.conv2d` with both",
)
def stepped_gradient_of_x(answer: Answer, trial: Trial) -> None:
    every_step(answer, trial, "x")


@conv2d.property(
    "where forward takes stride and padding: the gradient of w",
    asks="If forward has both stride and padding, values and gradients are those of `F.conv2d` with both",
)
def stepped_gradient_of_w(answer: Answer, trial: Trial) -> None:
    every_step(answer, trial, "w")


@conv2d.property(
    "where forward takes stride and padding: both gradients at once",
    asks="If forward has both stride and padding, values and gradients are those of `F.conv2d` with both",
)
def stepped_gradients(answer: Answer, trial: Trial) -> None:
    every_step(answer, trial, "xw")


@conv2d.property(
    "where forward takes stride and padding: an x or w edited in place before backward raises",
    asks="An x or w that is edited before backward raises RuntimeError, as with `F.conv2d`.",
    once_right=True,
)
def stepped_edits(answer: Answer, trial: Trial) -> None:
    if takes_steps(answer, trial):
        edits_raise(answer, trial, 2, 1)


@conv2d.property(
    "where forward takes stride and padding: two calls pending, each with its own",
    asks=PENDING,
    once_right=True,
)
def stepped_two_calls(answer: Answer, trial: Trial) -> None:
    if takes_steps(answer, trial):
        for pair in TWO_STEPPED_CALLS:
            both_pending(answer, trial, pair, stepped=True)


def every_step(answer: Answer, trial: Trial, which: str) -> None:
    if not takes_steps(answer, trial):
        return
    for stride, padding in STEPS:
        x, w = drawn(trial, (2, 3, 7, 6)), drawn(trial, (4, 3, 2, 3))
        trial.given(
            f"Conv2d.apply(x, w, stride {stride}, padding {padding}), both by position, x of shape (2, 3, 7, 6), "
            f"w of shape (4, 3, 2, 3){FROZEN[which]}{STRIDES}"
        )
        compared(answer, trial, x, w, which, stride, padding)


def operations(answer: Answer, trial: Trial, x: Tensor, w: Tensor) -> list[Operation]:
    """What backward runs, in order."""
    output = called(answer, trial, x, w)
    c = torch.randn(output.shape, generator=trial.generator, dtype=x.dtype)
    with recorded() as ran:
        gradients(answer, trial, output, [item for item in (x, w) if item.requires_grad], c)
    return ran
