"""What people write for 04.accumulate, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from helpers.check.spec import returned
from helpers.labs.optim.accumulate.exercise import accumulate

built = accumulate.bank(returned)

Batch = tuple[Tensor, Tensor]
Weights = Callable[[list[Batch], list[int]], list[float]]


def counts_of(batches: list[Batch], ignore_index: int) -> list[int]:
    return [int((target != ignore_index).sum()) for _, target in batches]


def shares(sizes: list[int]) -> list[float]:
    return [size / sum(sizes) for size in sizes]


def by_count(batches: list[Batch], counts: list[int]) -> list[float]:
    return shares(counts)


def weighted(model: nn.Module, loss_fn: Any, batches: Iterable[Batch], weights: Weights = by_count) -> Tensor:
    """Right as it stands; a mistake is in the weights. The result is the right loss in any case."""
    batches = list(batches)
    counts = counts_of(batches, loss_fn.ignore_index)
    total = []
    for (x, target), count, weight in zip(batches, counts, weights(batches, counts), strict=True):
        if count:
            loss = loss_fn(model(x), target)
            (loss * weight).backward()
            total.append(loss.detach() * (count / sum(counts)))
    return torch.stack(total).sum()


def weighted_by(weights: Weights) -> Callable[..., Tensor]:
    """An answer that differs from a right one in its weights."""
    return lambda model, loss_fn, batches: weighted(model, loss_fn, batches, weights)


@built.mistake()
def mean_of_means():
    """The gradient is the mean of the batches' own gradients, which all weigh the same: the few targets of a small batch as much
    as the many of a large one. That is the large batch's only where the same number counts in each.
    """
    return weighted_by(lambda batches, counts: [1 / len(batches)] * len(batches))


@built.mistake()
def means_added():
    """The gradient is too large by the number of batches. Perhaps the mean losses were added up and divided by nothing."""
    return weighted_by(lambda batches, counts: [1.0] * len(batches))


@built.mistake()
def sums_added():
    """The gradient is too large by the number of targets: it is that of a sum, and grows with the batch. Perhaps the division by
    the whole count is missing.
    """
    return weighted_by(lambda batches, counts: [float(count) for count in counts])


@built.mistake()
def weighted_by_samples():
    """The batches weigh as many samples as they have. The loss is a mean over targets: a long sample has more of them than a
    short one.
    """
    return weighted_by(lambda batches, counts: shares([len(x) for x, _ in batches]))


@built.mistake()
def ignored_targets_counted():
    """All targets weigh, those at ignore_index too. loss_fn leaves them out of its mean, so padding must not weigh here. Large
    libraries have shipped this one.
    """
    return weighted_by(lambda batches, counts: shares([target.numel() for _, target in batches]))


@built.mistake()
def size_of_the_first_batch():
    """Every batch was taken to be as large as the first one. The last batch of an epoch is smaller."""
    return weighted_by(lambda batches, counts: [count / (counts[0] * len(counts)) for count in counts])


@built.mistake()
def ignore_index_guessed():
    """With a different ignore_index the batches weigh wrongly: -100 is only the default. Others pad with 0, or with -1: ask
    loss_fn.ignore_index.
    """
    return weighted_by(lambda batches, counts: shares(counts_of(batches, -100)))


@built.mistake()
def zero_is_padding():
    """Targets of 0 do not weigh, as if 0 were padding in every dataset; loss_fn.ignore_index says what is."""
    return weighted_by(lambda batches, counts: shares(counts_of(batches, 0)))


@accumulate.mistake()
def loss_of_its_own(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """Label smoothing has no part in the gradient. Perhaps a different loss was made or called in place of loss_fn (F.cross_entropy,
    nn.CrossEntropyLoss), or its setting was turned off.
    """
    batches = list(batches)
    count = sum(counts_of(batches, loss_fn.ignore_index))
    total = []
    for x, target in batches:
        loss = cross_entropy(model(x), target, ignore_index=loss_fn.ignore_index, reduction="sum") / count
        loss.backward()
        total.append(loss.detach())
    return torch.stack(total).sum()


@accumulate.mistake()
def zero_grad_inside(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """The gradient of before the call is lost. Perhaps zero_grad was called, or new gradients were assigned: whoever accumulates
    over two calls, or adds a penalty's gradient first, needs the old one.
    """
    batches = list(batches)
    model.zero_grad()
    return weighted(model, loss_fn, batches)


@accumulate.variant(zero_grad_inside)
def _(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    for param in model.parameters():
        if param.grad is not None:
            param.grad.zero_()
    return weighted(model, loss_fn, batches)


@accumulate.mistake()
def only_the_last_batch(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """Only the last batch's part is in .grad. Perhaps zero_grad stands inside the loop: each batch wipes out what the ones before
    it had added.
    """
    batches = list(batches)
    counts, total = counts_of(batches, loss_fn.ignore_index), []
    for (x, target), count in zip(batches, counts, strict=True):
        if count:
            model.zero_grad()
            loss = loss_fn(model(x), target) * (count / sum(counts))
            loss.backward()
            total.append(loss.detach())
    return torch.stack(total).sum()


@accumulate.mistake()
def divided_at_the_end(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """What was in .grad before the call was multiplied by a number. Perhaps the sums were accumulated and .grad divided at the
    end, or scaled on the way, and the old gradient with it.
    """
    whole, total = 0, []
    for x, target in batches:
        if count := int((target != loss_fn.ignore_index).sum()):
            loss = loss_fn(model(x), target) * count
            loss.backward()
            whole += count
            total.append(loss.detach())
    for param in model.parameters():
        if param.grad is not None:
            param.grad /= whole
    return torch.stack(total).sum() / whole


@accumulate.variant(divided_at_the_end)
def _(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    whole, total = 0, 0
    for x, target in batches:
        count = (target != loss_fn.ignore_index).sum()
        loss = loss_fn(model(x), target) * count
        loss.backward()
        whole, total = whole + count, total + loss.detach()
    for param in model.parameters():
        if param.grad is not None:
            param.grad /= whole
    return total / whole


@accumulate.mistake()
def zeros_for_unused(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """A parameter that is frozen or not used has a gradient now. With a gradient of 0 an optimizer goes on with momentum and
    weight decay: a frozen layer moves. None is what it passes over.
    """
    result = weighted(model, loss_fn, batches)
    for param in model.parameters():
        if param.grad is None:
            param.grad = torch.zeros_like(param)
    return result


@accumulate.variant(zeros_for_unused)
def _(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    result = weighted(model, loss_fn, batches)
    for param in model.parameters():
        if param.requires_grad and param.grad is None:
            param.grad = torch.zeros_like(param)
    return result


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
    """While a batch runs, the graph of the one before is still alive. Perhaps retain_graph=True keeps it, though nothing goes
    through it again.
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
def batches_joined(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """Tensors of different lengths were to be joined, and cannot be. Perhaps the batches, or their targets, into the large
    batch, for which there is no memory: go through them one by one.
    """
    batches = list(batches)
    loss = loss_fn(model(torch.cat([x for x, _ in batches])), torch.cat([target for _, target in batches]))
    loss.backward()
    return loss.detach()


@accumulate.mistake()
def model_runs_twice(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """The model ran more than once over a batch, perhaps to have the loss of the whole first, or the counts. The count needs only
    the targets.
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


def returning(result: Callable[[list[Tensor], list[int]], Any]) -> Callable[..., Any]:
    """Right gradients; result(losses, counts) is made of the detached mean losses of the batches that count."""

    def answer(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Any:
        batches = [(x, y) for x, y in batches if (y != loss_fn.ignore_index).any()]
        counts, losses = counts_of(batches, loss_fn.ignore_index), []
        for (x, target), weight in zip(batches, shares(counts), strict=True):
            loss = loss_fn(model(x), target)
            (loss * weight).backward()
            losses.append(loss)
        return result(losses, counts)

    return answer


def whole(losses: list[Tensor], counts: list[int]) -> Tensor:
    return torch.stack([loss * share for loss, share in zip(losses, shares(counts), strict=True)]).sum()


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


@accumulate.mistake()
def gradient_shared(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """Two parameters have one tensor as their gradient: what clips one of them in place clips both. Perhaps what
    torch.autograd.grad returned was hung on them as it came; backward makes a copy for each.
    """
    counts, total = counts_of(batches, loss_fn.ignore_index), []
    params = [param for param in model.parameters() if param.requires_grad]
    for (x, target), count in zip(batches, counts, strict=True):
        if count:
            loss = loss_fn(model(x), target) * (count / sum(counts))
            for param, grad in zip(params, torch.autograd.grad(loss, params, allow_unused=True), strict=True):
                if grad is not None:
                    param.grad = grad if param.grad is None else param.grad + grad
            total.append(loss.detach())
    return torch.stack(total).sum()


@accumulate.mistake()
def gradients_taken_aside(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """A parameter that had no part in these batches has lost the gradient that it had. Perhaps old gradients were laid aside, and
    brought back only where a new one came.
    """
    aside = [(param, param.grad) for param in model.parameters()]
    for param, _ in aside:
        param.grad = None
    result = weighted(model, loss_fn, batches)
    for param, old in aside:
        if old is not None and param.grad is not None:
            param.grad = old + param.grad
    return result


@built.mistake(breaks="The large batch's loss is the mean over ALL targets that count.")
def divided_twice():
    """The gradient is too small by the number of batches. Perhaps each batch is weighted by its share of the targets, and
    divided by the number of batches as well.
    """
    return weighted_by(lambda batches, counts: [share / len(counts) for share in shares(counts)])


@accumulate.mistake(
    breaks="Adds to `.grad` the gradients of one large batch that is given in pieces; returns its loss."
)
def no_backward(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """No gradient arrived. Perhaps backward is not called, or what it is called on has no graph."""
    counts = counts_of(list(batches), loss_fn.ignore_index)
    losses = [loss_fn(model(x), y).detach() for x, y in batches]
    return torch.stack([loss * share for loss, share in zip(losses, shares(counts), strict=True)]).sum()


@accumulate.mistake(
    breaks="Adds to `.grad` the gradients of one large batch that is given in pieces; returns its loss."
)
def ignore_index_lost(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """With a different ignore_index all targets take part in the gradient. Perhaps a loss of its own was made, without the setting
    of loss_fn.
    """
    own = nn.CrossEntropyLoss(reduction="sum", label_smoothing=loss_fn.label_smoothing)
    count, total = sum(counts_of(list(batches), loss_fn.ignore_index)), []
    for x, target in batches:
        loss = own(model(x), target) / count
        loss.backward()
        total.append(loss.detach())
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
    """Tensors of a batch hold other numbers than before: the next epoch trains on them. Perhaps targets or inputs are edited in
    place; compare with `!=`, which makes a new tensor.
    """
    result = weighted(model, loss_fn, batches)
    for _, target in batches:
        target[target == loss_fn.ignore_index] = 0
    return result


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
    """The weights are others after the call. Perhaps a step was taken: that is the caller's, with an optimizer of their own."""
    with torch.enable_grad():
        result = weighted(model, loss_fn, batches)
    for param in model.parameters():
        if param.grad is not None:
            param.sub_(param.grad, alpha=0.01)
    return result


@accumulate.mistake(breaks="The result is that loss: a 0-d tensor in the dtype of the loss, without a graph.")
def another_dtype_returned(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """For a model in float64 the result has a different dtype. Perhaps it is a new tensor, made of a Python number, or float() was
    applied.
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
    breaks="Its gradient is added to `.grad`, as by `backward`: what was there stays, and a parameter that is frozen or not used keeps None."
)
def all_unfrozen(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """The gradient of a frozen parameter has changed. Perhaps requires_grad was turned on for all."""
    return weighted(model.requires_grad_(True), loss_fn, batches)


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
