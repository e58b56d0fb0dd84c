"""What people write for 04.accumulate: the gradients."""

from __future__ import annotations

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
    shares,
    weighted,
    weighted_by,
)

built = accumulate.bank(returned)


@built.mistake()
def mean_of_means():
    """The gradient is the mean of the batches' own gradients, which all weigh the same: the few targets of a small batch as much
    as the many of a large one. That is the large batch's only where the same number counts in each.
    """
    return weighted_by(lambda batches, counts: [1 / len(batches)] * len(batches))


@built.mistake()
def means_added():
    """The gradient is too large by the number of batches. Perhaps the mean losses were added up and divided by nothing, or by
    the count of one batch.
    """
    return weighted_by(lambda batches, counts: [1.0] * len(batches))


@built.mistake(breaks="The large batch's loss is the mean over ALL targets that count.")
def running_share():
    """Of three like batches the first weighs 1, the second 1/2, the third 1/3. Perhaps each was divided by what had come so far:
    the share needs the count of all batches, before the first backward.
    """
    return weighted_by(
        lambda batches, counts: [count / max(1, sum(counts[: at + 1])) for at, count in enumerate(counts)]
    )


@built.mistake()
def sums_added():
    """The gradient is too large by the number of targets: it is that of a sum, and grows with the batch. Perhaps the division by
    the whole count is missing.
    """
    return weighted_by(lambda batches, counts: [float(count) for count in counts])


@built.mistake()
def weighted_by_samples():
    """Each batch counts by its number of samples. The loss is a mean over targets: a long sample has more of them than a short
    one.
    """
    return weighted_by(lambda batches, counts: shares([len(x) for x, _ in batches]))


@built.mistake()
def ignored_targets_counted():
    """All targets weigh, those at ignore_index too. loss_fn leaves them out of its mean, so padding must not weigh here. Large
    libraries have shipped this one.
    """
    return weighted_by(lambda batches, counts: shares([target.numel() for _, target in batches]))


@built.mistake(breaks="The large batch's loss is the mean over ALL targets that count.")
def last_batch_dropped():
    """The last batch has no part in the gradient. Perhaps the loop ends before it, as one that drops the smaller batch at the end of
    an epoch: its targets count like all others.
    """
    return lambda model, loss_fn, batches: weighted(model, loss_fn, batches[:-1])


@built.variant(last_batch_dropped)
def _():
    """Its targets are in the whole count."""
    return weighted_by(lambda batches, counts: [*shares(counts)[:-1], 0.0])


@built.mistake(breaks="such a batch adds no gradient.")
def one_where_nothing_counts():
    """Batches in which nothing counts make the gradient smaller: each weighs as if a target counted in it. Perhaps max(1, count) is
    there against a division by 0: the whole count is that of the targets that count.
    """
    return weighted_by(lambda batches, counts: [n / sum(max(1, each) for each in counts) for n in counts])


@accumulate.mistake(breaks="A NaN that the model makes is added like any number.")
def nan_losses_skipped(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """A batch whose targets count gives NaN, and it is left out without a word. Perhaps isnan() or isfinite() decides which batch has
    nothing that counts: a model that has diverged looks the same. Count the targets.
    """
    counts, total = counts_of(batches, loss_fn.ignore_index), []
    for (x, target), count in zip(batches, counts, strict=True):
        loss = loss_fn(model(x), target)
        if not loss.isnan():
            (loss * (count / sum(counts))).backward()
            total.append(loss.detach() * (count / sum(counts)))
    return torch.stack(total).sum()


@accumulate.variant(nan_losses_skipped)
def _(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    result = weighted(model, loss_fn, batches)
    for param in model.parameters():
        if param.grad is not None:
            param.grad.nan_to_num_()
    return result


@accumulate.mistake(breaks="A NaN that the model makes is added like any number.")
def nan_left_out_of_the_loss(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """A batch whose targets count gives NaN: the gradients hold it, and the loss that is returned does not. Perhaps nan_to_num or
    nansum makes a 0 of it: the log of a model that has diverged looks fine.
    """
    counts, total = counts_of(batches, loss_fn.ignore_index), []
    for (x, target), count in zip(batches, counts, strict=True):
        loss = loss_fn(model(x), target).nan_to_num() * (count / sum(counts))
        loss.backward()
        total.append(loss.detach())
    return torch.stack(total).sum()


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
    """The gradient of before the call is lost. Perhaps zero_grad was called, new gradients were assigned, or .grad was
    multiplied by a share that is 0 at first: whoever accumulates over two calls, or adds a penalty's gradient first, needs the
    old one.
    """
    batches = list(batches)
    model.zero_grad()
    return weighted(model, loss_fn, batches)


@accumulate.variant(zero_grad_inside)
def _(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """A running mean, which begins with a share of 0 for what is there."""
    counts, seen, total = counts_of(batches, loss_fn.ignore_index), 0, []
    for (x, target), count in zip(batches, counts, strict=True):
        if count:
            for param in model.parameters():
                if param.grad is not None:
                    param.grad.mul_(seen / (seen + count))
            seen += count
            loss = loss_fn(model(x), target)
            (loss * (count / seen)).backward()
            total.append(loss.detach() * (count / sum(counts)))
    return torch.stack(total).sum()


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
def batches_joined(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """Tensors of different lengths were to be joined, and cannot be. Perhaps the batches, or their targets, into the large
    batch, for which there is no memory: go through them one by one.
    """
    batches = list(batches)
    loss = loss_fn(model(torch.cat([x for x, _ in batches])), torch.cat([target for _, target in batches]))
    loss.backward()
    return loss.detach()


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
    breaks="Its gradient is added to `.grad`, as by `backward`: what was there stays, and a parameter that is frozen or not used keeps None."
)
def all_unfrozen(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """The gradient of a frozen parameter has changed. Perhaps requires_grad was turned on for all."""
    return weighted(model.requires_grad_(True), loss_fn, batches)
