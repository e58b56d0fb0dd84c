"""Exercise 10.dropout: a draw for each entry, and the survivors scaled."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.check.judge import seed_torch
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.pitfalls.shared.own_work import Forbidden, property_by_hand, run_for_its_calls

dropout = Exercise(
    "10.dropout",
    "Dropout, in training and in evaluation",
    objective="Write F.dropout: one draw an entry, a scale that leaves the mean alone, and nothing at all in evaluation.",
    minutes=15,
    difficulty="easy",
    core=False,
    hints=[
        "A number from torch.rand is below p with probability p. How many numbers do you need for x? And what must the "
        "survivors be multiplied with, so that the mean of the result is that of x?",
        "`torch.rand_like(x) >= p` is True with probability 1 - p, for each entry on its own. Multiplying by it gives zeros "
        "without editing x. Do the question of `training` first, before anything is drawn.",
        "`if not training or p == 0: return x`; `scale = 1 / (1 - p) if p < 1 else 0.0`; "
        "`return x * (torch.rand_like(x) >= p) * scale`.",
    ],
)

TORCHS_OWN = Forbidden(
    *("dropout", "dropout_", "native_dropout", "_fused_dropout", "feature_dropout", "feature_dropout_"),
    *("alpha_dropout", "alpha_dropout_", "feature_alpha_dropout", "feature_alpha_dropout_"),
    *("dropout1d", "dropout2d", "dropout3d"),
    functions=(nn.Dropout.forward, F.dropout),
    description="which is what this exercise builds.",
)
Answer = Callable[..., Tensor]


GIVES = "What `F.dropout` gives: each entry is 0 with probability p, else x / (1 - p)."
LIKE_X = "Returns a tensor of shape and dtype of x."
DRAWS = "Each entry has a draw of its own, from torch's global generator, new in each call."
EDGES = "p = 0 gives x, p = 1 gives zeros."
EVALUATION = "training=False gives x, and draws nothing."
GRADIENTS = "Gradients go through the entries that stay, with the same scale."
LEFT = "x is left as it is."
OWN = "No dropout function of torch is called."


def property_of_dropout(
    description: str, *asks: str, once_right: bool = True, changes: tuple[str, ...] = ("torch RNG",)
) -> Callable[..., Any]:
    add = partial(property_by_hand, dropout, TORCHS_OWN, asks=asks, once_right=once_right)
    return add(description, changes)


ANY_RNG = ("torch RNG", "numpy RNG", "random RNG")  # draws from elsewhere have a property of their own


def drawn(trial: Trial, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Numbers from 0.5 to 2 of both signs: none is 0, so what is dropped can be seen."""
    sign = torch.randint(0, 2, shape[::-1], generator=trial.generator) * 2 - 1
    size = 0.5 + 1.5 * torch.rand(shape[::-1], generator=trial.generator, dtype=torch.float64)
    return (sign * size).to(dtype).permute(tuple(reversed(range(len(shape)))))


def called(answer: Answer, trial: Trial, x: Tensor, p: float, training: bool, seed: int | None = None) -> Any:
    """One call, from a seed of torch's generator that the trial draws, unless it is given."""
    seed_torch(trial.random.randrange(2**31) if seed is None else seed)
    return trial.call(answer, x, p, training)


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def require_like(trial: Trial, got: Any, x: Tensor) -> None:
    """Type, shape, dtype: what every property needs."""
    want = (tuple(x.shape), str(x.dtype))
    have = (tuple(got.shape), str(got.dtype)) if isinstance(got, Tensor) else type(got).__name__
    fewer = isinstance(got, Tensor) and got.ndim == 1 < x.ndim and got.numel() < x.numel()
    trial.true(
        have == want,
        f"Expected a tensor of shape {want[0]} and {want[1]}, got {have}.",
        expected=f"shape {want[0]}, {want[1]}",
        got=have,
        observed=("kind", "flat, fewer entries" if fewer else have),
    )


