"""Exercise 13.attend_blockwise: softmax in one pass over blocks of keys."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import torch
from torch import Tensor

from helpers.check.compare import difference
from helpers.check.operations import operations
from helpers.check.trial import Trial
from helpers.exercise import Exercise
from helpers.labs.attention.attend_blockwise.inputs import (
    EVEN,
    SMALL,
    UNEVEN,
    Answer,
    Sizes,
    drawn,
    told,
)
from helpers.labs.attention.shared.arguments import call_with
from helpers.labs.attention.shared.blocks import (
    attention,
    living_memory,
    multiplications,
    other_than,
    randn,
    require_own_work,
    strided,
)
from helpers.labs.attention.shared.levels import LEVELS, with_scores

attend_blockwise = Exercise(
    "13.attend_blockwise",
    "Softmax in one pass",
    objective="Compute attention a block of keys at a time, with a running maximum and a running sum.",
    minutes=25,
    difficulty="medium",
    hints=[
        "A softmax is exponents divided by their sum. Divide at the end: then each block adds to a sum of exponents and to a "
        "weighted sum of values, and both are no larger than q.",
        "Exponents of large scores overflow, so subtract the largest score so far, for each query its own. When a block "
        "brings a larger one, what was summed so far must be multiplied by exp(old largest - new largest).",
        "Three running tensors: largest, which begins at -inf, of shape (B, H, Lq, 1); total, zeros of that shape; result, "
        "zeros of the shape of q. `k.split(block, dim=-2)` gives the blocks, as views; the last may be smaller.",
        "For each block: `above = torch.maximum(largest, scores.amax(-1, keepdim=True))`, "
        "`weights = (scores - above).exp()`, `shrink = (largest - above).exp()`; then total = total * shrink + the sum of "
        "weights, and result = result * shrink + weights @ values. Half-precision inputs are made float32: q once, keys and "
        "values a block at a time.",
    ],
)

FORMULA = "softmax(q @ k.transpose(-2, -1) / sqrt(D)) @ v, with `block` keys at a time."
LIMIT = (
    "No tensor is made that has more numbers than the largest of these three: q, a block of keys, and the scores of a "
    "block, of shape (B, H, Lq, block)."
)


def compared(answer: Answer, trial: Trial, sizes: Sizes, dtype: torch.dtype = torch.float64) -> None:
    q, k, v = drawn(trial, sizes, dtype)
    trial.given(told(sizes, dtype, ", not contiguous"))
    want = attention(q, k, v).to(dtype)
    right_but_short(trial, trial.call(lambda: answer(q, k, v, sizes[-1])), want)


def right_but_short(trial: Trial, got: Any, want: Tensor) -> None:
    """Compares; of a result that is right in its first digits only, or has a wrong dtype, no more is observed than that."""
    observed: Any = None
    if type(got) is Tensor and got.shape == want.shape and not got.requires_grad:
        if got.dtype != want.dtype:
            observed = "dtype", str(got.dtype)
        elif torch.allclose(got, want, rtol=1e-4, atol=1e-4):
            observed = "too small by a factor" if too_small(got, want) else "in its first digits only"
    trial.equal(got, want, observed=observed)


def too_small(got: Tensor, want: Tensor) -> bool:
    """Whether all numbers of a query are too small by one factor; told in float64 alone."""
    if want.dtype != torch.float64:
        return False
    off = 1 - got / want
    return bool((off.amin(-1) > 0).all() and (off.amax(-1) - off.amin(-1) < 0.01 * off.amax(-1)).all())


@attend_blockwise.property("no attention of torch's works inside", asks="It calls no attention of torch's.")
def own_work(answer: Answer, trial: Trial) -> None:
    for dtype in (torch.float32, torch.float16):
        q, k, v = drawn(trial, EVEN[0], dtype)
        trial.given(told(EVEN[0], dtype) + "; calls are watched")
        require_own_work(trial, partial(answer, q, k, v, EVEN[0][-1]))


@attend_blockwise.property(
    "all keys in one block", asks=(FORMULA, "Shape and dtype of q.", "with float64 they are float64")
)
def one_block(answer: Answer, trial: Trial) -> None:
    for dtype in (torch.float64, torch.float32):
        compared(answer, trial, (2, 3, 5, 6, 4, 6), dtype)


@attend_blockwise.property("several blocks of one size", asks=FORMULA)
def even_blocks(answer: Answer, trial: Trial) -> None:
    for sizes in EVEN:
        compared(answer, trial, sizes)


@attend_blockwise.property(
    "a last block that is smaller, a block larger than Lk, one key, one query",
    asks="block: 1 or more. Lk need not be a multiple of it, and may be smaller.",
)
def uneven_blocks(answer: Answer, trial: Trial) -> None:
    for sizes in UNEVEN:
        compared(answer, trial, sizes)


@attend_blockwise.property(
    "scores of any size",
    asks="The result is right and finite for scores of any size, 10,000 or -10,000, in any order.",
)
def any_size(answer: Answer, trial: Trial) -> None:
    cases = {words: with_scores(levels, trial) for words, levels in LEVELS.items()}
    outcomes: dict[str, tuple[str, Any, Tensor]] = {}
    for words, (q, k, v) in cases.items():
        trial.given(told((1, 1, 2, k.shape[2], 4, 2), torch.float32, f"; {words}"))
        want = attention(q, k, v).float()
        got = trial.call(lambda now=(q, k, v): answer(*now, 2))
        # Rounded scores near 10,000 are 0.0005 off, and so is what is computed from a logarithm of their sum.
        found = difference(got, want, rtol=5e-3, atol=5e-3)
        if found and found.kind not in ("value", "nan"):
            trial.equal(got, want)
        finite = not found or bool(got.isfinite().all())
        outcomes[words] = ("right" if not found else "wrong" if finite else "not finite", got, want)
    wrong = [(words, *outcome) for words, outcome in outcomes.items() if outcome[0] != "right"]
    if wrong:
        words, how, got, want = wrong[0]
        trial.given(told((1, 1, 2, cases[words][1].shape[2], 4, 2), torch.float32, f"; {words}"))
        trial.fail(
            f"With {words} the result is {how}."
            + (" So it is with " + "; with ".join(each for each, *_ in wrong[1:]) + "." if wrong[1:] else ""),
            expected=want,
            got=got,
            observed=[outcome for outcome, *_ in outcomes.values()],
        )


@attend_blockwise.property(
    "float16 and bfloat16: computed in float32, and rounded once",
    asks="Sums and exponents are float32 or wider, with float64 they are float64; the result is rounded to the dtype of q once.",
)
def half(answer: Answer, trial: Trial) -> None:
    sizes = 2, 3, 7, 20, 6, 6
    outcomes: list[tuple[str, str, Tensor, Tensor]] = []
    for dtype in (torch.float16, torch.bfloat16):
        for level in (1, 300):
            q, k = (strided((level * randn(trial, 2, 3, length, 6)).to(dtype)) for length in (7, 20))
            v = torch.rand(2, 3, 20, 6, generator=trial.generator, dtype=torch.float64) + 0.5
            v = strided(v.to(dtype))
            words = told(sizes, dtype) + (f"; q and k are {level} times normal numbers" if level > 1 else "")
            trial.given(words)
            want = attention(q, k, v)
            got = trial.call(lambda now=(q, k, v): answer(*now, 6))
            if type(got) is not Tensor or (got.dtype, got.shape, got.requires_grad) != (
                dtype,
                want.shape,
                False,
            ):
                right_but_short(trial, got, want.to(dtype))
            outcomes.append((how_rounded(got, want, level), words, got, want.to(dtype)))
    wrong = next((each for each in outcomes if each[0] != "right"), None)
    if wrong:
        how, words, got, want = wrong
        trial.given(words)
        beyond = any(each[0] == "not finite" for each in outcomes)
        place = worst(got, want)
        trial.fail(
            f"The result is {how}, most so at {list(place)}."
            + (" Of larger q and k it is not finite." if beyond and how != "not finite" else ""),
            expected=f"{want[place].item():.6g} there: all computed in float32, and the result rounded once",
            got=f"{got[place].item():.6g}",
            observed=[how for how, *_ in outcomes],
        )


def worst(got: Tensor, want: Tensor) -> tuple[int, ...]:
    """Where two tensors are farthest apart, as a share of the right one; the first place that is not finite, if there is one."""
    apart = ((got.double() - want.double()).abs() / want.double()).nan_to_num(torch.inf)
    return tuple(int(at) for at in (apart == apart.max()).nonzero()[0])


def how_rounded(got: Tensor, want: Tensor, level: int) -> str:
    """Whether each number is the nearest that the type has to the right one; for large scores, whether it is near."""
    if not got.isfinite().all():
        return "not finite"
    apart = (got.double() - want).abs()
    if level > 1:  # where two scores are large and near to each other, float32 rounds them, too
        return "right" if bool((apart < 0.03 * want).all()) else "wrong"
    step = torch.finfo(got.dtype).eps * 2.0 ** want.log2().floor()
    if bool((apart <= 0.51 * step).all()):
        return "right"
    return "rounded more than once" if bool((apart < 0.03 * want).all()) else "wrong"


@attend_blockwise.property("no tensor is larger than q, a block of keys or the scores of a block", asks=LIMIT)
def small(answer: Answer, trial: Trial) -> None:
    for place, (sizes, dtype, gaps) in enumerate(
        [
            *((sizes, torch.float32, False) for sizes in SMALL),
            (SMALL[0], torch.float32, True),
            (SMALL[1], torch.bfloat16, False),
        ]
    ):
        batch, heads, queries, _, width, block = sizes
        q, k, v = (each if gaps else each.contiguous() for each in drawn(trial, sizes, dtype))
        parts = {
            "q": queries * width,
            "a block of keys": block * width,
            "the scores of a block": queries * block,
        }
        limit = batch * heads * max(parts.values())
        trial.given(told(sizes, dtype, ", not contiguous" if gaps else ""))
        with operations() as ran:
            answer(q, k, v, block)
        too_large = next((each for each in ran if each.made > limit), None)
        if too_large:
            trial.fail(
                f"The operation {too_large.name} makes a tensor of {too_large.made} numbers.",
                expected=f"{limit} numbers at most, as many as in {max(parts, key=parts.__getitem__)}",
                got=f"{too_large.made} numbers, from {too_large.name} of {' and '.join(map(str, too_large.shapes[:2]))}",
                observed=("large", largest_is(max(each.made for each in ran), sizes), place),
            )


def largest_is(numbers: int, sizes: Sizes) -> str:
    """What has so many numbers."""
    batch, heads, queries, keys, width, block = sizes
    known = {
        "all keys": (keys, width),
        "all scores": (queries, keys),
        "all keys and values": (2, keys, width),
        "a block's queries times keys, not summed": (queries, block, width),
        "results of all blocks": (-(-keys // block), queries, width),
    }
    named = {batch * heads * prod(shape): words for words, shape in known.items()}
    return named.get(numbers, "something else")


@attend_blockwise.property(
    "each block of keys is used once, by one product for the scores and one for the sum",
    asks="Each block of keys is used once: one product with q gives its scores, one with its values the sum.",
)
def once(answer: Answer, trial: Trial) -> None:
    sizes = batch, heads, queries, keys, width, block = (2, 3, 5, 32, 7, 11)  # blocks of 11, 11 and 10 keys
    q, k, v = drawn(trial, sizes, torch.float32)
    trial.given(told(sizes, torch.float32) + "; products are counted")
    with operations() as ran:
        answer(q, k, v, block)
    made, need = multiplications(ran), 2 * batch * heads * queries * keys * width
    trial.true(
        made
        < 1.4 * need,  # a column of ones beside the values, which gives the sum of the weights, costs 1 / 14
        f"The products multiply {made / need:.2g} times as many pairs of numbers as two products a block do.",
        expected=f"{need} multiplications: each block's scores once, each block's sum once",
        got=f"{made} multiplications",
        observed=("too many", round(made / need, 1)),
    )
    others = other_than(ran, 11, 10)
    trial.true(
        not others,
        "The products do not take `block` keys at a time.",
        expected="products with blocks of 11, 11 and 10 keys",
        got=f"{len(others)} products of other sizes, of {' and '.join(map(str, others[0])) if others else ''} for example",
        observed="other blocks",
    )


@attend_blockwise.property(
    "the memory in use does not grow with Lk", asks="The memory in use at one time does not grow with Lk."
)
def not_growing(answer: Answer, trial: Trial) -> None:
    for dtype in (torch.float32, torch.float16):
        most = []
        for keys in (12, 36):
            sizes = (2, 3, 5, keys, 7, 3)
            q, k, v = drawn(trial, sizes, dtype)
            trial.given(told(sizes, dtype))
            with living_memory() as living:
                answer(q, k, v, 3)
            most.append(living.most)
        trial.true(
            most[1] <= 1.1 * most[0],
            "With three times as many keys, more memory is in use at one time.",
            expected=f"{most[0]} bytes at most, as for 12 keys",
            got=f"{most[1]} bytes for 36 keys",
            observed=("grows", str(dtype)),
        )


@attend_blockwise.property("the arguments stay as they were", asks="The arguments stay as they were.")
def left_alone(answer: Answer, trial: Trial) -> None:
    for dtype in (torch.float64, torch.float32, torch.float16):
        for block in (3, 9):
            q, k, v = drawn(trial, (2, 3, 5, 7, 4, block), dtype)
            for each in ((q, k, v), tuple(part.contiguous() for part in (q, k, v))):
                trial.given(told((2, 3, 5, 7, 4, block), dtype))
                call_with(trial, answer, **dict(zip("qkv", each, strict=True)), block=block)
