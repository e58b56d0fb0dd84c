"""Exercise 10.safe_norm: a norm whose derivatives are finite where the norm is 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial, plain
from helpers.exercise import Exercise

safe_norm = Exercise(
    "10.safe_norm",
    "A norm that can be differentiated at 0",
    objective="Write a norm with finite first and second derivatives at 0, and no other value than the norm anywhere.",
    minutes=20,
    difficulty="medium",
    hints=[
        "The derivative of the root at 0 is infinite, and infinite times 0 is NaN. What you do to the result comes too late: "
        "backward still goes through the root. So which number must the root never see?",
        "Replace the squares that are 0 by 1 BEFORE the root, with torch.where, and put 0 in place of those roots AFTER it, "
        "with a second torch.where. The gradient of the first where does not let the root's through.",
        "`squares = x.square().sum(dim)`; `at_zero = squares <= eps**2`; `root = torch.where(at_zero, 1.0, squares).sqrt()`; "
        "`return torch.where(at_zero, 0.0, root)`.",
    ],
)

NORM = "The 2-norm over `dim`"
FINITE = "with finite first and second derivatives everywhere, also where x is 0."
SHAPE = "Returns a tensor without `dim`"
AWAY = "Away from 0 it is `x.norm(dim=dim)` to the last digits"
SLOPES = "and so are its first and second derivatives."
ZEROS = "With eps = 0 a row of zeros has norm 0 and gradient 0."
EPS = "eps: a norm of eps or less may come out as any number from 0 to eps."
HOOK = "No hook is left on x."
Answer = Callable[..., Tensor]


def drawn(trial: Trial, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=trial.generator, dtype=torch.float64).to(dtype)


def norm_of(x: Tensor, dim: int) -> Tensor:
    """torch's own, whose two derivatives are right away from 0."""
    return torch.linalg.vector_norm(x, dim=dim)


def require_tensor(trial: Trial, got: Any, shape: tuple[int, ...]) -> Tensor:
    have = tuple(got.shape) if isinstance(got, Tensor) else type(got).__name__
    trial.true(
        have == shape,
        f"Expected a tensor of shape {shape}, got {have}.",
        expected=f"shape {shape}",
        got=have,
        observed=("kind", have),
    )
    return got


def told_at_zero(answer: Answer, value: float) -> str:
    """How eps came into the norm, if the norm of zeros is not 0, seen at a row whose norm is that value."""
    if not 0 < value < 1e3:
        return "NaN" if value != value else "a different number"
    unit = torch.tensor([[0.6, 0.0, -0.8]], dtype=torch.float64)
    ratios = [float(answer(scale * value * unit, 1)[0].detach()) / value for scale in (1.0, 0.5)]
    known = {
        "eps under the root": (2**0.5, 1.25**0.5),
        "a floor": (1.0, 1.0),
        "eps added to the norm": (2.0, 1.5),
        "left at 0": (1.0, 0.5),
    }
    for name, factors in known.items():
        if all(abs(ratio - factor) < 1e-3 for ratio, factor in zip(ratios, factors, strict=True)):
            return name
    return "a different number"


@safe_norm.property("the norm of zeros is 0", asks=(ZEROS, SHAPE))
def at_zero(answer: Answer, trial: Trial) -> None:
    trial.given("safe_norm(zeros of shape (2, 3), dim=1), float64")
    got = require_tensor(trial, trial.call(answer, torch.zeros(2, 3, dtype=torch.float64), 1), (2,))
    value = float(got[0].detach())
    trial.true(
        bool((got == 0).all()),
        "The norm of zeros is not 0.",
        expected="0",
        got=got.detach(),
        observed=told_at_zero(answer, value) if value != 0 else "0 and others",
    )


def told_difference(got: Tensor, want: Tensor) -> Any:
    """How the norms differ, if it is by little."""
    less = want - got
    if got.dtype == want.dtype and bool((less > 0).all()) and bool((less < 0.1).all()):
        if torch.allclose(less, less.flatten()[:1], rtol=0.05, atol=0):
            return "less by one small number"
    if got.dtype == want.dtype and torch.allclose(got, want, rtol=1e-6, atol=0):
        return "half of the digits"
    return (str(got.dtype), plain(got))


