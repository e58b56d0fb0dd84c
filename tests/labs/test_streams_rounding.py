"""TF32 by integers equals TF32 by exact arithmetic, over all classes of float32; the kept errors are what is measured."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch
from torch import Tensor

from helpers.labs.streams.predict_tf32_error.emulation import EMULATED, TERMS, relative_error
from helpers.labs.streams.probe_rounding.inputs import MODES, OTHERS, device
from helpers.labs.streams.shared.rounding import bits_of, of_bits, tf32
from helpers.labs.streams.shown.float_formats import FORMATS, fields, in_all_formats
from helpers.measurements.tf32_bits import ROUNDINGS
from tests.labs import right_answers


def exact(x: Tensor, rounding: str) -> Tensor:
    """By arithmetic in float64, where every step is exact: number / place has 24 bits, and place is a power of two."""
    wide = x.double()
    exponent = torch.frexp(wide)[1].clamp(min=-125)  # below, the places of the pattern are fixed
    place = torch.ldexp(torch.ones_like(wide), exponent - 11)
    count = wide / place
    whole = {
        "nearest-even": torch.round(count),
        "nearest-away": count.sign() * torch.floor(count.abs() + 0.5),
        "toward-zero": torch.trunc(count),
    }[rounding]
    rounded = (whole * place).float()  # a TF32 number, or 2**128, which is infinity in float32
    return torch.where(x.isfinite(), torch.copysign(rounded, x), x)


def assert_equal_bits(patterns: Tensor, rounding: str) -> None:
    x = of_bits(patterns)
    assert torch.equal(bits_of(x), patterns)
    assert torch.equal(bits_of(tf32(x, rounding)), bits_of(exact(x, rounding)))


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_all_mantissas_of_one_exponent(rounding: str) -> None:
    for first in range(0, 2**23, 2**15):  # small pieces: one thread, and they stay in the cache
        assert_equal_bits((127 << 23) | torch.arange(first, first + 2**15), rounding)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_all_exponents_and_signs(rounding: str) -> None:
    low = torch.tensor([0, 1, 0x07FF, 0x0FFF, 0x1000, 0x1001, 0x1800, 0x1FFE, 0x1FFF])
    top = torch.tensor([0, 1, 2, 3, 0x155, 0x1FF, 0x200, 0x2AA, 0x3FD, 0x3FE, 0x3FF]) << 13
    sign_and_exponent = torch.arange(2**9) << 23
    assert_equal_bits((sign_and_exponent[:, None, None] | top[:, None] | low).flatten(), rounding)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("exponent", [0, 1, 254, 255])
def test_many_mantissas_at_the_ends(exponent: int, rounding: str) -> None:
    mantissas = torch.arange(0, 2**23, 257)
    for sign in (0, 1):
        assert_equal_bits((sign << 31) | (exponent << 23) | mantissas, rounding)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_random_patterns_and_the_answer_of_the_notebook(rounding: str) -> None:
    patterns = torch.randint(0, 2**32, (2**15,), generator=torch.Generator().manual_seed(1))
    assert_equal_bits(patterns, rounding)
    x = of_bits(patterns)
    assert torch.equal(bits_of(right_answers("06.to_tf32")[0](x, rounding)), bits_of(tf32(x, rounding)))


@pytest.mark.slow
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_one_float32_of_sixty_one(rounding: str) -> None:
    for first in range(0, 2**32, 61 * 2**15):  # 61 is odd: all low bits come up
        assert_equal_bits(torch.arange(first, min(first + 61 * 2**15, 2**32), 61), rounding)


def test_known_patterns() -> None:
    known = {
        0x7F7FFFFF: (0x7F800000, 0x7F800000, 0x7F7FE000),
        0x3F801000: (0x3F800000, 0x3F802000, 0x3F800000),
        0x3F803000: (0x3F804000, 0x3F804000, 0x3F802000),
        0xBF801000: (0xBF800000, 0xBF802000, 0xBF800000),
        0x80000001: (0x80000000,) * 3,
        0x7F800001: (0x7F800001,) * 3,
        0x7FFFFFFF: (0x7FFFFFFF,) * 3,
    }
    for pattern, wanted in known.items():
        got = [int(bits_of(tf32(of_bits([pattern]), rounding))) for rounding in ROUNDINGS]
        assert got == list(wanted), hex(pattern)


def measured(n: int, rounding: str, data: str) -> float:
    return math.sqrt(sum(relative_error(n, rounding, data, seed=seed) ** 2 for seed in range(8)) / 8)


@pytest.mark.parametrize(("rounding", "data"), EMULATED)
def test_kept_errors_are_those_of_the_emulation(rounding: str, data: str) -> None:
    kept = dict(zip(TERMS, EMULATED[rounding, data], strict=True))
    for n in (16, 64):
        assert math.isclose(measured(n, rounding, data), kept[n], rel_tol=2e-3)
    assert math.isclose(relative_error(1024, rounding, data, seed=99), kept[1024], rel_tol=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("rounding", "data"), EMULATED)
def test_all_kept_errors_are_those_of_the_emulation(rounding: str, data: str) -> None:
    for n, kept in zip(TERMS, EMULATED[rounding, data], strict=True):
        assert math.isclose(measured(n, rounding, data), kept, rel_tol=2e-3), n


@pytest.mark.parametrize("kind", [*MODES, *OTHERS])
def test_an_emulated_device_shows_its_rounding_behind_the_identity(kind: str) -> None:
    rounding = (MODES | OTHERS)[kind]
    x = torch.randn(64, 64, generator=torch.Generator().manual_seed(1))
    matmul, eye = device(rounding), torch.eye(64)
    assert torch.equal(matmul(x, eye), rounding(x)) and torch.equal(matmul(eye, x), rounding(x))
    assert torch.equal(rounding(x), x) == (kind == "none")


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
@pytest.mark.parametrize("value", [1.0, -1.5, 1 / 3, 65504.0, -6e-8, 2.0**-126])
def test_fields_of_a_format_make_up_its_value(value: float, format) -> None:
    found = fields(value, format)
    assert (len(found.exponent), len(found.mantissa)) == (format.exponent_bits, format.mantissa_bits)
    exponent, mantissa = int(found.exponent, 2), int(found.mantissa, 2)
    bias = 2 ** (format.exponent_bits - 1) - 1
    lead = 1 if exponent else 0
    size = (lead + Fraction(mantissa, 2**format.mantissa_bits)) * Fraction(2) ** (max(exponent, 1) - bias)
    assert found.value == float(-size if found.sign == "1" else size)


def test_one_number_in_all_formats() -> None:
    third = in_all_formats(1 / 3)
    assert [found.format.name for found in third] == ["float32", "TF32", "bfloat16", "float16"]
    assert [found.mantissa for found in third] == [
        "01010101010101010101011",
        "0101010101",
        "0101011",
        "0101010101",
    ]
    assert fields(1e5, FORMATS[3]).value == math.inf and fields(1e5, FORMATS[1]).value == 99968.0
