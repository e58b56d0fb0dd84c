"""Exercise 13.multi_head: attention with several heads, from the weights of torch's module."""

from __future__ import annotations

import torch

from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.attention.multi_head.inputs import (
    WEIGHTS,
    Answer,
    called,
    causal,
    compare_gradients,
    compared,
    drawn,
    mask,
    text,
    without_torchs_attention,
)

multi_head = Exercise(
    "13.multi_head",
    "Several heads",
    objective="Write what `nn.MultiheadAttention` computes, so that it loads torch's weights.",
    minutes=25,
    difficulty="medium",
    hints=[
        "Follow the shapes. One product with in_w gives (B, T, 3E): queries, keys and values side by side. The scores are "
        "to have the shape (B, H, T, T). Which shape must queries and keys have for that?",
        "Split the last axis, E, into (H, D), and only then bring H to the front: `unflatten(-1, (H, D)).transpose(1, 2)`. "
        "A `view` to (B, H, T, D) at once cuts the time instead. On the way back the same two steps in reverse.",
        "A row of -inf alone becomes NaN in the softmax. `masked_fill` after it takes the NaN out of the weights; "
        "`masked_fill` before it keeps NaN out of the gradient, which adding a mask of -inf does not.",
        "`q, k, v = F.linear(x, in_w, in_b).chunk(3, dim=-1)`, each split into heads; "
        "`scores = q @ k.transpose(-2, -1) / D ** 0.5`; "
        '`weights = scores.masked_fill(blocked, float("-inf")).softmax(-1).masked_fill(blocked, 0.0)`; '
        "`F.linear((weights @ v).transpose(1, 2).flatten(2), out_w, out_b)`.",
    ],
)

AS_TORCH = "Self-attention with several heads, as `nn.MultiheadAttention(E, heads, batch_first=True)` has it."
SHAPE = "Shape (B, T, E), dtype of x."
MINUS_INF = "A blocked score becomes -inf before the softmax, so that its weight is 0."
NOWHERE = "A position that may look nowhere gets 0 from each head, and no gradient becomes NaN."
GRADIENTS = "x and the four weights get the gradients that they get through torch's module."
STAY = "The arguments stay as they were."


@multi_head.property(
    "attention is written by hand: torch's own works nowhere inside",
    asks="It calls no attention of torch's: not `nn.MultiheadAttention`, not its "
    "function in `torch.nn.functional`, not `F.scaled_dot_product_attention`.",
)
def by_hand(answer: Answer, trial: Trial) -> None:
    args = drawn(trial, 2, 5, 12)
    for words, blocked in (("", None), ("causal", causal(5))):
        trial.given(f"{text(args, 3, words)}; calls are watched")
        without_torchs_attention(trial, lambda mask=blocked: called(answer, trial, args, 3, mask))


@multi_head.property(
    "one head: the result of torch's module", asks=(AS_TORCH, SHAPE, "None: each looks at all.", STAY)
)
def one_head(answer: Answer, trial: Trial) -> None:
    for batch, length, features in ((2, 3, 4), (3, 7, 5)):
        args = drawn(trial, batch, length, features)
        trial.given(text(args, 1))
        compared(answer, trial, args, 1)


@multi_head.property(
    "several heads: each has its own slice of the features, and its own scale",
    asks=(
        "Head h has the features h * D to (h + 1) * D - 1 of queries, keys and values, with D = E / H, "
        "and its result goes to the same place before the output projection.",
        "The scores of a head are divided by sqrt(D).",
    ),
)
def several_heads(answer: Answer, trial: Trial) -> None:
    for batch, length, features, heads in ((2, 5, 12, 3), (3, 4, 10, 2), (4, 3, 5, 5)):
        args = drawn(trial, batch, length, features)
        trial.given(text(args, heads))
        compared(answer, trial, args, heads)


@multi_head.property(
    "a batch of one, one position, and inputs that are not contiguous",
    asks=("x: shape (B, T, E), floating, in any layout.", SHAPE),
)
def any_layout(answer: Answer, trial: Trial) -> None:
    for batch, length in ((1, 4), (3, 1), (1, 1)):
        args = drawn(trial, batch, length, 6)
        trial.given(text(args, 2))
        compared(answer, trial, args, 2)
    args = [each.mT.contiguous().mT if each.ndim > 1 else each for each in drawn(trial, 3, 4, 6)]
    trial.given(f"{text(args, 2)}; x and the weights are not contiguous")
    compared(answer, trial, args, 2)
    args[0] = args[0].transpose(0, 1).contiguous().transpose(0, 1)
    trial.given(f"{text(args, 2)}; x is a transpose of a tensor with time first")
    compared(answer, trial, args, 2)


