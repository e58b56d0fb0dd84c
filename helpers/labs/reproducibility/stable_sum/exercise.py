"""Exercise 01.stable_sum: the same bits for every order and every number of threads."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise

stable_sum = Exercise(
    "01.stable_sum",
    "One sum, whatever the order",
    objective="Write a sum whose bits depend neither on the order of the numbers nor on the number of threads.",
    minutes=30,
    difficulty="hard",
    core=False,
    seconds=20,
    hints=[
        "Rounding is what makes the order matter. What if nothing is rounded until the very end?",
        "Every float is a whole number times a power of two, so a sum of floats can be computed exactly. Python's "
        "standard library has a function that does it.",
        "`math.fsum(x.flatten().tolist())`, turned into a 0-d tensor of the dtype of x. It refuses infinities of both "
        "signs: where there are any, their sum alone, `x[~x.isfinite()].sum()`, is the answer.",
    ],
)

BIG = 3e37  # near float32's end; 1e18 beside it is lost in 53 bits, and so is 1 beside 1e18


def _numbers(values: list[float], dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.tensor(values, dtype=dtype)


def _exact(x: Tensor) -> Tensor:
    """The sum of finite numbers, rounded once to the dtype of x; 0-d."""
    return torch.tensor(math.fsum(x.flatten().tolist()), dtype=x.dtype)


def _is_number(trial: Trial, got: Any, x: Tensor) -> None:
    """Says what is wrong with anything but a 0-d tensor of the dtype of x."""
    trial.true(
        isinstance(got, Tensor),
        f"Expected a Tensor, got {type(got).__name__}.",
        expected=f"a 0-d tensor of {x.dtype}",
        got=got,
        observed=type(got).__name__,
    )
    trial.true(
        got.shape == () and got.dtype == x.dtype,
        f"The result has shape {tuple(got.shape)} and {got.dtype}, not () and {x.dtype}.",
        expected=f"a 0-d tensor of {x.dtype}",
        got=got,
        observed=(tuple(got.shape), str(got.dtype)),
    )


@stable_sum.property("a 0-d tensor of the dtype of x, for any shape, and sums that fit are exact")
def small(answer: Callable[[Tensor], Tensor], trial: Trial) -> None:
    for dtype, shape in itertools.product(
        (torch.float32, torch.float64), [(), (1,), (7,), (3, 5), (2, 3, 4)]
    ):
        x = torch.randint(-64, 65, shape, generator=trial.generator).to(dtype) / 128
        x = x.mT if len(shape) > 1 else x  # not contiguous
        trial.given(f"x of shape {tuple(x.shape)}, {dtype}, multiples of 1/128")
        got = trial.call(answer, x)
        _is_number(trial, got, x)
        trial.equal(got, _exact(x), rtol=0, atol=0)


@stable_sum.property("an empty sum is 0; inf and nan go through")
def special(answer: Callable[[Tensor], Tensor], trial: Trial) -> None:
    inf, nan = math.inf, math.nan
    for values, want in [([], 0.0), ([inf, 1], inf), ([1, -inf], -inf), ([inf, -inf], nan), ([nan, 1], nan)]:
        for dtype in (torch.float32, torch.float64):
            trial.given(f"x = {values}, {dtype}")
            got = trial.call(answer, _numbers(values, dtype))
            _is_number(trial, got, _numbers([], dtype))
            trial.equal(got, _numbers([want], dtype)[0], rtol=0, atol=0)


@stable_sum.property("the same bits for every number of threads", changes=("number of threads",))
def threads(answer: Callable[[Tensor], Tensor], trial: Trial) -> None:
    x = torch.randn(40_001, generator=trial.generator)
    trial.given("40,001 normal float32, with 1, 2, 3 and 4 threads")
    sums = []
    for count in (1, 2, 3, 4):
        torch.set_num_threads(count)
        got = trial.call(answer, x)
        _is_number(trial, got, x)
        sums.append(got.item())
    _one_result(trial, sums, "The sum changes with the number of threads")


@stable_sum.property("the same bits for every order of ordinary numbers")
def orders(answer: Callable[[Tensor], Tensor], trial: Trial) -> None:
    for dtype in (torch.float32, torch.float64):
        x = torch.rand(3_000, generator=trial.generator, dtype=dtype)
        trial.given(f"3,000 {dtype} between 0 and 1, in 12 orders")
        shuffled = (x[torch.randperm(3_000, generator=trial.generator)] for _ in range(12))
        sums = [float(trial.call(answer, y)) for y in shuffled]
        _one_result(trial, sums, "The sum changes with the order", dtype)


@stable_sum.property("the same bits for every order, also where the numbers cancel")
def cancelling_orders(answer: Callable[[Tensor], Tensor], trial: Trial) -> None:
    for values, dtype in [
        ([1e10, 1, -1e10], torch.float32),
        ([1e30, 1, -1e30], torch.float32),
        ([1e30, 1, -1e30], torch.float64),
        ([BIG, 1e18, 1, -1e18, -BIG], torch.float32),
        ([1e300, 1e150, 1, -1e150, -1e300], torch.float64),
    ]:
        trial.given(f"x = {values}, {dtype}, in many orders")
        rows = list(itertools.permutations(values))[:: 1 if len(values) < 5 else 5]
        sums = [float(trial.call(answer, _numbers(list(row), dtype))) for row in rows]
        distinct = sorted(set(sums))
        _one_result(
            trial, sums, "The sum changes with the order", observed=(values[0], str(dtype), distinct[:4])
        )


@stable_sum.property("the sum itself, to within one ulp")
def near(answer: Callable[[Tensor], Tensor], trial: Trial) -> None:
    normal = torch.randn(5_000, generator=trial.generator)
    for name, x in {
        "[-2**25, 1, 1, ... 1] (32 ones)": _numbers([-(2.0**25), *[1.0] * 32]),
        "[1e30, 1, -1e30]": _numbers([1e30, 1, -1e30]),
        "[1e-30] * 10": _numbers([1e-30] * 10),
        "[1e30] * 10": _numbers([1e30] * 10),
        "[3e37, 1e18, 1, -1e18, -3e37]": _numbers([BIG, 1e18, 1, -1e18, -BIG]),
        "5,000 normal float32": normal,
        "5,000 normal float64": normal.double() / 3,
        "a column of a matrix": torch.randn(50, 3, generator=trial.generator)[:, 1],
    }.items():
        trial.given(f"x = {name}")
        got, want = trial.call(answer, x), _exact(x)
        _is_number(trial, got, x)
        ulp = torch.nextafter(want.abs(), torch.tensor(math.inf, dtype=x.dtype)) - want.abs()
        trial.true(
            bool((got - want).abs() <= ulp),
            "The sum is not the true one: it is off by more than one ulp, the distance to the next float.",
            expected=f"{want.item()!r}, the true sum, or one of its two neighbours",
            got=got.item(),
            observed=(name, f"{got.item():.4g}" if x.numel() < 40 else "off"),
        )


@stable_sum.property("an infinity stays one, also beside numbers that overflow on the way")
def overflow(answer: Callable[[Tensor], Tensor], trial: Trial) -> None:
    for dtype, large in ((torch.float32, 3e38), (torch.float64, 1.7e308)):
        for values in itertools.permutations([large, large, -math.inf]):
            trial.given(f"x = {list(values)}, {dtype}")
            got = trial.call(answer, _numbers(list(values), dtype))
            trial.equal(got, _numbers([-math.inf], dtype)[0], rtol=0, atol=0, observed=f"{got} {dtype}")


def _one_result(
    trial: Trial, sums: list[float], what: str, dtype: torch.dtype = torch.float32, *, observed: Any = None
) -> None:
    distinct = sorted({str(value) for value in sums}, key=float)
    trial.true(
        len(distinct) == 1,
        f"{what}: {len(distinct)} different results.",
        expected="one result, the same to the last bit",
        got=", ".join(distinct[:3]) + (", ..." if len(distinct) > 3 else ""),
        symptom="Each addition rounds, and what is rounded away depends on what was added before.",
        observed=observed or f"{what} {dtype}",
    )
