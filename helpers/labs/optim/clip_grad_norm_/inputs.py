"""Gradients before and after clipping: what the properties of 04.clip_grad_norm_ have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.check.compare import TOLERANCE
from helpers.check.trial import Trial

Answer = Callable[..., Any]
SHAPES = ((3, 2), (4,), (), (2, 1, 3), (5,))
_vector_norm, _cat = (
    torch.linalg.vector_norm,
    torch.cat,
)  # an answer that replaces these replaces nothing here


def with_gradients(
    trial: Trial, *shapes: tuple[int, ...], dtype: torch.dtype = torch.float64
) -> list[nn.Parameter]:
    """Parameters with random gradients."""
    params = [nn.Parameter(torch.ones(shape, dtype=dtype)) for shape in shapes]
    for param in params:
        param.grad = torch.randn(param.shape, generator=trial.generator, dtype=dtype)
    return params


def with_exact_gradients(
    trial: Trial, *shapes: tuple[int, ...], dtype: torch.dtype
) -> tuple[list[nn.Parameter], int]:
    """Parameters with random gradients, and their norm, where nothing is rounded in half precision either.

    The entries, the norm of each gradient and the norm of all are small whole numbers, and so are their squares. So
    whoever keeps the norm in the gradients' dtype, and takes squares, sum and root one by one, gets the same.
    """

    def whole(shape: tuple[int, ...]) -> Tensor:
        while True:
            entries = torch.randint(-3, 4, shape, generator=trial.generator)
            square = int(entries.square().sum())
            if square and math.isqrt(square) ** 2 == square:
                return entries

    while True:
        grads = [whole(shape) for shape in shapes]
        square = sum(int(grad.square().sum()) for grad in grads)
        if math.isqrt(square) ** 2 == square:
            break
    params = [nn.Parameter(torch.ones(shape, dtype=dtype)) for shape in shapes]
    for param, grad in zip(params, grads, strict=True):
        param.grad = grad.to(dtype)
    return params, math.isqrt(square)


def gradients_of(params: Iterable[Tensor]) -> list[Tensor]:
    return [param.grad.detach().clone() for param in params if param.grad is not None]


def norm_of(grads: list[Tensor], norm_type: float) -> Tensor:
    """The norm of all as one vector, in float64."""
    return _vector_norm(_cat([grad.double().flatten() for grad in grads]), norm_type)


def require_clipped(
    answer: Answer,
    trial: Trial,
    given: Iterable[Tensor],
    params: list[nn.Parameter],
    max_norm: float,
    norm_type: float,
) -> None:
    """The norm before is returned, and the gradients are shortened together."""
    before = gradients_of(params)
    want, without = norm_of(before, norm_type), [param.grad is None for param in params]
    got = trial.call(lambda: answer(given, max_norm, norm_type))
    edited = any(
        param.grad is not None and not torch.equal(param.grad, old)
        for param, old in zip(
            [param for param, none in zip(params, without, strict=True) if not none], before, strict=True
        )
    )
    require_number(trial, got, *(["the gradients have changed"] if edited else []))
    made = [place for place, param in enumerate(params) if without[place] and param.grad is not None]
    trial.true(
        not made,
        f"Parameter {made[0] if made else 0} had no gradient and has one now.",
        expected="None",
        got=params[made[0]].grad if made else None,
        observed="gradient made",
    )
    after = gradients_of(params)
    rtol = max([1e-5, *(TOLERANCE[grad.dtype][0] for grad in before)])
    factor = min(1.0, max_norm / (float(want) + 1e-6))
    close = math.isclose(float(got), float(want), rel_tol=rtol)
    word = "" if close else norm_in_words(float(got), before, after, norm_type, factor)
    trial.true(
        close,
        f"The norm is {float(want):.6g}, and the answer returned {float(got):.6g}"
        + (f": {word}." if word else "."),
        expected=f"{float(want):.6g}, the norm before clipping",
        got=got,
        observed=("norm", word or float(got)),
    )
    unchanged = all(torch.equal(new, old) for new, old in zip(after, before, strict=True))
    edited = not all(bool((param == 1).all()) for param in params)
    trial.true(
        not unchanged or factor == 1.0,
        f"The norm is {float(want):.6g}, max_norm is {max_norm:g}, and the gradients in .grad are what they were"
        + ("; the parameters have changed." if edited else "."),
        expected=f"every gradient times {factor:.6g}",
        got="gradients as before" + (", other parameters" if edited else ""),
        observed=("not clipped", edited),
    )
    how = edit_in_words(before, after, norm_type, max_norm, factor)
    for place, (new, old) in enumerate(zip(after, before, strict=True)):
        trial.equal(
            new,
            old * factor,
            f"Gradient {place}, which should be {factor:.4g} times what it was (the same factor for all)"
            + (f" and was not: {how}" if how else ""),
            rtol=rtol,
            atol=1e-8,
            observed=("gradients", how or [grad.tolist() for grad in after]),
        )


def norm_in_words(
    got: float, before: list[Tensor], after: list[Tensor], norm_type: float, factor: float
) -> str:
    """What a norm that is wrong is; "" if nothing that is known."""
    each = torch.stack([_vector_norm(grad.double(), norm_type) for grad in before])
    want = norm_of(before, norm_type)
    words = {
        "that of the gradients after clipping": norm_of(after, norm_type),
        "what the root of order inf gives: any number to the power 0 is 1": 1.0
        if math.isinf(norm_type)
        else math.nan,
        "the sum of the gradients' norms": each.sum(),
        "the mean of the gradients' norms": each.mean(),
        "the largest of the gradients' norms": each.max(),
        "the root of the sum of the gradients' norms": each.sum() ** (1 / norm_type),
        "its square": want**2,
        "its power, without the root": want**norm_type,
        "the factor": factor,
        "the 2-norm": norm_of(before, 2.0),
        "the 2-norm of the gradients' norms": each.norm(),
        "the largest entry, its sign included": max(float(grad.max()) for grad in before),
        "that of the last gradient": each[-1],
        "that of the gradients with a dimension or more": norm_of([g for g in before if g.dim()], norm_type),
    }
    return next((word for word, value in words.items() if math.isclose(got, float(value), rel_tol=1e-4)), "")


def edit_in_words(
    before: list[Tensor], after: list[Tensor], norm_type: float, max_norm: float, factor: float
) -> str:
    """What happened to gradients in place of one factor for all; "" if nothing that is known."""
    if [new.shape for new in after] != [old.shape for old in before]:
        return "a different shape"
    old, new = ([grad.double() for grad in grads] for grads in (before, after))
    own = [min(1.0, max_norm / (float(_vector_norm(grad, norm_type)) + 1e-6)) for grad in old]
    words = {
        "each gradient was shortened by its own norm": [grad * own[place] for place, grad in enumerate(old)],
        "entries were cut off at max_norm": [grad.clamp(-max_norm, max_norm) for grad in old],
        "they were divided by the factor": [grad / factor for grad in old],
        "they were multiplied by it twice": [grad * factor**2 for grad in old],
        "they were multiplied by max_norm": [grad * max_norm for grad in old],
        "they were divided by the norm": [grad / float(norm_of(old, norm_type)) for grad in old],
    }
    for word, want in words.items():
        if all(torch.allclose(mine, need, rtol=2e-2) for mine, need in zip(new, want, strict=True)):
            return word
    right = [
        torch.allclose(mine, grad * factor, rtol=2e-2, atol=1e-7) for mine, grad in zip(new, old, strict=True)
    ]
    same = [torch.equal(mine, grad) for mine, grad in zip(new, old, strict=True)]
    if all(one or other for one, other in zip(right, same, strict=True)) and any(right) and not all(right):
        return "some were shortened, others left as they were"
    return ""


def require_number(trial: Trial, got: Any, *more: str) -> None:
    """more: what else was seen."""
    trial.true(
        isinstance(got, Tensor),
        f"Expected the norm as a tensor of no dimensions, got {type(got).__name__}.",
        expected="a 0-d tensor",
        got=f"{got!r}, of type {type(got).__name__}"
        if type(got) in (int, float, type(None))
        else type(got).__name__,
        observed=("returned", type(got).__name__, *more),
    )
    trial.true(
        got.shape == (),
        f"Expected a tensor of no dimensions, got one of shape {tuple(got.shape)}.",
        expected="a 0-d tensor",
        got=got,
        observed=("returned", tuple(got.shape)),
    )
