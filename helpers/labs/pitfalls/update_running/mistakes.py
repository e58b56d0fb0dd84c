"""What people write for 10.update_running, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.check.spec import returned
from helpers.labs.pitfalls.update_running.exercise import (
    APART,
    COPIED,
    GRAPH,
    LEFT,
    MEMORY,
    MOVES,
    NONE,
    OWN,
    SAMPLE,
    WEIGHT,
    update_running,
)

built = update_running.bank(returned)


def dims_of(x: Tensor) -> tuple[int, ...]:
    return (0, *range(2, x.ndim))


def mean_of(x: Tensor) -> Tensor:
    return x.mean(dims_of(x))


def var_of(x: Tensor) -> Tensor:
    return x.var(dims_of(x))


def weight_of_next(mean: Tensor) -> float:
    """1 / the number of batches that this mean has seen, with the one that comes."""
    mean.batches_seen = getattr(mean, "batches_seen", 0) + 1
    return 1 / mean.batches_seen


def moving(
    batch_mean: Callable[[Tensor], Tensor] = mean_of,
    batch_var: Callable[[Tensor], Tensor] = var_of,
    move: Callable[[Tensor, Tensor, float], Any] = Tensor.lerp_,
    weight: Callable[[Tensor], float] = weight_of_next,
) -> Callable[..., None]:
    """An answer made of these parts. weight: the momentum for None, from the running mean."""

    @torch.no_grad()
    def answer(x: Tensor, mean: Tensor, var: Tensor, momentum: float | None) -> None:
        momentum = weight(mean) if momentum is None else momentum
        new_mean, new_var = batch_mean(x), batch_var(x)
        move(mean, new_mean, momentum)
        move(var, new_var, momentum)

    return answer


@built.mistake(breaks=WEIGHT)
def momentum_reversed():
    """The statistics are momentum * old + (1 - momentum) * batch: 0.9 hardly moves. Perhaps momentum is taken
    for the weight of the old value, as in other libraries and in SGD.
    """
    return moving(move=lambda old, new, m: old.lerp_(new, 1 - m))


update_running.variant(momentum_reversed)(
    moving(
        move=lambda old, new, m: old.mul_(m).add_(new, alpha=1 - m),
        weight=lambda mean: 1 - weight_of_next(mean),
    )
)


@built.mistake(breaks=SAMPLE)
def biased_variance():
    """The variance with n is stored. That is what the batch itself is normalised with; the running one is an
    estimate for all data, and there n - 1 stands.
    """
    return moving(batch_var=lambda x: x.var(dims_of(x), correction=0))


@built.mistake(breaks=SAMPLE)
def per_sample():
    """The differences between the samples are not in the variance. Perhaps variances were taken within each
    sample and averaged: all values of a channel are one sample.
    """
    return moving(batch_var=lambda x: x.var(tuple(range(2, x.ndim))).mean(0) if x.ndim > 2 else var_of(x))


update_running.variant(per_sample)(
    moving(batch_var=lambda x: x.flatten(2).var(2).mean(0) if x.ndim > 2 else x.var(0))
)

update_running.variant(per_sample)(
    moving(batch_var=lambda x: x.flatten(2).var(2, correction=0).mean(0) if x.ndim > 2 else x.var(0))
)


@built.mistake(breaks=SAMPLE)
def per_place():
    """The differences between the places are not in the variance. Perhaps variances were taken over the
    samples, place by place, and averaged: all values of a channel are one sample.
    """
    return moving(batch_var=lambda x: x.var(0).flatten(1).mean(1) if x.ndim > 2 else var_of(x))


@built.mistake(breaks=SAMPLE)
def n_is_the_batch_size():
    """The variance is divided by other than n - 1 where a channel has several places. Perhaps n is the number
    of samples: it is samples times places.
    """
    return moving(batch_var=lambda x: x.var(dims_of(x), correction=0) * len(x) / (len(x) - 1))


@built.mistake(breaks=SAMPLE)
def std_stored():
    """The standard deviation is stored where the variance is kept: evaluation will take the root of it once
    more.
    """
    return moving(batch_var=lambda x: x.std(dims_of(x)))


@torch.no_grad()
def _from_running_mean(x: Tensor, mean: Tensor, var: Tensor, momentum: float | None) -> None:
    momentum = weight_of_next(mean) if momentum is None else momentum
    mean.lerp_(mean_of(x), momentum)
    values = x.transpose(0, 1).flatten(1)
    var.lerp_((values - mean[:, None]).square().sum(1) / (values.shape[1] - 1), momentum)


@built.mistake(breaks=SAMPLE)
def distance_from_the_running_mean():
    """The variance is measured from the running mean, which had just been moved. It belongs to the batch:
    measure it from the batch's own mean.
    """
    return _from_running_mean


@built.mistake(breaks=SAMPLE)
def over_everything():
    """All channels move towards one number. Perhaps one mean is taken from the whole batch: each channel has
    statistics of its own.
    """
    return moving(
        batch_mean=lambda x: x.mean().expand(x.shape[1]), batch_var=lambda x: x.var().expand(x.shape[1])
    )


update_running.variant(over_everything)(moving(batch_mean=lambda x: x.mean().expand(x.shape[1])))


@built.mistake(breaks=WEIGHT)
def added_up():
    """momentum * batch is added, and the old value is not made smaller: the statistics grow for ever."""
    return moving(move=lambda old, new, m: old.add_(new, alpha=m))


@built.mistake(breaks=WEIGHT)
def replaced():
    """The batch's statistics take the place of the old ones, whatever momentum is. Running means averaging over
    many batches.
    """
    return moving(move=lambda old, new, m: old.copy_(new))


def _new_names(x: Tensor, mean: Tensor, var: Tensor, momentum: float | None) -> None:
    momentum = 1.0 if momentum is None else momentum
    mean = (1 - momentum) * mean + momentum * mean_of(x)
    var = (1 - momentum) * var + momentum * var_of(x)


def _returned(x: Tensor, mean: Tensor, var: Tensor, momentum: float | None) -> tuple[Tensor, Tensor]:
    momentum = 1.0 if momentum is None else momentum
    return torch.lerp(mean, mean_of(x), momentum), torch.lerp(var, var_of(x), momentum)


@built.mistake(breaks=MOVES)
def not_in_place():
    """mean holds what it held before. Perhaps new tensors were made and bound to the names mean and var, which
    end with the function. Edit the tensors: lerp_, copy_, mul_ and add_.
    """
    return _new_names


update_running.variant(not_in_place)(_returned)


def _first_only(x: Tensor, mean: Tensor, var: Tensor, momentum: float | None) -> None:
    with torch.no_grad():
        momentum = weight_of_next(mean) if momentum is None else momentum
        mean.lerp_(mean_of(x), momentum)


@built.mistake(breaks=MOVES)
def variance_forgotten():
    """mean is moved, and var is what it was. Evaluation divides by its root."""
    return _first_only


def _by_data(x: Tensor, mean: Tensor, var: Tensor, momentum: float | None) -> None:
    momentum = weight_of_next(mean) if momentum is None else momentum
    mean.data = torch.lerp(mean, mean_of(x.detach()), momentum)
    var.data = torch.lerp(var, var_of(x.detach()), momentum)


@built.mistake(breaks=MEMORY)
def data_replaced():
    """mean or var lies in new memory: views, and tensors that share the old one, keep the old values. Perhaps
    by mean.data = ...
    """
    return _by_data


@built.mistake(breaks=GRAPH)
def graph_recorded():
    """mean or var requires grad after the call: each batch's graph is kept alive by the running statistics,
    until memory is full. Use torch.no_grad() or x.detach().
    """
    return moving().__wrapped__


@update_running.variant(graph_recorded)
def _(x: Tensor, mean: Tensor, var: Tensor, momentum: float | None) -> None:
    momentum = weight_of_next(mean) if momentum is None else momentum
    mean.mul_(1 - momentum).add_(momentum * mean_of(x))
    var.mul_(1 - momentum).add_(momentum * var_of(x))


@update_running.mistake(breaks=LEFT)
@torch.no_grad()
def batch_edited(x: Tensor, mean: Tensor, var: Tensor, momentum: float | None) -> None:
    """x holds other numbers after the call. Perhaps it was centred in place to compute the variance: it is the
    layer's input, and others read it after this.
    """
    momentum = weight_of_next(mean) if momentum is None else momentum
    mean.lerp_(mean_of(x), momentum)
    values = x.sub_(x.mean(dims_of(x), keepdim=True)).transpose(0, 1).flatten(1)
    var.lerp_(values.square().sum(1) / (values.shape[1] - 1), momentum)


@torch.no_grad()
def _torchs_own(x: Tensor, mean: Tensor, var: Tensor, momentum: float | None) -> None:
    momentum = weight_of_next(mean) if momentum is None else momentum
    F.batch_norm(x, mean, var, training=True, momentum=momentum)


def _torchs_layer(x: Tensor, mean: Tensor, var: Tensor, momentum: float | None) -> None:
    layer = nn.BatchNorm1d(x.shape[1], momentum=momentum, affine=False, dtype=x.dtype)
    layer.running_mean, layer.running_var = mean, var
    layer(x)


def _torchs_update(x: Tensor, mean: Tensor, var: Tensor, momentum: float | None) -> None:
    momentum = weight_of_next(mean) if momentum is None else momentum
    torch.batch_norm_update_stats(x, mean, var, momentum)


@built.mistake(breaks=OWN)
def torchs_own():
    """A batch norm of torch does the update. What it does with momentum and with n - 1 is the question here."""
    return _torchs_own


update_running.variant(torchs_own)(_torchs_layer)

update_running.variant(torchs_own)(_torchs_update)


# Momentum None, and what is counted for it.


@built.mistake(breaks=NONE)
def none_means_0_1():
    """With momentum None each batch has the weight 0.1, torch's default. None stands for plain averages: the
    k-th batch has the weight 1 / k.
    """
    return moving(weight=lambda mean: 0.1)


@built.mistake(breaks=NONE)
def none_means_the_last_batch():
    """With momentum None the last batch replaces all that was, instead of counting as one of many."""
    return moving(weight=lambda mean: 1.0)


@built.mistake(breaks=NONE)
def none_does_nothing():
    """With momentum None nothing is moved."""
    return moving(weight=lambda mean: 0.0)


def _counted_with_the_start(mean: Tensor) -> float:
    return 1 / (1 + 1 / weight_of_next(mean))


@built.mistake(breaks=NONE)
def start_counts_as_a_batch():
    """With momentum None the values that a new layer has, 0 and 1, count as a batch. The first real one
    replaces them: its weight is 1.
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


