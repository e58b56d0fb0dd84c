"""`measured`: now where there is a GPU, as recorded elsewhere, and plain words where there is neither."""

from __future__ import annotations

import json
import sys

import pytest
import torch

from helpers import paths, recordings
from helpers.measurements import apart, child, device_info
from helpers.measurements.apart import MeasurementFailed
from helpers.measurements.registry import Measurement, measurements
from helpers.measurements.rehearsal import OnCpu
from helpers.recordings import Recording, measured

RECORD = {
    "device": "NVIDIA Testcard 1",
    "driver": "570.1",
    "cuda": "12.8",
    "torch": "2.11.0",
    "date": "2026-05-01",
    "commit": "0123456789abcdef",
    "samples": {"pin_memory_ms": [3.0, 1.0, 2.0]},
}
NOW = Recording(
    "first_pin",
    "NVIDIA Here",
    "580.2",
    "13.0",
    "2.11.0",
    "2026-06-01",
    "",
    {"pin_memory_ms": [9.0]},
    now=True,
)


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """An empty folder of recordings, nothing measured, a person at the keyboard."""
    monkeypatch.setattr(paths, "DATA", tmp_path)
    monkeypatch.setattr(recordings, "_MEASURED", {})
    monkeypatch.delenv("LABBOOK_HEADLESS", raising=False)
    (tmp_path / "recordings").mkdir()


@pytest.fixture
def on_file(tmp_path):
    (tmp_path / "recordings" / "first_pin.json").write_text(json.dumps(RECORD))


@pytest.fixture
def gpu(monkeypatch):
    """A GPU that measures NOW; the list counts how often."""
    calls = []
    monkeypatch.setattr(recordings, "gpu_is_here", lambda: True)
    monkeypatch.setattr(recordings, "measured_now", lambda found: calls.append(found.name) or NOW)
    return calls


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(recordings, "gpu_is_here", lambda: False)


def test_without_a_gpu_the_record_is_shown(no_gpu, on_file):
    shown = measured("first_pin")
    assert str(shown).startswith("first_pin: recorded on NVIDIA Testcard 1")
    assert shown.samples == RECORD["samples"]


def test_without_gpu_and_record_it_says_so_and_what_is_predicted(no_gpu):
    shown = measured("first_pin")
    message, page = str(shown), shown._repr_mimebundle_()["text/html"]
    assert message.startswith("No recording first_pin is on file: this was not measured on a GPU yet.")
    assert "Predicted: several times longer" in message and "Predicted: several times longer" in page
    assert shown.samples is None


def test_on_a_gpu_it_is_measured_once_in_a_session(gpu, on_file):
    assert str(measured("first_pin")).startswith("first_pin: measured now on NVIDIA Here (driver 580.2")
    assert measured("first_pin").samples == {"pin_memory_ms": [9.0]} and gpu == ["first_pin"]


def test_headless_it_is_tried_and_the_record_shown(gpu, on_file, monkeypatch):
    monkeypatch.setenv("LABBOOK_HEADLESS", "1")
    assert str(measured("first_pin")).startswith("first_pin: recorded on") and gpu == ["first_pin"]


def test_headless_without_a_record_the_text_is_that_of_any_machine(gpu, monkeypatch):
    monkeypatch.setenv("LABBOOK_HEADLESS", "1")
    here = str(measured("first_pin"))
    monkeypatch.setattr(recordings, "gpu_is_here", lambda: False)
    assert str(measured("first_pin")) == here


def test_a_failure_is_told_with_the_record_and_raises_headless(gpu, on_file, monkeypatch):
    def fail(found):
        raise MeasurementFailed("first_pin: CUDA out of memory")

    monkeypatch.setattr(recordings, "measured_now", fail)
    message = str(measured("first_pin")).splitlines()
    assert message[0] == "Not measured now: first_pin: CUDA out of memory" and "recorded on" in message[1]
    monkeypatch.setenv("LABBOOK_HEADLESS", "1")
    with pytest.raises(MeasurementFailed):
        measured("first_pin")


def test_an_unknown_name_is_refused(no_gpu):
    with pytest.raises(ValueError, match="no measurement is called 'first_pins'"):
        measured("first_pins")


