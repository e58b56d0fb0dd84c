"""What people write for 10.dropout, and why it is wrong."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.check.spec import returned
from helpers.labs.pitfalls.dropout.exercise import (
    DRAWS,
    EDGES,
    EVALUATION,
    GIVES,
    GRADIENTS,
    LEFT,
    LIKE_X,
    OWN,
    dropout,
)


def kept(x: Tensor, p: float) -> Tensor:
    """True for the entries that stay."""
    return torch.rand_like(x) >= p


def scale_of(p: float) -> float:
    return 1 / (1 - p) if p < 1 else 0.0


def in_training(train: Callable[[Tensor, float], Tensor]) -> Callable[..., Tensor]:
    """An answer that is right in evaluation, and does `train` in training."""

    def answer(x: Tensor, p: float, training: bool) -> Tensor:
        return train(x, p) if training else x

    return answer


masks = dropout.bank(in_training)


@masks.mistake(breaks=GIVES)
def no_scaling(x: Tensor, p: float) -> Tensor:
    """The survivors are x itself, not x / (1 - p). Their sum is then (1 - p) times what it is in evaluation,
    and the next layer is trained for the smaller one.
    """
    return x * kept(x, p)


@masks.variant(no_scaling)
def _(x: Tensor, p: float) -> Tensor:
    return x.masked_fill(torch.rand_like(x) < p, 0.0)


@masks.variant(no_scaling)
def _(x: Tensor, p: float) -> Tensor:
    return x * torch.bernoulli(torch.full_like(x, 1 - p))


@dropout.mistake(breaks=GIVES)
def scaled_in_evaluation_instead(x: Tensor, p: float, training: bool) -> Tensor:
    """Training leaves the survivors as they are, and evaluation multiplies by 1 - p, as in the first paper.
    torch divides in training, so that evaluation is x itself.
    """
    return x * kept(x, p) if training else x * (1 - p)


@dropout.mistake(breaks=EVALUATION)
def scaled_in_both(x: Tensor, p: float, training: bool) -> Tensor:
    """Evaluation gives x times 1 - p, and training divides by it, too. One of the two is enough to make the
    means agree.
    """
    return x * kept(x, p) * scale_of(p) if training else x * (1 - p)


@dropout.mistake(breaks=EVALUATION)
def divided_in_evaluation_too(x: Tensor, p: float, training: bool) -> Tensor:
    """Evaluation gives x / (1 - p), though nothing was dropped: everything is too large there. Perhaps the
    scale is applied whatever training is.
    """
    if not training:
        return x * scale_of(p)
    return x * kept(x, p) * scale_of(p)


@dropout.mistake(breaks=EVALUATION)
def drops_in_evaluation(x: Tensor, p: float, training: bool) -> Tensor:
    """Evaluation drops, too. Perhaps training is not looked at. F.dropout does the same to whoever forgets to
    hand training=self.training on: its default is True.
    """
    return x * kept(x, p) * scale_of(p)


@dropout.variant(drops_in_evaluation)
def _(x: Tensor, p: float, training: bool) -> Tensor:
    return x * kept(x, p)


@dropout.mistake(breaks=EVALUATION)
def training_turned_round(x: Tensor, p: float, training: bool) -> Tensor:
    """Training gives x, and evaluation drops. Perhaps the question of training is asked the wrong way round."""
    return x if training else x * kept(x, p) * scale_of(p)


@dropout.mistake(breaks=GIVES)
def never_drops(x: Tensor, p: float, training: bool) -> Tensor:
    """In training nothing is dropped and nothing scaled: x comes back as it was."""
    return x


@masks.mistake(breaks=GIVES)
def p_is_kept(x: Tensor, p: float) -> Tensor:
    """The share of zeros is 1 - p, and the others are x / p. Perhaps p is taken for the probability to keep: in
    torch it is the probability to drop; other libraries and papers have it the other way.
    """
    return x * (torch.rand_like(x) < p) / p if p else x * 0


@masks.mistake(breaks=GIVES)
def p_kept_scaled_by_1_p(x: Tensor, p: float) -> Tensor:
    """The share of zeros is 1 - p, and the scale is right. Perhaps the comparison is the wrong way round: rand
    < p is True for those that are to be dropped.
    """
    return x * (torch.rand_like(x) < p) * scale_of(p)


@masks.mistake(breaks=GIVES)
def scaled_by_p(x: Tensor, p: float) -> Tensor:
    """The survivors are x / p. They are divided by the probability to stay, 1 - p."""
    return x * kept(x, p) / p


@masks.mistake(breaks=GIVES)
def multiplied_by_the_rest(x: Tensor, p: float) -> Tensor:
    """The survivors are x times 1 - p, where they should be divided by it: the mean falls twice."""
    return x * kept(x, p) * (1 - p)


@masks.mistake(breaks=GIVES)
def normal_numbers(x: Tensor, p: float) -> Tensor:
    """The share of zeros is that of normal numbers below p. Perhaps the draws come from randn: rand draws
    evenly from 0 to 1.
    """
    return x * (torch.randn_like(x) >= p) * scale_of(p)


@masks.mistake(breaks=GIVES)
def gaussian_noise(x: Tensor, p: float) -> Tensor:
    """No entry is 0, and each is x times a number of its own. Perhaps x was multiplied by normal noise of the
    same variance, which is Gaussian dropout.
    """
    return x * (1 + torch.randn_like(x) * (p * scale_of(p)) ** 0.5)


@masks.mistake(breaks=GIVES)
def scaled_by_what_was_kept(x: Tensor, p: float) -> Tensor:
    """The scale is nearly 1 / (1 - p), and differs from call to call. Perhaps it is computed from this call's
    own mask: then each entry's scale depends on the draws of all others.
    """
    mask = kept(x, p)
    return x * mask / mask.to(x.dtype).mean()


@masks.variant(scaled_by_what_was_kept)
def _(x: Tensor, p: float) -> Tensor:
    mask = (torch.rand(x.shape) > p).to(x.dtype)
    return x * mask * (mask.numel() / mask.sum())


@dropout.mistake(breaks=OWN)
def torchs_own(x: Tensor, p: float, training: bool) -> Tensor:
    """A dropout of torch does the work here. It is a mask and a factor: two lines."""
    return F.dropout(x, p, training)


@dropout.variant(torchs_own)
def _(x: Tensor, p: float, training: bool) -> Tensor:
    return nn.Dropout(p).train(training)(x)


@dropout.variant(torchs_own)
def _(x: Tensor, p: float, training: bool) -> Tensor:
    return torch.ops.aten.dropout(x, p, training)


@dropout.variant(torchs_own)
def _(x: Tensor, p: float, training: bool) -> Tensor:
    return torch.dropout(x, p, training)


@dropout.variant(torchs_own)
def _(x: Tensor, p: float, training: bool) -> Tensor:
    return torch.native_dropout(x, p, training)[0]


@dropout.variant(torchs_own)
def _(x: Tensor, p: float, training: bool) -> Tensor:
    return F.dropout(x, p) if training else x


# Whose draws are whose, and the edges.


built = dropout.bank(returned)


def masked_by(mask: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """An answer whose numbers from 0 to 1 are `mask(x)`, broadcast to x."""
    return in_training(lambda x, p: x * (mask(x) >= p) * scale_of(p))


@built.mistake(breaks=DRAWS)
def one_mask_a_batch():
    """All samples of the batch share one mask: the whole batch trains the same smaller network."""
    return masked_by(lambda x: torch.rand(x.shape[1:]))


dropout.variant(one_mask_a_batch)(masked_by(lambda x: torch.rand(x[:1].shape) if x.ndim else torch.rand(())))


@built.mistake(breaks=DRAWS)
def whole_samples():
    """Whole samples are dropped: there is one draw for each. That is known as stochastic depth, or DropPath."""
    return masked_by(lambda x: torch.rand(x.shape[:1] + (1,) * (x.ndim - 1)))


@built.mistake(breaks=DRAWS)
def shared_along_the_last_dim():
    """The entries along the last dim share a draw."""
    return masked_by(lambda x: torch.rand(x.shape[:-1] + (1,)) if x.ndim else torch.rand(()))


@built.mistake(breaks=DRAWS)
def whole_features():
    """There is one draw for each entry of the last dim, and all that stands in front shares it."""
    return masked_by(lambda x: torch.rand(x.shape[-1:]))


@built.mistake(breaks=DRAWS)
def whole_channels():
    """There is one draw for a channel of an image, as in F.dropout2d. F.dropout draws for each entry."""
    return masked_by(lambda x: torch.rand(x.shape[:2] + (1,) * (x.ndim - 2)))


@built.mistake(breaks=DRAWS)
def all_or_nothing():
    """All entries stay, or all of them go: one number was drawn for the whole tensor."""
    return masked_by(lambda x: torch.rand(1) if x.ndim else torch.rand(()))


@masks.variant(all_or_nothing)
def _(x: Tensor, p: float) -> Tensor:
    return x * 0 if torch.rand(()).item() < p else x * scale_of(p)


@masks.mistake(breaks=DRAWS)
def an_exact_number(x: Tensor, p: float) -> Tensor:
    """Exactly the same number of entries is dropped in each call, so whether one goes depends on the others.
    Perhaps they are chosen by a permutation; the draws are to be independent.
    """
    mask = torch.ones(x.numel(), dtype=x.dtype)
    mask[torch.randperm(x.numel())[: round(p * x.numel())]] = 0
    return x * mask.view(x.shape) * scale_of(p)


def _seeded(x: Tensor) -> Tensor:
    torch.manual_seed(0)
    return torch.rand(x.shape)


def _fresh_generator(x: Tensor) -> Tensor:
    return torch.rand(x.shape, generator=torch.Generator().manual_seed(0))


_masks: dict[tuple[int, ...], Tensor] = {}


def _remembered(x: Tensor) -> Tensor:
    return _masks.setdefault(tuple(x.shape), torch.rand(x.shape))


@built.mistake(breaks=DRAWS)
def always_the_same_mask():
    """The same entries are dropped in every call, which is a smaller network and no noise. Perhaps the draws
    are seeded inside the function, the mask is kept, or nothing is drawn and the values of x decide.
    """
    return masked_by(_seeded)


dropout.variant(always_the_same_mask)(masked_by(_fresh_generator))
dropout.variant(always_the_same_mask)(masked_by(_remembered))


def _own_randomness(x: Tensor) -> Tensor:
    generator = torch.Generator()
    generator.seed()
    return torch.rand(x.shape, generator=generator)


@built.mistake(breaks=DRAWS)
def draws_of_a_private_generator():
    """torch.manual_seed has no hold over the draws, so no run can be repeated. Perhaps a generator of its own
    makes them, seeded by the machine.
    """
    return masked_by(_own_randomness)


dropout.variant(draws_of_a_private_generator)(
    masked_by(lambda x: torch.from_numpy(np.asarray(np.random.default_rng().random(tuple(x.shape)))))
)


@built.mistake(breaks=DRAWS)
def numpys_draws():
    """The draws come from NumPy's or Python's generator. torch.manual_seed does not reach it, and neither does
    whoever saves torch's state in a checkpoint.
    """
    return masked_by(lambda x: torch.from_numpy(np.asarray(np.random.rand(*x.shape))))


dropout.variant(numpys_draws)(
    masked_by(lambda x: torch.tensor([random.random() for _ in range(x.numel())]).reshape(x.shape))
)


@dropout.mistake(breaks=EVALUATION)
def draws_in_evaluation(x: Tensor, p: float, training: bool) -> Tensor:
    """Evaluation gives x, and moves torch's generator. Perhaps the mask is drawn before training is asked for."""
    mask = kept(x, p)
    return x * mask * scale_of(p) if training else x


