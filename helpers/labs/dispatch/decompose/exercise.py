"""Exercise 12.decompose: operations replaced by smaller ones while a function runs."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.dispatch.decompose import inputs
from helpers.labs.dispatch.decompose.inputs import Made, Table, aten, draw, listed, made, require
from helpers.labs.dispatch.shared.writing import drain

decompose = Exercise(
    "12.decompose",
    "Decompositions",
    objective="Replace operations by smaller ones while a function runs.",
    minutes=15,
    difficulty="medium",
    core=False,
    hints=[
        "What sees each operation, those of a backward, too, is a TorchDispatchMode. Where should its block begin and end, so that "
        "nothing is replaced outside of a call?",
        "In `__torch_dispatch__`, an operation that is in the table is not called: the table's function is, with the same `args` "
        "and `kwargs`. Its result is the result.",
        "While `__torch_dispatch__` runs, its own mode is off. So what the table's function runs is not replaced, unless the mode "
        "is entered again around it.",
        "The function that you return is three lines: a `def` with `*args, **kwargs`, a `with` of a new mode, and `return fn(...)`. "
        "In the mode: `with self:` around the table's function, and nothing around `func(*args, **kwargs)`.",
    ],
)

WITHOUT = "A function that does what `fn` does, without the operations of a table."
RETURNS = "Called with any arguments, it returns what `fn` returns for them, or raises what it raises."
IN_PLACE = (
    "Wherever an operation of the table would run, in forward or backward, the table's function runs in its place, with the same "
    "arguments."
)
CHAINS = "Operations of the table that a function of the table runs are replaced as well."
OTHERS = "All other operations run as they are, and modes around the call see them."
OUTSIDE = "Outside of a call, also one that raised, nothing is replaced."
ANEW = "Each call reads the table anew."


@decompose.property("the table's function runs in place of an operation", asks=(WITHOUT, IN_PLACE, OTHERS))
def in_forward(answer: Any, trial: Trial) -> None:
    lesson = "In place of addmm, the table's function runs, and what it is made of."

    def linear(g: torch.Generator) -> Made:
        return Made(lambda x, w, b: F.linear(x, w, b).relu(), (draw(g, 3, 4), draw(g, 5, 4), draw(g, 5)))

    require(answer, trial, "F.linear(x, w, b).relu()", linear, {aten.addmm.default: inputs.addmm}, lesson)
    require(
        answer,
        trial,
        "relu of F.linear, twice",
        lambda g: Made(
            lambda x, w, v: F.linear(F.linear(x, w).relu(), v).relu(),
            (draw(g, 3, 4), draw(g, 5, 4), draw(g, 2, 5)),
        ),
        {aten.relu.default: inputs.relu},
        "Both calls of relu are replaced.",
    )
    require(answer, trial, "F.linear(x, w, b).relu()", linear, {}, "The table is empty.")


@decompose.property("what fn returns comes back, whatever it is, for any arguments", asks=(RETURNS, WITHOUT))
def any_result(answer: Any, trial: Trial) -> None:
    x = draw(trial.generator, 3, 4)
    kept = {"loss": x.sum(), "name": "loss", "list": [x]}
    for words, result in (
        ("a dict", kept),
        ("None", None),
        ("a tuple of a tensor and a number", (x, 3)),
        ("a list", [x, x]),
        ("a text", "text"),
        ("a function", len),
    ):
        seen: list[Any] = []

        def fn(*args: Any, result: Any = result, seen: list[Any] = seen, **kwargs: Any) -> Any:
            seen.append((args, kwargs))
            x.relu()
            return result

        for args, kwargs in (
            ((x, 2), {"mode": "a", "y": x}),
            ((), {}),
            (([x], None, {"x": x}), {"args": 1, "fn": 2, "table": 3}),
        ):
            trial.given(
                f"fn returns {words}; {len(args)} arguments by place and {len(kwargs)} by keyword: {list(kwargs)}"
            )
            table = Table({aten.relu.default: inputs.relu})
            decomposed = made(answer, trial, fn, table.table)
            trial.true(
                not seen,
                "`fn` ran before the function that decompose returned was called.",
                expected="decompose calls nothing",
                observed="ran at once",
            )
            got = trial.call(decomposed, *args, **kwargs)
            trial.true(
                len(seen) == 1,
                f"`fn` ran {len(seen)} times in one call.",
                expected="once",
                got=f"{len(seen)} times",
                observed=("fn ran", len(seen)),
            )
            trial.true(
                got is result,
                "The result is not the one that `fn` returned, the same object.",
                expected=f"what `fn` returned, a {type(result).__name__}",
                got=f"a {type(got).__name__}",
                observed=("result", words, type(got).__name__),
            )
            came = seen.pop()
            trial.true(
                len(came[0]) == len(args)
                and all(one is other for one, other in zip(came[0], args, strict=True))
                and came[1].keys() == kwargs.keys()
                and all(came[1][name] is kwargs[name] for name in kwargs),
                "`fn` did not get the arguments of the call, the same objects.",
                expected=inputs.in_words(args, kwargs),
                got="copies of them"
                if inputs.in_words(*came) == inputs.in_words(args, kwargs)
                else inputs.in_words(*came),
                observed=("arguments of fn", inputs.in_words(*came)),
            )


@decompose.property(
    "in a call with any arguments, also without a tensor among them", asks=(RETURNS, IN_PLACE)
)
def however_called(answer: Any, trial: Trial) -> None:
    x = draw(trial.generator, 3, 4)
    calls: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
        "x by keyword": (lambda x: x.relu(), (), {"x": x}),
        "2, then x": (lambda n, x: x.relu(), (2, x), {}),
        "x in a list": (lambda some: some[0].relu(), ([x],), {}),
        "x in a dict by keyword": (lambda some: some["x"].relu(), (), {"some": {"x": x}}),
        "no tensor: fn makes one": (lambda n: torch.ones(n).relu(), (3,), {}),
        "nothing: fn holds x": (lambda: x.relu(), (), {}),
    }
    found: dict[str, list[str]] = {}
    for words, (fn, args, kwargs) in calls.items():
        trial.given(f"fn calls relu, and gets {words}; table: relu.default")
        table = Table({aten.relu.default: inputs.relu})
        trial.call(made(answer, trial, fn, table.table), *args, **kwargs)
        if table.calls != ["relu.default"]:
            found[words] = list(table.calls)
    if found:
        trial.given(f"fn calls relu, and gets {'; or '.join(found)}; table: relu.default")
        trial.fail(
            "The function of the table for relu did not run, or not once. Whatever a call gets, what `fn` runs is replaced.",
            expected="relu.default",
            got=listed(next(iter(found.values())), "no function of the table"),
            observed=("called with", found),
        )


@decompose.property("the graph of the result is that of fn", asks=RETURNS)
def keeps_the_graph(answer: Any, trial: Trial) -> None:
    w, b = draw(trial.generator, 5, 4, grad=True), draw(trial.generator, 5, grad=True)
    x = draw(trial.generator, 3, 4)
    trial.given("F.linear(x, w, b) of a w and a b that require grad; table: addmm.default")
    want = F.linear(x, w, b)
    table = Table({aten.addmm.default: inputs.addmm})
    got = trial.call(made(answer, trial, lambda x: F.linear(x, w, b), table.table), x)
    names = [type(getattr(each, "grad_fn", None)).__name__ for each in (got, want)]
    trial.true(
        names[0] == names[1],
        f"The result has the grad_fn {names[0]}. Without a table it is {names[1]}: what is replaced lies below autograd.",
        expected=names[1],
        got=names[0],
        observed=("grad_fn", names[0]),
    )
    trial.equal(got, want, "The result", rtol=1e-4, atol=1e-5)
    trial.given(
        "F.linear(x, w, b) of a w and a b that require grad, called under no_grad; table: addmm.default"
    )
    with torch.no_grad():
        got = trial.call(made(answer, trial, lambda x: F.linear(x, w, b), table.table), x)
    trial.true(
        not got.requires_grad,
        "The call stands under no_grad, and its result requires grad.",
        expected="requires_grad=False, as that of `fn`",
        got="requires_grad=True",
        observed="recorded under no_grad",
    )


@decompose.property("in a backward that fn runs, too", asks=IN_PLACE)
def in_backward(answer: Any, trial: Trial) -> None:
    def step(g: torch.Generator) -> Made:
        w, b = draw(g, 5, 4, grad=True), draw(g, 5, grad=True)

        def fn(x: Any) -> None:
            F.silu(F.linear(x, w, b).relu()).sum().backward()

        return Made(fn, (draw(g, 3, 4),), {}, (w, b))

    def grads(g: torch.Generator) -> Made:
        w = draw(g, 5, 4, grad=True)

        def fn(x: Any) -> Any:
            (first,) = torch.autograd.grad((x @ w).pow(3).sum(), w, create_graph=True)
            return torch.autograd.grad(first.relu().sum(), w)

        return Made(fn, (draw(g, 3, 5),))

    lesson = "A backward runs operations as a forward does, and those of the table are replaced."
    require(
        answer,
        trial,
        "relu, silu and backward()",
        step,
        {aten.threshold_backward.default: inputs.threshold_backward},
        lesson,
    )
    require(
        answer,
        trial,
        "linear, relu, silu and backward()",
        step,
        {
            aten.addmm.default: inputs.addmm,
            aten.silu.default: inputs.silu,
            aten.silu_backward.default: inputs.silu_backward,
        },
        lesson,
    )
    require(
        answer,
        trial,
        "matmul, pow and two calls of autograd.grad",
        grads,
        {aten.mm.default: inputs.mm, aten.threshold_backward.default: inputs.threshold_backward},
        lesson,
    )


@decompose.property("with the arguments of the operation, those by keyword, too", asks=(IN_PLACE, OTHERS))
def the_same_arguments(answer: Any, trial: Trial) -> None:
    def scaled(g: torch.Generator) -> Made:
        return Made(
            lambda x, y, b: (torch.addmm(b, x, y, beta=0.5, alpha=3.0), torch.add(b, b, alpha=2)),
            (draw(g, 3, 4), draw(g, 4, 5), draw(g, 5)),
        )

    def several(g: torch.Generator) -> Made:
        return Made(
            lambda x: [
                *torch.max(x, 1),
                *x.max(0, keepdim=True),
                torch.cat([x, x.relu()], 1),
                x.sum(dtype=torch.float64),
            ],
            (draw(g, 3, 4),),
        )

    lesson = "Arguments by keyword belong to a call."
    require(
        answer,
        trial,
        "addmm with beta and alpha, add with alpha",
        scaled,
        {aten.addmm.default: inputs.addmm},
        lesson,
    )
    require(
        answer,
        trial,
        "addmm with beta and alpha, add with alpha",
        scaled,
        {aten.add.Tensor: inputs.add},
        lesson,
    )
    require(
        answer,
        trial,
        "max, cat and sum, with numbers, lists and a dtype",
        several,
        {aten.max.dim: inputs.max_dim, aten.cat.default: inputs.cat, aten.sum.default: inputs.sum_all},
        "It does not matter what the arguments are: the first one of cat is a list.",
    )


@decompose.property("what a table's function runs is replaced as well", asks=(CHAINS, WITHOUT))
def chains(answer: Any, trial: Trial) -> None:
    def linear(g: torch.Generator) -> Made:
        return Made(
            lambda x, w, b: torch.addmm(b, x, w, alpha=2.0), (draw(g, 3, 4), draw(g, 4, 5), draw(g, 5))
        )

    def step(g: torch.Generator) -> Made:
        w = draw(g, 4, 5, grad=True)

        def fn(x: Any) -> None:
            F.silu(torch.mm(x, w)).sum().backward()

        return Made(fn, (draw(g, 3, 4),), {}, (w,))

    lesson = "A function of the table runs operations of the table: they are replaced, too, and those of their functions."
    two = {aten.addmm.default: inputs.addmm, aten.add.Tensor: inputs.add}
    four = {
        aten.addmm.default: inputs.addmm,
        aten.mm.default: inputs.mm,
        aten.mul.Tensor: inputs.mul,
        aten.reciprocal.default: lambda a: aten.pow.Tensor_Scalar(a, -1),
    }
    require(answer, trial, "addmm, whose function runs add", linear, two, lesson)
    for words, table in (
        ("addmm, whose function runs mm, and so on", four),
        ("the same, the table in its other order", dict(reversed(four.items()))),
    ):
        require(answer, trial, words, linear, table, lesson)
    require(
        answer,
        trial,
        "mm, silu and backward(), whose functions run mul",
        step,
        {
            aten.mul.Tensor: inputs.mul,
            aten.silu.default: inputs.silu,
            aten.silu_backward.default: inputs.silu_backward,
        },
        lesson,
    )


@decompose.property(
    "an overload of the same name, and every other operation, runs as it is", asks=(OTHERS, CHAINS)
)
def others_stay(answer: Any, trial: Trial) -> None:
    def sums(g: torch.Generator) -> Made:
        return Made(
            lambda x: (
                x.sum(),
                x.sum(0),
                x.max(),
                x.max(1).values,
                x.mean(1),
                F.gelu(x),
                x.softmax(1),
                x.clone().add_(x),
            ),
            (draw(g, 3, 4),),
        )

    lesson = "The table names operations with their overload: sum.default is not sum.dim_IntList."
    for words, table in (
        (
            "sum, max, mean, gelu, softmax and add_",
            {aten.sum.default: inputs.sum_all, aten.add.Tensor: inputs.add},
        ),
        ("sum, max, mean, gelu, softmax and add_", {aten.max.dim: inputs.max_dim}),
    ):
        require(answer, trial, words, sums, table, lesson)
    require(
        answer,
        trial,
        "operations that make memory, and one that gets it as out",
        lambda g: Made(
            lambda x: (
                torch.ones(2, 3),
                torch.zeros_like(x),
                torch.full((2,), 3.0),
                torch.add(x, x, out=torch.empty(3, 4)),
            ),
            (draw(g, 3, 4),),
        ),
        {aten.ones.default: inputs.ones, aten.add.Tensor: inputs.add},
        "An operation without a tensor among its arguments is one, too. add.out is not add.Tensor.",
    )
    for words, make, lesson in (
        (
            "rrelu, which writes to its noise, and an operation that sets x to 0 and gives the sums of its rows",
            inputs.written_and_given,
            "What writes to an argument may give something new.",
        ),
        (
            "cat and max with `out=`, _foreach_add_, split_copy with a list as `out=`",
            inputs.written_lists,
            "What an operation returns is its result, whatever it writes to.",
        ),
    ):
        require(answer, trial, words, make, {aten.add.Tensor: inputs.add}, lesson)


@decompose.property("operations of a module, and those that edit a tensor", asks=(IN_PLACE, OTHERS))
def anywhere(answer: Any, trial: Trial) -> None:
    def module(g: torch.Generator) -> Made:
        net = nn.Sequential(nn.Linear(4, 5), nn.ReLU(inplace=True), nn.Linear(5, 2))
        with torch.no_grad():
            for each in net.parameters():
                each.copy_(draw(g, *each.shape))

        def fn(x: Any) -> Any:
            net(x).square().mean().backward()
            with torch.no_grad():
                return net(x)

        return Made(fn, (draw(g, 3, 4),), {}, tuple(net.parameters()))

    def edited(g: torch.Generator) -> Made:
        def fn(x: Any) -> Any:
            h = x.sub(1)
            view = h[1:]
            return view.relu_() is view, h

        return Made(fn, (draw(g, 3, 4),))

    def in_a_list(g: torch.Generator) -> Made:
        def fn(x: Any) -> Any:
            several = [x.neg(), x.exp()]
            torch._foreach_add_(several, 1)
            return several

        return Made(fn, (draw(g, 3, 4),))

    lesson = "Wherever it runs, it is replaced: the function of the table gets the very tensor."
    with torch.random.fork_rng(devices=[]):
        require(
            answer,
            trial,
            "a module with an in-place relu, its backward, and once more under no_grad",
            module,
            {
                aten.relu_.default: inputs.relu_,
                aten.addmm.default: inputs.addmm,
                aten.threshold_backward.default: inputs.threshold_backward,
            },
            lesson,
        )
    require(answer, trial, "relu_ of a view", edited, {aten.relu_.default: inputs.relu_}, lesson)
    lesson = "Whatever the function of the table returns is the result: None, too, and 0."
    require(
        answer,
        trial,
        "torch._foreach_add_([a, b], 1), an operation that returns None",
        in_a_list,
        {aten._foreach_add_.Scalar: inputs.foreach_add_},
        lesson,
    )
    require(
        answer,
        trial,
        "rrelu, which writes to its noise, and an operation that sets x to 0 and gives the sums of its rows",
        inputs.written_and_given,
        {aten.rrelu_with_noise.default: inputs.rrelu_with_noise, drain: inputs.drained},
        lesson,
    )
    require(
        answer,
        trial,
        "(x - x).sum().item(), which is 0",
        lambda g: Made(lambda x: (x - x).sum().item(), (draw(g, 3, 4),)),
        {aten._local_scalar_dense.default: lambda a: 0.0},
        lesson,
    )


@decompose.property("views, detach and what writes to out are operations, too", asks=IN_PLACE)
def of_every_kind(answer: Any, trial: Trial) -> None:
    def linear(g: torch.Generator) -> Made:
        w, b = draw(g, 5, 4, grad=True), draw(g, 5, grad=True)

        def fn(x: Any) -> None:
            F.linear(x, w, b).square().sum().backward()

        return Made(fn, (draw(g, 3, 4),), {}, (w, b))

    def views(g: torch.Generator) -> Made:
        def fn(x: Any) -> Any:
            h = x.neg()
            h.t()[1:].mul_(2)
            return h, h.unsqueeze(0).exp(), h.unbind(1)

        return Made(fn, (draw(g, 3, 4),))

    def detached(g: torch.Generator) -> Made:
        w = draw(g, 3, 4, grad=True)
        return Made(lambda x: (w * x).detach().exp(), (draw(g, 3, 4),))

    def written(g: torch.Generator) -> Made:
        def fn(x: Any) -> Any:
            out = torch.empty(3, 4)
            return torch.add(x, x, alpha=2, out=out) is out, out

        return Made(fn, (draw(g, 3, 4),))

    lesson = "What gives a view, a detached tensor, or writes to a tensor that is given as out, is an operation like any other."
    require(answer, trial, "F.linear and backward()", linear, {aten.t.default: inputs.t}, lesson)
    require(
        answer,
        trial,
        "t, a slice, unsqueeze and unbind",
        views,
        {
            aten.t.default: inputs.t,
            aten.unsqueeze.default: inputs.unsqueeze,
            aten.slice.Tensor: inputs.slice_,
            aten.unbind.int: inputs.unbind,
        },
        lesson,
    )
    detach = {aten.detach.default: lambda a: aten.alias.default(a)}
    require(answer, trial, "detach, then exp", detached, detach, lesson)
    require(
        answer, trial, "torch.add(x, x, alpha=2, out=out)", written, {aten.add.out: inputs.add_out}, lesson
    )


@decompose.property("fn may be a module, or what has no name", asks=(WITHOUT, RETURNS))
def without_a_name(answer: Any, trial: Trial) -> None:
    def module(g: torch.Generator) -> Made:
        layer = nn.Linear(4, 5)
        with torch.no_grad():
            for each in layer.parameters():
                each.copy_(draw(g, *each.shape))
        layer.register_forward_hook(lambda layer, args, result: result.exp())
        return Made(layer, (draw(g, 3, 4),), {}, tuple(layer.parameters()))

    table = {aten.addmm.default: inputs.addmm}
    with torch.random.fork_rng(devices=[]):
        words = "fn is nn.Linear(4, 5), with a forward hook that calls exp"
        require(answer, trial, words, module, table, "A module is called: its hooks belong to what it does.")
    require(
        answer,
        trial,
        "fn is functools.partial(torch.addmm, b)",
        lambda g: Made(partial(torch.addmm, draw(g, 5)), (draw(g, 3, 4), draw(g, 4, 5))),
        table,
        "It is called, as any function is.",
    )
