"""What people write for the forward of 10.layer_norm: weight and bias, digits lost, and half precision."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.check.spec import returned
from helpers.labs.pitfalls.layer_norm.exercise import layer_norm
from helpers.labs.pitfalls.layer_norm.mistakes.averages import (
    Forward,
    Shape,
    last,
    normalisations,
    over,
    right_backward,
    right_x_hat,
    wide,
)

built = layer_norm.bank(returned)


def finished_by(
    finish: Callable[[Tensor, Tensor | None, Tensor | None], Tensor],
) -> tuple[Forward, Callable]:
    """A right backward, beside a forward that treats the right x_hat with weight and bias so."""

    def forward(
        x: Tensor,
        normalized_shape: Shape,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float = 1e-5,
    ) -> Tensor:
        return finish(right_x_hat(wide(x), normalized_shape, eps), weight, bias).to(x.dtype)

    return forward, right_backward


endings = layer_norm.bank(finished_by)


@endings.mistake()
def bias_needs_a_weight(x_hat: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """weight and bias are each given or not. Here one of them counts only if the other one is there."""
    return x_hat if weight is None or bias is None else x_hat * weight + bias


@endings.variant(bias_needs_a_weight)
def _(x_hat: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    if weight is not None:
        x_hat = x_hat * weight
        x_hat = x_hat if bias is None else x_hat + bias
    return x_hat


@endings.variant(bias_needs_a_weight)
def _(x_hat: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    return x_hat if weight is None else x_hat * weight + bias


@endings.mistake()
def bias_before_weight(x_hat: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """The bias was added before the weight was multiplied, so it is scaled, too."""
    x_hat = x_hat if bias is None else x_hat + bias
    return x_hat if weight is None else x_hat * weight


@endings.mistake()
def weight_around_1(x_hat: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """x_hat was multiplied by 1 + weight, as some models do whose weight starts from 0. torch's starts from 1
    and is the factor itself.
    """
    x_hat = x_hat if weight is None else x_hat * (1 + weight)
    return x_hat if bias is None else x_hat + bias


@endings.mistake()
def weight_left_out(x_hat: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """weight is not used at all. With the ones that it starts from nobody sees it."""
    return x_hat if bias is None else x_hat + bias


@normalisations.mistake()
def rescaled_variance(x: Tensor, shape: Shape, eps: float) -> Tensor:
    """torch.var's n - 1 was repaired by the factor (n - 1) / n. For a single feature that is NaN times 0,
    which is NaN; ask for correction=0.
    """
    n = torch.Size(shape).numel()
    variance = x.var(last(shape), keepdim=True) * (n - 1) / n
    return (x - x.mean(last(shape), keepdim=True)) / (variance + eps).sqrt()


@normalisations.mistake()
def one_pass(x: Tensor, shape: Shape, eps: float) -> Tensor:
    """The variance was computed as the mean of the squares minus the square of the mean. Far from 0 that is
    the difference of two huge numbers, and what is left is their rounding.
    """
    mean = x.mean(last(shape), keepdim=True)
    variance = x.square().mean(last(shape), keepdim=True) - mean.square()
    return (x - mean) / (variance + eps).sqrt()


@normalisations.variant(one_pass)
def _(x: Tensor, shape: Shape, eps: float) -> Tensor:
    mean = x.mean(last(shape), keepdim=True)
    variance = (x.square().mean(last(shape), keepdim=True) - mean.square()).clamp(min=0)
    return (x - mean) / (variance + eps).sqrt()


def of_types(
    normalise: Callable[[Tensor, tuple[int, ...], float], Tensor], back: bool = True
) -> tuple[Forward, Callable]:
    """A forward that is given x in its own type. back: whether the result is brought back to it."""

    def forward(
        x: Tensor,
        normalized_shape: Shape,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float = 1e-5,
    ) -> Tensor:
        x_hat = normalise(x, last(normalized_shape), eps)
        x_hat = x_hat if weight is None else x_hat * weight
        x_hat = x_hat if bias is None else x_hat + bias
        return x_hat.to(x.dtype) if back else x_hat

    return forward, right_backward


typed = layer_norm.bank(of_types)


@built.mistake()
def computed_in_float16():
    """Everything was computed in float16, whose largest number is 65504: the square of 300 is infinite, and
    the result is 0. Compute in float32 and round once.
    """
    return of_types(over)


@typed.variant(computed_in_float16)
def _(x: Tensor, dims: tuple[int, ...], eps: float) -> Tensor:
    return (x - x.mean(dims, keepdim=True)) / (x.var(dims, correction=0, keepdim=True) + eps).sqrt()


@typed.mistake()
def mean_in_float16(x: Tensor, dims: tuple[int, ...], eps: float) -> Tensor:
    """Only the variance was computed in float32. A mean of 100 that is kept in float16 is off by up to 0.03,
    and so is each distance from it.
    """
    distances = x - x.mean(dims, keepdim=True)
    return (
        distances.float() / (distances.float().square().mean(dims, keepdim=True) + eps).sqrt()
        if (x.dtype is torch.float16)
        else over(x, dims, eps)
    )


@built.mistake()
def float32_comes_out():
    """float16 was computed in float32, which is right, and the result was left there. It has the dtype of x."""
    return of_types(lambda x, dims, eps: over(wide(x), dims, eps), back=False)


@built.mistake()
def always_float32():
    """Everything was computed in float32, also what came in float64: half of its digits are gone."""
    return of_types(lambda x, dims, eps: over(x.float(), dims, eps))


layer_norm.variant(always_float32)(of_types(lambda x, dims, eps: over(x.float(), dims, eps), back=False))
