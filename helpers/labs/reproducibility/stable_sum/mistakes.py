"""What people write for 01.stable_sum, and why it is wrong."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.labs.reproducibility.stable_sum.exercise import stable_sum


def _not_finite(x: Tensor) -> bool:
    return not bool(x.isfinite().all())


def _infinities(x: Tensor) -> Tensor:
    """The sum of what is not finite: inf, -inf or nan, and right in every order."""
    return x[~x.isfinite()].sum()


@stable_sum.mistake()
def torch_sum(x: Tensor) -> Tensor:
    """`sum` adds in an order that follows from the layout and the threads; each order rounds differently."""
    return x.sum()


@stable_sum.mistake()
def sorted_first(x: Tensor) -> Tensor:
    """Sorting makes one order of all orders, but the threads still share the work anew, and where numbers
    cancel the result is as wrong as any other.
    """
    return x.flatten().sort().values.sum()


@stable_sum.variant(sorted_first)
def _(x: Tensor) -> Tensor:
    flat = x.flatten()
    return flat[flat.abs().argsort()].sum()


@stable_sum.mistake()
def sorted_then_one_by_one(x: Tensor) -> Tensor:
    """One order, added on one thread: always the same bits, and the wrong ones. After a large number the
    small ones are lost.
    """
    total = np.zeros((), dtype=x.numpy().dtype)
    for value in np.sort(x.numpy(), axis=None):
        with np.errstate(invalid="ignore"):
            total = total + value
    return torch.tensor(total.item(), dtype=x.dtype)


@stable_sum.mistake()
def float64_then_round(x: Tensor) -> Tensor:
    """53 bits hide the rounding of ordinary float32 numbers. They do not hide it where more than 53 bits
    cancel, and for float64 numbers they add nothing.
    """
    return x.double().sum().to(x.dtype)


@stable_sum.mistake()
def kahan(x: Tensor) -> Tensor:
    """Kahan's correction is one number of the same type, rounded at every step: when the sum itself cancels,
    the correction is not enough.
    """
    kind = x.numpy().dtype.type
    total = lost = kind(0)
    with np.errstate(invalid="ignore", over="ignore"):
        for value in x.numpy().flatten():
            fixed = kind(value - lost)
            larger = kind(total + fixed)
            lost = kind(kind(larger - total) - fixed)
            total = larger
    if math.isnan(total):  # inf - inf in the correction
        return x.sum()
    return torch.tensor(float(total), dtype=x.dtype)


@stable_sum.mistake()
def rounded_result(x: Tensor) -> Tensor:
    """Rounding the result hides most differences and adds an error of its own. Two sums on both sides of a
    rounding border still differ.
    """
    return torch.round(x.double().sum(), decimals=1).to(x.dtype)


@stable_sum.mistake()
def fixed_scale(x: Tensor) -> Tensor:
    """Whole numbers add in any order, but one scale cannot hold 1e30 and 1e-30: large ones overflow int64,
    small ones become 0.
    """
    if _not_finite(x):
        return _infinities(x)
    whole = (x.double() * 2**20).round().to(torch.int64)
    return (whole.sum().double() / 2**20).to(x.dtype)


@stable_sum.mistake()
def mean_times_n(x: Tensor) -> Tensor:
    """The mean is the same sum, divided. And the mean of nothing is nan."""
    return (x.double().mean() * x.numel()).to(x.dtype)


@stable_sum.mistake()
def dtype_lost(x: Tensor) -> Tensor:
    """The exact sum is a Python float; as a tensor it must have the dtype of x, or the caller's model changes
    type.
    """
    if _not_finite(x):
        return _infinities(x).double()
    return torch.tensor(math.fsum(x.flatten().tolist()), dtype=torch.float64)


@stable_sum.mistake()
def python_float(x: Tensor) -> Any:
    """A Python float is not a tensor: the next line of a training loop would fail on it."""
    return float(_infinities(x)) if _not_finite(x) else math.fsum(x.flatten().tolist())


@stable_sum.mistake()
def infinities_forgotten(x: Tensor) -> Tensor:
    """math.fsum raises where infinities of both signs meet (a Fraction at the first one); torch's sum gives
    nan or inf there.
    """
    return torch.tensor(math.fsum(x.flatten().tolist()), dtype=x.dtype)


@stable_sum.variant(infinities_forgotten)
def _(x: Tensor) -> Tensor:
    return torch.tensor(float(sum(map(Fraction, x.flatten().tolist()))), dtype=x.dtype)


@stable_sum.mistake()
def rows_not_numbers(x: Tensor) -> Tensor:
    """`tolist()` of a matrix is a list of lists. Flatten first."""
    if x.ndim == 0:
        return x.clone()
    if _not_finite(x):
        return _infinities(x)
    return torch.tensor(math.fsum(x.tolist()), dtype=x.dtype)


@stable_sum.mistake()
def infinities_by_sum(x: Tensor) -> Tensor:
    """`x.sum()` of numbers of which one is infinite is not safe either: 3e38 + 3e38 overflows to inf before
    -inf comes, and the sum is nan in one order and -inf in another. Add only what is not finite.
    """
    if _not_finite(x):
        return x.sum()
    return torch.tensor(math.fsum(x.flatten().tolist()), dtype=x.dtype)
