"""What people write for 10.dropout: whose draws are whose, and the edges."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from helpers.labs.pitfalls.dropout import dropout
from helpers.labs.pitfalls.dropout_mistakes import in_training, kept, scale_of


def masked_by(mask: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """An answer whose numbers from 0 to 1 are `mask(x)`, broadcast to x."""
    return in_training(lambda x, p: x * (mask(x) >= p) * scale_of(p))


dropout.wrong_answer(
    "one_mask_a_batch",
    why="All samples of the batch share one mask. Each sample needs draws of its own, or the whole batch trains the same "
    "smaller network.",
    seen="share one mask",
    answer=masked_by(lambda x: torch.rand(x.shape[1:])),
)
dropout.another_form("one_mask_a_batch")(
    masked_by(lambda x: torch.rand(x[:1].shape) if x.ndim else torch.rand(()))
)
dropout.wrong_answer(
    "whole_samples",
    why="There is one draw for each sample, so whole samples are dropped. That is known as stochastic depth, or DropPath.",
    seen="known as stochastic depth",
    answer=masked_by(lambda x: torch.rand(x.shape[:1] + (1,) * (x.ndim - 1))),
)
dropout.wrong_answer(
    "shared_along_the_last_dim",
    why="The entries along the last dim share a draw.",
    seen="The entries along the last dim share a draw",
    answer=masked_by(lambda x: torch.rand(x.shape[:-1] + (1,)) if x.ndim else torch.rand(())),
)
dropout.wrong_answer(
    "whole_features",
    why="There is one draw for each entry of the last dim, and all that stands in front shares it.",
    seen="all that stands in front shares it",
    answer=masked_by(lambda x: torch.rand(x.shape[-1:])),
)
dropout.wrong_answer(
    "whole_channels",
    why="There is one draw for a channel of an image: so does F.dropout2d. F.dropout draws for each entry.",
    seen="so does F.dropout2d",
    answer=masked_by(lambda x: torch.rand(x.shape[:2] + (1,) * (x.ndim - 2))),
)
dropout.wrong_answer(
    "all_or_nothing",
    why="One number was drawn for the whole tensor: all of it stays, or all of it goes.",
    seen="all of it stays, or all of it goes",
    answer=masked_by(lambda x: torch.rand(1) if x.ndim else torch.rand(())),
)


@dropout.another_form("all_or_nothing")
@in_training
def _(x: Tensor, p: float) -> Tensor:
    return x * 0 if torch.rand(()).item() < p else x * scale_of(p)


@dropout.wrong_answer(
    "an_exact_number",
    why="Exactly p of all entries were dropped, chosen by a permutation. So whether one goes depends on the others; the "
    "draws are to be independent.",
    seen="chosen by a permutation",
)
@in_training
def _(x: Tensor, p: float) -> Tensor:
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


dropout.wrong_answer(
    "always_the_same_mask",
    why="The draws are seeded inside the function, or the mask is kept: the same entries are dropped for ever, which is "
    "a smaller network and no noise.",
    seen="which is a smaller network and no noise",
    answer=masked_by(_seeded),
)
dropout.another_form("always_the_same_mask")(masked_by(_fresh_generator))
dropout.another_form("always_the_same_mask")(masked_by(_remembered))


def _own_randomness(x: Tensor) -> Tensor:
    generator = torch.Generator()
    generator.seed()
    return torch.rand(x.shape, generator=generator)


dropout.wrong_answer(
    "draws_of_a_private_generator",
    why="A generator of its own, seeded by the machine, makes the draws. torch.manual_seed has no hold over it, so no run can "
    "be repeated.",
    seen="torch.manual_seed has no hold over it",
    answer=masked_by(_own_randomness),
)
dropout.another_form("draws_of_a_private_generator")(
    masked_by(lambda x: torch.from_numpy(np.asarray(np.random.default_rng().random(tuple(x.shape)))))
)
dropout.wrong_answer(
    "numpys_draws",
    why="The draws come from NumPy's or Python's generator. torch.manual_seed does not reach it, and neither does whoever saves "
    "torch's state in a checkpoint.",
    seen="The draws come from NumPy's or Python's generator",
    answer=masked_by(lambda x: torch.from_numpy(np.asarray(np.random.rand(*x.shape)))),
)
dropout.another_form("numpys_draws")(
    masked_by(lambda x: torch.tensor([random.random() for _ in range(x.numel())]).reshape(x.shape))
)


@dropout.wrong_answer(
    "draws_in_evaluation",
    why="The mask is drawn before training is asked for. In evaluation it is thrown away, but torch's generator has moved.",
    seen="but torch's generator has moved",
)
def _(x: Tensor, p: float, training: bool) -> Tensor:
    mask = kept(x, p)
    return x * mask * scale_of(p) if training else x


@dropout.wrong_answer(
    "zero_by_zero",
    why="1 / (1 - p) was computed for p = 1, too: a division by zero, or 0 times infinity, which is NaN.",
    seen="0 times infinity, which is NaN",
)
@in_training
def _(x: Tensor, p: float) -> Tensor:
    return x * kept(x, p) / (1 - p)


@dropout.another_form("zero_by_zero")
@in_training
def _(x: Tensor, p: float) -> Tensor:
    return x * kept(x, p) * (1 / (1 - p))


@dropout.another_form("zero_by_zero")
@in_training
def _(x: Tensor, p: float) -> Tensor:
    return x * (kept(x, p) / (1 - p))


@dropout.wrong_answer(
    "in_place",
    why="The zeros were written into x itself. It belongs to whoever called: a skip connection adds the same x later.",
    seen="The zeros were written into x itself",
)
@in_training
def _(x: Tensor, p: float) -> Tensor:
    x.data[~kept(x, p)] = 0
    return x * scale_of(p)


@dropout.another_form("in_place")
@in_training
def _(x: Tensor, p: float) -> Tensor:
    x.data.mul_(kept(x, p)).mul_(scale_of(p))
    return x


@dropout.wrong_answer(
    "mask_in_float32",
    why="The mask is a float32 tensor, and float16 times float32 is float32: under mixed precision the activations grow to "
    "twice their size.",
    seen="float16 times float32 is float32",
)
@in_training
def _(x: Tensor, p: float) -> Tensor:
    return x * (torch.rand(x.shape) >= p).float() * scale_of(p)


@dropout.another_form("mask_in_float32")
@in_training
def _(x: Tensor, p: float) -> Tensor:
    return x * torch.bernoulli(torch.full(x.shape, 1 - p)) * scale_of(p)


@dropout.wrong_answer(
    "cut_off_from_the_graph",
    why="x was detached (or .data was taken): the values are right, and nothing in front of the dropout is trained.",
    seen="nothing in front of the dropout is trained",
)
@in_training
def _(x: Tensor, p: float) -> Tensor:
    return x.detach() * kept(x, p) * scale_of(p)


@dropout.wrong_answer(
    "gradient_of_the_whole",
    why="The mask was worked in behind the graph's back, as x + (result - x).detach(). Gradients then go through the dropped "
    "entries, too.",
    seen="Gradients then go through the dropped entries",
)
@in_training
def _(x: Tensor, p: float) -> Tensor:
    return x + (x * kept(x, p) * scale_of(p) - x).detach()
