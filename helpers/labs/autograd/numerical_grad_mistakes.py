"""What people write for 03.numerical_grad."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from helpers.labs.autograd.numerical_grad import Scalar, numerical_grad


def require_float64(x: Tensor) -> None:
    if x.dtype != torch.float64:
        raise ValueError(f"x must be float64, not {x.dtype}")


def places(x: Tensor) -> itertools.product:
    """All index tuples of x."""
    return itertools.product(*map(range, x.shape))


def moved(x: Tensor, at: tuple[int, ...], step: float) -> Tensor:
    """A copy of x with one entry moved."""
    copy = x.detach().clone(memory_format=torch.contiguous_format)
    copy[at] += step
    return copy


@numerical_grad.mistake()
def one_sided(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """(fn(x + eps) - fn(x)) / eps has an error that falls with eps; with both sides the first error cancels,
    and what is left falls with eps ** 2.
    """
    require_float64(x)
    grad = torch.zeros(x.shape, dtype=x.dtype)
    here = float(fn(x.detach()))
    for at in places(x):
        grad[at] = (float(fn(moved(x, at, eps))) - here) / eps
    return grad


@numerical_grad.variant(one_sided)
def _(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    require_float64(x)
    x = x.detach()
    slopes = [(fn(x) - fn(moved(x, at, -eps))) / eps for at in places(x)]
    return torch.tensor([float(slope) for slope in slopes], dtype=x.dtype).view(x.shape)


@numerical_grad.mistake()
def divided_by_eps(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """From x - eps to x + eps the distance is 2 * eps: divided by eps, every slope is twice too steep."""
    require_float64(x)
    grad = torch.zeros(x.shape, dtype=x.dtype)
    for at in places(x):
        grad[at] = (float(fn(moved(x, at, eps))) - float(fn(moved(x, at, -eps)))) / eps
    return grad


@numerical_grad.mistake()
def divided_by_two_times_eps_without_brackets(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """`a / 2 * eps` divides by 2 and multiplies by eps: Python reads from the left. Brackets: `a / (2 *
    eps)`.
    """
    require_float64(x)
    grad = torch.zeros(x.shape, dtype=x.dtype)
    for at in places(x):
        grad[at] = (float(fn(moved(x, at, eps))) - float(fn(moved(x, at, -eps)))) / 2 * eps
    return grad


@numerical_grad.mistake()
def computed_in_float32(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """float32 has 7 digits: x + 1e-6 is x or its neighbour, and of the difference of two values nothing is
    left.
    """
    require_float64(x)
    grad = torch.zeros(x.shape, dtype=x.dtype)
    short = x.detach().float()
    for at in places(x):
        above, below = short.clone(), short.clone()
        above[at] += eps
        below[at] -= eps
        grad[at] = (fn(above.double()).float() - fn(below.double()).float()).item() / (2 * eps)
    return grad


@numerical_grad.mistake()
def result_in_float32(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """`torch.zeros(x.shape)` is float32, whatever x is: half of the digits are lost when the slope is stored.
    Say `dtype=x.dtype`.
    """
    require_float64(x)
    grad = torch.zeros(x.shape)
    for at in places(x):
        grad[at] = (float(fn(moved(x, at, eps))) - float(fn(moved(x, at, -eps)))) / (2 * eps)
    return grad


@numerical_grad.mistake()
def eps_ignored(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """The step is written into the code, and the argument eps does nothing."""
    require_float64(x)
    grad = torch.zeros(x.shape, dtype=x.dtype)
    for at in places(x):
        grad[at] = (float(fn(moved(x, at, 1e-6))) - float(fn(moved(x, at, -1e-6)))) / 2e-6
    return grad


@numerical_grad.mistake()
def relative_step(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """eps * |x| is another rule, good for large x and none at all at 0. Here eps is the distance itself."""
    require_float64(x)
    grad = torch.zeros(x.shape, dtype=x.dtype)
    for at in places(x):
        step = eps * abs(x[at].item())
        grad[at] = (float(fn(moved(x, at, step))) - float(fn(moved(x, at, -step)))) / (2 * step)
    return grad


@numerical_grad.mistake()
def asks_autograd(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """This gradient comes from the backward that a numerical gradient is to check, and a fn that leaves torch
    has none.
    """
    require_float64(x)
    leaf = x.detach().clone().requires_grad_()
    return torch.autograd.grad(fn(leaf), leaf)[0]


@numerical_grad.variant(asks_autograd)
def _(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    require_float64(x)
    return torch.func.grad(fn)(x.detach())


@numerical_grad.variant(asks_autograd)
def _(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    require_float64(x)
    leaf = x.detach().clone().requires_grad_()
    fn(leaf).backward()
    return leaf.grad


@numerical_grad.mistake()
def result_on_the_graph(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """x requires grad, and without `detach` the whole computation is recorded: the result drags the graph of
    all calls of fn behind it.
    """
    require_float64(x)
    slopes = []
    for at in places(x):
        step = torch.zeros(x.shape, dtype=x.dtype)
        step[at] = eps
        slopes.append((fn(x + step) - fn(x - step)) / (2 * eps))
    return torch.stack(slopes).view(x.shape) if slopes else torch.zeros(x.shape, dtype=x.dtype)