def test_a_process_that_does_not_end_is_ended():
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    with pytest.raises(MeasurementFailed, match="slow: not done after 0.3 s, and ended"):
        apart._finished(sleeper, "slow", 0.3)


def test_a_process_that_dies_is_told_with_its_last_words():
    dying = [sys.executable, "-c", "raise RuntimeError('CUDA out of memory')"]
    assert apart._finished(dying, "slow", 30) == "RuntimeError: CUDA out of memory"
    silent = [sys.executable, "-c", "import os; os.abort()"]
    assert apart._finished(silent, "slow", 30) == "the process ended with exit code -6 and no word"


DEVICE = {key: RECORD[key] for key in ("device", "driver", "cuda", "torch")} | {"cudnn": "91002"}


@pytest.fixture
def in_here(monkeypatch):
    """The process that measures, as a call in this one, with the CPU in the place of a GPU."""

    def run(command, name, seconds):
        asked.append((name, seconds, command[5:]))
        monkeypatch.setattr(sys, "argv", command[2:])
        return str(child.main())

    asked = []
    monkeypatch.setattr(child, "Gpu", lambda quick: OnCpu())
    monkeypatch.setattr(child, "device_info", lambda: DEVICE)
    monkeypatch.setattr(apart, "_finished", run)
    return asked


def test_the_process_hands_over_the_device_and_samples(in_here):
    result = apart.result_of(measurements()["first_pin"])
    assert result.device == DEVICE and len(result.samples["pin_memory_ms"]) >= 5
    assert in_here == [("first_pin", measurements()["first_pin"].seconds, [])]


def test_a_lab_asks_for_a_quick_run_with_a_short_limit(in_here):
    found = recordings.measured_now(measurements()["first_pin"])
    assert found.now and found.commit == "" and found.label.startswith("measured now on NVIDIA Testcard 1")
    assert in_here == [("first_pin", apart.QUICK_SECONDS, ["quick"])]


def test_samples_of_a_wrong_form_are_a_failure(in_here, monkeypatch):
    nothing = Measurement("first_pin", "06", "ms", lambda gpu: {"pin_memory_ms": []})
    monkeypatch.setattr(child, "measurements", lambda: {"first_pin": nothing})
    with pytest.raises(MeasurementFailed, match="first_pin: samples must be raw samples"):
        apart.result_of(nothing)


def test_without_a_gpu_the_process_says_so_and_writes_nothing(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", ["child", "first_pin", str(tmp_path / "result.json")])
    assert child.main() == 1 and not (tmp_path / "result.json").exists()
    assert capsys.readouterr().err == "torch finds no GPU here\n"


@pytest.mark.parametrize(
    ("smi", "module", "version"),
    [
        ("echo 580.159.04", "", "580.159.04"),
        (
            "exit 9",
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release",
            "570.86.15",
        ),
        ("exit 9", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue", "535.54.03"),
    ],
)
def test_the_driver_is_asked_for_its_version(monkeypatch, tmp_path, smi, module, version):
    write_smi(monkeypatch, tmp_path, smi)
    (tmp_path / "version").write_text(module)
    monkeypatch.setattr(device_info, "KERNEL_MODULE", tmp_path / "version")
    assert device_info.driver_version() == version


def test_an_unknown_driver_is_a_fault(monkeypatch, tmp_path):
    write_smi(monkeypatch, tmp_path, "echo 'Failed to initialize NVML'")
    monkeypatch.setattr(device_info, "KERNEL_MODULE", tmp_path / "nothing")
    with pytest.raises(device_info.UnknownDriver):
        device_info.driver_version()


def write_smi(monkeypatch, folder, script: str) -> None:
    """An nvidia-smi that runs this line of shell."""
    path = folder / "nvidia-smi"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_the_device_is_told_in_the_fields_that_a_recording_needs(monkeypatch):
    monkeypatch.setattr(device_info, "driver_version", lambda: "570.1")
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA Here")
    found = device_info.device_info()
    assert set(found) == {"device", "driver", "cuda", "cudnn", "torch"} and all(
        isinstance(value, str) for value in found.values()
    )
