"""What people write for 07.mini_ddp: right gradients, but the messages are too many, too late or in a chance order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch.distributed as dist
from torch import Tensor, nn

from helpers.labs.ddp.mini_ddp.exercise import mini_ddp
from helpers.labs.ddp.shared.right import Averaged, Group, grouped, size_of


@mini_ddp.mistake(breaks="torch's DistributedDataParallel is not called.")
class WrapsTorchDdp(nn.Module):
    """torch's DistributedDataParallel works inside. It shows nothing: the hooks, the buckets and the order
    are what this exercise is about.
    """

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


@mini_ddp.mistake(breaks="Backward calls one asynchronous all-reduce a bucket.")
class OneAllReduceAtTheEnd(AtTheEnd):
    """All gradients of a small model go in one message, although bucket_bytes is smaller: it can leave only when the last
    of them is there, so nothing overlaps. Perhaps bucket_bytes is not looked at, or there is only one bucket.
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


@mini_ddp.mistake(
    breaks="A bucket is launched in the hook of its last gradient, once all buckets before it are launched"
)
class BucketsAtTheEnd(AtTheEnd):
    """The buckets are right, but none is sent before the last gradient is there. Send a bucket in the hook that completes
    it.
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


@mini_ddp.mistake(breaks="Backward calls one asynchronous all-reduce a bucket.")
class OneMessageAParameter(Averaged):
    """Each parameter has a message of its own. A message costs its latency, however small it is: a model with
    thousands of small parameters pays it thousands of times. Fill buckets.
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


@mini_ddp.mistake(breaks="Nobody waits before the last gradient is there.")
class WaitsInTheHook(Averaged):
    """An all-reduce is waited for before the last gradient is there: meanwhile backward stands still. Perhaps it is waited
    for where it is sent, or sent without async_op=True.
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


@mini_ddp.mistake(breaks="in the order of the buckets on every rank, whatever order the gradients come in.")
class LaunchedWhenReady(Averaged):
    """Where the ranks compute their layers in different orders, gradients of different weights are mixed. Perhaps the buckets
    leave (or are filled) as this rank's gradients come: all-reduces meet by their order, so it must be one order everywhere.
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


@mini_ddp.mistake(
    breaks="The trainable parameters are put into buckets, the last one of `module.parameters()` first."
)
class BucketsInForwardOrder(Averaged):
    """The first bucket holds the first layer's parameters. Backward ends with that layer: the bucket is
    complete last, and all others wait for their turn behind it.
    """

    def groups(self) -> list[Group]:
        return grouped(self.trainable(), self.bucket_bytes)


@mini_ddp.mistake(breaks="it is full when it holds so much or more")
class BucketBytesCountsNumbers(Averaged):
    """The buckets are as big as if bucket_bytes counted numbers. Perhaps they are measured with numel(): a number has
    element_size() bytes.
    """

    def groups(self) -> list[Group]:
        params = self.trainable()[::-1]
        return grouped(params, self.bucket_bytes * params[0].element_size())


@mini_ddp.mistake(breaks="it is full when it holds so much or more")
class FullTakesOneMore(Averaged):
    """A bucket that holds exactly bucket_bytes takes one parameter more. Perhaps its size is compared with `>`: it is full
    when it holds so much or more.
    """

    def groups(self) -> list[Group]:
        return grouped(self.trainable()[::-1], self.bucket_bytes + 1)


@mini_ddp.mistake(
    breaks="A bucket is launched in the hook of its last gradient, once all buckets before it are launched"
)
class OneBucketLate(Averaged):
    """A bucket that is complete, and whose turn it is, leaves only with a later gradient. Perhaps the hook looks at the
    buckets before it counts its own gradient.
    """

    def arrived(self, param: nn.Parameter) -> None:
        if self.syncs:
            self.queue()
            self.launch_complete()
            self.count(param)

    def finish(self) -> None:
        self.launch_complete()
        super().finish()


@mini_ddp.mistake(breaks="One bucket, one dtype.")
class DtypesInOneBucket(Averaged):
    """Numbers of float32 travel as float64, or the other way round: more bytes than needed, or fewer digits. Perhaps
    torch.cat brought a bucket with two dtypes to one: begin a new bucket where the dtype changes.
    """

    def groups(self) -> list[Group]:
        found: list[Group] = [[]]
        for param in self.trainable()[::-1]:
            if found[-1] and size_of(found[-1]) >= self.bucket_bytes:
                found.append([])
            found[-1].append(param)
        return found


@mini_ddp.mistake(breaks="Buffers are not sent again.")
class BuffersSentInForward(Averaged):
    """A rank's buffer holds rank 0's numbers again after a step. Perhaps buffers are broadcast in each forward, as torch's
    DDP does unless it is told broadcast_buffers=False; here they are sent once.
    """

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        for buffer in self.module.buffers():
            dist.broadcast(buffer, 0)
        return super().forward(*args, **kwargs)


@mini_ddp.mistake(breaks="A parameter under two names is one.")
class TiedTwice(Averaged):
    """A parameter under two names is exchanged twice. Perhaps the buckets are filled from `_parameters` of each module, or
    with remove_duplicate=False: `module.parameters()` gives it once.
    """

    def trainable(self) -> Group:
        named = self.module.named_parameters(remove_duplicate=False)
        return [param for _, param in named if param.requires_grad]

    def attach(self) -> None:
        for param in dict.fromkeys(self.trainable()):
            param.register_post_accumulate_grad_hook(self.arrived)
