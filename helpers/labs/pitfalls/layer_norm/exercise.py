"""Exercise 10.layer_norm: forward and backward of a layer norm, over any trailing dims."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.pitfalls.shared.own_work import Forbidden, property_by_hand, run_for_its_calls

layer_norm = Exercise(
    "10.layer_norm",
    "A layer norm, forward and backward",
    objective="Write F.layer_norm for any trailing dims, and its three gradients without autograd.",
    minutes=40,
    difficulty="hard",
    names=("layer_norm", "layer_norm_backward"),
    hints=[
        "The dims to reduce are the last len(normalized_shape) ones, whatever stands in front. Which variance do "
        "normalisation layers use, that with n or that with n - 1? For backward: x reaches the result by three ways: "
        "itself, through the mean, and through the variance.",
        "Write x_hat = (x - mean) * rstd with rstd = 1 / sqrt(variance + eps). With g = dy * weight, the way through the "
        "mean takes the mean of g away, and the way through the variance takes x_hat * mean(g * x_hat) away. All means "
        "are over the trailing dims.",
        "dx = rstd * (g - g.mean(dims, keepdim=True) - x_hat * (g * x_hat).mean(dims, keepdim=True)); dw is the sum of "
        "dy * x_hat over all leading dims, db that of dy. `x.to(torch.promote_types(x.dtype, torch.float32))` at the "
        "start, and `.to(x.dtype)` (for dw and db: weight's) at the end.",
    ],
)

NORMALISATIONS = (
    *("layer_norm", "native_layer_norm", "native_layer_norm_backward", "group_norm", "native_group_norm"),
    *("native_group_norm_backward", "batch_norm", "native_batch_norm", "native_batch_norm_backward"),
    *("instance_norm", "rms_norm", "_fused_rms_norm", "_fused_rms_norm_backward"),
)
FORWARD = Forbidden(
    *NORMALISATIONS, description="a normalisation of torch, which is what this exercise builds."
)
BACKWARD = Forbidden(
    *NORMALISATIONS,
    functions=(
        torch.autograd.grad,
        torch.autograd.backward,
        torch.Tensor.backward,
        type(torch.autograd.Variable._execution_engine).run_backward,
        torch.func.vjp,
        torch.func.jvp,
        torch.func.grad,
    ),
    description="which computes the gradients. The exercise asks for the formula.",
)
property_of_forward = partial(property_by_hand, layer_norm, FORWARD, once_right=True)
property_of_backward = partial(property_by_hand, layer_norm, BACKWARD, once_right=True)

GIVES = "What `F.layer_norm` gives: x normalised over its last dimensions, then scaled and moved."
LIKE_X = "Returns a tensor of shape and dtype of x."
DIVIDED = "The mean is taken away, and the rest divided by the root of (variance + eps), the variance with n."
FAR = "Numbers far from 0 lose nothing: 1e7 + noise (in float64) gives what the noise gives."
HALF = "float16 and bfloat16 are computed in float32, and the result is rounded once, at the end."
LEFT = "The arguments are left as they are."
OWN = "None of torch's normalisation functions is called; its means and variances may be."
GRADIENTS = "The gradients (dx, dw, db) of `layer_norm` by x, weight and bias, for dy, that of its result."
SHAPES = "Returns dx of shape and dtype of x, dw and db of shape and dtype of weight, in a tuple."
HALF_GRADIENTS = "Half types are computed in float32, and each gradient is rounded once, to its own dtype."
EDITED = "Nothing that is given is edited."
FORMULA = "By formula: autograd has no part in it, nor have torch's normalisation functions."
Answer = tuple[Any, Any]
SEVERAL = (
    ((2, 3, 4), (3, 4)),
    ((3, 2, 5, 2), (5, 2)),
    ((3, 2, 4, 2), (2, 4, 2)),
    ((3, 4), (3, 4)),
    ((5,), (5,)),
)


def drawn(trial: Trial, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Normal numbers, which are not contiguous if there are several dims."""
    dims = tuple(reversed(range(len(shape))))
    return torch.randn(shape[::-1], generator=trial.generator, dtype=torch.float64).permute(dims).to(dtype)


def require_forward(
    answer: Answer,
    trial: Trial,
    x: Tensor,
    shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    description: str = "",
    rtol: float = 1e-7,
    observed: Any = None,
    **options: Any,
) -> None:
    """Compares one call with F.layer_norm. description: what there is to know about x. options: eps."""
    given = [
        f"x of shape {tuple(x.shape)}{description}",
        str(shape),
        *(name for name, value in (("weight", weight), ("bias", bias)) if value is not None),
        *(f"{name}={value:g}" for name, value in options.items()),
    ]
    trial.given(f"layer_norm({', '.join(given)})")
    if weight is None and bias is None:
        got = trial.call(answer[0], x, shape, **options)
    else:
        got = trial.call(answer[0], x, shape, weight=weight, bias=bias, **options)
    want = F.layer_norm(x, tuple(shape), weight, bias, **options)
    trial.equal(got, want, "The result", rtol=rtol, atol=rtol / 100, observed=observed)


