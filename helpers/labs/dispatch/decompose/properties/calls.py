"""Properties of 12.decompose about its calls: what is left behind, what is raised, the table, and several at once."""

from __future__ import annotations

from typing import Any

import torch

from helpers.check.trial import Trial
from helpers.labs.dispatch.decompose import inputs
from helpers.labs.dispatch.decompose.exercise import ANEW, IN_PLACE, OUTSIDE, RETURNS, WITHOUT, decompose
from helpers.labs.dispatch.decompose.inputs import Ran, Table, aten, draw, listed, made


class Ended(Exception):
    """What functions of the check raise."""


class Stopped(BaseException):
    """The same, and no Exception."""


KINDS: tuple[type[BaseException], ...] = (
    Ended,
    KeyError,
    ValueError,
    NotImplementedError,
    TypeError,
    RuntimeError,
    IndexError,
    AttributeError,
    AssertionError,
    ZeroDivisionError,
    OSError,
    StopIteration,
    Stopped,
)


def _seen(kind: type[BaseException], came: BaseException | None) -> str:
    """What is observed where an error was lost: of which kind it was does not matter, but for those that have a use of their own."""
    own = kind.__name__ if kind in (KeyError, StopIteration) else "an error"
    return (
        f"{own} lost"
        if came is None
        else f"{own}, and a new one of {'its kind' if type(came) is kind else 'another'}"
    )


def _not_replaced(trial: Trial, table: Table, when: str) -> None:
    """Wrong if an operation of the table is replaced now. The table must have relu, as it is."""
    table.clear()
    x = draw(trial.generator, 3, 4)
    with Ran() as ran:
        got = x.relu()
    trial.true(
        not table.calls and ran.names == ["relu.default"],
        f"{when} the check itself calls relu, and it is replaced.",
        expected="relu.default",
        got=listed(table.calls) + " of the table" if table.calls else listed(ran.names),
        observed=("outside", when, table.calls, ran.names),
    )
    trial.true(
        torch.equal(got, x.clamp(min=0)), f"{when} relu gives a different result.", observed=("relu", when)
    )


@decompose.property("outside of a call nothing is replaced, also in a backward", asks=OUTSIDE)
def outside(answer: Any, trial: Trial) -> None:
    functions = {aten.relu.default: inputs.relu, aten.threshold_backward.default: inputs.threshold_backward}
    table, w = Table(functions), draw(trial.generator, 4, 5, grad=True)
    x = draw(trial.generator, 3, 4)
    trial.given("fn is x.mm(w).relu(); table: relu.default, threshold_backward.default")
    decomposed = made(answer, trial, lambda x: x.mm(w).relu(), table.table)
    _not_replaced(trial, table, "Before the first call")
    for number in (1, 2):
        result = trial.call(decomposed, x)
        _not_replaced(trial, table, f"After call {number}")
        with Ran() as ran:
            result.sum().backward()
        trial.true(
            not table.calls and "threshold_backward.default" in ran.names,
            f"The backward ran after call {number}, outside of it, and threshold_backward was replaced.",
            expected="threshold_backward.default",
            got=listed(table.calls or ran.names),
            observed=("backward outside", number, table.calls),
        )


@decompose.property(
    "what fn or a function of the table raises comes out, and nothing is left", asks=(RETURNS, OUTSIDE)
)
def raises(answer: Any, trial: Trial) -> None:
    x = draw(trial.generator, 3, 4)

    now: list[BaseException] = []

    def raising(*args: Any) -> Any:
        raise now[-1]

    for words, fn, broken in (
        ("fn raises in the middle", lambda x: (x.relu(), raising()), {}),
        (
            "a function of the table raises",
            lambda x: x.relu().neg(),
            {aten.neg.default: raising},
        ),
        (
            "a function of the table raises that a function of the table calls",
            lambda x: x.relu().neg(),
            {aten.neg.default: lambda a: aten.exp.default(a), aten.exp.default: raising},
        ),
    ):
        for kind in KINDS:
            error = kind("raised by the check")
            now.append(error)
            trial.given(
                f"{words}: {kind.__name__}; table: relu.default{''.join(', ' + inputs.short(each) for each in broken)}"
            )
            table = Table({aten.relu.default: inputs.relu, **broken})
            decomposed = made(answer, trial, fn, table.table)
            for number in (1, 2):
                depth, came = torch._C._len_torch_dispatch_stack(), None
                table.clear()
                try:
                    decomposed(x)
                except KINDS as other:
                    came = other
                trial.true(
                    came is error,
                    f"{words}, and in call {number} "
                    + (
                        "no error came out."
                        if came is None
                        else f"a new {kind.__name__} came out, not this one."
                        if type(came) is kind
                        else f"{type(came).__name__} came out in its place."
                    ),
                    expected=f"the {kind.__name__} that was raised",
                    got="no error" if came is None else type(came).__name__,
                    observed=("raised", words, number, _seen(kind, came)),
                )
                trial.true(
                    table.calls[:1] == ["relu.default"],
                    f"Call {number} raised, and relu was not replaced in it.",
                    expected="relu.default of the table",
                    got=listed(table.calls),
                    observed=("in a call that raises", words, number, table.calls),
                )
                _not_replaced(trial, table, "After a call that raised,")
                left = torch._C._len_torch_dispatch_stack() - depth
                trial.true(not left, "After a call that raised, a mode is still on.", observed=("left", left))
    now.append(Ended())
    table, calls = Table({aten.relu.default: inputs.relu, aten.neg.default: inputs.relu}), []

    def inside(x: Any) -> Any:
        for _ in range(2):
            try:
                aten.exp.default(x)
            except Ended:
                calls.append("caught")
        return x.relu()

    table.table[aten.exp.default] = table.noting(
        aten.exp.default, lambda a: (aten.neg.default(a), raising())[0]
    )
    trial.given(
        "fn calls exp twice and catches what the table's function raises, then relu; that function calls neg before"
    )
    trial.call(made(answer, trial, inside, table.table), x)
    want = ["exp.default", "neg.default"] * 2 + ["relu.default"]
    trial.true(
        table.calls == want,
        "A function of the table raised, fn caught it and went on, and not all of what followed was replaced.",
        expected=listed(want),
        got=listed(table.calls),
        observed=("caught", table.calls),
    )


