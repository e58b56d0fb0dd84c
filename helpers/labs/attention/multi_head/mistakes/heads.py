"""What people write for 13.multi_head: projections, scores, heads and shapes."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.labs.attention.multi_head.exercise import multi_head
from helpers.labs.attention.multi_head.right import attention, score, split

OWN = (
    "It calls no attention of torch's: not `nn.MultiheadAttention`, not its "
    "function in `torch.nn.functional`, not `F.scaled_dot_product_attention`."
)
AS_TORCH = "Self-attention with several heads, as `nn.MultiheadAttention(E, heads, batch_first=True)` has it."
SHAPE = "Shape (B, T, E), dtype of x."
SLICE = "Head h has the features h * D to (h + 1) * D - 1 of queries, keys and values, with D = E / H"
SCALE = "The scores of a head are divided by sqrt(D)."
PLACE = "its result goes to the same place before the output projection"
STAY = "The arguments stay as they were."
PACKED = "the projections to queries, keys and values, one under the other"


# torch's own.


@multi_head.mistake(breaks=OWN)
def torchs_attention(*args: Any) -> Tensor:
    """Torch's own attention runs inside. It is what this exercise builds: the scores, the mask and the softmax are yours."""
    x, in_w, in_b, out_w, out_b, heads, blocked = (*args, None)[:7]
    x = x.transpose(0, 1)
    return F.multi_head_attention_forward(
        x,
        x,
        x,
        x.shape[-1],
        heads,
        in_w,
        in_b,
        None,
        None,
        False,
        0.0,
        out_w,
        out_b,
        need_weights=False,
        attn_mask=blocked,
    )[0].transpose(0, 1)


@multi_head.variant(torchs_attention)
def _(*args: Any) -> Tensor:
    x, in_w, in_b, out_w, out_b, heads, blocked = (*args, None)[:7]
    q, k, v = (split(part, heads) for part in F.linear(x, in_w, in_b).chunk(3, dim=-1))
    allowed = None if blocked is None else ~blocked
    result = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
    return F.linear(result.transpose(1, 2).flatten(2), out_w, out_b)


@multi_head.variant(torchs_attention)
def _(*args: Any) -> Tensor:
    x, in_w, in_b, out_w, out_b, heads, blocked = (*args, None)[:7]
    module = nn.MultiheadAttention(x.shape[-1], heads, batch_first=True, device="meta", dtype=x.dtype)
    weights = {"in_proj_weight": in_w, "in_proj_bias": in_b, "out_proj.weight": out_w, "out_proj.bias": out_b}
    module.load_state_dict(weights, assign=True)
    return module(x, x, x, attn_mask=blocked, need_weights=False)[0]


# The projections.


@multi_head.mistake(breaks=PACKED)
def keys_first(*args: Any) -> Tensor:
    """The result is that of queries and keys exchanged. Perhaps the parts of the packed projection were taken as keys, queries,
    values; or the scores are k @ q instead of q @ k, so that each position asks with its key.
    """

    def project(x: Tensor, in_w: Tensor, in_b: Tensor, heads: int) -> tuple[Tensor, ...]:
        k, q, v = F.linear(x, in_w, in_b).chunk(3, dim=-1)
        return q, k, v

    return attention(*args, project=project)


@multi_head.variant(keys_first)
def _(*args: Any) -> Tensor:
    return attention(*args, score=lambda q, k, heads: score(k, q, heads))


@multi_head.mistake(breaks=PACKED)
def values_first(*args: Any) -> Tensor:
    """The result is that of the packed parts in a different order: values were taken from the first third, where the queries
    are.
    """

    def project(x: Tensor, in_w: Tensor, in_b: Tensor, heads: int) -> tuple[Tensor, ...]:
        v, k, q = F.linear(x, in_w, in_b).chunk(3, dim=-1)
        return q, k, v

    return attention(*args, project=project)


@multi_head.mistake(breaks=PACKED)
def thirds_interleaved(*args: Any) -> Tensor:
    """Queries, keys and values are mixed: each third feature went to each of them. In in_w they lie in three blocks of E rows:
    the first E features are the queries.
    """

    def project(x: Tensor, in_w: Tensor, in_b: Tensor, heads: int) -> tuple[Tensor, ...]:
        return F.linear(x, in_w, in_b).unflatten(-1, (-1, 3)).unbind(-1)

    return attention(*args, project=project)


@multi_head.variant(thirds_interleaved)
def _(*args: Any) -> Tensor:
    def project(x: Tensor, in_w: Tensor, in_b: Tensor, heads: int) -> tuple[Tensor, ...]:
        packed = x @ in_w.T + in_b
        return packed[..., 0::3], packed[..., 1::3], packed[..., 2::3]

    return attention(*args, project=project)


