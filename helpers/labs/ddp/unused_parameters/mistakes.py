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


@unused_parameters.mistake(
    breaks="A trainable parameter without a gradient in this backward counts as ready, with the gradient zero."
)
class AsBefore(Averaged):
    """The rank that does not use a parameter sends nothing from that parameter's bucket on, and the others
    wait for it for ever. Perhaps the bucket never becomes complete there.
    """


@unused_parameters.variant(AsBefore)
class _(Asking):
    pass


@unused_parameters.mistake(breaks="Every rank sends every bucket, in the order of the buckets.")
class SkipsWhatIsUnused(Averaged):
    """A rank passed over the bucket that it does not use. All-reduces meet by their number and not by name,
    so its next bucket met a different one of the others.
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


@unused_parameters.mistake(breaks="Every rank sends every bucket, in the order of the buckets.")
class ZerosOutOfTurn(Forgiving):
    """The zeros were sent at the end, after all buckets that had gradients. On ranks that use the parameter
    its bucket went in the middle: the same messages, in a different order.
    """

    def launch_complete(self) -> None:
        for bucket in self.buckets:
            if self.ready.issuperset(bucket) and all(bucket is not sent for sent, _, _ in self.flying):
                self.launch(bucket)


@unused_parameters.mistake(breaks="Every rank sends every bucket, in the order of the buckets.")
class ZerosOnOneRankOnly(Averaged):
    """The rank that misses a gradient sent an extra all-reduce for it. Nobody else sends one: to be a
    collective, every rank has to call it.
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


@unused_parameters.mistake(
    breaks="A trainable parameter without a gradient in this backward counts as ready, with the gradient zero."
)
class only_rank_0_fills_in(Forgiving):
    """Where rank 0 does not use a parameter all is well, and where a different rank does not use one it sends
    nothing for it. Perhaps only rank 0 puts zeros in its place: whatever rank misses a gradient has to do it.
    """

    def missing(self) -> Group:
        return super().missing() if dist.get_rank() == 0 else []


@unused_parameters.mistake(
    breaks="MiniDDP for modules of which a rank uses a part (one parameter or more), a different one in each step."
)
class FoundOnce(Forgiving):
    """In a later step a rank does not send a bucket, or sends it before all its gradients are there. Perhaps what is unused
    was found out in the first step and kept, or only a `.grad` that is None counts as unused: it may hold zeros, or the
    numbers of the step before.
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


@unused_parameters.mistake(
    breaks="After backward each `param.grad` is the mean over ALL ranks, also where this rank did not use it"
)
class rank_0_decides(Searching):
    """What rank 0 does not use was not exchanged, although the others have gradients for it. Perhaps rank 0's
    graph decides for all ranks what is unused.
    """

    def absent(self, out: Tensor) -> Group:
        if not out.requires_grad:
            return []
        absent = set(super().absent(out))
        flags = torch.tensor([float(param in absent) for param in self.trainable()])
        dist.broadcast(flags, 0)
        return [param for param, flag in zip(self.trainable(), flags.tolist(), strict=True) if flag]


@unused_parameters.mistake(breaks="train() and eval() make no difference.")
class OnlyInTraining(Forgiving):
    """In eval() a rank that does not use a parameter holds its bucket back, as if it were MiniDDP. Perhaps
    unused parameters are looked for in training mode only. eval() turns off dropout, not gradients: a model
    with frozen statistics is trained in eval().
    """

    def missing(self) -> Group:
        return super().missing() if self.training else []


@unused_parameters.variant(OnlyInTraining)
class _(Forgiving, Asking):
    def missing(self) -> Group:
        return super().missing() if self.training else []


@unused_parameters.mistake(breaks="A call under no_grad sends nothing: rank 0 may evaluate alone.")
class SendsWithoutGradients(Forgiving):
    """Rank 0 evaluated alone, under no_grad, and called a collective, to which the others do not come. Perhaps forward sends
    buffers, as torch's DDP does, or waits in a barrier; or all looked unused, since there is no graph, and zeros were sent.
    """

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        out = super().forward(*args, **kwargs)
        if not out.requires_grad:
            for bucket in self.buckets:
                dist.all_reduce(torch.zeros(sum(p.numel() for p in bucket), dtype=bucket[0].dtype))
        return out


@unused_parameters.mistake(breaks="A call under no_grad sends nothing: rank 0 may evaluate alone.")
class SearchesWithoutAGraph(Searching):
    """The search for unused parameters starts at out.grad_fn, which is None in evaluation."""


@unused_parameters.mistake(
    breaks="After backward each `param.grad` is the mean over ALL ranks, also where this rank did not use it"
)
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


@unused_parameters.mistake(
    breaks="After backward each `param.grad` is the mean over ALL ranks, also where this rank did not use it"
)
class OnlyUsersGetIt(Forgiving):
    """A rank that did not use a parameter does not hold its mean. Every rank makes a step with every
    parameter: without the mean, the weights run apart. Perhaps the mean is brought back only where this rank
    had a gradient.
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


