"""What people write for 10.std_var, and why it is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.check.spec import returned
from helpers.labs.pitfalls.std_var.exercise import (
    DIVIDED,
    DTYPE,
    EDGES,
    FAR,
    KEEPDIM,
    OWN,
    STD,
    VAR,
    Dims,
    count,
    squares_of,
    std_var,
)

built = std_var.bank(returned)

Var = Callable[..., Tensor]


def with_root(var: Var) -> tuple[Var, Var]:
    """std and var, of which std is the root, with the same defaults."""

    def std(x: Tensor, dim: Dims, *options: Any, **named: Any) -> Tensor:
        return var(x, dim, *options, **named).sqrt()

    return std, var


by_variance = std_var.bank(with_root)


def right_var(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return squares_of(x, dim, keepdim) / max(count(x, dim) - correction, 0)


right_std = with_root(right_var)[0]


def divided_by(divisor: Callable[[int, int], Any]) -> tuple[Var, Var]:
    """std and var whose squares are divided by divisor(n, correction)."""

    def var(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
        return squares_of(x, dim, keepdim) / divisor(count(x, dim), correction)

    return with_root(var)


@built.mistake(breaks=DIVIDED)
def always_n():
    """The squares are divided by n, whatever correction says. torch divides by n - correction, and correction
    is 1 unless somebody says otherwise: numpy.std has a different default.
    """
    return divided_by(lambda n, correction: n)


@built.mistake(breaks=DIVIDED)
def always_n_minus_1():
    """The squares are divided by n - 1, whatever correction says. With correction=0, which the normalisation
    layers ask for, the variance is too large.
    """
    return divided_by(lambda n, correction: max(n - 1, 0))


std_var.variant(always_n_minus_1)(divided_by(lambda n, correction: n - 1))


@built.mistake(breaks=DIVIDED)
def correction_as_a_switch():
    """Corrections of 0 and 1 are right, and one of 2 gives n - 1. Perhaps correction is read as the old switch
    unbiased=True or False: it is a number, which is subtracted from n.
    """
    return divided_by(lambda n, correction: max(n - 1, 0) if correction else n)


std_var.variant(correction_as_a_switch)(divided_by(lambda n, correction: n - bool(correction)))


@built.mistake(breaks=DIVIDED)
def correction_0_not_taken():
    """With correction=0 the squares are divided by n - 1, and a correction of 2 or 3 is right. Perhaps `correction or 1`,
    or `if correction`: 0 is a number like any other.
    """
    return divided_by(lambda n, correction: max(n - (correction or 1), 0))


@built.mistake(breaks=DIVIDED)
def correction_added():
    """The squares are divided by n + correction. The sample's own mean lies too near to the sample, so the sum
    is too small, and what it is divided by is made smaller, too.
    """
    return divided_by(lambda n, correction: n + correction)


@built.mistake(breaks=EDGES)
def one_entry_counts_as_two():
    """One entry has the variance 0, which looks like a measured one, where NaN says that there is none. Perhaps
    the divisor is kept from being 0, or NaN is replaced.
    """
    return divided_by(lambda n, correction: max(n - correction, 1))


@with_root
def nan_hidden(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return torch.nan_to_num(right_var(x, dim, correction, keepdim), nan=0.0)


std_var.variant(one_entry_counts_as_two)(nan_hidden)
std_var.variant(one_entry_counts_as_two)(divided_by(lambda n, correction: (n - correction) or 1))


@built.mistake(breaks=EDGES)
def nothing_has_variance_0():
    """No entry at all has the variance 0, where NaN is the truth about a sample of nothing. Perhaps the divisor is
    n - correction, and may fall below 0, or n = 0 has a way of its own.
    """
    return divided_by(lambda n, correction: n - correction)


std_var.variant(nothing_has_variance_0)(
    divided_by(lambda n, correction: max(n - correction, 0) if n else math.inf)
)


@built.mistake(breaks=DIVIDED)
def divisor_below_0():
    """With a correction larger than n the variance is below 0. Perhaps the divisor is n - correction:
    max(n - correction, 0) does not fall below 0.
    """
    return divided_by(lambda n, correction: n - correction if n else 0)


@built.mistake(breaks=EDGES)
def one_entry_always_nan():
    """One entry has the variance NaN with correction=0, too. Its squares are 0, and so is 0 / 1. Perhaps n = 1 has a
    way of its own.
    """
    return divided_by(lambda n, correction: max(n - correction, 0) if n > 1 else 0)


@with_root
def _factor_of_numbers(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    distances = x - x.mean(dim, keepdim=True)
    n = count(x, dim)
    return distances.square().mean(dim, keepdim=keepdim) * (n / (n - correction))


@built.mistake(breaks=EDGES)
def python_divides_by_0():
    """A sample of one ends the program with ZeroDivisionError. Perhaps n / (n - correction) is computed with
    Python's numbers: a tensor divided by 0 gives NaN or inf.
    """
    return _factor_of_numbers


@by_variance.variant(python_divides_by_0)
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return squares_of(x, dim, keepdim) * (1 / (count(x, dim) - correction))


def counted(n: Callable[[Tensor, Dims], int]) -> tuple[Var, Var]:
    """std and var that count the entries of a sum in a different way."""

    def var(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
        return squares_of(x, dim, keepdim) / max(n(x, dim) - correction, 0)

    return with_root(var)


def listed(dim: Dims, x: Tensor) -> tuple[int, ...]:
    return tuple(range(x.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)


@built.mistake(breaks=DIVIDED)
def n_of_the_whole_tensor():
    """The squares are divided by more than the entries of one sum. Perhaps n is taken from the whole tensor
    (numel): each variance has a sum of its own.
    """
    return counted(lambda x, dim: x.numel())


@built.mistake(breaks=DIVIDED)
def n_of_one_dim_only():
    """Over several dims the squares are divided by the size of one of them. n is the product of all their
    sizes.
    """
    return counted(lambda x, dim: x.shape[listed(dim, x)[0]])


std_var.variant(n_of_one_dim_only)(counted(lambda x, dim: x.shape[listed(dim, x)[-1]]))


@built.mistake(breaks=DIVIDED)
def sizes_added():
    """Over several dims their sizes are added up: a sum over dims of 3 and 5 has 15 entries, not 8."""
    return counted(lambda x, dim: sum(x.shape[d] for d in listed(dim, x)))


@built.mistake(breaks=DIVIDED)
def n_is_the_number_of_rows():
    """Over a dim other than the first n is wrong. Perhaps it is len(x), the size of dim 0, whatever dim is
    reduced.
    """
    return counted(lambda x, dim: len(x))


@built.mistake(breaks=DIVIDED)
def correction_once_a_dim():
    """Over several dims the correction is subtracted from each size. One mean is taken from the sample, so it
    is subtracted once, from the product.
    """
    return (
        right_std,
        lambda x, dim, correction=1, keepdim=False: (
            squares_of(x, dim, keepdim) / math.prod(x.shape[d] - correction for d in listed(dim, x))
        ),
    )


@by_variance.mistake(breaks=VAR)
def everything_reduced(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """One number comes out, whatever dim is. Perhaps dim is not handed on, and without it torch reduces
    everything.
    """
    return ((x - x.mean()) ** 2).sum() / (x.numel() - correction)


@by_variance.mistake(breaks=VAR)
def dim_0_is_none(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """With dim=0 one number comes out, and with dim=1 one a row, as asked. Perhaps `if not dim`, which is also so for
    0: ask `dim is None`.
    """
    return right_var(x, dim or None, correction, keepdim)


@built.mistake(breaks=DIVIDED)
def dim_from_the_end_not_counted():
    """With dim=-1 the squares are divided by 0. Perhaps n is the product of the sizes whose number stands in dim, and no
    size has the number -1.
    """
    return counted(lambda x, dim: math.prod(x.shape[d] for d in range(x.ndim) if d in listed(dim, x)))


@by_variance.mistake(breaks=VAR)
def first_of_several(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """Of two dims one is still there. Perhaps only the first or the last of them is reduced."""
    return right_var(x, listed(dim, x)[0], correction, keepdim)


@by_variance.variant(first_of_several)
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return right_var(x, listed(dim, x)[-1], correction, keepdim)


@by_variance.mistake(breaks=DIVIDED)
def one_mean_for_everything(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The distances are those from the mean of the whole tensor. Perhaps x.mean() with no dim: each row has a
    mean of its own.
    """
    return (x - x.mean()).square().sum(dim, keepdim=keepdim) / max(count(x, dim) - correction, 0)