@built.mistake(breaks=APART)
def one_count_for_all():
    """Each call for a different layer moves this one's count. Perhaps one count is kept for all, in a global or
    on the function: a model has many batch norms.
    """
    return moving(weight=shared_count())


@built.mistake(breaks=NONE)
def batches_weighted_by_size():
    """Each batch is weighted by its samples. That would be a finer average; torch counts batches, and the small
    last one weighs as much as the others.
    """
    return weighted_by_samples()


@torch.no_grad()
def _zero_as_none(x: Tensor, mean: Tensor, var: Tensor, momentum: float | None) -> None:
    momentum = momentum or weight_of_next(mean)
    mean.lerp_(mean_of(x), momentum)
    var.lerp_(var_of(x), momentum)


@built.mistake(breaks=WEIGHT)
def zero_taken_for_none():
    """momentum 0 moves the statistics. Perhaps `momentum or ...` (or `if not momentum`) takes 0.0 for None: 0
    is a momentum, too, that of a frozen layer. Ask `is None`.
    """
    return _zero_as_none


def counted_by(count: Callable[[Tensor], int]) -> Callable[..., None]:
    """An answer whose number of batches is count(mean), in a place other than the tensors."""
    return moving(weight=lambda mean: 1 / count(mean))


def by_id() -> Callable[[Tensor], int]:
    counts: dict[int, int] = {}

    def count(mean: Tensor) -> int:
        counts[id(mean)] = counts.get(id(mean), 0) + 1
        return counts[id(mean)]

    return count


