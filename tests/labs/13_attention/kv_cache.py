"""Right answers of 13.kv_cache, of other shapes than the solution's."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Buffers(nn.Module):
    """A module with one buffer for both, and a mask for all that is sliced."""

    def __init__(
        self, batch: int, heads: int, length: int, width: int, dtype: torch.dtype = torch.float32
    ) -> None:
        super().__init__()
        self.register_buffer("both", torch.empty(batch, heads, 2 * length, width, dtype=dtype))
        self.register_buffer("causal", torch.ones(length, length).tril().bool())
        self.length, self.n = length, 0

    def __len__(self) -> int:
        return self.n

    @property
    def keys(self) -> Tensor:
        return self.both[:, :, : self.n]

    @property
    def values(self) -> Tensor:
        return self.both[:, :, self.length : self.length + self.n]

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        start, end = self.n, self.n + q.size(2)
        if end > self.length:
            raise ValueError
        self.both[:, :, start:end].copy_(k.detach())
        self.both[:, :, self.length + start : self.length + end].copy_(v.detach())
        self.n = end
        return F.scaled_dot_product_attention(q, self.keys, self.values, self.causal[start:end, :end])


class Columns:
    """Keys as columns, so that they are the right factor as they lie; einsum for the values; attributes, no properties."""

    def __init__(self, batch, heads, length, width, dtype=torch.float32):
        self.columns = torch.zeros(batch, heads, width, length, dtype=dtype)
        self.rows = torch.zeros(batch, heads, length, width, dtype=dtype)
        self._set(0)

    def _set(self, n: int) -> None:
        self.n = n
        self.keys, self.values = self.columns[..., :n].mT, self.rows.narrow(2, 0, n)

    def __len__(self):
        return self.n

    def attend(self, q, k, v):
        with torch.no_grad():
            n, new = self.n, k.shape[-2]
            if new > self.rows.shape[2] - n:
                raise ValueError(f"{new} do not fit")
            self.columns[..., n : n + new] = k.mT
            self.rows[:, :, n : n + new] = v
            self._set(n + new)
            scores = (q * q.shape[-1] ** -0.5) @ self.columns[..., : n + new]
            later = torch.arange(n + new) > torch.arange(n, n + new)[:, None]
            weights = torch.softmax(scores.masked_fill(later, -torch.inf), -1)
            return torch.einsum("bhij,bhjd->bhid", weights, self.values)


class RowByRow:
    """Each position on its own, no mask at all."""

    def __init__(self, batch, heads, length, width, dtype=torch.float32):
        self.k, self.v = (torch.empty((batch, heads, length, width), dtype=dtype) for _ in range(2))
        self.count = 0

    def __len__(self):
        return self.count

    keys = property(lambda self: self.k[:, :, : self.count])
    values = property(lambda self: self.v[:, :, : self.count])

    @torch.inference_mode(False)
    @torch.no_grad()
    def attend(self, q, k, v):
        new = k.size(2)
        if self.count + new > self.k.size(2):
            raise ValueError("no room")
        rows = []
        for i in range(new):
            self.k.select(2, self.count).copy_(k[:, :, i])
            self.v.select(2, self.count).copy_(v[:, :, i])
            self.count += 1
            rows.append(F.scaled_dot_product_attention(q[:, :, i : i + 1], self.keys, self.values))
        return torch.cat(rows, dim=2)


class WholeRoom:
    """Looks at the whole memory, with the room blocked; the softmax written out; a score a head by loops."""

    def __init__(self, batch, heads, length, width, dtype=torch.float32):
        self.memory = torch.zeros(2, length, batch, heads, width, dtype=dtype)
        self.count = torch.zeros((), dtype=torch.int64)

    def __len__(self):
        return int(self.count)

    @property
    def keys(self):
        return self.memory[0, : len(self)].permute(1, 2, 0, 3)

    @property
    def values(self):
        return self.memory[1, : len(self)].permute(1, 2, 0, 3)

    @torch.no_grad()
    def attend(self, q, k, v):
        past, (batch, heads, new, width) = len(self), q.shape
        room = self.memory.shape[1]
        if past + new > room:
            raise ValueError("no room")
        self.memory[0, past : past + new] = k.permute(2, 0, 1, 3)
        self.memory[1, past : past + new] = v.permute(2, 0, 1, 3)
        self.count += new
        blocked = torch.ones(new, room, dtype=torch.bool).triu(past + 1)
        result = torch.empty_like(q)
        for b in range(batch):
            for h in range(heads):
                scores = (q[b, h] @ self.memory[0, :, b, h].T / width**0.5).masked_fill(blocked, -torch.inf)
                powers = (scores - scores.amax(-1, keepdim=True)).exp()
                result[b, h] = powers / powers.sum(-1, keepdim=True) @ self.memory[1, :, b, h]
        return result


RIGHT: list[Any] = [Buffers, Columns, RowByRow, WholeRoom]
