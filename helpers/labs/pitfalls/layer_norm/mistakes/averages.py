"""What people write for the forward of 10.layer_norm."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.check.spec import returned
from helpers.labs.pitfalls.layer_norm.exercise import DIVIDED, GIVES, OWN, Gradients, layer_norm

built = layer_norm.bank(returned)

Forward = Callable[..., Tensor]
Shape = Sequence[int]


def last(shape: Shape) -> tuple[int, ...]:
    """The dims that a normalized_shape stands for."""
    return tuple(range(-len(shape), 0))


def wide(x: Tensor) -> Tensor:
    return x.to(torch.promote_types(x.dtype, torch.float32))


def right_backward(dy: Tensor, x: Tensor, normalized_shape: Shape, weight: Tensor, eps: float) -> Gradients:
    dims, rows = last(normalized_shape), (-1, *normalized_shape)
    x_hat = wide(x) - wide(x).mean(dims, keepdim=True)
    rstd = (x_hat.square().mean(dims, keepdim=True) + eps).rsqrt()
    x_hat, dy = x_hat * rstd, wide(dy)
    g = dy * weight
    dx = rstd * (g - g.mean(dims, keepdim=True) - x_hat * (g * x_hat).mean(dims, keepdim=True))
    dw, db = (dy * x_hat).reshape(rows).sum(0), dy.reshape(rows).sum(0)
    return dx.to(x.dtype), dw.to(weight.dtype), db.to(weight.dtype)


def normalised_by(normalise: Callable[[Tensor, Shape, float], Tensor]) -> tuple[Forward, Callable]:
    """A right backward, beside a forward whose x_hat is normalise(x, normalized_shape, eps)."""

    def forward(
        x: Tensor,
        normalized_shape: Shape,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float = 1e-5,
    ) -> Tensor:
        x_hat = normalise(wide(x), normalized_shape, eps)
        x_hat = x_hat if weight is None else x_hat * weight
        return (x_hat if bias is None else x_hat + bias).to(x.dtype)

    return forward, right_backward


normalisations = layer_norm.bank(normalised_by)


def right_x_hat(x: Tensor, shape: Shape, eps: float) -> Tensor:
    return over(x, last(shape), eps)


def over(x: Tensor, dims: tuple[int, ...], eps: float) -> Tensor:
    """x normalised over these dims."""
    distances = x - x.mean(dims, keepdim=True)
    return distances / (distances.square().mean(dims, keepdim=True) + eps).sqrt()


right_forward = normalised_by(right_x_hat)[0]


@normalisations.mistake(breaks=DIVIDED)
def unbiased_variance(x: Tensor, shape: Shape, eps: float) -> Tensor:
    """The result is too small by the root of (n - 1) / n. Perhaps the variance is divided by n - 1, the default
    of torch.var and torch.std: normalisation layers divide by n, correction=0.
    """
    dims = last(shape)
    return (x - x.mean(dims, keepdim=True)) / (x.var(dims, keepdim=True) + eps).sqrt()


@normalisations.variant(unbiased_variance)
def _(x: Tensor, shape: Shape, eps: float) -> Tensor:
    dims = last(shape)
    return (x - x.mean(dims, keepdim=True)) / (x.std(dims, keepdim=True) + eps)


@normalisations.variant(unbiased_variance)
def _(x: Tensor, shape: Shape, eps: float) -> Tensor:
    return (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)


@normalisations.mistake(breaks=DIVIDED)
def eps_outside_the_root(x: Tensor, shape: Shape, eps: float) -> Tensor:
    """Where the variance is small the result is too large. Perhaps eps is added to the standard deviation:
    inside the root, the root of 1e-5 is 3e-3.
    """
    dims = last(shape)
    distances = x - x.mean(dims, keepdim=True)
    return distances / (distances.square().mean(dims, keepdim=True).sqrt() + eps)


@normalisations.mistake(breaks=DIVIDED)
def eps_left_out(x: Tensor, shape: Shape, eps: float) -> Tensor:
    """eps makes no difference, and a row of equal numbers becomes 0 / 0. Perhaps it is taken as an argument and
    not used.
    """
    return over(x, last(shape), 0.0)


@normalisations.mistake(breaks=DIVIDED)
def eps_as_a_floor(x: Tensor, shape: Shape, eps: float) -> Tensor:
    """eps counts only where the variance is below it. Perhaps the variance is kept from falling below eps by
    clamp: torch adds eps to every variance.
    """
    dims = last(shape)
    distances = x - x.mean(dims, keepdim=True)
    return distances / distances.square().mean(dims, keepdim=True).clamp(min=eps).sqrt()


@normalisations.variant(eps_as_a_floor)
def _(x: Tensor, shape: Shape, eps: float) -> Tensor:
    dims = last(shape)
    distances = x - x.mean(dims, keepdim=True)
    return distances / distances.square().mean(dims, keepdim=True).sqrt().clamp(min=eps)


layer_norm.variant(eps_left_out)(
    normalised_by(
        lambda x, shape, eps: (
            (x - x.mean(last(shape), keepdim=True)) / x.std(last(shape), correction=0, keepdim=True)
        )
    )
)


def with_default(default: float) -> tuple[Forward, Callable]:
    """The right forward with a different eps, where none is given."""

    def forward(
        x: Tensor,
        normalized_shape: Shape,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float = default,
    ) -> Tensor:
        return right_forward(x, normalized_shape, weight, bias, eps)

    return forward, right_backward


@built.mistake(breaks=DIVIDED)
def another_default_of_eps():
    """Where no eps is given, it is other than 1e-5. Models that were trained elsewhere (1e-6, 1e-12) bring
    theirs along; F.layer_norm has 1e-5.
    """
    return with_default(1e-6)


for _default in (1e-12, 1e-8, 1e-3):
    layer_norm.variant(another_default_of_eps)(with_default(_default))


@built.mistake(breaks=DIVIDED)
def eps_always_1e_5():
    """The result is that for an eps of 1e-5, whichever is given. Perhaps 1e-5 stands in the formula, where eps
    should.
    """
    return normalised_by(lambda x, shape, eps: over(x, last(shape), 1e-5))


@built.mistake(breaks=GIVES)
def only_the_last_dim():
    """Over several dims the statistics are those of the last one. normalized_shape names as many dims as it has
    sizes, and all of them make one sample.
    """
    return normalised_by(lambda x, shape, eps: over(x, (-1,), eps))


@built.mistake(breaks=GIVES)
def over_the_batch():
    """The statistics are those of each feature over all samples, as in a batch norm. They belong to the last
    dims.
    """
    return normalised_by(lambda x, shape, eps: over(x, (0,), eps))


layer_norm.variant(over_the_batch)(
    normalised_by(lambda x, shape, eps: over(x, tuple(range(len(shape))), eps))
)
layer_norm.variant(over_the_batch)(
    normalised_by(lambda x, shape, eps: over(x, tuple(range(x.ndim - len(shape))), eps))
)


@built.mistake(breaks=GIVES)
def over_everything():
    """There is one mean and one variance for the whole tensor, so a sample's result depends on its neighbours
    in the batch.
    """
    return normalised_by(lambda x, shape, eps: over(x, tuple(range(x.ndim)), eps))


@built.mistake(breaks=GIVES)
def over_all_but_the_first_dim():
    """All dims but the first are one sample, whatever normalized_shape says. In a text model dim 1 is the
    position, and each position has statistics of its own.
    """
    return normalised_by(lambda x, shape, eps: over(x, tuple(range(1, x.ndim)) or (0,), eps))


@normalisations.mistake(breaks=GIVES)
def dims_one_after_the_other(x: Tensor, shape: Shape, eps: float) -> Tensor:
    """Over several dims the variance misses how far the means of the rows are apart. Perhaps the dims are
    treated one after the other, or their variances averaged.
    """
    variance = (x - x.mean(-1, keepdim=True)).square().mean(-1, keepdim=True).mean(last(shape), keepdim=True)
    return (x - x.mean(last(shape), keepdim=True)) / (variance + eps).sqrt()


@normalisations.variant(dims_one_after_the_other)
def _(x: Tensor, shape: Shape, eps: float) -> Tensor:
    for dim in last(shape):
        x = over(x, (dim,), eps)
    return x


@normalisations.variant(dims_one_after_the_other)
def _(x: Tensor, shape: Shape, eps: float) -> Tensor:
    for dim in last(shape)[::-1]:
        x = over(x, (dim,), eps)
    return x


@normalisations.mistake(breaks=DIVIDED)
def mean_not_taken_away(x: Tensor, shape: Shape, eps: float) -> Tensor:
    """x is divided by the root of its mean square, and its mean is still in it. That is an RMS norm."""
    return x * (x.square().mean(last(shape), keepdim=True) + eps).rsqrt()


@normalisations.mistake(breaks=DIVIDED)
def no_root(x: Tensor, shape: Shape, eps: float) -> Tensor:
    """The distances are divided by the variance: the root is missing."""
    distances = x - x.mean(last(shape), keepdim=True)
    return distances / (distances.square().mean(last(shape), keepdim=True) + eps)


@normalisations.mistake(breaks=OWN)
def torchs_own(x: Tensor, shape: Shape, eps: float) -> Tensor:
    """A normalisation of torch does the work here. The point is to know what it does: one mean, one variance,
    one root.
    """
    return F.layer_norm(x, tuple(shape), eps=eps)


@normalisations.variant(torchs_own)
def _(x: Tensor, shape: Shape, eps: float) -> Tensor:
    return nn.LayerNorm(tuple(shape), eps, elementwise_affine=False)(x)


@normalisations.variant(torchs_own)
def _(x: Tensor, shape: Shape, eps: float) -> Tensor:
    rows = x.reshape(1, -1, *shape)
    return F.group_norm(rows, rows.shape[1], eps=eps).reshape(x.shape)


@normalisations.variant(torchs_own)
def _(x: Tensor, shape: Shape, eps: float) -> Tensor:
    rows = x.reshape(-1, shape[0] if len(shape) == 1 else -1)
    return F.batch_norm(rows.T, None, None, training=True, eps=eps).T.reshape(x.shape)


@normalisations.variant(torchs_own)
def _(x: Tensor, shape: Shape, eps: float) -> Tensor:
    return torch.ops.aten.layer_norm(x, list(shape), None, None, eps)
