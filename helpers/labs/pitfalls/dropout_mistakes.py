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


@dropout.wrong_answer(
    "no_scaling",
    why="The survivors were not scaled. Their sum is then (1 - p) times what it is in evaluation, and the next layer was "
    "trained for the smaller one.",
    seen="the next layer was trained for the smaller one",
)
@in_training
def _(x: Tensor, p: float) -> Tensor:
    return x * kept(x, p)


@dropout.another_form("no_scaling")
@in_training
def _(x: Tensor, p: float) -> Tensor:
    return x.masked_fill(torch.rand_like(x) < p, 0.0)


@dropout.another_form("no_scaling")
@in_training
def _(x: Tensor, p: float) -> Tensor:
    return x * torch.bernoulli(torch.full_like(x, 1 - p))


@dropout.wrong_answer(
    "scaled_in_evaluation_instead",
    why="Training leaves the survivors as they are, and evaluation multiplies by 1 - p: so it stood in the first paper. torch "
    "divides in training, so that evaluation is x itself.",
    seen="so it stood in the first paper",
)
def _(x: Tensor, p: float, training: bool) -> Tensor:
    return x * kept(x, p) if training else x * (1 - p)


@dropout.wrong_answer(
    "scaled_in_both",
    why="Training divides by 1 - p and evaluation multiplies by it, too. One of the two is enough to make the means agree.",
    seen="One of the two is enough",
)
def _(x: Tensor, p: float, training: bool) -> Tensor:
    return x * kept(x, p) * scale_of(p) if training else x * (1 - p)


@dropout.wrong_answer(
    "divided_in_evaluation_too",
    why="Evaluation divides by 1 - p, though nothing was dropped: everything is too large there.",
    seen="though nothing was dropped",
)
def _(x: Tensor, p: float, training: bool) -> Tensor:
    if not training:
        return x * scale_of(p)
    return x * kept(x, p) * scale_of(p)


@dropout.wrong_answer(
    "drops_in_evaluation",
    why="training is not looked at, so evaluation drops, too. F.dropout does the same to whoever forgets to hand "
    "training=self.training on: its default is True.",
    seen="training is not looked at",
)
def _(x: Tensor, p: float, training: bool) -> Tensor:
    return x * kept(x, p) * scale_of(p)


@dropout.another_form("drops_in_evaluation")
def _(x: Tensor, p: float, training: bool) -> Tensor:
    return x * kept(x, p)


@dropout.wrong_answer(
    "training_turned_round",
    why="The question of training is asked the wrong way round: evaluation drops, and training does not.",
    seen="is asked the wrong way round",
)
def _(x: Tensor, p: float, training: bool) -> Tensor:
    return x if training else x * kept(x, p) * scale_of(p)


@dropout.wrong_answer(
    "never_drops",
    why="x comes back as it was, in training, too.",
    seen="x comes back as it was",
)
def _(x: Tensor, p: float, training: bool) -> Tensor:
    return x


@dropout.wrong_answer(
    "p_is_kept",
    why="p was taken for the probability to keep. In torch it is the probability to drop; other libraries and papers have "
    "it the other way.",
    seen="p was taken for the probability to keep",
)
@in_training
def _(x: Tensor, p: float) -> Tensor:
    return x * (torch.rand_like(x) < p) / p if p else x * 0


@dropout.wrong_answer(
    "p_kept_scaled_by_1_p",
    why="The comparison is the wrong way round: rand < p is True for those that are to be dropped. The scale is right.",
    seen="is True for those that are to be dropped",
)
@in_training
def _(x: Tensor, p: float) -> Tensor:
    return x * (torch.rand_like(x) < p) * scale_of(p)


@dropout.wrong_answer(
    "scaled_by_p",
    why="The survivors were divided by p. They are divided by the probability to stay, 1 - p.",
    seen="were divided by p.",
)
@in_training
def _(x: Tensor, p: float) -> Tensor:
    return x * kept(x, p) / p


@dropout.wrong_answer(
    "multiplied_by_the_rest",
    why="The survivors were multiplied by 1 - p in place of divided: the mean falls twice.",
    seen="the mean falls twice",
)
@in_training
def _(x: Tensor, p: float) -> Tensor:
    return x * kept(x, p) * (1 - p)


@dropout.wrong_answer(
    "normal_numbers",
    why="The draws come from randn, whose numbers are normal: that one is below p has another probability than p. rand draws "
    "evenly from 0 to 1.",
    seen="whose numbers are normal",
)
@in_training
def _(x: Tensor, p: float) -> Tensor:
    return x * (torch.randn_like(x) >= p) * scale_of(p)


@dropout.wrong_answer(
    "gaussian_noise",
    why="x was multiplied by normal noise of the same variance. That is Gaussian dropout: nothing is dropped.",
    seen="That is Gaussian dropout",
)
@in_training
def _(x: Tensor, p: float) -> Tensor:
    return x * (1 + torch.randn_like(x) * (p * scale_of(p)) ** 0.5)


@dropout.wrong_answer(
    "scaled_by_what_was_kept",
    why="The scale was computed from this call's own mask. Then each entry's scale depends on the draws of all others; it is "
    "1 / (1 - p), whatever was drawn.",
    seen="computed from this call's own mask",
)
@in_training
def _(x: Tensor, p: float) -> Tensor:
    mask = kept(x, p)
    return x * mask / mask.to(x.dtype).mean()


@dropout.another_form("scaled_by_what_was_kept")
@in_training
def _(x: Tensor, p: float) -> Tensor:
    mask = (torch.rand(x.shape) > p).to(x.dtype)
    return x * mask * (mask.numel() / mask.sum())


@dropout.wrong_answer(
    "torchs_own",
    why="A dropout of torch does the work here. It is a mask and a factor: two lines.",
    seen="It is a mask and a factor",
)
def _(x: Tensor, p: float, training: bool) -> Tensor:
    return F.dropout(x, p, training)


@dropout.another_form("torchs_own")
def _(x: Tensor, p: float, training: bool) -> Tensor:
    return nn.Dropout(p).train(training)(x)


@dropout.another_form("torchs_own")
def _(x: Tensor, p: float, training: bool) -> Tensor:
    return torch.ops.aten.dropout(x, p, training)


@dropout.another_form("torchs_own")
def _(x: Tensor, p: float, training: bool) -> Tensor:
    return torch.dropout(x, p, training)


@dropout.another_form("torchs_own")
def _(x: Tensor, p: float, training: bool) -> Tensor:
    return torch.native_dropout(x, p, training)[0]


@dropout.another_form("torchs_own")
def _(x: Tensor, p: float, training: bool) -> Tensor:
    return F.dropout(x, p) if training else x