@unused_parameters.mistake(breaks="Where everything is used, buckets leave as early as in MiniDDP.")
class AllAtTheEnd(Forgiving):
    """Too little is sent before the last gradient is there, also where everything is used. Perhaps, to be
    safe, all is sent when backward is over: a complete bucket whose turn it is can leave at once.
    """

    def arrived(self, param: nn.Parameter) -> None:
        if self.syncs:
            self.queue()
            self.count(param)


@unused_parameters.mistake(
    breaks="After backward each `param.grad` is the mean over ALL ranks, also where this rank did not use it"
)
class SumInsteadOfMean(Forgiving):
    """The buckets carry sums, and nobody divided them by the number of ranks."""

    def packed(self, bucket: Group) -> Tensor:
        return super().packed(bucket) * self.world


@unused_parameters.mistake(breaks="torch's DistributedDataParallel is not called.")
class WrapsTorchDdp(nn.Module):
    """torch's DistributedDataParallel works inside. find_unused_parameters=True is what you are to build
    here.
    """

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


@unused_parameters.mistake(
    breaks="After backward each `param.grad` is the mean over ALL ranks, also where this rank did not use it"
)
class OnlyOneIsFilledIn(Forgiving):
    """With one parameter that is not used all is well, and with two of them gradients are missing. Perhaps only the first
    one found is filled in: go through all that are not ready.
    """

    def missing(self) -> Group:
        return super().missing()[:1]


@unused_parameters.mistake(
    breaks="What an earlier batch left in `param.grad` (in no_sync, say) is exchanged all the same."
)
class ZerosOverTheRest(Forgiving):
    """What no_sync had added up in a parameter is gone where a rank does not use it in the next batch. Perhaps each unused
    parameter gets new zeros, also one whose `.grad` holds something: only a None becomes zeros.
    """

    def fill(self, param: nn.Parameter) -> None:
        param.grad = torch.zeros_like(param)


@unused_parameters.mistake(
    breaks="What an earlier batch left in `param.grad` (in no_sync, say) is exchanged all the same."
)
class ZerosSentAndRestKept(Forgiving):
    """What no_sync had added up in a parameter stays on its rank, if the rank does not use it in the next batch: the ranks
    hold different gradients. Perhaps zeros are sent for it, and its own `.grad` is left out.
    """

    def finish(self) -> None:
        self.__dict__["kept"] = {p: p.grad for p in self.missing() if p.grad is not None}
        super().finish()

    def fill(self, param: nn.Parameter) -> None:
        param.grad = torch.zeros_like(param)

    def unpack(self, bucket: Group, flat: Tensor) -> None:
        super().unpack(bucket, flat)
        for param in bucket:
            if param in self.kept:
                param.grad += self.kept[param]


@unused_parameters.variant(SendsWithoutGradients)
class _(Forgiving):
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        out = super().forward(*args, **kwargs)
        if self.training:  # which parameters are used, exchanged in forward
            dist.all_reduce(torch.zeros(len(self.trainable())))
        return out


@unused_parameters.variant(SkipsWhatIsUnused)
class _(Averaged):
    # Held back in the order of the buckets, and sent from the last to the first.
    def finish(self) -> None:
        held = [bucket for bucket in self.buckets[self.launched :] if self.ready.issuperset(bucket)]
        for bucket in reversed(held):
            self.launch(bucket)
        super().finish()


