"""What right answers of this lab share."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
import torch.distributed as dist
from torch import nn


def broadcast_all(module: nn.Module) -> None:
    with torch.no_grad():
        for tensor in [*module.parameters(), *module.buffers()]:
            dist.broadcast(tensor, src=0)


class WithViews(nn.Module):
    """Gradients are views of the buckets; the engine calls back at the end of backward."""

    def __init__(self, module: nn.Module, bucket_bytes: int = 1 << 20) -> None:
        super().__init__()
        self.module, self.enabled, self.active = module, True, False
        broadcast_all(module)
        self.place: dict[nn.Parameter, tuple[int, torch.Tensor]] = {}
        self.flats: list[torch.Tensor] = []
        self.sizes: list[int] = []
        self.works: list[Any] = []
        group: list[nn.Parameter] = []
        for param in reversed([p for p in module.parameters() if p.requires_grad]):
            if group and group[0].dtype != param.dtype:
                group = self.close(group)
            group.append(param)
            if sum(p.nbytes for p in group) >= bucket_bytes:
                group = self.close(group)
            param.register_post_accumulate_grad_hook(self.hook)
        self.close(group)
        self.left = list(self.sizes)

    def close(self, group: list[nn.Parameter]) -> list[nn.Parameter]:
        if group:
            flat = torch.empty(sum(p.numel() for p in group), dtype=group[0].dtype)
            start = 0
            for param in group:
                self.place[param] = len(self.flats), flat[start : start + param.numel()].view_as(param)
                start += param.numel()
            self.flats.append(flat)
            self.sizes.append(len(group))
        return []

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Any:
        old, self.enabled = self.enabled, False
        try:
            yield self
        finally:
            self.enabled = old

    def hook(self, param: nn.Parameter) -> None:
        if not self.enabled:
            return
        if not self.active:
            self.active = True
            torch.autograd.Variable._execution_engine.queue_callback(self.end)
        self.mark(param)

    def mark(self, param: nn.Parameter) -> None:
        index, view = self.place[param]
        if param.grad.data_ptr() != view.data_ptr():
            view.copy_(param.grad)
            param.grad = view
        self.left[index] -= 1
        while len(self.works) < len(self.flats) and self.left[len(self.works)] == 0:
            flat = self.flats[len(self.works)]
            flat /= dist.get_world_size()
            self.works.append(dist.all_reduce(flat, async_op=True))

    def end(self) -> None:
        for work in self.works:
            work.wait()
        self.works, self.left, self.active = [], list(self.sizes), False


class Futures:
    """No module: closures, and futures that bring each bucket back when it has come."""

    def __init__(self, module: nn.Module, bucket_bytes: int = 1 << 20) -> None:
        self.module, self.quiet = module, 0
        world = dist.get_world_size()
        broadcast_all(module)
        buckets: list[list[nn.Parameter]] = []
        for param in reversed(list(module.parameters())):
            if not param.requires_grad:
                continue
            last = buckets[-1] if buckets else []
            if not last or sum(p.nbytes for p in last) >= bucket_bytes or last[0].dtype != param.dtype:
                buckets.append(last := [])
            last.append(param)
        self.buckets, arrived, futures = buckets, set(), []

        def send() -> None:
            while len(futures) < len(buckets) and all(p in arrived for p in buckets[len(futures)]):
                bucket = buckets[len(futures)]
                flat = torch.cat([p.grad.reshape(-1) for p in bucket]).div_(world)

                def back(future: Any, bucket: Any = bucket) -> None:
                    numbers = future.value()[0]
                    for p in bucket:
                        p.grad.copy_(numbers[: p.numel()].view(p.shape))
                        numbers = numbers[p.numel() :]

                futures.append(dist.all_reduce(flat, async_op=True).get_future().then(back))

        def finish() -> None:
            self.before_the_end()
            send()
            for future in futures:
                future.wait()
            arrived.clear()
            futures.clear()

        def hook(param: nn.Parameter) -> None:
            if self.quiet:
                return
            if not arrived:
                torch.autograd.Variable._execution_engine.queue_callback(finish)
            arrived.add(param)
            send()

        self.arrived = arrived
        for bucket in buckets:
            for param in bucket:
                param.register_post_accumulate_grad_hook(hook)

    def before_the_end(self) -> None:
        pass

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Any:
        self.quiet += 1
        try:
            yield
        finally:
            self.quiet -= 1
