"""What people write for 10.safe_norm, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from helpers.labs.pitfalls.safe_norm.exercise import (
    AWAY,
    EPS,
    FINITE,
    HOOK,
    NORM,
    SHAPE,
    SLOPES,
    ZEROS,
    safe_norm,
)


@safe_norm.mistake(breaks=SLOPES)
def entries_for_rows(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The second derivative is 0 where one entry of a row is 0 and the row is not. Perhaps each entry that is 0
    was replaced, and not each row: such an entry still bends the norm.
    """
    zero = x == 0
    return torch.where(zero, 0.0, torch.where(zero, 1.0, x)).norm(dim=dim)


@safe_norm.variant(entries_for_rows)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    return torch.linalg.vector_norm(x.masked_fill(x == 0, 0.0), dim=dim)


@safe_norm.mistake(breaks=HOOK)
def hook_on_x(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """A hook stays on x after the call, one more for each call, and changes the gradients of other losses, too.
    Perhaps it hides the NaN on its way out.
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


@safe_norm.mistake(breaks=FINITE)
def plain_root(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The gradient at 0 is NaN. Perhaps it is a root of a sum of squares, written out: the derivative of the root is
    infinite at 0, times the 0 of the square. torch's own norm knows this case.
    """
    return squares_of(x, dim).sqrt()


@safe_norm.variant(plain_root)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    return torch.sqrt((x * x).sum(dim) + eps)


@safe_norm.variant(plain_root)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    return squares_of(x, dim) ** 0.5


@safe_norm.mistake(breaks=ZEROS)
def eps_under_the_root(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The norm of zeros is not 0, as a small number stands under the root. The derivatives are finite then, but
    every norm has changed, that of small vectors by a lot.
    """
    return (squares_of(x, dim) + (eps or 1e-12)).sqrt()


@safe_norm.variant(eps_under_the_root)
def _(x: Tensor, dim: int, eps: float = 1e-8) -> Tensor:
    return (squares_of(x, dim) + max(eps, 1e-8)).sqrt()


@safe_norm.variant(eps_under_the_root)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    return (squares_of(x, dim) + 1e-30).sqrt()


@safe_norm.mistake(breaks=ZEROS)
def eps_added_to_the_root(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The norm of zeros is not 0, as a small number was added to the norm. The root below it still has the
    infinite derivative, and the value is wrong, too.
    """
    return squares_of(x, dim).sqrt() + (eps or 1e-8)


@safe_norm.mistake(breaks=ZEROS)
def clamp_before_the_root(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The norm of zeros is a floor, and all norms below are the same, with a finite gradient. Perhaps the
    squares were kept above a small number.
    """
    return squares_of(x, dim).clamp(min=max(eps, 1e-12)).sqrt()


@safe_norm.variant(clamp_before_the_root)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    return torch.where(squares_of(x, dim) < 1e-16, 1e-16, squares_of(x, dim)).sqrt()


@safe_norm.mistake(breaks=ZEROS)
def floor_after_the_root(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The norm of zeros is a floor, and its gradient is NaN: that of clamp, 0, times infinity from the root.
    Perhaps the norm was kept above a small number, after the root.
    """
    return squares_of(x, dim).sqrt().clamp(min=max(eps, 1e-8))


@safe_norm.mistake(breaks=FINITE)
def clamp_after_the_root(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The gradient at 0 is NaN, in spite of a clamp. Perhaps it stands after the root, where the value is fine
    already: backward goes through the root all the same.
    """
    return squares_of(x, dim).sqrt().clamp(min=eps)


@safe_norm.variant(clamp_after_the_root)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    return torch.relu(squares_of(x, dim).sqrt())


@safe_norm.mistake(breaks=FINITE)
def where_around_the_root(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The gradient at 0 is NaN, in spite of a where. Perhaps it picks 0 in place of the bad root: both of its
    sides are differentiated, and the root's side gets 0, times infinity.
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


@safe_norm.mistake(breaks=ZEROS)
def where_before_the_root_only(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The norm of zeros is that of something else. Perhaps a 1 was put under the root in place of the 0, which
    saves the gradient, and left in the result: a second where has to put the 0 back.
    """
    squares = squares_of(x, dim)
    return torch.where(squares > eps**2, squares, 1.0).sqrt()


@safe_norm.mistake(breaks=FINITE)
def nan_to_num_on_the_result(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The gradient at 0 is NaN, in spite of nan_to_num. Perhaps it cleans the value, which was never NaN: the
    NaN is made in backward, behind it.
    """
    return torch.nan_to_num(squares_of(x, dim).sqrt())


@safe_norm.variant(plain_root)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    return squares_of(x, dim).sqrt() * (squares_of(x, dim) > 0)


@safe_norm.mistake(breaks=FINITE)
def torchs_norm(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The second derivative at 0 is NaN, and the first is 0. Perhaps it is torch's norm, which knows that case:
    a gradient penalty needs the second.
    """
    return x.norm(dim=dim)


@safe_norm.variant(torchs_norm)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    norm = torch.linalg.vector_norm(x, dim=dim)
    return torch.where(norm > eps, norm, 0.0)


@safe_norm.mistake(breaks=SLOPES)
def detached(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The result has no graph. Without a gradient there is no NaN, and nothing is learnt either. Perhaps x was
    detached, or .data was taken.
    """
    return squares_of(x.detach(), dim).sqrt()


@safe_norm.mistake(breaks=SLOPES)
def direction_detached(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The gradient is right, and cannot be differentiated: a gradient penalty counts for nothing, or raises.
    Perhaps the direction is detached, or a backward by hand is made of constants.
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


@safe_norm.mistake(breaks=FINITE)
def only_if_all_is_zero(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The gradient is finite where all rows are 0, and NaN where one of several is. Perhaps the whole tensor
    was asked.
    """
    squares = squares_of(x, dim)
    return squares * 0 if not x.any() else squares.sqrt()


@safe_norm.mistake(breaks=AWAY)
def small_ones_cut_off(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The norm of a tiny vector is 0. Perhaps norms below a fixed limit were taken for 0: only 0 (or what eps
    says) is to be treated apart.
    """
    squares = squares_of(x, dim)
    return two_wheres(squares, squares <= max(eps**2, 1e-16))


@safe_norm.variant(small_ones_cut_off)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    squares = squares_of(x, dim)
    return two_wheres(squares, squares < 1e-8)


@safe_norm.mistake(breaks=NORM)
def no_root(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """This is the sum of the squares: its derivatives are fine everywhere, but it is the square of the norm."""
    return squares_of(x, dim)


@safe_norm.mistake(breaks=NORM)
def sum_of_distances(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """This is the sum of the entries without their sign, the 1-norm."""
    return x.abs().sum(dim)


@safe_norm.mistake(breaks=SHAPE)
def dim_kept(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The reduced dim is still there, with size 1. Perhaps keepdim=True stands there."""
    squares = x.square().sum(dim, keepdim=True)
    return two_wheres(squares, squares == 0)


@safe_norm.mistake(breaks="of the dtype of x")
def float64_comes_out(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """From float32 a float64 comes out. Perhaps the zero or one in where is a float64 tensor, or the
    squares are added in float64 and not brought back.
    """
    squares = squares_of(x, dim)
    one = torch.ones_like(squares, dtype=torch.float64)
    return torch.where(squares > 0, torch.where(squares > 0, squares, one).sqrt(), 0 * one)


def exact_or(with_eps: Callable[[Tensor, float], Tensor]) -> Callable[..., Tensor]:
    """An answer that is right without an eps, and else with_eps(squares, eps)."""

    def answer(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
        squares = squares_of(x, dim)
        return with_eps(squares, eps) if eps else two_wheres(squares, squares == 0)

    return answer


given = safe_norm.bank(exact_or)


@safe_norm.mistake(breaks=NORM)
def dim_not_handed_on(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """For dim=0 the norms are those over the last dim. Perhaps -1 is written where dim belongs."""
    squares = x.square().sum(-1)
    return two_wheres(squares, squares == 0)


@safe_norm.mistake(breaks=SHAPE)
def everything_summed(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """One number comes out, where each row has a norm of its own. Perhaps sum() has no dim."""
    squares = x.square().sum()
    return two_wheres(squares, squares == 0)


@safe_norm.mistake(breaks=NORM)
def computed_in_float32(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """In float64 half of the digits are gone. Perhaps it is computed in float32 and brought back."""
    squares = squares_of(x.float(), dim)
    return two_wheres(squares, squares == 0).to(x.dtype)


@safe_norm.variant(computed_in_float32)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    squares = squares_of(x.float(), dim).to(x.dtype)
    return two_wheres(squares, squares == 0)


@safe_norm.mistake(breaks=AWAY)
def root_lowered(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """Each norm is too small by one small number, and that of zeros is 0. Perhaps a small number was added under the
    root, and its root was subtracted again at the end: that is right at 0 and nowhere else.
    """
    return (squares_of(x, dim) + 1e-12).sqrt() - 1e-6


@safe_norm.variant(root_lowered)
def _(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    return (squares_of(x, dim) + 1e-8).sqrt() - 1e-4


@safe_norm.mistake(breaks=AWAY)
def one_zero_makes_zero(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """A row with one entry of 0 has the norm 0, though its other entries are not 0. Perhaps each entry is asked, and
    any() where all() belongs: ask the sum of the squares.
    """
    zero = x == 0
    return torch.where(zero.any(dim), 0.0, torch.where(zero, 1.0, x).square().sum(dim).sqrt())


@safe_norm.mistake(breaks=NORM)
def mean_of_the_squares(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """This is the root of the mean of the squares: the norm is the root of their sum."""
    squares = x.square().mean(dim)
    return two_wheres(squares, squares == 0)


@given.mistake(breaks=AWAY)
def given_eps_under_the_root(squares: Tensor, eps: float) -> Tensor:
    """With an eps a norm far from 0 is too large. Perhaps eps is added to the squares, or to the norm: it only says
    which norms may count as 0.
    """
    return (squares + eps).sqrt()


@given.mistake(breaks=EPS)
def eps_not_squared(squares: Tensor, eps: float) -> Tensor:
    """With an eps of 1e-6 a norm of 1e-4 comes out as 0. Perhaps the squares are compared with eps: the root of 1e-6
    is 1e-3. Compare them with eps**2.
    """
    return two_wheres(squares, squares <= eps)


@given.mistake(breaks=FINITE)
def exact_zeros_only_without_eps(squares: Tensor, eps: float) -> Tensor:
    """With an eps the gradient at 0 is NaN. Perhaps the case of 0 is treated only where no eps is given."""
    return torch.where(squares > eps**2, squares.sqrt(), 0.0)


@given.mistake(breaks=EPS)
def one_for_small_ones(squares: Tensor, eps: float) -> Tensor:
    """With an eps a small row has the norm 1, or a different one that is no number from 0 to eps. Perhaps the
    second where is missing, or puts something other than 0 in the place of what stood under the root.
    """
    return torch.where(squares <= eps**2, 1.0, squares).sqrt()


@safe_norm.mistake(breaks=ZEROS)
def gradient_of_a_sum(x: Tensor, dim: int, eps: float = 0.0) -> Tensor:
    """The gradient at 0 is finite, and not 0. Perhaps the 0 in place of the root is a sum or product of x, which has a
    slope of its own, or a backward by hand divides 0 by 0 and puts a number there.
    """
    squares = squares_of(x, dim)
    return torch.where(squares == 0, x.sum(dim), torch.where(squares == 0, 1.0, squares).sqrt())


@given.mistake(breaks=EPS)
def norms_against_the_square_of_eps(squares: Tensor, eps: float) -> Tensor:
    """With an eps of 3 a norm of 3.5 comes out as 0, and with one below 1 all seems right. Perhaps the norm is compared
    with eps**2: the norm belongs to eps, and its square to eps**2.
    """
    return two_wheres(squares, squares.sqrt() <= eps**2)


@given.mistake(breaks=EPS)
def larger_than_a_large_eps(squares: Tensor, eps: float) -> Tensor:
    """With an eps of 3 a norm just below it comes out as more than 3. Perhaps the squares stand there in place of their
    root, which are the smaller ones only below 1.
    """
    return torch.where(squares <= eps**2, squares, torch.where(squares <= eps**2, 1.0, squares).sqrt())