@masks.mistake(breaks=EDGES)
def zero_by_zero(x: Tensor, p: float) -> Tensor:
    """p = 1 gives NaN, or a division by zero. Perhaps 1 / (1 - p) is computed for p = 1, too: 0 times infinity
    is NaN.
    """
    return x * kept(x, p) / (1 - p)


@masks.variant(zero_by_zero)
def _(x: Tensor, p: float) -> Tensor:
    return x * kept(x, p) * (1 / (1 - p))


@masks.variant(zero_by_zero)
def _(x: Tensor, p: float) -> Tensor:
    return x * (kept(x, p) / (1 - p))


@masks.mistake(breaks=LEFT)
def in_place(x: Tensor, p: float) -> Tensor:
    """x itself holds zeros after the call. It belongs to whoever called: a skip connection adds the same x
    later. Perhaps they were written into x.
    """
    x.data[~kept(x, p)] = 0
    return x * scale_of(p)


@masks.variant(in_place)
def _(x: Tensor, p: float) -> Tensor:
    x.data.mul_(kept(x, p)).mul_(scale_of(p))
    return x


@masks.mistake(breaks=LIKE_X)
def mask_in_float32(x: Tensor, p: float) -> Tensor:
    """From float16 a float32 comes out: under mixed precision the activations grow to twice their size. Perhaps
    the mask is a float32 tensor.
    """
    return x * (torch.rand(x.shape) >= p).float() * scale_of(p)


