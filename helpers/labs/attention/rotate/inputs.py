"""The right turn in float64, and wrong ones with their names: what the properties of 13.rotate compare with."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from helpers.check.compare import difference
from helpers.check.trial import Trial


def turned(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """What rotate gives, in float64."""
    return _turn(x.double(), angles_of(positions.double(), x.shape[-1], base))


def turned_with(
    x: Tensor, positions: Tensor, base: float, low: torch.dtype, *, of_base: bool, of_exponents: bool
) -> Tensor:
    """What rotate gives in float64 where the base, or the exponents, were rounded to `low` first."""
    base = torch.tensor(base, dtype=low if of_base else torch.float64).item()
    width = x.shape[-1]
    exponents = torch.arange(0, width, 2, dtype=low if of_exponents else torch.float64) / width
    return _turn(x.double(), positions.double()[:, None] * base ** -exponents.double())


def angles_of(positions: Tensor, width: int, base: float, each: float = 2.0) -> Tensor:
    speed = base ** (-each * torch.arange(width // 2, dtype=torch.float64) / width)
    return positions[:, None] * speed


def _turn(x: Tensor, angles: Tensor) -> Tensor:
    return joined(*_pair(*halves(x), angles))


def _pair(a: Tensor, b: Tensor, angles: Tensor) -> tuple[Tensor, Tensor]:
    return a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()


def halves(x: Tensor) -> tuple[Tensor, Tensor]:
    return x[..., 0::2], x[..., 1::2]


def joined(a: Tensor, b: Tensor) -> Tensor:
    return torch.stack((a, b), dim=-1).flatten(-2)


def _instead(
    x: Tensor, positions: Tensor, base: float, earlier: Tensor | None, earlier_base: float | None
) -> Iterator[tuple[str, Tensor]]:
    """Wrong results in float64, each with what it is. earlier, earlier_base: of an earlier call of this size."""
    x, at, width = x.double(), positions.double(), x.shape[-1]
    angles = angles_of(at, width, base)
    a, b = halves(x)
    cos, sin = angles.cos(), angles.sin()
    yield "nothing is turned", x
    yield "turned the other way", _turn(x, -angles)
    yield (
        "feature i is paired with feature i + D / 2",
        torch.cat(_pair(x[..., : width // 2], x[..., width // 2 :], angles), -1),
    )
    yield (
        "all first halves of the pairs stand before all second ones",
        torch.cat(_pair(a, b, angles), -1),
    )
    yield (
        "feature i is paired with feature i + D / 2, and they are interleaved in the result",
        joined(*_pair(x[..., : width // 2], x[..., width // 2 :], angles)),
    )
    yield "the new a went into b", joined(a * cos - b * sin, (a * cos - b * sin) * sin + b * cos)
    yield "both signs are +", joined(a * cos + b * sin, a * sin + b * cos)
    yield "both signs are -", joined(a * cos - b * sin, a * sin - b * cos)
    yield "cos and sin are swapped", joined(a * sin - b * cos, a * cos + b * sin)
    yield "a and b are swapped", joined(*_pair(b, a, angles))
    yield "added, not turned", x + joined(sin, cos)
    yield "multiplied by cos alone", joined(a * cos, b * cos)
    rows = torch.arange(len(positions), dtype=torch.float64)
    for words, other in {
        "the exponent is +2i / D": angles_of(at, width, base, -2.0),
        "the exponent is -i / D": angles_of(at, width, base, 1.0),
        "the exponent is -4i / D": angles_of(at, width, base, 4.0),
        "all pairs are turned by the same angle": angles_of(at, width, base, 0.0),
        "the positions count from 1": angles_of(at + 1, width, base),
        "the rows are counted, and the positions not read": angles_of(rows, width, base),
        "the rows are counted on from the first position": angles_of(rows + at[0], width, base),
        "the positions are taken from the last row back": angles_of(at.flip(0), width, base),
        "the positions begin at the smallest one": angles_of(at - at.min(), width, base),
        "the position is taken from the first": angles_of(at - at[0], width, base),
        "the base is 10,000": angles_of(at, width, 10_000.0),
        "the angle is taken in degrees": angles * math.pi / 180,
        "the angle is a whole turn times too large": angles * 2 * math.pi,
        "the angle is divided by the position's number": angles / max(len(positions), 1),
        "the exponents go from 0 to -1": at[:, None]
        * base ** -torch.linspace(0, 1, width // 2, dtype=torch.float64),
    }.items():
        yield words, _turn(x, other)
    if earlier is not None:
        yield "the positions are those of an earlier call", _turn(x, angles_of(earlier.double(), width, base))
    if earlier_base is not None:
        yield "the base is that of an earlier call", _turn(x, angles_of(at, width, earlier_base))


def in_words(
    got: Any,
    x: Tensor,
    positions: Tensor,
    base: float = 10_000.0,
    earlier: Tensor | None = None,
    earlier_base: float | None = None,
) -> str:
    """What a wrong result is instead; "" for nothing that is known."""
    if type(got) is not Tensor or got.shape != x.shape:
        return ""
    got, loose = got.detach().double(), 1e-6 if got.dtype == torch.float64 else 1e-2
    want = turned(x.detach(), positions, base)
    for words, each in _instead(x.detach(), positions, base, earlier, earlier_base):
        tells = not torch.allclose(
            each, want, rtol=3 * loose, atol=3 * loose
        )  # a different thing than a slip
        if tells and torch.allclose(got, each, rtol=loose, atol=loose):
            return words
    return "NaN" if bool(got.isnan().any()) else ""


def right(
    trial: Trial,
    got: Any,
    x: Tensor,
    positions: Tensor,
    base: float = 10_000.0,
    *,
    what: str = "The result",
    rtol: float = 1e-4,
    atol: float = 1e-4,
    observed: str = "",
    earlier: Tensor | None = None,
    earlier_base: float | None = None,
) -> None:
    """The result is the right turn. observed: what is known of a wrong one already. earlier, earlier_base: as for `in_words`."""
    want = turned(x.detach(), positions, base).to(x.dtype)
    fits = type(got) is Tensor and got.shape == want.shape and got.dtype == want.dtype
    if fits and not difference(got.detach(), want, rtol=rtol, atol=atol):
        return
    words = in_words(got, x, positions, base, earlier, earlier_base) if fits and not observed else ""
    trial.equal(
        got.detach() if fits else got,
        want,
        f"{what}{f' ({words})' if words and words != 'NaN' else ''}",
        rtol=rtol,
        atol=atol,
        observed=observed or words or None,
    )


def some(trial: Trial, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=trial.generator, dtype=torch.float64).to(dtype)
