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
    """The numbers went as far as if decay and 1 - decay were swapped. With decay 0.999 the EMA would be the model of this
    very step, and nothing averaged. decay belongs to what was there.
    """
    follow(ema.parameters(), model.parameters(), 1 - decay)
    follow(ema.buffers(), model.buffers(), 1 - decay)


@ema_update.mistake()
def parameters_only(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """Parameters moved, and floating-point buffers did not: the statistics of BatchNorm stay at their first numbers,
    and in eval mode the EMA computes with them. Perhaps only parameters() was gone through; buffers() is the rest.
    """
    follow(ema.parameters(), model.parameters(), decay)


@ema_update.mistake()
def all_buffers_copied(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """Floating-point buffers were copied: averaged weights stand beside the statistics of the last step's
    weights. They are averaged with the weights. (AveragedModel copies them by default.)
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
    """Integers were averaged and made integers again: num_batches_tracked of the EMA lags behind for ever. A counter is
    copied. (AveragedModel with use_buffers=True averages it.)
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
    """Integers and bools of the EMA did not move: a counter or a mask stays at its first value. They are copied. Perhaps
    only floating-point tensors were gone through.
    """
    follow(ema.parameters(), model.parameters(), decay)
    pairs = zip(ema.buffers(), model.buffers(), strict=True)
    for one, other in pairs:
        if one.is_floating_point():
            move(one, other, decay)


@ema_update.mistake()
@torch.no_grad()
def counters_by_name(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """num_batches_tracked is copied, and a different integer buffer is not. Perhaps the one was picked out by its name: each
    module names its integers as it likes, so ask each tensor for its dtype.
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
    """A buffer with persistent=False stays at its first numbers, though the forward pass reads it. Perhaps the loop went
    over state_dict(), which leaves such buffers out: buffers() has them.
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
    """A tied weight was moved twice in one update: it runs ahead of the others. It stands in the module under two names;
    parameters() gives each tensor once.
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
def shared_buffer_moved_twice(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """A buffer that stands under two names was moved twice in one update, as a table that two layers share. buffers() gives
    each tensor once.
    """
    follow(ema.parameters(), model.parameters(), decay)
    each = [dict(module.named_buffers(remove_duplicate=False)).values() for module in (ema, model)]
    follow(*each, decay)


@ema_update.mistake()
def float32_only(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """Of some floating dtypes parameters or buffers were copied like counters. Perhaps torch.float32, or a list of dtypes,
    was taken for all that is floating-point: is_floating_point() asks for what is meant.
    """
    only = lambda tensor: tensor.dtype is torch.float32  # noqa: E731
    follow(ema.parameters(), model.parameters(), decay, only)
    follow(ema.buffers(), model.buffers(), decay, only)


@ema_update.mistake()
def nothing_at_decay_one(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """With decay 1 counters and masks stay. Perhaps the function returns at once, since nothing moves; but integers and
    bools are copied at every update, whatever decay is.
    """
    if decay < 1:
        follow(ema.parameters(), model.parameters(), decay)
        follow(ema.buffers(), model.buffers(), decay)


@ema_update.mistake()
def trainable_only(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """A frozen parameter stays at its first numbers, and those that need gradients move. Perhaps what requires_grad says
    was asked: a layer is frozen for a while and trains before or after.
    """
    pairs = zip(ema.parameters(), model.parameters(), strict=True)
    mine, theirs = zip(*[(one, other) for one, other in pairs if other.requires_grad], strict=True)
    follow(mine, theirs, decay)
    follow(ema.buffers(), model.buffers(), decay)


@ema_update.mistake()
def graph_recorded(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """Tensors of the EMA have a grad_fn after the update: the graph grows with every step until memory ends. Perhaps
    torch.no_grad() is missing.
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
    """The numbers are right, but parameters have different memory or are different tensors than before: who holds the old ones (a
    view, a fused buffer, a CUDA graph) never sees a change. Perhaps a new tensor is assigned, as by param.data = ...
    """
    for mine, theirs in zip(ema.parameters(), model.parameters(), strict=True):
        mine.data = decay * mine.data + (1 - decay) * theirs.data
    follow(ema.buffers(), model.buffers(), decay)


@ema_update.variant(memory_replaced)
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    for mine, theirs in zip(ema.parameters(), model.parameters(), strict=True):
        mine.data = decay * mine.data + (1 - decay) * theirs.data
    for mine, theirs in zip(ema.buffers(), model.buffers(), strict=True):
        mine.data = decay * mine + (1 - decay) * theirs if mine.is_floating_point() else theirs.clone()


@ema_update.mistake()
def counters_shared(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """For integers or bools the EMA holds the memory of the model, and no copies: it moves when the model trains on. copy_
    writes the numbers and ties nothing.
    """
    follow(ema.parameters(), model.parameters(), decay)
    for mine, theirs in zip(ema.buffers(), model.buffers(), strict=True):
        if mine.is_floating_point():
            move(mine, theirs, decay)
        else:
            mine.data = theirs.data


@ema_update.variant(counters_shared)
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    right(ema, model, decay)
    for mine, theirs in zip(ema.modules(), model.modules(), strict=True):
        for name, buffer in mine.named_buffers(recurse=False):
            if not buffer.is_floating_point():
                setattr(mine, name, getattr(theirs, name))


@ema_update.variant(memory_replaced)
@torch.no_grad()
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """New Parameters, which takes a tied weight apart."""
    for mine, theirs in zip(ema.modules(), model.modules(), strict=True):
        for name, other in theirs.named_parameters(recurse=False):
            old = getattr(mine, name)
            setattr(mine, name, nn.Parameter(decay * old + (1 - decay) * other, old.requires_grad))
    follow(ema.buffers(), model.buffers(), decay)


@ema_update.mistake()
def model_moved(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """Numbers of the model have changed, and parameters of the EMA stayed. The average follows the model, and the model
    knows nothing of it. Perhaps the two are swapped.
    """
    follow(model.parameters(), ema.parameters(), decay)
    follow(model.buffers(), ema.buffers(), decay)


@ema_update.mistake()
def copy_returned(ema: nn.Module, model: nn.Module, decay: float) -> nn.Module:
    """A different module than `ema` was returned. The caller goes on with the EMA that it gave, so that one is to be
    changed, in place.
    """
    new = copy.deepcopy(ema)
    follow(new.parameters(), model.parameters(), decay)
    follow(new.buffers(), model.buffers(), decay)
    return new


@ema_update.mistake()
def model_copied(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """Parameters of the EMA were made equal to the model's: a copy of the last step, and no average. Perhaps all were copied,
    or all that need no gradient: in an EMA these are all of them.
    """
    follow(ema.parameters(), model.parameters(), 0.0)
    follow(ema.buffers(), model.buffers(), 0.0)


@ema_update.variant(model_copied)
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    ema.load_state_dict(model.state_dict())


def right(ema: nn.Module, model: nn.Module, decay: float) -> None:
    follow(ema.parameters(), model.parameters(), decay)
    follow(ema.buffers(), model.buffers(), decay)


@torch.no_grad()
def by_name(ema: nn.Module, model: nn.Module, decay: float, moving: Any) -> None:
    """Parameters as they should; moving(name, buffer) says which buffers are averaged, the others are copied."""
    follow(ema.parameters(), model.parameters(), decay)
    theirs = dict(model.named_buffers())
    for name, buffer in ema.named_buffers():
        follow([buffer], [theirs[name]], decay, lambda tensor, name=name: moving(name, tensor))


@ema_update.mistake(breaks="ema = decay * ema + (1 - decay) * model")
def new_tensors_dropped(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """After the update the EMA's parameters are what they were. Perhaps `mine = decay * mine + ...` makes a new tensor and gives it the
    name, and nobody keeps it: lerp_, mul_ and copy_ edit a tensor where it lies.
    """
    for mine, theirs in zip(ema.parameters(), model.parameters(), strict=True):
        mine = decay * mine + (1 - decay) * theirs


@ema_update.mistake(breaks="ema = decay * ema + (1 - decay) * model")
@torch.no_grad()
def old_not_shrunk(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """(1 - decay) * model was added, and what was there was not multiplied by decay: the numbers grow at each update."""
    for mine, theirs in zip(ema.parameters(), model.parameters(), strict=True):
        mine.add_(theirs, alpha=1 - decay)
    follow(ema.buffers(), model.buffers(), decay)


@ema_update.mistake(breaks="ema = decay * ema + (1 - decay) * model")
@torch.no_grad()
def model_not_shrunk(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """decay * ema is right, and all of the model was added, not 1 - decay of it: the numbers grow at each update."""
    for mine, theirs in zip(ema.parameters(), model.parameters(), strict=True):
        mine.mul_(decay).add_(theirs)
    follow(ema.buffers(), model.buffers(), decay)


@ema_update.mistake(
    breaks="Every parameter moves, frozen or not, and every floating-point buffer, also one that `state_dict` leaves out."
)
def children_only(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """A parameter that the module itself holds stays, and others, of modules inside it, move. Perhaps children() was gone
    through: parameters() of the whole gives all.
    """
    for mine, theirs in zip(ema.children(), model.children(), strict=True):
        follow(mine.parameters(), theirs.parameters(), decay)
    follow(ema.buffers(), model.buffers(), decay)


@ema_update.mistake(
    breaks="Every parameter moves, frozen or not, and every floating-point buffer, also one that `state_dict` leaves out."
)
def statistics_copied(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """The statistics of BatchNorm are copied, a different floating-point buffer is averaged. Perhaps they were picked out by
    name: they belong to the averaged weights, and are averaged, too.
    """
    by_name(ema, model, decay, lambda name, tensor: tensor.is_floating_point() and "running" not in name)


@ema_update.mistake(
    breaks="Every parameter moves, frozen or not, and every floating-point buffer, also one that `state_dict` leaves out."
)
def statistics_only(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """The statistics of BatchNorm are averaged, a different floating-point buffer is copied. Perhaps they were picked out by
    name; each module names its buffers as it likes, so ask is_floating_point().
    """
    by_name(ema, model, decay, lambda name, tensor: "running" in name)


@ema_update.variant(float32_only)
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    only = lambda tensor: tensor.dtype in (torch.float32, torch.float64)  # noqa: E731
    follow(ema.parameters(), model.parameters(), decay, only)
    follow(ema.buffers(), model.buffers(), decay, only)


@torch.no_grad()
def by_the_dicts(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """Goes through the dicts of each module, where None stands for a tensor that a layer does without."""
    done: set[int] = set()
    for mine, theirs in zip(ema.modules(), model.modules(), strict=True):
        for own, other in ((mine._parameters, theirs._parameters), (mine._buffers, theirs._buffers)):
            for name, tensor in own.items():
                if id(tensor) not in done:
                    done.add(id(tensor))
                    follow([tensor], [other[name]], decay)


@ema_update.mistake(
    breaks="Every parameter moves, frozen or not, and every floating-point buffer, also one that `state_dict` leaves out."
)
def none_taken_for_a_tensor(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """The update ends in an error where a layer holds None in place of a tensor, as one with bias=False. Perhaps the dicts
    _parameters and _buffers were gone through: parameters() and buffers() leave out what is None.
    """
    by_the_dicts(ema, model, decay)


@ema_update.mistake(breaks="Buffers of integers or bools (counters, masks) are copied, not averaged.")
def masks_averaged(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """int64 buffers are copied, and a mask is True where either of the two is. Perhaps bools were averaged, and what is not 0
    is True; or the two were joined by `or`. A mask is copied.
    """
    follow(ema.parameters(), model.parameters(), decay)
    for one, other in zip(ema.buffers(), model.buffers(), strict=True):
        move_integers(one, other, 0.0 if one.dtype is torch.int64 else decay)


@ema_update.mistake(breaks="Buffers of integers or bools (counters, masks) are copied, not averaged.")
@torch.no_grad()
def counted_up(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """int64 buffers of the EMA are one more than before the update. Perhaps they count updates, not the batches that the model
    has seen: they are copied.
    """
    before = [buffer.clone() for buffer in ema.buffers()]
    right(ema, model, decay)
    for buffer, was in zip(ema.buffers(), before, strict=True):
        if buffer.dtype is torch.int64:
            buffer.copy_(was + 1)


@ema_update.mistake(breaks="Buffers of integers or bools (counters, masks) are copied, not averaged.")
@torch.no_grad()
def larger_taken(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """Integers and bools are the larger of the two: a mask is True where either is, and a counter that began anew in the
    model never does here. They are copied.
    """
    before = [buffer.clone() for buffer in ema.buffers()]
    right(ema, model, decay)
    for buffer, was in zip(ema.buffers(), before, strict=True):
        if not buffer.is_floating_point():
            buffer.copy_(torch.maximum(buffer, was))


@ema_update.variant(counters_averaged)
@torch.no_grad()
def _(ema: nn.Module, model: nn.Module, decay: float) -> None:
    follow(ema.parameters(), model.parameters(), decay)
    for one, other in zip(ema.buffers(), model.buffers(), strict=True):
        if one.is_floating_point():
            move(one, other, decay)
        else:
            one.copy_((decay * one.double() + (1 - decay) * other.double()).round())


@ema_update.mistake(breaks="ema = decay * ema + (1 - decay) * model")
def decay_bounded(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """With decay 1 floating-point numbers move, and they should stay. Perhaps decay is bounded, or made smaller in the first
    updates; that is the caller's.
    """
    right(ema, model, min(decay, 0.98))


@ema_update.mistake(breaks="ema = decay * ema + (1 - decay) * model")
def loaded_at_decay_zero(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """With decay 0 some buffers do not become the model's. Perhaps load_state_dict was taken for it, which knows nothing
    of buffers with persistent=False.
    """
    if decay == 0:
        ema.load_state_dict(model.state_dict())
    else:
        right(ema, model, decay)


@ema_update.mistake(
    breaks="The same tensors with the same memory hold the new values; none is shared with `model`."
)
@torch.no_grad()
def buffers_replaced(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """Buffers of the EMA are different tensors than before, or have different memory, and parameters are the same: who holds the
    old ones never sees a change. Perhaps new tensors were assigned; edit them in place.
    """
    follow(ema.parameters(), model.parameters(), decay)
    for mine, theirs in zip(ema.modules(), model.modules(), strict=True):
        for name, buffer in list(mine.named_buffers(recurse=False)):
            other = getattr(theirs, name)
            new = decay * buffer + (1 - decay) * other if buffer.is_floating_point() else other.clone()
            setattr(mine, name, new)


@ema_update.mistake(breaks="`ema` keeps its mode and its `requires_grad`.")
def mode_turned(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """The numbers are right, and modules of the EMA are in a different mode than before. Perhaps eval() or train() was called:
    that is for whoever uses the EMA.
    """
    right(ema, model, decay)
    ema.eval()


@ema_update.mistake(breaks="`ema` keeps its mode and its `requires_grad`.")
def requires_grad_changed(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """The numbers are right, and requires_grad of the EMA is not what it was before. torch.no_grad() is enough for an
    update; what the EMA's parameters require is the caller's.
    """
    right(ema.requires_grad_(False), model, decay)


@ema_update.mistake(breaks="`model` is left as it is.")
def gradients_cleared(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """The gradients of the model are not what they were before the update. Perhaps zero_grad() was called: they belong to the training
    loop.
    """
    right(ema, model, decay)
    model.zero_grad()


@ema_update.mistake(breaks="`model` is left as it is.")
def model_frozen(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """requires_grad of the model is not what it was. Perhaps requires_grad_(False) stands for detach(): the next backward of
    the model would find nothing to do.
    """
    right(ema, model.requires_grad_(False), decay)


@ema_update.mistake(breaks="`model` is left as it is.")
def model_turned(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """Modules of the model are in a different mode than before. Perhaps eval() or train() was called; training goes on with
    dropout and statistics as it left them.
    """
    right(ema, model.eval(), decay)


@ema_update.mistake()
def torchs_own(ema: nn.Module, model: nn.Module, decay: float) -> None:
    """Functions of torch.optim.swa_utils ran. They are what the exercise builds again."""
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
