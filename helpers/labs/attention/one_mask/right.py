"""A right answer in parts, of which each mistake of 13.one_mask replaces one."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import and_

import torch
from torch import Tensor


def none(q: Tensor, k: Tensor) -> Tensor | None:
    return None


def early(q: Tensor, k: Tensor) -> Tensor:
    """True where the key is no later than the query."""
    return torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril(k.shape[-2] - q.shape[-2])


def real(padding: Tensor) -> Tensor:
    return ~padding[:, None, None, :]


def seen(blocked: Tensor) -> Tensor:
    return ~blocked


def together(masks: list[Tensor]) -> Tensor:
    return reduce(and_, masks)


def added(blocked: Tensor, q: Tensor) -> Tensor:
    return blocked.to(q.dtype)


def shut(numbers: Tensor, allowed: Tensor) -> Tensor:
    return numbers.masked_fill(~allowed, float("-inf"))


def as_it_is(mask: Tensor, q: Tensor, k: Tensor) -> Tensor:
    return mask


def masked(
    q: Tensor,
    k: Tensor,
    causal: bool = False,
    padding: Tensor | None = None,
    blocked: Tensor | None = None,
    *,
    none: Callable[[Tensor, Tensor], Tensor | None] = none,
    early: Callable[[Tensor, Tensor], Tensor] = early,
    real: Callable[[Tensor], Tensor] = real,
    seen: Callable[[Tensor], Tensor] = seen,
    together: Callable[[list[Tensor]], Tensor] = together,
    added: Callable[[Tensor, Tensor], Tensor] = added,
    shut: Callable[[Tensor, Tensor], Tensor] = shut,
    last: Callable[[Tensor, Tensor, Tensor], Tensor] = as_it_is,
) -> Tensor | None:
    """Right as it stands; a mistake replaces one part."""
    masks = [early(q, k)] if causal else []
    if padding is not None:
        masks.append(real(padding))
    if blocked is not None and blocked.dtype == torch.bool:
        masks.append(seen(blocked))
    elif blocked is not None:
        numbers = added(blocked, q)
        return last(numbers if not masks else shut(numbers, together(masks)), q, k)
    return last(together(masks), q, k) if masks else none(q, k)
