"""A right answer to 13.flash_attention in steps, of which each mistake replaces one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

Answer = type[Function]


def parts(length: int, block: int) -> Iterator[slice]:
    for start in range(0, length, block):
        yield slice(start, start + block)


def begun(q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    largest = torch.full_like(q[..., :1], float("-inf"))
    return largest, torch.zeros_like(largest), torch.zeros_like(q)


def summed(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    block: int,
    *,
    scale: float | None = None,
    parts: Callable[[int, int], Iterator[slice]] = parts,
    begun: Callable[[Tensor], tuple[Tensor, Tensor, Tensor]] = begun,
) -> tuple[Tensor, Tensor, Tensor]:
    """The result, the largest score of each query, and the sum of its exponents."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    largest, total, result = begun(q)
    for part in parts(k.shape[-2], block):
        scores = q @ k[..., part, :].transpose(-2, -1) * scale
        above = torch.maximum(largest, scores.amax(-1, keepdim=True))
        weights, shrink = (scores - above).exp(), (largest - above).exp()
        total = total * shrink + weights.sum(-1, keepdim=True)
        result = result * shrink + weights @ v[..., part, :]
        largest = above
    return result / total, largest, total


def kept(
    ctx: Any, q: Tensor, k: Tensor, v: Tensor, block: int, result: Tensor, largest: Tensor, total: Tensor
) -> None:
    ctx.save_for_backward(q, k, v, result, largest + total.log())
    ctx.block = block


def taken(ctx: Any) -> tuple[Any, ...]:
    return *ctx.saved_tensors, ctx.block


def weights_of(q: Tensor, keys: Tensor, logsumexp: Tensor) -> Tensor:
    return (q @ keys.transpose(-2, -1) * q.shape[-1] ** -0.5 - logsumexp).exp()


def meant(grad_out: Tensor, result: Tensor) -> Tensor:
    return (grad_out * result).sum(-1, keepdim=True)


def of_scores(weights: Tensor, of_weights: Tensor, mean: Tensor, scale: float) -> Tensor:
    return weights * (of_weights - mean) * scale


def slopes(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    result: Tensor,
    logsumexp: Tensor,
    block: int,
    grad_out: Tensor,
    *,
    parts: Callable[[int, int], Iterator[slice]] = parts,
    weights_of: Callable[[Tensor, Tensor, Tensor], Tensor] = weights_of,
    meant: Callable[[Tensor, Tensor], Tensor] = meant,
    of_scores: Callable[[Tensor, Tensor, Tensor, float], Tensor] = of_scores,
) -> tuple[Tensor, Tensor, Tensor]:
    grad_q, grad_k, grad_v = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    mean = meant(grad_out, result)
    for part in parts(k.shape[-2], block):
        keys, values = k[..., part, :], v[..., part, :]
        weights = weights_of(q, keys, logsumexp)
        grad_v[..., part, :] = weights.transpose(-2, -1) @ grad_out
        grad_scores = of_scores(weights, grad_out @ values.transpose(-2, -1), mean, q.shape[-1] ** -0.5)
        grad_q += grad_scores @ keys
        grad_k[..., part, :] = grad_scores.transpose(-2, -1) @ q
    return grad_q, grad_k, grad_v


def flash(
    *,
    summed: Callable[..., tuple[Tensor, Tensor, Tensor]] = summed,
    kept: Callable[..., None] = kept,
    taken: Callable[[Any], tuple[Any, ...]] = taken,
    slopes: Callable[..., tuple[Any, ...]] = slopes,
    returned: Callable[..., tuple[Any, ...]] = lambda ctx, *grads: (*grads, None),
) -> Answer:
    class Flash(Function):
        @staticmethod
        def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
            result, largest, total = summed(q, k, v, block)
            kept(ctx, q, k, v, block, result, largest, total)
            return result

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, grad_out: Tensor) -> tuple[Any, ...]:
            return returned(ctx, *slopes(*taken(ctx), grad_out))

    return Flash
