"""A right answer to 13.kv_cache in steps, of which each mistake replaces one."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


class Steps:
    """Two tensors taken at the start, and a count."""

    def __init__(
        self, batch: int, heads: int, length: int, width: int, dtype: torch.dtype = torch.float32
    ) -> None:
        self.k_memory = torch.zeros(batch, heads, length, width, dtype=dtype)
        self.v_memory = torch.zeros(batch, heads, length, width, dtype=dtype)
        self.count = 0

    def __len__(self) -> int:
        return self.count

    @property
    def keys(self) -> Tensor:
        return self.k_memory[:, :, : self.count]

    @property
    def values(self) -> Tensor:
        return self.v_memory[:, :, : self.count]

    @torch.no_grad()
    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        self.make_room(k.shape[2])
        past = self.count
        self.write(k, v, past)
        return self.look(q, past)

    def make_room(self, new: int) -> None:
        if self.count + new > self.k_memory.shape[2]:
            raise ValueError(f"no room for {new} more")

    def write(self, k: Tensor, v: Tensor, past: int) -> None:
        stop = past + k.shape[2]
        self.k_memory[:, :, past:stop] = k
        self.v_memory[:, :, past:stop] = v
        self.count = stop

    def look(self, q: Tensor, past: int) -> Tensor:
        return F.scaled_dot_product_attention(
            q, self.keys, self.values, attn_mask=self.allowed(q.shape[2], past)
        )

    def allowed(self, new: int, past: int) -> Tensor | None:
        return torch.ones(new, past + new, dtype=torch.bool).tril(past)


class ByHand(Steps):
    """With the products written out."""

    def look(self, q: Tensor, past: int) -> Tensor:
        return self.weights(self.scores(q), self.allowed(q.shape[2], past)) @ self.values

    def scores(self, q: Tensor) -> Tensor:
        return q @ self.keys.transpose(-2, -1) / q.shape[-1] ** 0.5

    def weights(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        return (
            scores.masked_fill(~allowed, float("-inf")).softmax(-1)
            if allowed is not None
            else scores.softmax(-1)
        )
