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
    """Each batch's mean was divided by the number of batches. That is the mean of the whole only if the same
    number of targets counts in each; here the few of a small batch weigh as much as the many of a large one.
    """
    return weighted_by(lambda batches, counts: [1 / len(batches)] * len(batches))


@built.mistake()
def means_added():
    """The mean losses were added up and divided by nothing: the gradient is too large by about the number of
    batches, and so is the step.
    """
    return weighted_by(lambda batches, counts: [1.0] * len(batches))


@built.mistake()
def sums_added():
    """The sums over all targets were added up and not divided by their number: the step grows with the batch."""
    return weighted_by(lambda batches, counts: [float(count) for count in counts])


@built.mistake()
def weighted_by_samples():
    """The batches were weighted by their samples. The loss is a mean over targets: a long sample has more of
    them than a short one.
    """
    return weighted_by(lambda batches, counts: shares([len(x) for x, _ in batches]))


@built.mistake()
def ignored_targets_counted():
    """All targets were counted, those at ignore_index too. loss_fn leaves them out of its mean, so padding
    must not weigh here. Large libraries have shipped this one.
    """
    return weighted_by(lambda batches, counts: shares([target.numel() for _, target in batches]))


@built.mistake()
def size_of_the_first_batch():
    """Every batch was taken to be as large as the first one. The last batch of an epoch is smaller."""
    return weighted_by(lambda batches, counts: [count / (counts[0] * len(counts)) for count in counts])


@built.mistake()
def ignore_index_guessed():
    """-100 is only the default of ignore_index. Others pad with 0, or with -1: ask loss_fn.ignore_index."""
    return weighted_by(lambda batches, counts: shares(counts_of(batches, -100)))


@built.mistake()
def zero_is_padding():
    """Targets of 0 were left out of the count, as if 0 were padding in every data set; loss_fn.ignore_index
    says what is.
    """
    return weighted_by(lambda batches, counts: shares(counts_of(batches, 0)))


@accumulate.mistake()
def loss_of_its_own(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """F.cross_entropy was called in place of loss_fn: its other settings, label smoothing among them, are
    lost.
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
    """The function cleared the gradients before it began. Whoever accumulates over two calls, or adds a
    penalty's gradient first, loses that; zero_grad is the caller's.
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
    """zero_grad stands inside the loop: each batch wipes out what the ones before it had added."""
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
    """The sums were accumulated, and .grad divided at the end. So what was in .grad before the call was
    divided with it.
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
    """Gradients of zeros were laid out for all parameters. With a gradient of 0 an optimizer goes on with
    momentum and weight decay: a frozen layer moves. None is what it passes over.
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
    """The losses were added up, with one backward at the end: until then all graphs are alive, and the memory
    is that of the large batch.
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
    """retain_graph=True keeps each batch's activations after its backward: while the next one is computed,
    two graphs are alive.
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
    """The batches were joined into the large one, for which there is no memory; and batches of different
    length cannot be joined at all.
    """
    batches = list(batches)
    loss = loss_fn(model(torch.cat([x for x, _ in batches])), torch.cat([target for _, target in batches]))
    loss.backward()
    return loss.detach()


@accumulate.mistake()
def model_runs_twice(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """The model ran once more over every batch, to have the loss of the whole first. The count needs only the
    targets.
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
    """The gradients are right, and the loss that is returned is a mean of means: the log shows another number
    than the one that is trained on.
    """
    return returning(lambda losses, counts: torch.stack(losses).mean().detach())


@built.mistake()
def sum_of_losses_returned():
    """The gradients are right, and the means of all batches were added up for the result: a loss that grows
    with the number of batches.
    """
    return returning(lambda losses, counts: torch.stack(losses).sum().detach())


@built.mistake()
def float_returned():
    """item() makes a float of the loss, and on a GPU waits for all the work queued before it. A detached
    tensor leaves that to whoever prints it.
    """
    return returning(lambda losses, counts: whole(losses, counts).item())


@accumulate.mistake()
def share_in_float32(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """The share is the quotient of two integer tensors, a float32. Times a loss in bfloat16 that is float32 again, and
    not the dtype of the loss. A quotient of two Python numbers takes the dtype of what it meets.
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
    """The result still hangs on the graphs of all batches. Their activations are gone, their nodes are not;
    and a backward through it raises.
    """
    return returning(whole)


@built.mistake()
def nothing_returned():
    """The gradients are right, and the loss of the large batch is not returned."""
    return returning(lambda losses, counts: None)


@accumulate.mistake()
def reduction_left_at_sum(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    """loss_fn.reduction was set to "sum" and left there: the next one who uses this loss gets a sum for a
    mean.
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
    """loss_fn.reduction is put back only if all goes well. Where the model raises (out of memory, say), the caller's
    loss stays at "sum": try and finally.
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
    """What torch.autograd.grad returned was hung on the parameters as it came. Where a forward adds two parameters,
    it is one tensor for both; backward makes a copy for each.
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
    """Old gradients were laid aside, and brought back only where a new one came: a parameter that had no part in
    these batches has lost what it had.
    """
    aside = [(param, param.grad) for param in model.parameters()]
    for param, _ in aside:
        param.grad = None
    result = weighted(model, loss_fn, batches)
    for param, old in aside:
        if old is not None and param.grad is not None:
            param.grad = old + param.grad
    return result
