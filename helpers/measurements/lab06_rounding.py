"""Lab 06: which rounding a device uses for the inputs of a TF32 product."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.measurements.device import Device
from helpers.measurements.registry import measurement
from helpers.measurements.samples import Samples
from helpers.measurements.tf32 import precision
from helpers.measurements.tf32_bits import ROUNDINGS, rounded

# Bits 13 and up, and the 13 bits that TF32 cuts off: below, at and above the middle between two TF32 numbers.
TOP = (0x000, 0x001, 0x002, 0x155, 0x3FE, 0x3FF)
LOW = (0x0001, 0x0FFF, 0x1000, 0x1001, 0x1FFF)
Product = Callable[[Tensor, Tensor], Tensor]


def patterns(n: int, scale: int = 0) -> Tensor:
    """An n x n matrix of float32 numbers whose roundings to TF32 differ, of both signs, times 2^scale."""
    bits = torch.tensor([(top << 13) | low for top in TOP for low in LOW], dtype=torch.int32) | 0x3F800000
    numbers = bits.view(torch.float32) * 2.0**scale
    both = torch.cat([numbers, -numbers])
    return both.repeat(n * n // len(both) + 1)[: n * n].reshape(n, n)


def products(dtype: torch.dtype = torch.float32) -> dict[str, Product]:
    """Operations that compute a @ b, as cuBLAS and cuDNN are reached."""
    return {
        "matmul": torch.mm,
        "bmm": lambda a, b: torch.bmm(a.expand(3, -1, -1), b.expand(3, -1, -1))[2],
        "addmm": lambda a, b: torch.addmm(torch.zeros_like(a[0]), a, b),
        "1x1 conv2d": lambda a, b: F.conv2d(b[None, :, :, None], a[:, :, None, None])[0, :, :, 0],
    }


def named(got: Tensor, x: Tensor) -> str:
    """The rounding by which x became got; "none" if it did not change, "unknown" if no rounding does that."""
    if torch.equal(got, x):
        return "none"
    fitting = [rounding for rounding in ROUNDINGS if torch.equal(got, rounded(x, rounding))]
    return fitting[0] if len(fitting) == 1 else "unknown"


def probed(gpu: Device, product: Product, n: int) -> list[str]:
    """The rounding of the left and of the right operand, for small and for large numbers."""
    one, found = torch.eye(n, device=gpu.device), []
    for scale in (0, 40):
        x = patterns(n, scale)
        there = x.to(gpu.device)
        found += [named(product(there, one).cpu(), x), named(product(one, there).cpu(), x)]
    return found


@measurement("product_rounding", lab="06", unit="names of roundings")
def product_rounding(gpu: Device) -> Samples:
    """X @ I and I @ X with TF32 allowed, for X whose bits tell the roundings apart, n = 16, 64 and 1024, by matmul, bmm,
    addmm and a 1x1 convolution. A sample names the rounding that turns X into the result: of the left and of the right
    operand, then of both times 2^40.

    Predicted: nothing. The public sources disagree, which is why it is measured.
    """
    sizes = gpu.pick((16, 64, 1024), (8, 16))
    with precision("tf32"):
        return {
            f"{name}, n={n}": probed(gpu, product, n) for name, product in products().items() for n in sizes
        }


@measurement("product_kernels", lab="06", unit="names of kernels")
def product_kernels(gpu: Device) -> Samples:
    """The kernels that torch's profiler sees in one product of product_rounding, with TF32 allowed and without.

    Predicted: other kernels with TF32 than without, and other ones for small n than for large.
    """
    found = {}
    for allowed in ("ieee", "tf32"):
        with precision(allowed):
            for n in gpu.pick((16, 64, 1024), (8,)):
                x = patterns(n).to(gpu.device)
                for name, product in products().items():
                    product(x, x)
                    found[f"{allowed}, {name}, n={n}"] = kernels(gpu, lambda p=product, x=x: p(x, x))
    return found


def kernels(gpu: Device, call: Callable[[], object]) -> list[str]:
    """The names of the kernels of a call, cut to 120 letters; of a rehearsal, the host's operations."""
    wanted = gpu.pick("device", "host")
    names = [name[:120] for where, name, *_ in gpu.events(call) if where == wanted]
    return names or ["no kernel was seen"]