def told_share(share: float, p: float) -> str:
    """Which share of the entries was dropped: in words, if it is one that people get."""
    known = {
        "p": p,
        "1 - p": 1 - p,
        "nothing": 0.0,
        "everything": 1.0,
        "the share of normal numbers below p": 0.5 * (1 + math.erf(p / math.sqrt(2))),
        "the share of normal numbers above p": 0.5 * (1 - math.erf(p / math.sqrt(2))),
        "p * p": p * p,
        "p in whole tenths, cut": math.floor(10 * p) / 10,
        "p in whole tenths, rounded": round(10 * p) / 10,
    }
    near = [name for name, value in known.items() if abs(share - value) <= spread_of(value)]
    return near[0] if near else "a different share"


def spread_of(share: float) -> float:
    """How far the share of SIZE draws may be off by chance."""
    return 6 * math.sqrt(share * (1 - share) / SIZE)


def told_scale(ratio: Tensor, p: float) -> str:
    """What the survivors were multiplied by, in words."""
    known = {
        "1 / (1 - p)": 1 / (1 - p),
        "1": 1.0,
        "1 / p": 1 / p,
        "1 - p": 1 - p,
        "p": p,
        "1 + p": 1 + p,
        "1 / sqrt(1 - p)": (1 - p) ** -0.5,
    }
    if not ratio.numel():
        return "none is left"
    for name, value in known.items():
        if bool(((ratio - value).abs() < 1e-6 * value).all()):
            return name
    if bool(((ratio - ratio[0]).abs() < 1e-6).all()):
        near = abs(float(ratio[0]) * (1 - p) - 1) < 0.1
        return "nearly 1 / (1 - p)" if near else "a different number"
    return "many numbers"


SHAPE = (300, 301)
SIZE = math.prod(SHAPE)


@property_of_dropout("the draws are its own work", OWN, once_right=False, changes=ANY_RNG)
def own_work(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 3, 4)
    trial.given("dropout(x, 0.3, True) and dropout(x, 0.3, False), x of shape (3, 4); calls are watched")
    for training in (True, False):
        run_for_its_calls(answer, x, 0.3, training)


@property_of_dropout(
    "a tensor like x comes out, and x stays", LIKE_X, LEFT, once_right=False, changes=ANY_RNG
)
def beside_x(answer: Answer, trial: Trial) -> None:
    for dtype in (torch.float64, torch.float32):
        x = drawn(trial, 5, 8, dtype=dtype)
        trial.given(f"dropout(x, 0.5, True), x of shape (5, 8), {name_of(dtype)}")
        require_like(trial, called(answer, trial, x, 0.5, True), x)


@property_of_dropout("each entry has a draw of its own", DRAWS)
def a_draw_each(answer: Answer, trial: Trial) -> None:
    for shape in ((24, 25, 2, 26), (40, 50)):  # each dim but one too long to agree by chance
        x = drawn(trial, *shape)
        trial.given(f"dropout(x, 0.5, True), x of shape {shape}")
        got = called(answer, trial, x, 0.5, True)
        require_like(trial, got, x)
        zero = got == 0
        if zero.all() or not zero.any():
            require_some_of_each(answer, trial, drawn(trial, 10, 20))
            return  # how many are dropped has a property of its own
        shared = [dim for dim in range(x.ndim) if bool((zero == zero.select(dim, 0).unsqueeze(dim)).all())]
        trial.true(
            not shared,
            "The same entries are dropped all along "
            + " and ".join(f"dim {dim}" for dim in shared)
            + ": they share their draws.",
            expected="a draw for each entry",
            got=f"one draw for all {' x '.join(str(shape[dim]) for dim in shared)} entries along there",
            observed=("shared", shared),
        )


def require_some_of_each(answer: Answer, trial: Trial, x: Tensor) -> None:
    """Wrong if the calls drop all or nothing, now this and now that."""
    trial.given(f"dropout(x, 0.5, True), x of shape {tuple(x.shape)}, 60 times")
    shares = {float((called(answer, trial, x, 0.5, True) == 0).double().mean()) for _ in range(60)}
    trial.true(
        shares != {0.0, 1.0},
        f"Each of 60 calls dropped either all {x.numel()} entries or none: there is one draw for all of them.",
        expected="a draw for each entry",
        observed="one draw for all",
    )