@property_of_forward("the forward is its own work", asks=OWN)
def forward_by_hand(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 3, 4)
    trial.given("layer_norm(x, (4,)), x of shape (3, 4); calls are watched")
    run_for_its_calls(answer[0], x, (4,))


@property_of_forward("over the last dim, each row on its own", asks=(GIVES, DIVIDED, LIKE_X, LEFT))
def over_the_last_dim(answer: Answer, trial: Trial) -> None:
    for shape in ((3, 5), (4, 4), (2, 3, 6)):  # loosely: eps has a property of its own
        require_forward(answer, trial, 2 * drawn(trial, *shape) + 1, shape[-1:], rtol=1e-3)


@property_of_forward("eps is added to the variance: seen where the variance is small", asks=DIVIDED)
def with_eps(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 3, 5)
    for scale, eps in ((0.02, 0.1), (1, 1e-3)):
        require_forward(answer, trial, scale * x, (5,), description=f", of about {scale}", eps=eps)
    require_forward(
        answer, trial, 1e-3 * x, (5,), description=", of about 0.001", observed="the default of eps"
    )


@property_of_forward("over several trailing dims, as one sample", asks=(GIVES, DIVIDED))
def over_several_dims(answer: Answer, trial: Trial) -> None:
    for shape, normalized_shape in SEVERAL:
        require_forward(answer, trial, drawn(trial, *shape), normalized_shape)


@property_of_forward("normalized_shape may be a list", asks="in a tuple or list")
def of_a_list(answer: Answer, trial: Trial) -> None:
    require_forward(answer, trial, drawn(trial, 2, 3, 4), [3, 4])


@property_of_forward("weight and bias, together or one of them", asks=GIVES)
def with_weight_and_bias(answer: Answer, trial: Trial) -> None:
    for shape, normalized_shape in (((3, 5), (5,)), ((2, 3, 4), (3, 4))):
        x, weight, bias = (drawn(trial, *dims) for dims in (shape, normalized_shape, normalized_shape))
        for w, b in ((weight, bias), (weight, None), (None, bias)):
            require_forward(answer, trial, x, normalized_shape, w, b)


@property_of_forward("one feature: its distance from its mean is 0", asks=DIVIDED)
def of_one_feature(answer: Answer, trial: Trial) -> None:
    require_forward(answer, trial, drawn(trial, 3, 1), (1,))
    require_forward(answer, trial, drawn(trial, 3, 1), (1,), drawn(trial, 1), drawn(trial, 1))


@property_of_forward("numbers far from 0 lose nothing", asks=FAR)
def far_from_zero(answer: Answer, trial: Trial) -> None:
    x = drawn(trial, 6, 5) + 1e7
    trial.given("layer_norm(x, (5,)), x of shape (6, 5) float64: 1e7 plus noise of about 1")
    want = F.layer_norm(x - 1e7, (5,))
    got = trial.call(answer[0], x, (5,))
    trial.equal(got, want, "The result", rtol=1e-5, atol=1e-5, observed="digits lost")


def halves(trial: Trial, scale: float, offset: float) -> Tensor:
    return (scale * drawn(trial, 40, 6) + offset).half()


HALVES = (("of about 500, whose squares are beyond float16", 500, 0), ("100 plus noise of about 1", 1, 100))


@property_of_forward("float16 is computed in float32, and stays float16", asks=HALF)
def in_float16(answer: Answer, trial: Trial) -> None:
    weight, bias = drawn(trial, 6, dtype=torch.float16), drawn(trial, 6, dtype=torch.float16)
    for description, scale, offset in HALVES:
        x = halves(trial, scale, offset)
        trial.given(f"layer_norm(x, (6,), weight, bias), all float16, x of shape (40, 6): {description}")
        got = trial.call(answer[0], x, (6,), weight, bias)
        want = F.layer_norm(x.float(), (6,), weight.float(), bias.float()).half()
        kind = (description, str(getattr(got, "dtype", "")))
        trial.equal(got, want, "The result", rtol=4e-3, atol=4e-3, observed=kind)


HALF_TYPES = (torch.float16, torch.bfloat16)