@safe_norm.property(
    "away from 0 it is the norm, also where that is tiny", asks=(NORM, AWAY, SHAPE), after=(at_zero,)
)
def values(answer: Answer, trial: Trial) -> None:
    for shape, dim in (((4, 3), 1), ((4, 3), 0), ((2, 3, 4), -2), ((5,), 0)):
        x = drawn(trial, *shape)
        trial.given(f"safe_norm(x, {dim}), x of shape {shape}")
        want = norm_of(x, dim)
        got = require_tensor(trial, trial.call(answer, x, dim), tuple(want.shape))
        trial.equal(got.detach(), want, "The norm", observed=told_difference(got.detach(), want))
    x = drawn(trial, 4, 3)
    x[[0, 2], [1, 0]] = 0
    trial.given("safe_norm(x, 1), x of shape (4, 3), rows 0 and 2 have one entry that is 0")
    got, want = trial.call(answer, x, 1).detach(), norm_of(x, 1)
    zero = not got[[0, 2]].any() and bool(torch.allclose(got[[1, 3]], want[[1, 3]]))
    trial.equal(got, want, "The norm", observed=("an entry is 0", "norm 0" if zero else plain(got)))
    for scale in (1e-3, 1e-6, 1e-12):
        x = scale * drawn(trial, 4, 3)
        trial.given(f"safe_norm(x, 1), x of shape (4, 3), of about {scale:g}")
        got, want = trial.call(answer, x, 1).detach(), norm_of(x, 1)
        kind = "0" if not got.any() else "NaN" if got.isnan().any() else "a different number"
        trial.equal(got, want, "The norm", rtol=1e-6, atol=0.0, observed=("tiny", kind))


@safe_norm.property(
    "float32 stays float32",
    asks="of the dtype of x",
    after=(
        at_zero,
        values,
    ),
)
def float32(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 4, 3, dtype=torch.float32)
    x[1] = 0
    trial.given("safe_norm(x, 1), x of shape (4, 3) float32, row 1 is 0")
    got = trial.call(answer, x, 1)
    trial.equal(got.detach(), norm_of(x, 1), "The norm", observed=str(got.dtype))


def graph_names(result: Tensor) -> set[str]:
    """The names of all nodes behind a result."""
    found = [result.grad_fn]
    for node in found:  # grows while it is read
        found += [after for after, _ in node.next_functions if after is not None and after not in found]
    return {node.name() for node in found}


def told_repair(result: Tensor) -> str:
    """What was done to the root, read from the graph: the values of these repairs are the same, NaN gradients and all."""
    names = " ".join(graph_names(result))
    for description, parts in (
        ("nan_to_num", ("NanToNum",)),
        ("clamp", ("Clamp", "Maximum", "Relu", "Threshold", "Hardtanh")),
        ("where", ("Where", "MaskedFill", "MaskedScatter", "IndexPut", "Index")),
    ):
        if any(part in names for part in parts):
            return description
    return "the root alone"


def has_graph(trial: Trial, got: Tensor) -> None:
    trial.true(
        got.requires_grad,
        "x requires grad, and the result has no graph: look for detach, .data or no_grad.",
        expected="a result that requires grad",
        got="requires_grad=False",
        observed="no graph",
    )


def slope(
    answer: Answer, trial: Trial, x: Tensor, dim: int, c: Tensor, eps: float | None = None
) -> tuple[Tensor, Tensor]:
    """The result, and the gradient of (c * result).sum(), with a graph of its own if there is one."""
    got = trial.call(answer, x, dim) if eps is None else trial.call(answer, x, dim, eps)
    require_tensor(trial, got, tuple(c.shape))
    has_graph(trial, got)
    (found,) = torch.autograd.grad(got, x, c, create_graph=True)
    return got, found


def rows(trial: Trial, *zero: int) -> Tensor:
    """A leaf of shape (4, 3), some rows of which are 0, and one entry of a row that is not."""
    x = drawn(trial, 4, 3)
    x[3, 1] = 0
    x[list(zero)] = 0
    return x.requires_grad_()


