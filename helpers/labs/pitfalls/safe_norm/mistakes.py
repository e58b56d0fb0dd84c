"""What people write for 10.safe_norm, and why it is wrong."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from helpers.labs.pitfalls.safe_norm.exercise import safe_norm


@safe_norm.mistake()
def entries_for_rows(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """Each entry that is 0 was replaced, not each row. An entry that is 0 beside others still bends the norm:
    its second derivative is 1 over the norm, and the where around it makes that 0.
    """
    zero = x == 0
    return torch.where(zero, 0.0, torch.where(zero, 1.0, x)).norm(dim=dim)


@safe_norm.variant(entries_for_rows)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    return torch.linalg.vector_norm(x.masked_fill(x == 0, 0.0), dim=dim)


@safe_norm.mistake()
def hook_on_x(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The NaN is hidden on its way out, by a hook on a tensor of somebody else. The hook stays after the
    call, one more for each call, and hides the NaN of other losses, too.
    """
    if x.requires_grad:
        x.register_hook(torch.nan_to_num)
    return x.square().sum(dim).sqrt()


@safe_norm.variant(hook_on_x)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    if x.requires_grad:
        x.register_hook(lambda grad: torch.where(grad.isnan(), 0.0, grad))
    return x.norm(dim=dim)


def squares_of(x: Tensor, dim: int) -> Tensor:
    return x.square().sum(dim)


def two_wheres(squares: Tensor, at_zero: Tensor) -> Tensor:
    """The right way: no root of 0, and 0 in its place."""
    return torch.where(at_zero, 0.0, torch.where(at_zero, 1.0, squares).sqrt())


