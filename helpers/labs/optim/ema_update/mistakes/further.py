"""More of what people write for 04.ema_update: the decay, integers, memory from call to call."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.optim.ema_update.exercise import ema_update
from helpers.labs.optim.ema_update.mistakes.moved import counters_by_name, float32_only, follow, move, right

INTEGERS = "Buffers of integers or bools (counters, masks) are copied, not averaged."
RULE = "ema = decay * ema + (1 - decay) * model"


@ema_update.mistake(breaks=INTEGERS)
@torch.no_grad()
def integers_averaged_in_place(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """The update ends in an error: a floating-point result cannot be written in place into integers or bools. Perhaps all
    buffers are averaged in place, or all but those of some dtypes; integers and bools are copied.
    """
    follow(ema.parameters(), model.parameters(), decay)
    for one, other in zip(ema.buffers(), model.buffers(), strict=True):
        one.mul_(decay).add_(other, alpha=1 - decay)


@ema_update.variant(integers_averaged_in_place)
@torch.no_grad()
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    follow(ema.parameters(), model.parameters(), decay)
    for one, other in zip(ema.buffers(), model.buffers(), strict=True):
        if one.dtype is torch.int64:
            one.copy_(other)
        else:
            one.mul_(decay).add_(other, alpha=1 - decay)


@ema_update.mistake(breaks=RULE)
def different_decay(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """The numbers moved with a different decay than the one given. Perhaps it is smaller in the first updates, as some
    recipes have it; decay is the caller's.
    """
    right(ema, model, min(decay, 2 / 11))


@ema_update.mistake(breaks=RULE)
def default_at_decay_zero(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """With decay 0 parameters do not become the model's. Perhaps `decay or 0.999` is asked, and 0 counts as nothing given."""
    right(ema, model, decay or 0.999)


@ema_update.variant(default_at_decay_zero)
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    right(ema, model, decay or 0.99)


@ema_update.variant(default_at_decay_zero)
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    right(ema, model, decay or 0.9)


@ema_update.variant(default_at_decay_zero)
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    if decay:
        right(ema, model, decay)


