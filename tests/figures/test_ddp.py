"""Lab 07's timeline: a wrapper is watched, laid out in time, and drawn."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from torch import nn

from helpers.figures import ddp as figures
from helpers.figures.picture import png
from helpers.labs.ddp.shown import timeline
from helpers.labs.ddp.shown.timeline import LAYER_BYTES, LAYER_SECONDS, Moment, laid_out, watch
from helpers.ranks.link import Link

FAST = Link(
    alpha=0.0, beta=LAYER_SECONDS / LAYER_BYTES
)  # on two ranks a layer's all-reduce takes as long as the layer


class EagerHooks(nn.Module):
    """Each gradient is reduced in its own hook; waits there, or at the end of backward."""

    def __init__(self, module: nn.Module, bucket_bytes: int, wait: bool = False) -> None:
        super().__init__()
        self.module, self.wait, self.works = module, wait, []
        for param in module.parameters():
            param.register_post_accumulate_grad_hook(self.reduced)

    def reduced(self, param: nn.Parameter) -> None:
        if not self.works and not self.wait:
            torch.autograd.Variable._execution_engine.queue_callback(self.finish)
        self.works.append(dist.all_reduce(param.grad, async_op=True))
        if self.wait:
            self.works.pop().wait()

    def finish(self) -> None:
        while self.works:
            self.works.pop(0).wait()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.module(x)


def test_watching_tells_the_order_of_one_backward():
    moments = watch(EagerHooks, 1)
    assert [m.kind for m in moments[:4]] == ["gradient", "send", "gradient", "send"]
    assert [m.layer for m in moments if m.kind == "gradient"] == list(reversed(range(timeline.LAYERS)))
    assert {m.nbytes for m in moments if m.kind == "send"} == {LAYER_BYTES}
    assert [m.kind for m in moments[-timeline.LAYERS :]] == ["wait"] * timeline.LAYERS


def test_the_link_works_beside_the_backward():
    run = laid_out(watch(EagerHooks, 1), 2, FAST)
    assert run.computed == pytest.approx(timeline.LAYERS * LAYER_SECONDS)
    assert run.total == pytest.approx(run.computed + LAYER_SECONDS)
    assert run.sends == timeline.LAYERS


def test_who_waits_in_a_hook_overlaps_nothing():
    waiting = watch(lambda module, size: EagerHooks(module, size, wait=True), 1)
    run = laid_out(waiting, 2, FAST)
    assert run.total == pytest.approx(2 * run.computed)


def test_everything_at_the_end_adds_up():
    layers = [Moment("gradient", layer) for layer in (2, 1, 0)]
    run = laid_out([*layers, Moment("send", nbytes=3 * LAYER_BYTES), Moment("wait")], 2, FAST)
    assert run.total == pytest.approx(6 * LAYER_SECONDS)
    assert [bar.bucket for bar in run.bars] == [0, 0, 0, 0]
    assert laid_out(layers, 2, FAST).bars[0].bucket == -1


def test_more_ranks_pay_more_latency():
    moments = watch(EagerHooks, 1)
    totals = [laid_out(moments, world).total for world in (1, 2, 4, 8, 16)]
    assert totals == sorted(totals) and totals[0] == pytest.approx(timeline.LAYERS * LAYER_SECONDS)


def test_bars_and_lines_are_drawn():
    run = laid_out(watch(EagerHooks, 1), 4)
    axes = figures.overlap(run.bars, run.computed, "a title").axes[0]
    assert len(axes.patches) == len(run.bars) == 2 * timeline.LAYERS
    assert axes.get_title(loc="left") == "a title"
    lines = {"one": [0.1, 0.2], "two": [0.3, 0.4]}
    axes = figures.step_times(lines, [2, 4], 0.05).axes[0]
    assert [line.get_label() for line in axes.lines] == ["one", "two", "one process"]
    assert png(figures.step_times(lines, [2, 4], 0.05)) == png(figures.step_times(lines, [2, 4], 0.05))


def test_the_words_fit_the_sliders():
    assert "512 KB on 8 ranks" in figures.overlap_alt(512, 8)
    assert "small, large" in figures.step_times_alt(["small", "large"])
