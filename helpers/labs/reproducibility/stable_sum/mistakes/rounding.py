"""What people write for 01.stable_sum: sums that round on the way, and what is forgotten."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.labs.reproducibility.stable_sum.exercise import stable_sum


def not_finite(x: Tensor) -> bool:
    return not bool(x.isfinite().all())


def special_sum(x: Tensor) -> Tensor:
    """The sum of what is not finite: inf, -inf or nan, and right in every order."""
    return x[~x.isfinite()].sum()


def one_by_one(values: np.ndarray) -> float:
    """0 and the values, added in a loop in their own type."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.add.accumulate(np.append(values.dtype.type(0), values))[-1].item()


@stable_sum.mistake(breaks="with the same bits for every order of them and every number of threads.")
def torch_sum(x: Tensor) -> Tensor:
    """The bits change with the number of threads, as those of `sum`: it adds in an order that follows from
    the layout and the threads, and each order rounds differently.
    """
    return x.sum()


@stable_sum.mistake(breaks="with the same bits for every order of them and every number of threads.")
def sorted_first(x: Tensor) -> Tensor:
    """The sum changes with the number of threads. Perhaps the numbers are sorted, and then added by torch:
    each thread adds a part of them; other threads, other parts.
    """
    return x.flatten().sort().values.sum()


@stable_sum.variant(sorted_first)
def _(x: Tensor) -> Tensor:
    flat = x.flatten()
    return flat[flat.abs().argsort()].sum()


@stable_sum.mistake()
def sorted_then_one_by_one(x: Tensor) -> Tensor:
    """Always the same bits, and the last digits of ordinary float32 numbers' sum are off. Perhaps they are sorted, and
    added one by one: one order for all does not help against rounding. Or parts of the sum are rounded, as that of
    the positive and that of the negative numbers.
    """
    total = np.zeros((), dtype=x.numpy().dtype)
    with np.errstate(invalid="ignore"):
        for value in np.sort(x.numpy(), axis=None):
            total = total + value
    return torch.tensor(total.item(), dtype=x.dtype)


@stable_sum.mistake(breaks="with the same bits for every order of them and every number of threads.")
def float64_then_round(x: Tensor) -> Tensor:
    """The number of threads changes the sum of float64 numbers, and not that of ordinary float32 ones. Perhaps torch
    adds them in float64: its 53 bits hide the rounding of float32, and add nothing for float64. Or only float32 was
    thought of, and float64 is left to torch.
    """
    return x.double().sum().to(x.dtype)


@stable_sum.mistake()
def kahan(x: Tensor) -> Tensor:
    """Ordinary numbers come out the same, and where they cancel the order still matters. Perhaps a correction as
    Kahan's: it is one number of the same type, rounded at every step, which is not enough.
    """
    kind = x.numpy().dtype.type
    total = lost = kind(0)
    with np.errstate(invalid="ignore", over="ignore"):
        for value in x.numpy().flatten():
            fixed = value - lost  # of x's type, as all of these numbers
            larger = total + fixed
            lost = (larger - total) - fixed
            total = larger
    if math.isnan(total):  # inf - inf in the correction
        return x.sum()
    return torch.tensor(float(total), dtype=x.dtype)


@stable_sum.mistake(breaks="the exact sum rounded, or one of the two floats beside that (within one ulp).")
def rounded_result(x: Tensor) -> Tensor:
    """Rounding the result hides most differences and adds an error of its own. Two sums on both sides of a
    rounding border still differ.
    """
    return torch.round(x.double().sum(), decimals=1).to(x.dtype)


@stable_sum.mistake()
def fixed_scale(x: Tensor) -> Tensor:
    """The sum of small numbers, as 1e-30, is off. Perhaps they are left out, rounded to some decimals, or made whole
    numbers of one scale: whole numbers add in any order, but one scale in int64 cannot hold 1e30 and 1e-30.
    """
    if not_finite(x):
        return special_sum(x)
    whole = (x.double() * 2**20).round().to(torch.int64)
    return (whole.sum().double() / 2**20).to(x.dtype)


@stable_sum.mistake(breaks="The sum of no elements is 0.")
def mean_times_n(x: Tensor) -> Tensor:
    """The sum of nothing came out as nan. Perhaps the mean was taken, which is the same sum, divided."""
    return (x.double().mean() * x.numel()).to(x.dtype)


