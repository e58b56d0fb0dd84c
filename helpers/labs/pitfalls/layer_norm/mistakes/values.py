"""What people write for the forward of 10.layer_norm: weight and bias, digits lost, and half precision."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.check.spec import returned
from helpers.labs.pitfalls.layer_norm.exercise import DIVIDED, FAR, GIVES, HALF, LEFT, LIKE_X, layer_norm
from helpers.labs.pitfalls.layer_norm.mistakes.averages import (
    Forward,
    Shape,
    last,
    normalisations,
    over,
    right_backward,
    right_forward,
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


@endings.mistake(breaks=GIVES)
def bias_needs_a_weight(x_hat: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """With one of weight and bias alone the result lacks it. Each is given or not: perhaps one counts only if
    the other is there.
    """
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


@endings.mistake(breaks=GIVES)
def bias_before_weight(x_hat: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """The bias is scaled by the weight, too. Perhaps it is added before the weight is multiplied."""
    x_hat = x_hat if bias is None else x_hat + bias
    return x_hat if weight is None else x_hat * weight


@endings.mistake(breaks=GIVES)
def weight_around_1(x_hat: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """The result is x_hat times 1 + weight, as in some models whose weight starts from 0. torch's starts from 1
    and is the factor itself.
    """
    x_hat = x_hat if weight is None else x_hat * (1 + weight)
    return x_hat if bias is None else x_hat + bias


@endings.mistake(breaks=GIVES)
def weight_left_out(x_hat: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """weight makes no difference. With the ones that it starts from nobody sees it."""
    return x_hat if bias is None else x_hat + bias


@normalisations.mistake(breaks=DIVIDED)
def rescaled_variance(x: Tensor, shape: Shape, eps: float) -> Tensor:
    """One feature gives NaN. Perhaps torch.var's n - 1 is repaired by the factor (n - 1) / n: NaN times 0 is
    NaN. Ask for correction=0.
    """
    n = torch.Size(shape).numel()
    variance = x.var(last(shape), keepdim=True) * (n - 1) / n
    return (x - x.mean(last(shape), keepdim=True)) / (variance + eps).sqrt()


@normalisations.mistake(breaks=FAR)
def one_pass(x: Tensor, shape: Shape, eps: float) -> Tensor:
    """Far from 0 the digits are lost. Perhaps the variance is the mean of the squares minus the square of the
    mean: the difference of two huge numbers, of which rounding is left.
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


@built.mistake(breaks=HALF)
def computed_in_float16():
    """float16 numbers of about 500 come out wrong. Perhaps everything is computed in float16, whose largest number is
    65504: the square of 300 is infinite, and what is divided by its root is 0. Compute in float32 and round once.
    """
    return of_types(over)


@typed.variant(computed_in_float16)
def _(x: Tensor, dims: tuple[int, ...], eps: float) -> Tensor:
    return (x - x.mean(dims, keepdim=True)) / (x.var(dims, correction=0, keepdim=True) + eps).sqrt()


@typed.mistake(breaks=HALF)
def mean_in_float16(x: Tensor, dims: tuple[int, ...], eps: float) -> Tensor:
    """float16 numbers of 100 plus noise come out wrong. Perhaps only the variance is computed in float32: a
    mean of 100 that is kept in float16 is off by up to 0.03, and so is each distance from it.
    """
    distances = x - x.mean(dims, keepdim=True)
    return (
        distances.float() / (distances.float().square().mean(dims, keepdim=True) + eps).sqrt()
        if (x.dtype is torch.float16)
        else over(x, dims, eps)
    )


@built.mistake(breaks=LIKE_X)
def float32_comes_out():
    """From float16 a float32 comes out. Perhaps it is computed in float32, which is right, and the result is
    left there.
    """
    return of_types(lambda x, dims, eps: over(wide(x), dims, eps), back=False)


@built.mistake(breaks=GIVES)
def always_float32():
    """In float64 half of the digits are gone. Perhaps everything is computed in float32."""
    return of_types(lambda x, dims, eps: over(x.float(), dims, eps))


layer_norm.variant(always_float32)(of_types(lambda x, dims, eps: over(x.float(), dims, eps), back=False))


def rounded(values: Callable[..., tuple[Tensor | None, ...]]) -> tuple[Forward, Callable]:
    """A forward that is right but for what `values(x, x_hat, weight, bias)` gives in place of the last three."""

    def forward(
        x: Tensor,
        normalized_shape: Shape,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float = 1e-5,
    ) -> Tensor:
        x_hat, weight, bias = values(x, right_x_hat(wide(x), normalized_shape, eps), weight, bias)
        x_hat = x_hat if weight is None else x_hat * weight
        return (x_hat if bias is None else x_hat + bias).to(x.dtype)

    return forward, right_backward


rounding = layer_norm.bank(rounded)


@rounding.mistake(breaks=HALF)
def rounded_twice(x: Tensor, x_hat: Tensor, weight: Tensor | None, bias: Tensor | None) -> tuple:
    """In half types the result is off by more than half a step. Perhaps x_hat is rounded before the weight is
    multiplied, and the result once more: go back to the half type at the end only.
    """
    return x_hat.to(x.dtype), weight, bias


layer_norm.variant(rounded_twice)(
    rounded(lambda x, x_hat, weight, bias: (wide(x_hat.to(x.dtype)), weight, bias))
)


@rounding.mistake(breaks=HALF)
def weight_in_the_type_of_x(x: Tensor, x_hat: Tensor, weight: Tensor | None, bias: Tensor | None) -> tuple:
    """Beside a float32 weight and bias the result of half types is off by more than half a step. Perhaps they are
    rounded to the type of x first.
    """
    return x_hat, *(value if value is None else wide(value.to(x.dtype)) for value in (weight, bias))


@typed.mistake(breaks=HALF)
def bfloat16_forgotten(x: Tensor, dims: tuple[int, ...], eps: float) -> Tensor:
    """bfloat16 is far off, and float16 is right. Perhaps only float16 is widened: bfloat16 has as many numbers, and
    even fewer digits, 8.
    """
    return over(x.float() if x.dtype is torch.float16 else x, dims, eps)


@built.mistake(breaks=LEFT)
def x_edited():
    """x holds other numbers after the call. Perhaps the mean is taken away in place: x belongs to whoever called."""

    def forward(
        x: Tensor,
        normalized_shape: Shape,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float = 1e-5,
    ) -> Tensor:
        x -= x.mean(last(normalized_shape), keepdim=True)
        y = over(wide(x), last(normalized_shape), eps)
        y = y if weight is None else y * weight
        return (y if bias is None else y + bias).to(x.dtype)

    return forward, right_backward


@built.mistake(breaks="in a tuple or list")
def list_refused():
    """A list of sizes ends in an error, and a tuple does not. Perhaps it is compared with x.shape: a list is never equal
    to a torch.Size.
    """

    def forward(x: Tensor, normalized_shape: Shape, *args: Tensor | None, **named: Tensor | None) -> Tensor:
        if x.shape[-len(normalized_shape) :] != normalized_shape:
            raise ValueError("normalized_shape does not fit x")
        return right_forward(x, normalized_shape, *args, **named)

    return forward, right_backward
