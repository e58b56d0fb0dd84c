"""What people write for 07.unused_parameters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from helpers.labs.ddp.mini_ddp_right import Asking, Averaged, Forgiving, Group, Searching
from helpers.labs.ddp.unused_parameters import unused_parameters


@unused_parameters.wrong_answer(
    "as_before",
    why="A bucket with a parameter that is not used never becomes complete: this rank does not send it, and the others "
    "wait for it for ever.",
    seen="never becomes complete: this rank does not send it",
)
class _(Averaged):
    pass


@unused_parameters.another_form("as_before")
class _(Asking):
    pass


@unused_parameters.wrong_answer(
    "skips_what_is_unused",
    why="This rank passed over the buckets that it does not use. All-reduces meet by their number and not by name, so "
    "its next bucket met another one of the others.",
    seen="passed over the buckets that it does not use",
)
class _(Averaged):
    def launch_complete(self) -> None:
        for bucket in self.buckets:
            if self.ready.issuperset(bucket) and all(bucket is not sent for sent, _, _ in self.flying):
                self.launch(bucket)


@unused_parameters.another_form("skips_what_is_unused")
class _(Averaged):
    def finish(self) -> None:
        for bucket in self.buckets[self.launched :]:
            if self.ready.issuperset(bucket):
                self.launch(bucket)
        super().finish()


@unused_parameters.wrong_answer(
    "zeros_out_of_turn",
    why="The zeros were sent at the end, after all buckets that had gradients. On ranks that use the parameter its bucket "
    "went in the middle: the same messages, in another order.",
    seen="the same messages, in another order",
)
class _(Forgiving):
    def launch_complete(self) -> None:
        for bucket in self.buckets:
            if self.ready.issuperset(bucket) and all(bucket is not sent for sent, _, _ in self.flying):
                self.launch(bucket)


@unused_parameters.wrong_answer(
    "zeros_on_one_rank_only",
    why="The rank that misses a gradient sent an extra all-reduce of zeros for it. Nobody else sends one: to be a "
    "collective, every rank has to call it.",
    seen="Nobody else sends one",
)
class _(Averaged):
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


@unused_parameters.another_form("zeros_on_one_rank_only")
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


@unused_parameters.wrong_answer(
    "only_rank_0_fills_in",
    why="Only rank 0 put zeros in the place of what it did not use. It is no coordinator here: whatever rank misses a "
    "gradient has to do it.",
    seen="It is no coordinator here",
)
class _(Forgiving):
    def missing(self) -> Group:
        return super().missing() if dist.get_rank() == 0 else []


@unused_parameters.wrong_answer(
    "found_once",
    why="Which parameters are unused was found out in the first step and kept. A branch is taken in one step and not in "
    "the next.",
    seen="found out in the first step and kept",
)
class _(Forgiving):
    def missing(self) -> Group:
        if "first" not in self.__dict__:
            self.__dict__["first"] = super().missing()
        return self.__dict__["first"]


@unused_parameters.another_form("found_once")
class _(Forgiving, Asking):
    def missing(self) -> Group:
        if "first" not in self.__dict__:
            self.__dict__["first"] = super().missing()
        return self.__dict__["first"]


@unused_parameters.wrong_answer(
    "rank_0_decides",
    why="Rank 0's graph decided for all ranks what is unused. Another rank uses other parameters: its gradients were "
    "dropped, or waited for without end.",
    seen="Rank 0's graph decided for all ranks",
)
class _(Searching):
    def absent(self, out: Tensor) -> Group:
        if not out.requires_grad:
            return []
        absent = set(super().absent(out))
        flags = torch.tensor([float(param in absent) for param in self.trainable()])
        dist.broadcast(flags, 0)
        return [param for param, flag in zip(self.trainable(), flags.tolist(), strict=True) if flag]


@unused_parameters.wrong_answer(
    "only_in_training",
    why="Unused parameters were looked for in training mode only. eval() turns off dropout, not gradients: a model with "
    "frozen statistics is trained in eval().",
    seen="eval() turns off dropout, not gradients",
)
class _(Forgiving):
    def missing(self) -> Group:
        return super().missing() if self.training else []


@unused_parameters.another_form("only_in_training")
class _(Forgiving, Asking):
    def missing(self) -> Group:
        return super().missing() if self.training else []


@unused_parameters.wrong_answer(
    "sends_without_gradients",
    why="A call under no_grad has no graph, so everything looked unused, and zeros were sent for it. Only rank 0 evaluated: "
    "nobody answered.",
    seen="A call under no_grad has no graph",
)
class _(Forgiving):
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        out = super().forward(*args, **kwargs)
        if not out.requires_grad:
            for bucket in self.buckets:
                dist.all_reduce(torch.zeros(sum(p.numel() for p in bucket), dtype=bucket[0].dtype))
        return out


@unused_parameters.wrong_answer(
    "searches_without_a_graph",
    why="The search for unused parameters starts at out.grad_fn, which is None in evaluation.",
    seen="which is None in evaluation",
)
class _(Searching):
    pass


@unused_parameters.wrong_answer(
    "mean_over_users",
    why="The sum was divided by the number of ranks that used the parameter. The joined batch is divided by all of them: "
    "a sample that does not use a parameter has the gradient zero.",
    seen="a sample that does not use a parameter has the gradient zero",
)
class _(Forgiving):
    def finish(self) -> None:
        users = torch.tensor([float(param in self.ready) for param in self.trainable()])
        super().finish()
        dist.all_reduce(users)
        for param, count in zip(self.trainable(), users.tolist(), strict=True):
            param.grad *= self.world / max(count, 1.0)


@unused_parameters.wrong_answer(
    "only_users_get_it",
    why="The mean was brought back only where this rank had a gradient. Every rank makes a step with every parameter: "
    "without the mean, the weights run apart.",
    seen="brought back only where this rank had a gradient",
)
class _(Forgiving):
    def finish(self) -> None:
        absent = self.missing()
        super().finish()
        for param in absent:
            param.grad = None


@unused_parameters.another_form("only_users_get_it")
class _(Forgiving):
    def finish(self) -> None:
        absent = self.missing()
        super().finish()
        for param in absent:
            param.grad.zero_()


@unused_parameters.wrong_answer(
    "all_at_the_end",
    why="To be safe, everything is sent when backward is over. The values are right, and the overlap is gone: a complete "
    "bucket whose turn it is can leave at once.",
    seen="To be safe, everything is sent when backward is over",
)
class _(Forgiving):
    def arrived(self, param: nn.Parameter) -> None:
        if self.syncs:
            self.queue()
            self.count(param)


@unused_parameters.wrong_answer(
    "sum_instead_of_mean",
    why="The buckets carry sums, and nobody divided them by the number of ranks.",
    seen="nobody divided them by the number of ranks",
)
class _(Forgiving):
    def packed(self, bucket: Group) -> Tensor:
        return super().packed(bucket) * self.world


@unused_parameters.wrong_answer(
    "wraps_torch_ddp",
    why="find_unused_parameters=True is what you are to build here.",
    seen="is what you are to build here",
)
class _(nn.Module):
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
