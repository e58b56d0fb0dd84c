"""Recordings are read as they were measured, or refused."""

from __future__ import annotations

import json

import pytest

import helpers
from helpers.recordings import RecordingFault, recorded, show

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
    monkeypatch.setattr(helpers, "DATA", tmp_path)
    (tmp_path / "recordings").mkdir()

    def write(text: str) -> None:
        (tmp_path / "recordings" / "copy.json").write_text(text, encoding="utf-8")

    return write


def test_none_is_on_file(put):
    assert recorded("copy") is None
    assert str(show("copy")) == "No recording copy is on file: this was not measured on a GPU yet."
    assert "No recording copy is on file" in show("copy")._repr_mimebundle_()["text/html"]


def test_a_recording_comes_back_with_its_samples(put):
    put(json.dumps(WHOLE))
    assert recorded("copy").samples == WHOLE["samples"]


def test_it_is_shown_with_device_versions_and_date(put):
    put(json.dumps(WHOLE))
    said = str(show("copy"))
    for word in ("NVIDIA Testcard 1", "driver 570.1", "CUDA 12.8", "torch 2.11.0", "2026-05-01", "0123456"):
        assert word in said
    assert "copy_ms: median 2 of 3 (from 1 to 3)" in said and "digests: 2 different of 3" in said


@pytest.mark.parametrize("key", list(WHOLE))
def test_a_file_without_a_field_is_refused(put, key):
    put(json.dumps({name: value for name, value in WHOLE.items() if name != key}))
    with pytest.raises(RecordingFault, match=f"data/recordings/copy.json: {key} is missing"):
        recorded("copy")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"device": ""}, "device must be text"),
        ({"torch": 2.11}, "torch must be text"),
        ({"date": "last week"}, "date must be a day"),
        ({"commit": "unknown"}, "commit must be 7 to 40 hexadecimal digits"),
        ({"samples": []}, "raw samples"),
        ({"samples": {"copy_ms": []}}, "raw samples"),
        ({"samples": {"copy_ms": [None]}}, "raw samples"),
        ({"samples": 1.5}, "raw samples"),
    ],
)
def test_a_wrong_field_is_named(put, change, said):
    put(json.dumps(WHOLE | change))
    with pytest.raises(RecordingFault, match=said):
        show("copy")


@pytest.mark.parametrize("text", ["{", "[1]", '{"samples": [NaN]}'])
def test_a_damaged_file_is_named(put, text):
    put(text)
    with pytest.raises(RecordingFault, match="data/recordings/copy.json"):
        recorded("copy")


def test_a_name_leads_to_no_other_folder(put):
    with pytest.raises(ValueError, match="is no name of a recording"):
        recorded("../facts/x")


def test_every_recording_of_the_project_can_be_read():
    for path in (helpers.DATA / "recordings").glob("*.json"):
        assert recorded(path.stem) is not None