@safe_norm.property(
    "the first derivative, away from 0",
    asks=(AWAY, SLOPES, HOOK),
    after=(
        at_zero,
        values,
    ),
)
def first_derivative(answer: Answer, trial: Trial) -> None:
    for dim in (1, 0):
        x, c = rows(trial), drawn(trial, 4)
        x = x if dim == 1 else x.detach().T.clone().requires_grad_()
        trial.given(
            f"the gradient of (c * safe_norm(x, {dim})).sum(), x of shape {tuple(x.shape)}, no row is 0, one entry is"
        )
        _, found = slope(answer, trial, x, dim, c)
        trial.true(
            not x._backward_hooks,
            "The answer left a hook on x: it will change every gradient that comes to x, also those of other losses.",
            expected="no hook on the input",
            got=f"{len(x._backward_hooks or ())} hook",
            observed="hook",
        )
        (want,) = torch.autograd.grad(norm_of(x, dim), x, c)
        trial.equal(found.detach(), want, "The gradient")


def finite(
    trial: Trial, found: Tensor, want: Tensor, zero: tuple[int, ...], what: str, description: Any
) -> None:
    """Wrong unless the rows of zeros have finite numbers, and the others those that are wanted."""
    bad = found[list(zero)]
    kind = "NaN" if bad.isnan().any() else "inf" if bad.isinf().any() else "finite"
    trial.true(
        kind == "finite",
        f"{what} holds {kind} in a row of zeros. One such row is enough: at the next step every weight in front of it is NaN.",
        expected="finite numbers",
        got=bad[0].detach(),
        observed=(what, kind, description),
    )
    others = [row for row in range(len(found)) if row not in zero]
    trial.equal(found[others].detach(), want[others], f"{what}, in the rows that are not 0")


@safe_norm.property("the first derivative is finite at 0, and 0", asks=(FINITE, ZEROS))
def first_derivative_at_zero(answer: Answer, trial: Trial) -> None:
    for zero in ((0, 1, 2, 3), (1,), (0, 2)):
        x, c = rows(trial, *zero), drawn(trial, 4)
        trial.given(
            "the gradient of (c * safe_norm(x, 1)).sum(), x of shape (4, 3), whose "
            + ("rows are all 0" if len(zero) == 4 else f"rows {list(zero)} are 0")
        )
        got, found = slope(answer, trial, x, 1, c)
        (want,) = torch.autograd.grad(norm_of(x, 1), x, c)
        finite(trial, found, want, zero, "The gradient", (len(zero), told_repair(got)))
        trial.true(
            not found[list(zero)].any(),
            "The gradient in a row of zeros is not 0: there is no direction in which such a row should move.",
            expected="0 in each place",
            got=found[zero[0]].detach(),
            observed="not 0",
        )


def curvature(trial: Trial, x: Tensor, found: Tensor, v: Tensor) -> Tensor:
    """The gradient of (v * found).sum(); wrong if there is none."""
    lost = "The gradient itself cannot be differentiated: a penalty on it would count for nothing, or raise."
    trial.true(
        found.requires_grad, lost, expected="a second derivative", got="none", observed="no second derivative"
    )
    try:
        (second,) = torch.autograd.grad(found, x, v, allow_unused=True)
    except RuntimeError as error:
        trial.fail(
            lost, expected="a second derivative", got=str(error)[:100], observed="no second derivative"
        )
    trial.true(
        second is not None, lost, expected="a second derivative", got="none", observed="no second derivative"
    )
    return second


def cases_of_curvature(trial: Trial, *zero: int) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
    for _ in range(2):
        x, c, v = rows(trial, *zero), drawn(trial, 4), drawn(trial, 4, 3)
        (first,) = torch.autograd.grad(norm_of(x, 1), x, c, create_graph=True)
        (want,) = torch.autograd.grad(first, x, v)
        yield x, c, v, want