@ema_update.mistake(breaks=RULE)
@torch.no_grad()
def through_float32(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """A float64 parameter or buffer is only as exact as float32. Perhaps numbers went through float(): average each in its
    own dtype.
    """
    by_dtype = lambda tensor: tensor.float() if tensor.dtype is torch.float64 else tensor  # noqa: E731
    for one, other in zip(ema.parameters(), model.parameters(), strict=True):
        one.copy_(decay * by_dtype(one) + (1 - decay) * by_dtype(other))
    follow(ema.buffers(), model.buffers(), decay)


DONE: set[Tensor] = set()


@ema_update.mistake(breaks=RULE)
def moved_once_for_ever(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """The first update of an EMA is right, and at the second no tensor moves. Perhaps the set of what was moved is kept from
    call to call: make it anew in each.
    """
    for mine, theirs in ((ema.parameters(), model.parameters()), (ema.buffers(), model.buffers())):
        for one, other in zip(mine, theirs, strict=True):
            if one not in DONE:
                DONE.add(one)
                follow([one], [other], decay)


@ema_update.variant(counters_by_name)
@torch.no_grad()
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    follow(ema.parameters(), model.parameters(), decay)
    theirs = dict(model.named_buffers())
    for name, one in ema.named_buffers():
        if name.endswith("num_batches_tracked"):
            one.copy_(theirs[name])
        elif one.is_floating_point():
            move(one, theirs[name], decay)


@ema_update.mistake(breaks="Moves each number of `ema` towards `model`, in place")
def only_in_one_mode(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """With the model, the EMA or both in eval mode nothing moves, and in training mode it does. Perhaps `training` was asked: an
    update after a validation finds the model in eval mode, and an EMA is in eval mode most of the time.
    """
    if model.training:
        right(ema, model, decay)


@ema_update.variant(only_in_one_mode)
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    if ema.training:
        right(ema, model, decay)


@ema_update.variant(only_in_one_mode)
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    if model.training or ema.training:
        right(ema, model, decay)


@ema_update.mistake(breaks=INTEGERS)
def bools_left_behind(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """int64 buffers are copied, and bools are not: a mask keeps its first values. Perhaps one dtype was asked for, such as
    int64: all that is not floating-point is copied.
    """
    follow(ema.parameters(), model.parameters(), decay)
    for one, other in zip(ema.buffers(), model.buffers(), strict=True):
        if one.dtype is not torch.bool:
            follow([one], [other], decay)


@ema_update.mistake(breaks="`model` is left as it is.")
@torch.no_grad()
def model_scaled(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """The EMA is right, and numbers of the model have changed. Perhaps they were multiplied by 1 - decay where they lie: mul_
    edits, and add_(theirs, alpha=1 - decay) does not.
    """
    for one, other in zip(ema.parameters(), model.parameters(), strict=True):
        one.mul_(decay).add_(other.mul_(1 - decay))
    follow(ema.buffers(), model.buffers(), decay)


MOVES = "Every parameter moves, frozen or not, and every floating-point buffer, also one that `state_dict` leaves out."


@ema_update.variant(float32_only)
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    follow(ema.parameters(), model.parameters(), decay)
    follow(ema.buffers(), model.buffers(), decay, lambda tensor: tensor.dtype is torch.float32)


@ema_update.mistake(breaks=MOVES)
@torch.no_grad()
def some_dtypes_stay(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """Of some floating dtypes parameters or buffers stay at their first numbers. Perhaps a list of dtypes was asked for, such
    as torch.float32: is_floating_point() asks for what is meant.
    """
    for mine, theirs in ((ema.parameters(), model.parameters()), (ema.buffers(), model.buffers())):
        for one, other in zip(mine, theirs, strict=True):
            if one.dtype is torch.float32:
                move(one, other, decay)
            elif not one.is_floating_point():
                one.copy_(other)


@torch.no_grad()
def _by_dimensions(mine: Any, theirs: Any, decay: float, copied: bool) -> None:
    for one, other in zip(mine, theirs, strict=True):
        if one.ndim or not one.is_floating_point():
            follow([one], [other], decay)
        elif copied:
            one.copy_(other)


@ema_update.mistake(breaks=MOVES)
def scalars_copied(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """A floating-point tensor without dimensions was copied, and those with dimensions move. Perhaps one number was taken for a
    counter: is_floating_point() tells them apart, and not the shape.
    """
    follow(ema.parameters(), model.parameters(), decay)
    _by_dimensions(ema.buffers(), model.buffers(), decay, copied=True)


@ema_update.variant(scalars_copied)
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    _by_dimensions(ema.parameters(), model.parameters(), decay, copied=True)
    _by_dimensions(ema.buffers(), model.buffers(), decay, copied=True)


@ema_update.mistake(breaks=MOVES)
def scalars_left_behind(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """A floating-point tensor without dimensions stays at its first number, and those with dimensions move. Perhaps the shape
    was asked, or a loop goes over entries: a single number is averaged, too.
    """
    _by_dimensions(ema.parameters(), model.parameters(), decay, copied=False)
    follow(ema.buffers(), model.buffers(), decay)


@ema_update.variant(scalars_left_behind)
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    follow(ema.parameters(), model.parameters(), decay)
    _by_dimensions(ema.buffers(), model.buffers(), decay, copied=False)


@ema_update.variant(scalars_left_behind)
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    _by_dimensions(ema.parameters(), model.parameters(), decay, copied=False)
    _by_dimensions(ema.buffers(), model.buffers(), decay, copied=False)


def _of_two_levels(kind: Any, ema: nn.Module, model: nn.Module, decay: float) -> None:
    done: set[int] = set()
    for ours, theirs in zip([ema, *ema.children()], [model, *model.children()], strict=True):
        for one, other in zip(kind(ours, recurse=False), kind(theirs, recurse=False), strict=True):
            if id(one) not in done:
                done.add(id(one))
                follow([one], [other], decay)


@ema_update.mistake(breaks=MOVES)
def two_levels_only(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """Of a module that stands deep inside, parameters, buffers or both stay as they were, and further up they move. Perhaps the
    loop goes over children(), which is one level: parameters() and buffers() of the whole give all.
    """
    _of_two_levels(nn.Module.parameters, ema, model, decay)
    follow(ema.buffers(), model.buffers(), decay)


@ema_update.variant(two_levels_only)
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    follow(ema.parameters(), model.parameters(), decay)
    _of_two_levels(nn.Module.buffers, ema, model, decay)


@ema_update.variant(two_levels_only)
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    _of_two_levels(nn.Module.parameters, ema, model, decay)
    _of_two_levels(nn.Module.buffers, ema, model, decay)


@ema_update.mistake(breaks=INTEGERS)
@torch.no_grad()
def some_integers_averaged(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """int64 and bools are copied, and integers of a different width were averaged and cut to integers again. Perhaps dtypes
    were listed: all that is not floating-point is copied.
    """
    follow(ema.parameters(), model.parameters(), decay)
    for one, other in zip(ema.buffers(), model.buffers(), strict=True):
        if one.dtype in (torch.int64, torch.bool):
            one.copy_(other)
        else:
            one.copy_(decay * one + (1 - decay) * other)


@ema_update.mistake(breaks=INTEGERS)
def some_integers_left_behind(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """int64 and bools are copied, and integers of a different width keep their first values. Perhaps dtypes were listed: all
    that is not floating-point is copied.
    """
    follow(ema.parameters(), model.parameters(), decay)
    for one, other in zip(ema.buffers(), model.buffers(), strict=True):
        if one.is_floating_point() or one.dtype in (torch.int64, torch.bool):
            follow([one], [other], decay)


@ema_update.variant(integers_averaged_in_place)
@torch.no_grad()
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    follow(ema.parameters(), model.parameters(), decay)
    for one, other in zip(ema.buffers(), model.buffers(), strict=True):
        if one.dtype in (torch.int64, torch.bool):
            one.copy_(other)
        else:
            one.mul_(decay).add_(other, alpha=1 - decay)


@ema_update.mistake(breaks=MOVES)
def own_buffers_only(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """A buffer that the module itself holds is averaged, and those of a module inside it stay: the statistics of BatchNorm.
    Perhaps buffers(recurse=False) was gone through: buffers() gives those of all modules.
    """
    follow(ema.parameters(), model.parameters(), decay)
    follow(ema.buffers(recurse=False), model.buffers(recurse=False), decay)
