"""How large the error of a product in TF32 is: emulated, and the emulation's results kept for the checks."""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.labs.streams.shared.rounding import tf32

DATA = ("normal", "uniform")
TERMS = (16, 64, 256, 1024, 4096)

# For n in TERMS: root mean square of relative_error(n, rounding, data, seed=s) for s from 0 to 7. A test makes them anew.
EMULATED = {
    ("nearest-even", "normal"): (2.915e-04, 2.930e-04, 2.922e-04, 2.942e-04, 2.935e-04),
    ("nearest-even", "uniform"): (8.626e-05, 4.390e-05, 2.186e-05, 1.100e-05, 5.445e-06),
    ("nearest-away", "normal"): (2.915e-04, 2.930e-04, 2.922e-04, 2.942e-04, 2.935e-04),
    ("nearest-away", "uniform"): (8.624e-05, 4.388e-05, 2.185e-05, 1.100e-05, 5.453e-06),
    ("toward-zero", "normal"): (7.694e-04, 7.700e-04, 7.708e-04, 7.698e-04, 7.699e-04),
    ("toward-zero", "uniform"): (6.592e-04, 6.519e-04, 6.507e-04, 6.510e-04, 6.512e-04),
}


def drawn(shape: tuple[int, int], data: str, generator: torch.Generator) -> Tensor:
    """float32 numbers: normal with mean 0 and deviation 1, or uniform from 0 to 1."""
    return {"normal": torch.randn, "uniform": torch.rand}[data](*shape, generator=generator)


def relative_error(n: int, rounding: str, data: str, *, rows: int = 128, seed: int = 6) -> float:
    """||C' - C|| / ||C|| of a product with n terms a sum: operands rounded in C', sums in float64 in both.

    float64 holds each product of two float32 exactly, and its sums err some 1e-15: nothing beside 1e-6.
    """
    generator = torch.Generator().manual_seed(seed)
    a, b = drawn((rows, n), data, generator), drawn((n, rows), data, generator)
    exact = a.double() @ b.double()
    rounded = tf32(a, rounding).double() @ tf32(b, rounding).double()
    return float((rounded - exact).norm() / exact.norm())
