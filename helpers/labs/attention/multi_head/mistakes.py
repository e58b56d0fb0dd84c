"""What people write for 13.multi_head, and why it is wrong."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.labs.attention.multi_head.exercise import multi_head
from helpers.labs.attention.multi_head.right import attention, score, split

OWN = "It calls no attention of torch's, neither the module nor a function of `torch.nn.functional`."
AS_TORCH = "Self-attention with several heads, as `nn.MultiheadAttention(E, heads, batch_first=True)` has it."
SHAPE = "Shape (B, T, E), dtype of x."
SLICE = "Head h has the features h * D to (h + 1) * D - 1 of queries, keys and values, with D = E / H"
SCALE = "The scores of a head are divided by sqrt(D)."
PLACE = "its result goes to the same place before the output projection"
MINUS_INF = "A blocked score becomes -inf before the softmax, so that its weight is 0."
NOWHERE = "A position that may look nowhere gets 0 from each head, and no gradient becomes NaN."
GRADIENTS = "x and the four weights get the gradients that they get through torch's module."
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
    """The softmax ran over dimension 1, the heads: with one head each weight is 1, and all positions get the same sum."""
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
    """An argument was edited in place: the next call starts from different weights. Perhaps the division by sqrt(D) was put into
    in_w and in_b.
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


@multi_head.mistake(breaks=AS_TORCH)
def only_contiguous(*args: Any) -> Tensor:
    """`view` refuses an x that is not contiguous, a transposed one, for example. `reshape`, `flatten` or F.linear take any."""
    return attention(
        *args,
        project=lambda x, in_w, in_b, heads: (
            F.linear(x.view(-1, x.shape[-1]), in_w, in_b).view(*x.shape[:2], -1).chunk(3, dim=-1)
        ),
    )


# What is blocked.


@multi_head.mistake(breaks=MINUS_INF)
def blocked_ignored(*args: Any) -> Tensor:
    """`blocked` has no effect: each position looks at all, at the future, too."""
    return attention(*args[:6])


@multi_head.mistake(breaks="True where the position of the row may not look at that of the column")
def blocked_inverted(*args: Any) -> Tensor:
    """Positions look at just what is blocked: True was taken for "may look". So F.scaled_dot_product_attention reads a mask;
    the module reads it the other way.
    """
    return attention(*args[:6], *(~blocked for blocked in args[6:] if blocked is not None))


@multi_head.variant(blocked_inverted)
def _(*args: Any) -> Tensor:
    return attention(
        *args,
        block=lambda scores, blocked: scores.masked_fill(blocked == 0, float("-inf")),
        clear=lambda weights, blocked: weights.nan_to_num(),
    )


@multi_head.mistake(breaks="True where the position of the row may not look at that of the column")
def blocked_transposed(*args: Any) -> Tensor:
    """Rows and columns of `blocked` are exchanged: a row says what one query may not see."""
    return attention(*args[:6], *(blocked.T for blocked in args[6:] if blocked is not None))


@multi_head.mistake(breaks=MINUS_INF)
def always_causal(*args: Any) -> Tensor:
    """With any `blocked` the future is blocked, and nothing else: a causal mask was made, and the one that was given not used."""
    x, blocked = args[0], args[6:]
    future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
    return attention(*args[:6], *(future for each in blocked if each is not None))


@multi_head.mistake(breaks=MINUS_INF)
def blocked_after_softmax(*args: Any) -> Tensor:
    """The weights of a row do not sum to 1: the blocked ones were set to 0 after the softmax, which had given them their share."""
    return attention(*args, block=lambda scores, blocked: scores)


@multi_head.mistake(breaks=MINUS_INF)
def blocked_scores_zero(*args: Any) -> Tensor:
    """A blocked position still gets a weight: its score became 0, or nearly, and exp(0) is 1. Only -inf gives 0."""
    return attention(
        *args, block=lambda scores, blocked: scores * ~blocked, clear=lambda weights, blocked: weights
    )


@multi_head.variant(blocked_scores_zero)
def _(*args: Any) -> Tensor:
    return attention(
        *args,
        block=lambda scores, blocked: scores.masked_fill(blocked, -1e-9),
        clear=lambda weights, blocked: weights,
    )