@multi_head.mistake(breaks=AS_TORCH)
def in_w_not_transposed(*args: Any) -> Tensor:
    """Queries, keys and values come from in_w the wrong way round: `x @ part` takes its columns for what torch keeps in its
    rows. F.linear(x, w) is x @ w.T.
    """

    def project(x: Tensor, in_w: Tensor, in_b: Tensor, heads: int) -> tuple[Tensor, ...]:
        return tuple(x @ w + b for w, b in zip(in_w.chunk(3), in_b.chunk(3), strict=True))

    return attention(*args, project=project)


@multi_head.mistake(breaks=AS_TORCH)
def out_w_not_transposed(*args: Any) -> Tensor:
    """The output projection is the wrong way round: out_w is square, so `result @ out_w` runs, and gives different numbers.
    F.linear(x, w) is x @ w.T.
    """
    return attention(*args, out=lambda result, out_w, out_b: result @ out_w + out_b)


@multi_head.mistake(breaks=AS_TORCH)
def no_input_bias(*args: Any) -> Tensor:
    """The result is that of an in_b of zeros: the biases of queries, keys and values were forgotten."""
    return attention(*args, project=lambda x, in_w, in_b, heads: F.linear(x, in_w).chunk(3, dim=-1))


@multi_head.mistake(breaks=AS_TORCH)
def no_output_bias(*args: Any) -> Tensor:
    """The result lacks out_b, the bias of the output projection."""
    return attention(*args, out=lambda result, out_w, out_b: F.linear(result, out_w))


@multi_head.mistake(breaks=AS_TORCH)
def no_output_projection(*args: Any) -> Tensor:
    """What the heads gave was returned as it is: it never went through out_w and out_b, which mix the heads."""
    return attention(*args, out=lambda result, out_w, out_b: result)


@multi_head.mistake(breaks=AS_TORCH)
def adds_the_input(*args: Any) -> Tensor:
    """The result is x too much: the residual connection belongs to the layer around attention, not to attention."""
    return args[0] + attention(*args)


@multi_head.mistake(breaks=SHAPE)
def weights_too(*args: Any) -> Any:
    """Two things are returned. The module gives a pair, the result and the weights; here the result alone is asked for."""
    return attention(*args), None


# Scores and softmax.


@multi_head.mistake(breaks=SCALE)
def not_scaled(*args: Any) -> Tensor:
    """The scores are not divided by sqrt(D): they grow with the width of a head, and the softmax becomes too sharp."""
    return attention(*args, score=lambda q, k, heads: q @ k.transpose(-2, -1))


@multi_head.variant(not_scaled)
def _(*args: Any) -> Tensor:
    return attention(*args, score=lambda q, k, heads: torch.einsum("bhqd,bhkd->bhqk", q, k))


@multi_head.mistake(breaks=SCALE)
def divided_by_width(*args: Any) -> Tensor:
    """The scores are divided by D, not by its root: the softmax becomes too flat."""
    return attention(*args, score=lambda q, k, heads: q @ k.transpose(-2, -1) / q.shape[-1])


@multi_head.mistake(breaks=SCALE)
def scaled_twice(*args: Any) -> Tensor:
    """The scores are multiplied by sqrt(D) where they are to be divided by it."""
    return attention(*args, score=lambda q, k, heads: q @ k.transpose(-2, -1) * q.shape[-1] ** 0.5)


@multi_head.mistake(breaks=SCALE)
def divided_by_all_features(*args: Any) -> Tensor:
    """With several heads the scores are divided by sqrt(E). A score is a sum over the D features of one head: sqrt(D) keeps it
    at the size of one.
    """
    return attention(*args, score=lambda q, k, heads: q @ k.transpose(-2, -1) / (heads * q.shape[-1]) ** 0.5)


@multi_head.mistake(breaks=AS_TORCH)
def softmax_over_queries(*args: Any) -> Tensor:
    """The weights sum to 1 along the queries: the softmax ran over dimension -2. A row is a query, and its weights over the keys,
    along the last dimension, sum to 1.
    """
    return attention(*args, weigh=lambda scores: scores.softmax(-2))


@multi_head.mistake(breaks=AS_TORCH)
def softmax_over_heads(*args: Any) -> Tensor:
    """With one head each weight is 1, and all positions get the same sum. Perhaps the softmax ran over dimension 1, the heads."""
    return attention(*args, weigh=lambda scores: scores.softmax(1))


@multi_head.mistake(breaks=AS_TORCH)
def looks_across_the_batch(*args: Any) -> Tensor:
    """A position looks at the other samples of the batch, and at no other time: the first dimension was taken for time, as
    without batch_first=True.
    """
    x, *rest = args
    weights, (heads, *_) = rest[:4], rest[4:]
    return attention(x.transpose(0, 1), *weights, heads).transpose(0, 1)


@multi_head.mistake(breaks=AS_TORCH)
def dropout_on_the_weights(*args: Any) -> Tensor:
    """Numbers were drawn: dropout runs on the weights. The module's dropout is 0 unless it is asked for."""
    return attention(*args, weigh=lambda scores: F.dropout(scores.softmax(-1), 0.1))