@stable_sum.mistake(breaks="Returns a tensor of no dimensions and of the dtype of x")
def dtype_lost(x: Tensor) -> Tensor:
    """The result does not have the dtype of x, and the caller's model changes type. Perhaps an exact sum, which is a
    Python float, was made a tensor without its dtype.
    """
    if not_finite(x):
        return special_sum(x).double()
    return torch.tensor(math.fsum(x.flatten().tolist()), dtype=torch.float64)


@stable_sum.mistake(breaks="Returns a tensor of no dimensions and of the dtype of x")
def python_float(x: Tensor) -> Any:
    """A Python float is not a tensor: the next line of a training loop would fail on it."""
    return float(special_sum(x)) if not_finite(x) else math.fsum(x.flatten().tolist())


@stable_sum.mistake()
def infinities_forgotten(x: Tensor) -> Tensor:
    """An infinity raised an error, alone or beside one of the other sign. Perhaps math.fsum, which raises
    where both signs meet, a Fraction, which raises at the first one, or a test. torch's sum gives nan or inf there.
    """
    return torch.tensor(math.fsum(x.flatten().tolist()), dtype=x.dtype)


@stable_sum.variant(infinities_forgotten)
def _(x: Tensor) -> Tensor:
    return torch.tensor(float(sum(map(Fraction, x.flatten().tolist()))), dtype=x.dtype)


@stable_sum.variant(infinities_forgotten)
def _(x: Tensor) -> Tensor:
    if not_finite(x):
        raise ValueError("x must be finite")
    return torch.tensor(math.fsum(x.flatten().tolist()), dtype=x.dtype)


@stable_sum.mistake(breaks="float32 or float64, of any shape")
def rows_not_numbers(x: Tensor) -> Tensor:
    """A matrix raised an error. Perhaps `tolist()`, which gives a list of lists for it: flatten first."""
    if x.ndim == 0:
        return x.clone()
    if not_finite(x):
        return special_sum(x)
    return torch.tensor(math.fsum(x.tolist()), dtype=x.dtype)


@stable_sum.mistake()
def infinities_by_sum(x: Tensor) -> Tensor:
    """Two large numbers and an infinity gave nan. Perhaps `x.sum()` is given where one is infinite: 3e38 +
    3e38 overflows to inf before -inf comes. Add only what is not finite.
    """
    if not_finite(x):
        return x.sum()
    return torch.tensor(math.fsum(x.flatten().tolist()), dtype=x.dtype)


# Nearly exact sums, and the wrong things done to x.


def exact_sum(x: Tensor) -> Tensor:
    """Right: mistakes build on it."""
    if not_finite(x):
        return special_sum(x)
    return torch.tensor(math.fsum(x.flatten().tolist()), dtype=x.dtype)


@stable_sum.mistake()
def neumaier(x: Tensor) -> Tensor:
    """Two numbers were enough for 1e30 and 1, and not for three sizes that cancel. Perhaps a sum with a correction in
    float64 (Neumaier's, or Python's own `sum` from 3.12 on): the correction itself is rounded. Only an exact sum holds for all.
    """
    if not_finite(x):
        return special_sum(x)
    total = lost = 0.0
    for value in x.flatten().tolist():
        larger = total + value
        big, little = (total, value) if abs(total) >= abs(value) else (value, total)
        lost += (big - larger) + little
        total = larger
    return torch.tensor(total + lost, dtype=x.dtype)


@stable_sum.mistake()
def some_more_bits(x: Tensor) -> Tensor:
    """Ordinary numbers come out the same in every order; 1e30, 1 and -1e30 do not. Perhaps they are added with more
    bits, as float64, longdouble or Decimal (28 digits unless told otherwise): that pushes the rounding further away,
    and does not end it.
    """
    if not_finite(x):
        return special_sum(x)
    return torch.tensor(float(sum(map(Decimal, x.flatten().tolist()))), dtype=x.dtype)


@stable_sum.variant(some_more_bits)
def _(x: Tensor) -> Tensor:
    if not_finite(x):
        return special_sum(x)
    return torch.tensor(float(np.sum(x.numpy().astype(np.longdouble))), dtype=x.dtype)


