"""What people write for 10.dropout: the scale, the share, and the evaluation."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.labs.pitfalls.dropout import dropout


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


@masks.mistake()
def no_scaling(x: Tensor, p: float) -> Tensor:
    """The survivors were not scaled. Their sum is then (1 - p) times what it is in evaluation, and the next
    layer was trained for the smaller one.
    """
    return x * kept(x, p)


@masks.variant(no_scaling)
def _(x: Tensor, p: float) -> Tensor:
    return x.masked_fill(torch.rand_like(x) < p, 0.0)


@masks.variant(no_scaling)
def _(x: Tensor, p: float) -> Tensor:
    return x * torch.bernoulli(torch.full_like(x, 1 - p))


@dropout.mistake()
def scaled_in_evaluation_instead(x: Tensor, p: float, training: bool) -> Tensor:
    """Training leaves the survivors as they are, and evaluation multiplies by 1 - p: so it stood in the first
    paper. torch divides in training, so that evaluation is x itself.
    """
    return x * kept(x, p) if training else x * (1 - p)


@dropout.mistake()
def scaled_in_both(x: Tensor, p: float, training: bool) -> Tensor:
    """Training divides by 1 - p and evaluation multiplies by it, too. One of the two is enough to make the
    means agree.
    """
    return x * kept(x, p) * scale_of(p) if training else x * (1 - p)


@dropout.mistake()
def divided_in_evaluation_too(x: Tensor, p: float, training: bool) -> Tensor:
    """Evaluation divides by 1 - p, though nothing was dropped: everything is too large there."""
    if not training:
        return x * scale_of(p)
    return x * kept(x, p) * scale_of(p)


@dropout.mistake()
def drops_in_evaluation(x: Tensor, p: float, training: bool) -> Tensor:
    """training is not looked at, so evaluation drops, too. F.dropout does the same to whoever forgets to hand
    training=self.training on: its default is True.
    """
    return x * kept(x, p) * scale_of(p)


@dropout.variant(drops_in_evaluation)
def _(x: Tensor, p: float, training: bool) -> Tensor:
    return x * kept(x, p)


@dropout.mistake()
def training_turned_round(x: Tensor, p: float, training: bool) -> Tensor:
    """The question of training is asked the wrong way round: evaluation drops, and training does not."""
    return x if training else x * kept(x, p) * scale_of(p)


@dropout.mistake()
def never_drops(x: Tensor, p: float, training: bool) -> Tensor:
    """x comes back as it was, in training, too."""
    return x


@masks.mistake()
def p_is_kept(x: Tensor, p: float) -> Tensor:
    """p was taken for the probability to keep. In torch it is the probability to drop; other libraries and
    papers have it the other way.
    """
    return x * (torch.rand_like(x) < p) / p if p else x * 0


@masks.mistake()
def p_kept_scaled_by_1_p(x: Tensor, p: float) -> Tensor:
    """The comparison is the wrong way round: rand < p is True for those that are to be dropped. The scale is
    right.
    """
    return x * (torch.rand_like(x) < p) * scale_of(p)


@masks.mistake()
def scaled_by_p(x: Tensor, p: float) -> Tensor:
    """The survivors were divided by p. They are divided by the probability to stay, 1 - p."""
    return x * kept(x, p) / p


@masks.mistake()
def multiplied_by_the_rest(x: Tensor, p: float) -> Tensor:
    """The survivors were multiplied by 1 - p in place of divided: the mean falls twice."""
    return x * kept(x, p) * (1 - p)


@masks.mistake()
def normal_numbers(x: Tensor, p: float) -> Tensor:
    """The draws come from randn, whose numbers are normal: that one is below p has another probability than
    p. rand draws evenly from 0 to 1.
    """
    return x * (torch.randn_like(x) >= p) * scale_of(p)


@masks.mistake()
def gaussian_noise(x: Tensor, p: float) -> Tensor:
    """x was multiplied by normal noise of the same variance. That is Gaussian dropout: nothing is dropped."""
    return x * (1 + torch.randn_like(x) * (p * scale_of(p)) ** 0.5)


@masks.mistake()
def scaled_by_what_was_kept(x: Tensor, p: float) -> Tensor:
    """The scale was computed from this call's own mask. Then each entry's scale depends on the draws of all
    others; it is 1 / (1 - p), whatever was drawn.
    """
    mask = kept(x, p)
    return x * mask / mask.to(x.dtype).mean()


@masks.variant(scaled_by_what_was_kept)
def _(x: Tensor, p: float) -> Tensor:
    mask = (torch.rand(x.shape) > p).to(x.dtype)
    return x * mask * (mask.numel() / mask.sum())


@dropout.mistake()
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
