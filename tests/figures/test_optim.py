"""Lab 04's figures draw what they are given, and its explorer shows every scheduler of torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.optim import lr_scheduler

from helpers.figures.optim import rates, ways_down
from helpers.labs.optim.shown import schedulers


def test_a_way_that_leaves_the_plane_is_cut_and_said() -> None:
    ways = {
        "stays": np.array([[-4.0, 1.0], [0.3, 0.4]]),
        "leaves": np.array([[-4.0, 1.0], [-3.0, 9e9], [0.0, 0.0]]),
    }
    figure = ways_down(ways, lambda x, y: x**2 + y**2, "2 steps")
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["stays: ends 0.5 from the bottom", "leaves: left the plane"]
    assert len(figure.axes[0].lines[1].get_xdata()) == 2


def test_each_setting_has_its_line() -> None:
    figure = rates({"one": [0.1, 0.2], "two": [0.3, 0.3]}, "title", {1: "here"})
    lines = figure.axes[0].lines
    assert lines[0].get_ydata().tolist() == [0.1, 0.2] and lines[1].get_ydata().tolist() == [0.3, 0.3]


def test_every_scheduler_of_torch_is_shown() -> None:
    assert set(lr_scheduler.__all__) - {"LRScheduler"} <= set(schedulers())


@pytest.mark.parametrize("name", sorted(schedulers()))
def test_each_setting_makes_what_it_says(name: str) -> None:
    for make in schedulers()[name].values():
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1, momentum=0.9)
        assert type(make(optimizer)).__name__ == name
