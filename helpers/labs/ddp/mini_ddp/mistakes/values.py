"""What people write for 07.mini_ddp: gradients that are not the mean, values that ranks do not share."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from helpers.labs.ddp.mini_ddp.exercise import mini_ddp
from helpers.labs.ddp.shared.right import Averaged, Group, grouped, size_of


@mini_ddp.mistake()
class SumInsteadOfMean(Averaged):
    """all_reduce sums by default. Without the division the gradient, and with it the learning rate, is world
    size times too big.
    """

    def packed(self, bucket: Group) -> Tensor:
        return super().packed(bucket) * self.world


@mini_ddp.mistake()
class DividedTwice(Averaged):
    """The gradients were divided on the way in, and once more on the way out (or ReduceOp.AVG did it
    already).
    """

    def send(self, flat: Tensor) -> Any:
        return dist.all_reduce(flat, op=dist.ReduceOp.AVG, async_op=True)


@mini_ddp.mistake()
class ParametersNotBroadcast(Averaged):
    """Equal gradients keep equal ranks equal; they do not make them equal. Rank 0's values must be sent once,
    at construction.
    """

    def shared(self) -> list[Tensor]:
        return list(self.module.buffers())


@mini_ddp.mistake()
class NothingBroadcast(Averaged):
    """Neither parameters nor buffers were sent: every rank goes on with what it happened to start with."""

    def share(self) -> None:
        pass


@mini_ddp.mistake()
class BuffersNotBroadcast(Averaged):
    """Parameters are not all that a module computes with: running statistics and masks are buffers, and no
    gradient ever brings them together.
    """

    def shared(self) -> list[Tensor]:
        return list(self.module.parameters())


@mini_ddp.mistake()
class FrozenNotBroadcast(Averaged):
    """The frozen parameters were left out of the broadcast, too. They get no gradient, but every rank
    computes with them.
    """

    def shared(self) -> list[Tensor]:
        return [*self.trainable(), *self.module.buffers()]


@mini_ddp.variant(BuffersNotBroadcast)
class _(Averaged):
    def shared(self) -> list[Tensor]:
        return self.trainable()


@mini_ddp.mistake()
class MeanOfStartValues(Averaged):
    """Averaging the start values of all ranks makes them equal, but to nothing that anybody initialised: the
    mean of three random starts is a third of the spread, and a loaded checkpoint of rank 0 is lost.
    """

    def share(self) -> None:
        for tensor in self.shared():
            total = tensor.detach().to(torch.float64)
            dist.all_reduce(total)
            tensor.detach().copy_(total / self.world)


@mini_ddp.mistake()
class ParametersReplaced(Averaged):
    """setattr with a new Parameter leaves the old one to whoever holds it already, an optimizer say. Copy the
    numbers into the parameter that is there.
    """

    def share(self) -> None:
        for owner in self.module.modules():
            for name, param in list(owner.named_parameters(recurse=False)):
                value = param.detach().clone()
                dist.broadcast(value, 0)
                setattr(owner, name, nn.Parameter(value, requires_grad=param.requires_grad))
            for _, buffer in owner.named_buffers(recurse=False):
                dist.broadcast(buffer, 0)


@mini_ddp.mistake()
class NotCopiedBack(Averaged):
    """torch.cat makes a new tensor. all_reduce changed that one; param.grad was never told."""

    def unpack(self, bucket: Group, flat: Tensor) -> None:
        pass


@mini_ddp.variant(NotCopiedBack)
class _(Averaged):
    def packed(self, bucket: Group) -> Tensor:
        """Of one gradient alone this is a view, and then it comes out right."""
        flat = torch._utils._flatten_dense_tensors([param.grad for param in bucket])
        return flat.div_(self.world)

    def unpack(self, bucket: Group, flat: Tensor) -> None:
        pass


@mini_ddp.mistake()
class NeverWaits(Averaged):
    """async_op=True returns before the numbers are there. Until wait() has returned, the bucket holds what
    this rank put in, or something half-way.
    """

    def finish(self) -> None:
        for bucket, flat, _work in self.flying:
            self.unpack(bucket, flat)
        self.begin()


@mini_ddp.mistake()
class WaitsForTheLastOnly(Averaged):
    """One variable held the request, and each launch overwrote it: at the end only the last bucket was waited
    for. Each request has its own wait.
    """

    def finish(self) -> None:
        if self.flying:
            self.flying[-1][2].wait()
        for bucket, flat, _work in self.flying:
            self.unpack(bucket, flat)
        self.begin()


@mini_ddp.mistake()
class OnlyRankZeroGetsIt(Averaged):
    """dist.reduce leaves the result on one rank. Every rank makes its own optimizer step, so every rank needs
    it.
    """

    def send(self, flat: Tensor) -> Any:
        return dist.reduce(flat, 0, async_op=True)


@mini_ddp.mistake()
class LastBucketLost(Averaged):
    """The last bucket never becomes full, and what is not full was never closed: the first parameters of the
    module stand in no bucket.
    """

    def groups(self) -> list[Group]:
        *groups, _ = super().groups()
        return groups


@mini_ddp.variant(LastBucketLost)
class _(Averaged):
    def groups(self) -> list[Group]:
        return [group for group in super().groups() if size_of(group) >= self.bucket_bytes]


@mini_ddp.mistake()
class LaunchedWithFirstGradient(Averaged):
    """The bucket left when its first gradient came. It has to leave with the last one."""

    def launch_complete(self) -> None:
        while self.launched < len(self.buckets) and not self.ready.isdisjoint(self.buckets[self.launched]):
            self.launch(self.buckets[self.launched])
            self.launched += 1

    def packed(self, bucket: Group) -> Tensor:
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        return torch.cat([grad.flatten() for grad in grads]) / self.world

    def unpack(self, bucket: Group, flat: Tensor) -> None:
        parts = flat.split([param.numel() for param in bucket])
        for param, part in zip(bucket, parts, strict=True):
            param.grad = part.view_as(param).clone()


@mini_ddp.mistake()
class ArgumentsLost(Averaged):
    """forward(self, x) knows one argument. A wrapper does not know the module's signature: *args and
    **kwargs.
    """

    def forward(self, x: Tensor) -> Any:
        return self.module(x)


@mini_ddp.mistake()
class FrozenInTheBuckets(Averaged):
    """A frozen parameter never gets a gradient. A bucket that waits for one is never sent."""

    def groups(self) -> list[Group]:
        return grouped(list(self.module.parameters())[::-1], self.bucket_bytes)
