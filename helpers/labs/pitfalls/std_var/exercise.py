"""Exercise 10.std_var: standard deviation and variance, with torch's correction."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial, plain
from helpers.exercise import Exercise
from helpers.labs.pitfalls.shared.own_work import (
    Forbidden,
    property_by_hand,
    run_for_its_calls,
)

std_var = Exercise(
    "10.std_var",
    "By what std and var divide",
    objective="Write torch's std and var: any dims, any correction, and no digits lost far from 0.",
    minutes=20,
    difficulty="easy",
    names=("std", "var"),
    hints=[
        "Two passes: first the mean, then the squared distances from it. Which shape must the mean have, so that it can "
        "be subtracted from x for any dim? And how many entries stand in each sum?",
        "`x.mean(dim, keepdim=True)` can be subtracted. The entries of a sum are counted over the reduced dims alone: the "
        "product of their sizes. dim=None stands for all dims, an int for one.",
        "`dims = range(x.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim`; "
        "`n = math.prod(x.shape[d] for d in dims)`; the sum of the squared distances, with keepdim, divided by "
        "`max(n - correction, 0)`. A tensor divided by 0 gives NaN or inf, as it should here. std is the root of var.",
    ],
)

TORCHS_OWN = Forbidden(
    "std",
    "var",
    "std_mean",
    "var_mean",
    "cov",
    "corrcoef",
    "nanstd",
    "nanvar",
    description="which is what this exercise builds.",
)
property_of_std_var = partial(property_by_hand, std_var, TORCHS_OWN)

VAR = "The variance over one dimension, several, or all (dim=None), as `torch.var` gives it."
STD = "The square root of `var`, with the same arguments."
DTYPE = "Returns a tensor of the dtype of x"
KEEPDIM = "keepdim=True keeps the reduced dimensions, with size 1."
DIVIDED = (
    "The sum of the squared distances from their mean is divided by max(n - correction, 0), with n the number of entries "
    "in each sum."
)
EDGES = "So n = 1 with correction 1 gives NaN, and n = 0 gives NaN always."
FAR = "Numbers far from 0 lose nothing: 1e8 + noise (in float64) has the variance of the noise."
OWN = "No std or var of torch or NumPy is called, nor std_mean, var_mean, cov."
Answer = tuple[Any, Any]
Dims = int | tuple[int, ...] | None
ONE_DIM = (((7,), 0), ((4, 4), 1), ((3, 5), 0), ((3, 5), 1), ((5, 3), -1), ((2, 3, 4), -2), ((2, 3, 4), 0))
SEVERAL = (((3, 5), (0, 1)), ((2, 3, 4), (0, 2)), ((2, 3, 4), (-1, 1)), ((4, 3, 2, 5), (3, 0)))


def drawn(trial: Trial, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Numbers around 0.5, which are not contiguous if there are several dims."""
    dims = tuple(reversed(range(len(shape))))
    return torch.randn(shape[::-1], generator=trial.generator, dtype=dtype).permute(dims) + 0.5


def squares_of(x: Tensor, dim: Dims, keepdim: bool = False) -> Tensor:
    """The sum of the squared distances from the mean."""
    return (x - x.mean(dim, keepdim=True)).square().sum(dim, keepdim=keepdim)


