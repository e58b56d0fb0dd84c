"""Exercise 11.reshape: a view where there is one, else one copy."""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.tensors.reshape.inputs import (
    COPIES,
    FORBIDDEN,
    MEMORY,
    PLAIN,
    VIEWS,
    Answer,
    Case,
    called,
    functions,
    require_values,
    result,
    state,
)
from helpers.labs.tensors.shared.memory import made, memory

reshape = Exercise(
    "11.reshape",
    "View or copy",
    objective="Copy if there is no other way, and only then.",
    minutes=10,
    difficulty="easy",
    hints=[
        "First find out whether there is a view of this shape. You have written the rule for that: "
        "`view_strides`. The error of `view` says it, too.",
        "Where there is none, the elements must first lie in the order of their indices. Which method "
        "gives such a copy of "
        "any layout? After it, every shape with as many elements is a view.",
        "`t.clone()` keeps the layout of t, so `view` may raise as before: it is `t.contiguous()` that "
        "brings the elements into "
        "order. And look at the errors: a wrong number of elements is no reason to copy, and `view` "
        "raises RuntimeError.",
        "Two lines: if `view_strides(tuple(t.shape), t.stride(), shape)` is None, t is replaced by "
        "`t.contiguous()`; then `view`. "
        "Where the shape is wrong, `view` raises what is asked for.",
    ],
)

VALUES = "Shape and values are those of `t.reshape(shape)`."
VIEW = (
    "Where `t.view(shape)` is possible, the result is a view of t, or t itself if it has this shape "
    "already, and no memory is made."
)
COPY = "Else the result is a contiguous copy, in a memory of its own."
EXACT = "One memory is made, and it is exactly as large as the elements of the result."
ERROR = "RuntimeError is raised where `t.reshape(shape)` raises it."
STAYS = "Nothing about t changes."
GRADIENT = "Gradients go back to it."
OWN = "torch's own `reshape`, `reshape_as`, `flatten`, `unflatten` and `ravel` are not called."
WHOLE = "The elements of a tensor in a different shape: a view where there is one, else a copy."


@reshape.property("shape and values, of a contiguous tensor", asks=VALUES)
def values(answer: Answer, trial: Trial) -> None:
    require_values(answer, trial, PLAIN)


@reshape.property("shape and values, where there is no view", asks=VALUES)
def values_of_copies(answer: Answer, trial: Trial) -> None:
    require_values(answer, trial, COPIES)


@reshape.property("shape and values of views: sliced, permuted, expanded", asks=VALUES)
def values_of_views(answer: Answer, trial: Trial) -> None:
    require_values(answer, trial, VIEWS)


@reshape.property("shape and values, of any dtype", asks=VALUES)
def values_of_dtypes(answer: Answer, trial: Trial) -> None:
    for dtype in (torch.int64, torch.float64, torch.uint8, torch.bool, torch.bfloat16):
        require_values(answer, trial, (PLAIN[0], COPIES[0], VIEWS[2]), dtype)


@reshape.property("a contiguous tensor is never copied", asks=(VIEW, WHOLE))
def view_of_contiguous(answer: Answer, trial: Trial) -> None:
    require_views(answer, trial, PLAIN)


@reshape.property("a view, wherever there is one", asks=(VIEW, WHOLE))
def view_of_others(answer: Answer, trial: Trial) -> None:
    require_views(answer, trial, VIEWS)


def require_views(answer: Answer, trial: Trial, cases: tuple[Case, ...]) -> None:
    """Wrong if one is no view, or if memory was made for it. All are tried before the first is
    told.
    """
    wrong = []
    for case in cases:
        t = case.numbers()
        with made() as memories:
            got = result(answer, trial, t, case)
        real = [(each.operation, each.bytes) for each in memories if not each.meta]
        is_view = memory(got) == memory(t)
        if not is_view or real:
            wrong.append((case, is_view, real))
    if not wrong:
        return
    case, is_view, real = wrong[0]
    trial.given(case.given(case.numbers()))
    observed = [(each.about, each.shape, is_one, ran) for each, is_one, ran in wrong]
    trial.true(
        is_view,
        f"The result has a memory of its own, and there is a view: t.view({case.shape}) does not raise.",
        expected="a view of t",
        got="a copy",
        observed=observed,
    )
    trial.fail(
        f"The result is a view, and on the way {sum(size for _, size in real)} bytes of memory were made: "
        f"{', '.join(name for name, _ in real[:4])}.",
        expected="no memory",
        got=f"{sum(size for _, size in real)} bytes",
        observed=observed,
    )


