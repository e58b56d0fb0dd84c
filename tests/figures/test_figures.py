"""Figures: pure functions from data, and the slider's three forms in one output."""

from __future__ import annotations

import asyncio
import base64
import io

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from helpers.figures import slider as slider_module
from helpers.figures.picture import Picture, png
from helpers.figures.reproducibility import errors_of_sums, growing_apart, growing_apart_alt
from helpers.figures.slider import WIDGET, SliderFigure, SlidersFigure

DISTANCES = {"calm": [0.0, 0.0, 1e-8, 1e-7], "wild": [0.0, 0.0, 1e-8, 0.5], "gone": [0.0] * 4}


@pytest.fixture
def slider():
    return SliderFigure(
        lambda at: growing_apart(DISTANCES, at),
        [0, 2, 4],
        start=2,
        label="step of the nudge",
        alt=lambda at: growing_apart_alt(list(DISTANCES), at),
    )


def test_runs_are_drawn_only_where_they_differ():
    lines = growing_apart(DISTANCES, 2).axes[0].get_lines()
    assert np.isnan(lines[0].get_ydata()[:2]).all() and lines[0].get_ydata()[3] == 1e-7
    assert "the same bits again" in lines[2].get_label()


def test_each_way_to_sum_tells_how_many_results_it_gave():
    results = {"stable": np.full(5, 3.0, np.float32), "naive": np.array([3, 4, 5, 5, 3], np.float32)}
    figure = errors_of_sums(results, 3.0, "easy")
    assert [text.get_text() for text in figure.axes[0].texts] == ["1 result", "3 results"]
    assert figure.axes[0].get_lines()[1].get_ydata().max() == 2 / np.spacing(np.float32(3))


def test_drawing_opens_no_figure_of_pyplot(slider):
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    png(growing_apart(DISTANCES, 2))
    assert plt.get_fignums() == before


def test_the_same_data_give_the_same_bytes():
    assert png(growing_apart(DISTANCES, 2)) == png(growing_apart(DISTANCES, 2))


def test_the_background_is_opaque():
    with Image.open(io.BytesIO(png(growing_apart(DISTANCES, 2)))) as picture:
        assert picture.convert("RGBA").getpixel((1, 1)) == (255, 255, 255, 255)


def test_live_one_output_holds_widget_picture_and_text(slider, monkeypatch):
    monkeypatch.delenv("LABBOOK_HEADLESS", raising=False)
    data, metadata = slider._repr_mimebundle_()
    assert set(data) == {WIDGET, "image/png", "text/plain"}
    assert metadata["image/png"]["alt"] in data["text/plain"]
    assert base64.b64decode(data["image/png"]) == slider.picture(2)


def test_headless_there_is_no_widget(slider, monkeypatch):
    monkeypatch.setenv("LABBOOK_HEADLESS", "1")
    data, _ = slider._repr_mimebundle_()
    assert set(data) == {"image/png", "text/plain"}


def test_moving_the_slider_changes_picture_and_words(slider):
    control, picture = slider.widget().children
    assert "before step 2" in picture.value
    control.value = 4
    assert "before step 4" in picture.value
    assert base64.b64encode(slider.picture(4)).decode() in picture.value


def test_a_start_outside_the_values_is_refused():
    with pytest.raises(ValueError, match="cannot start at 7"):
        SliderFigure(lambda at: growing_apart(DISTANCES, at), [0], start=7, label="", alt=str)


def test_several_sliders_move_one_picture() -> None:
    figure = SlidersFigure(
        lambda at, steps: growing_apart({"a": [0.0] * steps}, at),
        {"nudge": [0, 1], "steps": [2, 3]},
        start=[1, 2],
        alt=lambda at, steps: f"nudge {at}, {steps} steps",
    )
    nudge, steps, picture = figure.widget().children
    assert "nudge 1, 2 steps" in picture.value
    steps.value = 3
    nudge.value = 0
    assert "nudge 0, 3 steps" in picture.value


def blank() -> Figure:
    return Figure(figsize=(1, 1))


def many(draw) -> SlidersFigure:
    """Twelve pictures, which count as many."""
    sliders = {"nudge": [0, 1, 2], "steps": [2, 3, 4, 5]}
    return SlidersFigure(draw, sliders, start=[1, 2], alt=lambda at, steps: f"nudge {at}, {steps} steps.")


def alive(figure: SlidersFigure, drawn: list, until: int, move: dict | None = None) -> None:
    """Shows the widget where a kernel's loop runs; moves the sliders once, when something is drawn ahead."""

    errors = []

    async def kernel() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, error: errors.append(error))
        nudge, steps, _ = figure.widget().children
        while len(drawn) < until:
            await asyncio.sleep(0.001)
            if move and len(drawn) >= 2:
                nudge.value, steps.value = move.pop("to")
                move.clear()
        await asyncio.sleep(0.02)

    asyncio.run(asyncio.wait_for(kernel(), 60))
    assert errors == []


@pytest.fixture
def many_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slider_module, "FEW", 4)
    monkeypatch.setattr(slider_module, "PAUSE", 0)


def test_many_pictures_are_drawn_ahead_the_nearest_first_and_each_once(many_pictures: None) -> None:
    drawn = []
    figure = many(lambda at, steps: drawn.append((at, steps)) or blank())
    figure.picture(1, 2)
    alive(figure, drawn, until=12)
    assert len(drawn) == len(set(drawn)) == 12
    away = [abs(at - 1) + abs(steps - 2) for at, steps in drawn]
    assert away == sorted(away) and away[0] == 0


def test_a_move_changes_what_is_drawn_next(many_pictures: None) -> None:
    drawn = []
    figure = many(lambda at, steps: drawn.append((at, steps)) or blank())
    figure.picture(1, 2)
    alive(figure, drawn, until=12, move={"to": (2, 5)})
    after = drawn[drawn.index((2, 5)) + 1 :][:2]
    assert set(after) == {(1, 5), (2, 4)} and len(drawn) == len(set(drawn)) == 12


def test_a_picture_that_cannot_be_drawn_is_told_only_where_it_is_asked_for(many_pictures: None) -> None:
    drawn = []

    def draw(at: int, steps: int):
        drawn.append((at, steps))
        if len(drawn) > 4:
            raise ZeroDivisionError
        return blank()

    figure = many(draw)
    figure.picture(1, 2)
    alive(figure, drawn, until=5)
    assert len(drawn) == 5, "it goes on no further"
    with pytest.raises(ZeroDivisionError):
        figure.picture(2, 5)


def test_without_a_kernel_only_the_nearest_are_drawn(many_pictures: None) -> None:
    drawn = []
    many(lambda at, steps: drawn.append((at, steps)) or blank()).widget()
    assert drawn[0] == (1, 2) and set(drawn) == {(1, 2), (0, 2), (2, 2), (1, 3)}


def test_a_picture_has_words_in_every_form(monkeypatch: pytest.MonkeyPatch) -> None:
    picture = Picture(Figure(figsize=(1, 1)), alt='A line from "left" to right.')
    data, metadata = picture._repr_mimebundle_()
    assert 'alt="A line from &quot;left&quot; to right."' in data["text/html"]
    monkeypatch.setenv("LABBOOK_HEADLESS", "1")
    stored, metadata = picture._repr_mimebundle_()
    assert stored == {key: data[key] for key in ("image/png", "text/plain")}
    assert metadata["image/png"]["alt"] == picture.alt and picture.alt in stored["text/plain"]