@safe_norm.mistake()
def plain_root(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The root of a sum of squares: its derivative at 0 is infinite, times the 0 that comes from the square:
    NaN. torch's own norm knows this case, the written-out one does not.
    """
    return squares_of(x, dim).sqrt()


@safe_norm.variant(plain_root)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    return torch.sqrt((x * x).sum(dim) + eps)


@safe_norm.variant(plain_root)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    return squares_of(x, dim) ** 0.5


@safe_norm.mistake()
def eps_under_the_root(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """A small number was added under the root. The derivatives are finite then, but every norm has changed,
    that of small vectors by a lot, and the norm of 0 is no longer 0.
    """
    return (squares_of(x, dim) + (eps or 1e-12)).sqrt()


@safe_norm.variant(eps_under_the_root)
def _(x: Tensor, dim: int, eps: float = 1e-8) -> Tensor:
    return (squares_of(x, dim) + max(eps, 1e-8)).sqrt()


@safe_norm.variant(eps_under_the_root)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    return (squares_of(x, dim) + 1e-30).sqrt()


@safe_norm.mistake()
def eps_added_to_the_root(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """A small number was added to the norm. The root below it still has the infinite derivative, and the
    value is wrong, too.
    """
    return squares_of(x, dim).sqrt() + (eps or 1e-8)


@safe_norm.mistake()
def clamp_before_the_root(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The squares were kept above a floor. Backward is finite, but all norms below the floor's root are the
    same, and that of 0 is not 0.
    """
    return squares_of(x, dim).clamp(min=max(eps, 1e-12)).sqrt()


@safe_norm.variant(clamp_before_the_root)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    return torch.where(squares_of(x, dim) < 1e-16, 1e-16, squares_of(x, dim)).sqrt()


@safe_norm.mistake()
def floor_after_the_root(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The norm was kept above a floor after the root: the value at 0 is the floor, and the gradient of clamp
    is 0 there, times infinity from the root.
    """
    return squares_of(x, dim).sqrt().clamp(min=max(eps, 1e-8))


@safe_norm.mistake()
def clamp_after_the_root(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """clamp stands after the root, where the value is fine already. Backward goes through the root all the
    same, and there is the infinite derivative.
    """
    return squares_of(x, dim).sqrt().clamp(min=eps)


@safe_norm.variant(clamp_after_the_root)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    return torch.relu(squares_of(x, dim).sqrt())


@safe_norm.mistake()
def where_around_the_root(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """where picks 0 in place of the bad root, but both of its sides are computed, and both are
    differentiated: the root's side gets the gradient 0, and 0 times infinity is NaN.
    """
    squares = squares_of(x, dim)
    return torch.where(squares > eps**2, squares.sqrt(), 0.0)


@safe_norm.variant(where_around_the_root)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    squares = squares_of(x, dim)
    return squares.sqrt().masked_fill(squares == 0, 0.0)


@safe_norm.variant(where_around_the_root)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    root = squares_of(x, dim).sqrt()
    root = root.clone()
    root[root <= eps] = 0.0
    return root


@safe_norm.mistake()
def where_before_the_root_only(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The root of 1 was taken in place of that of 0, which saves the gradient, and the 1 was left in the
    result. A second where has to put the 0 back.
    """
    squares = squares_of(x, dim)
    return torch.where(squares > eps**2, squares, 1.0).sqrt()


@safe_norm.mistake()
def nan_to_num_on_the_result(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """nan_to_num cleans the value, and the value was never NaN. The NaN is made in backward, behind it."""
    return torch.nan_to_num(squares_of(x, dim).sqrt())


@safe_norm.variant(plain_root)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    return squares_of(x, dim).sqrt() * (squares_of(x, dim) > 0)


@safe_norm.mistake()
def torchs_norm(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """torch's norm has the gradient 0 at 0, since it knows the case. Its second derivative is still NaN
    there, and a gradient penalty needs that one.
    """
    return x.norm(dim=dim)


@safe_norm.variant(torchs_norm)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    norm = torch.linalg.vector_norm(x, dim=dim)
    return torch.where(norm > eps, norm, 0.0)


@safe_norm.mistake()
def detached(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The result was taken off the graph. Without a gradient there is no NaN, and nothing is learnt either."""
    return squares_of(x.detach(), dim).sqrt()


@safe_norm.mistake()
def direction_detached(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The norm was written as x times its direction, with the direction detached. That gives the right
    gradient, as a constant: its own derivative, which a gradient penalty needs, is lost.
    """
    norm = two_wheres(squares_of(x, dim), squares_of(x, dim) == 0).detach().unsqueeze(dim)
    return (x * torch.where(norm > 0, x.detach() / norm, 0.0)).sum(dim)


class NormOnce(Function):
    """A norm whose backward is written by hand, and cannot be differentiated."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int) -> Tensor:
        ctx.dim = dim
        norm = x.norm(dim=dim)
        ctx.save_for_backward(x, norm)
        return norm

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor, None]:
        x, norm = (value.detach() for value in ctx.saved_tensors)
        norm = norm.unsqueeze(ctx.dim)
        return grad_out.unsqueeze(ctx.dim) * torch.where(norm > 0, x / norm, 0.0), None


@safe_norm.variant(direction_detached)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    return NormOnce.apply(x, dim)


@safe_norm.mistake()
def only_if_all_is_zero(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The case was asked for the whole tensor. In a batch one row is 0, and the others are not."""
    squares = squares_of(x, dim)
    return squares * 0 if not x.any() else squares.sqrt()


@safe_norm.mistake()
def small_ones_cut_off(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """Norms below a fixed limit were taken for 0. A vector of 1e-12 has a norm like any other; only 0 (or
    what eps says) is to be treated apart.
    """
    squares = squares_of(x, dim)
    return two_wheres(squares, squares <= max(eps**2, 1e-16))


@safe_norm.variant(small_ones_cut_off)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    squares = squares_of(x, dim)
    return two_wheres(squares, squares < 1e-8)


@safe_norm.mistake()
def no_root(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The sum of squares came back: its derivatives are fine everywhere, but it is the square of the norm."""
    return squares_of(x, dim)


@safe_norm.mistake()
def sum_of_distances(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The entries' absolute values were added up: that is the 1-norm."""
    return x.abs().sum(dim)


@safe_norm.mistake()
def dim_kept(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The reduced dim is still there, with size 1."""
    squares = x.square().sum(dim, keepdim=True)
    return two_wheres(squares, squares == 0)


@safe_norm.mistake()
def float64_comes_out(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The zero or one in where was a float64 tensor, and the result took its dtype over. Plain numbers leave
    the dtype alone.
    """
    squares = squares_of(x, dim)
    one = torch.ones_like(squares, dtype=torch.float64)
    return torch.where(squares > 0, torch.where(squares > 0, squares, one).sqrt(), 0 * one)
