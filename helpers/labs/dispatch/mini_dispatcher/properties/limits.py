"""Properties of 12.mini_dispatcher: what is refused, what is told apart, and a mix of all."""

from __future__ import annotations

import threading
from typing import Any

from helpers.check.trial import Trial
from helpers.labs.dispatch.mini_dispatcher.exercise import (
    CALL,
    EXCLUDING,
    MESSAGE,
    NOTHING,
    REDISPATCH,
    THREADS,
    TWO,
    UNKNOWN,
    mini_dispatcher,
    x,
)
from helpers.labs.dispatch.mini_dispatcher.inputs import PRIORITY, Bench, Thing, come_out, counting, in_thread
from helpers.labs.dispatch.mini_dispatcher.mix import drawn_table
from helpers.notebook.stubs import missing_exercise


@mini_dispatcher.property(
    "an unknown key is a ValueError", asks=(UNKNOWN, "The key itself, or a ValueError.")
)
def unknown_keys(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    d = bench.dispatcher
    bench.register("add", *PRIORITY)
    bodies: list[str] = []

    def block(*keys: str) -> None:
        with d.excluding(*keys):
            bodies.append("ran")

    for words, run in (
        ('register("add", "fpga", kernel)', lambda: d.register("add", "fpga", bench.kernel("fpga of add"))),
        ('register("add", "fpga", PASS)', lambda: d.register("add", "fpga", bench.passing)),
        ('register_fallback("fpga", kernel)', lambda: d.register_fallback("fpga", bench.kernel("fallback"))),
        ('register_fallback("fpga", PASS)', lambda: d.register_fallback("fpga", bench.passing)),
        ('redispatch("add", "fpga", x)', lambda: d.redispatch("add", "fpga", x())),
        ('with excluding("fpga"): ...', lambda: block("fpga")),
        ('with excluding("cpu", "fpga"): ...', lambda: block("cpu", "fpga")),
        ('with excluding("fpga", "cpu"): ...', lambda: block("fpga", "cpu")),
    ):
        trial.given(f"MiniDispatcher({PRIORITY}, keys_of)")
        bench.ran.clear()
        raised = "nothing"
        try:
            run()
        except Exception as error:
            if missing_exercise(error):
                raise
            raised = type(error).__name__ if not isinstance(error, ValueError) else "ValueError"
        trial.true(
            raised == "ValueError",
            f"`{words}`: {raised} was raised, and fpga is none of the keys.",
            expected="ValueError",
            got=raised,
            observed=(words, raised, [name for name, _ in bench.ran]),
        )
        trial.true(
            not bench.ran and not bodies,
            f"`{words}`: ValueError was raised, and a kernel or the block ran before.",
            expected="ValueError, and nothing else",
            observed=(words, "ran", [name for name, _ in bench.ran], list(bodies)),
        )


@mini_dispatcher.property("a ValueError changes nothing", asks=(UNKNOWN, NOTHING))
def changes_nothing(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    d = bench.dispatcher
    bench.register("all", *PRIORITY)
    trial.given(f"MiniDispatcher({PRIORITY}, keys_of), and `all` has a kernel for each key")

    def refused(*keys: str) -> None:
        try:
            with d.excluding(*keys):
                pass
        except ValueError:
            pass

    lesson = "ValueError was raised, and it changes nothing."
    for keys in (("cpu", "fpga"), ("fpga", "cpu"), ("batch", "autograd", "fpga", "cpu")):
        refused(*keys)
        counting(bench, f"after excluding({', '.join(keys)}) was refused", "pabsc", lesson)
        with d.excluding("sparse", "batch"):
            refused(*keys)
            counting(
                bench,
                f"in a block excluding sparse and batch, after {', '.join(keys)} were refused",
                "pac",
                lesson,
            )
        counting(bench, "after that block", "pabsc", lesson)
    for refuse in (
        lambda: d.register("all", "fpga", bench.kernel("fpga of all")),
        lambda: d.register_fallback("fpga", bench.kernel("fallback of fpga")),
        lambda: d.register("all", "fpga", bench.passing),
        lambda: d.redispatch("all", "fpga", x()),
    ):
        try:
            refuse()
        except ValueError:
            pass
    one = Thing("x", "fpga", "cpu")
    bench.expect(
        'call("all", x) after register with fpga was refused, x with fpga and cpu',
        lambda: d.call("all", one),
        ["cpu of all"],
        lesson,
    )
    counting(
        bench, "after register, register_fallback and redispatch with fpga were refused", "pabsc", lesson
    )


@mini_dispatcher.property("a second thread does not see what a block excludes", asks=(THREADS, EXCLUDING))
def second_thread(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    d = bench.dispatcher
    bench.register("all", *PRIORITY)
    trial.given(
        f"MiniDispatcher({PRIORITY}, keys_of); a second thread runs, and ends, while a block excluding autograd is open"
    )
    lesson = "What a block excludes, it excludes in its own thread only."

    def other() -> None:
        counting(
            bench, "in a second thread, while the first is in a block excluding autograd", "pabsc", lesson
        )
        with d.excluding("cpu"):
            counting(
                bench,
                "in a block excluding cpu, in a second thread; the first excludes autograd",
                "pabs",
                lesson,
            )
        counting(bench, "in a second thread, after a block of its own", "pabsc", lesson)

    with d.excluding("autograd"):
        in_thread(trial, "A call in a second thread", other)
        counting(
            bench,
            "in a block excluding autograd, after a second thread with a block of its own",
            "pbsc",
            lesson,
        )
        in_thread(trial, "A block in a second thread", lambda: _opened(d, "batch"))
        counting(bench, "in a block excluding autograd, after a block in a second thread", "pbsc", lesson)
    in_thread(
        trial,
        "A call in a second thread",
        lambda: counting(bench, "in a second thread, after all blocks", "pabsc", lesson),
    )
    counting(bench, "after all blocks", "pabsc", lesson)


def _opened(dispatcher: Any, key: str) -> None:
    with dispatcher.excluding(key):
        pass


@mini_dispatcher.property("blocks of two threads, open at the same time", asks=THREADS)
def two_threads(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    d = bench.dispatcher
    bench.register("all", *PRIORITY)
    trial.given(
        f"MiniDispatcher({PRIORITY}, keys_of); a second thread waits in a block excluding batch, while the first goes on"
    )
    lesson = "What a block excludes, it excludes in its own thread only."
    opened, go, closed, end = (threading.Event() for _ in range(4))
    errors: list[BaseException] = []

    def other() -> None:
        try:
            with d.excluding("batch"):
                opened.set()
                go.wait()
                counting(bench, "in a block excluding batch; a first thread excludes cpu", "pasc", lesson)
            counting(bench, "after its block, in a second thread; the first excludes cpu", "pabsc", lesson)
            with d.excluding("sparse"):
                closed.set()
                end.wait()
                counting(
                    bench, "in a block excluding sparse, after the block of a first thread", "pabc", lesson
                )
        except BaseException as error:
            errors.append(error)
        finally:
            opened.set()
            closed.set()

    thread = threading.Thread(target=other, name=threading.current_thread().name, daemon=True)
    thread.start()
    try:
        opened.wait()
        counting(bench, "while a second thread excludes batch", "pabsc", lesson)
        with d.excluding("cpu"):
            counting(bench, "in a block excluding cpu, while a second thread excludes batch", "pabs", lesson)
            go.set()
            closed.wait()
            counting(bench, "in a block excluding cpu, after a second thread excluded batch", "pabs", lesson)
        counting(bench, "after a block of its own, while a second thread excludes sparse", "pabsc", lesson)
    finally:
        go.set()
        end.set()
        thread.join()
    come_out(trial, "A block in a second thread", errors)
    counting(bench, "after the blocks of two threads", "pabsc", lesson)


@mini_dispatcher.property("two dispatchers: tables, keys and blocks of their own", asks=TWO)
def two_dispatchers(answer: Any, trial: Trial) -> None:
    one = Bench(answer, trial)
    other = Bench(answer, trial, ["cpu", "autograd", "fpga"], lambda *args: ["autograd", "cpu", "fpga"])
    d, e = one.dispatcher, other.dispatcher
    trial.given(
        "two dispatchers, d and e; d has the priority above, e cpu, autograd, fpga; each gets kernels of its own"
    )
    lesson = "What one dispatcher knows, the other does not."
    one.register("all", *PRIORITY)
    one.expect('d.call("all", x)', lambda: d.call("all", x()), ["autograd of all"], lesson)
    other.expect_none('e.call("all", x)', lambda: e.call("all", x()), "e has no kernel yet.")
    other.dispatcher.register("all", "cpu", other.kernel("cpu of e"))
    other.dispatcher.register("all", "autograd", other.kernel("autograd of e"))
    e.register_fallback("fpga", other.kernel("fallback of e"))
    other.expect('e.call("all", x)', lambda: e.call("all", x()), ["cpu of e"], lesson)
    counting(one, "of d, after kernels were registered in e", "pabsc", lesson)
    e.register_fallback("autograd", other.passing)
    e.register("sub", "cpu", other.passing)
    one.register("sub", "cpu")
    d.register_fallback("autograd", one.kernel("fallback of d"))
    one.expect('d.call("sub", x)', lambda: d.call("sub", x()), ["fallback of d"], lesson)
    other.expect('e.call("sub", x)', lambda: e.call("sub", x()), ["fallback of e"], lesson)
    with d.excluding("cpu", "autograd"):
        other.expect(
            'e.call("all", x) in a block of d excluding cpu and autograd',
            lambda: e.call("all", x()),
            ["cpu of e"],
            lesson,
        )
        with e.excluding("cpu"):
            other.expect(
                'e.call("all", x) in a block of e excluding cpu, in one of d',
                lambda: e.call("all", x()),
                ["autograd of e"],
                lesson,
            )
            counting(one, "of d excluding cpu and autograd, in a block of e excluding cpu", "pbs", lesson)
        counting(one, "of d excluding cpu and autograd, after a block of e", "pbs", lesson)
        other.expect(
            'e.call("all", x) in a block of d, after one of e',
            lambda: e.call("all", x()),
            ["cpu of e"],
            lesson,
        )
    counting(one, "of d, after all blocks", "pabsc", lesson)


@mini_dispatcher.property("the message names the operator and the key", asks=MESSAGE)
def message(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    d = bench.dispatcher
    bench.register("add", "cpu")
    bench.register("conv2d", "cpu")
    d.register("conv2d", "sparse", bench.passing)
    d.register("conv2d", "batch", bench.passing)
    d.register("neg", "autograd", bench.passing)

    def without_batch() -> Any:
        with d.excluding("batch"):
            return d.call("matmul", Thing("x", "cpu", "batch"))

    for words, run, names in (
        ('call("conv2d", x), x with autograd and cpu', lambda: d.call("conv2d", x()), ("conv2d", "autograd")),
        (
            'call("matmul", x), x with sparse',
            lambda: d.call("matmul", Thing("x", "sparse")),
            ("matmul", "sparse"),
        ),
        (
            'redispatch("matmul", "python", x), x with batch',
            lambda: d.redispatch("matmul", "python", Thing("x", "batch")),
            ("matmul", "batch"),
        ),
        (
            'call("conv2d", x), x with sparse, which has PASS',
            lambda: d.call("conv2d", Thing("x", "sparse")),
            ("conv2d",),
        ),
        (
            'call("neg", x), x with autograd, which has PASS, and cpu',
            lambda: d.call("neg", x()),
            ("neg", "cpu"),
        ),
        (
            'redispatch("conv2d", "python", x), x with batch, which has PASS, python and autograd',
            lambda: d.redispatch("conv2d", "python", Thing("x", "batch", "python", "autograd")),
            ("conv2d", "autograd"),
        ),
        (
            'call("matmul", x) in a block excluding batch, x with cpu and batch',
            without_batch,
            ("matmul", "cpu"),
        ),
        ('call("conv2d", 3)', lambda: d.call("conv2d", 3), ("conv2d",)),
        ('redispatch("conv2d", "cpu", x)', lambda: d.redispatch("conv2d", "cpu", x()), ("conv2d",)),
    ):
        trial.given(f"MiniDispatcher({PRIORITY}, keys_of); `conv2d` has a kernel for cpu")
        text = str(bench.expect_none(words, run, "There is no kernel for it."))
        missing = [name for name in names if name not in text]
        trial.true(
            not missing,
            f"`{words}`: the message of NotImplementedError does not name {' and '.join(missing)}.",
            expected=f"a message with {' and '.join(names)} in it",
            got=text[:200] or "no message",
            observed=(words, "message", missing),
        )


@mini_dispatcher.property("tables, kernels and blocks drawn at random", asks=(CALL, REDISPATCH))
def at_random(answer: Any, trial: Trial) -> None:
    for _ in range(25):
        drawn_table(answer, trial)
