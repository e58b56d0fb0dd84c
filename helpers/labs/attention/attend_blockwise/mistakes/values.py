"""What people write for 13.attend_blockwise that gives wrong values, and why."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.labs.attention.attend_blockwise.exercise import FORMULA, attend_blockwise
from helpers.labs.attention.attend_blockwise.right import State, all_at_once, attend, begun, blocks, of_query

ANY_SIZE = "The result is right and finite for scores of any size, 10,000 or -10,000, in any order."
UNEVEN = "Lk need not be a multiple of it, and may be smaller."


# The formula.


@attend_blockwise.mistake(breaks=FORMULA)
def scale_forgotten(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """The scores are too large, by the factor sqrt(D): the weights of the best keys are too. Perhaps they are never divided."""
    return attend(q, k, v, block, scaled=lambda q: q)


@attend_blockwise.mistake(breaks=FORMULA)
def divided_by_width(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """The scores are too small: they are divided by D, not by its root."""
    return attend(q, k, v, block, scaled=lambda q: q / q.shape[-1])


@attend_blockwise.mistake(breaks=FORMULA)
def root_of_all_features(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """The scores are divided by the root of H * D, the width of the model. D is the width of one head."""
    return attend(q, k, v, block, scaled=lambda q: q / (q.shape[1] * q.shape[-1]) ** 0.5)


@attend_blockwise.mistake(breaks=FORMULA)
def root_of_length(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """The scores are divided by the root of the number of queries. D is the last size of q."""
    return attend(q, k, v, block, scaled=lambda q: q / q.shape[-2] ** 0.5)


@attend_blockwise.mistake(breaks=FORMULA)
def softmax_over_queries(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """The weights of one key add up to 1 over all queries. Those of one query must, over all keys: the last dimension of the scores."""
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    return scores.softmax(-2) @ v


@attend_blockwise.mistake(breaks=FORMULA)
def never_divided(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """The weights do not add up to 1: the weighted sum of values is returned as it is. At the end it is divided by the sum of
    the exponents.
    """
    return attend(q, k, v, block, ended=lambda total, result: result)


@attend_blockwise.mistake(breaks="with float64 they are float64")
def float32_for_all(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """With float64 the result is right in its first digits only. Perhaps float64 is made float32 on the way."""
    return attend(q, k, v, block, widened=lambda tensor: tensor.float())


@attend_blockwise.mistake(breaks=FORMULA)
def divisor_too_large(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """All numbers of a query are too small by one factor, which is nearly 1. Perhaps a small number is added to the sum by which all is
    divided: the sum is never 0 here.
    """
    return attend(q, k, v, block, ended=lambda total, result: result / (total + 1e-6))


@attend_blockwise.variant(divisor_too_large)
def _(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    return attend(q, k, v, block, ended=lambda total, result: result / (total + 1e-8))


@attend_blockwise.mistake(breaks="Shape and dtype of q.")
def begun_in_float32(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """The result is float32, and q is float64. Perhaps the result is written into torch.empty or torch.zeros without a dtype:
    that is torch's default.
    """
    result = torch.empty(q.shape)
    for head in range(q.shape[1]):
        part = slice(head, head + 1)
        result[:, part] = attend(q[:, part], k[:, part], v[:, part], block)
    return result


@attend_blockwise.mistake(breaks=FORMULA)
def head_dims_viewed(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """view raises, since q, k or v is not contiguous: a projection and a transpose give such tensors. flatten and reshape take
    them.
    """
    flat = [each.view(-1, *each.shape[-2:]) for each in (q, k, v)]
    return attend(*flat, block).view(q.shape)


# Blocks put together.


@attend_blockwise.mistake(breaks=FORMULA)
def softmax_of_each_block(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """The results of the blocks are added, each with weights that add up to 1: together they add up to the number of blocks."""
    result = torch.zeros_like(q)
    for keys, values in blocks(k, v, block):
        result = result + all_at_once(q, keys, values)
    return result


@attend_blockwise.mistake(breaks=FORMULA)
def mean_of_blocks(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """The result is the mean of the blocks' results: a block of low scores counts as much as one of high scores."""
    return torch.stack([all_at_once(q, *each) for each in blocks(k, v, block)]).mean(0)


