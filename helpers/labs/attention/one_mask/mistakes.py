"""What people write for 13.one_mask, and why it is wrong."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

import torch
from torch import Tensor

from helpers.labs.attention.one_mask.exercise import one_mask
from helpers.labs.attention.one_mask.right import early, masked, together

NONE = "None where `causal` is False and nothing else is given."
TENSOR = "Else a tensor that broadcasts to (B, H, Lq, Lk)."
BOOL = "The tensor is bool, True where a query may look, unless `blocked` is floating."
ROWS = "If bool, True where the query of the row may not look at the key of the column."
LAST = "Then Lq is at most Lk, and the queries are the last Lq of the Lk positions."
NOTHING_BLOCKS = (
    "A query may look at a key if nothing blocks it: neither `padding` nor `blocked`, nor, if `causal`, that the key "
    "is later than the query."
)
DTYPE = "With a floating `blocked` it has the dtype of q"
MINUS_INF = "what is added to the scores, and -inf where a query may not look"
ADDED = "If floating, it is added to the scores."
SIZE = (
    "It is no larger than it must be in heads and batch: the dimension of the heads is 1 or missing, and without "
    "`padding` that of the batch, too."
)
STAY = "The arguments stay as they were."


# Nothing, or all.


@one_mask.mistake(breaks=NONE)
def all_true(*args: Any) -> Tensor | None:
    """Nothing blocks, and a mask is made all the same. It takes memory of Lq x Lk, and a kernel that knows no masks is out."""
    return masked(*args, none=lambda q, k: torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool))


@one_mask.variant(all_true)
def _(*args: Any) -> Tensor | None:
    return masked(*args, none=lambda q, k: torch.zeros(q.shape[-2], k.shape[-2], dtype=q.dtype))


# Padding.


@one_mask.mistake(breaks=BOOL)
def padding_inverted(*args: Any) -> Tensor | None:
    """Queries look at the padding, and at nothing else: the module's True is "padding", SDPA's True is "may look"."""
    return masked(*args, real=lambda padding: padding[:, None, None, :])


@one_mask.variant(padding_inverted)
def _(*args: Any) -> Tensor | None:
    return masked(*args, real=lambda padding: padding.unsqueeze(1).unsqueeze(2) == True)  # noqa: E712


@one_mask.mistake(breaks=NOTHING_BLOCKS)
def padding_forgotten(*args: Any) -> Tensor | None:
    """With padding alone there is no mask, and each query looks at it."""
    q, k, causal, padding, blocked = (*args, False, None, None)[:5]
    return masked(q, k, causal, None, blocked)


@one_mask.mistake(breaks=TENSOR)
def padding_of_two_dimensions(*args: Any) -> Tensor | None:
    """The mask keeps the shape of padding, (B, Lk), and SDPA reads B as the queries: it raises, or, if B is Lq, blocks for the
    wrong samples. It must be (B, 1, 1, Lk).
    """
    return masked(*args, real=lambda padding: ~padding)


@one_mask.mistake(breaks=TENSOR)
def padding_without_heads(*args: Any) -> Tensor | None:
    """The mask has three dimensions, with B where SDPA looks for the heads: it raises, or, if B is H, blocks for the wrong
    samples. It must be (B, 1, 1, Lk).
    """
    return masked(*args, real=lambda padding: ~padding[:, None, :])


@one_mask.mistake(breaks=TENSOR)
def padding_of_queries(*args: Any) -> Tensor | None:
    """The padding stands where the queries are, at dimension 2: it is to say which keys are out, at the last dimension."""
    return masked(*args, real=lambda padding: ~padding[:, None, :, None])


@one_mask.mistake(breaks=BOOL)
def numbers_for_bool(*args: Any) -> Tensor | None:
    """The mask is floating where bool is asked for: 0 and -inf are what is added, and say the same in four times the memory
    or more; or 0 and 1, which block nothing, since SDPA adds them.
    """

    def last(mask: Tensor, q: Tensor, k: Tensor) -> Tensor:
        return mask if mask.is_floating_point() else torch.zeros(mask.shape).masked_fill(~mask, float("-inf"))

    return masked(*args, last=last)


@one_mask.variant(numbers_for_bool)
def _(*args: Any) -> Tensor | None:
    return masked(*args, last=lambda mask, q, k: mask if mask.is_floating_point() else mask.to(q.dtype))


@one_mask.mistake(breaks=TENSOR)
def none_without_padding(*args: Any) -> Tensor | None:
    """Where padding is given and holds no True, None came back. None is for calls in which nothing was given; and to look at the
    values of a tensor makes a GPU wait.
    """
    q, k, causal, padding, blocked = (*args, False, None, None)[:5]
    return masked(q, k, causal, padding if padding is not None and padding.any() else None, blocked)


@one_mask.mistake(breaks=STAY)
def turned_in_place(*args: Any) -> Tensor | None:
    """`padding` was edited in place: the next layer gets a different one. Perhaps it was turned round by an operation whose name ends
    in _, or by `out=`.
    """
    return masked(*args, real=lambda padding: padding.logical_not_()[:, None, None, :])


@one_mask.mistake(breaks=NOTHING_BLOCKS)
def padding_at_the_end(*args: Any) -> Tensor | None:
    """Padding is taken to be at the end of a sample: so many keys as are real were let through from the first on, and the real ones
    behind a gap are blocked. It may be anywhere, in front, too.
    """

    def real(padding: Tensor) -> Tensor:
        return (torch.arange(padding.shape[1]) < (~padding).sum(1, keepdim=True))[:, None, None]

    return masked(*args, real=real)


# blocked.


@one_mask.mistake(breaks=ROWS)
def blocked_inverted(*args: Any) -> Tensor | None:
    """With `blocked` alone, queries look at just what it blocks: the module's True is "may not look", SDPA's is "may"."""
    return masked(*args, seen=lambda blocked: blocked)


@one_mask.mistake(breaks=ROWS)
def blocked_transposed(*args: Any) -> Tensor | None:
    """Rows and columns of `blocked` are exchanged: the rows are the queries, in both conventions."""
    return masked(*args, seen=lambda blocked: ~blocked.T)


@one_mask.mistake(breaks=NOTHING_BLOCKS)
def blocked_forgotten(*args: Any) -> Tensor | None:
    """With a bool `blocked` alone there is no mask, and it blocks nothing."""
    q, k, causal, padding, blocked = (*args, False, None, None)[:5]
    return masked(
        q, k, causal, padding, None if blocked is not None and blocked.dtype == torch.bool else blocked
    )


@one_mask.mistake(breaks=TENSOR)
def none_without_blocked(*args: Any) -> Tensor | None:
    """Where a bool `blocked` is given and holds no True, None came back. None is for calls in which nothing was given; and to look
    at the values of a tensor makes a GPU wait.
    """
    q, k, causal, padding, blocked = (*args, False, None, None)[:5]
    return masked(q, k, causal, padding, blocked if blocked is not None and blocked.any() else None)


# Time.


@one_mask.mistake(breaks=NOTHING_BLOCKS)
def sees_the_future(*args: Any) -> Tensor | None:
    """A query sees later keys, and none before it: the upper triangle was kept, where the lower one is what may be seen."""
    return masked(*args, early=lambda q, k: ~early(q, k))


@one_mask.variant(sees_the_future)
def _(*args: Any) -> Tensor | None:
    def later(q: Tensor, k: Tensor) -> Tensor:
        return torch.triu(torch.ones(q.shape[-2], k.shape[-2]), 1 + k.shape[-2] - q.shape[-2]).bool()

    return masked(*args, early=later)


@one_mask.mistake(breaks=NOTHING_BLOCKS)
def upper_triangle_with_itself(*args: Any) -> Tensor | None:
    """A query sees itself and later keys: the upper triangle with its diagonal was kept. The past is the lower one."""
    return masked(*args, early=lambda q, k: torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).triu())


@one_mask.mistake(breaks=NOTHING_BLOCKS)
def blind_to_itself(*args: Any) -> Tensor | None:
    """A query does not see its own position, and the first one sees nothing: the diagonal is blocked, too. Blocked is
    triu(1), not triu(0).
    """
    return masked(*args, early=lambda q, k: early(q, k).tril(k.shape[-2] - q.shape[-2] - 1))


@one_mask.variant(blind_to_itself)
def _(*args: Any) -> Tensor | None:
    def before(q: Tensor, k: Tensor) -> Tensor:
        query = torch.arange(k.shape[-2] - q.shape[-2], k.shape[-2])
        return torch.arange(k.shape[-2]) < query[:, None]

    return masked(*args, early=before)


@one_mask.mistake(breaks=NOTHING_BLOCKS)
def one_key_too_many(*args: Any) -> Tensor | None:
    """A query sees the position behind its own: the diagonal is one too far to the right, and the next token is no secret."""
    return masked(
        *args,
        early=lambda q, k: torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril(
            k.shape[-2] - q.shape[-2] + 1
        ),
    )


@one_mask.mistake(breaks=NOTHING_BLOCKS)
def causal_forgotten(*args: Any) -> Tensor | None:
    """`causal` alone gives no mask: each query sees the future."""
    return masked(*args[:2], False, *args[3:])


@one_mask.mistake(breaks=LAST)
def top_left(*args: Any) -> Tensor | None:
    """With fewer queries than keys, the first query sees the first key alone: the triangle begins at the top left, as that of
    `is_causal=True`. The queries are the last positions: tril(Lk - Lq).
    """
    return masked(*args, early=lambda q, k: torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril())


@one_mask.mistake(breaks=LAST)
def diagonal_the_wrong_way(*args: Any) -> Tensor | None:
    """With fewer queries than keys, the first queries see nothing: the diagonal was moved by Lq - Lk, to the left."""
    return masked(
        *args,
        early=lambda q, k: torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril(
            q.shape[-2] - k.shape[-2]
        ),
    )


@one_mask.mistake(breaks=TENSOR)
def square(*args: Any) -> Tensor | None:
    """The causal mask is square, and there are fewer queries than keys. Perhaps q.shape[-2] or k.shape[-2] stands for both."""
    return masked(*args, early=lambda q, k: torch.ones(k.shape[-2], k.shape[-2], dtype=torch.bool).tril())


@one_mask.mistake(breaks=TENSOR)
def none_for_one_query(*args: Any) -> Tensor | None:
    """Where `causal` blocks nothing, with one query, None came back. SDPA would do the same with it; asked for is a tensor,
    whenever something is given.
    """
    if args[0].shape[-2] == 1:
        return masked(*args[:2], False, *args[3:])
    return masked(*args)


# Together.


@one_mask.mistake(breaks=NOTHING_BLOCKS)
def or_for_and(*args: Any) -> Tensor | None:
    """With `causal` and padding, a key is blocked only where both block it. Perhaps what may be seen was put together by |: it
    takes &.
    """
    return masked(*args, together=lambda masks: reduce(or_, masks))


@one_mask.mistake(breaks=NOTHING_BLOCKS)
def the_first_alone(*args: Any) -> Tensor | None:
    """With `causal` and padding, padding has no effect. Perhaps what blocks first is returned, or the rest stands in an `elif`."""
    return masked(*args, together=lambda masks: masks[0])


@one_mask.mistake(breaks=NOTHING_BLOCKS)
def the_last_alone(*args: Any) -> Tensor | None:
    """With `causal` and padding, `causal` has no effect. Perhaps the mask of padding takes the place of the one before it, or `causal`
    stands in an `elif`.
    """
    return masked(*args, together=lambda masks: masks[-1])


@one_mask.mistake(breaks=NOTHING_BLOCKS)
def causal_for_blocked(*args: Any) -> Tensor | None:
    """`causal` has no effect beside a `blocked` of bool. Perhaps it is taken for a hint about `blocked`, as the module does."""
    q, k, causal, padding, blocked = (*args, False, None, None)[:5]
    return masked(q, k, causal and blocked is None, padding, blocked)


@one_mask.mistake(breaks=NOTHING_BLOCKS)
def blocked_for_padding(*args: Any) -> Tensor | None:
    """Padding has no effect beside a `blocked` of bool, though it has alone and beside `causal`."""
    q, k, causal, padding, blocked = (*args, False, None, None)[:5]
    return masked(q, k, causal, padding if blocked is None else None, blocked)


@one_mask.variant(or_for_and)
def _(*args: Any) -> Tensor | None:
    return masked(*args, together=lambda masks: ~together([~mask for mask in masks]))


@one_mask.mistake(breaks=NOTHING_BLOCKS)
def or_for_the_third(*args: Any) -> Tensor | None:
    """Any two block as they should, and of all three, padding and `blocked` block only together. Perhaps an | stands between
    them.
    """
    return masked(
        *args, together=lambda masks: together(masks) if len(masks) < 3 else masks[0] & (masks[1] | masks[2])
    )


@one_mask.mistake(breaks=STAY)
def joined_in_place(*args: Any) -> Tensor | None:
    """`blocked` was edited in place: the next layer gets what blocks here, too. Perhaps the others were joined to it by `|=`."""
    q, k, causal, padding, blocked = (*args, False, None, None)[:5]
    if causal and blocked is not None and blocked.dtype == torch.bool:
        blocked |= ~early(q, k)
    return masked(q, k, causal, padding, blocked)


# A query that may look nowhere.


@one_mask.mistake(breaks=NOTHING_BLOCKS)
def opened_where_nothing_is_left(*args: Any) -> Tensor | None:
    """A query from which all keys are blocked looks at all of them: the row was opened. Perhaps that is to save the softmax from NaN;
    it lets padding in. What such a row gives is for attention to say: SDPA gives 0.
    """

    def last(mask: Tensor, q: Tensor, k: Tensor) -> Tensor:
        if mask.dtype == torch.bool:
            return mask | ~mask.any(-1, keepdim=True)
        return mask.masked_fill((mask == float("-inf")).all(-1, keepdim=True), 0.0)

    return masked(*args, last=last)


@one_mask.mistake(breaks=NOTHING_BLOCKS)
def first_key_opened(*args: Any) -> Tensor | None:
    """A query from which all keys are blocked looks at the first one. Perhaps it was opened to save the softmax from NaN; what such
    a row gives is for attention to say: SDPA gives 0.
    """

    def last(mask: Tensor, q: Tensor, k: Tensor) -> Tensor:
        first = torch.arange(mask.shape[-1]) == 0
        if mask.dtype == torch.bool:
            return mask | (first & ~mask.any(-1, keepdim=True))
        return mask.masked_fill(first & (mask == float("-inf")).all(-1, keepdim=True), 0.0)

    return masked(*args, last=last)


@one_mask.mistake(breaks=MINUS_INF)
def opened_in_numbers_alone(*args: Any) -> Tensor | None:
    """In a floating mask, a row of -inf alone became numbers, and the query looks at what is blocked; in a bool mask it stays
    closed. Perhaps the softmax was to be saved from NaN.
    """

    def last(mask: Tensor, q: Tensor, k: Tensor) -> Tensor:
        return (
            mask
            if mask.dtype == torch.bool
            else mask.masked_fill((mask == float("-inf")).all(-1, keepdim=True), 0.0)
        )

    return masked(*args, last=last)


# Numbers.


@one_mask.mistake(breaks=ADDED)
def numbers_taken_for_bool(*args: Any) -> Tensor | None:
    """A floating `blocked` alone gave a bool mask: what it holds besides 0 and -inf is lost, a slope or a learnt distance."""
    q, k, causal, padding, blocked = (*args, False, None, None)[:5]
    return masked(q, k, causal, padding, None if blocked is None else blocked.bool())


@one_mask.variant(numbers_taken_for_bool)
def _(*args: Any) -> Tensor | None:
    q, k, causal, padding, blocked = (*args, False, None, None)[:5]
    if blocked is not None and blocked.is_floating_point():
        blocked = blocked == float("-inf")
    return masked(q, k, causal, padding, blocked)


@one_mask.mistake(breaks=ADDED)
def numbers_turned_round(*args: Any) -> Tensor | None:
    """The numbers of a floating `blocked` came with the other sign: -inf became inf. Both conventions add them as they are; only
    bool is turned round.
    """
    return masked(*args, added=lambda blocked, q: -blocked.to(q.dtype))


@one_mask.mistake(breaks=ADDED)
def numbers_forgotten(*args: Any) -> Tensor | None:
    """A floating `blocked` alone gives no mask: it has no effect. Perhaps only a bool one is used."""
    q, k, causal, padding, blocked = (*args, False, None, None)[:5]
    return masked(
        q, k, causal, padding, blocked if blocked is not None and blocked.dtype == torch.bool else None
    )


@one_mask.mistake(breaks=ADDED)
def zero_where_numbers(*args: Any) -> Tensor | None:
    """Of a floating `blocked` only -inf is kept; all other numbers became 0, and are not added."""
    return masked(
        *args, added=lambda blocked, q: torch.where(blocked == float("-inf"), blocked, 0.0).to(q.dtype)
    )


@one_mask.mistake(breaks=DTYPE)
def dtype_of_blocked(*args: Any) -> Tensor | None:
    """The mask has the dtype of `blocked`, not that of q. SDPA raises for most pairs that differ; float32 it may take beside any q."""
    return masked(*args, added=lambda blocked, q: blocked)


@one_mask.mistake(breaks=MINUS_INF)
def bool_added(*args: Any) -> Tensor | None:
    """Beside a floating `blocked`, what `causal` leaves to a query has 1 more, and what it blocks is not out. Perhaps the bool mask
    was added: True as 1, False as 0.
    """
    return masked(*args, shut=lambda numbers, allowed: numbers + allowed.to(numbers.dtype))


@one_mask.mistake(breaks=MINUS_INF)
def zero_for_minus_inf(*args: Any) -> Tensor | None:
    """Where `causal` blocks, a floating mask holds 0: 0 is added, and the key is seen. Only -inf is out."""
    return masked(*args, shut=lambda numbers, allowed: torch.where(allowed, numbers, 0.0))


@one_mask.mistake(breaks=MINUS_INF)
def numbers_multiplied(*args: Any) -> Tensor | None:
    """Where `causal` blocks, a floating mask holds 0, which lets the query look, and NaN where `blocked` has -inf. Perhaps the
    numbers were multiplied by what may be seen.
    """
    return masked(*args, shut=lambda numbers, allowed: numbers * allowed)


@one_mask.mistake(breaks=MINUS_INF)
def large_negative_number(*args: Any) -> Tensor | None:
    """Where `causal` blocks, a floating mask holds a large negative number, not -inf: a row with nothing else to look at shares its
    weight among what is blocked.
    """
    return masked(
        *args, shut=lambda numbers, allowed: numbers.masked_fill(~allowed, torch.finfo(numbers.dtype).min)
    )


@one_mask.mistake(breaks=MINUS_INF)
def infinity_times_mask(*args: Any) -> Tensor | None:
    """The mask holds NaN: 0 * -inf is NaN. Perhaps what is blocked was multiplied by -inf."""
    return masked(*args, shut=lambda numbers, allowed: numbers + ~allowed * float("-inf"))


@one_mask.variant(infinity_times_mask)
def _(*args: Any) -> Tensor | None:
    return masked(*args, added=lambda blocked, q: blocked.to(q.dtype) + torch.zeros(()) * float("-inf"))


@one_mask.mistake(breaks=STAY)
def numbers_filled_in_place(*args: Any) -> Tensor | None:
    """A floating `blocked` was edited in place: the next layer gets what blocks here, too. Perhaps by `masked_fill_` or by an
    assignment: `.to(q.dtype)` makes no copy where it has that dtype.
    """

    def shut(numbers: Tensor, allowed: Tensor) -> Tensor:
        fits = allowed.ndim == 2
        return (numbers.masked_fill_ if fits else numbers.masked_fill)(~allowed, float("-inf"))

    return masked(*args, shut=shut)


@one_mask.mistake(breaks=MINUS_INF)
def shut_the_wrong_way(*args: Any) -> Tensor | None:
    """Beside a floating `blocked`, -inf stands where `causal` lets a query look, and numbers where it does not."""
    return masked(*args, shut=lambda numbers, allowed: numbers.masked_fill(allowed, float("-inf")))


@one_mask.mistake(breaks=MINUS_INF)
def numbers_alone(*args: Any) -> Tensor | None:
    """Beside a floating `blocked`, `causal` has no effect. Perhaps the numbers are returned as they are."""
    return masked(*args, shut=lambda numbers, allowed: numbers)


@one_mask.mistake(breaks=MINUS_INF)
def numbers_lost_beside_others(*args: Any) -> Tensor | None:
    """Beside `causal` the numbers of a floating `blocked` are lost: the mask holds 0 and -inf alone."""
    return masked(
        *args,
        shut=lambda numbers, allowed: torch.zeros_like(numbers).masked_fill(
            ~allowed | (numbers == float("-inf")), float("-inf")
        ),
    )


@one_mask.mistake(breaks=DTYPE)
def float32_beside_others(*args: Any) -> Tensor | None:
    """Alone a floating `blocked` gets the dtype of q; beside others the mask is float32, or wider than q. Perhaps a float32
    tensor of 0 and -inf was added.
    """

    def shut(numbers: Tensor, allowed: Tensor) -> Tensor:
        return numbers.float() + torch.zeros(allowed.shape).masked_fill(~allowed, float("-inf"))

    return masked(*args, shut=shut)


# Sizes.


@one_mask.mistake(breaks=SIZE)
def one_for_each_head(*args: Any) -> Tensor | None:
    """The mask is written out for each head and, where none is padding, for each sample: many times the numbers, for the same answer.
    SDPA broadcasts.
    """
    return masked(*args, last=lambda mask, q, k: mask.expand(*q.shape[:3], k.shape[2]).clone())


@one_mask.variant(one_for_each_head)
def _(*args: Any) -> Tensor | None:
    return masked(*args, last=lambda mask, q, k: mask.expand(*q.shape[:3], k.shape[2]))


@one_mask.mistake(breaks=SIZE)
def heads_written_out(*args: Any) -> Tensor | None:
    """The mask is written out for the heads: H times the memory, for the same answer. SDPA broadcasts."""
    return masked(
        *args, last=lambda mask, q, k: mask.expand(mask.shape[0] if mask.ndim > 2 else 1, q.shape[1], -1, -1)
    )


@one_mask.mistake(breaks=SIZE)
def one_for_each_sample(*args: Any) -> Tensor | None:
    """Without padding the mask is written out for the batch: B times the memory, for the same answer. SDPA broadcasts."""
    return masked(*args, last=lambda mask, q, k: mask.expand(q.shape[0], 1, -1, -1))