@property_of_dropout("in training each entry is 0 or x / (1 - p), and the share of zeros is p", GIVES, LEFT)
def scaled_survivors(answer: Answer, trial: Trial) -> None:
    for p in (0.37, 0.7, 0.005):  # the first and the last are no whole tenths
        x = drawn(trial, *SHAPE)
        trial.given(f"dropout(x, {p}, True), x of shape {SHAPE}")
        got = called(answer, trial, x, p, True)
        require_like(trial, got, x)
        zero = got == 0
        share, scale = float(zero.double().mean()), told_scale((got / x)[~zero].detach(), p)
        dropped = told_share(share, p)
        tiny = (got / x).abs() < 1e-3
        trial.true(
            int((tiny & ~zero).sum()) < SIZE / 100,
            f"{int(tiny.sum() - zero.sum())} of {SIZE} entries are nearly 0, and not 0.",
            expected="0",
            got=got[tiny & ~zero][:4],
            observed=("nearly 0", told_share(float(tiny.double().mean()), p)),
        )
        trial.true(
            dropped == "p" and scale == "1 / (1 - p)",
            f"Of all entries {share:.1%} are 0, and the others are x times {scale}.",
            expected=f"{p:.1%} are 0, and the others are x times 1 / (1 - p)",
            got=f"{share:.1%} are 0, and the others are x times {scale}",
            observed=(dropped, scale),
        )


@property_of_dropout("each call draws anew, from torch's generator", DRAWS)
def draws_anew(answer: Answer, trial: Trial) -> None:
    x, seed = drawn(trial, 20, 30), trial.random.randrange(2**31)
    trial.given("dropout(x, 0.5, True) twice, x of shape (20, 30)")
    seed_torch(seed)
    first, second = trial.call(answer, x, 0.5, True), trial.call(answer, x, 0.5, True)
    trial.true(
        not torch.equal(first == 0, second == 0),
        "Two calls dropped the same entries.",
        expected="a different mask in each call",
        observed="the same mask",
    )
    trial.given("torch.manual_seed(s), then dropout(x, 0.5, True); and once more from the same s")
    again = called(answer, trial, x, 0.5, True, seed)
    trial.true(
        torch.equal(first == 0, again == 0),
        "From the same seed of torch, a different mask came. The draws are not from torch's global generator.",
        expected="the same mask, as with F.dropout",
        observed="not from torch's generator",
    )


@property_of_dropout("the number of zeros is itself random", GIVES, DRAWS)
def free_count(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 10, 20)
    trial.given("dropout(x, 0.5, True), x of shape (10, 20), 10 times")
    seed_torch(trial.random.randrange(2**31))
    counts = {int((answer(x, 0.5, True) == 0).sum()) for _ in range(10)}
    trial.true(
        len(counts) > 1,
        f"10 times exactly {min(counts)} of 200 entries were dropped. Draws of their own would not agree so well.",
        expected="numbers around 100",
        observed="always the same number",
    )


@property_of_dropout("evaluation gives x", EVALUATION, once_right=False)
def evaluated(answer: Answer, trial: Trial) -> None:
    for p, shape in ((0.3, SHAPE), (0.0, (8, 9)), (1.0, (8, 9))):
        x = drawn(trial, *shape)
        trial.given(f"dropout(x, {p}, False), x of shape {shape}")
        got = called(answer, trial, x, p, False)
        require_like(trial, got, x)
        zero = got == 0
        scale = told_scale((got / x)[~zero].detach(), 0.3)
        observed = (p, scale, told_share(float(zero.double().mean()), 0.3))
        trial.equal(got, x, "The result in evaluation", observed=observed)


