"""Every measurement, rehearsed without a GPU at tiny sizes: its code runs, and its samples have the right form."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import torch

from helpers import paths
from helpers.measurements import processes
from helpers.measurements.device import Device, Gpu, NoGpu
from helpers.measurements.lab06_rounding import named, patterns
from helpers.measurements.registry import Measurement, measurements
from helpers.measurements.rehearsal import OnCpu, OnSim, rehearsed
from helpers.measurements.samples import form_error, series, summary_error
from helpers.measurements.tf32 import precision
from helpers.measurements.tf32_bits import ROUNDINGS, rounded

FILES = sorted((paths.ROOT / "helpers" / "measurements").glob("*.py"))
ALL = measurements()
UNITS = re.compile(r"(_|\b)(s|ms|us|bytes)(_|\b)")
TIMES = re.compile(r"^(s|ms|us)\b")

LABS = {path.name[:2] for path in paths.LABS.glob("*.ipynb")}

# What the model of lab 06 can show: streams, copies, races. Autograd, DDP and cuDNN it cannot.
ON_SIM = [
    "copy_bandwidth",
    "copy_compute_overlap",
    "copy_return_time",
    "early_read",
    "kernel_overlap",
    "launch_cost",
    "matmul_without_synchronize",
    "prefetcher_by_ratio",
    "race_of_the_notes",
    "race_without_wait",
    "record_stream_race",
    "sleep_by_events",
]


@cache
def on_cpu(name: str) -> dict:
    """The samples of a rehearsal on the CPU."""
    return rehearsed(ALL[name], OnCpu()).samples


@pytest.mark.parametrize("name", ALL)
def test_it_runs_without_a_gpu_and_gives_raw_samples(name: str) -> None:
    found, samples = ALL[name], on_cpu(name)
    assert form_error(samples) == ""
    assert json.loads(json.dumps(samples, allow_nan=False)) == samples
    assert found.processes or summary_error(samples) == ""


@pytest.mark.parametrize("name", ALL)
def test_it_says_what_it_measures_and_what_is_predicted(name: str) -> None:
    found = ALL[name]
    assert found.lab in LABS and found.unit and 20 < found.seconds <= 300
    assert found.about.endswith(".") and found.predicted.endswith(".") and len(found.about) > 40


@pytest.mark.parametrize("name", [name for name, found in ALL.items() if TIMES.match(found.unit)])
def test_a_series_of_times_has_its_unit_in_its_name(name: str) -> None:
    if not ALL[name].processes:
        for called, values in series(on_cpu(name)):
            assert not isinstance(values[-1], float) or UNITS.search(called), called


def in_its_own_process(work: Callable[..., Any], *args: Any) -> Any:
    """What `work(*args)` gives there: a device that torch has been told of stays for good.

    After a backward pass beside it, no fork of this process could make one of its own.
    """
    with ProcessPoolExecutor(1, get_context("fork"), partial(torch.set_num_threads, 1)) as pool:
        return pool.submit(work, *args).result()


@pytest.fixture(scope="module")
def on_sim() -> dict[str, dict]:
    """The samples of each measurement that the simulated device can stand in for."""
    return in_its_own_process(_on_sim)


def _on_sim() -> dict[str, dict]:
    return {name: rehearsed(ALL[name], OnSim()).samples for name in ON_SIM}


def test_every_form_is_the_same_on_the_simulated_device(on_sim: dict[str, dict]) -> None:
    for name, samples in on_sim.items():
        assert form_error(samples) == summary_error(samples) == ""
        assert list(samples) == list(on_cpu(name)), name


def test_the_races_are_seen_by_who_measures_them(on_sim: dict[str, dict]) -> None:
    """The model decides these; that the measurement tells them apart is what is tested."""
    sums = on_sim["race_without_wait"]
    assert set(sums["sleep, no wait"]) == {0.0}
    assert set(sums["sleep, wait"]) == set(sums["no sleep, wait"]) == {10_000.0}
    freed = on_sim["record_stream_race"]
    assert set(freed["without record_stream"]) == {9000.0} and set(freed["with record_stream"]) == {1000.0}
    assert 70_000.0 not in on_sim["race_of_the_notes"]["wait"]
    read = on_sim["early_read"]
    assert set(read["sum_at_once"]) == {0.0} and set(read["sum_after_synchronize"]) == set(read["ones"])


def test_a_clock_without_synchronisation_sees_the_launch_alone(on_sim: dict[str, dict]) -> None:
    times = on_sim["matmul_without_synchronize"]
    for n, without in times["without_synchronize_us"].items():
        assert max(without) < min(times["with_synchronize_us"][n])
        assert max(times["events_us"][n]) < min(times["with_synchronize_us"][n])


def test_two_streams_overlap_where_the_device_lets_them(on_sim: dict[str, dict]) -> None:
    times = on_sim["kernel_overlap"]
    assert max(times["small kernels, 2 streams, ms"]) < 0.6 * min(times["small kernels, 1 stream, ms"])


COPY, BYTES = 100.0, 16 * 16 * 4  # us that the copy of a rehearsed batch takes, and its bytes


def with_costs(name: str, product: float) -> dict:
    """The samples of a measurement on the simulated device, where a copy takes 100 us and a product so many."""
    return in_its_own_process(_with_costs, name, product)


def _with_costs(name: str, product: float) -> dict:
    from helpers import streams

    device = OnSim()
    with streams.costs(launch=0, mm=product, pinned=BYTES / COPY / 1e3, pageable=BYTES / COPY / 1e3):
        return rehearsed(ALL[name], device).samples


def test_copies_beside_equal_work_take_k_plus_1_of_2k() -> None:
    times = with_costs("copy_compute_overlap", COPY)
    assert times["products"] == [1]
    assert all_near(times["one_stream_ms"], 2.0) and all_near(times["two_streams_ms"], 1.1)
    # The host waits for a pageable copy, but the product before it was queued already.
    assert all_near(times["one_stream_pageable_ms"], 2.0) and all_near(times["two_streams_pageable_ms"], 1.1)


def test_the_prefetcher_gains_what_the_formula_says() -> None:
    times, batches = with_costs("prefetcher_by_ratio", COPY / 4), 10
    for ratio in (0.25, 0.5, 1.0, 2.0, 4.0):
        name, work = f"work/copy={ratio}", ratio * COPY
        naive = batches * (COPY + work) / 1e3
        ahead = (batches * max(COPY, work) + min(COPY, work)) / 1e3
        assert times["products"][name] == [4 * ratio]
        assert all_near(times["naive_ms"][name], naive) and all_near(times["prefetched_ms"][name], ahead)


def all_near(times: list[float], expected: float) -> bool:
    return times == pytest.approx([expected] * len(times))


def switches() -> dict[str, object]:
    """Every precision switch that a measurement moves, in the newer and in the older words."""
    newer = (torch.backends.cuda.matmul, torch.backends.cudnn.conv, torch.backends.cudnn.rnn)
    found = {f"newer {place}": switch.fp32_precision for place, switch in enumerate(newer)}
    older = (torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32)
    return found | {"older": older, "matmul": torch.get_float32_matmul_precision()}


def test_the_precision_is_set_in_both_words_and_put_back() -> None:
    before = switches()
    with precision("tf32"):
        assert [value for name, value in switches().items() if "newer" in name] == ["tf32"] * 3
        assert switches()["older"] == (True, True)
    with precision("ieee"):
        assert "tf32" not in switches().values() and switches()["older"] == (False, False)
    assert switches() == before


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_the_emulated_rounding_is_the_exact_one(rounding: str) -> None:
    """Against the nearest multiples of one unit, found in float64."""
    x = patterns(64).flatten()
    unit = 2.0**-10 * torch.exp2(torch.floor(torch.log2(x.double().abs())))
    exact = x.double().abs() / unit
    down, rest = exact.floor(), exact - exact.floor()
    up = {
        "nearest-even": (rest > 0.5) | ((rest == 0.5) & (down % 2 == 1)),
        "nearest-away": rest >= 0.5,
        "toward-zero": torch.zeros_like(rest, dtype=torch.bool),
    }[rounding]
    assert torch.equal(rounded(x, rounding).double(), torch.sign(x) * (down + up) * unit)
    assert named(rounded(x, rounding), x) == rounding


def test_a_rounding_that_nobody_knows_is_unknown() -> None:
    x = patterns(16)
    assert named(x, x) == "none" and named(x.bfloat16().float(), x) == "unknown"


def test_the_gpu_itself_is_refused_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(NoGpu):
        Gpu()


def test_no_rehearsal_has_told_this_process_of_a_device() -> None:
    assert with_costs("copy_compute_overlap", COPY)
    assert not hasattr(torch, "sim")


def test_a_rehearsal_on_a_gpu_is_refused() -> None:
    device = OnCpu()
    device.device = torch.device("cuda", 0)
    with pytest.raises(ValueError, match="without a GPU"):
        rehearsed(Measurement("any", "06", "ms", lambda gpu: [1.5]), device)


def test_a_rehearsal_offers_what_a_gpu_offers() -> None:
    wanted = {name for name in vars(Device) if not name.startswith("_")}
    assert wanted <= set(dir(Gpu)) and wanted <= set(dir(OnCpu))


def test_the_devices_stand_in_with_the_real_one_s_arguments() -> None:
    """What a measurement calls on a stream or an event is there in torch.cuda, too."""
    for real, tiny in ((torch.cuda.Stream, OnCpu.Stream), (torch.cuda.Event, OnCpu.Event)):
        assert {name for name in vars(tiny) if not name.startswith("_")} <= set(dir(real))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_name_of_torch_is_there(path: Path) -> None:
    """No GPU runs these lines here; at least each torch.a.b.c in them exists in the installed torch."""
    for chain in chains(ast.parse(path.read_text(encoding="utf-8"))):
        found = torch
        for part in chain.split(".")[1:]:
            assert hasattr(found, part), chain
            found = getattr(found, part)


def chains(tree: ast.AST) -> set[str]:
    """Each dotted name that begins with torch, in code and in a text that is executed."""
    found = set()
    for node in ast.walk(tree):
        text = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " = " in node.value:
            text = node.value.partition(" = ")[0]
        if re.fullmatch(r"torch(\.\w+)+", text):
            found.add(text)
    return found


def test_a_part_that_fails_is_told_with_its_last_words() -> None:
    with pytest.raises(processes.PartFailed, match="visible now: exit code 1: IndexError"):
        processes.answer_of("visible", "now")
    with pytest.raises(processes.PartFailed, match="not done after 0.01 s"):
        processes.answer_of("first_call", "cpu", seconds=0.01)
