"""What people write for 07.mini_ddp: gradients that are not the mean, values that ranks do not share."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from helpers.labs.ddp.mini_ddp.exercise import mini_ddp
from helpers.labs.ddp.shared.right import Averaged, Group, grouped, size_of


@mini_ddp.mistake(breaks="When `backward()` returns, each `param.grad` is the mean over the ranks")
class SumInsteadOfMean(Averaged):
    """The gradient, and with it the learning rate, is too big by the number of ranks: all_reduce sums by
    default. Perhaps the division is missing.
    """

    def packed(self, bucket: Group) -> Tensor:
        return super().packed(bucket) * self.world


@mini_ddp.mistake(breaks="When `backward()` returns, each `param.grad` is the mean over the ranks")
class DividedTwice(Averaged):
    """The mean is divided by the number of ranks once more. Perhaps it is divided on the way in and on the
    way out, or ReduceOp.AVG did it already.
    """

    def send(self, flat: Tensor) -> Any:
        return dist.all_reduce(flat, op=dist.ReduceOp.AVG, async_op=True)


@mini_ddp.mistake(
    breaks="At construction the parameters (frozen ones, too) and the buffers get rank 0's values, in place: the Parameter objects stay."
)
class ParametersNotBroadcast(Averaged):
    """Equal gradients keep equal ranks equal; they do not make them equal. Rank 0's values must be sent once,
    at construction.
    """

    def shared(self) -> list[Tensor]:
        return list(self.module.buffers())


@mini_ddp.mistake(
    breaks="At construction the parameters (frozen ones, too) and the buffers get rank 0's values, in place: the Parameter objects stay."
)
class NothingBroadcast(Averaged):
    """Neither parameters nor buffers were sent: every rank goes on with what it happened to start with."""

    def share(self) -> None:
        pass


@mini_ddp.mistake(
    breaks="At construction the parameters (frozen ones, too) and the buffers get rank 0's values, in place: the Parameter objects stay."
)
class BuffersNotBroadcast(Averaged):
    """Parameters are not all that a module computes with: running statistics and masks are buffers, and no
    gradient ever brings them together.
    """

    def shared(self) -> list[Tensor]:
        return list(self.module.parameters())


@mini_ddp.mistake(
    breaks="At construction the parameters (frozen ones, too) and the buffers get rank 0's values, in place: the Parameter objects stay."
)
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


@mini_ddp.mistake(
    breaks="At construction the parameters (frozen ones, too) and the buffers get rank 0's values, in place: the Parameter objects stay."
)
class MeanOfStartValues(Averaged):
    """The ranks hold equal values, and rank 0 has not kept its own. Perhaps the mean over the ranks was taken, or the values
    of a different rank: a checkpoint that rank 0 has loaded is lost.
    """

    def share(self) -> None:
        for tensor in self.shared():
            averaged(tensor)


def averaged(tensor: Tensor) -> None:
    total = tensor.detach().to(torch.float64)
    dist.all_reduce(total)
    tensor.detach().copy_(total / dist.get_world_size())


@mini_ddp.variant(MeanOfStartValues)
class _(Averaged):
    def share(self) -> None:
        for param in self.module.parameters():
            averaged(param)
        for buffer in self.module.buffers():
            dist.broadcast(buffer, 0)


@mini_ddp.mistake(
    breaks="At construction the parameters (frozen ones, too) and the buffers get rank 0's values, in place: the Parameter objects stay."
)
class ParametersReplaced(Averaged):
    """A new Parameter object stands in the place of the old one. Perhaps setattr has put it there: the old
    one stays with whoever holds it already, an optimizer say. Copy the numbers into the parameter that is
    there.
    """

    def share(self) -> None:
        for owner in self.module.modules():
            for name, param in list(owner.named_parameters(recurse=False)):
                value = param.detach().clone()
                dist.broadcast(value, 0)
                setattr(owner, name, nn.Parameter(value, requires_grad=param.requires_grad))
            for _, buffer in owner.named_buffers(recurse=False):
                dist.broadcast(buffer, 0)


@mini_ddp.mistake(breaks="When `backward()` returns, each `param.grad` is the mean over the ranks")
class NotCopiedBack(Averaged):
    """param.grad is still this rank's own gradient. Perhaps the mean stays in the bucket: torch.cat makes a
    new tensor, all_reduce changes that one, and param.grad is never told.
    """

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


@mini_ddp.mistake(breaks="When `backward()` returns, each `param.grad` is the mean over the ranks")
class NeverWaits(Averaged):
    """param.grad holds what this rank put into the bucket. Perhaps nobody waits: async_op=True returns before
    the numbers are there, and until wait() has returned they may be half-way.
    """

    def finish(self) -> None:
        for bucket, flat, _work in self.flying:
            self.unpack(bucket, flat)
        self.begin()


@mini_ddp.mistake(breaks="When `backward()` returns, each `param.grad` is the mean over the ranks")
class WaitsForTheLastOnly(Averaged):
    """Some buckets hold what this rank put in, and the last one the mean. Perhaps one variable holds the
    request, and each launch overwrites it: each request has its own wait.
    """

    def finish(self) -> None:
        if self.flying:
            self.flying[-1][2].wait()
        for bucket, flat, _work in self.flying:
            self.unpack(bucket, flat)
        self.begin()


@mini_ddp.mistake(breaks="When `backward()` returns, each `param.grad` is the mean over the ranks")
class OnlyRankZeroGetsIt(Averaged):
    """Rank 0 has the mean, and no other rank. Perhaps dist.reduce was called, which leaves the result on one
    rank: every rank makes its own optimizer step, so every rank needs it.
    """

    def send(self, flat: Tensor) -> Any:
        return dist.reduce(flat, 0, async_op=True)


@mini_ddp.mistake(
    breaks="The trainable parameters are put into buckets, the last one of `module.parameters()` first."
)
class LastBucketLost(Averaged):
    """The gradient of the first parameter is not exchanged. Perhaps the last bucket is never closed, since it
    never becomes full.
    """

    def groups(self) -> list[Group]:
        *groups, _ = super().groups()
        return groups


@mini_ddp.variant(LastBucketLost)
class _(Averaged):
    def groups(self) -> list[Group]:
        return [group for group in super().groups() if size_of(group) >= self.bucket_bytes]


@mini_ddp.mistake(
    breaks="A bucket is launched in the hook of its last gradient, once all buckets before it are launched"
)
class LaunchedWithFirstGradient(Averaged):
    """A bucket left when not all its gradients were there: some are zero. It has to leave with the last one."""

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


@mini_ddp.mistake(breaks="Hands all arguments to the module, and returns what it returns.")
class ArgumentsLost(Averaged):
    """A call with a keyword fails. Perhaps forward knows one argument: a wrapper does not know the module's
    signature, so it takes *args and **kwargs.
    """

    def forward(self, x: Tensor) -> Any:
        return self.module(x)


@mini_ddp.mistake(breaks="Hands all arguments to the module, and returns what it returns.")
class KeywordsLost(Averaged):
    """A keyword of the call does not reach the module, which goes on with its default. Perhaps forward takes **kwargs and
    hands on *args alone.
    """

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args)


@mini_ddp.mistake(
    breaks="The trainable parameters are put into buckets, the last one of `module.parameters()` first."
)
class FrozenInTheBuckets(Averaged):
    """With a frozen parameter a bucket is not sent. Perhaps it waits for the frozen one, which never gets a
    gradient.
    """

    def groups(self) -> list[Group]:
        return grouped(list(self.module.parameters())[::-1], self.bucket_bytes)


@mini_ddp.mistake(
    breaks="The trainable parameters are put into buckets, the last one of `module.parameters()` first."
)
class FrozenNumbersSent(FrozenInTheBuckets):
    """More numbers are sent than the trainable parameters have. Perhaps a frozen parameter has its place in a bucket: its
    gradient never comes, and what waits for it leaves at the end of backward.
    """

    def packed(self, bucket: Group) -> Tensor:
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        return torch.cat([grad.flatten() for grad in grads]) / self.world

    def unpack(self, bucket: Group, flat: Tensor) -> None:
        parts = flat.split([param.numel() for param in bucket])
        for param, part in zip(bucket, parts, strict=True):
            if param.grad is not None:
                param.grad.copy_(part.view_as(param))

    def finish(self) -> None:
        for bucket in self.buckets[self.launched :]:
            self.launch(bucket)
        super().finish()
