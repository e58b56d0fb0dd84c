"""What the notebook of lab 10 shows and uses, beside its exercises."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

__all__ = ["Script"]


class Script(NamedTuple):
    """Six pieces of a training script, and what its author promises of each. All tensors are float32.

    scaled(x): x is (N, D), N from 2 on. Each column minus its mean, divided by sqrt(variance + 1e-5), its variance
        with N. Right to 0.01, also where a column is around 10,000.
    distances(a, b): a is (N, D), b is (M, D), N and M from 1 on. Entry (i, j) of the result, (N, M), is how far
        row i of a lies from row j of b.
    batches(rows, size): rows is (N, D). The rows, each once, in a random order, as a list of tensors of `size` rows,
        the last one of what is left. Each call draws anew. `rows` is left as it is, and no tensor shares memory with
        it, or with what an earlier call gave.
    penalty(weight, start): two vectors of one length. How far they lie apart, a tensor of no dimensions. Its gradient
        reaches `weight`, and is finite, also where the two are equal.
    dropped(x, training): x is (N, D). In training each entry is 0 with probability 1/4, else x / 0.75: a draw for
        each entry, new in each call. Otherwise all entries are those of x.
    loss(logits, target): of shapes (B, T, C) and (B, T), int64. The mean cross entropy of all tokens together whose
        target is not -100, and 0 if there are none.
    """

    scaled: Callable[[Tensor], Tensor]
    distances: Callable[[Tensor, Tensor], Tensor]
    batches: Callable[[Tensor, int], list[Tensor]]
    penalty: Callable[[Tensor, Tensor], Tensor]
    dropped: Callable[[Tensor, bool], Tensor]
    loss: Callable[[Tensor, Tensor], Tensor]
