"""Exercise 13.grouped: several query heads share the keys and values of one head."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.check.compare import difference
from helpers.check.operations import operations
from helpers.check.trial import Mismatch, Trial
from helpers.exercise import Exercise
from helpers.labs.attention.grouped.inputs import (
    GROUPS,
    LONG,
    ONE,
    PLAIN,
    UNEVEN,
    Answer,
    Sizes,
    drawn,
    reference,
    told,
)
from helpers.labs.attention.shared.blocks import randn, require_own_work

grouped = Exercise(
    "13.grouped",
    "Fewer keys than queries",
    objective="Let several query heads share the keys and values of one head, without copying them.",
    minutes=15,
    difficulty="medium",
    core=False,
    hints=[
        "With repeat_interleave(Hq / Hk, dim=1) of k and v it is ordinary attention. That copies them, and so does matmul where it "
        "broadcasts over a dimension of the heads in a group.",
        "Turn it round: what the heads of a group have in common are keys. Their queries are rows that meet the same keys, "
        "whether they belong to one head or to several.",
        "reshape q from (B, Hq, Lq, D) to (B, Hk, Hq / Hk * Lq, D): the heads of a group become one head with more queries. The "
        "softmax goes over keys, so it does not mind. Afterwards reshape back to the shape of q.",
        "`if heads % shared: raise ValueError(...)`; `rows = (q / width**0.5).reshape(batch, shared, heads // shared * length, "
        "width)`; `return ((rows @ k.transpose(-2, -1)).softmax(-1) @ v).reshape(q.shape)`.",
    ],
)

TITLE = "Attention in which groups of query heads share keys and values, as SDPA with `enable_gqa=True`."
SHAPE = "Shape and dtype of q."
GROUP = "Query head h looks at the keys and values of head h // (Hq / Hk): the heads of a group stand side by side."
SCALE = "The scores are divided by sqrt(D)."
LAYOUT = "floating, in any layout"
LARGE = "Scores may be large: with float32 and scores of 20,000 the result is finite, and right to 0.01."
WHERE = (
    "k and v, if contiguous, are read where they are and in their own dtype: no tensor is made that has as many numbers as "
    "k, as long as q and the scores, of shape (B, Hq, Lq, Lk), have fewer."
)
RAISES = "If Hk does not divide Hq, ValueError is raised."


def compared(
    answer: Answer, trial: Trial, sizes: Sizes, dtype: torch.dtype = torch.float64, gaps: bool = True
) -> None:
    q, k, v = drawn(trial, sizes, dtype, gaps)
    trial.given(told(sizes, dtype, ", not contiguous" if gaps else ""))
    want = reference(*(each.double() for each in (q, k, v))).to(dtype)
    got = trial.call(lambda: answer(q, k, v))
    observed: Any = None
    if type(got) is Tensor and got.shape == want.shape:
        if got.dtype != dtype:
            observed = "dtype", str(got.dtype)
        elif not torch.allclose(got, want, rtol=0.1, atol=0.1) and _same_numbers(got, want):
            observed = "the numbers in a different order"
        elif not got.requires_grad and torch.allclose(got, want, rtol=1e-4, atol=1e-4):
            observed = "in its first digits only"
    # In half precision scores, weights and products may each be rounded.
    rtol, atol = {torch.float16: (1e-2, 1e-2), torch.bfloat16: (6e-2, 6e-2)}.get(dtype, (None, None))
    trial.equal(got, want, rtol=rtol, atol=atol, observed=observed)


def _same_numbers(got: Tensor, want: Tensor) -> bool:
    got, want = (each.detach().double().flatten().sort().values for each in (got, want))
    return torch.allclose(got, want, rtol=1e-4, atol=1e-4)


@grouped.property("no attention of torch's works inside", asks="It calls no attention of torch's.")
def own_work(answer: Answer, trial: Trial) -> None:
    inputs = [drawn(trial, sizes, torch.float32) for sizes in (GROUPS[0], PLAIN[0], ONE[0])]
    trial.given(f"{told(GROUPS[0], torch.float32)}, and with other numbers of heads; calls are watched")

    def each() -> None:
        for one in inputs:
            answer(*one)

    require_own_work(trial, each)


@grouped.property(
    "as many heads of keys as of queries: ordinary attention", asks=(TITLE, GROUP, SCALE, SHAPE)
)
def plain_heads(answer: Answer, trial: Trial) -> None:
    for sizes in PLAIN:
        compared(answer, trial, sizes, gaps=False)


@grouped.property("q, k and v in any layout", asks=LAYOUT)
def any_layout(answer: Answer, trial: Trial) -> None:
    for sizes in PLAIN:
        compared(answer, trial, sizes)


@grouped.property("groups of heads, side by side", asks=(TITLE, GROUP))
def groups(answer: Answer, trial: Trial) -> None:
    for sizes in GROUPS:
        compared(answer, trial, sizes)


@grouped.property("one head of keys for all queries", asks=GROUP)
def one_head(answer: Answer, trial: Trial) -> None:
    for sizes in ONE:
        compared(answer, trial, sizes)


@grouped.property("the arguments stay as they were", asks="The arguments stay as they were.")
def left_alone(answer: Answer, trial: Trial) -> None:
    # Before the gradients, which are wrong where an argument was edited.
    for dtype, sizes, gaps in (
        (torch.float64, GROUPS[0], False),
        (torch.float64, GROUPS[0], True),
        (torch.float32, PLAIN[0], False),
        (torch.float16, ONE[0], False),
    ):
        trial.given(told(sizes, dtype, ", not contiguous" if gaps else ""))
        trial.call(answer, *drawn(trial, sizes, dtype, gaps))


@grouped.property("each floating dtype", asks=(SHAPE, TITLE))
def dtypes(answer: Answer, trial: Trial) -> None:
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        compared(answer, trial, GROUPS[0], dtype)


@grouped.property("large scores", asks=LARGE)
def large_scores(answer: Answer, trial: Trial) -> None:
    q, k, v = (each.float() for each in drawn(trial, GROUPS[0]))
    q, k = q.sign() * 100, k.sign() * 100  # each score is a multiple of 10,000
    trial.given(told(GROUPS[0], torch.float32, "; scores are up to 20,000"))
    want = reference(q, k, v)
    got = trial.call(lambda: answer(q, k, v))
    finite = type(got) is not Tensor or bool(got.isfinite().all())
    # In float32 a logarithm of a sum near 20,000 is 0.001 off, and so is the weight that is computed from it.
    trial.equal(got, want, rtol=1e-2, atol=1e-2, observed=None if finite else "large scores are not finite")


@grouped.property("q, k and v get their gradients", asks="q, k and v get the gradients that they get there.")
def gradients(answer: Answer, trial: Trial) -> None:
    for sizes in (GROUPS[0], ONE[0], PLAIN[0]):
        q, k, v = (each.requires_grad_() for each in drawn(trial, sizes))
        trial.given(told(sizes, more="; all require grad, a normal gradient comes in"))
        grad_out = randn(trial, *q.shape)
        wants = torch.autograd.grad(reference(q, k, v), (q, k, v), grad_out)
        got = trial.call(lambda now=(q, k, v): answer(*now))
        trial.true(
            type(got) is Tensor and got.requires_grad,
            "q, k and v require grad, and the result does not.",
            expected="a result with a graph behind it",
            got=got,
            observed="off the graph",
        )
        slopes = torch.autograd.grad(got, (q, k, v), grad_out, allow_unused=True)
        how = {
            name: "none" if one is None else "wrong" if difference(one, want) else "right"
            for name, one, want in zip("qkv", slopes, wants, strict=True)
        }
        for name, one, want in zip("qkv", slopes, wants, strict=True):
            trial.true(one is not None, f"{name} gets no gradient.", expected=want, got="None", observed=how)
            trial.equal(one, want, f"The gradient of {name}", observed=how)


@grouped.property("k and v are read where they are", asks=WHERE)
def not_copied(answer: Answer, trial: Trial) -> None:
    for dtype in (torch.float32, torch.float16):
        for place, sizes in enumerate(LONG):
            batch, heads, shared, queries, keys, width = sizes
            q, k, v = drawn(trial, sizes, dtype, gaps=False)
            trial.given(told(sizes, dtype))
            with operations() as ran:
                answer(q, k, v)
            large = max(ran, key=lambda each: each.made)
            copies = large.made / k.numel()
            trial.true(
                large.made < k.numel(),
                f"The operation {large.name} makes a tensor of {large.made} numbers, and k has {k.numel()}.",
                expected=f"fewer than {k.numel()} numbers: the scores have {batch * heads * queries * keys}, q has {q.numel()}",
                got=f"{large.made} numbers, from {large.name} of {' and '.join(map(str, large.shapes[:2]))}",
                observed=("large", copies, heads // shared, place, str(dtype)),
            )


@grouped.property("query heads that cannot be shared evenly raise ValueError", asks=RAISES)
def uneven(answer: Answer, trial: Trial) -> None:
    seen: list[str] = []
    for sizes in UNEVEN:
        q, k, v = drawn(trial, sizes, gaps=False)
        trial.given(told(sizes))
        try:
            trial.call(lambda now=(q, k, v): answer(*now))
        except (NotImplementedError, Mismatch):
            raise
        except Exception as error:
            seen.append("ValueError" if isinstance(error, ValueError) else type(error).__name__)
        else:
            seen.append("nothing")
    wrong = [(sizes, raised) for sizes, raised in zip(UNEVEN, seen, strict=True) if raised != "ValueError"]
    if wrong:
        sizes, raised = wrong[0]
        trial.given(told(sizes))
        trial.fail(
            f"For {sizes[1]} query heads and {sizes[2]} heads of keys {raised} is raised.",
            expected="ValueError",
            got=raised,
            observed=(raised, "where Hk is larger" if sizes[1] < sizes[2] else "where Hq is larger"),
        )