@multi_head.mistake(breaks=MINUS_INF)
def one_added(*args: Any) -> Tensor:
    """A blocked position gets more weight than before, not less: True was added to its score as 1."""
    return attention(
        *args, block=lambda scores, blocked: scores + blocked, clear=lambda weights, blocked: weights
    )


@multi_head.mistake(breaks=MINUS_INF)
def one_subtracted(*args: Any) -> Tensor:
    """A blocked position still gets a weight: 1 was subtracted from its score, as by a mask of zeros and ones that is added.
    Only -inf gives 0.
    """
    return attention(
        *args,
        block=lambda scores, blocked: scores + (~blocked).to(scores.dtype),
        clear=lambda weights, blocked: weights,
    )


@multi_head.mistake(breaks=MINUS_INF)
def infinity_without_minus(*args: Any) -> Tensor:
    """The result is NaN, or the blocked positions alone are seen: their scores became inf, without the minus."""
    return attention(
        *args,
        block=lambda scores, blocked: scores.masked_fill(blocked, float("inf")),
        clear=lambda weights, blocked: weights,
    )


@multi_head.mistake(breaks=NOWHERE)
def infinity_times_mask(*args: Any) -> Tensor:
    """The result is NaN although each position may look somewhere: 0 * -inf is NaN. Perhaps -inf was multiplied by the mask."""
    return attention(*args, block=lambda scores, blocked: scores + blocked * float("-inf"))


# Positions that may look nowhere.


@multi_head.mistake(breaks=NOWHERE)
def nan_where_nothing_is_seen(*args: Any) -> Tensor:
    """A position that may look nowhere gets NaN: the softmax of a row of -inf is 0 / 0. Set the weights of what is blocked to 0
    after it.
    """
    return attention(*args, clear=lambda weights, blocked: weights)


@multi_head.mistake(breaks=NOWHERE)
def looks_at_all_instead(*args: Any) -> Tensor:
    """A position that may look nowhere gets the mean of all values: its scores became one large negative number, and equal scores
    share the weight. Set the weights of what is blocked to 0 after the softmax, too.
    """
    return attention(
        *args,
        block=lambda scores, blocked: scores.masked_fill(blocked, torch.finfo(scores.dtype).min),
        clear=lambda weights, blocked: weights,
    )


@multi_head.variant(looks_at_all_instead)
def _(*args: Any) -> Tensor:
    return attention(
        *args,
        block=lambda scores, blocked: scores.masked_fill(blocked, -1e9),
        clear=lambda weights, blocked: weights,
    )


@multi_head.mistake(breaks=NOWHERE)
def zero_after_the_projection(*args: Any) -> Tensor:
    """A position that may look nowhere gets 0 as its result. The heads give 0 there; the output projection comes after them, and
    adds its bias.
    """
    result = attention(*args)
    if len(args) < 7 or args[6] is None:
        return result
    return result.masked_fill(args[6].all(1)[:, None], 0.0)


@multi_head.variant(zero_after_the_projection)
def _(*args: Any) -> Tensor:
    result = attention(*args, clear=lambda weights, blocked: weights)
    return torch.where(result.isnan(), torch.zeros_like(result), result)


@multi_head.mistake(breaks=NOWHERE)
def looks_at_itself(*args: Any) -> Tensor:
    """A position that may look nowhere looks at itself: the diagonal was opened so that no row is empty. It is to get 0."""
    if len(args) < 7 or args[6] is None:
        return attention(*args)
    blocked = args[6].clone()
    empty = blocked.all(1)
    blocked[empty, empty] = False
    return attention(*args[:6], blocked & ~(torch.diag(empty)))


# Types.


@multi_head.mistake(breaks=SHAPE)
def float32_throughout(*args: Any) -> Tensor:
    """The result has not the dtype of x: everything was computed in float32, and returned so."""
    *tensors, heads = args[:6]
    return attention(*(each.float() for each in tensors), heads, *args[6:])


@multi_head.mistake(breaks=SHAPE)
def float32_inside(*args: Any) -> Tensor:
    """With float64 the last nine digits are lost: a step was computed in float32. Perhaps the softmax, `dtype=torch.float32`:
    that helps lower types, and harms float64.
    """
    return attention(*args, weigh=lambda scores: scores.softmax(-1, dtype=torch.float32).to(scores.dtype))


