"""What people write for 10.repair_similarity, and why it is wrong."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor

from helpers.labs.pitfalls.repair_similarity.exercise import repair_similarity
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
            "reshape gives the right shape and reads the numbers in the old order: rows of b are cut and joined. Only a "
            "transpose exchanges axes. (view on a transposed tensor raises; reshape hides it with a copy.)"
        ),
        "default_dim": (
            "F.normalize has dim=1 unless told otherwise: the vectors of a matrix, but the middle axis of a batch. "
            "softmax, cosine_similarity and squeeze choose for you, too: always write the dim."
        ),
        "zero_by_zero": "A row of zeros has length 0, and 0 / 0 is NaN. F.normalize divides by at least eps.",
    },
)


@repair_similarity.mistake()
def one_norm_for_all(a: Tensor, b: Tensor) -> Tensor:
    """a.norm() without a dim is one number for the whole tensor: the rows keep their different lengths."""
    return (a / a.norm()) @ (b / b.norm()).mT


@repair_similarity.variant("zero_by_zero")
def _(a: Tensor, b: Tensor) -> Tensor:
    return (a / a.norm(dim=-1, keepdim=True)) @ (b / b.norm(dim=-1, keepdim=True)).mT


@repair_similarity.variant("zero_by_zero")
def _(a: Tensor, b: Tensor) -> Tensor:
    return a @ b.mT / (a.norm(dim=-1).unsqueeze(-1) * b.norm(dim=-1).unsqueeze(-2))


@repair_similarity.mistake()
def only_one_side(a: Tensor, b: Tensor) -> Tensor:
    """Both sides have to be normalised: with one, the result is the length of the other side's part in that
    direction.
    """
    return F.normalize(a, dim=-1) @ b.mT


@repair_similarity.mistake()
def scalar_product(a: Tensor, b: Tensor) -> Tensor:
    """The scalar product grows with the lengths of the vectors; a cosine does not."""
    return a @ b.mT


@repair_similarity.mistake()
def all_axes_turned(a: Tensor, b: Tensor) -> Tensor:
    """`.T` turns round all axes: of (2, 5, 4) it makes (4, 5, 2). It is for matrices only; `.mT` exchanges
    the last two.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated for what is no matrix
        return F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).T


@repair_similarity.mistake()
def row_by_row(a: Tensor, b: Tensor) -> Tensor:
    """cosine_similarity compares a[i] with b[i], or stretches one over the other. For each with each the axes
    must be set apart first: a.unsqueeze(-2), b.unsqueeze(-3), dim=-1.
    """
    return F.cosine_similarity(a[..., :1, :], b, dim=-1).unsqueeze(-2).expand(*a.shape[:-1], b.shape[-2])


@repair_similarity.mistake()
def square_missing(a: Tensor, b: Tensor) -> Tensor:
    """The length is the root of the sum of the squares. Divided by the sum itself, a vector shrinks with its
    length.
    """
    a = a / (a * a).sum(-1, keepdim=True).clamp(min=1e-12)
    return a @ (b / (b * b).sum(-1, keepdim=True).clamp(min=1e-12)).mT


@repair_similarity.mistake()
def sum_for_length(a: Tensor, b: Tensor) -> Tensor:
    """F.normalize(p=1) divides by the sum of the absolute values: shares that add to 1, not a direction of
    length 1.
    """
    return F.normalize(a, p=1, dim=-1) @ F.normalize(b, p=1, dim=-1).mT


@repair_similarity.mistake()
def mean_taken_out(a: Tensor, b: Tensor) -> Tensor:
    """With the mean taken out of each vector this is the correlation, not the cosine."""
    a, b = a - a.mean(-1, keepdim=True), b - b.mean(-1, keepdim=True)
    return F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).mT