@built.mistake(breaks=COPIED)
def count_beside_the_tensors():
    """A copy of a layer begins to count anew, so its next batch replaces all that was. Perhaps the counts stand in a
    dict, by id, and an id is given again when a tensor is gone. An attribute goes along with the tensor.
    """
    return counted_by(by_id())


def _float64(x: Tensor, mean: Tensor, var: Tensor, momentum: float | None) -> None:
    momentum = weight_of_next(mean) if momentum is None else momentum
    with torch.no_grad():
        for held, new in ((mean, mean_of(x)), (var, var_of(x))):
            value = torch.lerp(held.double(), new.double(), momentum)
            if held.dtype == torch.float64:
                held.copy_(value)
            else:
                held.data = value


@built.mistake(breaks=MEMORY)
def dtype_changed():
    """mean or var has a dtype other than before, in new memory. Perhaps it was computed in float64 and put in the
    place of .data: copy_ converts.
    """
    return _float64


@built.mistake(breaks=SAMPLE)
def channels_mixed():
    """With dims behind the channels the channels are mixed, and two dims are right. Perhaps reshape(-1, C) is to bring
    them to the end: it draws new borders through the same numbers. A movedim(1, -1) moves them first.
    """
    return moving(
        batch_mean=lambda x: x.reshape(-1, x.shape[1]).mean(0),
        batch_var=lambda x: x.reshape(-1, x.shape[1]).var(0),
    )


