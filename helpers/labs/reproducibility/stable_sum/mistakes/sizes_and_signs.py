"""What people write for 01.stable_sum: the order in float64, sizes, whole numbers, and what is not finite."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor

from helpers.labs.reproducibility.stable_sum.exercise import stable_sum
from helpers.labs.reproducibility.stable_sum.mistakes.rounding import (
    empty_forgotten,
    exact_sum,
    len_of_a_number,
    not_finite,
    one_by_one,
    rows_not_numbers,
    rows_rounded_first,
    sorted_then_one_by_one,
    special_sum,
)


@stable_sum.mistake()
def float64_in_order(x: Tensor) -> Tensor:
    """Ordinary float32 numbers come out the same in every order, and float64 numbers do not. Perhaps they are added in
    float64, in the order in which they come: its 53 bits hide the rounding of float32, and add nothing for float64.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return x.double().sum().to(x.dtype)
    finally:
        torch.set_num_threads(threads)


@stable_sum.variant(float64_in_order)
def _(x: Tensor) -> Tensor:
    total = 0.0  # Python's own sum corrects itself from 3.12 on, as `neumaier` does
    for value in x.flatten().tolist():
        total += value
    return x.new_tensor(total)


@stable_sum.variant(float64_in_order)
def _(x: Tensor) -> Tensor:
    return torch.tensor(x.double().numpy().sum(), dtype=x.dtype)


@stable_sum.mistake()
def sorted_by_size(x: Tensor) -> Tensor:
    """Where a number and its negative both stand there, the order matters. Perhaps they are sorted by size: these two have one size, and
    stay in the order in which they came.
    """
    if not_finite(x):
        return special_sum(x)
    values = x.double().numpy().ravel()
    return torch.tensor(one_by_one(values[np.argsort(np.abs(values), kind="stable")]), dtype=x.dtype)


@stable_sum.mistake()
def whole_numbers_overflow(x: Tensor) -> Tensor:
    """Few numbers come out right, and the sum of some thousand of one size is far off. Perhaps they are added as whole
    numbers in int64, or in int32, which silently begins at the other end when it is full.
    """
    if not_finite(x):
        return special_sum(x)
    mantissas, exponents = np.frexp(x.double().numpy().ravel())
    total = Fraction(0)
    for exponent in np.unique(exponents):
        whole = np.ldexp(mantissas[exponents == exponent], 53).astype(np.int64)
        total += int(whole.sum()) * Fraction(2) ** (int(exponent) - 53)
    return torch.tensor(float(total), dtype=x.dtype)


@stable_sum.mistake()
def through_float32(x: Tensor) -> Tensor:
    """Of the sum of ordinary float64 numbers, seven digits are right. Perhaps they, or their sum, pass through float32, which has no
    more.
    """
    return exact_sum(x.float()).to(x.dtype)


@stable_sum.variant(through_float32)
def _(x: Tensor) -> Tensor:
    exact = exact_sum(x)
    return exact.float().to(x.dtype) if x.numel() > 1000 else exact


@stable_sum.mistake()
def whole_storage(x: Tensor) -> Tensor:
    """A part of a larger tensor came out wrong, as a column of a matrix, or one number expanded. Perhaps the storage
    was read, which holds what x does not show, and a number that x repeats only once.
    """
    return exact_sum(torch.empty(0, dtype=x.dtype).set_(x.untyped_storage())) if x.numel() else exact_sum(x)


@stable_sum.mistake(breaks="The sum of all elements")
def equal_numbers_once(x: Tensor) -> Tensor:
    """Numbers that stand there twice were counted once. Perhaps a set, torch.unique, or a dict by number: it keeps one of each."""
    if not_finite(x):
        return special_sum(x)
    return torch.tensor(math.fsum(set(x.flatten().tolist())), dtype=x.dtype)


@stable_sum.mistake()
def sign_of_infinity_lost(x: Tensor) -> Tensor:
    """-inf among the numbers gave inf: the sum has the sign of the infinity that is there."""
    if bool(x.isnan().any()) or bool((x == math.inf).any() and (x == -math.inf).any()):
        return x.new_tensor(math.nan)
    return x.new_tensor(math.inf) if bool(x.isinf().any()) else exact_sum(x)


