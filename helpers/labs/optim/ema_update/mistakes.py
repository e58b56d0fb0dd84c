"""What people write for 04.ema_update, and why it is wrong."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_avg_fn, get_ema_multi_avg_fn

from helpers.labs.optim.ema_update.exercise import ema_update


def move(mine: Tensor, theirs: Tensor, decay: float) -> None:
    mine.lerp_(theirs.to(mine), 1 - decay)


@torch.no_grad()
def follow(mine: Any, theirs: Any, decay: float, moving: Any = Tensor.is_floating_point) -> None:
    """Moves tensors of one kind, copies the others."""
    for one, other in zip(mine, theirs, strict=True):
        if moving(one):
            move(one, other, decay)
        else:
            one.copy_(other)


@ema_update.mistake()
def decay_swapped(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """The weights are swapped: with decay 0.999 the EMA is the model of this very step, and nothing is
    averaged. decay belongs to what was there.
    """
    follow(ema.parameters(), model.parameters(), 1 - decay)
    follow(ema.buffers(), model.buffers(), 1 - decay)


@ema_update.mistake()
def parameters_only(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """A module is more than its parameters: the statistics of BatchNorm stay at 0 and 1 for ever, and the
    EMA's predictions are worthless in eval mode.
    """
    follow(ema.parameters(), model.parameters(), decay)


@ema_update.mistake()
def all_buffers_copied(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """All buffers were copied, as AveragedModel does by default: averaged weights beside the statistics of
    the last step's weights. Those that are numbers with a point are averaged with the weights.
    """
    follow(ema.parameters(), model.parameters(), decay)
    follow(ema.buffers(), model.buffers(), decay, lambda tensor: False)


@torch.no_grad()
def move_integers(one: Tensor, other: Tensor, decay: float) -> None:
    if one.is_floating_point():
        move(one, other, decay)
    else:
        one.copy_(decay * one + (1 - decay) * other)


@ema_update.mistake()
def counters_averaged(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """Integers were averaged, and what is behind the point cut off at each step: num_batches_tracked of the
    EMA lags behind for ever. A counter is copied. (AveragedModel with use_buffers=True does this.)
    """
    follow(ema.parameters(), model.parameters(), decay)
    for one, other in zip(ema.buffers(), model.buffers(), strict=True):
        move_integers(one, other, decay)


@ema_update.variant(counters_averaged)
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    follow(ema.parameters(), model.parameters(), decay)
    for one, other in zip(ema.buffers(), model.buffers(), strict=True):
        if one.dtype is torch.bool:
            one.copy_(other)
        else:
            move_integers(one, other, decay)


@ema_update.mistake()
def integers_left_behind(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """Buffers of integers were left out: a counter or a position of the EMA never moves. They are copied."""
    follow(ema.parameters(), model.parameters(), decay)
    pairs = zip(ema.buffers(), model.buffers(), strict=True)
    for one, other in pairs:
        if one.is_floating_point():
            move(one, other, decay)


@ema_update.mistake()
@torch.no_grad()
def counters_by_name(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """num_batches_tracked was picked out by its name. Other modules have other integers; ask the tensor for
    its dtype.
    """
    follow(ema.parameters(), model.parameters(), decay)
    theirs = dict(model.named_buffers())
    for name, one in ema.named_buffers():
        if name.endswith("num_batches_tracked"):
            one.copy_(theirs[name])
        else:
            move_integers(one, theirs[name], decay)


@ema_update.mistake()
@torch.no_grad()
def state_dict_only(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """The loop went over state_dict(). It leaves out buffers with persistent=False, which the forward pass reads all
    the same: the EMA keeps those of its first day.
    """
    theirs, seen = model.state_dict(), set()
    for name, mine in ema.state_dict().items():
        if mine.data_ptr() not in seen:
            seen.add(mine.data_ptr())
            follow([mine], [theirs[name]], decay)


@ema_update.variant(state_dict_only)
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    theirs = model.state_dict()
    for name, mine in ema.state_dict().items():
        follow([mine], [theirs[name]], decay)


@ema_update.mistake()
def tied_moved_twice(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """A tied weight stands in the module under two names, and was moved once for each: it runs ahead of the
    others. parameters() gives each tensor once.
    """
    each = [dict(module.named_parameters(remove_duplicate=False)).values() for module in (ema, model)]
    follow(*each, decay)
    follow(ema.buffers(), model.buffers(), decay)


@ema_update.variant(tied_moved_twice)
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    for mine, theirs in zip(ema.modules(), model.modules(), strict=True):
        follow(mine.parameters(recurse=False), theirs.parameters(recurse=False), decay)
        follow(mine.buffers(recurse=False), theirs.buffers(recurse=False), decay)


@ema_update.mistake()
def float32_only(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """torch.float32 was taken for all that has a point. Tensors of float64, float16 or bfloat16 were copied like
    counters; is_floating_point() asks for what is meant.
    """
    only = lambda tensor: tensor.dtype is torch.float32  # noqa: E731
    follow(ema.parameters(), model.parameters(), decay, only)
    follow(ema.buffers(), model.buffers(), decay, only)


@ema_update.mistake()
def nothing_at_decay_one(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """With decay 1 the function returns at once, since nothing moves. Counters and masks are copied at every
    update, whatever decay is.
    """
    if decay < 1:
        follow(ema.parameters(), model.parameters(), decay)
        follow(ema.buffers(), model.buffers(), decay)


@ema_update.mistake()
def trainable_only(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """Parameters that need no gradient now were passed over. A layer is frozen for a while and trains before
    or after: the EMA keeps its numbers of the first day.
    """
    pairs = zip(ema.parameters(), model.parameters(), strict=True)
    mine, theirs = zip(*[(one, other) for one, other in pairs if other.requires_grad], strict=True)
    follow(mine, theirs, decay)
    follow(ema.buffers(), model.buffers(), decay)


@ema_update.mistake()
def graph_recorded(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """Without torch.no_grad() the update is a part of the model's graph: it grows with every step until
    memory ends.
    """
    for mine, theirs in zip(ema.parameters(), model.parameters(), strict=True):
        mine.mul_(decay).add_(theirs, alpha=1 - decay)
    follow(ema.buffers(), model.buffers(), decay)


@ema_update.variant(graph_recorded)
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    for mine, theirs in zip(ema.parameters(), model.parameters(), strict=True):
        move(mine, theirs, decay)
    follow(ema.buffers(), model.buffers(), decay)


@ema_update.mistake()
def memory_replaced(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """param.data = ... gives the parameter other memory. The numbers are right, but who holds the old memory
    (a view, a fused buffer, a CUDA graph) never sees them.
    """
    for mine, theirs in zip(ema.parameters(), model.parameters(), strict=True):
        mine.data = decay * mine.data + (1 - decay) * theirs.data
    follow(ema.buffers(), model.buffers(), decay)


@ema_update.variant(memory_replaced)
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    for mine, theirs in zip(ema.parameters(), model.parameters(), strict=True):
        mine.data = decay * mine.data + (1 - decay) * theirs.data
    for mine, theirs in zip(ema.buffers(), model.buffers(), strict=True):
        mine.data = (
            decay * mine + (1 - decay) * theirs.float() if mine.is_floating_point() else theirs.clone()
        )


@ema_update.mistake()
def counters_shared(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """The EMA was given the model's own counters, and no copies: it moves when the model trains on."""
    follow(ema.parameters(), model.parameters(), decay)
    for mine, theirs in zip(ema.buffers(), model.buffers(), strict=True):
        if mine.is_floating_point():
            move(mine, theirs, decay)
        else:
            mine.data = theirs.data


