"""A right MiniDDP in small parts: the mistakes of two exercises exchange one part each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

Group = list[nn.Parameter]


class Averaged(nn.Module):
    """Copies gradients into a new tensor for each all-reduce, and back."""

    def __init__(self, module: nn.Module, bucket_bytes: int = 25 << 20) -> None:
        super().__init__()
        self.module, self.bucket_bytes, self.syncs = module, bucket_bytes, True
        self.world = dist.get_world_size()
        self.share()
        self.buckets = self.groups()
        self.begin()
        self.attach()

    def share(self) -> None:
        for tensor in self.shared():
            dist.broadcast(tensor.detach(), 0)

    def shared(self) -> list[Tensor]:
        return [*self.module.parameters(), *self.module.buffers()]

    def trainable(self) -> Group:
        return [param for param in self.module.parameters() if param.requires_grad]

    def groups(self) -> list[Group]:
        """The last parameter first; full with bucket_bytes; one dtype in each."""
        return grouped(self.trainable()[::-1], self.bucket_bytes)

    def attach(self) -> None:
        for param in self.trainable():
            param.register_post_accumulate_grad_hook(self.arrived)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        before, self.syncs = self.syncs, False
        try:
            yield
        finally:
            self.syncs = before

    def begin(self) -> None:
        """The state between two backward passes."""
        self.queued = False
        self.ready: set[nn.Parameter] = set()
        self.launched = 0
        self.flying: list[tuple[Group, Tensor, Any]] = []

    def arrived(self, param: nn.Parameter) -> None:
        if self.syncs:
            self.queue()
            self.count(param)
            self.launch_complete()

    def queue(self) -> None:
        """Asks the engine to call finish at the end of this backward."""
        if not self.queued:
            self.queued = True
            torch.autograd.Variable._execution_engine.queue_callback(self.finish)

    def count(self, param: nn.Parameter) -> None:
        self.ready.add(param)

    def launch_complete(self) -> None:
        while self.launched < len(self.buckets) and self.ready.issuperset(self.buckets[self.launched]):
            self.launch(self.buckets[self.launched])
            self.launched += 1

    def launch(self, bucket: Group) -> None:
        flat = self.packed(bucket)
        self.flying.append((bucket, flat, self.send(flat)))

    def packed(self, bucket: Group) -> Tensor:
        return torch.cat([param.grad.flatten() for param in bucket]) / self.world

    def send(self, flat: Tensor) -> Any:
        return dist.all_reduce(flat, async_op=True)

    def finish(self) -> None:
        for bucket, flat, work in self.flying:
            work.wait()
            self.unpack(bucket, flat)
        self.begin()

    def unpack(self, bucket: Group, flat: Tensor) -> None:
        parts = flat.split([param.numel() for param in bucket])
        for param, part in zip(bucket, parts, strict=True):
            param.grad.copy_(part.view_as(param))


class Viewed(Averaged):
    """Gradients are views of buckets that stay."""

    def begin(self) -> None:
        super().begin()
        if "flats" not in self.__dict__:
            self.flats = [torch.zeros(sum(p.numel() for p in g), dtype=g[0].dtype) for g in self.buckets]

    def count(self, param: nn.Parameter) -> None:
        super().count(param)
        for bucket, flat in zip(self.buckets, self.flats, strict=True):
            for other, part in zip(bucket, flat.split([p.numel() for p in bucket]), strict=True):
                if other is param:
                    view = part.view_as(param)
                    param.grad = view.copy_(param.grad / self.world)

    def packed(self, bucket: Group) -> Tensor:
        return next(flat for group, flat in zip(self.buckets, self.flats, strict=True) if group is bucket)

    def unpack(self, bucket: Group, flat: Tensor) -> None:
        pass


class Asking(Averaged):
    """Waits for every bucket, also for one that was not sent: its request is None."""

    def finish(self) -> None:
        requests = {id(bucket): work for bucket, _, work in self.flying}
        for bucket in self.buckets:
            requests.get(id(bucket)).wait()
        super().finish()


class Forgiving(Averaged):
    """What has no gradient at the end of a backward counts as ready, with zeros."""

    def finish(self) -> None:
        for param in self.missing():
            self.fill(param)
            self.count(param)
        self.launch_complete()
        super().finish()

    def missing(self) -> Group:
        return [param for param in self.trainable() if param not in self.ready]

    def fill(self, param: nn.Parameter) -> None:
        if param.grad is None:
            param.grad = torch.zeros_like(param)


class Searching(Averaged):
    """Looks in the graph of the output for what is not used, before backward."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        out = super().forward(*args, **kwargs)
        self.unused = self.absent(out)
        return out

    def absent(self, out: Tensor) -> Group:
        used, stack, seen = set(), [out.grad_fn], set()
        while stack:
            node = stack.pop()
            seen.add(node)
            if hasattr(node, "variable"):
                used.add(node.variable)
            stack += [after for after, _ in node.next_functions if after is not None and after not in seen]
        return [param for param in self.trainable() if param not in used]

    def arrived(self, param: nn.Parameter) -> None:
        for absent in self.unused if self.syncs else ():
            if absent.grad is None:
                absent.grad = torch.zeros_like(absent)
            self.count(absent)
        super().arrived(param)


def grouped(params: Group, bucket_bytes: int) -> list[Group]:
    groups: list[Group] = [[]]
    for param in params:
        last = groups[-1]
        if last and (size_of(last) >= bucket_bytes or last[0].dtype != param.dtype):
            groups.append(last := [])
        last.append(param)
    return [group for group in groups if group]


def size_of(group: Group) -> int:
    return sum(param.numel() * param.element_size() for param in group)
