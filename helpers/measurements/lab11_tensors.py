"""Lab 11: what a stride costs a kernel that only copies."""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.measurements.device import Device
from helpers.measurements.registry import measurement
from helpers.measurements.samples import Samples
from helpers.measurements.timing import event_ms


@measurement("strided_copy", lab="11", unit="ms", seconds=60)
def strided_copy(gpu: Device) -> Samples:
    """A copy of 4,194,304 float32 into contiguous memory, read with a stride of 1, 2, 4 to 32 elements, or as the
    transpose of a square matrix: milliseconds on the device, 20 times after 2 for warm-up.

    Predicted: up to a stride of 8 (32 bytes, what a GPU reads at a time) the time grows with the stride, as more and more
    of what is read is thrown away, to about 3 to 5 times; from there on it hardly grows. The transpose costs at most 3
    times the plain copy.
    """
    count = gpu.pick(1 << 22, 1 << 10, 1 << 20)
    side = int(count**0.5)
    target = torch.empty(count, device=gpu.device)
    source = torch.randn(32 * count, device=gpu.device)
    sources: dict[str, Tensor] = {
        f"stride {step}": source[: step * count : step] for step in (1, 2, 4, 8, 16, 32)
    }
    sources["transposed"] = source[:count].view(side, side).T
    found: dict[str, list[float]] = {}
    for name, each in sources.items():
        into = target.view(each.shape)

        def copy(into: Tensor = into, each: Tensor = each) -> None:
            into.copy_(each)

        copy(), copy()
        found[name] = event_ms(gpu, copy, 20)
    return {"copy, ms": found}
