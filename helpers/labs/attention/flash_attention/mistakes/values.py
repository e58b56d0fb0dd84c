"""What people write for 13.flash_attention that gives wrong results or gradients, and why."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor

from helpers.check.spec import returned
from helpers.labs.attention.flash_attention.exercise import FORMULA, GRADIENT, RESULT, flash_attention
from helpers.labs.attention.flash_attention.right import (
    Answer,
    flash,
    kept,
    parts,
    slopes,
    summed,
    weights_of,
)

bank = flash_attention.bank(returned)
UNEVEN = "Lk need not be a multiple of it."

# The result.


@bank.mistake(breaks=FORMULA[0])
def scale_forgotten() -> Answer:
    """The result is that of scores which are not divided by sqrt(D): the weights of the best keys are too large."""
    return flash(summed=partial(summed, scale=1.0))


def whole_parts(length: int, block: int) -> Iterator[slice]:
    for number in range(length // block):
        yield slice(number * block, (number + 1) * block)


@bank.mistake(breaks=UNEVEN)
def last_block_dropped() -> Answer:
    """The keys behind the last whole block are left out of the result. Perhaps the number of blocks is Lk // block."""
    return flash(summed=partial(summed, parts=whole_parts), slopes=partial(slopes, parts=whole_parts))


@bank.mistake(breaks=FORMULA[0])
def result_not_shrunk() -> Answer:
    """Where a later block brings a larger score, the values before it weigh too much. Perhaps the running result is not multiplied by
    exp(old largest - new largest).
    """

    def added(q: Tensor, k: Tensor, v: Tensor, block: int) -> tuple[Tensor, Tensor, Tensor]:
        _, largest, total = summed(q, k, v, block)
        running, result = torch.full_like(largest, -torch.inf), torch.zeros_like(q)
        for part in parts(k.shape[-2], block):
            scores = q @ k[..., part, :].transpose(-2, -1) * q.shape[-1] ** -0.5
            running = torch.maximum(running, scores.amax(-1, keepdim=True))
            result += (scores - running).exp() @ v[..., part, :]
        return result / total, largest, total

    return flash(summed=added)


@bank.mistake(breaks=RESULT)
def result_in_float32() -> Answer:
    """The result is float32, and q is float64. Perhaps it is written into torch.zeros or torch.empty without a dtype."""

    def in_float32(q: Tensor, k: Tensor, v: Tensor, block: int) -> tuple[Tensor, Tensor, Tensor]:
        result, largest, total = summed(q, k, v, block)
        return torch.empty(q.shape).copy_(result), largest, total

    return flash(summed=in_float32)


@bank.mistake(breaks=FORMULA[2])
def computed_in_float32() -> Answer:
    """Results of float64 are right in their first digits only. Perhaps q, k and v are made float32 on the way, or the running sums
    are: take the dtype of q.
    """

    def in_float32(q: Tensor, k: Tensor, v: Tensor, block: int) -> tuple[Tensor, ...]:
        return tuple(each.to(q.dtype) for each in summed(q.float(), k.float(), v.float(), block))

    return flash(summed=in_float32)


