"""Exercise 11.reshape: a view where there is one, else one copy."""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.check.operations import operations
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.tensors.reshape.inputs import (
    COPIES,
    FORBIDDEN,
    PLAIN,
    VIEWS,
    Answer,
    Case,
    called,
    functions,
    memory,
    require_values,
    result,
    state,
)

reshape = Exercise(
    "11.reshape",
    "View or copy",
    objective="Copy if there is no other way, and only then.",
    minutes=15,
    difficulty="medium",
    hints=[
        "First find out whether there is a view of this shape. You have written the rule for that: `view_strides`.",
        "Where there is none, the elements must first lie in the order of their indices. Which method gives such a copy of "
        "any layout? After it, every shape with as many elements is a view.",
        "`t.clone()` keeps the layout of t, so `view` may raise as before: it is `t.contiguous()` that brings the elements into "
        "order. And look at the errors: a wrong number of elements is no reason to copy, and `view` raises RuntimeError.",
        "Two lines: if `view_strides(tuple(t.shape), t.stride(), shape)` is None, t is replaced by `t.contiguous()`; then `view`. "
        "Where the shape is wrong, `view` raises what is asked for.",
    ],
)

VALUES = "Shape and values are those of `t.reshape(shape)`."
VIEW = "Where `t.view(shape)` is possible, the result is a view of t, and no memory is made."
COPY = "Else the result is a contiguous copy, in a memory of its own."
EXACT = "One memory is made, and it is exactly as large as the elements of the result."
ERROR = "RuntimeError is raised where `t.reshape(shape)` raises it."
STAYS = "Nothing about t changes."
GRADIENT = "Gradients go back to it."
OWN = "torch's own `reshape`, `reshape_as`, `flatten`, `unflatten` and `ravel` are not called."
WHOLE = "The elements of a tensor in a different shape: a view where there is one, else a copy."


@reshape.property("shape and values, of a contiguous tensor", asks=VALUES)
def values(answer: Answer, trial: Trial) -> None:
    for case in PLAIN:
        require_values(answer, trial, case)


@reshape.property("shape and values, where there is no view", asks=VALUES)
def values_of_copies(answer: Answer, trial: Trial) -> None:
    for case in COPIES:
        require_values(answer, trial, case)
    for dtype in (torch.float64, torch.int64, torch.uint8, torch.bool, torch.bfloat16):
        for case in (COPIES[0], VIEWS[2]):
            require_values(answer, trial, case, dtype)


@reshape.property("shape and values of views: sliced, permuted, expanded", asks=VALUES)
def values_of_views(answer: Answer, trial: Trial) -> None:
    for case in VIEWS:
        require_values(answer, trial, case)


@reshape.property("a contiguous tensor is never copied", asks=(VIEW, WHOLE))
def view_of_contiguous(answer: Answer, trial: Trial) -> None:
    for case in PLAIN:
        require_view(answer, trial, case)


@reshape.property("a view, wherever there is one", asks=(VIEW, WHOLE))
def view_of_others(answer: Answer, trial: Trial) -> None:
    for case in VIEWS:
        require_view(answer, trial, case)


def require_view(answer: Answer, trial: Trial, case: Case) -> None:
    t = case.numbers()
    with operations() as ran:
        got = result(answer, trial, t, case)
    made = sum(each.bytes for each in ran)
    trial.true(
        memory(got) == memory(t),
        f"The result has a memory of its own, and there is a view: t.view({case.shape}) does not raise.",
        expected="a view of t",
        got="a copy",
        observed=("copied", case.about, case.shape, made),
    )
    trial.true(
        made == 0,
        f"The result is a view, and on the way {made} bytes of memory were made: "
        f"{', '.join(each.name for each in ran if each.bytes)}.",
        expected="no memory",
        got=f"{made} bytes",
        observed=("memory", case.about, case.shape, made),
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
        with operations() as ran:
            got = result(answer, trial, t, case)
        sizes = [(each.name, each.bytes) for each in ran if each.bytes]
        made = sum(len(each.memories) for each in ran)
        needed = got.numel() * got.element_size()
        trial.true(
            made <= 1,
            f"{made} memories were made, and one is enough: "
            f"{', '.join(f'{size} bytes by {name}' for name, size in sizes)}.",
            expected=f"one, of {needed} bytes",
            got=f"{made}, of {sum(size for _, size in sizes)} bytes in all",
            observed=("memories", case.about, case.shape, sizes),
        )


NO_SHAPES = (
    (COPIES[0], (5, 2), "if the shape has fewer elements than t"),
    (COPIES[0], (13,), "if the shape has more elements than t"),
    (PLAIN[0], (3, 3), "if the shape has fewer elements than a contiguous t"),
    (PLAIN[0], (4, 4), "if the shape has more elements than a contiguous t"),
    (PLAIN[0], (-1, -1), "for two -1"),
    (COPIES[0], (-1, 3, -1), "for two -1, where there is no view"),
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


@reshape.property("t stays as it was", asks=STAYS)
def stays(answer: Answer, trial: Trial) -> None:
    for case in (*PLAIN, *VIEWS, *COPIES):
        for needs_grad in (False, True):
            t = case.numbers().requires_grad_(needs_grad)
            before = state(t)
            called(answer, trial, t, case, ", requires grad" if needs_grad else "")
            after = state(t)
            changed = [what for what in before if before[what] != after[what]]
            at = changed[0] if changed else ""
            # An address would differ from run to run.
            hidden = at == "where its memory is"
            trial.true(
                not changed,
                f"The answer changed t: {', '.join(changed)}.",
                expected="t as it was" if hidden else f"{at}: {before.get(at)}",
                got="a different memory" if hidden else f"{after.get(at)}",
                observed=("t changed", changed, case.about, case.shape, needs_grad),
            )


@reshape.property("gradients go back, through views and through copies", asks=GRADIENT)
def gradients(answer: Answer, trial: Trial) -> None:
    for case in (*PLAIN, *VIEWS, *COPIES):
        source = torch.randn(case.of, generator=trial.generator, dtype=torch.float64).requires_grad_()
        t = case.way(source)
        got, want = result(answer, trial, t, case, ", requires grad"), t.reshape(case.shape)
        trial.true(
            got.requires_grad and (got is t or got.grad_fn is not None),
            "t requires grad, and the result has no grad_fn: no gradient goes back to t.",
            expected="a grad_fn",
            got="None",
            observed=("no graph", case.about, case.shape),
        )
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


@reshape.property("none of torch's own that do the whole of it is called", asks=OWN)
def own_work(answer: Answer, trial: Trial) -> None:
    wrong_shapes = tuple(Case(of.of, of.way, of.about, shape) for of, shape, _ in NO_SHAPES)
    for case in (*PLAIN, *VIEWS, *COPIES, *wrong_shapes):
        t = case.numbers()
        with functions() as seen:
            outcome_of_wrong = outcome(answer, trial, case) if case in wrong_shapes else ""
            if not outcome_of_wrong:
                called(answer, trial, t, case)
        trial.true(
            not seen,
            f"The answer calls torch's own `{seen[0] if seen else ''}`, which is what this exercise builds.",
            expected=f"none of {', '.join(FORBIDDEN)}",
            got=", ".join(dict.fromkeys(seen)),
            observed=("calls", sorted({*seen}), case.about, case.shape),
        )