@safe_norm.property(
    "the second derivative, away from 0",
    asks=(AWAY, SLOPES),
    after=(
        at_zero,
        values,
        first_derivative,
        first_derivative_at_zero,
    ),
)
def second_derivative(answer: Answer, trial: Trial) -> None:
    for x, c, v, want in cases_of_curvature(trial):
        trial.given(
            "the gradient of (v * g).sum(), g that of (c * safe_norm(x, 1)).sum(); no row is 0, one entry is"
        )
        _, found = slope(answer, trial, x, 1, c)
        second = curvature(trial, x, found, v)
        kind = "0" if not second.any() else plain(second)
        trial.equal(second.detach(), want, "The second derivative", observed=kind)


@safe_norm.property(
    "the second derivative is finite at 0",
    asks=FINITE,
    after=(
        at_zero,
        values,
        first_derivative,
        first_derivative_at_zero,
        second_derivative,
    ),
)
def second_derivative_at_zero(answer: Answer, trial: Trial) -> None:
    for x, c, v, want in cases_of_curvature(trial, 2):
        trial.given("the gradient of (v * g).sum(), g that of (c * safe_norm(x, 1)).sum(); row 2 is 0")
        _, found = slope(answer, trial, x, 1, c)
        finite(trial, curvature(trial, x, found, v), want, (2,), "The second derivative", "")


@safe_norm.property(
    "with an eps: the same away from 0, and finite at 0 and close to it",
    asks=(EPS, AWAY, FINITE),
    once_right=True,
)
def with_eps(answer: Answer, trial: Trial) -> None:
    x = rows(trial, 1).detach()
    x[2] *= 1e-12
    x[3] *= 1e-4
    x.requires_grad_()
    trial.given(
        "safe_norm(x, 1, 1e-6), x of shape (4, 3), row 1 is 0, row 2 of about 1e-12, row 3 of about 1e-4; its gradient"
    )
    got, found = slope(answer, trial, x, 1, drawn(trial, 4), 1e-6)
    want, have = norm_of(x, 1).detach()[[0, 3]], got.detach()[[0, 3]]
    kind = "0" if have[1] == 0 else "larger" if (have > want).any() else "smaller"
    trial.equal(have, want, "The norm of rows 0 and 3", rtol=1e-9, atol=0, observed=("away", kind))
    small = got.detach()[1:3]
    trial.true(
        bool(((small >= 0) & (small <= 1.01e-6)).all()),
        "The norm of a row that is 0 or nearly so does not lie between 0 and eps.",
        expected="numbers from 0 to 1e-6",
        got=small,
        observed="near 0",
    )
    trial.true(
        bool(found.isfinite().all()),
        "With an eps the gradient holds a NaN or an infinite number.",
        expected="finite numbers",
        got=found.detach()[1:3],
        observed="not finite",
    )


@safe_norm.property(
    "with an eps above 1: the same away from 0, and not above eps below it",
    asks=(EPS, AWAY, FINITE),
    once_right=True,
)
def with_a_large_eps(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 4, 3)
    x = x / norm_of(x, 1)[:, None] * torch.tensor([[3.5], [0.0], [2.97], [100.0]], dtype=torch.float64)
    trial.given(
        "safe_norm(x, 1, 3.0), x of shape (4, 3), rows of the norms 3.5, 0, 2.97 and 100; its gradient"
    )
    got, found = slope(answer, trial, x.requires_grad_(), 1, drawn(trial, 4), 3.0)
    have, want = got.detach(), norm_of(x, 1).detach()
    kind = [
        "0" if value == 0 else abs(value - need) < 1e-6
        for value, need in zip(have.tolist(), want.tolist(), strict=True)
    ]
    trial.equal(have[[0, 3]], want[[0, 3]], "The norm of rows 0 and 3", rtol=1e-9, atol=0, observed=kind)
    small = have[1:3]
    trial.true(
        bool(((small >= 0) & (small <= 3.0 + 1e-9)).all()),
        "The norm of a row whose norm is below eps does not lie between 0 and eps.",
        expected="numbers from 0 to 3",
        got=small,
        observed="below eps",
    )
    trial.true(
        bool(found.isfinite().all()),
        "With an eps the gradient holds a NaN or an infinite number.",
        expected="finite numbers",
        got=found.detach()[1:3],
        observed="not finite",
    )
