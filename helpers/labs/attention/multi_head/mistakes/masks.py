"""What people write for 13.multi_head: what is blocked, types, sizes and gradients."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.labs.attention.multi_head.exercise import multi_head
from helpers.labs.attention.multi_head.right import attention, score

AS_TORCH = "Self-attention with several heads, as `nn.MultiheadAttention(E, heads, batch_first=True)` has it."
SHAPE = "Shape (B, T, E), dtype of x."
MINUS_INF = "A blocked score becomes -inf before the softmax, so that its weight is 0."
NOWHERE = "A position that may look nowhere gets 0 from each head, and no gradient becomes NaN."
GRADIENTS = "x and the four weights get the gradients that they get through torch's module."


# What is blocked.


@multi_head.mistake(breaks=MINUS_INF)
def blocked_ignored(*args: Any) -> Tensor:
    """`blocked` has no effect: each position looks at all, at the future, too."""
    return attention(*args[:6])


@multi_head.mistake(breaks="True where the position of the row may not look at that of the column")
def blocked_inverted(*args: Any) -> Tensor:
    """Positions look at just what is blocked. Perhaps True was taken for "may look": so F.scaled_dot_product_attention reads a mask;
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
    """With any `blocked` the future is blocked, and nothing else. Perhaps a causal mask was made, and the one that was given not used."""
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
    """A position from which anything is blocked gets NaN. Perhaps the blocked scores became inf, without the minus."""
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


@multi_head.mistake(breaks="The arguments stay as they were.")
def rows_of_blocked_opened(*args: Any) -> Tensor:
    """`blocked` was edited in place: the next layer gets a different mask. Perhaps rows in which all is blocked were opened, to avoid
    NaN: such a row is to give 0, and `blocked` belongs to the caller.
    """
    if len(args) > 6 and args[6] is not None:
        args[6][args[6].all(-1)] = False
    return attention(*args)


# Types.


@multi_head.mistake(breaks=SHAPE)
def float32_throughout(*args: Any) -> Tensor:
    """With float64 the result is float32: it has not the dtype of x. Perhaps everything is computed in float32."""
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
    """With float16 or bfloat16 a product raises: one factor has become float32. Perhaps a mask of that type was added to the
    scores.
    """

    def block(scores: Tensor, blocked: Tensor) -> Tensor:
        return scores + torch.zeros(blocked.shape).masked_fill(blocked, float("-inf"))

    return attention(*args, block=block)


# Sizes.


@multi_head.mistake(breaks=MINUS_INF)
def large_negative_number(*args: Any) -> Tensor:
    """A blocked position is seen where the other scores are lower still. Perhaps its score became a large negative number: -inf is
    lower than all.
    """
    return attention(
        *args,
        block=lambda scores, blocked: scores.masked_fill(blocked, -6e4),
        clear=lambda weights, blocked: weights.masked_fill(blocked.all(1)[:, None], 0.0),
    )


@multi_head.mistake(breaks=MINUS_INF)
def large_negative_and_cleared(*args: Any) -> Tensor:
    """Where all other scores are far below 0, a position with blocked ones looks at nothing. Perhaps a blocked score became -10,000, or
    -1e9, which is the largest then and takes all weight, and that weight was set to 0 afterwards: -inf takes none.
    """
    return attention(*args, block=lambda scores, blocked: scores.masked_fill(blocked, -1e4))


@multi_head.variant(large_negative_and_cleared)
def _(*args: Any) -> Tensor:
    return attention(*args, block=lambda scores, blocked: scores.masked_fill(blocked, -6e4))


@multi_head.mistake(breaks=AS_TORCH)
def exponents_overflow(*args: Any) -> Tensor:
    """Scores far from 0 give NaN. Perhaps their exp is taken as they are: it overflows, or gives 0 for all of a row. A softmax takes
    the largest score of each row away first.
    """

    def weigh(scores: Tensor) -> Tensor:
        weights = scores.exp()
        return weights / weights.sum(-1, keepdim=True)

    return attention(*args, weigh=weigh)


@multi_head.mistake(breaks=MINUS_INF)
def blocked_after_softmax_and_normalised(*args: Any) -> Tensor:
    """The result is wrong where a blocked score is far above the others. Perhaps the softmax took all weight for it, and what is left
    for them is 0: block before the softmax.
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
    """The values get no gradient. Perhaps they were detached before they were summed."""
    return attention(*args, gather=lambda weights, v: weights @ v.detach())


@multi_head.mistake(breaks=GRADIENTS)
def bias_taken_by_data(*args: Any) -> Tensor:
    """in_b gets no gradient: the biases of queries, keys and values learn nothing, and all else does. Perhaps it was read by `.data` or
    `.detach()`.
    """
    return attention(
        *args, project=lambda x, in_w, in_b, heads: F.linear(x, in_w, in_b.detach()).chunk(3, dim=-1)
    )


@multi_head.mistake(breaks=GRADIENTS)
def weights_taken_by_data(*args: Any) -> Tensor:
    """The input projection gets no gradient: only x and the output projection learn. Perhaps its weights were read by `.data` or
    `.detach()`.
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
