"""`labbook record`: what it writes, what it refuses, and what an interruption or a failure leaves."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from ci.record.command import NoOrigin, as_text, chosen, code_digest, commit_of, keep, record
from helpers import paths
from helpers.measurements.apart import MeasurementFailed, Result, result_of
from helpers.measurements.registry import Measurement, measurement, measurements
from helpers.measurements.rehearsal import OnCpu, rehearsed
from helpers.recordings import recorded

FACTS = {
    "device": "NVIDIA Testcard 1",
    "driver": "570.1",
    "cuda": "12.8",
    "cudnn": "91002",
    "torch": "2.11.0",
}
COMMIT = "0123456789abcdef0123456789abcdef01234567"
TIMES = {"copy_ms": {"4096 bytes": [3.0, 1.0, 2.0, 1.5, 2.5]}, "bytes": [4096]}
NAMES = ["training_bits", "copy_bandwidth", "first_call"]


def given(samples: object = TIMES):
    """In place of a process on a GPU: these samples from a test's card."""
    return lambda measurement: Result(measurement, FACTS, samples)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project that is no checkout."""
    monkeypatch.setattr(paths, "DATA", tmp_path / "data")
    return tmp_path


def written(project: Path) -> list[str]:
    return sorted(path.name for path in project.rglob("*") if path.is_file())


def recording(project: Path, *names: str, run=None, **options) -> int:
    return record(project, names, commit=COMMIT, run=run or given(), gpu=lambda: True, **options)


def test_a_recording_holds_where_it_comes_from_and_all_samples(project, capsys):
    assert recording(project, "copy_bandwidth") == 0
    found = recorded("copy_bandwidth")
    assert found.samples == TIMES and found.device == "NVIDIA Testcard 1" and found.commit == COMMIT
    assert (found.cudnn, found.unit, found.command) == ("91002", "ms", "labbook record copy_bandwidth")
    assert len(found.code) == 16 and not found.now
    assert "1 of 1 recorded" in capsys.readouterr().out


def test_without_a_gpu_nothing_is_written(project, capsys):
    assert record(project, NAMES, commit=COMMIT, run=given(), gpu=lambda: False) == 1
    assert "torch finds no GPU here" in capsys.readouterr().err
    assert written(project) == []


def test_an_unknown_name_is_wrong_use(project, capsys):
    assert recording(project, "copy_bandwidth", "nonsense") == 2
    assert "no measurement nonsense" in capsys.readouterr().err and written(project) == []


def test_the_number_of_a_lab_names_all_of_its_measurements():
    assert {each.lab for each in chosen(["7"])[0]} == {"07"}
    both = [each.name for each in chosen(["01", "first_call"])[0]]
    assert "run_to_run_bits" in both and "first_call" in both and "copy_bandwidth" not in both
    assert chosen([])[0] == list(measurements().values())


def test_the_list_needs_no_gpu_and_writes_nothing(project, capsys):
    assert record(project, ["06"], listed=True, gpu=lambda: False) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("06  ") for line in lines) and any("copy_bandwidth" in line for line in lines)
    assert written(project) == []


def test_one_that_fails_is_told_and_the_others_go_on(project, capsys):
    def run(measurement: Measurement) -> Result:
        if measurement.name == "training_bits":
            raise MeasurementFailed("training_bits: CUDA out of memory")
        return given()(measurement)

    assert recording(project, *NAMES, run=run) == 1
    output = capsys.readouterr().out
    assert "FAILED  training_bits: CUDA out of memory" in output and "2 of 3 recorded" in output
    assert written(project) == ["copy_bandwidth.json", "first_call.json"]


def test_what_was_recorded_before_an_interruption_stays(project):
    def run(measurement: Measurement) -> Result:
        if measurement.name == "first_call":
            raise KeyboardInterrupt
        return given()(measurement)

    with pytest.raises(KeyboardInterrupt):
        recording(project, *NAMES, run=run)
    assert written(project) == ["copy_bandwidth.json", "training_bits.json"]


@pytest.mark.parametrize(
    ("samples", "description"),
    [
        ({"median_ms": 1.5}, "median_ms is one number"),
        ({"copy_ms": [1.5, 2.5]}, "at least 5 samples"),
        ({"copy_ms": []}, "raw samples"),
    ],
)
def test_summaries_are_not_recorded(project, capsys, samples, description):
    assert recording(project, "copy_bandwidth", run=given(samples)) == 1
    assert description in capsys.readouterr().out and written(project) == []


@pytest.mark.parametrize("fact", [{"device": "cpu"}, {"device": "Intel Xeon"}, {"driver": ""}])
def test_what_is_no_gpu_is_not_recorded(project, capsys, fact):
    run = lambda measurement: Result(measurement, FACTS | fact, TIMES)  # noqa: E731
    assert recording(project, "copy_bandwidth", run=run) == 1
    assert "must be" in capsys.readouterr().out and written(project) == []


def test_a_failed_run_keeps_the_old_recording(project):
    recording(project, "copy_bandwidth")
    before = (project / "data/recordings/copy_bandwidth.json").read_bytes()
    recording(project, "copy_bandwidth", run=given({"copy_ms": 1.5}))
    assert (project / "data/recordings/copy_bandwidth.json").read_bytes() == before


def test_a_rehearsal_never_becomes_a_recording(project):
    rehearsal = rehearsed(measurements()["batch_slice_bits"], OnCpu())
    with pytest.raises(TypeError, match="Rehearsed is no result of a GPU"):
        keep(project, rehearsal, COMMIT)
    with pytest.raises(TypeError, match="Rehearsed is no result of a GPU"):
        recording(project, "batch_slice_bits", run=lambda measurement: rehearsal)
    assert written(project) == []


def test_a_process_without_a_gpu_measures_nothing_whatever_its_parent_believes(project, monkeypatch, capsys):
    """The process asks torch itself; with no device visible the test is the same on a machine with a GPU."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert recording(project, "batch_slice_bits", run=result_of) == 1
    output = capsys.readouterr().out
    assert "FAILED  batch_slice_bits: torch finds no GPU here" in output
    assert written(project) == []


