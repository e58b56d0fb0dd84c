"""What people write for 10.std_var: by what the squares are divided, and over what they are summed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.labs.pitfalls.std_var import Dims, count, squares_of, std_var

Var = Callable[..., Tensor]


def with_root(var: Var) -> tuple[Var, Var]:
    """std and var, of which std is the root."""

    def std(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
        return var(x, dim, correction, keepdim).sqrt()

    return std, var


def right_var(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return squares_of(x, dim, keepdim) / max(count(x, dim) - correction, 0)


right_std = with_root(right_var)[0]


def divided_by(divisor: Callable[[int, int], Any]) -> tuple[Var, Var]:
    """std and var whose squares are divided by divisor(n, correction)."""

    def var(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
        return squares_of(x, dim, keepdim) / divisor(count(x, dim), correction)

    return with_root(var)


std_var.wrong_answer(
    "always_n",
    why="The squares are divided by n, as numpy.std does by default. torch divides by n - correction, and correction is 1 "
    "unless somebody says otherwise: for small n the gap is large.",
    seen="as numpy.std does by default",
    answer=divided_by(lambda n, correction: n),
)
std_var.wrong_answer(
    "always_n_minus_1",
    why="The squares are divided by n - 1, whatever correction says. With correction=0, which the normalisation layers "
    "ask for, the variance is too large.",
    seen="whatever correction says",
    answer=divided_by(lambda n, correction: max(n - 1, 0)),
)
std_var.another_form("always_n_minus_1")(divided_by(lambda n, correction: n - 1))
std_var.wrong_answer(
    "correction_as_a_switch",
    why="correction was read as the old switch unbiased=True or False. It is a number, which is subtracted from n.",
    seen="the old switch unbiased",
    answer=divided_by(lambda n, correction: max(n - 1, 0) if correction else n),
)
std_var.another_form("correction_as_a_switch")(divided_by(lambda n, correction: n - bool(correction)))
std_var.wrong_answer(
    "correction_added",
    why="correction was added to n, not subtracted. The distances are taken from the sample's own mean, which lies too near "
    "to the sample; so the sum is too small, and what it is divided by is made smaller, too.",
    seen="was added to n",
    answer=divided_by(lambda n, correction: n + correction),
)
std_var.wrong_answer(
    "one_entry_counts_as_two",
    why="The divisor was kept from being 0 by max(n - correction, 1). One entry then has the variance 0, which looks like a "
    "measured one. NaN says that there is none.",
    seen="0, which looks like a measured one",
    answer=divided_by(lambda n, correction: max(n - correction, 1)),
)


@with_root
def nan_hidden(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return torch.nan_to_num(right_var(x, dim, correction, keepdim), nan=0.0)


std_var.another_form("one_entry_counts_as_two")(nan_hidden)
std_var.another_form("one_entry_counts_as_two")(divided_by(lambda n, correction: (n - correction) or 1))
std_var.wrong_answer(
    "nothing_has_variance_0",
    why="The sum over no entries is 0, and 0 / -1 is 0 (with a minus in front). The divisor must not go below 0: 0 / 0 is "
    "NaN, which is the truth about a sample of nothing.",
    seen="the truth about a sample of nothing",
    answer=divided_by(lambda n, correction: n - correction),
)


@with_root
def _factor_of_numbers(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    distances = x - x.mean(dim, keepdim=True)
    n = count(x, dim)
    return distances.square().mean(dim, keepdim=keepdim) * (n / (n - correction))


std_var.wrong_answer(
    "python_divides_by_0",
    why="n / (n - correction) was computed with Python's numbers, and Python raises where a tensor gives NaN: a batch of "
    "one ends the program.",
    seen="Python raises where a tensor gives NaN",
    answer=_factor_of_numbers,
)


@std_var.another_form("python_divides_by_0")
@with_root
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return squares_of(x, dim, keepdim) * (1 / (count(x, dim) - correction))


def counted(n: Callable[[Tensor, Dims], int]) -> tuple[Var, Var]:
    """std and var that count the entries of a sum in another way."""

    def var(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
        return squares_of(x, dim, keepdim) / max(n(x, dim) - correction, 0)

    return with_root(var)


def listed(dim: Dims, x: Tensor) -> tuple[int, ...]:
    return tuple(range(x.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)


std_var.wrong_answer(
    "n_of_the_whole_tensor",
    why="n was taken from the whole tensor (numel). Each variance has a sum of its own; n is the number of entries in "
    "that one sum.",
    seen="n was taken from the whole tensor",
    answer=counted(lambda x, dim: x.numel()),
)
std_var.wrong_answer(
    "n_of_one_dim_only",
    why="With several dims, n was the size of one of them. It is the product of all their sizes.",
    seen="It is the product of all their sizes",
    answer=counted(lambda x, dim: x.shape[listed(dim, x)[0]]),
)
std_var.another_form("n_of_one_dim_only")(counted(lambda x, dim: x.shape[listed(dim, x)[-1]]))
std_var.wrong_answer(
    "sizes_added",
    why="With several dims, their sizes were added up. A sum over dims of 3 and 5 has 15 entries, not 8.",
    seen="has 15 entries, not 8",
    answer=counted(lambda x, dim: sum(x.shape[d] for d in listed(dim, x))),
)
std_var.wrong_answer(
    "n_is_the_number_of_rows",
    why="n was len(x), the size of dim 0, whatever dim was reduced.",
    seen="whatever dim was reduced",
    answer=counted(lambda x, dim: len(x)),
)
std_var.wrong_answer(
    "correction_once_a_dim",
    why="Over several dims the correction was subtracted from each size. One mean was taken from the sample, so it is "
    "subtracted once, from the product.",
    seen="subtracted once, from the product",
    answer=(
        right_std,
        lambda x, dim, correction=1, keepdim=False: (
            squares_of(x, dim, keepdim) / math.prod(x.shape[d] - correction for d in listed(dim, x))
        ),
    ),
)


@std_var.wrong_answer(
    "everything_reduced",
    why="dim was left out, and without it torch reduces everything to one number.",
    seen="dim was left out",
)
@with_root
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return ((x - x.mean()) ** 2).sum() / (x.numel() - correction)


@std_var.wrong_answer(
    "one_mean_for_everything",
    why="The distances were taken from the mean of the whole tensor: x.mean() with no dim. Each row has a mean of its own.",
    seen="Each row has a mean of its own",
)
@with_root
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return (x - x.mean()).square().sum(dim, keepdim=keepdim) / max(count(x, dim) - correction, 0)


@std_var.wrong_answer(
    "mean_without_keepdim",
    why="The mean lost the reduced dim, and x - mean was lined up from the right: for a square x each row got the "
    "mean of another one, in silence. keepdim=True leaves a 1 in its place.",
    seen="the mean of another one, in silence",
)
@with_root
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return (x - x.mean(dim)).square().sum(dim, keepdim=keepdim) / max(count(x, dim) - correction, 0)


def one_dim_after_the_other(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The variance over the first dim, then the mean over the others."""
    first, *others = listed(dim, x)
    found = right_var(x, first, correction, True)
    dims = listed(dim, x)
    found = found.mean(others, keepdim=True) if others else found
    return found if keepdim else found.squeeze(dims)