@bank.mistake(breaks=RESULT)
def maximum_from_zero() -> Answer:
    """Where all scores are far below 0, every exponent is 0, and 0 / 0 is NaN. Perhaps the running maximum begins at 0: it must
    begin at -inf.
    """

    def begun_at_zero(q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return torch.zeros_like(q[..., :1]), torch.zeros_like(q[..., :1]), torch.zeros_like(q)

    return flash(summed=partial(summed, begun=begun_at_zero))


@bank.mistake(breaks=RESULT)
def without_maximum() -> Answer:
    """Exponents of scores near 10,000 are infinite, those of scores near -10,000 are all 0, and the result is NaN. Perhaps the
    largest score is never subtracted.
    """

    def plain(q: Tensor, k: Tensor, v: Tensor, block: int) -> tuple[Tensor, Tensor, Tensor]:
        total, result = torch.zeros_like(q[..., :1]), torch.zeros_like(q)
        for part in parts(k.shape[-2], block):
            weights = (q @ k[..., part, :].transpose(-2, -1) * q.shape[-1] ** -0.5).exp()
            total, result = total + weights.sum(-1, keepdim=True), result + weights @ v[..., part, :]
        return result / total, torch.zeros_like(total), total

    return flash(summed=plain)


# The gradient of v: the weights anew.


@bank.mistake(breaks=GRADIENT)
def weights_not_divided() -> Answer:
    """The weights that backward computes anew do not add up to 1 for a query, and the gradient of v is too large. Perhaps the
    largest score alone is kept, without the sum of the exponents: keep largest + log(total).
    """

    def largest_only(ctx: Any, q: Tensor, k: Tensor, v: Tensor, block: int, *rest: Tensor) -> None:
        ctx.save_for_backward(q, k, v, rest[0], rest[1])
        ctx.block = block

    return flash(kept=largest_only)


@bank.mistake(breaks=GRADIENT)
def largest_not_added() -> Answer:
    """The weights that backward computes anew are wrong by a factor for each query. Perhaps log(total) is kept without the largest
    score, which was subtracted in every exponent.
    """

    def total_only(ctx: Any, q: Tensor, k: Tensor, v: Tensor, block: int, *rest: Tensor) -> None:
        ctx.save_for_backward(q, k, v, rest[0], rest[2].log())
        ctx.block = block

    return flash(kept=total_only)


@bank.mistake(breaks=GRADIENT)
def scores_anew_not_scaled() -> Answer:
    """The weights that backward computes anew are not those of forward. Perhaps the scores are not divided by sqrt(D) there."""

    def unscaled(q: Tensor, keys: Tensor, logsumexp: Tensor) -> Tensor:
        return (q @ keys.transpose(-2, -1) - logsumexp).exp()

    return flash(slopes=partial(slopes, weights_of=unscaled))


@bank.mistake(breaks=GRADIENT)
def logsumexp_in_float32() -> Answer:
    """With float64 the result is right, and the gradient of v in its first digits only. Perhaps what was kept for each query is float32:
    keep it in the dtype of q.
    """

    def short(ctx: Any, q: Tensor, k: Tensor, v: Tensor, block: int, *rest: Tensor) -> None:
        ctx.save_for_backward(q, k, v, rest[0], (rest[1] + rest[2].log()).float())
        ctx.block = block

    return flash(kept=short)


@bank.mistake(breaks="q has the shape (B, H, Lq, D); k and v have (B, H, Lk, D)")
def gradients_of_the_shape_of_q() -> Answer:
    """backward raises where there are more keys than queries: sizes do not fit. Perhaps the gradients of k and v are made by
    `zeros_like(q)`: each has the shape of what it is the gradient of.
    """

    def like_q(*args: Any) -> tuple[Tensor, ...]:
        q, k, v = args[:3]
        of_k, of_v = torch.zeros_like(q), torch.zeros_like(q)
        grad_q, grad_k, grad_v = slopes(*args)
        of_k[:], of_v[:] = grad_k, grad_v
        return grad_q, of_k, of_v

    return flash(slopes=like_q)


@bank.variant(gradients_of_the_shape_of_q)
def _() -> Answer:
    def like_q(*args: Any) -> tuple[Tensor, ...]:
        q, k, v, _, logsumexp, block, grad_out = args
        of_v = torch.zeros_like(q)
        for part in parts(k.shape[-2], block):
            of_v[..., part, :] += weights_of(q, k[..., part, :], logsumexp).transpose(-2, -1) @ grad_out
        return *slopes(*args)[:2], of_v

    return flash(slopes=like_q)


@bank.mistake(breaks=GRADIENT)
def gradients_exchanged() -> Answer:
    """v gets the gradient of k, and k that of v: backward returns them in the order of forward's arguments."""
    return flash(returned=lambda ctx, grad_q, grad_k, grad_v: (grad_q, grad_v, grad_k, None))


@bank.mistake(breaks=GRADIENT)
def incoming_gradient_ignored() -> Answer:
    """The gradients are those of the result's sum: the gradient that comes in plays no part."""
    return flash(slopes=lambda *args: slopes(*args[:-1], torch.ones_like(args[-1])))


@bank.mistake(breaks=GRADIENT)
def block_without_its_none() -> Answer:
    """backward returns three gradients for four arguments. For block, which is a number, None is returned."""
    return flash(returned=lambda ctx, *grads: grads)


@bank.mistake(breaks=UNEVEN)
def backward_drops_the_last_block() -> Answer:
    """The keys and values behind the last whole block get the gradient 0. Perhaps the number of blocks in backward is Lk // block."""
    return flash(slopes=partial(slopes, parts=whole_parts))


@bank.mistake(breaks=GRADIENT)
def gradient_of_the_last_block() -> Answer:
    """k and v have gradients other than 0 at some blocks only. Perhaps each block overwrites what those before it gave."""

    def last_only(*args: Any) -> tuple[Tensor, ...]:
        q, k, v, _, logsumexp, block, grad_out = args
        grads = slopes(*args)
        *_, part = parts(k.shape[-2], block)
        grad_v = torch.zeros_like(v)
        grad_v[..., part, :] = weights_of(q, k[..., part, :], logsumexp).transpose(-2, -1) @ grad_out
        grad_k = torch.zeros_like(k)
        grad_k[..., part, :] = grads[1][..., part, :]
        return grads[0], grad_k, grad_v

    return flash(slopes=last_only)


# The gradients of q and k: through the softmax.


@bank.mistake(breaks=GRADIENT)
def softmax_taken_for_exp() -> Answer:
    """The gradient of q is wrong, that of v is right. Perhaps the softmax's backward lacks its second part: a larger score takes
    weight from all other keys. Subtract for each query the sum of weights times their gradients.
    """

    def one_part(weights: Tensor, of_weights: Tensor, mean: Tensor, scale: float) -> Tensor:
        return weights * of_weights * scale

    return flash(slopes=partial(slopes, of_scores=one_part))


@bank.mistake(breaks=GRADIENT)
def meant_in_each_block() -> Answer:
    """With one block the gradient of q is right, with several it is wrong. Perhaps the sum of weights times their gradients goes
    over the block's keys: it goes over all keys. The sum of grad_out * result over the features is that, before the loop.
    """

    def of_this_block(weights: Tensor, of_weights: Tensor, mean: Tensor, scale: float) -> Tensor:
        return weights * (of_weights - (weights * of_weights).sum(-1, keepdim=True)) * scale

    return flash(slopes=partial(slopes, of_scores=of_this_block))


@bank.mistake(breaks=GRADIENT)
def meant_over_queries() -> Answer:
    """The gradient of q is wrong, that of v is right. Perhaps grad_out * result is summed over the queries: what is subtracted is
    a number for each query, the sum over the features.
    """
    return flash(
        slopes=partial(slopes, meant=lambda grad_out, result: (grad_out * result).sum((-2, -1), keepdim=True))
    )


@bank.mistake(breaks=GRADIENT)
def scale_forgotten_in_gradients() -> Answer:
    """The gradient of q is too large, by the factor sqrt(D). The scores were divided by it, so their gradient is, too, before it
    goes on to q and k.
    """

    def unscaled(weights: Tensor, of_weights: Tensor, mean: Tensor, scale: float) -> Tensor:
        return weights * (of_weights - mean)

    return flash(slopes=partial(slopes, of_scores=unscaled))


@bank.mistake(breaks=GRADIENT)
def meant_added() -> Answer:
    """The gradient of q is wrong, that of v is right. Perhaps the mean is added to the gradients of the weights: it is subtracted."""

    def added(weights: Tensor, of_weights: Tensor, mean: Tensor, scale: float) -> Tensor:
        return weights * (of_weights + mean) * scale

    return flash(slopes=partial(slopes, of_scores=added))


@bank.mistake(breaks=GRADIENT)
def gradient_of_q_overwritten() -> Answer:
    """q gets what the last block gives, and no more. Each query looks at all blocks: their parts are added."""

    def overwritten(*args: Any) -> tuple[Tensor, ...]:
        q, k, v, result, logsumexp, block, grad_out = args
        *_, part = parts(k.shape[-2], block)
        _, grad_k, grad_v = slopes(*args)
        last, _, _ = slopes(q, k[..., part, :], v[..., part, :], result, logsumexp, block, grad_out)
        return last, grad_k, grad_v

    return flash(slopes=overwritten)


@bank.mistake(breaks=GRADIENT)
def scale_in_q_only() -> Answer:
    """The gradient of k is wrong by the factor sqrt(D), that of q is right. Perhaps only grad_q is multiplied by the scale."""
    return flash(returned=lambda ctx, q, k, v: (q, k * q.shape[-1] ** 0.5, v, None))


@bank.mistake(breaks=GRADIENT)
def scale_twice_in_k() -> Answer:
    """The gradient of k is too small, by the factor sqrt(D). Perhaps the product is taken with a q that is already scaled, of a
    gradient that is already scaled.
    """
    return flash(returned=lambda ctx, q, k, v: (q, k * q.shape[-1] ** -0.5, v, None))


# Which gradients, for what comes in.


@bank.mistake(breaks=GRADIENT)
def only_if_all_require_grad() -> Answer:
    """Where one of q, k and v requires no grad, the others get no gradient either."""

    def all_or_none(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        return (*grads, None) if all(ctx.needs_input_grad[:3]) else (None,) * 4

    return flash(returned=all_or_none)


@bank.mistake(breaks=GRADIENT)
def only_with_a_gradient_for_q() -> Answer:
    """k and v get no gradient where q requires none. Perhaps needs_input_grad[0] is asked for all three: each has its own place."""
    return flash(returned=lambda ctx, *grads: (*grads, None) if ctx.needs_input_grad[0] else (None,) * 4)


@bank.mistake(breaks=GRADIENT)
def only_needed_ones_returned() -> Answer:
    """Where q, k or v requires no grad, gradients stand in the wrong places. Perhaps those that nobody needs are left out of what
    backward returns: None takes their place.
    """

    def needed(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        few = [grad for grad, needs in zip(grads, ctx.needs_input_grad, strict=False) if needs]
        return (*few, *[None] * (4 - len(few)))

    return flash(returned=needed)


@bank.mistake(breaks=GRADIENT)
def gradient_viewed() -> Answer:
    """view raises for a gradient that is not contiguous. What comes in may have any layout: that of a sum is one number, expanded.
    reshape and flatten take it.
    """

    def viewed(*args: Any) -> tuple[Tensor, ...]:
        *rest, grad_out = args
        return slopes(*rest, grad_out.view(-1, *grad_out.shape[-2:]).view(grad_out.shape))

    return flash(slopes=viewed)


@bank.mistake(breaks=RESULT)
def exponents_without_maximum_in_backward() -> Answer:
    """For large scores the result is right, and gradients are not finite. Perhaps the sum of exponents is kept, without a largest
    score subtracted: keep its logarithm, largest + log(total), and subtract that before exp.
    """

    def sum_kept(ctx: Any, q: Tensor, k: Tensor, v: Tensor, block: int, *rest: Tensor) -> None:
        ctx.save_for_backward(q, k, v, rest[0], rest[2] * rest[1].exp())
        ctx.block = block

    def divided(q: Tensor, keys: Tensor, total: Tensor) -> Tensor:
        return (q @ keys.transpose(-2, -1) * q.shape[-1] ** -0.5).exp() / total

    return flash(kept=sum_kept, slopes=partial(slopes, weights_of=divided))


@bank.variant(exponents_without_maximum_in_backward)
def _() -> Answer:
    def sum_kept(ctx: Any, q: Tensor, k: Tensor, v: Tensor, block: int, *rest: Tensor) -> None:
        kept(ctx, q, k, v, block, rest[0], torch.zeros_like(rest[1]), rest[2] * rest[1].exp())

    return flash(kept=sum_kept)


@bank.mistake(breaks=GRADIENT)
def state_on_the_class() -> Answer:
    """Two calls whose backward is still to come get mixed up: the first computes with what the second left. Perhaps a
    tensor or a size is kept on the class, or beside it. ctx belongs to one call.
    """
    stack: list[Tensor] = []

    def on_the_class(ctx: Any, q: Tensor, k: Tensor, v: Tensor, block: int, *rest: Tensor) -> None:
        ctx.save_for_backward(q, k, v, rest[0])
        ctx.block = block
        stack[:] = [rest[1] + rest[2].log()]

    return flash(kept=on_the_class, taken=lambda ctx: (*ctx.saved_tensors, stack[0], ctx.block))


@bank.variant(state_on_the_class)
def _() -> Answer:
    shared: list[Any] = []

    def on_the_class(ctx: Any, q: Tensor, k: Tensor, v: Tensor, block: int, *rest: Tensor) -> None:
        shared[:] = [q, k, v, rest[0], rest[1] + rest[2].log(), block]

    return flash(kept=on_the_class, taken=lambda ctx: tuple(shared))