@decompose.property("the table is read anew in each call", asks=ANEW)
def read_anew(answer: Any, trial: Trial) -> None:
    x = draw(trial.generator, 3, 4)
    for start in ({}, {aten.relu.default: inputs.relu}):
        table = Table(start)
        decomposed = made(answer, trial, lambda x: x.relu().neg().exp(), table.table)
        neg = table.noting(aten.neg.default, lambda a: aten.mul.Tensor(a, -1))
        for words, change, want in (
            (
                "neg added before the first call",
                lambda t, neg=neg: t.update({aten.neg.default: neg}),
                [*start, aten.neg.default],
            ),
            ("as before", lambda t: None, [*start, aten.neg.default]),
            ("all taken out", lambda t: t.clear(), []),
            (
                "exp added",
                lambda t, table=table: t.update(
                    {
                        aten.exp.default: table.noting(
                            aten.exp.default, lambda a: aten.pow.Scalar(2.718281828, a)
                        )
                    }
                ),
                [aten.exp.default],
            ),
            (
                "a different function for exp",
                lambda t, table=table: t.update(
                    {
                        aten.exp.default: table.noting(
                            aten.exp2.default, lambda a: aten.exp2.default(aten.mul.Tensor(a, 1.442695))
                        )
                    }
                ),
                [aten.exp2.default],
            ),
        ):
            change(table.table)
            table.clear()
            trial.given(
                f"fn is x.relu().neg().exp(); the table {'is empty' if not start else 'has relu'} at first; now: {words}"
            )
            got = trial.call(decomposed, x)
            names = list(map(inputs.short, want))
            trial.true(
                table.calls == names,
                f"The table now: {words}. These functions of it ran: {listed(table.calls)}.",
                expected=listed(names),
                got=listed(table.calls),
                observed=("changed", len(start), words, table.calls),
            )
            trial.equal(got, x.relu().neg().exp(), "The result", rtol=1e-4, atol=1e-5)


@decompose.property("two of them: one in the other, in turns, and itself", asks=(WITHOUT, IN_PLACE, OUTSIDE))
def two_of_them(answer: Any, trial: Trial) -> None:
    x, w, b = draw(trial.generator, 3, 4), draw(trial.generator, 4, 5), draw(trial.generator, 5)
    outer, inner = (
        Table({aten.add.Tensor: inputs.add}),
        Table({aten.addmm.default: inputs.addmm, aten.relu.default: inputs.relu}),
    )
    trial.given("decompose(decompose(fn, table of addmm and relu), table of add); fn is addmm, relu, add")
    first = made(answer, trial, lambda x: torch.addmm(b, x, w).relu().add(1), inner.table)
    both = made(answer, trial, first, outer.table)
    _ran(
        trial, "both tables", both, x, (outer, ["add.Tensor"] * 2), (inner, ["addmm.default", "relu.default"])
    )
    trial.given("the function with the table of addmm and relu, after the one with both")
    _ran(trial, "one table", first, x, (outer, []), (inner, ["addmm.default", "relu.default"]))
    trial.given("fn of the outer calls relu, a decomposed function that calls relu and neg, and relu again")
    outer, inner = (
        Table({aten.neg.default: lambda a: aten.mul.Tensor(a, -1)}),
        Table({aten.relu.default: inputs.relu}),
    )
    part = made(answer, trial, lambda x: x.relu().neg(), inner.table)
    whole = made(answer, trial, lambda x: part(x.relu()).relu().neg(), outer.table)
    _ran(trial, "a part of it", whole, x, (outer, ["neg.default"] * 2), (inner, ["relu.default"]))
    _not_replaced(trial, inner, "After both,")
    trial.given(
        "itself = decompose(deeper, table); deeper(x, n) is x.relu().exp() where n is 0, "
        "and else itself(x.exp(), n - 1).relu(); n = 2; exp of the table calls relu"
    )
    table = Table({aten.relu.default: inputs.relu, aten.exp.default: lambda a: aten.relu.default(a)})

    def deeper(x: Any, n: int) -> Any:
        return x.relu().exp() if n == 0 else itself(x.exp(), n - 1).relu()

    itself = made(answer, trial, deeper, table.table)
    want = (
        ["exp.default", "relu.default"] * 2
        + ["relu.default", "exp.default", "relu.default"]
        + ["relu.default"] * 2
    )
    table.clear()
    trial.call(itself, x, 2)
    trial.true(
        table.calls == want,
        "Not all was replaced, or not once, in a function that calls itself.",
        expected=listed(want),
        got=listed(table.calls),
        observed=("itself", table.calls),
    )
    _not_replaced(trial, table, "After a function that called itself,")


def _ran(trial: Trial, words: str, function: Any, x: Any, *want: tuple[Table, list[str]]) -> None:
    for table, _ in want:
        table.clear()
    trial.call(function, x)
    for place, (table, names) in enumerate(want):
        trial.true(
            table.calls == names,
            f"Of the {'outer' if place == 0 else 'inner'} table these functions ran: {listed(table.calls)}.",
            expected=listed(names),
            got=listed(table.calls),
            observed=("two", words, [each.calls for each, _ in want]),
        )
