"""What people write for 04.recalibrate_bn, and why it is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim.swa_utils import update_bn

from helpers.check.spec import returned
from helpers.labs.optim.recalibrate_bn.exercise import recalibrate_bn

built = recalibrate_bn.bank(returned)

Norms = list[Any]


def norms_in(model: nn.Module) -> Norms:
    return [module for module in model.modules() if isinstance(module, _BatchNorm)]


def prepare(norm: Any) -> None:
    norm.reset_running_stats()
    norm.momentum = None
    norm.train()


@contextmanager
def put_back(model: nn.Module) -> Iterator[None]:
    """Momentum and mode of every sub-module, whatever happens."""
    norms = norms_in(model)
    before = [(module, module.training) for module in model.modules()], [norm.momentum for norm in norms]
    try:
        yield
    finally:
        for module, flag in before[0]:
            module.training = flag
        for norm, momentum in zip(norms, before[1], strict=True):
            norm.momentum = momentum


@torch.no_grad()
def feed(loader: Iterable[Any], model: nn.Module) -> None:
    for batch in loader:
        model(batch[0] if isinstance(batch, (tuple, list)) else batch)


def recalibrate(
    loader: Iterable[Any],
    model: nn.Module,
    *,
    norms: Callable[[nn.Module], Norms] = norms_in,
    prepare: Callable[[Any], Any] = prepare,
    feed: Callable[[Iterable[Any], nn.Module], None] = feed,
) -> None:
    """Right as it stands; a mistake replaces one part."""
    chosen = norms(model)
    with put_back(model):
        model.eval()
        for norm in chosen:
            prepare(norm)
        feed(loader, model)


def replaced(**parts: Any) -> Callable[[Iterable[Any], nn.Module], None]:
    """An answer that differs from a right one in these parts."""
    return lambda loader, model: recalibrate(loader, model, **parts)


def in_mode(training: bool, *, reset: bool = True) -> Callable[[Any], None]:
    def prepare(norm: Any) -> None:
        if reset:
            norm.reset_running_stats()
        norm.momentum = None
        norm.train(training)

    return prepare


@built.mistake()
def eval_mode():
    """In eval mode BatchNorm uses its statistics and updates none: after the pass they are those of a new
    layer.
    """
    return replaced(prepare=in_mode(False))


@built.mistake()
def eval_mode_no_reset():
    """The statistics were neither reset nor measured: in eval mode the pass reads them and leaves them."""
    return replaced(prepare=in_mode(False, reset=False))


@built.mistake()
def not_reset():
    """The old statistics were not reset: with momentum None they count as all the batches that
    num_batches_tracked tells of, and the new ones hardly move them.
    """
    return replaced(prepare=in_mode(True, reset=False))


def reset_by_hand(norm: Any) -> None:
    norm.running_mean.zero_()
    norm.running_var.fill_(1)
    norm.momentum = None
    norm.train()


@built.mistake()
def count_not_reset():
    """Mean and variance were reset, and num_batches_tracked was not: momentum None divides by it, so that the
    zeros count as many batches. reset_running_stats() sees to all three.
    """
    return replaced(prepare=reset_by_hand)


def own_momentum(norm: Any) -> None:
    norm.reset_running_stats()
    norm.train()


@built.mistake()
def momentum_kept():
    """With its own momentum the layer keeps an average that the last batches dominate and in which the start
    value, 0 and 1, still shows. momentum None gives every batch the same weight.
    """
    return replaced(prepare=own_momentum)


def momentum_one(norm: Any) -> None:
    prepare(norm)
    norm.momentum = 1.0


@built.mistake()
def last_batch_only():
    """momentum 1 replaces the statistics by those of the batch: what is left is the last one."""
    return replaced(prepare=momentum_one)


def without_weight(norm: Any) -> None:
    prepare(norm)
    norm.momentum = 0.0


@built.mistake()
def momentum_zero():
    """momentum 0 is not None: the new statistics get the weight 0."""
    return replaced(prepare=without_weight)


@torch.no_grad()
def all_at_once(loader: Iterable[Any], model: nn.Module) -> None:
    inputs = [batch[0] if isinstance(batch, (tuple, list)) else batch for batch in loader]
    model(torch.cat(inputs))


@built.mistake()
def one_large_batch():
    """All batches were joined into one: that needs the memory of the whole data set, and the variance between
    the batches comes in.
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
    """The batches were weighted by their sizes. That may be wise, but the cumulative average of torch, and
    the text, give each batch the same weight.
    """
    return replaced(feed=by_size)