@multi_head.mistake(breaks=SHAPE)
def mask_of_float32(*args: Any) -> Tensor:
    """With float16 or bfloat16 a product raises: the scores have become float32. Perhaps a mask of that type was added."""

    def block(scores: Tensor, blocked: Tensor) -> Tensor:
        return scores + torch.zeros(blocked.shape).masked_fill(blocked, float("-inf"))

    return attention(*args, block=block)


# Sizes.


@multi_head.mistake(breaks=MINUS_INF)
def large_negative_number(*args: Any) -> Tensor:
    """A blocked position is seen where the other scores are lower still: its score became a large negative number. -inf is lower
    than all.
    """
    return attention(
        *args,
        block=lambda scores, blocked: scores.masked_fill(blocked, -6e4),
        clear=lambda weights, blocked: weights.masked_fill(blocked.all(1)[:, None], 0.0),
    )


@multi_head.mistake(breaks=AS_TORCH)
def exponents_overflow(*args: Any) -> Tensor:
    """Scores far from 0 give NaN: exp overflows, or gives 0 for all of a row. A softmax takes the largest score of each row away
    first."""

    def weigh(scores: Tensor) -> Tensor:
        weights = scores.exp()
        return weights / weights.sum(-1, keepdim=True)

    return attention(*args, weigh=weigh)


@multi_head.mistake(breaks=MINUS_INF)
def blocked_after_softmax_and_normalised(*args: Any) -> Tensor:
    """NaN, or lost digits, where a blocked score is far above the others: the softmax took all weight for it, and what is left for
    them is 0. Block before the softmax.
    """

    def clear(weights: Tensor, blocked: Tensor) -> Tensor:
        weights = weights.masked_fill(blocked, 0.0)
        return weights / weights.sum(-1, keepdim=True).clamp(min=1e-30)

    return attention(*args, block=lambda scores, blocked: scores, clear=clear)


# Gradients.


@multi_head.mistake(breaks=GRADIENTS)
def no_graph(*args: Any) -> Tensor:
    """The result does not require grad: no gradient reaches anything. Perhaps `torch.no_grad` or `detach` is around it all."""
    with torch.no_grad():
        return attention(*args)


@multi_head.mistake(breaks=GRADIENTS)
def weights_detached(*args: Any) -> Tensor:
    """Queries and keys get no gradient: the weights of attention were taken as constants, and nothing is learnt about where to
    look.
    """
    return attention(*args, weigh=lambda scores: scores.softmax(-1).detach())


@multi_head.variant(weights_detached)
def _(*args: Any) -> Tensor:
    return attention(*args, score=lambda q, k, heads: score(q, k, heads).detach())


@multi_head.mistake(breaks=GRADIENTS)
def values_detached(*args: Any) -> Tensor:
    """The values get no gradient: they were detached before they were summed."""
    return attention(*args, gather=lambda weights, v: weights @ v.detach())


@multi_head.mistake(breaks=GRADIENTS)
def weights_taken_by_data(*args: Any) -> Tensor:
    """The input projection gets no gradient: its weights were read by `.data` or `.detach()`, so that only x and the output
    projection learn.
    """
    return attention(
        *args, project=lambda x, in_w, in_b, heads: F.linear(x, in_w.data, in_b.data).chunk(3, dim=-1)
    )


@multi_head.mistake(breaks=NOWHERE)
def nan_in_the_gradient(*args: Any) -> Tensor:
    """The result is right, and gradients are NaN: NaN was taken out after it had been made, and backward meets it again on its
    way through the softmax or the sum. `masked_fill` before the softmax stops it there; adding -inf does not.
    """

    def block(scores: Tensor, blocked: Tensor) -> Tensor:
        return scores + torch.zeros_like(scores).masked_fill(blocked, float("-inf"))

    return attention(*args, block=block, clear=lambda weights, blocked: weights.nan_to_num(0.0))


@multi_head.variant(nan_in_the_gradient)
def _(*args: Any) -> Tensor:
    return attention(
        *args, clear=lambda weights, blocked: weights, gather=lambda weights, v: (weights @ v).nan_to_num(0.0)
    )
