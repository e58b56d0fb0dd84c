"""What answers to 04.recalibrate_bn leave changed, and what they call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim.swa_utils import update_bn

from helpers.check.spec import returned
from helpers.labs.optim.recalibrate_bn.exercise import recalibrate_bn
from helpers.labs.optim.recalibrate_bn.right import (
    feed,
    norms_in,
    prepare,
    put_back,
    recalibrate,
    replaced,
    without_restoring,
)

built = recalibrate_bn.bank(returned)


def feed_with_graph(loader: Iterable[Any], model: nn.Module) -> None:
    for batch in loader:
        model(batch[0] if isinstance(batch, (tuple, list)) else batch)


@built.mistake()
def graph_recorded():
    """The model's result required a graph: each batch kept its activations, for nothing. Perhaps torch.no_grad() is
    missing.
    """
    return replaced(feed=feed_with_graph)


@recalibrate_bn.mistake(breaks="`momentum` and `training` of every sub-module are what they were")
def nothing_restored(loader: Iterable[Any], model: nn.Module) -> None:
    """After the pass momentum is None everywhere, BatchNorm in training mode and the rest in eval mode. Perhaps nothing is put
    back, or only under `except`: `finally` runs after a pass without an error, too.
    """
    without_restoring(loader, model)


@recalibrate_bn.variant(nothing_restored)
def _(loader: Iterable[Any], model: nn.Module) -> None:
    """After an error only."""
    norms = norms_in(model)
    before = [(module, module.training) for module in model.modules()], [norm.momentum for norm in norms]
    try:
        without_restoring(loader, model)
    except Exception:
        for module, flag in before[0]:
            module.training = flag
        for norm, momentum in zip(norms, before[1], strict=True):
            norm.momentum = momentum
        raise


@recalibrate_bn.mistake()
def momentum_left_none(loader: Iterable[Any], model: nn.Module) -> None:
    """momentum is None afterwards where it was a number: when training goes on, the statistics follow ever more slowly, and
    no one knows why.
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
    """momentum is 0.1 afterwards where it was something else: 0.1 is only what it is when nobody chose it."""
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
    """Sub-modules have the mode of the whole: a part that was frozen in eval mode trains from now on. Perhaps
    model.train(was_training) was called, as torch's update_bn does.
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


def batch_norms_alone(*, root: bool) -> Callable[[Iterable[Any], nn.Module], None]:
    """Only BatchNorm, and perhaps the root, get their mode back."""

    def answer(loader: Iterable[Any], model: nn.Module) -> None:
        was = [(norm, norm.training, norm.momentum) for norm in norms_in(model)]
        whole = model.training
        try:
            without_restoring(loader, model)
        finally:
            for norm, flag, momentum in was:
                norm.training, norm.momentum = flag, momentum
            if root:
                model.training = whole

    return answer


@built.mistake(breaks="`momentum` and `training` of every sub-module are what they were")
def others_left_in_eval():
    """After the pass BatchNorm has the mode that it had, and modules that are no BatchNorm are in eval mode. Perhaps only what
    was noted of BatchNorm was put back: model.eval() reached all, dropout, too.
    """
    return batch_norms_alone(root=True)


recalibrate_bn.variant(others_left_in_eval)(batch_norms_alone(root=False))


@recalibrate_bn.mistake()
def lost_on_an_error(loader: Iterable[Any], model: nn.Module) -> None:
    """After an error momentum and modes are not what they were. Perhaps they are put back only if all goes well, as in
    torch's update_bn: try and finally.
    """
    modes = [(module, module.training) for module in model.modules()]
    momenta = without_restoring(loader, model)
    for norm, momentum in momenta.items():
        norm.momentum = momentum
    for module, flag in modes:
        module.training = flag


@recalibrate_bn.mistake()
def update_bn_written_out(loader: Iterable[Any], model: nn.Module) -> None:
    """Sub-modules have the mode of the whole afterwards, and after an error nothing is put back: the two faults of
    torch's update_bn, which this is, perhaps, line for line.
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
    """The model or the loader raised, and no error came out. Half a pass gives statistics, too, and no one knows that they
    are wrong.
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


@recalibrate_bn.mistake(
    breaks="`momentum` and `training` of every sub-module are what they were, and the error comes through."
)
def error_replaced(loader: Iterable[Any], model: nn.Module) -> None:
    """The model or the loader raised, and a different error came out: who waits for the first, as for running out of memory,
    does not see it. try and finally put back what was changed, and let the error go on.
    """
    try:
        recalibrate(loader, model)
    except Exception as error:
        raise RuntimeError("the statistics could not be measured") from error


@recalibrate_bn.mistake(
    breaks="`momentum` and `training` of every sub-module are what they were, and the error comes through."
)
def momentum_lost_on_an_error(loader: Iterable[Any], model: nn.Module) -> None:
    """After an error the modes are what they were, and momentum is not. Perhaps momentum is put back after the pass, and not
    in `finally`.
    """
    norms = norms_in(model)
    before = [(module, module.training) for module in model.modules()], [norm.momentum for norm in norms]
    try:
        without_restoring(loader, model)
        for norm, momentum in zip(norms, before[1], strict=True):
            norm.momentum = momentum
    finally:
        for module, flag in before[0]:
            module.training = flag


@recalibrate_bn.mistake(
    breaks="`momentum` and `training` of every sub-module are what they were, and the error comes through."
)
def lost_when_the_loader_raises(loader: Iterable[Any], model: nn.Module) -> None:
    """After an error of the model all is put back, and after one of the loader momentum and modes are not. Perhaps try
    stands around the model's call alone: the loader runs between the calls.
    """
    modes = [(module, module.training) for module in model.modules()]
    momenta = {norm: norm.momentum for norm in norms_in(model)}

    def back() -> None:
        for norm, momentum in momenta.items():
            norm.momentum = momentum
        for module, flag in modes:
            module.training = flag

    model.eval()
    for norm in momenta:
        prepare(norm)
    for batch in loader:
        try:
            feed([batch], model)
        except BaseException:
            back()
            raise
    back()


@recalibrate_bn.mistake(breaks="Weights, gradients and all other buffers stay as they are")
def gradients_cleared(loader: Iterable[Any], model: nn.Module) -> None:
    """The gradients of the model are others than before. Perhaps zero_grad() was called; torch.no_grad() is enough for a
    pass without a backward.
    """
    model.zero_grad()
    recalibrate(loader, model)


@recalibrate_bn.mistake(breaks="Weights, gradients and all other buffers stay as they are")
def gradients_turned_off(loader: Iterable[Any], model: nn.Module) -> None:
    """Parameters that needed a gradient need none afterwards. Perhaps requires_grad_(False) was called: the next backward
    finds nothing to do for them. torch.no_grad() is what a pass needs.
    """
    recalibrate(loader, model.requires_grad_(False))


@recalibrate_bn.mistake(breaks="Weights, gradients and all other buffers stay as they are")
def frozen_thawed(loader: Iterable[Any], model: nn.Module) -> None:
    """Parameters that needed no gradient need one afterwards. Perhaps requires_grad_(True) was to take back a
    requires_grad_(False): the part that was frozen trains from now on. torch.no_grad() leaves no trace.
    """
    try:
        recalibrate(loader, model.requires_grad_(False))
    finally:
        model.requires_grad_(True)


def restoring_after(opened: Callable[[Iterable[Any]], Iterable[Any]]) -> Callable[..., None]:
    """Puts back what happens from the first batch on; the loader is opened before."""

    def answer(loader: Iterable[Any], model: nn.Module) -> None:
        norms = norms_in(model)
        before = [(module, module.training) for module in model.modules()], [norm.momentum for norm in norms]
        model.eval()
        for norm in norms:
            prepare(norm)
        batches = opened(loader)
        try:
            feed(batches, model)
        finally:
            for module, flag in before[0]:
                module.training = flag
            for norm, momentum in zip(norms, before[1], strict=True):
                norm.momentum = momentum

    return answer


@built.mistake(
    breaks="`momentum` and `training` of every sub-module are what they were, and the error comes through."
)
def lost_when_iter_raises():
    """After an error at a batch all is put back, and after one in iter(loader), before the first batch, momentum and modes are
    not. Perhaps the loader is opened before `try`: a DataLoader starts its workers there, and that can fail.
    """
    return restoring_after(iter)


@recalibrate_bn.mistake()
def torchs_own(loader: Iterable[Any], model: nn.Module) -> None:
    """torch.optim.swa_utils.update_bn ran. It is what the exercise builds again."""
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
