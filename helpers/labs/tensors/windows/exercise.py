"""Exercise 11.windows: all windows of the last two dimensions, by strides alone."""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.check.operations import operations
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.tensors.windows.inputs import (
    Answer,
    Pair,
    by_hand,
    called,
    numbers,
    refused,
    require,
    require_shape,
    views,
)

windows = Exercise(
    "11.windows",
    "Windows",
    objective="Make all windows of a picture, and no copy.",
    minutes=20,
    difficulty="medium",
    hints=[
        "Six numbers say where an element of the result lies: the leading dimensions are those of x, "
        "then come i and j, which "
        "count windows, then two that count inside a window. How far in memory is one step of each?",
        "One step inside a window is one step in x: the strides of x. One step from window to window is "
        "`step` of them. And "
        "take the strides from `x.stride()`: x may be a view, whose rows do not lie one behind the other.",
        "How many fit: the first takes h rows, and each further one `step[0]` more, so it is (H - h) // "
        "step[0] + 1. That is "
        "right only for h from 1 to H and a step of 1 or more: look at this before you count.",
        "`x.as_strided(size, stride)` begins where x begins, if you give no offset. Its size: those of "
        "the leading dimensions, "
        "then how many windows in each direction, then `size`. Its stride: those of the leading "
        "dimensions, then the last two "
        "of x times `step`, then the last two of x.",
    ],
)

SHAPE = "Returns a tensor of shape (..., rows, columns, h, w)."
PLACE = "At [..., i, j] stands the window whose upper left element is x[..., i * step[0], j * step[1]]."
FIT = "`rows` and `columns` are as many as fit into x."
VIEW = "It is a view of x: what is written to the one stands in the other."
ONE = "The only operation of torch that runs is one `as_strided`; it makes no memory."
GRADIENT = "Gradients go back to what x was made from; where windows overlap they are summed."
ERROR = (
    "ValueError is raised if a window does not fit into x, and if a number in `size` or `step` is below 1."
)
WHOLE = "All windows of the last two dimensions, as a view."
SIZE = "size: (h, w), of a window."
STEP = "step: (down, right): how many rows, and columns, from a window to the next."
ANY = "x: shape (..., H, W), of any dtype; perhaps a view: sliced, transposed, expanded."


@windows.property("as many windows as fit, each of the size that is asked", asks=(SHAPE, SIZE, STEP, FIT))
def shape(answer: Answer, trial: Trial) -> None:
    cases: tuple[tuple[tuple[int, ...], Pair, Pair], ...] = (
        ((7, 10), (2, 3), (1, 1)),
        ((7, 10), (2, 3), (2, 3)),  # one row and one column are left over
        ((8, 9), (3, 2), (1, 4)),
        ((2, 3, 7, 10), (3, 2), (2, 1)),
        ((5, 4, 6), (4, 6), (1, 1)),  # one window
        ((5, 4, 6), (1, 1), (3, 5)),  # some elements are in no window
        ((1, 4, 6), (2, 2), (9, 9)),
        ((0, 4, 6), (2, 5), (1, 1)),
        ((2, 1, 3, 1, 4, 5), (2, 2), (2, 2)),
    )
    refused(answer, trial, cases)
    for of_x, size, step in cases:
        x = numbers(of_x)
        require_shape(trial, called(trial, answer, x, size, step), x, size, step)


@windows.property("each window stands where it is to stand", asks=(SHAPE, PLACE, STEP))
def values(answer: Answer, trial: Trial) -> None:
    for of_x, size, step in (
        ((7, 10), (2, 3), (1, 1)),
        ((7, 10), (2, 3), (2, 3)),
        ((9, 9), (3, 3), (2, 2)),
        ((8, 9), (3, 2), (1, 4)),
        ((8, 9), (2, 3), (4, 1)),
        ((2, 3, 7, 10), (3, 2), (2, 1)),
        ((2, 1, 4, 5), (2, 2), (3, 2)),
    ):
        require(answer, trial, numbers(of_x), size, step)


@windows.property("x is a view itself: its strides and its first element count", asks=(PLACE, ANY))
def of_views(answer: Answer, trial: Trial) -> None:
    for about, x in views(numbers).items():
        for size, step in (((2, 3), (1, 1)), ((1, 2), (2, 1))):
            require(answer, trial, x, size, step, about)