@multi_head.property(
    "a blocked position gets no weight",
    asks=(
        MINUS_INF,
        "blocked: bool, shape (T, T), True where the position of the row may not look at that of the column.",
        STAY,
    ),
)
def blocked_positions(answer: Answer, trial: Trial) -> None:
    args = drawn(trial, 2, 5, 12)
    trial.given(text(args, 3, "causal: True above the diagonal"))
    compared(answer, trial, args, 3, causal(5))
    trial.given(text(args, 3, "at random, some in each row"))
    compared(answer, trial, args, 3, mask(trial, 5))
    args = drawn(trial, 1, 4, 6)
    trial.given(text(args, 1, "nowhere: all False"))
    compared(answer, trial, args, 1, torch.zeros(4, 4, dtype=torch.bool))


@multi_head.property(
    "a position that may look nowhere gets 0 from each head: only the bias is left", asks=NOWHERE
)
def nowhere(answer: Answer, trial: Trial) -> None:
    args = drawn(trial, 2, 5, 12)
    trial.given(text(args, 3, "throughout in rows 1 and 3, and at random in the others"))
    compared(answer, trial, args, 3, mask(trial, 5, (1, 3)))
    trial.given(text(args, 3, "everywhere: all True"))
    compared(answer, trial, args, 3, torch.ones(5, 5, dtype=torch.bool))


@multi_head.property("float64, float16 and bfloat16", asks=SHAPE)
def dtypes(answer: Answer, trial: Trial) -> None:
    for dtype, near in ((torch.float64, None), (torch.float16, 2e-2), (torch.bfloat16, 1e-1)):
        args = drawn(trial, 2, 5, 12, dtype)
        trial.given(text(args, 3))
        compared(answer, trial, args, 3, rtol=near, atol=near)
        trial.given(text(args, 3, "at random, some in each row"))
        compared(answer, trial, args, 3, mask(trial, 5), rtol=near, atol=near)


@multi_head.property(
    "a blocked score is out, however large or small the others are", asks=(AS_TORCH, MINUS_INF)
)
def scores_of_any_size(answer: Answer, trial: Trial) -> None:
    x, in_w, in_b, out_w, out_b = drawn(trial, 2, 5, 12, torch.float64)
    far = torch.cat([torch.full((12,), 1e5), torch.full((12,), -1e5), torch.zeros(12)]).double()
    args = [x, in_w, in_b + far, out_w, out_b]
    trial.given(f"{text(args, 3, 'at random, some in each row')}; all scores are below -1e10")
    compared(answer, trial, args, 3, mask(trial, 5), rtol=1e-3, atol=1e-3)
    args = [300 * x, in_w, in_b, out_w, out_b]
    trial.given(f"{text(args, 3)}; scores of 10,000 to 100,000 above and below 0")
    compared(answer, trial, args, 3, rtol=1e-3, atol=1e-3)
    trial.given(
        f"{text(args, 3, 'in each row the position with the largest score of the first head')}; scores of 10,000 "
        "to 100,000 above and below 0"
    )
    q, k, _ = torch.nn.functional.linear(args[0], in_w, in_b)[0].chunk(3, dim=-1)
    largest = (q[:, :4] @ k[:, :4].T).argmax(1)
    blocked = torch.zeros(5, 5, dtype=torch.bool).index_put((torch.arange(5), largest), torch.tensor(True))
    compared(answer, trial, args, 3, blocked, rtol=1e-3, atol=1e-3)


@multi_head.property("x and the four weights get their gradients", asks=GRADIENTS)
def gradients(answer: Answer, trial: Trial) -> None:
    args = drawn(trial, 2, 5, 12, torch.float64)
    for words, blocked in (("", None), ("at random, some in each row", mask(trial, 5))):
        trial.given(f"{text(args, 3, words)}; all five require grad, a random gradient comes in")
        compare_gradients(answer, trial, args, 3, blocked)
    for name in ("x", *WEIGHTS):
        trial.given(f"{text(args, 3)}; {name} alone requires grad, a random gradient comes in")
        compare_gradients(answer, trial, args, 3, None, (name,))


@multi_head.property("no gradient becomes NaN where a position may look nowhere", asks=(NOWHERE, GRADIENTS))
def gradients_of_nowhere(answer: Answer, trial: Trial) -> None:
    args = drawn(trial, 2, 5, 12, torch.float64)
    trial.given(
        f"{text(args, 3, 'throughout in rows 1 and 3, and at random in the others')}; all five require grad, "
        "a random gradient comes in"
    )
    compare_gradients(answer, trial, args, 3, mask(trial, 5, (1, 3)))