@by_variance.mistake(breaks=DIVIDED)
def mean_without_keepdim(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """A square x gets the distances from the means of other rows, in silence, and others raise. Perhaps the
    mean lost the reduced dim, and is lined up from the right: keepdim=True leaves a 1 in its place.
    """
    return (x - x.mean(dim)).square().sum(dim, keepdim=keepdim) / max(count(x, dim) - correction, 0)


def one_dim_after_the_other(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The variance over the first dim, then the mean over the others."""
    first, *others = listed(dim, x)
    found = right_var(x, first, correction, True)
    dims = listed(dim, x)
    found = found.mean(others, keepdim=True) if others else found
    return found if keepdim else found.squeeze(dims)


def dim_by_dim(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    for d in listed(dim, x):
        x = right_var(x, d, correction, True)
    return x if keepdim else x.squeeze(listed(dim, x))


def _last_first(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return one_dim_after_the_other(x, listed(dim, x)[::-1], correction, keepdim)


@built.mistake(breaks=DIVIDED)
def mean_of_variances():
    """Over several dims this is the mean of the variances over one dim. That misses how far the means are from
    one another.
    """
    return with_root(one_dim_after_the_other)


std_var.variant(mean_of_variances)(with_root(_last_first))


@built.mistake(breaks=DIVIDED)
def variance_of_variances():
    """Over several dims this is the variance of variances. Perhaps the function is applied once for each dim,
    so the second time it measures how much the variances vary.
    """
    return with_root(dim_by_dim)


@with_root
def _by_numpy(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return torch.as_tensor(np.var(x.numpy(), axis=dim, ddof=correction, keepdims=keepdim), dtype=x.dtype)


def _torchs_std(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return x.std(dim, correction=correction, keepdim=keepdim)


def _torchs_var(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return torch.var(x, dim, correction=correction, keepdim=keepdim)


def _torchs_both(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return torch.var_mean(x, dim, correction=correction, keepdim=keepdim)[0]


@built.mistake(breaks=OWN)
def torchs_own():
    """A function of a library does the work, and the question by what it divides stays open. Three lines answer
    it.
    """
    return (_torchs_std, _torchs_var)


for _form in (with_root(_torchs_var), with_root(_torchs_both), _by_numpy, (_torchs_std, right_var)):
    std_var.variant(torchs_own)(_form)
std_var.variant(torchs_own)((right_std, _torchs_var))


# Digits lost, shapes and types, and a std that is no root of its var.


def scaled(x: Tensor, dim: Dims, correction: int) -> float:
    n = count(x, dim)
    return n / (n - correction) if n > correction else float("nan")


@by_variance.mistake(breaks=FAR)
def one_pass(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """Far from 0 the digits are lost, already at 1e4 in float32. Perhaps it is the mean of the squares minus
    the square of the mean: both are huge and nearly equal, and their difference is what rounding left.
    """
    biased = x.square().mean(dim, keepdim=keepdim) - x.mean(dim, keepdim=keepdim).square()
    return biased * scaled(x, dim, correction)


@by_variance.variant(one_pass)
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    n = count(x, dim)
    rest = (x * x).sum(dim, keepdim=keepdim) - x.sum(dim, keepdim=keepdim) ** 2 / n
    return rest.clamp(min=0) / max(n - correction, 0)


@by_variance.mistake(breaks=FAR)
def one_pass_in_float64(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """Far from 0 float32 is right, and float64 loses its digits. Perhaps the one-pass formula is given float64
    to compute in, which moves the trouble and keeps it. Subtract the mean first.
    """
    wide = x.double()
    biased = wide.square().mean(dim, keepdim=keepdim) - wide.mean(dim, keepdim=keepdim).square()
    return (biased * scaled(x, dim, correction)).to(x.dtype)


def half_right_dims(others: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """A var that is right for one dim or several, and does `others` for dim=None."""

    def var(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
        if dim is None:
            return right_var(others(x), -1, correction, keepdim)
        return right_var(x, dim, correction, keepdim)

    return var


@built.mistake(breaks=VAR)
def none_is_the_last_dim():
    """dim=None reduces the last dim. In torch it stands for all of them."""
    return with_root(half_right_dims(lambda x: x))


@by_variance.mistake(breaks=VAR)
def none_counts_rows(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """With dim=None the squares are divided as if there were as many entries as rows. Perhaps they are counted by len(x):
    x.numel() counts all.
    """
    n = len(x) if dim is None else count(x, dim)
    return squares_of(x, dim, keepdim) / max(n - correction, 0)


@by_variance.mistake(breaks=VAR)
def none_not_expected(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """dim=None ends in an error. It stands for all dims: perhaps it is counted or looped over like a tuple."""
    n = 1
    for d in (dim,) if isinstance(dim, int) else dim:
        n *= x.shape[d]
    return squares_of(x, dim, keepdim) / max(n - correction, 0)


@by_variance.variant(none_not_expected)
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    n = x.size(dim) if not isinstance(dim, tuple) else count(x, dim)
    return squares_of(x, dim, keepdim) / max(n - correction, 0)


@by_variance.mistake(breaks=KEEPDIM)
def keepdim_left_out(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """keepdim=True drops the reduced dims. Perhaps it is taken as an argument and used nowhere."""
    return right_var(x, dim, correction)


@by_variance.mistake(breaks=KEEPDIM)
def keepdim_lost_for_none(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """With dim=None a tensor of no dimensions comes out, though keepdim is True. Perhaps dim=None has a way of its own,
    which leaves keepdim out.
    """
    return right_var(x, dim, correction, keepdim and dim is not None)


@by_variance.mistake(breaks=KEEPDIM)
def dims_always_kept(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The reduced dims stay with size 1, though keepdim is False. The keepdim=True that the mean needs is not
    the one that the result has.
    """
    return right_var(x, dim, correction, True)


@by_variance.mistake(breaks=DTYPE)
def float64_comes_out(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """From float32 a float64 comes out. Perhaps the sums are made in float64, which is careful, and the result
    is left there.
    """
    return right_var(x.double(), dim, correction, keepdim)


@by_variance.mistake(breaks=DIVIDED)
def eps_added(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The variance is too large by a small number. Perhaps it keeps a root away from 0: that belongs in a
    normalisation, and equal entries have variance 0.
    """
    return right_var(x, dim, correction, keepdim) + 1e-5


def _with_eps(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return (right_var(x, dim, correction, keepdim) + 1e-12).sqrt()


@built.mistake(breaks=STD)
def eps_under_the_root():
    """std of equal entries is not 0. Perhaps it is the root of var plus a small number."""
    return (_with_eps, right_var)


@built.mistake(breaks=STD)
def nearly_the_root():
    """std is near the root of var, to some digits, and is not the root. Perhaps a small number is added under it."""
    return (lambda *args, **options: (right_var(*args, **options) + 1e-8).sqrt(), right_var)


@by_variance.mistake(breaks=DIVIDED)
def mean_distance(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The distances are not squared but taken without their sign: that is the mean absolute deviation."""
    distances = (x - x.mean(dim, keepdim=True)).abs()
    return distances.sum(dim, keepdim=keepdim) / max(count(x, dim) - correction, 0)


def beside_right_var(std: Callable[..., Tensor]) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    """A std beside a var that is right."""
    return std, right_var


by_deviation = std_var.bank(beside_right_var)


@built.mistake(breaks=STD)
def no_root():
    """std is the variance once more: it has no root."""
    return beside_right_var(right_var)


def _mean_distance(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return (x - x.mean(dim, keepdim=True)).abs().mean(dim, keepdim=keepdim)


@built.mistake(breaks=STD)
def std_of_distances():
    """var is right, and std is the mean of the distances without their sign: that is a different measure, and no root
    of var.
    """
    return beside_right_var(_mean_distance)


@built.mistake(breaks=STD)
def names_swapped():
    """var gives the root, and std the variance. Perhaps the two functions have each other's place: the tuple is
    (std, var).
    """
    return (right_var, right_std)


@by_deviation.mistake(breaks=STD)
def correction_kept_from_var(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """std divides by n - 1, whatever correction is. Perhaps it takes correction and does not hand it on to var,
    which then uses its default.
    """
    return right_var(x, dim, keepdim=keepdim).sqrt()


@by_deviation.mistake(breaks=STD)
def keepdim_kept_from_var(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """std drops the reduced dims, though keepdim is True. Perhaps it takes keepdim and does not hand it on to
    var.
    """
    return right_var(x, dim, correction).sqrt()


@by_deviation.mistake(breaks=STD)
def std_divides_by_n(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """var is right, and std divides by n unless a correction is given, or always. Its default is 1, as that of
    var.
    """
    return squares_of(x, dim, keepdim).div(count(x, dim)).sqrt()


@by_deviation.variant(std_divides_by_n)
def _(x: Tensor, dim: Dims, correction: int = 0, keepdim: bool = False) -> Tensor:
    return right_var(x, dim, correction, keepdim).sqrt()


@by_deviation.mistake(breaks=FAR)
def std_in_one_pass(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """var is right far from 0, and std is not. Perhaps std computes its own, from the squares of large numbers:
    use var.
    """
    biased = x.square().mean(dim, keepdim=keepdim) - x.mean(dim, keepdim=keepdim).square()
    return torch.sqrt(biased * scaled(x, dim, correction))


@by_variance.mistake(breaks=VAR)
def computed_in_float32(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """In float64 half of the digits are gone, and the dtype is right. Perhaps the sums are formed in float32
    and converted back: x.float() is for half precision only.
    """
    return right_var(x.float(), dim, correction, keepdim).to(x.dtype)


@by_variance.mistake(breaks="correction: 1 unless it is given.")
def default_of_0(x: Tensor, dim: Dims, correction: int = 0, keepdim: bool = False) -> Tensor:
    """Without a correction the squares are divided by n, and a given one is right. Perhaps the default is 0, as in
    NumPy: in torch it is 1.
    """
    return right_var(x, dim, correction, keepdim)


@by_variance.mistake(breaks=FAR)
def one_shift_for_all(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """Rows far from 0 that lie together lose nothing, and rows that lie far apart lose their digits. Perhaps one number
    is subtracted from all of x before the one-pass formula: each sum has a mean of its own.
    """
    shifted = x - x.flatten()[0] if x.numel() else x
    means = shifted.mean(dim, keepdim=keepdim)
    biased = shifted.square().mean(dim, keepdim=keepdim) - means.square()
    return biased * scaled(x, dim, correction)


@by_variance.variant(one_shift_for_all)
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    shifted = x - x.mean()
    means = shifted.mean(dim, keepdim=keepdim)
    biased = shifted.square().mean(dim, keepdim=keepdim) - means.square()
    return biased * scaled(x, dim, correction)


@by_variance.mistake(breaks=VAR)
def entries_by_results(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """An empty result ends in a ZeroDivisionError. Perhaps n is x.numel() // result.numel(): count along dim."""
    squares = squares_of(x, dim, keepdim)
    return squares / max(x.numel() // squares.numel() - correction, 0)
