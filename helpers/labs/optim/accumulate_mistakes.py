"""What people write for 04.accumulate, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from helpers.labs.optim.accumulate import accumulate

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


def mistaken_weights(name: str, why: str, seen: str, weights: Weights) -> None:
    """A wrong answer that differs from a right one in its weights."""
    accumulate.wrong_answer(
        name,
        why=why,
        seen=seen,
        answer=lambda model, loss_fn, batches: weighted(model, loss_fn, batches, weights),
    )


mistaken_weights(
    "mean_of_means",
    "Each batch's mean was divided by the number of batches. That is the mean of the whole only if the same number of "
    "targets counts in each; here the few of a small batch weigh as much as the many of a large one.",
    "the few of a small batch",
    lambda batches, counts: [1 / len(batches)] * len(batches),
)


mistaken_weights(
    "means_added",
    "The mean losses were added up and divided by nothing: the gradient is too large by about the number of batches, and "
    "so is the step.",
    "divided by nothing",
    lambda batches, counts: [1.0] * len(batches),
)


mistaken_weights(
    "sums_added",
    "The sums over all targets were added up and not divided by their number: the step grows with the batch.",
    "the step grows with the batch",
    lambda batches, counts: [float(count) for count in counts],
)
mistaken_weights(
    "weighted_by_samples",
    "The batches were weighted by their samples. The loss is a mean over targets: a long sample has more of them than a "
    "short one.",
    "weighted by their samples",
    lambda batches, counts: shares([len(x) for x, _ in batches]),
)
mistaken_weights(
    "ignored_targets_counted",
    "All targets were counted, those at ignore_index too. loss_fn leaves them out of its mean, so padding must not weigh "
    "here. Large libraries have shipped this one.",
    "padding must not weigh",
    lambda batches, counts: shares([target.numel() for _, target in batches]),
)
mistaken_weights(
    "size_of_the_first_batch",
    "Every batch was taken to be as large as the first one. The last batch of an epoch is smaller.",
    "taken to be as large as the first one",
    lambda batches, counts: [count / (counts[0] * len(counts)) for count in counts],
)
mistaken_weights(
    "ignore_index_guessed",
    "-100 is only the default of ignore_index. Others pad with 0, or with -1: ask loss_fn.ignore_index.",
    "only the default of ignore_index",
    lambda batches, counts: shares(counts_of(batches, -100)),
)
mistaken_weights(
    "zero_is_padding",
    "Targets of 0 were left out of the count, as if 0 were padding in every data set; loss_fn.ignore_index says what is.",
    "as if 0 were padding",
    lambda batches, counts: shares(counts_of(batches, 0)),
)


@accumulate.wrong_answer(
    "loss_of_its_own",
    why="F.cross_entropy was called in place of loss_fn: its other settings, label smoothing among them, are lost.",
    seen="label smoothing among them",
)
def _(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    batches = list(batches)
    count = sum(counts_of(batches, loss_fn.ignore_index))
    total = []
    for x, target in batches:
        loss = cross_entropy(model(x), target, ignore_index=loss_fn.ignore_index, reduction="sum") / count
        loss.backward()
        total.append(loss.detach())
    return torch.stack(total).sum()


@accumulate.wrong_answer(
    "zero_grad_inside",
    why="The function cleared the gradients before it began. Whoever accumulates over two calls, or adds a penalty's "
    "gradient first, loses that; zero_grad is the caller's.",
    seen="zero_grad is the caller's",
)
def _(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    batches = list(batches)
    model.zero_grad()
    return weighted(model, loss_fn, batches)


@accumulate.another_form("zero_grad_inside")
def _(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    for param in model.parameters():
        if param.grad is not None:
            param.grad.zero_()
    return weighted(model, loss_fn, batches)


@accumulate.wrong_answer(
    "only_the_last_batch",
    why="zero_grad stands inside the loop: each batch wipes out what the ones before it had added.",
    seen="each batch wipes out",
)
def _(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    batches = list(batches)
    counts, total = counts_of(batches, loss_fn.ignore_index), []
    for (x, target), count in zip(batches, counts, strict=True):
        if count:
            model.zero_grad()
            loss = loss_fn(model(x), target) * (count / sum(counts))
            loss.backward()
            total.append(loss.detach())
    return torch.stack(total).sum()


@accumulate.wrong_answer(
    "divided_at_the_end",
    why="The sums were accumulated, and .grad divided at the end. So what was in .grad before the call was divided with it.",
    seen="was divided with it",
)
def _(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
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


@accumulate.another_form("divided_at_the_end")
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


@accumulate.wrong_answer(
    "zeros_for_unused",
    why="Gradients of zeros were laid out for all parameters. With a gradient of 0 an optimizer goes on with momentum and "
    "weight decay: a frozen layer moves. None is what it passes over.",
    seen="None is what it passes over",
)
def _(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    result = weighted(model, loss_fn, batches)
    for param in model.parameters():
        if param.grad is None:
            param.grad = torch.zeros_like(param)
    return result


@accumulate.another_form("zeros_for_unused")
def _(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    result = weighted(model, loss_fn, batches)
    for param in model.parameters():
        if param.requires_grad and param.grad is None:
            param.grad = torch.zeros_like(param)
    return result


@accumulate.wrong_answer(
    "losses_summed_first",
    why="The losses were added up, with one backward at the end: until then all graphs are alive, and the memory is that of "
    "the large batch.",
    seen="until then all graphs are alive",
)
def _(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    batches = list(batches)
    counts, losses = counts_of(batches, loss_fn.ignore_index), []
    for (x, target), count in zip(batches, counts, strict=True):
        if count:
            losses.append(loss_fn(model(x), target) * (count / sum(counts)))
    loss = torch.stack(losses).sum()
    loss.backward()
    return loss.detach()


@accumulate.wrong_answer(
    "graphs_retained",
    why="retain_graph=True keeps each batch's activations after its backward: while the next one is computed, two graphs are "
    "alive.",
    seen="two graphs are alive",
)
def _(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    batches = list(batches)
    counts, total = counts_of(batches, loss_fn.ignore_index), []
    for (x, target), count in zip(batches, counts, strict=True):
        if count:
            loss = loss_fn(model(x), target) * (count / sum(counts))
            loss.backward(retain_graph=True)
            total.append(loss.detach())
    return torch.stack(total).sum()


@accumulate.another_form("graphs_retained")
def _(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    batches = list(batches)
    counts, total = counts_of(batches, loss_fn.ignore_index), []
    for (x, target), count in zip(batches, counts, strict=True):
        if count:
            loss = loss_fn(model(x), target) * (count / sum(counts))
            loss.backward(retain_graph=True)
            total.append(loss)
    return torch.stack(total).sum().detach()


@accumulate.wrong_answer(
    "batches_joined",
    why="The batches were joined into the large one, for which there is no memory; and batches of different length cannot be "
    "joined at all.",
    seen="for which there is no memory",
)
def _(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    batches = list(batches)
    loss = loss_fn(model(torch.cat([x for x, _ in batches])), torch.cat([target for _, target in batches]))
    loss.backward()
    return loss.detach()


@accumulate.wrong_answer(
    "model_runs_twice",
    why="The model ran once more over every batch, to have the loss of the whole first. The count needs only the targets.",
    seen="The count needs only the targets",
)
def _(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    batches = list(batches)
    counts = counts_of(batches, loss_fn.ignore_index)
    result = weighted(model, loss_fn, batches)
    with torch.no_grad():
        losses = [loss_fn(model(x), y) * n for (x, y), n in zip(batches, counts, strict=True) if n]
    return torch.stack(losses).sum() / sum(counts) + 0 * result


@accumulate.another_form("model_runs_twice")
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


accumulate.wrong_answer(
    "last_loss_returned",
    why="What comes back is the last batch's loss and not that of the large batch.",
    seen="What comes back is the last batch's loss",
    answer=returning(lambda losses, counts: losses[-1].detach()),
)
accumulate.wrong_answer(
    "mean_of_losses_returned",
    why="The gradients are right, and the loss that is returned is a mean of means: the log shows another number than the one "
    "that is trained on.",
    seen="the log shows another number",
    answer=returning(lambda losses, counts: torch.stack(losses).mean().detach()),
)
accumulate.wrong_answer(
    "sum_of_losses_returned",
    why="The gradients are right, and the means of all batches were added up for the result: a loss that grows with the "
    "number of batches.",
    seen="a loss that grows with the number of batches",
    answer=returning(lambda losses, counts: torch.stack(losses).sum().detach()),
)
accumulate.wrong_answer(
    "float_returned",
    why="item() makes a float of the loss, and on a GPU waits for all the work queued before it. A detached tensor leaves that "
    "to whoever prints it.",
    seen="waits for all the work queued",
    answer=returning(lambda losses, counts: whole(losses, counts).item()),
)
accumulate.wrong_answer(
    "graph_returned",
    why="The result still hangs on the graphs of all batches. Their activations are gone, their nodes are not; and a backward "
    "through it raises.",
    seen="a backward through it raises",
    answer=returning(whole),
)
accumulate.wrong_answer(
    "nothing_returned",
    why="The gradients are right, and the loss of the large batch is not returned.",
    seen="is not returned",
    answer=returning(lambda losses, counts: None),
)


@accumulate.wrong_answer(
    "reduction_left_at_sum",
    why='loss_fn.reduction was set to "sum" and left there: the next one who uses this loss gets a sum for a mean.',
    seen="gets a sum for a mean",
)
def _(model: nn.Module, loss_fn: Any, batches: Iterable[Batch]) -> Tensor:
    batches = list(batches)
    count = sum(counts_of(batches, loss_fn.ignore_index))
    loss_fn.reduction, total = "sum", []
    for x, target in batches:
        loss = loss_fn(model(x), target) / count
        loss.backward()
        total.append(loss.detach())
    return torch.stack(total).sum()
