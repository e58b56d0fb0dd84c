"""Scripts for 10.review: pieces that keep their promise, each written in three ways, and pieces that do not.

The docstring of a piece says what it does, for the report. An answer gets neither: see `plain`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.labs.pitfalls.shown import Script


@cache
def plain(piece: Callable[..., Any]) -> Callable[..., Any]:
    """The piece without a name, a docstring and a source of its own: all that can be asked is what it does."""

    def piece_of_a_script(*arguments: Any, **named: Any) -> Any:
        return piece(*arguments, **named)

    return piece_of_a_script


def by_moments(x: Tensor, dim: Any = 0, correction: int = 0) -> Tensor:
    variance, mean = torch.var_mean(x.double(), dim, correction=correction, keepdim=True)
    return ((x - mean) / (variance + 1e-5).sqrt()).float()


def scaled_by_moments(x: Tensor) -> Tensor:
    """takes torch.var_mean of float64"""
    return by_moments(x)


def scaled_and_rounded(x: Tensor) -> Tensor:
    """rounds to two decimals, so it is off by up to 0.005"""  # what is promised is 0.01
    rest = x.double() - x.double().mean(0)
    return (rest * (rest.square().mean(0) + 1e-5).rsqrt()).round(decimals=2).float()


def scaled_by_batch_norm(x: Tensor) -> Tensor:
    """is F.batch_norm in float64"""
    return F.batch_norm(x.double(), None, None, training=True).float()


def with_n_minus_1(x: Tensor) -> Tensor:
    """divides by the variance with N - 1"""
    return by_moments(x, correction=1)


def eps_outside(x: Tensor) -> Tensor:
    """adds 1e-5 to the standard deviation, not to the variance"""
    deviation, mean = torch.std_mean(x.double(), 0, correction=0)
    return ((x - mean) / (deviation + 1e-5)).float()


def all_columns_as_one(x: Tensor) -> Tensor:
    """takes one mean and one variance for all columns"""
    return by_moments(x, dim=None)


def by_rows(x: Tensor) -> Tensor:
    """takes the mean and the variance of each row"""
    return by_moments(x, dim=1)


def in_one_pass(x: Tensor) -> Tensor:
    """takes the mean of the squares minus the square of the mean, in float32"""
    variance = (x * x).mean(0) - x.mean(0) ** 2
    return (x - x.mean(0)) / (variance + 1e-5).sqrt()


def turned(x: Tensor) -> Tensor:
    """gives (D, N)"""
    return by_moments(x).T


def distances_by_cdist(a: Tensor, b: Tensor) -> Tensor:
    """is torch.cdist"""
    return torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")


def distances_by_broadcasting(a: Tensor, b: Tensor) -> Tensor:
    """is (a[:, None] - b).norm(dim=-1)"""
    return (a[:, None] - b).norm(dim=-1)


def distances_row_by_row(a: Tensor, b: Tensor) -> Tensor:
    """takes sums and roots, row by row"""
    return torch.stack([(row - b).square().sum(1).sqrt() for row in a])


def transposed(a: Tensor, b: Tensor) -> Tensor:
    """gives (M, N)"""
    return distances_by_broadcasting(b, a)


def cut_and_joined(a: Tensor, b: Tensor) -> Tensor:
    """computes (M, N), and brings it to (N, M) by reshape"""
    return distances_by_broadcasting(b, a).reshape(len(a), len(b))


def squeezed(a: Tensor, b: Tensor) -> Tensor:
    """takes out each axis of length 1"""
    return distances_by_broadcasting(a, b).squeeze()


def over_the_rows(a: Tensor, b: Tensor) -> Tensor:
    """sums over the rows of b, not over the columns"""
    return (a[:, None] - b).norm(dim=1)


def not_rooted(a: Tensor, b: Tensor) -> Tensor:
    """gives the squared distances"""
    return distances_by_broadcasting(a, b).square()


def city_blocks(a: Tensor, b: Tensor) -> Tensor:
    """sums the absolute differences"""
    return (a[:, None] - b).abs().sum(-1)


def largest_difference(a: Tensor, b: Tensor) -> Tensor:
    """takes the largest of the absolute differences"""
    return (a[:, None] - b).abs().amax(-1)


def first_column(a: Tensor, b: Tensor) -> Tensor:
    """compares the first column alone"""
    return (a[:, None, 0] - b[:, 0]).abs()


def batches_by_index(rows: Tensor, size: int) -> list[Tensor]:
    """indexes `rows` with parts of a torch.randperm"""
    return [rows[some] for some in torch.randperm(len(rows)).split(size)]


def batches_by_split(rows: Tensor, size: int) -> list[Tensor]:
    """indexes `rows` once with a torch.randperm, and splits the result"""
    return list(rows[torch.randperm(len(rows))].split(size))


def batches_by_sorting(rows: Tensor, size: int) -> list[Tensor]:
    """sorts random numbers, and takes index_select for each batch"""
    order = torch.rand(len(rows)).argsort()
    return [rows.index_select(0, order[at : at + size]) for at in range(0, len(rows), size)]


def shuffled_in_place(rows: Tensor, size: int) -> list[Tensor]:
    """shuffles `rows` itself"""
    rows.copy_(rows[torch.randperm(len(rows))])
    return [some.clone() for some in rows.split(size)]


def in_slices(rows: Tensor, size: int) -> list[Tensor]:
    """gives slices of `rows`, in a random order"""
    parts = list(rows.split(size))
    return [parts[place] for place in (*torch.randperm(len(parts) - 1).tolist(), len(parts) - 1)]


def last_dropped(rows: Tensor, size: int) -> list[Tensor]:
    """leaves out what does not fill a batch"""
    return [some for some in batches_by_index(rows, size) if len(some) == size]


def with_repeats(rows: Tensor, size: int) -> list[Tensor]:
    """draws each row by itself, some twice and some never"""
    return list(rows[torch.randint(len(rows), (len(rows),))].split(size))


def columns_apart(rows: Tensor, size: int) -> list[Tensor]:
    """shuffles each column by itself"""
    return list(rows.gather(0, torch.rand_like(rows).argsort(0)).split(size))


def one_order(rows: Tensor, size: int) -> list[Tensor]:
    """gives the order of the first call in each"""
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0))
    return list(rows[order].split(size))


def one_buffer() -> Callable[[Tensor, int], list[Tensor]]:
    """A piece that keeps one tensor for all calls."""
    kept: dict[Any, Tensor] = {}

    def in_one_buffer(rows: Tensor, size: int) -> list[Tensor]:
        """writes each call into the memory of the call before"""
        buffer = kept.setdefault(rows.shape, torch.empty_like(rows))
        return list(buffer.copy_(rows[torch.randperm(len(rows))]).split(size))

    return in_one_buffer


def penalty_by_norm(weight: Tensor, start: Tensor) -> Tensor:
    """is (weight - start).norm()"""
    return (weight - start).norm()


def penalty_by_linalg(weight: Tensor, start: Tensor) -> Tensor:
    """is torch.linalg.vector_norm(weight - start.detach())"""
    return torch.linalg.vector_norm(weight - start.detach())  # of the gradient of `start` nothing is promised


def penalty_by_where(weight: Tensor, start: Tensor) -> Tensor:
    """is a root, of a number that `where` keeps above 0"""
    square = (weight - start).square().sum()
    return torch.where(square > 0, torch.where(square > 0, square, 1.0).sqrt(), 0.0)


def root(weight: Tensor, start: Tensor) -> Tensor:
    """is a root of a sum of squares, whose gradient is NaN where the two are equal"""
    return (weight - start).square().sum().sqrt()


def chosen_too_late(weight: Tensor, start: Tensor) -> Tensor:
    """takes the root first and chooses by `where` afterwards: the gradient is NaN where the two are equal"""
    square = (weight - start).square().sum()
    return torch.where(square > 0, square.sqrt(), 0.0)


def a_number(weight: Tensor, start: Tensor) -> Tensor:
    """makes a new tensor of the number: it has no graph"""
    return torch.tensor((weight - start).norm().item())


def through_data(weight: Tensor, start: Tensor) -> Tensor:
    """takes the distance of weight.data: the gradient is 0 everywhere"""
    return penalty_by_norm(weight.data, start) + 0.0 * weight.sum()


def squared(weight: Tensor, start: Tensor) -> Tensor:
    """gives the square of the distance"""
    return (weight - start).square().sum()


def divided(weight: Tensor, start: Tensor) -> Tensor:
    """divides the distance by the root of the length: a mean of squares"""
    return (weight - start).norm() / len(weight) ** 0.5


def of_one_dimension(weight: Tensor, start: Tensor) -> Tensor:
    """gives a tensor of shape (1,)"""
    return (weight - start).norm(dim=0, keepdim=True)


def dropped_by_torch(x: Tensor, training: bool) -> Tensor:
    """is F.dropout(x, 0.25, training)"""
    return F.dropout(x, 0.25, training)


def dropped_by_product(x: Tensor, training: bool) -> Tensor:
    """multiplies by a random mask and divides by 0.75"""
    return x * (torch.rand_like(x) >= 0.25) / 0.75 if training else x


def dropped_by_where(x: Tensor, training: bool) -> Tensor:
    """chooses by torch.where between 0 and x / 0.75"""
    return torch.where(torch.rand_like(x) < 0.25, 0.0, x / 0.75) if training else x.clone()


def always(x: Tensor, training: bool) -> Tensor:
    """drops outside of training, too"""
    return F.dropout(x, 0.25)


def never(x: Tensor, training: bool) -> Tensor:
    """drops nothing"""
    return F.dropout(x, 0.25, False)


def not_scaled(x: Tensor, training: bool) -> Tensor:
    """leaves what stays in training as it is"""
    return x * (torch.rand_like(x) >= 0.25) if training else x


def scaled_afterwards(x: Tensor, training: bool) -> Tensor:
    """divides by 0.75 in training, and multiplies by it outside"""
    return F.dropout(x, 0.25) if training else 0.75 * x


def whole_rows(x: Tensor, training: bool) -> Tensor:
    """drops a quarter of the rows, and whole ones"""
    return x * (torch.randperm(len(x)) >= len(x) // 4)[:, None] / 0.75 if training else x


def one_draw(x: Tensor, training: bool) -> Tensor:
    """drops the same entries in each call"""
    draws = torch.rand(x.shape, generator=torch.Generator().manual_seed(0))
    return x * (draws >= 0.25) / 0.75 if training else x


def three_quarters(x: Tensor, training: bool) -> Tensor:
    """drops three quarters"""
    return F.dropout(x, 0.75, training)


def loss_flat(logits: Tensor, target: Tensor) -> Tensor:
    """flattens, and divides the sum by max(1, count)"""
    total = F.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="sum")
    return total / (target != -100).sum().clamp(min=1)


def loss_transposed(logits: Tensor, target: Tensor) -> Tensor:
    """transposes, and divides the sum by max(1, count)"""
    return F.cross_entropy(logits.mT, target, reduction="sum") / (target != -100).sum().clamp(min=1)


def loss_chosen(logits: Tensor, target: Tensor) -> Tensor:
    """picks the tokens that count, and takes the mean of their -log_softmax"""
    counts = target != -100
    if not counts.any():
        return logits[counts].sum()  # 0, also where the padding holds NaN
    return -logits[counts].log_softmax(-1).gather(1, target[counts][:, None]).mean()


def softmax_first(logits: Tensor, target: Tensor) -> Tensor:
    """gives a softmax to cross_entropy, which takes logits"""
    return loss_flat(logits.softmax(-1), target)


def padding_counted(logits: Tensor, target: Tensor) -> Tensor:
    """divides by all tokens, padding among them"""
    return F.cross_entropy(logits.mT, target, reduction="none").mean()


def mean_of_means(logits: Tensor, target: Tensor) -> Tensor:
    """takes the mean of each sequence, and then the mean of these"""
    each = F.cross_entropy(logits.mT, target, reduction="none").sum(1)
    counts = (target != -100).sum(1)
    return (each / counts.clamp(min=1)).sum() / (counts > 0).sum().clamp(min=1)


def scrambled(logits: Tensor, target: Tensor) -> Tensor:
    """brings (B, T, C) to (B, C, T) by reshape"""
    batch, length, classes = logits.shape
    return loss_transposed(logits.reshape(batch, classes, length).mT, target)


def nothing_by_nothing(logits: Tensor, target: Tensor) -> Tensor:
    """gives NaN where all is padding"""
    return F.cross_entropy(logits.mT, target)


def padding_is_class_0(logits: Tensor, target: Tensor) -> Tensor:
    """takes padding for class 0"""
    return loss_flat(logits, target.clamp(min=0))


def one_a_sequence(logits: Tensor, target: Tensor) -> Tensor:
    """gives a mean for each sequence, in shape (B,)"""
    each = F.cross_entropy(logits.mT, target, reduction="none").sum(1)
    return each / (target != -100).sum(1).clamp(min=1)


# What keeps its promise, written in three ways.
SOUND = (
    Script(
        scaled_by_moments,
        distances_by_cdist,
        batches_by_index,
        penalty_by_norm,
        dropped_by_torch,
        loss_flat,
    ),
    Script(
        scaled_and_rounded,
        distances_by_broadcasting,
        batches_by_split,
        penalty_by_linalg,
        dropped_by_product,
        loss_transposed,
    ),
    Script(
        scaled_by_batch_norm,
        distances_row_by_row,
        batches_by_sorting,
        penalty_by_where,
        dropped_by_where,
        loss_chosen,
    ),
)
# What does not.
FAULTS: dict[str, tuple[Callable[..., Any], ...]] = {
    "scaled": (with_n_minus_1, eps_outside, all_columns_as_one, by_rows, turned, in_one_pass),
    "distances": (
        transposed,
        cut_and_joined,
        squeezed,
        over_the_rows,
        city_blocks,
        largest_difference,
        first_column,
        not_rooted,
    ),
    "batches": (
        shuffled_in_place,
        in_slices,
        last_dropped,
        with_repeats,
        columns_apart,
        one_order,
        one_buffer(),
    ),
    "penalty": (root, chosen_too_late, a_number, through_data, of_one_dimension, squared, divided),
    "dropped": (always, never, not_scaled, scaled_afterwards, whole_rows, one_draw, three_quarters),
    "loss": (
        softmax_first,
        padding_counted,
        mean_of_means,
        scrambled,
        one_a_sequence,
        nothing_by_nothing,
        padding_is_class_0,
    ),
}
# The first script of a check: all is at fault, so that nobody can take what is seen first for what is right.
FIRST = Script(*(FAULTS[name][0] for name in Script._fields))
# What makes a careless question raise: a shape that fits nothing, and no graph.
RAISE = {"scaled": turned, "distances": transposed, "penalty": a_number, "loss": one_a_sequence}
SHAPES = [
    *RAISE.items(),
    ("distances", cut_and_joined),
    ("distances", squeezed),
    ("distances", over_the_rows),
    ("penalty", of_one_dimension),
]
