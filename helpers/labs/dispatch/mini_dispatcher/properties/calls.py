"""Properties of 12.mini_dispatcher: how kernels hand a call on, call anew, and raise."""

from __future__ import annotations

from typing import Any

from helpers.check.trial import Trial
from helpers.labs.dispatch.mini_dispatcher.exercise import (
    CALL,
    CALLED_AS,
    KEYS_OF,
    MADE,
    NO_KERNEL,
    PASSED,
    RAISED,
    REDISPATCH,
    Ended,
    Stopped,
    mini_dispatcher,
    x,
)
from helpers.labs.dispatch.mini_dispatcher.inputs import PRIORITY, Bench, Thing, made_by
from helpers.notebook.stubs import missing_exercise


@mini_dispatcher.property(
    "a kernel hands the call on to the keys below its own",
    asks=(REDISPATCH, "and lets kernels hand the call on"),
)
def hands_on(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    d = bench.dispatcher
    for key in PRIORITY[:-1]:
        bench.register("add", key, then=lambda *args, key=key: d.redispatch("add", key, *args))
    bench.register("add", "cpu")
    lesson = "Each kernel hands on to what is below its own key."
    for keys in (("autograd", "cpu"), ("sparse", "cpu", "python"), tuple(PRIORITY)):
        ordered = sorted(keys, key=PRIORITY.index)
        trial.given(
            f"priority {PRIORITY}; x has the keys {', '.join(keys)}; kernels call redispatch with their own key"
        )
        one = Thing("x", *keys)
        bench.expect(
            'call("add", x, 2)',
            lambda one=one: d.call("add", one, 2),
            [f"{key} of add" for key in ordered],
            lesson,
        )
        trial.true(
            all(args[0] is one and args[1:] == (2,) for _, args in bench.ran),
            "A kernel further down did not get the arguments of `redispatch`.",
            expected="x and 2 in each kernel",
            got=str([args for _, args in bench.ran]),
            observed=("handed on", [[repr(each) for each in args] for _, args in bench.ran]),
        )


@mini_dispatcher.property(
    "redispatch looks as call does, among the keys below", asks=(REDISPATCH, NO_KERNEL, PASSED, CALLED_AS)
)
def the_same_below(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    d = bench.dispatcher
    bench.register("add", *PRIORITY)
    bench.register("mul", "python", "autograd", "cpu")
    one, every = x(), Thing("x", *reversed(PRIORITY))
    lesson = "Only keys below count, and of these the highest that the arguments have."
    trial.given(
        f"priority {PRIORITY}; redispatch is called outside of a kernel; x has the keys autograd and cpu"
    )
    for below, want in (("python", "autograd"), ("autograd", "cpu"), ("batch", "cpu"), ("sparse", "cpu")):
        bench.expect(
            f'redispatch("add", "{below}", x)',
            lambda below=below: d.redispatch("add", below, one),
            [f"{want} of add"],
            lesson,
        )
    bench.expect_none(
        'redispatch("add", "cpu", x)', lambda: d.redispatch("add", "cpu", one), "Nothing is below cpu."
    )
    trial.given("x has all keys; `mul` has a kernel for autograd and for cpu, and none between them")
    bench.expect_none(
        'redispatch("mul", "autograd", x)',
        lambda: d.redispatch("mul", "autograd", every),
        "The highest key below is batch, and it has no kernel.",
    )
    d.register_fallback("batch", bench.passing)
    d.register_fallback("sparse", bench.kernel("fallback"))
    trial.given(
        "x has all keys; `mul` has a kernel for autograd and for cpu, PASS is the fallback for batch, and sparse has a fallback"
    )
    bench.expect(
        'redispatch("mul", "autograd", x)',
        lambda: d.redispatch("mul", "autograd", every),
        ["fallback"],
        lesson,
    )
    trial.true(
        bench.ran[0][1] == ("mul", every),
        '`redispatch("mul", "autograd", x)`: the fallback did not get the operator and x.',
        expected=str(("mul", every)),
        got=str(bench.ran[0][1]),
        observed=("fallback got", [repr(each) for each in bench.ran[0][1]]),
    )
    d.register("mul", "sparse", bench.passing)
    bench.expect(
        'redispatch("mul", "autograd", x)',
        lambda: d.redispatch("mul", "autograd", every),
        ["cpu of mul"],
        "`mul` has PASS for sparse.",
    )


@mini_dispatcher.property(
    "the keys are those of the arguments that redispatch gets",
    asks=(REDISPATCH, KEYS_OF),
)
def keys_anew(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    d = bench.dispatcher
    dense, sparse = Thing("dense", "cpu"), Thing("sparse_one", "sparse", "batch")
    bench.register("mul", "cpu", "sparse", "batch")
    bench.register("add", "cpu", "sparse", "batch")
    bench.register("add", "autograd", then=lambda *args: d.redispatch("add", "autograd", dense))
    bench.register("mul", "autograd", then=lambda *args: d.redispatch("add", "batch", sparse, *args))
    trial.given(
        "the kernel of `add` for autograd hands on `dense`, which has cpu only; x has sparse, autograd and cpu"
    )
    lesson = "The keys are asked of the arguments that are handed on."
    one = Thing("x", "sparse", "autograd", "cpu")
    bench.expect('call("add", x)', lambda: d.call("add", one), ["autograd of add", "cpu of add"], lesson)
    trial.given(
        "the kernel of `mul` for autograd hands on to `add`, below batch, with an argument that has sparse and batch"
    )
    bench.expect('call("mul", x)', lambda: d.call("mul", x()), ["autograd of mul", "sparse of add"], lesson)


@mini_dispatcher.property("a call that a kernel makes begins at the highest key again", asks=CALL)
def calls_anew(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    d = bench.dispatcher
    bench.register("mul", "autograd", then=lambda *args: d.redispatch("mul", "autograd", *args))
    bench.register("add", "autograd", then=lambda *args: d.redispatch("add", "autograd", *args))
    bench.register("mul", "cpu", then=lambda *args: d.call("add", *args))
    bench.register("add", "cpu")
    trial.given(f"{MADE}; kernels of autograd hand on, and the kernel of `mul` for cpu calls `add`")
    lesson = "A call is a new one, whoever makes it: all keys count that are not excluded."
    want = ["autograd of mul", "cpu of mul", "autograd of add", "cpu of add"]
    for _ in range(2):
        bench.expect('call("mul", x)', lambda: d.call("mul", x()), want, lesson)

    def smaller(one: Thing, n: int) -> Any:
        return made_by("cpu of sum") if n == 0 else d.call("sum", one, n - 1)

    bench.register("sum", "autograd", then=lambda *args: d.redispatch("sum", "autograd", *args))
    bench.dispatcher.register("sum", "cpu", bench.kernel("cpu of sum", smaller))
    trial.given(f"{MADE}; the kernel of `sum` for cpu calls `sum` again, twice")
    bench.expect(
        'call("sum", x, 2)', lambda: d.call("sum", x(), 2), ["autograd of sum", "cpu of sum"] * 3, lesson
    )

    def both(*args: Any) -> Any:
        return d.redispatch("sub", "autograd", *args), d.redispatch("sub", "autograd", *args)

    bench.dispatcher.register("sub", "autograd", bench.kernel("autograd of sub", both))
    bench.register("sub", "cpu")
    trial.given(f"{MADE}; the kernel of `sub` for autograd hands on twice, and returns both results")
    result: list[Any] = []
    bench.expect(
        'call("sub", x)',
        lambda: result.append(d.call("sub", x())) or "done",
        ["autograd of sub", "cpu of sub", "cpu of sub"],
        "Each of the two goes to the keys below.",
        result="done",
    )
    trial.true(
        result == [(made_by("cpu of sub"),) * 2],
        "`call` does not return what the kernel for autograd returned: a tuple of two.",
        expected=str((made_by("cpu of sub"),) * 2),
        got=str(result[0]),
        observed=("both", str(result[0])[:80]),
    )


@mini_dispatcher.property("what a kernel raises comes out, and changes nothing", asks=RAISED)
def kernels_raise(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    d = bench.dispatcher
    bench.register("add", "cpu", "python")
    bench.dispatcher.register_fallback("autograd", bench.kernel("fallback"))
    bench.register("mul", "autograd", then=lambda *args: d.redispatch("mul", "autograd", *args))
    for error in (
        KeyError("add"),
        NotImplementedError("raised by a kernel"),
        AttributeError("a"),
        TypeError("t"),
        Ended(),
        Stopped(),
    ):

        def raising(*args: Any, error: BaseException = error) -> None:
            raise error

        d.register("add", "autograd", bench.kernel("autograd of add", raising))
        d.register("mul", "cpu", bench.kernel("cpu of mul", raising))
        for op, want in (("add", ["autograd of add"]), ("mul", ["autograd of mul", "cpu of mul"])):
            trial.given(f"{MADE}; a kernel of `{op}` raises a {type(error).__name__}")
            bench.ran.clear()
            came: BaseException | None = None
            try:
                d.call(op, x())
            except (Exception, Stopped) as other:
                if missing_exercise(other):
                    raise
                came = other
            names = [name for name, _ in bench.ran]
            trial.true(
                came is error and names == want,
                f"The kernel raised a {type(error).__name__}, and "
                + (
                    "no error came out of `call`."
                    if came is None
                    else "it came out, but others ran than should."
                    if came is error
                    else f"a different {type(came).__name__} came out of `call`."
                ),
                expected="the error of the kernel",
                got=(
                    "no error"
                    if came is None
                    else "the error"
                    if came is error
                    else f"a different {type(came).__name__}"
                )
                + f"; {', '.join(names)} ran",
                observed=(
                    "raised by a kernel",
                    type(error).__name__,
                    came is error,
                    type(came).__name__,
                    names,
                ),
            )
    d.register("add", "autograd", bench.kernel("autograd of add"))
    trial.given(f"{MADE}; calls whose kernels raised, then one whose kernel does not")
    bench.expect(
        'call("add", x)',
        lambda: d.call("add", x()),
        ["autograd of add"],
        "Nothing is left of the calls before.",
    )


@mini_dispatcher.property("what keys_of raises comes out", asks=RAISED)
def keys_of_raises(answer: Any, trial: Trial) -> None:
    for error in (
        ValueError("raised by keys_of"),
        AttributeError("a"),
        TypeError("t"),
        NotImplementedError("raised by keys_of"),
        Ended(),
    ):

        def keys(*args: Any, error: BaseException = error) -> list[str]:
            if "bad" in args:
                raise error
            return ["cpu"]

        bench = Bench(answer, trial, keys=keys)
        d = bench.dispatcher
        bench.register("add", *PRIORITY)
        for words, run in (
            ('call("add", "bad")', lambda d=d: d.call("add", "bad")),
            ('redispatch("add", "python", "bad")', lambda d=d: d.redispatch("add", "python", "bad")),
        ):
            kind = type(error).__name__
            trial.given(f"keys_of raises {kind} for the argument")
            bench.ran.clear()
            came: BaseException | None = None
            try:
                run()
            except Exception as other:
                if missing_exercise(other):
                    raise
                came = other
            names = [name for name, _ in bench.ran]
            name = type(came).__name__
            got = "no error" if came is None else f"a different {name}" if name == kind else name
            trial.true(
                came is error,
                f"`{words}`: `keys_of` raised {kind}, and {got} came out.",
                expected="the error of keys_of",
                got=got + (f"; {', '.join(names)} ran" if names else ""),
                observed=(words, kind, name, names),
            )
