"""Lab 06: the error of TF32 products, beside what roundings of the inputs alone would give; and their speed."""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.measurements.device import Device
from helpers.measurements.registry import measurement
from helpers.measurements.samples import Samples
from helpers.measurements.tf32 import precision
from helpers.measurements.tf32_bits import ROUNDINGS, rounded
from helpers.measurements.timing import event_ms

SEEDS = 5


def drawn(gpu: Device, data: str, n: int, seed: int) -> tuple[Tensor, Tensor]:
    """Two n x n matrices of normal numbers ("randn") or of numbers from 0 to 1 ("rand")."""
    generator = torch.Generator(gpu.device).manual_seed(seed)
    draw = torch.randn if data == "randn" else torch.rand
    return tuple(draw(n, n, generator=generator, device=gpu.device) for _ in "ab")


def relative(got: Tensor, want: Tensor) -> float:
    """The Frobenius norm of the difference, as a share of that of `want`."""
    return ((got.double() - want).norm() / want.norm()).item()


@measurement("tf32_error", lab="06", unit="relative error", seconds=180)
def tf32_error(gpu: Device) -> Samples:
    """The relative error (Frobenius norm) of a float32 product against the float64 one, n from 64 to 8192, for randn and
    rand, five seeds each: as computed with "ieee" and with "tf32". Beside it what rounding the inputs alone would give,
    in each of three roundings, the product itself exact; and how far the device is from each of these.

    Predicted: rounding to nearest gives 2.937e-4 for randn at every n and 3.480e-4 / sqrt(n) for rand; toward zero 7.7e-4
    and 6.5e-4 at every n. The device follows one of them, a little above it at large n.
    """
    found: dict[str, dict[str, list[float]]] = {}
    for data in ("randn", "rand"):
        for n in gpu.pick([64, 128, 256, 512, 1024, 2048, 4096, 8192], [8, 16], [64, 128, 256, 512, 1024]):
            for seed in gpu.times(SEEDS):
                for name, error in errors(*drawn(gpu, data, n, seed)).items():
                    found.setdefault(f"{data}, {name}", {}).setdefault(f"n={n}", []).append(error)
    return found


def errors(a: Tensor, b: Tensor) -> dict[str, float]:
    """Relative errors of one product: of the device, of the emulations, and of the device from each emulation."""
    exact, by_device = a.double() @ b.double(), {}
    for name in ("ieee", "tf32"):
        with precision(name):
            by_device[name] = a @ b
    found = {f"{name} error": relative(got, exact) for name, got in by_device.items()}
    for rounding in ROUNDINGS:
        emulated = rounded(a, rounding).double() @ rounded(b, rounding).double()
        found[f"{rounding} emulated error"] = relative(emulated, exact)
        found[f"tf32 from {rounding}"] = relative(by_device["tf32"], emulated)
    return found


@measurement("tf32_conv_error", lab="06", unit="relative error")
def tf32_conv_error(gpu: Device) -> Samples:
    """The relative error of a 3x3 convolution in float32 against float64, 16 to 512 channels, normal numbers, five seeds:
    computed with "ieee" and with "tf32".

    Predicted: as for matrix products: about 2.9e-4 or 7.7e-4 with "tf32" at every number of channels.
    """
    found: dict[str, dict[str, list[float]]] = {"ieee error": {}, "tf32 error": {}}
    for channels in gpu.pick([16, 64, 256, 512], [2, 4]):
        for seed in gpu.times(SEEDS):
            generator = torch.Generator(gpu.device).manual_seed(seed)
            side = gpu.pick(32, 5)
            x = torch.randn(4, channels, side, side, generator=generator, device=gpu.device)
            weight = torch.randn(channels, channels, 3, 3, generator=generator, device=gpu.device)
            exact = torch.nn.functional.conv2d(x.double(), weight.double())
            for name in ("ieee", "tf32"):
                with precision(name):
                    error = relative(torch.nn.functional.conv2d(x, weight), exact)
                found[f"{name} error"].setdefault(f"channels={channels}", []).append(error)
    return found


@measurement("documented_tf32_program", lab="06", unit="differences", seconds=120)
def documented_tf32_program(gpu: Device) -> Samples:
    """The program of torch's notes on CUDA, five times: two float64 matrices of normal numbers with n = 10240, their
    product in float64, and the same in float32 with TF32 and without. A sample is the largest difference of an element,
    and that difference over the mean size of the elements.

    Predicted: with TF32 near 0.17 and 0.0021, as rounding to nearest gives and as the notes print for another GPU (0.1747
    and 0.0022); toward zero would give 0.43 or more.
    """
    n, found = gpu.pick(10240, 32, 4096), {}
    for seed in gpu.times(SEEDS):
        generator = torch.Generator(gpu.device).manual_seed(seed)
        a, b = (torch.randn(n, n, dtype=torch.float64, device=gpu.device, generator=generator) for _ in "ab")
        exact = a @ b
        for name in ("tf32", "ieee"):
            with precision(name):
                largest = ((a.float() @ b.float()) - exact).abs().amax().item()
            found.setdefault(f"{name}, largest difference", []).append(largest)
            found.setdefault(f"{name}, largest difference over size", []).append(
                largest / exact.abs().mean().item()
            )
    return found


@measurement("matmul_speed", lab="06", unit="ms")
def matmul_speed(gpu: Device) -> Samples:
    """A product of two matrices with n = 8192 by events, 20 times after 3 for warm-up: float32 with "ieee" and with
    "tf32", and bfloat16; of normal numbers and of zeros. One product is 2 n^3 operations.

    Predicted: at most 67, 494 and 989 TFLOP/s on an H200, as its data sheet has it; zeros are faster, since a device that
    switches fewer bits may run at a higher clock.
    """
    n = gpu.pick(8192, 8, 4096)
    random = drawn(gpu, "randn", n, 0)
    zeros = tuple(torch.zeros_like(x) for x in random)
    found: dict[str, list] = {"n": [n]}
    for name, dtype in {"ieee": torch.float32, "tf32": torch.float32, "bfloat16": torch.bfloat16}.items():
        for data, pair in {"randn": random, "zeros": zeros}.items():
            a, b = (x.to(dtype) for x in pair)
            with precision("ieee" if name == "ieee" else "tf32"):
                for _ in range(3):
                    a @ b
                found[f"{name}, {data}, ms"] = event_ms(gpu, lambda a=a, b=b: a @ b, 20)
    return found