@reshape.property("t stays as it was", asks=STAYS)
def stays(answer: Answer, trial: Trial) -> None:
    for needs_grad in (False, True):
        changes = []
        for case in (*PLAIN, *VIEWS, *COPIES):
            t = case.numbers().requires_grad_(needs_grad)
            before = state(t)
            called(answer, trial, t, case, ", requires grad" if needs_grad else "")
            after = state(t)
            if changed := [what for what in before if before[what] != after[what]]:
                changes.append((case, changed, before[changed[0]], after[changed[0]]))
        if not changes:
            continue
        case, changed, was, is_now = max(changes, key=lambda each: len(each[1]))
        trial.given(case.given(case.numbers()) + (", requires grad" if needs_grad else ""))
        hidden = changed[0] == MEMORY  # an address differs from run to run
        trial.fail(
            f"The answer changed t: {', '.join(changed)}.",
            expected="t as it was" if hidden else f"{changed[0]}: {was}",
            got="a different memory" if hidden else f"{is_now}",
            observed=("t changed", needs_grad, sorted({what for _, found, *_ in changes for what in found})),
        )


@reshape.property("else a contiguous copy of just the elements", asks=(COPY, EXACT, WHOLE))
def copies(answer: Answer, trial: Trial) -> None:
    for case in COPIES:
        t = case.numbers()
        got = result(answer, trial, t, case)
        trial.true(
            memory(got) != memory(t),
            "The result stands in the memory of t: what is written to it changes t.",
            expected="a memory of its own",
            got="the memory of t",
            observed=("shared", case.about, case.shape),
        )
        contiguous = torch.empty(got.shape).stride()
        trial.true(
            got.is_contiguous(),
            f"The copy has the stride {got.stride()}: it is not contiguous.",
            expected=f"stride {contiguous}",
            got=f"stride {got.stride()}",
            observed=("not contiguous", case.about, case.shape, got.stride()),
        )
        held, needed = got.untyped_storage().nbytes(), got.numel() * got.element_size()
        trial.true(
            held == needed,
            f"The result has {needed} bytes, and the memory that it stands in has {held}.",
            expected=f"{needed} bytes",
            got=f"{held} bytes",
            observed=("storage", case.about, case.shape, held, needed),
        )


@reshape.property("one memory is made for it, not two", asks=EXACT)
def one_memory(answer: Answer, trial: Trial) -> None:
    for case in COPIES:
        t = case.numbers()
        with made() as memories:
            got = result(answer, trial, t, case)
        real = [(each.operation, each.bytes) for each in memories if not each.meta]
        needed = got.numel() * got.element_size()
        few = f"{', '.join(f'{size} bytes by {name}' for name, size in real[:4])}{', ...' * (len(real) > 4)}"
        trial.true(
            len(real) <= 1,
            f"{len(real)} memories were made, and one is enough: {few}.",
            expected=f"one, of {needed} bytes",
            got=f"{len(real)}, of {sum(size for _, size in real)} bytes in all",
            observed=("memories", case.about, case.shape, real),
        )


NO_SHAPES = (
    (COPIES[0], (5, 2), "if the shape has fewer elements than t"),
    (COPIES[0], (13,), "if the shape has more elements than t"),
    (PLAIN[0], (3, 3), "if the shape has fewer elements than a contiguous t"),
    (PLAIN[0], (4, 4), "if the shape has more elements than a contiguous t"),
    (PLAIN[0], (-1, -1), "for two -1"),
    (COPIES[0], (-1, 3, -1), "for two -1, where there is no view"),
    (PLAIN[0], (-1, 12, -1), "for two -1, also where both could be 1"),
    (PLAIN[0], (5, -1), "for a -1 that no size fits"),
    (COPIES[0], (-1, 8), "for a -1 that no size fits, where there is no view"),
    (PLAIN[0], (0,), "for a shape without elements"),
    (PLAIN[0], (0, -1), "for a -1 beside a 0"),
    (PLAIN[0], (), "for a shape without dimensions, of more than one element"),
    (VIEWS[2], (3, 12), "if the shape is that of the whole memory of a slice"),
    (VIEWS[8], (4,), "if the shape is that of t before it was expanded"),
    (PLAIN[11], (2,), "for two elements of one number"),
    (PLAIN[14], (1,), "for one element of none"),
    (PLAIN[14], (0, -1), "if -1 could stand for any size"),
    (PLAIN[14], (-1, 0), "if -1 could stand for any size"),
)


@reshape.property("RuntimeError where there is no such shape", asks=ERROR)
def errors(answer: Answer, trial: Trial) -> None:
    """All are tried before the first is told."""
    wrong = []
    for of, shape, when in NO_SHAPES:
        case = Case(of.of, of.way, of.about, shape)
        if (found := outcome(answer, trial, case)) != "RuntimeError":
            wrong.append((case, when, found))
    if not wrong:
        return
    case, when, found = wrong[0]
    trial.given(case.given(case.numbers()))
    raised = "returned" not in found
    trial.fail(
        f"{found if raised else 'Nothing'} was raised {when}: RuntimeError is asked for.",
        expected="RuntimeError",
        got=found,
        observed=[(when, found) for _, when, found in wrong],
    )


