"""What people give to fn, and what they keep of what it gives."""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.labs.autograd.numerical_grad.exercise import Scalar, numerical_grad
from helpers.labs.autograd.numerical_grad.mistakes.slopes import differences, moved, places

ONCE = "fn is called once at each of these 2 * x.numel() points, and nowhere else."


@numerical_grad.mistake(breaks="fn: takes a tensor of the shape of x")
def flat_points(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """fn got a tensor with fewer dimensions than x has. Perhaps x was laid flat: fn takes points of the shape of x."""
    return differences(fn, x.detach().reshape(-1), eps).view(x.shape)


@numerical_grad.mistake(breaks="fn: takes a tensor of the shape of x")
def array_points(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """fn got a NumPy array: it takes a tensor. Perhaps x is moved in NumPy: torch.from_numpy brings it back."""
    return differences(lambda at: fn(at.numpy()), x, eps)


@numerical_grad.mistake(breaks="(fn(x + eps e_i) - fn(x - eps e_i)) / (2 eps)")
def values_in_float32(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """The slopes are those of fn's values in float32: of a small difference little is left. Perhaps the values went
    through `torch.tensor(...)` of a Python number, which is float32: subtract Python's numbers, or tensors of float64.
    """
    return differences(lambda at: torch.tensor(fn(at).item()), x, eps)


@numerical_grad.variant(values_in_float32)
def _(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    return differences(lambda at: fn(at).float(), x, eps)


@numerical_grad.mistake(breaks=ONCE)
def near_x(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """Where one entry is to be moved, others were not quite those of x, by other distances than eps. Perhaps x went through
    float32, or through text.
    """
    return differences(fn, x.detach().float().double(), eps)


@numerical_grad.mistake(breaks=ONCE)
def several_distances(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """fn was asked at several distances from x, the same for each entry. Perhaps two slopes are combined, for a smaller error:
    here two values are all that a slope takes, at x + eps and x - eps.
    """
    return (4 * differences(fn, x, eps / 2) - differences(fn, x, eps)) / 3


@numerical_grad.variant(several_distances)
def _(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    return (4 * differences(fn, x, eps) - differences(fn, x, 2 * eps)) / 3


@numerical_grad.mistake(breaks="x stays as it was, also when fn raises.")
def grad_filled(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """x.grad holds something afterwards. Perhaps the result was written there: it is only returned."""
    found = torch.zeros(x.shape, dtype=x.dtype)
    for at in places(x):
        found[at] = (float(fn(moved(x, at, eps))) - float(fn(moved(x, at, -eps)))) / (2 * eps)
    if x.requires_grad:
        x.grad = found
    return found


@numerical_grad.mistake(breaks="for each entry i")
def zeros_passed_over(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """The slope is 0 where x is 0. Perhaps such entries were passed over, or the step is a part of x, and 0 there."""
    return torch.where(x.detach() == 0, 0.0, differences(fn, x, eps))


@numerical_grad.mistake(breaks="x stays as it was, also when fn raises.")
def grad_switched_off(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """x does not require grad any more. Perhaps requires_grad was switched off, and not on again: a parameter that was checked
    never learns. x.detach() leaves x as it is.
    """
    return differences(fn, x.requires_grad_(False), eps)


@numerical_grad.variant(grad_switched_off)
def _(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """In place."""
    return differences(fn, x.detach_(), eps)


@numerical_grad.mistake(breaks="whatever fn computes with.")
def numpy_of_what_fn_gave(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """Where fn computes with something that requires grad, `.numpy()` raised. Perhaps it was asked of what fn gave, which requires
    grad then: `.item()` takes the number out.
    """
    return differences(lambda at: torch.tensor(float(fn(at).numpy()), dtype=torch.float64), x, eps)


@numerical_grad.mistake(breaks="a float64 tensor of any shape, which may require grad.")
def numpy_of_x(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """Where x requires grad, `.numpy()` raised. Perhaps it was asked of x, or of what was made of x with its graph: begin with
    x.detach().
    """
    return differences(fn, torch.from_numpy(x.numpy()), eps)