def steps_off(got: Tensor, exact: Tensor) -> Tensor:
    """The distances from the exact numbers, in steps of the type of `got`: rounded once they are a half at most.

    What float32 loses on the way, in sums of numbers up to the largest one, does not count.
    """
    kind = torch.finfo(got.dtype)
    step = exact.abs().clamp(min=kind.tiny).log2().floor().exp2() * kind.eps
    lost = 1e-5 * exact.abs().max()
    return ((got.double() - exact).abs() - lost).clamp(min=0) / step


def described_types(x: torch.dtype, weight: torch.dtype) -> str:
    return " and ".join(str(dtype).removeprefix("torch.") for dtype in dict.fromkeys((x, weight)))


def require_rounded_once(
    trial: Trial, got: Any, exact: Tensor, dtype: torch.dtype, name: str, types: str
) -> None:
    """Wrong unless `got` is what is exact, rounded to this type and to no other one on the way."""
    have = str(getattr(got, "dtype", type(got).__name__))
    trial.true(
        have == str(dtype),
        f"{name} has the dtype {have}.",
        expected=dtype,
        got=have,
        observed=("dtype", name, types, have),
    )
    trial.equal(tuple(got.shape), tuple(exact.shape), f"The shape of {name}")
    all_off = steps_off(got, exact).flatten()
    worst = int(all_off.argmax())
    off, place = (
        float(all_off[worst]),
        [int(at) for at in torch.unravel_index(torch.tensor(worst), got.shape)],
    )
    trial.true(
        off <= 0.6,
        f"{name} is off by {off:.1f} steps of {str(dtype).removeprefix('torch.')}, at {place}. Rounded once it is off by a "
        "half at most.",
        expected=f"the number of {str(dtype).removeprefix('torch.')} that is next to {exact.flatten()[worst]:.7g}",
        got=f"{got.flatten()[worst]:.7g}",
        observed=("steps", name, types, "large" if not off < 20 else "a step or two" if off < 4 else "some"),
    )


@property_of_forward(
    "the half types are rounded once, whatever the dtype of weight and bias", asks=(HALF, LIKE_X)
)
def rounded_once(answer: Answer, trial: Trial) -> None:
    for dtype in HALF_TYPES:
        for other in (dtype, torch.float32):
            x = drawn(trial, 40, 6, dtype=dtype)
            weight, bias = drawn(trial, 6, dtype=other), 0.1 * drawn(trial, 6, dtype=other)
            types = described_types(dtype, other)
            trial.given(f"layer_norm(x, (6,), weight, bias), x of shape (40, 6), {types} (weight, bias)")
            got = trial.call(answer[0], x, (6,), weight, bias)
            exact = F.layer_norm(x.double(), (6,), weight.double(), bias.double())
            require_rounded_once(trial, got, exact, dtype, "The result", types)


Gradients = tuple[Tensor, Tensor, Tensor]
NAMES = ("dx", "dw", "db")


def right_gradients(
    dy: Tensor, x: Tensor, shape: Sequence[int], weight: Tensor, eps: float = 1e-5
) -> Gradients:
    """By autograd, in float64, and rounded to the type of each."""
    wide = [value.double().requires_grad_() for value in (x, weight, torch.zeros_like(weight))]
    y = F.layer_norm(wide[0], tuple(shape), wide[1], wide[2], eps)
    found = torch.autograd.grad(y, wide, dy.double())
    return tuple(grad.to(like.dtype) for grad, like in zip(found, (x, weight, weight), strict=True))


def three_gradients(
    answer: Answer, trial: Trial, dy: Tensor, x: Tensor, shape: Sequence[int], weight: Tensor, eps: float
) -> Sequence[Tensor]:
    got = trial.call(answer[1], dy, x, shape, weight, eps)
    kind = "a tensor" if isinstance(got, Tensor) else type(got).__name__
    are_three = isinstance(got, tuple | list) and len(got) == 3 and all(isinstance(p, Tensor) for p in got)
    trial.true(
        isinstance(got, tuple) and are_three,
        f"layer_norm_backward returned three tensors in a {kind}, not in a tuple."
        if are_three
        else "layer_norm_backward did not return three tensors.",
        expected="the tuple (dx, dw, db)",
        got=kind,
        observed=("three tensors in", kind) if are_three else ("no three tensors", type(got).__name__),
    )
    return got


