"""Random programs on streams: those without a race give the values of their order, on threads and on the device."""

from __future__ import annotations

import random
import re
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest
import torch

from helpers import streams
from helpers.labs.streams.shared.happens_before import races
from helpers.labs.streams.shared.random_programs import drawn_program
from helpers.labs.streams.shown.programs import written
from helpers.processes.fork_server import fork_server, no_main_module
from helpers.streams import threads
from helpers.streams.program import Op
from tests.support.device_process import with_device
from tests.support.stream_interleavings import racing_pairs
from tests.support.stream_programs import kernels, race_free, sequential_values, times
from tests.support.stream_runs import runs_on_device, values_on_threads, with_costs

PATIENCE = 120.0  # seconds for one call: seconds are usual

# What CUDA's manual says of streams and events: a program for each rule, and the pairs of its kernels that race.
RULES: dict[str, tuple[str, set[tuple[int, int]]]] = {
    "nothing orders two streams": ("a >x, b x>", {(0, 1)}),
    "nor is the default stream ordered": ("default >x, b x>, default >x", {(0, 1), (1, 2)}),
    "a write after a read": ("b x>, a >x", {(0, 1)}),
    "two writes": ("a >x, b >x", {(0, 1)}),
    "two reads": ("a x>, b x>", set()),
    "one stream is in order": ("a >x, a x>y, a y>x", set()),
    "a wait for a record": ("a >x, a record e, b wait e, b x>", set()),
    "a wait before the record": ("b wait e, a >x, a record e, b x>", {(0, 1)}),
    "a record before the work": ("a record e, a >x, b wait e, b x>", {(0, 1)}),
    "a wait behind the work": ("a >x, a record e, b x>, b wait e", {(0, 1)}),
    "a wait on the wrong stream": ("a >x, a record e, c wait e, b x>", {(0, 1)}),
    "the last record counts": ("a >x, a record e, c record e, b wait e, b x>", {(0, 1)}),
    "a later record moves no wait": ("a record e, b wait e, a >x, a record e, b x>", {(0, 1)}),
    "a record again, and a wait again": ("a record e, b wait e, a >x, a record e, b wait e, b x>", set()),
    "waits add up": ("a >x, c >y, a record e, c record f, b wait e, b wait f, b xy>", set()),
    "order goes on over a third stream": ("a >x, a record e, c wait e, c record f, b wait f, b x>", set()),
    "not if that one recorded first": ("a >x, a record e, c record f, c wait e, b wait f, b x>", {(0, 1)}),
    "a stream that waits for itself": ("a >x, a record e, a wait e, a x>", set()),
    "the host waits": ("a >x, a host_sync, b x>", set()),
    "the host waits for another stream": ("a >x, c host_sync, b x>", {(0, 1)}),
    "for a stream that waited": ("a >x, a record e, c wait e, c host_sync, b x>", set()),
    "the host waits too early": ("a host_sync, a >x, b x>", {(0, 1)}),
}


def among_kernels(program: list[Op], pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """The pairs, by the numbers that the ops have among the kernels."""
    number = {place: at for at, place in enumerate(kernels(program))}
    return {(number[one], number[other]) for one, other in pairs}


@pytest.fixture(scope="module")
def on_device() -> Iterator[Callable[..., Any]]:
    """Runs a function in a process of its own: a device that torch has been told of stays for good."""
    with ProcessPoolExecutor(1, fork_server(), with_device) as pool, no_main_module():
        yield lambda function, *args: pool.submit(function, *args).result(PATIENCE)


OnDevice = Callable[..., Any]


def test_each_rule_of_order(on_device: OnDevice) -> None:
    programs = [list(written(text)) for text, _ in RULES.values()]
    for program, run, (rule, (_, pairs)) in zip(
        programs, on_device(runs_on_device, programs), RULES.items(), strict=True
    ):
        assert among_kernels(program, racing_pairs(program)) == pairs, rule
        assert among_kernels(run.trace, races(run.trace)) == pairs, rule


def test_programs_without_a_race_give_the_sequential_values_on_threads() -> None:
    try:
        for program in race_free(0, count=60, length=15):
            assert values_on_threads(program, random.Random(0)) == sequential_values(program), program
    finally:
        threads.shutdown()


@pytest.mark.parametrize("part", range(5))
def test_programs_without_a_race_give_the_sequential_values_on_the_device(
    on_device: OnDevice, part: int
) -> None:
    """500 programs under three draws of costs each."""
    programs, rng = race_free(10_000 * part, count=100, length=10), random.Random(part)
    for _ in range(3):
        runs = on_device(runs_on_device, [with_costs(rng, program) for program in programs])
        for program, run in zip(programs, runs, strict=True):
            assert run.values == run.truth == sequential_values(program), program


def test_the_devices_trace_holds_the_races_of_the_program(on_device: OnDevice) -> None:
    """200 programs. Of those that race most give a wrong value; the others are right by luck."""
    programs = [drawn_program(random.Random(seed), 14) for seed in range(150)] + race_free(0, 50, length=12)
    wrong = racy = 0
    for program, run in zip(programs, on_device(runs_on_device, programs), strict=True):
        pairs = among_kernels(program, races(program))
        assert among_kernels(run.trace, races(run.trace)) == pairs, program
        assert run.truth == sequential_values(program), program
        racy += bool(pairs)
        wrong += run.values != run.truth
    assert 100 < racy and 50 < wrong <= racy


@pytest.mark.parametrize("launch", [0.0, 5.0])
def test_the_devices_timeline_follows_from_the_program(on_device: OnDevice, launch: float) -> None:
    """start = max(end of the stream's work, the host's clock, the marks waited for); end = start + cost."""
    programs = [drawn_program(random.Random(seed), 20, streams=4, events=3) for seed in range(60)]
    for program, run in zip(programs, on_device(runs_on_device, programs, launch), strict=True):
        expected = times(program, launch)
        assert [(kernel.start, kernel.end) for kernel in run.timeline] == expected, program
        assert [kernel.stream for kernel in run.timeline] == [program[at].stream for at in kernels(program)]
        assert run.clock == max((end for _, end in expected), default=0.0) / 1e6


@pytest.mark.parametrize("way", ["stream", "event", "device", "item"])
def test_an_error_in_a_kernel_is_raised_by_the_next_synchronisation(on_device: OnDevice, way: str) -> None:
    description, launched, after = on_device(error_of_a_kernel, way)
    assert "\nIndexError: " in description
    assert re.search(rf"kernel `index_select` on stream side, launched by .*, line {launched}\b", description)
    assert "in error_of_a_kernel" in description  # where it was waited for
    assert after == [1, 2]


def error_of_a_kernel(way: str) -> tuple[str, int, list[int]]:
    """What is shown of the error, the line that launched the kernel, and what a later kernel on the stream gives."""
    streams.reset()
    x, index = torch.tensor([1, 2]).to(streams.DEVICE), torch.tensor([7]).to(streams.DEVICE)
    side = streams.Stream(name="side")
    with streams.stream(side):
        chosen = x.index_select(0, index)
        after = x.clone()
    waits = {
        "stream": side.synchronize,
        "event": lambda: side.record_event().synchronize(),
        "device": streams.synchronize,
        "item": chosen.item,
    }
    launched = error_of_a_kernel.__code__.co_firstlineno + 6
    try:
        with streams.stream(side):
            waits[way]()
    except IndexError as error:
        streams.synchronize()  # it is raised once
        return "".join(traceback.format_exception(error)), launched, after.tolist()
    return "nothing was raised", launched, after.tolist()
