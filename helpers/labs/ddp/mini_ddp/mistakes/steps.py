"""What people write for 07.mini_ddp: right in the first backward, wrong in the second one or around no_sync."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from helpers.labs.ddp.mini_ddp.exercise import mini_ddp
from helpers.labs.ddp.shared.right import Asking, Averaged, Group, Viewed


@mini_ddp.mistake()
class StaleCounters(Averaged):
    """What counts the ready gradients was not reset: in the second backward no bucket is complete for the
    first time again, so none is sent.
    """

    def finish(self) -> None:
        launched = self.launched
        super().finish()
        self.launched = launched


@mini_ddp.variant(StaleCounters)
class _(Averaged):
    def finish(self) -> None:
        super().finish()
        self.queued = True


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


@mini_ddp.mistake()
class StillReady(Averaged):
    """The parameters of the last backward still counted as ready, so the first gradient of the next one sent
    every bucket, with old or no numbers in it.
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


@mini_ddp.mistake()
class BucketKeepsOldNumbers(Averaged):
    """The gradient was added to the bucket, in which the last step's result still stood. Overwrite it, or set
    the bucket to zero first.
    """

    def packed(self, bucket: Group) -> Tensor:
        kept = self.__dict__.setdefault("kept", {})
        place = tuple(map(id, bucket))
        if place not in kept:
            kept[place] = torch.zeros(sum(p.numel() for p in bucket), dtype=bucket[0].dtype)
        kept[place] += super().packed(bucket)
        return kept[place]


@mini_ddp.mistake()
class NoSyncIgnored(Averaged):
    """no_sync yields and changes nothing: every micro-batch pays for a full exchange. The result is right,
    and that is why nobody notices.
    """

    def no_sync(self) -> Any:
        return nullcontext()


@mini_ddp.mistake()
class NoSyncForEver(Averaged):
    """The flag that no_sync turns off was not turned on again: nothing is ever exchanged afterwards."""

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        self.syncs = False
        yield


@mini_ddp.mistake()
class NoSyncExchangesAtItsEnd(Averaged):
    """no_sync sent the sum when it ended; then the next backward sends what it finds in param.grad, the mean
    included. The next backward outside is the one exchange.
    """

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        with super().no_sync():
            yield
        for bucket in self.buckets:
            self.launch(bucket)
        self.finish()


@mini_ddp.mistake()
class NoSyncDivides(Averaged):
    """The hook divided param.grad by the number of ranks before it looked whether to exchange: the first
    batch is then divided again at each further one.
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


@mini_ddp.mistake()
class OnlyTheLastBatch(OfThisBackward):
    """A hook of Tensor.register_hook is given what this backward adds, before it is added. What no_sync had
    put into param.grad is not in it. A post-accumulate hook comes after.
    """


@mini_ddp.mistake()
class OwnSumBesideTheMean(OfThisBackward):
    """What had added up in no_sync stayed as it was, and the mean of the last batch was added to it: the
    ranks now hold different gradients.
    """

    def store(self, param: nn.Parameter, mean: Tensor) -> None:
        param.grad += mean - self.new[param]
