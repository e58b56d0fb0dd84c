"""Streams on threads: no thread stays, whatever ends a demonstration: shutdown, stop button, fork, exit."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from helpers.streams import threads
from helpers.streams.threads import Event, Stream, launch, stream
from tests.streams.test_threads import PATIENCE, fails, gate_on, queue, stream_threads


def test_shutdown_cuts_sleeps_short_and_drops_what_has_not_begun() -> None:
    one, other, log = Stream(), Stream(), []
    with stream(one):
        threads.sleep(1e9)
    queue(one, log, 1)
    other.wait_stream(one)
    queue(other, log, 2)
    threads.shutdown()
    assert stream_threads() == [] and log == []


def test_after_a_shutdown_old_streams_are_refused_and_new_ones_work() -> None:
    old, log = Stream(name="old"), []
    event = old.record_event()
    with stream(old):
        threads.shutdown()
        launch(log.append, 1)  # the block's stream has gone: on the new default stream
    threads.synchronize()
    assert log == [1] and event.query()
    for call in (old.synchronize, old.record_event, lambda: old.wait_event(event)):
        with pytest.raises(RuntimeError, match="the stream old was shut down"):
            call()
    threads.shutdown()
    threads.shutdown()


def test_shutdown_drops_an_error_that_nobody_saw() -> None:
    launch(fails, "unseen")
    threads.shutdown()
    threads.synchronize()


def test_shutdown_names_the_stream_whose_kernel_goes_on() -> None:
    begun, gate = threading.Event(), threading.Event()

    def busy() -> None:
        begun.set()
        gate.wait(PATIENCE)

    with stream(Stream(name="busy")):
        launch(busy)
    assert begun.wait(PATIENCE)  # one that has not begun never runs
    with pytest.raises(RuntimeError, match="a kernel still runs on busy"):
        threads.shutdown(patience=0.0)
    gate.set()
    assert_comes_true(lambda: stream_threads() == [])


def test_a_dropped_stream_finishes_its_work_and_its_thread_ends() -> None:
    log: list[int] = []
    side = Stream()
    gate = gate_on(side)
    queue(side, log, 1)
    del side
    gc.collect()
    gate.set()
    assert_comes_true(lambda: stream_threads() == [])
    assert log == [1]
    threads.synchronize()


def assert_comes_true(fact: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not fact() and time.monotonic() < end:
        time.sleep(0.001)
    assert fact()


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals to a thread are POSIX")
def test_the_stop_button_ends_a_synchronisation_and_the_streams_go_on() -> None:
    side, gate, log = Stream(), threading.Event(), []
    main = threading.main_thread().ident
    with pytest.raises(KeyboardInterrupt), stream(side):
        launch(signal.pthread_kill, main, signal.SIGINT)
        launch(gate.wait, PATIENCE)
        side.synchronize()
    gate.set()
    queue(side, log, 1)
    side.synchronize()
    assert log == [1]


FORK = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


@FORK
def test_a_forked_child_is_refused_the_parents_streams_and_has_its_own() -> None:
    side = Stream()
    gate = gate_on(side)
    pending = side.record_event()
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    with stream(side):
        child = context.Process(target=use_streams_in_a_child, args=(side, pending, answers))
        child.start()
    message, log = answers.get(), []
    child.join(PATIENCE)
    assert child.exitcode == 0
    assert message[:-1] == ["this stream belongs to the process before the fork; make a new one"] * 5
    assert message[-1] == [1, 2]
    gate.set()
    queue(side, log, 3)
    side.synchronize()
    assert log == [3]


def use_streams_in_a_child(side: Stream, pending: Event, answers: Any) -> None:
    messages: list[Any] = []
    calls = (side.synchronize, side.record_event, side.query, pending.synchronize)
    for call in (*calls, lambda: queue(side, [], 1)):
        try:
            call()
        except RuntimeError as error:
            messages.append(str(error))
    log: list[int] = []
    launch(log.append, 1)
    threads.synchronize()
    queue(Stream(), log, 2)
    threads.synchronize()
    threads.shutdown()
    answers.put([*messages, log])


ENDS = """
from helpers.streams import threads

def forever():
    while True:
        pass

asleep, waits, fails, loops = (threads.Stream() for _ in range(4))
with asleep:
    threads.sleep(1e9)
waits.wait_stream(asleep)
with fails:
    threads.launch(lambda: 1 / 0)
with loops:
    threads.launch(forever)
"""


def test_the_interpreter_ends_while_streams_sleep_wait_fail_and_loop() -> None:
    ended = subprocess.run([sys.executable, "-c", ENDS], capture_output=True, text=True, timeout=PATIENCE)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
