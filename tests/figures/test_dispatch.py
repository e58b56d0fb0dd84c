"""The figures of lab 12 show the numbers that they are given."""

from __future__ import annotations

import pytest
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation

from helpers.figures.dispatch import RUNS, roofline, roofline_alt, seconds, way, way_alt

KEYS = ["Autocast", "Autograd", "ADInplaceOrView", "CPU"]
TABLE = dict.fromkeys(["AutocastCPU", "AutogradCPU", "ADInplaceOrView", "CPU"], "[kernel]")
MACHINE = {"flops": 100.0, "bytes": 10.0}


@pytest.mark.parametrize("ran", [["backend"], ["Autograd", "backend"], ["Autocast", "Autograd", "backend"]])
def test_each_kernel_that_ran_has_a_box_and_an_arrow_to_the_next(ran: list[str]) -> None:
    axes = way("here", KEYS, {"CPU", "Autograd"}, ran, TABLE).axes[0]
    boxes = [
        each for each in axes.patches if isinstance(each, Rectangle) and each.get_facecolor() == _rgba(RUNS)
    ]
    arrows = [each for each in axes.texts if isinstance(each, Annotation)]
    assert len(boxes) == len(ran) and len(arrows) == len(ran) - 1
    assert [box.get_y() for box in boxes] == sorted((box.get_y() for box in boxes), reverse=True)
    words = [each.get_text() for each in axes.texts]
    assert set(words) >= set(KEYS) and words.count("passed over") == ("Autograd" not in ran)


def test_the_longer_of_the_two_decides() -> None:
    bill = {"aten.mm.default": (1000, 20), "aten.add.Tensor": (0, 50), "aten.bmm.default": (10, 40)}
    assert seconds(bill["aten.mm.default"], MACHINE) == (10.0, 2.0)
    roof, bars = roofline("tokens: 3", bill, MACHINE).axes
    assert roof.get_title(loc="left") == "tokens: 3"
    products, whole = (each.get_offsets() for each in roof.collections)
    assert products.tolist() == [[50.0, 1e-10], [0.25, 2.5e-12]]  # at the roof, and on the slope
    assert whole[0].tolist() == pytest.approx([1010 / 110, 1010 / 110 * 10 / 1e12])
    assert [each.get_text() for each in bars.get_yticklabels()] == ["bmm", "add", "mm"]


def test_words_say_what_the_pictures_show() -> None:
    assert "inference_mode" in way_alt("inference_mode") and "128 tokens" in roofline_alt(128)


def _rgba(colour: str) -> tuple[float, ...]:
    from matplotlib.colors import to_rgba

    return to_rgba(colour)
