"""Operations whose bits may differ from run to run on a GPU, as calls without arguments."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.measurements.device import Device

Call = Callable[[], Tensor]


def operations(gpu: Device) -> dict[str, Call]:
    """Each operation on fixed random inputs; a call gives the result, or the gradient, as a new tensor."""
    return sums_into_bins(gpu) | backwards(gpu) | plain_ones(gpu)


def drawn(gpu: Device, *size: int) -> Tensor:
    """Normal numbers, the same at each call, drawn on the CPU."""
    return torch.randn(*size, generator=torch.Generator().manual_seed(sum(size))).to(gpu.device)


def into_bins(gpu: Device, bins: int) -> tuple[Tensor, Tensor]:
    """Normal numbers, and a bin for each."""
    size = gpu.pick(1_000_000, 200)
    index = torch.randint(bins, (size,), generator=torch.Generator().manual_seed(bins))
    return drawn(gpu, size), index.to(gpu.device)


def sums_into_bins(gpu: Device) -> dict[str, Call]:
    """Operations in which many threads add to the same few places."""
    found: dict[str, Call] = {}
    for bins in (10, 1000):
        x, index = into_bins(gpu, bins)
        found |= {f"{name}, {bins} bins": call for name, call in additions(x, index, bins).items()}
    x, index = into_bins(gpu, 10)
    whole = (x * 100).long()
    each = torch.randperm(len(x), generator=torch.Generator().manual_seed(1)).to(gpu.device)
    return found | {
        "index_add_, int64": lambda: torch.zeros_like(whole[:10]).index_add_(0, index, whole),
        "index_add_, one number a bin": lambda: torch.zeros_like(x).index_add_(0, each, x),
        "histc": lambda: torch.histc(x, 100),
    }


def additions(x: Tensor, index: Tensor, bins: int) -> dict[str, Call]:
    """Ways to add each number of x to the place that index names."""

    def empty() -> Tensor:
        return torch.zeros(bins, device=x.device)

    return {
        "index_add_": lambda: empty().index_add_(0, index, x),
        "scatter_add_": lambda: empty().scatter_add_(0, index, x),
        "scatter_reduce_ sum": lambda: empty().scatter_reduce_(0, index, x, "sum"),
        "index_put_ accumulate": lambda: empty().index_put_((index,), x, accumulate=True),
        "bincount weights": lambda: torch.bincount(index, weights=x, minlength=bins),
    }


def backwards(gpu: Device) -> dict[str, Call]:
    """Gradients whose kernels add to the same place."""
    side, channels = gpu.pick(64, 6), gpu.pick(32, 2)
    image, weight = drawn(gpu, gpu.pick(16, 1), channels, side, side), drawn(gpu, channels, channels, 3, 3)
    table, rows = drawn(gpu, 100, gpu.pick(64, 4)), into_bins(gpu, 100)[1][: gpu.pick(100_000, 50)]
    grid = drawn(gpu, image.shape[0], side, side, 2).tanh()
    enlarged = (2 * side + 1, 2 * side + 1)

    def resized(x: Tensor) -> Tensor:
        return F.interpolate(x, enlarged, mode="bilinear")

    return {
        "embedding backward": lambda: gradient(lambda w: F.embedding(rows, w), table),
        "interpolate backward": lambda: gradient(resized, image),
        "grid_sample backward": lambda: gradient(
            lambda x: F.grid_sample(x, grid, align_corners=False), image
        ),
        "conv2d backward": lambda: gradient(lambda w: F.conv2d(image, w), weight),
        "conv2d backward, benchmark": lambda: benchmarked(
            lambda: gradient(lambda w: F.conv2d(image, w), weight)
        ),
        "ctc_loss backward": ctc_backward(gpu),
    }


def ctc_backward(gpu: Device) -> Call:
    """The gradient of the CTC loss on random labels."""
    steps, batch, labels = gpu.pick(200, 8), gpu.pick(32, 2), gpu.pick(50, 3)
    scores = drawn(gpu, steps, batch, 20).log_softmax(2)
    targets = torch.randint(1, 20, (batch, labels), generator=torch.Generator().manual_seed(2))
    lengths = [torch.full((batch,), length) for length in (steps, labels)]

    def loss(x: Tensor) -> Tensor:
        return F.ctc_loss(x, targets.to(gpu.device), *lengths)

    return lambda: gradient(loss, scores)


def gradient(function: Callable[[Tensor], Tensor], at: Tensor) -> Tensor:
    """The gradient of the sum of function(at) times fixed numbers."""
    leaf = at.detach().requires_grad_()
    out = function(leaf)
    upstream = torch.linspace(-1, 1, out.numel(), device=out.device).reshape(out.shape)
    return torch.autograd.grad(out, leaf, upstream)[0]


def benchmarked(call: Call) -> Tensor:
    """The call while cuDNN may choose its kernel by trying them."""
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = True
    try:
        return call()
    finally:
        torch.backends.cudnn.benchmark = before


def plain_ones(gpu: Device) -> dict[str, Call]:
    """Operations with many additions or none, in an order that the kernel fixes."""
    x = drawn(gpu, gpu.pick(1_000_000, 200))
    matrix = drawn(gpu, gpu.pick(1024, 8), gpu.pick(1024, 8))

    def draw() -> Tensor:
        with torch.random.fork_rng(devices=[gpu.device] if gpu.device.type == "cuda" else []):
            torch.manual_seed(0)
            return torch.rand(1000, device=gpu.device)

    return {
        "cumsum": lambda: x.cumsum(0),
        "sum": lambda: x.sum(),
        "matmul": lambda: matrix @ matrix.T,
        "sort": lambda: x.sort().values,
        "median": lambda: x.median(),
        "rand after a seed": draw,
        "x + y": lambda: x + x.flip(0),
    }
