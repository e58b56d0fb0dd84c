"""Properties of 12.scaled_tensor: many other operations, and every bit of what they give."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.check.trial import Trial
from helpers.labs.dispatch.scaled_tensor.exercise import EVERY_OTHER, STANDS, scaled_tensor
from helpers.labs.dispatch.scaled_tensor.inputs import drawn, is_plain, same_bits

# Functions of torch in place of methods: a class may have helpers by the names of these.
OF_ONE: dict[str, Callable[[Any], Any]] = {
    "torch.relu(t)": torch.relu,
    "F.leaky_relu(t)": F.leaky_relu,
    "F.gelu(t)": F.gelu,
    "torch.abs(t)": torch.abs,
    "torch.sign(t)": torch.sign,
    "torch.sqrt(t)": torch.sqrt,
    "torch.square(t)": torch.square,
    "torch.log(t)": torch.log,
    "torch.tanh(t)": torch.tanh,
    "torch.sigmoid(t)": torch.sigmoid,
    "torch.floor(t)": torch.floor,
    "torch.clamp(t, -0.5, 0.5)": lambda t: torch.clamp(t, -0.5, 0.5),
    "t ** 3": lambda t: t**3,
    "t + 1": lambda t: t + 1,
    "2 - t": lambda t: 2 - t,
    "t % 0.3": lambda t: t % 0.3,
    "t > 0": lambda t: t > 0,
    "torch.isnan(t)": torch.isnan,
    "torch.logical_not(t)": torch.logical_not,
    "torch.sum(t)": torch.sum,
    "torch.sum(t, 1)": lambda t: torch.sum(t, 1),
    "torch.mean(t, 0)": lambda t: torch.mean(t, 0),
    "torch.prod(t, 1)": lambda t: torch.prod(t, 1),
    "torch.var(t)": torch.var,
    "torch.std(t, 1)": lambda t: torch.std(t, 1),
    "torch.linalg.vector_norm(t)": torch.linalg.vector_norm,
    "torch.logsumexp(t, 1)": lambda t: torch.logsumexp(t, 1),
    "torch.log_softmax(t, 1)": lambda t: torch.log_softmax(t, 1),
    "torch.cumsum(t, 1)": lambda t: torch.cumsum(t, 1),
    "torch.cumprod(t, 1)": lambda t: torch.cumprod(t, 1),
    "torch.max(t)": torch.max,
    "torch.min(t)": torch.min,
    "torch.amax(t, 1)": lambda t: torch.amax(t, 1),
    "torch.min(t, 1)": lambda t: torch.min(t, 1),
    "torch.argmax(t)": torch.argmax,
    "torch.argmin(t, 1)": lambda t: torch.argmin(t, 1),
    "torch.sort(t, 1)": lambda t: torch.sort(t, 1),
    "torch.topk(t, 2)": lambda t: torch.topk(t, 2),
    "torch.nonzero(t)": torch.nonzero,
    "torch.all(t)": torch.all,
    "torch.any(t)": torch.any,
    "torch.clone(t)": torch.clone,
    "t[rows]": lambda t: t[torch.tensor([2, 0, 2])],
    "t[t > 0]": lambda t: t[t > 0],
    "torch.index_select(t, 0, rows)": lambda t: torch.index_select(t, 0, torch.tensor([2, 0])),
    "torch.gather(t, 1, places)": lambda t: torch.gather(t, 1, torch.tensor([[1], [0], [3]])),
    "torch.take(t, places)": lambda t: torch.take(t, torch.tensor([1, 5])),
    "F.embedding(rows, t)": lambda t: F.embedding(torch.tensor([1, 2, 1]), t),
    "torch.flip(t, [0])": lambda t: torch.flip(t, [0]),
    "torch.roll(t, 1)": lambda t: torch.roll(t, 1),
    "torch.triu(t)": torch.triu,
    "torch.tile(t, (2, 1))": lambda t: torch.tile(t, (2, 1)),
    "F.pad(t, (1, 1), value=1.0)": lambda t: F.pad(t, (1, 1), value=1.0),
    "torch.where(t > 0, t, 0.0)": lambda t: torch.where(t > 0, t, 0.0),
    "torch.masked_fill(t, t > 0, 1.0)": lambda t: torch.masked_fill(t, t > 0, 1.0),
    "torch.zeros_like(t)": torch.zeros_like,
    "torch.ones_like(t)": torch.ones_like,
    "torch.full_like(t, 3.0)": lambda t: torch.full_like(t, 3.0),
    "torch.stack([t, t])": lambda t: torch.stack([t, t]),
    "torch.cat([t, t], 1)": lambda t: torch.cat([t, t], 1),
    "t + t": lambda t: t + t,
    "t - t": lambda t: t - t,
    "t * t": lambda t: t * t,
    "t / t": lambda t: t / t,
    "torch.sub(t, t, alpha=3)": lambda t: torch.sub(t, t, alpha=3),
    "torch.maximum(t, t)": lambda t: torch.maximum(t, t),
    "t == t": lambda t: torch.eq(t, t),
}
OF_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "t[1, 2].item()": lambda t: t[1, 2].item(),
    "float(t[2, 3])": lambda t: float(t[2, 3]),
    "int(t[0, 1])": lambda t: int(t[0, 1]),
    "bool(t[0, 0])": lambda t: bool(t[0, 0]),
}
OF_TWO: dict[str, Callable[[Any, Any], Any]] = {
    "t + u": lambda t, u: t + u,
    "t - u": lambda t, u: t - u,
    "t * u": lambda t, u: t * u,
    "t / u": lambda t, u: t / u,
    "t % u": lambda t, u: t % u,
    "torch.add(t, u, alpha=2)": lambda t, u: torch.add(t, u, alpha=2),
    "torch.sub(t, u, alpha=0.5)": lambda t, u: torch.sub(t, u, alpha=0.5),
    "t + u[0]": lambda t, u: t + u[0],
    "torch.maximum(t, u)": torch.maximum,
    "torch.minimum(t, u)": torch.minimum,
    "torch.lt(t, u)": torch.lt,
    "torch.ge(t, u)": torch.ge,
    "torch.eq(t, u)": torch.eq,
    "torch.isclose(t, u)": torch.isclose,
    "torch.equal(t, u)": torch.equal,
    "torch.allclose(t, u)": torch.allclose,
    "torch.cat([t, u])": lambda t, u: torch.cat([t, u]),
    "torch.stack([t, u])": lambda t, u: torch.stack([t, u]),
    "torch.where(t > u, t, u)": lambda t, u: torch.where(torch.gt(t, u), t, u),
    "torch.lerp(t, u, 0.3)": lambda t, u: torch.lerp(t, u, 0.3),
    "torch.addcmul(t, u, u)": lambda t, u: torch.addcmul(t, u, u),
    "torch.addcdiv(t, t, u)": lambda t, u: torch.addcdiv(t, t, u),
    "torch.atan2(t, u)": torch.atan2,
    "torch.hypot(t, u)": torch.hypot,
    "torch.copysign(t, u)": torch.copysign,
    "torch.dot(t[0], u[0])": lambda t, u: torch.dot(t[0], u[0]),
    "torch.outer(t[0], u[0])": lambda t, u: torch.outer(t[0], u[0]),
    "F.mse_loss(t, u)": F.mse_loss,
    "F.cosine_similarity(t, u)": F.cosine_similarity,
    "torch.cdist(t, u)": torch.cdist,
}
# Not 0.7: one float32 number in ten, times 0.7, is a float32 number itself, and nothing is rounded.
SCALES = (0.618034, -2.5, 0.0, 1.0)
PAIRS = (
    (0.618034, 0.618034),
    (-2.5, -2.5),
    (0.618034, -2.5),
    (0.0, 0.618034),
    (0.618034, 0.0),
    (0.0, 0.0),
    (1.0, 1.0),
)


@scaled_tensor.property("every other operation gives every bit of it", asks=(EVERY_OTHER, STANDS))
def every_bit(answer: Any, trial: Trial) -> None:
    strange = torch.tensor(
        [[float("inf"), 0.0, -0.0, 1.5], [float("nan"), -float("inf"), -1.5, 3e38], [0.3, -3e38, 1e-40, -0.3]]
    )
    kinds = (
        ("inner of shape (3, 4)", drawn(trial, 3, 4), drawn(trial, 3, 4), SCALES, PAIRS),
        (
            "inner of shape (3, 4), float64",
            drawn(trial, 3, 4, dtype=torch.float64),
            drawn(trial, 3, 4, dtype=torch.float64),
            SCALES[:1],
            PAIRS[:3],
        ),
        ("inner with inf, nan and 0 in it", strange, strange.flip(0), SCALES, (PAIRS[0], *PAIRS[2:5])),
    )
    for of, inner, other, scales, pairs in kinds:
        for one, two in pairs:
            for second, its in ((other, "y"), (inner, "inner")):
                for words, run in OF_TWO.items():
                    trial.given(
                        f"{words}; t = ScaledTensor(inner, {one}), u = ScaledTensor({its}, {two}), {of}"
                    )
                    _compare(answer, trial, run, [(inner, one), (second, two)], words)
        for scale in scales:
            for words, run in {**OF_ONE, **({} if inner is strange else OF_NUMBERS)}.items():
                trial.given(f"{words}; t = ScaledTensor(inner, {scale}), {of}")
                _compare(answer, trial, run, [(inner, scale)], words)


def _compare(
    answer: Any, trial: Trial, run: Callable[..., Any], parts: Iterable[tuple[Tensor, float]], words: str
) -> None:
    want = run(*(inner * scale for inner, scale in parts))
    got = run(*(answer(inner, scale) for inner, scale in parts))
    is_plain(trial, got, answer, "others")
    same_bits(trial, got, want, words)