@multi_head.mistake(breaks=STAY)
def scale_put_into_the_weights(*args: Any) -> Tensor:
    """in_w was edited in place: the next call starts from different weights. Perhaps the division by sqrt(D) was put into in_w
    and in_b.
    """
    x, in_w, in_b, _, _, heads = args[:6]
    features = x.shape[-1]
    in_w[:features] /= (features // heads) ** 0.5
    in_b[:features] /= (features // heads) ** 0.5
    return attention(*args, score=lambda q, k, heads: q @ k.transpose(-2, -1))


# Heads.


@multi_head.mistake(breaks=SLICE)
def split_by_view(*args: Any) -> Tensor:
    """A head has a piece of the time, not a slice of the features: a view to (B, H, T, D) cuts the rows of memory as they lie.
    First (B, T, H, D), then transpose(1, 2).
    """
    return attention(*args, split=lambda part, heads: part.reshape(len(part), heads, part.shape[1], -1))


@multi_head.mistake(breaks=PLACE)
def merged_by_view(*args: Any) -> Tensor:
    """The heads were put together without the transpose back: a reshape from (B, H, T, D) mixes times and heads. First
    transpose(1, 2), then flatten.
    """
    return attention(*args, merge=lambda result: result.reshape(len(result), result.shape[2], -1))


@multi_head.mistake(breaks=SLICE)
def both_by_view(*args: Any) -> Tensor:
    """A head has a piece of the time, not a slice of the features, on the way in and on the way out. Shapes fit, and a model even
    learns: positions that lie in one piece look at each other.
    """
    return attention(
        *args,
        split=lambda part, heads: part.reshape(len(part), heads, part.shape[1], -1),
        merge=lambda result: result.reshape(len(result), result.shape[2], -1),
    )


@multi_head.mistake(breaks=SLICE)
def every_hth_feature(*args: Any) -> Tensor:
    """A head has each H-th feature: the features were split as (D, H). They are to be split as (H, D), so that a head has
    D features side by side.
    """
    return attention(*args, split=lambda part, heads: part.unflatten(-1, (-1, heads)).permute(0, 3, 1, 2))


@multi_head.mistake(breaks=PLACE)
def heads_mixed_on_the_way_back(*args: Any) -> Tensor:
    """The result of a head does not go back to its slice: the features were put together as (D, H), each head in each H-th place."""
    return attention(*args, merge=lambda result: result.permute(0, 2, 3, 1).flatten(2))


@multi_head.mistake(breaks=SLICE)
def every_hth_feature_both_ways(*args: Any) -> Tensor:
    """A head has each H-th feature, on the way in and on the way out: the features were split and put together as (D, H), so that
    nothing looks mixed. They are to be split as (H, D): torch's weights know a head by D features side by side.
    """
    return attention(
        *args,
        split=lambda part, heads: part.unflatten(-1, (-1, heads)).permute(0, 3, 1, 2),
        merge=lambda result: result.permute(0, 2, 3, 1).flatten(2),
    )


@multi_head.mistake(breaks=SLICE)
def packed_by_head(*args: Any) -> Tensor:
    """With several heads, queries, keys and values come from the wrong rows of in_w: they were cut head by head, as (H, 3, D). In
    torch's module all queries stand first, those of all heads, then all keys.
    """

    def project(x: Tensor, in_w: Tensor, in_b: Tensor, heads: int) -> tuple[Tensor, ...]:
        by_head = F.linear(x, in_w, in_b).unflatten(-1, (heads, 3, -1))
        return tuple(by_head[..., part, :].flatten(-2) for part in range(3))

    return attention(*args, project=project)


@multi_head.mistake(breaks=SLICE)
def one_large_head(*args: Any) -> Tensor:
    """The result is that of one head: `heads` has no effect."""
    x, in_w, in_b, out_w, out_b, _, *blocked = args
    return attention(x, in_w, in_b, out_w, out_b, 1, *blocked)


# Shapes.


@multi_head.mistake(breaks=SHAPE)
def squeezed(*args: Any) -> Tensor:
    """Dimensions of size 1 are gone: a batch of one, or a single position, loses its dimension. Perhaps `squeeze()` was meant for
    one of them.
    """
    return attention(*args, out=lambda result, out_w, out_b: F.linear(result, out_w, out_b).squeeze())


@multi_head.mistake(breaks="floating, in any layout")
def only_contiguous(*args: Any) -> Tensor:
    """`view` refuses what is not contiguous, a transposed x or weight, for example. `reshape`, `flatten` or F.linear take any."""
    return attention(
        *args,
        project=lambda x, in_w, in_b, heads: (
            F.linear(x.view(-1, x.shape[-1]), in_w, in_b).view(*x.shape[:2], -1).chunk(3, dim=-1)
        ),
    )