@stable_sum.variant(some_more_bits)
def _(x: Tensor) -> Tensor:
    if not_finite(x):
        return special_sum(x)
    total = lost = 0.0
    for value in x.flatten().tolist():
        addend = value - lost
        larger = total + addend
        lost = (larger - total) - addend
        total = larger
    return torch.tensor(total, dtype=x.dtype)


@stable_sum.variant(some_more_bits)
def _(x: Tensor) -> Tensor:
    return x.double().sum().float() if x.dtype == torch.float32 and not not_finite(x) else exact_sum(x)


@stable_sum.mistake()
def decimal_of_more_digits(x: Tensor) -> Tensor:
    """Float32 numbers and ordinary float64 ones come out the same in every order; where float64 numbers of very
    different sizes cancel, they do not. Perhaps they are added with some hundred bits or more: 1e300 + 1e-300 has 2,000.
    """
    if not_finite(x):
        return special_sum(x)
    with localcontext() as context:
        context.prec = 50
        return torch.tensor(float(sum(map(Decimal, x.flatten().tolist()))), dtype=x.dtype)


@stable_sum.variant(decimal_of_more_digits)
def _(x: Tensor) -> Tensor:
    if not_finite(x):
        return special_sum(x)
    with localcontext() as context:
        context.prec = 400
        return torch.tensor(float(sum(map(Decimal, x.flatten().tolist()))), dtype=x.dtype)


@stable_sum.mistake()
def rounded_on_the_way(x: Tensor) -> Tensor:
    """Always the same bits, and the last digits of ordinary float64 numbers' sum are off, by more than one ulp. Perhaps
    they are sorted and added in float64, or positive and negative ones apart, or the sum is rounded to some digits:
    nothing may be rounded before the end.
    """
    if not_finite(x):
        return special_sum(x)
    values = np.sort(x.double().numpy(), axis=None)
    return torch.tensor(one_by_one(values[np.argsort(-np.abs(values), kind="stable")]), dtype=x.dtype)


@stable_sum.variant(rounded_on_the_way)
def _(x: Tensor) -> Tensor:
    if not_finite(x):
        return special_sum(x)
    return torch.tensor(one_by_one(np.sort(x.double().numpy(), axis=None)), dtype=x.dtype)


def _cut_off(x: Tensor, places: int) -> Fraction:
    """The sum of all int(Fraction(value) * 2**places), over 2**places, with no loop over the numbers."""
    fractions, wholes = np.modf(x.double().numpy().ravel())
    cut = _whole_sum(np.trunc(np.ldexp(fractions, places)))
    return Fraction((_whole_sum(wholes) << places) + cut, 2**places)


def _whole_sum(values: np.ndarray) -> int:
    """The exact sum of whole numbers in float64, added for each exponent apart, in halves that have bits to spare."""
    mantissas, exponents = np.frexp(values)
    least = int(exponents.min(initial=0))
    halves = np.divmod(np.ldexp(mantissas, 53), 2.0**27)
    highs, lows = (np.bincount(exponents - least, weights=half) for half in halves)
    total = 0
    for place in np.flatnonzero((highs != 0) | (lows != 0)).tolist():
        total += ((int(highs[place]) << 27) + int(lows[place])) << place
    return total * 2**least >> 53 if least >= 0 else total >> 53 - least


@stable_sum.mistake()
def small_scale_lost(x: Tensor) -> Tensor:
    """The sum of the smallest numbers is off: they count, too. Perhaps whole numbers of one scale, which was not small
    enough (the smallest float64 is 2**-1074); or what is below the smallest normal number was taken for 0.
    """
    if not_finite(x):
        return special_sum(x)
    return torch.tensor(float(_cut_off(x, 149)), dtype=x.dtype)


@stable_sum.variant(small_scale_lost)
def _(x: Tensor) -> Tensor:
    if not_finite(x):
        return special_sum(x)
    return torch.tensor(float(_cut_off(x, 1022)), dtype=x.dtype)


@stable_sum.mistake()
def added_in_order(x: Tensor) -> Tensor:
    """The threads do not matter, and the order of ordinary float32 numbers does. Perhaps they are added in the order in
    which they come, by a loop or by one thread: each order rounds differently.
    """
    return special_sum(x) if not_finite(x) else torch.tensor(one_by_one(x.numpy()), dtype=x.dtype)


