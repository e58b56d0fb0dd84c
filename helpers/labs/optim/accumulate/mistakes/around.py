"""What people write for 04.accumulate: the result, the memory, and what is left as it is."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from helpers.check.spec import returned
from helpers.labs.optim.accumulate.exercise import accumulate
from helpers.labs.optim.accumulate.right import (
    Batch,
    counts_of,
    returning,
    shares,
    weighted,
    whole,
)

built = accumulate.bank(returned)


@accumulate.mistake()
def losses_summed_first(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """Batches ran before the backward of those before them, and the graphs of several were alive at once. Perhaps the losses or the
    outputs were kept, or the losses added up with one backward at the end: the memory is near that of the large batch.
    """
    batches = list(batches)
    counts, losses = counts_of(batches, loss_fn.ignore_index), []
    for (x, target), count in zip(batches, counts, strict=True):
        if count:
            losses.append(loss_fn(model(x), target) * (count / sum(counts)))
    loss = torch.stack(losses).sum()
    loss.backward()
    return loss.detach()


@accumulate.mistake()
def graphs_retained(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """While a batch runs, more is held for backward than it needs itself. Perhaps the graph of the one before is still alive:
    retain_graph=True keeps it, though nothing goes through it again.
    """
    batches = list(batches)
    counts, total = counts_of(batches, loss_fn.ignore_index), []
    for (x, target), count in zip(batches, counts, strict=True):
        if count:
            loss = loss_fn(model(x), target) * (count / sum(counts))
            loss.backward(retain_graph=True)
            total.append(loss.detach())
    return torch.stack(total).sum()


@accumulate.variant(graphs_retained)
def _(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    batches = list(batches)
    counts, total = counts_of(batches, loss_fn.ignore_index), []
    for (x, target), count in zip(batches, counts, strict=True):
        if count:
            loss = loss_fn(model(x), target) * (count / sum(counts))
            loss.backward(retain_graph=True)
            total.append(loss)
    return torch.stack(total).sum().detach()


@accumulate.mistake()
def model_runs_twice(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """The model ran more often than there are batches. Perhaps to have the loss of the whole first, or the counts: the count
    needs only the targets.
    """
    batches = list(batches)
    counts = counts_of(batches, loss_fn.ignore_index)
    result = weighted(model, loss_fn, batches)
    with torch.no_grad():
        losses = [loss_fn(model(x), y) * n for (x, y), n in zip(batches, counts, strict=True) if n]
    return torch.stack(losses).sum() / sum(counts) + 0 * result


@accumulate.variant(model_runs_twice)
def _(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    batches = list(batches)
    for x, _ in batches:
        model(x)
    return weighted(model, loss_fn, batches)


@built.mistake()
def last_loss_returned():
    """What comes back is the last batch's loss and not that of the large batch."""
    return returning(lambda losses, counts: losses[-1].detach())


@built.mistake()
def mean_of_losses_returned():
    """The gradients are right, and the loss that is returned is the mean of the batches' means: the log shows a different number
    than the one that is trained on.
    """
    return returning(lambda losses, counts: torch.stack(losses).mean().detach())


@built.mistake()
def sum_of_losses_returned():
    """The gradients are right, and the sum of the batches' means is returned: a loss that grows with the number of batches."""
    return returning(lambda losses, counts: torch.stack(losses).sum().detach())


@built.mistake()
def float_returned():
    """A Python number is returned. Perhaps item() makes it, which on a GPU waits for all the work queued before it. A detached
    tensor leaves that to whoever prints it.
    """
    return returning(lambda losses, counts: whole(losses, counts).item())


