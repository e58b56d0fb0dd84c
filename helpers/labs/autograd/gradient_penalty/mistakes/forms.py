"""What people write for 03.gradient_penalty: how the gradients are put together, and what is done before."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from helpers.labs.autograd.gradient_penalty.exercise import gradient_penalty
from helpers.labs.autograd.gradient_penalty.mistakes.values import gradients, other_dtype, total

ENTRIES = "The sum of the squares of all entries of the gradients of `loss` by `params`"


@gradient_penalty.mistake(breaks="No `.grad` is touched, of params or of any other leaf.")
def old_grad_cleared(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """An old .grad is gone, and none was written. Perhaps it was cleared first, as zero_grad does: torch.autograd.grad adds to no
    .grad, so nothing is to be cleared.
    """
    params = list(params)
    for param in params:
        param.grad = None
    return total(loss, (grad.square().sum() for grad in gradients(loss, params)))


@gradient_penalty.mistake(breaks=ENTRIES)
def divided_by_their_number(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The sum of the squares is divided by the number of parameters, a mean of one number for each. The sum is asked for."""
    params = list(params)
    return total(loss, (grad.square().sum() for grad in gradients(loss, params))) / len(params)


@gradient_penalty.mistake(breaks=ENTRIES)
def put_together_unequal(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """Gradients of different shapes were to be put together, and cannot be. Perhaps by torch.stack or torch.cat: make each flat
    before, or add up one number for each.
    """
    return torch.stack(gradients(loss, params)).square().sum()


@gradient_penalty.variant(put_together_unequal)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """One behind the other."""
    return torch.cat(gradients(loss, params)).square().sum()


@gradient_penalty.mistake(breaks="The params may be any iterable, also one that can be walked only once")
def length_asked(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The params were used as a list, which raised: an iterable such as model.parameters() has no len() and no [0]. Make a
    list of it first.
    """
    found = gradients(loss, params) if len(params) else []
    return total(loss, (grad.square().sum() for grad in found))


@gradient_penalty.variant(other_dtype)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The sum begins in float64."""
    begin = torch.zeros((), dtype=torch.float64)
    return sum((grad.square().sum() for grad in gradients(loss, params)), begin)


@gradient_penalty.variant(length_asked)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The sum begins beside the first of them."""
    found = gradients(loss, params)
    return sum((grad.square().sum() for grad in found), params[0].new_zeros(()))


@gradient_penalty.variant(length_asked)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    begin = params[0].new_zeros(())
    return sum((grad.square().sum() for grad in gradients(loss, params)), begin)


@gradient_penalty.mistake(breaks=ENTRIES)
def truth_of_a_gradient(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The truth of a tensor with several numbers was asked, which raises. Perhaps by `if grad:`, to leave out None: ask
    `if grad is not None`.
    """
    found = torch.autograd.grad(loss, params, create_graph=True, allow_unused=True)
    return total(loss, (grad.square().sum() for grad in found if grad))


@gradient_penalty.mistake(breaks="One that the loss does not use counts as 0")
def one_unused_for_all(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """With one parameter that the loss does not use the penalty is 0, and the others do not count. Perhaps the error was caught
    for all at once: with allow_unused=True the gradient of that one alone is None.
    """
    try:
        found = torch.autograd.grad(loss, params, create_graph=True)
    except RuntimeError:
        return loss.new_zeros(())
    return total(loss, (grad.square().sum() for grad in found))


@gradient_penalty.mistake(breaks=ENTRIES)
def scalars_left_out(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The gradient of a parameter without dimensions does not count. Perhaps the shape was asked, or what is one number was
    taken for nothing: it is one entry, and its square counts.
    """
    return total(loss, (grad.square().sum() for grad in gradients(loss, params) if grad.ndim))
