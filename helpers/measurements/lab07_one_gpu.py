"""Lab 07: several ranks on one GPU, and DataParallel with one device."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor, nn

from helpers import ranks
from helpers.measurements.device import Device
from helpers.measurements.registry import measurement
from helpers.measurements.samples import Samples
from helpers.measurements.timing import host_ms
from helpers.ranks import RankError

MEGA = 2**20
LONGEST = 600  # letters of an error


@measurement("two_ranks_one_gpu", lab="07", unit="the error's text", seconds=150)
def two_ranks_one_gpu(gpu: Device) -> Samples:
    """Two ranks of an NCCL group use the same GPU and call `dist.all_reduce`. The samples are what each rank gets: the
    error's text, or the sum.

    Predicted: an error on both ranks, "Duplicate GPU detected". NCCL wants a GPU for each rank.
    """
    try:
        return {"each_rank": list(ranks.run(sum_or_error, gpu, ranks=2, timeout=90, backend=gpu.backend))}
    except RankError as error:
        return {"each_rank": [f"RankError: {error}"[:LONGEST]]}


def sum_or_error(gpu: Device) -> str:
    """The sum of one on each rank, or the error."""
    try:
        x = torch.ones(1, device=gpu.device)
        dist.all_reduce(x)
        return f"no error: the sum is {x.item():g}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:LONGEST]


@measurement("gloo_on_one_gpu", lab="07", unit="ms", seconds=150)
def gloo_on_one_gpu(gpu: Device) -> Samples:
    """Two ranks of a gloo group on the same GPU call `dist.all_reduce` with tensors on the device and on the host, 4 kB to
    64 MB: milliseconds on rank 0, 10 times after 2 for warm-up, and the sums.

    Predicted: it works, the sum of ones is 2; a tensor on the device takes longer, since its bytes go over the host.
    """
    return ranks.run(over_gloo, gpu, ranks=2, timeout=100, backend="gloo")[0]


def over_gloo(gpu: Device) -> dict[str, dict[str, list[float]]]:
    found: dict[str, dict[str, list[float]]] = {"on_device_ms": {}, "on_host_ms": {}, "sum_of_ones": {}}
    for size in gpu.pick((4096, MEGA, 64 * MEGA), (64, 4096)):
        for name, device in {"on_device_ms": gpu.device, "on_host_ms": torch.device("cpu")}.items():
            x, ones = torch.zeros(size // 4, device=device), torch.ones(1, device=device)
            dist.all_reduce(x), dist.all_reduce(x)
            found[name][f"{size} bytes"] = host_ms(gpu, lambda x=x: dist.all_reduce(x), 10)
            dist.all_reduce(ones)
            found["sum_of_ones"].setdefault(name, []).append(int(ones.item()))
    return found


class Told(nn.Module):
    """Notes which object's forward is called, and how many samples it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.calls = nn.Linear(4, 4), []
        self.myself = [self]  # a replica shares the list, so it can tell that it is another object

    def forward(self, x: Tensor) -> Tensor:
        which = "the module itself" if self is self.myself[0] else "a replica"
        self.calls.append(f"{which}, {len(x)} samples, on {x.device.type}")
        return self.layer(x)


@measurement("data_parallel_one_device", lab="07", unit="what was called")
def data_parallel_one_device(gpu: Device) -> Samples:
    """`nn.DataParallel` and `nn.parallel.data_parallel` with one device: which object's forward is called with 6 samples,
    the module itself or a replica, and how often.

    Predicted: the module itself, once, with all samples: there is no copy to make.
    """
    ids, found = [0] if gpu.device.type == "cuda" else None, {}
    x = torch.ones(6, 4, device=gpu.device)
    module = Told().to(gpu.device)
    nn.DataParallel(module, device_ids=ids)(x)
    found["DataParallel"] = list(module.calls)
    module.calls.clear()
    if ids is None:
        module(x)  # without a GPU the function refuses the CPU; the wrapper calls the module
    else:
        nn.parallel.data_parallel(module, x, device_ids=ids)
    found["data_parallel"] = list(module.calls)
    return found
