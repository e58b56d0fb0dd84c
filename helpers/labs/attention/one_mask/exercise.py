"""Exercise 13.one_mask: what nn.MultiheadAttention takes, turned into the mask that SDPA takes."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.attention.one_mask.inputs import Answer, Case, case, require

one_mask = Exercise(
    "13.one_mask",
    "One mask of three",
    objective="Turn what `nn.MultiheadAttention` takes into the one mask that `F.scaled_dot_product_attention` takes.",
    minutes=20,
    difficulty="medium",
    hints=[
        "The module's masks say True where a position is out; SDPA's says True where it is in. Turn each round first, then put "
        "them together: which of & and | is it for what may be seen?",
        "Padding belongs to the keys of a sample: (B, Lk) becomes (B, 1, 1, Lk). In a causal mask the queries are the last "
        "of the keys: query 0 sees Lk - Lq keys before it, and itself.",
        "`torch.ones(Lq, Lk, dtype=torch.bool).tril(Lk - Lq)`; `~padding[:, None, None, :]`; `~blocked`; and between them &. A "
        "floating `blocked` comes last: `torch.where(allowed, blocked.to(q.dtype), float('-inf'))`.",
    ],
)

WHOLE = "The `attn_mask` for `F.scaled_dot_product_attention(q, k, v, attn_mask)`, from all that blocks."
NONE = "None where `causal` is False and nothing else is given."
TENSOR = "Else a tensor that broadcasts to (B, H, Lq, Lk)."
BOOL = "The tensor is bool, True where a query may look, unless `blocked` is floating."
FLOATING = (
    "With a floating `blocked` it has the dtype of q: what is added to the scores, and -inf where a query may not "
    "look."
)
NOTHING_BLOCKS = (
    "A query may look at a key if nothing blocks it: neither `padding` nor `blocked`, nor, if `causal`, that the key "
    "is later than the query."
)
STAY = "The arguments stay as they were."


@one_mask.property("where nothing blocks, None; else a mask", asks=(NONE, TENSOR))
def nothing(answer: Answer, trial: Trial) -> None:
    given = case(trial, 4, 7)
    trial.given(f"one_mask(q, k), {given}")
    got = trial.call(answer, given.q, given.k)
    trial.true(
        got is None,
        "Nothing blocks, and there is a mask: SDPA would read it, and add it or choose by it, for nothing.",
        expected="None",
        got=got,
        observed="a mask",
    )
    given = case(trial, 4, 7, "causal", "padding", blocked=torch.bool)
    trial.given(str(given))
    got: Any = given.k
    with contextlib.suppress(Exception):  # what it raises, or edits, is told by simpler calls below
        got = trial.call(answer, given.q, given.k, given.causal, given.padding, given.blocked)
    trial.true(
        type(got) is torch.Tensor,
        f"With all that can block, {'None' if got is None else 'a ' + type(got).__name__} came back.",
        expected="a tensor",
        got=type(got).__name__,
        observed=("no tensor", type(got).__name__),
    )


@one_mask.property("padding alone: no query looks at it", asks=(BOOL, TENSOR, STAY))
def padding_alone(answer: Answer, trial: Trial) -> None:
    require(answer, trial, case(trial, 4, 7, "padding"))
    given = case(trial, 4, 7, "padding", batch=1)
    require(answer, trial, given)
    none = torch.zeros(1, 7, dtype=torch.bool)
    require(answer, trial, Case(given.q, given.k, padding=none, about="no True in it"))


@one_mask.property(
    "a bool `blocked` alone: True is what a query may not see",
    asks=(
        BOOL,
        "blocked: as `attn_mask` of `nn.MultiheadAttention`, shape (Lq, Lk).",
        "If bool, True where the query of the row may not look at the key of the column.",
    ),
)
def blocked_alone(answer: Answer, trial: Trial) -> None:
    require(answer, trial, case(trial, 5, 5, blocked=torch.bool))
    given = case(trial, 4, 7, blocked=torch.bool)
    require(answer, trial, given)
    none = torch.zeros(4, 7, dtype=torch.bool)
    require(answer, trial, Case(given.q, given.k, blocked=none, about="no True in it"))


@one_mask.property(
    "causal alone, as many queries as keys: each sees itself and all before", asks=NOTHING_BLOCKS
)
def causal_alone(answer: Answer, trial: Trial) -> None:
    require(answer, trial, case(trial, 5, 5, "causal"))


@one_mask.property(
    "causal, fewer queries than keys: the queries are the last",
    asks="Then Lq is at most Lk, and the queries are the last Lq of the Lk positions.",
)
def causal_with_a_past(answer: Answer, trial: Trial) -> None:
    require(answer, trial, case(trial, 4, 7, "causal"))
    require(answer, trial, case(trial, 1, 7, "causal"))
    require(answer, trial, case(trial, 1, 1, "causal"))


@one_mask.property("of two or three that block, each blocks", asks=(WHOLE, NOTHING_BLOCKS))
def together(answer: Answer, trial: Trial) -> None:
    require(answer, trial, case(trial, 4, 7, "causal", "padding"))
    require(answer, trial, case(trial, 4, 7, "causal", blocked=torch.bool))
    require(answer, trial, case(trial, 4, 7, "padding", blocked=torch.bool))
    require(answer, trial, case(trial, 4, 7, "causal", "padding", blocked=torch.bool))


@one_mask.property(
    "a floating `blocked` alone is what is added, in the dtype of q",
    asks=(FLOATING, "If floating, it is added to the scores."),
)
def floating_alone(answer: Answer, trial: Trial) -> None:
    given = case(trial, 4, 7, blocked=torch.float32)
    require(answer, trial, given)
    require(answer, trial, Case(given.q, given.k, blocked=torch.zeros(4, 7), about="all 0"))
    for dtype in (torch.float64, torch.float16):
        require(answer, trial, case(trial, 4, 7, blocked=torch.float32, dtype=dtype))
    require(answer, trial, case(trial, 4, 7, blocked=torch.bfloat16))


@one_mask.property(
    "a floating `blocked` beside others: -inf where a query may not look, and nothing else changes",
    asks=FLOATING,
)
def floating_together(answer: Answer, trial: Trial) -> None:
    for others in (("causal",), ("padding",), ("causal", "padding")):
        require(answer, trial, case(trial, 4, 7, *others, blocked=torch.float32))
    for dtype in (torch.float64, torch.float16):
        for blocked in (dtype, torch.float32):
            require(answer, trial, case(trial, 4, 7, "causal", "padding", blocked=blocked, dtype=dtype))


@one_mask.property(
    "a query from which all keys are blocked: none is opened for it", asks=(BOOL, FLOATING, NOTHING_BLOCKS)
)
def nowhere(answer: Answer, trial: Trial) -> None:
    q, k = (case(trial, 4, 7).q, case(trial, 4, 7).k)
    left = torch.arange(7) < torch.tensor([[0], [6]])  # the last key alone is real
    row = torch.zeros(4, 7, dtype=torch.bool)
    row[2] = True
    whole = "in one sample all keys are padding"
    padding = torch.tensor([[False], [True]]).expand(2, 7).clone()
    require(answer, trial, Case(q, k, padding=padding, about=whole))
    about = "it blocks all keys for query 2"
    require(answer, trial, Case(q, k, blocked=row, about=about))
    later = "in one sample only the last key is real"
    require(answer, trial, Case(q, k, True, left, about=later))
    require(answer, trial, Case(q, k, True, left, row, about=later))
    numbers = torch.randn(4, 7, generator=trial.generator)
    require(answer, trial, Case(q, k, blocked=numbers.masked_fill(row, float("-inf")), about=about))
    require(answer, trial, Case(q, k, padding=padding, blocked=numbers, about=whole))
    require(answer, trial, Case(q, k, True, left, numbers, about=later))


@one_mask.property(
    "no larger than it must be: one for all heads, and without padding for all samples",
    asks=(
        "It is no larger than it must be in heads and batch: the dimension of the heads is 1 or missing, and without "
        "`padding` that of the batch, too."
    ),
)
def size(answer: Answer, trial: Trial) -> None:
    for others in (("causal",), ("padding",), ("causal", "padding"), ()):
        for blocked in (None, torch.bool, torch.float32):
            if not others and blocked is None:
                continue
            given = case(trial, 4, 7, *others, blocked=blocked)
            got = require(answer, trial, given)
            batch, heads = ((1, 1) + tuple(got.shape))[-4:-2] if got.ndim < 4 else tuple(got.shape[:2])
            too_large = [
                word
                for word, many in (
                    ("each head", heads != 1),
                    ("each sample", batch != 1 and given.padding is None),
                )
                if many
            ]
            trial.true(
                not too_large,
                f"The mask has the shape {tuple(got.shape)}: it says the same for {' and '.join(too_large)}.",
                expected="1 or no dimension there: SDPA broadcasts",
                got=f"shape {tuple(got.shape)}",
                observed=("too large", too_large),
            )
