"""Right answers to 01.stable_sum, in different shapes."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import torch
from torch import Tensor


def fsum(x: Tensor) -> Tensor:
    if not torch.isfinite(x).all():
        return x[~torch.isfinite(x)].sum()
    return torch.tensor(math.fsum(x.flatten().tolist()), dtype=x.dtype)


def fractions(x):
    if x.isnan().any() or x.isinf().any():
        return sum(value for value in x.flatten() if not value.isfinite())
    return x.new_tensor(float(sum((Fraction(value) for value in x.reshape(-1).tolist()), Fraction(0))))


def whole_numbers(x: Tensor) -> Tensor:
    """Every float64 is a whole multiple of 2**-1074."""
    if not x.isfinite().all():
        odd = set(x[~x.isfinite()].tolist())
        return torch.as_tensor(odd.pop() if len(odd) == 1 else math.nan, dtype=x.dtype)
    total = 0
    for value in x.double().flatten().tolist():
        top, bottom = value.as_integer_ratio()
        total += top * (2**1074 // bottom)
    return torch.as_tensor(total / 2**1074, dtype=x.dtype)


def decimals(x: Tensor) -> Tensor:
    try:
        exact = Context(prec=1500)
        total = Decimal(0)
        for value in x.ravel().tolist():
            total = exact.add(total, Decimal(value))
        return torch.full((), float(total), dtype=x.dtype)
    except ArithmeticError:
        return torch.full((), math.nan, dtype=x.dtype)


RIGHT = [fsum, fractions, whole_numbers, decimals]
