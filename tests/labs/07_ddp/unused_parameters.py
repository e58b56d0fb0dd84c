"""Right answers to 07.unused_parameters, in different shapes."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from .shared import Futures, WithViews


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


RIGHT = [UnusedViews, UnusedFutures, ZeroTimesEverything, SearchesTheGraph]