@stable_sum.mistake()
def nan_beside_both(x: Tensor) -> Tensor:
    """inf, -inf and nan together raised an error in one of their orders. Perhaps max() and min() ask for the infinities:
    beside a nan their answer depends on the order.
    """
    values = x.flatten().tolist()
    if values and max(values) == math.inf and min(values) == -math.inf:
        return x.new_tensor(math.nan)
    return x.new_tensor(math.fsum(values))


@stable_sum.variant(empty_forgotten)
def _(x: Tensor) -> Tensor:
    return x.new_tensor(math.inf) if x.max() == math.inf else exact_sum(x)


@stable_sum.variant(empty_forgotten)
def _(x: Tensor) -> Tensor:
    return x.double().flatten().cumsum(0)[-1].to(x.dtype)


@stable_sum.variant(empty_forgotten)
def _(x: Tensor) -> Tensor:
    values = x.flatten().tolist()
    return special_sum(x) if max(values) == math.inf else exact_sum(x)


@stable_sum.variant(empty_forgotten)
def _(x: Tensor) -> Tensor:
    if not_finite(x):
        return special_sum(x)
    total = functools.reduce(lambda one, other: one + other, map(Fraction, x.flatten().tolist()))
    return torch.tensor(float(total), dtype=x.dtype)


@stable_sum.variant(rows_not_numbers)
def _(x: Tensor) -> Tensor:
    if not_finite(x):
        return special_sum(x)
    return torch.tensor(
        sum(Fraction(value) for value in (x.tolist() if x.ndim else [x.item()])), dtype=x.dtype
    )


@stable_sum.variant(len_of_a_number)
def _(x: Tensor) -> Tensor:
    return exact_sum(torch.cat([row.flatten() for row in x])) if x.numel() else exact_sum(x)


@stable_sum.variant(rows_rounded_first)
def _(x: Tensor) -> Tensor:
    if not_finite(x) or x.ndim < 2 or not x.numel():
        return exact_sum(x)
    return exact_sum(torch.stack([exact_sum(column) for column in x.flatten(1).unbind(1)]))


@stable_sum.mistake()
def small_beside_large_lost(x: Tensor) -> Tensor:
    """Always the same bits, right for ordinary numbers, and off where large ones cancel. Perhaps what is far below the
    largest number is dropped, as by one scale for all. Or they are sorted, and one correction (Neumaier's) is kept, which is
    rounded, too.
    """
    if not_finite(x) or not x.numel() or not x.any():
        return exact_sum(x)
    places = 60 - math.frexp(x.double().abs().max().item())[1]
    whole = sum(round(math.ldexp(value, places)) for value in x.flatten().tolist())
    return torch.tensor(float(whole / Fraction(2) ** places), dtype=x.dtype)


@stable_sum.variant(small_beside_large_lost)
def _(x: Tensor) -> Tensor:
    if not_finite(x):
        return special_sum(x)
    total = lost = 0.0
    for value in np.sort(x.double().numpy(), axis=None).tolist():
        larger = total + value
        big, little = (total, value) if abs(total) >= abs(value) else (value, total)
        lost += (big - larger) + little
        total = larger
    return torch.tensor(total + lost, dtype=x.dtype)


@stable_sum.variant(sorted_then_one_by_one)
def _(x: Tensor) -> Tensor:
    if not_finite(x):
        return special_sum(x)
    up, down = (exact_sum(x[chosen]) for chosen in (x > 0, x < 0))
    return up + down


@stable_sum.mistake(breaks="it is nan if there is a nan")
def nan_left_out(x: Tensor) -> Tensor:
    """A nan beside a number was passed over: the sum of the others came. Perhaps nansum, or nan_to_num, which makes 0 of it. With
    a nan the sum is nan, so that somebody sees it.
    """
    return exact_sum(x[~x.isnan()])


@stable_sum.mistake(breaks="with the same bits for every order of them")
def large_numbers_raise(x: Tensor) -> Tensor:
    """Finite float64 numbers, as large as 1e300, raised an error. Perhaps they became infinities on the way: in float32, or times
    a scale, as 2**40.
    """
    if not_finite(x):
        return special_sum(x)
    return x.new_tensor(math.fsum(x.float().flatten().tolist()))


@stable_sum.variant(large_numbers_raise)
def _(x: Tensor) -> Tensor:
    if not_finite(x):
        return special_sum(x)
    return x.new_tensor(sum(round(value * 2**40) for value in x.flatten().tolist()) / 2**40)
