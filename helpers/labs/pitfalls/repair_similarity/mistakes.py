"""What people write for 10.repair_similarity, and why it is wrong."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.labs.pitfalls.repair_similarity.exercise import COSINE, SHAPE, ZEROS, repair_similarity
from helpers.labs.pitfalls.shared.repairs import add_pitfalls


def broken(have: set[str]) -> Callable[[Tensor, Tensor], Tensor]:
    """The text's code with some of its pitfalls."""

    def similarity(a: Tensor, b: Tensor) -> Tensor:
        dim = 1 if "default_dim" in have else -1
        eps = 0.0 if "zero_by_zero" in have else 1e-12
        a, b = F.normalize(a, dim=dim, eps=eps), F.normalize(b, dim=dim, eps=eps)
        if "reshape_for_transpose" in have:
            return a @ b.reshape(*b.shape[:-2], b.shape[-1], b.shape[-2])
        return a @ b.mT

    return similarity


add_pitfalls(
    repair_similarity,
    broken,
    {
        "reshape_for_transpose": (
            "Rows of b are cut and joined. Perhaps by reshape, which gives the right shape and reads the numbers in the "
            "old order. Only a transpose exchanges axes: b.mT. (view of a transposed tensor raises; reshape copies.)",
            COSINE,
        ),
        "default_dim": (
            "A batch of matrices has other numbers, and one matrix is right. Perhaps F.normalize was given no dim, and "
            "takes dim=1: the middle axis of a batch. Say dim=-1, here and wherever a function chooses for you.",
            COSINE,
        ),
        "zero_by_zero": (
            "A row of zeros in a gives NaN: its length is 0, and 0 / 0 is formed. F.normalize divides by at least eps.",
            ZEROS,
        ),
    },
)


@repair_similarity.mistake(breaks=COSINE)
def one_norm_for_all(a: Tensor, b: Tensor) -> Tensor:
    """The rows of a matrix keep their different lengths: all are divided by one number. Perhaps a.norm() without a
    dim: it is one number for the whole tensor.
    """
    return (a / a.norm()) @ (b / b.norm()).mT


@repair_similarity.variant("zero_by_zero")
def _(a: Tensor, b: Tensor) -> Tensor:
    return (a / a.norm(dim=-1, keepdim=True)) @ (b / b.norm(dim=-1, keepdim=True)).mT


@repair_similarity.variant("zero_by_zero")
def _(a: Tensor, b: Tensor) -> Tensor:
    return a @ b.mT / (a.norm(dim=-1).unsqueeze(-1) * b.norm(dim=-1).unsqueeze(-2))


@repair_similarity.mistake(breaks=COSINE)
def only_one_side(a: Tensor, b: Tensor) -> Tensor:
    """The result grows with the length of b's rows: it is their part along a's direction. Both sides have to be
    normalised.
    """
    return F.normalize(a, dim=-1) @ b.mT


@repair_similarity.mistake(breaks=COSINE)
def scalar_product(a: Tensor, b: Tensor) -> Tensor:
    """This is the scalar product, which grows with the lengths of both vectors; a cosine does not."""
    return a @ b.mT


