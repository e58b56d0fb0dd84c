"""Lab 08's figures of cost: lines where the model has them, points where they were measured, and who is the fastest."""

from __future__ import annotations

from functools import partial

import pytest

from helpers.figures.allreduce import cost_curves, cost_curves_alt, fastest, size_in_words
from helpers.figures.slider import png
from helpers.labs.allreduce.cost_model import seconds
from helpers.labs.allreduce.crossover import meeting
from helpers.labs.allreduce.least_squares import solved, weighted
from helpers.labs.allreduce.link_times import kept_times

LINK = (1e-3, 1e-8)


def costs(world: int) -> dict:
    return {
        name: partial(lambda name, nbytes: seconds(name, world, nbytes, *LINK), name)
        for name in ("naive", "tree", "ring")
    }


def test_a_line_is_the_cost_and_a_point_is_what_was_measured() -> None:
    rows = [("ring", 8, 10**6, 0.04), ("naive", 4, 10**5, 0.02)]
    figure = cost_curves(costs(8), "title", measured=rows, fitted=(4,))
    lines = figure.axes[0].lines
    grid = lines[2].get_xdata()
    assert lines[2].get_ydata()[60] == pytest.approx(seconds("ring", 8, grid[60], *LINK))
    points = [(line.get_xdata()[0], line.get_ydata()[0], line.get_markerfacecolor()) for line in lines[3:]]
    assert points[0] == (10**6, 0.04, "white")
    assert points[1][:2] == (10**5, 0.02) and points[1][2] != "white"
    assert png(figure).startswith(b"\x89PNG")


def test_the_strip_changes_where_the_lines_cross() -> None:
    grid = [1e3 * 1.02**step for step in range(600)]
    parts = fastest(costs(8), grid)
    assert [name for name, *_ in parts] == ["tree", "ring"]
    assert parts[0][2] <= meeting(8, (*LINK, 0.0)) <= parts[0][2] * 1.02


def test_the_words_say_the_order() -> None:
    assert cost_curves_alt(costs(8), "8 ranks").endswith("the fastest is: tree, then ring.")
    assert cost_curves_alt(costs(2), "2 ranks").endswith("the fastest is: ring.")


@pytest.mark.parametrize(("nbytes", "said"), [(1, "1 B"), (4096, "4.1 KB"), (2.5e6, "2.5 MB"), (1e9, "1 GB")])
def test_sizes_in_words(nbytes: float, said: str) -> None:
    assert size_in_words(nbytes) == said


def test_the_kept_times_of_two_and_four_ranks_predict_eight_within_a_fifth() -> None:
    rows = [row for row in kept_times() if row[0] in ("naive", "ring")]
    assert {row[1] for row in rows} == {2, 4, 8}
    pair = solved([row for row in rows if row[1] < 8], weighted(1.0))
    held_out = [row for row in rows if row[1] == 8 and row[2] >= 1 << 20]
    assert len(held_out) >= 6
    for name, world, nbytes, taken in held_out:
        assert seconds(name, world, nbytes, *pair) == pytest.approx(taken, rel=0.2)
