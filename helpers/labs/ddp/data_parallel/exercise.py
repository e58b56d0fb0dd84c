"""Exercise 07.data_parallel: one module, several threads. Here scatter and gather; replicas, threads and the whole apart."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.ddp.data_parallel.inputs import Answer, drawn, listed

data_parallel = Exercise(
    "07.data_parallel",
    "DataParallel on threads",
    objective="Cut a batch, run copies of one module on the pieces at once, join what comes out, and let the gradients "
    "reach the one module.",
    minutes=45,
    difficulty="medium",
    core=False,
    names=("scatter", "replicate", "parallel_apply", "gather", "data_parallel"),
    hints=[
        "Everything but replicate and parallel_apply is a call of torch or two. In replicate ask: what may the replicas "
        "share, so that gradients arrive, and what may they not share, since several threads write it?",
        "Parameters are only read in a forward: share them. Module objects and buffers are written: copy them. `copy.deepcopy` "
        "takes a memo of what it shall not copy. In a thread, keep the result, or the exception, at its place.",
        "`keep = {id(p): p for p in module.parameters()}` and `copy.deepcopy(module, dict(keep))`. Start all threads, then "
        "join all, then raise the exception that was kept, if there is one. In data_parallel: "
        "`parts = {name: scatter(value, len(pieces)) for name, value in kw.items()}`.",
    ],
)


@data_parallel.property(
    "scatter cuts a tensor along its first dimension as torch.chunk does, maybe into fewer pieces",
    asks=(
        "The parts of x for at most n replicas, in a list or a tuple.",
        "A tensor (of one dimension or more) is cut along dim 0 as `torch.chunk(x, n)` cuts it, which may give fewer pieces than n.",
    ),
)
def pieces(answer: Answer, trial: Trial) -> None:
    for shape, n in (
        ((9, 4), 3),
        ((10, 4), 4),
        ((6, 4), 5),
        ((2, 4), 4),
        ((5, 4), 1),
        ((7, 4), 3),
        ((8,), 3),
    ):
        x = drawn(trial, *shape)
        x = (10 * x).long() if len(shape) == 1 else x  # labels, say
        trial.given(f"scatter(x, {n}), x of shape {shape}, {x.dtype}")
        got = listed(trial, trial.call(answer[0], x, n), "scatter")
        wants = x.chunk(n)
        sizes = [tuple(piece.shape) if isinstance(piece, Tensor) else type(piece).__name__ for piece in got]
        right = [tuple(want.shape) for want in wants]
        trial.true(
            sizes == right,
            "The pieces have different shapes than torch.chunk's.",
            expected=right,
            got=sizes,
            observed=sizes,
        )
        for place, (piece, want) in enumerate(zip(got, wants, strict=True)):
            rows_are = [_row_in(x, row) for row in piece]
            trial.equal(piece.detach(), want, f"Piece {place}", observed=rows_are)


def _row_in(x: Tensor, row: Tensor) -> int:
    """Which row of x this is; -1 if none."""
    return next((place for place, own in enumerate(x) if torch.equal(own, row.detach())), -1)


@data_parallel.property("gradients of the pieces reach x", asks="Gradients of the pieces reach x.")
def gradient_of_x(answer: Answer, trial: Trial) -> None:
    for x, kind in (
        (drawn(trial, 7, 4).requires_grad_(), ""),
        (nn.Parameter(drawn(trial, 7, 4)), " a Parameter"),
    ):
        trial.given(
            f"scatter(x, 3), x{kind} of shape (7, 4), requires_grad=True; random numbers come in at each piece"
        )
        got = listed(trial, answer[0](x, 3), "scatter")
        upstream = [drawn(trial, *piece.shape) for piece in got]
        trial.true(
            all(piece.requires_grad for piece in got),
            "The pieces do not require grad, although x does: they are cut off from its graph.",
            observed="cut off",
        )
        rows = sum(len(piece) for piece in got)
        trial.true(
            not kind or rows == len(x),
            "A Parameter is not cut as a tensor is, and it is a tensor, too.",
            expected=f"{len(x)} rows in all pieces together",
            got=f"{rows} rows",
            observed=("rows", kind),
        )
        torch.autograd.backward(got, upstream)
        trial.true(
            x.grad is not None, "x gets no gradient.", expected="a gradient", got="None", observed="None"
        )
        trial.equal(x.grad, torch.cat(upstream), "The gradient of x", observed="value")


@data_parallel.property(
    "what is no tensor goes to all replicas, the same object",
    asks="Anything else, lists and tuples too, goes to all n replicas as it is: neither cut nor copied.",
)
def others_as_they_are(answer: Answer, trial: Trial) -> None:
    rows = [drawn(trial, 3, 4) for _ in range(6)]
    values = {
        "0.5": 0.5,
        "None": None,
        "'mean'": "mean",
        "a list of 6 tensors": rows,
        "a tuple of 6 tensors": tuple(rows),
    }
    for name, value in (values | {"a dict with a tensor": {"mask": rows[0]}}).items():
        trial.given(f"scatter({name}, 3)")
        got = listed(trial, answer[0](value, 3), "scatter")
        kinds = ["x" if each is value else _told(each) for each in got]
        trial.true(
            kinds == ["x"] * 3,
            "What is no tensor does not go to all replicas as it is.",
            expected="x, x, x",
            got=", ".join(kinds) or "nothing",
            observed=(name, kinds),
        )


@data_parallel.property(
    "gather joins outputs along the first dimension, in order; gradients reach them",
    asks=("The outputs joined along dim 0, in their order.", "Gradients reach outs."),
)
def joined(answer: Answer, trial: Trial) -> None:
    for sizes, rest in (((2, 2), (4, 3)), ((3, 3, 1), (2,)), ((4,), (2,)), ((2, 1), ())):
        outs = [drawn(trial, size, *rest).requires_grad_() for size in sizes]
        trial.given(f"gather(outs), outs of shapes {[tuple(out.shape) for out in outs]}, which require grad")
        got = trial.call(answer[3], outs)
        want = torch.cat(outs)
        _gives(trial, got, want)
        _gradients_arrive(trial, got, want, outs)


@data_parallel.property(
    "gather makes a vector of outputs without dimensions",
    asks=("Outputs without dimensions become a vector.", "Gradients reach outs."),
)
def scalars(answer: Answer, trial: Trial) -> None:
    for n in (3, 1):
        outs = [drawn(trial).requires_grad_() for _ in range(n)]
        trial.given(f"gather(outs), {n} outputs of shape (), as of a forward that returns a loss")
        got = trial.call(answer[3], outs)
        want = torch.stack(outs)
        _gives(trial, got, want)
        _gradients_arrive(trial, got, want, outs)


def _gives(trial: Trial, got: object, want: Tensor) -> None:
    """Wrong unless this is what gather is to give; a lost graph is said first, since numbers alone lose the dtype, too."""
    trial.true(
        not isinstance(got, Tensor) or got.requires_grad,
        "What gather gives does not require grad: it is cut off from the graph.",
        observed="cut off",
    )
    trial.equal(got.detach() if isinstance(got, Tensor) else got, want.detach(), "What gather gives")


def _gradients_arrive(trial: Trial, got: Tensor, want: Tensor, outs: list[Tensor]) -> None:
    upstream = drawn(trial, *want.shape)
    slopes = torch.autograd.grad(got, outs, upstream, allow_unused=True)
    for place, (slope, right) in enumerate(
        zip(slopes, torch.autograd.grad(want, outs, upstream), strict=True)
    ):
        trial.true(slope is not None, f"Output {place} gets no gradient.", got="None", observed="None")
        trial.equal(slope, right, f"The gradient of output {place}", observed="value")


def _told(value: object) -> str:
    """What stands there in place of x."""
    name = type(value).__name__
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], Tensor):
        return f"a {name} of {len(value)} tensors of shape {tuple(value[0].shape)}, which is not x"
    return f"a different {name}"
