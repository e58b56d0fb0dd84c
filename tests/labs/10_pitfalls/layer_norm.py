"""Right answers to 10.layer_norm, in different shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

Gradients = tuple[Tensor, Tensor, Tensor]


def plain_forward(
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """torch's var_mean, and autocast by hand."""
    dims = tuple(-1 - i for i in range(len(normalized_shape)))
    z = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    var, mean = torch.var_mean(z, dim=dims, unbiased=False, keepdim=True)
    y = (z - mean) / torch.sqrt(var + eps)
    if weight is not None:
        y = y * weight.to(y.dtype)
    if bias is not None:
        y = y + bias.to(y.dtype)
    return y.type_as(x)


def plain_backward(
    dy: Tensor, x: Tensor, normalized_shape: Sequence[int], weight: Tensor, eps: float
) -> Gradients:
    """The formula with N in front, as in most notes."""
    k = len(normalized_shape)
    dims, lead = tuple(range(x.ndim - k, x.ndim)), tuple(range(x.ndim - k))
    n = math.prod(normalized_shape)
    high = torch.float64 if x.dtype == torch.float64 else torch.float32
    z, d, w = x.to(high), dy.to(high), weight.to(high)
    mu = z.sum(dims, keepdim=True) / n
    inv = 1.0 / torch.sqrt(((z - mu) ** 2).sum(dims, keepdim=True) / n + eps)
    xhat = (z - mu) * inv
    dxhat = d * w
    dx = inv / n * (n * dxhat - dxhat.sum(dims, keepdim=True) - xhat * (dxhat * xhat).sum(dims, keepdim=True))
    dw, db = (d * xhat).sum(dim=lead), d.sum(dim=lead)
    return dx.to(x.dtype), dw.to(weight.dtype), db.to(weight.dtype)


def rows_forward(
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """As an (M, N) matrix, as the kernel sees it; in float64 throughout."""
    rows = x.reshape(-1, math.prod(normalized_shape)).double()
    rows = rows - rows.mean(1, keepdim=True)
    rows = rows / (rows.norm(dim=1, keepdim=True) ** 2 / rows.shape[1] + eps) ** 0.5
    rows = rows * (1.0 if weight is None else weight.double().flatten())
    rows = rows + (0.0 if bias is None else bias.double().flatten())
    return rows.reshape(x.shape).to(x.dtype)


def rows_backward(
    dy: Tensor, x: Tensor, normalized_shape: Sequence[int], weight: Tensor, eps: float
) -> list[Tensor]:
    """By the Jacobian of each row, written out as a matrix."""
    n = math.prod(normalized_shape)
    rows, slopes = x.reshape(-1, n).double(), dy.reshape(-1, n).double()
    centre = torch.eye(n, dtype=torch.float64) - 1 / n
    dx, dw = torch.zeros_like(rows), torch.zeros(n, dtype=torch.float64)
    for i, (row, slope) in enumerate(zip(rows, slopes, strict=True)):
        distances = centre @ row
        scale = (distances @ distances / n + eps) ** -0.5
        jacobian = scale * centre - scale**3 / n * torch.outer(distances, distances)
        dx[i] = jacobian @ (slope * weight.double().flatten())
        dw += slope * distances * scale
    parts = dx.reshape(x.shape), dw.reshape(weight.shape), slopes.sum(0).reshape(weight.shape)
    return tuple(part.to(like.dtype) for part, like in zip(parts, (x, weight, weight), strict=True))


class Normaliser:
    """Forward and backward as methods of one object that remembers nothing."""

    def statistics(self, x: Tensor, k: int, eps: float) -> tuple[Tensor, Tensor]:
        flat = x.to(torch.promote_types(x.dtype, torch.float32)).flatten(x.ndim - k)
        mean = flat.mean(-1)
        rstd = torch.rsqrt(flat.sub(mean.unsqueeze(-1)).square_().mean(-1) + eps)
        shape = x.shape[: x.ndim - k] + (1,) * k
        return mean.reshape(shape), rstd.reshape(shape)

    def forward(
        self,
        x: Tensor,
        normalized_shape: Sequence[int],
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float = 1e-5,
    ) -> Tensor:
        mean, rstd = self.statistics(x, len(normalized_shape), eps)
        out = (x - mean).mul(rstd)
        if weight is not None:
            out = out.mul(weight)
        if bias is not None:
            out = out.add(bias)
        return out.to(x.dtype)

    def backward(
        self, dy: Tensor, x: Tensor, normalized_shape: Sequence[int], weight: Tensor, eps: float
    ) -> Gradients:
        k = len(normalized_shape)
        mean, rstd = self.statistics(x, k, eps)
        xhat = (x - mean) * rstd
        g = dy.to(xhat.dtype) * weight
        while dy.ndim > k:
            dy_hat = dy.to(xhat.dtype)
            break
        dims = list(range(x.ndim))[-k:]
        along = g - g.mean(dims, True) - xhat * (g * xhat).mean(dims, True)
        lead = x.ndim - k
        dw = (dy_hat * xhat).flatten(0, lead - 1).sum(0)
        db = dy_hat.flatten(0, lead - 1).sum(0)
        return (along * rstd).to(x.dtype), dw.to(weight.dtype), db.to(weight.dtype)


RIGHT = [
    (plain_forward, plain_backward),
    (rows_forward, rows_backward),
    (Normaliser().forward, Normaliser().backward),
    (rows_forward, plain_backward),
]
