"""Recordings are read as they were measured, or refused."""

from __future__ import annotations

import json

import pytest

from helpers import paths
from helpers.measurements.samples import in_short, rows, summary_error
from helpers.recordings import OnGpu, RecordingError, recorded, show

WHOLE = {
    "device": "NVIDIA Testcard 1",
    "driver": "570.1",
    "cuda": "12.8",
    "torch": "2.11.0",
    "date": "2026-05-01",
    "commit": "0123456789abcdef",
    "samples": {"copy_ms": [3.0, 1.0, 2.0], "digests": ["a", "b", "a"]},
}


@pytest.fixture
def put(monkeypatch, tmp_path):
    """Writes a file into an empty folder of recordings."""
    monkeypatch.setattr(paths, "DATA", tmp_path)
    (tmp_path / "recordings").mkdir()

    def write(text: str) -> None:
        (tmp_path / "recordings" / "copy.json").write_text(text, encoding="utf-8")

    return write


def test_none_is_on_file(put):
    assert recorded("copy") is None
    assert str(show("copy")) == "No recording copy is on file: this was not measured on a GPU yet."
    assert "No recording copy is on file" in show("copy")._repr_mimebundle_()["text/html"]


def test_what_was_not_measured_is_one_closed_line_and_what_was_stands_open(put):
    put(json.dumps(WHOLE))
    html = OnGpu(show("copy"), show("pinned"), show("early"))._repr_mimebundle_()["text/html"]
    before, after = html.split("<details")
    assert "Testcard" in before and "No recording" not in before
    assert "Not measured on a GPU yet: pinned, early." in after and "No recording pinned" in after
    assert "<details" not in OnGpu(show("copy"))._repr_mimebundle_()["text/html"]


def test_a_recording_comes_back_with_its_samples(put):
    put(json.dumps(WHOLE))
    assert recorded("copy").samples == WHOLE["samples"]


def test_it_is_shown_with_device_versions_and_date(put):
    put(json.dumps(WHOLE))
    message = str(show("copy"))
    for word in ("NVIDIA Testcard 1", "driver 570.1", "CUDA 12.8", "torch 2.11.0", "2026-05-01", "0123456"):
        assert word in message
    assert "copy_ms: median 2 of 3 (from 1 to 3)" in message and "digests: 2 different of 3" in message


@pytest.mark.parametrize("key", list(WHOLE))
def test_a_file_without_a_field_is_refused(put, key):
    put(json.dumps({name: value for name, value in WHOLE.items() if name != key}))
    with pytest.raises(RecordingError, match=f"data/recordings/copy.json: {key} is missing"):
        recorded("copy")


@pytest.mark.parametrize(
    ("change", "description"),
    [
        ({"device": ""}, "device must be text"),
        ({"torch": 2.11}, "torch must be text"),
        ({"date": "last week"}, "date must be a day"),
        ({"commit": "unknown"}, "commit must be 7 to 40 hexadecimal digits"),
        ({"samples": []}, "raw samples"),
        ({"samples": {"copy_ms": []}}, "raw samples"),
        ({"samples": {"copy_ms": [None]}}, "raw samples"),
        ({"samples": 1.5}, "raw samples"),
        ({"samples": {"copy_ms": [float("1e309")]}}, "is no sample"),
        ({"device": "cpu"}, "device must be a GPU"),
        ({"device": "Intel(R) Xeon(R) Platinum"}, "device must be a GPU"),
        ({"device": "sim, a simulated device"}, "device must be a GPU"),
    ],
)
def test_a_wrong_field_is_named(put, change, description):
    put(json.dumps(WHOLE | change))
    with pytest.raises(RecordingError, match=description):
        show("copy")


@pytest.mark.parametrize("text", ["{", "[1]", '{"samples": [NaN]}'])
def test_a_damaged_file_is_named(put, text):
    put(text)
    with pytest.raises(RecordingError, match="data/recordings/copy.json"):
        recorded("copy")


def test_a_name_leads_to_no_other_folder(put):
    with pytest.raises(ValueError, match="is no name of a recording"):
        recorded("../facts/x")


def test_words_are_shown_and_digests_are_counted():
    assert in_short(["ieee", "ieee", "tf32"]) == "2 different of 3: ieee, tf32"
    assert in_short(["0a1b2c3d", "0a1b2c3d", "ffffffff"]) == "2 different of 3"
    assert in_short("tf32") == "tf32" and in_short([10240]) == "10240"
    assert in_short(["none"] * 4) == "none (4 times)" and in_short(["no GPU", "cuda:0"]) == "no GPU, cuda:0"


def test_a_table_of_words_is_a_line_a_row_and_few_whole_numbers_stand_one_by_one():
    samples = {"default": {"matmul": "ieee", "lstm": "tf32"}, "rows": [1, 2, 4], "sums": [1e6] * 20}
    assert rows(samples) == [
        ("default", "matmul ieee, lstm tf32"),
        ("rows", "1, 2, 4"),
        ("sums", "1000000 (20 times)"),
    ]


def test_series_within_series_are_shown_by_both_names():
    samples = {"host_us": {"n=256": [3.0, 1.0, 2.0], "n=512": [5.0]}, "n": [256, 512]}
    assert [name for name, _ in rows(samples)] == ["host_us, n=256", "host_us, n=512", "n"]


def test_a_long_recording_is_cut(put):
    put(json.dumps(WHOLE | {"samples": {f"n={n}": [1.0, 2.0] for n in range(100)}}))
    assert str(show("copy")).splitlines()[-1].strip() == "... and 60 more lines like these"


@pytest.mark.parametrize(
    ("samples", "description"),
    [
        ({"median_ms": 1.5}, "median_ms is one number"),
        ({"copy_ms": {"4096 bytes": [1.5]}}, "copy_ms, 4096 bytes holds 1 numbers"),
        ({"copy_ms": [1.5, 2, 3.5]}, "copy_ms holds 3 numbers"),
        ([1.5, 2.5], "samples holds 2 numbers"),
        ({"error": {"n=64": {"seed 0": 0.1}}}, "error, n=64, seed 0 is one number"),
    ],
)
def test_a_summary_is_no_list_of_samples(samples, description):
    assert summary_error(samples).startswith(description)


@pytest.mark.parametrize(
    "samples",
    [
        {"copy_ms": [1.5, 2.0, 3.5, 1.0, 2.5], "bytes": [4096]},
        {"events": [["host", "backward", 1.5, 2.5]]},
        {"digests": ["a", "b"]},
    ],
)
def test_raw_samples_are_none(samples):
    assert summary_error(samples) == ""
