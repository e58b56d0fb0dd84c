"""What people give to fn, and what they keep of what it gives."""

from __future__ import annotations

import itertools

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
    """The slopes are those of fn's values in float32: of a small difference little is left. Perhaps the values went through
    `.float()`, or through `torch.tensor(...)` of a Python number, which is float32: subtract Python's numbers, or tensors of float64.
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


@numerical_grad.mistake(breaks=ONCE)
def half_the_distance(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """fn was asked half of eps away from x, on both sides. Perhaps eps was taken for the distance between the two points: it is that
    from x to each of them.
    """
    return differences(fn, x, eps / 2)


@numerical_grad.mistake(breaks=ONCE)
def vmapped(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """fn was called for many points at once, with a tensor that stands for all of them. Perhaps by torch.func.vmap: fn may be any
    code, with NumPy or `.item()` inside, which raise there. Call it once at each point.
    """
    if not x.numel():
        return torch.zeros(x.shape, dtype=x.dtype)
    steps = eps * torch.eye(x.numel(), dtype=x.dtype).view(-1, *x.shape)
    asked = torch.func.vmap(fn)
    return ((asked(x.detach() + steps) - asked(x.detach() - steps)) / (2 * eps)).detach().view(x.shape)


@numerical_grad.mistake(breaks="for each entry i")
def piled_up(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """Each entry got the sum of its own slope and of those of all entries before it. Perhaps an entry stays where it was moved to when
    the next one is moved: begin with a new copy of x for each.
    """
    above, below = (x.detach().clone(memory_format=torch.contiguous_format) for _ in range(2))
    found = torch.zeros(x.shape, dtype=x.dtype)
    for at in places(x):
        above[at] += eps
        below[at] -= eps
        found[at] = (float(fn(above)) - float(fn(below))) / (2 * eps)
    return found


@numerical_grad.mistake(breaks="that does not require grad")
def made_a_leaf(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """The result requires grad, and no operation made it. Perhaps it was made with requires_grad=True, or it was switched on: the
    slopes are numbers, which nobody trains.
    """
    return differences(fn, x, eps).detach().requires_grad_()


@numerical_grad.mistake(breaks="a float64 tensor of any shape")
def length_of_a_number(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """len() of a tensor without dimensions raised. Perhaps the loop goes over range(len(x)): an x of shape () has one entry and no
    length. x.numel() counts the entries of any shape.
    """
    found = torch.zeros(x.shape, dtype=x.dtype)
    for at in itertools.product(range(len(x)), *map(range, x.shape[1:])):
        found[at] = (float(fn(moved(x, at, eps))) - float(fn(moved(x, at, -eps)))) / (2 * eps)
    return found


@numerical_grad.mistake(breaks="x may have any strides, also those of a transposed or an expanded tensor.")
def order_of_memory(fn: Scalar, x: Tensor, eps: float = 1e-6) -> Tensor:
    """Where x is transposed, the slopes are right and stand in other places: in the order in which memory holds x. Perhaps they were
    gathered there, and brought into the shape of x by reshape or view.
    """
    found = differences(fn, x, eps)
    order = sorted(range(x.dim()), key=lambda d: -x.stride(d))
    return found.permute(order).reshape(x.shape) if not x.is_contiguous() and 0 not in x.stride() else found


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
    """Where x requires grad, `.numpy()` raised. Perhaps it was asked of x, or of something made from x that requires grad,
    too: NumPy takes x.detach().
    """
    return differences(fn, torch.from_numpy(x.numpy()), eps)
