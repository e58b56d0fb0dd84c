"""Exercise 03.straight_through_round: a rounding that lets gradients through."""

from __future__ import annotations

from collections.abc import Callable

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


ROUNDED = (
    "A new tensor, shape and dtype of x, with the numbers of torch.round: halves go to the even neighbour.",
    "x is not edited.",
)
PASSES = "The gradient of x is grad_out, everywhere."


def as_it_came(x: Tensor) -> Tensor:
    return x


@straight_through_round.property("the values of torch.round, in a new tensor", asks=ROUNDED)
def values(answer: Answer, trial: Trial) -> None:
    _values(answer, trial, as_it_came, "")


@straight_through_round.property(
    "the same for an x that is not contiguous", asks=(*ROUNDED, "x: floating, any shape, any strides.")
)
def strided_values(answer: Answer, trial: Trial) -> None:
    _values(answer, trial, lambda x: x.mT, ", transposed: not contiguous")
    _values(answer, trial, lambda x: x[:1].expand(4, *x.shape[1:]), ", expanded: its rows share memory")


def _values(answer: Answer, trial: Trial, laid: Callable[[Tensor], Tensor], how: str) -> None:
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
    xs.append(torch.tensor([-3.0, 0.0, 2.0]))
    for x in xs if not how else [x for x in xs if x.dim() > 1 and x.numel()]:
        for needs_grad in (False, True):
            of_x = laid(x).detach().requires_grad_(needs_grad)
            trial.given(f"x {shown(of_x)}{how}, requires_grad={needs_grad}")
            got = called(answer, trial, of_x)
            _equals_round(trial, got, of_x)
            trial.true(
                x.numel() == 0 or got.data_ptr() != of_x.data_ptr(),
                "The result lies in the memory of x: an edit of one is an edit of the other.",
                expected="a new tensor",
                got="the memory of x",
                observed="memory of x",
            )


@straight_through_round.property(
    "halves go to the even neighbour, as in torch.round", asks=ROUNDED, once_right=True
)
def halves(answer: Answer, trial: Trial) -> None:
    x = torch.tensor([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 7.0])
    trial.given(f"x = {x.tolist()}")
    _equals_round(trial, called(answer, trial, x), x)


def _equals_round(trial: Trial, got: Tensor, x: Tensor) -> None:
    is_tensor(trial, got)
    plain = x.detach()
    # Whether the result of an x that requires grad does is asked with its node.
    want = plain.round().requires_grad_(x.requires_grad and got.requires_grad)
    if found := difference(got, want):
        kind = kind_of(
            got.detach(),
            right=want.detach(),
            x=plain,
            half_up=(plain + 0.5).floor(),
            half_down=(plain - 0.5).ceil(),
            half_away=plain.sign() * (plain.abs() + 0.5).floor(),
            cut=plain.trunc(),
            floor=plain.floor(),
            ceil=plain.ceil(),
            digits_kept=plain.round(decimals=1),
        )
        if kind == "other" and got.shape == x.shape:
            beside = (got.detach() == plain.floor()) | (got.detach() == plain.ceil())
            kind = "a neighbour each" if bool(beside.all()) else kind
        if found.kind == "shape" and got.dim() == 1 and got.numel() == x.numel():
            kind = "flat"
        where = ""
        if found.kind == "value":
            place = int((got.detach().double() - want.detach().double()).abs().argmax())
            where = f", where x is {plain.reshape(-1)[place].item():.6g}"
        trial.equal(got, want, f"The result{where}", observed=(found.kind, kind, got.is_floating_point()))


@straight_through_round.property(
    "one node of its own in the graph, directly above x",
    asks="`torch.round(x)` with the gradient of the identity, as one node of the graph: `StraightThroughRound.apply(x)`.",
    once_right=True,
)
def own_node(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 2, 3).requires_grad_()
    trial.given("x of shape (2, 3), a leaf that requires grad")
    got = called(answer, trial, x)
    is_tensor(trial, got)
    trial.true(
        got.requires_grad,
        "x requires grad, and the result does not: it has no node, and no gradient comes back.",
        expected="a result with a grad_fn, the Function's node",
        got="requires_grad=False",
        observed="off the graph",
    )
    require_own_node(trial, got, [x])


@straight_through_round.property(
    "exactly the numbers of torch.round, also for tiny, large and infinite x", asks=ROUNDED, once_right=True
)
def exact(answer: Answer, trial: Trial) -> None:
    some = torch.tensor([0.1, 0.3, 0.7, -0.6, 1e-9, 12345.678, 4194304.5])
    for name, x in (
        ("nan and infinite numbers", torch.tensor([torch.inf, -torch.inf, torch.nan])),
        ("numbers near 1e12", 1e12 * (1 + torch.rand(4, generator=trial.generator))),
        ("28 numbers between 1e-9 and 8e6", some.repeat(4) * (1 + torch.rand(28, generator=trial.generator))),
        ("the neighbours of halves", _beside_halves(torch.float32)),
        ("the neighbours of halves", _beside_halves(torch.float64)),
        ("large numbers", torch.tensor([1e300, -1e300, 2.0**40 + 0.75], dtype=torch.float64)),
        ("the neighbours of halves", _beside_halves(torch.float16)),
    ):
        trial.given(f"{name}, {x.dtype}, compared exactly")
        got = called(answer, trial, x)
        is_tensor(trial, got)
        nan = [number != number for number in got[:3].tolist()]
        near = "" if got.shape != x.shape or got.dtype != x.dtype or nan[0] else _how_far(got, x.round())
        trial.equal(got, x.round(), rtol=0, atol=0, observed=(name, str(x.dtype), nan, near))


