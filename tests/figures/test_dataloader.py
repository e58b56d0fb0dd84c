"""Lab 02's timeline: a run is watched, laid out in time, and drawn."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator

import pytest

from helpers.figures.dataloader import timeline, timeline_alt
from helpers.figures.picture import png
from helpers.labs.dataloader.shown.timeline import Task, computed, inline, measured, watch

AT_ONCE = [Task(0, 0, False), Task(1, 0, False), Task(0, 0, True), Task(1, 1, True)]


def inline_loader(dataset, batch_sampler, collate_fn, **options) -> Iterator:
    """A loader without processes; it draws a batch when it is asked for."""
    for indices in batch_sampler:
        yield collate_fn([dataset[index] for index in indices])


def eager_loader(dataset, batch_sampler, collate_fn, **options) -> Iterator:
    """A loader that draws everything first."""
    for indices in list(batch_sampler):
        yield collate_fn([dataset[index] for index in indices])


def test_two_workers_share_the_work():
    run = computed(AT_ONCE, [2.0, 2.0, 2.0, 2.0], step=1.0)
    loads = {span.batch: (span.lane, span.begin, span.end) for span in run.spans if span.kind == "load"}
    assert loads[0] == ("worker 0", 0.0, 2.0) and loads[1] == ("worker 1", 0.0, 2.0)
    assert loads[2] == ("worker 0", 2.0, 4.0) and loads[3] == ("worker 1", 3.0, 5.0)
    assert run.total == 6.0 and run.waited == pytest.approx(2 / 6)


def test_a_slow_batch_holds_back_what_is_ready():
    run = computed(AT_ONCE, [9.0, 1.0, 1.0, 1.0], step=1.0)
    steps = [span.begin for span in run.spans if span.kind == "step"]
    assert steps == [9.0, 10.0, 11.0, 12.0]


def test_without_workers_the_times_add_up():
    run = inline([2.0, 3.0], step=1.0)
    assert run.total == 7.0 and {span.lane for span in run.spans} == {"main"}


def test_watching_tells_when_a_batch_was_drawn():
    lazy = watch(inline_loader, 1, 1, batches=3)
    assert [(task.given, task.arrived) for task in lazy] == [(0, False), (1, False), (2, False)]
    assert [task.given for task in watch(eager_loader, 1, 1, batches=3)] == [0, 0, 0]
    left = [child for child in multiprocessing.active_children() if "ForkServer" not in child.name]
    assert not left  # a warm worker of the checks may wait beside


def test_a_real_run_has_all_bars():
    run = measured(inline_loader, [0.001] * 3, 0.001, 1, 1)
    assert [span.kind for span in run.spans] == ["load", "wait", "step"] * 3
    assert all(span.end >= span.begin >= 0 for span in run.spans) and run.total > 0


def test_bars_and_rows_are_drawn():
    run = computed(AT_ONCE, [2.0, 2.0, 2.0, 2.0], step=1.0)
    axes = timeline(run.spans, "a title", slow=2).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["main", "worker 0", "worker 1"]
    assert len(axes.patches) == sum(span.end > span.begin for span in run.spans)
    assert png(timeline(run.spans, "a title")) == png(timeline(run.spans, "a title"))


def test_the_words_fit_the_sliders():
    assert "3 workers" in timeline_alt(4, 3, 2) and "an item costs 4 ms" in timeline_alt(4, 3, 2)
    assert "No workers" in timeline_alt(4, 0, 2)
