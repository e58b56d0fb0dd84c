"""What 13.one_mask is tried with, and how a mask is compared with the one that is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from helpers.check.trial import Trial, plain

Answer = Any
BATCH, HEADS, WIDTH = 2, 3, 6


@dataclass(frozen=True)
class Case:
    """The arguments of one call."""

    q: Tensor
    k: Tensor
    causal: bool = False
    padding: Tensor | None = None
    blocked: Tensor | None = None

    def __str__(self) -> str:
        given = [f"q of shape {tuple(self.q.shape)}, k of shape {tuple(self.k.shape)}"]
        if self.q.dtype != torch.float32:
            given.append(f"both {short(self.q)}")
        given += ["causal=True"] * self.causal + ["padding"] * (self.padding is not None)
        if self.blocked is not None:
            given.append(f"blocked of {short(self.blocked)}")
        return ", ".join(given)

    def wanted(self) -> Tensor:
        """The mask in full, of shape (B, H, Lq, Lk)."""
        shape = (*self.q.shape[:3], self.k.shape[2])
        row, column = torch.arange(shape[2])[:, None], torch.arange(shape[3])
        allowed = torch.ones(shape, dtype=torch.bool)
        if self.causal:
            allowed &= column <= row + shape[3] - shape[2]
        if self.padding is not None:
            allowed &= ~self.padding[:, None, None]
        if self.blocked is None:
            return allowed
        if self.blocked.dtype == torch.bool:
            return allowed & ~self.blocked
        return self.blocked.to(self.q.dtype).expand(shape).masked_fill(~allowed, float("-inf"))


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
    """given: "causal", "padding"."""
    q, k = (
        torch.randn(batch, HEADS, length, WIDTH, generator=trial.generator).to(dtype)
        for length in (queries, keys)
    )
    padding = None
    if "padding" in given:
        real = torch.tensor(
            [keys - 1 - each for each in range(batch)]
        )  # so many keys of each sample are real
        padding = torch.arange(keys) >= real[:, None]
    return Case(q, k, "causal" in given, padding, drawn(trial, queries, keys, blocked))


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
    got = trial.call(answer, given.q, given.k, given.causal, given.padding, given.blocked)
    want = given.wanted()
    trial.true(
        got is not None,
        "None came back, which is no mask: each query looks at all.",
        expected=f"a {short(want)} mask",
        got=None,
        observed="None",
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
            expected=in_words(want[place]),
            got=in_words(full[place]),
            observed=("value", plain(full)),
        )
    return got


def in_words(entry: Tensor) -> str:
    if entry.dtype == torch.bool:
        return "True, the query may look" if entry else "False, the query may not look"
    return f"{float(entry):.6g}"