@windows.property("any dtype", asks=(ANY, SHAPE))
def dtypes(answer: Answer, trial: Trial) -> None:
    for dtype in (
        torch.int64,
        torch.uint8,
        torch.bool,
        torch.float64,
        torch.float16,
        torch.bfloat16,
        torch.complex64,
    ):
        x = (numbers((2, 5, 6)) % 2).to(dtype) if dtype == torch.bool else numbers((2, 5, 6)).to(dtype)
        require(answer, trial, x, (2, 3), (1, 2), str(dtype).removeprefix("torch."))
    pair = torch.complex(numbers((2, 5, 6)).float(), -numbers((2, 5, 6)).float())
    require(answer, trial, pair.real, (2, 3), (1, 2), "the real part of complex64")


@windows.property("a view: what is written to the one stands in the other", asks=(VIEW, WHOLE))
def writes(answer: Answer, trial: Trial) -> None:
    for about, x in {"contiguous": numbers((2, 6, 8)), **views(numbers)}.items():
        size, step = (2, 3), (1, 2)
        got = called(trial, answer, x, size, step, about)
        require_shape(trial, got, x, size, step, about)
        place = (*[0] * (x.dim() - 2), 1, 1, 1, 2)
        there = (*place[:-4], 2, 4)
        with torch.no_grad():
            got[place] = -1
        seen = x[there].item()
        trial.true(
            seen == -1,
            f"-1 was written to the result, at {list(place)}, and x has {seen:g} in the place of it, "
            f"{list(there)}. The result "
            "has a memory of its own.",
            expected="a view of x: both show the same memory",
            got="a copy",
            observed=("to the result", about),
        )
        x[there] = -2
        trial.true(
            got[place].item() == -2,
            f"-2 was written to x, at {list(there)}, and the result has {got[place].item():g} in the "
            f"place of it.",
            expected="a view of x: both show the same memory",
            got="a copy",
            observed=("to x", about),
        )


@windows.property("one as_strided runs, and nothing else", asks=ONE)
def one_operation(answer: Answer, trial: Trial) -> None:
    for about, x in {"contiguous": numbers((2, 6, 8)), **views(numbers)}.items():
        with operations() as ran:
            called(trial, answer, x, (2, 3), (1, 2), about)
        names = [each.name for each in ran]
        made = sum(each.bytes for each in ran)
        trial.true(
            names == ["as_strided"],
            f"What ran below the answer: {', '.join(names) or 'nothing'}."
            + (f" It made {made} bytes of memory." if made else " It made no memory."),
            expected="as_strided, once",
            got=", ".join(names),
            observed=(names, made > 0, about),
        )


@windows.property("gradients go back, and are summed where windows overlap", asks=GRADIENT)
def gradients(answer: Answer, trial: Trial) -> None:
    def leaf(of_x: tuple[int, ...]) -> Tensor:
        return torch.randn(of_x, generator=trial.generator, dtype=torch.float64).requires_grad_()

    cases: list[tuple[str, Tensor, Tensor]] = []
    plain = leaf((2, 6, 8))
    cases.append(("a leaf", plain, plain))
    for about in views(numbers):
        made_from: list[Tensor] = []

        def of(shape: tuple[int, ...], keep: list[Tensor] = made_from) -> Tensor:
            keep.append(leaf(shape))
            return keep[-1]

        cases.append((about, views(of, about)[about], made_from[-1]))
    itself = torch.randn((2, 7, 8), generator=trial.generator, dtype=torch.float64)[:, 1:].requires_grad_()
    cases.append(("a slice, a leaf itself", itself, itself))
    computed = leaf((2, 6, 8))
    cases.append(("computed, as x = 3 * a", 3 * computed, computed))
    for about, x, source in cases:
        for step in ((1, 1), (2, 3)):
            require_gradient(answer, trial, about, x, source, step)


def require_gradient(answer: Answer, trial: Trial, about: str, x: Tensor, source: Tensor, step: Pair) -> None:
    size = (2, 3)
    got, want = called(trial, answer, x, size, step, f"{about}, requires grad"), by_hand(x, size, step)
    # A view made under no_grad says that it requires grad, as its base does, and has no grad_fn.
    trial.true(
        got.grad_fn is not None,
        "x requires grad, and the result has no grad_fn: no gradient goes back to x.",
        expected="a grad_fn",
        got="None",
        observed="no graph",
    )
    upstream = torch.randn(want.shape, generator=trial.generator, dtype=want.dtype)
    (wanted,) = torch.autograd.grad(want, source, upstream, retain_graph=True)
    (found,) = torch.autograd.grad(got, source, upstream, retain_graph=True, allow_unused=True)
    trial.true(
        found is not None,
        "The result requires grad, and no gradient comes to what x was made from.",
        expected="a gradient",
        got="none",
        observed="no gradient",
    )
    trial.equal(found, wanted, "The gradient of what x was made from", observed=("gradient", about, step))


