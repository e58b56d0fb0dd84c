"""Right answers to 07.mini_ddp, in different shapes."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from .shared import Futures, WithViews


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


RIGHT = [WithViews, OlderHooks, Futures]