@unused_parameters.mistake(breaks="Every rank sends every bucket, in the order of the buckets.")
class HeldBackSentInReverse(Forgiving):
    """The buckets that were held back were sent in a different order than that of the buckets. On ranks that use everything
    they went in their order.
    """

    def finish(self) -> None:
        for param in self.missing():
            self.fill(param)
            self.count(param)
        for bucket in reversed(self.buckets[self.launched :]):
            self.launch(bucket)
        Averaged.finish(self)


@unused_parameters.variant(SendsWithoutGradients)
class _(Forgiving):
    # As torch's DDP does unless it is told broadcast_buffers=False.
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        for buffer in self.module.buffers():
            dist.broadcast(buffer, 0)
        return super().forward(*args, **kwargs)


@unused_parameters.mistake(
    breaks="A trainable parameter without a gradient in this backward counts as ready, with the gradient zero."
)
class FrozenNumbersSent(Forgiving):
    """More numbers are sent than the trainable parameters have. Perhaps a frozen parameter counts as one that is not used,
    and zeros are sent for it.
    """

    def finish(self) -> None:
        super().finish()
        for param in self.module.parameters():
            if not param.requires_grad:
                dist.all_reduce(torch.zeros_like(param))


@unused_parameters.mistake(
    breaks="A trainable parameter without a gradient in this backward counts as ready, with the gradient zero."
)
class LastStepSentAgain(Forgiving):
    """The first step is right. In the next a rank that does not use a parameter sends what the step before left in the
    bucket. Perhaps the parameter is only marked as ready, and nothing is written into its place: zeros belong there.
    """

    def fill(self, param: nn.Parameter) -> None:
        super().fill(param)
        if not bool(param.grad.any()) and param in self.__dict__.get("left", {}):
            param.grad = self.left[param].clone()

    def unpack(self, bucket: Group, flat: Tensor) -> None:
        super().unpack(bucket, flat)
        self.__dict__.setdefault("left", {}).update({param: param.grad.clone() for param in bucket})


@unused_parameters.mistake(breaks="train() and eval() make no difference.")
class NothingSentInEval(Forgiving):
    """After a backward in eval() each rank holds its own gradient: nothing was exchanged. Perhaps the hooks return where
    self.training is False. eval() turns off dropout, not the training of a model with frozen statistics.
    """

    def arrived(self, param: nn.Parameter) -> None:
        if self.training:
            super().arrived(param)


@unused_parameters.mistake(
    breaks="After backward each `param.grad` is the mean over ALL ranks, also where this rank did not use it"
)
class ZeroByDivision(Averaged):
    """The gradients of a parameter that is zero are NaN. Perhaps a zero is made of each parameter, so that all are used, and
    made by a division: `0 / p.sum()` is NaN where the sum is zero, and biases start so. `0 * p.sum()` is zero of all numbers.
    """

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        out = super().forward(*args, **kwargs)
        return out + sum(self.nothing(p) for p in self.trainable()) if torch.is_grad_enabled() else out

    def nothing(self, param: Tensor) -> Tensor:
        return 0.0 / param.sum()


@unused_parameters.variant(ZeroByDivision)
class _(ZeroByDivision):
    def nothing(self, param: Tensor) -> Tensor:
        return 0.0 * (param / param.abs().max()).sum()


@unused_parameters.mistake(
    breaks="MiniDDP for modules of which a rank uses a part (one parameter or more), a different one in each step."
)
class WalksEveryPath(Searching):
    """In a deep module a step does not come to its end. Perhaps the graph is searched for what is unused, and a node that two
    ways lead to is looked at twice, with all behind it: after thirty residual layers that is a billion times. Keep a set of
    the nodes that were seen.
    """

    def absent(self, out: Tensor) -> Group:
        used, stack = set(), [out.grad_fn]
        while stack:
            if (node := stack.pop()) is not None:
                used.add(getattr(node, "variable", None))
                stack += [after for after, _ in node.next_functions]
        return [param for param in self.trainable() if param not in used]


@unused_parameters.variant(WalksEveryPath)
class _(Searching):
    def absent(self, out: Tensor) -> Group:
        used: set[Any] = set()

        def walk(node: Any) -> None:
            if node is not None:
                used.add(getattr(node, "variable", None))
                for after, _ in node.next_functions:
                    walk(after)

        walk(out.grad_fn)
        return [param for param in self.trainable() if param not in used]