@windows.property("a call knows nothing of an earlier one", asks=(GRADIENT, SHAPE, ANY))
def each_call_alone(answer: Answer, trial: Trial) -> None:
    x = torch.randn((6, 8), generator=trial.generator, dtype=torch.float64)
    with torch.no_grad():
        called(trial, answer, x, (2, 3), (1, 1), "before it requires grad")
    x.requires_grad_()
    require_gradient(answer, trial, "the same x as in an earlier call, before it required grad", x, x, (1, 1))
    y = numbers((4, 6))
    require(answer, trial, y, (2, 3), (1, 1))
    y.t_()
    require(answer, trial, y, (2, 3), (1, 1), "the same x as in an earlier call, after x.t_()")


NO_WINDOWS: tuple[tuple[tuple[int, ...], Pair, Pair, str], ...] = (
    ((4, 6), (5, 2), (1, 1), "if a window is one row higher than x"),
    ((4, 6), (2, 7), (1, 1), "if a window is one column wider than x"),
    ((2, 4, 6), (7, 2), (2, 2), "if a window is much higher than x"),
    ((2, 4, 6), (2, 9), (2, 2), "if a window is much wider than x"),
    ((0, 4, 6), (5, 2), (1, 1), "if a window is higher than x, also where x has no elements"),
    ((3, 0, 6), (1, 2), (1, 1), "if x has no rows"),
    ((4, 6), (0, 2), (1, 1), "for windows of 0 rows"),
    ((4, 6), (2, 0), (1, 1), "for windows of 0 columns"),
    ((4, 6), (-1, 2), (1, 1), "for windows of -1 rows"),
    ((4, 6), (2, -1), (1, 1), "for windows of -1 columns"),
    ((4, 6), (2, 2), (0, 1), "for a first step of 0"),
    ((4, 6), (2, 2), (1, 0), "for a second step of 0"),
    ((4, 6), (2, 2), (-1, 1), "for a first step of -1"),
    ((4, 6), (2, 2), (1, -1), "for a second step of -1"),
    ((4, 6), (4, 2), (0, 1), "for a first step of 0, also where one window fits"),
    ((4, 6), (2, 6), (1, -2), "for a second step of -2, also where one window fits"),
    # Two numbers below 1, whose product or sum is not.
    ((4, 6), (-1, -1), (1, 1), "for windows of -1 rows and -1 columns"),
    ((4, 6), (2, 2), (-1, -1), "for two steps of -1"),
    ((4, 6), (-1, -2), (-2, -1), "for sizes and steps that are all below 1"),
    ((4, 6), (-1, 2), (-1, 1), "for windows of -1 rows at a first step of -1"),
    ((4, 6), (2, -1), (1, -1), "for windows of -1 columns at a second step of -1"),
    ((4, 6), (-1, 2), (1, -1), "for windows of -1 rows at a second step of -1"),
    ((4, 6), (2, -1), (-1, 1), "for windows of -1 columns at a first step of -1"),
    ((4, 6), (-1, 6), (1, 1), "for windows of -1 rows, as wide as x"),
    ((4, 6), (4, -1), (1, 1), "for windows of -1 columns, as high as x"),
    ((4, 6), (2, 2), (-1, 9), "for a first step of -1 and a second of 9"),
    ((4, 6), (2, 2), (9, -1), "for a first step of 9 and a second of -1"),
)


@windows.property("ValueError where windows do not fit, or make no sense", asks=ERROR)
def errors(answer: Answer, trial: Trial) -> None:
    """All are tried before the first is told: what an answer checks and what not is seen in the
    whole.
    """
    outcomes = [(each, outcome(answer, trial, *each[:3])) for each in NO_WINDOWS]
    wrong = [(each, found) for each, found in outcomes if found != "ValueError"]
    if not wrong:
        return
    (of_x, size, step, when), found = wrong[0]
    trial.given(f"x of shape {of_x}, size={size}, step={step}")
    raised = "returned" not in found
    trial.fail(
        f"{found if raised else 'Nothing'} was raised {when}: ValueError is asked for.",
        expected="ValueError",
        got=found,
        observed=[(when, found) for (*_, when), found in wrong],
    )


def outcome(answer: Answer, trial: Trial, of_x: tuple[int, ...], size: Pair, step: Pair) -> str:
    """What came of one call: the name of an error, or what was returned."""
    x = numbers(of_x)
    try:
        result = trial.call(lambda: answer(x, size, step))
    except NotImplementedError:
        raise
    except Exception as error:
        return type(error).__name__ if not isinstance(error, ValueError) else "ValueError"
    is_tensor = isinstance(result, Tensor)
    return f"returned a tensor of shape {tuple(result.shape)}" if is_tensor else f"returned {result!r:.80}"