def count(x: Tensor, dim: Dims) -> int:
    dims = range(x.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    return math.prod(x.shape[d] for d in dims)


def kind_of(got: Any, squares: Tensor, power: int) -> Any:
    """By which number the squares were divided, if it is one; else what came. power: 2 for a std."""
    if not isinstance(got, Tensor) or got.shape != squares.shape or not got.dtype.is_floating_point:
        return (type(got).__name__, str(getattr(got, "dtype", "")), tuple(getattr(got, "shape", ())))
    divisors = squares.flatten() / got.detach().double().flatten() ** power
    if divisors.isfinite().all() and torch.allclose(divisors, divisors[0]):
        coarse = got.dtype == torch.float64 and torch.equal(got, got.float().double())
        digits = "digits of float32" if coarse else str(got.dtype)
        return ("divided by", round(float(divisors[0]), 3), digits)
    return plain(got)


def divided_for(function: Any, x: Tensor, dim: int, correction: int) -> Any:
    """By which number the squares were divided for this correction, or the error that came."""
    try:
        got = function(x.clone(), dim, correction=correction)
    except Exception as error:  # the learner's own
        return type(error).__name__
    return kind_of(got, squares_of(x, dim), 1)


def require(
    trial: Trial,
    function: Any,
    name: str,
    x: Tensor,
    dim: Dims,
    rtol: float | None = None,
    observed: Any = None,
    **options: Any,
) -> None:
    """Compares one call of var or std with the quotient, computed in float64."""
    description = "".join(f", {key}={value}" for key, value in options.items())
    trial.given(
        f"{name}(x, {dim}{description}), x of shape {tuple(x.shape)} {str(x.dtype).removeprefix('torch.')}"
    )
    got = trial.call(function, x, dim, **options)
    squares = squares_of(x.double(), dim, options.get("keepdim", False))
    correction = options.get("correction", 1)
    want = squares / max(count(x, dim) - correction, 0)
    want, power = (want.sqrt(), 2) if name == "std" else (want, 1)
    kind = (tuple(x.shape), dim, kind_of(got, squares, power)) if observed is None else observed
    message = "The variance" if name == "var" else "The standard deviation"
    trial.equal(got, want.to(x.dtype), message, rtol=rtol, observed=kind)


@property_of_std_var("the sums are its own work", asks=OWN)
def own_work(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 3, 4)
    trial.given("var(x, 1) and std(x, 1), x of shape (3, 4); calls are watched")
    for function in answer[::-1]:
        run_for_its_calls(function, x, 1)


@property_of_std_var("var over one dim, divided by n - 1 unless told otherwise", asks=(VAR, DIVIDED))
def over_one_dim(answer: Answer, trial: Trial) -> None:
    for shape, dim in ONE_DIM:
        require(trial, answer[1], "var", drawn(trial, *shape), dim)


@property_of_std_var("var divides by n - correction", asks=DIVIDED)
def corrected(answer: Answer, trial: Trial) -> None:
    cases = [
        (drawn(trial, *shape), dim, correction)
        for shape, dim, correction in (((5,), 0, 0), ((3, 6), 1, 2), ((6, 3), 0, 3))
    ]
    # What it does with one correction does not tell what it does with the others.
    kinds = [divided_for(answer[1], *case) for case in cases]
    for x, dim, correction in cases:
        require(trial, answer[1], "var", x, dim, observed=kinds, correction=correction)


@property_of_std_var("var over several dims takes all their entries as one sample", asks=(VAR, DIVIDED))
def over_several_dims(answer: Answer, trial: Trial) -> None:
    for shape, dims in SEVERAL:
        require(trial, answer[1], "var", drawn(trial, *shape), dims)


@property_of_std_var("var drops the reduced dims, or keeps them with size 1: keepdim", asks=KEEPDIM)
def kept_dims(answer: Answer, trial: Trial) -> None:
    for dim, keepdim, want in ((1, False, (3, 4)), (1, True, (3, 1, 4)), ((0, -1), True, (1, 5, 1))):
        x = drawn(trial, 3, 5, 4)
        trial.given(f"var(x, {dim}, keepdim={keepdim}), x of shape (3, 5, 4)")
        require_shape(trial, trial.call(answer[1], x, dim, keepdim=keepdim), want)


def require_shape(trial: Trial, got: Any, want: tuple[int, ...]) -> None:
    is_tensor = isinstance(got, Tensor)
    have = tuple(got.shape) if is_tensor else type(got).__name__
    trial.true(
        is_tensor and have == want,
        f"Expected a tensor of shape {want}, got {'one of shape ' if is_tensor else ''}{have}.",
        expected=want,
        got=have,
        observed=("shape", have),
    )


VAR_IS_RIGHT = (over_one_dim, corrected, over_several_dims, kept_dims)


@property_of_std_var("var over all dims: dim=None", after=VAR_IS_RIGHT, asks=VAR)
def over_all_dims(answer: Answer, trial: Trial) -> None:
    for shape in ((3, 5), (2, 3, 4), (6,)):
        require(trial, answer[1], "var", drawn(trial, *shape), None)


@property_of_std_var("var keeps all dims: keepdim with dim=None", after=VAR_IS_RIGHT, asks=KEEPDIM)
def all_dims_kept(answer: Answer, trial: Trial) -> None:
    for shape in ((3, 5), (2, 3, 4)):
        trial.given(f"var(x, None, keepdim=True), x of shape {shape}")
        got = trial.call(answer[1], drawn(trial, *shape), None, keepdim=True)
        require_shape(trial, got, (1,) * len(shape))


@property_of_std_var("float32 stays float32", after=VAR_IS_RIGHT, asks=DTYPE)
def float32(answer: Answer, trial: Trial) -> None:
    for dim in (0, 1):
        x = drawn(trial, 3, 5, dtype=torch.float32)
        trial.given(f"var(x, {dim}), x of shape (3, 5) float32")
        got = trial.call(answer[1], x, dim)
        want = squares_of(x.double(), dim) / (x.shape[dim] - 1)
        kind = (str(getattr(got, "dtype", "")), getattr(got, "requires_grad", ""))
        trial.equal(got, want.float(), "The variance", observed=kind)


FAR_AWAY = ((torch.float32, 1e4, "1e4", 0.05), (torch.float64, 1e8, "1e8", 1e-3))


@property_of_std_var(
    "numbers far from 0 lose nothing: 100 million plus noise has the variance of the noise",
    asks=FAR,
    after=VAR_IS_RIGHT,
)
def far_from_zero(answer: Answer, trial: Trial) -> None:
    # One pass is off by some 8 in float32, and 2 in float64; two passes, or one by Welford's way, by far less.
    for dtype, offset, text, rtol in FAR_AWAY:
        noise = torch.randn(3, 12, generator=trial.generator, dtype=torch.float64)
        x = (noise + offset).to(dtype)
        shifted = x.double() - offset  # exact: both numbers are near one another
        want = (squares_of(shifted, 1) / 11).to(dtype)
        name = str(dtype).removeprefix("torch.")
        trial.given(f"var(x, 1), x of shape (3, 12) {name}: {text} plus noise of about 1")
        got = trial.call(answer[1], x, 1)
        trial.equal(got, want, "The variance", rtol=rtol, observed=("digits lost", name))
    for dtype, offset, text, rtol in FAR_AWAY:
        for dim in (1, 0):
            x, shifted = rows_apart(trial, dtype, offset)
            x, shifted = (x, shifted) if dim else (x.T, shifted.T)
            want = (squares_of(shifted, dim) / 11).to(dtype)
            name = str(dtype).removeprefix("torch.")
            trial.given(
                f"var(x, {dim}), x of shape {tuple(x.shape)} {name}: noise of about 1, plus 0 in one "
                f"{'row' if dim else 'column'}, {text} in one and -3 * {text} in one"
            )
            got = trial.call(answer[1], x, dim)
            trial.equal(got, want, "The variance", rtol=rtol, observed=("digits lost, apart", name))


def rows_apart(trial: Trial, dtype: torch.dtype, offset: float) -> tuple[Tensor, Tensor]:
    """Three rows, each at a place of its own, and without that."""
    noise = torch.randn(3, 12, generator=trial.generator, dtype=torch.float64)
    offsets = torch.tensor([[0.0], [offset], [-3 * offset]], dtype=torch.float64)
    x = (noise + offsets).to(dtype)
    return x, x.double() - offsets


def kind_at_the_edge(got: Any) -> Any:
    """What came for a sample that is too small."""
    if not isinstance(got, Tensor):
        return type(got).__name__
    kinds = (("0", (got == 0).all()), ("NaN", got.isnan().all()), ("inf", (got == math.inf).all()))
    negative = [("below 0", (got < 0).all())]
    return [name for name, holds in (*kinds, *negative) if holds][:1] or plain(got)


@property_of_std_var(
    "one entry has no variance: NaN with correction 1, and 0 with correction 0",
    asks=(EDGES, DIVIDED),
    after=VAR_IS_RIGHT,
)
def of_one_entry(answer: Answer, trial: Trial) -> None:
    for shape, dim in (((1, 4), 0), ((2, 1, 1), (1, 2))):
        x = drawn(trial, *shape)
        trial.given(f"var(x, {dim}), x of shape {shape}: n = 1")
        got, want = trial.call(answer[1], x, dim), squares_of(x, dim)
        trial.equal(got, want / 0, "The variance", observed=("1", kind_at_the_edge(got)))
        trial.given(f"var(x, {dim}, correction=0), x of shape {shape}: n = 1")
        got = trial.call(answer[1], x, dim, correction=0)
        trial.equal(got, want, "The variance", observed=("0", kind_at_the_edge(got)))


EDGES_ARE_RIGHT = (over_one_dim, corrected, over_several_dims, kept_dims, far_from_zero, of_one_entry)


@property_of_std_var(
    "no entry has no variance either: NaN with any correction", after=VAR_IS_RIGHT, asks=EDGES
)
def of_no_entry(answer: Answer, trial: Trial) -> None:
    for shape, dim, correction, keepdim in (
        ((0,), 0, 0, False),
        ((0, 3), 0, 1, False),
        ((2, 0), 1, 1, False),
        ((2, 0), 1, 0, True),
    ):
        x = drawn(trial, *shape)
        kept = ", keepdim=True" if keepdim else ""
        trial.given(f"var(x, {dim}, correction={correction}{kept}), x of shape {shape}: n = 0")
        want = torch.full_like(squares_of(x, dim, keepdim), math.nan)
        got = trial.call(answer[1], x, dim, correction=correction, **({"keepdim": True} if keepdim else {}))
        trial.equal(got, want, "The variance", observed=kind_at_the_edge(got))


@property_of_std_var("a result without entries is empty", after=VAR_IS_RIGHT, asks=VAR)
def of_no_result(answer: Answer, trial: Trial) -> None:
    for shape, dim, left in (((0, 3), 1, (0,)), ((2, 0, 3), (0, -1), (0,)), ((3, 0, 2), 0, (0, 2))):
        x = drawn(trial, *shape)
        trial.given(f"var(x, {dim}), x of shape {shape}")
        require_shape(trial, trial.call(answer[1], x, dim), left)


@property_of_std_var(
    "fewer entries than the correction: divided by 0, not by less",
    after=(*VAR_IS_RIGHT, of_one_entry, of_no_entry),
    asks=DIVIDED,
)
def of_too_few(answer: Answer, trial: Trial) -> None:
    for shape, dim, correction in (((2,), 0, 3), ((4, 2), 1, 5)):
        x = drawn(trial, *shape)
        trial.given(f"var(x, {dim}, correction={correction}), x of shape {shape}: n = 2")
        got = trial.call(answer[1], x, dim, correction=correction)
        trial.equal(got, squares_of(x, dim) / 0, "The variance", observed=kind_at_the_edge(got))


@property_of_std_var("std is the root of var, over one dim and over several", after=VAR_IS_RIGHT, asks=STD)
def root(answer: Answer, trial: Trial) -> None:
    for shape, dim in (*ONE_DIM[:4], *SEVERAL[:3]):
        require(trial, answer[0], "std", drawn(trial, *shape), dim)
    require(trial, answer[0], "std", drawn(trial, 3, 5, dtype=torch.float32), 1)
    require(trial, answer[0], "std", drawn(trial, 3, 5), None)


@property_of_std_var("std hands correction on", after=VAR_IS_RIGHT, asks=STD)
def root_of_corrected(answer: Answer, trial: Trial) -> None:
    for shape, dim, correction in (((5,), 0, 0), ((3, 6), 1, 2), ((2, 3, 4), (0, 2), 0)):
        require(trial, answer[0], "std", drawn(trial, *shape), dim, correction=correction)


@property_of_std_var("std hands keepdim on", after=VAR_IS_RIGHT, asks=STD)
def root_with_kept_dims(answer: Answer, trial: Trial) -> None:
    for dim, want in ((1, (3, 1, 4)), ((0, -1), (1, 5, 1)), (None, (1, 1, 1))):
        x = drawn(trial, 3, 5, 4)
        trial.given(f"std(x, {dim}, keepdim=True), x of shape (3, 5, 4)")
        require_shape(trial, trial.call(answer[0], x, dim, keepdim=True), want)


@property_of_std_var(
    "std of numbers far from 0, of one entry, and of equal entries",
    after=EDGES_ARE_RIGHT,
    asks=(STD, FAR, EDGES),
)
def root_at_the_edges(answer: Answer, trial: Trial) -> None:
    noise = torch.randn(3, 12, generator=trial.generator, dtype=torch.float64)
    x = noise + 1e8
    trial.given("std(x, 1), x of shape (3, 12) float64: 1e8 plus noise of about 1")
    want = (squares_of(x - 1e8, 1) / 11).sqrt()
    trial.equal(
        trial.call(answer[0], x, 1), want, "The standard deviation", rtol=1e-3, observed="digits lost"
    )
    x, shifted = rows_apart(trial, torch.float64, 1e8)
    trial.given("std(x, 1), x of shape (3, 12) float64: noise of about 1, plus 0, 1e8, and -3e8 in the rows")
    want = (squares_of(shifted, 1) / 11).sqrt()
    trial.equal(
        trial.call(answer[0], x, 1), want, "The standard deviation", rtol=1e-3, observed="digits lost, apart"
    )
    for x, want in ((drawn(trial, 1, 4), math.nan), (torch.full((3, 4), 2.5, dtype=torch.float64), 0.0)):
        trial.given(f"std(x, 0), x of shape {tuple(x.shape)}, " + ("n = 1" if len(x) == 1 else "all 2.5"))
        want = torch.full((4,), want, dtype=torch.float64)
        trial.equal(trial.call(answer[0], x, 0), want, "The standard deviation")
