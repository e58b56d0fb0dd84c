"""What people write for 07.mini_ddp: right gradients, but the messages are too many, too late or in a chance order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch.distributed as dist
from torch import Tensor, nn

from helpers.labs.ddp.mini_ddp.exercise import mini_ddp
from helpers.labs.ddp.shared.right import Averaged, Group, grouped


@mini_ddp.mistake()
class WrapsTorchDdp(nn.Module):
    """It works, and it shows nothing: the hooks, the buckets and the order are what this exercise is about."""

    def __init__(self, module: nn.Module, bucket_bytes: int = 25 << 20) -> None:
        super().__init__()
        self.module = nn.parallel.DistributedDataParallel(module, bucket_cap_mb=bucket_bytes / 2**20)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        with self.module.no_sync():
            yield


class AtTheEnd(Averaged):
    """Sends nothing before the last gradient is there."""

    def arrived(self, param: nn.Parameter) -> None:
        if self.syncs:
            self.queue()
            self.count(param)

    def finish(self) -> None:
        self.launch_complete()
        super().finish()


@mini_ddp.mistake()
class OneAllReduceAtTheEnd(AtTheEnd):
    """All gradients in one message, sent when backward is over: the values are right, and nothing overlaps.
    That is what buckets are for.
    """

    def groups(self) -> list[Group]:
        return [self.trainable()[::-1]]


@mini_ddp.variant(OneAllReduceAtTheEnd)
class _(AtTheEnd):
    def groups(self) -> list[Group]:
        return [self.trainable()]

    def finish(self) -> None:
        for bucket in self.buckets:
            flat = self.packed(bucket)
            dist.all_reduce(flat)
            self.unpack(bucket, flat)
        self.begin()


@mini_ddp.variant(OneAllReduceAtTheEnd)
class _(Averaged):
    def groups(self) -> list[Group]:
        return [self.trainable()]


@mini_ddp.mistake()
class BucketsAtTheEnd(AtTheEnd):
    """The buckets are right, but all are sent after the last gradient. Send a bucket in the hook that
    completes it.
    """


@mini_ddp.variant(BucketsAtTheEnd)
class _(AtTheEnd):
    def finish(self) -> None:
        for bucket in self.buckets:
            flat = self.packed(bucket)
            dist.all_reduce(flat)
            self.unpack(bucket, flat)
        self.begin()


@mini_ddp.variant(BucketsAtTheEnd)
class _(Averaged):
    def launch_complete(self) -> None:
        if len(self.ready) == len(self.trainable()):
            super().launch_complete()


@mini_ddp.mistake()
class OneMessageAParameter(Averaged):
    """A message costs its latency, however small it is: a model with thousands of small parameters pays it
    thousands of times. Fill buckets.
    """

    def groups(self) -> list[Group]:
        return [[param] for param in self.trainable()[::-1]]


@mini_ddp.variant(OneMessageAParameter)
class _(AtTheEnd):
    def groups(self) -> list[Group]:
        return [[param] for param in self.trainable()]


@mini_ddp.variant(OneMessageAParameter)
class _(Averaged):
    def arrived(self, param: nn.Parameter) -> None:
        if self.syncs:
            flat = self.packed([param])
            dist.all_reduce(flat)
            self.unpack([param], flat)


@mini_ddp.variant(OneMessageAParameter)
class _(Averaged):
    def arrived(self, param: nn.Parameter) -> None:
        if self.syncs:
            self.queue()
            self.launch([param])


@mini_ddp.variant(OneMessageAParameter)
class _(Averaged):
    def arrived(self, param: nn.Parameter) -> None:
        dist.all_reduce(param.grad)
        param.grad /= self.world

    def no_sync(self) -> Any:
        return nullcontext()


@mini_ddp.mistake()
class WaitsInTheHook(Averaged):
    """The all-reduce is waited for where it is sent (or sent without async_op=True): backward stands still
    for each bucket, and nothing overlaps.
    """

    def send(self, flat: Tensor) -> Any:
        work = dist.all_reduce(flat, async_op=True)
        work.wait()
        return work


@mini_ddp.variant(WaitsInTheHook)
class _(Averaged):
    def launch(self, bucket: Group) -> None:
        flat = self.packed(bucket)
        dist.all_reduce(flat)
        self.unpack(bucket, flat)


@mini_ddp.mistake()
class LaunchedWhenReady(Averaged):
    """The buckets left (or were filled) as this rank's gradients came. Which one comes first is each rank's
    own affair, but all-reduces meet by their order: they must leave in one order everywhere.
    """

    def launch_complete(self) -> None:
        for bucket in self.buckets:
            if self.ready.issuperset(bucket) and all(bucket is not sent for sent, _, _ in self.flying):
                self.launch(bucket)


@mini_ddp.variant(LaunchedWhenReady)
class _(Averaged):
    def arrived(self, param: nn.Parameter) -> None:
        if not self.syncs:
            return
        self.queue()
        self.count(param)
        self.filling = [*getattr(self, "filling", []), param]
        full = grouped(self.filling, self.bucket_bytes)
        size = sum(p.numel() * p.element_size() for p in full[-1])
        if size >= self.bucket_bytes or len(self.ready) == len(self.trainable()):
            self.launch(self.filling)
            self.filling = []


@mini_ddp.mistake()
class BucketsInForwardOrder(Averaged):
    """Backward ends with the first layer. A first bucket that holds the first layer's parameters is complete
    last, and all others wait for their turn behind it.
    """

    def groups(self) -> list[Group]:
        return grouped(self.trainable(), self.bucket_bytes)


@mini_ddp.mistake()
class BucketBytesCountsNumbers(Averaged):
    """numel() counts numbers. A number has element_size() bytes, so the buckets came out that many times too
    big.
    """

    def groups(self) -> list[Group]:
        params = self.trainable()[::-1]
        return grouped(params, self.bucket_bytes * params[0].element_size())