@attend_blockwise.variant(mean_of_blocks)
def _(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    parts = list(blocks(k, v, block))
    return sum(all_at_once(q, *each) / len(parts) for each in parts)


@attend_blockwise.mistake(breaks=FORMULA)
def result_not_shrunk(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """Where a later block brings a larger score, the values before it weigh too much: the running result is not multiplied by
    exp(old largest - new largest), and the running sum is.
    """

    def merged(largest: Tensor, total: Tensor, result: Tensor, scores: Tensor, values: Tensor) -> State:
        above = torch.maximum(largest, of_query(scores))
        weights = (scores - above).exp()
        total = total * (largest - above).exp() + weights.sum(-1, keepdim=True)
        return above, total, result + weights @ values

    return attend(q, k, v, block, merged=merged)


@attend_blockwise.mistake(breaks=FORMULA)
def total_not_shrunk(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """Where a later block brings a larger score, the weights add up to less than 1: the running sum is not multiplied by
    exp(old largest - new largest), and the running result is.
    """

    def merged(largest: Tensor, total: Tensor, result: Tensor, scores: Tensor, values: Tensor) -> State:
        above = torch.maximum(largest, of_query(scores))
        weights = (scores - above).exp()
        return (
            above,
            total + weights.sum(-1, keepdim=True),
            result * (largest - above).exp() + weights @ values,
        )

    return attend(q, k, v, block, merged=merged)


@attend_blockwise.mistake(breaks=FORMULA)
def nothing_shrunk(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """Each block's exponents are taken below its own largest score, or the largest so far, and then added as they are. What was
    summed before must be multiplied by exp(old largest - new largest).
    """

    def merged(largest: Tensor, total: Tensor, result: Tensor, scores: Tensor, values: Tensor) -> State:
        above = torch.maximum(largest, of_query(scores))
        weights = (scores - above).exp()
        return above, total + weights.sum(-1, keepdim=True), result + weights @ values

    return attend(q, k, v, block, merged=merged)


@attend_blockwise.variant(nothing_shrunk)
def _(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    def merged(largest: Tensor, total: Tensor, result: Tensor, scores: Tensor, values: Tensor) -> State:
        weights = (scores - of_query(scores)).exp()
        return largest, total + weights.sum(-1, keepdim=True), result + weights @ values

    return attend(q, k, v, block, merged=merged)


@attend_blockwise.mistake(breaks=FORMULA)
def shrunk_the_wrong_way(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """The result is NaN already where all keys are one block. Perhaps what was summed so far, 0, is multiplied by exp(new largest -
    old largest), which is infinite there: the factor is exp(old largest - new largest).
    """

    def merged(largest: Tensor, total: Tensor, result: Tensor, scores: Tensor, values: Tensor) -> State:
        above = torch.maximum(largest, of_query(scores))
        weights, factor = (scores - above).exp(), (above - largest).exp()
        return above, total * factor + weights.sum(-1, keepdim=True), result * factor + weights @ values

    return attend(q, k, v, block, merged=merged)


@attend_blockwise.mistake(breaks=FORMULA)
def total_of_the_last_block(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """The weights add up to more than 1: the result of all blocks is divided by the sum of the last block's exponents alone."""

    def merged(largest: Tensor, total: Tensor, result: Tensor, scores: Tensor, values: Tensor) -> State:
        above = torch.maximum(largest, of_query(scores))
        weights = (scores - above).exp()
        return above, weights.sum(-1, keepdim=True), result * (largest - above).exp() + weights @ values

    return attend(q, k, v, block, merged=merged)


@attend_blockwise.mistake(breaks=FORMULA)
def divided_in_each_block(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """What was summed so far is divided by the sum of exponents in each block, and in later ones again. It is divided once, at
    the end, or multiplied by the old sum before a block is added.
    """

    def merged(largest: Tensor, total: Tensor, result: Tensor, scores: Tensor, values: Tensor) -> State:
        above = torch.maximum(largest, of_query(scores))
        weights, shrink = (scores - above).exp(), (largest - above).exp()
        total = total * shrink + weights.sum(-1, keepdim=True)
        return above, total, (result * shrink + weights @ values) / total

    return attend(q, k, v, block, merged=merged, ended=lambda total, result: result)


# The last block.


def whole_blocks(k: Tensor, v: Tensor, block: int) -> Iterator[tuple[Tensor, Tensor]]:
    for start in range(0, k.shape[-2] - block + 1, block):
        yield k[..., start : start + block, :], v[..., start : start + block, :]


@attend_blockwise.mistake(breaks=UNEVEN)
def last_block_dropped(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """The keys behind the last whole block are left out: nobody looks at them. Perhaps the number of blocks is Lk // block."""
    return attend(q, k, v, block, blocks=whole_blocks)


def shifted_back(k: Tensor, v: Tensor, block: int) -> Iterator[tuple[Tensor, Tensor]]:
    for start in range(0, k.shape[-2], block):
        start = max(0, min(start, k.shape[-2] - block))
        yield k[..., start : start + block, :], v[..., start : start + block, :]


@attend_blockwise.mistake(breaks=UNEVEN)
def last_block_shifted_back(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """Some keys count twice: the last block begins early enough to be whole, and so it overlaps the one before it."""
    return attend(q, k, v, block, blocks=shifted_back)


def padded(k: Tensor, v: Tensor, block: int) -> Iterator[tuple[Tensor, Tensor]]:
    for keys, values in blocks(k, v, block):
        missing = (0, 0, 0, block - keys.shape[-2])
        yield F.pad(keys, missing), F.pad(values, missing)


@attend_blockwise.mistake(breaks=UNEVEN)
def last_block_padded(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """The weights of the real keys add up to less than 1. Perhaps the last block is filled up with zeros: a key of zeros has the
    score 0, and that counts. Its score would have to be -inf.
    """
    return attend(q, k, v, block, blocks=padded)


@attend_blockwise.mistake(breaks=UNEVEN)
def blocks_by_view(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """It raises where Lk is no multiple of block: reshape or unflatten cannot make blocks of one size of it. split can."""

    def folded(k: Tensor, v: Tensor, block: int) -> Iterator[tuple[Tensor, Tensor]]:
        yield from zip(*(each.unflatten(-2, (-1, block)).unbind(-3) for each in (k, v)), strict=True)

    return attend(q, k, v, block, blocks=folded)


# Scores of any size.


@attend_blockwise.mistake(breaks=ANY_SIZE)
def without_maximum(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """Exponents of scores near 10,000 are infinite, those of scores near -10,000 are all 0, and the result is NaN. Perhaps the
    largest score is never subtracted.
    """

    def merged(largest: Tensor, total: Tensor, result: Tensor, scores: Tensor, values: Tensor) -> State:
        weights = scores.exp()
        return largest, total + weights.sum(-1, keepdim=True), result + weights @ values

    return attend(q, k, v, block, merged=merged)


@attend_blockwise.mistake(breaks=ANY_SIZE)
def maximum_from_zero(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """Where all scores are far below 0, every exponent is 0, and 0 / 0 is NaN. Perhaps the running maximum begins at 0: it must
    begin at -inf.
    """

    def begun_at_zero(queries: Tensor) -> State:
        largest, total, result = begun(queries)
        return torch.zeros_like(largest), total, result

    return attend(q, k, v, block, begun=begun_at_zero)


@attend_blockwise.mistake(breaks=ANY_SIZE)
def maximum_from_a_billion_below(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """Where all scores are below -1,000,000,000, every exponent is 0, and 0 / 0 is NaN. Perhaps the running maximum begins at a
    number that is meant to be low enough: only -inf is.
    """

    def begun_low(queries: Tensor) -> State:
        largest, total, result = begun(queries)
        return torch.full_like(largest, -1e9), total, result

    return attend(q, k, v, block, begun=begun_low)


@attend_blockwise.mistake(breaks=ANY_SIZE)
def one_maximum_for_all(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """A query whose scores are all far below those of a different query gets exponents of 0, and 0 / 0 is NaN. Perhaps one
    maximum is taken for several queries: each has its own.
    """

    def merged(largest: Tensor, total: Tensor, result: Tensor, scores: Tensor, values: Tensor) -> State:
        above = torch.maximum(largest, scores.max())
        weights, shrink = (scores - above).exp(), (largest - above).exp()
        return above, total * shrink + weights.sum(-1, keepdim=True), result * shrink + weights @ values

    return attend(q, k, v, block, merged=merged)


@attend_blockwise.variant(one_maximum_for_all)
def _(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    def merged(largest: Tensor, total: Tensor, result: Tensor, scores: Tensor, values: Tensor) -> State:
        above = torch.maximum(largest, scores.amax((-2, -1), keepdim=True))
        weights, shrink = (scores - above).exp(), (largest - above).exp()
        return above, total * shrink + weights.sum(-1, keepdim=True), result * shrink + weights @ values

    return attend(q, k, v, block, merged=merged)


@attend_blockwise.mistake(breaks=ANY_SIZE)
def maximum_of_this_block(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """Where scores fall from block to block, the result is not finite: exp(old largest - new largest) overflows. Perhaps the
    maximum is that of the last block alone. It must never fall: take the larger of the old one and the block's.
    """

    def merged(largest: Tensor, total: Tensor, result: Tensor, scores: Tensor, values: Tensor) -> State:
        above = of_query(scores)
        weights, factor = (scores - above).exp(), (largest - above).exp()
        return above, total * factor + weights.sum(-1, keepdim=True), result * factor + weights @ values

    return attend(q, k, v, block, merged=merged)


@attend_blockwise.mistake(breaks=ANY_SIZE)
def maximum_of_the_first_block(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """Where scores rise from block to block, the exponents overflow. Perhaps the maximum of the first block is kept for all:
    a later block may bring a larger score.
    """

    def merged(largest: Tensor, total: Tensor, result: Tensor, scores: Tensor, values: Tensor) -> State:
        above = torch.where(largest.isinf(), of_query(scores), largest)
        weights = (scores - above).exp()
        return above, total + weights.sum(-1, keepdim=True), result + weights @ values

    return attend(q, k, v, block, merged=merged)


@attend_blockwise.mistake(breaks=ANY_SIZE)
def scores_clamped(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """Large scores get wrong weights, finite ones. Perhaps they are clamped to keep exp from overflowing, and those beyond the
    limit count as equal. Subtract the largest score instead: that changes no weight.
    """

    def merged(largest: Tensor, total: Tensor, result: Tensor, scores: Tensor, values: Tensor) -> State:
        weights = scores.clamp(-80, 80).exp()
        return largest, total + weights.sum(-1, keepdim=True), result + weights @ values

    return attend(q, k, v, block, merged=merged)
