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
    """Each gradient is the sum over the ranks, too big by their number. Perhaps the division is missing: all_reduce sums
    by default.
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
    """After construction a trainable parameter is not rank 0's, and the buffers are. Perhaps only buffers are sent: equal
    gradients keep equal ranks equal; they do not make them equal.
    """

    def shared(self) -> list[Tensor]:
        return list(self.module.buffers())


@mini_ddp.mistake(
    breaks="At construction the parameters (frozen ones, too) and the buffers get rank 0's values, in place: the Parameter objects stay."
)
class NothingBroadcast(Averaged):
    """After construction neither the parameters nor the buffers of all ranks are rank 0's. Perhaps nothing is sent, or what
    came is not written into them: every rank then goes on with what it happened to start with.
    """

    def share(self) -> None:
        pass


@mini_ddp.mistake(
    breaks="At construction the parameters (frozen ones, too) and the buffers get rank 0's values, in place: the Parameter objects stay."
)
class BuffersNotBroadcast(Averaged):
    """After construction the buffers are not rank 0's, and the parameters are. Perhaps only parameters are sent: running
    statistics and masks are buffers, and no gradient ever brings them together.
    """

    def shared(self) -> list[Tensor]:
        return list(self.module.parameters())


@mini_ddp.mistake(
    breaks="At construction the parameters (frozen ones, too) and the buffers get rank 0's values, in place: the Parameter objects stay."
)
class FrozenNotBroadcast(Averaged):
    """A frozen parameter is not rank 0's after construction. Perhaps only trainable ones are sent: the others get no
    gradient, but every rank computes with them.
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
    """After backward param.grad is still this rank's own gradient, of all parameters or of several. Perhaps the mean stays
    in the bucket: torch.cat makes a new tensor, all_reduce changes that one, and param.grad is never told.
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


@mini_ddp.variant(NotCopiedBack)
class _(Averaged):
    def groups(self) -> list[Group]:
        """A bucket is closed before it would hold more: often it is of one gradient, a view of which comes out right."""
        groups: list[Group] = []
        for param in self.trainable()[::-1]:
            fits = groups and size_of([*groups[-1], param]) <= self.bucket_bytes
            if not fits or groups[-1][0].dtype != param.dtype:
                groups.append([])
            groups[-1].append(param)
        return groups

    def packed(self, bucket: Group) -> Tensor:
        flat = torch._utils._flatten_dense_tensors([param.grad for param in bucket])
        return flat.div_(self.world)

    def unpack(self, bucket: Group, flat: Tensor) -> None:
        pass


@mini_ddp.mistake(breaks="When `backward()` returns, each `param.grad` is the mean over the ranks")
class NeverWaits(Averaged):
    """On every rank param.grad is its own gradient divided by the number of ranks: what the others have is missing. Perhaps
    nobody waits: async_op=True returns before the numbers are there, and until wait() has returned they may be half-way.
    """

    def finish(self) -> None:
        for bucket, flat, _work in self.flying:
            self.unpack(bucket, flat)
        self.begin()


@mini_ddp.mistake(breaks="When `backward()` returns, each `param.grad` is the mean over the ranks")
class WaitsForTheLastOnly(Averaged):
    """The gradients of the last bucket are the mean, and those of the bucket before it are each rank's own, divided by the
    number of ranks. Perhaps one variable holds the request, and each launch overwrites it: each request has its own wait.
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
    """The gradient of the first parameter stays each rank's own. Perhaps the last bucket is never closed, and so not sent,
    since it never becomes full.
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
    """After backward the gradient of one parameter of a bucket is zero on a rank. Perhaps the bucket left when not all its
    gradients were there: it has to leave with the last one.
    """

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
    """A call with more than one argument fails. Perhaps forward knows one: a wrapper does not know the module's signature,
    so it takes *args and **kwargs.
    """

    def forward(self, x: Tensor) -> Any:
        return self.module(x)


@mini_ddp.variant(ArgumentsLost)
class _(Averaged):
    def forward(self, *args: Any) -> Any:
        return self.module(*args)


@mini_ddp.variant(ArgumentsLost)
class _(Averaged):
    def forward(self, x: Tensor, **kwargs: Any) -> Any:
        return self.module(x, **kwargs)


@mini_ddp.mistake(breaks="Hands all arguments to the module, and returns what it returns.")
class KeywordsLost(Averaged):
    """A keyword of the call does not reach the module, which goes on with its default. Perhaps forward takes **kwargs and
    hands on *args alone.
    """

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args)


@mini_ddp.mistake(breaks="Hands all arguments to the module, and returns what it returns.")
class FirstPartReturned(Averaged):
    """Where the module returns several things, the call returns the first of them alone. Perhaps forward unpacks what it
    gets, to have a tensor: hand on what the module returns, whatever it is.
    """

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        out = super().forward(*args, **kwargs)
        return out[0] if isinstance(out, (tuple, list)) else out


@mini_ddp.variant(FirstPartReturned)
class _(Averaged):
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        out = super().forward(*args, **kwargs)
        return next(iter(out.values())) if isinstance(out, dict) else out


@mini_ddp.variant(FirstPartReturned)
class _(Averaged):
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        out = super().forward(*args, **kwargs)
        return out[0] if isinstance(out, list) else out


@mini_ddp.mistake(
    breaks="The trainable parameters are put into buckets, the last one of `module.parameters()` first."
)
class FrozenInTheBuckets(Averaged):
    """With a frozen parameter the gradients of the others stay each rank's own. Perhaps a bucket waits for the frozen one,
    which never gets a gradient, and the buckets after it wait for their turn.
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
