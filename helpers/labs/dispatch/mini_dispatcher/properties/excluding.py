"""Properties of 12.mini_dispatcher: blocks in which keys are excluded."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from helpers.check.trial import Trial
from helpers.labs.dispatch.mini_dispatcher.exercise import (
    EXCLUDING,
    FALLBACK,
    MADE,
    NESTED,
    REDISPATCH,
    REGISTER,
    TWO,
    Ended,
    Stopped,
    mini_dispatcher,
    x,
)
from helpers.labs.dispatch.mini_dispatcher.inputs import PRIORITY, Bench, Thing, counting


@mini_dispatcher.property(
    "excluded keys do not count, in calls of the block and of its kernels", asks=(EXCLUDING, REDISPATCH)
)
def excludes(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    d = bench.dispatcher
    bench.register("add", "python", "batch", "cpu", "sparse")
    bench.register("add", "autograd", then=lambda *args: d.redispatch("add", "autograd", *args))
    bench.register("mul", "autograd", "sparse")
    bench.register("mul", "cpu", then=lambda *args: d.call("add", *args))
    lesson = "In the block the excluded keys do not count, as if the arguments did not have them."
    trial.given(f"{MADE}")
    with d.excluding("autograd"):
        bench.expect(
            'call("add", x) in a block excluding autograd', lambda: d.call("add", x()), ["cpu of add"], lesson
        )
        bench.expect(
            'call("mul", x) in a block excluding autograd, whose kernel for cpu calls "add"',
            lambda: d.call("mul", x()),
            ["cpu of mul", "cpu of add"],
            lesson,
        )
    bench.expect(
        'call("add", x) after the block',
        lambda: d.call("add", x()),
        ["autograd of add", "cpu of add"],
        "The block is over, and its keys count again.",
    )
    every = Thing("x", *PRIORITY)
    trial.given("x has all keys")
    with d.excluding("batch", "python"):
        bench.expect(
            'call("add", x) in a block excluding batch and python, whose kernel for autograd hands on',
            lambda: d.call("add", every),
            ["autograd of add", "sparse of add"],
            lesson,
        )
    with d.excluding("sparse", "batch"):
        bench.expect(
            'redispatch("add", "autograd", x) in a block excluding sparse and batch',
            lambda: d.redispatch("add", "autograd", every),
            ["cpu of add"],
            lesson,
        )
    trial.given(f"{MADE}")
    with d.excluding("cpu", "autograd"):
        bench.expect_none(
            'call("add", x) in a block excluding cpu and autograd',
            lambda: d.call("add", x()),
            "No key is left.",
        )
    bench.register("sub", "cpu")
    trial.given(f"{MADE}; `sub` has a kernel for cpu only")
    with d.excluding("autograd"):
        without = "autograd is excluded here, and needs no kernel."
        bench.expect(
            'call("sub", x) in a block excluding autograd',
            lambda: d.call("sub", x()),
            ["cpu of sub"],
            without,
        )
        bench.expect(
            'redispatch("sub", "python", x) in a block excluding autograd',
            lambda: d.redispatch("sub", "python", x()),
            ["cpu of sub"],
            without,
        )
        bench.expect(
            'redispatch("sub", "autograd", x) in a block excluding autograd',
            lambda: d.redispatch("sub", "autograd", x()),
            ["cpu of sub"],
            "The key `below` is a place in `priority`, excluded or not.",
        )


@mini_dispatcher.property("a new dispatcher excludes nothing", asks=TWO)
def new_one(answer: Any, trial: Trial) -> None:
    one = Bench(answer, trial).dispatcher
    with one.excluding("autograd"), one.excluding("sparse"):
        pass
    bench = Bench(answer, trial)
    bench.register("all", *PRIORITY)
    trial.given(f"MiniDispatcher({PRIORITY}, keys_of), made after the blocks of a different one are over")
    counting(bench, "in a new dispatcher", "pabsc", "No block of its own is open, and others do not matter.")


@mini_dispatcher.property("what is registered in a block stays", asks=(EXCLUDING, REGISTER, FALLBACK))
def registers_in_a_block(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    d = bench.dispatcher
    bench.register("mul", "autograd", "cpu")
    trial.given(f"{MADE}; kernels and a fallback for autograd are registered in a block excluding autograd")
    lesson = "Excluded keys are kept out of calls. A kernel can be registered for them all the same."
    with d.excluding("autograd"):
        bench.register("add", "autograd", "cpu")
        d.register("mul", "autograd", bench.kernel("second kernel of mul"))
        d.register_fallback("autograd", bench.kernel("fallback"))
        bench.expect(
            'call("add", x) in the block', lambda: d.call("add", x()), ["cpu of add"], "autograd is excluded."
        )
    for op, want in (
        ("add", "autograd of add"),
        ("mul", "second kernel of mul"),
        ("sub", "fallback"),
    ):
        bench.expect(f'call("{op}", x) after the block', lambda op=op: d.call(op, x()), [want], lesson)


@mini_dispatcher.property("a kernel excludes its own key, and calls anew", asks=(EXCLUDING, NESTED))
def excludes_itself(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    d = bench.dispatcher

    def without_itself(*args: Any) -> Any:
        with d.excluding("autograd"):
            return d.call("add", *args)

    bench.dispatcher.register("add", "autograd", bench.kernel("autograd of add", without_itself))
    bench.register("add", "cpu")
    bench.register("mul", "cpu")
    bench.register(
        "mul",
        "autograd",
        then=lambda *args: (d.call("add", *args), d.redispatch("mul", "autograd", *args))[1],
    )
    trial.given(f"{MADE}; the kernel of `add` for autograd calls `add` in a block excluding autograd")
    lesson = "The block is over when its kernel has returned, and its keys count again."
    for again in ("", ", a second time"):
        bench.expect(
            f'call("add", x){again}', lambda: d.call("add", x()), ["autograd of add", "cpu of add"], lesson
        )
    bench.expect(
        'call("mul", x), whose kernel for autograd calls "add" and hands on',
        lambda: d.call("mul", x()),
        ["autograd of mul", "autograd of add", "cpu of add", "cpu of mul"],
        lesson,
    )


@mini_dispatcher.property("a kernel excludes other keys, and hands on", asks=(EXCLUDING, NESTED, REDISPATCH))
def excludes_others(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    d, every = bench.dispatcher, Thing("x", *PRIORITY)

    def without(op: str, below: str, *keys: str) -> Any:
        def then(*args: Any) -> Any:
            with d.excluding(*keys):
                return d.redispatch(op, below, *args)

        return then

    bench.register("add", "batch", "sparse", "cpu")
    bench.register("add", "autograd", then=without("add", "autograd", "batch"))
    lesson = "The block is open while the kernel hands on: its keys do not count, in `redispatch` either."
    trial.given(
        "x has all keys but python; the kernel of `add` for autograd hands on in a block excluding batch"
    )
    one = Thing("x", *PRIORITY[1:])
    for again in ("", ", a second time"):
        bench.expect(
            f'call("add", x){again}', lambda: d.call("add", one), ["autograd of add", "sparse of add"], lesson
        )
    trial.given(
        "x has all keys but python; the kernel of `add` for autograd hands on in a block excluding batch; the call stands in "
        "one excluding sparse"
    )
    with d.excluding("sparse"):
        bench.expect(
            'call("add", x) in a block', lambda: d.call("add", one), ["autograd of add", "cpu of add"], lesson
        )
    bench.expect(
        'call("add", x) after the block',
        lambda: d.call("add", one),
        ["autograd of add", "sparse of add"],
        "The block excluding sparse is over, and sparse counts again.",
    )
    trial.given(
        "x has all keys; the kernel of `mul` for python hands on twice: in a block excluding autograd and batch, then behind it"
    )

    def twice(*args: Any) -> Any:
        without("mul", "python", "autograd", "batch")(*args)
        return d.redispatch("mul", "python", *args)

    bench.register("mul", "autograd", "batch", "sparse", "cpu")
    bench.register("mul", "python", then=twice)
    bench.expect(
        'call("mul", x), x with all keys',
        lambda: d.call("mul", every),
        ["python of mul", "sparse of mul", "autograd of mul"],
        "In the block its keys do not count, and behind it they do.",
    )


@mini_dispatcher.property(
    "blocks in blocks: inside, all their keys are excluded; after each, it is as before", asks=NESTED
)
def nested(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    bench.register("all", *PRIORITY)
    d = bench.dispatcher
    trial.given(f"MiniDispatcher({PRIORITY}, keys_of), and `all` has a kernel for each key")
    inside, after = (
        "A block excludes its keys beside those that are excluded already.",
        "After a block all is as it was before this block.",
    )
    with d.excluding("autograd"):
        with d.excluding("sparse", "cpu"):
            counting(bench, "in a block excluding sparse and cpu, in one excluding autograd", "pb", inside)
        counting(bench, "after the inner block, in the outer one excluding autograd", "pbsc", after)
        with d.excluding("autograd", "batch"):
            counting(
                bench, "in a block excluding autograd and batch, in one excluding autograd", "psc", inside
            )
        counting(
            bench,
            "in a block excluding autograd, after an inner one that excluded autograd, too",
            "pbsc",
            after,
        )
        with d.excluding():
            counting(bench, "in a block excluding nothing, in one excluding autograd", "pbsc", inside)
        counting(
            bench, "in a block excluding autograd, after an inner one that excluded nothing", "pbsc", after
        )
        with d.excluding("cpu"), d.excluding("cpu"), d.excluding("sparse", "sparse"):
            counting(bench, "in four blocks excluding autograd, cpu, cpu, and sparse twice", "pb", inside)
    counting(bench, "after all blocks", "pabsc", after)


@mini_dispatcher.property(
    "after a block that an error ended, it is as before, and the error comes out", asks=NESTED
)
def ended_by_an_error(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    bench.register("all", *PRIORITY)
    d = bench.dispatcher
    trial.given(f"MiniDispatcher({PRIORITY}, keys_of); an error is raised in a block")
    lesson = "A block ends by an error, too, and then its keys count again."

    def raising(*args: Any) -> None:
        with d.excluding("cpu"):
            raise Ended

    for raised in (
        Ended(),
        NotImplementedError("raised in the block"),
        ValueError("raised in the block"),
        Stopped(),
    ):
        kind = "an error" if isinstance(raised, Exception) else "an error that is no Exception"
        came: BaseException | None = None
        try:
            with d.excluding("autograd"), d.excluding("batch"):
                raise raised
        except type(raised) as error:
            came = error
        trial.true(
            came is raised,
            f"An error was raised in the block, and it did not come out of it: {type(raised).__name__}.",
            expected="the error that was raised in the block",
            got="no error" if came is None else type(came).__name__,
            observed=("swallowed", type(raised).__name__, type(came).__name__),
        )
        counting(bench, f"after two blocks, each ended by {kind}", "pabsc", lesson)
    with ExitStack() as stack:
        stack.enter_context(d.excluding("autograd"))
        for _ in range(2):
            try:
                with d.excluding("sparse", "autograd"):
                    raise Ended
            except Ended:
                pass
            counting(
                bench, "in a block excluding autograd, after an inner one that an error ended", "pbsc", lesson
            )
        d.register("raises", "python", raising)
        try:
            d.call("raises", Thing("x", "python"))
        except Ended:
            pass
        counting(
            bench,
            "in a block excluding autograd, after a kernel that raised in a block of its own",
            "pbsc",
            lesson,
        )
    counting(bench, "after all blocks", "pabsc", lesson)


@mini_dispatcher.property("a block begins at its `with`, wherever it was made", asks=(EXCLUDING, NESTED))
def made_before(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    bench.register("all", *PRIORITY)
    d = bench.dispatcher
    trial.given("block = excluding(batch); then a block excluding autograd, and in it `with block: ...`")
    lesson = "What `excluding` gives excludes nothing before its `with`, and then its keys beside those excluded already."
    block = d.excluding("batch")
    counting(bench, "before the `with` of a block excluding batch", "pabsc", lesson)
    with d.excluding("autograd"):
        with block:
            counting(
                bench,
                "in a block excluding batch, made before the outer one excluding autograd",
                "psc",
                lesson,
            )
        counting(bench, "after that block, in the outer one excluding autograd", "pbsc", lesson)
    counting(bench, "after both blocks", "pabsc", lesson)
    trial.given("block = excluding(batch), in a block excluding autograd; after that one `with block: ...`")
    with d.excluding("autograd"):
        block = d.excluding("batch")
    with block:
        counting(bench, "in a block excluding batch, made in one that is over", "pasc", lesson)
    counting(bench, "after all blocks", "pabsc", lesson)
