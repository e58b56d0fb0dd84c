"""What people write for 07.unused_parameters, and why it is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from helpers.labs.ddp.shared.right import Asking, Averaged, Forgiving, Group, Searching
from helpers.labs.ddp.unused_parameters.exercise import unused_parameters


@unused_parameters.mistake()
class AsBefore(Averaged):
    """A bucket with a parameter that is not used never becomes complete: this rank does not send it, and the
    others wait for it for ever.
    """


@unused_parameters.variant(AsBefore)
class _(Asking):
    pass


@unused_parameters.mistake()
class SkipsWhatIsUnused(Averaged):
    """This rank passed over the buckets that it does not use. All-reduces meet by their number and not by
    name, so its next bucket met another one of the others.
    """

    def launch_complete(self) -> None:
        for bucket in self.buckets:
            if self.ready.issuperset(bucket) and all(bucket is not sent for sent, _, _ in self.flying):
                self.launch(bucket)


@unused_parameters.variant(SkipsWhatIsUnused)
class _(Averaged):
    def finish(self) -> None:
        for bucket in self.buckets[self.launched :]:
            if self.ready.issuperset(bucket):
                self.launch(bucket)
        super().finish()


@unused_parameters.mistake()
class ZerosOutOfTurn(Forgiving):
    """The zeros were sent at the end, after all buckets that had gradients. On ranks that use the parameter
    its bucket went in the middle: the same messages, in another order.
    """

    def launch_complete(self) -> None:
        for bucket in self.buckets:
            if self.ready.issuperset(bucket) and all(bucket is not sent for sent, _, _ in self.flying):
                self.launch(bucket)


@unused_parameters.mistake()
class ZerosOnOneRankOnly(Averaged):
    """The rank that misses a gradient sent an extra all-reduce of zeros for it. Nobody else sends one: to be
    a collective, every rank has to call it.
    """

    def finish(self) -> None:
        absent = [param for param in self.trainable() if param not in self.ready]
        self.ready.update(absent)
        for param in absent:
            self.launched_zeros(param)
        self.launch_complete()
        super().finish()

    def launched_zeros(self, param: nn.Parameter) -> None:
        param.grad = torch.zeros_like(param)
        dist.all_reduce(param.grad)


@unused_parameters.variant(ZerosOnOneRankOnly)
class _(Averaged):
    def send(self, flat: Tensor) -> Any:
        flat *= self.world
        return dist.all_reduce(flat, op=dist.ReduceOp.AVG, async_op=True)

    def finish(self) -> None:
        for param in self.trainable():
            if param not in self.ready:
                param.grad = torch.zeros_like(param)
                dist.all_reduce(param.grad)
                self.count(param)
        self.launch_complete()
        super().finish()


@unused_parameters.mistake()
class only_rank_0_fills_in(Forgiving):
    """Only rank 0 put zeros in the place of what it did not use. It is no coordinator here: whatever rank
    misses a gradient has to do it.
    """

    def missing(self) -> Group:
        return super().missing() if dist.get_rank() == 0 else []


@unused_parameters.mistake()
class FoundOnce(Forgiving):
    """Which parameters are unused was found out in the first step and kept. A branch is taken in one step and
    not in the next.
    """

    def missing(self) -> Group:
        if "first" not in self.__dict__:
            self.__dict__["first"] = super().missing()
        return self.__dict__["first"]


@unused_parameters.variant(FoundOnce)
class _(Forgiving, Asking):
    def missing(self) -> Group:
        if "first" not in self.__dict__:
            self.__dict__["first"] = super().missing()
        return self.__dict__["first"]


@unused_parameters.mistake()
class rank_0_decides(Searching):
    """Rank 0's graph decided for all ranks what is unused. Another rank uses other parameters: its gradients
    were dropped, or waited for without end.
    """

    def absent(self, out: Tensor) -> Group:
        if not out.requires_grad:
            return []
        absent = set(super().absent(out))
        flags = torch.tensor([float(param in absent) for param in self.trainable()])
        dist.broadcast(flags, 0)
        return [param for param, flag in zip(self.trainable(), flags.tolist(), strict=True) if flag]


@unused_parameters.mistake()
class OnlyInTraining(Forgiving):
    """Unused parameters were looked for in training mode only. eval() turns off dropout, not gradients: a
    model with frozen statistics is trained in eval().
    """

    def missing(self) -> Group:
        return super().missing() if self.training else []


@unused_parameters.variant(OnlyInTraining)
class _(Forgiving, Asking):
    def missing(self) -> Group:
        return super().missing() if self.training else []


@unused_parameters.mistake()
class SendsWithoutGradients(Forgiving):
    """A call under no_grad has no graph, so everything looked unused, and zeros were sent for it. Only rank 0
    evaluated: nobody answered.
    """

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        out = super().forward(*args, **kwargs)
        if not out.requires_grad:
            for bucket in self.buckets:
                dist.all_reduce(torch.zeros(sum(p.numel() for p in bucket), dtype=bucket[0].dtype))
        return out


@unused_parameters.mistake()
class SearchesWithoutAGraph(Searching):
    """The search for unused parameters starts at out.grad_fn, which is None in evaluation."""


@unused_parameters.mistake()
class MeanOverUsers(Forgiving):
    """The sum was divided by the number of ranks that used the parameter. The joined batch is divided by all
    of them: a sample that does not use a parameter has the gradient zero.
    """

    def finish(self) -> None:
        users = torch.tensor([float(param in self.ready) for param in self.trainable()])
        super().finish()
        dist.all_reduce(users)
        for param, count in zip(self.trainable(), users.tolist(), strict=True):
            param.grad *= self.world / max(count, 1.0)


@unused_parameters.mistake()
class OnlyUsersGetIt(Forgiving):
    """The mean was brought back only where this rank had a gradient. Every rank makes a step with every
    parameter: without the mean, the weights run apart.
    """

    def finish(self) -> None:
        absent = self.missing()
        super().finish()
        for param in absent:
            param.grad = None


@unused_parameters.variant(OnlyUsersGetIt)
class _(Forgiving):
    def finish(self) -> None:
        absent = self.missing()
        super().finish()
        for param in absent:
            param.grad.zero_()


@unused_parameters.mistake()
class AllAtTheEnd(Forgiving):
    """To be safe, everything is sent when backward is over. The values are right, and the overlap is gone: a
    complete bucket whose turn it is can leave at once.
    """

    def arrived(self, param: nn.Parameter) -> None:
        if self.syncs:
            self.queue()
            self.count(param)


@unused_parameters.mistake()
class SumInsteadOfMean(Forgiving):
    """The buckets carry sums, and nobody divided them by the number of ranks."""

    def packed(self, bucket: Group) -> Tensor:
        return super().packed(bucket) * self.world


@unused_parameters.mistake()
class WrapsTorchDdp(nn.Module):
    """find_unused_parameters=True is what you are to build here."""

    def __init__(self, module: nn.Module, bucket_bytes: int = 25 << 20) -> None:
        super().__init__()
        self.module = nn.parallel.DistributedDataParallel(
            module, bucket_cap_mb=bucket_bytes / 2**20, find_unused_parameters=True
        )

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        with self.module.no_sync():
            yield
