"""Lab 05's figures: a tree as it is after each statement, and a run as it was logged."""

from __future__ import annotations

from collections import OrderedDict

import pytest
import torch
from torch import nn
from torch.nn.modules.module import _global_forward_hooks, _global_forward_pre_hooks

from helpers.figures.module_calls import call_timeline, call_timeline_alt, logged
from helpers.figures.module_tree import changes, module_tree, module_tree_alt, rows_of, trees_after
from helpers.figures.picture import png


@pytest.fixture
def trees():
    statements = [
        "net = nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 2))",
        "net.double()",
        "net[1].bias = None",
    ]
    return trees_after(statements, {"nn": nn})


def by_name(trees, at):
    order = list(trees.values())
    return {
        (path, name): description
        for (path, _, name), description in changes(order[at - 1], order[at]).items()
    }


def test_a_conversion_keeps_parameters_and_exchanges_buffers(trees):
    found = by_name(trees, 1)
    assert found["0", "weight"] == found["1", "bias"] == "changed"
    assert found["0", "running_mean"] == "other" and ("0", "num_batches_tracked") not in found


def test_none_takes_the_place_of_a_parameter(trees):
    assert by_name(trees, 2) == {("1", "bias"): "other"}
    assert str(list(trees.values())[2][2].dicts["_parameters"][1]) == "bias = None"


def test_one_object_has_one_number():
    pair = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    pair[1].weight = pair[0].weight
    pair.register_buffer("extra", torch.ones(1), persistent=False)
    (rows,) = trees_after(["net = pair"], {"pair": pair}).values()
    assert [str(row.dicts["_parameters"][0]) for row in rows[1:]] == ["weight #2 float32"] * 2
    assert str(rows[0].dicts["_buffers"][0]) == "extra #1 float32 (not saved)"


def test_the_tree_is_drawn_and_told(trees):
    statement = list(trees)[1]
    assert png(module_tree(trees, statement)) and "The same objects, changed: 0.weight" in module_tree_alt(
        trees, statement
    )
    assert "Other objects: none" in module_tree_alt(trees, list(trees)[0])


def test_plain_tensors_are_shown_on_every_floor():
    inner = nn.Module()
    inner.scale, inner.note = torch.ones(1), "not shown"
    shown = [
        [entry.name for entry in row.dicts["__dict__"]]
        for row in rows_of(nn.Sequential(inner), lambda _: "#1")
    ]
    assert shown == [[], ["scale"]]


class Failing(nn.Module):
    def forward(self, x):
        raise ValueError("forward")


def nested(last: nn.Module) -> nn.Sequential:
    return nn.Sequential(OrderedDict(first=nn.Identity(), last=last))


def run(model: nn.Module) -> list:
    with logged(model) as events:
        try:
            model(torch.ones(1))
        except ValueError:
            return events
    return events


def test_a_run_is_logged_in_its_order():
    events = [(event.module, event.kind) for event in run(nested(nn.Identity()))]
    before, after = ["global pre-hook", "pre-hook"], ["global hook", "hook", "always_call hook"]
    one = [*before, "forward", "returns", *after]
    inside = [("first", kind) for kind in one] + [("last", kind) for kind in one]
    around = [("model", kind) for kind in one]
    assert events == [*around[:3], *inside, *around[3:]]


def test_a_failed_run_ends_with_the_always_hooks():
    events = [(event.module, event.kind) for event in run(nested(Failing()))]
    tail = [
        ("last", "raises"),
        ("last", "always_call hook"),
        ("model", "raises"),
        ("model", "always_call hook"),
    ]
    assert events[-4:] == tail and ("last", "hook") not in events


def test_logging_leaves_nothing_behind():
    model = nested(Failing())
    run(model)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert not _global_forward_hooks and not _global_forward_pre_hooks
    assert not any("forward" in vars(module) for module in model.modules())


@pytest.mark.parametrize("last", [nn.Identity(), Failing()])
def test_the_timeline_is_drawn_and_told(last):
    events = run(nested(last))
    figure = call_timeline(events, ["model", "first", "last"], "title")
    bars = [patch.get_x() for patch in figure.axes[0].patches]
    assert len(bars) == 3 and [text.get_text() for text in figure.axes[0].get_yticklabels()] == [
        "model",
        "first",
        "last",
    ]
    assert png(figure) and call_timeline_alt(events, "title").startswith(
        "Who is called when, title: global pre-hook of model"
    )


def test_a_run_that_called_nobody_is_drawn():
    assert png(call_timeline([], ["model"], "title")) and "nobody" in call_timeline_alt([], "title")