def require_gradients(
    answer: Answer,
    trial: Trial,
    shape: tuple[int, ...],
    normalized_shape: Sequence[int],
    names: Sequence[str] = NAMES,
    eps: float = 1e-5,
    scale: float = 1.0,
) -> None:
    """Compares the gradients of these names with autograd's."""
    x, dy = scale * drawn(trial, *shape) + 0.5 * scale, drawn(trial, *shape)
    weight = drawn(trial, *normalized_shape)
    about = "" if scale == 1 else f" of about {scale:g}"
    trial.given(f"layer_norm_backward(dy, x, {normalized_shape}, weight, {eps:g}), x of shape {shape}{about}")
    got = three_gradients(answer, trial, dy, x, normalized_shape, weight, eps)
    want = right_gradients(dy, x, normalized_shape, weight, eps)
    for name, have, need in zip(NAMES, got, want, strict=True):
        if name in names:
            trial.equal(have, need, name, rtol=1e-7, atol=1e-9 / scale)


@property_of_backward("the backward is by formula: autograd has no part in it", asks=FORMULA)
def backward_by_hand(answer: Answer, trial: Trial) -> None:
    x, dy, weight = drawn(trial, 3, 4), drawn(trial, 3, 4), drawn(trial, 4)
    trial.given("layer_norm_backward(dy, x, (4,), weight, 1e-5), x of shape (3, 4); calls are watched")
    run_for_its_calls(answer[1], dy, x, (4,), weight, 1e-5)


@property_of_backward("dx: by the three ways from x to the result", asks=(GRADIENTS, SHAPES, EDITED))
def gradient_of_x(answer: Answer, trial: Trial) -> None:
    for shape in ((4, 5), (2, 3, 6)):
        require_gradients(answer, trial, shape, shape[-1:], ["dx"])


@property_of_backward("dw: the gradient of weight", asks=(GRADIENTS, SHAPES))
def gradient_of_weight(answer: Answer, trial: Trial) -> None:
    require_gradients(answer, trial, (4, 5), (5,), ["dw"])


@property_of_backward("db: the gradient of bias", asks=(GRADIENTS, SHAPES))
def gradient_of_bias(answer: Answer, trial: Trial) -> None:
    require_gradients(answer, trial, (4, 5), (5,), ["db"])


@property_of_backward(
    "all three gradients, for any number of leading and trailing dims", asks=(GRADIENTS, SHAPES)
)
def gradients_over_dims(answer: Answer, trial: Trial) -> None:
    for shape, normalized_shape in (
        ((2, 3, 5), (5,)),
        ((2, 3, 4), (3, 4)),
        ((3, 2, 5, 2), (5, 2)),
        ((1, 4), (4,)),
    ):
        require_gradients(answer, trial, shape, normalized_shape)


@property_of_backward("eps counts in the gradients, too", asks=GRADIENTS)
def gradients_with_eps(answer: Answer, trial: Trial) -> None:
    require_gradients(answer, trial, (4, 5), (5,), eps=0.1)
    require_gradients(answer, trial, (4, 5), (5,), scale=1e-3)


@property_of_backward(
    "the gradients of float16 are computed in float32, and stay float16", asks=HALF_GRADIENTS
)
def gradients_in_float16(answer: Answer, trial: Trial) -> None:
    weight = drawn(trial, 6, dtype=torch.float16)
    for description, scale, offset in HALVES:
        x, dy = halves(trial, scale, offset), drawn(trial, 40, 6, dtype=torch.float16)
        trial.given(
            f"layer_norm_backward(dy, x, (6,), weight, 1e-5), all float16, x of shape (40, 6): {description}"
        )
        got = three_gradients(answer, trial, dy, x, (6,), weight, 1e-5)
        for name, have, need in zip(NAMES, got, right_gradients(dy, x, (6,), weight), strict=True):
            kind = (description, name, str(have.dtype))
            atol = 4e-3 * float(need.double().abs().max())
            trial.equal(have, need, name, rtol=4e-3, atol=atol, observed=kind)


@property_of_backward(
    "the gradients of the half types are rounded once, each to its own dtype", asks=(HALF_GRADIENTS, SHAPES)
)
def gradients_rounded_once(answer: Answer, trial: Trial) -> None:
    for dtype in HALF_TYPES:
        for other in (dtype, torch.float32):
            x, dy = drawn(trial, 40, 6, dtype=dtype), drawn(trial, 40, 6, dtype=dtype)
            weight = drawn(trial, 6, dtype=other)
            types = described_types(dtype, other)
            trial.given(
                f"layer_norm_backward(dy, x, (6,), weight, 1e-5), x of shape (40, 6), {types} (weight)"
            )
            got = three_gradients(answer, trial, dy, x, (6,), weight, 1e-5)
            exact = right_gradients(dy.double(), x.double(), (6,), weight.double())
            for name, have, need, own in zip(NAMES, got, exact, (dtype, other, other), strict=True):
                if own == torch.float32:
                    trial.equal(
                        have, need.float(), name, rtol=1e-4, atol=1e-5, observed=("float32", name, types)
                    )
                else:
                    require_rounded_once(trial, have, need, own, name, types)
