"""What people write for the backward of 10.layer_norm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.check.spec import returned
from helpers.labs.pitfalls.layer_norm.exercise import (
    FORMULA,
    GRADIENTS,
    HALF_GRADIENTS,
    SHAPES,
    Gradients,
    layer_norm,
)
from helpers.labs.pitfalls.layer_norm.mistakes.averages import (
    Shape,
    last,
    right_backward,
    right_forward,
    wide,
)

built = layer_norm.bank(returned)


class Known(NamedTuple):
    """What a backward computes with. rows: the shape with the leading dims as one."""

    dy: Tensor
    x: Tensor
    x_hat: Tensor
    rstd: Tensor
    weight: Tensor
    dims: tuple[int, ...]
    rows: tuple[int, ...]

    def mean(self, value: Tensor) -> Tensor:
        return value.mean(self.dims, keepdim=True)

    def sum(self, value: Tensor) -> Tensor:
        """Over the leading dims."""
        return value.reshape(self.rows).sum(0)


def known(
    dy: Tensor,
    x: Tensor,
    shape: Shape,
    weight: Tensor,
    eps: float,
    dims: tuple[int, ...] | None = None,
    correction: int = 0,
) -> Known:
    """dims: over which the statistics and the means go; the last ones unless given."""
    dims = last(shape) if dims is None else dims
    variance, mean = torch.var_mean(wide(x), dims, correction=correction, keepdim=True)
    rstd = (variance + eps).rsqrt()
    return Known(wide(dy), wide(x), (wide(x) - mean) * rstd, rstd, weight, dims, (-1, *shape))


def right_dx(k: Known) -> Tensor:
    g = k.dy * k.weight
    return k.rstd * (g - k.mean(g) - k.x_hat * k.mean(g * k.x_hat))


def right_dw(k: Known) -> Tensor:
    return k.sum(k.dy * k.x_hat)


def right_db(k: Known) -> Tensor:
    return k.sum(k.dy)


def composed(
    dx: Callable[[Known], Any] = right_dx,
    dw: Callable[[Known], Any] = right_dw,
    db: Callable[[Known], Any] = right_db,
    make: Callable[..., Known] = known,
) -> tuple[Callable, Callable]:
    """A right forward, beside a backward made of these."""

    def backward(dy: Tensor, x: Tensor, normalized_shape: Shape, weight: Tensor, eps: float) -> Gradients:
        k = make(dy, x, normalized_shape, weight, eps)
        return dx(k).to(x.dtype), dw(k).to(weight.dtype), db(k).to(weight.dtype)

    return right_forward, backward


def by_autograd(dy: Tensor, x: Tensor, normalized_shape: Shape, weight: Tensor, eps: float) -> Gradients:
    leaves = [value.detach().clone().requires_grad_() for value in (x, weight, torch.zeros_like(weight))]
    with torch.enable_grad():
        y = right_forward(leaves[0], normalized_shape, *leaves[1:], eps)
    return torch.autograd.grad(y, leaves, dy)


def by_backward(dy: Tensor, x: Tensor, normalized_shape: Shape, weight: Tensor, eps: float) -> Gradients:
    leaves = [value.detach().clone().requires_grad_() for value in (x, weight, torch.zeros_like(weight))]
    F.layer_norm(leaves[0], tuple(normalized_shape), *leaves[1:], eps).backward(dy)
    return tuple(leaf.grad for leaf in leaves)


def by_vjp(dy: Tensor, x: Tensor, normalized_shape: Shape, weight: Tensor, eps: float) -> Gradients:
    def forward(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return right_forward(x, normalized_shape, weight, bias, eps)

    return torch.func.vjp(forward, x, weight, torch.zeros_like(weight))[1](dy)


def by_kernel(dy: Tensor, x: Tensor, normalized_shape: Shape, weight: Tensor, eps: float) -> Gradients:
    shape = list(normalized_shape)
    _, mean, rstd = torch.native_layer_norm(x, shape, weight, None, eps)
    return torch.ops.aten.native_layer_norm_backward(
        dy, x, shape, mean, rstd, weight, weight, [True, True, True]
    )


@built.mistake(breaks=FORMULA)
def backward_by_torch():
    """The gradients are asked from torch: from autograd or from its own kernel. They are what this exercise
    derives.
    """
    return (right_forward, by_autograd)


for _backward in (by_backward, by_vjp, by_kernel):
    layer_norm.variant(backward_by_torch)((right_forward, _backward))


@built.mistake(breaks=GRADIENTS)
def no_mean_terms():
    """dx is rstd * dy * weight, as if mean and variance were constants. Both depend on x, so x reaches the
    result by two more ways, and each takes something away.
    """
    return composed(dx=lambda k: k.rstd * k.dy * k.weight)


@built.mistake(breaks=GRADIENTS)
def variance_as_a_constant():
    """dx lacks the way through the variance, x_hat * mean(g * x_hat); that through the mean is there."""
    return composed(dx=lambda k: k.rstd * (k.dy * k.weight - k.mean(k.dy * k.weight)))


@built.mistake(breaks=GRADIENTS)
def mean_as_a_constant():
    """dx lacks the way through the mean, mean(g); that through the variance is there."""
    return composed(dx=lambda k: k.rstd * (k.dy * k.weight - k.x_hat * k.mean(k.dy * k.weight * k.x_hat)))


@built.mistake(breaks=GRADIENTS)
def weight_left_out_of_dx():
    """dx is that of a weight of ones. It starts from g = dy * weight: what comes in has gone through the
    weight.
    """
    return composed(dx=lambda k: right_dx(k._replace(weight=torch.ones_like(k.weight))))


@built.mistake(breaks=GRADIENTS)
def weight_multiplied_last():
    """dx is that of a weight of ones, times the weight. The means are means of dy * weight, and a mean does not
    let a factor through that differs from feature to feature.
    """
    return composed(dx=lambda k: right_dx(k._replace(weight=torch.ones_like(k.weight))) * k.weight)


@built.mistake(breaks=GRADIENTS)
def sums_for_means():
    """The two terms in dx are too large by the number of features: they are means, not sums."""
    return composed(
        dx=lambda k: (
            k.rstd
            * (
                k.dy * k.weight
                - (k.dy * k.weight).sum(k.dims, keepdim=True)
                - k.x_hat * (k.dy * k.weight * k.x_hat).sum(k.dims, keepdim=True)
            )
        )
    )


@built.mistake(breaks=GRADIENTS)
def sign_of_the_variance_term():
    """The term of the variance is added in dx. A larger variance makes the result smaller, so it is taken away,
    as the mean's is.
    """
    return composed(
        dx=lambda k: (
            k.rstd * (k.dy * k.weight - k.mean(k.dy * k.weight) + k.x_hat * k.mean(k.dy * k.weight * k.x_hat))
        )
    )


@built.mistake(breaks=GRADIENTS)
def rstd_left_out_of_dx():
    """dx is not divided by the standard deviation. A row that is spread twice as wide has gradients half as
    large.
    """
    return composed(dx=lambda k: right_dx(k._replace(rstd=torch.ones_like(k.rstd))))


@built.mistake(breaks=GRADIENTS)
def x_for_x_hat():
    """dx is that of the formula with x itself. It holds for x_hat, the normalised x."""
    return composed(dx=lambda k: right_dx(k._replace(x_hat=k.x)), dw=lambda k: k.sum(k.dy * k.x))


layer_norm.variant(x_for_x_hat)(composed(dx=lambda k: right_dx(k._replace(x_hat=k.x))))


@built.mistake(breaks=GRADIENTS)
def means_over_everything():
    """The terms of dx hold means over all of x, and not over each row. Perhaps mean() is called with no dims."""
    return composed(
        dx=lambda k: (
            k.rstd
            * (k.dy * k.weight - (k.dy * k.weight).mean() - k.x_hat * (k.dy * k.weight * k.x_hat).mean())
        )
    )


@built.mistake(breaks=GRADIENTS)
def statistics_over_the_batch():
    """The gradients are those of a batch norm. Perhaps mean and variance are taken over dim 0."""
    return composed(make=lambda *args: known(*args, dims=(0,)))


@built.mistake(breaks=GRADIENTS)
def statistics_over_everything():
    """Mean and variance of the backward are those of the whole tensor. They are the same as in the forward:
    each row's own.
    """
    return composed(make=lambda *args: known(*args, dims=tuple(range(args[1].ndim))))


@built.mistake(breaks=GRADIENTS)
def unbiased_in_backward():
    """dx is made with the root of a variance of n - 1, which the forward does not have. Perhaps var is called without
    correction=0 when the backward computes it anew.
    """
    return composed(make=lambda *args: known(*args, correction=1))


@built.mistake(breaks=GRADIENTS)
def eps_left_out_of_backward():
    """The gradients are those without eps. Perhaps the backward computes rstd anew: it needs the forward's,
    which is why torch saves it.
    """
    return composed(make=lambda *args: known(*args[:4], 0.0))


def _eps_outside(dy: Tensor, x: Tensor, shape: Shape, weight: Tensor, eps: float) -> Known:
    k = known(dy, x, shape, weight, 0.0)
    rstd = 1 / (1 / k.rstd + eps)
    return k._replace(rstd=rstd, x_hat=k.x_hat / k.rstd * rstd)


@built.mistake(breaks=GRADIENTS)
def eps_outside_in_backward():
    """The gradients are those of an eps outside the root, added to the standard deviation."""
    return composed(make=_eps_outside)


@built.mistake(breaks=GRADIENTS)
def eps_always_1e_5_in_backward():
    """The gradients are those of an eps of 1e-5, whichever is given. Perhaps 1e-5 stands in the backward, where
    eps should.
    """
    return composed(make=lambda *args: known(*args[:4], 1e-5))


@built.mistake(breaks=GRADIENTS)
def only_the_last_dim_in_backward():
    """Over several dims the gradients are those of means over the last one. Like the forward's, they go over
    all dims that normalized_shape names.
    """
    return composed(make=lambda *args: known(*args, dims=(-1,)))


def _narrow(dy: Tensor, x: Tensor, normalized_shape: Shape, weight: Tensor, eps: float) -> Gradients:
    dims, rows = last(normalized_shape), (-1, *normalized_shape)
    x_hat = x - x.mean(dims, keepdim=True)
    rstd = (x_hat.square().mean(dims, keepdim=True) + eps).rsqrt()
    x_hat = x_hat * rstd
    g = dy * weight
    dx = rstd * (g - g.mean(dims, keepdim=True) - x_hat * (g * x_hat).mean(dims, keepdim=True))
    return dx, (dy * x_hat).reshape(rows).sum(0), dy.reshape(rows).sum(0)


def _left_wide(dy: Tensor, x: Tensor, normalized_shape: Shape, weight: Tensor, eps: float) -> Gradients:
    return _narrow(wide(dy), wide(x), normalized_shape, wide(weight), eps)


@built.mistake(breaks=HALF_GRADIENTS)
def backward_in_float16():
    """The gradients of float16 are far off. Perhaps the backward computes in float16: its squares overflow,
    rstd is 0, and so is dx.
    """
    return (right_forward, _narrow)


@built.mistake(breaks=SHAPES)
def float32_gradients():
    """The gradients of float16 tensors are float32. A gradient has the dtype of what it is the gradient of."""
    return (right_forward, _left_wide)


@built.mistake(breaks=GRADIENTS)
def projection_for_the_mean():
    """dx is right to some digits, and not to all. Perhaps the term of the variance is divided by the sum of x_hat squared, as in
    a projection: that sum is n only without eps. Divide by n.
    """
    return composed(
        dx=lambda k: (
            k.rstd
            * (
                k.dy * k.weight
                - k.mean(k.dy * k.weight)
                - k.x_hat * k.mean(k.dy * k.weight * k.x_hat) / k.mean(k.x_hat.square())
            )
        )
    )


def _own_type(dy: Tensor, x: Tensor, shape: Shape, weight: Tensor, eps: float) -> Known:
    """x_hat is rounded to the type of x."""
    k = known(dy, x, shape, weight, eps)
    return k._replace(x_hat=wide(k.x_hat.to(x.dtype)))


@built.mistake(breaks=HALF_GRADIENTS)
def x_hat_rounded():
    """The gradients of half types are off by more than half a step. Perhaps x_hat or rstd is rounded to the half type
    before they are formed: round at the end.
    """
    return composed(make=_own_type)


def _through_the_type_of_x(dy: Tensor, x: Tensor, shape: Shape, weight: Tensor, eps: float) -> Gradients:
    found = right_backward(dy, x, shape, weight, eps)
    return found[0], found[1].to(x.dtype).to(weight.dtype), found[2].to(x.dtype).to(weight.dtype)


@built.mistake(breaks=HALF_GRADIENTS)
def dw_rounded_to_the_type_of_x():
    """dw or db of a float32 weight has no more digits than the half type of x. Perhaps all three gradients are rounded
    to the type of x first: the sums over the rows are what needs the digits.
    """
    return (right_forward, _through_the_type_of_x)


def _all_like_x(dy: Tensor, x: Tensor, shape: Shape, weight: Tensor, eps: float) -> Gradients:
    return tuple(part.to(x.dtype) for part in right_backward(dy, x, shape, weight, eps))


layer_norm.variant(dw_rounded_to_the_type_of_x)((right_forward, _all_like_x))


@built.mistake(breaks=GRADIENTS)
def dw_without_x_hat():
    """dw is the sum of dy * weight. What the weight is multiplied by is x_hat: dw is the sum of dy * x_hat."""
    return composed(dw=lambda k: k.sum(k.dy * k.weight))


def _list(dy: Tensor, x: Tensor, normalized_shape: Shape, weight: Tensor, eps: float) -> list[Tensor]:
    return list(right_backward(dy, x, normalized_shape, weight, eps))


@built.mistake(breaks=SHAPES)
def three_in_a_list():
    """The three gradients come in a list, where a tuple is asked for. Perhaps in square brackets."""
    return (right_forward, _list)


@built.mistake(breaks=GRADIENTS)
def mean_by_the_last_dim():
    """With one trailing dim all is right, and with two dx differs. Perhaps its two means are sums divided by x.shape[-1]:
    n is the product of all trailing dims.
    """

    def dx(k: Known) -> Tensor:
        def mean(value: Tensor) -> Tensor:
            return value.sum(k.dims, keepdim=True) / value.shape[-1]

        g = k.dy * k.weight
        return k.rstd * (g - mean(g) - k.x_hat * mean(g * k.x_hat))

    return composed(dx=dx)
