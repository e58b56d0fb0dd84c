"""What people write for 13.grouped, and why it is wrong."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.labs.attention.grouped.exercise import (
    GROUP,
    LARGE,
    LAYOUT,
    RAISES,
    SCALE,
    SHAPE,
    TITLE,
    WHERE,
    grouped,
)

GRADIENTS = "q, k and v get the gradients that they get there."
ALONE = "The arguments stay as they were."


def evenly(q: Tensor, k: Tensor) -> int:
    """How many query heads share one head of keys."""
    if q.shape[1] % k.shape[1]:
        raise ValueError("the heads cannot be shared evenly")
    return q.shape[1] // k.shape[1]


def folded(q: Tensor, k: Tensor) -> Tensor:
    """The query heads of a group as one head with more queries."""
    size = evenly(q, k)
    return q.reshape(q.shape[0], k.shape[1], size * q.shape[2], q.shape[3])


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1) @ v


@grouped.mistake(breaks=SCALE)
def scale_forgotten(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The scores are too large, by the factor sqrt(D): they are never divided by it."""
    return ((folded(q, k) @ k.transpose(-2, -1)).softmax(-1) @ v).reshape(q.shape)


@grouped.mistake(breaks=SCALE)
def divided_by_width(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The scores are too small: they are divided by D, not by its root."""
    return attention(folded(q, k) / q.shape[-1] ** 0.5, k, v).reshape(q.shape)


@grouped.mistake(breaks=SCALE)
def root_of_length(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The scores are divided by the root of the number of queries. D is the last size of q."""
    return attention(folded(q, k) * (q.shape[3] / q.shape[2]) ** 0.5, k, v).reshape(q.shape)


@grouped.mistake(breaks=SCALE)
def root_of_the_group(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Where several heads share keys, the scores are too small: they are divided by the root of D and of Hq / Hk, too. A score is a product
    over the D features of one head.
    """
    size = evenly(q, k)
    return attention(folded(q, k) / size**0.5, k, v).reshape(q.shape)


@grouped.mistake(breaks=TITLE)
def softmax_over_queries(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The weights of one key add up to 1 over all queries. Those of one query must, over all keys: the last dimension of the scores."""
    scores = folded(q, k) @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    return (scores.softmax(-2) @ v).reshape(q.shape)


@grouped.mistake(breaks=LAYOUT)
def heads_viewed(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """view raises, since q is not contiguous: a projection and a transpose give such a tensor. reshape takes it."""
    rows = q.view(q.shape[0], k.shape[1], evenly(q, k) * q.shape[2], q.shape[3])
    return attention(rows, k, v).view(q.shape)


@grouped.mistake(breaks=TITLE)
def float32_for_all(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Numbers of float64 are right in their first digits only. Perhaps all is computed in float32, whatever came in."""
    return attention(folded(q, k).float(), k.float(), v.float()).reshape(q.shape).to(q.dtype)


@grouped.mistake(breaks=GROUP)
def heads_taken_in_turns(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Query head h looks at the keys of head h % Hk. Perhaps k and v are repeated with `repeat`, or q is split with Hk inside:
    the heads of a group stand side by side, so Hk comes first.
    """
    size = evenly(q, k)
    rows = q.unflatten(1, (size, k.shape[1])).transpose(1, 2).reshape(q.shape[0], k.shape[1], -1, q.shape[3])
    out = attention(rows, k, v).unflatten(2, (size, q.shape[2]))
    return out.transpose(1, 2).reshape(q.shape)


@grouped.variant(heads_taken_in_turns)
def _(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    size = evenly(q, k)
    return attention(q, k.repeat(1, size, 1, 1), v.repeat(1, size, 1, 1))


@grouped.mistake(breaks=GROUP)
def values_in_turns(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """A query head has the keys of one head and the values of a different one. Perhaps k is repeated side by side, and v in turns."""
    size = evenly(q, k)
    return attention(q, k.repeat_interleave(size, dim=1), v.repeat(1, size, 1, 1))


@grouped.mistake(breaks=GROUP)
def first_head_for_all(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """All query heads look at the keys of the first head. Query head h has those of head h // (Hq / Hk)."""
    if k.shape[1] != q.shape[1]:
        evenly(q, k)
        k, v = k[:, :1], v[:, :1]
    return attention(folded(q, k), k, v).reshape(q.shape)


@grouped.mistake(breaks=GROUP)
def queries_averaged(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The query heads of a group all give the same. Perhaps their queries are averaged: only keys and values are shared."""
    size = evenly(q, k)
    mean = q.unflatten(1, (k.shape[1], size)).mean(2)
    return attention(mean, k, v).repeat_interleave(size, dim=1)


@grouped.mistake(breaks=GROUP)
def rows_not_put_back(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The numbers of the result are right, and stand in the wrong places. Perhaps the heads of a group are folded in one order, and
    unfolded in a different one: each reshape or transpose of q is undone behind, the last one first.
    """
    size = evenly(q, k)
    rows = q.unflatten(1, (k.shape[1], size)).transpose(2, 3).reshape(q.shape[0], k.shape[1], -1, q.shape[3])
    return attention(rows, k, v).reshape(q.shape)


@grouped.variant(rows_not_put_back)
def _(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    size = evenly(q, k)
    return attention(folded(q, k), k, v).unflatten(2, (q.shape[2], size)).transpose(2, 3).reshape(q.shape)


@grouped.mistake(breaks=GROUP)
def divided_by_heads_of_keys(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """With as many heads of keys as of queries, all query heads look at the first one. Perhaps h // Hk is computed: divide by the number
    of heads in a group, Hq / Hk, which is 1 here.
    """
    evenly(q, k)
    heads = (torch.arange(q.shape[1]) // k.shape[1]).clamp(max=k.shape[1] - 1)
    return attention(q, k[:, heads], v[:, heads])


@grouped.mistake(breaks=TITLE)
def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """A query does not look at later keys: the mask is causal. Nobody asks for a mask here, as nobody does in SDPA by default."""
    size = evenly(q, k)
    scores = folded(q, k) @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    later = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).triu(1).repeat(size, 1)
    return (scores.masked_fill(later, -torch.inf).softmax(-1) @ v).reshape(q.shape)


@grouped.mistake(breaks=SHAPE)
def result_in_float32(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The result is float32, and q is float64. Perhaps it is written into torch.zeros or torch.empty without a dtype."""
    return torch.empty(q.shape).copy_(attention(folded(q, k), k, v).reshape(q.shape))


@grouped.mistake(breaks=SHAPE)
def left_folded(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The result has the shape in which the heads of a group are one head: it is not brought back to the shape of q."""
    return attention(folded(q, k), k, v)


@grouped.mistake(breaks=SHAPE)
def group_dimension_left(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The result has five dimensions: the heads and their groups stay apart. flatten(1, 2) brings them together."""
    size = evenly(q, k)
    rows = q.unflatten(1, (k.shape[1], size))
    return attention(rows, k.unsqueeze(2), v.unsqueeze(2))


@grouped.mistake(breaks=GROUP)
def group_and_heads_exchanged(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The shapes of queries and keys do not fit together, and torch raises. Perhaps q is folded into Hq / Hk heads: there are Hk
    heads, each with Hq / Hk times as many rows.
    """
    rows = q.reshape(q.shape[0], evenly(q, k), -1, q.shape[3])
    return attention(rows, k, v).reshape(q.shape)


@grouped.mistake(breaks=GROUP)
def one_head_squeezed(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """With one head of keys torch raises: the shapes do not fit. Perhaps the dimension of the heads is squeezed away, and the batch
    then stands in its place.
    """
    rows = folded(q, k)
    if k.shape[1] == 1:
        k, v = k.squeeze(1), v.squeeze(1)
    return attention(rows, k, v).reshape(q.shape)


@grouped.mistake(breaks=SHAPE)
def float32_returned(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Half-precision inputs give a float32 result: it is not brought back to the dtype of q."""
    wide = torch.promote_types(q.dtype, torch.float32)
    return attention(folded(q, k).to(wide), k.to(wide), v.to(wide)).reshape(q.shape)


@grouped.mistake(breaks=LARGE)
def exponents_overflow(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Of large scores the result is not finite: exp overflows. Perhaps the softmax is written with exp and a sum: subtract the
    largest score first, as softmax does.
    """
    weights = (folded(q, k) @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).exp()
    return ((weights / weights.sum(-1, keepdim=True)) @ v).reshape(q.shape)


@grouped.mistake(breaks=GRADIENTS)
def without_gradients(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The result has no graph: nothing behind it would learn. Perhaps it is made under no_grad, or of detached tensors."""
    with torch.no_grad():
        return attention(folded(q, k), k, v).reshape(q.shape)


@grouped.mistake(breaks=GRADIENTS)
def keys_detached(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """q gets its gradient, k and v get none. Perhaps they are detached, as if they came from a cache."""
    return attention(folded(q, k), k.detach(), v.detach()).reshape(q.shape)


@grouped.mistake(breaks=WHERE)
def keys_repeated(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """A tensor is made that has the keys or the values once for each query head. Perhaps by repeat_interleave, or by a matmul that
    broadcasts, for the scores or for the sum: expand makes a view, and matmul then copies it. Fold the heads of a group into the
    rows of q instead.
    """
    size = evenly(q, k)
    return attention(q, k.repeat_interleave(size, dim=1), v.repeat_interleave(size, dim=1))


@grouped.variant(keys_repeated)
def _(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    size = evenly(q, k)
    rows = q.unflatten(1, (k.shape[1], size))
    return attention(rows, k.unsqueeze(2), v.unsqueeze(2)).flatten(1, 2)


@grouped.variant(keys_repeated)
def _(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    size = evenly(q, k)
    k, v = (each[:, :, None].expand(-1, -1, size, -1, -1).flatten(1, 2) for each in (k, v))
    return attention(q, k, v)


@grouped.variant(keys_repeated)
def _(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    heads = torch.arange(q.shape[1]) // evenly(q, k)
    return attention(q, k[:, heads], v[:, heads])


@grouped.variant(keys_repeated)
def _(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    rows = q.unflatten(1, (k.shape[1], evenly(q, k)))
    scores = torch.einsum("bgrqd,bgkd->bgrqk", rows, k) / q.shape[-1] ** 0.5
    return (scores.softmax(-1) @ v.unsqueeze(2)).flatten(1, 2)


@grouped.mistake(breaks="are read where they are and in their own dtype")
def keys_widened(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """With half precision a tensor as large as k is made, and with float32 none. Perhaps k and v are made float32: here they are to be
    read as they are.
    """
    wide = torch.promote_types(q.dtype, torch.float32)
    return attention(folded(q, k).to(wide), k.to(wide), v.to(wide)).reshape(q.shape).to(q.dtype)


@grouped.mistake(breaks=WHERE)
def keys_copied_once(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """A tensor as large as k is made. Perhaps k is scaled, or its transpose is made contiguous: scale q, which is smaller, and
    multiply by the transpose as it is.
    """
    rows, scaled = folded(q, k), k / q.shape[-1] ** 0.5
    return ((rows @ scaled.transpose(-2, -1)).softmax(-1) @ v).reshape(q.shape)


@grouped.variant(keys_copied_once)
def _(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = folded(q, k) @ k.transpose(-2, -1).contiguous() / q.shape[-1] ** 0.5
    return (scores.softmax(-1) @ v).reshape(q.shape)


@grouped.mistake(breaks=RAISES)
def last_heads_dropped(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Where Hk does not divide Hq, nothing is raised. Perhaps Hq // Hk is rounded down, and the last heads are left out or look at keys
    of others.
    """
    size = max(1, q.shape[1] // k.shape[1])
    parts = [
        attention(q[:, h : h + 1], k[:, (at := h // size) : at + 1], v[:, at : at + 1])
        for h in range(q.shape[1])
    ]
    return torch.cat([part for part in parts if part.shape[1]], dim=1)


@grouped.mistake(breaks=RAISES)
def error_of_torch(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Where Hk does not divide Hq, RuntimeError is raised. Perhaps it comes from torch, and tells of shapes: ask for the heads before
    anything is computed, and raise ValueError.
    """
    return attention(q.reshape(q.shape[0], k.shape[1], -1, q.shape[3]), k, v).reshape(q.shape)


@grouped.mistake(breaks=RAISES)
def asserted(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """An assert raises AssertionError, and with python -O nothing. ValueError is asked for."""
    assert q.shape[1] % k.shape[1] == 0, "the heads cannot be shared evenly"
    return attention(folded(q, k), k, v).reshape(q.shape)


@grouped.mistake(breaks=RAISES)
def more_keys_than_queries(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Nothing is raised where there are more heads of keys than of queries. Perhaps the question is whether Hq divides Hk, or either the other."""
    if q.shape[1] % k.shape[1] and k.shape[1] % q.shape[1]:
        raise ValueError("the heads cannot be shared evenly")
    if q.shape[1] < k.shape[1]:
        k, v = k[:, : q.shape[1]], v[:, : q.shape[1]]
    return attention(folded(q, k), k, v).reshape(q.shape)


@grouped.mistake(breaks="It calls no attention of torch's.")
def torchs_own(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """scaled_dot_product_attention with enable_gqa=True does all of it: this exercise builds what stands inside."""
    evenly(q, k)
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)


@grouped.variant(torchs_own)
def _(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(folded(q, k), k, v).reshape(q.shape)


@grouped.mistake(breaks=ALONE)
def q_scaled_in_place(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """An argument is edited, which belongs to the caller. Perhaps q is scaled in place, or through a reshape: of a contiguous
    tensor that is a view.
    """
    with torch.no_grad():
        q /= q.shape[-1] ** 0.5
    return ((folded(q, k) @ k.transpose(-2, -1)).softmax(-1) @ v).reshape(q.shape)


@grouped.variant(q_scaled_in_place)
def _(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    rows = folded(q, k)
    if q.requires_grad:
        return attention(rows, k, v).reshape(q.shape)
    rows /= q.shape[-1] ** 0.5
    return ((rows @ k.transpose(-2, -1)).softmax(-1) @ v).reshape(q.shape)
