"""Exercise 12.op_log: a list of the operations that run below autograd."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils import _python_dispatch

from helpers.check.garbage import collector
from helpers.check.operations import operations
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.dispatch.op_log import inputs, results
from helpers.labs.dispatch.op_log.inputs import drawn, ended, fresh, require, right

op_log = Exercise(
    "12.op_log",
    "A log of operations",
    objective="See what runs below autograd, in forward and backward.",
    minutes=15,
    difficulty="easy",
    names=("OpLog",),
    kind="class",
    hints=[
        "`TorchDispatchMode` is a context manager. While its block runs, torch calls its method `__torch_dispatch__` in place "
        "of every operation that would go to a backend. `TorchFunctionMode` stands above autograd, and sees no backward.",
        "`__torch_dispatch__(self, func, types, args=(), kwargs=None)`: `func` is the operation. Whoever is called in its place "
        "has to run it, with all arguments, and to return what it returns.",
        "Note the name before the operation runs: one that raises never comes back. `func.is_view` is True of a view. The "
        "result itself does not tell: an edit in place also gives the memory of its argument.",
        "`__enter__` makes a mode which appends to `self.ops`, enters it, keeps it in `self`, and returns `self`; `__exit__` "
        "hands its three arguments to the `__exit__` of this mode, and returns None, so that an error goes on.",
    ],
)

LISTS = "Lists the operations that run in its block: `with OpLog() as log: ...`, and then `log.ops`."
NAMES = (
    "`ops` is a list of str, in the order in which the operations run: each by its full name, as `str(func)` gives it "
    '("aten.addmm.default"), and with " (view)" behind it if torch says that its result is a view (`func.is_view`).'
)
ASKED = (
    "Listed is what a TorchDispatchMode is asked for, below autograd and autocast: what a backward runs, too."
)
RAISES = "One that raises is listed as well."
SAME = "Results and errors are those without the log."
AFTER = "After the block nothing more is listed, also if it ended by an error, which passes through."
NESTED = "Blocks can be nested: each log lists all that runs in its own block."
SEVERAL = "One log can serve several blocks, one after the other, and its list grows."
TWO = "Two logs have two lists."
KEPT = "No tensor is kept alive."


@op_log.property("each operation by its full name, in order", asks=(LISTS, NAMES))
def names(answer: Any, trial: Trial) -> None:
    trial.given("with OpLog() as log: x.exp()")
    x, made = drawn(trial.generator, 3, 2), fresh(answer, trial)
    with made as log:
        result = x.exp()
    trial.true(
        hasattr(log, "ops"),
        f"`with OpLog() as log` gives a {type(log).__name__}, which has no `ops`: the name behind `as` gets what `__enter__` "
        "returns.",
        expected="the log",
        got=f"a {type(log).__name__}",
        observed=("as", type(log).__name__),
    )
    trial.true(
        type(result) is Tensor,
        f"In the block x.exp() gave a {type(result).__name__}. What is called in place of an operation has to return its result.",
        expected="a tensor",
        got=f"a {type(result).__name__}",
        observed=("result", type(result).__name__),
    )
    right(trial, log, ["aten.exp.default"], "one operation", "One operation ran.")
    itself = [inputs.word(each) for each in getattr(made, "ops", [])]
    trial.true(
        itself == ["aten.exp.default"],
        "What stands behind `as` lists x.exp(), and the OpLog itself does not: `__enter__` gives something else.",
        expected="aten.exp.default",
        got=", ".join(itself) or "nothing",
        observed=("itself", itself),
    )
    ended(trial, log, "one operation")
    for words, make in (
        ("a product of matrices, exp twice, a sum, a list of tensors in `cat`", inputs.plain),
        ("functions one after the other, some of them several times, and item()", inputs.one_after_the_other),
        ("operations of other libraries than aten", inputs.other_libraries),
    ):
        require(answer, trial, words, make, "Each stands there by its full name, as often as it runs.")


@op_log.property("views are told apart, as torch tells", asks=NAMES)
def views(answer: Any, trial: Trial) -> None:
    for words, make, lesson in (
        (
            "a transposed, sliced, selected, expanded, viewed x, and its diagonal",
            inputs.views,
            "`func.is_view` says what is a view.",
        ),
        (
            "x.split(3), x.unbind(1), x.clone()",
            inputs.lists_of_views,
            "A list of views is a view to torch, too.",
        ),
        (
            "a product of a stack, edits in place, view_copy, unsafe_split",
            inputs.no_views,
            "`func.is_view` is False of what edits its argument, and of `_unsafe_view`, `view_copy` and `unsafe_split`.",
        ),
        (
            "views of an x without numbers, and functions of it",
            inputs.empty_views,
            "`func.is_view` knows it without the result.",
        ),
    ):
        require(answer, trial, words, make, lesson)


@op_log.property("results are those without the log", asks=SAME)
def same_results(answer: Any, trial: Trial) -> None:
    for words, make, lesson in (
        (
            "operations with arguments by name: alpha, dtype, correction, sorter",
            results.arguments_by_name,
            "All arguments go on to the operation.",
        ),
        (
            "add_, `out=`, and an edit of a row",
            results.in_place,
            "An edit in place happens once, and gives its argument back.",
        ),
        ("max, split, _foreach_mul", results.several, "What the operation returns is returned as it is."),
        ("item(), equal, tolist()", results.numbers, "Results that are no tensors come, too."),
        ("numbers drawn from a generator", results.draws, "Each operation draws once."),
        ("a forward and a backward", results.gradients, "The graph stays as it is."),
        (
            "rrelu in training, which writes to its noise, and an operation that sets x to 0 and gives the sums of its rows",
            results.written_and_given,
            "What writes to an argument may give something new.",
        ),
        (
            "cat and max with `out=`",
            results.out_of_lists,
            "What writes to `out` gives that, whatever its first argument is.",
        ),
        (
            "_foreach_add_, and split_copy with a list as `out=`",
            results.nothing_given,
            "What writes to the tensors of a list gives nothing, and nothing is returned for it.",
        ),
    ):
        results.same(answer, trial, words, make, lesson)


@op_log.property("no tensor is kept alive", asks=KEPT)
def nothing_kept(answer: Any, trial: Trial) -> None:
    x, log = drawn(trial.generator, 5), answer()

    def work() -> list[StorageWeakRef]:
        given = x + 1
        return _let_go(given, given.exp(), torch.cat([given, x]), given[1:].clone())

    alive: list[tuple[str, int]] = []
    with collector(by_itself=False):
        with log:
            made = work()
            alive.append(("in the block", _living(made)))
            x.neg()
            alive.append(("in the block, one operation later", _living(made)))
        alive.append(("behind the block", _living(made)))
    _none_lives(trial, alive, "tensors that are made and let go in a block")


def _let_go(*tensors: Tensor) -> list[StorageWeakRef]:
    return [StorageWeakRef(each.untyped_storage()) for each in tensors]


def _living(made: list[StorageWeakRef]) -> int:
    return sum(not each.expired() for each in made)


def _none_lives(
    trial: Trial,
    alive: list[tuple[str, int]],
    words: str,
    collected: str = "the garbage collector does not run",
) -> None:
    """Wrong if tensors were still alive. alive: how many, at which time."""
    kept = [(when, count) for when, count in alive if count]
    trial.given(f"{words}; {collected}")
    trial.true(
        not kept,
        f"{kept[0][0].capitalize() if kept else ''}, tensors that nobody else has are still alive: the log, or something "
        "that it has made, holds them.",
        expected="no tensor alive",
        got="; ".join(f"{when}: {count} alive" for when, count in kept),
        observed=("alive", kept),
    )


@op_log.property("what a backward runs, too", asks=ASKED)
def backward(answer: Any, trial: Trial) -> None:
    for words, make in (
        ("linear, relu, sum and backward()", inputs.training),
        ("backward() of a graph that was made before the block", inputs.backward_only),
        ("a gradient of a gradient", inputs.twice_backward),
        ("linear and relu under no_grad", inputs.without_grad),
    ):
        require(answer, trial, words, make, "Autograd calls operations as well, each `detach` among them.")


@op_log.property("what autocast and inference_mode make of a call", asks=ASKED)
def below_autocast(answer: Any, trial: Trial) -> None:
    for words, make, lesson in (
        (
            "linear under autocast, and backward()",
            inputs.autocast,
            "The casts of autocast are operations, too.",
        ),
        (
            "linear, relu and t() under inference_mode",
            inputs.inference,
            "Under inference_mode `linear` comes to the mode whole: what takes it apart stands behind the mode.",
        ),
        (
            "double() and a reshape that copies, under inference_mode",
            inputs.copies,
            "torch says that `to` and `reshape` give views, whatever they do: `func.is_view` is True of them.",
        ),
    ):
        require(answer, trial, words, make, lesson)


@op_log.property("what a subclass of Tensor is given", asks=ASKED)
def subclass(answer: Any, trial: Trial) -> None:
    require(
        answer,
        trial,
        "x + 1 and x.t(), where x is a tensor of a subclass that takes each operation apart",
        inputs.of_a_subclass,
        "A mode is asked before the subclass, and then the subclass does its work behind the mode.",
    )


@op_log.property("what is set around the block stays set", asks=SAME)
def around(answer: Any, trial: Trial) -> None:
    for words, block, want in (
        ("as usual", torch.enable_grad, "gradients on"),
        ("under no_grad", torch.no_grad, "gradients off"),
    ):
        trial.given(f"a block {words}")
        with block():
            with answer():
                seen = [inputs.gradients()]
            seen.append(inputs.gradients())
        for where, found in zip(("In the block", "Behind the block"), seen, strict=True):
            trial.true(
                found == want,
                f"{where} it is not set as around it whether gradients are recorded.",
                expected=want,
                got=found,
                observed=("set", words, where, found),
            )


@op_log.property("an operation that raises is listed", asks=RAISES)
def raising(answer: Any, trial: Trial) -> None:
    for words, make in (
        (
            "x.exp() @ x, of sizes that do not fit, the error caught in the block; then x.cos()",
            inputs.a_product_raises,
        ),
        (
            "select, cat and cross_entropy that raise, each caught in the block; then x.sin()",
            inputs.others_raise,
        ),
    ):
        require(answer, trial, words, make, "It was called, and so it stands there; what runs after it, too.")


@op_log.property("errors are those without the log", asks=SAME)
def same_errors(answer: Any, trial: Trial) -> None:
    for words, call in (
        ("x @ x, of size (4, 3)", lambda x, _: x @ x),
        ("x.select(5, 0)", lambda x, _: x.select(5, 0)),
        ("torch.linalg.cholesky of a negative matrix", lambda x, _: torch.linalg.cholesky(-torch.eye(3))),
        ("x.gather with a place that is not there", lambda x, _: x.gather(0, torch.tensor([[9]]))),
    ):
        results.same(answer, trial, words, results.error(call), "The error of an operation goes on as it is.")


class _Ends(BaseException):
    """What ends a block in a check: no Exception, as a stop by the user."""


@op_log.property("an error passes through, and ends the block", asks=AFTER)
def after_an_error(answer: Any, trial: Trial) -> None:
    for error in (KeyError("of the block"), _Ends("stop")):
        kind = (
            "KeyError"
            if isinstance(error, KeyError)
            else "an error that is no Exception, as that of the stop button"
        )
        words = f"x.exp(), then {kind} is raised in the block"
        trial.given(words)
        x, log = drawn(trial.generator, 3, 2), answer()
        came: BaseException | None = None
        try:
            with log:
                x.exp()
                raise error
        except NotImplementedError:
            raise
        except BaseException as raised:
            came = raised
        found = "nothing" if came is None else "the same" if came is error else type(came).__name__
        trial.true(
            came is error,
            "The error that ended the block did not come out of it."
            if came is None
            else "The block ended by one error, and a different one came out of it.",
            expected="the error that was raised",
            got="nothing was raised: `__exit__` returned what is true, perhaps" if came is None else found,
            observed=(words, found),
        )
        right(trial, log, ["aten.exp.default"], words, "What ran before the error is listed.")
        ended(trial, log, words)
        error.__traceback__ = came = None
    words = "a product that raises, not caught in the block"
    trial.given(words)
    x, log = drawn(trial.generator, 4, 3), answer()
    with suppress(RuntimeError), log:
        x.cos() @ x
    right(trial, log, ["aten.cos.default", "aten.mm.default"], words, "What ran in the block is listed.")
    ended(trial, log, words)


@op_log.property("no tensor is kept alive by an error", asks=KEPT)
def nothing_kept_by_an_error(answer: Any, trial: Trial) -> None:
    x, log = drawn(trial.generator, 5), answer()
    made: list[StorageWeakRef] = []
    all_made: list[StorageWeakRef] = []
    alive: list[tuple[str, int]] = []

    def fails() -> None:
        given = x * 2
        made.extend(_let_go(given))
        given.add_(1)
        raise KeyError

    def does_not_fit() -> None:
        given = x[None] + 1
        made.extend(_let_go(given))
        torch.mm(given, given)

    with collector(by_itself=False):
        for when, call in (
            ("behind a block that an error ended", fails),
            ("behind a block in which an operation raised", does_not_fit),
        ):
            made.clear()
            with suppress(Exception), log:
                call()
            alive.append((when, _living(made)))
            all_made += made
        gc.collect()
        alive.append(("when the garbage collector has run", _living(all_made)))
    _none_lives(
        trial,
        alive,
        "tensors that are made in a block, and let go when an error comes",
        "the garbage collector runs at the end only",
    )


@op_log.property("one log in several blocks; two logs", asks=(SEVERAL, TWO, AFTER))
def several_blocks(answer: Any, trial: Trial) -> None:
    words = "a new log; x.exp() in a block of it, x.cos() behind it, x.tanh() in a second one; then a different log"
    trial.given(words)
    x, first = drawn(trial.generator, 5), answer()
    right(trial, first, [], words, "Nothing has run in a block of it.", "the list of a new log")
    with first:
        x.exp()
    x.cos()
    with first:
        x.tanh()
    both = ["aten.exp.default", "aten.tanh.default"]
    right(trial, first, both, words, "The list grows from block to block.", "first.ops")
    ended(trial, first, words)
    second = answer()
    right(trial, second, [], words, "A new log has a list of its own.", "the list of the second log")
    with second:
        x.sin()
    right(trial, second, ["aten.sin.default"], words, "Two logs have two lists.", "second.ops")
    right(trial, first, both, words, "The block was that of the second log.", "first.ops")
    words = "a block of the first log that an error ends, then one more"
    trial.given(words)
    with suppress(KeyError), first:
        x.abs()
        raise KeyError
    with first:
        x.neg()
    more = [*both, "aten.abs.default", "aten.neg.default"]
    right(trial, first, more, words, "An error ends a block, and not the log.", "first.ops")
    ended(trial, first, words)


@op_log.property("blocks in blocks: each log lists all of its own", asks=(NESTED, TWO, AFTER))
def nested(answer: Any, trial: Trial) -> None:
    words = "with outer: exp; with inner: cos, tanh; abs; with inner: a KeyError after sin; neg"
    trial.given(words)
    x, outer, inner = drawn(trial.generator, 5), answer(), answer()
    with outer:
        x.exp()
        with inner:
            x.cos()
            x.tanh()
        x.abs()
        with suppress(KeyError), inner:
            x.sin()
            raise KeyError
        x.neg()
    alone = [f"aten.{name}.default" for name in ("cos", "tanh", "sin")]
    all_of_it = [f"aten.{name}.default" for name in ("exp", "cos", "tanh", "abs", "sin", "neg")]
    right(
        trial,
        outer,
        all_of_it,
        words,
        "The blocks of inner lie in that of outer.",
        "outer.ops",
        beside=(inner,),
    )
    right(trial, inner, alone, words, "Only what ran in its own blocks.", "inner.ops")
    ended(trial, outer, words)
    ended(trial, inner, words)
    words = "three logs, the blocks one in the other, a forward and its backward in the innermost"
    trial.given(words)
    x.requires_grad_()
    logs = [answer() for _ in range(3)]
    want = inputs.wanted(lambda: torch.autograd.grad(x.exp().mul(2).sum(), x))
    with logs[0], logs[1], logs[2]:
        torch.autograd.grad(x.exp().mul(2).sum(), x)
    for log, which in zip(logs, ("outer.ops", "middle.ops", "inner.ops"), strict=True):
        right(trial, log, want, words, "All of it ran in the block of each.", which)


@op_log.property("other modes see what they see without the log", asks=(SAME, NESTED))
def other_modes(answer: Any, trial: Trial) -> None:
    x = drawn(trial.generator, 4, 3)
    for outside in (True, False):
        words = f"a mode of the check, {'around' if outside else 'in'} the block of the log; x.exp().t()"
        trial.given(words)
        log = answer()
        if outside:
            with operations() as ran, log:
                x.exp().t()
        else:
            with log, operations() as ran:
                x.exp().t()
        seen = [each.name for each in ran]
        trial.true(
            seen == ["exp", "t"],
            f"The other mode saw {len(seen)} operations, and 2 run without the log.",
            expected="exp, t",
            got=", ".join(seen) or "nothing",
            observed=("other mode", outside, seen),
        )
        right(trial, log, ["aten.exp.default", "aten.t.default (view)"], words, "The log lists them, too.")


@op_log.property("two logs in two threads", asks=(NESTED, TWO))
def two_threads(answer: Any, trial: Trial) -> None:
    words = "a block in each of two threads; the one that began first ends first, while the other goes on"
    trial.given(words)
    x, first, second = drawn(trial.generator, 5), answer(), answer()
    begins, begun, goes_on = threading.Event(), threading.Event(), threading.Event()
    errors: list[Exception] = []

    def other() -> None:
        begins.wait()
        try:
            with second:
                x.exp()
                begun.set()
                goes_on.wait()
                x.cos()
            x.abs()
        except Exception as error:
            errors.append(error)
        finally:
            begun.set()

    with _flags_of_torch():
        thread = threading.Thread(target=other, daemon=True)
        thread.start()
        try:
            with first:
                x.tanh()
                begins.set()
                begun.wait()
                x.sin()
            x.neg()
        except Exception as error:
            errors.append(error)
        finally:
            begins.set()
            goes_on.set()
            thread.join()
    trial.true(
        not errors,
        f"{type(errors[0]).__name__ if errors else ''} was raised where two threads have a block each: perhaps the logs share "
        "something.",
        expected="two lists",
        got=f"{type(errors[0]).__name__}: {errors[0]}" if errors else "",
        observed=("raised", [type(error).__name__ for error in errors]),
    )
    right(
        trial,
        first,
        ["aten.tanh.default", "aten.sin.default"],
        words,
        "Its block is in its thread.",
        "first.ops",
    )
    right(
        trial,
        second,
        ["aten.exp.default", "aten.cos.default"],
        words,
        "Its block is in its thread.",
        "second.ops",
    )


@contextmanager
def _flags_of_torch() -> Iterator[None]:
    """Puts back what torch notes of its modes for all threads together, so that blocks which overlap leave it wrong."""
    before = {name: value for name, value in vars(_python_dispatch).items() if name.startswith("_is_in_")}
    tell: Callable[[bool], None] | None = getattr(
        _python_dispatch, "set_is_in_mode_without_ignore_compile_internals", None
    )
    try:
        yield
    finally:
        vars(_python_dispatch).update(before)
        if tell is not None:
            tell(before.get("_is_in_any_mode_without_ignore_compile_internals", False))