@repair_similarity.mistake(breaks=SHAPE)
def all_axes_turned(a: Tensor, b: Tensor) -> Tensor:
    """Two matrices are right, and a batch of them is an error. Perhaps `.T` turns round all axes (of (2, 5, 4) it
    makes (4, 5, 2)), or .t() or transpose(0, 1) is for matrices only: `.mT` exchanges the
    last two. Or new axes are counted from the front, a[:, None]: a.unsqueeze(-2) counts from the end.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated for what is no matrix
        return F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).T


@repair_similarity.mistake(breaks=COSINE)
def row_by_row(a: Tensor, b: Tensor) -> Tensor:
    """All rows of the result are the same: they are the cosines with one row of a. Perhaps cosine_similarity
    stretched one over the other: set the axes apart first, a.unsqueeze(-2), b.unsqueeze(-3), dim=-1.
    """
    return F.cosine_similarity(a[..., :1, :], b, dim=-1).unsqueeze(-2).expand(*a.shape[:-1], b.shape[-2])


@repair_similarity.mistake(breaks=COSINE)
def root_missing(a: Tensor, b: Tensor) -> Tensor:
    """A longer vector gives a smaller number. Perhaps it is divided by the sum of its squares; its length is the
    root of that.
    """
    a = a / (a * a).sum(-1, keepdim=True).clamp(min=1e-12)
    return a @ (b / (b * b).sum(-1, keepdim=True).clamp(min=1e-12)).mT


@repair_similarity.mistake(breaks=COSINE)
def sum_for_length(a: Tensor, b: Tensor) -> Tensor:
    """A row with itself has no cosine of 1. Perhaps it is divided by the sum of its absolute values (p=1): shares that
    add to 1, not a direction of length 1.
    """
    return F.normalize(a, p=1, dim=-1) @ F.normalize(b, p=1, dim=-1).mT


@repair_similarity.mistake(breaks=COSINE)
def mean_taken_out(a: Tensor, b: Tensor) -> Tensor:
    """This is the correlation, not the cosine. Perhaps the mean is taken out of each vector first."""
    a, b = a - a.mean(-1, keepdim=True), b - b.mean(-1, keepdim=True)
    return F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).mT


@repair_similarity.mistake(breaks="of the dtype of the inputs")
def float64_comes_out(a: Tensor, b: Tensor) -> Tensor:
    """From float32 a float64 comes out. Perhaps the rows were converted for more digits, and not brought back."""
    return F.normalize(a.double(), dim=-1) @ F.normalize(b.double(), dim=-1).mT


@repair_similarity.mistake(breaks=SHAPE)
def single_rows_squeezed(a: Tensor, b: Tensor) -> Tensor:
    """A batch of one-row matrices loses an axis. Perhaps squeeze() without a dim stands at the end: it takes out
    every axis of length 1.
    """
    found = F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).mT
    return found.squeeze() if found.ndim > 2 else found


@repair_similarity.variant(all_axes_turned)
def _(a: Tensor, b: Tensor) -> Tensor:
    return F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).t()


@repair_similarity.variant(all_axes_turned)
def _(a: Tensor, b: Tensor) -> Tensor:
    return F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).transpose(0, 1)


@repair_similarity.mistake(breaks=COSINE)
def columns_normalised(a: Tensor, b: Tensor) -> Tensor:
    """The columns of a matrix were made vectors of length 1, and its rows have other lengths. Perhaps dim=0, or -2:
    the numbers of one row lie along dim=-1.
    """
    return F.normalize(a, dim=0) @ F.normalize(b, dim=0).mT


@repair_similarity.variant(columns_normalised)
def _(a: Tensor, b: Tensor) -> Tensor:
    return F.normalize(a, dim=-2) @ F.normalize(b, dim=-2).mT


@repair_similarity.mistake(breaks=COSINE)
def pairs_only(a: Tensor, b: Tensor) -> Tensor:
    """Three rows with two are an error: row is paired with row, by place. Perhaps cosine_similarity gets a and b as
    they are: set the axes apart first, a.unsqueeze(-2), b.unsqueeze(-3), dim=-1.
    """
    return F.cosine_similarity(a, b, dim=-1)


@repair_similarity.mistake(breaks="of the dtype of the inputs")
def float32_comes_out(a: Tensor, b: Tensor) -> Tensor:
    """From float64 a float32 comes out, and half of the digits are lost. Perhaps the rows are converted by .float()."""
    return F.normalize(a.float(), dim=-1) @ F.normalize(b.float(), dim=-1).mT


@repair_similarity.mistake(breaks=COSINE)
def distance_for_cosine(a: Tensor, b: Tensor) -> Tensor:
    """This is 1 minus the cosine, a distance: rows of one direction give 0."""
    return 1 - F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).mT


@repair_similarity.mistake(breaks=COSINE)
def negative_cut_off(a: Tensor, b: Tensor) -> Tensor:
    """Rows that point away from each other give 0, and their cosine is below 0. Perhaps the result is cut to 0 to 1
    by clamp: a cosine reaches from -1 to 1.
    """
    return (F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).mT).clamp(0, 1)


@repair_similarity.mistake(breaks=ZEROS)
def zero_by_zero_in_b(a: Tensor, b: Tensor) -> Tensor:
    """A row of zeros in b gives NaN, and one in a does not. Perhaps only the lengths of a are kept from 0."""
    return F.normalize(a, dim=-1) @ (b / b.norm(dim=-1, keepdim=True)).mT


@repair_similarity.mistake(breaks=ZEROS)
def one_for_zeros(a: Tensor, b: Tensor) -> Tensor:
    """A row of zeros gives cosines of 1, as if it had the direction of each row. Perhaps the quotient is replaced by 1 where
    a length is 0: it is the length that 1 can stand for.
    """
    lengths = a.norm(dim=-1).unsqueeze(-1) * b.norm(dim=-1).unsqueeze(-2)
    return torch.where(lengths == 0, 1.0, a @ b.mT / lengths)


@repair_similarity.mistake(breaks=COSINE)
def eps_beside_the_length(a: Tensor, b: Tensor) -> Tensor:
    """All cosines are a little nearer to 0 than they should be. Perhaps a small
    number is added to each length against 0 / 0: F.normalize takes the larger of length and eps.
    """
    return (a / (a.norm(dim=-1, keepdim=True) + 1e-2)) @ (b / (b.norm(dim=-1, keepdim=True) + 1e-2)).mT


@repair_similarity.mistake(breaks=SHAPE)
def b_with_a(a: Tensor, b: Tensor) -> Tensor:
    """This is the transpose: it has a row for each row of b. Perhaps a and b are exchanged in the product."""
    return F.normalize(b, dim=-1) @ F.normalize(a, dim=-1).mT


@repair_similarity.mistake(breaks=COSINE)
def for_three_axes_only(a: Tensor, b: Tensor) -> Tensor:
    """Two matrices are an error. Perhaps by bmm, or transpose(1, 2), which are for one batch axis: `@` and `.mT` take any
    number of axes in front.
    """
    return torch.bmm(F.normalize(a, dim=-1), F.normalize(b, dim=-1).mT)


@repair_similarity.variant(for_three_axes_only)
def _(a: Tensor, b: Tensor) -> Tensor:
    return F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).transpose(1, 2)


@repair_similarity.mistake(breaks="Returns a tensor of shape (..., N, M)")
def single_pair_squeezed(a: Tensor, b: Tensor) -> Tensor:
    """For one vector with one the result has no axes left, and (1, 1) was asked for. Perhaps squeeze() stands at the end:
    it takes out every axis of length 1.
    """
    return (F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).mT).squeeze()


@repair_similarity.mistake(breaks=COSINE)
def angle_for_cosine(a: Tensor, b: Tensor) -> Tensor:
    """This is the angle in radians, not its cosine. Perhaps acos() stands at the end."""
    return (F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).mT).clamp(-1, 1).acos()


@repair_similarity.mistake(breaks=COSINE)
def third_axis(a: Tensor, b: Tensor) -> Tensor:
    """Two and three axes are right, and four are not. Perhaps dim=2 was written for the last axis of three: -1 is the last
    one of any number.
    """
    dim = 1 if a.ndim == 2 else 2
    return F.normalize(a, dim=dim) @ F.normalize(b, dim=dim).mT


@repair_similarity.variant(all_axes_turned)
def _(a: Tensor, b: Tensor) -> Tensor:
    return F.cosine_similarity(a[:, None], b[None], dim=-1)


@repair_similarity.mistake(breaks=ZEROS)
def half_for_zeros(a: Tensor, b: Tensor) -> Tensor:
    """A row of zeros has the cosine 0.5 with the others. Perhaps 1 - d ** 2 / 2 is computed from the distance d of the
    normalised rows: that is the cosine only where both have the length 1.
    """
    a, b = F.normalize(a, dim=-1), F.normalize(b, dim=-1)
    return 1 - (a.unsqueeze(-2) - b.unsqueeze(-3)).square().sum(-1) / 2
