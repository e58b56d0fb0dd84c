"""Exercise 12.mini_dispatcher: keys, kernels, and the way of a call from one to the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.dispatch.mini_dispatcher.inputs import PRIORITY, Bench, Empty, Thing, listed
from helpers.notebook.stubs import missing_exercise

mini_dispatcher = Exercise(
    "12.mini_dispatcher",
    "A dispatcher",
    objective="Write the table through which every operator of torch goes, and what takes a call from one row to the next.",
    minutes=40,
    difficulty="hard",
    names=("MiniDispatcher",),
    kind="class",
    hints=[
        "`call` is `redispatch` from above the highest key. So write one search, among the keys behind a place of `priority`, "
        "and let both use it.",
        "Walk through `priority`, not through the keys of the arguments. Of each key that counts, ask in this order: a kernel of "
        "this operator, then a fallback. What you find is a kernel, PASS or nothing, and only PASS goes on to the next key.",
        "What is excluded belongs to a thread and to a dispatcher: `self.local = threading.local()`. A new thread finds it empty, "
        'so read it by `getattr(self.local, "excluded", frozenset())`.',
        "`excluding` keeps what was excluded before, puts the union of it and the new keys in its place, and puts it back in a "
        "`finally`. Look whether all keys are known before you put anything anywhere.",
    ],
)

FINDS = "Finds the kernel for a call by the keys of its arguments, and lets kernels hand the call on."
LISTS = "`MiniDispatcher(priority, keys_of)`: `priority` lists all keys, the highest first."
KEYS_OF = "`keys_of(*args)` gives the keys of a call's arguments, in any order."
REGISTER = "`register(op, key, kernel)` sets the kernel of an operator for a key, in place of an earlier one."
FALLBACK = (
    "`register_fallback(key, kernel)` sets what runs for a key where an operator has no kernel of its own."
)
CALLED_AS = "Kernels are called as `kernel(*args)`, fallbacks as `kernel(op, *args)`."
PASSED = (
    "In place of either, `MiniDispatcher.PASS` can be registered: such a key is passed over, as if the arguments did not "
    "have it."
)
CALL = (
    "`call(op, *args)` runs the kernel of the highest key that the arguments have and that is neither passed over nor excluded, "
    "and returns what it returns."
)
RAISED = "What kernels and `keys_of` raise comes out."
OTHERS = "Keys that are not in `priority` do not count."
REDISPATCH = "`redispatch(op, below, *args)` does the same among the keys below the key `below`."
NO_KERNEL = "Where the highest such key has no kernel and no fallback, NotImplementedError is raised, and so where no key is left."
MESSAGE = "Its message names the operator and the key, if there is one."
EXCLUDING = "`with dispatcher.excluding(*keys): ...` keeps these keys out of all calls in the block, also of calls that kernels make."
NESTED = "Blocks can be nested, and after a block, also one that an error ended, all is as before it."
THREADS = "Other threads do not see it."
UNKNOWN = "A key that is not in `priority` is a ValueError in `register`, `register_fallback`, `redispatch` and `excluding`."
NOTHING = "It changes nothing."
TWO = "Two dispatchers know nothing of each other."

MADE = f'MiniDispatcher({PRIORITY}, keys_of); x has the keys "cpu" and "autograd"'


class Ended(Exception):
    """What ends a block in the check."""


class Stopped(BaseException):
    """What ends a block or a kernel in the check: no Exception, as that of the stop button."""


def x() -> Thing:
    return Thing("x", "cpu", "autograd")


@mini_dispatcher.property(
    "the kernel of the highest key that the arguments have", asks=(FINDS, LISTS, CALL, REGISTER)
)
def highest(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    bench.register("add", "cpu", "python", "sparse", "autograd", "batch")  # as they come, in no order
    bench.register("mul", "sparse", "cpu", "autograd", "batch")
    lesson = "The first of `priority` that is among the keys of the arguments is the highest."
    for op, keys, want in (
        ("add", ("cpu",), "cpu"),
        ("add", ("cpu", "autograd"), "autograd"),
        ("add", ("batch", "sparse"), "batch"),
        ("mul", ("cpu", "sparse"), "sparse"),
        ("mul", ("cpu", "batch", "autograd", "sparse"), "autograd"),
        ("add", ("sparse", "cpu", "python", "batch"), "python"),
    ):
        trial.given(f"MiniDispatcher({PRIORITY}, keys_of), and x with the keys {', '.join(keys)}")
        one = Thing("x", *keys)
        bench.expect(
            f'call("{op}", x)',
            lambda op=op, one=one: bench.dispatcher.call(op, one),
            [f"{want} of {op}"],
            lesson,
        )
    trial.given(f"MiniDispatcher({PRIORITY}, keys_of), and x, y, z with the keys cpu, autograd and batch")
    three = Thing("x", "cpu"), Thing("y", "autograd"), Thing("z", "batch")
    for place in range(3):
        args = (*three[place:], *three[:place])
        words = f'call("add", {", ".join(map(str, args))})'
        bench.expect(
            words, lambda args=args: bench.dispatcher.call("add", *args), ["autograd of add"], lesson
        )


@mini_dispatcher.property("two dispatchers: a table each", asks=TWO)
def tables_of_their_own(answer: Any, trial: Trial) -> None:
    one, other = Bench(answer, trial), Bench(answer, trial)
    d, e = one.dispatcher, other.dispatcher
    d.register("all", "autograd", one.kernel("kernel of d"))
    d.register_fallback("cpu", one.kernel("fallback of d"))
    for what, op, key in (("kernel", "all", "autograd"), ("fallback", "sub", "cpu")):
        trial.given(
            f"two dispatchers, d and e; d is given a {what} for {key}, and e nothing; x has the key {key}"
        )
        one.ran.clear()
        try:
            e.call(op, Thing("x", key))
        except Exception as error:
            if missing_exercise(error):
                raise
        trial.true(
            not one.ran,
            f'`e.call("{op}", x)` ran the {what} that was registered in d. What one dispatcher knows, the other does not.',
            expected="NotImplementedError, and no kernel",
            got=listed([name for name, _ in one.ran]),
            observed=("of d", what),
        )


@mini_dispatcher.property("keys_of is asked for all arguments of a call together", asks=KEYS_OF)
def asked_together(answer: Any, trial: Trial) -> None:
    by_number = {0: "sparse", 1: "cpu", 2: "batch", 3: "autograd"}
    bench = Bench(answer, trial, keys=lambda *args: [by_number[len(args)]])
    bench.register("add", *PRIORITY)
    for args in ((1,), (1, 2), (1, 2, 3), ()):
        key = by_number[len(args)]
        words = f"{len(args)} arguments" if len(args) != 1 else "1 argument"
        trial.given(
            f"MiniDispatcher({PRIORITY}, keys_of); for {words} `keys_of` gives {key}; `add` has a kernel for every key"
        )
        bench.expect(
            f'call("add"{"".join(f", {each}" for each in args)})',
            lambda args=args: bench.dispatcher.call("add", *args),
            [f"{key} of add"],
            "The keys are those that `keys_of(*args)` gives, also where there are no arguments.",
        )


@mini_dispatcher.property(
    "kernels get the arguments as they came, and what they return comes back", asks=(CALLED_AS, CALL)
)
def hands_over(answer: Any, trial: Trial) -> None:
    everything: tuple[Any, ...] = ("python", None, 3, torch.ones(2, 2), [1, 2], x())
    for args in (everything, (everything[-1],), ()):
        for words, result in (
            ("None", None),
            ("False", False),
            ("an empty list", []),
            ("a text", "text"),
            ("a tensor", torch.zeros(3)),
        ):
            bench = Bench(answer, trial, keys=lambda *args: ["cpu", "autograd"])
            bench.dispatcher.register(
                "add", "autograd", bench.kernel("autograd of add", lambda *a, r=result: r)
            )
            bench.register("add", "cpu")
            number = f"{len(args)} arguments" if len(args) != 1 else "1 argument"
            trial.given(f"call of a kernel with {number}, which returns {words}")
            bench.expect(
                'call("add", ...)',
                lambda bench=bench, args=args: bench.dispatcher.call("add", *args),
                ["autograd of add"],
                "One kernel runs in a call, whatever it returns.",
                result=result,
            )
            got = bench.ran[0][1]
            trial.true(
                len(got) == len(args) and all(one is other for one, other in zip(got, args, strict=True)),
                "The kernel did not get the arguments of the call, the same objects in the same order.",
                expected=f"{len(args)} arguments: {[type(each).__name__ for each in args]}",
                got=f"{len(got)} arguments: {[type(each).__name__ for each in got]}",
                observed=("arguments", [type(each).__name__ for each in got]),
            )


@mini_dispatcher.property("keys in any order, and in anything that can be iterated", asks=KEYS_OF)
def any_order(answer: Any, trial: Trial) -> None:
    def once(keys: list[str]) -> Iterator[str]:
        yield from keys

    for words, form in (("a list", list), ("a tuple", tuple), ("a set", set), ("a generator", once)):
        for keys in (["cpu", "batch", "sparse"], ["batch", "cpu", "batch"], ["sparse", "cpu", "batch"]):

            def given(*args: Any, form: Any = form, keys: list[str] = keys) -> Iterable[str]:
                return form(keys)

            bench = Bench(answer, trial, keys=given)
            bench.register("add", *PRIORITY)
            trial.given(f"priority {PRIORITY}; keys_of gives {words} of {keys}")
            bench.expect(
                'call("add", 1)',
                lambda bench=bench: bench.dispatcher.call("add", 1),
                ["batch of add"],
                "The order of `priority` decides, and what `keys_of` gives may be read once only.",
            )


@mini_dispatcher.property("a priority of forty keys", asks=(LISTS, CALL))
def many_keys(answer: Any, trial: Trial) -> None:
    names = trial.random.sample([f"key {number:02}" for number in range(40)], 40)
    for count in (2, 3, 3, 5, 5, 11, 40):
        bench = Bench(answer, trial, names)
        bench.register("add", *reversed(names))
        places = trial.random.sample(range(40), count)
        trial.given(
            f"a priority of 40 keys, and x with the keys at places {places[:6]}{' ...' * (count > 6)} of it"
        )
        one = Thing("x", *(names[place] for place in places))
        bench.expect(
            'call("add", x)',
            lambda bench=bench, one=one: bench.dispatcher.call("add", one),
            [f"{names[min(places)]} of add"],
            "The first of `priority` that is among the keys of the arguments is the highest.",
        )


@mini_dispatcher.property("keys that are not in priority do not count", asks=OTHERS)
def others_do_not_count(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    bench.register("add", *PRIORITY)
    for keys in (
        ("fpga", "cpu"),
        ("cpu", "zeta", "batch"),
        ("autograd", "aaa"),
        ("autograd_of_mine", "cpu"),
        ("sparse", "python3", "auto"),
    ):
        trial.given(f"priority {PRIORITY}, and x with the keys {', '.join(keys)}")
        one = Thing("x", *keys)
        want = min((key for key in keys if key in PRIORITY), key=PRIORITY.index)
        bench.expect(
            'call("add", x)',
            lambda one=one: bench.dispatcher.call("add", one),
            [f"{want} of add"],
            "An argument may have keys that this dispatcher does not know.",
        )


@mini_dispatcher.property(
    "the highest key has no kernel: NotImplementedError, and no lower kernel runs", asks=NO_KERNEL
)
def no_kernel(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    bench.register("add", "cpu")
    bench.register("mul", "autograd", "cpu")
    trial.given(f"{MADE}; `add` has a kernel for cpu only")
    bench.expect_none(
        'call("add", x)',
        lambda: bench.dispatcher.call("add", x()),
        "x has the key autograd, and `add` has no kernel for it.",
    )
    trial.given(f"{MADE}; nothing is registered for `sub`")
    bench.expect_none(
        'call("sub", x)', lambda: bench.dispatcher.call("sub", x()), "`sub` has no kernel for autograd."
    )


@mini_dispatcher.property("no key: NotImplementedError", asks=NO_KERNEL)
def no_key(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    bench.register("add", *PRIORITY)
    for words, args in (
        ('call("add", y), and y has the key fpga only', (Thing("y", "fpga"),)),
        ('call("add", 3)', (3,)),
        ('call("add")', ()),
    ):
        trial.given(f"MiniDispatcher({PRIORITY}, keys_of); `add` has a kernel for every key")
        bench.expect_none(
            words,
            lambda args=args: bench.dispatcher.call("add", *args),
            "None of the keys counts, so there is no kernel to run.",
        )


@mini_dispatcher.property("a later kernel takes the place of an earlier one", asks=REGISTER)
def in_place_of(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    lesson = "What was registered last counts, also after calls."
    bench.register("add", "autograd", "cpu")
    trial.given(f"{MADE}; a kernel is registered, then a second one, before and after calls")
    for number in range(3):
        name = f"kernel {number + 1}"
        bench.dispatcher.register("add", "autograd", bench.kernel(name))
        bench.expect('call("add", x)', lambda: bench.dispatcher.call("add", x()), [name], lesson)
    bench.dispatcher.register("add", "autograd", bench.kernel("kernel 4"))
    bench.dispatcher.register("add", "autograd", bench.kernel("kernel 5"))
    bench.expect('call("add", x)', lambda: bench.dispatcher.call("add", x()), ["kernel 5"], lesson)
    one = Thing("x", "cpu")
    bench.expect(
        'call("add", x), x with cpu only', lambda: bench.dispatcher.call("add", one), ["cpu of add"], lesson
    )
    trial.given(f"{MADE}; a call fails since there is no kernel, then one is registered")
    bench.expect_none('call("mul", x)', lambda: bench.dispatcher.call("mul", x()), "`mul` has no kernel yet.")
    bench.register("mul", "autograd")
    bench.expect('call("mul", x)', lambda: bench.dispatcher.call("mul", x()), ["autograd of mul"], lesson)


def _call_of(args: tuple[Any, ...]) -> str:
    return f"kernel({', '.join(map(repr, args))})"


@mini_dispatcher.property(
    "a fallback runs where the operator has no kernel of its own, and gets its name",
    asks=(FALLBACK, CALLED_AS),
)
def falls_back(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    bench.register("add", "autograd", "cpu")
    bench.register("mul", "cpu")
    bench.dispatcher.register_fallback("autograd", bench.kernel("fallback"))
    one = x()
    trial.given(
        f"{MADE}; a fallback for autograd; `add` has kernels for autograd and cpu, `mul` for cpu, `sub` none"
    )
    bench.expect(
        'call("add", x)',
        lambda: bench.dispatcher.call("add", one),
        ["autograd of add"],
        "The operator's own kernel comes before the fallback of the same key.",
    )
    for op, lesson in (
        ("mul", "A fallback of the highest key comes before a kernel of a lower one."),
        (
            "sub",
            "A fallback serves each operator that has no kernel of its own for the key, also one without any.",
        ),
    ):
        bench.expect(
            f'call("{op}", x, 2)',
            lambda op=op: bench.dispatcher.call(op, one, 2),
            ["fallback"],
            lesson,
        )
        got = bench.ran[0][1]
        trial.true(
            len(got) == 3 and got[0] == op and got[1] is one and got[2] == 2,
            f'The fallback was not called as kernel(op, *args) by `call("{op}", x, 2)`.',
            expected=_call_of((op, one, 2)),
            got=_call_of(got),
            observed=("fallback called", list(map(repr, got))),
        )
    trial.given(f"{MADE}; the same, then `mul` gets a kernel for autograd, and the fallback is set anew")
    bench.register("mul", "autograd")
    bench.dispatcher.register_fallback("autograd", bench.kernel("second fallback"))
    lesson = "What was registered last counts."
    bench.expect('call("mul", x)', lambda: bench.dispatcher.call("mul", one), ["autograd of mul"], lesson)
    bench.expect('call("sub", x)', lambda: bench.dispatcher.call("sub", one), ["second fallback"], lesson)
    only = Thing("x", "cpu")
    trial.given("a fallback for autograd; x has the key cpu only")
    bench.expect_none(
        'call("sub", x)', lambda: bench.dispatcher.call("sub", only), "A fallback belongs to its key only."
    )


def _class_attribute(bench: Bench) -> None:
    """Wrong unless the class's own PASS passes a key over, where the object's PASS is a different one."""
    seen = ""
    bench.ran.clear()
    try:
        bench.dispatcher.call("add", x())
    except Exception as error:
        if missing_exercise(error):
            raise
        seen = type(error).__name__
    names = [name for name, _ in bench.ran]
    if seen or names != ["cpu of add"]:
        bench.trial.fail(
            "`MiniDispatcher.PASS` was registered, and the key was not passed over. The dispatcher has a PASS of its own, "
            "which is a different object.",
            expected="cpu of add",
            got=seen or listed(names),
            observed=("PASS of the class", seen, names),
        )


@mini_dispatcher.property("a key with PASS is passed over", asks=(PASSED, CALL))
def passes(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    d = bench.dispatcher
    bench.register("add", "cpu")
    bench.register("mul", "autograd", "cpu")
    bench.register("neg", "autograd", "cpu")
    d.register("add", "autograd", bench.passing)
    d.register_fallback("batch", bench.passing)
    trial.given(f"{MADE}; for autograd `add` has PASS, `mul` a kernel")
    lesson = "With PASS the search goes on at the next key."
    if d.PASS is not bench.passing:
        _class_attribute(bench)
    bench.expect('call("add", x)', lambda: d.call("add", x()), ["cpu of add"], lesson)
    bench.expect(
        'call("mul", x)', lambda: d.call("mul", x()), ["autograd of mul"], "Only `add` has PASS there."
    )
    trial.given("PASS is the fallback for batch; x has the keys batch and cpu")
    one = Thing("x", "batch", "cpu")
    bench.expect('call("mul", x)', lambda: d.call("mul", one), ["cpu of mul"], lesson)
    bench.register("mul", "batch")
    bench.expect(
        'call("mul", x)',
        lambda: d.call("mul", one),
        ["batch of mul"],
        "`mul` has a kernel of its own for batch now.",
    )
    bench.expect('call("add", x)', lambda: d.call("add", one), ["cpu of add"], lesson)
    d.register_fallback("autograd", bench.kernel("fallback"))
    trial.given(f"{MADE}; a fallback for autograd, and `add` has PASS there")
    bench.expect(
        'call("add", x)',
        lambda: d.call("add", x()),
        ["cpu of add"],
        "PASS of the operator comes before the fallback.",
    )
    trial.given(
        "x has the keys autograd, batch and cpu; `add` has PASS for autograd, and PASS is the fallback for batch"
    )
    three = Thing("x", "cpu", "autograd", "batch")
    bench.expect(
        'call("add", x), with PASS for two keys',
        lambda: d.call("add", three),
        ["cpu of add"],
        "Each key with PASS is passed over.",
    )
    trial.given(
        "x has the keys autograd and batch; `add` has PASS for autograd, and PASS is the fallback for batch"
    )
    two = Thing("x", "autograd", "batch")
    bench.expect_none(
        'call("add", x)', lambda: d.call("add", two), "Both keys are passed over, and no key is left."
    )
    trial.given(f"{MADE}; PASS in place of a kernel, then a kernel in place of PASS")
    d.register("neg", "autograd", bench.passing)
    bench.expect('call("neg", x)', lambda: d.call("neg", x()), ["cpu of neg"], "PASS was registered last.")
    bench.register("add", "autograd")
    bench.expect(
        'call("add", x)', lambda: d.call("add", x()), ["autograd of add"], "The kernel was registered last."
    )
    trial.given("PASS in place of a fallback, then a fallback in place of PASS")
    d.register_fallback("autograd", bench.passing)
    d.register_fallback("batch", bench.kernel("fallback of batch"))
    bench.register("sub", "cpu")
    bench.expect('call("sub", x)', lambda: d.call("sub", x()), ["cpu of sub"], "PASS was registered last.")
    bench.expect(
        'call("sub", x)',
        lambda: d.call("sub", one),
        ["fallback of batch"],
        "The fallback was registered last.",
    )


@mini_dispatcher.property(
    "a fallback that is set between two calls counts in the second", asks=(FALLBACK, PASSED)
)
def sets_fallbacks_alone(answer: Any, trial: Trial) -> None:
    bench, one = Bench(answer, trial), x()
    d, lesson = bench.dispatcher, "What was registered last counts, also where it is only a fallback."
    bench.register("add", "cpu")
    trial.given(f"{MADE}; `add` has a kernel for cpu; between the calls only fallbacks for autograd are set")
    for words, call in {
        'call("add", x)': lambda: d.call("add", one),
        'redispatch("add", "python", x)': lambda: d.redispatch("add", "python", one),
    }.items():
        for name in ("first fallback", "second fallback", "", "third fallback"):
            d.register_fallback("autograd", bench.kernel(name) if name else bench.passing)
            bench.expect(words, call, [name or "cpu of add"], lesson)


@mini_dispatcher.property(
    "kernels and fallbacks that are false run as all others do", asks=(CALL, REGISTER, FALLBACK, CALLED_AS)
)
def false_ones(answer: Any, trial: Trial) -> None:
    bench = Bench(answer, trial)
    d, one = bench.dispatcher, Thing("x", "autograd", "cpu")
    bench.register("add", "cpu")
    bench.register("mul", "cpu")
    bench.register("neg", "cpu")
    d.register("add", "autograd", Empty(bench.kernel("empty kernel")))
    trial.given(
        f"{MADE}; the kernel of `add` for autograd is an object with the length 0, as an empty nn.Sequential"
    )
    lesson = "A kernel is there unless it is None, whatever `bool` says of it."

    def call(op: str, want: str, where: str = "") -> None:
        bench.expect(f'call("{op}", x){where}', lambda: d.call(op, one), [want], lesson)
        given = (op, one) if "fallback" in want else (one,) if "kernel" in want else bench.ran[0][1]
        trial.true(
            bench.ran[0][1] == given,
            f'The {want} was not called as {_call_of(given)} by `call("{op}", x)`{where}.',
            expected=_call_of(given),
            got=_call_of(bench.ran[0][1]),
            observed=(want, "called", list(map(repr, bench.ran[0][1]))),
        )

    call("add", "empty kernel")
    d.register_fallback("autograd", bench.kernel("fallback"))
    call("add", "empty kernel", ", with a fallback for autograd")
    d.register_fallback("autograd", bench.passing)
    call("add", "empty kernel", ", with PASS as the fallback for autograd")
    trial.given(
        f"{MADE}; the fallback for autograd is an object with the length 0; `mul` has a kernel for cpu only"
    )
    d.register_fallback("autograd", Empty(bench.kernel("empty fallback")))
    call("mul", "empty fallback")
    call("add", "empty kernel", ", with an empty fallback")
    trial.given(f"{MADE}; `neg` has PASS for autograd, and the fallback is an object with the length 0")
    d.register("neg", "autograd", bench.passing)
    call("neg", "cpu of neg")