@masks.variant(mask_in_float32)
def _(x: Tensor, p: float) -> Tensor:
    return x * torch.bernoulli(torch.full(x.shape, 1 - p)) * scale_of(p)


@masks.mistake(breaks=GRADIENTS)
def cut_off_from_the_graph(x: Tensor, p: float) -> Tensor:
    """The values are right, and nothing in front of the dropout is trained: the result has no graph. Perhaps x
    was detached, or .data was taken.
    """
    return x.detach() * kept(x, p) * scale_of(p)


@masks.mistake(breaks=GRADIENTS)
def gradient_of_the_whole(x: Tensor, p: float) -> Tensor:
    """Gradients go through the dropped entries, too. Perhaps the mask was worked in behind the graph's back, as
    x + (result - x).detach().
    """
    return x + (x * kept(x, p) * scale_of(p) - x).detach()


@masks.mistake(breaks=EDGES)
def zero_taken_for_no_p(x: Tensor, p: float) -> Tensor:
    """p = 0 drops entries. Perhaps `p or 0.5` (or `if not p`) takes 0.0 for none given: 0 is a probability, too."""
    p = p or 0.5
    return x * kept(x, p) * scale_of(p)


@masks.mistake(breaks=GIVES)
def nearly_dropped(x: Tensor, p: float) -> Tensor:
    """The dropped entries are nearly 0, and not 0. Perhaps a small number stands in the mask, or was added to it: what
    is dropped still has a gradient and counts in a norm.
    """
    return x * kept(x, p).to(x.dtype).clamp(min=1e-8) * scale_of(p)


