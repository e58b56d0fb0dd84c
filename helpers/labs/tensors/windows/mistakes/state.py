"""What people write for 11.windows, and why it is wrong: what is taken from elsewhere than from x as it is now."""

from __future__ import annotations

from functools import lru_cache

from torch import Tensor

from helpers.labs.tensors.windows.exercise import ANY, GRADIENT, windows
from helpers.labs.tensors.windows.right import Pair, answer

right = answer()


@lru_cache(maxsize=4)
def _kept(x: Tensor, size: Pair, step: Pair) -> Tensor:
    return right(x, size, step)


@windows.mistake(breaks=GRADIENT)
def kept_by_the_tensor(x: Tensor, size: Pair, step: Pair) -> Tensor:
    """The result is that of an earlier call with the same tensor, which has changed since: it did not require grad then. Perhaps
    results are kept, by `lru_cache` or in a dict.
    """
    return _kept(x, tuple(size), tuple(step))


@windows.mistake(breaks=ANY)
def of_the_base(x: Tensor, size: Pair, step: Pair) -> Tensor:
    """The windows are those of x's base, read by x's numbers. A base may have a different dtype, and a graph that x has no part in:
    `x.as_strided` itself counts from x's own offset.
    """
    base = x if x._base is None else x._base
    of_x = right(x, size, step)
    return base.as_strided(of_x.shape, of_x.stride(), x.storage_offset())