def reset_all(norm: Any) -> None:
    norm.reset_parameters()
    norm.momentum = None
    norm.train()


@built.mistake()
def weights_reset():
    """reset_parameters() resets weight and bias of the layer, too: what was learned is gone."""
    return replaced(prepare=reset_all)


@built.mistake()
def one_class_only():
    """Only one class of BatchNorm was looked for. BatchNorm1d, 2d, 3d and SyncBatchNorm have a common parent,
    _BatchNorm.
    """
    return replaced(
        norms=lambda model: [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    )


recalibrate_bn.variant(one_class_only)(
    replaced(norms=lambda model: [module for module in model.modules() if isinstance(module, nn.BatchNorm1d)])
)


@built.mistake()
def some_classes_only():
    """Some classes of BatchNorm were listed, and others forgotten. All of them, SyncBatchNorm too, have one parent,
    _BatchNorm.
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
    """Whatever has a running_mean was taken for BatchNorm. InstanceNorm has one, too, if it tracks statistics, and
    has lost it.
    """
    return replaced(
        norms=lambda model: [module for module in model.modules() if hasattr(module, "running_mean")]
    )


@built.mistake()
def children_only():
    """children() gives the first level of the tree; modules() goes all the way down."""
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
    """Layers that were in eval mode were passed over. An averaged model is in eval mode most of the time, and
    then nothing is measured at all.
    """
    return replaced(norms=lambda model: [norm for norm in norms_in(model) if norm.training])


@torch.no_grad()
def whole_batches(loader: Iterable[Any], model: nn.Module) -> None:
    for batch in loader:
        model(batch)


@built.mistake()
def labels_fed():
    """The model was given the pair of input and labels. A loader's batch is a tuple or list; its first item
    is the input.
    """
    return replaced(feed=whole_batches)


@torch.no_grad()
def always_first(loader: Iterable[Any], model: nn.Module) -> None:
    for x, *_ in loader:
        model(x)


@built.mistake()
def pairs_expected():
    """Every batch was taken for a pair. A batch that is a tensor was taken apart by it: its first sample is
    no batch.
    """
    return replaced(feed=always_first)


@torch.no_grad()
def exact_types(loader: Iterable[Any], model: nn.Module) -> None:
    for batch in loader:
        model(batch[0] if type(batch) in (tuple, list) else batch)


@built.mistake()
def class_compared():
    """type(batch) is compared with tuple and list. A named tuple is a tuple, and of another type: isinstance asks for
    what is meant.
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
    """The first batch, with momentum 1, was left to wipe out the old statistics. It multiplies them by 0, and 0 times
    NaN is NaN: a model that once had a step too long never gets rid of it. reset_running_stats() does.
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
    """The batches were counted first. A generator is empty when it is read again, and a loader reads every
    file twice.
    """
    return replaced(feed=counted_first)


def feed_with_graph(loader: Iterable[Any], model: nn.Module) -> None:
    for batch in loader:
        model(batch[0] if isinstance(batch, (tuple, list)) else batch)


@built.mistake()
def graph_recorded():
    """Without torch.no_grad() each batch records a graph and keeps its activations, for nothing."""
    return replaced(feed=feed_with_graph)


def without_restoring(loader: Iterable[Any], model: nn.Module) -> dict[Any, float | None]:
    """The pass; what the momenta were."""
    momenta = {norm: norm.momentum for norm in norms_in(model)}
    model.eval()
    for norm in momenta:
        prepare(norm)
    feed(loader, model)
    return momenta


@recalibrate_bn.mistake()
def momentum_left_none(loader: Iterable[Any], model: nn.Module) -> None:
    """momentum stayed None: when training goes on, the statistics follow ever more slowly, and no one knows
    why.
    """
    norms = norms_in(model)
    try:
        with put_back(model):
            without_restoring(loader, model)
    finally:
        for norm in norms:
            norm.momentum = None


@recalibrate_bn.mistake()
def momentum_set_to_default(loader: Iterable[Any], model: nn.Module) -> None:
    """momentum was set to 0.1, which is only what it is when nobody chose another one."""
    norms = norms_in(model)
    try:
        with put_back(model):
            without_restoring(loader, model)
    finally:
        for norm in norms:
            norm.momentum = 0.1


def afterwards(mode: Callable[[nn.Module, bool], Any]) -> Callable[[Iterable[Any], nn.Module], None]:
    """Sets the mode after the pass in this way."""

    def answer(loader: Iterable[Any], model: nn.Module) -> None:
        was = model.training
        norms = {norm: norm.momentum for norm in norms_in(model)}
        try:
            without_restoring(loader, model)
        finally:
            for norm, momentum in norms.items():
                norm.momentum = momentum
            mode(model, was)

    return answer


@built.mistake()
def mode_of_the_root():
    """model.train(was_training) gives every sub-module the mode of the root: a part that was frozen in eval
    mode trains from now on. torch's update_bn does that, too.
    """
    return afterwards(lambda model, was: model.train(was))


@built.mistake()
def left_in_eval():
    """The whole model was left in eval mode: when training goes on, dropout and BatchNorm do not."""
    return afterwards(lambda model, was: model.eval())


@built.mistake()
def left_in_training():
    """The whole model was left in training mode: whoever tests it next has dropout, and moves the statistics."""
    return afterwards(lambda model, was: model.train())


@built.mistake()
def mode_not_restored():
    """After the pass BatchNorm is in training mode and the rest in eval mode, whatever they were in before."""
    return afterwards(lambda model, was: None)


@recalibrate_bn.mistake()
def lost_on_an_error(loader: Iterable[Any], model: nn.Module) -> None:
    """What was changed is put back only if all goes well. One bad batch leaves momentum at None and the modes
    turned; torch's update_bn does that. try and finally.
    """
    modes = [(module, module.training) for module in model.modules()]
    momenta = without_restoring(loader, model)
    for norm, momentum in momenta.items():
        norm.momentum = momentum
    for module, flag in modes:
        module.training = flag


@recalibrate_bn.mistake()
def update_bn_written_out(loader: Iterable[Any], model: nn.Module) -> None:
    """This is torch's update_bn, line for line, with its two faults: a part that was frozen in eval mode is
    in training mode afterwards, and after an error nothing is put back.
    """
    momenta = {norm: norm.momentum for norm in norms_in(model)}
    was = model.training
    model.train()
    for norm in momenta:
        prepare(norm)
    feed(loader, model)
    for norm, momentum in momenta.items():
        norm.momentum = momentum
    model.train(was)


@recalibrate_bn.mistake()
def error_swallowed(loader: Iterable[Any], model: nn.Module) -> None:
    """The error was caught and dropped. Half a pass gives statistics, too, and no one knows that they are
    wrong.
    """
    with put_back(model):
        try:
            without_restoring(loader, model)
        except Exception:
            pass


@recalibrate_bn.variant(error_swallowed)
def _(loader: Iterable[Any], model: nn.Module) -> None:
    def skip_bad(loader: Iterable[Any], model: nn.Module) -> None:
        batches = iter(loader)
        while True:
            try:
                feed([next(batches)], model)
            except StopIteration:
                return
            except RuntimeError:
                continue
            except ValueError:
                return

    recalibrate(loader, model, feed=skip_bad)


@recalibrate_bn.mistake()
def torchs_own(loader: Iterable[Any], model: nn.Module) -> None:
    """torch.optim.swa_utils.update_bn is what the exercise builds again."""
    dropping = [module for module in model.modules() if not isinstance(module, _BatchNorm)]
    handles = [module.register_forward_pre_hook(in_eval) for module in dropping]
    try:
        with put_back(model):
            update_bn(loader, model)
    finally:
        for handle in handles:
            handle.remove()


def in_eval(module: nn.Module, args: tuple[Tensor, ...]) -> None:
    module.training = False


@recalibrate_bn.variant(torchs_own)
def _(loader: Iterable[Any], model: nn.Module) -> None:
    update_bn(loader, model)


@recalibrate_bn.variant(torchs_own)
def _(loader: Iterable[Any], model: nn.Module) -> None:
    with put_back(model):
        update_bn(loader, model)