def test_the_text_comes_back_and_has_a_line_for_each_series():
    fields = FACTS | {"samples": {"a": [1.0, 2.0], "b": {"c": [3], "d": ["x"]}}}
    text = as_text(fields)
    assert json.loads(text) == fields and '  "a": [1.0, 2.0],\n' in text and '   "c": [3],\n' in text
    assert json.loads(as_text(FACTS | {"samples": [1, 2]}))["samples"] == [1, 2]


def git(folder: Path, *args: str) -> str:
    who = ["-c", "user.name=nobody", "-c", "user.email=nobody"]
    command = ["git", "-C", str(folder), *who, *args]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with one committed file."""
    (tmp_path / "code.py").write_text("one\n")
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    return tmp_path


def test_the_commit_is_the_one_checked_out(checkout):
    head = git(checkout, "rev-parse", "HEAD").strip()
    assert commit_of(checkout) == head and commit_of(checkout, head[:9]) == head


def test_a_changed_tree_is_refused_and_changed_recordings_are_not(checkout):
    (checkout / "data/recordings").mkdir(parents=True)
    (checkout / "data/recordings/copy.json").write_text("{}")
    assert commit_of(checkout)
    (checkout / "code.py").write_text("two\n")
    with pytest.raises(NoOrigin, match="commit first.*code.py is not committed"):
        commit_of(checkout)


def test_a_new_file_is_a_change_too(checkout):
    (checkout / "more.py").write_text("two\n")
    with pytest.raises(NoOrigin, match="more.py is not committed"):
        commit_of(checkout)


def test_another_commit_than_the_one_checked_out_is_refused(checkout):
    with pytest.raises(NoOrigin, match="not " + COMMIT):
        commit_of(checkout, COMMIT)


def test_without_a_checkout_the_commit_must_be_told(tmp_path):
    with pytest.raises(NoOrigin, match="give the commit of this code by --commit"):
        commit_of(tmp_path)
    with pytest.raises(NoOrigin, match="hexadecimal"):
        commit_of(tmp_path, "main")
    assert commit_of(tmp_path, COMMIT) == COMMIT


def test_nothing_is_measured_where_the_commit_is_unknown(project, capsys):
    assert record(project, NAMES, run=given(), gpu=lambda: True) == 1
    assert "--commit" in capsys.readouterr().err and written(project) == []


def test_the_digest_stands_for_names_and_contents():
    one = code_digest({"a.py": b"1", "b.py": b"2"})
    assert one == code_digest({"b.py": b"2", "a.py": b"1"})
    assert (
        len({one, code_digest({"a.py": b"1", "b.py": b"3"}), code_digest({"a.py": b"1", "c.py": b"2"})}) == 3
    )


def test_a_measurement_must_predict_and_names_are_taken_once():
    with pytest.raises(ValueError, match="Predicted"):
        measurement("not_predicted", lab="06", unit="ms")(lambda gpu: [])
    with pytest.raises(ValueError, match="is no name"):
        measurement("Not a name", lab="06", unit="ms")

    def another(gpu):
        """Predicted: nothing."""

    assert "first_call" in measurements()
    with pytest.raises(ValueError, match="two measurements are called first_call"):
        measurement("first_call", lab="06", unit="ms")(another)
