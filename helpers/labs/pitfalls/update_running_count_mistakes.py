"""What people write for 10.update_running: momentum None, and what is counted for it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.exercise import returned
from helpers.labs.pitfalls.update_running import update_running
from helpers.labs.pitfalls.update_running_mistakes import mean_of, moving, var_of, weight_of_next

built = update_running.bank(returned)


@built.mistake()
def none_means_0_1():
    """momentum None was taken for torch's default, 0.1. It stands for plain averages: the k-th batch has the
    weight 1 / k.
    """
    return moving(weight=lambda mean: 0.1)


@built.mistake()
def none_means_the_last_batch():
    """With momentum None the last batch replaces all that was, instead of counting as one of many."""
    return moving(weight=lambda mean: 1.0)


@built.mistake()
def none_does_nothing():
    """With momentum None nothing is moved."""
    return moving(weight=lambda mean: 0.0)


def _counted_with_the_start(mean: Tensor) -> float:
    return 1 / (1 + 1 / weight_of_next(mean))


@built.mistake()
def start_counts_as_a_batch():
    """The values that a new layer has, 0 and 1, were counted as a batch. The first real one replaces them:
    its weight is 1.
    """
    return moving(weight=_counted_with_the_start)


def shared_count() -> Callable[[Tensor], float]:
    """The weight by one count for all tensors."""
    calls = [0]

    def weight(mean: Tensor) -> float:
        calls[0] += 1
        return 1 / calls[0]

    return weight


def weighted_by_samples() -> Callable[..., None]:
    @torch.no_grad()
    def answer(x: Tensor, mean: Tensor, var: Tensor, momentum: float | None) -> None:
        if momentum is None:
            mean.samples = getattr(mean, "samples", 0) + len(x)
            momentum = len(x) / mean.samples
        mean.lerp_(mean_of(x), momentum)
        var.lerp_(var_of(x), momentum)

    return answer


@built.mistake()
def one_count_for_all():
    """One count was kept for all layers, in a global or on the function. A model has many batch norms, and
    each call of another one moved this one's count.
    """
    return moving(weight=shared_count())


@built.mistake()
def batches_weighted_by_size():
    """Each batch was weighted by its samples. That would be a finer average; torch counts batches, and the
    small last one weighs as much as the others.
    """
    return weighted_by_samples()


@torch.no_grad()
def _zero_as_none(x: Tensor, mean: Tensor, var: Tensor, momentum: float | None) -> None:
    momentum = momentum or weight_of_next(mean)
    mean.lerp_(mean_of(x), momentum)
    var.lerp_(var_of(x), momentum)


@built.mistake()
def zero_taken_for_none():
    """`momentum or ...` (or `if not momentum`) takes 0.0 for None. 0 is a momentum, too: a frozen layer. Ask
    `is None`.
    """
    return _zero_as_none
