"""What is stored of a mistake says the same on every machine, and nothing else."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from helpers import paths
from helpers.check import stored
from helpers.check.stored import NOT_ATTEMPTED, Row, Stored, as_data, digest, same


def test_what_was_observed_becomes_plain_data() -> None:
    seen = ("changed", [1, True, None, 1 / 3, math.nan, -math.inf], {"a": (2.0,)}, {3, 1}, b"x", object())
    data = [
        "changed",
        [1, True, None, 0.3333333, "nan", "-inf"],
        [["a", [2.0]]],
        ["1", "3"],
        "bytes",
        "object",
    ]
    assert as_data(seen) == data
    json.dumps(data, allow_nan=False)


@pytest.mark.parametrize("kept", [lambda data: [data], digest], ids=["whole", "digest"])
def test_the_last_digits_of_a_number_may_differ_and_nothing_else(kept) -> None:
    data = ["moved", 3, [1.5, 1e-7, -2.0]]
    assert same(kept(data), [["moved", 3, [1.5000001, 1.1e-7, -2.000001]]])
    for other in (
        ["moved", 3, [1.501, 1e-7, -2.0]],
        ["moved", 3, [1.5, -2.0, 1e-7]],
        ["moved", 3, [1.5, 1e-7]],
        ["moved", 4, [1.5, 1e-7, -2.0]],
        ["moved", 3.0, [1.5, 1e-7, -2.0]],
        ["kept", 3, [1.5, 1e-7, -2.0]],
    ):
        assert not same(kept(data), [other])


def test_small_numbers_alone_are_told_apart() -> None:
    assert not same([[2e-9]], [[3e-9]]) and not same(digest([2e-9]), [[3e-9]])


def test_a_property_that_holds_and_a_stub_are_no_observation() -> None:
    assert same(None, None) and same(NOT_ATTEMPTED, NOT_ATTEMPTED)
    for one, other in ((None, [None]), ([None], None), (NOT_ATTEMPTED, None), (digest(None), None)):
        assert not same(one, other)


def test_the_first_that_does_not_hold_is_kept_whole() -> None:
    assert stored.outcomes([None, [[1.0]], NOT_ATTEMPTED, [[2.0]]]) == (
        None, [[1.0]], NOT_ATTEMPTED, digest([2.0]),
    )  # fmt: skip


def test_a_file_is_read_as_it_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "DATA", tmp_path)
    rows = Row("lost", (None, [["a", 1.5]], digest([2.0]))), Row("hangs", ([["waits"]],), 2)
    kept = Stored(7, 3, rows, "2.15", "x86_64")
    (tmp_path / "exercises" / "99_twice").mkdir(parents=True)
    path = tmp_path / "exercises" / "99_twice" / "twice.json"
    path.write_text(stored.as_text(kept))
    assert stored.of_exercise("99.twice") == kept
    assert stored.of_exercise("99.thrice") is None
    path.write_text(path.read_text()[:-9])
    assert stored.of_exercise("99.twice") is None, "a damaged file is no file"
