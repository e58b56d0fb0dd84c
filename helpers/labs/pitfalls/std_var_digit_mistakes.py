"""What people write for 10.std_var: digits lost, shapes and types, and a std that is no root of its var."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.labs.pitfalls.std_var import Dims, count, squares_of, std_var
from helpers.labs.pitfalls.std_var_mistakes import right_std, right_var, with_root


def scaled(x: Tensor, dim: Dims, correction: int) -> float:
    n = count(x, dim)
    return n / (n - correction) if n > correction else float("nan")


@std_var.wrong_answer(
    "one_pass",
    why="The mean of the squares minus the square of the mean is right on paper. Far from 0 both are huge and nearly equal, "
    "and their difference is what rounding left: it can even be negative.",
    seen="their difference is what rounding left",
)
@with_root
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    biased = x.square().mean(dim, keepdim=keepdim) - x.mean(dim, keepdim=keepdim).square()
    return biased * scaled(x, dim, correction)


@std_var.another_form("one_pass")
@with_root
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    n = count(x, dim)
    rest = (x * x).sum(dim, keepdim=keepdim) - x.sum(dim, keepdim=keepdim) ** 2 / n
    return rest.clamp(min=0) / max(n - correction, 0)


@std_var.wrong_answer(
    "one_pass_in_float64",
    why="The one-pass formula was given float64 to compute in. That moves the trouble away from float32 and keeps it: "
    "float64 numbers that are far from 0 lose their digits all the same. Subtract the mean first.",
    seen="moves the trouble away from float32",
)
@with_root
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
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


std_var.wrong_answer(
    "none_is_the_last_dim",
    why="dim=None was taken for the last dim. In torch it stands for all of them.",
    seen="was taken for the last dim",
    answer=with_root(half_right_dims(lambda x: x)),
)


@std_var.wrong_answer(
    "none_not_expected",
    why="dim=None was not thought of: it stands for all dims, and here it was counted or looped over like a tuple.",
    seen="was not thought of",
)
@with_root
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    n = 1
    for d in (dim,) if isinstance(dim, int) else dim:
        n *= x.shape[d]
    return squares_of(x, dim, keepdim) / max(n - correction, 0)


@std_var.another_form("none_not_expected")
@with_root
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    n = x.size(dim) if not isinstance(dim, tuple) else count(x, dim)
    return squares_of(x, dim, keepdim) / max(n - correction, 0)


@std_var.wrong_answer(
    "keepdim_left_out",
    why="keepdim was taken as an argument and used nowhere.",
    seen="used nowhere",
)
@with_root
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return right_var(x, dim, correction)


@std_var.wrong_answer(
    "dims_always_kept",
    why="The reduced dims stay with size 1, though keepdim is False. The keepdim=True that the mean needs is not the one "
    "that the result has.",
    seen="is not the one that the result has",
)
@with_root
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return right_var(x, dim, correction, True)


@std_var.wrong_answer(
    "float64_comes_out",
    why="The sums were made in float64, which is careful, and the result was left there. It has the dtype of x.",
    seen="the result was left there",
)
@with_root
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return right_var(x.double(), dim, correction, keepdim)


@std_var.wrong_answer(
    "eps_added",
    why="A small number was added to keep the root away from 0. That belongs into a normalisation, not into var: equal entries "
    "have variance 0.",
    seen="belongs into a normalisation",
)
@with_root
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return right_var(x, dim, correction, keepdim) + 1e-5


def _with_eps(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return (right_var(x, dim, correction, keepdim) + 1e-12).sqrt()


std_var.wrong_answer(
    "eps_under_the_root",
    why="std is the root of var plus a small number, so that it is not 0 for equal entries, as it should be.",
    seen="so that it is not 0 for equal entries",
    answer=(_with_eps, right_var),
)


@std_var.wrong_answer(
    "mean_distance",
    why="The distances were not squared but taken without their sign: that is the mean absolute deviation.",
    seen="the mean absolute deviation",
)
@with_root
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    distances = (x - x.mean(dim, keepdim=True)).abs()
    return distances.sum(dim, keepdim=keepdim) / max(count(x, dim) - correction, 0)


def beside_right_var(std: Callable[..., Tensor]) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    """A std beside a var that is right."""
    return std, right_var


std_var.wrong_answer(
    "no_root",
    why="std has no root: it is the variance once more.",
    seen="it is the variance once more",
    answer=beside_right_var(right_var),
)
std_var.wrong_answer(
    "names_swapped",
    why="The two functions have each other's place: the tuple is (std, var).",
    seen="each other's place",
    answer=(right_var, right_std),
)


@std_var.wrong_answer(
    "correction_kept_from_var",
    why="std takes correction and does not hand it on to var, which then uses its default, 1.",
    seen="which then uses its default, 1",
)
@beside_right_var
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return right_var(x, dim, keepdim=keepdim).sqrt()


@std_var.wrong_answer(
    "keepdim_kept_from_var",
    why="std takes keepdim and does not hand it on to var.",
    seen="does not hand it on to var.",
)
@beside_right_var
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return right_var(x, dim, correction).sqrt()


@std_var.wrong_answer(
    "std_divides_by_n",
    why="var is right, and std divides by n, as if correction were 0 by default there.",
    seen="as if correction were 0 by default there",
)
@beside_right_var
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return squares_of(x, dim, keepdim).div(count(x, dim)).sqrt()


@std_var.another_form("std_divides_by_n")
@beside_right_var
def _(x: Tensor, dim: Dims, correction: int = 0, keepdim: bool = False) -> Tensor:
    return right_var(x, dim, correction, keepdim).sqrt()


@std_var.wrong_answer(
    "std_in_one_pass",
    why="var is right far from 0, but std computes its own, from the squares of large numbers: use var.",
    seen="std computes its own",
)
@beside_right_var
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    biased = x.square().mean(dim, keepdim=keepdim) - x.mean(dim, keepdim=keepdim).square()
    return torch.sqrt(biased * scaled(x, dim, correction))


@std_var.wrong_answer(
    "computed_in_float32",
    why="The sums were formed in float32 and converted back: the dtype is right, and half of the digits are gone. x.float() "
    "and .to(x.dtype) are for half precision only.",
    seen="half of the digits are gone",
)
@with_root
def _(x: Tensor, dim: Dims, correction: int = 1, keepdim: bool = False) -> Tensor:
    return right_var(x.float(), dim, correction, keepdim).to(x.dtype)
