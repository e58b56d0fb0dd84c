"""Right answers to 06.predict_tf32_error, in different shapes."""

from __future__ import annotations

import numpy as np
import torch

from .shared import by_magnitude


def by_law(n: int, rounding: str, data: str) -> float:
    """Four constants from the integrals over the mantissa and the data."""
    if data == "normal":
        noise = 2**0.5 * 2.077e-4
        return noise if rounding != "toward-zero" else (noise**2 + 7.06e-4**2) ** 0.5
    return 6.51e-4 if rounding == "toward-zero" else 3.48e-4 / n**0.5


def by_mantissas(n, rounding, data):
    """From a mantissa whose logarithm is uniform, as the digits of most data are; NumPy's float comes back."""
    mantissa = 2.0 ** ((np.arange(1000) + 0.5) / 1000)
    place = 2.0**-10 / mantissa  # beside the number
    noise = np.sqrt((place**2).mean() / 12)
    shrinking = place.mean() / 2
    if data == "normal":
        return (
            np.sqrt(2) * noise if rounding != "toward-zero" else np.hypot(2 * shrinking, np.sqrt(2) * noise)
        )
    if rounding == "toward-zero":
        return 2 * shrinking
    return np.sqrt(2 * n / 9) * noise / (n / 4)


def by_sampled_numbers(n: int, rounding: str, data: str) -> float:
    """The errors of single numbers, drawn and rounded; then the law of the sum. No product."""
    draw = torch.Generator().manual_seed(0)
    x = (torch.randn if data == "normal" else torch.rand)(100_000, generator=draw)
    exact, error = x.double(), by_magnitude(x, rounding).double() - x.double()
    mean, square = float(exact.mean()) if data == "uniform" else 0.0, float((exact**2).mean())
    slope = float((error * exact).mean() / square) if data == "normal" else float(error.mean()) / mean
    left = error - slope * exact
    noise = 2 * n * float((left**2).mean()) * square
    return (((2 * slope) ** 2) + noise / (n * square**2 + n * (n - 1) * mean**4)) ** 0.5


class FromTable:
    """Read off at n = 64, and carried on by the one law that depends on n."""

    at_64 = {
        ("normal", False): 2.93e-4,
        ("normal", True): 7.7e-4,
        ("uniform", False): 4.35e-5,
        ("uniform", True): 6.52e-4,
    }

    def __call__(self, n, rounding, data):
        value = self.at_64[data, rounding == "toward-zero"]
        return value * (64 / n) ** 0.5 if value < 1e-4 else value


RIGHT = [by_law, by_mantissas, by_sampled_numbers, FromTable()]
