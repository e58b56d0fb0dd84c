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
    """len() of the params raised: an iterable such as model.parameters() has none. Make a list of it first."""
    found = gradients(loss, params) if len(params) else []
    return total(loss, (grad.square().sum() for grad in found))


@gradient_penalty.variant(other_dtype)
def _(loss: Tensor, params: Iterable[Tensor]) -> Tensor:
    """The sum begins in float64."""
    begin = torch.zeros((), dtype=torch.float64)
    return sum((grad.square().sum() for grad in gradients(loss, params)), begin)
