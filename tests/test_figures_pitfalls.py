"""Lab 10's figure draws what it is given, and its table of two roads in `torch.var` holds for other data."""

from __future__ import annotations

import pytest
import torch

from helpers.figures.pitfalls import LEAST, MOST, lost_digits, lost_digits_alt

OFFSETS = [0, 10, 1e6]


def test_the_staircase_and_each_formula_are_drawn() -> None:
    before = torch.tensor([-1.0, 0.0, 0.26, 0.27])
    figure = lost_digits(
        before, before + 1e6, {"a": [1e-12, 0.5, 1e9], "b": [0.1, 0.1, float("nan")]}, OFFSETS, 1e6
    )
    left, right = figure.axes
    assert left.lines[0].get_ydata().tolist() == [-1.0, 0.0, 0.25, 0.25]
    assert "3 different numbers" in left.get_title(loc="left")
    assert right.lines[0].get_ydata().tolist() == [LEAST, 0.5, MOST]
    assert right.lines[1].get_ydata().tolist() == [0.1, 0.1, MOST]
    assert right.lines[2].get_xdata()[0] == 2  # the chosen offset


def test_the_words_name_each_formula() -> None:
    assert "one; two" in lost_digits_alt(["one", "two"], 10)


@pytest.mark.parametrize("seed", range(5))
def test_torch_has_two_roads_to_a_variance(seed: int) -> None:
    y = torch.randn(1000, generator=torch.Generator().manual_seed(seed)) + 2e6
    exact = y.double().var()
    rows = torch.stack([y, y, y])
    assert ((rows.var(1) - exact).abs() / exact).max() < 1e-6
    mean_off = (y.mean().double() - y.double().mean()) ** 2
    assert abs((y.var() - exact) / exact - mean_off / exact) < 1e-3
