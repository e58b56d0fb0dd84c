"""Lab 06's figures: lanes, arrows and races of a program, bits of a number, errors over the length of a sum."""

from __future__ import annotations

import math

import pytest

from helpers.figures import streams as figures
from helpers.figures import streams_numbers
from helpers.figures.picture import png
from helpers.labs.streams.shown.float_formats import in_all_formats
from helpers.streams.program import Op


def kernel(stream: str, name: str, us: float) -> Op:
    return Op(stream, "kernel", duration=us, name=name)


PROGRAM = [
    kernel("main", "fill", 40),
    Op("main", "record", event="e"),
    kernel("main", "other", 60),
    Op("side", "wait", event="e"),
    kernel("side", "sum", 30),
    Op("side", "host_sync"),
]
SPANS = [(0, 40), (40, 100), (40, 70)]


def test_a_lane_for_each_stream_with_kernels():
    assert figures.lanes([Op("idle", "record", event="e"), *PROGRAM]) == ["main", "side"]


def test_an_arrow_leads_from_the_record_to_the_kernel_that_waits():
    assert figures.dependencies(PROGRAM, SPANS) == [("main", 40, "side", 40)]


def test_a_wait_sees_the_last_record_before_it():
    twice = [
        *PROGRAM[:3],
        Op("main", "record", event="e"),
        *PROGRAM[3:5],
        Op("main", "record", event="e"),
    ]
    assert figures.dependencies(twice, SPANS) == [("main", 100, "side", 40)]


@pytest.mark.parametrize("without", [1, 3])
def test_no_arrow_without_a_record_or_a_wait(without):
    ops = [op for at, op in enumerate(PROGRAM) if at != without]
    assert figures.dependencies(ops, SPANS) == []


def test_a_wait_for_an_event_of_the_same_stream_is_no_arrow():
    ops = [kernel("s", "a", 1), Op("s", "record", event="e"), Op("s", "wait", event="e"), kernel("s", "b", 1)]
    assert figures.dependencies(ops, [(0, 1), (1, 2)]) == []


def test_the_host_stops_where_the_stream_it_waits_for_ends():
    assert figures.stops(PROGRAM, SPANS) == [70]
    assert figures.stops([Op("main", "host_sync"), *PROGRAM[:1]], SPANS[:1]) == []


def test_a_timeline_shows_bars_arrows_and_races():
    plain = figures.timeline(PROGRAM, SPANS, title="t")
    raced = figures.timeline(PROGRAM, SPANS, {(2, 4)}, "t")
    axes = raced.axes[0]
    assert [bar.get_width() for bar in axes.patches] == [40, 60, 30]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["main", "side"]
    assert len(axes.texts) == len(plain.axes[0].texts) + 1, "one line more for the race"
    assert png(plain) != png(raced)


def test_the_main_stream_has_one_colour_whichever_lane_it_is():
    alone, second = figures.colours(["default"]), figures.colours(["copy", "default", "side"])
    assert alone["default"] == second["default"]
    assert len(set(second.values())) == 3


def test_a_timeline_without_kernels_is_drawn():
    assert png(figures.timeline([], [])).startswith(b"\x89PNG")


def test_the_words_of_a_timeline_name_the_race():
    message = figures.timeline_alt(PROGRAM, SPANS, {(2, 4)}, "Too late.")
    assert message.startswith("Too late. main: fill 0 to 40, other 40 to 100; side: sum 40 to 70.")
    assert "1 arrow " in message and message.endswith("Racing: other and sum.")
    assert figures.timeline_alt(PROGRAM, SPANS).endswith("Nothing races.")


@pytest.mark.parametrize("value", [1 / 3, 1e-8, 70000.0, math.inf, math.nan, 1e-40])
def test_bits_are_drawn_one_box_each(value):
    rows = in_all_formats(value)
    figure = streams_numbers.bit_rows(rows, "x")
    assert len(figure.axes[0].patches) == 32 + 19 + 16 + 16
    assert "float16 holds" in streams_numbers.bit_rows_alt(rows, "x")


def test_errors_are_lines_with_points():
    cases = {"randn": [3e-4, 3e-4], "rand": [4e-5, 2e-5]}
    figure = streams_numbers.errors(cases, cases, [64, 256])
    lines = figure.axes[0].lines
    assert [list(line.get_ydata()) for line in lines] == [v for pair in cases.values() for v in (pair, pair)]
    assert "randn, rand" in streams_numbers.errors_alt(list(cases))
