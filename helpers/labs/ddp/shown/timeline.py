"""When a wrapper like MiniDDP sends its buckets: watched in a run, and laid out in time.

`watch` runs the learner's own class and writes down what does not depend on a clock: the order of gradients,
all-reduces and waits on one rank. `laid_out` puts that order on a time axis, for a cost of a layer and a link.
`measured` is a real step, on processes over the slow link.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor, nn

from helpers.ranks.in_threads import in_threads, note
from helpers.ranks.link import Link
from helpers.ranks.ports import collective_seconds

LAYERS, WIDTH = 12, 256
LAYER_BYTES = WIDTH * WIDTH * 4
LAYER_SECONDS = 0.004  # of one layer's backward
LINK = Link(alpha=0.5e-3, beta=1e-8)

Wrapper = Callable[[nn.Module, int], nn.Module]


class Moment(NamedTuple):
    """kind "gradient" (of a layer that is complete), "send" (an all-reduce is launched) or "wait" (it was waited for)."""

    kind: str
    layer: int = -1
    nbytes: int = 0


class Bar(NamedTuple):
    """lane "backward" or "link"; bucket: the number of its all-reduce, -1 where none took it along; seconds."""

    lane: str
    label: str
    bucket: int
    begin: float
    end: float


@dataclass(frozen=True)
class Timeline:
    """The bars of one backward. computed: seconds of backward alone. total: until all is reduced."""

    bars: tuple[Bar, ...]
    computed: float
    total: float

    @property
    def sends(self) -> int:
        return sum(bar.lane == "link" for bar in self.bars)


class Slow(torch.autograd.Function):
    """The identity, whose backward takes LAYER_SECONDS: a layer that computes on a device of its own."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Tensor:
        time.sleep(LAYER_SECONDS)
        return grad_out


class Layers(nn.Module):
    """LAYERS matrices of LAYER_BYTES each; notes when a gradient is complete. slow: its backward takes time."""

    def __init__(self, slow: bool = False) -> None:
        super().__init__()
        self.matrices = nn.ParameterList([torch.eye(WIDTH) for _ in range(LAYERS)])
        self.slow = slow
        for number, matrix in enumerate(self.matrices):
            matrix.register_post_accumulate_grad_hook(lambda _, number=number: note(f"gradient {number}"))

    def forward(self, x: Tensor) -> Tensor:
        for matrix in self.matrices:
            x = x @ matrix
            x = Slow.apply(x) if self.slow else x
        return x


def watch(wrapper: Wrapper, bucket_bytes: int) -> list[Moment]:
    """What rank 0 of two does in its second backward, in order."""

    def steps() -> None:
        torch.manual_seed(0)
        wrapped = wrapper(Layers(), bucket_bytes)
        for _ in range(2):
            loss = wrapped(torch.ones(2, WIDTH)).sum()
            note("backward")
            loss.backward()
            note("over")

    log = [event for event in in_threads(steps, ranks=2).log if event.rank == 0]
    begin = max(at for at, event in enumerate(log) if event.what == "backward")
    end = max(at for at, event in enumerate(log) if event.what == "over")
    return [moment for event in log[begin + 1 : end] if (moment := _moment(event))]


def _moment(event: Any) -> Moment | None:
    if event.kind == "note":
        return Moment("gradient", layer=int(event.what.split()[-1]))
    if event.kind == "waited":
        return Moment("wait")
    return Moment("send", nbytes=event.nbytes) if event.nbytes else None


def laid_out(moments: list[Moment], world: int, link: Link = LINK) -> Timeline:
    """The watched order in time, as if all ranks were equally fast and the link did one all-reduce after the other."""
    bars: list[Bar] = []
    now, free = 0.0, 0.0
    ends: list[float] = []
    waits, since = 0, 0  # since: the first bar that no all-reduce has taken along yet
    for kind, layer, nbytes in moments:
        if kind == "gradient":
            bars.append(Bar("backward", str(layer), -1, now, now + LAYER_SECONDS))
            now += LAYER_SECONDS
        elif kind == "send":
            seconds = collective_seconds("all_reduce", [nbytes], world, link.alpha, link.beta)
            begin = max(now, free)
            free = begin + seconds
            since = _taken(bars, since, nbytes // LAYER_BYTES, len(ends))
            bars.append(Bar("link", str(len(ends)), len(ends), begin, free))
            ends.append(free)
        elif waits < len(ends):
            now, waits = max(now, ends[waits]), waits + 1
    return Timeline(tuple(bars), sum(bar.lane == "backward" for bar in bars) * LAYER_SECONDS, max(now, free))


def _taken(bars: list[Bar], since: int, layers: int, bucket: int) -> int:
    """Marks the next `layers` gradients as those of this bucket; returns where the rest begins."""
    for at in range(since, len(bars)):
        if bars[at].lane == "backward" and layers:
            bars[at] = bars[at]._replace(bucket=bucket)
            layers, since = layers - 1, at + 1
    return since


def measured(wrapper: Wrapper, bucket_bytes: int, world: int, steps: int = 3) -> float:
    """Seconds of one backward with all its all-reduces: real processes, the slow link, the shortest of some steps."""

    def seconds() -> float:
        torch.manual_seed(0)
        wrapped = wrapper(Layers(slow=True), bucket_bytes)
        taken = []
        for _ in range(steps + 1):
            loss = wrapped(torch.ones(2, WIDTH)).sum()
            dist.barrier()
            begin = time.perf_counter()
            loss.backward()
            taken.append(time.perf_counter() - begin)
        return min(taken[1:])

    from helpers import ranks

    return max(ranks.run(seconds, ranks=world, link=LINK, timeout=20))
