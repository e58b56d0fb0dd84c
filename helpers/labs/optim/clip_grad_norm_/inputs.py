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
    want = norm_of(before, norm_type)
    got = trial.call(lambda: answer(given, max_norm, norm_type))
    require_number(trial, got)
    after = gradients_of(params)
    unchanged = all(torch.equal(new, old) for new, old in zip(after, before, strict=True))
    norm_after = norm_of(after, norm_type)
    rtol = max([1e-5, *(TOLERANCE[grad.dtype][0] for grad in before)])
    close = math.isclose(float(got), float(want), rel_tol=rtol)
    factor = min(1.0, max_norm / (float(want) + 1e-6))
    trial.true(
        close,
        f"The norm is {float(want):.6g}, and the answer returned {float(got):.6g}."
        + (" That is the norm after clipping: return the one before." if _near(got, norm_after) else ""),
        expected=f"{float(want):.6g}, the norm before clipping",
        got=got,
        observed=("norm", float(got), [grad.tolist() for grad in after]),
    )
    trial.true(
        not unchanged or factor == 1.0,
        f"The norm is {float(want):.6g}, max_norm is {max_norm:g}, and the gradients in .grad are what they were.",
        expected=f"every gradient times {factor:.6g}",
        got="gradients as before",
        observed="not clipped",
    )
    for place, (new, old) in enumerate(zip(after, before, strict=True)):
        trial.equal(
            new,
            old * factor,
            f"Gradient {place}, which should be {factor:.4g} times what it was (the same factor for all)",
            rtol=rtol,
            atol=1e-8,
        )


def _near(got: Tensor, norm_after: Tensor) -> bool:
    return math.isclose(float(got), float(norm_after), rel_tol=1e-4)


def require_number(trial: Trial, got: Any) -> None:
    trial.true(
        isinstance(got, Tensor),
        f"Expected the norm as a tensor of no dimensions, got {type(got).__name__}.",
        expected="a 0-d tensor",
        got=got,
        observed=("returned", type(got).__name__),
    )
    trial.true(
        got.shape == (),
        f"Expected a tensor of no dimensions, got one of shape {tuple(got.shape)}.",
        expected="a 0-d tensor",
        got=got,
        observed=("returned", tuple(got.shape)),
    )
