"""What 13.one_mask is tried with, and how a mask is compared with the one that is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial, plain
from helpers.labs.attention.shared.arguments import call_with

Answer = Any
BATCH, HEADS, WIDTH = 2, 3, 6


@dataclass(frozen=True)
class Case:
    """The arguments of one call. about: what is special about them."""

    q: Tensor
    k: Tensor
    causal: bool = False
    padding: Tensor | None = None
    blocked: Tensor | None = None
    about: str = ""

    def __str__(self) -> str:
        given = [f"q of shape {tuple(self.q.shape)}, k of shape {tuple(self.k.shape)}"]
        if self.q.dtype != torch.float32:
            given.append(f"both {short(self.q)}")
        given += ["causal=True"] * self.causal + ["padding"] * (self.padding is not None)
        if self.blocked is not None:
            given.append(f"blocked of {short(self.blocked)}")
        if self.about:
            given.append(self.about)
        return ", ".join(given)

    def wanted(self) -> Tensor:
        """The mask in full, of shape (B, H, Lq, Lk)."""
        shape = (*self.q.shape[:3], self.k.shape[2])
        allowed = ~sum(self.out().values(), torch.zeros(shape, dtype=torch.bool))
        if self.blocked is None or self.blocked.dtype == torch.bool:
            return allowed
        return self.blocked.to(self.q.dtype).expand(shape).masked_fill(~allowed, float("-inf"))

    def out(self) -> dict[str, Tensor]:
        """What blocks, and where, each of the shape (B, H, Lq, Lk)."""
        shape = (*self.q.shape[:3], self.k.shape[2])
        row, column = torch.arange(shape[2])[:, None], torch.arange(shape[3])
        out = {}
        if self.causal:
            out["`causal`"] = column > row + shape[3] - shape[2]
        if self.padding is not None:
            out["`padding`"] = self.padding[:, None, None]
        if self.blocked is not None and self.blocked.dtype == torch.bool:
            out["`blocked`"] = self.blocked
        return {name: each.expand(shape) for name, each in out.items()}


def short(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def case(
    trial: Trial,
    queries: int,
    keys: int,
    *given: str,
    blocked: torch.dtype | None = None,
    dtype: torch.dtype = torch.float32,
    batch: int = BATCH,
) -> Case:
    """given: "causal", "padding". Each query has a key that nothing blocks."""
    q, k = (
        torch.randn(batch, HEADS, length, WIDTH, generator=trial.generator).to(dtype)
        for length in (queries, keys)
    )
    while True:
        padding = holes(trial, batch, keys) if "padding" in given else None
        made = Case(q, k, "causal" in given, padding, drawn(trial, queries, keys, blocked))
        seen = made.wanted()
        if bool((seen if seen.dtype == torch.bool else seen.isfinite()).any(-1).all()):
            return made


def holes(trial: Trial, batch: int, keys: int) -> Tensor:
    """Padding at the end of each sample and between real keys, in no two samples the same."""
    while True:
        padding = torch.rand(batch, keys, generator=trial.generator) < 0.4
        padding[:, 0], padding[:, -1] = False, True
        between = (padding[:, :-1] & ~padding[:, 1:]).any(1).all()
        if bool(between) and len(padding.unique(dim=0)) == batch:
            return padding


def drawn(trial: Trial, queries: int, keys: int, dtype: torch.dtype | None) -> Tensor | None:
    """What blocks a key for a query, at random, and the first two keys for the last query; floats hold some -inf."""
    if dtype is None:
        return None
    blocked = torch.rand(queries, keys, generator=trial.generator) < 0.3
    blocked[-1, :2], blocked[0, 0] = True, False
    if dtype == torch.bool:
        return blocked
    numbers = torch.randn(queries, keys, generator=trial.generator, dtype=torch.float64).to(dtype)
    return numbers.masked_fill(blocked, float("-inf"))


def require(answer: Answer, trial: Trial, given: Case) -> Tensor:
    """The mask that the answer gives; wrong if it is not the one that is asked for, whatever its size."""
    trial.given(str(given))
    trial.arguments_stay("The arguments stay as they were.")
    got = call_with(
        trial,
        answer,
        q=given.q,
        k=given.k,
        causal=given.causal,
        padding=given.padding,
        blocked=given.blocked,
    )
    want = given.wanted()
    trial.true(
        got is not None,
        "None came back, which is no mask: each query looks at all.",
        expected=f"a {short(want)} mask",
        got=None,
        observed=("None", str(given)),
    )
    if type(got) is not Tensor:
        trial.equal(got, want)
    trial.true(
        got.dtype == want.dtype,
        f"The mask is {short(got)}, and {short(want)} is asked for.",
        expected=f"dtype {short(want)}",
        got=f"dtype {short(got)}",
        observed=("dtype", short(got)),
    )
    try:
        full = got.expand(want.shape)
    except RuntimeError:
        trial.fail(
            f"A mask of shape {tuple(got.shape)} does not broadcast to (B, H, Lq, Lk), which is {tuple(want.shape)}.",
            expected=f"a shape that broadcasts to {tuple(want.shape)}",
            got=f"shape {tuple(got.shape)}",
            observed=("shape", tuple(got.shape)),
        )
    wrong = (full != want) if want.dtype == torch.bool else ~full.isclose(want)
    if bool(wrong.any()):
        place = tuple(int(at) for at in wrong.nonzero()[0])
        trial.fail(
            f"{int(wrong.sum())} of {wrong.numel()} entries of the mask, broadcast to (B, H, Lq, Lk), are wrong, first that "
            f"of query {place[2]} and key {place[3]} at {list(place)}.",
            expected=f"{in_words(want[place])}: {reason(given, place)}",
            got=in_words(full[place]),
            observed=("value", plain(full)),
        )
    return got


def reason(given: Case, place: tuple[int, ...]) -> str:
    """Why an entry of the mask is as it is to be."""
    names = [name for name, out in given.out().items() if bool(out[place])]
    if names:
        return f"{' and '.join(names)} block{'s' * (len(names) == 1)} the key"
    if given.blocked is not None and given.blocked.dtype != torch.bool:
        return "`blocked` has this number"
    return "nothing blocks the key"


def in_words(entry: Tensor) -> str:
    if entry.dtype == torch.bool:
        return "True, the query may look" if entry else "False, the query may not look"
    return f"{float(entry):.6g}"
