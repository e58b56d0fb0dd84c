"""What people write for 07.mini_ddp: right in the first backward, wrong in the second one or around no_sync."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.ddp.mini_ddp.exercise import mini_ddp
from helpers.labs.ddp.shared.right import Asking, Averaged, Group, Viewed


@mini_ddp.mistake(breaks="The next backward starts anew.")
class StaleCounters(Averaged):
    """In the second backward a bucket is not sent any more. Perhaps what counts the ready gradients or the
    buckets that are gone was not reset.
    """

    def finish(self) -> None:
        launched = self.launched
        super().finish()
        self.launched = launched


@mini_ddp.variant(StaleCounters)
class _(Viewed):
    def finish(self) -> None:
        launched = self.launched
        super().finish()
        self.launched = launched


@mini_ddp.variant(StaleCounters)
class _(Asking):
    def finish(self) -> None:
        launched = self.launched
        super().finish()
        self.launched = launched


@mini_ddp.mistake(breaks="The next backward starts anew.")
class StillReady(Averaged):
    """In a backward after the first one a bucket is sent before all its gradients are there. Perhaps the parameters of the
    last backward still count as ready.
    """

    def finish(self) -> None:
        ready = self.ready
        super().finish()
        self.ready = ready


@mini_ddp.variant(StillReady)
class _(Averaged):
    def finish(self) -> None:
        ready = self.ready
        super().finish()
        self.ready = ready

    def packed(self, bucket: Group) -> Tensor:
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        return torch.cat([grad.flatten() for grad in grads]) / self.world

    def unpack(self, bucket: Group, flat: Tensor) -> None:
        parts = flat.split([param.numel() for param in bucket])
        for param, part in zip(bucket, parts, strict=True):
            param.grad = part.view_as(param).clone()


@mini_ddp.variant(StillReady)
class _(Viewed):
    def finish(self) -> None:
        ready = self.ready
        super().finish()
        self.ready = ready


@mini_ddp.variant(StillReady)
class _(Viewed):
    """Copies gradients into buckets that stay, and back: what comes after the launch falls into a flying bucket."""

    def count(self, param: nn.Parameter) -> None:
        Averaged.count(self, param)
        for bucket, flat in zip(self.buckets, self.flats, strict=True):
            for other, part in zip(bucket, flat.split([p.numel() for p in bucket]), strict=True):
                if other is param:
                    part.copy_(param.grad.flatten())

    def packed(self, bucket: Group) -> Tensor:
        return super().packed(bucket).div_(self.world)

    def unpack(self, bucket: Group, flat: Tensor) -> None:
        Averaged.unpack(self, bucket, flat)

    def finish(self) -> None:
        ready = self.ready
        super().finish()
        self.ready = ready


@mini_ddp.mistake(breaks="The next backward starts anew.")
class QueuedOnce(Averaged):
    """In the second backward the buckets are sent, and each rank's gradients stay its own. Perhaps the end of backward is
    queued in the first one only: a flag that says so is not reset, and nobody waits or brings the means back.
    """

    def finish(self) -> None:
        super().finish()
        self.queued = True


@mini_ddp.mistake(breaks="The next backward outside exchanges the whole sum, once.")
class ReadyFromNoSync(Averaged):
    """In the backward after no_sync a bucket is sent before all its gradients are there. Perhaps the gradients of no_sync
    count as ready: inside, the hook shall leave all that counts as it is.
    """

    def arrived(self, param: nn.Parameter) -> None:
        if not self.syncs:
            self.ready.add(param)
        super().arrived(param)


@mini_ddp.variant(ReadyFromNoSync)
class _(Viewed):
    def arrived(self, param: nn.Parameter) -> None:
        if not self.syncs:
            self.ready.add(param)
        super().arrived(param)


@mini_ddp.mistake(breaks="The next backward starts anew.")
class BucketKeepsOldNumbers(Averaged):
    """The last step's result is still in the bucket, and the new gradient is added to it. Overwrite it, or
    set the bucket to zero first.
    """

    def packed(self, bucket: Group) -> Tensor:
        kept = self.__dict__.setdefault("kept", {})
        place = tuple(map(id, bucket))
        if place not in kept:
            kept[place] = torch.zeros(sum(p.numel() for p in bucket), dtype=bucket[0].dtype)
        kept[place] += super().packed(bucket)
        return kept[place]


@mini_ddp.mistake(breaks="Around forward and backward: nothing is sent, gradients add up on this rank.")
class NoSyncIgnored(Averaged):
    """In no_sync each backward is exchanged: every micro-batch pays for a full exchange. The result is right,
    and that is why nobody notices. Perhaps no_sync changes nothing, or the hook does not look at its flag.
    """

    def no_sync(self) -> Any:
        return nullcontext()


@mini_ddp.mistake(breaks="The next backward outside exchanges the whole sum, once.")
class NoSyncForEver(Averaged):
    """In the backward after no_sync each rank keeps its own gradients. Perhaps the flag that no_sync turns off is not turned
    on again, and nothing is exchanged any more.
    """

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        self.syncs = False
        yield


@mini_ddp.mistake(breaks="The next backward outside exchanges the whole sum, once.")
class NoSyncExchangesAtItsEnd(Averaged):
    """Something is sent after the last gradient of no_sync, before it has ended. Perhaps the sum is sent at its end, to be
    done with it; then the next backward sends what it finds in param.grad, the mean included: it is the one exchange.
    """

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        with super().no_sync():
            yield
        for bucket in self.buckets:
            self.launch(bucket)
        self.finish()


@mini_ddp.mistake(breaks="Around forward and backward: nothing is sent, gradients add up on this rank.")
class NoSyncDivides(Averaged):
    """In no_sync the gradients are divided by the number of ranks. Perhaps the hook divides before it looks
    whether to exchange: the first batch is then divided again at each further one.
    """

    def arrived(self, param: nn.Parameter) -> None:
        param.grad /= self.world
        super().arrived(param)

    def packed(self, bucket: Group) -> Tensor:
        return super().packed(bucket) * self.world


class OfThisBackward(Averaged):
    """Takes the gradient that a tensor hook is given: what this backward adds, and not what is in param.grad."""

    def attach(self) -> None:
        self.new: dict[nn.Parameter, Tensor] = {}
        for param in self.trainable():
            param.register_hook(lambda grad, param=param: self.before(param, grad))

    def before(self, param: nn.Parameter, grad: Tensor) -> None:
        self.new[param] = grad.clone()
        self.arrived(param)

    def packed(self, bucket: Group) -> Tensor:
        return torch.cat([self.new[param].flatten() for param in bucket]) / self.world

    def unpack(self, bucket: Group, flat: Tensor) -> None:
        parts = flat.split([param.numel() for param in bucket])
        for param, part in zip(bucket, parts, strict=True):
            self.store(param, part.view_as(param))

    def store(self, param: nn.Parameter, mean: Tensor) -> None:
        param.grad = mean.clone()


@mini_ddp.mistake(breaks="The next backward outside exchanges the whole sum, once.")
class OnlyTheLastBatch(OfThisBackward):
    """What no_sync had added up is lost: after the next backward param.grad is the mean of that batch alone. Perhaps only
    what this backward adds is exchanged (a hook of Tensor.register_hook is given no more), or `.grad` is emptied before it.
    """


@mini_ddp.mistake(breaks="The next backward outside exchanges the whole sum, once.")
class OwnSumBesideTheMean(OfThisBackward):
    """What had added up in no_sync stayed as it was, and the mean of the last batch was added to it: the
    ranks now hold different gradients.
    """

    def store(self, param: nn.Parameter, mean: Tensor) -> None:
        param.grad += mean - self.new[param]


@mini_ddp.mistake(breaks="It ends as well when an exception leaves it.")
class NoSyncWithoutFinally(Averaged):
    """After an exception in no_sync each rank keeps its own gradients: whoever catches it, a batch that did not fit into
    memory say, trains ranks that run apart. Perhaps the flag is turned on again after the yield and not in a `finally`.
    """

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        before, self.syncs = self.syncs, False
        yield
        self.syncs = before


@mini_ddp.mistake(breaks="One inside a different one changes nothing: only the end of the outer one ends it.")
class InnerNoSyncEndsTheOuter(Averaged):
    """After the end of an inner no_sync, gradients are sent in the outer one. Perhaps the flag is set to True at the end: put
    back what it was before.
    """

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        self.syncs = False
        try:
            yield
        finally:
            self.syncs = True


@mini_ddp.mistake(breaks="without zero_grad it adds to what was there.")
class MeanReplacesTheRest(OfThisBackward):
    """Without zero_grad the gradient is the mean of the last backward alone. Perhaps the mean takes the place of param.grad:
    it is added to what was there, as in any other backward.
    """

    def __init__(self, module: nn.Module, bucket_bytes: int = 25 << 20) -> None:
        super().__init__(module, bucket_bytes)
        self.held: dict[nn.Parameter, Tensor] = {}

    def before(self, param: nn.Parameter, grad: Tensor) -> None:
        # What no_sync has added up goes along; what was exchanged already does not.
        if not self.syncs:
            self.held[param] = self.held.get(param, 0) + grad
        else:
            self.new[param] = self.held.pop(param, 0) + grad
            self.arrived(param)


@mini_ddp.mistake(breaks="When `backward()` returns, each `param.grad` is the mean over the ranks")
class DividedForEachGradient(Averaged):
    """The mean is divided by the number of ranks several times besides. Perhaps a callback for the end of backward is queued
    in each hook, and each of them divides: queue one in each backward.
    """

    def finish(self) -> None:
        trainable = self.trainable()
        super().finish()
        for param in trainable:
            param.grad /= self.world ** (len(trainable) - 1)