@ema_update.variant(counters_shared)
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    follow(ema.parameters(), model.parameters(), decay)
    for mine, theirs in zip(ema.modules(), model.modules(), strict=True):
        for name, buffer in mine.named_buffers(recurse=False):
            if buffer.is_floating_point():
                move(buffer, getattr(theirs, name), decay)
            else:
                setattr(mine, name, getattr(theirs, name))


@ema_update.mistake()
def model_moved(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """The model was moved towards the EMA, and the EMA stayed. The average follows the model, and the model
    knows nothing of it.
    """
    follow(model.parameters(), ema.parameters(), decay)
    follow(model.buffers(), ema.buffers(), decay)


@ema_update.mistake()
def copy_returned(ema: nn.Module, model: nn.Module, decay: float) -> nn.Module:
    """A new module was made and returned, and the EMA that was given stayed as it was: the caller goes on
    with the old one.
    """
    new = copy.deepcopy(ema)
    follow(new.parameters(), model.parameters(), decay)
    follow(new.buffers(), model.buffers(), decay)
    return new


@ema_update.mistake()
def model_copied(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """The EMA was made equal to the model: a copy of the last step, and no average."""
    follow(ema.parameters(), model.parameters(), 0.0)
    follow(ema.buffers(), model.buffers(), 0.0)


@ema_update.variant(model_copied)
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    ema.load_state_dict(model.state_dict())


@ema_update.mistake()
def torchs_own(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """The functions of torch.optim.swa_utils are what the exercise builds again."""
    move_all = get_ema_multi_avg_fn(decay)
    follow(ema.buffers(), model.buffers(), decay)
    move_all(list(ema.parameters()), list(model.parameters()), 1)


@ema_update.variant(torchs_own)
@torch.no_grad()
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    average = get_ema_avg_fn(decay)
    for mine, theirs in zip(ema.parameters(), model.parameters(), strict=True):
        mine.copy_(average(mine, theirs, 1))
    follow(ema.buffers(), model.buffers(), decay)


@ema_update.variant(torchs_own)
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    averaged = AveragedModel(ema, avg_fn=lambda mine, theirs, count: decay * mine + (1 - decay) * theirs)
    averaged.n_averaged += 1
    averaged.update_parameters(model)
    follow(ema.parameters(), averaged.module.parameters(), 0.0)
    follow(ema.buffers(), model.buffers(), decay)