@accumulate.mistake()
def share_in_float32(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """For a model in bfloat16 the result has a different dtype. Perhaps a share is the quotient of two integer tensors, a float32:
    times a loss in bfloat16 that is float32 again. A quotient of two Python numbers takes the dtype of what it meets.
    """
    counts, total = [(target != loss_fn.ignore_index).sum() for _, target in batches], []
    for (x, target), count in zip(batches, counts, strict=True):
        if count:
            loss = loss_fn(model(x), target) * (count / sum(counts))
            loss.backward()
            total.append(loss.detach())
    return torch.stack(total).sum()


@built.mistake()
def graph_returned():
    """The result has a graph, whose nodes live as long as it. Perhaps detach() is missing."""
    return returning(whole)


@built.mistake()
def nothing_returned():
    """The gradients are right, and None is returned in place of the large batch's loss."""
    return returning(lambda losses, counts: None)


@accumulate.mistake()
def reduction_left_at_sum(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """The loss has other settings after the call. Perhaps loss_fn.reduction was set to "sum" and left there: the next one who
    uses this loss gets a sum for a mean.
    """
    batches = list(batches)
    count = sum(counts_of(batches, loss_fn.ignore_index))
    loss_fn.reduction, total = "sum", []
    for x, target in batches:
        loss = loss_fn(model(x), target) / count
        loss.backward()
        total.append(loss.detach())
    return torch.stack(total).sum()


@accumulate.mistake()
def reduction_lost_on_an_error(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """Where the model raises (out of memory, say), the loss has other settings afterwards. Perhaps they are put back only if all
    goes well: try and finally.
    """
    count = sum(counts_of(batches, loss_fn.ignore_index))
    before, loss_fn.reduction, total = loss_fn.reduction, "sum", []
    for x, target in batches:
        loss = loss_fn(model(x), target) / count
        loss.backward()
        total.append(loss.detach())
    loss_fn.reduction = before
    return torch.stack(total).sum()


@accumulate.mistake(
    breaks="model (mode, weights), loss_fn and the batches are left as they are, also when the model raises."
)
def list_emptied(model: nn.Module, loss_fn: Any, batches: list[Batch]) -> Tensor:
    """The list of batches that was given is not what it was. Perhaps batches are taken out of it: go through it and leave it."""
    result = weighted(model, loss_fn, list(batches))
    batches.clear()
    return result


@accumulate.mistake(
    breaks="model (mode, weights), loss_fn and the batches are left as they are, also when the model raises."
)
def batch_edited(model: nn.Module, loss_fn: Any, batches: list[Batch]) -> Tensor:
    """Tensors of a batch with targets that count hold other numbers than before: the next epoch trains on them. Perhaps
    targets or inputs are edited in place; compare with `!=`, which makes a new tensor.
    """
    result = weighted(model, loss_fn, batches)
    for _, target in batches:
        target[target == loss_fn.ignore_index] = 0
    return result


@accumulate.mistake(
    breaks="model (mode, weights), loss_fn and the batches are left as they are, also when the model raises."
)
def ignored_targets_recoded(model: nn.Module, loss_fn: Any, batches: list[Batch]) -> Tensor:
    """With an ignore_index other than -100, tensors of a batch hold different numbers after the call: the next epoch trains on them.
    With -100 they stay. Perhaps the ignored targets were set to -100 in place.
    """
    for _, target in batches:
        target[target == loss_fn.ignore_index] = -100
    return weighted(model, nn.CrossEntropyLoss(label_smoothing=loss_fn.label_smoothing), batches)


@accumulate.variant(ignored_targets_recoded)
def _(model: nn.Module, loss_fn: Any, batches: list[Batch]) -> Tensor:
    """Only where they are one of the classes, so that a count of what is 0 or more is right."""
    for _, target in batches:
        if loss_fn.ignore_index >= 0:
            target[target == loss_fn.ignore_index] = -1
    own = nn.CrossEntropyLoss(
        ignore_index=min(loss_fn.ignore_index, -1), label_smoothing=loss_fn.label_smoothing
    )
    return weighted(model, own, batches)


@accumulate.mistake(
    breaks="model (mode, weights), loss_fn and the batches are left as they are, also when the model raises."
)
def recoded_after_an_error(model: nn.Module, loss_fn: Any, batches: list[Batch]) -> Tensor:
    """Where the model raises and ignore_index is not -100, the batches are left changed. Perhaps ignored targets are set to -100 in
    place, and set back only if all goes well.
    """
    places = [target == loss_fn.ignore_index for _, target in batches]
    for (_, target), place in zip(batches, places, strict=True):
        target[place] = -100
    result = weighted(model, nn.CrossEntropyLoss(label_smoothing=loss_fn.label_smoothing), batches)
    for (_, target), place in zip(batches, places, strict=True):
        target[place] = loss_fn.ignore_index
    return result


@accumulate.mistake(
    breaks="model (mode, weights), loss_fn and the batches are left as they are, also when the model raises."
)
def reduction_lost_on_a_stop(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """Where somebody stops the call, the loss has different settings afterwards; after a RuntimeError it has not. Perhaps they are
    put back in an `except`: KeyboardInterrupt is no Exception, and only `finally` sees all.
    """
    count = sum(counts_of(batches, loss_fn.ignore_index))
    before, loss_fn.reduction, total = loss_fn.reduction, "sum", []
    try:
        for x, target in batches:
            loss = loss_fn(model(x), target) / count
            loss.backward()
            total.append(loss.detach())
    except Exception:
        loss_fn.reduction = before
        raise
    loss_fn.reduction = before
    return torch.stack(total).sum()


@accumulate.mistake(
    breaks="model (mode, weights), loss_fn and the batches are left as they are, also when the model raises."
)
def mode_lost_on_a_stop(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """Where somebody stops the call, the model is left in a different mode; after a RuntimeError it is not. Perhaps the modes are
    put back in an `except`: KeyboardInterrupt is no Exception, and only `finally` sees all.
    """
    modes = {part: part.training for part in model.modules()}
    try:
        result = weighted(model.eval(), loss_fn, batches)
    except Exception:
        for part, mode in modes.items():
            part.training = mode
        raise
    for part, mode in modes.items():
        part.training = mode
    return result


@accumulate.mistake(
    breaks="model (mode, weights), loss_fn and the batches are left as they are, also when the model raises."
)
def error_swallowed(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """The model raised, and whoever called heard nothing of it. Perhaps an `except` goes on with the next batch: the gradient lacks
    a part, and nobody knows.
    """
    counts, total = counts_of(batches, loss_fn.ignore_index), []
    for (x, target), count in zip(batches, counts, strict=True):
        try:
            if count:
                loss = loss_fn(model(x), target) * (count / sum(counts))
                loss.backward()
                total.append(loss.detach())
        except RuntimeError:
            continue
    return torch.stack(total).sum()


@accumulate.mistake(
    breaks="model (mode, weights), loss_fn and the batches are left as they are, also when the model raises."
)
def list_lost_on_an_error(model: nn.Module, loss_fn: Any, batches: list[Batch]) -> Tensor:
    """Where the model raises, the batches are left changed. Perhaps they are taken out of their list, and put back only if all
    goes well.
    """
    kept = list(batches)
    counts, total = counts_of(kept, loss_fn.ignore_index), []
    for count in counts:
        x, target = batches.pop(0)
        if count:
            loss = loss_fn(model(x), target) * (count / sum(counts))
            loss.backward()
            total.append(loss.detach())
    batches.extend(kept)
    return torch.stack(total).sum()


@accumulate.mistake(
    breaks="model (mode, weights), loss_fn and the batches are left as they are, also when the model raises."
)
def hooks_left(model: nn.Module, loss_fn: Any, batches: list[Batch]) -> Tensor:
    """Hooks are left on the model, its parameters or the loss. Perhaps they scale a gradient: they act in all that comes after the
    call. Remove each in a `finally`; a loss can be scaled without them.
    """
    counts, share = counts_of(batches, loss_fn.ignore_index), [0.0]
    for param in model.parameters():
        if param.requires_grad:
            param.register_hook(lambda grad: grad * share[0])
    total = []
    for (x, target), count in zip(batches, counts, strict=True):
        if count:
            share[0] = count / sum(counts)
            loss = loss_fn(model(x), target)
            loss.backward()
            total.append(loss.detach() * share[0])
    return torch.stack(total).sum()


@accumulate.mistake(
    breaks="model (mode, weights), loss_fn and the batches are left as they are, also when the model raises."
)
def empty_batch_edited(model: nn.Module, loss_fn: Any, batches: list[Batch]) -> Tensor:
    """A batch in which nothing counted holds other numbers than before, and no other batch does. Perhaps a target was put into it,
    so that its mean is no NaN: the next call counts it.
    """
    counts, total = counts_of(batches, loss_fn.ignore_index), []
    for (x, target), count in zip(batches, counts, strict=True):
        if not count:
            target.view(-1)[0] = 0
        loss = loss_fn(model(x), target) * (count / sum(counts))
        loss.backward()
        total.append(loss.detach())
    return torch.stack(total).sum()


@accumulate.variant(empty_batch_edited)
def _(model: nn.Module, loss_fn: Any, batches: list[Batch]) -> Tensor:
    """All of its targets."""
    counts = counts_of(batches, loss_fn.ignore_index)
    for (_, target), count in zip(batches, counts, strict=True):
        if not count:
            target.zero_()
    return weighted(model, loss_fn, [batch for batch, count in zip(batches, counts, strict=True) if count])


@accumulate.mistake(
    breaks="model (mode, weights), loss_fn and the batches are left as they are, also when the model raises."
)
def mode_turned(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """The model is in a different mode than before. Perhaps train() or eval() was called: a frozen part, or a whole model in eval
    mode, is the caller's choice.
    """
    return weighted(model.train(), loss_fn, batches)


@accumulate.mistake(
    breaks="model (mode, weights), loss_fn and the batches are left as they are, also when the model raises."
)
def mode_of_a_part_turned(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """The model is in its old mode, and a part of it is in a different one than before. Perhaps model.train(was) put it back: train()
    goes down to every part, and a frozen part in eval mode is the caller's choice.
    """
    was = model.training
    result = weighted(model.train(), loss_fn, batches)
    model.train(was)
    return result


@accumulate.mistake(
    breaks="model (mode, weights), loss_fn and the batches are left as they are, also when the model raises."
)
def mode_lost_on_an_error(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """Where the model raises, it is left in a different mode. Perhaps the modes are put back only if all goes well: that belongs in
    a finally, and the mode need not be touched at all.
    """
    modes = {part: part.training for part in model.modules()}
    result = weighted(model.eval(), loss_fn, batches)
    for part, mode in modes.items():
        part.training = mode
    return result


@accumulate.mistake(
    breaks="model (mode, weights), loss_fn and the batches are left as they are, also when the model raises."
)
@torch.no_grad()
def step_taken(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """The weights are different after the call. Perhaps a step was taken: that is the caller's, with an optimizer of their own."""
    with torch.enable_grad():
        result = weighted(model, loss_fn, batches)
    for param in model.parameters():
        if param.grad is not None:
            param.sub_(param.grad, alpha=0.01)
    return result


@accumulate.mistake(breaks="The result is that loss: a 0-d tensor in the dtype of the loss, without a graph.")
def result_without_smoothing(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """The gradients are those of a loss with label smoothing, and the loss that is returned is without it. Perhaps it is computed
    once more, with cross_entropy: add up the losses that backward went through.
    """
    counts, total = counts_of(batches, loss_fn.ignore_index), 0
    for (x, target), count in zip(batches, counts, strict=True):
        if count:
            logits, index = model(x), loss_fn.ignore_index
            (loss_fn(logits, target) * (count / sum(counts))).backward()
            total += cross_entropy(logits.detach(), target, ignore_index=index, reduction="sum")
    return total / sum(counts)


@accumulate.mistake(breaks="The result is that loss: a 0-d tensor in the dtype of the loss, without a graph.")
def dtype_of_the_parameters(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """Where a model in bfloat16 makes logits in float32, the result has a different dtype than the loss. Perhaps it was given the
    dtype of the inputs or of the parameters.
    """
    return weighted(model, loss_fn, batches).to(next(model.parameters()).dtype)


@accumulate.mistake(breaks="The result is that loss: a 0-d tensor in the dtype of the loss, without a graph.")
def another_dtype_returned(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """For a model in float64 the result has a different dtype. Perhaps it is a new tensor of the default dtype, such as
    torch.zeros(()) or one made of a Python number, or float() was applied.
    """
    return torch.tensor(weighted(model, loss_fn, batches).item())


@accumulate.mistake(breaks="The result is that loss: a 0-d tensor in the dtype of the loss, without a graph.")
def shape_of_one(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """The result has a dimension. A loss is a tensor of no dimensions."""
    return weighted(model, loss_fn, batches).reshape(1)


@built.mistake(breaks="The result is that loss: a 0-d tensor in the dtype of the loss, without a graph.")
def last_part_returned():
    """What comes back is the last batch's part of the loss. Perhaps the parts are not added up."""
    return returning(lambda losses, counts: (losses[-1] * shares(counts)[-1]).detach())


@accumulate.mistake(
    breaks="The model runs once a batch, and each batch's backward follows at once: what is held for backward is never more than one batch's."
)
def on_a_copy(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """The model ran less often than there are batches. Perhaps a copy of it ran: what the model counts itself, as BatchNorm does,
    is then not counted, and the weights are in memory twice.
    """
    twin = copy.deepcopy(model)
    twin.zero_grad()
    result = weighted(twin, loss_fn, batches)
    for param, own in zip(model.parameters(), twin.parameters(), strict=True):
        if own.grad is not None:
            param.grad = own.grad if param.grad is None else param.grad + own.grad
    return result


@accumulate.mistake(breaks="`loss_fn(model(x), target)`")
def forward_called(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """The model's forward runs, and the hooks that somebody has registered on it do not. Perhaps model.forward(x) is called: model(x)
    runs both.
    """
    return weighted(model.forward, loss_fn, batches)


@accumulate.mistake(
    breaks="The model runs once a batch, and each batch's backward follows at once: what is held for backward is never more than one batch's."
)
def one_batch_behind(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """A batch runs before the backward of the one before: two graphs are alive at once."""
    batches = list(batches)
    counts, total, last = counts_of(batches, loss_fn.ignore_index), [], None
    for (x, target), count in zip(batches, counts, strict=True):
        if count:
            loss = loss_fn(model(x), target) * (count / sum(counts))
            if last is not None:
                last.backward()
            last = loss
            total.append(loss.detach())
    last.backward()
    return torch.stack(total).sum()
