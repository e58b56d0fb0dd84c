"""Calls in a row, and what causal attention gives in each: what the properties of 13.kv_cache have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from helpers.check.compare import difference
from helpers.check.trial import Trial, plain


@dataclass(frozen=True)
class Positions:
    """Queries, keys and values of all positions, of shape (B, H, T, D), and the room of the cache.

    apart: whether a call gets them as heads are split in a model, by a transpose: not contiguous.
    """

    q: Tensor
    k: Tensor
    v: Tensor
    room: int
    apart: bool = False

    def of(self, start: int, stop: int) -> tuple[Tensor, Tensor, Tensor]:
        """q, k and v of a call: tensors of their own, leaves that require grad where these do."""
        return tuple(self._part(each, start, stop) for each in (self.q, self.k, self.v))  # type: ignore[return-value]

    def _part(self, whole: Tensor, start: int, stop: int) -> Tensor:
        part = whole.detach()[:, :, start:stop]
        part = part.transpose(1, 2).contiguous().transpose(1, 2) if self.apart else part
        part = part.clone(memory_format=torch.preserve_format if self.apart else torch.contiguous_format)
        return part.requires_grad_(whole.requires_grad)

    def empty(self, answer: Any) -> Any:
        """A cache of the right size. float32 is left out, as the default."""
        batch, heads, _, width = self.k.shape
        dtype = self.k.dtype
        more = {} if dtype == torch.float32 else {"dtype": dtype}
        return answer(batch, heads, self.room, width, **more)

    def wanted(self, start: int, stop: int) -> Tensor:
        """What causal attention gives for the positions from start to stop, in float64."""
        return _attention(*self._seen(stop), _causal(start, stop), start, self.k.shape[-1] ** 0.5)

    def _seen(self, stop: int) -> tuple[Tensor, Tensor, Tensor]:
        return tuple(each.detach().double()[:, :, :stop] for each in (self.q, self.k, self.v))  # type: ignore[return-value]

    def in_words(self, got: Tensor, start: int, stop: int) -> str:
        """What a wrong result is instead; "" for nothing that is known."""
        for words, value in self._instead(start, stop):
            if torch.allclose(got.double(), value, rtol=1e-3, atol=1e-4, equal_nan=True):
                return words
        return "NaN" if bool(got.isnan().any()) else ""

    def _instead(self, start: int, stop: int) -> Iterator[tuple[str, Tensor]]:
        q, k, v = self._seen(stop)
        heads, width = k.shape[1], k.shape[-1]
        row, column = torch.arange(start, stop)[:, None], torch.arange(stop)
        causal = _causal(start, stop)
        for words, allowed in {
            "each also looks at the later ones of the same call": column >= 0,
            "each looks as if its call were the first: the mask is aligned with the first keys": column
            <= row - start,
            "each looks at those of its own call only, the earlier calls are missing": causal
            & (column >= start),
            "each looks at all of its own call only": (column >= start).expand_as(causal),
            "each looks at those before it, and not at itself": column < row,
            "each also looks at the one after it": column <= row + 1,
            "each looks at those after it: the mask is inverted": column > row,
            "each looks at itself only": column == row,
            "each looks at the first position only": (column == 0).expand_as(causal),
        }.items():
            yield words, _attention(q, k, v, allowed.expand_as(causal), start, width**0.5)
        for words, scale in {
            "the scores are not divided": 1.0,
            "the scores are divided by D": width,
            "the scores are divided by sqrt(H * D)": (heads * width) ** 0.5,
            "the scores are divided by sqrt(H)": heads**0.5,
            "the scores are multiplied by sqrt(D)": width**-0.5,
        }.items():
            yield words, _attention(q, k, v, causal, start, scale)
        scores = q[:, :, start:] @ k.transpose(-2, -1) / width**0.5
        yield "the weights were blocked after the softmax", scores.softmax(-1).mul(causal) @ v
        yield "the mask of 0 and 1 was added to the scores", (scores + causal).softmax(-1) @ v
        yield (
            "the softmax runs over the queries",
            scores.masked_fill(~causal, float("-inf")).softmax(-2) @ v,
        )
        yield "the keys stand where the values belong", _attention(q, k, k, causal, start, width**0.5)
        k, v = (torch.nn.functional.pad(each, (0, 0, 0, self.room - stop)) for each in (k, v))
        free = torch.nn.functional.pad(causal, (0, self.room - stop), value=True)
        yield "the room that is not filled counts, too", _attention(q, k, v, free, start, width**0.5)


def _causal(start: int, stop: int) -> Tensor:
    return torch.ones(stop - start, stop, dtype=torch.bool).tril(start)


def _attention(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor, start: int, scale: float) -> Tensor:
    scores = q[:, :, start:] @ k.transpose(-2, -1) / scale
    return scores.masked_fill(~allowed, float("-inf")).softmax(-1) @ v


def positions(
    trial: Trial,
    shape: tuple[int, int, int, int] = (2, 3, 9, 5),
    room: int = 11,
    *,
    dtype: torch.dtype = torch.float32,
    apart: bool = False,
    requires_grad: bool = False,
    times: float = 1.0,
) -> Positions:
    """Random ones. times: what queries are multiplied with."""
    q, k, v = torch.randn(3, *shape, generator=trial.generator, dtype=torch.float64)
    return Positions(
        *(each.to(dtype).requires_grad_(requires_grad) for each in (q * times, k, v)), room, apart
    )


def fed(
    answer: Any,
    trial: Trial,
    now: Positions,
    sizes: tuple[int, ...],
    *,
    rtol: float = 1e-4,
    atol: float = 1e-5,
) -> Any:
    """A cache that was called with as many positions as `sizes` says; each result is compared, once more at the end."""
    cache, start, results = now.empty(answer), 0, []
    for size in sizes:
        stop = start + size
        try:
            got = trial.call(cache.attend, *now.of(start, stop))
        except ValueError as error:
            if stop < now.room:
                raise
            trial.fail(
                f"ValueError was raised for {counted(size)} behind {start}. Together that is {stop}, for which there is room.",
                expected="a result: the last place may be taken, too",
                got=f"ValueError: {error}",
                observed="refused what fits",
            )
        right(trial, now, got, start, stop, rtol=rtol, atol=atol)
        results.append((got, got.detach().clone()))
        start = stop
    changed = [place for place, (got, was) in enumerate(results) if not torch.equal(got.detach(), was)]
    trial.true(
        not changed,
        "A result changed after it was returned: a later call wrote over it.",
        expected="results of their own",
        got=f"result {changed[0] + 1} is different after call {len(sizes)}" if changed else None,
        observed="results change",
    )
    return cache


def counted(number: int) -> str:
    return f"{number} position{'s' * (number != 1)}"


def right(
    trial: Trial, now: Positions, got: Any, start: int, stop: int, *, rtol: float = 1e-4, atol: float = 1e-5
) -> None:
    """The result of the call with the positions from start to stop is what causal attention gives."""
    want = now.wanted(start, stop).to(now.q.dtype)
    place = f"Position {start}" if stop == start + 1 else f"Positions {start} to {stop - 1}"
    fits = type(got) is Tensor and got.shape == want.shape and got.dtype == want.dtype
    if fits and not difference(got.detach(), want, rtol=rtol, atol=atol):
        return
    words = now.in_words(got.detach(), start, stop) if fits else ""
    trial.equal(
        got.detach() if fits else got,
        want,
        f"{place}, with {start} before" + (f" ({words})" if words and words != "NaN" else ""),
        rtol=rtol,
        atol=atol,
        observed=(words, start > 0, stop - start > 1) if words else None,
    )


def held(trial: Trial, now: Positions, cache: Any, stop: int) -> tuple[Tensor, Tensor]:
    """cache.keys and cache.values, which hold the positions before stop."""
    found = []
    for name, whole in (("keys", now.k), ("values", now.v)):
        part, want = getattr(cache, name), whole.detach()[:, :, :stop]
        known = {"keys": now.k.detach()[:, :, :stop], "values": now.v.detach()[:, :, :stop]}
        is_like = type(part) is Tensor and part.shape == want.shape and part.dtype == want.dtype
        instead = (
            next((word for word, each in known.items() if torch.equal(part.detach(), each)), "other numbers")
            if is_like
            else ""
        )
        trial.equal(
            part.detach() if is_like else part,
            want,
            f"cache.{name} after {stop} positions",
            rtol=0,
            atol=0,
            observed=(
                name,
                instead or (plain(tuple(part.shape)) if type(part) is Tensor else type(part).__name__),
            ),
        )
        found.append(part)
    return found[0], found[1]