@property_of_dropout("evaluation draws nothing", EVALUATION)
def evaluation_draws_nothing(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 5, 6)
    trial.given("dropout(x, 0.3, False), x of shape (5, 6); torch's generator is looked at")
    seed_torch(trial.random.randrange(2**31))
    before = torch.get_rng_state()
    trial.call(answer, x, 0.3, False)
    trial.true(
        torch.equal(before, torch.get_rng_state()),
        "In evaluation random numbers were drawn, and thrown away. Whatever is random afterwards (the next epoch's order) "
        "comes out otherwise than without the evaluation.",
        expected="torch's generator as it was",
        got="a different state of the generator",
        observed="drawn in evaluation",
    )


# After torch.manual_seed of it torch.rand(SIZE) holds an exact 0, as one number of float32 in 16 million is.
SEED_OF_A_0 = 146


@property_of_dropout("p = 0 gives x", EDGES)
def nothing_dropped(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 8, 9)
    trial.given("dropout(x, 0.0, True), x of shape (8, 9)")
    got = called(answer, trial, x, 0.0, True)
    require_like(trial, got, x)
    trial.equal(got, x, "The result", observed=("p = 0", bool(got.isnan().any())))
    x = drawn(trial, *SHAPE, dtype=torch.float32)
    trial.given(
        f"dropout(x, 0.0, True), x of shape {SHAPE} float32; one of the numbers that torch.rand gives is exactly 0"
    )
    got = called(answer, trial, x, 0.0, True, SEED_OF_A_0)
    require_like(trial, got, x)
    away = int((got != x).sum())
    trial.true(
        away == 0,
        f"{away} of {SIZE} entries differ from x.",
        expected="x",
        got=f"{got[got != x][:4].tolist()} there",
        observed=("p = 0", "a draw of 0"),
    )


@property_of_dropout("p = 1 gives zeros", EDGES)
def everything_dropped(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 8, 9)
    trial.given("dropout(x, 1.0, True), x of shape (8, 9)")
    got = called(answer, trial, x, 1.0, True)
    require_like(trial, got, x)
    kind = "NaN" if got.isnan().any() else "inf" if got.isinf().any() else "numbers"
    trial.equal(got, torch.zeros_like(x), "The result", observed=("p = 1", kind))


@property_of_dropout("shape and dtype are those of x", LIKE_X, EDGES)
def like_x(answer: Answer, trial: Trial) -> None:
    for shape, dtype in (
        ((2, 3, 4), torch.float32),
        ((5, 8), torch.float16),
        ((5, 8), torch.bfloat16),
        ((0, 3), torch.float32),
    ):
        x = drawn(trial, *shape, dtype=dtype)
        trial.given(f"dropout(x, 0.5, True), x of shape {shape}, {name_of(dtype)}")
        got = called(answer, trial, x, 0.5, True)
        require_like(trial, got, x)
        right = bool(((got == 0) | torch.isclose(got, 2 * x)).all())
        trial.true(
            right,
            "An entry is neither 0 nor 2 * x.",
            expected=2 * x,
            got=got,
            observed=("neither", shape, str(dtype)),
        )
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        x = drawn(trial, 5, 8, dtype=dtype)
        trial.given(f"dropout(x, 1.0, True), x of shape (5, 8), {name_of(dtype)}")
        got = called(answer, trial, x, 1.0, True)
        require_like(trial, got, x)
        kind = "NaN" if got.isnan().any() else "inf" if got.isinf().any() else "numbers"
        trial.equal(got, torch.zeros_like(x), "The result", observed=("p = 1", kind, str(dtype)))


@property_of_dropout("a single number, of no dimensions", "of any shape")
def of_no_dimensions(answer: Answer, trial: Trial) -> None:
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        x = drawn(trial, dtype=dtype)
        about = "" if dtype == torch.float64 else f", {name_of(dtype)}"
        trial.given(f"dropout(x, 0.5, True), x of shape (){about}")
        got = called(answer, trial, x, 0.5, True)
        require_like(trial, got, x)
        trial.true(
            bool((got == 0) | torch.isclose(got, 2 * x)),
            "The result is neither 0 nor 2 * x.",
            expected=2 * x,
            got=got,
            observed="neither",
        )


