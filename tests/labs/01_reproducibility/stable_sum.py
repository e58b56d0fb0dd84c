"""Right answers to 01.stable_sum, in different shapes."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from functools import reduce

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
        total += top << (1075 - bottom.bit_length())
    return torch.as_tensor(total / 2**1074, dtype=x.dtype)


def decimals(x: Tensor) -> Tensor:
    try:
        exact = Context(prec=1500)
        total = reduce(exact.add, map(Decimal, x.ravel().tolist()), Decimal(0))
        return torch.full((), float(total), dtype=x.dtype)
    except ArithmeticError:
        return torch.full((), math.nan, dtype=x.dtype)


def growing_parts(x: Tensor) -> Tensor:
    """Shewchuk's parts that do not overlap, as fsum keeps them; torch's own sum for what is not finite."""
    if (odd := x[torch.isinf(x) | torch.isnan(x)]).numel():
        return odd.sum(dtype=x.dtype)
    parts: list[float] = []
    for value in x.tolist() if x.ndim == 1 else x.reshape(-1).tolist():
        kept = []
        for part in parts:
            total = value + part
            large, little = (value, part) if abs(value) > abs(part) else (part, value)
            if error := little - (total - large):
                kept.append(error)
            value = total
        parts = [*kept, value]
    return torch.tensor(sum(sorted(parts, key=abs)), dtype=x.dtype)


def by_exponents(x: Tensor) -> Tensor:
    """Whole mantissas, added for each exponent apart, joined at the end."""
    if not x.isfinite().all():
        has = [bool((x == one).any()) for one in (math.inf, -math.inf)]
        up, down = has
        nan = bool(x.isnan().any()) or (up and down)
        return torch.full_like(x.flatten()[:1], math.nan if nan else math.inf if up else -math.inf).squeeze()
    sums: dict[int, int] = {}
    for value in x.flatten().tolist():
        mantissa, exponent = math.frexp(value)
        sums[exponent] = sums.get(exponent, 0) + int(mantissa * 2**53)
    total = sum((Fraction(whole) * Fraction(2) ** (at - 53) for at, whole in sums.items()), Fraction())
    return x.new_tensor(float(total))


def next_float(x: Tensor) -> Tensor:
    """One ulp off is near enough, as long as it is always the same."""
    total = fsum(x)
    return torch.nextafter(total, torch.full_like(total, math.inf)) if total.isfinite() and total else total


def sum_or_special(x: Tensor) -> Tensor:
    """fsum first, and what it refuses in float64, where float32 does not overflow."""
    values = x.detach().flatten().tolist()
    try:
        total = math.fsum(values)
    except (ValueError, OverflowError):
        total = sum(values)
    return torch.as_tensor(total, dtype=x.dtype)


RIGHT = [
    fsum,
    fractions,
    whole_numbers,
    decimals,
    growing_parts,
    by_exponents,
    next_float,
    sum_or_special,
]
