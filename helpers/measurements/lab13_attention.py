"""Lab 13: the kernels of scaled dot-product attention, against each other and against the length."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from helpers.measurements.device import Device
from helpers.measurements.registry import measurement
from helpers.measurements.samples import Samples
from helpers.measurements.timing import event_ms

KERNELS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "memory-efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cuDNN": SDPBackend.CUDNN_ATTENTION,
    "math": SDPBackend.MATH,
}


@measurement("attention_kernels", lab="13", unit="ms", seconds=120)
def attention_kernels(gpu: Device) -> Samples:
    """Forward and backward of SDPA with each kernel that takes the inputs, float16, 8 heads of 64, batch 4, for lengths
    from 512 to 8192, causal: milliseconds on the device, 10 times after 2 for warm-up. A kernel that refuses the inputs
    is left out.

    Predicted: all but math grow with the square of the length and differ by less than a factor of 2; math is slower than
    flash by 3 or more at 4096, since it writes and reads the scores.
    """
    found: dict[str, dict[str, list[float]]] = {}
    for length in gpu.pick([512, 1024, 2048, 4096, 8192], [16, 32], [512, 1024, 2048]):
        q, k, v = (
            torch.randn(4, 8, length, gpu.pick(64, 8), device=gpu.device, dtype=gpu.pick(torch.float16, torch.float32))
            .requires_grad_()
            for _ in range(3)
        )  # fmt: skip
        for name, kernel in KERNELS.items():

            def both(kernel: SDPBackend = kernel, q=q, k=k, v=v) -> None:  # noqa: ANN001
                with sdpa_kernel(kernel):
                    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
                torch.autograd.grad(out, (q, k, v), torch.ones_like(out))

            try:
                both(), both()
            except RuntimeError:
                continue
            found.setdefault(f"{name}, ms", {})[f"length {length}"] = event_ms(gpu, both, 10)
    return found