@property_of_dropout("p close to 1: what stays is x / (1 - p), to the last digits", GIVES)
def close_to_1(answer: Answer, trial: Trial) -> None:
    x, p = drawn(trial, 800, 900), 0.99995  # 36 entries stay, give or take
    trial.given(f"dropout(x, {p}, True), x of shape (800, 900)")
    got = called(answer, trial, x, p, True)
    require_like(trial, got, x)
    ratio = (got / x)[got != 0].detach() * (1 - p)
    off = float((ratio - 1).abs().max()) if ratio.numel() else 1.0
    trial.true(
        off < 1e-9,
        f"The {ratio.numel()} entries that stay are not x / (1 - p): they are off by {off:.1g} of it.",
        expected=f"x times {1 / (1 - p):.9g}",
        got=f"x times {float(ratio.mean()) / (1 - p):.9g}",
        observed="by much" if not off < 0.1 else "by little",
    )


@property_of_dropout("in bfloat16 some entries stay, also with p = 255 / 256", GIVES)
def some_stay_in_bfloat16(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, *SHAPE, dtype=torch.bfloat16)
    trial.given(f"dropout(x, 255 / 256, True), x of shape {SHAPE}, bfloat16")
    got = called(answer, trial, x, 255 / 256, True)
    require_like(trial, got, x)
    trial.true(
        bool(got.any()),
        f"None of {SIZE} entries stayed. The largest number that torch.rand_like gives in bfloat16 is 255 / 256.",
        expected=f"about {SIZE // 256} entries that are 256 * x",
        got="0 in each place",
        observed="none stayed",
    )


@property_of_dropout("gradients go through the entries that stayed, with the same scale", GRADIENTS)
def gradient(answer: Answer, trial: Trial) -> None:
    require_gradient(answer, trial, 0.4, True)


def require_gradient(
    answer: Answer, trial: Trial, p: float, training: bool, shape: tuple[int, ...] = (12, 9)
) -> None:
    x, c = drawn(trial, *shape).requires_grad_(), drawn(trial, *shape)
    trial.given(f"(c * dropout(x, {p}, {training})).sum(), x of shape {shape}; its gradient")
    got = called(answer, trial, x, p, training)
    trial.true(
        isinstance(got, Tensor) and got.requires_grad,
        "The result has no graph: no gradient gets to what stands in front of the dropout.",
        expected="a result that requires grad",
        got=f"requires_grad={getattr(got, 'requires_grad', None)}",
        observed="no graph",
    )
    (slope,) = torch.autograd.grad(got, x, c, allow_unused=True)
    trial.true(
        slope is not None,
        "The result requires grad, and its graph does not lead to x: no gradient gets to what stands in front.",
        expected="a gradient of x",
        got="none",
        observed="a different graph",
    )
    want = c * (got.detach() != 0) * (1 / (1 - p) if training and p < 1 else 1.0)
    kind = (
        "c" if torch.allclose(slope, c) else "unscaled" if torch.allclose(slope, want * (1 - p)) else "other"
    )
    trial.equal(slope, want, "The gradient", observed="NaN" if slope.isnan().any() else kind)


@property_of_dropout("gradients go through where nothing is dropped, too", GRADIENTS, EVALUATION)
def gradient_of_the_edges(answer: Answer, trial: Trial) -> None:
    for p, training in ((0.4, False), (0.0, True)):
        require_gradient(answer, trial, p, training)
    require_gradient(answer, trial, 0.4, True, (0, 3))


@property_of_dropout("where all is dropped, the gradient is 0", GRADIENTS, EDGES)
def gradient_of_1(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 12, 9).requires_grad_()
    trial.given("(c * dropout(x, 1.0, True)).sum(), x of shape (12, 9); its gradient")
    got = called(answer, trial, x, 1.0, True)
    slope = (
        torch.autograd.grad(got, x, drawn(trial, 12, 9), allow_unused=True)[0] if got.requires_grad else None
    )
    trial.true(
        slope is None or not slope.any(),
        "Nothing goes through, and the gradient is not 0.",
        expected="0 in each place",
        got=slope,
        observed="NaN" if slope is not None and slope.isnan().any() else "a number",
    )