@stable_sum.mistake(breaks="x stays as it is")
def x_changed(x: Tensor) -> Tensor:
    """x itself was changed, perhaps sorted, shifted or cleaned in place: the caller goes on with different numbers.
    Work on a copy.
    """
    x.copy_(x.flatten().sort().values.view(x.shape))
    return exact_sum(x)


@stable_sum.variant(x_changed)
def _(x: Tensor) -> Tensor:
    odd = not_finite(x)
    if not odd and x.numel():
        x -= x.min()
    return exact_sum(x)


@stable_sum.mistake(breaks="x stays as it is, and so does the number of threads.")
def one_thread_from_now_on(x: Tensor) -> Tensor:
    """The number of threads was changed, perhaps by torch.set_num_threads(1): it holds for the rest of the program,
    which is slower from then on. An exact sum needs no such thing.
    """
    torch.set_num_threads(1)
    return exact_sum(x)


@stable_sum.variant(one_thread_from_now_on)
def _(x: Tensor) -> Tensor:
    torch.set_num_threads(1)
    return x.double().sum().to(x.dtype)


@stable_sum.mistake(breaks="float32 or float64, of any shape")
def viewed(x: Tensor) -> Tensor:
    """A matrix that is not contiguous raised an error. Perhaps view, which needs the elements in the order of memory:
    flatten or reshape copies where it must.
    """
    flat = x.view(-1)
    return exact_sum(flat)


@stable_sum.mistake()
def infinities_replaced(x: Tensor) -> Tensor:
    """Where inf stands among the numbers a finite sum came: the caller's log then looks healthy. Perhaps inf
    and nan were taken out or replaced.
    """
    return torch.tensor(math.fsum(x[x.isfinite()].tolist()), dtype=x.dtype)


@stable_sum.mistake()
def always_nan(x: Tensor) -> Tensor:
    """One infinity alone gave nan. The sum of inf and 1 is inf; only inf with -inf, or a nan, makes nan."""
    if not_finite(x):
        return torch.tensor(math.nan, dtype=x.dtype)
    return torch.tensor(math.fsum(x.flatten().tolist()), dtype=x.dtype)


@stable_sum.mistake()
def first_infinity(x: Tensor) -> Tensor:
    """inf and -inf gave one of the two: together they make nan. Perhaps the first or the largest of the
    values that are not finite was given: add all of them.
    """
    if not_finite(x):
        return x[~x.isfinite()][0]
    return torch.tensor(math.fsum(x.flatten().tolist()), dtype=x.dtype)


@stable_sum.variant(first_infinity)
def _(x: Tensor) -> Tensor:
    values = set(x.flatten().tolist())
    for value in (math.inf, -math.inf):
        if value in values:
            return torch.tensor(value, dtype=x.dtype)
    return torch.tensor(math.fsum(x.flatten().tolist()), dtype=x.dtype)


@stable_sum.mistake()
def nan_forgotten(x: Tensor) -> Tensor:
    """An infinity beside a nan gave the infinity. nan is the sum as soon as one is there."""
    values = x.flatten().tolist()
    up, down = math.inf in values, -math.inf in values
    if up or down:
        return torch.tensor(math.nan if up and down else math.inf if up else -math.inf, dtype=x.dtype)
    return torch.tensor(math.fsum(values), dtype=x.dtype)


@stable_sum.mistake(breaks="The sum of no elements is 0.")
def empty_forgotten(x: Tensor) -> Tensor:
    """No elements raised an error. Of none there is no first one, no largest one and nothing to stack. Their sum is
    0.
    """
    assert x.numel(), "nothing to add"
    return exact_sum(x)


@stable_sum.mistake(breaks="Returns a tensor of no dimensions and of the dtype of x")
def one_dimension_kept(x: Tensor) -> Tensor:
    """The result has one dimension. Perhaps from `torch.tensor([total])`, reshape(1) or `sum(keepdim=True)`: a number has none."""
    return exact_sum(x).reshape(1)


@stable_sum.mistake(breaks="Returns a tensor of no dimensions")
def rows_summed(x: Tensor) -> Tensor:
    """Only one dimension was summed: the sum of all elements is one number."""
    if x.ndim < 2:
        return exact_sum(x)
    return torch.stack([exact_sum(row) for row in x.flatten(1)]) if len(x) else x.sum(0)


