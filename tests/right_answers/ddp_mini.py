"""Right answers of 07.mini_ddp and 07.unused_parameters, in several shapes."""

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


class OlderHooks(nn.Module):
    """Hooks on the AccumulateGrad nodes, as before there were post-accumulate hooks; waits in the last hook."""

    def __init__(self, module: nn.Module, bucket_bytes: int) -> None:
        super().__init__()
        self.module, self.local = module, False
        state = [t.detach() for t in (*module.parameters(), *module.buffers())]
        for work in [dist.broadcast(t, 0, async_op=True) for t in state]:
            work.wait()
        self.buckets: list[list[nn.Parameter]] = []
        held = 0
        for param in [p for p in module.parameters() if p.requires_grad][::-1]:
            size = param.numel() * param.element_size()
            fits = self.buckets and held + size <= bucket_bytes and self.buckets[-1][-1].dtype == param.dtype
            if not fits:  # closed before it would hold more
                self.buckets.append([])
                held = 0
            self.buckets[-1].append(param)
            held += size
        self.nodes = []
        for param in {p for bucket in self.buckets for p in bucket}:
            node = param.expand_as(param).grad_fn.next_functions[0][0]
            node.register_hook(lambda *_, param=param: self.done(param))
            self.nodes.append(node)  # it lives as long as somebody holds it
        self.reset()

    def reset(self) -> None:
        self.waiting = [set(bucket) for bucket in self.buckets]
        self.sent: list[tuple[Any, torch.Tensor]] = []

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        self.this_is_local = self.local or not torch.is_grad_enabled()  # decided in forward, as torch does
        return self.module(*args, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Any:
        self.local, old = True, self.local
        try:
            yield
        finally:
            self.local = old

    def done(self, param: nn.Parameter) -> None:
        if self.this_is_local:
            return
        for waiting in self.waiting:
            waiting.discard(param)
        while len(self.sent) < len(self.buckets) and not self.waiting[len(self.sent)]:
            flat = torch._utils._flatten_dense_tensors([p.grad for p in self.buckets[len(self.sent)]])
            self.sent.append((dist.all_reduce(flat, op=dist.ReduceOp.AVG, async_op=True), flat))
        if len(self.sent) == len(self.buckets):
            for (work, flat), bucket in zip(self.sent, self.buckets, strict=True):
                work.wait()
                parts = torch._utils._unflatten_dense_tensors(flat, [p.grad for p in bucket])
                for param, part in zip(bucket, parts, strict=True):
                    param.grad = part.clone()
            self.reset()


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


class UnusedViews(WithViews):
    def end(self) -> None:
        ready = {p for p, (index, _) in self.place.items() if self.left[index] == 0} | self.seen
        for param in self.place:
            if param not in ready:
                param.grad = torch.zeros_like(param) if param.grad is None else param.grad
                super().mark(param)
        self.seen = set()
        super().end()

    seen: set[nn.Parameter] = set()

    def mark(self, param: nn.Parameter) -> None:
        self.seen = self.seen | {param}
        super().mark(param)


class UnusedFutures(Futures):
    def before_the_end(self) -> None:
        for bucket in self.buckets:
            for param in bucket:
                if param.grad is None:
                    param.grad = torch.zeros_like(param)
                self.arrived.add(param)


class ZeroTimesEverything(WithViews):
    """The old trick: every parameter is used, by adding 0 times all of them to the output."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        out = super().forward(*args, **kwargs)
        return out + sum(0.0 * p.sum() for p in self.place) if torch.is_grad_enabled() else out


class SearchesTheGraph(WithViews):
    """As torch: looks in the graph of the output for what is not used; at the first hook that counts as ready."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        out = super().forward(*args, **kwargs)
        if out.requires_grad and self.enabled:
            used, todo, seen = set(), [out.grad_fn], set()
            while todo:
                node = todo.pop()
                if node is None or node in seen:
                    continue
                seen.add(node)
                used.add(getattr(node, "variable", None))
                todo += [after for after, _ in node.next_functions]
            self.unused = [p for p in self.place if p not in used]
        return out

    def hook(self, param: nn.Parameter) -> None:
        if self.enabled and not self.active:
            super_mark, self.mark = self.mark, lambda param: None
            super().hook(param)
            self.mark = super_mark
            for absent in self.unused:
                absent.grad = torch.zeros_like(absent) if absent.grad is None else absent.grad
                self.mark(absent)
            self.mark(param)
        else:
            super().hook(param)


RIGHT = {
    "07.mini_ddp": [WithViews, OlderHooks, Futures],
    "07.unused_parameters": [UnusedViews, UnusedFutures, ZeroTimesEverything, SearchesTheGraph],
}