def _how_far(got: Tensor, want: Tensor) -> str:
    """Whether a finite number became one that is no neighbour of the right one."""
    there = want.isfinite()
    away = (got.detach().double() - want.double()).abs()[there]
    neighbour = 1 + 8 * torch.finfo(want.dtype).eps * want.double().abs()[there]
    return "far away" if bool((away > neighbour).any()) else ""


def _beside_halves(dtype: torch.dtype) -> Tensor:
    """The nearest numbers below and above a half, and the ones after them."""
    halves = torch.tensor([0.5, 1.5, 2.5, -0.5, -3.5], dtype=dtype)
    # As an integer the bits of a number are one less than those of its neighbour, away from 0.
    bits = halves.view({2: torch.int16, 4: torch.int32, 8: torch.int64}[halves.itemsize])
    return torch.cat([(bits + step).view(dtype) for step in (-1, 1, -2, 2)])


@straight_through_round.property(
    "the gradient that comes in is not edited", asks="grad_out is not edited.", once_right=True
)
def grad_out_left_alone(answer: Answer, trial: Trial) -> None:
    x, c = drawn(trial, 2, 3).requires_grad_(), 3 * drawn(trial, 2, 3)
    before = c.clone()
    trial.given("a gradient c of shape (2, 3) that comes in")
    run_backward(answer, trial, called(answer, trial, x), [x], c)
    left_alone(trial, c, before, "grad_out")


@straight_through_round.property(
    "the gradient that comes in goes out, everywhere", asks=PASSES, once_right=True
)
def gradient(answer: Answer, trial: Trial) -> None:
    for x in (
        drawn(trial, 4, 6),
        torch.rand(3, 5, generator=trial.generator, dtype=torch.float64) - 0.5,
        torch.tensor([-40.0, -2.5, -1.0, 0.0, 0.5, 1.0, 3.5, 40.0]),
        torch.tensor([torch.inf, torch.nan, 1e30]),
        torch.tensor(0.7, dtype=torch.float16),
    ):
        x.requires_grad_()
        c = (3 * torch.randn(x.shape, generator=trial.generator, dtype=torch.float64)).to(x.dtype)
        turned = x.dim() == 2
        if turned:
            c = c.t().contiguous().t()
        trial.given(
            f"x {shown(x)} between {x.min().item():.3g} and {x.max().item():.3g}, random numbers come in"
            + (", transposed in memory" if turned else "")
        )
        (got,) = gradients(answer, trial, called(answer, trial, x), [x], c.clone())
        trial.true(
            got is not None,
            "x gets no gradient at all: backward returned None for it.",
            expected="the gradient that came in",
            got="None",
            observed="None",
        )
        with torch.no_grad():
            inside = c * (x.abs() <= 1)
            kind = kind_of(
                got,
                zero=0 * c,
                ones=torch.ones_like(c),
                clamped=inside,
                rounded=c.round(),
                times_x=c * x,
                times_rounded=c * x.round(),
                clipped=c.clamp(-1, 1),
                negative=-c,
                nearly=c,
                stopped_at_whole=c * (x != x.round()),
            )
            trial.equal(got.detach(), c, "The gradient of x", observed=kind)


@straight_through_round.property(
    "a gradient of any size, also infinite and nan, goes out as it came", asks=PASSES, once_right=True
)
def any_gradient(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 7).requires_grad_()
    c = torch.tensor([50.0, 1000.0, -1e30, 1e-30, torch.inf, -torch.inf, torch.nan], dtype=x.dtype)
    trial.given(f"the gradient that comes in is {c.tolist()}")
    (got,) = gradients(answer, trial, called(answer, trial, x), [x], c.clone())
    is_tensor(trial, got, "The gradient of x")
    right = torch.isclose(got, c, atol=0, equal_nan=True)
    finite, others = bool(right[:4].all()), bool(right[4:].all())
    trial.equal(got.detach(), c, "The gradient of x", atol=0, observed=(finite, others, bool(right[3])))


@straight_through_round.property(
    "the gradient can be differentiated again", asks="It can be differentiated again.", once_right=True
)
def second_derivative(answer: Answer, trial: Trial) -> None:
    x, c, d = drawn(trial, 2, 3).requires_grad_(), drawn(trial, 2, 3).requires_grad_(), drawn(trial, 2, 3)
    trial.given("the gradient c that comes in requires grad, create_graph=True")
    (first,) = gradients(answer, trial, called(answer, trial, x), [x], c, create_graph=True)
    (got,) = differentiated_again(trial, first, [c], d)
    trial.equal(got, d, "The second derivative")


@straight_through_round.property(
    "nothing is kept for backward",
    asks="Nothing is kept for backward: the memory of x, and that of the result, is free as soon as the caller lets go "
    "of it.",
    once_right=True,
)
def nothing_kept(answer: Answer, trial: Trial) -> None:
    leaf = drawn(trial, 6, 50).requires_grad_()
    trial.given("x of 2400 bytes is dropped, then the result, too; what was computed of it is kept")
    with no_collection():
        x = leaf * 1
        with counted_memory() as kept:
            output = called(answer, trial, x)
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
        + ", and backward needs none of it.",
        expected="nothing",
        got=" and ".join(held) or f"{extra:,} bytes",
        observed=held or "memory held",
    )
