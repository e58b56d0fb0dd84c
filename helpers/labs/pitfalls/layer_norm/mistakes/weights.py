"""What people write for dw and db of 10.layer_norm, and in what order they return them."""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.check.spec import returned
from helpers.labs.pitfalls.layer_norm.exercise import EDITED, GIVES, GRADIENTS, SHAPES, Gradients, layer_norm
from helpers.labs.pitfalls.layer_norm.mistakes.averages import Shape, right_backward, right_forward
from helpers.labs.pitfalls.layer_norm.mistakes.backward import Known, composed, right_db, right_dw

built = layer_norm.bank(returned)


def over_features(k: Known, value: Tensor) -> Tensor:
    return value.sum(k.dims)


@built.mistake(breaks=SHAPES)
def dw_over_the_features():
    """dw has one number a row. Perhaps it is summed over the features: it has the shape of the weight, so the
    sum goes over everything else, the rows.
    """
    return composed(dw=lambda k: over_features(k, k.dy * k.x_hat), db=lambda k: over_features(k, k.dy))


layer_norm.variant(dw_over_the_features)(composed(dw=lambda k: (k.dy * k.x_hat).sum(-1)))


@built.mistake(breaks=SHAPES)
def dw_not_summed():
    """dw has the shape of x. The weight is used by every row, so its gradient is the sum over the rows."""
    return composed(dw=lambda k: k.dy * k.x_hat, db=lambda k: k.dy)


@built.mistake(breaks=GRADIENTS)
def dw_averaged():
    """dw is the mean over the rows. Gradients of one thing that is used many times add up; a mean, if there is
    one, is in the loss.
    """
    return composed(
        dw=lambda k: (k.dy * k.x_hat).reshape(k.rows).mean(0), db=lambda k: k.dy.reshape(k.rows).mean(0)
    )


@built.mistake(breaks=GRADIENTS)
def dw_of_x():
    """dw is the sum of dy * x. The weight is multiplied with the normalised x, x_hat."""
    return composed(dw=lambda k: k.sum(k.dy * k.x))


@built.mistake(breaks=GRADIENTS)
def dw_of_distances():
    """dw is computed from x - mean, which is not divided by the standard deviation."""
    return composed(dw=lambda k: k.sum(k.dy * k.x_hat / k.rstd))


@built.mistake(breaks=GRADIENTS)
def dw_times_weight():
    """dw is computed from dy * weight. That belongs to dx; the weight's own gradient does not hold the weight."""
    return composed(
        dw=lambda k: right_dw(k._replace(dy=k.dy * k.weight)),
        db=lambda k: right_db(k._replace(dy=k.dy * k.weight)),
    )


layer_norm.variant(dw_times_weight)(composed(dw=lambda k: right_dw(k._replace(dy=k.dy * k.weight))))


@built.mistake(breaks=GRADIENTS)
def dw_and_db_swapped():
    """dw and db stand in each other's place: the order is (dx, dw, db)."""
    return composed(dw=right_db, db=right_dw)


@built.mistake(breaks=SHAPES)
def db_is_one_number():
    """db is one number: it is summed over everything. Each feature has a bias of its own."""
    return composed(db=lambda k: k.dy.sum())


@built.mistake(breaks=GRADIENTS)
def db_of_x_hat():
    """db is the same as dw. The bias is added, so its gradient is the sum of dy alone."""
    return composed(db=right_dw)


@built.mistake(breaks=GRADIENTS)
def db_times_weight():
    """db is the sum of dy * weight. The bias is added after the weight is multiplied."""
    return composed(db=lambda k: k.sum(k.dy * k.weight))


@built.mistake(breaks=SHAPES)
def summed_over_dim_0_only():
    """With two dims in front of the features dw and db keep one of them, as they are summed over dim 0 alone.
    In a text model the sum goes over both.
    """
    return composed(dw=lambda k: (k.dy * k.x_hat).sum(0), db=lambda k: k.dy.sum(0))


@built.mistake(breaks=SHAPES)
def summed_over_all_but_the_last():
    """With several trailing dims dw and db have the last one only. Perhaps they are summed over all dims but
    the last: some of those belong to the weight.
    """
    return composed(
        dw=lambda k: (k.dy * k.x_hat).sum(tuple(range(k.x.ndim - 1))),
        db=lambda k: k.dy.sum(tuple(range(k.x.ndim - 1))),
    )


def _db_first(dy: Tensor, x: Tensor, normalized_shape: Shape, weight: Tensor, eps: float) -> Gradients:
    dx, dw, db = right_backward(dy, x, normalized_shape, weight, eps)
    return dw, db, dx


@built.mistake(breaks=GRADIENTS)
def dx_last():
    """dx stands last. The order is that of the arguments of F.layer_norm: x, weight, bias."""
    return (right_forward, _db_first)


def _dx_alone(dy: Tensor, x: Tensor, normalized_shape: Shape, weight: Tensor, eps: float) -> Tensor:
    return right_backward(dy, x, normalized_shape, weight, eps)[0]


@built.mistake(breaks=SHAPES)
def only_dx():
    """Fewer than three gradients came back. weight and bias are trained, too."""
    return (right_forward, _dx_alone)


def _in_place(dy: Tensor, x: Tensor, normalized_shape: Shape, weight: Tensor, eps: float) -> Gradients:
    found = right_backward(dy, x, normalized_shape, weight, eps)
    with torch.no_grad():
        dy.mul_(weight)
    return found


@built.mistake(breaks=EDITED)
def dy_edited():
    """dy, or a different argument, holds other numbers after the call. It belongs to whoever called, and may be
    a different node's gradient, too. Perhaps it was multiplied by the weight in place.
    """
    return (right_forward, _in_place)


def _weight_needed(
    x: Tensor,
    normalized_shape: Shape,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    return (right_forward(x, normalized_shape, eps=eps) * weight + bias).to(x.dtype)


@built.mistake(breaks=GIVES)
def weight_needed():
    """Without weight and bias a tensor meets None, and Python raises. Perhaps `y * weight + bias` stands there without a
    question: both may be None.
    """
    return (_weight_needed, right_backward)
