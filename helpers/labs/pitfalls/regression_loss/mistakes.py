"""What people write for 10.regression_loss, and why it is wrong."""

from __future__ import annotations

import warnings

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.labs.pitfalls.regression_loss.exercise import regression_loss


def _refuse(pred: Tensor, target: Tensor) -> None:
    if pred.shape != target.shape:
        raise ValueError(f"pred has shape {tuple(pred.shape)}, target {tuple(target.shape)}")


def _mse(pred: Tensor, target: Tensor) -> Tensor:
    return ((pred - target) ** 2).mean()


@regression_loss.mistake()
def broadcast(pred: Tensor, target: Tensor) -> Tensor:
    """(N, 1) minus (N,) has shape (N, N): every prediction is compared with every target. The best answer to
    that loss is the mean of the targets, and a model learns just this.
    """
    return ((pred - target) ** 2).mean()


@regression_loss.variant(broadcast)
def _(pred: Tensor, target: Tensor) -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return F.mse_loss(pred, target)


@regression_loss.variant(broadcast)
def _(pred: Tensor, target: Tensor) -> Tensor:
    pred, target = torch.broadcast_tensors(pred, target)
    _refuse(pred, target)
    return _mse(pred, target)


@regression_loss.variant(broadcast)
def _(pred: Tensor, target: Tensor) -> Tensor:
    if pred.shape != target.shape:
        warnings.warn("shapes differ", stacklevel=2)  # read once, then lost in the log
    return _mse(pred, target)


@regression_loss.mistake()
def squeezed(pred: Tensor, target: Tensor) -> Tensor:
    """squeeze() takes out every axis of length 1, the batch of a last, single sample with it. It makes shapes
    equal that were not meant to be.
    """
    pred, target = pred.squeeze(), target.squeeze()
    _refuse(pred, target)
    return _mse(pred, target)


@regression_loss.mistake()
def squeezed_and_stretched(pred: Tensor, target: Tensor) -> Tensor:
    """squeeze() brings (N, 1) to (N,), and nothing looks at the shapes after it: all other pairs of shapes
    are stretched as before.
    """
    return _mse(pred.squeeze(), target.squeeze())


@regression_loss.mistake()
def pred_squeezed(pred: Tensor, target: Tensor) -> Tensor:
    """pred.squeeze(-1) is made for a pred of (N, 1) and a target of (N,). It makes all pairs of a target that
    had the right shape (N, 1) from the start.
    """
    return _mse(pred.squeeze(-1), target)


@regression_loss.mistake()
def flattened(pred: Tensor, target: Tensor) -> Tensor:
    """view(-1) makes one row of any tensor: (3, 2) and (2, 3) have six numbers each, and the wrong ones meet."""
    pred, target = pred.reshape(-1), target.reshape(-1)
    _refuse(pred, target)
    return _mse(pred, target)


@regression_loss.mistake()
def flattened_and_stretched(pred: Tensor, target: Tensor) -> Tensor:
    """After view(-1) a single number still meets a row of any length, and is stretched over it."""
    return _mse(pred.reshape(-1), target.reshape(-1))


@regression_loss.mistake()
def target_reshaped(pred: Tensor, target: Tensor) -> Tensor:
    """view_as takes any shape with as many elements, without a word. That is a guess about what the caller
    meant; where the counts differ, it raises a RuntimeError of its own.
    """
    return _mse(pred, target.reshape(pred.shape))


@regression_loss.mistake()
def expanded(pred: Tensor, target: Tensor) -> Tensor:
    """expand_as writes the stretching down instead of refusing it, and raises RuntimeError where it cannot."""
    return _mse(pred, target.expand_as(pred))


@regression_loss.variant(expanded)
def _(pred: Tensor, target: Tensor) -> Tensor:
    try:
        target = target.expand_as(pred)
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    return _mse(pred, target)


@regression_loss.mistake()
def axis_added(pred: Tensor, target: Tensor) -> Tensor:
    """unsqueeze repairs the one order of shapes that was seen in the debugger: a pred of (N,) with a target
    of (N, 1) still makes all pairs.
    """
    if target.ndim == pred.ndim - 1:
        target = target.unsqueeze(-1)
    return _mse(pred, target)


@regression_loss.mistake()
def count_compared(pred: Tensor, target: Tensor) -> Tensor:
    """(N, 1) and (N,) have the same number of elements: numel() cannot tell them apart."""
    if pred.numel() != target.numel():
        raise ValueError("another number of elements")
    return _mse(pred, target)


@regression_loss.mistake()
def length_compared(pred: Tensor, target: Tensor) -> Tensor:
    """len() is the first axis only. (N, 1) and (N,) agree in it."""
    if pred.shape[:1] != target.shape[:1]:
        raise ValueError("another batch size")
    return _mse(pred, target)


@regression_loss.mistake()
def axes_counted(pred: Tensor, target: Tensor) -> Tensor:
    """Equally many axes are no equal shapes: an axis of length 1 is stretched to any length."""
    if pred.ndim != target.ndim:
        raise ValueError("another number of axes")
    return _mse(pred, target)


@regression_loss.mistake()
def asserted(pred: Tensor, target: Tensor) -> Tensor:
    """An assert is for what cannot happen, raises AssertionError, and is gone under `python -O`."""
    assert pred.shape == target.shape
    return _mse(pred, target)


@regression_loss.mistake()
def sum_for_mean(pred: Tensor, target: Tensor) -> Tensor:
    """The sum of the squares grows with the batch, and with it the gradient."""
    _refuse(pred, target)
    return ((pred - target) ** 2).sum()


@regression_loss.mistake()
def root_taken(pred: Tensor, target: Tensor) -> Tensor:
    """The root of the mean is another loss, with another gradient, and none at 0."""
    _refuse(pred, target)
    return _mse(pred, target).sqrt()


@regression_loss.mistake()
def number_returned(pred: Tensor, target: Tensor) -> float:
    """.item() gives a Python number: there is nothing left to call backward on."""
    _refuse(pred, target)
    return _mse(pred, target).item()
