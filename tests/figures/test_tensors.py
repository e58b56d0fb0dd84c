"""Lab 11's figure shows a memory cell by cell, with the indices that read each."""

from __future__ import annotations

from helpers.figures.style import BLUE, ORANGE
from helpers.figures.tensors import OFTEN, ONCE, runs, runs_alt, storage, storage_alt


def test_each_cell_shows_who_reads_it() -> None:
    (axes,) = storage("x", "offset 0", {0: ["0"], 2: ["1", "2"]}, 3).axes
    colours = [
        "#" + "".join(f"{round(255 * c):02x}" for c in each.get_facecolor()[:3]) for each in axes.patches
    ]
    assert colours == [ONCE, "#ffffff", OFTEN]
    assert [text.get_text() for text in axes.texts] == ["0", "0", "1", "2", "1", "2"]
    assert axes.get_title(loc="left") == "x: offset 0"


def test_words_say_whose_memory_it_is() -> None:
    assert "x.T" in storage_alt("x.T")


def test_bars_are_orange_where_steps_differ() -> None:
    def colours(new_size: tuple[int, ...], found: tuple[int, ...] | None) -> list[str]:
        (axes,) = runs((4, 6), (8, 1), new_size, found).axes
        bars = axes.patches[24:]
        return ["#" + "".join(f"{round(255 * c):02X}" for c in bar.get_facecolor()[:3]) for bar in bars]

    assert set(colours((2, 2, 3, 2), (16, 8, 2, 1))) == {BLUE}
    assert colours((8, 3), None) == [BLUE] * 8 + [ORANGE]


def test_words_say_which_view_is_tried() -> None:
    assert "as (8, 3)" in runs_alt("(4, 6) as (8, 3)")