@masks.mistake(breaks=GRADIENTS)
def gradient_unscaled(x: Tensor, p: float) -> Tensor:
    """The gradient of the entries that stay lacks the scale 1 / (1 - p), which the values have. Perhaps the scale is
    applied to what is detached.
    """
    masked = x * kept(x, p)
    return masked + (masked * (scale_of(p) - 1)).detach()


@masks.mistake(breaks=LIKE_X)
def float32_from_float64(x: Tensor, p: float) -> Tensor:
    """From float64 a float32 comes out. Perhaps by float(), which is meant for half types."""
    return x.float() * kept(x, p) * scale_of(p)


@masks.mistake(breaks="of any shape")
def no_number_taken(x: Tensor, p: float) -> Tensor:
    """A tensor of no dimensions ends in an error. Perhaps len(x) or x.shape[0] is asked, and it has neither."""
    return x * (torch.rand(len(x), *x.shape[1:]) >= p) * scale_of(p)


@masks.mistake(breaks=GIVES)
def p_in_tenths(x: Tensor, p: float) -> Tensor:
    """The share of zeros is not p, but p cut to whole tenths. Perhaps whole numbers are drawn, of 0 to 9, and compared
    with int(10 * p): torch.rand takes any p.
    """
    return x * (torch.randint(0, 10, x.shape) >= int(p * 10)) * scale_of(p)


