"""Exercise 10.regression_loss: a mean squared error that refuses what it would have to stretch."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.pitfalls.shared.repairs import drawn, has_graph, keeps_dtype

regression_loss = Exercise(
    "10.regression_loss",
    "A loss that does not stretch",
    objective="Write a mean squared error that raises for unequal shapes, where broadcasting would compare all pairs.",
    minutes=8,
    difficulty="easy",
    hints=[
        "What is the shape of pred - target for (4, 1) and (4,)? Which of the two did the caller mean to have a different "
        "shape? You cannot know: so do not guess.",
        "Two shapes can be compared as a whole: `pred.shape != target.shape`. The number of elements, of axes or the "
        "length of the first axis are not enough.",
        "`if pred.shape != target.shape: raise ValueError(...)` with both shapes in the text, and then "
        "`((pred - target) ** 2).mean()`.",
    ],
)

SAME = ((5,), (3, 2), (2, 3, 5), (1,))
RAISES = "ValueError: the shapes differ in any way."
STRETCHED = "not one that torch would stretch"
AS_MANY = "nor one with equally many entries."
NONE = "No pair of unequal shapes is computed:"


@regression_loss.property(
    "a tensor of no dimensions, of the dtype of the inputs",
    asks="Returns a tensor of no dimensions, of the dtype of the inputs",
)
def dtypes(answer: Any, trial: Trial) -> None:
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        pred, target = drawn(trial, 6, dtype=dtype), drawn(trial, 6, dtype=dtype)
        trial.given(f"pred and target of shape (6,), {dtype}")
        got = trial.call(answer, pred, target)
        keeps_dtype(trial, got, dtype, "the loss")
        trial.true(
            got.shape == (),
            f"The loss has the shape {tuple(got.shape)}.",
            expected="shape ()",
            got=f"shape {tuple(got.shape)}",
            observed=("shape", tuple(got.shape)),
        )


@regression_loss.property(
    "the mean of the squared differences, for equal shapes",
    asks="The mean of (pred - target)², each prediction with its own target.",
)
def values(answer: Any, trial: Trial) -> None:
    for shape in SAME:
        pred, target = drawn(trial, *shape), drawn(trial, *shape)
        trial.given(f"pred and target of shape {shape}, float64")
        got = trial.call(answer, pred, target)
        trial.equal(value_of(got), ((pred - target) ** 2).mean(), "The loss")
    for dtype in (torch.float32, torch.bfloat16):
        pred, target = drawn(trial, 6, dtype=dtype), drawn(trial, 6, dtype=dtype)
        trial.given(f"pred and target of shape (6,), {dtype}")
        got = value_of(trial.call(answer, pred, target))
        near = (pred.double() - target.double()).square().mean()
        trial.equal(got.double(), near, "The loss", rtol=0.05, observed="a different value")


def value_of(got: Any) -> Any:
    """The result without its graph, which has a property of its own."""
    return got.detach() if isinstance(got, Tensor) else got


@regression_loss.property(
    "equal shapes of any kind, also () and (N, 1)", asks="of one shape, any: also () and (N, 1)."
)
def any_shape(answer: Any, trial: Trial) -> None:
    for shape in ((4, 1), ()):
        pred, target = drawn(trial, *shape), drawn(trial, *shape)
        trial.given(f"pred and target of shape {shape}, float64")
        try:
            got = trial.call(answer, pred, target)
        except ValueError as error:
            trial.fail(
                "Equal shapes were refused.",
                expected="the loss",
                got=f"ValueError: {error}",
                observed=("refused", shape),
            )
        trial.equal(value_of(got), ((pred - target) ** 2).mean(), "The loss")


@regression_loss.property("its gradient reaches pred", asks="its gradient reaches pred.")
def gradient(answer: Any, trial: Trial) -> None:
    pred, target, c = drawn(trial, 4, 3).requires_grad_(), drawn(trial, 4, 3), drawn(trial, 1)[0]
    trial.given("pred and target of shape (4, 3), pred requires grad; a random number comes in from above")
    got = trial.call(answer, pred, target)
    has_graph(trial, got, "The predictions")
    (grad,) = torch.autograd.grad(got, pred, c)
    trial.equal(grad, c * 2 * (pred - target).detach() / pred.numel(), "The gradient of pred")


PAIRS = (
    *(
        ((4, 1), (4,)),
        ((1, 1), (1,)),
        ((1, 5), (5,)),
        ((1, 3, 1), (1, 3)),
        ((4, 2), (4, 1)),
        ((3, 2), (1, 2)),
    ),
    *(((3, 2), (2,)), ((3,), (1,)), ((3, 2), (2, 3)), ((3, 2), (6,)), ((3,), ()), ((1,), ())),
    *(((4, 2), (4, 3)), ((4,), (4, 4)), ((4,), (5,)), ((2, 3, 4), (2, 4, 3))),
)


def at_all_pairs(answer: Any) -> list[str]:
    """What an answer does with each pair of unequal shapes, in a word: names say more than what one pair shows."""
    numbers = torch.Generator().manual_seed(0)
    found = []
    for shapes in (*PAIRS, *((other, one) for one, other in PAIRS)):
        pred, target = (torch.randn(shape, generator=numbers, dtype=torch.float64) for shape in shapes)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                got = answer(pred, target)
        except Exception as error:  # the learner's own, or torch's
            found.append(type(error).__name__)
        else:
            found.append(_kind(pred, target, got))
    return found


def _refused(answer: Any, trial: Trial, one: tuple[int, ...], other: tuple[int, ...]) -> None:
    """Wrong unless both orders of the shapes raise ValueError; tells what was compared instead."""
    for shape, against in ((one, other), (other, one)):
        pred, target = drawn(trial, *shape), drawn(trial, *against)
        trial.given(f"pred of shape {shape}, target of shape {against}")
        try:
            got = trial.call(answer, pred, target)
        except ValueError:
            continue
        except NotImplementedError:
            raise
        except Exception as error:
            trial.fail(
                f"For unequal shapes ValueError is asked for; here {type(error).__name__} came. "
                "Who calls the loss can catch only what was promised.",
                expected="ValueError",
                got=type(error).__name__,
                observed=("raised", type(error).__name__, at_all_pairs(answer)),
            )
        _tell(trial, pred, target, got, answer)


def _kind(pred: Tensor, target: Tensor, got: Any) -> str:
    """What was computed for unequal shapes."""
    if not isinstance(got, Tensor) or got.numel() != 1:
        return "a different value"
    if got.isnan().all():
        return "NaN"
    if pred.numel() == target.numel() and torch.allclose(got, _each_with_its_own(pred, target)):
        return "reshaped"
    try:
        squares = (pred - target) ** 2
    except RuntimeError:  # torch does not stretch these
        return "a different value"
    return "pairs" if torch.allclose(got, squares.mean()) else "a different value"


def _tell(trial: Trial, pred: Tensor, target: Tensor, got: Any, answer: Any) -> None:
    kind, message = _kind(pred, target, got), "and a number came back"
    if kind == "reshaped":
        message = "and one of them was silently brought into the other's shape"
    elif kind == "pairs":
        message = f"and {(pred - target).numel()} squares were averaged: one was stretched over the other"
    trial.fail(
        f"The shapes differ, {message}. Nothing was raised.",
        expected="ValueError",
        got=got,
        observed=(kind, at_all_pairs(answer)),
    )


def _each_with_its_own(pred: Tensor, target: Tensor) -> Tensor:
    return ((pred.reshape(-1) - target.reshape(-1)) ** 2).mean()


@regression_loss.property("(N, 1) against (N,) raises ValueError", asks=(NONE, STRETCHED, RAISES))
def column_against_row(answer: Any, trial: Trial) -> None:
    _refused(answer, trial, (4, 1), (4,))


@regression_loss.property("so does a batch of one sample", asks=(NONE, AS_MANY, RAISES))
def batch_of_one(answer: Any, trial: Trial) -> None:
    for one, other in (((1, 1), (1,)), ((1, 5), (5,)), ((1, 3, 1), (1, 3))):
        _refused(answer, trial, one, other)


@regression_loss.property("so does all else that torch would stretch", asks=(NONE, STRETCHED, RAISES))
def stretched(answer: Any, trial: Trial) -> None:
    for one, other in (((4, 2), (4, 1)), ((3, 2), (1, 2)), ((3, 2), (2,)), ((3,), (1,))):
        _refused(answer, trial, one, other)


@regression_loss.property("so do equally many entries in a different shape", asks=(NONE, AS_MANY, RAISES))
def as_many_entries(answer: Any, trial: Trial) -> None:
    for one, other in (((3, 2), (2, 3)), ((3, 2), (6,))):
        _refused(answer, trial, one, other)


@regression_loss.property("so does a single number against many", asks=(NONE, STRETCHED, RAISES))
def single_number(answer: Any, trial: Trial) -> None:
    for one, other in (((3,), ()), ((1,), ())):
        _refused(answer, trial, one, other)
