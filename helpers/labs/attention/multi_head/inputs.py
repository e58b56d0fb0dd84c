"""What 13.multi_head is tried with, and how results and gradients are compared with torch's own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.check.calls import calls_to
from helpers.check.operations import operations
from helpers.check.trial import Trial
from helpers.labs.attention.shared.arguments import call_with

Answer = Any
WEIGHTS = ("in_w", "in_b", "out_w", "out_b")
ATTENTION = (
    nn.MultiheadAttention.forward,
    F.multi_head_attention_forward,
    F.scaled_dot_product_attention,
    torch._native_multi_head_attention,
)


def drawn(
    trial: Trial, batch: int, length: int, features: int, dtype: torch.dtype = torch.float32
) -> list[Tensor]:
    """x and the four weights, such that scores are normal numbers."""
    shapes = (
        (batch, length, features),
        (3 * features, features),
        (3 * features,),
        (features, features),
        (features,),
    )
    drawn = [torch.randn(shape, generator=trial.generator, dtype=torch.float64) for shape in shapes]
    for weight in (drawn[1], drawn[3]):
        weight /= features**0.5
    return [each.to(dtype) for each in drawn]


def mask(trial: Trial, length: int, empty: tuple[int, ...] = ()) -> Tensor:
    """Some positions blocked in each row, and some not, not symmetric; in the rows `empty` all."""
    while True:
        blocked = torch.rand(length, length, generator=trial.generator) < 0.4
        count = blocked.sum(1)
        if bool((count > 0).all() and (count < length).all()) and not torch.equal(blocked, blocked.T):
            blocked[list(empty)] = True
            return blocked


def causal(length: int) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool).triu(1)


def torchs_own(args: list[Tensor], heads: int, blocked: Tensor | None = None) -> Tensor:
    """What `nn.MultiheadAttention(E, heads, batch_first=True)` gives with these weights; lower dtypes by float32."""
    wide = torch.promote_types(args[0].dtype, torch.float32)
    x, in_w, in_b, out_w, out_b = (each.to(wide) for each in args)
    time_first = x.transpose(0, 1)
    result, _ = F.multi_head_attention_forward(
        time_first,
        time_first,
        time_first,
        x.shape[-1],
        heads,
        in_w,
        in_b,
        None,
        None,
        False,
        0.0,
        out_w,
        out_b,
        need_weights=False,
        attn_mask=blocked,
    )
    return result.transpose(0, 1).to(args[0].dtype)


def text(args: list[Tensor], heads: int, blocked: str = "") -> str:
    """The input in words."""
    x = args[0]
    dtype = "" if x.dtype == torch.float32 else f", {str(x.dtype).removeprefix('torch.')}"
    return f"x of shape {tuple(x.shape)}{dtype}, heads {heads}" + (f", blocked {blocked}" if blocked else "")


def compared(
    answer: Answer,
    trial: Trial,
    args: list[Tensor],
    heads: int,
    blocked: Tensor | None = None,
    *,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Wrong if the result is not torch's."""
    trial.arguments_stay("The arguments stay as they were.")
    got = called(answer, trial, args, heads, blocked)
    trial.equal(got, torchs_own(args, heads, blocked), rtol=rtol, atol=atol)


def called(
    answer: Answer, trial: Trial, args: list[Tensor], heads: int, blocked: Tensor | None = None
) -> Any:
    named = {**dict(zip(("x", *WEIGHTS), args, strict=True)), "heads": heads}
    return call_with(trial, answer, **named, **({} if blocked is None else {"blocked": blocked}))


def compare_gradients(
    answer: Answer,
    trial: Trial,
    args: list[Tensor],
    heads: int,
    blocked: Tensor | None,
    needing: tuple[str, ...] = ("x", *WEIGHTS),
) -> None:
    """Wrong if a gradient of `needing` is not torch's, for a random one that comes in; the others are frozen."""
    named = dict(zip(("x", *WEIGHTS), args, strict=True))
    leaves = {name: each.clone().requires_grad_(name in needing) for name, each in named.items()}
    got = called(answer, trial, [*leaves.values()], heads, blocked)
    want = torchs_own([*leaves.values()], heads, blocked)
    trial.equal(got, want, observed="values with gradients")
    above = torch.randn(want.shape, generator=trial.generator, dtype=want.dtype)
    inputs = [leaves[name] for name in needing]
    slopes = torch.autograd.grad(got, inputs, above, allow_unused=True)
    rights = torch.autograd.grad(want, inputs, above)
    states = {
        part: state(mine, right)
        for name, slope, other in zip(needing, slopes, rights, strict=True)
        for part, mine, right in in_parts(name, slope, other)
    }
    kinds = {kind: [part for part, its in states.items() if its == kind] for kind in states.values() if kind}
    for kind, parts in kinds.items():
        trial.fail(
            f"{kind} as the gradient of {', '.join(parts)}.",
            expected="the gradients that come through torch's module",
            got=", ".join(f"{word} for {', '.join(its)}" for word, its in kinds.items()),
            observed="NaN" if "NaN" in kinds else sorted((part, its) for part, its in states.items() if its),
        )


def in_parts(name: str, slope: Tensor | None, right: Tensor) -> list[tuple[str, Tensor | None, Tensor]]:
    """A gradient; that of the packed weights in three parts."""
    if not name.startswith("in_") or slope is None or slope.shape != right.shape:
        return [(name, slope, right)]
    thirds = zip(("queries", "keys", "values"), slope.chunk(3), right.chunk(3), strict=True)
    return [(f"{name} ({part})", mine, its) for part, mine, its in thirds]


def state(slope: Tensor | None, right: Tensor) -> str:
    """What is wrong with a gradient; "" if it is right."""
    if slope is None:
        return "None"
    if slope.isnan().any():
        return "NaN"
    if slope.shape == right.shape and torch.allclose(slope, right, rtol=1e-7, atol=1e-9):
        return ""
    return "Zeros" if not slope.any() else "Wrong numbers"


def without_torchs_attention(trial: Trial, run: Callable[[], Any]) -> None:
    """Wrong if torch's attention works inside of `run`. What `run` raises is for other properties to tell."""
    with calls_to(*ATTENTION) as seen, operations() as ran, contextlib.suppress(Exception):
        run()
    used = sorted({*seen, *(each.name for each in ran if "attention" in each.name)})
    trial.true(
        not used,
        f"The answer calls {' and '.join(used[:2])}, which is what this exercise builds.",
        expected="attention made of products and a softmax",
        got=", ".join(used),
        observed="attention of torch",
    )
