"""What people write for 10.regression_loss, and why it is wrong."""

from __future__ import annotations

import warnings

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.labs.pitfalls.regression_loss.exercise import AS_MANY, RAISES, STRETCHED, regression_loss

MEAN = "The mean of (pred - target)², each prediction with its own target."


def _refuse(pred: Tensor, target: Tensor) -> None:
    if pred.shape != target.shape:
        raise ValueError(f"pred has shape {tuple(pred.shape)}, target {tuple(target.shape)}")


def _mse(pred: Tensor, target: Tensor) -> Tensor:
    return ((pred - target) ** 2).mean()


@regression_loss.mistake(breaks=STRETCHED)
def broadcast(pred: Tensor, target: Tensor) -> Tensor:
    """(N, 1) minus (N,) has the shape (N, N): every prediction is compared with every target. The best answer to
    that loss is the mean of the targets, and a model learns just this. Perhaps the shapes are not compared, or only warned about.
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


@regression_loss.mistake(breaks=AS_MANY)
def squeezed(pred: Tensor, target: Tensor) -> Tensor:
    """(N, 1) is brought to (N,) without a word, and so is the batch of one sample to (). Perhaps squeeze() stands
    before the comparison: it takes out every axis of length 1, and makes shapes equal that were not meant to be.
    """
    pred, target = pred.squeeze(), target.squeeze()
    _refuse(pred, target)
    return _mse(pred, target)


@regression_loss.mistake(breaks=STRETCHED)
def squeezed_and_stretched(pred: Tensor, target: Tensor) -> Tensor:
    """(N, 1) is brought to (N,) without a word, and all other pairs of shapes are stretched as before. Perhaps
    squeeze() is called, and nothing looks at the shapes after it.
    """
    return _mse(pred.squeeze(), target.squeeze())


@regression_loss.mistake(breaks=MEAN)
def pred_squeezed(pred: Tensor, target: Tensor) -> Tensor:
    """Where both have the right shape (N, 1), all pairs are compared. Perhaps pred.squeeze(-1) is called: it is
    made for a pred of (N, 1) and a target of (N,).
    """
    return _mse(pred.squeeze(-1), target)


@regression_loss.mistake(breaks=AS_MANY)
def flattened(pred: Tensor, target: Tensor) -> Tensor:
    """Shapes with equally many entries are taken for equal: (3, 2) and (2, 3) have six numbers each, and the
    wrong ones meet. Perhaps view(-1) makes one row of both first, or view_as gives one the shape of the other.
    """
    pred, target = pred.reshape(-1), target.reshape(-1)
    _refuse(pred, target)
    return _mse(pred, target)


@regression_loss.mistake(breaks=STRETCHED)
def flattened_and_stretched(pred: Tensor, target: Tensor) -> Tensor:
    """Shapes with equally many entries are taken for equal, and a single number is stretched over any row.
    Perhaps view(-1) makes one row of both, and the rows are not compared.
    """
    return _mse(pred.reshape(-1), target.reshape(-1))


@regression_loss.mistake(breaks=AS_MANY)
def target_reshaped(pred: Tensor, target: Tensor) -> Tensor:
    """One of the two is brought into the shape of the other, wherever the counts agree; where they do not, a
    RuntimeError comes. Perhaps by view_as or reshape, which is a guess about what the caller meant.
    """
    return _mse(pred, target.reshape(pred.shape))


@regression_loss.mistake(breaks=RAISES)
def expanded(pred: Tensor, target: Tensor) -> Tensor:
    """A target is stretched over pred wherever that can be done. Perhaps by expand_as, which writes the
    stretching down instead of refusing it.
    """
    return _mse(pred, target.expand_as(pred))


@regression_loss.variant(expanded)
def _(pred: Tensor, target: Tensor) -> Tensor:
    try:
        target = target.expand_as(pred)
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    return _mse(pred, target)


@regression_loss.mistake(breaks=STRETCHED)
def axis_added(pred: Tensor, target: Tensor) -> Tensor:
    """One order of the shapes, a target with an axis less, is repaired without a word; the other order still
    makes all pairs. Perhaps an unsqueeze for the case that was seen in the debugger.
    """
    if target.ndim == pred.ndim - 1:
        target = target.unsqueeze(-1)
    return _mse(pred, target)


@regression_loss.mistake(breaks=AS_MANY)
def count_compared(pred: Tensor, target: Tensor) -> Tensor:
    """(N, 1) against (N,) makes all pairs, while shapes with other numbers of entries are refused. Perhaps
    numel() is compared, which cannot tell these two apart.
    """
    if pred.numel() != target.numel():
        raise ValueError("a different number of elements")
    return _mse(pred, target)


@regression_loss.mistake(breaks=RAISES)
def length_compared(pred: Tensor, target: Tensor) -> Tensor:
    """Shapes that agree in the first axis are taken for equal: (N, 1) and (N,) make all pairs. Perhaps only the
    batch size is compared.
    """
    if pred.shape[:1] != target.shape[:1]:
        raise ValueError("a different batch size")
    return _mse(pred, target)


@regression_loss.mistake(breaks=STRETCHED)
def axes_counted(pred: Tensor, target: Tensor) -> Tensor:
    """Shapes with equally many axes are not refused, and an axis of length 1 is stretched to any length. Perhaps
    only ndim is compared.
    """
    if pred.ndim != target.ndim:
        raise ValueError("a different number of axes")
    return _mse(pred, target)


@regression_loss.mistake(breaks=AS_MANY)
def sizes_in_any_order(pred: Tensor, target: Tensor) -> Tensor:
    """(3, 2) against (2, 3) is not refused by the answer itself. Perhaps the sizes are compared without their
    order.
    """
    if sorted(pred.shape) != sorted(target.shape):
        raise ValueError("other sizes")
    return _mse(pred, target)


@regression_loss.mistake(breaks=AS_MANY)
def as_many_of_as_many_axes(pred: Tensor, target: Tensor) -> Tensor:
    """(3, 2) against (2, 3) gives a loss: each number meets one of a different place. Perhaps numel() and ndim are
    compared, and both are flattened then.
    """
    if pred.numel() != target.numel() or pred.ndim != target.ndim:
        raise ValueError("other shapes")
    return _mse(pred.reshape(-1), target.reshape(-1))


@regression_loss.mistake(breaks=RAISES)
def number_allowed(pred: Tensor, target: Tensor) -> Tensor:
    """A target of no dimensions is stretched over all predictions. Perhaps it was allowed as a convenience: the
    loss of a batch whose targets were averaged by mistake then looks like any other.
    """
    if target.ndim:
        _refuse(pred, target)
    return _mse(pred, target)


@regression_loss.variant(number_allowed)
def _(pred: Tensor, target: Tensor) -> Tensor:
    if target.ndim and pred.ndim:
        _refuse(pred, target)
    return _mse(pred, target)


@regression_loss.mistake(breaks=RAISES)
def asserted(pred: Tensor, target: Tensor) -> Tensor:
    """The shapes are refused with AssertionError. An assert is for what cannot happen, and is gone under
    `python -O`; ValueError was promised.
    """
    assert pred.shape == target.shape
    return _mse(pred, target)


@regression_loss.mistake(breaks=RAISES)
def runtime_error(pred: Tensor, target: Tensor) -> Tensor:
    """All unequal shapes are refused, and with RuntimeError. ValueError was promised: who calls the loss catches that one."""
    if pred.shape != target.shape:
        raise RuntimeError("the shapes differ")
    return _mse(pred, target)


@regression_loss.mistake(breaks=STRETCHED)
def all_that_can_be_stretched(pred: Tensor, target: Tensor) -> Tensor:
    """What torch can stretch is stretched, and only the rest is refused with ValueError. Perhaps the question is whether
    the shapes fit for broadcasting: it is whether they are equal.
    """
    try:
        torch.broadcast_shapes(pred.shape, target.shape)
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    return _mse(pred, target)


@regression_loss.mistake(breaks=RAISES)
def axes_of_both_compared(pred: Tensor, target: Tensor) -> Tensor:
    """Only the axes that both shapes have are compared, from the first on: (N, 1) against (N,) passes, and () against
    anything. Perhaps by zip, which ends with the shorter of two.
    """
    if any(a != b for a, b in zip(pred.shape, target.shape, strict=False)):
        raise ValueError("other sizes")
    return _mse(pred, target)


@regression_loss.mistake(breaks=RAISES)
def nan_for_unequal_shapes(pred: Tensor, target: Tensor) -> Tensor:
    """For unequal shapes NaN comes back, and nothing is raised. It looks like a loss that grew too large."""
    return _mse(pred, target) if pred.shape == target.shape else pred.new_tensor(float("nan"))


@regression_loss.mistake(breaks="of one shape, any: also () and (N, 1).")
def no_number_taken(pred: Tensor, target: Tensor) -> Tensor:
    """Tensors of no dimensions end in a TypeError. Perhaps len() is compared, or a loop goes over the rows: they have
    neither.
    """
    if len(pred) != len(target):
        raise ValueError("a different batch size")
    _refuse(pred, target)
    return _mse(pred, target)


@regression_loss.mistake(breaks="of one shape, any: also () and (N, 1).")
def columns_refused(pred: Tensor, target: Tensor) -> Tensor:
    """(N, 1) against (N, 1) is refused, though the shapes are equal. Perhaps pred alone is squeezed before the shapes are
    compared, or the number of dimensions is asked.
    """
    if pred.ndim != 1 and pred.shape[-1] == 1:
        raise ValueError("one row is asked for")
    _refuse(pred, target)
    return _mse(pred, target)


@regression_loss.mistake(breaks="of one shape, any: also () and (N, 1).")
def numbers_refused(pred: Tensor, target: Tensor) -> Tensor:
    """Two tensors of no dimensions are refused, though their shapes are equal. Perhaps the number of dimensions is asked."""
    if pred.ndim == 0:
        raise ValueError("no dimensions")
    _refuse(pred, target)
    return _mse(pred, target)


@regression_loss.mistake(breaks="its gradient reaches pred.")
def graph_cut(pred: Tensor, target: Tensor) -> Tensor:
    """The value is right, and the loss has no graph: nothing is learnt from it. Perhaps pred is detached, the number
    was taken out and made a new tensor, or the loss is computed under torch.no_grad().
    """
    _refuse(pred, target)
    return _mse(pred.detach(), target)


@regression_loss.mistake(breaks=MEAN)
def half_the_mean(pred: Tensor, target: Tensor) -> Tensor:
    """The loss is half of the mean. Perhaps it is the 1/2 with which books write it, so that the gradient has no 2."""
    _refuse(pred, target)
    return 0.5 * _mse(pred, target)


@regression_loss.mistake(breaks=MEAN)
def mean_of_the_batch_only(pred: Tensor, target: Tensor) -> Tensor:
    """For the shape (3, 2) two numbers come back. Perhaps the mean is that over the first axis: it goes over all."""
    _refuse(pred, target)
    return ((pred - target) ** 2).mean(0) if pred.ndim else _mse(pred, target)


@regression_loss.mistake(breaks=MEAN)
def divided_by_the_batch(pred: Tensor, target: Tensor) -> Tensor:
    """For the shape (3, 2) the loss is twice as large. Perhaps the sum is divided by the number of rows, and not by that
    of the entries.
    """
    _refuse(pred, target)
    return ((pred - target) ** 2).sum() / (len(pred) if pred.ndim else 1)


@regression_loss.mistake(breaks="of the dtype of the inputs")
def float32_comes_out(pred: Tensor, target: Tensor) -> Tensor:
    """From float64 a float32 comes out, and half of the digits are gone. Perhaps by float()."""
    _refuse(pred, target)
    return _mse(pred.float(), target.float())


@regression_loss.mistake(breaks=MEAN)
def sum_for_mean(pred: Tensor, target: Tensor) -> Tensor:
    """The squares are added up, not averaged: the loss grows with the batch, and with it the gradient."""
    _refuse(pred, target)
    return ((pred - target) ** 2).sum()


@regression_loss.mistake(breaks=MEAN)
def root_taken(pred: Tensor, target: Tensor) -> Tensor:
    """The root of the mean comes back. That is a different loss, with a different gradient, and none at 0."""
    _refuse(pred, target)
    return _mse(pred, target).sqrt()


@regression_loss.mistake(breaks=MEAN)
def distances(pred: Tensor, target: Tensor) -> Tensor:
    """The mean of the distances without their sign comes back. Perhaps abs() stands where the square belongs."""
    _refuse(pred, target)
    return (pred - target).abs().mean()


@regression_loss.mistake(breaks="Returns a tensor of no dimensions")
def number_returned(pred: Tensor, target: Tensor) -> float:
    """A Python number comes back: there is nothing left to call backward on. Perhaps .item() stands at the end."""
    _refuse(pred, target)
    return _mse(pred, target).item()


@regression_loss.mistake(breaks="its gradient reaches pred.")
def half_the_gradient(pred: Tensor, target: Tensor) -> Tensor:
    """The value is right, and the gradient of pred is half of what it should be. Perhaps one of the two factors
    of the square is detached.
    """
    _refuse(pred, target)
    gap = pred - target
    return (gap * gap.detach()).mean()


@regression_loss.mistake(breaks="of the dtype of the inputs")
def float64_comes_out(pred: Tensor, target: Tensor) -> Tensor:
    """From float32 a float64 comes out: whatever is added to this loss becomes float64, too. Perhaps the squares
    are averaged in float64, and not brought back.
    """
    _refuse(pred, target)
    return _mse(pred.double(), target.double())


@regression_loss.mistake(breaks="of the dtype of the inputs")
def float32_from_bfloat16(pred: Tensor, target: Tensor) -> Tensor:
    """From bfloat16 a float32 comes out. Perhaps half types are averaged in float32, which is wise, and the
    result is not brought back.
    """
    _refuse(pred, target)
    return _mse(*(value.float() if value.dtype == torch.bfloat16 else value for value in (pred, target)))


@regression_loss.variant(flattened)
def _(pred: Tensor, target: Tensor) -> Tensor:
    try:
        target = target.view_as(pred)
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    return _mse(pred, target)


@regression_loss.variant(columns_refused)
def _(pred: Tensor, target: Tensor) -> Tensor:
    if pred.ndim == 2 and pred.shape[1] == 1:
        pred = pred.squeeze(1)
    _refuse(pred, target)
    return _mse(pred, target)


@regression_loss.variant(no_number_taken)
def _(pred: Tensor, target: Tensor) -> Tensor:
    _refuse(pred, target)
    return torch.stack([_mse(one, other) for one, other in zip(pred, target, strict=True)]).mean()


@regression_loss.variant(axes_counted)
def _(pred: Tensor, target: Tensor) -> Tensor:
    if pred.ndim != target.ndim:
        raise ValueError("a different number of axes")
    try:
        return _mse(pred, target)
    except RuntimeError as error:
        raise ValueError(str(error)) from error


@regression_loss.mistake(breaks=MEAN)
def divided_by_one_less(pred: Tensor, target: Tensor) -> Tensor:
    """The sum of the squares is divided by one less than their number. Perhaps n - 1 is taken over from the variance."""
    _refuse(pred, target)
    return ((pred - target) ** 2).sum() / max(pred.numel() - 1, 1)


@regression_loss.mistake(breaks="Returns a tensor of no dimensions")
def one_entry(pred: Tensor, target: Tensor) -> Tensor:
    """The loss has the shape (1,), and () was asked for. Perhaps by reshape(1), unsqueeze, or keepdim=True."""
    _refuse(pred, target)
    return _mse(pred, target).reshape(1)


@regression_loss.mistake(breaks=MEAN)
def computed_in_float32(pred: Tensor, target: Tensor) -> Tensor:
    """From float64 a float64 comes out, exact to about seven digits. Perhaps by float() on the way, and back at the end."""
    _refuse(pred, target)
    return _mse(pred.float(), target.float()).to(pred.dtype)


@regression_loss.mistake(breaks=STRETCHED)
def axes_and_batch_compared(pred: Tensor, target: Tensor) -> Tensor:
    """Shapes with equally many axes and equally many rows are not refused: (4, 1) is stretched over (4, 2). Perhaps ndim and
    the length of the batch are compared: compare the shapes as a whole.
    """
    if pred.ndim != target.ndim or pred.shape[:1] != target.shape[:1]:
        raise ValueError
    return _mse(pred, target)


@regression_loss.mistake(breaks=STRETCHED)
def column_made_a_row(pred: Tensor, target: Tensor) -> Tensor:
    """A pred of shape (N, 1) is brought to (N,) without a word, where the target has this shape; all else is refused. Perhaps
    pred.squeeze(-1) repairs it: whoever calls the loss may have meant a different target.
    """
    if pred.ndim == target.ndim + 1 and pred.shape[-1] == 1:
        pred = pred.squeeze(-1)
    _refuse(pred, target)
    return _mse(pred, target)