@masks.variant(p_in_tenths)
def _(x: Tensor, p: float) -> Tensor:
    return x * (torch.rand(x.shape).mul(10).floor() >= int(p * 10)) * scale_of(p)


@masks.mistake(breaks=LIKE_X)
def only_what_stays(x: Tensor, p: float) -> Tensor:
    """A flat tensor comes out, with fewer entries than x has. Perhaps x is indexed by the mask, which takes the dropped
    ones away: they stay in their places, as zeros.
    """
    return x[kept(x, p)] * scale_of(p)


@dropout.mistake(breaks=EDGES)
def one_refused(x: Tensor, p: float, training: bool) -> Tensor:
    """For p = 1 a ValueError is raised. Perhaps p is asked to be below 1: p may be 1, and everything is dropped then."""
    if not 0 <= p < 1:
        raise ValueError(f"dropout probability has to be in [0, 1), got {p}")
    return x * kept(x, p) * scale_of(p) if training else x


@masks.mistake(breaks=EDGES)
def a_draw_of_0_drops(x: Tensor, p: float) -> Tensor:
    """With p = 0 an entry is dropped now and then. Perhaps an entry stays only if its draw is above p: torch.rand gives
    exactly 0, too, once in 16 million numbers of float32. What is not below p stays.
    """
    return x * (torch.rand(x.shape) > p) * scale_of(p)


@masks.mistake(breaks=GIVES)
def a_draw_of_p_drops(x: Tensor, p: float) -> Tensor:
    """In bfloat16 more entries are 0 than should be, and with p = 255 / 256 all of them. Perhaps an entry stays only if its
    draw is above p: there one draw in 256 is exactly p, and what is not below p stays.
    """
    return x * (torch.rand_like(x) > p) * scale_of(p) if p else x


@masks.mistake(breaks=GIVES)
def clamped_scale(x: Tensor, p: float) -> Tensor:
    """With p close to 1 the scale is not 1 / (1 - p). Perhaps 1 - p is kept above a small number, or has one added, so that
    p = 1 divides by no 0: ask for p = 1 instead.
    """
    return x * kept(x, p) / max(1 - p, 1e-3)


@masks.variant(clamped_scale)
def _(x: Tensor, p: float) -> Tensor:
    return x * kept(x, p) * (1 / (1 - p + 1e-8)) if p else x


@masks.mistake(breaks=LIKE_X)
def number_in_float32(x: Tensor, p: float) -> Tensor:
    """A single float16 number, of no dimensions, becomes float32. Perhaps torch.where chooses between it and
    torch.tensor(0.0): of two tensors of no dimensions the larger type is taken, and a Python 0.0 has none.
    """
    return torch.where(torch.rand_like(x) >= p, x * scale_of(p), torch.tensor(0.0))


@dropout.mistake(breaks=GRADIENTS)
def evaluation_off_the_graph(x: Tensor, p: float, training: bool) -> Tensor:
    """Evaluation gives the numbers of x, and no graph: whoever asks for gradients by the input of a model in evaluation
    gets none. Perhaps x.data or x.detach() is returned, or a copy is made by torch.tensor or copy.copy.
    """
    return x * kept(x, p) * scale_of(p) if training else x.detach()


@dropout.variant(evaluation_off_the_graph)
def _(x: Tensor, p: float, training: bool) -> Tensor:
    return x * kept(x, p) * scale_of(p) if training else x.detach().requires_grad_(x.requires_grad)


@masks.mistake(breaks=EDGES)
def nan_in_the_gradient(x: Tensor, p: float) -> Tensor:
    """With p = 1 the result is 0 and the gradient NaN. Perhaps torch.where chooses between 0 and x / (1 - p): backward goes
    through both, and 0 times 1 / 0 is NaN.
    """
    return torch.where(torch.rand_like(x) < p, 0.0, x / (1 - p))
