"""Exercise 13.rotate: rotary position embedding, by positions that may begin anywhere."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.attention.rotate.inputs import in_words, right, some, turned, turned_with

rotate = Exercise(
    "13.rotate",
    "A place is an angle",
    objective="Turn queries and keys by their position, so that a score depends on the distance only.",
    minutes=15,
    difficulty="medium",
    core=False,
    hints=[
        "There are D / 2 speeds, one for each pair: a vector of this length. With the positions as a column, one product "
        "gives the angles of all rows and pairs, of shape (T, D / 2).",
        "`x[..., 0::2]` are the first features of all pairs, `x[..., 1::2]` the second. Both new ones are made of both old "
        "ones: write over neither.",
        "Pairs lie side by side in the result, too: `torch.stack((new_a, new_b), dim=-1)` has the shape (B, H, T, D / 2, 2), "
        "and `flatten(-2)` makes it (B, H, T, D).",
        "`wide = torch.promote_types(x.dtype, torch.float32)`; the speeds are "
        "`base ** (-torch.arange(0, D, 2, dtype=wide) / D)`; the angles `positions.to(wide)[:, None] * speeds`; x is made wide "
        "before it is turned, and only the result gets `x.dtype` again.",
    ],
)

TURNS = "Rotary position embedding: each pair of features is turned by an angle that the position gives."
PAIRS = "The features 2i and 2i + 1 are the pair (a, b). It becomes (a cos t - b sin t, a sin t + b cos t)."
ANGLE = "The angle t is position * base ** (-2i / D)."
ANYWHERE = "They need not begin at 0, nor be in order."
ALONE = "The result depends on the arguments of this call alone, not on what earlier calls were given."
LAYOUT = "floating, in any layout"
WIDE = (
    "Angles, sines and cosines are float32 or wider, whatever lower dtype x has; with float64 they are float64.",
    "The result is rounded to the dtype of x once.",
)


@rotate.property(
    "a turn keeps lengths, and a score depends on the distance only",
    asks=(TURNS, "The arguments stay as they were."),
)
def keeps_distances(answer: Any, trial: Trial) -> None:
    q, k = some(trial, 2, 3, 5, 8), some(trial, 2, 3, 5, 8)
    positions = torch.arange(5)
    trial.given("q and k of shape (2, 3, 5, 8), float32, positions 0 to 4")
    found = [trial.call(answer, each, positions) for each in (q, k)]
    for got, x in zip(found, (q, k), strict=True):
        if type(got) is not Tensor or got.shape != x.shape or got.dtype != x.dtype:
            right(trial, got, x, positions)
        words = in_words(got, x, positions)
        trial.true(
            torch.allclose(got.norm(dim=-1), x.norm(dim=-1), rtol=1e-3, atol=1e-3),
            f"A row has a different length than before{f': {words}' if words else ''}. A turn keeps it.",
            expected=x.norm(dim=-1)[0, 0],
            got=got.detach().norm(dim=-1)[0, 0],
            observed=(
                "length",
                words or [round(one, 3) for one in got.detach().norm(dim=-1).flatten().tolist()],
            ),
        )
    trial.given("the same q and k, at positions 0 to 4, and all of them 7 positions later")
    later = [trial.call(answer, each, positions + 7) for each in (q, k)]
    before, after = (one @ two.transpose(-2, -1) for one, two in (found, later))
    words = in_words(later[0], q, positions + 7)
    trial.true(
        torch.allclose(before, after, rtol=1e-3, atol=1e-3),
        "7 positions later, where the distances are the same, the scores are different"
        + (f": {words}." if words else "."),
        expected=before.detach()[0, 0],
        got=after.detach()[0, 0],
        observed=("scores", words or [round(one, 3) for one in after.detach().flatten().tolist()]),
    )


@rotate.property(
    "each pair is turned by its own angle",
    asks=(PAIRS, ANGLE, "Shape and dtype of x."),
)
def turns_pairs(answer: Any, trial: Trial) -> None:
    for shape in ((2, 3, 5, 12), (3, 2, 4, 6)):
        x, positions = some(trial, *shape), torch.arange(shape[2])
        trial.given(f"x of shape {shape}, float32, positions 0 to {shape[2] - 1}")
        right(trial, trial.call(answer, x, positions), x, positions)


@rotate.property(
    "positions that begin anywhere, in any order, and one alone",
    asks=ANYWHERE,
)
def any_positions(answer: Any, trial: Trial) -> None:
    # No property before has called with ten features: what is kept of an earlier call is of one of these.
    earlier: Tensor | None = None
    # All of them live: that a tensor comes where one was that is gone is tried further below.
    cases = [torch.tensor(places) for places in ([9, 2, 11, 2], [4, 5, 6, 7], [23], [0, 30, 3, 1])]
    for positions in cases:
        places = positions.tolist()
        x = some(trial, 2, 3, len(places), 10)
        before = "" if earlier is None else f"; called before with positions {earlier.tolist()}"
        trial.given(f"x of shape {tuple(x.shape)}, float32, positions {places}{before}")
        right(trial, trial.call(answer, x, positions), x, positions, earlier=earlier)
        earlier = positions if earlier is None else earlier


@rotate.property("any base", asks=ANGLE)
def any_base(answer: Any, trial: Trial) -> None:
    # No property before has called with eighteen features: a table of an earlier base is one of these.
    earlier: float | None = None
    for base in (50.0, 500_000.0, 1.5):
        x, positions = some(trial, 2, 3, 4, 18), torch.tensor([3, 5, 6, 1])
        before = "" if earlier is None else f"; called before with base {earlier:g}"
        trial.given(f"x of shape (2, 3, 4, 18), float32, positions [3, 5, 6, 1], base {base:g}{before}")
        right(trial, trial.call(answer, x, positions, base), x, positions, base, earlier_base=earlier)
        earlier = base if earlier is None else earlier


@rotate.property("a call knows nothing of those before it", asks=ALONE)
def each_call_alone(answer: Any, trial: Trial) -> None:
    x = some(trial, 2, 3, 4, 14)
    positions = torch.tensor([9, 2, 11, 2])
    earlier = positions.clone()
    trial.given("x of shape (2, 3, 4, 14), float32, positions [9, 2, 11, 2]")
    right(trial, trial.call(answer, x, positions), x, positions)
    for words, edit in (
        ("the same tensor, to which 4 was added in place", lambda: positions.add_(4)),
        ("the same tensor, edited in place by way of .data", lambda: positions.data.mul_(2)),
    ):
        edit()
        trial.given(
            f"x as before, positions {positions.tolist()}: {words}; called before with {earlier.tolist()}"
        )
        right(trial, trial.call(answer, x, positions), x, positions, earlier=earlier)
        earlier = positions.clone()
    trial.given("one call after the other with new positions, of which nobody keeps the tensor")
    last: Tensor | None = None
    for _ in range(12):
        now = torch.randint(0, 40, (4,), generator=trial.generator)
        want = now.clone()
        right(trial, trial.call(answer, x, now), x, want, earlier=last)
        last = want
        del now
    for dtype, base in ((torch.float64, 10_000.0), (torch.float32, 300.0), (torch.float64, 20.0)):
        wide, positions = x.to(dtype), torch.tensor([9, 2, 11, 2])
        trial.given(
            f"x of shape (2, 3, 4, 14), {dtype}, positions [9, 2, 11, 2], base {base:g}, after all of these"
        )
        near = 1e-8 if dtype == torch.float64 else 1e-4
        got = trial.call(answer, wide, positions, base)
        right(trial, got, wide, positions, base, rtol=near, atol=near, earlier_base=10_000.0)


@rotate.property("any shape", asks=("Shape and dtype of x.", TURNS))
def any_shape(answer: Any, trial: Trial) -> None:
    for words, x in (
        ("of shape (2, 3, 4, 2), one pair", some(trial, 2, 3, 4, 2)),
        ("of shape (1, 1, 1, 4)", some(trial, 1, 1, 1, 4)),
        ("of shape (4, 4, 4, 4)", some(trial, 4, 4, 4, 4)),
    ):
        positions = torch.arange(x.shape[2]) + 2
        trial.given(f"x {words}, float32, positions from 2 on")
        right(trial, trial.call(answer, x, positions), x, positions)


@rotate.property("x in any layout", asks=LAYOUT)
def any_layout(answer: Any, trial: Trial) -> None:
    for words, x in (
        ("of shape (2, 3, 4, 6), a transposed view", some(trial, 2, 4, 3, 6).transpose(1, 2)),
        ("of shape (2, 3, 4, 6), with its features far apart", some(trial, 2, 3, 6, 4).transpose(2, 3)),
        ("of shape (2, 3, 4, 6), each second feature of a larger one", some(trial, 2, 3, 4, 13)[..., 1::2]),
        ("of shape (2, 3, 4, 6), one head that is expanded", some(trial, 2, 1, 4, 6).expand(2, 3, 4, 6)),
    ):
        positions = torch.arange(x.shape[2]) + 2
        trial.given(f"x {words}, float32, positions from 2 on")
        right(trial, trial.call(answer, x, positions), x, positions)


@rotate.property("with float64 the angles are float64", asks=WIDE[0])
def is_exact(answer: Any, trial: Trial) -> None:
    x, positions = some(trial, 2, 3, 4, 6, dtype=torch.float64), torch.tensor([0, 3000, 17, 900])
    trial.given("x of shape (2, 3, 4, 6), float64, positions [0, 3000, 17, 900]")
    got = trial.call(answer, x, positions)
    want = turned(x, positions)
    rough = type(got) is Tensor and got.dtype == want.dtype and got.shape == want.shape
    rough = rough and torch.allclose(got.detach(), want, rtol=0, atol=0.01)
    right(
        trial,
        got,
        x,
        positions,
        what="The result, which has the accuracy of float32 only" if rough else "The result",
        observed="float32 only" if rough else "",
        rtol=1e-8,
        atol=1e-8,
    )


@rotate.property("with lower dtypes the angles are float32, and the result is rounded once", asks=WIDE)
def rounds_once(answer: Any, trial: Trial) -> None:
    for dtype, bits, large in ((torch.bfloat16, 8, 257), (torch.float16, 11, 2049)):
        x, positions = some(trial, 2, 3, 7, 32, dtype=dtype), torch.tensor([large, 3, 0, 30, 19, 12, 1])
        trial.given(f"x of shape (2, 3, 7, 32), {dtype}, positions {positions.tolist()}")
        got, want = trial.call(answer, x, positions), turned(x, positions).to(dtype)
        if type(got) is not Tensor or got.shape != want.shape or got.dtype != want.dtype:
            right(trial, got, x, positions)
        got = got.detach()
        same = float(_rounded_from(x, positions, got).double().mean())
        # Of one rounding of the pair: a number near 0 may be the difference of two large ones.
        gap = float(((got.double() - want.double()).abs() / (_pairs(x) + 0.1)).max()) * 2**bits
        far = not gap < 6
        early = "" if same > 0.99 else _rounded_early(x, positions, 10_000.0, dtype, got)
        trial.true(
            same > 0.99 and not far,
            f"{1 - same:.0%} of the numbers are not what float32 gives, rounded once. "
            + (
                early
                if early
                else f"Some are far off: perhaps the position or the angle was rounded, and {large} is {large - 1} in this dtype."
                if far
                else "They are off by a few roundings: perhaps cos, sin or the products were rounded, too."
            ),
            expected=f"the result of float32, rounded to {dtype}",
            got=f"{1 - same:.0%} different numbers",
            observed=(str(dtype), early or ("far off" if far else "rounded more than once")),
        )


def _pairs(x: Tensor) -> Tensor:
    """|a| + |b| for each feature of a pair."""
    return x.double().abs().unflatten(-1, (-1, 2)).sum(-1).repeat_interleave(2, dim=-1)


def _rounded_from(x: Tensor, positions: Tensor, got: Tensor, want: Tensor | None = None) -> Tensor:
    """Whether a number is what any number rounds to that float32 may give, whose angles are off by a few of its roundings.

    With float64 those of float64. want: in float64, what rotate gives unless given.
    """
    want = turned(x, positions) if want is None else want
    each = 2.0**-29 if x.dtype == torch.float64 else 1.0
    slip = _pairs(x) * (1e-6 + 2.5e-7 * positions.double()[:, None]) * each
    return ((want - slip).to(x.dtype) <= got) & (got <= (want + slip).to(x.dtype))


def _rounded_early(x: Tensor, positions: Tensor, base: float, low: torch.dtype, got: Tensor) -> str:
    """The sentence on a result whose base or exponents were rounded to `low`; "" of a different one."""
    shares = {
        words: float(
            _rounded_from(x, positions, got, turned_with(x, positions, base, low, **each)).double().mean()
        )
        for words, each in {
            "the exponents -2i / D were": {"of_base": False, "of_exponents": True},
            "the base was": {"of_base": True, "of_exponents": False},
            "the base and the exponents were": {"of_base": True, "of_exponents": True},
        }.items()
    }
    words = max(shares, key=shares.__getitem__)
    return f"They are what comes out where {words} rounded to {low} first." if shares[words] > 0.97 else ""


@rotate.property("exponents and base are as wide as the angles", asks=(ANGLE, *WIDE))
def wide_from_the_start(answer: Any, trial: Trial) -> None:
    # 2i / 12 is not exact in any dtype, as 2i / 32 is in each; 10,000 is exact in float16, and 777.7 in none.
    positions = torch.tensor([257, 211, 190, 255, 243, 129, 201])
    for dtype, base, width in (
        (dtype, base, width)
        for dtype in (torch.bfloat16, torch.float16, torch.float64)
        for base in (10_000.0, 777.7)
        for width in (12, 80)
    ):
        low = torch.float32 if dtype == torch.float64 else dtype
        x = some(trial, 2, 3, 7, width, dtype=dtype)
        trial.given(f"x of shape (2, 3, 7, {width}), {dtype}, positions {positions.tolist()}, base {base:g}")
        got = trial.call(answer, x, positions, base)
        if type(got) is not Tensor or got.shape != x.shape or got.dtype != x.dtype:
            right(trial, got, x, positions, base)
        got = got.detach()
        same = float(_rounded_from(x, positions, got, turned(x, positions, base)).double().mean())
        if same > 0.99:
            continue
        words = _rounded_early(x, positions, base, low, got)
        wide = "float64" if dtype == torch.float64 else "float32"
        trial.fail(
            f"{1 - same:.0%} of the numbers are not what {wide} gives"
            + ("." if wide == "float64" else ", rounded once.")
            + (f" {words}" if words else ""),
            expected=f"all of base ** (-2i / D) in {wide}" + " or wider" * (wide == "float32"),
            got=f"{1 - same:.0%} different numbers",
            observed=(words, str(dtype)),
        )


@rotate.property("x gets its gradient", asks="x gets its gradient.")
def has_a_gradient(answer: Any, trial: Trial) -> None:
    for dtype in (torch.float64, torch.float32):
        x, positions = some(trial, 2, 3, 4, 6, dtype=dtype).requires_grad_(), torch.tensor([3, 0, 8, 2])
        above = some(trial, 2, 3, 4, 6, dtype=dtype)
        trial.given(
            f"x of shape (2, 3, 4, 6), {dtype}, that requires grad; positions [3, 0, 8, 2], random gradients from above"
        )
        got = trial.call(answer, x, positions)
        right(trial, got, x, positions)
        trial.true(
            got.requires_grad,
            "x requires grad, and the result does not: the graph is cut.",
            expected="a result with a graph",
            got="requires_grad=False",
            observed="no graph",
        )
        (slope,) = torch.autograd.grad(got, x, above, allow_unused=True)
        trial.true(
            slope is not None,
            "The result requires grad, and no gradient comes to x.",
            expected="a gradient",
            got="None",
            observed="x not reached",
        )
        want = turned(above, -positions).to(dtype)
        trial.equal(slope, want, "The gradient of x", rtol=1e-4, atol=1e-4, observed="a different gradient")
