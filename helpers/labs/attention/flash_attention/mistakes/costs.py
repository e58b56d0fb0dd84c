"""What people write for 13.flash_attention that gives right gradients and keeps, makes or edits what it must not."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.check.spec import returned
from helpers.labs.attention.flash_attention.exercise import (
    ALONE,
    EDITS,
    GROWS,
    KEPT,
    LIMIT,
    NOTHING_ELSE,
    OWN,
    flash_attention,
)
from helpers.labs.attention.flash_attention.right import (
    Answer,
    flash,
    kept,
    meant,
    parts,
    slopes,
    summed,
    weights_of,
)

bank = flash_attention.bank(returned)
AT_A_TIME = "block is 1 or more, the number of keys at a time"


def anew(ctx: Any) -> tuple[Any, ...]:
    """What the right backward takes, from q, k and v alone."""
    q, k, v = ctx.saved_tensors[:3]
    result, largest, total = summed(q, k, v, ctx.block)
    return q, k, v, result, largest + total.log(), ctx.block


# What is kept.


@bank.mistake(breaks=NOTHING_ELSE)
def weights_kept() -> Answer:
    """More than two numbers are kept for each query. Perhaps the weights or scores are saved, of all blocks or of one, or sums and
    maxima after each block: backward computes the weights anew from one number a query.
    """

    def with_weights(ctx: Any, q: Tensor, k: Tensor, v: Tensor, block: int, *rest: Tensor) -> None:
        logsumexp = rest[1] + rest[2].log()
        weights = [weights_of(q, k[..., part, :], logsumexp) for part in parts(k.shape[-2], block)]
        ctx.save_for_backward(q, k, v, rest[0], logsumexp, *weights)
        ctx.block = block

    return flash(kept=with_weights, taken=lambda ctx: (*ctx.saved_tensors[:5], ctx.block))


@bank.variant(weights_kept)
def _() -> Answer:
    def with_scores(ctx: Any, q: Tensor, k: Tensor, v: Tensor, block: int, *rest: Tensor) -> None:
        scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
        ctx.save_for_backward(q, k, v, rest[0], rest[1] + rest[2].log(), scores)
        ctx.block = block

    return flash(kept=with_scores, taken=lambda ctx: (*ctx.saved_tensors[:5], ctx.block))


@bank.mistake(breaks=NOTHING_ELSE)
def copies_kept() -> Answer:
    """A tensor as large as q, k or v is kept beside them: as many numbers again. Perhaps what is saved is scaled, cloned or made contiguous.
    Save what came in: its memory is there anyway, and an edit of it is seen.
    """

    def contiguous(ctx: Any, q: Tensor, k: Tensor, v: Tensor, block: int, *rest: Tensor) -> None:
        kept(ctx, q.contiguous(), k.contiguous(), v.contiguous(), block, *rest)

    return flash(kept=contiguous)


@bank.variant(copies_kept)
def _() -> Answer:
    def scaled(ctx: Any, q: Tensor, k: Tensor, v: Tensor, block: int, *rest: Tensor) -> None:
        kept(ctx, q * q.shape[-1] ** -0.5, k, v, block, *rest)

    def unscaled(ctx: Any) -> tuple[Any, ...]:
        q, *others = ctx.saved_tensors
        return q * q.shape[-1] ** 0.5, *others, ctx.block

    return flash(kept=scaled, taken=unscaled)


@bank.variant(copies_kept)
def _() -> Answer:
    def cloned(ctx: Any, q: Tensor, k: Tensor, v: Tensor, block: int, *rest: Tensor) -> None:
        kept(ctx, q.clone(), k.clone(), v.clone(), block, *rest)

    return flash(kept=cloned)


@bank.mistake(breaks=NOTHING_ELSE)
def copy_of_the_result_kept() -> Answer:
    """The result is kept twice: beside what forward returns, a tensor with the same numbers. Perhaps one of the two is a clone: save the
    tensor that forward returns, then an edit of it is seen, too.
    """

    def cloned(ctx: Any, q: Tensor, k: Tensor, v: Tensor, block: int, result: Tensor, *rest: Tensor) -> None:
        kept(ctx, q, k, v, block, result.clone(), *rest)

    return flash(kept=cloned)


@bank.variant(weights_kept)
def _() -> Answer:
    def after_each_block(ctx: Any, q: Tensor, k: Tensor, v: Tensor, block: int, *rest: Tensor) -> None:
        so_far = [
            summed(q, k[..., : part.stop, :], v[..., : part.stop, :], block)
            for part in parts(k.shape[-2], block)
        ]
        ctx.save_for_backward(
            q, k, v, rest[0], rest[1] + rest[2].log(), *(each for one in so_far for each in one[1:])
        )
        ctx.block = block

    return flash(kept=after_each_block, taken=lambda ctx: (*ctx.saved_tensors[:5], ctx.block))


@bank.mistake(breaks=KEPT)
def three_numbers_kept() -> Answer:
    """Three numbers are kept for each query. Perhaps they are the largest score, the sum and its logarithm: one of them,
    largest + log(total), is enough.
    """

    def three(ctx: Any, q: Tensor, k: Tensor, v: Tensor, block: int, *rest: Tensor) -> None:
        ctx.save_for_backward(q, k, v, rest[0], rest[1] + rest[2].log(), rest[1], rest[2])
        ctx.block = block

    return flash(kept=three, taken=lambda ctx: (*ctx.saved_tensors[:5], ctx.block))


@bank.mistake(breaks=KEPT)
def kept_on_ctx() -> Answer:
    """A tensor stands on ctx as an attribute. Only what save_for_backward takes is watched for edits, and freed after backward."""

    def on_ctx(ctx: Any, q: Tensor, k: Tensor, v: Tensor, block: int, *rest: Tensor) -> None:
        ctx.q, ctx.k, ctx.v, ctx.result = q, k, v, rest[0]
        ctx.logsumexp, ctx.block = rest[1] + rest[2].log(), block

    return flash(kept=on_ctx, taken=lambda ctx: (ctx.q, ctx.k, ctx.v, ctx.result, ctx.logsumexp, ctx.block))


@bank.variant(kept_on_ctx)
def _() -> Answer:
    def in_a_list(ctx: Any, q: Tensor, k: Tensor, v: Tensor, block: int, *rest: Tensor) -> None:
        ctx.save_for_backward(q, k, v)
        ctx.rest = [rest[0], rest[1] + rest[2].log()]
        ctx.block = block

    return flash(kept=in_a_list, taken=lambda ctx: (*ctx.saved_tensors, *ctx.rest, ctx.block))


@bank.mistake(breaks=EDITS)
def result_computed_anew() -> Answer:
    """An edit of the result is not seen: it is not among what is saved. Perhaps backward computes it anew, with one more pass over
    all blocks.
    """

    def without_result(ctx: Any, q: Tensor, k: Tensor, v: Tensor, block: int, *rest: Tensor) -> None:
        ctx.save_for_backward(q, k, v)
        ctx.block = block

    return flash(kept=without_result, taken=anew)


@bank.mistake(breaks=EDITS)
def data_kept() -> Answer:
    """An edit of q, k or v is not seen, and the gradients are wrong in silence. Perhaps `.data` is saved: it has the memory of the
    tensor, but not its count of edits. Save the tensor itself.
    """

    def data(ctx: Any, q: Tensor, k: Tensor, v: Tensor, block: int, *rest: Tensor) -> None:
        kept(ctx, q.data, k.data, v.data, block, *rest)

    return flash(kept=data)


# What is made.


@bank.mistake(breaks=LIMIT)
def all_scores_in_forward() -> Answer:
    """forward makes the scores of all keys at once, or a tensor of that size: the matrix that blocks are there to avoid."""

    def whole(q: Tensor, k: Tensor, v: Tensor, block: int) -> tuple[Tensor, Tensor, Tensor]:
        scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
        largest = scores.amax(-1, keepdim=True)
        return scores.softmax(-1) @ v, largest, (scores - largest).exp().sum(-1, keepdim=True)

    return flash(summed=whole)


@bank.mistake(breaks=LIMIT)
def all_scores_in_backward() -> Answer:
    """backward makes the weights of all keys at once. Nothing of them was kept, but while backward runs, the whole matrix is there.
    Perhaps it does not go through the blocks, or takes larger ones than `block`.
    """

    def whole(*args: Any) -> tuple[Tensor, ...]:
        *rest, _, grad_out = args
        return slopes(*rest, rest[1].shape[-2], grad_out)

    return flash(slopes=whole)


@bank.variant(all_scores_in_backward)
def _() -> Answer:
    def by_autograd(*args: Any) -> tuple[Tensor, ...]:
        leaves = [each.detach().requires_grad_() for each in args[:3]]
        with torch.enable_grad():
            q, k, v = leaves
            result = (q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).softmax(-1) @ v
        return torch.autograd.grad(result, leaves, args[-1])

    return flash(slopes=by_autograd)


@bank.variant(all_scores_in_backward)
def _() -> Answer:
    return flash(slopes=lambda *args: slopes(*args[:5], 64, args[-1]))


@bank.mistake(breaks=ALONE)
def block_on_the_class() -> Answer:
    """Once a call with a different block came in between, backward goes by that one's block. Perhaps block is kept on the class, or beside
    it: ctx belongs to one call.
    """
    latest: list[int] = []

    def on_the_class(ctx: Any, q: Tensor, k: Tensor, v: Tensor, block: int, *rest: Tensor) -> None:
        kept(ctx, q, k, v, block, *rest)
        latest[:] = [block]

    return flash(kept=on_the_class, taken=lambda ctx: (*ctx.saved_tensors, latest[0]))


@bank.mistake(breaks=AT_A_TIME)
def one_key_at_a_time() -> Answer:
    """Products of forward take a different number of keys than `block`. Perhaps block is not used, and each key is one."""
    return flash(summed=lambda q, k, v, block: summed(q, k, v, 1))


@bank.mistake(breaks=AT_A_TIME)
def backward_by_single_keys() -> Answer:
    """Products of backward take a different number of keys than `block`. Perhaps backward was not told it: put it on ctx."""
    return flash(slopes=lambda *args: slopes(*args[:5], 1, args[-1]))


@bank.mistake(breaks=GROWS)
def scores_in_a_list() -> Answer:
    """forward has as much in use at one time as all scores take. Perhaps the scores or results of all blocks are kept in a list
    until its end.
    """

    def listed(q: Tensor, k: Tensor, v: Tensor, block: int) -> tuple[Tensor, Tensor, Tensor]:
        scores = [
            q @ k[..., part, :].transpose(-2, -1) * q.shape[-1] ** -0.5 for part in parts(k.shape[-2], block)
        ]
        largest = scores[0].amax(-1, keepdim=True)
        for each in scores[1:]:
            largest = torch.maximum(largest, each.amax(-1, keepdim=True))
        total, result = torch.zeros_like(largest), torch.zeros_like(q)
        for each, values in zip(scores, v.split(block, dim=-2), strict=True):
            weights = (each - largest).exp()
            total += weights.sum(-1, keepdim=True)
            result += weights @ values
        return result / total, largest, total

    return flash(summed=listed)


@bank.mistake(breaks=GROWS)
def weights_in_a_list() -> Answer:
    """backward has as much in use at one time as all scores take. Perhaps the weights of all blocks, or what each gives to the
    gradient of q, are kept in a list until its end.
    """

    def listed(*args: Any) -> tuple[Tensor, ...]:
        q, k, v, result, logsumexp, block, grad_out = args
        weights = [weights_of(q, k[..., part, :], logsumexp) for part in parts(k.shape[-2], block)]
        mean = meant(grad_out, result)
        grad_q, grad_k, grad_v = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
        for part, each in zip(parts(k.shape[-2], block), weights, strict=True):
            grad_v[..., part, :] = each.transpose(-2, -1) @ grad_out
            grad_scores = each * (grad_out @ v[..., part, :].transpose(-2, -1) - mean) * q.shape[-1] ** -0.5
            grad_q += grad_scores @ k[..., part, :]
            grad_k[..., part, :] = grad_scores.transpose(-2, -1) @ q
        return grad_q, grad_k, grad_v

    return flash(slopes=listed)


# What is called and edited.


@bank.mistake(breaks="It calls no attention of torch's")
def torchs_own() -> Answer:
    """scaled_dot_product_attention computes the result: this exercise builds what stands inside."""

    def by_torch(q: Tensor, k: Tensor, v: Tensor, block: int) -> tuple[Tensor, Tensor, Tensor]:
        return F.scaled_dot_product_attention(q, k, v), *summed(q, k, v, block)[1:]

    return flash(summed=by_torch)


@bank.variant(torchs_own)
def _() -> Answer:
    def by_torch(*args: Any) -> tuple[Tensor, ...]:
        leaves = [each.detach().requires_grad_() for each in args[:3]]
        with torch.enable_grad():
            return torch.autograd.grad(F.scaled_dot_product_attention(*leaves), leaves, args[-1])

    return flash(slopes=by_torch)


@bank.mistake(breaks=OWN)
def incoming_gradient_edited() -> Answer:
    """backward edits the gradient that comes in: others may hold the same tensor, and get it edited."""

    def edited(*args: Any) -> tuple[Tensor, ...]:
        grads = slopes(*args)
        args[-1].mul_(args[3])
        return grads

    return flash(slopes=edited)


@bank.mistake(breaks=OWN)
def result_edited() -> Answer:
    """backward edits the result, which was saved, and the caller holds it, too. Perhaps it is multiplied in place by the gradient
    that comes in.
    """

    def edited(*args: Any) -> tuple[Tensor, ...]:
        q, k, v, result, logsumexp, block, grad_out = args
        mean = result.mul_(grad_out).sum(-1, keepdim=True)
        return slopes(q, k, v, result, logsumexp, block, grad_out, meant=lambda *_: mean)

    return flash(slopes=edited)


@bank.mistake(breaks=OWN)
def what_was_kept_edited() -> Answer:
    """After one backward a second one of the same call (retain_graph=True) gives different gradients. Perhaps the numbers kept for
    each query are edited in place: they are still those that were saved.
    """

    def edited(*args: Any) -> tuple[Tensor, ...]:
        grads = slopes(*args)
        args[4].data.neg_()
        return grads

    return flash(slopes=edited)


@bank.mistake(breaks=OWN)
def q_scaled_in_place() -> Answer:
    """forward edits q, which belongs to the caller. Perhaps it is scaled in place, which needs no memory, and changes what the
    caller sees.
    """

    def in_place(q: Tensor, k: Tensor, v: Tensor, block: int) -> tuple[Tensor, Tensor, Tensor]:
        return summed(q.mul_(q.shape[-1] ** -0.5), k, v, block, scale=1.0)

    of_the_scaled = partial(
        slopes,
        weights_of=lambda q, keys, logsumexp: (q @ keys.transpose(-2, -1) - logsumexp).exp(),
        of_scores=lambda weights, of_weights, mean, scale: weights * (of_weights - mean),
    )
    return flash(
        summed=in_place,
        slopes=of_the_scaled,
        returned=lambda ctx, q, k, v: (q * q.shape[-1] ** -0.5, k, v, None),
    )