def variance_of_variances(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    for d in listed(dim, x):
        x = right_var(x, d, correction, True)
    return x if keepdim else x.squeeze(listed(dim, x))


def _last_first(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return one_dim_after_the_other(x, listed(dim, x)[::-1], correction, keepdim)


std_var.wrong_answer(
    "mean_of_variances",
    why="Over several dims, the variances over one dim were averaged over the others. That misses how far the means are "
    "from one another.",
    seen="misses how far the means are from one another",
    answer=with_root(one_dim_after_the_other),
)
std_var.another_form("mean_of_variances")(with_root(_last_first))
std_var.wrong_answer(
    "variance_of_variances",
    why="The function was applied once for each dim, so the second time it measured how much the variances vary.",
    seen="how much the variances vary",
    answer=with_root(variance_of_variances),
)


@with_root
def _by_numpy(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return torch.as_tensor(np.var(x.numpy(), axis=dim, ddof=correction, keepdims=keepdim), dtype=x.dtype)


def _torchs_std(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return x.std(dim, correction=correction, keepdim=keepdim)


def _torchs_var(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return torch.var(x, dim, correction=correction, keepdim=keepdim)


def _torchs_both(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return torch.var_mean(x, dim, correction=correction, keepdim=keepdim)[0]


std_var.wrong_answer(
    "torchs_own",
    why="A function of a library does the work, and the question by what it divides stays open. Three lines answer it.",
    seen="the question by what it divides stays open",
    answer=(_torchs_std, _torchs_var),
)
for _form in (with_root(_torchs_var), with_root(_torchs_both), _by_numpy, (_torchs_std, right_var)):
    std_var.another_form("torchs_own")(_form)
std_var.another_form("torchs_own")((right_std, _torchs_var))
