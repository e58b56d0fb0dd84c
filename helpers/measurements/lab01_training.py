"""Lab 01: whole training runs, and the first row of a product, bit for bit."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.measurements.device import Device
from helpers.measurements.lab01_bits import deterministic, outcome
from helpers.measurements.lab01_operations import drawn
from helpers.measurements.registry import measurement
from helpers.measurements.samples import Samples
from helpers.measurements.timing import digest


class Images(nn.Module):
    """Convolution, batch norm, enlarging and a linear layer."""

    def __init__(self, side: int) -> None:
        super().__init__()
        self.side, self.conv = side, nn.Conv2d(3, 16, 3, padding=1)
        self.norm, self.last = nn.BatchNorm2d(16), nn.Linear(16, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.interpolate(self.norm(self.conv(x)).relu(), (self.side + 3, self.side + 3), mode="bilinear")
        return self.last(x.mean((2, 3)))


class Messages(nn.Module):
    """Each node of a random graph gets the sum of what its neighbours send: index_add_ over edges."""

    def __init__(self, edges: int) -> None:
        super().__init__()
        self.edges, self.first, self.last = edges, nn.Linear(16, 16), nn.Linear(16, 10)

    def forward(self, x: Tensor) -> Tensor:
        ends = torch.randint(len(x), (2, self.edges), generator=torch.Generator().manual_seed(4))
        start, end = ends.to(x.device)
        received = torch.zeros_like(x).index_add(0, end, self.first(x)[start])
        return self.last(received.tanh())


def trained(gpu: Device, kind: str) -> Tensor:
    """All weights of a small model after 50 steps from one seed."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        side, edges = gpu.pick(32, 4), gpu.pick(100_000, 40)
        model = (Images(side) if kind == "images" else Messages(edges)).to(gpu.device)
    batch = gpu.pick(64, 4)
    x = drawn(gpu, batch, 3, side, side) if kind == "images" else drawn(gpu, gpu.pick(1000, 8), 16)
    label = torch.arange(len(x), device=gpu.device) % 10
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(gpu.pick(50, 3)):
        optimizer.zero_grad()
        F.cross_entropy(model(x), label).backward()
        optimizer.step()
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def weights(gpu: Device) -> dict[str, list[str]]:
    """Digests of the weights after each of five runs."""
    return {
        kind: [outcome(lambda kind=kind: trained(gpu, kind)) for _ in gpu.times(5)]
        for kind in ("images", "messages")
    }


@measurement("training_bits", lab="01", unit="digests", seconds=120)
def training_bits(gpu: Device) -> Samples:
    """Two small models are trained for 50 steps, five times from the same seed on the same data, with no switch set:
    one on images (convolution, batch norm, bilinear enlarging), one that sends messages over the edges of a graph with
    index_add_. A sample is the digest of all weights after a run.

    Predicted: more than one digest for both. A difference in the last bit grows.
    """
    return weights(gpu)


@measurement("training_bits_deterministic", lab="01", unit="digests", seconds=120)
def training_bits_deterministic(gpu: Device) -> Samples:
    """As training_bits, under `torch.use_deterministic_algorithms(True)` with cuDNN's search off.

    Predicted: one digest each.
    """
    with deterministic():
        return weights(gpu)


@measurement("batch_slice_bits", lab="01", unit="digests")
def batch_slice_bits(gpu: Device) -> Samples:
    """`(A @ B)[0]` for the first 1, 2, 4 and so on to 1024 rows of the same A: the digest of row 0 for each number of rows.

    Predicted: several digests in float32 and in bfloat16. A different size may get a different kernel, which
    adds in a different order; no switch changes that.
    """
    inner, rows = gpu.pick(2048, 32), [2**power for power in range(gpu.pick(11, 5))]
    a, b = drawn(gpu, rows[-1], inner), drawn(gpu, inner, inner)
    found: dict[str, list] = {"rows": rows}
    for dtype in (torch.float32, torch.bfloat16):
        name = str(dtype).removeprefix("torch.")
        found[f"{name}, row 0"] = [digest((a[:n].to(dtype) @ b.to(dtype))[0]) for n in rows]
    return found
