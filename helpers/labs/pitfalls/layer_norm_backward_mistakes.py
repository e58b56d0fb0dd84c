"""What people write for the backward of 10.layer_norm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.labs.pitfalls.layer_norm import Gradients, layer_norm
from helpers.labs.pitfalls.layer_norm_mistakes import Shape, last, right_forward, wide


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


def add(name: str, why: str, seen: str, **parts: Callable[..., Any]) -> None:
    layer_norm.wrong_answer(name, why=why, seen=seen, answer=composed(**parts))


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


layer_norm.wrong_answer(
    "backward_by_torch",
    why="The gradients were asked from torch: from autograd or from its own kernel. They are what this exercise derives.",
    seen="They are what this exercise derives",
    answer=(right_forward, by_autograd),
)
for _backward in (by_backward, by_vjp, by_kernel):
    layer_norm.another_form("backward_by_torch")((right_forward, _backward))

add(
    "no_mean_terms",
    "dx was taken as if mean and variance were constants. Both depend on x, so x reaches the result by two more ways, and "
    "each takes something away.",
    "as if mean and variance were constants",
    dx=lambda k: k.rstd * k.dy * k.weight,
)
add(
    "variance_as_a_constant",
    "The way through the mean is there, that through the variance is not: x_hat * mean(g * x_hat) is missing.",
    "that through the variance is not",
    dx=lambda k: k.rstd * (k.dy * k.weight - k.mean(k.dy * k.weight)),
)
add(
    "mean_as_a_constant",
    "The way through the variance is there, that through the mean is not: mean(g) is missing.",
    "that through the mean is not",
    dx=lambda k: k.rstd * (k.dy * k.weight - k.x_hat * k.mean(k.dy * k.weight * k.x_hat)),
)
add(
    "weight_left_out_of_dx",
    "dx starts from g = dy * weight: what comes in has gone through the weight. Here it starts from dy.",
    "what comes in has gone through the weight",
    dx=lambda k: right_dx(k._replace(weight=torch.ones_like(k.weight))),
)
add(
    "weight_multiplied_last",
    "The weight was multiplied at the end. The means are means of dy * weight, and a mean does not let a factor through that "
    "differs from feature to feature.",
    "does not let a factor through",
    dx=lambda k: right_dx(k._replace(weight=torch.ones_like(k.weight))) * k.weight,
)
add(
    "sums_for_means",
    "The two terms in dx are means over the features. Sums are too large by their number.",
    "Sums are too large by their number",
    dx=lambda k: (
        k.rstd
        * (
            k.dy * k.weight
            - (k.dy * k.weight).sum(k.dims, keepdim=True)
            - k.x_hat * (k.dy * k.weight * k.x_hat).sum(k.dims, keepdim=True)
        )
    ),
)
add(
    "sign_of_the_variance_term",
    "The term of the variance was added. A larger variance makes the result smaller, so it is taken away, as the mean's is.",
    "A larger variance makes the result smaller",
    dx=lambda k: (
        k.rstd * (k.dy * k.weight - k.mean(k.dy * k.weight) + k.x_hat * k.mean(k.dy * k.weight * k.x_hat))
    ),
)
add(
    "rstd_left_out_of_dx",
    "dx was not divided by the standard deviation. A row that is spread twice as wide has gradients half as large.",
    "has gradients half as large",
    dx=lambda k: right_dx(k._replace(rstd=torch.ones_like(k.rstd))),
)
add(
    "x_for_x_hat",
    "The formula holds for x_hat, the normalised x. Here x itself stands in it.",
    "Here x itself stands in it",
    dx=lambda k: right_dx(k._replace(x_hat=k.x)),
    dw=lambda k: k.sum(k.dy * k.x),
)
layer_norm.another_form("x_for_x_hat")(composed(dx=lambda k: right_dx(k._replace(x_hat=k.x))))
add(
    "statistics_over_the_batch",
    "Mean and variance were taken over dim 0, so the gradients are those of a batch norm.",
    "those of a batch norm",
    make=lambda *args: known(*args, dims=(0,)),
)
add(
    "statistics_over_everything",
    "Mean and variance of the backward were taken over the whole tensor. They are the same as in the forward: each row's own.",
    "They are the same as in the forward",
    make=lambda *args: known(*args, dims=tuple(range(args[1].ndim))),
)
add(
    "unbiased_in_backward",
    "The backward's variance was divided by n - 1, and the forward's by n: the gradients are those of another function.",
    "the gradients are those of another function",
    make=lambda *args: known(*args, correction=1),
)
add(
    "eps_left_out_of_backward",
    "The backward computes rstd without eps. It needs the forward's rstd, which is why torch saves it.",
    "which is why torch saves it",
    make=lambda *args: known(*args[:4], 0.0),
)


def _eps_outside(dy: Tensor, x: Tensor, shape: Shape, weight: Tensor, eps: float) -> Known:
    k = known(dy, x, shape, weight, 0.0)
    rstd = 1 / (1 / k.rstd + eps)
    return k._replace(rstd=rstd, x_hat=k.x_hat / k.rstd * rstd)


add(
    "eps_outside_in_backward",
    "In the backward eps was added to the standard deviation, outside the root.",
    "In the backward eps was added to the standard deviation",
    make=_eps_outside,
)
add(
    "eps_always_1e_5_in_backward",
    "1e-5 stands in the backward, where eps should, so it fits the forward's default only.",
    "fits the forward's default only",
    make=lambda *args: known(*args[:4], 1e-5),
)
add(
    "only_the_last_dim_in_backward",
    "The backward's means go over the last dim only. Like the forward's, they go over all dims that normalized_shape "
    "names.",
    "The backward's means go over the last dim only",
    make=lambda *args: known(*args, dims=(-1,)),
)


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


layer_norm.wrong_answer(
    "backward_in_float16",
    why="The forward computes in float32, and the backward in float16: its squares overflow, rstd is 0, and so is dx.",
    seen="its squares overflow, rstd is 0",
    answer=(right_forward, _narrow),
)
layer_norm.wrong_answer(
    "float32_gradients",
    why="The gradients of float16 tensors were left in float32. A gradient has the dtype of what it is the gradient of.",
    seen="the dtype of what it is the gradient of",
    answer=(right_forward, _left_wide),
)