@stable_sum.mistake(breaks="Returns a tensor of no dimensions and of the dtype of x")
def float32_always(x: Tensor) -> Tensor:
    """The result of float64 numbers is float32, as torch.tensor makes it of a Python float: hand it dtype=x.dtype."""
    return torch.tensor(exact_sum(x).item())


@stable_sum.variant(x_changed)
def _(x: Tensor) -> Tensor:
    x[~x.isfinite()] = 0
    return exact_sum(x)


@stable_sum.mistake()
def rows_rounded_first(x: Tensor) -> Tensor:
    """Some hundred numbers in one row give the same bits in every order, and in a matrix they do not. Perhaps each row is
    summed and rounded first: then rounded numbers are added. All elements belong in one exact sum.
    """
    if not_finite(x) or x.ndim < 2:
        return exact_sum(x)
    return torch.tensor(sum(math.fsum(row) for row in x.flatten(1).tolist()), dtype=x.dtype)


@stable_sum.variant(rows_rounded_first)
def _(x: Tensor) -> Tensor:
    if not_finite(x) or x.ndim < 2:
        return exact_sum(x)
    return torch.stack([exact_sum(row) for row in x]).sum() if len(x) else exact_sum(x)


@stable_sum.mistake()
def parts_rounded_first(x: Tensor) -> Tensor:
    """Few numbers come out right, and many do not. Perhaps they are summed in parts of some thousands, each rounded:
    what stands in which part follows from the order.
    """
    values = x.flatten().tolist()
    if not_finite(x):
        return special_sum(x)
    sums = [math.fsum(values[start : start + 4096]) for start in range(0, len(values), 4096)]
    return torch.tensor(sum(sums), dtype=x.dtype)


@stable_sum.variant(rounded_on_the_way)
def _(x: Tensor) -> Tensor:
    if not_finite(x):
        return special_sum(x)
    values = x.flatten().tolist()
    up, down = math.fsum(v for v in values if v > 0), math.fsum(v for v in values if v < 0)
    return torch.tensor(up + down, dtype=x.dtype)


@stable_sum.variant(rounded_on_the_way)
def _(x: Tensor) -> Tensor:
    if not_finite(x):
        return special_sum(x)
    return torch.tensor(float(f"{math.fsum(x.flatten().tolist()):.14e}"), dtype=x.dtype)


@stable_sum.mistake(breaks="float32 or float64, of any shape")
def len_of_a_number(x: Tensor) -> Tensor:
    """A tensor of no dimensions raised an error: it has no len(), no rows, and nothing to loop over. numel() counts the elements of any shape."""
    return x.sum() if len(x) == 0 else exact_sum(x)


@stable_sum.variant(len_of_a_number)
def _(x: Tensor) -> Tensor:
    """tolist() gives a number for a tensor of no dimensions, and lists of lists for a matrix."""
    return torch.tensor(math.fsum(x.tolist()), dtype=x.dtype)


@stable_sum.variant(sorted_then_one_by_one)
def _(x: Tensor) -> Tensor:
    values = np.sort(x.numpy(), axis=None)
    if not_finite(x) or not len(values):
        return special_sum(x)
    return torch.tensor(np.add.accumulate(values)[-1], dtype=x.dtype)


@stable_sum.mistake(breaks="with the same bits for every order of them")
def short_parts_rounded_first(x: Tensor) -> Tensor:
    """The sum of many numbers changes with their order. Perhaps they are summed in short parts, each rounded: what stands in
    which part follows from the order.
    """
    if not_finite(x):
        return special_sum(x)
    values = x.flatten().tolist()
    sums = [math.fsum(values[start : start + 64]) for start in range(0, len(values), 64)]
    return torch.tensor(math.fsum(sums), dtype=x.dtype)


@stable_sum.variant(short_parts_rounded_first)
def _(x: Tensor) -> Tensor:
    if not_finite(x):
        return special_sum(x)
    values = x.flatten().tolist()
    return torch.tensor(math.fsum(math.fsum(values[start::5]) for start in range(5)), dtype=x.dtype)


@stable_sum.variant(short_parts_rounded_first)
def _(x: Tensor) -> Tensor:
    if not_finite(x):
        return special_sum(x)
    sums = [math.fsum(part.tolist()) for part in x.flatten().split(256)]
    return x.new_tensor(np.add.accumulate(sums)[-1])  # as Python's sum before 3.12, which corrects itself
