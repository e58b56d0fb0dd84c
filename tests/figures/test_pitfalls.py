"""Lab 10's figures draw what they are given, and its table of two roads in `torch.var` holds for other data."""

from __future__ import annotations

import pytest
import torch
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from torch import Tensor

from helpers.figures.pitfalls import (
    COLOURS,
    LEAST,
    MOST,
    cells_of,
    lost_digits,
    lost_digits_alt,
    windows,
    windows_alt,
)

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


def views_of_a_matrix() -> dict[str, Tensor]:
    """A matrix of 2 · 3 cells whose second column was written, two views of it, and a copy."""
    x = torch.zeros(2, 3)
    views = {"x": x, "row": x[1], "table": x[0].expand(2, 3), "copy": x.t().flatten()}
    x[:, 1] = 1
    return views


def drawn_cells(figure: Figure) -> dict[tuple[int, int], tuple]:
    """The colour of each cell, by row and cell."""
    return {
        (round(patch.get_y() + 0.38), round(patch.get_x())): patch.get_facecolor()
        for patch in figure.axes[0].patches
    }


def test_a_window_is_drawn_from_offset_sizes_and_strides() -> None:
    views = views_of_a_matrix()
    figure = windows(views, [{0, 1, 2}, {3}], "x")
    cells = drawn_cells(figure)
    shared, own = COLOURS[:2]
    assert len(cells) == 4 * 6
    assert [cells[0, n] == to_rgba(shared) for n in range(6)] == [n in (1, 4) for n in range(6)]
    assert [cells[1, n] for n in range(3)] == [to_rgba("white")] * 3
    assert cells[1, 4] == to_rgba(shared) and cells[1, 5] == to_rgba(shared, 0.22)
    assert {cells[3, n] for n in range(6)} == {to_rgba(own, 0.22)}
    assert "1 4" in [text.get_text() for text in figure.axes[0].texts]  # a cell that expand reads twice


@pytest.mark.parametrize("code", ["x[:, 1]", "x.t()", "x[1:, ::2]", "x[1].expand(5, 4)", "x[2, 3]", "x[0:0]"])
def test_cells_are_those_that_torch_reads(code: str) -> None:
    x = torch.arange(12).view(3, 4)
    view = eval(code, {"x": x})
    assert cells_of(view) == view.flatten().tolist()


def test_the_words_say_who_sees_the_write() -> None:
    words = windows_alt(views_of_a_matrix(), "x")
    assert "seen in: x; row; table." in words and "not seen in: copy." in words
