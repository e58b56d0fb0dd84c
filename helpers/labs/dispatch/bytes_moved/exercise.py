"""Exercise 12.bytes_moved: the bytes that each operation reads and writes, on real tensors or without any."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from helpers.check.garbage import collector
from helpers.check.operations import operations
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.dispatch.bytes_moved import inputs
from helpers.labs.dispatch.bytes_moved.inputs import Tensors, counted, require, right

bytes_moved = Exercise(
    "12.bytes_moved",
    "Bytes that move",
    objective="Count what a computation reads and writes, before there is a machine that can run it.",
    minutes=20,
    difficulty="medium",
    hints=[
        "A `TorchDispatchMode` around `fn(*args)` sees each operation with its arguments, and its result when it has run. "
        "`tree_leaves((args, kwargs))` finds the tensors, in lists and by keyword, too.",
        "What is made is what does not lie in the memory of an argument: compare `untyped_storage()._cdata`. Addresses do not "
        "tell, since on the meta device all are 0.",
        "`func._schema.arguments` lists the arguments in their order. One whose `alias_info` is not None, with `is_write` True, is "
        "changed; its value stands in `args` at its place, or in `kwargs` under its name. It may be a list.",
        "Left out is a call whose results are tensors, where none is made and nothing is changed; and one whose "
        '`func.overloadpacket.__name__` begins with "empty" or "new_empty". `equal` gives no tensor, and counts.',
    ],
)

BYTES = "The bytes that the operations of `fn(*args)` read and write, by operation."
KEYS = "The keys are full names, as `str(func)` gives them, in the order of their first call."
SUM = "The value is the sum over all calls."
READS = "A call reads each tensor that it is given, by keyword and in lists, too, also one that it only overwrites."
WRITES = "It writes each tensor that it changes in place (by its schema) and each that it makes."
EACH = "Each has `numel() * element_size()` bytes, and counts in each place where it stands."
NOT_MADE = "What lies in the memory of an argument is not made."
LEFT_OUT = (
    "Left out are operations that change nothing and give tensors that all lie there (views, also `_unsafe_view` and "
    "`unsafe_split`), and those that only make memory (behind the library, their names begin with `empty` or `new_empty`)."
)
LISTED = "All others are listed, those of other libraries than aten, too, also with 0 bytes."
META = "On the meta device the result is that of real tensors, where the same operations run, and no memory is made."
ONCE = "`fn` runs once, and modes around the call see its operations, too."
ERRORS = "What it raises passes through."
KEPT = "No tensor is kept: a backward copies a gradient that somebody else holds."


@bytes_moved.property("what is read and what is made, by operation", asks=(BYTES, KEYS, SUM, READS, WRITES))
def read_and_made(answer: Any, trial: Trial) -> None:
    x = torch.randn(4, 3, generator=trial.generator)
    trial.given("torch.exp of an x of size (4, 3), twice")
    first, second = (_copy(trial.call(lambda: answer(torch.exp, x))) for _ in range(2))
    trial.true(
        first == second,
        "The same call, made again, gave a different result: something of an earlier call is left.",
        expected=first,
        got=second,
        observed="differs from call to call",
    )
    right(trial, first, counted(torch.exp, x), "torch.exp", "It reads x, and makes its result.")
    for case in (inputs.PLAIN, inputs.OVERLOADS, inputs.DTYPES):
        require(answer, trial, case)


def _copy(result: Any) -> Any:
    return dict(result) if isinstance(result, dict) else result


@bytes_moved.property("fn runs once, with the tensors themselves", asks=(ONCE, BYTES))
def once(answer: Any, trial: Trial) -> None:
    x, w = torch.randn(2, 4, 3, generator=trial.generator)
    w.requires_grad_()
    want, calls = x + 1, []

    def fn(*args: Tensor) -> None:
        calls.append([each is one for each, one in zip(args, (x, w), strict=False)])
        args[0].add_(1)
        (args[0] * args[1]).sum().backward()

    trial.given("an fn that edits its first tensor in place, and runs a backward to its second")
    trial.call(lambda: answer(fn, x, w))
    trial.true(
        len(calls) == 1,
        f"fn was called {len(calls)} times.",
        expected="1 call",
        got=f"{len(calls)} calls",
        observed=("calls", len(calls)),
    )
    trial.true(
        calls == [[True, True]],
        "fn did not get the tensors that bytes_moved got. Its operations are asked on these: what it does to them stays.",
        expected="the same objects",
        got="others",
        observed=("others", calls),
    )
    trial.equal(x, want, "The first tensor after it", rtol=0, atol=0, observed="not edited")
    trial.equal(w.grad, want, "The gradient of the second", observed="no gradient")
    require(answer, trial, inputs.LOSS)


@bytes_moved.property(
    "what is set around the call is so in fn, and modes around it go on", asks=(ONCE, BYTES)
)
def around(answer: Any, trial: Trial) -> None:
    x = torch.randn(4, 3, generator=trial.generator).requires_grad_()
    seen: list[tuple[bool, bool]] = []

    def fn(x: Tensor) -> None:
        seen.append((torch.is_grad_enabled(), torch.is_inference_mode_enabled()))
        x.exp()

    for words, block, want in (
        ("as usual", torch.enable_grad, (True, False)),
        ("under no_grad", torch.no_grad, (False, False)),
        ("under inference_mode", torch.inference_mode, (False, True)),
    ):
        seen.clear()
        trial.given(f"bytes_moved is called {words}")
        with block():
            trial.call(lambda: answer(fn, x))
        trial.true(
            seen[-1:] == [want],
            "In fn it is not set as around the call whether gradients are recorded, or inference_mode.",
            expected=_set(*want),
            got=_set(*seen[-1]) if seen else "fn did not run",
            observed=("set", words, seen[-1:]),
        )
    trial.given("a mode around the call of bytes_moved; x.exp() in fn")
    plain = x.detach()
    with operations() as ran:
        trial.call(lambda: answer(fn, plain))
    others = [each.name for each in ran]
    trial.true(
        others == ["exp"],
        f"The mode around the call saw {len(others)} operations, and one runs in fn.",
        expected="exp",
        got=", ".join(others) or "nothing",
        observed=("mode around", others),
    )


def _set(gradients: bool, inference: bool) -> str:
    return f"gradients {'on' if gradients else 'off'}, inference_mode {'on' if inference else 'off'}"


@bytes_moved.property("views are left out", asks=(NOT_MADE, LEFT_OUT))
def views(answer: Any, trial: Trial) -> None:
    for case in (inputs.VIEWS, inputs.LISTS_OF_VIEWS, inputs.UNSAFE):
        require(answer, trial, case)


@bytes_moved.property("tensors in lists, by keyword, and in two places", asks=(READS, EACH))
def everywhere(answer: Any, trial: Trial) -> None:
    for case in (inputs.LISTS, inputs.BY_KEYWORD, inputs.TWICE):
        require(answer, trial, case)


@bytes_moved.property("what is changed in place is read and written", asks=(WRITES, READS, NOT_MADE, BYTES))
def in_place(answer: Any, trial: Trial) -> None:
    for case in (
        inputs.IN_PLACE,
        inputs.OUT,
        inputs.OF_LISTS,
        inputs.RUNNING,
        inputs.PARAMETERS,
        inputs.OUT_LISTS,
        inputs.TWICE_CHANGED,
    ):
        require(answer, trial, case)


@bytes_moved.property("views and copies under inference_mode", asks=(NOT_MADE, LEFT_OUT, WRITES))
def under_inference(answer: Any, trial: Trial) -> None:
    require(answer, trial, inputs.INFERENCE)


@bytes_moved.property("any number of results, and none", asks=(WRITES, BYTES, LISTED))
def results(answer: Any, trial: Trial) -> None:
    for case in (
        inputs.SEVERAL,
        inputs.MAKERS,
        inputs.NO_TENSORS,
        inputs.NOTHING,
        inputs.OTHER_LIBRARIES,
        inputs.WRITTEN_AND_GIVEN,
    ):
        require(answer, trial, case)


@bytes_moved.property("operations that only make memory are left out", asks=LEFT_OUT)
def only_memory(answer: Any, trial: Trial) -> None:
    require(answer, trial, inputs.ONLY_MEMORY)


@bytes_moved.property("the size of a tensor is that of its numbers", asks=EACH)
def sizes(answer: Any, trial: Trial) -> None:
    require(answer, trial, inputs.SIZES)


@bytes_moved.property("no tensor is kept", asks=KEPT)
def nothing_kept(answer: Any, trial: Trial) -> None:
    x = torch.randn(4, 3, generator=trial.generator)
    alive: list[tuple[str, int]] = []
    made: list[StorageWeakRef] = []

    def makes_and_lets_go(x: Tensor) -> None:
        given = x + 1
        made.extend(StorageWeakRef(each.untyped_storage()) for each in (given, given.exp(), given.abs()))

    def fn(x: Tensor) -> None:
        makes_and_lets_go(x)
        alive.append(("at once", sum(not each.expired() for each in made)))
        x.cos()
        alive.append(("one operation later", sum(not each.expired() for each in made)))

    trial.given("an fn that makes three tensors and lets go of them; the garbage collector does not run")
    with collector(by_itself=False):
        trial.call(lambda: answer(fn, x))
    kept = [(when, count) for when, count in alive if count]
    trial.true(
        not kept,
        f"In fn, {kept[0][1] if kept else 0} of 3 tensors that nobody else has are still alive {kept[0][0] if kept else ''}: something "
        "of bytes_moved holds them. It changes what is counted, since a backward copies a gradient that somebody else holds.",
        expected="no tensor alive",
        got="; ".join(f"{when}: {count} alive" for when, count in alive),
        observed=("alive", alive),
    )


@bytes_moved.property("a backward, too", asks=(BYTES, SUM, KEPT))
def backward(answer: Any, trial: Trial) -> None:
    require(answer, trial, inputs.TRAINING)
    require(answer, trial, inputs.TWICE_BACKWARD)


@bytes_moved.property("what fn raises passes through, and nothing of it is left", asks=(ERRORS, BYTES))
def errors(answer: Any, trial: Trial) -> None:
    x = torch.randn(4, 3, generator=trial.generator)
    for words, error in (("KeyError", KeyError("of fn")), ("an error that is no Exception", _Stop("of fn"))):

        def fn(x: Tensor, error: BaseException = error) -> None:
            x.exp()
            raise error

        trial.given(f"an fn that raises {words} behind x.exp()")
        came: BaseException | None = None
        got: Any = None
        modes = torch._C._len_torch_dispatch_stack()
        try:
            got = answer(fn, x)
        except NotImplementedError:
            raise
        except (Exception, _Stop) as raised:
            came = raised
        trial.true(
            came is error,
            "fn raised an error, and a different one came out of bytes_moved."
            if came is not None
            else "fn raised an error, and it did not come out of bytes_moved.",
            expected=words,
            got=f"a different error: {type(came).__name__}" if came is not None else f"returned {got!r}",
            observed=(words, "nothing" if came is None else "a different error", type(got).__name__),
        )
        trial.true(
            torch._C._len_torch_dispatch_stack() == modes,
            "fn raised an error, and behind the call of bytes_moved its mode is still on.",
            expected="the modes that were on before the call",
            got=f"{torch._C._len_torch_dispatch_stack() - modes} more",
            observed="the mode stays on",
        )
        error.__traceback__ = came = None
    trial.given("x @ x of size (4, 3), behind x.exp()")
    trial.raises(
        RuntimeError,
        lambda: answer(lambda x: x.exp() @ x, x),
        "for sizes that do not fit",
    )
    words = "torch.exp of an x of size (4, 3), after calls in which fn raised"
    trial.given(words)
    lesson = "Nothing of a call in which fn raised is left for the next one."
    right(trial, trial.call(lambda: answer(torch.exp, x)), counted(torch.exp, x), words, lesson)


class _Stop(BaseException):
    """No Exception, as a stop by the user."""


@bytes_moved.property("each call counts for itself", asks=(BYTES, SUM))
def each_call(answer: Any, trial: Trial) -> None:
    x = torch.randn(4, 3, generator=trial.generator)
    first = trial.call(lambda: answer(torch.exp, x))
    before = dict(first)
    for number in (2, 3):
        words = f"torch.exp of an x of size (4, 3), call {number}"
        trial.given(words)
        got = trial.call(lambda: answer(torch.exp, x))
        right(
            trial, got, counted(torch.exp, x), words, "Each call of bytes_moved counts what its own fn does."
        )
    trial.true(
        dict(first) == before,
        "A later call of bytes_moved changed the result of an earlier one.",
        expected=before,
        got=dict(first),
        observed="the earlier result changes",
    )
    inner: list[Any] = []

    def fn(x: Tensor) -> None:
        x.exp()
        inner.append(answer(lambda x: x.cos(), x))
        x.sin()

    trial.given("an fn that calls bytes_moved itself")
    outer = trial.call(lambda: answer(fn, x))
    right(
        trial, inner[0], counted(torch.cos, x), "inner", "It is the inner call: only x.cos() runs in its fn."
    )
    want = counted(lambda x: (x.exp(), x.cos(), x.sin()), x)
    right(trial, outer, want, "outer", "It is the outer call: what the inner one runs is its own, too.")


@bytes_moved.property("the same on the meta device, without memory", asks=META)
def on_meta(answer: Any, trial: Trial) -> None:
    for case in inputs.ON_META:
        require(answer, trial, case, device="meta")
    for case in (inputs.PLAIN, inputs.TRAINING):
        trial.given(f"{case.words}, on the meta device")
        fn, args = case.make(Tensors(trial.generator, "meta"))
        with inputs.MemoryMade() as memory:
            trial.call(lambda fn=fn, args=args: answer(fn, *args))
        trial.true(
            memory.bytes <= 64,
            f"Operations made {memory.bytes} bytes of real memory. On the meta device a tensor has a shape and a dtype, and none.",
            expected="no memory",
            got=f"{memory.bytes} bytes",
            observed=("memory", memory.bytes),
        )
    words = "(x @ y).relu() of sizes (2 ** 21, 2) and (2, 2 ** 12), on the meta device"
    x, y = torch.empty(2**21, 2, device="meta"), torch.empty(2, 2**12, device="meta")
    trial.given(words)
    got = trial.call(lambda: answer(_product, x, y))
    right(trial, got, counted(_product, x, y), words, "The numbers are large, and no memory is behind them.")


def _product(x: Tensor, y: Tensor) -> Tensor:
    return (x @ y).relu()
