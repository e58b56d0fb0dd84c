"""Exercise 03.straight_through_round: a rounding that lets gradients through."""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.autograd.shared.functions import (
    Answer,
    called,
    counted_memory,
    gradients,
    is_tensor,
    kind_of,
    memory_of,
    no_collection,
    require_own_node,
)

straight_through_round = Exercise(
    "03.straight_through_round",
    "Rounding with a gradient",
    objective="Write a Function whose backward is not the derivative of its forward, on purpose.",
    minutes=8,
    difficulty="easy",
    core=False,
    names=("StraightThroughRound",),
    kind="class",
    hints=[
        "The derivative of rounding is 0 almost everywhere, so nothing behind it learns. Which derivative would let "
        "the gradient pass as if rounding were not there?",
        "backward does as if y were x. What does it need of forward for that?",
        "forward: `return torch.round(x)`. backward: `return grad_out`. Nothing is saved.",
    ],
)


def drawn(trial: Trial, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return 3 * torch.randn(shape, generator=trial.generator, dtype=dtype)


@straight_through_round.property("the values of torch.round, in a new tensor")
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
            trial.given(f"x of shape {tuple(x.shape)}, {dtype}, requires_grad={needs_grad}")
            _equals_round(trial, called(answer, trial, x), x)


@straight_through_round.property("halves go to the even neighbour, as in torch.round")
def halves(answer: Answer, trial: Trial) -> None:
    x = torch.tensor([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 7.0])
    trial.given(f"x = {x.tolist()}")
    _equals_round(trial, called(answer, trial, x), x)


def _equals_round(trial: Trial, got: Tensor, x: Tensor) -> None:
    is_tensor(trial, got)
    plain = x.detach()
    want = plain.round().requires_grad_(x.requires_grad)
    kind = kind_of(
        got.detach(), x=plain, half_up=(plain + 0.5).floor(), cut=plain.trunc(), floor=plain.floor()
    )
    trial.equal(got, want, observed=(kind, str(got.dtype), got.requires_grad))


@straight_through_round.property("one node of its own in the graph, directly above x")
def own_node(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 2, 3).requires_grad_()
    trial.given("x of shape (2, 3), a leaf that requires grad")
    got = called(answer, trial, x)
    is_tensor(trial, got)
    require_own_node(trial, got, [x])


@straight_through_round.property("exactly whole numbers, also for large and for tiny x")
def exact(answer: Answer, trial: Trial) -> None:
    x = torch.tensor([0.1, 0.3, 0.7, -0.6, 1e-9, 12345.678, 4194304.5, 1e9]).repeat(4) * (
        1 + torch.rand(32, generator=trial.generator)
    )
    trial.given("32 float32 numbers between 1e-9 and 2e9, every bit compared")
    got = called(answer, trial, x)
    is_tensor(trial, got)
    trial.equal(got, x.round(), rtol=0, atol=0, observed="not whole")


@straight_through_round.property("the gradient that comes in goes out, everywhere")
def gradient(answer: Answer, trial: Trial) -> None:
    for x in (
        torch.rand(3, 5, generator=trial.generator, dtype=torch.float64) - 0.5,
        drawn(trial, 4, 6),
        torch.tensor([-40.0, -2.5, -1.0, 0.0, 0.5, 1.0, 3.5, 40.0]),
    ):
        x.requires_grad_()
        c = torch.randn(x.shape, generator=trial.generator, dtype=x.dtype)
        trial.given(
            f"x of shape {tuple(x.shape)} between {x.min().item():.3g} and {x.max().item():.3g}, random numbers come in"
        )
        (got,) = gradients(answer, trial, called(answer, trial, x), [x], c.clone())
        with torch.no_grad():
            inside = c * (x.abs() <= 1)
            kind = kind_of(got, zero=0 * c, ones=torch.ones_like(c), clamped=inside, rounded=c.round())
            trial.true(
                got is not None,
                "x gets no gradient at all (None): the graph is cut.",
                expected="the gradient that came in",
                got="None",
                observed="None",
            )
            trial.equal(got, c, "The gradient of x", observed=kind)


@straight_through_round.property("the gradient can be differentiated again")
def second_derivative(answer: Answer, trial: Trial) -> None:
    x, c, d = drawn(trial, 3, 4).requires_grad_(), drawn(trial, 3, 4).requires_grad_(), drawn(trial, 3, 4)
    trial.given("the gradient c that comes in requires grad, create_graph=True")
    (plain,) = gradients(answer, trial, called(answer, trial, x), [x], c)
    if kind_of(plain, right=c) != "right":
        return  # another property says so
    (first,) = gradients(answer, trial, called(answer, trial, x), [x], c, create_graph=True)
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
    trial.equal(c.grad, d, "The second derivative")


@straight_through_round.property("nothing is kept for backward")
def nothing_kept(answer: Answer, trial: Trial) -> None:
    leaf = drawn(trial, 6, 50).requires_grad_()
    trial.given("x of 2400 bytes is dropped, the result is kept")
    with no_collection():
        x = leaf * 1
        with counted_memory() as kept:
            output = called(answer, trial, x)
            is_tensor(trial, output)
            extra = kept(x, output)
        ref = memory_of(x)
        del x
        held = not ref.expired()
    trial.true(
        not held and extra < 100,
        "Between forward and backward "
        + ("x is held in memory" if held else f"{extra:,} bytes beside the result are held")
        + ", and backward needs none of it.",
        expected="nothing but the result",
        got="x" if held else f"{extra:,} bytes",
        observed="x held" if held else "memory held",
    )
