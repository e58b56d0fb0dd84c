"""What people measure for 04.recalibrate_bn in place of the statistics that are asked."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from helpers.check.spec import returned
from helpers.labs.optim.recalibrate_bn.exercise import recalibrate_bn
from helpers.labs.optim.recalibrate_bn.right import feed, norms_in, prepare, recalibrate, replaced

built = recalibrate_bn.bank(returned)


def in_mode(training: bool, *, reset: bool = True) -> Callable[[Any], None]:
    def prepare(norm: Any) -> None:
        if reset:
            norm.reset_running_stats()
        norm.momentum = None
        norm.train(training)

    return prepare


@built.mistake()
def eval_mode():
    """The statistics of all layers are those of a new layer, 0 and 1, and no batch was counted. Perhaps the
    pass ran in eval mode, in which BatchNorm uses its statistics and updates none.
    """
    return replaced(prepare=in_mode(False))


@built.mistake()
def eval_mode_no_reset():
    """The statistics of all layers are the old ones: nothing was measured into them. Perhaps the pass ran in eval mode, in
    which BatchNorm reads its statistics and leaves them; or on a copy of the model.
    """
    return replaced(prepare=in_mode(False, reset=False))


@built.mistake()
def not_reset():
    """The old statistics count as all the batches that num_batches_tracked tells of, and the new ones hardly move them.
    Perhaps momentum is None, and reset_running_stats() is missing.
    """
    return replaced(prepare=in_mode(True, reset=False))


def reset_by_hand(norm: Any) -> None:
    norm.running_mean.zero_()
    norm.running_var.fill_(1)
    norm.momentum = None
    norm.train()


@built.mistake()
def count_not_reset():
    """Zeros for the mean and ones for the variance count as many batches. Perhaps these two were reset, and
    num_batches_tracked was not: momentum None divides by it. reset_running_stats() sees to all three.
    """
    return replaced(prepare=reset_by_hand)


def own_momentum(norm: Any) -> None:
    norm.reset_running_stats()
    norm.train()


@built.mistake()
def momentum_kept():
    """The layers hold an exponential average, with their own momentum: the last batches dominate it, and the start
    values, 0 and 1, still show. momentum None gives every batch the same weight.
    """
    return replaced(prepare=own_momentum)


def momentum_one(norm: Any) -> None:
    prepare(norm)
    norm.momentum = 1.0


@built.mistake()
def last_batch_only():
    """The statistics are those of the last batch alone. Perhaps momentum is 1, which replaces them at each batch; or they
    are reset before each batch.
    """
    return replaced(prepare=momentum_one)


def without_weight(norm: Any) -> None:
    prepare(norm)
    norm.momentum = 0.0


@built.mistake()
def momentum_zero():
    """The statistics are 0 and 1, though the batches were counted. Perhaps momentum is 0: each new statistic then has the
    weight 0. None is not 0.
    """
    return replaced(prepare=without_weight)


@torch.no_grad()
def all_at_once(loader: Iterable[Any], model: nn.Module) -> None:
    inputs = [batch[0] if isinstance(batch, (tuple, list)) else batch for batch in loader]
    model(torch.cat(inputs))


@built.mistake()
def one_large_batch():
    """The statistics are those of all batches joined into one: the variance between the batches comes in. Perhaps they were
    joined for one call, which needs the memory of the whole dataset.
    """
    return replaced(feed=all_at_once)


@torch.no_grad()
def by_size(loader: Iterable[Any], model: nn.Module) -> None:
    seen = 0
    for batch in loader:
        x = batch[0] if isinstance(batch, (tuple, list)) else batch
        seen += len(x)
        for norm in norms_in(model):
            norm.momentum = len(x) / seen
        model(x)


@built.mistake()
def weighted_by_size():
    """The batches count by their sizes. That may be wise, but the cumulative average of torch, and the text, give each
    batch the same weight.
    """
    return replaced(feed=by_size)


def reset_all(norm: Any) -> None:
    norm.reset_parameters()
    norm.momentum = None
    norm.train()


@built.mistake()
def weights_reset():
    """The statistics are those of a model whose BatchNorm layers have weight 1 and bias 0. Perhaps reset_parameters() was
    called, which resets these, too, and what was learned is gone; reset_running_stats() resets the statistics alone.
    """
    return replaced(prepare=reset_all)


@built.mistake()
def one_class_only():
    """Only layers of one class of BatchNorm were measured; all others keep the old statistics. BatchNorm1d, 2d, 3d and
    SyncBatchNorm have a common parent, _BatchNorm.
    """
    return replaced(
        norms=lambda model: [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    )


recalibrate_bn.variant(one_class_only)(
    replaced(norms=lambda model: [module for module in model.modules() if isinstance(module, nn.BatchNorm1d)])
)


@built.mistake()
def some_classes_only():
    """Layers of some classes of BatchNorm keep the old statistics. Perhaps classes were listed, and some forgotten. All of
    them, SyncBatchNorm too, have one parent, _BatchNorm.
    """
    return replaced(
        norms=lambda model: [
            module for module in model.modules() if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d))
        ]
    )


recalibrate_bn.variant(some_classes_only)(
    replaced(
        norms=lambda model: [
            module
            for module in model.modules()
            if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))
        ]
    )
)


@built.mistake()
def all_with_statistics():
    """A buffer of a layer that is no BatchNorm has changed. Perhaps whatever has a running_mean was taken for BatchNorm:
    InstanceNorm has one, too, if it tracks statistics.
    """
    return replaced(
        norms=lambda model: [module for module in model.modules() if hasattr(module, "running_mean")]
    )


@built.mistake()
def children_only():
    """Some layers were measured, and others, of the same class, keep the old statistics. Perhaps children() gave the first
    level or two of the tree; modules() goes all the way down.
    """
    return replaced(
        norms=lambda model: [module for module in model.children() if isinstance(module, _BatchNorm)]
    )


recalibrate_bn.variant(children_only)(
    replaced(
        norms=lambda model: [
            m for part in model.children() for m in part.children() if isinstance(m, _BatchNorm)
        ]
    )
)


@built.mistake()
def frozen_left_out():
    """In a model in eval mode nothing was measured. Perhaps layers in eval mode were passed over: an averaged model is in
    eval mode most of the time.
    """
    return replaced(norms=lambda model: [norm for norm in norms_in(model) if norm.training])


@built.mistake(breaks="During the pass they are in training mode.")
def frozen_parts_left_out():
    """In a model in training mode the layers that were in eval mode keep the old statistics. Perhaps they were taken for
    frozen and passed over: the weights before them have changed, too.
    """
    return replaced(
        norms=lambda model: [norm for norm in norms_in(model) if norm.training or not model.training]
    )


@torch.no_grad()
def whole_batches(loader: Iterable[Any], model: nn.Module) -> None:
    for batch in loader:
        model(batch)


@built.mistake()
def labels_fed():
    """The pass fails where a batch is a tuple of input and labels. Perhaps the model was given all of it: the first
    item is the input.
    """
    return replaced(feed=whole_batches)


@torch.no_grad()
def unpacked(loader: Iterable[Any], model: nn.Module) -> None:
    for batch in loader:
        model(*batch) if isinstance(batch, (tuple, list)) else model(batch)


recalibrate_bn.variant(labels_fed)(replaced(feed=unpacked))


@torch.no_grad()
def always_first(loader: Iterable[Any], model: nn.Module) -> None:
    for x, *_ in loader:
        model(x)


@built.mistake()
def pairs_expected():
    """The pass fails where a batch is a tensor. Perhaps it was taken apart, as if it were a pair of input and labels: its
    first sample is no batch.
    """
    return replaced(feed=always_first)


@torch.no_grad()
def pairs(loader: Iterable[Any], model: nn.Module) -> None:
    for x, _ in loader:
        model(x)


recalibrate_bn.variant(pairs_expected)(replaced(feed=pairs))


@torch.no_grad()
def exact_types(loader: Iterable[Any], model: nn.Module) -> None:
    for batch in loader:
        model(batch[0] if type(batch) in (tuple, list) else batch)


@built.mistake()
def class_compared():
    """Batches of a class that is derived from tuple, list or Tensor are not taken as one. Perhaps type(batch) is compared:
    isinstance asks for what is meant.
    """
    return replaced(feed=exact_types)


@torch.no_grad()
def exact_tensors(loader: Iterable[Any], model: nn.Module) -> None:
    for batch in loader:
        model(batch if type(batch) is Tensor else batch[0])


recalibrate_bn.variant(class_compared)(replaced(feed=exact_tensors))


@torch.no_grad()
def momentum_of_the_count(loader: Iterable[Any], model: nn.Module) -> None:
    for count, batch in enumerate(loader, 1):
        for norm in norms_in(model):
            norm.momentum = 1 / count
        model(batch[0] if isinstance(batch, (tuple, list)) else batch)


def count_reset_only(norm: Any) -> None:
    norm.num_batches_tracked.zero_()
    norm.train()


@built.mistake()
def overwritten_not_reset():
    """NaN or inf is left of the old statistics. Perhaps they get the weight 0 and are not reset: 0 times NaN is NaN, so a
    model that once had a step too long never gets rid of it. reset_running_stats() does.
    """
    return replaced(prepare=count_reset_only, feed=momentum_of_the_count)


@torch.no_grad()
def counted_first(loader: Iterable[Any], model: nn.Module) -> None:
    count = sum(1 for _ in loader)
    for batch in loader:
        model(batch[0] if isinstance(batch, (tuple, list)) else batch)
    assert count >= 0


@built.mistake()
def loader_read_twice():
    """After a pass over a generator the statistics are those of a new layer. Perhaps the batches were counted first: a
    generator is empty when it is read again, and a loader reads every file twice.
    """
    return replaced(feed=counted_first)


@torch.no_grad()
def counted_and_filled(loader: Iterable[Any], model: nn.Module) -> None:
    count = sum(1 for _ in loader)
    feed(loader, model)
    for norm in norms_in(model):
        norm.num_batches_tracked.fill_(count)


recalibrate_bn.variant(loader_read_twice)(replaced(feed=counted_and_filled))


@torch.no_grad()
def first_batch(loader: Iterable[Any], model: nn.Module) -> None:
    for batch in loader:
        return feed([batch], model)


@built.mistake(
    breaks="Replaces the running statistics of all BatchNorm layers of `model`, in place, by those of one pass over `loader`."
)
def first_batch_only():
    """The statistics are those of the first batch alone, and one batch was counted. Perhaps the loop ends after it."""
    return replaced(feed=first_batch)


@torch.no_grad()
def without_the_last(loader: Iterable[Any], model: nn.Module) -> None:
    feed(list(loader)[:-1], model)


@built.mistake(
    breaks="Replaces the running statistics of all BatchNorm layers of `model`, in place, by those of one pass over `loader`."
)
def last_batch_dropped():
    """The last batch, which is the smallest, has no part in the statistics. Each batch of the loader counts."""
    return replaced(feed=without_the_last)


def twice(loader: Iterable[Any], model: nn.Module) -> None:
    batches = list(loader)
    feed(batches + batches, model)


@built.mistake(
    breaks="Each batch counts the same: `running_mean` and `running_var` become the averages of the batches' own statistics (momentum None does that), `num_batches_tracked` the number of batches."
)
def count_wrong():
    """The statistics are right, and num_batches_tracked is not the number of batches. Perhaps the batches went through
    twice, or samples were counted, or the statistics were set by hand and the count forgotten, or put back.
    """
    return replaced(feed=twice)


def with_the_count(count: int) -> Callable[[Iterable[Any], nn.Module], None]:
    def answer(loader: Iterable[Any], model: nn.Module) -> None:
        recalibrate(loader, model)
        for norm in norms_in(model):
            norm.num_batches_tracked.fill_(count)

    return answer


@recalibrate_bn.variant(count_wrong)
def _(loader: Iterable[Any], model: nn.Module) -> None:
    """The number of samples."""
    batches = list(loader)
    firsts = [batch[0] if isinstance(batch, (tuple, list)) else batch for batch in batches]
    with_the_count(sum(map(len, firsts)))(batches, model)


recalibrate_bn.variant(count_wrong)(with_the_count(0))
recalibrate_bn.variant(count_wrong)(with_the_count(17))  # what it was before


def prepare_tenth(norm: Any) -> None:
    own_momentum(norm)
    norm.momentum = 0.1


@built.mistake(
    breaks="Each batch counts the same: `running_mean` and `running_var` become the averages of the batches' own statistics (momentum None does that), `num_batches_tracked` the number of batches."
)
def momentum_fixed():
    """The layers hold an exponential average with one momentum for all, and not the mean: the start values, 0 and 1,
    still show. momentum None gives every batch the same weight.
    """
    return replaced(prepare=prepare_tenth)


def prepare_half(norm: Any) -> None:
    own_momentum(norm)
    norm.momentum = 0.5


recalibrate_bn.variant(momentum_fixed)(replaced(prepare=prepare_half))


@recalibrate_bn.mistake(
    breaks="Each batch counts the same: `running_mean` and `running_var` become the averages of the batches' own statistics (momentum None does that), `num_batches_tracked` the number of batches."
)
@torch.no_grad()
def variance_biased(loader: Iterable[Any], model: nn.Module) -> None:
    """running_mean is right, and running_var is too small. Perhaps a batch's variance is divided by the number of its
    values: running_var takes that number less one (unbiased).
    """
    sums: dict[Any, list[tuple[Tensor, Tensor]]] = {norm: [] for norm in norms_in(model)}

    def see(norm: Any, args: tuple[Tensor, ...]) -> None:
        var, mean = torch.var_mean(args[0].transpose(0, 1).flatten(1), 1, correction=0)
        sums[norm].append((mean, var))

    handles = [norm.register_forward_pre_hook(see) for norm in sums]
    try:
        recalibrate(loader, model)
    finally:
        for handle in handles:
            handle.remove()
    for norm, seen in sums.items():
        norm.running_var.copy_(torch.stack([var for _, var in seen]).mean(0))


def new_statistics(norm: Any) -> None:
    norm.running_mean, norm.running_var = (
        torch.zeros_like(norm.running_mean),
        torch.ones_like(norm.running_var),
    )
    norm.num_batches_tracked = torch.zeros_like(norm.num_batches_tracked)
    norm.momentum = None
    norm.train()


@built.mistake(
    breaks="Replaces the running statistics of all BatchNorm layers of `model`, in place, by those of one pass over `loader`."
)
def statistics_replaced():
    """The numbers are right, and lie in other tensors or other memory than before: who holds the old ones (a state_dict, an average of
    models) sees no change. Perhaps new tensors were assigned; reset_running_stats() edits in place.
    """
    return replaced(prepare=new_statistics)


@torch.no_grad()
def tuples_alone(loader: Iterable[Any], model: nn.Module) -> None:
    for batch in loader:
        model(batch[0] if isinstance(batch, tuple) else batch)


@built.mistake(
    breaks="loader: a batch is a tensor, or a tuple or list whose first item is the model's input."
)
def lists_forgotten():
    """Tuples of input and labels are understood, and the pass fails where a batch is a list of them. A DataLoader makes
    lists.
    """
    return replaced(feed=tuples_alone)


@built.mistake()
def first_batches_only():
    """The statistics are those of some of the batches: of a long loader not all were read. Perhaps the pass stops after so
    many, as recipes do that want a good guess quickly; one pass reads them all.
    """
    return replaced(feed=lambda loader, model: feed(islice(loader, 32), model))


@built.variant(first_batches_only)
def _():
    return replaced(feed=lambda loader, model: feed(islice(loader, 100), model))


@built.variant(first_batches_only)
def _():
    return replaced(feed=lambda loader, model: feed(islice(loader, 10), model))


def peeked(loader: Iterable[Any], model: nn.Module) -> None:
    next(iter(loader))
    feed(loader, model)


@built.mistake(breaks="The loader is read once.")
def first_batch_lost():
    """After a pass over a generator the statistics are those of all batches but the first. Perhaps it was looked at before the
    pass, as by next(iter(loader)): a generator does not give it again.
    """
    return replaced(feed=peeked)


@recalibrate_bn.mistake(breaks="Replaces the running statistics of all BatchNorm layers of `model`, in place")
def a_copy_given_back(loader: Iterable[Any], model: nn.Module) -> nn.Module:
    """The answer gave back a different model. Perhaps a copy was measured: the statistics of `model` itself are to be
    replaced, in place.
    """
    model = copy.deepcopy(model)
    recalibrate(loader, model)
    return model


@built.mistake(breaks="Replaces the running statistics of all BatchNorm layers of `model`, in place")
def one_layer_left_out():
    """One layer keeps the old statistics, and all others are right. Perhaps one with momentum None was taken for done: it is
    the deepest one here, and the walk may also have ended above it.
    """
    return replaced(norms=lambda model: [norm for norm in norms_in(model) if norm.momentum is not None])