def outcome(answer: Answer, trial: Trial, case: Case) -> str:
    """What came of one call: the name of an error, or what was returned."""
    try:
        came = called(answer, trial, case.numbers(), case)
    except NotImplementedError:
        raise
    except RuntimeError as error:
        return "RuntimeError" if not isinstance(error, RecursionError) else "RecursionError"
    except Exception as error:
        return type(error).__name__
    is_tensor = isinstance(came, Tensor)
    return f"returned a tensor of shape {tuple(came.shape)}" if is_tensor else f"returned {came!r:.80}"


@reshape.property("gradients go back, through views and through copies", asks=GRADIENT)
def gradients(answer: Answer, trial: Trial) -> None:
    kinds = {"contiguous": PLAIN, "views": VIEWS, "copies": COPIES}
    cut = []
    for kind, cases in kinds.items():
        for case in cases:
            t = case.way(torch.zeros(case.of, requires_grad=True))
            got = result(answer, trial, t, case, ", requires grad")
            if got is not t and got.grad_fn is None:
                cut.append((kind, case))
    if cut:
        case = cut[0][1]
        trial.given(case.given(case.numbers()) + ", requires grad")
        trial.fail(
            "t requires grad, and the result has no grad_fn: no gradient goes back to t.",
            expected="a grad_fn",
            got="None",
            observed=("no graph", list(dict.fromkeys(kind for kind, _ in cut))),
        )
    for case in (*PLAIN, *VIEWS, *COPIES):
        require_gradient(answer, trial, case)


def require_gradient(answer: Answer, trial: Trial, case: Case) -> None:
    source = torch.randn(case.of, generator=trial.generator, dtype=torch.float64).requires_grad_()
    t = case.way(source)
    got, want = result(answer, trial, t, case, ", requires grad"), t.reshape(case.shape)
    upstream = torch.randn(want.shape, generator=trial.generator, dtype=want.dtype)
    (wanted,) = torch.autograd.grad(want, source, upstream, retain_graph=True)
    (found,) = torch.autograd.grad(got, source, upstream, allow_unused=True)
    trial.true(
        found is not None,
        "The result has a grad_fn, and no gradient comes to what t was made from.",
        expected="a gradient",
        got="none",
        observed=("no gradient", case.about, case.shape),
    )
    trial.equal(
        found,
        wanted,
        "The gradient of what t was made from",
        observed=("gradient", case.about, case.shape),
    )


@reshape.property("a call knows nothing of an earlier one", asks=(VALUES, COPY))
def each_call_alone(answer: Answer, trial: Trial) -> None:
    t, earlier = torch.arange(6.0).view(2, 3).T, torch.empty(0)
    for words, edit in (
        ("t of size (3, 2) and stride (1, 3), shape (6,)", lambda: None),
        ("the same t as in the call before, after t.add_(10)", lambda: t.add_(10)),
        ("the same t, once more", lambda: None),
        ("the same t, after t.t_() and t.add_(10)", lambda: t.t_().add_(10)),
    ):
        edit()
        trial.given(words)
        got = trial.call(lambda: answer(t, (6,)))
        trial.equal(got, t.reshape(6), observed=("an earlier call", words))
        trial.true(
            memory(got) != memory(earlier),
            "The result lies in the memory of an earlier result: what is written to the one stands in the other.",
            expected="a memory of its own",
            got="that of an earlier result",
            observed=("memory of an earlier result", words),
        )
        earlier = got


@reshape.property("none of torch's own that do the whole of it is called", asks=OWN)
def own_work(answer: Answer, trial: Trial) -> None:
    wrong_shapes = tuple(Case(of.of, of.way, of.about, shape) for of, shape, _ in NO_SHAPES)
    found: list[tuple[Case, str]] = []
    for case in (*PLAIN, *VIEWS, *COPIES, *wrong_shapes):
        t = case.numbers()
        with functions() as seen:
            if case in wrong_shapes:
                outcome(answer, trial, case)
            else:
                called(answer, trial, t, case)
        found += [(case, name) for name in seen]
    if found:
        case, name = found[0]
        names = sorted({name for _, name in found})
        trial.given(case.given(case.numbers()))
        trial.fail(
            f"The answer calls torch's own `{name}`, which is what this exercise builds.",
            expected=f"none of {', '.join(FORBIDDEN)}",
            got=", ".join(names),
            observed=("calls", names),
        )
