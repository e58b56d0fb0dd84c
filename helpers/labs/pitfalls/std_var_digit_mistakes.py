"""What people write for 10.std_var: digits lost, shapes and types, and a std that is no root of its var."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.exercise import returned
from helpers.labs.pitfalls.std_var import Dims, count, squares_of, std_var
from helpers.labs.pitfalls.std_var_mistakes import by_variance, right_std, right_var, with_root

built = std_var.bank(returned)


def scaled(x: Tensor, dim: Dims, correction: int) -> float:
    n = count(x, dim)
    return n / (n - correction) if n > correction else float("nan")


@by_variance.mistake()
def one_pass(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The mean of the squares minus the square of the mean is right on paper. Far from 0 both are huge and
    nearly equal, and their difference is what rounding left: it can even be negative.
    """
    biased = x.square().mean(dim, keepdim=keepdim) - x.mean(dim, keepdim=keepdim).square()
    return biased * scaled(x, dim, correction)


@by_variance.variant(one_pass)
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    n = count(x, dim)
    rest = (x * x).sum(dim, keepdim=keepdim) - x.sum(dim, keepdim=keepdim) ** 2 / n
    return rest.clamp(min=0) / max(n - correction, 0)


@by_variance.mistake()
def one_pass_in_float64(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The one-pass formula was given float64 to compute in. That moves the trouble away from float32 and
    keeps it: float64 numbers that are far from 0 lose their digits all the same. Subtract the mean first.
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


@built.mistake()
def none_is_the_last_dim():
    """dim=None was taken for the last dim. In torch it stands for all of them."""
    return with_root(half_right_dims(lambda x: x))


@by_variance.mistake()
def none_not_expected(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """dim=None was not thought of: it stands for all dims, and here it was counted or looped over like a
    tuple.
    """
    n = 1
    for d in (dim,) if isinstance(dim, int) else dim:
        n *= x.shape[d]
    return squares_of(x, dim, keepdim) / max(n - correction, 0)


@by_variance.variant(none_not_expected)
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    n = x.size(dim) if not isinstance(dim, tuple) else count(x, dim)
    return squares_of(x, dim, keepdim) / max(n - correction, 0)


@by_variance.mistake()
def keepdim_left_out(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """keepdim was taken as an argument and used nowhere."""
    return right_var(x, dim, correction)


@by_variance.mistake()
def dims_always_kept(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The reduced dims stay with size 1, though keepdim is False. The keepdim=True that the mean needs is not
    the one that the result has.
    """
    return right_var(x, dim, correction, True)


@by_variance.mistake()
def float64_comes_out(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The sums were made in float64, which is careful, and the result was left there. It has the dtype of x."""
    return right_var(x.double(), dim, correction, keepdim)


@by_variance.mistake()
def eps_added(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """A small number was added to keep the root away from 0. That belongs into a normalisation, not into var:
    equal entries have variance 0.
    """
    return right_var(x, dim, correction, keepdim) + 1e-5


def _with_eps(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return (right_var(x, dim, correction, keepdim) + 1e-12).sqrt()


@built.mistake()
def eps_under_the_root():
    """std is the root of var plus a small number, so that it is not 0 for equal entries, as it should be."""
    return (_with_eps, right_var)


@by_variance.mistake()
def mean_distance(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The distances were not squared but taken without their sign: that is the mean absolute deviation."""
    distances = (x - x.mean(dim, keepdim=True)).abs()
    return distances.sum(dim, keepdim=keepdim) / max(count(x, dim) - correction, 0)


def beside_right_var(std: Callable[..., Tensor]) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    """A std beside a var that is right."""
    return std, right_var


by_deviation = std_var.bank(beside_right_var)


@built.mistake()
def no_root():
    """std has no root: it is the variance once more."""
    return beside_right_var(right_var)


@built.mistake()
def names_swapped():
    """The two functions have each other's place: the tuple is (std, var)."""
    return (right_var, right_std)


@by_deviation.mistake()
def correction_kept_from_var(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """std takes correction and does not hand it on to var, which then uses its default, 1."""
    return right_var(x, dim, keepdim=keepdim).sqrt()


@by_deviation.mistake()
def keepdim_kept_from_var(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """std takes keepdim and does not hand it on to var."""
    return right_var(x, dim, correction).sqrt()


@by_deviation.mistake()
def std_divides_by_n(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """var is right, and std divides by n, as if correction were 0 by default there."""
    return squares_of(x, dim, keepdim).div(count(x, dim)).sqrt()


@by_deviation.variant(std_divides_by_n)
def _(x: Tensor, dim: Dims, correction: int = 0, keepdim: bool = False) -> Tensor:
    return right_var(x, dim, correction, keepdim).sqrt()


@by_deviation.mistake()
def std_in_one_pass(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """var is right far from 0, but std computes its own, from the squares of large numbers: use var."""
    biased = x.square().mean(dim, keepdim=keepdim) - x.mean(dim, keepdim=keepdim).square()
    return torch.sqrt(biased * scaled(x, dim, correction))


@by_variance.mistake()
def computed_in_float32(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The sums were formed in float32 and converted back: the dtype is right, and half of the digits are
    gone. x.float() and .to(x.dtype) are for half precision only.
    """
    return right_var(x.float(), dim, correction, keepdim).to(x.dtype)
