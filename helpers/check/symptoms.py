"""Reads the numbers of a wrong result and names the bug that people usually have behind them.

These are guesses in words for the report; they never decide a verdict.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch


def of_layout(name: str, have: Any, need: Any) -> str:
    """A sentence about a wrong shape or dtype, or ""."""
    if name == "shape" and len(have) > 1 and tuple(reversed(have)) == tuple(need):
        return "The shape is the transpose of the expected one."
    if name == "shape" and tuple(n for n in have if n != 1) == tuple(n for n in need if n != 1):
        return "Only axes of length 1 differ: one was kept, dropped or added."
    if name == "dtype" and {have, need} == {torch.float32, torch.float64}:
        return (
            "A float64 usually comes in from NumPy or from .double(); a float32 from torch's default dtype."
        )
    if name == "requires_grad" and have:
        return "It is part of a graph: compute it under torch.no_grad(), or detach it."
    if name == "requires_grad" and need:
        return (
            "The result is cut off from the graph: look for detach(), .data, no_grad() or torch.tensor(...)."
        )
    return ""


def of_values(got: torch.Tensor, want: torch.Tensor) -> str:
    """A sentence about tensors of one shape whose values differ, or ""."""
    if got.dtype == torch.bool or got.dtype.is_complex or got.numel() == 0:
        return ""
    g, w = got.double(), want.double()
    if not (g.isfinite().all() and w.isfinite().all()):
        return ""
    one = w.numel() == 1
    if not g.any():
        return "" if one else "Every value is 0."
    if _near(g, w):
        return "They agree to four digits or more: think of a small constant, as eps, or of a shorter dtype on the way."
    if _near(g, -w):
        return "The sign is turned." if one else "Every sign is turned."
    if factor := _factor(g, w):
        if not one:
            return f"Every value is {factor} the expected one."
        # Any two numbers have a factor: only one that a person would recognise is told.
        return f"It is {factor} the expected one." if factor.startswith("exactly") else ""
    if w.numel() > 2:
        return _of_places(g, w)
    return ""


def _of_places(g: torch.Tensor, w: torch.Tensor) -> str:
    flat_g, flat_w = g.flatten(), w.flatten()
    if g.ndim == 2 and g.shape[0] == g.shape[1] and _near(g, w.T):
        return "It is the transpose of the expected result."
    for step in (1, -1):
        if _near(flat_g, flat_w.roll(step)):
            return f"It is the expected result, shifted by {'one place' if step == 1 else 'one place back'}."
    if _near(flat_g.sort().values, flat_w.sort().values):
        return "The values are the expected ones, in a different order."
    offset = flat_g - flat_w
    if offset.std() < 1e-6 * offset.abs().max():
        return f"Every value is {offset.mean():.4g} away from the expected one."
    return ""


def of_list(got: Any, want: Any) -> str:
    """A sentence about two short lists of plain values of one length, or ""."""
    try:
        # With their types: a tensor of one element, a NumPy number or a bool equals an int, and is not the expected item.
        have, need = (Counter((type(item), item) for item in items) for items in (got, want))
    except TypeError:  # a list among them, say
        return ""
    if have == need:
        return "The items are the expected ones, in a different order."
    if len(have) == 1 and len(need) > 1:
        return "Every item is the same."
    return ""


def _near(a: torch.Tensor, b: torch.Tensor) -> bool:
    size = float(b.abs().max())
    return bool(torch.isclose(a, b, rtol=1e-4, atol=1e-7 * min(1.0, size)).all())


def _factor(g: torch.Tensor, w: torch.Tensor) -> str:
    """The one factor between two tensors as a person would say it, or ""."""
    solid = w.abs() > 1e-6 * w.abs().max()
    if not solid.any():
        return ""
    factor = float((g[solid] / w[solid]).median())
    # With a factor beyond these a value is as good as 0, or as good as anything.
    if not 1e-6 <= abs(factor) <= 1e6 or not _near(g / factor, w):
        return ""
    n = w.shape[0] if w.ndim else 1
    for whole in range(2, 65):
        if abs(factor - whole) < 1e-4 * whole:
            return f"exactly {whole} times"
        if abs(factor * whole - 1) < 1e-4:
            return f"exactly 1/{whole} of"
    if n > 1 and abs(factor - (n - 1) / n) < 1e-5:
        return f"(n-1)/n of ({n - 1}/{n})"
    if n > 1 and abs(factor - n / (n - 1)) < 1e-5:
        return f"n/(n-1) times ({n}/{n - 1})"
    return f"{factor:.4g} times"