@torch.no_grad()
def _var_replaced(x: Tensor, mean: Tensor, var: Tensor, momentum: float | None) -> None:
    mean.lerp_(mean_of(x), weight_of_next(mean) if momentum is None else momentum)
    var.lerp_(var_of(x), 1.0 if momentum is None else momentum)


@built.mistake(breaks=NONE)
def none_replaces_var():
    """With momentum None mean is the average of all batches, and var is not. Perhaps the weight for None is computed
    for mean alone, and var takes the last batch.
    """
    return _var_replaced


@torch.no_grad()
def _deviations(x: Tensor, mean: Tensor, var: Tensor, momentum: float | None) -> None:
    momentum = weight_of_next(mean) if momentum is None else momentum
    mean.lerp_(mean_of(x), momentum)
    var.copy_(torch.lerp(var.sqrt(), var_of(x).sqrt(), momentum).square())


@built.mistake(breaks=WEIGHT)
def deviations_mixed():
    """The mean is right, and var is not (1 - momentum) * old + momentum * batch. Perhaps the standard deviations are
    mixed, and the result is squared: the variances are to be mixed.
    """
    return _deviations


@torch.no_grad()
def _counted_twice(x: Tensor, mean: Tensor, var: Tensor, momentum: float | None) -> None:
    for held, new in ((mean, mean_of(x)), (var, var_of(x))):
        held.lerp_(new, weight_of_next(mean) if momentum is None else momentum)


@built.mistake(breaks=NONE)
def counted_for_each_of_two():
    """With momentum None the batches have the weights 1, 1/3 and 1/5: each one is counted twice. Perhaps the count is
    moved in a loop over mean and var, once for each.
    """
    return _counted_twice


@built.mistake(breaks=SAMPLE)
def channels_reshaped():
    """The channels are mixed, already with two dims. Perhaps reshape(C, -1) is to bring them to the front: it draws new
    borders through the same numbers. A transpose(0, 1) moves them first.
    """
    return moving(
        batch_mean=lambda x: x.reshape(x.shape[1], -1).mean(1),
        batch_var=lambda x: x.reshape(x.shape[1], -1).var(1),
    )


@built.mistake(breaks=SAMPLE)
def computed_in_float32():
    """In float64 half of the digits are gone. Perhaps x is converted by .float() before its mean and variance are
    taken.
    """
    return moving(
        batch_mean=lambda x: mean_of(x.float()).to(x.dtype), batch_var=lambda x: var_of(x.float()).to(x.dtype)
    )
